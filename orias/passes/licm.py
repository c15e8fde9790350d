"""OriHoistInvariants: computations that do not change in a loop move in front of it (phases 40, 76, 92, 104)."""

from typing import Final

from orias.analysis.cfg import Loop, dominators, find_loops
from orias.isa.op import F_CALL, F_CONVERGENT, F_FENCE, F_READ, F_SIDE, F_TERM, F_WRITE
from orias.isa.operand import FIRST_VIRTUAL, K_B, K_CONST, KIND_MASK, PAYLOAD_SHIFT, PT
from orias.ori.ir import OP_COPY, OP_PACK, OP_PHI, Block, Func, Inst
from orias.passes.simplify import portable

_STAY: Final = F_SIDE | F_TERM | F_CONVERGENT | F_CALL | F_WRITE | F_FENCE | F_READ
_MAX_HOISTED: Final = 16
"""Values per loop: each one holds a register through the whole loop."""


def hoist_invariants(fn: Func) -> bool:
    """Hoist from every loop, inner loops first; True if anything moved."""
    forest = find_loops(fn, dominators(fn))
    changed = False
    for loop in reversed(forest.loops):
        pre = preheader(fn, loop)
        if pre is not None and _hoist(fn, loop, pre):
            changed = True
    return changed


def preheader(fn: Func, loop: Loop) -> Block | None:
    """The block in front of a loop from which only the header follows, made if need be; None at the function's entry."""
    header = loop.header
    inside = set(loop.blocks)
    outside = [p for p in header.preds if p.id not in inside]
    if len(outside) == 1 and len(outside[0].succs) == 1 and outside[0].terminator() is None:
        return outside[0]
    if len(outside) != 1 or outside[0].succs.count(header) != 1:
        return None
    p = outside[0]
    t = p.terminator()
    if t is None or t.op.base != "BRA":
        return None
    pre = fn.new_block()
    p.succs[p.succs.index(header)] = pre
    pre.preds = [p]
    pre.succs = [header]
    header.preds[header.preds.index(p)] = pre
    fn.blocks.insert(fn.blocks.index(header), pre)
    # An enclosing loop gains the block too.
    outer = loop.parent
    while outer is not None:
        outer.blocks.append(pre.id)
        outer = outer.parent
    return pre


def _hoist(fn: Func, loop: Loop, pre: Block) -> bool:
    inside = set(loop.blocks)
    local: set[int] = set()
    members = [b for b in fn.blocks if b.id in inside]
    for b in members:
        for inst in b.insts:
            for d in inst.dst:
                if d >> PAYLOAD_SHIFT >= FIRST_VIRTUAL:
                    local.add(d >> PAYLOAD_SHIFT)
    moved = 0
    again = True
    while again and moved < _MAX_HOISTED:
        again = False
        for b in members:
            kept: list[Inst] = []
            for inst in b.insts:
                if moved < _MAX_HOISTED and _invariant(inst, local):
                    pre.insts.append(inst)
                    for d in inst.dst:
                        local.discard(d >> PAYLOAD_SHIFT)
                    moved += 1
                    again = True
                else:
                    kept.append(inst)
            b.insts = kept
    return moved > 0


def _invariant(inst: Inst, local: set[int]) -> bool:
    op = inst.op
    if op.flags & _STAY or op is OP_PHI or inst.guard != PT or op.base in ("CS2R", "undef", "S2R", "S2UR"):
        return False
    if op is OP_PACK:
        return False
    if op is OP_COPY and inst.src[0] & KIND_MASK != K_CONST:
        return False
    if not portable(inst):
        return False
    for s in inst.src:
        if 0 < (s & KIND_MASK) <= K_B and s >> PAYLOAD_SHIFT in local:
            return False
    return all(d >> PAYLOAD_SHIFT >= FIRST_VIRTUAL or d >> PAYLOAD_SHIFT in (7, 255) for d in inst.dst)
