"""Words that stand twice, absent and illegal ones, operands of odd kinds: what ptxas 13.0.88 says to each recorded line."""

from pathlib import Path

from orias.diag import CompileError
from orias.ptx.module_checks import check
from orias.ptx.parser import parse
from orias.target.profile import target
from tests.nvtools import tool
from tests.rotation import rotating
from tools.front_end.compare import Judge
from tools.front_end.instructions import Program, head, kernel

LINES = [text.split("\t") for text in (Path(__file__).parent / "data" / "word_messages.txt").read_text().splitlines()]
"""Lines with ptxas's messages, joined."""
TARGET = "sm_100a"
TOP = head("9.0", TARGET)


def said(line: str) -> str:
    """Our messages on a line, joined."""
    try:
        module = parse(TOP + kernel(line))
        found = [*module.warnings, *check(module, target(TARGET))]
    except CompileError as error:
        found = error.diagnostics
    return " | ".join([d.message for d in found])


def test_recorded_lines() -> None:
    assert len(LINES) > 400
    assert [(line, wanted, found) for line, wanted in LINES if (found := said(line)) != wanted] == []


def test_some_of_the_records_are_ptxas_s() -> None:
    tool("ptxas")
    judge = Judge(None)
    for line, wanted in rotating(LINES, 15, "words"):
        answer = judge.alone(Program(TARGET, line, TOP, kernel(line)))
        assert answer is not None and " | ".join([m.split(": ", 1)[1] for m in answer.messages]) == wanted, line
