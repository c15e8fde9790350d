"""IEEE division, reciprocal and square root: a fast path inline, the rest in a subroutine (``builtins/*.ptx``).

The fast paths are ptxas's (``docs/facts/arithmetic.md``, "Division and roots") with one change.  Reciprocals and square
roots with directed rounding take one more Newton step: the last step, which rounds, then starts from the correctly
rounded value and is right whatever the last bit of MUFU is.  ``tests/lower_math/test_models.py`` holds a numeric model
of each sequence.
"""

from typing import Final

from orias.isa.operand import ABS, INV, K_R, NEG, NOT_PT, PT, RZ, Opnd, imm, imm64, imm_value, in_file, is_imm
from orias.lower.builtins.symbols import float_symbol
from orias.lower.float.approx import div_approx, in_register, rcp64_seed, rcp_approx, sqrt_approx
from orias.lower.float.fp import ONE_F32, ONE_F64, RND, sat_mods
from orias.lower.frame.context import Ctx
from orias.lower.frame.registry import lowers
from orias.ptx.ast import Instr
from orias.semantics import ieee
from orias.semantics.floats import ROUNDINGS
from orias.semantics.ieee import F32, F64, Format

MODE: Final[dict[str, int]] = {"rn": 0, "rz": 1, "rm": 2, "rp": 3}
"""Rounding mode argument of the subroutines."""


def _or_call(ctx: Ctx, i: Instr, slow: Opnd, fast: Opnd, width: int, helper: str, args: list[Opnd]) -> Opnd:
    """`fast`, or the subroutine's result where the predicate `slow` holds."""
    result = ctx.temp(width)
    ctx.set(result, fast, width)
    cold = ctx.new_block()
    join = ctx.new_block()
    ctx.branch(slow, cold, join)
    cold.cold = True
    ctx.start(cold)
    ctx.set(result, _call(ctx, i, helper, args, width), width)
    ctx.jump(join)
    ctx.start(join)
    return ctx.get(result)


def _call(ctx: Ctx, i: Instr, helper: str, args: list[Opnd], width: int) -> Opnd:
    """The subroutine's result; f64 immediates go to registers first."""
    words = [ctx.b.copy(a, 2) if is_imm(a) and imm_value(a) >> 32 else a for a in args]
    return ctx.call_helper(helper, words, width, float_symbol(i))


def _pair(ctx: Ctx, o: Opnd) -> Opnd:
    return o if in_file(o, K_R) else ctx.b.copy(o, 2)


def _constant(ctx: Ctx, i: Instr, f: Format) -> Opnd | None:
    """The exact result as an immediate, or None unless all operands are constants and no function is called for them."""
    if ctx.options.helpers_apart:
        return None
    ftz = "ftz" in i.sig.mods
    values = []
    for o in i.ops[1:]:
        v = ctx.constant(ctx.src(o, i.sig.types[0]))
        if v is None:
            return None
        values.append(ieee.flush(f, v) if ftz else v)
    mode = ROUNDINGS[i.sig.mods["rnd"].upper()]
    if i.sig.name == "sqrt":
        result = ieee.sqrt(f, values[0], mode)
    else:
        result = ieee.div(f, values[0] if len(values) > 1 else f.one, values[-1], mode)
    result = ieee.finish(f, result, ftz, False)
    return imm64(result) if f is F64 else imm(result)


