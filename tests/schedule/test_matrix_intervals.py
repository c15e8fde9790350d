"""Products of matrices follow each other as closely as in ptxas's code, and their yield bit is as there."""

from pathlib import Path

import pytest

import orias
from orias.isa.op import F_MATRIX
from orias.timing.ctl import YIELD, stall
from tests.schedule.decoded import code_of
from tools.latency.matrix_intervals import FORMS, shortest, text, theirs

CASES = [
    ("sm_75", "m16n8k8.row.col.f16.f16.f16.f16"),
    ("sm_80", "m16n8k16.row.col.f32.f16.f16.f32"),
    ("sm_80", "m8n8k4.row.col.f64.f64.f64.f64"),
    ("sm_89", "m16n8k32.row.col.f32.e4m3.e4m3.f32"),
    ("sm_90a", "m16n8k8.row.col.f32.f16.f16.f32"),
    ("sm_90a", "m16n8k16.row.col.f32.f16.f16.f32"),
    ("sm_90a", "m16n8k8.row.col.f32.tf32.tf32.f32"),
    ("sm_90a", "m16n8k32.row.col.s32.s8.s8.s32"),
    ("sm_90a", "m16n8k8.row.col.f64.f64.f64.f64"),
    ("sm_100a", "m16n8k16.row.col.f32.bf16.bf16.f32"),
    ("sm_100a", "m16n8k32.row.col.f32.f16.f16.f32"),
    ("sm_103a", "m16n8k16.row.col.s32.s8.s8.s32"),
    ("sm_120a", "m16n8k16.row.col.f32.f16.f16.f32"),
]


@pytest.mark.in_turn(4)
@pytest.mark.parametrize(("arch", "name"), CASES)
def test_distance(arch: str, name: str, tmp_path: Path) -> None:
    for form in FORMS:
        if form.name == name:
            source = text(form, arch)
            code = theirs(source, arch, tmp_path)
            if code is not None:
                assert shortest(code_of(orias.compile(source, arch=arch).data)) == shortest(code)


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a", "sm_120a"])
def test_warps_take_turns_after_long_waits_only(arch: str, tmp_path: Path) -> None:
    """The bit is clear from 12 cycles on: ptxas 13.0.88 on sm_80, 90 and 120."""
    source = text(next(f for f in FORMS if f.name == "m16n8k16.row.col.f32.f16.f16.f32" and not f.sparse), arch)
    for code in (code_of(orias.compile(source, arch=arch).data), theirs(source, arch, tmp_path) or ()):
        products = [d for d in code if d.op.flags & F_MATRIX]
        assert len(products) == 8
        assert all((d.ctl & YIELD != 0) == (stall(d.ctl) < 12) for d in products)
