"""A CUDA driver library (``libcuda.so.1``) whose GPU is the simulator.  Its page is docs/running.md."""
