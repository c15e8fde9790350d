"""Everyday misuse under our own name: what the command says, and that it says nothing of it under the name ptxas."""

import sys
from pathlib import Path

import pytest

import orias
from orias.cli.door import Quiet
from orias.cli.main import run
from orias.cli.source_excerpt import excerpt

EXAMPLE = (Path(__file__).parents[2] / "examples" / "saxpy.ptx").read_text()


def said(capsys: pytest.CaptureFixture[str], *command: str) -> str:
    assert run(list(command)) == 255
    return capsys.readouterr().err


@pytest.mark.parametrize(("word", "near"), [("diss", "dis"), ("verfy", "verify"), ("tol", "toolkit"), ("qqq", "")])
def test_an_unknown_sub_command(
    word: str, near: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    text = said(capsys, "orias", word)
    assert text.startswith(f"orias fatal   : '{word}' is neither a file nor a sub-command")
    assert ("did you mean" in text) == bool(near) and (not near or f"did you mean '{near}'?" in text)
    assert "Sub-commands: dis, as, run" in text and text.count("\n") == 1
    assert "sub-command" not in said(capsys, "ptxas", word)


def test_a_word_that_is_a_file_is_an_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "kernel").write_text(EXAMPLE)
    assert run(["orias", "kernel", "-o", "k.cubin"]) == 0


def test_a_cubin_as_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "k.cubin"
    path.write_bytes(orias.compile(EXAMPLE, arch="sm_80").data)
    command = [str(path), "-o", str(tmp_path / "x")]
    assert said(capsys, "orias", *command) == (
        f"orias fatal   : '{path}' is a binary, not PTX text; 'orias dis {path}' lists the cubins in it\n"
    )
    assert "orias dis" not in said(capsys, "ptxas", *command)
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize(
    ("text", "line", "column", "shown"),
    [
        ("a\nbcd\n", 2, 2, "    2 | bcd\n      |  ^\n"),
        (b"a\n\tbcd\r\n", 2, 0, "    2 |  bcd\n"),
        ("a", 2, 1, ""),
        ("a", 0, 1, ""),
        ("\n", 1, 1, ""),
        ("ab", 1, 9, "    1 | ab\n"),
        ("\x1b[31mred", 1, 1, "    1 |  [31mred\n      | ^\n"),
    ],
)
def test_excerpts(text: str | bytes, line: int, column: int, shown: str) -> None:
    assert excerpt(text, line, column) == shown


@pytest.mark.parametrize(("program", "terminal"), [("orias", True), ("orias", False), ("ptxas", True)])
def test_the_source_line_on_a_terminal(
    program: str, terminal: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.ptx"
    path.write_text(EXAMPLE.replace("fma.rn.f32", "fmaa.rn.f32"))
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal, raising=False)
    text = said(capsys, program, str(path), "-o", str(tmp_path / "x"))
    assert ("| " in text and "fmaa.rn.f32      %f4" in text) == (program == "orias" and terminal)


def test_the_terminal_is_seen_through_the_door() -> None:
    class Terminal:
        def isatty(self) -> bool:
            return True

    assert Quiet(Terminal()).isatty() and not Quiet(None).isatty()
