"""Forms of the float arithmetic: add sub mul fma, min max, sign, class, comparisons, halves."""

from collections.abc import Callable, Sequence

from tests.forms.exact import F16, F32, F64, FMT, Answer, Expected, Fmt, Op, any_nan, compare, flush, is_nan, one_of
from tests.forms.form import Form
from tests.forms.integer_forms import BOOL
from tests.forms.values import float_rows

REG = {"f16": "b16", "bf16": "b16", "f32": "b32", "f64": "b64", "f16x2": "b32", "bf16x2": "b32"}


def form(
    opcode: str, type_: str, count: int, f: Callable[..., Expected], sm: int = 75, limit: int = 128, extra: str = ""
) -> Form:
    """d = f(patterns) for sources of one type."""
    args = ", ".join(f"%a{k}" for k in range(count))
    return Form(
        opcode + extra,
        f"{opcode} %o0, {args};",
        [REG[type_]] * count,
        [REG[type_]],
        float_rows(type_, count, opcode, limit),
        f,
        sm=sm,
    )


def packed(opcode: str, type_: str, count: int, f: Callable[..., Expected], sm: int) -> Form:
    """The same on both halves of a word."""
    low = float_rows(type_, count, opcode, 96)
    high = float_rows(type_, count, opcode + "h", 96)
    rows = [tuple(a | b << 16 for a, b in zip(x, y, strict=True)) for x, y in zip(low, high, strict=True)]

    def both(*v: int) -> Expected:
        return join(f(*(x & 0xFFFF for x in v)), f(*(x >> 16 for x in v)))

    args = ", ".join(f"%a{k}" for k in range(count))
    return Form(opcode, f"{opcode} %o0, {args};", ["b32"] * count, ["b32"], rows, both, sm=sm)


def join(low: Expected, high: Expected) -> Expected:
    """Two 16-bit expectations as one of 32 bits."""
    if isinstance(low, int) and isinstance(high, int):
        return low | high << 16

    def ok(x: int) -> bool:
        return all(h.ok(v) if isinstance(h, Answer) else h == v for h, v in ((low, x & 0xFFFF), (high, x >> 16)))

    return Answer(ok, f"({low!r}, {high!r})")


def arithmetic32() -> list[Form]:
    """f32 and f64 with all roundings."""
    out = []
    for t in ("f32", "f64"):
        f = FMT[t]
        for rnd in ("", ".rn", ".rz", ".rm", ".rp"):
            for mods in ("", ".ftz", ".sat", ".ftz.sat") if t == "f32" else ("",):
                op = Op(f, rnd[1:] or "rn", "ftz" in mods, "sat" in mods)
                suffix = f"{rnd}{mods}.{t}"
                if mods in ("", ".ftz") or rnd in ("", ".rz"):
                    out.append(form("add" + suffix, t, 2, op.add))
                    out.append(form("sub" + suffix, t, 2, op.sub))
                    out.append(form("mul" + suffix, t, 2, op.mul))
                if rnd:
                    out.append(form("fma" + suffix, t, 3, op.fma))
                    if mods == "" and rnd in (".rn", ".rp"):
                        out.append(form("mad" + suffix, t, 3, op.fma))
    return out


