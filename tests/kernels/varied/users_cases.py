"""Varied kernels of a fourth round, all in CUDA: arguments and results computed here, on the host, for the PTX in ``ptx``."""

import itertools
from collections import Counter

import numpy as np

from tests.kernels.varied.varied_cases import Array, B, Cases, D, F, Launch, S, U, adder, floats

L = np.uint64
H = np.float16

CASES: Cases = {}
case = adder(CASES)


def halves(r: np.random.Generator, *shape: int) -> Array:
    return r.standard_normal(shape).astype(H)


def silu(x: Array) -> Array:
    return x / (1 + np.exp(-x))


@case
def quantise_rows(r: np.random.Generator) -> Launch:
    x = floats(r, 2, 600)
    m = np.abs(x).max(axis=1, keepdims=True)
    want = np.rint(x * (F(127) / m))
    args = [x, np.zeros((2, 600), np.int8), np.zeros(2, F), S(150)]
    return Launch(2, 128, args, [(1, want, 0), (2, m / F(127), 1e-6)])


def e4m3(x: Array) -> Array:
    """Bytes of the nearest values of the format, ties to even; the largest instead of what is larger."""
    bits = np.arange(127)
    exponent, mantissa = bits >> 3, bits & 7
    values = np.where(exponent > 0, (8 + mantissa) * 2.0 ** (exponent - 10), mantissa * 2.0**-9)
    at = np.clip(np.searchsorted(values, np.abs(x)), 1, 126)
    below, above = np.abs(x) - values[at - 1], values[at] - np.abs(x)
    near = np.where((above < below) | ((above == below) & (at % 2 == 0)), at, at - 1)
    return (near | np.signbit(x) << 7).astype(B)


@case
def quantise_fp8(r: np.random.Generator) -> Launch:
    x = floats(r, 1000) * F(3)
    args = [x, np.zeros(1000, B), np.zeros(1, U), F(64), S(1000)]
    return Launch(2, 128, args, [(1, e4m3((x * F(64)).astype(D)), 0), (2, np.abs(x).max().view(U), 0)])


@case
def causal_softmax(r: np.random.Generator) -> Launch:
    x = halves(r, 100, 100)
    s = np.where(np.tri(100) > 0, x.astype(D) * 0.5, -1e30)
    e = np.exp(s - s.max(axis=1, keepdims=True))
    args = [x, np.zeros_like(x), S(100), F(0.5)]
    return Launch(25, 128, args, [(1, e / e.sum(axis=1, keepdims=True), 1e-3)])


@case
def add_rms_norm(r: np.random.Generator) -> Launch:
    x, residual, weight = halves(r, 2, 600), halves(r, 2, 600), halves(r, 600)
    total = x + residual
    t = total.astype(D)
    want = t / np.sqrt((t * t).mean(axis=1, keepdims=True) + 1e-5) * weight.astype(D)
    return Launch(2, 128, [x, residual, weight, S(300), F(1e-5)], [(0, want, 2e-3), (1, total, 0)])


@case
def topk_warp(r: np.random.Generator) -> Launch:
    x = r.integers(0, 100, (4, 256)).astype(F)
    place = np.argsort(-x, axis=1, kind="stable")[:, :8]
    args = [x, np.zeros((4, 8), F), np.zeros((4, 8), S)]
    return Launch(2, 64, args, [(1, np.take_along_axis(x, place, 1), 0), (2, place, 0)])


@case
def bitonic_warp(r: np.random.Generator) -> Launch:
    key = np.stack([r.permutation(1 << 16)[:64] for _ in range(4)]).astype(U)
    x = np.stack([key, key * U(7)], axis=2)
    want = np.stack([np.sort(key), np.sort(key) * U(7)], axis=2)
    return Launch(2, 64, [x], [(0, want, 0)])


@case
def lookback_scan(r: np.random.Generator) -> Launch:
    x = r.integers(-99, 99, 3 * 512).astype(S)
    args = [x, np.zeros_like(x), np.zeros(1, U), np.zeros(3, L)]
    return Launch(3, 128, args, [(1, x.cumsum(), 0)])


