"""Random programs of several PTX modules: calls by symbol and pointer, recursion, variables of every space across modules.

Every thread works on its own words, so the result is the same in any order of threads and compilers can be compared.  Functions
are numbered and call larger numbers; the recursive ones call each other with a depth that falls.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

THREADS = 16
OUT = 8
"""Words that a kernel writes for each thread."""

_SCALARS = {"u32": ("b32", 4), "u64": ("b64", 8), "f32": ("f32", 4), "f64": ("f64", 8), "u16": ("b16", 2)}
_STRUCTURES = {"pair": (8, 16, "b64"), "triple": (4, 12, "b32"), "bytes": (1, 3, "b8"), "large": (16, 48, "b64")}
TYPES = (*_SCALARS, *_STRUCTURES)


@dataclass
class Function:
    """A function: what it takes and returns, where it is defined, and which kind of linkage it has there."""

    name: str
    module: int
    parameters: tuple[str, ...]
    result: str
    linkage: str = ".visible"
    recursive: bool = False
    whole: bool = False
    """Called by all threads together only."""
    also: int = -1
    """Another module that defines it, weakly."""
    pointer: bool = False
    """In the table of its signature."""


@dataclass
class Variable:
    """A variable of module scope: 32 words, one for each thread."""

    name: str
    space: str
    module: int
    linkage: str
    words: tuple[int, ...] = ()


@dataclass
class Table:
    """An array of pointers to functions of one signature."""

    name: str
    module: int
    functions: list[Function]
    space: str
    linkage: str = ".visible"


@dataclass
class Program:
    """Modules as text without headers, and the names of the kernels with the textures that they read."""

    modules: list[str]
    kernels: list[str]
    textures: list[str]
    dynamic: int
    """Bytes of dynamic shared memory."""


def _declared(kind: str, name: str) -> str:
    if kind in _SCALARS:
        return f".param .{_SCALARS[kind][0]} {name}"
    align, size, _ = _STRUCTURES[kind]
    return f".param .align {align} .b8 {name}[{size}]"


def _header(f: Function, name: str = "") -> str:
    result = f"({_declared(f.result, 'r')}) " if f.result else ""
    arguments = ", ".join(_declared(kind, f"a{i}") for i, kind in enumerate(f.parameters))
    return f".func {result}{name or f.name}({arguments})"


def _prototype(f: Function) -> str:
    result = f"({_declared(f.result, '_')}) " if f.result else ""
    return f".callprototype {result}_ ({', '.join(_declared(kind, '_') for kind in f.parameters)})"


@dataclass
class _Body:
    """One function's text while it is written."""

    random: random.Random
    world: _World
    module: int
    number: int
    """Of the function in the order of calls; -1 for kernels."""
    whole: bool
    own: Function | None
    lines: list[str] = field(default_factory=list)
    values: list[str] = field(default_factory=list)
    names: int = 0
    frame: bool = False
    mine: str = ""
    """A shared variable of the function's own."""
    inner: int = 0

    def fresh(self, kind: str = "r") -> str:
        self.names += 1
        return f"%{kind}{self.names}"

    def put(self, text: str) -> None:
        self.lines.append(f"  {text}")

    def label(self) -> str:
        self.names += 1
        return f"L{self.names}"

    def value(self) -> str:
        return self.random.choice(self.values[-6:] if self.random.random() < 0.6 else self.values)

    def made(self, text: str) -> str:
        """A new value from an instruction with the place {}."""
        out = self.fresh()
        self.put(text.format(out))
        self.values.append(out)
        return out

    # -- arguments and results -------------------------------------------------------------------------------------

    def store(self, kind: str, name: str, value: str) -> None:
        """Stores a word in a parameter of a type."""
        if kind == "u32":
            self.put(f"st.param.b32 [{name}], {value};")
        elif kind == "u16":
            out = self.fresh("h")
            self.put(f"cvt.u16.u32 {out}, {value};")
            self.put(f"st.param.b16 [{name}], {out};")
        elif kind == "u64":
            out = self.fresh("w")
            self.put(f"mul.wide.u32 {out}, {value}, 65539;")
            self.put(f"st.param.b64 [{name}], {out};")
        elif kind in ("f32", "f64"):
            out, low = self.fresh("f" if kind == "f32" else "d"), self.fresh()
            self.put(f"and.b32 {low}, {value}, 0xffff;")
            self.put(f"cvt.rn.{kind}.u32 {out}, {low};")
            self.put(f"st.param.{kind} [{name}], {out};")
        else:
            _, size, element = _STRUCTURES[kind]
            step = {"b8": 1, "b32": 4, "b64": 8}[element]
            for k, at in enumerate(range(0, size, step)):
                word = self.fresh()
                self.put(f"add.u32 {word}, {value}, {k * 7};")
                if element == "b64":
                    wide = self.fresh("w")
                    self.put(f"mov.b64 {wide}, {{{word}, {value}}};")
                    word = wide
                self.put(f"st.param.{element} [{name}+{at}], {word};")

    def load(self, kind: str, name: str) -> str:
        """A word that depends on all of a parameter."""
        if kind == "u32":
            return self.made(f"ld.param.b32 {{}}, [{name}];")
        if kind == "u16":
            out = self.fresh("h")
            self.put(f"ld.param.b16 {out}, [{name}];")
            return self.made(f"cvt.u32.u16 {{}}, {out};")
        if kind in ("f32", "f64"):
            out = self.fresh("f" if kind == "f32" else "d")
            self.put(f"ld.param.{kind} {out}, [{name}];")
            return self.made(f"cvt.rzi.u32.{kind} {{}}, {out};")
        size, element = (8, "b64") if kind == "u64" else _STRUCTURES[kind][1:]
        step = {"b8": 1, "b32": 4, "b64": 8}[element]
        total = self.made("mov.u32 {}, 1;")
        for at in range(0, size, step):
            if element == "b64":
                wide, low, high = self.fresh("w"), self.fresh(), self.fresh()
                self.put(f"ld.param.b64 {wide}, [{name}+{at}];")
                self.put(f"mov.b64 {{{low}, {high}}}, {wide};")
                part = self.made(f"xor.b32 {{}}, {low}, {high};")
            else:
                part = self.made(f"ld.param.{'u8' if element == 'b8' else 'b32'} {{}}, [{name}+{at}];")
            total = self.made(f"mad.lo.u32 {{}}, {total}, 31, {part};")
        return total

    def call(self, f: Function, target: str = "", first: str = "") -> None:
        """A call by symbol, or through a register with the address."""
        self.names += 1
        mark = self.names
        self.put("{")
        for i, kind in enumerate(f.parameters):
            self.put(f"{_declared(kind, f'x{i}')};")
        if f.result:
            self.put(f"{_declared(f.result, 'y')};")
        for i, kind in enumerate(f.parameters):
            self.store(kind, f"x{i}", first if first and i == 0 else self.value())
        arguments = ", ".join(f"x{i}" for i in range(len(f.parameters)))
        result = "(y), " if f.result else ""
        behind = f", ({arguments})" if arguments or target else ""
        kind = ".uni" if self.whole and not self.inner else ""
        if target:
            self.put(f"P{mark}: {_prototype(f)};")
            self.put(f"call{kind} {result}{target}{behind}, P{mark};")
        else:
            self.put(f"call{kind} {result}{f.name}{behind};")
        if f.result:
            self.load(f.result, "y")
        self.put("}")

    # -- statements ------------------------------------------------------------------------------------------------

    def arithmetic(self) -> None:
        a, b, r = self.value(), self.value(), self.random
        self.made(
            r.choice(
                (
                    f"add.u32 {{}}, {a}, {r.randrange(1, 99999)};",
                    f"mul.lo.u32 {{}}, {a}, {b};",
                    f"xor.b32 {{}}, {a}, {b};",
                    f"sub.u32 {{}}, {a}, {b};",
                    f"mad.lo.u32 {{}}, {a}, {r.randrange(3, 99)}, {b};",
                    f"shf.l.wrap.b32 {{}}, {a}, {b}, {r.randrange(1, 31)};",
                    f"min.u32 {{}}, {a}, {b};",
                )
            )
        )

    def division(self) -> None:
        kind = self.random.choice(("u64", "f64", "f32", "u32", "sqrt"))
        a, b = self.value(), self.made(f"or.b32 {{}}, {self.value()}, 1;")
        if kind == "u32":
            self.made(f"div.u32 {{}}, {a}, {b};")
        elif kind == "u64":
            x, y, z = (self.fresh("w") for _ in range(3))
            self.put(f"mul.wide.u32 {x}, {a}, {b};")
            self.put(f"cvt.u64.u32 {y}, {b};")
            self.put(f"{self.random.choice(('div', 'rem'))}.u64 {z}, {x}, {y};")
            self.made(f"cvt.u32.u64 {{}}, {z};")
        elif kind == "sqrt":
            x = self.fresh("d")
            self.put(f"cvt.rn.f64.u32 {x}, {a};")
            self.put(f"sqrt.rn.f64 {x}, {x};")
            self.made(f"cvt.rzi.u32.f64 {{}}, {x};")
        else:
            x, y = (self.fresh("d" if kind == "f64" else "f") for _ in range(2))
            self.put(f"cvt.rn.{kind}.u32 {x}, {a};")
            self.put(f"cvt.rn.{kind}.u32 {y}, {b};")
            self.put(f"div.rn.{kind} {x}, {x}, {y};")
            self.made(f"cvt.rzi.u32.{kind} {{}}, {x};")

    def doubles(self) -> None:
        x = self.fresh("d")
        self.put(f"cvt.rn.f64.u32 {x}, {self.value()};")
        self.put(
            f"fma.rn.f64 {x}, {x}, 0d3F9{self.random.randrange(16**6):06x}999999A, 0d40092{self.random.randrange(16**5):05x}442D18;"
        )
        self.made(f"cvt.rzi.u32.f64 {{}}, {x};")

    def place(self, v: str, space: str) -> str:
        """The address of the thread's word of a variable."""
        t, o, a = self.fresh(), self.fresh("w"), self.fresh("w")
        self.put(f"mov.u32 {t}, %tid.x;")
        self.put(f"mul.wide.u32 {o}, {t}, 4;")
        self.put(f"mov.u64 {a}, {v};")
        self.put(f"add.u64 {a}, {a}, {o};")
        return a

    def variable(self) -> None:
        v = self.random.choice(self.world.variables)
        self.world.use(self.module, v)
        if v.space == "const":
            at = self.random.randrange(len(v.words))
            if self.random.random() < 0.5:
                self.made(f"ld.const.u32 {{}}, [{v.name}+{4 * at}];")
            else:
                index, o, a = self.fresh(), self.fresh("w"), self.fresh("w")
                self.put(f"and.b32 {index}, {self.value()}, 3;")
                self.put(f"mul.wide.u32 {o}, {index}, 4;")
                self.put(f"mov.u64 {a}, {v.name};")
                self.put(f"add.u64 {a}, {a}, {o};")
                self.made(f"ld.const.u32 {{}}, [{a}];")
            return
        a = self.place(v.name, v.space)
        space = v.space
        how = self.random.randrange(4)
        if how == 3:
            g = self.fresh("w")
            self.put(f"cvta.{space}.u64 {g}, {a};")
            a, space = g, ""
        dot = f".{space}" if space else ""
        if how == 0:
            self.made(f"ld{dot}.u32 {{}}, [{a}];")
        elif how == 1:
            self.made(f"atom{dot}.add.u32 {{}}, [{a}], {self.value()};")
        else:
            old = self.made(f"ld{dot}.u32 {{}}, [{a}];")
            new = self.made(f"mad.lo.u32 {{}}, {old}, 3, {self.value()};")
            self.put(f"st{dot}.u32 [{a}], {new};")

    def pointer_in_data(self) -> None:
        """A variable through its address in another variable."""
        if not self.world.addresses:
            return
        name, module, count = self.random.choice(self.world.addresses)
        self.world.wanted[self.module].add(
            f".extern .global .align 8 .u64 {name}[{count}];" if module != self.module else ""
        )
        t, o, a, v = self.fresh(), self.fresh("w"), self.fresh("w"), self.fresh("w")
        self.put(f"and.b32 {t}, {self.value()}, 1;")
        self.put(f"mul.wide.u32 {o}, {t}, 8;")
        self.put(f"mov.u64 {a}, {name};")
        self.put(f"add.u64 {a}, {a}, {o};")
        self.put(f"ld.global.u64 {a}, [{a}];")
        self.put(f"mov.u32 {t}, %tid.x;")
        self.put(f"mul.wide.u32 {v}, {t}, 4;")
        self.put(f"add.u64 {a}, {a}, {v};")
        old = self.made(f"ld.u32 {{}}, [{a}];")
        new = self.made(f"add.u32 {{}}, {old}, {self.value()};")
        self.put(f"st.u32 [{a}], {new};")

    def local(self) -> None:
        self.frame = True
        i, o, a = self.fresh(), self.fresh("w"), self.fresh("w")
        self.put(f"and.b32 {i}, {self.value()}, 7;")
        self.put(f"mul.wide.u32 {o}, {i}, 4;")
        self.put(f"mov.u64 {a}, area;")
        self.put(f"add.u64 {a}, {a}, {o};")
        self.put(f"st.local.u32 [area+{4 * self.random.randrange(8)}], {self.value()};")
        self.put(f"st.local.u32 [{a}], {self.value()};")
        self.made(f"ld.local.u32 {{}}, [area+{4 * self.random.randrange(8)}];")

    def stack(self) -> None:
        """Memory of a size known at run time."""
        n, w, a, g = self.fresh(), self.fresh("w"), self.fresh("w"), self.fresh("w")
        self.put(f"and.b32 {n}, {self.value()}, 48;")
        self.put(f"add.u32 {n}, {n}, 16;")
        self.put(f"cvt.u64.u32 {w}, {n};")
        self.put(f"alloca.u64 {a}, {w}, 16;")
        self.put(f"st.local.u32 [{a}+8], {self.value()};")
        self.put(f"cvta.local.u64 {g}, {a};")
        self.statement(calls=True)
        self.made(f"ld.u32 {{}}, [{g}+8];")

    def branches(self) -> None:
        i, out, end = self.fresh(), self.fresh(), self.label()
        names = [self.label() for _ in range(4)]
        self.put(f"and.b32 {i}, {self.value()}, 3;")
        self.put(f"T{self.names}: .branchtargets {', '.join(names)};")
        self.put(f"brx.idx {i}, T{self.names};")
        for k, name in enumerate(names):
            self.put(f"{name}: mad.lo.u32 {out}, {self.value()}, {k + 3}, {self.random.randrange(999)};")
            self.put(f"bra {end};")
        self.put(f"{end}:")
        self.values.append(out)

    def texel(self) -> None:
        name = self.random.choice(self.world.textures) if self.world.textures else ""
        if not name:
            return
        self.world.texture(self.module, name)
        if self.random.random() < 0.2:
            self.made(f"txq.width.b32 {{}}, [{name}];")
            return
        i, a, b, c = (self.fresh() for _ in range(4))
        self.put(f"and.b32 {i}, {self.value()}, 15;")
        self.made(f"tex.1d.v4.u32.s32 {{{{{{}}, {a}, {b}, {c}}}}}, [{name}, {{{{{i}}}}}];")

    def together(self) -> None:
        """What all threads of the warp do at once."""
        if not self.whole or self.inner:
            self.arithmetic()
            return
        v, w = self.value(), self.value()
        kind = self.random.randrange(4)
        if kind == 0:
            self.made(f"shfl.sync.bfly.b32 {{}}, {v}, {self.random.choice((1, 2, 4, 8))}, 31, 0xffff;")
        elif kind == 1:
            p = self.fresh("p")
            self.put(f"setp.lt.u32 {p}, {v}, {w};")
            self.made(f"vote.sync.ballot.b32 {{}}, {p}, 0xffff;")
        elif kind == 2:
            self.put("bar.sync 0;")
            self.made(f"match.any.sync.b32 {{}}, {v}, 0xffff;")
        elif self.mine or self.world.shared_name(self.module):
            name = self.mine or self.world.shared_name(self.module)
            t, a = self.fresh(), self.fresh()
            self.put(f"mov.u32 {t}, %tid.x;")
            self.put(f"shl.b32 {t}, {t}, 2;")
            self.put(f"mov.u32 {a}, {name};")
            self.put(f"add.u32 {t}, {t}, {a};")
            self.put("bar.sync 0;")
            self.put(f"st.shared.u32 [{t}], {v};")
            self.put("bar.sync 0;")
            self.made(f"ld.shared.u32 {{}}, [{a}+{4 * self.random.randrange(THREADS)}];")
            self.put("bar.sync 0;")

    def some_call(self) -> None:
        options = self.world.callable_from(self.number, self.whole and not self.inner)
        if self.own and self.own.recursive:  # these pass a depth on
            options = [f for f in options if not f.recursive]
        if not options:
            self.arithmetic()
            return
        f = self.random.choice(options)
        self.world.use_function(self.module, f)
        first = self.made(f"and.b32 {{}}, {self.value()}, 3;") if f.recursive else ""
        how = self.random.random()
        table = self.world.table_of(f) if f.pointer else None
        if how < 0.45 and table is not None and not f.recursive and all(g in options for g in table.functions):
            self.world.use_table(self.module, table)
            i, o, a = self.fresh(), self.fresh("w"), self.fresh("w")
            self.put(f"and.b32 {i}, {self.value()}, {len(table.functions) - 1};")
            self.put(f"mul.wide.u32 {o}, {i}, 8;")
            self.put(f"mov.u64 {a}, {table.name};")
            self.put(f"add.u64 {a}, {a}, {o};")
            self.put(f"ld.{table.space}.u64 {a}, [{a}];")
            self.call(f, a)
        elif how < 0.6:
            a = self.fresh("w")
            self.put(f"mov.u64 {a}, {f.name};")
            self.call(f, a, first)
        else:
            self.call(f, "", first)

    def condition(self) -> None:
        p, out, end = self.fresh("p"), self.fresh(), self.label()
        self.put(f"mov.u32 {out}, {self.random.randrange(999)};")
        self.put(f"setp.{self.random.choice(('lt', 'gt', 'ne'))}.u32 {p}, {self.value()}, {self.value()};")
        self.put(f"@{p} bra {end};")
        kept = len(self.values)
        self.inner += 1
        for _ in range(self.random.randrange(1, 4)):
            self.statement(calls=True)
        self.inner -= 1
        self.put(f"mov.u32 {out}, {self.value()};")
        self.put(f"{end}:")
        del self.values[kept:]
        self.values.append(out)

    def loop(self) -> None:
        p, i, total, top = self.fresh("p"), self.fresh(), self.fresh(), self.label()
        self.put(f"and.b32 {i}, {self.value()}, 1;")
        self.put(f"mov.u32 {total}, {self.value()};")
        self.put(f"{top}:")
        kept = len(self.values)
        self.values.append(total)
        self.inner += 1
        for _ in range(self.random.randrange(1, 3)):
            self.statement(calls=True)
        self.inner -= 1
        self.put(f"mad.lo.u32 {total}, {total}, 5, {self.value()};")
        self.put(f"setp.ne.u32 {p}, {i}, 0;")
        self.put(f"sub.u32 {i}, {i}, 1;")
        self.put(f"@{p} bra {top};")
        del self.values[kept:]
        self.values.append(total)

    def statement(self, calls: bool = False) -> None:
        plain = (self.arithmetic, self.arithmetic, self.variable, self.variable, self.local, self.some_call)
        more = (self.division, self.doubles, self.pointer_in_data, self.texel, self.together)
        nested = (self.condition, self.loop, self.branches, self.stack)
        if calls or self.random.random() < 0.45:
            self.random.choice(plain)()
        elif self.random.random() < 0.6:
            self.random.choice(more)()
        elif self.inner < 2 and (self.number < 0 or self.random.random() < 0.7):
            self.random.choice(nested)()
        else:
            self.some_call()

    def registers(self) -> str:
        kinds = (("r", "b32"), ("w", "b64"), ("f", "f32"), ("d", "f64"), ("h", "b16"), ("p", "pred"))
        return "  " + " ".join(f".reg .{kind} %{name}<{self.names + 1}>;" for name, kind in kinds)

    def head(self) -> list[str]:
        out = [self.registers()]
        if self.frame:
            out.append("  .local .align 8 .b8 area[64];")
        if self.mine:
            out.append(f"  .shared .align 4 .b32 {self.mine}[32];")
        return out

    def cleared(self) -> list[str]:
        return [f"  st.local.u32 [area+{at}], {at + 1};" for at in range(0, 32, 4)] if self.frame else []


