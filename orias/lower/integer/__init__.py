"""Integer arithmetic, logic, comparison and video instructions."""
