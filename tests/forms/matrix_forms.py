"""Forms of the warp's matrix instructions: mma, mma.sp, wmma, ldmatrix, stmatrix, movmatrix."""

import functools
import struct
from collections.abc import Callable, Sequence
from random import Random

import numpy as np

from orias.sim.math import softfloat
from tests.forms.exact import Expected
from tests.forms.form import Form, Outputs
from tests.forms.matrix_exact import (
    BITS,
    elements_a,
    elements_b,
    elements_c,
    float_sum,
    integer_sum,
    kept,
    pack,
    quad_elements,
    quad_results,
    registers,
)
from tests.forms.values import rng

Rows = Sequence[tuple[int, ...]]
Matrix = dict[tuple[int, int], int]
Draw = Callable[[Random], int]
_SPECIAL = {
    "f16": (0, 0x8000, 0x3C00, 0xBC00, 1, 0x8001, 0x03FF, 0x7BFF, 0xFBFF),
    "bf16": (0, 0x8000, 0x3F80, 0xBF80, 1, 0x8001, 0x007F, 0x0080),
    "tf32": (0, 0x80000000, 0x3F800000, 0xBF800000, 0x3F802000, 0x00800000),
    "f32": (0, 0x80000000, 0x3F800000, 0xBF800000, 0x00800000, 0x7F7FFFFF, 0xFF7FFFFF),
    "f64": (0, 1 << 63, 0x3FF0000000000000, 0xBFF0000000000000, 0x7FEFFFFFFFFFFFFF, 1),
    "e4m3": (0, 0x80, 0x38, 0xB8, 1, 0x7E, 0xFE),
    "e5m2": (0, 0x80, 0x3C, 0xBC, 1, 0x7B, 0xFB),
}
_WILD = {"f16": (0x7C00, 0xFC00, 0x7E01), "bf16": (0x7F80, 0xFF80, 0x7FC1), "tf32": (0x7F800000, 0xFF800000), "f32": (0x7F800000, 0xFF800000, 0x7FC00001), "e4m3": (0x7F,), "e5m2": (0x7C, 0xFC, 0x7E)}  # fmt: skip


def _medium(r: Random, type_: str) -> int:
    """A pattern of a number of moderate size."""
    x = r.uniform(-4, 4) * 2.0 ** r.randrange(-6, 4)
    if type_ == "f64":
        return int.from_bytes(struct.pack("<d", x), "little")
    if type_ in ("e4m3", "e5m2"):
        return r.getrandbits(1) << 7 | r.randrange(0x20, 0x50)
    bits = int.from_bytes(struct.pack("<f", x), "little")
    if type_ == "f16":
        return int.from_bytes(struct.pack("<e", struct.unpack("<f", struct.pack("<f", x))[0]), "little")
    if type_ == "bf16":
        return bits + 0x7FFF + (bits >> 16 & 1) >> 16
    return bits & 0xFFFFE000 if type_ == "tf32" else bits


def draw(type_: str, kind: str) -> Draw:
    """Patterns of a type: plain, special (zeros, subnormals, largest numbers among them) or wild (infinities and NaN)."""
    bits = BITS[type_]
    if type_ not in _SPECIAL:
        top = (0, 1, (1 << bits) - 1, 1 << (bits - 1), (1 << (bits - 1)) - 1)
        if kind == "plain":
            return lambda r: r.getrandbits(bits)
        return lambda r: r.choice(top)

    def floats(r: Random) -> int:
        if kind == "plain" or r.random() < 0.6:
            return _medium(r, type_)
        if kind == "wild" and r.random() < 0.05:
            return r.choice(_WILD.get(type_, _SPECIAL[type_]))
        return r.choice(_SPECIAL[type_])

    return floats


def _lanes(places: list[list[tuple[int, int]]], matrix: dict[tuple[int, int], int], bits: int) -> list[list[int]]:
    return [pack([matrix[p] for p in lane], bits) for lane in places]


def _matrix(r: Random, places: list[list[tuple[int, int]]], pick: Draw) -> dict[tuple[int, int], int]:
    return {p: pick(r) for p in sorted({p for lane in places for p in lane})}


def _regs(letter: str, first: int, count: int) -> str:
    return "{" + ", ".join(f"%{letter}{first + j}" for j in range(count)) + "}"


def _chain(terms: Sequence[tuple[int, int]], c: int, mode: int) -> int:
    total = np.array([c], np.uint64)
    with np.errstate(all="ignore"):
        for x, y in terms:
            total = softfloat.dfma64(np.array([x], np.uint64), np.array([y], np.uint64), total, mode)
    return int(total[0])


