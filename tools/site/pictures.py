"""The pictures of the documentation: ``python -m tools.site.pictures [FOLDER]`` makes them all, by default in ``docs/pictures``.

Each is a page of Orias, made from a program of the repository, in headless Chromium.  The site is built with pictures made anew if
``ORIAS_PICTURES`` is set.  Needs Jinja2, Playwright and Chromium on the path.
"""

import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import orias
from orias.explore.exploration import explore
from orias.explore.page_writer import page
from orias.explore.perf_page import perf_page
from orias.explore.reference_data import all_tables, reference_data
from orias.options import Options
from orias.perf.kernel_steps import kernels
from orias.perf.report import report

ROOT = Path(__file__).resolve().parents[2]
KERNELS = ROOT / "tests/kernels"


class Picture(NamedTuple):
    """A picture: its page, and what is done there before it is taken."""

    name: str
    html: Callable[[], str]
    actions: tuple[str, ...]


def _explored(name: str, arch: str = "sm_80") -> Callable[[], str]:
    path = KERNELS / f"{name}.ptx"
    return lambda: explore(path.name, path.read_bytes(), Options(arch)).html()


def _reference() -> str:
    return page("reference", "SASS instructions", reference_data(all_tables()))


def _performance() -> str:
    (code,) = kernels(orias.compile((KERNELS / "ptx/reduce.ptx").read_text(), arch="sm_80").data)
    return perf_page([report(code, 256, 0, None)])


_SLOWEST = "explorer.pin({kind: 'sass', index: [...explorer.section.instructions].sort((a, b) => b.total - a.total)[0].index}, '')"
PICTURES = (
    Picture("explorer-registers", _explored("ptx/reduce"), (_SLOWEST, "explorer.showTab('pressure')")),
    Picture("explorer-schedule", _explored("ptx/reduce"), (_SLOWEST, "explorer.showTab('schedule')")),
    Picture(
        "explorer-memory",
        _explored("ptx/fft", "sm_90"),
        ("explorer.showTab('memory')", "explorer.pin({kind: 'sass', index: 20}, '')"),
    ),
    Picture("explorer-graph", _explored("ptx/reduce"), (_SLOWEST, "explorer.showTab('graph')")),
    Picture("reference", _reference, ("location.hash = 'IADD3/3'",)),
    Picture("perf", _performance, ()),
)


def make_pictures(folder: Path) -> list[str]:
    """Writes all pictures into a folder; returns what the browser's console said."""
    from playwright.sync_api import sync_playwright

    folder.mkdir(parents=True, exist_ok=True)
    said: list[str] = []
    with sync_playwright() as p:
        browser = p.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for picture in PICTURES:
            view = browser.new_page(viewport={"width": 1280, "height": 800})
            view.on("console", lambda m: said.append(m.text) if m.type in ("error", "warning") else None)
            view.on("pageerror", lambda e: said.append(str(e)))
            view.set_content(picture.html())
            view.wait_for_selector("#page[data-ready]", timeout=60_000)
            for action in picture.actions:
                view.evaluate(action)
            view.wait_for_timeout(300)
            view.screenshot(path=str(folder / f"{picture.name}.png"))
            view.close()
        browser.close()
    return said


if __name__ == "__main__":
    problems = make_pictures(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs/pictures")
    print("\n".join(problems))
    sys.exit(bool(problems))
