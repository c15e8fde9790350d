"""Runs a compile command: reads the inputs, runs the compiler, reports, writes the output."""

import gc
import os
import sys
import time

from orias.cli.compile_limits import LimitError, run_limited, temporary_name
from orias.cli.compile_settings import Settings
from orias.cli.diagnostics_text import Messages
from orias.cli.hidden_settings import unmet
from orias.cli.parse import Command, UsageError
from orias.cli.settings import settings
from orias.collector import ALLOCATIONS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from orias.api import Cubin, KernelInfo
    from orias.diag import Diagnostic
    from orias.options import Options
    from orias.progress import Bar

FAILURE = 255
_OTHER_TARGET = ("SM version specified by .target", "PTX with .target", "Program with .target")
_AFTER_FRONT_END = (
    "Unresolved extern function",
    "Unknown function",
    " .debug_",
    "Value of threads per SM",
    "Value of minnctapersm",
    "Value of maxntid,",
    "Value specified in pragma local_maxnreg",
    "For entry ",
    "Too many maxnreg",
    "Too many local_maxnreg",
    "Overriding ",
)
"""Starts of messages on what is found after all inputs are read."""
_STEPS = ("Program uses ",), _AFTER_FRONT_END, ("Pragma '",)
"""Starts of messages by the step in which ptxas gives them, after what it finds while it reads; an error ends a step."""
_LAST_STEP = len(_STEPS)
OWN_NAME = "orias"
"""The program's own name; under any other, messages have ptxas's form."""
_REFERENCES = ("textures", "samplers", "surfaces")
"""What is reported of a kernel beside constant banks, in this order."""
STRING_NAME = "application ptx input"
"""Name of input texts in messages."""


def stdin_name(number: int) -> str:
    """Name of standard input in messages: the temporary file that ptxas would use for its input of that number, from 0."""
    return os.path.join(os.environ.get("TMPDIR") or "/tmp", f"tmpxft_{os.getpid():08x}_00000000-{number}_stdin")


def read_inputs(command: Command, missing: list[tuple[str, int]]) -> list[tuple[str, str | bytes]]:
    """(name, text) of every input, texts of the command line last.

    Adds to ``missing`` the names of inputs that it cannot read, each with how many readable ones precede it.
    """
    sources: list[tuple[str, str | bytes]] = []
    standard_inputs = 0
    for kind, text in sorted(command.inputs, key=lambda pair: pair[0] == "string"):
        if kind == "string":
            sources.append((STRING_NAME, text))
        elif text == "-":
            sources.append((stdin_name(standard_inputs), sys.stdin.buffer.read()))
            standard_inputs += 1
        else:
            try:
                with open(text, "rb") as f:
                    sources.append((text, f.read()))
            except IsADirectoryError:
                sources.append((text, b""))
            except (OSError, ValueError):
                missing.append((text, len(sources)))
    return sources


def _can_be_written(path: str) -> bool:
    """Whether a file can be opened for writing, as ptxas does before it generates code."""
    if os.path.exists(path):
        return not os.path.isdir(path) and os.access(path, os.W_OK)
    folder, _, name = path.rpartition("/")
    return name != "" and os.access(folder or ("/" if path[:1] == "/" else "."), os.W_OK | os.X_OK)


def write_output(path: str, data: bytes) -> None:
    """Write a file atomically, through a temporary file next to it and a rename.

    The file keeps its mode.  Devices, files of several names and loops of links are written directly.  Raises OSError if
    the write fails, or if the file may not be written.
    """
    try:
        known = os.stat(path)
    except FileNotFoundError:
        known = None
    if known is not None and (not os.path.isfile(path) or known.st_nlink > 1 or not os.access(path, os.W_OK)):
        with open(path, "wb") as f:
            f.write(data)
        return
    target = os.path.realpath(path)
    temporary = temporary_name(target, os.getpid())
    try:
        with open(temporary, "xb") as f:
            f.write(data)
        if known is not None:
            os.chmod(temporary, known.st_mode & 0o7777)
        os.replace(temporary, target)
    except OSError:
        if os.path.exists(temporary):
            os.unlink(temporary)
        if not os.path.isfile(target):
            raise
        with open(target, "wb") as f:
            f.write(data)


