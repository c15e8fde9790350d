"""``orias tune``: searches for the knobs and register budgets with which kernels take least time, by the machine model.

    orias tune FILE.ptx -o OUT.knobs [-arch=SM] [-O0..-O3] [--kernel K]
               [--grid X[,Y,Z] --block X[,Y,Z] [--shared BYTES] [--arg ARG]... [--max-steps N]]
               [--objective mean|one|full] [--trials N] [--seconds S] [--seed N] [--jobs N]
               [-knob NAME=VALUE]... [--knob-file FILE]... [--maxrregcount N] [--table FILE.json] [--json] [--quiet]

With a launch (arguments as for ``orias run``) one kernel is tuned along what its warps execute, and knobs count only if the results
are those of the untuned kernel.  Without it every kernel of the file (or K) is tuned by its code alone.

-o OUT.knobs    the knob file, for ``orias --knob-file``; sections of other kernels in a file that exists are kept
--objective     mean: one warp alone and a full SM, near and far memory, alike (the default); one; full
--trials N      trials for a kernel at most (default 200); --seconds S: begin none after S seconds
--seed N        of the random combinations (default 0); --jobs N: processes (default: one per CPU)
-knob, --knob-file, --maxrregcount    as for a compile; these knobs stay as they are
--table FILE    everything that was tried, as JSON; trials in a file that exists, of the same text, options and launch, are not
                repeated, so that a search that was ended goes on
--json          print that instead of a table

Ctrl-C ends the search; the knob file and the table are written with what there is.
Exit status: 0; 130 after Ctrl-C; 255 for wrong usage, and for a file that cannot be compiled or launched.
"""

import hashlib
import sys
from pathlib import Path
from typing import Any

from orias.cli.drive import write_output
from orias.cli.launch_values import UsageError, arguments, dims, integer
from orias.cli.tool_arguments import scan
from orias.cli.toolerror import ToolError
from orias.diag import CompileError
from orias.identity import identity
from orias.knobs.knob_settings import KnobError, KnobSettings, Setting, parse_setting, read_knob_file
from orias.progress import Bar
from orias.sim.core.image import DEFAULT_STEPS
from orias.target.own_target import own_target
from orias.target.profile import TARGETS
from orias.tuning import Launch, Trial, Tuned, tune
from orias.tuning.tune_table import known_trials, table, table_json
from orias.tuning.tune_trial import OBJECTIVES

_INTERRUPTED = 130


_FLAGS = ("-O0", "-O1", "-O2", "-O3", "--json", "--quiet")
_VALUES = (
    "-o", "-arch", "--kernel", "--grid", "--block", "--arg", "--objective", "--knob", "--knob-file", "--table", "--shared",
    "--max-steps", "--trials", "--seconds", "--seed", "--jobs", "--maxrregcount",
)  # fmt: skip
_ALIASES = {"--gpu-name": "-arch", "-k": "--kernel", "-knob": "--knob", "-maxrregcount": "--maxrregcount"}


class _Options:
    def __init__(self) -> None:
        self.file = ""
        self.out = ""
        self.arch = ""
        self.level = 3
        self.kernel = ""
        self.grid: tuple[int, ...] = (1,)
        self.block: tuple[int, ...] = ()
        self.shared = 0
        self.args: list[str] = []
        self.max_steps = DEFAULT_STEPS
        self.objective = "mean"
        self.trials = 200
        self.seconds = 0
        self.seed = 0
        self.jobs = 0
        self.limit = 0
        self.knobs: list[Setting] = []
        self.table = ""
        self.json = False
        self.quiet = False


def _parse(given: list[str]) -> _Options:
    o = _Options()
    found = scan(given, _FLAGS, _VALUES, _ALIASES)
    if len(found.files) > 1:
        raise UsageError(f"more than one file: {found.files[0]}, {found.files[1]}")
    o.file = "".join(found.files)
    o.level = max((int(flag[2]) for flag in found.flags if flag.startswith("-O")), default=o.level)
    o.json, o.quiet = "--json" in found.flags, "--quiet" in found.flags
    for name, values in found.values.items():
        for value in values:
            _value(o, name, value)
    if not o.file:
        raise UsageError("no PTX file given")
    if not o.out and not o.json and not o.table:
        raise UsageError("-o OUT.knobs is needed (or --table or --json)")
    if o.args and not o.block:
        raise UsageError("a launch needs --block")
    if o.arch and o.arch not in TARGETS:
        raise UsageError(f"'{o.arch}' is no target")
    return o


