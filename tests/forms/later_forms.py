"""Forms that begin at sm_100: packed f32, three-way min and max, mixed precision, narrow floats, stochastic rounding, 256 bits."""

from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise

from tests.forms.convert_forms import Small, near_range, wide
from tests.forms.exact import (
    BF16,
    F16,
    F32,
    FMT,
    Answer,
    Expected,
    Fmt,
    Op,
    any_nan,
    flush,
    is_inf,
    is_nan,
    order,
    rounded,
    value,
)
from tests.forms.form import Form, Outputs
from tests.forms.values import float_rows, floats, pairs, rng
from tests.forms.warp_forms import by_warp

A_ALL = ("sm_100a", "sm_103a", "sm_110a", "sm_120a", "sm_121a")
"""Targets with the features of their architecture; narrow floats are among them."""
A_100 = ("sm_100a", "sm_103a")
MODES = ("rn", "rz", "rm", "rp")


def joined(low: Expected, high: Expected, bits: int) -> Expected:
    """Two expectations of `bits` bits each as one."""
    if isinstance(low, int) and isinstance(high, int):
        return low | high << bits
    mask = (1 << bits) - 1

    def ok(x: int) -> bool:
        return all(h.ok(v) if isinstance(h, Answer) else h == v for h, v in ((low, x & mask), (high, x >> bits)))

    return Answer(ok, f"({low!r}, {high!r})")


def packed() -> list[Form]:
    """add, sub, mul, fma of f32x2."""
    out = []
    for rnd in ("", ".rn", ".rz", ".rm", ".rp"):
        for ftz in ("", ".ftz"):
            op = Op(F32, rnd[1:] or "rn", ftz != "")
            for name, count, f in (("add", 2, op.add), ("sub", 2, op.sub), ("mul", 2, op.mul), ("fma", 3, op.fma)):
                if name == "fma" and not rnd:
                    continue
                opcode = f"{name}{rnd}{ftz}.f32x2"
                low, high = (float_rows("f32", count, opcode + k, 64) for k in "lh")
                rows = [tuple(a | b << 32 for a, b in zip(x, y, strict=True)) for x, y in zip(low, high, strict=True)]

                def both(*v: int, f: Callable[..., Expected] = f) -> Expected:
                    return joined(f(*(x & 0xFFFFFFFF for x in v)), f(*(x >> 32 for x in v)), 32)

                args = ", ".join(f"%a{k}" for k in range(count))
                out.append(Form(opcode, f"{opcode} %o0, {args};", ["b64"] * count, ["b64"], rows, both, sm=100))
    return out + half_negated()


def half_negated() -> list[Form]:
    """Sums of pairs of which one value is negated, in order and crosswise; ptxas negates it in the operand (``.NP``)."""
    out = []
    op, sign = Op(F32, "rn", False), F32.sign
    low, high = (float_rows("f32", 2, f"negated{k}", 64) for k in "lh")
    rows = [tuple(a | b << 32 for a, b in zip(x, y, strict=True)) for x, y in zip(low, high, strict=True)]
    for name, parts, signs in (
        ("low", "%z0, %z1", (sign, 0)),
        ("high", "%z0, %z1", (0, sign)),
        ("turned", "%z1, %z0", (0, sign)),
    ):

        def negated(a: int, b: int, turned: bool = name == "turned", signs: tuple[int, int] = signs) -> Expected:
            x = [(b & 0xFFFFFFFF) ^ signs[0], (b >> 32) ^ signs[1]]
            if turned:
                x.reverse()
            return joined(op.add(a & 0xFFFFFFFF, x[0]), op.add(a >> 32, x[1]), 32)

        k = 0 if signs[0] else 1
        body = f"mov.b64 {{%z0, %z1}}, %a1; neg.f32 %z{k}, %z{k}; mov.b64 %y, {{{parts}}}; add.rn.f32x2 %o0, %a0, %y;"
        decl = ".reg .f32 %z<2>; .reg .b64 %y;"
        out.append(Form(f"add.f32x2.{name}", body, ["b64"] * 2, ["b64"], rows, negated, sm=100, decl=decl))
    return out