def halves() -> list[Form]:
    """f16 and bf16, scalar and packed."""
    out = []
    for t in ("f16", "bf16"):
        f = FMT[t]
        base = 75 if t == "f16" else 90
        plain = ("", ".ftz", ".sat", ".ftz.sat") if t == "f16" else ("",)
        for mods in plain:
            op = Op(f, "rn", "ftz" in mods, "sat" in mods)
            for name, g, n in (("add", op.add, 2), ("sub.rn", op.sub, 2), ("mul", op.mul, 2)):
                out.append(form(f"{name}{mods}.{t}", t, n, g, base))
                out.append(packed(f"{name}{mods}.{t}x2", t, n, g, base))
            fsm = 75 if t == "f16" else 80
            out.append(form(f"fma.rn{mods}.{t}", t, 3, op.fma, fsm))
            out.append(packed(f"fma.rn{mods}.{t}x2", t, 3, op.fma, fsm))
        for mods in ("", ".ftz") if t == "f16" else ("",):
            op = Op(f, "rn", "ftz" in mods, relu=True)
            relu = nan_to_nan(op.fma, f)
            out.append(form(f"fma.rn{mods}.relu.{t}", t, 3, relu, 80))
            out.append(packed(f"fma.rn{mods}.relu.{t}x2", t, 3, relu, 80))
            flat = Op(f, "rn", "ftz" in mods)
            for name in ("min", "max"):
                for nan in ("", ".NaN"):
                    g2 = minmax(flat, name == "min", nan != "", False)
                    out.append(form(f"{name}{mods}{nan}.{t}", t, 2, g2, 80))
                    out.append(packed(f"{name}{mods}{nan}.{t}x2", t, 2, g2, 80))
        x = minmax(Op(f), True, False, True)
        out.append(form(f"min.xorsign.abs.{t}", t, 2, x, 86))
        out.append(packed(f"max.xorsign.abs.{t}x2", t, 2, minmax(Op(f), False, False, True), 86))
        sign = f.sign

        def negate(a: int, f: Fmt = f) -> Expected:
            return any_nan(f) if is_nan(a, f) else a ^ f.sign

        def absolute(a: int, f: Fmt = f) -> Expected:
            return any_nan(f) if is_nan(a, f) else a & ~f.sign

        out.append(form(f"neg.{t}", t, 1, negate, 75 if t == "f16" else 80))
        out.append(packed(f"neg.{t}x2", t, 1, negate, 75 if t == "f16" else 80))
        out.append(form(f"abs.{t}", t, 1, absolute, 75 if t == "f16" else 80))
        out.append(packed(f"abs.{t}x2", t, 1, absolute, 75 if t == "f16" else 80))
        assert sign
    return out


def nan_to_nan(g: Callable[..., Expected], f: Fmt) -> Callable[..., Expected]:
    """relu turns a NaN result into the canonical NaN: leave the payload open."""
    return lambda *v: any_nan(f) if isinstance(g(*v), Answer) and "NaN" in repr(g(*v)) else g(*v)


def minmax(op: Op, low: bool, nan: bool, xorsign: bool) -> Callable[[int, int], Expected]:
    return lambda a, b: op.minmax(a, b, low, nan, xorsign)


def signs() -> list[Form]:
    """min max neg abs copysign testp of f32 and f64."""
    out = []
    for t in ("f32", "f64"):
        f = FMT[t]
        for mods in ("", ".ftz") if t == "f32" else ("",):
            op = Op(f, ftz="ftz" in mods)
            for name in ("min", "max"):
                out.append(form(f"{name}{mods}.{t}", t, 2, minmax(op, name == "min", False, False)))
                if t == "f32":
                    out.append(form(f"{name}{mods}.NaN.{t}", t, 2, minmax(op, name == "min", True, False), 80))
                    out.append(form(f"{name}{mods}.xorsign.abs.{t}", t, 2, minmax(op, name == "min", False, True), 86))
                    out.append(
                        form(f"{name}{mods}.NaN.xorsign.abs.{t}", t, 2, minmax(op, name == "min", True, True), 86)
                    )

            def keep(a: int, change: Callable[[int, Fmt], int], f: Fmt = f, op: Op = op) -> Expected:
                return any_nan(f) if is_nan(a, f) else change(flush(a, f) if op.ftz else a, f)

            out.append(form(f"neg{mods}.{t}", t, 1, lambda a, k=keep: k(a, lambda v, fmt: v ^ fmt.sign)))
            out.append(form(f"abs{mods}.{t}", t, 1, lambda a, k=keep: k(a, lambda v, fmt: v & ~fmt.sign)))
        out.append(form(f"copysign.{t}", t, 2, lambda a, b, f=f: b & ~f.sign | a & f.sign))
        tests: dict[str, Callable[[int], bool]] = {
            "finite": lambda m, f=f: m < f.inf,
            "infinite": lambda m, f=f: m == f.inf,
            "number": lambda m, f=f: m <= f.inf,
            "notanumber": lambda m, f=f: m > f.inf,
            "normal": lambda m, f=f: f.min_normal <= m < f.inf or m == 0,
            "subnormal": lambda m, f=f: 0 < m < f.min_normal,
        }
        for name, test in tests.items():
            rows = float_rows(t, 1, "testp", 64)
            out.append(
                Form(f"testp.{name}.{t}", f"testp.{name}.{t} %o0, %a0;", [REG[t]], ["pred"], rows,
                     lambda a, test=test, f=f: int(test(a & ~f.sign)))
            )  # fmt: skip
    return out


