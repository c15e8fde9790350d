"""A softmax (1823 rows of 781 values) or a product (512 cubed, f16) in Triton without torch, and how long it took.

``orias exec -- python tools/clients/triton_times.py softmax|product``: prints whether the result is numpy's, and the seconds of
processor time and of the clock since Python started, child processes (the assembler) included.
"""

import os
import sys
import time

import numpy as np
import triton
import triton.language as tl


class Tensor:
    """What Triton asks of an argument: a pointer and a type."""

    def __init__(self, array):
        self.array = array
        self.dtype = array.dtype

    def data_ptr(self):
        return self.array.ctypes.data


@triton.jit
def softmax_rows(out, x, stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + row * stride + i, mask=i < columns, other=-float("inf"))
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(out + row * stride + i, e / tl.sum(e, axis=0), mask=i < columns)


@triton.jit
def product_tiles(a, b, c, N, K, M_TILE: tl.constexpr, N_TILE: tl.constexpr, K_TILE: tl.constexpr):
    m = tl.program_id(0) * M_TILE + tl.arange(0, M_TILE)
    n = tl.program_id(1) * N_TILE + tl.arange(0, N_TILE)
    k = tl.arange(0, K_TILE)
    total = tl.zeros((M_TILE, N_TILE), dtype=tl.float32)
    for at in range(0, K, K_TILE):
        left = tl.load(a + m[:, None] * K + at + k[None, :])
        right = tl.load(b + (at + k)[:, None] * N + n[None, :])
        total = tl.dot(left, right, total)
    tl.store(c + m[:, None] * N + n[None, :], total.to(tl.float16))


def softmax():
    x = np.random.default_rng(0).standard_normal((1823, 781), np.float32)
    out = np.empty_like(x)
    softmax_rows[(1823,)](Tensor(out), Tensor(x), 781, 781, BLOCK=1024)
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return np.allclose(out, e / e.sum(axis=1, keepdims=True), rtol=1e-5, atol=1e-7)


def product():
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((512, 512)).astype(np.float16) for _ in range(2))
    c = np.empty_like(a)
    product_tiles[(4, 4)](Tensor(a), Tensor(b), Tensor(c), 512, 512, M_TILE=128, N_TILE=128, K_TILE=32)
    return np.allclose(c.astype("f4"), a.astype("f4") @ b.astype("f4"), rtol=2e-3, atol=2e-2)


right = {"softmax": softmax, "product": product}[sys.argv[1]]()
t = os.times()
with open("/proc/self/stat", encoding="ascii") as f:
    started = int(f.read().rsplit(")", 1)[1].split()[19]) / os.sysconf("SC_CLK_TCK")
wall = time.clock_gettime(time.CLOCK_BOOTTIME) - started
print(
    f"{sys.argv[1]}: {'right' if right else 'WRONG'}, {t.user + t.system:.1f} s of processor here, "
    f"{t.children_user + t.children_system:.1f} s in children, {wall:.1f} s by the clock"
)
