"""Numeric models of the inline fast paths of division, reciprocal and square root, for every mantissa or many.

MUFU is taken to give any of the three nearest values: then the directed forms, which take a second Newton step, must still be
right for every input.  The forms to nearest are ptxas's own sequences; they are right where MUFU gives the nearest value.
"""

import numpy as np
import pytest

from tests.lower_math import ieee

DIRECTED = ("rz", "rm", "rp")


def mantissas(step: int, start: int = 0) -> ieee.F32:
    """f32 in [1, 2): every `step`-th."""
    return ieee.f32((np.arange(start, 1 << 23, step, dtype=np.uint32)) | np.uint32(0x3F800000))


def one(x: ieee.F32) -> ieee.F32:
    return np.ones_like(x)


def rcp(x: ieee.F32, r: ieee.F32, mode: str) -> ieee.F32:
    """The inline sequence of rcp.f32 from a seed."""
    if mode != "rn":
        r = ieee.fma32(r, ieee.fma32(-x, r, one(x)), r)
    return ieee.fma32(r, ieee.fma32(-x, r, one(x)), r, mode)


def sqrt(x: ieee.F32, r: ieee.F32, mode: str) -> ieee.F32:
    """The inline sequence of sqrt.f32 from a seed."""
    g = x * r
    h = r * np.float32(0.5)
    if mode != "rn":
        g = ieee.fma32(ieee.fma32(-g, g, x), h, g)
    return ieee.fma32(ieee.fma32(-g, g, x), h, g, mode)


def div(a: ieee.F32, b: ieee.F32, r: ieee.F32) -> ieee.F32:
    """The inline sequence of div.rn.f32 from a seed."""
    r = ieee.fma32(r, ieee.fma32(-b, r, one(b)), r)
    q = ieee.fma32(a, r, np.zeros_like(a))
    return ieee.fma32(r, ieee.fma32(-b, q, a), q)


def nearest(x: ieee.F64) -> ieee.F32:
    return x.astype(np.float32)


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("mode", ["rn", *DIRECTED])
def test_rcp(mode: str) -> None:
    x = mantissas(5, 2) if mode != "rn" else mantissas(3, 1)
    x = np.concatenate([x, mantissas(1)[-1000:], mantissas(1)[:1000]])
    exact = 1.0 / x.astype(np.float64)
    seed = nearest(exact)
    if mode != "rn":
        inexact = seed.astype(np.float64) != exact
        seed = np.where(inexact, ieee.f32(ieee.off_by(ieee.u32(seed), np.random.default_rng(0))), seed)
    assert np.array_equal(rcp(x, seed, mode), ieee.round32(exact, mode))


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("mode", ["rn", *DIRECTED])
def test_sqrt(mode: str) -> None:
    x = np.concatenate([mantissas(7), mantissas(7, 3) * np.float32(2), mantissas(1)[-1000:], mantissas(1)[:1000]])
    seed = nearest(1.0 / np.sqrt(x.astype(np.float64)))
    if mode != "rn":
        seed = ieee.rsqrt_table(x, np.random.default_rng(1))
    assert np.array_equal(sqrt(x, seed, mode), ieee.round32(np.sqrt(x.astype(np.float64)), mode))


def test_div() -> None:
    rng = np.random.default_rng(2)
    a = ieee.f32(rng.integers(0x30000000, 0x50000000, 2_000_000, dtype=np.uint32))
    b = ieee.f32(rng.integers(0x30000000, 0x50000000, 2_000_000, dtype=np.uint32))
    k = 500_000
    b[:k] = mantissas(1)[-k:]
    seed = nearest(1.0 / b.astype(np.float64))
    assert np.array_equal(div(a, b, seed), nearest(a.astype(np.float64) / b.astype(np.float64)))


