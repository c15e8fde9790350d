"""Shapes, types and operands of wgmma.mma_async.

Facts: docs/facts/front-end.md (matrix instructions).
"""

from typing import Final

from orias.ptx.ast import O_IMM, O_REG, O_SINK, O_SYM, O_VEC, TYPE_BITS, Operand, Sig
from orias.ptx.matrix_checks import numbers
from orias.ptx.opcode import is_shape

_F8: Final = ("e4m3", "e5m2")
_I8: Final = ("s8", "u8")
_ALL_N: Final = frozenset(range(8, 257, 8))
_INTEGER_N: Final = frozenset((8, 16, 24, *range(32, 257, 16)))
_K: Final[dict[str, int]] = {"f16": 16, "bf16": 16, "tf32": 8, "e4m3": 32, "e5m2": 32, "s8": 32, "u8": 32, "b1": 256}
"""Depth of the dense shapes by type of A; sparse ones have twice that."""
NAME: Final = "wgmma.mma_async"


def _kind(types: tuple[str, ...]) -> str:
    """The class of an instruction in messages; empty if the list of types is illegal."""
    if len(types) != 3:
        return ""
    d, a, b = types
    if a == b and ((a == "f16" and d in ("f16", "f32")) or (a in ("bf16", "tf32") and d == "f32")):
        return "floating point types"
    if a in _F8 and b in _F8 and d in ("f16", "f32"):
        return "FP8 types"
    if d == "s32" and a in _I8 and b in _I8:
        return "integer types" if a == b else "mixed integer types"
    return "boolean type" if types == ("s32", "b1", "b1") else ""


def _known_shape(shape: str) -> bool:
    if not is_shape(shape):
        return False
    m, n, k = numbers(shape)
    return m != 64 or (n in _ALL_N and k in (8, 16, 32, 64, 256))


def wgmma_facts(sig: Sig, types: tuple[str, ...]) -> dict[str, str]:
    """The facts of a wgmma.mma_async opcode that rules test.

    ``class``: name of its types in messages; ``shaped``: yes, no (not with these types) or unknown (with no types).
    """
    facts: dict[str, str] = {}
    kind = _kind(types)
    if not kind:
        return facts
    facts["class"] = kind
    shape = sig.mods.get("shape", "")
    if not shape:
        return facts
    if not _known_shape(shape):
        facts["shaped"] = "unknown"
        return facts
    m, n, k = numbers(shape)
    sizes = _ALL_N if kind in ("floating point types", "FP8 types") else _INTEGER_N
    depth = _K[types[1]] * (2 if "sp" in sig.mods else 1)
    facts["shaped"] = "yes" if m == 64 and n in sizes and k == depth else "no"
    return facts


def _word(o: Operand, bits: int) -> bool:
    """Whether an operand is a register of this many bits."""
    return o.kind == O_REG and o.var is not None and o.var.type != "pred" and TYPE_BITS[o.var.type] == bits


def _list(o: Operand, bits: int) -> bool:
    return all(e.kind == O_SINK or _word(e, bits) for e in o.elems)


def wgmma_operands(sig: Sig, types: tuple[str, ...], ops: list[Operand]) -> list[str]:
    """Error messages on the operands of a wgmma.mma_async."""
    kind = _kind(types)
    sparse = "sp" in sig.mods
    if not kind or not _known_shape(sig.mods.get("shape", "m64n0k0")):
        # The opcode is illegal; ptxas does not check its operands.
        return []
    name = f"{'Sparse ' if sparse else ''}{NAME} with {kind}"
    mismatch = [f"Arguments mismatch for instruction '{NAME}'"]
    if ops and ops[0].kind != O_VEC:
        return ["Vector expected for argument 0"]
    if len(ops) < 4:
        return mismatch
    from_registers = ops[1].kind == O_VEC
    signs = 2 if kind in ("floating point types", "FP8 types") else 0
    transposes = (1 if from_registers else 2) if types[1] in ("f16", "bf16") else 0
    at = 5 if sparse else 3
    if sparse and len(ops) == 4 + signs + transposes:
        return [
            f"Illegal modifier '.sp' for instruction '{NAME}'",
            f"Arguments mismatch for instruction '{name}'",
        ]
    if len(ops) != at + 1 + signs + transposes or not _kinds_fit(ops, at):
        return mismatch
    return _values(sig, types, ops, name, at, signs, from_registers)


def _kinds_fit(ops: list[Operand], at: int) -> bool:
    """Whether every operand has a legal kind for its position; ``at``: position of the scale of D."""
    from_registers = ops[1].kind == O_VEC
    descriptors = ops[2:3] if from_registers else ops[1:3]
    scale = ops[at]
    return (
        _list(ops[0], 32)
        and all(_word(o, 64) or o.kind in (O_IMM, O_SYM) for o in descriptors)
        and (not from_registers or _list(ops[1], 32))
        and (at == 3 or (_word(ops[3], 32) and ops[4].kind == O_IMM))
        and (scale.kind == O_IMM or (scale.kind == O_REG and scale.var is not None and scale.var.type == "pred"))
        and all(o.kind == O_IMM for o in ops[at + 1 :])
    )


def _values(
    sig: Sig, types: tuple[str, ...], ops: list[Operand], name: str, at: int, signs: int, from_registers: bool
) -> list[str]:
    """Error messages on sizes of vectors and ranges of immediates."""
    errors: list[str] = []
    _, n, _ = numbers(sig.mods["shape"])
    if any(e.kind == O_SINK for e in ops[0].elems):
        return ["Sink '_' not allowed as a source operand"]
    if from_registers and len(ops[1].elems) != 4:
        errors.append(f"Arguments mismatch for instruction '{name}'")
        errors.append(f"Argument vector size mismatch for instruction '{name}'")
    if len(ops[0].elems) != (n // 4 if types[0] == "f16" else n // 2):
        errors.append(f"Argument vector size mismatch for instruction '{name}'")

    def expect(k: int, low: int, high: int, text: str) -> None:
        value = ops[k].value
        if ops[k].kind == O_IMM and value not in (low, high):
            errors.append(f"Argument {k} of instruction '{name}': unexpected value '{value}', expected to be {text}")

    if at == 5:
        selectors = types[1] in ("f16", "bf16", "tf32")
        expect(4, 0, 1 if selectors else 0, "0 or 1" if selectors else "0")
    expect(at, 0, 1, "0 or 1")
    for k in range(at + 1, at + 1 + signs):
        expect(k, -1, 1, "-1 or 1")
    for k in range(at + 1 + signs, len(ops)):
        expect(k, 0, 1, "0 or 1")
    return errors
