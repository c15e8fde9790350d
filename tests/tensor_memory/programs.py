"""Programs on tensor memory, and what they must leave in their output, computed with numpy from the PTX description."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Arr = npt.NDArray[Any]

BLOCK = ("sm_100a", "sm_103a", "sm_110a")
"""Targets with tcgen05."""
REDUCING = ("sm_103a", "sm_110a")
"""Targets with tcgen05.ld.red."""


class Program:
    """A kernel ``k`` with one parameter for each array of ``args()``; the last array is the output, judged by ``check``."""

    def __init__(
        self,
        name: str,
        text: str,
        args: Callable[[], list[Arr]],
        check: Callable[[list[Arr]], None],
        threads: int = 128,
        cluster: int = 1,
        targets: Sequence[str] = BLOCK,
    ) -> None:
        self.name = name
        self._text = text
        self.args = args
        self.check = check
        self.threads = threads
        self.cluster = cluster
        self.targets = tuple(targets)

    def text(self, arch: str) -> str:
        """The module."""
        return f".version 9.0\n.target {arch}\n.address_size 64\n{self._text}"


def regs(first: int, count: int, name: str = "%t") -> str:
    """A vector of registers."""
    return "{" + ", ".join(f"{name}{first + i}" for i in range(count)) + "}"


def kernel(params: str, body: str, cluster: int = 1) -> str:
    """A kernel; %me is the thread, %warp its warp, %slot a word of shared memory, %data 16 KiB of it, %bar a barrier object."""
    declared = ", ".join(f".param .u64 {p}" for p in params.split())
    directive = f" .reqnctapercluster {cluster}, 1, 1 .explicitcluster" if cluster > 1 else ""
    return f""".visible .entry k({declared}){directive}
{{
    .reg .b32 %t<132>, %x<16>, %me, %warp, %slot, %data, %bar, %tmem, %mine;
    .reg .f32 %f<132>;
    .reg .b64 %l<16>;
    .reg .b16 %h<4>;
    .reg .pred %p<8>;
    .shared .align 16 .b8 slot[16];
    .shared .align 8 .b64 bar;
    .shared .align 1024 .b8 data[16384];
    mov.u32 %me, %tid.x;
    shr.u32 %warp, %me, 5;
    mov.u32 %slot, slot;
    mov.u32 %bar, bar;
    mov.u32 %data, data;
    setp.ne.u32 %p0, %warp, 0;
    setp.eq.u32 %p1, %me, 0;
{body}
    ret;
}}"""


def allocate(columns: int, group: int = 1) -> str:
    """Allocation by the first warp; %tmem is the address, %mine the one of the first lane of the warp."""
    return f"""
    @%p0 bra allocated;
    tcgen05.alloc.cta_group::{group}.sync.aligned.shared::cta.b32 [%slot], {columns};
    tcgen05.relinquish_alloc_permit.cta_group::{group}.sync.aligned;
allocated:
    tcgen05.fence::before_thread_sync;
    bar.sync 0;
    tcgen05.fence::after_thread_sync;
    ld.shared.b32 %tmem, [%slot];
    shl.b32 %x0, %warp, 21;
    add.u32 %mine, %tmem, %x0;
"""


def free(columns: int, group: int = 1) -> str:
    """The end of the allocation."""
    return f"""
    tcgen05.fence::before_thread_sync;
    bar.sync 0;
    @%p0 bra freed;
    tcgen05.dealloc.cta_group::{group}.sync.aligned.b32 %tmem, {columns};
freed:
"""


def row(param: str, words: int) -> str:
    """%l1 becomes the address of the thread's row of `words` words of an array."""
    return f"    ld.param.u64 %l0, [{param}];\n    mad.wide.u32 %l1, %me, {4 * words}, %l0;\n"


def words(op: str, count: int, at: int = 0) -> str:
    """Loads or stores of `count` words of the row at %l1, to or from %t0 on."""
    out = []
    for c in range(0, count, 4):
        n = min(4, count - c)
        place, values = f"[%l1+{4 * (at + c)}]", regs(c, n) if n > 1 else f"%t{c}"
        vector = f".v{n}" if n > 1 else ""
        out.append(f"    {op}.global{vector}.b32 " + (f"{place}, {values};" if op == "st" else f"{values}, {place};"))
    return "\n".join(out) + "\n"


