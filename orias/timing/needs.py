"""The checker's facts about operations: latencies, scoreboard needs, units that work in order."""

from typing import Final, final

from orias.analysis.access import B_BASE, UR_BASE
from orias.diag import Unsupported
from orias.isa.decode import Decoded
from orias.isa.op import F_AWAITS_ITSELF, F_LATE_UNIFORM, F_WGMMA, LOAD_STORE, Op
from orias.target import features
from orias.target.profile import profile_of_sm
from orias.timing.bounds import Minimum, overwrites
from orias.timing.distance_classes import KINDS, consumer_class, kind_of, producer_class
from orias.timing.latency import base_class, latency, reads_before, source_cycles
from orias.timing.minimum import minimum
from orias.timing.units import ALU, FMA, FP64, HALF, HALF_CMP, MMA, NEEDS_WRITE, Units, units

_GPR, _UGPR = KINDS.index("gpr"), KINDS.index("ugpr")


@final
class Facts:
    """The checker's facts for one latency class."""

    __slots__ = (
        "_early_phase_addresses", "_fixed", "_full_latency_overwrites", "_raw", "_self_waiting_products", "_sources", "_waw", "minimum", "overwritten", "sm",
        "units",
    )  # fmt: skip

    def __init__(self, sm: int) -> None:
        self.sm: Final[int] = sm
        profile = profile_of_sm(sm)
        self._full_latency_overwrites: Final[bool] = profile.has(features.FULL_LATENCY_OVERWRITES)
        self._early_phase_addresses: Final[bool] = profile.has(features.EARLY_PHASE_ADDRESSES)
        self._self_waiting_products: Final[bool] = profile.has(features.SELF_WAITING_PRODUCTS)
        self.units: Final[Units] = units(sm)
        self.minimum: Final[list[Minimum]] = [minimum(k, sm) for k in KINDS]
        self._fixed: Final[set[str]] = self.minimum[_GPR].producers() | self.minimum[_UGPR].producers()
        self.overwritten: Final[list[Minimum]] = [overwrites(k, sm) for k in KINDS]
        self._raw: dict[tuple[int, int, int, int], int] = {}
        self._waw: dict[tuple[int, int, int], int] = {}
        self._sources: dict[int, int] = {}

    def needs(self, d: Decoded) -> int:
        """NEEDS_WRITE and NEEDS_READ of :mod:`orias.timing.units` for one instruction; -1 for an unknown operation."""
        try:
            return self.units.needs(d.op, d.dst, d.src)
        except Unsupported:
            return -1

    def arithmetic(self, op: Op) -> bool:
        """True if the operation runs on a pipe that honours reuse flags."""
        return self.units.pipe(op) in (ALU, FMA, HALF, HALF_CMP, FP64, MMA)

    def late_uniform(self, op: Op) -> bool:
        """True if the operation reads uniform registers after issue.

        The compiler waits for more: ptxas overwrites the uniform address of SYNCS.CCTL a cycle later on every target, and
        those of UGETNEXTWORKID in the next iteration of a loop without a wait.
        """
        if not op.flags & F_LATE_UNIFORM or "CCTL" in op.mods or op.base == "UGETNEXTWORKID":
            return False
        return not (self._early_phase_addresses and "PHASECHK" in op.mods)

    def ends_reads(self, op: Op, reader: Op) -> bool:
        """True if an earlier `reader` has read its sources when `op` runs: BAR after operations of the load-store queue."""
        return op.base == "BAR" and reader.queue == LOAD_STORE

    def reads_first(self, reader: Decoded, writer: Decoded) -> bool:
        """True if both are in one queue, which reads the sources of the first before it writes the result of the second."""
        queue = reader.op.queue
        if queue in ("xu", "fp64", "tex", "mma", "dmma"):
            return queue == writer.op.queue
        return queue == LOAD_STORE and self.needs(writer) & NEEDS_WRITE != 0 and writer.op.queue == queue

    def raw(self, producer: Op, word: int, consumer: Decoded, unit: int, slot: int) -> int:
        """Minimum cycles from a fixed-latency result to its read."""
        if unit >= B_BASE or producer.flags & consumer.op.flags & F_WGMMA:
            # Products of a warpgroup run in order; anything else that uses their results needs a wait for the group.
            return 1
        kind = kind_of(unit, slot)
        key = (producer.ident, consumer.op.ident, kind << 8 | slot, word)
        n = self._raw.get(key)
        if n is None:
            column = consumer_class(consumer.op, consumer.src, slot, self.units)
            row = producer_class(producer, word, self.units)
            bound = self.minimum[kind].get(row, column)
            n = bound.cycles
            if (
                kind == _UGPR
                and self.minimum[kind].seen(row, column) > n
                and column.partition(".")[0] not in self._fixed
            ):
                # The units of variable latency get uniform registers the same way, so their few samples count together.
                n = max(n, self.minimum[kind].agreed(row, self._fixed))
            self._raw[key] = n
        return n

    def after_arrival(self, operation: Op) -> int:
        """Minimum cycles from the arrival of a warpgroup to its operation: as the compiler leaves, which is ptxas's minimum."""
        return latency(self.sm).after_arrival(operation)

    def waw(self, first: Op, second: Decoded, unit: int) -> int:
        """Minimum cycles between two writes of a register, the first of fixed latency."""
        if unit >= B_BASE:
            return 1
        kind = kind_of(unit, 0)
        key = (first.ident, second.op.ident, kind)
        n = self._waw.get(key)
        if n is None:
            row = base_class(first, self.units)
            column = base_class(second.op, self.units)
            if unit >= UR_BASE and row == column:
                # A pipe writes in order; ptxas leaves more cycles between predicates without need.
                n = 1
            elif not self.needs(second) & NEEDS_WRITE:
                # The second write must land later.  ptxas leaves more cycles where it had no reason to be close; on sm_75 it
                # always leaves a whole latency.
                first_cycles = self._own(kind, row)
                second_cycles = 1 if self._full_latency_overwrites else self._own(kind, column)
                n = min(self.overwritten[kind].get(row, column).cycles, max(1, first_cycles - second_cycles + 1))
            elif row.startswith("MMA."):
                n = self.overwritten[kind].get(row, "*").cycles
            else:
                # No late result lands as early as one of the short pipes; ptxas leaves some cycles more.
                n = 1
            self._waw[key] = n
        return n

    def _own(self, kind: int, row: str) -> int:
        """Cycles until readers of the same class can read a result (its first word, if it has two)."""
        return self.minimum[kind].get("WIDE.0" if row == "WIDE" else row, row).cycles

    def source_cycles(self, reader: Op) -> int:
        """Cycles for which a matrix or uniform operation of fixed latency reads its sources; 1 for any other operation."""
        n = self._sources.get(reader.ident)
        if n is None:
            n = source_cycles(reader, self.units, self.sm)
            self._sources[reader.ident] = n
        return n

    def war(self, reader: Op, writer: Decoded) -> int:
        """Minimum cycles from a read at issue to a write of the same register."""
        n = self.source_cycles(reader)
        if n == 1 or self.needs(writer) & NEEDS_WRITE or reads_before(reader, writer.op, self.units, self.sm):
            return 1
        return n

    def waits_for_itself(self, d: Decoded) -> bool:
        """True if a stall count of 0 makes an operation wait for its completion: USETMAXREG, ERRBAR, matrix operations of -O0."""
        return d.op.flags & F_AWAITS_ITSELF != 0 or (d.op.base.endswith("MMA") and self._self_waiting_products)
