"""Hostile PTX: small texts that ask for much, and large texts of simple shape.

Each entry of `SMALL` is the text and what must come of it; each function of `LARGE` makes a text of a size.
"""

from collections.abc import Callable
from typing import Final

HEAD: Final = ".version 8.0\n.target sm_75\n.address_size 64\n"
_REGISTERS: Final = ".reg .b32 %r<100>;\n.reg .b64 %rd<100>;\n.reg .pred %p<10>;\n.reg .f32 %f<10>;\n"


def entry(body: str, head: str = HEAD, parameters: str = ".param .u64 p") -> str:
    """A kernel with a body and registers of all kinds."""
    return f"{head}.visible .entry k({parameters})\n{{\n{_REGISTERS}{body}\n}}\n"


TAKEN: Final = True
REFUSED: Final = False

SMALL: Final[dict[str, tuple[str, bool]]] = {
    "loop behind exit": (entry("mov.u32 %r1,%ctaid.x;\nexit;\nL: @%p1 bra L;\ncvt.s64.s32 %rd1,%r1;\nret;"), TAKEN),
    "loop behind a loop": (entry("mov.u32 %r1,%ctaid.x;\nX: bra X;\nL: @%p1 bra L;\ncvt.s64.s32 %rd1,%r1;\nret;"), TAKEN),
    "two unreachable loops": (entry("ret;\nA: @%p1 bra B;\nB: @%p2 bra A;\nadd.u32 %r1,%r2,1;\nbra A;"), TAKEN),
    "unreachable loops, each in the other": (
        entry("bra E;\nA: B: add.u32 %r1,%r1,%r2;\n@%p1 bra A;\n@%p2 bra B;\nC: @%p3 bra A;\nst.global.u32 [%rd1],%r1;\nE: ret;"),
        TAKEN,
    ),
    "unreachable loop that jumps out": (
        entry("mov.u32 %r1,1;\nbra E;\nL: add.u32 %r1,%r1,1;\n@%p1 bra L;\nE: ld.param.u64 %rd1,[p];\nst.global.u32 [%rd1],%r1;\nret;"),
        TAKEN,
    ),
    "empty infinite loop": (entry("L: bra L;"), TAKEN),
    "parameter of a function with more bytes than a thread has": (
        HEAD + ".visible .func f(.param .align 4 .b8 p[4294967295]) {\nret;\n}\n", REFUSED,
    ),
    "argument of a function with more bytes than a thread has": (
        HEAD + ".extern .func f(.param .align 4 .b8 p[4294967295]);\n"
        ".visible .entry k() {\n{\n.param .align 4 .b8 a[4294967295];\ncall.uni f, (a);\n}\nret;\n}\n", REFUSED,
    ),
    "result of a function with more bytes than a thread has": (
        HEAD + ".extern .func (.param .align 4 .b8 r[4294967295]) f();\n.visible .entry k() {\ncall.uni (_), f;\nret;\n}\n", REFUSED,
    ),
    "offset of a parameter of 2^30 in a function": (
        HEAD + ".visible .func (.param .b32 r) f() {\n.reg .b32 %r<3>;\nmov.u32 %r1, 1;\nst.param.b32 [r+1073741824], %r1;\nret;\n}\n",
        TAKEN,
    ),
    "offset behind a parameter": (
        entry("ld.param.u64 %rd1,[p+100000];\nst.global.u64 [%rd1],%rd1;\nret;"),
        TAKEN,
    ),
    "offset of a parameter of 2^64 - 1": (entry("ld.param.u8 %r1,[p+18446744073709551615];\nret;"), TAKEN),
    "literal of 96 bits": (entry("mov.u64 %rd1, 0xFFFFFFFFFFFFFFFFFFFFFFFF;\nret;"), REFUSED),
    "decimal literal of 80 bits": (entry("mov.u32 %r1, 999999999999999999999999;\nret;"), REFUSED),
    "literal of a million digits": (entry("mov.u32 %r1, " + "9" * 1_000_000 + ";\nret;"), REFUSED),
    "NUL in a comment": (HEAD + "// a \0 b\n.visible .entry k() { ret; }\n", REFUSED),
    "alignment of zero": (HEAD + ".global .align 0 .b32 x;\n", REFUSED),
    "four gigabytes with two values": (HEAD + ".global .b8 s[4000000000] = {1, 2};\n" + entry("ret;", ""), REFUSED),
    "common alignment of 2^31": (HEAD + ".common .global .align 2147483648 .b32 s[4];\n" + entry("ret;", ""), REFUSED),
    "shared alignment of 2^31": (entry(".shared .align 2147483648 .b32 s[4];\nld.shared.u32 %r1,[s];\nret;"), REFUSED),
    "array of 2^62 elements": (HEAD + ".global .b64 s[4611686018427387904] = {1};\n" + entry("ret;", ""), REFUSED),
    "shared memory of 2^40": (HEAD + ".shared .b8 s[1099511627776];\n" + entry("mov.u64 %rd1, s;\nst.global.u64 [%rd1],%rd1;\nret;", ""), TAKEN),
    "local memory of 2^40": (entry(".local .b8 s[1099511627776];\nmov.u64 %rd1, s;\nst.global.u64 [%rd1],%rd1;\nret;"), TAKEN),
    "a billion registers": (entry(".reg .b32 %z<1000000000>;\nmov.u32 %z1, 0;\nret;"), TAKEN),
    "parameter of 2^31 bytes": (entry("ret;", parameters=".param .b8 p[2147483648]"), REFUSED),
    "alignment of 2^31": (HEAD + ".global .align 2147483648 .b32 x = 1;\n", REFUSED),
    "loc of line 2^31": (HEAD + '.file 1 "a.c"\n' + entry(".loc 1 2147483647 1\nret;", ""), TAKEN),
    "file number 2^31": (HEAD + '.file 2147483647 "a.c"\n' + entry("ret;", ""), TAKEN),
    "section of a number": (entry("ret;") + ".section .debug_str { .b8 1 }\n", TAKEN),
    "a function that calls itself": (HEAD + ".func f() { call f; ret; }\n" + entry("call f;\nret;", ""), TAKEN),
}  # fmt: skip


