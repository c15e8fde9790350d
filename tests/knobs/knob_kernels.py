"""Small kernels in which knobs show."""

HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"
START = (
    ".visible .entry k(.param .u64 p, .param .u32 n) {\n"
    ".reg .b32 %r<300>; .reg .f32 %f<300>; .reg .b64 %d<40>; .reg .pred %p<40>;\n"
    "ld.param.u64 %d1, [p]; ld.param.u32 %r1, [n]; mov.u32 %r2, %tid.x; mul.wide.u32 %d2, %r2, 4; add.u64 %d3, %d1, %d2;\n"
)


def kernel(body: str) -> str:
    return f"{HEAD}{START}{body}\nret; }}\n"


SUM = kernel(
    "mov.u32 %r3, 0; mov.u32 %r4, 0;\n"
    "L: ld.global.u32 %r5, [%d3]; add.u32 %r4, %r4, %r5; add.u64 %d3, %d3, 4; add.u32 %r3, %r3, 1;\n"
    "setp.lt.u32 %p1, %r3, %r1; @%p1 bra L; st.global.u32 [%d3], %r4;"
)
"""A loop with an unknown number of iterations."""

TOP = kernel(
    "mov.u32 %r3, 0; mov.u32 %r4, 0;\n"
    "L: setp.ge.u32 %p1, %r3, %r1; @%p1 bra E; ld.global.u32 %r5, [%d3]; add.u32 %r4, %r4, %r5; add.u64 %d3, %d3, 4;\n"
    "add.u32 %r3, %r3, 1; bra L; E: st.global.u32 [%d3], %r4;"
)
"""The same, tested at the top."""

APART = kernel(
    "mov.u32 %r3, %r2; mov.u32 %r4, 0;\n"
    "L: ld.global.u32 %r5, [%d3]; add.u32 %r4, %r4, %r5; add.u64 %d3, %d3, 4; add.u32 %r3, %r3, 1;\n"
    "setp.lt.u32 %p1, %r3, %r1; @%p1 bra L; st.global.u32 [%d3], %r4;"
)
"""The same, with another number of iterations for each thread."""

BRANCHED = kernel(
    "mov.u32 %r3, 0; mov.u32 %r4, 0;\n"
    "L: ld.global.u32 %r5, [%d3]; setp.lt.u32 %p2, %r5, 9; @%p2 bra E;\n"
    + "mad.lo.u32 %r4, %r4, %r5, 3; xor.b32 %r4, %r4, %r5;\n" * 6
    + "E: add.u64 %d3, %d3, 4; add.u32 %r3, %r3, 1; setp.lt.u32 %p1, %r3, %r1; @%p1 bra L; st.global.u32 [%d3], %r4;"
)
"""The same, with a branch in the loop."""

KNOWN = kernel(
    "mov.u32 %r3, 0; mov.u32 %r4, 0;\n"
    "M: mov.u32 %r6, 0;\n"
    "L: ld.global.u32 %r5, [%d3]; xor.b32 %r4, %r4, %r5; add.u64 %d3, %d3, 4; add.u32 %r6, %r6, 1;\n"
    "setp.lt.u32 %p1, %r6, 5; @%p1 bra L;\n"
    "add.u32 %r3, %r3, 1; setp.lt.u32 %p1, %r3, 3; @%p1 bra M; st.global.u32 [%d3], %r4;"
)
"""Two loops, one in the other, with known numbers of iterations."""

CHASE = kernel(
    "mov.u32 %r4, %r2;\n"
    "L: mul.wide.u32 %d2, %r4, 4; add.u64 %d3, %d1, %d2; ld.global.u32 %r4, [%d3];\n"
    "setp.ne.u32 %p1, %r4, %r1; @%p1 bra L; st.global.u32 [%d1], %r4;"
)
"""A loop from one index to the next, which needs the factor of an address in a register."""

