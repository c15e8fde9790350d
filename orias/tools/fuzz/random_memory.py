"""Random loads, stores and atomics of all state spaces."""

from typing import Final

from orias.target import features
from orias.tools.fuzz.interesting import PARAMS, SLOTS, THREADS, TYPES
from orias.tools.fuzz.random_program import Program

_SHAPES: Final = (
    "u8 r", "s8 r", "u16 h", "s16 r", "u32 r", "b64 d", "f32 f", "f64 g", "v2.u32 r", "v4.u32 r", "v2.f32 f", "s8 d", "v2.b64 d", "v2.u16 h",
    "v4.f32 f", "s32 d", "u16 d", "v2.s8 r", "u8 h", "v4.u8 r",
)  # fmt: skip
"""Types of loads, and the files of their results."""
_ATOMICS: Final = (
    ("u32", "r", "add"), ("s32", "r", "min"), ("b32", "r", "xor"), ("u64", "d", "add"), ("u32", "r", "inc"), ("u32", "r", "dec"),
    ("f32", "f", "add"), ("b32", "r", "exch"), ("u64", "d", "max"), ("s64", "d", "min"), ("b32", "r", "cas"), ("b64", "d", "cas"),
    ("b64", "d", "and"), ("u32", "r", "max"), ("b64", "d", "exch"),
)  # fmt: skip


def statement(p: Program) -> None:
    """Emits an access of a thread to memory that no other thread writes."""
    p.rng.choice((_load, _load, _load, _own, _local, _local, _generic, _constant, _constant, _parameter, _parameter))(p)


def together(p: Program) -> None:
    """Emits an exchange between the threads of a block; all execute it."""
    p.rng.choice((_exchange, _exchange, _reduce, _reduce_global, _matrices, _copy))(p)


def vector(names: list[str]) -> str:
    """The operand of an access to one or several registers."""
    return names[0] if len(names) == 1 else "{" + ", ".join(names) + "}"


def _targets(p: Program, shape: str) -> tuple[str, str]:
    """Type and destination of a load."""
    t, file = shape.split()
    return t, vector(p.names(file, int(t[1]) if t[0] == "v" else 1))


def input_address(p: Program, alignment: int = 16) -> str:
    """A register with a data-dependent address in the input."""
    at, address = p.new("r"), p.new("d")
    p.plain(f"and.b32 {at}, {p.var('r')}, {1023 * 8 & -alignment};")
    if p.rng.random() < 0.5:
        p.plain(f"cvt.u64.u32 {address}, {at};")
        p.plain(f"add.u64 {address}, {address}, %in;")
    else:
        p.plain(f"mad.wide.u32 {address}, {at}, 1, %in;")
    return address


def _load(p: Program) -> None:
    r = p.rng
    address = input_address(p)
    t, dst = _targets(p, r.choice(_SHAPES))
    nc = r.choice(("", ".nc")) if not p.in_function else ""
    p.emit(f"ld.global{nc}.{t} {dst}, [{address}+{r.choice((0, 0, 16, 32))}];")


def _own(p: Program) -> None:
    """Accesses the thread's own words, which follow its results."""
    r = p.rng
    if p.in_function:
        _load(p)
    elif r.random() < 0.5:
        t, file, op = r.choice(_ATOMICS)
        other = f", {p.src(file)}" if op == "cas" else ""
        if op in ("exch", "cas") or r.random() < 0.5:
            p.emit(f"atom.global.{op}.{t} {p.var(file)}, [%scratch], {p.src(file)}{other};")
        else:
            p.emit(f"red.global.{op}.{t} [%scratch], {p.src(file)};")
    elif r.random() < 0.3:
        t, dst = _targets(p, r.choice(("v2.u32 r", "v4.u32 r", "b64 d", "u16 h", "s8 r")))
        p.emit(f"ld.global.{t} {dst}, [%scratch];")
    else:
        t, file = r.choice((("b32", "r"), ("b64", "d"), ("b16", "h"), ("b8", "r"), ("f32", "f"), ("v2.b32", "r"), ("v4.b32", "r"), ("v2.f64", "g")))  # fmt: skip
        if t[0] == "v":
            p.emit(f"st.global.{t} [%scratch], {vector([p.seen(file, 0) for _ in range(int(t[1]))])};")
        else:
            source = p.var("r") if t == "b8" else p.seen(file)
            p.emit(f"st.global.{t} [%scratch+{r.choice((0, 8, 16))}], {source};")


