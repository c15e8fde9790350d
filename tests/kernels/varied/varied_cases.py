"""Varied kernels: arguments and results computed here, on the host, for the PTX in ``ptx``.

``make_varied.sh`` rebuilds the PTX from CUDA C++ (``cuda``), Triton (``varied_triton.py``) and tinygrad (``varied_tinygrad.py``).
"""

import binascii
import hashlib
import itertools
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from tests.device import load

PTX = Path(__file__).parent / "ptx"
Array = np.ndarray[Any, Any]
Want = tuple[int, Any, float]
F, D, S, U, B = np.float32, np.float64, np.int32, np.uint32, np.uint8


class Launch(NamedTuple):
    """How to run a kernel: grid, block, arguments, wanted contents (argument number, values, relative error), dynamic shared memory."""

    grid: Any
    block: Any
    args: list[Any]
    wants: list[Want]
    shared: int = 0

    def run(self, cubin: bytes) -> None:
        """Launch the cubin's kernel on the device of the tests and compare its outputs (AssertionError)."""
        image = load(cubin)
        image.launch(next(iter(image.kernels)), self.grid, self.block, self.args, shared=self.shared)
        for at, want, tolerance in self.wants:
            got = np.asarray(self.args[at], np.float64).ravel()
            wanted = np.asarray(want, np.float64).ravel()
            if tolerance:
                bound = tolerance * np.abs(wanted).max()
                np.testing.assert_allclose(got, wanted, rtol=tolerance, atol=bound, err_msg=f"argument {at}")
            else:
                np.testing.assert_array_equal(np.asarray(self.args[at]).ravel(), np.asarray(want).ravel().astype(self.args[at].dtype), err_msg=f"argument {at}")  # fmt: skip


class Runner(Protocol):
    """What runs a cubin of a kernel and checks its results."""

    def run(self, cubin: bytes) -> None:
        """Launch the cubin's kernel and compare its outputs (AssertionError)."""


Maker = Callable[[np.random.Generator], Runner]
Cases = dict[str, Callable[[], Runner]]
CASES: Cases = {}


def adder(cases: Cases) -> Callable[[Maker], Maker]:
    """A decorator that adds the case of the kernel that a function is named after; its numbers are the same in every run."""

    def case(make: Maker) -> Maker:
        cases[make.__name__] = lambda: make(np.random.default_rng(len(make.__name__)))
        return make

    return case


case = adder(CASES)


def floats(r: np.random.Generator, *shape: int) -> Array:
    return r.standard_normal(shape).astype(F)


def source(name: str) -> str:
    """PTX text of a case."""
    return (PTX / f"{name}.ptx").read_text()


def shared_of(name: str) -> int:
    """Bytes of dynamic shared memory of a kernel of Triton."""
    found = re.match(r"// shared (\d+)", source(name))
    assert found
    return int(found[1])


# --- CUDA ----------------------------------------------------------------------------------------------------------


@case
def argmax_rows(r: np.random.Generator) -> Launch:
    x = r.integers(0, 50, (4, 150)).astype(F)
    return Launch(4, 32, [x, np.zeros(4, F), np.zeros(4, S), S(150)], [(1, x.max(axis=1), 0), (2, x.argmax(axis=1), 0)])


@case
def segmented_scan(r: np.random.Generator) -> Launch:
    x, flags = r.integers(-9, 9, 256).astype(S), (r.random(256) < 0.1).astype(S)
    want, s = [], 0
    for k in range(256):
        s = x[k] if flags[k] or k % 128 == 0 else s + x[k]
        want.append(s)
    return Launch(2, 128, [x, flags, np.zeros(256, S)], [(2, want, 0)])


@case
def radix_pass(r: np.random.Generator) -> Launch:
    x = r.integers(0, 1 << 32, 128).astype(U)
    want = [sorted(b.tolist(), key=lambda v: v >> 8 & 15) for b in x.reshape(2, 64)]
    return Launch(2, 64, [x, np.zeros(128, U), S(8)], [(1, want, 0)])


@case
def merge_sorted(r: np.random.Generator) -> Launch:
    a, b = np.sort(r.integers(0, 90, 100)).astype(S), np.sort(r.integers(0, 90, 77)).astype(S)
    return Launch(2, 64, [a, b, np.zeros(177, S), S(100), S(77)], [(2, np.sort(np.concatenate([a, b])), 0)])


@case
def odd_even_sort(r: np.random.Generator) -> Launch:
    x = r.standard_normal((2, 128)).astype(F)
    return Launch(2, 64, [x.copy()], [(0, np.sort(x, axis=1), 0)])


@case
def stencil3d(r: np.random.Generator) -> Launch:
    x = r.standard_normal((9, 10, 18)).astype(F)
    v = x.astype(D)
    want = np.zeros_like(v)
    inner = (
        v[:-2, 1:-1, 1:-1]
        + v[2:, 1:-1, 1:-1]
        + v[1:-1, :-2, 1:-1]
        + v[1:-1, 2:, 1:-1]
        + v[1:-1, 1:-1, :-2]
        + v[1:-1, 1:-1, 2:]
    )
    want[1:-1, 1:-1, 1:-1] = 0.5 * v[1:-1, 1:-1, 1:-1] + 0.125 * inner
    return Launch((2, 2), (16, 8), [x, np.zeros_like(x), S(18), S(10), S(9), F(0.5), F(0.125)], [(1, want, 1e-5)])


