"""Data layout: offsets of kernel parameters and of constant bank 3, and the bytes of initialisers."""

from collections.abc import Iterable
from typing import Final

from orias.cubin.callgraph import prototype_text
from orias.cubin.model import GLOBAL, LOCAL, WEAK, Param, Reloc, UnifiedId, Variable
from orias.cubin.relocs import R_8_0, R_64, R_FUNC_DESC_8_0, R_FUNC_DESC_64, R_G8_0, R_G64, R_UNIFIED, R_UNIFIED8_0
from orias.ptx.ast import TYPE_BITS, Function, SymInit, Var
from orias.ptx.input_scopes import written
from orias.target import descriptors, features
from orias.target.abi import SMALL_PARAMETERS
from orias.target.profile import Target

BINDING: dict[str, int] = {"": LOCAL, "extern": GLOBAL, "visible": GLOBAL, "weak": WEAK, "common": GLOBAL}
"""ELF binding of a PTX linkage."""


_MOST_ALIGNED: Final = 128
_DYNAMIC_ALIGNED: Final = 16
"""Least alignment of dynamic shared memory in bytes, whatever its variables declare (docs/facts/cubin.md)."""
_MASK64: Final = (1 << 64) - 1
_WORDS: Final[dict[str, int]] = {t: max(1, bits // 32) for t, bits in TYPE_BITS.items()}
REFERENCES: Final = frozenset(descriptors.HANDLE_KINDS)
"""Types of texture, surface and sampler references."""


def type_words(type_: str) -> int:
    """32-bit words that a value of a PTX type occupies in registers (1 for predicates)."""
    return _WORDS[type_]


def align_up(offset: int, align: int) -> int:
    """The next multiple of `align` (bytes)."""
    return -(-offset // align) * align if align > 1 else offset


def var_align(v: Var) -> int:
    """Alignment of a variable in bytes: as declared, else the size of its element (for vectors, of the whole vector)."""
    natural = max(1, TYPE_BITS[v.type] // 8) * v.vec
    return v.align or natural


def shared_align(v: Var) -> int:
    """Alignment of a shared variable in bytes; dynamic ones (without a size) have at least that of a vector."""
    return max(var_align(v), _DYNAMIC_ALIGNED) if v.size == 0 else var_align(v)


def param_places(params: list[Var], target: Target) -> tuple[list[Param], int]:
    """Kernel parameters with their byte offsets in the parameter space, and the size of that space in bytes.

    A parameter is aligned in constant bank 0, up to 128 bytes: its address is a place there, and that of a tensor map must be aligned.
    References take no bytes there: the cubin names them by symbol and gives them the offset 0xffff.
    """
    if _places(params, 0)[1] <= SMALL_PARAMETERS:
        places = _places(params, target.word("parameters"))
        if places[1] <= SMALL_PARAMETERS:
            return places
    return _places(params, target.word("large_parameters"))


def _places(params: list[Var], base: int) -> tuple[list[Param], int]:
    """As :func:`param_places`, for parameters from a byte of the bank on."""
    out: list[Param] = []
    top = 0
    for n, v in enumerate(params):
        if v.type in REFERENCES:
            place = Param(n, 0xFFFF, 0, v.type)
            place.symbol = v.name
            out.append(place)
            continue
        top = align_up(base + top, min(var_align(v), _MOST_ALIGNED)) - base
        out.append(Param(n, top, v.size, v.ptr_space, v.ptr_align))
        top += v.size
    return out, top


FUNCTION_OFFSET: Final = -1
"""Placeholder relocation type: the offset of a function's copy in its kernel's section, known once code is emitted."""
FUNCTION_BYTE: Final = -9
"""Placeholders -9 to -2: byte 0 to 7 of that offset."""


def initial_data(
    v: Var,
    target: Target,
    const_offset: dict[Var, int] | None,
    own_sections: bool,
    pointer: dict[str, int],
    symbols: dict[Var, str],
) -> tuple[bytes | None, list[Reloc]]:
    """The bytes of a variable's initialiser (None without one) and the relocations that patch addresses into it.

    Relocation types are those of ptxas 13.0.88.  Global variables and generic addresses use G64, global ones
    in unified variables UNIFIED.  The bank offset of a
    constant is known in executable modules (`const_offset`) and a relocation in relocatable ones (None).  A function is
    a symbol where it has a section of its own (`own_sections`), or a number (`pointer`); of a kernel it is the descriptor.  A byte mask selects a
    relocation type per byte.  `symbols`: those of variables declared in functions.
    """
    if v.init is None:
        return None, []
    data = bytearray(v.size)
    relocs: list[Reloc] = []
    width = max(1, TYPE_BITS[v.type] // 8)
    for offset, value in v.init:
        if not isinstance(value, SymInit):
            data[offset : offset + width] = (value & ((1 << 8 * width) - 1)).to_bytes(width, "little")
            continue
        to = value.target
        byte = (value.mask.bit_length() - 1) // 8 if value.mask else -1
        if isinstance(to, Function) and to.name in pointer:
            number = pointer[to.name] + value.addend
            if byte < 0:
                data[offset : offset + width] = number.to_bytes(width, "little")
            else:
                data[offset] = number >> 8 * byte & 0xFF
            continue
        if isinstance(to, Function):
            if to.entry:
                whole, first = R_FUNC_DESC_64, R_FUNC_DESC_8_0
            elif not own_sections:
                whole, first = FUNCTION_OFFSET, FUNCTION_BYTE
            elif const_offset is None and target.has(features.UNIFIED_FUNCTIONS):
                whole, first = R_UNIFIED, R_UNIFIED8_0
            else:
                whole, first = R_64, R_8_0
        elif to.space == "const" and not value.generic and const_offset is not None:
            place = const_offset[to] + value.addend
            if byte < 0:
                data[offset : offset + width] = place.to_bytes(width, "little")
            else:
                data[offset] = place >> 8 * byte & 0xFF
            continue
        elif to.space == "const" and not value.generic:
            whole, first = R_64, R_8_0
        elif to.space == "global" and unified_id(v.attributes) is not None:
            whole, first = R_UNIFIED, R_UNIFIED8_0
        else:
            whole, first = R_G64, R_G8_0
        name = to.name if isinstance(to, Function) else symbols.get(to, to.name)
        if byte >= 0:
            relocs.append(Reloc(offset, first + byte, name, value.addend))
        elif width == 8:
            relocs.append(Reloc(offset, whole, name, value.addend))
        else:
            # ptxas writes a 64-bit relocation over the four bytes, which overwrites the bytes after them.
            relocs.extend([Reloc(offset + k, first + k, name, value.addend) for k in range(width)])
    return bytes(data), relocs


def cubin_variable(v: Var, space: str, symbol: str) -> Variable:
    """The cubin's record of a module-level or shared variable, without data."""
    out = Variable(symbol, space, v.size, var_align(v), BINDING[v.linkage], None, v.linkage == "extern")
    out.declared = v.name
    out.written = written(symbol)
    out.common = v.linkage == "common"
    out.managed = "managed" in v.attributes
    out.unified = unified_id(v.attributes)
    return out


def unified_id(attributes: Iterable[str]) -> UnifiedId | None:
    """The numbers in the attribute ``unified(a,b)`` of a variable or function; None without it."""
    for a in attributes:
        if a.startswith("unified("):
            first, second = a.removeprefix("unified(").removesuffix(")").split(",")
            return int(first) & _MASK64, int(second) & _MASK64
    return None


def function_unified_id(f: Function) -> UnifiedId | None:
    """As :func:`unified_id`, of a function."""
    return unified_id(key.removeprefix("attribute:") for key in f.directives)


def prototype(f: Function) -> str:
    """The linker's text for a function's signature."""
    results = [_prototype_type(v) for v in f.rets]
    return prototype_text(f.name, results[0] if results else "", [_prototype_type(v) for v in f.params])


def _prototype_type(v: Var) -> str:
    return str(v.size) if v.dims or v.vec > 1 or v.type == "b128" else v.type
