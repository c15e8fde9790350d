"""Loops that end only when other threads have written something, which is where YIELD belongs.

Threads of a warp that have left a loop wait after it for those that stay.  Where those in turn wait for a write of the others, the loop
must let them go on: it *waits*.  It does so if some of its threads leave it while others stay, or others of the warp are elsewhere, if a
block of it loads or exchanges what other threads write, and if what is read decides when it is left.  A loop that counts ends by itself, as do those that shift or follow
values of their own; so has ptxas 13.0.88 from sm_90 on, which up to sm_89 yields in them too (docs/facts/control-flow.md).
"""

from orias.analysis.cfg import DomTree, Loop, LoopForest
from orias.analysis.divergence import Divergence, branch_condition
from orias.isa.op import F_AGREES, F_CALL, F_FENCE, F_READ, F_WRITE
from orias.isa.operand import K_P, Opnd, bare, in_file, is_vreg, is_zero_reg
from orias.ori.ir import OP_PHI, Block, Func, Inst


def waiting_accesses(fn: Func, tree: DomTree, forest: LoopForest, div: Divergence) -> list[tuple[Block, Inst]]:
    """The first load or atomic that can see the writes of other threads, of each block of the loops that wait for such."""
    by_id = {b.id: b for b in fn.blocks}
    out: list[tuple[Block, Inst]] = []
    for loop in forest.loops:
        # Where one thread's retry is another's success nobody waits; in a loop around it, it may be what is waited for.
        free = fn.retries if len(loop.latches) == 1 else ()
        found: list[tuple[Block, Inst]] = []
        for x in loop.blocks:
            if forest.innermost[x] is loop:
                access = next((i for i in by_id[x].insts if sees_others(i) and i.uid not in free), None)
                if access is not None:
                    found.append((by_id[x], access))
        if found:
            inside = set(loop.blocks)
            blocks = [by_id[x] for x in loop.blocks]
            # A cycle with several entries is no loop here, and may wait in a loop around it.
            ends = not forest.irreducible and _ends_by_itself(loop, inside, blocks, tree)
            if not ends and _threads_leave(inside, blocks, div):
                out.extend(found)
    return out


def sees_others(inst: Inst) -> bool:
    """A volatile, relaxed or acquiring load, an atomic whose result is used, or a look at the phase of a barrier in memory."""
    flags = inst.op.flags
    if not flags & F_READ:
        return False
    if flags & F_WRITE and not flags & F_AGREES:
        return any(not in_file(d, K_P) and not is_zero_reg(d) for d in inst.dst)
    return flags & (F_FENCE | F_AGREES) != 0


def _threads_leave(inside: set[int], blocks: list[Block], div: Divergence) -> bool:
    """True if some threads may leave a loop, or end in it, while others stay, or where a part of the warp is elsewhere."""
    for b in blocks:
        if div.regions[b.id]:
            return True
        if div.branches[b.id] and any(s.id not in inside for s in b.succs):
            return True
        if any(i.op.base == "EXIT" and div.is_varying(i.guard) for i in b.insts):
            return True
    return False


def _ends_by_itself(loop: Loop, inside: set[int], blocks: list[Block], tree: DomTree) -> bool:
    """True if every iteration asks whether to leave, and nothing that the loop reads from memory decides about it."""
    leaving = [b for b in blocks if any(s.id not in inside for s in b.succs)]
    if not any(all(tree.dominates(b.id, x.id) for x in loop.latches) for b in leaving):
        return False
    if any(i.op.flags & F_CALL for b in blocks for i in b.insts):
        return False
    read = _read_values(loop, blocks)
    for b in leaving:
        if any(bare(o) in read for o in branch_condition(b)):
            return False
    return not any(i.op.base == "EXIT" and bare(i.guard) in read for b in blocks for i in b.insts)


def _read_values(loop: Loop, blocks: list[Block]) -> set[Opnd]:
    """Registers of a loop that depend on what it reads from memory, by their operands or by the path taken."""
    out: set[Opnd] = set()
    several = len(loop.latches) > 1
    chosen = False
    size = -1
    while len(out) != size:
        size = len(out)
        for b in blocks:
            for inst in b.insts:
                if (
                    inst.op.flags & F_READ
                    or (chosen and inst.op is OP_PHI and (several or b is not loop.header))
                    or any(bare(o) in out for o in inst.uses())
                ):
                    out.update([bare(d) for d in inst.dst if is_vreg(d)])
            if not chosen and any(bare(o) in out for o in branch_condition(b)):
                chosen = True
                size = -1
    return out
