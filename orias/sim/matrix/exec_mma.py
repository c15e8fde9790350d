"""Builders for the warp's matrix products: HMMA, IMMA, DMMA, BMMA, QMMA, OMMA.

Fragments have PTX's register layout (:mod:`orias.sim.matrix.fragments`).  Products are exact.  How the hardware rounds
sums of floating-point products is not documented.  Here products of f16, bf16, tf32 and 8-bit floats and the
accumulator are added in f64 and rounded once to the result type; f64 products are fused multiply-adds in order of
rising k.  Integer and bit results are exact.
"""

import re
from collections.abc import Callable
from functools import partial
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from orias.isa.operand import Opnd, is_zero_reg, payload, reg_plus
from orias.sim.core.site import Exec, Getter, Site
from orias.sim.core.state import Active, Machine
from orias.sim.math import ops_half as half
from orias.sim.math import softfloat as sf
from orias.sim.math.ops_int import I64, U32, U64
from orias.sim.math.ops_narrow import NARROW, Narrow
from orias.sim.matrix.fragments import (
    OWN_ROW,
    QUAD,
    fragments_c,
    matrix_a,
    matrix_b,
    matrix_c,
    positions,
    quad_place,
    quads_a,
    quads_b,
    split,
)

Arr = npt.NDArray[Any]
Builder = Callable[[Site], Exec]
Product = Callable[..., Arr]
"""A times B, of :func:`_product`."""


def words_of(s: Site, o: Opnd, count: int) -> list[Getter]:
    """Getters of `count` registers from `o` on; all of them RZ if `o` is."""
    return [s.raw(o if is_zero_reg(o) else reg_plus(o, k)) for k in range(count)]


def gather(getters: list[Getter], m: Machine, a: Active) -> Arr:
    """Registers of whole warps, as uint32 [warps, 32, registers]."""
    a.need_whole_warps("a matrix instruction")
    columns = [a.spread(np.broadcast_to(g(m, a), (a.n,))) for g in getters]
    return np.stack(columns, axis=2)


def store(s: Site, m: Machine, a: Active, words: Arr) -> None:
    """Writes the result registers of whole warps from uint32 [warps, 32, registers]."""
    o = s.regs[0]
    for r in range(words.shape[2]):
        s.set32(o if is_zero_reg(o) else reg_plus(o, r))(m, a, a.gather(np.ascontiguousarray(words[:, :, r])))


_PART: Final = 128
"""Warps whose matrices are worked on together: what is computed of them stays in the processor's cache."""


def in_parts(f: Callable[..., Arr], *words: Arr) -> Arr:
    """What a function makes of arrays whose first axis is that of warps, applied to some warps at a time."""
    count = len(words[0])
    if count <= _PART:
        return f(*words)
    return np.concatenate([f(*[w[i : i + _PART] for w in words]) for i in range(0, count, _PART)])


def _shape(s: Site) -> tuple[int, int]:
    """(rows, k) from a modifier such as 16816 or 16x8x4."""
    for x in s.op.mods:
        found = re.fullmatch(r"(8|16)(?:x?8x?)(\d+)", x)
        if found:
            return int(found[1]), int(found[2])
    raise s.unknown("shape")


def _grain(v: Arr) -> Arr:
    """For each matrix of f64 values [warps, ...], the exponent of a power of two that divides all of them."""
    mantissa, exponent = np.frexp(v)
    whole = np.where(np.isfinite(v), np.ldexp(mantissa, 53), 0).astype(I64)
    lowest = np.log2(np.maximum(whole & -whole, 1).astype(np.float64)).astype(I64)
    place = np.where(whole != 0, exponent - 53 + lowest, 2000)
    result: Arr = place.reshape(len(v), -1).min(axis=1)
    return result


def disturbed(m: Machine, total: Arr, x: Arr, y: Arr, z: Arr, narrow: bool, size: Arr) -> Arr:
    """A sum of products [warps, ...] plus ``m.sum_error`` times 2**-22 (`narrow`, f16: 2**-10) of its addends' magnitudes
    (`size`).  Sums whose partial sums are all exact in f32 (`narrow`: f16) stay unchanged."""
    if not m.sum_error:
        return total
    grain = np.minimum(_grain(x) + _grain(y), _grain(z))
    finite = np.where(np.isfinite(size), size, 0.0)
    exact = finite.reshape(len(total), -1).max(axis=1) <= np.ldexp(
        1.0, np.clip(grain + (11 if narrow else 24), -1000, 1000)
    )
    off = np.where(
        exact.reshape(-1, *[1] * (total.ndim - 1)), 0.0, finite * m.sum_error * 2.0 ** (-10 if narrow else -22)
    )
    result: Arr = total + off
    return result


