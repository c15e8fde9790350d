"""Time-aware runs: a result becomes visible when the control words guarantee it; an earlier read sees the old value.

Every warp has a clock that stall counts advance.  A result of fixed latency appears after its cycles (the distances of
:mod:`orias.timing.minimum`).  All other results, and the ends of late reads, appear only after a wait for their
scoreboard.  The rules are those of the static checker (:mod:`orias.check.hazard_flow`), applied to the one path that is
run.
"""

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from orias.analysis.access import B_BASE, P_BASE, SLOT_GUARD, UP_BASE, UR_BASE, unit_name
from orias.check.code import Node
from orias.check.hazard_flow import HORIZON, REUSE_REACH
from orias.isa.decode import Decoded
from orias.isa.isa_table import IsaTable
from orias.isa.op import F_CALL, F_TERM
from orias.isa.operand import K_SB, imm_value, is_imm, kind_of, payload
from orias.sim.core.sim_errors import Fault, HazardError
from orias.sim.core.state import Active, Machine
from orias.timing.needs import Facts

Arr = npt.NDArray[Any]

_SWEEP: Final = 64
"""Instructions between two removals of results that have arrived."""


class Violation:
    """A hazard that occurred.

    ``address`` and ``text``: the instruction (byte offset in its section); ``other``: the same of the instruction that
    it conflicts with; ``register``; ``rule``: raw, waw, war or reuse; ``block`` and ``warp``: its first occurrence;
    ``stale`` and ``value``: the value that was read and the right one (-1 where nothing was read); ``have``/``need``:
    cycles (-1: a scoreboard is missing).
    """

    __slots__ = (
        "address", "block", "have", "kernel", "need", "other", "register", "rule", "stale", "text", "thread", "value", "warp",
    )  # fmt: skip

    def __init__(self, rule: str, address: int, text: str, other: str, register: str) -> None:
        self.rule: Final[str] = rule
        self.kernel = ""
        self.address: Final[int] = address
        self.text: Final[str] = text
        self.other: Final[str] = other
        self.register: Final[str] = register
        self.thread = -1
        """Number of the thread in the batch."""
        self.block: tuple[int, int, int] = (0, 0, 0)
        self.warp = 0
        self.have = -1
        self.need = -1
        self.stale = -1
        self.value = -1

    def what(self) -> str:
        """Description of the hazard, without its location."""
        out = {
            "raw": "reads {} too early",
            "waw": "overwrites {} before an earlier result is there",
            "war": "overwrites {}, which may still be read",
            "reuse": "reads {}, of which an older value is kept",
        }[self.rule].format(self.register)
        out += f" ({self.other}"
        out += f": {self.have} of {self.need} cycles)" if self.need >= 0 else ")"
        if self.stale >= 0:
            out += f", sees 0x{self.stale:x} instead of 0x{self.value:x}"
        return out

    def line(self) -> str:
        """The hazard and its location in one line of text."""
        return f"{self.kernel} 0x{self.address:04x} ({self.text}), block {self.block} warp {self.warp}: {self.what()}"

    def record(self) -> dict[str, object]:
        """All fields, for JSON."""
        return {k: getattr(self, k) for k in sorted(self.__slots__) if k != "thread"}


class _Pending:
    """A result, or sources, still pending for some threads (for uniform registers, warps)."""

    __slots__ = ("live", "node", "old", "proofs", "since", "unit", "warp", "who", "word")

    def __init__(
        self, node: Node, unit: int, word: int, who: Arr, warp: Arr, since: Arr, proofs: int, old: Arr | None
    ) -> None:
        self.node = node
        self.unit = unit
        self.word = word
        self.who = who
        self.warp = warp
        self.since = since
        self.old = old
        """Values before the result; None for pending reads of sources."""
        self.live = np.ones(len(who), np.bool_)
        self.proofs = np.full(len(who), proofs, np.uint8)


