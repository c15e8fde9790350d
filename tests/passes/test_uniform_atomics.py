"""Atomics of all threads on one word are combined, and give the same results."""

import numpy as np
import pytest

import orias
from orias import sim
from tests.rotation import with_later

TEXT = """\
.version 8.0
.target sm_75
.address_size 64
.visible .entry k(.param .u64 p, .param .u32 n)
{
    .reg .b64 %d<4>;
    .reg .b32 %r<9>;
    .reg .pred %p<3>;
    ld.param.u64 %d0, [p];
    ld.param.u32 %r0, [n];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %d1, %r1, 4;
    add.u64 %d1, %d1, %d0;
    setp.gt.u32 %p0, %r1, %r0;
    @%p0 bra OTHERS;
    red.global.add.u32 [%d0], 1;
    red.global.add.u32 [%d0+4], %r1;
    red.global.max.s32 [%d0+8], %r1;
    red.global.min.u32 [%d0+12], %r1;
    red.global.or.b32 [%d0+16], %r0;
    red.global.xor.b32 [%d0+20], %r1;
    red.global.xor.b32 [%d0+24], 5;
    red.global.and.b32 [%d0+28], %r1;
    atom.global.add.u32 %r2, [%d0+32], 3;
    st.global.u32 [%d1+256], %r2;
    bra END;
OTHERS:
    atom.global.add.u32 %r3, [%d0+36], %r0;
    st.global.u32 [%d1+256], %r3;
    mov.u32 %r4, 0;
TURN:
    red.global.add.u32 [%d0+40], %r4;
    add.u32 %r4, %r4, 1;
    and.b32 %r5, %r1, 7;
    setp.le.u32 %p1, %r4, %r5;
    @%p1 bra TURN;
END:
    ret;
}
"""
N = 41


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("arch", with_later(["sm_75", "sm_80", "sm_90a"], "uniform atomics"))
@pytest.mark.parametrize("threads", [32, 64, 77])
def test_results(arch: str, threads: int) -> None:
    ids = np.arange(threads, dtype=np.int64)
    first, rest = ids[ids <= N], ids[ids > N]
    start = [0, 0, -5 & 0xFFFFFFFF, 99, 0, 0, 0, 0xFFFFFFFF, 7, 11, 0]
    odd = 5 * (len(first) & 1)
    want = [
        len(first), first.sum(), first.max(), first.min(), N, np.bitwise_xor.reduce(first), odd, np.bitwise_and.reduce(first),
        7 + 3 * len(first), 11 + N * len(rest), sum(k * (k + 1) // 2 for k in rest & 7),
    ]  # fmt: skip
    for level in (0, 1, 3):
        data = np.zeros(64 + 96, np.uint32)
        data[: len(start)] = start
        cubin = orias.compile(TEXT, arch=arch, opt_level=level, self_check=True)
        sim.load(cubin.data).launch("k", 1, threads, [data, np.uint32(N)])
        assert data[: len(want)].tolist() == [int(x) for x in want]
        # Every thread has an old value of its own.
        assert sorted(data[64 : 64 + len(first)].tolist()) == [7 + 3 * k for k in range(len(first))]
        assert sorted(data[64 + len(first) : 64 + threads].tolist()) == [11 + N * k for k in range(len(rest))]


def test_one_thread_of_a_warp_runs_them() -> None:
    text = orias.compile(TEXT, arch="sm_80").disassemble()
    assert text.count("REDUX") == 5
    assert [line.split()[1][:2] for line in text.splitlines() if " RED.E" in line or " ATOMG" in line] == ["@P"] * 11


def test_words_of_64_bits_stay() -> None:
    """Of both signs: values beyond 32 bits count whole."""
    text = (
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n.reg .b64 %d<5>;\n.reg .b32 %r;\n"
        "ld.param.u64 %d0, [p];\nmov.u32 %r, %tid.x;\nmul.wide.u32 %d1, %r, 0x40000001;\nneg.s64 %d2, %d1;\n"
        "red.global.min.s64 [%d0], %d2;\nred.global.max.s64 [%d0+8], %d1;\nred.global.max.u64 [%d0+16], %d1;\n"
        "red.global.add.u64 [%d0+24], %d1;\nred.global.max.s64 [%d0+32], 0x500000000;\nret;\n}\n"
    )
    data = np.zeros(5, np.int64)
    sim.load(orias.compile(text, arch="sm_80", self_check=True).data).launch("k", 1, 32, [data])
    last = 31 * 0x40000001
    assert data.tolist() == [-last, last, last, 16 * last, 0x500000000]


def test_words_of_threads_and_float_sums_stay() -> None:
    """Another word in each thread; a sum that depends on the order; a mask that says who takes part."""
    own = TEXT.replace("[%d0", "[%d1").replace("red.global.add.u32 [%d1], 1;", "red.global.add.f32 [%d0], 0f3f800000;")
    text = orias.compile(own, arch="sm_80").disassemble()
    assert "REDUX" not in text and "@P" not in "".join(line for line in text.splitlines() if "RED.E" in line)


MORE = """\
.version 8.0
.target sm_75
.address_size 64
.visible .entry k(.param .u64 p, .param .u64 v)
{
    .reg .b64 %d<12>;
    .reg .b32 %r<16>;
    .reg .pred %p<3>;
    .shared .align 8 .b32 s[16];
    ld.param.u64 %d0, [p];
    ld.param.u64 %d1, [v];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %d2, %r1, 16;
    add.u64 %d2, %d2, %d0;
    mul.wide.u32 %d3, %r1, 0x77777777;
    shl.b64 %d4, %d3, 31;
    and.b32 %r2, %r1, 7;
    shl.b32 %r2, %r2, 2;
    mov.u32 %r3, s;
    add.u32 %r4, %r3, %r2;
    shl.b32 %r5, %r1, 2;
    add.u32 %r5, %r5, %r3;
    setp.lt.u32 %p0, %r1, 16;
    @%p0 st.shared.u32 [%r5], 100;
    bar.sync 0;
    red.global.max.s64 [%d0], %d4;
    red.global.max.u64 [%d0+8], %d1;
    red.global.add.u64 [%d0+16], 1;
    red.global.add.u64 [%d0+24], %d1;
    red.global.add.u64 [%d0+32], -3;
    red.global.add.u64 [%d0+40], %d4;
    atom.global.add.u64 %d5, [%d0+48], %d1;
    st.global.u64 [%d2+256], %d5;
    atom.global.add.u64 %d6, [%d0+56], 1;
    st.global.u64 [%d2+264], %d6;
    red.add.u32 [%d0+64], 6;
    setp.eq.u32 %p1, %r1, 0;
    @%p1 exit;
    red.global.add.u32 [%d0+72], %r1;
    red.shared.add.u32 [%r4], 1;
    red.shared.add.u32 [%r3+32], 1;
    red.shared.add.u32 [%r3+36], %r1;
    red.shared.min.s32 [%r3+40], %r1;
    atom.shared.add.u32 %r6, [%r3+44], 4;
    mad.lo.u32 %r6, %r6, 1, 0;
    st.global.u32 [%d0+84], %r6;
    bar.sync 0;
    @%p0 ld.shared.u32 %r7, [%r5];
    cvt.u64.u32 %d7, %r5;
    cvt.u64.u32 %d8, %r3;
    sub.u64 %d7, %d7, %d8;
    add.u64 %d7, %d7, %d0;
    @%p0 st.global.u32 [%d7+128], %r7;
    ret;
}
"""


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("arch", with_later(["sm_75", "sm_80", "sm_90a"], "long and shared atomics"))
@pytest.mark.parametrize("threads", [32, 77])
def test_long_shared_and_generic_results(arch: str, threads: int) -> None:
    """Sums of 64 bits, words of shared memory, an address of any space, and a thread that ends between two atomics of a block."""
    v, mask = 0xF000000012345678, (1 << 64) - 1
    ids = np.arange(threads, dtype=object)
    own = (ids * 0x77777777) << 31 & mask
    start = [0, 0, 5, 7, 9, 11, 13, 15, 17, 19]
    most = max(x - (1 << 64) if x >> 63 else x for x in [*own, 0]) & mask
    want = [
        most,
        v,
        5 + threads,
        7 + v * threads,
        9 - 3 * threads,
        11 + sum(own),
        13 + v * threads,
        15 + threads,
        17 + 6 * threads,
    ]
    # In shared memory words 0 to 7 count the threads of each, all but the one that has ended.
    words = [100 + sum(1 for t in range(1, threads) if t % 8 == k) for k in range(8)]
    words += [100 + threads - 1, 100 + sum(range(1, threads)), 1, 100 + 4 * (threads - 1)]
    for level in (0, 1, 3):
        data = np.zeros(32 + 2 * threads, np.uint64)
        data[: len(start)] = start
        cubin = orias.compile(MORE, arch=arch, opt_level=level, self_check=True)
        sim.load(cubin.data).launch("k", 1, threads, [data, np.uint64(v)])
        assert [int(x) for x in data[: len(want)]] == [x & mask for x in want]
        assert int(data[9]) & 0xFFFFFFFF == 19 + sum(range(1, threads))
        # Thread 0 has ended, so nobody has stored word 0.
        assert data[16:22].view(np.uint32).tolist() == [0, *words[1:]]
        olds = data[32 : 32 + 2 * threads].reshape(threads, 2)
        assert sorted(olds[:, 0].tolist()) == sorted((13 + v * k) & mask for k in range(threads))
        assert sorted(olds[:, 1].tolist()) == [15 + k for k in range(threads)]


def test_atomics_of_a_block_share_their_vote() -> None:
    """One vote before the thread that ends, one after it; the count in shared memory needs none."""
    text = orias.compile(MORE, arch="sm_90").disassemble()
    assert text.count("VOTE") == 2 and text.count("ATOMS.POPC.INC.32 RZ") == 2
    assert [line.split()[1][:2] for line in text.splitlines() if " REDG.E.MAX" in line] == ["RE", "RE"]