_MODES = {"rn": softfloat.RN, "rz": softfloat.RZ, "rm": softfloat.RM, "rp": softfloat.RP}


def combine(
    types: tuple[str, str, str, str], saturate: bool, exclusive: bool, rnd: str, steps: bool = False
) -> Callable[[Sequence[tuple[int, int]], int], Expected]:
    """What a result is, from its pairs of factors and its accumulator; types of D, A, B, C; `steps`: see float_sum."""
    d, a, b, c = types
    if a == "f64":
        return lambda terms, z: _chain(terms, z, _MODES[rnd])
    if d == "s32":
        return lambda terms, z: integer_sum(terms, (a, b), z, saturate, exclusive)
    return lambda terms, z: float_sum(terms, (a, b), z, c, d, steps)


def product(
    name: str,
    text: str,
    shape: tuple[int, int, int],
    types: tuple[str, str, str, str],
    sm: int,
    kind: str,
    *,
    saturate: bool = False,
    exclusive: bool = False,
    rnd: str = "rn",
    selector: int = -1,
    judged: bool = True,
) -> Form:
    """A form of mma (`selector` -1) or mma.sp; `text` is the opcode."""
    m, n, k = shape
    d, a, b, c = types
    sparse = selector >= 0
    deep = k // 2 if sparse else k
    at_a, at_b, at_c = elements_a(m, deep, BITS[a]), elements_b(k, n, BITS[b]), elements_c(m, n)
    # 8-bit floats with f16 sums stay small: on sm_90 the sum of one half of k must not overflow.
    factors = "plain" if d == "f16" and BITS[a] == 8 and kind == "special" else kind
    merge = combine(types, saturate, exclusive, rnd)

    @functools.cache
    def inputs() -> tuple[Matrix, Matrix, Matrix, list[int]]:
        r = rng(name)
        x, y, z = (_matrix(r, p, draw(t, w)) for p, t, w in ((at_a, a, factors), (at_b, b, factors), (at_c, c, kind)))
        if d == "s32" and saturate:
            z = {p: r.choice((0x7FFFFFFF, 0x80000000, 0x7FFFF000, 0x80001000, 5)) for p in z}
        return x, y, z, [_metadata(r, BITS[a]) for _ in range(32)]

    def rows() -> Rows:
        x, y, z, meta = inputs()
        columns = [_lanes(at_a, x, BITS[a]), _lanes(at_b, y, BITS[b]), _lanes(at_c, z, BITS[c])]
        last = [[meta[lane]] if sparse else [] for lane in range(32)]
        return [tuple([v for part in columns for v in part[lane]] + last[lane]) for lane in range(32)]

    def everything(_: Rows) -> list[Outputs]:
        x, y, z, meta = inputs()

        def place(row: int, j: int) -> int:
            return kept(meta, row, j, deep, BITS[a], selector) if sparse else j

        result: dict[tuple[int, int], Expected] = {}
        for row, column in z:
            terms = [(x[row, j], y[place(row, j), column]) for j in range(deep)]
            result[row, column] = merge(terms, z[row, column])
        return [tuple(result[p] for p in lane) for lane in at_c]

    word = "b64" if a == "f64" else "b32"
    counts = [registers(len(at[0]), BITS[t]) for at, t in ((at_a, a), (at_b, b), (at_c, c))]
    starts = [0, counts[0], counts[0] + counts[1]]
    sources = ", ".join(_regs("a", s, q) for s, q in zip(starts, counts, strict=True))
    last = f", %a{sum(counts)}, {selector}" if sparse else ""
    ins = [word] * (sum(counts) + sparse)
    results = len(at_c[0])
    if d == "f16":
        body = f"{text} {_regs('w', 0, results // 2)}, {sources}{last};\n" + _halves(results)
        return Form(
            name,
            body,
            ins,
            ["b16"] * results,
            rows,
            want_all=everything,
            sm=sm,
            judged=judged,
            decl=f".reg .b32 %w<{results // 2}>;",
        )
    return Form(
        name,
        f"{text} {_regs('o', 0, results)}, {sources}{last};",
        ins,
        [word] * results,
        rows,
        want_all=everything,
        sm=sm,
        judged=judged,
    )


