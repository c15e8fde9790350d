"""Single-precision arithmetic: add sub mul fma mad neg abs min max testp copysign.

Forms measured with ptxas 13.0.88 for sm_75 to sm_121.
"""

from typing import Final

from orias.isa.operand import ABS, K_R, NEG, NOT_PT, PT, RZ, Opnd, imm, imm_value, in_file, is_imm
from orias.lower.float.approx import in_register
from orias.lower.float.fp import neg32, result_op, sat_mods
from orias.lower.frame.context import Ctx
from orias.lower.frame.registry import lowers
from orias.ptx.ast import Instr
from orias.target import features

ABS_MASK = 0x7FFFFFFF
INF = 0x7F800000


@lowers("add", "sub", types="f32")
def add(ctx: Ctx, i: Instr) -> None:
    """``add.f32`` and ``sub.f32``."""
    a = ctx.src(i.ops[1], "f32")
    b = ctx.src(i.ops[2], "f32")
    if i.sig.name == "sub":
        b = neg32(b)
    ctx.write(i.ops[0], result_op(ctx, "FADD" + sat_mods(i.sig.mods), [a, b], 1, "rnd" not in i.sig.mods))


_PACKED: Final[dict[str, str]] = {"add": "FADD", "sub": "FADD", "mul": "FMUL", "fma": "FFMA"}


@lowers("add", "sub", "mul", "fma", types="f32x2")
def packed(ctx: Ctx, i: Instr) -> None:
    """Arithmetic of two f32: one operation on pairs of registers, or one for each of the two."""
    name, mods = _PACKED[i.sig.name], sat_mods(i.sig.mods)
    minus = i.sig.name == "sub"
    src = [ctx.src(o, "b64") for o in i.ops[1:]]
    if ctx.target.has(features.PACKED_FLOATS):
        pairs = [o if in_file(o, K_R) else ctx.b.copy(o, 2) for o in src]
        if minus:
            pairs[1] |= NEG
        ctx.write(i.ops[0], ctx.b.r(name + "2" + mods + ".F32x2.HI_LO" * len(src), *pairs, width=2))
        return
    words: list[Opnd] = []
    for part in (ctx.lo, ctx.hi):
        values = [part(o) for o in src]
        if minus:
            values[1] = neg32(values[1])
        words.append(ctx.b.r(name + mods, *values))
    ctx.write(i.ops[0], ctx.b.pack(*words))


@lowers("mul", types="f32")
def mul(ctx: Ctx, i: Instr) -> None:
    """``mul.f32``."""
    src = [ctx.src(o, "f32") for o in i.ops[1:3]]
    ctx.write(i.ops[0], result_op(ctx, "FMUL" + sat_mods(i.sig.mods), src, 1, "rnd" not in i.sig.mods))


@lowers("fma", "mad", types="f32")
def fma(ctx: Ctx, i: Instr) -> None:
    """``fma.f32`` and ``mad.f32``, which is also fused on these targets."""
    src = [ctx.src(o, "f32") for o in i.ops[1:4]]
    ctx.write(i.ops[0], ctx.b.r("FFMA" + sat_mods(i.sig.mods), *src))


@lowers("neg", "abs", types="f32")
def neg_abs(ctx: Ctx, i: Instr) -> None:
    """``neg.f32`` and ``abs.f32``; ``.ftz`` flushes."""
    flag = NEG if i.sig.name == "neg" else ABS
    a = ctx.src(i.ops[1], "f32")
    ctx.write(i.ops[0], ctx.b.r("FADD" + sat_mods(i.sig.mods), a | flag, RZ | NEG))


@lowers("min", "max", types="f32")
def minmax(ctx: Ctx, i: Instr) -> None:
    """``min.f32`` and ``max.f32`` with ``.ftz``, ``.NaN``, ``.xorsign.abs``; of three values with ``.abs`` too."""
    mods = i.sig.mods
    flags = (".FTZ" if "ftz" in mods else "") + (".NAN" if "NaN" in mods else "")
    least = PT if i.sig.name == "min" else NOT_PT
    src = [ctx.src(o, "f32") for o in i.ops[1:]]
    if "xorsign" in mods:
        # .XORSIGN needs the sign, which the absolute value of an immediate would lose.
        src = [in_register(ctx, o) | ABS for o in src]
        flags += ".XORSIGN"
    elif "abs" in mods:
        src = [imm(imm_value(o) & ABS_MASK) if is_imm(o) else o | ABS for o in src]
    if len(src) == 3 and ctx.target.has(features.THREE_WAY_MIN_MAX):
        ctx.write(i.ops[0], ctx.b.r("FMNMX3" + flags, *src, least))
        return
    value = src[0]
    for o in src[1:]:
        value = ctx.b.r("FMNMX" + flags, value, o, least)
    ctx.write(i.ops[0], value)


@lowers("copysign", types="f32")
def copysign(ctx: Ctx, i: Instr) -> None:
    """``copysign.f32 d, a, b``: the magnitude of b with the sign of a."""
    a = ctx.src(i.ops[1], "f32")
    b = ctx.src(i.ops[2], "f32")
    ctx.write(i.ops[0], ctx.b.r("LOP3.LUT", b, imm(0x80000000), a, imm(0xB8), NOT_PT))


@lowers("testp", types="f32")
def testp(ctx: Ctx, i: Instr) -> None:
    """``testp.f32``; like ptxas, ``normal`` holds for zero, and without a test the result is unspecified."""
    if "op" not in i.sig.mods:
        return
    a = ctx.src(i.ops[1], "f32")
    m = ctx.b.r("LOP3.LUT", a, imm(ABS_MASK), RZ, imm(0xC0), NOT_PT)
    ctx.write_pred(i.ops[0], _class_of(ctx, i.sig.mods["op"], m))


def _class_of(ctx: Ctx, what: str, m: Opnd) -> Opnd:
    """Predicate: the bit pattern `m` without sign belongs to the class `what`."""
    b = ctx.b
    if what == "finite":
        return b.setp("ISETP.LT.U32.AND", m, imm(INF), PT)
    if what == "infinite":
        return b.setp("ISETP.EQ.U32.AND", m, imm(INF), PT)
    if what == "number":
        return b.setp("ISETP.LE.U32.AND", m, imm(INF), PT)
    if what == "notanumber":
        return b.setp("ISETP.GT.U32.AND", m, imm(INF), PT)
    if what == "normal":
        finite = b.setp("ISETP.LT.U32.AND", m, imm(INF), PT)
        normal = b.setp("ISETP.GE.U32.AND", m, imm(0x800000), finite)
        return b.setp("ISETP.EQ.U32.OR", m, RZ, normal)
    assert what == "subnormal"
    small = b.setp("ISETP.LT.U32.AND", m, imm(0x800000), PT)
    return b.setp("ISETP.NE.U32.AND", m, RZ, small)