@case
def jacobi_shared(r: np.random.Generator) -> Launch:
    x = r.standard_normal((32, 32)).astype(F)
    want = np.zeros((32, 32))
    for by in (0, 16):
        for bx in (0, 16):
            s = np.pad(x[by : by + 16, bx : bx + 16].astype(D), 1)
            for _ in range(4):
                s[1:-1, 1:-1] = 0.25 * (s[:-2, 1:-1] + s[2:, 1:-1] + s[1:-1, :-2] + s[1:-1, 2:])
            want[by : by + 16, bx : bx + 16] = s[1:-1, 1:-1]
    return Launch((2, 2), (16, 16), [x, np.zeros_like(x), S(32)], [(1, want, 1e-5)])


@case
def blur_bytes(r: np.random.Generator) -> Launch:
    x = r.integers(0, 256, (4, 100)).astype(B)
    p = np.pad(x.astype(int), ((0, 0), (2, 2)), "edge")
    want = (8 + sum(w * p[:, k : k + 100] for k, w in enumerate((1, 4, 6, 4, 1)))) >> 4
    return Launch((2, 4), 64, [x, np.zeros_like(x), S(100), S(4)], [(1, want, 0)])


@case
def sobel(r: np.random.Generator) -> Launch:
    x = r.integers(0, 256, (20, 36)).astype(B)
    v = x.astype(int)
    gx = v[:-2, 2:] + 2 * v[1:-1, 2:] + v[2:, 2:] - v[:-2, :-2] - 2 * v[1:-1, :-2] - v[2:, :-2]
    gy = v[2:, :-2] + 2 * v[2:, 1:-1] + v[2:, 2:] - v[:-2, :-2] - 2 * v[:-2, 1:-1] - v[:-2, 2:]
    want = np.zeros_like(v)
    want[1:-1, 1:-1] = np.minimum(abs(gx) + abs(gy), 255)
    return Launch((2, 3), (32, 8), [x, np.zeros_like(x), S(36), S(20)], [(1, want, 0)])


@case
def dct8(r: np.random.Generator) -> Launch:
    x = r.standard_normal((64, 8)).astype(F)
    k = np.arange(8)
    table = 0.5 * np.cos((2 * k[None, :] + 1) * k[:, None] * math.pi / 16)
    table[0] = math.sqrt(0.125)
    return Launch(2, 32, [x, np.zeros_like(x)], [(1, x.astype(D) @ table.T, 1e-5)])


@case
def edit_distance(r: np.random.Generator) -> Launch:
    a, b = r.integers(97, 100, (64, 12)).astype(B), r.integers(97, 100, (64, 12)).astype(B)
    want = []
    for p, q in zip(a, b, strict=True):
        row = list(range(13))
        for i in range(1, 13):
            new = [i]
            for j in range(1, 13):
                new.append(min(row[j - 1] + (p[i - 1] != q[j - 1]), row[j] + 1, new[-1] + 1))
            row = new
        want.append(row[12])
    return Launch(2, 32, [a, b, np.zeros(64, S)], [(2, want, 0)])


@case
def horspool(r: np.random.Generator) -> Launch:
    text = bytes(r.choice(list(b"abc"), 700).tolist())
    pattern = b"abca"
    want = sum(text.startswith(pattern, k) for k in range(len(text)))
    return Launch(
        2,
        32,
        [np.frombuffer(text, B).copy(), S(700), np.frombuffer(pattern, B).copy(), S(4), np.zeros(1, S)],
        [(4, [want], 0)],
    )


@case
def crc_bytes(r: np.random.Generator) -> Launch:
    x = r.integers(0, 256, (64, 21)).astype(B)
    return Launch(2, 32, [x, np.zeros(64, U), S(21)], [(1, [binascii.crc32(v.tobytes()) for v in x], 0)])


@case
def sha256(r: np.random.Generator) -> Launch:
    message = [r.integers(0, 256, 40).astype(B).tobytes() for _ in range(32)]
    blocks = b"".join(m + b"\x80" + bytes(15) + (8 * 40).to_bytes(8, "big") for m in message)
    want = [np.frombuffer(hashlib.sha256(m).digest(), ">u4") for m in message]
    return Launch(1, 32, [np.frombuffer(blocks, U).copy(), np.zeros(32 * 8, U)], [(1, np.array(want), 0)])


@case
def chacha20(r: np.random.Generator) -> Launch:
    key, nonce = r.integers(0, 1 << 32, 8).astype(U), r.integers(0, 1 << 32, 3).astype(U)
    s = np.zeros((16, 32), U)
    s[:4] = np.array([0x61707865, 0x3320646E, 0x79622D32, 0x6B206574], U)[:, None]
    s[4:12], s[12], s[13:] = key[:, None], np.arange(32), nonce[:, None]
    x = s.copy()

    def mixed(a: int, b: int, turn: int, d: int) -> None:
        x[a] += x[b]
        x[d] ^= x[a]
        x[d] = x[d] << U(turn) | x[d] >> U(32 - turn)

    quarters = [(k, k + 4, k + 8, k + 12) for k in range(4)] + [
        (0, 5, 10, 15),
        (1, 6, 11, 12),
        (2, 7, 8, 13),
        (3, 4, 9, 14),
    ]
    for _ in range(10):
        for a, b, c, d in quarters:
            for turn, other in ((16, 12), (8, 7)):
                mixed(a, b, turn, d)
                mixed(c, d, other, b)
    return Launch(1, 32, [key, nonce, np.zeros(512, U)], [(2, (x + s).T, 0)])


@case
def bigint_product(r: np.random.Generator) -> Launch:
    a, b = (r.integers(0, 1 << 64, (32, 4), np.uint64) for _ in range(2))

    def number(words: Array) -> int:
        return sum(int(w) << 64 * k for k, w in enumerate(words))

    products = [number(x) * number(y) for x, y in zip(a, b, strict=True)]
    want = np.array([[p >> 64 * k & (1 << 64) - 1 for k in range(8)] for p in products], np.uint64)
    return Launch(1, 32, [a, b, np.zeros((32, 8), np.uint64)], [(2, want, 0)])


