import pytest

from orias.isa.isa_table import load
from orias.isa.op import op
from orias.ori.text import inst_text, parse
from orias.schedule.balance import Alternative, alu_surplus, fma_form, is_bound_to_alu
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
        ("R2 = IADD3 -R3, R4, RZ", "R2 = IMAD R4, 0x1, -R3"),
        ("R2 = IADD3 R3, -R4, RZ", "R2 = IMAD R3, 0x1, -R4"),
        ("R2 = IADD3 -R3, RZ, RZ", "R2 = IMAD RZ, RZ, -R3"),
        ("R2 = IADD3 -R3, -R4, RZ", None),
        ("R2 = IADD3 -R3, 0x8, RZ", None),
        ("R2 = LEA R3, R4, 0x3", "R2 = IMAD R3, 0x8, R4"),
        ("R2 = LEA -R3, R4, 0x3", None),
        ("R2 = LEA R3, UR4, 0x3", None),
        ("R2, P0 = LEA R3, R4, 0x3", None),
        ("R2, P0 = IADD3 R3, R4, RZ", None),
        ("R2 = SHF.L.U32 R3, R4, RZ", None),
    ],
)
def test_forms(sm: str, text: str, want: str | None) -> None:
    fn = parse(f".func k {sm} entry allocated\nb0:\n  {text}\n  EXIT\n")
    inst = fn.blocks[0].insts[0]
    alt = fma_form(inst, load(fn.target.table))
    assert (alt is None) == (want is None)
    if alt is not None:
        inst.op, inst.src = alt.op, alt.src
        assert inst_text(inst, fn) == want


@pytest.mark.parametrize(
    ("sm", "text", "want"),
    [
        ("sm_89", "R2 = IADD3 R3, 0x8, RZ", None),
        ("sm_90", "R2 = IADD3 R3, 0x8, RZ", "R2 = VIADD R3, 0x8"),
        ("sm_100", "@P0 R2 = IADD3 R3, 0xfffffff8, RZ", "@P0 R2 = VIADD R3, 0xfffffff8"),
        ("sm_120", "R2 = IADD3 R3, 0x8, RZ", None),
        ("sm_90", "R2 = IADD3 -R3, 0x8, RZ", None),
        ("sm_90", "R2 = IADD3 RZ, 0x8, RZ", None),
        ("sm_90", "R2, P0 = IADD3 R3, 0x8, RZ", None),
        ("sm_90", "R2 = IADD3 R3, 0x8, R4", None),
        ("sm_90", "R1 = IADD3 R1, 0x8, RZ", None),
    ],
)
def test_sums_with_constants(sm: str, text: str, want: str | None) -> None:
    test_forms(sm, text, want)


def test_moves_alternate() -> None:
    moves = "".join(f"  R{n} = MOV 0x{n}\n" for n in range(2, 8))
    fn = parse(f".func k sm_80 entry allocated\nb0:\n{moves}  EXIT\n")
    schedule_physical(fn)
    names = [i.op.base for i in fn.insts()]
    assert names.count("MOV") == 3
    assert names.count("IMAD") == 3


@pytest.mark.parametrize(
    ("alu", "fma", "others", "want"),
    [
        (10, 0, 0, (5, 5)),
        (10, 0, 6, (2, 5)),
        (10, 8, 0, (1, 1)),
        (10, 10, 0, (0, 0)),
        (4, 0, 6, (0, 2)),
        (0, 9, 0, (0, 0)),
    ],
)
def test_surplus(alu: int, fma: int, others: int, want: tuple[int, int]) -> None:
    keys = ["ALU"] * alu + ["FMA"] * fma + ["MEM"] * others
    assert alu_surplus(keys, [2] * len(keys)) == want


@pytest.mark.parametrize(
    ("fixed", "movable", "fma", "want"), [(4, 2, 2, True), (4, 3, 2, False), (0, 4, 0, False), (0, 0, 0, False)]
)
def test_work_that_is_bound_to_the_alu(fixed: int, movable: int, fma: int, want: bool) -> None:
    keys = ["ALU"] * (fixed + movable) + ["FMA"] * fma
    others = [None] * fixed + [Alternative(op("IMAD"), [])] * movable + [None] * fma
    assert is_bound_to_alu(keys, [2] * len(keys), others) is want
