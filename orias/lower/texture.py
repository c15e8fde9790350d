"""Textures and surfaces reached by a handle in a register: tex, suld.b, sust.b, txq, suq.

Forms read off ptxas 13.0.88 (sm_75, 80, 90): up to sm_89 the handle is in a register (``.B``), from sm_90 on in a uniform one.  Results come in two
pairs, the second one printed being components x and y.  A level of -32 is "no level": ``TEX.LL`` clamps it to the first.  References by name
(``.texref``, ``.surfref``) have a word behind the parameters in constant bank 0, which the loader fills; samplers are refused.
"""

from typing import TYPE_CHECKING, Final

from orias.isa.operand import K_NONE, K_R, K_UR, PAYLOAD_SHIFT, PT, RZ, URZ, Opnd, const, imm, is_reg, word
from orias.lower.memory import elements, gather, spread
from orias.lower.params import SIGNED
from orias.lower.registry import lowers
from orias.ori.ir import OP_COPY
from orias.ptx.ast import O_ADDR, O_REG, TYPE_BITS, Instr, Operand

if TYPE_CHECKING:
    from orias.lower.context import Ctx

NO_LEVEL: Final = 0xC2000000
_DIMS: Final[dict[str, int]] = {"1d": 1, "2d": 2}
_DIMS_3: Final[dict[str, str]] = {"3d": "3D", "a2d": "ARRAY_2D"}
_SURFACE_DIMS: Final[dict[str, int]] = {"1d": 1, "2d": 2, "3d": 3}
_CLAMP: Final[dict[str, str]] = {"trap": ".TRAP", "clamp": "", "zero": ".IGN"}
_QUERIES: Final[dict[str, int]] = {"width": 1, "height": 2, "depth": 4}


