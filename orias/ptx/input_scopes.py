"""Several inputs: local functions and variables of each are its own, so two may have one name.

Everything after the parser tells functions by their name; so of two with one name the older gets another, which only starts with it.
ptxas 13.0.88 keeps such functions apart in executables, with equal symbols, and ends with an internal error where they would have
sections of their own.  Two variables of one name it takes for one, which has the place and the value of the last; here they are two.
"""

from typing import Final

from orias.ptx.ast import Function, Module
from orias.ptx.parser_state import State

_MARK: Final = "~"
"""A character that no name of PTX has."""


def written(name: str) -> str:
    """The name of a function or variable in its text."""
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
    """Rename the forgotten functions and variables of a name that another one gets."""
    for number, found in enumerate(state.hidden.get(name, []), 1):
        found.name = f"{name}{_MARK}{number}"


def has_equal_symbols(module: Module) -> bool:
    """Whether two functions, or a function and a variable, would have one symbol if all functions had sections of their own."""
    variables = {written(v.name) for v in module.variables}
    return any(_MARK in f.name or f.name in variables for f in module.functions)
