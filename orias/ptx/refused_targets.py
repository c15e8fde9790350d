"""Why a module cannot be compiled for a target: the fatal message, or errors on its warpgroup instructions.

ptxas 13.0.88 looks at most instructions for the target that the text names, and at ``wgmma`` also for the one that it compiles for; its
errors there come while it reads the text, before the message on the two targets.
"""

from typing import Final

from orias.diag import Diagnostic
from orias.ptx.ast import Instr, Module
from orias.ptx.instructions import Checker
from orias.ptx.targets import number_of, refusal, suffix_of

_WARPGROUP: Final = "wgmma."
_CANNOT: Final = "cannot be compiled for architecture"


def refused_target(module: Module, arch: str) -> list[Diagnostic]:
    """The messages that refuse a module for ``arch`` (``sm_100``, ``compute_100``, ``lto_100``); none if it can be compiled for it."""
    why = refusal(module.target, arch)
    if not why:
        return []
    found: list[Diagnostic] = []
    shown = arch.replace("lto_", "compute_")
    if number_of(suffix_of(shown)) > number_of(suffix_of(module.target)):
        checker = Checker(module, shown)
        for function in module.functions:
            for i in function.body or ():
                if isinstance(i, Instr) and i.sig.name.startswith(_WARPGROUP):
                    checked = checker.opcode(i.sig)
                    said = [m for m in (*checked.early, *checked.errors, *checked.late) if _CANNOT in m]
                    found += [Diagnostic("error", m, i.line, i.column) for m in said]
    return found or [Diagnostic("fatal", why)]
