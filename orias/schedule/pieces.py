"""Pieces of blocks, between instructions that nothing may cross, and what both uses of the list scheduler ask of one."""

from collections.abc import Callable
from typing import Final

from orias.isa.op import F_DISTANT, F_PSEUDO, F_TEXTURE
from orias.ori.ir import OP_PHI, Block, Func, Inst
from orias.schedule.arrivals import Arrivals
from orias.schedule.deps import Graph, estimate, is_fixed_point, virtual_registers
from orias.timing.latency import Latency
from orias.timing.units import NEEDS_WRITE

_SHARED_LOAD: Final = "LDS"


def pieces_of(b: Block, virtual: bool) -> list[tuple[int, int]]:
    """Ranges of a block's instructions between those that no instruction may cross."""
    out: list[tuple[int, int]] = []
    first = 0
    for k, inst in enumerate(b.insts):
        if is_fixed_point(inst, virtual):
            if k > first:
                out.append((first, k))
            first = k + 1
    if len(b.insts) > first:
        out.append((first, len(b.insts)))
    return out


def following(fn: Func, b: Block, last: int) -> list[Inst]:
    """The instructions after a piece that should not have to wait for its results."""
    return b.insts[last : last + fn.knobs.sched_look_ahead]


def live_at(
    b: Block, places: set[int], live: int, registers: Callable[[Inst], tuple[list[int], list[int]]] = virtual_registers
) -> dict[int, int]:
    """Registers live before the instructions at some indices of a block (or at its end), given those live after it.

    `registers`: what gives the registers that an instruction reads and writes.
    """
    out: dict[int, int] = {}
    for k in range(len(b.insts), -1, -1):
        if k in places:
            out[k] = live
        if k == 0 or b.insts[k - 1].op is OP_PHI:
            break
        read, written = registers(b.insts[k - 1])
        for d in written:
            live &= ~(1 << d)
        for s in read:
            live |= 1 << s
    return out


def leads_to_loads(graph: Graph, shared: bool = False) -> tuple[bytearray, int]:
    """What loads from memory that may be far depend on, these included, and how many instructions neither lead to them nor wait for them.

    `shared`: loads of shared memory lead and count too.
    """
    n = len(graph.insts)
    loads = [is_far_load(inst) or (shared and is_shared_load(inst)) for inst in graph.insts]
    leads, waits = bytearray(n), bytearray(n)
    for k in range(n - 1, -1, -1):
        if loads[k]:
            leads[k] = 1
            continue
        for s in graph.succs[k]:
            if leads[s]:
                leads[k] = 1
                break
    free = 0
    for k in range(n):
        if waits[k] or loads[k]:
            for s in graph.succs[k]:
                waits[s] = 1
        elif not leads[k]:
            free += 1
    return leads, free


def is_far_load(inst: Inst) -> bool:
    """True for what reads memory that may be far."""
    flags = inst.op.flags
    return flags & F_DISTANT != 0 and (flags & F_TEXTURE != 0 or inst.op.loads())


def is_shared_load(inst: Inst) -> bool:
    """True for what reads single values of shared memory, not fragments of matrices."""
    return inst.op.base == _SHARED_LOAD


def first_cycles(arrivals: Arrivals, reads: list[list[int]], writes: list[list[int]]) -> list[int]:
    """When each instruction of a piece can issue at first: after the arrival of what it reads or overwrites."""
    pending = arrivals.now
    out = [0] * len(reads)
    if pending:
        for k in range(len(reads)):
            for registers in (reads[k], writes[k]):
                for r in registers:
                    if r in pending and pending[r] > out[k]:
                        out[k] = pending[r]
    return out


def record_arrivals(
    arrivals: Arrivals, lat: Latency, graph: Graph, order: list[int], at: list[int], end: int, reads: list[list[int]],
    writes: list[list[int]],
) -> None:  # fmt: skip
    """Tells what arrives after a piece: late results that none of its instructions waits for."""
    made: dict[int, int] = {}
    waited: set[int] = set()
    for k in order:
        for r in reads[k]:
            made.pop(r, None)
            waited.add(r)
        op = graph.insts[k].op
        left = 0
        if not op.flags & F_PSEUDO and lat.barriers(op) & NEEDS_WRITE:
            left = at[k] + estimate(op, graph.other_latency) - end
        for w in writes[k]:
            waited.add(w)
            if left > 0:
                made[w] = left
            else:
                made.pop(w, None)
    arrivals.passed(end, waited, made)


def release(graph: Graph, placed: int, now: int, earliest: list[int], waiting: list[int], ready: list[int]) -> None:
    """Let what follows an instruction that is placed at cycle `now` issue when it may: those that wait for nothing else are ready.

    `earliest`, `waiting`: of each instruction the first cycle, and how many are not placed that must come before; `ready`: in original order.
    """
    for s, cycles in graph.succs[placed].items():
        if now + cycles > earliest[s]:
            earliest[s] = now + cycles
        waiting[s] -= 1
        if waiting[s] == 0:
            _insert(ready, s)


def _insert(ready: list[int], k: int) -> None:
    """Insert `k` into the ready list, which is in original order."""
    at = len(ready)
    while at and ready[at - 1] > k:
        at -= 1
    ready.insert(at, k)
