"""Instructions with at most 32 bits of input: their PTX, and what they give, as C.

The C is written from the PTX manual in terms of ``exact.h``; ``tests/validate/test_every_input.py`` holds it against the exact fractions of
``tests/forms``.  Names are those of ``tests/forms`` where it has the instruction.
"""

from dataclasses import dataclass
from itertools import product
from typing import Final

INTS: Final = {"u8": 8, "s8": 8, "u16": 16, "s16": 16, "u32": 32, "s32": 32, "u64": 64, "s64": 64}
FLOATS: Final = {"f16": 16, "bf16": 16, "f32": 32, "f64": 64}
SOURCES: Final = ("u8", "s8", "u16", "s16", "f16", "bf16", "u32", "s32", "f32")
INTEGRAL: Final = {".rni": "RN", ".rzi": "RZ", ".rmi": "RM", ".rpi": "RP"}
ROUNDED: Final = {".rn": "RN", ".rz": "RZ", ".rm": "RM", ".rp": "RP"}
BLACKWELL: Final = "sm_100a"


@dataclass(frozen=True)
class Instruction:
    """One instruction: ``body`` reads %a0 (and %a1) and writes %o0 (and others); ``c`` sets o0 ... from a0 and a1.

    ``kinds``: what each output is: ``int``, or a float type, whose NaNs count as one.  ``c`` may set p0 (another right result), ``any`` (every
    result is right) and, of kind ``judged``, ``ok``.  ``mode``: the rounding of C's own arithmetic.
    """

    name: str
    body: str
    ins: tuple[str, ...]
    outs: tuple[str, ...]
    kinds: tuple[str, ...]
    c: str
    sm: int = 80
    decl: str = ""
    mode: str = "RN"
    arch: str = ""

    @property
    def bits(self) -> int:
        """Bits of input."""
        return sum(int(t[1:]) for t in self.ins)


def register(bits: int) -> str:
    """The narrowest register type for so many bits."""
    return f"b{max(bits, 16)}"


def c_int(type_: str, text: str) -> str:
    """A register as a number of an integer type."""
    return f"(({type_.replace('s', 'i')}){text})"


def c_format(type_: str) -> str:
    """The arguments of exact.h for a float type."""
    return type_.upper()


def _flags(mods: str) -> str:
    names = {".ftz": "FTZ", ".sat": "SAT", ".relu": "RELU", ".satfinite": "FINITE"}
    used = [names["." + m] for m in mods.split(".") if "." + m in names]
    return "|".join(used) or "0"


def between_ints() -> list[Instruction]:
    """cvt between integer types, into registers of the type's size and wider."""
    out = []
    for (d, dn), s in product(INTS.items(), [s for s in SOURCES if s in INTS]):
        sn = INTS[s]
        low, high = (-(1 << dn - 1), (1 << dn - 1) - 1) if d[0] == "s" else (0, (1 << dn) - 1)
        least, most = (-(1 << sn - 1), (1 << sn - 1) - 1) if s[0] == "s" else (0, (1 << sn) - 1)
        for sat in ("", ".sat"):
            if d == s or (sat and low <= least and high >= most):
                continue
            wide = "b32" if dn < 32 else "b64"
            for reg in dict.fromkeys((register(dn), register(dn) if sat else wide)):
                name = f"cvt{sat}.{d}.{s}" + ("" if reg == register(dn) else "." + reg)
                c = f"i64 v = {c_int(s, 'a0')};"
                if sat:
                    c += f"if (v < {low}) v = {low};" if low > -(1 << 63) else ""
                    c += f"if (v > {high}) v = {high};" if high < (1 << 63) - 1 else ""
                c += f"o0 = (i64){c_int(d, 'v')};"
                out.append(Instruction(name, f"cvt{sat}.{d}.{s} %o0, %a0;", (register(sn),), (reg,), ("int",), c, 75))
    return out


