"""``python -m tools.capsules.finalised_kernels RESULTS.jsonl``: objects of the kernels of tests/kernels, finalised for the sibling, do there what they should.

An object for sm_100 becomes code for sm_103, one for sm_120 code for sm_121, at -O3, -O0 and -O1 in turn; nvdisasm and cuobjdump take both.
What stands in RESULTS is not done again.
"""

import argparse
import json
import random
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from orias.compiler import compile_text
from orias.diag import CompileError
from orias.options import Options
from orias.sim.core.sim_errors import SimError
from tests.kernels import test_kernels as plain
from tests.kernels.matrix import cases as matrix
from tests.kernels.varied.kernels import CASES as VARIED
from tests.kernels.varied.varied_cases import source as varied_source
from tests.nvtools import tool
from tools.capsules.campaign import differences
from tools.capsules.finalising import finalise

ARCHES = ("sm_100", "sm_120")
_LEVELS = (3, 0, 1)
_LIMIT_S = 120.0
_RIGHT = "right"


class Kernel(NamedTuple):
    """Folder and name of a kernel, its PTX, and what runs a cubin (AssertionError if a result is wrong)."""

    folder: str
    name: str
    text: str
    run: Callable[[bytes], None]


def _matrix(name: str) -> Kernel:
    text, shared = matrix.source(name)
    return Kernel("matrix", name, text, lambda cubin: matrix.CASES[name].make().run(cubin, shared))


def kernels() -> list[Kernel]:
    """All kernels, in an order that mixes the folders."""
    out = [Kernel("kernels", n, plain.source(n), lambda cubin, n=n: plain.run(n, cubin)) for n in plain.NAMES]
    out += [_matrix(n) for n in matrix.CASES]
    out += [Kernel("varied", n, varied_source(n), lambda cubin, n=n: VARIED[n]().run(cubin)) for n in VARIED]
    random.Random(13).shuffle(out)
    return out


def outcome(k: Kernel, arch: str, level: int, folder: Path) -> str:
    """``right``, or why not."""
    found = re.search(r"^\s*\.target\s+(sm_(\d+)([af]?))", k.text, re.MULTILINE)
    if found is None or found[3] or int(found[2]) > int(arch[3:]):
        return f"not for {arch}: {found and found[1]}"
    o = Options(arch, level)
    o.compile_only, o.capsules = True, "require"
    try:
        data = compile_text([(k.name, k.text)], o).data
    except CompileError as e:
        return f"not compiled: {e}"
    after, why = finalise(data, arch, folder, _LIMIT_S)
    if why:
        return why
    for name in ("a.o", "f.cubin"):
        for command in (["nvdisasm", "-c"], ["cuobjdump", "-elf"]):
            path = [tool(command[0]), command[1], str(folder / name)]
            if subprocess.run(path, capture_output=True, timeout=_LIMIT_S, check=False).returncode:
                return f"{command[0]} refuses {name}"
    changed = differences(data, after)[1]
    if changed:
        return f"changed: {changed[0]}"
    try:
        k.run(after)
    except (AssertionError, SimError) as e:
        return f"wrong: {str(e)[:300]}"
    return _RIGHT


def main(arguments: list[str]) -> int:
    """The command line; exit code 1 if a kernel is wrong."""
    parser = argparse.ArgumentParser(prog="python -m tools.capsules.finalised_kernels", description=__doc__)
    parser.add_argument("results", type=Path)
    parser.add_argument("--seconds", type=float, default=1e9)
    o = parser.parse_args(arguments)
    rows = [json.loads(x) for x in o.results.read_text().splitlines()] if o.results.exists() else []
    done = {tuple(r[:3]) for r in rows}
    end = time.monotonic() + o.seconds
    with o.results.open("a") as out, tempfile.TemporaryDirectory() as folder:
        for turn in range(len(ARCHES)):
            for i, k in enumerate(kernels()):
                arch, level = ARCHES[(i + turn) % len(ARCHES)], _LEVELS[i % len(_LEVELS)]
                if (k.folder, k.name, arch) in done or time.monotonic() > end:
                    continue
                rows.append([k.folder, k.name, arch, level, outcome(k, arch, level, Path(folder))])
                out.write(json.dumps(rows[-1]) + "\n")
                out.flush()
    print(Counter(r[4].partition(":")[0] for r in rows))
    bad = [r for r in rows if r[4] != _RIGHT and not r[4].startswith("not for")]
    for r in bad:
        print(*r)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
