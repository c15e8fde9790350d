"""WARPGROUP.ARRIVE goes directly before the first operation of the warpgroup that follows it.

The four warps of a warpgroup start an operation together.  Code whose warps wait for a scoreboard between the ARRIVE and the operation
gave wrong products on an H200 (docs/gpu-runs.md): they drift apart again, while an operation reads its descriptors.  ptxas 13.0.88 has
such a wait in 1 of 60 places, with the operation's own waits at the ARRIVE.  What waits for nothing comes between them again when the
waits are known (:mod:`orias.schedule.scoreboard`).
"""

from orias.analysis.access import accesses
from orias.isa.gmma_forms import ARRIVE
from orias.isa.op import F_WGMMA, F_WGMMA_SYNC
from orias.ori.ir import Block, Func


def arrive_late(fn: Func) -> None:
    """Move arrivals of a scheduled function down; what writes registers of the warpgroup's operations keeps its place before them."""
    for b in fn.blocks:
        if any(i.op is ARRIVE for i in b.insts):
            _move(fn, b)


def _move(fn: Func, b: Block) -> None:
    k = 0
    while k < len(b.insts):
        inst = b.insts[k]
        if inst.op is ARRIVE:
            own = accesses(inst, fn)
            touched = {x >> 8 for x in (*own.reads, *own.writes)}
            at = k + 1
            while at < len(b.insts) and not b.insts[at].op.flags & (F_WGMMA | F_WGMMA_SYNC):
                a = accesses(b.insts[at], fn)
                if b.insts[at].is_terminator() or any(w >> 8 in touched for w in a.writes):
                    break
                at += 1
            if at < len(b.insts) and b.insts[at].op.flags & F_WGMMA:
                b.insts.insert(at - 1, b.insts.pop(k))
                k = at
        k += 1
