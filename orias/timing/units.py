"""Which execution pipe an operation uses, and which scoreboards it needs (from ``operations.isa``).

Which barrier fields of the control word are legal is a fact of each form of the instruction table.
"""

from typing import Final, final

from orias.diag import Unsupported
from orias.isa.op import F_BARE, F_WGMMA_SYNC, Op
from orias.isa.operand import K_R, Opnd, in_file
from orias.isa.operations import LATE_RESULT, LATE_SOURCE, facts
from orias.ori.ir import Inst
from orias.target.profile import profile_of_sm

ALU: Final = 0
FMA: Final = 1
HALF: Final = 2
HALF_CMP: Final = 3
"""The third half-precision pipe: HMNMX2, HSET2, HSETP2."""
XU: Final = 4
MEM: Final = 5
FP64: Final = 6
MMA: Final = 7
UNIFORM: Final = 8
CONTROL: Final = 9
CBU: Final = 10
"""Convergence-barrier operations."""
PIPE_NAMES: Final[tuple[str, ...]] = (
    "alu", "fma", "half", "halfcmp", "xu", "mem", "fp64", "mma", "uniform", "control", "cbu",
)  # fmt: skip

NEEDS_WRITE: Final = LATE_RESULT
NEEDS_READ: Final = LATE_SOURCE


def takes_waits(inst: Inst) -> bool:
    """False for WARPGROUP.DEPBAR, whose wait mask must be empty (nvdisasm refuses others).

    It needs no wait: its implied registers were ready when the operations on them issued.
    """
    return not (inst.op.flags & F_WGMMA_SYNC and inst.op.has("DEPBAR"))


@final
class Units:
    """Pipes and scoreboard needs of operations for one target, cached by operation."""

    __slots__ = ("_barriers", "_pipes", "table")

    def __init__(self, sm: int) -> None:
        self.table: Final[str] = profile_of_sm(sm).table
        self._pipes: dict[int, int] = {}
        self._barriers: dict[int, int] = {}

    def pipe(self, op: Op) -> int:
        """The execution pipe; raises Unsupported for an operation without a row."""
        p = self._pipes.get(op.ident)
        if p is None:
            f = facts(op.base)
            name = "" if f is None else f.pipe(op.mods)
            if not name:
                raise Unsupported(f"no scheduling facts for {op.name}")
            p = self._pipes[op.ident] = PIPE_NAMES.index(name)
        return p

    def barriers(self, op: Op) -> int:
        """NEEDS_WRITE if results arrive late, NEEDS_READ if sources are read late, as a bit set."""
        b = self._barriers.get(op.ident)
        if b is None:
            self.pipe(op)
            f = facts(op.base)
            b = self._barriers[op.ident] = 0 if f is None else f.late(self.table, op.mods)
        return b

    def needs(self, op: Op, dst: list[Opnd], src: list[Opnd]) -> int:
        """As :meth:`barriers`, for one instruction: some operations have forms that take no barrier."""
        if op.base == "BMOV":
            # BMOV from a B register writes late, BMOV to one from an R register reads late (by the legal barrier fields).
            if dst and in_file(dst[0], K_R):
                return NEEDS_WRITE
            return NEEDS_READ if src and in_file(src[0], K_R) else 0
        if not src and op.flags & F_BARE:
            return 0
        return self.barriers(op)


_units: dict[int, Units] = {}


def units(sm: int) -> Units:
    """The table of a target by the SM number of its profile."""
    u = _units.get(sm)
    if u is None:
        u = Units(sm)
        _units[sm] = u
    return u
