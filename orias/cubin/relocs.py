"""CUDA relocation types: numbers, names, and the bits that each patches.

A row has the pieces of the value as (bit of the 128-bit instruction, width, shift right of the value first).  Source of
names and numbers: ``docs/facts/cubin.md``, "Relocations"; the pieces come from objects of ptxas 13.0.88 before and
after nvlink.  Types without pieces are left to the linker and the loader.
"""

from typing import Final, final

from orias.cubin.cubin_error import CubinError

R_32: Final = 1
R_64: Final = 2
R_G64: Final = 4
R_TEX_HEADER_INDEX: Final = 6
R_SAMP_HEADER_INDEX: Final = 7
"""A sampler's number, above the texture's in a word (up to sm_89)."""
R_FUNC_DESC_64: Final = 35
"""The descriptor of a kernel, which device code launches it by, in data."""
R_SURF_HEADER_INDEX: Final = 52
R_ABS32_32: Final = 55
R_ABS32_LO_32: Final = 56
R_ABS32_HI_32: Final = 57
R_ABS47_34: Final = 58
R_ABS16_32: Final = 59
R_FUNC_DESC32_LO_32: Final = 62
R_FUNC_DESC32_HI_32: Final = 63
R_CONST_FIELD19_40: Final = 64
R_BINDLESSOFF14_40: Final = 65
R_CONST_FIELD21_38: Final = 66
R_YIELD_OPCODE9_0: Final = 68
R_YIELD_CLEAR_PRED4_87: Final = 69
R_UNUSED_CLEAR64: Final = 73
R_ABS24_40: Final = 74
R_ABS55_16_34: Final = 75
R_FUNC_DESC_8_0: Final = 92
"""Byte 0 of the descriptor of a kernel; the following types are the other bytes."""
R_ABS20_44: Final = 100
R_8_0: Final = 76
"""Byte 0 of an address; the types up to 83 are bytes 1 to 7."""
R_G8_0: Final = 84
"""Byte 0 of a generic address; the following types are the other bytes."""
R_SAMP_HEADER_INDEX_0: Final = 101
R_UNIFIED: Final = 102
R_UNIFIED8_0: Final = 104
"""Byte 0 of a function's address, from sm_90 on; the following types are the other bytes."""
R_UNIFIED32_LO_32: Final = 112
R_UNIFIED32_HI_32: Final = 113
R_ABS56_16_34: Final = 114
R_CONST_FIELD22_37: Final = 115
CALL_RELOCS: Final = (R_ABS47_34, R_ABS55_16_34, R_ABS56_16_34)
"""The types for the target of a call."""


@final
class RelocType:
    """A relocation type.  ``pieces``: (bit, width, right shift) in the instruction, or in the word for data types."""

    __slots__ = ("name", "pieces", "size")

    def __init__(self, name: str, size: int, pieces: tuple[tuple[int, int, int], ...]) -> None:
        self.name: str = name
        self.size: int = size
        self.pieces: tuple[tuple[int, int, int], ...] = pieces


