"""The search for knobs: rounds of trials over an executor.

The first round tries every single change.  Each later one adds one change to the best that is known, the promising
changes first, and the search ends when a round finds nothing better, or when its trials or its time are used up.  Some
trials of each round are random combinations of what helped alone, chosen by the seed.
"""

import os
import random
import signal
import time
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, ProcessPoolExecutor, wait
from typing import Final, final

from orias.api import compile_sources
from orias.knobs.knob_settings import KnobSettings, Setting, checked
from orias.options import Options
from orias.tuning.knob_space import choices
from orias.tuning.tune_trial import OBJECTIVES, Known, Launch, Task, Trial, failed, run_trial

Report = Callable[[int, int, Trial, Trial], None]
"""Called after each trial: number done, most to do, the trial, and the best so far."""
Changes = tuple[Setting, ...]

_GAIN: Final = 0.998
"""A trial is better than another if its time is below this part of the other's."""
_RANDOM: Final = 4
"""Random combinations of a round."""
_CANDIDATES: Final = 24
"""Changes that a later round adds to the best."""


@final
class Tuned:
    """The result for one kernel.

    ``default``: the trial without changes; ``best``: the best that passed all checks (``default`` if nothing is
    better); ``trials``: all, in order; ``interrupted``: the search was ended by Ctrl-C.
    """

    __slots__ = ("best", "default", "interrupted", "kernel", "objective", "trials")

    def __init__(self, kernel: str, objective: str, default: Trial) -> None:
        self.kernel: Final[str] = kernel
        self.objective: Final[str] = objective
        self.default: Trial = default
        self.best: Trial = default
        self.trials: list[Trial] = [default]
        self.interrupted: bool = False

    @property
    def ratio(self) -> float:
        """Time of the best over that of the default; 1.0 if there is no time."""
        return self.best.time / self.default.time if self.default.time else 1.0

    def settings(self) -> KnobSettings:
        """The knobs of the best, for this kernel only: a compile takes them, and ``text()`` is a knob file."""
        return KnobSettings([checked(self.kernel, name, value) for name, value in self.best.knobs.items()])


