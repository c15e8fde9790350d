"""Triton kernels on numpy arrays, against numpy: a softmax, a product of matrices, random numbers."""

import numpy as np
import triton
import triton.language as tl


class Tensor:
    def __init__(self, array):
        self.array, self.dtype = array, array.dtype

    def data_ptr(self):
        return self.array.ctypes.data


@triton.jit
def softmax(out, x, stride, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * stride + tl.arange(0, BLOCK)
    inside = tl.arange(0, BLOCK) < n
    v = tl.load(x + at, mask=inside, other=-float("inf"))
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(out + at, e / tl.sum(e, axis=0), mask=inside)


@triton.jit
def product(a, b, c, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)[:, None]
    n = tl.program_id(1) * BN + tl.arange(0, BN)[None, :]
    total = tl.zeros((BM, BN), tl.float32)
    for i in range(0, K, BK):
        k = i + tl.arange(0, BK)
        total = tl.dot(tl.load(a + m * K + k[None, :]), tl.load(b + k[:, None] * N + n), total)
    tl.store(c + m * N + n, total)


@triton.jit
def kept(x, out, n, part, seed, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n)
    tl.store(out + i, tl.where(tl.rand(seed, i) > part, v / (1 - part), 0.0), mask=i < n)


rng = np.random.default_rng(0)
x = rng.standard_normal((16, 781), dtype=np.float32)
out = np.empty_like(x)
softmax[(16,)](Tensor(out), Tensor(x), 781, 781, BLOCK=1024)
e = np.exp(x - x.max(1, keepdims=True))
assert np.allclose(out, e / e.sum(1, keepdims=True), atol=1e-6)
print("softmax")

S = 256
a, b = (rng.standard_normal((S, S)).astype(np.float16) for _ in range(2))
c = np.empty((S, S), np.float32)
product[(S // 128, S // 128)](Tensor(a), Tensor(b), Tensor(c), S, S, BM=128, BN=128, BK=64)
assert np.allclose(c, a.astype(np.float32) @ b.astype(np.float32), atol=1e-2)
print("product")

x = np.ones(1000, np.float32)
out = np.empty_like(x)
kept[(4,)](Tensor(x), Tensor(out), 1000, 0.5, 123, BLOCK=256)
assert 400 < (out == 2).sum() < 600 and set(out) == {0, 2}
print("random")
