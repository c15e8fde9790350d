"""Modules, declarations, statements and operands."""

import pytest

from orias.diag import CompileError
from orias.ptx.ast import (
    O_ADDR,
    O_FUNC,
    O_IMM,
    O_LABEL,
    O_PAIR,
    O_REG,
    O_SINK,
    O_SREG,
    O_SYM,
    O_VEC,
    Instr,
    Label,
    Loc,
    Module,
    Pragma,
    SymInit,
)  # fmt: skip
from orias.ptx.parser import parse

HEAD = ".version 8.3\n.target sm_90\n.address_size 64\n"


def module(text: str) -> Module:
    return parse(HEAD + text)


def body(text: str, before: str = "") -> list[Instr]:
    statements = module(
        before + ".visible .entry k(.param .u64 p)\n{\n.reg .pred %p<9>;\n.reg .b16 %h<9>;\n.reg .b32 %r<99>;\n"
        f".reg .b64 %rd<99>;\n.reg .f32 %f<99>;\n{text}\nret;\n}}\n"
    ).functions[-1].body  # fmt: skip
    assert statements is not None
    return [s for s in statements if isinstance(s, Instr)]


def refusal(text: str) -> list[tuple[int, str, str]]:
    with pytest.raises(CompileError) as caught:
        parse(text, "f.ptx")
    return [(d.line, d.severity, d.message) for d in caught.value.diagnostics]


def test_header() -> None:
    m = parse(".version 7.8 .target sm_80, texmode_independent\n.address_size 64\n")
    assert (m.version, m.target, m.target_options, m.address_size) == ((7, 8), "sm_80", ("texmode_independent",), 64)


def test_registers_come_to_be_when_named() -> None:
    function = module(".func f{.reg .b32 %r<1000000000>, x; add.s32 %r7,%r999999999,x;}").functions[0]
    assert [v.name for v in function.regs] == ["x", "%r7", "%r999999999"]
    assert [v.index for v in function.regs] == [0, 1, 2]


def test_operand_forms() -> None:
    (one,) = body("mad.lo.s32 %r1, %r2, -5, 0xffffffff;")[:1]
    assert [o.kind for o in one.ops] == [O_REG, O_REG, O_IMM, O_IMM]
    assert [o.value for o in one.ops[2:]] == [-5, 0xFFFFFFFF]
    ops = body("ld.global.v2.f32 {%f1, _}, [%rd1+-16];")[0].ops
    assert ops[0].kind == O_VEC and ops[0].elems[1].kind == O_SINK
    assert (ops[1].kind, ops[1].value, ops[1].var.name) == (O_ADDR, -16, "%rd1")  # type: ignore[union-attr]
    ops = body("setp.eq.and.s32 %p1|%p2, %r1, %r2, !%p3;")[0].ops
    assert ops[0].kind == O_PAIR and ops[3].neg
    ops = body("mov.u32 %r1, %tid.y;")[0].ops
    assert (ops[1].kind, ops[1].name, ops[1].comp) == (O_SREG, "tid", "y")
    ops = body("ld.global.u32 %r1, [a+8]; mov.u64 %rd1, a; mov.u64 %rd2, f;", ".global .u32 a[9]; .func f{ret;}")
    assert [i.ops[-1].kind for i in ops[:3]] == [O_ADDR, O_SYM, O_FUNC]
    scaled = body("ld.global.u32 %r1, a[3];", ".global .u32 a[9];")[0].ops[1]
    assert (scaled.kind, scaled.value) == (O_ADDR, 12)


def test_float_literals() -> None:
    ops = [i.ops[1] for i in body("mov.f32 %f1, 0f3F800000; mov.f32 %f2, 1.5; mov.f32 %f3, 0d3FF0000000000000;")[:3]]
    assert [(o.imm_type, o.value) for o in ops] == [
        ("f32", 0x3F800000), ("f64", 0x3FF8000000000000), ("f64", 0x3FF0000000000000),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "value"),
    [("1+2*3", 7), ("(1+2)*3", 9), ("7 % 4", 3), ("-7 / 2", -3), ("1<<4|1", 17), ("~0", -1), ("-7 % 4", 1), ("!5", 0), ("3>2?10:20", 10),
     ("WARP_SZ*2", 64), ("(.s64)0xffffffffffffffff", -1), ("0b101", 5), ("017", 15), ("5U-6", -1), ("2==2&&1!=1", 0)],
)  # fmt: skip
def test_constant_expressions(text: str, value: int) -> None:
    assert body(f"mov.b32 %r1, {text};")[0].ops[1].value == value


