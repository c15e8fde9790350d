"""Runs every one-instruction program on every SM and remembers the results: ``python -m tests.forms.everything FILE``.

A run is a program, a compiler (ours or ptxas), a target and a level (-O3, -O0).  FILE takes one JSON line a run; a later start skips what
it holds, so the work can be stopped and taken up again, and a program whose text has changed runs anew.  ``--again`` repeats the
failures, ``--table`` prints the counts by family and target instead of running.
"""

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from tests.forms.items import ARCHES, COMPILERS, FAMILIES, LEVELS, Item, items


class Run(NamedTuple):
    """One line of the file."""

    family: str
    name: str
    compiler: str
    arch: str
    level: int
    text: int
    wrong: str

    def key(self) -> tuple[Any, ...]:
        return self[:-1]


def read(path: Path) -> dict[tuple[Any, ...], Run]:
    """The runs of a file by key; the last one of a key counts."""
    out = {}
    if path.exists():
        for line in path.read_text().splitlines():
            run = Run(*json.loads(line))
            out[run.key()] = run
    return out


class _Bar:
    """A progress bar on standard error; a line now and then where that is no terminal."""

    def __init__(self, total: int, done: int) -> None:
        self.total, self.done, self.first, self.bad = total, done, done, 0
        self.start = self.shown = time.monotonic()
        self.every = 0.2 if sys.stderr.isatty() else 60.0

    def step(self, wrong: bool, name: str) -> None:
        self.done += 1
        self.bad += wrong
        now = time.monotonic()
        if now - self.shown < self.every and self.done < self.total:
            return
        self.shown = now
        left = (now - self.start) / (self.done - self.first) * (self.total - self.done)
        full = 30 * self.done // self.total
        text = f"[{'#' * full}{'.' * (30 - full)}] {self.done}/{self.total}, {self.bad} wrong, {left / 60:.0f} min left  {name[:40]:40}"
        print(text, end="\r" if sys.stderr.isatty() else "\n", file=sys.stderr, flush=True)


def run_all(
    work: list[Item], path: Path, arches: Iterable[str], compilers: Iterable[str], levels: Iterable[int], again: bool
) -> list[Run]:
    """Run what the file does not hold; the failures."""
    old = read(path)
    todo: list[tuple[Item, str, str, int, int]] = []
    kept = []
    for item in work:
        text = item.key()
        for arch in arches:
            for compiler in compilers:
                for level in sorted(set(item.settings(compiler, arch)) & set(levels), reverse=True):
                    known = old.get((item.family, item.name, compiler, arch, level, text))
                    if known is None or (again and known.wrong):
                        todo.append((item, compiler, arch, level, text))
                    else:
                        kept.append(known)
    bar = _Bar(len(todo) + len(kept), len(kept))
    bad = [r for r in kept if r.wrong]
    with path.open("a", encoding="utf-8") as out:
        for item, compiler, arch, level, text in todo:
            try:
                wrong = item.run(compiler, arch, level)
            except Exception as e:
                wrong = f"{type(e).__name__}: {e}"
            run = Run(item.family, item.name, compiler, arch, level, text, wrong[:600])
            print(json.dumps(run), file=out, flush=True)
            if wrong:
                bad.append(run)
                print(f"{run.family} {run.name} {compiler} {arch} -O{level}: {wrong[:300]}", flush=True)
            bar.step(bool(wrong), item.name)
    return bad


def table(path: Path) -> str:
    """Runs by family, compiler and target as a table in Markdown: right ones, "of" all that there are to run if some are not."""
    everything = items()
    runs = read(path)
    wanted: Counter[tuple[str, str, str]] = Counter()
    right: Counter[tuple[str, str, str]] = Counter()
    programs: Counter[str] = Counter()
    for item in everything:
        programs[item.family] += 1
        for arch in ARCHES:
            for compiler in COMPILERS:
                for level in item.settings(compiler, arch):
                    run = runs.get((item.family, item.name, compiler, arch, level, item.key()))
                    wanted[item.family, compiler, arch] += 1
                    right[item.family, compiler, arch] += run is not None and not run.wrong
    lines = [f"| family | programs | compiler | {' | '.join(ARCHES)} |", "|---" * (len(ARCHES) + 3) + "|"]
    for family in FAMILIES:
        for compiler in COMPILERS:
            cells = []
            for arch in ARCHES:
                all_, good = wanted[family, compiler, arch], right[family, compiler, arch]
                cells.append(str(good) if good == all_ else f"{good} of {all_}")
            lines.append(f"| {family} | {programs[family]} | {compiler} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> int:
    """The command line; exit status 1 if something is wrong."""
    p = argparse.ArgumentParser(prog="python -m tests.forms.everything", description=__doc__)
    p.add_argument("file", type=Path)
    p.add_argument("--family", action="append", choices=FAMILIES)
    p.add_argument("--arch", action="append", choices=ARCHES)
    p.add_argument("--level", action="append", type=int, choices=(0, 3))
    p.add_argument("--compiler", action="append", choices=tuple(COMPILERS))
    p.add_argument("--again", action="store_true", help="repeat what failed")
    p.add_argument("--table", action="store_true", help="print the counts and do nothing else")
    a = p.parse_args()
    if a.table:
        print(table(a.file))
        return 0
    bad = run_all(
        items(a.family or FAMILIES),
        a.file,
        a.arch or ARCHES,
        a.compiler or tuple(COMPILERS),
        a.level or LEVELS,
        a.again,
    )
    print(f"\n{len(bad)} wrong")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