@case
def warp_histogram(r: np.random.Generator) -> Launch:
    x = (r.standard_normal(1500) * 9000 + 30000).clip(0, 65535).astype(np.uint16)
    return Launch(2, 128, [x, np.zeros(64, U), S(1500)], [(1, np.bincount(x >> 10, minlength=64), 0)])


@case
def bsr_product(r: np.random.Generator) -> Launch:
    there = r.random((30, 40)) < 0.4
    first = np.concatenate([[0], there.sum(axis=1).cumsum()]).astype(S)
    column = np.nonzero(there)[1].astype(S)
    value, x = floats(r, len(column), 4, 4), floats(r, 40, 4)
    want = np.zeros((30, 4))
    for k, (row, c) in enumerate(np.argwhere(there)):
        want[row] += value[k].astype(D) @ x[c]
    return Launch(2, 128, [first, column, value, x, np.zeros((30, 4), F), S(30)], [(4, want, 1e-5)])


@case
def fft_radix8(r: np.random.Generator) -> Launch:
    x = floats(r, 16, 64, 2)
    want = np.fft.fft(x[..., 0].astype(D) + 1j * x[..., 1])
    return Launch(2, (8, 8), [x.copy()], [(0, np.stack([want.real, want.imag], axis=2), 1e-5)])


@case
def winograd(r: np.random.Generator) -> Launch:
    x, g = floats(r, 6, 10, 66), floats(r, 2, 6, 3, 3)
    t = np.array([[1, 0, 0], [0.5, 0.5, 0.5], [0.5, -0.5, 0.5], [0, 0, 1]])
    u = np.einsum("ip,ocpq,jq->ocij", t, g.astype(D), t).astype(F)
    want = sum(
        np.einsum("chw,oc->ohw", x[:, i : i + 8, j : j + 64].astype(D), g[:, :, i, j].astype(D))
        for i, j in itertools.product(range(3), range(3))
    )
    return Launch((1, 4, 2), 32, [x, u, np.zeros((2, 8, 64), F), S(6), S(66), S(10)], [(2, want, 1e-4)])


@case
def eigen3(r: np.random.Generator) -> Launch:
    a = floats(r, 6, 100)
    m = a[[0, 1, 2, 1, 3, 4, 2, 4, 5]].T.reshape(100, 3, 3).astype(D)
    return Launch(2, 64, [a, np.zeros((100, 3), F), S(100)], [(1, np.linalg.eigvalsh(m), 1e-4)])


@case
def hash_counts(r: np.random.Generator) -> Launch:
    key = r.integers(0, 150, 300).astype(U) * U(2654435)
    table = np.tile(np.array([0xFFFFFFFF, 0], U), (256, 1))
    count = Counter(key.tolist())
    args = [key, table, np.zeros(300, U), S(300), U(255)]
    return Launch(1, 128, args, [(2, [count[k] for k in key.tolist()], 0)])


@case
def automaton(r: np.random.Generator) -> Launch:
    words = ["abba", "bab", "aa", "cab"]
    states = sorted({w[:k] for w in words for k in range(len(w) + 1)}, key=lambda s: (len(s), s))
    table, accepts = np.zeros((len(states), 32), np.int16), np.zeros(len(states), B)
    for i, s in enumerate(states):
        accepts[i] = sum(s.endswith(w) for w in words)
        for c in "abc":
            table[i, ord(c) & 31] = next(states.index((s + c)[k:]) for k in range(len(s) + 2) if (s + c)[k:] in states)
    text = "".join(r.choice(list("abc"), 1500))
    ends = np.array([sum(text[: k + 1].endswith(w) for w in words) for k in range(1500)])
    parts = np.add.reduceat(ends, np.arange(0, 1500, 20))
    args = [np.frombuffer(text.encode(), B).copy(), table, accepts, np.zeros(76, S), S(1500), S(20), S(4)]
    return Launch(2, 64, args, [(3, [parts.sum(), *parts], 0)])


