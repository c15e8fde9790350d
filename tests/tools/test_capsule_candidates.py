"""Rules for instructions that no cubin of ptxas showed: candidates are found in the table and judged by nvlink; a campaign finds changed code."""

from pathlib import Path

from orias.cubin.capsule.capsule_rules import RULES_PATH, Rules, use_rules
from tests.cubin.test_capsule_writer import SIMPLE, compiled, with_head
from tools.capsules.campaign import Campaign, differences
from tools.capsules.candidates import add_candidates, signature_of, spellings, variants, with_lines
from tools.capsules.heads import heads

TABLE = ["FMNMX R | R R P=7\tsame", "FMNMX R | R U P=7\thead 4117100a", "FADD R | R R\tsame", "EXIT | P\tsame"]


def test_where_candidates_come_from() -> None:
    """Spellings come from the same operation, those with the same kinds of operands first; variants have other signs and comparisons."""
    assert spellings("FMNMX.NAN R | R U P", TABLE) == ["head 4117100a", "same", "same 2"]
    assert spellings("IADD R | R R", TABLE) == ["same", "same 2"]
    assert variants("FADD R | R I") == ["FADD R | R I", "FADD R | R- I", "FADD R | R| I"]
    assert "ISETP.GE.OR P P | R I P" in variants("ISETP.LT.AND P P | R I P")
    assert signature_of("FADD R=r | R=255 R\tsame") == "FADD R | R R"
    assert with_lines(["# a", "B R | R\tsame"], ["A R | R\tsame", "B R | R\tsame 2"]) == [
        "# a", "A R | R\tsame", "B R | R\tsame", "B R | R\tsame 2",
    ]  # fmt: skip


def test_candidates(tmp_path: Path) -> None:
    """A candidate stays with the operands for which nvlink gives it back; here, minima that ask for the predicate."""
    lines = Path(RULES_PATH).read_text().splitlines()
    table = [x for x in lines if x.startswith("EXIT ")]
    try:
        added = add_candidates(table, ["FMNMX R | R R P"], tmp_path, 1, 100)
    finally:
        use_rules(Rules(lines))
    assert added == ["FMNMX R | R R P=7\tsame", "FMNMX R | R R P=15\tsame"]


def test_heads(tmp_path: Path) -> None:
    """The form of a matrix of shared memory at an address with a uniform register; its neighbour drops that register."""
    signature = "LDSM.16.M88.4 R | - R U I"
    try:
        found = dict(heads(signature, 0x5B, 2, "sm_100", 4, tmp_path))
    finally:
        use_rules(Rules(Path(RULES_PATH).read_text().splitlines()))
    assert [head for head, why in found.items() if not why] == ["425b0206"]
    assert "[R" in found["425b0006"]
    assert "UR" not in found["425b0006"]
    assert f"{signature}\thead 425b0206" in Path(RULES_PATH).read_text().splitlines()


def test_campaign(tmp_path: Path) -> None:
    """Finalised objects are compared instruction by instruction; what has no rule is listed."""
    before = compiled(with_head(SIMPLE, "sm_100"), "sm_100", "forbid").data
    after = compiled(
        with_head(SIMPLE.replace("mul.wide.u32 %rd2,%r1,4", "mul.wide.u32 %rd2,%r1,8"), "sm_100"), "sm_103"
    )
    assert differences(before, before) == (1, [])
    number, found = differences(before, after.data)
    assert number == 1
    assert "0x8" in found[0]
    c = Campaign("sm_100", 3, tmp_path, False)
    c.one("simple", with_head(SIMPLE, "sm_100"), -1)
    assert (c.counts["with capsules"], c.counts["finalised"], c.counts["changed"]) == (1, 1, 0)
    use_rules(Rules(["EXIT | P\tsame"]))
    try:
        c.one("simple", with_head(SIMPLE, "sm_100"), -1)
    finally:
        use_rules(Rules(Path(RULES_PATH).read_text().splitlines()))
    assert "BAR.SYNC.DEFER_BLOCKING | I" in c.missing
