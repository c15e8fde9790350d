"""Bit patterns of PTX constants as values of a type."""

import struct

import numpy as np

from orias.ptx.ast import TYPE_BITS, Operand
from orias.sim.math import ops_half as half


def _half(value: float, bf16: bool) -> int:
    return int(half.pattern(np.array([value]), bf16)[0])


def pattern(o: Operand, type_: str) -> int:
    """The pattern of a constant operand, wrapped to the type's width.

    An integer written for a float type is converted; a single in a double's place is its lower half, as ptxas has it.  A float constant is rounded to a float type; an integer type
    takes its bits (a decimal constant as f32 for 32-bit types).
    """
    bits = TYPE_BITS[type_]
    mask = (1 << bits) - 1
    value = o.value
    floating = type_[0] == "f" or type_.startswith(("bf", "tf"))
    if o.imm_type == "int":
        if not floating:
            return value & mask
        number = float(value)
    elif o.imm_type == "f32":
        if bits == 64 or (bits == 32 and not type_.endswith("x2")):
            return value & 0xFFFFFFFF
        if not floating:
            return value & mask
        number = struct.unpack("<f", struct.pack("<I", value & 0xFFFFFFFF))[0]
    else:
        if bits == 64:
            return value & mask
        number = struct.unpack("<d", struct.pack("<Q", value & 0xFFFFFFFFFFFFFFFF))[0]
        if not floating and bits != 32:
            return value & mask
    if type_ == "f64":
        return int(np.float64(number).view(np.uint64))
    if type_.startswith(("f16", "bf16")):
        h = _half(number, type_.startswith("b"))
        return h | h << 16 if bits == 32 else h
    with np.errstate(all="ignore"):
        return int(np.float32(number).view(np.uint32))
