"""Forms of cvt: every pair of scalar types, roundings, saturation, packed types."""

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
    any_nan,
    float_to_int,
    flush,
    integral,
    is_inf,
    is_nan,
    one_of,
    rounded,
    to_signed,
    value,
)
from tests.forms.float_forms import REG, join
from tests.forms.form import Form
from tests.forms.values import float_rows, ints, pairs, rng

INT_BITS = {"u8": 8, "s8": 8, "u16": 16, "s16": 16, "u32": 32, "s32": 32, "u64": 64, "s64": 64}
ROUND = {"rni": "rn", "rzi": "rz", "rmi": "rm", "rpi": "rp"}


def holder(bits: int) -> str:
    """The narrowest register type for a value."""
    return "b16" if bits <= 16 else f"b{bits}"


def widened(v: int, bits: int, signed: bool, register: str) -> int:
    """A value of a narrow type as it fills its register."""
    n = int(register[1:])
    return (to_signed(v, bits) if signed else v & (1 << bits) - 1) & (1 << n) - 1


def int_rows(t: str, name: str, register: str) -> list[tuple[int, ...]]:
    """Values of an integer type with rubbish above it where the register is wider."""
    r = rng(name)
    n, width = INT_BITS[t], int(register[1:])
    rows = [x for (x,) in pairs(ints(n), n, name, 48, 1)]
    return [((x | r.getrandbits(width) << n) & (1 << width) - 1,) for x in rows]


def between_ints() -> list[Form]:
    """Integer to integer, plain and saturating, into registers of the type's size and wider."""
    out = []
    for d, dn in INT_BITS.items():
        for s, sn in INT_BITS.items():
            for sat in ("", ".sat"):
                low, high = (-(1 << (dn - 1)), (1 << (dn - 1)) - 1) if d[0] == "s" else (0, (1 << dn) - 1)
                slow, shigh = (-(1 << (sn - 1)), (1 << (sn - 1)) - 1) if s[0] == "s" else (0, (1 << sn) - 1)
                if d == s or (sat and low <= slow and high >= shigh):
                    continue
                for register in {holder(dn), "b32" if dn < 32 else "b64" if dn == 32 else holder(dn)}:
                    if sat and register != holder(dn):
                        continue

                    def convert(
                        x: int,
                        d: str = d,
                        s: str = s,
                        sat: str = sat,
                        low: int = low,
                        high: int = high,
                        reg: str = register,
                    ) -> int:
                        v = to_signed(x, INT_BITS[s]) if s[0] == "s" else x & (1 << INT_BITS[s]) - 1
                        if sat:
                            v = min(max(v, low), high)
                        return widened(v, INT_BITS[d], d[0] == "s", reg)

                    name = f"cvt{sat}.{d}.{s}" + ("" if register == holder(dn) else "." + register)
                    rows = int_rows(s, name, holder(sn))
                    out.append(Form(name, f"cvt{sat}.{d}.{s} %o0, %a0;", [holder(sn)], [register], rows, convert))
    return out


def to_ints() -> list[Form]:
    """Float to integer."""
    out = []
    for s in ("f16", "f32", "f64", "bf16"):
        f = FMT[s]
        for k, (d, dn) in enumerate(INT_BITS.items()):
            for j, (rnd, mode) in enumerate(ROUND.items()):
                mods = ["", ".ftz", ".sat", ".ftz.sat"][(k + j) % 4] if s == "f32" else ""
                register = holder(dn) if (k + j) % 3 or dn >= 32 or s == "bf16" else "b32"

                def convert(
                    x: int,
                    f: Fmt = f,
                    mode: str = mode,
                    d: str = d,
                    dn: int = dn,
                    z: bool = "ftz" in mods,
                    reg: str = register,
                ) -> Expected:
                    r = float_to_int(x, f, mode, dn, d[0] == "s", z, dn == 64 or f is F64)
                    if isinstance(r, int):
                        return widened(r, dn, d[0] == "s", reg)
                    return Answer(
                        lambda v: any(v == widened(c, dn, d[0] == "s", reg) for c in (0, 1 << (dn - 1))), "0 or least"
                    )

                opcode = f"cvt.{rnd}{mods}.{d}.{s}"
                out.append(
                    Form(
                        opcode,
                        f"{{ .reg .b8 b; {opcode} b, %a0; cvt.{d[0]}16.{d} %o0, b; }}"
                        if s == "bf16" and dn == 8
                        else f"{opcode} %o0, %a0;",
                        [REG[s]],
                        [register],
                        integer_edges(s, dn, opcode),
                        convert,
                        sm=90 if s == "bf16" else 75,
                    )
                )
    return out