def floats_to_ints() -> list[Instruction]:
    """cvt from floats to integers."""
    out = []
    for s, (d, dn), (rnd, mode) in product(("f16", "bf16", "f32"), INTS.items(), INTEGRAL.items()):
        for mods in ("", ".ftz", ".sat", ".ftz.sat") if s == "f32" else ("",):
            opcode = f"cvt{rnd}{mods}.{d}.{s}"
            x = "flush32(a0)" if "ftz" in mods else "a0"
            c = f"double v = integral(value({x}, {c_format(s)}), {mode}); o0 = saturated(v, {dn}, {int(d[0] == 's')});"
            if dn == 64:
                c += "if (v != v) p0 = (u64)1 << 63;"
            body = f"{opcode} %o0, %a0;"
            if s == "bf16" and dn == 8:
                body = f"{opcode} %b, %a0; cvt.{d[0]}16.{d} %o0, %b;"
            reg = register(dn)
            out.append(
                Instruction(
                    opcode, body, (register(FLOATS[s]),), (reg,), ("int",), c, 90 if s == "bf16" else 75,
                    ".reg .b8 %b;" if s == "bf16" and dn == 8 else "",
                )
            )  # fmt: skip
    return out


def ints_to_floats() -> list[Instruction]:
    """cvt from integers to floats."""
    out = []
    for d, s, (rnd, mode) in product(FLOATS, [s for s in SOURCES if s in INTS], ROUNDED.items()):
        for sat in ("", ".sat") if d != "bf16" else ("",):
            opcode = f"cvt{rnd}{sat}.{d}.{s}"
            v = f"(i64){c_int(s, 'a0')}"
            if d in ("f32", "f64"):
                ctype, bits = ("float", "bits32") if d == "f32" else ("double", "bits64")
                c = f"o0 = clamped({bits}(({ctype}){c_int(s, 'a0')}), {c_format(d)}, {_flags(sat)});"
            else:
                c = f"o0 = rounded(of_int({v}), {c_format(d)}, {mode}, {_flags(sat)});"
            narrow = d == "bf16" and INTS[s] == 8
            body = f"cvt.u8.u16 %b, %a0; {opcode} %o0, %b;" if narrow else f"{opcode} %o0, %a0;"
            out.append(
                Instruction(
                    opcode, body, (register(INTS[s]),), (register(FLOATS[d]),), ("int",), c, 90 if d == "bf16" else 75,
                    ".reg .b8 %b;" if narrow else "", mode,
                )
            )  # fmt: skip
    return out


def between_floats() -> list[Instruction]:
    """cvt between float types, and to integral values."""
    out = []
    every = ("", ".ftz", ".sat", ".ftz.sat")
    cases: tuple[tuple[str, str, tuple[str, ...], tuple[str, ...], int], ...] = (
        ("f16", "f32", tuple(ROUNDED), every, 75), ("bf16", "f32", tuple(ROUNDED), ("", ".ftz"), 80), ("bf16", "f16", tuple(ROUNDED), ("",), 90),
        ("f16", "bf16", tuple(ROUNDED), ("",), 90), ("f32", "f16", ("",), ("", ".ftz", ".sat"), 75), ("f64", "f16", ("",), ("", ".sat"), 75),
        ("f64", "f32", ("",), ("", ".ftz", ".sat", ".ftz.sat"), 75), ("f32", "bf16", ("",), ("",), 80), ("f64", "bf16", ("",), ("",), 90),
        ("f32", "f32", ("",), every, 75), ("f16", "f16", ("",), ("", ".sat"), 75),
        ("f16", "f32", (".rn", ".rz"), (".relu", ".satfinite", ".relu.satfinite"), 80),
        ("bf16", "f32", (".rn", ".rz"), (".relu", ".satfinite", ".relu.satfinite"), 80),
        ("tf32", "f32", (".rna",), ("", ".satfinite"), 80), ("tf32", "f32", (".rn", ".rz"), ("", ".relu"), 90),
        ("tf32", "f32", (".rn", ".rz"), (".satfinite", ".relu.satfinite"), 100),
    )  # fmt: skip
    for d, s, rounds, mods, sm in cases:
        for rnd, m in product(rounds, mods):
            opcode = f"cvt{rnd}{m}.{d}.{s}"
            x = f"number(a0, {c_format(s)})"
            if ".ftz" in m and s == "f32" and d != "f16":
                x = f"flushed({x}, F32)"  # towards f16 .ftz changes nothing
            how = _flags(m if d == "f32" else m.replace(".ftz", ""))
            shift = " << 13" if d == "tf32" else ""
            c = f"o0 = rounded({x}, {c_format(d)}, {(rnd or '.rn')[1:].upper()}, {how}){shift};"
            if rnd == ".rna":
                # ptxas only drops the low bits of a NaN, which may leave an infinity, and satfinite takes the pattern below.
                below = " - 0x2000" if "satfinite" in m else ""
                c = f"o0 = number(a0, F32).kind == 2 ? (a0 & 0xffffe000){below} : {c[5:]}"
            bits = 32 if d == "tf32" else FLOATS[d]
            kind = "int" if rnd == ".rna" else "f32" if d == "tf32" else d
            out.append(
                Instruction(
                    opcode, f"{opcode} %o0, %a0;", (register(FLOATS[s]),), (register(bits),), (kind,), c, sm
                )
            )  # fmt: skip
    for t, (rnd, mode) in product(("f16", "bf16", "f32"), INTEGRAL.items()):
        for m in {"f32": every, "bf16": ("",), "f16": ("", ".sat")}[t]:
            opcode = f"cvt{rnd}{m}.{t}.{t}"
            x = "flush32(a0)" if "ftz" in m else "a0"
            c = (
                f"double x = value({x}, {c_format(t)}), v = __builtin_copysign(integral(x, {mode}), x);"
                f"o0 = rounded(exactly(v), {c_format(t)}, RN, {_flags(m)});"
            )
            if t == "f32":
                c = (
                    f"float x = f32({x}), v = __builtin_copysignf(integral(x, {mode}), x);"
                    f"o0 = v != v ? {'0' if 'sat' in m else '0x7fffffff'} : clamped(bits32(v), F32, {_flags(m)});"
                )
            reg = register(FLOATS[t])
            out.append(Instruction(opcode, f"{opcode} %o0, %a0;", (reg,), (reg,), (t,), c, 90 if t == "bf16" else 75))
    return out