def _local(p: Program) -> None:
    """A store to and a load from an array of the thread."""
    r = p.rng
    if p.in_function:
        _load(p)
        return
    t, file, mask = r.choice((("b32", "r", 60), ("b64", "d", 56), ("f32", "f", 60), ("u16", "h", 62), ("u8", "r", 63), ("v2.u32", "r", 56), ("v4.u32", "r", 48)))  # fmt: skip
    at, address = p.new("r"), p.new("r")
    p.plain(f"and.b32 {at}, {p.var('r')}, {mask};")
    p.plain(f"mov.u32 {address}, stack;")
    p.plain(f"add.u32 {address}, {address}, {at};")
    count = int(t[1]) if t[0] == "v" else 1
    source = vector([p.seen(file, 0) for _ in range(count)]) if t != "u8" else p.var("r")
    p.emit(f"st.local.{t} [{address}], {source};")
    if r.random() < 0.7:
        p.emit(f"ld.local.{t} {vector(p.names(file, count))}, [{address}];")
        p.emit(f"ld.local.b32 {p.var('r')}, [stack+{r.randrange(16) * 4}];")


def _generic(p: Program) -> None:
    """An access through a generic address."""
    r = p.rng
    if p.in_function:
        _load(p)
        return
    base, address, at = p.new("d"), p.new("d"), p.new("r")
    wide = p.new("d")
    p.plain(f"mov.u64 {base}, {r.choice(('stack', 'stack', 'values'))};")
    space = "local" if "stack" in p.lines[-1] else "global"
    p.plain(f"cvta.{space}.u64 {address}, {base};")
    p.plain(f"and.b32 {at}, {p.var('r')}, 56;")
    p.plain(f"cvt.u64.u32 {wide}, {at};")
    p.plain(f"add.u64 {address}, {address}, {wide};")
    if space == "local" and r.random() < 0.5:
        t, file = r.choice((("b32", "r"), ("b64", "d"), ("u16", "h")))
        p.emit(f"st.{t} [{address}], {p.src(file)};")
    t, dst = _targets(p, r.choice(("u8 r", "s16 r", "u32 r", "b64 d", "f32 f", "v2.u32 r")))
    p.emit(f"ld.{t} {dst}, [{address}];")


def _constant(p: Program) -> None:
    """The module's tables."""
    r = p.rng
    t, dst = _targets(
        p, r.choice(("u8 r", "s8 r", "u16 h", "s16 r", "u32 r", "b64 d", "f32 f", "v2.u32 r", "v4.u32 r"))
    )
    space, name = r.choice((("const", "table"), ("const", "table"), ("global", "values")))
    if r.random() < 0.4:
        p.emit(f"ld.{space}.{t} {dst}, [{name}+{16 * r.randrange(4)}];")
        return
    at, address = p.new("r"), p.new("d")
    p.plain(f"and.b32 {at}, {r.choice((p.var('r'), p.src('r')))}, 48;")
    p.plain(f"mov.u64 {address}, {name};")
    p.plain(f"mad.wide.u32 {address}, {at}, 1, {address};")
    p.emit(f"ld.{space}.{t} {dst}, [{address}];")


def _parameter(p: Program) -> None:
    """The kernel's parameters."""
    r = p.rng
    if p.in_function:
        _constant(p)
        return
    k = r.randrange(len(PARAMS) + 2)
    if k < len(PARAMS):
        t = PARAMS[k]
        file = {"u32": "r", "u64": "d", "f32": "f", "f64": "g", "u16": "h", "s8": "r"}[t]
        p.emit(f"ld.param.{t} {p.var(file)}, [q{k}];")
    elif k == len(PARAMS):
        t, dst = _targets(p, r.choice(("u8 r", "s16 r", "u32 r", "b64 d", "v2.u32 r", "v4.u32 r")))
        p.emit(f"ld.param.{t} {dst}, [qs+{16 * r.randrange(2)}];")
    else:
        at, address = p.new("r"), p.new("d")
        p.plain(f"and.b32 {at}, {p.src('r', 0)}, 28;")
        p.plain(f"mov.b64 {address}, qs;")
        p.plain(f"mad.wide.u32 {address}, {at}, 1, {address};")
        p.emit(f"ld.param.u32 {p.var('r')}, [{address}];")


# -- whole blocks


def slot(p: Program, step: int, index: str = "%lane") -> str:
    """A register with the address of an element of the shared buffer."""
    address = p.new("r")
    p.plain(f"mov.u32 {address}, buffer;")
    p.plain(f"mad.lo.u32 {address}, {index}, {step}, {address};")
    return address


def _exchange(p: Program) -> None:
    t, file, step = p.rng.choice(
        (("b32", "r", 4), ("b64", "d", 8), ("f32", "f", 4), ("u16", "h", 2), ("u8", "r", 1), ("v2.b32", "r", 8))
    )
    count = 2 if t[0] == "v" else 1
    own = slot(p, step)
    p.plain(f"st.shared.{t} [{own}], {vector([p.seen(file, 0) for _ in range(count)])};")
    p.plain("bar.sync 0;")
    other = p.new("r")
    p.plain(f"xor.b32 {other}, %lane, {p.rng.choice((1, 2, 5, 31, 32, 63))};")
    address = slot(p, step, other)
    p.plain(f"ld.shared.{t} {vector(p.names(file, count))}, [{address}];")
    p.plain("bar.sync 0;")


