"""Triton kernels of the further cases: ``python further_triton.py DIR`` compiles them to PTX (triton 3.9, without a GPU)."""

import sys

import triton
import triton.language as tl
from varied_triton import write


@triton.jit
def geglu_grad(dy, a, b, da, db, n, B: tl.constexpr):
    """Gradients of GELU (by tanh) of one half times the other, halves, a row a program."""
    r = tl.program_id(0).to(tl.int64) * n
    c = tl.arange(0, B)
    inside = c < n
    g = tl.load(dy + r + c, mask=inside, other=0.0).to(tl.float32)
    x = tl.load(a + r + c, mask=inside, other=0.0).to(tl.float32)
    y = tl.load(b + r + c, mask=inside, other=0.0).to(tl.float32)
    t = 1 - 2 / (1 + tl.exp(2 * 0.7978845608 * (x + 0.044715 * x * x * x)))
    half = 0.5 * (1 + t)
    slope = half + 0.5 * x * (1 - t * t) * 0.7978845608 * (1 + 3 * 0.044715 * x * x)
    tl.store(db + r + c, (g * x * half).to(tl.float16), mask=inside)
    tl.store(da + r + c, (g * y * slope).to(tl.float16), mask=inside)


@triton.jit
def rms_norm_grad(dy, x, w, rstd, dx, dw, rows, n, per, B: tl.constexpr):
    """Gradients of RMS norm: rows of a program one after the other, its part of the gradient of the weights in registers."""
    p = tl.program_id(0)
    c = tl.arange(0, B)
    inside = c < n
    weight = tl.load(w + c, mask=inside, other=0.0).to(tl.float32)
    sum = tl.zeros((B,), tl.float32)
    for r in range(p * per, tl.minimum((p + 1) * per, rows)):
        g = tl.load(dy + r * n + c, mask=inside, other=0.0).to(tl.float32)
        v = tl.load(x + r * n + c, mask=inside, other=0.0).to(tl.float32)
        s = tl.load(rstd + r)
        m = g * weight
        k = -(1 / n) * s * s * tl.sum(m * v, 0)
        tl.store(dx + r * n + c, (s * (m + k * v)).to(tl.float16), mask=inside)
        sum += g * (v * s)
    tl.store(dw + p * n + c, sum, mask=inside)


@triton.jit
def divergence(x, y, labels, loss, grad, n, beta, B: tl.constexpr):
    """Generalised divergence of Jensen and Shannon of logarithms of probabilities, with gradient; rows without a label are zero."""
    r = tl.program_id(0).to(tl.int64)
    if tl.load(labels + r) < 0:
        for at in range(0, n, B):
            c = at + tl.arange(0, B)
            tl.store(grad + r * n + c, 0.0, mask=c < n)
        return
    for at in range(0, n, B):
        c = at + tl.arange(0, B)
        a = tl.load(x + r * n + c, mask=c < n, other=-1e30).to(tl.float32)
        b = tl.load(y + r * n + c, mask=c < n, other=-1e30).to(tl.float32)
        q = tl.exp(a)
        p = tl.exp(b)
        m = beta * p + (1 - beta) * q
        lm = tl.log(m)
        tl.store(loss + r * n + c, beta * p * (b - lm) + (1 - beta) * q * (a - lm), mask=c < n)
        tl.store(grad + r * n + c, (1 - beta) * q * (a - lm), mask=c < n)


@triton.jit
def delta_rule(q, k, v, beta, out, steps, D: tl.constexpr, V: tl.constexpr, E: tl.constexpr):
    """A state that each step corrects towards a value at a key, and reads at a query; some columns of the values a program."""
    h = tl.program_id(1)
    d = tl.arange(0, D)
    e = tl.program_id(0) * V + tl.arange(0, V)
    state = tl.zeros((V, D), tl.float32)
    for t in range(steps):
        at = h * steps + t
        key = tl.load(k + at * D + d)
        value = tl.load(v + at * E + e)
        b = tl.load(beta + at)
        value = (value - tl.sum(state * key[None, :], 1)) * b
        state += value[:, None] * key[None, :]
        query = tl.load(q + at * D + d)
        tl.store(out + at * E + e, tl.sum(state * query[None, :], 1))


