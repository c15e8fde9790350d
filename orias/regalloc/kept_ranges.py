"""With -g: the points at which a register keeps a variable of the program for a debugger, read or not.

As in ptxas 13.0.88, a variable is alive as if the last instruction of each of its ranges read it (docs/facts/cubin.md, "Registers of
variables").  Its value is kept at the points that a definition reaches and that lead to such an instruction without another definition.  Both
are data flow over blocks, with a bit for each pair of a class and a variable.
"""

from bisect import bisect_left, bisect_right
from itertools import accumulate
from typing import Final, final

from orias.isa.operand import FIRST_VREG, K_B, KIND_MASK, vreg
from orias.ori.ir import Block
from orias.regalloc.coalesce import Classes, Cls, Seg

Span = tuple[int, int]
"""Points [start, end)."""


@final
class KeptRanges:
    """Where the classes of one file hold variables."""

    __slots__ = ("lasting", "lasting_words", "peak", "spans")

    def __init__(self, classes: Classes, todo: list[Cls]) -> None:
        self.spans: Final[dict[Cls, list[Span]]] = _Flow(classes, todo).spans()
        """For each class that holds a variable the points at which it keeps it, in ascending order."""
        rg = classes.rg
        heads = [rg.block_start[b.id] for b in rg.order]
        lasting = [c for c in todo if c in self.spans or any(_is_in_several(segs, heads) for segs in c.words.values())]
        self.lasting: Final[set[Cls]] = set(lasting)
        """The classes that hold variables, or values that several blocks use."""
        self.lasting_words: Final[int] = sum(len(c.words) for c in lasting)
        self.peak: Final[int] = _peak(classes.rg.points, todo, self.spans)
        """The most words that have a value at one point."""


def _is_in_several(segs: list[Seg], heads: list[int]) -> bool:
    """Whether several blocks use a word; `heads`: the first points of blocks, in ascending order."""
    return bool(segs) and bisect_right(heads, segs[0][0]) != bisect_left(heads, segs[-1][1])


def _peak(points: int, todo: list[Cls], spans: dict[Cls, list[Span]]) -> int:
    change = [0] * (points + 1)
    for c in todo:
        kept = spans.get(c, [])
        for segs in c.words.values():
            for start, end in _joined([*kept, *((s, e) for s, e, _ in segs)]):
                change[start] += 1
                change[end] -= 1
    return max(accumulate(change), default=0)


def _joined(spans: list[Span]) -> list[Span]:
    """The union of spans, in ascending order."""
    found: list[Span] = []
    for start, end in sorted(spans):
        if found and start <= found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], end)
        else:
            found.append((start, end))
    return found


