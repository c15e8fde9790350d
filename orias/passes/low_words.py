"""OriLoopUnrolling and LateExpansion, before them: 64-bit values of which only the low word is read are computed as words.

Addresses of local and shared memory are 64-bit values in PTX, but the accesses read the low word.  An addition of 64 bits
costs two operations, a wide product a pair of registers and a zero in the high word of a zero-extended addend.
"""

from typing import Final

from orias.isa.op import op
from orias.isa.operand import (
    FIRST_VREG,
    K_NONE,
    K_R,
    PT,
    RZ,
    Opnd,
    imm,
    imm_value,
    in_file,
    is_bare,
    is_imm,
    is_vreg,
    lane_words,
    vreg,
    with_reg,
    with_word_lane,
    without_lane,
)
from orias.ori.ir import OP_COPY, OP_PACK, OP_PHI, Func, Inst
from orias.passes.dce import eliminate_dead
from orias.semantics.integers import constant_of

_ADD: Final = op("IADD3")
_PRODUCT: Final = op("IMAD")
_SHIFT: Final = op("SHF.L.U32")
_WIDE_PRODUCTS: Final = ("IMAD.WIDE", "IMAD.WIDE.U32")


def narrow_low_words(fn: Func) -> bool:
    """Narrow what is only read in its low word; True if there was anything."""
    found = {vreg(inst.dst[0]): inst for inst in fn.insts() if _narrowable(fn, inst)}
    if not found:
        return False
    whole = _read_beyond(fn, found)
    words: dict[int, int] = {}
    for v, inst in found.items():
        if v not in whole:
            d = fn.new_vreg(K_R)
            words[v] = vreg(d)
            _narrow(inst, d)
    if not words:
        return False
    for inst in fn.insts():
        inst.src = [_renamed(o, words) for o in inst.src]
        inst.old = _renamed(inst.old, words)
    eliminate_dead(fn)
    return True


def _read_beyond(fn: Func, found: dict[int, Inst]) -> set[int]:
    """Those of some registers that are read beyond their first word, by instructions that compute words alone unless their own result is read so."""
    whole: set[int] = set()
    work: list[int] = []

    def read(operands: list[Opnd]) -> None:
        for o in operands:
            # Most operands are none of these registers.
            if o >= FIRST_VREG and vreg(o) in found and is_vreg(o):
                v = vreg(o)
                if v not in whole and sum(lane_words(o, fn.vwidth[v])) > 1:
                    whole.add(v)
                    work.append(v)

    for inst in fn.insts():
        narrow = len(inst.dst) == 1 and is_vreg(inst.dst[0]) and found.get(vreg(inst.dst[0])) is inst
        read(_low_sources(inst) if narrow else inst.uses())
    while work and len(whole) < len(found):
        read(found[work.pop()].src)
    return whole


def _low_sources(inst: Inst) -> list[Opnd]:
    """What the low word of a result is computed from."""
    s = inst.src
    if inst.op is OP_PACK or inst.op.base == "sext64":
        return s[:1]
    if inst.op.name in _WIDE_PRODUCTS:
        return [s[0], s[1], with_word_lane(s[2], 0)]
    return [with_word_lane(o, 0) for o in s]


def _narrowable(fn: Func, inst: Inst) -> bool:
    """True for what computes two words, the low one from the low words of its operands alone."""
    if len(inst.dst) != 1 or inst.guard != PT or inst.old != K_NONE or not is_vreg(inst.dst[0]):
        return False
    if not in_file(inst.dst[0], K_R) or fn.width(inst.dst[0]) != 2:
        return False
    if any(is_imm(o) and not is_bare(o) for o in inst.src):
        return False
    base = inst.op.base
    if inst.op is OP_PACK or base == "iadd64" or base == "imul64":
        return len(inst.src) == 2
    if inst.op is OP_COPY or inst.op is OP_PHI:
        return all(_has_low_word(fn, o) for o in inst.src)
    if base == "shl64":
        return is_imm(inst.src[1]) and imm_value(inst.src[1]) < 32
    return base == "sext64" or inst.op.name in _WIDE_PRODUCTS


def _has_low_word(fn: Func, o: Opnd) -> bool:
    """True for a constant, and for a register of two words without sign."""
    return is_imm(o) or o == RZ or (is_vreg(o) and is_bare(o) and in_file(o, K_R) and fn.width(o) == 2)


def _narrow(inst: Inst, d: Opnd) -> None:
    """Make the instruction compute the low word alone."""
    s = inst.src
    inst.dst = [d]
    if inst.op is OP_PACK or inst.op.base == "sext64":
        inst.op, inst.src = OP_COPY, [s[0]]
    elif inst.op is OP_COPY or inst.op is OP_PHI:
        inst.src = _low_sources(inst)
    elif inst.op.base == "iadd64":
        inst.op, inst.src = _ADD, [*_low_sources(inst), RZ]
    elif inst.op.base == "imul64":
        inst.op, inst.src = _PRODUCT, [*_low_sources(inst), RZ]
    elif inst.op.base == "shl64":
        inst.op, inst.src = _SHIFT, [with_word_lane(s[0], 0), imm(imm_value(s[1])), RZ]
    elif constant_of(s[1]) == 1:
        inst.op, inst.src = _ADD, [s[0], with_word_lane(s[2], 0), RZ]
    else:
        inst.op, inst.src = _PRODUCT, _low_sources(inst)


def _renamed(o: Opnd, words: dict[int, int]) -> Opnd:
    """The word that stands for the low word of a narrowed value."""
    return without_lane(with_reg(o, words[vreg(o)])) if is_vreg(o) and vreg(o) in words else o
