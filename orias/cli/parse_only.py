"""Handles ``-arch=compute_NN`` and ``lto_NN``: reads and checks the PTX, writes nothing."""

from orias.diag import Diagnostic
from orias.ptx.module_checks import check
from orias.ptx.parser import parse
from orias.target.profile import TARGETS


def parse_only(sources: list[tuple[str, str | bytes]], arch: str) -> list[Diagnostic]:
    """Diagnostics of the inputs for a target (``sm_80``); CompileError if one cannot be read."""
    found: list[Diagnostic] = []
    for name, text in sources:
        module = parse(text, name)
        found += [*module.warnings, *check(module, TARGETS[arch])]
    return found
