"""Triton kernels of the client tests: ``python triton_kernels.py DIR SM...`` compiles them to PTX with the Triton of that Python (no GPU).

The matrix, attention and norm kernels are those of ``tests/kernels/matrix``; the rest is here.  A kernel that Triton itself refuses for a
target is named in ``DIR/SM/refused``.
"""

import os
import sys
from pathlib import Path

import triton
import triton.language as tl

HERE = Path(__file__).parent
sys.path[0] = str(HERE.parent / "kernels" / "matrix")
import triton_hopper as maps  # noqa: E402
import triton_kernels as plain  # noqa: E402


@triton.jit
def rows_reduced(x, sums, tops, places, B: tl.constexpr, N: tl.constexpr):
    """Sum, maximum and its place of every row."""
    r = tl.arange(0, B)
    v = tl.load(x + r[:, None] * N + tl.arange(0, N)[None, :])
    tl.store(sums + r, tl.sum(v, 1))
    tl.store(tops + r, tl.max(v, 1))
    tl.store(places + r, tl.argmax(v, 1))


@triton.jit
def _decay(a, b, c, d):
    return a * c, c * b + d


@triton.jit
def scanned(x, w, sums, state, B: tl.constexpr, N: tl.constexpr):
    """Running sums, and a linear recurrence as an associative scan."""
    at = tl.program_id(0) * B * N + tl.arange(0, B)[:, None] * N + tl.arange(0, N)[None, :]
    v = tl.load(x + at)
    tl.store(sums + at, tl.cumsum(v, 1))
    tl.store(state + at, tl.associative_scan((tl.load(w + at), v.to(tl.float32)), 1, _decay)[1])


@triton.jit
def counted(x, bins, total, n, B: tl.constexpr, BINS: tl.constexpr):
    """A histogram of every program, added up by atomics; a float sum by atomics."""
    at = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + at, mask=at < n, other=0)
    tl.atomic_add(bins + tl.arange(0, BINS), tl.histogram(v, BINS))
    tl.atomic_add(total, tl.sum(v.to(tl.float32), 0))
    tl.atomic_max(total + 1 + (at & 1), v.to(tl.float32), mask=at < n)


@triton.jit
def locked(lock, value, B: tl.constexpr):
    """A read, a change and a write under a spin lock."""
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    at = tl.arange(0, B)
    tl.store(value + at, tl.load(value + at) * 3 + 1)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


@triton.jit
def sorted_rows(x, y, B: tl.constexpr, N: tl.constexpr):
    """Rows in order."""
    at = tl.arange(0, B)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(y + at, tl.sort(tl.load(x + at)))


@triton.jit
def dropout(x, y, random, n, seed, B: tl.constexpr):
    """Half of the values, chosen by Philox; the random words too."""
    at = tl.program_id(0) * B + tl.arange(0, B)
    keep = tl.randint(seed, at).to(tl.int32, bitcast=True)
    tl.store(random + at, keep, mask=at < n)
    tl.store(y + at, tl.where(keep > 0, tl.load(x + at, mask=at < n) * 2, 0.0), mask=at < n)


@triton.jit
def transposed(x, y, M: tl.constexpr, N: tl.constexpr):
    """A transposed tile by way of shared memory, as f16."""
    v = tl.load(x + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])
    tl.store(y + tl.arange(0, N)[:, None] * M + tl.arange(0, M)[None, :], tl.trans(v).to(tl.float16))


@triton.jit
def special(x, y, n, B: tl.constexpr):
    """Functions of the special-function unit and division."""
    at = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + at, mask=at < n, other=1.0)
    out = tl.exp(v) + tl.log(tl.abs(v) + 1) * tl.sin(v) + tl.sqrt(tl.abs(v)) / (1 + tl.exp(-v)) + tl.erf(v)
    tl.store(y + at, out, mask=at < n)


