"""Small PTX modules that between them use every part of a cubin."""

HEAD = ".version 8.0\n.target {target}\n.address_size 64\n"
NEW_HEAD = HEAD.replace("8.0", "9.0")
"""For targets from sm_100 on."""

PLAIN = """
.visible .entry k(.param .u64 p0) {
  .reg .b64 %rd<4>; .reg .b32 %r<4>;
  ld.param.u64 %rd1,[p0]; cvta.to.global.u64 %rd1,%rd1; mov.u32 %r1,%tid.x; st.global.u32 [%rd1],%r1; ret;
}
"""

PARAMS = """
.visible .entry k(.param .u8 a, .param .u16 b, .param .u64 d, .param .align 16 .b8 e[20],
                  .param .u64 .ptr .global .align 16 f, .param .u64 .ptr .shared .align 4 g, .param .u64 .ptr i) { ret; }
"""

BIG_PARAMS = ".visible .entry k(.param .align 4 .b8 e[4352], .param .u32 last) { ret; }"

TWO_KERNELS = """
.visible .entry a(.param .u64 p0) .maxntid 128, 2 .minnctapersm 2 { bar.sync 3; ret; }
.weak .entry w() .reqntid 64 { ret; }
.visible .entry b() { .reg .u32 %r; mov.u32 %r, %ctaid.z; .shared .b32 s[4]; st.shared.u32 [s+4], %r; ret; }
"""

VARIABLES = """
.global .align 1 .b8 a1[3] = {1, 2, 3};
.visible .global .align 4 .u32 b4 = 7;
.global .align 8 .u64 c8 = 9;
.visible .global .align 8 .u64 pointers[2] = {generic(c8), a1};
.global .align 4 .b8 z1[3];
.visible .global .align 16 .b8 z2[33];
.weak .global .align 2 .b8 z4[2];
.const .align 1 .b8 k1[3] = {1, 2, 3};
.visible .const .align 8 .b8 k2[3] = {1, 2, 3};
.const .align 4 .u32 k3;
.visible .entry k(.param .u64 p0) {
  .reg .b64 %rd<4>; .reg .b16 %h<4>;
  ld.param.u64 %rd1,[p0]; ld.global.u8 %h1,[a1]; st.global.u8 [%rd1],%h1; ld.global.u8 %h1,[z2]; st.global.u8 [%rd1+1],%h1;
  ld.const.u8 %h1,[k3]; st.global.u8 [%rd1+2],%h1; ld.global.u64 %rd2,[c8]; st.global.u64 [%rd1+8],%rd2;
  ld.global.u64 %rd2,[pointers]; st.global.u64 [%rd1+16],%rd2; ret;
}
"""

SHARED = """
.shared .align 2 .b8 m1[2];
.shared .align 16 .b8 m2[4];
.visible .shared .align 8 .b8 m4[4];
.extern .shared .align 16 .b8 dyn[];
.visible .entry k(.param .u64 p0) {
  .reg .b32 %r<4>; .reg .b16 %h;
  mov.u16 %h, 1; mov.u32 %r1, %tid.x; st.shared.u8 [m1], %h; st.shared.u32 [m2], %r1; st.shared.u32 [m4], %r1;
  st.shared.u32 [dyn], %r1; ret;
}
"""

CALLS = """
.func (.param .u32 r) f(.param .u32 a) {
  .reg .b32 %r<4>; ld.param.u32 %r1,[a]; mul.lo.u32 %r2,%r1,%r1; st.param.u32 [r],%r2; ret;
}
.visible .func (.param .u32 r) g(.param .u32 a) {
  .reg .b32 %r<4>; .reg .pred %p; .local .align 8 .b8 buf[24]; .reg .b64 %rd;
  ld.param.u32 %r1,[a]; mov.u64 %rd, buf; st.local.u32 [%rd+8], %r1;
  setp.eq.u32 %p, %r1, 0; @%p bra Z;
  { .param .u32 x; .param .u32 y; sub.u32 %r2, %r1, 1; st.param.u32 [x],%r2; call.uni (y),g,(x); ld.param.u32 %r1,[y]; }
Z: ld.local.u32 %r3, [%rd+8]; add.u32 %r1, %r1, %r3; st.param.u32 [r],%r1; ret;
}
.visible .entry k(.param .u64 p0) {
  .reg .b64 %rd<4>; .reg .b32 %r<4>; .reg .f64 %d<4>;
  ld.param.u64 %rd1,[p0]; mov.u32 %r1,%tid.x;
  { .param .u32 x; .param .u32 y; st.param.u32 [x],%r1; call.uni (y),f,(x); ld.param.u32 %r2,[y]; }
  { .param .u32 x; .param .u32 y; st.param.u32 [x],%r2; call.uni (y),g,(x); ld.param.u32 %r2,[y]; }
  cvt.rn.f64.u32 %d1, %r1; cvt.rn.f64.u32 %d2, %r2; div.rn.f64 %d1, %d1, %d2; st.global.f64 [%rd1+8], %d1;
  st.global.u32 [%rd1],%r2; ret;
}
"""

