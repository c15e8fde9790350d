"""LateExpansion, after it: the two words of a product are computed by one operation, with their sums.

``lo = IMAD a, b, RZ`` and ``hi = IMAD.HI.U32 a, b, RZ`` in a block become ``w = IMAD.WIDE.U32 a, b, RZ``.  Where both words
are added to the two words of one register, with a carry from the low sum to the high one (rows of long products), the
product takes that register as its addend, the carry into the low sum and the one out of the high sum.
"""

from typing import Final

from orias.isa.op import op
from orias.isa.operand import (
    K_NONE,
    K_R,
    NOT_PT,
    PT,
    RZ,
    Opnd,
    has_modifiers,
    in_file,
    is_bare,
    is_vreg,
    vreg,
    with_word_lane,
    without_lane,
)
from orias.ori.ir import Block, Func, Inst
from orias.passes.words import rename_words, word_for

_LOW: Final = op("IMAD")
_HIGH: Final = {op("IMAD.HI"): op("IMAD.WIDE"), op("IMAD.HI.U32"): op("IMAD.WIDE.U32")}
_WIDE: Final = frozenset(_HIGH.values())
_CARRY: Final = op("IMAD.WIDE.U32.X")
_UNSIGNED: Final = op("IMAD.WIDE.U32")
_ADD: Final = op("IADD3")
_ADD_CARRY: Final = op("IADD3.X")


def merge_products(fn: Func) -> None:
    """Merge pairs of products, then their sums, block by block."""
    words: dict[int, Opnd] = {}
    for b in fn.blocks:
        _merge_words(fn, b, words)
    if words:
        rename_words(fn, words)
    words = {}
    readers = _readers(fn)
    for b in fn.blocks:
        _take_sums(fn, b, readers, words)
    if words:
        rename_words(fn, words)


def _merge_words(fn: Func, b: Block, words: dict[int, Opnd]) -> None:
    """Make one operation of each low and high product of the same factors; `words` gets what stands for their results."""
    lows: dict[tuple[Opnd, Opnd], Inst] = {}
    highs: dict[tuple[Opnd, Opnd], Inst] = {}
    gone: set[int] = set()
    for inst in b.insts:
        if inst.op is not _LOW and inst.op not in _HIGH:
            continue
        if len(inst.dst) != 1 or not is_vreg(inst.dst[0]) or inst.guard != PT or inst.old != K_NONE:
            continue
        x, y, addend = inst.src
        if addend != RZ or has_modifiers(x) or has_modifiers(y) or not in_file(inst.dst[0], K_R):
            continue
        key = (min(x, y), max(x, y))
        mine, others = (lows, highs) if inst.op is _LOW else (highs, lows)
        other = others.pop(key, None)
        if other is None:
            mine.setdefault(key, inst)
            continue
        low, high = (inst, other) if inst.op is _LOW else (other, inst)
        pair = fn.new_vreg(K_R, 2)
        words[vreg(low.dst[0])] = with_word_lane(pair, 0)
        words[vreg(high.dst[0])] = with_word_lane(pair, 1)
        other.op, other.dst = _HIGH[high.op], [pair]
        gone.add(inst.uid)
    if gone:
        b.insts = [i for i in b.insts if i.uid not in gone]


def _readers(fn: Func) -> dict[int, list[Inst]]:
    """The instructions that read each register, one entry an operand."""
    readers: dict[int, list[Inst]] = {}
    for inst in fn.insts():
        for o in inst.uses():
            if is_vreg(o):
                readers.setdefault(vreg(o), []).append(inst)
    return readers


def _take_sums(fn: Func, b: Block, readers: dict[int, list[Inst]], words: dict[int, Opnd]) -> None:
    """Let products of the block take the sums of both their words as addends; `words` gets what stands for the sums."""
    place = {inst.uid: k for k, inst in enumerate(b.insts)}
    gone: set[int] = set()
    for inst in list(b.insts):
        if inst.op is not _UNSIGNED or len(inst.dst) != 1 or inst.src[2] != RZ or inst.guard != PT:
            continue
        sums = _sums(fn, inst, readers, place)
        if sums is None:
            continue
        low, high = sums
        addend = _addend(low, high, inst.dst[0], fn, words)
        if addend is None or gone & {low.uid, high.uid}:
            continue
        between = b.insts[place[low.uid] + 1 : place[high.uid]]
        d = low.dst[0]
        if any(is_vreg(o) and vreg(o) == vreg(d) for i in between for o in i.uses()):
            continue
        pair = fn.new_vreg(K_R, 2)
        words[vreg(d)] = with_word_lane(pair, 0)
        words[vreg(high.dst[0])] = with_word_lane(pair, 1)
        factors = inst.src[:2]
        high.dst = [pair, *high.dst[1:]]
        if low.op is _ADD_CARRY:
            high.op, high.src = _CARRY, [*factors, addend, low.src[3]]
        else:
            high.op, high.src = _UNSIGNED, [*factors, addend]
        gone.add(inst.uid)
        gone.add(low.uid)
    if gone:
        b.insts = [i for i in b.insts if i.uid not in gone]


def _sums(fn: Func, product: Inst, readers: dict[int, list[Inst]], place: dict[int, int]) -> tuple[Inst, Inst] | None:
    """The sum of the low word and that of the high word with its carry, if nothing else reads the product."""
    read = readers.get(vreg(product.dst[0]), [])
    if len(read) != 2:
        return None
    for low, high in (read, read[::-1]):
        if not _plain_sum(low, product, 0) or not _plain_sum(high, product, 1):
            continue
        if low.uid not in place or high.uid not in place or place[low.uid] >= place[high.uid]:
            continue
        if high.op is not _ADD_CARRY or len(low.dst) != 2 or not is_vreg(low.dst[1]) or not is_vreg(low.dst[0]):
            continue
        if high.src[3] != low.dst[1] or len(readers.get(vreg(low.dst[1]), ())) != 1 or not is_vreg(high.dst[0]):
            continue
        return low, high
    return None


def _plain_sum(inst: Inst, product: Inst, word: int) -> bool:
    """True for a sum of the given word of a product, one other word and perhaps a carry."""
    if inst.op not in (_ADD, _ADD_CARRY) or inst.guard != PT or inst.old != K_NONE or len(inst.dst) > 2:
        return False
    if inst.op is _ADD_CARRY and inst.src[4] != NOT_PT:
        return False
    part = with_word_lane(without_lane(product.dst[0]), word)
    return part in inst.src[:3] and RZ in inst.src[:3]


def _addend(low: Inst, high: Inst, product: Opnd, fn: Func, words: dict[int, Opnd]) -> Opnd | None:
    """The register whose two words are added to those of the product, if it is one."""
    found: list[Opnd] = []
    for word, inst in enumerate((low, high)):
        rest = list(inst.src[:3])
        rest.remove(with_word_lane(without_lane(product), word))
        rest.remove(RZ)
        found.append(word_for(rest[0], words))
    x, y = found
    if not is_vreg(x) or not is_vreg(y) or vreg(x) != vreg(y) or not in_file(x, K_R) or fn.width(x) != 2:
        return None
    whole = without_lane(x)
    if not is_bare(whole) or (x, y) != (with_word_lane(whole, 0), with_word_lane(whole, 1)):
        return None
    return whole
