"""OriPerformLiveDead on loops: a loop without effect is removed.

As ptxas does (13.0.88, from -O1 on, measured), a loop that stores nothing, orders nothing and computes nothing that is
read outside is taken to end.
"""

from typing import Final

from orias.analysis.cfg import Loop, dominators, find_loops, loop_members
from orias.isa.op import F_CALL, F_CONVERGENT, F_FENCE, F_SIDE, F_TERM, F_WRITE
from orias.isa.operand import Opnd, is_physical, is_reg, is_vreg, vreg
from orias.ori.ir import OP_PHI, Block, Func

_EFFECT: Final = F_SIDE | F_WRITE | F_FENCE | F_CALL | F_CONVERGENT


def remove_dead_loops(fn: Func) -> bool:
    """Bypass every such loop; True if there was one.  The loop's blocks are gone."""
    changed = False
    while _round(fn):
        changed = True
    return changed


def _round(fn: Func) -> bool:
    """Remove the outermost loops that can go, later ones first: what only they read can go after them."""
    if not _has_back_edge(fn):
        return False
    forest = find_loops(fn, dominators(fn))
    members = loop_members(fn, forest)
    inner: dict[Loop | None, list[Loop]] = {}
    for loop in forest.loops:
        inner.setdefault(loop.parent, []).append(loop)
    readers: dict[int, set[int]] | None = None
    gone: set[Block] = set()
    work = list(inner.get(None, ()))
    while work:
        loop = work.pop()
        blocks = members[loop]
        inside = set(loop.blocks)
        target = _only_exit(blocks, inside)
        values: list[Opnd] | None = None
        if target is not None and all(_harmless(b) for b in blocks):
            if readers is None:
                readers = _readers(fn)
            if all(readers.get(v, inside) <= inside for v in _results(blocks)):
                values = _merged_values(target, inside)
        if target is None or values is None or readers is None:
            work += inner.get(loop, ())
            continue
        _lead_around(fn, loop, target, inside, values)
        gone.update(blocks)
        for b in blocks:
            for inst in b.insts:
                for o in inst.uses():
                    if is_reg(o):
                        readers[vreg(o)].discard(b.id)
    fn.blocks = [b for b in fn.blocks if b not in gone]
    return bool(gone)


def _has_back_edge(fn: Func) -> bool:
    """True if an edge goes to a block that stands no later: without one there is no loop."""
    place = {b.id: k for k, b in enumerate(fn.blocks)}
    return any(place[s.id] <= k for k, b in enumerate(fn.blocks) for s in b.succs)


def _only_exit(members: list[Block], inside: set[int]) -> Block | None:
    found: Block | None = None
    for b in members:
        for s in b.succs:
            if s.id not in inside:
                if found is not None and found is not s:
                    return None
                found = s
    return found


def _harmless(b: Block) -> bool:
    """True if nothing in the block does more than compute or branch."""
    for inst in b.insts:
        if inst.op.flags & _EFFECT and not (inst.op.flags & F_TERM and inst.op.base == "BRA"):
            return False
        for d in inst.dst:
            # A physical register (the result of a call) belongs to a place.
            if is_physical(d):
                return False
    return True


def _results(members: list[Block]) -> set[int]:
    return {vreg(d) for b in members for i in b.insts for d in i.dst if is_vreg(d)}


def _readers(fn: Func) -> dict[int, set[int]]:
    """Ids of the blocks that read each register."""
    readers: dict[int, set[int]] = {}
    for b in fn.blocks:
        for inst in b.insts:
            for o in inst.uses():
                if is_reg(o):
                    readers.setdefault(vreg(o), set()).add(b.id)
    return readers


def _merged_values(target: Block, inside: set[int]) -> list[Opnd] | None:
    """What each phi of the exit gets from the loop, if that is one value from all its edges."""
    out: list[Opnd] = []
    for inst in target.insts:
        if inst.op is not OP_PHI:
            break
        values = {s for s, p in zip(inst.src, target.preds, strict=True) if p.id in inside}
        if len(values) != 1:
            return None
        out.append(values.pop())
    return out


def _lead_around(fn: Func, loop: Loop, target: Block, inside: set[int], values: list[Opnd]) -> None:
    """Edges into the loop go to a new block before its exit."""
    header = loop.header
    around = fn.new_block()
    for p in [p for p in header.preds if p.id not in inside]:
        p.succs = [around if s is header else s for s in p.succs]
        around.preds.append(p)
    fn.blocks.insert(fn.blocks.index(header), around)
    keep = [k for k, p in enumerate(target.preds) if p.id not in inside]
    for n, inst in enumerate(target.insts):
        if inst.op is not OP_PHI:
            break
        inst.src = [*[inst.src[k] for k in keep], values[n]]
    target.preds = [*[target.preds[k] for k in keep], around]
    around.succs = [target]
