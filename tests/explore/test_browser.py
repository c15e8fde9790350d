"""The page in headless Chromium: no error, links between columns that are right, figures that are the compiler's."""

import json
import os
import shutil
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest

import orias
from orias.explore.collect import of_cubin
from orias.explore.exploration import Exploration, explore
from orias.explore.page_writer import page
from orias.explore.perf_page import perf_page
from orias.explore.reference_data import all_tables, reference_data
from orias.isa.isa_table import load
from orias.options import Options
from orias.perf.kernel_steps import kernels
from orias.perf.report import report
from tests.explore import programs

pytestmark = [pytest.mark.sweep, pytest.mark.long]
KERNELS = Path(__file__).parents[1] / "kernels"
PANELS = ("advice", "remarks", "pressure", "ranges", "schedule", "waits", "occupancy", "memory", "graph")
PICTURES = os.environ.get("ORIAS_SCREENSHOTS", "")
"""Folder for screenshots of every panel."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    pytest.importorskip("jinja2", reason="Jinja2 is not installed (pip install 'orias[explore]')")
    api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed (pip install playwright)")
    path = next((p for p in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if p), None)
    if path is None:
        pytest.skip("no Chromium on the path (apt-get install chromium)")
    with api.sync_playwright() as p:
        b = p.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield b
        b.close()


class Page:
    """An open page, with what it wrote to the console."""

    def __init__(self, browser: Any, file: Path, width: int = 1280) -> None:
        self.said: list[str] = []
        self.page = browser.new_page(viewport={"width": width, "height": 800})
        self.page.on("console", lambda m: self.said.append(m.text) if m.type in ("error", "warning") else None)
        self.page.on("pageerror", lambda e: self.said.append(str(e)))
        self.page.on("request", lambda r: None if r.url.startswith("file:") else self.said.append(r.url))
        self.page.goto(file.as_uri())
        self.page.wait_for_selector("#page[data-ready]", timeout=60_000)

    def rows(self, column: str, marked: str) -> list[str]:
        """Texts of the rows in sight of a column that have a mark."""
        return list(
            self.page.eval_on_selector_all(
                f'[aria-label="{column}"] .row.{marked}', "rows => rows.map(r => r.innerText)"
            )
        )

    def click(self, column: str, index: int) -> None:
        self.page.evaluate(f"explorer.{column.lower()}.reveal({index}, true)")
        self.page.click(f'.vlist[aria-label="{column}"] [data-index="{index}"]', position={"x": 8, "y": 8})


def saved(tmp: Path, name: str, found: Exploration) -> Path:
    path = tmp / f"{name}.html"
    found.save(path)
    return path


@pytest.fixture(scope="module")
def reduce(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[Page, dict[str, Any]]:
    found = explore("reduce.ptx", (KERNELS / "ptx/reduce.ptx").read_bytes(), Options("sm_80"))
    return Page(browser, saved(tmp_path_factory.mktemp("page"), "reduce", found)), found.docs[0]


def test_links_between_columns(reduce: tuple[Page, dict[str, Any]]) -> None:
    """A click on a line lights up the instructions that it became, and the other way round."""
    page, data = reduce
    rows = data["sections"][0]["instructions"]
    for k in [k for k, r in enumerate(rows) if r["line"]][8:40:10]:
        page.click("SASS", k)
        assert page.rows("SASS", "p-hit")[0].endswith(rows[k]["text"])
        ptx = page.rows("PTX", "p-hit")
        assert [int("".join(takewhile(str.isdigit, t))) for t in ptx] == [rows[k]["line"]]
        history = data["histories"][0]["lines"]
        mine = next(text for text, _, uid in history[::-1] if uid == rows[k]["uid"])
        assert mine.split(" ;")[0] in page.rows("Ori", "p-hit")[0]
    lines = [r["line"] for r in rows]
    line = next(n for n in lines[20:] if n and lines.count(n) == 1)
    page.click("PTX", line - 1)
    want = [r["text"] for r in rows if r["line"] == line]
    assert [t.split("\n")[-1] for t in page.rows("SASS", "p-hit")] == want
    assert page.said == []


def test_figures_and_panels(reduce: tuple[Page, dict[str, Any]]) -> None:
    """The figures of the header are the compiler's; every panel opens; what it says of registers is right."""
    page, data = reduce
    section = data["sections"][0]
    info = orias.compile((KERNELS / "ptx/reduce.ptx").read_text(), arch="sm_80").kernels["reduce"]
    facts = page.page.inner_text(".facts").split("\n")
    assert facts[facts.index("registers") - 1] == str(info.registers)
    for k, panel in enumerate(PANELS):
        page.page.keyboard.press("Escape")
        page.page.keyboard.press(str(k + 1))
        assert page.page.get_attribute(f"#tab-{panel}", "aria-selected") == "true"
        assert page.page.evaluate("document.querySelector('#panel').scrollWidth <= innerWidth")
    page.page.click("#tab-pressure")
    assert (
        f"{info.registers} registers allocated; at most {section['pressure']['R']} hold a value"
        in page.page.inner_text("#panel")
    )
    page.page.click("#tab-occupancy")
    assert f"{section['occupancy']['warps']} of {section['occupancy']['most_warps']} warps" in page.page.inner_text(
        "#panel"
    )
    page.page.click("#tab-graph")
    reached, work = set(), [0]
    while work:
        b = work.pop()
        if b not in reached:
            reached.add(b)
            work += [to for to, _ in section["blocks"][b]["edges"]]
    nodes = page.page.eval_on_selector_all(".node", "nodes => nodes.map(n => Number(n.dataset.block))")
    assert set(nodes) == reached and len(nodes) > 4
    assert page.said == []