@case
def philox_circle(r: np.random.Generator) -> Launch:
    seed, n, rounds = 0x123456789ABCDEF, 128, 6
    hits = np.zeros(n, int)
    low = L(0xFFFFFFFF)
    for i in range(rounds):
        c = [np.full(n, i, L), np.zeros(n, L), np.arange(n).astype(L), np.zeros(n, L)]
        k0, k1 = seed & 0xFFFFFFFF, seed >> 32
        for _ in range(10):
            p, q = c[0] * L(0xD2511F53), c[2] * L(0xCD9E8D57)
            c = [q >> L(32) ^ c[1] ^ L(k0), q & low, p >> L(32) ^ c[3] ^ L(k1), p & low]
            k0, k1 = k0 + 0x9E3779B9 & 0xFFFFFFFF, k1 + 0xBB67AE85 & 0xFFFFFFFF
        x, y, z, w = ((v >> L(8)).astype(D) / 2**24 for v in c)
        hits += (x * x + y * y < 1).astype(int) + (z * z + w * w < 1)
    return Launch(2, 64, [np.zeros(n, U), L(seed), S(rounds)], [(0, hits, 0)])


@case
def tree_of_boxes(r: np.random.Generator) -> Launch:
    leaves, n = 32, 100
    low = np.zeros((2 * leaves, 3), F)
    high = np.zeros((2 * leaves, 3), F)
    low[leaves:] = np.sort(r.random((leaves, 3)).astype(F), axis=0)
    high[leaves:] = low[leaves:] + F(0.08)
    for k in range(leaves - 1, 0, -1):
        low[k] = np.minimum(low[2 * k], low[2 * k + 1])
        high[k] = np.maximum(high[2 * k], high[2 * k + 1])
    o, way = r.random((n, 3)).astype(F) * F(0.2) - F(1), r.random((n, 3)).astype(F) + F(0.5)
    inverse = F(1) / way
    s, t = ((b[None, leaves:] - o[:, None]) * inverse[:, None] for b in (low, high))
    near, far = np.maximum(np.minimum(s, t).max(axis=2), 0), np.maximum(s, t).min(axis=2)
    enters = np.where(near <= far, near, F(1e30))
    which = np.where(enters.min(axis=1) < F(1e30), enters.argmin(axis=1), -1)
    args = [np.concatenate([low, high], axis=1), o, way, np.zeros(n, F), np.zeros(n, S), S(leaves), S(n)]
    return Launch(2, 64, args, [(3, enters.min(axis=1), 1e-6), (4, which, 0)])


@case
def marching_cells(r: np.random.Generator) -> Launch:
    f, table = floats(r, 5, 6, 60), r.integers(0, 6, 256).astype(B)
    v = [f[k >> 2 : (k >> 2) + 4, k >> 1 & 1 : (k >> 1 & 1) + 5, k & 1 : (k & 1) + 59] for k in range(8)]
    level = F(0.2)
    cell = sum((v[k] < level).astype(int) << k for k in range(8))
    cut = np.full((4, 5, 59, 4), -1, F)
    for axis, k in enumerate((1, 2, 4)):
        split = (v[0] < level) != (v[k] < level)
        cut[..., axis][split] = ((level - v[0]) / (v[k] - v[0]))[split]
    cut[..., 3] = table[cell]
    args = [f, table, np.zeros((4, 5, 59), B), np.zeros(1, S), np.zeros_like(cut), S(60), S(6), S(5), level]
    return Launch((2, 5, 4), 32, args, [(2, cell, 0), (3, table[cell].astype(int).sum(), 0), (4, cut, 1e-6)])


