"""Probes for features, products and spellings: a PTX line, and the instruction that tells."""

FEATURES: dict[str, tuple[str, str]] = {
    "packs_half": ("cvt.rn.f16x2.f32 %r1, %f1, %f2;", r"F2FP\."),
    "moves_int_to_float": ("cvt.rn.f32.s32 %f1, %r10; mov.b32 %r1, %f1;", r"I2FP\."),
    "converts_fp8": ("cvt.rn.satfinite.e4m3x2.f32 %h1, %f1, %f2; cvt.u32.u16 %r1, %h1;", r"F2FP\.SATFINITE\.E4M3"),
    "packs_tf32": ("mov.b32 %f1, %r10; cvt.rn.tf32.f32 %r1, %f1;", r"F2FP\.TF32"),
    "packed_integers": ("add.u16x2 %r1, %r10, %r10;", r"VIADD\S*16x2|VIADD2"),
    "widens_half_to_zero": ("cvt.u16.u32 %h1, %r10; cvt.f32.f16 %f1, %h1; mov.b32 %r1, %f1;", r"HADD2\.F32 R\d+, -RZ"),
    "warp_reductions": ("redux.sync.add.s32 %r1, %r10, -1;", r"REDUX"),
    "separates_members": ("vote.sync.ballot.b32 %r1, 1, 15;", r"!LOP3"),
    "warp_count_register": ("mov.u32 %r1, %nwarpid;", r"S2U?R \S+, SR_VIRTCFG"),
    "store_matrix": ("stmatrix.sync.aligned.m8n8.x1.shared.b16 [sh], {%r10};", r"STSM"),
    "vector_atomics": ("red.global.add.v2.f32 [%rd1], {%f1, %f2};", r"REDG?\S*\.F32x2"),
    "async_copies": ("cp.async.ca.shared.global [sh], [%rd1], 16;", r"LDGSTS"),
    "hardware_barriers": ("mbarrier.init.shared.b64 [sh], 3;", r"SYNCS"),
    "clusters": ("fence.sc.gpu;", r"CGAERRBAR"),
    "cast_predicate": ("mov.b32 %f1, %r10; atom.shared.add.f32 %f2, [sh], %f1; mov.b32 %r1, %f2;", r"ATOMS\.CAST\.SPIN P"),
    "packed_floats": ("add.rn.f32x2 %rd2, %rd1, %rd1; mov.b64 {%r1, _}, %rd2;", r"FADD2"),
    "three_way_min_max": ("min.f32 %f1, %f2, %f3, %f4; mov.b32 %r1, %f1;", r"FMNMX3"),
    "absolute_differences": ("sad.s32 %r1, %r10, %r11, %r12;", r"VABSDIFF "),
    "implicit_levels": ("tex.1d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%rd1, {%f1}]; mov.b32 %r1, %f1;", r"TEX R"),
    "uniform_branches": (
        "mov.u32 %r2, %nctaid.x; mov.u32 %r1, 0; setp.gt.u32 %p1, %r2, 5; @%p1 bra $L; bar.sync 0; st.global.u32 [%rd1], %r10;"
        " bar.sync 1; st.global.u32 [%rd1+4], %r10; bar.sync 2; atom.global.add.u32 %r1, [%rd1], 1; $L:",
        r"BRA\.U !?UP",
    ),
    "scaled_addresses": ("shl.b32 %r2, %r10, 2; mov.u32 %r3, sh; add.u32 %r2, %r2, %r3; ld.shared.u32 %r1, [%r2];", r"LDS\S* R\d+, \[R\d+\.X4"),
    "constant_operands": ("mov.u32 %r2, %ntid.x; add.s32 %r1, %r10, %r2;", r"IADD3? .*c\[0x0\]"),
}  # fmt: skip
"""Feature -> PTX, pattern of an instruction that is there if the target has it (after ``!``: if it has not)."""

LATER: tuple[str, ...] = ("packed_floats", "three_way_min_max")
"""Features whose PTX begins at sm_100."""


def product(shape: str, d: str, a: str, b: str, counts: tuple[int, int, int], more: str = "") -> str:
    """An mma.sync with registers in these numbers for c and d, a, b."""

    def vector(file: str, first: int, count: int) -> str:
        return "{" + ", ".join(f"%{file}{first + k}" for k in range(count)) + "}"

    files = {"f64": "d", "f32": "f"}
    cd, ab = files.get(d, "r"), files.get(a, "r")
    n, x, y = counts
    return (
        f"mma.sync.aligned.{shape}.row.col.{d}.{a}.{b}.{d}{more} {vector(cd, 2, n)}, {vector(ab, 10, x)},"
        f" {vector(ab, 6, y)}, {vector(cd, 2, n)}; "
        + {"f": "mov.b32 %r1, %f2;", "d": "cvt.rzi.u32.f64 %r1, %d2;", "r": "mov.b32 %r1, %r2;"}[cd]
    )


