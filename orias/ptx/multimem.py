"""Rules between the modifiers of multimem instructions: types, operations, vectors, orders.

Asked of ptxas 13.0.88 with 170 combinations under sm_90.
"""

from typing import Final

from orias.ptx.ast import TYPE_BITS

_HALF: Final = ("f16", "f16x2", "bf16", "bf16x2")
_BYTES: Final = ("e4m3", "e5m2", "e4m3x4", "e5m2x4")
"""Types of sm_100 on."""
_ADDED: Final = ("u32", "s32", "u64", "f32", "f64", *_HALF, *_BYTES)
_COMPARED: Final = ("u32", "s32", "u64", "s64", *_HALF, *_BYTES)
_ALONE: Final = ("f16", "bf16")
"""Types that only vectors have."""


def multimem_errors(name: str, types: tuple[str, ...], slots: dict[str, str]) -> list[str]:
    """What is wrong between the modifiers of multimem.ld_reduce, multimem.red or multimem.st; ``slots`` as written."""
    errors: list[str] = []
    type_ = types[0] if types else ""
    operation = slots.get("op") or slots.get("bool", "")
    vec = slots.get("vec", "")
    order, scope = slots.get("order", ""), slots.get("scope", "")
    if operation:
        allowed = _ADDED if operation == "add" else _COMPARED if operation in ("min", "max") else ("b32", "b64")
        # Reductions compare packed halves as vectors only.
        packed = name == "multimem.red" and operation != "add" and not vec and type_ in ("f16x2", "bf16x2")
        if type_ not in allowed or packed:
            errors.append(f"Incorrect type '.{type_}' for operation '.{operation}' in instruction '{name}'")
    if type_ in _ALONE and not vec:
        errors.append(f"Unexpected instruction types specified for '{name}'")
    if vec and type_ == "f64":
        errors.append(f"Inconsistent type '.f64' with vector .{vec} for '{name}'")
    elif "acc" in slots:
        if operation != "add":
            errors.append(f"Illegal reduction operation for instruction '{name}.{slots['acc']}'")
        elif type_ not in _HALF and type_ not in _BYTES:
            errors.append(f"Illegal modifier '.{slots['acc']}' for instruction '{name}' with type '.{type_}'")
    if vec:
        if type_ not in _HALF and type_ not in _BYTES and type_ not in ("f32", "f64"):
            errors.append(f"Vector qualifier is not allowed for instruction '{name}'")
        elif type_ != "f64" and TYPE_BITS.get(type_, 0) * int(vec[1:]) > 128:
            errors.append(f"Inconsistent type '.{type_}' with vector .{vec} for '{name}'")
    if order not in ("", "weak") and not scope:
        errors.append(f"Modifier '.{order}' requires scope with '{name}' instruction")
    if scope and not order:
        errors.append(f"Modifier '.{scope}' requires order with '{name}' instruction")
    if scope and order == "weak":
        errors.append(f"Modifier '.weak' cannot be combined with modifier '.{scope}'")
    return errors
