"""Which conditions exclude each other."""

import pytest

from orias.isa.operand import INV, vreg
from orias.ori.text import parse
from orias.passes.exclusive_conditions import Conditions

_TEXT = """.func k sm_90 entry ssa
b0:
  v256:R = S2R SR_TID.X
  v257:R = S2R SR_TID.Y
  v258:P, PT = ISETP.EQ.AND v257, 0x9, PT
  {0}
  {1}
  EXIT
"""


def excludes(first: str, second: str, invert: bool = False) -> bool:
    """What is said of v260 and v261, or of v260 and not v261."""
    fn = parse(_TEXT.format(first, second))
    made = {vreg(d): d for inst in fn.insts() for d in inst.dst}
    conditions = Conditions(fn)
    a, b = conditions.facts(made[260]), conditions.facts(made[261] ^ (INV if invert else 0))
    forward = any(x.excludes(y) for x in a for y in b)
    assert forward == any(y.excludes(x) for x in a for y in b)
    return forward


@pytest.mark.parametrize(
    ("first", "second", "inverse", "exclusive"),
    [
        ("EQ.AND v256, 0x0, PT", "NE.AND v256, 0x0, PT", False, True),
        ("EQ.AND v256, 0x0, PT", "NE.U32.AND v256, 0x0, PT", False, True),
        ("EQ.AND v256, 0x0, PT", "EQ.AND v256, 0x1, PT", False, True),
        ("EQ.AND v256, 0x0, PT", "NE.AND v256, 0x1, PT", False, False),
        ("EQ.AND v256, 0x0, PT", "EQ.AND v257, 0x1, PT", False, False),
        ("EQ.AND v256, 0x0, PT", "EQ.AND v256, 0x0, PT", True, True),
        ("NE.AND v256, 0x0, PT", "EQ.AND v256, 0x1, PT", True, False),
        ("LT.AND v256, v257, PT", "GE.AND v256, v257, PT", False, True),
        ("LT.AND v256, v257, PT", "GE.U32.AND v256, v257, PT", False, False),
        ("LE.AND v256, v257, PT", "GE.AND v256, v257, PT", False, False),
        ("LT.U32.AND v256, 0x8, PT", "GT.U32.AND v256, 0x7, PT", False, True),
        ("LT.U32.AND v256, 0x9, PT", "GT.U32.AND v256, 0x7, PT", False, False),
        ("LT.AND v256, 0x0, PT", "GT.AND v256, 0xffffffff, PT", False, True),
        ("LT.AND v256, 0x1, PT", "GT.AND v256, 0xffffffff, PT", False, False),
        ("GT.U32.AND v256, 0x7, PT", "GE.U32.AND v256, 0x5, PT", True, True),
        ("EQ.AND v256, 0x0, v258", "NE.AND v257, 0x9, PT", False, True),
        ("EQ.AND v256, 0x0, v258", "NE.AND v256, 0x0, !v258", False, True),
        ("EQ.OR v256, 0x0, v258", "NE.AND v256, 0x0, PT", False, False),
        ("EQ.OR v256, 0x0, !PT", "NE.AND v256, 0x0, PT", False, True),
        ("EQ.AND v256, 0x0, PT", "EQ.OR v256, 0x0, v258", True, True),
        ("NE.AND v256, 0x0, PT", "NE.AND v256, 0x0, v258", True, False),
        ("EQ.XOR v256, 0x0, v258", "NE.AND v256, 0x0, PT", False, False),
    ],
)
def test_comparisons(first: str, second: str, inverse: bool, exclusive: bool) -> None:
    assert excludes(f"v260:P, PT = ISETP.{first}", f"v261:P, PT = ISETP.{second}", inverse) == exclusive


@pytest.mark.parametrize(
    ("first", "second", "inverse", "exclusive"),
    [
        ("copy !v258", "copy v258", False, True),
        ("copy v258", "copy v258", False, False),
        ("PLOP3.LUT v258, PT, PT, 0x7f, 0x0", "copy v258", False, True),
        ("PLOP3.LUT v258, v259, PT, 0x80, 0x0", "copy v259", True, True),
        ("PLOP3.LUT v258, v259, PT, 0x80, 0x0", "copy v258", True, True),
        ("PLOP3.LUT v258, v259, PT, 0xa8, 0x0", "copy v258", True, False),
        ("copy v258", "PLOP3.LUT v258, v259, PT, 0xa8, 0x0", True, True),
    ],
)
def test_logic(first: str, second: str, inverse: bool, exclusive: bool) -> None:
    second_result = "v261:P, PT" if second.startswith("PLOP3") else "v261:P"
    first_result = "v260:P, PT" if first.startswith("PLOP3") else "v260:P"
    other = "v259:P, PT = ISETP.GT.AND v256, v257, PT\n  "
    assert excludes(f"{other}{first_result} = {first}", f"{second_result} = {second}", inverse) == exclusive
