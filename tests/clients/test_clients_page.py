"""The page of clients: made by its writer, from the recipes as they are."""

import re
import sys
from pathlib import Path

from tools.write_clients_page import RECIPES, Recipe, Result, page, ran

PAGE = Path(__file__).parents[2] / "docs" / "clients.md"


def test_the_page_shows_what_ran() -> None:
    text = PAGE.read_text(encoding="utf-8")
    results: dict[str, Result | None] = {}
    for line in text.splitlines():
        cells = [c.strip() for c in line.strip("|").split("|")]
        if len(cells) == 6 and cells[0] in {r.client for r in RECIPES} and cells[2] != "not run":
            name, version, targets, cubins, ours, failures = cells
            assert int(cubins) == int(ours) == len(targets.split(", ")) and failures == "0", name
            results[name] = Result(version, targets.split(", "), int(cubins), int(ours), "")
    assert len(results) == len(RECIPES)
    assert page(results) == text, "a recipe changed: run python tools/write_clients_page.py"


def test_a_recipe_runs_and_its_failure_is_kept() -> None:
    program = "from pathlib import Path\nPath('k.sm_80.cubin').write_bytes(b'x Orias')\nPath('k.sm_75.cubin').write_bytes(b'x')\n"
    found = ran(Recipe("pytest", "pytest", program), [sys.executable])
    assert found is not None and found[1:] == (["sm_75", "sm_80"], 2, 1, "")
    bad = ran(Recipe("pytest", "pytest", program + "raise OSError('boom')"), [sys.executable])
    assert bad is not None and bad.failure.endswith("OSError: boom")
    assert ran(Recipe("none", "no-such-distribution", program), [sys.executable]) is None
    assert ran(Recipe("none", "no-such-command", program, command=True), [sys.executable]) is None
    shown = page({RECIPES[0].client: bad})
    assert "1: see below" in shown and "boom" in shown and re.search(r"\| Triton.* \| not run \|", shown)
