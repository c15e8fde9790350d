"""Rewrites of matrix products: an accumulator of zeros is RZ."""

from orias.isa.op import MATRIX
from orias.isa.operand import FLAG_MASK, K_IMM, K_R, KIND_MASK, LANE_MASK, PAYLOAD_SHIFT, PT, RZ
from orias.ori.ir import Inst
from orias.passes.simplify import RULES, Cx


def _product(cx: Cx, inst: Inst) -> None:
    """Zeros need no registers: the hardware reads RZ as as many zeros as it wants."""
    addend = inst.src[2]
    if addend & (KIND_MASK | -1 << PAYLOAD_SHIFT) == K_IMM:
        cx.rewrite(inst, inst.op, [*inst.src[:2], RZ, *inst.src[3:]])
        return
    if addend & (LANE_MASK | FLAG_MASK) or addend & KIND_MASK != K_R or addend == RZ:
        return
    d = cx.definition(addend)
    if d is None or d.guard != PT or d.op.base not in ("copy", "pack"):
        return
    if all(s == RZ or s & (KIND_MASK | -1 << PAYLOAD_SHIFT) == K_IMM for s in d.src):
        cx.rewrite(inst, inst.op, [*inst.src[:2], RZ, *inst.src[3:]])


for _name in MATRIX:
    RULES[_name] = _product
