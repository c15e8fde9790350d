"""Forms of products of 8-, 6- and 4-bit floats with a kind, with and without scales, and of the matrix loads and stores of bytes.

Layouts are written from PTX's documents and CUTLASS's public layouts, without a look at the simulator's.
"""

import functools
from collections.abc import Sequence
from fractions import Fraction
from random import Random

from tests.forms.exact import F16, F32, Answer, Expected, any_nan, is_nan, rounded, value
from tests.forms.form import Form, Outputs
from tests.forms.matrix_exact import elements_a, elements_b, elements_c, kept, pack
from tests.forms.matrix_exact import registers as filled
from tests.forms.values import rng

Rows = Sequence[tuple[int, ...]]
Matrix = dict[tuple[int, int], int]
FLOATS = {"e4m3": (4, 3), "e5m2": (5, 2), "e3m2": (3, 2), "e2m3": (2, 3), "e2m1": (2, 1)}
BIAS = {"e4m3": 7, "e5m2": 15, "e3m2": 3, "e2m3": 1, "e2m1": 1}


@functools.cache
def number(x: int, type_: str) -> Fraction | None:
    """The finite number of a pattern; None for NaN and the infinities, which these forms do not use as factors."""
    bits, mantissa = FLOATS[type_]
    e, f = x >> mantissa & (1 << bits) - 1, x & (1 << mantissa) - 1
    if (type_ == "e4m3" and x & 0x7F == 0x7F) or (type_ == "e5m2" and e == 31):
        return None
    size = Fraction(f + (1 << mantissa if e else 0)) * Fraction(2) ** (max(e, 1) - BIAS[type_] - mantissa)
    return -size if x >> bits + mantissa & 1 else size


def _pick(r: Random, type_: str, d: str) -> int:
    """A pattern; of moderate size if sums are f16, whose parts must not overflow."""
    width = 1 + sum(FLOATS[type_])
    while True:
        x = r.getrandbits(width)
        if type_ == "e5m2":
            x = r.getrandbits(1) << 7 | r.randrange(0x28, 0x48)
        if type_ == "e4m3" and d == "f16":
            x = r.getrandbits(1) << 7 | r.randrange(0x20, 0x48)
        if number(x, type_) is not None:
            return x


def _scale(r: Random, type_: str) -> int:
    if r.random() < 0.01:
        return 0xFF if type_ == "ue8m0" else 0x7F
    return r.randrange(120, 134) if type_ == "ue8m0" else r.randrange(0, 0x7F)


def _scaled_by(x: int, type_: str) -> Fraction | None:
    if type_ == "ue8m0":
        return None if x == 255 else Fraction(2) ** (x - 127)
    return number(x & 0x7F, "e4m3")


def _sum(terms: Sequence[Fraction | None], c: int, d: str) -> Expected:
    """The sum within the bound that docs/simulator.md states."""
    f = F32 if d == "f32" else F16
    finite = [t for t in terms if t is not None]
    if len(finite) < len(terms):
        return any_nan(f)
    finite.append(value(c, f))
    total = sum(finite, Fraction(0))
    slack = max(abs(v) for v in finite) * len(finite) / (1 << 22)
    if d == "f16":
        slack += sum(abs(v) for v in finite) / 1024
    low, high = rounded(total - slack, f, "rm"), rounded(total + slack, f, "rp")

    def ok(x: int) -> bool:
        return not is_nan(x, f) and value(low, f) <= value(x, f) <= value(high, f)

    return Answer(ok, f"{low:#x} to {high:#x}")


def _regs(first: int, count: int, letter: str = "a") -> str:
    return "{" + ", ".join(f"%{letter}{first + j}" for j in range(count)) + "}"