def _say_all(diagnostics: "list[Diagnostic]", sources: list[tuple[str, str | bytes]], out: Messages) -> None:
    """Print diagnostics; on a terminal, under our own name, with the line of the source."""
    excerpts = out.program == OWN_NAME and sys.stderr.isatty()
    for d in diagnostics:
        file, line = d.file or sources[0][0], d.line
        if (
            len(sources) > 1
            and line
            and (not d.file or d.file == sources[0][0])
            and not d.message.startswith("Missing .version")
        ):
            from orias.ptx.module_inputs import locate

            file, line = locate(sources, line)
        out.say(d.severity, d.message, file, line)
        if out.program == OWN_NAME and d.severity == "fatal":
            from orias.cli.source_excerpt import advice

            out.write(advice(d.message, sources[0][1]))
        if excerpts and line and d.severity != "info":
            from orias.cli.source_excerpt import excerpt

            shown = [text for name, text in sources if name == file]
            out.write(excerpt(shown[0], line, d.column) if shown else "")


def _base_name(tool: str) -> str:
    """What messages show of --tool-name: without folders and the last extension."""
    name = tool.rpartition("/")[2]
    return name.rpartition(".")[0] if "." in name else name


def drive(program: str, command: Command) -> int:
    """Compile; returns the exit code."""
    out = Messages(
        _base_name(command.values["tool-name"]) if command.has("tool-name") else program,
        command.flag("disable-warnings"),
        command.flag("warning-as-error"),
    )
    sources: list[tuple[str, str | bytes]] | None = None
    missing: list[tuple[str, int]] = []
    if program == OWN_NAME and "gpu-name" not in command.values:
        from orias.target.own_target import own_target

        sources = read_inputs(command, missing)
        command.values["gpu-name"] = own_target(*[text for _, text in sources])
    for text in unmet(command):
        out.insist(text)
    try:
        s = settings(command)
    except UsageError as e:
        out.say("fatal", str(e))
        return FAILURE
    for severity, text in s.messages:
        out.say(severity, text)
        if severity == "fatal":
            return FAILURE
    if sources is None:
        sources = read_inputs(command, missing)
    if program == OWN_NAME:
        from orias.cli.source_excerpt import not_a_text

        for name, source in sources:
            message = not_a_text(name, source)
            if message:
                out.say("fatal", message)
                return FAILURE
    if out.errors or missing or s.refused:
        return _not_compiled(s, sources, missing, out)
    if s.options.tools_patch and not _fits_tools(s, sources, out):
        return FAILURE
    try:
        seconds, mebibytes = command.number("max-seconds", 0), command.number("max-memory", 0)
        if seconds > 0 or mebibytes > 0:
            return run_limited(lambda: _guarded(s, sources, out), max(seconds, 0), max(mebibytes, 0), s.output)
    except LimitError as e:
        out.say("fatal", str(e))
        return FAILURE
    try:
        return _guarded(s, sources, out)
    except MemoryError:
        out.say("fatal", "Out of memory")
    out.aborted()
    return FAILURE


def _not_compiled(
    s: Settings, sources: list[tuple[str, str | bytes]], missing: list[tuple[str, int]], out: Messages
) -> int:
    """Reports all that is wrong where options or inputs are, or where what Orias does not do is asked for."""
    from orias.cli.input_messages import target_refusal

    for number, said in enumerate([[], *_said_of(s, sources)]):
        _say_all(said, sources, out)
        for name, before in missing:
            if before == number:
                out.say("fatal", f"Input file '{name}' could not be opened")
    if s.refused and not out.errors:
        out.say("fatal", target_refusal(sources, s.options.arch, s.options.release) or s.refused)
        return FAILURE
    out.aborted()
    return FAILURE


def _said_of(s: Settings, sources: list[tuple[str, str | bytes]]) -> "list[list[Diagnostic]]":
    """What the front end says of each input."""
    from orias.cli.input_messages import input_messages

    o = s.options
    return input_messages(sources, o.arch, o.release, o.warn_double)


def _fits_tools(s: Settings, sources: list[tuple[str, str | bytes]], out: Messages) -> bool:
    """Whether inputs have nothing that functions for tools must not have; says what it is."""
    from orias.cli.input_messages import patch_errors, target_refusal

    _say_all([d for own in _said_of(s, sources) for d in own], sources, out)
    wrong = [] if out.errors else patch_errors(sources, s.options.release)
    if wrong:
        _say_no_debug_info(s, sources, out)
        for severity, text in wrong:
            out.say(severity, text)
        refused = target_refusal(sources, s.options.arch, s.options.release)
        if refused:
            out.say("fatal", refused)
            return False
        _say_ignored(s, sources, out)
    if out.errors:
        out.aborted()
    return not out.errors