PRINTF = """
.extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);
.global .align 1 .b8 fmt[4] = {37, 100, 10, 0};
.visible .entry k(.param .u64 p0) {
  .reg .b64 %rd<8>; .reg .b32 %r<4>; .local .align 8 .b8 buf[8];
  { .param .b64 a0; .param .b64 a1; .param .b32 rv;
    mov.u64 %rd3,buf; cvta.local.u64 %rd3,%rd3; mov.u64 %rd4,fmt; cvta.global.u64 %rd4,%rd4;
    st.param.b64 [a0],%rd4; st.param.b64 [a1],%rd3; call.uni (rv),vprintf,(a0,a1); ld.param.b32 %r1,[rv]; }
  ret;
}
"""

WARP = """
.visible .entry k(.param .u64 p0, .param .u32 mask) {
  .reg .b64 %rd<4>; .reg .b32 %r<8>;
  ld.param.u64 %rd1,[p0]; ld.param.u32 %r3,[mask]; mov.u32 %r1,%tid.x;
  shfl.sync.idx.b32 %r2,%r1,0,31,0xffffffff; shfl.sync.idx.b32 %r2,%r2,1,31,%r3;
  atom.global.add.u32 %r4,[%rd1],1; add.u32 %r2,%r2,%r4; st.global.u32 [%rd1+8],%r2; ret;
}
"""

BRX = """
.visible .entry k(.param .u64 p0) {
  .reg .b64 %rd<4>; .reg .b32 %r<4>; .reg .f64 %fd<4>;
  ld.param.u64 %rd1,[p0]; mov.u32 %r1,%tid.x; mov.u32 %r3,0; and.b32 %r1,%r1,3;
  T: .branchtargets L0,L1,L2,L3; brx.idx %r1,T;
  L0: add.u32 %r3,%r3,7; bra E;
  L1: mul.lo.u32 %r3,%r1,%r1; st.global.u32 [%rd1+16],%r3; bra E;
  L2: ld.global.u32 %r3,[%rd1+4]; bra E;
  L3: bar.sync 0;
  E: st.global.u32 [%rd1],%r3; cvt.rn.f64.u32 %fd1,%r1; fma.rn.f64 %fd2,%fd1,0d3FF123456789ABCD,0d4009876543210FED;
  st.global.f64 [%rd1+24],%fd2; ret;
}
"""

TEXTURE = """
.global .texref t;
.global .surfref s;
.visible .entry k(.param .u64 p0, .param .u64 h) {
  .reg .b64 %rd<4>; .reg .b32 %r<8>; .reg .f32 %f<8>;
  ld.param.u64 %rd1,[p0]; mov.u32 %r1,%tid.x; tex.1d.v4.f32.s32 {%f1,%f2,%f3,%f4},[t,{%r1}];
  st.global.f32 [%rd1],%f1; suld.b.1d.b32.trap %r2,[s,{%r1}]; st.global.u32 [%rd1+4],%r2; ret;
}
"""

CASES = {
    "plain": PLAIN,
    "params": PARAMS,
    "two_kernels": TWO_KERNELS,
    "variables": VARIABLES,
    "shared": SHARED,
    "calls": CALLS,
    "printf": PRINTF,
    "warp": WARP,
    "brx": BRX,
    "texture": TEXTURE,
}
"""Modules for every target."""
