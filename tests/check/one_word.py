"""Changes one field of one control word, and decides by walking every path whether that does harm.

The checker joins what may be true on all paths into one state; here each producer is followed alone, path by path, so the two
share facts about operations (:class:`~orias.timing.needs.Facts`) and no analysis.  A change is *harmful* if some path has a
read or a write closer than a distance that measurements are sure of, or without any proof that a late operation is done;
*harmless* if every distance on every path was seen in code of ptxas, or does not change; *open* else: the pair of
operations was never measured, or too seldom; *refused* if no instruction has that word.
"""

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from orias.analysis.access import B_BASE, P_BASE, SLOT_GUARD
from orias.check.code import CALLS, CALLS_AWAY, RETURNS, Node, connect
from orias.check.cubin import SectionCode
from orias.check.hazard_flow import HORIZON, REUSE_REACH
from orias.cubin.cubin_error import CubinError
from orias.isa.operand import INV, K_SB, imm_value, is_imm, kind_of, payload
from orias.timing.ctl import (
    NO_BARRIER,
    YIELD,
    read_barrier,
    reuse,
    stall,
    wait_mask,
    with_reuse,
    with_stall,
    write_barrier,
)
from orias.timing.distance_classes import consumer_class, producer_class
from orias.timing.distance_classes import kind_of as kind_of_read
from tests.control_words import with_control, with_read, with_wait, with_write

KINDS = ("stall", "wait", "write barrier", "read barrier", "other barrier", "reuse", "yield")
HARMFUL, HARMLESS, OPEN, REFUSED = "harmful", "harmless", "open", "refused"
_MOST_STATES = 4000
"""States of one producer's walk after which a verdict is left open."""
_DEEPEST = 2
Late = tuple[int, int, int, int, int, int, bool]
"""Proofs of the results, the reads and the early results of a late operation (-1: done), later uses of their scoreboards, and
whether its guard still has its value."""
Calls = tuple[int, ...]


@dataclass
class Change:
    kind: str
    index: int
    word: int


class TooManyPathsError(Exception):
    """A walk was given up."""


