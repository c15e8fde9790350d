"""Vectorised arithmetic on bit patterns."""
