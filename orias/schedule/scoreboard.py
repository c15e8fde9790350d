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

from orias.analysis.access import B_BASE, P_BASE, SLOT_GUARD, UP_BASE, UR_BASE, Access, accesses
from orias.analysis.liveness import members
from orias.isa.gmma_forms import ARRIVE
from orias.isa.op import (
    F_AWAITED,
    F_AWAITS_ITSELF,
    F_BARRIER,
    F_CALL,
    F_CLOSES_GROUP,
    F_CONSTMEM,
    F_DISTANT,
    F_FENCE,
    F_INVALIDATES_CONSTANTS,
    F_KEEPS_TURN,
    F_LATE_UNIFORM,
    F_MATRIX,
    F_ORDERED,
    F_ORDERS,
    F_PARTIAL,
    F_PINNED,
    F_READ,
    F_RETURNS,
    F_SIDE,
    F_SPECIAL,
    F_WGMMA,
    F_WGMMA_SYNC,
    F_WRITE,
    Op,
    op,
)
from orias.isa.operand import K_SB, kind_of, payload
from orias.ori.ir import ACQUIRES, Block, Func, Inst
from orias.target import features
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

SCOREBOARDS: Final = 6
_NOP: Final = op("NOP")
_FIRST_DISTANT: Final = 2
_CROSS_BLOCK_DISTANT: Final = 5
_ASYNC_SCOREBOARD: Final = 0
"""LDGDEPBAR, UTMACMDFLUSH and DEPBAR use this scoreboard; a function with them uses it for nothing else."""
_READ_DELAY: Final = 8
"""Instructions that may issue until sources have been read late; below, until near and distant results arrive.  They only tell which of
two scoreboards is better shared."""
_NEAR_DELAY: Final = 32
_DISTANT_DELAY: Final = 200
_ORDER: Final = 255
"""The unit of RZ, which no instruction accesses, represents what fences order: the completion of MEMBAR, FENCE, SYNCS.EXCH, SYNCS.CCTL
and USETMAXREG, which have no register result to wait for.  Barriers of the block wait for it too: other warps rely on it."""
_FENCED: Final = UP_BASE + 7
"""The unit of UPT represents what a MEMBAR of the CTA has ordered, where that is late: the next instruction, whichever, waits for it.
It is also the result of accesses without one, for which an acquire waits."""
_CONSTANTS: Final = UR_BASE + 255
"""The unit of URZ represents the constant cache: what UTMACCTL waits for."""
_ARRIVAL: Final = -1
"""No unit: the arrival of a warpgroup, for which its operation waits whether it uses registers or not."""
_WAITS_FOR_ACQUIRES: Final = 1
_WAITS_FOR_LOADS: Final = 2
_SETTER_DISTANCE: Final = 2
"""Cycles from an instruction that sets a scoreboard to one that waits for it (measured minimum on all targets)."""
_NOT_BETWEEN: Final = F_WGMMA | F_WGMMA_SYNC | F_SIDE | F_WRITE | F_PINNED
_HORIZON: Final = 48
"""Upper bound of all fixed latencies, in cycles."""
_VECTOR: Final = frozenset((ALU, FMA, HALF, HALF_CMP, FP64, UNIFORM))
"""Pipes whose operations clear the yield bit at a stall of 3 and more, and of 2 where the warp has had a long turn."""
_TURN: Final = 10
"""Cycles since the last cleared yield bit of a block after which a stall of 2 clears it too."""


def assign(fn: Func) -> None:
    """Set ``Inst.ctl`` of every instruction of `fn`, inserting NOPs where a distance exceeds the stall field."""
    _Assigner(fn).run()


@final
class _Event:
    """Arrival of the results (``write``) or completion of the source reads of one instruction."""

    __slots__ = ("async_group", "board", "distant", "units", "write")

    def __init__(self, op: Op, write: bool) -> None:
        self.units: list[int] = []
        """The units that it is pending for, as keys of ``_Pending``."""
        self.distant: bool = op.flags & F_DISTANT != 0
        self.write: bool = write
        self.board: int = -1
        self.async_group: bool = op.flags & F_CLOSES_GROUP != 0


