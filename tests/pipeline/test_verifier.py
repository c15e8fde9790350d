"""Each rule of the verifier: a sound function, and one change that breaks it."""

import pytest

from orias.ori.text import parse
from orias.ori.verify import verify

SOUND = """\
.func k sm_90 entry ssa
b0: -> b2 b1
  v256:R = S2R SR_TID.X
  v257:P, PT = ISETP.GE.AND v256, 0x5, PT
  v258:R2 = copy c[0x0][0x210]
  @v257 BRA
b1: -> b2
  v259:R = IADD3 v256, 0x1, RZ
b2: ; preds b0 b1
  v260:R = phi v256, v259
  STG.E -, v258, URZ, 0x0, v260
  EXIT
"""
ALLOCATED = """\
.func k sm_90 entry allocated
b0:
  R0 = S2R SR_TID.X
  STS -, R0, URZ, 0x0, R0
  EXIT
"""


def test_sound() -> None:
    assert verify(parse(SOUND)) == verify(parse(ALLOCATED)) == []


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("  STG.E", "  v256:R = MOV RZ\n  STG.E", "v256 is defined twice"),
        ("0x0, v260", "0x0, v259", "v259 does not dominate this use"),
        ("v259:R = IADD3 v256, 0x1, RZ", "v259:R = IADD3 v259, 0x1, RZ", "v259 does not dominate this use"),
        ("phi v256, v259", "phi v259, v256", "v259 does not dominate this use"),
        ("phi v256, v259", "phi v256", "phi with 1 sources for 2 predecessors"),
        ("  v260:R = phi v256, v259\n", "  NOP\n  v260:R = phi v256, v259\n", "phi is not at the head of the block"),
        ("v260:R = phi", "@v257 v260:R = phi", "guarded phi"),
        ("v259:R = IADD3 v256, 0x1, RZ", "v259:R = IADD3 v256.1, 0x1, RZ", "lane v256.1 outside a register of 1 words"),
        ("v259:R = IADD3 v256, 0x1, RZ", "v259:R = IADD3 v256, 0x1, RZ old v256", "old value on an unguarded"),
        ("v259:R = IADD3", "@v257 v259:R, v261:P = IADD3", "guarded instruction with several results"),
        ("v259:R = IADD3 v256, 0x1, RZ", "@v257 v259:R = IADD3 v256, 0x1, RZ old v257", "old value in another file"),
        ("@v257 BRA", "@v256 BRA", "guard is not a predicate"),
        ("-, v258, URZ, 0x0, v260", "-, v258, URZ", "incomplete address group"),
        ("-, v258, URZ", "-, v257, URZ", "address base v257 is not an R register"),
        ("v259:R = IADD3", "v259:R, 0x3 = IADD3", "result 0x3 is not a register"),
        ("  @v257 BRA\n", "", "falls through but has 2 successors"),
        ("  EXIT\n", "  EXIT\n  NOP\n", "a terminator that is not last"),
        ("b2: ; preds", "b2: -> b1 ; preds", "EXIT with successors"),
        ("b1: -> b2", "b1: -> b0", "the entry b0 has predecessors"),
    ],
)
def test_rules_of_ssa(old: str, new: str, message: str) -> None:
    assert SOUND.count(old) == 1
    text = SOUND.replace(old, new)
    if message.startswith("the entry"):
        text = text.replace(" ; preds b0 b1", "").replace("phi v256, v259", "phi v256")
    faults = verify(parse(text))
    assert any(message in f for f in faults), faults


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("R0 = S2R", "v256:R = S2R", "virtual register v256 after allocation"),
        ("0x0, R0", "0x0, R0.1", "lane on physical register R0.1"),
        ("STS -, R0", "STS -, 0x0", "address base 0x0 is not an R register"),
        ("  EXIT", "b1:\n  R0 = phi R0\n  EXIT", "phi outside SSA"),
    ],
)
def test_rules_after_allocation(old: str, new: str, message: str) -> None:
    assert ALLOCATED.count(old) == 1
    text = ALLOCATED.replace(old, new)
    if "b1:" in new:
        text = text.replace("b0:", "b0: -> b1")
    assert any(message in f for f in verify(parse(text)))


def test_a_constant_address_is_sound_before_allocation() -> None:
    assert verify(parse(SOUND.replace("-, v258, URZ", "-, 0x0, URZ"))) == []


def test_the_neighbourhood_is_shown() -> None:
    (fault,) = verify(parse(SOUND.replace("0x0, v260", "0x0, v259")))
    assert fault.splitlines() == [
        "k b2[1]: v259 does not dominate this use",
        "    v260:R = phi v256, v259",
        "  > STG.E -, v258, URZ, 0x0, v259",
        "    EXIT",
    ]