def integer_edges(s: str, bits: int, name: str) -> list[tuple[int, ...]]:
    """Floats around halves of integers and around the ends of an integer type."""
    f = FMT[s]
    r = rng(name)
    rows = float_rows(s, 1, name, 64)
    for x in (
        Fraction(1, 2),
        Fraction(3, 2),
        Fraction(5, 2),
        Fraction(255),
        Fraction((1 << bits) - 1),
        Fraction(1 << bits),
        Fraction(1 << (bits - 1)),
    ):
        for delta in (Fraction(0), Fraction(1, 2), Fraction(-1, 2)):
            p = rounded(x + delta, f)
            rows += [(p,), (p | f.sign,)]
    for _ in range(16):
        e = f.bias + r.randrange(-2, min(bits + 1, f.bias))
        rows.append((r.getrandbits(1) * f.sign | e << f.m | r.getrandbits(f.m),))
    return rows


def from_ints() -> list[Form]:
    """Integer to float."""
    out = []
    for d in ("f16", "f32", "f64", "bf16"):
        f = FMT[d]
        for k, (s, sn) in enumerate(INT_BITS.items()):
            for j, rnd in enumerate(("rn", "rz", "rm", "rp")):
                sat = ".sat" if d != "bf16" and (k + j) % 4 == 3 else ""

                def convert(x: int, f: Fmt = f, s: str = s, sn: int = sn, rnd: str = rnd, sat: str = sat) -> int:
                    v = to_signed(x, sn) if s[0] == "s" else x & (1 << sn) - 1
                    r = rounded(Fraction(v), f, rnd)
                    if sat:
                        r = 0 if r & f.sign else min(r, f.one)
                    return r

                opcode = f"cvt.{rnd}{sat}.{d}.{s}"
                rows = int_rows(s, opcode, holder(sn))
                if sn >= 32:
                    # halfway between two floats, and next to it
                    for shift in range(f.m + 1, sn, 3):
                        rows += [((1 << shift | 1 << (shift - f.m - 1)) + e & (1 << sn) - 1,) for e in (-1, 0, 1)]
                out.append(
                    Form(
                        opcode,
                        f"{{ .reg .b8 b; cvt.u8.u16 b, %a0; {opcode} %o0, b; }}"
                        if d == "bf16" and sn == 8
                        else f"{opcode} %o0, %a0;",
                        [holder(sn)],
                        [REG[d]],
                        rows,
                        convert,
                        sm=90 if d == "bf16" else 75,
                    )
                )
    return out


def change(
    x: int,
    s: Fmt,
    d: Fmt,
    mode: str = "rn",
    ftz: bool = False,
    sat: bool = False,
    relu: bool = False,
    finite: bool = False,
) -> Expected:
    """Float to float."""
    if ftz and s is F32 and d is not F16:
        # ptxas ignores .ftz towards f16: rounding up a subnormal gives the least f16.
        x = flush(x, s)
    if is_nan(x, s):
        return 0 if sat else any_nan(d)
    if is_inf(x, s):
        r = (d.sign if x & s.sign else 0) | (d.max if finite else d.inf)
    else:
        v = value(x, s)
        r = rounded(v, d, mode, x & s.sign)
        if ftz and d is F32 and v != 0:
            tiny = abs(v) < Fraction(2) ** (1 - d.bias)
            if tiny and r & ~d.sign >= d.min_normal:
                return one_of(0) if sat and r & d.sign else one_of(r, r & d.sign)
            r = flush(r, d)

    if finite and r & ~d.sign == d.inf:
        r -= 1
    if sat:
        r = 0 if r & d.sign else min(r, d.one)
    if relu and r & d.sign:
        r = 0
    return r