@final
class _Row:
    """What the assigner knows about one instruction."""

    __slots__ = (
        "access", "acquires", "asks", "counts", "first", "guarded", "inst", "interval", "late", "late_units", "needs", "pipe", "read", "sets",
        "stall", "wait", "wait_all", "waited", "write",
    )  # fmt: skip

    def __init__(self, inst: Inst, access: Access, needs: int) -> None:
        self.inst: Inst = inst
        self.access: Access = access
        self.needs: int = needs
        self.asks: list[int] = []
        """The units for whose pending events it waits, as keys of ``_Pending``."""
        self.acquires: int = 0
        """_WAITS_FOR_ACQUIRES: waits for results of operations that acquire; _WAITS_FOR_LOADS: for those of all loads."""
        self.write: int = -1
        self.read: int = -1
        self.late_units: list[int] = []
        """Units whose reads are late."""
        self.sets: int = 0
        """Mask of the scoreboards that it sets."""
        self.counts: int = 0
        """Mask of the scoreboards that it reads, if it is a DEPBAR."""
        self.waited: int = 0
        """The needed events that it waits for, as a mask of which bit 0 is the event `first`."""
        self.first: int = 0
        self.wait: int = 0
        self.wait_all: bool = False
        self.stall: int = 1
        self.pipe: str = ""
        self.interval: int = 0
        """Cycles for which its pipe accepts no other operation."""
        self.late: int = 0
        """Cycles until its sources have been read."""
        self.guarded: bool = False

    def ask(self) -> None:
        """Note what the instruction waits for: results that it reads, results and late reads of what it writes."""
        if takes_waits(self.inst):
            self.asks = [r >> 8 << 1 for r in self.access.reads]
            for w in self.access.writes:
                u = w >> 8 << 1
                self.asks += (u, u | 1)

    def note(self, events: int) -> None:
        """Add to the events that it waits for; most wait for few, and then the mask without `first` is short."""
        events |= self.waited << self.first
        if events:
            self.first = (events & -events).bit_length() - 1
            self.waited = events >> self.first

    def look_up(self, lat: Latency) -> None:
        """Cache what the stall computation needs repeatedly."""
        o = self.inst.op
        self.pipe, self.interval, self.late = lat.pipe_key(o), lat.interval(o), lat.held(o)
        self.guarded = SLOT_GUARD in [r & 255 for r in self.access.reads]


_Pending = dict[int, int]
"""Twice a unit (results; odd: late reads of it) -> set of pending events, as a bit mask."""


@final
class _Again:
    """Where events are waited for again, on paths without their first wait: places in the function, ascending."""

    __slots__ = ("events", "next", "places")

    def __init__(self) -> None:
        self.places: list[int] = []
        self.events: list[int] = []
        """For each place, the set of events."""
        self.next: int = 0
        """The first place below the last one that was asked about."""

    def add(self, place: int, events: int) -> None:
        """Events that are waited for again at a place below all others."""
        if events:
            self.places.append(place)
            self.events.append(events)

    def nearest(self, events: int, here: int, end: int) -> int:
        """The first place between `here`, which never decreases, and `end` where one of some events is waited for; else `end`."""
        places = self.places
        while self.next < len(places) and places[self.next] <= here:
            self.next += 1
        k = self.next
        while k < len(places) and places[k] < end:
            if self.events[k] & events:
                return places[k]
            k += 1
        return end


@final
class _Held:
    """What one scoreboard stands for: its events, and the places where they are first waited for."""

    __slots__ = ("busy_until", "events", "taken", "waits")

    def __init__(self) -> None:
        self.busy_until: int = -1
        self.events: int = 0
        self.taken: list[tuple[int, int, int]] = []
        """Of each event, in program order: where it is set, where it is first waited for, and its :func:`_delay`."""
        self.waits: int = 0
        """The places of the first waits, as a bit mask."""


