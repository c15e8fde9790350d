"""Varied kernels of a seventh round, CUDA, Triton and tinygrad: arguments and results computed here, on the host, for the PTX in ``ptx``."""

import math
from typing import NamedTuple

import numpy as np

from tests.kernels.varied.users_cases import e4m3
from tests.kernels.varied.varied_cases import (
    _SCRATCH,
    Array,
    B,
    Cases,
    D,
    F,
    Launch,
    S,
    U,
    _grad,
    adder,
    floats,
    shared_of,
)

L = np.uint64
H = np.float16

CASES: Cases = {}
case = adder(CASES)


def silu(x: Array) -> Array:
    """x times its sigmoid."""
    out: Array = x / (1 + np.exp(-x))
    return out


@case
def givens_qr(r: np.random.Generator) -> Launch:
    n, size = 100, 5
    a, b = floats(r, size, size, n), floats(r, size, n)
    a += 3 * np.eye(size, dtype=F)[..., None]
    t, y = a.astype(D), b.astype(D)
    for j in range(size):
        for i in range(size - 1, j, -1):
            length = np.hypot(t[i - 1, j], t[i, j])
            c, s = t[i - 1, j] / length, t[i, j] / length
            t[i - 1], t[i] = c * t[i - 1] + s * t[i], c * t[i] - s * t[i - 1]
            y[i - 1], y[i] = c * y[i - 1] + s * y[i], c * y[i] - s * y[i - 1]
    x = np.linalg.solve(np.moveaxis(t, 2, 0), y.T[..., None])[..., 0].T
    args = [a, b, np.zeros((15, n), F), np.zeros_like(b), S(n)]
    return Launch(2, 64, args, [(2, t[np.triu_indices(size)], 1e-4), (3, x, 2e-4)])


