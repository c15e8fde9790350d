"""Warp operations whose member masks differ between the threads of a warp: each set of members runs the operation without the others.

A vote, a match, a reduction or an election takes part of all threads that run it together.  Where these name several sets (the tiles
of a warp, say), WARPSYNC.EXCLUSIVE lets one set after the other run it.  The operation gets a block of its own, with the copies of
uniform results, for which the next set has the same register; the threads meet again after it (:mod:`orias.passes.convergence`)::

    x:  ...; BSSY B0, y    m:  WARPSYNC.EXCLUSIVE mask; REDUX u = ...; d = copy u    y:  BSYNC B0; ...

So does ptxas 13.0.88 from sm_90 on, and on sm_80 to sm_89 for REDUX; before, results of the whole warp are cut down to the members
(:mod:`orias.lower.memory.warp`).  A shuffle names its lane, and may run for all sets at once.
"""

from typing import Final, final

from orias.analysis.collectives import SEPARATE, collectives
from orias.analysis.divergence import Divergence
from orias.isa.op import F_COOPERATIVE, Op, op
from orias.isa.operand import K_UR, Opnd, in_file, is_vreg
from orias.ori.ir import OP_COPY, Block, Func, Inst
from orias.target import features

_ELECT: Final[Op] = op("ELECT")


@final
class Separate:
    """The block of an operation that sets of members run one after the other, between the blocks where all are together."""

    __slots__ = ("after", "before", "middle")

    def __init__(self, before: Block, middle: Block, after: Block) -> None:
        self.before: Final[Block] = before
        self.middle: Final[Block] = middle
        self.after: Final[Block] = after


def separate_members(fn: Func, div: Divergence, places: frozenset[int]) -> list[Separate]:
    """Give such operations blocks of their own; those in `places`, to which threads come and from which they go on by themselves, stay."""
    if not fn.target.has(features.SEPARATES_MEMBERS):
        return []
    out: list[Separate] = []
    copied: dict[Opnd, Opnd] = {}
    for b in list(fn.blocks):
        rest = b
        for sync, inst in collectives(b):
            if inst is None or not _takes_part_of_all(inst) or not div.is_varying(sync.src[0]):
                continue
            sync.op = SEPARATE
            if b.id not in places:
                out.append(_own_block(fn, rest, sync, inst, copied))
                rest = out[-1].after
    if copied:
        _read_copies(fn, copied)
    return out


def _takes_part_of_all(inst: Inst) -> bool:
    """True for an operation whose result depends on which threads run it together."""
    return inst.op.base != "SHFL" and (inst.op.flags & F_COOPERATIVE != 0 or inst.op is _ELECT)


def _own_block(fn: Func, b: Block, sync: Inst, inst: Inst, copied: dict[Opnd, Opnd]) -> Separate:
    at = b.insts.index(inst)
    middle, after = fn.new_block(), fn.new_block()
    middle.cold = after.cold = b.cold
    middle.insts = [sync, inst]
    for d in inst.dst:
        if in_file(d, K_UR) and is_vreg(d):
            copied[d] = fn.new_vreg()
            middle.insts.append(fn.new_inst(OP_COPY, [copied[d]], [d], loc=inst.loc))
    after.insts = b.insts[at + 1 :]
    b.insts = [i for i in b.insts[:at] if i is not sync]
    fn.hand_on(b, after)
    fn.link(b, middle)
    fn.link(middle, after)
    where = fn.blocks.index(b) + 1
    fn.blocks[where:where] = [middle, after]
    return Separate(b, middle, after)


def _read_copies(fn: Func, copied: dict[Opnd, Opnd]) -> None:
    """Let the copies of uniform results that stand later read those in the blocks of the operations."""
    own = set(copied.values())
    for inst in fn.insts():
        if inst.op is OP_COPY and inst.src[0] in copied and inst.dst[0] not in own:
            inst.src = [copied[inst.src[0]]]
