"""Shared by floating-point handlers: modifier texts, negation of any operand, half-precision operands, saturation."""

from typing import Final

from orias.isa.operand import K_P, NEG, NOT_PT, PT, RZ, S_H0_H0, Opnd, imm, imm64, imm_value, is_imm, with_suffix
from orias.lower.frame.context import Ctx
from orias.ori.ir import Inst
from orias.ptx.ast import Operand

RND: Final[dict[str, str]] = {"": "", "rn": "", "rz": ".RZ", "rm": ".RM", "rp": ".RP"}
"""PTX rounding of a result -> SASS modifier (nearest even prints nothing)."""

RND_INT: Final[dict[str, str]] = {"": "", "rni": "", "rzi": ".TRUNC", "rmi": ".FLOOR", "rpi": ".CEIL"}
"""PTX rounding to an integral value -> SASS modifier of F2I and FRND."""

ONE_F32: Final = 0x3F800000
ONE_F64: Final = 0x3FF0000000000000
MIN_NORMAL_F32: Final = 0x00800000


def sat_mods(mods: dict[str, str]) -> str:
    """The ``.FTZ``, rounding and ``.SAT`` modifiers in printed order."""
    text = ".FTZ" if "ftz" in mods else ""
    text += RND[mods.get("rnd", "")]
    return text + ".SAT" if "sat" in mods else text


def neg32(o: Opnd) -> Opnd:
    """The f32 operand negated."""
    return imm(imm_value(o) ^ 0x80000000) if is_imm(o) else o ^ NEG


def neg64(o: Opnd) -> Opnd:
    """The f64 operand negated."""
    return imm64(imm_value(o) ^ 1 << 63) if is_imm(o) else o ^ NEG


def half_src(ctx: Ctx, o: Operand, type_: str) -> Opnd:
    """Source of a half-precision operation: the low half of a f16 or bf16 register, the whole word of a packed one."""
    value = ctx.src(o, type_)
    if type_.endswith("x2"):
        return value
    if is_imm(value):
        half = imm_value(value) & 0xFFFF
        return imm(half | half << 16)
    return with_suffix(value, S_H0_H0)


def neg_half(o: Opnd) -> Opnd:
    """The half-precision operand negated (both halves)."""
    return imm(imm_value(o) ^ 0x80008000) if is_imm(o) else o ^ NEG


def neg_zero_half() -> Opnd:
    """``-RZ.H0_H0``, the neutral addend of half-precision additions."""
    return with_suffix(RZ, S_H0_H0) | NEG


def op1(ctx: Ctx, name: str, src: list[Opnd], width: int = 1) -> tuple[Opnd, Inst]:
    """Emit an operation with one new register as its result; returns the result and the instruction."""
    d = ctx.fn.new_vreg(width=width)
    return d, ctx.b.emit(name, [d], src)


def result_op(ctx: Ctx, name: str, src: list[Opnd], width: int, contract: bool) -> Opnd:
    """Emit an operation; `contract` marks it as free to fuse into a multiply-add."""
    d, inst = op1(ctx, name, src, width)
    if contract:
        ctx.fn.contract.add(inst.uid)
    return d


def ftz32(ctx: Ctx, value: Opnd) -> Opnd:
    """The f32 value; a subnormal becomes a zero of the same sign."""
    return ctx.b.r("FADD.FTZ", value, RZ | NEG)


def sat32(ctx: Ctx, value: Opnd, ftz: bool = False) -> Opnd:
    """The f32 value clamped to [0, 1], NaN to 0."""
    return ctx.b.r("FADD.FTZ.SAT" if ftz else "FADD.SAT", RZ, value)


def sat_half(ctx: Ctx, value: Opnd) -> Opnd:
    """The f16 value (low half) clamped to [0, 1], NaN to 0."""
    return ctx.b.r("HADD2.SAT", with_suffix(value, S_H0_H0), neg_zero_half())


def select64(ctx: Ctx, a: Opnd, b: Opnd, pred: Opnd) -> Opnd:
    """``pred ? a : b`` of 64-bit values."""
    return ctx.b.pack(ctx.b.r("SEL", ctx.lo(a), ctx.lo(b), pred), ctx.b.r("SEL", ctx.hi(a), ctx.hi(b), pred))


def minmax64(ctx: Ctx, name: str, a: Opnd, b: Opnd) -> Opnd:
    """f64 minimum (``DSETP.MIN.AND``) or maximum of two values.

    The first predicate selects `a`.  The second says that both values are NaN; the result is then `b` made quiet.
    The sequence is the one of ptxas 13.0.88 for min.f64 and max.f64.
    """
    use_a = ctx.fn.new_vreg(K_P)
    both_nan = ctx.fn.new_vreg(K_P)
    ctx.b.emit(name, [use_a, both_nan], [a, b, PT])
    lo = ctx.b.r("SEL", ctx.lo(a), ctx.lo(b), use_a)
    hi = ctx.b.r("SEL", ctx.hi(a), ctx.hi(b), use_a)
    quiet = ctx.fn.new_vreg()
    ctx.b.emit("LOP3.LUT", [quiet], [ctx.hi(b), imm(0x80000), RZ, imm(0xFC), NOT_PT], both_nan, hi)
    return ctx.b.pack(lo, quiet)


def sat64(ctx: Ctx, value: Opnd) -> Opnd:
    """The f64 value clamped to [0, 1], NaN to 0."""
    positive = ctx.fn.new_vreg(K_P)
    ctx.b.emit("DSETP.MAX.AND", [positive, PT], [RZ, value, PT])
    value = select64(ctx, imm64(0), value, positive)
    small = ctx.fn.new_vreg(K_P)
    ctx.b.emit("DSETP.MIN.AND", [small, PT], [value, imm64(ONE_F64), PT])
    return select64(ctx, value, imm64(ONE_F64), small)
