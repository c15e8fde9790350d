"""The shape of the source tree: a file name occurs once, and the road through the compiler fits on two screens."""

import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

import orias

ROOT = Path(orias.__file__).parent
TREE = Path(__file__).parents[2]
TOP = {".ci", "bench", "docs", "examples", "orias", "tests", "tools"} | {
    ".gitignore",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "LICENSE",
    "README.md",
    "mkdocs.yml",
    "pyproject.toml",
    "setup.py",
}


def test_file_names_occur_once() -> None:
    names = Counter(p.name for p in ROOT.rglob("*.py") if p.name != "__init__.py")
    assert len(names) > 300
    assert [name for name, count in names.items() if count > 1] == []


def test_the_road_is_short() -> None:
    assert len((ROOT / "compiler.py").read_text().splitlines()) <= 250


def test_nothing_else_lies_at_the_top_of_the_tree() -> None:
    if not (TREE / ".git").exists() or not shutil.which("git"):
        pytest.skip("this tree is no checkout of git, or there is no git")
    command = ["git", "-C", str(TREE), "ls-files"]
    listed = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert {line.split("/")[0] for line in listed.stdout.splitlines()} == TOP