@case
def lattice_flow(r: np.random.Generator) -> Launch:
    cx, cy = [0, 1, 0, -1, 0, 1, -1, -1, 1], [0, 0, 1, 0, -1, 1, 1, -1, -1]
    weight = np.array([4 / 9] + [1 / 9] * 4 + [1 / 36] * 4)[:, None, None]
    f = (weight * (1 + 0.1 * r.random((9, 10, 50)))).astype(F)
    v = np.stack([np.roll(f[k].astype(D), (cy[k], cx[k]), (0, 1)) for k in range(9)])
    rho = v.sum(axis=0)
    ux, uy = np.tensordot(cx, v, 1) / rho, np.tensordot(cy, v, 1) / rho
    c = 3 * (np.multiply.outer(cx, ux) + np.multiply.outer(cy, uy))
    want = v + 0.7 * (weight * rho * (1 + c + c * c / 2 - 1.5 * (ux * ux + uy * uy)) - v)
    return Launch((2, 3), (32, 4), [f, np.zeros_like(f), S(50), S(10), F(0.7)], [(1, want, 1e-5)])


@case
def neighbour_forces(r: np.random.Generator) -> Launch:
    n, box = 64, 5.0
    grid = np.array(list(itertools.product(range(4), repeat=3)))
    at = np.zeros((n, 4), F)
    at[:, :3] = grid * 1.25 + r.random((n, 3)) * 0.2
    d = at[:, None, :3].astype(D) - at[None, :, :3]
    d -= box * np.rint(d / box)
    r2 = (d * d).sum(axis=2)
    near = (r2 < 4.5) & (r2 > 0)
    count = near.sum(axis=1).astype(S)
    lists = np.zeros((count.max(), n), S)
    for i in range(n):
        lists[: count[i], i] = np.nonzero(near[i])[0]
    inside = (r2 < 4) & (r2 > 0)
    inv2 = np.where(inside, 1 / np.where(inside, r2, 1), 0)
    inv6 = inv2**3
    s = inv6 * (48 * inv6 - 24) * inv2
    want = np.concatenate([(d * s[..., None]).sum(axis=1), (4 * inv6 * (inv6 - 1)).sum(axis=1)[:, None]], axis=1)
    args = [at, count, lists, np.zeros((n, 4), F), S(n), S(n), F(box), F(4)]
    return Launch(1, 64, args, [(3, want, 1e-4)])


@case
def forest(r: np.random.Generator) -> Launch:
    n, trees, features = 100, 8, 10
    x = floats(r, n, features)
    nodes: list[tuple[int, float, int]] = []

    def grow(depth: int, at: int) -> None:
        if depth == 0 or r.random() < 0.15:
            nodes[at] = -1, r.standard_normal(), 0
            return
        left = len(nodes)
        nodes[at] = int(r.integers(features)), r.standard_normal() * 0.7, left
        nodes.extend([(0, 0.0, 0)] * 2)
        grow(depth - 1, left)
        grow(depth - 1, left + 1)

    roots = []
    for _ in range(trees):
        roots.append(len(nodes))
        nodes.append((0, 0.0, 0))
        grow(6, roots[-1])
    table = np.array(nodes, dtype=[("feature", S), ("limit", F), ("left", S)])
    want = np.zeros(n)
    for i, root in itertools.product(range(n), roots):
        k = table[root]
        while k["feature"] >= 0:
            k = table[k["left"] + (x[i, k["feature"]] > k["limit"])]
        want[i] += k["limit"]
    args = [table.view(U), np.array(roots, S), x, np.zeros(n, F), S(trees), S(features), S(n)]
    return Launch(2, 64, args, [(3, want, 1e-5)])


@case
def edges_thin(r: np.random.Generator) -> Launch:
    h, w, low, high = 12, 64, 200, 500
    g = r.integers(-400, 400, (h, w, 2)).astype(np.int16)
    m = np.abs(g.astype(int)).sum(axis=2)
    want = np.zeros((h, w), B)
    for y, x in itertools.product(range(1, h - 1), range(1, w - 1)):
        gx, gy = (int(v) for v in g[y, x])
        ax, ay = abs(gx) * 13573, abs(gy) << 15
        if ay < ax:
            dx, dy = 1, 0
        elif ay > ax + (abs(gx) << 16):
            dx, dy = 0, 1
        else:
            dx, dy = (-1 if gx * gy < 0 else 1), 1
        if m[y, x] > low and m[y, x] > m[y - dy, x - dx] and m[y, x] >= m[y + dy, x + dx]:
            want[y, x] = 2 if m[y, x] > high else 1
    return Launch((2, 3), (32, 4), [g, np.zeros((h, w), B), S(w), S(h), S(low), S(high)], [(1, want, 0)])


