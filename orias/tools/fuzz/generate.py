"""The generator: a module with one kernel ``k`` and a few functions, from a seed and a budget of statements.

Every thread reads its inputs, computes on variables that all have a value from the start, and stores all of them.  Loops
count down from small numbers, shared memory is written and read between barriers, warp operations name exactly the threads
that execute them: so the meaning of every program is defined.
"""

import random

from orias.tools.fuzz import arithmetic, floats
from orias.tools.fuzz.words import BITS, DOUBLES, FILES, FLOATS, INTS

SLOTS = 48
"""Eight-byte words of input and output a thread."""
THREADS = 64
INPUT_WORDS = 1024


class Program:
    """One program in the making; statements collect in ``lines``."""

    def __init__(self, seed: int, budget: int, sm: int) -> None:
        self.rng = random.Random(seed)
        self.seed = seed
        self.left = budget
        self.sm = sm
        self.lines: list[str] = []
        self.labels = 0
        self.temps: dict[str, int] = dict.fromkeys(FILES, 0)
        self.depth = 0
        self.uniform = True
        self.functions: list[tuple[str, list[str], str]] = []
        self.in_function = False

    # -- operands

    def new(self, file: str) -> str:
        """A register of its own, for a value used at once."""
        self.temps[file] += 1
        return f"%t{file}{self.temps[file]}"

    def var(self, file: str) -> str:
        """A variable."""
        return f"%{file}{self.rng.randrange(FILES[file][2])}"

    def src(self, file: str, constants: float = 0.25) -> str:
        """A variable or a constant."""
        if file != "p" and self.rng.random() < constants:
            return self.constant(file)
        return self.var(file)

    def constant(self, file: str) -> str:
        """A constant of a file's width."""
        r = self.rng
        if file == "f":
            return f"0f{r.choice(FLOATS) if r.random() < 0.8 else r.getrandbits(32):08X}"
        if file == "g":
            return f"0d{r.choice(DOUBLES) if r.random() < 0.8 else r.getrandbits(64):016X}"
        bits = BITS[file]
        value = r.choice(INTS[bits]) if r.random() < 0.8 else r.getrandbits(bits)
        if value >> (bits - 1) and r.random() < 0.5:
            value -= 1 << bits
        return str(value)

    def emit(self, text: str) -> None:
        """A statement; one in six is guarded."""
        if self.rng.random() < 0.16 and not text.startswith(("{", "@")):
            text = f"@{self.rng.choice(('', '!'))}{self.var('p')} {text}"
        self.lines.append(text)

    def plain(self, text: str) -> None:
        """A statement that must not be guarded."""
        self.lines.append(text)

    def label(self) -> str:
        """A new label."""
        self.labels += 1
        return f"L{self.labels}"

    # -- statements

    def block(self, count: int) -> None:
        """Some statements."""
        for _ in range(count):
            if self.left <= 0:
                return
            self.left -= 1
            self.statement()

    def statement(self) -> None:
        """One statement, simple or compound."""
        roll = self.rng.random()
        if roll < 0.56:
            arithmetic.statement(self)
        elif roll < 0.76:
            floats.statement(self)
        elif roll < 0.80:
            self.memory()
        elif roll < 0.83:
            self.local()
        elif roll < 0.86 and self.uniform and not self.in_function:
            self.shared()
        elif roll < 0.89 and self.uniform and not self.in_function:
            self.warp("0xffffffff")
        elif roll < 0.91 and self.functions and not self.in_function:
            self.call()
        elif self.depth < 3:
            self.compound()
        else:
            arithmetic.statement(self)

    def compound(self) -> None:
        """Branches and loops."""
        self.depth += 1
        was = self.uniform
        kind = self.rng.randrange(5)
        if kind <= 1:
            self.condition()
        elif kind == 2:
            self.loop()
        elif kind == 3:
            self.switch()
        else:
            self.divergent_warp()
        self.uniform = was
        self.depth -= 1

    def condition(self) -> None:
        """if, with or without else."""
        self.uniform = False
        other, end = self.label(), self.label()
        self.plain(f"@{self.rng.choice(('', '!'))}{self.var('p')} bra {other};")
        self.block(self.rng.randrange(1, 5))
        if self.rng.random() < 0.5:
            self.plain(f"bra {end};")
            self.plain(f"{other}:")
            self.block(self.rng.randrange(1, 5))
            self.plain(f"{end}:")
        else:
            self.plain(f"{other}:")

    def loop(self) -> None:
        """A loop with a counter of its own, constant or by data; sometimes left early."""
        counter, p = self.new("r"), self.new("p")
        head, end = self.label(), self.label()
        leaves = self.rng.random() < 0.3
        if leaves:
            self.uniform = False
        if self.rng.random() < 0.5:
            self.plain(f"mov.u32 {counter}, {self.rng.randrange(1, 6)};")
        else:
            self.uniform = False
            self.plain(f"and.b32 {counter}, {self.var('r')}, 3;")
        self.plain(f"{head}:")
        self.block(self.rng.randrange(1, 5))
        if leaves:
            self.plain(f"@{self.var('p')} bra {end};")
            self.block(self.rng.randrange(0, 3))
        self.plain(f"sub.u32 {counter}, {counter}, 1;")
        self.plain(f"setp.gt.s32 {p}, {counter}, 0;")
        self.plain(f"@{p} bra {head};")
        self.plain(f"{end}:")

    def switch(self) -> None:
        """brx.idx."""
        self.uniform = False
        index, table, end = self.new("r"), self.label(), self.label()
        count = self.rng.choice((2, 4))
        labels = [self.label() for _ in range(count)]
        self.plain(f"and.b32 {index}, {self.var('r')}, {count - 1};")
        self.plain(f"{table}: .branchtargets {', '.join(labels)};")
        self.plain(f"brx.idx {index}, {table};")
        for label in labels:
            self.plain(f"{label}:")
            self.block(self.rng.randrange(1, 3))
            if self.rng.random() < 0.8:
                self.plain(f"bra {end};")
        self.plain(f"{end}:")

    def divergent_warp(self) -> None:
        """A warp operation in a branch, for the threads that take it."""
        if self.in_function or not self.uniform:
            self.condition()
            return
        mask, p, skip = self.new("r"), self.var("p"), self.label()
        self.plain(f"vote.sync.ballot.b32 {mask}, {p}, 0xffffffff;")
        self.plain(f"@!{p} bra {skip};")
        self.uniform = False
        self.block(self.rng.randrange(0, 3))
        self.warp(mask)
        self.plain(f"{skip}:")

    def warp(self, mask: str) -> None:
        """A warp operation of the members of a mask, which all execute it."""
        r = self.rng
        kind = r.randrange(6)
        full = mask == "0xffffffff"
        if kind <= 1 and full:
            mode = r.choice(("idx", "up", "down", "bfly"))
            clamp = 0 if mode == "up" else r.choice((31, 0x181F, 0x101F))
            lane = r.randrange(32) if mode == "idx" else r.choice((1, 2, 4, 8, 16, 3))
            if mode in ("idx", "bfly") or r.random() < 0.5:
                self.plain(
                    f"shfl.sync.{mode}.b32 {self.var('r')}|{self.var('p')}, {self.src('r')}, {lane}, {clamp}, {mask};"
                )
            else:
                self.plain(f"shfl.sync.{mode}.b32 {self.var('r')}, {self.src('r')}, {lane}, {clamp}, {mask};")
        elif kind <= 2:
            self.plain(f"vote.sync.ballot.b32 {self.var('r')}, {self.var('p')}, {mask};")
        elif kind == 3:
            self.plain(f"vote.sync.{r.choice(('all', 'any', 'uni'))}.pred {self.var('p')}, {self.var('p')}, {mask};")
        elif kind == 4 and self.sm >= 80:
            op, t = r.choice(
                (
                    ("add", "u32"),
                    ("min", "s32"),
                    ("max", "u32"),
                    ("and", "b32"),
                    ("or", "b32"),
                    ("xor", "b32"),
                    ("max", "s32"),
                )
            )
            self.plain(f"redux.sync.{op}.{t} {self.var('r')}, {self.var('r')}, {mask};")
        else:
            low = self.new("r")
            self.plain(f"and.b32 {low}, {self.var('r')}, 3;")
            if r.random() < 0.5:
                self.plain(f"match.any.sync.b32 {self.var('r')}, {low}, {mask};")
            else:
                self.plain(f"match.all.sync.b32 {self.var('r')}|{self.var('p')}, {low}, {mask};")

    def memory(self) -> None:
        """A load from the input at an address made of data, or a reduction into the thread's own word."""
        r = self.rng
        at, address = self.new("r"), self.new("d")
        if r.random() < 0.25:
            t, file, op = r.choice((
                ("u32", "r", "add"), ("s32", "r", "min"), ("b32", "r", "xor"), ("u64", "d", "add"), ("u32", "r", "inc"),
                ("f32", "f", "add"), ("b32", "r", "exch"), ("u64", "d", "max"), ("b32", "r", "cas"),
            ))  # fmt: skip
            other = f", {self.src(file)}" if op == "cas" else ""
            self.emit(f"atom.global.{op}.{t} {self.var(file)}, [%scratch], {self.src(file)}{other};")
            return
        if r.random() < 0.25:
            t, file = r.choice((("b32", "r"), ("b64", "d"), ("b16", "h"), ("b8", "r"), ("f32", "f")))
            source = self.var("r") if t == "b8" else self.src(file)
            self.emit(f"st.global.{t} [%scratch+{r.choice((0, 8, 16))}], {source};")
            return
        shape = r.choice(
            (
                "u8 r",
                "s8 r",
                "u16 h",
                "s16 r",
                "u32 r",
                "b64 d",
                "f32 f",
                "f64 g",
                "v2.u32 r",
                "v4.u32 r",
                "v2.f32 f",
                "s8 d",
            )
        )
        t, file = shape.split()
        self.plain(f"and.b32 {at}, {self.var('r')}, {(INPUT_WORDS - 1) * 8 & ~15};")
        self.plain(f"cvt.u64.u32 {address}, {at};")
        self.plain(f"add.u64 {address}, {address}, %in;")
        count = int(t[1]) if t[0] == "v" else 1
        names = r.sample(range(FILES[file][2]), count)
        dst = "{" + ", ".join(f"%{file}{k}" for k in names) + "}" if count > 1 else f"%{file}{names[0]}"
        nc = r.choice(("", ".nc")) if self.in_function is False else ""
        self.emit(f"ld.global{nc}.{t} {dst}, [{address}+{r.choice((0, 0, 16, 32))}];")

    def local(self) -> None:
        """A store to and a load from an array of the thread."""
        r = self.rng
        if self.in_function:
            arithmetic.statement(self)
            return
        at, address = self.new("r"), self.new("r")
        t, file = r.choice((("b32", "r"), ("b64", "d"), ("f32", "f"), ("u16", "h")))
        self.plain(f"and.b32 {at}, {self.var('r')}, 56;")
        self.plain(f"mov.u32 {address}, stack;")
        self.plain(f"add.u32 {address}, {address}, {at};")
        self.emit(f"st.local.{t} [{address}], {self.src(file)};")
        if r.random() < 0.7:
            self.emit(f"ld.local.{t} {self.var(file)}, [{address}];")
            self.emit(f"ld.local.b32 {self.var('r')}, [stack+{r.randrange(16) * 4}];")

    def shared(self) -> None:
        """An exchange between threads of the block."""
        own, other = self.new("r"), self.new("r")
        t, file, step = self.rng.choice((("b32", "r", 4), ("b64", "d", 8), ("f32", "f", 4), ("u16", "h", 2)))
        self.plain("mov.u32 " + own + ", buffer;")
        self.plain(f"mad.lo.u32 {own}, %lane, {step}, {own};")
        self.plain(f"st.shared.{t} [{own}], {self.src(file)};")
        self.plain("bar.sync 0;")
        self.plain(f"xor.b32 {other}, %lane, {self.rng.choice((1, 2, 5, 31, 32, 63))};")
        self.plain(f"mov.u32 {own}, buffer;")
        self.plain(f"mad.lo.u32 {other}, {other}, {step}, {own};")
        self.plain(f"ld.shared.{t} {self.var(file)}, [{other}];")
        self.plain("bar.sync 0;")

    def call(self) -> None:
        """A call of one of the module's functions."""
        name, params, result = self.rng.choice(self.functions)
        arguments = [self.src(file, 0.15) for file in params]
        self.plain("{")
        for k, (file, value) in enumerate(zip(params, arguments, strict=True)):
            self.plain(f".param .{_param(file)} a{k};")
            self.plain(f"st.param.{_param(file)} [a{k}], {value};")
        self.plain(f".param .{_param(result)} out;")
        self.plain(f"call (out), {name}, ({', '.join(f'a{k}' for k in range(len(params)))});")
        self.plain(f"ld.param.{_param(result)} {self.var(result)}, [out];")
        self.plain("}")


