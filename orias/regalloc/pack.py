"""Packing: lowers the register count of a kernel whose first allocation left gaps.

Registers that stay free for a few instructions, and alignment gaps around pairs and quads, make the highest register
exceed the maximum pressure.  The allocation is therefore repeated under lower and lower caps.  Classes that failed come
first in the next try; when that does not help, the preferences of the first order are dropped.
"""

from typing import Final

from orias.isa.operand import K_R
from orias.regalloc.allocate import Assignment, attempt, usual_order
from orias.regalloc.coalesce import Classes, Cls
from orias.regalloc.files import usable
from orias.regalloc.pressure import Pressure
from orias.target.register_steps import FREE_WORDS

_COMFORTABLE: Final = (True, False, False, False, False)
"""For each try under one cap: whether registers rest before reuse and banks are balanced."""


def pack_registers(classes: Classes, result: Assignment) -> None:
    """Lower the highest R register of a kernel's complete assignment, within a bounded number of tries."""
    fn = classes.rg.fn
    high = result.highest[K_R]
    if fn.names or fn.kind != "entry" or fn.entry_regs or high <= FREE_WORDS:
        return
    need = max(Pressure(classes, K_R, None).excess) + usable(fn, K_R).bit_count()
    # R1 is not allocated: n words need the registers up to number n.  Alignment wastes some words with any method.
    good = max(need + 1 + need // 64, FREE_WORDS)
    todo = sorted((c for c in classes.all() if c.file == K_R), key=usual_order)
    comfortable = {c: c.slot for c in todo}
    plain: dict[Cls, int] | None = None
    plain_cap = 0
    tries = min(fn.knobs.reg_alloc_pack_trials, fn.knobs.reg_alloc_pack_budget // len(todo))
    best = [c.slot for c in todo]
    used = result.used[K_R]
    low = max(need, FREE_WORDS) - 1
    cap = good
    while high > good and high - low > 1 and tries > 0:
        order = todo
        ways = _COMFORTABLE[:tries]
        for k, comfort in enumerate(ways):
            tries -= 1
            known = comfortable if comfort else plain if order is todo and cap <= plain_cap else None
            # Only the try after this one asks which classes failed, and one with other preferences does not.
            once = comfort or k + 1 == len(ways)
            failed = attempt(classes, K_R, order, result, comfort, cap, known, once)
            if order is todo and not comfort and not once:
                plain, plain_cap = {c: c.slot for c in todo}, cap
            if not failed:
                best = [c.slot for c in todo]
                used = result.used[K_R]
                high = result.highest[K_R]
                break
            order = todo if comfort else _first(failed, order)
        else:
            low = max(low, cap)
        # A tighter cap gives the tries another order, which sometimes succeeds.
        cap = need if cap == good > need else (low + high) // 2
    for c, slot in zip(todo, best, strict=True):
        c.slot = slot
    result.used[K_R] = used
    result.highest[K_R] = high


def _first(failed: list[Cls], order: list[Cls]) -> list[Cls]:
    gone = set(failed)
    return failed + [c for c in order if c not in gone]