def _guarded(s: Settings, sources: list[tuple[str, str | bytes]], out: Messages) -> int:
    """Compile; every failure but one of memory becomes a message and an exit code."""
    from orias.diag import CompileError

    try:
        return _compile(s, sources, out)
    except CompileError as e:
        _say_all(_of_inputs(e.diagnostics, sources, s, out), sources, out)
        if out.last.startswith("Unsupported .version") and sources[-1][0] != STRING_NAME:
            out.last = ""  # Alone for a text on the command line only, which is how clients ask for the newest version.
    except RecursionError:
        out.say("fatal", "The input is nested too deeply")
    except MemoryError:
        raise
    except OSError as e:
        out.say("fatal", f"{e.filename}: {e.strerror}")
    except Exception as e:
        if os.environ.get("ORIAS_TRACEBACK"):
            raise
        out.say("fatal", f"Internal error in Orias: {type(e).__name__}: {e}")
    out.aborted()
    return FAILURE


def _of_inputs(
    diagnostics: "list[Diagnostic]", sources: list[tuple[str, str | bytes]], s: Settings, out: Messages
) -> "list[Diagnostic]":
    """The diagnostics of a compile that failed: of several inputs those of one after the other.

    Says before them what ptxas says between the front end and the rest.
    """
    if len(sources) > 1:
        found = [d for own in _said_of(s, sources) for d in own]
        if any(d.severity in ("error", "fatal") for d in found):
            return found
    if any(d.message.startswith(_OTHER_TARGET) for d in diagnostics):
        _say_no_debug_info(s, sources, out)
        return [d for d in diagnostics if d.severity != "warning"]
    if any(d.message.startswith("Unknown function") for d in diagnostics):
        # Pragmas are read afterwards.
        diagnostics = [d for d in diagnostics if not d.message.startswith("Pragma '")]
        said = [d for d in diagnostics if d.severity == "warning"]
        _say_all(said, sources, out)
        if out.errors:
            return []
        _say_between(s, sources, out)
        return [] if out.errors else [d for d in diagnostics if d not in said]
    if any(d.message.startswith(_AFTER_FRONT_END) for d in diagnostics):
        _say_between(s, sources, out)
    return diagnostics


def _say_no_debug_info(s: Settings, sources: list[tuple[str, str | bytes]], out: Messages) -> None:
    """Say that there is no debug information to leave out."""
    o = s.options
    if o.suppress_debug_info and not (o.debug or o.lineinfo or any(_has_loc(text) for _, text in sources)):
        out.say(
            "warning",
            "Option suppress-debug-info requires option device-debug or lineinfo; "
            "ignoring since latter is not specified",
        )


def _say_between(s: Settings, sources: list[tuple[str, str | bytes]], out: Messages) -> None:
    """Say what ptxas says when the front end has read all inputs."""
    _say_no_debug_info(s, sources, out)
    _say_ignored(s, sources, out)


def _say_ignored(s: Settings, sources: list[tuple[str, str | bytes]], out: Messages) -> None:
    """Say which options on barriers and tensor accesses the inputs' targets do not have."""
    for text in s.late:
        out.say("warning", text)
    if s.legacy_barriers:
        from orias.cli.input_messages import legacy_barrier_note

        note = legacy_barrier_note(sources)
        if note:
            out.say("warning", note)
    if s.tensor_access:
        from orias.cli.input_messages import tensor_access_note

        note = tensor_access_note(sources)
        if note:
            out.say("info", note)


def collect_seldom() -> None:
    """Switch the cyclic collector on again if `orias.__main__` switched it off: exempt existing objects and collect seldom.

    This saves 15 to 20 % of the time of a small compile and 5 % of a large one, for at most a few MiB (CPython 3.11,
    mypyc, files of 60 to 20,000 lines).
    """
    if not gc.isenabled():
        gc.freeze()
        gc.set_threshold(ALLOCATIONS, 10, 10)
        gc.enable()


