"""Keeps the operations of a fence together, on targets whose capsules state a fence, with its access, as one instruction.

ptxas 13.0.88 writes them without anything in between from sm_100 on (``docs/facts/capsules.md``, "Rules"): MEMBAR,
ERRBAR, CGAERRBAR, then CCTL.IVALL (a NOP at CTA scope) or the access that the fence releases; an access that acquires, then
CCTL.IVALL or a NOP; MEMBAR and FENCE.VIEW.ASYNC.S; that and the start of a barrier in memory; BAR.RED and the read of its result;
the two halves of an access to tensor memory by 16 lanes; a wait for a barrier of the cluster, then CCTL.IVALL; a test of a barrier
in memory, the sleep and the second test of a wait with a time.
"""

from typing import Final

from orias.analysis.access import accesses
from orias.isa.op import (
    F_CALL,
    F_CONVERGENT,
    F_FENCE,
    F_PINNED,
    F_READ,
    F_SIDE,
    F_SPECIAL,
    F_TERM,
    F_WRITE,
    Op,
    op,
)
from orias.isa.operand import PT
from orias.isa.roles import BARRIER_PAIR, HALVES, MOVE_TO_UNIFORM
from orias.ori.ir import ACQUIRES, Func, Inst
from orias.schedule.deps import is_fixed_point, may_acquire
from orias.target import features

_FIXED: Final = F_READ | F_WRITE | F_SIDE | F_FENCE | F_CONVERGENT | F_CALL | F_TERM | F_PINNED | F_SPECIAL
_VIEW: Final = "FENCE.VIEW.ASYNC.S"
_REDUCTIONS: Final = ("BAR.RED", f"{BARRIER_PAIR}.RED")
_RESULT: Final = "B2R.RESULT"
_CLEAR: Final[Op] = op("CS2R")
"""Zero in a pair; no other special register that it reads has a place among fences but the clocks."""
_HALF, _OTHER_HALF = HALVES
_CLUSTER_WAIT: Final = "UCGABAR_WAIT"
_FOLLOWERS: Final[dict[str, str]] = {
    _VIEW: "SYNCS.EXCH.64",
    "SYNCS.PHASECHK.TRANS64.TRYWAIT": "NANOSLEEP.SYNCS",
    "NANOSLEEP.SYNCS": "SYNCS.PHASECHK.TRANS64",
}
_ERROR_BARRIERS: Final[frozenset[str]] = frozenset(("ERRBAR", "CGAERRBAR"))


def _is_free(inst: Inst) -> bool:
    """True for reads of constants and of special registers that are no clocks, moves, and the start of a region: no fence orders them."""
    what = inst.op
    if what.flags & F_SPECIAL:
        return (what is _CLEAR or what.flags & (_FIXED ^ F_SPECIAL) == 0) and not is_fixed_point(inst, False)
    if what is MOVE_TO_UNIFORM:
        return True
    return what.base.startswith("LDC") or what.base == "BSSY"


def gather_fences(fn: Func) -> None:
    """Move other instructions out of the fences of an allocated function, before or after them."""
    if not fn.target.has(features.MERCURY_LAYOUT):
        return
    for b in fn.blocks:
        if any(i.op.has(_HALF) for i in b.insts):
            _gather_halves(b.insts, fn)
        if any(i.op.flags & F_FENCE or _follower(i) for i in b.insts):
            b.insts = _gathered(b.insts, fn)


def _gather_halves(insts: list[Inst], fn: Func) -> None:
    """Move the second half of each access by 16 lanes up to the first, or the first down to it where registers ask for that.

    Lowering writes both next to each other, and what is ordered with one is ordered with the other; so only registers and fences tie
    what the scheduler put between them.
    """
    k = 0
    while k < len(insts):
        first = insts[k]
        other = _other_half(insts, k) if first.op.has(_HALF) else -1
        if other > k + 1:
            second, inside = insts[other], insts[k + 1 : other]
            between = [_registers(i, fn) for i in inside]
            if not any(_ordered(r, _registers(second, fn)) for r in between):
                insts[k : other + 1] = [first, second, *inside]
            elif not any(_ordered(_registers(first, fn), r) for r in between):
                insts[k : other + 1] = [*inside, first, second]
                continue
        k += 1


def _other_half(insts: list[Inst], at: int) -> int:
    """Index of the second half of an access by 16 lanes, which has its guard and data; -1 if a fence or a call stands before it."""
    one = insts[at]
    name = one.op.name.replace(_HALF, _OTHER_HALF)
    for k in range(at + 1, len(insts)):
        i = insts[k]
        if i.op.name == name and i.guard == one.guard and i.dst == one.dst and (i.dst or i.src[-1] == one.src[-1]):
            return k
        if i.op.flags & (F_FENCE | F_CALL | F_TERM):
            break
    return -1