def between_floats() -> list[Form]:
    """Float to float in the allowed roundings and modifiers."""
    out = []
    allowed = [
        ("f16", "f32", ("", ".ftz", ".sat", ".ftz.sat"), 75, True), ("f32", "f64", ("", ".ftz", ".sat", ".ftz.sat"), 75, True),
        ("f16", "f64", ("", ".sat"), 75, True), ("bf16", "f32", ("", ".ftz"), 80, True), ("bf16", "f64", ("",), 90, True),
        ("bf16", "f16", ("",), 90, True), ("f16", "bf16", ("",), 90, True), ("f32", "f16", ("", ".ftz", ".sat"), 75, False),
        ("f64", "f16", ("", ".sat"), 75, False), ("f64", "f32", ("", ".ftz", ".sat"), 75, False), ("f32", "bf16", ("",), 80, False),
        ("f64", "bf16", ("",), 90, False),
    ]  # fmt: skip
    for d, s, mods, sm, narrows in allowed:
        for rnd in (".rn", ".rz", ".rm", ".rp") if narrows else ("",):
            for m in mods:
                opcode = f"cvt{rnd}{m}.{d}.{s}"

                def convert(x: int, d: str = d, s: str = s, rnd: str = rnd, m: str = m) -> Expected:
                    return change(x, FMT[s], FMT[d], rnd[1:] or "rn", "ftz" in m, "sat" in m)

                rows = float_rows(s, 1, opcode, 64) + near_range(FMT[s], FMT[d], opcode)
                out.append(Form(opcode, f"{opcode} %o0, %a0;", [REG[s]], [REG[d]], rows, convert, sm=sm))
    for t, sm in (("f16", 75), ("f32", 75), ("f64", 75), ("bf16", 90)):
        f = FMT[t]
        for rnd, mode in ROUND.items():
            for m in {"f32": ("", ".ftz", ".sat"), "bf16": ("",)}.get(t, ("", ".sat")):

                def to_integral(x: int, f: Fmt = f, mode: str = mode, m: str = m) -> Expected:
                    if "ftz" in m:
                        x = flush(x, f)
                    if is_nan(x, f):
                        return 0 if "sat" in m else any_nan(f)
                    r = x if is_inf(x, f) else rounded(Fraction(integral(value(x, f), mode)), f, "rn", x & f.sign)
                    if "sat" in m:
                        return 0 if r & f.sign else min(r, f.one)
                    return r

                opcode = f"cvt.{rnd}{m}.{t}.{t}"
                out.append(
                    Form(
                        opcode,
                        f"{opcode} %o0, %a0;",
                        [REG[t]],
                        [REG[t]],
                        integer_edges(t, 32, opcode),
                        to_integral,
                        sm=sm,
                    )
                )
    for t, m in (
        ("f32", ""),
        ("f32", ".sat"),
        ("f32", ".ftz"),
        ("f32", ".ftz.sat"),
        ("f64", ".sat"),
        ("f16", ".sat"),
        ("f16", ""),
        ("f64", ""),
    ):
        f = FMT[t]
        opcode = f"cvt{m}.{t}.{t}"
        out.append(
            Form(opcode, f"{opcode} %o0, %a0;", [REG[t]], [REG[t]], float_rows(t, 1, opcode, 64),
                 lambda x, f=f, m=m: change(x, f, f, "rn", "ftz" in m, "sat" in m))
        )  # fmt: skip
    return out