@dataclass
class _World:
    """What the modules share."""

    random: random.Random
    count: int
    functions: list[Function] = field(default_factory=list)
    variables: list[Variable] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    addresses: list[tuple[str, int, int]] = field(default_factory=list)
    textures: list[str] = field(default_factory=list)
    wanted: list[set[str]] = field(default_factory=list)
    dynamic: bool = False

    def callable_from(self, number: int, whole: bool) -> list[Function]:
        return [f for i, f in enumerate(self.functions) if i > number and (whole or not f.whole)]

    def table_of(self, f: Function) -> Table | None:
        return next((t for t in self.tables if f in t.functions), None)

    def use(self, module: int, v: Variable) -> None:
        if v.linkage == ".common" or v.module == module or v.linkage == "static":
            return
        self.wanted[module].add(f".extern .{v.space} .align 4 .u32 {v.name}[{len(v.words) or 32}];")

    def use_function(self, module: int, f: Function) -> None:
        if module not in (f.module, f.also):
            self.wanted[module].add(f".extern {_header(f)};")

    def use_table(self, module: int, t: Table) -> None:
        if module != t.module:
            self.wanted[module].add(f".extern .{t.space} .align 8 .u64 {t.name}[{len(t.functions)}];")

    def texture(self, module: int, name: str) -> None:
        if module != 0:
            self.wanted[module].add(f".extern .global .texref {name};")

    def shared_name(self, module: int) -> str:
        if not self.dynamic:
            return ""
        self.wanted[module].add(".extern .shared .align 16 .b8 dyn[];")
        return "dyn"


