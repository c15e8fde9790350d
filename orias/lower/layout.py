"""Where variables live: kernel parameters, constant bank 3, and the bytes of initialisers."""

from orias.cubin.model import GLOBAL, LOCAL, WEAK, Reloc, Variable
from orias.cubin.relocs import R_64
from orias.diag import Unsupported
from orias.ptx.ast import TYPE_BITS, Function, SymInit, Var

BINDING: dict[str, int] = {"": LOCAL, "extern": GLOBAL, "visible": GLOBAL, "weak": WEAK, "common": GLOBAL}
"""ELF binding of a PTX linkage."""


def align_up(offset: int, align: int) -> int:
    """The next multiple of `align` (bytes)."""
    return -(-offset // align) * align if align > 1 else offset


def var_align(v: Var) -> int:
    """Alignment in bytes: declared, else that of the element (vector elements: the whole vector)."""
    natural = max(1, TYPE_BITS[v.type] // 8) * v.vec
    return v.align or natural


def param_offsets(params: list[Var]) -> tuple[list[int], int]:
    """Byte offsets of kernel parameters in the parameter space, and its size."""
    offsets: list[int] = []
    top = 0
    for p in params:
        top = align_up(top, var_align(p))
        offsets.append(top)
        top += p.size
    return offsets, top


def initial_data(v: Var) -> tuple[bytes | None, list[Reloc]]:
    """The bytes of a variable's initialiser (None without one) and the relocations that patch addresses into it."""
    if v.init is None:
        return None, []
    data = bytearray(v.size)
    relocs: list[Reloc] = []
    width = max(1, TYPE_BITS[v.type] // 8)
    for offset, value in v.init:
        if isinstance(value, SymInit):
            if value.mask or width != 8 or isinstance(value.target, Function):
                raise Unsupported("This kind of address in an initializer is not supported yet", v.line)
            if value.target.space not in ("global", "const"):
                raise Unsupported(
                    f"The address of a .{value.target.space} variable in an initializer is not supported", v.line
                )
            relocs.append(Reloc(offset, R_64, value.target.name, value.addend))
        else:
            data[offset : offset + width] = (value & ((1 << 8 * width) - 1)).to_bytes(width, "little")
    return bytes(data), relocs


def cubin_variable(v: Var, space: str) -> Variable:
    """The cubin's record of a module-level or shared variable, without data."""
    out = Variable(v.name, space, v.size, var_align(v), BINDING[v.linkage], None, v.linkage == "extern")
    out.common = v.linkage == "common"
    out.managed = "managed" in v.attributes
    out.unified = any(a.startswith("unified") for a in v.attributes)
    return out