def extremes() -> list[Form]:
    """min and max of three f32, and redux of f32."""
    out = []
    for low in (True, False):
        for mods in ("", ".ftz", ".NaN", ".abs", ".NaN.abs", ".ftz.NaN.abs"):

            def extreme(*v: int, low: bool = low, mods: str = mods) -> Expected:
                kept = [flush(x, F32) if "ftz" in mods else x for x in v]
                if "abs" in mods:
                    kept = [x & ~F32.sign for x in kept]
                numbers = [x for x in kept if not is_nan(x, F32)]
                if not numbers or ("NaN" in mods and len(numbers) < len(v)):
                    return any_nan(F32)
                return (min if low else max)(numbers, key=lambda x: order(x, F32))

            opcode = f"{'min' if low else 'max'}{mods}.f32"
            out.append(
                Form(opcode + ".3", f"{opcode} %o0, %a0, %a1, %a2;", ["b32"] * 3, ["b32"], float_rows("f32", 3, opcode, 192),
                     extreme, sm=100)
            )  # fmt: skip
            if "ftz" in mods:
                continue

            def warp(rows: list[tuple[int, ...]], f: Callable[..., Expected] = extreme) -> list[Outputs]:
                return [f(*(x for (x,) in rows))] * len(rows)

            r = rng(opcode + "redux")
            finite = [x for x in floats("f32") if not is_nan(x, F32)]
            rows = [(r.choice(floats("f32")),) for _ in range(32)] + [(r.choice(finite),) for _ in range(32)]
            rows += [(F32.nan | k,) for k in range(32)]
            name = f"redux.sync.{opcode.removesuffix('.f32').replace('.abs', '.abs')}.f32"
            out.append(
                Form(name, f"{name} %o0, %a0, -1;", ["b32"], ["b32"], rows, want_all=by_warp(warp), sm=100, archs=A_100)
            )
    return out


def widened(x: int, f: Fmt) -> int:
    """The f32 pattern of a half."""
    sign = F32.sign if x & f.sign else 0
    if is_nan(x, f):
        return sign | F32.nan
    if is_inf(x, f):
        return sign | F32.inf
    return sign | rounded(abs(value(x, f)), F32)


def mixed() -> list[Form]:
    """add, sub and fma of halves and f32."""
    out = []
    for t in ("f16", "bf16"):
        half = FMT[t]
        for rnd in MODES:
            for sat in ("", ".sat"):
                op = Op(F32, rnd, sat=sat != "")
                suffix = f"{rnd}{sat}.f32.{t}"
                rows = [
                    (a, b) for (a,), (b,) in zip(float_rows(t, 1, suffix, 96), float_rows("f32", 1, suffix, 96), strict=True)
                ] + [(a, widened(b, half) ^ k & 3) for k, (a, b) in enumerate(float_rows(t, 2, suffix, 64))]  # fmt: skip
                for name, f in (("add", op.add), ("sub", op.sub)):
                    out.append(
                        Form(f"{name}.{suffix}", f"{name}.{suffix} %o0, %a0, %a1;", ["b16", "b32"], ["b32"], rows,
                             lambda a, b, f=f, h=half: f(widened(a, h), b), sm=100)
                    )  # fmt: skip
                triples = [
                    (a, b, c) for (a, b), (c,) in zip(float_rows(t, 2, suffix + "m", 128), float_rows("f32", 1, suffix, 128), strict=True)
                ] + [(a, b, widened(c, half)) for a, b, c in float_rows(t, 3, suffix + "n", 64)]  # fmt: skip
                out.append(
                    Form(f"fma.{suffix}", f"fma.{suffix} %o0, %a0, %a1, %a2;", ["b16", "b16", "b32"], ["b32"], triples,
                         lambda a, b, c, f=op.fma, h=half: f(widened(a, h), widened(b, h), c), sm=100)
                )  # fmt: skip
    return out


class Tiny(Small):
    """A format of at most 6 bits, all of whose codes are numbers."""

    def __init__(self, name: str, ebits: int, mbits: int) -> None:
        super().__init__(name, ebits, mbits)
        self.max = (1 << ebits + mbits) - 1
        self.inf = self.max + 1
        self.nan = self.max


NARROW = {
    "e4m3": Small("e4m3", 4, 3), "e5m2": Small("e5m2", 5, 2), "e2m3": Tiny("e2m3", 2, 3), "e3m2": Tiny("e3m2", 3, 2),
    "e2m1": Tiny("e2m1", 2, 1),
}  # fmt: skip


