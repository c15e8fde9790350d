"""Programs of multimem, cache policies and hints.  The simulator has one device: it is the only member of a multicast object."""

import numpy as np

from tests.asynchronous.barrier_programs import fixed, steps
from tests.asynchronous.harness import Program, Words

AT = "mul.wide.u32 %rd3, %t, 16; add.u64 %rd4, %in, %rd3; add.u64 %rd5, %out, %rd3;\n"
"""%rd4 and %rd5: the thread's own sixteen bytes of the input and the output."""
POLICY = "createpolicy.fractional.L2::evict_last.b64 %rd9, 1.0;\n"


def _words(per: int, source: Words) -> Words:
    """Each thread's first words, where it stores them."""
    out = np.zeros(128, np.uint32)
    for k in range(per):
        out[k::4] = source[k:128:4]
    return out


def multimem() -> list[Program]:
    """Loads with a reduction over one member give the memory's value; stores and reductions change it."""
    out = []
    loads = [
        ("relaxed.gpu.global.add.u32 %r1", 1), ("weak.global.min.s32 %r1", 1), ("and.b32 %r1", 1), ("acquire.sys.global.max.u32 %r1", 1),
        ("add.u64 %rd6", 2), ("min.s64 %rd6", 2), ("xor.b64 %rd6", 2), ("add.f32 %r1", 1), ("add.f64 %rd6", 2),
        ("add.v2.f32 {%r1, %r2}", 2), ("add.v4.f32 {%r1, %r2, %r3, %r4}", 4), ("add.f16x2 %r1", 1), ("max.v2.bf16x2 {%r1, %r2}", 2),
        ("min.v4.f16x2 {%r1, %r2, %r3, %r4}", 4), ("add.acc::f32.v4.bf16x2 {%r1, %r2, %r3, %r4}", 4),
    ]  # fmt: skip
    for form, words in loads:
        name, _, dst = form.partition(" ")
        store = {
            1: "st.global.u32 [%rd5], %r1;", 2: "st.global.v2.u32 [%rd5], {%r1, %r2};", 4: "st.global.v4.u32 [%rd5], {%r1, %r2, %r3, %r4};",
        }[words] if "%r1" in dst else "st.global.u64 [%rd5], %rd6;"  # fmt: skip
        out.append(
            Program(f"multimem.ld_reduce {name}", f"{AT}multimem.ld_reduce.{name} {dst}, [%rd4];\n{store}", lambda s, w=words: _words(w, s))
        )  # fmt: skip
    fetch = "ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%rd4]; mov.b64 %rd6, {%r1, %r2};\n"
    stores = [
        ("st.relaxed.gpu.global.u32", "%r1", 1), ("st.weak.global.u64", "%rd6", 2), ("st.release.sys.global.f32", "%r1", 1),
        ("st.v4.f32", "{%r1, %r2, %r3, %r4}", 4), ("st.v2.f16x2", "{%r1, %r2}", 2),
        ("red.relaxed.gpu.global.add.u32", "%r1", 1), ("red.release.sys.global.add.u64", "%rd6", 2), ("red.max.u32", "%r1", 1),
        ("red.or.b64", "%rd6", 2), ("red.global.xor.b32", "%r1", 1),
    ]  # fmt: skip
    for name, value, words in stores:
        out.append(
            Program(f"multimem.{name}", f"{AT}{fetch}multimem.{name} [%rd5], {value};", lambda s, w=words: _words(w, s))
        )
    floats = "mov.f32 %f1, 0f3F800000; mov.f32 %f2, 0f40000000; mov.b32 %r1, 0x3C004000;\n"
    for name, value, want in (
        ("red.add.f32", "%f1", [0x3F800000]), ("red.add.v2.f32", "{%f1, %f2}", [0x3F800000, 0x40000000]),
        ("red.add.f16x2", "%r1", [0x3C004000]), ("red.add.v2.f16x2", "{%r1, %r1}", [0x3C004000] * 2),
    ):  # fmt: skip
        out.append(fixed(f"multimem.{name}", steps(f"{floats}multimem.{name} [%out], {value};"), want, 90))
    return out


