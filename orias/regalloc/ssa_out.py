"""Leaving SSA: phis become parallel copies on the edges, ``old`` values become ties.

Afterwards the function is in state ``virtual``:

* a register may have several definitions;
* ``pcopy`` (pseudo) copies ``src[i]`` to ``dst[i]`` for all i at once;
* a guarded instruction's ``old`` value is its result, or a register that dies there: both get one register.

Every copy inserted here is a candidate for coalescing; a copy that cannot be coalesced becomes a move after allocation.
"""

from typing import Final

from orias.analysis.liveness import Liveness, liveness, reg_bit, use_mask
from orias.isa.op import F_PARTIAL, Op, op
from orias.isa.operand import K_NONE, PT, Opnd, has_flags, in_place_of, is_label, is_vreg, kind_of, label, vreg
from orias.ori.ir import OP_COPY, OP_PHI, OP_UNDEF, Block, Func, Inst

OP_PCOPY: Final[Op] = op("pcopy")


def leave_ssa(fn: Func) -> None:
    """Bring a function from state ``ssa`` to state ``virtual``."""
    # For tools that find errors an undefined value keeps a register from the start of the function on, which nothing writes.
    kept = fn.keep_warp_barriers
    undefined: set[int] = set() if kept else {vreg(i.dst[0]) for i in fn.insts() if i.op is OP_UNDEF}
    if undefined:
        _sink_undefined(fn, undefined)
    lv = liveness(fn)
    _tie_old_values(fn, lv)
    _remove_phis(fn, lv, undefined)
    fn.state = "virtual"


def _sink_undefined(fn: Func, undefined: set[int]) -> None:
    """Begin undefined values just before each use, so that they need no register earlier.  Phis keep their names."""
    for b in fn.blocks:
        out: list[Inst] = []
        for inst in b.insts:
            if inst.op is OP_UNDEF:
                continue
            if inst.op is not OP_PHI:
                if is_vreg(inst.old) and vreg(inst.old) in undefined:
                    inst.old = K_NONE
                inst.src = [_fresh(fn, o, undefined, inst, out) for o in inst.src]
                inst.guard = _fresh(fn, inst.guard, undefined, inst, out)
            out.append(inst)
        b.insts = out


def _fresh(fn: Func, o: Opnd, undefined: set[int], inst: Inst, out: list[Inst]) -> Opnd:
    if not is_vreg(o) or vreg(o) not in undefined:
        return o
    v = vreg(o)
    d = fn.new_vreg(fn.vkind[v], fn.vwidth[v])
    out.append(fn.new_inst(OP_UNDEF, [d], [], loc=inst.loc))
    return in_place_of(o, d)


def _remove_phis(fn: Func, lv: Liveness, undefined: set[int]) -> None:
    with_phis = [b for b in fn.blocks if b.insts and b.insts[0].op is OP_PHI]
    if not with_phis:
        return
    moves: list[tuple[Block, int, list[Opnd], list[Opnd]]] = []
    for b in with_phis:
        count = 0
        while count < len(b.insts) and b.insts[count].op is OP_PHI:
            count += 1
        phis = b.insts[:count]
        loc = phis[0].loc
        if len(b.preds) == 1:
            b.insts[:count] = _copies(fn, [i.dst[0] for i in phis], [i.src[0] for i in phis], undefined, loc)
            continue
        del b.insts[:count]
        for k in range(len(b.preds)):
            moves.append((b, k, [i.dst[0] for i in phis], [i.src[k] for i in phis]))
    # The placement depends on the original edges: all of it is decided before any edge is split.
    read_on_edge: dict[tuple[int, int], int] = {}
    for b, k, _, srcs in moves:
        key = (b.preds[k].id, b.id)
        mask = read_on_edge.get(key, 0)
        for o in srcs:
            mask |= reg_bit(o)
        read_on_edge[key] = mask
    places = [_hoistable(lv, b, k, dsts, read_on_edge) for b, k, dsts, _ in moves]
    behind: dict[int, list[Block]] = {}
    for (b, k, dsts, srcs), hoist in zip(moves, places, strict=True):
        copies = _copies(fn, dsts, srcs, undefined, 0)
        if not copies:
            continue
        p = b.preds[k]
        if hoist:
            term = p.terminator()
            at = len(p.insts) - (1 if term is not None else 0)
            loc = p.insts[-1].loc if p.insts else 0
            for c in copies:
                c.loc = loc
            p.insts[at:at] = copies
        else:
            split = split_edge(fn, p, b, k)
            split.insts = copies
            behind.setdefault(p.id, []).append(split)
    if behind:
        placed: list[Block] = []
        for b in fn.blocks:
            placed.append(b)
            placed.extend(behind.get(b.id, ()))
        fn.blocks = placed


