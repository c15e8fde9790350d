"""Logic, shifts and bit fields."""

from typing import Final

from orias.isa.operand import INV, K_P, K_R, NEG, NOT_PT, PT, RZ, Opnd, imm, imm64, imm_value, is_imm
from orias.lower.frame.context import Ctx
from orias.lower.frame.registry import lowers
from orias.lower.integer.add_multiply import extend16, mask_sign, negated
from orias.lower.integer.widen import is_signed
from orias.ptx.ast import O_IMM, O_PAIR, O_SINK, TYPE_BITS, Instr

_LUT: Final[dict[str, int]] = {"and": 0xC0, "or": 0xFC, "xor": 0x3C}
_PLUT: Final[dict[str, int]] = {"and": 0x80, "or": 0xA8, "xor": 0x28}
"""The table of :func:`plop3` with a third input that is always true, as ptxas writes it."""


def lop3(ctx: Ctx, a: Opnd, b: Opnd, c: Opnd, lut: int) -> Opnd:
    """A LOP3.LUT of three words."""
    return ctx.b.r("LOP3.LUT", a, b, c, imm(lut), NOT_PT)


def plop3(ctx: Ctx, a: Opnd, b: Opnd, op: str) -> Opnd:
    """and, or, xor of two predicates."""
    return ctx.b.setp("PLOP3.LUT", a, b, PT, imm(_PLUT[op]), imm(0))


@lowers("and", "or", "xor", types="int")
def lower_logic(ctx: Ctx, i: Instr) -> None:
    """and, or, xor of 16, 32 and 64 bits."""
    type_ = i.sig.types[-1]
    a, b = ctx.src(i.ops[1], type_), ctx.src(i.ops[2], type_)
    lut = _LUT[i.sig.name]
    if TYPE_BITS[type_] == 64:
        ctx.write(i.ops[0], ctx.b.pack(*[lop3(ctx, ctx.word(a, k), ctx.word(b, k), RZ, lut) for k in (0, 1)]))
        return
    ctx.write(i.ops[0], lop3(ctx, a, b, RZ, lut))


@lowers("and", "or", "xor", types="pred")
def lower_logic_pred(ctx: Ctx, i: Instr) -> None:
    """and, or, xor of predicates."""
    ctx.write_pred(i.ops[0], plop3(ctx, ctx.pred_src(i.ops[1]), ctx.pred_src(i.ops[2]), i.sig.name))


@lowers("not", types="int")
def lower_not(ctx: Ctx, i: Instr) -> None:
    """not of 16, 32 and 64 bits."""
    type_ = i.sig.types[-1]
    a = ctx.src(i.ops[1], type_)
    if TYPE_BITS[type_] == 64:
        ctx.write(i.ops[0], ctx.b.pack(*[lop3(ctx, RZ, ctx.word(a, k), RZ, 0x33) for k in (0, 1)]))
        return
    ctx.write(i.ops[0], lop3(ctx, RZ, a, RZ, 0x33))


@lowers("not", types="pred")
def lower_not_pred(ctx: Ctx, i: Instr) -> None:
    """not of a predicate."""
    ctx.write_pred(i.ops[0], ctx.pred_src(i.ops[1]) ^ INV)


@lowers("cnot", types="int")
def lower_cnot(ctx: Ctx, i: Instr) -> None:
    """cnot: 1 if the value is 0, else 0."""
    type_ = i.sig.types[-1]
    a = ctx.src(i.ops[1], type_)
    bits = TYPE_BITS[type_]
    if bits == 64:
        p = ctx.b.pred("isetp64.EQ.U64", a, imm64(0), PT)
        ctx.write(i.ops[0], ctx.b.pack(ctx.b.r("SEL", imm(1), RZ, p), imm(0)))
        return
    p = ctx.b.setp("ISETP.EQ.U32.AND", extend16(ctx, a, False) if bits == 16 else a, RZ, PT)
    ctx.write(i.ops[0], ctx.b.r("SEL", imm(1), RZ, p))