INVARIANT = kernel(
    "mov.u32 %r3, 0; mov.u32 %r4, 0; ld.global.u32 %r7, [%d3+64];\n"
    "L: mul.lo.u32 %r8, %r7, %r1; xor.b32 %r9, %r8, %r2; ld.global.u32 %r5, [%d3]; setp.eq.u32 %p2, %r5, %r9; @%p2 bra E;\n"
    "add.u32 %r4, %r4, %r5; bar.sync 0;\n"
    "E: add.u64 %d3, %d3, 4; add.u32 %r3, %r3, 1; setp.lt.u32 %p1, %r3, %r1; @%p1 bra L; st.global.u32 [%d3], %r4;"
)
"""A loop with work that leaves it."""

ARMS = kernel(
    "ld.global.u32 %r3, [%d3]; setp.gt.u32 %p1, %r3, %r1; @%p1 bra A;\n"
    "setp.eq.u32 %p2, %r3, 7; @!%p2 bra B; add.u32 %r3, %r3, 5; xor.b32 %r3, %r3, %r2; mul.lo.u32 %r3, %r3, 11;\n"
    "B: and.b32 %r4, %r3, 1; setp.eq.u32 %p3, %r4, 1; @!%p3 bra C; ld.global.u32 %r5, [%d3+4]; add.u32 %r3, %r3, %r5;\n"
    "C: st.global.u32 [%d3], %r3; setp.eq.u32 %p4, %r3, 99; @!%p4 bra D; st.global.u32 [%d3+8], %r3; ret;\n"
    "D: add.u32 %r3, %r3, %r1; st.global.u32 [%d3+4], %r3;\n"
    "A:"
)
"""Branches whose arms are short, load, or end the thread."""

PRODUCTS = kernel(
    "ld.global.f32 %f1, [%d3]; ld.global.f32 %f2, [%d3+4]; mul.f32 %f3, %f1, %f2;\n"
    "add.f32 %f4, %f3, %f1; add.f32 %f5, %f3, %f2; st.global.f32 [%d3], %f4; st.global.f32 [%d3+4], %f5;\n"
    "ld.global.u32 %r3, [%d3+8]; ld.global.u32 %r4, [%d3+12]; ld.global.u32 %r5, [%d3+16]; and.b32 %r6, %r3, %r4;\n"
    "xor.b32 %r7, %r6, %r5; or.b32 %r8, %r6, %r2; st.global.u32 [%d3+8], %r7; st.global.u32 [%d3+12], %r8;"
)
"""A product and a conjunction with two readers."""


def held(count: int, end: str = "") -> str:
    """`count` values that are loaded, held through a second round of loads in a loop, and stored."""
    out = "".join(f"ld.global.u32 %r{10 + k}, [%d3+{4 * (7 * k % count)}];\n" for k in range(count))
    out += 'mov.u32 %r3, 0;\nL: .pragma "nounroll"; ld.global.u32 %r4, [%d3+4096];\n'
    out += "".join(f"mad.lo.u32 %r{10 + k}, %r{10 + (k + 3) % count}, %r4, %r{10 + k};\n" for k in range(0, count, 2))
    out += "bar.sync 0; add.u32 %r3, %r3, 1; setp.lt.u32 %p1, %r3, %r1; @%p1 bra L;\n"
    out += "".join(f"add.u32 %r{10 + k}, %r{10 + k}, %r{10 + (k + 1) % count};\n" for k in range(count))
    out += "".join(f"st.global.u32 [%d3+{4 * k}], %r{10 + k};\n" for k in range(count))
    return kernel(out + end)


HELD = held(60)
"""More live values than the highest occupancy allows."""

VECTORS = HEAD + (
    ".visible .entry k(.param .u64 p) { .shared .align 16 .b8 s[4096]; .reg .b32 %r<90>; .reg .b64 %d<4>;\n"
    "ld.param.u64 %d1, [p]; mov.u32 %r1, %tid.x; shl.b32 %r2, %r1, 6; mov.u32 %r3, s; add.u32 %r4, %r3, %r2;\n"
    + "".join(f"ld.shared.u32 %r{10 + k}, [%r4+{4 * k}];\n" for k in range(8))
    + "".join(f"add.u32 %r9, %r9, %r{10 + k};\n" for k in range(8))
    + "st.global.u32 [%d1], %r9; ret; }\n"
)
"""Adjacent loads."""
