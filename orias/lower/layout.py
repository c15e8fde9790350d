"""Where variables live: kernel parameters, constant bank 3, and the bytes of initialisers."""

from typing import Final

from orias.cubin.callgraph import prototype_text
from orias.cubin.model import GLOBAL, LOCAL, WEAK, Param, Reloc, Variable
from orias.cubin.relocs import R_64, R_G64, R_UNIFIED
from orias.diag import Unsupported
from orias.ptx.ast import TYPE_BITS, Function, SymInit, Var
from orias.target.profile import Target

BINDING: dict[str, int] = {"": LOCAL, "extern": GLOBAL, "visible": GLOBAL, "weak": WEAK, "common": GLOBAL}
"""ELF binding of a PTX linkage."""


REFERENCES: Final = ("texref", "surfref", "samplerref")
"""Types of texture, surface and sampler references."""


def align_up(offset: int, align: int) -> int:
    """The next multiple of `align` (bytes)."""
    return -(-offset // align) * align if align > 1 else offset


def var_align(v: Var) -> int:
    """Alignment in bytes: declared, else that of the element (vector elements: the whole vector)."""
    natural = max(1, TYPE_BITS[v.type] // 8) * v.vec
    return v.align or natural


def param_places(params: list[Var]) -> tuple[list[Param], int]:
    """Kernel parameters with their byte offsets in the parameter space, and its size.

    References take no room there; the cubin names them by symbol (offset 0xffff).
    """
    out: list[Param] = []
    top = 0
    for n, v in enumerate(params):
        if v.type in REFERENCES:
            place = Param(n, 0xFFFF, 0, v.type)
            place.symbol = v.name
            out.append(place)
            continue
        top = align_up(top, var_align(v))
        out.append(Param(n, top, v.size, v.ptr_space, v.ptr_align))
        top += v.size
    return out, top


FUNCTION_OFFSET: Final = -1
"""Stand-in relocation type: the offset of a function's copy in its kernel's section, known once code is emitted."""


def initial_data(v: Var, target: Target, const_offset: dict[Var, int] | None) -> tuple[bytes | None, list[Reloc]]:
    """The bytes of a variable's initialiser (None without one) and the relocations that patch addresses into it.

    Relocation types as ptxas 13.0.88 writes them: global variables and generic addresses are G64; the bank offset of a constant
    is known in executable modules (`const_offset`), a relocation in others (None); so are functions, there alone.
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
        if value.mask or width != 8:
            raise Unsupported("This kind of address in an initializer is not supported yet", v.line)
        if isinstance(to, Function):
            if const_offset is not None:
                relocs.append(Reloc(offset, FUNCTION_OFFSET, to.name, value.addend))
                continue
            relocs.append(Reloc(offset, R_UNIFIED if target.sm >= 90 else R_64, to.name, value.addend))
        elif to.space == "global" or (to.space == "const" and value.generic):
            relocs.append(Reloc(offset, R_G64, to.name, value.addend))
        elif to.space == "const" and const_offset is None:
            relocs.append(Reloc(offset, R_64, to.name, value.addend))
        elif to.space == "const" and const_offset is not None and to in const_offset:
            data[offset : offset + 8] = (const_offset[to] + value.addend).to_bytes(8, "little")
        else:
            raise Unsupported(f"The address of a .{to.space} variable in an initializer is not supported yet", v.line)
    return bytes(data), relocs


def cubin_variable(v: Var, space: str) -> Variable:
    """The cubin's record of a module-level or shared variable, without data."""
    out = Variable(v.name, space, v.size, var_align(v), BINDING[v.linkage], None, v.linkage == "extern")
    out.common = v.linkage == "common"
    out.managed = "managed" in v.attributes
    out.unified = any(a.startswith("unified") for a in v.attributes)
    return out


def prototype(f: Function) -> str:
    """The linker's text for a function's signature."""
    results = [_prototype_type(v) for v in f.rets]
    return prototype_text(f.name, results[0] if results else "", [_prototype_type(v) for v in f.params])


def _prototype_type(v: Var) -> str:
    return str(v.size) if v.dims or v.vec > 1 or v.type == "b128" else v.type