@final
class _Chooser:
    """Chooses scoreboards for the events of a function, in program order."""

    __slots__ = ("_again", "_held", "_lowest")

    def __init__(self, again: _Again, lowest: int) -> None:
        self._again: Final[_Again] = again
        self._lowest: Final[int] = lowest
        """The first scoreboard that may be used."""
        self._held: Final[list[_Held]] = [_Held() for _ in range(SCOREBOARDS)]

    def choose(self, e: _Event, here: int, wait: int, block_end: int, quiet: bool) -> int:
        """A scoreboard for an event at `here` that is first waited for at `wait`.

        `quiet`: no events but results of distant loads come in between.
        """
        held = self._held
        lowest = max(_FIRST_DISTANT, self._lowest) if e.write and e.distant else self._lowest
        if lowest == _FIRST_DISTANT and wait >= block_end and held[_CROSS_BLOCK_DISTANT].busy_until <= here:
            return _CROSS_BLOCK_DISTANT
        free = [n for n in range(lowest, SCOREBOARDS) if held[n].busy_until <= here]
        for n in free:
            if self._again.nearest(held[n].events, here, wait) == wait:
                return n
        if free:
            return free[0]
        # None is free: share the one where waits come early by least, then the one whose wait is nearest.  Results of distant loads
        # leave the lowest ones to events that are waited for soon.
        best, least = -1, (0, 0)
        for n in range(self._lowest if quiet else lowest, SCOREBOARDS):
            cost = self._early(held[n], _delay(e), here, wait), abs(held[n].busy_until - wait)
            if best < 0 or cost < least:
                best, least = n, cost
        return best

    def _early(self, held: _Held, own: int, here: int, wait: int) -> int:
        """By how much waits come early if an event at `here` that comes after `own` shares a scoreboard."""
        early = 0
        for set_at, other, delay in reversed(held.taken):
            if set_at + _DISTANT_DELAY <= wait:
                # Neither this event nor those before it have more to wait for at that place.
                break
            if other > wait:
                early = max(early, delay - (wait - set_at))
        below = held.waits >> here + 1
        first = here + (below & -below).bit_length() if below else wait
        nearest = min(first, self._again.nearest(held.events, here, wait))
        return max(early, own - (nearest - here)) if nearest < wait else early

    def take(self, e: _Event, n: int, here: int, wait: int) -> None:
        """Note that event `n` at `here`, first waited for at `wait`, has the scoreboard that was chosen for it."""
        held = self._held[e.board]
        held.busy_until = max(held.busy_until, wait)
        held.taken.append((here, wait, _delay(e)))
        held.waits |= 1 << wait
        held.events |= 1 << n


@final
class _Assigner:
    __slots__ = (
        "acquired", "async_used", "awaited", "blocks", "boards", "clears", "events", "fn", "index", "lat", "loaded", "needed", "numbered",
        "pairs", "rows",
    )  # fmt: skip

    def __init__(self, fn: Func) -> None:
        self.fn: Func = fn
        self.clears: list[int] = [0] * SCOREBOARDS
        self.lat: Latency = latency(fn.target.latency_class)
        self.blocks: list[Block] = fn.blocks
        self.index: dict[int, int] = {b.id: i for i, b in enumerate(fn.blocks)}
        self.events: list[_Event] = []
        self.rows: list[list[_Row]] = []
        self.async_used: bool = False
        self.awaited: int = 0
        """Set of the events of operations with F_AWAITED, as a bit mask."""
        self.loaded: int = 0
        """Set of the results of memory accesses."""
        self.acquired: int = 0
        """Those of them that may be of an acquire operation."""
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
        self._number()
        self._boards_known()
        self._flow(True)
        self._place_arrivals()
        _Stalls(self.fn, self.lat, self.rows, self.index).run()
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
            rows: list[_Row] = []
            barrier: Op | None = None
            for inst in b.insts:
                needs = units.needs(inst.op, inst.dst, inst.src)
                row = _Row(inst, accesses(inst, fn), needs)
                base = inst.op.base
                for o in inst.src:
                    if kind_of(o) == K_SB:
                        row.counts |= 1 << payload(o)
                row.wait_all = inst.op.flags & (F_CALL | F_RETURNS) != 0
                if ordered:
                    _order(row, rows[-1].inst.op.base if rows else "")
                if invalidates:
                    _after_invalidation(row)
                alone = fences and not row.access.writes and inst.op.flags & F_READ != 0 and _may_acquire(inst.op)
                if needs & NEEDS_WRITE and (row.access.writes or alone or base == "LDGDEPBAR"):
                    row.write = self._event(inst.op, True)
                    found = [_FENCED << 1] if alone else [w >> 8 << 1 for w in row.access.writes if w >> 8 < B_BASE]
                    self.events[row.write].units = found
                    if inst.op.flags & F_AWAITED:
                        found.append(_ORDER << 1)
                        self.awaited |= 1 << row.write
                    if inst.op.flags & F_READ:
                        self.loaded |= 1 << row.write
                        if _may_acquire(inst.op):
                            self.acquired |= 1 << row.write
                if needs & NEEDS_READ:
                    row.late_units = _late_units(inst, row.access)
                    if inst.op.flags & F_BARRIER and _ORDER in row.late_units:
                        row.late_units.remove(_ORDER)  # nothing waits for a barrier
                    if base == "MEMBAR" and "CTA" in inst.op.mods:
                        row.late_units.append(_FENCED)
                    if row.late_units or base == "UTMACMDFLUSH":
                        row.read = self._event(inst.op, False)
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
                            _WAITS_FOR_ACQUIRES if barrier is None else 0 if "SC" in barrier.mods else _WAITS_FOR_LOADS
                        )
                rows.append(row)
            self.rows.append(rows)

    def _event(self, op: Op, write: bool) -> int:
        self.events.append(_Event(op, write))
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
                        wanted |= open_ & (self.acquired if row.acquires == _WAITS_FOR_ACQUIRES else self.loaded)
                    if row.inst.op.flags & F_PARTIAL:
                        # The rest of the result is older, but arrives before this part of it.
                        wanted &= ~self.awaited
            if wanted:
                cleared = self._wait(row, wanted, numbered) & open_
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

    def _wait(self, row: _Row, wanted: int, numbered: bool) -> int:
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

    def _number(self) -> None:
        """Assign scoreboards to the needed events, in program order."""
        order = [row for rows in self.rows for row in rows]
        needed = set(members(self.needed))
        first_wait, again = self._waits(order, needed)
        near = [0] * (len(order) + 1)
        for k, row in enumerate(order):
            near[k + 1] = near[k]
            for n in (row.write, row.read):
                if n in needed and not (self.events[n].write and self.events[n].distant):
                    near[k + 1] += 1
        chooser = _Chooser(again, _ASYNC_SCOREBOARD + 1 if self.async_used else 0)
        here = block_end = 0
        for rows in self.rows:
            block_end += len(rows)
            for row in rows:
                for n in (row.write, row.read):
                    if n < 0:
                        continue
                    e = self.events[n]
                    if e.async_group:
                        e.board = _ASYNC_SCOREBOARD
                    elif n in needed:
                        wait = first_wait.get(n, len(order))
                        e.board = chooser.choose(e, here, wait, block_end, near[wait] == near[here + 1])
                        chooser.take(e, n, here, wait)
                here += 1

    def _waits(self, order: list[_Row], needed: set[int]) -> tuple[dict[int, int], "_Again"]:
        """The first instruction below each event that waits for it, as a place in the function, and the further ones."""
        first_wait: dict[int, int] = {}
        again = _Again()
        before = 0
        awaited = 0
        for here, row in enumerate(order):
            if row.waited:
                waited = row.waited << row.first
                found = waited & awaited
                if found:
                    awaited ^= found
                    for n in members(found):
                        first_wait[n] = here
                if found != waited:
                    again.add(here, (waited ^ found) & (1 << before) - 1)
            for n in (row.write, row.read):
                if n >= 0:
                    before = n + 1
                    if n in needed:
                        awaited |= 1 << n
        return first_wait, again

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


