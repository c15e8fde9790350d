"""Which execution pipe an operation uses, and what it needs of the scoreboards: facts of the instruction table (``operations.isa``).

Which barrier fields of the control word are legal at all is a fact of each form there.
"""

from typing import Final, final

from orias.diag import Unsupported
from orias.isa.op import Op
from orias.isa.operand import K_R, KIND_MASK
from orias.isa.operations import LATE_RESULT, LATE_SOURCE, facts, late
from orias.ori.ir import Inst

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
IN_ORDER: Final[dict[str, str]] = {
    "LDS": "shared", "LDSM": "shared", "STS": "shared", "ATOMS": "shared", "SHFL": "shared", "S2UR": "s2ur", "MUFU": "xu", "F2F": "xu",
    "F2I": "xu", "I2F": "xu", "FRND": "xu", "POPC": "xu", "FLO": "xu", "BREV": "xu", "DADD": "fp64", "DMUL": "fp64", "DFMA": "fp64",
    "DSETP": "fp64", "HMMA": "mma", "IMMA": "mma", "DMMA": "dmma", "MOVM": "shared", "LDL": "local", "STL": "local", "TEX": "tex", "FCHK": "xu", "LDTM": "tmem", "REDUX": "redux", "B2R": "b2r",
}  # fmt: skip
"""Units whose operations finish in the order they were issued: ptxas 13.0.88 leaves out the scoreboards of all but the last."""


def takes_waits(inst: Inst) -> bool:
    """False for WARPGROUP.DEPBAR, whose wait mask must be empty (nvdisasm refuses others).

    It needs none: the registers that it stands for were ready when the operations on them issued.
    """
    return not (inst.op.base == "WARPGROUP" and inst.op.has("DEPBAR"))


@final
class Units:
    """Answers for one target, cached by operation."""

    __slots__ = ("_barriers", "_pipes", "sm")

    def __init__(self, sm: int) -> None:
        self.sm: Final[int] = sm
        self._pipes: dict[int, int] = {}
        self._barriers: dict[int, int] = {}

    def pipe(self, op: Op) -> int:
        """The execution pipe; raises Unsupported for an operation without a row."""
        p = self._pipes.get(op.ident)
        if p is None:
            f = facts(op.base)
            if f is None:
                raise Unsupported(f"no scheduling facts for {op.name}")
            p = self._pipes[op.ident] = PIPE_NAMES.index(f.pipe(op.mods))
        return p

    def barriers(self, op: Op) -> int:
        """NEEDS_WRITE if results arrive late, NEEDS_READ if sources are read late, as a bit set."""
        b = self._barriers.get(op.ident)
        if b is None:
            self.pipe(op)
            b = self._barriers[op.ident] = late(op, self.sm) & (NEEDS_WRITE | NEEDS_READ)
        return b

    def needs(self, inst: Inst) -> int:
        """As :meth:`barriers`, for one instruction: some operations have forms that take no barrier."""
        base = inst.op.base
        if base == "BMOV":
            # Reading a B register writes late, writing one from an R register reads late (legality of the fields).
            kind = inst.dst[0] & KIND_MASK if inst.dst else 0
            if kind == K_R:
                return NEEDS_WRITE
            return NEEDS_READ if inst.src and inst.src[0] & KIND_MASK == K_R else 0
        if not inst.src and base in ("CCTL", "CCTLL", "CCTLT"):
            return 0
        return self.barriers(inst.op)


_units: dict[int, Units] = {}


def units(sm: int) -> Units:
    """The table of a target by the SM number of its profile."""
    u = _units.get(sm)
    if u is None:
        u = Units(sm)
        _units[sm] = u
    return u
