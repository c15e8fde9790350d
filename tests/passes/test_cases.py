"""Text cases of single passes: Ori in, phase key, Ori out.  ``ORIAS_BLESS=1 pytest tests/passes`` rewrites expectations."""

import os
from pathlib import Path

import pytest

from orias.ori.text import dump, parse
from orias.ori.verify import verify
from orias.passes.functions import FUNCTIONS
from orias.passes.pipeline import PassContext

CASES = Path(__file__).parent / "cases"
ARROW = "=>\n"


def load(path: Path) -> list[tuple[str, str, str, str]]:
    """(name, keys, input, expected) of each case of a file; cases start with ``== name: keys``."""
    out = []
    for chunk in path.read_text().split("== ")[1:]:
        head, body = chunk.split("\n", 1)
        name, keys = head.split(":")
        before, _, after = body.partition(ARROW)
        out.append((name.strip(), keys.strip(), before, after))
    return out


def run_case(keys: str, text: str) -> str:
    fn = parse(text)
    assert verify(fn) == []
    cx = PassContext(3)
    for key in keys.split():
        FUNCTIONS[key](fn, cx)
        assert verify(fn) == []
    return dump(fn)


FILES = sorted(CASES.glob("*.txt"))
PARAMS = [(f, c) for f in FILES for c in load(f)]


@pytest.mark.parametrize(("path", "case"), PARAMS, ids=[f"{f.stem}-{c[0]}" for f, c in PARAMS])
def test_case(path: Path, case: tuple[str, str, str, str]) -> None:
    name, keys, text, expected = case
    got = run_case(keys, text)
    if os.environ.get("ORIAS_BLESS"):
        bless(path)
        return
    assert got.split() == expected.split(), f"{name}:\n{got}"


def bless(path: Path) -> None:
    parts = []
    for name, keys, text, _ in load(path):
        parts.append(f"== {name}: {keys}\n{text.rstrip()}\n{ARROW}{run_case(keys, text)}\n")
    path.write_text("".join(parts))


def test_there_are_cases() -> None:
    assert len(PARAMS) >= 20
