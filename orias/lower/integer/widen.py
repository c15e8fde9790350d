"""Extends 8- and 16-bit integers, whose words have unspecified upper bits."""

from typing import Final

from orias.isa.operand import NOT_PT, RZ, Opnd, imm, imm_value, is_imm
from orias.lower.frame.context import Ctx

_SIGN_SELECTOR: Final[dict[int, int]] = {8: 0x8880, 16: 0x9910}
"""PRMT selectors that fill the bytes above byte 0 or byte 1 with its sign."""

INT_BITS: Final[dict[str, int]] = {
    "u8": 8, "s8": 8, "b8": 8, "u16": 16, "s16": 16, "b16": 16, "u32": 32, "s32": 32, "b32": 32,
    "u64": 64, "s64": 64, "b64": 64,
}  # fmt: skip


def is_signed(type_: str) -> bool:
    """True for signed types (s8 to s64)."""
    return type_[0] == "s"


def extend(ctx: Ctx, value: Opnd, type_: str) -> Opnd:
    """The low word of an integer of an 8- to 64-bit type; 8 and 16 bits are sign- or zero-extended to 32."""
    bits = INT_BITS[type_]
    if bits >= 32:
        return value
    if is_imm(value):
        v = imm_value(value) & ((1 << bits) - 1)
        return imm(v - (1 << bits) if is_signed(type_) and v >> (bits - 1) else v)
    if is_signed(type_):
        return ctx.b.r("PRMT", value, imm(_SIGN_SELECTOR[bits]), RZ)
    return ctx.b.r("LOP3.LUT", value, imm((1 << bits) - 1), RZ, imm(0xC0), NOT_PT)
