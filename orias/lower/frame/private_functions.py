"""Finds functions whose callers are all known: they may change any register, and each caller knows which ones.

ptxas 13.0.88 has the same private convention, from -O1 on, for functions copied after a kernel that are only called by
name.  Arguments, results and the return address stay in the registers of the general convention.
"""

from orias.ori.ir import Func


def private_functions(functions: list[Func], addressed: set[str]) -> list[Func]:
    """The functions of a kernel whose address is not taken and that call nothing recursive; callees before callers."""
    waiting = {f.name: {c.target for c in f.calls.values() if c.kind == "abi"} for f in functions}
    callers: dict[str | None, list[int]] = {}
    missing: list[int] = []
    """Callees of each function that are not placed yet."""
    for k, f in enumerate(functions):
        callees = waiting[f.name] & waiting.keys()
        missing.append(len(callees))
        for g in callees:
            callers.setdefault(g, []).append(k)
    out: list[Func] = []
    ready = [k for k, count in enumerate(missing) if count == 0]
    while ready:
        out += [functions[k] for k in ready if functions[k].name not in addressed]
        after: list[int] = []
        for k in ready:
            for caller in callers.get(functions[k].name, []):
                missing[caller] -= 1
                if missing[caller] == 0:
                    after.append(caller)
        ready = sorted(after)
    for f in out:
        f.private = True
    return out
