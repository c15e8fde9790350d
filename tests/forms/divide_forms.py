"""Forms of IEEE division, reciprocal and root, and of the approximate functions."""

import math
from collections.abc import Callable
from fractions import Fraction

from tests.forms.exact import (
    BF16,
    F16,
    F32,
    F64,
    FMT,
    Answer,
    Expected,
    Fmt,
    Op,
    any_nan,
    flush,
    is_inf,
    is_nan,
    near,
    value,
)
from tests.forms.float_forms import REG, form, join
from tests.forms.form import Form
from tests.forms.values import float_rows, rng


def ieee() -> list[Form]:
    """div, rcp and sqrt in every rounding."""
    out = []
    for t in ("f32", "f64"):
        f = FMT[t]
        for rnd in ("rn", "rz", "rm", "rp"):
            for ftz in ("", ".ftz") if t == "f32" else ("",):
                op = Op(f, rnd, ftz != "")
                out.append(form(f"div.{rnd}{ftz}.{t}", t, 2, op.div, limit=256))
                out.append(form(f"rcp.{rnd}{ftz}.{t}", t, 1, lambda a, op=op: op.div(op.f.one, a), limit=192))
                out.append(form(f"sqrt.{rnd}{ftz}.{t}", t, 1, op.sqrt, limit=192))
    r = rng("guarded")
    rows = [(*v, r.getrandbits(1)) for v in float_rows("f32", 2, "guarded", 128)]
    op = Op(F32)
    out.append(
        Form("div.rn.f32.guarded", "mov.b32 %o0, %a0; @%a2 div.rn.f32 %o0, %a0, %a1;", ["b32", "b32", "pred"], ["b32"], rows,
             lambda a, b, p: op.div(a, b) if p else a)
    )  # fmt: skip
    rows64 = [(*v, r.getrandbits(1)) for v in float_rows("f64", 2, "guarded64", 96)]
    op64 = Op(F64, "rp")
    out.append(
        Form("div.rp.f64.guarded", "mov.b64 %o0, %a0; @!%a2 div.rp.f64 %o0, %a0, %a1;", ["b64", "b64", "pred"], ["b64"], rows64,
             lambda a, b, p: a if p else op64.div(a, b))
    )  # fmt: skip
    return out


def in_loops() -> list[Form]:
    """Divisions in divergent loops: subroutine calls by some threads of a warp only."""
    r = rng("loops")
    rows = [(r.getrandbits(r.randrange(1, 64)), r.getrandbits(r.randrange(1, 64))) for _ in range(64)]
    gcd = (
        "mov.b64 %g0, %a0; mov.b64 %g1, %a1;\nAGAIN: setp.eq.u64 %q0, %g1, 0; @%q0 bra OUT; rem.u64 %g2, %g0, %g1; mov.b64 %g0, %g1;"
        " mov.b64 %g1, %g2; bra AGAIN;\nOUT: mov.b64 %o0, %g0;"
    )
    out = [Form("rem.u64.gcd", gcd, ["b64"] * 2, ["b64"], rows, math.gcd, decl=".reg .b64 %g<3>; .reg .pred %q0;")]
    both = "div.u64 %o0, %a0, %a1; rem.u64 %o1, %a0, %a1;"
    nonzero = [(a, b | 1) for a, b in rows]
    out.append(Form("div.rem.u64", both, ["b64"] * 2, ["b64"] * 2, nonzero, divmod))
    small = [(a & 0xFFFFFFFF, (b & 0xFFFFFFFF) | 1) for a, b in rows]
    out.append(Form("div.rem.u32", both.replace("u64", "u32"), ["b32"] * 2, ["b32"] * 2, small, divmod))
    loop = (
        "mov.b32 %o0, %a0; and.b32 %s0, %a1, 7;\nMORE: setp.eq.u32 %q0, %s0, 0; @%q0 bra OUT; div.rn.f32 %o0, %o0, %a2; sqrt.rn.f32 %s1, %a2;"
        " rcp.rn.f32 %s1, %s1; add.rn.f32 %o0, %o0, %s1; sub.u32 %s0, %s0, 1; bra MORE;\nOUT:"
    )
    op = Op(F32)

    def chain(x: int, n: int, y: int) -> Expected:
        for _ in range(n & 7):
            q, s = op.div(x, y), op.sqrt(y)
            t = op.div(F32.one, s) if isinstance(s, int) else s
            if not isinstance(q, int) or not isinstance(t, int):
                return any_nan(F32)
            v = op.add(q, t)
            if not isinstance(v, int):
                return any_nan(F32)
            x = v
        return any_nan(F32) if n & 7 and is_nan(x, F32) else x

    floats = [(a, r.getrandbits(8), b) for a, b in float_rows("f32", 2, "chain", 128)]
    out.append(
        Form("div.rn.f32.loop", loop, ["b32"] * 3, ["b32"], floats, chain, decl=".reg .b32 %s<2>; .reg .pred %q0;")
    )
    return out


