"""Values that are needed after a barrier of the block are not made long before it.

While loads are under way the list scheduler makes whatever has its sources, up to the limit on live registers.  Addresses of accesses
that have to wait for the barrier after the next one then hold registers for nothing: the loads between the two barriers lack them, and
wait for one another.
"""

from typing import Final

from orias.isa.op import F_BARRIER
from orias.schedule.deps import Graph

_AHEAD: Final = 2
"""Stretches between barriers, the reader's own included, in which a value may be made: in its own alone the reader would wait for it."""


def keep_near_readers(graph: Graph, makes_words: list[bool]) -> None:
    """Add to the dependences of a piece that a value comes after the barrier before the last one that its first reader has to follow.

    `makes_words`: for each instruction whether it does nothing but define R registers.  What is before that barrier as given may
    stay there.
    """
    insts, succs = graph.insts, graph.succs
    barriers = [k for k, inst in enumerate(insts) if inst.op.flags & F_BARRIER]
    if len(barriers) < _AHEAD:
        return
    n = len(insts)
    after = [0] * n
    """How many barriers each instruction has to follow."""
    at = 0
    for k in range(n):
        follows = after[k]
        if at < len(barriers) and barriers[at] == k:
            at += 1
            follows = at
        for s in succs[k]:
            if follows > after[s]:
                after[s] = follows
    first = list(after)
    """How many barriers the first reader of each instruction that makes words has to follow."""
    for k in range(n - 1, -1, -1):
        if makes_words[k]:
            first[k] = max(after[k], min([first[s] for s in succs[k]], default=len(barriers)))
    for k in range(n):
        if makes_words[k] and first[k] >= max(_AHEAD, after[k] + _AHEAD):
            barrier = barriers[first[k] - _AHEAD]
            if barrier < k:
                graph.edge(barrier, k, 0)
