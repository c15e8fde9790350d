"""With -g: functions before their callers, and which registers they write, so that callers keep variables in others.

The calling convention lets a function change many registers of which most functions write few.  Code keeps to the convention, because a
caller may be called from elsewhere; but what a debugger shows may lie where the callee in truth leaves it
(:mod:`orias.output.kept_values`).
"""

from typing import Final

from orias.analysis.access import R_BASE, UR_BASE, accesses
from orias.isa.op import F_CALL
from orias.lower.frame.program import Kernel
from orias.ori.ir import Func

_NUMBER_SHIFT: Final = 8
"""Bits of an access below the number of its unit."""


def callees_first(kernels: list[Kernel]) -> list[int]:
    """The numbers of kernels so that each comes after those that it calls, but for recursion."""
    number = {kernel.entry.name: k for k, kernel in enumerate(kernels)}
    found: list[int] = []
    seen: set[int] = set()
    for first in range(len(kernels)):
        todo = [(first, False)]
        while todo:
            k, called = todo.pop()
            if called:
                found.append(k)
            elif k not in seen:
                seen.add(k)
                todo.append((k, True))
                calls = kernels[k].entry.calls.values()
                todo += [(number[i.target], False) for i in calls if i.target is not None and i.target in number]
    return found


def note_writes(fn: Func) -> None:
    """Adds a compiled function to those that its ``callee_writes`` knows, unless it calls one that they do not know."""
    known = fn.callee_writes
    if known is None:
        return
    mask = 0
    for inst in fn.insts():
        info = fn.calls.get(inst.uid) if inst.op.flags & F_CALL else None
        if inst.op.flags & F_CALL and not (info is not None and info.exact):
            if info is None or info.target is None or info.target not in known:
                return
            mask |= known[info.target]
        for access in accesses(inst, fn).writes if info is None or info.exact else ():
            unit = access >> _NUMBER_SHIFT
            if R_BASE <= unit < UR_BASE:
                mask |= 1 << (unit - R_BASE)
    known[fn.name] = mask
