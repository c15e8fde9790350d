"""The code of a module without what only readers and type checkers need: annotations, ``@final``, and imports for their sake.

A module of the compile path then needs neither ``typing`` nor ``collections.abc``, which take an eighth of a short compile.
Only what runs when the module is imported changes: nothing within functions.
"""

import ast
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from types import CodeType

_TYPE_MODULES: Final = ("typing", "collections.abc")
_WITH_FIELDS: Final = frozenset(("NamedTuple", "TypedDict", "Protocol"))
"""Bases of classes whose annotations are read."""


def lean_code(source: str, path: str) -> "CodeType":
    """The code of a module's source; raises SyntaxError and ValueError as ``compile`` does."""
    tree = ast.parse(source, path)
    imports: list[ast.ImportFrom] = []
    tree.body = _statements(tree.body, imports)
    code = _compiled(tree, path)
    names = _names(code)
    needed: list[ast.stmt] = []
    for statement in imports:
        statement.names = [name for name in statement.names if (name.asname or name.name) in names]
        if statement.names:
            needed.append(statement)
    if not needed:
        return code
    docstring = int(isinstance(tree.body[0], ast.Expr) and isinstance(tree.body[0].value, ast.Constant))
    tree.body[docstring:docstring] = needed
    return _compiled(tree, path)


def _statements(body: list[ast.stmt], imports: list[ast.ImportFrom]) -> list[ast.stmt]:
    """The statements of a module or class without annotations; `imports` gets those from modules of types."""
    out: list[ast.stmt] = []
    for s in body:
        if isinstance(s, ast.FunctionDef):
            _drop_types(s)
        elif isinstance(s, ast.ClassDef):
            s.decorator_list = [d for d in s.decorator_list if not _is_name(d, "final")]
            if not s.decorator_list and not any(isinstance(b, ast.Name) and b.id in _WITH_FIELDS for b in s.bases):
                s.body = _statements(s.body, imports) or [ast.copy_location(ast.Pass(), s)]
        elif isinstance(s, ast.AnnAssign):
            if s.value is None:
                continue
            s = ast.copy_location(ast.Assign([s.target], s.value), s)
        elif isinstance(s, ast.If) and _is_name(s.test, "TYPE_CHECKING") and not s.orelse:
            continue
        elif isinstance(s, ast.ImportFrom) and s.module in _TYPE_MODULES:
            imports.append(s)
            continue
        out.append(s)
    return out


def _drop_types(function: ast.FunctionDef) -> None:
    """Take the annotations and ``@final`` off a function."""
    a = function.args
    for argument in (*a.posonlyargs, *a.args, *a.kwonlyargs, a.vararg, a.kwarg):
        if argument is not None:
            argument.annotation = None
    function.returns = None
    function.decorator_list = [d for d in function.decorator_list if not _is_name(d, "final")]


def _is_name(expression: ast.expr, name: str) -> bool:
    return isinstance(expression, ast.Name) and expression.id == name


def _compiled(tree: ast.Module, path: str) -> "CodeType":
    code: CodeType = compile(tree, path, "exec", dont_inherit=True)
    return code


def _names(code: "CodeType") -> set[str]:
    """The names that a code, and what is in it, looks up."""
    out = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, type(code)):
            out |= _names(constant)
    return out
