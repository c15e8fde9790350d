"""Shape of the control-flow graph: orders, dominators, post-dominators, dominance frontiers, loops.

All results are indexed by ``Block.id`` and are snapshots: compute them again after a change of the graph.
Every algorithm here is near linear (dominators: Lengauer and Tarjan's simple variant, TOPLAS 1979), and none
recurses.
"""

from collections.abc import Collection, Iterable
from typing import Final, final

from orias.ori.ir import Block, Func

NO_BLOCK: Final = -1
"""The immediate (post-)dominator of blocks that have none: the entry, the exits, unreachable blocks."""


def postorder(fn: Func) -> list[Block]:
    """Blocks reachable from the entry, successors before predecessors as far as loops permit."""
    seen = bytearray(fn.next_block)
    out: list[Block] = []
    if not fn.blocks:
        return out
    entry = fn.blocks[0]
    seen[entry.id] = 1
    stack: list[Block] = [entry]
    nexts: list[int] = [len(entry.succs) - 1]
    while stack:
        b = stack[-1]
        i = nexts[-1]
        # Visit successors from last to first: in reverse postorder the fall-through block then comes next.
        if i >= 0:
            nexts[-1] = i - 1
            s = b.succs[i]
            if not seen[s.id]:
                seen[s.id] = 1
                stack.append(s)
                nexts.append(len(s.succs) - 1)
        else:
            out.append(b)
            stack.pop()
            nexts.pop()
    return out


def reverse_postorder(fn: Func) -> list[Block]:
    """Blocks reachable from the entry, predecessors first as far as loops permit; the entry is first."""
    out = postorder(fn)
    out.reverse()
    return out


def onward(
    first: Iterable[Block], stops: Collection[int] = (), cut: Collection[tuple[int, int]] = frozenset()
) -> set[int]:
    """Ids of the blocks reachable from `first`, those included, on paths that end at the `stops` (ids) and take no edge of `cut`."""
    seen: set[int] = set()
    work = list(first)
    while work:
        b = work.pop()
        if b.id not in seen and b.id not in stops:
            seen.add(b.id)
            work.extend([s for s in b.succs if (b.id, s.id) not in cut] if cut else b.succs)
    return seen


def remove_unreachable(fn: Func) -> bool:
    """Delete unreachable blocks and the phi sources of their edges; True if there were any."""
    order = postorder(fn)
    if len(order) == len(fn.blocks):
        return False
    live = bytearray(fn.next_block)
    for b in order:
        live[b.id] = 1
    for b in order:
        if all(live[p.id] for p in b.preds):
            continue
        keep = [i for i, p in enumerate(b.preds) if live[p.id]]
        b.preds = [b.preds[i] for i in keep]
        for inst in b.insts:
            if inst.op.name != "phi":
                break
            inst.src = [inst.src[i] for i in keep]
    fn.blocks = [b for b in fn.blocks if live[b.id]]
    return True


def immediate_dominators(root: int, succs: list[list[int]]) -> list[int]:
    """Immediate dominator of each node of a graph given by successor lists; NO_BLOCK for the root and unreached nodes."""
    n = len(succs)
    # Depth-first numbering: number k is node vertex[k], with tree parent parent[k] (a number).
    number = [-1] * n
    vertex: list[int] = []
    parent: list[int] = []
    preds: list[list[int]] = []
    number[root] = 0
    vertex.append(root)
    parent.append(-1)
    preds.append([])
    stack = [0]
    nexts = [0]
    while stack:
        k = stack[-1]
        i = nexts[-1]
        out = succs[vertex[k]]
        if i < len(out):
            nexts[-1] = i + 1
            w = out[i]
            j = number[w]
            if j < 0:
                j = len(vertex)
                number[w] = j
                vertex.append(w)
                parent.append(k)
                preds.append([])
                stack.append(j)
                nexts.append(0)
            preds[j].append(k)
        else:
            stack.pop()
            nexts.pop()
    count = len(vertex)
    semi = list(range(count))
    best = list(range(count))
    ancestor = [-1] * count
    dom = [-1] * count
    buckets: list[list[int]] = [[] for _ in range(count)]
    for w in range(count - 1, 0, -1):
        for v in preds[w]:
            u = _evaluate(v, ancestor, best, semi)
            if semi[u] < semi[w]:
                semi[w] = semi[u]
        buckets[semi[w]].append(w)
        p = parent[w]
        ancestor[w] = p
        for v in buckets[p]:
            u = _evaluate(v, ancestor, best, semi)
            dom[v] = u if semi[u] < semi[v] else p
        buckets[p] = []
    result = [NO_BLOCK] * n
    for w in range(1, count):
        if dom[w] != semi[w]:
            dom[w] = dom[dom[w]]
        result[vertex[w]] = vertex[dom[w]]
    return result