@case
def huffman_decode(r: np.random.Generator) -> Launch:
    n, symbols = 96, 40
    lengths = [1, 2, 3, 5, 5, 5, 6, 7, 8, 8]
    table, code, of = np.zeros(256, np.uint16), 0, []
    for s, length in enumerate(lengths):
        table[code : code + (1 << 8 - length)] = length << 8 | s
        of.append(f"{code >> 8 - length:0{length}b}")
        code += 1 << 8 - length
    text = r.choice(len(lengths), (n, symbols), p=np.array([2.0**-k for k in lengths]) / sum(2.0**-k for k in lengths))
    words: list[int] = []
    start = []
    for row in text:
        start.append(len(words))
        bits = "".join(of[s] for s in row)
        bits = bits.ljust((len(bits) // 32 + 4) * 32, "0")
        words += [int(bits[k : k + 32], 2) for k in range(0, len(bits), 32)]
    args = [np.array(words, U), np.array(start, S), table, np.zeros((n, symbols), B), S(symbols), S(n)]
    return Launch(2, 64, args, [(3, text, 0)])


@case
def ntt_shared(r: np.random.Generator) -> Launch:
    p = 998244353
    x = r.integers(0, p, (2, 256)).astype(U)
    root = np.zeros(256, U)
    for half in (1 << k for k in range(8)):
        w = pow(3, (p - 1) // (2 * half), p)
        root[half : 2 * half] = [pow(w, k, p) for k in range(half)]
    w = pow(3, (p - 1) // 256, p)
    powers = [pow(w, k, p) for k in range(256)]
    want = [[sum(int(v) * powers[i * j % 256] for j, v in enumerate(row)) % p for i in range(256)] for row in x]
    return Launch(2, 128, [x.copy(), root], [(0, want, 0)])


@case
def keccak(r: np.random.Generator) -> Launch:
    n, mask = 64, (1 << 64) - 1
    state = r.integers(0, 1 << 63, (25, n)).astype(L)
    turn, x, y = {(0, 0): 0}, 1, 0
    for t in range(24):
        turn[x, y] = (t + 1) * (t + 2) // 2 % 64
        x, y = y, (2 * x + 3 * y) % 5
    constants, lfsr = [], 1
    for _ in range(24):
        c = 0
        for j in range(7):
            c |= (lfsr & 1) << (1 << j) - 1
            lfsr = lfsr << 1 ^ (0x171 if lfsr & 0x80 else 0)
        constants.append(c & mask)

    def left(v: Array, k: int) -> Array:
        return v << L(k) | v >> L(64 - k) if k else v

    a = {(k % 5, k // 5): state[k] for k in range(25)}
    for c in constants:
        s = [a[x, 0] ^ a[x, 1] ^ a[x, 2] ^ a[x, 3] ^ a[x, 4] for x in range(5)]
        b = {}
        for x, y in a:
            b[y, (2 * x + 3 * y) % 5] = left(a[x, y] ^ s[(x + 4) % 5] ^ left(s[(x + 1) % 5], 1), turn[x, y])
        a = {(x, y): b[x, y] ^ ~b[(x + 1) % 5, y] & b[(x + 2) % 5, y] for x, y in a}
        a[0, 0] = a[0, 0] ^ L(c)
    want = np.stack([a[k % 5, k // 5] for k in range(25)])
    return Launch(1, 64, [state.copy(), np.array(constants, L), S(n)], [(0, want, 0)])


@case
def bicubic(r: np.random.Generator) -> Launch:
    h, w, oh, ow = 6, 20, 8, 50
    x = floats(r, h, w)

    def spread(n: int, out: int) -> Array:
        """The weights of n places for each of the places of the result."""
        m = np.zeros((out, n))
        for i in range(out):
            u = (i + 0.5) * n / out - 0.5
            base, t, a = int(np.floor(u)), u - np.floor(u), -0.75
            near = [((a + 2) * v - (a + 3)) * v * v + 1 for v in (t, 1 - t)]
            first = ((a * (t + 1) - 5 * a) * (t + 1) + 8 * a) * (t + 1) - 4 * a
            for k, weight in enumerate([first, *near, 1 - first - sum(near)]):
                m[i, min(max(base - 1 + k, 0), n - 1)] += weight
        return m

    want = spread(h, oh) @ x @ spread(w, ow).T
    return Launch((2, oh), 32, [x, np.zeros((oh, ow), F), S(w), S(h), S(ow), S(oh)], [(1, want, 1e-4)])


@case
def time_warp(r: np.random.Generator) -> Launch:
    n = 48
    a, b = floats(r, 2, n), floats(r, 2, n)
    want = []
    for x, y in zip(a.astype(D), b.astype(D), strict=True):
        d = np.full((n + 1, n + 1), np.inf)
        d[0, 0] = 0
        for i, j in itertools.product(range(n), range(n)):
            d[i + 1, j + 1] = abs(x[i] - y[j]) + min(d[i, j + 1], d[i + 1, j], d[i, j])
        want.append(d[n, n])
    return Launch(2, 64, [a, b, np.zeros(2, F), S(n)], [(2, want, 1e-5)])


@case
def round_trips(r: np.random.Generator) -> Launch:
    n, places = 64, 6
    there = np.triu(r.random((n, places, places)) < 0.6, 1)
    there |= there.transpose(0, 2, 1)
    edges = (there * (1 << np.arange(places))).sum(axis=2).T.astype(np.uint16)
    want = np.zeros(n, int)
    for order in itertools.permutations(range(1, places)):
        want += np.logical_and.reduce([there[:, i, j] for i, j in itertools.pairwise((0, *order))])
    return Launch(1, 64, [edges.copy(), np.zeros(n, S), S(places), S(n)], [(1, want, 0)])


@case
def components(r: np.random.Generator) -> Launch:
    n, edges = 150, 130
    edge = r.integers(0, n, (edges, 2)).astype(S)
    label = np.arange(n)
    for _ in range(n):
        for a, b in edge:
            label[a] = label[b] = min(label[a], label[b])
    return Launch(1, 64, [edge, np.zeros(n, S), S(edges), S(n)], [(1, label, 0)])


@case
def scatter_rows(r: np.random.Generator) -> Launch:
    table, token = np.zeros((12, 64), F), r.integers(-1, 12, 40).astype(S)
    grad = r.integers(-50, 50, (40, 64)).astype(F)
    want = np.zeros((12, 64))
    for t, g in zip(token, grad, strict=True):
        if t >= 0:
            want[t] += 0.5 * g
    return Launch(10, (16, 4), [table, token, grad, S(40), S(16), F(0.5)], [(0, want, 0)])


@case
def group_norm(r: np.random.Generator) -> Launch:
    images, places, channels, group = 2, 40, 24, 6
    x, gamma, beta = floats(r, images, places, channels), floats(r, channels), floats(r, channels)
    v = x.astype(D).reshape(images, places, 4, group)
    mean, variance = v.mean(axis=(1, 3), keepdims=True), v.var(axis=(1, 3), keepdims=True)
    want = silu(((v - mean) / np.sqrt(variance + 1e-5)).reshape(x.shape) * gamma + beta)
    args = [x, gamma, beta, np.zeros_like(x), S(channels), S(group), S(places), F(1e-5)]
    return Launch((4, images), 128, args, [(3, want, 1e-4)])


@case
def decode_attention(r: np.random.Generator) -> Launch:
    heads, keys = 2, 50
    q, k, v = floats(r, heads, 64), halves(r, heads, keys, 64), halves(r, heads, keys, 64)
    s = np.einsum("hd,hkd->hk", q.astype(D), k.astype(D)) / 8
    e = np.exp(s - s.max(axis=1, keepdims=True))
    want = np.einsum("hk,hkd->hd", e / e.sum(axis=1, keepdims=True), v.astype(D))
    args = [q, k, v, np.zeros((heads, 64), F), S(keys), F(0.125)]
    return Launch(heads, 128, args, [(3, want, 1e-4)])


@case
def gradient_noise(r: np.random.Generator) -> Launch:
    table = r.permutation(256).astype(B)
    w, h, step = 64, 4, 0.15625
    y, x = np.mgrid[0:h, 0:w].astype(D)
    want = np.zeros((h, w))

    def slope(k: Array, u: Array, v: Array) -> Array:
        a, b = np.where(k & 1, -u, u), np.where(k & 2, -v, v)
        return np.where(k & 4, a + b, np.where(k & 8, a, b))

    for octave in range(4):
        u, v = x * step * 2**octave, y * step * 2**octave
        i, j = np.floor(u).astype(int), np.floor(v).astype(int)
        u, v = u - i, v - j
        corners = [
            slope(table[table[i + a & 255].astype(int) + j + b & 255], u - a, v - b)
            for b, a in itertools.product(range(2), range(2))
        ]
        fu, fv = (t**3 * (t * (t * 6 - 15) + 10) for t in (u, v))
        low, high = corners[0] + fu * (corners[1] - corners[0]), corners[2] + fu * (corners[3] - corners[2])
        want += (low + fv * (high - low)) / 2**octave
    return Launch((2, h), 32, [table, np.zeros((h, w), F), S(w), F(step)], [(1, want, 1e-5)])


@case
def reed_solomon(r: np.random.Generator) -> Launch:
    n = 100
    data = r.integers(0, 256, (8, n, 16)).astype(B)
    p, q = np.zeros((n, 16), B), np.zeros((n, 16), B)
    for d in range(7, -1, -1):
        p ^= data[d]
        q = (q << 1) ^ np.where(q & 128, B(0x1D), B(0)) ^ data[d]
    return Launch(2, 64, [data, np.zeros((2, n, 16), B), S(n)], [(1, np.stack([p, q]), 0)])


@case
def depthwise_half(r: np.random.Generator) -> Launch:
    h, w, channels = 4, 5, 128
    x, weight, bias = halves(r, h, w, channels), halves(r, 3, 3, channels), halves(r, channels)
    wide = np.pad(x.astype(D), ((1, 1), (1, 1), (0, 0)))
    want = bias + sum(wide[j : j + h, i : i + w] * weight[j, i].astype(D) for j in range(3) for i in range(3))
    args = [x, weight, bias, np.zeros_like(x), S(w), S(h), S(channels // 2)]
    return Launch((w, h), channels // 2, args, [(3, np.clip(want, 0, 6), 4e-3)])


@case
def spline(r: np.random.Generator) -> Launch:
    knot, c = np.sort(r.random(40)), r.standard_normal((39, 4))
    x = r.uniform(knot[0], knot[-1], 300)
    at = np.searchsorted(knot, x, side="right") - 1
    t = x - knot[at]
    want = ((c[at, 3] * t + c[at, 2]) * t + c[at, 1]) * t + c[at, 0]
    return Launch(2, 64, [knot, c, x, np.zeros(300), S(40), S(300)], [(3, want, 1e-12)])


@case
def silu_gate_half(r: np.random.Generator) -> Launch:
    x = halves(r, 2, 2, 1200)
    v = x.astype(D)
    want = silu(v[:, 0]) * v[:, 1]
    return Launch(2, 64, [x, np.zeros((2, 1200), H), S(150)], [(1, want, 2e-3)])
