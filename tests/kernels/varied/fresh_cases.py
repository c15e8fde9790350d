"""Varied kernels of a fifth round, all in CUDA: arguments and results computed here, on the host, for the PTX in ``ptx``."""

import itertools
import statistics

import numpy as np

from tests.kernels.varied.varied_cases import Array, Cases, D, F, Launch, S, U, adder, floats

L = np.uint64
H = np.float16

CASES: Cases = {}
case = adder(CASES)


@case
def layer_norm_backward(r: np.random.Generator) -> Launch:
    x, dy, gamma = floats(r, 3, 300), floats(r, 3, 300), floats(r, 300)
    mean = x.mean(axis=1)
    rstd = 1 / x.std(axis=1)
    h = (x.astype(D) - mean[:, None]) * rstd[:, None]
    g = dy.astype(D) * gamma
    dx = rstd[:, None] * (g - g.mean(axis=1, keepdims=True) - h * (g * h).mean(axis=1, keepdims=True))
    args = [x, dy, gamma, mean, rstd.astype(F), np.zeros_like(x), np.zeros(300, F), np.zeros(300, F), S(300)]
    return Launch(3, 128, args, [(5, dx, 1e-4), (6, (dy * h).sum(axis=0), 1e-4), (7, dy.sum(axis=0), 1e-4)])


@case
def stencil_planes(r: np.random.Generator) -> Launch:
    x = floats(r, 10, 18, 66)
    t = x.astype(D)
    want = np.zeros(x.shape)
    sides = t[1:-1, 1:-1, :-2] + t[1:-1, 1:-1, 2:] + t[1:-1, :-2, 1:-1] + t[1:-1, 2:, 1:-1] + t[:-2, 1:-1, 1:-1]
    want[1:-1, 1:-1, 1:-1] = 0.4 * t[1:-1, 1:-1, 1:-1] + 0.1 * (sides + t[2:, 1:-1, 1:-1])
    args = [x, np.zeros_like(x), S(66), S(18), S(10), F(0.4), F(0.1)]
    return Launch((2, 2), (32, 8), args, [(1, want, 1e-5)])


def philox(counter: Array, key: tuple[int, int]) -> Array:
    """Ten rounds of Philox on counters of four words each."""
    c = [counter[:, k].astype(L) for k in range(4)]
    low = L(0xFFFFFFFF)
    for k in range(10):
        k0, k1 = L((key[0] + k * 0x9E3779B9) & 0xFFFFFFFF), L((key[1] + k * 0xBB67AE85) & 0xFFFFFFFF)
        p, q = c[0] * L(0xD2511F53), c[2] * L(0xCD9E8D57)
        c = [q >> L(32) ^ c[1] ^ k0, q & low, p >> L(32) ^ c[3] ^ k1, p & low]
    return np.stack(c, axis=1).astype(U)


@case
def dropout_gelu(r: np.random.Generator) -> Launch:
    n, seed = 300, 0x123456789ABCDEF
    x, bias = floats(r, n, 4), floats(r, 25, 4)
    i = np.arange(n)
    counter = np.stack([i, i * 0, i * 0 + 7, i * 0], axis=1)
    kept = philox(counter, (seed & 0xFFFFFFFF, seed >> 32)) < U(0xB0000000)
    v = x.astype(D) + bias[i % 25]
    want = 0.5 * v * (1 + np.tanh(0.7978845608 * (v + 0.044715 * v**3))) * 1.5 * kept
    args = [x, bias, np.zeros_like(x), np.zeros(n, U), S(n), S(25), U(0xB0000000), F(1.5), L(seed)]
    return Launch(2, 128, args, [(2, want, 1e-5), (3, kept @ np.array([1, 2, 4, 8]), 0)])


@case
def nibble_gemv_half(r: np.random.Generator) -> Launch:
    rows, words = 16, 40
    w = r.integers(0, 1 << 32, (rows, words, 4), dtype=np.uint64).astype(U)
    scale = r.choice([0.25, 0.5, 1.0], (rows, words)).astype(H)
    zero = (1024 + r.integers(6, 10, (rows, words))).astype(H)
    x = r.integers(-2, 3, (words, 4, 4, 2)).astype(H)
    q = np.stack([w >> U(4 * b) for b in range(4)], axis=3)
    values = np.stack([q & 15, q >> U(16) & 15], axis=4).astype(D) + 1024 - zero[:, :, None, None, None]
    want = (values * x * scale[:, :, None, None, None]).sum(axis=(1, 2, 3, 4))
    return Launch(4, 128, [w, scale, zero, x, np.zeros(rows, F), S(words)], [(4, want, 1e-5)])


