"""Where arguments and results of calls are: registers and stack bytes of the ABI (:mod:`orias.target.abi`)."""

from orias.diag import Unsupported
from orias.lower.frame.data_layout import align_up, type_words, var_align
from orias.ptx.ast import Function, Instr, Var
from orias.target import abi


def callee_of(i: Instr) -> Function:
    """The signature that a call uses: the callee's, or the prototype of an indirect call."""
    o = i.ops[0]
    if o.func is not None:
        return o.func
    if i.proto is not None:
        if i.proto.proto is not None:
            return i.proto.proto
        if i.proto.functions:
            return i.proto.functions[0]
    raise Unsupported("An indirect call without prototype is not supported", i.line)


def places(vars_: list[Var], first: int = abi.ARG_FIRST) -> tuple[list[abi.Place], int]:
    """ABI places of parameters, and the stack bytes that they need."""
    return abi.arguments([(_bytes(v), max(var_align(v), 1)) for v in vars_], first)


def _bytes(v: Var) -> int:
    """Size in bytes as a parameter: each element of a register vector takes at least a word; 0 for an array of unknown size."""
    if is_variadic(v):
        return 0
    if v.space == "reg":
        return 4 * type_words(v.type) * v.vec if v.vec > 1 else max(v.size, 1)
    return max(v.size, 1)


def is_variadic(v: Var) -> bool:
    """Whether a parameter is an array of unknown size: what a caller gives beyond the other parameters."""
    return v.dims[:1] == (0,)


def returns_in_memory(f: Function) -> bool:
    """True if the result is too large for registers."""
    return sum(v.size for v in f.rets) > abi.RETURN_MAX


def first_argument(f: Function) -> int:
    """Register number of the first argument: 4, or 5 where R4 has the address of the result."""
    return abi.ARG_FIRST + 1 if returns_in_memory(f) else abi.ARG_FIRST


def outgoing_align(i: Instr) -> int:
    """Alignment that the arguments of a call on the stack, and a result in memory, need: callees rely on it, as ptxas's do."""
    f = callee_of(i)
    where, _ = places(f.params, first_argument(f))
    found = [var_align(v) for v, p in zip(f.params, where, strict=True) if p.reg < 0]
    if returns_in_memory(f):
        found += [var_align(v) for v in f.rets]
    return max(found, default=1)


def outgoing_bytes(i: Instr) -> int:
    """Stack bytes that the arguments of a call need."""
    f = callee_of(i)
    where, total = places(f.params, first_argument(f))
    if i.args and len(i.args) == len(f.params) and is_variadic(f.params[-1]):
        last = i.args[-1].var
        return align_up(where[-1].stack + (last.size if last is not None else 0), 8)
    return total