def _multiplied(ctx: Ctx, i: Instr, f: Format, a: Opnd, b: Opnd) -> bool:
    """Write a division by a power of two as a product, which rounds the same; False if the reciprocal is not normal.

    Not where ptxas calls a function for every division.
    """
    if ctx.options.helpers_apart:
        return False
    divisor = ctx.constant(b)
    if divisor is None or divisor & (f.min_normal - 1):
        return False
    reciprocal = ieee.div(f, f.one, divisor)
    if ieee.flush(f, divisor) & f.magnitude in (0, f.inf) or reciprocal & f.inf in (0, f.inf):
        return False
    name = ("DMUL" if f is F64 else "FMUL") + sat_mods(i.sig.mods)
    ctx.write(i.ops[0], ctx.b.r(name, a, imm64(reciprocal) if f is F64 else imm(reciprocal), width=f.bits // 32))
    return True


def _ftz(i: Instr) -> str:
    return "_ftz" if "ftz" in i.sig.mods else ""


@lowers("div", types="f32")
def div32(ctx: Ctx, i: Instr) -> None:
    """``div.f32``; FCHK says whether the fast path of ``.rn`` is safe; directed roundings always call a subroutine."""
    rnd = i.sig.mods["rnd"]
    if rnd not in MODE:
        div_approx(ctx, i)
        return
    result = _constant(ctx, i, F32)
    if result is not None:
        ctx.write(i.ops[0], result)
        return
    if _multiplied(ctx, i, F32, ctx.src(i.ops[1], "f32"), ctx.src(i.ops[2], "f32")):
        return
    ctx.begin_guarded()
    a = in_register(ctx, ctx.src(i.ops[1], "f32"))
    b = in_register(ctx, ctx.src(i.ops[2], "f32"))
    if rnd != "rn":
        ctx.write(i.ops[0], _call(ctx, i, "div_f32" + _ftz(i), [a, b, imm(MODE[rnd])], 1))
        ctx.end_guarded()
        return
    e = ctx.b
    r = e.r("MUFU.RCP", b)
    unsafe = e.pred("FCHK", a, b)
    r = e.r("FFMA", r, e.r("FFMA", b | NEG, r, imm(ONE_F32)), r)
    q = e.r("FFMA", a, r, RZ)
    q = e.r("FFMA", r, e.r("FFMA", b | NEG, q, a), q)
    ctx.write(i.ops[0], _or_call(ctx, i, unsafe, q, 1, "div_rn_f32" + _ftz(i), [a, b]))
    ctx.end_guarded()


@lowers("rcp", types="f32")
def rcp32(ctx: Ctx, i: Instr) -> None:
    """``rcp.f32``; the slow path of the directed roundings is the division of 1 by the operand."""
    rnd = i.sig.mods["rnd"]
    if rnd not in MODE:
        rcp_approx(ctx, i)
        return
    result = _constant(ctx, i, F32)
    if result is not None:
        ctx.write(i.ops[0], result)
        return
    ctx.begin_guarded()
    b = in_register(ctx, ctx.src(i.ops[1], "f32"))
    e = ctx.b
    # Safe: biased exponents 1 to 252, where MUFU.RCP and the result are normal numbers.
    field = e.r("LOP3.LUT", e.r("IADD3", b, imm(0x1800000), RZ), imm(0x7F800000), RZ, imm(0xC0), NOT_PT)
    unsafe = e.setp("ISETP.LE.U32.AND", field, imm(0x1FFFFFF), PT)
    seed = e.r("MUFU.RCP", b)
    r = seed
    steps = 1 if rnd == "rn" else 2
    for k in range(steps):
        err = e.r("FFMA", b | NEG, r, imm(ONE_F32))
        r = e.r("FFMA" + (RND[rnd] if k == steps - 1 else ""), r, err, r)
    if "ftz" in i.sig.mods and ctx.options.helpers_apart:
        r = _or_call(ctx, i, unsafe, r, 1, "rcp_f32_ftz", [b])
    elif "ftz" in i.sig.mods:
        # Where the fast path is unsafe, the result is infinite, zero, NaN or exactly 2**-126: MUFU.RCP gives it.
        r = e.r("FSEL", seed, r, unsafe)
    elif rnd == "rn":
        r = _or_call(ctx, i, unsafe, r, 1, "rcp_rn_f32", [b])
    else:
        r = _or_call(ctx, i, unsafe, r, 1, "div_f32", [imm(ONE_F32), b, imm(MODE[rnd])])
    ctx.write(i.ops[0], r)
    ctx.end_guarded()


@lowers("sqrt", types="f32")
def sqrt32(ctx: Ctx, i: Instr) -> None:
    """``sqrt.f32``."""
    rnd = i.sig.mods["rnd"]
    if rnd not in MODE:
        sqrt_approx(ctx, i)
        return
    result = _constant(ctx, i, F32)
    if result is not None:
        ctx.write(i.ops[0], result)
        return
    ctx.begin_guarded()
    x = in_register(ctx, ctx.src(i.ops[1], "f32"))
    e = ctx.b
    # Safe: from 2**-101 up to the largest number, where no intermediate result is subnormal.
    unsafe = e.setp("ISETP.GT.U32.AND", e.r("IADD3", x, imm(-0x0D000000), RZ), imm(0x727FFFFF), PT)
    r = e.r("MUFU.RSQ", x)
    g = e.r("FMUL.FTZ", x, r)
    h = e.r("FMUL.FTZ", r, imm(0x3F000000))
    if rnd != "rn":
        g = e.r("FFMA", e.r("FFMA", g | NEG, g, x), h, g)
    g = e.r("FFMA" + RND[rnd], e.r("FFMA", g | NEG, g, x), h, g)
    args = [x] if rnd == "rn" else [x, imm(MODE[rnd])]
    ctx.write(i.ops[0], _or_call(ctx, i, unsafe, g, 1, ("sqrt_rn_f32" if rnd == "rn" else "sqrt_f32") + _ftz(i), args))
    ctx.end_guarded()


@lowers("div", types="f64")
def div64(ctx: Ctx, i: Instr) -> None:
    """``div.f64``; only ``.rn`` has a fast path."""
    rnd = i.sig.mods["rnd"]
    result = _constant(ctx, i, F64)
    if result is not None:
        ctx.write(i.ops[0], result)
        return
    if _multiplied(ctx, i, F64, ctx.src(i.ops[1], "f64"), ctx.src(i.ops[2], "f64")):
        return
    ctx.begin_guarded()
    a = _pair(ctx, ctx.src(i.ops[1], "f64"))
    b = _pair(ctx, ctx.src(i.ops[2], "f64"))
    if rnd != "rn":
        ctx.write(i.ops[0], _call(ctx, i, "div_f64", [a, b, imm(MODE[rnd])], 2))
        ctx.end_guarded()
        return
    e = ctx.b
    r = _newton64(ctx, b, e.pack(imm(1), e.r("MUFU.RCP64H", ctx.hi(b))))
    q = e.r("DMUL", a, r, width=2)
    q = e.r("DFMA", r, e.r("DFMA", b | NEG, q, a, width=2), q, width=2)
    # Safe: |a| >= 2**-969, a normal quotient, and |b| < 2**1017 (above, b.hi as an f32 is no number and 0 * b.hi is
    # NaN).
    safe = e.setp("FSETP.GEU.AND", ctx.hi(a) | ABS, imm(0x03600000), PT)
    top = e.r("FFMA", RZ, ctx.hi(b), ctx.hi(q))
    safe = e.setp("FSETP.GT.AND", top | ABS, imm(0x00100000), safe)
    ctx.write(i.ops[0], _or_call(ctx, i, safe ^ INV, q, 2, "div_rn_f64", [a, b]))
    ctx.end_guarded()


def _newton64(ctx: Ctx, b: Opnd, r: Opnd) -> Opnd:
    """1/b within one or two units in the last place, from the seed `r` of MUFU.RCP64H."""
    e = ctx.b
    one = imm64(ONE_F64)
    err = e.r("DFMA", b | NEG, r, one, width=2)
    err = e.r("DFMA", err, err, err, width=2)
    r = e.r("DFMA", r, err, r, width=2)
    return e.r("DFMA", r, e.r("DFMA", b | NEG, r, one, width=2), r, width=2)


@lowers("rcp", types="f64")
def rcp64(ctx: Ctx, i: Instr) -> None:
    """``rcp.f64``; only ``.rn`` has a fast path, the other roundings are the division of 1 by the operand."""
    rnd = i.sig.mods["rnd"]
    if rnd not in MODE:
        rcp64_seed(ctx, "MUFU.RCP64H", i)
        return
    result = _constant(ctx, i, F64)
    if result is not None:
        ctx.write(i.ops[0], result)
        return
    ctx.begin_guarded()
    b = _pair(ctx, ctx.src(i.ops[1], "f64"))
    if rnd != "rn":
        ctx.write(i.ops[0], _call(ctx, i, "div_f64", [imm64(ONE_F64), b, imm(MODE[rnd])], 2))
        ctx.end_guarded()
        return
    e = ctx.b
    # The low word of the seed is also the safety test: biased exponents of b from 1 to 2044 pass.
    low = e.r("IADD3", ctx.hi(b), imm(0x300402), RZ)
    safe = e.setp("FSETP.GEU.AND", low | ABS, imm(0x00400402), PT)
    r = _newton64(ctx, b, e.pack(low, e.r("MUFU.RCP64H", ctx.hi(b))))
    ctx.write(i.ops[0], _or_call(ctx, i, safe ^ INV, r, 2, "rcp_rn_f64", [b]))
    ctx.end_guarded()


def _rsqrt64(ctx: Ctx, x: Opnd, low: Opnd) -> Opnd:
    """1/sqrt(x) within a few last bits: one cubic step from MUFU.RSQ64H, with `low` as the low word of the seed."""
    e = ctx.b
    r = e.pack(low, e.r("MUFU.RSQ64H", ctx.hi(x)))
    err = e.r("DFMA", x, e.r("DMUL", r, r, width=2) | NEG, imm64(ONE_F64), width=2)
    h = e.r("DFMA", err, imm64(0x3FD8000000000000), imm64(0x3FE0000000000000), width=2)
    return e.r("DFMA", h, e.r("DMUL", r, err, width=2), r, width=2)


@lowers("sqrt", types="f64")
def sqrt64(ctx: Ctx, i: Instr) -> None:
    """``sqrt.f64``; only ``.rn`` has a fast path."""
    rnd = i.sig.mods["rnd"]
    result = _constant(ctx, i, F64)
    if result is not None:
        ctx.write(i.ops[0], result)
        return
    ctx.begin_guarded()
    x = _pair(ctx, ctx.src(i.ops[1], "f64"))
    if rnd != "rn":
        ctx.write(i.ops[0], _call(ctx, i, "sqrt_f64", [x, imm(MODE[rnd])], 2))
        ctx.end_guarded()
        return
    e = ctx.b
    low = e.r("IADD3", ctx.hi(x), imm(-0x3500000), RZ)
    unsafe = e.setp("ISETP.GE.U32.AND", low, imm(0x7CA00000), PT)
    r = _rsqrt64(ctx, x, low)
    g = e.r("DMUL", x, r, width=2)
    half = e.pack(ctx.lo(r), e.r("IADD3", ctx.hi(r), imm(-0x100000), RZ))
    g = e.r("DFMA", e.r("DFMA", g, g | NEG, x, width=2), half, g, width=2)
    ctx.write(i.ops[0], _or_call(ctx, i, unsafe, g, 2, "sqrt_rn_f64", [x]))
    ctx.end_guarded()


@lowers("rsqrt", types="f64")
def rsqrt64(ctx: Ctx, i: Instr) -> None:
    """``rsqrt.approx.f64`` and its ``.ftz`` form, which is the seed alone."""
    if "ftz" in i.sig.mods:
        rcp64_seed(ctx, "MUFU.RSQ64H", i)
        return
    ctx.begin_guarded()
    x = _pair(ctx, ctx.src(i.ops[1], "f64"))
    shifted = ctx.b.r("IADD3", ctx.hi(x), imm(-0x100000), RZ)
    unsafe = ctx.b.setp("ISETP.GE.U32.AND", shifted, imm(0x7FE00000), PT)
    r = _rsqrt64(ctx, x, imm(0))
    ctx.write(i.ops[0], _or_call(ctx, i, unsafe, r, 2, "rsqrt_f64", [x]))
    ctx.end_guarded()
