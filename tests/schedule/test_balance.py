import pytest

from orias.isa.isa_table import load
from orias.ori.text import inst_text, parse
from orias.schedule.balance import alu_surplus, fma_form
from orias.schedule.list import schedule_physical


@pytest.mark.parametrize("sm", ["sm_75", "sm_80", "sm_90"])
@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("R2 = MOV R3", "R2 = IMAD.U32 RZ, RZ, R3"),
        ("R2 = MOV 0x7", "R2 = IMAD.U32 RZ, RZ, 0x7"),
        ("R2 = MOV UR4", "R2 = IMAD.U32 RZ, RZ, UR4"),
        ("@!P0 R2 = IADD3 R3, R4, RZ", "@!P0 R2 = IMAD R3, 0x1, R4"),
        ("R2 = SHF.L.U32 R3, 0x4, RZ", "R2 = IMAD.U32 R3, 0x10, RZ"),
        ("R1 = IADD3 R1, 0xfffffff8, RZ", None),
        ("R2 = IADD3 R3, R4, R5", None),
        ("R2 = IADD3 -R3, R4, RZ", None),
        ("R2, P0 = IADD3 R3, R4, RZ", None),
        ("R2 = SHF.L.U32 R3, R4, RZ", None),
    ],
)
def test_forms(sm: str, text: str, want: str | None) -> None:
    fn = parse(f".func k {sm} entry allocated\nb0:\n  {text}\n  EXIT\n")
    inst = fn.blocks[0].insts[0]
    alt = fma_form(inst, load(fn.target.table))
    if alt is None:
        assert want is None
    else:
        inst.op, inst.src = alt.op, alt.src
        assert inst_text(inst, fn) == want


def test_moves_alternate() -> None:
    moves = "".join(f"  R{n} = MOV 0x{n}\n" for n in range(2, 8))
    fn = parse(f".func k sm_80 entry allocated\nb0:\n{moves}  EXIT\n")
    schedule_physical(fn)
    names = [i.op.base for i in fn.insts()]
    assert names.count("MOV") == 3
    assert names.count("IMAD") == 3


@pytest.mark.parametrize(
    ("alu", "fma", "others", "want"),
    [(10, 0, 0, 5), (10, 0, 6, 2), (10, 8, 0, 1), (10, 10, 0, 0), (4, 0, 6, 0), (0, 9, 0, 0)],
)
def test_surplus(alu: int, fma: int, others: int, want: int) -> None:
    keys = ["ALU"] * alu + ["FMA"] * fma + ["MEM"] * others
    assert alu_surplus(keys, [2] * len(keys)) == want
