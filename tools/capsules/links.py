"""``python -m tools.capsules.links``: random programs as two objects, ours or ptxas's, linked by nvlink and run.

A program with functions is divided: some functions are in the second object, with the variables.  One without is linked with
the object of another program, whose kernel is ``k2``.  They are linked for the sibling SM, or with ``--own`` for their own, where an object may have no
capsules.  The linked code must do, in the simulator, what the PTX says.
"""

import argparse
import random
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from orias.check import check_cubin
from orias.compiler import compile_text
from orias.diag import CompileError
from orias.options import Options
from orias.sim.core.sim_errors import SimError
from orias.tools.fuzz.generate import generate
from orias.tools.fuzz.judge import case_of
from orias.tools.validate.verify_compile import Verifier, ptx_outcome
from tests.nvtools import tool
from tools.capsules.finalising import FAMILY

LIMIT_S = 20.0
"""Time for ptxas and for nvlink."""
LEVELS = (0, 1, 3)
MIXTURES = ("oo", "op", "po")
"""Whose the two objects are: ours (o) or ptxas's (p)."""
_OTHER = 1 << 20
"""Distance of the seed of the second program of two."""
_VARIABLE = re.compile(r"^\.(global|const) ([^=;]*?)( = [^;]*)?;$", re.MULTILINE)
_FUNCTION = re.compile(r"^\.func .*?^ret;\n\}\n", re.MULTILINE | re.DOTALL)
_SHARED_NAME = re.compile(r"\b(input|values|table)\b")
"""Variables of random programs; the simulator compares variables by name, so those of two programs differ."""


def divided(text: str, seed: int) -> tuple[str, str]:
    """The two modules of a program with functions: the kernel and some functions; the other functions and the variables."""
    functions = _FUNCTION.findall(text)
    rest = _FUNCTION.sub("", text)
    at = rest.index(".address_size 64\n") + len(".address_size 64\n")
    head, body = rest[:at], rest[at:]
    kernel = body[body.index(".visible .entry") :]
    variables = _VARIABLE.findall(body[: -len(kernel)])
    here = "".join(f".visible .{space} {what}{value};\n" for space, what, value in variables)
    there = "".join(f".extern .{space} {what};\n" for space, what, _ in variables)
    rng = random.Random(seed)
    moved = rng.sample(range(len(functions)), rng.randint(1, len(functions)))

    def module(mine: bool, variables_: str) -> str:
        parts = [
            f".visible {f}" if (k in moved) != mine else f".extern {f[: f.index(chr(10))]};\n"
            for k, f in enumerate(functions)
        ]
        return head + variables_ + "".join(parts)

    return module(True, there) + kernel, module(False, here)


def modules(seed: int, budget: int, arch: str) -> tuple[tuple[str, str], list[tuple[str, str, int]]]:
    """The two modules of a seed, and for each of their kernels the name, the whole PTX and the seed of its data."""
    text = generate(seed, budget, arch)
    if _FUNCTION.search(text):
        return divided(text, seed), [("k", text, seed)]
    other = _SHARED_NAME.sub(r"\g<0>_2", generate(seed + _OTHER, budget, arch)).replace(" .entry k(", " .entry k2(")
    return (text, other), [("k", text, seed), ("k2", other, seed + _OTHER)]


def object_of(text: str, arch: str, level: int, ours: bool, path: Path, capsules: str = "allow") -> str:
    """Write an object; empty, or why there is none, or why it has no capsules."""
    if ours:
        o = Options(arch, level)
        o.compile_only, o.fmad, o.capsules = True, False, capsules
        try:
            done = compile_text([("a.ptx", text)], o)
        except CompileError as e:
            return f"refused: {e.diagnostics[0].message}"
        path.write_bytes(done.data)
        return f"no capsules: {done.no_capsule}" if done.no_capsule else ""
    source = path.with_suffix(".ptx")
    source.write_text(text, encoding="utf-8")
    command = [tool("ptxas"), "-c", f"-arch={arch}", f"-O{level}", "-fmad=false", str(source), "-o", str(path)]
    try:
        run = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    except subprocess.TimeoutExpired:
        return "ptxas: time limit"
    return "" if run.returncode == 0 else f"ptxas: {run.stderr.strip()[:200]}"


def link(objects: list[Path], arch: str, out: Path) -> str:
    """Link objects for an SM; empty, or what became of it."""
    out.unlink(missing_ok=True)
    command = [tool("nvlink"), f"-arch={arch}", *(str(o) for o in objects), "-o", str(out)]
    try:
        run = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    except subprocess.TimeoutExpired:
        return "nvlink does not end"
    if run.returncode or not out.exists():
        return f"nvlink ends with {run.returncode} {(run.stdout + run.stderr).strip()[:200]}"
    return ""


