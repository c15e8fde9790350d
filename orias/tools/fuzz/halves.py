"""Random statements on f16 and bf16, alone and in pairs, and the conversions from and to them."""

from orias.target import features
from orias.tools.fuzz.interesting import FLOAT_ORDER
from orias.tools.fuzz.random_program import Program


def half(p: Program) -> None:
    """Emits statements on f16 and f16x2, in 16- and 32-bit registers."""
    r = p.rng
    f, t = r.choice((("r", "f16x2"), ("h", "f16")))
    kind = r.randrange(6)
    ftz = r.choice(("", "", ".ftz"))
    if kind == 0:
        p.emit(
            f"{r.choice(('add', 'sub', 'mul'))}.rn{ftz}{r.choice(('', '.sat'))}.{t} {p.var(f)}, {p.var(f)}, {p.var(f)};"
        )
    elif kind == 1:
        mods = r.choice(("", "", ".sat", ".relu" if p.has(features.HALF_MIN_MAX) else ""))
        p.emit(f"fma.rn{ftz}{mods}.{t} {p.var(f)}, {p.var(f)}, {p.var(f)}, {p.var(f)};")
    elif kind == 2 and f == "h":
        p.emit(f"setp.{r.choice(FLOAT_ORDER)}{ftz}.f16 {p.var('p')}, {p.var('h')}, {p.var('h')};")
    elif kind == 2:
        p.emit(f"setp.{r.choice(FLOAT_ORDER)}{ftz}.f16x2 {'|'.join(p.names('p', 2))}, {p.var('r')}, {p.var('r')};")
    elif kind == 3 and p.has(features.HALF_MIN_MAX):
        p.emit(f"{r.choice(('min', 'max'))}{ftz}{r.choice(('', '.NaN'))}.{t} {p.var(f)}, {p.var(f)}, {p.var(f)};")
    elif kind == 4:
        p.emit(f"{r.choice(('neg', 'abs'))}{ftz}.{t} {p.var(f)}, {finite(p, f)};")
    else:
        a = p.new(f)
        p.plain(f"mul.rn{ftz}.{t} {a}, {p.var(f)}, {p.var(f)};")
        p.emit(f"{r.choice(('add', 'sub'))}.rn{ftz}.{t} {p.var(f)}, {a}, {p.var(f)};")


def finite(p: Program, file: str) -> str:
    """A register with halves, or quarters, that are no NaN: the sign of a NaN after neg and abs is not defined."""
    out = p.new(file)
    p.plain(f"and.b{16 if file == 'h' else 32} {out}, {p.var(file)}, {0xBBBF if file == 'h' else 0xBBBFBBBF};")
    return out


def bfloat(p: Program) -> None:
    """Emits statements on bf16 and bf16x2."""
    r = p.rng
    if not p.has(features.HALF_MIN_MAX):
        half(p)
        return
    f, t = r.choice((("r", "bf16x2"), ("h", "bf16")))
    kind = r.randrange(5)
    if kind == 0:
        p.emit(f"fma.rn{r.choice(('', '', '.relu'))}.{t} {p.var(f)}, {p.var(f)}, {p.var(f)}, {p.var(f)};")
    elif kind == 1:
        p.emit(f"{r.choice(('min', 'max'))}{r.choice(('', '.NaN'))}.{t} {p.var(f)}, {p.var(f)}, {p.var(f)};")
    elif kind == 2 and p.has(features.BFLOAT_ARITHMETIC):
        p.emit(f"{r.choice(('add', 'sub', 'mul'))}.rn.{t} {p.var(f)}, {p.var(f)}, {p.var(f)};")
    elif kind == 3:
        p.emit(f"{r.choice(('neg', 'abs'))}.{t} {p.var(f)}, {finite(p, f)};")
    elif p.has(features.BFLOAT_ARITHMETIC) and f == "h":
        p.emit(f"setp.{r.choice(FLOAT_ORDER)}.bf16 {p.var('p')}, {p.var('h')}, {p.var('h')};")
    else:
        p.emit(f"cvt.rn{r.choice(('', '.relu'))}.bf16x2.f32 {p.var('r')}, {p.var('f')}, {p.var('f')};")


def convert(p: Program) -> None:
    """Emits a conversion from or to halves."""
    r = p.rng
    kind = r.randrange(10)
    rnd = r.choice(("rn", "rn", "rz", "rm", "rp"))
    way = r.choice(("rni", "rzi", "rmi", "rpi"))
    integers = (("u32", "r"), ("s32", "r"), ("u16", "h"), ("s16", "h"), ("u8", "r"), ("s8", "r"))
    if kind == 0:
        p.emit(f"cvt.{rnd}{r.choice(('', '.sat'))}.f16.f32 {p.var('h')}, {p.var('f')};")
    elif kind == 1:
        p.emit(f"cvt{r.choice(('', '.ftz'))}.f32.f16 {p.var('f')}, {p.var('h')};")
    elif kind == 2:
        p.emit(f"cvt.{rnd}.f16.f64 {p.var('h')}, {p.var('g')};")
    elif kind == 3:
        p.emit(f"cvt.f64.f16 {p.var('g')}, {p.var('h')};")
    elif kind == 4:
        t, file = r.choice((*integers, ("u64", "d"), ("s64", "d")))
        p.emit(f"cvt.{rnd}.f16.{t} {p.var('h')}, {p.var(file)};")
    elif kind == 5:
        t, file = r.choice(integers)
        p.emit(f"cvt.{way}.{t}.f16 {p.var(file)}, {p.var('h')};")
    elif kind == 6:
        p.emit(f"cvt.{way}.f16.f16 {p.var('h')}, {p.var('h')};")
    elif not p.has(features.HALF_MIN_MAX):
        p.emit(f"cvt.f32.f16 {p.var('f')}, {p.var('h')};")
    elif kind == 7:
        t = r.choice(("f16x2", "bf16x2"))
        p.emit(
            f"cvt.{r.choice(('rn', 'rz'))}{r.choice(('', '.relu'))}.{t}.f32 {p.var('r')}, {p.src('f')}, {p.var('f')};"
        )
    elif kind == 8:
        p.emit(f"cvt.{r.choice(('rn', 'rz'))}{r.choice(('', '.relu'))}.bf16.f32 {p.var('h')}, {p.var('f')};")
    else:
        # the payload of a NaN and the low bits of a tf32 are not defined
        wide = p.new("r")
        p.plain(f"cvt.rna.tf32.f32 {wide}, {p.number('f')};")
        p.emit(f"and.b32 {p.var('r')}, {wide}, 0xffffe000;")
