"""Varied kernels of a sixth round, CUDA and Triton: arguments and results computed here, on the host, for the PTX in ``ptx``."""

import math

import numpy as np

from tests.kernels.varied.varied_cases import _SCRATCH, Array, B, Cases, D, F, Launch, S, U, adder, floats, shared_of

L = np.uint64
H = np.float16

CASES: Cases = {}
case = adder(CASES)


@case
def coo_product(r: np.random.Generator) -> Launch:
    rows, columns, n = 40, 70, 300
    row = np.sort(r.integers(0, rows, n)).astype(S)
    column = r.integers(0, columns, n).astype(S)
    value, x = floats(r, n), floats(r, columns)
    want = np.zeros(rows)
    np.add.at(want, row, value.astype(D) * x[column])
    return Launch(2, 64, [row, column, value, x, np.zeros(rows, F), S(n)], [(4, want, 1e-5)])


@case
def frontier_step(r: np.random.Generator) -> Launch:
    n = 400
    degree = r.integers(0, 9, n)
    offset = np.concatenate([[0], np.cumsum(degree)]).astype(S)
    target = r.integers(0, n, offset[-1]).astype(S)
    frontier = r.permutation(n)[:150].astype(S)
    distance = np.full(n, -1, S)
    distance[frontier] = 3
    want = distance.copy()
    for v in frontier:
        for w in target[offset[v] : offset[v + 1]]:
            want[w] = 4 if want[w] < 0 else want[w]
    args = [offset, target, frontier, S(150), distance, S(4), np.zeros(n, S), np.zeros(1, S)]
    return Launch(2, 128, args, [(4, want, 0), (7, [(want == 4).sum()], 0)])