@lowers("lop3", types="int")
def lower_lop3(ctx: Ctx, i: Instr) -> None:
    """lop3, and lop3.BoolOp with the predicate result (d != 0) BoolOp q."""
    dst = i.ops[0]
    if i.ops[4].kind != O_IMM:
        raise ctx.unsupported("lop3 with a variable table")
    a, b, c = (ctx.src(o, "b32") for o in i.ops[1:4])
    lut = imm(i.ops[4].value & 0xFF)
    op = i.sig.mods.get("bool", "")
    if not op:
        ctx.write(dst, ctx.b.r("LOP3.LUT", a, b, c, lut, NOT_PT))
        return
    q = ctx.pred_src(i.ops[5]) if len(i.ops) > 5 else NOT_PT
    d = RZ if dst.kind == O_PAIR and dst.elems[0].kind == O_SINK else ctx.fn.new_vreg(K_R)
    p = ctx.fn.new_vreg(K_P)
    ctx.b.emit("LOP3.LUT", [d, p], [a, b, c, lut, q if op == "or" else NOT_PT])
    if op != "or":
        p = plop3(ctx, p, q, op)
    if dst.kind == O_PAIR:
        ctx.write(dst.elems[0], d)
        ctx.write_pred(dst.elems[1], p)
    else:
        ctx.write_pred(dst, p)


@lowers("shl", types="int")
def lower_shl(ctx: Ctx, i: Instr) -> None:
    """shl; shift amounts are clamped to the width."""
    type_ = i.sig.types[-1]
    a, n = ctx.src(i.ops[1], type_), ctx.src(i.ops[2], "u32")
    if TYPE_BITS[type_] == 64:
        ctx.write(i.ops[0], ctx.b.r("shl64", a, n, width=2))
        return
    ctx.write(i.ops[0], ctx.b.r("SHF.L.U32", a, n, RZ))


@lowers("shr", types="int")
def lower_shr(ctx: Ctx, i: Instr) -> None:
    """shr, arithmetic for signed types; shift amounts are clamped to the width."""
    type_ = i.sig.types[-1]
    a, n = ctx.src(i.ops[1], type_), ctx.src(i.ops[2], "u32")
    signed = is_signed(type_)
    bits = TYPE_BITS[type_]
    if bits == 64:
        ctx.write(i.ops[0], ctx.b.r("shr64.S64" if signed else "shr64.U64", a, n, width=2))
        return
    if bits == 16:
        a = extend16(ctx, a, signed)
    ctx.write(i.ops[0], ctx.b.r("SHF.R.S32.HI" if signed else "SHF.R.U32.HI", RZ, n, a))


@lowers("shf", types="int")
def lower_shf(ctx: Ctx, i: Instr) -> None:
    """shf.l gives the high word of the shifted pair, shf.r the low word."""
    low, high, n = (ctx.src(o, "b32") for o in i.ops[1:4])
    wrap = ".W" if i.sig.mods.get("wrap") == "wrap" else ""
    name = f"SHF.L{wrap}.U32.HI" if i.sig.mods.get("dir") == "l" else f"SHF.R{wrap}.U32"
    ctx.write(i.ops[0], ctx.b.r(name, low, n, high))


def _byte(ctx: Ctx, o: Opnd) -> Opnd:
    """The low byte of a field position or length.  (The 64-bit instructions use the whole word, as ptxas does.)"""
    if is_imm(o):
        return imm(imm_value(o) & 0xFF)
    return lop3(ctx, o, imm(0xFF), RZ, 0xC0)


@lowers("bfe", types="int")
def lower_bfe(ctx: Ctx, i: Instr) -> None:
    """bfe: shift the field down, then zero- or sign-extend it from its length."""
    type_ = i.sig.types[-1]
    signed = is_signed(type_)
    a = ctx.src(i.ops[1], type_)
    pos, length = (ctx.src(o, "u32") for o in i.ops[2:4])
    r = ctx.b.r
    if TYPE_BITS[type_] == 32:
        pos, length = _byte(ctx, pos), _byte(ctx, length)
        t = r("SHF.R.S32.HI" if signed else "SHF.R.U32.HI", RZ, pos, a)
        ctx.write(i.ops[0], r("SGXT" if signed else "SGXT.U32", t, length))
        return
    t = r("shr64.S64" if signed else "shr64.U64", a, pos, width=2)
    beyond = r("shl64", imm64(-1), length, width=2)
    field = [lop3(ctx, ctx.word(t, k), ctx.word(beyond, k), RZ, 0x30) for k in (0, 1)]
    if signed:
        top = r("shr64.U64", ctx.b.pack(*field), r("IADD3", length, imm(-1), RZ), width=2)
        p = ctx.b.pred("isetp64.NE.U64", top, imm64(0), PT)
        full = [lop3(ctx, w, ctx.word(beyond, k), RZ, 0xFC) for k, w in enumerate(field)]
        field = [r("SEL", x, w, p) for x, w in zip(full, field, strict=True)]
    ctx.write(i.ops[0], ctx.b.pack(*field))


