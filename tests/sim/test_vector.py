"""The C library and numpy give the same registers, memory, steps and counts."""

import numpy as np
import pytest

import orias
from orias import sim
from orias.sim.native import vector
from orias.sim.native import vector_library as native
from orias.sim.native.record_format import RECORD

pytestmark = pytest.mark.skipif(native.library() is None, reason="the library needs a C compiler")
HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"
START = """
  .reg .pred %p<8>; .reg .b16 %h<8>; .reg .b32 %r<40>; .reg .b64 %d<20>; .reg .f32 %f<20>; .reg .f64 %g<12>;
  .shared .align 16 .b8 s[8192]; .local .align 16 .b8 l[64];
  ld.param.u64 %d0, [data]; ld.param.u64 %d1, [out]; ld.param.u32 %r20, [n];
  mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mad.lo.u32 %r3, %r1, %r2, %r0;
  mul.wide.u32 %d2, %r3, 4; add.u64 %d3, %d0, %d2; mul.wide.u32 %d4, %r3, 16; add.u64 %d5, %d1, %d4;
  ld.global.u32 %r4, [%d3]; xor.b32 %r5, %r4, %r3; add.u32 %r6, %r4, 77777; mov.b32 %f0, %r4; mov.b32 %f1, %r5; mov.b32 %f2, %r6;
"""
END = "st.global.v4.u32 [%d5], {%r10, %r11, %r12, %r13}; DONE: ret;"
NOTHING = "mov.u32 %r10, 0; mov.u32 %r11, 0; mov.u32 %r12, 0; mov.u32 %r13, 0;"
BODIES = {
    "integers": """mad.lo.s32 %r10, %r4, %r5, %r6; mul.hi.s32 %r11, %r4, %r5; shf.l.wrap.b32 %r12, %r4, %r5, %r6; prmt.b32 %r13, %r4, %r5, %r6;
      mad.wide.s32 %d6, %r4, %r5, %d3; mad.wide.u32 %d7, %r5, %r6, %d6; shr.s64 %d8, %d7, %r0; shl.b64 %d9, %d7, %r1; xor.b64 %d8, %d8, %d9;
      cvt.u32.u64 %r14, %d8; xor.b32 %r13, %r13, %r14; popc.b32 %r15, %r6; min.s32 %r16, %r4, %r5; max.u32 %r17, %r4, %r6; abs.s32 %r18, %r5;
      add.u32 %r12, %r12, %r15; sub.u32 %r12, %r16, %r12; add.u32 %r11, %r11, %r17; add.u32 %r11, %r11, %r18; sub.u64 %d10, %d7, %d6;
      shr.u64 %d10, %d10, 7; cvt.u32.u64 %r14, %d10; add.u32 %r10, %r10, %r14; shr.u32 %r19, %r4, %r0; shl.b32 %r21, %r4, %r0;
      lop3.b32 %r22, %r19, %r21, %r5, 0x6d; add.u32 %r10, %r10, %r22;""",
    "floats": """fma.rn.f32 %f3, %f0, %f1, %f2; add.ftz.f32 %f4, %f0, %f1; mul.ftz.sat.f32 %f5, %f1, %f2; min.f32 %f6, %f0, %f1; max.NaN.f32 %f7, %f1, %f2;
      fma.rn.ftz.f32 %f8, %f2, %f0, %f1; add.sat.f32 %f9, %f0, %f2; rcp.approx.ftz.f32 %f10, %f0; rsqrt.approx.f32 %f11, %f1;
      mov.b32 %r10, %f3; mov.b32 %r11, %f4; mov.b32 %r12, %f5; mov.b32 %r13, %f6; mov.b32 %r14, %f7; mov.b32 %r15, %f8; mov.b32 %r16, %f9;
      mov.b32 %r17, %f10; mov.b32 %r18, %f11; xor.b32 %r10, %r10, %r14; xor.b32 %r11, %r11, %r15; add.u32 %r12, %r12, %r16; add.u32 %r13, %r13, %r17;
      sub.u32 %r10, %r10, %r18; setp.ltu.f32 %p1, %f0, %f1; setp.ge.and.f32 %p2, %f1, %f2, %p1; @%p1 add.u32 %r11, %r11, 3; @!%p2 xor.b32 %r12, %r12, 5;
      cvt.rzi.s32.f32 %r19, %f0; cvt.rni.u32.f32 %r21, %f1; cvt.rn.f32.s32 %f12, %r5; cvt.rn.f32.u32 %f13, %r6; add.f32 %f12, %f12, %f13;
      mov.b32 %r22, %f12; add.u32 %r13, %r13, %r22; add.u32 %r12, %r12, %r19; xor.b32 %r11, %r11, %r21;""",
    "doubles": """mov.b64 %d6, {%r4, %r5}; mov.b64 %d7, {%r5, %r6}; mov.b64 %g0, %d6; mov.b64 %g1, %d7; fma.rn.f64 %g2, %g0, %g1, %g0; add.f64 %g3, %g0, %g1;
      mul.f64 %g4, %g1, %g1; cvt.rn.f32.f64 %f3, %g0; cvt.f64.f32 %g5, %f1; cvt.rn.f64.s32 %g6, %r4; setp.lt.f64 %p1, %g0, %g1; neg.f64 %g7, %g2;
      mov.b64 %d8, %g7; mov.b64 %d9, %g3; mov.b64 %d10, %g4; mov.b64 %d11, %g5; mov.b64 %d12, %g6; xor.b64 %d8, %d8, %d9; add.u64 %d10, %d10, %d11;
      add.u64 %d10, %d10, %d12; mov.b64 {%r10, %r11}, %d8; mov.b64 {%r12, %r13}, %d10; mov.b32 %r14, %f3; @%p1 add.u32 %r10, %r10, %r14;""",
    "halves": """add.f16x2 %r10, %r4, %r5; mul.f16x2 %r11, %r4, %r6; fma.rn.f16x2 %r12, %r4, %r5, %r6; add.ftz.sat.f16x2 %r13, %r5, %r6;
      fma.rn.relu.f16x2 %r14, %r5, %r4, %r6; fma.rn.bf16x2 %r15, %r4, %r5, %r6; min.f16x2 %r16, %r4, %r5; max.NaN.bf16x2 %r17, %r5, %r6;
      mov.b32 {%h0, %h1}, %r4; mov.b32 {%h2, %h3}, %r5; sub.f16 %h4, %h1, %h2; fma.rn.f16 %h5, %h1, %h3, %h0; neg.f16 %h6, %h3; mul.ftz.f16 %h6, %h6, %h1;
      mov.b32 %r18, {%h4, %h5}; mov.b32 %r19, {%h6, %h5}; setp.gtu.f16 %p1, %h0, %h3; setp.neu.and.f16x2 %p2|%p3, %r4, %r5, %p1; set.le.f16x2.f16x2 %r21, %r4, %r6;
      set.gt.u32.f16x2 %r22, %r5, %r6; fma.rn.relu.bf16x2 %r23, %r6, %r5, %r4; min.ftz.NaN.f16x2 %r24, %r4, %r6; add.u32 %r10, %r10, %r14; add.u32 %r11, %r11, %r15;
      add.u32 %r12, %r12, %r16; add.u32 %r13, %r13, %r17; xor.b32 %r10, %r10, %r18; xor.b32 %r11, %r11, %r19; xor.b32 %r12, %r12, %r21; xor.b32 %r13, %r13, %r22;
      add.u32 %r10, %r10, %r23; add.u32 %r11, %r11, %r24; @%p1 add.u32 %r12, %r12, 5; @%p2 add.u32 %r13, %r13, 7; @%p3 add.u32 %r10, %r10, 11;""",
    "conversions": """cvt.rn.f16x2.f32 %r10, %f0, %f1; cvt.rz.bf16x2.f32 %r11, %f1, %f2; cvt.rn.relu.f16x2.f32 %r12, %f0, %f2; cvt.rz.relu.bf16x2.f32 %r13, %f0, %f1;
      cvt.rm.f16.f32 %h0, %f0; cvt.rp.f16.f32 %h1, %f1; cvt.rz.f16.f32 %h2, %f2; cvt.rn.bf16.f32 %h3, %f0; mov.b32 %r14, {%h0, %h1}; mov.b32 %r15, {%h2, %h3};
      cvt.rz.f32.s32 %f3, %r4; cvt.rm.f32.s32 %f4, %r5; cvt.rp.f32.u32 %f5, %r6; cvt.rm.f16.u32 %h4, %r4; cvt.rn.f16.s32 %h5, %r5; cvt.rni.f32.f32 %f6, %f0;
      cvt.rzi.ftz.f32.f32 %f7, %f1; cvt.rmi.sat.f32.f32 %f8, %f2; cvt.rpi.s64.f32 %d6, %f0; cvt.rni.ftz.u64.f32 %d7, %f1; cvt.rzi.u16.f32 %h6, %f2; cvt.rni.s8.f32 %r16, %f0;
      mov.b32 %r17, {%h4, %h5}; cvt.u32.u16 %r18, %h6; xor.b64 %d6, %d6, %d7; mov.b64 {%r19, %r21}, %d6; mov.b32 %r22, %f3; mov.b32 %r23, %f4; mov.b32 %r24, %f5;
      mov.b32 %r25, %f6; mov.b32 %r26, %f7; mov.b32 %r27, %f8; xor.b32 %r10, %r10, %r14; xor.b32 %r11, %r11, %r15; add.u32 %r12, %r12, %r16; add.u32 %r13, %r13, %r17;
      add.u32 %r10, %r10, %r18; add.u32 %r11, %r11, %r19; xor.b32 %r12, %r12, %r21; xor.b32 %r13, %r13, %r22; add.u32 %r10, %r10, %r23; xor.b32 %r11, %r11, %r24;
      add.u32 %r12, %r12, %r25; xor.b32 %r13, %r13, %r26; add.u32 %r10, %r10, %r27;""",
    "stores": NOTHING + """mul.lo.u32 %r14, %r2, 7; mul.wide.u32 %d6, %r3, 8; add.u64 %d6, %d6, %d1; mul.wide.u32 %d7, %r14, 8; mul.wide.u32 %d8, %r3, 2;
      add.u64 %d7, %d7, %d8; add.u64 %d7, %d7, %d1; mul.wide.u32 %d8, %r14, 10; cvt.u64.u32 %d9, %r3; add.u64 %d8, %d8, %d9; add.u64 %d8, %d8, %d1; mul.wide.u32 %d9, %r14, 12;
      add.u64 %d9, %d9, %d2; add.u64 %d9, %d9, %d1; cvt.u16.u32 %h0, %r5; mov.b64 %d10, {%r6, %r4}; st.global.u64 [%d6], %d10; st.global.u16 [%d7], %h0;
      st.global.u8 [%d8], %r6; st.global.u32 [%d9], %r4; bar.sync 0; ld.global.v2.u32 {%r10, %r11}, [%d6]; ld.global.u16 %r12, [%d7]; ld.global.s8 %r15, [%d8];
      ld.global.u32 %r13, [%d9]; add.u32 %r12, %r12, %r15; bar.sync 0;""",
    "memory": """and.b32 %r14, %r4, 252; cvt.u64.u32 %d6, %r14; add.u64 %d7, %d0, %d6; ld.global.u32 %r10, [%d7+4]; ld.global.s8 %r11, [%d7+3]; ld.global.u16 %r12, [%d7+2];
      and.b32 %r15, %r4, 240; cvt.u64.u32 %d8, %r15; add.u64 %d8, %d0, %d8; ld.global.v4.u32 {%r16, %r17, %r18, %r13}, [%d8]; ld.u32 %r19, [%d7];
      mov.u32 %r21, s; shl.b32 %r22, %r0, 4; add.u32 %r21, %r21, %r22; st.shared.v4.u32 [%r21], {%r16, %r17, %r18, %r10}; st.shared.u8 [%r21+1], %r19;
      ld.shared.s16 %r23, [%r21]; ld.shared.v2.u32 {%r24, %r25}, [%r21+8]; mov.u64 %d9, l; and.b32 %r26, %r4, 60; cvt.u64.u32 %d10, %r26; add.u64 %d9, %d9, %d10;
      st.local.u32 [%d9], %r23; ld.local.u32 %r27, [%d9]; add.u32 %r10, %r10, %r27; add.u32 %r11, %r11, %r24; add.u32 %r12, %r12, %r25; add.u32 %r13, %r13, %r19;""",
    "warps": """shfl.sync.idx.b32 %r10|%p1, %r4, 5, 31, -1; shfl.sync.up.b32 %r11|%p2, %r5, 3, 0, -1; shfl.sync.down.b32 %r12|%p3, %r6, %r4, 0x1007, -1;
      shfl.sync.bfly.b32 %r13|%p4, %r4, %r5, 0x181f, -1; vote.sync.ballot.b32 %r14, %p3, -1; vote.sync.any.pred %p5, %p4, -1; vote.sync.uni.pred %p6, %p2, -1;
      @%p5 add.u32 %r10, %r10, %r14; @%p6 add.u32 %r11, %r11, 1; @%p1 xor.b32 %r12, %r12, 3; @!%p2 xor.b32 %r13, %r13, 1;""",
    "one place": NOTHING + "st.global.u32 [%d1], %r3; ld.global.u32 %r10, [%d1];",
    "paths": NOTHING + """ setp.ge.u32 %p1, %r3, %r20; @%p1 bra DONE; mov.u32 %r14, %r0;
      L: and.b32 %r15, %r14, 1; setp.eq.u32 %p2, %r15, 0; @%p2 bra M; mad.lo.u32 %r14, %r14, 3, 1; add.u32 %r10, %r10, %r4; bra N;
      M: shr.u32 %r14, %r14, 1; add.u32 %r11, %r11, 1; N: add.u32 %r12, %r12, 1; setp.lt.u32 %p3, %r12, 200; setp.gt.and.u32 %p4, %r14, 1, %p3; @%p4 bra L;""",
    "other memory": NOTHING + """mov.u32 %r14, s; st.shared.u32 [%r14+4], %r3; bar.sync 0; mov.u64 %d6, s; cvta.shared.u64 %d6, %d6; setp.ge.u32 %p1, %r1, 5; selp.b64 %d7, %d6, %d3, %p1; mov.u32 %r15, 0;
      L: ld.u32 %r16, [%d7+4]; ld.global.u32 %r17, [%d3+8]; mad.lo.u32 %r10, %r16, %r17, %r10; add.u32 %r11, %r11, %r16; add.u32 %r15, %r15, 1;
      setp.lt.u32 %p2, %r15, 3; @%p2 bra L;""",
    "atomics": """mul.wide.u32 %d11, %r2, 112; add.u64 %d11, %d1, %d11; and.b32 %r14, %r4, 252; cvt.u64.u32 %d6, %r14; add.u64 %d7, %d11, %d6; mov.u32 %r21, s; and.b32 %r15, %r5, 124; add.u32 %r21, %r21, %r15;
      st.shared.u32 [%r21], %r4; bar.sync 0; atom.global.add.u32 %r10, [%d7], %r5; atom.shared.max.s32 %r11, [%r21], %r5; atom.shared.cas.b32 %r12, [%r21], %r4, %r6;
      atom.global.exch.b32 %r13, [%d7+256], %r6; red.global.min.u32 [%d7+512], %r4; atom.shared.inc.u32 %r16, [%r21], %r5; atom.shared.dec.u32 %r17, [%r21+128], 1000;
      and.b32 %r18, %r4, 120; cvt.u64.u32 %d8, %r18; add.u64 %d8, %d11, %d8; atom.global.add.u64 %d9, [%d8+1024], %d3; atom.global.max.s64 %d10, [%d8+1280], %d2;
      mov.b32 %f4, %r14; mov.f32 %f3, 0f3F800000; atom.global.add.f32 %f5, [%d7+1536], %f1; atom.shared.add.f32 %f6, [%r21+256], %f3; red.shared.xor.b32 [%r21+384], %r6;
      cvt.rn.f64.s32 %g0, %r4; red.global.add.f64 [%d8+2048], %g0; mov.b32 %r19, %f5; mov.b32 %r22, %f6; cvt.u32.u64 %r23, %d9; cvt.u32.u64 %r24, %d10;
      setp.lt.u32 %p1, %r0, 77; @%p1 atom.global.or.b32 %r25, [%d7+2304], %r5; @%p1 add.u32 %r10, %r10, %r25; add.u32 %r10, %r10, %r16; add.u32 %r11, %r11, %r17;
      xor.b32 %r12, %r12, %r19; xor.b32 %r13, %r13, %r22; add.u32 %r10, %r10, %r23; add.u32 %r11, %r11, %r24;""",
    "halves and saturation": """mov.b32 {%h0, %h1}, %r4; mov.b32 {%h2, %h3}, %r5; add.f16x2 %r10, %r4, %r5; mul.f16x2 %r11, %r5, %r6; fma.rn.f16x2 %r12, %r4, %r5, %r6;
      fma.rn.relu.bf16x2 %r13, %r4, %r5, %r6; fma.rn.bf16x2 %r14, %r6, %r5, %r4; sub.f16 %h4, %h0, %h3; fma.rn.ftz.sat.f16 %h5, %h1, %h2, %h0; mov.b32 %r15, {%h4, %h5};
      cvt.f32.f16 %f3, %h1; cvt.rn.f16x2.f32 %r16, %f0, %f1; cvt.rn.bf16x2.f32 %r17, %f1, %f2; cvt.rn.relu.f16x2.f32 %r18, %f2, %f0; mul.ftz.f16x2 %r19, %r4, %r6;
      add.sat.f16x2 %r21, %r5, %r6; mov.b32 %r22, %f3; xor.b32 %r10, %r10, %r14; add.u32 %r11, %r11, %r15; add.u32 %r12, %r12, %r16; add.u32 %r13, %r13, %r17;
      add.u32 %r10, %r10, %r18; add.u32 %r11, %r11, %r19; xor.b32 %r12, %r12, %r21; xor.b32 %r13, %r13, %r22;""",
    "functions": """ex2.approx.ftz.f32 %f3, %f0; lg2.approx.ftz.f32 %f4, %f1; sin.approx.f32 %f5, %f2; cos.approx.ftz.f32 %f6, %f1; div.rn.f32 %f7, %f0, %f1; cvt.rz.f32.s32 %f8, %r4;
      cvt.rp.f32.u32 %f9, %r5; cvt.rm.f32.s32 %f10, %r6; clz.b32 %r14, %r4; bfind.s32 %r15, %r5; brev.b32 %r16, %r6; bfind.shiftamt.u32 %r17, %r4; div.u32 %r18, %r4, %r5;
      mov.b32 %r10, %f3; mov.b32 %r11, %f4; mov.b32 %r12, %f5; mov.b32 %r13, %f6; mov.b32 %r19, %f7; mov.b32 %r21, %f8; mov.b32 %r22, %f9; mov.b32 %r23, %f10;
      xor.b32 %r10, %r10, %r19; add.u32 %r10, %r10, %r14; xor.b32 %r11, %r11, %r21; add.u32 %r11, %r11, %r15; xor.b32 %r12, %r12, %r22; add.u32 %r12, %r12, %r16;
      xor.b32 %r13, %r13, %r23; add.u32 %r13, %r13, %r17; add.u32 %r13, %r13, %r18;""",
    "parts of warps": NOTHING + """and.b32 %r14, %r4, 7; setp.lt.u32 %p1, %r14, 5; @!%p1 bra M; activemask.b32 %r15; shfl.sync.bfly.b32 %r10, %r4, 3, 31, %r15;
      shfl.sync.up.b32 %r11|%p2, %r5, 1, 0, %r15; vote.sync.ballot.b32 %r12, %p2, %r15; vote.sync.all.pred %p3, %p2, %r15; vote.sync.uni.pred %p4, %p2, %r15;
      @%p3 add.u32 %r13, %r13, 1; @%p4 add.u32 %r13, %r13, 2; bra N; M: add.u32 %r13, %r4, 5; N: bar.warp.sync -1; add.u32 %r13, %r13, 7;""",
    "thin": NOTHING + """and.b32 %r14, %r0, 224; setp.ne.u32 %p1, %r14, 32; setp.ge.u32 %p2, %r1, 3; or.pred %p1, %p1, %p2; @%p1 bra N; mov.u32 %r15, 0;
      L: ld.global.u32 %r16, [%d3+4]; mad.lo.u32 %r10, %r16, %r4, %r10; shl.b32 %r17, %r0, 2; mov.u32 %r18, s; add.u32 %r18, %r18, %r17; st.shared.u32 [%r18], %r10;
      ld.shared.u32 %r19, [%r18]; add.u32 %r11, %r11, %r19; add.u32 %r15, %r15, 1; and.b32 %r21, %r0, 3; add.u32 %r21, %r21, 2; setp.lt.u32 %p3, %r15, %r21; @%p3 bra L;
      N: bar.sync 0; add.u32 %r12, %r12, 1;""",
    "one warp of all": NOTHING + """setp.ne.u32 %p1, %r1, 2; @%p1 bra DONE; setp.lt.u32 %p1, %r0, 32; @!%p1 bra DONE; mov.u32 %r15, 0; mov.u64 %d6, 100000000;
      L: setp.eq.u32 %p2, %r15, 3; selp.b64 %d7, %d6, 0, %p2; add.u64 %d7, %d7, %d3; @!%p2 ld.global.u32 %r10, [%d7]; add.u32 %r11, %r11, %r10; add.u32 %r15, %r15, 1;
      setp.lt.u32 %p3, %r15, 5; @%p3 bra L;""",
    "predicates": NOTHING + """setp.lt.u32 %p1, %r4, %r5; setp.lt.s32 %p2, %r5, %r6; setp.eq.u32 %p3, %r14, 1; setp.gt.u32 %p4, %r4, 1000; mov.u32 %r15, 0; mov.u32 %r14, %r0;
      L: @%p1 add.u32 %r10, %r10, %r4; @%p2 add.u32 %r11, %r11, %r5; @%p4 xor.b32 %r12, %r12, %r6; and.b32 %r16, %r14, 1; setp.eq.u32 %p5, %r16, 0; @%p5 bra M;
      add.u32 %r13, %r13, %r15; M: bar.sync 0; shr.u32 %r14, %r14, 1; add.u32 %r15, %r15, 1; setp.lt.u32 %p6, %r15, 6; @%p6 bra L;""",
    "sparse": NOTHING + "and.b32 %r14, %r0, 31; setp.ne.u32 %p1, %r14, 5; @%p1 bra DONE; mad.lo.u32 %r10, %r4, %r4, %r5; ld.global.u32 %r11, [%d3+4];",
}  # fmt: skip


