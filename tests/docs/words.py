"""What the documentation and the comments of the code say: links, paths, names, widths, words."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).resolve().parents[2]
FOLDERS: Final = ("orias", "tests", "tools", "bench", "examples")
WIDTH: Final = 100
"""Columns of a line of prose."""

WORDS: Final = (
    r"\binventory\b", r"(?<!`)\brooms?\b(?!`)", r"\bbehind\b", r"\bin front of\b", r"\bma[dk]es? again\b", r"\bmended\b",
    r"\bgathered\b", r"\bcrossings?\b", r"\bnobody here\b", r"\bthis machine\b", r"\bat hand\b", r"\bthe way back\b", r"\bsnug\b",
)  # fmt: skip
"""Words for which the field has others (after, before, package, rematerialise, ...): no page, comment or docstring uses them."""

_PATH: Final = re.compile(r"(?<![\w/.<])((?:orias|docs|tests|tools|bench|examples)/[\w./*+-]*\w)")
_DOTTED: Final = re.compile(r"(?<![\w./])(orias(?:\.\w+)+)")
_SECTION: Final = re.compile(r"docs/facts/([\w-]+\.md)`*(?:,\s+\"([^\"]+)\"(?:\s+and\s+\"([^\"]+)\")?)?")
_FILE: Final = re.compile(r"`(?!orias\.isa`)([a-z_][\w/]*\.(?:py|isa|md))`")
_STRING_OR_COMMENT: Final = re.compile(
    r'''"""(?:\\.|[^\\])*?"""|\'{3}(?:\\.|[^\\])*?\'{3}|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|(#[^\n]*)''', re.DOTALL
)
"""A string literal, or a comment in group 1 (:mod:`tokenize` takes much longer)."""
_LINK: Final = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


class Text(NamedTuple):
    """A comment or docstring: its file, the line where it begins, and what it says."""

    path: Path
    line: int
    text: str

    def at(self, what: str) -> str:
        """A complaint: place and words."""
        return f"{self.path.relative_to(ROOT)}:{self.line}: {what}"


def pages() -> list[Path]:
    """Every page of documentation."""
    found = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("tools/**/*.md")]
    return sorted(found)


def _outside_code(page: Path) -> Iterator[tuple[int, str]]:
    code = False
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        if line.lstrip().startswith("```"):
            code = not code
        elif not code:
            yield number, line


def prose(page: Path) -> Iterator[tuple[int, str]]:
    """Lines of a page that are neither in a code block nor in a table, with their numbers."""
    return ((number, line) for number, line in _outside_code(page) if not line.startswith(("|", "    ")))


@cache
def headings(page: Path) -> frozenset[str]:
    """The headings of a page."""
    return frozenset(line.lstrip("#").strip() for _, line in prose(page) if line.startswith("#"))


def anchors(page: Path) -> frozenset[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    return frozenset(re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in headings(page))


def dead_links(page: Path) -> list[str]:
    """Links of a page to files or headings that do not exist; `f[T](x)` in a code block is none."""
    out = []
    for number, line in _outside_code(page):
        for target in _LINK.findall(re.sub(r"`[^`]*`", "", line)):
            name, _, anchor = target.partition("#")
            if "://" in name or name.startswith("mailto:"):
                continue
            file = page.parent / name if name else page
            if not file.exists():
                out.append(Text(page, number, line).at(f"no file {target}"))
            elif anchor and anchor not in anchors(file):
                out.append(Text(page, number, line).at(f"no heading {target}"))
    return out


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a body and those in them; expressions have none, so they are passed over."""
    for statement in body:
        yield statement
        for field in ("body", "orelse", "finalbody"):
            yield from _statements(getattr(statement, field, []))
        for field in ("handlers", "cases"):
            for part in getattr(statement, field, []):
                yield from _statements(part.body)


@cache
def texts() -> tuple[Text, ...]:
    """Every comment and docstring of the code (strings that stand alone as a statement, too)."""
    out: list[Text] = []
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            source = path.read_text(encoding="utf-8")
            for found in _STRING_OR_COMMENT.finditer(source):
                if found[1]:
                    out.append(Text(path, source.count("\n", 0, found.start()) + 1, found[1]))
            for node in _statements(ast.parse(source).body):
                if (
                    isinstance(node, ast.Expr)
                    and isinstance(node.value, ast.Constant)
                    and isinstance(node.value.value, str)
                ):
                    out.append(Text(path, node.lineno, node.value.value))
    return tuple(out)


def exists(path: str) -> bool:
    """Whether a path of the repository exists; ``*`` stands for anything, a word in capitals for a name."""
    pattern = re.sub(r"\b[A-Z][A-Z_]*\b", "*", path.rstrip("/"))
    return (ROOT / path).exists() or ("*" in pattern and any(True for _ in ROOT.glob(pattern)))


def dead_paths(text: str) -> list[str]:
    """Paths of the repository in a text that do not exist."""
    return [path for path in _PATH.findall(text) if not exists(path)]


@cache
def _files() -> frozenset[str]:
    """Every tail of every path of the repository's code and pages: ``list.py``, ``schedule/list.py``, ..."""
    out: set[str] = {path.name for path in ROOT.glob("*.*")}
    for folder in (*FOLDERS, "docs"):
        for path in (ROOT / folder).rglob("*.*"):
            parts = path.relative_to(ROOT).parts
            out.update("/".join(parts[k:]) for k in range(len(parts)))
    return frozenset(out)


def dead_files(page: Path) -> list[str]:
    """File names in backquotes (``list.py``, ``schedule/list.py``) that no file of the repository ends with."""
    text = "\n".join(line for _, line in _outside_code(page))
    return [name for name in _FILE.findall(text) if name not in _files()]


def dead_names(text: str) -> list[str]:
    """Dotted names of the package in a text that no module has."""
    return [name for name in _DOTTED.findall(text) if not _known(name)]


@cache
def _known(name: str) -> bool:
    parts = name.split(".")
    for n in range(len(parts), 0, -1):
        folder = ROOT.joinpath(*parts[:n])
        file = folder / "__init__.py" if folder.is_dir() else folder.with_suffix(".py")
        if file.exists():
            return n == len(parts) or parts[n] in _defined(file)
    return False


def _defined(module: Path) -> set[str]:
    """Names that a module defines, imports, or lists in ``__all__``."""
    out: set[str] = set()
    for node in ast.parse(module.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            out.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            out.update(a.asname or a.name for a in node.names)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            out.update(t.id for t in targets if isinstance(t, ast.Name))
            if isinstance(node.value, ast.List | ast.Tuple):
                out.update(e.value for e in node.value.elts if isinstance(e, ast.Constant) and isinstance(e.value, str))
    return out


def dead_sections(text: str) -> list[str]:
    """Sections of the facts that a text cites and that no page has (a heading may go on after the words cited)."""
    out = []
    for page, *sections in _SECTION.findall(text):
        file = ROOT / "docs/facts" / page
        for section in filter(None, sections):
            title = " ".join(section.split())
            if file.exists() and not any(h.startswith(title) for h in headings(file)):
                out.append(f"{page}: no section {title}")
    return out


def uses(word: str) -> list[str]:
    """Where comments and docstrings use a word."""
    pattern = re.compile(word, re.IGNORECASE)
    own = Path(__file__).parent
    return [t.at(m.group()) for t in texts() if t.path.parent != own for m in pattern.finditer(t.text)]