@case
def montgomery(r: np.random.Generator) -> Launch:
    n, e = 0x7FFFFFED, 65537
    x = r.integers(0, n, 64).astype(U)
    constants = [U(e), U(n), U(pow(n, -1, 1 << 32)), U((1 << 64) % n)]
    return Launch(2, 32, [x, np.zeros(64, U), *constants], [(1, [pow(int(v), e, n) for v in x], 0)])


def _sparse(r: np.random.Generator, rows: int, longest: int) -> tuple[Array, Array, Array]:
    lengths = r.integers(0, longest, rows)
    start = np.concatenate([[0], np.cumsum(lengths)]).astype(S)
    return start, r.integers(0, rows, start[-1]).astype(S), r.standard_normal(start[-1]).astype(F)


@case
def csr_vector(r: np.random.Generator) -> Launch:
    start, column, value = _sparse(r, 16, 90)
    x = r.standard_normal(16).astype(F)
    want = [float(value[a:b].astype(D) @ x[column[a:b]].astype(D)) for a, b in itertools.pairwise(start)]
    return Launch(4, 128, [start, column, value, x, np.zeros(16, F)], [(4, want, 1e-5)])


@case
def ell_product(r: np.random.Generator) -> Launch:
    column, value, x = r.integers(-1, 50, (6, 50)).astype(S), r.standard_normal((6, 50)), r.standard_normal(50)
    want = (np.where(column >= 0, value * x[column], 0)).sum(axis=0)
    return Launch(2, 32, [column, value, x, np.zeros(50), S(50), S(6)], [(3, want, 1e-12)])


@case
def monte_carlo(r: np.random.Generator) -> Launch:
    inside, seed = 0, 12345
    for t in range(64):
        s = (t + 1) * 2654435761 & 0xFFFFFFFF ^ seed
        for _ in range(30):
            s ^= s << 13 & 0xFFFFFFFF
            s ^= s >> 17
            s ^= s << 5 & 0xFFFFFFFF
            x, y = s >> 16, s & 0xFFFF
            inside += (x * x & 0xFFFFFFFF) + y * y < 0xFFFFFFFF
    return Launch(1, 64, [np.zeros(1, U), S(30), U(seed)], [(0, [inside], 0)])


@case
def black_scholes(r: np.random.Generator) -> Launch:
    s, k, t = (r.uniform(a, b, 64).astype(F) for a, b in ((10, 50), (10, 50), (0.2, 3)))
    rate, sigma = 0.02, 0.3
    call, put = [], []
    for x, y, z in zip(s.astype(D), k.astype(D), t.astype(D), strict=True):
        d1 = (math.log(x / y) + (rate + sigma * sigma / 2) * z) / (sigma * math.sqrt(z))
        d2 = d1 - sigma * math.sqrt(z)
        low, n1, n2 = math.exp(-rate * z), math.erfc(-d1 / math.sqrt(2)) / 2, math.erfc(-d2 / math.sqrt(2)) / 2
        call.append(x * n1 - y * low * n2)
        put.append(y * low * (1 - n2) - x * (1 - n1))
    return Launch(
        2, 32, [s, k, t, np.zeros(64, F), np.zeros(64, F), F(rate), F(sigma)], [(3, call, 1e-4), (4, put, 1e-4)]
    )


@case
def binomial_option(r: np.random.Generator) -> Launch:
    spot = r.uniform(80, 120, 3).astype(F)
    up, p, discount, strike = 1.02, 0.51, 0.9995, 100.0
    v = np.maximum(spot[:, None].astype(D) * up ** (2.0 * np.arange(65) - 64) - strike, 0)
    while v.shape[1] > 1:
        v = discount * (p * v[:, 1:] + (1 - p) * v[:, :-1])
    return Launch(3, 32, [spot, np.zeros(3, F), F(strike), F(up), F(p), F(discount)], [(1, v, 1e-4)])


@case
def sgemm_tiled(r: np.random.Generator) -> Launch:
    a, b = r.standard_normal((64, 40)).astype(F), r.standard_normal((40, 64)).astype(F)
    return Launch((2, 2), 64, [a, b, np.zeros((64, 64), F), S(64), S(40)], [(2, a.astype(D) @ b.astype(D), 1e-5)])


@case
def gemm_bytes(r: np.random.Generator) -> Launch:
    a, b = r.integers(-128, 128, (32, 48)).astype(np.int8), r.integers(-128, 128, (32, 48)).astype(np.int8)
    scale = r.random(32).astype(F)
    want = (a.astype(int) @ b.astype(int).T) * scale.astype(D)
    return Launch(
        (2, 2), (16, 16), [a.view(S), b.view(S), scale, np.zeros((32, 32), F), S(32), S(12)], [(3, want, 1e-6)]
    )


