"""The front end stays readable: no function of it decides more than a reader can follow."""

import ast
from pathlib import Path

import orias.ptx

MOST = 25
"""Decision points of one function."""


def decisions(function: ast.AST) -> int:
    """Branches, loops, handlers and the conditions joined by and/or in a function, those of functions inside included."""
    count = 0
    for node in ast.walk(function):
        if isinstance(node, ast.If | ast.For | ast.While | ast.IfExp | ast.ExceptHandler | ast.match_case):
            count += 1
        elif isinstance(node, ast.BoolOp):
            count += len(node.values) - 1
        elif isinstance(node, ast.comprehension):
            count += len(node.ifs)
    return count


def test_the_count() -> None:
    text = "def f(a):\n if a and b or c:\n  return 1 if a else 2\n for x in [y for y in a if y]: pass\n try: pass\n except E: pass\n"
    assert decisions(ast.parse(text)) == 7


def test_no_function_decides_too_much() -> None:
    offenders = []
    seen = 0
    for folder in orias.ptx.__path__:
        for path in sorted(Path(folder).glob("*.py")):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                    seen += 1
                    if decisions(node) > MOST:
                        offenders.append(f"{path.name}:{node.lineno} {node.name}: {decisions(node)}")
    assert seen > 200
    assert not offenders, "\n".join(offenders)
