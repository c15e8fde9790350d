"""Triton kernels of the matrix tests: ``python triton_kernels.py DIR`` compiles them to PTX (triton 3.6, without a GPU)."""

import re
import sys

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget


@triton.jit
def matmul(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """C = A B, row-major, f32 result."""
    pid = tl.program_id(0)
    cols = tl.cdiv(N, BN)
    rm = (pid // cols) * BM + tl.arange(0, BM)
    rn = (pid % cols) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    pa = a + rm[:, None] * K + rk[None, :]
    pb = b + rk[:, None] * N + rn[None, :]
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        x = tl.load(pa, mask=rk[None, :] < K - k, other=0.0)
        y = tl.load(pb, mask=rk[:, None] < K - k, other=0.0)
        acc = tl.dot(x, y, acc)
        pa += BK
        pb += BK * N
    tl.store(c + rm[:, None] * N + rn[None, :], acc, mask=(rm[:, None] < M) & (rn[None, :] < N))


@triton.jit
def grouped(a, b, c, sizes, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Groups of rows of A, each with its own B; sizes: rows of every group."""
    g = tl.program_id(1)
    start = 0
    for i in range(g):
        start += tl.load(sizes + i)
    rows = tl.load(sizes + g)
    rn = tl.program_id(0) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    for r in range(0, rows, BM):
        rm = r + tl.arange(0, BM)
        acc = tl.zeros((BM, BN), tl.float32)
        for k in range(0, K, BK):
            x = tl.load(a + (start + rm[:, None]) * K + k + rk[None, :], mask=rm[:, None] < rows, other=0.0)
            y = tl.load(b + g * K * N + (k + rk[:, None]) * N + rn[None, :])
            acc = tl.dot(x, y, acc)
        tl.store(c + (start + rm[:, None]) * N + rn[None, :], acc, mask=rm[:, None] < rows)


@triton.jit
def attention(q, k, v, o, lse, L, scale, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    """Causal attention of one head a program_id(1), online softmax."""
    head = tl.program_id(1) * L * D
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rd = tl.arange(0, D)
    x = tl.load(q + head + rm[:, None] * D + rd[None, :])
    top = tl.full((BM,), float("-inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    for n in range(0, (tl.program_id(0) + 1) * BM, BN):
        rn = n + tl.arange(0, BN)
        y = tl.load(k + head + rn[None, :] * D + rd[:, None])
        s = tl.dot(x, y) * scale
        s = tl.where(rm[:, None] >= rn[None, :], s, float("-inf"))
        new = tl.maximum(top, tl.max(s, 1))
        p = tl.exp2(s - new[:, None])
        fade = tl.exp2(top - new)
        total = total * fade + tl.sum(p, 1)
        acc = acc * fade[:, None]
        z = tl.load(v + head + rn[:, None] * D + rd[None, :])
        acc = tl.dot(p.to(z.dtype), z, acc)
        top = new
    tl.store(o + head + rm[:, None] * D + rd[None, :], acc / total[:, None])
    tl.store(lse + tl.program_id(1) * L + rm, top + tl.log2(total))


@triton.jit
def attention_backward(q, k, v, do, lse, delta, dk, dv, L, scale, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    """dK and dV of one block of keys."""
    head = tl.program_id(1) * L * D
    rn = tl.program_id(0) * BN + tl.arange(0, BN)
    rd = tl.arange(0, D)
    x = tl.load(k + head + rn[:, None] * D + rd[None, :])
    z = tl.load(v + head + rn[:, None] * D + rd[None, :])
    gk = tl.zeros((BN, D), tl.float32)
    gv = tl.zeros((BN, D), tl.float32)
    for m in range(0, L, BM):
        rm = m + tl.arange(0, BM)
        y = tl.load(q + head + rm[:, None] * D + rd[None, :])
        top = tl.load(lse + tl.program_id(1) * L + rm)
        g = tl.load(do + head + rm[:, None] * D + rd[None, :])
        s = tl.dot(x, tl.trans(y)) * scale
        p = tl.exp2(s - top[None, :])
        p = tl.where(rm[None, :] >= rn[:, None], p, 0.0)
        gv = tl.dot(p.to(g.dtype), g, gv)
        dp = tl.dot(z, tl.trans(g))
        ds = p * (dp - tl.load(delta + tl.program_id(1) * L + rm)[None, :])
        gk = tl.dot(ds.to(y.dtype), y, gk)
    tl.store(dk + head + rn[:, None] * D + rd[None, :], gk)
    tl.store(dv + head + rn[:, None] * D + rd[None, :], gv)


@triton.jit
def attention_backward_q(q, k, v, do, lse, delta, dq, L, scale, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    """dQ of one block of queries (without the factor 1 / sqrt D)."""
    head = tl.program_id(1) * L * D
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rd = tl.arange(0, D)
    x = tl.load(q + head + rm[:, None] * D + rd[None, :])
    g = tl.load(do + head + rm[:, None] * D + rd[None, :])
    top = tl.load(lse + tl.program_id(1) * L + rm)
    d = tl.load(delta + tl.program_id(1) * L + rm)
    gq = tl.zeros((BM, D), tl.float32)
    for n in range(0, (tl.program_id(0) + 1) * BM, BN):
        rn = n + tl.arange(0, BN)
        y = tl.load(k + head + rn[:, None] * D + rd[None, :])
        z = tl.load(v + head + rn[:, None] * D + rd[None, :])
        s = tl.dot(x, tl.trans(y)) * scale
        p = tl.exp2(s - top[:, None])
        p = tl.where(rm[:, None] >= rn[None, :], p, 0.0)
        dp = tl.dot(g, tl.trans(z))
        ds = p * (dp - d[:, None])
        gq = tl.dot(ds.to(y.dtype), y, gq)
    tl.store(dq + head + rm[:, None] * D + rd[None, :], gq)


@triton.jit
def softmax(x, y, n, B: tl.constexpr):
    """Rows."""
    r = tl.program_id(0)
    c = tl.arange(0, B)
    v = tl.load(x + r * n + c, mask=c < n, other=float("-inf"))
    e = tl.exp(v - tl.max(v, 0))
    tl.store(y + r * n + c, e / tl.sum(e, 0), mask=c < n)


@triton.jit
def layer_norm(x, y, w, b, n, eps, B: tl.constexpr):
    """Rows."""
    r = tl.program_id(0)
    c = tl.arange(0, B)
    v = tl.load(x + r * n + c, mask=c < n, other=0.0).to(tl.float32)
    mean = tl.sum(v, 0) / n
    d = tl.where(c < n, v - mean, 0.0)
    inv = 1 / tl.sqrt(tl.sum(d * d, 0) / n + eps)
    out = d * inv * tl.load(w + c, mask=c < n) + tl.load(b + c, mask=c < n)
    tl.store(y + r * n + c, out, mask=c < n)


def write(directory: str, name: str, fn, types: list[str], constants: dict, sm: int, warps: int) -> None:
    """Compile a kernel and write its PTX; the first line holds the dynamic shared memory and the block's warps."""
    signature = dict(zip(fn.arg_names, [*types, *["constexpr"] * len(constants)], strict=True))
    attrs = {(j,): [["tt.divisibility", 16]] for j, t in enumerate(types) if t[0] == "*" or t == "i32"}
    source = triton.compiler.ASTSource(fn, signature, constants, attrs)
    options = {"num_warps": warps, "num_stages": 3 if sm >= 80 else 1}
    made = triton.compile(source, target=GPUTarget("cuda", sm, 32), options=options)
    facts = made.metadata
    text = re.sub(r"(?ms)^\s*\.section.*", "", made.asm["ptx"])
    text = re.sub(r"[ \t]*//.*", "", text)
    text = "\n".join(s for s in text.splitlines() if s.strip() and not re.match(r"\s*(\.loc\b|\.file|\$L__tmp)", s))
    with open(f"{directory}/{name}.ptx", "w", encoding="utf-8") as out:
        out.write(f"// shared {facts.shared}, warps {facts.num_warps}, scratch {facts.global_scratch_size}\n{text}\n")
    print(name, facts.shared, facts.num_warps, facts.global_scratch_size, len(text))


def compile_all(directory: str) -> None:
    """Write every kernel's PTX."""
    h, f, i = "*fp16", "*fp32", "i32"
    big = {"BM": 64, "BN": 64, "BK": 32}
    att = {"D": 32, "BM": 32, "BN": 32}
    back = [h, h, h, h, f, f, f]
    write(directory, "matmul_f16", matmul, [h, h, f, i, i, i], big, 80, 4)
    write(directory, "matmul_bf16", matmul, ["*bf16", "*bf16", f, i, i, i], big, 80, 4)
    write(directory, "matmul_tf32", matmul, [f, f, f, i, i, i], big, 80, 4)
    fp8 = "*fp8e4nv"
    write(directory, "matmul_fp8", matmul, [fp8, fp8, f, i, i, i], {"BM": 64, "BN": 64, "BK": 64}, 89, 4)
    write(directory, "grouped_bf16", grouped, ["*bf16", "*bf16", f, "*i32", i, i], big, 80, 4)
    write(directory, "attention_f16", attention, [h, h, h, f, f, i, "fp32"], att, 80, 4)
    write(directory, "attention_backward_f16", attention_backward, [*back, f, i, "fp32"], att, 80, 4)
    write(directory, "attention_backward_q_f16", attention_backward_q, [*back, i, "fp32"], att, 80, 4)
    write(directory, "softmax_f32", softmax, [f, f, i], {"B": 256}, 75, 4)
    write(directory, "layer_norm_f16", layer_norm, [h, h, f, f, i, "fp32"], {"B": 256}, 75, 4)


if __name__ == "__main__":
    compile_all(sys.argv[1])
