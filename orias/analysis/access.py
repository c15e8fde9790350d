"""Registers that an instruction reads and writes, as small numbers.

A *unit* is one physical 32-bit register, predicate or barrier register: R at 0, UR at 256, P at 512, UP at 520, B at 528.
RZ, URZ, PT and UPT are no units.  For functions after register allocation.
"""

from typing import Final, final

from orias.isa.fetch import FETCHES
from orias.isa.fetch import source_widths as fetch_widths
from orias.isa.op import F_CALL
from orias.isa.operand import (
    K_B,
    K_IMM,
    K_P,
    K_R,
    K_UP,
    K_UR,
    KIND_MASK,
    PAYLOAD_SHIFT,
    PT,
    Opnd,
)
from orias.isa.operations import READS_PR, WRITES_B, WRITES_PR, traits
from orias.isa.warpgroup import GMMA, accumulator_words, source_widths
from orias.isa.widths import dst_width, src_width
from orias.ori.ir import CallInfo, Func, Inst

R_BASE: Final = 0
UR_BASE: Final = 256
P_BASE: Final = 512
UP_BASE: Final = 520
B_BASE: Final = 528
UNITS: Final = 544
"""Number of units."""

_BASE: Final[tuple[int, ...]] = (0, R_BASE, UR_BASE, P_BASE, UP_BASE, B_BASE)

SLOT_GUARD: Final = 255
"""Read position of the guard; sources have their index, extra reads of implied registers 254."""
SLOT_IMPLIED: Final = 254


@final
class Access:
    """Reads as ``unit << 8 | source position`` and writes as ``unit << 8 | word of the result << 4 | result position``."""

    __slots__ = ("reads", "writes")

    def __init__(self) -> None:
        self.reads: list[int] = []
        self.writes: list[int] = []


def unit_name(unit: int) -> str:
    """Text of a unit: R4, UR6, P0, UP1, B2."""
    if unit < UR_BASE:
        return f"R{unit}"
    if unit < P_BASE:
        return f"UR{unit - UR_BASE}"
    if unit < UP_BASE:
        return f"P{unit - P_BASE}"
    if unit < B_BASE:
        return f"UP{unit - UP_BASE}"
    return f"B{unit - B_BASE}"


def units_of(o: Opnd, width: int) -> range:
    """The units of a physical register operand of `width` words; none for anything else."""
    kd = o & KIND_MASK
    ident = o >> PAYLOAD_SHIFT
    if kd in (K_R, K_UR):
        if ident == 255:
            return range(0)
        start = _BASE[kd] + ident
        return range(start, start + width)
    if kd in (K_P, K_UP):
        return range(0) if ident == 7 else range(_BASE[kd] + ident, _BASE[kd] + ident + 1)
    if kd == K_B:
        return range(B_BASE + ident, B_BASE + ident + 1)
    return range(0)


def accesses(inst: Inst, fn: Func | None = None) -> Access:
    """What an instruction reads and writes; `fn` gives the facts of calls (without it calls touch their operands only)."""
    a = Access()
    op = inst.op
    reads, writes = a.reads, a.writes
    if op.base in GMMA:
        _warpgroup(inst, reads, writes)
        return a
    fetched = fetch_widths(op, inst.src) if op.base in FETCHES else None
    for k, o in enumerate(inst.src):
        kd = o & KIND_MASK
        if 0 < kd <= K_B:
            for u in units_of(o, src_width(op, k, o) if fetched is None else fetched[k]):
                reads.append(u << 8 | k)
    if inst.guard != PT:
        for u in units_of(inst.guard, 1):
            reads.append(u << 8 | SLOT_GUARD)
    for k, o in enumerate(inst.dst):
        for w, u in enumerate(units_of(o, dst_width(op, k))):
            writes.append(u << 8 | w << 4 | k)
    special = traits(op)
    if special:
        reads.extend([u << 8 | SLOT_IMPLIED for u in implied_reads(special, inst.src)])
        writes.extend([u << 8 for u in implied_writes(special, inst.src)])
    if op.base == "WARPGROUP" and fn is not None:
        _implied(fn.implied.get(inst.uid, 0), reads, writes)
    if op.flags & F_CALL and fn is not None:
        info = fn.calls.get(inst.uid)
        if info is not None:
            _clobbers(info, writes)
    return a


def _warpgroup(inst: Inst, reads: list[int], writes: list[int]) -> None:
    """A warpgroup operation: its vectors are too long for the positions of words."""
    for k, (o, width) in enumerate(zip(inst.src, source_widths(inst.op, inst.src), strict=True)):
        if 0 < o & KIND_MASK <= K_B:
            reads.extend([u << 8 | k for u in units_of(o, width)])
    if inst.guard != PT:
        reads.extend([u << 8 | SLOT_GUARD for u in units_of(inst.guard, 1)])
    writes.extend([u << 8 for u in units_of(inst.dst[0], accumulator_words(inst.op))])


def _implied(mask: int, reads: list[int], writes: list[int]) -> None:
    """Registers that the instruction stands for."""
    n = 0
    while mask:
        if mask & 1:
            reads.append(n << 8 | SLOT_IMPLIED)
            writes.append(n << 8)
        mask >>= 1
        n += 1


def _clobbers(info: CallInfo, writes: list[int]) -> None:
    for mask, base in (
        (info.clobber_r, R_BASE),
        (info.clobber_ur, UR_BASE),
        (info.clobber_p, P_BASE),
        (info.clobber_up, UP_BASE),
        (info.clobber_b, B_BASE),
    ):
        n = 0
        while mask:
            if mask & 1:
                writes.append((base + n) << 8)
            mask >>= 1
            n += 1


def implied_reads(special: int, src: list[Opnd]) -> list[int]:
    """Units that an operation with these :func:`~orias.isa.operations.traits` reads beside its operands."""
    return _masked(src) if special & READS_PR else []


def implied_writes(special: int, src: list[Opnd]) -> list[int]:
    """The same for what it writes."""
    out = _masked(src) if special & WRITES_PR else []
    if special & WRITES_B:
        out += [B_BASE + (o >> PAYLOAD_SHIFT) for o in src if o & KIND_MASK == K_B]
    return out


def _masked(src: list[Opnd]) -> list[int]:
    """The predicates that ``P2R`` and ``R2P`` move: those of an immediate mask, all without one."""
    mask = 0x7F
    for o in src:
        if o & KIND_MASK == K_IMM:
            mask = o >> PAYLOAD_SHIFT
    return [P_BASE + n for n in range(7) if mask >> n & 1]
