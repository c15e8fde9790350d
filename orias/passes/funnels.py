"""Two shifts that fill each other's zeros, joined: ``x << k`` with ``y >> n - k`` is one funnel shift a word, a rotation if x is y."""

from typing import Final

from orias.isa.op import op
from orias.isa.operand import (
    K_R,
    RZ,
    Opnd,
    has_flags,
    has_lane,
    imm,
    imm_value,
    in_file,
    is_imm,
    is_vreg,
    lane_words,
    with_word_lane,
    without_lane,
)
from orias.ori.ir import OP_PACK, Inst
from orias.passes.simplify import Cx, portable
from orias.semantics.integers import constant_of

_FUNNEL: Final = op("SHF.L.W.U32.HI")
_LEFT: Final = op("SHF.L.U32")
_RIGHT: Final = op("SHF.R.U32.HI")
_LEFT64: Final = op("shl64")
_RIGHT64: Final = op("shr64.U64")

Joined = tuple[Opnd, Opnd, int]
"""x, y and k of ``x << k`` joined with ``y >> n - k``."""


def join_words(cx: Cx, inst: Inst, a: Opnd, b: Opnd) -> bool:
    """Rewrite an operation that joins two registers of a word, or the same words of two pairs, if they are such shifts; True if it did."""
    if has_flags(a) or has_flags(b):
        return False
    if has_lane(a) and has_lane(b):
        at, count = lane_words(a, 2)
        if count != 1 or lane_words(b, 2) != (at, 1):
            return False
        pairs = _joined_pairs(cx, without_lane(a), without_lane(b))
        if pairs is None:
            return False
        src = _word(pairs, at)
        if len(src) == 1:
            cx.to_copy(inst, src[0])
        else:
            cx.rewrite(inst, _FUNNEL, src)
        return True
    first, second = cx.absorbable(a), cx.absorbable(b)
    if first is None or second is None:
        return False
    for left, right in ((first, second), (second, first)):
        if left.op is not _LEFT or right.op is not _RIGHT or left.src[2] != RZ:
            continue
        k, m = constant_of(left.src[1]), constant_of(right.src[1])
        x, y = left.src[0], right.src[2]
        if (
            right.src[0] == RZ
            and k is not None
            and m is not None
            and 0 < k < 32
            and k + m == 32
            and _plain(x)
            and _plain(y)
        ):
            cx.rewrite(inst, _FUNNEL, [y, imm(k), x])
            return True
    return False


def _joined_pairs(cx: Cx, a: Opnd, b: Opnd) -> Joined | None:
    """The shifts of 64 bits that two whole registers are, in either order."""
    for left, right in ((cx.definition(a), cx.definition(b)), (cx.definition(b), cx.definition(a))):
        if left is None or right is None or left.op is not _LEFT64 or right.op is not _RIGHT64:
            continue
        if not (is_imm(left.src[1]) and is_imm(right.src[1]) and portable(left) and portable(right)):
            continue
        k = imm_value(left.src[1])
        x, y = left.src[0], right.src[0]
        if 0 < k < 64 and k + imm_value(right.src[1]) == 64 and _plain(x) and _plain(y):
            return x, y, k
    return None


def join_pairs(cx: Cx, inst: Inst, a: Opnd, b: Opnd) -> bool:
    """Make an operation that joins two whole pairs the two words of joined shifts, if they are such; True if it did."""
    if has_flags(a) or has_flags(b) or has_lane(a) or has_lane(b):
        return False
    joined = _joined_pairs(cx, a, b)
    if joined is None:
        return False
    words = []
    for at in range(2):
        src = _word(joined, at)
        if len(src) == 1:
            words.append(src[0])
        else:
            words.append(cx.insert(_FUNNEL.name, [cx.fn.new_vreg(K_R)], src, inst.loc).dst[0])
    cx.rewrite(inst, OP_PACK, words)
    return True


def _word(joined: Joined, at: int) -> list[Opnd]:
    """Sources of the funnel shift that gives a word of joined shifts; one operand if it is a word of theirs."""
    x, y, k = joined
    x0, x1, y0, y1 = (with_word_lane(o, w) for o in (x, y) for w in range(2))
    four = [y0, y1, x0, x1]
    # {x, y} << k, of which the upper half is wanted: by whole words first.
    first = at + 2 - k // 32
    if k % 32 == 0:
        return [four[first]]
    return [four[first - 1], imm(k % 32), four[first]]


def _plain(o: Opnd) -> bool:
    return is_vreg(o) and in_file(o, K_R) and not has_flags(o)
