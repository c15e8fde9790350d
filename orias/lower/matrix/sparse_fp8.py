"""mma.sp of 8-bit floats on sm_90, which has no operation for it: two sparse products of f16.

Lane t holds the kept factors of the groups (of four k) 2t and 2t + 1.  The f16 operation reads those of the groups t
and t + 4, and half of each group of B from the neighbouring lane.  The groups are therefore numbered in the order 0 2 4
6 1 3 5 7, neighbouring lanes exchange halves of B, and the nibbles of the metadata are sorted to match.  ptxas 13.0.88
does the same with other instructions.
"""

from orias.isa.operand import NOT_PT, PT, RZ, S_H1, Opnd, imm, is_reg, with_suffix, word
from orias.lower.frame.context import Ctx


def halves(ctx: Ctx, x: Opnd, type_: str) -> tuple[Opnd, Opnd]:
    """The lower two and the upper two of four 8-bit floats, as words of two f16."""
    x = x if is_reg(x) else ctx.b.copy(x)
    name = f"F2FP.F16.{type_.upper()}.UNPACK_B"
    return ctx.b.r(name, x), ctx.b.r(name, with_suffix(x, S_H1))


def _neighbour(ctx: Ctx, value: Opnd) -> Opnd:
    d = ctx.fn.new_vreg()
    ctx.b.emit("SHFL.BFLY", [d, PT], [value, imm(1), imm(0x1F)], ctx.guard)
    return d


def _even_nibbles(ctx: Ctx, x: Opnd) -> Opnd:
    """Nibbles 0, 2, 4, 6 of a word, in its lower half."""
    emit = ctx.b.r
    x = emit("LOP3.LUT", x, imm(0x0F0F0F0F), RZ, imm(0xC0), NOT_PT)
    shifted = emit("SHF.R.U32.HI", RZ, imm(4), x)
    x = emit("LOP3.LUT", x, shifted, RZ, imm(0xFC), NOT_PT)
    return emit("PRMT", x, imm(0x4420), RZ)


def rearranged(
    ctx: Ctx, a: list[Opnd], b: list[Opnd], meta: Opnd, types: tuple[str, str]
) -> tuple[list[list[Opnd]], list[list[Opnd]], Opnd]:
    """A and B of the two m16n8k32 products of f16 (selectors 0 and 1) and their metadata."""
    emit = ctx.b.r
    lane = emit("S2R", word("SR_LANEID"))
    low_bit = emit("LOP3.LUT", lane, imm(1), RZ, imm(0xC0), NOT_PT)
    odd = ctx.b.setp("ISETP.NE.U32.AND", low_bit, RZ, PT)
    left, right = [], []
    for j in (0, 2):
        (g_low, g_high), (h_low, h_high) = halves(ctx, a[j], types[0]), halves(ctx, a[j + 1], types[0])
        left.append([g_low, h_low, g_high, h_high])
        firsts, seconds = [], []
        for x in b[j : j + 2]:
            low, high = halves(ctx, x, types[1])
            other = _neighbour(ctx, emit("SEL", low, high, odd))
            firsts.append(emit("SEL", other, low, odd))
            seconds.append(emit("SEL", high, other, odd))
        right.append(firsts + seconds)
    meta = meta if is_reg(meta) else ctx.b.copy(meta)
    evens = _even_nibbles(ctx, meta)
    odds = _even_nibbles(ctx, emit("SHF.R.U32.HI", RZ, imm(4), meta))
    other = _neighbour(ctx, emit("SEL", evens, odds, odd))
    first, second = emit("SEL", other, evens, odd), emit("SEL", odds, other, odd)
    return left, right, emit("PRMT", first, imm(0x5410), second)
