"""Kernels whose need of stack is unknown: those that may reach recursion.

ptxas 13.0.88 says so of executables whose functions have sections of their own, in the order of the text, and of extensible whole
programs whose functions have none, where `alloca` counts too, in the order of the sections.
"""

from orias.lower.frame.program import Program
from orias.options import Options
from orias.ori.ir import Func


def unknown_stacks(program: Program, options: Options) -> list[str]:
    """The names of kernels that ptxas warns of, in its order."""
    if options.compile_only or options.own_sections == options.extensible:
        return []
    kernels = [k for k in program.kernels if k.ptx.entry]
    if options.own_sections:
        functions = [f for k in program.kernels for f in k.all_functions()]
        pointed = [name for name, _ in program.address_taken]
        return [k.entry.name for k in kernels if _reaches_cycle(k.entry.name, functions, pointed)]
    return [
        k.entry.name
        for k in reversed(kernels)
        if any(f.moves_stack for f in k.all_functions())
        or _reaches_cycle(k.entry.name, k.all_functions(), [f.name for f in k.functions])
    ]


def _reaches_cycle(start: str, functions: list[Func], pointed: list[str]) -> bool:
    """Whether calls lead from a function to one that calls itself in the end; `pointed`: what a call by address may call."""
    callees: dict[str, set[str]] = {f.name: set() for f in functions}
    for f in functions:
        for call in f.calls.values():
            callees[f.name].update(pointed if call.target is None else [call.target])
    done: set[str] = set()
    on_path: set[str] = set()
    path = [start]
    while path:
        name = path[-1]
        if name in on_path or name in done:
            on_path.discard(name)
            done.add(name)
            path.pop()
            continue
        on_path.add(name)
        known = [c for c in callees[name] if c in callees]
        if any(c in on_path for c in known):
            return True
        path += [c for c in known if c not in done]
    return False
