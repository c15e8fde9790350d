"""Packing: fewer registers for a kernel whose first allocation left holes.

Registers that rest before they are used again, and aligned pairs and quads that lie between single words, cost numbers
beyond what any point needs.  So the allocation is repeated under lower and lower caps.  What found no register is asked first in the next
try; when that does not help, the comfort of the first order is given up.
"""

from typing import Final

from orias.isa.operand import K_R
from orias.passes.setmaxnreg import ENTRY_REGS
from orias.regalloc.allocate import Assignment, attempt, usual_order
from orias.regalloc.coalesce import Classes, Cls
from orias.regalloc.files import usable
from orias.regalloc.pressure import Pressure

_LOWEST_STEP: Final = 30
"""Highest register below which no target gains occupancy (the lowest step is 32 registers, see the inventory, section 2a)."""
_TRIES: Final = 18
_WORK: Final = 60_000
"""Bound on classes placed in all tries together."""
_COMFORTABLE: Final = (True, False, False, False, False)
"""The tries under one cap: whether registers rest and banks are looked at."""


def pack_registers(classes: Classes, result: Assignment) -> None:
    """Lower the highest R register of a kernel's complete assignment, as far as a bounded number of tries finds the way."""
    fn = classes.rg.fn
    high = result.highest[K_R]
    if fn.kind != "entry" or ENTRY_REGS in fn.notes or high <= _LOWEST_STEP:
        return
    need = max(Pressure(classes, K_R, None).excess) + usable(fn, K_R).bit_count()
    # R1 is not given out: n words need the numbers up to n.  Some words are lost to alignment with any method.
    good = max(need + 1 + need // 64, _LOWEST_STEP)
    todo = sorted((c for c in classes.all() if c.file == K_R), key=usual_order)
    tries = min(_TRIES, _WORK // len(todo))
    best = [c.slot for c in todo]
    used = result.used[K_R]
    low = max(need, _LOWEST_STEP) - 1
    cap = good
    while high > good and high - low > 1 and tries > 0:
        order = todo
        for comfort in _COMFORTABLE[:tries]:
            tries -= 1
            failed = attempt(classes, K_R, order, result, comfort, cap)
            if not failed:
                best = [c.slot for c in todo]
                used = result.used[K_R]
                high = result.highest[K_R]
                break
            order = todo if comfort else _first(failed, order)
        else:
            low = max(low, cap)
        # A tighter cap leads the tries another way, and now and then to the end.
        cap = need if cap == good > need else (low + high) // 2
    for c, slot in zip(todo, best, strict=True):
        c.slot = slot
    result.used[K_R] = used
    result.highest[K_R] = high


def _first(failed: list[Cls], order: list[Cls]) -> list[Cls]:
    gone = set(failed)
    return failed + [c for c in order if c not in gone]