def _lines(n: int, line: Callable[[int], str]) -> str:
    return "\n".join(line(i) for i in range(n))


def guarded_branches(n: int) -> str:
    """Each instruction can be skipped."""
    return entry(
        "ld.param.u64 %rd1,[p];\nld.global.u32 %r1,[%rd1];\n"
        + _lines(n, lambda i: f"setp.eq.u32 %p1,%r1,{i}; @%p1 bra L{i};\nadd.u32 %r1,%r1,{i | 1};\nL{i}:")
        + "\nst.global.u32 [%rd1],%r1;\nret;"
    )


def forward_branches(n: int) -> str:
    """All branches have one target."""
    return entry(
        "ld.param.u64 %rd1,[p];\nld.global.u32 %r1,[%rd1];\n"
        + _lines(n, lambda i: f"setp.eq.u32 %p1,%r1,{i}; @%p1 bra E;\nadd.u32 %r1,%r1,{i | 1};")
        + "\nE: st.global.u32 [%rd1],%r1;\nret;"
    )


def backward_branches(n: int) -> str:
    """All loops have one header."""
    return entry(
        "ld.param.u64 %rd1,[p];\nld.global.u32 %r1,[%rd1];\nS:\n"
        + _lines(n, lambda i: f"add.u32 %r1,%r1,{i | 1}; setp.eq.u32 %p1,%r1,{i}; @%p1 bra S;")
        + "\nst.global.u32 [%rd1],%r1;\nret;"
    )


def nested_loops(n: int) -> str:
    """Loops in loops."""
    return entry(
        "ld.param.u64 %rd1,[p];\nld.global.u32 %r1,[%rd1];\n"
        + _lines(n, lambda i: f"L{i}: add.u32 %r1,%r1,{i};")
        + "\n"
        + _lines(n, lambda i: f"setp.ne.u32 %p1,%r1,{i}; @%p1 bra L{n - 1 - i};")
        + "\nst.global.u32 [%rd1],%r1;\nret;"
    )


def nested_counters(n: int) -> str:
    """Loops in loops, each with a counter of its own, which all others carry."""
    first = _lines(n, lambda k: f"mov.u32 %c{k}, 0;\nL{k}:")
    last = _lines(
        n,
        lambda k: (
            f"add.u32 %c{n - 1 - k}, %c{n - 1 - k}, 1;\nsetp.lt.u32 %p1, %c{n - 1 - k}, %r1;\n@%p1 bra L{n - 1 - k};"
        ),
    )
    return entry(f".reg .b32 %c<{n}>;\nld.param.u64 %rd1, [p];\nld.global.u32 %r1, [%rd1];\n{first}{last}ret;")


def nested_conditions(n: int) -> str:
    """Conditions in conditions, with code on both sides."""
    return entry(
        "ld.param.u64 %rd1,[p];\nld.global.u32 %r1,[%rd1];\n"
        + _lines(n, lambda i: f"setp.lt.u32 %p1,%r1,{i}; @%p1 bra L{i}; st.global.u32 [%rd1+{4 * i}],%r1;")
        + "\n"
        + _lines(n, lambda i: f"st.global.u32 [%rd1+{8 * i}],%r1;\nL{n - 1 - i}:")
        + "\nst.global.u32 [%rd1],%r1;\nret;"
    )


