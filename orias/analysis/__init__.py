"""Questions about a function: dominators, loops, liveness, divergence, aliasing."""
