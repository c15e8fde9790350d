"""Analyses of a function: dominators, loops, liveness, divergence, register accesses."""
