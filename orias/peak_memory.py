"""The largest memory that the process has had."""

import sys


def peak_memory() -> int:
    """KiB in physical memory at the most so far; 0 where the system does not say."""
    try:
        from resource import RUSAGE_SELF, getrusage
    except ImportError:
        return 0
    peak = getrusage(RUSAGE_SELF).ru_maxrss
    return peak // 1024 if sys.platform == "darwin" else peak
