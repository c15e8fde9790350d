"""The memory accesses of an instruction, computed before it runs."""

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from orias.isa.decode import Decoded
from orias.isa.operand import is_pred
from orias.sim.core.site import Getter, Site
from orias.sim.core.state import Active, Machine, widen
from orias.sim.math.ops_int import I64
from orias.sim.sass.exec_mem import data_getters
from orias.sim.sass.memory_places import GENERIC, GLOBAL, SHARED, access_size, address32, address64, places, space_of

Arr = npt.NDArray[Any]
_LOADS: Final = ("LD", "LDG", "LDS", "LDGMC")
_STORES: Final = ("ST", "STG", "STS")
_ATOMICS: Final = ("ATOM", "ATOMG", "ATOMS", "RED", "REDG")
OBJECT: Final = 8
"""Bytes of a barrier object."""
_ROW: Final = 16
"""Bytes of a row of a matrix in shared memory."""


class Touched(NamedTuple):
    """Bytes that threads access: first offset in the memory of a `space`, and the threads (numbers in the batch)."""

    space: int
    offset: Arr
    threads: Arr
    where: Arr | None


class Access:
    """How an instruction accesses memory.

    ``values``: getters of the words that a plain store writes, else None; ``copies``: bytes that a copy writes later; ``polls``: a
    read that waits for others; ``one``: by one thread of each warp; ``where``: a getter of the threads that do it, or None.
    """

    def __init__(self, site: Site, space: int, size: int, reads: bool, writes: bool, at: int = 0) -> None:
        self.space: Final = space
        self.size: Final = size
        self.reads: Final = reads
        self.writes: Final = writes
        self.atomic: Final = reads and writes
        self.copies = False
        self.polls = False
        self.one = False
        self.where: Getter | None = None
        self.values = data_getters(site, size) if writes and not reads and site.op.base in _STORES else None
        self._rows = site.op.base in ("LDSM", "STSM")
        self._count = next((8 * n for n in (1, 2, 4) if site.has(str(n)) or site.has(f"x{n}")), 32 if self._rows else 0)
        self._address = address64(site, at) if space in (GLOBAL, GENERIC) else address32(site, at)

    def touched(self, m: Machine, a: Active) -> list[Touched]:
        """The bytes that threads access; a Fault where the instruction itself will fail."""
        address = widen(self._address(m, a), a.n)
        if self._rows:
            lanes = np.flatnonzero((a.index & 31) < self._count)
            if not len(lanes):
                return []
            a, address = a.subset((a.index & 31) < self._count), address[lanes]
        keep = self._chosen(m, a)
        if keep is not None:
            if not keep.any():
                return []
            a, address = a.subset(keep), address[keep]
        out = []
        for p in places(m, a, self.space, address, self.size, 1):
            threads = a.index if p.where is None else a.index[p.where]
            out.append(Touched(p.space, p.offset.astype(I64), threads, p.where))
        return out

    def _chosen(self, m: Machine, a: Active) -> Arr | None:
        if self.one:
            first: Arr = np.diff(a.warp_of, prepend=-1) != 0
            return first
        return None if self.where is None else widen(self.where(m, a), a.n)

    def bytes_of(self, m: Machine, a: Active, part: Touched) -> Arr | None:
        """What a store writes: an array [threads, size] of bytes; None if it is not known."""
        if self.values is None:
            return None
        words = [widen(g(m, a), a.n) for g in self.values]
        if part.where is not None:
            words = [w[part.where] for w in words]
        raw = np.stack([w.astype(np.uint32) for w in words], axis=1).view(np.uint8)
        return raw[:, : self.size]


def accesses_of(d: Decoded, address: int) -> list[Access]:
    """The accesses of an instruction, none for one that leaves memory alone.

    Those of bulk and tensor copies are not known before they start.
    """
    base = d.op.base
    site = Site(d.op, d.dst, d.src, address, d.op.means != "")
    if base in _LOADS or base in _STORES:
        size, _ = access_size(site)
        return [Access(site, space_of(d.op), size, base in _LOADS, base in _STORES)]
    if base in _ATOMICS:
        size = 16 if site.has("128") else 8 if any(site.has(x) for x in ("64", "U64", "S64", "F64")) else 4
        return [Access(site, space_of(d.op), size, True, True)]
    if base in ("LDSM", "STSM"):
        return [Access(site, SHARED, _ROW, base == "LDSM", base == "STSM")]
    if base == "LDGSTS":
        return _small_copy(site)
    if base == "SYNCS" and not site.has("CCTL"):
        return [_object_access(site)]
    return []


def _small_copy(site: Site) -> list[Access]:
    size = 16 if site.has("128") else 8 if site.has("64") else 4
    to = Access(site, SHARED, size, False, True)
    to.copies = True
    if site.has("ZFILL"):
        return [to]
    source = Access(site, GLOBAL, size, True, False, 4)
    guard = next((o for o in site.src[8:] if is_pred(o)), None)
    source.where = None if guard is None else site.pred(guard)
    return [to, source]


def _object_access(site: Site) -> Access:
    """The access of an instruction for barrier objects: a store, an arrival or a test."""
    out = Access(site, SHARED, OBJECT, not site.has("EXCH"), not site.has("PHASECHK"))
    out.one = site.has("EXCH")
    out.polls = site.has("PHASECHK")
    return out