def _compile(s: Settings, sources: list[tuple[str, str | bytes]], out: Messages) -> int:
    if s.parse_only:
        from orias.cli.parse_only import parse_only

        _say_all(parse_only(sources, s.parse_only, s.options.release, s.options.raw_textures), sources, out)
        if not out.errors:
            _say_between(s, sources, out)
        if out.errors:
            out.aborted()
            return FAILURE
        return 0
    from orias.api import compile_sources

    collect_seldom()
    unread = _read_host(s)
    start = time.perf_counter()
    bar = _bar(s, out)
    try:
        cubin = compile_sources(sources, s.options, None, bar)
    finally:
        if bar is not None:
            bar.clear()
    o = s.options
    steps = [_step(d) for d in cubin.diagnostics]
    for step in range(_LAST_STEP + 1):
        _say_all([d for d, at in zip(cubin.diagnostics, steps, strict=True) if at == step], sources, out)
        if step == 0 and not out.errors:
            _say_between(s, sources, out)
        if out.errors:
            out.aborted()
            return FAILURE
    if s.profile_option is not None:
        out.say("fatal", f"Unknown profile option '{s.profile_option}'")
        return FAILURE
    if s.show_phases:
        from orias.cli.phase_text import phase_times

        sys.stderr.write(phase_times(cubin.phases))
    if s.remark_kinds:
        from orias.cli.remark_text import say_remarks

        say_remarks(cubin.remarks, s.remark_kinds, sources[0][0], out)
    if o.stop_after:
        return 0
    if o.jobserver and o.split_compile != 1 and not cubin.jobserver:
        text = "GNU Jobserver support requested, but no compatible jobserver found. Ignoring '--jobserver'"
        out.say("warning", text)
    if out.errors:
        out.aborted()
        return FAILURE
    _usage_warnings(cubin, s, out)
    if unread:
        out.say("fatal", unread)
        return FAILURE
    for name in cubin.unknown_stacks if s.says_stacks else ():
        out.say("warning", f"Stack size for entry function '{name}' cannot be statically determined")
    if out.errors:
        return FAILURE
    if not _can_be_written(s.output):
        out.say("fatal", f"Output file '{s.output}' could not be opened")
        return FAILURE
    if s.options.verbose:
        report(cubin, s.options, out)
        if cubin.no_capsule and s.say_no_capsules:
            out.say("info", f"No capsules: {cubin.no_capsule}")
    if out.errors:
        return FAILURE
    for path, data in _files(s, cubin, sources):
        try:
            write_output(path, data)
        except (OSError, ValueError):
            out.say("fatal", f"Output file '{path}' could not be opened")
            return FAILURE
    if s.trace and not _trace(cubin, s, sources[0][0], start, out):
        return FAILURE
    if s.statistics and not _statistics(cubin, s, sources[0][0], out):
        return FAILURE
    return 0


def _read_host(s: Settings) -> str:
    """Read the file of --nv-host; the message if that cannot be, which ptxas gives when it writes the cubin."""
    if s.host_file is None:
        return ""
    from orias.cli.hidden_files import read_host

    try:
        s.options.host_data = read_host(s.host_file)
    except UsageError as e:
        return str(e)
    return ""


def _step(d: "Diagnostic") -> int:
    """The step in which ptxas gives a message: 0 while it reads, then those of ``_STEPS``."""
    return next((n for n, starts in enumerate(_STEPS, 1) if d.message.startswith(starts)), 0)


def _files(s: Settings, cubin: "Cubin", sources: list[tuple[str, str | bytes]]) -> list[tuple[str, bytes]]:
    """(path, data) of each file to write."""
    files = [(s.output, cubin.data)]
    if s.link_info:
        from orias.cli.hidden_files import link_info

        o = s.options
        text = link_info(sources, o.arch, o.release, o.access_checks or o.thread_steering)
        files.append((s.link_info, text.encode("latin-1")))
    return files


def _bar(s: Settings, out: Messages) -> "Bar | None":
    """A progress bar, under our own name on a terminal that nothing else writes to."""
    if out.program != OWN_NAME or s.options.watches or not sys.stderr.isatty():
        return None
    from orias.progress import Bar

    return Bar()


def _trace(cubin: "Cubin", s: Settings, source: str, start: float, out: Messages) -> bool:
    """Add the compile to the trace file; False if that cannot be."""
    from orias.cli.time_trace import TraceError, events_of, read_trace, trace_start, write_trace

    try:
        trace = read_trace(s.trace)
        offset = trace_start(trace, s.trace_after)
        end = time.perf_counter()
        write_trace(s.trace, trace, events_of(cubin, source, start, end, offset, s.trace_pid or os.getpid()))
    except TraceError as e:
        out.say("fatal", str(e))
        return False
    return True


