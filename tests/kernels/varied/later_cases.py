"""Varied kernels of a second round, all in CUDA: arguments and results computed here, on the host, for the PTX in ``ptx``."""

import hashlib
import itertools
import math
import struct

import numpy as np

from tests.kernels.varied.varied_cases import Array, B, Cases, D, F, Launch, S, U, adder, floats

L = np.uint64

CASES: Cases = {}
case = adder(CASES)


def rows_of(r: np.random.Generator, rows: int, columns: int, density: float) -> tuple[Array, Array, Array]:
    """A sparse pattern: as booleans, where each row starts, the columns."""
    there = r.random((rows, columns)) < density
    return there, np.concatenate([[0], there.sum(axis=1).cumsum()]).astype(S), np.nonzero(there)[1].astype(S)


@case
def conv3x3(r: np.random.Generator) -> Launch:
    x, w = floats(r, 8, 6, 50), floats(r, 2, 8, 3, 3)
    parts = [
        np.einsum("chw,oc->ohw", x[:, i : i + 4, j : j + 48].astype(D), w[:, :, i, j].astype(D))
        for i, j in itertools.product(range(3), range(3))
    ]
    want = np.maximum(sum(parts), 0)
    return Launch((2, 4, 2), 32, [x, w, np.zeros((2, 4, 48), F), S(8), S(6), S(50)], [(2, want, 1e-5)])


@case
def gemv_warp(r: np.random.Generator) -> Launch:
    a, x = floats(r, 8, 512), floats(r, 512)
    return Launch(2, 128, [a, x, np.zeros(8, F), S(128), S(8)], [(2, a.astype(D) @ x, 1e-5)])


@case
def online_softmax(r: np.random.Generator) -> Launch:
    x = floats(r, 2, 700)
    e = np.exp(x.astype(D) - x.max(axis=1, keepdims=True))
    return Launch(2, 128, [x, np.zeros_like(x), S(700)], [(1, e / e.sum(axis=1, keepdims=True), 1e-4)])


@case
def embedding_bag(r: np.random.Generator) -> Launch:
    table, index = floats(r, 50, 64), r.integers(0, 50, 40).astype(S)
    offset = np.array([0, 9, 20, 20, 40], S)
    bags = [index[a:b] for a, b in itertools.pairwise(offset.tolist())]
    want = [table[bag].astype(D).mean(axis=0) if len(bag) else np.zeros(64) for bag in bags]
    return Launch(4, 64, [table, index, offset, np.zeros((4, 64), F), S(64)], [(3, np.array(want), 1e-5)])


@case
def gemm_dp4a(r: np.random.Generator) -> Launch:
    a, b = (r.integers(-128, 128, (32, 256)).astype(np.int8) for _ in range(2))
    args = [a.view(S).copy(), b.view(S).copy(), np.zeros((32, 32), S), S(32), S(64)]
    return Launch((2, 2), (16, 16), args, [(2, a.astype(int) @ b.astype(int).T, 0)])


@case
def dgemm_blocked(r: np.random.Generator) -> Launch:
    a, b = r.standard_normal((2, 64, 64))
    return Launch((2, 2), 64, [a, b, np.zeros((64, 64)), S(64)], [(2, a @ b, 1e-12)])


def systems(r: np.random.Generator, n: int, count: int) -> tuple[list[Array], Array]:
    """Diagonals (below, on, above) and right sides of tridiagonal systems, and the solutions; one a column."""
    below, on, above, right = floats(r, n, count), floats(r, n, count) + 9, floats(r, n, count), floats(r, n, count)
    want = np.empty((n, count))
    for j in range(count):
        m = np.diag(on[:, j].astype(D)) + np.diag(below[1:, j].astype(D), -1) + np.diag(above[:-1, j].astype(D), 1)
        want[:, j] = np.linalg.solve(m, right[:, j].astype(D))
    return [below, on, above, right], want


@case
def tridiagonal(r: np.random.Generator) -> Launch:
    args, want = systems(r, 20, 64)
    return Launch(2, 32, [*args, np.zeros((20, 64), F), S(20), S(64)], [(3, want, 1e-4)])


