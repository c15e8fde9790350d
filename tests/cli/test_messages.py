"""Messages, exit codes and output files against the real ptxas."""

import io
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from orias.cli.main import run
from tests.cli.command_lines import ACCEPTED, FILES, STOPPED
from tests.nvtools import LIMIT_S, tool


def lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line]


@pytest.fixture
def workdir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def real(arguments: list[str]) -> tuple[int, str]:
    done = subprocess.run(
        [tool("ptxas"), *arguments], capture_output=True, text=True, timeout=LIMIT_S, stdin=subprocess.DEVNULL
    )
    return done.returncode, done.stderr


def without_times(text: str) -> str:
    return re.sub(r"Compile time = .*", "Compile time", text)


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("line", lines(STOPPED))
def test_stops_like_ptxas(
    line: str, workdir: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO()))
    arguments = shlex.split(line)
    code, want = real(arguments)
    assert code == 255
    assert run(["/usr/bin/ptxas", *arguments]) == 255
    got = capsys.readouterr()
    assert got.out == ""
    # Orias reads PTX of later releases than the ptxas it is compared with.
    assert got.err == want.replace("current version is '9.0'", "current version is '9.5'")
    assert not (workdir / "elf.o").exists()


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("line", lines(ACCEPTED))
def test_compiles_like_ptxas(line: str, workdir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = [FILES["k.ptx"] if a == "$K" else a for a in shlex.split(line)]
    before = set(workdir.iterdir())
    code, want = real(arguments)
    assert code == 0
    made = set(workdir.iterdir()) - before
    for path in made:
        path.unlink()
    assert run(["ptxas", *arguments]) == 0
    got = capsys.readouterr()
    assert got.out == ""
    registers = re.compile(r"Used \d+ registers")
    assert registers.sub("", without_times(got.err)) == registers.sub("", without_times(want))
    assert set(workdir.iterdir()) - before == made


def test_options_without_theirs_are_named_before_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, told in ((["--ftrace-phase-after=x"], True), (["-h", "--ftrace-phase-after=x"], False)):
        code, want = real(arguments)
        assert code == run(["ptxas", *arguments]) == 0
        got = capsys.readouterr()
        assert got.err == want and bool(want) is told
        assert "Usage" in got.out
