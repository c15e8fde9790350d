"""Programs written around the known faults of ptxas: the same meaning, and ptxas is right on them."""

from pathlib import Path

import numpy as np
import pytest

import orias
from orias.sim import SimError, load
from orias.tools.fuzz.around import FAULTS, around, ways_around
from tests.forms.run import ptxas_cubin

HERE = Path(__file__).parents[1] / "oracle_faults"
NAMES = sorted(n for names in FAULTS for n in names.split(", "))
SETTINGS = {
    "loop_negation": ("sm_90", 1),
    "missing_break": ("sm_80", 0),
    "packed_fusion": ("sm_100", 3),
    "packed_product": ("sm_110", 3),
}
"""Target and level at which ptxas has a fault, if not sm_90 and 3."""
NUMBERS = [
    3, 2, 0x67, 0x80000000, 0x7FC17FC1, 0xFFFF0001, 0x123456789ABCDEF0, 0xFEDCBA9876543210, 0xFFFFFFF980000007, 0x7FFFFFFF,
]  # fmt: skip
VALUES = np.resize(np.array(NUMBERS, np.uint64), 32)
"""One for each thread of a warp."""


def ran(cubin: bytes, extra: list[int]) -> list[int]:
    """What the threads store; nothing if they wait for each other."""
    out = np.zeros(len(VALUES), np.uint64)
    try:
        load(cubin).launch("k", 1, len(VALUES), [VALUES, out, *extra])
    except SimError:
        return []
    return [int(x) for x in out]


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("name", [n for n in NAMES if n != "szext_parameter"])
def test_around(name: str) -> None:
    """Without the fault's instructions ptxas computes what we do, with them not; for us nothing changes."""
    arch, level = SETTINGS.get(name, ("sm_90", 3))
    text = (HERE / f"{name}.ptx").read_text()
    text = text.replace(".target sm_75", f".target {arch}").replace(".target sm_80", f".target {arch}")
    fault = next(f for f in FAULTS if name in f.split(", "))
    other = around(text, [fault])
    assert (fault, other) in list(ways_around(text))
    want = ran(orias.compile(text, arch=arch).data, [])
    assert want and ran(orias.compile(other, arch=arch).data, []) == want
    assert ran(ptxas_cubin(text, arch, level), []) != want
    assert ran(ptxas_cubin(other, arch, level), []) == want


def test_szext_position_is_hidden() -> None:
    """On the targets of that fault (sm_75 to 89) the position comes to lie in a register."""
    text = (HERE / "szext_parameter.ptx").read_text()
    other = around(text, ["szext_parameter"])
    assert "%around_t;" in other
    want = [ran(orias.compile(t, arch="sm_80").data, [7]) for t in (text, other)]
    assert want[0] == want[1]


def test_all_at_once() -> None:
    """A program with two of them is written around each, then around both."""
    body = "@%p testp.finite.f32 %p, %f;\nbfe.s32 %r, %r, 40, 4;\n"
    text = ".entry k(.param .u64 a) {\n" + body + "}\n"
    names = [n for n, _ in ways_around(text)]
    assert names[:2] == ["guarded_testp", "bfe_position"] and names[-1] == " or ".join(names[:-1])
    last = list(ways_around(text))[-1][1]
    assert last.count("%tid.y") == 1 and "bra AROUND_1" in last and "or.b32" in last
    assert around("mov.u32 %r, 1;", FAULTS) == "mov.u32 %r, 1;"


@pytest.mark.parametrize(
    "line",
    [
        "vadd.u32.s32.u32.sat.add %r4, %r2.h1, %r3.b2, %r2;",
        "abs.s16 %h, %h;",
        "abs.s64 %d3, %d3;",
        "mad.lo.s64 %d3, 63, 5, %d3;",
        "@%q setp.leu.or.ftz.f32 %p|%q, %f, 0f3F800000, !%q;",
    ],
)
def test_other_forms_mean_the_same(line: str) -> None:
    text = (HERE / "vadd_sat.ptx").read_text().replace(".target sm_75", ".target sm_90")
    text = text.replace(
        "vadd.u32.u32.u32.sat %r4, %r2, %r3;",
        ".reg .b16 %h; .reg .pred %p, %q; .reg .f32 %f; mov.b32 %f, %r2; setp.gt.s32 %q, %r3, 0; not.pred %p, %q;"
        "cvt.u16.u32 %h, %r2; mov.b64 %d3, {%r3, %r2}; mov.u32 %r4, 0;"
        f"{line} cvt.u32.u16 %r2, %h; cvt.u32.u64 %r3, %d3; shr.u64 %d3, %d3, 32; xor.b32 %r4, %r4, %r2;"
        "xor.b32 %r4, %r4, %r3; cvt.u32.u64 %r3, %d3; add.u32 %r4, %r4, %r3; @%p add.u32 %r4, %r4, 1; @%q add.u32 %r4, %r4, 2;",
    )
    other = around(text, FAULTS)
    assert line not in other
    want = ran(orias.compile(text, arch="sm_90").data, [])
    assert ran(orias.compile(other, arch="sm_90").data, []) == want
