"""Packing: lowers the register count of a kernel whose first allocation left gaps.

Registers that stay free for a few instructions, and alignment gaps around pairs and quads, make the highest register
exceed the maximum pressure.  The allocation is therefore repeated under lower caps, without the preferences of the first
order.  Classes that failed come first in the next try.  The caps are those up to which as many warps fit: what is found under one
replaces the first allocation.
"""

from typing import Final

from orias.isa.operand import K_R
from orias.regalloc.allocate import Assignment, attempt, usual_order
from orias.regalloc.coalesce import Classes, Cls
from orias.regalloc.files import usable
from orias.regalloc.pressure import Pressure
from orias.target import features
from orias.target.register_steps import SYSTEM_REGISTERS, free_words, step_of, steps

_ORDERS: Final = 4
"""Tries under one cap, each with another order of the classes."""


def pack_registers(classes: Classes, result: Assignment) -> None:
    """Lower the highest R register of a kernel's complete assignment, within a bounded number of tries."""
    fn = classes.rg.fn
    high = result.highest[K_R]
    if fn.names or fn.kind != "entry" or fn.entry_regs:
        return
    free = free_words(fn.target)
    if fn.target.has(features.UNIFORM_BRANCHES) and high <= free:
        _pack_closely(classes, result)
        return
    if high <= free:
        return
    need = max(Pressure(classes, K_R, None).excess) + usable(fn, K_R).bit_count()
    # R1 is not allocated: n words need the registers up to number n.  Alignment wastes some words with any method.
    good = max(need + 1 + need // 64, free)
    step = step_of(fn.target, high + 1 + SYSTEM_REGISTERS)
    if high <= good or step_of(fn.target, max(need, free) + 1 + SYSTEM_REGISTERS) == step:
        return
    todo = sorted((c for c in classes.all() if c.file == K_R), key=usual_order)
    plain: dict[Cls, int] | None = None
    plain_cap = 0
    tries = min(fn.knobs.reg_alloc_pack_trials, fn.knobs.reg_alloc_pack_budget // len(todo))
    best = [c.slot for c in todo]
    used = result.used[K_R]
    # No cap between two steps lets more warps fit.
    caps = [s - 1 - SYSTEM_REGISTERS for s in steps(fn.target) if good + 1 + SYSTEM_REGISTERS <= s < step]
    if not caps and good + 1 < high:
        fn.packed = good + 2 + SYSTEM_REGISTERS
    low, at, top = -1, 0, len(caps)
    while top - low > 1 and tries > 0:
        cap = caps[at]
        order = todo
        ways = min(_ORDERS, tries)
        fewest = len(todo)
        for k in range(ways):
            known = plain if k == 0 and cap <= plain_cap else None
            # Only another try under this cap, and what is said of the lowest one, asks which classes failed.
            once = k + 1 == ways and at > 0
            failed = attempt(classes, K_R, order, result, False, cap, known, once)
            tries -= 1
            if k == 0 and not once:
                plain, plain_cap = {c: c.slot for c in todo}, cap
            if not failed:
                best = [c.slot for c in todo]
                used = result.used[K_R]
                high = result.highest[K_R]
                top = at
                break
            fewest = min(fewest, len(failed))
            order = _first(failed, order)
        else:
            low = at
            if at == 0 and cap + fewest < high:
                fn.packed = cap + fewest + 1 + SYSTEM_REGISTERS
        at = (low + top) // 2
    for c, slot in zip(todo, best, strict=True):
        c.slot = slot
    result.used[K_R] = used
    result.highest[K_R] = high


def _pack_closely(classes: Classes, result: Assignment) -> None:
    """Allocate under the lowest cap that has an assignment: with the preferences of the first order if there is one, else without them."""
    fn = classes.rg.fn
    high = result.highest[K_R]
    need = max(Pressure(classes, K_R, None).excess) + usable(fn, K_R).bit_count()
    if high <= need:
        return
    todo = sorted((c for c in classes.all() if c.file == K_R), key=usual_order)
    best = [c.slot for c in todo]
    used = result.used[K_R]
    tries = min(fn.knobs.reg_alloc_pack_trials, fn.knobs.reg_alloc_pack_budget // len(todo))
    for cap in range(need, min(high, need + tries // 2)):
        for comfort in (True, False):
            if not attempt(classes, K_R, todo, result, comfort, cap, None, True):
                return
    for c, slot in zip(todo, best, strict=True):
        c.slot = slot
    result.used[K_R] = used
    result.highest[K_R] = high


def _first(failed: list[Cls], order: list[Cls]) -> list[Cls]:
    gone = set(failed)
    return failed + [c for c in order if c not in gone]
