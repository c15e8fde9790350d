"""Warpgroup matrix operations in flight: which registers the hardware still reads or writes at each point.

An operation owns its accumulator (and A, if A is in registers) from its issue until a wait for its group.
A state is a tuple of register masks by group: the open group first, then the committed groups, newest first.
"""

from collections.abc import Callable
from typing import Final, final

from orias.analysis.cfg import reverse_postorder
from orias.isa.gmma_forms import commits
from orias.isa.op import F_WGMMA, F_WGMMA_SYNC
from orias.isa.operand import imm_value
from orias.ori.ir import Block, Func, Inst

Groups = tuple[int, ...]
"""Mask of the registers of each group in flight."""

_DEPTH: Final = 9
"""Number of groups that a state distinguishes; a wait cannot name more than seven."""
EMPTY: Final[Groups] = (0,)


def has_operations(fn: Func) -> bool:
    """True if the function has warpgroup matrix operations."""
    return fn.has_flags(F_WGMMA)


def has_warpgroups(fn: Func) -> bool:
    """True if the function has warpgroup operations, ARRIVE or DEPBAR."""
    return fn.has_flags(F_WGMMA | F_WGMMA_SYNC)


def union(groups: Groups) -> int:
    """Mask of all registers in flight."""
    m = 0
    for g in groups:
        m |= g
    return m


def waits_for(inst: Inst) -> int:
    """Number of committed groups that a WARPGROUP.DEPBAR leaves in flight; -1 for any other instruction."""
    if inst.op.flags & F_WGMMA_SYNC and inst.op.has("DEPBAR"):
        return imm_value(inst.src[1])
    return -1


def issue(groups: Groups, registers: int, commit: bool) -> Groups:
    """The state after an operation that uses the mask `registers`."""
    out = (groups[0] | registers, *groups[1:])
    if not commit:
        return out
    out = (0, *out)
    if len(out) > _DEPTH:
        out = (*out[: _DEPTH - 1], out[_DEPTH - 1] | out[_DEPTH])
    return out


def wait(groups: Groups, left: int) -> Groups:
    """The state after a wait that leaves `left` committed groups."""
    return groups[: left + 1]


def join(a: Groups, b: Groups) -> Groups:
    """The union of two states, group by group."""
    if len(a) < len(b):
        a, b = b, a
    return (*[x | y for x, y in zip(a, b, strict=False)], *a[len(b) :])


@final
class InFlight:
    """Groups in flight at the head and at the end of every block, by block id.

    `registers` returns the mask of an operation's registers, `other` the state after any other instruction, `enter` the
    state at the head of a block from the state at the end of a predecessor.
    """

    __slots__ = ("after", "before", "enter", "other", "registers")

    def __init__(
        self,
        fn: Func,
        registers: Callable[[Inst], int],
        other: Callable[[Inst, Groups], Groups] | None = None,
        enter: Callable[[Block, Groups], Groups] | None = None,
    ) -> None:
        self.enter: Final[Callable[[Block, Groups], Groups] | None] = enter
        self.registers: Final[Callable[[Inst], int]] = registers
        self.other: Final[Callable[[Inst, Groups], Groups] | None] = other
        self.before: dict[int, Groups] = {}
        self.after: dict[int, Groups] = {}
        order = reverse_postorder(fn)
        self.before[order[0].id] = EMPTY
        changed = True
        while changed:
            changed = False
            for b in order:
                state = self.before.get(b.id)
                if state is None:
                    continue
                state = self._through(b, state)
                self.after[b.id] = state
                for s in b.succs:
                    known = self.before.get(s.id)
                    new = state if self.enter is None else self.enter(s, state)
                    if known is not None:
                        new = join(known, new)
                    if new != known:
                        self.before[s.id] = new
                        changed = True

    def step(self, inst: Inst, state: Groups) -> Groups:
        """The state after one instruction."""
        if inst.op.flags & F_WGMMA:
            return issue(state, self.registers(inst), commits(inst.src))
        left = waits_for(inst)
        if left >= 0:
            return wait(state, left)
        return state if self.other is None else self.other(inst, state)

    def _through(self, b: Block, state: Groups) -> Groups:
        for inst in b.insts:
            state = self.step(inst, state)
        return state
