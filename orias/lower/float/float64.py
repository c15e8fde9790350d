"""Double-precision arithmetic: add sub mul fma mad neg abs min max testp copysign.

Forms measured with ptxas 13.0.88 for sm_75 to sm_90.
"""

from orias.isa.operand import ABS, NEG, NOT_PT, PT, RZ, Opnd, imm
from orias.lower.float.fp import RND, minmax64, neg64, result_op
from orias.lower.frame.context import Ctx
from orias.lower.frame.registry import lowers
from orias.ptx.ast import Instr

_INF_HI = 0x7FF00000
_MIN_NORMAL_HI = 0x00100000


@lowers("add", "sub", types="f64")
def add(ctx: Ctx, i: Instr) -> None:
    """``add.f64`` and ``sub.f64``."""
    a = ctx.src(i.ops[1], "f64")
    b = ctx.src(i.ops[2], "f64")
    if i.sig.name == "sub":
        b = neg64(b)
    rnd = i.sig.mods.get("rnd", "")
    ctx.write(i.ops[0], result_op(ctx, "DADD" + RND[rnd], [a, b], 2, rnd == ""))


@lowers("mul", types="f64")
def mul(ctx: Ctx, i: Instr) -> None:
    """``mul.f64``."""
    rnd = i.sig.mods.get("rnd", "")
    src = [ctx.src(o, "f64") for o in i.ops[1:3]]
    ctx.write(i.ops[0], result_op(ctx, "DMUL" + RND[rnd], src, 2, rnd == ""))


@lowers("fma", "mad", types="f64")
def fma(ctx: Ctx, i: Instr) -> None:
    """``fma.f64`` and ``mad.f64``."""
    src = [ctx.src(o, "f64") for o in i.ops[1:4]]
    ctx.write(i.ops[0], ctx.b.r("DFMA" + RND[i.sig.mods["rnd"]], *src, width=2))


@lowers("neg", "abs", types="f64")
def neg_abs(ctx: Ctx, i: Instr) -> None:
    """``neg.f64`` and ``abs.f64``."""
    flag = NEG if i.sig.name == "neg" else ABS
    ctx.write(i.ops[0], ctx.b.r("DADD", RZ | NEG, ctx.src(i.ops[1], "f64") | flag, width=2))


@lowers("min", "max", types="f64")
def minmax(ctx: Ctx, i: Instr) -> None:
    """``min.f64`` and ``max.f64``."""
    a = ctx.src(i.ops[1], "f64")
    b = ctx.src(i.ops[2], "f64")
    ctx.write(i.ops[0], minmax64(ctx, "DSETP.MIN.AND" if i.sig.name == "min" else "DSETP.MAX.AND", a, b))


@lowers("copysign", types="f64")
def copysign(ctx: Ctx, i: Instr) -> None:
    """``copysign.f64 d, a, b``: the magnitude of b with the sign of a."""
    a = ctx.src(i.ops[1], "f64")
    b = ctx.src(i.ops[2], "f64")
    hi = ctx.b.r("LOP3.LUT", ctx.hi(b), imm(0x80000000), ctx.hi(a), imm(0xB8), NOT_PT)
    ctx.write(i.ops[0], ctx.b.pack(ctx.lo(b), hi))


@lowers("testp", types="f64")
def testp(ctx: Ctx, i: Instr) -> None:
    """``testp.f64``; like ptxas, ``normal`` holds for zero, and without a test the result is unspecified."""
    if "op" not in i.sig.mods:
        return
    a = ctx.src(i.ops[1], "f64")
    hi = ctx.b.r("LOP3.LUT", ctx.hi(a), imm(0x7FFFFFFF), RZ, imm(0xC0), NOT_PT)
    ctx.write_pred(i.ops[0], _class_of(ctx, i.sig.mods["op"], ctx.lo(a), hi))


def _class_of(ctx: Ctx, what: str, lo: Opnd, hi: Opnd) -> Opnd:
    """Predicate: the value with the low word `lo` and the high word `hi` (without sign) belongs to the class `what`."""
    b = ctx.b
    if what == "finite":
        return b.setp("ISETP.LT.U32.AND", hi, imm(_INF_HI), PT)
    if what == "infinite":
        p = b.setp("ISETP.EQ.U32.AND", lo, RZ, PT)
        return b.setp("ISETP.EQ.U32.AND", hi, imm(_INF_HI), p)
    if what in ("number", "notanumber"):
        p = b.setp("ISETP.NE.U32.AND", lo, RZ, PT)
        p = b.setp("ISETP.EQ.U32.AND", hi, imm(_INF_HI), p)
        nan = b.setp("ISETP.GT.U32.OR", hi, imm(_INF_HI), p)
        return nan if what == "notanumber" else nan ^ (NOT_PT ^ PT)
    any_bit = b.r("LOP3.LUT", lo, hi, RZ, imm(0xFC), NOT_PT)
    if what == "normal":
        p = b.setp("ISETP.LT.U32.AND", hi, imm(_INF_HI), PT)
        p = b.setp("ISETP.GE.U32.AND", hi, imm(_MIN_NORMAL_HI), p)
        return b.setp("ISETP.EQ.U32.OR", any_bit, RZ, p)
    assert what == "subnormal"
    p = b.setp("ISETP.LT.U32.AND", hi, imm(_MIN_NORMAL_HI), PT)
    return b.setp("ISETP.NE.U32.AND", any_bit, RZ, p)
