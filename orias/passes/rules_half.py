"""Rewrites of half-precision sources: a half picked out by PRMT is read where it lies."""

from typing import Final

from orias.isa.operand import (
    FLAG_MASK,
    K_R,
    KIND_MASK,
    LANE_MASK,
    S_H0_H0,
    S_H1_H1,
    SUFFIX_MASK,
    Opnd,
    suffix,
    with_suffix,
)
from orias.ori.ir import Inst
from orias.passes.simplify import RULES, Cx, imm_value, portable

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
    if o & KIND_MASK != K_R or suffix(o) not in (S_H0_H0, S_H1_H1) or o & LANE_MASK:
        return None
    d = cx.definition(o)
    if d is None or d.op.name != "PRMT" or len(d.src) != 3 or not portable(d):
        return None
    selector = imm_value(d.src[1])
    if selector is None or any(s & (FLAG_MASK | SUFFIX_MASK) for s in d.src):
        return None
    pair = selector >> (16 if suffix(o) == S_H1_H1 else 0) & 0xFF
    half = _PICKS.get(pair)
    source = d.src[0]
    if half is None and pair in (0x54, 0x76):
        half, source = (S_H0_H0 if pair == 0x54 else S_H1_H1), d.src[2]
    if half is None or source & KIND_MASK != K_R:
        return None
    return with_suffix(source, half) | (o & FLAG_MASK)


for _name in ("HADD2", "HMUL2", "HFMA2", "HSETP2", "HSET2", "HMNMX2"):
    RULES[_name] = _halves
