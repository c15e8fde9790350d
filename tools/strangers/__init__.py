"""Programs of other generators, compiled by a C compiler to PTX and by another one for the host, run on both."""
