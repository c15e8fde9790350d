"""The list of smallest distances between operations that follow each other."""

from pathlib import Path

from tests.check.test_rules import cubin
from tools.latency.neighbours import compare, measure, read


def test_pairs_of_a_kernel(tmp_path: Path) -> None:
    """Cycles are sums of stall counts; nothing counts across a branch, but from the branch on."""
    text = cubin(
        "LOP3.LUT R1, R2, R3, RZ, 0x3c, !PT | B------ R- W- - S02",
        "IMAD R4, R5, R6, RZ | B------ R- W- - S01",
        "LOP3.LUT R7, R8, R9, RZ, 0x3c, !PT | B------ R- W- - S01",
        "BAR.SYNC.DEFER_BLOCKING 0x0 | B------ R- W- - S06",
    )  # fmt: skip
    (tmp_path / "k.cubin").write_bytes(text)
    assert measure(tmp_path / "out.csv", [str(tmp_path / "k.cubin")]) == 0
    rows = read(tmp_path / "out.csv")
    assert rows["LOP3.LUT", "LOP3.LUT"] == (3, 1)
    assert rows["LOP3.LUT", "BAR.SYNC.DEFER_BLOCKING"] == (1, 2)
    assert rows["EXIT", "BRA"] == (5, 1)
    assert ("LOP3.LUT", "BRA") not in rows


def test_what_is_closer() -> None:
    ours = {("A", "B"): (1, 3), ("A", "C"): (2, 9), ("D", "E"): (1, 1)}
    theirs = {("A", "B"): (2, 40), ("A", "C"): (2, 40), ("D", "E"): (4, 29)}
    assert [line.split() for line in compare(ours, theirs, 30)] == [["A", "B", "1", "2", "of", "40"]]
    assert len(compare(ours, theirs, 29)) == 2
