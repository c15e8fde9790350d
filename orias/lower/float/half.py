"""Half-precision arithmetic: f16, f16x2, bf16, bf16x2.

A scalar uses the low half of its word for both lanes of the packed operation; the upper half of the result is unused.
Forms measured with ptxas 13.0.88; bf16 addition and multiplication exist from sm_90 on, as in PTX.
"""

from orias.isa.operand import ABS, NEG, NOT_PT, PT, RZ, S_H0_H0, S_H1, imm, with_suffix
from orias.lower.float.approx import in_register
from orias.lower.float.fp import half_src, neg_half, neg_zero_half, result_op, sat_mods
from orias.lower.frame.context import Ctx
from orias.lower.frame.registry import lowers
from orias.ptx.ast import Instr


def _bf16(type_: str) -> str:
    return ".BF16_V2" if type_.startswith("bf16") else ""


def _mixed(ctx: Ctx, i: Instr, name: str, halves: int) -> None:
    """An operation on one or two halves and a f32, which it takes from registers only."""
    t = i.sig.types[1]
    src = [in_register(ctx, ctx.src(o, t)) for o in i.ops[1 : 1 + halves]]
    last = in_register(ctx, ctx.src(i.ops[1 + halves], "f32"))
    name += (".BF16" if t == "bf16" else "") + sat_mods(i.sig.mods)
    ctx.write(i.ops[0], ctx.b.r(name, *src, last | NEG if i.sig.name == "sub" else last))


@lowers("add", "sub", types="f16,bf16")
def add(ctx: Ctx, i: Instr) -> None:
    """Addition and subtraction; of halves, or of a half and a f32."""
    if len(i.sig.types) > 1:
        _mixed(ctx, i, "FHADD", 1)
        return
    t = i.sig.types[0]
    a = half_src(ctx, i.ops[1], t)
    b = half_src(ctx, i.ops[2], t)
    if i.sig.name == "sub":
        b = neg_half(b)
    name = "HADD2" + _bf16(t) + sat_mods(i.sig.mods)
    ctx.write(i.ops[0], result_op(ctx, name, [a, b], 1, "rnd" not in i.sig.mods))


@lowers("mul", types="f16,bf16")
def mul(ctx: Ctx, i: Instr) -> None:
    """Multiplication."""
    t = i.sig.types[0]
    src = [half_src(ctx, o, t) for o in i.ops[1:3]]
    name = "HMUL2" + _bf16(t) + sat_mods(i.sig.mods)
    ctx.write(i.ops[0], result_op(ctx, name, src, 1, "rnd" not in i.sig.mods))


@lowers("fma", types="f16,bf16")
def fma(ctx: Ctx, i: Instr) -> None:
    """Fused multiply-add with ``.ftz``, ``.sat``, ``.relu``, ``.oob``; of halves, or of two halves and a f32."""
    if len(i.sig.types) > 1:
        _mixed(ctx, i, "FHFMA", 2)
        return
    t = i.sig.types[0]
    mods = i.sig.mods
    name = "HFMA2" + _bf16(t)
    if "oob" in mods:
        name += ".OOB"
    name += sat_mods(mods)
    if "relu" in mods:
        name += ".RELU"
    src = [half_src(ctx, o, t) for o in i.ops[1:4]]
    ctx.write(i.ops[0], ctx.b.r(name, *src))


@lowers("neg", "abs", types="f16,bf16")
def neg_abs(ctx: Ctx, i: Instr) -> None:
    """Negation and absolute value; those of bf16 are a multiply-add with -0 * 0, the form that sm_80 has."""
    t = i.sig.types[0]
    a = half_src(ctx, i.ops[1], t) | (NEG if i.sig.name == "neg" else ABS)
    if _bf16(t):
        zero = with_suffix(RZ, S_H0_H0)
        d = ctx.b.r("HFMA2.BF16_V2" + sat_mods(i.sig.mods), zero | NEG, zero, a)
    else:
        d = ctx.b.r("HADD2" + sat_mods(i.sig.mods), a, neg_zero_half())
    ctx.write(i.ops[0], d)


@lowers("min", "max", types="f16,bf16")
def minmax(ctx: Ctx, i: Instr) -> None:
    """Minimum and maximum with ``.ftz``, ``.NaN``, ``.xorsign.abs``."""
    t = i.sig.types[0]
    mods = i.sig.mods
    if len(i.ops) != 3:
        raise ctx.unsupported(f"Three-input '{i.sig.text}'")
    name = "HMNMX2" + _bf16(t) + (".FTZ" if "ftz" in mods else "") + (".NAN" if "NaN" in mods else "")
    a, b = half_src(ctx, i.ops[1], t), half_src(ctx, i.ops[2], t)
    if "xorsign" in mods:
        name += ".XORSIGN"
        # .XORSIGN needs the sign, which the absolute value of an immediate would lose.
        a, b = in_register(ctx, a) | ABS, in_register(ctx, b) | ABS
    ctx.write(i.ops[0], ctx.b.r(name, a, b, PT if i.sig.name == "min" else NOT_PT))


@lowers("ex2", "tanh", types="f16,bf16")
def mufu(ctx: Ctx, i: Instr) -> None:
    """``ex2.approx`` and ``tanh.approx``: one MUFU per half."""
    t = i.sig.types[0]
    name = f"MUFU.{i.sig.name.upper()}.{'BF16' if _bf16(t) else 'F16'}"
    a = in_register(ctx, ctx.src(i.ops[1], t))
    lo = ctx.b.r(name, a)
    if t.endswith("x2"):
        hi = ctx.b.r(name, with_suffix(a, S_H1))
        lo = ctx.b.r("PRMT", lo, imm(0x5410), hi)
    ctx.write(i.ops[0], lo)
