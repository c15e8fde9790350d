"""Knobs: the named numbers of the heuristics, their defaults and ranges, and how a compile sets them."""
