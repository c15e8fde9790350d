"""From scheduled code to a cubin: emission, kernel records, line tables, debug information."""
