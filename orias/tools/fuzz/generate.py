"""The generator: makes a module with one kernel ``k`` and a few functions from a seed and a budget of statements.

Every thread reads its inputs, computes on variables that all have initial values, and stores those that it used.  Loops
count down from small numbers, shared memory is written and read between barriers, warp operations name exactly the
threads that execute them, and NaNs are replaced before their bits are used.  The meaning of every program is therefore
defined.
"""

import random
import re
from typing import Final

from orias.ptx.targets import FIRST_VERSION, suffix_of
from orias.tools.fuzz import arithmetic, later, random_control, random_floats, random_memory, warps
from orias.tools.fuzz.interesting import FILES, PARAMS, SLOTS, THREADS, TYPES
from orias.tools.fuzz.random_program import Program

INPUT_WORDS: Final = 1024
"""Statements per additional variable of each file: small programs have few variables, so that their values combine."""


def _statement(p: Program) -> None:
    """Emits one statement, simple or compound."""
    if p.later and p.rng.random() < 0.3:
        later.statement(p)
        return
    roll = p.rng.random()
    together = p.uniform and not p.in_function
    if roll < 0.50:
        arithmetic.statement(p)
    elif roll < 0.72:
        random_floats.statement(p)
    elif roll < 0.80:
        random_memory.statement(p)
    elif roll < 0.83 and together:
        random_memory.together(p)
    elif roll < 0.86 and together:
        warps.together(p)
    elif roll < 0.89 and together:
        random_control.uniform(p)
    elif roll < 0.92 and p.functions:
        random_control.call(p)
    elif p.depth < 3:
        random_control.compound(p)
    else:
        arithmetic.statement(p)


def _param(file: str) -> str:
    return {"r": "b32", "d": "b64", "f": "f32", "g": "f64"}[file]


def _used(lines: list[str]) -> list[tuple[str, int]]:
    """File and number of the variables in some lines, in the order of the files."""
    found = {(m[1], int(m[2])) for line in lines for m in re.finditer(r"%([hrdfgpu])(\d+)\b", line)}
    order = list(FILES)
    return sorted(found, key=lambda x: (order.index(x[0]), x[1]))


def _declarations(p: Program) -> list[str]:
    out = [f".reg .{type_} %{f}<{n}>;" for f, (type_, _, n) in FILES.items()]
    out += [f".reg .{FILES[f][0]} %t{f}<{n + 1}>;" for f, n in p.temps.items()]
    return out


def _function(p: Program, number: int) -> str:
    """A function of the module; later ones may call it."""
    r = p.rng
    params = [r.choice("rrdfg") for _ in range(r.randrange(1, 4))]
    result = r.choice("rrdfg")
    end = p.label()
    p.left = r.randrange(3, 12)
    p.block(12)
    if r.random() < 0.3:
        p.plain(f"@{p.var('p')} bra {end};")
        p.left = r.randrange(1, 4)
        p.block(4)
    head = f".func (.param .{_param(result)} out) f{number}({', '.join(f'.param .{_param(f)} a{k}' for k, f in enumerate(params))})"
    values = {"h": "mov.u16 {v}, {n};", "r": "mov.b32 {v}, {n};", "d": "mov.b64 {v}, {n};", "f": "mov.f32 {v}, 0f3F800000;",
              "g": "mov.f64 {v}, 0d3FF8000000000000;", "p": "setp.ne.u32 {v}, %tr0, {n};"}  # fmt: skip
    given = {(file, k) for k, file in enumerate(params)}
    used = [x for x in _used([*p.lines, f"%{result}0"]) if x not in given]
    first = ["mov.u32 %tr0, %laneid;"]
    first += [values[f].format(v=f"%{f}{n}", n=5 * n + 2) for f, n in used]
    first += [f"ld.param.{_param(f)} %{f}{k}, [a{k}];" for k, f in enumerate(params)]
    body = [
        ".reg .b64 %in;",
        *_declarations(p),
        "mov.u64 %in, input;",
        *first,
        *p.lines,
        f"{end}: st.param.{_param(result)} [out], %{result}0;",
        "ret;",
    ]
    p.functions.append((f"f{number}", params, result))
    return head + "\n{\n" + "\n".join(body) + "\n}\n"