def _delay(e: _Event) -> int:
    """Instructions that issue until an event comes, if nothing waits: a rough number."""
    if not e.write:
        return _READ_DELAY
    return _DISTANT_DELAY if e.distant else _NEAR_DELAY


def _stays(pipe: int, stall: int, turn: int) -> bool:
    """The yield bit as ptxas sets it (``docs/facts/scheduling.md``): vector operations up to a stall of 2, others up to 11.

    `turn`: cycles since the bit was last clear.
    """
    if stall == 0:
        return False
    if pipe in _VECTOR:
        return stall == 1 or (stall == 2 and turn < _TURN)
    return stall <= MAX_YIELD_STALL


def _may_acquire(o: Op) -> bool:
    """True for a memory access that may be an acquire operation: weak loads of global and local memory are none."""
    return "STRONG" in o.mods or not (o.base in ("LD", "LDL") or o.base.startswith("LDG"))


def _goes_between(row: _Row, registers: set[int]) -> bool:
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


def _order(row: _Row, before: str) -> None:
    """Add accesses of the order unit to an instruction; `before` is the mnemonic of the instruction before it."""
    flags = row.inst.op.flags
    access = Access()
    access.reads, access.writes = list(row.access.reads), list(row.access.writes)
    row.access = access
    if flags & F_ORDERS:
        access.writes.append(_ORDER << 8)
    elif flags & F_ORDERED or before == "USETMAXREG":
        access.reads.append(_ORDER << 8)


def _after_invalidation(row: _Row) -> None:
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


@final
class _Fixed:
    """A fixed-latency write, or a late read, that may be pending."""

    __slots__ = ("op", "time", "word")

    def __init__(self, op_: "Inst", word: int, time: int) -> None:
        self.op: Inst = op_
        self.word: int = word
        self.time: int = time


