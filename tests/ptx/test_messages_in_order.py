"""Whole lists of messages, with those of ptxas 13.0.88: parts of registers, blanks, spaces of copies, launch bounds, headers."""

import pytest

from orias.diag import CompileError
from orias.ptx.module_checks import check
from orias.ptx.parser import parse
from orias.target.profile import target
from tests.nvtools import tool
from tools.front_end.compare import Judge, ours
from tools.front_end.instructions import Program, head, kernel

ON_SOURCE = "Video selector is not allowed on source operand for instruction '{}'"
ON_RESULT = "Video selector is not allowed on destination for instruction '{}'"
LINES = {
    "cnot.b16 %b16_1, %s16_2.b0;": ["Unknown field '.b0'"],
    "mov.b64 %b64_2.b0, %b64_1;": ["Unknown field '.b0'", "Result register required for instruction 'mov'"],
    "add.u32 %u32_1.b0, %u32_2.b0, %s32_2.h1;": [ON_RESULT.format("add"), ON_SOURCE.format("add"), ON_SOURCE.format("add")],
    "add.u32 %u32_1, %u32_2.hxy, %u32_1;": ["Unknown video selector: '.hxy'"] * 2 + [ON_SOURCE.format("add")],
    "add.u32 %u32_1, %u32_2.unified, %u32_1;": ["Parsing error near '.unified': syntax error"],
    "add.u32 %u32_1, %u32_2[2], %u32_1;": ["Array indexing on non-array"],
    "add.u32 %u32_1, %u32_2, var_global[4];": ["Arguments mismatch for instruction 'add'"],
    "vadd2.u32.u32.u32 %u32_1.h2, %u32_2.h01, 5, %u32_2;": [f"Incorrect video selector for operand {k}" for k in (0, 2)],
    "vadd.u32.u32.u32.add %u32_1.b0, %u32_2, %u32_1, %u32_2;": [
        "Video instruction cannot have destination selector and secondary operation"
    ],
    "mul .lo.s16 %b16_0, %b16_1, 6;": ["Unexpected instruction types specified for 'mul'"],
    "cp .async.wait_group 0;": ["Unknown modifier '.wait_group'", "Not a name of any known instruction: 'cp'"],
    "add.foo.ftz.u32 %u32_1, %u32_2, %u32_3;": ["Unknown modifier '.foo'", "Illegal modifier '.ftz' for instruction 'add'"],
    "selp.rn.sat.oob.u64 %b64_1, %b64_1, %b64_1, %pred_1;": [
        "Illegal modifier '.oob' for instruction 'selp'",
        "Illegal modifier '.sat' for instruction 'selp'",
        "Illegal rounding modifier for instruction 'selp'",
    ],
    "cp.async.ca.shared.global [var_global], [%b64_1], 4;": [
        "State space mismatch between instruction and address in instruction 'cp.async'"
    ],
    "mbarrier.inval.b64 [var_global];": [
        "Illegal state space for address operand 'var_global' with instruction 'mbarrier.inval'"
    ],
    f"wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {{{', '.join(f'%u32_{k}' for k in range(8))}}}, [%b64_1];": [
        "Arguments mismatch for instruction 'wmma.load.a'"
    ],
    "createpolicy.fractional.L2::evict_last.L2::evict_normal.b64 %b64_0, 0.5;": [
        "Unsupported modifier '.evict_normal' as secondary_priority for instruction 'createpolicy.fractional'"
    ],
    "mov.u32 %u32_1, tx;": ["Indirect access to texture requires .u64 type"],
}  # fmt: skip
HEAD = ".version 9.0\n.target sm_90\n.address_size 64\n"
TOO_WIDE = "Potential out of bound access while accessing symbol"
RANGE = "out of range."
MODULES = {
    ".global .u64 n = generic(n + 4);": ["Parsing error near '+': syntax error"],
    ".global .u32 n = mask(n);": ["Parsing error near 'mask': syntax error"],
    ".global .u32 n = zz + 4;": ["Initial value type mismatch"],
    ".global .f16x2 n[] = {1, 2};": ["Initial value type mismatch"],
    ".const[2 2] .b8 c[4];": ["Parsing error near '[': syntax error"],
    ".const[13] .b8 c[4];": ["Deprecated feature: 'explicit constant banks' not supported as of PTX version 2.2", "Illegal bank number: 13"],
    ".const .b16 n = generic(n);": ["Invalid initial value expression"],
    ".global .s32 n = 0xFF(a);": ["Invalid initial value symbol 'a'"],
    ".global .f16 n[1] = {1.0, 2.0};": ["Greater number of elements in array initializer"],
    ".global .f16 n[2] = {1.0};": ["No initial value is allowed for .f16 type"],
    ".global .f16 n = 1.0 .0;": ["Parsing error near '.0': syntax error"],
    ".global .u32 n[2][2] = {1, 2, 3};": ["Greater number of elements in array initializer"],
    ".global .u32 n[3] = {{3},\n zz, 3.0\n};": ["Initial value type mismatch"],
    ".extern .global .u32 n = 1.0;": ["Initial value type mismatch"],
    ".shared .u32 n[1] = {1, zz};": ["No initial value is allowed for 'n' in this state space", "Greater number of elements in array initializer"],
    ".entry k(.param .u16 v[], .param .u8 w, .param .u8 x) {ret;}": ["Only the last input parameter can be an incomplete array.", "Only the last input parameter can be an incomplete array.", "Parameter to entry function cannot be an incomplete array."],
    ".entry k() .maxntid 32,65 {ret;}": [f"Value of threads per SM for entry k is {RANGE} .minnctapersm and .maxntid will be ignored"],
    ".entry k() .maxntid 4096 .minnctapersm 3 {ret;}": [f"Value of maxntid, for entry k is {RANGE} .minnctapersm and .maxntid will be ignored"],
    ".entry k() .maxntid 32 .minnctapersm 33 {ret;}": [f"Value of minnctapersm for entry k is {RANGE} minnctapersm will be ignored"],
    ".entry k() .maxntid 100 .minnctapersm 20 {ret;}": [f"Value of threads per SM for entry k is {RANGE} .minnctapersm will be ignored"],
    ".entry k() .maxntid 128 .minnctapersm 16 {ret;}": [],
    ".entry k() .maxnreg 23 {ret;}": ["For entry k adjusting per thread register count of 23 to lower bound of 24"],
    ".entry k() .maxnreg 256 {ret;}": ["Too many maxnreg specified for entry k, will be ignored"],
    ".func f(.param .b32 _){ret;} .entry k(){ret;}": ["Illegal parameter name '_'"],
    ".func f(.f64 p){ret;} .entry k(){ret;}": ["Function parameter 'p' has illegal state space", "No variable storage specified"],
    ".extern .func f; .func f {ret;} .entry k(){ret;}": [
        "Inconsistent redefinition of variable 'f'",
        "Function definition conflicts with '.extern' declaration for function 'f'",
    ],
    ".visible .func f(); .entry k(){ret;}": ["Unresolved extern function 'f'"],
    ".global .pred a[2]; .entry k(){ret;}": ["Predicate type can only be used to define scalar register variables"],
    ".global .u32 a[2][0]; .entry k(){ret;}": ["Array of incomplete type"],
    ".align 8 .b32 a; .entry k(){ret;}": ["No variable storage specified"],
    ".global .const .b32 a; .entry k(){ret;}": ["Multiple state spaces specified"],
    ".global .b8 a, b[4]; .entry k(.param .b32 p) {.reg .b32 r; .reg .b64 d; .reg .v2 .b32 v;"
    " ld.global.u32 r,[b]; ld.global.u8 r,[a]; ld.global.u32 r,[a];\n ld.param.u64 d,[p]; st.v2.u16 [a],v; ret;}": [
        f"{TOO_WIDE} 'a' of type '.b8' with instruction type '.u32'.",
        f"{TOO_WIDE} 'p' of type '.b32' with instruction type '.u64'.",
        f"{TOO_WIDE} 'a' of type '.b8' with instruction type '.u16'.",
    ],
    ".const .b16 a; .entry k() {.reg .b32 r; ld.shared.u32 r,[a]; atom.shared.add.u32 r,[a],1; ret;}": [
        f"{TOO_WIDE} 'a' of type '.b16' with instruction type '.u32'.",
        "State space mismatch between instruction and address in instruction 'ld'",
        "State space mismatch between instruction and address in instruction 'atom'",
    ],
    ".extern .global .b8 x[]; .entry k() {.reg .b32 r; ld.global.u32 r,[x]; ret;}": ["Unresolved extern variable 'x'"],
}  # fmt: skip


