"""What mild mutants of good texts brought to light, as ptxas 13.0.88 judges it (asked one by one)."""

import pytest

import orias

HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"
TOP = ".visible .entry k(.param .u64 p, .param .u32 q) { .reg .b64 %d<4>; .reg .b32 %r<5>; .reg .f32 %f<5>; .reg .pred %p<3>;"
FUNCTIONS = ".func f {ret;}\n.func (.param .b32 r) g(.param .b32 a) {ret;}\n"


def body(text: str) -> str:
    """A kernel whose line 5 is the text."""
    return f"{HEAD}{TOP}\n{text}\nret; }}\n"


def version(number: str) -> str:
    return f".version {number}\n.target sm_80\n"


def target(names: str, text: str = "cp.async.wait_all;") -> str:
    return f".version 8.0\n.target {names}\n.address_size 64\n{TOP}\n{text}\nret; }}\n"


GATE = "error 5: Feature 'cp.async.wait_all' requires .target sm_80 or higher"
HIGH = "fatal 0: SM version specified by .target is higher than default SM version assumed"
NO_TARGET = "fatal 2: Target architecture not defined at start of file '<ptx>'"
ACCEPTED = [
    version("9.4294967296"),
    version("4294967304.0"),
    version("007.05"),
    version("7.10"),
    target("sm_080"),
    target("sm_80x"),
    target("sm_70, sm_80"),
    target("sm_70\n.target sm_80"),
    target("sm_70", ".target sm_80 cp.async.wait_all;"),
    target("sm_80", "cp.async.wait_all; .target sm_70"),
    body(".extern .func g;"),
    body(".func g; call g;") + ".func g {ret;}\n",
    HEAD + ".visible .func w(.param .f64 x) { .visible .func w(.param .f64 x); ret; }\n",
    HEAD + FUNCTIONS + TOP + ".func a2; .alias a2, f; call a2; ret; }\n",
    body("mov.f32 %f1, ((0f3F800000));"),
    body("mov.f32 %f1, -(0f3F800000);"),
    body("mov.f64 %d1, 2.2250738585072013e-308;"),
    body("mov.f64 %d1, 0.0e-99999;"),
    HEAD + ".section .to { .b8 1 }\n",
]


@pytest.mark.parametrize("text", ACCEPTED)
def test_accepted(text: str) -> None:
    assert orias.compile(text, arch="sm_80", opt_level=0).data