@case
def paged_attention(r: np.random.Generator) -> Launch:
    heads, pages = 4, 3
    length = np.array([37, 20], S)
    q = r.standard_normal((2, heads, 64)).astype(H)
    k, v = (r.standard_normal((8, 16, heads, 64)).astype(H) for _ in range(2))
    table = r.permutation(8)[: 2 * pages].reshape(2, pages).astype(S)
    want = np.zeros((2, heads, 64))
    for s, n in enumerate(length):
        keys, values = (t[table[s]].reshape(-1, heads, 64)[:n].astype(D) for t in (k, v))
        e = np.exp(np.einsum("hd,thd->ht", q[s].astype(D), keys) * 0.125)
        want[s] = np.einsum("ht,thd->hd", e / e.sum(axis=1, keepdims=True), values)
    args = [q, k, v, table, length, np.zeros((2, heads, 64), F), S(pages), S(heads), F(0.125)]
    return Launch(2, 128, args, [(5, want, 1e-4)])


@case
def gate_top2(r: np.random.Generator) -> Launch:
    n = 300
    x = np.stack([r.permutation(8) for _ in range(n)]).astype(F) / F(2)
    e = np.exp(x.astype(D))
    best = np.argsort(-x, axis=1)[:, :2]
    two = np.take_along_axis(e, best, 1)
    args = [x, np.zeros((n, 2), F), np.zeros((n, 2), S), np.zeros(8, S), S(n)]
    wants = [
        (1, two / two.sum(axis=1, keepdims=True), 1e-5),
        (2, best, 0),
        (3, np.bincount(best.ravel(), minlength=8), 0),
    ]
    return Launch(3, 128, args, wants)


@case
def selective_scan(r: np.random.Generator) -> Launch:
    channels, steps = 8, 96
    x, delta = floats(r, steps, channels), r.random((steps, channels)).astype(F)
    b, c, a = floats(r, steps, 4), floats(r, steps, 4), -r.random((channels, 4)).astype(F)
    want = np.zeros((steps, channels))
    h = np.zeros((channels, 4))
    for t in range(steps):
        h = np.exp(delta[t, :, None].astype(D) * a) * h + (x[t] * delta[t])[:, None].astype(D) * b[t]
        want[t] = h @ c[t]
    args = [x, delta, b, c, a, np.zeros((steps, channels), F), S(channels), S(steps)]
    return Launch(2, 128, args, [(5, want, 1e-4)])


@case
def particle_density(r: np.random.Generator) -> Launch:
    n, size = 200, np.array([4, 3, 3])
    p = np.concatenate([r.random((n, 3)) * size, r.random((n, 1)) + 0.5], axis=1).astype(F)
    at = p[:, :3].astype(S)
    cell = (at[:, 2] * size[1] + at[:, 1]) * size[0] + at[:, 0]
    p, cell = p[np.argsort(cell, kind="stable")], np.sort(cell)
    span = np.stack([np.searchsorted(cell, np.arange(36), s) for s in ("left", "right")], axis=1).astype(S)
    t = p.astype(D)
    r2 = ((t[:, None, :3] - t[None, :, :3]) ** 2).sum(axis=2)
    want = (np.maximum(0, 0.81 - r2) ** 3 * t[None, :, 3]).sum(axis=1)
    args = [p, span, np.zeros(n, F), S(4), S(3), S(3), S(n), F(1), F(0.81)]
    return Launch(2, 128, args, [(2, want, 1e-4)])


@case
def parity_rows(r: np.random.Generator) -> Launch:
    rows, bits = 150, 300
    lists = [r.permutation(bits)[: r.integers(3, 9)] for _ in range(rows)]
    first = np.cumsum([0, *map(len, lists)]).astype(S)
    bit = np.concatenate(lists).astype(S)
    total, message = floats(r, bits), floats(r, len(bit))
    want = np.zeros(len(bit), F)
    for a, b in itertools.pairwise(first):
        v = total[bit[a:b]] - message[a:b]
        for k in range(b - a):
            others = np.delete(v, k)
            want[a + k] = F(0.75) * np.abs(others).min() * np.prod(np.sign(others))
    return Launch(2, 128, [total, message, first, bit, S(rows)], [(1, want, 0)])


_IV = (0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A, 0x510E527F, 0x9B05688C, 0x1F83D9AB, 0x5BE0CD19)


def blake3(words: Array, number: int) -> list[int]:
    """The chaining value of a chunk, `words` by blocks of 16."""
    m32 = 0xFFFFFFFF
    cv = list(_IV)
    for b, block in enumerate(words.tolist()):
        m = block
        v = [*cv, *_IV[:4], number, 0, 64, (b == 0) | (b == len(words) - 1) << 1]
        for _ in range(7):
            for g in range(8):
                i, turn = g % 4, g // 4
                at = [i, 4 + (i + turn) % 4, 8 + (i + 2 * turn) % 4, 12 + (i + 3 * turn) % 4]
                x = [v[k] for k in at]
                for half, (right, down) in enumerate(((16, 12), (8, 7))):
                    x[0] = (x[0] + x[1] + m[2 * g + half]) & m32
                    x[3] ^= x[0]
                    x[3] = (x[3] >> right | x[3] << 32 - right) & m32
                    x[2] = (x[2] + x[3]) & m32
                    x[1] ^= x[2]
                    x[1] = (x[1] >> down | x[1] << 32 - down) & m32
                for k, value in zip(at, x, strict=True):
                    v[k] = value
            m = [m[k] for k in (2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8)]
        cv = [a ^ b for a, b in zip(v[:8], v[8:], strict=True)]
    return cv