PRODUCTS: dict[str, tuple[str, str]] = {
    "f16.16x8x8": (product("m16n8k8", "f32", "f16", "f16", (4, 2, 1)), r"HMMA\.1688\.F32 "),
    "f16.16x8x16": (product("m16n8k16", "f32", "f16", "f16", (4, 4, 2)), r"HMMA\.16816\.F32 "),
    "bf16.16x8x8": (product("m16n8k8", "f32", "bf16", "bf16", (4, 2, 1)), r"HMMA\.1688\.F32\.BF16"),
    "bf16.16x8x16": (product("m16n8k16", "f32", "bf16", "bf16", (4, 4, 2)), r"HMMA\.16816\.F32\.BF16"),
    "tf32.16x8x4": (product("m16n8k4", "f32", "tf32", "tf32", (4, 2, 1)), r"HMMA\.1684\.F32\.TF32"),
    "tf32.16x8x8": (product("m16n8k8", "f32", "tf32", "tf32", (4, 4, 2)), r"HMMA\.1688\.F32\.TF32"),
    "int8.8x8x16": (product("m8n8k16", "s32", "s8", "s8", (2, 1, 1)), r"IMMA\.8816\.S8"),
    "int8.16x8x16": (product("m16n8k16", "s32", "s8", "s8", (4, 2, 1)), r"IMMA\.16816\.S8"),
    "int8.16x8x32": (product("m16n8k32", "s32", "s8", "s8", (4, 4, 2)), r"IMMA\.16832\.S8"),
    "int4.8x8x32": (product("m8n8k32", "s32", "s4", "s4", (2, 1, 1)), r"IMMA\.8832\.S4"),
    "int4.16x8x32": (product("m16n8k32", "s32", "s4", "s4", (4, 2, 1)), r"IMMA\.16832\.S4"),
    "int4.16x8x64": (product("m16n8k64", "s32", "s4", "s4", (4, 4, 2)), r"IMMA\.16864\.S4"),
    "b1.xor.8x8x128": (product("m8n8k128", "s32", "b1", "b1", (2, 1, 1), ".xor.popc"), r"BMMA\.88128\.XOR"),
    "b1.xor.16x8x128": (product("m16n8k128", "s32", "b1", "b1", (4, 2, 1), ".xor.popc"), r"BMMA\.168128\.XOR"),
    "b1.xor.16x8x256": (product("m16n8k256", "s32", "b1", "b1", (4, 4, 2), ".xor.popc"), r"BMMA\.168256\.XOR"),
    "b1.and.16x8x128": (product("m16n8k128", "s32", "b1", "b1", (4, 2, 1), ".and.popc"), r"BMMA\.168128\.AND"),
    "b1.and.16x8x256": (product("m16n8k256", "s32", "b1", "b1", (4, 4, 2), ".and.popc"), r"BMMA\.168256\.AND"),
    "f64.8x8x4": (product("m8n8k4", "f64", "f64", "f64", (2, 1, 1)), r"DMMA\.(884|8x8x4)"),
    "f64.16x8x4": (product("m16n8k4", "f64", "f64", "f64", (4, 2, 1)), r"DMMA\.16x8x4"),
    "f64.16x8x8": (product("m16n8k8", "f64", "f64", "f64", (4, 4, 2)), r"DMMA\.16x8x8"),
    "f64.16x8x16": (product("m16n8k16", "f64", "f64", "f64", (4, 8, 4)), r"DMMA\.16x8x16"),
    "fp8.16x8x32": (product("m16n8k32", "f32", "e4m3", "e4m3", (4, 4, 2)), r"QMMA\.16832"),
    "fp8.16x8x16": (product("m16n8k16", "f32", "e4m3", "e4m3", (4, 2, 1)), r"QMMA\.16816"),
}
"""Product -> PTX, pattern of its one operation."""

SPELLINGS: dict[str, tuple[str, str]] = {
    "system_scope": ("mov.u32 %r1, 1;", r"STG\.E({}) "),
    "cta_scope": ("st.relaxed.cta.global.u32 [%rd1], %r10;", r"STG\.E\.STRONG\.({}) "),
    "shared_load": ("st.shared.u32 [sh+4], %r10; bar.sync 0; ld.shared.u32 %r1, [sh];", r"({}) R"),
    "reduction": ("red.global.min.s32 [%rd1], %r10;", r"({})\.E\.MIN"),
    "min_max": ("mov.u32 %r2, %clock; min.u32 %r1, %r10, %r2;", r"({})\.U32 "),
    "signed_min_max": ("mov.u32 %r2, %clock; min.s32 %r1, %r10, %r2;", r"({}) R"),
    "warp_min_max": ("redux.sync.min.s32 %r1, %r10, -1;", r"({})\.MIN"),
    "alias_scope": ("fence.proxy.alias;", r"MEMBAR\.SC\.({})"),
    "sleep": ("nanosleep.u32 %r10;", r"({}) "),
    "aligned_barrier": ("bar.sync 0;", r"BAR\.SYNC({}) "),
    "unaligned_barrier": ("barrier.sync 0;", r"BAR\.SYNC({}) "),
    "f16_from_f32": ("mov.b32 %f1, %r10; cvt.rn.f16x2.f32 %r1, %f1, %f1;", r"F2FP({})\.PACK_AB "),
    "bf16_from_f32": ("mov.b32 %f1, %r10; cvt.rn.bf16x2.f32 %r1, %f1, %f1;", r"F2FP({})\.PACK_AB "),
}
"""Spelling -> PTX, pattern with the spelling in braces."""
