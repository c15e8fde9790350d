"""Programs of what sm_100 and later add: rows of tensors, pairs of CTAs, byte masks, asynchronous stores, taken work."""

from collections.abc import Callable
from typing import Any

import numpy as np

from orias.sim.matrix.tensor_map import SIZE
from tests.asynchronous.copy_programs import ONE, issued, swizzle
from tests.asynchronous.harness import LATER, Program, Words, copy_out, init, wait
from tests.device import tensormap

TENSOR = ("100", "103", "110")
"""SMs with tensor memory; they alone copy rows to the cluster, and signal the other CTA of a pair."""
DONE = "mbarrier::complete_tx::bytes"
CLUSTER = "barrier.cluster.arrive; barrier.cluster.wait;\n"
OWN = "mad.lo.u32 %r20, %cta, 128, 0; mul.wide.u32 %rd20, %r20, 4; add.u64 %out, %out, %rd20;\n"
ROWS = (3, 60, -1, 64)
"""Of these rows of the 64, the last two are outside."""


def rows_of(source: Words, column: int, rows: tuple[int, ...], width: int) -> Words:
    """Parts of rows of the input as a matrix of 64 rows of 32 words; zero outside."""
    a = np.zeros((len(rows), width), np.uint32)
    matrix = source[:2048].reshape(64, 32)
    for k, row in enumerate(rows):
        for c in range(width):
            if 0 <= row < 64 and 0 <= column + c < 32:
                a[k, c] = matrix[row, column + c]
    return a.reshape(-1)


def row_map(width: int, swizzled: str = "none") -> Callable[[int], bytes]:
    return lambda at: tensormap("u32", at, (32, 64), (128,), (width, 1), swizzle=swizzled)


