"""The shape of the source tree: names occur once, imports make no circle, and the road through the compiler fits on two screens."""

import ast
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
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


def _named(tree: ast.AST) -> Iterator[str]:
    """The modules and names of modules that a file imports: at its top, in functions, for types, by :func:`deferred`."""
    for n in ast.walk(tree):
        if isinstance(n, ast.Import):
            yield from (a.name for a in n.names)
        elif isinstance(n, ast.ImportFrom) and n.module:
            yield from (f"{n.module}.{a.name}" for a in n.names)
            yield n.module
        elif isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id == "deferred":
            yield from (str(a.value) for a in n.args if isinstance(a, ast.Constant))


def _circle(graph: dict[str, set[str]]) -> list[str]:
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as e:
        return list(e.args[1])
    return []


def test_imports_make_no_circle() -> None:
    # Packages only hand names on: what a file takes from one is drawn to the file that has it.
    files = {p: ".".join(p.relative_to(ROOT.parent).with_suffix("").parts) for p in ROOT.rglob("*.py")}
    modules = {m for p, m in files.items() if p.name != "__init__.py"}
    graph = {
        m: {n for n in _named(ast.parse(p.read_text(encoding="utf-8"))) if n in modules and n != m}
        for p, m in files.items()
        if m in modules
    }
    assert sum(map(len, graph.values())) > 2000
    assert _circle(graph) == []
    below = next(m for m in graph["orias.compiler"] if graph[m])
    assert _circle({**graph, below: graph[below] | {"orias.compiler"}})


def test_the_road_is_short() -> None:
    assert len((ROOT / "compiler.py").read_text().splitlines()) <= 250


def test_nothing_else_lies_at_the_top_of_the_tree() -> None:
    if not (TREE / ".git").exists() or not shutil.which("git"):
        pytest.skip("this tree is no checkout of git, or there is no git")
    command = ["git", "-C", str(TREE), "ls-files"]
    listed = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert {line.split("/")[0] for line in listed.stdout.splitlines()} == TOP