@triton.jit
def scaled(a, sa, b, sb, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, KIND: tl.constexpr, PACK: tl.constexpr):
    """C = A B^T of small floats with a scale for 32 values."""
    rm = tl.arange(0, M)
    rn = tl.arange(0, N)
    rk = tl.arange(0, K // PACK)
    rs = tl.arange(0, K // 32)
    x = tl.load(a + rm[:, None] * (K // PACK) + rk[None, :])
    y = tl.load(b + rn[None, :] * (K // PACK) + rk[:, None])
    u = tl.load(sa + rm[:, None] * (K // 32) + rs[None, :])
    v = tl.load(sb + rn[:, None] * (K // 32) + rs[None, :])
    acc = tl.dot_scaled(x, u, KIND, y, v, KIND)
    tl.store(c + rm[:, None] * N + rn[None, :], acc)


@triton.jit
def specialised(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """A tile of C = A B^T; some warps copy, another multiplies."""
    m = tl.program_id(0) * BM
    n = tl.program_id(1) * BN
    acc = tl.zeros((BM, BN), tl.float32)
    for k in tl.range(0, K, BK, warp_specialize=True):
        acc = tl.dot(a.load([m, k]), b.load([n, k]).T, acc)
    tl.store(c + (m + tl.arange(0, BM))[:, None] * N + (n + tl.arange(0, BN))[None, :], acc)


def compile_all(directory: Path, sm: int) -> None:
    """Write every kernel's PTX for an SM."""
    directory.mkdir(parents=True, exist_ok=True)
    refused = []

    def write(name: str, fn, types: list[str], constants: dict, warps: int = 4) -> None:
        try:
            plain.write(str(directory), name, fn, types, constants, sm, warps)
        except Exception as e:  # what Triton or the assembler below it says
            refused.append(f"{name}: {type(e).__name__} {' '.join(str(e).split())[:300]}")

    h, f, i = "*fp16", "*fp32", "i32"
    tile = {"BM": 64, "BN": 64, "BK": 64}
    att = {"D": 64, "BM": 64, "BN": 64}
    back = [h, h, h, h, f, f, f]
    write("matmul_f16", plain.matmul, [h, h, f, i, i, i], tile)
    write("matmul_bf16", plain.matmul, ["*bf16", "*bf16", f, i, i, i], tile)
    write("matmul_tf32", plain.matmul, [f, f, f, i, i, i], {**tile, "BK": 32})
    write("matmul_fp8", plain.matmul, ["*fp8e4nv", "*fp8e4nv", f, i, i, i], tile)
    write("grouped_bf16", plain.grouped, ["*bf16", "*bf16", f, "*i32", i, i], {**tile, "BK": 32})
    write("hopper_attention_f16", plain.attention, [h, h, h, f, f, i, "fp32"], att)
    write("hopper_attention_backward_f16", plain.attention_backward, [*back, f, i, "fp32"], att)
    write("softmax_f32", plain.softmax, [f, f, i], {"B": 256})
    write("layer_norm_f16", plain.layer_norm, [h, h, f, f, i, "fp32"], {"B": 256})
    host = ["tensordesc<fp16[64, 64]>"] * 2
    write("hopper_persistent_f16", maps.persistent, [*host, f, i, i, i], {**tile, "PROGRAMS": 2})
    host = ["tensordesc<fp16[128, 64]>"] * 2
    write("specialised", specialised, [*host, f, i, i, i], {"BM": 128, "BN": 128, "BK": 64})
    host = ["tensordesc<fp8e4nv[64, 128]>"] * 2
    write("hopper_fp8", maps.product, [*host, f, i, i, i], {**tile, "BK": 128, "SUM": tl.float32})
    write("hopper_grouped_f16", maps.grouped_maps, [h, h, f, "*i32", i, i], {"G": 2, **tile})
    write("rows_reduced", rows_reduced, [f, f, f, "*i32"], {"B": 16, "N": 128})
    write("scanned", scanned, ["*i32", f, "*i32", f], {"B": 8, "N": 64})
    write("counted", counted, ["*i32", "*i32", f, i], {"B": 256, "BINS": 64})
    write("locked", locked, ["*i32", "*i32"], {"B": 128})
    write("sorted_rows", sorted_rows, ["*i32", "*i32"], {"B": 4, "N": 64})
    write("dropout", dropout, [f, f, "*i32", i, i], {"B": 128})
    write("transposed", transposed, [f, h], {"M": 32, "N": 64})
    write("special", special, [f, f, i], {"B": 128})
    flat = ["*u8", "*u8", "*u8", "*u8", f]
    size = {"M": 128, "N": 64, "K": 128}
    write("scaled_e4m3", scaled, ["*fp8e4nv", "*u8", "*fp8e4nv", "*u8", f], {**size, "KIND": "e4m3", "PACK": 1})
    write("scaled_e2m1", scaled, flat, {**size, "KIND": "e2m1", "PACK": 2})
    (directory / "refused").write_text("".join(x + "\n" for x in refused))


if __name__ == "__main__":
    os.environ.setdefault("TRITON_CACHE_DIR", sys.argv[1] + "/cache")
    print("triton", triton.__version__)
    for number in sys.argv[2:]:
        compile_all(Path(sys.argv[1]) / number, int(number))
