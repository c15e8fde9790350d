"""Damaged and hostile input ends in a Module or a CompileError, soon."""

import random
import tracemalloc

import pytest

from orias.diag import CompileError
from orias.ptx.parser import parse
from tests.effort import lines_executed, must_end
from tests.ptx.corpus import corpus_files, mutate

HEAD = ".version 8.3\n.target sm_90\n.address_size 64\n"
KERNEL = HEAD + ".entry k(.param .u64 p){\n.reg .b32 %r<9>; .reg .b64 %rd<9>;\n"

EXAMPLE = (
    HEAD
    + """.global .align 4 .b8 t[4] = {1,2,3,4};
.extern .shared .align 16 .b8 dyn[];
.func (.param .b32 r) f(.param .b32 a) { .reg .b32 %r<4>; ld.param.b32 %r1, [a]; st.param.b32 [r], %r1; ret; }
.visible .entry k(.param .u64 p, .param .align 8 .b8 s[16]) .maxntid 128
{
	.reg .pred %p<4>;
	.reg .b32 %r<20>;
	.reg .f32 %f<20>;
	.reg .b64 %rd<20>;
	.loc 1 2 3
	ld.param.u64 %rd1, [p]; // a comment
	mov.u32 %r1, %tid.x;
	setp.ge.u32 %p1|%p2, %r1, 0x20;
	@%p1 bra $L1;
	ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%rd1+16];
	mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%f1,%f2,%f3,%f4},{%r1,%r2,%r3,%r4},{%r5,%r6},{%f1,%f2,%f3,%f4};
	{ .param .b32 a; .param .b32 r; st.param.b32 [a], %r1; call.uni (r), f, (a); }
	ts: .branchtargets $L1, $L2;
	brx.idx %r1, ts;
$L1:
	fma.rn.f32 %f5, 0f3F800000, %f1, 1.0;
$L2:
	ret;
}
.section .debug_str { .b8 1
.b8 2
.b32 $L1 }
"""
)


def survive(text: str) -> bool:
    """Parses; True if it was accepted.  Any exception but CompileError fails the test."""
    try:
        parse(text, "f")
    except CompileError as error:
        assert any(d.severity in ("error", "fatal") for d in error.diagnostics)
        return False
    return True


def test_mutated_example() -> None:
    rng = random.Random(11)
    accepted = sum(survive(mutate(EXAMPLE, rng)) for _ in range(600))
    assert 20 < accepted < 590


def test_the_example_itself() -> None:
    assert survive(EXAMPLE)


def test_mutated_corpus_sample() -> None:
    rng = random.Random(12)
    files = [p for p in corpus_files() if p.stat().st_size < 6000]
    for _ in range(300):
        survive(mutate(rng.choice(files).read_text("latin-1"), rng))


@pytest.mark.sweep
def test_ten_thousand_mutated_corpus_files() -> None:
    files = [p.read_text("latin-1") for p in corpus_files() if p.stat().st_size < 12000]
    for seed in range(10000):
        rng = random.Random(seed)
        survive(mutate(rng.choice(files), rng))


N = 50000
HOSTILE = {
    "parentheses": KERNEL + "mov.u32 %r1," + "(" * N + "1" + ")" * N + ";}",
    "signs": KERNEL + "mov.u32 %r1," + "-" * N + "1;}",
    "conditionals": KERNEL + "mov.u32 %r1," + "1?" * N + "1;}",
    "sum": KERNEL + "mov.u32 %r1," + "1+" * N + "1;}",
    "blocks": KERNEL + "{" * N + "}" * N + "}",
    "vectors": KERNEL + "mov.b32 " + "{" * N + ";}",
    "wide vector": KERNEL + "mov.b32 {" + "%r1," * N + "%r1},%r2;}",
    "address": KERNEL + "ld.u32 %r1," + "[%r1," * N + ";}",
    "initialiser": HEAD + ".global .b8 x[4]=" + "{" * N + "1" + "}" * N + ";",
    "dimensions": HEAD + ".global .b8 x" + "[2]" * N + ";",
    "sizes": HEAD + ".global .b8 x" + "[1099511627776]" * 5 + ";",
    "long name": KERNEL + "mov.b32 %r" + "1" * N + ",%r1;}",
    "long number": KERNEL + "mov.b32 %r1," + "1" * N + ";}",
    "long exponent": KERNEL + "mov.f32 %r1,1.0e" + "9" * N + ";}",
    "shift": KERNEL + "mov.u32 %r1,1<<99999999999;}",
    "modifiers": KERNEL + "add" + ".sat" * N + ".s32 %r1,%r2,%r3;}",
    "commas": KERNEL + "add.s32 " + "%r1," * N + "%r3;}",
    "outer labels": KERNEL + "{" * 200 + "bra X;" * 5000 + "}" * 200 + "X: }",
    "comments": HEAD + "/*" * N,
    "quotes": HEAD + '"' * N,
    "lines": "#line 99999999999999 'x'\n" * 1000 + HEAD,
    "guards": KERNEL + "@%p " * 5000 + "}",
    "wrong": KERNEL + "foo.bar %r1;\n" * 5000 + "}",
    "opcodes": KERNEL + "".join(f"add.s32.x{i} %r1,%r1,%r2;\n" for i in range(5000)) + "}",
    "functions": HEAD + ".func f;\n" * 5000,
}


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile(name: str) -> None:
    with must_end(60):
        survive(HOSTILE[name])


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("name", ["modifiers", "signs", "wide vector", "dimensions"])
def test_memory_of_one_statement(name: str) -> None:
    tracemalloc.start()
    try:
        survive(HOSTILE[name])
        assert tracemalloc.get_traced_memory()[1] < 200 << 20
    finally:
        tracemalloc.stop()


