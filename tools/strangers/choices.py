"""Targets and levels that rotate with the seed, and why a program is left out."""

from typing import Final

ARCHES: Final = ("sm_75", "sm_100a", "sm_80", "sm_120a", "sm_90a", "sm_86", "sm_103a", "sm_89", "sm_121a")
FRONT_ARCH: Final = dict.fromkeys(("sm_100a", "sm_103a", "sm_120a", "sm_121a"), "sm_90")
"""The front ends make no PTX for these: that of an earlier target is compiled for them."""
LEVELS: Final = (3, 0, 1, 2, 3)
FRONT_LEVELS: Final = ("1", "2", "3", "0", "s")
NO_PROGRAM: Final = "no program"
NO_HOST: Final = "host differs or does not end"
UNDEFINED: Final = "undefined in C"
NO_PTX: Final = "not compiled to PTX"
PTX_REFUSED: Final = "PTX refused by ptxas too"
"""Calls with other parameters than the function has, and functions that nobody defines."""
PTX_FAILS: Final = "PTX fails in the interpreter too"
"""The front end is at fault, or the program has no meaning as PTX."""
STACK: Final = "recursion deeper than the simulator's stack"
"""A launch has 1 KB for a thread, as the driver's default, whatever the recursion needs."""
