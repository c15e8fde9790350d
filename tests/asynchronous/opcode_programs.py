"""One program for every opcode of :mod:`tests.forms.opcodes` that belongs to barrier objects, copies, tensors and clusters.

The words of an opcode decide what must come out; the values of copies and reductions are those of :mod:`copy_programs`.
"""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.asynchronous.barrier_programs import fixed, flag, parity, pending, steps
from tests.asynchronous.copy_programs import NUMPY as TYPES
from tests.asynchronous.copy_programs import columns_of, cube, dims_of, halves, reference, strides_of, tile_of
from tests.asynchronous.harness import Program, Words, copy_out, init, wait
from tests.device import tensormap
from tests.forms.opcodes import REGISTERS, address, of_rows, operands

CLUSTER = "barrier.cluster.arrive; barrier.cluster.wait;\n"
SIZES = {1: (16,), 2: (8, 4), 3: (8, 3, 2), 4: (4, 2, 2, 3), 5: (4, 2, 2, 2, 2)}
PLACE = (4, 2, 1, 2, 1)
IMAGES = {3: (8, 6, 3), 4: (8, 5, 4, 3), 5: (8, 4, 3, 3, 2)}
ONE = "setp.ne.u32 %p0, %t, 0; @%p0 bra DONE;\n"
DROP = "mbarrier.arrive.shared.b64 %rd4, [mb];"
POLICY = "createpolicy.fractional.L2::evict_first.b64 %rd4;\n"


def _object(name: str, words: tuple[str, ...], line: str) -> tuple[str, list[int]]:
    """The steps of thread 0 and what they store."""
    lines = ["mov.u64 %rd9, mb; cvta.shared.u64 %rd9, %rd9;"]
    want: list[int] = []

    def put(text: str, value: int) -> None:
        lines.append(text)
        want.append(value)

    if name == "mbarrier.init":
        lines += [line, DROP]
        put(pending("%rd4", 0), 3)
    elif name == "mbarrier.inval":
        lines += ["mbarrier.init.shared.b64 [mb], 2;", DROP]
        put(pending("%rd4", 0), 2)
        lines += [line, "mbarrier.init.shared.b64 [mb], 5;", DROP]
        put(pending("%rd4", 1), 5)
    elif name == "mbarrier.pending_count":
        lines += ["mbarrier.init.shared.b64 [mb], 7; mbarrier.arrive.shared.b64 %rd3, [mb];", line]
        put("st.global.u32 [%out], %r20;", 7)
    elif "wait" in name:
        lines.append("mbarrier.init.shared.b64 [mb], 2; mbarrier.arrive.shared.b64 %rd3, [mb];")
        put(flag(line, 0), 0)
        lines.append("mbarrier.arrive.shared.b64 _, [mb];")
        put(flag(line, 1), 1)
    elif name in ("mbarrier.expect_tx", "mbarrier.complete_tx"):
        expects = name == "mbarrier.expect_tx"
        lines += [
            "mbarrier.init.shared.b64 [mb], 1;",
            line if expects else "mbarrier.expect_tx.relaxed.cta.shared.b64 [mb], 16;",
            DROP,
        ]
        put(parity(0, 0), 0)
        lines.append("mbarrier.complete_tx.relaxed.cta.shared.b64 [mb], 16;" if expects else line)
        put(parity(0, 1), 1)
    else:
        bytes_ = name.endswith("expect_tx")
        count = 2 if "noComplete" in words else 1
        lines += ["mbarrier.init.shared.b64 [mb], 4;", line]
        if "%rd3" in line:
            put(pending("%rd3", 0), 4)
        lines.append(DROP)
        put(pending("%rd4", len(want)), 4 - count)
        lines += [DROP] * (3 - count)
        put(parity(0, len(want)), int(not bytes_))
        if bytes_:
            lines.append("mbarrier.complete_tx.relaxed.cta.shared.b64 [mb], 32;")
            put(parity(0, len(want)), 1)
        lines.append(DROP)
        put(pending("%rd4", len(want)), 4 - count if "drop" in name else 4)
    return steps(*lines), want


