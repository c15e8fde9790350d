"""Floating-point arithmetic, comparison and conversion."""
