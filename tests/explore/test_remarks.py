"""Decisions of passes: each kind where it happens, with its line, and code that is the same with and without them."""

import subprocess
from pathlib import Path

import pytest

import orias
from orias.cli.main import run
from orias.explore.collect import of_cubin
from orias.ori.decisions import KINDS, Decision, annotation_lines, distinct, read_annotation
from tests.explore import programs
from tests.nvtools import LIMIT_S, tool

REGISTERS = {"maxrregcount": 24}


def line_of(text: str, part: str) -> int:
    return next(k for k, line in enumerate(text.splitlines(), 1) if part in line)


CASES = {
    "unrolled": (programs.COUNTED, "@%c bra", "6 iterations are written out", {}),
    "unrolled partly": (programs.UNKNOWN, "@%c bra", "4 iterations run between two tests", {}),
    "not-unrolled": (programs.KEPT, "@%c bra", "forbids unrolling", {}),
    "not-unrolled fence": (programs.CALLED, "@%c bra", "must not be copied", {}),
    "hoisted": (programs.INVARIANT, "32 %r6, ", "before the loop of line", {}),
    "merged": (programs.NEIGHBOURS, "ld.shared.u32 %r4", "4 loads of shared memory", {}),
    "predicated": (programs.ARM, "@%c bra over", "the branch over 2 instructions is gone", {}),
    "not-predicated": (programs.LONG_ARM, "@%c bra over", "an arm has ATOMG", {}),
    "registers": (programs.crowded(40), "", "registers:", {}),
    "spilled": (programs.crowded(40), ".f32", "local memory", REGISTERS),
}


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("name", CASES)
def test_kinds(name: str) -> None:
    """The decision is there, with the line that it is about; the same bytes come out without asking."""
    text, part, words, options = CASES[name]
    cubin = orias.compile(text, arch="sm_80", remarks=True, **options)
    kind = name.split(" ")[0]
    found = [d for d in cubin.remarks if d.kind == kind and words in d.text]
    assert found, [d.record() for d in cubin.remarks]
    if part:
        lines = {k for k, line in enumerate(text.splitlines(), 1) if part in line}
        assert {d.line for d in found} <= lines
    assert all(d.phase and d.function == "k" for d in found)
    plain = orias.compile(text, arch="sm_80", **options)
    assert plain.data == cubin.data and plain.remarks == []


def test_no_reason_for_what_was_unrolled() -> None:
    """An unrolled loop has no reason why it was not, and nothing is said twice."""
    for text in (programs.COUNTED, programs.UNKNOWN):
        found = orias.compile(text, arch="sm_80", remarks=True).remarks
        assert "not-unrolled" not in {d.kind for d in found}
        assert len({d.key() for d in found}) == len(found)


def test_registers_of_the_remark() -> None:
    """The remark on registers has the count that the cubin has, and at -O0 too."""
    for level in (0, 3):
        cubin = orias.compile(programs.crowded(30), arch="sm_80", opt_level=level, remarks=True)
        found = next(d for d in cubin.remarks if d.kind == "registers")
        assert found.numbers["registers"] == cubin.kernels["k"].registers
        assert found.numbers["live_words"] <= found.numbers["registers"]


def test_order() -> None:
    """Kinds come in the order of the table, and equal decisions are one."""
    a, b, c = Decision("uniform", 3, "x"), Decision("registers", 1, "y"), Decision("uniform", 3, "x")
    assert distinct([a, b, c]) == [b, a]
    assert list(KINDS).index("registers") < list(KINDS).index("uniform")


def test_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """--remarks prints them with file and line, --remarks=KIND some of them; the output file is the same."""
    file = tmp_path / "k.ptx"
    file.write_text(programs.COUNTED)
    out = tmp_path / "k.cubin"
    command = ["orias", str(file), "-arch=sm_80", "-o", str(out)]
    assert run(command) == 0
    before = out.read_bytes()
    capsys.readouterr()
    assert run([*command, "--remarks"]) == 0
    said = capsys.readouterr().err
    line = line_of(programs.COUNTED, "@%c bra")
    assert f"orias {file}, line {line}; remark  : unrolled: " in said and "[OriLoopUnrolling]" in said
    assert ": registers: " in said and out.read_bytes() == before
    assert run([*command, "--remarks=unrolled"]) == 0
    assert {text.split(": ")[1] for text in capsys.readouterr().err.splitlines()} == {"unrolled"}
    assert run([*command, "--remarks=unrolled,nonsense"]) == 255
    assert "Unknown kind of remark 'nonsense'" in capsys.readouterr().err


def test_annotations(tmp_path: Path) -> None:
    """``-annotate --remarks`` writes them into the cubin, where the explorer finds them; nvdisasm accepts the file."""
    cubin = orias.compile(programs.COUNTED, arch="sm_80", remarks=True, annotate=True)
    assert cubin.remarks
    said = of_cubin(cubin.data, "k")["remarks"]
    want = [{**d.record(), "numbers": {}} for d in cubin.remarks]
    assert said == want
    plain = orias.compile(programs.COUNTED, arch="sm_80", annotate=True)
    assert of_cubin(plain.data, "k")["remarks"] == [] and plain.remarks == []
    path = tmp_path / "k.cubin"
    path.write_bytes(cubin.data)
    for command in ([tool("nvdisasm"), "-c"], [tool("cuobjdump"), "-elf"]):
        done = subprocess.run([*command, str(path)], capture_output=True, timeout=LIMIT_S, check=False)
        assert done.returncode == 0, done.stderr


def test_annotations_end() -> None:
    """A record holds 64 KB: of very many decisions the first ones are kept, each whole."""
    many = [Decision("uniform", n, "x" * 50) for n in range(2000)]
    for d in many:
        d.phase, d.function = "P", "k"
    found = read_annotation(annotation_lines(many))
    assert 300 < len(found) < 500 and [d.line for d in found] == list(range(len(found)))
    assert len(annotation_lines(many).encode()) <= 32_000
