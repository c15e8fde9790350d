"""Programs of bulk and tensor copies, reductions and tensor maps (sm_90)."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.asynchronous.harness import Program, Words, copy_out, init, wait
from tests.device import tensormap

ONE = "setp.ne.u32 %p0, %t, 0; @%p0 bra DONE;\n"
LOAD = ".shared::cluster.global"


def issued(code: str, size: int) -> str:
    """Thread 0 expects bytes and issues copies; all wait."""
    return f"{init()}{ONE}mbarrier.arrive.expect_tx.shared.b64 _, [mb], {size};\n{code}\nDONE:\n{wait()}"


def bulk_loads() -> list[Program]:
    out = []
    done = "mbarrier::complete_tx::bytes"
    for name, code, want in (
        ("shared::cluster", f"cp.async.bulk.shared::cluster.global.{done} [smem], [%in], 256, [mb];", lambda s: s[:64]),
        ("shared::cta", f"mov.u32 %r1, 256; add.u64 %rd3, %in, 64; cp.async.bulk.shared::cta.global.{done} [smem], [%rd3], %r1, [mb];", lambda s: s[16:80]),
        ("hint", f"createpolicy.fractional.L2::evict_first.b64 %rd4; cp.async.bulk.shared::cluster.global.{done}.L2::cache_hint [smem], [%in+16], 256, [mb], %rd4;",
         lambda s: s[4:68]),
    ):  # fmt: skip
        out.append(Program(f"cp.async.bulk {name}", issued(code, 256) + copy_out(64), want))
    each = (
        f"{init()}setp.eq.u32 %p1, %t, 0; @%p1 mbarrier.arrive.expect_tx.shared.b64 _, [mb], 1024; bar.sync 0;\n"
        "shl.b32 %r1, %t, 5; mov.u32 %r2, smem; add.u32 %r1, %r1, %r2; xor.b32 %r3, %t, 31; mul.wide.u32 %rd3, %r3, 32; add.u64 %rd3, %rd3, %in;\n"
        f"cp.async.bulk.shared::cluster.global.{done} [%r1], [%rd3], 32, [mb];\n{wait()}{copy_out(256)}"
    )
    out.append(Program("cp.async.bulk of each thread", each, lambda s: s[:256].reshape(32, 8)[::-1].reshape(-1)))
    odd = each.replace(
        "cp.async.bulk.shared", "and.b32 %r4, %t, 1; setp.eq.u32 %p2, %r4, 1; @%p2 cp.async.bulk.shared"
    ).replace("1024", "512")

    def odd_rows(s: Words) -> Words:
        rows = np.full((32, 8), 0xCDCDCDCD, np.uint32)
        rows[1::2] = s[:256].reshape(32, 8)[::-1][1::2]
        return rows.reshape(-1)

    out.append(Program("cp.async.bulk of odd threads", odd, odd_rows))
    own = "mad.lo.u32 %r20, %cta, 64, 0; mul.wide.u32 %rd20, %r20, 4; add.u64 %out, %out, %rd20;\n"
    cluster = "barrier.cluster.arrive; barrier.cluster.wait;\n"
    pair = (
        f"setp.eq.u32 %p6, %t, 0; @%p6 mbarrier.init.shared.b64 [mb], 1; @%p6 mbarrier.arrive.expect_tx.shared.b64 _, [mb], 256;\n{cluster}"
        "mov.u32 %r1, %cluster_ctarank; "
    )
    out.append(
        Program(
            "cp.async.bulk multicast",
            pair + "setp.eq.u32 %p1, %r1, 1; and.pred %p1, %p1, %p6; @!%p1 bra DONE;\n"
            f"cp.async.bulk.shared::cluster.global.{done}.multicast::cluster [smem], [%in], 256, [mb], 3;\nDONE:\n{wait()}{own}{copy_out(64)}{cluster}",
            lambda s: np.concatenate((s[:64], s[:64])), grid=2, cluster=2,
        )
    )  # fmt: skip
    fill = "mad.lo.u32 %r2, %r1, 1000, %t; shl.b32 %r3, %t, 3; mov.u32 %r4, smem; add.u32 %r3, %r3, %r4; st.shared.v2.u32 [%r3+1024], {%r2, %r2};\n"
    send = "mov.u32 %r5, mb; xor.b32 %r6, %r1, 1; mapa.shared::cluster.u32 %r7, %r4, %r6; mapa.shared::cluster.u32 %r8, %r5, %r6; add.u32 %r4, %r4, 1024;\n"
    out.append(
        Program(
            "cp.async.bulk to the cluster",
            pair + fill + "fence.proxy.async; bar.sync 0;\n" + send
            + f"@!%p6 bra DONE; cp.async.bulk.shared::cluster.shared::cta.{done} [%r7], [%r4], 256, [%r8];\nDONE:\n{wait()}{own}{copy_out(64)}{cluster}",
            lambda s: [(1 - c) * 1000 + t for c in range(2) for t in range(32) for _ in range(2)], grid=2, cluster=2,
        )
    )  # fmt: skip
    return out


def reference(kind: str, old: np.ndarray, new: np.ndarray) -> np.ndarray:
    """What a reduction leaves."""
    functions: dict[str, Callable[[Any, Any], Any]] = {
        "add": lambda x, y: x + y, "min": np.minimum, "max": np.maximum, "and": lambda x, y: x & y, "or": lambda x, y: x | y,
        "xor": lambda x, y: x ^ y, "inc": lambda x, y: np.where(x >= y, 0, x + 1), "dec": lambda x, y: np.where((x == 0) | (x > y), y, x - 1),
    }  # fmt: skip
    return functions[kind](old, new).astype(old.dtype)


NUMPY: dict[str, Any] = {
    "u32": np.uint32, "s32": np.int32, "u64": np.uint64, "s64": np.int64, "b32": np.uint32, "b64": np.uint64, "f16": np.float16,
    "f32": np.float32, "f64": np.float64, "bf16": np.uint16,
}  # fmt: skip


def halves(type_: str) -> Words:
    """Input whose words are small numbers of a type."""
    rng = np.random.default_rng(7)
    if type_ == "bf16":
        return (rng.integers(-64, 64, 8192).astype(np.float32).view(np.uint32) >> 16).astype(np.uint16).view(np.uint32)
    if type_[0] == "f":
        return rng.integers(-100, 100, 16384 // np.dtype(NUMPY[type_]).itemsize).astype(NUMPY[type_]).view(np.uint32)
    return rng.integers(0, 1 << 32, 4096, dtype=np.uint64).astype(np.uint32)


def bulk_stores() -> list[Program]:
    """From shared memory to global memory, plain and with a reduction."""
    out = []
    fill = "shl.b32 %r1, %t, 4; mov.u32 %r2, smem; add.u32 %r3, %r1, %r2; cvt.u64.u32 %rd3, %r1; add.u64 %rd3, %rd3, %in; ld.global.v4.u32 {%r4,%r5,%r6,%r7}, [%rd3];\n"
    fill += "st.shared.v4.u32 [%r3], {%r4,%r5,%r6,%r7}; fence.proxy.async.shared::cta; bar.sync 0;\n"
    end = "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;\nDONE:\n"
    out.append(
        Program(
            "cp.async.bulk store",
            fill + ONE + "cp.async.bulk.global.shared::cta.bulk_group [%out], [smem], 512;\n" + end,
            lambda s: s[:128],
        )
    )
    out.append(
        Program(
            "cp.async.bulk store hint",
            fill + ONE + "createpolicy.fractional.L2::evict_last.b64 %rd4; mov.u32 %r9, 256;\n"
            "cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint [%out+64], [smem+128], %r9, %rd4; cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0;\nDONE:",
            lambda s: np.concatenate((np.zeros(16, np.uint32), s[32:96])),
        )
    )  # fmt: skip
    out.append(
        Program("cp.async.bulk.prefetch", ONE + "cp.async.bulk.prefetch.L2.global [%in], 256; createpolicy.fractional.L2::evict_last.b64 %rd4;\n"
                "cp.async.bulk.prefetch.L2.global.L2::cache_hint [%in+256], 64, %rd4; st.global.u32 [%out], 3;\nDONE:", lambda s: [3])
    )  # fmt: skip
    forms = [(op, t) for op in ("add", "min", "max") for t in ("u32", "s32", "u64")] + [
        ("min", "s64"), ("max", "s64"), ("inc", "u32"), ("dec", "u32"), ("and", "b32"), ("or", "b64"), ("xor", "b32"), ("and", "b64"),
        ("add", "f16"), ("min", "f16"), ("max", "f16"), ("add", "bf16"), ("max", "bf16"), ("add", "f32"), ("add", "f64"),
    ]  # fmt: skip
    for op, t in forms:
        noftz = ".noftz" if op == "add" and t in ("f16", "bf16") else ""

        def want(s: Words, op: str = op, t: str = t) -> Words:
            old, new = s[128:256].view(NUMPY[t]), s[:128].view(NUMPY[t])
            if t == "bf16":
                wide = [(v.astype(np.uint32) << 16).view(np.float32) for v in (old, new)]
                return (reference(op, *wide).view(np.uint32) >> 16).astype(np.uint16).view(np.uint32)
            return reference(op, old, new).view(np.uint32)

        before = "cvt.u64.u32 %rd4, %r1; add.u64 %rd5, %rd4, %out; ld.global.v4.u32 {%r4,%r5,%r6,%r7}, [%rd3+512]; st.global.v4.u32 [%rd5], {%r4,%r5,%r6,%r7}; bar.sync 0;\n"
        code = f"cp.reduce.async.bulk.global.shared::cta.bulk_group.{op}{noftz}.{t} [%out], [smem], 512;\n"
        out.append(Program(f"cp.reduce.async.bulk.{op}.{t}", fill + before + ONE + code + end, want, source=halves(t)))
    cluster = "barrier.cluster.arrive; barrier.cluster.wait;\n"
    own = "mad.lo.u32 %r20, %cta, 32, 0; mul.wide.u32 %rd20, %r20, 4; add.u64 %out, %out, %rd20;\n"
    for op, t in (("add", "u32"), ("max", "s32"), ("xor", "b32"), ("inc", "u32"), ("add", "u64")):

        def want_cluster(s: Words, op: str = op, t: str = t) -> Words:
            type_ = NUMPY[t]
            rows = [np.arange(32, dtype=np.uint32) * 3 + 100 * c for c in range(2)]
            new = [np.arange(32, dtype=np.uint32) + 50 * c for c in range(2)]
            return np.concatenate(
                [reference(op, rows[c].view(type_), new[1 - c].view(type_)).view(np.uint32) for c in range(2)]
            )

        body = (
            f"setp.eq.u32 %p6, %t, 0; @%p6 mbarrier.init.shared.b64 [mb], 1; @%p6 mbarrier.arrive.expect_tx.shared.b64 _, [mb], 128;\n{cluster}"
            "mov.u32 %r1, %cluster_ctarank; shl.b32 %r2, %t, 2; mov.u32 %r3, smem; add.u32 %r4, %r2, %r3; mul.lo.u32 %r5, %r1, 100; mad.lo.u32 %r5, %t, 3, %r5;\n"
            "st.shared.u32 [%r4], %r5; mad.lo.u32 %r5, %r1, 50, %t; st.shared.u32 [%r4+1024], %r5; fence.proxy.async;\n" + cluster
            + "mov.u32 %r5, mb; xor.b32 %r6, %r1, 1; mapa.shared::cluster.u32 %r7, %r3, %r6; mapa.shared::cluster.u32 %r8, %r5, %r6; add.u32 %r9, %r3, 1024;\n"
            f"@!%p6 bra DONE; cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.{op}.{t} [%r7], [%r9], 128, [%r8];\n"
            f"DONE:\n{wait()}{own}{copy_out(32)}{cluster}"
        )  # fmt: skip
        out.append(Program(f"cp.reduce.async.bulk cluster {op}.{t}", body, want_cluster, grid=2, cluster=2))
    return out


DIMS = (20, 12, 6, 4, 3)
"""Sizes of the u32 tensor in the input, innermost first; rows are 96 bytes apart."""
STRIDES = (96, 96 * 12, 96 * 12 * 2, 96 * 12 * 2 * 1)


def cube(source: Words, rank: int) -> np.ndarray:
    """The tensor of a rank as an array indexed outermost first."""
    dims = dims_of(rank)
    strides = [4, *strides_of(rank)]
    return np.lib.stride_tricks.as_strided(source, tuple(reversed(dims)), tuple(reversed(strides)))


def dims_of(rank: int) -> tuple[int, ...]:
    return {1: (40,), 2: (20, 12), 3: (20, 6, 5), 4: (20, 4, 3, 4), 5: (20, 3, 2, 3, 3)}[rank]


def strides_of(rank: int) -> list[int]:
    out, step = [], 96
    for n in dims_of(rank)[1:]:
        out.append(step)
        step *= n
    return out


def tile_of(a: np.ndarray, at: tuple[int, ...], box: tuple[int, ...], steps: tuple[int, ...]) -> np.ndarray:
    """The elements of a tile, flat and innermost first; zero outside."""
    ranges = [[c + k for k in range(0, n, s)] for c, n, s in zip(at, box, steps, strict=True)]
    shape = tuple(len(r) for r in reversed(ranges))
    out = np.zeros(shape, a.dtype)
    for index in np.ndindex(*shape):
        place = tuple(r[k] for r, k in zip(reversed(ranges), index, strict=True))
        if all(0 <= p < n for p, n in zip(place, a.shape, strict=True)):
            out[index] = a[place]
    return out.reshape(-1)


def swizzle(flat: np.ndarray, bits: int) -> np.ndarray:
    """Where swizzling puts the words."""
    out = np.empty_like(flat)
    for k in range(len(flat)):
        b = 4 * k
        out[(b ^ ((b >> 7 & (1 << bits) - 1) << 4)) // 4] = flat[k]
    return out


def tiles() -> list[Program]:
    """Tiled tensor copies, reductions and prefetches of every rank."""
    out = []
    boxes = {1: (16,), 2: (8, 4), 3: (8, 3, 2), 4: (4, 2, 2, 3), 5: (4, 2, 2, 2, 2)}
    for rank in range(1, 6):
        box = boxes[rank]
        for n, at in enumerate(((0,) * 5, (4, 2, 1, 2, 1), (-2, -1, 0, 1, 2))):
            place = at[:rank]
            step = (1,) * rank if n < 2 else (1, 2, 1, 1, 1)[:rank]
            size = 4 * int(np.prod([-(-b // s) for b, s in zip(box, step, strict=True)]))

            def make(address: int, rank: int = rank, box: tuple[int, ...] = box, step: tuple[int, ...] = step) -> bytes:
                return tensormap("u32", address, dims_of(rank), strides_of(rank), box, step)

            coords = ", ".join(f"%r{10 + k}" if k % 2 else str(c) for k, c in enumerate(place))
            moves = " ".join(f"mov.s32 %r{10 + k}, {c};" for k, c in enumerate(place))
            kind = (LOAD, ".shared::cta.global", LOAD)[n]
            code = f"{moves} cp.async.bulk.tensor.{rank}d{kind}.tile.mbarrier::complete_tx::bytes [smem], [%tm, {{{coords}}}], [mb];"
            out.append(
                Program(
                    f"tensor {rank}d {place}",
                    issued(code, size) + copy_out(size // 4),
                    lambda s, r=rank, p=place, b=box, t=step: tile_of(cube(s, r), p, b, t),
                    map_=make,
                )
            )
        fill = "shl.b32 %r1, %t, 4; mov.u32 %r2, smem; add.u32 %r3, %r1, %r2; mul.lo.u32 %r4, %t, 11; st.shared.v4.u32 [%r3], {%r4,%r4,%r4,%r4}; fence.proxy.async; bar.sync 0;\n"
        count = int(np.prod(box))
        place = (4, 2, 1, 2, 1)[:rank]
        coords = ", ".join(str(c) for c in place)
        load = (
            f"cp.async.bulk.tensor.{rank}d{LOAD}.mbarrier::complete_tx::bytes [smem+4096], [%tm, {{{coords}}}], [mb];"
        )
        for op in ("", "add", "min", "max", "and", "or", "xor", "inc", "dec") if rank == 2 else ("", "add"):
            name = (
                f"cp.reduce.async.bulk.tensor.{rank}d.global.shared::cta.{op}"
                if op
                else f"cp.async.bulk.tensor.{rank}d.global.shared::cta"
            )
            body = (
                fill
                + init()
                + ONE
                + f"{name}.bulk_group [%tm, {{{coords}}}], [smem]; cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;\n"
                f"fence.proxy.async; mbarrier.arrive.expect_tx.shared.b64 _, [mb], {4 * count}; {load}\nDONE:\n"
                + wait()
                + copy_out(count, 4096)
            )

            def want(
                s: Words, rank: int = rank, op: str = op, place: tuple[int, ...] = place, box: tuple[int, ...] = box
            ) -> Words:
                new = (np.arange(int(np.prod(box)), dtype=np.uint32) // 4 * 11).astype(np.uint32)
                # What lies outside the tensor is not stored, and reads as zero.
                inside = tile_of(np.ones(tuple(reversed(dims_of(rank))), np.uint32), place, box, (1,) * rank)
                return (reference(op, tile_of(cube(s, rank), place, box, (1,) * rank), new) if op else new) * inside

            out.append(
                Program(f"tensor {rank}d store {op}", body, want,
                        map_=lambda a, r=rank, b=box: tensormap("u32", a, dims_of(r), strides_of(r), b))
            )  # fmt: skip
    for bits, name in enumerate(("none", "32B", "64B", "128B")):
        width = 4 << bits if bits else 8
        for start in (0, 128, 640):  # the last two begin within the pattern

            def want(s: Words, b: int = bits, w: int = width, start: int = start) -> Words:
                before = np.zeros(start // 4, np.uint32)
                return swizzle(np.append(before, tile_of(s.reshape(-1, 32), (0, 1), (w, 8), (1, 1))), b)[start // 4 :]

            code = f"cp.async.bulk.tensor.2d{LOAD}.mbarrier::complete_tx::bytes [smem+{start}], [%tm, {{0, 1}}], [mb];"
            out.append(
                Program(
                    f"tensor swizzle {name} at {start}", issued(code, 4 * width * 8) + copy_out(width * 8, start), want,
                    map_=lambda a, w=width, n=name: tensormap("u32", a, (32, 64), (128,), (w, 8), swizzle=n),
                )
            )  # fmt: skip
    hint = f"createpolicy.fractional.L2::evict_last.b64 %rd4; cp.async.bulk.tensor.2d{LOAD}.mbarrier::complete_tx::bytes.L2::cache_hint [smem], [%tm, {{4, 2}}], [mb], %rd4;"
    small: dict[str, Any] = {"map_": lambda a: tensormap("u32", a, dims_of(2), strides_of(2), (8, 4))}
    prefetch = "cp.async.bulk.prefetch.tensor.2d.L2.global [%tm, {0, 0}]; cp.async.bulk.prefetch.tensor.2d.L2.global.L2::cache_hint [%tm, {0, 0}], %rd4; prefetch.tensormap [%tm];\n"
    out.append(
        Program(
            "tensor hint and prefetch",
            issued(hint + prefetch, 128) + copy_out(32),
            lambda s: tile_of(cube(s, 2), (4, 2), (8, 4), (1, 1)),
            **small,
        )
    )
    direct = f"cp.async.bulk.tensor.2d{LOAD}.mbarrier::complete_tx::bytes [smem], [%tm, {{4, 2}}], [mb]; prefetch.param.tensormap [tm];"
    out.append(
        Program(
            "tensor by parameter",
            issued(direct, 128) + copy_out(32),
            lambda s: tile_of(cube(s, 2), (4, 2), (8, 4), (1, 1)),
            **small,
        )
    )
    cluster = "barrier.cluster.arrive; barrier.cluster.wait;\n"
    own = "mad.lo.u32 %r20, %cta, 64, 0; mul.wide.u32 %rd20, %r20, 4; add.u64 %out, %out, %rd20;\n"
    both = (
        f"setp.eq.u32 %p6, %t, 0; @%p6 mbarrier.init.shared.b64 [mb], 1; @%p6 mbarrier.arrive.expect_tx.shared.b64 _, [mb], 256;\n{cluster}"
        "mov.u32 %r1, %cluster_ctarank; shl.b32 %r2, %r1, 7; mov.u32 %r3, smem; add.u32 %r3, %r3, %r2; shl.b32 %r5, %r1, 2; cvt.u16.u32 %h1, 3;\n"
        f"@!%p6 bra DONE; cp.async.bulk.tensor.2d{LOAD}.mbarrier::complete_tx::bytes.multicast::cluster [%r3], [%tm, {{0, %r5}}], [mb], %h1;\nDONE:\n"
        f"{wait()}{own}{copy_out(64)}{cluster}"
    )
    out.append(
        Program(
            "tensor multicast",
            both,
            lambda s: np.tile(tile_of(cube(s, 2), (0, 0), (8, 8), (1, 1)), 2),
            grid=2,
            cluster=2,
            **small,
        )
    )
    return out


def columns_of(
    a: np.ndarray,
    at: tuple[int, ...],
    move: tuple[int, ...],
    lower: tuple[int, ...],
    upper: tuple[int, ...],
    channels: int,
    pixels: int,
) -> np.ndarray:
    """What an im2col copy gathers from an array [n, ..., h, w, c]."""
    dims = tuple(reversed(a.shape))
    out = []
    place = list(at[1:])
    for _ in range(pixels):
        index = [*[place[d] + move[d] for d in range(len(move))], place[-1]]
        for c in range(at[0], at[0] + channels):
            full = (c, *index)
            out.append(a[tuple(reversed(full))] if all(0 <= x < n for x, n in zip(full, dims, strict=True)) else 0)
        for d in range(len(place)):
            place[d] += 1
            if d == len(place) - 1 or place[d] <= dims[d + 1] - 1 + upper[d]:
                break
            place[d] = lower[d]
    return np.array(out, np.uint32)


def im2col() -> list[Program]:
    """im2col copies, stores and prefetches of ranks 3 to 5."""
    out = []
    dims = {3: (8, 6, 3), 4: (8, 5, 4, 3), 5: (8, 4, 3, 3, 2)}
    for rank in (3, 4, 5):
        inner = rank - 2
        lower, upper = (-1,) * inner, (-1,) * inner
        strides = [int(4 * np.prod(dims[rank][: d + 1])) for d in range(rank - 1)]

        def make(
            address: int,
            rank: int = rank,
            strides: list[int] = strides,
            lower: tuple[int, ...] = lower,
            upper: tuple[int, ...] = upper,
        ) -> bytes:
            return tensormap("u32", address, dims[rank], strides, corners=(lower, upper), channels=4, pixels=12)

        def full(s: Words, rank: int = rank) -> np.ndarray:
            shape = tuple(reversed(dims[rank]))
            return s[: int(np.prod(shape))].reshape(shape)

        at = (4, *([-1] * inner), 0)
        for n, move in enumerate(((0,) * inner, tuple(range(2, 2 - inner, -1)))):
            words = ", ".join(f"%h{k + 1}" if n else str(m) for k, m in enumerate(move))
            moves = " ".join(f"mov.u16 %h{k + 1}, {m};" for k, m in enumerate(move))
            coords = ", ".join(map(str, at))
            code = f"{moves} cp.async.bulk.tensor.{rank}d{LOAD}.im2col.mbarrier::complete_tx::bytes [smem], [%tm, {{{coords}}}], [mb], {{{words}}};"
            code += f" cp.async.bulk.prefetch.tensor.{rank}d.L2.global.im2col [%tm, {{{coords}}}], {{{words}}};"
            out.append(
                Program(
                    f"im2col {rank}d {move}", issued(code, 192) + copy_out(48),
                    lambda s, f=full, a=at, m=move, lo=lower, up=upper: columns_of(f(s), a, m, lo, up, 4, 12), map_=make,
                )
            )  # fmt: skip
        zero = (4, *([0] * inner), 0)
        coords = ", ".join(map(str, zero))
        fill = "shl.b32 %r1, %t, 4; mov.u32 %r2, smem; add.u32 %r3, %r1, %r2; mul.lo.u32 %r4, %t, 11; st.shared.v4.u32 [%r3], {%r4,%r4,%r4,%r4}; fence.proxy.async; bar.sync 0;\n"
        words = ", ".join(["0"] * inner)
        for name in (
            "cp.async.bulk.tensor.{0}d.global.shared::cta",
            "cp.reduce.async.bulk.tensor.{0}d.global.shared::cta.add",
        ):
            body = (
                fill
                + init()
                + ONE
                + f"{name.format(rank)}.im2col_no_offs.bulk_group [%tm, {{{coords}}}], [smem]; cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;\n"
                f"mbarrier.arrive.expect_tx.shared.b64 _, [mb], 192; cp.async.bulk.tensor.{rank}d{LOAD}.im2col.mbarrier::complete_tx::bytes [smem+4096],"
                f" [%tm, {{{coords}}}], [mb], {{{words}}};\nDONE:\n" + wait() + copy_out(48, 4096)
            )

            def want(
                s: Words,
                full: Any = full,
                zero: tuple[int, ...] = zero,
                lower: Any = lower,
                upper: Any = upper,
                add: bool = "reduce" in name,
            ) -> Words:
                old = columns_of(full(s), zero, (0,) * len(lower), lower, upper, 4, 12)
                # Pixels outside the tensor keep nothing.
                inside = columns_of(np.ones_like(full(s)), zero, (0,) * len(lower), lower, upper, 4, 12)
                new = (np.arange(48, dtype=np.uint32) // 4 * 11).astype(np.uint32)
                return ((old + new if add else new) * inside).astype(np.uint32)

            out.append(Program(f"im2col {rank}d {'reduce' if 'reduce' in name else 'store'}", body, want, map_=make))
    return out


def replaced() -> list[Program]:
    """A map changed in shared memory, copied to global memory and used there."""
    change = """
