"""tcgen05 code of ptxas and of Orias in the simulator, and the same PTX in the interpreter, against results computed in numpy.

The layouts of matrices in shared memory are written here a second time, byte by byte, from the PTX description.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import orias
from orias import sim
from orias.ptx.parser import parse
from orias.sim.core.banked_memory import Banked
from orias.sim.matrix.tensor_memory import Form, reserve
from orias.sim.ptx import PtxImage
from orias.sim.sass.exec_async import fresh
from orias.target.driver import TENSOR_RECORD
from tests.sim.build import assemble

Arr = npt.NDArray[Any]
Run = Callable[..., None]
TARGET = "sm_100a"


@pytest.fixture(params=["ptxas", "orias", "interpreter"])
def run(request: pytest.FixtureRequest) -> Run:
    """Launches the kernel of a PTX text: (text, blocks, threads, arguments, blocks of a cluster)."""

    def launch(text: str, blocks: int, threads: int, args: list[Any], cluster: int = 1, target: str = TARGET) -> None:
        text = text.replace(TARGET, target)
        if request.param == "ptxas":
            sim.load(assemble(text, target)).launch("k", blocks, threads, args, cluster=cluster)
        elif request.param == "orias":
            cubin = orias.compile(text, arch=target, self_check=True).data
            sim.load(cubin).launch("k", blocks, threads, args, cluster=cluster)
        else:
            PtxImage(parse(text, "k.ptx"), target).launch("k", blocks, threads, args, cluster=cluster)

    return launch


_HEAD = """.version 8.8
.target sm_100a
.address_size 64
"""
_ALLOC = """
    setp.ne.u32 %p0, %warp, 0;
    @%p0 bra allocated;
    tcgen05.alloc.cta_group::{group}.sync.aligned.shared::cta.b32 [%slot], {columns};
    tcgen05.relinquish_alloc_permit.cta_group::{group}.sync.aligned;
allocated:
    tcgen05.fence::before_thread_sync;
    bar.sync 0;
    tcgen05.fence::after_thread_sync;
    ld.shared.b32 %tmem, [%slot];
    shl.b32 %x0, %warp, 21;
    add.u32 %mine, %tmem, %x0;
"""
_FREE = """
    bar.sync 0;
    @%p0 bra freed;
    tcgen05.dealloc.cta_group::{group}.sync.aligned.b32 %tmem, {columns};
freed:
    ret;
"""
_REGISTERS = """
    .reg .b32 %t<130>, %x<8>, %me, %warp, %slot, %tmem, %mine;
    .reg .b64 %l<16>;
    .reg .pred %p<8>;
    .shared .align 16 .b8 slot[16];
    mov.u32 %me, %tid.x;
    shr.u32 %warp, %me, 5;
    mov.u32 %slot, slot;
"""


def _regs(first: int, count: int) -> str:
    return "{" + ", ".join(f"%t{first + i}" for i in range(count)) + "}"


def _global(op: str, columns: int, stride: int) -> str:
    """Loads or stores of a row of words of each thread, to or from %t0 on; %l1 is the row's address."""
    rows = []
    for c in range(0, columns, 4):
        place, values = f"[%l1+{4 * (stride + c)}]", _regs(c, 4)
        rows.append(f"st.global.v4.b32 {place}, {values};" if op == "st" else f"ld.global.v4.b32 {values}, {place};")
    return "\n".join(rows)


# -- loads and stores

_PER = {"32x32b": (1, 1), "16x64b": (1, 2), "16x128b": (2, 4), "16x256b": (4, 8), "16x32bx2": (1, 1)}


def _shape_kernel(shape: str, repeats: int, packed: bool, store: bool) -> str:
    """Fills 32 columns of each lane, then loads or stores {16 lanes at 16, or all} in a shape."""
    per, _ = _PER[shape]
    count = per * repeats
    lane = "" if shape == "32x32b" else "add.u32 %mine, %mine, 0x100000;"
    half = ", 8" if shape == "16x32bx2" else ""
    head = (
        _HEAD
        + ".visible .entry k(.param .u64 fill, .param .u64 data, .param .u64 out)\n{"
        + _REGISTERS
        + _ALLOC.format(group=1, columns=64)
        + "ld.param.u64 %l0, [fill]; mul.wide.u32 %l1, %me, 128; add.u64 %l1, %l1, %l0;\n"
        + _global("ld", 32, 0)
        + f"tcgen05.st.sync.aligned.32x32b.x32.b32 [%mine], {_regs(0, 32)}; tcgen05.wait::st.sync.aligned;\n"
        + "mov.u32 %x1, %mine;\n"
        + lane
    )
    row = f"ld.param.u64 %l0, [data]; mul.wide.u32 %l1, %me, {4 * count}; add.u64 %l1, %l1, %l0;\n"
    if store:
        unpack = ".unpack::16b" if packed else ""
        body = (
            row
            + "\n".join(f"ld.global.b32 %t{i}, [%l1+{4 * i}];" for i in range(count))
            + f"tcgen05.st.sync.aligned.{shape}.x{repeats}{unpack}.b32 [%mine]{half}, {_regs(0, count)};\n"
            + "tcgen05.wait::st.sync.aligned;\n"
            + f"tcgen05.ld.sync.aligned.32x32b.x32.b32 {_regs(0, 32)}, [%x1]; tcgen05.wait::ld.sync.aligned;\n"
            + "ld.param.u64 %l0, [out]; mul.wide.u32 %l1, %me, 128; add.u64 %l1, %l1, %l0;\n"
            + _global("st", 32, 0)
        )
    else:
        pack = ".pack::16b" if packed else ""
        body = (
            f"tcgen05.ld.sync.aligned.{shape}.x{repeats}{pack}.b32 {_regs(0, count)}, [%mine]{half};\n"
            + "tcgen05.wait::ld.sync.aligned;\n"
            + row
            + "\n".join(f"st.global.b32 [%l1+{4 * i}], %t{i};" for i in range(count))
        )
    return head + body + _FREE.format(group=1, columns=64) + "}"


