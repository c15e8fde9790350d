"""Rules between the modifiers of ld, st, atom and red: orders, scopes, state spaces, cache words, operations, vectors.

Asked of ptxas 13.0.88 with several thousand random combinations under three targets.
"""

from typing import Final

from orias.ptx.ast import TYPE_BITS
from orias.ptx.gates import Place, messages

_STRONG: Final = ("relaxed", "acquire", "release", "acq_rel", "sc")
_NOT_WEAK: Final = ("relaxed", "acquire", "release", "acq_rel", "sc", "volatile")
_OPERATION_TYPES: Final[dict[str, tuple[frozenset[str], str]]] = {}


def _fill() -> None:
    wide = "u32 s32 u64 s64 f16 f16x2 bf16 bf16x2"
    rows = {
        "add": ("u32 s32 u64 f64 f16 f16x2 f32 bf16 bf16x2",
                ".u32 or .s32 or .u64 or .f64 or f16 or f16x2 or .f32 or .bf16 or .bf16x2"),
        "min": (wide, ".u32 or .s32 or .u64 or .s64 or .f16 or .f16x2 or .bf16 or .bf16x2"),
        "and": ("b32 b64", ".b32 or .b64"),
        "inc": ("u32", ".u32"),
        "exch": ("b32 b64 b128", ".b32 or .b64 or .b128"),
        "cas": ("b16 b32 b64 b128", ""),
    }  # fmt: skip
    for name, (types, text) in rows.items():
        _OPERATION_TYPES[name] = (frozenset(types.split()), text)
    for same, as_ in (("max", "min"), ("or", "and"), ("xor", "and"), ("dec", "inc")):
        _OPERATION_TYPES[same] = _OPERATION_TYPES[as_]


_fill()

_HALF: Final = ("f16", "f16x2", "bf16", "bf16x2")
_CACHED_SPACES: Final = ("", "global")


def _cache_hint(name: str, space: str, slots: dict[str, str]) -> list[str]:
    if "cache_hint" not in slots:
        return []
    if space not in _CACHED_SPACES:
        return [f"Modifier '.L2::cache_hint' cannot be applied to '.{space}' space for instruction '{name}'"]
    return []


def load_store_errors(name: str, types: tuple[str, ...], slots: dict[str, str], place: Place) -> list[str]:
    """What is wrong between the modifiers of ld or st; ``slots`` as written (``mmio`` apart from ``order``)."""
    errors: list[str] = []
    order = slots.get("order", "")
    scope = slots.get("scope", "")
    space = slots.get("space", "")
    cop = slots.get("cop", "")
    mmio = "mmio" in slots
    weak_space = space.partition("::")[0] in ("const", "local", "param")
    if name == "st" and (space == "const" or space == "param::entry"):
        errors.append("State space incorrect for instruction 'st'")
    if order in _NOT_WEAK and weak_space:
        errors.append(f"Modifier '.{order}' cannot be applied to '.{space}' space")
    if order in _STRONG and not scope:
        errors.append(f"Modifier '.{order}' requires scope with '{name}' instruction")
    if scope and not order:
        errors.append(f"Modifier '.{scope}' requires memory order with '{name}' instruction")
    if scope and order in ("weak", "volatile"):
        errors.append(f"Modifier '.{order}' cannot be combined with modifier '.{scope}'")
    if order and order != "weak" and cop:
        errors.append(f"Modifier '.{order}' cannot be combined with modifier '.{cop}'")
    if mmio:
        errors.extend(_mmio(name, slots))
    if "nc" in slots:
        if space != "global":
            errors.append("Modifier '.nc' requires .global space")
        if order:
            errors.append(f"Modifier '.{order}' cannot be combined with modifier '.nc'")
        if cop in ("lu", "cv"):
            errors.append("Illegal cache operation for instruction 'ld.nc'")
    evict = slots.get("evict", "")
    if evict:
        word = evict[4:]
        if space not in _CACHED_SPACES:
            errors.append(f"Modifier '.{word}' cannot be applied to '.{space}' space for instruction '{name}'")
        for other in (cop, "mmio" if mmio else "", order if order == "volatile" else ""):
            if other:
                errors.append(f"Modifier '.{word}' cannot be combined with modifier '.{other}'")
    bits = TYPE_BITS.get(types[0], 0) if types else 0
    count = int(slots["vec"][1:]) if "vec" in slots else 1
    far = slots.get("evict2", "")
    if far and not (bits * count == 256 and count in (4, 8)):
        errors.append(f"Instruction '{name}' requires '.v8.b32/.v4.b64' type with '.{far}' modifier.")
    if "prefetch" in slots and space not in _CACHED_SPACES:
        errors.append("State space incorrect for feature 'cache prefetching'")
    errors.extend(_cache_hint(name, space, slots))
    if bits * count > 128:
        if bits * count == 256 and bits in (32, 64):
            errors.extend(messages("Fv8.8 F100 : 256 bit wide load/store", place, name, ()))
            if space not in _CACHED_SPACES:
                errors.append("global state space expected for feature '256 bit wide load/store'")
        else:
            errors.append("Vector type too large, exceeds 128 bit limit")
    return errors