def wrong_results(kernels: list[tuple[str, str, int]], arch: str, data: bytes) -> str:
    """What finalised kernels do otherwise than their PTX, or their first hazard; empty: nothing."""
    hazards = [h.line() for h in check_cubin(data) if h.rule != "unknown"]
    if hazards:
        return f"hazard: {hazards[0]}"
    for name, text, seed in kernels:
        try:
            v = Verifier(text, Options(arch), data)
            case = case_of(seed, v.module)
            case.kernel = name
            want = ptx_outcome(v.module, arch, case, v.image)
            if want.error is not None:
                continue
            found = v.compare(name, case, want, False)
        except SimError as e:
            return f"{name} cannot be run: {e}"
        if found is not None:
            return f"{name}: {found.text()}"
    return ""


class Links:
    """Counts, and what was wrong: seed, level, mixture, what; ``faults``: what is wrong with both objects ptxas's, too."""

    def __init__(self, arch: str, own: bool, folder: Path, keep: Path | None) -> None:
        self.arch, self.folder, self.keep = arch, folder, keep
        self.to = arch if own else FAMILY[arch]
        self.counts: Counter[str] = Counter()
        self.refusals: Counter[str] = Counter()
        self.wrong: list[str] = []
        self.faults: list[str] = []

    def one(self, seed: int, budget: int, level: int, mixtures: tuple[str, ...]) -> None:
        """Link the objects of a seed in every mixture."""
        texts, kernels = modules(seed, budget, self.arch)
        for old in self.folder.glob("*.o"):
            old.unlink()
        objects: dict[str, Path] = {}
        for k, text in enumerate(texts):
            for whose in "op":
                path = self.folder / f"{k}{whose}.o"
                why = object_of(text, self.arch, level, whose == "o", path)
                if why.startswith("no capsules") and self.to == self.arch:
                    self.counts["objects without capsules"] += 1
                    why = ""
                if why:
                    self.refusals[re.sub(r"has at .*? an|0x[0-9a-f]+", "", why)[:110]] += 1
                else:
                    objects[f"{k}{whose}"] = path
        for mixture in mixtures:
            chosen = [objects.get(f"{k}{whose}") for k, whose in enumerate(mixture)]
            if None in chosen:
                self.counts[f"{mixture} without"] += 1
                continue
            self._link(seed, level, mixture, [c for c in chosen if c is not None], kernels)

    def _link(
        self, seed: int, level: int, mixture: str, objects: list[Path], kernels: list[tuple[str, str, int]]
    ) -> None:
        out = self.folder / "linked.cubin"
        where = f"seed {seed} -O{level} {mixture}"
        why = link(objects, self.to, out)
        if not why:
            why = wrong_results(kernels, self.to, out.read_bytes())
        theirs = [self.folder / f"{k}p.o" for k in range(2)]
        if why and all(p.exists() for p in theirs) and not link(theirs, self.to, out):
            also = wrong_results(kernels, self.to, out.read_bytes())
            if also:
                self.counts[f"{mixture} wrong with ptxas's objects too"] += 1
                self.faults.append(f"{where}: {why}; ptxas's: {also}")
                return
        self.counts[f"{mixture} {'wrong' if why else 'right'}"] += 1
        if why:
            self.wrong.append(f"{where}: {why}")
            if self.keep is not None:
                self.keep.mkdir(parents=True, exist_ok=True)
                for o in objects:
                    (self.keep / f"{seed}-{level}-{mixture}-{o.name}").write_bytes(o.read_bytes())


def main(arguments: list[str]) -> int:
    """The command line; exit code 1 if a link of ours is wrong."""
    parser = argparse.ArgumentParser(prog="python -m tools.capsules.links", description=__doc__)
    parser.add_argument("--arch", default="sm_100", choices=sorted(FAMILY))
    parser.add_argument("--own", action="store_true", help="link for the SM of the objects")
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--budgets", default="8,20", help="statements of programs, in turn")
    parser.add_argument("--mixtures", default=",".join(MIXTURES), help="whose the objects are: o ours, p ptxas's")
    parser.add_argument("--seconds", type=float, default=150.0)
    parser.add_argument("--out", type=Path, help="a folder for objects whose link is wrong")
    o = parser.parse_args(arguments)
    start = time.monotonic()
    budgets = [int(b) for b in o.budgets.split(",")]
    done = 0
    with tempfile.TemporaryDirectory() as folder:
        links = Links(o.arch, o.own, Path(folder), o.out)
        for seed in range(o.first, o.first + o.count):
            if time.monotonic() - start > o.seconds:
                break
            links.one(seed, budgets[seed % len(budgets)], LEVELS[seed % len(LEVELS)], tuple(o.mixtures.split(",")))
            done += 1
    seconds = time.monotonic() - start
    print(f"{o.arch} to {links.to}, {done} seeds: {dict(sorted(links.counts.items()))}, {seconds:.0f} s")
    for text in links.wrong:
        print(f"WRONG {text}")
    for text in links.faults:
        print(f"ptxas too: {text}")
    for why, n in links.refusals.most_common():
        print(f"{n} objects: {why}")
    return 1 if links.wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
