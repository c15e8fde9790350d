"""Integer division and remainder: 16 and 32 bits inline by a reciprocal, 64 bits by a subroutine.

``docs/facts/arithmetic.md``, "Integer division", has the 32-bit sequence; division by zero gives all ones.
"""

from orias.isa.operand import K_R, NEG, NOT_PT, PT, RZ, Opnd, imm, in_file
from orias.lower.builtins.symbols import integer_symbol
from orias.lower.float.approx import in_register, unless
from orias.lower.frame.context import Ctx
from orias.lower.frame.registry import lowers
from orias.lower.integer.widen import extend, is_signed
from orias.ptx.ast import Instr


@lowers("div", "rem", types="int")
def div_rem(ctx: Ctx, i: Instr) -> None:
    """``div`` and ``rem`` of integers."""
    t = i.sig.types[0]
    rem = i.sig.name == "rem"
    if t in ("u64", "s64"):
        ctx.begin_guarded()
        args = [_pair(ctx, ctx.src(o, t)) for o in i.ops[1:3]]
        ctx.write(i.ops[0], ctx.call_helper(f"{i.sig.name}_{t}", args, 2, integer_symbol(i)))
        ctx.end_guarded()
        return
    small = t in ("u16", "s16")
    if small and ctx.options.helpers_apart and not ctx.state.apart:
        ctx.begin_guarded()
        args = [ctx.src(o, t) for o in i.ops[1:3]]
        ctx.write(i.ops[0], ctx.call_helper(f"{i.sig.name}_{t}", args, 1, integer_symbol(i)))
        ctx.end_guarded()
        return
    a = in_register(ctx, extend(ctx, ctx.src(i.ops[1], t), t))
    b = in_register(ctx, extend(ctx, ctx.src(i.ops[2], t), t))
    if is_signed(t):
        ctx.write(i.ops[0], _signed(ctx, a, b, rem, small))
    else:
        q, r = _unsigned16(ctx, a, b) if small else _unsigned32(ctx, a, b, "I2F.U32.RP")
        ctx.write(i.ops[0], _or_ones(ctx, b, r if rem else q))


def _pair(ctx: Ctx, o: Opnd) -> Opnd:
    return o if in_file(o, K_R) else ctx.b.copy(o, 2)


def _or_ones(ctx: Ctx, divisor: Opnd, value: Opnd) -> Opnd:
    """All ones if the divisor is zero, else the value."""
    nonzero = ctx.b.setp("ISETP.NE.U32.AND", divisor, RZ, PT)
    return unless(ctx, nonzero, "LOP3.LUT", value, RZ, divisor, RZ, imm(0x33), NOT_PT)


def _signed(ctx: Ctx, a: Opnd, b: Opnd, rem: bool, small: bool) -> Opnd:
    """Signed division by way of magnitudes: the remainder has the sign of a, the quotient the sign of a xor b."""
    e = ctx.b
    ua = e.r("IABS", a)
    ub = e.r("IABS", b)
    q, r = _unsigned16(ctx, ua, ub) if small else _unsigned32(ctx, ua, ub, "I2F.RP")
    sign = a if rem else e.r("LOP3.LUT", a, b, RZ, imm(0x3C), NOT_PT)
    plus = e.setp("ISETP.GE.AND", sign, RZ, PT)
    value = r if rem else q
    return _or_ones(ctx, b, unless(ctx, plus, "IADD3", value, value | NEG, RZ, RZ))


def _unsigned16(ctx: Ctx, a: Opnd, b: Opnd) -> tuple[Opnd, Opnd]:
    """Quotient and remainder of two values below 2**16 (a divisor's magnitude may be 2**15).

    The reciprocal is too large by one to three units of 2**-23.  Times a, the error is less than 1/b: the truncation is
    exact.
    """
    e = ctx.b
    r = e.r("IADD3", e.r("MUFU.RCP", e.r("I2F.U16", b)), imm(2), RZ)
    q = e.r("F2I.U32.TRUNC.NTZ", e.r("FMUL.RZ", e.r("I2F.U16.RZ", a), r))
    return q, e.r("IMAD", q | NEG, b, a)


def _unsigned32(ctx: Ctx, a: Opnd, b: Opnd, to_float: str) -> tuple[Opnd, Opnd]:
    """Quotient and remainder of 32-bit values: a lower estimate of 2**32 / b, one Newton step, two corrections."""
    e = ctx.b
    r = e.r("IADD3", e.r("MUFU.RCP", e.r(to_float, b)), imm(0x0FFFFFFE), RZ)
    n = e.r("F2I.FTZ.U32.TRUNC.NTZ", r)
    minus_b = e.r("IADD3", RZ, b | NEG, RZ)
    err = e.r("IMAD", minus_b, n, RZ)
    n = e.r("IMAD.HI.U32", n, err, e.pack(imm(0), n))
    q = e.r("IMAD.HI.U32", n, a, RZ)
    rest = e.r("IMAD", minus_b, q, a)
    for _ in range(2):
        done = e.setp("ISETP.LT.U32.AND", rest, b, PT)
        rest = unless(ctx, done, "IADD3", rest, rest, b | NEG, RZ)
        q = unless(ctx, done, "IADD3", q, q, imm(1), RZ)
    return q, rest
