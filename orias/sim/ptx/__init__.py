"""Runs PTX as written: an interpreter of the typed module, on the simulator's engine and memories.

It shares launches, memories, thread scheduling and the semantics of operations with the SASS simulator.  It shares
nothing with the compiler after the parser; its results can therefore be used to check the compiler's.
"""

from orias.sim.ptx.choice import CANONICAL, CHOICES, Choice
from orias.sim.ptx.ptx_image import PtxImage

__all__ = ["CANONICAL", "CHOICES", "Choice", "PtxImage"]
