"""Kernels of what sm_100 and later add, with the results that the host computes from the PTX description.

Values are small integers wherever a result must be exact.  ``KERNELS`` names all; a kernel is made for every target that has its instructions.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tests.device import tensormap
from tests.tensor_memory.copies import INIT, WAIT, to_shared
from tests.tensor_memory.products import TYPES, _pack, _place
from tests.tensor_memory.programs import allocate, free, kernel, regs

Arr = npt.NDArray[Any]

ALL = ("sm_100a", "sm_103a", "sm_110a", "sm_120a", "sm_121a")
TENSOR = ALL[:3]
"""Targets with tensor memory."""
SCALED = ALL[3:]
"""Targets whose ``mma`` has block scales."""
DONE = "mbarrier::complete_tx::bytes"


class Work(NamedTuple):
    """A launch: grid, block, what makes the arguments of an image, and the check of them afterwards."""

    grid: int
    block: int
    args: Callable[[Any], list[Any]]
    check: Callable[[list[Any]], None]
    resident: int = 0
    """Blocks that run at a time; 0: all."""


class Kernel(NamedTuple):
    """A kernel ``k``: its text without the head of the module, and its launch."""

    name: str
    targets: tuple[str, ...]
    body: str
    work: Callable[[], Work]

    def text(self, arch: str) -> str:
        """The module."""
        return f".version 9.0\n.target {arch}\n.address_size 64\n{self.body}\n"

    def run(self, image: Any) -> None:
        """Launch it in a loaded image (AssertionError)."""
        w = self.work()
        args = w.args(image)
        options = {"resident": w.resident} if w.resident else {}
        image.launch("k", w.grid, w.block, args, max_steps=2_000_000, **options)
        w.check(args)


def _equal(at: int, want: Arr) -> Callable[[list[Any]], None]:
    def check(args: list[Any]) -> None:
        np.testing.assert_array_equal(args[at].reshape(want.shape), want)

    return check


def _entry(params: str, body: str, threads: int) -> str:
    """A kernel; %me is the thread, %cta the block."""
    declared = ", ".join(
        f".param .align 64 .b8 {p}[128]" if p.startswith("map") else f".param .u64 {p}" for p in params.split()
    )
    loads = "".join(f"ld.param.u64 %{p}, [{p}]; " for p in params.split() if not p.startswith("map"))
    maps = "".join(f"mov.b64 %{p}, {p}; cvta.param.u64 %{p}, %{p}; " for p in params.split() if p.startswith("map"))
    names = ", ".join(f"%{p}" for p in params.split())
    return f""".visible .entry k({declared}) .maxntid {threads}, 1, 1
{{
.reg .b16 %h<32>; .reg .b32 %r<64>, %me, %cta; .reg .b64 %rd<64>, {names}; .reg .f32 %f<64>; .reg .pred %p<8>; .reg .b8 %b<8>;
.shared .align 1024 .b8 smem[16384];
.shared .align 8 .b64 mb[4];
{loads}{maps}
mov.u32 %me, %tid.x; mov.u32 %cta, %ctaid.x;
{body}
ret;
}}"""


def _wait(parity: str, at: str, label: str) -> str:
    return f"{label}: mbarrier.try_wait.parity.shared::cta.b64 %p7, [{at}], {parity}; @!%p7 bra {label};\n"


# -- pairs of f32 and accesses of 256 bits


def horner() -> Kernel:
    """A polynomial of every element, two elements an operation, eight an access; blocks go over the array in a loop."""
    total, threads, blocks = 1600, 64, 2
    steps = "".join(
        f"fma.rn.f32x2 %rd{20 + j}, %rd{20 + j}, %rd{4 + j}, %rd{c};" for c in (13, 14, 15) for j in range(4)
    )
    body = _entry(
        "x y coefficients",
        f"""