def product(
    kind: str, types: tuple[str, str, str], sparse: bool, scales: str = "", at: tuple[int, int, int, int] = (0, 0, 0, 0),
    shallow: bool = False, registers: bool = False,
) -> Form:  # fmt: skip
    """D = A B + C; types of D, A, B; `scales` such as ``1X.ue8m0``; `at`: byte and lane of the scales of A, of B."""
    d, a, b = types
    fours = kind.startswith("mxf4")
    bits = 4 if fours else 8
    k = (64 if fours else 16 if shallow else 32) * (2 if sparse else 1)
    deep = k // 2 if sparse else k
    name = f"mma.{kind}.{k}.{d}.{a}.{b}.{scales}.{at}{'.registers' if registers else ''}"
    at_a, at_b, at_c = elements_a(16, deep, bits), elements_b(k, 8, bits), elements_c(16, 8)
    size, _, stype = scales.partition(".")
    place_a, place_b = (2 if t == "e2m1" and not fours else 0 for t in (a, b))

    @functools.cache
    def inputs() -> tuple[Matrix, Matrix, Matrix, list[int], list[int], list[int]]:
        r = rng(name)
        x = {p: _pick(r, a, d) for lane in at_a for p in lane}
        y = {p: _pick(r, b, d) for lane in at_b for p in lane}
        small = (0x3C00, 0xBC00, 0, 0x4100) if d == "f16" else (0x3F800000, 0xC1200000, 0, 0x42280000)
        z = {p: r.choice(small) for lane in at_c for p in lane}
        meta = [sum(r.choice((0x4, 0x8, 0xC, 0x9, 0xD, 0xE)) << 4 * j for j in range(8)) for _ in range(32)]
        left = [sum(_scale(r, stype) << 8 * j for j in range(4)) if scales else 0 for _ in range(32)]
        right = [sum(_scale(r, stype) << 8 * j for j in range(4)) if scales else 0 for _ in range(32)]
        return x, y, z, meta, left, right

    def rows() -> Rows:
        x, y, z, meta, left, right = inputs()
        columns = [
            [pack([x[p] << place_a for p in lane], bits) for lane in at_a],
            [pack([y[p] << place_b for p in lane], bits) for lane in at_b],
            [pack([z[p] for p in lane], 16 if d == "f16" else 32) for lane in at_c],
        ]
        return [
            (
                *(v for part in columns for v in part[lane]),
                *([meta[lane]] if sparse else []),
                *([left[lane], right[lane]] if scales else []),
                *(at if scales and registers else []),
            )
            for lane in range(32)
        ]

    counts = [filled(len(at_a[0]), bits), filled(len(at_b[0]), bits), filled(len(at_c[0]), 16 if d == "f16" else 32)]
    starts = [0, counts[0], counts[0] + counts[1]]
    last = ""
    used = sum(counts)
    if sparse:
        last += f", %a{used}, 0"
        used += 1
    decl = ""
    if scales:
        where = [str(v) for v in at]
        if registers:
            decl = ".reg .b16 %s<4>;"
            where = [f"%s{j}" for j in range(4)]
        last += f", {{%a{used}}}, {{{where[0]}, {where[1]}}}, {{%a{used + 1}}}, {{{where[2]}, {where[3]}}}"
    head = f"mma{'.sp::ordered_metadata' if sparse else ''}.sync.aligned.m16n8k{k}.row.col.kind::{kind}"
    text = f"{head}{f'.block_scale.scale_vec::{size}' if scales else ''}.{d}.{a}.{b}.{d}{'.' + stype if scales else ''}"
    steps = int(size[0]) if scales else 1

    def scale(words: list[int], lane: int, byte: int, j: int) -> Fraction | None:
        return _scaled_by(words[lane] >> 8 * (byte + j * steps // k) & 0xFF, stype) if scales else Fraction(1)

    def everything(_: Rows) -> list[Outputs]:
        x, y, z, meta, left, right = inputs()
        out: dict[tuple[int, int], Expected] = {}
        for row, column in z:
            terms: list[Fraction | None] = []
            for j in range(deep):
                e = kept(meta, row, j, deep, bits, 0) if sparse else j
                p = scale(left, 4 * (row & 7) + 2 * at[1] + (row >> 3), at[0], e)
                q = scale(right, 4 * column + at[3], at[2], e)
                f, g = number(x[row, j], a), number(y[e, column], b)
                terms.append(None if None in (p, q) else p * q * f * g)  # type: ignore[operator]
            out[row, column] = _sum(terms, z[row, column], d)
        return [tuple(out[p] for p in lane) for lane in at_c]

    sources = ", ".join(_regs(s, q) for s, q in zip(starts, counts, strict=True))
    ins = ["b32"] * (used + (2 if scales else 0) + (4 if scales and registers else 0))
    before = " ".join(f"cvt.u16.u32 %s{j}, %a{len(ins) - 4 + j};" for j in range(4)) + "\n" if registers else ""
    if d == "f16":
        body = f"{text} {_regs(0, 2, 'w')}, {sources}{last};\nmov.b32 {{%o0, %o1}}, %w0; mov.b32 {{%o2, %o3}}, %w1;"
        return Form(name, body, ins, ["b16"] * 4, rows, want_all=everything, sm=100, decl=".reg .b32 %w<2>;")
    body = f"{before}{text} {_regs(0, 4, 'o')}, {sources}{last};"
    return Form(name, body, ins, ["b32"] * 4, rows, want_all=everything, sm=120, decl=decl)


def load(shape: str, num: int, type_: str) -> Form:
    """ldmatrix of bytes, or of 6- or 4-bit elements that become bytes."""
    name = f"ldmatrix.{shape}.x{num}.{type_}"
    r = rng(name)
    square = shape == "m16n16"
    rows = [tuple(r.getrandbits(32) for _ in range(4)) for _ in range(32)]
    bits = {"b8": 8, "b6x16_p32": 6, "b4x16_p64": 4}[type_]
    count = num * (2 if square else 1)

    def element(row: int, column: int) -> int:
        whole = sum(w << 32 * j for j, w in enumerate(rows[row]))
        return whole >> bits * column & (1 << bits) - 1

    def everything(_: Rows) -> list[Outputs]:
        out: list[Outputs] = []
        for lane in range(32):
            g, q = lane >> 2, lane & 3
            words = []
            for w in range(count):
                if square:
                    first = 16 * (w >> 1) + 4 * q + 2 * (w & 1)
                    part = [element(first, g), element(first + 1, g), element(first, g + 8), element(first + 1, g + 8)]
                else:
                    part = [element(8 * w + g, 4 * q + e) for e in range(4)]
                words.append(pack(part, 8)[0])
            out.append(tuple(words))
        return out

    format_ = type_ if type_ == "b8" else f"b8x16.{type_}"
    body = (
        "mov.u32 %at, tile; mad.lo.u32 %at, %idx, 16, %at; st.shared.v4.b32 [%at], {%a0, %a1, %a2, %a3}; bar.sync 0;\n"
        f"ldmatrix.sync.aligned.{shape}.x{num}{'.trans' if square else ''}.shared.{format_} {_regs(0, count, 'o')}, [%at];"
    )
    decl = ".reg .b32 %at; .shared .align 16 .b8 tile[512];"
    return Form(name, body, ["b32"] * 4, ["b32"] * count, rows, want_all=everything, sm=100, decl=decl)


def store(num: int) -> Form:
    """stmatrix of bytes: an m16n8 accumulator's columns as rows of 16 bytes."""
    name = f"stmatrix.x{num}"
    r = rng(name)
    rows = [tuple(r.getrandbits(32) for _ in range(num)) for _ in range(32)]

    def everything(_: Rows) -> list[Outputs]:
        out: list[Outputs] = []
        for lane in range(32):
            if lane >= 8 * num:
                out.append((0, 0, 0, 0))
                continue
            matrix, column = lane >> 3, lane & 7
            line = []
            for row in range(16):
                word = rows[4 * (row & 7) + (column >> 1)][matrix]
                line.append(word >> 8 * (2 * (row >> 3) + (column & 1)) & 0xFF)
            out.append(tuple(pack(line, 8)))
        return out

    body = (
        "mov.u32 %at, tile; mad.lo.u32 %at, %idx, 16, %at; st.shared.v4.b32 [%at], {0, 0, 0, 0}; bar.sync 0;\n"
        f"stmatrix.sync.aligned.m16n8.x{num}.trans.shared.b8 [%at], {_regs(0, num)}; bar.sync 0;\n"
        "ld.shared.v4.b32 {%o0, %o1, %o2, %o3}, [%at];"
    )
    decl = ".reg .b32 %at; .shared .align 16 .b8 tile[512];"
    return Form(name, body, ["b32"] * num, ["b32"] * 4, rows, want_all=everything, sm=100, decl=decl)


def moves() -> list[Form]:
    """ldmatrix and stmatrix, on every target with a suffix from sm_100 on."""
    packed = ("b6x16_p32", "b4x16_p64")
    out = [load("m16n16", num, t) for num in (1, 2) for t in ("b8", *packed)]
    out += [load("m8n16", num, t) for num in (1, 2, 4) for t in packed]
    return out + [store(num) for num in (1, 2, 4)]


def eights() -> list[Form]:
    """kind::f8f6f4 with f16 sums of 8-bit floats: on every target with a suffix from sm_100 on."""
    pairs = [(a, b) for a in ("e4m3", "e5m2") for b in ("e4m3", "e5m2")]
    return [product("f8f6f4", ("f16", a, b), False, shallow=shallow) for a, b in pairs for shallow in (False, True)]


def kinds() -> list[Form]:
    """Every kind, type, scale vector and selector of sm_120a."""
    out = []
    for a in FLOATS:
        for b in FLOATS:
            for sparse in (False, True):
                for d in ("f32", "f16"):
                    if d == "f32" or sparse or not {a, b} <= {"e4m3", "e5m2"}:
                        out.append(product("f8f6f4", (d, a, b), sparse))
                at = (rng(a + b).randrange(4), len(a + b) % 2, rng(b + a).randrange(4), rng(a + b).randrange(4))
                out.append(product("mxf8f6f4", ("f32", a, b), sparse, "1X.ue8m0", at))
    for sparse in (False, True):
        for lane_a in (0, 1):
            for lane_b in range(4):
                places = [(0, lane_a, 0, lane_b)]
                wide = [*places, (2, lane_a, 0, lane_b), (0, lane_a, 2, lane_b), (2, lane_a, 2, lane_b)]
                for at in wide:
                    registers = at[0] == at[2] == 2
                    out.append(product("mxf4", ("f32", "e2m1", "e2m1"), sparse, "2X.ue8m0", at, registers=registers))
                    out.append(product("mxf4nvf4", ("f32", "e2m1", "e2m1"), sparse, "2X.ue8m0", at))
                for at in places:
                    out.append(product("mxf4nvf4", ("f32", "e2m1", "e2m1"), sparse, "4X.ue4m3", at))
                    out.append(
                        product("mxf8f6f4", ("f32", "e4m3", "e5m2"), sparse, "1X.ue8m0", (lane_b, lane_a, 3 - lane_b, lane_b),
                                registers=lane_a == 1)
                    )  # fmt: skip
    return out
