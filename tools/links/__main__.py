"""Links random programs of objects of Orias and ptxas in all mixtures; each must compute what ptxas's objects compute.

python -m tools.links [--seed 1] [--programs 20] [--arch sm_90] [--keep FOLDER]
"""

import argparse
import subprocess
import sys
import tempfile
from collections import Counter
from itertools import product
from pathlib import Path

import numpy as np

import orias
from orias import sim
from tests.nvtools import tool
from tools.links.programs import OUT, THREADS, Program, program

ARCHES = ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_90a", "sm_100", "sm_103a", "sm_110", "sm_120", "sm_121a")
LEVELS = ("-O3", "-O3", "-O3", "-O1", "-O0", "-g")
HEAD = ".version 9.0\n.target {}\n.address_size 64\n"
SECONDS = 120
STACK = 65536
"""Bytes of local memory for each thread: nobody knows the depth of recursion."""


class Refused(Exception):
    """A compiler or the linker that refuses a program."""


def theirs(text: str, arch: str, level: str, path: Path) -> Path:
    """ptxas's object."""
    source = path.with_suffix(".ptx")
    source.write_text(text)
    command = [tool("ptxas"), "-c", f"-arch={arch}", level, str(source), "-o", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    if done.returncode:
        raise Refused("ptxas: " + done.stderr)
    return path


def ours(text: str, arch: str, level: str, path: Path) -> Path:
    """Orias's object."""
    options = {"debug": True} if level == "-g" else {"opt_level": int(level[2:])}
    try:
        path.write_bytes(orias.compile(text, arch=arch, compile_only=True, **options).data)
    except orias.CompileError as e:
        raise Refused(f"orias: {e}") from e
    return path


def linked(objects: list[Path], arch: str, folder: Path) -> bytes:
    """The executable that nvlink makes."""
    out = folder / "linked.cubin"
    command = [tool("nvlink"), f"-arch={arch}", *(str(o) for o in objects), "-o", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    if done.returncode:
        raise Refused("nvlink: " + done.stderr + done.stdout)
    return out.read_bytes()


def outcome(data: bytes, p: Program) -> list[list[int]]:
    """The words that the kernels write, one after the other on the same memory."""
    image = sim.load(data)
    for n, name in enumerate(p.textures):
        texels = (np.arange(16, dtype=np.uint32) * 2654435761 + n).reshape(16, 1)
        texels = np.repeat(texels, 4, 1)
        image.bind(name, sim.Texture(texels, "1d", channels=4))
    results = []
    for kernel in p.kernels:
        out = np.zeros(THREADS * OUT, np.uint32)
        image.launch(kernel, 1, THREADS, [out], shared=p.dynamic, stack=STACK)
        results.append([int(v) for v in out])
    return results


def judged(p: Program, arch: str, level: str, folder: Path) -> tuple[Counter[str], list[str]]:
    """Counts of one program, and what differs."""
    texts = [HEAD.format(arch) + m for m in p.modules]
    pairs = [
        (theirs(t, arch, level, folder / f"{n}t.o"), ours(t, arch, level, folder / f"{n}o.o"))
        for n, t in enumerate(texts)
    ]
    want = outcome(linked([a for a, _ in pairs], arch, folder), p)
    counts: Counter[str] = Counter()
    found = []
    for choice in list(product((0, 1), repeat=len(pairs)))[1:]:
        name = "".join(map(str, choice))
        try:
            got = outcome(linked([pair[c] for pair, c in zip(pairs, choice, strict=True)], arch, folder), p)
        except (Refused, sim.SimError) as e:
            counts["failed"] += 1
            found.append(f"{name}: {type(e).__name__} {str(e)[:300]}")
            continue
        counts["right" if got == want else "wrong"] += 1
        if got != want:
            found.append(f"{name}: other words")
    return counts, found


def main() -> int:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--programs", type=int, default=20)
    p.add_argument("--arch")
    p.add_argument("--level")
    p.add_argument("--keep", type=Path, help="folder for programs with differences")
    a = p.parse_args()
    totals: Counter[str] = Counter()
    for seed in range(a.seed, a.seed + a.programs):
        arch = a.arch or ARCHES[seed % len(ARCHES)]
        level = a.level or LEVELS[seed % len(LEVELS)]
        chosen = program(seed)
        with tempfile.TemporaryDirectory() as folder:
            try:
                counts, found = judged(chosen, arch, level, Path(folder))
            except (Refused, sim.SimError) as e:
                counts, found = Counter({"not judged": 1}), [f"{type(e).__name__} {str(e)[:400]}"]
        totals += counts
        for line in found:
            print(f"{seed} {arch} {level}: {line}", flush=True)
        if found and a.keep:
            a.keep.mkdir(parents=True, exist_ok=True)
            for n, m in enumerate(chosen.modules):
                (a.keep / f"{seed}_{n}.ptx").write_text(HEAD.format(arch) + m)
    print(", ".join(f"{k} {n}" for k, n in totals.items()))
    return 1 if totals["wrong"] + totals["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
