"""Forms of the integer and bit instructions."""

import functools
from collections.abc import Callable

from tests.forms.exact import Expected, to_signed
from tests.forms.form import Form
from tests.forms.values import ints, pairs, rng

B = {"u16": 16, "s16": 16, "u32": 32, "s32": 32, "u64": 64, "s64": 64, "b16": 16, "b32": 32, "b64": 64}
ALL = ("u16", "s16", "u32", "s32", "u64", "s64")


def reg(type_: str) -> str:
    """Register type of a value type."""
    return f"b{B[type_]}"


def num(x: int, type_: str) -> int:
    """A pattern as the number its type says."""
    return to_signed(x, B[type_]) if type_[0] == "s" else x & (1 << B[type_]) - 1


def pack(x: int, type_: str) -> int:
    """A number as a pattern."""
    return x & (1 << B[type_]) - 1


def simple(
    name: str, opcode: str, type_: str, count: int, f: Callable[..., int], out: str = "", sm: int = 75, last: str = ""
) -> Form:
    """d = f(numbers) for `count` sources of one type (the last one of type `last` if given)."""
    out = out or type_
    types = [type_] * count
    if last:
        types[-1] = last
    args = ", ".join(f"%a{k}" for k in range(count))
    widest = max(B[t] for t in types)
    rows = pairs(ints(B[type_]), widest, name, 128, count)
    rows = [tuple(x & (1 << B[t]) - 1 for x, t in zip(r, types, strict=True)) for r in rows]

    def want(*a: int) -> int:
        return pack(f(*(num(x, t) for x, t in zip(a, types, strict=True))), out)

    return Form(name, f"{opcode} %o0, {args};", [reg(t) for t in types], [reg(out)], rows, want, sm=sm)


def clamp(x: int, type_: str) -> int:
    """Saturated to the type's range."""
    bits = B[type_]
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if type_[0] == "s" else (0, (1 << bits) - 1)
    return min(max(x, low), high)


def quotient(a: int, b: int) -> int:
    """Division towards zero."""
    q = abs(a) // abs(b)
    return q if (a < 0) == (b < 0) else -q


def arithmetic() -> list[Form]:
    """add sub mul mad mul24 mad24 sad div rem abs neg min max and carries."""
    out: list[Form] = []
    for t in ALL:
        bits = B[t]
        out.append(simple(f"add.{t}", f"add.{t}", t, 2, lambda a, b: a + b))
        out.append(simple(f"sub.{t}", f"sub.{t}", t, 2, lambda a, b: a - b))
        out.append(simple(f"mul.lo.{t}", f"mul.lo.{t}", t, 2, lambda a, b: a * b))
        out.append(simple(f"mul.hi.{t}", f"mul.hi.{t}", t, 2, lambda a, b, n=bits: a * b >> n))
        out.append(simple(f"mad.lo.{t}", f"mad.lo.{t}", t, 3, lambda a, b, c: a * b + c))
        out.append(simple(f"mad.hi.{t}", f"mad.hi.{t}", t, 3, lambda a, b, c, n=bits: (a * b >> n) + c))
        if bits < 64:
            wide = f"{t[0]}{2 * bits}"
            out.append(simple(f"mul.wide.{t}", f"mul.wide.{t}", t, 2, lambda a, b: a * b, wide))
            out.append(simple(f"mad.wide.{t}", f"mad.wide.{t}", t, 3, lambda a, b, c: a * b + c, wide, last=wide))
        out.append(simple(f"sad.{t}", f"sad.{t}", t, 3, lambda a, b, c: c + abs(a - b)))
        out.append(simple(f"min.{t}", f"min.{t}", t, 2, min))
        out.append(simple(f"max.{t}", f"max.{t}", t, 2, max))
        for name, f in (("div", quotient), ("rem", lambda a, b: a - b * quotient(a, b))):
            form = simple(f"{name}.{t}", f"{name}.{t}", t, 2, f)
            low = -(1 << (bits - 1)) if t[0] == "s" else None
            form.vectors = [
                v if v[1] and not (num(v[0], t) == low and num(v[1], t) == -1) else (v[0], 3) for v in form.vectors
            ]
            out.append(form)
        if t[0] == "s":
            out.append(simple(f"neg.{t}", f"neg.{t}", t, 1, lambda a: -a))
            out.append(simple(f"abs.{t}", f"abs.{t}", t, 1, abs))
    out.append(simple("add.sat.s32", "add.sat.s32", "s32", 2, lambda a, b: clamp(a + b, "s32")))
    out.append(simple("sub.sat.s32", "sub.sat.s32", "s32", 2, lambda a, b: clamp(a - b, "s32")))
    out.append(simple("mad.hi.sat.s32", "mad.hi.sat.s32", "s32", 3, lambda a, b, c: clamp((a * b >> 32) + c, "s32")))
    for t in ("u32", "s32"):

        def low24(x: int, t: str = t) -> int:
            return to_signed(x, 24) if t == "s32" else x & 0xFFFFFF

        out.append(simple(f"mul24.lo.{t}", f"mul24.lo.{t}", t, 2, lambda a, b, g=low24: g(a) * g(b)))
        out.append(simple(f"mul24.hi.{t}", f"mul24.hi.{t}", t, 2, lambda a, b, g=low24: g(a) * g(b) >> 16))
        out.append(simple(f"mad24.lo.{t}", f"mad24.lo.{t}", t, 3, lambda a, b, c, g=low24: g(a) * g(b) + c))
        out.append(simple(f"mad24.hi.{t}", f"mad24.hi.{t}", t, 3, lambda a, b, c, g=low24: (g(a) * g(b) >> 16) + c))
    out += carries() + constants() + packed()
    return out


