"""Several inputs: local functions and variables of each are its own, so two may have one name.

Everything after the parser tells functions by their name; so of two with one name the older gets another, which only starts with it.
ptxas 13.0.88 keeps such functions apart in executables, with equal symbols, and ends with an internal error where they would have
sections of their own.  Two variables of one name it mixes up; they are refused.
"""

from typing import Final

from orias.ptx.ast import Function, Module, Var
from orias.ptx.parser_state import State

_MARK: Final = "~"
"""A character that no name of PTX has."""


def written(name: str) -> str:
    """The name of a function in its text."""
    return name.partition(_MARK)[0]


def end_input(state: State) -> None:
    """Forget what is local to an input: the next ones do not see it."""
    scope = state.scopes[0]
    for name, found in list(scope.names.items()):
        if found.linkage == "" and not (isinstance(found, Function) and found.entry):
            del scope.names[name]
            state.hidden.setdefault(name, []).append(found)
    scope.operands.clear()


def keep_apart(state: State, name: str) -> None:
    """Rename the forgotten functions of a name that another function gets."""
    for number, found in enumerate(state.hidden.get(name, []), 1):
        if isinstance(found, Function):
            found.name = f"{name}{_MARK}{number}"


def hidden_variable(state: State, name: str) -> Var | None:
    """The local variable of this name in an input before, None without one."""
    return next((found for found in state.hidden.get(name, []) if isinstance(found, Var)), None)


def has_equal_symbols(module: Module) -> bool:
    """Whether two functions, or a function and a variable, would have one symbol if all functions had sections of their own."""
    variables = {v.name for v in module.variables}
    return any(_MARK in f.name or f.name in variables for f in module.functions)
