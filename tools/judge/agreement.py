"""The agreement matrix: every one-instruction program and kernel of the tests, on PTX, Ori after each phase, our SASS and ptxas's.

usage: python -m tools.judge.agreement RESULTS.jsonl [--arch sm_75,...] [--levels 0,1,3] [--family integer,...] [--phases N]
                                       [--until HH:MM] [--again] [--table | --detail] [--json] [--quiet]

Programs of a family that can share a module run in batches.  Each batch, target and level gives a line of RESULTS, with counts, failures by
machine and seconds of processor time (ptxas's not counted); what stands there already is not run again unless its text has changed, so that a run can be stopped and goes on later; --again
repeats the lines with failures.  Batches are spread over all families, so that any beginning is a sample of everything.  Code that two targets or levels have in common is run once
(:mod:`tools.judge.once`).  Ori's phases are run for every Nth batch (--phases, 1 unless told; 0: none).  Later targets than sm_90a (sm_100a, ...), with the PTX for sm_90, run if --arch names them.  --table prints what
RESULTS holds by family and by target, --detail by family, machine and target next to what there is to run; neither runs anything.
"""

import json
import sys
import time
import zlib
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from orias.diag import CompileError
from orias.options import Options
from orias.progress import Bar
from orias.ptx.parser import parse
from orias.sim import Image, SimError, load
from orias.sim.ori import OriImage
from orias.sim.ptx import PtxImage
from orias.target.profile import TARGETS
from orias.tools.validate.stages import Stages, before_convergence
from tests.forms.items import ARCHES, FAMILIES, Item, items, module
from tests.forms.run import ptxas_cubin
from tools.judge.clock import moment
from tools.judge.once import code_key, machine, stage_key

LEVELS = (0, 1, 3)
MACHINES = ("PTX", "Ori", "ours", "ptxas")
BATCH = 24
_FAULTS = (SimError, CompileError, ArithmeticError, LookupError, ValueError, AssertionError, TypeError, AttributeError)


class Batch(NamedTuple):
    """Items that share a module, or one alone."""

    name: str
    items: list[Item]

    @property
    def family(self) -> str:
        return self.items[0].family

    def part(self, arch: str) -> list[Item]:
        """Those for a target."""
        return [i for i in self.items if i.runs_on(arch)]

    def text(self, arch: str) -> str:
        return source(self.part(arch), arch)


def source(some: Sequence[Item], arch: str) -> str:
    """The module of items of a batch."""
    return some[0].source(arch) if len(some) == 1 else module(some, arch)


class _Launched:
    """An image that remembers which kernels were launched."""

    def __init__(self, image: Any) -> None:
        self._image = image
        self.names: set[str] = set()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._image, name)

    def launch(self, name: str, *args: Any, **options: Any) -> Any:
        self.names.add(name)
        return self._image.launch(name, *args, **options)


