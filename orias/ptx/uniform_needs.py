"""Instructions that ptxas 13.0.88 refuses where uniform registers are not to be taken (``--sw200428197``)."""

from typing import Final

from orias.diag import Diagnostic
from orias.ptx.ast import Instr, Module

_REFUSED: Final = ("cp.async.", "mbarrier.", "redux.")
_BULK: Final = "cp.async.bulk."


def uniform_needs(module: Module) -> list[Diagnostic]:
    """An error for each such instruction; the first ``redux`` is fatal."""
    found: list[Diagnostic] = []
    for f in module.functions:
        for s in f.body or ():
            name = f"{s.sig.name}." if isinstance(s, Instr) else ""
            if name.startswith(_REFUSED) and not name.startswith(_BULK):
                first = name.partition(".")[0]
                fatal = first == "redux"
                text = f"Instruction '{first}' is not allowed when command line option '--sw200428197' is specified "
                found.append(Diagnostic("fatal" if fatal else "error", text))
                if fatal:
                    return found
    return found