def _transfers(p: Program) -> tuple[list[str], list[str]]:
    """The statements that initialise the kernel's variables, and those that store them."""
    loads, stores = [], []
    # slots are by file and number, so that a variable has the same slot in every program
    slots = {x: k for k, x in enumerate((f, n) for f, (_, _, count) in FILES.items() for n in range(count))}
    assert len(slots) + 4 <= SLOTS
    for file, n in _used(p.lines):
        at, v, type_ = 8 * slots[file, n], f"%{file}{n}", FILES[file][1]
        if file == "p":
            loads.append(f"ld.global.u8 %tr0, [%mine+{at}]; setp.gt.u32 {v}, %tr0, 127;")
            stores.append(f"selp.u32 %tr0, 1, 0, {v}; st.global.u32 [%out+{at}], %tr0;")
            continue
        if file == "u":
            loads.append(f"ld.param.u32 {v}, [qs+{4 * n}];")
        else:
            loads.append(f"ld.global.{type_} {v}, [%mine+{at}];")
        if file in "fg":
            nan = "0f7FC00000" if file == "f" else "0d7FF8000000000000"
            stores.append(f"setp.nan.{type_} %tp0, {v}, {v}; selp.{type_} {v}, {nan}, {v}, %tp0;")
        stores.append(f"st.global.{type_} [%out+{at}], {v};")
    return loads, stores


def generate(seed: int, budget: int = 40, arch: str = "sm_90") -> str:
    """The module's text."""
    p = Program(seed, budget, arch, _statement)
    functions = []
    for k in range(p.rng.choice((0, 0, 0, 1, 2))):
        f = Program(seed * 7919 + k, 12, arch, _statement)
        f.in_function, f.uniform = True, False
        f.functions = list(p.functions)
        functions.append(_function(f, k))
        p.functions = f.functions
    p.block(budget)
    loads, stores = _transfers(p)
    text = " ".join(p.lines)
    data = random.Random(seed)
    words = ", ".join(str(data.getrandbits(32)) for _ in range(16))
    head = [
        ".version 8.0" if FIRST_VERSION[suffix_of(arch)] <= (8, 0) else ".version 9.0", f".target {arch}", ".address_size 64", "",
        f".global .align {32 if p.later else 16} .b8 input[{INPUT_WORDS * 8 + 64}];" if functions else "",
        f".const .align 16 .u32 table[16] = {{{words}}};" if any("table" in x for x in [text, *functions]) else "",
        f".global .align 16 .u32 values[16] = {{{words}}};" if any("values" in x for x in [text, *functions]) else "",
        *functions,
        ".visible .entry k(.param .u64 pi, .param .u64 po, "
        + ", ".join(f".param .{t} q{k}" for k, t in enumerate(PARAMS)) + ", .param .align 16 .b8 qs[32]) {",
        ".local .align 16 .b8 stack[64];" if "stack" in text else "",
        f".shared .align 16 .b8 buffer[{8 * THREADS}];" if "buffer" in text else "",
        ".shared .align 8 .b64 arrivals;" if "arrivals" in text else "",
        ".reg .b64 %in, %out, %mine, %scratch; .reg .b32 %lane;",
        *_declarations(p),
        "ld.param.u64 %in, [pi]; ld.param.u64 %out, [po]; mov.u32 %lane, %tid.x;",
        f"mov.u32 %tr0, %ctaid.x; mad.lo.u32 %tr0, %tr0, {THREADS}, %lane;",
        f"mad.wide.u32 %mine, %tr0, {8 * SLOTS}, %in; mad.wide.u32 %out, %tr0, {8 * SLOTS}, %out;",
        f"add.u64 %scratch, %out, {8 * (SLOTS - 4)};" if "%scratch" in text else "",
        *loads,
    ]  # fmt: skip
    if "stack" in text:
        head += [f"add.u64 %td0, %mine, {8 * k}; ld.global.b64 %td0, [%td0]; st.local.b64 [stack+{8 * k}], %td0;" for k in range(8)]  # fmt: skip
    return "\n".join([x for x in [*head, *p.lines, *stores, "ret;", "}"] if x]) + "\n"


__all__ = ["INPUT_WORDS", "SLOTS", "THREADS", "TYPES", "Program", "generate"]
