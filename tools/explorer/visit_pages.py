"""Makes the page of every file and opens it: ``python -m tools.explorer.visit_pages [--part K/N] [--cubins] [--open N] [--seconds S] FILE_OR_FOLDER...``.

Each page is opened in headless Chromium, all panels are shown, and a line in the middle is chosen; what the browser's console says, and a
compile that fails for another reason than a PTX that is refused, is printed.  ``--cubins``: the files are compiled by ptxas first, and its
cubins are shown.  ``--open``: one page in N is opened.  Needs Playwright, and Chromium on the path.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from orias.diag import CompileError
from orias.explore.exploration import explore
from orias.options import Options
from tests.corpus.test_corpus import arch_of, needs_objects
from tests.nvtools import tool

PANELS = "explorer.panels.map(p => p.id)"


def cubin_of(path: Path, arch: str, folder: Path) -> bytes | None:
    """The cubin of ptxas; None if it refuses the file."""
    out = folder / "theirs.cubin"
    command = [tool("ptxas"), f"-arch={arch}", str(path), "-o", str(out)]
    if needs_objects(path.read_text(errors="replace")):
        command.append("-c")
    done = subprocess.run(command, capture_output=True, timeout=120, check=False)
    return out.read_bytes() if done.returncode == 0 else None


def visit(browser: Any, page: Path) -> list[str]:
    """What goes wrong while a page is open."""
    said: list[str] = []
    view = browser.new_page(viewport={"width": 1280, "height": 800})
    view.on("console", lambda m: said.append(m.text) if m.type in ("error", "warning") else None)
    view.on("pageerror", lambda e: said.append(str(e)))
    view.on("request", lambda r: None if r.url.startswith("file:") else said.append(r.url))
    view.goto(page.as_uri())
    view.wait_for_selector("#page[data-ready]", timeout=60_000)
    view.evaluate("explorer.pin({kind: 'sass', index: explorer.section.count >> 1}, '')")
    for panel in view.evaluate(PANELS):
        view.evaluate(f"explorer.showTab('{panel}')")
        if view.evaluate("document.querySelector('#panel').scrollWidth > innerWidth"):
            said.append(f"panel {panel} is wider than the page")
    for k in range(min(3, view.evaluate("explorer.doc.sections.length"))):
        view.evaluate(f"explorer.showSection({k})")
    view.close()
    return said


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--part", default="1/1")
    parser.add_argument("--cubins", action="store_true")
    parser.add_argument("--open", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=1e9)
    given = parser.parse_args(arguments)
    part, parts = map(int, given.part.split("/"))
    every = [f for a in given.files for f in (sorted(a.rglob("*.ptx")) if a.is_dir() else [a])]
    from playwright.sync_api import sync_playwright

    start, made, shown, refused, wrong, done = time.monotonic(), 0, 0, 0, 0, 0
    with tempfile.TemporaryDirectory() as name, sync_playwright() as p:
        folder = Path(name)
        browser = p.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for path in every[part - 1 :: parts]:
            if time.monotonic() - start > given.seconds:
                break
            done += 1
            arch = arch_of(path.read_text(errors="replace"))
            options = Options(arch or "sm_90a")
            options.compile_only = needs_objects(path.read_text(errors="replace"))
            data = path.read_bytes()
            try:
                if given.cubins:
                    theirs = cubin_of(path, options.arch, folder)
                    if theirs is None:
                        refused += 1
                        continue
                    data = theirs
                found = explore(path.name, data, options)
            except CompileError:
                refused += 1
                continue
            except Exception as e:
                wrong += 1
                print(f"{path}: {type(e).__name__}: {e}", flush=True)
                continue
            page = folder / "page.html"
            found.save(page)
            made += 1
            if made % given.open:
                continue
            said = visit(browser, page)
            shown += 1
            wrong += bool(said)
            for text in said:
                print(f"{path}: {text}", flush=True)
        browser.close()
    print(
        f"part {given.part}: {done} files, {made} pages, {shown} opened, {refused} refused, {wrong} with an error, {time.monotonic() - start:.0f} s"
    )
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
