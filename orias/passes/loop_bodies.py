"""Loops as unrolling sees them: entered at the top, left at the bottom, without loops inside; and copies of their bodies."""

from typing import Final, final

from orias.analysis.cfg import Loop, LoopForest, reverse_postorder
from orias.isa.op import (
    F_ALIGNED,
    F_CALL,
    F_CONVERGENT,
    F_COOPERATIVE,
    F_FENCE,
    F_FREE,
    F_LEAVES,
    F_PINNED,
    F_WGMMA,
    F_WGMMA_SYNC,
    F_WHOLE_WARP,
)
from orias.isa.operand import (
    INV,
    K_NONE,
    Opnd,
    imm,
    imm64,
    is_bare,
    is_physical,
    is_reg,
    is_vreg,
    kind_of,
    vreg,
    with_reg,
)
from orias.ori.ir import OP_COPY, OP_PHI, Block, Func, Inst
from orias.passes.branches import label_targets
from orias.passes.simplify import portable
from orias.semantics.integers import constant64_of

_STAYS: Final = F_CALL | F_LEAVES
_NEVER: Final = F_CALL | F_PINNED | F_WGMMA | F_WGMMA_SYNC
_TOGETHER: Final = F_CONVERGENT | F_FENCE
_BY_WARPS: Final = F_ALIGNED | F_COOPERATIVE | F_WHOLE_WARP


@final
class Body:
    """The blocks of a loop in reverse postorder.

    The first is the header, with two predecessors; the last ends with a conditional branch between the header and a block outside, and
    no other block leaves the loop (but see :func:`find_bodies`).
    """

    __slots__ = ("blocks", "entry")

    def __init__(self, blocks: list[Block], entry: int) -> None:
        self.blocks: Final[list[Block]] = blocks
        self.entry: Final[int] = entry
        """The place of the edge into the loop among the predecessors of the header."""

    @property
    def header(self) -> Block:
        """The first block."""
        return self.blocks[0]

    @property
    def latch(self) -> Block:
        """The last block."""
        return self.blocks[-1]

    @property
    def goes_on(self) -> Opnd:
        """The predicate of threads that go back to the header."""
        branch = self.latch.insts[-1].guard
        return branch if self.latch.succs[1] is self.header else branch ^ INV

    @property
    def after(self) -> Block:
        """The block that follows the loop."""
        return next(s for s in self.latch.succs if s is not self.header)

    def phis(self) -> list[Inst]:
        """The phis of the header."""
        return [i for i in self.header.insts if i.op is OP_PHI]

    def insts(self) -> list[Inst]:
        """What an iteration executes, without the phis of the header and the branch back."""
        out = [i for i in self.header.insts if i.op is not OP_PHI]
        for b in self.blocks[1:]:
            out.extend(b.insts)
        return out[:-1]

    def defs(self) -> dict[int, Inst]:
        """The definition of each virtual register of the loop."""
        return {vreg(d): i for b in self.blocks for i in b.insts for d in i.dst if is_vreg(d)}


def find_bodies(fn: Func, forest: LoopForest, exits: bool = False) -> list[Body]:
    """The loops that may be written out, as far as their shape goes; with `exits` those too that other blocks than the last one leave."""
    keep = label_targets(fn)
    outer = {loop.parent.header.id for loop in forest.loops if loop.parent is not None}
    place = {b.id: k for k, b in enumerate(reverse_postorder(fn))}
    out: list[Body] = []
    by_id = {b.id: b for b in fn.blocks}
    for loop in forest.loops:
        inside = set(loop.blocks)
        if loop.header.id in outer or loop.header.no_unroll or inside & keep or not _has_shape(loop, inside):
            continue
        blocks = [by_id[x] for x in loop.blocks]
        if any(s is not loop.header and s.id in inside and place[s.id] <= place[b.id] for b in blocks for s in b.succs):
            # A cycle with two ways in, which is no loop of the forest.
            continue
        if all(_may_repeat(b) and (b is loop.latches[0] or _stays_inside(b, inside, exits)) for b in blocks):
            blocks.sort(key=lambda b: place[b.id])
            out.append(Body(blocks, 1 - loop.header.preds.index(loop.latches[0])))
    return out


def _has_shape(loop: Loop, inside: set[int]) -> bool:
    header = loop.header
    if len(loop.latches) != 1 or len(header.preds) != 2 or header.preds[0] is header.preds[1]:
        return False
    latch = loop.latches[0]
    t = latch.terminator()
    if t is None or t.op.base != "BRA" or t.src or len(latch.succs) != 2 or latch.succs[0] is latch.succs[1]:
        return False
    return sum(s.id in inside for s in latch.succs) == 1


