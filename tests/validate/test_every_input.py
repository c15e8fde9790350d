"""Instructions over all their inputs: the host's C, the simulator and the folder agree (tools/judge/every_input has the campaign)."""

import ctypes
import json
import random
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import orias
from orias import c_library
from orias.sim import load
from tests.forms.exact import Answer
from tests.forms.form import BITS
from tests.forms.generate import all_forms
from tools.judge.every_input import campaign, direct, done, folding
from tools.judge.every_input.direct import Outputs
from tools.judge.every_input.host import BYTES, Check, checks, wrong_inputs
from tools.judge.every_input.instructions import Instruction, instructions
from tools.judge.every_input.kernel import Planes, module
from tools.judge.every_input.straight import NotStraight

pytestmark = pytest.mark.skipif(c_library.compiler() is None, reason="the host's side needs a C compiler")
ALL = {i.name: i for i in instructions()}
SOME = (
    "abs.s16", "cvt.rp.sat.f16.s8", "cvt.rzi.s8.bf16", "cvt.rn.bf16.f16", "cvt.rn.relu.f16x2.e4m3x2", "tanh.approx.f16", "div.s16", "mul.hi.u16",
    "fma.rn.f16.3c00", "add.ftz.f16", "min.NaN.bf16", "setp.neu.f16", "cvt.rm.f16.f32", "cvt.rz.satfinite.bf16.f32", "cvt.rni.ftz.u8.f32",
    "cvt.rna.tf32.f32", "rcp.rp.ftz.f32", "sqrt.rz.f32", "ex2.approx.ftz.f32", "bfind.shiftamt.s32", "cvt.rm.f32.s32", "rem.s32.-100",
)  # fmt: skip
"""One of each kind."""
TYPES = {2: np.uint16, 4: np.uint32, 8: np.uint64, 1: np.uint8}


def accepted(i: Instruction, check: Check, word: int, result: int) -> bool:
    """Whether the host's side takes a result for an input."""
    plane = np.array([result], TYPES[BYTES[i.outs[0]]])
    return wrong_inputs(check, word, 1, 1, [plane.ctypes.data])[0] == 0


def against_fractions(some: list[Instruction]) -> int:
    """The C of instructions against the exact fractions of the forms of their names, on the forms' inputs: how many results."""
    forms = {f.name: f for family in all_forms().values() for f in family if f.name in ALL and f._want is not None}
    some = [i for i in some if i.name in forms and i.kinds != ("judged",)]
    count = 0
    for i, check in zip(some, checks(some, optimise=False), strict=True):
        form = forms[i.name]
        bits = min(BITS[i.outs[0]], BITS[form.outs[0]])
        mask = (1 << bits) - 1
        for row, (want, *_) in zip(form.vectors, form.expected(), strict=True):
            word = row[0] if len(row) == 1 else row[0] | row[1] << 16
            # The count of a form's shift may have 32 bits, of which the instruction here has the low half.
            if isinstance(want, Answer) or (len(row) == 2 and row[1] >> 16):
                continue
            count += 1
            # A register that is wider in one of them has the same low bits.
            wide = BITS[i.outs[0]] > bits
            full = (
                want & mask
                if not wide or not want >> (bits - 1) & 1 or i.name.split(".")[-2][0] != "s"
                else want | ~mask & (1 << BITS[i.outs[0]]) - 1
            )
            assert accepted(i, check, word, full), (i.name, hex(word), hex(want))
            assert not accepted(i, check, word, full ^ 1), (i.name, hex(word), hex(want ^ 1))
    return count


def test_the_hosts_side_as_exact_fractions() -> None:
    assert against_fractions([ALL[n] for n in SOME]) > 1000


@pytest.mark.sweep
def test_all_of_the_hosts_side_as_exact_fractions() -> None:
    assert against_fractions(list(ALL.values())) > 20_000


