"""Random branches, loops, switches and calls."""

from orias.tools.fuzz import warps
from orias.tools.fuzz.interesting import TYPES
from orias.tools.fuzz.random_program import Program


def compound(p: Program) -> None:
    """Emits a statement that contains statements."""
    p.depth += 1
    was = p.uniform
    p.rng.choice((condition, condition, loop, counted, counted, search, switch, divergent_warp))(p)
    p.uniform = was
    p.depth -= 1


def condition(p: Program) -> None:
    """Emits an if, with or without else."""
    p.uniform = False
    _condition(p, p.var("p"))


def _condition(p: Program, flag: str) -> None:
    r = p.rng
    other, end = p.label(), p.label()
    p.plain(f"@{r.choice(('', '!'))}{flag} bra {other};")
    p.block(r.randrange(1, 5))
    if r.random() < 0.5:
        p.plain(f"bra {end};")
        p.plain(f"{other}:")
        p.block(r.randrange(1, 5))
        p.plain(f"{end}:")
    else:
        p.plain(f"{other}:")


def uniform(p: Program) -> None:
    """Emits a change of a uniform variable, or a uniform branch or loop."""
    r = p.rng
    if r.random() < 0.5 or p.depth >= 3:
        d, x, y = p.var("u"), p.var("u"), r.choice((p.var("u"), p.constant("r")))
        p.plain(
            r.choice(
                (
                    f"{r.choice(('add', 'sub', 'mul.lo', 'min', 'max'))}.{r.choice(('u32', 's32'))} {d}, {x}, {y};",
                    f"{r.choice(('and', 'or', 'xor'))}.b32 {d}, {x}, {y};",
                    f"{r.choice(('shl.b32', 'shr.u32', 'shr.s32'))} {d}, {x}, {r.randrange(34)};",
                    f"lop3.b32 {d}, {x}, {y}, {p.var('u')}, {r.randrange(256)};",
                    f"mad.lo.u32 {d}, {x}, {y}, {p.var('u')};",
                    f"popc.b32 {d}, {x};",
                    f"bfe.{r.choice('us')}32 {d}, {x}, {r.randrange(32)}, {r.randrange(33)};",
                    f"prmt.b32 {d}, {x}, {y}, 0x{r.getrandbits(16):x};",
                )
            )
        )
        return
    p.depth += 1
    if r.random() < 0.5:
        flag = p.new("p")
        p.plain(f"setp.{r.choice(('lt', 'ge', 'eq', 'ne', 'gt'))}.{r.choice('us')}32 {flag}, {p.var('u')}, {r.choice((p.var('u'), p.constant('r')))};")  # fmt: skip
        _condition(p, flag)
    else:
        counter, flag, head = p.new("r"), p.new("p"), p.label()
        p.plain(f"and.b32 {counter}, {p.var('u')}, {r.choice((1, 3, 7))};")
        p.plain(f"{head}:")
        p.block(r.randrange(1, 4))
        p.plain(f"add.s32 {counter}, {counter}, -1;")
        p.plain(f"setp.ge.s32 {flag}, {counter}, 0;")
        p.plain(f"@{flag} bra{r.choice(('', '.uni'))} {head};")
    p.depth -= 1


def loop(p: Program) -> None:
    """Emits a loop with a constant or data-dependent count; sometimes with break or continue, or tested at the top."""
    r = p.rng
    counter, flag = p.new("r"), p.new("p")
    head, step, end = p.label(), p.label(), p.label()
    leaves, goes_on, top = r.random() < 0.3, r.random() < 0.2, r.random() < 0.3
    if leaves or goes_on:
        p.uniform = False
    if r.random() < 0.5:
        p.plain(f"mov.u32 {counter}, {r.randrange(1, 6)};")
    else:
        p.uniform = False
        p.plain(f"and.b32 {counter}, {p.var('r')}, {r.choice((1, 3, 7))};")
    p.plain(f"{head}:")
    if top:
        p.plain(f"setp.eq.s32 {flag}, {counter}, 0;")
        p.plain(f"@{flag} bra {end};")
    p.block(r.randrange(1, 5))
    if leaves:
        p.plain(f"@{p.var('p')} bra {end};")
        p.block(r.randrange(0, 3))
    if goes_on:
        p.plain(f"@{p.var('p')} bra {step};")
        p.block(r.randrange(1, 3))
    p.plain(f"{step}:")
    p.plain(f"sub.u32 {counter}, {counter}, 1;")
    if top:
        p.plain(f"bra {head};")
    else:
        p.plain(f"setp.gt.s32 {flag}, {counter}, 0;")
        p.plain(f"@{flag} bra {head};")
    p.plain(f"{end}:")