def objects(name: str, words: tuple[str, ...], target: str) -> Program:
    """An operation on a barrier object of one thread."""
    line = f"{'.'.join((name, *words))} {operands(name, words)};"
    body, want = _object(name, words, line)
    # For sm_80 ptxas calls functions for generic addresses that the simulator has not.
    generic = address(words) != "[mb]" and name != "mbarrier.pending_count"
    return fixed(
        f"op {line}",
        body,
        want,
        int(target[3:].rstrip("af")),
        unjudged=("sm_80",) if generic and target == "sm_80" else (),
    )


def async_copy(name: str, words: tuple[str, ...], line: str) -> Program:
    """cp.async, and its arrival on objects."""
    place = (
        f"{POLICY}shl.b32 %r1, %t, 4; mov.u32 %r2, smem; add.u32 %r1, %r1, %r2; mul.wide.u32 %rd3, %t, 16; add.u64 %rd3, %rd3, %in;\n"
        "st.shared.v4.b32 [%r1], {%t, %t, %t, %t};\n"
    )
    size = 16 if "cg" in words or name != "cp.async" else 8

    def want(source: Words) -> Words:
        rows = source[:128].reshape(32, 4).copy()
        rows[:, size // 4 :] = np.arange(32, dtype=np.uint32)[:, None]
        return rows.reshape(-1)

    if name == "cp.async":
        return Program(f"op {line}", f"{place}{line} cp.async.wait_all; bar.sync 0;\n{copy_out(128)}", want, sm=80)
    own = "" if "noinc" in words else "mbarrier.arrive.shared.b64 _, [mb];"
    body = (
        f"mov.u64 %rd9, mb; cvta.shared.u64 %rd9, %rd9; setp.eq.u32 %p6, %t, 0; @%p6 mbarrier.init.shared.b64 [mb], 32; bar.sync 0;\n{place}"
        f"cp.async.cg.shared.global [%r1], [%rd3], 16; {line} {own}\n"
        f"W: mbarrier.test_wait.parity.shared.b64 %p1, [mb], 0; @!%p1 bra W;\n{copy_out(128)}"
    )
    return Program(f"op {line}", body, want, sm=80, unjudged=("sm_80",) if address(words) != "[mb]" else ())


FILL = (
    f"{POLICY}shl.b32 %r1, %t, 4; mov.u32 %r2, smem; add.u32 %r3, %r1, %r2; cvt.u64.u32 %rd3, %r1; add.u64 %rd3, %rd3, %in;"
    " ld.global.v4.u32 {%r4,%r5,%r6,%r7}, [%rd3]; st.shared.v4.u32 [%r3], {%r4,%r5,%r6,%r7}; fence.proxy.async.shared::cta; bar.sync 0;\n"
)
END = "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;\nDONE:\n"


def _reduced(op: str, type_: str, old: np.ndarray, new: np.ndarray) -> Words:
    """Words after a reduction of words."""
    if type_ == "bf16":
        wide = [(v.view(np.uint16).astype(np.uint32) << 16).view(np.float32) for v in (old, new)]
        return (reference(op, *wide).view(np.uint32) >> 16).astype(np.uint16).view(np.uint32)
    return reference(op, old.view(TYPES[type_]), new.view(TYPES[type_])).view(np.uint32)


def _operation(words: tuple[str, ...]) -> str:
    return next((w for w in words if w in ("add", "min", "max", "inc", "dec", "and", "or", "xor")), "")


def bulk(name: str, words: tuple[str, ...], line: str) -> Program:
    """Copies and reductions of runs of bytes."""
    op, type_ = _operation(words), words[-1]
    if name == "cp.async.bulk.prefetch":
        return Program(f"op {line}", f"{ONE}{POLICY}{line} st.global.u32 [%out], 3;\nDONE:", lambda s: [3])
    if "bulk_group" in words:
        if not op:
            return Program(f"op {line}", FILL + ONE + line + END, lambda s: s[:128])
        before = (
            "cvt.u64.u32 %rd6, %r1; add.u64 %rd5, %rd6, %out; ld.global.v4.u32 {%r4,%r5,%r6,%r7}, [%rd3+512];"
            " st.global.v4.u32 [%rd5], {%r4,%r5,%r6,%r7}; bar.sync 0;\n"
        )
        return Program(
            f"op {line}",
            FILL + before + ONE + line + END,
            lambda s: _reduced(op, type_, s[128:256], s[:128]),
            source=halves(type_),
        )
    own = "mad.lo.u32 %r20, %cta, 64, 0; mul.wide.u32 %rd20, %r20, 4; add.u64 %out, %out, %rd20;\n"
    pair = (
        f"{POLICY}cvt.u16.u32 %h2, 3; setp.eq.u32 %p6, %t, 0; @%p6 mbarrier.init.shared.b64 [mb], 1;"
        f" @%p6 mbarrier.arrive.expect_tx.shared.b64 _, [mb], 256;\n{CLUSTER}mov.u32 %r1, %cluster_ctarank; mov.u32 %r8, smem; mov.u32 %r10, mb;\n"
    )
    if "global" in words:
        sender = (
            "setp.eq.u32 %p1, %r1, 1; and.pred %p1, %p1, %p6; @!%p1 bra DONE;\n"
            if "multicast::cluster" in words
            else "@!%p6 bra DONE;\n"
        )
        body = pair + sender + line + f"\nDONE:\n{wait()}{own}{copy_out(64)}{CLUSTER}"
        return Program(f"op {line}", body, lambda s: np.tile(s[:64], 2), grid=2, cluster=2)
    # From the neighbour's shared memory: block c has 64 words of its own at 0, and sends those at 1024.
    fill = (
        "mad.lo.u32 %r20, %r1, 64, %t; mul.wide.u32 %rd5, %r20, 8; add.u64 %rd5, %rd5, %in; shl.b32 %r21, %t, 3; add.u32 %r22, %r8, %r21;\n"
        "ld.global.v2.u32 {%r4, %r5}, [%rd5]; st.shared.v2.u32 [%r22], {%r4, %r5};"
        " ld.global.v2.u32 {%r4, %r5}, [%rd5+256]; st.shared.v2.u32 [%r22+1024], {%r4, %r5};\n"
    )
    send = "xor.b32 %r6, %r1, 1; add.u32 %r9, %r8, 1024; mapa.shared::cluster.u32 %r8, %r8, %r6; mapa.shared::cluster.u32 %r10, %r10, %r6;\n"
    body = f"{pair}{fill}fence.proxy.async;\n{CLUSTER}{send}@!%p6 bra DONE; {line}\nDONE:\n{wait()}{own}{copy_out(64)}{CLUSTER}"

    def want(s: Words) -> Words:
        rows = s[:256].reshape(2, 2, 64)
        if not op:
            return np.concatenate([rows[1, 1], rows[0, 1]])
        return np.concatenate([_reduced(op, type_, rows[c, 0], rows[1 - c, 1]) for c in range(2)])

    return Program(f"op {line}", body, want, grid=2, cluster=2)


def _image(rank: int) -> Callable[[int], bytes]:
    strides = [int(4 * np.prod(IMAGES[rank][: d + 1])) for d in range(rank - 1)]
    corner = (-1,) * (rank - 2)
    return lambda at: tensormap("u32", at, IMAGES[rank], strides, corners=(corner, corner), channels=4, pixels=12)


def _gathered(rank: int, s: Words) -> Words:
    shape = tuple(reversed(IMAGES[rank]))
    corner = (-1,) * (rank - 2)
    return columns_of(
        s[: int(np.prod(shape))].reshape(shape), (4, *[0] * (rank - 1)), (0,) * (rank - 2), corner, corner, 4, 12
    )


def tensor(name: str, words: tuple[str, ...], line: str) -> Program:
    """Tensor copies, reductions and prefetches."""
    rank = int(next(w for w in words if w[0].isdigit())[0])
    gathers = "im2col" in words or "im2col_no_offs" in words
    if gathers:
        make, count = _image(rank), 48
        read: Callable[[Words], Words] = functools.partial(_gathered, rank)
        size: dict[str, Any] = {"map_": make}
    else:
        box, place = SIZES[rank], PLACE[:rank]
        count = int(np.prod(box))
        read = lambda s: tile_of(cube(s, rank), place, box, (1,) * rank)  # noqa: E731
        size = {"map_": lambda at: tensormap("u32", at, dims_of(rank), strides_of(rank), box)}
    back = f"cp.async.bulk.tensor.{rank}d.shared::cluster.global{'.im2col' if gathers else ''}.mbarrier::complete_tx::bytes"
    again = back + line_operands(rank, gathers)
    if "prefetch" in name:
        body = f"{init()}{POLICY}{ONE}{line}\nmbarrier.arrive.expect_tx.shared.b64 _, [mb], {4 * count};\n{again}\nDONE:\n{wait()}{copy_out(count, 4096)}"
        return Program(f"op {line}", body, read, **size)
    if "bulk_group" in words:
        op = _operation(words)
        fill = (
            f"{POLICY}shl.b32 %r1, %t, 4; mov.u32 %r2, smem; add.u32 %r3, %r1, %r2; mul.lo.u32 %r4, %t, 11;"
            " st.shared.v4.u32 [%r3], {%r4,%r4,%r4,%r4}; fence.proxy.async; bar.sync 0;\n"
        )
        body = (
            f"{fill}{init()}{ONE}{line} cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; fence.proxy.async;\n"
            f"mbarrier.arrive.expect_tx.shared.b64 _, [mb], {4 * count}; {again}\nDONE:\n{wait()}{copy_out(count, 4096)}"
        )

        def stored(s: Words) -> Words:
            new = (np.arange(count, dtype=np.uint32) // 4 * 11).astype(np.uint32)
            old = read(s)
            # What lies outside the tensor is not stored, and reads as zero.
            return ((reference(op, old, new) if op else new) * read(np.ones_like(s))).astype(np.uint32)

        return Program(f"op {line}", body, stored, **size)
    if "multicast::cluster" not in words:
        body = f"{init()}{POLICY}{ONE}mbarrier.arrive.expect_tx.shared.b64 _, [mb], {4 * count};\n{line}\nDONE:\n{wait()}{copy_out(count)}"
        return Program(f"op {line}", body, read, **size)
    own = "mad.lo.u32 %r20, %cta, 64, 0; mul.wide.u32 %rd20, %r20, 4; add.u64 %out, %out, %rd20;\n"
    body = (
        f"{POLICY}cvt.u16.u32 %h2, 3; setp.eq.u32 %p6, %t, 0; @%p6 mbarrier.init.shared.b64 [mb], 1;"
        f" @%p6 mbarrier.arrive.expect_tx.shared.b64 _, [mb], {4 * count};\n{CLUSTER}mov.u32 %r1, %cluster_ctarank;"
        f" setp.eq.u32 %p1, %r1, 1; and.pred %p1, %p1, %p6; @!%p1 bra DONE;\n{line}\nDONE:\n{wait()}{own}{copy_out(count)}{CLUSTER}"
    )

    def both(s: Words) -> Words:
        out = np.zeros((2, 64), np.uint32)
        out[:, :count] = read(s)
        return out.reshape(-1)

    return Program(f"op {line}", body, both, grid=2, cluster=2, **size)


def line_operands(rank: int, gathers: bool) -> str:
    """Operands that read the tile (or the pixels) back to smem+4096."""
    place = ", ".join(map(str, (4, *[0] * (rank - 1)) if gathers else PLACE[:rank]))
    offsets = ", {" + ", ".join(["0"] * (rank - 2)) + "}" if gathers else ""
    return f" [smem+4096], [%tm, {{{place}}}], [mb]{offsets};"


PEER = "mov.u32 %r1, %cluster_ctarank; mov.u32 %r2, %cluster_nctarank; add.u32 %r3, %r1, 1; rem.u32 %r3, %r3, %r2; mov.u32 %r5, smem;\n"
RESULT = "mad.lo.u32 %r20, %r1, 32, %t; mul.wide.u32 %rd20, %r20, 4; add.u64 %rd20, %rd20, %out; st.global.u32 [%rd20], %r21;\n"


def remote(name: str, words: tuple[str, ...], line: str) -> Program:
    """st.async and red.async to the next block of four; every thread reads the words that were written for it."""
    type_ = words[-1]
    lanes = next((int(w[1]) for w in words if w in ("v2", "v4")), 1)
    size = lanes * (8 if type_[1:] == "64" else 4)
    op = _operation(words)
    start = (
        f"setp.eq.u32 %p6, %t, 0; @%p6 mbarrier.init.shared.b64 [mb], 1;\n{CLUSTER}{PEER}mul.lo.u32 %r4, %t, {size}; add.u32 %r4, %r4, %r5;"
        " mapa.shared::cluster.u32 %r6, %r4, %r3; mov.u32 %r10, mb; mapa.shared::cluster.u32 %r11, %r10, %r3;\n"
        "mad.lo.u32 %r7, %r1, 100, %t; mov.b32 %f1, %r7; mov.b64 %rd6, {%r7, %r7}; mov.b64 %d1, %rd6;\n"
    )
    old = "".join(f"st.shared.u32 [%r4+{4 * k}], {k + 3};" for k in range(size // 4))
    total = "mov.u32 %r21, 0;" + "".join(
        f"ld.shared.u32 %r22, [%r4+{4 * k}]; mad.lo.u32 %r21, %r21, 31, %r22;" for k in range(size // 4)
    )
    body = f"{start}{old}\n{CLUSTER}{line}\n@%p6 mbarrier.arrive.expect_tx.shared.b64 _, [mb], {32 * size};\n{wait()}{total}\n{CLUSTER}{RESULT}"
    want = []
    for c in range(4):
        for t in range(32):
            new = np.full(size // 4, (c + 3) % 4 * 100 + t, np.uint32)
            before = np.arange(size // 4, dtype=np.uint32) + 3
            after = _reduced(op, type_, before, new) if op else new
            sum_ = 0
            for x in after.tolist():
                sum_ = (sum_ * 31 + x) & 0xFFFFFFFF
            want.append(sum_)
    return fixed(f"op {line}", body, want, 90, grid=4, cluster=4)


def windows(name: str, words: tuple[str, ...], line: str) -> Program:
    """mapa, getctarank: a store through the mapped address, or the rank of one."""
    wide = words[-1][1:] == "64"
    shared = "shared::cluster" in words
    start = f"{PEER}shl.b32 %r4, %t, 2; add.u32 %r4, %r4, %r5; cvt.u64.u32 %rd4, %r4;\n"
    # Without a space the addresses are generic, so 64-bit operands alone can hold them.
    if wide and not shared:
        start += "cvta.shared.u64 %rd4, %rd4;\n"
    if name == "mapa":
        store = (
            ("st.shared::cluster.u32 [%rd5], %r7;" if shared else "st.u32 [%rd5], %r7;")
            if wide
            else "st.shared::cluster.u32 [%r6], %r7;"
        )
        body = f"{start}mad.lo.u32 %r7, %r1, 100, %t; {line} {store}\n{CLUSTER}ld.shared.u32 %r21, [%r4];\n{RESULT}"
        return fixed(
            f"op {line}", body, [(c + 3) % 4 * 100 + t for c in range(4) for t in range(32)], 90, grid=4, cluster=4
        )
    if wide:
        mapped = f"mapa{'.shared::cluster' if shared else ''}.u64 %rd5, %rd4, %r3;"
    else:
        mapped = "mapa.shared::cluster.u32 %r6, %r4, %r3;"
    body = f"{start}{mapped} {line} mov.u32 %r21, %r9;\n{CLUSTER}{RESULT}"
    return fixed(f"op {line}", body, [(c + 1) % 4 for c in range(4) for t in range(32)], 90, grid=4, cluster=4)


def cluster_barriers(name: str, words: tuple[str, ...], line: str) -> Program:
    """barrier.cluster.arrive and wait between a store to the next block and its load there."""
    arrive, leave = ("barrier.cluster.arrive;", line) if name.endswith("wait") else (line, "barrier.cluster.wait;")
    # A relaxed arrival orders nothing.
    fence = "fence.acq_rel.cluster; " if "relaxed" in words else ""
    body = (
        f"{PEER}shl.b32 %r4, %t, 2; add.u32 %r4, %r4, %r5; mapa.shared::cluster.u32 %r6, %r4, %r3; mad.lo.u32 %r7, %r1, 100, %t;"
        f" st.shared::cluster.u32 [%r6], %r7; {fence}{arrive} {leave}\nld.shared.u32 %r21, [%r4];\n{RESULT}"
    )
    return fixed(
        f"op {line}", body, [(c + 3) % 4 * 100 + t for c in range(4) for t in range(32)], 90, grid=4, cluster=4
    )


def other(name: str, words: tuple[str, ...], line: str, target: str) -> Program | None:
    """Fences, policies and the rest, where the programs of the other files leave something out."""
    if name == "fence.proxy":
        sm = int(target[3:].rstrip("af"))
        # ptxas's code for it (UR2UP) is not simulated.
        unjudged = ("sm_90", "sm_90a") if "alias" in words else ()
        return fixed(
            f"op {line}",
            steps(f"st.global.u32 [%out], 5; {line} st.global.u32 [%out+4], 6;"),
            [5, 6],
            max(sm, 80),
            unjudged=unjudged,
        )
    if name == "createpolicy.range":
        first = next(w for w in words if w.startswith("L2::")).partition("evict_")[2]
        second = "L2::evict_first" in words[1:] and [w for w in words if w.startswith("L2::")][1:] == [
            "L2::evict_first"
        ]
        kind = {"unchanged": 0, "first": 2, "last": 4, "normal": 6}[first] + second
        start = "add.u32 %r1, %cta, 0x4000; add.u32 %r2, %cta, 0x8000; mov.u64 %rd4, 0x12345678;"
        return fixed(
            f"op {line}",
            steps(f"{start} {line} st.global.u64 [%out], %rd3;"),
            [0, 0x18000000 | kind << 24 | 0x45 << 12 | 5 << 5],
        )
    return None


def program(name: str, words: tuple[str, ...], target: str) -> Program | None:
    """The program of an opcode; None if the hand-written ones have it."""
    line = f"{'.'.join((name, *words))} {operands(name, words)};"
    if name.startswith("mbarrier."):
        return objects(name, words, target)
    if name in ("cp.async", "cp.async.mbarrier.arrive"):
        return async_copy(name, words, line)
    if "tensor" in name:
        return tensor(name, words, line)
    if name in ("cp.async.bulk", "cp.async.bulk.prefetch", "cp.reduce.async.bulk"):
        return bulk(name, words, line)
    if name in ("st.async", "red.async"):
        return remote(name, words, line)
    if name in ("mapa", "getctarank"):
        return windows(name, words, line)
    if name.startswith("barrier.cluster"):
        return cluster_barriers(name, words, line)
    return other(name, words, line, target)


NAMES = (
    "mbarrier.init", "mbarrier.inval", "mbarrier.arrive", "mbarrier.arrive_drop", "mbarrier.arrive.expect_tx", "mbarrier.arrive_drop.expect_tx",
    "mbarrier.test_wait", "mbarrier.test_wait.parity", "mbarrier.try_wait", "mbarrier.try_wait.parity", "mbarrier.pending_count",
    "mbarrier.expect_tx", "mbarrier.complete_tx", "cp.async", "cp.async.mbarrier.arrive", "cp.async.bulk", "cp.async.bulk.prefetch",
    "cp.async.bulk.tensor", "cp.async.bulk.prefetch.tensor", "cp.reduce.async.bulk", "cp.reduce.async.bulk.tensor", "st.async", "red.async",
    "mapa", "getctarank", "barrier.cluster.arrive", "barrier.cluster.wait", "fence.proxy", "createpolicy.range",
)  # fmt: skip


def programs(names: tuple[str, ...] = NAMES) -> list[Program]:
    """A program for each opcode of the names."""
    made = [program(name, words, target) for name in names for words, target in sorted(of_rows(name).items())]
    return [p for p in made if p is not None]


__all__ = ["REGISTERS", "program", "programs"]
