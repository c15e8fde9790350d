"""Final block order, and the branches that this order needs.

Blocks keep their source order, as ptxas 13.0.88 was observed to do at every level, with three exceptions.  A block that
ends in a branch is followed by the block that threads reach without it, where the source has a jump to that block, unless
it is in fewer loops than the target of the branch.  A block that does not reach the next block in that order is followed
by a successor whose other predecessors are all placed.  Blocks marked ``cold`` move after the last block that is not cold.  Control flow stays in ``Block.succs``.  Branches become
explicit: an unguarded ``BRA`` where the fall-through block is not the next one, an inverted guard where that saves a
branch.
"""

from orias.analysis.cfg import dominators, find_loops, reverse_postorder
from orias.isa.operand import INV, PT, is_label, is_pred, is_true_pred, label, label_id
from orias.ori.ir import OP_BRA, OP_NOP, Block, Func, Inst


def layout(fn: Func) -> None:
    """Order the blocks of `fn` and make its branches explicit, in an allocated function without control words."""
    _drop_jumps(fn)
    _thread_empty(fn)
    _drop_unreachable(fn)
    entry = fn.blocks[0]
    fn.blocks = _chain([b for b in fn.blocks if not b.cold or b is entry], fn) + _chain(
        [b for b in fn.blocks if b.cold and b is not entry], fn
    )
    _make_branches(fn)


def _chain(blocks: list[Block], fn: Func) -> list[Block]:
    """Blocks in source order, joined into chains where that saves a branch."""
    rank = {b.id: k for k, b in enumerate(reverse_postorder(fn))}
    following = {b.id: blocks[k + 1] for k, b in enumerate(blocks[:-1])}
    members = {b.id for b in blocks}
    early = _early(fn, following)
    placed: set[int] = set()
    put_off: list[Block] = []
    out: list[Block] = []
    for seed in blocks:
        b: Block | None = seed
        while b is not None and b.id not in placed:
            placed.add(b.id)
            out.append(b)
            after = following.get(b.id)
            nexts = [s for s in b.succs if s.id in members and s.id not in placed]
            if b.id in early and b.succs[0] in nexts and _ready(b.succs[0], members, placed, rank):
                put_off.append(b.succs[1])
                b = b.succs[0]
                continue
            while put_off and put_off[-1].id in placed:
                put_off.pop()
            ready = [s for s in nexts if _ready(s, members, placed, rank)]
            if after is not None and after in (ready if put_off else nexts):
                b = after
            elif ready:
                b = ready[0]
            else:
                b = put_off.pop() if put_off else None
    return out


def _early(fn: Func, following: dict[int, Block]) -> set[int]:
    """Ids of blocks where the block reached without a branch comes first, though the target of the branch is the next one."""
    found = {
        b.id
        for b in fn.blocks
        if len(b.succs) == 2 and following.get(b.id) is b.succs[1] and b.succs[0] is not b.succs[1]
    }
    if found:
        depth = find_loops(fn, dominators(fn)).depth
        found = {b.id for b in fn.blocks if b.id in found and depth(b.succs[0].id) >= depth(b.succs[1].id)}
    return found


def _ready(b: Block, members: set[int], placed: set[int], rank: dict[int, int]) -> bool:
    """True if all predecessors of a block are placed but those that are reached through it."""
    return not any(p.id in members and p.id not in placed and rank.get(p.id, 0) < rank.get(b.id, 0) for p in b.preds)


def is_plain_branch(inst: Inst) -> bool:
    """True for a BRA without a condition."""
    return inst.op.base == "BRA" and inst.guard == PT and not _conditions(inst)


def _conditions(inst: Inst) -> list[int]:
    """Indices of the predicate sources that are conditions of a branch."""
    return [k for k, s in enumerate(inst.src) if is_pred(s) and not (is_true_pred(s) and not s & INV)]


def _drop_jumps(fn: Func) -> None:
    """Remove unguarded BRAs; the final order adds those that it needs."""
    for b in fn.blocks:
        if b.insts and is_plain_branch(b.insts[-1]) and len(b.succs) == 1:
            b.insts.pop()


