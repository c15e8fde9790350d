"""What the assigner of control words knows about instructions and the events that others wait for (:mod:`orias.schedule.scoreboard`)."""

from typing import Final, final

from orias.analysis.access import SLOT_GUARD
from orias.isa.op import F_CLOSES_GROUP, F_DISTANT, Op
from orias.ori.ir import Inst
from orias.ori.reads_writes import Access
from orias.timing.latency import Latency
from orias.timing.units import takes_waits

WAITS_FOR_ACQUIRES: Final = 1
WAITS_FOR_LOADS: Final = 2


@final
class Event:
    """Arrival of the results (``write``) or completion of the source reads of one instruction."""

    __slots__ = ("async_group", "board", "distant", "units", "write")

    def __init__(self, op: Op, write: bool) -> None:
        self.units: list[int] = []
        """The units that it is pending for, as keys of the pending events (twice a unit; odd: late reads of it)."""
        self.distant: bool = op.flags & F_DISTANT != 0
        self.write: bool = write
        self.board: int = -1
        self.async_group: bool = op.flags & F_CLOSES_GROUP != 0


@final
class Row:
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
        """The units for whose pending events it waits, as keys of the pending events (twice a unit; odd: late reads of it)."""
        self.acquires: int = 0
        """WAITS_FOR_ACQUIRES: waits for results of operations that acquire; WAITS_FOR_LOADS: for those of all loads."""
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