def packed() -> list[Form]:
    """add, min and max of two 16-bit integers in a word, and min and max with .relu."""
    out = []
    for t in ("u16", "s16"):
        for name, f in (("add", lambda a, b: a + b), ("min", min), ("max", max)):

            def both(a: int, b: int, t: str = t, f: Callable[..., int] = f, least: int = -(1 << 16)) -> int:
                return sum(pack(max(f(num(a >> k, t), num(b >> k, t)), least), t) << k for k in (0, 16))

            name += f".{t}x2"
            rows = pairs(ints(32), 32, name, 128, 2)
            out.append(Form(name, f"{name} %o0, %a0, %a1;", ["b32"] * 2, ["b32"], rows, both, sm=90))
            if t == "s16" and "add" not in name:
                relu = name.replace(".", ".relu.", 1)
                want = functools.partial(both, least=0)
                out.append(Form(relu, f"{relu} %o0, %a0, %a1;", ["b32"] * 2, ["b32"], rows, want, sm=90))
    for name, f in (("min", min), ("max", max)):
        out.append(simple(f"{name}.relu.s32", f"{name}.relu.s32", "s32", 2, lambda a, b, f=f: max(f(a, b), 0), sm=90))
    return out


def carries() -> list[Form]:
    """Carry chains of two words and of two pairs."""
    out = []
    for bits in (32, 64):
        t, m = f"u{bits}", (1 << bits) - 1
        rows = pairs(ints(bits), bits, f"cc{bits}", 128, 4)

        def halves(x: int, n: int = bits, mask: int = m) -> tuple[int, int]:
            return x & mask, x >> n & mask

        out.append(
            Form(
                f"addc.{t}", f"add.cc.{t} %o0, %a0, %a1; addc.{t} %o1, %a2, %a3;", [f"b{bits}"] * 4, [f"b{bits}"] * 2, rows,
                lambda a, b, c, d, n=bits, h=halves: h((a | c << n) + (b | d << n)),
            )
        )  # fmt: skip
        out.append(
            Form(
                f"subc.{t}", f"sub.cc.{t} %o0, %a0, %a1; subc.{t} %o1, %a2, %a3;", [f"b{bits}"] * 4, [f"b{bits}"] * 2, rows,
                lambda a, b, c, d, n=bits, h=halves: h((a | c << n) - (b | d << n)),
            )
        )  # fmt: skip
        rows5 = pairs(ints(bits), bits, f"madc{bits}", 128, 4)
        out.append(
            Form(
                f"madc.{t}", f"mad.lo.cc.{t} %o0, %a0, %a1, %a2; madc.hi.{t} %o1, %a0, %a1, %a3;", [f"b{bits}"] * 4,
                [f"b{bits}"] * 2, rows5, lambda a, b, c, d, n=bits, h=halves: h(a * b + (c | d << n)),
            )
        )  # fmt: skip
    return out