def near_range(s: Fmt, d: Fmt, name: str) -> list[tuple[int, ...]]:
    """Values of `s` around the subnormals, the halfway points and the end of the range of `d`."""
    r = rng(name + "near")
    out = []
    for v in (value(d.max, d), value(d.min_normal, d), value(1, d), value(1, d) / 2, Fraction(1), Fraction(3)):
        for _ in range(8):
            p = rounded(v, s)
            out.append((max(p + r.randrange(-2, 3), 0) | r.getrandbits(1) * s.sign,))
    for _ in range(16):
        low = max(1, s.bias - d.bias - d.m)
        e = r.randrange(low, min((1 << s.e) - 2, s.bias + d.bias + 1))
        out.append((r.getrandbits(1) * s.sign | e << s.m | r.getrandbits(s.m),))
        if s.m > d.m:
            out.append((e << s.m | (r.getrandbits(d.m) << 1 | 1) << (s.m - d.m - 1),))
    return out


def packed() -> list[Form]:
    """Two floats into one word, relu and satfinite, tf32, 8-bit floats, cvt.pack."""
    out = []
    for t, f in (("f16", F16), ("bf16", BF16)):
        for rnd in ("rn", "rz"):
            for m in ("", ".relu", ".satfinite", ".relu.satfinite"):

                def one(x: int, f: Fmt = f, rnd: str = rnd, m: str = m) -> Expected:
                    return change(x, F32, f, rnd, relu="relu" in m, finite="satfinite" in m)

                rows = [
                    a + b
                    for a, b in zip(near_range(F32, f, t + rnd + m), near_range(F32, f, t + rnd + m + "2"), strict=True)
                ]
                rows += float_rows("f32", 2, t + rnd + m, 48)
                opcode = f"cvt.{rnd}{m}.{t}x2.f32"
                out.append(
                    Form(
                        opcode,
                        f"{opcode} %o0, %a0, %a1;",
                        ["b32"] * 2,
                        ["b32"],
                        rows,
                        lambda a, b, g=one: join(g(b), g(a)),
                        sm=80,
                    )
                )
                if m:
                    opcode = f"cvt.{rnd}{m}.{t}.f32"
                    out.append(Form(opcode, f"{opcode} %o0, %a0;", ["b32"], ["b16"], [r[:1] for r in rows], one, sm=80))
    out += tf32() + eight_bits()
    for t in ("u16", "s16", "u8", "s8", "u4", "s4", "u2", "s2"):
        n = int(t[1:])
        low, high = (-(1 << (n - 1)), (1 << (n - 1)) - 1) if t[0] == "s" else (0, (1 << n) - 1)

        def pack(a: int, b: int, c: int, n: int = n, low: int = low, high: int = high) -> int:
            x, y = (min(max(to_signed(v, 32), low), high) & (1 << n) - 1 for v in (a, b))
            return (x << n | y | (c << 2 * n if n <= 8 else 0)) & 0xFFFFFFFF

        third = ", %a2" if n <= 8 else ""
        opcode = f"cvt.pack.sat.{t}.s32" + (".b32" if n <= 8 else "")
        out.append(
            Form(
                opcode,
                f"{opcode} %o0, %a0, %a1{third};",
                ["b32"] * 3,
                ["b32"],
                pairs(ints(32), 32, opcode, 96, 3),
                pack,
                judged=n >= 8,
            )
        )
    return out