CMPS = ("eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan")


def comparing() -> list[Form]:
    """setp, set and slct of floats."""
    out: list[Form] = []
    for t in ("f32", "f64", "f16", "bf16"):
        f = FMT[t]
        sm = 90 if t == "bf16" else 75
        for c in CMPS if t in ("f32", "f64") else CMPS[1::3]:
            for ftz in ("", ".ftz") if t == "f32" and c in ("eq", "lt", "geu", "nan") else ("",):
                out.append(
                    Form(f"setp.{c}{ftz}.{t}", f"setp.{c}{ftz}.{t} %o0, %a0, %a1;", [REG[t]] * 2, ["pred"], float_rows(t, 2, c, 128),
                         lambda a, b, c=c, f=f, z=ftz != "": int(compare(a, b, f, c, z)), sm=sm)
                )  # fmt: skip
    for t, c, b in (
        ("f32", "lt", "and"),
        ("f32", "gtu", "xor"),
        ("f64", "ge", "or"),
        ("f64", "nan", "and"),
        ("f32", "equ", "or"),
    ):
        f, g = FMT[t], BOOL[b]

        def pq(
            x: int, y: int, p: int, c: str = c, f: Fmt = f, g: Callable[[bool, bool], bool] = g
        ) -> tuple[Expected, ...]:
            r = compare(x, y, f, c)
            return int(g(r, p != 0)), int(g(not r, p != 0))

        rows = [(*v, k & 1) for k, v in enumerate(float_rows(t, 2, c + b, 128))]
        out.append(
            Form(
                f"setp.{c}.{b}.{t}.pq",
                f"setp.{c}.{b}.{t} %o0|%o1, %a0, %a1, %a2;",
                [REG[t], REG[t], "pred"],
                ["pred", "pred"],
                rows,
                pq,
            )
        )
    out += packed_compare() + sets()
    return out


def packed_compare() -> list[Form]:
    """setp and set of packed halves."""
    out = []
    for t in ("f16", "bf16"):
        f, sm = FMT[t], 75 if t == "f16" else 90
        low, high = float_rows(t, 2, "pc", 96), float_rows(t, 2, "pch", 96)
        rows = [(a[0] | b[0] << 16, a[1] | b[1] << 16, k & 1) for k, (a, b) in enumerate(zip(low, high, strict=True))]
        for c, b in (("lt", "and"), ("neu", "or"), ("ge", "xor")):

            def both(x: int, y: int, p: int, c: str = c, b: str = b, f: Fmt = f) -> tuple[Expected, ...]:
                g = BOOL[b]
                return tuple(int(g(compare(x >> s & 0xFFFF, y >> s & 0xFFFF, f, c), p != 0)) for s in (0, 16))

            out.append(
                Form(f"setp.{c}.{b}.{t}x2", f"setp.{c}.{b}.{t}x2 %o0|%o1, %a0, %a1, %a2;", ["b32", "b32", "pred"], ["pred", "pred"],
                     rows, both, sm=sm)
            )  # fmt: skip
        for dt, ones in ((t + "x2", f.one), ("u32", 0xFFFF)):

            def lanes(x: int, y: int, f: Fmt = f, ones: int = ones) -> int:
                return sum(ones << s for s in (0, 16) if compare(x >> s & 0xFFFF, y >> s & 0xFFFF, f, "le"))

            out.append(
                Form(
                    f"set.le.{dt}.{t}x2",
                    f"set.le.{dt}.{t}x2 %o0, %a0, %a1;",
                    ["b32"] * 2,
                    ["b32"],
                    [r[:2] for r in rows],
                    lanes,
                    sm=sm,
                )
            )
        for dt, ones, width in ((t, f.one, 16), ("u16", 0xFFFF, 16), ("s32", 0xFFFFFFFF, 32)):
            out.append(
                Form(f"set.gt.{dt}.{t}", f"set.gt.{dt}.{t} %o0, %a0, %a1;", ["b16"] * 2, [f"b{width}"], low,
                     lambda x, y, f=f, ones=ones: ones if compare(x, y, f, "gt") else 0, sm=sm)
            )  # fmt: skip
    return out