def _signature(r: random.Random) -> tuple[tuple[str, ...], str]:
    count = r.choice((0, 1, 1, 2, 3, 5, 9))
    kinds = TYPES if r.random() < 0.6 else ("u32",)
    return tuple(r.choice(kinds) for _ in range(count)), r.choice(("u32", "u32", r.choice(TYPES), ""))


def _functions(world: _World) -> None:
    r = world.random
    for i in range(r.randrange(4, 9)):
        f = Function(f"f{i}", r.randrange(world.count), *_signature(r))
        if world.functions and r.random() < 0.4:
            other = r.choice(world.functions)
            if not other.recursive:
                f.parameters, f.result = other.parameters, other.result
        chance = r.random()
        if chance < 0.15:
            f.linkage = ".weak"
            if world.count > 1 and r.random() < 0.8:
                f.also = r.choice([m for m in range(world.count) if m != f.module])
        elif chance < 0.25:
            f.whole = True
        world.functions.append(f)
    for i in range(r.choice((0, 1, 2, 3))):
        _, result = _signature(r)
        parameters = ("u32", *(r.choice(TYPES) for _ in range(r.randrange(3))))
        world.functions.append(Function(f"again{i}", r.randrange(world.count), parameters, result, recursive=True))


def _data(world: _World) -> None:
    r = world.random
    linkages = {"global": (".visible", ".visible", ".weak", ".common"), "shared": (".visible",), "const": (".visible",)}
    for i in range(r.randrange(3, 8)):
        space = r.choice(("global", "global", "const", "shared"))
        linkage = r.choice(linkages[space])
        words = tuple(r.randrange(2**32) for _ in range({"const": 4, "global": 32}.get(space, 0)))
        if linkage == ".common":
            words = ()
        world.variables.append(Variable(f"{space[0]}{i}", space, r.randrange(world.count), linkage, words))
    signatures: dict[tuple[tuple[str, ...], str], list[Function]] = {}
    for f in world.functions:
        if not f.recursive and not f.whole:
            signatures.setdefault((f.parameters, f.result), []).append(f)
    for n, group in enumerate(signatures.values()):
        if r.random() < 0.7:
            size = 1 << r.randrange(0, 3)
            entries = [r.choice(group) for _ in range(size)]
            for f in entries:
                f.pointer = True
            world.tables.append(
                Table(f"table{n}", r.randrange(world.count), entries, r.choice(("global", "global", "const")))
            )
    shared = [v for v in world.variables if v.space == "global"]
    if shared and r.random() < 0.6:
        module = r.randrange(world.count)
        picked = [r.choice(shared) for _ in range(2)]
        for v in picked:
            world.use(module, v)
        text = ", ".join(f"generic({v.name})" for v in picked)
        world.addresses.append(("where", module, 2))
        world.wanted[module].add(f"\0.visible .global .align 8 .u64 where[2] = {{{text}}};")
    if r.random() < 0.35:
        world.textures.append("tex0")
        if r.random() < 0.4:
            world.textures.append("tex1")
    world.dynamic = r.random() < 0.4


