"""Matrices in shared memory, given by a descriptor, for warpgroup products and products with tensor memory.

A matrix consists of 16-byte pieces.  The descriptor (start, leading and stride byte offset, base offset, swizzle) gives
their addresses, in the layouts that CUTLASS documents (``mma_sm90_desc.hpp``, ``mma_sm100_desc.hpp``).  The swizzle
XORs the address bits from 4 on with the bits from 7 on, counted from the base offset.
"""

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from orias.sim.core.sim_errors import Fault, OutOfBounds
from orias.sim.core.state import Machine
from orias.sim.math import ops_half as half
from orias.sim.math.ops_int import I64, U8, U32
from orias.sim.math.ops_narrow import NARROW

Arr = npt.NDArray[Any]

BITS: Final[dict[str, int]] = {
    "B1": 1, "E2M1x2": 4, "U8": 8, "S8": 8, "E4M3": 8, "E5M2": 8, "E2M1": 8, "E2M3": 8, "E3M2": 8, "F16": 16, "BF16": 16, "TF32": 32,
}  # fmt: skip
"""Bits of an element of each type in memory; E2M1x2 is packed E2M1."""
PADDED: Final[dict[str, int]] = {"E2M1": 4, "E2M3": 6, "E3M2": 6}
"""Bits of types of which 16 elements fill the lower part of 16 bytes (b4x16_p64 and b6x16_p32 of tensor copies)."""


_ATOM: Final = (16, 128, 64, 32)
"""Bytes of a row of the swizzle pattern, by the two upper bits of the descriptor."""


def values(patterns: Arr, type_: str) -> Arr:
    """Element patterns as i64 or f64 values."""
    if type_ == "S8":
        return patterns.astype(U8).view(np.int8).astype(I64)
    if type_ in ("U8", "B1"):
        return patterns.astype(I64)
    narrow = NARROW.get(type_.removesuffix("x2"))
    if narrow is not None:
        return narrow.decode(patterns.astype(U8))
    if type_ == "TF32":
        return (patterns.astype(U32) & np.uint32(0xFFFFE000)).view(np.float32).astype(np.float64)
    return half.value(patterns, type_ == "BF16")


def elements(rows: Arr, bits: int) -> Arr:
    """Bytes [..., n] as unsigned elements of `bits`, [..., elements]."""
    if bits == 1:
        return np.unpackbits(rows, axis=-1, bitorder="little")
    if bits == 4:
        return np.stack((rows & 15, rows >> 4), axis=-1).reshape(*rows.shape[:-1], -1)
    return np.ascontiguousarray(rows).view({8: np.uint8, 16: np.uint16, 32: np.uint32}[bits])


def _places(word: int, turned: bool, rows: Arr, pieces: int, wide: bool) -> Arr:
    """Addresses of the 16-byte pieces of a matrix, [rows, pieces].

    A piece runs along a row.  ``rows`` are rows of A (columns of B) if the matrix is stored along K, else values of k,
    whose pieces run along M or N.  ``wide``: the 128-byte swizzle exchanges 32-byte units.
    """
    start = (word & 0x3FFF) << 4
    leading = (word >> 16 & 0x3FFF) << 4
    stride = (word >> 32 & 0x3FFF) << 4
    base = word >> 49 & 7
    r = rows[:, None]
    c = np.arange(pieces)[None, :]
    if wide:
        place: Arr = start + (r & 3) * 128 + (r >> 2) * stride + (c & 7) * 16 + (c >> 3) * leading
        turn: Arr = ((place >> 7) - base & 3) << 1
    elif word >> 62:
        atom = _ATOM[word >> 62]
        per = atom // 16
        if word >> 52 & 1:
            # The leading dimension is the address where rows go on that reach the end of an atom.
            end = (start >> 4) % per + c >= per
            place = np.where(end, leading - (start & -atom) - atom, 0) + start + 16 * c
            place = place + (r & 7) * atom + (r >> 3) * stride
        else:
            place = start + (r & 7) * atom + (r >> 3) * stride + (c % per) * 16 + (c // per) * leading
        turn = (place >> 7) - base & (per - 1)
    else:
        across, along = (leading, stride) if turned else (stride, leading)
        place = start + (r & 7) * 16 + (r >> 3) * across + c * along
        turn = np.zeros_like(place)
    exchanged: Arr = place ^ turn << 4
    return exchanged


def _unpadded(rows: Arr, bits: int) -> Arr:
    """Bytes [n, 16 * pieces] as the elements [n, 16 * pieces] of a padded type."""
    each = np.unpackbits(rows.reshape(len(rows), -1, 16), axis=-1, bitorder="little")[..., : 16 * bits]
    codes = each.reshape(len(rows), -1, bits).astype(np.int64) << np.arange(bits)
    result: Arr = codes.sum(axis=-1)
    return result


class SharedMatrix:
    """[rows, k] elements (rows of A, columns of B) in a block's shared memory; :meth:`values` reads the bytes."""

    def __init__(
        self, m: Machine, word: int, block: int, type_: str, rows: Arr, k: int, turned: bool, wide: bool = False
    ) -> None:
        """`word`: the descriptor; `turned`: stored along M or N.  A Fault unless the whole matrix is in the block's memory."""
        self.type = type_
        self.rows = rows
        self.turned = turned
        per = 128 // BITS[type_]
        if turned:
            # The pieces run along M or N: read those that contain the rows.
            lines, pieces = np.arange(k), (int(rows[-1]) + per) // per
        else:
            lines, pieces = rows, k // per
        address = _places(word, turned, lines, pieces, wide).reshape(-1)
        try:
            offset = m.shared.offsets(address, np.full(len(address), block), 16, 16)
        except Fault as f:
            raise Fault(OutOfBounds, f"matrix descriptor 0x{word:016x}: {f.message}", 0) from None
        self._offset = offset
        self._lines = len(lines)

    def bytes(self) -> Arr:
        """The offsets in shared memory of the bytes that are read."""
        each: Arr = self._offset[:, None] + np.arange(16)
        return each.reshape(-1)

    def patterns(self, m: Machine) -> Arr:
        """The current elements without their meaning, [lines, elements]."""
        data = m.shared.data.reshape(-1, 16).take(self._offset >> 4, axis=0).reshape(self._lines, -1)
        padded = PADDED.get(self.type)
        return elements(data, BITS[self.type]) if padded is None else _unpadded(data, padded)

    def values(self, m: Machine) -> Arr:
        """The current values, [rows, k]."""
        v = values(self.patterns(m), self.type)
        result: Arr = v.T[self.rows] if self.turned else v
        return result
