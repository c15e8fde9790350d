"""Random floating-point statements, all with explicit rounding and none approximate."""

from typing import Final

from orias.target import features
from orias.tools.fuzz import halves
from orias.tools.fuzz.interesting import FLOAT_ORDER
from orias.tools.fuzz.random_program import Program

_ROUND: Final = ("rn", "rn", "rn", "rz", "rm", "rp")


def statement(p: Program) -> None:
    """Emits one random floating-point statement."""
    p.rng.choice(_CHOICES)(p)


def _kind(p: Program) -> tuple[str, str]:
    return p.rng.choice((("f", "f32"), ("f", "f32"), ("g", "f64")))


def _arith(p: Program) -> None:
    f, t = _kind(p)
    op = p.rng.choice(("add", "sub", "mul", "fma"))
    mods = ""
    if t == "f32":
        mods = p.rng.choice(("", "", ".ftz")) + p.rng.choice(("", "", "", ".sat"))
    sources = [p.src(f) for _ in range(3 if op == "fma" else 2)]
    p.emit(f"{op}.{p.rng.choice(_ROUND)}{mods}.{t} {p.var(f)}, {', '.join(sources)};")


def _product_sum(p: Program) -> None:
    """A product and a sum that must not be fused."""
    f, t = _kind(p)
    a = p.new(f)
    p.plain(f"mul.rn.{t} {a}, {p.var(f)}, {p.src(f)};")
    p.emit(
        f"{p.rng.choice(('add', 'sub'))}.rn.{t} {p.var(f)}, {p.rng.choice((a + ', ' + p.var(f), p.var(f) + ', ' + a))};"
    )


def _sign(p: Program) -> None:
    """Emits negations and absolute values, which fold into their users."""
    f, t = _kind(p)
    a = p.new(f)
    p.plain(f"{p.rng.choice(('neg', 'abs'))}.{t} {a}, {p.var(f)};")
    p.emit(f"{p.rng.choice(('add.rn', 'mul.rn', 'sub.rn', 'min', 'max'))}.{t} {p.var(f)}, {a}, {p.src(f)};")


def _minmax(p: Program) -> None:
    f, t = _kind(p)
    mods = ""
    if t == "f32":
        mods = p.rng.choice(("", "", ".ftz")) + (p.rng.choice(("", ".NaN")) if p.has(features.NAN_MIN_MAX) else "")
    p.emit(f"{p.rng.choice(('min', 'max'))}{mods}.{t} {p.var(f)}, {p.src(f)}, {p.src(f)};")


def _compare(p: Program) -> None:
    f, t = _kind(p)
    cmp = p.rng.choice(FLOAT_ORDER)
    ftz = p.rng.choice(("", "", ".ftz")) if t == "f32" else ""
    if p.rng.random() < 0.4:
        p.emit(
            f"setp.{cmp}.{p.rng.choice(('and', 'or', 'xor'))}{ftz}.{t} {p.var('p')}, {p.var(f)}, {p.src(f, 0.4)},"
            f" {p.rng.choice(('', '!'))}{p.var('p')};"
        )
    else:
        p.emit(f"setp.{cmp}{ftz}.{t} {p.var('p')}, {p.var(f)}, {p.src(f, 0.4)};")


def _divide(p: Program) -> None:
    f, t = _kind(p)
    ftz = p.rng.choice(("", "", ".ftz")) if t == "f32" else ""
    op = p.rng.choice(("div", "rcp", "sqrt"))
    rnd = p.rng.choice(_ROUND)
    second = f", {p.src(f)}" if op == "div" else ""
    p.emit(f"{op}.{rnd}{ftz}.{t} {p.var(f)}, {p.src(f)}{second};")


def _from_int(p: Program) -> None:
    f, t = _kind(p)
    s, file = p.rng.choice(
        (("u32", "r"), ("s32", "r"), ("u64", "d"), ("s64", "d"), ("u16", "h"), ("s16", "h"), ("s8", "r"), ("u8", "r"))
    )
    p.emit(f"cvt.{p.rng.choice(_ROUND)}.{t}.{s} {p.var(f)}, {p.var(file)};")


def _to_int(p: Program) -> None:
    f, t = _kind(p)
    d, file = p.rng.choice(
        (("u32", "r"), ("s32", "r"), ("u64", "d"), ("s64", "d"), ("u16", "h"), ("s16", "h"), ("s8", "r"), ("u8", "r"))
    )
    ftz = p.rng.choice(("", "", ".ftz")) if t == "f32" else ""
    # the conversion of a NaN is not defined if source or result has 64 bits
    source = p.number(f) if file == "d" or f == "g" else p.var(f)
    sat = p.rng.choice(("", "", ".sat"))
    p.emit(f"cvt.{p.rng.choice(('rni', 'rzi', 'rmi', 'rpi'))}{ftz}{sat}.{d}.{t} {p.var(file)}, {source};")


def _between(p: Program) -> None:
    r = p.rng
    kind = r.randrange(7)
    sat = r.choice(("", "", "", ".sat"))
    if kind == 0:
        p.emit(f"cvt.{r.choice(_ROUND)}{r.choice(('', '', '.ftz'))}{sat}.f32.f64 {p.var('f')}, {p.var('g')};")
    elif kind == 1:
        p.emit(f"cvt{r.choice(('', '', '.ftz'))}.f64.f32 {p.var('g')}, {p.var('f')};")
    elif kind <= 3:
        halves.convert(p)
    elif kind == 4:
        p.emit(f"cvt{r.choice(('', '.ftz'))}.sat.f32.f32 {p.var('f')}, {p.var('f')};")
    elif kind == 5:
        p.emit(
            f"cvt.{r.choice(('rni', 'rzi', 'rmi', 'rpi'))}{r.choice(('', '', '.ftz'))}{sat}.f32.f32 {p.var('f')}, {p.var('f')};"
        )
    else:
        p.emit(f"cvt.{r.choice(('rni', 'rzi', 'rmi', 'rpi'))}.f64.f64 {p.var('g')}, {p.var('g')};")


def _testp(p: Program) -> None:
    f, t = _kind(p)
    what = p.rng.choice(("finite", "infinite", "number", "notanumber", "normal", "subnormal"))
    if p.rng.random() < 0.5:
        p.emit(f"testp.{what}.{t} {p.var('p')}, {p.var(f)};")
    else:
        p.emit(f"copysign.{t} {p.var(f)}, {p.number(f)}, {p.var(f)};")


_CHOICES: Final = (
    _arith, _arith, _arith, _arith, _product_sum, _sign, _sign, _minmax, _compare, _compare, _divide, _from_int, _from_int, _to_int,
    _to_int, _between, _between, halves.half, halves.half, halves.bfloat, _testp,
)  # fmt: skip