def _definition(world: _World, number: int, module: int) -> str:
    f = world.functions[number]
    r = random.Random(f"{world.random.random()}")
    body = _Body(r, world, module, number, f.whole, f)
    if f.whole and r.random() < 0.5:
        body.mine = "mine"
    for i, kind in enumerate(f.parameters):
        body.load(kind, f"a{i}")
    if not body.values:
        body.made("mov.u32 {}, %tid.x;")
    if f.recursive:
        depth = body.values[0]
        again, end, p = body.fresh(), body.label(), body.fresh("p")
        body.put(f"mov.u32 {again}, {body.value()};")
        body.put(f"setp.eq.u32 {p}, {depth}, 0;")
        body.put(f"@{p} bra {end};")
        less = body.fresh()
        body.put(f"sub.u32 {less}, {depth}, 1;")
        kept = len(body.values)
        body.inner += 1
        for _ in range(r.randrange(1, 3)):
            body.statement(calls=True)
            g = r.choice([g for g in world.functions if g.recursive])
            world.use_function(module, g)
            target = ""
            if r.random() < 0.3:
                target = body.fresh("w")
                body.put(f"mov.u64 {target}, {g.name};")
            body.call(g, target, less)
        body.inner -= 1
        body.put(f"mov.u32 {again}, {body.value()};")
        body.put(f"{end}:")
        del body.values[kept:]
        body.values.append(again)
    for _ in range(r.randrange(2, 7)):
        body.statement()
    if f.result:
        body.store(f.result, "r", body.value())
    text = [f"{f.linkage} {_header(f)}", "{", *body.head(), *body.cleared(), *body.lines, "  ret;", "}"]
    return "\n".join(text) + "\n"


