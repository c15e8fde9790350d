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
