"""The index of definitions and uses follows what passes insert."""

from orias.isa.op import op
from orias.isa.operand import K_P, K_R, RZ, imm
from orias.ori.text import parse
from orias.passes.def_use import Values

_TEXT = """.func k sm_90 entry ssa
b0:
  v256:R = S2R SR_TID.X
  STS -, RZ, URZ, 0x0, v256
  EXIT
"""


def test_an_inserted_instruction_is_known_at_once() -> None:
    """All its results have it as their definition, and what it reads has a use more."""
    fn = parse(_TEXT)
    values = Values(fn)
    thread = fn.blocks[0].insts[0].dst[0]
    total, carry = fn.new_vreg(K_R), fn.new_vreg(K_P)
    inst = fn.new_inst(op("IADD3"), [total, carry], [thread, imm(1), RZ])
    assert values.single_use(thread)
    values.define(inst)
    assert values.definition(total) is inst
    assert values.definition(carry) is inst
    assert not values.single_use(thread)