def _handle(ctx: "Ctx", i: Instr, o: Operand) -> tuple[Opnd, Opnd]:
    """The low word of the handle in a register (NONE for a reference by name), and its word number in constant bank 0 (NONE: none).

    In a relocatable module that number comes from a relocation.
    """
    if o.kind == O_ADDR and o.var is not None and o.var.type in ("texref", "surfref"):
        if ctx.options.relocatable:
            if ctx.target.sm < 90:
                return K_NONE, ctx.module.reference_symbol(ctx, o.var)
            return ctx.module.reference_handle(ctx, o.var), K_NONE
        return K_NONE, imm(ctx.module.reference_slot(ctx, o.var))
    if o.kind != O_ADDR or o.var is None or o.var.space != "reg" or o.value:
        raise ctx.unsupported(f"'{i.sig.text}' with this kind of reference")
    reg = Operand(O_REG)
    reg.var, reg.comp = o.var, o.comp
    value = ctx.src(reg, "b64")
    named = ctx.state.reference_values.get(value >> PAYLOAD_SHIFT)
    if named is not None and ctx.target.sm < 90:
        return K_NONE, ctx.module.reference_symbol(ctx, named)
    slot = ctx.state.param_values.get(value >> PAYLOAD_SHIFT)
    low = ctx.lo(value)
    return (low if is_reg(low) else ctx.b.copy(low)), K_NONE if slot is None else imm(slot // 4)


def _uniform(ctx: "Ctx", handle: Opnd, slot: Opnd, wide: bool) -> Opnd:
    """sm_90: the handle in a uniform register, with a zero word above if asked for."""
    u = ctx.fn.new_vreg(K_UR)
    if slot != K_NONE:
        ctx.b.emit_op(OP_COPY, [u], [const(0, 4 * (slot >> PAYLOAD_SHIFT))])
    else:
        ctx.b.emit("R2UR", [u], [handle])
    if not wide:
        return u
    pair = ctx.fn.new_vreg(K_UR, 2)
    ctx.b.emit("pack", [pair], [u, URZ])
    return pair


def _coordinates(ctx: "Ctx", i: Instr, o: Operand, type_: str) -> list[Opnd]:
    # Reading texels at integer coordinates does not sample: a sampler operand in front says nothing.
    if len(o.elems) != 1 and (i.sig.types[-1] == "f32" or len(o.elems) != 2):
        raise ctx.unsupported(f"'{i.sig.text}' with a sampler")
    return [ctx.src(e, type_) for e in elements(o.elems[-1])]


def _register(ctx: "Ctx", value: Opnd) -> Opnd:
    return value if is_reg(value) else ctx.b.copy(value)


@lowers("tex", types="any")
def lower_tex(ctx: "Ctx", i: Instr) -> None:
    """tex.base and tex.level of 1d, 2d, 3d and a2d textures, four 32-bit components."""
    mods = i.sig.mods
    dim = mods.get("dim", "")
    dtype, ctype = i.sig.types[-2:]
    old = ctx.target.sm < 90
    whole = mods.get("vec") == "v4" and TYPE_BITS[dtype] == 32 and "x2" not in dtype
    fetch = ctype != "f32"
    shape_ok = dim in _DIMS or (dim in _DIMS_3 and old and not fetch)
    if not whole or not shape_ok or mods.get("mode", "base") not in ("base", "level") or len(i.ops) > 3:
        raise ctx.unsupported(f"'{i.sig.text}' on {ctx.target.name}")
    if fetch and mods.get("mode") == "level":
        raise ctx.unsupported(f"'{i.sig.text}'")
    where = i.ops[1]
    handle, slot = _handle(ctx, i, where)
    coords = _coordinates(ctx, i, where, "b32")
    level = ctx.src(i.ops[2], "f32") if len(i.ops) > 2 else imm(NO_LEVEL)
    hi, lo = ctx.fn.new_vreg(K_R, 2), ctx.fn.new_vreg(K_R, 2)
    pack = ctx.b.pack
    if dim in _DIMS_3:
        if handle == K_NONE:
            raise ctx.unsupported(f"'{i.sig.text}' with a reference by name")
        first = coords[0]
        if dim == "a2d":
            first = ctx.b.r("IMNMX.U32", first, imm(0xFFFF), PT)
        place = pack(first, coords[1], coords[2], imm(0))
        shape = _DIMS_3[dim]
        name = "TEX.B.LL"
        src = [place, pack(handle, level)]
    elif fetch and old and slot != K_NONE:
        shape = dim.upper()
        name = "TLD.SCR.LZ"
        src = [_register(ctx, c) for c in coords[: _DIMS[dim]]] + [imm(0), slot]
    else:
        shape = "1D" if fetch and dim == "1d" else "2D"
        place = pack(coords[0], coords[1] if dim == "2d" else imm(0))
        if not old:
            name = "TLD.LZ" if fetch else "TEX.LL"
            src = [place, *([] if fetch else [_register(ctx, level)]), _uniform(ctx, handle, slot, True), imm(0)]
        elif fetch:
            name = "TLD.SCR.B.LZ"
            src = [place, handle]
        elif slot != K_NONE:
            name = "TEX.SCR.LL"
            src = [place, _register(ctx, level), imm(0), slot]
        else:
            name = "TEX.SCR.B.LL"
            src = [place, pack(handle, level)]
    ctx.b.emit(name, [hi, lo], [*src, word(shape)], ctx.guard)
    for k, e in enumerate(elements(i.ops[0])):
        ctx.write(e, ctx.word(lo if k < 2 else hi, k % 2))


def _surface(ctx: "Ctx", i: Instr, where: Operand) -> tuple[list[Opnd], list[Opnd], str]:
    """(address group, handle sources, name part) of a surface access."""
    mods = i.sig.mods
    dim = mods.get("dim", "")
    type_ = i.sig.types[-1]
    if mods.get("mode") != "b" or dim not in _SURFACE_DIMS or mods.get("clamp", "") not in _CLAMP:
        raise ctx.unsupported(f"'{i.sig.text}'")
    handle, slot = _handle(ctx, i, where)
    coords = _coordinates(ctx, i, where, "b32")[: _SURFACE_DIMS[dim]]
    if len(coords) == 1:
        place = _register(ctx, coords[0])
    else:
        place = ctx.b.pack(*coords, *([imm(0)] if len(coords) == 3 else []))
    bits = TYPE_BITS[type_] * {"": 1, "v2": 2, "v4": 4}[mods.get("vec", "")]
    size = {8: ".U8", 16: ".U16", 32: "", 64: ".64", 128: ".128"}.get(bits)
    if size is None:
        raise ctx.unsupported(f"'{i.sig.text}'")
    old = ctx.target.sm < 90
    scope = "CTA" if ctx.target.sm < 80 else "SM"
    name = f".D.BA.{dim.upper()}{size}.STRONG.{scope}{_CLAMP[mods['clamp']]}"
    if not old:
        handle_src = [_uniform(ctx, handle, slot, False), imm(0)]
    else:
        handle_src = [handle] if slot == K_NONE else [imm(0), slot]
    return [K_NONE, place, URZ, imm(0)], handle_src, name


@lowers("suld", types="any")
def lower_suld(ctx: "Ctx", i: Instr) -> None:
    """suld.b: SULD.D.BA (coordinates along x in bytes)."""
    place, handle, name = _surface(ctx, i, i.ops[1])
    type_ = i.sig.types[-1]
    dst = elements(i.ops[0])
    d = ctx.fn.new_vreg(K_R, max(1, TYPE_BITS[type_] * len(dst) // 32))
    ctx.b.emit("SULD" + name, [d], [*place, *handle], ctx.guard)
    if len(dst) > 1:
        spread(ctx, i.ops[0], d, type_)
    elif TYPE_BITS[type_] == 8:
        ctx.write(dst[0], ctx.b.r("PRMT", d, imm(0x8880 if type_ in SIGNED else 0x7770), RZ))
    else:
        ctx.write(dst[0], d)


@lowers("sust", types="any")
def lower_sust(ctx: "Ctx", i: Instr) -> None:
    """sust.b: SUST.D.BA."""
    place, handle, name = _surface(ctx, i, i.ops[0])
    value = gather(ctx, i.ops[1], i.sig.types[-1])
    if not is_reg(value):
        value = ctx.b.copy(value, max(1, TYPE_BITS[i.sig.types[-1]] // 32))
    ctx.b.emit("SUST" + name, [], [*place, value, *handle], ctx.guard)


@lowers("txq", "suq", types="any")
def lower_query(ctx: "Ctx", i: Instr) -> None:
    """txq and suq of width, height and depth: TXQ of the header."""
    mask = _QUERIES.get(i.sig.mods.get("query", ""))
    if mask is None or "level" in i.sig.mods:
        raise ctx.unsupported(f"'{i.sig.text}'")
    handle, slot = _handle(ctx, i, i.ops[1])
    d = ctx.fn.new_vreg(K_R)
    dims = word("TEX_HEADER_DIMENSION")
    if ctx.target.sm < 90 and slot != K_NONE:
        ctx.b.emit("TXQ", [RZ, d], [ctx.b.copy(imm(0)), dims, imm(0), slot, imm(mask)], ctx.guard)
    elif ctx.target.sm < 90:
        ctx.b.emit("TXQ.B", [RZ, d], [ctx.b.pack(handle, imm(0)), dims, imm(mask)], ctx.guard)
    else:
        zero = ctx.b.copy(imm(0))
        ctx.b.emit("TXQ", [RZ, d], [zero, dims, _uniform(ctx, handle, slot, True), imm(0), imm(mask)], ctx.guard)
    ctx.write(i.ops[0], d)