def _gathered(insts: list[Inst], fn: Func) -> list[Inst]:
    out: list[Inst] = []
    k = 0
    while k < len(insts):
        members = _members(insts, k)
        last = members[-1]
        inside = [j for j in range(k, last) if j not in members]
        order = _around(insts, members, inside, fn) if inside else None
        out += [insts[j] for j in order] if order is not None else insts[k : last + 1]
        k = last + 1
    return out


def _around(insts: list[Inst], members: list[int], inside: list[int], fn: Func) -> list[int] | None:
    """The order in which the `members` of a fence follow each other; None if what is `inside` can go neither before nor after them.

    What stands before the access goes before the fence unless its registers forbid that: it may write what BAR.RED reads.
    """
    registers = {k: _registers(insts[k], fn) for k in [*members, *inside]}
    access = next((m for m in members if insts[m].op.flags & (F_READ | F_WRITE)), members[-1])
    before: list[int] = []
    after: list[int] = []
    for j in inside:
        if j < access and not any(_ordered(registers[j], registers[m]) for m in [*members, *after] if m < j):
            before.append(j)
        elif any(_ordered(registers[j], registers[m]) for m in members if m > j):
            return None
        else:
            after.append(j)
    return [*before, *members, *after]


def _registers(inst: Inst, fn: Func) -> tuple[set[int], set[int]]:
    """The units of registers that an instruction reads, and those it writes."""
    a = accesses(inst, fn)
    return {r >> 8 for r in a.reads}, {w >> 8 for w in a.writes}


def _ordered(one: tuple[set[int], set[int]], other: tuple[set[int], set[int]]) -> bool:
    """True if an instruction writes what the other reads or writes."""
    return not (one[1].isdisjoint(other[0]) and one[1].isdisjoint(other[1]) and one[0].isdisjoint(other[1]))


def _members(insts: list[Inst], first: int) -> list[int]:
    """Indices of the operations of the fence that begins at `first`; that index alone if none does."""
    alone = [first]
    inst = insts[first]
    if inst.guard != PT:
        return alone
    out = list(alone)
    at = first
    follower = _follower(inst)
    while follower:
        at = _next(insts, at, True)
        if at < 0 or insts[at].op.name != follower:
            break
        out.append(at)
        follower = _follower(insts[at])
    if len(out) > 1 or (follower and inst.op.base != "SYNCS"):
        return out
    at = first
    if inst.op.base == "MEMBAR":
        view = at = _next(insts, first)
        while view >= 0 and insts[view].op.flags & _FIXED == F_CONVERGENT:
            # What warps do together without memory, such as products, is not ordered by fences.
            view = _next(insts, view)
        if view >= 0 and insts[view].op.name == _VIEW:
            return [first, view]
        while at >= 0 and insts[at].op.base in _ERROR_BARRIERS:
            out.append(at)
            at = _next(insts, at)
        if at < 0 or _acquires(insts[at]):
            return [*out, at] if at >= 0 else out
        if not _accesses(insts[at]) or (len(out) == 1 and not insts[at].op.flags & F_WRITE):
            return out
        out.append(at)
    elif inst.op.base != _CLUSTER_WAIT and (not _accesses(inst) or not may_acquire(inst.op)):
        return alone
    at = _next(insts, at)
    while at >= 0 and _may_follow(insts[at]):
        # What an acquire does not order before itself may come after it as well.
        at = _next(insts, at)
    return [*out, at] if at >= 0 and _acquires(insts[at]) else out


def _follower(inst: Inst) -> str:
    """The name of the one operation that belongs to an instruction, whatever it orders; nothing if there is none."""
    if inst.op.name in _FOLLOWERS:
        return _FOLLOWERS[inst.op.name]
    if inst.op.name.startswith(_REDUCTIONS):
        return _RESULT
    return inst.op.name.replace(_HALF, _OTHER_HALF) if inst.op.has(_HALF) else ""


def _next(insts: list[Inst], after: int, guarded: bool = False) -> int:
    """Index of the next instruction that a fence orders; -1 if it is guarded (unless that is allowed) or there is none in the block."""
    for k in range(after + 1, len(insts)):
        if insts[k].op.flags & _FIXED and not _is_free(insts[k]):
            return k if guarded or insts[k].guard == PT else -1
    return -1


def _may_follow(inst: Inst) -> bool:
    """True for weak loads and stores, and for what warps do together without memory."""
    kinds = inst.op.flags & _FIXED
    if kinds == F_READ:
        return not may_acquire(inst.op)
    return kinds in (F_CONVERGENT, F_SIDE | F_WRITE)


def _acquires(inst: Inst) -> bool:
    return inst.op in ACQUIRES


def _accesses(inst: Inst) -> bool:
    return inst.op.flags & (F_READ | F_WRITE) != 0 and not _is_free(inst)
