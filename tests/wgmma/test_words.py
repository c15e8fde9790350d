"""Words of warpgroup operations as ptxas 13.0.88 wrote them, with nvdisasm's text (one-instruction programs of ours)."""

from pathlib import Path

from orias.isa.isa_table import load

ROWS = [(int(r[:32], 16), r[33:]) for r in (Path(__file__).parent / "words.txt").read_text().splitlines()]


def test_text_and_encoding() -> None:
    table = load("sm_90")
    assert len(ROWS) > 60
    for word, text in ROWS:
        assert table.text(word) == text
        d = table.decode(word)
        assert d.extra == 0
        assert table.encode(d.op, d.guard, d.dst, d.src, d.ctl) == word
        assert table.accepts(d.op, d.guard, d.dst, d.src)
