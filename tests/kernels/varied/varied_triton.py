"""Triton kernels of the varied cases: ``python varied_triton.py DIR`` compiles them to PTX (triton 3.6, the last two by 3.9, without a GPU)."""

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


if __name__ == "__main__":
    compile_all(sys.argv[1])
