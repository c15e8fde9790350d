"""Facts of operations stand in ``operations.isa`` once: no lists of mnemonics and few names elsewhere."""

import ast
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from orias.isa.operations import mnemonics

PACKAGE = Path(__file__).parents[2] / "orias"
KNOWING = ("isa", "lower", "sim")
"""Packages that write operations or say what they mean, one by one."""
LISTS = {
    "passes/instrument.py": "what ptxas pauses before with -sanitize threadsteer, as measured",
    "semantics/floats.py": "the meaning of each operation, by mnemonic",
    "semantics/integers.py": "the meaning of each operation, by mnemonic",
    "tools/json_listing.py": "attributes that nvdisasm prints for mnemonics, as measured",
    "tools/lexers.py": "keywords to colour, among them those of SMs without a table",
}
"""The lists that stay, each with its reason; five are the most there may be."""
NAMES = frozenset(mnemonics())
PTX_NAMES = frozenset(("call", "fence", "setmaxnreg"))
"""Pseudo operations whose names are words of PTX too."""


def named(node: ast.expr | None) -> str:
    """The mnemonic that a literal such as ``"IADD3.X"`` begins with, or nothing."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        name = node.value.split(".")[0]
        if name in NAMES:
            return name
    return ""


def lists(nodes: Iterable[ast.AST]) -> list[list[str]]:
    """The mnemonics of every literal collection that names at least three, split strings included."""
    out = []
    for node in nodes:
        if isinstance(node, ast.Dict):
            found = [named(k) for k in node.keys]
        elif isinstance(node, ast.Tuple | ast.List | ast.Set):
            found = [named(e) for e in node.elts]
        elif isinstance(node, ast.Attribute) and node.attr == "split" and isinstance(node.value, ast.Constant):
            found = [named(ast.Constant(w)) for w in str(node.value.value).split()]
        else:
            continue
        names = sorted(set(found) - {""} - PTX_NAMES)
        if len(names) >= 3:
            out.append(names)
    return out


def comparisons(nodes: Iterable[ast.AST]) -> list[str]:
    """Mnemonics that stand in a comparison or are made into an operation."""
    out = []
    for node in nodes:
        if isinstance(node, ast.Compare):
            literals: list[ast.expr] = [node.left, *node.comparators]
            for c in node.comparators:
                if isinstance(c, ast.Tuple | ast.List | ast.Set):
                    literals += c.elts
            out += [n for n in map(named, literals) if n]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "op":
            out += [n for n in map(named, node.args) if n]
    return [n for n in out if n.isupper()]


LOOKED_AT = (ast.Dict, ast.Tuple, ast.List, ast.Set, ast.Attribute, ast.Compare, ast.Call)
"""Kinds of nodes that :func:`lists` and :func:`comparisons` look at."""


@cache
def modules() -> dict[str, list[ast.AST]]:
    """The nodes looked at of all of the program but the packages that know operations by name."""
    files = {p.relative_to(PACKAGE): p for p in sorted(PACKAGE.rglob("*.py"))}
    return {
        name.as_posix(): [n for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, LOOKED_AT)]
        for name, path in files.items()
        if name.parts[0] not in KNOWING
    }


def test_the_search_finds_lists() -> None:
    tree = ast.parse('A = ("LDG", "STG.64", "LDS")\nB = {"FADD": 1, "FMUL": 2, "x": 3}\nC = "BRA EXIT RET".split()\n')
    assert lists(ast.walk(tree)) == [["LDG", "LDS", "STG"], ["BRA", "EXIT", "RET"]]
    assert comparisons(ast.walk(ast.parse('a.base in ("MOVM", "x") or op("LDS.64") == b'))) == ["MOVM", "LDS"]


def test_lists_of_mnemonics() -> None:
    """Only the lists named above, in the files named above."""
    assert len(LISTS) <= 5
    found = {name: lists(nodes) for name, nodes in modules().items()}
    assert {name: names for name, names in found.items() if names and name not in LISTS} == {}
    assert {name for name in LISTS if len(found[name]) != 1} == set()


def test_register_allocation_knows_no_names() -> None:
    """It compares no mnemonics and makes no operation by name: ``isa/roles.py`` gives those it writes."""
    found = {name: comparisons(nodes) for name, nodes in modules().items() if name.startswith("regalloc/")}
    assert len(found) > 10
    assert {name: names for name, names in found.items() if names} == {}


def test_operations_with_facts_alone_are_named_where_they_are_made() -> None:
    """MOVM is nothing to any pass: lowering writes it, the simulator runs it, the table says the rest."""
    texts = {name: (PACKAGE / name).read_text() for name in modules()}
    trees = {name: ast.parse(text) for name, text in texts.items() if "MOVM" in text}
    named_in = [
        name
        for name, tree in trees.items()
        if any(named(n) == "MOVM" for n in ast.walk(tree) if isinstance(n, ast.expr))
    ]
    assert named_in == []