class Judge:
    """Runs the items of one batch; remembers what code has done."""

    def __init__(self) -> None:
        self._known: dict[Hashable, str] = {}
        self._kernels: dict[str, str] = {}
        self.right: Counter[str] = Counter()
        self.wrong: list[str] = []
        self.runs = 0
        """Launches that were not saved."""

    def line(self, batch: Batch, arch: str, level: int, phases: bool) -> dict[str, Any]:
        """Judge one target and level; the line of RESULTS."""
        self.right, self.wrong = Counter(), []
        start = time.process_time()
        some = batch.part(arch)
        for item in some:
            if item.interpreted:
                self._ptx(item, arch)
        self._ours(some, arch, level, phases)
        self._theirs([i for i in some if i.judges(arch)], arch, level)
        return {
            "group": batch.name, "arch": arch, "level": level, "phases": phases, "programs": len(some), "text": fingerprint(batch, arch),
            "right": self.right, "wrong": self.wrong, "seconds": round(time.process_time() - start, 2),
        }  # fmt: skip

    def _run(
        self, machine_: str, what: str, item: Item, key: Hashable | None, image: Callable[[], Any], kernel: str
    ) -> None:
        bad = self._known.get((item.name, key)) if key is not None else None
        if bad is None:
            self.runs += 1
            bad = _checked(item, image, kernel)
            self._known[item.name, key] = bad
        if bad:
            self.wrong.append(f"{machine_}: {what}: {bad}"[:400])
        else:
            self.right[machine_] += 1

    def _ptx(self, item: Item, arch: str) -> None:
        text = item.source(arch)

        def made() -> _Launched:
            seen.append(_Launched(PtxImage(parse(text, "agreement.ptx"), arch)))
            return seen[-1]

        seen: list[_Launched] = []
        self._run("PTX", item.name, item, ("PTX", machine(TARGETS[arch])), made, "k0")
        if seen and len(seen[0].names) == 1 and item.piece is None:
            self._kernels[item.name] = seen[0].names.pop()

    def _ours(self, some: list[Item], arch: str, level: int, phases: bool) -> None:
        try:
            stages = Stages(source(some, arch), Options(arch, level), phases=phases)
        except _FAULTS as e:
            self._apart("ours", some, e, lambda half: self._ours(half, arch, level, phases))
            return
        image = load(stages.cubin.data)
        for n, item in enumerate(some):
            kernel = self._kernel(image, item, n)
            self._run("ours", item.name, item, code_key(image, kernel), lambda: Image(image.reader), kernel)
            for phase, funcs in stages.kernel_stages(kernel) if phases else []:
                meets = before_convergence(phase)
                key = stage_key(image, kernel, funcs, meets)
                made = partial(OriImage, image.reader, kernel, funcs, meets)
                self._run("Ori", f"{item.name} {phase}", item, key, made, kernel)

    def _kernel(self, image: Any, item: Item, n: int) -> str:
        """The name of the kernel of the `n`-th item of a module."""
        return f"k{n}" if item.piece is not None else self._kernels.get(item.name, next(iter(image.kernels)))

    def _theirs(self, some: list[Item], arch: str, level: int) -> None:
        if not some:
            return
        try:
            image = load(ptxas_cubin(source(some, arch), arch, level))
        except (RuntimeError, SimError) as e:
            self._apart("ptxas", some, e, lambda half: self._theirs(half, arch, level))
            return
        for n, item in enumerate(some):
            kernel = self._kernel(image, item, n)
            self._run("ptxas", item.name, item, code_key(image, kernel), lambda: Image(image.reader), kernel)

    def _apart(self, machine_: str, some: list[Item], e: Exception, again: Callable[[list[Item]], None]) -> None:
        """A module that cannot be compiled: its halves, or the failure of one program."""
        if len(some) == 1:
            self.wrong.append(f"{machine_}: {some[0].name}: {type(e).__name__} {e}"[:400])
            return
        half = len(some) // 2
        again(some[:half])
        again(some[half:])


def _checked(item: Item, image: Callable[[], Any], kernel: str) -> str:
    try:
        return item.check(image(), kernel)
    except _FAULTS as e:
        return f"{type(e).__name__} {e}"


def fingerprint(batch: Batch, arch: str) -> int:
    """Changes with the programs' text."""
    return zlib.crc32(batch.text(arch).encode())


