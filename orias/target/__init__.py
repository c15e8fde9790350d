"""The facts of each target: the table of SMs, names, the ABI, descriptors."""
