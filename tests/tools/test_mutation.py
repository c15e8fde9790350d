"""Planted faults are noticed by the fast tests (``python -m tools.mutate``)."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.rotation import seed
from tools.mutate.mutants import all_mutants, mutants_of, sample

ROOT = Path(__file__).resolve().parents[2]
CASES = (
    "tests/passes",
    "tests/lower",
    "tests/lower_math/test_cases.py",
    "tests/regalloc/test_allocation_cases.py",
    "tests/schedule",
    "tests/validate/test_cases.py",
    "tests/pipeline/test_listings.py",
)
"""The text cases: a part of the tests that judge a whole run, so that a sample takes minutes."""

SOURCE = '''"""A module."""
LIMIT: int = 3


def f(a: int, b: int) -> bool:
    """Not this 1."""
    if a < b and not g(a, b):
        a += 2
    return a == LIMIT
'''


def test_the_faults_of_a_small_module() -> None:
    found = {(m.line, m.operator, m.new) for m in mutants_of("m.py", SOURCE)}
    assert found == {
        (2, "constant", "(4)"),
        (2, "constant", "(2)"),
        (7, "connective", "(a < b or not g(a, b))"),
        (7, "dropped condition", "(not g(a, b))"),
        (7, "dropped condition", "(a < b)"),
        (7, "comparison", "(a <= b)"),
        (7, "comparison", "(a >= b)"),
        (7, "removed not", "(g(a, b))"),
        (7, "swapped arguments", "(g(b, a))"),
        (7, "condition", "False"),
        (7, "condition", "True"),
        (8, "removed statement", "pass"),
        (8, "constant", "(3)"),
        (8, "constant", "(1)"),
        (9, "comparison", "(a != LIMIT)"),
        (9, "returned value", "return None"),
    }


def test_a_default_belongs_to_the_module() -> None:
    found = mutants_of("m.py", "def f(a: int = 3) -> int:\n    return a + 1\n")
    assert {(m.line, m.function) for m in found} == {(1, ""), (2, "f")}


def test_every_fault_is_another_program() -> None:
    for m in mutants_of("m.py", SOURCE):
        assert m.apply(SOURCE) != SOURCE
        compile(m.apply(SOURCE), "m.py", "exec")


def test_a_seed_gives_one_sample() -> None:
    mutants = all_mutants(ROOT, ("orias/passes/licm.py",))
    assert sample(mutants, 10, "a") == sample(mutants, 10, "a") != sample(mutants, 10, "b")
    assert len({m.line for m in sample(mutants, 10, "a")}) == 10


@pytest.mark.sweep
@pytest.mark.long
@pytest.mark.parametrize("part", range(4))
def test_a_sample_of_faults_is_noticed(part: int) -> None:
    """Of twelve faults of the four packages, others every day, at least three have to be noticed.

    These tests notice about 60 % of all faults: then fewer than three are noticed in one sample of 350, and if they noticed
    a third, in one of five.
    """
    command = [sys.executable, "-m", "tools.mutate", "--count", "12", "--seed", f"{seed()} {part}"]
    command += ["--budget", "10", "--limit", "60", *(x for t in CASES for x in ("--tests", t))]
    # The faults are planted into this tree, so the tests must import it, not an installed Orias.
    env = {k: v for k, v in os.environ.items() if k != "PYTHONSAFEPATH"}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=1200)
    out = done.stdout
    assert done.returncode == 0, out + done.stderr
    print(out)
    alive = re.search(r"^12 mutants: .* (\d+) alive", out, re.MULTILINE)
    assert alive is not None, out
    assert int(alive.group(1)) <= 9, out