def sets() -> list[Form]:
    """set and slct with f32 and f64 sources."""
    out = []
    for t in ("f32", "f64"):
        f = FMT[t]
        for dt in ("u32", "s32", "f32"):
            one = F32.one if dt == "f32" else 0xFFFFFFFF
            for c in ("eq", "gt", "ltu", "num"):
                out.append(
                    Form(f"set.{c}.{dt}.{t}", f"set.{c}.{dt}.{t} %o0, %a0, %a1;", [REG[t]] * 2, ["b32"], float_rows(t, 2, c + dt, 96),
                         lambda a, b, c=c, f=f, one=one: one if compare(a, b, f, c) else 0)
                )  # fmt: skip
        rows = [(*v, k & 1) for k, v in enumerate(float_rows(t, 2, "setb", 96))]
        out.append(
            Form(f"set.lt.or.f32.{t}", f"set.lt.or.f32.{t} %o0, %a0, %a1, !%a2;", [REG[t], REG[t], "pred"], ["b32"], rows,
                 lambda a, b, p, f=f: F32.one if compare(a, b, f, "lt") or not p else 0)
        )  # fmt: skip
    out.append(
        Form("set.ge.ftz.f32.f32", "set.ge.ftz.f32.f32 %o0, %a0, %a1;", ["b32"] * 2, ["b32"], float_rows("f32", 2, "setf", 96),
             lambda a, b: F32.one if compare(a, b, F32, "ge", True) else 0)
    )  # fmt: skip
    for t, reg in (("f32", "b32"), ("u16", "b16"), ("b64", "b64"), ("f64", "b64")):
        for ftz in ("", ".ftz"):
            rows = [((k * 77) & 0xFFFF, k | 0x100, c) for k, (c,) in enumerate(float_rows("f32", 1, "slct" + t, 64))]
            out.append(
                Form(f"slct{ftz}.{t}.f32", f"slct{ftz}.{t}.f32 %o0, %a0, %a1, %a2;", [reg, reg, "b32"], [reg], rows,
                     lambda a, b, c, z=ftz: a if compare(c, 0, F32, "ge", z != "") else b)
            )  # fmt: skip
    return out


def fusion() -> list[Form]:
    """A multiplication and an addition that may fuse: either rounding is right; with .rn they must not."""
    out = []
    for t in ("f32", "f64", "f16"):
        f = FMT[t]
        op = Op(f)

        def either(a: int, b: int, c: int, op: Op = op, f: Fmt = f) -> Expected:
            fused = op.fma(a, b, c)
            product = op.mul(a, b)
            if isinstance(product, Answer) or isinstance(fused, Answer):
                return any_nan(f) if is_nan_all(op, a, b, c) else Answer(lambda x: True, "anything")
            apart = op.add(product, c)
            if isinstance(apart, Answer):
                return Answer(lambda x: x == fused or apart.ok(x), "either")
            return one_of(fused, apart)

        rows = float_rows(t, 3, "fusion", 128)
        reg = REG[t]
        body = f".reg .{t} %t0; mul.{t} %t0, %a0, %a1; add.{t} %o0, %t0, %a2;"
        out.append(
            Form(f"contract.{t}", body.split("; ", 1)[1], [reg] * 3, [reg], rows, either, decl=f".reg .{reg} %t0;")
        )

        def separate(a: int, b: int, c: int, op: Op = op, f: Fmt = f) -> Expected:
            product = op.mul(a, b)
            return any_nan(f) if isinstance(product, Answer) else op.add(product, c)

        body = f"mul.rn.{t} %t0, %a0, %a1; add.rn.{t} %o0, %t0, %a2;"
        out.append(Form(f"separate.{t}", body, [reg] * 3, [reg], rows, separate, decl=f".reg .{reg} %t0;"))
        body = f"mul.{t} %t0, %a0, %a1; sub.{t} %o0, %a2, %t0;"
        negated = lambda a, b, c, g=either, f=f: g(a ^ f.sign, b, c)  # noqa: E731
        out.append(Form(f"contract.sub.{t}", body, [reg] * 3, [reg], rows, negated, decl=f".reg .{reg} %t0;"))
    return out


