"""Scoreboards for the events of a function (step 2 of :mod:`orias.schedule.scoreboard`), in program order."""

from bisect import bisect_right
from itertools import accumulate
from typing import Final, final

from orias.analysis.cfg import dominators, find_loops
from orias.analysis.liveness import members
from orias.ori.ir import Block, Func
from orias.schedule.board_choice import ASYNC_SCOREBOARD, SCOREBOARDS, Again, Chooser, delay_of
from orias.schedule.control_rows import Event, Row

_DEEPEST: Final = 4
"""Loops in deeper ones count as these."""


def number_events(fn: Func, rows: list[list[Row]], events: list[Event], needed: int, async_used: bool) -> None:
    """Give each event that something waits for (`needed`, a bit mask) a scoreboard.

    Where loads before a loop that waits for them would take all scoreboards that its own loads could have, one is left to these if
    less is waited for then.
    """
    find_loops(fn, dominators(fn))
    numbering = _Numbering(fn.blocks, rows, events, set(members(needed)), async_used)
    if not numbering.choose(False):
        return
    first = [e.board for e in events]
    iterations = fn.knobs.sched_estimated_loop_iterations
    waited = numbering.time_waited(iterations)
    numbering.choose(True)
    if numbering.time_waited(iterations) >= waited:
        for e, board in zip(events, first, strict=True):
            e.board = board


@final
class _Numbering:
    """What the choice of scoreboards knows of a function."""

    __slots__ = (
        "again",
        "carried",
        "deepest",
        "depths",
        "ends",
        "events",
        "first_wait",
        "lowest",
        "near",
        "needed",
        "rows",
    )

    def __init__(
        self, blocks: list[Block], rows: list[list[Row]], events: list[Event], needed: set[int], async_used: bool
    ) -> None:
        self.rows: Final[list[list[Row]]] = rows
        """By block."""
        self.events: Final[list[Event]] = events
        self.needed: Final[set[int]] = needed
        self.lowest: Final[int] = ASYNC_SCOREBOARD + 1 if async_used else 0
        self.ends: Final[list[int]] = list(accumulate(len(block) for block in rows))
        """Of each block the place after its last instruction."""
        self.depths: Final[list[int]] = [b.depth for b in blocks]
        self.first_wait: Final[dict[int, int]] = {}
        """The first instruction below each event that waits for it, as a place in the function."""
        self.carried: Final[dict[int, int]] = {}
        """The first one above the event, in the next iteration of a loop."""
        self.again: Final[Again] = Again()
        """Further ones."""
        self._find_waits()
        self.near: Final[list[int]] = [0] * (self.ends[-1] + 1)
        """Before each place the events that are no results of distant loads."""
        self.deepest: int = 0
        """The depth of the innermost loop with a distant load that something waits for; 0 if there is none."""
        here = 0
        for block, depth in zip(rows, self.depths, strict=True):
            for row in block:
                self.near[here + 1] = self.near[here]
                here += 1
                for n in (row.write, row.read):
                    if n not in needed:
                        continue
                    if not (events[n].write and events[n].distant):
                        self.near[here] += 1
                    elif depth > self.deepest:
                        self.deepest = depth

    def _find_waits(self) -> None:
        known = before = 0
        awaited = 0
        here = -1
        for block in self.rows:
            for row in block:
                here += 1
                if row.waited:
                    waited = row.waited << row.first
                    found = waited & awaited
                    if found:
                        awaited ^= found
                        for n in members(found):
                            self.first_wait[n] = here
                    if found != waited:
                        self.again.add(here, (waited ^ found) & (1 << before) - 1)
                        later = (waited ^ found) >> before << before & ~known
                        if later:
                            known |= later
                            self.carried.update(dict.fromkeys(members(later), here))
                for n in (row.write, row.read):
                    if n >= 0:
                        before = n + 1
                        if n in self.needed:
                            awaited |= 1 << n

    def choose(self, spare: bool) -> bool:
        """Give the needed events scoreboards; True if a load before a loop has the last one that the loads in the loop could have alone.

        `spare`: it is left to these.
        """
        chooser = Chooser(self.again, self.lowest, spare)
        end = self.ends[-1]
        here = 0
        for block, block_end, depth in zip(self.rows, self.ends, self.depths, strict=True):
            for row in block:
                for n in (row.write, row.read):
                    if n < 0:
                        continue
                    e = self.events[n]
                    if e.async_group:
                        e.board = ASYNC_SCOREBOARD
                    elif n in self.needed:
                        wait = self.first_wait.get(n, end)
                        later = self._depth_at(wait) if block_end <= wait < end else 0
                        quiet = self.near[wait] == self.near[here + 1]
                        e.board = chooser.choose(e, here, wait, block_end, quiet, depth < later <= self.deepest)
                        if n in self.carried and (wait == end or self._depth_at(wait) < depth):
                            e.board = chooser.choose_carried(e, here, self.carried[n])
                        chooser.take(e, n, here, wait)
                here += 1
        return chooser.took_last

    def _depth_at(self, place: int) -> int:
        """Of the loop that a place is in."""
        return self.depths[bisect_right(self.ends, place)]

    def time_waited(self, iterations: int) -> int:
        """About how many cycles the function waits for its events, as they have scoreboards; only differences mean something.

        Each loop runs so many `iterations`.  One waits for what is set in it: what was set before the loop has come, but the
        waits for it stand there.
        """
        deepest = min(max(self.depths), _DEEPEST)
        total = 0
        for depth in range(deepest + 1):
            total += self._waited_at(depth) * iterations**depth
        return total

    def _waited_at(self, depth: int) -> int:
        """Cycles for which a loop of some depth, with the loops in it run once, waits for what is set at this depth."""
        waited = now = 0
        arrivals = [0] * SCOREBOARDS
        for block, found in zip(self.rows, self.depths, strict=True):
            own = min(found, _DEEPEST)
            if own < depth:
                continue
            for row in block:
                for n in members(row.waited) if row.waited else ():
                    late = arrivals[self.events[row.first + n].board] - now
                    if late > 0:
                        waited += late
                        now += late
                now += 1
                if own == depth:
                    for n in (row.write, row.read):
                        if n >= 0 and self.events[n].board >= 0:
                            e = self.events[n]
                            arrivals[e.board] = max(arrivals[e.board], now + delay_of(e))
        return waited
