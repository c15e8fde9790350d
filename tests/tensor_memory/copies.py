"""Programs with tcgen05.cp, commit and allocations."""

from typing import Any

import numpy as np
import numpy.typing as npt

from tests.tensor_memory.programs import Program, allocate, drain, fill, free, kernel, row, words

Arr = npt.NDArray[Any]

_SHAPES = {
    "128x256b": (2, (0, 1, 2, 3)), "128x128b": (1, (0, 1, 2, 3)), "64x128b.warpx2::02_13": (1, (0, 1, 0, 1)),
    "64x128b.warpx2::01_23": (1, (0, 0, 1, 1)), "32x128b.warpx4": (1, (0, 0, 0, 0)), "4x256b": (2, (0, 1, 2, 3)),
}  # fmt: skip
"""(16-byte pieces of a row, the 32 rows that each warp's lanes receive) of each shape."""
WAIT = """
{name}:
    mbarrier.try_wait.parity.shared::cta.b64 %p3, [%bar], {phase};
    @!%p3 bra {name};
    tcgen05.fence::after_thread_sync;
"""


def to_shared(size: int) -> str:
    """The array `src` to shared memory, a quarter of a KiB at a time."""
    return f"""
    ld.param.u64 %l0, [src];
    mov.u32 %x3, %me;
copying:
    mul.wide.u32 %l1, %x3, 16;
    add.u64 %l2, %l0, %l1;
    ld.global.v4.b32 {{%t0, %t1, %t2, %t3}}, [%l2];
    shl.b32 %x4, %x3, 4;
    add.u32 %x4, %x4, %data;
    st.shared.v4.b32 [%x4], {{%t0, %t1, %t2, %t3}};
    add.u32 %x3, %x3, 128;
    setp.lt.u32 %p2, %x3, {size // 16};
    @%p2 bra copying;
    fence.proxy.async.shared::cta;
"""


def _descriptor() -> str:
    """%l3: 128 rows of 16-byte pieces without swizzle, 8 rows together, the next piece 2048 bytes on."""
    constant = 2048 >> 4 << 16 | 128 >> 4 << 32 | 1 << 46
    return f"""
    bfe.u32 %x4, %data, 4, 14;
    cvt.u64.u32 %l3, %x4;
    add.u64 %l3, %l3, {constant};
"""


INIT = """
    @%p1 mbarrier.init.shared::cta.b64 [%bar], {count};
    @%p1 fence.mbarrier_init.release.cluster;
"""


def copies() -> list[Program]:
    """tcgen05.cp, waited for with tcgen05.commit; who issues differs: thread 0, an elected thread, a warp with two copies."""
    out = []
    for shape in _SHAPES:
        out += [_copy(shape, who) for who in ("first", "elected", "both")]
        out += [_copy(shape, "first", source) for source in ("b6x16_p32", "b4x16_p64")]
    for group in (1, 2):
        out += [
            _pair_copy(group, "128x256b"),
            _pair_copy(group, "4x256b"),
            _pair_copy(group, "128x256b.b8x16.b4x16_p64"),
            _pair_copy(group, "128x128b.b8x16.b4x16_p64"),
        ]
        out += [_shift(group, quarter) for quarter in (0, 3)]
    out += [_allocations(), _counts(), _pairs(), _generic(), _reuse()]
    return out


def _bytes(rows: Arr, source: str) -> Arr:
    """Rows of 16-byte pieces as bytes: of 16 elements with gaps, 4-bit ones at bit 2, 6-bit ones at bit 0."""
    if not source:
        return rows
    width = 6 if source == "b6x16_p32" else 4
    bits = np.unpackbits(rows.reshape(len(rows), -1, 16), axis=-1, bitorder="little")[..., : 16 * width]
    codes = (bits.reshape(len(rows), -1, width) << np.arange(width)).sum(axis=-1) << (2 if width == 4 else 0)
    result: Arr = codes.astype(np.uint8)
    return result


def _lanes(shape: str, rows: Arr) -> tuple[Arr, Arr]:
    """The lanes that a copy writes, and what they hold then."""
    pieces, quarters = _SHAPES[shape]
    if shape == "4x256b":
        return np.arange(0, 128, 32), rows[:4]
    return np.arange(128), np.concatenate([rows[32 * q : 32 * q + 32, : 16 * pieces] for q in quarters])


