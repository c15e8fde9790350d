"""The instruction reference: every mnemonic with a sentence, bits that are those of the encoder, and facts that are the tables'."""

import functools
import json
from pathlib import Path
from typing import Any

import pytest

from orias.cli.main import run
from orias.explore.reference_data import all_tables, meaning, reference_data, semantics, sentences
from orias.isa.isa_table import load
from orias.isa.operations import mnemonics
from orias.tools.instruction import assemble_instruction
from tools.isa.ptx_of_sass import MOST, SOURCES, count, count_cases, count_program, inputs, opcode

SMALL = 20_000
"""Bytes of a program that is compiled to see whether the table agrees."""
KERNELS = Path(__file__).parents[1] / "kernels/ptx"


@functools.cache
def data() -> dict[str, Any]:
    return reference_data(["sm_75", "sm_90"])


@functools.cache
def entry(name: str) -> dict[str, Any]:
    return next(m for m in data()["mnemonics"] if m["name"] == name)


def test_every_mnemonic_has_a_sentence() -> None:
    about = sentences("meanings.txt")
    names = {m for name in all_tables() for m in load(name).raw.mnemonics()}
    assert len(names) > 240
    assert [n for n in sorted(names) if not meaning(n, about).endswith(".")] == []
    assert set(about) <= names and len(set(about.values())) > len(about) - 10
    assert set(sentences("ptx_of_sass.txt")) <= names | set(mnemonics())


@pytest.mark.in_turn(2)
def test_forms_are_those_of_the_tables() -> None:
    names = {m for name in ("sm_75", "sm_90") for m in load(name).raw.mnemonics()}
    assert {m["name"] for m in data()["mnemonics"]} == names
    for name in ("IADD3", "LDG", "HGMMA"):
        for k, table in enumerate(("sm_75", "sm_90")):
            mine = sum(k in f["tables"] for f in entry(name)["forms"])
            assert (
                mine == len(list(load(table).raw.of_mnemonic(name)))
                if name in load(table).raw.mnemonics()
                else not mine
            )


def test_bits() -> None:
    """The fields of a form are the bits that differ between two encodings that differ in them."""
    form = next(f for f in entry("IADD3")["forms"] if f["opcode"] == "0210" and f["text"] == "IADD3 R, P, P, R, R, R")
    fields = [data()["fields"][k] for k in form["fields"]]
    first = next(f for f in fields if f["name"] == "source 1: register")
    words = [assemble_instruction(f"IADD3 R0, R{k}, R2, R3", load("sm_90")) for k in (0, 255)]
    assert (words[0] ^ words[1]) & (1 << 105) - 1 == sum(1 << b for b in first["bits"])
    assert first["bits"] == list(range(24, 32))
    used = [b for f in fields for b in f["bits"]]
    assert len(used) == len(set(used)) and not set(used) & set(range(12))
    decoded = [b for f in data()["decoded"] for b in f["bits"]]
    assert len(decoded) == len(set(decoded)) == 13 + 4 + 21


def test_times() -> None:
    assert entry("IADD3")["times"]["sm_90"] == {"pipe": "alu", "late": [], "interval": 2, "cycles": 4, "guess": False}
    assert entry("LDG")["times"]["sm_75"]["late"] == ["result", "source"]


def test_semantics_are_the_simulator() -> None:
    pytest.importorskip("numpy", reason="numpy is not installed (pip install 'orias[sim]')")
    found = semantics("IADD3")
    assert (
        found is not None and found["code"].startswith("def iadd3(") and found["file"] == "orias/sim/sass/exec_int.py"
    )
    assert semantics("UIADD3") == found
    assert semantics("BRA") is not None and semantics("IPA") is None


def test_ptx_of_sass() -> None:
    """What kernels become now is in the table; opcodes are cut as the table cuts them."""
    assert opcode("  @%p1 ld.global.nc.v2.f32 {%f1, %f2}, [%rd1];") == "ld.global.nc"
    assert opcode("$L__BB0_2:") == "" and opcode("  mad.wide.u16 %r1, %h1, %h2, %r2;") == "mad.wide"
    table = {name: set(text.split()) for name, text in sentences("ptx_of_sass.txt").items()}
    found: dict[str, Any] = {}
    count((KERNELS / "reduce.ptx").read_text(), "sm_80", found)
    assert len(found) > 12
    assert {"ld.global"} & set(found["LDG"]) and "ld.global" in table["LDG"] and "shfl.sync.bfly" in table["SHFL"]
    for name in ("LDG", "STS", "LDS", "BAR", "RED"):
        assert set(found.get(name, ())) <= table[name], name


@pytest.mark.sweep
def test_ptx_of_sass_agrees() -> None:
    """What the command would write now: of the cases of the lowering and of some programs, what makes a good part of a mnemonic is in the table."""
    table = {name: set(text.split()) for name, text in sentences("ptx_of_sass.txt").items()}
    programs, cases = inputs(SOURCES)
    found: dict[str, Any] = {}
    for file in cases:
        count_cases(file.read_text(encoding="utf-8"), found)
    for k, file in [(k, f) for k, f in enumerate(programs) if f.stat().st_size < SMALL][::9]:
        count_program(k, file, found)
    assert len(found) > 100
    missing = {name for name in found if name not in table}
    poor = {
        (name, ptx)
        for name, seen in found.items()
        for ptx, n in seen.items()
        if name in table and len(table[name]) < MOST and n > max(8, sum(seen.values()) / 4) and ptx not in table[name]
    }
    assert not missing and not poor, "run python -m tools.isa.ptx_of_sass"


@pytest.mark.in_turn(2)
def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("jinja2", reason="Jinja2 is not installed (pip install 'orias[explore]')")
    out = tmp_path / "isa.html"
    assert run(["orias", "reference", "-o", str(out), "sm_75"]) == 0
    assert out.read_text(encoding="utf-8").startswith("<!doctype html>")
    capsys.readouterr()
    assert run(["orias", "reference", "--json", "sm_75"]) == 0
    assert json.loads(capsys.readouterr().out)["tables"] == ["sm_75"]
    for wrong in ("sm_42", "--what"):
        assert run(["orias", "reference", wrong]) == 255
        assert wrong in capsys.readouterr().err
