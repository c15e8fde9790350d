"""OriBranchOpt: constant branches, unreachable blocks, empty blocks, and straight-line merging."""

from orias.analysis.cfg import remove_unreachable
from orias.isa.op import F_LEAVES, op
from orias.isa.operand import K_LABEL, KIND_MASK, NOT_PT, NOT_UPT, PT, UPT, label_id
from orias.ori.ir import OP_PHI, Block, Func, Inst

_COPY = op("copy")


def optimize_branches(fn: Func) -> bool:
    """Clean up control flow; True if anything changed.  Works in SSA and after."""
    changed = False
    for _ in range(fn.knobs.branch_opt_rounds):
        step = _fold_constant(fn)
        step = remove_unreachable(fn) or step
        step = _skip_empty(fn) or step
        step = _merge_chains(fn) or step
        if not step:
            break
        changed = True
    return changed


def _fold_constant(fn: Func) -> bool:
    changed = False
    for b in fn.blocks:
        t = b.terminator()
        if t is None:
            continue
        if t.op.flags & F_LEAVES:
            continue
        if t.op.base != "BRA" or len(b.succs) != 2:
            continue
        if b.succs[0] is b.succs[1]:
            drop_edge(b, 1)
            b.insts.pop()
            changed = True
        elif not t.src and t.guard in (PT, UPT):
            drop_edge(b, 0)
            b.insts.pop()
            changed = True
        elif not t.src and t.guard in (NOT_PT, NOT_UPT):
            drop_edge(b, 1)
            b.insts.pop()
            changed = True
    for b in fn.blocks:
        for k, inst in enumerate(b.insts):
            if inst.op.flags & F_LEAVES and inst.guard == NOT_PT:
                del b.insts[k]
                changed = True
                break
            if inst.op.flags & F_LEAVES and inst.guard == PT and k + 1 < len(b.insts):
                del b.insts[k + 1 :]
                while b.succs:
                    drop_edge(b, 0)
                changed = True
                break
    # A guarded exit whose guard became PT ends the block even as its last instruction.
    for b in fn.blocks:
        if b.succs and b.insts and b.insts[-1].op.flags & F_LEAVES and b.insts[-1].guard == PT:
            while b.succs:
                drop_edge(b, 0)
            changed = True
    return changed


def drop_edge(b: Block, k: int) -> None:
    """Remove the edge to succs[k], with the phi operands it carries."""
    s = b.succs.pop(k)
    s.drop_pred(s.preds.index(b))


def label_targets(fn: Func) -> set[int]:
    """Ids of blocks that instructions refer to (BSSY): they must stay."""
    # Operand tests are written out here: their calls would cost plain Python more than the work between them.
    return {label_id(s) for b in fn.blocks for i in b.insts for s in i.src if s & KIND_MASK == K_LABEL}


def _skip_empty(fn: Func) -> bool:
    """Edges into an empty block go to its successor."""
    changed = False
    keep: set[int] | None = None
    for b in fn.blocks[1:]:
        if b.insts or len(b.succs) != 1 or b.succs[0] is b:
            continue
        if keep is None:
            keep = label_targets(fn)
        if b.id in keep:
            continue
        target = b.succs[0]
        for p in list(b.preds):
            t = p.terminator()
            if t is not None and t.op.base == "BRX":
                continue
            if target in p.succs and _has_phi(target):
                continue  # two edges from p would need two phi operands that p cannot tell apart
            if target in p.succs and t is None:
                continue
            k = p.succs.index(b)
            p.succs[k] = target
            b.preds.remove(p)
            fn.enter_like(target, p, b)
            changed = True
        if not b.preds:
            drop_edge(b, 0)
            fn.blocks.remove(b)
            changed = True
            break
    return changed


def _has_phi(b: Block) -> bool:
    return bool(b.insts) and b.insts[0].op is OP_PHI


def _merge_chains(fn: Func) -> bool:
    """A block whose only successor has no other predecessor is merged with it."""
    changed = False
    keep: set[int] | None = None
    gone: set[Block] = set()
    for b in fn.blocks:
        if b in gone:
            continue
        while len(b.succs) == 1:
            s = b.succs[0]
            if s is b or len(s.preds) != 1 or s is fn.blocks[0] or b.terminator() is not None or s.cold != b.cold:
                break
            if keep is None:
                keep = label_targets(fn)
            if s.id in keep:
                break
            insts: list[Inst] = []
            for inst in s.insts:
                if inst.op is OP_PHI:
                    inst.op = _COPY
                insts.append(inst)
            b.insts.extend(insts)
            b.succs = s.succs
            for t in s.succs:
                t.preds[t.preds.index(s)] = b
            gone.add(s)
            s.insts = []
            s.succs = []
            changed = True
    if gone:
        fn.blocks = [b for b in fn.blocks if b not in gone]
    return changed
