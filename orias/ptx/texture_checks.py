"""Operands of texture and surface instructions, as ptxas 13.0.88 takes them (probed with registers of every type)."""

from typing import Final

from orias.ptx.ast import O_ADDR, O_REG, O_VEC, TYPE_BITS, Operand, Sig

_HANDLES: Final = ("tex", "tld4", "suld", "sust", "sured", "txq", "suq")
_NAMED: Final = ("texref", "surfref", "samplerref")
_FLOATS: Final = ("b32", "u32", "s32", "f32")
_INTEGERS: Final = ("f16x2", "b32", "u32", "s32")
_PLACES: Final = ("b32", "u32", "s32")
_TYPES: Final[dict[str, tuple[str, ...]]] = {"f32": _FLOATS, "s32": _INTEGERS, "u32": _INTEGERS}
"""Types of the registers for results and coordinates of sampling, by the instruction type."""


def texture_fits(name: str, sig: Sig, types: tuple[str, ...], ops: list[Operand]) -> bool:
    """Whether an instruction on a texture or surface has its handle, and registers of fitting types; true for all others."""
    if not name.startswith(_HANDLES):
        return True
    place = 0 if name.startswith(("sust", "sured")) else 1
    if len(ops) <= place or ops[place].kind != O_ADDR:
        return False
    where = ops[place]
    handle = where.var
    if (
        handle is not None
        and handle.space == "reg"
        and (TYPE_BITS.get(handle.type) != 64 or handle.type[0] not in "bus")
    ):
        return False
    if name.startswith(("txq", "suq")):
        return True
    if not where.elems:
        return False
    if name.startswith("su"):
        return _registers_in(where.elems, _PLACES)
    result = ops[0]
    if "vec" in sig.mods and result.kind == O_REG and (result.var is None or result.var.vec == 1):
        return False
    coordinates = where.elems[-1:]
    if len(types) > 1 and types[1] in _TYPES and not _registers_in(coordinates, _TYPES[types[1]]):
        return False
    return types[0] not in _TYPES or _registers_in([ops[0]], _TYPES[types[0]])


def _registers_in(operands: list[Operand], fitting: tuple[str, ...]) -> bool:
    """Whether all registers among the operands and their elements have one of the types."""
    for o in operands:
        if o.kind == O_VEC:
            if not _registers_in(o.elems, fitting):
                return False
        elif o.kind == O_REG and o.var is not None and o.var.type not in fitting:
            return False
    return True
