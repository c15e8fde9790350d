"""Counts, with -g, at which PTX lines registers can truly be found: the value is there when a thread is stopped at the line.

python -m tools.debug_info.true_places FILE.ptx ... [--arch sm_80] [--cases N]

The kernels of each file run on the PTX interpreter and on the cubins of ptxas and of Orias, with inputs as `orias verify` makes them.
A place is a function, a register and a PTX line that threads reach, where the table of registers names a place.  It is true if
at one of the line's instructions the place has the register's value there, in all threads looked at and all its words, and stale if
there is none such.  As in `compare_locals`, the register that the line writes is not counted.  Prints how many true and stale places
each compiler has, and at how many of ptxas's true places Orias has one too.  Files that one of them refuses (an extern function that
nothing defines) are counted and passed over.
"""

import argparse
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from functools import partial
from pathlib import Path

import orias
from orias.diag import CompileError
from orias.ptx.parser import parse
from orias.sim.core.sim_errors import SimError
from orias.tools.validate.case import Case
from orias.tools.validate.kernel_inputs import generate
from orias.tools.validate.run_case import run
from tests.debuginfo.stopped import Look, look_up
from tests.nvtools import tool
from tools.debug_info.compare_locals import Place, is_counted, target_of

THREADS = (0, 1, 5)
SKIPS = 12
"""PTX instructions in a row that may have no code of their own."""
VISITS = 8
"""How often a thread is looked at in one PTX instruction."""
SECONDS = 120


def judged(text: str, arch: str, folder: Path) -> bytes:
    """ptxas's cubin with -g; empty if it refuses the text."""
    source, out = folder / "k.ptx", folder / "k.cubin"
    source.write_text(text)
    out.unlink(missing_ok=True)
    command = [tool("ptxas"), f"-arch={arch}", "-g", str(source), "-o", str(out)]
    subprocess.run(command, capture_output=True, timeout=SECONDS, check=False)
    return out.read_bytes() if out.exists() else b""


def places(cubin: bytes, text: str, arch: str, cases: list[Case]) -> dict[Place, bool]:
    """Places that threads reach -> whether they are true."""
    looks: dict[tuple[Place, int], list[bool]] = defaultdict(list)

    def note(look: Look) -> None:
        looks[(look.key[0], look.name, look.key[1]), look.offset].append(look.right)

    for case in cases:
        look_up(cubin, text, arch, partial(run, case=case), list(THREADS), note, SKIPS, VISITS)
    lines = text.splitlines()
    out: dict[Place, bool] = {}
    for (place, _), right in looks.items():
        if is_counted(place, lines):
            out[place] = out.get(place, False) or all(right)
    return out


def compared(text: str, arch: str, turns: int, folder: Path) -> Counter[str]:
    """The numbers of one file."""
    module = parse(text, "k.ptx")
    sums: Counter[str] = Counter()
    theirs = judged(text, arch, folder)
    try:
        ours = orias.compile(text, arch=arch, debug=True).data
    except CompileError:
        sums["files refused by Orias"] += 1
        return sums
    if not theirs:
        sums["files refused by ptxas"] += 1
        return sums
    for f in module.functions:
        if not f.entry:
            continue
        cases = [generate(module, f, turn) for turn in range(turns)]
        try:
            a, b = (places(cubin, text, arch, cases) for cubin in (theirs, ours))
        except SimError as e:
            sums[f"not run: {type(e).__name__}"] += 1
            continue
        sums["kernels"] += 1
        there = {p for p, right in a.items() if right}
        here = {p for p, right in b.items() if right}
        sums["ptxas true"] += len(there)
        sums["ptxas stale"] += len(a) - len(there)
        sums["orias true"] += len(here)
        sums["orias stale"] += len(b) - len(here)
        sums["both true"] += len(there & here)
    return sums


def main() -> int:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("files", nargs="+", type=Path)
    p.add_argument("--arch", help="another target than the file's")
    p.add_argument("--cases", type=int, default=1, help="inputs for each kernel")
    a = p.parse_args()
    totals: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        for path in a.files:
            text = path.read_text()
            arch = target_of(text)
            text = text.replace(arch, a.arch, 1) if a.arch else text
            sums = compared(text, a.arch or arch, a.cases, Path(folder))
            totals += sums
            print(f"{path.name}: {', '.join(f'{k} {n}' for k, n in sums.items())}", flush=True)
    both, there = totals["both true"], totals["ptxas true"]
    print(
        f"{', '.join(f'{k} {n}' for k, n in totals.items())}: {100 * both / max(there, 1):.1f} % of ptxas's true places"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
