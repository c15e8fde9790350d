"""After lowering, virtual registers have numbers without gaps, in the order that they had."""

from orias.isa.operand import FIRST_VIRTUAL, K_NONE, K_R, is_vreg, vreg
from orias.ori.ir import Func
from orias.ori.renumber import renumber
from orias.ori.text import dump, parse

GAPS = """.func k sm_90 entry ssa
b0:
  v256:R = S2R SR_TID.X
  v300:P = ISETP.NE.S32.AND v256, 0x0, PT
  v270:R2 = LDS.64 -, v256, URZ, 0x10
  @v300 v400:R = IADD3 v270.0, v270.1, RZ old v256
  STS -, v256, URZ, 0x0, v400
  EXIT
"""


def numbers(fn: Func) -> set[int]:
    found: set[int] = set()
    for inst in fn.insts():
        found.update(vreg(o) for o in (*inst.dst, *inst.src, inst.guard, inst.old) if o != K_NONE and is_vreg(o))
    return found


def test_gaps_are_closed_in_order() -> None:
    fn = parse(GAPS)
    fn.names = {270: [("%pair", "b64")], 350: [("%unused", "b32")]}
    fn.vkind[350], fn.vwidth[350] = K_R, 1
    before = dump(fn)
    renumber(fn)
    assert fn.names == {257: [("%pair", "b64")], 259: [("%unused", "b32")]}
    assert len(fn.vkind) == len(fn.vwidth) == FIRST_VIRTUAL + 5
    assert numbers(fn) == {256, 257, 258, 260}
    moved = before.replace("v270", "v257").replace("v300", "v258").replace("v350", "v259").replace("v400", "v260")
    assert dump(fn) == moved


def test_numbers_without_gaps_stay() -> None:
    fn = parse(GAPS.replace("v270", "v257").replace("v300", "v258").replace("v400", "v259"))
    before = dump(fn)
    renumber(fn)
    assert dump(fn) == before