def _param(file: str) -> str:
    return {"r": "b32", "d": "b64", "f": "f32", "g": "f64"}[file]


def _declarations(p: Program) -> list[str]:
    out = [f".reg .{type_} %{f}<{n}>;" for f, (type_, _, n) in FILES.items()]
    out += [f".reg .{FILES[f][0]} %t{f}<{n + 1}>;" for f, n in p.temps.items()]
    return out


def _function(seed: int, number: int, sm: int) -> tuple[str, tuple[str, list[str], str]]:
    p = Program(seed * 7919 + number, 0, sm)
    p.in_function = True
    p.uniform = False
    params = [p.rng.choice("rrdfg") for _ in range(p.rng.randrange(1, 4))]
    result = p.rng.choice("rrdfg")
    p.left = p.rng.randrange(3, 12)
    p.block(12)
    name = f"f{number}"
    head = f".func (.param .{_param(result)} out) {name}({', '.join(f'.param .{_param(f)} a{k}' for k, f in enumerate(params))})"
    first = []
    for file, (_, _, count) in FILES.items():
        for k in range(count):
            if file == "p":
                first.append(f"setp.ne.u32 %p{k}, %r{k}, {k};")
            elif file == "h":
                first.append(f"mov.u16 %h{k}, {3 * k + 1};")
            elif file in "rd":
                first.append(f"mov.b{BITS[file]} %{file}{k}, {5 * k + 2};")
            else:
                first.append(
                    f"mov.{FILES[file][1]} %{file}{k}, {'0f3F800000' if file == 'f' else '0d3FF8000000000000'};"
                )
    for k, file in enumerate(params):
        first.append(f"ld.param.{_param(file)} %{file}{k}, [a{k}];")
    order = sorted(first, key=lambda x: x.startswith("setp"))
    body = [".reg .b64 %in, %scratch;", *_declarations(p), "mov.u64 %in, input;", "mov.u64 %scratch, input;", *order]
    body += [line for line in p.lines if "%scratch" not in line]
    body += [f"st.param.{_param(result)} [out], %{result}0;", "ret;"]
    return head + "\n{\n" + "\n".join(body) + "\n}\n", (name, params, result)


