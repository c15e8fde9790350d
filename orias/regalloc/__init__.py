"""Register allocation, the ABI, spilling, and the independent checker."""
