"""An order of few registers: from the end of a piece upwards, what frees most (defines what is live, reads what is live anyway) first.

Front ends write all loads of a step in front of all its products; read upwards, every load comes to stand before its first use.
The list scheduler starts from this order and spends registers on latency from there.
"""

from typing import Final

from orias.isa.operand import K_R
from orias.ori.ir import Func
from orias.schedule.deps import Graph

_WINDOW: Final = 32
"""Ready instructions looked at for one choice."""


def sunk_order(fn: Func, graph: Graph, reads: list[list[int]], writes: list[list[int]], live_after: int) -> list[int]:
    """The order, as positions in the piece; registers read and written by each instruction, those live behind the piece as a mask."""
    n = len(graph.insts)
    preds: list[list[int]] = [[] for _ in range(n)]
    waiting = [0] * n
    for k in range(n):
        waiting[k] = len(graph.succs[k])
        for s in graph.succs[k]:
            preds[s].append(k)
    ready = [k for k in range(n - 1, -1, -1) if waiting[k] == 0]
    live = {v for v in range(live_after.bit_length()) if live_after >> v & 1} if live_after else set()
    out: list[int] = []
    while ready:
        best = -1
        best_cost = 1 << 30
        for k in ready[:_WINDOW]:
            cost = 0
            for d in writes[k]:
                if d in live and fn.vkind[d] == K_R:
                    cost -= fn.vwidth[d]
            for s in reads[k]:
                if s not in live and fn.vkind[s] == K_R:
                    cost += fn.vwidth[s]
            if cost < best_cost:
                best, best_cost = k, cost
        ready.remove(best)
        out.append(best)
        live.difference_update(writes[best])
        live.update(reads[best])
        for p in preds[best]:
            waiting[p] -= 1
            if waiting[p] == 0:
                _insert(ready, p)
    out.reverse()
    return out


def most_live(fn: Func, order: list[int], reads: list[list[int]], writes: list[list[int]], live_after: int) -> int:
    """Most words of R registers live at once in an order of the piece."""
    live = {v for v in range(live_after.bit_length()) if live_after >> v & 1} if live_after else set()
    now = sum(fn.vwidth[v] for v in live if fn.vkind[v] == K_R)
    top = now
    for k in reversed(order):
        for d in writes[k]:
            if d in live:
                live.discard(d)
                if fn.vkind[d] == K_R:
                    now -= fn.vwidth[d]
        for s in reads[k]:
            if s not in live:
                live.add(s)
                if fn.vkind[s] == K_R:
                    now += fn.vwidth[s]
        top = max(top, now)
    return top


def _insert(ready: list[int], k: int) -> None:
    """Keep the ready list in falling original order."""
    at = len(ready)
    while at and ready[at - 1] < k:
        at -= 1
    ready.insert(at, k)
