"""The documentation site: it builds without a warning, and the commands of its pages print what the pages say."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.words import ROOT
from tools.site.console import agrees, commands, differences, files, pages

PAGES = pages()


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.stem)
def test_commands(page: Path) -> None:
    """Every command of a page prints what the page says; ``python -m tools.site.console`` writes it anew."""
    assert not differences(page.read_text(encoding="utf-8"))


def test_pages_are_found() -> None:
    assert {"tour", "reading-a-schedule", "faster-kernels"} <= {page.stem for page in PAGES}


def test_faults_are_found() -> None:
    """The runner sees a wrong output, and reads files and commands as they stand."""
    page = '```ptx title="a.txt"\none\n```\n\n```console\n$ cat a.txt\none\n$ echo two\nthree\n```\n'
    assert files(page) == {"a.txt": "one\n"}
    assert [c.text for c in commands("$ cat a.txt\none\n$ echo two\nthree\n")] == ["cat a.txt", "echo two"]
    assert differences(page) == ["$ echo two\ntwo"]


def test_any_text() -> None:
    assert agrees(["a ... c", "...", "d"], ["a b c", "x", "y", "d"])
    assert agrees(["...", "d"], ["d"])
    assert not agrees(["a ... c"], ["a b"])
    assert not agrees(["a"], ["a", "b"])


def test_packages_have_diagrams() -> None:
    """Every page that the table of packages in the architecture page names shows how its package works."""
    text = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    table = text[text.index("| package | what lives there | page |") :]
    named = set(re.findall(r"\((\w[\w-]*\.md)", table[: table.index("\n\n")])) - {
        "command-line.md",
        "server.md",
        "toolkit.md",
        "in-process.md",
        "float-lowering.md",
        "phases.md",
    }
    without = [name for name in sorted(named) if "```mermaid" not in (ROOT / "docs" / name).read_text(encoding="utf-8")]
    assert len(named) > 12 and without == []


def test_pictures_are_made_by_a_command() -> None:
    """Every picture that a page shows is one that ``tools.site.pictures`` makes, and every one that it makes is shown."""
    shown = {
        name
        for page in [*(ROOT / "docs").rglob("*.md"), ROOT / "README.md"]
        for name in re.findall(r"!\[[^\]]*\]\((?:docs/)?pictures/([\w-]+)\.png\)", page.read_text(encoding="utf-8"))
    }
    made = set(re.findall(r'Picture\(\s*"([\w-]+)"', (ROOT / "tools/site/pictures.py").read_text(encoding="utf-8")))
    assert shown == made == {p.stem for p in (ROOT / "docs/pictures").glob("*.png")}


@pytest.mark.sweep
def test_site_builds(tmp_path: Path) -> None:
    """The site builds with strict links."""
    if importlib.util.find_spec("mkdocs") is None or importlib.util.find_spec("mkdocstrings") is None:
        pytest.skip("mkdocs is not installed (pip install '.[site]')")
    pictures = importlib.util.find_spec("playwright") is not None and shutil.which("chromium") is not None
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")],
        cwd=ROOT,
        env={
            **os.environ,
            "NO_MKDOCS_2_WARNING": "1",
            "PYTHONPATH": str(ROOT),
            "ORIAS_PICTURES": "1" if pictures else "",
        },
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "site" / "tour" / "index.html").exists()
    assert len(list((tmp_path / "site" / "pictures").glob("*.png"))) == len(
        list((ROOT / "docs/pictures").glob("*.png"))
    )
    passes = (tmp_path / "site" / "passes" / "index.html").read_text(encoding="utf-8")
    assert "OriLoopUnrolling" in passes
