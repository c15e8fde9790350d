"""Checks of running kernels: races in shared memory, reads of memory that nobody wrote, wrong use of barriers."""