def _ignore_interrupt() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@final
class _Search:
    def __init__(
        self,
        task: Task,
        executor: Executor | None,
        jobs: int,
        most: int,
        end: float,
        report: Report | None,
        done: list[Trial],
    ) -> None:
        self.task = task
        self.own = executor is None
        self.executor = executor
        self.jobs = jobs
        self.most = most
        self.end = end
        self.report = report
        self.seen: dict[frozenset[tuple[str, int | str]], Trial] = {frozenset(t.knobs.items()): t for t in done}
        self.codes: dict[str, Trial] = {}
        self.result: Tuned | None = None

    def pool(self) -> Executor:
        if self.executor is None:
            self.executor = ProcessPoolExecutor(self.jobs, initializer=_ignore_interrupt)
        return self.executor

    def close(self) -> None:
        if self.own and self.executor is not None:
            self.executor.shutdown(wait=True, cancel_futures=True)
            self.executor = None

    def out_of_time(self) -> bool:
        return time.monotonic() >= self.end

    def start(self) -> Tuned:
        """The trial without changes, which everything is compared with."""
        empty = self.run([()])
        default = empty[0]
        self.result = Tuned(self.task.kernel, self.task.objective, default)
        self.codes[default.code] = default
        return self.result

    def run(self, batch: list[Changes]) -> list[Trial]:
        """The trials of a batch in its order; those that the search has no time for are missing."""
        out: dict[int, Trial] = {}
        left: list[int] = []
        before = len(self.result.trials) if self.result is not None else 0
        for k, changes in enumerate(batch):
            old = self.seen.get(_key(changes))
            if old is not None:
                self.put(k, old, out, False)
            else:
                left.append(k)
        left.reverse()
        futures: dict[Future[Trial], int] = {}
        try:
            while left or futures:
                while left and len(futures) < 2 * self.jobs and (self.result is None or not self.out_of_time()):
                    output = self.result.default.output if self.result is not None else ""
                    known = Known(dict(self.codes), output)
                    k = left.pop()
                    futures[self.pool().submit(run_trial, self.task, list(batch[k]), known)] = k
                if not futures:
                    break
                for f in wait(futures, return_when=FIRST_COMPLETED).done:
                    k = futures.pop(f)
                    self.take(k, f, batch[k], out)
        except BrokenExecutor:
            self.lost(batch, out)
        except KeyboardInterrupt:
            for f in futures:
                f.cancel()
            raise
        done = [out[k] for k in sorted(out)]
        if self.result is not None:
            # Trials stand in the order of the batch, whichever ended first.
            new = self.result.trials[before:]
            place = {frozenset(t.knobs.items()): k for k, t in enumerate(done)}
            new.sort(key=lambda t: place[frozenset(t.knobs.items())])
            self.result.trials[before:] = new
            self.result.best = self.result.default
            for t in self.result.trials:
                self.choose(t)
        return done

    def choose(self, trial: Trial) -> None:
        """Let a trial be the best if it is better than the one that is, or as good with fewer changes."""
        r = self.result
        assert r is not None
        if trial.good and (trial.time < r.best.time * _GAIN or (trial.time <= r.best.time and _smaller(trial, r.best))):
            r.best = trial

    def lost(self, batch: list[Changes], out: dict[int, Trial]) -> None:
        """A worker died: what the batch still lacks is tried one at a time; with an executor of the caller's the search ends."""
        rest = [k for k in range(len(batch)) if k not in out]
        if not self.own:
            self.end = 0.0
        for k in rest:
            self.close()
            if self.out_of_time():
                break
            known = Known(dict(self.codes), self.result.default.output if self.result is not None else "")
            try:
                trial = self.pool().submit(run_trial, self.task, list(batch[k]), known).result()
            except BrokenExecutor:
                trial = failed(_knobs(batch[k]), "the process that tried it ended without an answer")
            self.put(k, trial, out, True)

    def take(self, k: int, f: "Future[Trial]", changes: Changes, out: dict[int, Trial]) -> None:
        try:
            trial = f.result()
        except BrokenExecutor:
            raise
        except Exception as e:
            trial = failed(_knobs(changes), f"{type(e).__name__}: {e}")
        self.put(k, trial, out, True)

    def put(self, k: int, trial: Trial, out: dict[int, Trial], new: bool) -> None:
        out[k] = trial
        self.seen[frozenset(trial.knobs.items())] = trial
        if trial.code:
            self.codes.setdefault(trial.code, trial)
        r = self.result
        if r is None:
            return
        if all(t.knobs != trial.knobs for t in r.trials):
            r.trials.append(trial)
        self.choose(trial)
        if self.report is not None and new:
            self.report(len(r.trials), self.most, trial, r.best)

    def rounds(self, singles: list[Setting], rng: random.Random) -> None:
        """All rounds after the first trial."""
        r = self.result
        assert r is not None
        batch: list[Changes] = [(s,) for s in singles]
        alone = self.run(batch[: max(0, self.most - len(r.trials))])
        by_time = [
            s
            for t, s in sorted(zip(alone, singles, strict=False), key=lambda x: x[0].time)
            if t.good and t.code != r.default.code
        ]
        helpful = [s for t, s in zip(alone, singles, strict=False) if t.good and t.time < r.default.time * _GAIN]
        last = r.default
        while r.best is not last and len(r.trials) < self.most and not self.out_of_time():
            last = r.best
            base = tuple(checked("", n, v) for n, v in last.knobs.items())
            batch = [_plus(base, s) for s in by_time[:_CANDIDATES]]
            batch += [
                tuple(rng.sample(helpful, min(len(helpful), rng.randint(2, 4))))
                for _ in range(_RANDOM)
                if len(helpful) > 1
            ]
            unique = {_key(b): b for b in batch}
            self.run(list(unique.values())[: self.most - len(r.trials)])
        # Changes that another one has made needless go.
        if len(r.best.knobs) > 1:
            full = tuple(checked("", n, v) for n, v in r.best.knobs.items())
            self.run([tuple(x for x in full if x is not s) for s in full])

    def confirm(self) -> None:
        """Compile the best with all checkers on; if one objects, take the next best."""
        r = self.result
        assert r is not None
        order = sorted((t for t in r.trials if t.good and t.time < r.default.time), key=lambda t: t.time)
        if r.best is r.default:
            return
        for t in [r.best, *(t for t in order if t is not r.best)]:
            again = run_trial(
                self.task, [checked("", n, v) for n, v in t.knobs.items()], Known({}, r.default.output), True
            )
            if again.good and again.code == t.code:
                r.best = t
                return
            r.trials[r.trials.index(t)] = failed(t.knobs, again.why or "the compile does not repeat")
        r.best = r.default


