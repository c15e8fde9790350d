"""Slot selection: every class gets registers, after the fat-point model of the reference (no interference graph).

Instead of a cost array per slot the costs are register masks, one mask per kind of cost: taken (hard), wrong alignment
(hard), must be saved first (soft), wished for by a copy (bonus).  The lowest register of the best kind wins.
Within a file the widest classes choose first, and classes of the same width in order of their first point.
"""

from typing import Final, final

from orias.isa.operand import K_P, K_R, K_UP, K_UR, KIND_MASK, PAYLOAD_SHIFT
from orias.ori.ir import CallInfo
from orias.regalloc.coalesce import Classes, Cls
from orias.regalloc.files import FILES, kept, usable
from orias.regalloc.occupancy import Occupancy
from orias.regalloc.ranges import Ranges

_BITS: Final = 256


def _aligned() -> dict[tuple[int, int], int]:
    out: dict[tuple[int, int], int] = {}
    for mod in (1, 2, 4, 8):
        for phase in range(mod):
            out[mod, phase] = sum(1 << n for n in range(phase, _BITS, mod))
    return out


_ALIGNED: Final = _aligned()


@final
class Assignment:
    """Outcome of one attempt: classes without registers, and the highest register used in each file (-1: none)."""

    __slots__ = ("failed", "highest", "used")

    def __init__(self) -> None:
        self.failed: list[Cls] = []
        self.highest: dict[int, int] = dict.fromkeys(FILES, -1)
        self.used: dict[int, int] = dict.fromkeys(FILES, 0)
        """Mask of registers given out per file."""


def clobber_mask(info: CallInfo, file: int) -> int:
    """Registers of a file that a call may change."""
    if file == K_R:
        return info.clobber_r
    if file == K_P:
        return info.clobber_p
    if file == K_UR:
        return info.clobber_ur
    if file == K_UP:
        return info.clobber_up
    return info.clobber_b


def fixed_occupancy(rg: Ranges, file: int) -> Occupancy:
    """What physical registers in the code and calls take."""
    occ = Occupancy(rg.points)
    for reg, flat in rg.phys.items():
        if reg & KIND_MASK == file:
            for i in range(0, len(flat), 2):
                occ.add(flat[i], flat[i + 1], 1 << (reg >> PAYLOAD_SHIFT))
    for point, inst in rg.clobbers:
        mask = clobber_mask(rg.fn.calls[inst.uid], file)
        if mask:
            occ.add(point, point + 1, mask)
    return occ


def allocate(classes: Classes) -> Assignment:
    """Choose a register for every class (``Cls.slot``); classes that find none are in ``failed``."""
    rg = classes.rg
    result = Assignment()
    by_file: dict[int, list[Cls]] = {f: [] for f in FILES}
    for c in classes.all():
        by_file[c.file].append(c)
    for file in FILES:
        todo = by_file[file]
        if todo:
            _allocate_file(rg, file, todo, result)
    return result


def _allocate_file(rg: Ranges, file: int, todo: list[Cls], result: Assignment) -> None:
    fn = rg.fn
    avail = usable(fn, file)
    costly = kept(fn, file)
    occ = fixed_occupancy(rg, file)
    todo.sort(key=_order)
    used = 0
    for c in todo:
        slot = _choose(c, occ, avail, costly & ~used)
        if slot < 0:
            result.failed.append(c)
            continue
        c.slot = slot
        for place, segs in c.words.items():
            bit = 1 << (slot + place)
            used |= bit
            for s, e, _ in segs:
                occ.add(s, e, bit)
    result.used[file] = used
    result.highest[file] = used.bit_length() - 1


def _order(c: Cls) -> tuple[int, int]:
    return -c.mod, c.start()


def _choose(c: Cls, occ: Occupancy, avail: int, costly: int) -> int:
    """The register for place 0 of a class, or -1."""
    ok = _ALIGNED[c.mod, c.phase]
    cost = 0
    for place, segs in c.words.items():
        taken = ~avail
        for s, e, _ in segs:
            taken |= occ.taken(s, e)
        if place >= 0:
            ok &= ~(taken >> place)
            cost |= costly >> place
        else:
            # Registers below 0 do not exist.
            ok &= ~((taken << -place) | ((1 << -place) - 1))
            cost |= costly << -place
    if not ok:
        return -1
    best = -1
    most = 0
    for slot, weight in c.pinned:
        if weight > most and slot >= 0 and ok >> slot & 1:
            best = slot
            most = weight
    if best >= 0:
        return best
    cheap = ok & ~cost
    if cheap:
        ok = cheap
    return (ok & -ok).bit_length() - 1