def _copy(shape: str, who: str, source_format: str = "") -> Program:
    convert = f".b8x16.{source_format}" if source_format else ""
    issue = f"tcgen05.cp.cta_group::1.{shape}{convert} [%tmem+{{}}], %l3;"
    commit = "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%bar];"
    if who == "first":
        body = f"@!%p1 bra copied;\n{issue.format(8)}\n{commit}\n"
        count = 1
    elif who == "elected":
        body = f"@%p0 bra copied;\nelect.sync _|%p4, 0xffffffff;\n@!%p4 bra copied;\n{issue.format(8)}\n{commit}\n"
        count = 1
    else:
        # Two threads issue the same copies: ptxas takes the operands of one of them for both.
        body = f"""
    setp.gt.u32 %p4, %me, 1;
    @%p4 bra copied;
    {issue.format(0)}
    {issue.format(8)}
    {commit}
"""
        count = 2
    text = kernel(
        "src out",
        INIT.format(count=count)
        + to_shared(4096)
        + allocate(32)
        + _descriptor()
        + body
        + "copied:\n"
        + WAIT.format(name="waiting", phase=0)
        + drain(32)
        + free(32),
    )
    rows = np.random.default_rng(2).integers(0, 256, (128, 32), dtype=np.uint8)
    source = np.concatenate([rows[:, :16].reshape(-1), rows[:, 16:].reshape(-1)])
    first = [8] if who != "both" else [0, 8]

    def check(found: list[Arr]) -> None:
        lanes, want = _lanes(shape, _bytes(rows, source_format))
        for c in first:
            np.testing.assert_array_equal(found[-1][lanes, 4 * c : 4 * c + want.shape[1]], want)

    name = f"cp.{shape}{convert}.{who}"
    return Program(name, text, lambda: [source, np.zeros((128, 128), np.uint8)], check)


def _pair_copy(group: int, form: str) -> Program:
    """A cluster of two blocks; the first one issues for both, and arrives in both with a mask."""
    # With cta_group::1 each block copies for itself and arrives in both.
    leader = "@%p6 bra copied;" if group == 2 else ""
    text = kernel(
        "src out",
        INIT.format(count=1 if group == 2 else 2)
        + to_shared(4096)
        + allocate(32, group)
        + _descriptor()
        + f"""
    barrier.cluster.arrive; barrier.cluster.wait;
    mov.u32 %x6, %cluster_ctarank;
    setp.ne.u32 %p6, %x6, 0;
    mov.u16 %h1, 3;
    @!%p1 bra copied;
    {leader}
    tcgen05.cp.cta_group::{group}.{form} [%tmem], %l3;
    tcgen05.commit.cta_group::{group}.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%bar], %h1;
copied:
"""
        + WAIT.format(name="waiting", phase=0)
        + "    mov.u32 %x6, %cluster_ctarank;\n    shl.b32 %x7, %x6, 7;\n    add.u32 %me, %me, %x7;\n"
        + drain(32)
        + "    barrier.cluster.arrive; barrier.cluster.wait;\n"
        + free(32, group),
        cluster=2,
    )
    rows = np.random.default_rng(3).integers(0, 256, (128, 32), dtype=np.uint8)
    source = np.concatenate([rows[:, :16].reshape(-1), rows[:, 16:].reshape(-1)])

    def check(found: list[Arr]) -> None:
        shape, _, source_format = form.partition(".b8x16.")
        lanes, want = _lanes(shape, _bytes(rows, source_format))
        for block in range(2):
            np.testing.assert_array_equal(found[-1][128 * block + lanes, : want.shape[1]], want)

    return Program(f"cp.group{group}.{form}", text, lambda: [source, np.zeros((256, 128), np.uint8)], check, cluster=2)


