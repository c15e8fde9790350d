"""Matrix kernels: arguments and results computed here, on the host, for the PTX in ``ptx``.

``make.sh`` rebuilds the PTX from CUDA C++ (``cuda``) and from Triton kernels (``triton_kernels.py``).  Kernels of Triton take two more
pointers (scratch memory, unused) and dynamic shared memory, whose size stands in the first line of their PTX.
"""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

PTX = Path(__file__).parent / "ptx"
Array = np.ndarray[Any, Any]


class Launch(NamedTuple):
    """How to run a kernel: grid, threads of a block, arguments; outputs are (argument number, wanted, tolerance)."""

    grid: tuple[int, int]
    threads: int
    args: list[Any]
    wants: list[tuple[int, Array, float]]


def source(name: str) -> tuple[str, int]:
    """PTX text and bytes of dynamic shared memory."""
    text = (PTX / f"{name}.ptx").read_text()
    found = re.match(r"// shared (\d+)", text)
    return text, int(found[1]) if found else 0


def _bf16(x: Array) -> tuple[Array, Array]:
    """Values as bf16 patterns (rounded to nearest even) and what they stand for."""
    bits = np.ascontiguousarray(x, np.float32).view(np.uint32)
    patterns = ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)
    return patterns, (patterns.astype(np.uint32) << 16).view(np.float32)


def _fp8(r: np.random.Generator, shape: tuple[int, int]) -> tuple[Array, Array]:
    """Random e4m3 patterns of moderate numbers and their values."""
    codes = (r.integers(0x20, 0x48, shape) | r.integers(0, 2, shape) << 7).astype(np.uint8)
    magnitude = (1 + (codes & 7) / 8) * 2.0 ** ((codes >> 3 & 15).astype(np.float64) - 7)
    return codes, np.where(codes & 0x80, -magnitude, magnitude)


def _random(r: np.random.Generator, shape: tuple[int, ...], type_: str) -> tuple[Array, Array]:
    """(array to pass, values in f64)."""
    if type_ == "s8":
        x = r.integers(-128, 128, shape).astype(np.int8)
        return x, x.astype(np.int64)
    if type_ == "fp8":
        return _fp8(r, shape)  # type: ignore[arg-type]
    x = r.standard_normal(shape)
    if type_ == "bf16":
        patterns, values = _bf16(x)
        return patterns, values.astype(np.float64)
    if type_ == "tf32":
        rounded = (x.astype(np.float32).view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)
        return rounded, rounded.astype(np.float64)
    half = x.astype(np.float16)
    return half, half.astype(np.float64)


