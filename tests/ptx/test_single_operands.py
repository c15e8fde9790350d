"""Operands of single instructions that are easily taken or refused by mistake, with the verdicts of ptxas 13.0.88."""

import pytest

import orias

TEXT = """.version {}
.target {}
.address_size 64
.visible .entry k() {{
.reg .pred p, q; .reg .b32 r, r1, r2; .reg .b64 d, d1; .reg .f32 f;
{}
ret; }}
"""
LEGAL = [
    "lop3.b32 _, r, r1, r2, 16;",
    "lop3.or.b32 _|p, r, r1, r2, 16, q;",
    "st.async.u32 [d], r;",
    "st.async.f32 [d], r;",
    "st.async.b32 [d], f;",
    "st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.b64 [r], {d, d}, [r1];",
    "movmatrix.sync.aligned.m8n8.trans.b16 r, r1;",
]
REFUSED = [
    ("lop3.and.b32 _, r, r1, r2, 16, q;", "Predicate output expected for instruction 'lop3'"),
    ("lop3.b32 _|p, r, r1, r2, 16;", "Predicate output not allowed for instruction 'lop3'"),
    ("lop3.b32 r|p, r, r1, r2, 16;", "Predicate output not allowed for instruction 'lop3'"),
    ("add.u32 _, r, r1;", "Result discard mode is not allowed for instruction 'add'"),
    ("st.async.u32 [d], d1;", "Arguments mismatch for instruction 'st.async'"),
    (
        "st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [r], d, [r1];",
        "Arguments mismatch for instruction 'st.async'",
    ),
    ("movmatrix.sync.aligned.m8n8.trans.b16 r, 5;", "Arguments mismatch for instruction 'movmatrix'"),
]
BARRIERS = [
    ("barrier.sync r;", "barrier"),
    ("barrier.sync.aligned 0;", "barrier"),
    ("barrier.red.or.pred p, r, p;", "barrier.red"),
    ("barrier.arrive r, 64;", "barrier.arrive"),
    ("barrier.cta.sync r;", "barrier.cta"),
]


def refused(line: str, written_for: str, arch: str, version: str = "9.0") -> str:
    """The first error of a program of this line."""
    with pytest.raises(orias.CompileError) as caught:
        orias.compile(TEXT.format(version, written_for, line), arch=arch)
    return next(d.message for d in caught.value.diagnostics if d.severity in ("error", "fatal"))


@pytest.mark.parametrize("line", LEGAL)
def test_legal(line: str) -> None:
    orias.compile(TEXT.format("9.0", "sm_100a", line), arch="sm_100a")


@pytest.mark.parametrize("line, message", REFUSED)
def test_refused(line: str, message: str) -> None:
    assert refused(line, "sm_100a", "sm_100a") == message


@pytest.mark.parametrize("version", ["6.5", "8.0"])
@pytest.mark.parametrize("line, name", BARRIERS)
def test_barriers_of_old_targets(line: str, name: str, version: str) -> None:
    assert refused(line, "sm_20", "sm_89", version) == f"Instruction '{name}' requires .target sm_30 or higher"
    orias.compile(TEXT.format("8.0", "sm_30", line), arch="sm_89")
