"""Triton kernels of the matrix tests for sm_90a: tensor copies, barrier objects, wgmma, warps of their own for the copies.

``python triton_hopper.py DIR`` compiles them to PTX (triton 3.6, without a GPU).
"""

import sys

import triton
import triton.language as tl
from triton_kernels import attention, attention_backward, attention_backward_q, grouped, write


@triton.jit
def product(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SUM: tl.constexpr):
    """One tile of C = A B^T; tensor maps from the host."""
    m = tl.program_id(0) * BM
    n = tl.program_id(1) * BN
    acc = tl.zeros((BM, BN), SUM)
    for k in range(0, K, BK):
        acc = tl.dot(a.load([m, k]), b.load([n, k]).T, acc, out_dtype=SUM)
    rm = m + tl.arange(0, BM)
    rn = n + tl.arange(0, BN)
    tl.store(c + rm[:, None] * N + rn[None, :], acc)


@triton.jit
def persistent(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, PROGRAMS: tl.constexpr):
    """All tiles of C = A B^T by a few programs; some warps copy, others multiply (setmaxnreg)."""
    columns = tl.cdiv(N, BN)
    for t in tl.range(tl.program_id(0), tl.cdiv(M, BM) * columns, PROGRAMS, warp_specialize=True):
        m = (t // columns) * BM
        n = (t % columns) * BN
        acc = tl.zeros((BM, BN), tl.float32)
        for k in range(0, K, BK):
            acc = tl.dot(a.load([m, k]), b.load([n, k]).T, acc)
        rm = m + tl.arange(0, BM)
        rn = n + tl.arange(0, BN)
        tl.store(c + rm[:, None] * N + rn[None, :], acc)


@triton.jit
def grouped_maps(a, b, c, sizes, N, K, G: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Groups of rows of A, each with its own B^T; tensor maps are made on the device (tensormap.replace)."""
    start = 0
    n = tl.program_id(0) * BN
    for g in range(G):
        rows = tl.load(sizes + g)
        da = tl.make_tensor_descriptor(a + start * K, [rows, K], [K, 1], [BM, BK])
        db = tl.make_tensor_descriptor(b + g * N * K, [N, K], [K, 1], [BN, BK])
        dc = tl.make_tensor_descriptor(c + start * N, [rows, N], [N, 1], [BM, BN])
        for m in range(0, rows, BM):
            acc = tl.zeros((BM, BN), tl.float32)
            for k in range(0, K, BK):
                acc = tl.dot(da.load([m, k]), db.load([n, k]).T, acc)
            dc.store([m, n], acc)
        start += rows


def main(directory: str) -> None:
    h, f, i = "*fp16", "*fp32", "i32"
    tile = {"BM": 64, "BN": 64, "BK": 64}

    def maps(type_: str, width: int) -> list[str]:
        return [f"tensordesc<{type_}[64, {width}]>"] * 2

    write(
        directory, "hopper_persistent_f16", persistent, [*maps("fp16", 64), f, i, i, i], {**tile, "PROGRAMS": 2}, 90, 4
    )
    write(directory, "hopper_bf16", product, [*maps("bf16", 64), f, i, i, i], {**tile, "SUM": tl.float32}, 90, 4)
    wide = {**tile, "BK": 128}
    write(directory, "hopper_fp8", product, [*maps("fp8e4nv", 128), f, i, i, i], {**wide, "SUM": tl.float32}, 90, 4)
    write(directory, "hopper_s8", product, [*maps("i8", 128), "*i32", i, i, i], {**wide, "SUM": tl.int32}, 90, 4)
    write(directory, "hopper_grouped_f16", grouped_maps, [h, h, f, "*i32", i, i], {"G": 2, **tile}, 90, 4)
    write(directory, "hopper_grouped_bf16", grouped, ["*bf16", "*bf16", f, "*i32", i, i], {**tile, "BK": 32}, 90, 4)
    att = {"D": 64, "BM": 64, "BN": 64}
    write(directory, "hopper_attention_f16", attention, [h, h, h, f, f, i, "fp32"], att, 90, 4)
    back = [h, h, h, h, f, f, f, f, i, "fp32"]
    write(directory, "hopper_attention_backward_f16", attention_backward, back, att, 90, 4)
    back = [h, h, h, h, f, f, f, i, "fp32"]
    write(directory, "hopper_attention_backward_q_f16", attention_backward_q, back, att, 90, 4)


if __name__ == "__main__":
    main(sys.argv[1])
