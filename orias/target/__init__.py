"""Target profiles: one row per SM."""
