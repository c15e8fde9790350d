"""OriLoopSimplification: loops that are tested at the top become loops tested at the bottom, after one test (loop inversion).

The header of ``while (test) { body }`` gets a copy that the ways into the loop take; the header itself then stands after the body, so
that an iteration has one branch, and the body alone is the loop that unrolling sees (Muchnick, Advanced Compiler Design and
Implementation, 18.5).  A value of the header has two definitions afterwards; phis are made where both arrive.
"""

from typing import Final

from orias.analysis.cfg import Loop, dominators, find_loops, remove_unreachable, reverse_postorder
from orias.isa.op import F_CALL, F_CONVERGENT, F_FENCE, F_FREE, F_LEAVES, F_PINNED, F_SIDE, F_WRITE
from orias.isa.operand import (
    INV,
    K_NONE,
    K_P,
    Opnd,
    bare,
    in_file,
    in_place_of,
    is_physical,
    is_vreg,
    kind_of,
    vreg,
)
from orias.lower.frame.ssa import SsaBuilder
from orias.ori.ir import OP_PHI, Block, Func, Inst
from orias.passes.branches import label_targets
from orias.passes.loop_bodies import clone_inst
from orias.passes.simplify import portable

_STAYS: Final = F_CALL | F_CONVERGENT | F_FENCE | F_LEAVES | F_PINNED | F_SIDE | F_WRITE


def rotate_loops(fn: Func) -> bool:
    """Rotate every loop whose header alone decides whether it goes on; True if there was one."""
    if not any(len(b.succs) == 1 and b.succs[0].insts and len(b.succs[0].succs) == 2 for b in fn.blocks):
        return False
    remove_unreachable(fn)
    keep = label_targets(fn)
    # Outer loops come first, so that the blocks of a loop are still those that were found when its turn comes.
    chosen = [x for x in find_loops(fn, dominators(fn)).loops if _is_tested_at_top(fn, x, keep)]
    if not chosen:
        return False
    twins: dict[int, Opnd] = {}
    """Result of a copy -> the header's own result."""
    for loop in chosen:
        _copy_header(fn, loop, twins)
    _join_values(fn, twins)
    return True


def _is_tested_at_top(fn: Func, loop: Loop, keep: set[int]) -> bool:
    """True if the header ends with a branch out of the loop, nothing after it does, and it is small and may be copied."""
    header = loop.header
    t = header.terminator()
    if t is None or t.op.base != "BRA" or t.src or not is_vreg(t.guard) or not in_file(t.guard, K_P):
        return False
    inside = set(loop.blocks)
    if header.id in keep or len(header.succs) != 2 or sum(s.id in inside for s in header.succs) != 1:
        return False
    if header is fn.blocks[0] or header in loop.latches or not any(p.id not in inside for p in header.preds):
        return False
    if any(s.id not in inside for latch in loop.latches for s in latch.succs):
        return False
    size = 0
    for inst in header.insts[:-1]:
        if inst.op is OP_PHI:
            continue
        if inst.op.flags & _STAYS or not portable(inst) or any(is_physical(d) for d in inst.dst):
            return False
        size += inst.op.flags & F_FREE == 0
    return size <= fn.knobs.loop_rotation_inst_limit


def _copy_header(fn: Func, loop: Loop, twins: dict[int, Opnd]) -> None:
    """Lead the ways into the loop over a copy of the header, and put the header after the loop."""
    header, inside = loop.header, set(loop.blocks)
    first = next(s for s in header.succs if s.id in inside)
    if len(first.preds) > 1:
        # The first block of the body heads a loop of its own, or paths meet there.
        between = fn.new_block()
        between.preds, between.succs = [header], [first]
        header.succs[header.succs.index(first)] = between
        first.preds[first.preds.index(header)] = between
        fn.blocks.insert(fn.blocks.index(first), between)
        first = between
    first.no_unroll |= header.no_unroll

    entries = [p for p in header.preds if p.id not in inside]
    outer = [k for k, p in enumerate(header.preds) if p.id not in inside]
    inner = [k for k, p in enumerate(header.preds) if p.id in inside]
    copy = fn.new_block()
    copy.cold = header.cold
    copy.succs = list(header.succs)
    values: dict[int, int] = {}
    for inst in header.insts:
        twin = clone_inst(fn, inst, values)
        copy.insts.append(twin)
        for new, old in zip(twin.dst, inst.dst, strict=True):
            if new != old:
                twins[vreg(new)] = bare(old)
        if inst.op is OP_PHI:
            twin.src = [inst.src[k] for k in outer]
            inst.src = [inst.src[k] for k in inner]
        else:
            # The copy reads the names of the header's values; `_join_values` finds which definition they mean.
            twin.src, twin.guard, twin.old = list(inst.src), inst.guard, inst.old
    copy.preds = entries
    for p in entries:
        p.succs = [copy if s is header else s for s in p.succs]
    header.preds = [header.preds[k] for k in inner]
    for s in copy.succs:
        fn.enter_like(s, copy, header)
    at = fn.blocks.index(header)
    last = max(k for k, b in enumerate(fn.blocks) if b.id in inside)
    fn.blocks.insert(last + 1, header)
    fn.blocks[at] = copy
    if header.succs[1] is not first:
        # The branch back is the one that is taken.
        header.succs.reverse()
        header.insts[-1].guard ^= INV


def _join_values(fn: Func, twins: dict[int, Opnd]) -> None:
    """Bring the function into SSA form, in which each read of a header's value means the definition that reached it last."""
    ssa = SsaBuilder(fn)
    for o in twins.values():
        ssa.declare(vreg(o), kind_of(o), fn.width(o))
    names = {vreg(o) for o in twins.values()}
    order = reverse_postorder(fn)
    filled: set[int] = set()
    for b in order:
        if all(p.id in filled for p in b.preds):
            ssa.seal(b)
        for inst in b.insts:
            if inst.op is not OP_PHI:
                _read(ssa, names, b, inst)
            for d in inst.dst:
                if is_vreg(d):
                    name = vreg(twins[vreg(d)]) if vreg(d) in twins else vreg(d)
                    if name in names:
                        ssa.write(name, b, bare(d))
        filled.add(b.id)
        for s in b.succs:
            if all(p.id in filled for p in s.preds):
                ssa.seal(s)
    for b in order:
        ssa.seal(b)
    for b in order:
        for inst in b.insts:
            if inst.op is not OP_PHI:
                break
            for k, o in enumerate(inst.src):
                if is_vreg(o) and vreg(o) in names:
                    inst.src[k] = in_place_of(o, ssa.read(vreg(o), b.preds[k]))
    ssa.finish(order)


def _read(ssa: SsaBuilder, names: set[int], b: Block, inst: Inst) -> None:
    for k, o in enumerate(inst.src):
        if is_vreg(o) and vreg(o) in names:
            inst.src[k] = in_place_of(o, ssa.read(vreg(o), b))
    if is_vreg(inst.guard) and vreg(inst.guard) in names:
        inst.guard = in_place_of(inst.guard, ssa.read(vreg(inst.guard), b))
    if inst.old != K_NONE and is_vreg(inst.old) and vreg(inst.old) in names:
        inst.old = in_place_of(inst.old, ssa.read(vreg(inst.old), b))
