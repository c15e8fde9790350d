"""LateExpansion, before it: 64-bit values of which only the low word is read are computed as words.

Addresses of local and shared memory are 64-bit values in PTX, but the accesses read the low word.  An addition of 64 bits
costs two operations, a wide product a pair of registers and a zero in the high word of a zero-extended addend.
"""

from typing import Final

from orias.isa.op import op
from orias.isa.operand import (
    K_NONE,
    K_R,
    PT,
    RZ,
    Opnd,
    in_file,
    is_vreg,
    lane_words,
    vreg,
    with_reg,
    with_word_lane,
    without_lane,
)
from orias.ori.ir import OP_COPY, OP_PACK, Func, Inst
from orias.passes.dce import eliminate_dead
from orias.semantics.integers import constant_of

_ADD: Final = op("IADD3")
_PRODUCT: Final = op("IMAD")


def narrow_low_words(fn: Func) -> None:
    """Narrow what is only read in its low word."""
    high = [0] * len(fn.vkind)
    found: list[Inst] = []
    for inst in fn.insts():
        for o in inst.uses():
            _count(fn, high, o, 1)
        if _narrowable(fn, inst):
            found.append(inst)
    words: dict[int, int] = {}
    for inst in reversed(found):
        v = vreg(inst.dst[0])
        if high[v]:
            continue
        for o in inst.src:
            _count(fn, high, o, -1)
        d = fn.new_vreg(K_R)
        high.append(0)
        words[v] = vreg(d)
        _narrow(inst, d)
        for o in inst.src:
            _count(fn, high, o, 1)
    if not words:
        return
    for inst in fn.insts():
        inst.src = [_renamed(o, words) for o in inst.src]
        inst.old = _renamed(inst.old, words)
    eliminate_dead(fn)


def _count(fn: Func, high: list[int], o: Opnd, by: int) -> None:
    """Note a read of a word beyond the first."""
    if is_vreg(o) and in_file(o, K_R):
        first, count = lane_words(o, fn.vwidth[vreg(o)])
        if first + count > 1:
            high[vreg(o)] += by


def _narrowable(fn: Func, inst: Inst) -> bool:
    """True for what computes two words, the low one from the low words of its operands alone."""
    if len(inst.dst) != 1 or inst.guard != PT or inst.old != K_NONE or not is_vreg(inst.dst[0]):
        return False
    if not in_file(inst.dst[0], K_R) or fn.width(inst.dst[0]) != 2:
        return False
    if inst.op is OP_PACK or inst.op.base == "iadd64":
        return len(inst.src) == 2
    return inst.op.base == "sext64" or inst.op.name in ("IMAD.WIDE", "IMAD.WIDE.U32")


def _narrow(inst: Inst, d: Opnd) -> None:
    """Make the instruction compute the low word alone."""
    s = inst.src
    inst.dst = [d]
    if inst.op is OP_PACK or inst.op.base == "sext64":
        inst.op, inst.src = OP_COPY, [s[0]]
    elif inst.op.base == "iadd64":
        inst.op, inst.src = _ADD, [with_word_lane(s[0], 0), with_word_lane(s[1], 0), RZ]
    elif constant_of(s[1]) == 1:
        inst.op, inst.src = _ADD, [s[0], with_word_lane(s[2], 0), RZ]
    else:
        inst.op, inst.src = _PRODUCT, [s[0], s[1], with_word_lane(s[2], 0)]


def _renamed(o: Opnd, words: dict[int, int]) -> Opnd:
    """The word that stands for the low word of a narrowed value."""
    return without_lane(with_reg(o, words[vreg(o)])) if is_vreg(o) and vreg(o) in words else o
