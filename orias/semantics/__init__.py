"""What operations mean, on bit patterns, in plain integers: shared by the constant folder and the simulator."""
