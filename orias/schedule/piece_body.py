"""What the instructions of a piece read and write before allocation, and how they depend on each other."""

from typing import Final, final

from orias.analysis.liveness import Liveness, WordCounts
from orias.isa.operand import K_NONE, K_P, K_R, Opnd, is_vreg, lane_of, lane_range, vreg
from orias.ori.ir import OP_COPY, OP_PACK, OP_PHI, Block, Func, Inst
from orias.schedule.deps import Graph, build
from orias.schedule.pieces import following
from orias.schedule.word_counts import WordCounting
from orias.timing.latency import Latency


@final
class Node:
    """The registers of one instruction, and what of them counts on its own (:mod:`orias.schedule.word_counts`)."""

    __slots__ = ("gains", "gains_words", "read", "reads", "writes", "written")

    def __init__(self, fn: Func, inst: Inst, counting: WordCounting) -> None:
        counts: dict[int, int] = {}
        for s in counting.reads(inst):
            counts[s] = counts.get(s, 0) + 1
        self.reads: list[tuple[int, int]] = list(counts.items())
        """(item, number of times it is read)."""
        self.writes: list[int] = counting.writes(inst)
        self.read: list[int] = list(dict.fromkeys(counting.registers(inst)[0])) if counting.wide else list(counts)
        """Registers, each once; ``written``: registers."""
        self.written: list[int] = counting.registers(inst)[1]
        self.gains_words: bool = False
        """Whether it defines R registers; ``gains``: R registers or predicates."""
        self.gains: bool = False
        for d in self.written:
            if fn.vkind[d] == K_R:
                self.gains = self.gains_words = True
            elif fn.vkind[d] == K_P:
                self.gains = True


@final
class _Meetings:
    """What the phis of a function name, found once for all blocks before them."""

    __slots__ = ("_edges", "_named")

    def __init__(self) -> None:
        self._edges: Final[dict[int, dict[int, list[int]]]] = {}
        self._named: Final[dict[int, dict[int, list[int]]]] = {}

    def edges(self, target: Block, b: Block) -> list[int]:
        """The places of a block among the predecessors of another."""
        found = self._edges.get(target.id)
        if found is None:
            found = self._edges[target.id] = {}
            for j, p in enumerate(target.preds):
                found.setdefault(p.id, []).append(j)
        return found.get(b.id, [])

    def others(self, phi: Inst, j: int, among: dict[int, list[int]]) -> list[int]:
        """Those of some registers that a phi names whole, as its result or on another edge than `j`, in its order."""
        named = self._named.get(phi.uid)
        if named is None:
            named = self._named[phi.uid] = {}
            for i, o in enumerate([*phi.src, phi.dst[0]]):
                if is_vreg(o) and not lane_of(o):
                    named.setdefault(vreg(o), []).append(i)
        small, large = (named, among) if len(named) < len(among) else (among, named)
        found = [(named[v], v) for v in small if v in large and named[v] != [j]]
        found.sort()
        return [v for _, v in found]


@final
class SharedFacts:
    """What the pieces of a function share: no order changes it."""

    __slots__ = ("bodies", "counting", "free_products", "meetings", "predicates", "words")

    def __init__(self, fn: Func, lv: Liveness) -> None:
        self.counting: Final[WordCounting] = WordCounting(fn)
        self.meetings: Final[_Meetings] = _Meetings()
        self.words: Final[WordCounts] = lv.words(fn, K_R)
        self.predicates: Final[WordCounts] = lv.words(fn, K_P)
        self.bodies: Final[dict[tuple[int, int], list[Body]]] = {}
        """The pieces that were looked at, by block and first instruction: one for each order."""
        self.free_products: bool = False
        """Products of matrices may cross barriers of the block: they free the registers of fragments that loads before the barrier fill."""

    def body(self, fn: Func, b: Block, first: int, last: int, live_after: int, lat: Latency, whole: bool) -> "Body":
        """A piece of a block, in the block's present order."""
        piece = b.insts[first:last]
        after = following(fn, b, last)
        known = self.bodies.setdefault((b.id, first), [])
        for body in known:
            if body.graph.insts == piece and body.following == after:
                return body
        body = Body(fn, b, piece, after, live_after, lat, whole, self)
        known.append(body)
        return body