@case
def rolling_match(r: np.random.Generator) -> Launch:
    pattern = np.frombuffer(b"abacab", B).copy()
    text = r.choice(np.frombuffer(b"abc", B), 2000)
    for at in (50, 56, 700, 1993):
        text[at : at + 6] = pattern
    stretch, threads = 32, 64
    key = 0
    for b in pattern:
        key = (key * 257 + int(b)) & 0xFFFFFFFF
    hits = [k for k in range(len(text) - 5) if (text[k : k + 6] == pattern).all()]
    counts = [sum(k // stretch == t for k in hits) for t in range(threads)]
    first = [next((k for k in hits if k // stretch == t), -1) for t in range(threads)]
    power = U(pow(257, 5, 1 << 32))
    args = [text, S(len(text)), pattern, S(6), U(key), power, S(stretch), np.zeros(threads, S), np.zeros(threads, S)]
    return Launch(2, 32, args, [(7, counts, 0), (8, first, 0)])


@case
def biquad_cascade(r: np.random.Generator) -> Launch:
    channels, samples = 90, 40
    x = floats(r, samples, channels)
    f = np.concatenate([0.5 * floats(r, 4, 3), 0.3 * floats(r, 4, 2)], axis=1)
    want, s1, s2 = np.zeros(x.shape), np.zeros((4, channels)), np.zeros((4, channels))
    for t in range(samples):
        v = x[t].astype(D)
        for k in range(4):
            b0, b1, b2, a1, a2 = f[k].astype(D)
            out = b0 * v + s1[k]
            s1[k] = b1 * v - a1 * out + s2[k]
            s2[k] = b2 * v - a2 * out
            v = out
        want[t] = v
    return Launch(3, 32, [x, np.zeros_like(x), f, S(channels), S(samples)], [(1, want, 1e-4)])


@case
def inside_polygon(r: np.random.Generator) -> Launch:
    m, n = 37, 200
    angle = np.sort(r.uniform(0, 2 * math.pi, m))
    corners = (np.stack([np.cos(angle), np.sin(angle)], axis=1) * r.uniform(0.3, 1, (m, 1))).astype(F)
    points = r.uniform(-1, 1, (n, 2)).astype(F)
    a, b = np.roll(corners, 1, axis=0).astype(D), corners.astype(D)
    e, p = b - a, points[:, None].astype(D) - a
    py = points[:, None, 1]
    with np.errstate(divide="ignore"):
        crossed = ((a[:, 1] > py) != (b[:, 1] > py)) & (p[..., 0] < e[:, 0] * p[..., 1] / e[:, 1])
    t = np.clip((p * e).sum(axis=2) / (e * e).sum(axis=1), 0, 1)
    best = ((p - t[..., None] * e) ** 2).sum(axis=2).min(axis=1)
    args = [points, S(n), corners, S(m), np.zeros(n, B), np.zeros(n, F)]
    return Launch(2, 128, args, [(4, crossed.sum(axis=1) % 2, 0), (5, best, 1e-5)], 8 * m)


@case
def residue_symbols(r: np.random.Generator) -> Launch:
    n = (r.integers(0, 1 << 31, 150) * 2 + 1).astype(U)
    a = r.integers(0, 1 << 32, 150).astype(U)
    n[:40] = n[:40] % 1000 | 1

    def jacobi(x: int, m: int) -> int:
        sign = 1
        x %= m
        while x:
            while x % 2 == 0:
                x //= 2
                sign = -sign if m % 8 in (3, 5) else sign
            sign = -sign if x % 4 == 3 and m % 4 == 3 else sign
            x, m = m % x, x
        return sign if m == 1 else 0

    want = [jacobi(int(x), int(m)) for x, m in zip(a, n, strict=True)]
    args = [a, n, np.zeros(150, np.int8), np.zeros(150, U), S(150)]
    return Launch(2, 96, args, [(2, want, 0), (3, np.gcd(a, n), 0)])


@case
def bitonic_pairs(r: np.random.Generator) -> Launch:
    keys = r.integers(0, 1 << 40, (2, 128)).astype(L)
    order = np.argsort(keys, axis=1)[:, ::-1]
    values = r.integers(0, 1 << 32, (2, 128)).astype(U)
    wants = [(0, np.take_along_axis(keys, order, 1), 0.0), (1, np.take_along_axis(values, order, 1), 0.0)]
    return Launch(2, 64, [keys.copy(), values.copy(), S(1)], wants)


@case
def joint_histogram(r: np.random.Generator) -> Launch:
    a = r.integers(0, 256, 2400).astype(B)
    b = np.clip(a.astype(S) + r.integers(-30, 30, 2400), 0, 255).astype(B)
    bins = np.bincount((a & 0xF0) | b >> 4, minlength=256)
    x, y = a.astype(S), b.astype(S)
    args = [a, b, S(600), np.zeros(256, U), np.zeros(3, L)]
    return Launch(2, 128, args, [(3, bins, 0), (4, [x.sum(), y.sum(), (x * y).sum()], 0)])


@case
def walks(r: np.random.Generator) -> Launch:
    n, steps, word = 128, 30, (1 << 64) - 1
    states = r.integers(0, 1 << 63, (n, 2)).astype(L)
    ends, places, far = np.zeros_like(states), np.zeros((n, 2), S), np.zeros(n, S)
    for i in range(n):
        s0, s1 = map(int, states[i])
        x = y = 0
        for _ in range(steps):
            t = (s0 + s1) & word
            s1 ^= s0
            s0 = ((s0 << 24 | s0 >> 40) ^ s1 ^ s1 << 16) & word
            s1 = (s1 << 37 | s1 >> 27) & word
            d, step = t >> 61, (t >> 59 & 3) + 1
            x += step * (d in (0, 1, 7)) - step * (d in (3, 4, 5))
            y += step * (d in (1, 2, 3)) - step * (d >= 5)
            far[i] = max(far[i], x * x + y * y)
        ends[i], places[i] = (s0, s1), (x, y)
    wants = [(0, ends, 0.0), (1, places, 0.0), (2, far, 0.0)]
    return Launch(2, 64, [states.copy(), np.zeros((n, 2), S), np.zeros(n, S), S(steps)], wants)


@case
def knapsack(r: np.random.Generator) -> Launch:
    problems, items, threads, capacity = 2, 14, 64, 120
    w, v = r.integers(5, 40, (problems, items)).astype(S), r.integers(1, 100, (problems, items)).astype(S)
    taken = np.zeros((problems, items, threads * 2), bool)
    best, choice = [], []
    for b in range(problems):
        row = np.zeros(threads * 2, S)
        for k in range(items):
            moved = np.full(threads * 2, -1, S)
            moved[w[b, k] :] = row[: threads * 2 - w[b, k]] + v[b, k]
            taken[b, k] = moved > row
            row = np.maximum(row, moved)
        left, chosen = capacity, 0
        for k in reversed(range(items)):
            if taken[b, k, left]:
                chosen, left = chosen | 1 << k, left - int(w[b, k])
        best.append(row[capacity])
        choice.append(chosen)
    bits = np.packbits(taken, axis=2, bitorder="little").view(U)
    args = [w, v, S(items), S(capacity), np.zeros_like(bits), np.zeros(problems, S), np.zeros(problems, U)]
    return Launch(problems, threads, args, [(4, bits, 0), (5, best, 0), (6, choice, 0)], 8 * threads)


def attended(q: Array, k: Array, v: Array, window: int) -> Array:
    """Attention of one head to the places before, at most a window back."""
    n = len(q)
    behind = np.arange(n)[:, None] - np.arange(n)
    s = np.where((behind >= 0) & (behind < window), q @ k.T * 0.125, -np.inf)
    p = np.exp(s - s.max(axis=1, keepdims=True))
    return p / p.sum(axis=1, keepdims=True) @ v


@case
def window_attention(r: np.random.Generator) -> Launch:
    heads, n, window = 2, 192, 100
    q, k, v = (floats(r, heads, n, 64).astype(H) for _ in range(3))
    want = [attended(*(t[h].astype(D) for t in (q, k, v)), window) for h in range(heads)]
    args = [q, k, v, np.zeros_like(q), S(n), S(window), *_SCRATCH]
    return Launch((n // 64, heads), 128, args, [(3, want, 3e-3)], shared_of("window_attention"))


@case
def norm_silu(r: np.random.Generator) -> Launch:
    images, channels, group, places = 2, 12, 4, 289
    x, w, b = floats(r, images, channels, places).astype(H), floats(r, channels), floats(r, channels)
    t = x.astype(D).reshape(images, channels // group, -1)
    t = (t - t.mean(axis=2, keepdims=True)) / np.sqrt(t.var(axis=2, keepdims=True) + 1e-5)
    y = t.reshape(x.shape) * w[:, None] + b[:, None]
    args = [x, w, b, np.zeros_like(x), S(channels), S(places), S(group), F(1e-5), *_SCRATCH]
    return Launch(images * channels // group, 128, args, [(3, y / (1 + np.exp(-y)), 3e-3)], shared_of("norm_silu"))
