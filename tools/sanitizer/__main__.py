"""``python -m tools.sanitizer alarms|faults``: the sanitizer on correct programs, and on programs with seeded faults.

From the top of the checkout.  ``--families`` names families of programs of the tests; ``--arch`` the target; ``--every N`` takes each
N-th program, from ``--start``; ``--seed``; ``--each``: faults of a program; ``--seconds``: limit of processor time.
"""

import argparse
import random
import sys
from collections import Counter

from tests.forms.items import items
from tools.sanitizer.seed_campaign import Program, alarms, campaign

FAMILIES = "kernels,copy kernels,barriers,copies,sides,elections,warp,multimem"


def _programs(families: list[str], arch: str) -> list[Program]:
    out = []
    for i in items(families):
        if i.runs_on(arch):
            out.append(Program(f"{i.family}/{i.name}", i.source(arch), arch, lambda image, i=i: i.check(image, "k0")))
    return out


def main() -> None:
    """Prints counts, and what was missed or wrong."""
    options = argparse.ArgumentParser(prog="python -m tools.sanitizer", description=__doc__)
    options.add_argument("what", choices=("alarms", "faults"))
    options.add_argument("--families", default=FAMILIES)
    options.add_argument("--arch", default="sm_90a")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--each", type=int, default=2)
    options.add_argument("--every", type=int, default=1)
    options.add_argument("--start", type=int, default=0)
    options.add_argument("--seconds", type=float, default=120)
    o = options.parse_args()
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
