"""Random statements of what sm_100 and later add, and chains that their passes rewrite."""

from collections.abc import Callable
from typing import Final

from orias.ptx.targets import GROUPS, listed
from orias.tools.fuzz import arithmetic
from orias.tools.fuzz.halves import finite
from orias.tools.fuzz.interesting import ORDER, PARAMS, UNSIGNED
from orias.tools.fuzz.random_memory import input_address, slot, vector
from orias.tools.fuzz.random_program import Program

_ROUND: Final = ("rn", "rn", "rn", "rz", "rm", "rp")
_RANDOM_BITS: Final = "100a/103a"
"""Targets that convert with random bits (``.rs``)."""
_FLOAT_REDUCTIONS: Final = "100af/103af"
_NARROW_PRODUCTS: Final = "120a/121a"


def statement(p: Program) -> None:
    """Emits one random statement."""
    p.rng.choice(_TOGETHER if p.uniform and not p.in_function and p.rng.random() < 0.25 else _CHOICES)(p)


# -- floats


def _packed_floats(p: Program) -> None:
    """Arithmetic of two f32 in a 64-bit register, one operation or several, with whole and single results."""
    r = p.rng
    values = []
    for _ in range(3):
        x = p.new("d")
        one = p.src("f")
        parts = (one, one if r.random() < 0.3 else p.src("f"))
        p.plain(f"mov.b64 {x}, {{{', '.join(parts)}}};" if r.random() < 0.7 else f"mov.b64 {x}, {p.src('d')};")
        values.append(x)
    for _ in range(r.randrange(1, 4)):
        op = r.choice(("add", "sub", "mul", "fma", "fma"))
        sources = ", ".join(r.choice(values) for _ in range(3 if op == "fma" else 2))
        x = p.new("d")
        p.plain(f"mov.b64 {x}, {r.choice(values)};")
        p.emit(f"{op}.{r.choice(_ROUND)}{r.choice(('', '', '.ftz'))}.f32x2 {x}, {sources};")
        values.append(x)
    p.emit(f"mov.b64 {{{', '.join(p.names('f', 2))}}}, {values[-1]};")


def _extremes(p: Program) -> None:
    """Minimum and maximum of two and three f32, one after the other."""
    r = p.rng
    low, mods = r.choice(("min", "max")), r.choice(("", "", "", ".ftz")) + r.choice(("", "", ".NaN"))
    x = p.var("f")
    for _ in range(r.randrange(0, 3)):
        a = p.new("f")
        op = f"{low}{mods}" if r.random() < 0.7 else f"{r.choice(('min', 'max'))}{r.choice(('', mods, '.xorsign.abs'))}"
        p.plain(f"{op}.f32 {a}, {', '.join(_turned(p, [_signed(p, x), p.src('f')]))};")
        x = a
        if r.random() < 0.2:
            # a second reader
            p.emit(f"add.rn.f32 {p.var('f')}, {x}, {p.src('f')};")
    values = _turned(p, [_signed(p, x), p.src("f")])
    if r.random() < 0.5:
        values = _turned(p, [*values, p.src("f")])
        mods += r.choice(("", ".abs"))
    p.emit(f"{low}{mods}.f32 {p.var('f')}, {', '.join(values)};")


def _signed(p: Program, x: str) -> str:
    """A value, or its negation or magnitude."""
    if p.rng.random() < 0.75:
        return x
    out = p.new("f")
    p.plain(f"{p.rng.choice(('neg', 'abs'))}.f32 {out}, {x};")
    return out


def _turned(p: Program, values: list[str]) -> list[str]:
    return p.rng.sample(values, len(values))


def _mixed(p: Program) -> None:
    """Sums and products of f32 and halves."""
    r = p.rng
    t = r.choice(("f16", "bf16"))
    mods = f".{r.choice(_ROUND)}{r.choice(('', '', '.sat'))}"
    if r.random() < 0.5:
        p.emit(f"{r.choice(('add', 'sub'))}{mods}.f32.{t} {p.var('f')}, {p.var('h')}, {p.src('f')};")
    else:
        p.emit(f"fma{mods}.f32.{t} {p.var('f')}, {p.var('h')}, {p.var('h')}, {p.src('f')};")


