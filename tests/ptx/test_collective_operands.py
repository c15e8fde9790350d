"""Operands of instructions in whose place ptxas puts text of its own (collectives, video, policies, wmma of halves), with the verdicts and first messages of ptxas 13.0.88."""

import pytest

import orias

TEXT = """.version 9.0
.target {}
.address_size 64
.global .align 16 .b8 gl[1024];
.func f {{ ret; }}
.visible .entry k() {{
.reg .pred p, q; .reg .b32 r, r1, r2, u; .reg .u32 n; .reg .s32 s; .reg .b64 b;
{}
ret; }}
"""
PLUS = "fatal 8: Parsing error near '+': syntax error"
END = "fatal 8: Parsing error near ';': syntax error"
SPACE = "error 8: Call argument 'f' has illegal state space"
SUMS = [
    "barrier.sync r, r1+4;",
    "barrier.cta.sync r+4;",
    "barrier.arrive r, r1+4;",
    "barrier.sync 0, gl+4;",
    "barrier.red.popc.u32 r, 1, r1+4, p;",
    "barrier.red.and.pred q, r1+4, p;",
    "shfl.sync.bfly.b32 r|p, r1+4, 1, 31, -1;",
    "shfl.sync.bfly.b32 r, r1, 1, 31, gl+4;",
    "vote.sync.ballot.b32 r, p, r1+4;",
    "match.any.sync.b32 r, r1, r2+4;",
    "bar.warp.sync r+4;",
]
LEGAL = ["barrier.sync.aligned r+4;", "barrier.sync 1+1, 64;", "bar.sync r+4;", "vmad.u32.u32.u32 r, r1, r2, u+4;"]
VIDEO = [
    "vmad.u32.u32.u32 r, r1+4, r1, r2;",
    "vmad.u32.u32.u32.shr7 r, r2, gl+4, r2;",
    "vadd.u32.u32.u32.add r, r1, r2+4, u;",
    "vset.u32.u32.eq.add r, r1+4, r2, u;",
    "vshl.u32.u32.u32.clamp r, r1+4, r2;",
]
FUNCTIONS = [
    "shfl.sync.bfly.b32 r, f, 1, 31, -1;",
    "shfl.sync.bfly.b32 r, r1, 1, f, -1;",
    "match.any.sync.b32 r, f, -1;",
]


def errors(line: str, arch: str, written_for: str = "") -> list[str]:
    """The errors of a program of this line, compiled for `arch`."""
    try:
        orias.compile(TEXT.format(written_for or arch, line), arch=arch)
    except orias.CompileError as error:
        return [f"{d.severity} {d.line}: {d.message}" for d in error.diagnostics if d.severity in ("error", "fatal")]
    return []


@pytest.mark.parametrize("line", SUMS)
def test_sums_in_collectives(line: str) -> None:
    assert errors(line, "sm_89") == [PLUS]
    assert errors(line, "sm_90", written_for="sm_75") == []


@pytest.mark.parametrize("line", LEGAL)
def test_legal_sums(line: str) -> None:
    assert errors(line, "sm_75") == []


@pytest.mark.parametrize("line", VIDEO)
def test_sums_in_video_instructions(line: str) -> None:
    assert errors(line, "sm_75") == [END]
    assert errors(line, "sm_90") == [END]


@pytest.mark.parametrize("line", FUNCTIONS)
def test_functions_in_collectives(line: str) -> None:
    found = errors(line, "sm_80")
    assert found[0] == SPACE
    assert len(found) == 3
    assert errors(line, "sm_90") == []
    assert len(errors(line, "sm_75")) == (6 if line.startswith("match") else 3)


def test_function_in_redux() -> None:
    assert errors("redux.sync.add.u32 r, f, r2;", "sm_90") == ["error 8: Arguments mismatch for instruction 'redux'"]


SIZES = "createpolicy.range.global.L2::evict_last.b64 b, [gl], {};"
PRODUCT = "wmma.mma.sync.aligned.row.col.{} {{{}}}, {{{}}}, {{{}}}, {{{}}};"
WORDS = "r,r,r,r,r,r,r,r"
OF_PRODUCT = "error 8: Arguments mismatch for instruction '_mma'"
PARTS = [
    ("m16n16k16.f32.f32", WORDS, "s,s,r,r,r,r,r,r", WORDS, WORDS, 2, 0),
    ("m16n16k16.f32.f32", WORDS, "n,n,n,n,r,r,r,r", WORDS, WORDS, 4, 2),
    ("m16n16k16.f32.f32", WORDS, WORDS, "r,n,r,r,r,r,r,r", WORDS, 1, 0),
    ("m16n16k16.f32.f32", WORDS, WORDS, "r,r,n,n,r,r,r,r", WORDS, 2, 1),
    ("m16n16k16.f32.f32", WORDS, "s,n,r,r,r,r,r,r", WORDS, WORDS, 0, 0),
    ("m16n16k16.f32.f32", WORDS, "r,r,r,r,n,n,n,n", WORDS, WORDS, 0, 0),
    ("m32n8k16.f32.f32", WORDS, "r,r,r,r,n,n,n,n", "n,r,r,r,r,r,r,r", WORDS, 3, 1),
    ("m8n32k16.f16.f16", "r,r,r,r", "r,n,r,r,r,r,r,r", WORDS, "r,r,r,r", 2, 0),
    ("m8n32k16.f16.f16", "r,r,r,r", WORDS, "r,r,r,r,n,n,n,n", "r,r,r,r", 2, 1),
    ("m16n16k16.f32.f32", "r,r,r,r,n,n,n,n", WORDS, WORDS, WORDS, 2, 1),
    ("m16n16k16.f32.f32", WORDS, WORDS, WORDS, "r,r,r,r,n,n,n,n", 1, 1),
    ("m16n16k16.f16.f32", "r,r,n,n", WORDS, WORDS, WORDS, 0, 0),
]


def test_sums_in_sizes_of_policies() -> None:
    assert errors(SIZES.format("r+4, r1"), "sm_90") == [PLUS]
    assert errors(SIZES.format("r, gl+4"), "sm_100a") == [PLUS]
    assert errors(SIZES.format("r, 4+4"), "sm_80") == []


@pytest.mark.parametrize(("opcode", "d", "a", "b", "c", "small", "large"), PARTS)
def test_parts_of_factors(opcode: str, d: str, a: str, b: str, c: str, small: int, large: int) -> None:
    line = PRODUCT.format(opcode, d, a, b, c)
    assert errors(line, "sm_75") == [OF_PRODUCT] * small
    assert errors(line, "sm_80") == [OF_PRODUCT] * large
    assert errors(line, "sm_120a", written_for="sm_75") == [OF_PRODUCT] * large
