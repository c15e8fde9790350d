"""Text cases of phases: Ori in, phases, Ori out, in files that are named after the module whose work they show.

A case is ``== name: steps``, the text before, ``=>``, the text after; ``ORIAS_BLESS=1 pytest FOLDER`` rewrites what comes after.
A step is a key of the pipeline's table of functions, or of STEPS below; ``-O0`` to ``-O3`` sets the level of those that follow.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from orias.diag import Unsupported
from orias.options import Options
from orias.ori.ir import Func
from orias.ori.text import dump, parse
from orias.ori.verify import verify
from orias.passes.setmaxnreg import expand_setmaxnreg
from orias.passes.wgmma_calls import note_blocking_calls
from orias.pipeline.functions import FUNCTIONS
from orias.schedule.texture_quads import reserve

ARROW = "=>\n"

STEPS: dict[str, Callable[[Func], object]] = {
    "setmaxnreg": lambda fn: expand_setmaxnreg(fn, 168),
    "setmaxnreg_ignored": lambda fn: expand_setmaxnreg(fn, 0),
    "wgmma_calls": lambda fn: note_blocking_calls([fn], False),
    "wgmma_calls_apart": lambda fn: note_blocking_calls([fn], True),
    "reserve_quads": lambda fn: reserve([fn]),
}
"""What the compiler does to all functions of a kernel before the phases."""


class Case(NamedTuple):
    """One case of a file."""

    name: str
    steps: str
    before: str
    after: str


def load(path: Path) -> list[Case]:
    """The cases of a file."""
    out = []
    for chunk in path.read_text(encoding="utf-8").split("== ")[1:]:
        head, body = chunk.split("\n", 1)
        name, steps = head.rsplit(":", 1)
        before, _, after = body.partition(ARROW)
        out.append(Case(name.strip(), steps.strip(), before, after))
    return out


def run_steps(steps: str, text: str) -> str:
    """The text of a function after some steps, or the refusal."""
    fn = parse(text)
    assert verify(fn) == []
    options = Options(opt_level=3)
    try:
        for step in steps.split():
            if step.startswith("-O"):
                options.opt_level = int(step[2:])
                continue
            if step in STEPS:
                STEPS[step](fn)
            else:
                FUNCTIONS[step](fn, options)
            assert verify(fn) == []
    except Unsupported as e:
        return f"refused: {e.message}\n"
    return dump(fn)


def judge(path: Path, case: Case) -> None:
    """Compare, or rewrite the expectations of the file."""
    if os.environ.get("ORIAS_BLESS"):
        write(path, load(path))
        return
    got = run_steps(case.steps, case.before)
    assert got.split() == case.after.split(), f"{case.name}:\n{got}"


def write(path: Path, cases: list[Case]) -> None:
    """Write a file of cases with what the phases do now."""
    texts = [f"== {c.name}: {c.steps}\n{c.before.rstrip()}\n{ARROW}{run_steps(c.steps, c.before)}" for c in cases]
    path.write_text("\n".join(texts), encoding="utf-8")


def all_cases(folder: Path) -> list[tuple[Path, Case]]:
    """All cases of all files of a folder."""
    return [(f, c) for f in sorted(folder.glob("*.txt")) for c in load(f)]


def case_ids(cases: list[tuple[Path, Case]]) -> list[str]:
    """Names for pytest."""
    return [f"{f.stem}-{c.name}" for f, c in cases]


def few_cases(folder: Path, package: Path, without: dict[str, str]) -> list[str]:
    """Modules of a package with fewer than three cases, but for those in `without`, which have no effect of their own."""
    counts = {f.stem: len(load(f)) for f in folder.glob("*.txt")}
    modules = {f.stem for f in package.glob("*.py")} - {"__init__"}
    assert without.keys() <= modules, f"no such modules: {without.keys() - modules}"
    assert counts.keys() <= modules, f"files of cases for no module: {counts.keys() - modules}"
    return [f"{m}: {counts.get(m, 0)} cases" for m in sorted(modules - without.keys()) if counts.get(m, 0) < 3]
