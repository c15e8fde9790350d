"""Orders of instructions that need few registers, for pieces with high pressure.

There are two greedy walks.  The upward walk starts at the end and takes the instruction that frees most registers
(defines live values, reads values that are live anyway); every load then lands just before its first use.  The downward
walk follows the given order, but first takes any instruction that needs no more registers than it frees; every value is
then used as soon as possible.  Neither is always better, and each may improve the result of the other.

The list scheduler starts from the best order found and uses more registers to hide latency.
"""

from bisect import insort
from typing import Final, final

from orias.analysis.liveness import members
from orias.isa.operand import K_P, K_R
from orias.knobs.knob_values import Knobs
from orias.ori.ir import Func
from orias.schedule.deps import Graph


@final
class Piece:
    """A piece of code: the registers that each instruction reads (once each) and writes, and those live after the piece."""

    __slots__ = ("live_out", "graph", "knobs", "predicate", "preds", "reads", "words", "writes")

    def __init__(
        self, fn: Func, graph: Graph, reads: list[list[int]], writes: list[list[int]], live_after: int
    ) -> None:
        self.graph: Final[Graph] = graph
        self.knobs: Final[Knobs] = fn.knobs
        self.reads: Final[list[list[int]]] = reads
        self.writes: Final[list[list[int]]] = writes
        self.live_out: Final[frozenset[int]] = frozenset(members(live_after))
        """The registers live after the piece."""
        self.words: Final[dict[int, int]] = {}
        """Words of R registers per virtual register; a predicate counts as one, other files as none."""
        self.predicate: Final[dict[int, int]] = {}
        """1 for a predicate, else 0."""
        for v in self.live_out.union(*reads, *writes):
            kind = fn.vkind[v]
            self.words[v] = fn.vwidth[v] if kind == K_R else 1 if kind == K_P else 0
            self.predicate[v] = 1 if kind == K_P else 0
        self.preds: Final[list[list[int]]] = [[] for _ in reads]
        for k, succs in enumerate(graph.succs):
            for s in succs:
                self.preds[s].append(k)


def few_registers(piece: Piece) -> list[int]:
    """The order with the lowest register need that was found, as indices; the given order unless another one is better."""
    best = list(range(len(piece.reads)))
    least = most_live(piece, best)
    knobs = piece.knobs
    for _ in range(knobs.sched_sink_rounds if len(best) < knobs.sched_sink_max_inst else 1):
        start = best
        up, down = sunk_order(piece, start), eager_order(piece, start)
        for order in (up, down, eager_order(piece, up), sunk_order(piece, down)):
            need = most_live(piece, order)
            if need < least:
                best, least = order, need
        if best is start:
            break
    return best


def sunk_order(piece: Piece, order: list[int]) -> list[int]:
    """The upward walk: takes the instruction that frees most registers; ties go to the latest in `order`."""
    reads, writes = piece.reads, piece.writes
    place = _places(order)
    waiting = [len(s) for s in piece.graph.succs]
    ready = sorted(-place[k] for k in range(len(order)) if waiting[k] == 0)
    live = set(piece.live_out)
    out: list[int] = []
    while ready:
        best = -1
        best_cost = 1 << 30
        for at in _choices(ready, piece.knobs.sched_sink_window):
            k = order[-at]
            cost = 0
            for d in writes[k]:
                if d in live:
                    cost -= piece.words[d]
            for s in reads[k]:
                if s not in live:
                    cost += piece.words[s]
            if cost < best_cost:
                best, best_cost = k, cost
        ready.remove(-place[best])
        out.append(best)
        live.difference_update(writes[best])
        live.update(reads[best])
        for p in piece.preds[best]:
            waiting[p] -= 1
            if waiting[p] == 0:
                insort(ready, -place[p])
    out.reverse()
    return out


def eager_order(piece: Piece, order: list[int]) -> list[int]:
    """The downward walk: follows `order`, but first takes instructions that free at least what they need."""
    reads, writes = piece.reads, piece.writes
    place = _places(order)
    waiting = [len(p) for p in piece.preds]
    ready = sorted(place[k] for k in range(len(order)) if waiting[k] == 0)
    live_out = piece.live_out
    left: dict[int, int] = {}
    for r in reads:
        for s in r:
            left[s] = left.get(s, 0) + 1
    written = {d for w in writes for d in w}
    held = sum(piece.predicate[v] for v in live_out.union(left) if v not in written)
    out: list[int] = []
    while ready:
        best = order[ready[0]]
        for at in _choices(ready, piece.knobs.sched_sink_window):
            k = order[at]
            cost = 0
            for d in writes[k]:
                if d in left or d in live_out:
                    cost += piece.words[d]
            for s in reads[k]:
                if left[s] == 1 and s not in live_out:
                    cost -= piece.words[s]
            if cost <= 0 and (
                held < piece.knobs.sched_sink_predicates or not any(piece.predicate[d] for d in writes[k])
            ):
                best = k
                break
        ready.remove(place[best])
        out.append(best)
        for s in reads[best]:
            left[s] -= 1
            if not left[s] and s not in live_out:
                held -= piece.predicate[s]
        for d in writes[best]:
            if d in left or d in live_out:
                held += piece.predicate[d]
        for n in piece.graph.succs[best]:
            waiting[n] -= 1
            if waiting[n] == 0:
                insort(ready, place[n])
    return out


def most_live(piece: Piece, order: list[int]) -> int:
    """Maximum words of R registers live at once in an order; predicates in excess count double, because they move to R."""
    live = set(piece.live_out)
    predicates = sum(piece.predicate[v] for v in live)
    now = sum(piece.words[v] for v in live) - predicates
    top, most = now, predicates
    for k in reversed(order):
        for d in piece.writes[k]:
            if d in live:
                live.discard(d)
                predicates -= piece.predicate[d]
                now -= piece.words[d] - piece.predicate[d]
        for s in piece.reads[k]:
            if s not in live:
                live.add(s)
                predicates += piece.predicate[s]
                now += piece.words[s] - piece.predicate[s]
        top, most = max(top, now), max(most, predicates)
    return top + 2 * max(0, most - piece.knobs.sched_sink_predicates)


def _choices(ready: list[int], window: int) -> list[int]:
    return ready if len(ready) <= 2 * window else ready[:window] + ready[-window:]


def _places(order: list[int]) -> list[int]:
    out = [0] * len(order)
    for at, k in enumerate(order):
        out[k] = at
    return out
