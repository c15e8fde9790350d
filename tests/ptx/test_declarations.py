"""Declarations, headers, calls and pragmas, right and wrong ones, with the messages of ptxas 13.0.88 in their order."""

import json
from pathlib import Path
from typing import Any

import pytest

import orias
from orias.ptx.module_checks import check
from orias.ptx.parser import parse
from orias.target.profile import target
from tests.nvtools import tool
from tests.ptx.test_agreement import messages_of
from tests.rotation import rotating
from tools.front_end.compare import Judge
from tools.front_end.instructions import Program

CASES: list[dict[str, Any]] = json.loads((Path(__file__).parent / "data" / "declarations.json").read_text())
HEAD = ".version 9.0\n.target sm_90\n.address_size 64\n"


def text_of(case: dict[str, Any]) -> str:
    return f".version {case['version']}\n.target sm_90\n.address_size 64\n{case['text']}\n"


def test_messages_are_those_of_ptxas() -> None:
    different = []
    for case in CASES:
        said = [f"{severity} {line}: {text}" for line, severity, text in messages_of(text_of(case))]
        if said != case["messages"]:
            different.append((case, said))
    assert len(CASES) > 300
    assert sum(bool(c["messages"]) for c in CASES) > 250
    assert not different


def test_some_of_the_records_are_ptxas_s() -> None:
    tool("ptxas")
    judge = Judge(None)
    for case in rotating(CASES, 12, "declarations"):
        answer = judge.alone(Program("sm_90", "", "", text_of(case)))
        assert answer is not None and answer.messages == case["messages"], case["text"]


@pytest.mark.parametrize(
    ("declared", "bits"),
    [
        (".b32 x = 1.5", 0x3FC00000),
        (".b32 x = 0d3FF1234567812345", 0x3F891A2B),
        (".b64 x = 1.5", 0x3FF8000000000000),
        (".b64 x = 0f3F812345", 0x3F812345),
        (".b16 x = 1.1", 0x999A),
        (".b8 x = 0f3F812345", 0x45),
    ],
)
def test_floats_in_untyped_elements(declared: str, bits: int) -> None:
    """The bytes that ptxas 13.0.88 writes."""
    assert parse(f"{HEAD}.global {declared};").variables[0].init == [(0, bits)]


def test_prototypes_need_no_semicolon() -> None:
    module = parse(HEAD + ".func f()\n.func g() { ret; }\n.func f() { ret; }\n.entry k() { call f; ret; }\n")
    assert [f.name for f in module.functions] == ["f", "g", "k"]
    assert all(f.body is not None for f in module.functions)


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ('.pragma "abi_param_reg 8";\n.func g { ret; }\n.entry k() { call g; ret; }', "k' calls 'g"),
        ('.func g { .pragma "abi_param_reg 8"; ret; }\n.entry k() { call g; ret; }', "k' calls 'g"),
        ('.pragma "abi_param_reg 8";\n.func g { call g; ret; }\n.entry k() { ret; }', "g' calls 'g"),
        ('.func g { ret; }\n.pragma "abi_param_reg 8";\n.entry k() { call g; ret; }', ""),
        ('.pragma "abi_param_reg 8";\n.func g { ret; }\n.entry k() { ret; }', ""),
    ],
)
def test_calls_of_functions_with_registers_of_arguments(text: str, calls: str) -> None:
    """What ptxas 13.0.88 says once everything is read."""
    try:
        said = [d.message for d in orias.compile(HEAD + text + "\n", arch="sm_90").diagnostics]
    except orias.CompileError as error:
        said = [d.message for d in error.diagnostics]
    wanted = f"ABI mismatch when '{calls}': number of registers used for parameter passing differ"
    assert said == ([wanted] if calls else [])


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        (".func f(.param .u16 a) { ret; }\n.entry k() { .param .u16 A; call f, (A); ret; }", "passing"),
        (".func f(.reg .s8 a) { ret; }\n.entry k() { .reg .s8 r; call f, (r); ret; }", "passing"),
        (".func (.reg .pred a) f { ret; }\n.entry k() { .reg .pred p; call (p), f; ret; }", "returning"),
        (".func f(.param .b16 a) { ret; }\n.entry k() { .param .b16 A; call f, (A); ret; }", ""),
        (".func f(.param .u8 a) { ret; }\n.func g { .param .u8 A; call f, (A); ret; }\n.entry k() { ret; }", ""),
    ],
)
def test_narrow_arguments(text: str, wrong: str) -> None:
    """What ptxas 13.0.88 says of typed parameters and results of fewer than 32 bits in calls that a kernel reaches."""
    try:
        said = [d.message for d in orias.compile(HEAD + text + "\n", arch="sm_90").diagnostics]
    except orias.CompileError as error:
        said = [d.message for d in error.diagnostics]
    assert [m.split()[3] for m in said] == ([wrong] if wrong else [])


@pytest.mark.parametrize("scope", ["weak", "extern"])
def test_scopes_that_cannot_be_aliased(scope: str) -> None:
    body = ";" if scope == "extern" else "{ ret; }"
    with pytest.raises(orias.CompileError) as error:
        orias.compile(f"{HEAD}.{scope} .func f {body}\n.func g;\n.alias g, f;\n.entry k() {{ ret; }}\n", arch="sm_90")
    assert f"Function 'f' with .{scope} scope cannot be aliased" in str(error.value)


def test_several_results_are_no_objects_and_not_for_debuggers() -> None:
    function = ".func (.reg .u32 r, .reg .u32 q) f(.reg .u32 p){ mov.u32 r, p; mov.u32 q, 1; ret; }"
    module = parse(HEAD + function, "F")
    sm_90 = target("sm_90")
    said = "Function 'f' with multiple return values found, disabling ABI"
    assert [d.message for d in check(module, sm_90)] == [said]
    assert [d.message for d in check(module, sm_90, compile_only=True)] == [said, "'Compile only(-c)' requires ABI"]
    refused = [d.message for d in check(module, sm_90, debug=True) if d.severity == "error"]
    assert refused == ["Function with multiple return values is not allowed with ABI"]


@pytest.mark.parametrize("compile_only", [False, True])
def test_addresses_of_functions_of_the_driver(compile_only: bool) -> None:
    declared = ".extern .func free(.param .b64 p);\n.extern .func own(.param .b64 p);\n"
    module = parse(HEAD + declared + ".visible .global .u64 table[2] = {own, free};", "F")
    refused = "free" if compile_only else "own"
    found = check(module, target("sm_90"), compile_only)
    assert [d.message for d in found] == [f"Cannot take address of function '{refused}' "]