def constant_operands() -> list[Form]:
    """Constants in each place of a division."""
    out = []
    for t, consts in (
        ("f32", (0x40400000, 0x00000003, 0x7F000001, F32.one)),
        ("f64", (0x4008 << 48, 3, 0x7FE0000000000001, F64.one)),
    ):
        f, prefix, digits = FMT[t], "0f" if t == "f32" else "0d", 8 if t == "f32" else 16
        for c in consts:
            text = f"{prefix}{c:0{digits}X}"
            op = Op(f)
            rows = float_rows(t, 1, f"const{c}", 64)
            reg = [REG[t]]
            out.append(
                Form(
                    f"div.{t}.by.{c:x}",
                    f"div.rn.{t} %o0, %a0, {text};",
                    reg,
                    reg,
                    rows,
                    lambda a, op=op, c=c: op.div(a, c),
                )
            )
            out.append(
                Form(
                    f"div.{t}.of.{c:x}",
                    f"div.rn.{t} %o0, {text}, %a0;",
                    reg,
                    reg,
                    rows,
                    lambda a, op=op, c=c: op.div(c, a),
                )
            )
            out.append(
                Form(
                    f"rcp.{t}.const.{c:x}",
                    f"rcp.rn.{t} %o0, {text};",
                    [],
                    reg,
                    [()],
                    lambda op=op, c=c: op.div(op.f.one, c),
                )
            )
            out.append(
                Form(f"sqrt.{t}.const.{c:x}", f"sqrt.rn.{t} %o0, {text};", [], reg, [()], lambda op=op, c=c: op.sqrt(c))
            )
    return out


UNIT = Fraction(1, 1 << 23)


def bounded(
    g: Callable[[float], float], relative: Fraction, absolute: Fraction, f: Fmt, ftz: bool, limits: dict[str, Expected]
) -> Callable[[int], Expected]:
    """A function within an error bound; `limits` says what infinities and zeros give ("inf", "-inf", "0", "-0", "neg")."""

    def want(x: int) -> Expected:
        if ftz:
            x = flush(x, f)
        if is_nan(x, f):
            return any_nan(f)
        name = ("-" if x & f.sign else "") + ("inf" if is_inf(x, f) else "0" if x & ~f.sign == 0 else "")
        if name in limits:
            return limits[name]
        if x & f.sign and "neg" in limits:
            return limits["neg"]
        try:
            v = Fraction(g(float(value(x, f))))
        except OverflowError:
            return f.inf
        return near(v, f, relative, absolute, ftz)

    return want


def approximate() -> list[Form]:
    """f32 functions within the bounds of the PTX manual (a unit more where it says "full range")."""
    out = []
    inf, minus, nan = F32.inf, F32.inf | F32.sign, any_nan(F32)
    for ftz in ("", ".ftz"):
        z = ftz != ""
        limits: dict[str, Expected] = {"inf": 0, "-inf": F32.sign, "0": inf, "-0": minus}
        out.append(
            form(f"rcp.approx{ftz}.f32", "f32", 1, bounded(lambda x: 1 / x, 2 * UNIT, Fraction(0), F32, z, limits))
        )
        limits = {"inf": inf, "-inf": nan, "0": 0, "-0": F32.sign, "neg": nan}
        out.append(form(f"sqrt.approx{ftz}.f32", "f32", 1, bounded(math.sqrt, 2 * UNIT, Fraction(0), F32, z, limits)))
        limits = {"inf": 0, "-inf": nan, "0": inf, "-0": minus, "neg": nan}
        out.append(
            form(
                f"rsqrt.approx{ftz}.f32",
                "f32",
                1,
                bounded(lambda x: 1 / math.sqrt(x), 2 * UNIT, Fraction(0), F32, z, limits),
            )
        )
        limits = {"inf": inf, "-inf": nan, "0": minus, "-0": minus, "neg": nan}
        out.append(form(f"lg2.approx{ftz}.f32", "f32", 1, bounded(math.log2, 2 * UNIT, 2 * UNIT, F32, z, limits)))
        limits = {"inf": inf, "-inf": 0}
        rows = [(x,) for (x,) in float_rows("f32", 1, "ex2", 96)] + [
            (x,) for x in (0x42FE0000, 0xC2FC0000, 0xC2FE0000, 0xC3150000, 0x43000000)
        ]
        g = bounded(lambda x: 2.0**x if x > -1000 else 0.0, 4 * UNIT, Fraction(0), F32, z, limits)
        out.append(Form(f"ex2.approx{ftz}.f32", f"ex2.approx{ftz}.f32 %o0, %a0;", ["b32"], ["b32"], rows, g))
        small = [
            r
            for r in float_rows("f32", 1, "sin", 400)
            if is_nan(r[0], F32) or is_inf(r[0], F32) or abs(value(r[0], F32)) < 3
        ]
        bound = Fraction(1, 1 << 20)
        for name, h in (("sin", math.sin), ("cos", math.cos)):
            w = bounded(h, Fraction(0), bound, F32, z, {"inf": nan, "-inf": nan})
            out.append(
                Form(f"{name}.approx{ftz}.f32", f"{name}.approx{ftz}.f32 %o0, %a0;", ["b32"], ["b32"], small[:128], w)
            )
        for kind in ("approx", "full"):
            out.append(quotient(kind, ftz))
    limits = {"inf": F32.one, "-inf": F32.one | F32.sign}
    out.append(
        form("tanh.approx.f32", "f32", 1, bounded(math.tanh, Fraction(1, 1 << 10), Fraction(0), F32, False, limits))
    )
    return out


