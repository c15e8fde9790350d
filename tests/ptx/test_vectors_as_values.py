"""Vectors where one value is meant, and variables in place of addresses, with the verdicts of ptxas 13.0.88."""

import pytest

import orias

TEXT = """.version 9.0
.target sm_100a
.address_size 64
.global .align 16 .b8 gl[1024];
.shared .align 128 .b8 sh[128];
.visible .entry k() {{
.reg .pred p; .reg .b32 r, r1; .reg .u32 u; .reg .s32 s; .reg .f32 f, f1; .reg .b16 h, h1; .reg .u16 v; .reg .f16 q; .reg .b64 d, d1; .reg .b128 w, w1;
{}
ret; }}
"""
LOAD = "cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes {}, [d, {{r}}], {};"
LEGAL = [
    "fma.rn.bf16 {h, h1}, {h1, h}, {h1, 1}, h;",
    "fma.rn.bf16 h, {h, h1, h1, h}, {v, h}, h;",
    "fma.rn.bf16 {_, h}, h, h1, {1.0, h};",
    "fma.rn.bf16x2 {r, r1}, {s, u}, r1, {1, r};",
    "cvt.rn.bf16.f32 {h, h1}, f;",
    "cvt.f32.bf16 f, {h, h1};",
    "setp.lt.bf16 p, {h, h1}, h;",
    "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {f, f1, f, f1}, {s, u}, {r}, {f, f1, f, f1};",
    "wmma.load.c.sync.aligned.row.m16n16k16.f32 {u, s, u, u, u, u, u, u}, [d];",
    LOAD.format("sh[16]", "[r1]"),
    LOAD.format("sh", "sh[8]"),
    LOAD.format("sh+16", "[sh]"),
    LOAD.format("r", "r1"),
    LOAD.format("r+16", "d"),
    "cp.async.bulk.tensor.1d.global.shared::cta.bulk_group [d, {r}], sh[16];",
    "cp.reduce.async.bulk.tensor.1d.global.shared::cta.add.bulk_group [d, {r}], sh[16];",
    "clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 r, {w};",
    "clusterlaunchcontrol.query_cancel.get_first_ctaid::y.b32.b128 f, {w};",
    "mov.b128 w, {w1};",
    "mov.b64 {d}, d1;",
    "mov.b32 r, {r1};",
    "mov.b32 {r}, sh;",
    "mov.b32 r, {%tid.x};",
    "mov.b64 d, {%tid.x, %tid.y};",
    "mov.b64 d, {%clock64};",
    "mov.b64 d, {1.5, r};",
    "mov.b128 w, {1.5, 2.5};",
    "mov.b32 r, {0f3f800000};",
    "st.global.u32 [gl], {d};",
]
MISMATCH = "Arguments mismatch for instruction '{}'"
SPACE = "State space mismatch between instruction and address in instruction 'cp.async.bulk.tensor'"
ILLEGAL = [
    ("bmsk.clamp.b32 f, r, r1;", [MISMATCH.format("bmsk")]),
    ("fma.rn.bf16 h, {q}, h, h;", [MISMATCH.format("fma")]),
    ("fma.rn.bf16 h, {1, 2}, h, h;", [MISMATCH.format("fma")]),
    ("fma.rn.bf16 h, {r, r1}, h, h;", [MISMATCH.format("fma")]),
    ("fma.rn.bf16x2 r, {h, h1}, r, r;", [MISMATCH.format("fma")]),
    ("fma.rn.bf16 h, {h, h1, h}, h, h;", ["Illegal vector size: 3"]),
    ("fma.rn.bf16 {h, 1}, h, h, h;", ["Result register required for instruction 'fma'"]),
    ("fma.rn.bf16 h, {_, h}, h, h;", ["Sink '_' not allowed as a source operand"]),
    (
        "fma.rn.bf16 {_}, h, h, h;",
        ["Unable to infer type of vector elements (assuming .b8)", MISMATCH.format("fma")],
    ),
    ("ex2.approx.ftz.bf16x2 r, {r, r1};", [MISMATCH.format("mov")]),
    ("cvt.rna.tf32.f32 {r}, f;", [MISMATCH.format("cvt")]),
    ("fma.rn.f16 h, {h, h1}, h, h;", ["Vector operand is not allowed for instruction 'fma'"]),
    (
        "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {f, f1, f, f1}, {u, u}, {r}, {f, f1, f, f1};",
        [MISMATCH.format("mma")],
    ),
    (LOAD.format("gl[16]", "[r1]"), [SPACE]),
    (LOAD.format("sh[16]", "gl[8]"), [SPACE]),
    (LOAD.format("16", "[r1]"), ["Immediate addresses allowed only for .local state space"]),
    (LOAD.format("{r}", "[r1]"), ["Vector operand is not allowed for instruction 'cp.async.bulk.tensor'"]),
    (LOAD.format("[sh]", "%tid.x"), ["Special register argument not allowed for instruction 'cp.async.bulk.tensor'"]),
    (LOAD.format("k", "[sh]"), ["Illegal operand type to instruction 'cp.async.bulk.tensor'"]),
    (LOAD.format("[sh]", "-r"), ["Operand negation not allowed for instruction 'cp.async.bulk.tensor'"]),
    (
        "clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 p, {w};",
        ["Vector operand is not allowed for instruction 'clusterlaunchcontrol.query_cancel'"],
    ),
    (
        "clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {r, r, r, r}, {w};",
        ["Argument vector size mismatch for instruction 'clusterlaunchcontrol.query_cancel'"],
    ),
    (
        "clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 {r}, w;",
        ["Arguments mismatch for instruction 'clusterlaunchcontrol.query_cancel'"],
    ),
    (
        "clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 d, w;",
        ["Arguments mismatch for instruction 'clusterlaunchcontrol.query_cancel'"],
    ),
    (
        "clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 r, {d};",
        ["Arguments mismatch for instruction 'clusterlaunchcontrol.query_cancel'"],
    ),
    (
        "mov.b32 {h, h1}, {h1, h};",
        ["Illegal vector-vector operands for vector-scalar or scalar-vector mov instruction"],
    ),
    ("mov.b64 {r, r1}, {d};", ["Illegal vector-vector operands for vector-scalar or scalar-vector mov instruction"]),
    ("mov.b32 {5, h}, r;", ["Result register required for instruction 'mov'"]),
    ("mov.b32 r, {h};", ["Arguments mismatch for instruction 'mov'"]),
    ("mov.b64 d, {1.5, 2.5};", ["Arguments mismatch for instruction 'mov'"]),
    (
        "mov.pred {p}, p;",
        ["Vector operand is not allowed for instruction 'mov'", "Argument vector size mismatch for instruction 'mov'"],
    ),
    (
        "atom.global.add.u32 r, [gl], {r1};",
        [
            "Vector is not expected for argument 2 of instruction 'atom'",
            "Vector operand is not allowed for instruction 'atom'",
        ],
    ),
    ("atom.global.add.u32 r, [gl], {d};", ["Arguments mismatch for instruction 'atom'"]),
    (
        "atom.global.exch.b64 {d}, [gl], {d1};",
        [
            "Vector is not expected for argument 2 of instruction 'atom'",
            "Vector is not expected for argument 0 of instruction 'atom'",
            "Vector operand is not allowed for instruction 'atom'",
            "Vector operand is not allowed for instruction 'atom'",
        ],
    ),
    ("atom.global.cas.b32 r, [gl], r1, {r1};", ["Vector operand is not allowed for instruction 'atom'"]),
    ("atom.global.add.f32 f, [gl], {f1};", ["Vector is not expected for argument 2 of instruction 'atom'"]),
    (
        "red.global.add.u32 [gl], {r1};",
        [
            "Vector is not expected for argument 1 of instruction 'red'",
            "Vector operand is not allowed for instruction 'red'",
        ],
    ),
    (
        "red.global.add.u32 [gl], {r, r1};",
        [
            "Vector is not expected for argument 1 of instruction 'red'",
            "Vector operand is not allowed for instruction 'red'",
        ],
    ),
    (
        "multimem.ld_reduce.relaxed.sys.global.add.u32 {r}, [d];",
        ["Vector operand is not allowed for instruction 'multimem.ld_reduce'"],
    ),
    ("multimem.st.relaxed.sys.global.u32 [d], {r};", ["Vector operand is not allowed for instruction 'multimem.st'"]),
    (
        "ld.global.u32 {_}, [gl];",
        ["Unable to infer type of vector elements (assuming .b8)", "Arguments mismatch for instruction 'ld'"],
    ),
]


def errors(line: str) -> list[str]:
    """The errors of a program of this line."""
    try:
        orias.compile(TEXT.format(line), arch="sm_100a")
    except orias.CompileError as error:
        return [d.message for d in error.diagnostics]
    return []


@pytest.mark.parametrize("line", LEGAL)
def test_legal(line: str) -> None:
    assert errors(line) == []


@pytest.mark.parametrize(("line", "messages"), ILLEGAL)
def test_illegal(line: str, messages: list[str]) -> None:
    assert errors(line) == messages


@pytest.mark.parametrize(
    ("operand", "address"), [("sh[16]", "[sh+16]"), ("sh", "[sh]"), ("sh+16", "[sh+16]"), ("r1", "[r1]"), ("d", "[d]")]
)
def test_variables_and_registers_as_addresses(operand: str, address: str) -> None:
    code = [orias.compile(TEXT.format(LOAD.format(o, "[sh]")), arch="sm_100a").data for o in (operand, address)]
    assert code[0] == code[1]
