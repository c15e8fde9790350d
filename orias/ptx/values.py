"""Rules on the values of immediate operands: barriers, setmaxnreg, asynchronous copies, policies, tensor maps.

Texts and ranges: asked of ptxas 13.0.88.
"""

import struct
from typing import Final

from orias.ptx.ast import O_IMM, Instr, Operand
from orias.ptx.matrix import selector_errors

_FIELDS: Final[dict[str, int]] = {
    "elemtype": 12, "interleave_layout": 2, "swizzle_mode": 3, "fill_mode": 1, "box_dim": 4, "global_dim": 4, "global_stride": 4,
    "element_stride": 4,
}  # fmt: skip
"""Highest value of the immediate (the new value, or the ordinal of a dimension) of tensormap.replace, by field."""

CHECKED: Final = frozenset(
    (
        "bar", "barrier", "bar.arrive", "barrier.arrive", "bar.red", "barrier.red", "setmaxnreg.inc", "setmaxnreg.dec", "cp.async",
        "cp.async.bulk", "cp.async.bulk.prefetch", "cp.reduce.async.bulk", "mbarrier.arrive", "mbarrier.arrive_drop",
        "createpolicy.fractional", "fence.proxy", "tensormap.replace", "tensormap.cp_fenceproxy", "mma",
    )
)  # fmt: skip
"""Names with such rules."""


def value_errors(name: str, instr: Instr) -> list[str]:
    """What is wrong with the immediate operands of an instruction (one of CHECKED)."""
    ops = instr.ops
    if name == "mma":
        return selector_errors(instr)
    if name.startswith("bar"):
        return _barrier(name, instr)
    if name.startswith("setmaxnreg"):
        return _register_count(name, ops)
    if name == "cp.async":
        return _copy(name, instr)
    if name in ("cp.async.bulk", "cp.reduce.async.bulk"):
        return _multiple(name, 2, ops[2:3], 16)
    if name == "cp.async.bulk.prefetch":
        return _multiple(name, 1, ops[1:2], 16)
    if name in ("mbarrier.arrive", "mbarrier.arrive_drop"):
        if len(ops) > 2 and ops[2].kind == O_IMM and ops[2].value <= 0:
            return [f"Argument 2 of instruction '{name}' : value '{ops[2].value}' expected to be a non-zero positive"]
    elif name == "createpolicy.fractional":
        return _fraction(name, ops[1:2])
    elif name in ("fence.proxy", "tensormap.cp_fenceproxy"):
        at = 1 if name == "fence.proxy" else 2
        if len(ops) > at and ops[at].kind == O_IMM and ops[at].value != 128:
            return [f"Argument {at} of instruction '{name}': unexpected value '{ops[at].value}', expected to be 128"]
    elif name == "tensormap.replace":
        field = instr.sig.mods.get("field", "")
        if field in _FIELDS and len(ops) > 1 and ops[1].kind == O_IMM and not 0 <= ops[1].value <= _FIELDS[field]:
            return [
                f"Argument 1 of instruction '{name}': value '{ops[1].value}' expected to be in range [0..{_FIELDS[field]}] when"
                f" .{field} modifier is used."
            ]
    return []


def _barrier(name: str, instr: Instr) -> list[str]:
    messages: list[str] = []
    ops = instr.ops
    if name in ("bar", "barrier") and "sync" not in instr.sig.text.split("."):
        messages.append(f"Barrier modifier required for instruction '{name}'")
    at = 1 if name.endswith("red") else 0
    if len(ops) > at and ops[at].kind == O_IMM:
        number = ops[at].value
        if not 0 <= number <= 15:
            messages.append(f"Barrier number '{number}' out of range, expected to be in range [0..15]")
    threads = ops[at + 1 : at + 2] if not name.endswith("red") or len(ops) == 4 else []
    if threads and threads[0].kind == O_IMM and threads[0].value % 32:
        messages.append("Number of threads participating in barrier must be in multiple of warp size")
    return messages


def _multiple(name: str, number: int, ops: list[Operand], unit: int) -> list[str]:
    if ops and ops[0].kind == O_IMM and ops[0].value % unit:
        return [
            f"Argument {number} of instruction '{name}': unexpected value '{ops[0].value}', expected to be multiple of {unit}"
        ]
    return []


def _register_count(name: str, ops: list[Operand]) -> list[str]:
    messages = _multiple(name, 1, ops, 8)
    if ops and not 24 <= ops[0].value <= 256:
        messages.append(
            f"Argument 1 of instruction '{name}': value '{ops[0].value}' out of range, expected to be in range [24..256]"
        )
    return messages


def _copy(name: str, instr: Instr) -> list[str]:
    ops = instr.ops
    if len(ops) < 3 or ops[2].kind != O_IMM:
        return []
    size = ops[2].value
    if instr.sig.mods.get("cop") == "cg":
        if size != 16:
            return [f"Argument 2 of instruction '{name}': unexpected value '{size}', expected to be 16"]
    elif size not in (4, 8, 16):
        return [f"Argument 2 of instruction '{name}': unexpected value '{size}', expected to be 4 or 8 or 16"]
    if len(ops) > 3 and ops[3].kind == O_IMM and not 0 <= ops[3].value <= size:
        return [
            f"Argument 3 of instruction '{name}': value '{ops[3].value}' out of range, expected to be in range [0..{size}]"
        ]
    return []


def _fraction(name: str, ops: list[Operand]) -> list[str]:
    if not ops or ops[0].kind != O_IMM:
        return []
    if ops[0].imm_type == "int":
        return [f"Arguments mismatch for instruction '{name}'"]
    code, width = ("<f", 4) if ops[0].imm_type == "f32" else ("<d", 8)
    value: float = struct.unpack(code, (ops[0].value & (1 << 8 * width) - 1).to_bytes(width, "little"))[0]
    if 0 < value <= 1:
        return []
    return [
        f"Argument 2 of instruction '{name}': value '{value:f}' out of range, expected to be in range (0.000000 .. 1.000000]"
    ]
