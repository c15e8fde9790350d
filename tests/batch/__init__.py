"""Compiling many files."""