@case
def cyclic_reduction(r: np.random.Generator) -> Launch:
    args, want = systems(r, 128, 2)
    return Launch(2, 128, [*(a.T.copy() for a in args), np.zeros((2, 128), F)], [(4, want.T.copy(), 1e-4)])


@case
def nv12_to_rgb(r: np.random.Generator) -> Launch:
    y, uv = r.integers(0, 256, (4, 128)).astype(B), r.integers(0, 256, (2, 128)).astype(B)
    light = y.astype(int) - 16
    u, v = (np.repeat(np.repeat(uv[:, k::2].astype(int) - 128, 2, axis=1), 2, axis=0) for k in range(2))
    colours = (298 * light + 409 * v, 298 * light - 100 * u - 208 * v, 298 * light + 516 * u)
    want = np.stack([*(np.clip(c + 128 >> 8, 0, 255) for c in colours), np.full((4, 128), 255)], axis=2)
    return Launch((2, 4), 64, [y, uv, np.zeros((4, 128, 4), B), S(128), S(128)], [(2, want, 0)])


@case
def median9(r: np.random.Generator) -> Launch:
    x = floats(r, 6, 64)
    wide = np.pad(x, 1, mode="edge")
    want = np.median([wide[i : i + 6, j : j + 64] for i, j in itertools.product(range(3), range(3))], axis=0)
    return Launch((2, 6), 32, [x, np.zeros_like(x), S(64), S(6)], [(1, want, 0)])


@case
def triangles(r: np.random.Generator) -> Launch:
    upper = np.triu(r.random((64, 64)) < 0.2, 1)
    there = (upper | upper.T).astype(int)
    first = np.concatenate([[0], there.sum(axis=1).cumsum()]).astype(S)
    later = np.triu(there, 1)
    want = (later @ later * later).sum(axis=1)
    return Launch(2, 32, [first, np.nonzero(there)[1].astype(S), np.zeros(64, S), S(64)], [(2, want, 0)])


@case
def horner(r: np.random.Generator) -> Launch:
    c, x = r.standard_normal(30), r.uniform(-1, 1, 300)
    return Launch(2, 64, [c, x, np.zeros(300), S(29), S(300)], [(2, np.polynomial.polynomial.polyval(x, c), 1e-12)])


@case
def transpose_double(r: np.random.Generator) -> Launch:
    a = r.standard_normal((30, 40))
    return Launch((3, 2), (16, 16), [a, np.zeros((40, 30)), S(40), S(30)], [(1, a.T, 0)])


@case
def histogram_bytes(r: np.random.Generator) -> Launch:
    x = r.integers(0, 256, (1200, 4)).astype(B)
    return Launch(2, 128, [x, np.zeros(256, U), S(1200)], [(1, np.bincount(x.ravel(), minlength=256), 0)])


def sip(words: list[int], k0: int, k1: int) -> int:
    """SipHash 2-4 of whole words, as the paper of Aumasson and Bernstein has it."""
    mask = (1 << 64) - 1
    v = [k0 ^ 0x736F6D6570736575, k1 ^ 0x646F72616E646F6D, k0 ^ 0x6C7967656E657261, k1 ^ 0x7465646279746573]

    def left(x: int, n: int) -> int:
        return (x << n | x >> 64 - n) & mask

    def rounds(n: int) -> None:
        for _ in range(n):
            for a, b, c, d, s, t in ((0, 1, 2, 3, 13, 16), (2, 1, 0, 3, 17, 21)):
                v[a], v[c] = v[a] + v[b] & mask, v[c] + v[d] & mask
                v[b], v[d] = left(v[b], s) ^ v[a], left(v[d], t) ^ v[c]
                v[a] = left(v[a], 32)

    for w in [*words, len(words) << 59 & mask]:
        v[3] ^= w
        rounds(2)
        v[0] ^= w
    v[2] ^= 255
    rounds(4)
    return v[0] ^ v[1] ^ v[2] ^ v[3]


