"""Shapes, types and fragment sizes of mma and wmma.

Facts: front-end inventory 2.5 (every shape and type pair asked of ptxas 13.0.88 on five targets).
"""

from typing import Final

from orias.ptx.ast import O_IMM, O_VEC, TYPE_BITS, Instr, Operand, Sig

_F8: Final = ("e4m3", "e5m2")
_F864: Final = ("e4m3", "e5m2", "e3m2", "e2m3", "e2m1")

DENSE: Final[dict[str, str]] = {
    "m8n8k4": "f16.f16.f16.f16 f16.f16.f16.f32 f32.f16.f16.f16 f32.f16.f16.f32 f64.f64.f64.f64",
    "m16n8k4": "f32.tf32.tf32.f32 f64.f64.f64.f64",
    "m16n8k8": "f16.f16.f16.f16 f32.f16.f16.f32 f32.bf16.bf16.f32 f32.tf32.tf32.f32 f64.f64.f64.f64",
    "m16n8k16": "f16.f16.f16.f16 f32.f16.f16.f32 f32.bf16.bf16.f32 f64.f64.f64.f64 s32.I8.I8.s32 f32.F8.F8.f32 f16.F8.F8.f16",
    "m8n8k16": "s32.I8.I8.s32",
    "m8n8k32": "s32.I4.I4.s32",
    "m16n8k32": "s32.I8.I8.s32 s32.I4.I4.s32 f32.F8.F8.f32 f16.F8.F8.f16",
    "m16n8k64": "s32.I4.I4.s32",
    "m8n8k128": "s32.b1.b1.s32",
    "m16n8k128": "s32.b1.b1.s32",
    "m16n8k256": "s32.b1.b1.s32",
}
SPARSE: Final[dict[str, str]] = {
    "m16n8k8": "f32.tf32.tf32.f32",
    "m16n8k16": "f16.f16.f16.f16 f32.f16.f16.f32 f32.bf16.bf16.f32 f32.tf32.tf32.f32",
    "m16n8k32": "f16.f16.f16.f16 f32.f16.f16.f32 f32.bf16.bf16.f32 s32.I8.I8.s32",
    "m16n8k64": "s32.I8.I8.s32 s32.I4.I4.s32 f32.F8.F8.f32 f16.F8.F8.f16",
    "m16n8k128": "s32.I4.I4.s32",
}
CLASSES: Final[dict[str, tuple[str, ...]]] = {"I8": ("u8", "s8"), "I4": ("u4", "s4"), "F8": _F8}

_GATES: Final[dict[str, str]] = {
    "m8n8k4": "Fv6.4 F70", "m16n8k4": "Fv7.0 F80", "m16n8k8": "Fv6.5 F75", "m16n8k16": "Fv7.0 F80",
    "m8n8k16": "Fv6.5 F75", "m8n8k32": "Fv6.5 F75", "m16n8k32": "Fv7.0 F80", "m16n8k64": "Fv7.0 F80",
    "m8n8k128": "Fv7.0 F75", "m16n8k128": "Fv7.0 F80", "m16n8k256": "Fv7.0 F80",
}  # fmt: skip


def _listed(rows: str, types: tuple[str, ...]) -> bool:
    """Whether a type list is among the rows; type classes stand for their members."""
    for row in rows.split():
        if all(t == r or t in CLASSES.get(r, ()) for t, r in zip(types, row.split("."), strict=True)):
            return True
    return False


def _known_types(types: tuple[str, ...]) -> bool:
    """Whether any shape, dense or sparse, has these types."""
    for table in (DENSE, SPARSE):
        for rows in table.values():
            if _listed(rows, types):
                return True
    return False


def mma_errors(sig: Sig, types: tuple[str, ...]) -> list[str]:
    """Why an mma opcode is not one; empty if it is."""
    mods = sig.mods
    shape = mods.get("shape", "")
    if len(types) < 4:
        return ["Unexpected instruction types specified for 'mma'"]
    main = types[:4]
    if "kind" in mods:
        return [] if main[1] in _F864 and main[2] in _F864 else ["Unexpected instruction types specified for 'mma'"]
    if len(types) != 4:
        return ["Unexpected instruction types specified for 'mma'"]
    errors: list[str] = []
    table = SPARSE if "sp" in mods else DENSE
    if not _known_types(main):
        return ["Unexpected instruction types specified for 'mma'"]
    if "sync" not in mods:
        errors.append(".sync modifier required for instruction 'mma'")
    if "aligned" not in mods:
        errors.append(".aligned modifier required for instruction 'mma'")
    if not shape:
        errors.append("Shape modifier required for instruction 'mma'")
    elif shape not in table or not _listed(table[shape], main):
        errors.append(f"Illegal matrix shape '.{shape}' for instruction 'mma'")
    elif shape == "m8n8k4" and main[0] == "f16" and main[3] == "f32":
        errors.append(".dtype must be '.f32' when .ctype is '.f32' for 'mma' instruction with shape '.m8n8k4'")
    if "alayout" not in mods or "blayout" not in mods:
        errors.append(".alayout and .blayout modifiers required for instruction 'mma'")
    elif shape and not (shape == "m8n8k4" and main[1] == "f16"):
        if mods["alayout"] != "row":
            errors.append("Illegal alayout '.col' for instruction 'mma'")
        if mods["blayout"] != "col":
            errors.append("Illegal blayout '.row' for instruction 'mma'")
    if main[1] == "b1" and ("bool" not in mods or "popc" not in mods):
        errors.append("Operation .and.popc or .xor.popc required for instruction 'mma'")
    if mods.get("sp") == "sp" and main[0] == "f16" and main[1] in _F8:
        errors.append("Illegal modifier '.sp' for instruction 'mma'")
    if "satfinite" in mods and main[0] != "s32":
        errors.append("Illegal modifier '.satfinite' for instruction 'mma'")
    return errors


