"""Runs of common instructions executed by a small C library, where the machine has a C compiler."""
