"""Arguments of Triton's kernels (``triton_kernels.py``) and their results, computed on the host."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.device import Map
from tests.kernels.matrix import cases as matrix
from tests.kernels.matrix.cases import Launch, random_matrix

_SCRATCH = [np.uint64(0), np.uint64(0)]
Array = np.ndarray[Any, Any]


def _rows_reduced() -> Launch:
    r = np.random.default_rng(20)
    x = r.standard_normal((16, 128)).astype(np.float32)
    sums, tops, places = np.zeros(16, np.float32), np.zeros(16, np.float32), np.zeros(16, np.int32)
    wants = [(1, x.astype(np.float64).sum(1), 1e-5), (2, x.max(1), 0.0), (3, x.argmax(1), 0.0)]
    return Launch((1,), 128, [x, sums, tops, places, *_SCRATCH], wants)


def _scanned() -> Launch:
    r = np.random.default_rng(21)
    x = r.integers(-1000, 1000, (16, 64)).astype(np.int32)
    w = r.uniform(0.5, 1, x.shape).astype(np.float32)
    state = np.zeros(x.shape)
    last = np.zeros(16)
    for k in range(64):
        last = w[:, k].astype(np.float64) * last + x[:, k]
        state[:, k] = last
    outs = [np.zeros(x.shape, np.int32), np.zeros(x.shape, np.float32)]
    return Launch((2,), 128, [x, w, *outs, *_SCRATCH], [(2, np.cumsum(x, 1), 0.0), (3, state, 1e-5)])


def _counted() -> Launch:
    r = np.random.default_rng(22)
    x = r.integers(0, 64, 700).astype(np.int32)
    bins, total = np.zeros(64, np.int32), np.zeros(3, np.float32)
    want = np.bincount(x, minlength=64)
    want[0] += 3 * 256 - 700  # what lies past the end counts as 0
    tops = [x.sum(), x[::2].max(), x[1::2].max()]
    return Launch((3,), 128, [x, bins, total, np.int32(700), *_SCRATCH], [(1, want, 0.0), (2, np.array(tops), 0.0)])


def _locked() -> Launch:
    value = np.arange(128).astype(np.int32)
    want = value
    for _ in range(3):
        want = want * 3 + 1
    return Launch((3,), 128, [np.zeros(1, np.int32), value, *_SCRATCH], [(1, want, 0.0)])


def _sorted_rows() -> Launch:
    x = np.random.default_rng(23).integers(-(2**31), 2**31, (4, 64)).astype(np.int32)
    return Launch((1,), 128, [x, np.zeros_like(x), *_SCRATCH], [(1, np.sort(x, 1), 0.0)])


def _philox(seed: int, at: Array) -> Array:
    """First word of Philox 4x32, ten rounds."""
    c = [at.astype(np.uint64), *(np.zeros(at.shape, np.uint64) for _ in range(3))]
    key = [seed & 0xFFFFFFFF, seed >> 32]
    low = np.uint64(0xFFFFFFFF)
    for _ in range(10):
        a, b = np.uint64(0xD2511F53) * c[0], np.uint64(0xCD9E8D57) * c[2]
        upper = np.uint64(32)
        c = [(b >> upper) ^ c[1] ^ np.uint64(key[0]), b & low, (a >> upper) ^ c[3] ^ np.uint64(key[1]), a & low]
        key = [(key[0] + 0x9E3779B9) & 0xFFFFFFFF, (key[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return c[0].astype(np.uint32).view(np.int32)


def _dropout() -> Launch:
    x = np.random.default_rng(24).standard_normal(200).astype(np.float32)
    words = _philox(1234567, np.arange(200))
    want = np.where(words > 0, 2 * x, 0)
    args = [x, np.zeros_like(x), np.zeros(200, np.int32), np.int32(200), np.int32(1234567), *_SCRATCH]
    return Launch((2,), 128, args, [(1, want, 0.0), (2, words, 0.0)])


def _transposed() -> Launch:
    x = np.random.default_rng(25).standard_normal((32, 64)).astype(np.float32)
    return Launch((1,), 128, [x, np.zeros((64, 32), np.float16), *_SCRATCH], [(1, x.T.astype(np.float16), 0.0)])


def _special() -> Launch:
    from math import erf

    x = np.random.default_rng(26).uniform(-3, 3, 200).astype(np.float32)
    v = x.astype(np.float64)
    want = np.exp(v) + np.log(np.abs(v) + 1) * np.sin(v) + np.sqrt(np.abs(v)) / (1 + np.exp(-v))
    want += np.array([erf(y) for y in v])
    return Launch((2,), 128, [x, np.zeros_like(x), np.int32(200), *_SCRATCH], [(1, want, 1e-5)])


def _specialised() -> Launch:
    r = np.random.default_rng(27)
    (a, va), (b, vb) = random_matrix(r, (256, 256), "f16"), random_matrix(r, (128, 256), "f16")
    sizes = [np.int32(x) for x in (256, 128, 256)]
    maps: list[Any] = []
    for x in (a, b):
        shape = [np.int32(x.shape[0]), np.int32(x.shape[1]), np.int64(x.shape[1]), np.int64(1)]
        maps += [Map(x, "f16", {"box": (64, 128), "swizzle": "128B"}), *shape]
    out = np.zeros((256, 128), np.float32)
    return Launch((2, 1), 128, [*maps, out, *sizes, *_SCRATCH], [(10, va @ vb.T, 1e-3)])


_E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])


def _scaled(packed: bool) -> Callable[[], Launch]:
    def make() -> Launch:
        r = np.random.default_rng(28)
        k = 128
        args: list[Any] = []
        values = []
        for rows in (128, 64):
            if packed:
                codes = r.integers(0, 16, (rows, k))
                v = _E2M1[codes & 7] * np.where(codes & 8, -1, 1)
                x = (codes[:, ::2] | codes[:, 1::2] << 4).astype(np.uint8)
            else:
                x, v = random_matrix(r, (rows, k), "fp8")
            scale = r.integers(122, 132, (rows, k // 32)).astype(np.uint8)
            values.append(v * np.repeat(2.0 ** (scale.astype(np.float64) - 127), 32, 1))
            args += [x, scale]
        out = np.zeros((128, 64), np.float32)
        return Launch((1,), 128, [*args, out, *_SCRATCH], [(4, values[0] @ values[1].T, 1e-3)])

    return make


CASES: dict[str, Callable[[], Launch]] = {
    **{
        n: matrix.CASES[n].make
        for n in (
            *("matmul_f16", "matmul_bf16", "matmul_tf32", "matmul_fp8", "grouped_bf16", "hopper_attention_f16"),
            *("hopper_attention_backward_f16", "softmax_f32", "layer_norm_f16", "hopper_persistent_f16"),
            *("hopper_fp8", "hopper_grouped_f16"),
        )
    },
    "specialised": _specialised,
    "rows_reduced": _rows_reduced,
    "scanned": _scanned,
    "counted": _counted,
    "locked": _locked,
    "sorted_rows": _sorted_rows,
    "dropout": _dropout,
    "transposed": _transposed,
    "special": _special,
    "scaled_e4m3": _scaled(False),
    "scaled_e2m1": _scaled(True),
}