def constants() -> list[Form]:
    """Constant operands that tempt an optimiser: powers of two, negatives, divisors."""
    out = []
    for t in ("u32", "s32", "u64", "s64"):
        for c in (1, 2, 3, 7, 10, 64, 100, 641, 1 << 20, (1 << 31) - 1):
            if c in (3, 100) or t in ("u32", "s32"):
                out.append(simple(f"div.{t}.{c}", f"div.{t}", t, 1, lambda a, c=c: quotient(a, c)))
                out[-1].body = f"div.{t} %o0, %a0, {c};"
                out.append(simple(f"rem.{t}.{c}", f"rem.{t}", t, 1, lambda a, c=c: a - c * quotient(a, c)))
                out[-1].body = f"rem.{t} %o0, %a0, {c};"
        for c in (-1, 3, 8, 255, 0x12345):
            out.append(simple(f"mul.{t}.{c}", "", t, 1, lambda a, c=c: a * c))
            out[-1].body = f"mul.lo.{t} %o0, %a0, {c};"
    for c in (-3, -8, -100):
        out.append(simple(f"div.s32.{c}", "", "s32", 1, lambda a, c=c: quotient(a, c)))
        out[-1].body = f"div.s32 %o0, %a0, {c};"
        out.append(simple(f"rem.s32.{c}", "", "s32", 1, lambda a, c=c: a - c * quotient(a, c)))
        out[-1].body = f"rem.s32 %o0, %a0, {c};"
    return out


def logic() -> list[Form]:
    """and or xor not cnot lop3 shl shr shf prmt."""
    out: list[Form] = []
    for t in ("b16", "b32", "b64"):
        out.append(simple(f"and.{t}", f"and.{t}", t, 2, lambda a, b: a & b))
        out.append(simple(f"or.{t}", f"or.{t}", t, 2, lambda a, b: a | b))
        out.append(simple(f"xor.{t}", f"xor.{t}", t, 2, lambda a, b: a ^ b))
        out.append(simple(f"not.{t}", f"not.{t}", t, 1, lambda a: ~a))
        out.append(simple(f"cnot.{t}", f"cnot.{t}", t, 1, lambda a: int(a == 0)))
        n = B[t]
        out.append(shift(f"shl.{t}", t, lambda a, s, n=n: a << s if s < n else 0))
    for t in ("u16", "u32", "u64", "s16", "s32", "s64", "b32"):
        out.append(shift(f"shr.{t}", t, lambda a, s, n=B[t]: a >> min(s, n)))
    for op, f in (("and", lambda a, b: a & b), ("or", lambda a, b: a | b), ("xor", lambda a, b: a ^ b)):
        rows = [(0, 0), (0, 1), (1, 0), (1, 1)] * 8
        out.append(Form(f"{op}.pred", f"{op}.pred %o0, %a0, %a1;", ["pred"] * 2, ["pred"], rows, f))
    out.append(Form("not.pred", "not.pred %o0, %a0;", ["pred"], ["pred"], [(0,), (1,)], lambda a: 1 - a))
    for lut in (0x00, 0x96, 0xE8, 0x1D, 0xCA, 0x80, 0xFE, 0x40):

        def lop3(a: int, b: int, c: int, lut: int = lut) -> int:
            r = 0
            for k in range(8):
                if lut >> k & 1:
                    r |= (a if k & 4 else ~a) & (b if k & 2 else ~b) & (c if k & 1 else ~c)
            return r

        out.append(simple(f"lop3.{lut:02x}", "", "b32", 3, lop3))
        out[-1].body = f"lop3.b32 %o0, %a0, %a1, %a2, {lut:#x};"
    out += funnel() + permute()
    return out


def shift(name: str, t: str, f: Callable[[int, int], int]) -> Form:
    """A shift with amounts below, at and far above the width."""
    r = rng(name)
    amounts = [0, 1, 2, 15, 16, 17, 31, 32, 33, 63, 64, 65, 255, 256, 0x80000000, 0xFFFFFFFF]
    rows = [(r.getrandbits(B[t]) | (r.getrandbits(1) << (B[t] - 1)), s) for s in amounts for _ in range(4)]
    return Form(name, f"{name} %o0, %a0, %a1;", [reg(t), "b32"], [reg(t)], rows, lambda a, s: pack(f(num(a, t), s), t))