def _ends_of_empty(fn: Func) -> dict[int, Block]:
    """The first non-empty block that control reaches from each empty one; in an endless loop of empty blocks, itself."""
    ends: dict[int, Block] = {}
    for first in fn.blocks:
        path: list[Block] = []
        place: dict[int, int] = {}
        b = first
        while not b.insts and len(b.succs) == 1 and b.id not in place and b.id not in ends:
            place[b.id] = len(path)
            path.append(b)
            b = b.succs[0]
        loop = place.get(b.id, len(path))
        end = ends.get(b.id, b)
        for k, x in enumerate(path):
            ends[x.id] = x if k >= loop else end
    return ends


def _thread_empty(fn: Func) -> None:
    """Redirect edges and labels of empty blocks to the blocks that these reach."""
    goal = {b: end for b, end in _ends_of_empty(fn).items() if end.id != b}
    if not goal:
        return
    for b in fn.blocks:
        for k, s in enumerate(b.succs):
            end_ = goal.get(s.id)
            if end_ is not None:
                b.succs[k] = end_
                s.preds.remove(b)
                end_.preds.append(b)
        if len(b.succs) == 2 and b.succs[0] is b.succs[1] and b.insts and b.insts[-1].op.base == "BRA":
            b.insts.pop()
            b.succs[0].preds.remove(b)
            b.succs.pop()
        for inst in b.insts:
            for k, o in enumerate(inst.src):
                if is_label(o) and label_id(o) in goal:
                    inst.src[k] = label(goal[label_id(o)].id)


def _drop_unreachable(fn: Func) -> None:
    """Remove blocks that neither an edge nor a label reaches."""
    by_id = {b.id: b for b in fn.blocks}
    reached: set[int] = {fn.blocks[0].id}
    work = [fn.blocks[0]]
    while work:
        b = work.pop()
        nexts = list(b.succs)
        for inst in b.insts:
            nexts.extend(by_id[label_id(o)] for o in inst.src if is_label(o))
        for s in nexts:
            if s.id not in reached:
                reached.add(s.id)
                work.append(s)
    gone = [b for b in fn.blocks if b.id not in reached]
    for b in gone:
        for s in b.succs:
            s.preds.remove(b)
    fn.blocks = [b for b in fn.blocks if b.id in reached]


def _make_branches(fn: Func) -> None:
    out: list[Block] = []
    blocks = fn.blocks
    for i, b in enumerate(blocks):
        following = blocks[i + 1] if i + 1 < len(blocks) else None
        out.append(b)
        term = b.terminator()
        if term is None:
            if b.succs and b.succs[0] is not following:
                if fn.names and b.insts and b.insts[-1].op is OP_NOP:
                    # With -g, what a PTX instruction without code has: this branch is its code.
                    b.insts[-1].op = OP_BRA
                else:
                    b.insts.append(fn.new_inst(OP_BRA, [], [], loc=b.insts[-1].loc if b.insts else 0))
            continue
        if term.op.base != "BRA" or len(b.succs) != 2:
            continue
        fall = b.succs[0]
        if fall is following:
            continue
        if b.succs[1] is following and _invert(term):
            b.succs[0], b.succs[1] = b.succs[1], b.succs[0]
            continue
        hop = fn.new_block()
        hop.insts.append(fn.new_inst(OP_BRA, [], [], loc=term.loc))
        hop.cold = b.cold
        b.succs[0] = hop
        hop.preds.append(b)
        hop.succs.append(fall)
        fall.preds[fall.preds.index(b)] = hop
        out.append(hop)
    fn.blocks = out


def _invert(term: Inst) -> bool:
    """Negate the only condition of a branch; False if it has several."""
    where = _conditions(term)
    if not where and term.guard != PT:
        term.guard ^= INV
        return True
    if len(where) == 1 and term.guard == PT:
        term.src[where[0]] ^= INV
        return True
    return False
