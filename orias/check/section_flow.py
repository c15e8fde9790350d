"""The basic blocks of a code section, and what is live in them.

Works on the finished code of any compiler.  A call of a function of the same section has an edge to it as well as to the
instruction after it; what is live across a call is counted in the caller only.
"""

from typing import Final, final

from orias.analysis.access import UNITS
from orias.check.code import CALLS, JUMPS, Node
from orias.isa.operand import PT

_STACK_POINTER: Final = 1 << 1


@final
class CodeBlock:
    """Instructions ``start`` to ``end`` (exclusive); ``edges``: (first instruction of the successor, fall, jump or call)."""

    __slots__ = ("edges", "end", "start")

    def __init__(self, start: int, end: int, edges: list[tuple[int, str]]) -> None:
        self.start: Final[int] = start
        self.end: Final[int] = end
        self.edges: Final[list[tuple[int, str]]] = edges


def blocks_of(nodes: list[Node], entries: set[int]) -> list[CodeBlock]:
    """The basic blocks in the order of the code; `entries`: first instructions of functions."""
    starts = {0, *entries}
    for n in nodes:
        if n.flow in (JUMPS, CALLS):
            starts.update(n.targets)
            starts.add(n.index + 1)
        elif not n.falls:
            starts.add(n.index + 1)
    order = sorted(s for s in starts if s < len(nodes))
    out: list[CodeBlock] = []
    for start, end in zip(order, [*order[1:], len(nodes)], strict=True):
        last = nodes[end - 1]
        kind = "call" if last.flow == CALLS else "jump"
        edges = [(t, kind) for t in dict.fromkeys(last.targets)] if last.flow in (JUMPS, CALLS) else []
        if last.falls:
            edges.insert(0, (end, "fall"))
        out.append(CodeBlock(start, end, edges))
    return out


def live_before(nodes: list[Node], blocks: list[CodeBlock], after: list[int]) -> list[int]:
    """Units live before each instruction, from those live after each block."""
    out = [0] * len(nodes)
    for k, b in enumerate(blocks):
        live = after[k]
        for i in range(b.end - 1, b.start - 1, -1):
            n = nodes[i]
            if n.guard == PT:
                live &= ~n.touch.write_set
            live |= n.touch.read_set
            out[i] = live
    return out


def live_sets(nodes: list[Node], blocks: list[CodeBlock], roots: dict[int, bool]) -> list[int]:
    """For each instruction the units that hold a value just before it or that it writes, as a bit set.

    A unit holds a value if some path from here reads it before it is written, and some path to here has written it.  The stack pointer
    keeps its value to the end.
    `roots`: first instruction of each function -> whether registers hold arguments there.
    """
    number = {b.start: k for k, b in enumerate(blocks)}
    succs = [[number[t] for t, _ in b.edges if t in number] for b in blocks]
    after = live_out_sets(nodes, blocks, succs)
    before = _written(nodes, blocks, succs, {number[r]: arguments for r, arguments in roots.items() if r in number})
    out = live_before(nodes, blocks, after)
    for k, b in enumerate(blocks):
        written = before[k]
        for i in range(b.start, b.end):
            out[i] = (out[i] | _STACK_POINTER) & written | nodes[i].touch.write_set
            written |= nodes[i].touch.write_set
    return out


def live_out_sets(nodes: list[Node], blocks: list[CodeBlock], succs: list[list[int]]) -> list[int]:
    """For each block the units that some path from its end reads before it writes them, as a bit set; `succs`: block numbers."""
    gen, kill = [0] * len(blocks), [0] * len(blocks)
    for k, b in enumerate(blocks):
        for i in range(b.end - 1, b.start - 1, -1):
            t = nodes[i].touch
            if nodes[i].guard == PT:
                gen[k] &= ~t.write_set
                kill[k] |= t.write_set
            gen[k] |= t.read_set
    live_in, live_out = [0] * len(blocks), [0] * len(blocks)
    changed = True
    while changed:
        changed = False
        for k in range(len(blocks) - 1, -1, -1):
            for s in succs[k]:
                live_out[k] |= live_in[s]
            new = gen[k] | live_out[k] & ~kill[k]
            if new != live_in[k]:
                live_in[k], changed = new, True
    return live_out


def _written(nodes: list[Node], blocks: list[CodeBlock], succs: list[list[int]], roots: dict[int, bool]) -> list[int]:
    """Units that some path to the start of each block has written."""
    made = [0] * len(blocks)
    for k, b in enumerate(blocks):
        for i in range(b.start, b.end):
            made[k] |= nodes[i].touch.write_set
    out = [0] * len(blocks)
    for k, arguments in roots.items():
        out[k] = (1 << UNITS) - 1 if arguments else 0
    changed = True
    while changed:
        changed = False
        for k in range(len(blocks)):
            leaving = out[k] | made[k]
            for s in succs[k]:
                if leaving & ~out[s]:
                    out[s] |= leaving
                    changed = True
    return out


def waited_for(nodes: list[Node], blocks: list[CodeBlock], most: int = 6) -> list[list[tuple[int, int]]]:
    """For each instruction (scoreboard, instruction that sets it) of each scoreboard in its wait mask.

    At most the `most` nearest setters of a scoreboard before the instruction in the code, then after it.
    """
    number = {b.start: k for k, b in enumerate(blocks)}
    before: list[list[int]] = [[0] * 6 for _ in blocks]
    work = list(range(len(blocks)))
    while work:
        again: set[int] = set()
        for k in work:
            state = list(before[k])
            for i in range(blocks[k].start, blocks[k].end):
                _pass(nodes[i], state)
            for t, _ in blocks[k].edges:
                s = number.get(t, -1)
                if s >= 0 and any(x & ~y for x, y in zip(state, before[s], strict=True)):
                    before[s] = [x | y for x, y in zip(state, before[s], strict=True)]
                    again.add(s)
        work = sorted(again)
    out: list[list[tuple[int, int]]] = [[] for _ in nodes]
    for k, b in enumerate(blocks):
        state = list(before[k])
        for i in range(b.start, b.end):
            for sb in range(6):
                if nodes[i].wait >> sb & 1:
                    setters = _members(state[sb])
                    near = sorted((s for s in setters if s < i), reverse=True) + [s for s in setters if s >= i]
                    out[i].extend((sb, s) for s in near[:most])
            _pass(nodes[i], state)
    return out


def _pass(n: Node, state: list[int]) -> None:
    """The setters of each scoreboard after an instruction."""
    for sb in range(6):
        if n.wait >> sb & 1:
            state[sb] = 0
    for sb in (n.write, n.read):
        if sb < 6:
            state[sb] |= 1 << n.index


def _members(mask: int) -> list[int]:
    out: list[int] = []
    while mask:
        low = mask & -mask
        out.append(low.bit_length() - 1)
        mask ^= low
    return out