def _shift(group: int, quarter: int) -> Program:
    """32 lanes move 8 columns by one lane; in both blocks with cta_group::2."""
    pair = "    mov.u32 %x6, %cluster_ctarank;\n    shl.b32 %x7, %x6, 7;\n    add.u32 %me, %me, %x7;\n"
    meet = "    barrier.cluster.arrive; barrier.cluster.wait;\n"
    text = kernel(
        "fill out",
        INIT.format(count=1)
        + allocate(32, group)
        + pair
        + fill(32)
        + "    tcgen05.fence::before_thread_sync;\n"
        + meet
        + f"""
    tcgen05.fence::after_thread_sync;
    mov.u16 %h1, 3;
    setp.ne.u32 %p5, %me, 0;
    @%p5 bra shifted;
    tcgen05.shift.cta_group::{group}.down [%tmem+{(quarter << 21) + 4}];
    tcgen05.commit.cta_group::{group}.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%bar], %h1;
shifted:
"""
        + WAIT.format(name="waiting", phase=0)
        + drain(32)
        + meet
        + free(32, group),
        cluster=2,
    )
    memory = np.random.default_rng(quarter).integers(0, 1 << 32, (256, 32), dtype=np.uint32)

    def check(found: list[Arr]) -> None:
        want = memory.copy()
        for block in range(group):
            first = 128 * block + 32 * quarter
            want[first : first + 31, 4:12] = memory[first + 1 : first + 32, 4:12]
        np.testing.assert_array_equal(found[-1], want)

    return Program(f"shift.{quarter}.group{group}", text, lambda: [memory, np.zeros_like(memory)], check, cluster=2)


# -- allocations


def _allocations() -> Program:
    """Several allocations of one warp, in the order of the hardware: the lowest aligned free place."""
    text = kernel(
        "out",
        """
    .shared .align 4 .b32 second;
    mov.u32 %x1, second;
    ld.param.u64 %l0, [out];
    tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%slot], 32;
    tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%x1], 256;
    ld.shared.b32 %x2, [%slot];
    ld.shared.b32 %x3, [%x1];
    tcgen05.dealloc.cta_group::1.sync.aligned.b32 %x2, 32;
    tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%slot+4], 128;
    ld.shared.b32 %x4, [%slot+4];
    st.global.v2.b32 [%l0], {%x2, %x3};
    st.global.b32 [%l0+8], %x4;
    tcgen05.dealloc.cta_group::1.sync.aligned.b32 %x4, 128;
    tcgen05.dealloc.cta_group::1.sync.aligned.b32 %x3, 256;
    tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;
""",
    )

    def check(found: list[Arr]) -> None:
        assert found[-1].tolist() == [0, 256, 0]

    return Program("alloc.several", text, lambda: [np.zeros(3, np.uint32)], check, threads=32)


def _counts() -> Program:
    """The number of columns in a register, all that there are one after the other, by a warp other than the first."""
    text = kernel(
        "out",
        """
    setp.ne.u32 %p4, %warp, 1;
    @%p4 bra done;
    ld.param.u64 %l0, [out];
    mov.u32 %x1, 32;
again:
    tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%slot], %x1;
    ld.shared.b32 %x2, [%slot];
    tcgen05.dealloc.cta_group::1.sync.aligned.b32 %x2, %x1;
    st.global.b32 [%l0], %x2;
    st.global.b32 [%l0+4], %x1;
    add.u64 %l0, %l0, 8;
    shl.b32 %x1, %x1, 1;
    setp.le.u32 %p5, %x1, 512;
    @%p5 bra again;
done:
""",
    )

    def check(found: list[Arr]) -> None:
        assert found[-1].tolist() == [0, 32, 0, 64, 0, 128, 0, 256, 0, 512]

    return Program("alloc.counts", text, lambda: [np.zeros(10, np.uint32)], check, threads=64)