def funnel() -> list[Form]:
    """shf in both directions and modes."""
    out = []
    r = rng("shf")
    amounts = [0, 1, 5, 16, 31, 32, 33, 63, 64, 100, 0xFFFFFFFF]
    rows = [(r.getrandbits(32), r.getrandbits(32), s) for s in amounts for _ in range(4)]
    for mode in ("clamp", "wrap"):

        def amount(s: int, mode: str = mode) -> int:
            return min(s, 32) if mode == "clamp" else s & 31

        ins = ["b32"] * 3
        out.append(
            Form(f"shf.l.{mode}", f"shf.l.{mode}.b32 %o0, %a0, %a1, %a2;", ins, ["b32"], rows,
                 lambda a, b, c, g=amount: ((b << 32 | a) << g(c)) >> 32 & 0xFFFFFFFF)
        )  # fmt: skip
        out.append(
            Form(f"shf.r.{mode}", f"shf.r.{mode}.b32 %o0, %a0, %a1, %a2;", ins, ["b32"], rows,
                 lambda a, b, c, g=amount: (b << 32 | a) >> g(c) & 0xFFFFFFFF)
        )  # fmt: skip
    return out


def permute() -> list[Form]:
    """prmt, generic and in its modes."""
    r = rng("prmt")
    rows = [(r.getrandbits(32), r.getrandbits(32), r.getrandbits(16)) for _ in range(64)]

    def byte(a: int, b: int, k: int) -> int:
        return (b << 32 | a) >> 8 * k & 0xFF

    def generic(a: int, b: int, c: int) -> int:
        v = 0
        for k in range(4):
            sel = c >> 4 * k & 15
            x = byte(a, b, sel & 7)
            v |= (0xFF * (x >> 7) if sel & 8 else x) << 8 * k
        return v

    modes: dict[str, list[list[int]]] = {
        "f4e": [[n, n + 1, n + 2, n + 3] for n in range(4)],
        "b4e": [[n, (n - 1) % 8, (n - 2) % 8, (n - 3) % 8] for n in range(4)],
        "rc8": [[n] * 4 for n in range(4)],
        "ecl": [[max(n, k) for k in range(4)] for n in range(4)],
        "ecr": [[min(n, k) for k in range(4)] for n in range(4)],
        "rc16": [[0, 1, 0, 1], [2, 3, 2, 3]] * 2,
    }
    out = [Form("prmt", "prmt.b32 %o0, %a0, %a1, %a2;", ["b32"] * 3, ["b32"], rows, generic)]
    for c in (0x5410, 0x7632, 0x3210, 0x8880, 0x0123, 0xBA98):
        out.append(
            Form(
                f"prmt.{c:04x}",
                f"prmt.b32 %o0, %a0, %a1, {c:#x};",
                ["b32"] * 3,
                ["b32"],
                rows,
                lambda a, b, _, c=c: generic(a, b, c),
            )
        )
    for mode, table in modes.items():

        def named(a: int, b: int, c: int, table: list[list[int]] = table) -> int:
            return sum(byte(a, b, k) << 8 * n for n, k in enumerate(table[c & 3]))

        out.append(Form(f"prmt.{mode}", f"prmt.b32.{mode} %o0, %a0, %a1, %a2;", ["b32"] * 3, ["b32"], rows, named))
    return out


def bits() -> list[Form]:
    """popc clz bfind brev bfe bfi bmsk szext fns dp2a dp4a."""
    out: list[Form] = []
    for n in (32, 64):
        t = f"b{n}"
        rows = [(x,) for x in ints(n)] + pairs(ints(n), n, f"bits{n}", 64, 1)
        out.append(Form(f"popc.{t}", f"popc.{t} %o0, %a0;", [t], ["b32"], rows, lambda a: a.bit_count()))
        out.append(Form(f"clz.{t}", f"clz.{t} %o0, %a0;", [t], ["b32"], rows, lambda a, n=n: n - a.bit_length()))
        out.append(Form(f"brev.{t}", f"brev.{t} %o0, %a0;", [t], [t], rows, lambda a, n=n: int(f"{a:0{n}b}"[::-1], 2)))
        for s in "us":
            for amt in ("", ".shiftamt"):

                def find(a: int, n: int = n, s: str = s, amt: str = amt) -> int:
                    if s == "s" and a >> (n - 1):
                        a ^= (1 << n) - 1
                    if a == 0:
                        return 0xFFFFFFFF
                    top = a.bit_length() - 1
                    return n - 1 - top if amt else top

                out.append(Form(f"bfind{amt}.{s}{n}", f"bfind{amt}.{s}{n} %o0, %a0;", [t], ["b32"], rows, find))
            out.append(extract(f"{s}{n}"))
        out.append(insert(n))
    out += masks() + dots()
    return out


