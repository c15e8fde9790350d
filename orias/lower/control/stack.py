"""alloca, stacksave, stackrestore: the stack pointer R1 moves while a function runs.

A function with alloca keeps the prologue's value of R1 in a register (``FuncState.frame_base``).  It addresses its
frame from that register, and R1 gets the value back before RET.  Forms: ``docs/facts/register-allocation.md``,
"Prologue and frame".
"""

from typing import Final

from orias.isa.operand import NEG, NOT_PT, RZ, Opnd, imm, imm_value, is_imm, r
from orias.lower.frame.context import Ctx
from orias.lower.frame.data_layout import type_words
from orias.lower.frame.registry import lowers
from orias.ptx.ast import Instr
from orias.target import abi

_STACK: Final = r(abi.STACK)
_DEFAULT_ALIGN: Final = 8
_LEAST_ALIGN: Final = 8
"""Bytes of which the stack pointer stays a multiple whatever a block asks for, as with ptxas: frames of callees rely on it."""


def begin(ctx: Ctx) -> None:
    """Emit the head of a function with alloca: copy the address of its frame."""
    ctx.fn.moves_stack = True
    ctx.state.frame_base = ctx.b.copy(_STACK)


def restore(ctx: Ctx) -> None:
    """Before RET, give R1 the value that the epilogue expects."""
    _set(ctx, ctx.state.frame_base)


def _set(ctx: Ctx, value: Opnd) -> None:
    """Set R1 by a MOV; a copy would be removed, because in this function nothing reads R1 before a call."""
    ctx.b.emit("MOV", [_STACK], [value])


@lowers("alloca", types="int")
def lower_alloca(ctx: Ctx, i: Instr) -> None:
    """``alloca.type d, size {, align}``: lowers R1; the block starts above the arguments for callees, which are at R1."""
    type_ = i.sig.types[0]
    align = i.ops[2].value if len(i.ops) > 2 else _DEFAULT_ALIGN
    ctx.begin_guarded()
    size = ctx.src(i.ops[1], type_)
    if is_imm(size):
        low = imm(-imm_value(size) & 0xFFFFFFFF)
    else:
        low = (ctx.lo(size) if type_words(type_) == 2 else size) | NEG
    align = max(align, _LEAST_ALIGN, ctx.state.outgoing_align)
    below = ctx.state.outgoing
    whole = below % align == 0
    top = ctx.b.r("IADD3", _STACK, low, RZ if whole else imm(below))
    top = ctx.b.r("LOP3.LUT", top, imm(-align & 0xFFFFFFFF), RZ, imm(0xC0), NOT_PT)
    block = top
    if whole and below:
        block = ctx.b.r("IADD3", top, imm(below), RZ)
    elif below:
        top = ctx.b.r("IADD3", block, imm(-below), RZ)
    _set(ctx, top)
    ctx.write(i.ops[0], _address(ctx, block, type_))
    ctx.end_guarded()


def _address(ctx: Ctx, low: Opnd, type_: str) -> Opnd:
    return ctx.b.pack(low, imm(0)) if type_words(type_) == 2 else low


@lowers("stacksave", types="int")
def lower_stacksave(ctx: Ctx, i: Instr) -> None:
    """``stacksave.type d``."""
    ctx.write(i.ops[0], _address(ctx, ctx.b.copy(_STACK), i.sig.types[0]))


@lowers("stackrestore", types="int")
def lower_stackrestore(ctx: Ctx, i: Instr) -> None:
    """``stackrestore.type a``."""
    type_ = i.sig.types[0]
    ctx.begin_guarded()
    value = ctx.src(i.ops[0], type_)
    _set(ctx, ctx.lo(value) if type_words(type_) == 2 else value)
    ctx.end_guarded()
