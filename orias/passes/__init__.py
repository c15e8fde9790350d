"""Transformations of a function, one a file."""