def narrow() -> list[Instruction]:
    """Conversions between two narrow floats and two of f16 or bf16."""
    out = []
    formats = {
        "e4m3": ("0x7e", "0x7f", 89, ""), "e5m2": ("0x7b", "0x7f", 89, ""), "e2m3": ("0x1f", "0x1f", 100, BLACKWELL),
        "e3m2": ("0x1f", "0x1f", 100, BLACKWELL), "e2m1": ("0x7", "0x7", 100, BLACKWELL),
    }  # fmt: skip
    for t, (most, nan, sm, arch) in formats.items():
        f = c_format(t)
        number = f"number({{}}, {f})" if t == "e5m2" else f"narrow({{}}, {f}, {nan if t == 'e4m3' else '~(u64)0'})"
        for relu in ("", ".relu"):
            how = _flags(relu)
            opcode = f"cvt.rn.satfinite{relu}.{t}x2.f16x2"
            lo, hi = (f"to_narrow(number({x}, F16), {f}, {most}, {nan}, {how})" for x in ("a0 & 0xffff", "a0 >> 16"))
            if t in ("e4m3", "e5m2"):
                out.append(
                    Instruction(
                        opcode,
                        f"{opcode} %o0, %a0;",
                        ("b32",),
                        ("b16",),
                        ("int",),
                        f"o0 = {lo} | {hi} << 8;",
                        sm,
                        arch=arch,
                    )
                )
            four = t == "e2m1"
            lo, hi = (number.format(x) for x in (("a0 & 15", "a0 >> 4 & 15") if four else ("a0 & 255", "a0 >> 8")))
            if t in ("e2m3", "e3m2"):
                lo, hi = (number.format(x) for x in ("a0 & 63", "a0 >> 8 & 63"))
            name = f"cvt.rn{relu}.f16x2.{t}x2"
            body = f"{name} %o0, %a0;" if not four else f"cvt.u8.u16 %b, %a0; {name} %o0, %b;"
            c = f"o0 = rounded({lo}, F16, RN, {how}) | rounded({hi}, F16, RN, {how}) << 16;"
            out.append(
                Instruction(
                    name, body, ("b16",), ("b32",), ("f16x2",), c, sm, ".reg .b8 %b;" if four else "", arch=arch
                )
            )
    return out


