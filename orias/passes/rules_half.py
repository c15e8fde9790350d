"""Rewrites of half precision: a half picked out by PRMT is read where it lies, and sums of products fuse."""

from typing import Final

from orias.isa.op import op
from orias.isa.operand import (
    ABS,
    K_R,
    NEG,
    S_H0_H0,
    S_H1_H1,
    S_NONE,
    Opnd,
    flags_of,
    has_lane,
    has_modifiers,
    in_file,
    suffix_of,
    with_suffix,
)
from orias.ori.ir import Inst
from orias.passes.simplify import RULES, Cx, portable
from orias.semantics.integers import constant_of

_PICKS: Final = {0x10: S_H0_H0, 0x32: S_H1_H1}
"""Low byte pair of a selector -> the half of the first operand that it picks."""


def _halves(cx: Cx, inst: Inst) -> None:
    """x.H0_H0 where x = PRMT y, selector: the half of y itself."""
    src = list(inst.src)
    for k, o in enumerate(src):
        n = _origin(cx, o)
        if n is not None:
            src[k] = n
    if src != inst.src:
        cx.rewrite(inst, inst.op, src)


def _origin(cx: Cx, o: Opnd) -> Opnd | None:
    if not in_file(o, K_R) or suffix_of(o) not in (S_H0_H0, S_H1_H1) or has_lane(o):
        return None
    d = cx.definition(o)
    if d is None or d.op.name != "PRMT" or len(d.src) != 3 or not portable(d):
        return None
    selector = constant_of(d.src[1])
    if selector is None or any(has_modifiers(s) for s in d.src):
        return None
    pair = selector >> (16 if suffix_of(o) == S_H1_H1 else 0) & 0xFF
    half = _PICKS.get(pair)
    source = d.src[0]
    if half is None and pair in (0x54, 0x76):
        half, source = (S_H0_H0 if pair == 0x54 else S_H1_H1), d.src[2]
    if half is None or not in_file(source, K_R):
        return None
    return with_suffix(source, half) | flags_of(o)


def _add(cx: Cx, inst: Inst) -> None:
    """A sum of a product becomes HFMA2 where PTX leaves the rounding open."""
    _halves(cx, inst)
    if inst.uid not in cx.fn.contract or len(inst.src) != 2:
        return
    plain = tuple(m for m in inst.op.mods if m != "SAT")
    for k in (0, 1):
        s, other = inst.src[k], inst.src[1 - k]
        if (s | other) & ABS or suffix_of(s) not in (S_NONE, S_H0_H0, S_H1_H1):
            continue
        d = cx.absorbable(s)
        if d is None or d.op.base != "HMUL2" or d.op.mods != plain or d.uid not in cx.fn.contract or len(d.src) != 2:
            continue
        a, b = (_half_of(x, suffix_of(s)) for x in d.src)
        if a is None or b is None or (a | b) & ABS:
            continue
        if s & NEG:
            if not in_file(a, K_R):
                continue
            a ^= NEG
        cx.rewrite(inst, op(".".join(["HFMA2", *inst.op.mods])), [a, b, other])
        cx.fn.contract.discard(inst.uid)
        return


def _half_of(o: Opnd, half: int) -> Opnd | None:
    """The operand that has in both halves what `o` has in the half; unchanged for S_NONE."""
    if half == S_NONE:
        return o
    if not in_file(o, K_R):
        return None
    if suffix_of(o) == S_NONE:
        return with_suffix(o, half)
    return o if suffix_of(o) in (S_H0_H0, S_H1_H1) else None


RULES["HMUL2"] = _halves
RULES["HFMA2"] = _halves
RULES["HSETP2"] = _halves
RULES["HSET2"] = _halves
RULES["HMNMX2"] = _halves
RULES["HADD2"] = _add
