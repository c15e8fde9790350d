"""Size of the page, and time to open and to use it: ``python -m tools.explorer.measure_pages [INSTRUCTIONS...]`` (50 500 5000 50000).

Prints a table of Markdown.  Times are those of the browser's main thread, in headless Chromium.  Needs Playwright, and Chromium on the path.
"""

import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from orias.explore.exploration import explore
from orias.options import Options
from tests.explore import programs

PANELS = "explorer.panels.map(p => p.id)"
STEPS = 20


def program(count: int) -> str:
    """A kernel of about that many instructions."""
    return programs.crowded(count // 4) if count < 200 else programs.long(count)


def seconds(session: Any) -> float:
    metrics = session.send("Performance.getMetrics")["metrics"]
    return float(next(m["value"] for m in metrics if m["name"] == "TaskDuration"))


def measured(browser: Any, file: Path) -> tuple[float, float, str]:
    """Seconds to open, for a step of scrolling, and of the panel that takes longest (with its name)."""
    view = browser.new_page(viewport={"width": 1280, "height": 800})
    session = view.context.new_cdp_session(view)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    view.goto(file.as_uri())
    view.wait_for_selector("#page[data-ready]", timeout=120_000)
    opened = seconds(session)
    rows = view.evaluate("explorer.sass.items.length")
    for k in range(STEPS):
        view.evaluate(f"explorer.sass.view.scrollTop = {18 * rows * k // STEPS}")
        view.wait_for_timeout(20)
    scrolled = (seconds(session) - opened) / STEPS
    longest, name = 0.0, ""
    for panel in view.evaluate(PANELS):
        before = seconds(session)
        view.evaluate(f"explorer.showTab('{panel}')")
        view.wait_for_timeout(200)
        longest, name = max((longest, name), (seconds(session) - before, panel))
    view.close()
    return opened, scrolled, f"{name} {longest:.2f} s"


def main(arguments: list[str]) -> None:
    from playwright.sync_api import sync_playwright

    print("| instructions | page | to open | a step of scrolling | slowest panel |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as p:
        browser = p.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for count in map(int, arguments or ("50", "500", "5000", "50000")):
            found = explore("k.ptx", program(count).encode(), Options("sm_80", 1))
            file = Path(folder) / "k.html"
            found.save(file)
            opened, scrolled, panel = measured(browser, file)
            size = len(found.docs[0]["sections"][0]["instructions"])
            print(
                f"| {size:,} | {file.stat().st_size // 1024:,} KB | {opened:.2f} s | {1000 * scrolled:.0f} ms | {panel} |",
                flush=True,
            )
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1:])
