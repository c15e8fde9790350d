"""The data flow analysis of the hazard checker, over all paths of a function and all registers.

A state describes what may be true before an instruction: which late results and late reads may be in flight and which
waits prove them done, and for each result of fixed latency the fewest cycles that can have passed.  States are
propagated to a fixed point; a function called inside the section is analysed separately for each call, so that it
returns only to its caller.
"""

from heapq import heappop, heappush
from typing import Final, final

from orias.analysis.access import B_BASE, P_BASE, SLOT_GUARD, unit_name
from orias.check.code import CALLS, CALLS_AWAY, GOES_ON, RETURNS, Node
from orias.check.touch import ARRIVAL
from orias.isa.isa_table import IsaTable
from orias.isa.op import F_READ, Op
from orias.isa.op import op as operation
from orias.isa.operand import INV, K_SB, imm_value, is_imm, kind_of, payload
from orias.timing.needs import Facts

INVALIDATES: Final[Op] = operation("CCTL.IVALL")
"""What an acquire at GPU or system scope ends with."""
_CLUSTER_WAIT: Final[Op] = operation("UCGABAR_WAIT")
"""A barrier of the cluster: an acquire after it is its own, for which no value has to arrive."""
HORIZON: Final = 64
"""Cycles after which every fixed-latency result has arrived."""
RESULT: Final = 0
"""Event: the results of an operation of variable latency."""
READS: Final = 1
"""Event: the end of the late reads of an operation."""
EARLY: Final = 2
"""Event: the results of an operation that arrive with the end of its reads."""
_KIND: Final = 3
_SAME_GUARD: Final = 1 << 6
"""In a mask of proofs: the guard predicate still has the value it had at issue."""
REUSE_REACH: Final = 8
"""Largest number of instructions for which a reuse flag keeps an operand (ptxas uses up to 7)."""
_MAX_DEPTH: Final = 2
"""Depth of nested calls that are analysed; deeper ones count as calls of other sections."""

Context = tuple[int, ...]
"""A *place*: the active calls, innermost last, and then the next instruction."""


class Finding:
    """One hazard.

    ``rule``: raw, waw, war, reuse, wait, control, acquire.  ``index``: the instruction at fault; ``other``: the instruction it
    conflicts with (-1: none).  ``unit``: the register (-1: none).  ``have``/``need``: cycles, for fixed latencies (-1
    else).
    """

    __slots__ = ("have", "index", "need", "other", "rule", "text", "unit")

    def __init__(self, rule: str, index: int, other: int, unit: int, text: str, have: int = -1, need: int = -1) -> None:
        self.rule: Final[str] = rule
        self.index: Final[int] = index
        self.other: Final[int] = other
        self.unit: Final[int] = unit
        self.text: Final[str] = text
        self.have: Final[int] = have
        self.need: Final[int] = need


class Observer:
    """Sees every distance between a fixed-latency result and a read of it (for measurements)."""

    def raw(self, producer: Node, word: int, consumer: Node, unit: int, slot: int, cycles: int) -> None:
        """A read of a result, `cycles` after the producer."""

    def waw(self, first: Node, second: Node, unit: int, cycles: int) -> None:
        """A second write, `cycles` after the first."""


