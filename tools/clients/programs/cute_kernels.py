"""CUTLASS's Python DSL: a sum over rows by shuffles, a product in shared memory and one of tensor cores, beside numpy's results.

Run it with ``orias exec -- python tools/clients/cute_dsl.py tools/clients/programs/cute_kernels.py``.
"""

import cutlass
import cutlass.cute as cute
import numpy as np
from cutlass.cute.nvgpu import warp
from cutlass.cute.runtime import from_dlpack

WARP = 32
TILE = 16


@cute.kernel
def sum_rows(x: cute.Tensor, out: cute.Tensor):
    lane, _, _ = cute.arch.thread_idx()
    row, _, _ = cute.arch.block_idx()
    total = cutlass.Float32(0)
    i = lane
    while i < x.shape[1]:
        total += cute.math.exp(x[row, i])
        i += WARP
    for step in cutlass.range_constexpr(5):
        total += cute.arch.shuffle_sync_bfly(total, offset=1 << step)
    if lane == 0:
        out[row] = cute.math.log(total)


@cute.kernel
def multiply(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    tx, ty, _ = cute.arch.thread_idx()
    bx, by, _ = cute.arch.block_idx()
    memory = cutlass.memory.SmemAllocator()
    left = memory.allocate_tensor(cutlass.Float32, cute.make_layout((TILE, TILE), stride=(TILE + 1, 1)), 16)
    right = memory.allocate_tensor(cutlass.Float32, cute.make_layout((TILE, TILE), stride=(TILE + 1, 1)), 16)
    row, column = by * TILE + ty, bx * TILE + tx
    total = cutlass.Float32(0)
    for k in range(a.shape[1] // TILE):
        left[ty, tx] = a[row, k * TILE + tx]
        right[ty, tx] = b[k * TILE + ty, column]
        cute.arch.barrier()
        for j in cutlass.range_constexpr(TILE):
            total += left[ty, j] * right[j, tx]
        cute.arch.barrier()
    c[row, column] = total


@cute.kernel
def tensor_cores(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor, tiled: cute.TiledMma):
    lane, _, _ = cute.arch.thread_idx()
    mine = tiled.get_slice(lane)
    left, right, result = mine.partition_A(a), mine.partition_B(b), mine.partition_C(c)
    x, y, total = (tiled.make_fragment_A(left), tiled.make_fragment_B(right), tiled.make_fragment_C(result))
    cute.autovec_copy(left, x)
    cute.autovec_copy(right, y)
    total.fill(0.0)
    cute.gemm(tiled, total, x, y, total)
    cute.autovec_copy(total, result)


@cute.jit
def run(x: cute.Tensor, sums: cute.Tensor, a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    sum_rows(x, sums).launch(grid=(x.shape[0], 1, 1), block=(WARP, 1, 1))
    multiply(a, b, c).launch(grid=(c.shape[1] // TILE, c.shape[0] // TILE, 1), block=(TILE, TILE, 1))


@cute.jit
def run_tensor_cores(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    tiled = cute.make_tiled_mma(warp.MmaF16BF16Op(cutlass.Float16, cutlass.Float32, (16, 8, 16)))
    tensor_cores(a, b, c, tiled).launch(grid=(1, 1, 1), block=(WARP, 1, 1))


random = np.random.default_rng(0)
x, sums = random.random((7, 100), np.float32), np.zeros(7, np.float32)
a, b, c = random.random((48, 32), np.float32), random.random((32, 64), np.float32), np.zeros((48, 64), np.float32)
run(*map(from_dlpack, (x, sums, a, b, c)))
assert np.allclose(sums, np.log(np.exp(x).sum(1)), atol=1e-5)
assert np.allclose(c, a @ b, atol=1e-4)

h, g, p = (
    random.random((64, 32)).astype(np.float16),
    random.random((32, 32)).astype(np.float16),
    np.zeros((64, 32), np.float32),
)
run_tensor_cores(*map(from_dlpack, (h, g, p)))
assert np.allclose(p, h.astype(np.float32) @ g.T.astype(np.float32), atol=1e-3)
print("right")