def integers() -> list[Instruction]:
    """Integer instructions: of one word, of a 16-bit integer, and of two."""
    out = []

    def one(name: str, t: str, c: str, body: str = "", kind: str = "") -> None:
        reg = register(INTS.get(t) or int(t[1:]))
        out.append(Instruction(name, body or f"{name} %o0, %a0;", (reg,), (kind or reg,), ("int",), f"o0 = {c};", 75))

    for t in ("s16", "s32"):
        x = c_int(t, "a0")
        one(f"neg.{t}", t, f"0 - (i64){x}")
        one(f"abs.{t}", t, f"{x} < 0 ? 0 - (i64){x} : {x}")
    for t in ("b16", "b32"):
        one(f"not.{t}", t, "~a0")
        one(f"cnot.{t}", t, "a0 == 0")
        one(f"mov.{t}", t, "a0")
    one("popc.b32", "b32", "__builtin_popcount(a0)")
    one("clz.b32", "b32", "a0 ? __builtin_clz(a0) : 32")
    swap = "u32 r = a0; r = (r >> 1 & 0x55555555) | (r & 0x55555555) << 1; r = (r >> 2 & 0x33333333) | (r & 0x33333333) << 2;"
    swap += "r = (r >> 4 & 0x0f0f0f0f) | (r & 0x0f0f0f0f) << 4; o0 = __builtin_bswap32(r);"
    out.append(Instruction("brev.b32", "brev.b32 %o0, %a0;", ("b32",), ("b32",), ("int",), swap, 75))
    for t, amount in product(("u32", "s32"), ("", ".shiftamt")):
        x = "(a0 ^ -(a0 >> 31))" if t == "s32" else "a0"
        top = f"__builtin_clz({x})" if amount else f"31 - __builtin_clz({x})"
        one(f"bfind{amount}.{t}", "b32", f"{x} ? {top} : -1")
    for t, c in product(("u32", "s32"), (1, 2, 3, 7, 10, 64, 100, 641, 1 << 20, (1 << 31) - 1, -3, -8, -100)):
        if c < 0 and t == "u32":
            continue
        x = f"((i64){c_int(t, 'a0')})"
        for name, sign in (("div", "/"), ("rem", "%")):
            one(f"{name}.{t}.{c}", t, f"{x} {sign} {c}", f"{name}.{t} %o0, %a0, {c};")
    for c in (-1, 3, 8, 255, 0x12345):
        one(f"mul.u32.{c}", "u32", f"a0 * (u32){c}", f"mul.lo.u32 %o0, %a0, {c};")
    return out + pairs()


def pairs() -> list[Instruction]:
    """Instructions of two 16-bit integers."""
    out = []

    def two(name: str, c: str, reg: str = "b16", body: str = "", decl: str = "") -> None:
        out.append(
            Instruction(name, body or f"{name} %o0, %a0, %a1;", ("b16", "b16"), (reg,), ("int",), c, 75, decl)
        )  # fmt: skip

    for t in ("u16", "s16"):
        x, y = (f"((i64){c_int(t, a)})" for a in ("a0", "a1"))
        for name, sign in (("add", "+"), ("sub", "-"), ("mul.lo", "*")):
            two(f"{name}.{t}", f"o0 = {x} {sign} {y};")
        two(f"mul.hi.{t}", f"o0 = {x} * {y} >> 16;")
        two(f"mul.wide.{t}", f"o0 = {x} * {y};", "b32")
        two(f"min.{t}", f"o0 = {x} < {y} ? {x} : {y};")
        two(f"max.{t}", f"o0 = {x} > {y} ? {x} : {y};")
        for name, sign in (("div", "/"), ("rem", "%")):
            two(f"{name}.{t}", f"any = !a1 || ({x} == -32768 && {y} == -1); o0 = any ? 0 : {x} {sign} {y};")
        for cmp, sign in (("lt", "<"), ("le", "<="), ("gt", ">"), ("ge", ">=")):
            two(f"setp.{cmp}.{t}", f"o0 = {x} {sign} {y};", "pred")
        two(f"shr.{t}", f"o0 = {x} >> (a1 > 16 ? 16 : a1);", body=f"cvt.u32.u16 %s, %a1; shr.{t} %o0, %a0, %s;",
            decl=".reg .b32 %s;")  # fmt: skip
        two(f"mad.lo.{t}.12345", f"o0 = {x} * {y} + 12345;", body=f"mad.lo.{t} %o0, %a0, %a1, 12345;")
        two(f"sad.{t}.7", f"o0 = 7 + ({x} > {y} ? {x} - {y} : {y} - {x});", body=f"sad.{t} %o0, %a0, %a1, 7;")
    x, y = "(i64)(i16)a0", "(i64)(i16)a1"
    for name, sign in (("and", "&"), ("or", "|"), ("xor", "^")):
        two(f"{name}.b16", f"o0 = a0 {sign} a1;")
    two("setp.eq.b16", "o0 = a0 == a1;", "pred")
    two("setp.ne.b16", "o0 = a0 != a1;", "pred")
    two(
        "shl.b16",
        "o0 = a1 > 15 ? 0 : a0 << a1;",
        body="cvt.u32.u16 %s, %a1; shl.b16 %o0, %a0, %s;",
        decl=".reg .b32 %s;",
    )
    two("set.le.u32.s16", f"o0 = {x} <= {y} ? ~(u32)0 : 0;", "b32")
    two("set.le.f32.s16", f"o0 = {x} <= {y} ? 0x3f800000 : 0;", "b32")
    two("mov.b32.pack", "o0 = a1 << 16 | a0;", "b32", "mov.b32 %o0, {%a0, %a1};")
    return out


