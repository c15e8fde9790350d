"""The Pygments lexers: nothing is an error token, and the parts of an instruction get their own types."""

import pytest

pytest.importorskip("pygments", reason="Pygments is not installed")

from pygments.token import Comment, Error, Keyword, Name, Number, Text

from orias.tools.lexers import PtxLexer, SassLexer

SASS = """\
\t.target\tsm_90

\t.section\t.text.k,"ax",@progbits
        .global         k
k:
.L_x_0:
\t//## File "k.cu", line 4
        /*0010*/              @!P0 IADD3.X R4, R5.reuse, -0x1, RZ, P1, !PT ; /* B0----- R- W1 Y S04 */
        /*0020*/                   LDG.E.64 R2, desc[UR4][R2.64+0x10] ;
        /*0030*/                   FMUL R2, R3, 1.5e-05 ;
        /*0040*/                   S2R R0, SR_TID.X ;
        /*0050*/                   BRX R2 -0x60      (*"BRANCH_TARGETS .L_x_0"*);
        /*0060*/                   BRA `(.L_x_0) ;
"""
PTX = """\
.version 8.0
.target sm_90
.address_size 64
/* a comment */
.visible .entry k(.param .u64 p) {
  .reg .pred %p<2>; .reg .f32 %f<4>;
  L: @!%p1 bra L;  // loop
  ld.global.v4.f32 {%f0, %f1, %f2, %f3}, [%rd1+16];
  add.rn.f32 %f1, %f1, 0f3F800000;
  mov.u32 %r1, %tid.x;
  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1], 16, [%r2];
}
"""


def types(lexer: object, text: str) -> dict[str, object]:
    found = list(lexer.get_tokens(text))  # type: ignore[attr-defined]
    assert "".join(v for _, v in found) == text
    assert [v for t, v in found if t in Error or (t is Text and v.strip())] == []
    return {v: t for t, v in reversed(found)}


def test_sass() -> None:
    t = types(SassLexer(), SASS)
    assert t["IADD3"] is Keyword
    assert t[".X"] is Name.Decorator
    assert t["R5"] is Name.Variable
    assert t["UR4"] is Name.Variable.Global
    assert t["P1"] is Name.Variable.Class
    assert t["-0x1"] is Number.Hex
    assert t["1.5e-05"] is Number.Float
    assert t["SR_TID.X"] is Name.Constant
    assert t["BRA"] is Keyword.Reserved
    assert t["`(.L_x_0)"] is Name.Label
    assert t["/*0010*/"] is Comment.Special
    assert t[".section"] is Keyword.Namespace


def test_ptx() -> None:
    t = types(PtxLexer(), PTX)
    assert t["add"] is Keyword
    assert t[".entry"] is Keyword.Declaration
    assert t[".f32"] is Keyword.Type
    assert t["%f1"] is Name.Variable
    assert t["%tid.x"] is Name.Builtin
    assert t["0f3F800000"] is Number.Float
    assert t["L"] is Name.Label
    assert t[".shared::cluster"] is Name.Decorator


def test_odd_ptx_has_no_unknown_text() -> None:
    from tests.cubin import ptx_cases

    sources = [v for v in vars(ptx_cases).values() if isinstance(v, str) and ".entry" in v]
    assert len(sources) > 5
    for source in sources:
        assert [v for t, v in PtxLexer().get_tokens(source) if t in Error] == []