ld.global.v4.b64 {{%rd12, %rd13, %rd14, %rd15}}, [%coefficients];
mad.lo.u32 %r1, %cta, {threads}, %me;
LOOP: setp.ge.u32 %p1, %r1, {total // 8}; @%p1 bra DONE;
mul.wide.u32 %rd1, %r1, 32; add.u64 %rd2, %x, %rd1; add.u64 %rd3, %y, %rd1;
ld.global.v4.b64 {{%rd4, %rd5, %rd6, %rd7}}, [%rd2];
{"".join(f"mov.b64 %rd{20 + j}, %rd12;" for j in range(4))}
{steps}
st.global.v4.b64 [%rd3], {{%rd20, %rd21, %rd22, %rd23}};
add.u32 %r1, %r1, {threads * blocks}; bra LOOP;
DONE:""",
        threads,
    )

    def work() -> Work:
        r = np.random.default_rng(1)
        x = r.integers(-9, 10, total).astype(np.float32)
        c = r.integers(-5, 6, (4, 2)).astype(np.float32)
        pairs = x.reshape(-1, 2)
        want = ((c[0] * pairs + c[1]) * pairs + c[2]) * pairs + c[3]
        return Work(blocks, threads, lambda _: [x, np.zeros_like(x), c], _equal(1, want.ravel()))

    return Kernel("horner", ALL, body, work)


def complex_dot() -> Kernel:
    """Dot products of rows of complex numbers with a conjugated vector, a warp a row: products and sums of pairs, then exchanges."""
    rows, n = 6, 256
    body = _entry(
        "a b out",
        f"""
shr.u32 %r1, %me, 5; and.b32 %r2, %me, 31; mad.lo.u32 %r3, %cta, 2, %r1;
mul.wide.u32 %rd1, %r3, {8 * n}; add.u64 %rd1, %rd1, %a; mul.wide.u32 %rd2, %r2, 32; add.u64 %rd1, %rd1, %rd2; add.u64 %rd2, %rd2, %b;
mov.b64 %rd3, 0; mov.b64 %rd4, 0; mov.u32 %r4, 0;
LOOP:
ld.global.v4.b64 {{%rd8, %rd9, %rd10, %rd11}}, [%rd1];
ld.global.nc.v8.f32 {{%f8, %f9, %f10, %f11, %f12, %f13, %f14, %f15}}, [%rd2];
{"".join(f"mov.b64 %rd20, {{%f{8 + 2 * j}, %f{8 + 2 * j}}}; mov.b64 %rd21, {{%f{9 + 2 * j}, %f{9 + 2 * j}}}; fma.rn.f32x2 %rd3, %rd{8 + j}, %rd20, %rd3; mul.rn.f32x2 %rd22, %rd{8 + j}, %rd21; add.rn.f32x2 %rd4, %rd4, %rd22;" for j in range(4))}
add.u64 %rd1, %rd1, 1024; add.u64 %rd2, %rd2, 1024; add.u32 %r4, %r4, 1;
setp.lt.u32 %p1, %r4, {n // 128}; @%p1 bra LOOP;
mov.b64 {{%f1, %f2}}, %rd3; mov.b64 {{%f3, %f4}}, %rd4;
add.f32 %f1, %f1, %f4; sub.f32 %f2, %f2, %f3; mov.u32 %r5, 16;
SUM: shfl.sync.bfly.b32 %f3, %f1, %r5, 31, -1; shfl.sync.bfly.b32 %f4, %f2, %r5, 31, -1;
mov.b64 %rd5, {{%f1, %f2}}; mov.b64 %rd6, {{%f3, %f4}}; add.rn.f32x2 %rd5, %rd5, %rd6; mov.b64 {{%f1, %f2}}, %rd5;
shr.u32 %r5, %r5, 1; setp.ne.u32 %p2, %r5, 0; @%p2 bra SUM;
setp.ne.u32 %p3, %r2, 0; @%p3 bra DONE;
mul.wide.u32 %rd7, %r3, 8; add.u64 %rd7, %rd7, %out; st.global.v2.f32 [%rd7], {{%f1, %f2}};
DONE:""",
        64,
    )

    def work() -> Work:
        r = np.random.default_rng(2)
        a, b = (r.integers(-9, 10, (k, n, 2)).astype(np.float32) for k in (rows, 1))
        x, y = a[..., 0] + 1j * a[..., 1], b[..., 0] + 1j * b[..., 1]
        sums = (x * y.conj()).sum(axis=1)
        want = np.stack([sums.real, sums.imag], axis=1).astype(np.float32)
        return Work(rows // 2, 64, lambda _: [a, b, np.zeros((rows, 2), np.float32)], _equal(2, want))

    return Kernel("complex_dot", ALL, body, work)


def softmax() -> Kernel:
    """Softmax of rows of 256, a warp a row: maxima of three values, a reduction of floats over the warp, pairs."""
    rows = 5
    body = _entry(
        "x y",
        f"""
mul.wide.u32 %rd1, %cta, 1024; mul.wide.u32 %rd2, %me, 32; add.u64 %rd1, %rd1, %rd2; add.u64 %rd2, %x, %rd1; add.u64 %rd3, %y, %rd1;
ld.global.v8.f32 {{%f0, %f1, %f2, %f3, %f4, %f5, %f6, %f7}}, [%rd2];
max.f32 %f10, %f0, %f1, %f2; max.f32 %f11, %f3, %f4, %f5; max.f32 %f10, %f10, %f6, %f7; max.f32 %f10, %f10, %f11;
redux.sync.max.f32 %f12, %f10, -1;
mov.f32 %f13, 0f3FB8AA3B; mov.b64 %rd4, {{%f13, %f13}}; neg.f32 %f14, %f12; mul.f32 %f14, %f14, %f13; mov.b64 %rd5, {{%f14, %f14}};
mov.f32 %f20, 0f00000000;
{"".join(f"mov.b64 %rd6, {{%f{2 * j}, %f{2 * j + 1}}}; fma.rn.f32x2 %rd6, %rd6, %rd4, %rd5; mov.b64 {{%f{2 * j}, %f{2 * j + 1}}}, %rd6;" for j in range(4))}
{"".join(f"ex2.approx.f32 %f{j}, %f{j}; add.f32 %f20, %f20, %f{j};" for j in range(8))}
mov.u32 %r5, 16;
SUM: shfl.sync.bfly.b32 %f21, %f20, %r5, 31, -1; add.f32 %f20, %f20, %f21; shr.u32 %r5, %r5, 1; setp.ne.u32 %p2, %r5, 0; @%p2 bra SUM;
rcp.approx.f32 %f20, %f20;
{"".join(f"mul.f32 %f{j}, %f{j}, %f20;" for j in range(8))}
st.global.v8.f32 [%rd3], {{%f0, %f1, %f2, %f3, %f4, %f5, %f6, %f7}};""",
        32,
    )

    def work() -> Work:
        x = np.random.default_rng(3).standard_normal((rows, 256)).astype(np.float32) * 4
        e = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
        want = e / e.sum(axis=1, keepdims=True)

        def check(args: list[Any]) -> None:
            np.testing.assert_allclose(args[1], want, rtol=2e-5, atol=1e-7)

        return Work(rows, 32, lambda _: [x, np.zeros_like(x)], check)

    return Kernel("softmax", ("sm_100a", "sm_103a"), body, work)


def zeroed_histogram() -> Kernel:
    """A histogram of bytes, 32 an access, in shared memory that ``st.bulk`` clears; bins go out eight at a time."""
    blocks, total = 2, 4096
    body = _entry(
        "keys bins",
        f"""
setp.ne.u32 %p0, %me, 0; mov.u32 %r1, smem; cvt.u64.u32 %rd1, %r1;
@!%p0 st.bulk.weak.shared::cta [%rd1], 1024, 0;
bar.sync 0;
mad.lo.u32 %r2, %cta, 64, %me; mul.wide.u32 %rd2, %r2, 32; add.u64 %rd2, %rd2, %keys;
ld.global.L2::128B.v8.b32 {{%r10, %r11, %r12, %r13, %r14, %r15, %r16, %r17}}, [%rd2];
{"".join(f"bfe.u32 %r20, %r{10 + k // 4}, {8 * (k % 4)}, 8; shl.b32 %r20, %r20, 2; add.u32 %r20, %r20, %r1; red.shared.add.u32 [%r20], 1;" for k in range(32))}
bar.sync 0;
setp.ge.u32 %p1, %me, 32; @%p1 bra DONE;
shl.b32 %r3, %me, 5; add.u32 %r3, %r3, %r1;
ld.shared.v4.b32 {{%r10, %r11, %r12, %r13}}, [%r3]; ld.shared.v4.b32 {{%r14, %r15, %r16, %r17}}, [%r3+16];
mul.wide.u32 %rd3, %cta, 1024; mul.wide.u32 %rd4, %me, 32; add.u64 %rd3, %rd3, %rd4; add.u64 %rd3, %rd3, %bins;
st.global.L1::no_allocate.v8.b32 [%rd3], {{%r10, %r11, %r12, %r13, %r14, %r15, %r16, %r17}};
DONE:""",
        64,
    )

    def work() -> Work:
        keys = (np.random.default_rng(4).integers(0, 256, total) ** 2 // 256).astype(np.uint8)
        want = np.stack([np.bincount(part, minlength=256) for part in keys.reshape(blocks, -1)]).astype(np.uint32)
        return Work(blocks, 64, lambda _: [keys, np.zeros((blocks, 256), np.uint32)], _equal(1, want))

    return Kernel("zeroed_histogram", ALL, body, work)


# -- rows of tensors, work that other blocks have not begun


def embedding_bag() -> Kernel:
    """Sums of sixteen rows of a table for each block, four a copy, in two buffers: copies and sums overlap."""
    table, width, bags, per = 64, 32, 3, 16
    copy = f"""
shl.b32 %r20, %r3, 4; add.u32 %r21, %r9, %r20; cvt.u64.u32 %rd9, %r21; add.u64 %rd9, %rd9, %rd1;
ld.global.v4.u32 {{%r10, %r11, %r12, %r13}}, [%rd9];
and.b32 %r22, %r3, 1; shl.b32 %r23, %r22, 9; add.u32 %r23, %r23, %r1; shl.b32 %r24, %r22, 3; add.u32 %r24, %r24, %r2;
mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r24], {16 * width};
cp.async.bulk.tensor.2d.shared::cta.global.tile::gather4.{DONE} [%r23], [%map, {{0, %r10, %r11, %r12, %r13}}], [%r24];
"""
    body = _entry(
        "rows out map",
        f"""
mov.u32 %r1, smem; mov.u32 %r2, mb; setp.eq.u32 %p0, %me, 0; mul.wide.u32 %rd1, %cta, {4 * per}; add.u64 %rd1, %rd1, %rows; mov.u32 %r9, 0;
@!%p0 bra READY;
mbarrier.init.shared::cta.b64 [mb], 1; mbarrier.init.shared::cta.b64 [mb+8], 1; fence.mbarrier_init.release.cluster;
mov.u32 %r3, 0; {copy} mov.u32 %r3, 1; {copy}
READY: bar.sync 0;
mov.u32 %r4, 0; mov.u32 %r5, 0;
LOOP: and.b32 %r6, %r4, 1; shl.b32 %r7, %r6, 3; add.u32 %r7, %r7, %r2; shr.u32 %r8, %r4, 1;
{_wait("%r8", "%r7", "WAIT")}
shl.b32 %r14, %r6, 9; add.u32 %r14, %r14, %r1; shl.b32 %r15, %me, 2; add.u32 %r14, %r14, %r15;
{"".join(f"ld.shared.u32 %r{30 + j}, [%r14+{4 * width * j}];" for j in range(4))}
add.u32 %r30, %r30, %r31; add.u32 %r32, %r32, %r33; add.u32 %r30, %r30, %r32; add.u32 %r5, %r5, %r30;
bar.sync 0;
add.u32 %r3, %r4, 2; setp.lt.u32 %p1, %r3, {per // 4}; and.pred %p1, %p1, %p0; @!%p1 bra NEXT;
{copy}
NEXT: add.u32 %r4, %r4, 1; setp.lt.u32 %p2, %r4, {per // 4}; @%p2 bra LOOP;
mad.lo.u32 %r16, %cta, {width}, %me; mul.wide.u32 %rd2, %r16, 4; add.u64 %rd2, %rd2, %out; st.global.u32 [%rd2], %r5;""",
        width,
    )

    def work() -> Work:
        r = np.random.default_rng(5)
        data = r.integers(0, 1 << 32, (table, width), dtype=np.uint32)
        rows = r.integers(-2, table + 2, (bags, per)).astype(np.int32)
        padded = np.zeros((table + 4, width), np.uint32)
        padded[:table] = data
        want = padded[np.where((rows >= 0) & (rows < table), rows, table)].sum(axis=1, dtype=np.uint32)

        def args(image: Any) -> list[Any]:
            at = image.arena.allocate(data.nbytes, "table")
            image.arena.write(at, data)
            return [
                rows,
                np.zeros((bags, width), np.uint32),
                tensormap("u32", at, (width, table), (4 * width,), (width, 1)),
            ]

        return Work(bags, width, args, _equal(1, want))

    return Kernel("embedding_bag", ALL, body, work)


def moved_rows() -> Kernel:
    """Rows of a matrix, four a block, are loaded, tripled in shared memory and scattered to other places."""
    height, width = 32, 32
    body = _entry(
        "from into map",
        f"""
mov.u32 %r1, smem; setp.ne.u32 %p0, %me, 0; @%p0 bra READY;
mbarrier.init.shared::cta.b64 [mb], 1; fence.mbarrier_init.release.cluster;
mul.wide.u32 %rd1, %cta, 16; add.u64 %rd2, %rd1, %from; ld.global.v4.u32 {{%r10, %r11, %r12, %r13}}, [%rd2];
mbarrier.arrive.expect_tx.shared::cta.b64 _, [mb], {16 * width};
cp.async.bulk.tensor.2d.shared::cta.global.tile::gather4.{DONE} [%r1], [%map, {{0, %r10, %r11, %r12, %r13}}], [mb];
READY: bar.sync 0;
{_wait("0", "mb", "WAIT")}
shl.b32 %r2, %me, 2; add.u32 %r2, %r2, %r1;
{"".join(f"ld.shared.u32 %r3, [%r2+{4 * width * j}]; mul.lo.u32 %r3, %r3, 3; st.shared.u32 [%r2+{2048 + 4 * width * j}], %r3;" for j in range(4))}
fence.proxy.async.shared::cta; bar.sync 0;
@%p0 bra DONE;
mul.wide.u32 %rd1, %cta, 16; add.u64 %rd2, %rd1, %into; ld.global.v4.u32 {{%r10, %r11, %r12, %r13}}, [%rd2];
add.u32 %r4, %r1, 2048;
cp.async.bulk.tensor.2d.global.shared::cta.tile::scatter4.bulk_group [%map, {{0, %r10, %r11, %r12, %r13}}], [%r4];
cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; fence.proxy.async;
DONE:""",
        width,
    )

    def work() -> Work:
        r = np.random.default_rng(6)
        data = r.integers(0, 1 << 32, (2 * height, width), dtype=np.uint32)
        source = r.permutation(height).astype(np.int32)
        into = (height + r.permutation(height)).astype(np.int32)
        want = data.copy()
        want[into] = data[source] * np.uint32(3)
        places: list[int] = []

        def args(image: Any) -> list[Any]:
            at = image.arena.allocate(data.nbytes, "matrix")
            image.arena.write(at, data)
            places[:] = [at]
            images[:] = [image]
            raw = tensormap("u32", at, (width, 2 * height), (4 * width,), (width, 1))
            return [source, into, raw]

        images: list[Any] = []

        def check(_: list[Any]) -> None:
            found = np.frombuffer(bytes(images[0].arena.read(places[0], data.nbytes)), np.uint32).reshape(data.shape)
            np.testing.assert_array_equal(found, want)

        return Work(height // 4, width, args, check)

    return Kernel("moved_rows", TENSOR, body, work)


def taken_tiles() -> Kernel:
    """Blocks transpose tiles and take those of blocks that have not begun; the next one is asked for while a tile is done."""
    size, tiles = 16, 9
    body = _entry(
        "x y",
        f"""
mov.u32 %r1, smem; setp.ne.u32 %p0, %me, 0;
@!%p0 mbarrier.init.shared::cta.b64 [mb], 1; @!%p0 fence.mbarrier_init.release.cluster; bar.sync 0;
mov.u32 %r2, %cta; mov.u32 %r3, 0; and.b32 %r4, %me, {size - 1}; shr.u32 %r5, %me, 4;
LOOP: @%p0 bra ASKED;
fence.proxy.async.shared::cta; mbarrier.arrive.expect_tx.shared::cta.b64 _, [mb], 16;
clusterlaunchcontrol.try_cancel.async.shared::cta.{DONE}.b128 [smem], [mb];
ASKED: mad.lo.u32 %r6, %r2, {size * size}, %me; mul.wide.u32 %rd1, %r6, 4; add.u64 %rd2, %rd1, %x; ld.global.u32 %r7, [%rd2];
mad.lo.u32 %r8, %r4, {size + 1}, %r5; shl.b32 %r8, %r8, 2; add.u32 %r8, %r8, %r1; st.shared.u32 [%r8+64], %r7;
bar.sync 0;
mad.lo.u32 %r8, %r5, {size + 1}, %r4; shl.b32 %r8, %r8, 2; add.u32 %r8, %r8, %r1; ld.shared.u32 %r7, [%r8+64];
add.u64 %rd2, %rd1, %y; st.global.u32 [%rd2], %r7;
{_wait("%r3", "mb", "WAIT")}
ld.shared.v2.b64 {{%rd4, %rd5}}, [smem]; xor.b32 %r3, %r3, 1;
.reg .b128 %response; mov.b128 %response, {{%rd4, %rd5}};
clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p1, %response;
@%p1 clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {{%r2, %r9, %r10, %r11}}, %response;
bar.sync 0;
@%p1 bra LOOP;""",
        size * size,
    )

    def work() -> Work:
        x = np.random.default_rng(7).integers(0, 1 << 32, (tiles, size, size), dtype=np.uint32)
        want = x.transpose(0, 2, 1)
        return Work(tiles, size * size, lambda _: [x, np.zeros_like(x)], _equal(1, want), resident=2)

    return Kernel("taken_tiles", ALL, body, work)


# -- narrow floats


def quantised() -> Kernel:
    """Groups of 32 numbers become 4-bit floats with a power of two as scale, and numbers again."""
    rows = 48
    pack = "".join(
        f"mul.f32 %f{2 * j}, %f{2 * j}, %f41; mul.f32 %f{2 * j + 1}, %f{2 * j + 1}, %f41; "
        f"cvt.rn.satfinite.e2m1x2.f32 %b0, %f{2 * j + 1}, %f{2 * j}; cvt.rn.f16x2.e2m1x2 %r1, %b0; "
        f"mov.b32 {{%h1, %h2}}, %r1; cvt.f32.f16 %f{2 * j}, %h1; cvt.f32.f16 %f{2 * j + 1}, %h2; "
        f"mul.f32 %f{2 * j}, %f{2 * j}, %f42; mul.f32 %f{2 * j + 1}, %f{2 * j + 1}, %f42;"
        for j in range(16)
    )
    body = _entry(
        "x y scales",
        f"""
mad.lo.u32 %r2, %cta, 16, %me; mul.wide.u32 %rd1, %r2, 128; add.u64 %rd2, %rd1, %x; add.u64 %rd3, %rd1, %y;
{"".join(f"ld.global.v8.f32 {{{', '.join(f'%f{8 * q + j}' for j in range(8))}}}, [%rd2+{32 * q}];" for q in range(4))}
mov.f32 %f40, 0f00000000;
{"".join(f"max.abs.f32 %f40, %f40, %f{2 * j}, %f{2 * j + 1};" for j in range(16))}
mul.f32 %f40, %f40, 0f3E2AAAAB; mov.f32 %f43, 0f00000000;
cvt.rp.satfinite.ue8m0x2.f32 %h0, %f43, %f40;
and.b16 %h0, %h0, 255; cvt.u64.u32 %rd4, %r2; add.u64 %rd4, %rd4, %scales; st.global.u8 [%rd4], %h0;
cvt.rn.bf16x2.ue8m0x2 %r3, %h0; shl.b32 %r4, %r3, 16; mov.b32 %f42, %r4; rcp.approx.f32 %f41, %f42;
{pack}
{"".join(f"st.global.v8.f32 [%rd3+{32 * q}], {{{', '.join(f'%f{8 * q + j}' for j in range(8))}}};" for q in range(4))}""",
        16,
    )
    values = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])

    def work() -> Work:
        x = (np.random.default_rng(8).integers(-96, 97, (rows, 32)) / 8 * 2.0 ** np.arange(rows)[:, None]).astype(
            np.float32
        )
        largest = np.abs(x).max(axis=1).astype(np.float64)
        code = np.ceil(np.log2(largest / 6 * (1 - 1e-6))).astype(int)
        part = np.abs(x).astype(np.float64) / 2.0 ** code[:, None]
        # To nearest, ties to the even code.
        apart = np.abs(part[..., None] - values)
        best = np.where(apart == apart.min(axis=-1, keepdims=True), np.where(np.arange(8) % 2, 1, 0), 2).argmin(axis=-1)
        want = (np.sign(x) * values[best] * 2.0 ** code[:, None]).astype(np.float32)

        def check(args: list[Any]) -> None:
            np.testing.assert_array_equal(args[2], code + 127)
            np.testing.assert_array_equal(args[1], want)

        return Work(rows // 16, 16, lambda _: [x, np.zeros_like(x), np.zeros(rows, np.uint8)], check)

    return Kernel("quantised", ALL, body, work)


def scaled_product() -> Kernel:
    """A tile of a product of 4-bit floats with a scale for every 16 elements of a row, in steps of 64; results are doubled pairs."""
    m, n, k = 32, 16, 256
    tile = "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3"
    body = _entry(
        "a b sa sb c",
        f"""
shr.u32 %r1, %me, 5; and.b32 %r2, %me, 31; shr.u32 %r3, %r2, 2; and.b32 %r4, %r2, 3;
mad.lo.u32 %r5, %cta, 16, %r3; mad.lo.u32 %r6, %r1, 8, %r3;
mul.wide.u32 %rd1, %r5, {k // 2}; add.u64 %rd1, %rd1, %a; mul.wide.u32 %rd2, %r4, 4; add.u64 %rd1, %rd1, %rd2;
mul.wide.u32 %rd3, %r6, {k // 2}; add.u64 %rd3, %rd3, %b; add.u64 %rd3, %rd3, %rd2;
and.b32 %r7, %r4, 1; mad.lo.u32 %r7, %r7, 8, %r5; mul.wide.u32 %rd4, %r7, {k // 16}; add.u64 %rd4, %rd4, %sa;
mul.wide.u32 %rd5, %r6, {k // 16}; add.u64 %rd5, %rd5, %sb;
{"".join(f"mov.f32 %f{j}, 0f00000000;" for j in range(4))}
mov.u32 %r8, 0;
LOOP:
ld.global.u32 %r10, [%rd1]; ld.global.u32 %r11, [%rd1+{8 * k // 2}]; ld.global.u32 %r12, [%rd1+16]; ld.global.u32 %r13, [%rd1+{8 * k // 2 + 16}];
ld.global.u32 %r14, [%rd3]; ld.global.u32 %r15, [%rd3+16]; ld.global.u32 %r16, [%rd4]; ld.global.u32 %r17, [%rd5];
{tile} {{%f0, %f1, %f2, %f3}}, {{%r10, %r11, %r12, %r13}}, {{%r14, %r15}}, {{%f0, %f1, %f2, %f3}}, {{%r16}}, {{0, 0}}, {{%r17}}, {{0, 0}};
add.u64 %rd1, %rd1, 32; add.u64 %rd3, %rd3, 32; add.u64 %rd4, %rd4, 4; add.u64 %rd5, %rd5, 4;
add.u32 %r8, %r8, 1; setp.lt.u32 %p1, %r8, {k // 64}; @%p1 bra LOOP;
mov.b64 %rd6, {{%f0, %f1}}; add.rn.f32x2 %rd6, %rd6, %rd6; mov.b64 %rd7, {{%f2, %f3}}; add.rn.f32x2 %rd7, %rd7, %rd7;
mul.wide.u32 %rd8, %r5, {4 * n}; mul.wide.u32 %rd9, %r4, 8; mul.wide.u32 %rd10, %r1, 32; add.u64 %rd8, %rd8, %rd9; add.u64 %rd8, %rd8, %rd10; add.u64 %rd8, %rd8, %c;
st.global.b64 [%rd8], %rd6; st.global.b64 [%rd8+{8 * 4 * n}], %rd7;""",
        64,
    )

    def work() -> Work:
        r = np.random.default_rng(9)
        codes = TYPES["e2m1x2"].codes
        a, b = (r.choice(sorted(codes), (rows, k)) for rows in (m, n))
        chosen = [r.integers(0, 4, (rows, k // 16)) for rows in (m, n)]
        factors, patterns = np.array([0.5, 1, 2, 3]), np.array([0x30, 0x38, 0x40, 0x44], np.uint8)
        x, y = (v * np.repeat(factors[s], 16, axis=1) for v, s in zip((a, b), chosen, strict=True))
        want = (2 * x @ y.T).astype(np.float32)
        given = [_pack(TYPES["e2m1x2"], a), _pack(TYPES["e2m1x2"], b), patterns[chosen[0]], patterns[chosen[1]]]
        return Work(m // 16, 64, lambda _: [*given, np.zeros((m, n), np.float32)], _equal(4, want))

    return Kernel("scaled_product", SCALED, body, work)


# -- tensor memory


@cache
def _images(seed: int, shapes: tuple[tuple[int, int], ...]) -> tuple[list[Arr], list[int], list[Arr], int]:
    """Matrices of small numbers in f16, the descriptors of their images at %data, and these images one after the other, with the bytes of all."""
    r = np.random.default_rng(seed)
    values, words, parts, at = [], [], [], 0
    for shape in shapes:
        v = r.integers(-3, 4, shape)
        v[abs(v) == 3] = 1
        image, word = _place(_pack(TYPES["f16"], v), False)
        values.append(v)
        words.append(word + (at >> 4))
        parts.append(image)
        at += len(image)
    size = -(-at // 2048) * 2048
    parts.append(np.zeros(size - at, np.uint8))
    return values, words, parts, size


def _instruction(m: int, n: int) -> int:
    """The instruction descriptor: f16 with sums in f32."""
    return 1 << 4 | n >> 3 << 17 | m >> 4 << 24


def biased_product() -> Kernel:
    """Three steps of a product in tensor memory, then bias, maximum with zero, and pairs of bf16 that go out 256 bits at a time."""
    m, n, steps = 128, 32, 3
    k = 16 * steps
    (a, b), (a_word, b_word), parts, size = _images(10, ((m, k), (n, k)))
    products = "".join(
        f"""
    add.u64 %l3, %l6, {a_word + (step * 2 * 16 * m >> 4)}; add.u64 %l4, %l6, {b_word + (step * 2 * 16 * n >> 4)};
    setp.ne.u32 %p4, %warp, {0 if step == 0 else 1};
    tcgen05.mma.cta_group::1.kind::f16 [%tmem], %l3, %l4, {_instruction(m, n)}, %p4;"""
        for step in range(steps)
    )
    epilogue = "".join(
        f"""
    {"".join(f"mov.b32 %f{j}, %t{16 * part + j};" for j in range(16))}
    {"".join(f"ld.global.nc.v2.f32 {{%f{32 + 2 * j}, %f{33 + 2 * j}}}, [%l8+{64 * part + 8 * j}]; mov.b64 %l9, {{%f{2 * j}, %f{2 * j + 1}}}; mov.b64 %l10, {{%f{32 + 2 * j}, %f{33 + 2 * j}}}; add.rn.f32x2 %l9, %l9, %l10; mov.b64 {{%f{2 * j}, %f{2 * j + 1}}}, %l9; cvt.rn.relu.bf16x2.f32 %t{64 + j}, %f{2 * j + 1}, %f{2 * j};" for j in range(8))}
    st.global.v8.b32 [%l1+{32 * part}], {regs(64, 8)};"""
        for part in range(2)
    )
    body = kernel(
        "src bias out",
        f"""
{INIT.format(count=1)}
{to_shared(size)}
{allocate(32)}
    setp.ne.u32 %p5, %me, 0;
    @%p5 bra issued;
    bfe.u32 %x4, %data, 4, 14;
    cvt.u64.u32 %l6, %x4;
{products}
    tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%bar];
issued:
{WAIT.format(name="waiting", phase=0)}
    ld.param.u64 %l8, [bias];
    ld.param.u64 %l0, [out];
    mad.wide.u32 %l1, %me, {2 * n}, %l0;
    tcgen05.ld.sync.aligned.32x32b.x32.b32 {regs(0, 32)}, [%mine];
    tcgen05.wait::ld.sync.aligned;
{epilogue}
{free(32)}
""",
    ).replace(".b8 data[16384]", f".b8 data[{size}]")

    def work() -> Work:
        bias = np.random.default_rng(11).integers(-20, 21, n).astype(np.float32)
        sums = np.maximum(a @ b.T + bias, 0).astype(np.float32)
        assert np.abs(sums).max() < 256
        want = (sums.view(np.uint32) >> 16).astype(np.uint16)
        source = np.concatenate(parts)
        return Work(1, 128, lambda _: [source, bias, np.zeros((m, n), np.uint16)], _equal(2, want))

    return Kernel("biased_product", TENSOR, body, work)


def chained_products() -> Kernel:
    """O = max(Q K^T, 0) V for 128 rows: the first product's result becomes the second one's left matrix in tensor memory."""
    m, n, d, dv = 128, 32, 16, 16
    (q, k, v), (q_word, k_word, v_word), parts, size = _images(12, ((m, d), (n, d), (dv, n)))
    body = kernel(
        "src out",
        f"""
{INIT.format(count=1)}
{to_shared(size)}
{allocate(64)}
    setp.ne.u32 %p5, %me, 0;
    setp.ne.u32 %p4, %warp, %warp;
    bfe.u32 %x4, %data, 4, 14;
    cvt.u64.u32 %l6, %x4;
    @%p5 bra scores;
    add.u64 %l3, %l6, {q_word}; add.u64 %l4, %l6, {k_word};
    tcgen05.mma.cta_group::1.kind::f16 [%tmem], %l3, %l4, {_instruction(m, n)}, %p4;
    tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%bar];
scores:
{WAIT.format(name="first", phase=0)}
    tcgen05.ld.sync.aligned.32x32b.x32.b32 {regs(0, 32)}, [%mine];
    tcgen05.wait::ld.sync.aligned;
    {"".join(f"mov.b32 %f{j}, %t{j};" for j in range(32))}
    {"".join(f"cvt.rn.relu.f16x2.f32 %t{64 + j}, %f{2 * j + 1}, %f{2 * j};" for j in range(16))}
    tcgen05.st.sync.aligned.32x32b.x16.b32 [%mine+32], {regs(64, 16)};
    tcgen05.wait::st.sync.aligned;
    tcgen05.fence::before_thread_sync;
    bar.sync 0;
    tcgen05.fence::after_thread_sync;
    @%p5 bra output;
    add.u32 %x5, %tmem, 32;
    add.u64 %l4, %l6, {v_word};
    tcgen05.mma.cta_group::1.kind::f16 [%tmem], [%x5], %l4, {_instruction(m, dv)}, %p4;
    add.u32 %x5, %tmem, 40; add.u64 %l4, %l4, {2 * 16 * dv >> 4};
    setp.eq.u32 %p4, %warp, %warp;
    tcgen05.mma.cta_group::1.kind::f16 [%tmem], [%x5], %l4, {_instruction(m, dv)}, %p4;
    tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%bar];
output:
{WAIT.format(name="second", phase=1)}
    ld.param.u64 %l0, [out];
    mad.wide.u32 %l1, %me, {4 * dv}, %l0;
    tcgen05.ld.sync.aligned.32x32b.x16.b32 {regs(0, 16)}, [%mine];
    tcgen05.wait::ld.sync.aligned;
    st.global.v8.b32 [%l1], {regs(0, 8)};
    st.global.v8.b32 [%l1+32], {regs(8, 8)};
{free(64)}
""",
    ).replace(".b8 data[16384]", f".b8 data[{size}]")

    def work() -> Work:
        want = (np.maximum(q @ k.T, 0) @ v.T).astype(np.float32)
        source = np.concatenate(parts)
        return Work(1, 128, lambda _: [source, np.zeros((m, dv), np.float32)], _equal(1, want))

    return Kernel("chained_products", TENSOR, body, work)


MAKERS = (
    horner, complex_dot, softmax, zeroed_histogram, embedding_bag, moved_rows, taken_tiles, quantised, scaled_product, biased_product, chained_products,
)  # fmt: skip
KERNELS = {k.name: k for k in (make() for make in MAKERS)}