@lowers("bfi", types="int")
def lower_bfi(ctx: Ctx, i: Instr) -> None:
    """bfi: the bits under the field's mask come from the shifted first source, the other bits from the second."""
    type_ = i.sig.types[-1]
    a, base = ctx.src(i.ops[1], type_), ctx.src(i.ops[2], type_)
    pos, length = (ctx.src(o, "u32") for o in i.ops[3:5])
    r = ctx.b.r
    if TYPE_BITS[type_] == 32:
        pos, length = _byte(ctx, pos), _byte(ctx, length)
        mask = r("BMSK", pos, length)
        ctx.write(i.ops[0], lop3(ctx, r("SHF.L.U32", a, pos, RZ), mask, base, 0xE2))
        return
    beyond = r("shl64", imm64(-1), length, width=2)
    ones = ctx.b.pack(*[lop3(ctx, RZ, ctx.word(beyond, k), RZ, 0x33) for k in (0, 1)])
    mask = r("shl64", ones, pos, width=2)
    t = r("shl64", a, pos, width=2)
    words = [lop3(ctx, ctx.word(t, k), ctx.word(mask, k), ctx.word(base, k), 0xE2) for k in (0, 1)]
    ctx.write(i.ops[0], ctx.b.pack(*words))


@lowers("bfind", types="int")
def lower_bfind(ctx: Ctx, i: Instr) -> None:
    """bfind: position of the highest bit that differs from the sign (.shiftamt: its distance from the top); -1 for none."""
    type_ = i.sig.types[-1]
    signed = is_signed(type_)
    shift = "shiftamt" in i.sig.mods
    a = ctx.src(i.ops[1], type_)
    r = ctx.b.r
    if TYPE_BITS[type_] == 32:
        ctx.write(i.ops[0], r(("FLO" if signed else "FLO.U32") + (".SH" if shift else ""), a))
        return
    if signed:
        m = mask_sign(ctx, ctx.hi(a))
        a = ctx.b.pack(*[lop3(ctx, ctx.word(a, k), m, RZ, 0x3C) for k in (0, 1)])
    name = "FLO.U32.SH" if shift else "FLO.U32"
    high, low = r(name, ctx.hi(a)), r(name, ctx.lo(a))
    top = ctx.b.setp("ISETP.NE.U32.AND", ctx.hi(a), RZ, PT)
    if shift:
        # The distance in the low word grows by 32; -1 (no such bit) stays.
        none = ctx.b.setp("ISETP.EQ.U32.AND", ctx.lo(a), RZ, PT)
        low = r("SEL", low, r("IADD3", low, imm(32), RZ), none)
    else:
        high = r("IADD3", high, imm(32), RZ)
    ctx.write(i.ops[0], r("SEL", high, low, top))


@lowers("clz", types="int")
def lower_clz(ctx: Ctx, i: Instr) -> None:
    """clz: 31 (63) minus the position of the highest set bit, which FLO gives as -1 for zero."""
    a = ctx.src(i.ops[1], i.sig.types[-1])
    r = ctx.b.r

    if TYPE_BITS[i.sig.types[-1]] == 32:
        ctx.write(i.ops[0], r("IADD3", r("FLO.U32", a) | NEG, imm(31), RZ))
        return
    high = r("IADD3", r("FLO.U32", ctx.hi(a)) | NEG, imm(31), RZ)
    low = r("IADD3", r("FLO.U32", ctx.lo(a)) | NEG, imm(63), RZ)
    top = ctx.b.setp("ISETP.NE.U32.AND", ctx.hi(a), RZ, PT)
    ctx.write(i.ops[0], r("SEL", high, low, top))


@lowers("clmad", types="int")
def lower_clmad(ctx: Ctx, i: Instr) -> None:
    """clmad: the lower or upper 64 bits of a product without carries, exclusive or the third operand."""
    words = [ctx.src(o, "u64") for o in i.ops[1:4]]
    words = [ctx.b.copy(w, 2) if is_imm(w) else w for w in words]
    ctx.write(i.ops[0], ctx.b.r(f"CLMAD.{i.sig.mods['mulsize'].upper()}", *words, width=2))


