"""verify, bisect and reduce: nothing found in kernels that are right, planted faults found where they are."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from orias.cli.validate_command import run_command
from orias.compiler import compile_text
from orias.options import Options
from orias.ori.ir import Func
from orias.pipeline import functions
from orias.tools.validate.bisect import bisect
from orias.tools.validate.case import Case, Region, from_json
from orias.tools.validate.reduce import Reducer, verify_test
from orias.tools.validate.verify_compile import SASS, Verifier, verify
from tests.forms.form import module_text
from tests.forms.generate import FAMILIES, all_forms
from tests.kernels.test_kernels import NAMES, NEEDS_80, source

FAST = ("bfs", "saxpy", "half", "votes", "reduce")

COMPARED = [f for f in FAMILIES if f != "wmma"]
"""Families of forms that the PTX interpreter knows."""

KERNEL = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p, .param .u32 n) {
.reg .b64 %d<4>;
.reg .b32 %r<9>;
ld.param.u64 %d0, [p];
ld.param.u32 %r1, [n];
mov.u32 %r0, %tid.x;
mad.wide.u32 %d1, %r0, 4, %d0;
ld.global.u32 %r2, [%d1];
add.u32 %r3, %r2, %r1;
xor.b32 %r4, %r3, 12345;
st.global.u32 [%d1], %r4;
ret;
}
"""


def options(arch: str = "sm_80", level: int = 3) -> Options:
    o = Options(arch, level)
    o.fmad = False
    return o


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("name", FAST)
def test_kernels(name: str) -> None:
    report = verify(source(name), options("sm_90"), 1)
    assert not report.findings, [f.text() for f in report.findings]
    assert report.cases == 1


@pytest.mark.sweep
@pytest.mark.parametrize("name", NAMES)
def test_all_kernels(name: str) -> None:
    for arch, level in (("sm_75", 0), ("sm_80", 3), ("sm_90", 1)):
        if name in NEEDS_80 and arch == "sm_75":
            continue
        report = verify(source(name), options(arch, level), 1)
        assert not report.findings, [f.text() for f in report.findings]
        assert report.cases


def form_findings(family: str, start: int, step: int, arch: str, level: int) -> list[str]:
    """Every phase of forms of a family, each with the form's own inputs."""
    import numpy as np

    forms = [f for f in all_forms()[family][start::step] if f.sm <= int(arch[3:])]
    v = Verifier(module_text(forms, arch), options(arch, level))
    for n, form in enumerate(forms):
        case = Case(f"k{n}")
        case.block = form.block
        rows = np.zeros((len(form.vectors), max(len(form.ins), 1)), np.uint64)
        for k, row in enumerate(form.vectors):
            for j, x in enumerate(row):
                rows[k, j] = x & 0xFFFFFFFFFFFFFFFF
        case.params = [bytearray(8) for _ in range(3)]
        case.pointers[0, 0] = Region(rows.nbytes, "", 0, 0, rows.tobytes())
        case.pointers[1, 0] = Region(8 * len(form.vectors) * len(form.outs), "zero", 0)
        case.pointers[2, 0] = Region(32 * len(form.vectors), "zero", 0)
        v.check(next(k for k in v.kernels() if k.name == f"k{n}"), 0, True, [case])
    assert v.report.cases + len(v.report.skipped) == len(forms)
    return [f"{forms[int(f.kernel[1:])].name}: {f.text()}" for f in v.report.findings]


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("family", COMPARED)
def test_forms(family: str) -> None:
    assert not form_findings(family, 7, 320, "sm_80", 3)


@pytest.mark.sweep
@pytest.mark.parametrize(("arch", "level"), [("sm_75", 3), ("sm_90", 0), ("sm_90", 3)])
@pytest.mark.parametrize("family", COMPARED)
def test_more_forms(family: str, arch: str, level: int) -> None:
    assert not form_findings(family, 1, 9, arch, level)


