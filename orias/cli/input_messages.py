"""Messages on inputs of a command that cannot be compiled, and those that depend on what an input declares."""

import re

from orias.cli.hidden_settings import older_than
from orias.diag import CompileError, Diagnostic
from orias.ptx.ast import Module
from orias.ptx.double_warnings import DOUBLES
from orias.ptx.module_checks import NO_DEBUG
from orias.ptx.module_inputs import HEAD_ERRORS, input_lines, merge
from orias.ptx.parser import LOC_WITHOUT_FILE, parse
from orias.ptx.targets import newest_of, refusal
from orias.target.target_names import TENSOR_MEMORY

_TARGET = re.compile(r"\.target\s+sm_(\w+)")
_OPTIONS = re.compile(r"\.target\s+([^\n/.]*)")
_TENSOR_ACCESS = (
    "Command line option '--g-tensor-memory-access-check / --gno-tensor-memory-access-check' "
    "not supported for '.target sm_{}', will be ignored"
)


def input_messages(
    sources: list[tuple[str, str | bytes]], arch: str, release: str, doubles: bool = False
) -> list[list[Diagnostic]]:
    """What the front end says of each of the inputs that are not compiled.

    An input with a fatal error is left out; the errors in others do not keep ptxas from checking the next one against them.
    """
    found: list[list[Diagnostic]] = []
    taken: list[tuple[str, str | bytes]] = []
    for source in sources:
        own = messages_of_last([*taken, source], arch, release, doubles)
        found.append(own)
        if any(d.severity == "fatal" for d in own):
            continue
        taken.append(source)
        if any(_declares_debug(text) for _, text in taken) and not any(_has_debug(text) for _, text in taken):
            own.append(Diagnostic("error", NO_DEBUG))
    return found


def messages_of_last(
    sources: list[tuple[str, str | bytes]], arch: str, release: str, doubles: bool = False
) -> list[Diagnostic]:
    """The errors of the last of several inputs, as a module of its own in what cannot be merged, else beside the others.

    With `doubles` the warnings on doubles too, also of an input without errors.
    """
    name, text = sources[-1]
    before = sum((t.count(b"\n") if isinstance(t, bytes) else t.count("\n")) + 1 for _, t in sources[:-1])
    alone: list[Diagnostic] = []
    try:
        alone = _doubles(parse(text, name, newest_of(release), (), False, doubles))
    except CompileError as e:
        alone = e.diagnostics
    except RecursionError:
        return []
    if len(sources) == 1 or any(d.message.startswith(HEAD_ERRORS) for d in alone):
        return [_placed(d, name, 0) for d in alone]
    try:
        module = parse(merge(sources, arch)[1], name, newest_of(release), input_lines(sources), False, doubles)
    except CompileError as e:
        return [_placed(d, name, before) for d in e.diagnostics if d.line > before]
    except RecursionError:
        return []
    return [_placed(d, name, before) for d in _doubles(module) if d.line > before]


def _doubles(module: Module) -> list[Diagnostic]:
    """The warnings of a module without errors that ptxas gives while it reads."""
    return [d for d in module.warnings if d.message == DOUBLES]


def _placed(d: Diagnostic, name: str, before: int) -> Diagnostic:
    """A diagnostic of a merged text as one of its last input, which some lines precede."""
    return Diagnostic(d.severity, d.message, max(0, d.line - before), d.column, name)


def _text(text: str | bytes) -> str:
    return text.decode("latin-1") if isinstance(text, bytes) else text


def _declares_debug(text: str | bytes) -> bool:
    """True if an input is for ``.target ..., debug``."""
    found = _OPTIONS.search(_text(text))
    return found is not None and "debug" in [word.strip() for word in found[1].split(",")]


def _has_debug(text: str | bytes) -> bool:
    """True if an input has debug sections."""
    return ".section" in _text(text) or "@@DWARF" in _text(text)


def target_refusal(sources: list[tuple[str, str | bytes]], arch: str, release: str) -> str:
    """Why inputs without errors cannot be compiled for a target, "" if they can."""
    name, text = merge(sources, arch)
    return refusal(parse(text, name, newest_of(release), input_lines(sources)).target, arch)


def patch_errors(sources: list[tuple[str, str | bytes]], release: str) -> list[tuple[str, str]]:
    """What functions for tools (``--compile-as-tools-patch``) must not have, of inputs without errors; then a note on lines without a file."""
    modules = [parse(text, name, newest_of(release)) for name, text in sources]
    functions = [f for m in modules for f in m.functions]
    variables = [v for m in modules for v in m.variables] + [v for f in functions for v in f.variables]
    found = []
    if any(v.space == "shared" for v in variables):
        found.append("Allocating additional shared memory is")
    if any(f.entry for f in functions):
        found.append("Entry function is")
    option = "not allowed when command line option '--compile-as-tools-patch' is specified "
    warnings = [d for m in modules for d in m.warnings if d.message == LOC_WITHOUT_FILE] if found else []
    return [*(("error", f"{what} {option}") for what in found), *(("warning", d.message) for d in warnings[:1])]


def legacy_barrier_note(sources: list[tuple[str, str | bytes]]) -> str:
    """The note on barriers that act on whole warps; "" if the module's target, at most sm_70, may ask for them."""
    found = _TARGET.search(_text(sources[-1][1]))
    if found is None or older_than(found[1], 71):
        return ""
    return "Command line option '--legacy-bar-warp-wide-behavior' not supported for '.target sm_70', will be ignored"


def tensor_access_note(sources: list[tuple[str, str | bytes]]) -> str:
    """The note on the checks of tensor memory accesses; "" if the module's target has tensor memory."""
    found = _TARGET.search(_text(sources[-1][1]))
    if found is None or found[1] in TENSOR_MEMORY:
        return ""
    return _TENSOR_ACCESS.format(found[1])