def positions(name: str, n: int) -> list[tuple[int, ...]]:
    """Rows of two values, a position and a length, both beyond the width at times."""
    r = rng(name)
    places = [0, 1, 5, 8, 15, 16, 31, 32, 33, 63, 64, 255]
    return [(r.getrandbits(n), r.getrandbits(n), r.choice(places), r.choice(places)) for _ in range(128)]


def extract(t: str) -> Form:
    """bfe."""
    n = B[t]

    def bfe(a: int, p: int, length: int) -> int:
        p, length = p & 255, length & 255
        sign = 0
        if t[0] == "s" and length:
            sign = a >> min(p + length - 1, n - 1) & 1
        v = 0
        for k in range(n):
            bit = a >> (p + k) & 1 if k < length and p + k < n else sign
            v |= bit << k
        return v

    rows = [(a, p, length) for a, _, p, length in positions(f"bfe.{t}", n)]
    return Form(f"bfe.{t}", f"bfe.{t} %o0, %a0, %a1, %a2;", [f"b{n}", "b32", "b32"], [f"b{n}"], rows, bfe)


def insert(n: int) -> Form:
    """bfi."""

    def bfi(a: int, b: int, p: int, length: int) -> int:
        for k in range(length & 255):
            at = k + (p & 255)
            if at >= n:
                break
            b = b & ~(1 << at) | (a >> k & 1) << at
        return b

    t = f"b{n}"
    return Form(
        f"bfi.{t}", f"bfi.{t} %o0, %a0, %a1, %a2, %a3;", [t, t, "b32", "b32"], [t], positions(f"bfi{n}", n), bfi
    )


def masks() -> list[Form]:
    """bmsk, szext, fns."""
    out = []
    r = rng("masks")
    places = [0, 1, 5, 16, 31, 32, 33, 64, 0xFFFFFFFF]
    rows = [(a, b) for a in places for b in places]
    for mode in ("clamp", "wrap"):

        def bmsk(a: int, b: int, mode: str = mode) -> int:
            if mode == "clamp":
                a, b = min(a, 32), min(b, 32)
            else:
                a, b = a & 31, b & 31
            return ((1 << b) - 1 << a) & 0xFFFFFFFF

        out.append(Form(f"bmsk.{mode}", f"bmsk.{mode}.b32 %o0, %a0, %a1;", ["b32"] * 2, ["b32"], rows, bmsk, sm=75))
        for s in "us":

            def szext(a: int, b: int, mode: str = mode, s: str = s) -> int:
                n = b & 31 if mode == "wrap" else min(b, 32)
                if n >= 32:
                    return a
                if n == 0:
                    return 0
                low = a & (1 << n) - 1
                return (to_signed(low, n) if s == "s" else low) & 0xFFFFFFFF

            values = [(r.getrandbits(32), b) for b in places for _ in range(6)]
            out.append(
                Form(f"szext.{mode}.{s}32", f"szext.{mode}.{s}32 %o0, %a0, %a1;", ["b32"] * 2, ["b32"], values, szext)
            )
    return out


def dots() -> list[Form]:
    """dp4a and dp2a."""
    out = []
    for ta in "us":
        for tb in "us":

            def element(x: int, k: int, n: int, t: str) -> int:
                v = x >> n * k & (1 << n) - 1
                return to_signed(v, n) if t == "s" else v

            def dp4a(a: int, b: int, c: int, ta: str = ta, tb: str = tb) -> int:
                return c + sum(element(a, k, 8, ta) * element(b, k, 8, tb) for k in range(4))

            out.append(simple(f"dp4a.{ta}32.{tb}32", f"dp4a.{ta}32.{tb}32", "b32", 3, dp4a))
            for half in ("lo", "hi"):

                def dp2a(a: int, b: int, c: int, ta: str = ta, tb: str = tb, half: str = half) -> int:
                    shift = 0 if half == "lo" else 2
                    return c + sum(element(a, k, 16, ta) * element(b, k + shift, 8, tb) for k in range(2))

                out.append(simple(f"dp2a.{half}.{ta}32.{tb}32", f"dp2a.{half}.{ta}32.{tb}32", "b32", 3, dp2a))
    return out


