"""``orias fuzz``: tests random programs up to a time or a number."""

import gc
import json
import shutil
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Final, NamedTuple

from orias.progress import Bar
from orias.spread import cluster, spread
from orias.tools.fuzz.generate import generate
from orias.tools.fuzz.judge import BOTH, INVALID, KNOWN, OURS, REFUSED, THEIRS, Verdict, judge

USAGE: Final = """\
usage: orias fuzz [--seed N] [--count N] [--seconds S] [--budget N,...] [--arch sm_NN,...] [--levels 0,1,3]
                  [--registers N,...] [--ptxas PATH|none] [--phases] [--jobs N | --scheduler ADDRESS] [--out DIR] [--log FILE] [--json] [--quiet]

Compiles random programs, runs them in the simulator and compares with their meaning as PTX, and with ptxas's code where a ptxas is
there (--ptxas; the one of PATH unless given).  Each program has a seed; seeds rise from --seed on, and targets, levels, budgets
(statements of a program) and limits of registers (0, none, unless given) rotate.  Ends after --count programs or --seconds (60 unless given; 0: no limit).  --phases also runs the
Ori of every phase.  Programs that are wrong are written to --out; where a known fault of ptxas explains a difference, that fault is
counted.  --log: a line for each, and the counts every hundred programs.  --jobs: processes; --scheduler: the Dask cluster of this
scheduler (needs the extra "cluster").  Exit code 1 if Orias compiled a program wrong, or a process died of one.
"""

_ALLOCATIONS: Final = 100_000
"""New objects between two collections of the youngest generation."""

DIED: Final = "died"
"""The kind of a program that its process died of, which only a campaign sees."""
_AHEAD: Final = 256
"""Programs under way at a time over a cluster, whose width nobody says."""


class Turn(NamedTuple):
    """One program of a campaign: the arguments of `judge`."""

    seed: int
    arch: str
    level: int
    budget: int
    ptxas: str
    phases: bool
    registers: int


class Settings:
    """The options; ValueError for an unknown one or a value that is no number."""

    def __init__(self, arguments: list[str]) -> None:
        self.seed, self.count, self.seconds, self.budgets = 1, 0, 60.0, [8, 40, 8, 20]
        self.arches = ["sm_75", "sm_80", "sm_90", "sm_86", "sm_89", "sm_100a", "sm_120a", "sm_103a", "sm_110a"]
        self.levels = [3, 0, 1, 2]
        self.registers = [0]
        self.ptxas = shutil.which("ptxas") or ""
        self.phases = self.json = self.quiet = False
        self.out = self.log = self.scheduler = ""
        self.jobs = 1
        rest = list(arguments)
        while rest:
            a = rest.pop(0)
            if a in ("--phases", "--json", "--quiet"):
                setattr(self, a[2:], True)
                continue
            if not rest:
                raise ValueError(f"option {a} needs a value")
            self._value(a, rest.pop(0))

    def _value(self, name: str, value: str) -> None:
        try:
            self._set(name, value)
        except ValueError as e:
            if "unknown" in str(e):
                raise
            raise ValueError(f"option {name} does not take '{value}'") from None

    def _set(self, name: str, value: str) -> None:
        if name in ("--seed", "--count", "--jobs"):
            setattr(self, name[2:], int(value))
        elif name == "--seconds":
            self.seconds = float(value)
        elif name == "--arch":
            self.arches = value.split(",")
        elif name in ("--levels", "--budget", "--registers"):
            numbers = [int(x) for x in value.split(",")]
            setattr(self, "budgets" if name == "--budget" else name[2:], numbers)
        elif name == "--ptxas":
            self.ptxas = "" if value == "none" else value
        elif name in ("--out", "--log", "--scheduler"):
            setattr(self, name[2:], value)
        else:
            raise ValueError(f"unknown option {name}")


def turns(s: Settings) -> Iterator[Turn]:
    """The programs of a campaign, up to its number or time; targets rotate first, then levels, budgets and limits of registers."""
    start = time.monotonic()
    n = 0
    while (not s.count or n < s.count) and (not s.seconds or time.monotonic() - start < s.seconds):
        turn = n // len(s.arches)
        level, turn = s.levels[turn % len(s.levels)], turn // len(s.levels)
        budget, turn = s.budgets[turn % len(s.budgets)], turn // len(s.budgets)
        registers = s.registers[turn % len(s.registers)]
        yield Turn(s.seed + n, s.arches[n % len(s.arches)], level, budget, s.ptxas, s.phases, registers)
        n += 1