def counted(p: Program) -> None:
    """Emits a loop with a counter of 32 or 64 bits from a start to a bound, up or down, tested at the top or at the bottom."""
    r = p.rng
    bits = r.choice((32, 32, 64))
    file = "r" if bits == 32 else "d"
    i, n, steps, flag = p.new(file), p.new(file), p.new("r"), p.new("p")
    head, end = p.label(), p.label()
    by, top = r.choice((1, 1, 1, 2, 3, 5)), r.random() < 0.4
    start = r.choice((0, 0, 1, -7, (1 << (bits - 1)) - 20, -(1 << (bits - 1)), (1 << bits) - 90))
    kind = r.randrange(3) if not p.in_function else r.choice((0, 2))
    if kind == 0:
        p.plain(f"mov.u32 {steps}, {r.randrange(1, 13)};")
    else:
        p.uniform = p.uniform and kind == 1
        p.plain(f"and.b32 {steps}, {p.var('ur'[kind - 1])}, {r.choice((3, 7, 15))};")
        p.plain(f"add.u32 {steps}, {steps}, 1;")
    p.plain(f"mov.u{bits} {i}, {start};")
    stride = str(by)
    if r.random() < 0.3:
        # A step that is known at run time only.
        word = p.new("r")
        stride = word if bits == 32 else p.new("d")
        from_all = "r" if p.in_function or not p.uniform else "u"
        p.plain(f"and.b32 {word}, {p.var(from_all)}, 3;")
        p.plain(f"add.u32 {word}, {word}, 1;")
        if bits == 64:
            p.plain(f"cvt.u64.u32 {stride}, {word};")
    if bits == 64:
        wide = p.new("d")
        p.plain(f"cvt.u64.u32 {wide}, {steps};")
        p.plain(f"mul.lo.u64 {n}, {wide}, {stride};")
    else:
        p.plain(f"mul.lo.u32 {n}, {steps}, {stride};")
    p.plain(f"add.u{bits} {n}, {n}, {i};")
    down = r.random() < 0.3
    if down:
        i, n = n, i
    # Only "ne" ends a count that wraps around where the comparison does.
    test = "ne" if r.random() < 0.3 or start not in (0, 1) else "gt" if down else "lt"
    opposite = {"ne": "eq", "lt": "ge", "gt": "le"}[test]
    kind_of = r.choice("us")
    p.plain(f"{head}:")
    if top:
        p.plain(f"setp.{opposite}.{kind_of}{bits} {flag}, {i}, {n};")
        p.plain(f"@{flag} bra {end};")
    if file == "r":
        d = p.var("r")
        p.plain(f"mad.lo.u32 {d}, {d}, 3, {i};")
    else:
        d = p.var("d")
        p.plain(f"add.u64 {d}, {d}, {i};")
    p.block(r.randrange(1, 4))
    p.plain(f"{'sub' if down else 'add'}.s{bits} {i}, {i}, {stride};")
    if top:
        p.plain(f"bra {head};")
    else:
        p.plain(f"setp.{test}.{kind_of}{bits} {flag}, {i}, {n};")
        p.plain(f"@{flag} bra {head};")
    p.plain(f"{end}:")