@final
class _Stalls:
    """Step 4.  Times are in cycles from the start of the block; results from predecessors have negative times."""

    __slots__ = ("blocks", "fn", "index", "lat", "rows")

    def __init__(self, fn: Func, lat: Latency, rows: list[list[_Row]], index: dict[int, int]) -> None:
        self.fn: Func = fn
        self.lat: Latency = lat
        self.rows: list[list[_Row]] = rows
        self.index: dict[int, int] = index
        self.blocks: list[Block] = fn.blocks

    def run(self) -> None:
        """Process blocks until no stall count grows; stall counts never shrink, so this terminates."""
        n = len(self.blocks)
        for rows in self.rows:
            for row in rows:
                row.stall = self.lat.min_stall(row.inst.op)
                row.look_up(self.lat)
        self._take_turns()
        exits: list[dict[int, list[_Fixed]]] = [{} for _ in range(n)]
        boards: list[list[int]] = [[-_HORIZON] * SCOREBOARDS for _ in range(n)]
        queued = bytearray(b"\x01" * n)
        busy = True
        while busy:
            busy = False
            for i in range(n):
                if not queued[i]:
                    continue
                queued[i] = 0
                busy = True
                entry, set_at = self._entry(i, exits, boards)
                short, out, set_out = self._block(i, entry, set_at)
                changed = not _same(out, exits[i]) or set_out != boards[i]
                exits[i], boards[i] = out, set_out
                if short > 0:
                    for p in self.blocks[i].preds:
                        j = self.index[p.id]
                        missing = self._shortage(i, exits[j], boards[j])
                        if missing > 0:
                            self._stretch(j, missing)
                            queued[j] = 1
                if changed:
                    for s in self.blocks[i].succs:
                        queued[self.index[s.id]] = 1

    def _take_turns(self) -> None:
        """Space the reads of constants and special registers with which a kernel starts.

        All warps of an SM start at once.  Without a stall one warp issues all of these reads before another one has its turn.  Where operations
        read constants themselves there are too few of them to matter.
        """
        if self.fn.kind == "entry" and not self.fn.target.has(features.CONSTANT_OPERANDS):
            for row in self.rows[0]:
                if row.inst.op.flags & F_DISTANT:
                    break
                if row.inst.op.flags & (F_CONSTMEM | F_SPECIAL):
                    row.stall = max(row.stall, self.fn.knobs.sched_start_stall)

    def _entry(
        self, i: int, exits: list[dict[int, list[_Fixed]]], boards: list[list[int]]
    ) -> tuple[dict[int, list[_Fixed]], list[int]]:
        merged: dict[int, list[_Fixed]] = {}
        set_at = [-_HORIZON] * SCOREBOARDS
        for p in self.blocks[i].preds:
            j = self.index[p.id]
            for unit, items in exits[j].items():
                have = merged.setdefault(unit, [])
                for x in items:
                    for y in have:
                        if y.op.op is x.op.op and y.word == x.word:
                            y.time = max(y.time, x.time)
                            break
                    else:
                        have.append(_Fixed(x.op, x.word, x.time))
            for k in range(SCOREBOARDS):
                set_at[k] = max(set_at[k], boards[j][k])
        return merged, set_at

    def _need(self, row: _Row, pending: dict[int, list[_Fixed]], set_at: list[int], seen_pipe: dict[str, int]) -> int:
        """Earliest issue time of an instruction."""
        lat = self.lat
        inst = row.inst
        earliest = -_HORIZON
        for r in row.access.reads:
            unit = r >> 8
            items = pending.get(unit)
            if items:
                slot = r & 255
                for x in items:
                    if x.word < 0:
                        # A late read constrains only writers of the register.
                        continue
                    chain = slot == 2 and x.op.op is inst.op and inst.op.flags & (F_MATRIX | F_WGMMA) != 0
                    t = x.time + lat.raw(x.op.op, x.word, inst.op, unit, slot, chain)
                    if t > earliest:
                        earliest = t
        for w in row.access.writes:
            unit = w >> 8
            items = pending.get(unit)
            if items:
                for x in items:
                    if x.word >= 0:
                        t = x.time + lat.waw(x.op.op, inst.op, unit)
                    else:
                        t = x.time + lat.war(x.op.op, inst.op)
                    if t > earliest:
                        earliest = t
        if inst.op.flags & F_WGMMA:
            for x in pending.get(_ARRIVAL, ()):
                earliest = max(earliest, x.time + lat.after_arrival(inst.op))
        boards = row.wait | row.counts
        if boards:
            for k in range(SCOREBOARDS):
                if boards >> k & 1:
                    earliest = max(earliest, set_at[k] + _SETTER_DISTANCE)
        if row.wait_all:
            stall = max(row.stall, lat.min_stall(inst.op))
            for unit, items in pending.items():
                for x in items:
                    if x.word >= 0:
                        earliest = max(earliest, x.time + self._settled(x, unit) - stall)
        return max(earliest, seen_pipe.get(row.pipe, earliest))

    def _settled(self, x: _Fixed, unit: int) -> int:
        """Cycles until a result is ready for any consumer."""
        n = self.lat.settle(x.op.op, unit)
        if unit < UR_BASE:
            return n + 4
        return n + (8 if unit < P_BASE else 10)

    def _block(
        self, i: int, entry: dict[int, list[_Fixed]], set_at: list[int]
    ) -> tuple[int, dict[int, list[_Fixed]], list[int]]:
        """Raise the stall counts inside a block.

        Returns the number of cycles by which its first instruction is too early, and the pending results and set times
        of scoreboards at its end, relative to the end.
        """
        rows = self.rows[i]
        pending = {u: list(v) for u, v in entry.items()}
        boards = list(set_at)
        seen: dict[str, int] = {}
        now = 0
        short = 0
        for k, row in enumerate(rows):
            earliest = self._need(row, pending, boards, seen)
            if earliest > now:
                if k == 0:
                    short = earliest - now
                else:
                    rows[k - 1].stall += earliest - now
                    now = earliest
            self._issue(row, pending, boards, seen, now)
            now += row.stall or (_HORIZON if row.inst.op.flags & F_AWAITS_ITSELF else 0)
        out: dict[int, list[_Fixed]] = {}
        for unit, items in pending.items():
            keep = [_Fixed(x.op, x.word, x.time - now) for x in items if now - x.time < _HORIZON]
            if keep:
                out[unit] = keep
        return short, out, [max(b - now, -_HORIZON) for b in boards]

    def _issue(
        self, row: _Row, pending: dict[int, list[_Fixed]], boards: list[int], seen: dict[str, int], now: int
    ) -> None:
        inst = row.inst
        seen[row.pipe] = now + row.interval
        if row.wait_all:
            pending.clear()
            return
        late = row.late
        if late > 1:
            for r in row.access.reads:
                pending.setdefault(r >> 8, []).append(_Fixed(inst, -late, now))
        if inst.op is ARRIVE:
            pending[_ARRIVAL] = [_Fixed(inst, 0, now)]
        fixed = not row.needs & NEEDS_WRITE
        for w in row.access.writes:
            unit = w >> 8
            if not row.guarded:
                pending.pop(unit, None)
            else:
                # The register may still hold an earlier result.
                items = pending.get(unit)
                if items and now - items[0].time >= _HORIZON:
                    pending[unit] = [x for x in items if now - x.time < _HORIZON]
            if fixed and unit < B_BASE:
                pending.setdefault(unit, []).append(_Fixed(inst, w >> 4 & 15, now))
        if row.sets:
            for k in range(SCOREBOARDS):
                if row.sets >> k & 1:
                    boards[k] = now

    def _shortage(self, i: int, entry: dict[int, list[_Fixed]], boards: list[int]) -> int:
        """Cycles by which the first instruction of a block is too early after one predecessor."""
        rows = self.rows[i]
        if not rows:
            return 0
        return max(0, self._need(rows[0], entry, boards, {}))

    def _stretch(self, j: int, cycles: int) -> None:
        """Lengthen a block by `cycles` at its end; cycles that a branch cannot stall go before it."""
        rows = self.rows[j]
        last = rows[-1]
        if not last.inst.is_terminator():
            last.stall += cycles
            return
        part = min(cycles, MAX_STALL - last.stall)
        last.stall += part
        if cycles > part:
            if len(rows) == 1:
                nop = _Row(self.fn.new_inst(_NOP, [], [], loc=last.inst.loc), Access(), 0)
                nop.look_up(self.lat)
                rows.insert(0, nop)
            rows[-2].stall += cycles - part


def _same(a: dict[int, list[_Fixed]], b: dict[int, list[_Fixed]]) -> bool:
    if a.keys() != b.keys():
        return False
    for unit, x in a.items():
        y = b[unit]
        if len(x) != len(y):
            return False
        for p, q in zip(x, y, strict=True):
            if p.op is not q.op or p.word != q.word or p.time != q.time:
                return False
    return True
