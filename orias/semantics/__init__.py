"""The semantics of operations on bit patterns, in plain integers: shared by constant folding and the simulator."""
