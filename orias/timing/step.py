"""An instruction as the machine model sees it: what it needs to issue and when its effects arrive."""

from typing import Final, final

NO_UNIT: Final = -1
FP32: Final = 0
"""Additions and products of f32: any of the one or two 16-lane float units."""
IMAD: Final = 1
"""Integer products: the heavy float unit."""
ALU: Final = 2
HALF: Final = 3
HALF_CMP: Final = 4
XU: Final = 5
FP64: Final = 6
MMA: Final = 7
UNIFORM: Final = 8
UNITS: Final[tuple[str, ...]] = ("fp32", "imad", "alu", "half", "halfcmp", "xu", "fp64", "mma", "uniform")

NEAR: Final = 0
"""No memory, or memory without a queue."""
SHARED: Final = 1
GLOBAL: Final = 2

NO_DEPBAR: Final = -1


@final
class Step:
    """One instruction.

    ``unit``: the unit whose input it takes, for ``hold`` cycles (NO_UNIT: none).  ``fixed``: its latency is fixed; it
    then reads its registers, ``sources`` (``register << 2 | position``) with the ``reuse`` flags by position, in the
    fixed window.  ``stall``, ``yields``, ``wait``, ``write``, ``read``: the control word; barrier 7 means none.
    ``raw``, ``war``: cycles from issue to the release of the two scoreboards when nothing is in the way.  ``memory``:
    SHARED or GLOBAL for an operation that goes through the memory queue.  ``loads``: it waits for data from beyond the
    SM if these are not near.  ``depbar``: ``scoreboard << 8 | count`` of a DEPBAR.LE.  ``barrier``: it waits for the
    other warps of its block.
    """

    __slots__ = (
        "barrier", "depbar", "fixed", "hold", "index", "loads", "memory", "raw", "read", "reuse", "self_wait", "sources",
        "stall", "unit", "wait", "war", "write", "yields",
    )  # fmt: skip

    def __init__(self, index: int, unit: int, hold: int) -> None:
        self.index: int = index
        self.unit: int = unit
        self.hold: int = hold
        self.fixed: bool = True
        self.stall: int = 1
        self.yields: bool = False
        self.self_wait: bool = False
        self.wait: int = 0
        self.write: int = 7
        self.read: int = 7
        self.raw: int = 0
        self.war: int = 0
        self.reuse: int = 0
        self.sources: list[int] = []
        self.memory: int = NEAR
        self.loads: bool = False
        self.depbar: int = NO_DEPBAR
        self.barrier: bool = False
