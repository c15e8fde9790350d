"""Random integer and logic statements."""

from typing import Final

from orias.target import features
from orias.tools.fuzz.interesting import BITS, EQUAL, ORDER, UNSIGNED
from orias.tools.fuzz.random_program import Program

_FILE: Final = {16: "h", 32: "r", 64: "d"}
_TYPES: Final = ("u16", "s16", "u32", "s32", "u32", "s32", "u64", "s64")


def _file(t: str) -> str:
    return _FILE[int(t[1:])]


def statement(p: Program) -> None:
    """Emits one random integer or logic statement."""
    r = p.rng
    f = r.choice(_CHOICES)
    f(p)


def _binary(p: Program) -> None:
    t = p.rng.choice(_TYPES)
    f = _file(t)
    op = p.rng.choice(("add", "add", "sub", "sub", "mul.lo", "mul.hi", "min", "max"))
    p.emit(f"{op}.{t} {p.var(f)}, {p.src(f)}, {p.src(f)};")


def _unary(p: Program) -> None:
    t = p.rng.choice(("s16", "s32", "s64"))
    f = _file(t)
    p.emit(f"{p.rng.choice(('abs', 'neg'))}.{t} {p.var(f)}, {p.var(f)};")


def _logic(p: Program) -> None:
    f = p.rng.choice("hrrrd")
    t = f"b{BITS[f]}"
    kind = p.rng.randrange(6)
    if kind < 4:
        p.emit(f"{p.rng.choice(('and', 'or', 'xor'))}.{t} {p.var(f)}, {p.src(f)}, {p.src(f)};")
    elif kind == 4:
        p.emit(f"{p.rng.choice(('not', 'cnot'))}.{t} {p.var(f)}, {p.var(f)};")
    else:
        p.emit(f"lop3.b32 {p.var('r')}, {p.src('r')}, {p.src('r')}, {p.src('r')}, {p.rng.randrange(256)};")


def _predicates(p: Program) -> None:
    kind = p.rng.randrange(4)
    if kind < 2:
        p.emit(f"{p.rng.choice(('and', 'or', 'xor'))}.pred {p.var('p')}, {p.var('p')}, {p.var('p')};")
    elif kind == 2:
        p.emit(f"not.pred {p.var('p')}, {p.var('p')};")
    else:
        p.emit(f"mov.pred {p.var('p')}, {p.var('p')};")


def _wide(p: Program) -> None:
    t = p.rng.choice(("u16", "s16", "u32", "s32"))
    f, d = _file(t), _FILE[2 * int(t[1:])]
    if p.rng.random() < 0.5:
        p.emit(f"mul.wide.{t} {p.var(d)}, {p.src(f)}, {p.src(f)};")
    else:
        p.emit(f"mad.wide.{t} {p.var(d)}, {p.src(f)}, {p.src(f)}, {p.src(d)};")


def _mad(p: Program) -> None:
    t = p.rng.choice(_TYPES)
    f = _file(t)
    kind = p.rng.randrange(4)
    if kind < 2:
        p.emit(f"mad.{p.rng.choice(('lo', 'lo', 'hi'))}.{t} {p.var(f)}, {p.src(f)}, {p.src(f)}, {p.src(f)};")
    elif kind == 2:
        t = p.rng.choice(("u32", "s32"))
        half = p.rng.choice(("lo", "hi"))
        if p.rng.random() < 0.5:
            p.emit(f"mul24.{half}.{t} {p.var('r')}, {p.src('r')}, {p.src('r')};")
        else:
            p.emit(f"mad24.{half}.{t} {p.var('r')}, {p.src('r')}, {p.src('r')}, {p.src('r')};")
    else:
        p.emit(f"sad.{t} {p.var(f)}, {p.src(f)}, {p.src(f)}, {p.src(f)};")


def _divide(p: Program) -> None:
    t = p.rng.choice(_TYPES)
    f = _file(t)
    op = p.rng.choice(("div", "rem"))
    if p.rng.random() < 0.5:
        value = int(p.constant(f)) or 3
        p.emit(f"{op}.{t} {p.var(f)}, {p.src(f, 0.1)}, {value};")
        return
    divisor = p.new(f)
    p.plain(f"or.b{BITS[f]} {divisor}, {p.var(f)}, 1;")
    p.emit(f"{op}.{t} {p.var(f)}, {p.src(f)}, {divisor};")


