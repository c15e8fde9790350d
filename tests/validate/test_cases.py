"""Programs that were compiled wrong once, and their like: a kernel ``k`` each, on random inputs, every phase compared; all they compute is defined."""

from pathlib import Path

import pytest

from orias.tools.fuzz.judge import OK, judge_text

CASES = sorted((Path(__file__).parent / "cases").glob("*.ptx"))


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("level", [0, 1, 3])
@pytest.mark.parametrize("path", CASES, ids=lambda p: p.stem)
def test_case(path: Path, level: int) -> None:
    text = path.read_text()
    arch = text.split(".target ", 1)[1].split()[0]
    v = judge_text(text, 1, arch, level, "", phases=True)
    assert v.kind == OK, f"{v.kind}: {v.detail}"
