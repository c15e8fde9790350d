"""Kernels whose need of stack is unknown: those that may reach recursion.

ptxas 13.0.88 says so of executables whose functions have sections of their own, in the order of the text, and of extensible whole
programs whose functions have none, where `alloca` counts too, in the order of the sections.
"""

from typing import Final

from orias.lower.frame.program import Program
from orias.options import Options
from orias.ori.ir import Func

_POINTED: Final = "*"
"""The name under which all functions stand that a call by address may call."""


def unknown_stacks(program: Program, options: Options) -> list[str]:
    """The names of kernels that ptxas warns of, in its order."""
    if options.compile_only or options.own_sections == options.extensible:
        return []
    kernels = [k for k in program.kernels if k.ptx.entry]
    if options.own_sections:
        functions = [f for k in program.kernels for f in k.all_functions()]
        endless = _reaching_cycles(functions, [name for name, text in program.address_taken if text])
        return [k.entry.name for k in kernels if k.entry.name in endless]
    return [
        k.entry.name
        for k in reversed(kernels)
        if any(f.moves_stack for f in k.all_functions())
        or k.entry.name in _reaching_cycles(k.all_functions(), [f.name for f in k.functions])
    ]


def _reaching_cycles(functions: list[Func], pointed: list[str]) -> set[str]:
    """The functions from which calls lead to one that calls itself in the end; `pointed`: what a call by address may call."""
    callees: dict[str, set[str]] = {_POINTED: set(pointed)}
    for f in functions:
        callees[f.name] = {_POINTED if call.target is None else call.target for call in f.calls.values()}
    callers: dict[str, list[str]] = {}
    left: dict[str, int] = {}
    for name, called in callees.items():
        known = [c for c in called if c in callees]
        left[name] = len(known)
        for c in known:
            callers.setdefault(c, []).append(name)
    ending = [name for name, count in left.items() if count == 0]
    while ending:
        for caller in callers.get(ending.pop(), ()):
            left[caller] -= 1
            if left[caller] == 0:
                ending.append(caller)
    return {name for name, count in left.items() if count}