def _pairs() -> Program:
    """Two allocations of a pair of blocks, whose addresses agree."""
    text = kernel(
        "out",
        """
    .shared .align 4 .b32 second;
    mov.u32 %x1, second;
    ld.param.u64 %l0, [out];
    tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [%slot], 64;
    tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [%x1], 128;
    tcgen05.relinquish_alloc_permit.cta_group::2.sync.aligned;
    ld.shared.b32 %x2, [%slot];
    ld.shared.b32 %x3, [%x1];
    mov.u32 %x6, %cluster_ctarank;
    mad.wide.u32 %l1, %x6, 8, %l0;
    st.global.v2.b32 [%l1], {%x2, %x3};
    barrier.cluster.arrive; barrier.cluster.wait;
    tcgen05.dealloc.cta_group::2.sync.aligned.b32 %x2, 64;
    tcgen05.dealloc.cta_group::2.sync.aligned.b32 %x3, 128;
""",
        cluster=2,
    )

    def check(found: list[Arr]) -> None:
        assert found[-1].tolist() == [0, 128, 0, 128]

    return Program("alloc.pairs", text, lambda: [np.zeros(4, np.uint32)], check, threads=32, cluster=2)


def _generic() -> Program:
    """Generic addresses of the slot and of the barrier object."""
    text = kernel(
        "out",
        """
    cvta.shared.u64 %l4, slot;
    cvta.shared.u64 %l5, bar;
"""
        + INIT.format(count=1)
        + """
    bar.sync 0;
    @%p0 bra allocated;
    tcgen05.alloc.cta_group::1.sync.aligned.b32 [%l4+4], 64;
allocated:
    bar.sync 0;
    @%p1 tcgen05.commit.cta_group::1.mbarrier::arrive::one.b64 [%l5];
"""
        + WAIT.format(name="waiting", phase=0)
        + """
    ld.shared.b32 %tmem, [%slot+4];
    ld.param.u64 %l0, [out];
    mad.wide.u32 %l1, %me, 4, %l0;
    add.u32 %x1, %tmem, 7;
    st.global.b32 [%l1], %x1;
"""
        + free(64),
    )

    def check(found: list[Arr]) -> None:
        assert (found[-1] == 7).all()

    return Program("alloc.generic", text, lambda: [np.zeros(128, np.uint32)], check)


def _reuse() -> Program:
    """Loads under way while registers are reused: a loop with three loads of which only sums are kept."""
    body = """
    mov.u32 %x1, 0;
    mov.u32 %x2, 0;
again:
    add.u32 %x3, %mine, %x1;
    tcgen05.ld.sync.aligned.32x32b.x4.b32 {%t0, %t1, %t2, %t3}, [%x3];
    tcgen05.ld.sync.aligned.32x32b.x4.b32 {%t4, %t5, %t6, %t7}, [%x3+4];
    tcgen05.wait::ld.sync.aligned;
    add.u32 %t0, %t0, %t5;
    xor.b32 %t1, %t1, %t6;
    tcgen05.st.sync.aligned.32x32b.x2.b32 [%x3], {%t0, %t1};
    add.u32 %t0, %t2, 1;
    add.u32 %x2, %x2, %t0;
    tcgen05.wait::st.sync.aligned;
    tcgen05.ld.sync.aligned.32x32b.x1.b32 {%t9}, [%x3];
    add.u32 %x1, %x1, 8;
    setp.lt.u32 %p4, %x1, 32;
    tcgen05.wait::ld.sync.aligned;
    add.u32 %x2, %x2, %t9;
    @%p4 bra again;
    mov.u32 %t0, %x2;
"""
    out = "    ld.param.u64 %l0, [out];\n    mad.wide.u32 %l1, %me, 4, %l0;\n" + words("st", 1)
    setup = row("fill", 32) + words("ld", 32)
    setup += "    tcgen05.st.sync.aligned.32x32b.x32.b32 [%mine], {" + ", ".join(f"%t{i}" for i in range(32)) + "};\n"
    setup += "    tcgen05.wait::st.sync.aligned;\n"
    memory = np.random.default_rng(9).integers(0, 1 << 32, (128, 32), dtype=np.uint32)

    def check(found: list[Arr]) -> None:
        v = memory.reshape(128, 4, 8).astype(np.uint64)
        want = (v[:, :, 0] + v[:, :, 5] + v[:, :, 2] + 1).sum(axis=1)
        np.testing.assert_array_equal(found[-1], want.astype(np.uint32))

    text = kernel("fill out", allocate(32) + setup + body + out + free(32))
    return Program("ld.reuse", text, lambda: [memory, np.zeros(128, np.uint32)], check)
