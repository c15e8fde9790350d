"""Which collectives of a function are one: those that threads of a mask may run at different places, and meet.

By PTX a thread waits at a collective until all threads of the mask have run one with the same qualifiers and mask, wherever.  Two
operations are one if a thread may wait at the first while another waits at the second:

- each stands on a side of a divergent branch that the other's side lacks;
- each runs under a condition that excludes the other's (``@p shfl; @!p shfl``, the cases of a switch, code before a return and after
  it), and threads that the first condition excludes reach the second operation.

Not one: what a barrier or a collective of the whole warp separates, and operations on a side with a barrier that the whole warp runs,
whose condition therefore does not diverge.
"""

from typing import Final, final

from orias.analysis.cfg import onward, post_dominators
from orias.analysis.collectives import WARPSYNC, collectives, whole_warp_operations
from orias.analysis.divergence import Divergence, exit_edges
from orias.isa.op import F_BARRIER
from orias.isa.operand import INV, K_P, PT, Opnd, bare, has_lane, imm_value, in_file, is_imm, is_vreg, lane_words, vreg
from orias.ori.ir import OP_BRA, Block, Func, Inst
from orias.passes.exclusive_conditions import Conditions, Fact

_FULL_MASK: Final = 0xFFFFFFFF
_STOP: Final = -1


@final
class Site:
    """An operation with its WARPSYNC, or a WARPSYNC of its own (`inst` None)."""

    __slots__ = ("block", "inst", "key", "sync")

    def __init__(self, fn: Func, block: Block, sync: Inst, inst: Inst | None) -> None:
        self.block: Final[Block] = block
        self.sync: Final[Inst] = sync
        self.inst: Final[Inst | None] = inst
        self.key: Final[tuple[str, ...]] = _key(fn, inst)
        """The same for operations that can be one."""

    @property
    def last(self) -> Inst:
        """The last instruction of the site: what follows runs on the own side again."""
        return self.sync if self.inst is None else self.inst

    @property
    def guard(self) -> Opnd:
        """The guard of the operation."""
        return self.sync.guard


def _key(fn: Func, inst: Inst | None) -> tuple[str, ...]:
    if inst is None:
        return (WARPSYNC.name,)
    # vote.ballot and vote.any are one operation of the hardware with other results.
    results = "".join("p" if in_file(d, K_P) else "r" for d in inst.dst)
    # Barriers of other numbers are others; the word with number and count stands twice.
    fixed = [str(o) for o in inst.src if is_imm(o)] if inst.op.flags & F_BARRIER else []
    return (inst.op.name, results, *(f"{'p' if in_file(o, K_P) else 'r'}{words(fn, o)}" for o in inst.src), *fixed)


def words(fn: Func, o: Opnd) -> int:
    """Words of an operand."""
    return lane_words(o, fn.width(o))[1] if has_lane(o) else fn.width(o)


@final
class Meetings:
    """Where threads of a warp that run apart meet."""

    __slots__ = ("apart", "groups")

    def __init__(self, groups: list[list[Site]], apart: frozenset[int]) -> None:
        self.groups: Final[list[list[Site]]] = groups
        """The operations that are one, each group in program order."""
        self.apart: Final[frozenset[int]] = apart
        """Branches and guarded operations (uids) after which threads run apart until they meet in another iteration."""


def find_meetings(fn: Func, div: Divergence) -> Meetings:
    """Find the collectives at which threads meet that run apart."""
    sites = [Site(fn, b, sync, inst) for b in fn.blocks for sync, inst in collectives(b)]
    if not sites or (not any(div.branches) and not any(div.is_varying(site.guard) for site in sites)):
        return Meetings([], frozenset())
    return _Finder(fn, div, sites).run()


