"""The table of phases and its runner."""
