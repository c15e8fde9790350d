"""Matrices for wgmma in registers and in shared memory, written down element by element, and exact products.

Independent of the simulator: here an element's coordinates give its byte, there a descriptor gives pieces.
"""

from typing import Any

import numpy as np

BITS = {"f16": 16, "bf16": 16, "tf32": 32, "e4m3": 8, "e5m2": 8, "s8": 8, "u8": 8, "b1": 1}
SWIZZLES = (0, 3, 2, 1)
"""Descriptor values: none, 32, 64, 128 bytes."""
ATOM = {0: 16, 3: 32, 2: 64, 1: 128}


def minifloat(code: np.ndarray, exponent: int, mantissa: int, bias: int, finite: bool = False) -> np.ndarray:
    """Patterns of a small binary format as f64; `finite`: only all ones is NaN (e4m3)."""
    code = code.astype(np.int64)
    sign = np.where(code >> (exponent + mantissa) & 1, -1.0, 1.0)
    e = code >> mantissa & (1 << exponent) - 1
    f = code & (1 << mantissa) - 1
    v = np.where(e == 0, f * 2.0 ** (1 - bias - mantissa), (f + (1 << mantissa)) * 2.0 ** (e - bias - mantissa))
    top = (1 << exponent) - 1
    if finite:
        v = np.where((e == top) & (f == (1 << mantissa) - 1), np.nan, v)
    else:
        v = np.where(e == top, np.where(f == 0, np.inf, np.nan), v)
    return np.where(sign < 0, -v, v)


def values(patterns: np.ndarray, type_: str) -> np.ndarray:
    """Element patterns as f64 or i64."""
    if type_ == "f16":
        return minifloat(patterns, 5, 10, 15)
    if type_ == "bf16":
        return minifloat(patterns, 8, 7, 127)
    if type_ == "tf32":
        return minifloat(patterns >> 13, 8, 10, 127)
    if type_ == "e4m3":
        return minifloat(patterns, 4, 3, 7, True)
    if type_ == "e5m2":
        return minifloat(patterns, 5, 2, 15)
    v = patterns.astype(np.int64)
    return np.where(v >= 128, v - 256, v) if type_ == "s8" else v


def _tame(rng: np.random.Generator, shape: tuple[int, ...], exponent: int, mantissa: int, bias: int) -> np.ndarray:
    """Patterns of moderate size: sums of products are exact in f64."""
    sign = rng.integers(0, 2, shape) << (exponent + mantissa)
    return sign | rng.integers(bias - 4, bias + 3, shape) << mantissa | rng.integers(0, 1 << mantissa, shape)


def random_patterns(rng: np.random.Generator, shape: tuple[int, ...], type_: str) -> np.ndarray:
    """Random patterns of a type."""
    if type_ == "f16":
        return _tame(rng, shape, 5, 10, 15)
    if type_ == "bf16":
        return _tame(rng, shape, 8, 7, 127)
    if type_ == "tf32":
        return _tame(rng, shape, 8, 10, 127) << 13 | rng.integers(0, 1 << 13, shape)
    if type_ == "e4m3":
        return _tame(rng, shape, 4, 3, 7)
    if type_ == "e5m2":
        return _tame(rng, shape, 5, 2, 15)
    return rng.integers(0, 2 if type_ == "b1" else 256, shape)


def byte_of(
    row: int | np.ndarray, k: int | np.ndarray, type_: str, turned: bool, swizzle: int, leading: int, stride: int
) -> int | np.ndarray:
    """Offset (in bytes; bits for b1) of an element from the start of its matrix, before the swizzle.

    The patterns of PTX's canonical layouts: eight rows of one swizzle atom each, repeated at the two offsets.
    """
    bits = BITS[type_]
    atom = ATOM[swizzle]
    if not turned:
        at = k * bits // 8
        if swizzle == 0:
            return row % 8 * 16 + row // 8 * stride + at % 16 + at // 16 * leading
        return row % 8 * atom + row // 8 * stride + at % atom + at // atom * leading
    at = row * bits // 8
    if swizzle == 0:
        return k % 8 * 16 + k // 8 * leading + at % 16 + at // 16 * stride
    return k % 8 * atom + k // 8 * stride + at % atom + at // atom * leading


def swizzled(address: int | np.ndarray, swizzle: int) -> int | np.ndarray:
    """The address after the exchange of bits."""
    span = {0: 0, 3: 1, 2: 3, 1: 7}[swizzle]
    return address ^ (address >> 7 & span) << 4