@lowers("popc", types="int")
def lower_popc(ctx: Ctx, i: Instr) -> None:
    """popc of 32 and 64 bits."""
    a = ctx.src(i.ops[1], i.sig.types[-1])
    if TYPE_BITS[i.sig.types[-1]] == 32:
        ctx.write(i.ops[0], ctx.b.r("POPC", a))
        return
    ctx.write(i.ops[0], ctx.b.r("IADD3", ctx.b.r("POPC", ctx.lo(a)), ctx.b.r("POPC", ctx.hi(a)), RZ))


@lowers("brev", types="int")
def lower_brev(ctx: Ctx, i: Instr) -> None:
    """brev of 32 and 64 bits."""
    a = ctx.src(i.ops[1], i.sig.types[-1])
    if TYPE_BITS[i.sig.types[-1]] == 32:
        ctx.write(i.ops[0], ctx.b.r("BREV", a))
        return
    ctx.write(i.ops[0], ctx.b.pack(ctx.b.r("BREV", ctx.hi(a)), ctx.b.r("BREV", ctx.lo(a))))


@lowers("prmt", types="int")
def lower_prmt(ctx: Ctx, i: Instr) -> None:
    """prmt in every mode."""
    a, b, sel = (ctx.src(o, "b32") for o in i.ops[1:4])
    mode = i.sig.mods.get("mode", "")
    ctx.write(i.ops[0], ctx.b.r("PRMT" + (f".{mode.upper()}" if mode else ""), a, sel, b))


@lowers("bmsk", types="int")
def lower_bmsk(ctx: Ctx, i: Instr) -> None:
    """bmsk.clamp, bmsk.wrap."""
    a, b = ctx.src(i.ops[1], "b32"), ctx.src(i.ops[2], "b32")
    ctx.write(i.ops[0], ctx.b.r("BMSK.W" if i.sig.mods.get("wrap") == "wrap" else "BMSK", a, b))


@lowers("szext", types="int")
def lower_szext(ctx: Ctx, i: Instr) -> None:
    """szext.clamp, szext.wrap."""
    type_ = i.sig.types[-1]
    a, b = ctx.src(i.ops[1], "b32"), ctx.src(i.ops[2], "b32")
    name = "SGXT" + (".W" if i.sig.mods.get("wrap") == "wrap" else "") + ("" if is_signed(type_) else ".U32")
    ctx.write(i.ops[0], ctx.b.r(name, a, b))


@lowers("fns", types="any")
def lower_fns(ctx: Ctx, i: Instr) -> None:
    """fns: position of the |offset|-th set bit of a mask, from `base` up (offset > 0) or down (offset < 0); -1 for none.

    The downward search runs on the reversed mask; offset 0 tests bit `base` itself.  Like ptxas's code, this is a
    binary search by population counts.
    """
    mask, base, offset = (ctx.src(o, "b32") for o in i.ops[1:4])
    setp, r = ctx.b.setp, ctx.b.r
    zero = setp("ISETP.EQ.AND", offset, RZ, PT)
    down = setp("ISETP.LT.AND", offset, RZ, PT)
    word = r("SEL", r("BREV", mask), mask, down)
    start = r("SEL", r("IADD3", imm(31), negated(base), RZ), base, down)
    wanted = r("SEL", imm(1), r("SEL", r("IADD3", negated(offset), RZ, RZ), offset, down), zero)
    word = r("SEL", lop3(ctx, mask, r("SHF.L.U32", imm(1), base, RZ), RZ, 0xC0), word, zero)
    word = lop3(ctx, word, r("SHF.L.U32", imm(-1), start, RZ), RZ, 0xC0)
    none = setp("ISETP.LT.AND", r("POPC", word), wanted, PT)
    place = RZ
    for half in (16, 8, 4, 2, 1):
        count = r("POPC", lop3(ctx, word, imm((1 << half) - 1), RZ, 0xC0))
        above = setp("ISETP.LT.U32.AND", count, wanted, PT)
        word = r("SEL", r("SHF.R.U32.HI", RZ, imm(half), word), word, above)
        wanted = r("SEL", r("IADD3", wanted, count | NEG, RZ), wanted, above)
        place = r("SEL", r("IADD3", place, imm(half), RZ), place, above)
    place = r("SEL", r("IADD3", imm(31), place | NEG, RZ), place, down)
    ctx.write(i.ops[0], r("SEL", imm(-1), place, none))