def search(p: Program) -> None:
    """Emits two nested loops; the inner one can leave both."""
    r = p.rng
    p.uniform = False
    i, j, flag = p.new("r"), p.new("r"), p.new("p")
    outer, inner, found, end = p.label(), p.label(), p.label(), p.label()
    p.plain(f"and.b32 {i}, {p.var('r')}, 3;")
    p.plain(f"{outer}:")
    p.plain(f"mov.u32 {j}, {r.randrange(1, 4)};")
    p.plain(f"{inner}:")
    p.block(r.randrange(1, 3))
    p.plain(f"@{r.choice(('', '!'))}{p.var('p')} bra {found};")
    p.plain(f"add.s32 {j}, {j}, -1;")
    p.plain(f"setp.ne.s32 {flag}, {j}, 0;")
    p.plain(f"@{flag} bra {inner};")
    p.block(r.randrange(0, 2))
    p.plain(f"add.s32 {i}, {i}, -1;")
    p.plain(f"setp.ge.s32 {flag}, {i}, 0;")
    p.plain(f"@{flag} bra {outer};")
    p.block(r.randrange(0, 2))
    p.plain(f"bra {end};")
    p.plain(f"{found}:")
    p.plain(f"add.u32 {p.var('r')}, {i}, {j};")
    p.plain(f"{end}:")


def switch(p: Program) -> None:
    """Emits a brx.idx."""
    r = p.rng
    p.uniform = False
    index, table, end = p.new("r"), p.label(), p.label()
    count = r.choice((2, 3, 4, 7))
    labels = [p.label() for _ in range(count)]
    if count & (count - 1):
        p.plain(f"rem.u32 {index}, {p.var('r')}, {count};")
    else:
        p.plain(f"and.b32 {index}, {p.var('r')}, {count - 1};")
    p.plain(f"{table}: .branchtargets {', '.join(labels)};")
    p.plain(f"brx.idx {index}, {table};")
    for label in labels:
        p.plain(f"{label}:")
        p.block(r.randrange(1, 3))
        if r.random() < 0.8:
            p.plain(f"bra {end};")
    p.plain(f"{end}:")


def divergent_warp(p: Program) -> None:
    """Emits a warp operation in a branch, for the threads that take it."""
    if p.in_function or not p.uniform:
        condition(p)
        return
    mask, flag, skip = p.new("r"), p.var("p"), p.label()
    p.plain(f"vote.sync.ballot.b32 {mask}, {flag}, 0xffffffff;")
    p.plain(f"@!{flag} bra {skip};")
    p.uniform = False
    p.block(p.rng.randrange(0, 3))
    warps.members(p, mask)
    p.plain(f"{skip}:")


def call(p: Program) -> None:
    """Emits a call of one of the module's functions, by name or by address, guarded or not."""
    r = p.rng
    name, params, result = r.choice(p.functions)
    arguments = [p.src(file, 0.15) for file in params]
    flag = p.var("p") if r.random() < 0.25 else ""
    target, proto = name, ""
    p.plain("{")
    if r.random() < 0.2:
        target, label = p.new("d"), p.label()
        p.plain(f"mov.u64 {target}, {name};")
        kinds = ", ".join(f".param .{TYPES[f]} _" for f in params)
        p.plain(f"{label}: .callprototype (.param .{TYPES[result]} _) _ ({kinds});")
        proto = f", {label}"
    for k, (file, value) in enumerate(zip(params, arguments, strict=True)):
        p.plain(f".param .{TYPES[file]} c{k};")
        p.plain(f"st.param.{TYPES[file]} [c{k}], {value};")
    p.plain(f".param .{TYPES[result]} back;")
    guard = f"@{flag} " if flag else ""
    p.plain(f"{guard}call (back), {target}, ({', '.join(f'c{k}' for k in range(len(params)))}){proto};")
    dst = p.var(result)
    got = p.new(result) if flag else dst
    p.plain(f"ld.param.{TYPES[result]} {got}, [back];")
    p.plain("}")
    if flag:
        p.plain(f"selp.{TYPES[result]} {dst}, {got}, {dst}, {flag};")