def _statistics(cubin: "Cubin", s: Settings, source: str, out: Messages) -> bool:
    """Print the statistics or add them to a file; False if that cannot be."""
    from orias.cli.statistics_text import statistics

    if not s.statistics_file:
        out.write(statistics(cubin, s.statistics, f"{out.program} info    : STAT: "))
        return True
    try:
        with open(s.statistics_file, "a", encoding="utf-8") as f:
            f.write(f"{source} >>\n\n" + statistics(cubin, s.statistics, ""))
    except OSError:
        out.say("fatal", f"Output file '{s.statistics_file}' could not be opened")
        return False
    return True


def _has_loc(text: str | bytes) -> bool:
    """True if a PTX text has line information."""
    words = text.split() if isinstance(text, bytes) else text.encode("latin-1", "replace").split()
    return b".loc" in words


def _in_file_order(cubin: "Cubin") -> "list[KernelInfo]":
    """Kernels, and functions with sections of their own, in the order of their sections."""
    from orias.cubin.elf import ElfFile

    names = [s.name.removeprefix(".text.") for s in ElfFile(cubin.data).sections if s.name.startswith(".text.")]
    return [cubin.kernels[name] for name in names if name in cubin.kernels]


def _copies_in(k: "KernelInfo", cubin: "Cubin") -> "list[tuple[str, KernelInfo]]":
    """Names and facts of the functions that were copied after a kernel, by name as in ptxas."""
    from orias.ptx.input_scopes import written

    prefix = f"${k.name}$"
    found = [(written(name[len(prefix) :]), f) for name, f in cubin.functions.items() if name.startswith(prefix)]
    return sorted(found, key=lambda pair: pair[0])


def _usage_warnings(cubin: "Cubin", s: Settings, out: Messages) -> None:
    if not (s.options.warn_lmem or s.options.warn_spills):
        return
    for k in _in_file_order(cubin):
        if s.options.warn_lmem and k.stack:
            out.say("warning", f"Local memory used for function '{k.name}', size of stack frame: {k.stack} bytes")
        for name, f in [(k.name, k), *_copies_in(k, cubin)]:
            if s.options.warn_spills and (f.spill_stores or f.spill_loads):
                out.say(
                    "warning",
                    f"Registers are spilled to local memory in function '{name}', "
                    f"{f.spill_stores} bytes spill stores, {f.spill_loads} bytes spill loads",
                )


def report(cubin: "Cubin", options: "Options", out: Messages) -> None:
    """The ``-v`` report: the module, then kernels and functions of their own in the order of their sections, each kernel with the
    copies of its functions.
    """
    head = f"{cubin.gmem} bytes gmem"
    for bank, size in sorted(cubin.cmem.items()):
        if size:
            head += f", {size} bytes cmem[{bank}]"
    out.say("info", head)
    for k in _in_file_order(cubin):
        out.write("".join(_kernel_lines(k, cubin, options.arch, out) if k.is_entry else _function_lines(k, out)))


def _info(text: str, out: Messages) -> str:
    return f"{out.program} info    : {text}\n"


def _properties(k: "KernelInfo", name: str, out: Messages) -> list[str]:
    spills = f"{k.spill_stores} bytes spill stores, {k.spill_loads} bytes spill loads"
    return [_info(f"Function properties for {name}", out), f"    {k.stack} bytes stack frame, {spills}\n"]


def _function_lines(f: "KernelInfo", out: Messages) -> list[str]:
    return [*_properties(f, f.name, out), _info(f"Compile time = {1000 * f.seconds:.3f} ms", out)]


def _kernel_lines(k: "KernelInfo", cubin: "Cubin", arch: str, out: Messages) -> list[str]:
    used = f"Used {k.registers} registers, used {k.barriers} barriers"
    if k.stack_cumulative:
        used += f", {k.stack_cumulative} bytes cumulative stack size"
    if k.shared:
        used += f", {k.shared} bytes smem"
    for bank, size in sorted(k.constant.items()):
        if size:
            used += f", {size} bytes cmem[{bank}]"
    for name in _REFERENCES:
        if k.references.get(name):
            used += f", {k.references[name]} {name}"
    lines = [_info(f"Compiling entry function '{k.name}' for '{arch}'", out), *_properties(k, k.name, out)]
    lines += [_info(used, out), _info(f"Compile time = {1000 * k.seconds:.3f} ms", out)]
    for name, f in _copies_in(k, cubin):
        lines += _properties(f, name, out)
    return lines
