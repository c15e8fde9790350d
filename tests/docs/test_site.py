"""The documentation site: it builds without a warning, and the commands of its pages print what the pages say."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.words import ROOT
from tools.site.console import agrees, commands, differences, files, pages

PAGES = pages()


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


@pytest.mark.sweep
def test_site_builds(tmp_path: Path) -> None:
    """The site builds with strict links."""
    if importlib.util.find_spec("mkdocs") is None or importlib.util.find_spec("mkdocstrings") is None:
        pytest.skip("mkdocs is not installed (pip install '.[site]')")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "site" / "tour" / "index.html").exists()
    passes = (tmp_path / "site" / "passes" / "index.html").read_text(encoding="utf-8")
    assert "OriLoopUnrolling" in passes
