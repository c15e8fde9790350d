"""Operands that instructions may not have where ptxas puts text of its own in their place.

64-bit divisions, ranges of cache policies, collectives up to sm_89, wmma of halves, copies to another CTA of the cluster where a driver
function makes them.  That text has no place for a sum (a register, a variable or a function plus a constant), a function is no argument
of its calls, and it moves addresses of copies into registers of 32 bits, to global memory of 64; from sm_90 on the same operands of
collectives are legal.  The text is that of the target that ptxas compiles for, whatever the module names.  Facts: docs/facts/front-end.md (operands).
"""

from typing import Final

from orias.diag import Diagnostic
from orias.ptx.ast import O_FUNC, O_REG, O_SYM, TYPE_BITS, Instr, Module, Operand
from orias.ptx.wmma_checks import holds
from orias.target import features
from orias.target.profile import Target

_Parts = tuple[tuple[int, ...], ...]
SUM_ERROR: Final = "Parsing error near '+': syntax error"
_COLLECTIVES: Final = frozenset(("shfl", "vote", "match", "redux", "bar.warp.sync"))
_ARGUMENT: Final[dict[str, int]] = {"shfl": -1, "match": 0}
"""Collectives that may have a function as a source -> what the number of its argument is above that of the operand."""

_MOVED: Final[dict[str, tuple[tuple[int, int], ...]]] = {
    "cp.async.bulk": ((0, 32), (1, 64), (3, 32)),
    "cp.async.bulk.tensor": ((0, 32), (1, 64), (2, 32)),
}
"""Copies from global memory to a cluster -> the operands that are addresses, and how many bits a register there has at least."""
MOVE_ERROR: Final = "Arguments mismatch for instruction 'mov'"

_PRODUCTS: Final[dict[str, tuple[int, int, _Parts]]] = {
    "m16n16k16": (1, 2, ((0, 0), (0, 2))),
    "m32n8k16": (1, 2, ((0, 0), (4, 0))),
    "m8n32k16": (2, 1, ((0, 0), (4, 0))),
}
"""Shapes of wmma of halves -> the operands of which the two ``m16n8k16`` in its place read four registers and two, and the first
ones in each; either has a half of the sums.  Where only ``m16n8k8`` exists, each of them is two that read two registers and one.
"""


def replaced_text_errors(module: Module, target: Target) -> list[Diagnostic]:
    """The errors on sums and functions in collectives, parts of the factors of wmma, and addresses of copies; a sum ends the reading."""
    copied = target.has(features.DRIVER_CLUSTER_COPIES)
    collectives, halved = target.has(features.COLLECTIVE_MACROS), not target.has(features.LARGER_PRODUCTS)
    found: list[Diagnostic] = []
    for function in module.functions:
        for i in function.body or ():
            if not isinstance(i, Instr):
                continue
            if i.sig.name == "wmma.mma":
                found += _product_errors(i, halved)
            if copied and is_cluster_copy(i):
                found += _copy_errors(i)
            if not (i.sig.name == "createpolicy" and "range" in i.sig.mods.values()) and not (
                collectives and _is_replaced(i)
            ):
                continue
            if any(_is_sum(op) for op in i.ops):
                return [*found, Diagnostic("fatal", SUM_ERROR, i.line)]
            twice = i.sig.name == "match" and target.has(features.DOUBLED_MATCHES)
            for k, op in enumerate(i.ops):
                if op.kind == O_FUNC and op.func is not None and i.sig.name in _ARGUMENT:
                    number = k + _ARGUMENT[i.sig.name]
                    found += _function_errors(op.func.name, number, i.line) * (2 if twice else 1)
    return found


def _product_errors(i: Instr, halved: bool) -> list[Diagnostic]:
    """The errors on a wmma of halves: what each product in its place reads and writes must be untyped or of the type.

    Sums of another type than the product's are converted before or after it.
    """
    types = i.sig.types
    if len(types) != 2:
        return []
    larger, smaller, products = _PRODUCTS[i.sig.mods["shape"]]
    sums = "f32" if "f32" in types else "f16"
    wrong = 0
    for n, (first, second) in enumerate(products):
        result, start = [types[k] == sums and not holds(_half(i.ops[k * 3].elems, n), sums) for k in (0, 1)]
        for step in range(2 if halved else 1):
            size = 2 if halved else 4
            x, y = first + 2 * step, second + step
            parts = i.ops[larger].elems[x : x + size], i.ops[smaller].elems[y : y + size // 2]
            wrong += result or (start and not step) or not all(holds(part, "f16") for part in parts)
    return [Diagnostic("error", "Arguments mismatch for instruction '_mma'", i.line)] * wrong


def is_cluster_copy(i: Instr) -> bool:
    """Whether an instruction copies from global memory to shared memory of the cluster."""
    mods = i.sig.mods
    return i.sig.name in _MOVED and mods.get("dst") == "shared::cluster" and mods.get("src", "global") == "global"


def _copy_errors(i: Instr) -> list[Diagnostic]:
    """The errors on addresses of a copy in registers that are too narrow."""
    registers = ((i.ops[k].var, bits) for k, bits in _MOVED[i.sig.name])
    narrow = [v for v, bits in registers if v is not None and v.space == "reg" and TYPE_BITS.get(v.type, 0) < bits]
    return [Diagnostic("error", MOVE_ERROR, i.line)] * len(narrow)


def _half(elems: list[Operand], n: int) -> list[Operand]:
    """The first (0) or second (1) half of a vector."""
    half = len(elems) // 2
    return elems[n * half : (n + 1) * half]


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
