"""Code for what PTX 9.1 to 9.5 added, run in the simulator, and the PTX interpreter, against results computed here."""

import numpy as np
import pytest

import orias
from orias import sim
from orias.ptx.parser import parse
from orias.sim.ptx import PtxImage

RNG = np.random.default_rng(5)
N = 64


def kernel(target: str, body: str) -> str:
    """A kernel with 64-bit words a, b, c of each thread in %rd4..%rd6, that writes %rd10."""
    return f"""
.version 9.5
.target {target}
.address_size 64
.visible .entry k(.param .u64 x, .param .u64 y) {{
.reg .pred %p<4>; .reg .b8 %b<4>; .reg .b16 %h<16>; .reg .b32 %r<16>; .reg .b64 %rd<16>; .reg .f32 %f<16>;
.shared .align 8 .b64 mb;
mov.u32 %r0, %tid.x;
ld.param.u64 %rd0, [x];
ld.param.u64 %rd1, [y];
mad.wide.u32 %rd2, %r0, 32, %rd0;
mad.wide.u32 %rd3, %r0, 8, %rd1;
ld.global.u64 %rd4, [%rd2];
ld.global.u64 %rd5, [%rd2+8];
ld.global.u64 %rd6, [%rd2+16];
mov.b64 {{%r1, %r3}}, %rd4;
mov.b64 {{%r2, %r4}}, %rd5;
mov.u32 %r10, 0;
{body}
st.global.u64 [%rd3], %rd10;
ret;
}}
"""


def run(target: str, body: str, data: np.ndarray) -> list[np.ndarray]:
    """The results of our code at -O0 and -O3 and of the interpreter."""
    text = kernel(target, body)
    out = []
    for image in (
        *(sim.load(orias.compile(text, arch=target, opt_level=level).data) for level in (0, 3)),
        PtxImage(parse(text, "k.ptx"), target),
    ):
        x, y = data.copy(), np.zeros(N, np.uint64)
        image.launch("k", grid=1, block=N, args=[x, y])
        out.append(y)
    return out


def check(target: str, body: str, data: np.ndarray, wanted: np.ndarray) -> None:
    for y in run(target, body, data):
        np.testing.assert_array_equal(y, wanted)


def words() -> np.ndarray:
    data = RNG.integers(0, 1 << 64, (N, 4), np.uint64)
    data[:8, 0] = [0, 1, 1 << 63, (1 << 64) - 1, 0x80808080, 0x7F7F7F7F, 0x80007FFF, 0xFFFF8000]
    data[:8, 1] = [5, (1 << 64) - 1, 1 << 63, (1 << 64) - 1, 0x80808080, 0x7F017F01, 0x8000FFFF, 0x00018000]
    return data


@pytest.mark.parametrize("target", ["sm_80", "sm_90", "sm_100", "sm_120"])
def test_products_without_carries(target: str) -> None:
    data = words()
    wanted = np.zeros(N, np.uint64)
    for i, (a, b, c, _) in enumerate(data.tolist()):
        product = 0
        for k in range(64):
            product ^= (a << k) if b >> k & 1 else 0
        low = (product ^ c) & (1 << 64) - 1
        square = 0
        for k in range(64):
            square ^= (low << k) if b >> k & 1 else 0
        wanted[i] = square >> 64 ^ 77
    check(target, "clmad.lo.u64 %rd7, %rd4, %rd5, %rd6;\nclmad.hi.u64 %rd10, %rd7, %rd5, 77;", data, wanted)


def fields(v: np.ndarray, bits: int, signed: bool) -> np.ndarray:
    low = (v & np.uint64(0xFFFFFFFF)).astype(np.uint32)
    kind = (
        {8: np.int8, 16: np.int16, 32: np.int32}[bits] if signed else {8: np.uint8, 16: np.uint16, 32: np.uint32}[bits]
    )
    return low.view(kind).reshape(N, -1).astype(np.int64)