def _narrow(p: Program) -> None:
    """Conversions from and to floats of 8, 6 and 4 bits, and scales."""
    r = p.rng
    relu = r.choice(("", ".relu"))
    t = r.choice(("e4m3", "e5m2"))
    kind = r.randrange(12 if listed(p.target.name, GROUPS["NEW"]) else 4)
    if kind == 0:
        p.emit(f"cvt.rn.satfinite{relu}.{t}x2.f32 {p.var('h')}, {p.number('f')}, {p.number('f')};")
    elif kind == 1:
        p.emit(f"cvt.rn.satfinite{relu}.{t}x2.f16x2 {p.var('h')}, {finite(p, 'r')};")
    elif kind == 2:
        p.emit(f"cvt.rn{relu}.f16x2.{t}x2 {p.var('r')}, {finite(p, 'h')};")
    elif kind == 3:
        wide = p.new("r")
        p.plain(f"cvt.{r.choice(('rn', 'rz'))}{relu}.satfinite.tf32.f32 {wide}, {p.number('f')};")
        p.emit(f"mov.b32 {p.var('r')}, {wide};")
    elif kind == 4:
        source = f"f32 %n, {p.number('f')}, {p.number('f')}" if r.random() < 0.5 else f"f16x2 %n, {finite(p, 'r')}"
        p.plain(f"{{ .reg .b8 %n; cvt.rn.satfinite{relu}.e2m1x2.{source}; cvt.u16.u8 {p.var('h')}, %n; }}")
    elif kind == 5:
        source = p.var("h")
        p.plain(f"{{ .reg .b8 %n; cvt.u8.u16 %n, {source}; cvt.rn{relu}.f16x2.e2m1x2 {p.var('r')}, %n; }}")
    elif kind == 6:
        t = r.choice(("e2m3", "e3m2"))
        p.emit(f"cvt.rn.satfinite{relu}.{t}x2.f32 {p.var('h')}, {p.number('f')}, {p.number('f')};")
    elif kind == 7:
        p.emit(f"cvt.rn{relu}.f16x2.{r.choice(('e2m3', 'e3m2'))}x2 {p.var('r')}, {p.var('h')};")
    elif kind == 8:
        mods = r.choice(("rz", "rp")) + r.choice(("", ".satfinite"))
        source = (
            f"f32 {p.var('h')}, {p.src('f')}, {p.var('f')}"
            if r.random() < 0.5
            else f"bf16x2 {p.var('h')}, {p.var('r')}"
        )
        p.emit(f"cvt.{mods}.ue8m0x2.{source};")
    elif kind == 9:
        p.emit(f"cvt.rn.bf16x2.ue8m0x2 {p.var('r')}, {finite(p, 'h')};")
    elif not listed(p.target.name, _RANDOM_BITS):
        _mixed(p)
    elif kind == 10:
        t = r.choice(("f16x2", "bf16x2"))
        p.emit(f"cvt.rs{relu}.{t}.f32 {p.var('r')}, {p.number('f')}, {p.number('f')}, {p.var('r')};")
    else:
        values = ", ".join(p.number("f") for _ in range(4))
        t, file = r.choice((("e4m3", "r"), ("e5m2", "r"), ("e2m3", "r"), ("e3m2", "r"), ("e2m1", "h")))
        p.emit(f"cvt.rs{relu}.satfinite.{t}x4.f32 {p.var(file)}, {{{values}}}, {p.var('r')};")


# -- 64-bit integers


def _chain(p: Program) -> None:
    """64-bit operations on each other's results, some on words."""
    _links(p, [p.var("d"), p.var("d"), p.src("d")])


def _uniform_chain(p: Program) -> None:
    """The same on values that all threads share."""
    if p.in_function:
        _chain(p)
        return
    values = [p.new("d") for _ in range(3)]
    p.plain(f"ld.param.u64 {values[0]}, [q{PARAMS.index('u64')}];")
    p.plain(f"ld.param.b64 {values[1]}, [qs+{8 * p.rng.randrange(4)}];")
    p.plain(f"cvt.{p.rng.choice('us')}64.{p.rng.choice('us')}32 {values[2]}, {p.var('u')};")
    _links(p, [*values, p.constant("d")])