def mma_gate(sig: Sig, types: tuple[str, ...]) -> str:
    """The gates of an mma form."""
    if len(types) < 4:
        return ""
    a, b = types[1], types[2]
    shape = sig.mods.get("shape", "")
    if "kind" in sig.mods or any(t in _F864 and t not in _F8 for t in (a, b)):
        if "block_scale" in sig.mods:
            return "Fv8.7 N120a : mma with block scale"
        return "Fv8.7 N120a : mma with with FP6/FP4 floating point type"
    if a in _F8 or b in _F8:
        gate = "Fv8.4 F89 : mma with FP8 floating point type"
        if types[0] == "f16":
            if "sp" in sig.mods:
                gate += ", Fv8.7 N120a : mma with with F16 accumulator and F8 floating point type"
            gate += ", Fv8.7 : mma with FP8 floating point type and FP16 accumulation"
        if shape == "m16n8k16":
            gate += ", Fv8.7 : mma with FP8 floating point type and .m16n8k16 shape"
        return gate
    gate = "Fv6.4 F70 : mma"
    if sig.mods.get("bool") == "and":
        gate += ", Mv7.1 M80 : .and' on 'mma"
    sp = sig.mods.get("sp")
    if sp:
        gate += ", Fv7.1 F80 : Sparse MMA"
        if sp != "sp":
            gate += f", F80 Fv8.5 : .{sp}"
    if shape in _GATES:
        if a == "f64":
            gate += f", {'Fv7.0 F80' if shape == 'm8n8k4' else 'Fv7.8 F90'} : .{shape} with double types"
        elif shape == "m16n8k8" and a in ("bf16", "tf32"):
            gate += f", Fv7.0 F80 : .{shape}"
        else:
            gate += f", {_GATES[shape]} : .{shape}"
    return gate


def numbers(shape: str) -> tuple[int, int, int]:
    """M, N and K of a shape such as ``m16n8k16`` (K 0 if it has none)."""
    m, _, rest = shape[1:].partition("n")
    n, _, k = rest.partition("k")
    return int(m), int(n), int(k or 0)


def _registers(elements: int, type_: str) -> int:
    """Registers per lane of a fragment: 32-bit ones, or 64-bit ones for f64."""
    bits = {"e3m2": 8, "e2m3": 8, "e2m1": 8}.get(type_) or TYPE_BITS.get(type_, 32)
    if bits == 64:
        return elements // 32
    return max(1, elements * bits // 1024)


def mma_operands(sig: Sig, types: tuple[str, ...], ops: list[Operand]) -> bool:
    """Whether the operands of an mma have the sizes its shape asks for."""
    shape = sig.mods.get("shape", "")
    if len(ops) < 4 or not shape or len(types) < 4:
        return len(ops) >= 4
    if "kind" not in sig.mods and len(ops) != (6 if "sp" in sig.mods else 4):
        return False
    if "kind" not in sig.mods and "sp" in sig.mods and ops[5].kind != O_IMM:
        return False
    m, n, k = numbers(shape)
    if shape == "m8n8k4" and types[1] == "f16":
        sizes = [8 if types[0] == "f32" else 4, 2, 2, 8 if types[3] == "f32" else 4]
    else:
        a = "b4" if "mxf4" in sig.mods.get("kind", "") and "mxf8" not in sig.mods.get("kind", "") else types[1]
        b = a if a == "b4" else types[2]
        sizes = [
            _registers(m * n, types[0]),
            _registers(m * k, a) // (2 if "sp" in sig.mods else 1),
            _registers(k * n, b),
            _registers(m * n, types[3]),
        ]
    return all(ops[i].kind == O_VEC and len(ops[i].elems) == size for i, size in enumerate(sizes))


_LAST_SELECTOR: Final[dict[str, int]] = {
    "m16n8k8 tf32": 3, "m16n8k16 tf32": 1, "m16n8k16 f16": 3, "m16n8k16 bf16": 3, "m16n8k32 f16": 1, "m16n8k32 bf16": 1,
    "m16n8k32 s8": 1, "m16n8k32 u8": 1, "m16n8k64 s4": 1, "m16n8k64 u4": 1,
}  # fmt: skip
"""Highest sparsity selector by shape and type of A; 0 for all others."""


def selector_errors(instr: Instr) -> list[str]:
    """What is wrong with the sparsity selector of an mma.sp whose operands fit."""
    sig = instr.sig
    if "sp" not in sig.mods or "kind" in sig.mods or len(instr.ops) != 6:
        return []
    if instr.ops[5].kind != O_IMM:
        return []
    value = instr.ops[5].value
    if sig.types[1] in _F8:
        return [] if value == 0 else [f"Argument 5 of instruction 'mma': unexpected value '{value}', expected to be 0"]
    last = _LAST_SELECTOR.get(f"{sig.mods['shape']} {sig.types[1]}", 0)
    if sig.mods["shape"] == "m16n8k32" and sig.types[:2] == ("f32", "f16"):
        # ptxas lets 2 and 3 pass here alone.
        last = 3
    if 0 <= value <= last:
        return []
    return [
        f"Argument 6 of instruction 'Sparse mma': value '{value}' out of range, expected to be in range [0..{last}]"
    ]