def test_phases_search_and_keys(reduce: tuple[Page, dict[str, Any]]) -> None:
    """The strip, the difference of two phases, the filter and the search."""
    page, data = reduce
    page.page.keyboard.press("Escape")
    changed = [p for p in data["histories"][0]["phases"] if p["changed"]]
    page.page.keyboard.press("[")
    assert changed[-2]["name"] in page.page.inner_text(".strip .about")
    page.page.keyboard.press("d")
    came, went = page.page.evaluate("['+', '-'].map(m => explorer.ori.items.filter(x => x.mark === m).length)")
    assert (
        came >= changed[-2]["added"]
        and went >= changed[-2]["removed"]
        and came - went == changed[-2]["added"] - changed[-2]["removed"]
    )
    page.page.keyboard.press("d")
    page.page.fill('[aria-label="Search"]', "ld.global")
    assert page.page.inner_text(".found").endswith("of 1")
    page.page.fill('[aria-label="Search"]', "")
    page.page.fill('[aria-label="Show only instructions with this register"]', "r6")
    page.page.keyboard.press("Enter")
    rows = data["sections"][0]["instructions"]
    want = sum("R6" in r["reads"] + r["writes"] for r in rows)
    assert page.page.evaluate("explorer.sass.items.length") == want > 3
    page.page.evaluate("document.activeElement.blur()")
    page.page.keyboard.press("Escape")
    before = page.page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.page.keyboard.press("t")
    assert page.page.evaluate("getComputedStyle(document.body).backgroundColor") != before
    page.page.keyboard.press("t")
    unnamed = "[...document.querySelectorAll('button, input, select, [role=listbox]')].filter(e => !(e.innerText || e.ariaLabel || e.title)).length"
    assert page.page.evaluate(unnamed) == 0
    assert page.said == []