def _reduce_global(p: Program) -> None:
    """Atomics of all threads of a block on one word of global memory, which is the scratch memory of one of them."""
    r = p.rng
    t, file, op = r.choice((
        ("u32", "r", "add"), ("s32", "r", "min"), ("u32", "r", "max"), ("b32", "r", "xor"), ("b32", "r", "or"), ("b32", "r", "and"),
        ("u64", "d", "add"), ("s64", "d", "min"), ("s64", "d", "max"), ("u64", "d", "max"), ("b64", "d", "xor"),
    ))  # fmt: skip
    word, number = p.new("d"), p.new("r")
    p.plain(
        f"ld.param.u64 {word}, [po]; mov.u32 {number}, %ctaid.x; mad.lo.u32 {number}, {number}, {THREADS}, {r.choice((0, 1, 40))};"
    )
    p.plain(f"mad.wide.u32 {word}, {number}, {8 * SLOTS}, {word};")
    p.plain(f"st.global.b64 [%scratch], {p.src('d')};")
    p.plain("bar.sync 0;")
    p.emit(f"red.global.{op}.{t} [{word}+{8 * (SLOTS - 4)}], {p.src(file)};")
    p.plain("bar.sync 0;")
    p.plain(f"ld.global.b64 {p.var('d')}, [%scratch];")
    p.plain("bar.sync 0;")


def _reduce(p: Program) -> None:
    """Atomics of all threads on a few words; their order does not matter."""
    r = p.rng
    t, file, op = r.choice((
        ("u32", "r", "add"), ("s32", "r", "min"), ("u32", "r", "max"), ("b32", "r", "xor"), ("b32", "r", "or"), ("b32", "r", "and"),
        ("u64", "d", "add"),
    ))  # fmt: skip
    own = slot(p, 8)
    p.plain(f"st.shared.b64 [{own}], {p.src('d')};")
    p.plain("bar.sync 0;")
    at = p.new("r")
    p.plain(f"and.b32 {at}, {p.var('r')}, {r.choice((0, 3, 63))};")
    p.emit(f"red.shared.{op}.{t} [{slot(p, 8, at)}], {p.src(file)};")
    p.plain("bar.sync 0;")
    p.plain(f"ld.shared.{TYPES[file]} {p.var(file)}, [{own}];")
    what = r.choice(("exch.b32", "add.u32", "inc.u32", "xor.b32"))
    p.plain(f"atom.shared.{what} {p.var('r')}, [{own}+4], {p.src('r')};")
    p.plain(f"ld.shared.b32 {p.var('r')}, [{own}+4];")
    p.plain("bar.sync 0;")


def _matrices(p: Program) -> None:
    """ldmatrix: rows of 16 bytes, one per thread."""
    r = p.rng
    own = slot(p, 8)
    p.plain(f"st.shared.b64 [{own}], {p.src('d')};")
    p.plain("bar.sync 0;")
    count = r.choice((1, 2, 4))
    row = p.new("r")
    p.plain(f"and.b32 {row}, %lane, 31;")
    address = slot(p, 16, row)
    p.plain(
        f"ldmatrix.sync.aligned.m8n8.x{count}{r.choice(('', '.trans'))}.shared.b16 {{{', '.join(p.names('r', count))}}}, [{address}];"
    )
    p.plain("bar.sync 0;")


def _copy(p: Program) -> None:
    """cp.async in two groups."""
    r = p.rng
    if not p.has(features.ASYNC_COPIES):
        _exchange(p)
        return
    size = r.choice((4, 8))
    address = input_address(p)
    own = slot(p, 8)
    if size == 8:
        short = r.choice(("", "", ", 4", ", 0"))
        p.plain(f"cp.async.ca.shared.global [{own}], [{address}], 8{short};")
        p.plain("cp.async.commit_group;")
    else:
        p.plain(f"cp.async.ca.shared.global [{own}], [{address}+{r.choice((0, 4))}], 4;")
        p.plain("cp.async.commit_group;")
        p.plain(f"cp.async.ca.shared.global [{own}+4], [{address}+8], 4;")
        p.plain("cp.async.commit_group;")
        p.plain("cp.async.wait_group 1;")
        p.plain(f"ld.shared.b32 {p.var('r')}, [{own}];")
    p.plain("cp.async.wait_group 0;")
    p.plain(f"ld.shared.b64 {p.var('d')}, [{own}];")
    p.plain("bar.sync 0;")
