"""Data for random statements: interesting constants, and the register files."""

from typing import Final

INTS: Final[dict[int, tuple[int, ...]]] = {
    16: (0, 1, 2, 3, 7, 8, 15, 16, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0x1234),
    32: (0, 1, 2, 3, 4, 5, 7, 8, 10, 16, 24, 31, 32, 33, 0xFF, 0xFFFF, 0x10000, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x12345678,
         0xFF00FF, 0xFFFFFFFE, 100, 1000),
    64: (0, 1, 2, 3, 8, 31, 32, 33, 63, 64, 0xFFFFFFFF, 0x100000000, 0x7FFFFFFFFFFFFFFF, 0x8000000000000000, 0xFFFFFFFFFFFFFFFF,
         0x123456789ABCDEF, 10, 1000, 0xFFFF, 0x80000000),
}  # fmt: skip
FLOATS: Final = (
    0x00000000, 0x80000000, 0x3F800000, 0xBF800000, 0x40000000, 0x3F000000, 0x40490FDB, 0x7F800000, 0xFF800000, 0x7FFFFFFF, 0x00000001,
    0x007FFFFF, 0x00800000, 0x7F7FFFFF, 0x4B000000, 0x3FC00000, 0xC2F70000,
)  # fmt: skip
DOUBLES: Final = (
    0x0000000000000000, 0x8000000000000000, 0x3FF0000000000000, 0xBFF0000000000000, 0x4000000000000000, 0x3FE0000000000000,
    0x7FF0000000000000, 0x400921FB54442D18, 0x0000000000000001, 0x7FEFFFFFFFFFFFFF, 0xC059000000000000,
)  # fmt: skip
FILES: Final[dict[str, tuple[str, str, int]]] = {
    "h": ("b16", "u16", 5), "r": ("b32", "u32", 10), "d": ("b64", "u64", 6), "f": ("f32", "f32", 6), "g": ("f64", "f64", 4),
    "p": ("pred", "pred", 5), "u": ("b32", "u32", 3),
}  # fmt: skip
"""File letter -> register type, type of its stores, largest number of variables.  Those of ``u`` are uniform."""
BITS: Final = {"h": 16, "r": 32, "d": 64, "f": 32, "g": 64, "u": 32}
TYPES: Final = {"h": "b16", "r": "b32", "d": "b64", "f": "f32", "g": "f64"}
PARAMS: Final = ("u32", "u64", "f32", "f64", "u16", "s8")
"""Types of the kernel's parameters q0, q1, ..."""
EQUAL: Final = ("eq", "ne")
ORDER: Final = ("eq", "ne", "lt", "le", "gt", "ge")
UNSIGNED: Final = (*ORDER, "lo", "ls", "hi", "hs")
FLOAT_ORDER: Final = (*ORDER, "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan")

SLOTS: Final = 48
"""Eight-byte words of input and output per thread."""
THREADS: Final = 64
"""Threads of a block."""