def _links(p: Program, values: list[str]) -> None:
    r = p.rng

    def registers() -> list[str]:
        return [x for x in values if x.startswith("%")]

    if not registers():
        values.append(p.var("d"))
    for _ in range(r.randrange(3, 8)):
        x, y = r.choice(registers()), r.choice(values)
        out = p.new("d")
        _LINKS[r.randrange(len(_LINKS))](p, out, x, y)
        values.append(out)
        if r.random() < 0.15:
            # also a variable, so that the words of the value are read elsewhere
            p.emit(f"mov.b64 {p.var('d')}, {out};")
    last = values[-1]
    kind = r.randrange(4)
    if kind == 0:
        p.emit(f"mov.b64 {{{', '.join(p.names('r', 2))}}}, {last};")
    elif kind == 1:
        p.emit(f"cvt.u32.u64 {p.var('r')}, {last};")
    else:
        p.emit(f"mov.b64 {p.var('d')}, {last};")


def _sum(p: Program, out: str, x: str, y: str) -> None:
    p.plain(f"{p.rng.choice(('add', 'add', 'sub'))}.{p.rng.choice('us')}64 {out}, {', '.join(_turned(p, [x, y]))};")


def _guarded_sum(p: Program, out: str, x: str, y: str) -> None:
    p.plain(f"mov.b64 {out}, {x};")
    p.plain(
        f"@{p.rng.choice(('', '!'))}{p.var('p')} {p.rng.choice(('add', 'sub'))}.s64 {out}, {p.rng.choice((out, x))}, {y};"
    )


def _negation(p: Program, out: str, x: str, _: str) -> None:
    p.plain(f"{p.rng.choice(('neg.s64', 'abs.s64', 'not.b64'))} {out}, {x};")


def _choice(p: Program, out: str, x: str, y: str) -> None:
    flag = p.var("p")
    if p.rng.random() < 0.7:
        flag = p.new("p")
        kind = p.rng.choice("us")
        compare = p.rng.choice(ORDER if kind == "s" else UNSIGNED)
        logic, more = p.rng.choice((("", ""), ("", ""), (".and", f", {p.var('p')}"), (".or", f", !{p.var('p')}")))
        p.plain(f"setp.{compare}{logic}.{kind}64 {flag}, {x}, {y}{more};")
        if p.rng.random() < 0.2:
            p.plain(f"mov.pred {p.var('p')}, {flag};")
    p.plain(f"selp.b64 {out}, {', '.join(_turned(p, [x, p.rng.choice((y, p.var('d')))]))}, {flag};")


def _least(p: Program, out: str, x: str, y: str) -> None:
    p.plain(f"{p.rng.choice(('min', 'max'))}.{p.rng.choice('us')}64 {out}, {x}, {y};")


def _other_words(p: Program, out: str, x: str, y: str) -> None:
    """A value of words of two."""
    low, high = p.new("r"), p.new("r")
    p.plain(f"mov.b64 {{{low}, {high}}}, {x};")
    words = [low, high, p.var("r"), p.src("r")]
    if y.startswith("%"):
        other = p.new("r")
        p.plain(f"cvt.u32.u64 {other}, {y};")
        words.append(other)
    p.plain(f"mov.b64 {out}, {{{p.rng.choice((low, *words))}, {p.rng.choice((high, *words))}}};")


def _carried(p: Program, out: str, x: str, y: str) -> None:
    """A sum or difference in words, with a carry."""
    op, t = p.rng.choice(("add", "sub")), p.rng.choice("us")
    a, b = p.new("r"), p.new("r")
    c, d = p.src("r"), p.src("r")
    if y.startswith("%"):
        c, d = p.new("r"), p.new("r")
        p.plain(f"mov.b64 {{{c}, {d}}}, {y};")
    p.plain(f"mov.b64 {{{a}, {b}}}, {x};")
    low, high = p.new("r"), p.new("r")
    p.plain(f"{op}.cc.{t}32 {low}, {a}, {c};")
    p.plain(f"{op}c.{t}32 {high}, {b}, {d};")
    p.plain(f"mov.b64 {out}, {{{low}, {high}}};")


