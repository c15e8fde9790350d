"""The engine of the simulator: memories, state, launches, and the plans of instructions."""
