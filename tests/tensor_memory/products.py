"""Programs with one product each: kinds, shapes, places of A, sparse A, scales, masks of lanes and columns.

What must be in tensor memory afterwards is computed here from the PTX description, without the simulator's code.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from tests.tensor_memory.copies import INIT, WAIT, to_shared
from tests.tensor_memory.programs import BLOCK, Program, allocate, drain, fill, free, kernel, regs

Arr = npt.NDArray[Any]


@dataclass(frozen=True)
class Element:
    """A type of elements in shared memory."""

    kind: str
    number: int
    """In the instruction descriptor."""
    bits: int
    room: int
    """Bits that an element takes in shared memory, with padding."""
    codes: dict[int, int]
    """Value -> pattern."""


def _floats(exponent: int, mantissa: int, bias: int) -> dict[int, int]:
    """Patterns of small integers."""
    out = {}
    for code in range(1 << exponent + mantissa):
        high, low = code >> mantissa, code & (1 << mantissa) - 1
        v = (low + (1 << mantissa if high else 0)) * 2.0 ** (max(high, 1) - bias - mantissa)
        if v in (0, 1, 2, 3, 4, 6):
            out[int(v)] = code
            out[-int(v)] = code | 1 << exponent + mantissa if v else code
    return out


_E2M1 = _floats(2, 1, 1)
TYPES = {
    "f16": Element("f16", 0, 16, 16, _floats(5, 10, 15)),
    "bf16": Element("f16", 1, 16, 16, _floats(8, 7, 127)),
    "tf32": Element("tf32", 2, 32, 32, {v: c << 13 for v, c in _floats(8, 10, 127).items()}),
    "e4m3": Element("f8f6f4", 0, 8, 8, _floats(4, 3, 7)),
    "e5m2": Element("f8f6f4", 1, 8, 8, _floats(5, 2, 15)),
    "e2m3": Element("f8f6f4", 3, 6, 8, _floats(2, 3, 1)),
    "e3m2": Element("f8f6f4", 4, 6, 8, _floats(3, 2, 3)),
    "e2m1": Element("f8f6f4", 5, 4, 8, _E2M1),
    "e2m1x2": Element("mxf4", 1, 4, 4, _E2M1),
    "u8": Element("i8", 0, 8, 8, {v: v for v in range(256)}),
    "s8": Element("i8", 1, 8, 8, {v: v & 255 for v in range(-128, 128)}),
}
_CODES = (4, 8, 9, 12, 13, 6, 14)
"""Metadata that the manual gives a meaning: two positions in a group of four."""


@dataclass(frozen=True)
class Case:
    """A product."""

    a: str = "f16"
    b: str = ""
    m: int = 128
    n: int = 32
    group: int = 1
    sparse: bool = False
    selector: int = 0
    stationary: bool = False
    in_tensor: bool = False
    lane: int = 0
    swizzled: bool = False
    turned: bool = False
    kind: str = ""
    """With scales: kind and modifiers."""
    mask: int = 0
    """Zero-column mask descriptor."""
    largest_shift: int = 0
    lanes: tuple[int, ...] = ()
    """Lanes left out, 32 a word."""
    scale: int = 0
    negate: int = 0
    keep: bool = True
    short: bool = False
    """f16 results."""
    ids: tuple[int, int] = (0, 0)
    """First bytes of the scales of A and B in their columns."""
    long: bool = False
    """K = 96."""
    piece: int = 0
    """With `long`: the first of the eight 16-byte pieces of a line; a row that reaches its end goes on in a second buffer."""
    shifted: bool = False
    """ashift."""
    uses: tuple[str, ...] = ("",)
    """Collector modifiers: the product is made once for each, of the same matrices."""
    seed: int = 0

    @property
    def name(self) -> str:
        parts = [self.a, self.b or self.a, f"{self.m}x{self.n}", f"group{self.group}"]
        flags = ("sparse", "stationary", "in_tensor", "swizzled", "turned", "short", "long", "shifted")
        parts += [w for w in flags if getattr(self, w)]
        numbers = ("selector", "lane", "mask", "scale", "negate", "piece")
        parts += [f"{w}{getattr(self, w):x}" for w in numbers if getattr(self, w)]
        parts += ["scales{}{}".format(*self.ids)] if any(self.ids) else []
        parts += [self.kind] if self.kind else []
        parts += [u.removeprefix(".collector::").replace("::", "_") for u in self.uses if u]
        return "mma." + ".".join(parts + (["lanes"] if self.lanes else []) + ([] if self.keep else ["new"]))


def _pack(e: Element, v: Arr) -> Arr:
    """Bytes [rows, ...] of values [rows, k]; 16 elements with gaps fill 16 bytes."""
    codes = np.vectorize(e.codes.__getitem__, otypes=[np.uint32])(v)
    if e.bits == e.room:
        if e.bits == 4:
            pairs: Arr = (codes[:, ::2] | codes[:, 1::2] << 4).astype(np.uint8)
            return pairs
        whole: Arr = np.ascontiguousarray(codes.astype(f"<u{e.bits // 8}")).view(np.uint8).reshape(len(v), -1)
        return whole
    out = np.zeros((len(v), v.shape[1]), np.uint8)
    for c in range(0, v.shape[1], 16):
        bits = codes[:, c : c + 16, None] >> np.arange(e.bits, dtype=np.uint32) & 1
        out[:, c : c + 2 * e.bits] = np.packbits(bits.reshape(len(v), -1).astype(np.uint8), axis=1, bitorder="little")
    return out


def _place(rows: Arr, swizzled: bool) -> tuple[Arr, int]:
    """A matrix [rows, bytes of a row] as shared memory, and its descriptor without the address."""
    count, width = rows.shape
    out = np.zeros(count * width, np.uint8)
    for r in range(count):
        for c in range(0, width, 16):
            if swizzled:
                at = r * width + c
                at ^= (at >> 7 & width // 16 - 1) << 4
            else:
                at = c * count + r * 16
            out[at : at + 16] = rows[r, c : c + 16]
    leading, stride = (16, 8 * width) if swizzled else (16 * count, 128)
    return out, leading >> 4 << 16 | stride >> 4 << 32 | 1 << 46 | ({32: 6, 64: 4}[width] if swizzled else 0) << 61


def _place_long(rows: Arr, piece: int) -> tuple[Arr, int]:
    """Rows of 48 bytes from a piece of lines of 128 bytes on, swizzled; the second lines follow all of the first.

    The descriptor lacks the address in its two fields for addresses.
    """
    count = len(rows)
    out = np.zeros(2 * 128 * count, np.uint8)
    for r in range(count):
        for c in range(3):
            at = (piece + c) // 8 * 128 * count + 128 * r + (piece + c) % 8 * 16
            at ^= (at >> 7 & 7) << 4
            out[at : at + 16] = rows[r, 16 * c : 16 * c + 16]
    return out, piece | 128 * count >> 4 << 16 | 1024 >> 4 << 32 | 1 << 46 | 1 << 52 | 2 << 61


def _place_turned(e: Element, v: Arr) -> tuple[Arr, int]:
    """A matrix [rows, k] that is stored along the rows: 8 values of k of 16 bytes together."""
    size = e.bits // 8
    count, k = v.shape
    per = 16 // size
    patterns = _pack(e, v).reshape(count, k, size)
    leading, stride = 16 * 8, 16 * k
    out = np.zeros(v.size * size, np.uint8)
    for r in range(count):
        for c in range(k):
            at = r % per * size + c % 8 * 16 + r // per * stride + c // 8 * leading
            out[at : at + size] = patterns[r, c]
    return out, leading >> 4 << 16 | stride >> 4 << 32 | 1 << 46


def _cells(c: Case) -> tuple[Arr, Arr, Arr]:
    """Block, lane and column of each result, [m, n]."""
    row, column = np.arange(c.m)[:, None], np.arange(c.n)[None, :]
    own = c.m // c.group
    block, r = row // own + 0 * column, row % own
    if c.stationary or (c.group == 2 and c.m == 128 and not c.sparse):
        part = c.n * own // 128
        return block, r + own * (column // part), column % part + 0 * row
    if own == 64:
        return block, c.lane + r % 16 + 32 * (r // 16) + 0 * column, column + 0 * row
    return block, r + 0 * column, column + 0 * row


def _metadata(c: Case, wide: bool, codes: Arr, memory: Arr, column: int) -> None:
    """Writes codes [m, chunks] to the lanes that have the rows' results."""
    block, lane, _ = _cells(c)
    for r in range(c.m):
        for at in sorted({(int(x), int(y)) for x, y in zip(block[r], lane[r], strict=True)}):
            for j in range(codes.shape[1]):
                b, x = at
                if wide:
                    # 16 lanes share: rows x and x + 8 are the halves of a word, the last codes in the next 8 lanes.
                    where = 128 * b + x // 16 * 16 + x % 8 + 8 * (j // 4), column + c.selector
                    shift = 16 * (x % 16 // 8) + 4 * (j % 4)
                else:
                    where, shift = (128 * b + x, column + j // 8), 4 * (j % 8)
                memory[where] = memory[where] & ~np.uint32(15 << shift) | np.uint32(codes[r, j] << shift)


def _expand(a: Arr, codes: Arr, element: Element) -> Arr:
    """A sparse matrix [m, k] as [m, 2 * k]."""
    m, k = a.shape
    out = np.zeros((m, 2 * k), a.dtype)
    for r in range(m):
        for j, code in enumerate(codes[r].tolist()):
            if element.bits == 32:
                out[r, 2 * j + (code == 14)] = a[r, j]
            elif element.room == 4:
                for i, at in enumerate((code & 3, code >> 2)):
                    out[r, 8 * j + 2 * at : 8 * j + 2 * at + 2] = a[r, 4 * j + 2 * i : 4 * j + 2 * i + 2]
            else:
                for i, at in enumerate((code & 3, code >> 2)):
                    out[r, 4 * j + at] = a[r, 2 * j + i]
    return out


def zero_columns(word: int, m: int, n: int) -> Arr:
    """The columns that a zero-column mask descriptor makes zero."""
    out: list[bool] = []
    spans = {True: (word >> 40 & 255) + 1, False: (word >> 48 & 255) + 1}
    for i in range(128 // m):
        zero = bool(word >> 32 + i & 1)
        left = max(spans[zero] - (word >> 8 * i & 255), 1)
        for _ in range(n * m // 128):
            if left == 0:
                zero = not zero
                left = spans[zero]
            out.append(zero and bool(word >> 39 & 1))
            left -= 1
    return np.array(out)


def product(c: Case) -> Program:
    """The program of a case."""
    rng = np.random.default_rng([c.seed, c.m, c.n, len(c.name)])
    ea, eb = TYPES[c.a], TYPES[c.b or c.a]
    k = (384 if c.long else 256) // ea.room
    full = 2 * k if c.sparse else k
    shift = c.mask >> 56 & 63
    a = rng.choice(sorted(ea.codes), (c.m, k))
    b = rng.choice(sorted(eb.codes), (c.n + shift, full))
    block, lane, column = _cells(c)
    at = 128 * block + lane
    width = int(column.max()) + 1
    a_column = -(-width // 4) * 4
    e_column = a_column + (12 if c.long else 8)
    sa_column = e_column + 4
    sb_column = sa_column + (8 if c.long else 4)
    total = -(-(sb_column + (16 if c.long else 8)) // 32) * 32
    memory = rng.integers(0, 1 << 32, (128 * c.group, total), dtype=np.uint32)
    old = rng.integers(-99, 100, (c.m, c.n))
    if ea.kind == "i8":
        memory[at, column] = old.astype(np.int32).view(np.uint32)
    elif c.short:
        memory[at, column] = old.astype(np.float16).view(np.uint16)
    else:
        memory[at, column] = old.astype(np.float32).view(np.uint32)

    x = a
    if c.sparse:
        codes = rng.choice((4, 14) if ea.bits == 32 else _CODES, (c.m, 8 if ea.bits >= 16 else 16))
        _metadata(c, ea.bits >= 16, codes, memory, e_column)
        x = _expand(a, codes, ea)
    if c.in_tensor:
        raw = _pack(replace(ea, bits=ea.room), a) << (2 if c.a == "e2m1" else 0)
        words = np.ascontiguousarray(raw).view(np.uint32)
        for r in range(c.m):
            for where in np.unique(at[r]):
                memory[where, a_column : a_column + words.shape[1]] = words[r]

    y = b[shift:].copy()
    if c.mask:
        y[zero_columns(c.mask, c.m, c.n)] = 0
    vector = 16 if "4X" in c.kind or "block16" in c.kind else 32
    scaled_x, scaled_y = x.astype(np.float64), y.astype(np.float64)
    powers = vector == 32
    if c.kind:
        scale_codes = np.array([125, 126, 127, 128] if powers else [0x30, 0x38, 0x40, 0x44])
        factors = np.array([0.25, 0.5, 1, 2] if powers else [0.5, 1, 2, 3])
        for which, rows in enumerate((c.m, c.n)):
            chosen = rng.integers(0, 4, (rows, k // vector))
            stretch = np.repeat(factors[chosen], vector * (2 if c.sparse else 1), axis=1)
            if which == 0:
                scaled_x *= stretch
            else:
                scaled_y *= stretch
            own = c.m // c.group
            # With 64 rows in each of two blocks, the upper lanes have the upper half of the columns and their scales.
            halves = 2 if which and own == 64 else 1
            step = -(-(rows if which else own) // 128) * 4 // halves
            for row, i in np.ndindex(chosen.shape):
                r = row % (rows // halves if which else own)
                lanes = r % 32 + np.arange(0, 128, 32)
                lanes = lanes[2 * (row // (rows // 2)) :][:2] if halves == 2 else lanes
                at_byte = c.ids[which] + i
                where = (sa_column, sb_column)[which] + r // 32 + at_byte // 4 * step
                for blk in range(c.group) if which else [row // own]:
                    raw = memory[128 * blk + lanes, where] & ~np.uint32(255 << 8 * (at_byte % 4))
                    memory[128 * blk + lanes, where] = raw | np.uint32(scale_codes[chosen[row, i]] << 8 * (at_byte % 4))

    rows_a, rows_b = c.m // c.group, (c.n + shift) // c.group
    images = []
    for blk in range(c.group):
        own_a, own_b = a[blk * rows_a : (blk + 1) * rows_a], b[blk * rows_b : (blk + 1) * rows_b]
        if c.long and c.swizzled:
            left, a_desc = _place_long(_pack(ea, own_a), c.piece)
            right, b_desc = _place_long(_pack(eb, own_b), c.piece)
        elif c.turned:
            (left, a_desc), (right, b_desc) = _place_turned(ea, own_a), _place_turned(eb, own_b)
        else:
            left, a_desc = _place(_pack(ea, own_a), c.swizzled)
            right, b_desc = _place(_pack(eb, own_b), c.swizzled)
        b_at = -(-len(left) // 1024) * 1024
        size = -(-(b_at + len(right)) // 2048) * 2048
        image = np.zeros(size, np.uint8)
        image[: len(left)], image[b_at : b_at + len(right)] = left, right
        images.append(image)

    sparsity = int(c.sparse) << 2 | c.selector
    if c.kind:
        idesc = sparsity | ea.number << 7 | eb.number << 10 | c.n >> 3 << 17 | int(powers) << 23 | c.m >> 4 << 24
        idesc |= c.ids[0] << 29 | c.ids[1] << 4 | int(c.long) << 31
    else:
        result = 2 if ea.kind == "i8" else 0 if c.short else 1
        idesc = (
            sparsity | result << 4 | ea.number << 7 | eb.number << 10 | c.negate << 13 | c.n >> 3 << 17 | c.m >> 4 << 24
        )
        idesc |= (3 << 15 if c.turned else 0) | c.largest_shift << 30
    name = "tcgen05.mma" + (".ws" if c.stationary else "") + (".sp" if c.sparse else "")
    tail = f".cta_group::{c.group}.kind::{c.kind or ea.kind}" + (".ashift" if c.shifted else "")
    operands = ["[%x8]", "[%x9]" if c.in_tensor else "%l3", "%l4", *(["[%x10]"] if c.sparse else []), f"{idesc}"]
    operands += ["[%x11]", "[%x12]"] if c.kind else []
    operands += [regs(0, len(c.lanes))] if c.lanes else []
    operands += ["%p4"] + ([f"{c.scale}"] if c.scale else []) + (["%l5"] if c.mask else [])
    cluster = c.group == 2
    meet = "    barrier.cluster.arrive; barrier.cluster.wait;\n" if cluster else "    bar.sync 0;\n"
    multicast = ".multicast::cluster.b64 [%bar], %h1;" if cluster else ".b64 [%bar];"
    columns = max(32, 1 << (total - 1).bit_length())
    text = kernel(
        "fill src out",
        f"""
    mov.u32 %x6, %cluster_ctarank;
    mov.u16 %h1, 3;
{INIT.format(count=1)}
    ld.param.u64 %l0, [src];
    mad.wide.u32 %l0, %x6, {size}, %l0;
{to_shared(size).replace("ld.param.u64 %l0, [src];", "")}
{allocate(columns, c.group)}
    shl.b32 %x7, %x6, 7;
    add.u32 %me, %me, %x7;
{fill(total)}
    tcgen05.fence::before_thread_sync;
{meet}
    tcgen05.fence::after_thread_sync;
    setp.ne.u32 %p5, %me, 0;
    @%p5 bra issued;
    bfe.u32 %x4, %data, 4, 14;
    cvt.u64.u32 %l6, %x4;
    add.u64 %l3, %l6, {a_desc};
    add.u64 %l4, %l6, {b_desc + (b_at >> 4) * (0x10001 if c.long and c.swizzled else 1)};
    {"shl.b64 %l6, %l6, 16; add.u64 %l3, %l3, %l6; add.u64 %l4, %l4, %l6;" if c.long and c.swizzled else ""}
    mov.u64 %l5, {c.mask};
    add.u32 %x8, %tmem, {c.lane << 16};
    add.u32 %x9, %x8, {a_column};
    add.u32 %x10, %x8, {e_column};
    add.u32 %x11, %tmem, {sa_column};
    add.u32 %x12, %tmem, {sb_column};
    {"".join(f"mov.b32 %t{i}, {w};" for i, w in enumerate(c.lanes))}
    setp.eq.u32 %p4, %me, {0 if c.keep else 1};
    {"".join(f"{name}{tail}{use} {', '.join(operands)};" for use in c.uses)}
    tcgen05.commit.cta_group::{c.group}.mbarrier::arrive::one.shared::cluster{multicast}
issued:
{WAIT.format(name="waiting", phase=0)}
{drain(total)}
{meet}
{free(columns, c.group)}
""",
        cluster=c.group,
    ).replace(".b8 data[16384]", f".b8 data[{size}]")

    # A sum of products that is zero is positive, whatever is negated.
    sums = scaled_x @ scaled_y.T * (-1 if c.negate in (1, 2) else 1) * (len(c.uses) if c.keep else 1) + 0.0
    if c.keep:
        sums = sums + old * 2.0**-c.scale
    want = memory.copy()
    if c.shifted:
        for lane in range(0, 128 * c.group, 32):
            want[lane : lane + 31, a_column : a_column + 8] = memory[lane + 1 : lane + 32, a_column : a_column + 8]
    if ea.kind == "i8":
        want[at, column] = sums.astype(np.int64).astype(np.uint32)
    elif c.short:
        want[at, column] = sums.astype(np.float16).view(np.uint16)
    else:
        want[at, column] = sums.astype(np.float32).view(np.uint32)
    if c.lanes:
        off = np.unpackbits(np.array(c.lanes, "<u4").view(np.uint8), bitorder="little").astype(bool)
        want[off] = memory[off]
    ignored = np.zeros_like(memory)
    if c.short:
        ignored[at, column] = 0xFFFF0000

    def check(found: list[Arr]) -> None:
        np.testing.assert_array_equal(found[-1] & ~ignored, want & ~ignored)

    source = np.concatenate(images)
    return Program(c.name, text, lambda: [memory, source, np.zeros_like(memory)], check, cluster=c.group)


class Product(Program):
    """The program of a case, made when it is needed."""

    def __init__(self, case: Case) -> None:
        targets: tuple[str, ...] = BLOCK
        if TYPES[case.a].kind == "i8":
            targets = ("sm_100a", "sm_110a")
        elif case.scale:
            targets = ("sm_100a", "sm_103a")
        elif case.long:
            targets = ("sm_103a",)
        super().__init__(case.name, "", lambda: self._made.args(), self._check, cluster=case.group, targets=targets)
        self._case = case

    @cached_property
    def _made(self) -> Program:
        return product(self._case)

    def _check(self, found: list[Arr]) -> None:
        self._made.check(found)

    def text(self, arch: str) -> str:
        return self._made.text(arch)


_MASKS = (
    # used 4 and zero 3 columns; three examples of the manual; a start beyond the span; a shift
    1 << 39 | 2 << 40 | 3 << 48,
    1 << 39 | 2 << 40 | 3 << 48 | 1 << 32,
    1 << 39 | 2 << 40 | 3 << 48 | 3 << 32 | 1 << 24 | 2 << 16 | 1 << 8 | 2 << 56,
    1 << 39 | 2 << 40 | 3 << 48 | 1 << 32 | 200 | 300 << 8 & 0xFF00,
    5 << 56,
)
_MX = (
    ("e4m3", "", "mxf8f6f4.block_scale"),
    ("e2m1", "e3m2", "mxf8f6f4.block_scale.scale_vec::1X"),
    ("e2m3", "e5m2", "mxf8f6f4.block_scale.block32"),
    ("e2m1x2", "", "mxf4.block_scale.scale_vec::2X"),
    ("e2m1x2", "", "mxf4nvf4.block_scale.scale_vec::2X"),
    ("e2m1x2", "", "mxf4nvf4.block_scale.scale_vec::4X"),
    ("e2m1x2", "", "mxf4.block_scale.block32"),
    ("e2m1x2", "", "mxf4nvf4.block_scale.block16"),
)
_PAIRS = (
    ("f16", ""), ("bf16", ""), ("tf32", ""), ("e4m3", ""), ("e5m2", "e4m3"), ("e2m3", "e5m2"), ("e3m2", "e2m1"), ("e2m1", "e2m3"), ("s8", ""),
    ("u8", "s8"),
)  # fmt: skip


def _cases() -> Iterator[Case]:
    for i, (a, b) in enumerate(_PAIRS):
        for sparse in (True, False):
            for group, m, n in ((1, 128, 32), (1, 64, 24), (2, 256, 64), (2, 128, 32)):
                small = (8, 16, 24)[i % 3] if m == 64 and TYPES[a].kind != "i8" else n
                n = 32 if TYPES[a].kind == "i8" else small
                c = Case(a, b, m, n, group, sparse, selector=i % 2 if sparse and TYPES[a].bits >= 16 else 0)
                yield c
                yield replace(c, in_tensor=True, lane=16 if m == 64 or (sparse and m == 128 and group == 2) else 0)
            yield Case(a, b, 128, 16 * (1 + i), sparse=sparse, swizzled=True, keep=False)
            for m in (32, 64, 128):
                yield Case(a, b, m, 64, sparse=sparse, stationary=True, in_tensor=(i + m // 32) % 2 == 1)
    for a, b, kind in _MX:
        for group, m in ((1, 128), (2, 256)):
            for sparse in (True, False):
                for in_tensor in (True, False):
                    yield Case(a, b, m, 64, group, sparse, kind=kind, in_tensor=in_tensor)
    for i, mask in enumerate(_MASKS):
        for m in (32, 64, 128):
            for a in ("f16", "e4m3"):
                yield Case(a, "", m, 64, stationary=True, sparse=(i + m // 32) % 2 == 1, mask=mask, largest_shift=1)
    for a in ("f16", "bf16", "e4m3", "e5m2", "s8"):
        for sparse in (True, False):
            yield Case(a, "", 128, 64, sparse=sparse, turned=True)
    lanes = (0xFFFF0001, 0, 0x80000000, 0x123)
    for sparse in (True, False):
        for a in ("f16", "tf32", "e5m2", "s8"):
            yield Case(a, sparse=sparse, lanes=lanes)
            yield Case(a, m=256, group=2, sparse=sparse, lanes=(*lanes, *lanes[::-1]))
        yield Case("f16", sparse=sparse, scale=3)
        yield Case("tf32", sparse=sparse, scale=15)
        yield Case("f16", sparse=sparse, short=True)
        yield Case("e4m3", sparse=sparse, short=True)
        yield Case("bf16", sparse=sparse, negate=1)
        yield Case("e2m1", sparse=sparse, negate=2)
    yield from _later_cases()


def _later_cases() -> Iterator[Case]:
    """Places of scales, scales of pairs with 64 rows in each block, K = 96, shifted A, collectors."""
    for i, (a, b, kind) in enumerate(_MX):
        ids = ((0, 2), (2, 0), (2, 2))[i % 3] if a == "e2m1x2" else ((1, 3), (2, 0), (3, 1))[i % 3]
        if "4X" not in kind and "block16" not in kind:
            yield Case(a, b, 128, 64, kind=kind, ids=ids, in_tensor=i % 2 == 0)
        yield Case(a, b, 128, 64 + 64 * (i % 2), 2, kind=kind)
    for i, kind in enumerate(
        ("mxf4.block_scale.block32", "mxf4nvf4.block_scale.block16", "mxf4nvf4.block_scale.block32")
    ):
        for group, m, n in ((1, 128, 64), (1, 128, 192), (2, 256, 128), (2, 128, 128)):
            ids = ((0, 2), (2, 0)) if "block16" in kind else ((1, 3), (3, 2), (2, 0))
            yield Case("e2m1x2", "", m, n, group, kind=kind, long=True, in_tensor=n == 64)
            for j, piece in enumerate((3, 6, 7)):
                where = ids[(i + j) % len(ids)]
                yield Case("e2m1x2", "", m, n, group, kind=kind, long=True, swizzled=True, piece=piece, ids=where)
    for a, b in _PAIRS:
        for sparse in (True, False):
            yield Case(a, b, 128, 32, sparse=sparse, in_tensor=True, shifted=True)
            yield Case(a, b, 256, 64, 2, sparse, in_tensor=True, shifted=True, uses=(".collector::a::discard",))
    for sparse in (True, False):
        for a in ("f16", "tf32", "e4m3", "s8"):
            yield Case(a, sparse=sparse, uses=tuple(f".collector::a::{u}" for u in ("fill", "use", "lastuse")))
            yield Case(a, m=256, n=64, group=2, sparse=sparse, in_tensor=True, uses=(".collector::a::fill", ""))
            for k in range(4):
                uses = (f".collector::b{k}::fill", f".collector::b{k}::use", f".collector::b{k}::lastuse")
                yield Case(a, n=64, m=(32, 64, 128)[k % 3], sparse=sparse, stationary=True, uses=uses)


def products() -> list[Program]:
    """All programs."""
    return [Product(c) for c in _cases()]
