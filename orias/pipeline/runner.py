"""Runs the pipeline on functions, as the options select."""

from typing import TYPE_CHECKING, final

from orias.diag import CompileError, Diagnostic
from orias.options import Options
from orias.ori.clone import restore
from orias.ori.ir import Func
from orias.pipeline.find_phase import find_phase
from orias.pipeline.functions import FINISH, FUNCTIONS, Trace
from orias.pipeline.phases import PHASES, Phase

if TYPE_CHECKING:
    from orias.pipeline.watch import Watch


@final
class Runner:
    """Runs the phases of one compilation.  ``stopped``: they end before code is complete (``Options.stop_after``)."""

    __slots__ = ("options", "phases", "stopped", "watch")

    def __init__(self, options: Options, trace: "Trace | None" = None) -> None:
        self.options: Options = options
        self.phases: list[Phase] = selected(options)
        self.stopped: bool = bool(options.stop_after)
        self.watch: Watch | None = None
        if trace is not None or options.watches:
            from orias.pipeline import watch

            self.watch = watch.Watch(options, trace)

    def run(self, fn: Func) -> None:
        """Run the phases on a function."""
        phases = _without(self.phases, fn)
        if self.watch is None:
            self._run(phases, fn)
            return
        for phase in phases:
            self.watch.before(phase, fn)
            FUNCTIONS[phase.key](fn, self.options)
            self.watch.after(phase, fn)

    def _run(self, phases: list[Phase], fn: Func) -> None:
        """Run phases that nothing watches; if one has finished a copy, the function takes that instead of the rest."""
        for k, phase in enumerate(phases):
            finished = FUNCTIONS[phase.key](fn, self.options)
            if finished is not None and not self.options.self_check and [p.key for p in phases[k + 1 :]] == FINISH:
                restore(fn, finished)
                return

    def times(self) -> list[tuple[str, int, float]]:
        """Name, number of functions and seconds of each phase that ran; empty without ``Options.time_phases``."""
        w = self.watch
        if w is None or not self.options.time_phases:
            return []
        return [(p.name, w.runs[p.name], w.times[p.name]) for p in self.phases if p.name in w.runs]

    def spans(self) -> list[tuple[str, str, float, float]]:
        """(phase, function, start, seconds) of each run of a phase; empty without ``Options.time_phases``."""
        return self.watch.spans if self.watch is not None and self.options.time_phases else []

    def try_out(self, fn: Func) -> None:
        """Run all phases on a copy whose code is not used, without dumps, times, verifier and trace."""
        self._run(_without(selected(self.options, False), fn), fn)


def selected(options: Options, stop: bool = True) -> list[Phase]:
    """The phases that the options select; raises CompileError for unknown names and for skipped phases that are required."""
    level = str(max(0, min(options.opt_level, 3)))
    skipped = _skipped(options.skip_phases)
    out = [p for p in PHASES if level in p.levels and p.name not in skipped]
    if options.stop_after and stop:
        last = PHASES.index(find_phase(options.stop_after))
        out = [p for p in out if PHASES.index(p) <= last]
    return out


def _without(phases: list[Phase], fn: Func) -> list[Phase]:
    """The phases without those that the function's knobs leave out (DisablePhases)."""
    if not fn.knobs.disable_phases:
        return phases
    skipped = _skipped(fn.knobs.disable_phases.split("+"))
    return [p for p in phases if p.name not in skipped]


def _skipped(names: list[str]) -> set[str]:
    """Names of phases to leave out, as they are in the table; raises CompileError if one is unknown or required."""
    out = {find_phase(name).name for name in names}
    for phase in PHASES:
        if phase.required and phase.name in out:
            text = f"Phase '{phase.name}' cannot be skipped: without it there is no code"
            raise CompileError([Diagnostic("fatal", text)])
    return out
