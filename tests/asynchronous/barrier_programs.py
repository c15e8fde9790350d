"""Programs of barrier objects, cp.async, clusters, policies and small instructions."""

from collections.abc import Sequence

import numpy as np

from tests.asynchronous.harness import Program, Words, copy_out, init, wait

ONE = "setp.ne.u32 %p0, %t, 0; @%p0 bra END;\n"


def steps(*lines: str) -> str:
    """Thread 0 runs the lines."""
    return ONE + "\n".join(lines) + "\nEND:\n"


def flag(test: str, at: int) -> str:
    """Store whether a test holds; `test` sets %p1."""
    return f"{test} selp.u32 %r20, 1, 0, %p1; st.global.u32 [%out+{4 * at}], %r20;"


def pending(state: str, at: int) -> str:
    return f"mbarrier.pending_count.b64 %r20, {state}; st.global.u32 [%out+{4 * at}], %r20;"


def constant(values: Sequence[int]) -> object:
    return lambda source: list(values)


def fixed(name: str, body: str, values: Sequence[int], sm: int = 80, **more: object) -> Program:
    return Program(name, body, lambda source: list(values), sm=sm, **more)  # type: ignore[arg-type]


def parity(p: int, at: int, where: str = "mb", sp: str = ".shared") -> str:
    return flag(f"mbarrier.test_wait.parity{sp}.b64 %p1, [{where}], {p};", at)