def _kernel(world: _World, module: int, name: str) -> str:
    r = world.random
    body = _Body(r, world, module, -1, True, None)
    if r.random() < 0.4:
        body.mine = "kept"
    body.made("mov.u32 {}, %tid.x;")
    if body.mine:
        body.put(f"st.shared.u32 [{body.place(body.mine, 'shared')}], {body.values[0]};")
    for _ in range(r.randrange(5, 12)):
        body.statement()
    for _ in range(2):
        body.some_call()
    for v in world.variables:
        if v.space in ("global", "shared"):
            world.use(module, v)
            body.made(f"ld.{v.space}.u32 {{}}, [{body.place(v.name, v.space)}];")
    total = body.made("mov.u32 {}, 7;")
    for value in body.values[:-1]:
        total = body.made(f"mad.lo.u32 {{}}, {total}, 33, {value};")
    words = [total, *(body.value() for _ in range(OUT - 1))]
    out, o = body.fresh("w"), body.fresh("w")
    body.put(f"ld.param.u64 {out}, [p];")
    body.put(f"mul.wide.u32 {o}, {body.values[0]}, {4 * OUT};")
    body.put(f"add.u64 {out}, {out}, {o};")
    for k, w in enumerate(words):
        body.put(f"st.global.u32 [{out}+{4 * k}], {w};")
    # All shared variables have a value before anything reads them.
    first = []
    for v in world.variables:
        if v.space == "shared":
            lines, body.lines = body.lines, []
            a = body.place(v.name, "shared")
            body.put(f"st.shared.u32 [{a}], {r.randrange(2**31)};")
            first += body.lines
            body.lines = lines
    text = [
        f".visible .entry {name}(.param .u64 p)",
        "{",
        *body.head(),
        *body.cleared(),
        *first,
        *body.lines,
        "  ret;",
        "}",
    ]
    return "\n".join(text) + "\n"