def _mmio(name: str, slots: dict[str, str]) -> list[str]:
    """The rules of .mmio: relaxed, system scope, global memory, one element."""
    errors: list[str] = []
    space = slots.get("space", "")
    scope = slots.get("scope", "")
    if space not in _CACHED_SPACES:
        errors.append(f"Modifier '.mmio' cannot be applied to '.{space}' space")
    if slots.get("order") != "relaxed":
        errors.append(f"Modifier '.mmio' requires modifier '.relaxed' for instruction '{name}'")
    if not scope:
        errors.append(f"Modifier '.mmio' requires scope with '{name}' instruction")
    elif scope != "sys":
        errors.append(f"Modifier '.mmio' cannot be combined with modifier '.{scope}'")
    if "vec" in slots:
        errors.append(f"Modifier '.mmio' cannot be combined with modifier '.{slots['vec']}'")
    for slot in ("prefetch", "cache_hint"):
        if slot in slots:
            errors.append(f"Modifier '.{slots[slot]}' cannot be combined with modifier '.mmio'")
    return errors


def atomic_errors(name: str, types: tuple[str, ...], slots: dict[str, str], place: Place) -> list[str]:
    """What is wrong between operation, type, vector and state space of atom or red."""
    errors: list[str] = []
    type_ = types[0] if types else ""
    operation = slots.get("op", "")
    space = slots.get("space", "")
    if not operation:
        return [
            f"Illegal operation '' for instruction '{name}'",
            f"Operation  requires  type for instruction '{name}'",
            f"Reduction operation is required for instruction '{name}'",
        ]
    if "noftz" in slots and type_ not in _HALF:
        errors.append(f"Illegal modifier '.noftz' for instruction '{name}'")
    if type_ in _HALF and "noftz" not in slots and operation in ("add", "min", "max"):
        errors.append(f"'.noftz' modifier required for instruction '{name}' with type '.{type_}'")
    where = f".{space}" if space else " with generic state space"
    full = f"{name}.{operation}.{type_}{where}"
    half_range = type_ in _HALF and operation in ("min", "max")
    if half_range:
        errors.extend(messages(f"I90 Iv8.1 : {full}", place, name, types))
    vec = slots.get("vec", "")
    if vec:
        if operation not in ("add", "min", "max") or not (type_ in _HALF or (type_ == "f32" and operation == "add")):
            errors.append(f"Vector qualifier is not allowed for instruction '{name}'")
        elif vec == "v8" and type_ not in ("f16", "bf16"):
            errors.append(
                f"Only .v2 or .v4 vector modifier supported with type .{type_} on .{operation} operation for {name}"
                " instruction with vector types"
            )
    allowed = _OPERATION_TYPES.get(operation)
    if allowed is not None and type_ not in allowed[0]:
        errors.append(f"Operation .{operation} requires {allowed[1]} type for instruction '{name}'")
    if half_range and not vec:
        errors.append(f"Vector modifier required for instruction '{full}'")
    if vec:
        if space not in _CACHED_SPACES:
            errors.append(f"State space incorrect for feature '{name} instruction with vector types'")
        if TYPE_BITS.get(type_, 0) * int(vec[1:]) > 128:
            errors.append("Vector type too large, exceeds 128 bit limit")
    errors.extend(_cache_hint(name, space, slots))
    if operation == "cas" and "cache_hint" in slots:
        errors.append(f"Illegal modifier '.L2::cache_hint' for instruction '{name}'")
    return errors
