"""Text cases of single passes: Ori in, phases, Ori out; a file a pass.  ``ORIAS_BLESS=1 pytest tests/passes`` rewrites expectations."""

from collections import Counter
from pathlib import Path

import pytest

from orias import passes
from orias.pipeline.functions import FUNCTIONS
from tests.phase_cases import Case, all_cases, case_ids, few_cases, judge

FOLDER = Path(__file__).parent / "cases"
CASES = all_cases(FOLDER)
WITHOUT = {
    "access_size": "sizes and words of accesses, which other passes ask for",
    "addends": "what sums add unchanged, in the cases of unroll and computed_places, which ask for it",
    "def_use": "an index of definitions and uses",
    "equal_blocks": "chains of blocks, in the cases of loads_ahead and wide_accesses, which ask for them",
    "exclusive_conditions": "what conditions say, which tests/passes/test_exclusive_conditions.py checks",
    "funnels": "shifts that one funnel shift replaces, in the cases of rules_int and rules_logic, which ask for them",
    "instrument": "instructions of options, which tests/passes/test_instrument.py compares with those of ptxas",
    "known_iterations": "what iterations with known counters do, in the cases of unroll and untaken_exits, which ask for it",
    "loop_bodies": "the shape of loops and copies of their bodies, which unrolling asks for",
    "loop_decisions": "remarks on loops, which tests/explore/test_remarks.py checks",
    "offsets": "the width of offsets, which other passes ask for",
    "ssa_repair": "phis after new edges, in the cases of meeting_places, which asks for them",
    "uniform_operands": "where uniform operands may stand, which other passes ask for",
    "words": "the words of wider registers that stand for others",
}


@pytest.mark.in_turn(4)
@pytest.mark.parametrize(("path", "case"), CASES, ids=case_ids(CASES))
def test_case(path: Path, case: Case) -> None:
    judge(path, case)


def test_every_pass_has_cases() -> None:
    """At least three for every file of the package: what it does, where it must not, and an edge."""
    assert few_cases(FOLDER, Path(passes.__file__).parent, WITHOUT) == []


def test_every_phase_has_cases() -> None:
    """At least three for every key of the pipeline, allocation and scheduling included."""
    folders = [FOLDER, FOLDER.parents[1] / "regalloc" / "cases", FOLDER.parents[1] / "schedule" / "cases"]
    counts = Counter(step for f in folders for _, c in all_cases(f) for step in set(c.steps.split()))
    assert {key: counts[key] for key in FUNCTIONS if counts[key] < 3 and key != "verify"} == {}
