"""Value tables: the notation of runs and products, the writer against the reader, and what the table files may not hold."""

import random
import re
import sys
from pathlib import Path

import pytest

from orias.isa import rawtable
from orias.isa.notation import parse_values, spread

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools" / "isa"))

from tablefile import unnamed, values_text  # noqa: E402

DATA = ROOT / "orias" / "isa" / "data"
FORMS = sorted(p for p in DATA.glob("*.isa") if p.name not in rawtable.NOT_FORMS)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("A B 5=C", {0: "A", 1: "B", 5: "C"}),
        ('A # "" C', {0: "A", 2: "", 3: "C"}),
        ("???[1..3] X", {0: "???1", 1: "???2", 2: "???3", 3: "X"}),
        ("3=???[0..6..2]", {3: "???0", 4: "???2", 5: "???4", 6: "???6"}),
        ("A.???[0..8..8+0..1]", {0: "A.???0", 1: "A.???1", 2: "A.???8", 3: "A.???9"}),
        ("A B *2(,X,#,Y.???[0..1])", {0: "A", 1: "B", 2: "A.X", 3: "B.X", 6: "A.Y.???0", 7: "B.Y.???0", 8: "A.Y.???1", 9: "B.Y.???1"}),
        ('"" A *2<(,X)', {0: "", 1: "A", 2: "X", 3: "X.A"}),
        ("A 4=B *1x2 *8x2", {0: "A", 1: "A", 4: "B", 5: "B", 8: "A", 9: "A", 12: "B", 13: "B"}),
    ],
)  # fmt: skip
def test_notation(text: str, values: dict[int, str]) -> None:
    assert parse_values(text) == values
    assert list(parse_values(text)) == sorted(values)


def test_a_run_with_text_around() -> None:
    assert spread("A[8..10].B") == ["A8.B", "A9.B", "A10.B"]
    assert spread("A") == ["A"]


def test_what_is_written_reads_back() -> None:
    for name, text in rawtable.read_tables((DATA / "tables.isa").read_text()).items():
        values = parse_values(text)
        if len(values) <= 256:
            written = values_text(values)
            assert parse_values(written) == values, name
            assert written == " ".join(text.split()), name


def test_random_products_read_back() -> None:
    rng = random.Random(5)
    for _ in range(300):
        values = {0: ""}
        at = 1
        for _ in range(rng.randrange(1, 5)):
            count = rng.choice((2, 4, 8))
            texts = [rng.choice(("", "A", "B.C", f"???{k}", f"INVALID{k}", "#")) for k in range(count)]
            first = rng.random() < 0.5
            values = {
                v + at * k: ".".join(x for x in ((t, s) if first else (s, t)) if x)
                for v, s in values.items()
                for k, t in enumerate(texts)
                if t != "#"
            }
            at *= count
        for _ in range(rng.randrange(3)):
            values.pop(rng.randrange(at), None)
        if values:
            assert parse_values(values_text(values)) == values


def test_no_table_without_a_name() -> None:
    for name, text in rawtable.read_tables((DATA / "tables.isa").read_text()).items():
        values = parse_values(text)
        assert not unnamed(values), name
        for run in re.findall(r"(?:(?:\?\?\?|INVALID)\d+ ?){3,}", text):
            numbers = [int(n) for n in re.findall(r"\d+", run)]
            assert numbers[1] - numbers[0] != numbers[2] - numbers[1], (name, run)


def test_no_rows_that_differ_by_a_count() -> None:
    for path in FORMS:
        rows: dict[tuple[object, ...], set[str]] = {}
        for e in rawtable.read_entries(path.read_text()):
            notes = [n for n in e.notes.split("; ") if not n.startswith("seen")]
            counts = [n for n in e.notes.split("; ") if n.startswith("seen")]
            rows.setdefault((e.opcode, e.template, *notes), set()).add(" ".join(counts))
        assert [k for k, counts in rows.items() if len(counts) > 1] == [], path.name


def test_size() -> None:
    assert (DATA / "texture.isa").stat().st_size < 120_000
    assert (DATA / "tables.isa").stat().st_size < 200_000
