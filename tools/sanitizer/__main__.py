"""``python -m tools.sanitizer alarms|faults|kernels``: the sanitizer on correct programs, on programs with seeded faults, on any PTX.

From the top of the checkout.  ``--families`` names families of programs of the tests; ``--arch`` the target; ``--every N`` takes each
N-th program, from ``--start``; ``--seed``; ``--each``: faults of a program; ``--seconds``: limit of processor time.  ``kernels``
takes PTX files and folders of them, at most ``--each`` kernels of a file, and each N-th file of the shuffled ones; ``--kernel-seconds``
limits the processor time of one.
"""

import argparse
import random
import sys
import time
from collections import Counter
from pathlib import Path

from tests.forms.items import items
from tools.sanitizer.corpus_kernels import RAN, kernels
from tools.sanitizer.seed_campaign import Program, alarms, campaign

FAMILIES = "kernels,copy kernels,barriers,copies,sides,elections,warp,multimem"


def _programs(families: list[str], arch: str) -> list[Program]:
    out = []
    for i in items(families):
        if i.runs_on(arch):
            out.append(Program(f"{i.family}/{i.name}", i.source(arch), arch, lambda image, i=i: i.check(image, "k0")))
    return out


def _kernels(o: argparse.Namespace) -> None:
    """Runs kernels of PTX files, and prints counts and findings."""
    paths = [q for p in map(Path, o.files) for q in (p.rglob("*.ptx") if p.is_dir() else [p])]
    paths = sorted(paths)[o.start :: o.every]
    states: Counter[str] = Counter()
    end = time.process_time() + o.seconds
    for k in kernels(paths, o.arch, o.seed, o.each, o.kernel_seconds):
        states[k.state] += 1
        if k.findings and k.state != RAN:
            kept = "".join(f"\n  {x}" for x in k.findings[: o.each_finding])
            print(f"{k.state}: {k.file} {k.kernel}: {len(k.findings)}{kept}", flush=True)
        if time.process_time() > end:
            break
    print(f"seed {o.seed}: " + ", ".join(f"{n} {state}" for state, n in states.most_common()))


def main() -> None:
    """Prints counts, and what was missed or wrong."""
    options = argparse.ArgumentParser(prog="python -m tools.sanitizer", description=__doc__)
    options.add_argument("what", choices=("alarms", "faults", "kernels"))
    options.add_argument("files", nargs="*")
    options.add_argument("--families", default=FAMILIES)
    options.add_argument("--arch", default="sm_90a")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--each", type=int, default=2)
    options.add_argument("--every", type=int, default=1)
    options.add_argument("--start", type=int, default=0)
    options.add_argument("--seconds", type=float, default=120)
    options.add_argument("--kernel-seconds", type=float, default=20)
    options.add_argument("--each-finding", type=int, default=3, help="findings of a kernel that are printed")
    o = options.parse_args()
    if o.what == "kernels":
        _kernels(o)
        return
    programs = _programs(o.families.split(","), o.arch)[o.start :: o.every]
    if o.what == "alarms":
        wrong = [(name, found) for name, found in alarms(programs) if found]
        print(f"{len(programs)} programs, {len(wrong)} with findings")
        for name, found in wrong:
            print(f"  {name}: {', '.join(found)}")
        return
    random.Random(o.seed).shuffle(programs)
    outcomes = []
    for x in campaign(programs, o.seed, o.each, o.seconds):
        outcomes.append(x)
        print(f"{x.program} {x.fault.kind}: {x.found or 'missed'}", file=sys.stderr, flush=True)
    missed = [x for x in outcomes if not x.found]
    kernels = len({x.program for x in outcomes})
    print(f"seed {o.seed}: {len(outcomes)} faults in {kernels} programs, {len(outcomes) - len(missed)} found")
    count = Counter(x.fault.kind for x in outcomes)
    lost = Counter(x.fault.kind for x in missed)
    for kind, n in sorted(count.items()):
        print(f"  {kind}: {n - lost[kind]} of {n}")
    for x in missed:
        print(f"missed: {x.program} line {x.fault.line}: {x.fault.kind}: {x.fault.was} ({x.judged})")


main()
