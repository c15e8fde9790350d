"""Loads and stores, atomics, asynchronous copies, barriers and warp operations."""