@final
class Body:
    """The instructions of a piece before allocation, what they read and write, and how they depend on each other."""

    __slots__ = ("following", "fn", "graph", "needed_after", "nodes", "users")

    def __init__(
        self, fn: Func, b: Block, piece: list[Inst], after: list[Inst], live_after: int, lat: Latency, whole: bool,
        facts: SharedFacts,
    ) -> None:  # fmt: skip
        self.fn: Final[Func] = fn
        self.following: Final[list[Inst]] = after
        self.graph: Final[Graph] = build(
            piece, after, fn, lat, True, whole, facts.counting.registers, facts.free_products
        )
        self.nodes: Final[list[Node]] = [Node(fn, inst, facts.counting) for inst in piece]
        self.needed_after: Final[int] = live_after
        self.users: Final[dict[int, list[int]]] = {}
        """Readers of each register in the piece."""
        for k, node in enumerate(self.nodes):
            for s in node.read:
                self.users.setdefault(s, []).append(k)
        self._keep_coalescing(b, piece, facts.meetings)

    def _keep_coalescing(self, b: Block, piece: list[Inst], meetings: _Meetings) -> None:
        """Where a value replaces another one in the same register, keep the reads of the old value before the new one.

        This concerns the ``old`` value of a guarded instruction, and a phi of a successor whose new value is computed
        here: it replaces the phi itself in a loop, and the value of the other way around a conditional block.
        """
        made: dict[int, int] = {}
        for k, node in enumerate(self.nodes):
            for d in node.written:
                made[d] = k
        new: list[tuple[int, int, int, int]] = []
        for k, inst in enumerate(piece):
            if inst.old != K_NONE and is_vreg(inst.old):
                new.append((vreg(inst.old), 0, self.fn.vwidth[vreg(inst.old)], k))
        for target in b.succs:
            for j in meetings.edges(target, b):
                for inst in target.insts:
                    if inst.op is not OP_PHI:
                        break
                    for old in meetings.others(inst, j, self.users):
                        if not self.needed_after >> old & 1:
                            self._add_makers(new, piece, made, inst.src[j], old, 0, self.fn.vwidth[old])
        for old, at, count, k in new:
            users = [u for u in self.users.get(old, ()) if self._reads_words(piece[u], old, at, count)]
            if all(u <= k for u in users):
                for u in users:
                    self.graph.edge(u, k, 0)

    def _add_makers(
        self, out: list[tuple[int, int, int, int]], piece: list[Inst], made: dict[int, int], value: Opnd, old: int, at: int,
        count: int,
    ) -> None:  # fmt: skip
        """Add what makes a value that replaces `count` words of `old` from word `at` on: (old, at, count, index in the piece).

        The sum of a 64-bit address reaches its phi through a copy or a pack of its words, which share its register in the end.
        """
        k = made.get(vreg(value), -1) if is_vreg(value) else -1
        if k < 0:
            return
        out.append((old, at, count, k))
        inst = piece[k]
        if inst.op is OP_COPY and len(inst.src) == 1 and not lane_of(inst.src[0]):
            self._add_makers(out, piece, made, inst.src[0], old, at, count)
        elif inst.op is OP_PACK:
            for part in inst.src:
                words = lane_range(lane_of(part), self.fn.vwidth[vreg(part)])[1] if is_vreg(part) else 1
                if is_vreg(part) and not lane_of(part):
                    self._add_makers(out, piece, made, part, old, at, words)
                at += words

    def _reads_words(self, inst: Inst, register: int, at: int, count: int) -> bool:
        """True if an instruction reads one of `count` words of a register from word `at` on."""
        for o in inst.uses():
            if is_vreg(o) and vreg(o) == register:
                first, words = lane_range(lane_of(o), self.fn.vwidth[register])
                if first < at + count and at < first + words:
                    return True
        return False
