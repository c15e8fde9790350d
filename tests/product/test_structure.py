"""The shape of the source tree: a file name occurs once, and the road through the compiler fits on two screens."""

from collections import Counter
from pathlib import Path

import orias

ROOT = Path(orias.__file__).parent


def test_file_names_occur_once() -> None:
    names = Counter(p.name for p in ROOT.rglob("*.py") if p.name != "__init__.py")
    assert len(names) > 300
    assert [name for name, count in names.items() if count > 1] == []


def test_the_road_is_short() -> None:
    assert len((ROOT / "compiler.py").read_text().splitlines()) <= 250