def fill(columns: int, param: str = "fill") -> str:
    """Writes an array's rows to all lanes."""
    out = row(param, columns)
    for c in range(0, columns, 32):
        out += words("ld", 32, c) + f"    tcgen05.st.sync.aligned.32x32b.x32.b32 [%mine+{c}], {regs(0, 32)};\n"
    return out + "    tcgen05.wait::st.sync.aligned;\n"


def drain(columns: int, param: str = "out") -> str:
    """Writes all lanes to an array's rows."""
    out = row(param, columns)
    for c in range(0, columns, 32):
        out += f"    tcgen05.ld.sync.aligned.32x32b.x32.b32 {regs(0, 32)}, [%mine+{c}];\n"
        out += "    tcgen05.wait::ld.sync.aligned;\n" + words("st", 32, c)
    return out


# -- loads and stores

PER = {"32x32b": (1, 1), "16x64b": (1, 2), "16x128b": (2, 4), "16x256b": (4, 8), "16x32bx2": (1, 1)}
"""(registers, columns) of one repetition of a shape."""


def _power(n: int) -> int:
    return max(32, 1 << (n - 1).bit_length())


def cells(shape: str, count: int, packed: bool, half: int) -> tuple[Arr, Arr]:
    """Lane and (first) column of each register of each of the 128 threads; 16-lane shapes use the upper lanes of a warp."""
    thread, r = np.arange(128)[:, None], np.arange(count)[None, :]
    t = thread % 32
    if shape == "32x32b":
        lane, column = t + 0 * r, r + 0 * t
    elif shape == "16x32bx2":
        lane, column = 16 + t % 16 + 0 * r, r + 0 * t
    elif shape == "16x64b":
        lane, column = 16 + t // 4 + 8 * (t % 2) + 0 * r, 2 * r + t // 2 % 2
    elif shape == "16x128b":
        lane, column = 16 + t // 4 + 8 * (r % 2), 4 * (r // 2) + t % 4
    else:
        lane, column = 16 + t // 4 + 8 * (r // 2 % 2), 8 * (r // 4) + 2 * (t % 4) + r % 2
    column = column * (2 if packed else 1)
    if shape == "16x32bx2":
        column = column + np.where(t >= 16, half, 0)
    return thread // 32 * 32 + lane, column


def transfers() -> list[Program]:
    """Loads and stores in all shapes and counts, plain and packed."""
    out = []
    for shape, (per, columns) in PER.items():
        for k in range(8):
            if per << k > 128:
                continue
            for packed in (False, True):
                out += [_transfer(shape, 1 << k, per << k, columns << k, packed, store) for store in (False, True)]
    out += [_transfer("32x32b", 4, 4, 4, False, store, negative=True) for store in (False, True)]
    return [p for p in out if p is not None]


