"""The small faults that can be planted into a source file: one changed expression or statement each.

A mutant is a piece of the file's text and what stands there instead.  The operators are those usual in mutation testing:
comparisons, boundary constants, connectives, conditions, arithmetic, swapped arguments, removed statements, returned values.
"""

import ast
import random
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

PACKAGES = ("orias/passes", "orias/lower", "orias/schedule", "orias/regalloc")
CHECKERS = ("orias/regalloc/allocation_check.py", "orias/schedule/hazard_check.py")
"""They change no code: planted faults judge them (tests/regalloc/test_random.py, tests/schedule/test_scoreboard.py)."""

_COMPARE: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
}
_ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitAnd,
}
_FALSE = ast.Constant(False)
_TRUE = ast.Constant(True)


class Mutant(NamedTuple):
    """One fault: in `path`, the text from `start` to `end` (characters) becomes `new`."""

    path: str
    line: int
    function: str
    """Qualified name of the outermost function it is in; empty for the module's own statements."""
    operator: str
    start: int
    end: int
    old: str
    new: str

    @property
    def name(self) -> str:
        """Where and what, on one line."""
        return f"{self.path}:{self.line}: {self.operator}: {' '.join(self.old.split())}  =>  {self.new}"

    def apply(self, text: str) -> str:
        """The file's text with the fault."""
        assert text[self.start : self.end] == self.old
        return text[: self.start] + self.new + text[self.end :]


def _changes(node: ast.AST) -> Iterator[tuple[str, ast.AST, str]]:
    """(operator, node to replace, text in its stead) for the changes of one node."""
    if isinstance(node, ast.Compare):
        for k, cmp in enumerate(node.ops):
            for other in _COMPARE[type(cmp)]:
                ops = [other() if j == k else o for j, o in enumerate(node.ops)]
                yield "comparison", node, _text(ast.Compare(node.left, ops, node.comparators))
    elif isinstance(node, ast.BoolOp):
        other_op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield "connective", node, _text(ast.BoolOp(other_op, node.values))
        for k in range(len(node.values)):
            rest = node.values[:k] + node.values[k + 1 :]
            yield "dropped condition", node, _text(ast.BoolOp(node.op, rest) if len(rest) > 1 else rest[0])
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield "removed not", node, _text(node.operand)
    elif isinstance(node, ast.BinOp):
        if type(node.op) in _ARITHMETIC and not _is_text(node):
            yield "arithmetic", node, _text(ast.BinOp(node.left, _ARITHMETIC[type(node.op)](), node.right))
    elif isinstance(node, ast.Constant):
        if isinstance(node.value, bool):
            yield "constant", node, str(not node.value)
        elif isinstance(node.value, int):
            yield "constant", node, f"({node.value + 1})"
            yield "constant", node, f"({node.value - 1})"
    elif isinstance(node, (ast.If, ast.IfExp, ast.While)) and ast.unparse(node.test) != "TYPE_CHECKING":
        yield "condition", node.test, "False"
        if not isinstance(node, ast.While):
            yield "condition", node.test, "True"
    elif isinstance(node, ast.Call):
        different = len(node.args) >= 2 and ast.unparse(node.args[0]) != ast.unparse(node.args[1])
        if different and not any(isinstance(a, ast.Starred) for a in node.args[:2]) and _ordered(node.func):
            args = [node.args[1], node.args[0], *node.args[2:]]
            yield "swapped arguments", node, _text(ast.Call(node.func, args, node.keywords))
    elif isinstance(node, ast.Expr):
        if isinstance(node.value, ast.Call):
            yield "removed statement", node, "pass"
    elif isinstance(node, ast.AugAssign) or (
        isinstance(node, ast.Assign) and isinstance(node.targets[0], (ast.Attribute, ast.Subscript))
    ):
        yield "removed statement", node, "pass"
    elif isinstance(node, ast.Continue):
        yield "jump", node, "break"
    elif isinstance(node, ast.Break):
        yield "jump", node, "pass"
    elif isinstance(node, ast.Return) and node.value is not None and not isinstance(node.value, ast.Constant):
        yield "returned value", node, "return None"


def _text(node: ast.expr) -> str:
    return f"({ast.unparse(node)})"


def _ordered(function: ast.expr) -> bool:
    """False for functions that do not care which argument comes first."""
    return not (isinstance(function, ast.Name) and function.id in ("max", "min"))


def _is_text(node: ast.BinOp) -> bool:
    return any(
        isinstance(x, ast.JoinedStr) or (isinstance(x, ast.Constant) and isinstance(x.value, str))
        for x in ast.walk(node)
    )


def _children(node: ast.AST) -> Iterator[ast.AST]:
    """Child nodes that say what the program does: no annotations, decorators, default messages, imports."""
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "decorator_list", "msg", "exc", "type_params"):
            continue
        if field == "targets" and any(isinstance(t, ast.Name) and t.id == "__slots__" for t in value):
            return
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not isinstance(
                child, (ast.JoinedStr, ast.Import, ast.ImportFrom, ast.Assert)
            ):
                yield child


def mutants_of(path: str, text: str) -> list[Mutant]:
    """All faults that can be planted into a file."""
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    lines = text.splitlines()

    def at(line: int, column: int) -> int:
        # ast counts columns in bytes of UTF-8.
        return starts[line - 1] + len(lines[line - 1].encode()[:column].decode())

    out: list[Mutant] = []

    def walk(node: ast.AST, scope: tuple[str, ...], function: str) -> None:
        outside = function
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            scope = (*scope, node.name)
            if isinstance(node, ast.FunctionDef) and not function:
                function = ".".join(scope)
        for operator, target, new in _changes(node):
            assert isinstance(target, (ast.expr, ast.stmt)) and target.end_lineno and target.end_col_offset is not None
            start, end = at(target.lineno, target.col_offset), at(target.end_lineno, target.end_col_offset)
            old = text[start:end]
            if old != new:
                out.append(Mutant(path, target.lineno, function, operator, start, end, old, new))
        for child in _children(node):
            # Defaults of arguments are computed where the function is defined.
            walk(child, scope, outside if isinstance(child, ast.arguments) else function)

    walk(ast.parse(text), (), "")
    return out


def all_mutants(root: Path, packages: tuple[str, ...] = PACKAGES) -> list[Mutant]:
    """All faults of all files below some folders (or of single files), in the order of the files."""
    out: list[Mutant] = []
    for package in packages:
        top = root / package
        for file in sorted(top.rglob("*.py")) if top.is_dir() else [top]:
            if str(file.relative_to(root)) not in CHECKERS or top.is_file():
                out += mutants_of(str(file.relative_to(root)), file.read_text(encoding="utf-8"))
    return out


def sample(mutants: list[Mutant], count: int, seed: str) -> list[Mutant]:
    """`count` of them, at most one of a line."""
    order = list(mutants)
    random.Random(seed).shuffle(order)
    seen: set[tuple[str, int]] = set()
    out: list[Mutant] = []
    for m in order:
        if (m.path, m.line) not in seen and len(out) < count:
            seen.add((m.path, m.line))
            out.append(m)
    return out
