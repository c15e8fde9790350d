"""Where memory instructions go: address spaces, addresses of threads, and places in the memories of the machine."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from orias.isa import op
from orias.isa.operand import (
    S_U32,
    S_X4,
    S_X8,
    S_X16,
    imm_signed,
    is_zero_reg,
    suffix_of,
)
from orias.isa.operations import access_bytes, data_words
from orias.sim.core.banked_memory import _Flat
from orias.sim.core.sim_errors import Fault, OutOfBounds
from orias.sim.core.site import Exec, Getter, Site
from orias.sim.core.state import Active, Machine, widen
from orias.sim.math.ops_int import I64, U64

Arr = npt.NDArray[Any]
Builder = Callable[[Site], Exec]

GLOBAL: Final = 0
SHARED: Final = 1
LOCAL: Final = 2
GENERIC: Final = 3

_SPACE: Final[dict[int, int]] = {op.GLOBAL: GLOBAL, op.SHARED: SHARED, op.LOCAL: LOCAL, op.ANYWHERE: GENERIC}
"""``Op.space`` -> memory space of the simulator."""
SCALE: Final[dict[int, int]] = {S_X4: 2, S_X8: 3, S_X16: 4}


def address64(s: Site, at: int) -> Getter:
    """The 64-bit address of the group at ``src[at]``: base pair (or zero-extended word), uniform pair, offset."""
    base, ubase, offset = s.src[at + 1], s.src[at + 2], s.src[at + 3]
    o = np.uint64(imm_signed(offset) & 0xFFFFFFFFFFFFFFFF)
    wide = s.has("E")
    parts: list[Getter] = []
    if not is_zero_reg(base):
        if suffix_of(base) == S_U32 or not wide:
            g32 = s.raw(base)
            parts.append(lambda m, a: g32(m, a).astype(U64))
        else:
            parts.append(s.raw64(base))
    if not is_zero_reg(ubase):
        parts.append(s.raw64(ubase))
    if not parts:
        return lambda m, a: np.full(a.n, o, U64)
    if len(parts) == 1:
        only = parts[0]
        return lambda m, a: widen(only(m, a) + o, a.n)
    first, second = parts
    return lambda m, a: widen(first(m, a) + second(m, a) + o, a.n)


def address32(s: Site, at: int) -> Getter:
    """The 32-bit address (as int64) of a shared or local access."""
    base, ubase, offset = s.src[at + 1], s.src[at + 2], s.src[at + 3]
    o = np.uint32(imm_signed(offset) & 0xFFFFFFFF)
    gb, gu = s.raw(base), s.raw(ubase)
    shift = np.uint32(SCALE.get(suffix_of(base), 0))

    def get(m: Machine, a: Active) -> Arr:
        v = gb(m, a)
        if shift:
            v = v << shift
        return widen((v + gu(m, a) + o).astype(I64), a.n)

    return get


class Place:
    """Part of an access: a memory, checked offsets in it, and the positions of the threads."""

    __slots__ = ("flat", "offset", "space", "where")

    def __init__(self, flat: _Flat, offset: Arr, where: Arr | None, space: int) -> None:
        self.flat = flat
        self.offset = offset
        self.where = where
        """Positions among the active threads; None for all."""
        self.space = space


def shared_place(m: Machine, a: Active, address: Arr, where: Arr | None, size: int, align: int) -> Place:
    """A place in shared memory (see :func:`shared_offsets`)."""
    return Place(m.shared, shared_offsets(m, a, address, where, size, align), where, SHARED)


def shared_offsets(m: Machine, a: Active, address: Arr, where: Arr | None, size: int, align: int) -> Arr:
    """Checked offsets of shared addresses (for threads at positions `where`); from sm_90 on bits 24 and up select a block."""
    block = m.block_of[a.sel] if where is None else m.block_of[a.sel][where]
    if m.has_clusters:
        rank = address >> 24
        if rank.any() or m.cluster_size > 1:
            bad = (rank < 0) | (rank >= m.cluster_size)
            if bad.any():
                i = int(np.argmax(bad))
                raise Fault(OutOfBounds, f"shared address 0x{int(address[i]):x} names no block of the cluster", i)
            block = block - block % m.cluster_size + rank
            address = address & 0xFFFFFF
    return m.shared.offsets(address, block, size, align)


def _local_place(m: Machine, a: Active, address: Arr, where: Arr | None, size: int, align: int) -> Place:
    bank = a.index if where is None else a.index[where]
    return Place(m.local, m.local.offsets(address, bank, size, align), where, LOCAL)


def spaces(m: Machine, address: Arr) -> Arr:
    """The address space of each generic address."""
    if m.has_clusters:
        shared = (address >> np.uint64(32)) == np.uint64(m.window_shared >> 32)
    else:
        shared = (address >> np.uint64(24)) == np.uint64(m.window_shared >> 24)
    local = (address >> np.uint64(24)) == np.uint64(m.window_local >> 24)
    return np.where(shared, SHARED, np.where(local, LOCAL, GLOBAL))


def places(m: Machine, a: Active, space: int, address: Arr, size: int, align: int) -> list[Place]:
    """The memories and offsets of an access by the active threads; a generic access may have several."""
    if space == GLOBAL:
        return [Place(m.arena, m.arena.offsets(address, size, align), None, GLOBAL)]
    if space == SHARED:
        return [shared_place(m, a, address, None, size, align)]
    if space == LOCAL:
        return [_local_place(m, a, address & 0xFFFFFF, None, size, align)]
    kinds = spaces(m, address)
    out: list[Place] = []
    for k in (GLOBAL, SHARED, LOCAL):
        where = np.flatnonzero(kinds == k)
        if not len(where):
            continue
        mine = address[where]
        try:
            if k == GLOBAL:
                out.append(Place(m.arena, m.arena.offsets(mine, size, align), where, GLOBAL))
            elif k == SHARED:
                low = (mine & np.uint64(0xFFFFFFFF if m.has_clusters else 0xFFFFFF)).astype(I64)
                out.append(shared_place(m, a, low, where, size, align))
            else:
                out.append(_local_place(m, a, (mine & np.uint64(0xFFFFFF)).astype(I64), where, size, align))
        except Fault as f:
            raise Fault(f.error, f.message, int(where[f.lane])) from None
    return out


def access_size(s: Site) -> tuple[int, bool]:
    """(bytes, sign-extended) of a load or store."""
    if s.op.base == "LDGMC":
        return 4 * data_words(s.op.mods), False
    return access_bytes(s.op.mods), s.has("S8") or s.has("S16")


def space_of(operation: op.Op) -> int:
    """The memory space of a load, store or atomic."""
    return _SPACE[operation.space]
