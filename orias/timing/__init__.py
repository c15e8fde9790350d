"""Latencies, pipes, ordering and minimum distances: the timing facts of the scheduler, the checker and the simulator."""