def _hoistable(lv: Liveness, b: Block, k: int, dsts: list[Opnd], read_on_edge: dict[tuple[int, int], int]) -> bool:
    """True if the copies for edge `k` into `b` may be inserted before the predecessor's terminator."""
    p = b.preds[k]
    if len(p.succs) == 1:
        return True
    if sum(1 for s in p.succs if s is b) > 1:
        return False
    mask = 0
    for d in dsts:
        mask |= reg_bit(d)
    term = p.terminator()
    if term is not None and use_mask(term) & mask:
        return False
    for s in p.succs:
        if s is b:
            continue
        if (lv.live_in[s.id] | read_on_edge.get((p.id, s.id), 0)) & mask:
            return False
    return True


def _copies(fn: Func, dsts: list[Opnd], srcs: list[Opnd], undefined: set[int], loc: int) -> list[Inst]:
    out: list[Inst] = []
    to: list[Opnd] = []
    frm: list[Opnd] = []
    for d, s in zip(dsts, srcs, strict=True):
        if d == s:
            continue
        if s == K_NONE or (is_vreg(s) and vreg(s) in undefined):
            out.append(fn.new_inst(OP_UNDEF, [d], [], loc=loc))
        else:
            to.append(d)
            frm.append(s)
    if to:
        # Undefined results begin after the parallel copy: they must not take registers from its sources.
        out.insert(0, fn.new_inst(OP_COPY if len(to) == 1 else OP_PCOPY, to, frm, loc=loc))
    return out


def split_edge(fn: Func, p: Block, b: Block, k: int) -> Block:
    """A new block on the edge from `p` to `b` (of which `p` is predecessor `k`); it is not in ``fn.blocks`` yet."""
    # Of several edges between two blocks, the n-th among the predecessors is the n-th among the successors.
    nth = sum(1 for q in b.preds[:k] if q is p)
    at = -1
    for i, s in enumerate(p.succs):
        if s is b:
            if nth == 0:
                at = i
                break
            nth -= 1
    new = fn.new_block()
    new.depth = min(p.depth, b.depth)
    new.cold = p.cold or b.cold
    new.preds.append(p)
    new.succs.append(b)
    p.succs[at] = new
    b.preds[k] = new
    if sum(1 for s in p.succs if s is b) == 0:
        term = p.terminator()
        if term is not None:
            old_label = label(b.id)
            term.src = [label(new.id) if is_label(o) and o == old_label else o for o in term.src]
    return new


def _tie_old_values(fn: Func, lv: Liveness) -> None:
    """Copy old values that live on, or are not plain registers, to the result; the other ones are already ties."""
    for b in fn.blocks:
        if not any(i.old != K_NONE for i in b.insts):
            continue
        last_use = {}
        for k, inst in enumerate(b.insts):
            if inst.op is not OP_PHI:
                for o in inst.uses():
                    if is_vreg(o):
                        last_use[vreg(o)] = k
        out: list[Inst] = []
        for k, inst in enumerate(b.insts):
            if inst.old != K_NONE and inst.op is not OP_PHI:
                d = result(inst)
                old = inst.old
                if d == K_NONE or (inst.guard == PT and not inst.op.flags & F_PARTIAL):
                    # The result became unused after the old value was set, or the guard is always true.
                    inst.old = K_NONE
                elif (
                    not is_vreg(old)
                    or kind_of(old) != kind_of(d)
                    or has_flags(old)
                    or last_use[vreg(old)] > k
                    or lv.live_out[b.id] >> vreg(old) & 1
                ):
                    out.append(tie(fn, inst))
            out.append(inst)
        b.insts = out


def tie(fn: Func, inst: Inst) -> Inst:
    """Make the result its own old value; returns the copy to insert before the instruction."""
    d = result(inst)
    copy = fn.new_inst(OP_COPY, [d], [inst.old], loc=inst.loc)
    inst.old = d
    return copy


def result(inst: Inst) -> Opnd:
    """The virtual register result of a guarded instruction with an ``old`` value; NONE without one."""
    for d in inst.dst:
        if is_vreg(d):
            return d
    return K_NONE
