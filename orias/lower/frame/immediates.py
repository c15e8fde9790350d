"""Immediate operands as bit patterns of PTX types."""

import struct
from typing import Final

from orias.ptx.ast import TYPE_BITS, Operand
from orias.semantics import ieee
from orias.semantics.ieee import BF16, F16, F32, F64, Format

_FLOAT_BITS: Final[dict[str, int]] = {
    "f16": 16, "bf16": 17, "f16x2": 18, "bf16x2": 19, "f32": 32, "tf32": 32, "f64": 64,
}  # fmt: skip


def immediate(o: Operand, type_: str) -> int:
    """Bit pattern of an O_IMM operand as a value of a PTX type (wrapped to its width).

    In the place of a double a single is its lower half, as ptxas has it (docs/facts/front-end.md).
    """
    bits = TYPE_BITS[type_]
    kind = _FLOAT_BITS.get(type_, 0)
    value = o.value
    if o.imm_type == "int":
        if kind == 0:
            return value & ((1 << bits) - 1)
        value = _pattern64(float(value))
    elif o.imm_type == "f32":
        if kind in (0, 32, 64):
            return value & 0xFFFFFFFF
        value = _pattern64(struct.unpack("<f", (value & 0xFFFFFFFF).to_bytes(4, "little"))[0])
    elif kind == 0:
        if bits == 32:
            kind = 32
        else:
            return value & ((1 << bits) - 1)
    if kind == 64:
        return value & 0xFFFFFFFFFFFFFFFF
    if kind == 32:
        return round_f64(value, F32)
    half = round_f64(value, F16 if kind in (16, 18) else BF16)
    return half | half << 16 if kind >= 18 else half


def _pattern64(value: float) -> int:
    return int.from_bytes(struct.pack("<d", value), "little")


def round_f64(pattern: int, to: Format) -> int:
    """The f64 pattern rounded to nearest even in another format; a NaN keeps the upper bits of its payload."""
    if ieee.is_nan(F64, pattern):
        fraction = pattern >> (F64.mbits - to.mbits) & (to.min_normal - 1)
        return (to.sign if pattern & F64.sign else 0) | to.inf | to.min_normal >> 1 | fraction
    return ieee.convert(F64, to, pattern)