def _smaller(a: Trial, b: Trial) -> bool:
    """True if `a` has fewer changes."""
    return len(a.knobs) < len(b.knobs)


def _knobs(changes: Changes) -> dict[str, int | str]:
    return {s.knob.name: s.value for s in changes}


def _key(changes: Changes) -> frozenset[tuple[str, int | str]]:
    return frozenset(_knobs(changes).items())


def _plus(base: Changes, s: Setting) -> Changes:
    return (*(x for x in base if x.knob.name != s.knob.name), s)


def tune(
    ptx: str | bytes,
    *,
    arch: str,
    kernel: str = "",
    launch: Launch | None = None,
    objective: str = "mean",
    executor: Executor | None = None,
    jobs: int | None = None,
    trials: int = 200,
    seconds: float = 0,
    seed: int = 0,
    progress: Report | None = None,
    known: dict[str, list[Trial]] | None = None,
    name: str = "<ptx>",
    opt_level: int = 3,
    **options: object,
) -> list[Tuned]:
    """Search for knobs for a kernel of a PTX text, or for each of its kernels.

    ``launch``: what to run in the simulator, for one kernel (``kernel``, which may be left out if there is one only):
    times are then those of the run, and a trial counts only if its results are those of the untuned kernel.  Without
    it the code alone is judged, every loop taking the same number of turns.  ``objective``: ``mean``, ``one`` (a warp
    alone) or ``full`` (a full SM).

    ``executor``: any of `concurrent.futures`; by default ``jobs`` processes (the number of CPUs).  The search ends
    after ``trials`` trials or ``seconds`` seconds (0: no limit) a kernel; Ctrl-C ends it and keeps what it has.
    ``known``: trials of an earlier search by kernel, which are not repeated.  ``options``: as for
    `orias.compile`; knobs in it stay as they are.

    Raises CompileError if the text cannot be compiled without changes, ValueError for wrong arguments.
    """
    if objective not in OBJECTIVES:
        raise ValueError(f"objective '{objective}': one of {', '.join(OBJECTIVES)}")
    o = Options(arch, opt_level)
    o.take("tune", options)
    base = o.knobs.settings
    found = [k for k, info in compile_sources([(name, ptx)], o).kernels.items() if info.is_entry]
    wanted = [kernel] if kernel else found
    if kernel and kernel not in found:
        raise ValueError(f"there is no kernel '{kernel}'; the text has {', '.join(found) or 'none'}")
    if launch is not None and len(wanted) != 1:
        raise ValueError(f"a launch needs the name of a kernel; the text has {', '.join(found) or 'none'}")
    o.knobs = KnobSettings()
    out: list[Tuned] = []
    for one in wanted:
        task = Task(name, ptx, one, o, base, launch, objective)
        end = time.monotonic() + seconds if seconds else float("inf")
        s = _Search(
            task, executor, jobs or os.cpu_count() or 1, max(trials, 1), end, progress, (known or {}).get(one, [])
        )
        stopped = False
        try:
            out.append(s.start())
            if out[-1].default.good:
                fixed = {x.knob.name for x in base if x.kernel in ("", one)}
                s.rounds(choices(out[-1].default.registers, opt_level, fixed), random.Random(seed))
            s.confirm()
        except KeyboardInterrupt:
            stopped = True
        finally:
            s.close()
        if stopped:
            if s.result is not None:
                s.result.interrupted = True
            break
    return out
