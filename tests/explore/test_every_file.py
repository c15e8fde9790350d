"""The explorer on every file of the corpus, and on cubins that ptxas makes of them: no error, and figures that agree with each other."""

import json
from pathlib import Path
from typing import Any

import pytest

import orias
from orias.explore.collect import of_cubin
from orias.explore.exploration import explore
from orias.options import Options
from tests.corpus.test_corpus import FILES, NO_CORPUS, arch_of, identifier, needs_objects
from tests.nvtools import tool
from tests.rotation import rotating
from tools.explorer.visit_pages import cubin_of

pytestmark = [pytest.mark.sweep, pytest.mark.skipif(not FILES, reason=NO_CORPUS)]
LARGEST = 200_000
"""Bytes of PTX up to which a page is made: larger files take more than a minute."""
SMALL = [p for p in FILES if p.stat().st_size < LARGEST]
EACH = 20
"""Cubins of ptxas for a target: with five targets 100 in all."""


def agrees(section: dict[str, Any]) -> None:
    """Figures of a section that say the same."""
    rows = section["instructions"]
    count = len(rows)
    live = [0] * count
    for name, flat in section["ranges"].items():
        if name[0] == "R":
            for start, end in zip(flat[::2], flat[1::2], strict=True):
                for k in range(start, end):
                    live[k] += 1
    assert live == [r["live"] for r in rows]
    for b in section["blocks"]:
        assert all(0 <= t < len(section["blocks"]) for t, _ in b["edges"])
    for m in section["memory"]:
        assert 0 <= m["instruction"] < count
        for side in m["sides"]:
            assert side["shape"] and side["least"] > 0 and (side["takes"] is None or side["takes"] > 0)
    for a in section["advice"]:
        assert a["text"].endswith(".") and -1 <= a["instruction"] < count
    assert {a["kind"] for a in section["advice"]} >= {"registers", "occupancy"}


@pytest.mark.parametrize("path", SMALL, ids=identifier)
def test_page(path: Path) -> None:
    text = path.read_text(errors="replace")
    options = Options(arch_of(text) or "sm_90a")
    options.compile_only = needs_objects(text)
    try:
        found = explore(path.name, path.read_bytes(), options)
    except orias.CompileError as e:
        pytest.skip(f"not compiled: {e}"[:120])
    (data,) = found.docs
    assert json.loads(found.json()).keys() == data.keys()
    for section in data["sections"]:
        agrees(section)
        assert all(0 <= r["line"] <= len(data["ptx"]) for r in section["instructions"])


@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_90", "sm_100", "sm_120"])
def test_cubins_of_ptxas(arch: str, tmp_path: Path) -> None:
    tool("ptxas")
    seen = 0
    for path in rotating(SMALL, len(SMALL), f"explorer {arch}"):
        data = cubin_of(path, arch, tmp_path)
        if data is None or b".text." not in data:
            continue
        for section in of_cubin(data, path.name)["sections"]:
            agrees(section)
        seen += 1
        if seen == EACH:
            break
    assert seen == EACH