def chain_of_branches(n: int) -> str:
    """Jumps to jumps."""
    return entry(_lines(n, lambda i: f"L{i}: bra L{i + 1};") + f"\nL{n}: ret;")


def backward_chain(n: int) -> str:
    """Jumps to jumps, each to the one before it."""
    return entry(f"bra L{n - 1};\nL0: ret;\n" + _lines(n - 1, lambda i: f"L{i + 1}: bra L{i};"))


def table_of_branches(n: int) -> str:
    """An indirect branch with many targets."""
    names = ",".join(f"L{i}" for i in range(n))
    return entry(
        f"ld.param.u64 %rd1,[p];\nld.global.u32 %r1,[%rd1];\nts: .branchtargets {names};\nbrx.idx %r1, ts;\n"
        + _lines(n, lambda i: f"L{i}: st.global.u32 [%rd1],{i};")
        + "\nret;"
    )


def states(n: int) -> str:
    """A loop around an indirect branch: loads and stores of each arm are pending at all others."""
    names = ",".join(f"L{i}" for i in range(n))
    arms = _lines(
        n,
        lambda i: (
            f"L{i}: ld.global.u32 %r1,[%rd1+{4 * i}];\nadd.u32 %r2,%r2,%r1;\nst.global.u32 [%rd2+{4 * i}],%r2;\nbra S;"
        ),
    )
    return entry(
        f"ld.param.u64 %rd1,[p];\nld.global.u64 %rd2,[%rd1];\nts: .branchtargets {names};\nS: setp.gt.u32 %p1,%r1,{n};\n"
        f"@%p1 bra E;\nbrx.idx %r1, ts;\n{arms}\nE: ret;"
    )


def one_long_line(n: int) -> str:
    """All instructions on one line."""
    return entry("ld.param.u64 %rd1,[p];" + "add.u32 %r1,%r1,%r2;" * n + "st.global.u32 [%rd1],%r1;ret;")


def long_expression(n: int) -> str:
    """A sum of many terms."""
    return HEAD + ".global .u32 x = " + "+".join("1" for _ in range(n)) + ";\n" + entry("ret;", "")


def nested_expression(n: int) -> str:
    """Parentheses in parentheses."""
    return HEAD + ".global .u32 x = " + "(" * n + "1" + ")" * n + ";\n" + entry("ret;", "")


def nested_scopes(n: int) -> str:
    """Braces in braces, each with a register of its own."""
    return entry("ret;\n" + "{ .reg .b32 x;\n" * n + "}\n" * n)


def initialisers(n: int) -> str:
    """An array with values."""
    return HEAD + f".global .b32 x[{n}] = {{" + ",".join(str(i) for i in range(n)) + "};\n" + entry("ret;", "")


def labels(n: int) -> str:
    """Labels that nothing jumps to."""
    return entry(_lines(n, lambda i: f"L{i}:") + "\nret;")


def registers(n: int) -> str:
    """Declarations of one register, each used once."""
    return entry(
        "ld.param.u64 %rd1,[p];\n"
        + _lines(n, lambda i: f".reg .b32 x{i}; ld.global.u32 x{i},[%rd1+{4 * i}]; st.global.u32 [%rd1],x{i};")
        + "\nret;"
    )


def live_registers(n: int) -> str:
    """All values live at once: they must be spilled."""
    return entry(
        f".reg .b32 %x<{n}>;\nld.param.u64 %rd1,[p];\n"
        + _lines(n, lambda i: f"ld.global.u32 %x{i},[%rd1+{4 * i}];")
        + "\nbar.sync 0;\n"
        + _lines(n, lambda i: f"st.global.u32 [%rd1+{4 * i}],%x{n - 1 - i};")
        + "\nret;"
    )


def stores(n: int) -> str:
    """Stores through registers of which nothing is known."""
    return entry(
        "ld.param.u64 %rd1,[p];\nld.global.u64 %rd2,[%rd1];\n"
        + _lines(
            n, lambda i: f"ld.global.u64 %rd{3 + i % 90},[%rd{2 + i % 90}];\nst.global.u64 [%rd{3 + i % 90}],%rd1;"
        )
        + "\nret;"
    )


def functions(n: int) -> str:
    """Each function calls the one before it."""
    return (
        HEAD
        + ".func f0() { ret; }\n"
        + _lines(n - 1, lambda i: f".func f{i + 1}() {{ call f{i}; ret; }}")
        + "\n"
        + entry(f"call f{n - 1};\nret;", "")
    )


