"""Exact vector arithmetic for tests: multiply-add in one rounding, table functions off by up to a unit, reference results.

Written without ``orias.semantics`` and ``orias.sim``, which it judges.
"""

import numpy as np
from numpy.typing import NDArray

F32 = NDArray[np.float32]
F64 = NDArray[np.float64]
U32 = NDArray[np.uint32]
U64 = NDArray[np.uint64]


def f32(x: U32) -> F32:
    """Bits as f32."""
    return x.astype(np.uint32).view(np.float32)


def u32(x: F32) -> U32:
    """f32 as bits."""
    return x.astype(np.float32).view(np.uint32)


def f64(x: U64) -> F64:
    """Bits as f64."""
    return x.astype(np.uint64).view(np.float64)


def u64(x: F64) -> U64:
    """f64 as bits."""
    return x.astype(np.float64).view(np.uint64)


def two_sum(a: F64, b: F64) -> tuple[F64, F64]:
    """Sum and its exact error."""
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


def two_prod(a: F64, b: F64) -> tuple[F64, F64]:
    """Product and its exact error (no overflow or underflow)."""
    p = a * b
    c = np.float64(134217729.0)
    ah = a * c
    ah = ah - (ah - a)
    al = a - ah
    bh = b * c
    bh = bh - (bh - b)
    bl = b - bh
    return p, ((ah * bh - p) + ah * bl + al * bh) + al * bl


def to_odd(s: F64, err: F64) -> F64:
    """`s` with error `err` rounded to odd instead of to nearest."""
    bits = u64(s)
    fix = (err != 0) & (bits & np.uint64(1) == 0)
    up = (err > 0) == (s > 0)
    step = np.where(up, np.uint64(1), np.uint64(0xFFFFFFFFFFFFFFFF))
    return f64(np.where(fix, bits + step, bits))


def fma32(a: F32, b: F32, c: F32, mode: str = "rn") -> F32:
    """a * b + c in one rounding (rn, rz, rm, rp)."""
    p = a.astype(np.float64) * b.astype(np.float64)
    s, err = two_sum(p, c.astype(np.float64))
    return round32(to_odd(s, np.where(np.isfinite(err), err, 0.0)), mode)


def round32(x: F64, mode: str) -> F32:
    """A f64 (exact or rounded to odd) as f32."""
    with np.errstate(all="ignore"):
        r = x.astype(np.float32)
        if mode == "rn":
            return r
        r64 = r.astype(np.float64)
        down = np.nextafter(r, np.float32(-np.inf))
        up = np.nextafter(r, np.float32(np.inf))
        low = np.where(r64 > x, down, r)
        high = np.where(r64 < x, up, r)
        if mode == "rm":
            return low
        if mode == "rp":
            return high
        return np.where(x < 0, high, low)


def towards_zero(s: F64, err: F64) -> F64:
    """A sum rounded to nearest with its exact error, rounded towards zero instead."""
    too_far = np.where(s > 0, err < 0, err > 0) & (s != 0)
    return np.where(too_far, f64(u64(s) - np.uint64(1)), s)


def fma64(a: F64, b: F64, c: F64, zero: bool = False) -> F64:
    """a * b + c in one rounding to nearest (Boldo and Melquiond) or to zero, away from overflow and underflow."""
    uh, ul = two_prod(a, b)
    th, tl = two_sum(c, ul)
    vh, vl = two_sum(uh, th)
    z, err = two_sum(tl, vl)
    s, last = two_sum(vh, to_odd(z, err))
    return towards_zero(s, last) if zero else s


def off_by(x: U32, rng: np.random.Generator) -> U32:
    """Bit patterns moved by -1, 0 or 1."""
    return (x.astype(np.int64) + rng.integers(-1, 2, x.shape)).astype(np.uint32)


def rcp_table(x: F32, rng: np.random.Generator) -> F32:
    """1/x as any of the three nearest f32."""
    with np.errstate(all="ignore"):
        exact = np.float64(1) / x.astype(np.float64)
        r = exact.astype(np.float32)
        moved = f32(off_by(u32(r), rng))
    ok = np.isfinite(r) & (np.abs(r) > 1e-37) & (r.astype(np.float64) != exact)
    return np.where(ok, moved, r)


def rsqrt_table(x: F32, rng: np.random.Generator) -> F32:
    """1/sqrt(x) as any of the three nearest f32."""
    r = (1.0 / np.sqrt(x.astype(np.float64))).astype(np.float32)
    return f32(off_by(u32(r), rng))


def seed64(x: F64, rng: np.random.Generator, nearest: bool = False) -> F64:
    """A f64 with its low word cleared and, without `nearest`, the high word off by up to one."""
    high = (u64(x) >> np.uint64(32)).astype(np.int64)
    if not nearest:
        high = high + rng.integers(-1, 2, x.shape)
    return f64(high.astype(np.uint64) << np.uint64(32))
