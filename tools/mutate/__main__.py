"""``python -m tools.mutate``: plant a sample of faults, one at a time, and say which the fast tests do not notice."""

import argparse
import json
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from tools.mutate.mutants import PACKAGES, Mutant, all_mutants, sample
from tools.mutate.run import Judge, Result

ROOT = Path(__file__).resolve().parents[2]
TESTS = (
    "tests/passes",
    "tests/lower",
    "tests/regalloc",
    "tests/schedule",
    "tests/sync",
    "tests/asynchronous",
    "tests/wgmma",
    "tests/lower_math/test_cases.py",
    "tests/lower_math/test_builtins.py",
    "tests/validate/test_cases.py",
    "tests/sim/test_gradients.py",
    "tests/sim/test_texture_programs.py",
    "tests/kernels/test_kernels.py::test_ours",
    "tests/kernels/test_private_functions.py",
    "tests/kernels/test_function_pointers.py",
    "tests/kernels/test_constant_pool.py",
    "tests/forms",
    "tests/validate/test_verify.py",
    "tests/debuginfo",
    "tests/pipeline/test_listings.py",
)
"""Text cases, small programs run in the simulator, and the listings of whole compiles."""


def run(
    mutants: list[Mutant],
    tests: list[str],
    jobs: int,
    limit: float,
    budget: float,
    map_file: Path | None,
    log: Path | None,
) -> list[Result]:
    """Judge the mutants with the tests; results as they come also go to the log, a JSON list a line."""
    results: list[Result] = []

    def told(r: Result) -> None:
        results.append(r)
        print(
            f"{len(results)}/{len(mutants)} {r.outcome} {r.seconds:.1f} s {r.mutant.name}  [{r.test or r.tests}]",
            file=sys.__stderr__,
            flush=True,
        )
        if log is not None:
            with log.open("a") as f:
                f.write(json.dumps(r) + "\n")

    judge = Judge(ROOT, mutants, jobs, limit, budget, told)
    judge.map_file = map_file
    pytest.main([*tests, "-q", "-p", "no:cacheprovider", "-p", "no:xdist"], plugins=[judge])
    return results


def report(results: list[Result]) -> str:
    """Shares, then what is alive."""
    n = Counter(r.outcome for r in results)
    noticed = n["killed"] + n["timeout"]
    out = [
        f"{len(results)} mutants: {n['killed']} killed, {n['timeout']} by the time limit, {len(results) - noticed} alive: {noticed / max(1, len(results)):.1%}"
    ]
    for package in PACKAGES:
        part = [r for r in results if r.mutant.path.startswith(package)]
        if part:
            out.append(f"  {package}: {sum(r.outcome in ('killed', 'timeout') for r in part)} of {len(part)}")
    times = sorted(r.seconds for r in results)
    if times:
        out.append(f"  seconds per mutant: median {times[len(times) // 2]:.1f}, longest {times[-1]:.1f}")
    out += [
        f"{r.outcome}: {r.mutant.name}  ({r.tests} tests)" for r in results if r.outcome not in ("killed", "timeout")
    ]
    return "\n".join(out)


def main() -> int:
    p = argparse.ArgumentParser(prog="python -m tools.mutate", description=__doc__)
    p.add_argument("--count", type=int, default=200, help="how many mutants (default 200)")
    p.add_argument("--seed", default=str(int(time.time()) // 86400), help="of the sample (default: the day's number)")
    p.add_argument(
        "--in", dest="places", action="append", metavar="PATH", help="a package or file to mutate, perhaps with :LINE"
    )
    p.add_argument("--tests", action="append", metavar="PATH", help="tests that judge (default: the fast ones)")
    p.add_argument("--jobs", type=int, default=1)
    p.add_argument("--limit", type=float, default=120, help="seconds for a mutant (default 120)")
    p.add_argument(
        "--budget",
        type=float,
        default=30,
        help="seconds that the tests of a mutant took when they were measured (default 30)",
    )
    p.add_argument("--map", type=Path, help="file that keeps which functions each test enters, for the next run")
    p.add_argument("--log", type=Path, help="file to which results are appended as they come")
    p.add_argument("--list", action="store_true", help="only list the sample")
    a = p.parse_args()
    places = a.places or list(PACKAGES)
    found: list[Mutant] = []
    for place in places:
        path, _, line = place.partition(":")
        found += [m for m in all_mutants(ROOT, (path,)) if not line or m.line == int(line)]
    chosen = found if any(":" in x for x in places) else sample(found, a.count, a.seed)
    print(f"{len(chosen)} of {len(found)} mutants, --seed {a.seed}", flush=True)
    if a.list:
        print("\n".join(m.name for m in chosen))
        return 0
    results = run(chosen, a.tests or list(TESTS), a.jobs, a.limit, a.budget, a.map, a.log)
    print(report(results))
    return 0


if __name__ == "__main__":
    sys.exit(main())