def _shifted(p: Program, out: str, x: str, _: str) -> None:
    amount = p.rng.choice((str(p.rng.randrange(66)), p.var("r")))
    p.plain(f"{p.rng.choice(('shl.b64', 'shr.u64', 'shr.s64'))} {out}, {x}, {amount};")


def _product(p: Program, out: str, x: str, y: str) -> None:
    if p.rng.random() < 0.3:
        p.plain(f"mul.lo.u64 {out}, {x}, {y};")
    else:
        p.plain(f"mad.wide.{p.rng.choice('us')}32 {out}, {p.var('r')}, {p.src('r')}, {x};")


def _mixture(p: Program, out: str, x: str, y: str) -> None:
    p.plain(f"{p.rng.choice(('and', 'or', 'xor'))}.b64 {out}, {x}, {y};")


_LINKS: Final[tuple[Callable[[Program, str, str, str], None], ...]] = (
    _sum, _sum, _sum, _guarded_sum, _negation, _choice, _choice, _choice, _least, _other_words, _carried, _shifted, _product, _mixture,
)  # fmt: skip


# -- memory


def _wide_load(p: Program) -> None:
    """256 bits from the input."""
    r = p.rng
    address = input_address(p, 32)
    t, file, count = r.choice((("b32", "r", 8), ("b32", "r", 8), ("b64", "d", 4), ("f64", "g", 4), ("f32", "f", 8)))
    offset = r.choice((0, 0, 32, 64))
    if count == 4:
        p.emit(f"ld.global{r.choice(('', '.nc'))}.v4.{t} {vector(p.names(file, 4))}, [{address}+{offset}];")
        return
    names = [p.new(file) for _ in range(8)]
    read = [x if r.random() < 0.7 else "_" for x in names]
    if set(read) == {"_"}:
        read = names
    p.plain(f"ld.global{r.choice(('', '.nc'))}.v8.{t} {vector(read)}, [{address}+{offset}];")
    kept = [x for x in read if x != "_"]
    for _ in range(r.randrange(1, 4)):
        if file == "r":
            p.emit(f"{r.choice(('add.u32', 'xor.b32', 'mul.lo.u32'))} {p.var('r')}, {r.choice(kept)}, {p.src('r')};")
        else:
            p.emit(f"{r.choice(('add.rn', 'mul.rz', 'max'))}.f32 {p.var('f')}, {r.choice(kept)}, {p.src('f')};")


def _wide_store(p: Program) -> None:
    """256 bits to the thread's own words."""
    r = p.rng
    if p.in_function:
        _wide_load(p)
        return
    t, file, count = r.choice((("b32", "r", 8), ("b64", "d", 4), ("f64", "g", 4), ("f32", "f", 8)))
    p.emit(f"st.global.v{count}.{t} [%scratch], {vector([p.seen(file, 0.1) for _ in range(count)])};")
    if r.random() < 0.5:
        p.emit(f"ld.global.v4.b32 {vector(p.names('r', 4))}, [%scratch+{r.choice((0, 16))}];")


# -- values and branches that all threads share


def _uniform_floats(p: Program) -> None:
    """Floats that all threads share."""
    r = p.rng
    if p.in_function:
        _extremes(p)
        return
    x, y = p.new("f"), p.new("f")
    p.plain(f"ld.param.f32 {x}, [q{PARAMS.index('f32')}];")
    p.plain(f"cvt.rn.f32.{r.choice('us')}32 {y}, {p.var('u')};")
    values = [x, y]
    for _ in range(r.randrange(1, 4)):
        out = p.new("f")
        op = r.choice(("add.rn", "mul.rn", "sub.rz", "fma.rn", "min", "max"))
        sources = [r.choice(values), *(r.choice((*values, p.constant("f"))) for _ in range(2 if op == "fma.rn" else 1))]
        p.plain(f"{op}{r.choice(('', '', '.ftz'))}.f32 {out}, {', '.join(sources)};")
        values.append(out)
    if r.random() < 0.3:
        flag = p.new("p")
        p.plain(f"setp.{r.choice(('lt', 'ge', 'neu', 'gtu'))}.f32 {flag}, {values[-1]}, {r.choice(values)};")
        p.emit(f"selp.b32 {p.var('r')}, {p.src('r')}, {p.var('u')}, {flag};")
    p.emit(f"add.rn.f32 {p.var('f')}, {values[-1]}, {p.src('f')};")


