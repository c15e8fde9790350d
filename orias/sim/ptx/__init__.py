"""PTX run as it is written: an interpreter on the typed module, on the simulator's engine and memories.

It shares launches, memories, thread scheduling and the meaning of operations with the SASS simulator, and nothing with the
compiler behind the parser: so its results judge the compiler's.
"""

from orias.sim.ptx.choice import CANONICAL, CHOICES, Choice
from orias.sim.ptx.image import PtxImage

__all__ = ["CANONICAL", "CHOICES", "Choice", "PtxImage"]
