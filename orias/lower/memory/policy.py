"""createpolicy: cache eviction policies as 64-bit values with an empty low word.

Fields of the high word, as in values of ptxas 13.0.88: bits 25 and 26 are the primary priority, bit 24 is set if the
secondary priority is evict_first, bit 28 is set.  Bits 20..23 of a fraction are its sixteenths minus one.  A range has
bit 27 set, log2 of its block size minus 12 in bits 20..23, the number of its first block in bits 12..18 and the number
of its blocks in bits 5..11.
"""

from typing import Final

from orias.isa.operand import NEG, NOT_PT, PT, RZ, Opnd, imm, imm_value, is_reg
from orias.lower.frame.context import Ctx
from orias.lower.frame.registry import lowers
from orias.lower.memory.bulk import place
from orias.ptx.ast import O_IMM, Instr

_PRIMARY: Final[dict[str, int]] = {
    "L2::evict_unchanged": 0, "L2::evict_first": 2, "L2::evict_last": 4, "L2::evict_normal": 6,
}  # fmt: skip
_FRACTION: Final = 0x10000000
_RANGE: Final = 0x18000000
_SIXTEEN: Final = 0x417FD70A
"""15.99 as f32: the factor by which ptxas multiplies a fraction."""


@lowers("createpolicy", types="int")
def lower_createpolicy(ctx: Ctx, i: Instr) -> None:
    """createpolicy.fractional, .range and .cvt."""
    mods = i.sig.mods
    mode = mods["mode"]
    if mode == "cvt":
        ctx.write(i.ops[0], ctx.src(i.ops[1], "b64"))
        return
    kind = _PRIMARY[mods.get("primary", "L2::evict_normal")] + (mods.get("secondary") == "L2::evict_first") << 24
    if mode == "range":
        _range(ctx, i, _RANGE | kind)
        return
    if len(i.ops) < 2:
        high: Opnd = ctx.b.copy(imm(_FRACTION | kind | 0xF00000))
    else:
        o = i.ops[1]
        fraction = ctx.src(o, "f32")
        if o.kind == O_IMM:
            fraction = ctx.b.copy(fraction)
        scaled = ctx.b.r("F2I.U32.TRUNC.NTZ", ctx.b.r("FMUL", fraction, imm(_SIXTEEN)))
        high = _field(ctx, scaled, 20, 0xF00000, imm(_FRACTION | kind))
    ctx.write(i.ops[0], ctx.b.pack(imm(0), high))


def _field(ctx: Ctx, value: Opnd, shift: int, mask: int, rest: Opnd) -> Opnd:
    """``value << shift & mask | rest``."""
    shifted = ctx.b.r("SHF.L.U32", value, imm(shift), RZ)
    if is_reg(rest):
        return ctx.b.r("LOP3.LUT", shifted, imm(mask), rest, imm(0xEA), NOT_PT)
    masked = ctx.b.r("LOP3.LUT", shifted, imm(mask), RZ, imm(0xC0), NOT_PT)
    return ctx.b.r("LOP3.LUT", masked, rest, RZ, imm(0xFC), NOT_PT)


def _exponent(ctx: Ctx, size: Opnd, known: int) -> Opnd:
    """log2 of the block size in bytes: at least 12, and large enough for 128 blocks to hold the range."""
    if known >= 0:
        return imm(max((known - 1).bit_length() - 7, 12))
    number = ctx.b.r(ctx.target.spelling("policy_size"), size)
    bits = ctx.b.r("F2I.U32.CEIL.NTZ", ctx.b.r("MUFU.LG2", number))
    e = ctx.b.r("IADD3", bits, imm(0xFFFFFFF9), RZ)
    return ctx.b.r("SEL", e, imm(12), ctx.b.setp("ISETP.GT.AND", e, imm(12), PT))


def _range(ctx: Ctx, i: Instr, kind: int) -> None:
    ctx.begin_guarded()
    start = place(ctx, i.ops[1], i.sig.mods.get("space", ""))
    primary, total = ctx.src(i.ops[2], "u32"), ctx.src(i.ops[3], "u32")
    known = i.ops[3].value & 0xFFFFFFFF if i.ops[3].kind == O_IMM else -1
    done = ctx.new_block()
    result = ctx.temp()
    if known == 0:
        ctx.set(result, imm(_RANGE))
        ctx.jump(done)
    else:
        if known < 0:
            ctx.set(result, imm(_RANGE))
            some = ctx.new_block()
            empty = ctx.b.setp("ISETP.EQ.U32.AND", total, RZ, PT)
            ctx.branch(empty, done, some)
            ctx.start(some)
        ctx.set(result, _blocks(ctx, start, primary, _exponent(ctx, total, known), kind))
        ctx.jump(done)
    ctx.start(done)
    ctx.end_guarded()
    ctx.write(i.ops[0], ctx.b.pack(imm(0), ctx.get(result)))


def _blocks(ctx: Ctx, start: Opnd, primary: Opnd, e: Opnd, kind: int) -> Opnd:
    b = ctx.b
    start = start if is_reg(start) else b.copy(start, 2)
    round_up = b.r("IADD3", b.r("SHF.L.U32", b.copy(imm(1)), e, RZ), imm(0xFFFFFFFF), primary)
    end = b.r("iadd64", start, b.pack(round_up, imm(0)), width=2)
    first = b.r("SHF.R.U64", ctx.lo(start), e, ctx.hi(start))
    last = b.r("SHF.R.U64", ctx.lo(end), e, ctx.hi(end))
    high = b.r("IADD3", b.r("SHF.R.U32.HI", RZ, e, ctx.hi(end)), b.r("SHF.R.U32.HI", RZ, e, ctx.hi(start)) | NEG, RZ)
    low = b.r("IADD3", last, first | NEG, RZ)
    borrow = b.setp("ISETP.LT.U32.AND", last, first, PT)
    high = b.r("SEL", b.r("IADD3", high, imm(0xFFFFFFFF), RZ), high, borrow)
    few = b.setp("ISETP.LT.U32.AND", low, imm(0x7F), b.setp("ISETP.EQ.U32.AND", high, RZ, PT))
    count = b.r("SEL", low, imm(0x7F), few)
    word = _field(ctx, count, 5, 0xFE0, imm(kind))
    word = _field(ctx, first, 12, 0x7F000, word)
    size = b.r("IADD3", e, imm(0xFFFFFFF4), RZ) if is_reg(e) else b.copy(imm(imm_value(e) - 12))
    return _field(ctx, size, 20, 0xF00000, word)
