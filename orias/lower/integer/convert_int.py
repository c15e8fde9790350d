"""``cvt`` between integer types, with and without ``.sat``."""

from orias.isa.operand import K_R, NOT_PT, PT, RZ, Opnd, imm, imm64, in_file
from orias.lower.float.fp import select64
from orias.lower.frame.context import Ctx
from orias.lower.integer.widen import INT_BITS, extend, is_signed
from orias.ptx.ast import Instr

_INVERT = PT ^ NOT_PT
_MAX_S32 = 0x7FFFFFFF
_MAX_S64 = 0x7FFFFFFFFFFFFFFF


def int_to_int(ctx: Ctx, i: Instr, d: str, s: str) -> None:
    """Truncate, extend or saturate integer type `s` to `d`, and extend the result to the destination register."""
    a = ctx.src(i.ops[1], s)
    wide = INT_BITS[d] == 64
    if INT_BITS[s] == 64:
        if wide:
            ctx.write(i.ops[0], _saturate_64_to_64(ctx, a, d, s) if "sat" in i.sig.mods else a)
            return
        word = ctx.lo(a)
        if "sat" in i.sig.mods:
            word = _saturate_32(ctx, _narrow_64(ctx, a, d, s), d, "s32" if is_signed(s) and is_signed(d) else "u32")
    elif "sat" in i.sig.mods:
        word = _saturate_32(ctx, extend(ctx, a, s), d, "s32" if is_signed(s) else "u32")
    else:
        word = extend(ctx, a, s) if INT_BITS[s] < INT_BITS[d] else a
        if wide:
            ctx.write(i.ops[0], ctx.b.r("sext64", word, width=2) if is_signed(s) else ctx.b.pack(word, imm(0)))
            return
    if wide:
        # A saturated signed source is not negative here; an unsigned source is below 2**32.
        ctx.write(i.ops[0], ctx.b.pack(word, imm(0)))
        return
    bits = ctx.reg_bits(i.ops[0])
    if INT_BITS[d] < 32 and (bits > INT_BITS[d] or INT_BITS[d] == 8):
        word = extend(ctx, word, d)
    if bits == 64 and is_signed(d):
        word = ctx.b.r("sext64", word, width=2)
    ctx.write(i.ops[0], word)


def _clamp_high(ctx: Ctx, word: Opnd, limit: int, signed: bool) -> Opnd:
    p = ctx.b.setp("ISETP.GT.AND" if signed else "ISETP.GT.U32.AND", word, imm(limit), PT)
    return ctx.b.r("SEL", word, imm(limit), p ^ _INVERT)


def _clamp_low(ctx: Ctx, word: Opnd, limit: int) -> Opnd:
    p = ctx.b.setp("ISETP.LT.AND", word, imm(limit), PT)
    return ctx.b.r("SEL", word, imm(limit), p ^ _INVERT)


def clamp(ctx: Ctx, word: Opnd, low: int, high: int) -> Opnd:
    """A signed word clamped to [low, high]."""
    return _clamp_high(ctx, _clamp_low(ctx, word, low), high, True)


def _saturate_32(ctx: Ctx, word: Opnd, d: str, source: str) -> Opnd:
    """A word of type `source` (s32 or u32), clamped to the range of `d` (8 to 64 bits)."""
    bits = INT_BITS[d]
    if source == "s32":
        if bits < 32 and in_file(word, K_R):
            return ctx.b.r(f"I2I.{d.upper()}.S32.SAT", word)
        if not is_signed(d):
            word = _clamp_low(ctx, word, 0)
            return word if bits >= 32 else _clamp_high(ctx, word, (1 << bits) - 1, True)
        if bits < 32:
            word = clamp(ctx, word, -(1 << (bits - 1)), (1 << (bits - 1)) - 1)
        return word
    top = bits - 1 if is_signed(d) else bits
    return word if top >= 32 else _clamp_high(ctx, word, (1 << top) - 1, False)


def _narrow_64(ctx: Ctx, a: Opnd, d: str, s: str) -> Opnd:
    """A 64-bit integer saturated to one word: to u32, or to s32 if both types are signed."""
    b = ctx.b
    lo = ctx.lo(a)
    hi = ctx.hi(a)
    if is_signed(s) and is_signed(d):
        sign = b.r("SHF.R.S32.HI", RZ, imm(31), hi)
        limit = b.r("LOP3.LUT", sign, imm(_MAX_S32), RZ, imm(0x3C), NOT_PT)
        fits = b.setp("ISETP.EQ.U32.AND", b.r("SHF.R.S32.HI", RZ, imm(31), lo), hi, PT)
        return b.r("SEL", lo, limit, fits)
    over = b.setp("ISETP.NE.U32.AND", hi, RZ, PT)
    word = b.r("SEL", imm(0xFFFFFFFF), lo, over)
    if is_signed(s):
        negative = b.setp("ISETP.LT.AND", hi, RZ, PT)
        word = b.r("SEL", RZ, word, negative)
    return word


def _saturate_64_to_64(ctx: Ctx, a: Opnd, d: str, s: str) -> Opnd:
    """s64 to u64 (negative gives 0) or u64 to s64 (too large gives the maximum)."""
    if d[0] == s[0]:
        return a
    top = ctx.b.setp("ISETP.LT.AND", ctx.hi(a), RZ, PT)
    return select64(ctx, imm64(0 if is_signed(s) else _MAX_S64), a, top)