def _shift(p: Program) -> None:
    f = p.rng.choice("hrrrdd")
    bits = BITS[f]
    amount = str(p.rng.randrange(bits + 3)) if p.rng.random() < 0.6 else p.var("r")
    if amount.startswith("%") and p.rng.random() < 0.7:
        small = p.new("r")
        p.plain(f"and.b32 {small}, {amount}, {2 * bits - 1};")
        amount = small
    if p.rng.random() < 0.5:
        p.emit(f"shl.b{bits} {p.var(f)}, {p.src(f, 0.1)}, {amount};")
    else:
        p.emit(f"shr.{p.rng.choice('us')}{bits} {p.var(f)}, {p.src(f, 0.1)}, {amount};")


def _rotate(p: Program) -> None:
    """Combined shifts: rotations, bit fields, and near misses.

    Excludes differences and sums with sign copies of complementary shifts of a value: ptxas 13.0.88 makes them
    rotations (tests/oracle_faults/sub_rotate.ptx), which would hide the rest of the program.
    """
    f = p.rng.choice("rrd")
    bits = BITS[f]
    k = p.rng.randrange(1, bits)
    a, b, x = p.new(f), p.new(f), p.var(f)
    whole = p.rng.random() < 0.7
    other = bits - k if whole else p.rng.choice([n for n in range(bits) if n != bits - k])
    p.plain(f"shl.b{bits} {a}, {x}, {k};")
    p.plain(
        f"shr.{'u' if whole else p.rng.choice('us')}{bits} {b}, {x if p.rng.random() < 0.8 else p.var(f)}, {other};"
    )
    ops = [f"or.b{bits}", f"xor.b{bits}", f"add.u{bits}"] + ([] if whole else [f"sub.u{bits}"])
    p.emit(f"{p.rng.choice(ops)} {p.var(f)}, {a}, {b};")


def _funnel(p: Program) -> None:
    amount = str(p.rng.randrange(40)) if p.rng.random() < 0.5 else p.var("r")
    p.emit(
        f"shf.{p.rng.choice('lr')}.{p.rng.choice(('clamp', 'wrap'))}.b32 {p.var('r')}, {p.src('r')}, {p.src('r')}, {amount};"
    )


def _field(p: Program) -> None:
    f = p.rng.choice("rrd")
    bits = BITS[f]
    pos = str(p.rng.randrange(bits)) if p.rng.random() < 0.7 else _byte(p)
    length = str(p.rng.randrange(bits + 1)) if p.rng.random() < 0.7 else _byte(p)
    if p.rng.random() < 0.6:
        p.emit(f"bfe.{p.rng.choice('us')}{bits} {p.var(f)}, {p.src(f, 0.1)}, {pos}, {length};")
    else:
        p.emit(f"bfi.b{bits} {p.var(f)}, {p.src(f)}, {p.src(f)}, {pos}, {length};")


def _byte(p: Program) -> str:
    """A register with a position or length, from 0 to 255, the defined range."""
    small = p.new("r")
    p.plain(f"and.b32 {small}, {p.var('r')}, {p.rng.choice((31, 63, 255))};")
    return small


def _bits(p: Program) -> None:
    f = p.rng.choice("rrd")
    bits = BITS[f]
    kind = p.rng.randrange(7)
    if kind == 0:
        p.emit(f"popc.b{bits} {p.var('r')}, {p.var(f)};")
    elif kind == 1:
        p.emit(f"clz.b{bits} {p.var('r')}, {p.var(f)};")
    elif kind == 2:
        p.emit(f"bfind{p.rng.choice(('', '.shiftamt'))}.{p.rng.choice('us')}{bits} {p.var('r')}, {p.var(f)};")
    elif kind == 3:
        p.emit(f"brev.b{bits} {p.var(f)}, {p.var(f)};")
    elif kind == 4:
        mode = p.rng.choice(("", "", "", ".f4e", ".b4e", ".rc8", ".ecl", ".ecr", ".rc16"))
        sel = f"0x{p.rng.getrandbits(16):x}" if p.rng.random() < 0.7 else p.var("r")
        p.emit(f"prmt.b32{mode} {p.var('r')}, {p.src('r')}, {p.src('r')}, {sel};")
    elif kind == 5:
        p.emit(
            f"szext.{p.rng.choice(('clamp', 'wrap'))}.{p.rng.choice('us')}32 {p.var('r')}, {p.var('r')}, {p.src('r')};"
        )
    else:
        p.emit(f"bmsk.{p.rng.choice(('clamp', 'wrap'))}.b32 {p.var('r')}, {p.src('r')}, {p.src('r')};")


