"""Loops over the lanes of a warp, for operations whose operands are uniform registers.

The hardware runs a bulk or tensor copy once per warp, with operands in uniform registers.  In PTX each thread requests
a copy.  A loop therefore serves the threads one by one; the elected thread gives the operands.  Where one operation can
serve all threads with the same address, a loop serves the different addresses one by one.  Where the values are
uniform, the loop has one iteration.
"""

from collections.abc import Callable
from typing import TypeAlias

from orias.isa.operand import INV, K_CONST, K_IMM, K_P, K_UR, PT, URZ, Opnd, imm, is_zero_reg, kind_of
from orias.lower.frame.context import Ctx
from orias.ori.ir import OP_COPY, OP_PACK

Pick: TypeAlias = "Callable[[Opnd], Opnd]"
"""Returns a uniform copy of one word of the elected thread."""


def uniform_copy(ctx: Ctx, value: Opnd) -> Opnd:
    """A constant, an immediate or zero in a uniform register; zero is URZ."""
    if is_zero_reg(value) or value == K_IMM:
        return URZ
    u = ctx.fn.new_vreg(K_UR)
    ctx.b.emit_op(OP_COPY, [u], [value])
    return u


def pack_uniform(ctx: Ctx, *parts: Opnd) -> Opnd:
    """Several uniform words as one aligned group."""
    d = ctx.fn.new_vreg(K_UR, len(parts))
    ctx.b.emit_op(OP_PACK, [d], list(parts))
    return d


def each_thread(ctx: Ctx, body: Callable[[Pick], None]) -> None:
    """Run `body` once per active thread: ``loop: ELECT p ; @p R2UR ... ; operation ; @!p BRA loop``."""
    loop, done = ctx.new_block(), ctx.new_block()
    ctx.jump(loop)
    ctx.start(loop, sealed=False)
    p = ctx.fn.new_vreg(K_P)
    ctx.b.emit("ELECT", [URZ, p], [PT])

    def pick(value: Opnd) -> Opnd:
        if is_zero_reg(value) or kind_of(value) in (K_IMM, K_CONST):
            return uniform_copy(ctx, value)
        u = ctx.fn.new_vreg(K_UR)
        ctx.b.emit("R2UR", [u], [value], p)
        return u

    body(pick)
    ctx.branch(p ^ INV, loop, done)
    ctx.seal(loop)
    ctx.start(done)


def each_value(ctx: Ctx, value: Opnd, body: Callable[[Opnd, Opnd], None]) -> None:
    """Run ``body(uniform copy, guard)`` once per different value among the active threads.

    The guard is true in the threads that have the value.  The code is ``loop: R2UR p, u, value ; operation ; @p BRA
    loop``, where p is true in the threads with another value.
    """
    loop, done = ctx.new_block(), ctx.new_block()
    ctx.jump(loop)
    ctx.start(loop, sealed=False)
    u, p = ctx.fn.new_vreg(K_UR), ctx.fn.new_vreg(K_P)
    ctx.b.emit("R2UR", [u, p], [value])
    body(u, p ^ INV)
    ctx.branch(p, loop, done)
    ctx.seal(loop)
    ctx.start(done)


def each_value_apart(ctx: Ctx, value: Opnd, body: Callable[[Opnd], None]) -> None:
    """Run `body` with a uniform copy once per different value among the active threads, in a block that only threads with that value reach."""
    loop, arm, latch, done = (ctx.new_block() for _ in range(4))
    ctx.jump(loop)
    ctx.start(loop, sealed=False)
    u, p = ctx.fn.new_vreg(K_UR), ctx.fn.new_vreg(K_P)
    ctx.b.emit("R2UR", [u, p], [value])
    ctx.branch(p, latch, arm)
    ctx.start(arm)
    body(u)
    ctx.jump(latch)
    ctx.start(latch)
    ctx.branch(p, loop, done)
    ctx.seal(loop)
    ctx.start(done)


def each_pair(ctx: Ctx, first: Opnd, second: Opnd, body: Callable[[Opnd, Opnd], None]) -> None:
    """Run `body` with uniform copies of two words once per different pair of values among the active threads.

    Both R2UR read the same thread; a thread with another value of either goes round again.
    """
    loop, done = ctx.new_block(), ctx.new_block()
    ctx.jump(loop)
    ctx.start(loop, sealed=False)
    copies: list[Opnd] = []
    others: list[Opnd] = []
    for value in (first, second):
        if is_zero_reg(value) or kind_of(value) in (K_IMM, K_CONST):
            copies.append(uniform_copy(ctx, value))
            continue
        u, p = ctx.fn.new_vreg(K_UR), ctx.fn.new_vreg(K_P)
        ctx.b.emit("R2UR", [u, p], [value])
        copies.append(u)
        others.append(p)
    body(copies[0], copies[1])
    again = PT | INV
    for p in others:
        again = ctx.b.setp("PLOP3.LUT", again, p, PT, imm(0xFC), imm(0)) if again != PT | INV else p
    ctx.branch(again, loop, done)
    ctx.seal(loop)
    ctx.start(done)
