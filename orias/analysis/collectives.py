"""Warp operations and the WARPSYNC before each of them.

Lowering puts ``WARPSYNC mask`` before every warp operation with a member mask (:mod:`orias.lower.memory.warp`), and one of the whole
warp before a ``barrier`` without ``.aligned`` (:mod:`orias.lower.memory.barriers`), which the threads of a warp may run at different
places.
"""

from typing import Final

from orias.isa.op import F_ALIGNED, F_BARRIER, F_CONVERGENT, F_FENCE, F_READ, F_SIDE, F_WHOLE_WARP, F_WRITE, Op, op
from orias.ori.ir import Block, Inst

WARPSYNC: Final[Op] = op("WARPSYNC")
SEPARATE: Final[Op] = op("WARPSYNC.EXCLUSIVE")
"""WARPSYNC after which the threads of one mask run without those of other masks."""
_BETWEEN: Final[int] = F_SIDE | F_READ | F_WRITE | F_FENCE | F_ALIGNED | F_CONVERGENT
"""What does not stand between an operation and its WARPSYNC."""


def collectives(b: Block) -> list[tuple[Inst, Inst | None]]:
    """The warp operations of a block in order: (WARPSYNC, operation), both with one guard, None for a WARPSYNC of its own."""
    out: list[tuple[Inst, Inst | None]] = []
    sync: Inst | None = None
    for inst in b.insts:
        if sync is not None:
            if (inst.op.flags & _BETWEEN == F_CONVERGENT or inst.op.flags & F_BARRIER) and inst.guard == sync.guard:
                out.append((sync, inst))
                sync = None
                continue
            if not inst.op.flags & _BETWEEN:
                continue
            out.append((sync, None))
        sync = inst if inst.op is WARPSYNC or inst.op is SEPARATE else None
    if sync is not None:
        out.append((sync, None))
    return out


def whole_warp_operations(b: Block) -> list[Inst]:
    """Operations that a legal program runs with the whole warp there: barriers with ``.aligned``, products of a warpgroup."""
    alone = {inst.uid for _, inst in collectives(b) if inst is not None}
    return [i for i in b.insts if i.op.flags & F_WHOLE_WARP and i.uid not in alone]


def taking_part(blocks: list[Block]) -> list[Inst]:
    """Operations that must stay although the thread may not read their results: those that stand several times in the blocks.

    Another thread may run the same operation at the other place, read its result and get the thread's part.  Operations of one block
    with one guard are run one after the other.
    """
    found = [((b.id, sync.guard), inst) for b in blocks for sync, inst in collectives(b) if inst is not None]
    first: dict[Op, tuple[int, int]] = {}
    several = {inst.op for place, inst in found if first.setdefault(inst.op, place) != place}
    return [inst for _, inst in found if inst.op in several]