COMPARISONS: Final = {
    "eq": "x == y", "ne": "(x < y) | (x > y)", "lt": "x < y", "le": "x <= y", "gt": "x > y", "ge": "x >= y", "equ": "!(x < y) & !(x > y)",
    "neu": "x != y", "ltu": "!(x >= y)", "leu": "!(x > y)", "gtu": "!(x <= y)", "geu": "!(x < y)", "num": "(x == x) & (y == y)",
    "nan": "(x != x) | (y != y)",
}  # fmt: skip


def halves() -> list[Instruction]:
    """Instructions of one and of two f16 or bf16."""
    out = []
    for t in ("f16", "bf16"):
        f = c_format(t)
        base = 75 if t == "f16" else 90

        def one(name: str, c: str, sm: int, t: str = t) -> None:
            out.append(Instruction(name, f"{name} %o0, %a0;", ("b16",), ("b16",), (t,), c, sm))

        def two(
            name: str, c: str, sm: int, reg: str = "b16", kind: str = "", body: str = "", decl: str = "", t: str = t
        ) -> None:
            text = body or f"{name} %o0, %a0, %a1;"
            out.append(Instruction(name, text, ("b16", "b16"), (reg,), (kind or t,), c, sm, decl))

        one(f"neg.{t}", f"o0 = a0 ^ SIGN({f});", 75 if t == "f16" else 80)
        one(f"abs.{t}", f"o0 = a0 & (SIGN({f}) - 1);", 75 if t == "f16" else 80)
        if t == "f16":
            one("neg.ftz.f16", f"o0 = flush(a0, {f}) ^ SIGN({f});", 75)
            one("abs.ftz.f16", f"o0 = flush(a0, {f}) & (SIGN({f}) - 1);", 75)
        plain = ("", ".ftz", ".sat", ".ftz.sat") if t == "f16" else ("",)

        def numbers(m: str, f: str = f) -> str:
            x = "Number x = number(a0, F), y = number(a1, F);"
            if "ftz" in m:
                x += "x = flushed(x, F); y = flushed(y, F);"
            return x.replace("F)", f + ")")

        def ending(r: str, m: str, f: str = f) -> str:
            return f"Number r = {r}; o0 = rounded(r, {f}, RN, {_flags(m)}); p0 = tiny(r, o0, {f}, {_flags(m)});"

        for m in plain:
            # f64 has sums of f16 and products of both exactly.
            p, q = (f"value(flush({a}, {f}), {f})" if "ftz" in m else f"value({a}, {f})" for a in ("a0", "a1"))
            if t == "f16":
                two(f"add{m}.{t}", ending(f"exactly({p} + {q})", m), base)
                two(f"sub.rn{m}.{t}", ending(f"exactly({p} - {q})", m), base)
            else:
                two(f"add{m}.{t}", numbers(m) + ending("sum(x, y, 0)", m), base)
                two(f"sub.rn{m}.{t}", numbers(m) + "y.neg ^= 1;" + ending("sum(x, y, 0)", m), base)
            two(f"mul{m}.{t}", ending(f"exactly({p} * {q})", m), base)
        constants = (0x3C00, 0x0001, 0xFBFF) if t == "f16" else (0x3F80, 0x0001, 0xFF7F)
        for m in (*plain, ".relu"):
            for c in constants if m == "" else constants[:1]:
                z = f"Number z = number({c}, {f});" + (
                    "z = flushed(z, F);".replace("F)", f + ")") if "ftz" in m else ""
                )
                name = f"fma.rn{m}.{t}"
                two(f"{name}.{c:04x}", numbers(m) + z + ending("sum(product(x, y), z, 0)", m), 80 if t == "bf16" or m == ".relu" else 75,
                    body=f"mov.b16 %t, {c:#x}; {name} %o0, %a0, %a1, %t;", decl=".reg .b16 %t;")  # fmt: skip
        for m, low, nan in product(("", ".ftz") if t == "f16" else ("",), (1, 0), ("", ".NaN")):
            x, y = ("a0", "a1") if m == "" else (f"flush(a0, {f})", f"flush(a1, {f})")
            two(f"{'min' if low else 'max'}{m}{nan}.{t}", f"o0 = chosen({x}, {y}, {f}, {low}, {int(nan != '')});", 80)
        sizes = "a0 & 0x7fff", "a1 & 0x7fff"
        two(f"min.xorsign.abs.{t}",
            f"o0 = chosen({sizes[0]}, {sizes[1]}, {f}, 1, 0) | ((a0 ^ a1) & 0x8000);", 86)  # fmt: skip
        values = f"float x = value(a0, {f}), y = value(a1, {f});"
        for cmp, c in COMPARISONS.items():
            two(f"setp.{cmp}.{t}", f"{values} o0 = {c};", base, "pred", "int")
        one_ = "0x3c00" if t == "f16" else "0x3f80"
        for d, reg, yes in ((t, "b16", one_), ("u16", "b16", "0xffff"), ("s32", "b32", "~(u32)0")):
            two(f"set.gt.{d}.{t}", f"{values} o0 = x > y ? {yes} : 0;", base, reg, "int")
    return out


