"""The judge of the checker on code of libraries (tools/judge/unseen.py): findings are counted, and measured distances leave out what is apart."""

import json
import random
from pathlib import Path

import pytest

import orias
from orias.cubin.reader import Reader
from orias.isa.isa_table import load
from orias.target.decoder_class import table_of_sm
from tests.check.plant import Planter, patched, sections
from tools.judge import unseen

KERNEL = Path(__file__).parents[1] / "kernels" / "ptx"


@pytest.fixture(scope="module")
def cubin() -> bytes:
    return orias.compile(min(KERNEL.glob("*.ptx"), key=lambda p: p.stat().st_size).read_text(), arch="sm_90").data


def judged(
    monkeypatch: pytest.MonkeyPatch, folder: Path, data: bytes, *options: str
) -> tuple[int, list[dict[str, object]]]:
    (folder / "a.cubin").write_bytes(data)
    results = folder / "results.jsonl"
    monkeypatch.setattr("sys.argv", ["unseen", str(results), str(folder / "a.cubin"), "--quiet", *options])
    code = unseen.main()
    return code, [json.loads(x) for x in results.read_text().splitlines()]


def test_right_code_has_none(cubin: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code, lines = judged(monkeypatch, tmp_path, cubin)
    assert code == 0
    assert [x["alarms"] for x in lines] == [[]] and lines[0]["arch"] == "sm_90"


def test_a_planted_fault_is_counted(cubin: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index, offset, code = sections(cubin)[0]
    fault = next(iter(Planter(index, code, load(table_of_sm(Reader(cubin).sm)), 90).some(random.Random(1), 1)))
    result, lines = judged(monkeypatch, tmp_path, patched(cubin, offset, fault))
    assert result == 1
    assert lines[0]["alarms"]


def test_what_is_apart_is_not_measured(cubin: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "m.csv"
    monkeypatch.setattr(unseen, "APART", 1 << 40)
    judged(monkeypatch, tmp_path, cubin, "--measure", str(out), "--apart", "a.cubin")
    assert len(out.read_text().splitlines()) == 1
    (tmp_path / "results.jsonl").unlink()
    judged(monkeypatch, tmp_path, cubin, "--measure", str(out))
    assert len(out.read_text().splitlines()) > 1