@final
class _State:
    """What may be true before an instruction; times are cycles since the start of the block."""

    __slots__ = ("boards", "held", "pending", "results", "turn")

    def __init__(self) -> None:
        self.pending: dict[int, int] = {}
        """Event (node << 2 | RESULT, READS or EARLY) -> scoreboards whose wait proves the event complete on every path."""
        self.turn: dict[int, int] = {}
        """Event -> fewest later uses of its scoreboard (for DEPBAR)."""
        self.results: dict[int, dict[int, int]] = {}
        """Unit -> {(node << 4 | word) << 1 | guard unchanged: latest time of issue}."""
        self.held: dict[int, dict[int, int]] = {}
        """Unit -> {node << 5 | guard unchanged: latest time of issue} of the matrix and uniform operations that may still read it."""
        self.boards: list[int] = [-HORIZON] * 6
        """Latest time at which each scoreboard was set."""

    def aged(self, now: int) -> "_State":
        """A copy with times relative to `now`, without results older than HORIZON."""
        s = _State()
        s.pending = dict(self.pending)
        s.turn = dict(self.turn)
        _age(self.results, s.results, now)
        if self.held:
            _age(self.held, s.held, now)
        s.boards = [max(-HORIZON, t - now) for t in self.boards]
        return s

    def merge(self, other: "_State") -> bool:
        """Join another path into this state; True if anything changed."""
        changed = False
        for e, mask in other.pending.items():
            old = self.pending.get(e)
            if old is None:
                self.pending[e] = mask
                changed = True
            elif old & mask != old:
                self.pending[e] = old & mask
                changed = True
            was, now = self.turn.get(e), other.turn.get(e, 0)
            if was is None or now < was:
                self.turn[e] = now
                changed = True
        changed = _latest(self.results, other.results) or changed
        if other.held:
            changed = _latest(self.held, other.held) or changed
        for k in range(6):
            if other.boards[k] > self.boards[k]:
                self.boards[k] = other.boards[k]
                changed = True
        return changed


