"""Pages and comments: no dead link, path, name or citation; lines that fit; the field's words."""

import re
from pathlib import Path

import pytest

from tests.docs.words import (
    ROOT,
    WIDTH,
    WORDS,
    dead_files,
    dead_links,
    dead_names,
    dead_paths,
    dead_sections,
    pages,
    prose,
    texts,
    uses,
)

PAGES = pages()


def _name(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_links_and_paths(page: Path) -> None:
    """Every link leads somewhere, and every path and module that a page names exists."""
    text = page.read_text(encoding="utf-8")
    if page.name != "CHANGELOG.md" and page.parent.name != "log":
        assert not dead_paths(text) + dead_names(text) + dead_files(page)
    assert not dead_links(page)


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_width(page: Path) -> None:
    """A line of prose has at most 100 columns."""
    assert not [f"{number}: {line}" for number, line in prose(page) if len(line) > WIDTH]


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_page_words(page: Path) -> None:
    """No page uses a word for which the field has another one."""
    text = re.sub(r"`[^`\n]*`", "", page.read_text(encoding="utf-8"))
    assert not [m.group() for word in WORDS for m in re.finditer(word, text, re.IGNORECASE)]


def test_paths_in_code() -> None:
    """Every path, module and cited section that comments and docstrings name exists."""
    bad = [t.at(what) for t in texts() for what in dead_paths(t.text) + dead_names(t.text) + dead_sections(t.text)]
    assert not bad


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("word", WORDS)
def test_code_words(word: str) -> None:
    """No comment or docstring uses a word for which the field has another one."""
    assert not uses(word)


def test_glossary() -> None:
    """The glossary has at most 60 terms, one line each."""
    lines = (ROOT / "docs/glossary.md").read_text(encoding="utf-8").splitlines()
    terms = [line for line in lines if line.startswith("| ") and not line.startswith("| term")]
    assert 20 <= len(terms) <= 60


def test_readme() -> None:
    """The README fits on two screens."""
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 120


def test_the_checks_find_faults() -> None:
    """What the checks look for is found where it is planted."""
    assert dead_paths("see `orias/nothing/here.py` and `tests/docs/test_words.py`") == ["orias/nothing/here.py"]
    assert dead_names("`orias.nothing.here`, `orias.isa.decode`, `orias.isa.decode.nowhere`") == [
        "orias.nothing.here",
        "orias.isa.decode.nowhere",
    ]
    assert dead_sections('``docs/facts/targets.md``, "Limits" and "Nothing"') == ["targets.md: no section Nothing"]
