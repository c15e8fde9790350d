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
from orias.isa.operand import K_P
from orias.knobs.knob_values import Knobs
from orias.ori.ir import Func
from orias.schedule.deps import Graph
from orias.schedule.word_counts import WordCounting, register_of


@final
class Piece:
    """A piece of code: what of registers each instruction reads (once each) and writes, and the registers live after the piece."""

    __slots__ = (
        "graph",
        "knobs",
        "live_out",
        "predicate",
        "preds",
        "reads",
        "rest",
        "rest_predicates",
        "words",
        "writes",
    )

    def __init__(
        self, fn: Func, graph: Graph, reads: list[list[int]], writes: list[list[int]], live_after: int, counting: WordCounting
    ) -> None:  # fmt: skip
        self.graph: Final[Graph] = graph
        self.knobs: Final[Knobs] = fn.knobs
        numbers: dict[int, int] = {}
        for registers in (*reads, *writes):
            for v in registers:
                numbers.setdefault(v, len(numbers))
        self.reads: Final[list[list[int]]] = [[numbers[v] for v in registers] for registers in reads]
        """Registers, or words of them, have numbers from 0 up here."""
        self.writes: Final[list[list[int]]] = [[numbers[v] for v in registers] for registers in writes]
        self.live_out: Final[list[bool]] = [live_after >> register_of(x) & 1 != 0 for x in numbers]
        """Whether each is live after the piece."""
        self.predicate: Final[list[int]] = [1 if fn.vkind[register_of(x)] == K_P else 0 for x in numbers]
        """1 for a predicate, else 0."""
        self.words: Final[list[int]] = [counting.words(x) + self.predicate[k] for x, k in numbers.items()]
        """Words of R registers; a predicate counts as one, other files as none."""
        rest = [x for v in members(live_after) for x in counting.split(v) if x not in numbers]
        self.rest: Final[int] = sum([counting.words(x) + (fn.vkind[register_of(x)] == K_P) for x in rest])
        """Words live after the piece that no instruction names; ``rest_predicates``: predicates among them."""
        self.rest_predicates: Final[int] = sum([1 for x in rest if fn.vkind[register_of(x)] == K_P])
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
    reads, writes, words = piece.reads, piece.writes, piece.words
    place = _places(order)
    waiting = [len(s) for s in piece.graph.succs]
    ready = sorted([-place[k] for k in range(len(order)) if waiting[k] == 0])
    live = list(piece.live_out)
    window = piece.knobs.sched_sink_window
    out: list[int] = []
    while ready:
        best = -1
        best_cost = 1 << 30
        for at in _choices(ready, window):
            k = order[-at]
            cost = 0
            for d in writes[k]:
                if live[d]:
                    cost -= words[d]
            for s in reads[k]:
                if not live[s]:
                    cost += words[s]
            if cost < best_cost:
                best, best_cost = k, cost
        ready.remove(-place[best])
        out.append(best)
        for d in writes[best]:
            live[d] = False
        for s in reads[best]:
            live[s] = True
        for p in piece.preds[best]:
            waiting[p] -= 1
            if waiting[p] == 0:
                insort(ready, -place[p])
    out.reverse()
    return out


def eager_order(piece: Piece, order: list[int]) -> list[int]:
    """The downward walk: follows `order`, but first takes instructions that free at least what they need."""
    reads, writes, words, predicate, live_out = piece.reads, piece.writes, piece.words, piece.predicate, piece.live_out
    place = _places(order)
    waiting = [len(p) for p in piece.preds]
    ready = sorted([place[k] for k in range(len(order)) if waiting[k] == 0])
    left = [0] * len(words)
    """Reads that are not placed yet."""
    for r in reads:
        for s in r:
            left[s] += 1
    wanted = [left[v] > 0 or live_out[v] for v in range(len(words))]
    """Registers that something reads."""
    before = list(wanted)
    """Of these, the registers that have their value before the piece."""
    for w in writes:
        for d in w:
            before[d] = False
    held = piece.rest_predicates
    for v in range(len(words)):
        if before[v]:
            held += predicate[v]
    window, most = piece.knobs.sched_sink_window, piece.knobs.sched_sink_predicates
    out: list[int] = []
    while ready:
        best = order[ready[0]]
        for at in _choices(ready, window):
            k = order[at]
            cost = 0
            for d in writes[k]:
                if wanted[d]:
                    cost += words[d]
            for s in reads[k]:
                if left[s] == 1 and not live_out[s]:
                    cost -= words[s]
            if cost <= 0 and (held < most or not _makes_predicate(writes[k], predicate)):
                best = k
                break
        ready.remove(place[best])
        out.append(best)
        for s in reads[best]:
            left[s] -= 1
            if not left[s] and not live_out[s]:
                held -= predicate[s]
        for d in writes[best]:
            if wanted[d]:
                held += predicate[d]
        for n in piece.graph.succs[best]:
            waiting[n] -= 1
            if waiting[n] == 0:
                insort(ready, place[n])
    return out


def _makes_predicate(writes: list[int], predicate: list[int]) -> bool:
    return any(predicate[d] for d in writes)


def most_live(piece: Piece, order: list[int]) -> int:
    """Maximum words of R registers live at once in an order; predicates in excess count double, because they move to R."""
    reads, writes, words, predicate = piece.reads, piece.writes, piece.words, piece.predicate
    live = list(piece.live_out)
    predicates = piece.rest_predicates
    now = piece.rest
    for v in range(len(words)):
        if live[v]:
            predicates += predicate[v]
            now += words[v]
    now -= predicates
    top, most = now, predicates
    for k in reversed(order):
        for d in writes[k]:
            if live[d]:
                live[d] = False
                predicates -= predicate[d]
                now -= words[d] - predicate[d]
        for s in reads[k]:
            if not live[s]:
                live[s] = True
                predicates += predicate[s]
                now += words[s] - predicate[s]
        if now > top:
            top = now
        if predicates > most:
            most = predicates
    return top + 2 * max(0, most - piece.knobs.sched_sink_predicates)


def _choices(ready: list[int], window: int) -> list[int]:
    return ready if len(ready) <= 2 * window else ready[:window] + ready[-window:]


def _places(order: list[int]) -> list[int]:
    out = [0] * len(order)
    for at, k in enumerate(order):
        out[k] = at
    return out