def _evaluate(v: int, ancestor: list[int], best: list[int], semi: list[int]) -> int:
    """Node with the least semidominator on the forest path above `v`, compressing the path."""
    if ancestor[v] < 0:
        return v
    path: list[int] = []
    u = v
    while ancestor[ancestor[u]] >= 0:
        path.append(u)
        u = ancestor[u]
    # `u` is now a child of the root: propagate the minima down the path.
    for w in reversed(path):
        a = ancestor[w]
        if semi[best[a]] < semi[best[w]]:
            best[w] = best[a]
        ancestor[w] = ancestor[a]
    return best[v]


@final
class DomTree:
    """A dominator tree (or, made by :func:`post_dominators`, a post-dominator tree)."""

    __slots__ = ("children", "depth", "idom", "last", "order", "pre")

    def __init__(self, idom: list[int], roots: list[int]) -> None:
        n = len(idom)
        self.idom: Final[list[int]] = idom
        """Immediate dominator by block id; NO_BLOCK at the roots and for blocks outside the tree."""
        self.children: Final[list[list[int]]] = [[] for _ in range(n)]
        self.depth: Final[list[int]] = [-1] * n
        """Depth in the tree, 0 at the roots, -1 outside it."""
        self.pre: Final[list[int]] = [-1] * n
        self.last: Final[list[int]] = [-1] * n
        self.order: Final[list[int]] = []
        """Block ids, each before those it dominates."""
        for b, d in enumerate(idom):
            if d >= 0:
                self.children[d].append(b)
        for root in roots:
            self._number(root)

    def _number(self, root: int) -> None:
        stack = [root]
        nexts = [0]
        self.depth[root] = 0
        self.pre[root] = len(self.order)
        self.order.append(root)
        while stack:
            b = stack[-1]
            i = nexts[-1]
            kids = self.children[b]
            if i < len(kids):
                nexts[-1] = i + 1
                c = kids[i]
                self.depth[c] = self.depth[b] + 1
                self.pre[c] = len(self.order)
                self.order.append(c)
                stack.append(c)
                nexts.append(0)
            else:
                self.last[b] = len(self.order)
                stack.pop()
                nexts.pop()

    def dominates(self, a: int, b: int) -> bool:
        """True if block `a` (post-)dominates block `b`; each block dominates itself."""
        return a == b or (self.pre[a] >= 0 and self.pre[a] <= self.pre[b] < self.last[a])

    def common(self, a: int, b: int) -> int:
        """The nearest common dominator of two blocks, or NO_BLOCK."""
        while a != b and a >= 0 and b >= 0:
            if self.depth[a] >= self.depth[b]:
                a = self.idom[a]
            else:
                b = self.idom[b]
        return a if a == b else NO_BLOCK


def dominators(fn: Func) -> DomTree:
    """The dominator tree of the blocks reachable from the entry."""
    succs: list[list[int]] = [[] for _ in range(fn.next_block)]
    for b in fn.blocks:
        succs[b.id] = [s.id for s in b.succs]
    entry = fn.blocks[0].id
    return DomTree(immediate_dominators(entry, succs), [entry])


