"""Surfaces: suld, sust, sured.

Forms of ptxas 13.0.88 (sm_75, 80, 90).  Coordinates along x are in bytes (``.BA``), except for the formatted ``sust.p``
and ``sured.p``; the layer of an array follows the coordinates.
"""

from typing import Final

from orias.diag import Unsupported
from orias.isa.operand import K_NONE, K_R, RZ, URZ, Opnd, imm, is_reg
from orias.lower.frame.context import Ctx
from orias.lower.frame.params import SIGNED
from orias.lower.frame.registry import lowers
from orias.lower.memory.memory_operands import elements, gather, spread
from orias.lower.texture.handles import handle_of, with_handle
from orias.ptx.ast import TYPE_BITS, Instr, Operand
from orias.target import features

_SHAPES: Final[dict[str, str]] = {"1d": "1D", "2d": "2D", "3d": "3D", "a1d": "1D_ARRAY", "a2d": "2D_ARRAY"}
_CLAMP: Final[dict[str, str]] = {"trap": ".TRAP", "clamp": "", "zero": ".IGN"}
_COMPONENTS: Final[dict[str, str]] = {"": ".R", "v2": ".RG", "v4": ""}
_COUNT: Final[dict[str, int]] = {"": 1, "v2": 2, "v4": 4}


def _surface(ctx: Ctx, i: Instr, where: Operand) -> tuple[list[Opnd], tuple[Opnd, Opnd], str]:
    """(address group, handle with its word number, shape) of an access."""
    dim = i.sig.mods.get("dim", "")
    shape = _SHAPES[dim]
    handle = handle_of(ctx, i, where)
    values = [ctx.src(e, "b32") for e in elements(where.elems[-1])]
    layer = [values.pop(0)] if dim.startswith("a") else []
    count = int(shape[0])
    values = [*values[:count], *layer]
    if len(values) == 1:
        place = values[0] if is_reg(values[0]) else ctx.b.copy(values[0])
    else:
        place = ctx.b.pack(*values, *([imm(0)] if len(values) == 3 else []))
    return [K_NONE, place, URZ, imm(0)], handle, shape


def _access(ctx: Ctx, name: str, src: list[Opnd], handle: tuple[Opnd, Opnd], words: int = 0) -> Opnd:
    """Emit the operation; returns its result of `words` words (NONE for 0)."""

    def emit(source: list[Opnd], guard: Opnd) -> list[Opnd]:
        dst = [ctx.fn.new_vreg(K_R, words)] if words else []
        ctx.b.emit(name, dst, [*src, *source], guard)
        return dst

    value, slot = handle
    if ctx.target.has(features.UNIFORM_HANDLES):
        results = with_handle(ctx, value, slot, False, K_NONE, emit)
    else:
        results = emit([value] if slot == K_NONE else [imm(0), slot], ctx.guard)
    return results[0] if results else K_NONE


def _strong(ctx: Ctx) -> str:
    return ".STRONG." + ctx.target.spelling("cta_scope")


def _size(ctx: Ctx, i: Instr) -> str:
    """The size word of an unformatted access."""
    bits = TYPE_BITS[i.sig.types[-1]] * _COUNT[i.sig.mods.get("vec", "")]
    size = {8: ".U8", 16: ".U16", 32: "", 64: ".64", 128: ".128"}.get(bits)
    if size is None:
        raise ctx.unsupported(f"'{i.sig.text}'")
    return size


@lowers("suld", types="any")
def lower_suld(ctx: Ctx, i: Instr) -> None:
    """suld.b: SULD.D.BA."""
    place, handle, shape = _surface(ctx, i, i.ops[1])
    type_ = i.sig.types[-1]
    dst = elements(i.ops[0])
    words = max(1, TYPE_BITS[type_] * len(dst) // 32)
    name = f"SULD.D.BA.{shape}{_size(ctx, i)}{_strong(ctx)}{_CLAMP[i.sig.mods['clamp']]}"
    d = _access(ctx, name, place, handle, words)
    if len(dst) > 1:
        spread(ctx, i.ops[0], d, type_)
    elif TYPE_BITS[type_] == 8:
        ctx.write(dst[0], ctx.b.r("PRMT", d, imm(0x8880 if type_ in SIGNED else 0x7770), RZ))
    else:
        ctx.write(dst[0], d)


@lowers("sust", types="any")
def lower_sust(ctx: Ctx, i: Instr) -> None:
    """sust.b: SUST.D.BA; sust.p: SUST.P with the components that are written."""
    place, handle, shape = _surface(ctx, i, i.ops[0])
    clamp = _CLAMP[i.sig.mods["clamp"]]
    type_ = i.sig.types[-1]
    vec = i.sig.mods.get("vec", "")
    value = gather(ctx, i.ops[1], type_)
    if not is_reg(value):
        value = ctx.b.copy(value, max(1, TYPE_BITS[type_] // 32))
    if i.sig.mods["mode"] == "p":
        name = f"SUST.P.{shape}{_strong(ctx)}{_COMPONENTS[vec]}{clamp}"
    else:
        name = f"SUST.D.BA.{shape}{_size(ctx, i)}{_strong(ctx)}{clamp}"
    _access(ctx, name, [*place, value], handle)


@lowers("sured", types="any")
def lower_sured(ctx: Ctx, i: Instr) -> None:
    """sured: SURED.D, with system scope as ptxas writes it."""
    mods, type_ = i.sig.mods, i.sig.types[-1]
    formatted = mods["mode"] == "p"
    op = mods["op"]
    if formatted and type_ == "b64" and op not in ("min", "max"):
        raise Unsupported(f"Incorrect type '.{type_}' for operation '.{op}' in instruction 'sured.p'", i.line)
    place, handle, shape = _surface(ctx, i, i.ops[0])
    if formatted:
        kind = f".SD{TYPE_BITS[type_]}" if op in ("min", "max") else ""
    elif type_ == "s64" and op == "add":
        kind = ".U64"
    else:
        kind = {"s32": ".S32", "u64": ".U64", "s64": ".S64"}.get(type_, "")
    value = ctx.src(i.ops[1], "b64" if TYPE_BITS[type_] == 64 else "b32")
    if not is_reg(value):
        value = ctx.b.copy(value, TYPE_BITS[type_] // 32)
    name = f"SURED.D{'' if formatted else '.BA'}.{shape}.{op.upper()}{kind}.STRONG.SYS{_CLAMP[mods['clamp']]}"
    _access(ctx, name, [*place, value], handle)