def packed_block(r: np.random.Generator, room: int) -> tuple[bytes, bytes]:
    """A block in LZ4's format and what it stands for."""
    out, text = bytearray(), bytearray()

    def rest(n: int) -> bytes:
        return b"" if n < 15 else bytes([255] * ((n - 15) // 255) + [(n - 15) % 255])

    while True:
        literals = int(r.choice([0, 1, 3, 7, 14, 15, 16, 40]))
        match, last = int(r.choice([4, 5, 8, 18, 19, 33, 60, 300])), len(text) > room - 450
        literals = 5 if last else max(literals, 1 if not text else 0)
        words = r.integers(97, 123, literals).astype(B).tobytes()
        out += bytes([min(literals, 15) << 4 | (0 if last else min(match - 4, 15))]) + rest(literals) + words
        text += words
        if last:
            return bytes(out), bytes(text)
        offset = int(r.integers(1, min(len(text), 50) + 1))
        out += bytes([offset & 255, offset >> 8]) + rest(match - 4)
        for _ in range(match):
            text.append(text[-offset])


@case
def lz4_decode(r: np.random.Generator) -> Launch:
    blocks, room = 40, 800
    pairs = [packed_block(r, room) for _ in range(blocks)]
    # This one has more literals than fit.
    pairs[7] = bytes([0xF0, 255, 255, 255]) + pairs[7][0][4:], b""
    start = np.concatenate([[0], np.cumsum([len(p) for p, _ in pairs])]).astype(S)
    length = [len(t) or -1 for _, t in pairs]
    want, out = np.zeros((blocks, room), B), np.zeros((blocks, room), B)
    for k, (_, t) in enumerate(pairs):
        want[k, : len(t)] = np.frombuffer(t, B)
    packed = np.frombuffer(b"".join(p for p, _ in pairs), B).copy()
    args = [packed, start, out, S(room), np.zeros(blocks, S), S(blocks)]
    return Launch(2, 32, args, [(4, length, 0), (2, want, 0)])


@case
def fft_fifteen(r: np.random.Generator) -> Launch:
    x = floats(r, 3, 225, 2)
    y = np.fft.fft(x[..., 0].astype(D) + 1j * x[..., 1], axis=1)
    want = np.stack([y.real, y.imag], axis=2)
    return Launch(3, 32, [x, np.zeros_like(x)], [(1, want, 1e-4)])


@case
def lstm_cell(r: np.random.Generator) -> Launch:
    batch, inputs, units = 2, 72, 48
    wx, wh, bias = 0.3 * floats(r, 4, units, inputs), 0.3 * floats(r, 4, units, units), floats(r, 4, units)
    x, h, c = floats(r, batch, inputs), floats(r, batch, units), floats(r, batch, units)
    g = np.einsum("jui,bi->jbu", wx.astype(D), x) + np.einsum("juk,bk->jbu", wh.astype(D), h) + bias[:, None]
    in_, forget, gate = (1 / (1 + np.exp(-g[k])) for k in (0, 1, 3))
    cell = forget * c + in_ * np.tanh(g[2])
    args = [wx, wh, bias, x, h, c, np.zeros_like(h), np.zeros_like(c), S(inputs), S(units)]
    return Launch((units // 4, batch), 128, args, [(6, gate * np.tanh(cell), 1e-5), (7, cell, 1e-5)])


@case
def nucleus_sample(r: np.random.Generator) -> Launch:
    rows, n, p, temperature = 3, 500, 0.8, 0.9
    x, draws = 2 * floats(r, rows, n), r.random(rows).astype(F)
    tokens, thresholds = [], []
    for row, u in zip(x.astype(D), draws, strict=True):
        e = np.exp((row - row.max()) / temperature)
        low, high = 0.0, 1.0
        for _ in range(16):
            middle = (low + high) / 2
            low, high = (middle, high) if e[e >= middle].sum() >= p * e.sum() else (low, middle)
        kept = np.where(e >= low, e, 0)
        tokens.append(np.argmax(kept.cumsum() > u * kept.sum()))
        thresholds.append(low)
    args = [x, draws, np.zeros(rows, S), np.zeros(rows, F), S(n), F(p), F(temperature)]
    return Launch(rows, 128, args, [(2, tokens, 0), (3, thresholds, 1e-6)], 4 * n)


@case
def cache_to_fp8(r: np.random.Generator) -> Launch:
    tokens, heads, size, page, pages = 12, 3, 64, 8, 4
    k, v = floats(r, tokens, heads, size).astype(H), floats(r, tokens, heads, size).astype(H)
    slots = r.permutation(page * pages)[:tokens].astype(np.int64)
    slots[4] = -1
    scales = np.array([0.25, 0.5, 0.003], F)
    keys = np.zeros((pages, heads, page, size), B)
    values, wants = np.zeros_like(keys), np.zeros((2, *keys.shape), B)
    for t in range(tokens):
        if slots[t] >= 0:
            for j, x in enumerate((k, v)):
                wants[j, slots[t] // page, :, slots[t] % page] = e4m3(x[t].astype(F) * (F(1) / scales)[:, None])
    args = [k, v, keys, values, slots, scales, S(heads), S(size), S(page)]
    return Launch(tokens, 64, args, [(2, wants[0], 0), (3, wants[1], 0)])


@case
def beam_step(r: np.random.Generator) -> Launch:
    batch, beams, words = 3, 4, 300
    logp, scores = -np.abs(floats(r, batch, beams, words)) - F(0.01), -np.abs(floats(r, batch, beams))
    ended = r.integers(0, 4, (batch, beams)) == 0
    every = scores[..., None] + logp
    every = np.where(ended[..., None], F(-1e30), every)
    every[..., 0] = np.where(ended, scores, every[..., 0])
    flat = every.reshape(batch, -1)
    order = np.argsort(-flat, axis=1, kind="stable")[:, :beams]
    args = [logp, scores, ended.astype(S), np.zeros((batch, beams), F), *(np.zeros((batch, beams), S) for _ in "pw")]
    wants = [(3, np.take_along_axis(flat, order, 1), 0.0), (4, order // words, 0.0), (5, order % words, 0.0)]
    return Launch(batch, 128, [*args, S(words)], wants)


@case
def bytes_conv(r: np.random.Generator) -> Launch:
    height, width, channels, filters, zero = 6, 10, 16, 32, 3
    x = r.integers(-128, 128, (height, width, channels)).astype(np.int8)
    w = r.integers(-128, 128, (filters, 3, 3, channels)).astype(np.int8)
    bias, scale = r.integers(-5000, 5000, filters).astype(S), (r.random(filters) * 1e-3).astype(F)
    padded = np.pad(x.astype(S), ((1, 1), (1, 1), (0, 0)))
    sum = np.zeros((height, width, filters), S) + bias
    for dy in range(3):
        for dx in range(3):
            sum += padded[dy : dy + height, dx : dx + width] @ w[:, dy, dx].astype(S).T
    want = np.clip(np.rint(sum.astype(F) * scale).astype(S) + zero, -128, 127)
    out = np.zeros((height, width, filters), np.int8)
    args = [x.view(S), w.view(S), bias, scale, out, S(height), S(width), S(channels // 4), S(filters), S(zero)]
    return Launch((3, height), (filters, 4), args, [(4, want, 0)])


def cuckoo_place(key: int, which: int, mask: int) -> int:
    """Where a key goes, in the table's first or second part."""
    h = key * (0x85EBCA6B if which else 0x9E3779B1) & 0xFFFFFFFF
    h ^= h >> 15
    h = h * (0xC2B2AE35 if which else 0x2C1B3C6D) & 0xFFFFFFFF
    h ^= h >> 13
    return (h & mask) * 2 + which


class Cuckoo(NamedTuple):
    """A launch that fills a table in any order: every pair is in one of its two places."""

    launch: Launch

    def run(self, cubin: bytes) -> None:
        """Launch the cubin's kernel and compare (AssertionError)."""
        self.launch.run(cubin)
        keys, values, n, table, mask = self.launch.args[:5]
        found = {int(x) for x in table} - {(1 << 64) - 1}
        pairs = {int(k) << 32 | int(v) for k, v in zip(keys, values, strict=True)}
        assert len(pairs) == n and found == pairs and self.launch.args[6][0] == 0, "pairs"
        for at, x in enumerate(table):
            assert int(x) not in pairs or at == cuckoo_place(int(x) >> 32, at & 1, int(mask)), f"place {at}"


@case
def cuckoo_insert(r: np.random.Generator) -> Cuckoo:
    n, mask = 200, 255
    keys, values = r.permutation(100000)[:n].astype(U), r.integers(0, 1 << 32, n).astype(U)
    table = np.full(2 * (mask + 1), (1 << 64) - 1, L)
    args = [keys, values, S(n), table, U(mask), S(64), np.zeros(1, S), np.zeros(1, S)]
    return Cuckoo(Launch(2, 128, args, []))


@case
def sliced_product(r: np.random.Generator) -> Launch:
    rows, columns = 80, 1000
    counts = np.sort(r.integers(1, 12, 96))[::-1]
    counts[rows:] = 0
    order = r.permutation(rows).astype(S)
    slices, base, delta, value = [0], [], [], []
    x, y = floats(r, columns), floats(r, rows)
    want = -0.5 * y.astype(D)
    for s in range(3):
        from_ = int(r.integers(0, columns - 300))
        wide = counts[32 * s : 32 * s + 32].max()
        d = np.full((wide, 32), 0xFFFF, np.uint16)
        v = floats(r, wide, 32)
        for k in range(32):
            c = counts[32 * s + k]
            d[:c, k] = r.integers(0, 300, c)
            if c:
                want[order[32 * s + k]] += 1.5 * (v[:c, k].astype(D) * x[from_ + d[:c, k]]).sum()
        base.append(from_)
        delta.append(d.ravel())
        value.append(v.ravel())
        slices.append(slices[-1] + d.size)
    args = [np.array(slices, S), np.array(base, S), np.concatenate(delta), np.concatenate(value), order, x, y]
    return Launch(2, 64, [*args, S(rows), F(1.5), F(-0.5)], [(6, want, 1e-5)])


class Field(NamedTuple):
    """A launch whose results have limbs that are not unique: the numbers that they stand for are compared."""

    launch: Launch

    def run(self, cubin: bytes) -> None:
        """Launch the cubin's kernel and compare (AssertionError)."""
        self.launch.run(cubin)
        a, b, out, squares, n = self.launch.args
        for k in range(int(n)):
            want = limbs(a[:, k]) * limbs(b[:, k])
            for _ in range(squares):
                want = want * want % ((1 << 255) - 19)
            assert (limbs(out[:, k]) - want) % ((1 << 255) - 19) == 0, f"number {k}"


def limbs(x: Array) -> int:
    """The number that limbs of 26 and 25 bits by turns stand for."""
    return sum(int(v) << (51 * k + 1) // 2 for k, v in enumerate(x))


@case
def field_product(r: np.random.Generator) -> Field:
    n = 70
    a, b = (np.stack([r.integers(0, 1 << (25 if k & 1 else 26), n) for k in range(10)]).astype(S) for _ in "ab")
    return Field(Launch(2, 64, [a, b, np.zeros_like(a), S(3), S(n)], []))


@case
def pair_hmm(r: np.random.Generator) -> Launch:
    pairs, most, wide, opened, extend = 6, 32, 50, 0.01, 0.1
    m, n = r.integers(12, 33, pairs).astype(S), r.integers(35, 50, pairs).astype(S)
    hap = r.choice(np.frombuffer(b"ACGT", B), (pairs, wide))
    read, quality = np.zeros((pairs, most), B), r.integers(8, 40, (pairs, most)).astype(B)
    want = []
    for p in range(pairs):
        read[p, : m[p]] = hap[p, 2 : 2 + m[p]]
        read[p, m[p] // 2] = ord("A")
        hap[p, 6] = ord("N")
        up = np.zeros((3, n[p] + 1))
        up[2] = 1 / n[p]
        for i in range(m[p]):
            error = 2 ** (-0.33219281 * quality[p, i])
            row = np.zeros_like(up)
            for j in range(1, n[p] + 1):
                same = hap[p, j - 1] in (read[p, i], ord("N"))
                prior = 1 - error if same else error / 3
                row[0, j] = prior * ((1 - 2 * opened) * up[0, j - 1] + (1 - extend) * (up[1, j - 1] + up[2, j - 1]))
                row[1, j] = opened * up[0, j] + extend * up[1, j]
                row[2, j] = opened * row[0, j - 1] + extend * row[2, j - 1]
            up = row
        want.append(math.log10(up[:2, 1:].sum()))
    args = [read, quality, hap, m, n, S(most), S(wide), F(opened), F(extend), np.zeros(pairs, F), S(pairs)]
    return Launch(2, 96, args, [(9, want, 1e-4)])


@case
def optical_flow(r: np.random.Generator) -> Launch:
    height, width = 20, 50
    wave = np.sin(np.arange(width + 1) / 3.1)[None] * np.cos(np.arange(height + 1) / 2.3)[:, None]
    a = (128 + 90 * wave + r.integers(-9, 10, wave.shape)).astype(B)
    a, b = a[:height, :width].copy(), a[1:, 1:].copy()
    rows, cols = np.clip(np.arange(-2, height + 2), 1, height - 2), np.clip(np.arange(-2, width + 2), 1, width - 2)
    t, u = a.astype(D), b.astype(D)
    at = np.ix_(rows, cols)
    gx = (np.roll(t, -1, 1) - np.roll(t, 1, 1))[at]
    gy = (np.roll(t, -1, 0) - np.roll(t, 1, 0))[at]
    gt = (u - t)[at]

    def window(v: Array) -> Array:
        sums: Array = np.lib.stride_tricks.sliding_window_view(v, (5, 5)).sum(axis=(2, 3))
        return sums

    xx, xy, yy, xt, yt = (window(p * q) for p, q in ((gx, gx), (gx, gy), (gy, gy), (gx, gt), (gy, gt)))
    det = xx * yy - xy * xy
    flow = np.stack([2 * (xy * yt - yy * xt), 2 * (xy * xt - xx * yt)], axis=2)
    want = np.where(det[..., None] > 1e4, flow / np.where(det == 0, 1, det)[..., None], 0)
    args = [a, b, np.zeros((height, width, 2), F), S(width), S(height)]
    return Launch((2, 3), (32, 8), args, [(2, want, 1e-3)])


@case
def kd_nearest(r: np.random.Generator) -> Launch:
    nodes, n = 127, 100
    points = floats(r, nodes, 3)
    tree = np.zeros((nodes, 4), F)

    def build(ids: Array, at: int, depth: int) -> None:
        if len(ids):
            ids = ids[np.argsort(points[ids, depth % 3])]
            half = len(ids) // 2
            tree[at, :3] = points[ids[half]]
            tree.view(S)[at, 3] = depth % 3
            build(ids[:half], 2 * at + 1, depth + 1)
            build(ids[half + 1 :], 2 * at + 2, depth + 1)

    build(np.arange(nodes), 0, 0)
    q = floats(r, n, 3)
    d = np.sqrt(((q[:, None].astype(D) - tree[:, :3].astype(D)) ** 2).sum(axis=2))
    args = [tree, S(nodes), q, S(n), np.zeros(n, S), np.zeros(n, F)]
    return Launch(2, 64, args, [(4, d.argmin(axis=1), 0), (5, d.min(axis=1), 1e-5)])


@case
def layer_norm_grad(r: np.random.Generator) -> Launch:
    rows, n = 7, 300
    x, dy, w = floats(r, rows, n).astype(H), floats(r, rows, n).astype(H), floats(r, n).astype(H)
    t = x.astype(D)
    mean, rstd = t.mean(axis=1).astype(F), (1 / t.std(axis=1)).astype(F)
    h = (t - mean[:, None]) * rstd[:, None]
    wg = dy.astype(D) * w
    dx = rstd[:, None] * (wg - wg.mean(axis=1, keepdims=True) - h * (wg * h).mean(axis=1, keepdims=True))
    sums = [np.zeros(n, F), np.zeros(n, F)]
    args = [dy, x, w, mean, rstd, np.zeros_like(x), *sums, S(rows), S(n), *_SCRATCH]
    wants = [(5, dx, 2e-3), (6, (dy * h).sum(axis=0), 1e-4), (7, dy.astype(D).sum(axis=0), 1e-4)]
    return Launch(3, 128, args, wants, shared_of("layer_norm_grad"))


@case
def rope_decode(r: np.random.Generator) -> Launch:
    batch, heads, most, size = 2, 2, 100, 64
    q, k, v = (floats(r, batch, heads, *s).astype(H) for s in ((size,), (most, size), (most, size)))
    length = np.array([77, 100], S)
    angle = np.arange(most)[:, None] / 100.0 ** (np.arange(size // 2) / (size // 2))
    cosines, sines = np.cos(angle).astype(F), np.sin(angle).astype(F)
    want = np.zeros(q.shape)
    for b in range(batch):
        n = length[b]
        c, s = cosines[n - 1].astype(D), sines[n - 1].astype(D)
        for h in range(heads):
            a, z = np.split(q[b, h].astype(D), 2)
            e = k[b, h, :n].astype(D) @ np.concatenate([a * c - z * s, z * c + a * s]) * 0.125
            p = np.exp(e - e.max())
            want[b, h] = p / p.sum() @ v[b, h, :n].astype(D)
    args = [q, k, v, cosines, sines, length, np.zeros_like(q), S(heads), S(most), F(0.125), *_SCRATCH]
    return Launch((heads, batch), 128, args, [(6, want, 2e-3)], shared_of("rope_decode"))


@case
def nibble_product(r: np.random.Generator) -> Launch:
    m, n, k = 32, 128, 192
    a = floats(r, m, k).astype(H)
    nibbles = r.integers(0, 16, (k, n))
    words = (nibbles.reshape(k // 8, 8, n).astype(U) << (4 * np.arange(8, dtype=U))[:, None]).sum(axis=1).astype(U)
    scales = (0.1 * r.random((k // 64, n)) + 0.01).astype(H)
    zeros = r.integers(5, 11, (k // 64, n)).astype(H)
    w = (nibbles.astype(H) - np.repeat(zeros, 64, axis=0)) * np.repeat(scales, 64, axis=0)
    args = [a, words.view(S), scales, zeros, np.zeros((m, n), H), S(n), S(k), *_SCRATCH]
    return Launch((n // 64, 1), 128, args, [(4, a.astype(D) @ w.astype(D), 2e-3)], shared_of("nibble_product"))


@case
def token_loss(r: np.random.Generator) -> Launch:
    rows, n, smoothing = 4, 1300, 0.1
    x = (3 * floats(r, rows, n)).astype(H)
    y = r.integers(0, n, rows)
    y[2] = -100
    t = x.astype(D)
    lse = np.log(np.exp(t).sum(axis=1))
    own = t[np.arange(rows), np.maximum(y, 0)]
    loss = np.where(y < 0, 0, 0.9 * (lse - own) + smoothing * (lse - t.mean(axis=1)))
    grad = np.exp(t - lse[:, None]) - smoothing / n
    grad[np.arange(rows), np.maximum(y, 0)] -= 0.9
    grad[y < 0] = 0
    args = [x, y.astype(np.int64), np.zeros(rows, F), np.full((rows, n), 7, F), S(n), F(smoothing), *_SCRATCH]
    return Launch(rows, 128, args, [(2, loss, 1e-4), (3, grad, 1e-4)], shared_of("token_loss"))


@case
def causal_conv1d(r: np.random.Generator) -> Launch:
    batch, steps, channels = 2, 37, 100
    x, w, b = (
        floats(r, batch, steps, channels).astype(H),
        floats(r, channels, 4).astype(H),
        floats(r, channels).astype(H),
    )
    padded = np.pad(x.astype(D), ((0, 0), (3, 0), (0, 0)))
    y = b.astype(D) + sum(padded[:, k : k + steps] * w[:, k].astype(D) for k in range(4))
    args = [x, w, b, np.zeros_like(x), S(steps), S(channels), *_SCRATCH]
    return Launch((3, 2, batch), 128, args, [(3, silu(y), 2e-3)], shared_of("causal_conv1d"))


@case
def chunk_scan(r: np.random.Generator) -> Launch:
    chunks, steps, states, size = 2, 64, 32, 64
    c, b = ((0.3 * floats(r, chunks, steps, states)).astype(H) for _ in "cb")
    x, before = floats(r, chunks, steps, size).astype(H), floats(r, chunks, states, size).astype(H)
    decay = -0.2 * r.random((chunks, steps)).astype(F)
    a = decay.astype(D).cumsum(axis=1)
    g = np.einsum("pis,pjs->pij", c.astype(D), b.astype(D)) * np.exp(np.minimum(a[:, :, None] - a[:, None], 0))
    y = np.tril(g) @ x.astype(D) + np.exp(a)[..., None] * (c.astype(D) @ before.astype(D))
    args = [c, b, x, decay, before, np.zeros_like(x), S(steps), *_SCRATCH]
    return Launch(chunks, 128, args, [(5, y, 3e-3)], shared_of("chunk_scan"))


@case
def block_sparse_product(r: np.random.Generator) -> Launch:
    rows, columns, n, k = 3, 5, 64, 32
    there = [[0, 2, 3], [], [1, 2, 3, 4]]
    column = np.array([c for t in there for c in t], S)
    first = np.concatenate([[0], np.cumsum([len(t) for t in there])]).astype(S)
    blocks, x = floats(r, len(column), k, k).astype(H), floats(r, columns * k, n).astype(H)
    want = np.zeros((rows * k, n))
    for row in range(rows):
        for j in range(first[row], first[row + 1]):
            part = x[column[j] * k : column[j] * k + k].astype(D)
            want[row * k : row * k + k] += blocks[j].astype(D) @ part
    args = [blocks, first, column, x, np.zeros(want.shape, F), S(n), *_SCRATCH]
    return Launch((rows, 1), 128, args, [(4, want, 1e-4)], shared_of("block_sparse_product"))


class Bytes(NamedTuple):
    """A launch whose second argument has bytes in e5m2, each within half a step of what is wanted."""

    launch: Launch
    wanted: Array

    def run(self, cubin: bytes) -> None:
        """Launch the cubin's kernel and compare (AssertionError)."""
        self.launch.run(cubin)
        got = (self.launch.args[1].view(B).astype(np.uint16) << 8).view(H).astype(D)
        np.testing.assert_allclose(got, self.wanted, rtol=0.1251, atol=1e-5)


@case
def group_to_fp8(r: np.random.Generator) -> Bytes:
    rows, n, group = 3, 320, 64
    x = floats(r, rows, 2, n).astype(H)
    y = silu(x[:, 0].astype(D)) * x[:, 1].astype(D)
    scale = np.abs(y.reshape(rows, -1, group)).max(axis=2) / 57344
    args = [x, np.zeros((rows, n), np.int8), np.zeros(scale.shape, F), S(n), *_SCRATCH]
    launch = Launch((rows, 2), 128, args, [(2, scale, 1e-5)], shared_of("group_to_fp8"))
    return Bytes(launch, y / np.repeat(scale, group, axis=1))


@case
def grad_gather(r: np.random.Generator) -> Launch:
    w, i = floats(r, 50, 24), r.integers(0, 50, 40).astype(S)
    return _grad("grad_gather", [w, i], w[i], F, 0)


@case
def grad_depthwise(r: np.random.Generator) -> Launch:
    x, w = floats(r, 2, 6, 14, 14), floats(r, 6, 1, 3, 3)
    padded = np.pad(x.astype(D), ((0, 0), (0, 0), (1, 1), (1, 1)))
    want = np.zeros((2, 6, 7, 7))
    for dy in range(3):
        for dx in range(3):
            want += w[:, 0, dy, dx].astype(D)[:, None, None] * padded[:, :, dy : dy + 13 : 2, dx : dx + 13 : 2]
    return _grad("grad_depthwise", [x, w], np.maximum(want, 0), F, 1e-5)