def test_columns_of_phases(reduce: tuple[Page, dict[str, Any]]) -> None:
    """A phase that is kept stays beside the one that is stepped through; a click on a line lights up in both."""
    page, data = reduce
    view = page.page
    view.keyboard.press("Escape")
    changed = [p["name"] for p in data["histories"][0]["phases"] if p["changed"]]
    view.evaluate("explorer.showPhase(explorer.history.phases.length - 1)")
    view.keyboard.press("p")
    view.keyboard.press("[")
    view.keyboard.press("[")
    assert view.evaluate("explorer.phases.map(c => c.phase.name)") == [changed[-1], changed[-3]]
    assert view.locator('.column[aria-label^="Ori"]').count() == 2
    line = next(r["line"] for r in data["sections"][0]["instructions"] if r["text"].startswith("LDG"))
    page.click("PTX", line - 1)
    for k in range(2):
        rows = view.locator(f'.column[aria-label^="Ori"] >> nth={k} >> .row.p-hit')
        assert rows.count() and all(t.endswith(str(line)) for t in rows.all_inner_texts())
    view.click(".close >> nth=1")
    assert view.evaluate("explorer.phases.map(c => c.phase.name)") == [changed[-1]]
    assert view.inner_text(".strip .about").startswith(changed[-1])
    handle = view.locator(".handle >> nth=0").bounding_box()
    before = view.locator('.column[aria-label="PTX"]').bounding_box()["width"]
    view.mouse.move(handle["x"] + 2, handle["y"] + 50)
    view.mouse.down()
    view.mouse.move(handle["x"] + 62, handle["y"] + 50, steps=3)
    view.mouse.up()
    assert view.locator('.column[aria-label="PTX"]').bounding_box()["width"] == pytest.approx(before + 60, abs=3)
    height = view.locator(".lower").bounding_box()["height"]
    view.keyboard.press("m")
    assert view.locator(".lower").bounding_box()["height"] > 1.8 * height
    view.keyboard.press("m")
    assert page.said == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_accessible(browser: Any, tmp_path: Path, theme: str) -> None:
    """axe-core, a checker of accessibility, finds nothing in the explorer with every panel, and in the reference; in the dark, colours."""
    axe = pytest.importorskip(
        "axe_playwright_python.sync_playwright",
        reason="axe-playwright-python is not installed (pip install 'orias[browser]')",
    ).Axe()
    found = explore("reduce.ptx", (KERNELS / "ptx/reduce.ptx").read_bytes(), Options("sm_80"))
    view = Page(browser, saved(tmp_path, "reduce", found)).page
    view.evaluate(f"document.documentElement.dataset.theme = '{theme}'")
    view.evaluate("explorer.pin({kind: 'sass', index: 40}, '')")
    view.keyboard.press("p")
    view.set_viewport_size({"width": 1280, "height": 500})
    file = tmp_path / "isa.html"
    file.write_text(page("reference", "SASS instructions", reference_data(["sm_90"])), encoding="utf-8")
    isa, _, _ = plain_page(browser, file)
    isa.evaluate(f"document.documentElement.dataset.theme = '{theme}'")
    options = {"runOnly": ["color-contrast"]} if theme == "dark" else {"resultTypes": ["violations"]}
    wrong = [
        ("reference", v["id"], v["nodes"][0]["target"]) for v in axe.run(isa, options=options).response["violations"]
    ]
    for k, panel in enumerate(PANELS):
        view.click(f"#tab-{panel}")
        result = axe.run(view, context="#panel" if k else None, options=options).response
        wrong += [(panel, v["id"], v["nodes"][0]["target"]) for v in result["violations"]]
    assert wrong == []


def test_values_and_blocks(reduce: tuple[Page, dict[str, Any]]) -> None:
    """A register lights up its definitions and uses; a block its instructions."""
    page, data = reduce
    section = data["sections"][0]
    load = next(k for k, r in enumerate(section["instructions"]) if r["text"].startswith("LDG"))
    name = section["instructions"][load]["writes"][0]
    page.page.evaluate(f"explorer.pin({{kind: 'register', name: '{name}', index: {load}}}, '')")
    marks = page.page.evaluate("[...explorer.pinned.sass].filter(([, k]) => k === 'def').map(([i]) => i)")
    uses = page.page.evaluate("[...explorer.pinned.sass].filter(([, k]) => k === 'use').map(([i]) => i)")
    assert load in marks and all(name in section["instructions"][i]["writes"] for i in marks)
    assert uses and all(name in section["instructions"][i]["reads"] for i in uses)
    page.page.evaluate("explorer.chooseBlock(2)")
    block = section["blocks"][2]
    assert page.page.evaluate("explorer.sass.items") == list(range(block["start"], block["end"]))
    page.page.keyboard.press("Escape")
    assert page.said == []


def test_source_column(browser: Any, tmp_path: Path) -> None:
    """A source that the line table names is a column; a click on a line lights up its instructions in every other column."""
    source = tmp_path / "k.py"
    source.write_text("def k(p):\n    chosen = p\n    return chosen\n")
    text = programs.ARM.replace("  mov.u32 %r5, %r1;", "  .loc 1 2 0\n  mov.u32 %r5, %r1;") + f'.file 1 "{source}"\n'
    found = explore("k.ptx", text.encode(), Options("sm_80"))
    page = Page(browser, saved(tmp_path, "source", found))
    rows = found.docs[0]["sections"][0]["instructions"]
    mine = [k for k, r in enumerate(rows) if r["file"] == str(source) and r["source_line"] == 2]
    assert mine
    page.page.click('[aria-label="Source"] .row >> text=chosen = p')
    assert page.page.evaluate("[...explorer.pinned.sass.keys()]") == mine
    assert page.rows("PTX", "p-hit") and page.rows("Ori", "p-hit")
    page.click("SASS", mine[0])
    assert "chosen = p" in page.rows("Source", "p-hit")[0]
    assert page.said == []


def test_notebook(browser: Any) -> None:
    """What a notebook shows of `cubin.explore()`: the page in a frame."""
    cubin = orias.compile((KERNELS / "ptx/reduce.ptx").read_text(), arch="sm_80")
    view = browser.new_page(viewport={"width": 1280, "height": 800})
    said: list[str] = []
    view.on("console", lambda m: said.append(m.text) if m.type in ("error", "warning") else None)
    view.on("pageerror", lambda e: said.append(str(e)))
    view.set_content(cubin.explore()._repr_html_())
    frame = view.frame_locator("iframe")
    frame.locator("#page[data-ready]").wait_for(timeout=60_000)
    assert frame.locator('[aria-label="SASS"] .row').count() > 10 and said == []


