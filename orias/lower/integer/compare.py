"""setp, set, selp, slct for integers, and the selections of all other types."""

from typing import Final

from orias.isa.operand import INV, K_P, PT, RZ, Opnd, imm
from orias.lower.frame.context import Ctx
from orias.lower.frame.registry import lowers
from orias.lower.integer.add_multiply import extend16
from orias.lower.integer.bits import plop3
from orias.lower.integer.widen import is_signed
from orias.ptx.ast import O_PAIR, TYPE_BITS, Instr, Operand

_UNSIGNED: Final[dict[str, str]] = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}


def compare(ctx: Ctx, cmp: str, type_: str, a: Opnd, b: Opnd, with_complement: bool) -> tuple[Opnd, Opnd]:
    """The comparison and, with `with_complement`, its complement (otherwise PT)."""
    signed = is_signed(type_)
    if cmp in _UNSIGNED:
        cmp, signed = _UNSIGNED[cmp], False
    bits = TYPE_BITS[type_]
    if bits == 64:
        p = ctx.b.pred(f"isetp64.{cmp.upper()}.{'S64' if signed else 'U64'}", a, b, PT)
        return p, p ^ INV if with_complement else PT
    if bits == 16:
        a, b = extend16(ctx, a, signed), extend16(ctx, b, signed)
    p = ctx.fn.new_vreg(K_P)
    ctx.b.emit(f"ISETP.{cmp.upper()}{'' if signed else '.U32'}.AND", [p, PT], [a, b, PT])
    return p, p ^ INV if with_complement else PT


def write_compared(ctx: Ctx, dst: Operand, p: Opnd, i: Instr, operand: int) -> None:
    """Write p, and its complement to the second predicate of ``p|q``; both are combined with the predicate operand, if any."""
    q = p ^ INV
    pair = dst.kind == O_PAIR
    if len(i.ops) > operand:
        c = ctx.pred_src(i.ops[operand])
        op = i.sig.mods.get("bool", "and")
        p = plop3(ctx, p, c, op)
        if pair:
            q = plop3(ctx, q, c, op)
    if pair:
        ctx.write_pred(dst.elems[0], p)
        ctx.write_pred(dst.elems[1], q)
    else:
        ctx.write_pred(dst, p)


@lowers("setp", types="int")
def lower_setp(ctx: Ctx, i: Instr) -> None:
    """setp on integers."""
    type_ = i.sig.types[-1]
    a, b = ctx.src(i.ops[1], type_), ctx.src(i.ops[2], type_)
    cmp = i.sig.mods["cmp"]
    op = i.sig.mods.get("bool", "")
    dst = i.ops[0]
    if op and dst.kind != O_PAIR and TYPE_BITS[type_] <= 32:
        signed = is_signed(type_) and cmp not in _UNSIGNED
        cmp = _UNSIGNED.get(cmp, cmp)
        c = ctx.pred_src(i.ops[3])
        if TYPE_BITS[type_] == 16:
            a, b = extend16(ctx, a, signed), extend16(ctx, b, signed)
        name = f"ISETP.{cmp.upper()}{'' if signed else '.U32'}.{op.upper()}"
        ctx.write_pred(dst, ctx.b.setp(name, a, b, c))
        return
    p, _ = compare(ctx, cmp, type_, a, b, False)
    write_compared(ctx, dst, p, i, 3)


@lowers("set", types="int")
def lower_set(ctx: Ctx, i: Instr) -> None:
    """set on integers: all ones, or 1.0 for a float result type."""
    dtype, stype = i.sig.types[0], i.sig.types[-1]
    a, b = ctx.src(i.ops[1], stype), ctx.src(i.ops[2], stype)
    p, _ = compare(ctx, i.sig.mods["cmp"], stype, a, b, False)
    if len(i.ops) > 3:
        p = plop3(ctx, p, ctx.pred_src(i.ops[3]), i.sig.mods.get("bool", "and"))
    write_set(ctx, i.ops[0], p, dtype)


_TRUE: Final[dict[str, int]] = {"f32": 0x3F800000, "f16": 0x3C00, "bf16": 0x3F80}


def write_set(ctx: Ctx, dst: Operand, p: Opnd, dtype: str) -> None:
    """Write the value that set gives for the predicate `p`."""
    ctx.write(dst, ctx.b.r("SEL", imm(_TRUE.get(dtype, 0xFFFFFFFF)), RZ, p))


@lowers("selp")
def lower_selp(ctx: Ctx, i: Instr) -> None:
    """selp on words, for every type that has no selection of its own."""
    type_ = i.sig.types[-1]
    a, b = ctx.src(i.ops[1], type_), ctx.src(i.ops[2], type_)
    ctx.write(i.ops[0], select(ctx, a, b, ctx.pred_src(i.ops[3]), type_))


def select(ctx: Ctx, a: Opnd, b: Opnd, p: Opnd, type_: str) -> Opnd:
    """p ? a : b."""
    if TYPE_BITS[type_] <= 32:
        return ctx.b.r("SEL", a, b, p)
    n = TYPE_BITS[type_] // 32
    return ctx.b.pack(*[ctx.b.r("SEL", ctx.word(a, k), ctx.word(b, k), p) for k in range(n)])


@lowers("slct", types="int")
def lower_slct(ctx: Ctx, i: Instr) -> None:
    """slct with an integer selector: a if it is not negative, else b."""
    type_ = i.sig.types[0]
    a, b = ctx.src(i.ops[1], type_), ctx.src(i.ops[2], type_)
    p = ctx.b.setp("ISETP.GE.AND", ctx.src(i.ops[3], "s32"), RZ, PT)
    ctx.write(i.ops[0], select(ctx, a, b, p, type_))