def singles() -> list[Instruction]:
    """Instructions of one f32, with exact results."""
    out = []

    def one(name: str, c: str, body: str = "", reg: str = "b32", mode: str = "RN") -> None:
        kind = "int" if reg == "pred" else "f32"
        out.append(Instruction(name, body or f"{name} %o0, %a0;", ("b32",), (reg,), (kind,), c, 75, mode=mode))

    for ftz in ("", ".ftz"):
        x = "flush32(a0)" if ftz else "a0"
        one(f"neg{ftz}.f32", f"o0 = {x} ^ 0x80000000;")
        one(f"abs{ftz}.f32", f"o0 = {x} & 0x7fffffff;")
    tests = {
        "finite": "m < 0x7f800000", "infinite": "m == 0x7f800000", "number": "m <= 0x7f800000", "notanumber": "m > 0x7f800000",
        "normal": "(m >= 0x800000 && m < 0x7f800000) || !m", "subnormal": "m && m < 0x800000",
    }  # fmt: skip
    for name, c in tests.items():
        one(f"testp.{name}.f32", f"u32 m = a0 & 0x7fffffff; o0 = {c};", reg="pred")
    for (rnd, mode), ftz in product(ROUNDED.items(), ("", ".ftz")):
        x = "f32(flush32(a0))" if ftz else "f32(a0)"
        end = "o0 = bits32(r);"
        if ftz:
            # A quotient below the least normal number may round up to it.
            end = "u32 w = bits32(r); o0 = flush32(w); if ((w & 0x7fffffff) == 0x800000 && x != 0x1p126f && x != -0x1p126f) p0 = w & 0x80000000;"
        one(f"rcp{rnd}{ftz}.f32", f"float x = {x}, r = 1 / x; {end}", mode=mode)
        one(
            f"sqrt{rnd}{ftz}.f32",
            f"float x = {x}, r = __builtin_sqrtf(x); {end if not ftz else 'o0 = bits32(r);'}",
            mode=mode,
        )
    for word in (0x40400000, 0x00000003, 0x7F000001, 0x3F800000):
        one(f"div.f32.by.{word:x}", f"o0 = bits32(f32(a0) / f32({word}u));", f"div.rn.f32 %o0, %a0, 0f{word:08X};")
        one(f"div.f32.of.{word:x}", f"o0 = bits32(f32({word}u) / f32(a0));", f"div.rn.f32 %o0, 0f{word:08X}, %a0;")
    for name, body, c in (
        ("add0", "add.f32 %o0, %a0, 0f00000000;", "x + 0.0f"), ("addm0", "add.f32 %o0, %a0, 0f80000000;", "x + -0.0f"),
        ("sub0", "sub.f32 %o0, %a0, 0f00000000;", "x - 0.0f"), ("0sub", "sub.f32 %o0, 0f00000000, %a0;", "0.0f - x"),
        ("mul1", "mul.f32 %o0, %a0, 0f3F800000;", "x * 1.0f"), ("mul0", "mul.f32 %o0, %a0, 0f00000000;", "x * 0.0f"),
        ("mul2", "mul.f32 %o0, %a0, 0f40000000;", "x * 2.0f"), ("subself", "sub.f32 %o0, %a0, %a0;", "x - x"),
        ("mulftz1", "mul.ftz.f32 %o0, %a0, 0f3F800000;", "f32(flush32(a0)) * 1.0f"),
        ("fma1", "fma.rn.f32 %o0, %a0, 0f3F800000, 0f80000000;", "__builtin_fmaf(x, 1.0f, -0.0f)"),
        ("mininf", "min.f32 %o0, %a0, 0f7F800000;", "x != x ? (float)INFINITY : x"),
    ):  # fmt: skip
        one(f"const.{name}", f"float x = f32(a0); o0 = bits32({c});", body)
    return out


