"""Warp operations and the WARPSYNC before each of them.

Lowering puts ``WARPSYNC mask`` before every warp operation with a member mask (:mod:`orias.lower.memory.warp`), and one of the whole
warp before a ``barrier`` without ``.aligned`` (:mod:`orias.lower.memory.barriers`), which the threads of a warp may run at different
places.
"""

from typing import Final

from orias.isa.op import F_ALIGNED, F_CONVERGENT, F_FENCE, F_READ, F_SIDE, F_WHOLE_WARP, F_WRITE, Op, op
from orias.isa.operand import PT
from orias.ori.ir import Block, Inst

WARPSYNC: Final[Op] = op("WARPSYNC")
BAR: Final = "BAR"
"""Barriers of a block: the hardware counts a warp whichever of its threads arrive."""
_BETWEEN: Final[int] = F_SIDE | F_READ | F_WRITE | F_FENCE | F_ALIGNED | F_CONVERGENT
"""What does not stand between an operation and its WARPSYNC."""


def collectives(b: Block) -> list[tuple[Inst, Inst | None]]:
    """The unguarded warp operations of a block in order: (WARPSYNC, operation), None for a WARPSYNC of its own."""
    out: list[tuple[Inst, Inst | None]] = []
    sync: Inst | None = None
    for inst in b.insts:
        if sync is not None:
            if (inst.op.flags & _BETWEEN == F_CONVERGENT or inst.op.base == BAR) and inst.guard == PT:
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


def needs_whole_warp(b: Block) -> bool:
    """True if a block has an operation that a legal program runs with the whole warp there: a barrier with ``.aligned``, a product of a warpgroup."""
    alone = {inst.uid for _, inst in collectives(b) if inst is not None}
    return any(i.op.flags & F_WHOLE_WARP and i.uid not in alone for i in b.insts)


def taking_part(blocks: list[Block]) -> list[Inst]:
    """Operations that must stay although the thread may not read their results: those that stand in several of the blocks.

    Another side of a branch may run the same operation, read its result and get the thread's part.
    """
    found = [(b.id, inst) for b in blocks for _, inst in collectives(b) if inst is not None] if len(blocks) > 1 else []
    first: dict[Op, int] = {}
    several = {inst.op for ident, inst in found if first.setdefault(inst.op, ident) != ident}
    return [inst for _, inst in found if inst.op in several]
