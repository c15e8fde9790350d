"""Handles of textures, surfaces and samplers.

Up to sm_89 an operation takes the handle from a register (``.B``) or a word of constant bank 0, from sm_90 on from a
uniform register.  A reference by name (``.texref``, ``.surfref``) has a word after the parameters in constant bank 0;
the loader fills it.
"""

from collections.abc import Callable
from typing import Final

from orias.isa.operand import (
    INV,
    K_NONE,
    K_P,
    K_UR,
    PT,
    URZ,
    Opnd,
    const,
    imm,
    imm_value,
    is_const,
    is_reg,
    kind_of,
    vreg,
)
from orias.lower.frame.addresses import reference_handle, reference_slot, reference_symbol, variable_address
from orias.lower.frame.context import Ctx
from orias.lower.frame.registers import base_register
from orias.ori.ir import OP_COPY
from orias.ptx.ast import O_ADDR, O_REG, Instr, Operand, Var
from orias.target import descriptors, features


def handle_of(ctx: Ctx, i: Instr, o: Operand) -> tuple[Opnd, Opnd]:
    """(low word of the handle in a register, word number of the handle in constant bank 0).

    The register is NONE for a reference by name; the word number is NONE for other handles.  In a relocatable module
    the number, or the offset of the word, comes from a relocation.
    """
    if o.kind == O_ADDR and o.var is not None and o.var.type in ("texref", "surfref"):
        if ctx.options.relocatable:
            if not ctx.target.has(features.UNIFORM_HANDLES):
                return K_NONE, reference_symbol(ctx, o.var)
            return reference_handle(ctx, o.var), K_NONE
        return K_NONE, imm(reference_slot(ctx, o.var))
    if o.kind == O_ADDR and o.var is not None and o.var.type == "samplerref":
        return ctx.lo(variable_address(ctx, o.var, 0, 2)), K_NONE
    if o.kind != O_ADDR or o.var is None or o.var.space != "reg" or o.value:
        raise ctx.unsupported(f"'{i.sig.text}' with this kind of reference")
    value = ctx.src(base_register(o), "b64")
    named = ctx.state.reference_values.get(vreg(value))
    if named is not None and not ctx.target.has(features.UNIFORM_HANDLES):
        return K_NONE, reference_symbol(ctx, named)
    slot = ctx.state.param_values.get(vreg(value))
    low = ctx.lo(value)
    return (low if is_reg(low) else ctx.b.copy(low)), K_NONE if slot is None else imm(slot // 4)


_OR: Final = 0xFC


def reference_of(ctx: Ctx, o: Operand) -> Var | None:
    """The reference that an operand names, or that a register is known to hold."""
    if o.var is None or o.var.type in descriptors.HANDLE_KINDS:
        return o.var
    return ctx.state.reference_values.get(vreg(ctx.src(base_register(o), "b64")))


def demand_samplers(ctx: Ctx, i: Instr) -> None:
    """Refuse the handle of a sampler where textures hold theirs (``texmode_unified``): ptxas 13.0.88 has it as an offset."""
    if len(i.ops[1].elems) == 2 and "texmode_independent" not in ctx.module.ast.target_options:
        raise ctx.unsupported(f"'{i.sig.text}' with a sampler in texmode_unified")


def handle_value(ctx: Ctx, i: Instr, o: Operand) -> Opnd:
    """A handle as a 64-bit value."""
    if (
        o.kind in (O_ADDR, O_REG)
        and o.var is not None
        and o.var.type not in descriptors.HANDLE_KINDS
        and o.var.space == "reg"
        and not o.value
    ):
        return ctx.src(base_register(o), "b64")
    if o.var is None or o.var.type not in descriptors.HANDLE_KINDS:
        raise ctx.unsupported(f"'{i.sig.text}' with this kind of reference")
    return variable_address(ctx, o.var, 0, 2)


def with_handle(
    ctx: Ctx, handle: Opnd, slot: Opnd, wide: bool, sampler: Opnd, body: Callable[[list[Opnd], Opnd], list[Opnd]]
) -> list[Opnd]:
    """The results of ``body(handle sources, guard)``, which emits an operation with its handle in a uniform register (sm_90).

    With `wide` the sampler, or zero, is the word after the handle.  Handles in registers may differ between threads.  A
    loop then serves the threads with equal handles together, ``loop: R2UR p, u, handle ; @!p operation ; @p BRA loop``,
    as in ptxas's code; :mod:`orias.passes.single_thread` removes the loop where the handle is known to be uniform.
    """
    fixed = sampler == K_NONE or is_const(sampler)
    bank = [imm(0)] if ctx.target.has(features.HANDLE_BANKS) else []
    if slot != K_NONE and fixed:
        return body([_joined(ctx, _constant(ctx, slot), sampler, wide), *bank], ctx.guard)
    ctx.begin_guarded()
    loop, done = ctx.new_block(), ctx.new_block()
    ctx.jump(loop)
    ctx.start(loop, sealed=False)
    others: list[Opnd] = []
    u = _constant(ctx, slot) if slot != K_NONE else _common(ctx, handle, others)
    upper = sampler if fixed else _common(ctx, sampler, others)
    p = others[0] if len(others) == 1 else ctx.b.setp("PLOP3.LUT", *others, PT, imm(_OR), imm(0))
    results = body([_joined(ctx, u, upper, wide), *bank], p ^ INV)
    # A thread keeps the results of the iteration that served it; the guard of the PTX instruction may skip the loop.
    temps = [ctx.temp(ctx.words(o), kind_of(o)) for o in results]
    for t, o in zip(temps, results, strict=True):
        ctx.set(t, o, ctx.words(o))
    ctx.branch(p, loop, done)
    ctx.seal(loop)
    ctx.start(done)
    ctx.end_guarded()
    return [ctx.get(t) for t in temps]


def _constant(ctx: Ctx, slot: Opnd) -> Opnd:
    u = ctx.fn.new_vreg(K_UR)
    ctx.b.emit_op(OP_COPY, [u], [const(0, 4 * imm_value(slot))])
    return u


def _common(ctx: Ctx, value: Opnd, others: list[Opnd]) -> Opnd:
    """The value of the first active thread; the predicate of the threads with another value is appended to `others`."""
    u, p = ctx.fn.new_vreg(K_UR), ctx.fn.new_vreg(K_P)
    ctx.b.emit("R2UR", [u, p], [value if is_reg(value) else ctx.b.copy(value)])
    others.append(p)
    return u


def _joined(ctx: Ctx, u: Opnd, upper: Opnd, wide: bool) -> Opnd:
    if not wide:
        return u
    if upper == K_NONE:
        upper = URZ
    elif is_const(upper):
        copy = ctx.fn.new_vreg(K_UR)
        ctx.b.emit_op(OP_COPY, [copy], [upper])
        upper = copy
    pair = ctx.fn.new_vreg(K_UR, 2)
    ctx.b.emit("pack", [pair], [u, upper])
    return pair