def _transfer(
    shape: str, repeats: int, count: int, span: int, packed: bool, store: bool, negative: bool = False
) -> Program | None:
    """`negative`: an offset below zero from a place that only the launch tells."""
    half = span = span * (2 if packed else 1)
    if shape == "16x32bx2":
        span *= 2
    if span > 512:
        return None
    total = _power(span)
    name = f"{'st' if store else 'ld'}.{shape}.x{repeats}{'.16b' if packed else ''}"
    at = "%mine" if shape == "32x32b" else "%mine+0x100000"
    more = f", {half}" if shape == "16x32bx2" else ""
    before = ""
    if negative:
        name, at = f"{name}.negative", "%past+-1"
        before = "    .reg .b32 %past;\n    mov.u32 %past, %ntid.y;\n    add.u32 %past, %past, %mine;\n"
    values = regs(0, count)
    if store:
        tail = ".unpack::16b" if packed else ""
        move = (
            row("words", count)
            + words("ld", count)
            + f"    tcgen05.st.sync.aligned.{shape}.x{repeats}{tail}.b32 [{at}]{more}, {values};\n"
            + "    tcgen05.wait::st.sync.aligned;\n"
            + drain(total)
        )
    else:
        tail = ".pack::16b" if packed else ""
        move = (
            f"    tcgen05.ld.sync.aligned.{shape}.x{repeats}{tail}.b32 {values}, [{at}]{more};\n"
            + "    tcgen05.wait::ld.sync.aligned;\n"
            + row("out", count)
            + words("st", count)
        )
    text = kernel("fill words out", allocate(total) + fill(total) + before + move + free(total))
    rng = np.random.default_rng(count * 3 + store)
    memory = rng.integers(0, 1 << 32, (128, total), dtype=np.uint32)
    data = rng.integers(0, 1 << 32, (128, count), dtype=np.uint32)
    lane, column = cells(shape, count, packed, half)

    def args() -> list[Arr]:
        return [memory, data, np.zeros_like(memory if store else data)]

    def check(found: list[Arr]) -> None:
        result = found[-1]
        if not store:
            want = memory[lane, column]
            if packed:
                want = want & 0xFFFF | memory[lane, column + 1] << 16
            np.testing.assert_array_equal(result, want)
            return
        want, mask = memory.copy(), np.full_like(memory, 0xFFFFFFFF)
        want[lane, column] = data & 0xFFFF if packed else data
        if packed:
            want[lane, column + 1] = data >> 16
            mask[lane, column] = mask[lane, column + 1] = 0xFFFF
        np.testing.assert_array_equal(result & mask, want)

    return Program(name, text, args, check)


# -- loads with a reduction


def reductions() -> list[Program]:
    """tcgen05.ld.red in all its forms."""
    out = []
    for shape in ("32x32b", "16x32bx2"):
        for k in range(1, 8):
            for type_, tails in (("u32", ("",)), ("s32", ("",)), ("f32", ("", ".abs", ".NaN", ".abs.NaN"))):
                for op in ("min", "max"):
                    out += [_reduction(shape, 1 << k, op, tail, type_) for tail in tails]
    return out


def _reduction(shape: str, count: int, op: str, tail: str, type_: str) -> Program:
    half = count
    total = _power(2 * count)
    at = "%mine" if shape == "32x32b" else "%mine+0x100000"
    more = f", {half}" if shape == "16x32bx2" else ""
    r = "%f" if type_ == "f32" else "%t"
    text = kernel(
        "fill out",
        allocate(total)
        + fill(total)
        + f"    tcgen05.ld.red.sync.aligned.{shape}.x{count}.{op}{tail}.{type_} {regs(0, count, r)}, {r}130, [{at}]{more};\n"
        + "    tcgen05.wait::ld.sync.aligned;\n"
        + row("out", count + 1)
        + "".join(f"    st.global.b32 [%l1+{4 * i}], {r}{i if i < count else 130};\n" for i in range(count + 1))
        + free(total),
    )
    rng = np.random.default_rng(count)
    memory = rng.integers(0, 1 << 32, (128, total), dtype=np.uint32)
    if type_ == "f32":
        memory = rng.normal(0, 100, (128, total)).astype(np.float32).view(np.uint32)
        memory[::5, 1] = 0x7FC12345
    lane, column = cells(shape, count, False, half)

    def check(found: list[Arr]) -> None:
        loaded = memory[lane, column]
        np.testing.assert_array_equal(found[-1][:, :count], loaded)
        if type_ == "f32":
            v = np.abs(loaded.view(np.float32)) if "abs" in tail else loaded.view(np.float32)
            want = (np.fmin if op == "min" else np.fmax).reduce(v, axis=1).view(np.uint32)
            if "NaN" in tail:
                want = np.where(np.isnan(v).any(axis=1), np.uint32(0x7FFFFFFF), want)
        else:
            v = loaded.view(np.int32) if type_ == "s32" else loaded
            want = (v.min(axis=1) if op == "min" else v.max(axis=1)).view(np.uint32)
        np.testing.assert_array_equal(found[-1][:, count], want)

    return Program(
        f"red.{shape}.x{count}.{op}{tail}.{type_}",
        text,
        lambda: [memory, np.zeros((128, count + 1), np.uint32)],
        check,
        targets=REDUCING,
    )
