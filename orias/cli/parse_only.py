"""Handles ``-arch=compute_NN`` and ``lto_NN``: reads and checks the PTX, writes nothing.

What shows only when code is made, such as too much data and undefined functions, is not checked.
"""

from orias.diag import CompileError, Diagnostic
from orias.ptx.module_checks import check_debug
from orias.ptx.parser import parse
from orias.ptx.targets import newest_of, refusal


def parse_only(sources: list[tuple[str, str | bytes]], arch: str, release: str) -> list[Diagnostic]:
    """Diagnostics of the inputs for a target (``compute_80``) and a release of the tools; CompileError if one cannot be read."""
    found: list[Diagnostic] = []
    for name, text in sources:
        module = parse(text, name, newest_of(release))
        found += module.warnings
        why = refusal(module.target, arch)
        if why:
            raise CompileError([*found, Diagnostic("fatal", why)])
        check_debug(module, found)
    return found