def objects() -> list[Program]:
    """One thread goes through the phases of an object."""
    out = []
    for kind in ("shared", "shared::cta", "generic"):
        sp = "" if kind == "generic" else "." + kind
        at = "%rd9" if kind == "generic" else "mb"
        make = "mov.u64 %rd9, mb; cvta.shared.u64 %rd9, %rd9;" if kind == "generic" else ""
        out.append(
            fixed(
                f"mbarrier.arrive {kind}",
                steps(
                    f"{make} mbarrier.init{sp}.b64 [{at}], 3;",
                    f"mbarrier.arrive{sp}.b64 %rd3, [{at}];",
                    pending("%rd3", 0),
                    flag(f"mbarrier.test_wait{sp}.b64 %p1, [{at}], %rd3;", 1),
                    f"mbarrier.arrive{sp}.b64 _, [{at}]; mbarrier.arrive{sp}.b64 %rd4, [{at}];",
                    pending("%rd4", 2),
                    flag(f"mbarrier.test_wait{sp}.b64 %p1, [{at}], %rd3;", 3),
                    parity(0, 4, at, sp),
                    parity(1, 5, at, sp),
                    f"mbarrier.arrive{sp}.b64 %rd4, [{at}];",
                    pending("%rd4", 6),
                    f"mbarrier.inval{sp}.b64 [{at}];",
                ),
                [3, 0, 1, 1, 1, 0, 3],
                unjudged=("sm_80",) if kind == "generic" else (),
            )
        )
    out.append(
        fixed(
            "mbarrier.arrive.noComplete",
            steps(
                "mbarrier.init.shared.b64 [mb+8], 9; mov.u32 %r1, 5;",
                "mbarrier.arrive.noComplete.shared.b64 %rd3, [mb+8], %r1;",
                pending("%rd3", 0),
                "mbarrier.arrive.noComplete.shared.b64 %rd3, [mb+8], 2;",
                pending("%rd3", 1),
                "mbarrier.arrive.noComplete.shared.b64 _, [mb+8], 1;",
                parity(0, 2, "mb+8"),
                "mbarrier.arrive.shared.b64 %rd3, [mb+8];",
                pending("%rd3", 3),
                parity(0, 4, "mb+8"),
            ),
            [9, 4, 0, 1, 1],
        )
    )
    out.append(
        fixed(
            "mbarrier.arrive_drop",
            steps(
                "mbarrier.init.shared.b64 [mb], 4; mov.u32 %r1, 2;",
                "mbarrier.arrive_drop.shared.b64 %rd3, [mb];",
                pending("%rd3", 0),
                "mbarrier.arrive_drop.noComplete.shared.b64 %rd3, [mb], %r1;",
                pending("%rd3", 1),
                parity(0, 2),
                "mbarrier.arrive.shared.b64 _, [mb];",
                parity(0, 3),
                "mbarrier.arrive.shared.b64 %rd3, [mb];",
                pending("%rd3", 4),
                parity(1, 5),
                "mbarrier.arrive.shared.b64 %rd3, [mb]; mbarrier.arrive_drop.shared.b64 _, [mb];",
                pending("%rd3", 6),
            ),
            [4, 3, 0, 1, 1, 1, 1],
        )
    )
    body = (
        "setp.eq.u32 %p6, %t, 0; @%p6 mbarrier.init.shared.b64 [mb], 64; bar.sync 0;\n"
        "shl.b32 %r1, %t, 2; mov.u32 %r2, smem; add.u32 %r1, %r1, %r2; mul.lo.u32 %r3, %t, 7; st.shared.u32 [%r1], %r3;\n"
        "mbarrier.arrive.shared.b64 %rd3, [mb];\nW: mbarrier.test_wait.shared.b64 %p1, [mb], %rd3; @!%p1 bra W;\n"
        "xor.b32 %r4, %t, 63; shl.b32 %r4, %r4, 2; add.u32 %r4, %r4, %r2; ld.shared.u32 %r5, [%r4];\n"
        "mul.wide.u32 %rd4, %t, 4; add.u64 %rd4, %rd4, %out; st.global.u32 [%rd4], %r5;"
    )
    out.append(fixed("mbarrier of two warps", body, [(k ^ 63) * 7 for k in range(64)], block=64))
    body = (
        "setp.eq.u32 %p6, %t, 0; @%p6 mbarrier.init.shared.b64 [mb], 64; bar.sync 0;\n"
        "mbarrier.arrive.noComplete.shared.b64 %rd3, [mb], 1; mbarrier.pending_count.b64 %r1, %rd3;\n"
        "mov.u32 %r2, smem; sub.u32 %r3, 64, %r1; shl.b32 %r3, %r3, 2; add.u32 %r3, %r3, %r2; st.shared.u32 [%r3], %r1; bar.warp.sync -1;\n"
        + copy_out(32)
    )
    out.append(fixed("noComplete of a warp", body, [64 - k for k in range(32)]))
    body = (
        "setp.eq.u32 %p6, %t, 0; @%p6 mbarrier.init.shared.b64 [mb], 1000; bar.sync 0; shr.u32 %r4, %t, 2; add.u32 %r4, %r4, 1;\n"
        "mbarrier.arrive.noComplete.shared.b64 %rd3, [mb], %r4; mbarrier.pending_count.b64 %r1, %rd3;\n"
        "mul.wide.u32 %rd4, %t, 4; add.u64 %rd4, %rd4, %out; st.global.u32 [%rd4], %r1;"
    )
    out.append(
        fixed("noComplete with different counts", body, [1000 - sum(j // 4 + 1 for j in range(k)) for k in range(32)])
    )
    return out


def hardware() -> list[Program]:
    """What sm_90 adds: counts, transactions, try_wait, scopes."""
    out = []
    out.append(
        fixed(
            "mbarrier counts",
            steps(
                "mbarrier.init.shared.b64 [mb], 10; mov.u32 %r1, 4;",
                "mbarrier.arrive.shared.b64 %rd3, [mb], %r1;",
                pending("%rd3", 0),
                "mbarrier.arrive.shared.b64 _, [mb], 3;",
                "mbarrier.arrive_drop.shared.b64 %rd3, [mb], 2;",
                pending("%rd3", 1),
                parity(0, 2),
                "mbarrier.arrive.release.cta.shared::cta.b64 %rd3, [mb], 1;",
                pending("%rd3", 3),
                parity(0, 4),
                "mbarrier.arrive.release.cluster.shared::cta.b64 %rd3, [mb], 1;",
                pending("%rd3", 5),
                "mbarrier.arrive.relaxed.cluster.shared::cta.b64 %rd3, [mb], 1;",
                pending("%rd3", 6),
            ),
            [10, 3, 0, 1, 1, 8, 7],
            90,
        )
    )
    out.append(
        fixed(
            "mbarrier transactions",
            steps(
                "mbarrier.init.shared.b64 [mb], 2; mov.u32 %r1, 96;",
                "mbarrier.expect_tx.relaxed.cta.shared.b64 [mb], %r1;",
                "mbarrier.arrive.shared.b64 _, [mb]; mbarrier.arrive.expect_tx.shared.b64 %rd3, [mb], 32;",
                pending("%rd3", 0),
                parity(0, 1),
                "mbarrier.complete_tx.relaxed.cta.shared.b64 [mb], %r1;",
                parity(0, 2),
                "mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [mb], 32;",
                parity(0, 3),
                "mbarrier.arrive_drop.expect_tx.shared.b64 %rd3, [mb], 16;",
                pending("%rd3", 4),
                "mbarrier.arrive.shared.b64 _, [mb];",
                parity(1, 5),
                "mbarrier.complete_tx.relaxed.cta.shared.b64 [mb], 16;",
                parity(1, 6),
                "mbarrier.arrive.shared.b64 %rd3, [mb];",
                pending("%rd3", 7),
            ),
            [1, 0, 0, 1, 2, 0, 1, 1],
            90,
        )
    )
    waits = (
        "try_wait.shared.b64 %p1, [mb], %rd3",
        "try_wait.parity.shared.b64 %p1, [mb], %r1",
        "try_wait.parity.shared.b64 %p1, [mb], 0, %r2",
        "try_wait.acquire.cluster.shared::cta.b64 %p1, [mb], %rd3",
        "try_wait.parity.relaxed.cluster.shared::cta.b64 %p1, [mb], 0, 20",
        "test_wait.acquire.cta.shared::cta.b64 %p1, [mb], %rd3",
        "test_wait.parity.relaxed.cta.shared::cta.b64 %p1, [mb], %r1",
        "test_wait.parity.acquire.cluster.shared::cta.b64 %p1, [mb], %r1",
    )
    lines = [
        "mbarrier.init.shared.b64 [mb], 2; mov.u32 %r1, 0; mov.u32 %r2, 50; mbarrier.arrive.shared.b64 %rd3, [mb];"
    ]
    lines += [flag(f"mbarrier.{w};", k) for k, w in enumerate(waits)]
    lines += ["mbarrier.arrive.shared.b64 _, [mb];"]
    lines += [flag(f"mbarrier.{w};", k + len(waits)) for k, w in enumerate(waits)]
    out.append(fixed("mbarrier waits", steps(*lines), [0] * len(waits) + [1] * len(waits), 90))
    out.append(
        fixed(
            "mbarrier of each thread",
            "shl.b32 %r1, %t, 3; mov.u32 %r2, smem; add.u32 %r1, %r1, %r2; add.u32 %r3, %t, 1; mbarrier.init.shared.b64 [%r1], %r3;\n"
            "mbarrier.arrive.shared.b64 %rd3, [%r1], %r3; mbarrier.pending_count.b64 %r4, %rd3;\n"
            "mbarrier.test_wait.parity.shared.b64 %p1, [%r1], 0; @!%p1 add.u32 %r4, %r4, 1000;\n"
            "mul.wide.u32 %rd4, %t, 4; add.u64 %rd4, %rd4, %out; st.global.u32 [%rd4], %r4; mbarrier.inval.shared.b64 [%r1];",
            [k + 1 for k in range(32)],
            90,
        )
    )
    return out


def copies() -> list[Program]:
    """cp.async and its arrivals on objects, groups, zero fill, policies."""
    out = []
    place = (
        "shl.b32 %r1, %t, 4; mov.u32 %r2, smem; add.u32 %r1, %r1, %r2; mul.wide.u32 %rd3, %t, 16; add.u64 %rd3, %rd3, %in;\n"
        "st.shared.v4.b32 [%r1], {%t, %t, %t, %t};\n"
    )
    forms = {
        "ca.4": ("cp.async.ca.shared.global [%r1], [%rd3], 4;", 4, 4),
        "ca.8": ("cp.async.ca.shared.global [%r1], [%rd3], 8;", 8, 8),
        "cg.16": ("cp.async.cg.shared.global [%r1], [%rd3], 16;", 16, 16),
        "cg.16.zfill": ("mov.u32 %r9, 8; cp.async.cg.shared.global [%r1], [%rd3], 16, %r9;", 8, 16),
        "ca.16.zfill.const": ("cp.async.ca.shared.global.L2::128B [%r1], [%rd3], 16, 4;", 4, 16),
        "ca.8.ignore": ("setp.eq.u32 %p1, %t, %t; cp.async.ca.shared.global [%r1], [%rd3], 8, %p1;", 0, 8),
        "cg.16.hint": (
            "createpolicy.fractional.L2::evict_last.b64 %rd4; cp.async.cg.shared.global.L2::cache_hint [%r1], [%rd3], 16, %rd4;", 16, 16,
        ),
        "cg.16.size.hint": (
            "createpolicy.fractional.L2::evict_first.b64 %rd4, 0.5; cp.async.cg.shared.global.L2::cache_hint.L2::256B [%r1], [%rd3], 16, 12, %rd4;", 12, 16,
        ),
    }  # fmt: skip
    for name, (code, copied, size) in forms.items():

        def want(source: Words, copied: int = copied, size: int = size) -> Words:
            rows = source[:128].reshape(32, 4).copy()
            keep = np.arange(4) * 4
            rows[:, (keep >= copied) & (keep < size)] = 0
            rows[:, keep >= size] = np.arange(32, dtype=np.uint32)[:, None]
            return rows.reshape(-1)

        groups = "cp.async.commit_group; cp.async.wait_group 0;" if size % 8 else "cp.async.wait_all;"
        out.append(Program(f"cp.async.{name}", f"{place}{code} {groups} bar.sync 0;\n{copy_out(128)}", want, sm=80))
    for inc, count in (("", 32), (".noinc", 32)):
        # Without noinc each thread's arrival is one more than the object expects, so it arrives by itself as well.
        own = "mbarrier.arrive.shared.b64 _, [mb];" if not inc else ""
        body = (
            f"setp.eq.u32 %p6, %t, 0; @%p6 mbarrier.init.shared.b64 [mb], {count}; bar.sync 0;\n{place}"
            f"cp.async.cg.shared.global [%r1], [%rd3], 16; cp.async.mbarrier.arrive{inc}.shared.b64 [mb]; {own}\n"
            f"W: mbarrier.test_wait.parity.shared.b64 %p1, [mb], 0; @!%p1 bra W;\n{copy_out(128)}"
        )
        out.append(Program(f"cp.async.mbarrier.arrive{inc}", body, lambda source: source[:128], sm=80))
        each = (
            f"shl.b32 %r5, %t, 3; add.u32 %r5, %r5, 8192; mov.u32 %r6, smem; add.u32 %r5, %r5, %r6; mbarrier.init.shared.b64 [%r5], 1;\n{place}"
            f"cp.async.ca.shared.global [%r1], [%rd3], 16; cp.async.mbarrier.arrive{inc}.shared.b64 [%r5]; {own.replace('[mb]', '[%r5]')}\n"
            f"W: mbarrier.test_wait.parity.shared.b64 %p1, [%r5], 0; @!%p1 bra W;\nbar.sync 0;\n{copy_out(128)}"
        )
        # For sm_80 ptxas 13.0.88 adds what all threads expect to the object of one of them (tests/oracle_faults).
        unjudged = () if inc else ("sm_80",)
        out.append(
            Program(
                f"cp.async.mbarrier.arrive{inc} of each", each, lambda source: source[:128], sm=80, unjudged=unjudged
            )
        )
    return out


def _policy(kind: int, log: int, first: int, count: int) -> list[int]:
    return [0, 0x18000000 | kind << 24 | log << 20 | first << 12 | count << 5]


def small() -> list[Program]:
    """elect, griddepcontrol, createpolicy, fences."""
    names = {"unchanged": 0, "first": 2, "last": 4, "normal": 6}
    lines: list[str] = []
    values: list[int] = []
    k = 0
    for a, kind in names.items():
        for second in ("", ".L2::evict_first", ".L2::evict_unchanged"):
            for fraction, sixteenths in (("1.0", 15), ("0.5", 7), ("%f1", 3)):
                lines.append(
                    f"createpolicy.fractional.L2::evict_{a}{second}.b64 %rd3, {fraction}; st.global.u64 [%out+{8 * k}], %rd3;"
                )
                values += [0, 0x10000000 | kind + ("first" in second) << 24 | sixteenths << 20]
                k += 1
    out = [fixed("createpolicy.fractional", steps("mov.f32 %f1, 0f3e800000;", *lines), values)]
    ranges: list[tuple[str, str, str, list[int]]] = [
        ("0", "%r4", "%r5", _policy(4, 2, 0, 64)),
        ("0x12345678", "%r1", "%r2", _policy(4, 0, 0x45, 5)),
        ("0x7f0012340000", "%r1", "%r6", _policy(4, 9, 0x11, 1)),
        ("0x1000", "%r1", "%r3", [0, 0x18000000]),
    ]
    # Adding the block's number, which is 0, hides the constants.
    lines = [
        "add.u32 %r1, %cta, 0x4000; add.u32 %r2, %cta, 0x8000; mov.u32 %r3, %cta;",
        "add.u32 %r4, %cta, 0x100000; add.u32 %r5, %cta, 0x200000; add.u32 %r6, %cta, 0x10000000;",
    ]
    values = []
    for n, (start, primary, total, want) in enumerate(ranges):
        lines.append(
            f"mov.u64 %rd4, {start}; createpolicy.range.global.L2::evict_last.b64 %rd3, [%rd4], {primary}, {total};"
        )
        lines.append(f"st.global.u64 [%out+{8 * n}], %rd3;")
        values += want
    lines.append(
        f"mov.u64 %rd4, 0x123456789a; createpolicy.cvt.L2.b64 %rd3, %rd4; st.global.u64 [%out+{8 * len(ranges)}], %rd3;"
    )
    out.append(fixed("createpolicy.range and cvt", steps(*lines), [*values, 0x3456789A, 0x12]))
    body = (
        "elect.sync %r1|%p1, 0xffffffff; selp.u32 %r2, 1, 0, %p1; mad.lo.u32 %r2, %r2, 100, %r1; setp.ge.u32 %p2, %t, 9; @!%p2 bra E;\n"
        "elect.sync _|%p3, 0xfffffe00; selp.u32 %r3, 1000, 0, %p3; add.u32 %r2, %r2, %r3;\n"
        "E: mul.wide.u32 %rd4, %t, 4; add.u64 %rd4, %rd4, %out; st.global.u32 [%rd4], %r2;"
    )
    out.append(fixed("elect.sync", body, [100] + [0] * 8 + [1000] + [0] * 22, 90))
    body = (
        "elect.sync %r1|%p1, 0xfffffff0; selp.u32 %r2, 100, 3, %p1; add.u32 %r2, %r2, %r1;\n"
        "mul.wide.u32 %rd4, %t, 4; add.u64 %rd4, %rd4, %out; st.global.u32 [%rd4], %r2;"
    )
    some = "and.b32 %r3, %t, 31; setp.lt.u32 %p2, %r3, 4; @%p2 bra FEW;\n"
    out.append(fixed("elect.sync in two warps", f"{some}{body}\nFEW:", ([0] * 4 + [104] + [7] * 27) * 2, 90, block=64))
    fences = [
        "griddepcontrol.wait;", "fence.proxy.async;", "fence.proxy.async.global;", "fence.proxy.async.shared::cta;",
        "fence.proxy.async.shared::cluster;", "fence.mbarrier_init.release.cluster;", "fence.proxy.tensormap::generic.release.cta;",
        "fence.proxy.tensormap::generic.release.gpu;", "fence.proxy.tensormap::generic.acquire.sys [%in], 128;",
        "fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster;",
        "fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster;", "fence.acquire.sync_restrict::shared::cluster.cluster;",
        "fence.release.sync_restrict::shared::cta.cluster;", "prefetch.tensormap [%in];", "griddepcontrol.launch_dependents;",
    ]  # fmt: skip
    body = "\n".join(f"st.global.u32 [%out+{4 * n}], {n + 5}; {f}" for n, f in enumerate(fences))
    out.append(fixed("fences", steps(body), [n + 5 for n in range(len(fences))], 90))
    out.append(
        fixed("createpolicy.range of constants",
              steps("mov.u64 %rd4, 0x7f0012340000; createpolicy.range.global.L2::evict_last.b64 %rd3, [%rd4], 4096, 0x10000000;"
                    "st.global.u64 [%out], %rd3; fence.proxy.alias;"),
              _policy(4, 9, 0x11, 1), unjudged=("sm_80",))
    )  # fmt: skip
    return out


def clusters() -> list[Program]:
    """Distributed shared memory in a cluster of four blocks."""
    out: list[Program] = []
    peer = (
        "mov.u32 %r1, %cluster_ctarank; mov.u32 %r2, %cluster_nctarank; add.u32 %r3, %r1, 1; rem.u32 %r3, %r3, %r2;\n"
        "shl.b32 %r4, %t, 2; mov.u32 %r5, smem; add.u32 %r4, %r4, %r5; mapa.shared::cluster.u32 %r6, %r4, %r3;\n"
    )
    both = "barrier.cluster.arrive{0}; barrier.cluster.wait{1};\n"
    result = "mad.lo.u32 %r20, %r1, 32, %t; mul.wide.u32 %rd20, %r20, 4; add.u64 %rd20, %rd20, %out; st.global.u32 [%rd20], %r21;\n"

    def rows(f: object) -> object:
        return f

    out.append(
        fixed(
            "cluster st",
            peer + "mad.lo.u32 %r7, %r1, 100, %t; st.shared::cluster.u32 [%r6], %r7;\n"
            + both.format(".release.aligned", ".acquire.aligned") + "ld.shared.u32 %r21, [%r4];\n" + result,
            [((c + 3) % 4) * 100 + t for c in range(4) for t in range(32)], 90, grid=4, cluster=4,
        )
    )  # fmt: skip
    out.append(
        fixed(
            "cluster ld, mapa, getctarank",
            peer + "mad.lo.u32 %r7, %r1, 100, %t; st.shared.u32 [%r4], %r7;\n" + both.format("", "")
            + "ld.shared::cluster.u32 %r8, [%r6]; getctarank.shared::cluster.u32 %r9, %r6; mad.lo.u32 %r21, %r9, 1000, %r8;\n"
            + "cvt.u64.u32 %rd3, %r4; cvta.shared.u64 %rd3, %rd3; mapa.u64 %rd4, %rd3, %r3; ld.u32 %r10, [%rd4]; getctarank.u64 %r11, %rd4;\n"
            + "sub.u32 %r10, %r10, %r8; add.u32 %r21, %r21, %r10; sub.u32 %r11, %r11, %r9; add.u32 %r21, %r21, %r11;\n" + both.format(".relaxed", "") + result,
            [((c + 1) % 4) * 1000 + ((c + 1) % 4) * 100 + t for c in range(4) for t in range(32)], 90, grid=4, cluster=4,
        )
    )  # fmt: skip
    out.append(
        fixed(
            "cluster atom and red",
            peer + "st.shared.u32 [%r4], %r1;\n" + both.format("", "")
            + "atom.shared::cluster.add.u32 %r8, [%r6], 10; red.shared::cluster.max.u32 [%r6], 11;\n" + both.format("", "")
            + "ld.shared.u32 %r21, [%r4]; mad.lo.u32 %r21, %r8, 100, %r21;\n" + result,
            [((c + 1) % 4) * 100 + max(c + 10, 11) for c in range(4) for t in range(32)], 90, grid=4, cluster=4,
        )
    )  # fmt: skip
    remote = (
        "setp.eq.u32 %p6, %t, 0; @%p6 mbarrier.init.shared.b64 [mb], {0};\n"
        + both.format("", "")
        + peer
        + "mov.u32 %r10, mb; mapa.shared::cluster.u32 %r11, %r10, %r3;\n"
    )
    store = {
        "u32": ("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r6], %r7, [%r11];", 4),
        "b64": ("shl.b32 %r4, %t, 3; add.u32 %r4, %r4, %r5; mapa.shared::cluster.u32 %r6, %r4, %r3; mov.b64 %rd3, {%r7, %r7};"
                "st.async.shared::cluster.mbarrier::complete_tx::bytes.b64 [%r6], %rd3, [%r11];", 8),
        "v4.f32": ("shl.b32 %r4, %t, 4; add.u32 %r4, %r4, %r5; mapa.shared::cluster.u32 %r6, %r4, %r3; mov.b32 %f1, %r7;"
                   "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.f32 [%r6], {%f1, %f1, %f1, %f1}, [%r11];", 16),
    }  # fmt: skip
    for name, (code, size) in store.items():
        out.append(
            fixed(
                f"st.async.{name}",
                remote.format(1) + "mad.lo.u32 %r7, %r1, 100, %t; " + code
                + f"\n@%p6 mbarrier.arrive.expect_tx.shared.b64 _, [mb], {32 * size};\n" + wait() + "ld.shared.u32 %r21, [%r4];\n"
                + both.format("", "") + result,
                [((c + 3) % 4) * 100 + t for c in range(4) for t in range(32)], 90, grid=4, cluster=4,
            )
        )  # fmt: skip
    out.append(
        fixed(
            "st.async.shared::cta",
            remote.format(1) + "mad.lo.u32 %r7, %r1, 100, %t; st.async.shared::cta.mbarrier::complete_tx::bytes.u32 [%r4], %r7, [%r10];\n"
            + "@%p6 mbarrier.arrive.expect_tx.shared.b64 _, [mb], 128;\n" + wait() + "ld.shared.u32 %r21, [%r4];\n" + both.format("", "") + result,
            [c * 100 + t for c in range(4) for t in range(32)], 90, grid=4, cluster=4,
        )
    )  # fmt: skip
    for op, type_, f in (
        ("add", "u32", lambda old, v: old + v), ("min", "u32", min), ("max", "s32", max), ("inc", "u32", lambda old, v: 0 if old >= v else old + 1),
        ("dec", "u32", lambda old, v: v if old == 0 or old > v else old - 1), ("and", "b32", lambda old, v: old & v),
        ("or", "b32", lambda old, v: old | v), ("xor", "b32", lambda old, v: old ^ v),
    ):  # fmt: skip
        out.append(
            fixed(
                f"red.async.{op}.{type_}",
                remote.format(1) + "st.shared.u32 [%r4], %t;\n" + both.format("", "")
                + f"red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.{op}.{type_} [%r6], 21, [%r11];\n"
                + "@%p6 mbarrier.arrive.expect_tx.shared.b64 _, [mb], 128;\n" + wait() + "ld.shared.u32 %r21, [%r4];\n" + both.format("", "") + result,
                [f(t, 21) for c in range(4) for t in range(32)], 90, grid=4, cluster=4,
            )
        )  # fmt: skip
    out.append(
        fixed(
            "red.async.add.u64",
            remote.format(1) + "shl.b32 %r4, %t, 3; add.u32 %r4, %r4, %r5; mapa.shared::cluster.u32 %r6, %r4, %r3; mov.b64 %rd3, 0x100000005;\n"
            + "cvt.u64.u32 %rd4, %t; st.shared.u64 [%r4], %rd4;\n" + both.format("", "")
            + "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u64 [%r6], %rd3, [%r11];\n"
            + "@%p6 mbarrier.arrive.expect_tx.shared.b64 _, [mb], 256;\n" + wait()
            + "ld.shared.v2.u32 {%r20, %r22}, [%r4]; mad.lo.u32 %r21, %r22, 1000, %r20;\n" + both.format("", "") + result,
            [1000 + t + 5 for c in range(4) for t in range(32)], 90, grid=4, cluster=4,
        )
    )  # fmt: skip
    arrivals = (
        "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r11];", "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r11], 1;",
        "mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [%r11];", "mbarrier.arrive_drop.release.cluster.shared::cluster.b64 _, [%r11];",
        "mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64 _, [%r11], 4; mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [%r11], 4;",
        "mbarrier.expect_tx.relaxed.cluster.shared::cluster.b64 [%r11], 8; mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [%r11], 8;"
        " mbarrier.arrive_drop.expect_tx.release.cluster.shared::cluster.b64 _, [%r11], 0;",
    )  # fmt: skip
    for n, code in enumerate(arrivals):
        out.append(
            fixed(
                f"remote arrival {n}",
                remote.format(32) + "mad.lo.u32 %r7, %r1, 100, %t; st.shared::cluster.u32 [%r6], %r7; " + code + "\n"
                + "W: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p7, [mb], 0; @!%p7 bra W;\nld.shared.u32 %r21, [%r4];\n"
                + both.format("", "") + result,
                [((c + 3) % 4) * 100 + t for c in range(4) for t in range(32)], 90, grid=4, cluster=4,
            )
        )  # fmt: skip
    registers = [
        "clusterid.x",
        "nclusterid.x",
        "cluster_ctaid.x",
        "cluster_nctaid.x",
        "cluster_ctarank",
        "cluster_nctarank",
    ]
    lines = "".join(f"mov.u32 %r{k}, %{n}; mad.lo.u32 %r21, %r21, 10, %r{k};\n" for k, n in enumerate(registers, 1))
    place = "mad.lo.u32 %r20, %cta, 32, %t; mul.wide.u32 %rd20, %r20, 4; add.u64 %rd20, %rd20, %out; st.global.u32 [%rd20], %r21;\n"
    out.append(
        fixed("cluster registers", "mov.u32 %r21, 0;\n" + lines + place,
              [int(f"{c // 2}2{c % 2}2{c % 2}2") for c in range(4) for t in range(32)], 90, grid=4, cluster=2)
    )  # fmt: skip
    out.append(
        fixed(
            "barrier.cluster without cluster",
            "shl.b32 %r4, %t, 2; mov.u32 %r5, smem; add.u32 %r6, %r5, %r4; st.shared.u32 [%r6], %t; barrier.cluster.arrive; barrier.cluster.wait;\n"
            "xor.b32 %r4, %r4, 252; add.u32 %r6, %r5, %r4; ld.shared.u32 %r21, [%r6];\n" + place,
            [t ^ 63 for t in range(64)], 90, block=64,
        )
    )  # fmt: skip
    return out


def programs() -> list[Program]:
    """Every program of this file."""
    return objects() + hardware() + copies() + small() + clusters()


__all__ = ["init", "programs"]
