"""Every corpus file parses without an error; what ptxas refuses is refused with its messages."""

import csv
import re

import pytest

from orias.diag import CompileError
from orias.ptx.ast import Instr
from orias.ptx.parser import parse
from tests.ptx.corpus import corpus, corpus_files


def _parse_all(step: int) -> None:
    files = corpus_files()[::step]
    assert files
    for path in files:
        module = parse(path.read_bytes(), path.name)
        assert module.functions or module.variables, path
        for function in module.functions:
            for statement in function.body or ():
                if isinstance(statement, Instr) and statement.sig.name in ("bra", "brx.idx"):
                    assert statement.ops[-1].label is not None, path


def test_a_tenth_of_the_corpus() -> None:
    _parse_all(10)


@pytest.mark.sweep
def test_the_whole_corpus() -> None:
    _parse_all(1)


def test_rejected_files() -> None:
    folder = corpus()
    rows = list(csv.DictReader((folder / "rejected.csv").read_text().splitlines()))
    assert rows
    for row in rows:
        with pytest.raises(CompileError) as caught:
            parse((folder / row["file"]).read_bytes(), "f")
        mine = [f"{d.line}; {d.severity}: {d.message}" for d in caught.value.diagnostics if d.severity != "warning"]
        theirs = [m.strip() for m in row["message"].split("|") if "aborted" not in m]
        theirs = [re.sub(r"ptxas \S+ line (\d+); (\w+) *: ", r"\1; \2: ", m) for m in theirs]
        assert mine[: len(theirs)] == theirs, row["file"]
