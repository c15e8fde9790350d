"""Shapes, types and fragment sizes of wmma.

Facts: docs/facts/front-end.md (matrix instructions).
"""

from typing import Final

from orias.ptx.ast import O_ADDR, O_REG, O_SINK, O_VEC, Operand, Sig
from orias.ptx.fits import may_hold
from orias.ptx.opcode import is_shape

_TALL: Final = ("m16n16k16", "m32n8k16", "m8n32k16")
FACTORS: Final[dict[str, tuple[str, ...]]] = {
    "f16": _TALL, "bf16": _TALL, "s8": _TALL, "u8": _TALL, "tf32": ("m16n16k8",), "s4": ("m8n8k32",), "u4": ("m8n8k32",),
    "b1": ("m8n8k128",), "f64": ("m8n8k4",),
}  # fmt: skip
"""Shapes by the type of A and B."""
_SMALL: Final = ("m8n8k32", "m8n8k128")
SUMS: Final[dict[str, tuple[str, ...]]] = {
    "f16": _TALL, "f32": (*_TALL, *_SMALL, "m16n16k8"), "s32": (*_TALL, *_SMALL), "f64": ("m8n8k4",),
}  # fmt: skip
"""Shapes by the type of C and D."""
_REGISTERS: Final[dict[str, int]] = {
    "f16": 16,
    "bf16": 16,
    "s8": 8,
    "u8": 8,
    "tf32": 32,
    "s4": 4,
    "u4": 4,
    "b1": 1,
    "f64": 64,
}
_FLOAT_PAIRS: Final = frozenset(("f16", "f32"))


def shape_numbers(sig: Sig) -> tuple[int, int, int]:
    """m, n and k of a wmma opcode; k is 0 in a shape of two numbers, which no wmma has."""
    m, _, rest = sig.mods["shape"][1:].partition("n")
    n, _, k = rest.partition("k")
    return int(m), int(n), int(k or 0)


def _product_types(types: tuple[str, ...]) -> str:
    """The type of A and B; "" if no product has these types."""
    if len(types) == 2:
        return "f16" if _FLOAT_PAIRS.issuperset(types) else ""
    if len(types) != 4 or types[1] != types[2] or types[1] == "f16":
        return ""
    sums = {"bf16": "f32", "tf32": "f32", "f64": "f64"}.get(types[1], "s32")
    return types[1] if types[1] in FACTORS and types[0] == types[3] == sums else ""


def wmma_facts(name: str, sig: Sig, words: list[str], types: tuple[str, ...]) -> dict[str, str]:
    """The facts of a wmma opcode that rules test.

    ``operand``: the type that determines the first version; ``factor``: the type of A and B if there is such a product;
    ``shaped``: yes if the shape belongs to the types; ``operations``: number of the operations of a product, ``begins``: the first
    of them; ``layout``: absent if the opcode of a transfer has two.
    """
    facts: dict[str, str] = {}
    operations = [w for w in words if w in ("and", "or", "xor", "popc")]
    if operations:
        facts["begins"] = operations[0]
    facts["operations"] = str(len(operations))
    if sum(w in ("row", "col") for w in words) > 1:
        facts["layout"] = "-"
    if not types:
        return facts
    facts["operand"] = types[1] if len(types) == 4 else types[0]
    if name == "wmma.mma":
        factor = _product_types(types)
        if factor:
            facts["factor"] = factor
        shapes = FACTORS.get(factor, ())
    else:
        shapes = (FACTORS if name[-1] in "ab" else SUMS).get(types[0], ())
    facts["shaped"] = "yes" if sig.mods.get("shape", "") in shapes else "no"
    return facts


def _factor_size(m: int, n: int, k: int, which: str, type_: str) -> int:
    if type_ == "f16":
        return 8
    bits = _REGISTERS[type_]
    count = (m if which == "a" else n) * k
    return max(1, count * bits // (2048 if bits == 64 else 1024))


def _sum_size(m: int, n: int, type_: str) -> int:
    return m * n // (64 if type_ == "f16" else 32)


_HOLDING: Final[dict[str, tuple[str, ...]]] = {
    "f16": ("f16x2", "b32"), "bf16": ("b32",), "tf32": ("b32",), "f32": ("b32", "f32"), "f64": ("b64", "f64"),
}  # fmt: skip
"""Types of the registers that hold elements of a fragment, by the type of the elements; integers of 32 bits for the others."""


def holds(elems: list[Operand], type_: str) -> bool:
    """Whether the registers of a vector may hold elements of the type."""
    return may_hold(elems, _HOLDING.get(type_, ("b32", "u32", "s32")))


def _of_another_type(name: str, type_: str) -> str:
    """The message on registers that cannot hold elements of the type."""
    product = name == "wmma.mma"
    if product and type_ in ("bf16", "tf32"):
        return f"Unexpected instruction types specified for '{name}'"
    if type_ == "f64":
        name = "_mma" if product else "mov"
    return f"Arguments mismatch for instruction '{name}'"


def operand_errors(name: str, sig: Sig, types: tuple[str, ...], ops: list[Operand]) -> list[str]:
    """Error messages on vectors that do not have the size of the fragment; `types` and the shape must be legal."""
    if not is_shape(sig.mods.get("shape", "")) or not types:
        return []
    m, n, k = shape_numbers(sig)
    factor = ""
    if name == "wmma.mma":
        factor = _product_types(types)
        if not factor:
            return []
        sizes = [
            (0, _sum_size(m, n, types[0])),
            (1, _factor_size(m, n, k, "a", factor)),
            (2, _factor_size(m, n, k, "b", factor)),
            (3, _sum_size(m, n, types[-1])),
        ]
    elif name[-1] in "ab":
        if types[0] not in _REGISTERS:
            return []
        sizes = [(0, _factor_size(m, n, k, name[-1], types[0]))]
    else:
        sizes = [(1 if name[-1] == "d" else 0, _sum_size(m, n, types[0]))]
    held = [types[0] if at in (0, 3) else factor for at, _ in sizes] if name == "wmma.mma" else [types[0]]
    if name == "wmma.mma":
        held[3] = types[-1]
    found = [
        _of_another_type(name, type_)
        for (at, _), type_ in zip(sizes, held, strict=True)
        if at < len(ops) and ops[at].kind == O_VEC and not holds(ops[at].elems, type_)
    ]
    if found:
        return found[:1]
    vectorless = [ops[at] for at, _ in sizes if at < len(ops) and ops[at].kind not in (O_VEC, O_REG, O_ADDR, O_SINK)]
    if vectorless:
        return [f"Arguments mismatch for instruction '{name}'"]
    wrong = f"Argument vector size mismatch for instruction '{name}'"
    return [wrong for at, size in sizes if at < len(ops) and (ops[at].kind != O_VEC or len(ops[at].elems) != size)]
