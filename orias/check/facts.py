"""What the checker knows of operations: latencies, scoreboard needs, units that work in order."""

from typing import Final, final

from orias.analysis.access import B_BASE, UR_BASE
from orias.check.classes import KINDS, consumer_class, kind_of, producer_class
from orias.check.minimum import minimum
from orias.diag import Unsupported
from orias.isa.decode import Decoded
from orias.isa.op import Op
from orias.isa.operand import K_R, KIND_MASK
from orias.schedule.bounds import Minimum, overwrites
from orias.schedule.latency import base_class
from orias.schedule.units import ALU, FMA, FP64, HALF, HALF_CMP, IN_ORDER, MMA, NEEDS_READ, NEEDS_WRITE, Units, units

_LOAD_STORE: Final[frozenset[str]] = frozenset((
    "LD", "LDG", "LDS", "LDL", "LDSM", "ST", "STG", "STS", "STL", "STSM", "ATOM", "ATOMG", "ATOMS", "RED", "REDG", "LDGSTS", "SHFL", "MOVM",
    "SYNCS", "UTMALDG", "UTMASTG", "UTMAREDG", "UTMAPF", "UBLKCP", "UBLKRED", "UBLKPF",
))  # fmt: skip
"""Operations of the load-store queue, which reads their sources in order, and before a later one of them writes."""


@final
class Facts:
    """Answers for one latency class."""

    __slots__ = ("_known", "_raw", "_waw", "minimum", "overwritten", "sm", "units")

    def __init__(self, sm: int) -> None:
        self.sm: Final[int] = sm
        self.units: Final[Units] = units(sm)
        self.minimum: Final[list[Minimum]] = [minimum(k, sm) for k in KINDS]
        self.overwritten: Final[list[Minimum]] = [overwrites(k, sm) for k in KINDS]
        self._raw: dict[tuple[int, int, int, int], int] = {}
        self._waw: dict[tuple[int, int, int], int] = {}
        self._known: dict[int, int] = {}

    def needs(self, d: Decoded) -> int:
        """NEEDS_WRITE and NEEDS_READ of :mod:`orias.schedule.units` for one instruction; -1 for an unknown operation."""
        base = d.op.base
        if base == "BMOV":
            if d.dst and d.dst[0] & KIND_MASK == K_R:
                return NEEDS_WRITE
            return NEEDS_READ if d.src and d.src[0] & KIND_MASK == K_R else 0
        if not d.src and base in ("CCTL", "CCTLL", "CCTLT"):
            return 0
        if base == "I2I":
            # ptxas gives it no scoreboard, on any target (saturating video instructions); we do, for want of sure latencies.
            return 0
        n = self._known.get(d.op.ident)
        if n is None:
            try:
                n = self.units.barriers(d.op)
            except Unsupported:
                n = -1
            self._known[d.op.ident] = n
        return n

    def order(self, op: Op) -> str:
        """Name of the unit that finishes its operations in order, or nothing."""
        return IN_ORDER.get(op.base, "")

    def queue(self, op: Op) -> str:
        """Name of the queue that reads the sources of its operations in order, or nothing."""
        return "load-store" if op.base in _LOAD_STORE else IN_ORDER.get(op.base, "")

    def arithmetic(self, op: Op) -> bool:
        """True if the operation is of a pipe whose operands reuse flags keep."""
        return self.units.pipe(op) in (ALU, FMA, HALF, HALF_CMP, FP64, MMA)

    def ends_reads(self, op: Op, reader: Op) -> bool:
        """True if the sources of an earlier `reader` have been read when `op` runs: BAR behind the load-store queue."""
        return op.base == "BAR" and reader.base in _LOAD_STORE

    def reads_first(self, reader: Decoded, writer: Decoded) -> bool:
        """True if the queue of both reads the sources of the first before it can write the result of the second."""
        queue = self.queue(reader.op)
        if queue in ("xu", "fp64", "tex", "mma", "dmma"):
            return queue == self.queue(writer.op)
        return queue == "load-store" and self.needs(writer) & NEEDS_WRITE != 0 and self.queue(writer.op) == queue

    def raw(self, producer: Op, word: int, consumer: Decoded, unit: int, slot: int) -> int:
        """Cycles from a fixed-latency result to a read of it."""
        if unit >= B_BASE:
            return 1
        kind = kind_of(unit, slot)
        key = (producer.ident, consumer.op.ident, kind << 8 | slot, word)
        n = self._raw.get(key)
        if n is None:
            column = consumer_class(consumer.op, consumer.src, slot, self.units)
            n = self.minimum[kind].get(producer_class(producer, word, self.units), column).cycles
            self._raw[key] = n
        return n

    def waw(self, first: Op, second: Decoded, unit: int) -> int:
        """Cycles between two writes, the first of fixed latency."""
        if unit >= B_BASE:
            return 1
        kind = kind_of(unit, 0)
        key = (first.ident, second.op.ident, kind)
        n = self._waw.get(key)
        if n is None:
            row = base_class(first, self.units)
            column = base_class(second.op, self.units)
            if unit >= UR_BASE and row == column:
                # One pipe writes in order; ptxas leaves more between predicates only by habit.
                n = 1
            elif not self.needs(second) & NEEDS_WRITE:
                # The second must land later.  What ptxas leaves is more where it had no reason to be close; on sm_75 it
                # always leaves a whole latency.
                first_cycles = self._own(kind, row)
                second_cycles = 1 if self.sm == 75 else self._own(kind, column)
                n = min(self.overwritten[kind].get(row, column).cycles, max(1, first_cycles - second_cycles + 1))
            elif row.startswith("MMA."):
                n = self.overwritten[kind].get(row, "*").cycles
            else:
                # No late result comes as fast as those of the short pipes, though ptxas leaves some cycles more.
                n = 1
            self._waw[key] = n
        return n

    def _own(self, kind: int, row: str) -> int:
        """Cycles until a result stands for readers of the same class; of two words, until the first does."""
        return self.minimum[kind].get("WIDE.0" if row == "WIDE" else row, row).cycles

    def waits_for_itself(self, d: Decoded) -> bool:
        """True if a stall count of 0 makes an operation wait for its own end: USETMAXREG, ERRBAR, and matrix operations of ``ptxas -O0``."""
        return d.op.base in ("USETMAXREG", "ERRBAR") or (d.op.base.endswith("MMA") and self.sm >= 80)