def _cell(shape: str, thread: int, register: int) -> tuple[int, int]:
    """Lane (of 16 or 32) and column of a register of a thread of the warp."""
    t, r = thread, register
    if shape == "32x32b":
        return t, r
    if shape == "16x32bx2":
        return t % 16, r + (8 if t >= 16 else 0)
    if shape == "16x64b":
        return t // 4 + 8 * (t % 2), 2 * r + t // 2 % 2
    if shape == "16x128b":
        return t // 4 + 8 * (r % 2), 4 * (r // 2) + t % 4
    return t // 4 + 8 * (r // 2 % 2), 8 * (r // 4) + 2 * (t % 4) + r % 2


_CASES = [
    (shape, repeats, packed)
    for shape, repeats in (
        ("32x32b", 1),
        ("32x32b", 16),
        ("16x64b", 4),
        ("16x128b", 2),
        ("16x256b", 2),
        ("16x32bx2", 4),
    )
    for packed in (False, True)
]


@pytest.mark.in_turn(4)
@pytest.mark.parametrize(("shape", "repeats", "packed"), _CASES)
def test_loads_and_stores(run: Run, shape: str, repeats: int, packed: bool) -> None:
    count = _PER[shape][0] * repeats
    rng = np.random.default_rng(count)
    fill = rng.integers(0, 1 << 32, (128, 32), dtype=np.uint32)
    data = rng.integers(0, 1 << 32, (128, count), dtype=np.uint32)
    loaded, stored = np.zeros_like(data), np.zeros_like(fill)
    run(_shape_kernel(shape, repeats, packed, False), 1, 128, [fill, loaded, loaded])
    run(_shape_kernel(shape, repeats, packed, True), 1, 128, [fill, data, stored])
    first = 0 if shape == "32x32b" else 16
    touched = np.zeros_like(fill, np.bool_)
    for thread in range(128):
        for register in range(count):
            at, column = _cell(shape, thread % 32, register)
            lane = thread // 32 * 32 + first + at
            if not packed:
                assert loaded[thread, register] == fill[lane, column]
                assert stored[lane, column] == data[thread, register]
                touched[lane, column] = True
                continue
            base = 8 if shape == "16x32bx2" and thread % 32 >= 16 else 0
            c = base + 2 * (column - base)
            assert loaded[thread, register] == fill[lane, c] & 0xFFFF | fill[lane, c + 1] << 16
            for half in range(2):
                assert stored[lane, c + half] & 0xFFFF == data[thread, register] >> 16 * half & 0xFFFF
            touched[lane, c : c + 2] = True
    assert (stored == fill)[~touched].all()


@pytest.mark.in_turn(2)
@pytest.mark.parametrize(
    ("form", "reduce"),
    [
        ("min.u32", lambda v: v.min(axis=1)),
        ("max.s32", lambda v: v.view(np.int32).max(axis=1).view(np.uint32)),
        ("max.abs.f32", lambda v: np.fmax.reduce(np.abs(v.view(np.float32)), axis=1).view(np.uint32)),
        ("min.NaN.f32", lambda v: np.where(np.isnan(v.view(np.float32)).any(axis=1), 0x7FFFFFFF, v.min(axis=1))),
    ],
)
def test_loads_with_a_reduction(run: Run, form: str, reduce: Callable[[Arr], Arr]) -> None:
    fill = np.random.default_rng(4).integers(0, 1 << 32, (128, 32), dtype=np.uint32)
    if form == "max.abs.f32":
        fill &= 0xBFFFFFFF
        fill[1::3, 6] = 0x7FC12345
    if form == "min.NaN.f32":
        fill &= 0x3FFFFFFF
        fill[::3, 5] = 0x7FC12345
    type_ = form.split(".")[-1]
    text = (
        _shape_kernel("32x32b", 32, False, False)
        .replace(
            f"ld.sync.aligned.32x32b.x32.b32 {_regs(0, 32)}, [%mine]",
            f"ld.red.sync.aligned.32x32b.x32.{form} {_regs(0, 32).replace('%t', '%f')}, %f32, [%mine]",
        )
        .replace("st.global.b32 [%l1+0], %t0", "st.global.b32 [%l1+0], %f32")
        .replace(".reg .pred", f".reg .{'b32' if type_ != 'f32' else 'f32'} %f<33>;\n.reg .pred")
    )
    out = np.zeros_like(fill)
    run(text, 1, 128, [fill, out, out], target="sm_103a")
    np.testing.assert_array_equal(out[:, 0], reduce(fill))


# -- products


def _copy_in(size: int, threads: int = 128) -> str:
    """Code that copies the block's bytes of `src` to shared memory."""
    return f"""
    ld.param.u64 %l0, [src];
    mov.u32 %x2, %ctaid.x;
    mul.wide.u32 %l1, %x2, {size};
    add.u64 %l0, %l0, %l1;
    mov.u32 %x3, %me;
copying:
    mul.wide.u32 %l1, %x3, 16;
    add.u64 %l2, %l0, %l1;
    ld.global.v4.b32 {_regs(0, 4)}, [%l2];
    shl.b32 %x4, %x3, 4;
    add.u32 %x4, %x4, %data;
    st.shared.v4.b32 [%x4], {_regs(0, 4)};
    add.u32 %x3, %x3, {threads};
    setp.lt.u32 %p1, %x3, {size // 16};
    @%p1 bra copying;
    fence.proxy.async.shared::cta;
"""


