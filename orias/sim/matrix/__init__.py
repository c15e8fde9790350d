"""Matrix products of warps and warpgroups, tensor memory, tensor maps."""
