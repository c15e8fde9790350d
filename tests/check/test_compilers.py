"""The checker on whole programs: nothing to report in what ptxas writes, nor in what we write."""

import random
from pathlib import Path

import pytest

import orias
from orias.check import check_cubin
from tests.check.test_rules import cubin
from tests.corpus.test_corpus import FILES, NO_CORPUS, arch_of, identifier, needs_objects
from tests.nvtools import tool
from tests.oracle import compile_or_none

PROGRAMS = sorted((Path(__file__).parents[1] / "kernels" / "ptx").glob("*.ptx"))
ARCHES = ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90")
ALL = (*ARCHES, "sm_100", "sm_103", "sm_110", "sm_120")


def hazards(data: bytes) -> list[str]:
    """Findings, but for instructions of which nothing is known."""
    return [h.line() for h in check_cubin(data) if h.rule != "unknown"]


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("level", ["-O3", "-O0"])
@pytest.mark.parametrize("arch", ALL)
def test_theirs(arch: str, level: str, tmp_path: Path) -> None:
    chosen = random.Random(f"{arch}{level}").sample(PROGRAMS, 2)
    done = 0
    for path in chosen:
        data = compile_or_none(path, arch, [level], tmp_path)
        if data is not None:
            assert hazards(data) == [], path.name
            done += 1
    if not done:
        pytest.skip("ptxas compiles none of the chosen files for this target")


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("arch", ARCHES)
def test_ours(arch: str) -> None:
    for path in random.Random(arch).sample(PROGRAMS, 4):
        try:
            data = orias.compile(path.read_text(), arch=arch).data
        except orias.CompileError:
            continue
        assert hazards(data) == [], path.name


@pytest.mark.sweep
@pytest.mark.skipif(not FILES, reason=NO_CORPUS)
@pytest.mark.parametrize("arch", ALL)
def test_corpus_theirs(arch: str, tmp_path: Path) -> None:
    """Every 20th file, other files for each target."""
    tool("ptxas")
    for path in FILES[ALL.index(arch) :: 20]:
        if path.stat().st_size < 200_000:
            data = compile_or_none(path, arch, ["-O3"], tmp_path)
            assert data is None or hazards(data) == [], path.name


@pytest.mark.sweep
@pytest.mark.skipif(not FILES, reason=NO_CORPUS)
@pytest.mark.parametrize("path", FILES[1::8], ids=identifier)
def test_corpus_ours(path: Path) -> None:
    text = path.read_text(errors="replace")
    arch = arch_of(text)
    if arch is None:
        pytest.skip("for a target that is not supported yet")
    try:
        data = orias.compile(text, arch=arch, compile_only=needs_objects(text)).data
    except orias.CompileError as e:
        pytest.skip(f"not compiled: {e}"[:120])
    assert hazards(data) == []


def test_self_check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """``--self-check`` stops a compile whose code does not keep its promises."""
    from orias.cli.main import run

    command = ["orias", "-arch=sm_80", "--self-check", str(PROGRAMS[0]), "-o", str(tmp_path / "a.cubin")]
    assert run(command) == 0
    found = check_cubin(cubin("IADD3 R2, R4, R5, RZ", "IADD3 R3, R2, R5, RZ"))
    monkeypatch.setattr("orias.check.check_cubin", lambda data: found)
    assert run(command) == 255
    assert "Self check: k 0x0010: IADD3 R3, R2, R5, RZ: reads R2 too early" in capsys.readouterr().err