def entries(n: int) -> str:
    """Many kernels."""
    return HEAD + _lines(n, lambda i: f".visible .entry k{i}(.param .u64 p) {{ ret; }}")


def parameters(n: int) -> str:
    """A kernel of many parameters."""
    return HEAD + ".visible .entry k(" + ",".join(f".param .b8 p{i}" for i in range(n)) + ") { ret; }\n"


def globals_(n: int) -> str:
    """Many variables, each with the address of another."""
    return (
        HEAD
        + ".global .u64 g0 = 0;\n"
        + _lines(n - 1, lambda i: f".global .u64 g{i + 1} = g{i};")
        + "\n"
        + entry(f"mov.u64 %rd1, g{n - 1};\nst.global.u64 [%rd1], %rd1;\nret;", "")
    )


def long_name(n: int) -> str:
    """A name of many letters."""
    return HEAD + f".visible .entry {'k' * n}() {{ ret; }}\n"


def comment(n: int) -> str:
    """A comment of many lines."""
    return "/*" + "*\n/" * n + "*/" + entry("ret;")


def lines_of_source(n: int) -> str:
    """A line record for each instruction."""
    return (
        HEAD
        + '.file 1 "a.c"\n'
        + entry(
            "ld.param.u64 %rd1,[p];\n"
            + _lines(n, lambda i: f".loc 1 {i + 1} 1\nadd.u64 %rd1,%rd1,{i};")
            + "\nst.global.u64 [%rd1],%rd1;\nret;",
            "",
        )
    )


def predicates(n: int) -> str:
    """Conditions of conditions."""
    return entry(
        "ld.param.u64 %rd1,[p];\nld.global.u32 %r1,[%rd1];\nsetp.eq.u32 %p1,%r1,0;\n"
        + _lines(n, lambda i: f"setp.lt.and.u32 %p{2 - i % 2},%r1,{i},%p{1 + i % 2};")
        + "\nselp.u32 %r2,1,0,%p1;\nst.global.u32 [%rd1],%r2;\nret;"
    )


def guarded_stores(n: int) -> str:
    """Guarded writes of many registers and of memory."""
    return entry(
        "ld.param.u64 %rd1,[p];\nld.global.u32 %r1,[%rd1];\nsetp.eq.u32 %p1,%r1,0;\n"
        + _lines(
            n,
            lambda i: (
                f"@%p1 add.u32 %r{1 + i % 50},%r{1 + i * 7 % 50},{i};\n@!%p1 st.global.u32 [%rd1+{4 * i}],%r{1 + i % 50};"
            ),
        )
        + "\nret;"
    )


def parameter_with_address(n: int) -> str:
    """A parameter of a function, of n words, that is read at a place that is not known."""
    return (
        HEAD + f".visible .func (.param .b32 r) f(.param .align 4 .b8 p[{4 * n}]) {{\n{_REGISTERS}mov.b64 %rd1,p;\nld.param.u32 %r1,[p];\n"
        "cvt.u64.u32 %rd2,%r1;\nadd.u64 %rd1,%rd1,%rd2;\nld.local.u32 %r2,[%rd1];\nst.param.b32 [r],%r2;\nret;\n}\n"
    )  # fmt: skip


LARGE: Final[dict[Callable[[int], str], tuple[int, bool]]] = {
    guarded_branches: (2000, TAKEN),
    forward_branches: (2000, TAKEN),
    backward_branches: (1000, TAKEN),
    nested_loops: (300, TAKEN),
    nested_counters: (800, TAKEN),
    nested_conditions: (1000, TAKEN),
    chain_of_branches: (10_000, TAKEN),
    backward_chain: (10_000, TAKEN),
    table_of_branches: (2000, TAKEN),
    states: (1000, TAKEN),
    one_long_line: (20_000, TAKEN),
    long_expression: (20_000, TAKEN),
    nested_expression: (100_000, REFUSED),
    nested_scopes: (20_000, REFUSED),
    initialisers: (100_000, TAKEN),
    labels: (50_000, TAKEN),
    registers: (3000, TAKEN),
    live_registers: (1500, TAKEN),
    stores: (3000, TAKEN),
    functions: (1000, TAKEN),
    entries: (500, TAKEN),
    parameters: (4000, TAKEN),
    globals_: (5000, TAKEN),
    long_name: (1_000_000, TAKEN),
    comment: (500_000, TAKEN),
    lines_of_source: (5000, TAKEN),
    predicates: (5000, TAKEN),
    guarded_stores: (3000, TAKEN),
    parameter_with_address: (8192, TAKEN),
}
"""Texts of a size that must be through in seconds."""