def hints() -> list[Program]:
    """Accesses with a policy (the same for all, or the thread's own) do what they do without."""
    own = "shl.b64 %rd9, %rd3, 40;\n"
    out = []
    for kind, policy in (("one policy", POLICY), ("own policies", own)):
        accesses = [
            ("ld.global", "ld.global.L2::cache_hint.u32 %r1, [%rd4], %rd9; st.global.u32 [%rd5], %r1;", 1),
            ("ld", "ld.L2::cache_hint.v2.u32 {%r1, %r2}, [%rd4], %rd9; st.L2::cache_hint.v2.u32 [%rd5], {%r1, %r2}, %rd9;", 2),
            ("ld.global.nc", "ld.global.nc.L1::no_allocate.L2::cache_hint.v4.u32 {%r1, %r2, %r3, %r4}, [%rd4], %rd9;"
             " st.global.L2::cache_hint.v4.u32 [%rd5], {%r1, %r2, %r3, %r4}, %rd9;", 4),
            ("atom", "ld.global.u32 %r1, [%rd4]; atom.global.add.L2::cache_hint.u32 %r2, [%rd5], %r1, %rd9;", 1),
            ("atom.exch", "ld.global.u32 %r1, [%rd4]; atom.exch.L2::cache_hint.b32 %r2, [%rd5], %r1, %rd9;", 1),
            ("red", "ld.global.u32 %r1, [%rd4]; red.global.or.L2::cache_hint.b32 [%rd5], %r1, %rd9;", 1),
            ("cp.async", "cvt.u32.u64 %r5, %rd3; mov.u32 %r6, smem; add.u32 %r5, %r5, %r6;"
             " cp.async.cg.shared.global.L2::cache_hint [%r5], [%rd4], 16, %rd9; cp.async.wait_all;"
             " ld.shared.v4.u32 {%r1, %r2, %r3, %r4}, [%r5]; st.global.v4.u32 [%rd5], {%r1, %r2, %r3, %r4};", 4),
        ]  # fmt: skip
        for name, code, words in accesses:
            out.append(
                Program(f"L2::cache_hint {name}, {kind}", AT + policy + code, lambda s, w=words: _words(w, s), sm=80)
            )
    lines = [
        "prefetch.global.L1 [%rd4];", "prefetch.global.L2 [%rd4];", "prefetch.global.L2::evict_last [%rd4];", "prefetchu.L1 [%rd4];",
        "prefetch.global.L2::evict_normal [%rd4];", "applypriority.global.L2::evict_normal [%in+128], 128;", "discard.global.L2 [%out+1024], 128;",
        "cp.async.wait_group -1;", "cp.async.wait_group 64;", "cp.async.wait_group 0;",
    ]  # fmt: skip
    body = AT + "\n".join(lines) + "\nld.global.u32 %r1, [%rd4]; st.global.u32 [%rd5], %r1;"
    out.append(Program("cache hints", body, lambda s: _words(1, s), sm=80))
    return out


def generic_async() -> list[Program]:
    """st.async and red.async through generic addresses."""
    code = (
        "mov.u64 %rd3, smem; cvta.shared.u64 %rd3, %rd3; mov.u64 %rd4, mb; cvta.shared.u64 %rd4, %rd4;\n"
        "setp.eq.u32 %p6, %t, 0; mov.u32 %r1, 0; @%p6 st.shared.u32 [smem+8], %r1; @%p6 mbarrier.init.shared.b64 [mb], 1;\n"
        "@%p6 mbarrier.arrive.expect_tx.shared.b64 _, [mb], 12; bar.sync 0; setp.ne.u32 %p1, %t, 0; @%p1 bra DONE;\n"
        "mov.u32 %r2, 77; mov.u32 %r3, 78; st.async.mbarrier::complete_tx::bytes.v2.u32 [%rd3], {%r2, %r3}, [%rd4];\n"
        "red.async.relaxed.cluster.mbarrier::complete_tx::bytes.add.u32 [%rd3+8], %r3, [%rd4];\n"
        "W: mbarrier.try_wait.parity.shared.b64 %p7, [mb], 0; @!%p7 bra W;\n"
        "ld.shared.v2.u32 {%r4, %r5}, [smem]; ld.shared.u32 %r6, [smem+8]; st.global.v2.u32 [%out], {%r4, %r5}; st.global.u32 [%out+8], %r6;\nDONE:\n"
    )
    return [Program("st.async and red.async, generic", code, lambda s: [77, 78, 78])]


def programs() -> list[Program]:
    """All of them."""
    return [*multimem(), *hints(), *generic_async()]
