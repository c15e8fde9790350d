"""Static hazard checker for finished code: what the control words promise, on all paths, of any compiler's cubin."""

from orias.check.cubin import Hazard, check_cubin

__all__ = ["Hazard", "check_cubin"]
