"""The choice of scoreboards for events, by the rules of ptxas (``docs/facts/scheduling.md``, "Scoreboards")."""

from bisect import bisect_left
from typing import Final, final

from orias.schedule.control_rows import Event

SCOREBOARDS: Final = 6
ASYNC_SCOREBOARD: Final = 0
"""LDGDEPBAR, UTMACMDFLUSH and DEPBAR use this scoreboard; a function with them uses it for nothing else."""
_FIRST_DISTANT: Final = 2
_CROSS_BLOCK_DISTANT: Final = 5
_READ_DELAY: Final = 8
"""Instructions that may issue until sources have been read late; below, until near and distant results arrive.  They only tell which of
two scoreboards is better shared."""
_NEAR_DELAY: Final = 32
_DISTANT_DELAY: Final = 200


@final
class Again:
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
        """Of each event, in program order: where it is set, where it is first waited for, and its :func:`delay_of`."""
        self.waits: int = 0
        """The places of the first waits, as a bit mask."""


@final
class Chooser:
    """Chooses scoreboards for the events of a function, in program order."""

    __slots__ = ("_again", "_held", "_lowest", "_spare", "took_last")

    def __init__(self, again: Again, lowest: int, spare: bool) -> None:
        self._again: Final[Again] = again
        again.next = 0
        self._spare: Final[bool] = spare
        """Whether one scoreboard for distant loads is left to the loops that wait for loads before them."""
        self.took_last: bool = False
        """Whether a load before a loop has the last free one of these."""
        self._lowest: Final[int] = lowest
        """The first scoreboard that may be used."""
        self._held: Final[list[_Held]] = [_Held() for _ in range(SCOREBOARDS)]

    def choose(self, e: Event, here: int, wait: int, block_end: int, quiet: bool, deeper: bool) -> int:
        """A scoreboard for an event at `here` that is first waited for at `wait`.

        `quiet`: no events but results of distant loads come in between.  `deeper`: `wait` is in a loop with distant loads that `here` is
        not in.
        """
        held = self._held
        lowest = max(_FIRST_DISTANT, self._lowest) if e.write and e.distant else self._lowest
        if lowest == _FIRST_DISTANT and wait >= block_end and held[_CROSS_BLOCK_DISTANT].busy_until <= here:
            return _CROSS_BLOCK_DISTANT
        free = [n for n in range(lowest, SCOREBOARDS) if held[n].busy_until <= here]
        left = -1
        if deeper and len(free) == 1 and lowest >= _FIRST_DISTANT:
            # The wait stands in every iteration.
            self.took_last = True
            if self._spare:
                left = free.pop()
        for n in free:
            if self._again.nearest(held[n].events, here, wait) == wait:
                return n
        if free:
            return free[0]
        # None is free: share the one where waits come early by least, then the one whose wait is nearest.  Results of distant loads
        # leave the lowest ones to events that are waited for soon.
        best, least = -1, (0, 0)
        for n in range(self._lowest if quiet else lowest, SCOREBOARDS):
            if n == left:
                continue
            cost = self._early(held[n], delay_of(e), here, wait), abs(held[n].busy_until - wait)
            if best < 0 or cost < least:
                best, least = n, cost
        return best

    def choose_carried(self, e: Event, here: int, place: int) -> int:
        """The scoreboard for an event that :meth:`choose` has just given one, and that the next iteration of a loop waits for at `place`.

        It keeps that scoreboard, unless loads that are on their way at `place` have it too.
        """
        held = self._held
        least = _left_at(held[e.board], place)
        best = e.board
        for n in range(self._lowest, SCOREBOARDS):
            left = _left_at(held[n], place)
            if left < least and held[n].busy_until <= here:
                best, least = n, left
        if least > 0:
            for n in range(self._lowest, SCOREBOARDS):
                left = _left_at(held[n], place)
                if left < least:
                    best, least = n, left
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

    def take(self, e: Event, n: int, here: int, wait: int) -> None:
        """Note that event `n` at `here`, first waited for at `wait`, has the scoreboard that was chosen for it."""
        held = self._held[e.board]
        held.busy_until = max(held.busy_until, wait)
        held.taken.append((here, wait, delay_of(e)))
        held.waits |= 1 << wait
        held.events |= 1 << n


def _left_at(held: _Held, place: int) -> int:
    """Instructions until all events of a scoreboard have come that are set before a place, and first waited for after it."""
    left = 0
    taken = held.taken
    for k in range(bisect_left(taken, (place, 0, 0)) - 1, -1, -1):
        set_at, wait, delay = taken[k]
        if set_at + _DISTANT_DELAY <= place:
            break
        if wait > place:
            left = max(left, delay - (place - set_at))
    return left


def delay_of(e: Event) -> int:
    """Instructions that issue until an event comes, if nothing waits: a rough number."""
    if not e.write:
        return _READ_DELAY
    return _DISTANT_DELAY if e.distant else _NEAR_DELAY