class Watch:
    """The clocks and the pending values of a batch of blocks."""

    def __init__(
        self,
        m: Machine,
        facts: Facts,
        table: IsaTable,
        decoded: Callable[[int], Decoded | None],
        place: Callable[[int], tuple[int, str]],
        stop: bool,
        seen: set[tuple[str, int, int, int]],
        report: Callable[[Violation], None],
    ) -> None:
        self.m = m
        self.facts = facts
        self.table = table
        self.decoded = decoded
        self.place = place
        self.stop = stop
        self.seen = seen
        self.report = report
        self.now = np.zeros(m.warps, np.int64)
        self.fixed: dict[int, list[_Pending]] = {}
        self.late: list[_Pending] = []
        self.reading: list[_Pending] = []
        self.held: dict[int, list[_Pending]] = {}
        """The sources that operations of fixed latency read for more than a cycle, by unit."""
        self.kept_unit = np.full((4, m.warps), -1, np.int16)
        self.kept_stale = np.zeros((4, m.warps), np.bool_)
        self.kept_age = np.zeros((4, m.warps), np.int8)
        self.swapped: list[tuple[int, Arr, Arr]] = []
        self.node: Node | None = None
        self.old: list[tuple[int, int, Arr]] = []
        self.nodes: dict[int, Node | None] = {}
        self.count = 0

    def _row(self, unit: int) -> Arr:
        m = self.m
        row: Arr
        if unit < UR_BASE:
            row = m.R[unit]
        elif unit < P_BASE:
            row = m.UR[unit - UR_BASE]
        elif unit < UP_BASE:
            row = m.P[unit - P_BASE]
        else:
            row = m.UP[unit - UP_BASE]
        return row

    @staticmethod
    def _members(unit: int, a: Active) -> Arr:
        """The threads, or for a uniform unit the warps."""
        return a.warps if UR_BASE <= unit < P_BASE or unit >= UP_BASE else a.index

    # -- callbacks of an instruction

    def issue(self, pc: int, cur: Active) -> None:
        """The instruction issues for all its threads: it waits, then its guard is read."""
        if pc not in self.nodes:
            d = self.decoded(pc)
            self.nodes[pc] = None if d is None else Node(pc, d, self.facts)
        n = self.node = self.nodes[pc]
        if n is None:
            return
        self.count += 1
        if self.count % _SWEEP == 0:
            self._sweep()
        mask = n.wait
        if n.d.op.base == "DEPBAR":
            board = next((payload(o) for o in n.d.src if kind_of(o) == K_SB), -1)
            counts = [imm_value(o) for o in n.d.src if is_imm(o)]
            left = counts[0] if counts else 0
            # The second count is a mask of further scoreboards, each waited for until it is empty.
            mask |= counts[1] if len(counts) > 1 else 0
            if board >= 0 and left == 0:
                mask |= 1 << board
            elif board >= 0:
                self._oldest(board, left, cur)
        elif n.d.op.base == "BAR":
            inside = self._inside(cur)
            for p in self.reading:
                if self.facts.ends_reads(n.d.op, p.node.d.op):
                    p.live &= ~inside[p.warp]
        if mask:
            self._arrive(mask, cur)
        if n.guarded():
            self._look(n, cur, [(n.guard_unit(), SLOT_GUARD)])

    def read(self, act: Active) -> None:
        """The guard is known: the threads that run the instruction read its sources."""
        n = self.node
        if n is None:
            return
        self._restore(None)
        reads = [r for r in n.touch.reads if r[1] != SLOT_GUARD and r[0] < B_BASE]
        self._look(n, act, reads)
        self._kept(n, act)
        self._overwrite(n, act)
        self.old = []
        for u, word in n.touch.writes:
            if u < B_BASE:
                self.old.append((u, word, self._row(u)[self._members(u, act)].copy()))

    def done(self, cur: Active, act: Active | None) -> None:
        """The instruction has run; its results are pending."""
        n = self.node
        if n is None:
            return
        self._restore(act)
        warps = cur.warps
        self._prove(n, cur)
        if act is not None:
            self._send(n, act)
        self._keep(n, warps, act)
        self.now[warps] += n.stall or (HORIZON if self.facts.waits_for_itself(n.d) else 0)

    # -- details

    def _inside(self, a: Active) -> Arr:
        """A flag per warp."""
        inside = np.zeros(self.m.warps, np.bool_)
        inside[a.warps] = True
        return inside

    def _arrive(self, mask: int, cur: Active) -> None:
        """A wait: ends the pending entries of these warps that the scoreboards prove finished."""
        inside = self._inside(cur)
        bits = np.uint8(mask)
        finished: list[tuple[int, Arr]] = []
        for p in self.late:
            hit = p.live & (p.proofs & bits != 0) & inside[p.warp]
            if hit.any():
                p.live &= ~hit
                finished.append((p.node.index, p.warp[hit]))
        for p in self.reading:
            p.live &= ~((p.proofs & bits != 0) & inside[p.warp])
            for index, who in finished:
                if index == p.node.index:
                    p.live &= ~np.isin(p.warp, who)
        self.late = [p for p in self.late if p.live.any()]
        self.reading = [p for p in self.reading if p.live.any()]

    def _oldest(self, board: int, left: int, cur: Active) -> None:
        """DEPBAR.LE with a count: all but the last `left` users of a scoreboard have finished."""
        mine = [p for p in self.late if (p.proofs >> np.uint8(board) & 1).any()]
        order: list[int] = []
        for p in mine:
            if p.node.index not in order:
                order.append(p.node.index)
        free = set(order[: len(order) - left] if left < len(order) else [])
        inside = self._inside(cur)
        for p in mine:
            if p.node.index in free:
                p.live &= ~inside[p.warp]
        self.late = [p for p in self.late if p.live.any()]

    def _look(self, n: Node, a: Active, reads: list[tuple[int, int]]) -> None:
        """Replaces values that have not arrived by the old ones, for the reads of an instruction."""
        for u, slot in reads:
            for p in self.fixed.get(u, ()):
                need = self.facts.raw(p.node.d.op, p.word, n.d, u, slot)
                age = self.now[p.warp] - p.since
                hit = p.live & (age < need)
                if hit.any():
                    self._stale(n, a, p, hit, need)
            for p in self.late:
                if p.unit == u:
                    self._stale(n, a, p, p.live, -1)

    def _stale(self, n: Node, a: Active, p: _Pending, hit: Arr, need: int) -> None:
        who = hit & np.isin(p.who, self._members(p.unit, a), assume_unique=True)
        if not who.any():
            return
        assert p.old is not None
        row = self._row(p.unit)
        index = p.who[who]
        first = int(np.argmax(who))
        value, stale = int(row[p.who[first]]), int(p.old[first])
        have = int(self.now[p.warp[first]] - p.since[first]) if need >= 0 else -1
        self._tell("raw", n, p, first, have, need, stale, value)
        self.swapped.append((p.unit, index, row[index].copy()))
        row[index] = p.old[who]

    def _restore(self, act: Active | None) -> None:
        """Puts the new values back, except in registers that the instruction itself has written."""
        n = self.node
        while self.swapped:
            unit, index, values = self.swapped.pop()
            row = self._row(unit)
            if act is not None and n is not None and n.touch.write_set >> unit & 1:
                kept = ~np.isin(index, self._members(unit, act), assume_unique=True)
                row[index[kept]] = values[kept]
            else:
                row[index] = values

    def _kept(self, n: Node, act: Active) -> None:
        """Whether an operand comes from a reuse flag with a value that is older than its register's."""
        warps = act.warps
        if not (self.kept_unit[:, warps] >= 0).any():
            return
        for field, units in n.reuse_slots(self.table):
            bad = np.isin(self.kept_unit[field, warps], units) & self.kept_stale[field, warps]
            if bad.any():
                warp = int(warps[np.argmax(bad)])
                self._tell("reuse", n, None, warp, -1, -1, -1, -1, int(self.kept_unit[field, warp]))

    def _keep(self, n: Node, warps: Arr, act: Active | None) -> None:
        """What reuse flags keep after an instruction: it passes the operand stage in all warps, also where its guard is false."""
        if not n.reuse and not (self.kept_unit[:, warps] >= 0).any():
            return
        for field, units in n.reuse_slots(self.table):
            self.kept_unit[field, warps[np.isin(self.kept_unit[field, warps], units)]] = -1
            if n.reuse >> field & 1:
                self.kept_unit[field, warps] = units[0]
                self.kept_stale[field, warps] = False
                self.kept_age[field, warps] = 0
        if act is not None:
            for u, _ in n.touch.writes:
                if u < UR_BASE:
                    self.kept_stale[:, act.warps] |= self.kept_unit[:, act.warps] == u
        self.kept_age[:, warps] += 1
        old = (self.kept_age[:, warps] > REUSE_REACH) | bool(n.d.op.flags & (F_TERM | F_CALL))
        self.kept_unit[:, warps] = np.where(old, -1, self.kept_unit[:, warps])

    def _overwrite(self, n: Node, act: Active) -> None:
        for u, _ in n.touch.writes:
            if u >= B_BASE:
                continue
            members = self._members(u, act)
            for p in self.fixed.get(u, ()):
                need = self.facts.waw(p.node.d.op, n.d, u)
                self._clash("waw", n, p, members, p.live & (self.now[p.warp] - p.since < need), need)
            for p in self.held.get(u, ()):
                need = self.facts.war(p.node.d.op, n.d)
                self._clash("war", n, p, members, p.live & (self.now[p.warp] - p.since < need), need)
            for p in self.late:
                if p.unit == u and not (n.order and p.node.order == n.order):
                    self._clash("waw", n, p, members, p.live, -1)
            for p in self.reading:
                if p.unit == u and not self.facts.reads_first(p.node.d, n.d):
                    self._clash("war", n, p, members, p.live, -1)

    def _clash(self, rule: str, n: Node, p: _Pending, members: Arr, hit: Arr, need: int) -> None:
        if not hit.any():
            return
        who = hit & np.isin(p.who, members, assume_unique=True)
        if who.any():
            first = int(np.argmax(who))
            have = int(self.now[p.warp[first]] - p.since[first]) if need >= 0 else -1
            self._tell(rule, n, p, first, have, need, -1, -1)

    def _prove(self, n: Node, cur: Active) -> None:
        """A later operation of an in-order unit also proves the earlier ones finished, whether its guard holds or not."""
        proofs = 0 if n.write > 5 else 1 << n.write
        read = proofs if n.read > 5 else proofs | 1 << n.read
        if not n.queue or not read:
            return
        inside = self._inside(cur)
        for p in self.late:
            if n.order and p.node.order == n.order:
                p.proofs[inside[p.warp]] |= np.uint8(proofs)
        for p in self.reading:
            if p.node.queue == n.queue:
                p.proofs[inside[p.warp]] |= np.uint8(read)

    def _send(self, n: Node, act: Active) -> None:
        proofs = 0 if n.write > 5 else 1 << n.write
        read = proofs if n.read > 5 else proofs | 1 << n.read
        for u, word, old in self.old:
            who = self._members(u, act)
            uniform = who is act.warps
            warp = who if uniform else act.warp_of
            for other in (*self.fixed.get(u, ()), *self.held.get(u, ())):
                other.live &= ~np.isin(other.who, who, assume_unique=True)
            p = _Pending(n, u, word, who, warp, self.now[warp], read if n.early >> u & 1 else proofs, old)
            if n.fixed:
                self.fixed.setdefault(u, []).append(p)
            else:
                for other in self.late:
                    if other.unit == u:
                        other.live &= ~np.isin(other.who, who, assume_unique=True)
                self.late.append(p)
        if n.fixed and n.known and self.facts.source_cycles(n.d.op) > 1:
            for u, slot in n.touch.reads:
                if u < P_BASE and slot != SLOT_GUARD:
                    self.held.setdefault(u, []).append(self._read(n, u, act, 0))
        late = n.late
        while late:
            u = (late & -late).bit_length() - 1
            late &= late - 1
            boards = (0 if n.read > 5 else 1 << n.read) | (0 if n.fixed else proofs)
            self.reading.append(self._read(n, u, act, boards))

    def _read(self, n: Node, u: int, act: Active, boards: int) -> _Pending:
        """A read of a unit that is not over when its instruction has been issued."""
        who = self._members(u, act)
        warp = who if who is act.warps else act.warp_of
        return _Pending(n, u, 0, who, warp, self.now[warp], boards, None)

    def _sweep(self) -> None:
        for u in list(self.fixed):
            kept = self._recent(self.fixed[u])
            if kept:
                self.fixed[u] = kept
            else:
                del self.fixed[u]
        self.held = {u: kept for u, found in self.held.items() if (kept := self._recent(found))}
        self.late = [p for p in self.late if p.live.any()]

    def _recent(self, pending: list[_Pending]) -> list[_Pending]:
        return [p for p in pending if (p.live & (self.now[p.warp] - p.since < HORIZON)).any()]

    def _tell(
        self,
        rule: str,
        n: Node,
        p: _Pending | None,
        first: int,
        have: int,
        need: int,
        stale: int,
        value: int,
        unit: int = -1,
    ) -> None:
        unit = unit if p is None else p.unit
        key = (rule, n.index, -1 if p is None else p.node.index, unit)
        if key in self.seen:
            return
        self.seen.add(key)
        address, text = self.place(n.index)
        other = "kept by a reuse flag"
        if p is not None:
            other = "0x{:04x} {}".format(*self.place(p.node.index))
        v = Violation(rule, address, text, other, unit_name(unit))
        v.have, v.need, v.stale, v.value = have, need, stale, value
        if p is None:
            v.thread = 32 * first
        else:
            v.thread = int(p.who[first]) * (32 if UR_BASE <= p.unit < P_BASE or p.unit >= UP_BASE else 1)
        self.report(v)
        if self.stop:
            raise Fault(HazardError, v.what(), thread=v.thread)
