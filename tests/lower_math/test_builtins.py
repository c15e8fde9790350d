"""The subroutines against exact results: every rounding, special values, random mantissas, whatever the seed's last bits are."""

import random
from fractions import Fraction
from math import isqrt

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.lower_math import ieee
from tests.lower_math.ptxeval import Evaluator

MODES = ("rn", "rz", "rm", "rp")
EDGES32 = [
    0, 1, 2, 3, 0x7FFFFF, 0x800000, 0x800001, 0xFFFFFF, 0x1000000, 0x3F7FFFFF, 0x3F800000, 0x3F800001, 0x40000000, 0x3FFFFFFF, 0x40490FDB,
    0x4B800000, 0x7E800000, 0x7EFFFFFF, 0x7F000000, 0x7F7FFFFF, 0x7F800000, 0x7F800001, 0x7FC00000, 0x7FFFFFFF, 0x00400000, 0x0D000000,
]  # fmt: skip


def sample32(n: int, rng: np.random.Generator) -> NDArray[np.uint64]:
    """Bit patterns: uniform, near powers of two, subnormal."""
    x = rng.integers(0, 1 << 32, n, dtype=np.uint64)
    k = n // 4
    x[:k] = x[:k] & np.uint64(0xFF80000F)
    x[k : 2 * k] = x[k : 2 * k] | np.uint64(0x007FFFF0)
    x[2 * k : 2 * k + k // 2] &= np.uint64(0x80FFFFFF)
    return x


def pairs32(n: int) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Random pairs and all pairs of edge values with both signs."""
    rng = np.random.default_rng(1)
    edges = np.array(EDGES32 + [e | 0x80000000 for e in EDGES32], np.uint64)
    a, b = np.meshgrid(edges, edges)
    return np.concatenate([sample32(n, rng), a.ravel()]), np.concatenate([sample32(n, rng), b.ravel()])


def flush(x: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.where(np.abs(x) < np.float32(2.0**-126), np.copysign(np.float32(0), x), x)


def same32(got: NDArray[np.uint64], want: NDArray[np.float32]) -> NDArray[np.bool_]:
    g = ieee.f32(got.astype(np.uint32))
    return (np.isnan(g) & np.isnan(want)) | (ieee.u32(g) == ieee.u32(want))


def check(got: NDArray[np.uint64], want: NDArray[np.float32], *args: NDArray[np.uint64]) -> None:
    bad = np.flatnonzero(~same32(got, want))
    assert len(bad) == 0, [[hex(int(v[i])) for v in (*args, got, ieee.u32(want))] for i in bad[:5]]


@pytest.mark.in_turn(4)
@pytest.mark.parametrize(("mode", "own"), [(0, True), (0, False), (1, False), (2, False), (3, False)])
@pytest.mark.parametrize("ftz", [False, True])
def test_div_f32(mode: int, ftz: bool, own: bool) -> None:
    """`own`: the subroutine for the rounding to nearest alone."""
    a, b = pairs32(60_000)
    name = ("div_rn_f32" if own else "div_f32") + ("_ftz" if ftz else "")
    got = Evaluator(name, mode, own).run(a, b, *([] if own else [np.full(len(a), mode, np.uint64)]))
    x, y = ieee.f32(a.astype(np.uint32)), ieee.f32(b.astype(np.uint32))
    with np.errstate(all="ignore"):
        if ftz:
            x, y = flush(x), flush(y)
        # 53 bits never come closer to a 24- or 25-bit number than the quotient does without being it.
        q = x.astype(np.float64) / y.astype(np.float64)
        if ftz:
            scaled = np.abs(q) < 2.0**-125
            unbounded = ieee.round32(np.where(scaled, q * 2.0**64, q), MODES[mode]).astype(np.float64)
            unbounded = np.where(scaled, unbounded * 2.0**-64, unbounded)
            small = np.abs(unbounded) < 2.0**-126
            want = np.where(small, np.copysign(np.float32(0), q.astype(np.float32)), ieee.round32(q, MODES[mode]))
        else:
            want = ieee.round32(q, MODES[mode])
        want = np.where(np.isinf(q), q.astype(np.float32), want)
        want = np.where(q == 0, q.astype(np.float32), want)
    check(got, want, a, b)


@pytest.mark.parametrize("mode", range(4))
@pytest.mark.parametrize("ftz", [False, True])
def test_sqrt_f32(mode: int, ftz: bool) -> None:
    a, _ = pairs32(60_000)
    a[:54_000] &= np.uint64(0x7FFFFFFF)
    got = Evaluator("sqrt_f32_ftz" if ftz else "sqrt_f32", mode).run(a, np.full(len(a), mode, np.uint64))
    x = ieee.f32(a.astype(np.uint32))
    if ftz:
        x = flush(x)
    with np.errstate(all="ignore"):
        root = np.sqrt(x.astype(np.float64))
        want = np.where(np.isinf(root) | (root == 0), root.astype(np.float32), ieee.round32(root, MODES[mode]))
    check(got, want, a)


def round_fraction(v: Fraction, mode: str) -> int:
    """f64 bits of a positive number: magnitude rounded as if positive with this mode (rn, down, up)."""
    e = max(v.numerator.bit_length() - v.denominator.bit_length() - 1, -1022)
    while e > -1022 and v < Fraction(2) ** e:
        e -= 1
    while v >= Fraction(2) ** (e + 1):
        e += 1
    scaled = v * Fraction(2) ** (52 - e)
    q, rest = divmod(scaled.numerator, scaled.denominator)
    twice = 2 * rest
    if (mode == "up" and rest) or (
        mode == "rn" and (twice > scaled.denominator or (twice == scaled.denominator and q & 1))
    ):
        q += 1
    bits = q + (e + 1022 << 52)
    if bits >= 0x7FF << 52:
        return 0x7FF << 52 if mode != "down" else (0x7FF << 52) - 1
    return bits


def direction(mode: str, negative: bool) -> str:
    return {"rn": "rn", "rz": "down", "rm": "up" if negative else "down", "rp": "down" if negative else "up"}[mode]


def value64(bits: int) -> Fraction:
    e, m = bits >> 52 & 0x7FF, bits & (1 << 52) - 1
    return Fraction(m if e == 0 else m | 1 << 52) * Fraction(2) ** (max(e, 1) - 1075)


EDGES64 = [
    0, 1, 2, (1 << 52) - 1, 1 << 52, (1 << 52) + 1, 0x3FF << 52, (0x3FF << 52) + 1, (0x3FF << 52) - 1, (0x400 << 52) - 1, 0x7FEFFFFFFFFFFFFF,
    0x7FF << 52, (0x7FF << 52) + 1, 0x7FF8 << 48, 0x7FD << 52, 0x7FE << 52, 0x0340000000000000, 0x001FFFFFFFFFFFFF,
]  # fmt: skip
NAN64 = -1


def div64_exact(a: int, b: int, mode: str) -> int:
    """Bits of a / b, NAN64 for a NaN."""
    sign = (a ^ b) & 1 << 63
    x, y = a & ~(1 << 63), b & ~(1 << 63)
    inf = 0x7FF << 52
    if x > inf or y > inf or (x == y and x in (0, inf)):
        return NAN64
    if x == inf or y == 0:
        return sign | inf
    if x == 0 or y == inf:
        return sign
    return sign | round_fraction(value64(x) / value64(y), direction(mode, sign != 0))


def sqrt64_exact(a: int, mode: str) -> int:
    """Bits of sqrt(a), NAN64 for a NaN."""
    x = a & ~(1 << 63)
    if x == 0 or a == 0x7FF << 52:
        return a
    if a > 0x7FF << 52:
        return NAN64
    v = value64(x) * Fraction(2) ** 1200
    n = v.numerator << 200
    root = isqrt(n)
    exact = root * root == n and v.denominator == 1
    r = Fraction(root if exact else 2 * root + 1, 1 if exact else 2) / Fraction(2) ** 700
    return round_fraction(r, direction(mode, False))


def random64(rnd: random.Random) -> int:
    kind = rnd.randrange(6)
    x = rnd.getrandbits(64)
    if kind == 0:
        x &= 0xFFF00000000000FF
    elif kind == 1:
        x |= 0x000FFFFFFFFFFF00
    elif kind == 2:
        x &= 0x803FFFFFFFFFFFFF
    elif kind == 3:
        x = 0x3FF << 52 | x & (1 << 52) - 1
    return x


def check64(got: NDArray[np.uint64], want: list[int], *args: list[int]) -> None:
    def right(g: int, w: int) -> bool:
        return g & ~(1 << 63) > 0x7FF << 52 if w == NAN64 else g == w

    bad = [k for k, (g, w) in enumerate(zip(got.tolist(), want, strict=True)) if not right(g, w)]
    assert not bad, [[hex(v[i]) for v in (*args, got.tolist(), want)] for i in bad[:5]]


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("mode", [*range(4), -1])
def test_div_f64(mode: int) -> None:
    """Mode -1: the subroutine for the rounding to nearest alone."""
    own = mode < 0
    mode = max(mode, 0)
    rnd = random.Random(mode)
    edges = EDGES64 + [e | 1 << 63 for e in EDGES64]
    a = [x for x in edges for _ in edges] + [random64(rnd) for _ in range(2500)]
    b = edges * len(edges) + [random64(rnd) for _ in range(2500)]
    lanes = [np.array(v, np.uint64) for v in (a, b, [mode] * len(a))]
    got = Evaluator("div_rn_f64", mode, True).run(*lanes[:2]) if own else Evaluator("div_f64", mode).run(*lanes)
    check64(got, [div64_exact(x, y, MODES[mode]) for x, y in zip(a, b, strict=True)], a, b)


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("mode", range(4))
def test_sqrt_f64(mode: int) -> None:
    rnd = random.Random(mode)
    a = EDGES64 + [e | 1 << 63 for e in EDGES64] + [random64(rnd) & ~(1 << 63) for _ in range(1500)]
    # Squares and their neighbours: the hard cases of every rounding.
    for _ in range(500):
        root = rnd.getrandbits(26) | 1 << 25
        bits = int(np.float64(root * root).view(np.uint64))
        a += [bits, bits + 1, bits - 1]
    got = Evaluator("sqrt_f64", mode).run(np.array(a, np.uint64), np.full(len(a), mode, np.uint64))
    check64(got, [sqrt64_exact(x, MODES[mode]) for x in a], a)


def test_rsqrt_f64() -> None:
    rnd = random.Random(5)
    a = [0, 1 << 63, 0x7FF << 52, 0xFFF << 52, 0x7FF8 << 48, 1 << 63 | 1, 1 << 30, (1 << 52) - 1] + [
        rnd.getrandbits(52) | 1 << 30 for _ in range(1000)
    ]
    got = Evaluator("rsqrt_f64", 0).run(np.array(a, np.uint64))
    with np.errstate(all="ignore"):
        want = 1.0 / np.sqrt(ieee.f64(np.array(a, np.uint64)))
    value = ieee.f64(got)
    ulps = np.abs(got.astype(np.int64) - ieee.u64(want).astype(np.int64))
    assert np.all((np.isnan(value) & np.isnan(want)) | (ulps <= 2))


@pytest.mark.parametrize("name", ["div_u64", "rem_u64", "div_s64", "rem_s64"])
def test_int64(name: str) -> None:
    rnd = random.Random(7)
    edges = [
        0,
        1,
        2,
        3,
        5,
        7,
        10,
        0xFFFF,
        0x10000,
        (1 << 24) - 1,
        1 << 24,
        (1 << 24) + 1,
        (1 << 32) - 1,
        1 << 32,
        (1 << 32) + 1,
        (1 << 53) + 1,
    ]
    edges += [
        (1 << 63) - 1,
        1 << 63,
        (1 << 63) + 1,
        (1 << 64) - 1,
        (1 << 64) - 2,
        (1 << 64) - 3,
        (1 << 64) - 10,
        0xFFFFFF8000000000,
    ]
    a = [x for x in edges for _ in edges]
    b = edges * len(edges)
    for _ in range(8000):
        x, y = rnd.getrandbits(rnd.randrange(1, 65)), rnd.getrandbits(rnd.randrange(1, 65))
        if y and rnd.random() < 0.3:
            x = (x // y * y + rnd.choice((-1, 0, 1))) & (1 << 64) - 1
        a.append(x)
        b.append(y)
    want = []
    for x, y in zip(a, b, strict=True):
        if y == 0:
            want.append((1 << 64) - 1)
            continue
        if name.endswith("s64"):
            x, y = x - (x >> 63 << 64), y - (y >> 63 << 64)
        q = abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
        want.append((q if name.startswith("div") else x - q * y) & (1 << 64) - 1)
    got = Evaluator(name, 0).run(np.array(a, np.uint64), np.array(b, np.uint64)).tolist()
    bad = [k for k in range(len(a)) if got[k] != want[k]]
    assert not bad, [[hex(v[i]) for v in (a, b, got, want)] for i in bad[:5]]


def slow32(name: str) -> NDArray[np.uint64]:
    """Operands of a `..._rn` subroutine: outside the range of the inline sequence, both signs."""
    rng = np.random.default_rng(11)
    if name.startswith("rcp"):
        x = np.concatenate([rng.integers(0, 0x00800000, 50_000), rng.integers(0x7E800000, 0x7F800002, 200_000)])
        x = np.concatenate(
            [x, np.arange(0x7E800000, 0x7E800400), np.arange(0x7EFFFC00, 0x7F000400), np.arange(0x7F7FFC00, 0x7F800000)]
        )
    else:
        x = np.concatenate(
            [
                rng.integers(0, 0x0D000000, 100_000),
                np.arange(0x0CFFF000, 0x0D000000),
                np.arange(0x00800000 - 500, 0x00800500),
            ]
        )
    x = np.concatenate([x, [0, 1, 2, 3, 0x7F800000, 0x7FC00000]]).astype(np.uint64)
    return np.concatenate([x, x | np.uint64(0x80000000)])


@pytest.mark.parametrize("name", ["rcp_rn_f32", "sqrt_rn_f32", "sqrt_rn_f32_ftz"])
def test_rn_f32(name: str) -> None:
    a = slow32(name)
    got = Evaluator(name, 0, True).run(a)
    x = ieee.f32(a.astype(np.uint32))
    if name.endswith("ftz"):
        x = flush(x)
    with np.errstate(all="ignore"):
        wide = 1.0 / x.astype(np.float64) if name.startswith("rcp") else np.sqrt(x.astype(np.float64))
        want = wide.astype(np.float32)
    check(got, want, a)


def test_rcp_rn_f64() -> None:
    rnd = random.Random(12)
    a = [
        0,
        1,
        2,
        3,
        0x7FF << 52,
        0x7FF8 << 48,
        0x7FE << 52,
        0x7FD << 52,
        (0x7FD << 52) - 1,
        (0x7FE << 52) + 1,
        0x7FEFFFFFFFFFFFFF,
    ]
    a += [rnd.getrandbits(52) for _ in range(500)] + [0x7FCFFFFF << 32 | rnd.getrandbits(32) for _ in range(100)]
    a += [rnd.choice((0x7FD, 0x7FE)) << 52 | rnd.getrandbits(52) for _ in range(2000)]
    a += [x | 1 << 63 for x in a]
    got = Evaluator("rcp_rn_f64", 1, True).run(np.array(a, np.uint64))
    check64(got, [div64_exact(0x3FF << 52, x, "rn") for x in a], a)


def test_sqrt_rn_f64() -> None:
    rnd = random.Random(13)
    a = [0, 1 << 63, 1, 2, 1 << 52, 0x7FF << 52, 0x7FF8 << 48, 1 << 63 | 5, 0xBFF << 52] + [
        rnd.randrange(0x035 << 52) for _ in range(2000)
    ]
    got = Evaluator("sqrt_rn_f64", 1, True).run(np.array(a, np.uint64))
    check64(got, [sqrt64_exact(x, "rn") for x in a], a)
