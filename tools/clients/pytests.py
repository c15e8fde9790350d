"""Runs a random sample of a pytest suite under ``orias exec``, and counts results.

``orias exec -- python tools/clients/pytests.py RESULTS.jsonl [--count N] [--seed N] [--seconds N] [--limit N] [-- PYTEST
ARGUMENTS]`` in the client's Python; the arguments name the tests, as ``pytest`` takes them.  Each line of the results is a
test: its name, ``passed``, ``failed``, ``skipped``, ``late`` or ``crashed``, the last line of its error, and with
``orias exec --tool`` the number of launches and what was found in them.  A test is late after ``--seconds`` of processor time, so that the load of the machine does not decide, or ten times that in all.  The sample is a
shuffle of all tests in the order of collection, cut after N; tests run in this order, file by file.  After a test that did
not pass, the rest of the file runs in a new process, because an error of a kernel stays with its context.  Tests that the
results already have do not run again; where a test has several lines, the last one counts.

``--each N`` keeps at most N tests of each function of the suite, before the sample is cut: first one of each, then a second
of each, and so on.  So functions with thousands of parameters do not crowd out the others.

``--program PROGRAM`` puts ``PROGRAM --pytest`` before the arguments instead of ``-m pytest`` (``torch_cpu.py``).
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

CHOSEN = "ORIAS_CHOSEN_TESTS"
SECONDS = "ORIAS_SECONDS_A_TEST"
MARK = "@@orias "
WAITS = 10
"""A test may take so many times its processor time."""


def sanitizer():
    """The checks of ``orias exec --tool`` in this process, or None."""
    state = sys.modules.get("orias.driver.driver_state")
    driver = state and state.Driver.of_process
    return driver and driver.sanitizer


class Late(BaseException):
    """A test ran out of time."""


class Plugin:
    """Keeps the chosen tests of a session, gives each a time limit, and prints a line for each."""

    def __init__(self):
        path = os.environ.get(CHOSEN)
        self.chosen = None if path is None else json.loads(Path(path).read_text(encoding="utf-8"))
        self.seconds = int(os.environ.get(SECONDS, "60"))
        self.out = os.fdopen(os.dup(1), "w")

    def write(self, **values):
        self.out.write(MARK + json.dumps(values) + "\n")
        self.out.flush()

    def pytest_collection_modifyitems(self, items):
        if self.chosen is None:
            self.write(collected=[i.nodeid for i in items])
            items[:] = []
            return
        order = {name: i for i, name in enumerate(self.chosen)}
        items[:] = sorted((i for i in items if i.nodeid in order), key=lambda i: order[i.nodeid])

    def pytest_runtest_protocol(self, item, nextitem):
        self.write(test=item.nodeid, state="started")
        self.start = time.process_time()
        checks = sanitizer()
        self.known = (checks.launches, len(checks.findings)) if checks else (0, 0)

        def late(*_):
            raise Late

        for number in (signal.SIGALRM, signal.SIGPROF):
            signal.signal(number, late)
        self.limit(self.seconds)

    def limit(self, seconds):
        """Begins, or ends with 0, the time of a test."""
        signal.setitimer(signal.ITIMER_PROF, seconds)
        signal.alarm(WAITS * seconds)

    def pytest_runtest_logreport(self, report):
        state = report.outcome
        if report.when != "call" and state == "passed":
            if report.when == "teardown":
                self.limit(0)
            return
        if report.when == "teardown" and state != "failed":
            return
        why = ""
        if state == "failed":
            why = str(report.longrepr).strip().splitlines()[-1][:300] if report.longrepr else ""
            crash = getattr(report.longrepr, "reprcrash", None)
            if crash is not None:
                why = crash.message.splitlines()[0][:300] if crash.message else why
            if "Late" in why.split(":")[0]:
                state = "late"
        elif state == "skipped":
            why = str(report.longrepr)[-200:]
        self.write(
            test=report.nodeid, state=state, why=why, when=report.when,
            seconds=round(time.process_time() - self.start, 2), **self.found(),
        )  # fmt: skip

    def found(self):
        """What the tools have found since the test began."""
        checks = sanitizer()
        if not checks or not checks.tools:
            return {}
        launches, known = self.known
        return {"launches": checks.launches - launches, "found": [f.lines() for f in checks.findings[known:]]}

    def pytest_sessionfinish(self, session):
        if self.chosen is not None:
            self.write(end=True)


def spread(tests, each):
    """At most ``each`` tests of each function, in rounds of one of each."""
    rounds = {}
    seen = Counter()
    for t in tests:
        function = t.split("[")[0]
        rounds.setdefault(seen[function], []).append(t)
        seen[function] += 1
    return [t for number in range(each) for t in rounds.get(number, ())]


def child(arguments):
    """A session of pytest in this process."""
    import pytest

    sys.exit(
        pytest.main(["-p", "no:cacheprovider", "--rootdir=.", "-q", "--tb=short", "-x", *arguments], plugins=[Plugin()])
    )


def session(program, arguments, environment, seconds, log):
    """Runs a child; yields the values of its lines."""
    command = [sys.executable, *program, *arguments]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=log, env={**os.environ, **environment}, text=True
    ) as p:
        end = time.monotonic() + seconds
        signal.signal(signal.SIGALRM, lambda *_: p.kill())
        signal.alarm(max(1, int(end - time.monotonic())))
        for line in p.stdout or ():
            at = line.find(MARK)
            if at >= 0:
                yield json.loads(line[at + len(MARK) :])
            else:
                log.write(line)
        signal.alarm(0)


def run_file(program, given, left, seconds, stop, log):
    """Runs tests of a file, as many as there is time for; yields what they say, of which the last word of a test counts."""
    while left and time.monotonic() < stop - 2:
        with tempfile.NamedTemporaryFile("w", suffix=".json") as chosen:
            json.dump(left, chosen)
            chosen.flush()
            environment = {CHOSEN: chosen.name, SECONDS: str(seconds)}
            limit = min(stop - time.monotonic(), 120 + WAITS * len(left) * seconds)
            started = ""
            done = set()
            for v in session(program, given, environment, limit, log):
                if v.get("state") == "started":
                    started = v["test"]
                elif "test" in v:
                    done.add(v["test"])
                    started = ""
                    yield v
        crashed = [started] if started else [] if done else left
        if time.monotonic() < stop - 2:  # Not what the limit for all ended.
            for t in crashed:
                yield {"test": t, "state": "crashed", "why": "" if started else "no test ran"}
        done.update(crashed)
        left = [t for t in left if t not in done]


def main():
    own = sys.argv[1:]
    rest = []
    if "--" in own:
        rest = own[own.index("--") + 1 :]
        own = own[: own.index("--")]
    if own[:1] == ["--child"]:
        child(rest)
    parser = argparse.ArgumentParser()
    parser.add_argument("results")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=int, default=60, help="of processor time, for a test")
    parser.add_argument("--limit", type=int, default=3600, help="seconds for all")
    parser.add_argument(
        "--without", action="append", default=[], help="leave out tests of the sample whose name has this"
    )
    parser.add_argument("--each", type=int, default=0, help="tests of a function, at most")
    parser.add_argument("--program", default="")
    options = parser.parse_args(own)
    program = [options.program, __file__] if options.program else [__file__]
    program += ["--child", "--"]
    stop = time.monotonic() + options.limit
    last = {}
    with (
        open(options.results, "a", encoding="utf-8") as out,
        open(options.results + ".log", "a", encoding="utf-8") as log,
    ):
        for line in Path(options.results).read_text(encoding="utf-8").splitlines():
            v = json.loads(line)
            last[v["test"]] = v["state"]
        tests = [t for v in session(program, rest, {}, 600, log) for t in v.get("collected", ())]
        random.Random(options.seed).shuffle(tests)
        if options.each:
            tests = spread(tests, options.each)
        files = {}
        chosen_tests = tests[: options.count]
        for t in chosen_tests:
            if t in last or any(text in t for text in options.without):
                continue
            files.setdefault(t.split("::")[0], []).append(t)
        print(f"{len(chosen_tests)} of {len(tests)} tests, to run in {len(files)} files", flush=True)
        for name, chosen in files.items():
            if time.monotonic() > stop - 2:
                break
            given = [a for a in rest if a.startswith("-")] + [name]
            for v in run_file(program, given, chosen, options.seconds, stop, log):
                last[v["test"]] = v["state"]
                out.write(json.dumps(v) + "\n")
                out.flush()
            print(f"{name}: {dict(Counter(last.values()))}", flush=True)


if __name__ == "__main__":
    main()