def _collect_less() -> None:
    """Decoded instructions and closures live to the end; their traversal by the collector took a quarter of the time."""
    if gc.get_threshold()[0] != _ALLOCATIONS:
        gc.freeze()
        gc.set_threshold(_ALLOCATIONS, 10, 10)


def judge_turn(turn: Turn) -> Verdict:
    """Judge one program in a process that does nothing else."""
    _collect_less()
    return judge(*turn)


def _verdicts(s: Settings, given: list[Turn]) -> Iterator[tuple[Turn, Verdict]]:
    """Every program with its verdict, in the order in which they end; `given` gets the programs as they begin."""

    def begun() -> Iterator[Turn]:
        for turn in turns(s):
            given.append(turn)
            yield turn

    with ExitStack() as stack:
        results: Iterable[tuple[int, Verdict | Exception]]
        if s.scheduler:
            executor = stack.enter_context(cluster(s.scheduler))
            results = spread(judge_turn, begun(), jobs=1, executor=executor, ahead=_AHEAD)
        elif s.jobs > 1:
            results = spread(judge_turn, begun(), jobs=s.jobs)
        else:
            results = ((n, judge(*turn)) for n, turn in enumerate(begun()))
        for n, v in results:
            turn = given[n]
            yield turn, Verdict(*turn[:3], DIED, str(v)) if isinstance(v, Exception) else v


def campaign(s: Settings) -> tuple[Counter[str], list[Verdict]]:
    """Runs programs; returns the counts by kind, and the verdicts to report, by seed.  NoCluster if there is none at the address."""
    counts: Counter[str] = Counter()
    notable: list[Verdict] = []
    bar = Bar(s.quiet or s.json)
    start = time.monotonic()
    for n, (turn, v) in enumerate(_verdicts(s, []), 1):
        counts[f"{v.kind}: {v.detail}" if v.kind == KNOWN else v.kind] += 1
        if v.kind in (OURS, THEIRS, BOTH, INVALID, REFUSED, DIED):
            notable.append(v)
            _note(
                s.log,
                f"seed {turn.seed} budget {turn.budget} {turn.arch} -O{turn.level} {turn.registers} registers: {v.kind}: {v.detail}",
            )
            if s.out:
                folder = Path(s.out)
                folder.mkdir(parents=True, exist_ok=True)
                name = f"{v.kind.replace(' ', '_')}-{v.seed}-{v.arch}-O{v.level}.ptx"
                text = v.text or generate(turn.seed, turn.budget, turn.arch)
                (folder / name).write_text(f"// {v.detail}\n".replace("\n", " ") + "\n" + text, encoding="utf-8")
        if n % 100 == 0:
            _note(s.log, f"{n} programs from seed {s.seed} on: {dict(counts)}")
        done, total = (n, s.count) if s.count else (int(time.monotonic() - start), int(s.seconds))
        bar(min(done, total), total, f"{n} programs, {counts[OURS]} wrong")
    return counts, sorted(notable, key=lambda v: v.seed)


def _note(path: str, line: str) -> None:
    if path:
        with Path(path).open("a", encoding="utf-8") as f:
            f.write(line + "\n")


def main(arguments: list[str]) -> int:
    """Runs the command; ValueError for an unknown option or a value that is no number."""
    if "-h" in arguments or "--help" in arguments:
        sys.stdout.write(USAGE)
        return 0
    s = Settings(arguments)
    _collect_less()
    counts, notable = campaign(s)
    if s.json:
        out = [{"seed": v.seed, "arch": v.arch, "level": v.level, "kind": v.kind, "detail": v.detail} for v in notable]
        sys.stdout.write(json.dumps({"counts": counts, "notable": out}, indent=1) + "\n")
    else:
        for v in notable:
            sys.stdout.write(f"seed {v.seed} {v.arch} -O{v.level}: {v.kind}: {v.detail[:300]}\n")
        sys.stdout.write(", ".join(f"{n} {k}" for k, n in sorted(counts.items())) + "\n")
    return 1 if counts[OURS] or counts[DIED] else 0