class Placed:
    """A matrix [rows, k] in shared memory: descriptor fields and extent for a layout."""

    def __init__(self, rows: int, k: int, type_: str, turned: bool, swizzle: int, pad: int = 0) -> None:
        self.rows, self.k, self.type, self.turned, self.swizzle = rows, k, type_, turned, swizzle
        atom = ATOM[swizzle]
        row_bytes = k * BITS[type_] // 8
        column_bytes = rows * BITS[type_] // 8
        if swizzle == 0:
            if turned:
                self.stride = 128 * max(1, k // 8) + 128 * pad
                self.leading = 128
            else:
                self.leading = 128 * max(1, rows // 8) + 128 * pad
                self.stride = 128
        elif turned:
            self.stride = 8 * atom
            self.leading = 8 * atom * max(1, k // 8) + 8 * atom * pad
            column_bytes = max(column_bytes, atom)
        else:
            self.stride = 8 * atom + 8 * atom * pad
            self.leading = self.stride * max(1, rows // 8)
        last = max(
            byte_of(r, c, type_, turned, swizzle, self.leading, self.stride)
            for r in (7, rows - 1)
            for c in (min(7, k - 1), k - 1)
        )
        self.bytes = (last + 1024 + 128) // 1024 * 1024 + 1024
        assert row_bytes and column_bytes

    def descriptor(self) -> int:
        """All but the start address."""
        return (self.leading >> 4) << 16 | (self.stride >> 4) << 32 | self.swizzle << 62

    def store(self, image: np.ndarray, start: int, patterns: np.ndarray, window: int = 0x400) -> None:
        """Put the matrix into a shared-memory image (offset 0 is at address `window`)."""
        row, k = np.arange(self.rows)[:, None], np.arange(self.k)[None, :]
        at = byte_of(row, k, self.type, self.turned, self.swizzle, self.leading, self.stride)
        where = swizzled(window + start + at, self.swizzle) - window
        bits = patterns.astype(np.uint64)
        if self.type == "b1":
            np.bitwise_or.at(image, where, (bits << (k % 8).astype(np.uint64)).astype(np.uint8))
            return
        for byte in range(BITS[self.type] // 8):
            image[where + byte] = (bits >> np.uint64(8 * byte) & np.uint64(255)).astype(np.uint8)


def fragment_a(patterns: np.ndarray, type_: str) -> np.ndarray:
    """A [64, k] as registers [128, 4]: thread t of warp w has rows 16w + t/4 (+8), its 32 bits of each 128-bit half row."""
    bits = BITS[type_]
    per = 32 // bits
    out = np.zeros((128, 4), np.uint64)
    for t in range(128):
        w, lane = t >> 5, t & 31
        for r in range(4):
            row = 16 * w + lane // 4 + 8 * (r & 1)
            first = per * (lane % 4) + 4 * per * (r >> 1)
            for e in range(per):
                out[t, r] |= np.uint64(int(patterns[row, first + e]) << bits * e)
    return out


def accumulator_index(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Row and column of element j of thread t: two arrays [128, n / 2]."""
    t = np.arange(128)[:, None]
    j = np.arange(n // 2)[None, :]
    row = 16 * (t >> 5) + (t & 31) // 4 + 8 * (j >> 1 & 1)
    column = 8 * (j >> 2) + 2 * (t & 3) + (j & 1)
    return row, column


def sparse_choice(rng: np.random.Generator, rows: int, k: int, type_: str) -> np.ndarray:
    """For each stored element of A its column in the full matrix: [rows, k / 2], ascending in each chunk."""
    out = np.zeros((rows, k // 2), np.int64)
    for r in range(rows):
        if type_ == "tf32":
            out[r] = np.arange(k // 2) * 2 + rng.integers(0, 2, k // 2)
        else:
            for c in range(k // 4):
                out[r, 2 * c : 2 * c + 2] = 4 * c + np.sort(rng.choice(4, 2, replace=False))
    return out


def metadata(choice: np.ndarray, type_: str, selector: int, rng: np.random.Generator) -> np.ndarray:
    """The metadata register of each of 128 threads; those that the selector leaves out hold anything."""
    out = rng.integers(0, 1 << 32, 128).astype(np.uint64)
    half = choice.shape[1] // 2
    for t in range(128):
        w, lane = t >> 5, t & 31
        part = lane % 4
        word = 0
        if BITS[type_] == 8:
            row = 16 * w + lane // 4 + 8 * (part & 1)
            for e in range(16):
                word |= int(choice[row, 16 * (part >> 1) + e] % 4) << 2 * e
        else:
            if part // 2 != selector:
                continue
            for high in range(2):
                row = 16 * w + lane // 4 + 8 * high
                for e in range(half):
                    c = int(choice[row, half * (part & 1) + e])
                    code = (0xE if c & 1 else 0x4) << 4 * e if type_ == "tf32" else (c % 4) << 2 * e
                    word |= code << 16 * high
        out[t] = word
    return out


def product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """A [64, k] times B [n, k] transposed, exact for the values above (NaN and infinities as IEEE has them)."""
    with np.errstate(invalid="ignore", over="ignore"):
        return np.asarray((a[:, None, :] * b[None, :, :]).sum(axis=2))


def round_to(v: np.ndarray, type_: str) -> Any:
    """Results as patterns of the accumulator's type."""
    with np.errstate(over="ignore", invalid="ignore"):
        if type_ == "f32":
            f = v.astype(np.float32)
            return np.where(np.isnan(f), 0x7FFFFFFF, f.view(np.uint32))
        if type_ == "f16":
            h = v.astype(np.float16)
            return np.where(np.isnan(h), 0x7FFF, h.view(np.uint16))
    return v.astype(np.int64) & 0xFFFFFFFF
