"""Runs the unittest modules of a package under ``orias exec``, one process for each, and counts results by cause.

``orias exec -- python tools/clients/unittests.py PACKAGE RESULTS.jsonl [--seconds N] [--seed N]`` (the client's Python).
Each line of the results is a test: its name, ``passed``, ``failed``, ``skipped``, ``late`` or ``crashed``, and the last
line of its error.
"""

import argparse
import importlib
import json
import pkgutil
import random
import signal
import subprocess
import sys
import time
import unittest
from collections import Counter

WAITS = 10
"""A test may take so many times its processor time."""


class Late(BaseException):
    """A test ran out of time."""


def limit(seconds):
    """Begins, or ends with 0, the time of a test: seconds of processor time, or ten times as many in all."""
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.alarm(WAITS * seconds)


def tests_of(suite):
    for t in suite:
        if isinstance(t, unittest.TestSuite):
            yield from tests_of(t)
        else:
            yield t


def run_module(name, seconds):
    """Runs the tests of a module in this process; prints a line for each."""

    def late(*_):
        raise Late

    for number in (signal.SIGALRM, signal.SIGPROF):
        signal.signal(number, late)
    real = sys.stdout

    def write(test, state, why="", took=0.0):
        real.write("@@" + json.dumps({"test": test, "state": state, "why": why, "seconds": round(took, 2)}) + "\n")
        real.flush()

    try:
        suite = unittest.defaultTestLoader.loadTestsFromModule(importlib.import_module(name))
    except unittest.SkipTest as e:
        write(name, "skipped", str(e))
        return
    for t in tests_of(suite):
        write(t.id(), "started")
        result = unittest.TestResult()
        start = time.process_time()
        limit(seconds)
        try:
            # A suite of one runs the fixtures of the class, too.
            unittest.TestSuite([t])(result)
            limit(0)
        except Late:
            write(t.id(), "late", "", time.process_time() - start)
            continue
        took = time.process_time() - start
        bad = result.errors + result.failures
        if bad and bad[0][1].splitlines()[-1].startswith("Skipped: "):
            write(t.id(), "skipped", bad[0][1].splitlines()[-1], took)
        elif bad:
            write(t.id(), "late" if "Late" in bad[0][1].splitlines()[-1] else "failed", bad[0][1][-1500:], took)
        elif result.skipped:
            write(t.id(), "skipped", result.skipped[0][1], took)
        elif result.unexpectedSuccesses:
            write(t.id(), "failed", "unexpected success", took)
        else:
            write(t.id(), "passed", "", took)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("package")
    parser.add_argument("results", nargs="?")
    parser.add_argument("--seconds", type=int, default=60, help="of processor time, for each test")
    parser.add_argument("--match", default="", help="modules whose names have this; several with commas between them")
    parser.add_argument("--seed", type=int, help="modules in the random order of this seed")
    parser.add_argument("--minutes", type=float, default=1e9, help="start no module later")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    a = parser.parse_args()
    if a.one:
        run_module(a.package, a.seconds)
        return
    package = importlib.import_module(a.package)
    names = [
        m.name
        for m in pkgutil.walk_packages(package.__path__, a.package + ".")
        if ".test_" in m.name and any(text in m.name for text in a.match.split(",")) and not m.ispkg
    ]
    if a.seed is not None:
        random.Random(a.seed).shuffle(names)
    counts = Counter()
    end = time.monotonic() + 60 * a.minutes
    with open(a.results, "w") as out:
        for name in names:
            if time.monotonic() > end:
                break
            command = [sys.executable, __file__, name, "--one", "--seconds", str(a.seconds)]
            done = subprocess.run(command, capture_output=True, text=True, errors="replace")
            last = None
            mine = Counter()
            for line in done.stdout.splitlines():
                if "@@{" not in line:
                    continue
                r = json.loads(line[line.index("@@{") + 2 :])
                last = r if r["state"] == "started" else None
                if last is None:
                    mine[r["state"]] += 1
                    out.write(json.dumps(r) + "\n")
            if done.returncode or last:
                r = {
                    "test": last["test"] if last else name,
                    "state": "crashed",
                    "why": done.stderr[-1500:],
                    "seconds": 0,
                }
                mine["crashed"] += 1
                out.write(json.dumps(r) + "\n")
            out.flush()
            counts += mine
            print(name, dict(mine), flush=True)
    print(a.package, dict(counts))


if __name__ == "__main__":
    main()
