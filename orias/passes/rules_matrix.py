"""Rewrites of matrix products: an accumulator of zeros is RZ."""

from orias.isa.operand import K_IMM, K_R, PT, RZ, bare, has_flags, has_lane, in_file
from orias.ori.ir import Inst
from orias.passes.simplify import RULES, Cx


def _product(cx: Cx, inst: Inst) -> None:
    """Zeros need no registers: the hardware reads RZ as any number of zeros."""
    addend = inst.src[2]
    if bare(addend) == K_IMM:
        cx.rewrite(inst, inst.op, [*inst.src[:2], RZ, *inst.src[3:]])
        return
    if has_flags(addend) or has_lane(addend) or not in_file(addend, K_R) or addend == RZ:
        return
    d = cx.definition(addend)
    if d is None or d.guard != PT or d.op.base not in ("copy", "pack"):
        return
    if all(s == RZ or bare(s) == K_IMM for s in d.src):
        cx.rewrite(inst, inst.op, [*inst.src[:2], RZ, *inst.src[3:]])


RULES["HMMA"] = _product
RULES["IMMA"] = _product
RULES["BMMA"] = _product
RULES["DMMA"] = _product
RULES["QMMA"] = _product
