"""How often and in which order ptxas 13.0.88 says things; each list was compared with it."""

import pytest

import orias
from orias.cubin.nvinfo import KPARAM_INFO, decode
from orias.cubin.reader import Reader

HEAD = ".version 9.0\n.target sm_90\n.address_size 64\n"
REGISTERS = ".reg .b16 %h<4>; .reg .b32 %r<4>; .reg .b64 %rd<4>; .reg .f32 %f<4>; .reg .f64 %fd<4>; .reg .pred %p<4>;"
INSTRUCTIONS: dict[str, list[str]] = {
    "add.rn.rn.rn.f32 %f1,%f1,%f1;": ["Multiple rounding modifiers specified"] * 2,
    "fence.cta.gpu.sys;": ["Multiple scope modifiers specified"] * 2,
    "sqrt.rn.f32.row.col %f1,%f2;": ["Illegal modifier '.alayout or .blayout' for instruction 'sqrt'"],
    "cvta.u64 %rd1,%rd2;": [
        "State space modifier required for instruction 'cvta'",
        "State space incorrect for instruction 'cvta'",
    ],
    "ld.v2.f32 %f1,[%rd1];": [
        "Result vector expected",
        *["Argument vector size mismatch for instruction 'ld'"] * 2,
    ],
    "mov.b64 %rd1,{%f1,%h1};": ["Incompatible elements of vector expression"],
    "bar.red.xor.pred %p1,0,%p1;": ["Illegal reduction operation for instruction 'bar.red.pred'"],
    "sin.rn.sat.relu.f16 %h1,%h1;": [
        "Modifier '.relu' cannot be combined with modifier '.sat'",
        "Unexpected instruction types specified for 'sin'",
    ],
    "ret.uni.align;": ["Parsing error near '.align': syntax error"],
    "r .visible.entry;": ["Parsing error near '.visible': syntax error"],
    "mov .u32 .func %r1,%r2;": ["Parsing error near '.func': syntax error"],
    "mbarrier.test_wait.b64 _,[%rd1],%rd2;": [
        "Result discard mode is not allowed for instruction 'mbarrier.test_wait'"
    ],
    "cp.async.bulk.prefetch.L2.global [%rd1],%rd2;": ["Arguments mismatch for instruction 'cp.async.bulk.prefetch'"],
    "cp.reduce.async.bulk.shared::cluster.shared::cta.dec.u32 [%rd1],[%rd2],%r1;": [
        ".completion_mechanism modifier required for instruction 'cp.reduce.async.bulk'"
    ],
    "min.s32.b6x16_p32 %r1,%r2,%r3;": [],
}
_WORD = "Illegal placement of kernel parameter attribute"
_DIFFER = "Inconsistent prototypes of 'f', number of parameters differ"
MODULES: dict[str, list[str]] = {
    ".func f(.param .u64 .ptr .align 3 n){ret;}": [_WORD, _WORD, "Alignment must be a power of two"],
    ".entry k(.param .b8 n[2][2]){ret;}": ["Parsing error near '[': syntax error"],
    ".entry k(){.param .b8 n[]; ret;}": ["Non-external variable 'n' has incomplete type"],
    ".func f(.reg .b32 a[2]){ret;}": ["Variable 'a' cannot be allocated into a register"],
    ".func f(.param .f16x2 n[3]){ret;}": [],
    ".func (.param .b32 r) f(.param .b32 a); .func f{ret;}": [_DIFFER, _DIFFER],
    ".const .b8 n[] = {a};": ["Invalid initial value symbol 'a'"],
    ".global .u8 f = k 0x0F": ["Parsing error near '0x0F': syntax error"],
    ".const .pred n gg;": ["Parsing error near 'gg': syntax error"],
    ".entry k() .maxntid 4+4 {ret;}": ["Parsing error near '+': syntax error"],
    ".global .u32 ; .entry k(){.reg .pred; ret;}": [],
    ".entry k() .maxntid 2 .reqntid 2 { ret; 8}": ["Parsing error near '8': syntax error"],
    ".func f{ret;} .entry k(){T: .calltargets f,h; ret;}": [
        "Illegal call target, device function expected",
        "Unknown symbol 'h'",
    ],
}


def said(text: str) -> list[str]:
    try:
        return [d.message for d in orias.compile(HEAD + text, arch="sm_90", opt_level=0).diagnostics]
    except orias.CompileError as e:
        return [d.message for d in e.diagnostics]


@pytest.mark.parametrize("line", INSTRUCTIONS)
def test_instructions(line: str) -> None:
    assert said(f".entry k(){{{REGISTERS} {line} ret;}}\n") == INSTRUCTIONS[line]


@pytest.mark.parametrize("module", MODULES)
def test_modules(module: str) -> None:
    assert said(module + "\n") == MODULES[module]


def test_lines_of_checks_at_the_end_of_a_function() -> None:
    text = ".extern .func f;\n.func f {\nret;\n}\n.entry k()\n.maxntid 32\n.reqntid 32\n{\nret;\n}\n"
    with pytest.raises(orias.CompileError) as caught:
        orias.compile(HEAD + text, arch="sm_90")
    assert [(d.line, d.message[:20]) for d in caught.value.diagnostics] == [
        (5, "Inconsistent redefin"),
        (7, "Function definition "),
        (13, "Conflicting directiv"),
    ]


def test_spaces_of_pointers() -> None:
    """The numbers of KPARAM_INFO, as in cubins of ptxas."""
    spaces = ("local", "shared", "const", "global")
    names = ",".join(f".param .u64 .ptr .{s} .align 4 p{k}" for k, s in enumerate(spaces))
    data = orias.compile(HEAD.replace("90", "75") + f".entry k({names}){{ret;}}\n", arch="sm_75").data
    section = Reader(data).elf.section(".nv.info.k")
    assert section is not None
    records = [r.words() for r in decode(section.data) if r.code == KPARAM_INFO]
    assert [(words[1] & 0xFFFF, words[2] >> 8 & 0xF) for words in records] == [(3, 4), (2, 3), (1, 2), (0, 1)]
