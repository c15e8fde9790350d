"""Control words for a given order of instructions: stall counts, scoreboards, wait masks, yield bits, NOPs as fillers.

Works on an allocated function whose blocks have their final order.  There are four steps:

1. *Events.*  An operation of variable latency has up to two events: its results arrive (W), its sources are read (R).
   A forward data flow over all paths finds the events that each instruction must wait for: W of a register that it
   reads or writes, R of a register that it writes.  A wait for W of an operation implies its R.
2. *Numbers.*  Every event with a wait gets one of six scoreboards, by the rules of ptxas
   (``docs/facts/scheduling.md``, "Scoreboards"): the lowest free one, for global loads from 2 up, a shared one when
   none is free.
3. *Waits.*  The data flow again, now with scoreboards: a wait clears all events of its scoreboard.
4. *Stalls.*  Distances between fixed-latency results and their uses, along all paths; NOPs extend a stall count that is
   too large for its field.

Calls and returns wait for everything: no event is pending at the start of a function or after a call.
"""

from typing import Final, final

from orias.analysis.access import B_BASE, P_BASE, SLOT_GUARD, UP_BASE, UR_BASE, accesses
from orias.analysis.liveness import members
from orias.isa.gmma_forms import ARRIVE
from orias.isa.op import (
    F_AWAITED,
    F_BARRIER,
    F_CALL,
    F_CLOSES_GROUP,
    F_FENCE,
    F_INVALIDATES_CONSTANTS,
    F_KEEPS_TURN,
    F_LATE_UNIFORM,
    F_ORDERED,
    F_ORDERS,
    F_PARTIAL,
    F_PINNED,
    F_READ,
    F_RETURNS,
    F_SIDE,
    F_WGMMA,
    F_WGMMA_SYNC,
    F_WRITE,
    Op,
    op,
)
from orias.isa.operand import K_SB, PT, kind_of, payload
from orias.ori.ir import ACQUIRES, Block, Func, Inst
from orias.ori.reads_writes import Access
from orias.schedule.board_choice import SCOREBOARDS
from orias.schedule.board_numbers import number_events
from orias.schedule.control_rows import WAITS_FOR_ACQUIRES, WAITS_FOR_LOADS, Event, Row
from orias.schedule.deps import may_acquire
from orias.schedule.stalls import Stalls
from orias.timing.ctl import (
    MAX_STALL,
    MAX_YIELD_STALL,
    NO_BARRIER,
    pack,
)
from orias.timing.latency import Latency, latency
from orias.timing.units import (
    ALU,
    FMA,
    FP64,
    HALF,
    HALF_CMP,
    NEEDS_READ,
    NEEDS_WRITE,
    UNIFORM,
    takes_waits,
)

_NOP: Final = op("NOP")
_ORDER: Final = 255
"""The unit of RZ, which no instruction accesses, represents what fences order: the completion of MEMBAR, FENCE, SYNCS.EXCH, SYNCS.CCTL
and USETMAXREG, which have no register result to wait for.  Barriers of the block wait for it too: other warps rely on it."""
_FENCED: Final = UP_BASE + 7
"""The unit of UPT represents what a MEMBAR of the CTA has ordered, where that is late: the next instruction, whichever, waits for it.
It is also the result of accesses without one, for which an acquire waits."""
_CONSTANTS: Final = UR_BASE + 255
"""The unit of URZ represents the constant cache: what UTMACCTL waits for."""
_NOT_BETWEEN: Final = F_WGMMA | F_WGMMA_SYNC | F_SIDE | F_WRITE | F_PINNED
_VECTOR: Final = frozenset((ALU, FMA, HALF, HALF_CMP, FP64, UNIFORM))
"""Pipes whose operations clear the yield bit at a stall of 3 and more, and of 2 where the warp has had a long turn."""
_TURN: Final = 10
"""Cycles since the last cleared yield bit of a block after which a stall of 2 clears it too."""


def assign(fn: Func) -> None:
    """Set ``Inst.ctl`` of every instruction of `fn`, inserting NOPs where a distance exceeds the stall field."""
    _Assigner(fn).run()


