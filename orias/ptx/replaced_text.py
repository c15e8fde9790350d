"""Operands that instructions may not have where ptxas puts text of its own in their place: 64-bit divisions, collectives up to sm_89.

That text has no place for a sum (a register, a variable or a function plus a constant), and a function is no argument of
its calls; from sm_90 on the same operands of collectives are legal.  Facts: docs/facts/front-end.md (operands).
"""

from typing import Final

from orias.diag import Diagnostic
from orias.ptx.ast import O_FUNC, O_REG, O_SYM, Instr, Module, Operand
from orias.target import features
from orias.target.profile import Target

SUM_ERROR: Final = "Parsing error near '+': syntax error"
_COLLECTIVES: Final = frozenset(("shfl", "vote", "match", "redux", "bar.warp.sync"))
_ARGUMENT: Final[dict[str, int]] = {"shfl": -1, "match": 0}
"""Collectives that may have a function as a source -> what the number of its argument is above that of the operand."""


def replaced_text_errors(module: Module, target: Target) -> list[Diagnostic]:
    """The errors on sums and functions in collectives; a sum ends the reading of the text."""
    if not target.has(features.COLLECTIVE_MACROS):
        return []
    found: list[Diagnostic] = []
    for function in module.functions:
        for i in function.body or ():
            if not isinstance(i, Instr) or not _is_replaced(i):
                continue
            if any(_is_sum(op) for op in i.ops):
                return [*found, Diagnostic("fatal", SUM_ERROR, i.line)]
            twice = i.sig.name == "match" and target.has(features.DOUBLED_MATCHES)
            for k, op in enumerate(i.ops):
                if op.kind == O_FUNC and op.func is not None and i.sig.name in _ARGUMENT:
                    number = k + _ARGUMENT[i.sig.name]
                    found += _function_errors(op.func.name, number, i.line) * (2 if twice else 1)
    return found


def ends_at_sum(i: Instr) -> bool:
    """Whether an instruction is a 64-bit division of a sum, at which the reading of the text ends, for any target."""
    return (
        i.sig.name in ("div", "rem")
        and i.sig.types[:1] in (("u64",), ("s64",))
        and any(op.key.endswith("+") for op in i.ops[1:])
    )


def _is_replaced(i: Instr) -> bool:
    name = i.sig.name
    if name.startswith("barrier") and not name.startswith("barrier.cluster"):
        return "aligned" not in i.sig.mods
    return name in _COLLECTIVES


def _is_sum(op: Operand) -> bool:
    """Whether an operand is a sum: of a register, which the parser has replaced by one without name, or of a variable."""
    if op.kind == O_REG:
        return op.var is not None and not op.var.name
    return op.kind == O_SYM and op.key == "s+"


def _function_errors(name: str, number: int, line: int) -> list[Diagnostic]:
    return [
        Diagnostic("error", f"Call argument '{name}' has illegal state space", line),
        Diagnostic("error", f"Type of argument does not match formal parameter 'arg{number}'", line),
        Diagnostic("error", f"Alignment of argument does not match formal parameter 'arg{number}'", line),
    ]
