"""Handles of textures, surfaces and samplers.

Up to sm_89 an operation takes the handle in a register (``.B``) or a word of constant bank 0, from sm_90 on in a uniform register.
References by name (``.texref``, ``.surfref``) have a word behind the parameters in constant bank 0, which the loader fills.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from orias.isa.operand import (
    INV,
    K_CONST,
    K_NONE,
    K_P,
    K_UR,
    KIND_MASK,
    PAYLOAD_SHIFT,
    PT,
    URZ,
    Opnd,
    const,
    imm,
    is_reg,
)
from orias.lower.registers import base_register
from orias.ori.ir import OP_COPY
from orias.ptx.ast import O_ADDR, O_REG, Instr, Operand, Var

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
    if o.kind == O_ADDR and o.var is not None and o.var.type == "samplerref":
        return ctx.lo(ctx.module.address(ctx, o.var, 0, 2)), K_NONE
    if o.kind != O_ADDR or o.var is None or o.var.space != "reg" or o.value:
        raise ctx.unsupported(f"'{i.sig.text}' with this kind of reference")
    value = ctx.src(base_register(o), "b64")
    named = ctx.state.reference_values.get(value >> PAYLOAD_SHIFT)
    if named is not None and ctx.target.sm < 90:
        return K_NONE, ctx.module.reference_symbol(ctx, named)
    slot = ctx.state.param_values.get(value >> PAYLOAD_SHIFT)
    low = ctx.lo(value)
    return (low if is_reg(low) else ctx.b.copy(low)), K_NONE if slot is None else imm(slot // 4)


_OR: Final = 0xFC
KINDS: Final[dict[str, int]] = {"texref": 1 << 29, "samplerref": 1 << 30, "surfref": 1 << 31}
"""Bit of the upper word that a handle of the kind has (ptxas 13.0.88)."""


def reference_of(ctx: "Ctx", o: Operand) -> Var | None:
    """The reference that an operand names, or that a register is known to hold."""
    if o.var is None or o.var.type in KINDS:
        return o.var
    return ctx.state.reference_values.get(ctx.src(base_register(o), "b64") >> PAYLOAD_SHIFT)


def handle_value(ctx: "Ctx", i: Instr, o: Operand) -> Opnd:
    """A handle as a value of 64 bits."""
    if (
        o.kind in (O_ADDR, O_REG)
        and o.var is not None
        and o.var.type not in KINDS
        and o.var.space == "reg"
        and not o.value
    ):
        return ctx.src(base_register(o), "b64")
    if o.var is None or o.var.type not in KINDS:
        raise ctx.unsupported(f"'{i.sig.text}' with this kind of reference")
    return ctx.module.address(ctx, o.var, 0, 2)


def with_handle(
    ctx: "Ctx", handle: Opnd, slot: Opnd, wide: bool, sampler: Opnd, body: Callable[[list[Opnd], Opnd], list[Opnd]]
) -> list[Opnd]:
    """What ``body(handle sources, guard)`` results in: an operation that takes the handle from a uniform register (sm_90).

    The sampler, or zero, stands above the handle if `wide`.  Handles in registers may vary: a loop serves the threads with the same ones at a time,
    ``loop: R2UR p, u, handle ; @!p operation ; @p BRA loop``, as in ptxas's code.  It goes where the compiler sees that they do not
    vary (:mod:`orias.passes.elected`).
    """
    fixed = sampler == K_NONE or sampler & KIND_MASK == K_CONST
    if slot != K_NONE and fixed:
        return body([_joined(ctx, _constant(ctx, slot), sampler, wide), imm(0)], ctx.guard)
    ctx.begin_guarded()
    loop, done = ctx.new_block(), ctx.new_block()
    ctx.jump(loop)
    ctx.start(loop, sealed=False)
    others: list[Opnd] = []
    u = _constant(ctx, slot) if slot != K_NONE else _common(ctx, handle, others)
    upper = sampler if fixed else _common(ctx, sampler, others)
    p = others[0] if len(others) == 1 else ctx.b.setp("PLOP3.LUT", *others, PT, imm(_OR), imm(0))
    results = body([_joined(ctx, u, upper, wide), imm(0)], p ^ INV)
    # A thread leaves with what it got in the turn that served it; the guard of the PTX instruction may go past all of this.
    temps = [ctx.temp(ctx.words(o), o & KIND_MASK) for o in results]
    for t, o in zip(temps, results, strict=True):
        ctx.set(t, o, ctx.words(o))
    ctx.branch(p, loop, done)
    ctx.seal(loop)
    ctx.start(done)
    ctx.end_guarded()
    return [ctx.get(t) for t in temps]


def _constant(ctx: "Ctx", slot: Opnd) -> Opnd:
    u = ctx.fn.new_vreg(K_UR)
    ctx.b.emit_op(OP_COPY, [u], [const(0, 4 * (slot >> PAYLOAD_SHIFT))])
    return u


def _common(ctx: "Ctx", value: Opnd, others: list[Opnd]) -> Opnd:
    """The first active thread's value; `others` gets the predicate of the threads that have another."""
    u, p = ctx.fn.new_vreg(K_UR), ctx.fn.new_vreg(K_P)
    ctx.b.emit("R2UR", [u, p], [value if is_reg(value) else ctx.b.copy(value)])
    others.append(p)
    return u


def _joined(ctx: "Ctx", u: Opnd, upper: Opnd, wide: bool) -> Opnd:
    if not wide:
        return u
    if upper == K_NONE:
        upper = URZ
    elif upper & KIND_MASK == K_CONST:
        copy = ctx.fn.new_vreg(K_UR)
        ctx.b.emit_op(OP_COPY, [copy], [upper])
        upper = copy
    pair = ctx.fn.new_vreg(K_UR, 2)
    ctx.b.emit("pack", [pair], [u, upper])
    return pair
