"""Functions whose callers are all known: they may change any register, and each caller is told which they do.

ptxas 13.0.88 has such a private convention for functions copied behind a kernel that are only called by name, at -O1 up;
arguments, results and the return address stay where the general convention has them.
"""

from orias.ori.ir import PRIVATE, Func


def private_functions(functions: list[Func], addressed: set[str]) -> list[Func]:
    """Those of a kernel's functions whose address is not taken and that call nothing recursive; callees before callers."""
    waiting = {f.name: {c.target for c in f.calls.values() if c.kind == "abi"} for f in functions}
    out: list[Func] = []
    placed: set[str | None] = set()
    left = functions
    while True:
        ready = [f for f in left if not (waiting[f.name] & waiting.keys()) - placed]
        if not ready:
            break
        placed.update(f.name for f in ready)
        out += [f for f in ready if f.name not in addressed]
        left = [f for f in left if f.name not in placed]
    for f in out:
        f.notes[PRIVATE] = 1
    return out