def run(body: str, arch: str, threads: int) -> tuple[object, ...]:
    text = f"{HEAD}.visible .entry k(.param .u64 data, .param .u64 out, .param .u32 n) {{{START}{body}{END}}}"
    image = sim.load(orias.compile(text, arch=arch).data)
    rng = np.random.default_rng(3)
    data = rng.integers(0, 1 << 32, 7 * threads + 80, np.uint32)
    data[::3] = rng.choice(
        np.array([0, 1, 0x80000000, 0x7F800000, 0x7FC00001, 0x3F800000, 0xFF800000, 5, 0x00400000], np.uint32),
        len(data[::3]),
    )
    out = np.zeros(28 * threads + 1024, np.uint32)
    seen = []
    r = image.launch(
        "k", 7, threads, [data, out, 5 * threads], on_batch=lambda m: seen.append([x.copy() for x in (*m.R[:24], *m.P)])
    )
    return out.tobytes(), r.steps, r.instructions, [[x.tobytes() for x in rows] for rows in seen]


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("threads", [256, 45, 1024])
@pytest.mark.parametrize("arch", ["sm_80", "sm_90", "sm_100a"])
@pytest.mark.parametrize("name", list(BODIES))
def test_as_numpy(name: str, arch: str, threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    if name == "memory":
        threads = min(threads, 512)
    if name in ("warps", "parts of warps"):
        threads = threads & -32
    ours = run(BODIES[name], arch, threads)
    monkeypatch.setattr(vector, "library", lambda: None)
    assert run(BODIES[name], arch, threads) == ours


@pytest.mark.parametrize("name", ["atomics", "halves", "functions", "parts of warps", "thin", "predicates"])
def test_the_library_runs_most_instructions(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    done = 0
    plain = vector.Vector.run

    def counted(self: vector.Vector, *args: object) -> tuple[int, int, int]:
        nonlocal done
        result = plain(self, *args)  # type: ignore[arg-type]
        done += result[2]
        return result

    monkeypatch.setattr(vector.Vector, "run", counted)
    instructions = run(BODIES[name], "sm_80", 256)[2]
    assert isinstance(instructions, int)
    assert done > 0.7 * instructions


def test_a_wrong_address_is_found_by_numpy() -> None:
    later = "setp.eq.u32 %p1, %r1, 6; selp.b32 %r14, 100000, 0, %p1; cvt.u64.u32 %d6, %r14; add.u64 %d6, %d6, %d3; ld.global.u32 %r10, [%d6];"
    for body in (
        later,
        "ld.global.u32 %r10, [%d3+1];",
        "ld.global.u32 %r10, [%d3+100000];",
        "st.shared.u32 [%r4], %r3;",
    ):
        with pytest.raises(sim.SimError, match="thread"):
            run(NOTHING + body, "sm_80", 256)


def test_a_record_has_the_size_of_its_structure_in_c() -> None:
    assert RECORD.itemsize == 4 * 25
