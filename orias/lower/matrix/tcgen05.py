"""tcgen05 without its products: tensor memory, copies to it, commit and fences."""