def _value(o: _Options, name: str, value: str) -> None:
    if name == "-o":
        o.out = value
    elif name == "-arch":
        o.arch = value
    elif name == "--kernel":
        o.kernel = value
    elif name == "--grid":
        o.grid = dims(value)
    elif name == "--block":
        o.block = dims(value)
    elif name == "--arg":
        o.args.append(value)
    elif name == "--objective":
        if value not in OBJECTIVES:
            raise UsageError(f"--objective {value}: one of {', '.join(OBJECTIVES)}")
        o.objective = value
    elif name == "--knob":
        o.knobs.append(parse_setting(value))
    elif name == "--knob-file":
        o.knobs += read_knob_file(value).settings
    elif name == "--table":
        o.table = value
    else:
        number = integer(value, name)
        if number < 0:
            raise UsageError(f"{name}: {number} is negative")
        setattr(o, {"--max-steps": "max_steps", "--maxrregcount": "limit"}.get(name, name[2:]), number)


def tune_command(given: list[str]) -> int:
    """Run ``orias tune`` with the arguments after ``tune``; returns the exit status.  Raises ToolError."""
    if given and given[0] in ("-h", "--help"):
        print((__doc__ or "").replace("``", ""), end="")
        return 0
    try:
        o = _parse(given)
        launch = Launch(o.grid, o.block, arguments(o.args), o.shared, o.max_steps) if o.block else None
    except (UsageError, KnobError) as e:
        raise ToolError(str(e)) from None
    text = sys.stdin.buffer.read() if o.file == "-" else Path(o.file).read_bytes()
    o.arch = o.arch or own_target(text)
    kept = _other_sections(o.out)
    about = _about(o, text, launch)
    earlier = _earlier(o, about)
    bar = Bar(o.quiet)

    def progress(done: int, most: int, trial: Trial, best: Trial) -> None:
        bar(min(done, most - 1), most, f"best {best.time:.0f} cycles")

    try:
        results = tune(
            text, arch=o.arch, kernel=o.kernel, launch=launch, objective=o.objective, jobs=o.jobs or None, trials=o.trials,
            seconds=o.seconds, seed=o.seed, progress=progress, known=earlier, name=o.file, opt_level=o.level, knobs=KnobSettings(o.knobs),
            maxrregcount=o.limit,
        )  # fmt: skip
    except (CompileError, ValueError) as e:
        raise ToolError(f"{o.file}: {e}") from None
    finally:
        bar.clear()
    for r in results:
        if not r.default.good:
            raise ToolError(f"{r.kernel}: {r.default.why}")
    if o.out:
        write_output(o.out, _knob_file(o, results, kept).encode())
    if o.table:
        write_output(o.table, table_json(results, about).encode())
    if o.json:
        sys.stdout.write(table_json(results, about))
    else:
        sys.stdout.write("".join(table(r) for r in results))
    if any(r.interrupted for r in results) or not results:
        sys.stderr.write("orias tune: stopped before the end; the best so far is kept\n")
        return _INTERRUPTED
    return 0


def _about(o: _Options, text: bytes, launch: Launch | None) -> dict[str, Any]:
    """What trials depend on besides their knobs."""
    base = KnobSettings(o.knobs).text() + f"maxrregcount {o.limit}"
    run = f"{o.grid} {o.block} {o.shared} {o.args}" if launch is not None else ""
    return {
        "compiler": identity(), "file": o.file, "text": hashlib.blake2b(text, digest_size=12).hexdigest(), "arch": o.arch,
        "level": o.level, "base": base, "launch": run,
    }  # fmt: skip


def _earlier(o: _Options, about: dict[str, Any]) -> dict[str, list[Trial]]:
    """Trials of an earlier search by kernel; empty if the table does not exist or is about something else."""
    if not o.table or not Path(o.table).exists():
        return {}
    try:
        return known_trials(Path(o.table).read_text(encoding="utf-8"), about, o.objective)
    except (ValueError, KeyError, TypeError, AttributeError):
        raise ToolError(f"{o.table} exists and is no table of orias tune") from None


def _other_sections(path: str) -> KnobSettings:
    """The settings of a knob file that exists."""
    if not path or not Path(path).exists():
        return KnobSettings()
    try:
        return read_knob_file(path)
    except KnobError as e:
        raise ToolError(str(e)) from None


def _knob_file(o: _Options, results: list[Tuned], kept: KnobSettings) -> str:
    """The knob file: a comment for each kernel, and the settings of all kernels, old ones of others included."""
    tuned = {r.kernel for r in results}
    settings = [s for s in kept.settings if s.kernel not in tuned]
    head = "# written by orias tune; a compile takes it with --knob-file\n"
    for r in results:
        how = f"{r.objective} of a launch" if o.block else f"{r.objective} of the code"
        head += (
            f"# {r.kernel} ({o.arch}): {r.ratio:.3f} of the default's modelled time, {how}, {len(r.trials)} trials\n"
        )
        settings += r.settings().settings
    return head + KnobSettings(settings).text()