def _stays_inside(b: Block, inside: set[int], exits: bool) -> bool:
    """True for a block that ends with at most a branch, and does not leave the loop unless `exits`."""
    t = b.terminator()
    return (t is None or (t.op.base == "BRA" and not t.src)) and (exits or all(s.id in inside for s in b.succs))


def _may_repeat(b: Block) -> bool:
    """True for a block without calls, exits, barriers of convergence and physical registers."""
    for inst in b.insts:
        if inst.op.flags & _STAYS or inst.op.base in ("BSSY", "BSYNC") or not portable(inst):
            return False
        if any(is_physical(d) for d in inst.dst):
            return False
    return True


def copies_well(body: Body, uniform: bool) -> bool:
    """True if iterations may run in other copies of the body than those beside them in other threads.

    `uniform`: all threads of a warp run the same number of iterations, so that they are in the same copy together.
    """
    return obstacle(body, uniform) is None


def obstacle(body: Body, uniform: bool) -> Inst | None:
    """The first instruction whose copies may not run beside each other (:func:`copies_well`)."""
    for inst in body.insts():
        flags = inst.op.flags
        if inst.op is OP_PHI or inst.op.base == "BRA":
            continue
        if flags & _NEVER or (flags & _TOGETHER and not (uniform and flags & _BY_WARPS)):
            return inst
    return None


def size_of_body(body: Body) -> int:
    """Instructions of an iteration."""
    return sum(i.op is not OP_PHI and not i.op.flags & F_FREE for b in body.blocks for i in b.insts)


# --- copies


def copy_iteration(fn: Func, body: Body, values: dict[int, int]) -> list[Block]:
    """New blocks with an iteration: without the phis of the header and the branch back, and without edges out and in.

    `values` names the registers of the header's phis before, and of all values of the iteration after.
    """
    twin: dict[int, Block] = {}
    for b in body.blocks:
        c = fn.new_block()
        c.cold = b.cold
        twin[b.id] = c
    for b in body.blocks:
        c = twin[b.id]
        last = b.insts[-1] if b is body.latch else None
        for inst in b.insts:
            if inst is not last and not (b is body.header and inst.op is OP_PHI):
                c.insts.append(clone_inst(fn, inst, values))
        if b is not body.latch:
            c.succs = [twin[s.id] for s in b.succs]
        if b is not body.header:
            c.preds = [twin[p.id] for p in b.preds]
    return list(twin.values())


def next_values(fn: Func, body: Body, values: dict[int, int], out: list[Inst]) -> dict[int, int]:
    """The registers of the phis' values in the next iteration; copies that this needs go to `out`."""
    back = 1 - body.entry
    return {vreg(phi.dst[0]): in_register(fn, phi, mapped(phi.src[back], values), out) for phi in body.phis()}


def in_register(fn: Func, phi: Inst, value: Opnd, out: list[Inst]) -> int:
    """The register that holds a phi's operand: the operand's own, or that of a copy."""
    d = phi.dst[0]
    if is_vreg(value) and is_bare(value):
        return vreg(value)
    known = constant64_of(value)
    if known is not None:
        value = imm64(known) if fn.width(d) == 2 else imm(known) if fn.width(d) == 1 else value
    new = fn.new_vreg(kind_of(d), fn.width(d))
    out.append(fn.new_inst(OP_COPY, [new], [value], loc=phi.loc))
    return vreg(new)


def mapped(o: Opnd, values: dict[int, int]) -> Opnd:
    """The operand with the register that `values` names in place of its own."""
    if is_reg(o):
        new = values.get(vreg(o))
        if new is not None:
            return with_reg(o, new)
    return o


def clone_inst(fn: Func, inst: Inst, values: dict[int, int]) -> Inst:
    """A copy of the instruction with fresh results, which `values` then names."""
    src = [mapped(s, values) for s in inst.src]
    guard = mapped(inst.guard, values)
    old = mapped(inst.old, values) if inst.old != K_NONE else K_NONE
    dst: list[Opnd] = []
    for d in inst.dst:
        if is_vreg(d):
            new = fn.new_vreg(kind_of(d), fn.width(d))
            values[vreg(d)] = vreg(new)
            dst.append(new)
        else:
            dst.append(d)
    clone = fn.new_inst(inst.op, dst, src, guard, old, inst.loc)
    if inst.uid in fn.contract:
        fn.contract.add(clone.uid)
    if inst.uid in fn.retries:
        fn.retries.add(clone.uid)
    return clone
