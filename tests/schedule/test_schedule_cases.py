"""Text cases of scheduling: Ori before, Ori after, in files named after the module whose work they show."""

from pathlib import Path

import pytest

from tests.phase_cases import Case, all_cases, case_ids, judge

FOLDER = Path(__file__).parent / "cases"
CASES = all_cases(FOLDER)


@pytest.mark.in_turn(4)
@pytest.mark.parametrize(("path", "case"), CASES, ids=case_ids(CASES))
def test_case(path: Path, case: Case) -> None:
    judge(path, case)
