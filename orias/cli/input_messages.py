"""Messages on inputs of a command that cannot be compiled, and those that depend on what an input declares."""

import re

from orias.diag import CompileError, Diagnostic
from orias.target.target_names import TENSOR_MEMORY

_TARGET = re.compile(r"\.target\s+sm_(\w+)")
_TENSOR_ACCESS = (
    "Command line option '--g-tensor-memory-access-check / --gno-tensor-memory-access-check' "
    "not supported for '.target sm_{}', will be ignored"
)


def input_messages(sources: list[tuple[str, str | bytes]], arch: str, release: str) -> list[Diagnostic]:
    """What the front end says of inputs that are not compiled, because the options or another input are wrong."""
    from orias.cli.parse_only import parse_only
    from orias.ptx.module_inputs import merge

    if not sources:
        return []
    try:
        return parse_only([merge(sources, arch)], arch, release)
    except CompileError as e:
        return e.diagnostics
    except RecursionError:
        return []


def has_entry(sources: list[tuple[str, str | bytes]]) -> bool:
    """Whether an input has a kernel; of inputs without errors."""
    from orias.ptx.parser import parse

    return any(f.entry for name, text in sources for f in parse(text, name).functions)


def tensor_access_note(sources: list[tuple[str, str | bytes]]) -> str:
    """The note on the checks of tensor memory accesses; "" if the module's target has tensor memory."""
    text = sources[-1][1]
    found = _TARGET.search(text.decode("latin-1") if isinstance(text, bytes) else text)
    if found is None or found[1] in TENSOR_MEMORY:
        return ""
    return _TENSOR_ACCESS.format(found[1])