def _uniform_branch(p: Program) -> None:
    """A branch on 64-bit values that all threads share."""
    if p.in_function or p.depth >= 3:
        _uniform_chain(p)
        return
    r = p.rng
    x, y, flag, other, end = p.new("d"), p.new("d"), p.new("p"), p.label(), p.label()
    p.plain(f"ld.param.u64 {x}, [q{PARAMS.index('u64')}];")
    p.plain(f"cvt.{r.choice('us')}64.{r.choice('us')}32 {y}, {p.var('u')};")
    if r.random() < 0.5:
        p.plain(f"add.s64 {y}, {y}, {r.choice((x, p.constant('d')))};")
    p.plain(f"setp.{r.choice(ORDER)}.{r.choice('us')}64 {flag}, {y}, {r.choice((x, p.constant('d')))};")
    p.depth += 1
    p.plain(f"@{r.choice(('', '!'))}{flag} bra{r.choice(('', '.uni'))} {other};")
    p.block(r.randrange(1, 4))
    if r.random() < 0.5:
        p.plain(f"bra{r.choice(('', '.uni'))} {end};")
        p.plain(f"{other}:")
        p.block(r.randrange(1, 4))
        p.plain(f"{end}:")
    else:
        p.plain(f"{other}:")
    p.depth -= 1


# -- whole blocks


def _arrivals(p: Program) -> None:
    """A barrier object on which all threads arrive and wait."""
    r = p.rng
    at, state, first, done = _barrier_object(p, 64)
    if r.random() < 0.5:
        own = slot(p, 8)
        p.plain(f"st.shared.b64 [{own}], {p.src('d')};")
        p.plain(f"mbarrier.arrive.shared::cta.b64 {state}, [{at}];")
        _wait(p, f"mbarrier.{r.choice(('try_wait', 'test_wait'))}.shared::cta.b64 {done}, [{at}], {state};", done)
        other = p.new("r")
        p.plain(f"xor.b32 {other}, %lane, {r.choice((1, 5, 31, 32, 63))};")
        p.plain(f"ld.shared.b64 {p.var('d')}, [{slot(p, 8, other)}];")
    else:
        p.plain(f"mbarrier.arrive.shared::cta.b64 {state}, [{at}];")
        arithmetic.statement(p)
        _wait(p, f"mbarrier.try_wait.parity.shared::cta.b64 {done}, [{at}], 0;", done)
    _remove(p, at, first)


def _bulk_copy(p: Program) -> None:
    """A copy that one thread starts and all wait for."""
    r = p.rng
    source = input_address(p, 16)
    at, _, first, done = _barrier_object(p, 1)
    size = r.choice((16, 64, 512))
    buffer = p.new("r")
    p.plain(f"mov.u32 {buffer}, buffer;")
    # the words that the copy leaves alone
    p.plain(f"st.shared.b64 [{slot(p, 8)}], {p.src('d')};")
    p.plain("bar.sync 0;")
    p.plain(f"@{first} mbarrier.arrive.expect_tx.shared::cta.b64 _, [{at}], {size};")
    p.plain("fence.proxy.async.shared::cta;")
    p.plain(
        f"@{first} cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [{buffer}], [{source}], {size}, [{at}];"
    )
    _wait(p, f"mbarrier.try_wait.parity.shared::cta.b64 {done}, [{at}], 0;", done)
    p.plain(f"ld.shared.b64 {p.var('d')}, [{slot(p, 8)}];")
    _remove(p, at, first)


def _barrier_object(p: Program, count: int) -> tuple[str, str, str, str]:
    """The address of an initialised barrier object, a register for its state, the predicate of the first thread, a predicate."""
    at, state, first, done = p.new("r"), p.new("d"), p.new("p"), p.new("p")
    p.plain(f"mov.u32 {at}, arrivals;")
    p.plain(f"setp.eq.u32 {first}, %lane, 0;")
    p.plain(f"@{first} mbarrier.init.shared::cta.b64 [{at}], {count};")
    p.plain("bar.sync 0;")
    return at, state, first, done