@triton.jit
def expert_product(
    a, b, c, ids, experts, weights, valid, n, k, top, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    """Rows of halves taken by expert times that expert's matrix, scaled by the router's weights."""
    rows = tl.load(ids + tl.program_id(0) * BM + tl.arange(0, BM))
    inside = rows < valid
    expert = tl.load(experts + tl.program_id(0))
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    pa = a + (rows // top)[:, None] * k + rk[None, :]
    pb = b + expert * n * k + rn[None, :] * k + rk[:, None]
    sum = tl.zeros((BM, BN), tl.float32)
    for _ in range(0, k, BK):
        x = tl.load(pa, mask=inside[:, None], other=0.0)
        sum = tl.dot(x, tl.load(pb), acc=sum)
        pa += BK
        pb += BK
    w = tl.load(weights + rows, mask=inside, other=0.0)
    tl.store(c + rows[:, None] * n + rn[None, :], (sum * w[:, None]).to(tl.float16), mask=inside[:, None])


@triton.jit
def split_combine(parts, lse, out, heads, splits, S: tl.constexpr, D: tl.constexpr):
    """Attention of parts of a cache made one by their logarithms of sums."""
    p = tl.program_id(0) * heads + tl.program_id(1)
    s = tl.arange(0, S)
    d = tl.arange(0, D)
    sums = tl.load(lse + p * splits + s, mask=s < splits, other=-1e30)
    w = tl.exp(sums - tl.max(sums, 0))
    w = w / tl.sum(w, 0)
    x = tl.load(parts + (p * splits + s)[:, None] * D + d[None, :], mask=(s < splits)[:, None], other=0.0)
    tl.store(out + p * D + d, tl.sum(x * w[:, None], 0).to(tl.float16))


@triton.jit
def route_tokens(x, weight, expert, n, E: tl.constexpr, K: tl.constexpr, T: tl.constexpr):
    """Softmax over experts, then the K largest a token, one after the other, with weights that add up to one."""
    t = tl.program_id(0) * T + tl.arange(0, T)
    e = tl.arange(0, E)
    v = tl.load(x + t[:, None] * E + e[None, :], mask=(t < n)[:, None], other=0.0).to(tl.float32)
    v = tl.exp(v - tl.max(v, 1)[:, None])
    p = v / tl.sum(v, 1)[:, None]
    rest = p
    total = tl.zeros((T,), tl.float32)
    for j in tl.static_range(K):
        i = tl.argmax(rest, 1)
        total += tl.max(rest, 1)
        tl.store(expert + t * K + j, i, mask=t < n)
        rest = tl.where(e[None, :] == i[:, None], -1.0, rest)
    w = tl.where(rest < 0, p / total[:, None], 0.0)
    tl.store(weight + t[:, None] * E + e[None, :], w, mask=(t < n)[:, None])


def compile_all(directory: str) -> None:
    """Write every kernel's PTX."""
    h, f, i, s = "*fp16", "*fp32", "i32", "*i32"
    write(directory, "geglu_grad", geglu_grad, [h, h, h, h, h, i], {"B": 1024}, 80, 4)
    write(directory, "rms_norm_grad", rms_norm_grad, [h, h, h, f, h, f, i, i, i], {"B": 1024}, 80, 4)
    write(directory, "divergence", divergence, [h, h, s, f, f, i, "fp32"], {"B": 512}, 80, 4)
    write(directory, "delta_rule", delta_rule, [f, f, f, f, f, i], {"D": 64, "V": 8, "E": 32}, 80, 1)
    sizes = {"BM": 16, "BN": 64, "BK": 64}
    write(directory, "expert_product", expert_product, [h, h, h, s, s, f, i, i, i, i], sizes, 80, 4)
    write(directory, "split_combine", split_combine, [f, f, h, i, i], {"S": 16, "D": 128}, 80, 4)
    write(directory, "route_tokens", route_tokens, [h, f, s, i], {"E": 32, "K": 4, "T": 16}, 80, 4)


if __name__ == "__main__":
    compile_all(sys.argv[1])
