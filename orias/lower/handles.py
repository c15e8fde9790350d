"""Handles of textures, surfaces and samplers.

Up to sm_89 an operation takes the handle in a register (``.B``) or a word of constant bank 0, from sm_90 on in a uniform register.
References by name (``.texref``, ``.surfref``) have a word behind the parameters in constant bank 0, which the loader fills.
"""

from typing import TYPE_CHECKING

from orias.isa.operand import K_NONE, K_UR, PAYLOAD_SHIFT, URZ, Opnd, const, imm, is_reg
from orias.ori.ir import OP_COPY
from orias.ptx.ast import O_ADDR, O_REG, Instr, Operand

if TYPE_CHECKING:
    from orias.lower.context import Ctx


def handle_of(ctx: "Ctx", i: Instr, o: Operand) -> tuple[Opnd, Opnd]:
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


def uniform_handle(ctx: "Ctx", handle: Opnd, slot: Opnd, wide: bool, sampler: Opnd = K_NONE) -> Opnd:
    """sm_90: the handle in a uniform register, the sampler's or zero above if `wide`."""
    u = ctx.fn.new_vreg(K_UR)
    if slot != K_NONE:
        ctx.b.emit_op(OP_COPY, [u], [const(0, 4 * (slot >> PAYLOAD_SHIFT))])
    else:
        ctx.b.emit("R2UR", [u], [handle])
    if not wide:
        return u
    upper = URZ
    if sampler != K_NONE:
        upper = ctx.fn.new_vreg(K_UR)
        ctx.b.emit("R2UR", [upper], [sampler])
    pair = ctx.fn.new_vreg(K_UR, 2)
    ctx.b.emit("pack", [pair], [u, upper])
    return pair