@case
def gemv_nibbles(r: np.random.Generator) -> Launch:
    q, scale = r.integers(0, 16, (4, 40, 32)), r.random((4, 40)).astype(np.float16)
    x = r.standard_normal(1280).astype(F)
    words = np.zeros((4, 40, 4), np.uint64)
    for k in range(32):
        words[:, :, k // 8] |= q[:, :, k].astype(np.uint64) << np.uint64(4 * (k % 8))
    want = ((q - 8) * scale.astype(D)[:, :, None]).reshape(4, -1) @ x.astype(D)
    return Launch(4, 32, [words.astype(U), scale, x, np.zeros(4, F), S(40)], [(3, want, 1e-4)])


@case
def rope(r: np.random.Generator) -> Launch:
    x = r.standard_normal((6, 2, 32, 2)).astype(F)
    rate = (10000.0 ** (-np.arange(32) / 32)).astype(F)
    angle = (np.arange(6)[:, None] * rate.astype(D))[:, None, :]
    a, b = x[..., 0].astype(D), x[..., 1].astype(D)
    want = np.stack([a * np.cos(angle) - b * np.sin(angle), a * np.sin(angle) + b * np.cos(angle)], axis=-1)
    return Launch((6, 2), 32, [x, rate, S(2), S(32)], [(0, want, 1e-5)])


@case
def rms_norm(r: np.random.Generator) -> Launch:
    x, w = r.standard_normal((3, 600)).astype(np.float16), r.standard_normal(600).astype(np.float16)
    v = x.astype(D)
    want = v / np.sqrt((v * v).mean(axis=1, keepdims=True) + 1e-5) * w.astype(D)
    return Launch(3, 128, [x, w, np.zeros_like(x), S(300), F(1e-5)], [(2, want, 2e-3)])


@case
def kmeans_assign(r: np.random.Generator) -> Launch:
    x, c = r.standard_normal((90, 5)).astype(F), r.standard_normal((7, 5)).astype(F)
    want = ((x[:, None].astype(D) - c[None].astype(D)) ** 2).sum(axis=2).argmin(axis=1)
    return Launch(2, 64, [x, c, np.zeros(90, S), S(90), S(7), S(5)], [(2, want, 0)], 7 * 5 * 4)


@case
def life_bits(r: np.random.Generator) -> Launch:
    cells = r.integers(0, 2, (8, 32 * 8))
    around = sum(np.roll(cells, (y, x), (0, 1)) for y in (-1, 0, 1) for x in (-1, 0, 1) if x or y)
    after = (around == 3) | ((around == 2) & (cells == 1))
    weights = np.uint64(1) << np.arange(32, dtype=np.uint64)

    def packed(bits: Array) -> Array:
        return (bits.reshape(8, 8, 32).astype(np.uint64) * weights).sum(axis=2).astype(U)

    return Launch(8, 8, [packed(cells), np.zeros((8, 8), U), S(8), S(8)], [(1, packed(after), 0)])


@case
def ray_march(r: np.random.Generator) -> Launch:
    w, h = 64, 6
    y, x = np.mgrid[:h, :w]
    d = np.stack([(x - w * 0.5) / w, (y - h * 0.5) / h, np.ones((h, w))], axis=-1)
    d /= np.linalg.norm(d, axis=-1, keepdims=True)
    t, going = np.zeros((h, w)), np.ones((h, w), bool)
    for _ in range(48):
        p = d * t[..., None] - np.array([0, 0, 3.0])
        step = np.minimum(np.linalg.norm(p, axis=-1) - 1, p[..., 1] + 1.5)
        t = np.where(going, t + step, t)
        going &= ~((step < 0.01) | (t > 20))
    return Launch((2, 6), 32, [np.zeros((h, w), F), S(w), S(h)], [(0, t, 1e-3)])


@case
def floyd_tile(r: np.random.Generator) -> Launch:
    d = r.integers(1, 99, (2, 32, 32)).astype(S)
    want = d.astype(int)
    for k in range(32):
        want = np.minimum(want, want[:, :, k : k + 1] + want[:, k : k + 1, :])
    return Launch(2, (8, 32), [d.copy()], [(0, want, 0)])


@case
def cholesky6(r: np.random.Generator) -> Launch:
    m = r.standard_normal((40, 6, 6))
    a = m @ np.swapaxes(m, 1, 2) + 3 * np.eye(6)
    want = np.linalg.cholesky(a).transpose(1, 2, 0)
    return Launch(2, 32, [np.ascontiguousarray(a.transpose(1, 2, 0)), np.zeros((6, 6, 40)), S(40)], [(1, want, 1e-12)])


@case
def transform4(r: np.random.Generator) -> Launch:
    x, m = r.standard_normal((70, 4)).astype(F), r.standard_normal((4, 4)).astype(F)
    return Launch(3, 32, [x, np.zeros_like(x), m, S(70)], [(1, x.astype(D) @ m.astype(D).T, 1e-5)])


@case
def compact(r: np.random.Generator) -> Launch:
    x = r.integers(-50, 50, (2, 128)).astype(S)
    want = np.zeros((2, 128), S)
    for k, row in enumerate(x):
        kept = row[row > 10]
        want[k, : len(kept)] = kept
    return Launch(
        2, 128, [x, np.zeros((2, 128), S), np.zeros(2, S), S(10)], [(1, want, 0), (2, (x > 10).sum(axis=1), 0)]
    )


@case
def bucket_max(r: np.random.Generator) -> Launch:
    key, value = r.integers(0, 1 << 32, 300).astype(U), r.integers(-1000, 1000, 300).astype(S)
    want = np.full(32, -(1 << 31))
    for k, v in zip(key.tolist(), value.tolist(), strict=True):
        at = (k * 2654435761 & 0xFFFFFFFF) >> 27
        want[at] = max(want[at], v)
    return Launch(2, 64, [key, value, np.full(32, -(1 << 31), S), S(300)], [(2, want, 0)])


@case
def page_rank(r: np.random.Generator) -> Launch:
    start, source_, _ = _sparse(r, 60, 9)
    degree, rank = r.integers(1, 9, 60).astype(S), r.random(60).astype(F)
    part = rank.astype(D) / degree
    want = [0.15 / 60 + 0.85 * part[source_[a:b]].sum() for a, b in itertools.pairwise(start)]
    return Launch(2, 32, [start, source_, degree, rank, np.zeros(60, F), S(60), F(0.85)], [(4, want, 1e-5)])


@case
def trilinear(r: np.random.Generator) -> Launch:
    grid, p = r.standard_normal((5, 5, 5)).astype(F), r.random((3, 60)).astype(F)
    q = p.astype(F) * F(4)
    at = np.minimum(q.astype(int), 3)
    fx, fy, fz = (q - at).astype(D)
    x, y, z = at
    want = np.zeros(60)
    for k in range(8):
        dx, dy, dz = k & 1, k >> 1 & 1, k >> 2
        weight = (fx if dx else 1 - fx) * (fy if dy else 1 - fy) * (fz if dz else 1 - fz)
        want += weight * grid.astype(D)[z + dz, y + dy, x + dx]
    return Launch(2, 32, [grid, *p.copy(), np.zeros(60, F), S(60), S(5)], [(4, want, 1e-4)])


@case
def cross_entropy(r: np.random.Generator) -> Launch:
    x, label = (3 * r.standard_normal((5, 100))).astype(F), r.integers(0, 100, 5).astype(S)
    v = x.astype(D)
    want = np.log(np.exp(v).sum(axis=1)) - v[np.arange(5), label]
    return Launch(5, 32, [x, label, np.zeros(5, F), S(100)], [(2, want, 1e-5)])


@case
def adam(r: np.random.Generator) -> Launch:
    w, g, m = (r.standard_normal(150).astype(F) for _ in range(3))
    v = r.random(150).astype(F)
    rate, b1, b2, eps, c1, c2 = 1e-3, 0.9, 0.999, 1e-8, 0.3, 0.1
    a, b = b1 * m.astype(D) + (1 - b1) * g, b2 * v.astype(D) + (1 - b2) * g.astype(D) ** 2
    want = w - rate * (a / c1) / (np.sqrt(b / c2) + eps)
    numbers = [F(x) for x in (rate, b1, b2, eps, c1, c2)]
    return Launch(
        2, 64, [w.copy(), g, m.copy(), v.copy(), S(150), *numbers], [(0, want, 1e-5), (2, a, 1e-5), (3, b, 1e-5)]
    )


@case
def layer_norm(r: np.random.Generator) -> Launch:
    x, w, b = r.standard_normal((4, 200)).astype(F), r.random(200).astype(F), r.random(200).astype(F)
    v = x.astype(D)
    want = (v - v.mean(axis=1, keepdims=True)) / np.sqrt(v.var(axis=1, keepdims=True) + 1e-5) * w + b
    return Launch(4, 32, [x, w, b, np.zeros_like(x), S(200), F(1e-5)], [(3, want, 1e-5)])


@case
def digit_counts(r: np.random.Generator) -> Launch:
    keys = r.integers(0, 1 << 32, 1000).astype(U)
    at = np.arange(1000) // 128 % 2
    want = [np.bincount(keys[at == k] >> 8 & 255, minlength=256) for k in (0, 1)]
    return Launch(2, 128, [keys, np.zeros(512, U), S(1000), S(8)], [(1, np.stack(want, axis=1), 0)])


@case
def prefix_four(r: np.random.Generator) -> Launch:
    x = r.integers(-99, 99, (2, 512)).astype(S)
    return Launch(2, 128, [x, np.zeros_like(x)], [(1, x.cumsum(axis=1) - x, 0)])


@case
def nearest_four(r: np.random.Generator) -> Launch:
    q, p = r.random((64, 3)).astype(F), r.random((50, 3)).astype(F)
    d = ((q[:, None].astype(D) - p[None]) ** 2).sum(axis=2)
    want = [(2, np.sort(d, axis=1)[:, :4], 1e-5), (3, d.argmin(axis=1), 0)]
    return Launch(2, 32, [q, p, np.zeros((64, 4), F), np.zeros(64, S), S(50)], want)


@case
def fft_radix4(r: np.random.Generator) -> Launch:
    x = (r.standard_normal(256) + 1j * r.standard_normal(256)).astype(np.complex64)
    t = np.arange(64)
    k = t % 4
    v = x.reshape(4, 64) * np.exp(-0.5j * np.pi * k / 4 * np.arange(4)[:, None])
    want = np.zeros(256, np.complex128)
    for s in range(4):
        want[(t - k) * 4 + k + 4 * s] = (v * (-1j) ** (s * np.arange(4))[:, None]).sum(axis=0)
    return Launch(2, 32, [x.view(F), np.zeros(512, F), S(256), S(4)], [(1, want.view(D), 1e-5)])


@case
def bilateral(r: np.random.Generator) -> Launch:
    x = r.random((20, 24)).astype(F)
    v, p = x.astype(D), np.pad(x.astype(D), 2, mode="edge")
    total, weights = np.zeros_like(v), np.zeros_like(v)
    for dy, dx in itertools.product(range(5), range(5)):
        near = p[dy : dy + 20, dx : dx + 24]
        k = np.exp(-((dx - 2) ** 2 + (dy - 2) ** 2) * 0.1 - (near - v) ** 2 * 2)
        total, weights = total + k * near, weights + k
    args = [x, np.zeros_like(x), S(24), S(20), F(0.1), F(2)]
    return Launch((2, 3), (16, 8), args, [(1, total / weights, 1e-5)])


@case
def local_alignment(r: np.random.Generator) -> Launch:
    a, b = r.integers(65, 69, (2, 64)).astype(B), r.integers(65, 69, (2, 64)).astype(B)
    want = []
    for p, q in zip(a, b, strict=True):
        h = np.zeros((65, 65), int)
        for i, j in itertools.product(range(1, 65), range(1, 65)):
            step = h[i - 1, j - 1] + (2 if p[i - 1] == q[j - 1] else -1)
            h[i, j] = max(0, step, h[i - 1, j] - 1, h[i, j - 1] - 1)
        want.append(h.max())
    return Launch(2, 64, [a, b, np.zeros(2, S)], [(2, want, 0)])


@case
def lennard_jones(r: np.random.Generator) -> Launch:
    places = np.stack(np.meshgrid(*[np.arange(4)] * 3), axis=-1).reshape(64, 3) + r.uniform(-0.1, 0.1, (64, 3))
    p = np.concatenate([places, r.uniform(0.5, 1, (64, 1))], axis=1).astype(F)
    d = p[:, None, :3].astype(D) - p[None, :, :3]
    s = (d**2).sum(axis=2)
    six = 1 / np.where(s > 0, s, 1) ** 3
    f = six / np.where(s > 0, s, 1) * (48 * six - 24) * p[:, None, 3] * p[None, :, 3] * ((s > 0) & (s < 4.5))
    return Launch(2, 32, [p, np.zeros((64, 3), F), S(64), F(4.5)], [(1, (f[:, :, None] * d).sum(axis=1), 1e-4)])


@case
def packed_histogram(r: np.random.Generator) -> Launch:
    x = r.integers(0, 256, (300, 4)).astype(B)
    return Launch(1, 128, [x, np.zeros(256, U), S(300)], [(1, np.bincount(x.ravel(), minlength=256), 0)])


@case
def pcg_normals(r: np.random.Generator) -> Launch:
    pairs, raw = np.zeros((3, 64, 2)), []
    for i in range(64):
        s, total = (77 + i * 0x9E3779B97F4A7C15) & (1 << 64) - 1, 0
        for k in range(3):
            two = []
            for _ in range(2):
                old, s = s, (s * 6364136223846793005 + 1442695040888963407) & (1 << 64) - 1
                x, turn = (old >> 18 ^ old) >> 27 & 0xFFFFFFFF, old >> 59
                two.append((x >> turn | x << (-turn & 31)) & 0xFFFFFFFF)
            total ^= (two[0] + two[1]) & 0xFFFFFFFF
            length = math.sqrt(-2 * math.log((two[0] + 1) * 2.3283064e-10))
            angle = 2 * math.pi * two[1] * 2.3283064e-10
            pairs[k, i] = length * math.cos(angle), length * math.sin(angle)
        raw.append(total)
    args = [np.zeros((3, 64, 2), F), np.zeros(64, U), np.uint64(77), S(3)]
    return Launch(2, 32, args, [(0, pairs, 1e-4), (1, raw, 0)])


@case
def gemv_bytes(r: np.random.Generator) -> Launch:
    w, x, scale = (
        r.integers(-128, 128, (8, 1024)).astype(np.int8),
        r.standard_normal(1024).astype(F),
        r.random(8).astype(F),
    )
    want = (w.astype(D) @ x) * scale
    return Launch(2, 128, [w, scale, x, np.zeros(8, F), S(1024)], [(3, want, 1e-4)])


@case
def top_four(r: np.random.Generator) -> Launch:
    x = r.permutation(600).reshape(4, 150).astype(F)
    places = np.argsort(-x, axis=1)[:, :4]
    want = [(1, np.take_along_axis(x, places, 1), 0), (2, places, 0)]
    return Launch(4, 32, [x, np.zeros((4, 4), F), np.zeros((4, 4), S), S(150)], want)


@case
def rank_sort(r: np.random.Generator) -> Launch:
    x = r.integers(0, 60, (2, 128)).astype(S)
    return Launch(2, 128, [x, np.zeros_like(x)], [(1, np.sort(x, axis=1), 0)])


@case
def lu_panel(r: np.random.Generator) -> Launch:
    x = (r.random((2, 16, 16)) + 16 * np.eye(16)).astype(F)
    want = x.astype(D)
    for m in want:
        for k in range(15):
            m[k + 1 :, k] /= m[k, k]
            m[k + 1 :, k + 1 :] -= np.outer(m[k + 1 :, k], m[k, k + 1 :])
    return Launch(2, 32, [x], [(0, want, 1e-5)])


@case
def red_black(r: np.random.Generator) -> Launch:
    u, f = r.random((18, 34)).astype(F), r.random((18, 34)).astype(F)
    v = u.astype(D)
    around = v[1:-1, :-2] + v[1:-1, 2:] + v[:-2, 1:-1] + v[2:, 1:-1]
    moved = v.copy()
    moved[1:-1, 1:-1] += 1.5 * (0.25 * (around - f[1:-1, 1:-1]) - v[1:-1, 1:-1])
    y, x = np.indices(u.shape)
    want = np.where((x + y) % 2 == 0, moved, v)
    return Launch((1, 2), (16, 8), [u, f, S(34), S(18), S(1), F(1.5)], [(0, want, 1e-5)])


@case
def newton_fractal(r: np.random.Generator) -> Launch:
    scale, want = F(0.23), []
    for i in range(128):
        z = complex((i % 16 - 8 + 0.5) * float(scale), (i // 16 - 8 + 0.25) * float(scale))
        k = 0
        while k < 30 and abs(z**3 - 1) ** 2 >= 1e-6:
            z -= (z**3 - 1) / (3 * z * z)
            k += 1
        want.append(k * 4 + (0 if z.real > 0 else 1 if z.imag > 0 else 2))
    return Launch(2, 64, [np.zeros(128, S), S(16), scale], [(0, want, 0)])


@case
def ray_spheres(r: np.random.Generator) -> Launch:
    s = np.concatenate([r.uniform(-3, 3, (20, 3)), r.uniform(0.3, 1, (20, 1))], axis=1).astype(F)
    rays = r.standard_normal((64, 3)).astype(F)
    d = rays.astype(D) / np.linalg.norm(rays.astype(D), axis=1, keepdims=True)
    b, c = d @ s[:, :3].T.astype(D), (s[:, :3].astype(D) ** 2).sum(axis=1) - s[:, 3].astype(D) ** 2
    inside = b * b - c
    root = np.sqrt(np.maximum(inside, 0))
    t = np.where(b - root < 0, b + root, b - root)
    t = np.where((inside < 0) | (t <= 0), 1e30, t)
    want = [(2, t.min(axis=1), 1e-4), (3, np.where(t.min(axis=1) < 1e30, t.argmin(axis=1), -1), 0)]
    return Launch(2, 32, [s, rays, np.zeros(64, F), np.zeros(64, S), S(20)], want)


@case
def base64(r: np.random.Generator) -> Launch:
    x = r.integers(0, 256, 180).astype(B)
    return Launch(
        2, 32, [x, np.zeros(60, U), S(60)], [(1, np.frombuffer(binascii.b2a_base64(x.tobytes(), newline=False), U), 0)]
    )


@case
def longest_match(r: np.random.Generator) -> Launch:
    x = r.integers(97, 100, 128).astype(B)
    want = []
    for i in range(128):
        best = at = 0
        for d in range(1, min(24, i) + 1):
            k = 0
            while k < 16 and i + k < 128 and x[i + k] == x[i + k - d]:
                k += 1
            if k > best:
                best, at = k, d
        want.append(best << 16 | at)
    return Launch(2, 64, [x, np.zeros(128, U), S(128), S(24)], [(1, want, 0)])


@case
def dequantise_nibbles(r: np.random.Generator) -> Launch:
    q, group = r.integers(0, 1 << 32, 120).astype(U), r.random((30, 2)).astype(F)
    digits = (q[:, None] >> (4 * np.arange(8)).astype(U) & 15).reshape(30, 32)
    want = digits * group[:, :1].astype(D) + group[:, 1:]
    return Launch(2, 64, [q, group, np.zeros((30, 32), np.float16), S(120)], [(2, want, 1e-3)])


@case
def csr_scalar(r: np.random.Generator) -> Launch:
    m = np.where(r.random((60, 60)) < 0.15, r.standard_normal((60, 60)), 0)
    rows, columns = np.nonzero(m)
    start = np.concatenate([[0], np.bincount(rows, minlength=60).cumsum()]).astype(S)
    x = r.standard_normal(60)
    return Launch(2, 32, [start, columns.astype(S), m[rows, columns], x, np.zeros(60), S(60)], [(4, m @ x, 1e-12)])


@case
def convolve_rows(r: np.random.Generator) -> Launch:
    x, w = r.standard_normal((3, 200)).astype(F), r.standard_normal(9).astype(F)
    want = [np.convolve(row, w[::-1].astype(D), mode="same") for row in x]
    return Launch((2, 3), 128, [x, w, np.zeros_like(x), S(200)], [(2, want, 1e-5)])


@case
def viterbi_step(r: np.random.Generator) -> Launch:
    move, emit, seen = r.integers(0, 4096, (32, 32)) / 64, r.integers(0, 4096, (32, 8)) / 64, r.integers(0, 8, 12)
    score, source = emit[:, seen[0]], np.zeros((12, 32), B)
    for t in range(1, 12):
        total = score[:, None] + move
        source[t], score = total.argmax(axis=0), total.max(axis=0) + emit[:, seen[t]]
    args = [move.astype(F), emit.astype(F), seen.astype(S), np.zeros(32, F), np.zeros((12, 32), B), S(12)]
    return Launch(1, 32, args, [(3, score, 0), (4, source, 0)])


@case
def rotary_pairs(r: np.random.Generator) -> Launch:
    x, angle = r.standard_normal((4, 3, 2, 20)).astype(np.float16), r.random((4, 20)).astype(F)
    c, s = np.cos(angle), np.sin(angle)
    a, b = x[:, :, 0].astype(D), x[:, :, 1].astype(D)
    want = np.stack([a * c[:, None] - b * s[:, None], b * c[:, None] + a * s[:, None]], axis=2)
    return Launch(4, 32, [x, c, s, S(3), S(40)], [(0, want, 1e-3)])


# --- Triton: two more pointers, which are not used -------------------------------------------------------------------

_SCRATCH = [np.uint64(0), np.uint64(0)]


@case
def swiglu(r: np.random.Generator) -> Launch:
    x, y = r.standard_normal(600).astype(F), r.standard_normal(600).astype(F)
    return Launch(
        3, 128, [x, y, np.zeros(600, F), S(600), *_SCRATCH], [(2, x * y.astype(D) / (1 + np.exp(-y.astype(D))), 1e-5)]
    )


@case
def running_sum(r: np.random.Generator) -> Launch:
    x = r.standard_normal((3, 200)).astype(F)
    return Launch(
        3,
        128,
        [x, np.zeros_like(x), S(200), *_SCRATCH],
        [(1, x.astype(D).cumsum(axis=1), 1e-5)],
        shared_of("running_sum"),
    )


@case
def counts(r: np.random.Generator) -> Launch:
    x = r.integers(0, 64, 500).astype(S)
    return Launch(
        2, 128, [x, np.zeros(64, S), S(500), *_SCRATCH], [(1, np.bincount(x, minlength=64), 0)], shared_of("counts")
    )


@case
def sorted_rows(r: np.random.Generator) -> Launch:
    x = r.integers(-1000, 1000, (2, 128)).astype(S)
    return Launch(2, 128, [x, np.zeros_like(x), *_SCRATCH], [(1, np.sort(x, axis=1), 0)], shared_of("sorted_rows"))


@case
def quantised_product(r: np.random.Generator) -> Launch:
    a, b = r.integers(-128, 128, (64, 128)).astype(np.int8), r.integers(-128, 128, (128, 128)).astype(np.int8)
    scale = r.random(128).astype(F)
    want = (a.astype(int) @ b.astype(int).T) * scale.astype(D)
    args = [a, b, scale, np.zeros((64, 128), F), S(128), S(128), *_SCRATCH]
    return Launch((2, 1), 128, args, [(3, want, 1e-6)], shared_of("quantised_product"))


@case
def row_statistics(r: np.random.Generator) -> Launch:
    x = r.standard_normal((3, 300)).astype(F)
    v = x.astype(D)
    args = [x, np.zeros(3, F), np.zeros(3, F), S(300), *_SCRATCH]
    return Launch(3, 128, args, [(1, v.mean(axis=1), 1e-4), (2, v.var(axis=1), 1e-4)], shared_of("row_statistics"))


@case
def gelu_bias(r: np.random.Generator) -> Launch:
    x, bias = r.standard_normal((3, 200)).astype(np.float16), r.standard_normal(200).astype(np.float16)
    v = x.astype(D) + bias.astype(D)
    want = v / (1 + np.exp(-2 * 0.7978845608 * (v + 0.044715 * v**3)))
    return Launch(3, 128, [x, bias, np.zeros_like(x), S(200), *_SCRATCH], [(2, want, 2e-3)], shared_of("gelu_bias"))


@case
def decayed_state(r: np.random.Generator) -> Launch:
    x, decay = r.standard_normal((24, 128)).astype(F), r.random(128).astype(F)
    want, h = [], np.zeros(128)
    for row in x.astype(D):
        h = decay * h + row
        want.append(h)
    return Launch(
        2, 64, [x, decay, np.zeros_like(x), S(24), *_SCRATCH], [(2, np.array(want), 1e-5)], shared_of("decayed_state")
    )


# --- tinygrad: the launch is in the first line -------------------------------------------------------------------------


def _grad(name: str, inputs: list[Array], want: Array, type_: Any, tolerance: float) -> Launch:
    found = re.match(r"// grid ([\d ]+) block ([\d ]+) buffers ([-\d ]+)", source(name))
    assert found
    grid, block, order = (tuple(map(int, g.split())) for g in found.groups())
    out = np.zeros(want.shape, type_)
    return Launch(grid, block, [out if k < 0 else inputs[k] for k in order], [(order.index(-1), want, tolerance)])


@case
def grad_matmul(r: np.random.Generator) -> Launch:
    a, b = r.standard_normal((64, 48)).astype(F), r.standard_normal((48, 64)).astype(F)
    return _grad("grad_matmul", [a, b], a.astype(D) @ b.astype(D), F, 1e-2)


@case
def grad_matmul_half(r: np.random.Generator) -> Launch:
    a, b = r.standard_normal((64, 64)).astype(np.float16), r.standard_normal((64, 64)).astype(np.float16)
    return _grad("grad_matmul_half", [a, b], a.astype(D) @ b.astype(D), F, 1e-3)


@case
def grad_gelu(r: np.random.Generator) -> Launch:
    x = r.standard_normal((32, 96)).astype(F)
    v = x.astype(D)
    return _grad("grad_gelu", [x], v / (1 + np.exp(-2 * 0.7978845608 * (v + 0.044715 * v**3))), F, 1e-4)


@case
def grad_sum_rows(r: np.random.Generator) -> Launch:
    x = r.standard_normal((16, 128)).astype(F)
    return _grad("grad_sum_rows", [x], (x.astype(D) ** 2).sum(axis=1), F, 1e-5)


@case
def grad_conv(r: np.random.Generator) -> Launch:
    x, w = r.standard_normal((1, 4, 12, 12)).astype(F), r.standard_normal((8, 4, 3, 3)).astype(F)
    want = np.zeros((1, 8, 10, 10))
    for y in range(3):
        for k in range(3):
            want[0] += np.einsum("fc,chw->fhw", w[:, :, y, k].astype(D), x[0, :, y : y + 10, k : k + 10].astype(D))
    return _grad("grad_conv", [x, w], want, F, 1e-5)


@case
def grad_max_pool(r: np.random.Generator) -> Launch:
    x = r.standard_normal((1, 8, 16, 16)).astype(F)
    return _grad("grad_max_pool", [x], x.reshape(1, 8, 8, 2, 8, 2).max(axis=(3, 5)), F, 0)


@case
def grad_transpose(r: np.random.Generator) -> Launch:
    x = r.integers(-99, 99, (40, 30)).astype(F)
    return _grad("grad_transpose", [x], x.T + 1, F, 0)


@case
def grad_divmod(r: np.random.Generator) -> Launch:
    x, y = r.integers(-1000, 1000, (8, 100)).astype(S), r.integers(-20, 20, (8, 100)).astype(S)
    return _grad("grad_divmod", [x, y], x // (abs(y) + 1) + x % (abs(y) + 7), S, 0)


@case
def grad_swiglu(r: np.random.Generator) -> Launch:
    x, y = r.standard_normal((16, 64)).astype(F), r.standard_normal((16, 64)).astype(F)
    v = y.astype(D)
    return _grad("grad_swiglu", [x, y], x * v / (1 + np.exp(-v)), F, 1e-4)