def test_much_dynamic_shared_memory() -> None:
    """A kernel that uses more than the first guess gets it."""
    text = KERNEL.replace(".visible", ".extern .shared .align 4 .b32 s[];\n.visible", 1).replace(
        "ld.global.u32 %r2, [%d1];",
        "ld.global.u32 %r2, [%d1]; st.shared.u32 [s+98304], %r2; ld.shared.u32 %r2, [s+98304];",
    )
    report = verify(text, options(), 1)
    assert (report.cases, report.findings, report.skipped) == (1, [], [])


def test_wrong_code_is_found_with_its_line() -> None:
    wrong = compile_text([("k.ptx", KERNEL.replace("12345", "12344"))], options()).data
    v = Verifier(KERNEL, options(), wrong)
    v.check(v.kernels()[0], 1)
    (finding,) = v.report.findings
    assert (finding.stage, finding.line) == (SASS, 14)
    assert int(finding.expected, 16) ^ int(finding.got, 16) == 1
    assert finding.address >= 0
    assert from_json(finding.json()["case"]).json() == finding.json()["case"]


def plant(monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    """A phase that turns the first LOP3 of a function into an addition."""
    from orias.isa.op import op
    from orias.isa.operand import RZ

    real = functions.FUNCTIONS[key]

    def faulty(fn: Func, o: Options) -> None:
        real(fn, o)
        for i in fn.insts():
            if i.op.base == "LOP3" and len(i.dst) == 1:
                i.op, i.src = op("IADD3"), [i.src[0], i.src[1], RZ]
                return

    monkeypatch.setitem(functions.FUNCTIONS, key, faulty)


def test_bisect(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not bisect(KERNEL, options(), 1)
    plant(monkeypatch, "licm")
    (finding,) = bisect(KERNEL, options(), 1)
    assert finding.stage == "OriHoistInvariantsEarly"


def test_bisect_names_the_rewrite(monkeypatch: pytest.MonkeyPatch) -> None:
    from orias.isa.operand import imm
    from orias.ori.ir import Inst
    from orias.passes.simplify import RULES, Cx

    real = RULES["LOP3"]

    def faulty(cx: Cx, inst: Inst) -> None:
        real(cx, inst)
        if len(inst.src) > 1 and inst.src[1] == imm(12345):
            inst.src[1] = imm(12344)

    monkeypatch.setitem(RULES, "LOP3", faulty)
    (finding,) = bisect(KERNEL, options(), 1)
    assert "rule of LOP3" in finding.rewrite
    assert "0x3039" in finding.rewrite


@pytest.mark.in_turn(2)
def test_reduce(monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch, "licm")
    longer = KERNEL.replace("ret;", "mul.lo.u32 %r5, %r4, 3;\nst.global.u32 [%d1+512], %r5;\nret;")
    reducer = Reducer(verify_test(options(), 1))
    small = reducer.run(longer)
    assert len(small.splitlines()) < len(KERNEL.splitlines())
    assert "mul.lo" not in small
    with pytest.raises(ValueError, match="does not fail"):
        Reducer(lambda text: False).run(KERNEL)


def test_command_line(tmp_path: Path) -> None:
    path = tmp_path / "k.ptx"
    path.write_text(KERNEL)
    r = subprocess.run(
        [sys.executable, "-m", "orias", "verify", str(path), "--arch", "sm_80", "--json"],
        capture_output=True,
        timeout=60,
    )
    assert r.returncode == 0
    out = json.loads(r.stdout)
    assert out["cases"] == 3
    assert not out["findings"]
    r = subprocess.run(
        [sys.executable, "-m", "orias", "verify", str(tmp_path / "no.ptx")], capture_output=True, timeout=60
    )
    assert r.returncode == 255


def test_a_kernel_that_is_not_compared_has_a_code_of_its_own(tmp_path: Path) -> None:
    """The kernel waits for ever in every case."""
    path = tmp_path / "k.ptx"
    path.write_text(KERNEL.replace("ret;", "Loop: bra Loop;\nret;"))
    assert run_command("verify", [str(path), "--arch", "sm_80", "--final", "--turns", "1", "--quiet"]) == 2