_Pending = dict[int, int]
"""Twice a unit (results; odd: late reads of it) -> set of pending events, as a bit mask."""


@final
class _Proofs:
    """What is known of earlier events when an event of the same block has been waited for: units work in order."""

    __slots__ = ("_proved", "_proving", "_set")

    def __init__(self) -> None:
        self._proved: Final[dict[int, int]] = {}
        self._proving: int = 0
        """The events of the block that prove others, as a bit mask."""
        self._set: int = 0
        """The events of the block up to here."""

    def add(self, event: int, proved: int) -> None:
        """An event of the next instruction (-1: none) and the earlier ones that it proves."""
        if event >= 0 and proved:
            self._proved[event] = proved
            self._proving |= 1 << event

    def issued(self, event: int) -> None:
        """An event (-1: none) is pending from here on."""
        if event >= 0:
            self._set |= 1 << event

    def of(self, events: int) -> int:
        """The events that some events prove; not those that the block has set anew after these."""
        found = events & self._proving
        out = 0
        for n in members(found) if found else ():
            out |= self._proved[n] & ~(self._set >> n << n)
        return out


@final
class _Assigner:
    __slots__ = (
        "acquired", "async_used", "awaited", "blocks", "boards", "clears", "events", "fn", "index", "lat", "loaded", "needed", "numbered",
        "pairs", "queued_reads", "results_in_order", "rows",
    )  # fmt: skip

    def __init__(self, fn: Func) -> None:
        self.fn: Func = fn
        self.clears: list[int] = [0] * SCOREBOARDS
        self.lat: Latency = latency(fn.target.latency_class)
        self.blocks: list[Block] = fn.blocks
        self.index: dict[int, int] = {b.id: i for i, b in enumerate(fn.blocks)}
        self.events: list[Event] = []
        self.rows: list[list[Row]] = []
        self.async_used: bool = False
        self.awaited: int = 0
        """Set of the events of operations with F_AWAITED, as a bit mask."""
        self.loaded: int = 0
        """Set of the results of memory accesses."""
        self.acquired: int = 0
        """Those of them that may be of an acquire operation."""
        self.queued_reads: dict[str, int] = {}
        """The set of the readings of sources, by kind of operation (:attr:`orias.isa.op.Op.proves`); for those with a queue, which reads in order."""
        self.results_in_order: dict[str, int] = {}
        """The set of the results, by kind of operation; for those whose unit finishes in order."""
        self.pairs: int = 0
        """Set of the arrivals of results whose next event is the reading of the sources of the same instruction."""
        self.needed: int = 0
        """Set of the events that are waited for."""
        self.boards: list[int] = [0] * SCOREBOARDS
        """For each scoreboard, the set of its events."""
        self.numbered: int = 0
        """Set of the events with a scoreboard."""

    def run(self) -> None:
        self._collect()
        self._flow(False)
        number_events(self.fn, self.rows, self.events, self.needed, self.async_used)
        self._boards_known()
        self._flow(True)
        self._place_arrivals()
        Stalls(self.fn, self.lat, self.rows, self.index).run()
        self._write_back()

    def _place_arrivals(self) -> None:
        """Let the arrival of a warpgroup wait for its operation too, and issue what waits for nothing between the two.

        No warp stops between an arrival and its operation (:mod:`orias.schedule.late_arrivals`), which starts some cycles after it.
        """
        for rows in self.rows:
            for k in range(len(rows) - 1):
                first, second = rows[k], rows[k + 1]
                if first.inst.op is ARRIVE and second.inst.op.flags & F_WGMMA:
                    first.wait |= second.wait
                    second.wait = 0
                    own = {w >> 8 for w in first.access.writes}
                    gap = self.lat.after_arrival(second.inst.op) - 1
                    at = k
                    while at > 0 and k - at < gap and _goes_between(rows[at - 1], own):
                        at -= 1
                    rows.insert(at, rows.pop(k))

    # --- events ------------------------------------------------------------------------------------------------

    def _collect(self) -> None:
        fn = self.fn
        units = self.lat.units
        self.async_used = fn.has_flags(F_CLOSES_GROUP)
        ordered = fn.has_flags(F_ORDERED) and any(i.op.flags & F_ORDERED and i.op.base != "MEMBAR" for i in fn.insts())
        invalidates = fn.has_flags(F_INVALIDATES_CONSTANTS)
        fences = fn.has_flags(F_FENCE)
        for b in self.blocks:
            rows: list[Row] = []
            barrier: Op | None = None
            for inst in b.insts:
                needs = units.needs(inst.op, inst.dst, inst.src)
                row = Row(inst, accesses(inst, fn), needs)
                base = inst.op.base
                for o in inst.src:
                    if kind_of(o) == K_SB:
                        row.counts |= 1 << payload(o)
                row.wait_all = inst.op.flags & (F_CALL | F_RETURNS) != 0
                if ordered:
                    _order(row, rows[-1].inst.op.base if rows else "")
                if invalidates:
                    _after_invalidation(row)
                alone = fences and not row.access.writes and inst.op.flags & F_READ != 0 and may_acquire(inst.op)
                if needs & NEEDS_WRITE and (row.access.writes or alone or base == "LDGDEPBAR"):
                    row.write = self._event(inst.op, True)
                    found = [_FENCED << 1] if alone else [w >> 8 << 1 for w in row.access.writes if w >> 8 < B_BASE]
                    self.events[row.write].units = found
                    kind = inst.op.proves
                    if kind and inst.op.order:
                        self.results_in_order[kind] = self.results_in_order.get(kind, 0) | 1 << row.write
                    if inst.op.flags & F_AWAITED:
                        found.append(_ORDER << 1)
                        self.awaited |= 1 << row.write
                    if inst.op.flags & F_READ:
                        self.loaded |= 1 << row.write
                        if may_acquire(inst.op):
                            self.acquired |= 1 << row.write
                if needs & NEEDS_READ:
                    row.late_units = _late_units(inst, row.access)
                    if inst.op.flags & F_BARRIER and _ORDER in row.late_units:
                        row.late_units.remove(_ORDER)  # nothing waits for a barrier
                    if base == "MEMBAR" and "CTA" in inst.op.mods:
                        row.late_units.append(_FENCED)
                    if row.late_units or base == "UTMACMDFLUSH":
                        row.read = self._event(inst.op, False)
                        kind = inst.op.proves
                        if kind and inst.op.queue:
                            self.queued_reads[kind] = self.queued_reads.get(kind, 0) | 1 << row.read
                        self.events[row.read].units = [u << 1 | 1 for u in row.late_units]
                        if row.late_units and row.write >= 0:
                            self.pairs |= 1 << row.write
                row.ask()
                if fences:
                    if takes_waits(inst):
                        row.asks = [*row.asks, _FENCED << 1 | 1]
                    if base == "MEMBAR":
                        barrier = inst.op
                    elif inst.op.flags & (F_READ | F_WRITE):
                        barrier = None
                    elif inst.op in ACQUIRES:
                        row.acquires = (
                            WAITS_FOR_ACQUIRES if barrier is None else 0 if "SC" in barrier.mods else WAITS_FOR_LOADS
                        )
                rows.append(row)
            self.rows.append(rows)

    def _event(self, op: Op, write: bool) -> int:
        self.events.append(Event(op, write))
        return len(self.events) - 1

    # --- data flow ---------------------------------------------------------------------------------------------

    def _flow(self, numbered: bool) -> None:
        """Propagate pending events to a fixed point.

        Without numbers it notes which events are needed, and who waits for them; with numbers it fills the wait masks.
        """
        n = len(self.blocks)
        at_entry: list[_Pending] = [{} for _ in range(n)]
        seen = bytearray(n)
        queued = bytearray(n)
        queued[0] = 1
        # Iterate in block order: predecessors come first except along back edges.
        busy = True
        while busy:
            busy = False
            for i in range(n):
                if not queued[i]:
                    continue
                queued[i] = 0
                busy = True
                seen[i] = 1
                out = dict(at_entry[i])
                self._walk(i, out, numbered)
                for s in self.blocks[i].succs:
                    j = self.index[s.id]
                    entry = at_entry[j]
                    changed = not seen[j]
                    for unit, mask in out.items():
                        old = entry.get(unit, 0)
                        if mask & ~old:
                            entry[unit] = old | mask
                            changed = True
                    if changed:
                        queued[j] = 1
        for i in range(n):
            if not seen[i]:
                self._walk(i, {}, numbered)

    def _walk(self, block: int, pending: _Pending, numbered: bool) -> None:
        events = self.events
        open_ = 0
        for mask in pending.values():
            open_ |= mask
        proofs = _Proofs()
        for row in self.rows[block]:
            wanted = 0
            if pending:
                if row.wait_all:
                    for mask in pending.values():
                        wanted |= mask
                else:
                    for u in row.asks:
                        if u in pending:
                            wanted |= pending[u]
                    if row.acquires:
                        wanted |= open_ & (self.acquired if row.acquires == WAITS_FOR_ACQUIRES else self.loaded)
                    if row.inst.op.flags & F_PARTIAL:
                        # The rest of the result is older, but arrives before this part of it.
                        wanted &= ~self.awaited
            if wanted:
                cleared = self._wait(row, wanted & ~proofs.of(wanted), numbered) & open_
                cleared |= proofs.of(cleared) & open_
                open_ ^= cleared
                # Whichever are fewer: all units, or those of the events.
                touched = list(pending)
                if cleared.bit_count() < len(touched):
                    touched = [u for n in members(cleared) for u in events[n].units]
                for u in touched:
                    left = pending.get(u, 0)
                    if left & cleared:
                        left &= ~cleared
                        if left:
                            pending[u] = left
                        else:
                            del pending[u]
            if row.write >= 0 or row.read >= 0:
                self._prove(row, proofs, open_)
            if row.write >= 0 and not events[row.write].async_group:
                bit = 1 << row.write
                open_ |= bit
                if row.inst.op.flags & F_AWAITED:
                    # Its unit finishes operations in order: the last one stands for all before it on this path.
                    pending[_ORDER << 1] = pending.get(_ORDER << 1, 0) & ~self.awaited
                for u in events[row.write].units:
                    pending[u] = pending.get(u, 0) | bit
            if row.read >= 0 and not events[row.read].async_group:
                bit = 1 << row.read
                open_ |= bit
                for u in events[row.read].units:
                    pending[u] = pending.get(u, 0) | bit

    def _prove(self, row: Row, proofs: "_Proofs", pending: int) -> None:
        """Note what the events of an instruction prove about those that are pending when it issues.

        One without a guard: others may not be there.
        """
        inst = row.inst
        if inst.guard == PT:
            kind = inst.op.proves
            read = pending & self.queued_reads.get(kind, 0)
            proofs.add(row.write, read | pending & self.results_in_order.get(kind, 0))
            proofs.add(row.read, read)
        proofs.issued(row.write)
        proofs.issued(row.read)

    def _wait(self, row: Row, wanted: int, numbered: bool) -> int:
        """Record a wait; returns the events it clears."""
        results = wanted & self.pairs
        if not numbered:
            need = wanted & ~(results << 1)
            self.needed |= need
            row.note(need)
            return wanted | results << 1
        cleared = wanted
        # The sources of an instruction have been read when its results have arrived.
        left = wanted & ~((results & self.numbered) << 1)
        for n in range(SCOREBOARDS):
            if left & self.boards[n]:
                row.wait |= 1 << n
                cleared |= self.clears[n]
        return cleared

    # --- numbers -----------------------------------------------------------------------------------------------

    def _boards_known(self) -> None:
        """For each scoreboard, compute its events, and those that a wait for it clears."""
        for n, e in enumerate(self.events):
            if e.board >= 0:
                self.boards[e.board] |= 1 << n
        for k, board in enumerate(self.boards):
            self.numbered |= board
            self.clears[k] = board | (board & self.pairs) << 1
        for rows in self.rows:
            for row in rows:
                for n in (row.write, row.read):
                    if n >= 0 and self.events[n].board >= 0:
                        row.sets |= 1 << self.events[n].board

    # --- result ------------------------------------------------------------------------------------------------

    def _write_back(self) -> None:
        pipe = self.lat.units.pipe
        for b, rows in zip(self.blocks, self.rows, strict=True):
            out: list[Inst] = []
            turn = 0
            for row in rows:
                inst = row.inst
                assert row.stall <= MAX_STALL or not inst.is_terminator()
                write = self.events[row.write].board if row.write >= 0 else -1
                read = self.events[row.read].board if row.read >= 0 else -1
                stall = row.stall
                fill = 0
                if stall > MAX_STALL:
                    fill = stall - MAX_STALL
                    stall = MAX_STALL
                stays = _stays(pipe(inst.op), stall, turn) and not inst.op.flags & F_KEEPS_TURN
                turn = turn + stall if stays else 0
                inst.ctl = pack(
                    stall,
                    stays,
                    write if write >= 0 else NO_BARRIER,
                    read if read >= 0 else NO_BARRIER,
                    row.wait,
                )
                out.append(inst)
                while fill > 0:
                    part = min(fill, MAX_STALL)
                    nop = self.fn.new_inst(_NOP, [], [], loc=inst.loc)
                    nop.ctl = pack(part, False, NO_BARRIER, NO_BARRIER, 0)
                    out.append(nop)
                    fill -= part
            b.insts = out