COMPARE: dict[str, Callable[[int, int], bool]] = {
    "eq": lambda a, b: a == b, "ne": lambda a, b: a != b, "lt": lambda a, b: a < b, "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b, "lo": lambda a, b: a < b, "ls": lambda a, b: a <= b,
    "hi": lambda a, b: a > b, "hs": lambda a, b: a >= b,
}  # fmt: skip
BOOL: dict[str, Callable[[bool, bool], bool]] = {
    "and": lambda a, b: a and b,
    "or": lambda a, b: a or b,
    "xor": lambda a, b: a != b,
}


def comparing() -> list[Form]:
    """setp, set, selp, slct of integers."""
    out: list[Form] = []
    for t in (*ALL, "b16", "b32", "b64"):
        names = ["eq", "ne"] if t[0] == "b" else ["lt", "le", "gt", "ge"]
        if t in ("u32", "u64"):
            names += ["lo", "ls", "hi", "hs"]
        for c in names:
            rows = pairs(ints(B[t]), B[t], f"setp.{c}.{t}", 96, 2)
            f = COMPARE[c]
            out.append(
                Form(f"setp.{c}.{t}", f"setp.{c}.{t} %o0, %a0, %a1;", [reg(t)] * 2, ["pred"], rows,
                     lambda a, b, f=f, t=t: int(f(num(a, t), num(b, t))))
            )  # fmt: skip
    for t, c, b in (
        ("s32", "lt", "and"),
        ("u64", "ge", "or"),
        ("s16", "gt", "xor"),
        ("u32", "eq", "or"),
        ("s64", "le", "and"),
    ):
        rows = [(x, y, k & 1) for k, (x, y) in enumerate(pairs(ints(B[t]), B[t], f"setp2.{t}", 96, 2))]
        f, g = COMPARE[c], BOOL[b]

        def both(
            x: int, y: int, p: int, f: Callable[[int, int], bool] = f, g: Callable[[bool, bool], bool] = g, t: str = t
        ) -> tuple[Expected, ...]:
            r = f(num(x, t), num(y, t))
            return int(g(r, p == 0)), int(g(not r, p == 0))

        out.append(
            Form(
                f"setp.{c}.{b}.{t}.pq",
                f"setp.{c}.{b}.{t} %o0|%o1, %a0, %a1, !%a2;",
                [reg(t), reg(t), "pred"],
                ["pred", "pred"],
                rows,
                both,
            )
        )
    for dt in ("u32", "s32", "f32"):
        for t, c in (("u32", "lt"), ("s32", "gt"), ("s16", "le"), ("u64", "ne"), ("s64", "ge"), ("b32", "eq")):
            one = 0x3F800000 if dt == "f32" else 0xFFFFFFFF
            rows = pairs(ints(B[t]), B[t], f"set.{c}.{dt}.{t}", 64, 2)
            f = COMPARE[c]
            out.append(
                Form(f"set.{c}.{dt}.{t}", f"set.{c}.{dt}.{t} %o0, %a0, %a1;", [reg(t)] * 2, ["b32"], rows,
                     lambda a, b, f=f, t=t, one=one: one if f(num(a, t), num(b, t)) else 0)
            )  # fmt: skip
    for t in ("b16", "b32", "b64", "u16", "s64", "f32", "f64"):
        n = {"f32": 32, "f64": 64}.get(t) or B[t]
        rows = [(a, b, k & 1) for k, (a, b) in enumerate(pairs(ints(n), n, f"selp.{t}", 64, 2))]
        out.append(
            Form(
                f"selp.{t}",
                f"selp.{t} %o0, %a0, %a1, %a2;",
                [f"b{n}", f"b{n}", "pred"],
                [f"b{n}"],
                rows,
                lambda a, b, p: a if p else b,
            )
        )
    for t in ("b16", "u32", "s64", "f32", "f64"):
        n = {"f32": 32, "f64": 64}.get(t) or B[t]
        rows = [
            (a, b, c)
            for (a, b), (c,) in zip(pairs(ints(n), n, f"slct.{t}", 64, 2), pairs(ints(32), 32, "c", 64, 1), strict=True)
        ]
        out.append(
            Form(f"slct.{t}.s32", f"slct.{t}.s32 %o0, %a0, %a1, %a2;", [f"b{n}", f"b{n}", "b32"], [f"b{n}"], rows,
                 lambda a, b, c: b if c >> 31 else a)
        )  # fmt: skip
    return out