def _compare(p: Program) -> None:
    kind = p.rng.choice("bus")
    f = p.rng.choice("hrrrd")
    t = f"{kind}{BITS[f]}"
    cmp = p.rng.choice({"b": EQUAL, "u": UNSIGNED, "s": ORDER}[kind])
    dst = p.var("p")
    if p.rng.random() < 0.3:
        other = p.var("p")
        if other != dst:
            dst = f"{dst}|{other}"
    if p.rng.random() < 0.35:
        negate = p.rng.choice(("", "!"))
        p.emit(
            f"setp.{cmp}.{p.rng.choice(('and', 'or', 'xor'))}.{t} {dst}, {p.var(f)}, {p.src(f, 0.5)}, {negate}{p.var('p')};"
        )
    else:
        p.emit(f"setp.{cmp}.{t} {dst}, {p.var(f)}, {p.src(f, 0.5)};")


def _select(p: Program) -> None:
    kind = p.rng.randrange(4)
    f = p.rng.choice("hrrdfg")
    t = {"h": "b16", "r": "b32", "d": "b64", "f": "f32", "g": "f64"}[f]
    if kind < 2:
        p.emit(f"selp.{t} {p.var(f)}, {p.src(f)}, {p.src(f)}, {p.var('p')};")
    elif kind == 2 and p.rng.random() < 0.3:
        p.emit(f"slct.{t}.f32 {p.var(f)}, {p.src(f)}, {p.src(f)}, {p.number('f')};")
    elif kind == 2:
        p.emit(f"slct.{t}.s32 {p.var(f)}, {p.src(f)}, {p.src(f)}, {p.var('r')};")
    else:
        t2, file = p.rng.choice((("s32", "r"), ("u32", "r"), ("u64", "d"), ("s16", "h"), ("f32", "f")))
        p.emit(
            f"set.{p.rng.choice(ORDER)}.{p.rng.choice(('u32', 's32'))}.{t2} {p.var('r')}, {p.var(file)}, {p.src(file)};"
        )


def _minmax(p: Program) -> None:
    """Minimum of a maximum, absolute differences: patterns that become one instruction."""
    t = p.rng.choice(("u32", "s32"))
    a = p.new("r")
    x = p.var("r")
    if p.rng.random() < 0.4:
        n = p.new("r")
        p.plain(f"neg.s32 {n}, {x};")
        x = n
    p.plain(f"{p.rng.choice(('min', 'max'))}.{t} {a}, {x}, {p.src('r')};")
    if p.rng.random() < 0.6:
        p.emit(f"{p.rng.choice(('min', 'max'))}.{p.rng.choice((t, t, 's32'))} {p.var('r')}, {a}, {p.src('r')};")
    else:
        p.emit(f"add.u32 {p.var('r')}, {a}, {p.src('r')};")


def _carry(p: Program) -> None:
    t = p.rng.choice(("u32", "u32", "s32", "u64"))
    f = _file(t)
    op = p.rng.choice(("add", "sub"))
    low, high = p.new(f), p.new(f)
    p.plain(f"{op}.cc.{t} {low}, {p.src(f)}, {p.src(f)};")
    if p.rng.random() < 0.5:
        middle = p.new(f)
        p.plain(f"{op}c.cc.{t} {middle}, {p.src(f)}, {p.src(f)};")
        p.plain(f"mov.b{BITS[f]} {p.var(f)}, {middle};")
    p.plain(f"{op}c.{t} {high}, {p.src(f)}, {p.src(f)};")
    p.plain(f"mov.b{BITS[f]} {p.var(f)}, {low};")
    p.plain(f"mov.b{BITS[f]} {p.var(f)}, {high};")