def tf32() -> list[Form]:
    """f32 to tf32: 10 bits of mantissa, the rest zero."""
    out = []
    rows = [r for r in float_rows("f32", 1, "tf32", 96) if r[0] & 0x7FFFFFFF != 0x7F800001] + [
        (0x3F800FFF,),
        (0x3F801000,),
        (0x3F801001,),
        (0x3F803000,),
        (0x7F7FFFFF,),
        (0xFF7FEFFF,),
    ]
    low = 0x1FFF

    def rna(x: int, finite: bool = False) -> Expected:
        if is_nan(x, F32):
            return any_nan(F32)
        if is_inf(x, F32):
            return x if not finite else x & F32.sign | 0x7F7FE000
        r = x + 0x1000 & ~low & 0xFFFFFFFF
        if finite and is_inf(r, F32):
            r -= 0x2000
        return r

    def other(x: int, mode: str, relu: bool) -> Expected:
        if is_nan(x, F32):
            return any_nan(F32)
        r = x & ~low
        if not is_inf(x, F32) and mode == "rn":
            rest = x & low
            if rest > 0x1000 or (rest == 0x1000 and x & 0x2000):
                r += 0x2000
        return 0 if relu and r & F32.sign else r

    out.append(Form("cvt.rna.tf32.f32", "cvt.rna.tf32.f32 %o0, %a0;", ["b32"], ["b32"], rows, rna, sm=80))
    out.append(
        Form("cvt.rna.satfinite.tf32.f32", "cvt.rna.satfinite.tf32.f32 %o0, %a0;", ["b32"], ["b32"],
             [r for r in rows if not is_nan(r[0], F32)], lambda x: rna(x, True), sm=80)
    )  # fmt: skip
    for mode in ("rn", "rz"):
        for relu in ("", ".relu"):
            opcode = f"cvt.{mode}{relu}.tf32.f32"
            out.append(
                Form(
                    opcode,
                    f"{opcode} %o0, %a0;",
                    ["b32"],
                    ["b32"],
                    rows,
                    lambda x, m=mode, r=relu: other(x, m, r != ""),
                    sm=90,
                )
            )
    return out


class Small(Fmt):
    """An 8-bit float format; e4m3 has no infinities and uses their exponent for numbers."""

    def __init__(self, name: str, ebits: int, mbits: int) -> None:
        super().__init__(name, ebits, mbits)
        if name == "e4m3":
            self.inf, self.max, self.nan = 0x7F, 0x7E, 0x7F


SMALL = {"e4m3": Small("e4m3", 4, 3), "e5m2": Small("e5m2", 5, 2)}


def to_small(x: int, s: Fmt, d: Small, relu: bool) -> Expected:
    """A float to 8 bits, satfinite."""
    if is_nan(x, s):
        return one_of(d.nan, d.nan | 0x80, 0x7F) if d.name == "e4m3" else one_of(0x7F, 0xFF, d.nan)
    sign = 0x80 if x & s.sign else 0
    mag = d.max if is_inf(x, s) else min(rounded(abs(value(x, s)), wide(d)), d.max)
    return 0 if relu and sign else sign | mag


def wide(d: Small) -> Fmt:
    """The format without an end at its largest number."""
    f = Fmt(d.name, d.e, d.m)
    f.inf = 1 << 20
    f.max = f.inf - 1
    return f


def eight_bits() -> list[Form]:
    """e4m3x2 and e5m2x2 from f32 and f16x2 and back."""
    out = []
    for t, d in SMALL.items():
        for relu in ("", ".relu"):

            def both(lo: Expected, hi: Expected) -> Expected:
                if isinstance(lo, int) and isinstance(hi, int):
                    return lo | hi << 8
                return Answer(
                    lambda r: all(
                        e.ok(v) if isinstance(e, Answer) else e == v for e, v in ((lo, r & 0xFF), (hi, r >> 8))
                    ),
                    f"{lo!r}, {hi!r}",
                )

            rows = [
                a + b for a, b in zip(near_range(F32, d, t), near_range(F32, d, t + "2"), strict=True)
            ] + float_rows("f32", 2, t, 32)
            opcode = f"cvt.rn.satfinite{relu}.{t}x2.f32"
            out.append(
                Form(opcode, f"{opcode} %o0, %a0, %a1;", ["b32"] * 2, ["b16"], rows,
                     lambda a, b, d=d, r=relu, g=both: g(to_small(b, F32, d, r != ""), to_small(a, F32, d, r != "")), sm=89)
            )  # fmt: skip
            halves = [
                (a | b << 16,) for (a,), (b,) in zip(near_range(F16, d, t), near_range(F16, d, t + "2"), strict=True)
            ]
            opcode = f"cvt.rn.satfinite{relu}.{t}x2.f16x2"
            out.append(
                Form(opcode, f"{opcode} %o0, %a0;", ["b32"], ["b16"], halves,
                     lambda a, d=d, r=relu, g=both: g(to_small(a & 0xFFFF, F16, d, r != ""), to_small(a >> 16, F16, d, r != "")), sm=89)
            )  # fmt: skip

            def half(x: int, d: Small = d, r: str = relu) -> Expected:
                if (d.name == "e4m3" and x & 0x7F == 0x7F) or (d.name == "e5m2" and x & 0x7F > d.inf):
                    return any_nan(F16)
                sign = F16.sign if x & 0x80 else 0
                mag = F16.inf if d.name == "e5m2" and x & 0x7F == d.inf else rounded(abs(value(x & 0x7F, d)), F16)
                return 0 if r and sign else sign | mag

            every = [(x | (x * 37 + 11 & 0xFF) << 8,) for x in range(256)]
            opcode = f"cvt.rn{relu}.f16x2.{t}x2"
            out.append(
                Form(
                    opcode,
                    f"{opcode} %o0, %a0;",
                    ["b16"],
                    ["b32"],
                    every,
                    lambda x, g=half: join(g(x & 0xFF), g(x >> 8)),
                    sm=89,
                )
            )
    return out