@pytest.mark.parametrize("line", LINES)
def test_of_an_instruction(line: str) -> None:
    found = ours(Program("sm_90", line, head("9.0", "sm_90"), kernel(line)))
    assert not found.accepted
    assert [m.split(": ", 1)[1] for m in found.messages] == LINES[line]


@pytest.mark.parametrize("text", MODULES)
def test_of_a_module(text: str) -> None:
    try:
        module = parse(HEAD + text + "\n")
        found = [*module.warnings, *check(module, target("sm_90"))]
    except CompileError as error:
        found = error.diagnostics
    assert [d.message for d in found] == MODULES[text]


def test_the_lists_are_ptxas_s() -> None:
    tool("ptxas")
    judge = Judge(None)
    block = [Program("sm_90", line, head("9.0", "sm_90"), kernel(line)) for line in LINES]
    block += [Program("sm_90", text, HEAD, text + "\n") for text in MODULES]
    wanted = [*LINES.values(), *MODULES.values()]
    said = [judge.alone(p) for p in block]
    assert [[m.split(": ", 1)[1] for m in a.messages] if a else None for a in said] == wanted


def test_masks_of_numbers() -> None:
    module = parse(HEAD + ".global .u16 x[3] = {0xFF(0x1234), 0xFF00(0x1234), 0xFF0000(0x123456)};\n")
    assert module.variables[0].init == [(0, 0x34), (2, 0x12), (4, 0x12)]
