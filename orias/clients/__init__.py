"""Adapters for programs that compile in the caller's process: Triton, numba-cuda, CuPy, cuda.core.

``pytest_plugin`` is the plugin of pytest (docs/running.md).  Each module imports its program where it is used, so that Orias needs none of them (docs/in-process.md).
"""