def _wait(what: str) -> str:
    return f"""
{what}:
    mbarrier.try_wait.parity.shared::cta.b64 %p3, [%bar], 0;
    @!%p3 bra {what};
"""


def _product_kernel(
    kind: str,
    size: int,
    b_at: int,
    columns: int,
    steps: list[tuple[int, int]],
    group: int = 1,
    a_column: int = -1,
    tail: str = "",
    d_lane: int = 0,
) -> str:
    """Fills tensor memory, multiplies, and stores what tensor memory holds then.

    ``size``: bytes of shared memory, B begins at ``b_at``; ``columns`` of tensor memory are filled; ``steps``: bytes to add to the addresses
    of A and B for each product (columns for A in tensor memory, which begins at ``a_column``); ``tail``: operand after the predicate.
    """
    each = []
    for i, (a, b) in enumerate(steps):
        keep = "%p4" if i == 0 else "%p5"
        left = f"[%x{6}]" if a_column >= 0 else "%l5"
        each.append(
            f"add.u64 %l5, %l3, {a >> 4}; add.u64 %l6, %l4, {b >> 4}; add.u32 %x6, %tmem, {a_column + a};"
            f"tcgen05.mma.cta_group::{group}.kind::{kind} [%x7], {left}, %l6, %idesc,{tail.format(keep=keep) or keep};"
        )
    chunks = range(0, columns, 8)
    fill = "".join(
        f"{_global('ld', 8, c)} tcgen05.st.sync.aligned.32x32b.x8.b32 [%mine+{c}], {_regs(0, 8)};\n" for c in chunks
    )
    drain = "".join(
        f"tcgen05.ld.sync.aligned.32x32b.x8.b32 {_regs(0, 8)}, [%mine+{c}]; tcgen05.wait::ld.sync.aligned;\n{_global('st', 8, c)}\n"
        for c in chunks
    )
    meet = "barrier.cluster.arrive; barrier.cluster.wait;" if group == 2 else "bar.sync 0;"
    target = ".multicast::cluster.b64 [%bar], %mask;" if group == 2 else ".b64 [%bar];"
    allocated = max(32, 1 << (columns - 1).bit_length())
    cluster = " .reqnctapercluster 2, 1, 1 .explicitcluster" if group == 2 else ""
    return f"""{_HEAD}
.visible .entry k(.param .u64 rows, .param .u64 src, .param .u64 adesc, .param .u64 bdesc, .param .u32 idesc, .param .u32 keep){cluster}
{{
    {_REGISTERS}
    .reg .b32 %data, %bar, %idesc;
    .reg .b16 %mask;
    .shared .align 8 .b64 bar;
    .shared .align 1024 .b8 data[{size}];
    mov.u32 %data, data;
    mov.u32 %bar, bar;
    mov.u16 %mask, 3;
    setp.eq.u32 %p2, %me, 0;
    @%p2 mbarrier.init.shared::cta.b64 [%bar], 1;
    @%p2 fence.mbarrier_init.release.cluster;
    {_copy_in(size)}
    {_ALLOC.format(group=group, columns=allocated)}
    ld.param.u64 %l0, [rows];
    mov.u32 %x2, %ctaid.x;
    shl.b32 %x2, %x2, 7;
    add.u32 %x2, %x2, %me;
    mul.wide.u32 %l1, %x2, {4 * columns};
    add.u64 %l1, %l1, %l0;
    {fill}
    tcgen05.wait::st.sync.aligned;
    tcgen05.fence::before_thread_sync;
    {meet}
    tcgen05.fence::after_thread_sync;
    mov.u32 %x3, %cluster_ctarank;
    or.b32 %x3, %x3, %me;
    setp.ne.u32 %p6, %x3, 0;
    @%p6 bra issued;
    shr.u32 %x4, %data, 4;
    and.b32 %x4, %x4, 0x3fff;
    cvt.u64.u32 %l7, %x4;
    ld.param.u64 %l3, [adesc];
    add.u64 %l3, %l3, %l7;
    ld.param.u64 %l4, [bdesc];
    add.u64 %l4, %l4, %l7;
    add.u64 %l4, %l4, {b_at >> 4};
    ld.param.u32 %idesc, [idesc];
    ld.param.u32 %x5, [keep];
    setp.ne.u32 %p4, %x5, 0;
    setp.eq.u32 %p5, %x5, %x5;
    add.u32 %x7, %tmem, {d_lane << 16};
    {"".join(each)}
    tcgen05.commit.cta_group::{group}.mbarrier::arrive::one.shared::cluster{target}
issued:
    {_wait("waiting")}
    tcgen05.fence::after_thread_sync;
    {drain}
    {meet}
    {_FREE.format(group=group, columns=allocated)}
}}"""


Layout = Callable[[int, int], int]
"""Byte offset of the byte at (row, byte of the row) of a matrix."""


def _plain(rows: int) -> Layout:
    """No swizzle: 8 rows of 16 bytes together, then the next rows, then the next 16 bytes."""
    return lambda r, c: c // 16 * 16 * rows + r // 8 * 128 + r % 8 * 16 + c % 16


