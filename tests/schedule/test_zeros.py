"""Moves of zero: what is zero already is not cleared again, neighbours are cleared together."""

from orias.isa.op import op
from orias.ori.ir import Func
from orias.ori.text import dump, parse
from orias.schedule.zero_moves import clear_once
from orias.timing.latency import latency

HEAD = ".func k sm_80 entry allocated\n"


def cleared(text: str) -> list[str]:
    fn: Func = parse(HEAD + text)
    clear_once(fn)
    return [line.strip().split(" ;")[0] for line in dump(fn).splitlines()[1:]]


def test_pair() -> None:
    assert cleared("b0:\n  R4 = MOV RZ\n  R5 = MOV 0x0\n  EXIT\n") == ["b0:", "R4 = CS2R SRZ", "EXIT"]


def test_pair_is_aligned() -> None:
    assert cleared("b0:\n  R5 = MOV RZ\n  R6 = MOV RZ\n  EXIT\n") == ["b0:", "R5 = MOV RZ", "R6 = MOV RZ", "EXIT"]


def test_second_half_in_use() -> None:
    text = "b0:\n  R4 = MOV RZ\n  R6 = IADD3 R5, 0x1, RZ\n  R5 = MOV RZ\n  EXIT\n"
    assert "CS2R" not in " ".join(cleared(text))


def test_zero_on_every_path() -> None:
    text = "b0: -> b1 b2\n  R4 = MOV RZ\n  @P0 BRA b2\nb1: -> b2\n  R7 = MOV RZ\nb2:\n  R4 = MOV RZ\n  R7 = MOV RZ\n  EXIT\n"
    assert cleared(text)[-3:] == ["b2:", "R7 = MOV RZ", "EXIT"]


def test_changed_in_a_loop() -> None:
    text = (
        "b0: -> b1\n  R4 = MOV RZ\nb1: -> b2 b1\n  R4 = MOV RZ\n  R4 = IADD3 R4, 0x1, RZ\n  @P0 BRA b1\nb2:\n  EXIT\n"
    )
    assert cleared(text).count("R4 = MOV RZ") == 2


def test_zero_behind_a_loop_that_does_not_change_it() -> None:
    text = "b0: -> b1\n  R0 = MOV RZ\nb1: -> b2 b1\n  @P0 BRA b1\nb2:\n  R0 = MOV RZ\n  EXIT\n"
    assert cleared(text).count("R0 = MOV RZ") == 1


def test_nothing_but_moves() -> None:
    assert cleared("b0: -> b1\n  R4 = MOV RZ\n  R5 = MOV RZ\nb1: -> b1\n")[:2] == ["b0: -> b1", "R4 = CS2R SRZ"]


def test_pair_waits_for_an_earlier_write() -> None:
    """A self check of spmv found CS2R one cycle short after an IADD3 of one of its registers (sm_90)."""
    lat = latency(90)
    assert lat.waw(op("IADD3"), op("CS2R"), 13) >= 6
