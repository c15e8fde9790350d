"""Results kept from one run of the command line to the next: the same as found anew, and none of files that have changed."""

import marshal
import os
import sys
from pathlib import Path

import pytest

from orias import kept
from orias.isa import isa_table, op
from orias.isa.decode import IllegalWord
from orias.isa.isa_table import IsaTable

ROOT = Path(__file__).parents[2]


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package with one folder of tables; results are kept beside it."""
    (tmp_path / "isa" / "data").mkdir(parents=True)
    (tmp_path / "isa" / "data" / "table").write_text("1")
    monkeypatch.setattr(kept, "_opened", {})
    monkeypatch.setattr(kept, "_place", [])
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    kept.use_kept(str(tmp_path), str(tmp_path / "block"))
    return tmp_path


def again() -> None:
    """End a run and begin the next."""
    kept.save_kept()
    kept._opened.clear()


def tables(name: str = "plans") -> kept.Kept:
    found = kept.kept(name, ("isa", "isa/data"))
    assert found is not None
    return found


def test_nothing_is_kept_unless_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "_place", [])
    assert kept.kept("plans", ("isa",)) is None


def test_a_result_lasts_until_a_file_changes(store: Path) -> None:
    tables().put("key", (1, [2, "three"], None))
    again()
    assert tables().get("key") == (1, [2, "three"], None)
    assert tables().get("other") is None
    kept._opened.clear()
    table = store / "isa" / "data" / "table"
    os.utime(table, ns=(1, 1))
    assert tables().get("key") is None
    tables().put("key", 2)
    again()
    assert tables().get("key") == 2
    kept._opened.clear()
    (store / "isa" / "more.py").write_text("")
    assert tables().get("key") is None


def test_names_do_not_share_results(store: Path) -> None:
    tables().put("key", 1)
    tables("operations").put("key", 2)
    again()
    assert (tables().get("key"), tables("operations").get("key")) == (1, 2)


@pytest.mark.parametrize("data", [b"", b"\0" * 40, marshal.dumps(7), marshal.dumps((1, 2, 3)), None])
def test_a_file_that_cannot_be_read_is_none(store: Path, data: bytes | None) -> None:
    tables().put("key", 1)
    kept.save_kept()
    (file,) = store.glob("block*")
    file.write_bytes(file.read_bytes()[:-3] if data is None else data)
    kept._opened.clear()
    assert tables().get("key") is None
    tables().put("key", 2)
    again()
    assert tables().get("key") == 2


def test_a_file_grows_by_its_share_and_to_its_limit(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for n in range(100):
        tables().put(str(n), n)
    again()
    for n in range(100, 105):
        tables().put(str(n), n)
    again()
    assert tables().get("104") is None  # five new ones for a hundred are too few
    for n in range(100, 106):
        tables().put(str(n), n)
    again()
    assert (tables().get("105"), len(tables().known)) == (105, 106)
    monkeypatch.setattr(kept, "_MOST", 110)
    for n in range(200, 210):
        tables().put(str(n), n)
    again()
    assert tables().get("200") is None


def test_nothing_is_written_without_bytecode_or_permission(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tables().put("key", 1)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    again()
    assert not list(store.glob("block*"))
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    kept.use_kept(str(store), str(store / "none" / "block"))
    tables().put("key", 1)
    again()
    assert tables().get("key") is None


@pytest.mark.parametrize("table", ["sm_75", "sm_90", "sm_120"])
def test_kept_encodings_are_those_of_the_table(table: str, store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every word of the samples, encoded by a run that found all encodings and by one that finds none itself."""
    lines = (ROOT / "tests" / "isa" / f"words_{table}.txt").read_text().splitlines()
    words = [int(line.split()[0], 16) for line in lines if line and line[0] != "#"][::7]
    first = IsaTable(table)
    decoded = []
    for w in words:
        try:
            decoded.append((w, first.decode(w)))
        except IllegalWord:
            continue
    assert len(decoded) > 100
    monkeypatch.setattr(kept, "_MOST", 100_000)
    again()
    second = IsaTable(table)
    monkeypatch.setattr(isa_table, "find_plan", None)
    for w, d in decoded:
        assert second.encode_decoded(d) == w
        assert second.reuse_fields(d.op, d.dst, d.src) == first.reuse_fields(d.op, d.dst, d.src)
        assert second.accepts(d.op, d.guard, d.dst, d.src)


def test_kept_operations_are_those_of_the_table(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = list(op._ops)
    assert len(names) > 100

    # A compiled class has no __slots__.
    plain = [
        s for s in dir(op.op(names[0])) if s[0] != "_" and s != "ident" and not callable(getattr(op.op(names[0]), s))
    ]
    assert {"flags", "name"} <= set(plain)

    def properties() -> list[tuple[object, ...]]:
        monkeypatch.setattr(op, "_ops", {})
        return [tuple([getattr(op.op(n), s) for s in plain]) for n in names]

    before = properties()
    again()
    monkeypatch.setattr(op, "_parts", None)
    assert properties() == before