def test_div16() -> None:
    rng = np.random.default_rng(3)
    b = rng.integers(1, 1 << 16, 1_000_000).astype(np.int64)
    b[:1000] = np.arange(1, 1001)
    q = rng.integers(0, 1 << 16, 1_000_000) // b
    a = np.minimum(q * b + rng.integers(-1, 2, 1_000_000), 65535).clip(0)
    r = ieee.rcp_table(b.astype(np.float32), rng)
    r = ieee.f32(ieee.u32(r) + np.uint32(2))
    got = np.floor(ieee.round32(a.astype(np.float64) * r.astype(np.float64), "rz").astype(np.float64)).astype(np.int64)
    assert np.array_equal(got, a // b)


def test_div32() -> None:
    rng = np.random.default_rng(4)
    n = 1_000_000
    b = (rng.integers(1, 1 << 32, n, dtype=np.uint64) >> rng.integers(0, 32, n, dtype=np.uint64)).clip(1)
    a = rng.integers(0, 1 << 32, n, dtype=np.uint64)
    a[: n // 2] = np.minimum(
        a[: n // 2] // b[: n // 2] * b[: n // 2] + rng.integers(0, 2, n // 2, dtype=np.uint64), 0xFFFFFFFF
    )
    f = ieee.round32(b.astype(np.float64), "rp")
    r = ieee.f32(ieee.u32(ieee.rcp_table(f, rng)) + np.uint32(0x0FFFFFFE))
    m = np.uint64(0xFFFFFFFF)
    s = np.uint64(32)
    recip = np.minimum(np.floor(r.astype(np.float64)), 4294967295.0).astype(np.uint64)
    err = (np.uint64(0) - b) * recip & m
    recip = recip + (recip * err >> s) & m
    q = recip * a >> s
    rest = a - q * b & m
    for _ in range(2):
        more = rest >= b
        rest = np.where(more, rest - b, rest)
        q = np.where(more, q + np.uint64(1), q)
    assert np.array_equal(q, a // b)
    assert np.array_equal(rest, a % b)


def test_div_and_rcp64() -> None:
    rng = np.random.default_rng(5)
    n = 20_000
    a = ieee.f64(rng.integers(0x3FF << 52, 0x400 << 52, n, dtype=np.uint64))
    b = ieee.f64(rng.integers(0x3FF << 52, 0x400 << 52, n, dtype=np.uint64))
    b[:100] = ieee.f64((0x400 << 52) - np.arange(1, 101, dtype=np.uint64))
    r = ieee.f64(ieee.u64(ieee.seed64(1.0 / b, rng)) | np.uint64(1))
    err = ieee.fma64(-b, r, np.ones(n))
    err = ieee.fma64(err, err, err)
    r = ieee.fma64(r, err, r)
    r = ieee.fma64(r, ieee.fma64(-b, r, np.ones(n)), r)
    q = a * r
    q = ieee.fma64(r, ieee.fma64(-b, q, a), q)
    assert np.array_equal(q, a / b)
    assert np.mean(r == 1.0 / b) > 0.999
    assert np.max(np.abs(ieee.u64(r).astype(np.int64) - ieee.u64(1.0 / b).astype(np.int64))) <= 1


def test_sqrt64() -> None:
    rng = np.random.default_rng(6)
    n = 20_000
    x = ieee.f64(rng.integers(0x3FF << 52, 0x401 << 52, n, dtype=np.uint64))
    root = rng.integers(1 << 25, 1 << 26, n // 4).astype(np.float64)
    x[: n // 4] = root * root * 2.0**-50
    x[n // 4 : n // 2] = np.nextafter(x[: n // 4], 0)
    low = (ieee.u64(x) >> np.uint64(32)) - np.uint64(0x3500000)
    r = ieee.f64(ieee.u64(ieee.seed64(1.0 / np.sqrt(x), rng)) | low)
    err = ieee.fma64(x, -(r * r), np.ones(n))
    h = ieee.fma64(err, np.full(n, 0.375), np.full(n, 0.5))
    r = ieee.fma64(h, r * err, r)
    g = x * r
    g = ieee.fma64(ieee.fma64(g, -g, x), r * 0.5, g)
    assert np.array_equal(g, np.sqrt(x))
