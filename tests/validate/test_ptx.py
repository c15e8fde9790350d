"""The PTX interpreter: every instruction form and every kernel of the tree against exact results, and what programs leave open."""

import json

import numpy as np
import pytest

from orias.ptx.parser import parse
from orias.sim import IllegalInstruction, OutOfBounds
from orias.sim.ptx import CANONICAL, CHOICES, PtxImage
from tests.forms.form import Form, module_text
from tests.forms.generate import FAMILIES, all_forms
from tests.forms.run import run_form
from tests.kernels.test_kernels import HERE, NAMES, arguments, source

ALL = all_forms()
STEP = 40


def refused(line: str) -> bool:
    """What docs/validation.md lists as not interpreted: wmma, sparse matrix products, those of 8-bit floats, the smallest of halves, 128-bit atomics."""
    return "is not interpreted" in line and any(
        x in line for x in ("wmma", "mma.sp", "e4m3", "e5m2", "m8n8k4", ".b128")
    )


def wrong(forms: list[Form], arch: str) -> list[str]:
    usable = [f for f in forms if f.sm <= int(arch[3:].rstrip("a"))]
    image = PtxImage(parse(module_text(usable, arch), "forms.ptx"), arch)
    lines = [line for n, f in enumerate(usable) for line in run_form(image, f"k{n}", f)[:1]]
    return [line for line in lines if not refused(line)]


@pytest.mark.parametrize("family", list(FAMILIES))
def test_forms(family: str) -> None:
    assert not wrong(ALL[family][3::STEP], "sm_90")


@pytest.mark.sweep
@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_90"])
@pytest.mark.parametrize("family", list(FAMILIES))
def test_all_forms(family: str, arch: str) -> None:
    assert not wrong(ALL[family], arch)


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


@pytest.mark.parametrize(
    ("body", "defined"),
    [
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
    with pytest.raises(IllegalInstruction, match="not interpreted"):
        outcomes("fma.rn.oob.f16x2 %r1, %r0, %r0, %r0;")
