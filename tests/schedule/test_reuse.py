from orias.isa.isa_table import load
from orias.isa.operand import payload
from orias.options import Options
from orias.ori.text import parse
from orias.output.emit import emit
from orias.schedule.reuse import mark_reuse
from orias.schedule.scheduling import post_ra
from orias.timing.ctl import reuse, with_reuse
from tests.schedule.test_emit import disassemble

TEXT = """\
.func k sm_90 entry allocated
b0:
  R4 = FFMA R0, R1, R2
  R5 = FFMA R0, R3, R2
  R6 = FFMA R0, R3, R4
  R0 = IADD3 R0, R7, R8
  R9 = IADD3 R0, R7, R8
  STG.E -, R2, URZ, 0x0, R9
  EXIT
"""


def test_flags() -> None:
    fn = parse(TEXT)
    post_ra(fn, Options(opt_level=3))
    for i in fn.insts():
        i.ctl = with_reuse(i.ctl, 0)
    mark_reuse(fn)
    by_result = {payload(i.dst[0]): reuse(i.ctl) for i in fn.insts() if i.dst}
    assert by_result[4] & 0b101 == 0b101
    assert by_result[0] & 1 == 0, "R0 is overwritten by the instruction itself"


def test_the_disassembler_agrees() -> None:
    fn = parse(TEXT)
    post_ra(fn, Options(opt_level=3))
    text = disassemble(emit([fn], load("sm_90"), fn.target).code)
    assert any(t.startswith("FFMA R4, R0.reuse, R1, R2.reuse") for t in text), text