@case
def blake3_chunk(r: np.random.Generator) -> Launch:
    n, blocks = 40, 3
    x = r.integers(0, 1 << 32, (n, blocks, 16), dtype=np.uint64).astype(U)
    want = [blake3(x[i], i) for i in range(n)]
    return Launch(1, 64, [x, np.zeros((n, 8), U), S(n), S(blocks)], [(1, want, 0)])


@case
def splat_tiles(r: np.random.Generator) -> Launch:
    count = np.array([0, 70, 150, 20])
    n = int(count.sum())
    centre = (r.random((n, 2)) * 16).astype(F)
    a, c = r.random(n) * 0.2 + 0.02, r.random(n) * 0.2 + 0.02
    conic = np.stack([a, np.sqrt(a * c) * (r.random(n) - 0.5), c, r.random(n) * 0.9], axis=1).astype(F)
    colour = r.random((n, 3)).astype(F)
    first = np.cumsum([0, *count])
    span = np.stack([first[:-1], first[1:]], axis=1).astype(S)
    want = np.zeros((3, 16, 16))
    for py in range(16):
        for px in range(16):
            t, tile = 1.0, py // 8 * 2 + px // 8
            for k in range(*span[tile]):
                dx, dy = centre[k, 0] - D(px), centre[k, 1] - D(py)
                e = conic[k].astype(D)
                alpha = min(0.99, e[3] * np.exp(-0.5 * (e[0] * dx * dx + e[2] * dy * dy) - e[1] * dx * dy))
                if alpha < 1 / 255:
                    continue
                if t * (1 - alpha) < 0.0001:
                    break
                want[:, py, px] += colour[k] * alpha * t
                t *= 1 - alpha
    args = [centre, conic, colour, span, np.zeros((3, 16, 16), F), S(16), S(256)]
    return Launch((2, 2), (8, 8), args, [(4, want, 1e-4)])


@case
def hash_grid(r: np.random.Generator) -> Launch:
    n, levels, mask = 150, 4, 255
    p, table = r.random((n, 3)).astype(F), floats(r, levels, mask + 1, 2)
    want = np.zeros((n, levels, 2))
    for level in range(levels):
        at = p * F(4 * 1.5**level)
        c = np.floor(at)
        f = (at - c).astype(D)
        for k in range(8):
            one = np.array([k & 1, k >> 1 & 1, k >> 2])
            h = (c + one).astype(L) * np.array([1, 2654435761, 805459861], L)
            w = np.where(one == 1, f, 1 - f).prod(axis=1)
            want[:, level] += w[:, None] * table[level, (h[:, 0] ^ h[:, 1] ^ h[:, 2]) & L(mask)]
    args = [p, table, np.zeros((n, levels, 2), F), S(n), S(levels), U(mask), F(4), F(1.5)]
    return Launch(2, 128, args, [(2, want, 1e-4)])


@case
def sobol_paths(r: np.random.Generator) -> Launch:
    n, steps = 200, 5
    direction = r.integers(0, 1 << 32, (steps, 32), dtype=np.uint64).astype(U)
    normal = statistics.NormalDist()
    want = []
    for i in range(n):
        s = total = 0.0
        for d in range(steps):
            v = 0
            for k in range(32):
                if (i ^ i >> 1) >> k & 1:
                    v ^= int(direction[d, k])
            s += 0.01 + 0.2 * normal.inv_cdf(min(float((F(v) + F(0.5)) * F(2.0**-32)), 0.99999994))
            total += np.exp(s)
        want.append(max(total / steps - 1, 0))
    args = [direction, np.zeros(n, F), S(n), S(steps), F(0.01), F(0.2), F(1)]
    return Launch(2, 128, args, [(1, want, 1e-4)])


@case
def match_ranks(r: np.random.Generator) -> Launch:
    key = r.integers(0, 1 << 32, (2, 512), dtype=np.uint64).astype(U)
    digit = key >> U(8) & U(15)
    rank = [[int((d[:i] == d[i]).sum()) for i in range(512)] for d in digit]
    total = [np.bincount(d, minlength=16) for d in digit]
    return Launch(2, 128, [key, np.zeros((2, 512), S), np.zeros((2, 16), S), S(8)], [(1, rank, 0), (2, total, 0)])