def run(
    tool: ModuleType, name: str, file: Path, monkeypatch: pytest.MonkeyPatch, *options: str
) -> list[dict[str, Any]]:
    """The lines of results of a campaign on instructions by name."""
    monkeypatch.setattr(sys, "argv", ["campaign", str(file), "--quiet", "--match", name, *options])
    tool.main()
    return [json.loads(x) for x in file.read_text().splitlines()]


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("name", SOME)
def test_simulator_and_folder(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All inputs of 16 bits, 2^18 of 2^32, by functions and by launches; 256 in the folder."""
    monkeypatch.setattr(campaign, "instructions", lambda: [ALL[name]])
    monkeypatch.setattr(folding, "instructions", lambda: [ALL[name]])
    monkeypatch.setattr(folding, "inputs", lambda i, n: random.Random(1).sample(range(1 << i.bits), 256))
    (line,) = run(campaign, name, tmp_path / "simulated", monkeypatch, "--most", str(1 << 18))
    assert line["inputs"] == 1 << (16 if ALL[name].bits == 16 else 18)
    assert line["wrong"] == 0, line["first"]
    (line,) = run(campaign, name, tmp_path / "launched", monkeypatch, "--most", str(1 << 16), "--launches")
    assert (line["inputs"], line["wrong"]) == (1 << 16, 0), line["first"]
    (line,) = run(folding, name, tmp_path / "folded", monkeypatch)
    assert not line.get("wrong"), line["first"]


@pytest.mark.parametrize("name", ("add.u16", "cvt.rm.f16.f32", "div.s32.7", "setp.lt.f16", "fma.rn.ftz.sat.f16.3c00"))
def test_functions_and_launches_are_equal(name: str) -> None:
    """The C function of an instruction's code gives what its kernel gives."""
    i, count = ALL[name], 1 << 15
    functions = Outputs(direct.functions([direct.direct(i, "sm_90")])[0], count)
    planes = Planes(load(orias.compile(module(i, "sm_90"), arch="sm_90").data), i.outs, count)
    size = BYTES[i.outs[0]] * count
    for base in (0, 0x3F7FF000, 0x7C00FF00, 0xFFFFF000):
        results = [ctypes.string_at(run(base, 65551, count)[0], size) for run in (functions.run, planes.run)]
        assert results[0] == results[1]


def test_code_with_branches_has_no_function() -> None:
    with pytest.raises(NotStraight):
        direct.direct(ALL["sqrt.rn.f32"], "sm_90")


def test_what_is_done_is_known_by_its_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run leaves out what is recorded with the same code and the same host's side, and nothing else."""
    monkeypatch.setattr(done, "FILE", tmp_path / "done")
    monkeypatch.setattr(campaign, "instructions", lambda: [ALL["abs.s16"]])
    assert len(run(campaign, "", tmp_path / "first", monkeypatch, "--record")) == 1
    assert list(done.read()) == [("abs.s16", "sm_90")]
    assert run(campaign, "", tmp_path / "second", monkeypatch) == []
    other = replace(ALL["abs.s16"], c=ALL["abs.s16"].c + " o0 += 0;")
    monkeypatch.setattr(campaign, "instructions", lambda: [other])
    assert len(run(campaign, "", tmp_path / "third", monkeypatch)) == 1


def test_wrong_results_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An input whose result is wrong is counted and named; what is done is not repeated."""
    wrong = replace(ALL["add.u16"], c=ALL["add.u16"].c + " if (a0 == 0xBFFD && a1 == 0) o0 ^= 4;")
    for tool in (campaign, folding):
        monkeypatch.setattr(tool, "instructions", lambda: [wrong])
    monkeypatch.setattr(folding, "inputs", lambda i, n: [0xBFFC, 0xBFFD])
    (line,) = run(campaign, "add.u16", tmp_path / "simulated", monkeypatch, "--most", str(1 << 18))
    assert (line["wrong"], line["first"]) == (1, ["0xbffd"])
    assert len(run(campaign, "add.u16", tmp_path / "simulated", monkeypatch, "--most", str(1 << 18))) == 1
    (line,) = run(folding, "add.u16", tmp_path / "folded", monkeypatch)
    assert (line["folded"], line["wrong"], line["first"]) == (2, 1, ["0xbffd: 0xbffd"])


def test_a_longer_run_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second run with more inputs knows which instructions have the same code, and takes the cheap ones first."""
    names = ("cvt.rzi.u16.f32", "mov.b32", "cvt.rzi.sat.u16.f32")
    monkeypatch.setattr(campaign, "instructions", lambda: [ALL[n] for n in names])
    run(campaign, "", tmp_path / "x", monkeypatch, "--most", str(1 << 16))
    lines = run(campaign, "", tmp_path / "x", monkeypatch, "--most", str(1 << 18))
    assert [x["inputs"] for x in lines] == [1 << 16] * 3 + [1 << 18] * 3
    assert lines[-1].get("same code as") or lines[-2].get("same code as")
    assert {x["wrong"] for x in lines} == {0}
