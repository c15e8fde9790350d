"""Collects what there is to know of a compile, or of a finished cubin.

The result is plain data: a dictionary with ``title``, ``target``, ``ptx`` (lines; empty without), ``sources`` (file -> lines that could
be read), ``sections`` (:mod:`orias.explore.machine_code`), ``histories`` (of each function, :mod:`orias.explore.phase_history`),
``phases`` (name -> what it does), ``remarks`` (:mod:`orias.ori.decisions`), ``kinds`` (kind of remark -> what it tells) and ``advice_kinds`` (the same of advice).
"""

import copy
from pathlib import Path
from typing import Any, Final

from orias.compiler import compile_text
from orias.cubin.elf import ElfFile
from orias.explore.annotations import annotated
from orias.explore.machine_code import sections
from orias.explore.phase_history import FunctionHistory, Histories
from orias.explore.recorded_run import Launch, add_run
from orias.explore.resource_advice import KINDS as ADVICE
from orias.explore.resource_advice import advise
from orias.options import Options
from orias.ori.decisions import KINDS
from orias.output.result import CompileResult
from orias.pipeline.phases import PHASES
from orias.ptx.module_inputs import merge

Json = dict[str, Any]

_LARGEST_SOURCE: Final = 1 << 20
"""Bytes up to which a source file is put into the page."""


def of_compile(
    sources: list[tuple[str, str | bytes]], options: Options, title: str = "", launch: Launch | None = None
) -> tuple[Json, CompileResult]:
    """Compile PTX sources (name, text), and everything about it; CompileError if they cannot be compiled.

    With a launch the code is run in the simulator (:func:`orias.explore.recorded_run.add_run`).
    """
    wanted = copy.copy(options)
    wanted.remarks = True
    histories = Histories()
    result = compile_text(sources, wanted, histories)
    name, text = merge(sources, wanted.arch)
    shown = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
    data = _of_code(title or Path(name).name, result.data)
    data["ptx"] = shown.split("\n")
    data["options"] = {"arch": wanted.arch, "opt_level": wanted.opt_level}
    data["remarks"] = [d.record() for d in result.remarks]
    data["kinds"] = KINDS
    data["phases"] = {p.name: p.about for p in PHASES}
    data["histories"] = _join(data["sections"], histories.found)
    for s in data["sections"]:
        info = result.kernels.get(s["name"])
        if info is not None:
            s["spill_stores"], s["spill_loads"], s["stack"] = info.spill_stores, info.spill_loads, info.stack
    _finish(data, result.data, launch)
    return data, result


def of_cubin(data: bytes, title: str, launch: Launch | None = None) -> Json:
    """Everything about a finished cubin; CubinError, KeyError or Unsupported for a file that cannot be read."""
    out = _of_code(title, data)
    file = ElfFile(data)
    out["remarks"] = [d.record() for s in out["sections"] for d in annotated(file, s["name"])]
    out["kinds"] = KINDS
    _finish(out, data, launch)
    return out


def _finish(data: Json, cubin: bytes, launch: Launch | None) -> None:
    """Adds what a launch shows, and the advice, which needs the PTX lines of instructions."""
    if launch is not None:
        add_run(data["sections"], cubin, launch)
    for s in data["sections"]:
        s["advice"] = advise(s)


def _of_code(title: str, data: bytes) -> Json:
    found = sections(data)
    files = {row["file"] for s in found for row in s["instructions"] if row["file"]}
    return {
        "title": title, "target": found[0]["target"] if found else "", "bytes": len(data), "ptx": [], "sources": _readable(sorted(files)),
        "sections": found, "histories": [], "phases": {}, "remarks": [], "kinds": {}, "advice_kinds": ADVICE,
    }  # fmt: skip


def _readable(files: list[str]) -> dict[str, list[str]]:
    """The lines of the files that can be read, by name."""
    out: dict[str, list[str]] = {}
    for name in files:
        path = Path(name)
        try:
            if path.is_file() and path.stat().st_size <= _LARGEST_SOURCE:
                out[name] = path.read_text(encoding="utf-8", errors="replace").split("\n")
        except (OSError, ValueError):
            continue
    return out


def _join(found: list[Json], histories: list[FunctionHistory]) -> list[Json]:
    """Give each instruction its place in the history of its function, and each history its section.

    Sections are in the order in which their functions were compiled; the finished code of a function is its last state,
    instruction by instruction.
    """
    left = list(histories)
    out: list[Json] = []
    for s in found:
        rows = s["instructions"]
        for f in s["functions"]:
            history = next((h for h in left if h.name == f["name"]), None)
            if history is None:
                continue
            left.remove(history)
            f["history"] = len(out)
            out.append({**history.data(), "section": s["name"]})
            for row, (uid, line) in zip(rows[f["start"] : f["end"]], history.final, strict=False):
                row["uid"], row["line"] = uid, line
        for row in rows:
            row.setdefault("uid", 0)
    return out
