"""Sums of products and of absolute differences: dp2a dp4a sad."""

from orias.isa.operand import NEG, NOT_PT, PT, Opnd
from orias.lower.float.fp import select64
from orias.lower.frame.context import Ctx
from orias.lower.frame.registry import lowers
from orias.lower.integer.widen import extend, is_signed
from orias.ptx.ast import Instr
from orias.target import features


def _sign(type_: str) -> str:
    return "S" if type_[0] == "s" else "U"


@lowers("dp4a")
def dp4a(ctx: Ctx, i: Instr) -> None:
    """``dp4a``: four byte products added to a word."""
    ta, tb = i.sig.types[:2]
    src = [ctx.src(o, "b32") for o in i.ops[1:4]]
    ctx.write(i.ops[0], ctx.b.r(f"IDP.4A.{_sign(ta)}8.{_sign(tb)}8", *src))


@lowers("dp2a")
def dp2a(ctx: Ctx, i: Instr) -> None:
    """``dp2a.lo`` and ``.hi``: two products of halves and bytes added to a word."""
    ta, tb = i.sig.types[:2]
    half = i.sig.mods["mulsize"].upper()
    src = [ctx.src(o, "b32") for o in i.ops[1:4]]
    ctx.write(i.ops[0], ctx.b.r(f"IDP.2A.{half}.{_sign(ta)}16.{_sign(tb)}8", *src))


@lowers("sad")
def sad(ctx: Ctx, i: Instr) -> None:
    """``sad``: c + abs(a - b)."""
    t = i.sig.types[0]
    a, b, c = [ctx.src(o, t) for o in i.ops[1:4]]
    if t in ("u64", "s64"):
        ctx.write(i.ops[0], ctx.b.r("iadd64", _abs_diff64(ctx, t, a, b), c, width=2))
        return
    a, b = extend(ctx, a, t), extend(ctx, b, t)
    if ctx.target.has(features.ABSOLUTE_DIFFERENCES):
        ctx.write(i.ops[0], ctx.b.r("VABSDIFF.U32" if t[0] == "u" else "VABSDIFF", a, b, c))
        return
    name = ctx.min_max(is_signed(t))
    ctx.write(i.ops[0], ctx.b.r("IADD3", c, ctx.b.r(name, a, b, NOT_PT), ctx.b.r(name, a, b, PT) | NEG))


def _abs_diff64(ctx: Ctx, type_: str, a: Opnd, b: Opnd) -> Opnd:
    a = a if ctx.words(a) == 2 else ctx.b.copy(a, 2)
    b = b if ctx.words(b) == 2 else ctx.b.copy(b, 2)
    p = ctx.b.pred("isetp64.GE.U64" if type_ == "u64" else "isetp64.GE.S64", a, b, PT)
    up = ctx.b.r("iadd64", a, b | NEG, width=2)
    down = ctx.b.r("iadd64", b, a | NEG, width=2)
    return select64(ctx, up, down, p)
