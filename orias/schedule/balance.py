"""The same operation on another pipe.

Moves, two-operand adds and left shifts exist on the ALU pipe and, as IMAD, on the FMA pipe; the scheduler takes the
one that is free, as ptxas does (SC6 of the scheduling inventory: MOV and IMAD.MOV.U32, IADD3 and IMAD.IADD, SHF.L and
IMAD.SHL.U32).
"""

from typing import Final, final

from orias.isa.op import Op, op
from orias.isa.operand import (
    FLAG_MASK,
    K_CONST,
    K_IMM,
    K_R,
    K_UR,
    KIND_MASK,
    PAYLOAD_SHIFT,
    RZ,
    SUFFIX_MASK,
    Opnd,
    imm,
    is_zero_reg,
)
from orias.isa.table import IsaTable
from orias.ori.ir import Inst

_IMAD: Final[Op] = op("IMAD")
_IMAD_U32: Final[Op] = op("IMAD.U32")
_MOV: Final[Op] = op("MOV")
_IADD3: Final[Op] = op("IADD3")
_SHL: Final[Op] = op("SHF.L.U32")
_PLAIN: Final = 1 << K_R | 1 << K_UR | 1 << K_IMM | 1 << K_CONST
_STACK_POINTER: Final[Opnd] = K_R | 1 << PAYLOAD_SHIFT


@final
class Alternative:
    """Operation and sources that do the same on the FMA pipe."""

    __slots__ = ("op", "src")

    def __init__(self, op_: Op, src: list[Opnd]) -> None:
        self.op: Op = op_
        self.src: list[Opnd] = src


def fma_form(inst: Inst, table: IsaTable) -> Alternative | None:
    """The form of an ALU instruction for the FMA pipe, or None.  Changes of the stack pointer stay recognisable."""
    o = inst.op
    if o not in (_MOV, _IADD3, _SHL) or len(inst.dst) != 1 or inst.dst[0] == _STACK_POINTER:
        return None
    src = inst.src
    alt: Alternative | None = None
    if o is _MOV:
        if len(src) == 1 and _plain(src[0]):
            alt = Alternative(_IMAD_U32, [RZ, RZ, src[0]])
    elif o is _IADD3:
        if len(src) == 3 and src[2] == RZ and _plain(src[0]) and _plain(src[1]) and src[0] & KIND_MASK == K_R:
            if not is_zero_reg(src[0]):
                alt = Alternative(_IMAD, [src[0], imm(1), src[1]])
    elif len(src) == 3 and is_zero_reg(src[2]) and src[1] & KIND_MASK == K_IMM and src[0] & KIND_MASK == K_R:
        n = src[1] >> PAYLOAD_SHIFT
        if _plain(src[0]) and 0 < n < 31:
            alt = Alternative(_IMAD_U32, [src[0], imm(1 << n), RZ])
    if alt is not None and table.accepts(alt.op, inst.guard, inst.dst, alt.src):
        return alt
    return None


def _plain(o: Opnd) -> bool:
    return _PLAIN >> (o & KIND_MASK) & 1 == 1 and not o & (FLAG_MASK | SUFFIX_MASK)
