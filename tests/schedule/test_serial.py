from orias.ori.text import parse
from orias.schedule.serial_scheme import schedule_serial
from orias.timing.ctl import read_barrier, stall, wait_mask, write_barrier

SOURCE = """\
.func k sm_90 entry allocated
b0: -> b1
  R1 = LDC c[0x0][0x28], RZ
  R0 = S2R SR_TID.X
  R2 = IADD3 R0, 0x1, RZ
  R4 = HMMA.16816.F32 R8, R12, R4
  STG.E -, R2, URZ, 0x0, R4
b1:
  EXIT
"""


def test_serial_control_words() -> None:
    fn = parse(SOURCE)
    fn = fn[0] if isinstance(fn, list) else fn
    schedule_serial(fn)
    rows = [(i.op.base, stall(i.ctl), write_barrier(i.ctl), read_barrier(i.ctl), wait_mask(i.ctl)) for i in fn.insts()]
    assert rows == [
        ("LDC", 15, 0, 1, 3),
        ("S2R", 15, 0, 1, 3),
        ("IADD3", 15, 7, 7, 3),
        ("HMMA", 15, 7, 7, 3),
        ("NOP", 15, 7, 7, 3),
        ("NOP", 15, 7, 7, 3),
        ("STG", 15, 7, 1, 3),
        ("EXIT", 15, 7, 7, 3),
    ]
