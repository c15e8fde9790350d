"""Triton kernels of the varied cases: ``python varied_triton.py DIR`` compiles them to PTX (triton 3.6, from window_attention on by 3.9, without a GPU)."""

import re
import sys

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget


@triton.jit
def swiglu(x, y, out, n, B: tl.constexpr):
    """x * y * sigmoid(y)."""
    i = tl.program_id(0) * B + tl.arange(0, B)
    a = tl.load(x + i, mask=i < n)
    b = tl.load(y + i, mask=i < n)
    tl.store(out + i, a * b / (1 + tl.exp(-b)), mask=i < n)


@triton.jit
def running_sum(x, out, n, B: tl.constexpr):
    """Sums of rows up to each place."""
    r = tl.program_id(0)
    c = tl.arange(0, B)
    v = tl.load(x + r * n + c, mask=c < n, other=0.0)
    tl.store(out + r * n + c, tl.cumsum(v, 0), mask=c < n)


@triton.jit
def counts(x, out, n, B: tl.constexpr, BINS: tl.constexpr):
    """How often each of the numbers below BINS is there."""
    i = tl.program_id(0) * B + tl.arange(0, B)
    h = tl.histogram(tl.load(x + i, mask=i < n, other=0), BINS, mask=i < n)
    tl.atomic_add(out + tl.arange(0, BINS), h)


@triton.jit
def sorted_rows(x, out, B: tl.constexpr):
    """Rows in ascending order."""
    c = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out + c, tl.sort(tl.load(x + c)))


