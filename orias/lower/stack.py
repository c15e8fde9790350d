"""alloca, stacksave, stackrestore: the stack pointer R1 moves while a function runs.

Such a function keeps R1 as the prologue left it in a register (``FuncState.frame_base``); its frame is addressed from there,
and R1 gets that value back before RET.  Forms as ptxas 13.0.88 writes them (inventory AB, section 3.3).
"""

from typing import TYPE_CHECKING, Final

from orias.isa.operand import K_IMM, KIND_MASK, NEG, NOT_PT, PAYLOAD_SHIFT, RZ, Opnd, imm, r
from orias.lower.context import type_words
from orias.lower.registry import lowers
from orias.ptx.ast import Instr

if TYPE_CHECKING:
    from orias.lower.context import Ctx

_STACK: Final = r(1)
_DEFAULT_ALIGN: Final = 8


def begin(ctx: "Ctx") -> None:
    """At the head of a function with alloca: keep the address of its frame."""
    ctx.fn.notes["alloca"] = 1
    ctx.state.frame_base = ctx.b.copy(_STACK)


def restore(ctx: "Ctx") -> None:
    """Before RET: R1 as the epilogue expects it."""
    _set(ctx, ctx.state.frame_base)


def _set(ctx: "Ctx", value: Opnd) -> None:
    """Move R1: not a copy, for nothing in the function need read it before a call does."""
    ctx.b.emit("MOV", [_STACK], [value])


@lowers("alloca", types="int")
def lower_alloca(ctx: "Ctx", i: Instr) -> None:
    """``alloca.type d, size {, align}``: the block starts where R1 then points to."""
    if ctx.state.outgoing:
        # Their place is at R1, where the block would begin.
        raise ctx.unsupported("'alloca' in a function that passes arguments on the stack")
    type_ = i.sig.types[0]
    align = i.ops[2].value if len(i.ops) > 2 else _DEFAULT_ALIGN
    ctx.begin_guarded()
    size = ctx.src(i.ops[1], type_)
    if size & KIND_MASK == K_IMM:
        low = imm(-(size >> PAYLOAD_SHIFT) & 0xFFFFFFFF)
    else:
        low = (ctx.lo(size) if type_words(type_) == 2 else size) | NEG
    top = ctx.b.r("IADD3", _STACK, low, RZ)
    top = ctx.b.r("LOP3.LUT", top, imm(-max(align, 1) & 0xFFFFFFFF), RZ, imm(0xC0), NOT_PT)
    _set(ctx, top)
    ctx.write(i.ops[0], _address(ctx, top, type_))
    ctx.end_guarded()


def _address(ctx: "Ctx", low: Opnd, type_: str) -> Opnd:
    return ctx.b.pack(low, imm(0)) if type_words(type_) == 2 else low


@lowers("stacksave", types="int")
def lower_stacksave(ctx: "Ctx", i: Instr) -> None:
    """``stacksave.type d``."""
    ctx.write(i.ops[0], _address(ctx, ctx.b.copy(_STACK), i.sig.types[0]))


@lowers("stackrestore", types="int")
def lower_stackrestore(ctx: "Ctx", i: Instr) -> None:
    """``stackrestore.type a``."""
    type_ = i.sig.types[0]
    ctx.begin_guarded()
    value = ctx.src(i.ops[0], type_)
    _set(ctx, ctx.lo(value) if type_words(type_) == 2 else value)
    ctx.end_guarded()
