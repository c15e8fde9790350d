"""Immediate floats as ``nvdisasm`` writes them."""

import struct
from typing import Final

_INF: Final = float("inf")


def _special(sign: int, fraction: int, quiet: int) -> str:
    if fraction == 0:
        return "-INF " if sign else "+INF "
    kind = "QNAN" if quiet else "SNAN"
    return ("-" if sign else "+") + kind + " "


def value_text(x: float) -> str:
    """``%.20g`` below 1e9 and ``%.20e`` from there; zero is ``0`` or ``-0.0 ``, with a trailing space like infinities."""
    if x == 0.0:
        return "-0.0 " if struct.pack("<d", x)[7] >> 7 else "0"
    if abs(x) >= 1e9:
        return f"{x:.20e}"
    return f"{x:.20g}"


def float_text(kind: str, bits: int) -> str:
    """The text of a bit pattern of kind f32, f64h (the upper half of a double), f16 or bf16."""
    if kind == "f32":
        if bits >> 23 & 0xFF == 0xFF:
            return _special(bits >> 31, bits & 0x7FFFFF, bits >> 22 & 1)
        x = struct.unpack("<f", bits.to_bytes(4, "little"))[0]
    elif kind == "f64h":
        if bits >> 20 & 0x7FF == 0x7FF:
            return _special(bits >> 31, bits & 0xFFFFF, bits >> 19 & 1)
        x = struct.unpack("<d", (bits << 32).to_bytes(8, "little"))[0]
    elif kind == "f16":
        if bits >> 10 & 0x1F == 0x1F:
            return _special(bits >> 15, bits & 0x3FF, bits >> 9 & 1)
        x = struct.unpack("<e", bits.to_bytes(2, "little"))[0]
    else:
        if bits >> 7 & 0xFF == 0xFF:
            return _special(bits >> 15, bits & 0x7F, bits >> 6 & 1)
        x = struct.unpack("<f", (bits << 16).to_bytes(4, "little"))[0]
    return value_text(x)


def float_bits(kind: str, text: str) -> int:
    """The inverse of :func:`float_text`; also accepts ``0x...`` bit patterns.  ValueError if the text is no number."""
    width = 32 if kind in ("f32", "f64h") else 16
    if text.startswith("0x"):
        v = int(text, 16)
        if v >> width:
            raise ValueError(f"{text} has more than {width} bits")
        return v
    low = {
        "f32": (31, 0xFF << 23, 22),
        "f64h": (31, 0x7FF << 20, 19),
        "f16": (15, 0x1F << 10, 9),
        "bf16": (15, 0xFF << 7, 6),
    }
    sign_bit, exponent, quiet = low[kind]
    body = text.lstrip("+-").upper()
    sign = 1 << sign_bit if text.startswith("-") else 0
    if body == "INF":
        return sign | exponent
    if body == "QNAN":
        return sign | exponent | 1 << quiet | (1 << quiet) - 1
    if body == "SNAN":
        return sign | exponent | (1 << quiet) - 1
    x = float(text)
    if kind == "f32":
        return int.from_bytes(struct.pack("<f", x), "little")
    if kind == "f64h":
        return int.from_bytes(struct.pack("<d", x), "little") >> 32
    if kind == "f16":
        return int.from_bytes(struct.pack("<e", x), "little")
    return int.from_bytes(struct.pack("<f", x), "little") >> 16
