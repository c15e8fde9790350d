"""Code sections as instructions with control flow: what follows what, calls inside a section included."""

from typing import Final, final

from orias.analysis.access import P_BASE, SLOT_GUARD, UP_BASE, UR_BASE
from orias.check.facts import Facts
from orias.check.touch import Touch, touch
from orias.isa.decode import Decoded
from orias.isa.operand import INV, K_IMM, K_P, K_UP, KIND_MASK, PAYLOAD_SHIFT, PT, UPT, Opnd, is_true_pred
from orias.isa.operations import LATE_UNIFORM, traits
from orias.isa.table import IsaTable
from orias.schedule.ctl import read_barrier, reuse, stall, wait_mask, write_barrier
from orias.schedule.units import NEEDS_READ, NEEDS_WRITE

INST_BYTES: Final = 16

GOES_ON: Final = 0
"""The next instruction follows."""
JUMPS: Final = 1
"""``targets`` follow, and the next instruction if ``falls``."""
CALLS: Final = 2
"""A function of the same section at ``targets[0]`` runs, then the next instruction."""
CALLS_AWAY: Final = 3
"""A function somewhere else runs, then the next instruction."""
RETURNS: Final = 4
ENDS: Final = 5

_CONDITION_FORMS: Final[frozenset[str]] = frozenset(("DIV", "CONV", "ANY"))


@final
class Node:
    """One instruction, what it touches and what its control word says."""

    __slots__ = (
        "address", "arithmetic", "d", "early", "falls", "fixed", "flow", "guard", "index", "known", "late", "needs", "order", "queue", "read", "reuse", "slots", "stall",
        "targets", "touch", "wait", "write",
    )  # fmt: skip

    def __init__(self, index: int, d: Decoded, facts: Facts) -> None:
        self.index: Final[int] = index
        self.address: Final[int] = index * INST_BYTES
        self.d: Final[Decoded] = d
        self.touch: Final[Touch] = touch(d)
        needs = facts.needs(d)
        self.known: Final[bool] = needs >= 0 and not self.touch.unknown
        self.needs: Final[int] = max(needs, 0)
        self.fixed: Final[bool] = not self.needs & NEEDS_WRITE
        self.order: Final[str] = facts.order(d.op)
        self.queue: Final[str] = facts.queue(d.op)
        self.write: Final[int] = write_barrier(d.ctl)
        self.read: Final[int] = read_barrier(d.ctl)
        self.wait: Final[int] = wait_mask(d.ctl)
        self.stall: Final[int] = stall(d.ctl)
        self.reuse: Final[int] = reuse(d.ctl)
        self.guard: Final[Opnd] = PT if d.guard == UPT else d.guard
        self.late: int = 0
        """Units whose reading ends some time after issue, as a bit set."""
        if self.needs & NEEDS_READ:
            uniform = traits(d.op) & LATE_UNIFORM != 0
            for u, slot in self.touch.reads:
                late = u < UR_BASE or (uniform and u < P_BASE)
                if late and slot != SLOT_GUARD:
                    self.late |= 1 << u
        self.early: Final[int] = self.touch.write_set >> P_BASE << P_BASE if d.op.base == "ATOM" else 0
        """Results that are there as soon as the sources are read, as a bit set: the predicates of ATOM, whether the address is in the right space."""
        self.arithmetic: Final[bool] = self.known and facts.arithmetic(d.op)
        self.flow: int = GOES_ON
        self.falls: bool = True
        self.targets: list[int] = []
        self.slots: list[tuple[int, list[int]]] | None = None

    def guarded(self) -> bool:
        """True if a predicate decides whether it runs."""
        return self.guard != PT

    def guard_unit(self) -> int:
        """The unit of the guard predicate."""
        base = P_BASE if self.guard & KIND_MASK == K_P else UP_BASE
        return base + ((self.guard & ~INV) >> PAYLOAD_SHIFT)

    def reuse_slots(self, table: IsaTable) -> list[tuple[int, list[int]]]:
        """(field 0..2, its units) of the R sources that have a reuse flag; none outside the arithmetic pipes."""
        if self.slots is None:
            d = self.d
            units: dict[int, list[int]] = {}
            if self.arithmetic:
                fields = table.reuse_fields(d.op, d.dst, d.src)
                for u, slot in self.touch.reads:
                    if slot < len(fields) and fields[slot] >= 0 and u < UR_BASE:
                        units.setdefault(fields[slot], []).append(u)
            self.slots = sorted(units.items())
        return self.slots


def _signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value


def _conditional(d: Decoded) -> bool:
    if d.guard not in (PT, UPT):
        return True
    if any(m in _CONDITION_FORMS for m in d.op.mods):
        return True
    return any(o & KIND_MASK in (K_P, K_UP) and not (is_true_pred(o) and not o & INV) for o in d.src)


def connect(nodes: list[Node], away: set[int], tables: dict[int, list[int]]) -> None:
    """Fill in what follows each instruction.

    `away`: addresses of calls that a relocation sends elsewhere.  `tables`: targets of indirect branches by the address of
    the branch; an indirect branch without an entry ends the path.
    """
    count = len(nodes)
    for n in nodes:
        d = n.d
        base = d.op.base
        label = next((o for o in reversed(d.src) if o & KIND_MASK == K_IMM), 0)
        target = n.index + 1 + (_signed(label >> PAYLOAD_SHIFT) // INST_BYTES if label else 0)
        inside = 0 <= target < count
        if base in ("BRA", "JMP", "WARPSYNC") and (base != "WARPSYNC" or "COLLECTIVE" in d.op.mods):
            n.flow = JUMPS
            n.falls = _conditional(d) or base == "WARPSYNC"
            n.targets = [target] if inside else []
        elif base in ("BRX", "BRXU", "JMX", "JMXU"):
            n.flow = JUMPS
            n.falls = _conditional(d)
            n.targets = [a // INST_BYTES for a in tables.get(n.address, []) if a // INST_BYTES < count]
        elif base == "CALL":
            direct = "REL" in d.op.mods and n.address not in away and len(d.src) and inside
            registers = any(1 <= o & KIND_MASK <= 2 and o >> PAYLOAD_SHIFT != 255 for o in d.src)
            n.flow = CALLS if direct and not registers else CALLS_AWAY
            n.targets = [target] if n.flow == CALLS else []
        elif base in ("RET", "EXIT", "KILL"):
            n.flow = RETURNS if base == "RET" else ENDS
            n.falls = _conditional(d)
        if n.falls and n.index + 1 >= count:
            n.falls = False