def generate(seed: int, budget: int = 40, sm: int = 90) -> str:
    """The module's text."""
    p = Program(seed, budget, sm)
    functions = []
    for k in range(p.rng.choice((0, 0, 1, 2))):
        text, signature = _function(seed, k, sm)
        functions.append(text)
        p.functions.append(signature)
    p.block(budget)
    loads, stores = [], []
    at = 0
    for file, (_, type_, count) in FILES.items():
        for k in range(count):
            if file == "p":
                loads.append(f"ld.global.u8 %tr0, [%mine+{8 * at}]; setp.gt.u32 %p{k}, %tr0, 127;")
                stores.append(f"selp.u32 %tr0, 1, 0, %p{k}; st.global.u32 [%out+{8 * at}], %tr0;")
            else:
                loads.append(f"ld.global.{type_} %{file}{k}, [%mine+{8 * at}];")
                stores.append(f"st.global.{type_} [%out+{8 * at}], %{file}{k};")
            at += 1
    assert at + 4 <= SLOTS
    head = [
        ".version 8.0", f".target sm_{sm}", ".address_size 64", "",
        f".global .align 16 .b8 input[{INPUT_WORDS * 8 + 64}];" if functions else "",
        *functions,
        ".visible .entry k(.param .u64 pi, .param .u64 po) {",
        ".local .align 8 .b8 stack[64];", f".shared .align 8 .b8 buffer[{8 * THREADS}];",
        ".reg .b64 %in, %out, %mine, %scratch; .reg .b32 %lane;",
        *_declarations(p),
        "ld.param.u64 %in, [pi]; ld.param.u64 %out, [po]; mov.u32 %lane, %tid.x;",
        f"mov.u32 %tr0, %ctaid.x; mad.lo.u32 %tr0, %tr0, {THREADS}, %lane;",
        f"mad.wide.u32 %mine, %tr0, {8 * SLOTS}, %in; mad.wide.u32 %out, %tr0, {8 * SLOTS}, %out;",
        f"add.u64 %scratch, %out, {8 * (SLOTS - 4)};",
        *loads,
        *[f"st.local.b64 [stack+{8 * k}], %d0;" for k in range(8)],
    ]  # fmt: skip
    return "\n".join([x for x in [*head, *p.lines, *stores, "ret;", "}"] if x]) + "\n"
