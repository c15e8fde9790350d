"""Shapes, types, fragment sizes and gates of wmma.

Facts: asked of ptxas 13.0.88, every shape and type on sm_75, 80 and 90, every PTX version from 6.0 to 7.0.
"""

from typing import Final

from orias.ptx.ast import O_VEC, Operand, Sig

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
_SPACES: Final = frozenset(("", "global", "shared", "shared::cta"))
_WORDS: Final = frozenset(("sync", "aligned", "row", "col", "global", "shared", "shared::cta"))


def shape_numbers(sig: Sig) -> tuple[int, int, int]:
    """m, n and k of a wmma opcode."""
    m, _, rest = sig.mods["shape"][1:].partition("n")
    n, _, k = rest.partition("k")
    return int(m), int(n), int(k)


def _common(name: str, sig: Sig, layouts: tuple[str, ...]) -> list[str]:
    mods = sig.mods
    errors = [f".{word} modifier required for instruction '{name}'" for word in ("sync", "aligned") if word not in mods]
    for slot in layouts:
        if slot not in mods:
            text = "layout" if slot == "layout" else f"'.{slot}'"
            errors.append(f"{text} modifier required for instruction '{name}'")
    if "shape" not in mods:
        errors.append(f"Shape modifier required for instruction '{name}'")
    return errors


def _wrong_shape(name: str, sig: Sig) -> str:
    shape = sig.mods.get("shape", "")
    return f"Incorrect instruction type specified for {name} with shape '{'.' if shape else ''}{shape}'"


def transfer_errors(name: str, sig: Sig, types: tuple[str, ...]) -> list[str]:
    """Why an opcode ``wmma.load.a``, ``.b``, ``.c`` or ``wmma.store.d`` is not one; empty if it is."""
    mods = sig.mods
    factor = name[-1] in "ab"
    if len(types) != 1 or types[0] not in (FACTORS if factor else SUMS):
        if factor and types[:1] in (("f32",), ("s32",)):
            return [f"Illegal type for {name}"]
        return [f"Unexpected instruction types specified for '{name}'"]
    errors = _common(name, sig, ("layout",))
    if mods.get("space", "") not in _SPACES:
        errors.append(f"State space incorrect for instruction '{name}'")
    shapes = (FACTORS if factor else SUMS)[types[0]]
    if mods.get("shape", "") not in shapes:
        errors.append(_wrong_shape(name, sig))
    elif factor and types[0] in ("s4", "u4", "b1"):
        layout = mods.get("layout", "")
        if layout and layout != ("row" if name[-1] == "a" else "col"):
            errors.append(f"Illegal alayout '.{layout}' for instruction '{name}'")
    for slot, word in mods.items():
        if slot not in ("mode", "shape", "space") and word not in _WORDS:
            errors.append(f"Illegal modifier '.{word}' for instruction '{name}'")
    return errors


def _product_types(types: tuple[str, ...]) -> str:
    """The type of A and B; "" if the list is none of a product."""
    if len(types) == 2:
        return "f16" if _FLOAT_PAIRS.issuperset(types) else ""
    if len(types) != 4 or types[1] != types[2] or types[1] == "f16":
        return ""
    sums = {"bf16": "f32", "tf32": "f32", "f64": "f64"}.get(types[1], "s32")
    return types[1] if types[1] in FACTORS and types[0] == types[3] == sums else ""


def product_errors(sig: Sig, types: tuple[str, ...]) -> list[str]:
    """Why a wmma.mma opcode is not one; empty if it is."""
    mods = sig.mods
    name = "wmma.mma"
    factor = _product_types(types)
    bit = "bool" in mods or "popc" in mods
    if not factor or (bit and factor != "b1"):
        return [f"Unexpected instruction types specified for '{name}'"]
    errors = _common(name, sig, ("alayout", "blayout"))
    if mods.get("shape", "") not in FACTORS[factor]:
        errors.append(_wrong_shape(name, sig))
    if factor in ("s4", "u4", "b1"):
        for slot, word in (("alayout", "row"), ("blayout", "col")):
            if mods.get(slot, word) != word:
                errors.append(f"Illegal {slot} '.{mods[slot]}' for instruction '{name}'")
    if factor == "b1" and not ("bool" in mods and "popc" in mods):
        errors.append(f"Unexpected number of operations specified for {name} with shape '.{mods.get('shape', '')}'")
        errors.append(f"Boolean operation is required for instruction '{name}'")
    if "rnd" in mods and (factor != "f64" or mods["rnd"] not in ("rn", "rz", "rm", "rp")):
        errors.append(f"Illegal rounding modifier for instruction '{name}'")
    if "satfinite" in mods and factor in ("b1", "f64"):
        errors.append(f"Illegal modifier '.satfinite' for instruction '{name}'")
    return errors


def gate(sig: Sig, types: tuple[str, ...]) -> str:
    """The gates of a wmma form."""
    type_ = types[1] if len(types) == 4 else types[0] if types else ""
    out = "I70 Fv6.0"
    if type_ in ("s8", "u8", "s32"):
        out += ", Fv6.3 : WMMA with integer types"
    elif type_ in ("s4", "u4"):
        out += ", Fv6.3 : WMMA with sub-byte integer types"
    elif type_ == "b1":
        out += ", Fv6.3 : WMMA with bit types"
    elif type_ in ("bf16", "tf32"):
        out += ", Fv7.0 F80 : WMMA with .bf16/.tf32 FP types"
    elif type_ == "f64":
        out += ", Fv7.0 F80 : WMMA with fp64 types"
    if "aligned" in sig.mods:
        out += ", Fv6.3 : .aligned modifier for wmma"
    shape = sig.mods.get("shape", "")
    if shape in ("m32n8k16", "m8n32k16"):
        out += f", Fv6.1 : .{shape}"
    elif shape in _SMALL:
        out += f", Fv6.3 : .{shape}"
    elif shape == "m16n16k8":
        out += f", Fv7.0 M80 : .{shape}"
    if sig.mods.get("bool") == "and":
        out += ", Mv7.1 M80 : .and' on 'wmma.mma"
    return out


def saturation_error(sig: Sig, types: tuple[str, ...], version: int) -> list[str]:
    """Floating-point products cannot be saturated from PTX 6.5 (`version` 65) on."""
    if "satfinite" not in sig.mods or version < 65 or types[0] == "s32":
        return []
    return [
        "Instruction ''wmma.mma' with floating point type' with '.satfinite' is not supported starting from PTX ISA version 6.5"
    ]


def _factor_size(m: int, n: int, k: int, which: str, type_: str) -> int:
    if type_ == "f16":
        return 8
    bits = _REGISTERS[type_]
    count = (m if which == "a" else n) * k
    return max(1, count * bits // (2048 if bits == 64 else 1024))


def _sum_size(m: int, n: int, type_: str) -> int:
    return m * n // (64 if type_ == "f16" else 32)


def operand_errors(name: str, sig: Sig, types: tuple[str, ...], ops: list[Operand]) -> list[str]:
    """Messages on vectors whose size is not that of the fragment; `types` and the shape are right."""
    if "shape" not in sig.mods or not types:
        return []
    m, n, k = shape_numbers(sig)
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
        sizes = [(0, _factor_size(m, n, k, name[-1], types[0]))]
    else:
        sizes = [(1 if name[-1] == "d" else 0, _sum_size(m, n, types[0]))]
    wrong = f"Argument vector size mismatch for instruction '{name}'"
    return [wrong for at, size in sizes if at < len(ops) and (ops[at].kind != O_VEC or len(ops[at].elems) != size)]
