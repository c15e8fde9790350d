"""Matrix products of more warps than are worked on together."""

import numpy as np
import pytest

import orias
from orias import sim

WARPS = 300

PRODUCT = """
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 words, .param .u64 sums)
{{
  .reg .b32 %r<12>; .reg .{accumulator} %c<4>; .reg .b64 %a<6>;
  ld.param.u64 %a0, [words]; ld.param.u64 %a1, [sums];
  mov.u32 %r10, %tid.x; mov.u32 %r11, %ctaid.x; shl.b32 %r11, %r11, 5; add.u32 %r10, %r10, %r11;
  mul.wide.u32 %a2, %r10, 24; add.u64 %a2, %a0, %a2; mul.wide.u32 %a3, %r10, 16; add.u64 %a3, %a1, %a3;
  ld.global.b32 %r0, [%a2]; ld.global.b32 %r1, [%a2+4]; ld.global.b32 %r2, [%a2+8]; ld.global.b32 %r3, [%a2+12];
  ld.global.b32 %r4, [%a2+16]; ld.global.b32 %r5, [%a2+20];
  ld.global.{accumulator} %c0, [%a3]; ld.global.{accumulator} %c1, [%a3+4];
  ld.global.{accumulator} %c2, [%a3+8]; ld.global.{accumulator} %c3, [%a3+12];
  mma.sync.aligned.{shape}.row.col.{types} {{%c0,%c1,%c2,%c3}}, {{%r0,%r1,%r2,%r3}}, {{%r4,%r5}}, {{%c0,%c1,%c2,%c3}};
  st.global.{accumulator} [%a3], %c0; st.global.{accumulator} [%a3+4], %c1;
  st.global.{accumulator} [%a3+8], %c2; st.global.{accumulator} [%a3+12], %c3;
  ret;
}}
"""

KINDS = {
    "f16": ("m16n8k16", "f32.f16.f16.f32", np.float16, np.float32),
    "s8": ("m16n8k32", "s32.s8.u8.s32", np.int8, np.int32),
}


@pytest.mark.parametrize("kind", KINDS)
def test_products(kind):
    shape, types, factor, accumulator = KINDS[kind]
    rng = np.random.default_rng(1)
    k = int(shape.split("k")[1])
    left = rng.integers(-100, 100, (WARPS, 16, k)).astype(factor)
    right = rng.integers(0, 100, (WARPS, k, 8)).astype(factor)
    start = rng.integers(-1000, 1000, (WARPS, 16, 8)).astype(accumulator)
    words = np.empty((WARPS, 32, 6, k // 8 * factor().itemsize), np.uint8).view(factor)
    sums = np.empty((WARPS, 32, 4), accumulator)
    per = k // 8
    for lane in range(32):
        row, column = divmod(lane, 4)
        for r in range(4):
            words[:, lane, r] = left[:, row + 8 * (r & 1), per * (column + 4 * (r >> 1)) :][:, :per]
            sums[:, lane, r] = start[:, row + 8 * (r >> 1), 2 * column + (r & 1)]
        for r in range(2):
            words[:, lane, 4 + r] = right[:, per * (column + 4 * r) :, row][:, :per]
    text = PRODUCT.format(shape=shape, types=types, accumulator=types.split(".")[0])
    sim.load(orias.compile(text, arch="sm_80").data).launch("k", WARPS, 32, [words, sums])
    want = np.matmul(left.astype(np.float64), right.astype(np.float64)) + start
    for lane in range(32):
        row, column = divmod(lane, 4)
        for r in range(4):
            assert (sums[:, lane, r] == want[:, row + 8 * (r >> 1), 2 * column + (r & 1)]).all(), (lane, r)
