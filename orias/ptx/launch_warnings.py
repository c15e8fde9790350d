"""Warnings about launch bounds and register limits that a target cannot keep; ptxas then ignores or raises them.

Facts: docs/facts/front-end.md (functions).
"""

import math
from typing import Final

from orias.diag import Diagnostic
from orias.ptx.ast import Function, Instr, Module
from orias.target.profile import Target

_LEAST_REGISTERS: Final = 24
_MOST_REGISTERS: Final = 255
_WARP: Final = 32


def launch_warnings(module: Module, target: Target, compile_only: bool, debug: bool) -> list[Diagnostic]:
    """The warnings of all functions, from the last to the first, as ptxas has them; with ``debug`` (-g) from the first to the last.

    Without ``compile_only`` a function has no limit of its own, and one that no kernel reaches no warning.
    """
    found: list[Diagnostic] = []
    if not any(f.entry for f in module.functions):
        return []  # no code is made
    for function in module.functions if debug else reversed(module.functions):
        if function.body is None or not function.directives:
            continue
        if not function.entry and not compile_only:
            if "local_maxnreg" in function.directives and function.name in reached(module):
                found.append(Diagnostic("warning", _OBJECTS_ONLY))
        else:
            found.extend([Diagnostic("warning", text) for text in warnings_of(function, target)])
    return found


def warnings_of(function: Function, target: Target) -> list[str]:
    """The warnings of one function."""
    return [*_registers(function), *_bounds(function, target)]


_OBJECTS_ONLY: Final = (
    "Construct '.local_maxnreg' on device functions is supported only with --compile-only option, ignoring construct"
)


def reached(module: Module) -> set[str]:
    """The names of the functions that kernels call or take the address of, directly or not."""
    todo = [f for f in module.functions if f.entry]
    found: set[str] = set()
    while todo:
        for statement in todo.pop().body or ():
            if isinstance(statement, Instr):
                for op in statement.ops:
                    if op.func is not None and op.func.name not in found:
                        found.add(op.func.name)
                        todo.append(op.func)
    return found


def effective_limit(function: Function) -> int:
    """The .maxnreg that counts: at least the fewest registers of a thread; 0 without one, or with one that is ignored."""
    limit = function.directives.get("maxnreg", (0,))[0]
    return 0 if limit > _MOST_REGISTERS else max(limit, _LEAST_REGISTERS) if limit else 0


def ignores_blocks(function: Function, target: Target) -> bool:
    """Whether .minnctapersm is ignored with a warning."""
    return bool(_bounds(function, target))


def _registers(function: Function) -> list[str]:
    """Warnings on .local_maxnreg and .maxnreg."""
    found: list[str] = []
    name = function.name
    limit = function.directives.get("maxnreg", (0,))[0]
    own = function.directives.get("local_maxnreg", (0,))[0]
    if own and 0 < limit < own:
        return [
            f"Value specified in pragma local_maxnreg {own} for '{name}' should be lower than the global register limit"
            f" specified {limit}. Ignoring local_maxnreg"
        ]
    for word, value in (("maxnreg", limit), ("local_maxnreg", own)):
        if 0 < value < _LEAST_REGISTERS:
            found.append(
                f"For entry {name} adjusting per thread register count of {value} to lower bound of {_LEAST_REGISTERS}"
            )
        elif value > _MOST_REGISTERS:
            found.append(f"Too many {word} specified for entry {name}, will be ignored")
    return found


def _bounds(function: Function, target: Target) -> list[str]:
    """The warning on .maxntid or .reqntid and .minnctapersm."""
    threads, blocks = target.number("threads_per_sm"), target.number("ctas_per_sm")
    directives = function.directives
    extents = directives.get("reqntid") or directives.get("maxntid")
    if not extents:
        return []
    size = math.prod(extents)
    least = directives.get("minnctapersm", (0,))[0]
    of = f"for entry {function.name} is out of range."
    if size > threads:
        what = "Value of maxntid," if least else "Value of threads per SM"
        return [f"{what} {of} .minnctapersm and .maxntid will be ignored"]
    if least > blocks:
        return [f"Value of minnctapersm {of} minnctapersm will be ignored"]
    if least * ((size + _WARP - 1) // _WARP * _WARP) > threads:
        return [f"Value of threads per SM {of} .minnctapersm will be ignored"]
    return []
