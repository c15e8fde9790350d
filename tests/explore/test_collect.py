"""The data of the explorer: every figure against the compiler's own, and links that lead to the same instruction."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

import orias
from orias.cli.main import run
from orias.compiler import compile_text
from orias.explore.collect import of_compile, of_cubin
from orias.explore.phase_history import Histories, _moved
from orias.options import Options
from orias.ori.text import dump
from orias.perf.kernel_steps import kernels
from orias.perf.report import report
from tests.explore import programs
from tests.nvtools import LIMIT_S, tool

KERNELS = Path(__file__).parents[1] / "kernels"
REDUCE = (KERNELS / "ptx/reduce.ptx").read_text()


@pytest.fixture(scope="module")
def reduce() -> tuple[dict[str, Any], bytes]:
    data, result = of_compile([("reduce.ptx", REDUCE)], Options("sm_80"))
    return json.loads(json.dumps(data)), result.data


def mnemonic(text: str) -> str:
    words = text.split()
    return words[1 if text.startswith("@") else 0].split(".")[0]


def test_moved_lines() -> None:
    """The fewest lines that have to change their place; lines that come or go do not count."""
    assert _moved([1, 2, 3, 4], [1, 2, 3, 4]) == 0
    assert _moved([1, 2, 3, 4, 5], [4, 1, 2, 9, 3, 5]) == 1
    assert _moved([1, 2, 3, 4], [4, 3, 2, 1]) == 3
    assert _moved([], [1]) == 0


def test_links(reduce: tuple[dict[str, Any], bytes]) -> None:
    """Each instruction of the SASS has the operation of the Ori instruction that it is linked to, and its PTX line."""
    data, _ = reduce
    (section,) = data["sections"]
    (function,) = section["functions"]
    history = data["histories"][function["history"]]
    lines = {uid: (text, line) for text, line, uid in history["lines"]}
    linked = [r for r in section["instructions"] if r["uid"]]
    assert len(linked) > 40
    for row in linked:
        text, line = lines[row["uid"]]
        assert mnemonic(row["text"]) in text and row["line"] == line
    padding = [r["text"] for r in section["instructions"] if not r["uid"]]
    assert all(t.startswith(("NOP", "BRA")) for t in padding)
    load = next(r for r in section["instructions"] if mnemonic(r["text"]) == "LDG")
    assert "ld.global" in data["ptx"][load["line"] - 1]


def test_phases_are_the_dumps() -> None:
    """The lines after a phase are those of a dump there, whether it changed something or not."""
    dumps: list[tuple[str, list[str]]] = []
    histories = Histories()

    def trace(phase: str, fn: Any) -> None:
        histories(phase, fn)
        body = dump(fn).splitlines()
        first = next(k for k, t in enumerate(body) if re.match(r"b\d+:", t))
        dumps.append((phase, [re.sub(r"( ; @\d+| ; preds.*| ; parted)", "", t.strip()) for t in body[first:]]))

    compile_text([("k.ptx", programs.UNKNOWN)], Options("sm_80"), trace)
    (h,) = histories.found
    now: list[int] = []
    for phase, (name, body) in zip(h.phases, dumps, strict=True):
        assert phase["name"] == name
        if phase["changed"]:
            now = [first + k for first, count in phase["lines"] for k in range(count)]
            assert phase["instructions"] == sum(1 for n in now if h.lines[n][2])
        assert [h.lines[n][0] for n in now] == body
    assert 3 < sum(p["changed"] for p in h.phases) < len(h.phases)


def test_figures(reduce: tuple[dict[str, Any], bytes]) -> None:
    """Registers, occupancy and the cycles of loops are those of the cubin and of ``orias perf``."""
    data, cubin = reduce
    (section,) = data["sections"]
    info = orias.compile(REDUCE, arch="sm_80").kernels["reduce"]
    assert section["registers"] == info.registers and len(section["instructions"]) >= info.instructions
    (code,) = kernels(cubin)
    theirs = report(code, section["threads"], 0, None)
    occ = section["occupancy"]
    assert {k: occ[k] for k in ("blocks", "warps", "limit", "most_warps")} == theirs["occupancy"]
    mine = {
        r["header"] * 16: (r["one_warp"], r["one_warp_far"], r["full_sm"], r["bound"])
        for r in section["regions"]
        if r["kind"] == "loop"
    }
    played = {a for a, (_, _, full, _) in mine.items() if full is not None}
    assert len(played) >= 2
    for x in theirs["loops"]:
        # A page plays the full SM for a few loops only.
        same = (x["one_warp"], x["one_warp_far"], *((x["full_sm"], x["bound"]) if x["address"] in played else ()))
        assert mine[x["address"]][: len(same)] == same
    assert set(mine) == {x["address"] for x in theirs["loops"]}
    assert len(mine) == 3
    waited = [sum(r.get("waited", {}).values()) for r in section["instructions"]]
    loads = {k for k, r in enumerate(section["instructions"]) if mnemonic(r["text"]) == "LDG"}
    slowest = waited.index(max(waited))
    assert loads & {s for _, s in section["instructions"][slowest]["waits_for"]}


def test_ranges_are_the_pressure(reduce: tuple[dict[str, Any], bytes]) -> None:
    """The stretches of registers say the same as the number of live registers of each instruction."""
    section = reduce[0]["sections"][0]
    count = [0] * len(section["instructions"])
    for name, flat in section["ranges"].items():
        if re.fullmatch(r"R\d+", name):
            for start, end in zip(flat[::2], flat[1::2], strict=True):
                for k in range(start, end):
                    count[k] += 1
    assert count == [r["live"] for r in section["instructions"]]
    assert max(count) == section["pressure"]["R"] <= section["registers"] - 2


def life_ranges(path: Path) -> dict[int, int]:
    """Address -> live R registers, as ``nvdisasm -plr`` counts them."""
    command = [tool("nvdisasm"), "-c", "-plr", str(path)]
    listing = subprocess.run(command, check=True, capture_output=True, text=True, timeout=LIMIT_S).stdout
    rows = re.findall(r"^\s+/\*([0-9a-f]+)\*/.*// \|\s*(\d*)", listing, re.MULTILINE)
    return {int(at, 16): int(count or 0) for at, count in rows}


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("name", ["bitonic", "fft"])
def test_pressure_is_that_of_nvdisasm(name: str, tmp_path: Path) -> None:
    """Live registers of every instruction of a cubin of ptxas, against the life ranges of ``nvdisasm``."""
    path = tmp_path / "x.cubin"
    command = [tool("ptxas"), str(KERNELS / f"ptx/{name}.ptx"), "-arch=sm_90", "-o", str(path)]
    subprocess.run(command, check=True, timeout=LIMIT_S)
    (section,) = of_cubin(path.read_bytes(), name)["sections"]
    theirs = life_ranges(path)
    ours = {r["address"]: r["live"] for r in section["instructions"]}
    code = [r["address"] for r in section["instructions"] if mnemonic(r["text"]) not in ("NOP", "BRA")]
    assert len(code) > 250 and {a: ours[a] for a in code} == {a: theirs[a] for a in code}


def test_memory_and_spills() -> None:
    """Widths of accesses, and accesses of local memory where registers are spilled."""
    options = Options("sm_80")
    options.maxrregcount = 24
    data, result = of_compile([("k.ptx", programs.crowded(40))], options)
    (section,) = data["sections"]
    local = [m for m in section["memory"] if m["space"] == "local"]
    assert section["spill_loads"] == result.kernels["k"].spill_loads > 0
    assert sum(m["bytes"] for m in local if m["kind"] == "load") == section["spill_loads"]
    assert {d["kind"] for d in data["remarks"]} >= {"registers", "spilled"}
    wide, _ = of_compile([("k.ptx", programs.NEIGHBOURS)], Options("sm_80"))
    assert [m["bytes"] for m in wide["sections"][0]["memory"] if m["space"] == "shared"] == [16]


def test_source_text(tmp_path: Path) -> None:
    """A source file that the line table names is part of the data, if it can be read."""
    source = tmp_path / "k.cu"
    source.write_text("first\nsecond\n")
    text = programs.ARM.replace("  mov.u32 %r5, %r1;", "  .loc 1 2 0\n  mov.u32 %r5, %r1;") + f'.file 1 "{source}"\n'
    data, _ = of_compile([("k.ptx", text)], Options("sm_80"))
    assert data["sources"] == {str(source): ["first", "second", ""]}
    assert any(r["file"] == str(source) and r["source_line"] == 2 for r in data["sections"][0]["instructions"])
    source.unlink()
    assert of_compile([("k.ptx", text)], Options("sm_80"))[0]["sources"] == {}


def test_python_interface(tmp_path: Path) -> None:
    """``cubin.explore()``: data with and without the PTX, the page, and the page in a notebook."""
    pytest.importorskip("jinja2")
    cubin = orias.compile(programs.COUNTED, arch="sm_80")
    found = cubin.explore()
    assert found.docs[0]["histories"] and found.remarks
    page = tmp_path / "k.html"
    found.save(page)
    text = page.read_text()
    assert text.startswith("<!doctype html>") and "<noscript>" in text
    assert not re.search(r"""(?:src|href)\s*=\s*["'](?!#)""", text.split('<script type="text/plain"')[0])
    assert found._repr_html_().startswith("<iframe srcdoc=")
    cubin.source = None
    alone = cubin.explore()
    assert alone.docs[0]["sections"][0]["registers"] == cubin.kernels["k"].registers and not alone.docs[0]["ptx"]
    assert len(json.loads(found.compare(alone).json())) == 2


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """``orias explore``: JSON of a PTX text, of a cubin, of two compiles; messages for what is wrong."""
    monkeypatch.chdir(tmp_path)
    Path("k.ptx").write_text(programs.COUNTED)
    assert run(["orias", "explore", "k.ptx", "--json"]) == 0
    one = json.loads(capsys.readouterr().out)
    assert one["target"] == "sm_80" and one["title"] == "k.ptx" and one["ptx"][0] == ".version 8.0"
    assert run(["orias", "k.ptx", "-arch=sm_90", "-o", "k.cubin"]) == 0
    assert run(["orias", "explore", "k.cubin", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["target"] == "sm_90"
    assert run(["orias", "explore", "k.ptx", "--json", "--and", "-O0"]) == 0
    a, b = json.loads(capsys.readouterr().out)
    assert (a["options"]["opt_level"], b["options"]["opt_level"]) == (3, 0) and b["title"] == "k.ptx -O0"
    assert not list(tmp_path.glob("*.html"))
    Path("wrong.ptx").write_text(".version 8.0\n.target sm_80\n.address_size 64\nnonsense\n")
    Path("wrong.cubin").write_bytes(b"\x7fELF" + bytes(40))
    for arguments, words in (
        (["wrong.ptx"], "wrong.ptx, line 4: "),
        (["wrong.cubin"], "wrong.cubin: "),
        (["none.ptx"], "No such file"),
        (["k.ptx", "-arch=sm_1"], "sm_1"),
        (["k.ptx", "k.ptx", "k.ptx"], "usage: "),
        (["k.ptx", "-o"], "argument expected"),
    ):
        assert run(["orias", "explore", "--json", *arguments]) == 255
        streams = capsys.readouterr()
        assert words in streams.err and "Traceback" not in streams.err and not streams.out