def halves_of_words() -> list[Form]:
    """Conversions from and into the halves of one word: what an optimiser takes apart and puts together."""
    out = []
    rows = [
        (a | b << 16,)
        for (a,), (b,) in zip(float_rows("bf16", 1, "lo", 64), float_rows("bf16", 1, "hi", 64), strict=True)
    ]
    decl = ".reg .b16 %h<2>;"
    out.append(
        Form("unpack.bf16", "mov.b32 {%h0, %h1}, %a0; cvt.f32.bf16 %o0, %h0; cvt.f32.bf16 %o1, %h1;", ["b32"], ["b32"] * 2, rows,
             lambda x: tuple(change(v, BF16, F32) for v in (x & 0xFFFF, x >> 16)), sm=80, decl=decl)
    )  # fmt: skip
    out.append(
        Form("unpack.f16", "mov.b32 {%h0, %h1}, %a0; cvt.f32.f16 %o0, %h0; cvt.f32.f16 %o1, %h1;", ["b32"], ["b32"] * 2, rows,
             lambda x: tuple(change(v, F16, F32) for v in (x & 0xFFFF, x >> 16)), decl=decl)
    )  # fmt: skip
    out.append(
        Form("unpack.s16", "mov.b32 {%h0, %h1}, %a0; cvt.s32.s16 %o0, %h0; cvt.s32.s16 %o1, %h1; cvt.u32.u16 %o2, %h1;", ["b32"], ["b32"] * 3,
             rows, lambda x: (to_signed(x, 16) & 0xFFFFFFFF, to_signed(x >> 16, 16) & 0xFFFFFFFF, x >> 16), decl=decl)
    )  # fmt: skip
    pairs32 = float_rows("f32", 2, "pack", 96)
    for t, f, sm in (("f16", F16, 75), ("bf16", BF16, 80)):
        for rnd in ("rn", "rz"):
            body = f"cvt.{rnd}.{t}.f32 %h0, %a0; cvt.{rnd}.{t}.f32 %h1, %a1; mov.b32 %o0, {{%h0, %h1}}; mov.b32 %o1, {{%h1, %h0}};"

            def both(a: int, b: int, f: Fmt = f, rnd: str = rnd) -> tuple[Expected, ...]:
                x, y = change(a, F32, f, rnd), change(b, F32, f, rnd)
                return join(x, y), join(y, x)

            out.append(Form(f"pack.{rnd}.{t}", body, ["b32"] * 2, ["b32"] * 2, pairs32, both, sm=sm, decl=decl))
            one = body.split(" mov.b32 %o1")[0]
            out.append(
                Form(
                    f"pack1.{rnd}.{t}",
                    one,
                    ["b32"] * 2,
                    ["b32"],
                    pairs32,
                    lambda a, b, g=both: g(a, b)[0],
                    sm=sm,
                    decl=decl,
                )
            )
    return out


def forms() -> list[Form]:
    """Every form of this file."""
    return halves_of_words() + between_ints() + to_ints() + from_ints() + between_floats() + packed()
