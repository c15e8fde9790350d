"""Matrix kernels: arguments and results computed here, on the host, for the PTX in ``ptx``.

``make.sh`` rebuilds the PTX from CUDA C++ (``cuda``) and from Triton kernels (``triton_kernels.py``, ``triton_hopper.py``).  Kernels of Triton take two more
pointers (scratch memory, unused) and dynamic shared memory, whose size stands in the first line of their PTX.
"""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tests.device import Map, load

PTX = Path(__file__).parent / "ptx"
Array = np.ndarray[Any, Any]


class Launch(NamedTuple):
    """How to run a kernel: grid, threads of a block, arguments (arrays, maps, scalars); outputs are (argument number, wanted, tolerance)."""

    grid: tuple[int, ...]
    threads: int
    args: list[Any]
    wants: list[tuple[int, Array, float]]

    def run(self, cubin: bytes, shared: int) -> None:
        """Launch the cubin's kernel on the device of the tests and compare its outputs (AssertionError)."""
        image = load(cubin)
        args = [a.made(image) if isinstance(a, Map) else a for a in self.args]
        image.launch(next(iter(image.kernels)), self.grid, self.threads, args, shared=shared)
        for at, want, tolerance in self.wants:
            got = self.args[at].astype(np.float64)
            if tolerance:
                bound = tolerance * np.abs(want).max()
                np.testing.assert_allclose(got, want, rtol=tolerance, atol=bound, err_msg=f"argument {at}")
            else:
                np.testing.assert_array_equal(got, want, err_msg=f"argument {at}")


def source(name: str) -> tuple[str, int]:
    """PTX text and bytes of dynamic shared memory."""
    text = (PTX / f"{name}.ptx").read_text()
    found = re.match(r"// shared (\d+)", text)
    return text, int(found[1]) if found else CASES[name].shared


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