def _swizzled(width: int) -> Layout:
    """Rows of `width` bytes, whose 16-byte units are exchanged."""

    def place(r: int, c: int) -> int:
        at = r * width + c % width
        return at ^ (at >> 7 & width // 16 - 1) << 4

    return place


_SWIZZLES = {32: 6, 64: 4, 128: 2}


def _descriptor(leading: int, stride: int, swizzle: int = 0) -> int:
    return leading >> 4 << 16 | stride >> 4 << 32 | 1 << 46 | swizzle << 61


def _place(matrix: Arr, size: int, layout: Layout) -> Arr:
    """The bytes of a matrix [rows, bytes of a row] in shared memory."""
    out = np.zeros(size, np.uint8)
    for r in range(matrix.shape[0]):
        for c in range(0, matrix.shape[1], 4):
            at = layout(r, c)
            out[at : at + 4] = matrix[r, c : c + 4]
    return out


def _bfloat(v: Arr) -> Arr:
    result: Arr = (v.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    return result


def _e4m3(v: Arr) -> Arr:
    """Codes of integers from -8 to 8."""
    table = np.array([0, 0x38, 0x40, 0x44, 0x48, 0x4A, 0x4C, 0x4E, 0x50], np.uint8)
    result: Arr = table[np.abs(v)] | np.where(v < 0, 0x80, 0).astype(np.uint8)
    return result


_ENCODE: dict[str, tuple[str, int, int, Callable[[Arr], Arr]]] = {
    "f16": ("f16", 0, 2, lambda v: v.astype(np.float16)),
    "bf16": ("f16", 1, 2, _bfloat),
    "tf32": ("tf32", 2, 4, lambda v: v.astype(np.float32)),
    "e4m3": ("f8f6f4", 0, 1, _e4m3),
    "s8": ("i8", 1, 1, lambda v: v.astype(np.int8)),
}
"""Kind, number of the type, bytes, and patterns of small integers, by type."""


def _idesc(type_: str, m: int, n: int, extra: int = 0) -> int:
    kind, number, _, _ = _ENCODE[type_]
    result = 2 if kind == "i8" else 1
    return result << 4 | number << 7 | number << 10 | n >> 3 << 17 | m >> 4 << 24 | extra


def _bytes(type_: str, v: Arr) -> Arr:
    p = np.ascontiguousarray(_ENCODE[type_][3](v))
    return p.view(np.uint8).reshape(v.shape[0], -1)


def _launch(
    run: Run, text: str, memory: Arr, data: Arr, a: int, b: int, idesc: int, keep: bool, blocks: int = 1
) -> Arr:
    """What tensor memory holds after a kernel with descriptors `a` and `b` (addresses left out)."""
    out = memory.copy()
    args = [out, data, np.uint64(a), np.uint64(b), np.uint32(idesc), np.uint32(keep)]
    run(text, blocks, 128, args, blocks)
    return out


def _run(
    run: Run,
    type_: str,
    m: int,
    n: int,
    k: int,
    layout: str,
    keep: bool = True,
    seed: int = 0,
    lanes: Arr | None = None,
    lane: int = 0,
) -> tuple[Arr, Arr]:
    """(what tensor memory holds, rows of results) of a product of one block with random matrices and addends."""
    rng = np.random.default_rng(seed)
    kind, _, size, _ = _ENCODE[type_]
    a, b = rng.integers(-8, 9, (m, k)), rng.integers(-8, 9, (n, k))
    c = rng.integers(-99, 100, (128, n))
    word = np.int32 if type_ == "s8" else np.float32
    memory = c.astype(word).view(np.uint32)
    row = k * size
    tensor = layout == "tensor"
    width = 128 if layout == "128" else int(layout) if layout.isdigit() else 0
    where = _swizzled(width) if width else _plain(m)
    where_b = _swizzled(width) if width else _plain(n)
    a_size = -(-(m * max(row, width)) // 1024) * 1024
    b_size = -(-(n * max(row, width)) // 1024) * 1024
    data = np.concatenate((_place(_bytes(type_, a), a_size, where), _place(_bytes(type_, b), b_size, where_b)))
    columns, at = n, -1
    steps = [(32 * i, 32 * i) if width else (2 * 16 * m * i, 2 * 16 * n * i) for i in range(row // 32)]
    if tensor:
        at, columns = n, n + row // 4
        extra = np.zeros((128, columns - n), np.uint32)
        extra[_lanes(m, lane), : row // 4] = _bytes(type_, a).view(np.uint32)
        memory = np.concatenate((memory, extra), axis=1)
        steps = [(8 * i, b_step) for i, (_, b_step) in enumerate(steps)]
    text = _product_kernel(
        kind, len(data), a_size, columns, steps, a_column=at + (lane << 16) if tensor else -1,
        tail="" if lanes is None else " {{%t10, %t11, %t12, %t13}}, {keep}", d_lane=lane,
    )  # fmt: skip
    if lanes is not None:
        moves = "".join(f"mov.b32 %t{10 + i}, {int(w)};" for i, w in enumerate(lanes))
        text = text.replace("setp.eq.u32 %p5", moves + "setp.eq.u32 %p5")
    a_desc = _descriptor(16 if width else 16 * m, 8 * width or 128, _SWIZZLES.get(width, 0))
    b_desc = _descriptor(16 if width else 16 * n, 8 * width or 128, _SWIZZLES.get(width, 0))
    out = _launch(run, text, memory, data, a_desc, b_desc, _idesc(type_, m, n), keep)
    expected = memory.copy()
    sums = a @ b.T + (c[_lanes(m, lane)] if keep else 0)
    expected[_lanes(m, lane), :n] = sums.astype(word).view(np.uint32)
    if lanes is not None:
        off = np.unpackbits(lanes.astype("<u4").view(np.uint8), bitorder="little").astype(bool)
        expected[off] = memory[off]
    return out, expected


def _lanes(m: int, lane: int) -> Arr:
    """The lane of each row of a product of one block."""
    rows = np.arange(m)
    return rows if m == 128 else lane + rows % 16 + 32 * (rows // 16)


@pytest.mark.in_turn(4)
@pytest.mark.parametrize(
    ("type_", "m", "n", "k", "layout"),
    [
        ("f16", 128, 64, 32, "plain"),
        ("f16", 128, 64, 64, "128"),
        ("f16", 128, 16, 32, "64"),
        ("f16", 128, 16, 16, "32"),
        ("bf16", 128, 32, 32, "plain"),
        ("tf32", 128, 32, 16, "128"),
        ("e4m3", 128, 32, 64, "64"),
        ("s8", 128, 32, 64, "plain"),
        ("f16", 64, 24, 32, "plain"),
        ("bf16", 64, 16, 64, "128"),
    ],
)
@pytest.mark.parametrize("keep", [False, True])
def test_products(run: Run, type_: str, m: int, n: int, k: int, layout: str, keep: bool) -> None:
    got, expected = _run(run, type_, m, n, k, layout, keep)
    np.testing.assert_array_equal(got, expected)


@pytest.mark.in_turn(4)
@pytest.mark.parametrize(("type_", "m", "lane"), [("f16", 128, 0), ("tf32", 128, 0), ("s8", 64, 0), ("f16", 64, 16)])
def test_a_in_tensor_memory(run: Run, type_: str, m: int, lane: int) -> None:
    got, expected = _run(run, type_, m, 32, 32, "tensor", lane=lane)
    np.testing.assert_array_equal(got, expected)


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("m", [32, 64, 128])
def test_weight_stationary(run: Run, m: int) -> None:
    """tcgen05.mma.ws: 128 / M quarters or halves of the lanes have as many parts of the columns."""
    rng = np.random.default_rng(m)
    n, k = 64, 16
    a, b = rng.integers(-8, 9, (m, k)), rng.integers(-8, 9, (n, k))
    parts = 128 // m
    c = rng.integers(-99, 100, (128, n // parts))
    data = np.concatenate((_place(_bytes("f16", a), 4096, _plain(m)), _place(_bytes("f16", b), 2048, _plain(n))))
    text = _product_kernel("f16", len(data), 4096, n // parts, [(0, 0)])
    text = text.replace(
        "tcgen05.mma.cta_group::1.kind::f16", "tcgen05.mma.ws.cta_group::1.kind::f16.collector::b1::fill"
    )
    descriptors = _descriptor(16 * m, 128), _descriptor(16 * n, 128)
    memory = c.astype(np.float32).view(np.uint32)
    out = _launch(run, text, memory, data, *descriptors, _idesc("f16", m, n), True)
    sums = (a @ b.T).reshape(m, parts, n // parts).transpose(1, 0, 2).reshape(128, n // parts)
    np.testing.assert_array_equal(out.view(np.float32), sums + c)


def test_disabled_lanes(run: Run) -> None:
    got, expected = _run(run, "f16", 128, 16, 16, "plain", lanes=np.array([1, 0xFFFF0000, 0, 0x80000000], np.uint32))
    np.testing.assert_array_equal(got, expected)


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("swizzle", [False, True])
def test_stored_along_m_and_n(run: Run, swizzle: bool) -> None:
    """Both matrices are stored along M and N: 8 values of k of 16 bytes, or of 128 bytes with the swizzle."""
    rng = np.random.default_rng(5)
    m, n, k = 128, 64, 32
    a, b = rng.integers(-8, 9, (m, k)), rng.integers(-8, 9, (n, k))
    memory = np.zeros((128, n), np.uint32)

    def stored(v: Arr) -> tuple[Arr, int, int, int]:
        """Bytes, leading and stride offset, and the distance of 16 values of k."""
        rows = v.shape[0]
        out = np.zeros(rows * k, np.float16)
        leading, stride = (1024 * (k // 8), 1024) if swizzle else (16 * rows, 128)
        for r in range(rows):
            for c in range(k):
                if swizzle:
                    at = r % 64 * 2 + c % 8 * 128 + r // 64 * leading + c // 8 * stride
                    at ^= (at >> 7 & 7) << 4
                else:
                    at = r % 8 * 2 + c % 8 * 16 + r // 8 * stride + c // 8 * leading
                out[at // 2] = v[r, c]
        return out.view(np.uint8), leading, stride, 2 * (stride if swizzle else leading)

    (x, *at_a), (y, *at_b) = stored(a), stored(b)
    steps = [(at_a[2] * i, at_b[2] * i) for i in range(k // 16)]
    text = _product_kernel("f16", len(x) + len(y), len(x), n, steps)
    mode = 2 if swizzle else 0
    descriptors = [_descriptor(at[0], at[1], mode) for at in (at_a, at_b)]
    out = _launch(run, text, memory, np.concatenate((x, y)), *descriptors, _idesc("f16", m, n, 3 << 15), False)
    np.testing.assert_array_equal(out.view(np.float32), a @ b.T)


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("m", [128, 256])
def test_pair(run: Run, m: int) -> None:
    """Two blocks of a cluster multiply; each has half of the rows of A and half of the columns of B."""
    rng = np.random.default_rng(m)
    n, k = 32, 32
    a, b = rng.integers(-8, 9, (m, k)), rng.integers(-8, 9, (n, k))
    width = n if m == 256 else n // 2
    c = rng.integers(-99, 100, (256, width))
    half = m // 2
    data = [
        np.concatenate(
            (
                _place(_bytes("f16", a[i * half : (i + 1) * half]), 2 * k * half, _plain(half)),
                _place(_bytes("f16", b[i * n // 2 : (i + 1) * n // 2]), k * n, _plain(n // 2)),
            )
        )
        for i in range(2)
    ]
    steps = [(32 * half * i, 16 * n * i) for i in range(k // 16)]
    text = _product_kernel("f16", len(data[0]), 2 * k * half, width, steps, group=2)
    descriptors = _descriptor(16 * half, 128), _descriptor(8 * n, 128)
    memory = c.astype(np.float32).view(np.uint32)
    out = _launch(run, text, memory, np.concatenate(data), *descriptors, _idesc("f16", m, n), True, 2)
    sums = a @ b.T
    if m == 128:
        # Lanes 64 up hold the upper half of the columns.
        sums = sums.reshape(2, 64, 2, width).transpose(0, 2, 1, 3).reshape(256, width)
    np.testing.assert_array_equal(out.view(np.float32), sums + c)


def test_32_bit_elements_along_m_and_n(run: Run) -> None:
    """tf32 stored along M and N: 4 values of k of 128 bytes, whose 32-byte units are exchanged."""
    rng = np.random.default_rng(6)
    m, n, k = 128, 32, 8
    a, b = rng.integers(-8, 9, (m, k)), rng.integers(-8, 9, (n, k))

    def stored(v: Arr) -> Arr:
        out = np.zeros(v.size, np.float32)
        for r in range(v.shape[0]):
            for c in range(k):
                at = r % 32 * 4 + c % 4 * 128 + c // 4 * 512 + r // 32 * 1024
                at ^= (at >> 7 & 3) << 5
                out[at // 4] = v[r, c]
        return out.view(np.uint8)

    x, y = stored(a), stored(b)
    text = _product_kernel("tf32", len(x) + len(y), len(x), n, [(0, 0)])
    desc = _descriptor(1024, 512, 1)
    memory = np.zeros((128, n), np.uint32)
    out = _launch(run, text, memory, np.concatenate((x, y)), desc, desc, _idesc("tf32", m, n, 3 << 15), False)
    np.testing.assert_array_equal(out.view(np.float32), a @ b.T)


def _ones(run: Run, type_: str, old: Arr, idesc: int, tail: str = "") -> Arr:
    """A product of K ones with what tensor memory holds (a word for all columns)."""
    codes = _bytes(type_, np.ones((128, 32 // _ENCODE[type_][2]), np.int64))
    text = _product_kernel(_ENCODE[type_][0], 8192, 4096, 16, [(0, 0)], tail=tail)
    data = np.concatenate((codes.reshape(-1), codes.reshape(-1)))
    desc = _descriptor(2048, 128)
    return _launch(run, text, np.broadcast_to(old, (128, 16)).copy(), data, desc, desc, idesc, True)


def test_scaled_addend(run: Run) -> None:
    """scale-input-d: what is there is divided by a power of two."""
    old = np.array([20], np.float32).view(np.uint32)
    out = _ones(run, "f16", old, _idesc("f16", 128, 16), " {keep}, 3")
    assert (out.view(np.float32) == 16 + 20 / 8).all()


def test_results_of_16_bits(run: Run) -> None:
    """f16 results are the lower halves of columns."""
    old = np.array([0xABCD0000 | int(np.float16(2.5).view(np.uint16))], np.uint32)
    out = _ones(run, "f16", old, _idesc("f16", 128, 16) & ~0x10)
    assert ((out & 0xFFFF).astype(np.uint16).view(np.float16) == 18.5).all()


def test_negated_factor(run: Run) -> None:
    old = np.array([1], np.float32).view(np.uint32)
    out = _ones(run, "bf16", old, _idesc("bf16", 128, 16, 1 << 14))
    assert (out.view(np.float32) == 1 - 16).all()


@pytest.mark.in_turn(4)
@pytest.mark.parametrize(("extra", "result"), [(0, -(1 << 31) + 29), (8, (1 << 31) - 1)])
def test_saturation(run: Run, extra: int, result: int) -> None:
    old = np.array([(1 << 31) - 3], np.uint32)
    out = _ones(run, "s8", old, _idesc("s8", 128, 16, extra))
    assert (out.view(np.int32) == result).all()


def _magnitudes(exponent: int, mantissa: int, bias: int) -> Arr:
    """Values of the non-negative codes of a small format."""
    codes = np.arange(1 << exponent + mantissa)
    high, low = codes >> mantissa, codes & (1 << mantissa) - 1
    subnormal = low * 2.0 ** (1 - bias - mantissa)
    result: Arr = np.where(high == 0, subnormal, (1 + low / (1 << mantissa)) * 2.0 ** (high - bias))
    return result


_FORMATS: dict[str, tuple[int, int, Arr]] = {
    "e2m3": (3, 6, _magnitudes(2, 3, 1)),
    "e3m2": (4, 6, _magnitudes(3, 2, 3)),
    "e2m1": (5, 4, _magnitudes(2, 1, 1)),
    "e2m1 packed": (1, 4, _magnitudes(2, 1, 1)),
}
"""Number, bits, and values of the non-negative codes."""


def _some(rng: np.random.Generator, type_: str, rows: int) -> tuple[Arr, Arr]:
    """Values, and 32 bytes a row, of random elements of a small type."""
    _, bits, magnitudes = _FORMATS[type_]
    packed = type_.endswith("packed")
    codes = rng.integers(0, 1 << bits, (rows, 64 if packed else 32))
    v = np.concatenate((magnitudes, -magnitudes))[codes]
    if packed:
        return v, (codes[:, ::2] | codes[:, 1::2] << 4).astype(np.uint8)
    out = np.zeros((rows, 32), np.uint8)
    for half in range(2):
        # 16 elements without gaps, then padding up to 16 bytes
        each = codes[:, 16 * half : 16 * half + 16, None] >> np.arange(bits) & 1
        out[:, 16 * half : 16 * half + 2 * bits] = np.packbits(
            each.reshape(rows, -1).astype(np.uint8), axis=1, bitorder="little"
        )
    return v, out


@pytest.mark.in_turn(2)
@pytest.mark.parametrize(("left", "right"), [("e2m1", "e3m2"), ("e2m3", "e2m1")])
def test_small_floats(run: Run, left: str, right: str) -> None:
    """6- and 4-bit floats of kind f8f6f4, 16 of them in 16 bytes."""
    rng = np.random.default_rng(8)
    (a, x), (b, y) = _some(rng, left, 128), _some(rng, right, 16)
    text = _product_kernel("f8f6f4", 4096 + 512, 4096, 16, [(0, 0)])
    data = np.concatenate((_place(x, 4096, _plain(128)), _place(y, 512, _plain(16))))
    idesc = 1 << 4 | _FORMATS[left][0] << 7 | _FORMATS[right][0] << 10 | 2 << 17 | 8 << 24
    descriptors = _descriptor(2048, 128), _descriptor(256, 128)
    out = _launch(run, text, np.zeros((128, 16), np.uint32), data, *descriptors, idesc, False)
    np.testing.assert_array_equal(out.view(np.float32), (a @ b.T).astype(np.float32))


@pytest.mark.in_turn(4)
@pytest.mark.parametrize(
    ("kind", "types", "vector", "first"),
    [
        ("mxf8f6f4.block_scale.scale_vec::1X", ("e2m1", "e3m2"), 32, (2, 1)),
        ("mxf4.block_scale.scale_vec::2X", ("e2m1 packed", "e2m1 packed"), 32, (0, 2)),
        ("mxf4nvf4.block_scale.scale_vec::4X", ("e2m1 packed", "e2m1 packed"), 16, (0, 0)),
    ],
)
@pytest.mark.parametrize("m", [128, 256])
def test_scaled_factors(
    run: Run, m: int, kind: str, types: tuple[str, str], vector: int, first: tuple[int, int]
) -> None:
    """Scales of groups of elements lie in tensor memory after the results, those of a row in each quarter of the lanes."""
    rng = np.random.default_rng(9)
    n, blocks = 64, m // 128
    (a, x), (b, y) = _some(rng, types[0], m), _some(rng, types[1], n)
    c = rng.integers(-9, 10, (m, n)).astype(np.float32)
    powers = vector == 32
    codes = np.array([125, 126, 127, 128] if powers else [0x30, 0x38, 0x40, 0x44])
    factors = np.array([0.25, 0.5, 1, 2] if powers else [0.5, 1, 2, 3])
    memory = np.zeros((m, n + 8), np.uint32)
    memory[:, :n] = c.view(np.uint32)
    scaled = []
    for which, (v, at, rows) in enumerate(((a, n, 128), (b, n + 4, n))):
        chosen = rng.integers(0, 4, (len(v), a.shape[1] // vector))
        scaled.append(v * np.repeat(factors[chosen], vector, axis=1))
        for block in range(blocks):
            own = chosen[rows * block : rows * block + rows] if which == 0 else chosen
            for r in range(rows):
                word = sum(int(codes[own[r, i]]) << 8 * (first[which] + i) for i in range(own.shape[1]))
                memory[128 * block + r % 32 + np.arange(0, 128, 32), at + r // 32] = word
    size_b = 32 * n // blocks
    text = _product_kernel(
        kind, 4096 + size_b, 4096, n + 8, [(0, 0)], group=blocks, tail=" [%t10], [%t11], {keep}"
    ).replace("setp.eq.u32 %p5", f"add.u32 %t10, %tmem, {n}; add.u32 %t11, %tmem, {n + 4}; setp.eq.u32 %p5")
    data = [
        part
        for i in range(blocks)
        for part in (
            _place(x[128 * i : 128 * i + 128], 4096, _plain(128)),
            _place(y[n // blocks * i : n // blocks * (i + 1)], size_b, _plain(n // blocks)),
        )
    ]
    idesc = first[1] << 4 | _FORMATS[types[0]][0] << 7 | _FORMATS[types[1]][0] << 10 | n >> 3 << 17 | m >> 4 << 24
    idesc |= first[0] << 29 | powers << 23
    descriptors = _descriptor(2048, 128), _descriptor(16 * n // blocks, 128)
    out = _launch(run, text, memory, np.concatenate(data), *descriptors, idesc, True, blocks)
    np.testing.assert_array_equal(out[:, :n].view(np.float32), (scaled[0] @ scaled[1].T + c).astype(np.float32))


def _small(run: Run, replace: tuple[str, str] = ("", ""), idesc: int = 0) -> Arr:
    """A product of ones, with a piece of the kernel replaced."""
    ones = np.ones((128, 16), np.float16).view(np.uint8)
    text = _product_kernel("f16", 8192, 4096, 16, [(0, 0)])
    assert replace[0] in text
    desc = _descriptor(2048, 128)
    data = np.concatenate((ones.reshape(-1), ones.reshape(-1)))
    memory = np.zeros((128, 16), np.uint32)
    return _launch(run, text.replace(*replace), memory, data, desc, desc, idesc or _idesc("f16", 128, 16), False)


def test_results_are_late(run: Run) -> None:
    """Without a wait for the object, tensor memory is read as it was."""
    assert (_small(run).view(np.float32) == 16).all()
    assert (_small(run, ("@!%p3 bra waiting;", "")) == 0).all()


@pytest.mark.in_turn(4)
@pytest.mark.parametrize(
    ("replace", "extra", "message"),
    [
        (("[%mine+8]", "[%mine+32]"), 0, "columns 32 to 39 of tensor memory are not all allocated"),
        (("shl.b32 %x0, %warp, 21", "shl.b32 %x0, %warp, 22"), 0, "warp 1 of the block has lanes 32 to 63"),
        (("add.u32 %x7, %tmem, 0", "add.u32 %x7, %tmem, 24"), 0, "columns 24 to 39"),
        (("", ""), 1, "instruction descriptor 0x08040011"),
        (("", ""), 1 << 7, "types 1 and 0 of kind f16"),
        (("add.u32 %x7, %tmem, 0", "add.u32 %x7, %tmem, 0x100000"), 0, "M = 128 at lane 16"),
    ],
)
def test_faults(run: Run, replace: tuple[str, str], extra: int, message: str) -> None:
    with pytest.raises(sim.SimError, match=message):
        _small(run, replace, _idesc("f16", 128, 16, extra))


def test_matrix_descriptors_without_their_constant(run: Run) -> None:
    """Mosaic GPU leaves bits 46 to 48 zero."""
    codes = _bytes("f16", np.ones((128, 16), np.int64)).reshape(-1)
    text = _product_kernel("f16", 8192, 4096, 16, [(0, 0)])
    desc = _descriptor(2048, 128) & ~(1 << 46)
    data = np.concatenate((codes, codes))
    out = _launch(run, text, np.zeros((128, 16), np.uint32), data, desc, desc, _idesc("f16", 128, 16), False)
    np.testing.assert_array_equal(out.view(np.float32), 16)


def test_products_of_packed_floats_may_name_the_version_of_sparse_matrices() -> None:
    """Bit 12 of their instruction descriptor, which CuTe DSL sets, was taken for a part of the type of B."""
    word = 1 << 7 | 1 << 10 | 16 // 8 << 17 | 128 // 16 << 24
    assert Form("mxf4", word | 1 << 12, False, 32).types == ["E2M1x2", "E2M1x2"]


_ALLOCATIONS = (
    _HEAD
    + ".visible .entry k(.param .u64 out)\n{"
    + _REGISTERS
    + """
    .shared .align 4 .b32 second;
    mov.u32 %x1, second;
    ld.param.u64 %l0, [out];
    tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%slot], 32;
    tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%x1], 256;
    ld.shared.b32 %x2, [%slot];
    ld.shared.b32 %x3, [%x1];
    tcgen05.dealloc.cta_group::1.sync.aligned.b32 %x2, 32;
    tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%slot], 128;
    ld.shared.b32 %x4, [%slot];
    st.global.v2.b32 [%l0], {%x2, %x3};
    st.global.b32 [%l0+8], %x4;
    tcgen05.dealloc.cta_group::1.sync.aligned.b32 %x4, 128;
    tcgen05.dealloc.cta_group::1.sync.aligned.b32 %x3, 256;
    ret;
}"""
)


def test_allocation(run: Run) -> None:
    out = np.zeros(3, np.uint32)
    run(_ALLOCATIONS, 1, 32, [out])
    assert out.tolist() == [0, 256, 0]


_COPY = (
    _HEAD
    + ".visible .entry k(.param .u64 src, .param .u64 out)\n{"
    + _REGISTERS
    + """
    .reg .b32 %data, %bar;
    .shared .align 8 .b64 bar;
    .shared .align 1024 .b8 data[4096];
    mov.u32 %data, data;
    mov.u32 %bar, bar;
    setp.eq.u32 %p2, %me, 0;
    @%p2 mbarrier.init.shared::cta.b64 [%bar], 1;
"""
    + _copy_in(4096)
    + _ALLOC.format(group=1, columns=32)
    + f"""
    @!%p2 bra copied;
    shr.u32 %x4, %data, 4;
    cvt.u64.u32 %l3, %x4;
    add.u64 %l3, %l3, {_descriptor(2048, 128)};
    tcgen05.cp.cta_group::1.128x256b [%tmem], %l3;
    tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%bar];
copied:
    {_wait("waiting")}
    tcgen05.fence::after_thread_sync;
    tcgen05.ld.sync.aligned.32x32b.x8.b32 {_regs(0, 8)}, [%mine]; tcgen05.wait::ld.sync.aligned;
    ld.param.u64 %l0, [out]; mul.wide.u32 %l1, %me, 32; add.u64 %l1, %l1, %l0;
    {_global("st", 8, 0)}
"""
    + _FREE.format(group=1, columns=32)
    + "}"
)


@pytest.mark.in_turn(4)
@pytest.mark.parametrize(
    ("shape", "pieces", "quarters"),
    [
        ("128x256b", 2, (0, 1, 2, 3)),
        ("128x128b", 1, (0, 1, 2, 3)),
        ("64x128b.warpx2::02_13", 1, (0, 1, 0, 1)),
        ("64x128b.warpx2::01_23", 1, (0, 0, 1, 1)),
        ("32x128b.warpx4", 1, (0, 0, 0, 0)),
    ],
)
def test_copy_from_shared_memory(run: Run, shape: str, pieces: int, quarters: tuple[int, ...]) -> None:
    rows = np.random.default_rng(2).integers(0, 256, (128, 16 * pieces), dtype=np.uint8)
    out = np.zeros((128, 32), np.uint8)
    run(_COPY.replace("128x256b", shape), 1, 128, [_place(rows, 4096, _plain(128)), out])
    expected = np.concatenate([rows[32 * q : 32 * q + 32] for q in quarters])
    np.testing.assert_array_equal(out[:, : 16 * pieces], expected)


def test_parts_of_the_record_of_allocations() -> None:
    """ptxas 13.4 has five variables where ptxas 13.0 has one; the even block of a pair goes first."""
    shared = Banked(2, 64, 0, "shared", 0xA5)
    places = dict(zip(TENSOR_RECORD, (None, 0, 16, 24, 32), strict=True))
    for name, place in places.items():
        if place is not None:
            reserve(shared, 2, name, place)
    for block in range(2):
        data = shared.data[64 * block : 64 * block + 64]
        assert data[0] == 0 and not data[16:20].any() and data[32:36].view(np.uint32)[0] == 1 - block
        assert int(data[24:32].view(np.uint64)[0]) == int(fresh(1))
        assert (data[1:16] == 0xA5).all() and (data[36:] == 0xA5).all()