def narrowed(x: int, s: Fmt, d: Small, relu: bool) -> int:
    """A float to a narrow format, to nearest even, saturated; NaN becomes the canonical NaN or the largest number."""
    if is_nan(x, s):
        return 0x7F if d.bits == 8 else d.max
    sign = d.sign if x & s.sign else 0
    mag = d.max if is_inf(x, s) else min(rounded(abs(value(x, s)), wide(d)), d.max)
    return 0 if relu and sign else sign | mag


def boundaries(s: Fmt, d: Small) -> list[int]:
    """Every number of a narrow format and every point halfway between two, with their neighbours in `s`, in both signs."""
    out = []
    codes = [value(c, d) for c in range(d.max + 1)]
    points = codes + [(a + b) / 2 for a, b in pairwise(codes)] + [codes[-1] * 2]
    for v in points:
        p = rounded(v, s)
        out += [max(p + k, 0) | sign for k in (-1, 0, 1) for sign in (0, s.sign)]
    return [*dict.fromkeys(out), *floats(s.name)]


def narrow() -> list[Form]:
    """Conversions between floats of 6 and 4 bits, and scales, and wider floats: all codes, all boundaries."""
    out = []
    for t, d in NARROW.items():
        if not isinstance(d, Tiny):
            continue
        each = 4 if d.bits == 4 else 8
        register = "b8" if each == 4 else "b16"
        decl = ".reg .b8 %n;" if each == 4 else ".reg .b16 %n;"
        take = "cvt.u16.u8 %o0, %n;" if each == 4 else "mov.b16 %o0, %n;"
        give = "cvt.u8.u16 %n, %a0;" if each == 4 else "mov.b16 %n, %a0;"
        assert register in decl
        for relu in ("", ".relu"):
            xs = boundaries(F32, d)
            rows = [(x, xs[(k * 7 + 3) % len(xs)]) for k, x in enumerate(xs)]
            opcode = f"cvt.rn.satfinite{relu}.{t}x2.f32"
            out.append(
                Form(opcode, f"{opcode} %n, %a0, %a1; {take}", ["b32"] * 2, ["b16"], rows,
                     lambda a, b, d=d, r=relu, n=each: joined(narrowed(b, F32, d, r != ""), narrowed(a, F32, d, r != ""), n),
                     sm=100, decl=decl, archs=A_ALL)
            )  # fmt: skip
            if each == 4:
                hs = boundaries(F16, d)
                halves = [(x | hs[(k * 5 + 1) % len(hs)] << 16,) for k, x in enumerate(hs)]
                opcode = f"cvt.rn.satfinite{relu}.{t}x2.f16x2"
                out.append(
                    Form(opcode, f"{opcode} %n, %a0; {take}", ["b32"], ["b16"], halves,
                         lambda a, d=d, r=relu: joined(narrowed(a & 0xFFFF, F16, d, r != ""), narrowed(a >> 16, F16, d, r != ""), 4),
                         sm=100, decl=decl, archs=A_ALL)
                )  # fmt: skip
            every = [(x | (x * 5 + 3 & (1 << d.bits) - 1) << each,) for x in range(1 << d.bits)]
            opcode = f"cvt.rn{relu}.f16x2.{t}x2"

            def half(x: int, d: Small = d, relu: str = relu) -> int:
                sign = F16.sign if x & d.sign else 0
                return 0 if relu and sign else sign | rounded(value(x & d.max, d), F16)

            out.append(
                Form(opcode, f"{give} {opcode} %o0, %n;", ["b16"], ["b32"], every,
                     lambda x, f=half, n=each: joined(f(x & (1 << n) - 1), f(x >> n), 16), sm=100, decl=decl, archs=A_ALL)
            )  # fmt: skip
    return out + scales() + tf32()


def scale(x: int, s: Fmt, up: bool, finite: bool) -> int:
    """The exponent of the power of two next to a magnitude, towards zero or away from it."""
    if is_nan(x, s):
        return 255
    if is_inf(x, s):
        return 254 if finite else 255
    v = abs(value(x, s))
    code = 0
    while code < 255 and (Fraction(2) ** (code - 127) < v if up else Fraction(2) ** (code + 1 - 127) <= v):
        code += 1
    return min(code, 254) if finite else code


