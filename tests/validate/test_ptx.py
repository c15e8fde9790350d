"""The PTX interpreter: every instruction form and every kernel of the tree against exact results, and what programs leave open."""

import json

import numpy as np
import pytest

from orias.ptx.parser import parse
from orias.sim import IllegalInstruction, Misaligned, OutOfBounds
from orias.sim.ptx import CANONICAL, CHOICES, PtxImage
from tests.asynchronous.test_programs import PROGRAMS, failures
from tests.forms.form import Form, module_text
from tests.forms.generate import FAMILIES, all_forms
from tests.forms.run import run_form
from tests.kernels.matrix.cases import CASES
from tests.kernels.matrix.cases import source as matrix_source
from tests.kernels.test_kernels import HERE, NAMES, arguments, source
from tests.wgmma.forms import all_forms as warpgroup_forms
from tests.wgmma.forms import module_text as warpgroup_text

ALL = all_forms()
STEP = 40


def wrong(forms: list[Form], arch: str) -> list[str]:
    usable = [f for f in forms if f.sm <= int(arch[3:].rstrip("a"))]
    image = PtxImage(parse(module_text(usable, arch), "forms.ptx"), arch)
    return [line for n, f in enumerate(usable) for line in run_form(image, f"k{n}", f)[:1]]


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("family", list(FAMILIES))
def test_forms(family: str) -> None:
    assert not wrong(ALL[family][3::STEP], "sm_90")


@pytest.mark.sweep
@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_90"])
@pytest.mark.parametrize("family", list(FAMILIES))
def test_all_forms(family: str, arch: str) -> None:
    forms = ALL[family]
    if family in ("matrix", "wmma"):
        forms = forms[int(arch[3:]) % 13 :: 13]
    assert not wrong(forms, arch)


ASYNCHRONOUS = [p for p in PROGRAMS if not p.name.startswith("createpolicy") and "odd threads" not in p.name]
"""Without those that look at bits that PTX leaves open."""


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
def test_asynchronous(arch: str) -> None:
    assert not failures(ASYNCHRONOUS[int(arch[3:5]) % 7 :: 14], "ptx", arch, 0)


@pytest.mark.sweep
@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
def test_all_asynchronous(arch: str) -> None:
    assert not failures(ASYNCHRONOUS, "ptx", arch, 0)


def test_warpgroup() -> None:
    """Dense and sparse, A in registers and in shared memory."""
    forms = warpgroup_forms()[11::470]
    image = PtxImage(parse(warpgroup_text(forms), "w.ptx"), "sm_90a")
    bad = [f.run(image, f"k{i}", special) for i, f in enumerate(forms) for special in (False, True)]
    assert not any(bad), bad


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("name", ["mma_f16", "mma_fp8", "wmma_s8", "attention_f16"])
def test_matrix_kernels(name: str) -> None:
    text, shared = matrix_source(name)
    image = PtxImage(parse(text, "m.ptx"), "sm_90")
    launch = CASES[name][1]()
    image.launch(next(iter(image.kernels)), launch.grid, launch.threads, launch.args, shared=shared)
    for at, want, tolerance in launch.wants:
        got = launch.args[at].astype(np.float64)
        np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance * np.abs(want).max())


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("name", NAMES[::2])
def test_kernels(name: str) -> None:
    case = json.loads((HERE / "cases" / f"{name}.json").read_text())
    args, checks = arguments(case)
    image = PtxImage(parse(source(name), "k.ptx"), "sm_90")
    result = image.launch(case["kernel"], tuple(case["grid"]), tuple(case["block"]), args, shared=case["shared"])
    for got, want, tol in checks:
        if tol:
            np.testing.assert_allclose(got, want, rtol=tol, atol=tol)
        else:
            np.testing.assert_array_equal(got.view(f"u{got.itemsize}"), want.view(f"u{got.itemsize}"))
    assert result.output == case.get("printed", result.output)


HEAD = ".version 8.7\n.target sm_90\n.address_size 64\n"


def matrix_sum(factor: str, addend: str) -> str:
    """A product of equal factors (f16 pairs) and an accumulator (f32)."""
    return (
        f"mov.b32 %f1, {addend}; mov.u32 %r1, {factor};"
        "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f0, %f2, %f3, %f4}, {%r1, %r1}, {%r1}, {%f1, %f1, %f1, %f1};"
        "st.global.f32 [%d0], %f0;"
    )