def _halves(results: int) -> str:
    return " ".join(f"mov.b32 {{%o{2 * j}, %o{2 * j + 1}}}, %w{j};" for j in range(results // 2))


def _metadata(r: Random, bits: int) -> int:
    """Indices of one word: rising pairs; for 32-bit elements one of the two an element can have."""
    if bits == 32:
        return sum(r.choice((0x4, 0xE)) << 4 * j for j in range(8))
    return sum(r.choice((0x4, 0x8, 0xC, 0x9, 0xD, 0xE)) << 4 * j for j in range(8))


_DENSE: list[tuple[str, str, int]] = [
    # shape, types D.A.B.C, first SM
    ("m16n8k8", "f16.f16.f16.f16 f32.f16.f16.f32", 75),
    ("m16n8k16", "f16.f16.f16.f16 f32.f16.f16.f32", 80),
    ("m16n8k8", "f32.bf16.bf16.f32 f32.tf32.tf32.f32", 80),
    ("m16n8k16", "f32.bf16.bf16.f32", 80),
    ("m16n8k4", "f32.tf32.tf32.f32", 80),
    ("m8n8k4", "f64.f64.f64.f64", 80),
    ("m16n8k4", "f64.f64.f64.f64", 90),
    ("m16n8k8", "f64.f64.f64.f64", 90),
    ("m16n8k16", "f64.f64.f64.f64", 90),
    ("m8n8k16", "s32.s8.s8.s32 s32.u8.u8.s32 s32.s8.u8.s32 s32.u8.s8.s32", 75),
    ("m16n8k16", "s32.s8.s8.s32 s32.u8.u8.s32 s32.s8.u8.s32 s32.u8.s8.s32", 80),
    ("m16n8k32", "s32.s8.s8.s32 s32.u8.u8.s32 s32.s8.u8.s32 s32.u8.s8.s32", 80),
    ("m8n8k32", "s32.s4.s4.s32 s32.u4.u4.s32 s32.s4.u4.s32 s32.u4.s4.s32", 75),
    ("m16n8k32", "s32.s4.s4.s32 s32.u4.u4.s32 s32.s4.u4.s32 s32.u4.s4.s32", 80),
    ("m16n8k64", "s32.s4.s4.s32 s32.u4.u4.s32 s32.s4.u4.s32 s32.u4.s4.s32", 80),
    *[(s, " ".join(f"{d}.{a}.{b}.{d}" for d in ("f32", "f16") for a in ("e4m3", "e5m2") for b in ("e4m3", "e5m2")), 89) for s in ("m16n8k32", "m16n8k16")],
]  # fmt: skip
_BIT = [("m8n8k128", 75), ("m16n8k128", 80), ("m16n8k256", 80)]
_SPARSE: list[tuple[str, str, int, int]] = [
    # shape, types, first SM, selectors
    ("m16n8k8", "f32.tf32.tf32.f32", 80, 4),
    ("m16n8k16", "f32.tf32.tf32.f32", 80, 2),
    ("m16n8k16", "f16.f16.f16.f16 f32.f16.f16.f32 f32.bf16.bf16.f32", 80, 4),
    ("m16n8k32", "f16.f16.f16.f16 f32.f16.f16.f32 f32.bf16.bf16.f32", 80, 2),
    ("m16n8k32", "s32.s8.s8.s32 s32.u8.u8.s32 s32.s8.u8.s32 s32.u8.s8.s32", 80, 2),
    ("m16n8k64", "s32.s8.s8.s32 s32.u8.u8.s32 s32.s8.u8.s32 s32.u8.s8.s32", 80, 1),
    ("m16n8k64", "s32.s4.s4.s32 s32.u4.u4.s32 s32.s4.u4.s32 s32.u4.s4.s32", 80, 2),
    ("m16n8k128", "s32.s4.s4.s32 s32.u4.u4.s32 s32.s4.u4.s32 s32.u4.s4.s32", 80, 1),
    ("m16n8k64", "f32.e4m3.e4m3.f32 f32.e5m2.e5m2.f32 f32.e4m3.e5m2.f32 f32.e5m2.e4m3.f32", 89, 1),
]


def numbers(shape: str) -> tuple[int, int, int]:
    """m, n, k."""
    m, rest = shape[1:].split("n")
    n, k = rest.split("k")
    return int(m), int(n), int(k)


def _kinds(types: tuple[str, ...]) -> tuple[str, ...]:
    narrow_fp8 = types[0] == "f16" and BITS[types[1]] == 8
    return ("plain", "special") if types[0] in ("s32", "f64") or narrow_fp8 else ("plain", "special", "wild")


def dense() -> list[Form]:
    """mma.sync in every shape and type."""
    out = []
    for shape, rows, sm in _DENSE:
        for row in rows.split():
            d, a, b, c = row.split(".")
            types = (d, a, b, c)
            for kind in _kinds(types):
                head = f"mma.sync.aligned.{shape}.row.col"
                if d == "s32":
                    for sat in ("", ".satfinite"):
                        name = f"mma.{shape}.{row}{sat}.{kind}"
                        out.append(
                            product(name, f"{head}{sat}.{row}", numbers(shape), types, sm, kind, saturate=bool(sat))
                        )
                elif d == "f64":
                    for rnd in ("", "rn", "rz", "rm", "rp"):
                        mode = f".{rnd}" if rnd else ""
                        name = f"mma.{shape}.{row}{mode}.{kind}"
                        out.append(
                            product(name, f"{head}{mode}.{row}", numbers(shape), types, sm, kind, rnd=rnd or "rn")
                        )
                else:
                    out.append(product(f"mma.{shape}.{row}.{kind}", f"{head}.{row}", numbers(shape), types, sm, kind))
    for shape, sm in _BIT:
        for op in ("xor", "and"):
            for kind in ("plain", "special"):
                head = f"mma.sync.aligned.{shape}.row.col.s32.b1.b1.s32.{op}.popc"
                out.append(
                    product(f"mma.{shape}.b1.{op}.{kind}", head, numbers(shape), ("s32", "b1", "b1", "s32"), sm if op == "xor" else 80,
                            kind, exclusive=op == "xor")
                )  # fmt: skip
    return out


def sparse() -> list[Form]:
    """mma.sp and mma.sp::ordered_metadata."""
    out = []
    for shape, rows, sm, selectors in _SPARSE:
        for row in rows.split():
            d, a, b, c = row.split(".")
            types = (d, a, b, c)
            for selector in range(selectors):
                kinds = [("sp" if (selector + len(k)) % 2 else "sp::ordered_metadata", k) for k in _kinds(types)]
                if selector == 0:
                    # Both words with every type.
                    kinds += [(w, "plain") for w in ("sp", "sp::ordered_metadata") if w not in dict(kinds)]
                for word, kind in kinds:
                    for sat in ("", ".satfinite") if d == "s32" else ("",):
                        name = f"mma.{word}.{shape}.{row}{sat}.{selector}.{kind}"
                        text = f"mma.{word}.sync.aligned.{shape}.row.col{sat}.{row}"
                        out.append(
                            product(name, text, numbers(shape), types, sm, kind, saturate=bool(sat), selector=selector)
                        )
    return out


def quads() -> list[Form]:
    """mma.m8n8k4 of f16: four products at once."""
    out = []
    for row in ("f32.f16.f16.f32", "f16.f16.f16.f16", "f32.f16.f16.f16"):
        for al in ("row", "col"):
            for bl in ("row", "col"):
                for kind in ("plain", "special"):
                    out.append(_quad(f"mma.m8n8k4.{al}.{bl}.{row}.{kind}", al, bl, row, kind))
    return out


def _quad(name: str, al: str, bl: str, row: str, kind: str) -> Form:
    d, _, _, c = row.split(".")
    at_a, at_b = quad_elements(al == "row"), quad_elements(bl == "col")
    at_c, at_d = quad_results(c == "f32"), quad_results(d == "f32")

    @functools.cache
    def inputs() -> list[dict[tuple[int, int, int], int]]:
        r = rng(name)
        pick, pick_c = draw("f16", kind), draw(c, kind)
        return [
            {p: f(r) for p in sorted({p for lane in at for p in lane})}
            for at, f in ((at_a, pick), (at_b, pick), (at_c, pick_c))
        ]

    def rows() -> Rows:
        x, y, z = inputs()
        return [
            tuple(pack([x[p] for p in at_a[lane]], 16) + pack([y[p] for p in at_b[lane]], 16) + pack([z[p] for p in at_c[lane]], BITS[c]))
            for lane in range(32)
        ]  # fmt: skip

    def everything(_: Rows) -> list[Outputs]:
        x, y, z = inputs()
        out: list[Outputs] = []
        for lane in at_d:
            out.append(
                tuple(
                    float_sum([(x[q, i, k], y[q, j, k]) for k in range(4)], ("f16", "f16"), z[q, i, j], c, d)
                    for q, i, j in lane
                )
            )
        return out

    count = 8 if c == "f32" else 4
    head = f"mma.sync.aligned.m8n8k4.{al}.{bl}.{row}"
    sources = f"{_regs('a', 0, 2)}, {_regs('a', 2, 2)}, {_regs('a', 4, count)}"
    if d == "f16":
        body = f"{head} {_regs('w', 0, 4)}, {sources};\n" + _halves(8)
        return Form(name, body, ["b32"] * (4 + count), ["b16"] * 8, rows, want_all=everything, decl=".reg .b32 %w<4>;")
    return Form(
        name, f"{head} {_regs('o', 0, 8)}, {sources};", ["b32"] * (4 + count), ["b32"] * 8, rows, want_all=everything
    )


def forms() -> list[Form]:
    """Every form of this file."""
    return dense() + sparse() + quads()
