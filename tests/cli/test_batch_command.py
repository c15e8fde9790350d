"""``orias batch``: every file has its outcome, and a second run goes on where the first stopped."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import orias
from orias.cli.main import run

GOOD = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n{\n ret;\n}\n"
BAD = GOOD.replace(" ret;", " rett;")


@pytest.fixture
def files(tmp_path: Path) -> Path:
    folder = tmp_path / "in"
    (folder / "below").mkdir(parents=True)
    (folder / "a.ptx").write_text(GOOD)
    (folder / "below" / "a.ptx").write_text(GOOD)
    (folder / "below" / "bad.ptx").write_text(BAD)
    return folder


def batch(capsys: pytest.CaptureFixture[str], *arguments: str | Path, code: int = 1) -> tuple[str, str]:
    assert run(["orias", "batch", "--jobs", "1", *map(str, arguments)]) == code
    return capsys.readouterr()


def test_resume(files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    common = ("-arch", "sm_80", "--out", out, files)
    said, error = batch(capsys, *common)
    assert said == f"2 of 3 have a cubin in {out} (0 from before)\n"
    assert error == f"{files / 'below' / 'bad.ptx'}: line 6: Not a name of any known instruction: 'rett'\n"
    data = orias.compile(GOOD, arch="sm_80").data
    assert {str(p.relative_to(out)) for p in out.rglob("*.cubin")} == {"a.cubin", os.path.join("below", "a.cubin")}
    assert (out / "a.cubin").read_bytes() == data
    # A killed run leaves half a line; a lost cubin and a changed text are compiled again, a repaired file has its cubin.
    with (out / "batch.jsonl").open("a") as f:
        f.write('{"file": "a')
    (out / "below" / "a.cubin").unlink()
    assert batch(capsys, *common)[0].endswith("(1 from before)\n")
    (files / "below" / "bad.ptx").write_text(GOOD)
    assert batch(capsys, *common, code=0)[0] == f"3 of 3 have a cubin in {out} (2 from before)\n"
    assert batch(capsys, *common, code=0)[0].endswith("(3 from before)\n")
    assert batch(capsys, *common, "--again", code=0)[0].endswith("(0 from before)\n")
    assert batch(capsys, *common, "-O1", code=0)[0].endswith("(0 from before)\n")


def test_json(files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said, _ = batch(capsys, "-arch=sm_80", "--out", tmp_path / "out", "--json", files / "a.ptx", tmp_path / "none.ptx")
    found = json.loads(said)
    assert [(x["file"], x["ok"]) for x in found] == [(str(files / "a.ptx"), True), (str(tmp_path / "none.ptx"), False)]
    assert "No such file" in found[1]["error"]


def test_misuse(files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    out = ("-arch", "sm_80", "--out", tmp_path / "out")
    cases: list[tuple[tuple[str | Path, ...], str]] = [
        ((), "usage: orias batch --out DIR"),
        (("-arch", "sm_80", files), "the option --out is missing; usage: orias batch"),
        ((*out, empty), f"{empty}: there is no *.ptx file in this folder"),
        ((*out, files / "a.ptx", files / "below" / "a.ptx"), " would both make "),
        ((*out, "--timeout", "soon", files), "option --timeout needs a number that is not negative, not 'soon'"),
        ((*out, "--nonsense", files), "unknown option '--nonsense'"),
        ((*out, "--timeout", "9", "--scheduler", "tcp://x:1", files), "leave --scheduler out"),
        (("-arch", "sm_7", "--out", tmp_path / "out", files), "Value 'sm_7' is not defined for option '-arch'"),
        ((*out, "-O7", files), "Value '7' is not defined for option '-O'"),
    ]
    for arguments, message in cases:
        error = batch(capsys, *arguments, code=255)[1]
        assert error.startswith("orias batch: ") and message in error and error.count("\n") == 1
    assert not (tmp_path / "out").exists()
    assert run(["orias", "batch", "--help"]) == 0


def test_no_cluster(files: Path, tmp_path: Path) -> None:
    """Without Dask the message names the extra; with it, the address."""
    command = [
        sys.executable,
        "-m",
        "orias",
        "batch",
        "-arch",
        "sm_80",
        "--out",
        str(tmp_path / "out"),
        "--scheduler",
        "tcp://127.0.0.1:9",
    ]
    environment = {**os.environ, "PYTHONPATH": str(Path(orias.__file__).parents[1])}
    done = subprocess.run(
        [*command, str(files)], capture_output=True, text=True, env=environment, timeout=120, check=False
    )
    assert done.returncode == 255 and done.stdout == ""
    assert "pip install 'orias[cluster]'" in done.stderr or "there is no scheduler at tcp://127.0.0.1:9" in done.stderr