def test_comparison_and_cubin(browser: Any, tmp_path: Path) -> None:
    """Two compiles side by side, and a cubin without PTX."""
    text = programs.UNKNOWN.encode()
    slow = Options("sm_80", 0)
    both = explore("k.ptx", text, Options("sm_80")).compare(explore("k.ptx", text, slow, "k.ptx -O0"))
    page = Page(browser, saved(tmp_path, "both", both))
    rows = [s["sections"][0]["instructions"] for s in both.docs]
    line = next(r["line"] for r in rows[0] if r["text"].startswith("STG"))
    page.click("PTX", line - 1)
    assert any("STG" in t for t in page.rows("SASS of k.ptx", "p-hit"))
    assert any("STG" in t for t in page.rows("SASS of k.ptx -O0", "p-hit"))
    assert "registers" in page.page.inner_text("#panel") and page.said == []
    cubin = orias.compile(programs.UNKNOWN, arch="sm_80")
    page = Page(browser, saved(tmp_path, "cubin", Exploration([of_cubin(cubin.data, "k.cubin")])))
    assert page.page.locator('[aria-label="PTX"]').count() == 0 and page.page.locator(".strip").count() == 0
    for panel in PANELS:
        page.page.click(f"#tab-{panel}")
    assert page.said == []


def test_five_thousand_instructions(browser: Any, tmp_path: Path) -> None:
    """The page of 5,000 instructions takes less than two seconds of the browser's main thread to open, and scrolls in short tasks."""
    found = explore("long.ptx", programs.long(5000).encode(), Options("sm_80", 1))
    assert len(found.docs[0]["sections"][0]["instructions"]) > 4500
    file = saved(tmp_path, "long", found)
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})

    def seconds() -> float:
        found = session.send("Performance.getMetrics")["metrics"]
        return float(next(m["value"] for m in found if m["name"] == "TaskDuration"))

    page.goto(file.as_uri())
    page.wait_for_selector("#page[data-ready]", timeout=60_000)
    opened = seconds()
    assert opened < 2.0, opened
    for k in range(20):
        page.evaluate(f"explorer.sass.view.scrollTop = {k * 4000}")
        page.wait_for_timeout(20)
    scrolled = (seconds() - opened) / 20
    assert scrolled < 0.05, scrolled
    assert page.evaluate("document.querySelectorAll('.row').length") < 1000


def test_two_cubins_without_lines(browser: Any, tmp_path: Path) -> None:
    """Instructions of two cubins without line tables are aligned by what they do; a click on one marks its partner."""
    text = (KERNELS / "ptx/reduce.ptx").read_text()
    docs = [of_cubin(orias.compile(text, arch="sm_80", opt_level=n).data, f"{n}.cubin") for n in (3, 1)]
    page = Page(browser, saved(tmp_path, "two", Exploration(docs)))
    rows = [d["sections"][0]["instructions"] for d in docs]
    pairs = [(i, j) for i, j in enumerate(page.page.evaluate("[...explorer.alignment.a]")) if j >= 0]
    assert len(pairs) > 20 and pairs == sorted(pairs) and len({j for _, j in pairs}) == len(pairs)
    operations = [(rows[0][i]["text"].split()[0], rows[1][j]["text"].split()[0]) for i, j in pairs]
    assert all(a == b or a[0] == "@" for a, b in operations)
    i, j = next((i, j) for i, j in pairs if "LDG" in rows[0][i]["text"])
    page.page.evaluate(f"explorer.sass.reveal({i}, true)")
    page.page.click(f'[aria-label="SASS of 3.cubin"] [data-index="{i}"]', position={"x": 8, "y": 8})
    assert page.rows("SASS of 1.cubin", "p-hit")[0].endswith(rows[1][j]["text"])
    assert page.said == []


def plain_page(browser: Any, file: Path) -> tuple[Any, list[str], float]:
    """An open page, what it wrote to the console or asked for, and seconds of the browser's main thread until it was ready."""
    said: list[str] = []
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.on("console", lambda m: said.append(m.text) if m.type in ("error", "warning") else None)
    page.on("pageerror", lambda e: said.append(str(e)))
    page.on("request", lambda r: None if r.url.startswith("file:") else said.append(r.url))
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    page.goto(file.as_uri())
    page.wait_for_selector("#page[data-ready]", timeout=60_000)
    metrics = session.send("Performance.getMetrics")["metrics"]
    return page, said, float(next(m["value"] for m in metrics if m["name"] == "TaskDuration"))