def moves() -> list[Form]:
    """mov in its packing, unpacking and plain forms."""
    out = []
    for t in ("b16", "b32", "b64", "u32", "s64", "f32", "f64"):
        n = {"f32": 32, "f64": 64}.get(t) or B[t]
        out.append(
            Form(f"mov.{t}", f"mov.{t} %o0, %a0;", [f"b{n}"], [f"b{n}"], pairs(ints(n), n, t, 32, 1), lambda a: a)
        )
    r = rng("mov")
    two = [(r.getrandbits(32), r.getrandbits(32)) for _ in range(32)]
    out.append(Form("mov.b64.pack", "mov.b64 %o0, {%a0, %a1};", ["b32"] * 2, ["b64"], two, lambda a, b: a | b << 32))
    out.append(
        Form(
            "mov.b32.pack",
            "mov.b32 %o0, {%a0, %a1};",
            ["b16"] * 2,
            ["b32"],
            [(a & 0xFFFF, b & 0xFFFF) for a, b in two],
            lambda a, b: a | b << 16,
        )
    )
    four = [tuple(r.getrandbits(16) for _ in range(4)) for _ in range(32)]
    out.append(
        Form(
            "mov.b64.pack4",
            "mov.b64 %o0, {%a0, %a1, %a2, %a3};",
            ["b16"] * 4,
            ["b64"],
            four,
            lambda a, b, c, d: a | b << 16 | c << 32 | d << 48,
        )
    )
    wide = [(r.getrandbits(64),) for _ in range(32)]
    out.append(
        Form(
            "mov.b64.unpack",
            "mov.b64 {%o0, %o1}, %a0;",
            ["b64"],
            ["b32"] * 2,
            wide,
            lambda a: (a & 0xFFFFFFFF, a >> 32),
        )
    )
    out.append(
        Form(
            "mov.b32.unpack",
            "mov.b32 {%o0, %o1}, %a0;",
            ["b32"],
            ["b16"] * 2,
            [(a & 0xFFFFFFFF,) for (a,) in wide],
            lambda a: (a & 0xFFFF, a >> 16),
        )
    )
    out.append(
        Form("mov.b64.unpack4", "mov.b64 {%o0, %o1, %o2, %o3}, %a0;", ["b64"], ["b16"] * 4, wide,
             lambda a: tuple(a >> 16 * k & 0xFFFF for k in range(4)))
    )  # fmt: skip
    out.append(Form("mov.b64.sink", "mov.b64 {_, %o0}, %a0;", ["b64"], ["b32"], wide, lambda a: a >> 32))
    for t, c in (("u32", 0xDEADBEEF), ("u64", 0x123456789ABCDEF0), ("u16", 0xBEEF), ("s64", -5)):
        n = B[t]
        out.append(
            Form(f"mov.{t}.imm", f"mov.{t} %o0, {c};", [], [f"b{n}"], [()] * 4, lambda c=c, n=n: c & (1 << n) - 1)
        )
    guarded = [(a, b, k & 1) for k, (a, b) in enumerate(two)]
    out.append(
        Form(
            "guard",
            "mov.b32 %o0, %a0; @%a2 mov.b32 %o0, %a1;",
            ["b32", "b32", "pred"],
            ["b32"],
            guarded,
            lambda a, b, p: b if p else a,
        )
    )
    out.append(Form("guard.not", "mov.b32 %o0, %a0; @!%a2 add.u32 %o0, %a1, %a0;", ["b32", "b32", "pred"], ["b32"], guarded,
                    lambda a, b, p: a if p else (a + b) & 0xFFFFFFFF))  # fmt: skip
    return out


def forms() -> list[Form]:
    """Every form of this file."""
    return arithmetic() + logic() + bits() + comparing() + moves()