def scales() -> list[Form]:
    """ue8m0 from f32 and bf16 and to bf16."""
    out = []
    for rnd in ("rz", "rp"):
        for finite in ("", ".satfinite"):
            for s in (F32, BF16):
                r = rng(f"scale{rnd}{finite}{s.name}")
                xs = [e << s.m | k | r.getrandbits(1) * s.sign for e in (0, 1, 2, 126, 127, 128, 252, 253, 254) for k in (0, 1, s.min_normal // 2, s.min_normal // 2 + 1, s.min_normal - 1)]  # fmt: skip
                xs += [s.inf, s.inf | s.sign, s.nan, *(r.getrandbits(s.bits) for _ in range(60))]
                opcode = f"cvt.{rnd}{finite}.ue8m0x2.{'f32' if s is F32 else 'bf16x2'}"
                both = lambda a, b, s=s, u=rnd == "rp", f=finite != "": joined(scale(b, s, u, f), scale(a, s, u, f), 8)  # noqa: E731
                turned = xs[7:] + xs[:7]
                if s is F32:
                    rows: list[tuple[int, ...]] = list(zip(xs, turned, strict=True))
                    out.append(
                        Form(opcode, f"{opcode} %o0, %a0, %a1;", ["b32"] * 2, ["b16"], rows, both, sm=100, archs=A_ALL)
                    )
                else:
                    rows = [(a << 16 | b,) for a, b in zip(xs, turned, strict=True)]
                    out.append(
                        Form(opcode, f"{opcode} %o0, %a0;", ["b32"], ["b16"], rows, lambda a, f=both: f(a >> 16, a & 0xFFFF),
                             sm=100, archs=A_ALL)
                    )  # fmt: skip

    def power(x: int) -> Expected:
        return any_nan(BF16) if x == 255 else rounded(Fraction(2) ** (x - 127), BF16)

    opcode = "cvt.rn.bf16x2.ue8m0x2"
    every = [(x | (x * 3 + 7 & 255) << 8,) for x in range(256)]
    out.append(
        Form(opcode, f"{opcode} %o0, %a0;", ["b16"], ["b32"], every, lambda x: joined(power(x & 255), power(x >> 8), 16),
             sm=100, archs=A_ALL)
    )  # fmt: skip
    return out


TF32 = Fmt("tf32", 8, 10)


def tf32() -> list[Form]:
    """tf32 with satfinite, and with relu."""
    out = []
    for rnd in ("rn", "rz"):
        for relu in ("", ".relu"):

            def f(x: int, rnd: str = rnd, relu: str = relu) -> Expected:
                if is_nan(x, F32):
                    return any_nan(F32)
                sign = x & F32.sign
                top = TF32.max << 13
                mag = top if is_inf(x, F32) else min(rounded(abs(value(x, F32)), TF32, rnd) << 13, top)
                return 0 if relu and sign else sign | mag

            opcode = f"cvt.{rnd}{relu}.satfinite.tf32.f32"
            rows = [*near_range(F32, TF32, opcode), *float_rows("f32", 1, opcode, 96)]
            out.append(Form(opcode, f"{opcode} %o0, %a0;", ["b32"], ["b32"], rows, f, sm=100))
    return out


def randomly(x: int, d: Fmt, random: int, bits: int, finite: bool, relu: bool) -> int:
    """f32 to a format: a random part of the last place is added to the magnitude, and what is below that place is lost."""
    if is_nan(x, F32):
        return (0x7F if d.bits == 8 else d.max) if d.bits <= 8 else (1 << d.bits - 1) - 1
    sign = d.sign if x & F32.sign else 0
    if relu and sign:
        return 0
    if is_inf(x, F32):
        return sign | (d.max if finite else d.inf)
    v = abs(value(x, F32))
    e = 1 - d.bias
    while Fraction(2) ** (e + 1) <= v:
        e += 1
    q = v / Fraction(2) ** (e - d.m) + Fraction(random, 1 << bits)
    code = q.numerator // q.denominator + ((e - (1 - d.bias)) << d.m)
    return sign | min(code, d.max if finite else d.inf)


def reverse16(x: int) -> int:
    return int(f"{x & 0xFFFF:016b}"[::-1], 2)


def stochastic() -> list[Form]:
    """cvt.rs: the random bits of each half, and of each pair of narrow values (the first one has them in reverse order)."""
    out = []
    for t, d, n in (("f16", F16, 13), ("bf16", BF16, 16)):
        for mods in ("", ".relu", ".satfinite", ".relu.satfinite"):
            opcode = f"cvt.rs{mods}.{t}x2.f32"
            r = rng(opcode)
            values = near_range(F32, d, opcode) + float_rows("f32", 1, opcode, 64)
            rows = [(a, values[(k * 11 + 5) % len(values)][0], r.choice([0, 0xFFFFFFFF, 0x80008000, r.getrandbits(32)])) for k, (a,) in enumerate(values)]  # fmt: skip

            def halves(a: int, b: int, z: int, d: Fmt = d, n: int = n, mods: str = mods) -> Expected:
                mask = (1 << n) - 1
                two = [randomly(x, d, c & mask, n, "sat" in mods, "relu" in mods) for x, c in ((b, z), (a, z >> 16))]
                return joined(two[0], two[1], 16)

            out.append(
                Form(opcode, f"{opcode} %o0, %a0, %a1, %a2;", ["b32"] * 3, ["b32"], rows, halves, sm=100, archs=A_100)
            )
    for t, s in NARROW.items():
        for relu in ("", ".relu"):
            opcode = f"cvt.rs{relu}.satfinite.{t}x4.f32"
            r = rng(opcode)
            xs = [x for (x,) in near_range(F32, s, opcode)] + floats("f32")
            rows4 = [
                (*(xs[(k * j + j) % len(xs)] for j in (1, 3, 5, 7)), r.choice([0, 0xFFFFFFFF, r.getrandbits(32)]))
                for k in range(len(xs))
            ]
            width = 4 if s.bits == 4 else 8

            def four(*v: int, s: Small = s, relu: str = relu, width: int = width) -> int:
                z = v[4]
                random = (reverse16(z >> 16), z >> 16, reverse16(z), z & 0xFFFF)
                word = 0
                for x, c in zip(v[:4], random, strict=True):
                    word = word << width | randomly(x, s, c, 16, True, relu != "")
                return word

            out.append(
                Form(opcode, f"{opcode} %o0, {{%a0, %a1, %a2, %a3}}, %a4;", ["b32"] * 5, [f"b{4 * width}"], rows4, four,
                     sm=100, archs=A_100)
            )  # fmt: skip
    return out


def wide_accesses() -> list[Form]:
    """Loads and stores of 256 bits, in all element types and with the modifiers that code carries."""
    out = []
    rows = pairs([0, 1, (1 << 64) - 1], 64, "wide", 32, 4)
    words = ", ".join(f"%w{k}" for k in range(8))
    takes = " ".join(f"mov.b64 %o{k}, {{%w{2 * k}, %w{2 * k + 1}}};" for k in range(4))
    gives = " ".join(f"mov.b64 {{%w{2 * k}, %w{2 * k + 1}}}, %a{k};" for k in range(4))
    whole = ", ".join(f"%a{k}" for k in range(4))
    back = ", ".join(f"%o{k}" for k in range(4))
    decl = ".reg .b32 %w<8>; .reg .pred %q; .reg .b64 %c;"

    def add(name: str, body: str, want: Callable[..., Outputs] = lambda *v: v) -> None:
        out.append(Form(name, body, ["b64"] * 4, ["b64"] * 4, rows, want, sm=100, decl=decl))

    for t in ("b32", "u32", "s32", "f32"):
        add(
            f"ld.v8.{t}", f"{gives} st.global.v8.{t} [%mem], {{{words}}}; ld.global.v8.{t} {{{words}}}, [%mem]; {takes}"
        )
    # The inputs of a thread are 256 bits that nothing writes.
    add("ld.nc.v8.f32", f"ld.global.nc.v8.f32 {{{words}}}, [%fi]; {takes}")
    add("ld.v8.generic", f"{gives} st.v8.b32 [%mem], {{{words}}}; ld.v8.b32 {{{words}}}, [%mem]; {takes}")
    add(
        "ld.v8.evict_last",
        f"{gives} st.global.v8.b32 [%mem], {{{words}}}; ld.global.L2::evict_last.v8.b32 {{{words}}}, [%mem]; {takes}",
    )
    for t in ("b64", "u64", "s64", "f64"):
        add(f"ld.v4.{t}", f"st.global.v4.{t} [%mem], {{{whole}}}; ld.global.v4.{t} {{{back}}}, [%mem];")
    add("ld.v4.parts", f"st.v4.b64 [%mem], {{{whole}}}; ld.global.v2.b64 {{%o0, %o1}}, [%mem]; ld.global.v2.b64 {{%o2, %o3}}, [%mem+16];")  # fmt: skip
    add("st.v4.parts", f"st.global.v2.b64 [%mem], {{%a0, %a1}}; st.global.v2.b64 [%mem+16], {{%a2, %a3}}; ld.v4.b64 {{{back}}}, [%mem];")  # fmt: skip
    for mods in (
        ".relaxed.gpu.global", ".volatile.global", ".acquire.sys.global", ".global.cg", ".global.L1::evict_last.L2::evict_first",
        ".global.L2::evict_last", ".global.L1::no_allocate.L2::evict_normal.L2::256B",
    ):  # fmt: skip
        add(f"ld{mods}.v4.b64", f"st.global.v4.b64 [%mem], {{{whole}}}; ld{mods}.v4.b64 {{{back}}}, [%mem];")
    for mods in (
        ".relaxed.cta.global",
        ".volatile.global",
        ".release.gpu.global",
        ".global.cs",
        ".global.L2::evict_first",
    ):
        add(f"st{mods}.v4.b64", f"st{mods}.v4.b64 [%mem], {{{whole}}}; ld.global.v4.b64 {{{back}}}, [%mem];")
    add(
        "ld.v8.guarded",
        f"{gives} st.global.v8.b32 [%mem], {{{words}}}; {' '.join(f'mov.b32 %w{k}, {k};' for k in range(8))}"
        f" and.b32 %w0, %idx, 1; setp.ne.u32 %q, %w0, 0; @%q ld.global.v8.b32 {{{words}}}, [%mem];"
        f" @!%q mov.b32 %w0, 0; {takes}",
    )
    last = out[-1]
    last._want, last._want_all = None, lambda rows: [
        row if k & 1 else tuple(2 * j | 2 * j + 1 << 32 for j in range(4)) for k, row in enumerate(rows)
    ]  # fmt: skip
    add(
        "ld.v8.sinks",
        f"{gives} st.global.v8.b32 [%mem], {{{words}}}; {' '.join(f'mov.b32 %w{k}, 0;' for k in range(8))}"
        f" ld.global.v8.b32 {{%w0, _, %w2, %w3, %w4, %w5, _, _}}, [%mem]; {takes}",
        lambda a, b, c, d: (a & 0xFFFFFFFF, b, c, 0),
    )
    add(
        "ld.v8.hint",
        f"createpolicy.fractional.L2::evict_last.b64 %c, 1.0; st.global.L2::cache_hint.v4.b64 [%mem], {{{whole}}}, %c;"
        f" ld.global.L2::cache_hint.v4.b64 {{{back}}}, [%mem], %c;",
    )
    add("st.v4.same", f"st.global.v4.b64 [%mem], {{%a0, %a0, %a1, %a0}}; ld.global.v4.b64 {{{back}}}, [%mem];", lambda a, b, c, d: (a, a, b, a))  # fmt: skip
    add("st.v8.constants", f"st.global.v8.b32 [%mem], {{1, 0, 2, 0, 0, 3, 4, 5}}; ld.global.v4.b64 {{{back}}}, [%mem];", lambda a, b, c, d: (1, 2, 3 << 32, 4 | 5 << 32))  # fmt: skip
    return out


def zeros_and_answers() -> list[Form]:
    """st.bulk, and what the answer of clusterlaunchcontrol.try_cancel says."""
    out = []
    fill = "mul.lo.u32 %z0, %idx, 32; mov.u32 %z1, z; add.u32 %z0, %z0, %z1;" + "".join(
        f" st.shared.b64 [%z0+{8 * k}], %a0;" for k in range(4)
    )
    read = "bar.sync 0;" + "".join(f" ld.shared.b64 %o{k}, [%z0+{8 * k}];" for k in range(4))
    decl = ".shared .align 8 .b8 z[2048]; .reg .b32 %z<3>; .reg .b64 %y<2>; .reg .pred %q;"
    rows = [(x,) for x in range(1, 65)]

    def add(name: str, ask: str, want: Callable[[int, int], tuple[int, ...]]) -> None:
        out.append(
            Form(name, f"{fill} bar.sync 0; {ask} {read}", ["b64"], ["b64"] * 4, rows, sm=100, decl=decl,
                 want_all=lambda v, f=want: [f(k, x) for k, (x,) in enumerate(v)])
        )  # fmt: skip

    add(
        "st.bulk.all",
        "mov.u32 %z1, z; st.bulk.weak.shared::cta [%z1], 1024, 0;",
        lambda k, x: (0,) * 4 if k < 32 else (x,) * 4,
    )
    add(
        "st.bulk.each",
        "and.b32 %z1, %idx, 3; mul.wide.u32 %y0, %z1, 8; st.bulk.shared::cta [%z0+8], %y0, 0;",
        lambda k, x: tuple(0 if 1 <= j < 1 + (k & 3) else x for j in range(4)),
    )
    add(
        "st.bulk.generic",
        "cvt.u64.u32 %y0, %z0; cvta.shared.u64 %y0, %y0; and.b32 %z1, %idx, 1; setp.ne.u32 %q, %z1, 0; @%q st.bulk [%y0], 16, 0;",
        lambda k, x: (0, 0, x, x) if k & 1 else (x,) * 4,
    )
    decl = ".reg .b128 %q0; .reg .pred %q;"
    answers = pairs([0, 1, (1 << 64) - 1], 64, "answer", 32, 2)
    both = "mov.b128 %q0, {%a0, %a1}; clusterlaunchcontrol.query_cancel"
    out.append(
        Form("query.is_canceled", f"{both}.is_canceled.pred.b128 %q, %q0; selp.u32 %o0, 1, 0, %q;", ["b64"] * 2, ["b32"], answers,
             lambda a, b: b & 1, sm=100, decl=decl)
    )  # fmt: skip
    parts: tuple[Callable[[int], int], ...] = (lambda a: a & 0xFFFFFFFF, lambda a: a >> 32 & 0xFFFF, lambda a: a >> 48)
    out.append(
        Form("query.first", f"{both}.get_first_ctaid.v4.b32.b128 {{%o0, %o1, %o2, _}}, %q0;", ["b64"] * 2, ["b32"] * 3, answers,
             lambda a, b: tuple(f(a) for f in parts), sm=100, decl=decl)
    )  # fmt: skip
    for axis, f in zip("xyz", parts, strict=True):
        out.append(
            Form(f"query.first.{axis}", f"{both}.get_first_ctaid::{axis}.b32.b128 %o0, %q0;", ["b64"] * 2, ["b32"], answers,
                 lambda a, b, f=f: f(a), sm=100, decl=decl)
        )  # fmt: skip
    return out


def strong_accesses() -> list[Form]:
    """Accesses of 128 bits and of memory-mapped registers, and an old fence: in the list of features, though earlier targets have them."""
    out = []
    rows = pairs([0, 1, (1 << 64) - 1], 64, "strong", 32, 2)
    decl = ".reg .b128 %q, %old; .reg .b32 %w<4>;"

    def add(name: str, body: str) -> None:
        out.append(Form(name, body, ["b64"] * 2, ["b64"] * 2, rows, lambda a, b: (a, b), sm=90, decl=decl))

    give, take = "mov.b128 %q, {%a0, %a1};", "mov.b128 {%o0, %o1}, %q;"
    add("ld.b128", f"{give} st.global.b128 [%mem], %q; ld.global.b128 %q, [%mem]; {take}")
    add(
        "atom.exch.b128",
        f"{give} st.global.b128 [%mem], %q; mov.b128 %old, {{%a1, %a0}};"
        f" atom.global.exch.b128 %q, [%mem], %old; {take} st.global.b128 [%mem], %old;",
    )
    add("membar.gl", "st.global.v2.b64 [%mem], {%a0, %a1}; membar.gl; ld.global.v2.b64 {%o0, %o1}, [%mem];")
    halves = "".join(
        f" st.mmio.relaxed.sys.global.u32 [%mem+{4 * k}], %w{k}; ld.mmio.relaxed.sys.global.u32 %w{k}, [%mem+{4 * k}];"
        for k in range(4)
    )
    add(
        "ld.mmio",
        f"mov.b64 {{%w0, %w1}}, %a0; mov.b64 {{%w2, %w3}}, %a1;{halves} mov.b64 %o0, {{%w0, %w1}}; mov.b64 %o1, {{%w2, %w3}};",
    )
    return out


def forms() -> list[Form]:
    """All forms of the family."""
    wide = wide_accesses() + strong_accesses()
    return packed() + extremes() + mixed() + narrow() + stochastic() + wide + zeros_and_answers()