def is_nan_all(op: Op, a: int, b: int, c: int) -> bool:
    """True if any input is a NaN."""
    return any(is_nan(x, op.f) for x in (a, b, c))


def constants() -> list[Form]:
    """Operations with constants that must not be simplified away: signed zeros, NaN, infinities."""
    out = []
    cases: Sequence[tuple[str, Callable[[Op, int], Expected], str]] = (
        ("add.f32 %o0, %a0, 0f00000000", lambda op, a: op.add(a, 0), "add0"),
        ("add.f32 %o0, %a0, 0f80000000", lambda op, a: op.add(a, F32.sign), "addm0"),
        ("sub.f32 %o0, %a0, 0f00000000", lambda op, a: op.sub(a, 0), "sub0"),
        ("sub.f32 %o0, 0f00000000, %a0", lambda op, a: op.sub(0, a), "0sub"),
        ("mul.f32 %o0, %a0, 0f3F800000", lambda op, a: op.mul(a, F32.one), "mul1"),
        ("mul.f32 %o0, %a0, 0f00000000", lambda op, a: op.mul(a, 0), "mul0"),
        ("mul.f32 %o0, %a0, 0f40000000", lambda op, a: op.mul(a, 0x40000000), "mul2"),
        ("mul.ftz.f32 %o0, %a0, 0f3F800000", lambda op, a: Op(F32, ftz=True).mul(a, F32.one), "mulftz1"),
        ("fma.rn.f32 %o0, %a0, 0f3F800000, 0f80000000", lambda op, a: op.fma(a, F32.one, F32.sign), "fma1"),
        ("sub.f32 %o0, %a0, %a0", lambda op, a: op.sub(a, a), "subself"),
        ("min.f32 %o0, %a0, 0f7F800000", lambda op, a: op.minmax(a, F32.inf, True), "mininf"),
    )
    for body, g, name in cases:
        out.append(
            Form(
                f"const.{name}",
                body + ";",
                ["b32"],
                ["b32"],
                float_rows("f32", 1, "const", 64),
                lambda a, g=g: g(Op(F32), a),
            )
        )
    for body, c, name in (
        ("add", 0, "add0"),
        ("mul", F64.one, "mul1"),
        ("mul", 0x4000 << 48, "mul2"),
        ("add", 0x3FF3333333333333, "addodd"),
    ):
        op = Op(F64)
        g64 = op.add if body == "add" else op.mul
        out.append(
            Form(f"const.f64.{name}", f"{body}.f64 %o0, %a0, 0d{c:016X};", ["b64"], ["b64"], float_rows("f64", 1, "const", 64),
                 lambda a, g=g64, c=c: g(a, c))
        )  # fmt: skip
    out.append(
        Form("const.f16", "mov.b16 %t0, 0x3C00; fma.rn.f16 %o0, %a0, %t0, %a0;", ["b16"], ["b16"], float_rows("f16", 1, "const", 64),
             lambda a: Op(F16).fma(a, F16.one, a), decl=".reg .b16 %t0;")
    )  # fmt: skip
    return out


def forms() -> list[Form]:
    """Every form of this file."""
    return arithmetic32() + halves() + signs() + comparing() + fusion() + constants()