def random_matrix(r: np.random.Generator, shape: tuple[int, ...], type_: str) -> tuple[Array, Array]:
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
        a, va = random_matrix(r, (m, k), type_)
        b, vb = random_matrix(r, (n, k) if transposed else (k, n), type_)
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
        a, va = random_matrix(r, (m, k), type_)
        b, vb = random_matrix(r, (k, n), type_)
        out = np.zeros((m, n), np.float32)
        sizes = [np.int32(x) for x in (m, n, k)]
        return Launch((m // 64 * n // 64, 1), 128, [a, b, out, *sizes, *_SCRATCH], [(2, va @ vb, 1e-3)])

    return make


def descriptor(a: Array, type_: str, width: int) -> list[Any]:
    """A tensor descriptor of a matrix as Triton's kernels take it: the map of tiles of 64 rows, sizes, strides."""
    options = {"box": (width, 64), "swizzle": "128B"}
    sizes = [np.int32(a.shape[0]), np.int32(a.shape[1]), np.int64(a.shape[1]), np.int64(1)]
    return [Map(a, type_, options), *sizes]


def _hopper(type_: str, grid: tuple[int, ...] = (2, 2), threads: int = 128) -> Callable[[], Launch]:
    """C = A B^T from tensor maps, 128x128 in tiles of 64x64."""

    def make() -> Launch:
        r = np.random.default_rng(12)
        m, n, k = 128, 128, 320 if type_ in ("f16", "bf16") else 384
        a, va = random_matrix(r, (m, k), type_)
        b, vb = random_matrix(r, (n, k), type_)
        out = np.zeros((m, n), np.int32 if type_ == "s8" else np.float32)
        element = {"f16": "f16", "bf16": "bf16"}.get(type_, "u8")
        width = 128 // a.itemsize
        sizes = [np.int32(x) for x in (m, n, k)]
        args = [*descriptor(a, element, width), *descriptor(b, element, width), out, *sizes, *_SCRATCH]
        return Launch(grid, threads, args, [(10, va @ vb.T, 0 if type_ == "s8" else 1e-3)])

    return make


def _conv(type_: str) -> Callable[[], Launch]:
    """3x3 convolution of two images of 8x8 pixels with 64 channels, 64 filters; stride 1, padding 1."""

    def make() -> Launch:
        r = np.random.default_rng(13)
        n, h, w, c, filters = 2, 8, 8, 64, 64
        x, vx = random_matrix(r, (n, h, w, c), type_)
        y, vy = random_matrix(r, (filters, 9 * c), type_)
        padded = np.pad(vx, ((0, 0), (1, 1), (1, 1), (0, 0)))
        windows = [padded[:, k // 3 : k // 3 + h, k % 3 : k % 3 + w] for k in range(9)]
        want = np.concatenate(windows, axis=3) @ vy.T
        images = Map(x, type_, {"corners": ((-1, -1), (-1, -1)), "channels": 64, "pixels": 64, "swizzle": "128B"})
        out = np.zeros(want.shape, np.float32)
        args = [images, Map(y, type_, {"box": (64, 64), "swizzle": "128B"}), out, np.int32(w), np.int32(h), np.int32(c), np.int32(filters)]  # fmt: skip
        return Launch((n * h * w // 64, filters // 64), 160, args, [(2, want, 1e-3)])

    return make


def _grouped(turned: bool = False) -> Callable[[], Launch]:
    """Two groups of rows with a B of their own (`turned`: B^T in memory, and maps made on the device in scratch memory)."""

    def make() -> Launch:
        r = np.random.default_rng(7)
        sizes = np.array([40, 70], np.int32)
        n, k = 64, 64
        type_ = "f16" if turned else "bf16"
        a, va = random_matrix(r, (int(sizes.sum()), k), type_)
        b, vb = random_matrix(r, (2 * k, n), type_)
        parts = [vb[:k].T, vb[k:].T] if turned else [vb[:k], vb[k:]]
        want = np.concatenate([va[:40] @ parts[0], va[40:] @ parts[1]])
        out = np.zeros(want.shape, np.float32)
        grid = (n // 64, 1 if turned else 2)
        scratch = [np.zeros(512, np.uint8), np.uint64(0)] if turned else _SCRATCH
        return Launch(grid, 128, [a, b, out, sizes, np.int32(n), np.int32(k), *scratch], [(2, want, 1e-3)])

    return make


SMALL = (2, 64, 32, 32)
"""Heads, length, depth, rows of a block."""
HOPPER = (2, 128, 64, 64)
Sizes = tuple[int, int, int, int]


def _attention_parts(r: np.random.Generator, sizes: Sizes) -> tuple[Any, ...]:
    heads, length, d, _ = sizes
    parts = [random_matrix(r, (heads, length, d), "f16") for _ in range(3)]
    scale = np.float32(1.4426950408889634 / np.sqrt(d))
    (_, q), (_, k), (_, v) = parts
    s = np.einsum("hid,hjd->hij", q, k) * float(scale)
    s = np.where(np.tril(np.ones((length, length), bool)), s, -np.inf)
    top = s.max(axis=2, keepdims=True)
    total = np.exp2(s - top).sum(axis=2, keepdims=True)
    lse = (top + np.log2(total))[..., 0]
    p = np.exp2(s - lse[..., None])
    return parts, scale, p, lse, p @ v


def _attention(sizes: Sizes = SMALL) -> Callable[[], Launch]:
    def make() -> Launch:
        heads, length, _, block = sizes
        parts, scale, _, lse, want = _attention_parts(np.random.default_rng(8), sizes)
        (q, _), (k, _), (v, _) = parts
        out, sums = np.zeros(want.shape, np.float32), np.zeros(lse.shape, np.float32)
        args = [q, k, v, out, sums, np.int32(length), scale, *_SCRATCH]
        return Launch((length // block, heads), 128, args, [(3, want, 4e-3), (4, lse, 1e-3)])

    return make


def _attention_backward(sizes: Sizes = SMALL, queries: bool = False) -> Callable[[], Launch]:
    """dK and dV, or dQ."""

    def make() -> Launch:
        heads, length, _, block = sizes
        r = np.random.default_rng(9)
        parts, scale, p, lse, o = _attention_parts(r, sizes)
        (q, vq), (k, vk), (v, vv) = parts
        g, vg = random_matrix(r, o.shape, "f16")
        delta = (o * vg).sum(axis=2).astype(np.float32)
        ds = p * (vg @ np.swapaxes(vv, 1, 2) - delta[..., None])
        if queries:
            results = [(ds @ vk, 2e-2)]
        else:
            results = [(np.swapaxes(ds, 1, 2) @ vq, 2e-2), (np.swapaxes(p, 1, 2) @ vg, 4e-3)]
        outs = [np.zeros(o.shape, np.float32) for _ in results]
        args = [q, k, v, g, lse.astype(np.float32), delta, *outs, np.int32(length), scale, *_SCRATCH]
        wants = [(6 + n, want, tolerance) for n, (want, tolerance) in enumerate(results)]
        return Launch((length // block, heads), 128, args, wants)

    return make


def _softmax() -> Launch:
    r = np.random.default_rng(10)
    x = (4 * r.standard_normal((6, 200))).astype(np.float32)
    e = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    out = np.zeros_like(x)
    return Launch((6, 1), 128, [x, out, np.int32(200), *_SCRATCH], [(1, e / e.sum(axis=1, keepdims=True), 1e-5)])


def _layer_norm() -> Launch:
    r = np.random.default_rng(11)
    x, vx = random_matrix(r, (6, 200), "f16")
    w, b = r.standard_normal(200).astype(np.float32), r.standard_normal(200).astype(np.float32)
    d = vx - vx.mean(axis=1, keepdims=True)
    want = d / np.sqrt((d * d).mean(axis=1, keepdims=True) + 1e-5) * w + b
    out = np.zeros(x.shape, np.float16)
    return Launch((6, 1), 128, [x, out, w, b, np.int32(200), np.float32(1e-5), *_SCRATCH], [(1, want, 3e-3)])


class Case(NamedTuple):
    """First SM (a: that one with its own features only), and what to run."""

    sm: str
    make: Callable[[], Launch]
    shared: int = 0
    """Bytes of dynamic shared memory, where the PTX does not say."""

    def runs_on(self, arch: str) -> bool:
        """Whether a target has what the kernel needs."""
        return arch[3:] == self.sm if self.sm.endswith("a") else int(arch[3:].rstrip("af")) >= int(self.sm)


CASES: dict[str, Case] = {
    "mma75_f16": Case("75", _cuda("f16", True)),
    "mma_f16": Case("80", _cuda("f16", True)),
    "mma_bf16": Case("80", _cuda("bf16", True)),
    "mma_tf32": Case("80", _cuda("tf32", True)),
    "mma_s8": Case("80", _cuda("s8", True)),
    "mma_fp8": Case("89", _cuda("fp8", True)),
    "wmma_f16": Case("75", _cuda("f16", False)),
    "wmma_s8": Case("75", _cuda("s8", False)),
    "conv_f16": Case("90a", _conv("f16"), 6 * 64 * 128 + 48),
    "matmul_f16": Case("80", _matmul("f16")),
    "matmul_bf16": Case("80", _matmul("bf16")),
    "matmul_tf32": Case("80", _matmul("tf32")),
    "matmul_fp8": Case("89", _matmul("fp8")),
    "grouped_bf16": Case("80", _grouped()),
    "attention_f16": Case("80", _attention()),
    "attention_backward_f16": Case("80", _attention_backward()),
    "attention_backward_q_f16": Case("80", _attention_backward(queries=True)),
    "softmax_f32": Case("75", _softmax),
    "layer_norm_f16": Case("75", _layer_norm),
    "hopper_persistent_f16": Case("90a", _hopper("f16", (2, 1), 384)),
    "hopper_bf16": Case("90a", _hopper("bf16")),
    "hopper_fp8": Case("90a", _hopper("fp8")),
    "hopper_s8": Case("90a", _hopper("s8")),
    "hopper_grouped_f16": Case("90a", _grouped(True)),
    "hopper_grouped_bf16": Case("90a", _grouped()),
    "hopper_attention_f16": Case("90a", _attention(HOPPER)),
    "hopper_attention_backward_f16": Case("90a", _attention_backward(HOPPER)),
    "hopper_attention_backward_q_f16": Case("90a", _attention_backward(HOPPER, True)),
}
