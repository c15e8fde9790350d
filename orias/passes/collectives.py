"""Warp operations and the WARPSYNC before each of them.

Lowering puts ``WARPSYNC mask`` before every warp operation with a member mask (:mod:`orias.lower.memory.warp`).
"""

from typing import Final

from orias.isa.op import F_ALIGNED, F_CONVERGENT, F_FENCE, F_READ, F_SIDE, F_WRITE, Op, op
from orias.isa.operand import PT
from orias.ori.ir import Block, Inst

WARPSYNC: Final[Op] = op("WARPSYNC")
_BETWEEN: Final[int] = F_SIDE | F_READ | F_WRITE | F_FENCE | F_ALIGNED | F_CONVERGENT
"""What does not stand between an operation and its WARPSYNC."""


def collectives(b: Block) -> list[tuple[Inst, Inst | None]]:
    """The unguarded warp operations of a block in order: (WARPSYNC, operation), None for a WARPSYNC of its own.

    What an operation gives the thread may be unused: other threads, perhaps on another side of a branch, still get the thread's part.
    """
    out: list[tuple[Inst, Inst | None]] = []
    sync: Inst | None = None
    for inst in b.insts:
        if sync is not None:
            if inst.op.flags & _BETWEEN == F_CONVERGENT and inst.guard == PT:
                out.append((sync, inst))
                sync = None
                continue
            if not inst.op.flags & _BETWEEN:
                continue
            out.append((sync, None))
        sync = inst if inst.op is WARPSYNC and inst.guard == PT else None
    if sync is not None:
        out.append((sync, None))
    return out