def test_effort_grows_with_the_text() -> None:
    """Four times the kernel must not take much more than four times the work."""

    def cost(lines: int) -> int:
        text = KERNEL + "".join(
            f"add.s32 %r{i % 9}, %r{i % 7}, {i};\nld.global.u32 %r1, [%rd{i % 9}+{i}];\n$L{i}:\n" for i in range(lines)
        )
        return lines_executed(lambda: survive(text + "}"))

    cost(50)
    assert cost(2000) <= cost(500) * 5


DIGITS = "9" * 6000
ODD = [
    KERNEL + ".reg .b32 %q<10U>, %s<0x10>, %t<017>; mov.b32 %q9, %s15; mov.b32 %t14, %q1;}",
    KERNEL + f".reg .b32 %q<{DIGITS}>;}}",
    KERNEL + f".loc {DIGITS} 1 1\n}}",
    HEAD + f".section .x {{\n.b8 {DIGITS}\n}}",
    HEAD + f".file {DIGITS} 'x'",
    HEAD + f".global .b8 x[2]={{{DIGITS},1}};",
    KERNEL + f"ld.u32 %r1,[%rd1+{DIGITS}];}}",
    KERNEL + f"mov.v{DIGITS}.u32 %r1,%r2;}}",
    KERNEL + f"mma.sync.aligned.m{DIGITS}n8k16.row.col.f32.f16.f16.f32 %r1,%r2,%r3,%r4;}}",
    KERNEL + "mma.sync.aligned.m8nk.row.col.f32.f16.f16.f32 %r1,%r2,%r3,%r4;}",
    HEAD.replace("8.3", "8." + DIGITS),
    HEAD.replace("sm_90", "sm_" + DIGITS),
    KERNEL + '.pragma "";}',
    HEAD + '.pragma "";',
    KERNEL + "mov.b32 %r1, %tid.x.x;}",
    KERNEL + "call (%r1,%tid.x), k, (5,{%r1});}",
    KERNEL + "x: .branchtargets;}",
    KERNEL + "x: .callprototype _;call %rd1,x;}",
    KERNEL + "x: .calltargets y;}",
    KERNEL + "mov.b64 {%r1,%tid.x},%rd1; mov.b64 %rd1,{%tid.x,%r1};}",
    KERNEL + "setp.eq.s32 5|%p1,%r1,%r2; add.s32 {%r1|%p1},%r1,%r2;}",
    KERNEL + "ld.u32 %r1,[]; ld.u32 %r1,[-]; ld.u32 %r1,[%tid.x];}",
    KERNEL + "ld.u32 %r1,[k]; ld.u32 %r1,[k+4]; bra %tid.x;}",
    HEAD + ".global .u64 x=x; .global .f32 y=1.0+2;",
    HEAD + ".global .v2 .u32 x=5; .global .texref t={1,2};",
    KERNEL
    + "mov; mov %r1; cvt; cvt.pack; fence.proxy; bar.red; wmma.mma; mma; wgmma.mma_async; tex; vadd; ld.mmio; atom; red;}",
]


@pytest.mark.parametrize("index", range(len(ODD)))
def test_odd(index: int) -> None:
    survive(ODD[index])
