"""Byte equality of two states of the compiler: one writes the digests of all cubins of a corpus, the other compares.

    python tools/compare_cubins.py CORPUS --write DIGESTS.json      with the state before
    python tools/compare_cubins.py CORPUS DIGESTS.json              with the state after

Every file is compiled for every target it may be compiled for, at -O0, -O1 and -O3; a refusal counts by its text.  The package
``orias`` is the one that Python finds first: to judge an installed (mypyc) build, run with its interpreter from outside of the checkout.
``--sample 1/8`` takes one compile in eight and ``--per-file 3`` three of each file (``--seed`` rotates); ``--levels 3`` and
``--targets sm_90,sm_80`` narrow it.
Exits with 1 and a line a difference if there is one.
"""

import argparse
import hashlib
import json
import random
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent))

import orias
from orias.target.profile import TARGETS
from tests.corpus.test_corpus import needs_objects
from tests.ptx.corpus import targets

Job = tuple[str, str, int]


def jobs(corpus: Path, names: list[str], levels: list[int]) -> list[Job]:
    """(file relative to the corpus, target, level) of every compile, sorted."""
    out = []
    for f in sorted(corpus.rglob("*.ptx")):
        for arch in targets(f.read_text(errors="replace"), names):
            out.extend((f.relative_to(corpus).as_posix(), arch, level) for level in levels)
    return out


def digest(corpus: Path, job: Job) -> str:
    """SHA-256 of the cubin, or the refusal."""
    name, arch, level = job
    text = (corpus / name).read_text(errors="replace")
    try:
        data = orias.compile(text, arch=arch, opt_level=level, compile_only=needs_objects(text)).data
    except orias.CompileError as e:
        return f"refused: {e}"
    return hashlib.sha256(data).hexdigest()


def _run(task: tuple[Path, list[Job]]) -> list[tuple[Job, str]]:
    return [(job, digest(task[0], job)) for job in task[1]]


def main() -> int:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("corpus", type=Path)
    p.add_argument("digests", type=Path, nargs="?", help="digests to compare with")
    p.add_argument("--write", type=Path)
    p.add_argument("--sample", default="1/1")
    p.add_argument("--per-file", type=int, default=0, help="compiles of each file; 0: all")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--levels", default="0,1,3")
    p.add_argument("--targets", default=",".join(TARGETS))
    p.add_argument("--jobs", type=int, default=2)
    p.add_argument("--match", default="", help="only files whose path contains this")
    a = p.parse_intermixed_args()
    if (a.digests is None) == (a.write is None):
        p.error("give digests to compare with, or --write")
    every = [j for j in jobs(a.corpus, a.targets.split(","), [int(n) for n in a.levels.split(",")]) if a.match in j[0]]
    part, whole = (int(n) for n in a.sample.split("/"))
    random.Random(a.seed).shuffle(every)
    chosen = every[: len(every) * part // whole]
    if a.per_file:
        chosen = []
        left = dict.fromkeys((job[0] for job in every), a.per_file)
        for job in every:
            if left[job[0]]:
                left[job[0]] -= 1
                chosen.append(job)
    known: dict[str, str] = json.loads(a.digests.read_text()) if a.digests else {}
    print(f"{orias.__file__}: {len(chosen)} of {len(every)} compiles, seed {a.seed}", flush=True)
    chunks = [(a.corpus, chosen[k : k + 16]) for k in range(0, len(chosen), 16)]
    found: dict[str, str] = {}
    different = refused = 0
    with ProcessPoolExecutor(a.jobs) as pool:
        for results in pool.map(_run, chunks):
            for job, value in results:
                key = "{} {} -O{}".format(*job)
                found[key] = value
                refused += value.startswith("refused")
                if known and known.get(key) != value:
                    different += 1
                    print(f"differs: {key}: {known.get(key, 'unknown')[:80]} -> {value[:80]}", flush=True)
    if a.write:
        a.write.write_text(json.dumps(found, indent=0, sort_keys=True))
    print(f"{len(found)} compiles, {refused} refused, {different} different")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