def quotient(kind: str, ftz: str) -> Form:
    """div.approx (b up to 2**126) and div.full, two units."""
    z = ftz != ""

    def want(a: int, b: int) -> Expected:
        x, y = (flush(v, F32) if z else v for v in (a, b))
        if kind == "approx" and not is_nan(y, F32) and y & ~F32.sign > 0x7E800000:
            return Answer(lambda r: True, "outside the range")
        exact = Op(F32, "rn", z).div(x, y)
        if isinstance(exact, Answer) or is_inf(x, F32) or is_inf(y, F32) or x & ~F32.sign == 0 or y & ~F32.sign == 0:
            return exact
        q = value(x, F32) / value(y, F32)
        # a quotient that overflows or vanishes before the last scaling may show early
        if abs(q) > value(F32.max, F32) / 4 or (
            abs(value(x, F32)) > value(F32.max, F32) / (1 << 25) and abs(value(y, F32)) < 1
        ):
            return Answer(lambda r: not is_nan(r, F32), "large")
        if abs(q) < Fraction(2) ** -100:
            return near(q, F32, 4 * UNIT, Fraction(2) ** -125 if kind == "full" or z else Fraction(2) ** -147, z)
        return near(q, F32, 4 * UNIT, Fraction(0), z)

    return form(f"div.{kind}{ftz}.f32", "f32", 2, want, limit=192)


def approximate64() -> list[Form]:
    """Seeds and rsqrt of f64."""
    out = []
    inf, minus, nan = F64.inf, F64.inf | F64.sign, any_nan(F64)
    seed = Fraction(1, 1 << 19)
    limits: dict[str, Expected] = {"inf": 0, "-inf": F64.sign, "0": inf, "-0": minus}
    out.append(
        form("rcp.approx.ftz.f64", "f64", 1, high_word(bounded(lambda x: 1 / x, seed, Fraction(0), F64, True, limits)))
    )
    limits = {"inf": 0, "-inf": nan, "0": inf, "-0": minus, "neg": nan}
    out.append(
        form(
            "rsqrt.approx.ftz.f64",
            "f64",
            1,
            high_word(bounded(lambda x: 1 / math.sqrt(x), seed, Fraction(0), F64, True, limits)),
        )
    )
    out.append(
        form(
            "rsqrt.approx.f64",
            "f64",
            1,
            bounded(lambda x: 1 / math.sqrt(x), Fraction(1, 1 << 50), Fraction(0), F64, False, limits),
            limit=192,
        )
    )
    return out


def high_word(g: Callable[[int], Expected]) -> Callable[[int], Expected]:
    """The seed operations read only the high word: a NaN with an empty high mantissa is an infinity to them."""
    return lambda x: g(x & 0xFFFFFFFF00000000)


def halves() -> list[Form]:
    """ex2 and tanh of f16 and bf16."""
    out = []
    for t, f, sm in (("f16", F16, 75), ("bf16", BF16, 90)):
        ex = Fraction(1, 1 << 9) if t == "f16" else Fraction(1, 1 << 7)
        th = Fraction(1, 1 << 10) if t == "f16" else Fraction(1, 1 << 7)
        ftz = ".ftz" if t == "bf16" else ""
        g = bounded(lambda x: 2.0**x if x > -1000 else 0.0, ex, Fraction(0), f, ftz != "", {"inf": f.inf, "-inf": 0})
        h = bounded(math.tanh, Fraction(0), th, f, False, {"inf": f.one, "-inf": f.one | f.sign})
        for opcode, w in ((f"ex2.approx{ftz}.{t}", g), (f"tanh.approx.{t}", h)):
            out.append(form(opcode, t, 1, w, sm=sm))
            rows = [
                (a | b << 16,)
                for (a,), (b,) in zip(float_rows(t, 1, "lo", 64), float_rows(t, 1, "hi", 64), strict=True)
            ]
            out.append(
                Form(
                    opcode + "x2",
                    f"{opcode}x2 %o0, %a0;",
                    ["b32"],
                    ["b32"],
                    rows,
                    lambda a, w=w: join(w(a & 0xFFFF), w(a >> 16)),
                    sm=sm,
                )
            )
    assert REG
    return out


def forms() -> list[Form]:
    """Every form of this file."""
    return ieee() + in_loops() + constant_operands() + approximate() + approximate64() + halves()