def _cuda(type_: str, transposed: bool) -> Callable[[], Launch]:
    """The kernels of CUDA C++: 64x128 times K."""

    def make() -> Launch:
        r = np.random.default_rng(5)
        m, n = 64, 128
        k = {"f16": 96, "bf16": 96, "tf32": 48, "s8": 192, "fp8": 192}[type_]
        a, va = _random(r, (m, k), type_)
        b, vb = _random(r, (n, k) if transposed else (k, n), type_)
        want = va @ (vb.T if transposed else vb)
        out = np.zeros((m, n), np.int32 if type_ == "s8" else np.float32)
        last = np.int32(k * a.itemsize if transposed else k)
        return Launch(
            (n // 64, m // 64),
            128,
            [a, b, out, np.int32(n), last],
            [(2, want.astype(out.dtype), 0 if type_ == "s8" else 1e-4)],
        )

    return make


_SCRATCH = [np.uint64(0), np.uint64(0)]


def _matmul(type_: str) -> Callable[[], Launch]:
    def make() -> Launch:
        r = np.random.default_rng(6)
        m, n, k = 64, 128, 128
        a, va = _random(r, (m, k), type_)
        b, vb = _random(r, (k, n), type_)
        out = np.zeros((m, n), np.float32)
        sizes = [np.int32(x) for x in (m, n, k)]
        return Launch((m // 64 * n // 64, 1), 128, [a, b, out, *sizes, *_SCRATCH], [(2, va @ vb, 1e-3)])

    return make


def _grouped() -> Launch:
    r = np.random.default_rng(7)
    sizes = np.array([40, 70], np.int32)
    n, k = 64, 64
    a, va = _random(r, (int(sizes.sum()), k), "bf16")
    b, vb = _random(r, (2 * k, n), "bf16")
    want = np.concatenate([va[:40] @ vb[:k], va[40:] @ vb[k:]])
    out = np.zeros(want.shape, np.float32)
    return Launch((n // 64, 2), 128, [a, b, out, sizes, np.int32(n), np.int32(k), *_SCRATCH], [(2, want, 1e-3)])


def _attention_parts(r: np.random.Generator) -> tuple[Any, ...]:
    heads, length, d = 2, 64, 32
    parts = [_random(r, (heads, length, d), "f16") for _ in range(3)]
    scale = np.float32(1.4426950408889634 / np.sqrt(d))
    (_, q), (_, k), (_, v) = parts
    s = np.einsum("hid,hjd->hij", q, k) * float(scale)
    s = np.where(np.tril(np.ones((length, length), bool)), s, -np.inf)
    top = s.max(axis=2, keepdims=True)
    total = np.exp2(s - top).sum(axis=2, keepdims=True)
    lse = (top + np.log2(total))[..., 0]
    p = np.exp2(s - lse[..., None])
    return parts, scale, p, lse, p @ v


def _attention() -> Launch:
    parts, scale, _, lse, want = _attention_parts(np.random.default_rng(8))
    (q, _), (k, _), (v, _) = parts
    out, sums = np.zeros(want.shape, np.float32), np.zeros(lse.shape, np.float32)
    args = [q, k, v, out, sums, np.int32(64), scale, *_SCRATCH]
    return Launch((2, 2), 128, args, [(3, want, 4e-3), (4, lse, 1e-3)])


def _attention_backward() -> Launch:
    r = np.random.default_rng(9)
    parts, scale, p, lse, o = _attention_parts(r)
    (q, vq), (k, _), (v, vv) = parts
    g, vg = _random(r, o.shape, "f16")
    delta = (o * vg).sum(axis=2).astype(np.float32)
    want_v = np.swapaxes(p, 1, 2) @ vg
    ds = p * (vg @ np.swapaxes(vv, 1, 2) - delta[..., None])
    want_k = np.swapaxes(ds, 1, 2) @ vq
    dk, dv = np.zeros(o.shape, np.float32), np.zeros(o.shape, np.float32)
    args = [q, k, v, g, lse.astype(np.float32), delta, dk, dv, np.int32(64), scale, *_SCRATCH]
    return Launch((2, 2), 128, args, [(6, want_k, 2e-2), (7, want_v, 4e-3)])


def _softmax() -> Launch:
    r = np.random.default_rng(10)
    x = (4 * r.standard_normal((6, 200))).astype(np.float32)
    e = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    out = np.zeros_like(x)
    return Launch((6, 1), 128, [x, out, np.int32(200), *_SCRATCH], [(1, e / e.sum(axis=1, keepdims=True), 1e-5)])


def _layer_norm() -> Launch:
    r = np.random.default_rng(11)
    x, vx = _random(r, (6, 200), "f16")
    w, b = r.standard_normal(200).astype(np.float32), r.standard_normal(200).astype(np.float32)
    d = vx - vx.mean(axis=1, keepdims=True)
    want = d / np.sqrt((d * d).mean(axis=1, keepdims=True) + 1e-5) * w + b
    out = np.zeros(x.shape, np.float16)
    return Launch((6, 1), 128, [x, out, w, b, np.int32(200), np.float32(1e-5), *_SCRATCH], [(1, want, 3e-3)])


CASES: dict[str, tuple[int, Callable[[], Launch]]] = {
    # name: first SM, what to run
    "mma_f16": (80, _cuda("f16", True)),
    "mma_bf16": (80, _cuda("bf16", True)),
    "mma_tf32": (80, _cuda("tf32", True)),
    "mma_s8": (80, _cuda("s8", True)),
    "mma_fp8": (89, _cuda("fp8", True)),
    "wmma_f16": (75, _cuda("f16", False)),
    "wmma_s8": (75, _cuda("s8", False)),
    "matmul_f16": (80, _matmul("f16")),
    "matmul_tf32": (80, _matmul("tf32")),
    "matmul_fp8": (89, _matmul("fp8")),
    "grouped_bf16": (80, _grouped),
    "attention_f16": (80, _attention),
    "attention_backward_f16": (80, _attention_backward),
    "softmax_f32": (75, _softmax),
    "layer_norm_f16": (75, _layer_norm),
}