def outcomes(body: str, threads: int = 32) -> set[bytes]:
    """What a kernel with one pointer parameter writes, under every choice."""
    text = (
        HEAD
        + ".visible .entry k(.param .u64 p) { .reg .b64 %d<9>; .reg .b32 %r<9>; .reg .f32 %f<9>; .reg .pred %p<9>;\n"
    )
    text += f"ld.param.u64 %d0, [p]; mov.u32 %r0, %tid.x;\n{body}\nret; }}"
    found = set()
    for choice in (CANONICAL, *CHOICES):
        data = np.zeros(64, np.uint32)
        PtxImage(parse(text, "k.ptx"), "sm_90", choice).launch("k", 1, threads, [data])
        found.add(data.tobytes())
    return found


@pytest.mark.in_turn(4)
@pytest.mark.parametrize(
    ("body", "defined"),
    [
        (matrix_sum("0x2E662E66", "0x40490FDB"), False),
        (matrix_sum("0x3C003C00", "0x40490FDB"), False),
        (matrix_sum("0x3C003C00", "0x40400000"), True),
        (matrix_sum("0x34003400", "0x3E800000"), True),
        (
            "alloca.u64 %d1, 16; st.local.u32 [%d1+8], 5; stacksave.u64 %d2; alloca.u64 %d3, 64, 32; st.local.u32 [%d3], 6;"
            "stackrestore.u64 %d2; alloca.u64 %d4, 64, 32; ld.local.u32 %r1, [%d4]; ld.local.u32 %r2, [%d1+8];"
            "st.global.u32 [%d0], %r1; st.global.u32 [%d0+4], %r2;",
            True,
        ),
        ("red.global.v2.f32.add [%d0], {0f3F800000, 0f40000000};", True),
        # What nobody wrote is any number: the smallest too.
        ("min.s32 %r2, %r1, -2147483640; st.global.u32 [%d0], %r2;", False),
        ("max.s32 %r2, %r1, 8000000; st.global.u32 [%d0], %r2;", False),
        ("min.f32 %f2, %f1, 0fC1C80000; st.global.f32 [%d0], %f2;", False),
        ("max.f32 %f2, %f1, 0f41C80000; st.global.f32 [%d0], %f2;", False),
        ("mov.u32 %r1, 7; st.global.u32 [%d0], %r1;", True),
        ("st.global.u32 [%d0], %r1;", False),
        ("st.global.u32 [%d0], %r0;", False),
        ("mad.wide.u32 %d1, %r0, 4, %d0; st.global.u32 [%d1], %r0;", True),
        ("atom.global.add.u32 %r1, [%d0], 1;", True),
        ("atom.global.add.u32 %r1, [%d0], 1; mad.wide.u32 %d1, %r0, 4, %d0; st.global.u32 [%d1+4], %r1;", False),
        ("mov.f32 %f0, 0f40400000; rcp.approx.f32 %f1, %f0; st.global.f32 [%d0], %f1;", False),
        ("mov.f32 %f0, 0f40400000; rcp.rn.f32 %f1, %f0; st.global.f32 [%d0], %f1;", True),
        ("mov.u32 %r1, 0; div.u32 %r2, 5, %r1; st.global.u32 [%d0], %r2;", False),
    ],
)
def test_undefined(body: str, defined: bool) -> None:
    assert (len(outcomes(body)) == 1) == defined


def test_faults_name_the_line() -> None:
    with pytest.raises(OutOfBounds, match=r"st.global.u32"):
        outcomes("st.global.u32 [%d0+4096], %r0;")
    with pytest.raises(Misaligned, match=r"cp\.async"):
        outcomes(
            "cvt.u32.u64 %r1, %d0; add.u64 %d1, %d0, 4; mov.u32 %r2, 0; cp.async.ca.shared.global [%r2], [%d1], 8;"
        )
    with pytest.raises(IllegalInstruction, match="not interpreted"):
        outcomes("fma.rn.oob.f16x2 %r1, %r0, %r0, %r0;")
