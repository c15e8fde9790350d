"""Random PTX programs: valid, terminating, with every result defined; compiled, run and judged by their meaning."""