class Walker:
    """The walks of all producers of a section."""

    def __init__(self, code: SectionCode, words: list[int]) -> None:
        """`words`: the instructions of the section."""
        self.code, self.facts, self.words = code, code.facts, words
        self.nodes: list[Node] = list(code.nodes)
        connect(self.nodes, code.away, code.tables)
        self.sound = True
        self.open_before: dict[tuple[int, int, int], int] = {}
        self.through: dict[int, set[int]] = {}
        """The producers whose walk goes through an instruction."""
        self.visited: set[int] = set()
        self.leaders = {t for n in self.nodes for t in n.targets}
        self.sites = self._call_sites()
        for n in self.nodes:
            self.visited = set()
            bad, unsure = self.walk(n)
            self.sound = self.sound and not bad
            self.open_before.update(unsure)
            for i in self.visited:
                self.through.setdefault(i, set()).add(n.index)

    def _call_sites(self) -> dict[int, list[int]]:
        """For each return the calls that it may belong to."""
        out: dict[int, list[int]] = {}
        for call in self.nodes:
            if call.flow != CALLS or not call.falls:
                continue
            todo, seen = list(call.targets), set[int]()
            while todo:
                i = todo.pop()
                if i in seen or i >= len(self.nodes):
                    continue
                seen.add(i)
                n = self.nodes[i]
                if n.flow == RETURNS:
                    out.setdefault(i, []).append(call.index)
                if n.flow not in (CALLS, CALLS_AWAY):
                    todo += n.targets
                if n.falls:
                    todo.append(i + 1)
        return out

    def judge(self, change: Change) -> tuple[str, str]:
        """Verdict and reason."""
        i = change.index
        old = self.nodes[i]
        try:
            new = self.code.node(i, change.word)
        except CubinError:
            return REFUSED, "no instruction has this word"
        new.flow, new.falls, new.targets = old.flow, old.falls, old.targets
        if change.kind == "yield":
            return HARMLESS, "a hint"
        if change.kind == "reuse":
            return self._judge_reuse(new, new.reuse & ~old.reuse)
        self.nodes[i] = new
        try:
            verdict, why = HARMLESS, ""
            for p in sorted(self.through.get(i, set()) | {i}):
                bad, unsure = self.walk(self.nodes[p])
                if bad:
                    return HARMFUL, bad
                for key, cycles in unsure.items():
                    if cycles < self.open_before.get(key, HORIZON):
                        verdict, why = OPEN, f"{self._name(key[0])} to {self._name(key[1])}: {cycles} cycles"
            return verdict, why
        except TooManyPathsError:
            return OPEN, "too many paths"
        finally:
            self.nodes[i] = old

    def _name(self, index: int) -> str:
        return f"0x{16 * index:x} {self.nodes[index].d.op.name}"

    # -- walks

    def _next(self, n: Node, calls: Calls) -> Iterator[tuple[int, Calls]]:
        """The instructions that may follow; a call of other code ends a path."""
        after = n.index + 1
        if n.flow == CALLS and len(calls) < _DEEPEST and n.index not in calls:
            yield n.targets[0], (*calls, n.index)
            if n.guarded():
                yield after, calls
            return
        if n.flow in (CALLS, CALLS_AWAY):
            if n.falls and n.guarded():
                yield after, calls
            return
        if n.flow == RETURNS and calls:
            if self.nodes[calls[-1]].falls:
                yield calls[-1] + 1, calls[:-1]
        elif n.flow == RETURNS:
            # The producer is in the function that returns: any of its callers may go on.
            for site in self.sites.get(n.index, ()):
                yield site + 1, ()
        for t in n.targets:
            yield t, calls
        if n.falls:
            yield after, calls

    def _time(self, n: Node) -> int:
        return n.stall or (HORIZON if self.facts.waits_for_itself(n.d) else 0)

    def walk(self, p: Node) -> tuple[str, dict[tuple[int, int, int], int]]:
        """What breaks on some path from a producer, and the distances that nothing proves enough, by (producer, reader, unit)."""
        unsure: dict[tuple[int, int, int], int] = {}
        bad = self._fixed(p, unsure)
        if not bad and (p.late or (not p.fixed and p.touch.write_set & (1 << B_BASE) - 1)):
            bad = self._late(p)
        if not bad and (p.write < 6 or p.read < 6):
            bad = self._set(p)
        return bad, unsure

    def _guard_kept(self, p: Node, n: Node, same: bool) -> bool:
        return same and not (p.guarded() and n.touch.write_set >> p.guard_unit() & 1)

    @staticmethod
    def _exclusive(p: Node, n: Node, same: bool) -> bool:
        return same and p.guarded() and n.guarded() and p.guard ^ n.guard == INV

    def _fixed(self, p: Node, unsure: dict[tuple[int, int, int], int]) -> str:
        """Results of fixed latency, and sources that a matrix operation of fixed latency reads."""
        alive = p.touch.write_set & (1 << B_BASE) - 1 if p.fixed else 0
        words = dict(p.touch.writes)
        reading = self.facts.source_cycles(p.d.op) if p.fixed and p.known else 1
        sources = {u for u, s in p.touch.reads if u < P_BASE and s != SLOT_GUARD} if reading > 1 else set()
        if not alive and not sources:
            return ""
        best: dict[tuple[int, Calls, int, bool], int] = {}
        own = p.guarded() and p.touch.write_set >> p.guard_unit() & 1 == 0
        todo = [(i, c, self._time(p), alive, own) for i, c in self._next(p, ())]
        while todo:
            i, calls, t, left, same = todo.pop()
            if i >= len(self.nodes) or t >= HORIZON or best.get((i, calls, left, same), HORIZON) <= t:
                continue
            best[i, calls, left, same] = t
            if len(best) > _MOST_STATES:
                raise TooManyPathsError
            self.visited.add(i)
            n = self.nodes[i]
            if not self._exclusive(p, n, same):
                for u, slot in n.touch.reads:
                    if left >> u & 1:
                        bad = self._read(p, n, u, slot, words[u], t, unsure)
                        if bad:
                            return bad
                for u, _ in n.touch.writes:
                    if left >> u & 1 and t < self.facts.waw(p.d.op, n.d, u):
                        return f"{self._name(p.index)}, {self._name(i)}: second write after {t}"
                    if u in sources and t < self.facts.war(p.d.op, n.d):
                        return f"{self._name(p.index)}, {self._name(i)}: a source is replaced after {t}"
            if not n.guarded():
                left &= ~n.touch.write_set
            if left or (sources and t < reading):
                kept = self._guard_kept(p, n, same)
                todo += [(j, c, t + self._time(n), left, kept) for j, c in self._next(n, calls)]
        return ""

    def _read(
        self, p: Node, n: Node, u: int, slot: int, word: int, t: int, unsure: dict[tuple[int, int, int], int]
    ) -> str:
        need = self.facts.raw(p.d.op, word, n.d, u, slot)
        if t < need:
            return f"{self._name(p.index)} to {self._name(n.index)}: {t} of {need}"
        if u < B_BASE:
            column = consumer_class(n.d.op, n.d.src, slot, self.facts.units)
            row = producer_class(p.d.op, word, self.facts.units)
            seen = self.facts.minimum[kind_of_read(u, slot)].seen(row, column)
            if t < (seen or HORIZON):
                key = p.index, n.index, u
                unsure[key] = min(t, unsure.get(key, HORIZON))
        return ""

    def _set(self, p: Node) -> str:
        """A wait for a scoreboard less than two cycles after it is set."""
        boards = (1 << p.write if p.write < 6 else 0) | (1 << p.read if p.read < 6 else 0)
        todo = [(i, c, self._time(p)) for i, c in self._next(p, ())]
        while todo:
            i, calls, t = todo.pop()
            if i >= len(self.nodes) or t >= 2:
                continue
            self.visited.add(i)
            n = self.nodes[i]
            if n.wait & boards:
                return f"{self._name(i)} waits {t} cycles after the scoreboard is set"
            if self._time(n):
                todo += [(j, c, t + self._time(n)) for j, c in self._next(n, calls)]
        return ""

    def _late(self, p: Node) -> str:
        """Results and reads of a late operation."""
        proofs = 0 if p.write > 5 else 1 << p.write
        board = 0 if p.read > 5 else 1 << p.read
        results = p.touch.write_set & ~p.early & (1 << B_BASE) - 1
        own = p.guarded() and p.touch.write_set >> p.guard_unit() & 1 == 0
        first: Late = (
            proofs if not p.fixed and results else -1,
            board | (0 if p.fixed else proofs) if p.late else -1,
            board | proofs if p.early else -1,
            0, 0, 0, own,
        )  # fmt: skip
        seen: set[tuple[int, Calls, Late]] = set()
        todo = [(i, c, first) for i, c in self._next(p, ())]
        while todo:
            i, calls, state = todo.pop()
            if i >= len(self.nodes) or (i, calls, state) in seen:
                continue
            seen.add((i, calls, state))
            if len(seen) > _MOST_STATES:
                raise TooManyPathsError
            self.visited.add(i)
            n = self.nodes[i]
            state = self._waited(p, n, state)
            if state[0] < 0 and state[1] < 0 and state[2] < 0:
                continue
            bad = self._broken(p, n, state, results)
            if bad:
                return f"{self._name(p.index)}, {self._name(i)}: {bad}"
            state = self._issued(p, n, state)
            todo += [(j, c, state) for j, c in self._next(n, calls)]
        return ""

    def _waited(self, p: Node, n: Node, state: Late) -> Late:
        done = [False, False, False]
        masks, turns = list(state[:3]), state[3:6]
        if n.d.op.base == "DEPBAR":
            board = next((payload(o) for o in n.d.src if kind_of(o) == K_SB), -1)
            counts = [imm_value(o) for o in n.d.src if is_imm(o)]
            if board >= 0:
                left, others = (counts[0] if counts else 0), (counts[1] if len(counts) > 1 else 0)
                for k in range(3):
                    done[k] = masks[k] >= 0 and bool(masks[k] & others or (masks[k] >> board & 1 and turns[k] >= left))
        for k in range(3):
            done[k] = done[k] or (masks[k] >= 0 and bool(masks[k] & n.wait))
        if self.facts.ends_reads(n.d.op, p.d.op):
            done[1] = True
        if done[0]:
            done = [True, True, True]
        for k in range(3):
            if done[k]:
                masks[k] = -1
        return (masks[0], masks[1], masks[2], *turns, state[6])

    def _broken(self, p: Node, n: Node, state: Late, results: int) -> str:
        if self._exclusive(p, n, state[6]):
            return ""
        reads, writes = n.touch.read_set, n.touch.write_set
        if state[1] >= 0 and p.late & writes and not self.facts.reads_first(p.d, n.d):
            return "writes a source"
        for mask, mine in ((state[0], results), (state[2], p.early)):
            if mask >= 0 and mine & reads:
                return "reads a result"
            if mask >= 0 and mine & writes & (1 << B_BASE) - 1 and not (p.order and p.order == n.order):
                return "overwrites a result"
        return ""

    def _issued(self, p: Node, n: Node, state: Late) -> Late:
        masks, turns = list(state[:3]), list(state[3:6])
        for b in {n.write, n.read}:
            if b < 6:
                for k in range(3):
                    if masks[k] >= 0 and masks[k] >> b & 1:
                        turns[k] = min(7, turns[k] + 1)
        proofs = 0 if n.write > 5 else 1 << n.write
        read = proofs if n.read > 5 else proofs | 1 << n.read
        if n.queue and n.queue == p.queue and masks[1] >= 0:
            masks[1] |= read
        if n.order and n.order == p.order:
            for k in (0, 2):
                if masks[k] >= 0:
                    masks[k] |= proofs
        return (masks[0], masks[1], masks[2], turns[0], turns[1], turns[2], self._guard_kept(p, n, state[6]))

    def _judge_reuse(self, n: Node, flag: int) -> tuple[str, str]:
        """A field that keeps a register although the next reader of it in the field comes after a write."""
        for field, units in n.reuse_slots(self.code.table):
            if not flag >> field & 1:
                continue
            written, between = n.touch.write_set >> units[0] & 1 == 1, False
            for i in range(n.index + 1, min(n.index + 1 + REUSE_REACH, len(self.nodes))):
                before = self.nodes[i - 1]
                if before.flow or i in self.leaders:
                    return HARMLESS, "the block ends"
                y = self.nodes[i]
                mine = dict(y.reuse_slots(self.code.table)).get(field, [])
                if units[0] in mine:
                    if not written:
                        return HARMLESS, "the value is the same"
                    return (OPEN, "another register between") if between else (HARMFUL, "an old value is kept")
                if y.reuse >> field & 1 and mine:
                    return HARMLESS, "another register is kept"
                between = between or bool(mine)
                written = written or y.touch.write_set >> units[0] & 1 == 1
            return HARMLESS, "no reader"
        return HARMLESS, "no such field"

    # -- changes

    def changes(self, rng: random.Random, each: int) -> Iterator[Change]:
        """Places in random order, up to `each` of a kind."""
        places = [(n.index, k) for n in self.nodes for k in KINDS]
        rng.shuffle(places)
        made: Counter[str] = Counter()
        for i, kind in places:
            n = self.nodes[i]
            ctl = self._changed(n, kind, rng) if made[kind] < each and n.flow == 0 else None
            if ctl is not None:
                made[kind] += 1
                yield Change(kind, i, with_control(self.words[i], ctl))

    def _changed(self, n: Node, kind: str, rng: random.Random) -> int | None:
        ctl = n.d.ctl
        if kind == "stall":
            s = stall(ctl)
            return with_stall(ctl, rng.randint(1, s - 1)) if s > 1 else None
        if kind == "wait":
            bits = [b for b in range(6) if wait_mask(ctl) >> b & 1]
            return with_wait(ctl, wait_mask(ctl) & ~(1 << rng.choice(bits))) if bits else None
        if kind == "write barrier":
            return with_write(ctl, NO_BARRIER) if write_barrier(ctl) != NO_BARRIER else None
        if kind == "read barrier":
            return with_read(ctl, NO_BARRIER) if read_barrier(ctl) != NO_BARRIER else None
        if kind == "other barrier":
            w = write_barrier(ctl)
            return with_write(ctl, rng.choice([b for b in range(6) if b != w])) if w != NO_BARRIER else None
        if kind == "reuse":
            fields = [f for f, _ in n.reuse_slots(self.code.table) if not reuse(ctl) >> f & 1]
            return with_reuse(ctl, reuse(ctl) | 1 << rng.choice(fields)) if fields else None
        return ctl ^ YIELD
