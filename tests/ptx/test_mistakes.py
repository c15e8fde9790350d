"""Mistakes that people make in PTX, a module each: Orias says what ptxas 13.0.88 says, message by message.

A missing semicolon, a wrong target, a misspelt opcode, an undefined name, wrong numbers and types of operands, unbalanced brackets, a
comment or string without end, missing directives, calls that do not fit.
"""

import json
from pathlib import Path

from tests.nvtools import tool
from tests.rotation import rotating
from tools.front_end.compare import Judge, ours
from tools.front_end.instructions import Program

RECORDS = json.loads((Path(__file__).parent / "data" / "mistakes.json").read_text())
"""Modules with what ptxas says of each for sm_80."""
TARGET = "sm_80"


def program(record: dict[str, str]) -> Program:
    """A record as a program."""
    return Program(TARGET, "", "", record["text"])


def test_the_messages() -> None:
    assert len(RECORDS) > 300
    wrong = [(r["text"], found) for r in RECORDS if (found := ours(program(r)).messages) != r["messages"]]
    assert wrong == []


def test_some_of_the_records_are_ptxas_s() -> None:
    tool("ptxas")
    judge = Judge(None)
    for record in rotating(RECORDS, 15, "mistakes"):
        answer = judge.alone(program(record))
        assert answer is not None and answer.messages == record["messages"], record["text"]
