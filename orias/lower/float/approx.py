"""Approximate functions: one MUFU each; forms without .ftz scale it where a value may be subnormal.

Source of sequences and constants: ``docs/facts/arithmetic.md``, "Approximate functions".
"""

from typing import Final

from orias.isa.operand import ABS, INV, K_R, PT, Opnd, imm, in_file
from orias.lower.float.fp import ONE_F32, result_op
from orias.lower.frame.context import Ctx
from orias.lower.frame.registry import lowers
from orias.ptx.ast import Instr

MIN_NORMAL: Final = 0x00800000
TWO_24: Final = 0x4B800000
TWO_12: Final = 0x45800000
TWO_M12: Final = 0x39800000
TWO_126: Final = 0x7E800000
QUARTER: Final = 0x3E800000
HALF: Final = 0x3F000000
MINUS_126: Final = 0xC2FC0000
MINUS_24: Final = 0xC1C00000
ONE_OVER_2PI: Final = 0x3E22F983
"""1/(2 pi), the scale of MUFU.SIN and MUFU.COS arguments (0.15915493667)."""


def not_small(ctx: Ctx, a: Opnd) -> Opnd:
    """Predicate: the f32 value is not subnormal and not zero (true for NaN)."""
    return ctx.b.setp("FSETP.GEU.AND", a | ABS, imm(MIN_NORMAL), PT)


def unless(ctx: Ctx, pred: Opnd, name: str, old: Opnd, *src: Opnd) -> Opnd:
    """``old`` where `pred` holds, the operation's result elsewhere: one instruction, guarded and tied to ``old``."""
    d = ctx.fn.new_vreg()
    ctx.b.emit(name, [d], list(src), pred ^ INV, old)
    return d


def in_register(ctx: Ctx, o: Opnd) -> Opnd:
    """The one-word operand as a register (immediates are copied)."""
    return o if in_file(o, K_R) else ctx.b.copy(o)


def _scaled(ctx: Ctx, i: Instr, mufu: str, back: str, factor: int) -> None:
    """MUFU with a subnormal value scaled up by 2**24; the operation `back` undoes the scaling with `factor`."""
    a = in_register(ctx, ctx.src(i.ops[1], "f32"))
    if "ftz" in i.sig.mods:
        ctx.write(i.ops[0], ctx.b.r(mufu, a))
        return
    p = not_small(ctx, a)
    x = unless(ctx, p, "FMUL", a, a, imm(TWO_24))
    y = ctx.b.r(mufu, x)
    ctx.write(i.ops[0], unless(ctx, p, back, y, y, imm(factor)))


def sqrt_approx(ctx: Ctx, i: Instr) -> None:
    """``sqrt.approx.f32``."""
    _scaled(ctx, i, "MUFU.SQRT", "FMUL", TWO_M12)


def rcp_approx(ctx: Ctx, i: Instr) -> None:
    """``rcp.approx.f32``: scaled by 2**24 below the normal range and by 1/4 above 2**126."""
    a = in_register(ctx, ctx.src(i.ops[1], "f32"))
    if "ftz" in i.sig.mods:
        ctx.write(i.ops[0], ctx.b.r("MUFU.RCP", a))
        return
    b = ctx.b
    p = not_small(ctx, a)
    large = b.setp("FSETP.GT.AND", a | ABS, imm(TWO_126), PT)
    scale = b.r("FSEL", imm(ONE_F32), imm(TWO_24), p)
    scale = b.r("FSEL", imm(QUARTER), scale, large)
    y = b.r("MUFU.RCP", b.r("FMUL", a, scale))
    ctx.write(i.ops[0], b.r("FMUL", scale, y))


@lowers("rsqrt", types="f32")
def rsqrt(ctx: Ctx, i: Instr) -> None:
    """``rsqrt.approx.f32``."""
    _scaled(ctx, i, "MUFU.RSQ", "FMUL", TWO_12)


@lowers("lg2", types="f32")
def lg2(ctx: Ctx, i: Instr) -> None:
    """``lg2.approx.f32``."""
    _scaled(ctx, i, "MUFU.LG2", "FADD", MINUS_24)


@lowers("ex2", types="f32")
def ex2(ctx: Ctx, i: Instr) -> None:
    """``ex2.approx.f32``: for arguments below -126 the square of 2**(x/2), whose result may be subnormal."""
    a = in_register(ctx, ctx.src(i.ops[1], "f32"))
    if "ftz" in i.sig.mods:
        ctx.write(i.ops[0], ctx.b.r("MUFU.EX2", a))
        return
    p = ctx.b.setp("FSETP.GEU.AND", a, imm(MINUS_126), PT)
    x = unless(ctx, p, "FMUL", a, a, imm(HALF))
    y = ctx.b.r("MUFU.EX2", x)
    ctx.write(i.ops[0], unless(ctx, p, "FMUL", y, y, y))


@lowers("sin", "cos", types="f32")
def sin_cos(ctx: Ctx, i: Instr) -> None:
    """``sin.approx.f32`` and ``cos.approx.f32``; MUFU takes the argument in revolutions."""
    a = ctx.src(i.ops[1], "f32")
    turns = ctx.b.r("FMUL.RZ", a, imm(ONE_OVER_2PI))
    ctx.write(i.ops[0], ctx.b.r("MUFU." + i.sig.name.upper(), turns))


@lowers("tanh", types="f32")
def tanh(ctx: Ctx, i: Instr) -> None:
    """``tanh.approx.f32``."""
    ctx.write(i.ops[0], ctx.b.r("MUFU.TANH", in_register(ctx, ctx.src(i.ops[1], "f32"))))


def div_approx(ctx: Ctx, i: Instr) -> None:
    """``div.approx.f32`` and ``div.full.f32``: a times MUFU.RCP of b, both scaled where b is outside MUFU's range."""
    b = ctx.b
    full = i.sig.mods["rnd"] == "full"
    ftz = ".FTZ" if "ftz" in i.sig.mods else ""
    x = in_register(ctx, ctx.src(i.ops[1], "f32"))
    y = in_register(ctx, ctx.src(i.ops[2], "f32"))
    large = PT
    small = PT
    if full:
        large = b.setp(f"FSETP.LEU{ftz}.AND", y | ABS, imm(TWO_126), PT)
    if not ftz:
        small = not_small(ctx, y)
    if full:
        y2 = unless(ctx, large, "FMUL" + ftz, y, y, imm(QUARTER))
        x = unless(ctx, large, "FMUL" + ftz, x, x, imm(QUARTER))
        y = y2
    if not ftz:
        y = unless(ctx, small, "FMUL", y, y, imm(TWO_24))
        x = unless(ctx, small, "FMUL", x, x, imm(TWO_24))
    product = [b.r("MUFU.RCP", y), x]
    ctx.write(i.ops[0], result_op(ctx, "FMUL" + ftz, product, 1, True))


def rcp64_seed(ctx: Ctx, name: str, i: Instr) -> None:
    """``rcp.approx.ftz.f64`` and ``rsqrt.approx.ftz.f64``: MUFU of the high word; the result's low word is zero."""
    a = in_register(ctx, ctx.hi(ctx.src(i.ops[1], "f64")))
    ctx.write(i.ops[0], ctx.b.pack(imm(0), ctx.b.r(name, a)))