def gathers() -> list[Program]:
    """Four rows in one copy."""
    out = []
    for name, column, rows, width, bits in (
        ("inside", 4, (3, 60, 17, 17), 8, 0), ("outside", 28, ROWS, 8, 0), ("swizzled", 0, (9, 1, 63, 30), 32, 3),
    ):  # fmt: skip
        moves = " ".join(f"mov.s32 %r{10 + k}, {v};" for k, v in enumerate((column, *rows)))
        names = "none", "32B", "64B", "128B"
        for to, families in (("shared::cta", ()), ("shared::cluster", TENSOR)):
            for hint in (False, True) if name == "inside" else (False,):
                policy = "createpolicy.fractional.L2::evict_last.b64 %rd4;" if hint else ""
                code = (
                    f"{moves}{policy} cp.async.bulk.tensor.2d.{to}.global.tile::gather4.{DONE}{'.L2::cache_hint' if hint else ''}"
                    f" [smem], [%tm, {{%r10, %r11, 60, %r13, %r14}}], [mb]{', %rd4' if hint else ''};"
                ).replace("60", str(rows[1]))
                if to == "shared::cluster":
                    code = f"cp.async.bulk.prefetch.tensor.2d.L2.global.tile::gather4 [%tm, {{0, 1, 2, 3, 4}}]; {code}"
                out.append(
                    later(
                        f"gather4 {to} {name}{' hint' if hint else ''}", issued(code, 16 * width) + copy_out(4 * width),
                        lambda s, c=column, r=rows, w=width, b=bits: swizzle(rows_of(s, c, r, w), b),
                        families, map_=row_map(width, names[bits]),
                    )
                )  # fmt: skip
    multicast = (
        f"{pair(128)}setp.eq.u32 %p1, %r1, 1; and.pred %p1, %p1, %p6; @!%p1 bra DONE; cvt.u16.u32 %h1, 3;\n"
        f"cp.async.bulk.tensor.2d.shared::cluster.global.tile::gather4.{DONE}.multicast::cluster [smem], [%tm, {{4, 3, 2, 1, 0}}], [mb], %h1;\nDONE:\n"
        f"{wait()}{OWN}{copy_out(32)}{CLUSTER}"
    )

    def both(s: Words) -> Words:
        a = np.zeros((2, 128), np.uint32)
        a[:, :32] = rows_of(s, 4, (3, 2, 1, 0), 8)
        return a.reshape(-1)

    out.append(later("gather4 multicast", multicast, both, TENSOR, grid=2, cluster=2, map_=row_map(8)))
    fill = "shl.b32 %r1, %t, 4; mov.u32 %r2, smem; add.u32 %r3, %r1, %r2; mul.lo.u32 %r4, %t, 11; st.shared.v4.u32 [%r3], {%r4,%r4,%r4,%r4}; fence.proxy.async; bar.sync 0;\n"
    scatter = (
        fill + init() + ONE + "cp.async.bulk.tensor.2d.global.shared::cta.tile::scatter4.bulk_group [%tm, {28, 5, -1, 40, 2}], [smem];\n"
        "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; fence.proxy.async; mbarrier.arrive.expect_tx.shared.b64 _, [mb], 128;\n"
        f"cp.async.bulk.tensor.2d.shared::cta.global.tile::gather4.{DONE} [smem+4096], [%tm, {{28, 5, 6, 40, 2}}], [mb];\nDONE:\n"
        + wait() + copy_out(32, 4096)
    )  # fmt: skip

    def scattered(s: Words) -> Words:
        new = (np.arange(32, dtype=np.uint32) // 4 * 11).reshape(4, 8)
        matrix = s[:2048].reshape(64, 32).copy()
        for k, row in enumerate((5, -1, 40, 2)):
            if row >= 0:
                matrix[row, 28:] = new[k, :4]
        return rows_of(matrix.reshape(-1), 28, (5, 6, 40, 2), 8)

    out.append(later("scatter4", scatter, scattered, TENSOR, map_=row_map(8)))
    return out


def later(
    name: str, body: str, want: Callable[[Words], Any], families: tuple[str, ...] = (), **options: Any
) -> Program:
    """A program for sm_100 and later; `families`: only for targets of these SMs, with a suffix."""
    p = Program(name, body, want, sm=100, **options)
    p.families = families
    return p


def pair(size: int, rank: str = "%r1") -> str:
    """Each CTA of a cluster has an object that expects bytes; the CTA's rank."""
    return (
        f"setp.eq.u32 %p6, %t, 0; @%p6 mbarrier.init.shared.b64 [mb], 1; @%p6 mbarrier.arrive.expect_tx.shared.b64 _, [mb], {size};\n"
        f"{CLUSTER}mov.u32 {rank}, %cluster_ctarank;\n"
    )


def narrow() -> list[Program]:
    """Tiles of 4- and 6-bit elements: 16 of them are 8 or 12 bytes in global memory, and 8 or 16 in shared memory.

    The barrier object is told of the former, which is what Triton's and CUTLASS's kernels wait for.
    """
    out = []
    for type_, size, room in (("b4x16", 8, 8), ("b4x16_p64", 8, 16), ("b6x16_p32", 12, 16)):
        for column, row, bits in ((2, 3, 0), (6, 14, 0), (4, 0, 2)):

            def want(
                s: Words, size: int = size, room: int = room, column: int = column, row: int = row, bits: int = bits
            ) -> Words:
                memory = s.view(np.uint8)[: 16 * 8 * size].reshape(16, 8, size)
                image = np.repeat((np.arange(32) * 11).astype(np.uint32), 4).view(np.uint8).copy()
                for r in range(4):
                    for c in range(4):
                        at = (4 * r + c) * room
                        at ^= (at >> 7 & (1 << bits) - 1) << 4
                        inside = row + r < 16 and column + c < 8
                        image[at : at + size] = memory[row + r, column + c] if inside else 0
                return image[: 16 * room].view(np.uint32)

            code = (
                f"cp.async.bulk.tensor.2d.shared::cta.global.tile.{DONE} [smem], [%tm, {{{16 * column}, {row}}}], [mb];"
            )
            fill = "shl.b32 %r1, %t, 4; mov.u32 %r2, smem; add.u32 %r3, %r1, %r2; mul.lo.u32 %r4, %t, 11; st.shared.v4.u32 [%r3], {%r4,%r4,%r4,%r4}; fence.proxy.async; bar.sync 0;\n"
            out.append(
                later(
                    f"tile of {type_} at {column}, {row}, swizzle {bits}", fill + issued(code, 16 * size) + copy_out(4 * room), want,
                    map_=lambda at, t=type_, n=size, b=bits: tensormap(t, at, (128, 16), (8 * n,), (64, 4), swizzle=("none", "32B", "64B")[b]),
                )
            )  # fmt: skip
    return out


def pairs() -> list[Program]:
    """cta_group: the object may be in the other CTA of the pair; with multicast, the objects are in the even or the odd CTAs."""
    tile: dict[str, Any] = {"map_": lambda a: tensormap("u32", a, (32, 64), (128,), (8, 4))}
    out = []
    # Each CTA copies a tile of its own; the object of CTA 0 counts the bytes of both.
    own = (
        f"{pair(256)}mov.u32 %r2, mb; mapa.shared::cluster.u32 %r2, %r2, 0; shl.b32 %r3, %r1, 2; mov.u32 %r4, smem;\n"
        f"@!%p6 bra DONE; cp.async.bulk.tensor.2d.shared::cluster.global.tile.{DONE}.cta_group::2 [%r4], [%tm, {{8, %r3}}], [%r2];\nDONE:\n"
        f"setp.eq.u32 %p2, %r1, 0; @!%p2 bra OTHER;\n{wait()}OTHER: {CLUSTER}{OWN}{copy_out(32)}"
    )

    def tiles(s: Words, ranks: int = 2) -> Words:
        a = np.zeros((ranks, 128), np.uint32)
        for c in range(ranks):
            a[c, :32] = s[:2048].reshape(64, 32)[4 * c : 4 * c + 4, 8:16].reshape(-1)
        return a.reshape(-1)

    out.append(later("cta_group::2", own, tiles, TENSOR, grid=2, cluster=2, **tile))
    single = own.replace("cta_group::2", "cta_group::1").replace("mapa.shared::cluster.u32 %r2, %r2, 0; ", "").replace(
        pair(256), pair(128)).replace("setp.eq.u32 %p2, %r1, 0; @!%p2 bra OTHER;\n", "")  # fmt: skip
    out.append(later("cta_group::1", single, tiles, TENSOR, grid=2, cluster=2, **tile))
    # CTA 1 of four copies to all; the objects of CTAs 0 and 2 count the bytes of their pairs.
    every = (
        f"{pair(256)}mov.u32 %r2, mb; mapa.shared::cluster.u32 %r2, %r2, 0; mov.u32 %r4, smem; cvt.u16.u32 %h1, 15;\n"
        "setp.eq.u32 %p1, %r1, 1; and.pred %p1, %p1, %p6; @!%p1 bra DONE;\n"
        f"cp.async.bulk.tensor.2d.shared::cluster.global.tile.{DONE}.multicast::cluster.cta_group::2 [%r4], [%tm, {{8, 0}}], [%r2], %h1;\nDONE:\n"
        f"and.b32 %r5, %r1, 1; setp.eq.u32 %p2, %r5, 0; @!%p2 bra OTHER;\n{wait()}OTHER: {CLUSTER}{OWN}{copy_out(32)}"
    )
    out.append(
        later("cta_group::2 multicast", every, lambda s: np.tile(tiles(s)[:128], 4), TENSOR, grid=4, cluster=4, **tile)
    )
    return out


def masked() -> list[Program]:
    """cp.async.bulk with a byte mask: of each 16 bytes, those of the mask are written."""
    fill = (
        "shl.b32 %r1, %t, 4; mov.u32 %r2, smem; add.u32 %r3, %r1, %r2; cvt.u64.u32 %rd3, %r1; add.u64 %rd3, %rd3, %in; ld.global.v4.u32 {%r4,%r5,%r6,%r7}, [%rd3];\n"
        "st.shared.v4.u32 [%r3], {%r4,%r5,%r6,%r7}; fence.proxy.async.shared::cta; bar.sync 0;\n"
    )
    out = []
    for mask, hint in ((0x1235, False), (0xF00E, True)):
        policy = "createpolicy.fractional.L2::evict_last.b64 %rd4;" if hint else ""
        body = (
            f"{fill}{ONE}{policy} mov.u16 %h1, {mask}; cp.async.bulk.global.shared::cta.bulk_group{'.L2::cache_hint' if hint else ''}.cp_mask"
            f" [%out], [smem], 256{', %rd4' if hint else ''}, %h1; cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;\nDONE:"
        )

        def want(s: Words, mask: int = mask) -> Words:
            kept = np.tile([mask >> k & 1 for k in range(16)], 16).astype(np.uint8)
            return (s[:64].copy().view(np.uint8) * kept).view(np.uint32)

        out.append(later(f"cp.async.bulk cp_mask {mask:#x}", body, want))
    return out


def stores() -> list[Program]:
    """st.async and red.async to global memory: by every thread, in its place or in one for all."""
    at = "mul.wide.u32 %rd3, %t, 8; add.u64 %rd3, %rd3, %out; mul.lo.u32 %r1, %t, 77; mov.b64 %rd4, {%r1, %t}; mov.b32 %f1, %r1; mov.b64 %d1, %rd4;\n"
    out = []
    for form, wide in (
        ("release.sys.global.u32 [%rd3], %r1", False), ("release.gpu.global.b64 [%rd3], %rd4", True), ("mmio.release.sys.global.u32 [%rd3], %r1", False),
        ("mmio.release.sys.global.u64 [%rd3], %rd4", True), ("release.gpu.global.f32 [%rd3], %f1", False), ("release.sys.global.f64 [%rd3], %d1", True),
    ):  # fmt: skip

        def want(s: Words, wide: bool = wide) -> Words:
            a = np.zeros((32, 2), np.uint32)
            a[:, 0] = np.arange(32) * 77
            if wide:
                a[:, 1] = np.arange(32)
            return a.reshape(-1)

        out.append(later(f"st.async.{form.split(' ')[0]}", f"{at}st.async.{form};", want))
    total = int(sum(77 * t for t in range(32)))
    for form, words in (
        ("release.sys.global.add.u32 [%out], %r1", [total]), ("release.gpu.global.add.s32 [%out+8], %r1", [0, 0, total]),
        ("mmio.release.sys.global.add.u64 [%out], %rd4", [total, 31 * 16]), ("release.gpu.global.add.s64 [%out], %rd4", [total, 31 * 16]),
    ):  # fmt: skip
        out.append(later(f"red.async.{form.split(' ')[0]}", f"{at}red.async.{form};", lambda s, w=words: w))
    # ptxas stores nothing for a weak store, and adds one value of the warp where another operation is asked for.
    weak = later(
        "st.async.weak",
        f"{at}st.async.weak.global.u32 [%rd3], %r1;",
        lambda s: [77 * (k // 2) * (1 - k % 2) for k in range(64)],
    )
    counted = later(
        "red.async.inc",
        f"{at}add.u32 %r5, %cta, 1000; red.async.mmio.release.gpu.global.inc.u32 [%out], %r5;",
        lambda s: [32],
    )
    mmio = later("red.async.mmio", f"{at}red.async.mmio.release.sys.global.add.u32 [%out], %r1;", lambda s: [total])
    weak.unjudged = counted.unjudged = (*LATER, "sm_121a")
    out += [weak, counted, mmio]
    # (For immediate values ptxas has no instruction at -O0.)
    guarded = (
        f"{at}add.u32 %r5, %cta, 5; add.u32 %r6, %cta, 3; setp.gt.u32 %p1, %t, 29;"
        " @%p1 st.async.release.gpu.global.u32 [%rd3+4], %r5; @!%p1 red.async.release.sys.global.add.u32 [%out], %r6;"
    )
    out.append(later("st.async and red.async, guarded", guarded, lambda s: [90, *[0] * 60, 5, 0, 5]))
    return out


def work() -> list[Program]:
    """Blocks that take the work of others that have not started; each part is done once."""
    body = (
        f"{init()}mov.u32 %r1, %cta; mov.u32 %r10, 0;\n"
        "LOOP: setp.eq.u32 %p6, %t, 0; @!%p6 bra ASKED; mul.wide.u32 %rd3, %r1, 4; add.u64 %rd3, %rd3, %out; add.u32 %r2, %r1, 1;\n"
        "red.global.add.u32 [%rd3], %r2; fence.proxy.async; mbarrier.arrive.expect_tx.shared.b64 _, [mb], 16;\n"
        f"clusterlaunchcontrol.try_cancel.async.shared::cta.{DONE}.b128 [smem], [mb];\nASKED:\n"
        f"{wait('%r10')}ld.shared.v4.u32 {{%r1, %r3, %r4, %r5}}, [smem]; xor.b32 %r10, %r10, 1; bar.sync 0;\n"
        "and.b32 %r4, %r4, 1; setp.eq.u32 %p1, %r4, 1; @%p1 bra LOOP;\n"
    )
    one = later("try_cancel", body, lambda s: [k + 1 for k in range(7)], grid=7)
    one.resident = 2
    most = later("try_cancel, all started", body, lambda s: [k + 1 for k in range(7)], grid=7)
    # Every CTA of a cluster gets the first block of another; CTA 0 asks.
    both = (
        "setp.eq.u32 %p6, %t, 0; @%p6 mbarrier.init.shared.b64 [mb], 1; mov.u32 %r11, %cluster_ctarank; sub.u32 %r1, %cta, %r11; mov.u32 %r10, 0;\n"
        f"{CLUSTER}LOOP: setp.eq.u32 %p6, %t, 0; add.u32 %r2, %r1, %r11; mul.wide.u32 %rd3, %r2, 4; add.u64 %rd3, %rd3, %out; add.u32 %r2, %r2, 1;\n"
        f"@%p6 red.global.add.u32 [%rd3], %r2; @%p6 mbarrier.arrive.expect_tx.shared.b64 _, [mb], 16;\n{CLUSTER}"
        "setp.eq.u32 %p1, %r11, 0; and.pred %p1, %p1, %p6; @!%p1 bra ASKED;\n"
        f"clusterlaunchcontrol.try_cancel.async.shared::cta.{DONE}.multicast::cluster::all.b128 [smem], [mb];\nASKED:\n"
        f"{wait('%r10')}ld.shared.v4.u32 {{%r1, %r3, %r4, %r5}}, [smem]; xor.b32 %r10, %r10, 1;\n{CLUSTER}"
        "and.b32 %r4, %r4, 1; setp.eq.u32 %p1, %r4, 1; @%p1 bra LOOP;\n"
    )
    many = later(
        "try_cancel multicast", both, lambda s: [k + 1 for k in range(10)], (*TENSOR, "120", "121"), grid=10, cluster=2
    )
    many.resident = 2
    return [one, most, many]


def fields() -> list[Program]:
    """tensormap.replace of fields that have more values, or are new: the words of the map."""
    lines = [
        ("elemtype", 13, 7, 4, 11), ("elemtype", 15, 7, 4, 13), ("elemtype", 11, 7, 4, 7), ("elemtype", 12, 7, 4, 8),
        ("swizzle_atomicity", 0, 19, 3, 0), ("swizzle_atomicity", 3, 19, 3, 3), ("swizzle_mode", 2, 13, 2, 2),
        ("interleave_layout", 2, 11, 2, 2),
    ]  # fmt: skip
    out = []
    for field, value, low, bits, code in lines:
        body = (
            "shl.b32 %r3, %t, 2; cvt.u64.u32 %rd4, %r3; add.u64 %rd5, %tm, %rd4; add.u64 %rd6, %out, %rd4; ld.u32 %r5, [%rd5]; st.global.u32 [%rd6], %r5; bar.sync 0;\n"
            f"{ONE}tensormap.replace.tile.{field}.global.b1024.b32 [%out], {value};\nDONE:"
        )
        # All bits of the flags are set, so that those that are cleared show.
        raw = bytes(range(100, 108)) + b"\xff" * 4 + bytes(range(SIZE - 12))

        def want(
            s: Words, raw: bytes = raw, field: str = field, low: int = low, bits: int = bits, code: int = code
        ) -> Words:
            words = np.frombuffer(raw, np.uint32).copy()
            flags = int(words[2]) & ~(((1 << bits) - 1) << low) | code << low
            words[2] = flags & ~(0x400000 if field == "swizzle_mode" else 0)
            return words

        out.append(
            later(
                f"tensormap.replace {field} {value}", body, want, (*TENSOR, "120", "121"), map_=lambda at, raw=raw: raw
            )
        )
    return out


def reductions() -> list[Program]:
    """multimem.ld_reduce of 8-bit floats: the only member's values."""
    out = []
    at = "mul.wide.u32 %rd3, %t, 16; add.u64 %rd4, %in, %rd3; add.u64 %rd5, %out, %rd3;\n"
    for form, words in (
        ("add.e4m3x4 %r1", 1), ("min.v2.e5m2x4 {%r1, %r2}", 2), ("add.acc::f16.v4.e5m2x4 {%r1, %r2, %r3, %r4}", 4),
        ("max.v4.e4m3x4 {%r1, %r2, %r3, %r4}", 4), ("add.v4.e4m3x4 {%r1, %r2, %r3, %r4}", 4),
        ("add.acc::f16.v4.e4m3x4 {%r1, %r2, %r3, %r4}", 4),
    ):  # fmt: skip
        store = {
            1: "u32 [%rd5], %r1",
            2: "v2.u32 [%rd5], {%r1, %r2}",
            4: "v4.u32 [%rd5], {%r1, %r2, %r3, %r4}",
        }[words]
        name, _, dst = form.partition(" ")

        def want(s: Words, words: int = words) -> Words:
            a = np.zeros((32, 4), np.uint32)
            a[:, :words] = s[:128].reshape(32, 4)[:, :words]
            return a.reshape(-1)

        out.append(
            later(
                f"multimem.ld_reduce {name}", f"{at}multimem.ld_reduce.weak.global.{name} {dst}, [%rd4]; st.global.{store};",
                want, (*TENSOR, "120", "121"), source=np.full(4096, 0x3834BC30, np.uint32),
            )
        )  # fmt: skip
    return out


def without_effect() -> list[Program]:
    """A prefetch along W and a change of the number of registers: a copy beside them gives what it copies."""
    copied = "shl.b32 %r3, %t, 2; cvt.u64.u32 %rd4, %r3; add.u64 %rd5, %in, %rd4; add.u64 %rd6, %out, %rd4; ld.global.u32 %r5, [%rd5]; st.global.u32 [%rd6], %r5;"
    dims = (32, 8, 4)
    ahead = later(
        "prefetch im2col::w",
        "mov.u16 %h1, 2; mov.u16 %h2, 1;"
        f" cp.async.bulk.prefetch.tensor.3d.L2.global.im2col::w [%tm, {{0, 1, 1}}], {{%h1, %h2}}; {copied}",
        lambda s: s[:32],
        TENSOR,
        map_=lambda at: tensormap(
            "u32", at, dims, (128, 1024), corners=([-1], [-1]), channels=32, pixels=16, swizzle="32B", steps=(1, 1, 1)
        ),
    )
    more = later(
        "setmaxnreg",
        f"setmaxnreg.inc.sync.aligned.u32 160; {copied}",
        lambda s: s[:128],
        (*TENSOR, "120", "121"),
        block=128,
    )
    return [ahead, more]


def programs() -> list[Program]:
    """All of them."""
    return [*gathers(), *narrow(), *pairs(), *masked(), *stores(), *work(), *fields(), *reductions(), *without_effect()]
