"""tcgen05 except its products: programs whose results numpy computes."""
