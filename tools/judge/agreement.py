"""The agreement matrix: every one-instruction program and kernel of the tests, on PTX, Ori after each phase, our SASS and ptxas's.

usage: python -m tools.judge.agreement RESULTS.jsonl [--arch sm_75,...] [--levels 0,1,3] [--suites integer,...] [--phases N]
                                       [--part I/N] [--until HH:MM] [--table] [--json] [--quiet]

Each module, target and level gives a line of RESULTS, with counts and failures by machine; what stands there already is not run again, so
that a run can be stopped and goes on later.  Ori's phases are run for every Nth module (--phases, 4 unless told; 0: none).  --table
prints what RESULTS holds and runs nothing.
"""

import json
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from orias.diag import CompileError
from orias.options import Options
from orias.progress import Bar
from orias.ptx.parser import parse
from orias.sim import SimError, load
from orias.sim.ori import OriImage
from orias.sim.ptx import PtxImage
from orias.tools.validate.stages import Stages, before_convergence
from tests.forms.run import ptxas_cubin
from tools.judge.subjects import Group, groups

ARCHES = ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_90a")
LEVELS = (0, 1, 3)
MACHINES = ("PTX", "Ori", "ours", "ptxas")


class Tally:
    """Counts of one module on one machine after another."""

    def __init__(self) -> None:
        self.right: Counter[str] = Counter()
        self.wrong: list[str] = []

    def run(self, machine: str, what: str, check: Any, image: Any) -> None:
        """One program on one image."""
        try:
            bad = check(image)
        except (SimError, ArithmeticError, LookupError, ValueError, AssertionError) as e:
            bad = f"{type(e).__name__} {e}"
        if bad:
            self.wrong.append(f"{machine}: {what}: {bad}"[:300])
        else:
            self.right[machine] += 1


def judge(group: Group, arch: str, level: int, phases: bool) -> dict[str, Any]:
    """The line of one module."""
    tally = Tally()
    text = group.text()
    names = [k for k, _ in group.programs]
    stages: Stages | None = None
    ptx = PtxImage(parse(text, "agreement.ptx"), arch)
    for kernel, check in group.programs:
        tally.run("PTX", kernel, check, ptx)
    try:
        stages = Stages(text, Options(arch, level))
    except (CompileError, AssertionError, LookupError, ValueError, TypeError, AttributeError) as e:
        tally.wrong.append(f"ours: {type(e).__name__} {e}"[:300])
    if stages is not None:
        image = load(stages.cubin.data)
        for kernel, check in group.programs:
            tally.run("ours", kernel, check, image)
        for kernel, check in group.programs if phases else []:
            for phase, funcs in stages.kernel_stages(kernel):
                tally.run(
                    "Ori",
                    f"{kernel} {phase}",
                    check,
                    OriImage(stages.cubin.data, kernel, funcs, before_convergence(phase)),
                )
    if group.judged:
        try:
            theirs = load(ptxas_cubin(text, arch, level))
        except (RuntimeError, SimError) as e:
            tally.wrong.append(f"ptxas: {e}"[:300])
        else:
            for kernel, check in group.programs:
                tally.run("ptxas", kernel, check, theirs)
    return {
        "group": group.name, "arch": arch, "level": level, "phases": phases, "programs": len(names), "right": tally.right,
        "wrong": tally.wrong,
    }  # fmt: skip


def plan(given: "Settings") -> list[tuple[Group, str, int, bool]]:
    """Modules in an order in which any beginning is a sample of everything."""
    out: list[tuple[tuple[int, int], Group, str, int, bool]] = []
    for arch in given.arches:
        turn: Counter[str] = Counter()
        for group in groups(arch):
            suite = group.name.split("/")[0]
            if given.suites and suite not in given.suites:
                continue
            k = turn[suite]
            turn[suite] += 1
            for level in given.levels:
                every = given.phases and (k + level + ARCHES.index(arch)) % given.phases == 0
                # a bit reversal spreads the turns over the whole suite
                out.append(((int(f"{k:012b}"[::-1], 2), level), group, arch, level, bool(every)))
    out.sort(key=lambda x: (x[0], x[2]))
    return [x[1:] for x in out[given.part[0] :: given.part[1]]]


def table(lines: list[dict[str, Any]]) -> str:
    """A row a suite and target: programs times levels, then what was right by machine, and the failures."""
    rows: dict[tuple[str, str], Counter[str]] = {}
    for x in lines:
        row = rows.setdefault((x["group"].split("/")[0], x["arch"]), Counter())
        row["programs"] += x["programs"]
        row.update(x["right"])
        row.update({f"wrong {m}": sum(w.startswith(m + ":") for w in x["wrong"]) for m in MACHINES})
    out = ["| suite | target | programs x levels | " + " | ".join(f"{m} right / wrong" for m in MACHINES) + " |"]
    out.append("|---|---|---|" + "---|" * len(MACHINES))
    total: Counter[str] = Counter()
    for (suite, arch), row in sorted(rows.items()):
        total.update(row)
        out.append(f"| {suite} | {arch} | {row['programs']} | {_cells(row)} |")
    out.append(f"| all | | {total['programs']} | {_cells(total)} |")
    return "\n".join(out) + "\n"


def _cells(row: Counter[str]) -> str:
    return " | ".join(f"{row[m]} / {row['wrong ' + m]}" for m in MACHINES)


class Settings:
    """The options."""

    def __init__(self, arguments: list[str]) -> None:
        self.arches, self.levels = list(ARCHES), list(LEVELS)
        self.suites: list[str] = []
        self.phases, self.until = 4, ""
        self.part = (0, 1)
        self.table = self.json = self.quiet = False
        self.file = ""
        rest: Iterator[str] = iter(arguments)
        for a in rest:
            if a in ("--table", "--json", "--quiet"):
                setattr(self, a[2:], True)
            elif a in ("--arch", "--levels", "--suites", "--phases", "--part", "--until"):
                self._value(a, next(rest, ""))
            elif a.startswith("-") or self.file:
                raise SystemExit(__doc__)
            else:
                self.file = a
        if not self.file:
            raise SystemExit(__doc__)

    def _value(self, name: str, value: str) -> None:
        if name == "--arch":
            self.arches = value.split(",")
        elif name == "--levels":
            self.levels = [int(x) for x in value.split(",")]
        elif name == "--suites":
            self.suites = value.split(",")
        elif name == "--phases":
            self.phases = int(value)
        elif name == "--part":
            first, _, count = value.partition("/")
            self.part = (int(first), int(count))
        else:
            self.until = value


def main(arguments: list[str]) -> int:
    """Runs what is missing, prints the table; exit code 1 if anything disagrees."""
    given = Settings(arguments)
    path = Path(given.file)
    lines = [json.loads(x) for x in path.read_text().splitlines()] if path.exists() else []
    if not given.table:
        done = {(x["group"], x["arch"], x["level"]) for x in lines}
        todo = [x for x in plan(given) if (x[0].name, x[1], x[2]) not in done]
        bar = Bar(given.quiet or given.json)
        with path.open("a") as out:
            for n, (group, arch, level, phases) in enumerate(todo):
                if given.until and time.strftime("%H:%M") >= given.until:
                    break
                bar(n, len(todo), f"{group.name} {arch} -O{level}")
                line = judge(group, arch, level, phases)
                lines.append(line)
                out.write(json.dumps(line) + "\n")
                out.flush()
    wrong = [f"{x['group']} {x['arch']} -O{x['level']} {w}" for x in lines for w in x["wrong"]]
    if given.json:
        print(json.dumps({"lines": lines, "wrong": wrong}))
    else:
        print(table(lines) + "\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
