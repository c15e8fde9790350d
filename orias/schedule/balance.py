"""Moves ALU operations with an equivalent on the FMA pipe to that pipe when the ALU pipe is busy.

Moves, two-operand additions (also with a carry) and left shifts (also with an addition) exist on the ALU pipe and, as IMAD, on the FMA
pipe.  Like ptxas, the scheduler takes the free pipe (``docs/facts/optimizer.md``: MOV and IMAD.MOV.U32, IADD3 and IMAD.IADD or, with a
constant on sm_90 to sm_103, VIADD, IADD3.X and IMAD.X, SHF.L and IMAD.SHL.U32).
"""

from typing import Final, final

from orias.isa.isa_table import IsaTable
from orias.isa.op import Op, op
from orias.isa.operand import (
    K_CONST,
    K_IMM,
    K_R,
    K_UR,
    NEG,
    NOT_PT,
    RZ,
    SP,
    Opnd,
    has_modifiers,
    imm,
    imm_value,
    in_file,
    is_imm,
    is_zero_reg,
    kind_of,
)
from orias.ori.ir import Inst

_IMAD: Final[Op] = op("IMAD")
_IMAD_U32: Final[Op] = op("IMAD.U32")
_MOV: Final[Op] = op("MOV")
_IADD3: Final[Op] = op("IADD3")
_IADD3_X: Final[Op] = op("IADD3.X")
_IMAD_X: Final[Op] = op("IMAD.X")
_SHL: Final[Op] = op("SHF.L.U32")
_LEA: Final[Op] = op("LEA")
_VIADD: Final[Op] = op("VIADD")


@final
class Alternative:
    """Equivalent operation and sources on the FMA pipe."""

    __slots__ = ("op", "src")

    def __init__(self, op_: Op, src: list[Opnd]) -> None:
        self.op: Op = op_
        self.src: list[Opnd] = src


def fma_form(inst: Inst, table: IsaTable) -> Alternative | None:
    """The form of an ALU instruction for the FMA pipe; None without one.  Changes of the stack pointer keep their form."""
    o = inst.op
    if o not in (_MOV, _IADD3, _IADD3_X, _SHL, _LEA) or len(inst.dst) != 1 or inst.dst[0] == SP:
        return None
    src = inst.src
    alt: Alternative | None = None
    if o is _MOV:
        if len(src) == 1 and _plain(src[0]):
            alt = Alternative(_IMAD_U32, [RZ, RZ, src[0]])
    elif o is _IADD3:
        if len(src) == 3 and src[2] == RZ:
            alt = _sum(src[0], src[1]) or _sum(src[1], src[0])
            if is_imm(src[1]) and _plain(src[0]) and in_file(src[0], K_R) and not is_zero_reg(src[0]):
                # A product has no place for a second constant.
                alt = Alternative(_VIADD, [src[0], src[1]])
    elif o is _IADD3_X:
        # A product has one carry.
        if len(src) == 5 and src[2] == RZ and src[4] == NOT_PT and all(_plain(s) for s in src[:2]):
            a, b = (src[0], src[1]) if in_file(src[0], K_R) and not is_zero_reg(src[0]) else (src[1], src[0])
            if in_file(a, K_R) and not is_zero_reg(a):
                alt = Alternative(_IMAD_X, [RZ, RZ, a, src[3]] if b in (RZ, imm(0)) else [a, imm(1), b, src[3]])
    elif o is _LEA:
        if len(src) == 3 and is_imm(src[2]) and all(_plain(s) for s in src[:2]) and in_file(src[0], K_R):
            n = imm_value(src[2])
            if 0 < n < 31 and not is_zero_reg(src[0]) and in_file(src[1], K_R):
                alt = Alternative(_IMAD, [src[0], imm(1 << n), src[1]])
    elif len(src) == 3 and is_zero_reg(src[2]) and is_imm(src[1]) and in_file(src[0], K_R):
        n = imm_value(src[1])
        if _plain(src[0]) and 0 < n < 31:
            alt = Alternative(_IMAD_U32, [src[0], imm(1 << n), RZ])
    if alt is not None and table.accepts(alt.op, inst.guard, inst.dst, alt.src):
        return alt
    return None


def _sum(a: Opnd, b: Opnd) -> Alternative | None:
    """``a + b`` as a product of `a` and 1, and a sum; ``-b`` alone as a sum with no product."""
    if in_file(b, K_R) and b & NEG and is_zero_reg(a):
        return Alternative(_IMAD, [RZ, RZ, b]) if _plain(b ^ NEG) else None
    if not _plain(a) or not in_file(a, K_R) or is_zero_reg(a) or not _plain(b & ~NEG if in_file(b, K_R) else b):
        return None
    return Alternative(_IMAD, [a, imm(1), b])


def alu_surplus(keys: list[str], cycles: list[int]) -> tuple[int, int]:
    """How many operations the ALU pipe should give to the FMA pipe so that a full SM does not wait for it, and until both are as busy.

    `keys` and `cycles` are the pipe of each instruction of a piece and how long it occupies the pipe.  The warps of a
    full SM issue an instruction a cycle unless a pipe is busy for longer than that.
    """
    alu = fma = longest = 0
    for key, busy in zip(keys, cycles, strict=True):
        if key == "ALU":
            alu += busy
            longest = max(longest, busy)
        elif key == "FMA":
            fma += busy
    if longest == 0:
        return 0, 0
    even = max(0, (alu - fma) // (2 * longest))
    return max(0, min((alu - len(keys)) // longest, even)), even


def is_bound_to_alu(keys: list[str], cycles: list[int], others: list[Alternative | None]) -> bool:
    """True if what only the ALU pipe can do takes it as long as all the rest would take the FMA pipe."""
    fixed = rest = 0
    for key, busy, other in zip(keys, cycles, others, strict=True):
        if key == "ALU" and other is None:
            fixed += busy
        elif key in ("ALU", "FMA"):
            rest += busy
    return fixed > 0 and fixed >= rest


def _plain(o: Opnd) -> bool:
    return kind_of(o) in (K_R, K_UR, K_IMM, K_CONST) and not has_modifiers(o)