def test_predicates_labels_and_scopes() -> None:
    m = module(
        ".entry k(){\n.reg .pred %p<2>; .reg .b32 x;\nL: @!%p1 bra M;\n{ .reg .b64 x; L: mov.b64 x, 1; bra L; }\nM: bra L;\n}"
    )
    function = m.functions[0]
    statements = function.body
    assert statements is not None
    labels = [s for s in statements if isinstance(s, Label)]
    jumps = [s for s in statements if isinstance(s, Instr) and s.sig.name == "bra"]
    assert [x.name for x in labels] == ["L", "L", "M"]
    assert [j.ops[0].label for j in jumps] == [labels[2], labels[1], labels[0]]
    assert jumps[0].pred is not None and jumps[0].pred.neg
    assert [v.type for v in function.regs if v.name == "x"] == ["b32", "b64"]


def test_calls_and_lists() -> None:
    m = module(
        """.extern .func (.param .b32 r) g (.param .b32 a);
.func h(.reg .u32 x) { ret; }
.entry k() {
 .reg .b32 %r<4>; .reg .b64 %rd<4>;
 { .param .b32 a; .param .b32 r; st.param.b32 [a], %r1; call.uni (r), g, (a); ld.param.b32 %r2, [r]; }
 call h, (5);
 pr: .callprototype (.param .b32 _) _ (.param .b32 _);
 call (%r1), %rd1, (%r2), pr;
 ts: .branchtargets A, B;
 brx.idx %r1, ts;
 A: B: ret; }"""
    )
    statements = m.functions[-1].body
    assert statements is not None
    calls = [s for s in statements if isinstance(s, Instr) and s.sig.name == "call"]
    assert [c.ops[0].kind for c in calls] == [O_FUNC, O_FUNC, O_REG]
    assert calls[0].rets[0].kind == O_SYM and calls[0].args[0].kind == O_SYM
    assert calls[1].args[0].value == 5
    assert calls[2].proto is not None and calls[2].proto.proto is not None
    (jump,) = [s for s in statements if isinstance(s, Instr) and s.sig.name == "brx.idx"]
    assert jump.ops[1].kind == O_LABEL and jump.ops[1].label is not None
    assert [t.name for t in jump.ops[1].label.targets or []] == ["A", "B"]


def test_initialisers() -> None:
    m = module(
        """.global .u32 a[2][2] = {{1, 2}, {3}};
.global .align 8 .b8 s[] = {72, 105, 0x21, 0};
.const .f32 f[2] = {1.5, 0f40000000};
.global .f64 d = 0d3FF0000000000000;
.global .u64 p = a+4, q = generic(a)+8, r = f;
.global .u8 m[2] = {0xff(a), 0xff00(a)};
.global .v2 .u16 v = {1, 2};
"""
    )
    by = {v.name: v for v in m.variables}
    assert by["a"].init == [(0, 1), (4, 2), (8, 3)] and by["a"].size == 16
    assert (by["s"].size, by["s"].dims, by["s"].align) == (4, (4,), 8)
    assert by["f"].init == [(0, 0x3FC00000), (4, 0x40000000)]
    assert by["d"].init == [(0, 0x3FF0000000000000)]
    for name, addend, generic in (("p", 4, False), ("q", 8, True)):
        init = by[name].init
        assert init is not None
        item = init[0][1]
        assert isinstance(item, SymInit) and (item.target, item.addend, item.generic) == (by["a"], addend, generic)
    init = by["m"].init
    assert init is not None and [i[1].mask for i in init if isinstance(i[1], SymInit)] == [0xFF, 0xFF00]
    assert by["v"].init == [(0, 1), (2, 2)] and by["v"].size == 4


def test_function_header() -> None:
    m = module(
        ".visible .entry k(.param .u64 .ptr .global .align 16 p, .param .align 8 .b8 s[24])\n"
        ".maxntid 128, 2\n.minnctapersm 3\n.maxnreg 64\n{ ret; }"
    )
    k = m.functions[0]
    assert (k.linkage, k.entry) == ("visible", True)
    assert (k.params[0].ptr_space, k.params[0].ptr_align, k.params[1].size, k.params[1].align) == ("global", 16, 24, 8)
    assert k.directives == {"maxntid": (128, 2, 1), "minnctapersm": (3,), "maxnreg": (64,)}


def test_debug_text() -> None:
    m = module(
        """.file 1 "a.cu", 5, 6
.entry k() {
.loc 1 2 3
.loc 1 4 5, function_name $L__s+3, inlined_at 1 2 3
.pragma "nounroll";
$L__b: ret; }
.section .debug_str {
.b8 1
.b8 2,3
.b32 .debug_abbrev
$L__s:
.b64 $L__b+4
}
"""
    )
    assert m.files == {1: ("a.cu", 5, 6)}
    statements = m.functions[0].body
    assert statements is not None
    locs = [s for s in statements if isinstance(s, Loc)]
    assert (locs[1].function_name, locs[1].inlined_at) == (("$L__s", 3), (1, 2, 3))
    assert [s.text for s in statements if isinstance(s, Pragma)] == ["nounroll"]
    section = m.sections[0]
    assert section.items == [(1, 1), (1, 2), (1, 3), (4, (".debug_abbrev", 0)), (8, ("$L__b", 4))]
    assert section.labels == {"$L__s": 7}


