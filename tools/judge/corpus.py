"""What ptxas makes of every PTX file of a folder, for every target the file may be compiled for: food for ``tools.judge.hazards``.

usage: python -m tools.judge.corpus OUT PTX_DIR... [--arch sm_NN,...] [--options=-O3] [--ours] [--count N] [--until HH:MM] [--json] [--quiet]

A file for sm_NN is compiled for all later targets, one for sm_NNa or sm_NNf for that alone; with ``-c`` where ptxas does not take it
as it is.  OUT holds ``ARCH/NUMBER-NAME.cubin``, or an empty ``.refused`` next to it where ptxas refuses the file or takes longer than 60 s;
what is there is kept.  --ours: what Orias makes of them.  --count: that many pairs of file and target, picked at random, the same ones each time.
"""

import argparse
import json
import random
import sys
import time
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import orias
from orias.progress import Bar
from tests.corpus.test_corpus import needs_objects
from tests.oracle import compile_or_none
from tests.ptx.corpus import targets
from tools.judge.clock import moment

ARCHES = (
    "sm_75", "sm_80", "sm_86", "sm_87", "sm_88", "sm_89", "sm_90", "sm_90a", "sm_100", "sm_100a", "sm_100f", "sm_103", "sm_103a", "sm_110",
    "sm_110a", "sm_120", "sm_120a", "sm_121", "sm_121a",
)  # fmt: skip


def ours_or_none(path: Path, arch: str, options: list[str]) -> bytes | None:
    """The cubin that Orias makes of a PTX file (relocatable where it must be), or None if it refuses."""
    text = path.read_text(errors="replace")
    level = next((int(o[2:]) for o in options if o.startswith("-O")), 3)
    try:
        return orias.compile(text, arch=arch, opt_level=level, compile_only=needs_objects(text)).data
    except orias.CompileError:
        return None


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.judge.corpus")
    parser.add_argument("out", type=Path)
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--arch", default=",".join(ARCHES))
    parser.add_argument("--options", default="-O3")
    parser.add_argument("--ours", action="store_true")
    parser.add_argument("--count", type=int, default=0)
    parser.add_argument("--until", default="")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--quiet", action="store_true")
    a = parser.parse_args()
    end = moment(a.until)
    arches = tuple(a.arch.split(","))
    paths = sorted(p for folder in a.folders for p in folder.rglob("*.ptx"))
    pairs = [(n, p, arch) for n, p in enumerate(paths) for arch in targets(p.read_text(errors="replace"), arches)]
    random.Random(1).shuffle(pairs)
    pairs = pairs[: a.count or len(pairs)]
    bar = Bar(a.quiet or a.json)
    done: Counter[str] = Counter()
    for k, (n, path, arch) in enumerate(pairs):
        if time.time() > end:
            break
        bar(k, len(pairs), f"{arch} {path.stem}")
        cubin = a.out / arch / f"{n}-{path.stem}.cubin"
        refused = cubin.with_suffix(".refused")
        if not cubin.exists() and not refused.exists():
            cubin.parent.mkdir(parents=True, exist_ok=True)
            with TemporaryDirectory() as work:
                options = a.options.split()
                data = ours_or_none(path, arch, options) if a.ours else compile_or_none(path, arch, options, Path(work))
            if data is None:
                refused.touch()
            else:
                part = cubin.with_suffix(".part")
                part.write_bytes(data)
                part.rename(cubin)
        done["cubins" if cubin.exists() else "refused"] += 1
    bar(len(pairs), len(pairs))
    done["pairs"] = len(pairs)
    print(
        json.dumps(done) if a.json else f"{done['cubins']} cubins, {done['refused']} refused, of {done['pairs']} pairs"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