@final
class _Part:
    """Operations that threads run only under a condition."""

    __slots__ = ("choice", "condition", "facts", "own", "starts")

    def __init__(
        self,
        choice: tuple[int, int],
        condition: Inst,
        facts: list[Fact],
        own: set[int],
        starts: list[tuple[Block, int]],
    ) -> None:
        self.condition: Final[Inst] = condition
        """The branch or the guarded operation."""
        self.choice: Final[tuple[int, int]] = choice
        """The branch (its block) or the guard, and the side."""
        self.facts: Final[list[Fact]] = facts
        self.own: Final[set[int]] = own
        self.starts: Final[list[tuple[Block, int]]] = starts
        """Where the other threads go on: a block, and a place in it."""

    def topics(self) -> set[tuple[int, Opnd]]:
        """What the condition is about; parts whose conditions exclude each other have one in common."""
        return {(0, self.choice[0]), *((1, bare(x.a)) for x in self.facts)}

    def excludes(self, other: "_Part") -> bool:
        """True if no thread has both conditions."""
        if self.choice[0] == other.choice[0]:
            return self.choice[1] != other.choice[1]
        return any(x.excludes(y) for x in self.facts for y in other.facts)


@final
class _Finder:
    __slots__ = (
        "_at",
        "_conditions",
        "_cut",
        "_div",
        "_events",
        "_fn",
        "_joined",
        "_parts",
        "_products",
        "_sites",
        "_whole",
    )

    def __init__(self, fn: Func, div: Divergence, sites: list[Site]) -> None:
        self._fn: Final[Func] = fn
        self._div: Final[Divergence] = div
        self._sites: Final[list[Site]] = sites
        self._cut: Final[frozenset[tuple[int, int]]] = exit_edges(fn)
        self._at: Final[dict[int, list[int]]] = {}
        """Sites of each block."""
        self._whole: Final[set[int]] = set()
        """Blocks that only a whole warp runs."""
        self._products: Final[set[int]] = set()
        """Those of them that have more than barriers of the block, which threads that have ended do not hold up."""
        self._events: Final[dict[int, list[tuple[int, int]]]] = {}
        """What threads meet in each block, in order: (place, site), _STOP for an operation of the whole warp."""
        self._conditions: Final[Conditions] = Conditions(fn)
        self._parts: Final[list[_Part]] = []
        self._joined: Final[list[int]] = list(range(len(sites)))

    def run(self) -> Meetings:
        """All groups, and what parts threads."""
        for n, site in enumerate(self._sites):
            self._at.setdefault(site.block.id, []).append(n)
        for b in self._fn.blocks:
            found = whole_warp_operations(b)
            if found:
                self._whole.add(b.id)
            if any(not i.op.flags & F_BARRIER for i in found):
                self._products.add(b.id)
            if found or b.id in self._at:
                number = {self._sites[n].last.uid: n for n in self._at.get(b.id, ())}
                number |= {inst.uid: _STOP for inst in found}
                self._events[b.id] = [(k, number[i.uid]) for k, i in enumerate(b.insts) if i.uid in number]
        tree = post_dominators(self._fn, self._cut)
        for b in self._fn.blocks:
            if self._div.branches[b.id]:
                self._branch(b, tree.idom[b.id])
        for n, site in enumerate(self._sites):
            if self._div.is_varying(site.guard):
                place = site.block.insts.index(site.last) + 1
                facts = self._conditions.facts(site.guard)
                self._parts.append(_Part((-1 - n, 0), site.last, facts, {n}, [(site.block, place)]))
        self._exclusive()
        groups: dict[int, list[Site]] = {}
        for n, site in enumerate(self._sites):
            groups.setdefault(self._first(n), []).append(site)
        apart = frozenset([part.condition.uid for part in self._parts if self._comes_again(part)])
        return Meetings([g for g in groups.values() if len(g) > 1], apart)

    # --- branches -------------------------------------------------------------------------------------------------

    def _branch(self, b: Block, end: int) -> None:
        """Join the sites of both sides of a branch, and note those of each."""
        stays = [(b.id, s.id) not in self._cut for s in b.succs]
        inner = [onward([s], (end, b.id), self._cut) for s, stay in zip(b.succs, stays, strict=True) if stay]
        if len(inner) > 1:
            if any(side & self._whole for side in inner):
                return
            for n, m in self._pairs([self._within(side) for side in inner]):
                self._join(n, m)
        sides = inner
        if not all(stays):
            # Threads that leave for the exit have what runs up to there on their side, the others what they run without them.
            sides = [onward([s], (b.id,)) for s in b.succs]
            if any(side & self._products for side in sides):
                return
            if sum(not side.isdisjoint(self._whole) for side in sides) > 1:
                return
        found = [self._within(side) for side in sides]
        last = b.insts[-1]
        plain = last.op is OP_BRA and not last.src and in_file(last.guard, K_P)
        for k, mine in enumerate(found):
            own = mine.difference(*[other for j, other in enumerate(found) if j != k])
            if not all(stays):
                own &= self._met([(b.succs[k], 0)], own)[0]
            if own:
                condition = last.guard if k else last.guard ^ INV
                facts = self._conditions.facts(condition) if plain else []
                starts = [(s, 0) for j, s in enumerate(b.succs) if j != k]
                self._parts.append(_Part((b.id, k), last, facts, own, starts))

    def _within(self, blocks: set[int]) -> set[int]:
        """The sites in some blocks."""
        return {n for x in blocks if x in self._at for n in self._at[x]}

    def _pairs(self, sides: list[set[int]]) -> list[tuple[int, int]]:
        """Pairs that join all sites of a key, if two of the sides each have one that the other side lacks."""
        out: list[tuple[int, int]] = []
        for numbers in self._by_key(set().union(*sides)):
            own = [side.intersection(numbers) for side in sides]
            if any(a - z and z - a for k, a in enumerate(own) for z in own[:k]):
                out += [(numbers[0], n) for n in numbers[1:]]
        return out

    def _by_key(self, numbers: set[int]) -> list[list[int]]:
        """The sites of each key, in program order."""
        out: dict[tuple[str, ...], list[int]] = {}
        for n in sorted(numbers):
            out.setdefault(self._sites[n].key, []).append(n)
        return list(out.values())

    # --- conditions -----------------------------------------------------------------------------------------------

    def _exclusive(self) -> None:
        """Join sites whose conditions exclude each other."""
        about: dict[tuple[int, Opnd], list[_Part]] = {}
        """The parts that a branch or a fact about an operand makes."""
        for part in self._parts:
            for topic in part.topics():
                about.setdefault(topic, []).append(part)
        for part in self._parts:
            keys = {self._sites[n].key for n in part.own}
            others: set[int] = set()
            for topic in part.topics():
                for other in about[topic]:
                    if not other.own <= others and part.excludes(other):
                        others |= other.own
            others = {n for n in others if self._sites[n].key in keys} - part.own
            if not others:
                continue
            met = others & self._met(part.starts, others)[0]
            for numbers in self._by_key(met | part.own):
                if not met.isdisjoint(numbers):
                    for n in numbers[1:]:
                        self._join(numbers[0], n)

    def _comes_again(self, part: _Part) -> bool:
        """True if threads that a condition excludes may find it true in another iteration, and meet the others at their operation."""
        met, blocks = self._met(part.starts, part.own)
        if part.own.isdisjoint(met):
            return False
        made = {vreg(o) for o in (part.condition.guard, *part.condition.src) if is_vreg(o)}
        return any(
            is_vreg(d) and vreg(d) in made
            for b in self._fn.blocks
            if b.id in blocks
            for inst in b.insts
            for d in inst.dst
        )

    def _met(self, starts: list[tuple[Block, int]], others: set[int]) -> tuple[set[int], set[int]]:
        """Sites that threads reach before they wait for all of the warp, and the blocks on the way.

        Those at `others` wait for threads with another condition only.
        """
        out: set[int] = set()
        seen: set[int] = set()
        work = list(starts)
        while work:
            b, start = work.pop()
            for place, n in self._events.get(b.id, ()):
                if place < start:
                    continue
                if n == _STOP:
                    break
                out.add(n)
                if n not in others and self._gathers(self._sites[n]):
                    break
            else:
                new = [s for s in b.succs if s.id not in seen]
                seen.update([s.id for s in new])
                work += [(s, 0) for s in new]
        return out, seen

    def _gathers(self, site: Site) -> bool:
        """True if all threads of the warp wait at a site for each other."""
        mask = site.sync.src[0]
        return site.guard == PT and is_imm(mask) and imm_value(mask) & _FULL_MASK == _FULL_MASK

    # --- groups ---------------------------------------------------------------------------------------------------

    def _first(self, n: int) -> int:
        """The number that stands for all that `n` is joined with."""
        joined = self._joined
        while joined[n] != n:
            joined[n] = joined[joined[n]]
            n = joined[n]
        return n

    def _join(self, n: int, m: int) -> None:
        self._joined[self._first(m)] = self._first(n)