def post_dominators(fn: Func, without: frozenset[tuple[int, int]] = frozenset()) -> DomTree:
    """The post-dominator forest: the roots are the blocks that only the function's end post-dominates.

    ``without``: edges (block id, successor id) to ignore.

    A region that never ends is treated as if it ended at one of its blocks, the last one in depth-first order,
    so that every block has a place in the tree.  Guarded EXITs inside a block do not end it.
    """
    n = fn.next_block
    end = n
    succs: list[list[int]] = [[] for _ in range(n + 1)]
    reached = bytearray(n)
    work: list[int] = []
    for b in fn.blocks:
        succs[b.id] = [p.id for p in b.preds if (p.id, b.id) not in without] if without else [p.id for p in b.preds]
        if not b.succs:
            succs[end].append(b.id)
            reached[b.id] = 1
            work.append(b.id)
    order = postorder(fn)
    at = 0
    while True:
        while work:
            for p in succs[work.pop()]:
                if not reached[p]:
                    reached[p] = 1
                    work.append(p)
        while at < len(order) and reached[order[at].id]:
            at += 1
        if at == len(order):
            break
        b = order[at]
        succs[end].append(b.id)
        reached[b.id] = 1
        work.append(b.id)
    idom = immediate_dominators(end, succs)
    roots = [b for b in range(n) if idom[b] == end]
    return DomTree([NO_BLOCK if d == end else d for d in idom[:n]], roots)


@final
class Loop:
    """A natural loop.  ``blocks`` are the ids of its blocks, including those of inner loops."""

    __slots__ = ("blocks", "depth", "header", "latches", "parent")

    def __init__(self, header: Block) -> None:
        self.header: Final[Block] = header
        self.latches: list[Block] = []
        self.blocks: list[int] = []
        self.parent: Loop | None = None
        self.depth: int = 1


@final
class LoopForest:
    """All natural loops of a function; ``loops`` lists outer loops before inner ones."""

    __slots__ = ("innermost", "irreducible", "loops")

    def __init__(self, size: int) -> None:
        self.loops: list[Loop] = []
        self.innermost: list[Loop | None] = [None] * size
        """Innermost loop of each block by id."""
        self.irreducible: bool = False
        """True if some cycle has more than one entry; such cycles are not in ``loops``."""

    def depth(self, block_id: int) -> int:
        """Number of loops around a block."""
        loop = self.innermost[block_id]
        return 0 if loop is None else loop.depth


def find_loops(fn: Func, tree: DomTree) -> LoopForest:
    """The loops of a function; also sets ``Block.depth``."""
    forest = LoopForest(fn.next_block)
    order = reverse_postorder(fn)
    index = [-1] * fn.next_block
    for i, b in enumerate(order):
        index[b.id] = i
    innermost = forest.innermost
    # Inner headers come later in reverse postorder, so going backwards finds inner loops first.
    for h in reversed(order):
        latches: list[Block] = []
        for p in h.preds:
            if index[p.id] >= index[h.id]:
                if tree.dominates(h.id, p.id):
                    latches.append(p)
                else:
                    forest.irreducible = True
        if not latches:
            continue
        loop = Loop(h)
        loop.latches = latches
        forest.loops.append(loop)
        innermost_h = innermost[h.id]
        if innermost_h is None:
            innermost[h.id] = loop
        work = list(latches)
        while work:
            b = work.pop()
            inner = innermost[b.id]
            if inner is None:
                innermost[b.id] = loop
                work.extend(p for p in b.preds if index[p.id] >= 0)
                continue
            while inner.parent is not None:
                inner = inner.parent
            if inner is not loop:
                inner.parent = loop
                work.extend(p for p in inner.header.preds if index[p.id] >= 0)
    forest.loops.reverse()
    for loop in forest.loops:
        if loop.parent is not None:
            loop.depth = loop.parent.depth + 1
    for b in order:
        around = innermost[b.id]
        b.depth = 0 if around is None else around.depth
        while around is not None:
            around.blocks.append(b.id)
            around = around.parent
    return forest


def loop_members(fn: Func, forest: LoopForest) -> dict[Loop, list[Block]]:
    """The blocks of each loop in layout order."""
    members: dict[Loop, list[Block]] = {loop: [] for loop in forest.loops}
    for b in fn.blocks:
        around = forest.innermost[b.id]
        while around is not None:
            members[around].append(b)
            around = around.parent
    return members