@final
class Flow:
    """One section under check."""

    __slots__ = ("facts", "findings", "kept", "leaders", "nodes", "observer", "table", "visited")

    def __init__(self, nodes: list[Node], facts: Facts, table: IsaTable, observer: Observer | None = None) -> None:
        self.nodes: Final[list[Node]] = nodes
        self.facts: Final[Facts] = facts
        self.table: Final[IsaTable] = table
        self.observer: Final[Observer | None] = observer
        self.findings: dict[tuple[str, int, int, int], Finding] = {}
        self.leaders: set[int] = set()
        self.kept: list[tuple[int, int, int, bool] | None] = [None] * 4
        """What each reuse field keeps: (node, first unit, age, overwritten)."""
        self.visited: set[int] = set()
        """Leaders of the blocks that were reached."""
        for n in nodes:
            if n.flow != GOES_ON:
                self.leaders.add(n.index + 1)
            self.leaders.update(n.targets)

    def run(self, entries: list[int]) -> list[Finding]:
        """Check the code reachable from the entries (instruction numbers)."""
        for n in self.nodes:
            self._legal(n)
        for e in entries:
            self.leaders.add(e)
        states: dict[Context, _State] = {(e,): _State() for e in entries}
        # Visit the lowest place first, and functions before the code after their calls: few blocks are visited twice.
        queue: list[Context] = sorted(states)
        queued = set(queue)
        while queue:
            place = heappop(queue)
            queued.discard(place)
            self.visited.add(place[-1])
            state = states[place].aged(0)
            for goal, after in self._block(place[:-1], place[-1], state):
                have = states.get(goal)
                if have is None:
                    states[goal] = after.aged(0)
                elif not have.merge(after):
                    continue
                if goal not in queued:
                    queued.add(goal)
                    heappush(queue, goal)
        return list(self.findings.values())

    def stretch(self, start: int, end: int) -> list[Finding]:
        """The first findings within a stretch without branches; they hold whatever code precedes it."""
        state, now = _State(), 0
        for n in self.nodes[start:end]:
            self._step(n, state, now)
            if self.findings:
                break
            now += self._issue_time(n)
        return list(self.findings.values())

    def _legal(self, n: Node) -> None:
        for b in (n.write, n.read):
            if b == 6:
                self._report("control", n, -1, -1, "scoreboard 6 does not exist")
        if n.known and n.fixed and n.write < 6 and n.touch.write_set:
            # The GPU does not count it up (seen on an H200, docs/gpu-runs.md): a wait for it passes at once.
            self._report("control", n, -1, -1, f"a result of fixed latency does not set scoreboard {n.write}")

    def _report(self, rule: str, n: Node, other: int, unit: int, text: str, have: int = -1, need: int = -1) -> None:
        key = (rule, n.index, other, unit)
        old = self.findings.get(key)
        if old is None or have < old.have:
            self.findings[key] = Finding(rule, n.index, other, unit, text, have, need)

    def _block(self, calls: Context, start: int, state: _State) -> list[tuple[Context, _State]]:
        """Run the instructions of a block; returns the states of the successors, by place."""
        now = 0
        self.kept = [None] * 4
        i = start
        while True:
            n = self.nodes[i]
            self._step(n, state, now)
            now += self._issue_time(n)
            if n.flow != GOES_ON:
                break
            i += 1
            if i >= len(self.nodes):
                return []
            if i in self.leaders:
                return [((*calls, i), state.aged(now))]
        after = state.aged(now)
        out: list[tuple[Context, _State]] = []
        if n.flow == CALLS and len(calls) < _MAX_DEPTH and n.index not in calls:
            out.append(((*calls, n.index, n.targets[0]), after))
            if n.guarded():
                out.append(((*calls, n.index + 1), after))
            return out
        if n.flow in (CALLS, CALLS_AWAY):
            if n.falls:
                out.append(((*calls, n.index + 1), after if n.guarded() else _State()))
            return out
        if n.flow == RETURNS and calls:
            caller = self.nodes[calls[-1]]
            if caller.falls:
                out.append(((*calls[:-1], caller.index + 1), after))
        out.extend(((*calls, t), after) for t in n.targets)
        if n.falls:
            out.append(((*calls, n.index + 1), after))
        return out

    # -- one instruction

    def _issue_time(self, n: Node) -> int:
        """Cycles from an instruction to the next one.  What a guard leaves out does not wait for itself."""
        return n.stall or (HORIZON if self.facts.waits_for_itself(n.d) and not n.guarded() else 0)

    def _step(self, n: Node, state: _State, now: int) -> None:
        self._wait(n, state, now)
        self._check(n, state, now)
        self._keep(n)
        self._issue(n, state, now)

    def _wait(self, n: Node, state: _State, now: int) -> None:
        mask = n.wait
        base = n.d.op.base
        if base == "DEPBAR":
            self._depbar(n, state)
        elif base == "BAR":
            for e in [e for e in state.pending if e & _KIND == READS]:
                if self.facts.ends_reads(n.d.op, self.nodes[e >> 2].d.op):
                    _finish(state, e)
        if not mask:
            return
        for k in range(6):
            if mask >> k & 1 and now - state.boards[k] < 2:
                self._report(
                    "wait",
                    n,
                    -1,
                    -1,
                    f"waits for SB{k} {now - state.boards[k]} cycles after it is set",
                    now - state.boards[k],
                    2,
                )
        done = [e for e, proofs in state.pending.items() if proofs & mask]
        for e in done:
            _finish(state, e)

    def _depbar(self, n: Node, state: _State) -> None:
        board = next((payload(o) for o in n.d.src if kind_of(o) == K_SB), -1)
        counts = [imm_value(o) for o in n.d.src if is_imm(o)]
        if board < 0:
            return
        left = counts[0] if counts else 0
        # The second immediate is a set of further scoreboards, each waited for completely.
        others = counts[1] if len(counts) > 1 else 0
        done = [
            e
            for e, proofs in state.pending.items()
            if proofs & others or (proofs >> board & 1 and state.turn.get(e, 0) >= left)
        ]
        for e in done:
            _finish(state, e)

    def _check(self, n: Node, state: _State, now: int) -> None:
        nodes = self.nodes
        reads, writes = n.touch.read_set, n.touch.write_set
        both = (reads | writes) & (1 << B_BASE) - 1
        for e, proofs in state.pending.items():
            p = nodes[e >> 2]
            if e & _KIND == READS:
                hit = p.late & writes
                if hit and not self.facts.reads_first(p.d, n.d) and not _exclusive(p, n, proofs & _SAME_GUARD != 0):
                    u = _lowest(hit)
                    self._report("war", n, p.index, u, f"writes {unit_name(u)}, which may still be read")
                continue
            hit = (p.early if e & _KIND == EARLY else p.touch.write_set & ~p.early) & both
            if not hit or _exclusive(p, n, proofs & _SAME_GUARD != 0):
                continue
            if hit & reads:
                u = _lowest(hit & reads)
                self._report("raw", n, p.index, u, f"reads {unit_name(u)} without a wait for its scoreboard")
            elif not (p.order and p.order == n.order):
                u = _lowest(hit)
                self._report("waw", n, p.index, u, f"overwrites {unit_name(u)} without a wait for its scoreboard")
        results = state.results
        for u, slot in n.touch.reads:
            entries = results.get(u)
            if entries:
                for key, t in entries.items():
                    p = nodes[key >> 5]
                    if _exclusive(p, n, key & 1 != 0):
                        continue
                    if u == ARRIVAL:
                        need = self.facts.after_arrival(n.d.op)
                        if now - t < need:
                            self._report("raw", n, p.index, -1, "starts too early after the arrival", now - t, need)
                        continue
                    word = key >> 1 & 15
                    if self.observer is not None:
                        self.observer.raw(p, word, n, u, slot, now - t)
                    need = self.facts.raw(p.d.op, word, n.d, u, slot)
                    if now - t < need:
                        self._report("raw", n, p.index, u, f"reads {unit_name(u)} too early", now - t, need)
        if state.held:
            self._check_sources(n, state, now)
        if n.d.op is INVALIDATES:
            self._check_acquire(n, state)
        for u, _ in n.touch.writes:
            entries = results.get(u)
            if entries:
                for key, t in entries.items():
                    p = nodes[key >> 5]
                    if _exclusive(p, n, key & 1 != 0):
                        continue
                    if self.observer is not None:
                        self.observer.waw(p, n, u, now - t)
                    need = self.facts.waw(p.d.op, n.d, u)
                    if now - t < need:
                        self._report("waw", n, p.index, u, f"overwrites {unit_name(u)} too early", now - t, need)

    def _check_sources(self, n: Node, state: _State, now: int) -> None:
        """Check that no result of fixed latency replaces a source that an operation of fixed latency still reads."""
        for u, _ in n.touch.writes:
            for key, t in state.held.get(u, {}).items():
                p = self.nodes[key >> 5]
                need = self.facts.war(p.d.op, n.d)
                if now - t < need and not _exclusive(p, n, key & 1 != 0):
                    text = f"overwrites {unit_name(u)}, which is still being read"
                    self._report("war", n, p.index, u, text, now - t, need)

    def _check_acquire(self, n: Node, state: _State) -> None:
        """Check that the value of an acquire has arrived where L1 is invalidated after it: else L1 may get older lines before.

        After a memory barrier that acquires every load before it has; one of fence.sc waits by itself.  Looks at one block.
        """
        for i in range(n.index - 1, -1, -1):
            p = self.nodes[i]
            op = p.d.op
            if p.flow != GOES_ON or op in (INVALIDATES, _CLUSTER_WAIT) or (op.base == "MEMBAR" and op.has("SC")):
                return
            acquires = _acquires(p)
            if op.base == "MEMBAR" or acquires:
                for e in state.pending:
                    load = self.nodes[e >> 2]
                    if e & _KIND == RESULT and load.d.op.flags & F_READ and (load is p or not acquires):
                        self._report(
                            "acquire", n, e >> 2, -1, "invalidates L1 before a value that it is for has arrived"
                        )
                return
            if i in self.leaders:
                return

    def _keep(self, n: Node) -> None:
        """Check and update the operands that reuse flags keep."""
        kept = self.kept
        if not n.reuse and kept == [None] * 4:
            return
        slots = n.reuse_slots(self.table)
        for field, units in slots:
            entry = kept[field]
            if entry is not None and entry[1] in units:
                if entry[3]:
                    u = entry[1]
                    self._report("reuse", n, entry[0], u, f"reads {unit_name(u)}, of which an older value is kept")
                kept[field] = None
            if n.reuse >> field & 1:
                kept[field] = (n.index, units[0], 0, False)
        for field in range(4):
            entry = kept[field]
            if entry is None:
                continue
            node, unit, age, stale = entry
            if age >= REUSE_REACH:
                kept[field] = None
            else:
                stale = stale or n.touch.write_set >> unit & 1 == 1
                kept[field] = (node, unit, age + 1, stale)

    def _issue(self, n: Node, state: _State, now: int) -> None:
        nodes = self.nodes
        proofs = 0 if n.write > 5 else 1 << n.write
        read = proofs if n.read > 5 else proofs | 1 << n.read
        if n.queue and read:
            # A later operation of an in-order unit proves the earlier ones complete.  One that has read its sources proves
            # that the earlier ones of its queue have read theirs.
            for e in state.pending:
                if e & _KIND == READS:
                    if nodes[e >> 2].queue == n.queue:
                        state.pending[e] |= read
                elif n.order and nodes[e >> 2].order == n.order:
                    state.pending[e] |= proofs
        results = state.results
        guarded = n.guarded()
        for u, word in n.touch.writes:
            if not guarded:
                # Who writes next comes after this write, which comes after what was there and was read before.
                results.pop(u, None)
                state.held.pop(u, None)
            if n.fixed and u < B_BASE:
                results.setdefault(u, {})[(n.index << 4 | word) << 1 | guarded] = now
        if n.fixed and n.known and self.facts.source_cycles(n.d.op) > 1:
            for u, slot in n.touch.reads:
                if u < P_BASE and slot != SLOT_GUARD:
                    state.held.setdefault(u, {})[n.index << 5 | guarded] = now
        preds = n.touch.write_set >> 512 & 0xFFFF
        if preds:
            self._forget_guards(n, state)
        for b in {n.write, n.read}:
            if b < 6:
                for e, have in state.pending.items():
                    if have >> b & 1:
                        state.turn[e] = state.turn.get(e, 0) + 1
                state.boards[b] = now
        same = _SAME_GUARD if guarded else 0
        event = n.index << 2
        if not n.fixed and (n.touch.write_set & ~n.early & (1 << B_BASE) - 1 or _acquires(n)):
            state.pending[event | RESULT] = proofs | same
            state.turn[event | RESULT] = 0
        if n.early:
            state.pending[event | EARLY] = read | same
            state.turn[event | EARLY] = 0
        if n.late:
            board = 0 if n.read > 5 else 1 << n.read
            if not n.fixed:
                board |= proofs
            state.pending[event | READS] = board | same
            state.turn[event | READS] = 0

    def _forget_guards(self, n: Node, state: _State) -> None:
        """After a write of a predicate, the instructions that it guarded may conflict with any other."""
        changed = n.touch.write_set
        nodes = self.nodes
        for e, proofs in state.pending.items():
            if proofs & _SAME_GUARD and changed >> nodes[e >> 2].guard_unit() & 1:
                state.pending[e] = proofs & ~_SAME_GUARD
        for entries in [*state.results.values(), *state.held.values()]:
            for key in [
                k for k in entries if k & 1 and changed >> nodes[k >> 5].guard_unit() & 1 and k >> 5 != n.index
            ]:
                t = entries.pop(key)
                entries[key & ~1] = max(t, entries.get(key & ~1, t))