mov.u64 %rd3, %tm; mov.u32 %r2, smem; add.u32 %r2, %r2, 8192; shl.b32 %r3, %t, 2; add.u32 %r4, %r2, %r3; cvt.u64.u32 %rd4, %r3; add.u64 %rd5, %rd3, %rd4;
ld.u32 %r5, [%rd5]; st.shared.u32 [%r4], %r5; bar.sync 0; setp.ne.u32 %p0, %t, 0; @%p0 bra MADE;
add.u64 %rd6, %in, 32; mov.u32 %r6, 24; mov.u32 %r7, 8;
tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%r2], %rd6;
tensormap.replace.tile.rank.shared::cta.b1024.b32 [%r2], 2;
tensormap.replace.tile.elemtype.shared::cta.b1024.b32 [%r2], 2;
tensormap.replace.tile.interleave_layout.shared::cta.b1024.b32 [%r2], 0;
tensormap.replace.tile.swizzle_mode.shared::cta.b1024.b32 [%r2], 1;
tensormap.replace.tile.fill_mode.shared::cta.b1024.b32 [%r2], 0;
tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%r2], 0, %r6;
tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%r2], 1, 7;
tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%r2], 2, 5;
tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [%r2], 0, 96;
mov.u64 %rd7, 672; tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [%r2], 1, %rd7;
tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%r2], 0, %r7;
tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%r2], 1, 3;
tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%r2], 2, 4;
tensormap.replace.tile.element_stride.shared::cta.b1024.b32 [%r2], 0, 1;
tensormap.replace.tile.element_stride.shared::cta.b1024.b32 [%r2], 1, 1;
tensormap.replace.tile.element_stride.shared::cta.b1024.b32 [%r2], 2, 2;
MADE: bar.sync 0;
add.u64 %rd8, %out, 1024;
"""
    final = f"""fence.proxy.tensormap::generic.acquire.gpu [%rd8], 128; cp.async.bulk.tensor.3d{LOAD}.mbarrier::complete_tx::bytes [smem], [%rd8, {{8, 1, 1}}], [mb];"""
    copy = (
        "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%rd8], [%r2], 128;\n"
    )
    clear = (
        "\nshl.b32 %r3, %t, 2; cvt.u64.u32 %rd4, %r3; add.u64 %rd5, %rd8, %rd4; bar.sync 0; st.global.u32 [%rd5], 0;\n"
    )

    def want(s: Words) -> Words:
        a = np.lib.stride_tricks.as_strided(s[8:], (5, 7, 24), (672, 96, 4))
        return swizzle(tile_of(a, (8, 1, 1), (8, 3, 4), (1, 1, 2)), 1)

    source: dict[str, Any] = {
        "map_": lambda a: tensormap("u16", a, (64, 2), (128,), (8, 2), fill_nan=True, swizzle="128B")
    }
    out = [
        Program(
            "tensormap.replace",
            change + copy + issued(final, 192) + copy_out(48) + clear,
            want,
            **source,
        )
    ]
    far = change.replace("shared::cta.b1024", "global.b1024").replace("[%r2]", "[%rd9]").replace(
        "setp.ne.u32 %p0", "add.u64 %rd9, %out, 1024; add.u64 %rd10, %rd9, %rd4; ld.shared.u32 %r5, [%r4]; st.global.u32 [%rd10], %r5; bar.sync 0; setp.ne.u32 %p0"
    )  # fmt: skip
    out.append(
        Program(
            "tensormap.replace global",
            far + "fence.proxy.tensormap::generic.release.gpu;\n" + issued(final, 192) + copy_out(48) + clear,
            want,
            **source,
        )
    )
    return out


def programs() -> list[Program]:
    """Every program of this file."""
    made = bulk_loads() + bulk_stores() + tiles() + im2col() + replaced()
    for p in made:
        p.suffix = "a" if "tensormap" in p.name else ""
    return made
