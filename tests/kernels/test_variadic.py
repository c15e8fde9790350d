"""Functions with a last parameter of unknown size, and parts of parameters at any byte: results in the simulator."""

import struct

import numpy as np
import pytest

import orias
import orias.sim as sim
from tests.rotation import with_later

HEAD = ".version 8.0\n.target sm_75\n.address_size 64\n"
VARIADIC = (
    HEAD
    + """
.func (.param .b32 r) sum(.param .align 8 .b8 big[56], .param .b32 n, .param .align 16 .b8 rest[]) {
  .reg .b32 %r<8>; .reg .b64 %at; .reg .pred %p;
  ld.param.b32 %r1, [n];
  ld.param.b32 %r2, [big+52];
  mov.u64 %at, rest;
  setp.eq.u32 %p, %r1, 0;
  @%p bra none;
  ld.param.b32 %r4, [rest];
  add.u32 %r2, %r2, %r4;
more:
  ld.local.b32 %r3, [%at];
  mad.lo.u32 %r2, %r2, 3, %r3;
  add.u64 %at, %at, 4;
  sub.u32 %r1, %r1, 1;
  setp.ne.u32 %p, %r1, 0;
  @%p bra more;
none:
  st.param.b32 [r], %r2;
  ret;
}
.visible .entry k(.param .u64 out) {
  .reg .b32 %r<8>; .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd2, %r1, 4;
  add.u64 %rd1, %rd1, %rd2;
  {
    .param .align 8 .b8 b[56]; .param .b32 n; .param .align 16 .b8 v[20]; .param .b32 q;
    st.param.b32 [b+52], %r1; st.param.b32 [n], 5;
    st.param.b32 [v], %r1; st.param.b32 [v+4], 7; st.param.b64 [v+8], %rd2; st.param.b32 [v+16], 11;
    call (q), sum, (b, n, v);
    ld.param.b32 %r2, [q];
  }
  {
    .param .align 8 .b8 b[56]; .param .b32 n; .param .b32 q;
    st.param.b32 [b+52], 100; st.param.b32 [n], 0;
    call (q), sum, (b, n);
    ld.param.b32 %r3, [q];
  }
  add.u32 %r2, %r2, %r3;
  st.global.b32 [%rd1], %r2;
  ret;
}
"""
)


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("arch", with_later(["sm_75", "sm_90"], "variadic"))
@pytest.mark.parametrize("opt", [0, 3])
def test_arguments_of_unknown_size(opt: int, arch: str) -> None:
    out = np.zeros(32, np.uint32)
    sim.load(orias.compile(VARIADIC, arch=arch, opt_level=opt, self_check=True).data).launch("k", 1, 32, [out])
    want = []
    for t in range(32):
        total = t + t
        for value in (t, 7, 4 * t, 0, 11):
            total = total * 3 + value
        want.append(total + 100 & 0xFFFFFFFF)
    assert out.tolist() == want


PARTS = (
    HEAD
    + """
.func (.param .align 4 .b8 r[16]) parts(.param .align 4 .b8 s[16]) {
  .reg .b32 %r<8>; .reg .b64 %rd<4>; .reg .b16 %h<4>;
  ld.param.b32 %r1, [s+AT];
  ld.param.u16 %h1, [s+3];
  ld.param.s16 %h2, [s+7];
  ld.param.b64 %rd1, [s+AT];
  st.param.b64 [r], %rd1;
  st.param.b32 [r+8], %r1;
  st.param.b16 [r+12], %h1;
  st.param.b16 [r+14], %h2;
  ret;
}
.visible .entry k(.param .u64 out, .param .b64 a) {
  .reg .b32 %r<8>; .reg .b64 %rd<4>; .reg .b16 %h<4>;
  ld.param.u64 %rd1, [out];
  ld.param.u64 %rd2, [a];
  mov.b64 {%r1, %r2}, %rd2;
  cvt.u16.u32 %h1, %r1;
  {
    .param .align 4 .b8 s[16]; .param .align 4 .b8 q[16];
    st.param.b64 [s], 0; st.param.b64 [s+8], 0;
    st.param.b64 [s+AT], %rd2;
    st.param.b16 [s+11], %h1;
    st.param.b32 [s+12-AT], %r2;
    call (q), parts, (s);
    ld.param.b64 %rd2, [q]; ld.param.b64 %rd3, [q+8];
  }
  st.global.b64 [%rd1], %rd2;
  st.global.b64 [%rd1+8], %rd3;
  ret;
}
"""
)


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("arch", with_later(["sm_75", "sm_90"], "misaligned"))
@pytest.mark.parametrize("at", range(5))
def test_parts_at_any_byte(at: int, arch: str) -> None:
    value = 0x8796A5B4C3D2E1F0
    for opt in (0, 3):
        out = np.zeros(16, np.uint8)
        text = PARTS.replace("AT", str(at)).replace(f"12-{at}", str(12 - at))
        cubin = orias.compile(text, arch=arch, opt_level=opt, self_check=True)
        sim.load(cubin.data).launch("k", 1, 1, [out, np.uint64(value)])
        given = bytearray(16)
        struct.pack_into("<Q", given, at, value)
        struct.pack_into("<H", given, 11, value & 0xFFFF)
        struct.pack_into("<I", given, 12 - at, value >> 32)
        want = given[at : at + 8] + given[at : at + 4] + given[3:5] + given[7:9]
        assert bytes(out) == bytes(want)
