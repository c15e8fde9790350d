"""Operands that must be adjacent in the register file.

Compare-and-swap (``CAS``, ``CAST``) prints the compared value and the new one as two registers, but the hardware takes
one vector.  ptxas 13.0.88 always puts the new value after the compared one and aligns both together (words: an even
pair; doublewords: a quad); it even copies RZ there.  nvdisasm does not print any other form.  Observed on sm_75, 80 and
90.
"""

from typing import Final

from orias.diag import Unsupported
from orias.isa.op import F_ADJACENT
from orias.isa.operand import K_IMM, K_R, RZ, Opnd, is_vreg, is_zero_reg, lane_words, with_lane
from orias.ori.ir import OP_PACK, Block, Func, Inst

_FIRST_LANE: Final = {1: 1, 2: 9, 4: 13}


def join_vectors(fn: Func) -> None:
    """Make the two values of every compare-and-swap the halves of one wide register."""
    for b in fn.blocks:
        if any(_swaps(i) for i in b.insts):
            _join_block(fn, b)


def _swaps(inst: Inst) -> bool:
    return inst.op.flags & F_ADJACENT != 0


def _join_block(fn: Func, b: Block) -> None:
    out: list[Inst] = []
    for inst in b.insts:
        if _swaps(inst):
            words = 4 if inst.op.has("128") else 2 if inst.op.has("64") else 1
            parts = [*_parts(fn, inst, inst.src[-2], words), *_parts(fn, inst, inst.src[-1], words)]
            pair = fn.new_vreg(K_R, 2 * words)
            out.append(fn.new_inst(OP_PACK, [pair], parts, loc=inst.loc))
            lane = _FIRST_LANE[words]
            inst.src[-2] = with_lane(pair, lane)
            inst.src[-1] = with_lane(pair, lane + 1)
        out.append(inst)
    b.insts = out


def _parts(fn: Func, inst: Inst, o: Opnd, words: int) -> list[Opnd]:
    if is_zero_reg(o) or o == K_IMM:
        return [RZ] * words
    if is_vreg(o) and lane_words(o, fn.width(o))[1] == words:
        return [o]
    raise Unsupported(f"operand of {inst.op.name} is not a register of {words} words", inst.loc)