@triton.jit
def quantised_product(a, b, scale, c, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Product of signed bytes, A by rows and B by columns, with a scale a column."""
    rm = tl.program_id(1) * BM + tl.arange(0, BM)
    rn = tl.program_id(0) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    sum = tl.zeros((BM, BN), tl.int32)
    for at in range(0, k, BK):
        x = tl.load(a + rm[:, None] * k + at + rk[None, :])
        y = tl.load(b + rn[None, :] * k + at + rk[:, None])
        sum = tl.dot(x, y, acc=sum, out_dtype=tl.int32)
    tl.store(c + rm[:, None] * n + rn[None, :], sum.to(tl.float32) * tl.load(scale + rn)[None, :])


@triton.jit
def row_statistics(x, mean, spread, n, B: tl.constexpr):
    """Mean and variance of rows longer than a block, in one pass."""
    r = tl.program_id(0)
    s = tl.zeros((B,), tl.float32)
    q = tl.zeros((B,), tl.float32)
    for at in range(0, n, B):
        c = at + tl.arange(0, B)
        v = tl.load(x + r * n + c, mask=c < n, other=0.0)
        s += v
        q += v * v
    m = tl.sum(s, 0) / n
    tl.store(mean + r, m)
    tl.store(spread + r, tl.sum(q, 0) / n - m * m)


@triton.jit
def gelu_bias(x, bias, out, n, B: tl.constexpr):
    """GELU by tanh of x + bias, halves."""
    r = tl.program_id(0)
    c = tl.arange(0, B)
    v = tl.load(x + r * n + c, mask=c < n).to(tl.float32) + tl.load(bias + c, mask=c < n).to(tl.float32)
    t = 0.7978845608 * (v + 0.044715 * v * v * v)
    tl.store(out + r * n + c, v / (1 + tl.exp(-2 * t)), mask=c < n)


@triton.jit
def decayed_state(x, decay, out, steps, D: tl.constexpr):
    """A linear recurrence over time, one channel a lane: h = decay * h + x."""
    d = tl.program_id(0) * D + tl.arange(0, D)
    n = tl.num_programs(0) * D
    a = tl.load(decay + d)
    h = tl.zeros((D,), tl.float32)
    for t in range(steps):
        h = a * h + tl.load(x + t * n + d)
        tl.store(out + t * n + d, h)


@triton.jit
def window_attention(q, k, v, out, n, window, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    """Attention to the places before, at most a window back, halves; a head a program of the second axis."""
    h = tl.program_id(1) * n * D
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rd = tl.arange(0, D)
    a = tl.load(q + h + rm[:, None] * D + rd[None, :])
    top = tl.full((BM,), -1e30, tl.float32)
    total = tl.zeros((BM,), tl.float32)
    sum = tl.zeros((BM, D), tl.float32)
    start = tl.maximum(tl.program_id(0) * BM - window + 1, 0) // BN * BN
    for at in range(start, tl.program_id(0) * BM + BM, BN):
        rn = at + tl.arange(0, BN)
        s = tl.dot(a, tl.load(k + h + rn[None, :] * D + rd[:, None])) * 0.18033688
        behind = rm[:, None] - rn[None, :]
        s = tl.where((behind >= 0) & (behind < window), s, -1e30)
        m = tl.maximum(top, tl.max(s, 1))
        p = tl.exp2(s - m[:, None])
        scale = tl.exp2(top - m)
        total = total * scale + tl.sum(p, 1)
        sum = tl.dot(p.to(tl.float16), tl.load(v + h + rn[:, None] * D + rd[None, :]), acc=sum * scale[:, None])
        top = m
    tl.store(out + h + rm[:, None] * D + rd[None, :], (sum / total[:, None]).to(tl.float16))


@triton.jit
def norm_silu(x, weight, bias, out, channels, places, group, eps, B: tl.constexpr):
    """SiLU of the group norm of halves: a group of channels a program, in two passes."""
    at = tl.program_id(0) * group * places
    n = group * places
    s = tl.zeros((B,), tl.float32)
    q = tl.zeros((B,), tl.float32)
    for k in range(0, n, B):
        i = k + tl.arange(0, B)
        t = tl.load(x + at + i, mask=i < n, other=0.0).to(tl.float32)
        s += t
        q += t * t
    mean = tl.sum(s, 0) / n
    r = tl.rsqrt(tl.sum(q, 0) / n - mean * mean + eps)
    for k in range(0, n, B):
        i = k + tl.arange(0, B)
        c = (at + i) // places % channels
        t = tl.load(x + at + i, mask=i < n, other=0.0).to(tl.float32)
        y = (t - mean) * r * tl.load(weight + c, mask=i < n) + tl.load(bias + c, mask=i < n)
        tl.store(out + at + i, y / (1 + tl.exp(-y)), mask=i < n)


@triton.jit
def layer_norm_grad(dy, x, weight, mean, spread, dx, dw, db, rows, n, STEP: tl.constexpr, B: tl.constexpr):
    """Gradients of layer norm, halves; a program takes some rows and sums its part of the gradients of weight and bias."""
    p = tl.program_id(0)
    c = tl.arange(0, B)
    inside = c < n
    w = tl.load(weight + c, mask=inside, other=0.0).to(tl.float32)
    sw = tl.zeros((B,), tl.float32)
    sb = tl.zeros((B,), tl.float32)
    for k in range(STEP):
        r = p * STEP + k
        if r < rows:
            t = tl.load(x + r * n + c, mask=inside, other=0.0).to(tl.float32)
            g = tl.load(dy + r * n + c, mask=inside, other=0.0).to(tl.float32)
            rstd = tl.load(spread + r)
            h = tl.where(inside, (t - tl.load(mean + r)) * rstd, 0.0)
            wg = w * g
            a = tl.sum(h * wg, 0) / n
            b = tl.sum(wg, 0) / n
            tl.store(dx + r * n + c, ((wg - (h * a + b)) * rstd).to(tl.float16), mask=inside)
            sw += g * h
            sb += g
    tl.atomic_add(dw + c, sw, mask=inside)
    tl.atomic_add(db + c, sb, mask=inside)


@triton.jit
def rope_decode(q, k, v, cosines, sines, length, out, heads, most, scale, N: tl.constexpr, D: tl.constexpr):
    """One query a head, turned by its place, attends to a cache of keys (halves); a program a head."""
    h = tl.program_id(0)
    b = tl.program_id(1)
    n = tl.load(length + b)
    d = tl.arange(0, D // 2)
    at = (b * heads + h) * D
    c = tl.load(cosines + (n - 1) * (D // 2) + d)
    s = tl.load(sines + (n - 1) * (D // 2) + d)
    q1 = tl.load(q + at + d).to(tl.float32)
    q2 = tl.load(q + at + D // 2 + d).to(tl.float32)
    a = (q1 * c - q2 * s) * scale
    z = (q2 * c + q1 * s) * scale
    top = -1e30
    total = 0.0
    s1 = tl.zeros((D // 2,), tl.float32)
    s2 = tl.zeros((D // 2,), tl.float32)
    base = (b * heads + h) * most * D
    for start in range(0, n, N):
        r = start + tl.arange(0, N)
        m = (r < n)[:, None]
        p = base + r[:, None] * D + d[None, :]
        k1 = tl.load(k + p, mask=m, other=0.0).to(tl.float32)
        k2 = tl.load(k + p + D // 2, mask=m, other=0.0).to(tl.float32)
        e = tl.sum(k1 * a[None, :], 1) + tl.sum(k2 * z[None, :], 1)
        e = tl.where(r < n, e, -1e30)
        new = tl.maximum(top, tl.max(e, 0))
        w = tl.exp(e - new)
        old = tl.exp(top - new)
        total = total * old + tl.sum(w, 0)
        s1 = s1 * old + tl.sum(w[:, None] * tl.load(v + p, mask=m, other=0.0).to(tl.float32), 0)
        s2 = s2 * old + tl.sum(w[:, None] * tl.load(v + p + D // 2, mask=m, other=0.0).to(tl.float32), 0)
        top = new
    tl.store(out + at + d, (s1 / total).to(tl.float16))
    tl.store(out + at + D // 2 + d, (s2 / total).to(tl.float16))


@triton.jit
def nibble_product(a, b, scales, zeros, c, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Halves times nibbles, eight in a word along k, with a scale and a zero for 64 of k and a column."""
    rm = tl.program_id(1) * BM + tl.arange(0, BM)
    rn = tl.program_id(0) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    sum = tl.zeros((BM, BN), tl.float32)
    for at in range(0, k, BK):
        x = tl.load(a + rm[:, None] * k + at + rk[None, :])
        w = tl.load(b + (at + rk)[:, None] // 8 * n + rn[None, :])
        nib = (w >> ((at + rk)[:, None] % 8 * 4)) & 15
        s = tl.load(scales + at // 64 * n + rn)
        z = tl.load(zeros + at // 64 * n + rn)
        y = (nib.to(tl.float16) - z[None, :]) * s[None, :]
        sum = tl.dot(x, y, acc=sum)
    tl.store(c + rm[:, None] * n + rn[None, :], sum.to(tl.float16))


@triton.jit
def token_loss(logits, labels, loss, grad, n, smoothing, B: tl.constexpr):
    """Cross entropy with smoothing of long rows and its gradient, in three passes."""
    r = tl.program_id(0).to(tl.int64)
    y = tl.load(labels + r)
    c = tl.arange(0, B)
    if y < 0:
        for at in range(0, n, B):
            tl.store(grad + r * n + at + c, 0.0, mask=at + c < n)
        tl.store(loss + r, 0.0)
        return
    top = -1e30
    total = 0.0
    all = 0.0
    for at in range(0, n, B):
        t = tl.load(logits + r * n + at + c, mask=at + c < n, other=-1e30).to(tl.float32)
        new = tl.maximum(top, tl.max(t, 0))
        total = total * tl.exp(top - new) + tl.sum(tl.exp(t - new), 0)
        all += tl.sum(tl.where(at + c < n, t, 0.0), 0)
        top = new
    lse = top + tl.log(total)
    own = tl.load(logits + r * n + y).to(tl.float32)
    tl.store(loss + r, (1 - smoothing) * (lse - own) + smoothing * (lse - all / n))
    for at in range(0, n, B):
        t = tl.load(logits + r * n + at + c, mask=at + c < n, other=-1e30).to(tl.float32)
        g = tl.exp(t - lse) - smoothing / n - tl.where(at + c == y, 1 - smoothing, 0.0)
        tl.store(grad + r * n + at + c, g, mask=at + c < n)


@triton.jit
def causal_conv1d(x, weight, bias, out, steps, channels, T: tl.constexpr, C: tl.constexpr):
    """SiLU of a causal convolution of four places in each channel, halves, channels last."""
    t = tl.program_id(0) * T + tl.arange(0, T)
    c = tl.program_id(1) * C + tl.arange(0, C)
    b = tl.program_id(2) * steps
    y = tl.zeros((T, C), tl.float32) + tl.load(bias + c, mask=c < channels, other=0.0)[None, :].to(tl.float32)
    for k in tl.static_range(4):
        at = t - 3 + k
        m = (at >= 0)[:, None] & (at < steps)[:, None] & (c < channels)[None, :]
        v = tl.load(x + (b + at)[:, None] * channels + c[None, :], mask=m, other=0.0).to(tl.float32)
        y += v * tl.load(weight + c * 4 + k, mask=c < channels, other=0.0)[None, :].to(tl.float32)
    y = y / (1 + tl.exp(-y))
    tl.store(out + (b + t)[:, None] * channels + c[None, :], y, mask=(t < steps)[:, None] & (c < channels)[None, :])


@triton.jit
def chunk_scan(c, b, x, decay, before, out, steps, T: tl.constexpr, N: tl.constexpr, D: tl.constexpr):
    """A chunk of a state space with decays: what came before, and the chunk's own part by a masked product (halves)."""
    p = tl.program_id(0)
    r = tl.arange(0, T)
    s = tl.arange(0, N)
    d = tl.arange(0, D)
    a = tl.cumsum(tl.load(decay + p * T + r), 0)
    rows = tl.load(c + (p * T + r)[:, None] * N + s[None, :])
    cols = tl.load(b + (p * T + r)[None, :] * N + s[:, None])
    g = tl.dot(rows, cols)
    g = tl.where(r[:, None] >= r[None, :], g * tl.exp(a[:, None] - a[None, :]), 0.0)
    v = tl.load(x + (p * T + r)[:, None] * D + d[None, :])
    state = tl.load(before + p * N * D + s[:, None] * D + d[None, :])
    y = tl.dot(rows, state) * tl.exp(a)[:, None]
    y = tl.dot(g.to(tl.float16), v, acc=y)
    tl.store(out + (p * T + r)[:, None] * D + d[None, :], y.to(tl.float16))


@triton.jit
def block_sparse_product(blocks, first, column, x, out, n, K: tl.constexpr, BN: tl.constexpr):
    """Rows of blocks of halves, K by K, those that are there, times a matrix."""
    row = tl.program_id(0)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, K)
    sum = tl.zeros((K, BN), tl.float32)
    for j in range(tl.load(first + row), tl.load(first + row + 1)):
        at = tl.load(column + j)
        a = tl.load(blocks + j * K * K + k[:, None] * K + k[None, :])
        v = tl.load(x + (at * K + k)[:, None] * n + rn[None, :])
        sum = tl.dot(a, v, acc=sum)
    tl.store(out + (row * K + k)[:, None] * n + rn[None, :], sum)


@triton.jit
def group_to_fp8(x, out, scale, n, G: tl.constexpr, B: tl.constexpr):
    """SiLU of one half times the other, in groups scaled by their largest number, to bytes in e5m2."""
    r = tl.program_id(0)
    g = tl.program_id(1) * B + tl.arange(0, B)
    k = tl.arange(0, G)
    at = g[:, None] * G + k[None, :]
    m = at < n
    t = tl.load(x + r * 2 * n + at, mask=m, other=0.0).to(tl.float32)
    u = tl.load(x + r * 2 * n + n + at, mask=m, other=0.0).to(tl.float32)
    y = t / (1 + tl.exp(-t)) * u
    s = tl.maximum(tl.max(tl.abs(y), 1), 1e-10) / 57344.0
    q = (y / s[:, None]).to(tl.float8e5)
    tl.store(out + r * n + at, q.to(tl.int8, bitcast=True), mask=m)
    tl.store(scale + r * (n // G) + g, s, mask=g * G < n)


def write(directory: str, name: str, fn, types: list[str], constants: dict, sm: int, warps: int) -> None:
    """Compile a kernel and write its PTX; the first line holds the dynamic shared memory and the block's warps."""
    signature = dict(zip(fn.arg_names, [*types, *["constexpr"] * len(constants)], strict=True))
    attrs = {(j,): [["tt.divisibility", 16]] for j, t in enumerate(types) if t[0] == "*"}
    source = triton.compiler.ASTSource(fn, signature, constants, attrs)
    made = triton.compile(source, target=GPUTarget("cuda", sm, 32), options={"num_warps": warps})
    text = re.sub(r"(?ms)^\s*\.section.*", "", made.asm["ptx"])
    text = re.sub(r"[ \t]*//.*", "", text)
    text = "\n".join(s for s in text.splitlines() if s.strip() and not re.match(r"\s*(\.loc\b|\.file|\$L__tmp)", s))
    with open(f"{directory}/{name}.ptx", "w", encoding="utf-8") as out:
        out.write(f"// shared {made.metadata.shared}, warps {made.metadata.num_warps}\n{text}\n")
    print(name, made.metadata.shared, made.metadata.num_warps, made.metadata.global_scratch_size, len(text))


def compile_all(directory: str) -> None:
    """Write every kernel's PTX."""
    h, f, i, b = "*fp16", "*fp32", "i32", "*i8"
    write(directory, "swiglu", swiglu, [f, f, f, i], {"B": 256}, 80, 4)
    write(directory, "running_sum", running_sum, [f, f, i], {"B": 256}, 80, 4)
    write(directory, "counts", counts, ["*i32", "*i32", i], {"B": 256, "BINS": 64}, 80, 4)
    write(directory, "sorted_rows", sorted_rows, ["*i32", "*i32"], {"B": 128}, 80, 4)
    write(directory, "quantised_product", quantised_product, [b, b, f, f, i, i], {"BM": 64, "BN": 64, "BK": 64}, 80, 4)
    write(directory, "row_statistics", row_statistics, [f, f, f, i], {"B": 128}, 80, 4)
    write(directory, "gelu_bias", gelu_bias, [h, h, h, i], {"B": 256}, 80, 4)
    write(directory, "decayed_state", decayed_state, [f, f, f, i], {"D": 64}, 80, 2)
    sizes = {"BM": 64, "BN": 32, "D": 64}
    write(directory, "window_attention", window_attention, [h, h, h, h, i, i], sizes, 80, 4)
    write(directory, "norm_silu", norm_silu, [h, f, f, h, i, i, i, "fp32"], {"B": 512}, 80, 4)
    sizes = {"STEP": 3, "B": 512}
    write(directory, "layer_norm_grad", layer_norm_grad, [h, h, h, f, f, h, f, f, i, i], sizes, 80, 4)
    sizes = {"N": 32, "D": 64}
    write(directory, "rope_decode", rope_decode, [h, h, h, f, f, "*i32", h, i, i, "fp32"], sizes, 80, 4)
    sizes = {"BM": 32, "BN": 64, "BK": 64}
    write(directory, "nibble_product", nibble_product, [h, "*i32", h, h, h, i, i], sizes, 80, 4)
    write(directory, "token_loss", token_loss, [h, "*i64", f, f, i, "fp32"], {"B": 512}, 80, 4)
    write(directory, "causal_conv1d", causal_conv1d, [h, h, h, h, i, i], {"T": 16, "C": 64}, 80, 4)
    write(directory, "chunk_scan", chunk_scan, [h, h, h, f, h, h, i], {"T": 64, "N": 32, "D": 64}, 80, 4)
    sizes = {"K": 32, "BN": 64}
    write(directory, "block_sparse_product", block_sparse_product, [h, "*i32", "*i32", h, f, i], sizes, 80, 4)
    write(directory, "group_to_fp8", group_to_fp8, [h, b, f, i], {"G": 64, "B": 4}, 80, 4)


if __name__ == "__main__":
    compile_all(sys.argv[1])
