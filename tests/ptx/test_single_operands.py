"""Operands of single instructions that are easily taken or refused by mistake, with the verdicts of ptxas 13.0.88."""

import pytest

import orias

TEXT = """.version {}
.target {}
.address_size 64
.visible .entry k() {{
.reg .pred p, q; .reg .b32 r, r1, r2; .reg .b64 d, d1; .reg .f32 f; .shared .b32 sh[4];
{}
ret; }}
"""
INDEX = "Array index in the '{}' instruction has unexpected type. Expecting type .u32"
COPY = "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
REDUCTION = "cp.reduce.async.bulk.tensor"
LEGAL = [
    f"{REDUCTION}.1d.add.global.shared::cta.bulk_group [d, {{r}}], [d1];",
    "tcgen05.mma.cta_group::1.kind::f16 [r], d, d1, r1, !p;",
    "div.u32 r, r1, r2+4;",
    "div.u64 d, d1, 5;",
    "tex.a1d.v4.f32.f32 {f, f, f, f}, [d, {r, f}];",
    "tex.a1d.v4.f32.f32 {f, f, f, f}, [d, {1, f}];",
    "tex.2dms.v4.f32.s32 {f, f, f, f}, [d, {f, r, r, r}];",
    f"{COPY} [r], [d, {{r, r}}], [r1];",
    "lop3.b32 _, r, r1, r2, 16;",
    "lop3.or.b32 _|p, r, r1, r2, 16, q;",
    "st.async.u32 [d], r;",
    "st.async.f32 [d], r;",
    "st.async.b32 [d], f;",
    "st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.b64 [r], {d, d}, [r1];",
    "movmatrix.sync.aligned.m8n8.trans.b16 r, r1;",
]
REFUSED = [
    ("istypep.texref p, sh+4;", "Arguments mismatch for instruction 'istypep'"),
    ("createpolicy.cvt.L2.b64 d, sh+4;", "Arguments mismatch for instruction 'createpolicy.cvt'"),
    ("ld.global.L2::cache_hint.b32 r, [d], sh+8;", "Arguments mismatch for instruction 'ld'"),
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
    ("div.u64 d, d1, d+4;", "Parsing error near '+': syntax error"),
    ("rem.s64 d, d1+4, d;", "Parsing error near '+': syntax error"),
    ("tex.a1d.v4.f32.f32 {f, f, f, f}, [d, {f, f}];", INDEX.format("tex")),
    ("tex.a1d.v4.f32.f32 {f, f, f, f}, [d, {1.0, f}];", INDEX.format("tex")),
    ("tex.level.a2d.v4.f32.f32 {f, f, f, f}, [d, {f, f, f, f}], f;", INDEX.format("tex.level")),
    ("tld4.r.a2d.v4.f32.f32 {f, f, f, f}, [d, {f, f, f, f}];", INDEX.format("tld4")),
    ("tex.a2dms.v4.f32.s32 {f, f, f, f}, [d, {r, f, r, r}];", INDEX.format("tex")),
    ("tcgen05.ld.sync.aligned.32x32b.x1.b32 {r}, [f];", "Arguments mismatch for instruction 'add'"),
    ("tcgen05.st.sync.aligned.32x32b.x1.b32 [f], {r};", "Arguments mismatch for instruction 'add'"),
    (
        "tcgen05.mma.cta_group::1.kind::f16 [r], d, d1, -r1, p;",
        "Operand negation not allowed for instruction 'tcgen05.mma'",
    ),
    (
        f"{REDUCTION}.add.global.shared::cta.bulk_group [d, {{r}}], [d1];",
        f".dim modifier required for instruction '{REDUCTION}'",
    ),
    (
        f"{REDUCTION}.1d.add.global.shared::cta [d, {{r}}], [d1];",
        f".completion_mechanism modifier required for instruction '{REDUCTION}'",
    ),
    (f"{COPY} [r], [d, {{r, r}}], {{r}};", "Vector operand is not allowed for instruction 'cp.async.bulk.tensor'"),
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
