"""A sample of mutated texts, listings and cubins; `tools/mutants.py` is the campaign."""

from pathlib import Path

import pytest

import orias
from orias.cli.tools import run_tool
from tests.product.test_hostile import OWN
from tools.mutants import campaign

SMALL = [p for p in OWN if p.stat().st_size < 3000][:8]


@pytest.mark.parametrize("kind", ["ptx", "as", "dis", "check"])
def test_sample(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    texts = [p.read_bytes() for p in SMALL]
    if kind != "ptx":
        texts = [orias.compile(t, arch="sm_90", compile_only=True).data for t in texts]
    if kind == "as":
        for k, cubin in enumerate(texts):
            (tmp_path / "a.cubin").write_bytes(cubin)
            run_tool("orias", "dis", ["--full", str(tmp_path / "a.cubin")])
            texts[k] = capsys.readouterr().out.encode()
    codes, faults = campaign(kind, texts, 60, 7, None)
    assert faults == []
    assert sum(codes.values()) == 60
    assert codes[255]
    assert codes[0]
