"""Finds functions whose callers are all known: they may change any register, and each caller knows which ones.

ptxas 13.0.88 has the same private convention, from -O1 on, for functions copied after a kernel that are only called by
name.  Arguments, results and the return address stay in the registers of the general convention.
"""

from orias.ori.ir import Func


def private_functions(functions: list[Func], addressed: set[str]) -> list[Func]:
    """The functions of a kernel whose address is not taken and that call nothing recursive; callees before callers."""
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
        f.private = True
    return out
