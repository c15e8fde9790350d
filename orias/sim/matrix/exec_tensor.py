"""Builders for the matrix loads and stores LDSM and STSM; fragments as PTX documents them for ``ldmatrix``."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from orias.isa.operand import reg_plus
from orias.sim.core.sim_errors import Fault
from orias.sim.core.site import Exec, Site
from orias.sim.core.state import Active, Machine
from orias.sim.math.ops_int import U16, U32
from orias.sim.matrix.exec_mma import gather, words_of
from orias.sim.matrix.fragments import GROUP, IN_GROUP
from orias.sim.sass.memory_places import address32, shared_offsets

Arr = npt.NDArray[Any]
Builder = Callable[[Site], Exec]


_PACKED: Final[dict[str, int]] = {"U4x16P64TO8": 4, "U6x16P32TO8": 6}
"""Modifier -> bits of an element in memory; the rest of a row of 16 bytes is padding."""


def _matrices(s: Site) -> int:
    """Number of matrices."""
    return 4 if s.has("4") else 2 if s.has("2") else 1


def _rows(m: Machine, a: Active, address: Arr, count: int, height: int = 8) -> Arr:
    """Offsets of the matrix rows in shared memory: [warps, count, height]."""
    a.need_whole_warps("a matrix instruction")
    if height * count == 32:
        return shared_offsets(m, a, address, None, 16, 16).reshape(-1, count, height)
    where = np.flatnonzero((a.index & 31) < height * count)
    try:
        offset = shared_offsets(m, a, address[where], where, 16, 16)
    except Fault as f:
        raise Fault(f.error, f.message, int(where[f.lane])) from None
    return offset.reshape(-1, count, height)


def _turned(words: Arr) -> Arr:
    """8x8 matrices of halves, as [..., 8, 4] words, transposed."""
    halves = words.view(U16).swapaxes(-1, -2)
    return np.ascontiguousarray(halves).view(U32)


def ldsm(s: Site) -> Exec:
    """LDSM: each thread of a group of eight (or sixteen) gives the address of one row of its matrix."""
    if not s.has("16"):
        return _load_bytes(s)
    if not (s.has("M88") or s.has("MT88")):
        raise s.unknown()
    count, transposed = _matrices(s), s.has("MT88")
    get = address32(s, 0)
    puts = [s.set32(reg_plus(s.regs[0], r)) for r in range(count)]

    def run(m: Machine, a: Active) -> None:
        rows = _rows(m, a, get(m, a), count)
        data = m.shared.views[4].reshape(-1, 4).take(rows >> 4, axis=0)
        if transposed:
            data = _turned(data)
        words = data.reshape(-1, count, 32)
        for r, put in enumerate(puts):
            put(m, a, a.gather(words[:, r]))

    return run


def _expanded(rows: Arr, bits: int) -> Arr:
    """Rows of 16 bytes [..., 16], with sixteen elements of `bits` bits from the lowest on, as a byte for each element."""
    if bits == 8:
        return rows
    flat = np.unpackbits(rows, axis=-1, bitorder="little")[..., : 16 * bits]
    elements = flat.reshape(*rows.shape[:-1], 16, bits)
    return np.packbits(elements, axis=-1, bitorder="little")[..., 0]


def _load_bytes(s: Site) -> Exec:
    """LDSM of bytes.  M816: a lane has four elements of a row.

    MT1616: register r has the elements of rows 4 q + 2 r and the next, q the lane's place in its quad: two of column g,
    the quad's number, then two of column g + 8 (the layout that CUTLASS states for its copy SM100_U8x8_LDSM_T).
    """
    bits = next((n for x, n in _PACKED.items() if s.has(x)), 8)
    square = s.has("MT1616")
    if not square and (bits == 8 or not s.has("M816")):
        raise s.unknown()
    count = _matrices(s)
    get = address32(s, 0)
    puts = [s.set32(reg_plus(s.regs[0], r)) for r in range(2 * count if square else count)]

    def run(m: Machine, a: Active) -> None:
        rows = _rows(m, a, get(m, a), count, 16 if square else 8)
        data = _expanded(m.shared.views[1][rows[..., None] + np.arange(16)], bits)
        for r, put in enumerate(puts):
            word = np.zeros((len(data), 32), U32)
            for e in range(4):
                if square:
                    part = data[:, r >> 1, 4 * IN_GROUP + 2 * (r & 1) + (e & 1), GROUP + 8 * (e >> 1)]
                else:
                    part = data[:, r, GROUP, 4 * IN_GROUP + e]
                word |= part.astype(U32) << np.uint32(8 * e)
            put(m, a, a.gather(word))

    return run


def _store_bytes(s: Site) -> Exec:
    """STSM of bytes, MT168: a lane has columns 2 q and 2 q + 1 of row g, then of row g + 8, of 16 rows; columns are stored."""
    if not s.has("MT168") or not s.has("8"):
        raise s.unknown()
    count = _matrices(s)
    get = address32(s, 0)
    sources = words_of(s, s.src[4], count)

    def run(m: Machine, a: Active) -> None:
        rows = _rows(m, a, get(m, a), count)
        words = gather(sources, m, a)
        data = np.zeros((*rows.shape, 16), np.uint8)
        for r in range(count):
            for e in range(4):
                part = words[:, :, r] >> np.uint32(8 * e) & np.uint32(0xFF)
                data[:, r, 2 * IN_GROUP + (e & 1), GROUP + 8 * (e >> 1)] = part
        m.shared.views[1][rows[..., None] + np.arange(16)] = data

    return run


def stsm(s: Site) -> Exec:
    """STSM: the inverse of LDSM."""
    if not s.has("16"):
        return _store_bytes(s)
    if not (s.has("M88") or s.has("MT88")):
        raise s.unknown()
    count, transposed = _matrices(s), s.has("MT88")
    get = address32(s, 0)
    sources = words_of(s, s.src[4], count)

    def run(m: Machine, a: Active) -> None:
        rows = _rows(m, a, get(m, a), count)
        words = gather(sources, m, a)
        data = np.ascontiguousarray(words.transpose(0, 2, 1)).reshape(-1, count, 8, 4)
        m.shared.views[4].reshape(-1, 4)[rows >> 4] = _turned(data) if transposed else data

    return run


BUILDERS: Final[dict[str, Builder]] = {"LDSM": ldsm, "STSM": stsm}