def test_extern_then_definition_is_one_object() -> None:
    m = module(
        ".extern .global .u32 a[];\n.func f{.reg .b32 r; ld.global.b32 r,[a];}\n.visible .global .u32 a[4]={1,2,3,4};"
    )
    assert len(m.variables) == 1 and m.variables[0].size == 16 and m.variables[0].linkage == "visible"


def test_line_numbers() -> None:
    text = HEAD + ".entry k() {\n/* two\nlines */ .reg .b32 r;\n\n   add.s32 r, r,\n r;\n add.s32 r,r,1; foo;\n}"
    assert refusal(text) == [(10, "error", "Not a name of any known instruction: 'foo'")]
    function = parse(text.replace(" foo;", "")).functions[0]
    assert [(s.line, s.column) for s in function.body or [] if isinstance(s, Instr)] == [(8, 4), (10, 2)]
    assert refusal(HEAD + '.entry k() {\n#line 100 "x"\nfoo;\n}')[0][0] == 100


def test_semantic_errors_collect_and_a_syntax_error_ends() -> None:
    text = HEAD + ".entry k() {\n.reg .b32 r;\nadd.s32 r,r;\nadd.q.s32 r,r,r;\nadd.s32 r r;\nadd.s32 r;\n}"
    assert refusal(text) == [
        (6, "error", "Arguments mismatch for instruction 'add'"),
        (7, "error", "Unknown modifier '.q'"),
        (8, "fatal", "Parsing error near 'r': syntax error"),
    ]


def test_text_that_is_not_ptx() -> None:
    assert refusal("") == [(1, "fatal", "Missing .version directive at start of file 'f.ptx'")]
    ended = (0, "fatal", "Unexpected non-ASCII character encountered on line 1")
    assert refusal('.version 8.0 // \xe9\n.file 1 "\xe9.cu"') == [(0, "fatal", ended[2].replace("1", "2"))]
    assert refusal("\ufeff" + HEAD) == [ended]
    assert refusal(".version 9.7\n") == [(1, "fatal", "Unsupported .version 9.7; current version is '9.5'")]
    line = 1 + HEAD.count("\n")
    ended = (0, "fatal", f"Unexpected EOF encountered on line {line}")
    assert refusal(HEAD + ".entry k(){ret;}\0garbage {{{")[-1] == ended
    assert refusal(HEAD + "// a\0")[-1] == ended


def test_literals_of_more_than_64_bits() -> None:
    line = 2 + HEAD.count("\n")
    for text in ("99999999999999999999", "0xfffffffffffffffff", "0b1" + 64 * "0", "0" + 23 * "7"):
        body = f".entry k(){{ .reg .u64 %rd<2>;\nmov.u64 %rd1, {text}; }}"
        assert refusal(HEAD + body) == [(line, "error", "Constant overflow")]
    for text in ("18446744073709551615", "0x0000ffffffffffffffff", "0b" + 64 * "1", "01777777777777777777777"):
        parse(HEAD + f".entry k(){{ .reg .u64 %rd<2>;\nmov.u64 %rd1, {text}; }}")
    # others wrap, as in ptxas: it looks only whether a digit follows a value with its highest bit set
    for text, value in (("18446744073709551617", 1), ("0x123456789abcdef01", 0x23456789ABCDEF01), ("02" + 21 * "0", 0)):
        module = parse(HEAD + f".global .u64 x = {text};")
        assert module.variables[0].init == [(0, value)]


def test_lists_of_branch_targets_keep_their_order() -> None:
    """Names of an inner scope are known first; the place that the list names itself is a label of its own."""
    body = ".entry k() { .reg .b32 r;\nA: ret;\n{\nT: .branchtargets C, B, T, A, C;\nbrx.idx r, T;\nB: ret;\n}\nC: ret; }\n"
    function = parse(HEAD + body).functions[0]
    assert function.body is not None
    branch = next(i for i in function.body if isinstance(i, Instr) and i.sig.name == "brx.idx")
    listed = branch.ops[1].label
    assert listed is not None and listed.targets is not None
    assert [t.name for t in listed.targets] == ["C", "B", "T", "A", "C"]
    own = listed.targets[2]
    assert own is not listed and not own.is_list() and own in function.labels
    assert function.body.index(own) == function.body.index(branch) - 1