def _wait(p: Program, question: str, done: str) -> None:
    again = p.label()
    p.plain(f"{again}:")
    p.plain(question)
    p.plain(f"@!{done} bra {again};")


def _remove(p: Program, at: str, first: str) -> None:
    p.plain("bar.sync 0;")
    p.plain(f"@{first} mbarrier.inval.shared::cta.b64 [{at}];")
    p.plain("bar.sync 0;")


def _cluster(p: Program) -> None:
    """An exchange through addresses of the cluster, which has one block."""
    r = p.rng
    own, other, far = slot(p, 8), p.new("r"), p.new("r")
    p.plain(f"st.shared::cta.b64 [{own}], {p.src('d')};")
    p.plain("barrier.cluster.arrive.aligned;")
    arithmetic.statement(p)
    p.plain("barrier.cluster.wait.aligned;")
    p.plain(f"xor.b32 {other}, %lane, {r.choice((1, 2, 31, 32))};")
    p.plain(f"mapa.shared::cluster.u32 {far}, {slot(p, 8, other)}, 0;")
    p.plain(f"ld.shared::cluster.b64 {p.var('d')}, [{far}];")
    p.plain("bar.sync 0;")


def _zeros(p: Program) -> None:
    """st.bulk by one thread."""
    r = p.rng
    buffer, first = p.new("r"), p.new("p")
    p.plain(f"st.shared.b64 [{slot(p, 8)}], {p.src('d')};")
    p.plain(f"mov.u32 {buffer}, buffer;")
    p.plain(f"setp.eq.u32 {first}, %lane, {r.randrange(64)};")
    p.plain("bar.sync 0;")
    p.plain(f"@{first} st.bulk.weak.shared::cta [{buffer}+{8 * r.randrange(8)}], {8 * r.randrange(1, 40)}, 0;")
    p.plain("bar.sync 0;")
    p.plain(f"ld.shared.b64 {p.var('d')}, [{slot(p, 8)}];")
    p.plain("bar.sync 0;")


def _float_reduction(p: Program) -> None:
    """redux of f32."""
    r = p.rng
    if not listed(p.target.name, _FLOAT_REDUCTIONS):
        _cluster(p)
        return
    mods = r.choice(("", "", ".abs")) + r.choice(("", ".NaN"))
    p.plain(f"redux.sync.{r.choice(('min', 'max'))}{mods}.f32 {p.var('f')}, {p.var('f')}, 0xffffffff;")


def _matrix(p: Program) -> None:
    """Products of narrow floats without NaN."""
    r = p.rng
    if not listed(p.target.name, _NARROW_PRODUCTS):
        # Others build the product of two, whose sums are rounded differently.
        _float_reduction(p)
        return
    kinds, mask, kind = ["e4m3", "e5m2"], "0xbfbfbfbf", ""
    if r.random() < 0.7:
        kinds, mask, kind = ["e4m3", "e5m2", "e2m3", "e3m2", "e2m1"], "0x3c3c3c3c", ".kind::f8f6f4"
    values = [p.new("r") for _ in range(6)]
    for x in values:
        p.plain(f"and.b32 {x}, {p.var('r')}, {mask};")
    d, c = p.names("f", 4), [p.var("f") for _ in range(4)]
    p.plain(
        f"mma.sync.aligned.m16n8k32.row.col{kind}.f32.{r.choice(kinds)}.{r.choice(kinds)}.f32"
        f" {vector(d)}, {vector(values[:4])}, {vector(values[4:])}, {vector(c)};"
    )


_CHOICES: Final = (
    _packed_floats, _packed_floats, _extremes, _extremes, _mixed, _narrow, _narrow, _chain, _chain, _chain, _uniform_chain,
    _uniform_chain, _wide_load, _wide_store, _uniform_floats, _uniform_branch,
)  # fmt: skip
_TOGETHER: Final = (_arrivals, _bulk_copy, _cluster, _zeros, _float_reduction, _float_reduction, _matrix)