def _multiply_carry(p: Program) -> None:
    t = p.rng.choice(("u32", "s32"))
    low = p.new("r")
    p.plain(f"mad.lo.cc.{t} {low}, {p.var('r')}, {p.src('r')}, {p.src('r')};")
    p.plain(f"madc.hi.{t} {p.var('r')}, {p.var('r')}, {p.src('r')}, {p.src('r')};")
    p.plain(f"mov.b32 {p.var('r')}, {low};")


def _dot(p: Program) -> None:
    ta, tb = p.rng.choice(("u32", "s32")), p.rng.choice(("u32", "s32"))
    name = p.rng.choice(("dp4a", "dp2a.lo", "dp2a.hi"))
    p.emit(f"{name}.{ta}.{tb} {p.var('r')}, {p.src('r')}, {p.src('r')}, {p.src('r')};")


def _convert(p: Program) -> None:
    d, s = p.rng.choice(_TYPES), p.rng.choice(_TYPES)
    if p.rng.random() < 0.3:
        t, f = p.rng.choice((("u8", "r"), ("s8", "r"), ("u8", "d"), ("s8", "h")))
        wide = {"r": "u32", "d": "u64", "h": "s16"}[f]
        narrow = p.rng.choice(("u32", "s32", "u16", "s64"))
        if p.rng.random() < 0.5:
            p.emit(f"cvt.{narrow}.{t} {p.var(_file(narrow))}, {p.var(f)};")
        else:
            p.emit(f"cvt.{p.rng.choice(('', 'sat.'))}{t}.{wide} {p.var('r')}, {p.var(f)};")
        return
    if d == s:
        p.emit(f"mov.b{d[1:]} {p.var(_file(d))}, {p.src(_file(d))};")
        return
    sat = ".sat" if p.rng.random() < 0.3 and not _holds(d, s) else ""
    p.emit(f"cvt{sat}.{d}.{s} {p.var(_file(d))}, {p.var(_file(s))};")


def _holds(d: str, s: str) -> bool:
    more = int(d[1:]) - int(s[1:])
    return (s[0] == "u" and more > 0) or (s[0] == d[0] == "s" and more >= 0)


def _pack(p: Program) -> None:
    kind = p.rng.randrange(8)
    if kind == 0:
        p.emit(f"mov.b64 {p.var('d')}, {{{p.var('r')}, {p.var('r')}}};")
    elif kind == 1:
        p.emit(f"mov.b64 {{{', '.join(p.names('r', 2))}}}, {p.var('d')};")
    elif kind == 2:
        p.emit(f"mov.b32 {p.var('r')}, {{{p.var('h')}, {p.var('h')}}};")
    elif kind == 3:
        p.emit(f"mov.b32 {{{', '.join(p.names('h', 2))}}}, {p.var('r')};")
    elif kind == 4:
        p.emit(f"mov.b32 {p.var('r')}, {p.bits('f')};")
    elif kind == 5:
        p.emit(f"mov.b32 {p.var('f')}, {p.var('r')};")
    elif kind == 6:
        p.emit(f"mov.b64 {p.var('d')}, {{{', '.join(p.var('h') for _ in range(4))}}};")
    else:
        p.emit(
            p.rng.choice(
                (
                    f"mov.b64 {p.var('d')}, {p.bits('g')};",
                    f"mov.b64 {p.var('g')}, {p.var('d')};",
                    f"mov.b64 {{{', '.join(p.names('h', 4))}}}, {p.var('d')};",
                )
            )
        )


def _scaled(p: Program) -> None:
    """Multiplications and additions that become shifts, LEA or IMAD."""
    f = p.rng.choice("rrd")
    bits = BITS[f]
    a = p.new(f)
    if p.rng.random() < 0.5:
        p.plain(f"shl.b{bits} {a}, {p.var(f)}, {p.rng.randrange(bits)};")
    else:
        p.plain(f"mul.lo.u{bits} {a}, {p.var(f)}, {p.constant(f)};")
    p.emit(
        f"{p.rng.choice(('add', 'sub'))}.u{bits} {p.var(f)}, {p.rng.choice((a + ', ' + p.src(f), p.src(f) + ', ' + a))};"
    )


