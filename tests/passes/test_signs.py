"""A sign that no instruction has is applied before it only where the operand's value is all that counts."""

import pytest

from orias.diag import Unsupported
from orias.ori.text import parse
from orias.passes.legalize import legalize

TEXT = """.func k sm_80 entry ssa
b0:
  v256:R = S2R SR_TID.X
  v257:R = S2R SR_TID.Y
  {}
  EXIT
"""


@pytest.mark.parametrize(
    "line",
    [
        "v258:R, v259:P = IADD3 -v256, -v257, -c[0x0][0x160]",
        "v258:R, v259:P = LEA.HI v256, v257, -v256, 0x3",
        "v258:R, v259:P = IMAD.HI.U32 -v256, v257, RZ",
        "v258:R = IMAD.HI.U32 v256, v257, ~c[0x0][0x160]",
    ],
)
def test_refused(line: str) -> None:
    """A carry tells the negative of a zero from a negated zero; the addend of IMAD.HI has two words."""
    with pytest.raises(Unsupported, match="no form"):
        legalize(parse(TEXT.format(line)))


def test_applied() -> None:
    fn = parse(TEXT.format("v258:R = IMAD v256, -v257, RZ"))
    legalize(fn)
    assert [i.op.name for i in fn.insts()] == ["S2R", "S2R", "IADD3", "IMAD", "EXIT"]