def _variable(v: Variable) -> str:
    initial = f" = {{{', '.join(map(str, v.words))}}}" if v.words else ""
    return f"{v.linkage} .{v.space} .align 4 .u32 {v.name}[{len(v.words) or 32}]{initial};"


def program(seed: int) -> Program:
    """The program of a number."""
    r = random.Random(seed)
    world = _World(r, r.choice((2, 2, 2, 3)))
    world.wanted = [set() for _ in range(world.count)]
    _functions(world)
    _data(world)
    bodies: list[list[str]] = [[] for _ in range(world.count)]
    for number, f in enumerate(world.functions):
        before = r.getstate()
        text = _definition(world, number, f.module)
        bodies[f.module].append(text)
        if f.also >= 0:
            # A linker may take either definition, so both must be the same.  nvlink 13.0.88 loses branch tables and pointers in
            # data of functions that are defined twice (docs/cubin.md, "Weak functions that are defined twice").
            after = r.getstate()
            r.setstate(before)
            if _definition(world, number, f.also) == text and "brx" not in text and not world.table_of(f):
                bodies[f.also].append(text)
            else:
                world.wanted[f.also].add(f".extern {_header(f)};")
                f.also = -1
            r.setstate(after)
    kernels = []
    for k in range(r.choice((1, 1, 2))):
        module = r.randrange(world.count)
        kernels.append(f"k{k}")
        bodies[module].append(_kernel(world, module, f"k{k}"))
    modules = []
    for m in range(world.count):
        lines = [
            f".extern {_header(f)};"
            for t in world.tables
            if t.module == m
            for f in t.functions
            if m not in (f.module, f.also)
        ]
        lines += sorted(x for x in world.wanted[m] if x and x[0] != "\0")
        lines = list(dict.fromkeys(lines))
        lines += [f".visible .global .texref {name};" for name in world.textures if m == 0]
        own = [f for f in world.functions if m in (f.module, f.also)]
        lines += [f"{f.linkage} {_header(f)};" for f in own]
        # A common variable is in each module.
        lines += [_variable(v) for v in world.variables if v.module == m or v.linkage == ".common"]
        for t in world.tables:
            if t.module == m:
                names = ", ".join(f.name for f in t.functions)
                lines.append(f"{t.linkage} .{t.space} .align 8 .u64 {t.name}[{len(t.functions)}] = {{{names}}};")
        lines += sorted(x[1:] for x in world.wanted[m] if x[:1] == "\0")
        r.shuffle(bodies[m])
        modules.append("\n".join(lines) + "\n" + "\n".join(bodies[m]))
    return Program(modules, kernels, world.textures, 256 if world.dynamic else 0)