@case
def siphash(r: np.random.Generator) -> Launch:
    m = r.integers(0, 1 << 63, (8, 128)).astype(L)
    k0, k1 = 0x0706050403020100, 0x0F0E0D0C0B0A0908
    want = np.array([sip([int(w) for w in m[:, g]], k0, k1) for g in range(128)], L)
    return Launch(2, 64, [m, np.zeros(128, L), L(k0), L(k1), S(8), S(128)], [(1, want, 0)])


@case
def spmm_rows(r: np.random.Generator) -> Launch:
    there, first, column = rows_of(r, 6, 40, 0.3)
    value, b = floats(r, len(column)), floats(r, 40, 100)
    a = np.zeros((6, 40))
    a[there] = value
    return Launch(6, 64, [first, column, value, b, np.zeros((6, 100), F), S(100)], [(4, a @ b, 1e-5)])


@case
def gaussian5(r: np.random.Generator) -> Launch:
    x = r.integers(0, 256, (30, 64)).astype(B)
    g = np.array([1, 4, 6, 4, 1])
    wide = np.pad(x[:, :60].astype(int), 2, mode="edge")
    want = np.zeros((30, 64), int)
    want[:, :60] = sum(g[i] * g[j] * wide[i : i + 30, j : j + 60] for i in range(5) for j in range(5)) + 128 >> 8
    return Launch((2, 2), (32, 16), [x, np.zeros_like(x), S(60), S(30), S(64)], [(1, want, 0)])


@case
def md5_words(r: np.random.Generator) -> Launch:
    text = r.integers(0, 256, (128, 40)).astype(B)
    blocks = np.zeros((128, 64), B)
    blocks[:, :40], blocks[:, 40] = text, 128
    blocks[:, 56:] = np.frombuffer(struct.pack("<Q", 320), B)
    constants = np.array([int(abs(math.sin(i + 1)) * 2**32) for i in range(64)], U)
    want = np.array([np.frombuffer(hashlib.md5(t.tobytes()).digest(), U) for t in text])
    args = [blocks.view(U).T.copy(), constants, np.zeros((128, 4), U), S(128)]
    return Launch(2, 64, args, [(2, want, 0)])


@case
def cipher_rounds(r: np.random.Generator) -> Launch:
    table, key, data = (r.integers(0, 1 << 32, n).astype(U) for n in (256, 40, 1024))
    s = data.reshape(256, 4).copy()
    for n in range(10):
        new = []
        for k in range(4):
            v = np.full(256, key[4 * n + k])
            for byte in range(4):
                word = table[s[:, (k + byte) % 4] >> U(8 * byte) & U(255)].astype(L)
                v = v ^ ((word << L(8 * byte) | word >> L(32 - 8 * byte)) & L(0xFFFFFFFF)).astype(U)
            new.append(v)
        s = np.stack(new, axis=1)
    args = [table, key, data.reshape(256, 4), np.zeros((256, 4), U), S(10)]
    return Launch(2, 128, args, [(3, s, 0)])


@case
def boxes_overlap(r: np.random.Generator) -> Launch:
    at, size = r.random((100, 2)), r.random((100, 2)) * 0.3
    box = np.concatenate([at, at + size], axis=1).astype(F)
    want = np.zeros((100, 2), L)
    share = F(0.3)
    area = (box[:, 2] - box[:, 0]) * (box[:, 3] - box[:, 1])
    for i, j in itertools.product(range(100), range(100)):
        if j > i or i // 64 > j // 64:
            w = max(min(box[i, 2], box[j, 2]) - max(box[i, 0], box[j, 0]), F(0))
            h = max(min(box[i, 3], box[j, 3]) - max(box[i, 1], box[j, 1]), F(0))
            if w * h > share * (area[i] + area[j] - w * h):
                want[i, j // 64] |= L(1 << j % 64)
    return Launch((2, 2), 64, [box, np.zeros((100, 2), L), S(100), share], [(1, want, 0)])