def _age(entries: dict[int, dict[int, int]], out: dict[int, dict[int, int]], now: int) -> None:
    """Add the entries by unit to `out` with times relative to `now`, without those older than HORIZON."""
    for unit, times in entries.items():
        kept = {k: t - now for k, t in times.items() if now - t < HORIZON}
        if kept:
            out[unit] = kept


def _latest(entries: dict[int, dict[int, int]], other: dict[int, dict[int, int]]) -> bool:
    """Join entries by unit, the latest time of each; True if anything changed."""
    changed = False
    for unit, times in other.items():
        have = entries.setdefault(unit, {})
        for k, t in times.items():
            before = have.get(k)
            if before is None or t > before:
                have[k] = t
                changed = True
    return changed


def _finish(state: _State, e: int) -> None:
    state.pending.pop(e, None)
    state.turn.pop(e, None)
    if e & _KIND == RESULT:
        for other in (e | READS, e | EARLY):
            state.pending.pop(other, None)
            state.turn.pop(other, None)


def _acquires(n: Node) -> bool:
    """True for an access that may be an acquire, also one whose value goes nowhere."""
    return n.d.op.flags & F_READ != 0 and n.d.op.has("STRONG")


def _lowest(bits: int) -> int:
    return (bits & -bits).bit_length() - 1


def _exclusive(a: Node, b: Node, unchanged: bool) -> bool:
    """True if two guards cannot both hold: the same predicate with the same value, one negated."""
    return unchanged and a.guarded() and a.guard ^ b.guard == INV
