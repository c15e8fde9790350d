"""Layout of the warp's matrices in lanes and registers, as PTX documents it for ``mma`` and ``mma.sp``."""

from functools import cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from orias.sim.math.ops_int import U32

Arr = npt.NDArray[Any]

LANE: Final = np.arange(32)
GROUP: Final = LANE >> 2
IN_GROUP: Final = LANE & 3


def split(words: Arr, bits: int) -> Arr:
    """Fields of words: [..., registers] to [..., registers, fields]."""
    shifts = np.arange(0, 32, bits, dtype=np.uint32)
    mask = np.uint32((1 << bits) - 1)
    result: Arr = (words[..., None] >> shifts) & mask
    return result


# The orders of elements: reordering by a list of places is several times as fast as copying a transposed array.


@cache
def _order_a(rows: int, regs: int, per: int) -> Arr:
    halves = rows // 8  # Registers of one part of k: that of rows 0 to 7, then of 8 to 15.
    places = np.arange(32 * regs * per).reshape(8, 4, regs // halves, halves, per)
    return places.transpose(3, 0, 2, 1, 4).reshape(-1)


@cache
def _order_b(regs: int, per: int) -> Arr:
    return np.arange(32 * regs * per).reshape(8, 4, regs, per).transpose(2, 1, 3, 0).reshape(-1)


@cache
def _order_c(rows: int) -> Arr:
    return np.arange(8 * rows).reshape(8, 4, rows // 8, 2).transpose(2, 0, 1, 3).reshape(-1)


@cache
def _order_of_fragments(rows: int) -> Arr:
    return np.argsort(_order_c(rows))


def matrix_a(fields: Arr, rows: int) -> Arr:
    """[warps, 32, registers, fields] to [warps, rows, k]."""
    w, _, regs, per = fields.shape
    return fields.reshape(w, -1).take(_order_a(rows, regs, per), axis=1).reshape(w, rows, -1)


def matrix_b(fields: Arr) -> Arr:
    """[warps, 32, registers, fields] to [warps, k, 8]."""
    w, _, regs, per = fields.shape
    return fields.reshape(w, -1).take(_order_b(regs, per), axis=1).reshape(w, -1, 8)


def matrix_c(values: Arr, rows: int) -> Arr:
    """[warps, 32, values] (two columns of a row, then of the row eight below) to [warps, rows, 8]."""
    w = len(values)
    return values.reshape(w, -1).take(_order_c(rows), axis=1).reshape(w, rows, 8)


def fragments_c(matrix: Arr) -> Arr:
    """The inverse of :func:`matrix_c`."""
    w, rows, _ = matrix.shape
    return matrix.reshape(w, -1).take(_order_of_fragments(rows), axis=1).reshape(w, 32, -1)


def _indices(meta: Arr, units: int, half: bool, selector: int) -> Arr:
    """The 2-bit indices of every unit (`half`: 16 bits, else 8) of the 16 rows: [warps, 16, units] from [warps, 32].

    16-bit units: a word has the indices of eight units of row g and, in its upper half, of eight of row g + 8.  8-bit
    units: sixteen of one row.  The lanes of a quad have the rows in order, then the further units; where fewer than
    four words are needed, the selector says which lanes count.
    """
    row = np.arange(16)[:, None]
    u = np.arange(units)[None, :]
    if half:
        words = units // 8
        lane = 4 * (row & 7) + selector % (4 // words) * words + (u >> 3)
        bit = 16 * (row >> 3) + 2 * (u & 7)
    else:
        lane = 4 * (row & 7) + 2 * (selector + (u >> 4)) + (row >> 3)
        bit = np.broadcast_to(2 * (u & 15), lane.shape)
    result: Arr = (meta[:, lane] >> bit.astype(U32)) & np.uint32(3)
    return result.astype(np.int64)


def positions(meta: Arr, count: int, bits: int, selector: int) -> Arr:
    """The k of each kept element of a sparse A, [warps, 16, count], from metadata [warps, 32]; `bits` is the element width.

    Of every four units of a row (16 bits for 16- and 32-bit elements, else 8) two are kept; the indices give their
    positions.
    """
    half = bits >= 16
    units = count * bits // (16 if half else 8)
    index = _indices(meta, units, half, selector)
    place = 4 * (np.arange(units) >> 1) + index
    if bits == 32:
        return place[:, :, 0::2] >> 1
    if bits == 4:
        pairs: Arr = np.stack((2 * place, 2 * place + 1), axis=3)
        return pairs.reshape(*place.shape[:2], -1)
    result: Arr = place
    return result


def quads_a(halves: Arr, by_k: bool) -> Arr:
    """A of m8n8k4, [warps, 4, 8, 4] from [warps, 32, 4]: four products, one per pair of quads."""
    x = halves.reshape(-1, 2, 4, 4, 4)  # upper half of the warp, pair, lane of the quad, half
    if not by_k:
        x = x.transpose(0, 1, 2, 4, 3)
    result: Arr = x.transpose(0, 2, 1, 3, 4).reshape(-1, 4, 8, 4)
    return result


def quads_b(halves: Arr, by_k: bool) -> Arr:
    """B of m8n8k4, [warps, 4, 4, 8]."""
    return quads_a(halves, by_k).transpose(0, 1, 3, 2)


QUAD: Final = (LANE >> 2) & 3
OWN_ROW: Final = (LANE & 3) + 4 * (LANE >> 4)
"""The row of m8n8k4 whose eight f16 results a lane holds."""


def quad_place(i: int) -> tuple[Arr, Arr]:
    """Row and column of f32 result `i` of m8n8k4, for every lane."""
    return (LANE & 1) + (i & 2) + 4 * (LANE >> 4), (i & 4) + (LANE & 2) + (i & 1)