def _product(s: Site, bits: int) -> tuple[Product, list[Getter]]:
    """A times B without the accumulator, [warps, rows, kept k] by [warps, k, 8]; `bits` is the width of an element of A.

    Of sparse matrices, the word of metadata is the third argument, and its getter the second result.
    """
    if not s.has("SP"):
        if len(s.src) > 3:
            raise s.unknown()
        return np.matmul, []
    selector = payload(s.src[4])

    def sparse(x: Arr, y: Arr, meta: Arr) -> Arr:
        place = positions(meta[:, :, 0], x.shape[2], bits, selector)
        chosen = y[np.arange(len(y))[:, None, None], place]
        result: Arr = (x[..., None] * chosen).sum(axis=2)
        return result

    return sparse, words_of(s, s.src[3], 1)


def _floating(s: Site, a_bits: int, values: Callable[[Arr], Arr], values_b: Callable[[Arr], Arr]) -> Exec:
    """Products of floating-point factors, f32 or f16 accumulator."""
    rows, k = _shape(s)
    if rows != 16:
        raise s.unknown()
    per = 32 // a_bits
    kept = k // 2 if s.has("SP") else k
    narrow = s.has("F16") and not s.has("F32")
    ga, gb = words_of(s, s.src[0], rows * kept // (32 * per)), words_of(s, s.src[1], 8 * k // (32 * per))
    gc = words_of(s, s.src[2], 2 if narrow else 4)
    product, gm = _product(s, a_bits)

    def part(m: Machine, left: Arr, right: Arr, c: Arr, *meta: Arr) -> Arr:
        words = matrix_a(left[..., None], rows)  # Elements of a word are neighbours in a row.
        x, y = values(words).reshape(len(words), rows, -1), matrix_b(values_b(right))
        if narrow:
            f = half.of_words(c, False)
            z = matrix_c(f.reshape(*f.shape[:2], 4), rows)
        else:
            z = matrix_c(c.view(np.float32), rows).astype(np.float64)
        total = product(x, y, *meta) + z
        if m.sum_error:
            total = disturbed(m, total, x, y, z, narrow, product(np.abs(x), np.abs(y), *meta) + np.abs(z))
        if narrow:
            p = half.pattern(fragments_c(total), False)
            return half.pack(p[..., 0::2], p[..., 1::2])
        return sf.finish32(fragments_c(total.astype(np.float32)), False, False)

    def run(m: Machine, a: Active) -> None:
        words = [gather(g, m, a) for g in (ga, gb, gc, gm) if g]
        store(s, m, a, in_parts(partial(part, m), *words))

    return run


def hmma(s: Site) -> Exec:
    """HMMA: f16, bf16 or tf32 factors, f32 or f16 accumulator."""
    if s.op.mods[0] == "884":
        return _quads(s)
    tf32, bf16 = s.has("TF32"), s.has("BF16")

    def values(words: Arr) -> Arr:
        if tf32:
            return (words & np.uint32(0xFFFFE000)).view(np.float32).astype(np.float64)[..., None]
        return half.of_words(words, bf16)

    return _floating(s, 32 if tf32 else 16, values, values)


_NARROW: Final[dict[str, tuple[Narrow, int]]] = {
    x: (NARROW[x], 2 if x == "E2M1" else 0) for x in ("E4M3", "E5M2", "E3M2", "E2M3", "E2M1")
}
"""Type -> its format, and the lowest bit of an element in its byte (CUTLASS shifts e2m1 to the middle of the byte)."""


def qmma(s: Site) -> Exec:
    """QMMA: factors of 8, 6 or 4 bits in bytes, f32 or f16 accumulator; with SF, see :func:`_scaled`."""
    types = [_NARROW[x] for x in s.op.mods if x in _NARROW]
    if len(types) != 2:
        raise s.unknown()

    def decoder(format_: Narrow, low: int) -> Callable[[Arr], Arr]:
        return lambda w: format_.decode(split(w, 8).astype(np.uint8) >> np.uint8(low))

    values = [decoder(*t) for t in types]
    return _scaled(s, 8, values[0], values[1]) if s.has("SF") else _floating(s, 8, values[0], values[1])


def omma(s: Site) -> Exec:
    """OMMA: factors of 4 bits, scaled."""

    def values(words: Arr) -> Arr:
        result: Arr = NARROW["E2M1"].decode(split(words, 4).astype(np.uint8))
        return result

    return _scaled(s, 4, values, values)


def _scale(words: Arr, byte: Arr, steps: int, unsigned: bool) -> Arr:
    """The scales in `steps` bytes of words [warps, rows] from `byte` [warps] on: [warps, rows, steps]."""
    shift = 8 * (byte.astype(U32)[:, None, None] + np.arange(steps, dtype=U32))
    code = (words[..., None] >> shift & np.uint32(0xFF)).astype(np.uint8)
    if unsigned:
        return NARROW["E4M3"].decode(code & np.uint8(0x7F))
    return np.where(code == 255, np.nan, np.ldexp(1.0, code.astype(np.int64) - 127))


def _scaled(s: Site, bits: int, values_a: Callable[[Arr], Arr], values_b: Callable[[Arr], Arr]) -> Exec:
    """Products with scales: one factor for every row of A (column of B) and part of k; f32 accumulator.

    The sources after C: a register with A's scales (sparse: a pair, metadata first), one with B's, the selector.  In the
    quad of a row, the selector names two lanes (rows g and g + 8); in that of a column, one.
    """
    rows, k = _shape(s)
    sparse = s.has("SP")
    per = 32 // bits
    kept = k // 2 if sparse else k
    unsigned = s.has("UE4M3")
    steps = 4 if s.has("4X") else 1 if bits == 8 else 2
    ga, gb = words_of(s, s.src[0], rows * kept // (32 * per)), words_of(s, s.src[1], 8 * k // (32 * per))
    gc = words_of(s, s.src[2], 4)
    first = words_of(s, s.src[3], 2 if sparse else 1)
    second = words_of(s, s.src[4], 1)
    where = s.raw(s.src[5])
    sparsity = payload(s.src[6]) if sparse else 0

    def run(m: Machine, a: Active) -> None:
        x, y = matrix_a(values_a(gather(ga, m, a)), rows), matrix_b(values_b(gather(gb, m, a)))
        z = matrix_c(gather(gc, m, a).view(np.float32).astype(np.float64), rows)
        heads = gather(first, m, a)
        selector = a.spread(np.broadcast_to(where(m, a), (a.n,)))[:, 0].astype(np.int64)
        warps = np.arange(len(x))[:, None]
        row, column = np.arange(16), np.arange(8)
        lane_a = 4 * (row & 7) + (row >> 3) + 2 * (selector[:, None] >> 2 & 1)
        lane_b = 4 * column + (selector[:, None] >> 5 & 3)
        scale_a = _scale(heads[:, :, -1][warps, lane_a], selector & 3, steps, unsigned)
        scale_b = _scale(gather(second, m, a)[:, :, 0][warps, lane_b], selector >> 3 & 3, steps, unsigned)
        place = positions(heads[:, :, 0], kept, bits, sparsity) if sparse else None
        wide_a = np.repeat(scale_a, k // steps, axis=2)
        x = x * (wide_a if place is None else np.take_along_axis(wide_a, place, axis=2))
        y = y * np.repeat(scale_b, k // steps, axis=2).transpose(0, 2, 1)

        def product(p: Arr, q: Arr) -> Arr:
            result: Arr
            if place is None:
                result = np.matmul(p, q)
                return result
            result = (p[..., None] * q[np.arange(len(q))[:, None, None], place]).sum(axis=2)
            return result

        total = product(x, y) + z
        if m.sum_error:
            total = disturbed(m, total, x, y, z, False, product(np.abs(x), np.abs(y)) + np.abs(z))
        store(s, m, a, sf.finish32(np.ascontiguousarray(fragments_c(total)).astype(np.float32), False, False))

    return run


def _quads(s: Site) -> Exec:
    """HMMA.884: one step of four 8x8x4 products, with two result registers."""
    wide, addend, step, a_layout, b_layout = s.op.mods[1:6]
    number = int(step[-1])
    ga, gb, gc = (words_of(s, o, 2) for o in s.src[:3])

    def run(m: Machine, a: Active) -> None:
        x, y = (half.of_words(gather(g, m, a), False) for g in (ga, gb))
        count = len(x)
        left, right = (
            quads_a(x.reshape(count, 32, 4), a_layout == "ROW"),
            quads_b(y.reshape(count, 32, 4), b_layout == "COL"),
        )
        d = np.matmul(left, right)
        c = gather(gc, m, a)
        if m.sum_error:
            addends = half.of_words(c, False) if addend == "F16" else c.view(np.float32).astype(np.float64)
            largest = np.abs(addends).reshape(count, -1).max(axis=1)[:, None, None, None]
            size = np.matmul(np.abs(left), np.abs(right)) + largest
            d = disturbed(m, d, left, right, addends, "F16" in (wide, addend), size)
        first = 4 * (number >> 1) if wide == "F32" else 4 * number
        if addend == "F16":
            z = np.zeros_like(d)
            f = half.of_words(c, False).reshape(count, 32, 4)
            for i in range(4):
                z[:, QUAD, OWN_ROW, first + i] = f[:, :, i]
            d = d + z
        if wide == "F16":
            p = np.stack([half.pattern(d[:, QUAD, OWN_ROW, first + i], False) for i in range(4)], axis=2)
            store(s, m, a, half.pack(p[..., 0::2], p[..., 1::2]))
            return
        out = np.stack([d[:, QUAD, *quad_place(2 * number + i)] for i in range(2)], axis=2)
        if addend == "F32":
            out = out + c.view(np.float32).astype(np.float64)
        store(s, m, a, sf.finish32(out.astype(np.float32), False, False))

    return run


def imma(s: Site) -> Exec:
    """IMMA: 8- and 4-bit integers with a 32-bit accumulator, saturated with SAT."""
    rows, k = _shape(s)
    types = [x for x in s.op.mods if re.fullmatch(r"[SU][48]", x)]
    if len(types) != 2:
        raise s.unknown()
    bits = int(types[0][1])
    per = 32 // bits
    kept = k // 2 if s.has("SP") else k
    product, gm = _product(s, bits)
    ga, gb = words_of(s, s.src[0], rows * kept // (32 * per)), words_of(s, s.src[1], 8 * k // (32 * per))
    gc = words_of(s, s.src[2], rows // 4)
    sat = s.has("SAT")
    top = np.uint8(1 << (bits - 1))

    def values(words: Arr, signed: bool) -> Arr:
        f = split(words, bits).astype(np.uint8)
        return ((f ^ top) - top).view(np.int8) if signed else f

    def part(left: Arr, right: Arr, c: Arr, *meta: Arr) -> Arr:
        # Sums of f64 are exact here, and faster than those of integers.
        x = matrix_a(values(left, types[0][0] == "S"), rows).astype(np.float64)
        y = matrix_b(values(right, types[1][0] == "S")).astype(np.float64)
        d = product(x, y, *meta).astype(I64) + matrix_c(c.view(np.int32), rows)
        if sat:
            d = np.clip(d, -(1 << 31), (1 << 31) - 1)
        return fragments_c(d).astype(U32)

    def run(m: Machine, a: Active) -> None:
        store(s, m, a, in_parts(part, *[gather(g, m, a) for g in (ga, gb, gc, gm) if g]))

    return run


def bmma(s: Site) -> Exec:
    """BMMA: population counts of and-ed (AND) or xor-ed (XOR) rows and columns of bits."""
    rows, k = _shape(s)
    if not s.has("POPC") or not (s.has("AND") or s.has("XOR")) or len(s.src) > 3:
        raise s.unknown()
    ga, gb = words_of(s, s.src[0], rows * k // 1024), words_of(s, s.src[1], k // 128)
    gc = words_of(s, s.src[2], rows // 4)
    exclusive = s.has("XOR")

    def part(left: Arr, right: Arr, c: Arr) -> Arr:
        x = matrix_a(split(left, 1), rows).astype(np.float64)
        y = matrix_b(split(right, 1)).astype(np.float64)
        d = np.matmul(x, y)
        if exclusive:
            d = x.sum(axis=2)[:, :, None] + y.sum(axis=1)[:, None, :] - 2 * d
        return fragments_c(d.astype(I64) + matrix_c(c, rows)).astype(U32)

    def run(m: Machine, a: Active) -> None:
        store(s, m, a, in_parts(part, *[gather(g, m, a) for g in (ga, gb, gc)]))

    return run


def dmma(s: Site) -> Exec:
    """DMMA: f64."""
    rows, k = _shape(s)
    mode = next((v for n, v in (("RM", sf.RM), ("RP", sf.RP), ("RZ", sf.RZ)) if s.has(n)), sf.RN)
    if len(s.src) > 3:
        raise s.unknown()
    ga, gb = words_of(s, s.src[0], rows * k // 16), words_of(s, s.src[1], k // 2)
    gc = words_of(s, s.src[2], rows // 2)

    def pairs(getters: list[Getter], m: Machine, a: Active) -> Arr:
        w = gather(getters, m, a)
        result: Arr = w[..., 0::2].astype(U64) | (w[..., 1::2].astype(U64) << np.uint64(32))
        return result

    def run(m: Machine, a: Active) -> None:
        x, y = matrix_a(pairs(ga, m, a)[..., None], rows), matrix_b(pairs(gb, m, a)[..., None])
        d = matrix_c(pairs(gc, m, a), rows)
        for i in range(k):
            p, q = np.broadcast_arrays(x[:, :, i, None], y[:, None, i, :])
            d = sf.dfma64(p.reshape(-1), q.reshape(-1), d.reshape(-1), mode).reshape(d.shape)
        f = fragments_c(d)
        words = np.stack((f.astype(U32), (f >> np.uint64(32)).astype(U32)), axis=3)
        store(s, m, a, words.reshape(*words.shape[:2], -1))

    return run


BUILDERS: Final[dict[str, Builder]] = {
    "HMMA": hmma,
    "IMMA": imma,
    "BMMA": bmma,
    "DMMA": dmma,
    "QMMA": qmma,
    "OMMA": omma,
}