@pytest.mark.parametrize(
    ("line", "bits", "signed"),
    [
        ("add.u8x4", 8, False), ("sub.s8x4", 8, True), ("min.s8x4", 8, True), ("max.u8x4", 8, False), ("min.relu.s8x4", 8, True),
        ("add.sat.u8x4", 8, False), ("sub.sat.s8x4", 8, True), ("add.sat.u32", 32, False), ("add.sat.u16x2", 16, False),
        ("add.sat.s16x2", 16, True), ("neg.s8x4", 8, True),
    ],
)  # fmt: skip
def test_packed_integers(line: str, bits: int, signed: bool) -> None:
    data = words()
    a, b = fields(data[:, 0], bits, signed), fields(data[:, 1], bits, signed)
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    operation = line.split(".")[0]
    r = {"add": a + b, "sub": a - b, "min": np.minimum(a, b), "max": np.maximum(a, b), "neg": -a}[operation]
    r = np.maximum(r, 0) if "relu" in line else np.clip(r, low, high) if "sat" in line else r
    words_of = (r & (1 << bits) - 1).astype(np.uint64)
    wanted = sum(words_of[:, k] << np.uint64(bits * k) for k in range(words_of.shape[1]))
    operands = "%r1" if operation == "neg" else "%r1, %r2"
    check("sm_120a", f"{line} %r10, {operands};\ncvt.u64.u32 %rd10, %r10;", data, wanted)


def test_additions_that_keep_subnormal_numbers() -> None:
    data = np.zeros((N, 4), np.uint64)
    data[:, 0], data[:, 1] = np.arange(N), 3
    body = "st.global.u32 [%rd2], %r1;\natom.global.add.noftz.f32 %f1, [%rd2], 0f00000003;\nld.global.u32 %r5, [%rd2];\ncvt.u64.u32 %rd10, %r5;"
    check("sm_90", body, data, np.arange(N, dtype=np.uint64) + np.uint64(3))


def test_bfloats_from_and_to_eight_bits() -> None:
    data = words()
    data[:, 0] = np.arange(N) * 3 | np.arange(N) * 2 << 8
    body = (
        "cvt.u16.u32 %h1, %r1;\ncvt.rn.bf16x2.e4m3x2 %r5, %h1;\ncvt.rn.satfinite.e4m3x2.bf16x2 %h2, %r5;\n"
        "cvt.u32.u16 %r6, %h2;\nmov.b64 %rd10, {%r6, %r5};"
    )
    results = run("sm_100a", body, data)
    for y in results:
        # Every value of e4m3 is one of bfloat16, so that converting back gives the same codes (0x7f and 0xff are NaN).
        back = y & np.uint64(0xFFFF)
        np.testing.assert_array_equal(back, data[:, 0] & np.uint64(0xFFFF))
        np.testing.assert_array_equal(y, results[0])
    one = int(results[0][(data[:, 0] & np.uint64(0xFF)).tolist().index(0x39)] >> np.uint64(32)) & 0xFFFF
    assert one == 0x3F90  # 0x39 is 1.125


@pytest.mark.parametrize("target", ["sm_90", "sm_100"])
def test_layouts_of_barrier_objects(target: str) -> None:
    body = """
setp.eq.u32 %p1, %r0, 0;
@%p1 mbarrier.init.layout::v1.shared::cta.b64 [mb], 64;
bar.sync 0;
mbarrier.check_layout.layout::v1.shared::cta.b64 %p2, [mb];
mbarrier.check_layout.layout::v0.shared::cta.b64 %p3, [mb];
selp.u32 %r5, 1, 0, %p2;
selp.u32 %r6, 2, 0, %p3;
mbarrier.arrive.shared::cta.b64 %rd7, [mb];
bar.sync 0;
mbarrier.test_wait.phase_type::primary.shared::cta.b64 %p2|%p3, [mb], %rd7;
selp.u32 %r7, 4, 0, %p2;
selp.u32 %r8, 8, 0, %p3;
add.u32 %r5, %r5, %r6;
add.u32 %r7, %r7, %r8;
add.u32 %r5, %r5, %r7;
cvt.u64.u32 %rd10, %r5;
"""
    check(target, body, words(), np.full(N, 5, np.uint64))
