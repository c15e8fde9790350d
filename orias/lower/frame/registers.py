"""Registers as arguments and results, and registers that are vectors.

A vector register (``.reg .v4 .f32 v``) that is named as a whole is the vector of its elements: ``v`` reads and writes
like ``{v.x, v.y, v.z, v.w}``.  A register parameter or result is passed in words: one per element (two for 64-bit
elements), and a predicate as 0 or 1.
"""

from typing import Final

from orias.isa.operand import PT, RZ, Opnd, imm
from orias.lower.frame.context import Ctx
from orias.lower.frame.data_layout import type_words
from orias.ptx.ast import O_REG, O_VEC, Instr, Operand, Var

COMPONENTS: Final = ("x", "y", "z", "w")


def expand_vectors(i: Instr) -> None:
    """Replace whole vector registers among the operands by vectors of their elements."""
    for operands in (i.ops, i.args, i.rets):
        for k, o in enumerate(operands):
            if o.kind == O_REG and o.var is not None and o.var.vec > 1 and not o.comp:
                operands[k] = elements(o.var)


def elements(v: Var) -> Operand:
    """The vector of a vector register's elements."""
    out = Operand(O_VEC)
    for k in range(v.vec):
        e = Operand(O_REG)
        e.var = v
        e.comp = COMPONENTS[k]
        out.elems.append(e)
    return out


def whole(v: Var) -> list[Operand]:
    """The scalar operands that make up a register: itself, or its elements."""
    if v.vec > 1:
        return elements(v).elems
    o = Operand(O_REG)
    o.var = v
    return [o]


def base_register(o: Operand) -> Operand:
    """The base register of an address, as a register operand."""
    out = Operand(O_REG)
    out.var = o.var
    out.comp = o.comp
    return out


def read_words(ctx: Ctx, o: Operand, type_: str) -> list[Opnd]:
    """The words of an argument of a scalar type or a vector of it."""
    if o.kind == O_VEC:
        return [w for e in o.elems for w in read_words(ctx, e, type_)]
    if type_ == "pred":
        return [ctx.b.r("SEL", imm(1), RZ, ctx.pred_src(o))]
    value = ctx.src(o, type_)
    n = type_words(type_)
    return [ctx.word(value, k) for k in range(n)] if n > 1 else [value]


def write_words(ctx: Ctx, o: Operand, type_: str, words: list[Opnd]) -> None:
    """Assign the words of a result to a register or a vector of registers."""
    if o.kind == O_VEC:
        n = len(words) // len(o.elems)
        for k, e in enumerate(o.elems):
            write_words(ctx, e, type_, words[k * n : (k + 1) * n])
    elif type_ == "pred":
        ctx.write_pred(o, ctx.b.setp("ISETP.NE.U32.AND", words[0], RZ, PT))
    else:
        ctx.write(o, words[0] if len(words) == 1 else ctx.b.pack(*words))