def test_reference_page(browser: Any, tmp_path: Path) -> None:
    """The instruction reference opens in a second, fits, finds by PTX and by SM, and shows the bits of the chosen form."""
    file = tmp_path / "isa.html"
    file.write_text(page("reference", "SASS instructions", reference_data(all_tables())), encoding="utf-8")
    view, said, opened = plain_page(browser, file)
    assert opened < 1.0, opened
    assert view.evaluate("document.documentElement.scrollWidth <= innerWidth")
    count = len({m for name in all_tables() for m in load(name).raw.mnemonics()})
    assert view.inner_text("[role=status]") == f"{count} of {count}"
    view.fill('[aria-label="Search"]', "bar.sync")
    assert "BAR" in view.eval_on_selector_all(".names a", "rows => rows.map(a => a.dataset.name)")
    view.fill('[aria-label="Search"]', "")
    view.select_option('[aria-label="SM"]', label="sm_75")
    names = view.eval_on_selector_all(".names a", "rows => rows.map(a => a.dataset.name)")
    assert sorted(names) == sorted(load("sm_75").raw.mnemonics())
    view.click('.names a[data-name="IADD3"]')
    view.wait_for_function("document.querySelector('.detail h2').innerText === 'IADD3'")
    assert view.locator(".bit").count() == 128 and "def iadd3" in view.inner_text(".source")
    view.hover(".fields tr >> nth=0")
    first = view.get_attribute(".fields tr >> nth=0", "data-field")
    assert view.locator(f'.bit.hot[data-field="{first}"]').count() == view.locator(".bit.hot").count() == 8
    if PICTURES:
        Path(PICTURES).mkdir(parents=True, exist_ok=True)
        view.screenshot(path=str(Path(PICTURES) / "reference.png"))
    assert said == []


def test_perf_page(browser: Any, tmp_path: Path) -> None:
    """The report of a run as a page: its figures are the report's; two reports have a comparison."""
    data = orias.compile((KERNELS / "ptx/reduce.ptx").read_text(), arch="sm_80").data
    (code,) = kernels(data)
    made = json.loads(json.dumps(report(code, 256, 0, None)))
    for reports in ([made], [made, made]):
        file = tmp_path / "perf.html"
        file.write_text(perf_page(reports), encoding="utf-8")
        view, said, _ = plain_page(browser, file)
        text = view.inner_text("#page")
        assert f"{made['registers']} registers" in text and f"limited by {made['occupancy']['limit']}" in text
        assert ("Comparison" in text) == (len(reports) == 2)
        rows = view.locator("article >> nth=0 >> section >> nth=0 >> tbody tr").count()
        assert rows == len(made["loops"]) and view.locator(".trow").count() > 10
        assert view.evaluate("document.documentElement.scrollWidth <= innerWidth") and said == []
    if PICTURES:
        view.screenshot(path=str(Path(PICTURES) / "perf.png"))


@pytest.mark.skipif(not PICTURES, reason="ORIAS_SCREENSHOTS names no folder for the screenshots")
@pytest.mark.parametrize("kernel", ["reduce", "softmax", "matmul", "spills"])
def test_screenshots(browser: Any, tmp_path: Path, kernel: str) -> None:
    """Every panel of four kernels, light, and the first dark."""
    options = Options("sm_80")
    if kernel == "spills":
        options.maxrregcount = 24
        text = programs.crowded(40)
    else:
        name = {"reduce": "ptx/reduce", "softmax": "matrix/ptx/softmax_f32", "matmul": "matrix/ptx/matmul_f16"}[kernel]
        text = (KERNELS / f"{name}.ptx").read_text()
    page = Page(browser, saved(tmp_path, kernel, explore(f"{kernel}.ptx", text.encode(), options)))
    folder = Path(PICTURES)
    folder.mkdir(parents=True, exist_ok=True)
    waits = "[...explorer.section.instructions].sort((a, b) => b.total - a.total)[0].index"
    page.page.evaluate(f"explorer.pin({{kind: 'sass', index: {waits}}}, '')")
    for panel in PANELS:
        page.page.click(f"#tab-{panel}")
        page.page.wait_for_timeout(200)
        page.page.screenshot(path=str(folder / f"{kernel}-{panel}.png"))
    page.page.keyboard.press("t")
    page.page.screenshot(path=str(folder / f"{kernel}-dark.png"))
    assert page.said == []