def approximate() -> list[Instruction]:
    """Functions with the accuracy that the PTX manual gives."""
    out = []
    for name, c, relative, absolute, largest in (
        ("rcp", "1 / x", "0x1p-23", "0", "INFINITY"), ("sqrt", "__builtin_sqrt(x)", "0x1p-23", "0", "INFINITY"),
        ("rsqrt", "1 / __builtin_sqrt(x)", "exp2(-22.9)", "0", "INFINITY"), ("ex2", "exp2(x)", "exp2(-22.5)", "0", "INFINITY"),
        ("lg2", "log2(x)", "0x1p-22", "0x1p-22", "INFINITY"), ("sin", "sin(x)", "0", "exp2(-20.5)", "M_PI"),
        ("cos", "cos(x)", "0", "exp2(-20.5)", "M_PI"), ("tanh", "tanh(x)", "0x1p-11", "0", "INFINITY"),
    ):  # fmt: skip
        for ftz in ("", ".ftz") if name != "tanh" else ("",):
            opcode = f"{name}.approx{ftz}.f32"
            x = "flush32(a0)" if ftz else "a0"
            code = f"double x = f32({x}); ok = near(x, {c}, g0, {relative}, {absolute}, {largest}, {int(ftz != '')});"
            out.append(Instruction(opcode, f"{opcode} %o0, %a0;", ("b32",), ("b32",), ("judged",), code, 75))
    for opcode, t, c, relative, absolute, sm in (
        ("ex2.approx.f16", "f16", "exp2(x)", "exp2(-9.9)", "0", 75), ("tanh.approx.f16", "f16", "tanh(x)", "0", "exp2(-10.987)", 75),
        ("ex2.approx.ftz.bf16", "bf16", "exp2(x)", "0x1p-7", "0", 90), ("tanh.approx.bf16", "bf16", "tanh(x)", "0", "0x1p-8", 90),
    ):  # fmt: skip
        f = c_format(t)
        x = f"flush(a0, {f})" if "ftz" in opcode else "a0"
        code = f"double x = value({x}, {f}); ok = near16(x, {c}, value(g0, {f}), {relative}, {absolute}, {f});"
        out.append(Instruction(opcode, f"{opcode} %o0, %a0;", ("b16",), ("b16",), ("judged",), code, sm))
    return out


def instructions() -> list[Instruction]:
    """All of them."""
    return (
        integers() + between_ints() + floats_to_ints() + ints_to_floats() + between_floats() + narrow() + halves() + singles() + approximate()
    )  # fmt: skip