def batches(families: Sequence[str] = FAMILIES) -> list[Batch]:
    """All batches, in an order in which any beginning is a sample of everything."""
    out: list[tuple[float, Batch]] = []
    for family in families:
        mine = items([family])
        alone = any(i.piece is None for i in mine)
        count = len(mine) if alone else -(-len(mine) // (BATCH if family != "wgmma" else 6))
        bits = max(count - 1, 1).bit_length()
        for k in range(count):
            # Neighbours are alike: a batch takes its items from all over the family, and a bit reversal spreads the batches.
            turn = int(f"{k:0{bits}b}"[::-1], 2) / (1 << bits)
            out.append((turn, Batch(f"{family}/{k}", mine[k::count])))
    out.sort(key=lambda x: x[0])
    return [b for _, b in out]


def tables(lines: list[dict[str, Any]]) -> str:
    """A row a family, then a row a target: programs times levels, then what was right by machine, and the failures."""
    out = []
    for title in ("family", "target"):
        rows: dict[str, Counter[str]] = {}
        for x in lines:
            for name in (x["group"].split("/")[0] if title == "family" else x["arch"], "all"):
                row = rows.setdefault(name, Counter())
                row["programs"] += x["programs"]
                row.update(x["right"])
                row["disagree"] += len(x["wrong"])
        out += [
            f"| {title} | programs x levels | PTX | Ori after a phase | ours | ptxas | disagree |",
            "|---|---|---|---|---|---|---|",
        ]
        for name in sorted(rows, key=lambda n: (n == "all", n)):
            out.append(
                f"| {name} | " + " | ".join(str(rows[name][c]) for c in ("programs", *MACHINES, "disagree")) + " |"
            )
        out.append("")
    return "\n".join(out)


def detail(lines: list[dict[str, Any]], given: "Settings") -> str:
    """A row a family and compiler: what was right on each target, "of" all that there is where some has not run or is wrong."""
    right: Counter[tuple[str, str, str]] = Counter()
    for x in lines:
        for m in ("ours", "ptxas"):
            right[x["group"].split("/")[0], m, x["arch"]] += x["right"].get(m, 0)
    out = [f"| family | programs | compiler | {' | '.join(given.arches)} |", "|---" * (len(given.arches) + 3) + "|"]
    for family in given.families:
        mine = items([family])
        for m in ("ours", "ptxas"):
            cells = []
            for arch in given.arches:
                compiler = "orias" if m == "ours" else m
                programs = [i for i in mine if i.settings(compiler, arch)]
                all_, good = len(programs) * len(given.levels), right[family, m, arch]
                cells.append(str(good) if good == all_ else f"{good} of {all_}")
            out.append(f"| {family} | {len(mine)} | {m} | {' | '.join(cells)} |")
    return "\n".join(out) + "\n"


class Settings:
    """The options."""

    def __init__(self, arguments: list[str]) -> None:
        self.arches, self.levels = list(ARCHES), list(LEVELS)
        self.families = list(FAMILIES)
        self.phases, self.until = 1, ""
        self.again = self.table = self.detail = self.json = self.quiet = False
        self.file = ""
        rest: Iterator[str] = iter(arguments)
        for a in rest:
            if a in ("--again", "--table", "--detail", "--json", "--quiet"):
                setattr(self, a[2:], True)
            elif a in ("--arch", "--levels", "--family", "--phases", "--until"):
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
        elif name == "--family":
            self.families = value.split(",")
        elif name == "--phases":
            self.phases = int(value)
        else:
            self.until = value


def read(path: Path) -> dict[tuple[str, str, int], dict[str, Any]]:
    """The lines of a file; the last one of a batch, target and level counts."""
    lines = [json.loads(x) for x in path.read_text().splitlines()] if path.exists() else []
    return {(x["group"], x["arch"], x["level"]): x for x in lines}


def work(given: Settings, lines: dict[tuple[str, str, int], dict[str, Any]], out: Any) -> None:
    """Does what is missing; adds to the lines."""
    bar, end = Bar(given.quiet or given.json), moment(given.until)
    todo = batches(given.families)
    for n, batch in enumerate(todo):
        judge = Judge()
        for arch in given.arches:
            text = fingerprint(batch, arch) if batch.part(arch) else 0
            for level in given.levels if text else ():
                if time.time() >= end:
                    return
                known = lines.get((batch.name, arch, level))
                if known is not None and known["text"] == text and not (given.again and known["wrong"]):
                    continue
                bar(n, len(todo), f"{batch.name} {arch} -O{level}")
                phases = bool(given.phases) and n % given.phases == 0
                line = judge.line(batch, arch, level, phases)
                lines[batch.name, arch, level] = line
                out.write(json.dumps(line) + "\n")
                out.flush()


def main(arguments: list[str]) -> int:
    """Runs what is missing, prints the tables; exit code 1 if anything disagrees."""
    given = Settings(arguments)
    path = Path(given.file)
    lines = read(path)
    if not (given.table or given.detail):
        with path.open("a") as out:
            work(given, lines, out)
    wrong = [f"{x['group']} {x['arch']} -O{x['level']} {w}" for x in lines.values() for w in x["wrong"]]
    if given.json:
        print(json.dumps({"lines": list(lines.values()), "wrong": wrong}))
    else:
        print(
            (detail(list(lines.values()), given) if given.detail else tables(list(lines.values()))) + "\n".join(wrong)
        )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