def _stays(pipe: int, stall: int, turn: int) -> bool:
    """The yield bit as ptxas sets it (``docs/facts/scheduling.md``): vector operations up to a stall of 2, others up to 11.

    `turn`: cycles since the bit was last clear.
    """
    if stall == 0:
        return False
    if pipe in _VECTOR:
        return stall == 1 or (stall == 2 and turn < _TURN)
    return stall <= MAX_YIELD_STALL


def _goes_between(row: Row, registers: set[int]) -> bool:
    """True if an instruction may follow an arrival of a warpgroup whose operations use `registers`: it lets no warp wait."""
    if (
        row.wait
        or row.needs
        or row.counts
        or row.wait_all
        or row.inst.op.flags & _NOT_BETWEEN
        or row.inst.is_terminator()
    ):
        return False
    return not any(w >> 8 in registers for w in row.access.writes)


def _order(row: Row, before: str) -> None:
    """Add accesses of the order unit to an instruction; `before` is the mnemonic of the instruction before it."""
    flags = row.inst.op.flags
    access = Access()
    access.reads, access.writes = list(row.access.reads), list(row.access.writes)
    row.access = access
    if flags & F_ORDERS:
        access.writes.append(_ORDER << 8)
    elif flags & F_ORDERED or before == "USETMAXREG":
        access.reads.append(_ORDER << 8)


def _after_invalidation(row: Row) -> None:
    """Add accesses of a unit that stands for the constant cache: an invalidation writes it, UTMACCTL reads it."""
    op_ = row.inst.op
    invalidates = op_.flags & F_INVALIDATES_CONSTANTS != 0
    if not invalidates and op_.base != "UTMACCTL":
        return
    access = Access()
    access.reads, access.writes = list(row.access.reads), list(row.access.writes)
    (access.writes if invalidates else access.reads).append(_CONSTANTS << 8)
    row.access = access


def _late_units(inst: Inst, access: Access) -> list[int]:
    """Units that an instruction reads late: all but the guard and, as a rule, uniform registers."""
    out: list[int] = []
    uniform = inst.op.flags & F_LATE_UNIFORM != 0
    for r in access.reads:
        unit = r >> 8
        if r & 255 == SLOT_GUARD or unit >= B_BASE:
            continue
        if not uniform and not (unit < UR_BASE or P_BASE <= unit < UP_BASE):
            continue
        if unit not in out:
            out.append(unit)
    return out