TYPES: Final[dict[int, RelocType]] = {
    R_64: RelocType("R_CUDA_64", 8, ((0, 64, 0),)),
    R_G64: RelocType("R_CUDA_G64", 8, ((0, 64, 0),)),
    R_FUNC_DESC_64: RelocType("R_CUDA_FUNC_DESC_64", 8, ((0, 64, 0),)),
    R_TEX_HEADER_INDEX: RelocType("R_CUDA_TEX_HEADER_INDEX", 4, ()),
    R_SAMP_HEADER_INDEX: RelocType("R_CUDA_SAMP_HEADER_INDEX", 4, ()),
    R_SURF_HEADER_INDEX: RelocType("R_CUDA_SURF_HEADER_INDEX", 4, ()),
    R_SAMP_HEADER_INDEX_0: RelocType("R_CUDA_SAMP_HEADER_INDEX_0", 4, ()),
    R_ABS32_32: RelocType("R_CUDA_ABS32_32", 16, ((32, 32, 0),)),
    R_ABS32_LO_32: RelocType("R_CUDA_ABS32_LO_32", 16, ((32, 32, 0),)),
    R_ABS32_HI_32: RelocType("R_CUDA_ABS32_HI_32", 16, ((32, 32, 32),)),
    R_ABS47_34: RelocType("R_CUDA_ABS47_34", 16, ()),
    R_ABS16_32: RelocType("R_CUDA_ABS16_32", 16, ((32, 16, 0),)),
    R_FUNC_DESC32_LO_32: RelocType("R_CUDA_FUNC_DESC32_LO_32", 16, ((32, 32, 0),)),
    R_FUNC_DESC32_HI_32: RelocType("R_CUDA_FUNC_DESC32_HI_32", 16, ((32, 32, 32),)),
    R_CONST_FIELD19_40: RelocType("R_CUDA_CONST_FIELD19_40", 16, ((40, 19, 2),)),
    R_BINDLESSOFF14_40: RelocType("R_CUDA_BINDLESSOFF14_40", 16, ((40, 14, 2),)),
    R_CONST_FIELD21_38: RelocType("R_CUDA_CONST_FIELD21_38", 16, ((38, 21, 0),)),
    R_YIELD_OPCODE9_0: RelocType("R_CUDA_YIELD_OPCODE9_0", 16, ()),
    R_YIELD_CLEAR_PRED4_87: RelocType("R_CUDA_YIELD_CLEAR_PRED4_87", 16, ()),
    R_UNUSED_CLEAR64: RelocType("R_CUDA_UNUSED_CLEAR64", 8, ()),
    R_ABS24_40: RelocType("R_CUDA_ABS24_40", 16, ((40, 24, 0),)),
    R_ABS55_16_34: RelocType("R_CUDA_ABS55_16_34", 16, ()),
    R_ABS20_44: RelocType("R_CUDA_ABS20_44", 16, ()),
    R_UNIFIED: RelocType("R_CUDA_UNIFIED", 8, ()),
    R_UNIFIED32_LO_32: RelocType("R_CUDA_UNIFIED32_LO_32", 16, ()),
    R_UNIFIED32_HI_32: RelocType("R_CUDA_UNIFIED32_HI_32", 16, ()),
    R_ABS56_16_34: RelocType("R_CUDA_ABS56_16_34", 16, ()),
    R_CONST_FIELD22_37: RelocType("R_CUDA_CONST_FIELD22_37", 16, ((37, 22, 0),)),
}

for _k in range(8):
    _byte = ((0, 8, 8 * _k),)
    TYPES[R_8_0 + _k] = RelocType(f"R_CUDA_8_{8 * _k}", 1, _byte)
    TYPES[R_G8_0 + _k] = RelocType(f"R_CUDA_G8_{8 * _k}", 1, _byte)
    TYPES[R_FUNC_DESC_8_0 + _k] = RelocType(f"R_CUDA_FUNC_DESC_8_{8 * _k}", 1, _byte)
    TYPES[R_UNIFIED8_0 + _k] = RelocType(f"R_CUDA_UNIFIED_8_{8 * _k}", 1, ())


def reloc_name(type_: int) -> str:
    """``R_CUDA_...``, or the number for a type not in the table."""
    row = TYPES.get(type_)
    return row.name if row else f"R_CUDA_{type_}"


def apply(code: bytearray, offset: int, type_: int, value: int) -> None:
    """Patch ``value`` (symbol value plus addend) into ``code`` at byte ``offset``; overwrites the old contents of the field."""
    row = TYPES.get(type_)
    if row is None or not row.pieces:
        raise CubinError(f"relocation type {reloc_name(type_)} cannot be applied before loading")
    if offset < 0 or offset + row.size > len(code):
        raise CubinError(f"relocation at offset {offset:#x} lies outside its section of {len(code)} bytes")
    word = int.from_bytes(code[offset : offset + row.size], "little")
    for bit, width, shift in row.pieces:
        mask = (1 << width) - 1
        word = word & ~(mask << bit) | ((value >> shift) & mask) << bit
    code[offset : offset + row.size] = word.to_bytes(row.size, "little")