def _packed(p: Program) -> None:
    if not p.has(features.PACKED_INTEGERS):
        _logic(p)
        return
    op, t = p.rng.choice(
        (("add", "u16x2"), ("add", "s16x2"), ("min", "u16x2"), ("max", "s16x2"), ("min", "s16x2"), ("max", "u16x2"))
    )
    p.emit(f"{op}.{t} {p.var('r')}, {p.var('r')}, {p.var('r')};")


def _saturated(p: Program) -> None:
    p.emit(f"{p.rng.choice(('add', 'sub'))}.sat.s32 {p.var('r')}, {p.src('r')}, {p.src('r')};")


def _long(p: Program) -> None:
    """A 64-by-64-bit product computed in words, with carries."""
    a, b = p.names("r", 2)
    c, d = p.src("r"), p.src("r")
    t = [p.new("r") for _ in range(4)]
    p.plain(f"mul.lo.u32 {t[0]}, {a}, {c};")
    p.plain(f"mul.hi.u32 {t[1]}, {a}, {c};")
    p.plain(f"mad.lo.cc.u32 {t[1]}, {a}, {d}, {t[1]};")
    p.plain(f"madc.hi.u32 {t[2]}, {a}, {d}, 0;")
    p.plain(f"mad.lo.cc.u32 {t[1]}, {b}, {c}, {t[1]};")
    p.plain(f"madc.hi.cc.u32 {t[2]}, {b}, {c}, {t[2]};")
    p.plain(f"addc.u32 {t[3]}, 0, 0;")
    p.plain(f"mad.lo.cc.u32 {t[2]}, {b}, {d}, {t[2]};")
    p.plain(f"madc.hi.u32 {t[3]}, {b}, {d}, {t[3]};")
    for _ in range(2):
        p.plain(f"mov.b32 {p.var('r')}, {p.rng.choice(t)};")


def _video(p: Program) -> None:
    """The scalar and the packed video instructions."""
    r = p.rng
    if r.random() < 0.5:
        name = r.choice(("vadd", "vsub", "vabsdiff", "vmin", "vmax"))
        types = ".".join([r.choice(("u32", "s32"))] * 3)
        parts = [f"{p.var('r')}{r.choice(('', '', '.b0', '.b3', '.h0', '.h1'))}" for _ in range(2)]
        sat = r.choice(("", "", ".sat"))
        if r.random() < 0.5:
            p.emit(f"{name}.{types}{sat} {p.var('r')}, {parts[0]}, {parts[1]};")
        else:
            p.emit(
                f"{name}.{types}.{r.choice(('add', 'min', 'max'))} {p.var('r')}, {parts[0]}, {parts[1]}, {p.var('r')};"
            )
        return
    name = r.choice(("vadd", "vsub", "vabsdiff", "vmin", "vmax", "vavrg"))
    t = r.choice(("u32", "s32"))
    sat = r.choice(("", "", ".sat"))
    p.emit(f"{name}{r.choice('24')}.{t}.{t}.{t}{sat} {p.var('r')}, {p.var('r')}, {p.var('r')}, {p.var('r')};")


def _special(p: Program) -> None:
    if p.in_function:
        _logic(p)
        return
    name = p.rng.choice(("%tid.x", "%laneid", "%ctaid.x", "%ntid.x", "%lanemask_lt", "%lanemask_eq", "%nctaid.x"))
    p.emit(f"mov.u32 {p.var('r')}, {name};")


_CHOICES: Final = (
    _binary, _binary, _binary, _binary, _unary, _logic, _logic, _logic, _predicates, _predicates, _wide, _wide, _mad, _mad, _divide,
    _shift, _shift, _rotate, _funnel, _field, _field, _bits, _bits, _compare, _compare, _compare, _compare, _select, _select, _minmax,
    _carry, _multiply_carry, _dot, _convert, _convert, _convert, _pack, _pack, _scaled, _scaled, _packed, _saturated, _special,
    _long, _video, _shift, _divide,
)  # fmt: skip
