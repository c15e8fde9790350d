"""Optional operands of the table: what a line stands for, and that folding and unfolding are inverse."""

import sys
from pathlib import Path

import pytest

import orias
from orias.isa.choices import Choices, layouts
from orias.isa.notation import TableError
from orias.isa.op import F_WRITES_B, op
from orias.isa.operations import facts
from orias.isa.rawtable import NOT_FORMS, RawTable, read_entries, read_file

sys.path.insert(0, str(Path(__file__).parents[2] / "tools" / "isa"))

from fold import Folded, Names, fold, from_text

CHOICES = """
?[Ra+Off] = 40+24=0: [Ra] | 24+8=0xff: [Addr] | [Ra+Off]
?^Pu = 81+3=7: | ^Pu
"""


def test_layouts() -> None:
    got = layouts("LDG.<A/B 73> ?^Pu, ^Rd, ?[Ra+Off]", Choices(CHOICES))
    assert [x.template for x in got] == [
        "LDG.<A/B 73> ^Rd, [Ra]",
        "LDG.<A/B 73> ^Rd, [Addr]",
        "LDG.<A/B 73> ^Rd, [Ra+Off]",
        "LDG.<A/B 73> ^Pu, ^Rd, [Ra]",
        "LDG.<A/B 73> ^Pu, ^Rd, [Addr]",
        "LDG.<A/B 73> ^Pu, ^Rd, [Ra+Off]",
    ]
    assert (got[1].mask, got[1].val) == (7 << 81 | 255 << 24, 7 << 81 | 255 << 24)
    assert got[5].nots == [(7 << 81, 7 << 81), (((1 << 24) - 1) << 40, 0), (255 << 24, 255 << 24)]
    with pytest.raises(TableError, match="no choice"):
        layouts("LDG ?^Pv", Choices(""))


def test_a_layout_skips_a_result_before_another_one() -> None:
    got = layouts("IADD3 ^Rd, ?^Pu, ?^Pv, Ra", Choices(CHOICES + "?^Pv = 84+3=7: | ^Pv\n"))
    assert [(x.template, x.skips) for x in got] == [
        ("IADD3 ^Rd, Ra", ""),
        ("IADD3 ^Rd, ^Pv, Ra", "^Pu"),
        ("IADD3 ^Rd, ^Pu, Ra", ""),
        ("IADD3 ^Rd, ^Pu, ^Pv, Ra", ""),
    ]


ROWS = [
    ("LDG ^Rd, [Ra]", ["when 40+24=0,81+3=7", "bars wr"], 5),
    ("LDG ^Rd, [Addr]", ["when 24+8=0xff,81+3=7", "unless 40+24=0", "bars wr"], 0),
    ("LDG ^Rd, [Ra+Off]", ["when 81+3=7", "unless 24+8=0xff or 40+24=0", "bars wr"], 7),
    ("LDG ^Pu, ^Rd, [Ra]", ["when 40+24=0", "unless 81+3=7", "bars wr"], 0),
    ("LDG ^Pu, ^Rd, [Addr]", ["when 24+8=0xff", "unless 40+24=0 or 81+3=7", "bars wr"], 0),
    ("LDG ^Pu, ^Rd, [Ra+Off]", ["unless 24+8=0xff or 40+24=0 or 81+3=7", "bars wr"], 1),
]


def folded(rows: list[tuple[str, list[str], int]]) -> list[Folded]:
    return fold([from_text(t, n, k, 0) for t, n, k in rows])


def test_folding_multiplies_choices() -> None:
    lines = folded(ROWS)
    names = Names({})
    assert [x.text(names) for x in lines] == [("LDG ?^Pu, ^Rd, ?[Ra+Off]", ["bars wr"], [], [5, 0, 7, 0, 0, 1])]
    assert names.used == {n: t for n, _, t in (x.partition(" = ") for x in CHOICES.split("\n") if x)}


def test_nothing_is_folded_that_means_something_else() -> None:
    # No condition tells the second line from the first.
    assert len(folded([("A ^Rd", ["when 81+3=7"], 1), ("A ^Rd, Ra", ["when 81+3=6"], 1)])) == 2
    # A line between that overlaps both keeps its place.
    between = ("A ^Rd, Rb", ["when 72=1"], 1)
    assert len(folded([("A ^Rd", ["when 81+3=7"], 1), between, ("A ^Rd, Pu", ["unless 81+3=7"], 1)])) == 3
    # Other notes.
    assert len(folded([("A ^Rd", ["when 81+3=7", "bars w"], 1), ("A ^Rd, Pu", ["unless 81+3=7", "bars wr"], 1)])) == 2


def test_headings_index_every_line() -> None:
    for name in ("memory.isa", "integer.isa"):
        assert name not in NOT_FORMS
        for block in read_file(name).removeprefix("# ").split("\n# "):
            head, _, lines = block.partition("\n")
            words = head.split(" ")
            entries = read_entries(lines)
            assert {e.mnemonic for e in entries} == {words[0]}
            assert {f"{e.opcode:04x}" for e in entries} == set(words[1:])


def test_layouts_of_a_line_exclude_each_other() -> None:
    """Every layout of LDG on sm_90 takes its own words only."""
    forms = [f for f in RawTable("sm_90").of_mnemonic("LDG") if not f.alias]
    assert len(forms) > 10
    for f in forms:
        assert not any((v ^ f.val) & m & f.mask or not m & ~f.mask for m, v in f.nots)


def test_facts_of_operations() -> None:
    hfma = facts("HFMA2")
    assert hfma is not None
    assert (hfma.pipe(()), hfma.pipe(("MMA",))) == ("half", "mma")
    r2ur = facts("R2UR")
    assert r2ur is not None
    assert (r2ur.late("sm_80"), r2ur.late("sm_90")) == (3, 0)
    cvt = facts("F2F")
    assert cvt is not None
    assert cvt.words(("BF16", "F64")) == ([], [2])
    assert cvt.words(("F64", "F32")) == ([2], [])
    assert cvt.words(("FTZ", "F32", "F16")) == ([], [])
    assert facts("HMMA") is not None
    assert not op("BMOV").flags & F_WRITES_B
    assert op("BMOV.CLEAR").flags & F_WRITES_B
    assert facts("NOSUCH") is None


@pytest.mark.parametrize("arch", ["sm_80", "sm_86", "sm_87", "sm_89"])
def test_a_descriptor_is_not_shown_if_it_need_not_be(arch: str) -> None:
    """cp.async to a constant address of shared memory: no form that compiler output has taken, as ptxas writes it."""
    ptx = (
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p) { .reg .b64 %rd<2>;"
        " .shared .align 16 .b8 s[1024]; ld.param.u64 %rd1, [p];"
        " cp.async.ca.shared.global [s+512], [%rd1], 16; cp.async.ca.shared.global [s+256], [%rd1+64], 16; ret; }"
    )
    lines = [x for x in orias.compile(ptx, arch=arch).disassemble().splitlines() if "LDGSTS" in x]
    assert len(lines) == 2 and not any("desc" in x for x in lines)
