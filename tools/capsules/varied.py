"""``python -m tools.capsules.varied TABLE``: every rule with random registers, immediates, predicates and guards through nvlink, which must give them back.

:mod:`tools.capsules.refine` asks what classes of operands a rule may have; here every field of an instruction varies at once, over all
registers that exist, so that a value that a record has where an operand belongs shows.  A rule that another one hides, or whose
instructions the target does not have, is not reached.
"""

import argparse
import random
import sys
import tempfile
from pathlib import Path

from tools.capsules.finalising import FAMILY
from tools.capsules.refine import Judge, Trial, judgeable

_RULES_AT_ONCE = 40
_REACHES = 40
"""Tries to find operands that no other rule claims."""


def judged(trials: list[Trial], judge: Judge, rng: random.Random, times: int) -> None:
    """Put `times` instructions of each rule, of classes by chance, through nvlink; what came of them is in the trials."""
    tries = dict.fromkeys(range(len(trials)), _REACHES)
    left = dict.fromkeys(range(len(trials)), times)
    while tries:
        asked = [i for i in tries for _ in range(min(left[i], tries[i]))]
        before = [sum(map(len, t.results.values())) for t in trials]
        wanted = [(i, "".join(map(rng.choice, trials[i].options)), rng.choice("TPN")) for i in asked]
        judge.cases(trials, wanted)
        for i in list(tries):
            left[i] -= sum(map(len, trials[i].results.values())) - before[i]
            tries[i] -= asked.count(i)
            if tries[i] <= 0 or left[i] <= 0:
                del tries[i]


def main(arguments: list[str]) -> int:
    """The command line; exit code 1 if something does not come back."""
    parser = argparse.ArgumentParser(prog="python -m tools.capsules.varied", description=__doc__)
    parser.add_argument("table", type=Path)
    parser.add_argument("--arch", default="sm_100", choices=sorted(FAMILY))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--times", type=int, default=4, help="instructions of each rule")
    parser.add_argument("--count", type=int, default=1 << 30, help="rules, by chance")
    o = parser.parse_args(arguments)
    lines = [x for x in o.table.read_text(encoding="utf-8").splitlines() if x and not x.startswith("#")]
    rng = random.Random(o.seed)
    chosen = [x for x in lines if judgeable(x, o.arch)]
    rng.shuffle(chosen)
    chosen = chosen[: o.count]
    done = reached = wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        judge = Judge(lines, o.arch, Path(folder), o.seed, False)
        for i in range(0, len(chosen), _RULES_AT_ONCE):
            trials = [Trial(x) for x in chosen[i : i + _RULES_AT_ONCE]]
            judged(trials, judge, rng, o.times)
            for t in trials:
                done += sum(map(len, t.results.values()))
                reached += bool(t.results)
                wrong += bool(t.texts)
                if t.texts:
                    print(t.line, *t.texts, sep="\n    ", flush=True)
    print(f"{len(chosen)} rules, {reached} reached by {done} instructions, {wrong} with others than these")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
