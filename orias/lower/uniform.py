"""Operations of the warp on values of threads: uniform registers filled in loops.

Bulk and tensor copies run once for a warp with operands in uniform registers.  PTX has each thread ask for a copy, so a loop takes
the threads one by one; the elected one gives the operands.  Where an operation may serve several threads at once (one address for
all of them), a loop takes the different values one by one.  The loop stays where a value is the same in all threads: it then turns once.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from orias.isa.operand import INV, K_CONST, K_IMM, K_P, K_UR, KIND_MASK, PT, URZ, Opnd, is_zero_reg
from orias.ori.ir import OP_COPY, OP_PACK

if TYPE_CHECKING:
    from orias.lower.context import Ctx

Pick = Callable[[Opnd], Opnd]
"""Gives the uniform copy of one word of the elected thread."""


def uniform_copy(ctx: "Ctx", value: Opnd) -> Opnd:
    """A constant or immediate word in a uniform register; zero is URZ."""
    if is_zero_reg(value) or value == K_IMM:
        return URZ
    u = ctx.fn.new_vreg(K_UR)
    ctx.b.emit_op(OP_COPY, [u], [value])
    return u


def pack_uniform(ctx: "Ctx", *parts: Opnd) -> Opnd:
    """Uniform words as one aligned group."""
    d = ctx.fn.new_vreg(K_UR, len(parts))
    ctx.b.emit_op(OP_PACK, [d], list(parts))
    return d


def each_thread(ctx: "Ctx", body: Callable[[Pick], None]) -> None:
    """Run `body` once for every active thread, as a warp: ``loop: ELECT p ; @p R2UR ... ; operation ; @!p BRA loop``."""
    loop, done = ctx.new_block(), ctx.new_block()
    ctx.jump(loop)
    ctx.start(loop, sealed=False)
    p = ctx.fn.new_vreg(K_P)
    ctx.b.emit("ELECT", [URZ, p], [PT])

    def pick(value: Opnd) -> Opnd:
        if is_zero_reg(value) or value & KIND_MASK in (K_IMM, K_CONST):
            return uniform_copy(ctx, value)
        u = ctx.fn.new_vreg(K_UR)
        ctx.b.emit("R2UR", [u], [value], p)
        return u

    body(pick)
    ctx.branch(p ^ INV, loop, done)
    ctx.seal(loop)
    ctx.start(done)


def each_value(ctx: "Ctx", value: Opnd, body: Callable[[Opnd, Opnd], None]) -> None:
    """Run ``body(uniform copy, guard)`` once for every different value among the active threads; the guard holds for those that have it.

    ``loop: R2UR p, u, value ; operation ; @p BRA loop``, where p says that the thread's value is another one.
    """
    if is_zero_reg(value) or value & KIND_MASK in (K_IMM, K_CONST):
        body(uniform_copy(ctx, value), PT)
        return
    loop, done = ctx.new_block(), ctx.new_block()
    ctx.jump(loop)
    ctx.start(loop, sealed=False)
    u, p = ctx.fn.new_vreg(K_UR), ctx.fn.new_vreg(K_P)
    ctx.b.emit("R2UR", [u, p], [value])
    body(u, p ^ INV)
    ctx.branch(p, loop, done)
    ctx.seal(loop)
    ctx.start(done)