UNRESOLVED = "fatal 0: Unresolved extern function 'f'"
ALIAS = "error 6: Mismatch in prototype of alias 'a' and aliasee 'f'. "
SPACES = "error 5: State space mismatch between instruction and address in instruction "
REFUSED = [
    (version("3.31") + ".entry z() {ret;}\n", "error 2: PTX .version 3.31 does not support .target sm_80"),
    (version("7.9"), "fatal 1: Unsupported .version 7.9; current version is '9.5'"),
    (".target sm_80\n.target sm_80\n.address_size 64\n", "fatal 3: Missing .version directive at start of file '<ptx>'"),
    (HEAD + ".entry z() .maxntid 1, 0\n{ ret; }\n", "error 5: Positive non-zero value expected for maxntid"),
    (HEAD + ".entry z() .maxntid 1, 0,\n1\n{ ret; }\n", "error 5: Positive non-zero value expected for maxntid"),
    (body("call\n\n%d1, (%d2), proto;"), "error 7: Unknown symbol 'proto'"),
    (body("call.uni\n\n%d1, (%d2), proto;"), "error 5: Unknown symbol 'proto'"),
    (body("@%p1\ncall\n\n%d1, (%d2), proto;"), "error 6: Unknown symbol 'proto'"),
    (body("ld.rn.u32 %r1, [p];"), SPACES + "'ld'"),
    (body("ld.cc.u32 %r1, [p];"), SPACES + "'ld'"),
    (body("st.eq.u32 [p], %r1;"), SPACES + "'st'"),
    (body("ld.sat.u32 %r1, [p];"), "error 5: Illegal modifier '.sat' for instruction 'ld'"),
    (body("ld.rn.u32 %r1, [k];"), "error 5: Illegal to use symbol 'k' of type unexpected as address operand. Use integer or bit only."),
    (body("atom.cas.u64 %d1, [%d0], %d2, %d3;"), "error 5: Unexpected instruction types specified for 'atom'"),
    (body("atom.shared.cas.f32 %f1, [%r0], %f2, %f3;"), "error 5: Unexpected instruction types specified for 'atom'"),
    (body("atom.cas.u32 %r1, [%d0], %r2;"), "error 5: Unexpected instruction types specified for 'atom'"),
    (body("@%p1\n\nmov.u32 %r1, %d1;"), "error 7: Arguments mismatch for instruction 'mov'"),
    (version("255.0"), "fatal 1: Unsupported .version 255.0; current version is '9.5'"),
    (version("9.18446744073709551615"), "fatal 1: Unsupported .version 9.18446744073709551615; current version is '9.5'"),
    (version("0099.0"), "fatal 1: Unsupported .version 0099.0; current version is '9.5'"),
    (".version\n8.0\n.target sm_80\n", "fatal 1: Missing .version directive at start of file '<ptx>'"),
    (body(".version 7.5"), "fatal 5: Parsing error near '.version 7.5': syntax error"),
    (body("cvta.version.global.u64 %d1, %d2;"), "error 5: Unknown modifier '.version'"),
    (target("sm_80, sm_70"), GATE),
    (target("sm_80", ".target sm_70 cp.async.wait_all;"), GATE),
    (target("sm_70", "cp.async.wait_all; .target sm_80"), GATE),
    (target("sm_80\n.target sm_90"), HIGH),
    (target("sm_90x"), HIGH),
    (target("sm_20f"), "fatal 2: Unsupported .target 'sm_20f'"),
    (target("sm_80, foo"), "fatal 2: Unsupported .target 'foo'"),
    (target("debug, sm_80"), NO_TARGET),
    (target("foo, sm_80"), NO_TARGET),
    (target("sm_80", ".target texmode_independent"), "error 5: Conflicting .target option 'texmode_independent'"),
    (target("sm_80", ".target sm_80;"), "fatal 5: Parsing error near ';': syntax error"),
    (body(".func f;"), UNRESOLVED),
    (body(".func f(.param .b32 a)\nmov.u32 %r1, 1;"), "fatal 6: Parsing error near 'mov': syntax error"),
    (body(".func f\n{ ret; }"), "fatal 6: Parsing error near '{': syntax error"),
    (body('.func f .pragma "nounroll";'), "fatal 5: Parsing error near '.pragma': syntax error"),
    (body(".func k;"), "error 5: Inconsistent redefinition of 'k' as entry and function"),
    (body(".reg .u32 g; .func g;"), "fatal 5: Inconsistent redefinition of symbol 'g'"),
    (HEAD + FUNCTIONS + TOP + "\n.func f; ret; }\n", "error 7: Duplicate definition of function 'f'"),
    (body(".visible .entry z;"), "fatal 5: Parsing error near '.entry': syntax error"),
    (body(".alias k, k;"), "error 5: Cannot define alias to entry function 'k'"),
    (HEAD + FUNCTIONS + ".alias f, f;\n", "error 6: Illegal redefinition of function 'f' as alias"),
    (HEAD + FUNCTIONS + ".func a; .alias a, a;\n", "error 6: Cannot alias a function to itself"),
    (HEAD + FUNCTIONS + ".func a(.param .b32 x); .alias a, f;\n", ALIAS + "number of parameters differ(s)"),
    (HEAD + FUNCTIONS + ".func a .noreturn; .alias a, f;\n", ALIAS + ".noreturn directive differ(s)"),
    (HEAD + FUNCTIONS + ".func a; .alias a, f;\n.alias a, f;\n", "error 7: 'a' is already aliased to 'f' and cannot be redefined"),
    (HEAD + ".extern .func e; .func a; .alias a, e;\n", "error 4: Function 'e' with .extern scope cannot be aliased"),
    (HEAD + FUNCTIONS + ".global .u32 v; .alias v, f;\n", "error 6: Cannot define alias to variable object 'v'"),
    (body(".alias %r1, k;"), "error 5: Unknown symbol '%r1'"),
    (body(".param .u64 .ptr .global v;"), "fatal 5: Parsing error near '.ptr': syntax error"),
    (HEAD + ".global .u64 .ptr v;\n", "fatal 4: Parsing error near '.ptr': syntax error"),
    (HEAD + ".entry z(.param .u64 .ptr .u64 v) {ret;}\n", "fatal 4: Parsing error near '.ptr': syntax error"),
    (HEAD + ".entry z(.reg .u64 v\n) {ret;}\n", "error 5: Entry parameter 'v' must have .param state space"),
    (HEAD + ".func f(.param .b8 a[4294967296]) {ret;}\n", "error 4: Constant overflow"),
    (body("ld.global.v2.u32 {%r1, %zz}, [%d1];"), "error 5: Illegal expression '%zz'"),
    (body("st.global.v2.u32 [%d1], {k, %r1};"), "error 5: Illegal expression 'k'"),
    (body("mov.b64 %d1, {%zz, %r1};"), "error 5: Illegal expression '%zz'"),
    (body("mov.u64 %d1, 1e400;"), "error 5: Constant overflow"),
    (body("mov.f32 %f1, -1e400;"), "error 5: Constant overflow"),
    (body("mov.f64 %d1, 1e-320;"), "error 5: Constant overflow"),
    (body(".loc 1e400 1 1"), "error 5: Constant overflow"),
    (HEAD + '.file 1 "a"\n' + TOP + "\n.loc 1 4294967296 9\nret; }\n", "error 6: Constant overflow"),
    (HEAD + ".global .f32 v = 1e400;\n", "error 4: Constant overflow"),
    (body("add.f32 %f1, %f2, -0f3F800000;"), "fatal 5: Parsing error near '0f3F800000': syntax error"),
    (body("mov.f32 %f1, 0f3F800000 * 2.0;"), "fatal 5: Parsing error near '*': syntax error"),
    (body("ld.global.u32 %r1, [%d1+1.5];"), "error 5: Integer constant expression expected"),
    (body("setp.eq.u64 %p1, %d1, 0;\n@%d1 bra L;\nL:"), "error 6: Predicate expression expected"),
    (body("mov.u32 %r1, %tid.reg;"), "fatal 5: Parsing error near '.reg': syntax error"),
    (body("mov.u32 %r1, %r2.entry;"), "fatal 5: Parsing error near '.entry': syntax error"),
    (body("mov.b32 %tid, 16;"), "error 5: Arguments mismatch for instruction 'mov'"),
    (body("mov.u64 %laneid, 1;"), "error 5: Arguments mismatch for instruction 'mov'"),
    (body("cvt.u32.u32 %r1, %ntid;"), "error 5: Vector operand is not allowed for instruction 'cvt'"),
    (body("shl.b32 %r1, %ntid, 4;"), "error 5: Arguments mismatch for instruction 'shl'"),
    (body("fma.lo.f32 %f1, %f2, %f3, %f4;"), "error 5: Comparison qualifier is not allowed for instruction 'fma'"),
    (body("cvt.v2.f32.u32 %f1, %r2;"), "error 5: Vector qualifier is not allowed for instruction 'cvt'"),
    (body("mad.eq.f32 %f1, %f2, %f3, %f4;"), "error 5: Comparison qualifier is not allowed for instruction 'mad'"),
    (HEAD + FUNCTIONS + TOP + "\ncall.u64 f; ret; }\n", "error 7: Unexpected instruction types specified for 'call'"),
    (HEAD + FUNCTIONS + TOP + "\ncall.foo f; ret; }\n", "error 7: Unknown modifier '.foo'"),
    (HEAD + FUNCTIONS + TOP + "\ncall.global f; ret; }\n", "error 7: No state space qualifier expected for instruction 'call'"),
    (
        HEAD + ".func (.param .b32 r) h() { .reg .b32 %r<2>;\nld.param.b32 %r1, [r]; ret; }\n",
        "error 5: Illegal to read function return parameter 'r'",
    ),
    (HEAD + FUNCTIONS + TOP + "\nsuld.b.1d.b32.trap {%r2}, [f, {%r1}]; ret; }\n", "error 7: Arguments mismatch for instruction 'suld.b'"),
    (body("tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%d1, zz, {%r1}];"), "error 5: Arguments mismatch for instruction 'tex'"),
    (body("bfe.u32 %r1, %r2, 256, 8;"), "error 5: Argument 2 of instruction 'bfe': value '256' out of range, expected to be in range [0..255]"),
    (body("bfi.b64 %d1, %d2, %d3, 8, -1;"), "error 5: Argument 4 of instruction 'bfi': value '-1' out of range, expected to be in range [0..255]"),
    (body("mov.f32 %r3, %ctaid.x;"), "error 5: Special register argument not allowed for instruction 'mov'"),
    (body("mov.u32 %tid, 1;"), "error 5: Read-only special register cannot be destination argument"),
    (body("mul.wide.s32 %tid, %r1, 4;"), "error 5: Special register argument not allowed for instruction 'mul.wide'"),
    (body("txq.param.b32 %r1, [%d1];"), "error 5: No state space qualifier expected for instruction 'txq'"),
    (body("tex.global.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%d1, {%r1}];"), "error 5: No state space qualifier expected for instruction 'tex'"),
    (body("call %d1, (%r2);"), "error 5: Label expected for argument 0 of instruction 'call'"),
    (HEAD + ".common .entry z() {ret;}\n", "fatal 4: Parsing error near '.entry': syntax error"),
    (HEAD + ".entry z() .maxntid 0\n{ret;}\n", "error 5: Positive non-zero value expected for maxntid"),
    (body("ld.shared.b32 %tid, [%d1];"), "error 5: Special register argument not allowed for instruction 'ld'"),
    (HEAD + ".section .global { .b8 1 }\n", "fatal 4: Parsing error near '.global': syntax error"),
    (f".version 6.4\n.target sm_70\n.address_size 64\n{TOP} .reg .b16 %h<3>;\nset.eq.u32.f16 %r1, %h1, %h2; ret; }}\n", "error 5: Feature 'half precision floating point set instruction with integer result' requires PTX ISA .version 6.5 or later"),
    (f".version 9.0\n.target sm_30\n.address_size 64\n{TOP} .reg .b16 %h<3>;\nset.eq.f16.b32 %h1, %r1, %r2; ret; }}\n", "error 5: Feature 'f16 arithemetic and compare instructions' requires .target sm_53 or higher"),
    (HEAD + '.section "x" { .b8 1 }\n', "fatal 4: Parsing error near '\"x\"': syntax error"),
]  # fmt: skip


@pytest.mark.parametrize("text, want", REFUSED)
def test_refused(text: str, want: str) -> None:
    with pytest.raises(orias.CompileError) as caught:
        orias.compile(text, arch="sm_80", opt_level=0)
    said = caught.value.diagnostics
    assert next(f"{d.severity} {d.line}: {d.message}" for d in said if d.severity in ("error", "fatal")) == want
