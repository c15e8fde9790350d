"""Handles ``-arch=compute_NN`` and ``lto_NN``: reads and checks the PTX, writes nothing.

What shows only when code is made, such as too much data and undefined functions, is not checked.
"""

import re

from orias.cli.input_messages import messages_of_last
from orias.diag import CompileError, Diagnostic
from orias.ptx.ast import Module
from orias.ptx.module_checks import check_debug
from orias.ptx.parser import parse
from orias.ptx.refused_targets import refused_target
from orias.ptx.targets import newest_of


def parse_only(sources: list[tuple[str, str | bytes]], arch: str, release: str, raw_textures: bool) -> list[Diagnostic]:
    """Diagnostics of the inputs for a target (``compute_80``), a release of the tools and a mode of textures; CompileError if one cannot be read."""
    found: list[Diagnostic] = []
    modules: list[Module] = []
    for name, text in sources:
        module = parse(text, name, newest_of(release), (), raw_textures)
        modules.append(module)
        found += module.warnings
        refused = refused_target(module, arch)
        if refused:
            raise CompileError([*found, *refused])
        found += check_debug(module)
    return [*found, *_clashes(sources, modules, arch, release)]


def _clashes(
    sources: list[tuple[str, str | bytes]], modules: list[Module], arch: str, release: str
) -> list[Diagnostic]:
    """The errors on names of several inputs that are not local to one."""
    found: list[Diagnostic] = []
    before: set[str] = set()
    for k, module in enumerate(modules):
        own = {f.name for f in module.functions if f.linkage} | {v.name for v in module.variables if v.linkage}
        both = own & before
        if both:
            said = messages_of_last(sources[: k + 1], arch, release)
            found += [d for d in said if both.intersection(re.findall("'([^']*)'", d.message))]
        before |= own
    return found