@final
class _Flow:
    """Data flow of variables; position 0 of a block is its head, position k + 1 is after instruction k."""

    def __init__(self, classes: Classes, todo: list[Cls]) -> None:
        self.classes: Final[Classes] = classes
        fn = classes.rg.fn
        self.holder: Final[list[Cls]] = []
        """For each bit the class."""
        self.named: Final[dict[str, int]] = {}
        """Variable -> its bits."""
        self.bit: Final[dict[tuple[Cls, str], int]] = {}
        for c in todo:
            for v, _ in c.members:
                for name, _ in fn.names.get(v, ()):
                    if name in fn.variables and (c, name) not in self.bit:
                        bit = self.bit[c, name] = 1 << len(self.holder)
                        self.named[name] = self.named.get(name, 0) | bit
                        self.holder.append(c)
        order = classes.rg.order
        self.defined: Final[list[list[tuple[int, int, int]]]] = [self._definitions(b) for b in order]
        """For each block (position, bits of the classes that get a value there, all bits of its variables)."""
        self.read: Final[list[dict[int, int]]] = self._reads(order)
        """For each block, position after an instruction -> the bits of the variables that it counts as reading."""
        self.reached: Final[list[int]] = [0] * len(order)
        self.wanted: Final[list[int]] = [0] * len(order)
        """The values that reach the head of each block, and those that are wanted at its end."""

    def _definitions(self, b: Block) -> list[tuple[int, int, int]]:
        of, names = self.classes.of, self.classes.rg.fn.names
        found: list[tuple[int, int, int]] = []
        for k, inst in enumerate(b.insts):
            given = gone = 0
            for o in inst.dst:
                if o < FIRST_VREG or o & KIND_MASK > K_B:
                    continue
                v = vreg(o)
                c = of[v]
                for name, _ in names.get(v, ()):
                    if name in self.named:
                        gone |= self.named[name]
                        given |= self.bit.get((c, name), 0) if c is not None else 0
            if gone:
                found.append((k + 1, given, gone))
        return found

    def _reads(self, order: list[Block]) -> list[dict[int, int]]:
        found: list[dict[int, int]] = [{} for _ in order]
        places = sorted((inst.loc, k, n + 1) for k, b in enumerate(order) for n, inst in enumerate(b.insts) if inst.loc)
        for name, bits in self.named.items():
            for line in self.classes.rg.fn.variables[name]:
                last = bisect_left(places, (line, 0, 0)) - 1
                if last >= 0:
                    _, k, at = places[last]
                    found[k][at] = found[k].get(at, 0) | bits
        return found

    def spans(self) -> dict[Cls, list[Span]]:
        """The points at which each class keeps a variable."""
        if not self.holder:
            return {}
        self._solve()
        rg = self.classes.rg
        found: dict[Cls, list[Span]] = {}
        for k, b in enumerate(rg.order):
            start = rg.block_start[b.id]
            began: dict[int, int] = {}
            before = 0
            for at, mask in [*self._states(k), (rg.block_end[b.id] - start, 0)]:
                changed = before ^ mask
                while changed:
                    i = (changed & -changed).bit_length() - 1
                    changed &= changed - 1
                    if mask >> i & 1:
                        began[i] = start + at
                    else:
                        found.setdefault(self.holder[i], []).append((began.pop(i), start + at))
                before = mask
        return {c: _joined(spans) for c, spans in found.items()}

    def _states(self, k: int) -> list[tuple[int, int]]:
        """The values that a block keeps, from each position on at which they change."""
        given = {at: (new, gone) for at, new, gone in self.defined[k]}
        read = self.read[k]
        events = sorted({0, *given, *read})
        reached: list[int] = []
        mask = self.reached[k]
        for at in events:
            new, gone = given.get(at, (0, 0))
            mask = mask & ~gone | new
            reached.append(mask)
        found: list[tuple[int, int]] = []
        mask = self.wanted[k]
        for at, there in zip(reversed(events), reversed(reached), strict=True):
            found.append((at, there & mask))
            mask = mask & ~given.get(at, (0, 0))[1] | read.get(at, 0)
        return found[::-1]

    def _solve(self) -> None:
        """What reaches a block and what is wanted after it only gain bits, so this ends."""
        order = self.classes.rg.order
        number = {b.id: k for k, b in enumerate(order)}
        before = [[number[p.id] for p in b.preds if p.id in number] for b in order]
        after = [[number[s.id] for s in b.succs if s.id in number] for b in order]
        given, gone, needed, head = [0] * len(order), [0] * len(order), [0] * len(order), [0] * len(order)
        for k in range(len(order)):
            killed = {at: old for at, _, old in self.defined[k]}
            for _, new, old in self.defined[k]:
                given[k] = given[k] & ~old | new
                gone[k] |= old
            for at in sorted({*killed, *self.read[k]}, reverse=True):
                needed[k] = needed[k] & ~killed.get(at, 0) | self.read[k].get(at, 0)
        changed = True
        while changed:
            changed = False
            for k in range(len(order)):
                mask = 0
                for p in before[k]:
                    mask |= self.reached[p] & ~gone[p] | given[p]
                if mask != self.reached[k]:
                    self.reached[k] = mask
                    changed = True
        changed = True
        while changed:
            changed = False
            for k in range(len(order) - 1, -1, -1):
                mask = 0
                for s in after[k]:
                    mask |= head[s]
                self.wanted[k] = mask
                mask = mask & ~gone[k] | needed[k]
                if mask != head[k]:
                    head[k] = mask
                    changed = True
