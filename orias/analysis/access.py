"""The registers that an instruction reads and writes, as small integers.

A *unit* is one physical 32-bit register, predicate or barrier register: R at 0, UR at 256, P at 512, UP at 520, B at
528.  RZ, URZ, PT and UPT are no units.  The functions here apply after register allocation.
"""

from typing import Final

from orias.isa.fetch import result_widths
from orias.isa.fetch import source_widths as fetch_widths
from orias.isa.gmma_forms import accumulator_words, source_widths
from orias.isa.op import F_CALL, F_READS_PR, F_TEXTURE, F_WGMMA, F_WGMMA_SYNC, F_WRITES_B, F_WRITES_PR
from orias.isa.operand import (
    K_B,
    K_P,
    K_R,
    K_UP,
    K_UR,
    KIND_MASK,
    PAYLOAD_SHIFT,
    PT,
    Opnd,
    imm_value,
    in_file,
    is_imm,
    is_reg,
    reg_id,
)
from orias.isa.widths import src_width, widths
from orias.ori.ir import CallInfo, Func, Inst
from orias.ori.reads_writes import Access

R_BASE: Final = 0
UR_BASE: Final = 256
P_BASE: Final = 512
UP_BASE: Final = 520
B_BASE: Final = 528
UNITS: Final = 544
"""Number of units."""

_BASE: Final[tuple[int, ...]] = (0, R_BASE, UR_BASE, P_BASE, UP_BASE, B_BASE)
_NO_UNIT: Final[tuple[int, ...]] = (0, 255, 255, 7, 7, -1)
"""The register of each file that holds no value of its own."""

SLOT_GUARD: Final = 255
"""Read position of the guard; the position of a source is its index, that of an implied register is 254."""
SLOT_IMPLIED: Final = 254
_BESIDE: Final = F_READS_PR | F_WRITES_PR | F_WRITES_B
"""Operations that read or write registers in addition to their operands."""


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
    """What an instruction reads and writes, for reading only; `fn` has the facts of calls (without it calls access only their operands)."""
    before = inst.access
    op = inst.op
    if before is not None and before.of(op, inst.dst, inst.src, inst.guard):
        return before
    a = Access(op, inst.dst, inst.src, inst.guard)
    reads, writes = a.reads, a.writes
    # Operand tests and the common widths are inlined here: in plain Python the calls would cost more than the rest.
    if op.flags & F_WGMMA:
        _warpgroup(inst, reads, writes)
        return a
    fetched = fetch_widths(op, inst.src) if op.flags & F_TEXTURE else None
    known = widths(op)
    results = known.dst if fetched is None else result_widths(inst.src)
    for k, o in enumerate(inst.src):
        kd = o & KIND_MASK
        if not 0 < kd <= K_B:
            continue
        ident = o >> PAYLOAD_SHIFT
        if ident == _NO_UNIT[kd]:
            continue
        first = (_BASE[kd] + ident) << 8 | k
        if fetched is not None:
            width = fetched[k]
        elif k >= len(known.src) or known.src[k] == 1:
            width = 1
        else:
            width = src_width(op, k, o)
        if width == 1 or kd > K_UR:
            reads.append(first)
        else:
            reads.extend(range(first, first + (width << 8), 1 << 8))
    if inst.guard != PT:
        for u in units_of(inst.guard, 1):
            reads.append(u << 8 | SLOT_GUARD)
    for k, o in enumerate(inst.dst):
        kd = o & KIND_MASK
        if kd <= K_UR and k < len(results) and results[k] != 1:
            for w, u in enumerate(units_of(o, results[k])):
                # The field of the word position ends at 15; only vectors of tensor memory, which arrive late, are longer.
                writes.append(u << 8 | (w if w < 16 else 15) << 4 | k)
        elif 0 < kd <= K_B and o >> PAYLOAD_SHIFT != _NO_UNIT[kd]:
            writes.append((_BASE[kd] + (o >> PAYLOAD_SHIFT)) << 8 | k)
    if op.flags & _BESIDE:
        reads.extend([u << 8 | SLOT_IMPLIED for u in implied_reads(op.flags, inst.src)])
        writes.extend([u << 8 for u in implied_writes(op.flags, inst.src)])
    if not op.flags & (F_CALL | F_WGMMA_SYNC):
        inst.access = a
    elif fn is not None:
        # The function has a part in these: they are found anew each time.
        if op.flags & F_WGMMA_SYNC:
            _implied(fn.implied.get(inst.uid, 0), reads, writes)
        info = fn.calls.get(inst.uid) if op.flags & F_CALL else None
        if info is not None:
            _clobbers(info, writes)
    return a


def _warpgroup(inst: Inst, reads: list[int], writes: list[int]) -> None:
    """Accesses of a warpgroup operation, whose vectors are too long for the field of word positions."""
    for k, (o, width) in enumerate(zip(inst.src, source_widths(inst.op, inst.src), strict=True)):
        if is_reg(o):
            reads.extend([u << 8 | k for u in units_of(o, width)])
    if inst.guard != PT:
        reads.extend([u << 8 | SLOT_GUARD for u in units_of(inst.guard, 1)])
    writes.extend([u << 8 for u in units_of(inst.dst[0], accumulator_words(inst.op))])


def _implied(mask: int, reads: list[int], writes: list[int]) -> None:
    """Adds the implied registers of a mask, read and written."""
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


def implied_reads(flags: int, src: list[Opnd]) -> list[int]:
    """Units that an operation with these ``Op.flags`` reads in addition to its operands."""
    return _masked(src) if flags & F_READS_PR else []


def implied_writes(flags: int, src: list[Opnd]) -> list[int]:
    """Units that an operation with these ``Op.flags`` writes in addition to its results."""
    out = _masked(src) if flags & F_WRITES_PR else []
    if flags & F_WRITES_B:
        out += [B_BASE + reg_id(o) for o in src if in_file(o, K_B)]
    return out


def _masked(src: list[Opnd]) -> list[int]:
    """The predicates that ``P2R`` and ``R2P`` move: those of an immediate mask, all if there is no mask."""
    mask = 0x7F
    for o in src:
        if is_imm(o):
            mask = imm_value(o)
    return [P_BASE + n for n in range(7) if mask >> n & 1]
