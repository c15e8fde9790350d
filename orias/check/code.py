"""Code sections as instructions with control flow, including calls inside a section."""

from typing import Final, final

from orias.analysis.access import P_BASE, SLOT_GUARD, UP_BASE, UR_BASE
from orias.check.touch import Touch, touch
from orias.isa.decode import Decoded
from orias.isa.isa_table import IsaTable
from orias.isa.op import F_JUMP, F_LEAVES, F_TABLE_JUMP
from orias.isa.operand import (
    INV,
    K_P,
    K_R,
    K_UR,
    PT,
    UPT,
    Opnd,
    imm_value,
    in_file,
    is_imm,
    is_pred,
    is_true_pred,
    is_zero_reg,
    kind_of,
    reg_id,
)
from orias.timing.ctl import read_barrier, reuse, stall, wait_mask, write_barrier
from orias.timing.needs import Facts
from orias.timing.units import NEEDS_READ, NEEDS_WRITE

INST_BYTES: Final = 16

GOES_ON: Final = 0
"""The next instruction follows."""
JUMPS: Final = 1
"""``targets`` follow, and the next instruction if ``falls``."""
CALLS: Final = 2
"""A function of the same section at ``targets[0]`` runs, then the next instruction."""
CALLS_AWAY: Final = 3
"""A function outside the section runs, then the next instruction."""
RETURNS: Final = 4
ENDS: Final = 5

_CONDITION_FORMS: Final[frozenset[str]] = frozenset(("DIV", "CONV", "ANY"))


@final
class Node:
    """One instruction with its register accesses and the fields of its control word."""

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
        self.order: Final[str] = d.op.order
        self.queue: Final[str] = d.op.queue
        self.write: Final[int] = write_barrier(d.ctl)
        self.read: Final[int] = read_barrier(d.ctl)
        self.wait: Final[int] = wait_mask(d.ctl)
        self.stall: Final[int] = stall(d.ctl)
        self.reuse: Final[int] = reuse(d.ctl)
        self.guard: Final[Opnd] = PT if d.guard == UPT else d.guard
        self.late: int = 0
        """Units that the instruction reads late, as a bit set."""
        if self.needs & NEEDS_READ:
            uniform = facts.late_uniform(d.op)
            for u, slot in self.touch.reads:
                late = u < UR_BASE or (uniform and u < P_BASE)
                if late and slot != SLOT_GUARD:
                    self.late |= 1 << u
        self.early: Final[int] = self.touch.write_set >> P_BASE << P_BASE if d.op.base == "ATOM" else 0
        """Results that arrive when the sources are read, as a bit set: predicates of ATOM (is the address in its space)."""
        self.arithmetic: Final[bool] = self.known and facts.arithmetic(d.op)
        self.flow: int = GOES_ON
        self.falls: bool = True
        self.targets: list[int] = []
        self.slots: list[tuple[int, list[int]]] | None = None

    def guarded(self) -> bool:
        """True if the instruction has a guard other than PT."""
        return self.guard != PT

    def guard_unit(self) -> int:
        """The unit of the guard predicate."""
        base = P_BASE if in_file(self.guard, K_P) else UP_BASE
        return base + reg_id(self.guard & ~INV)

    def reuse_slots(self, table: IsaTable) -> list[tuple[int, list[int]]]:
        """(reuse field 0..2, its units) of the R sources with a reuse flag; none outside the arithmetic pipes."""
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
    return any(is_pred(o) and not (is_true_pred(o) and not o & INV) for o in d.src)


def connect(nodes: list[Node], away: set[int], tables: dict[int, list[int]]) -> None:
    """Fill in the successors of each instruction.

    `away`: addresses of calls whose target a relocation determines.  `tables`: targets of indirect branches by the
    address of the branch; an indirect branch without an entry ends the path.
    """
    count = len(nodes)
    for n in nodes:
        d = n.d
        base = d.op.base
        label = next((o for o in reversed(d.src) if is_imm(o)), 0)
        target = n.index + 1 + (_signed(imm_value(label)) // INST_BYTES if label else 0)
        inside = 0 <= target < count
        if d.op.flags & F_JUMP:
            n.flow = JUMPS
            n.falls = _conditional(d) or base == "WARPSYNC"
            n.targets = [target] if inside else []
        elif d.op.flags & F_TABLE_JUMP:
            n.flow = JUMPS
            n.falls = _conditional(d)
            n.targets = [a // INST_BYTES for a in tables.get(n.address, []) if a // INST_BYTES < count]
        elif base == "CALL":
            direct = "REL" in d.op.mods and n.address not in away and len(d.src) and inside
            registers = any(kind_of(o) in (K_R, K_UR) and not is_zero_reg(o) for o in d.src)
            n.flow = CALLS if direct and not registers else CALLS_AWAY
            n.targets = [target] if n.flow == CALLS else []
        elif d.op.flags & F_LEAVES:
            n.flow = RETURNS if base == "RET" else ENDS
            n.falls = _conditional(d)
        if n.falls and n.index + 1 >= count:
            n.falls = False
