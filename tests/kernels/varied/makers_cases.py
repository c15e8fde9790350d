"""Varied kernels of a third round, by clang and Numba: arguments and results computed here, on the host, for the PTX in ``ptx``."""

import numpy as np

from tests.kernels.varied.varied_cases import Array, B, Cases, D, F, Launch, S, U, adder

L = np.uint64

CASES: Cases = {}
case = adder(CASES)


def words(r: np.random.Generator, *shape: int) -> Array:
    return r.integers(0, 1 << 32, shape).astype(U)


# --- clang ---------------------------------------------------------------------------------------------------------


@case
def blend_bytes(r: np.random.Generator) -> Launch:
    over, under = words(r, 250), words(r, 250)
    x, y = (v.view(B).reshape(250, 4).astype(int) for v in (over, under))
    weight = x[:, 3:]
    total = x * weight + y * (255 - weight) + 128
    want = (total + (total >> 8) >> 8).astype(B).view(U)
    return Launch(2, 128, [over, under, np.zeros(250, U), S(250)], [(2, want, 0)])


def left(x: Array, k: int) -> Array:
    """Words rotated to the left."""
    return x << U(k) | x >> U(32 - k)


@case
def sha1_words(r: np.random.Generator) -> Launch:
    """FIPS 180-4, 6.1.2, without adding the first values at the end."""
    block = words(r, 16, 128)
    w = list(block)
    for i in range(16, 80):
        w.append(left(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1))
    start = (0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476, 0xC3D2E1F0)
    a, b, c, d, e = (np.full(128, x, U) for x in start)
    for i in range(80):
        f = [b & c | ~b & d, b ^ c ^ d, b & c | b & d | c & d, b ^ c ^ d][i // 20]
        k = (0x5A827999, 0x6ED9EBA1, 0x8F1BBCDC, 0xCA62C1D6)[i // 20]
        a, b, c, d, e = left(a, 5) + f + e + U(k) + w[i], a, left(b, 30), c, d
    return Launch(2, 64, [block, np.zeros((5, 128), U), S(128)], [(1, np.stack([a, b, c, d, e]), 0)])


@case
def sgemm_pointers(r: np.random.Generator) -> Launch:
    a, b = r.standard_normal((128, 32)).astype(F), r.standard_normal((32, 64)).astype(F)
    args = [a, b, np.zeros((128, 64), F), S(128), S(64), S(32)]
    return Launch((1, 2), 256, args, [(2, a.astype(D) @ b.astype(D), 1e-5)])


@case
def queens(r: np.random.Generator) -> Launch:
    n = 6

    def count(places: list[int]) -> int:
        row = len(places)
        if any(p == q or abs(p - q) == row - 1 - k for k, p in enumerate(places[:-1]) for q in places[-1:]):
            return 0
        return 1 if row == n else sum(count([*places, q]) for q in range(n))

    want = [count([i, j]) for i in range(n) for j in range(n)]
    return Launch(2, 32, [np.zeros(n * n, S), S(n)], [(0, want, 0)])


@case
def subsequence_bits(r: np.random.Generator) -> Launch:
    a, b = r.integers(0, 4, (64, 40)).astype(B), r.integers(0, 4, (64, 30)).astype(B)
    want = []
    for x, y in zip(a.tolist(), b.tolist(), strict=True):
        row = [0] * (len(x) + 1)
        for q in y:
            before, row = row, [0] * (len(x) + 1)
            for k, p in enumerate(x):
                row[k + 1] = before[k] + 1 if p == q else max(before[k + 1], row[k])
        want.append(row[-1])
    return Launch(2, 32, [a, b, np.zeros(64, S), S(40), S(30), S(64)], [(2, want, 0)])


# --- Numba ---------------------------------------------------------------------------------------------------------


def numba_arguments(*args: Array) -> list[object]:
    """Parameters of Numba's arrays: two of its own, elements, bytes of one, the data, sizes, strides."""
    out: list[object] = []
    for a in args:
        out += [L(0), L(0), L(a.size), L(a.itemsize), a, *map(L, a.shape), *map(L, a.strides)]
    return out


@case
def tiled_product(r: np.random.Generator) -> Launch:
    a, b = r.standard_normal((30, 50)).astype(F), r.standard_normal((50, 28)).astype(F)
    args = numba_arguments(a, b, np.zeros((30, 28), F))
    return Launch((2, 2), (16, 16), args, [(22, a.astype(D) @ b.astype(D), 1e-5)])


@case
def word_distance(r: np.random.Generator) -> Launch:
    word, texts = r.integers(0, 4, 20).astype(B), r.integers(0, 4, (60, 12)).astype(B)
    want = []
    for text in texts.tolist():
        row = list(range(21))
        for k, t in enumerate(text):
            before, row = row, [k + 1]
            for q, w in enumerate(word.tolist()):
                row.append(before[q] if w == t else min(before[q], row[q], before[q + 1]) + 1)
        want.append(row[-1])
    args = numba_arguments(word, texts, np.zeros(60, S))
    return Launch(2, 32, args, [(20, want, 0)])
