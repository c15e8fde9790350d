"""Static hazard checker for the cubins of any compiler: checks the control words on all paths."""

from orias.check.cubin import Hazard, check_cubin

__all__ = ["Hazard", "check_cubin"]
