"""The registers that a decoded instruction reads and writes.

Units are those of :mod:`orias.analysis.access` (R at 0, UR at 256, P at 512, UP at 520, B at 528); the widths of
operands come from :mod:`orias.isa.widths`.
"""

from typing import Final, final

from orias.analysis.access import SLOT_GUARD, SLOT_IMPLIED, implied_reads, implied_writes, units_of
from orias.diag import Unsupported
from orias.isa.decode import Decoded
from orias.isa.fetch import source_widths
from orias.isa.gmma_forms import ARRIVE
from orias.isa.op import F_COMPONENTS, F_TEXTURE, F_WGMMA
from orias.isa.operand import K_B, K_R, PT, UPT, imm_value, in_file, is_imm, kind_of
from orias.isa.widths import dst_width, src_width, words_read

ARRIVAL: Final = 255
"""The unit of RZ, which no instruction accesses, stands for the arrival of a warpgroup: ARRIVE writes it, operations read it."""
_MASK: Final = 4
"""Position of the mask of words in a load of 256 bits; the words that are loaded are adjacent, the first four in the second result."""


@final
class Touch:
    """Reads as (unit, source position), writes as (unit, word of the result), and both as bit sets of units.

    ``unknown``: the operand widths of the operation are not known; each register operand then counts as one register.
    """

    __slots__ = ("read_set", "reads", "unknown", "write_set", "writes")

    def __init__(self) -> None:
        self.reads: list[tuple[int, int]] = []
        self.writes: list[tuple[int, int]] = []
        self.read_set: int = 0
        self.write_set: int = 0
        self.unknown: bool = False


def touch(d: Decoded) -> Touch:
    """What an instruction reads and writes, implied operands included (carries and pairs are operands already)."""
    t = Touch()
    flags = d.op.flags
    try:
        dst = [dst_width(d.op, k) for k in range(len(d.dst))]
        fetched = d.op.flags & F_TEXTURE != 0
        src = source_widths(d.op, d.src) if fetched else [src_width(d.op, k, o) for k, o in enumerate(d.src)]
    except Unsupported:
        t.unknown = True
        dst, src = [1] * len(d.dst), [1] * len(d.src)
    if flags & F_COMPONENTS:
        _components(d, dst)
    elif len(dst) == 2 and len(d.src) > _MASK and "256" in d.op.mods:
        mask = imm_value(d.src[_MASK])
        dst = [(mask >> 4 & 15).bit_count(), (mask & 15).bit_count()]
    for k, o in enumerate(d.src):
        kd = kind_of(o)
        if 0 < kd <= K_B:
            t.reads.extend((u, k) for u in units_of(o, words_read(d.op, k, src[k])))
    if d.guard not in (PT, UPT):
        t.reads.extend((u, SLOT_GUARD) for u in units_of(d.guard, 1))
    for k, o in enumerate(d.dst):
        t.writes.extend((u, w) for w, u in enumerate(units_of(o, dst[k])))
    t.reads.extend((u, SLOT_IMPLIED) for u in implied_reads(flags, d.src))
    t.writes.extend((u, 0) for u in implied_writes(flags, d.src))
    if flags & F_WGMMA:
        t.reads.append((ARRIVAL, SLOT_IMPLIED))
    elif d.op is ARRIVE:
        t.writes.append((ARRIVAL, 0))
    for u, _ in t.reads:
        t.read_set |= 1 << u
    for u, _ in t.writes:
        t.write_set |= 1 << u
    return t


def _components(d: Decoded, dst: list[int]) -> None:
    """Registers that a texture fetch writes: the components of its mask; the second result holds the first two."""
    masks = [imm_value(o) for o in d.src if is_imm(o)]
    registers = [k for k, o in enumerate(d.dst) if in_file(o, K_R)]
    if masks and len(registers) == 2 and 0 < masks[-1] < 16:
        count = masks[-1].bit_count()
        dst[registers[1]] = min(2, count)
        dst[registers[0]] = max(0, count - 2)
