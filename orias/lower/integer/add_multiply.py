"""Integer arithmetic: add, sub, mul, mad (and the 24-bit forms), carry chains, neg, abs, min, max.

A 16-bit value is in a word with an unspecified upper half; only operations that read the upper half extend it first.
The carry flag is the carry of IADD3 and IADD3.X.  A subtraction adds the complement; its carry means "no borrow".
"""

from typing import Final

from orias.isa.operand import INV, K_P, K_R, NEG, NOT_PT, PT, RZ, Opnd, imm, imm64, imm_value, is_imm, is_reg
from orias.lower.frame.context import Ctx
from orias.lower.frame.registry import lowers
from orias.lower.integer.widen import is_signed
from orias.ptx.ast import TYPE_BITS, Instr
from orias.target import features

_BYTES: Final = ("u8x4", "s8x4")
_FIELDS: Final[dict[str, str]] = {"u32": "32", "u16x2": "16x2", "s16x2": "S16x2", "u8x4": "U8x4", "s8x4": "S8x4"}
"""Types, and what VIADD calls them (docs/newer-ptx.md)."""


def negated(o: Opnd) -> Opnd:
    """-o for a 32-bit source: the NEG flag, or the negated immediate."""
    if is_imm(o):
        return imm(-imm_value(o))
    return o ^ NEG


def negated64(o: Opnd) -> Opnd:
    """-o for a 64-bit source."""
    if is_imm(o):
        return imm64(-imm_value(o))
    return o ^ NEG


def inverted(o: Opnd) -> Opnd:
    """~o for a 32-bit source."""
    if is_imm(o):
        return imm(~imm_value(o))
    return o ^ INV


def extend16(ctx: Ctx, value: Opnd, signed: bool) -> Opnd:
    """A 16-bit value extended to 32 bits."""
    if is_imm(value):
        v = imm_value(value) & 0xFFFF
        return imm(v - 0x10000 if signed and v & 0x8000 else v)
    if signed:
        return ctx.b.r("PRMT", value, imm(0x9910), RZ)
    return ctx.b.r("LOP3.LUT", value, imm(0xFFFF), RZ, imm(0xC0), NOT_PT)


def upper16(ctx: Ctx, pair: Opnd, signed: bool) -> Opnd:
    """The upper one of the two 16-bit integers of a word, extended to 32 bits."""
    if is_imm(pair):
        return extend16(ctx, imm(imm_value(pair) >> 16), signed)
    return ctx.b.r("PRMT", pair, imm(0xBB32 if signed else 0x7732), RZ)


def pair_of(ctx: Ctx, lower: Opnd, upper: Opnd) -> Opnd:
    """The word whose halves are the lower halves of two words."""
    return ctx.b.r("PRMT", lower, imm(0x5410), upper)


def mask_sign(ctx: Ctx, value: Opnd) -> Opnd:
    """All ones if the word is negative, else 0."""
    return ctx.b.r("SHF.R.S32.HI", RZ, imm(31), value)


def saturate(ctx: Ctx, a: Opnd, b: Opnd, total: Opnd, subtract: bool) -> Opnd:
    """`total` = a + b (or a - b); on overflow, the nearest signed 32-bit number."""
    # Overflow: the operands have equal signs (b's is flipped for a subtraction) and the result has the other sign.
    lut = 0x18 if subtract else 0x42
    signs = ctx.b.r("LOP3.LUT", a, b, total, imm(lut), NOT_PT)
    over = ctx.b.setp("ISETP.LT.AND", signs, RZ, PT)
    limit = ctx.b.r("LOP3.LUT", mask_sign(ctx, total), imm(0x80000000), RZ, imm(0x3C), NOT_PT)
    return ctx.b.r("SEL", limit, total, over)


@lowers("add", "sub", types="int")
def lower_add(ctx: Ctx, i: Instr) -> None:
    """add, sub, add.cc, sub.cc, add.sat, packed sums."""
    type_ = i.sig.types[-1]
    sub = i.sig.name == "sub"
    a, b = ctx.src(i.ops[1], type_), ctx.src(i.ops[2], type_)
    saturating = "sat" in i.sig.mods
    if type_ in _BYTES or (saturating and type_ != "s32"):
        b = (b if is_reg(b) else ctx.b.copy(b)) | NEG if sub else b
        ctx.write(i.ops[0], ctx.b.r(f"VIADD.{_FIELDS[type_]}{'.ISAT' if saturating else ''}", a, b))
        return
    if type_.endswith("x2"):
        if sub:
            raise ctx.unsupported(f"'{i.sig.text}' on {ctx.target.name}")
        if ctx.target.has(features.PACKED_INTEGERS):
            ctx.write(i.ops[0], ctx.b.r("VIADD.16x2", a, b))
            return
        upper = ctx.b.r("IADD3", upper16(ctx, a, False), upper16(ctx, b, False), RZ)
        ctx.write(i.ops[0], pair_of(ctx, ctx.b.r("IADD3", a, b, RZ), upper))
        return
    wide = TYPE_BITS[type_] == 64
    if sub:
        minus = negated64(b) if wide else negated(b)
    else:
        minus = b
    if "cc" in i.sig.mods:
        if sub and is_imm(b) and imm_value(b) == 0:
            # Adding -0 would give no carry, but the subtraction of 0 borrows nothing: its carry is true.
            ctx.write(i.ops[0], a)
            ctx.write_cc(PT)
            return
        d = ctx.fn.new_vreg(K_R, 2 if wide else 1)
        carry = ctx.fn.new_vreg(K_P)
        ctx.b.emit("iadd64" if wide else "IADD3", [d, carry], [a, minus] if wide else [a, minus, RZ])
        ctx.write(i.ops[0], d)
        ctx.write_cc(carry)
        return
    if wide:
        ctx.write(i.ops[0], ctx.b.r("iadd64", a, minus, width=2))
        return
    total = ctx.b.r("IADD3", a, minus, RZ)
    if saturating:
        total = saturate(ctx, a, b, total, sub)
    ctx.write(i.ops[0], total)


@lowers("addc", "subc", types="int")
def lower_addc(ctx: Ctx, i: Instr) -> None:
    """addc, subc, with or without .cc."""
    type_ = i.sig.types[-1]
    a, b = ctx.src(i.ops[1], type_), ctx.src(i.ops[2], type_)
    if TYPE_BITS[type_] == 64:
        if i.sig.name == "subc":
            b = imm64(~imm_value(b)) if is_imm(b) else b ^ NEG
        d = ctx.fn.new_vreg(K_R, 2)
        dst = [d]
        if "cc" in i.sig.mods:
            dst.append(ctx.fn.new_vreg(K_P))
        ctx.b.emit("iadd64", dst, [a, b, ctx.read_cc()])
        ctx.write(i.ops[0], d)
        if len(dst) > 1:
            ctx.write_cc(dst[1])
        return
    _add_with_carry(ctx, i, a, inverted(b) if i.sig.name == "subc" else b)


def _add_with_carry(ctx: Ctx, i: Instr, a: Opnd, b: Opnd) -> None:
    d = ctx.fn.new_vreg(K_R)
    dst = [d]
    if "cc" in i.sig.mods:
        dst.append(ctx.fn.new_vreg(K_P))
    ctx.b.emit("IADD3.X", dst, [a, b, RZ, ctx.read_cc(), NOT_PT])
    ctx.write(i.ops[0], d)
    if len(dst) > 1:
        ctx.write_cc(dst[1])


def product(ctx: Ctx, a: Opnd, b: Opnd, type_: str, size: str) -> Opnd:
    """The lo, hi or wide product of two values of an integer type."""
    bits = TYPE_BITS[type_]
    signed = is_signed(type_)
    r = ctx.b.r
    if bits == 16:
        if size == "lo":
            return r("IMAD", a, b, RZ)
        full = r("IMAD", extend16(ctx, a, signed), extend16(ctx, b, signed), RZ)
        return full if size == "wide" else r("SHF.R.S32.HI" if signed else "SHF.R.U32.HI", RZ, imm(16), full)
    if bits == 32:
        if size == "lo":
            return r("IMAD", a, b, RZ)
        if size == "hi":
            return r("IMAD.HI" if signed else "IMAD.HI.U32", a, b, RZ)
        return r("IMAD.WIDE" if signed else "IMAD.WIDE.U32", a, b, RZ, width=2)
    if size == "lo":
        return r("imul64", a, b, width=2)
    return _high64(ctx, a, b, signed)


def _high64(ctx: Ctx, a: Opnd, b: Opnd, signed: bool) -> Opnd:
    """High 64 bits of a 64 x 64-bit product.

    The two middle products are summed with a carry, which is word 3 of the sum; the high word of the low product adds a
    carry only, which the high product takes in.
    """
    lo, hi = ctx.lo, ctx.hi
    new, emit = ctx.fn.new_vreg, ctx.b.emit
    first = ctx.b.r("IMAD.WIDE.U32", hi(a), lo(b), RZ, width=2)
    middle, carry = new(K_R, 2), new(K_P)
    emit("IMAD.WIDE.U32", [middle, carry], [lo(a), hi(b), first])
    low = ctx.b.r("IMAD.WIDE.U32", lo(a), lo(b), RZ, width=2)
    low_carry = new(K_P)
    emit("IADD3", [RZ, low_carry], [hi(low), lo(middle), RZ])
    word3 = ctx.b.r("IADD3.X", RZ, RZ, RZ, carry, NOT_PT)
    top = ctx.b.r("IMAD.WIDE.U32.X", hi(a), hi(b), ctx.b.pack(hi(middle), word3), low_carry, width=2)
    if signed:
        for x, y in ((a, b), (b, a)):
            m = mask_sign(ctx, hi(x))
            part = [ctx.b.r("LOP3.LUT", ctx.word(y, k), m, RZ, imm(0xC0), NOT_PT) for k in (0, 1)]
            top = ctx.b.r("iadd64", top, ctx.b.pack(*part) | NEG, width=2)
    return top


@lowers("mul", types="int")
def lower_mul(ctx: Ctx, i: Instr) -> None:
    """mul.lo, mul.hi, mul.wide."""
    type_ = i.sig.types[-1]
    a, b = ctx.src(i.ops[1], type_), ctx.src(i.ops[2], type_)
    ctx.write(i.ops[0], product(ctx, a, b, type_, i.sig.mods.get("mulsize", "lo")))


@lowers("mad", types="int")
def lower_mad(ctx: Ctx, i: Instr) -> None:
    """mad.lo, mad.hi, mad.wide, with .cc or .sat."""
    type_ = i.sig.types[-1]
    bits = TYPE_BITS[type_]
    size = i.sig.mods.get("mulsize", "lo")
    a, b = ctx.src(i.ops[1], type_), ctx.src(i.ops[2], type_)
    c = ctx.src(i.ops[3], f"u{bits * 2}" if size == "wide" else type_)
    r = ctx.b.r
    if "cc" in i.sig.mods:
        t = product(ctx, a, b, type_, size)
        wide = ctx.words(t) == 2
        d = ctx.fn.new_vreg(K_R, 2 if wide else 1)
        carry = ctx.fn.new_vreg(K_P)
        ctx.b.emit("iadd64" if wide else "IADD3", [d, carry], [t, c] if wide else [t, c, RZ])
        ctx.write(i.ops[0], d)
        ctx.write_cc(carry)
        return
    if size == "wide" and bits == 32:
        value = r("IMAD.WIDE" if is_signed(type_) else "IMAD.WIDE.U32", a, b, c, width=2)
    elif size == "wide":
        signed = is_signed(type_)
        value = r("IMAD", extend16(ctx, a, signed), extend16(ctx, b, signed), c)
    elif bits == 64:
        value = r("iadd64", product(ctx, a, b, type_, size), c, width=2)
    elif size == "lo":
        value = r("IMAD", a, b, c)
    else:
        t = product(ctx, a, b, type_, size)
        value = r("IADD3", t, c, RZ)
        if "sat" in i.sig.mods:
            value = saturate(ctx, t, c, value, False)
    ctx.write(i.ops[0], value)


@lowers("madc", types="int")
def lower_madc(ctx: Ctx, i: Instr) -> None:
    """madc.lo, madc.hi, with or without .cc."""
    type_ = i.sig.types[-1]
    a, b, c = ctx.src(i.ops[1], type_), ctx.src(i.ops[2], type_), ctx.src(i.ops[3], type_)
    t = product(ctx, a, b, type_, i.sig.mods.get("mulsize", "lo"))
    if TYPE_BITS[type_] == 64:
        d = ctx.fn.new_vreg(K_R, 2)
        dst = [d]
        if "cc" in i.sig.mods:
            dst.append(ctx.fn.new_vreg(K_P))
        ctx.b.emit("iadd64", dst, [t, c, ctx.read_cc()])
        ctx.write(i.ops[0], d)
        if len(dst) > 1:
            ctx.write_cc(dst[1])
        return
    _add_with_carry(ctx, i, t, c)


@lowers("mul24", "mad24", types="int")
def lower_mul24(ctx: Ctx, i: Instr) -> None:
    """mul24, mad24: products of the operands' low 24 bits; lo is bits 0..31 of the product, hi bits 16..47."""
    type_ = i.sig.types[-1]
    signed = is_signed(type_)
    r = ctx.b.r
    ext = "SGXT" if signed else "SGXT.U32"
    a, b = (r(ext, ctx.src(o, type_), imm(24)) for o in i.ops[1:3])
    mad = i.sig.name == "mad24"
    c = ctx.src(i.ops[3], type_) if mad else RZ
    if i.sig.mods.get("mulsize", "lo") == "lo":
        ctx.write(i.ops[0], r("IMAD", a, b, c))
        return
    full = r("IMAD.WIDE" if signed else "IMAD.WIDE.U32", a, b, RZ, width=2)
    value = r("SHF.R.U32", ctx.lo(full), imm(16), ctx.hi(full))
    if mad:
        total = r("IADD3", value, c, RZ)
        value = saturate(ctx, value, c, total, False) if "sat" in i.sig.mods else total
    ctx.write(i.ops[0], value)


@lowers("neg", types="int")
def lower_neg(ctx: Ctx, i: Instr) -> None:
    """neg of 16, 32 and 64 bits."""
    type_ = i.sig.types[-1]
    a = ctx.src(i.ops[1], type_)
    if type_ in _BYTES:
        minus = (a if is_reg(a) else ctx.b.copy(a)) | NEG
        ctx.write(i.ops[0], ctx.b.r(f"VIADD.{_FIELDS[type_]}", minus, RZ))
        return
    if TYPE_BITS[type_] == 64:
        ctx.write(i.ops[0], ctx.b.r("iadd64", imm64(0), negated64(a), width=2))
        return
    ctx.write(i.ops[0], ctx.b.r("IADD3", negated(a), RZ, RZ))


@lowers("abs", types="int")
def lower_abs(ctx: Ctx, i: Instr) -> None:
    """abs of 16, 32 and 64 bits."""
    type_ = i.sig.types[-1]
    a = ctx.src(i.ops[1], type_)
    bits = TYPE_BITS[type_]
    if bits == 64:
        m = mask_sign(ctx, ctx.hi(a))
        flipped = [ctx.b.r("LOP3.LUT", ctx.word(a, k), m, RZ, imm(0x3C), NOT_PT) for k in (0, 1)]
        both = ctx.b.pack(m, m)
        ctx.write(i.ops[0], ctx.b.r("iadd64", ctx.b.pack(*flipped), both | NEG, width=2))
        return
    ctx.write(i.ops[0], ctx.b.r("IABS", extend16(ctx, a, True) if bits == 16 else a))


@lowers("min", "max", types="int")
def lower_minmax(ctx: Ctx, i: Instr) -> None:
    """min, max: IMNMX or VIMNMX; 16-bit pairs and .relu where the target has packed integers."""
    type_ = i.sig.types[-1]
    bits = TYPE_BITS[type_]
    a, b = ctx.src(i.ops[1], type_), ctx.src(i.ops[2], type_)
    low = i.sig.name == "min"
    pick = PT if low else NOT_PT
    if bits == 64:
        kind = "S64" if is_signed(type_) else "U64"
        p = ctx.b.pred(f"isetp64.{'LT' if low else 'GT'}.{kind}", a, b, PT)
        words = [ctx.b.r("SEL", ctx.word(a, k), ctx.word(b, k), p) for k in (0, 1)]
        ctx.write(i.ops[0], ctx.b.pack(*words))
        return
    packed = ctx.target.has(features.PACKED_INTEGERS) or type_ in _BYTES
    relu, signed = "relu" in i.sig.mods, is_signed(type_)
    if packed:
        fields = type_.upper().replace("X", "x") if type_[-2:] in ("x2", "x4") else f"{'S' if signed else 'U'}16x2"
        name = f"VIMNMX.{fields}" if bits == 16 or type_[-2:] in ("x2", "x4") else ctx.min_max(signed)
        ctx.write(i.ops[0], ctx.b.r(name + (".RELU" if relu else ""), a, b, pick))
        return
    operands = [(a, b)]
    if type_.endswith("x2"):
        operands = [
            (extend16(ctx, a, signed), extend16(ctx, b, signed)),
            (upper16(ctx, a, signed), upper16(ctx, b, signed)),
        ]
    elif bits == 16:
        operands = [(extend16(ctx, a, signed), extend16(ctx, b, signed))]
    name = ctx.min_max(signed)
    out = [ctx.b.r(name, x, y, pick) for x, y in operands]
    if relu:
        out = [ctx.b.r(name, x, RZ, NOT_PT) for x in out]
    ctx.write(i.ops[0], pair_of(ctx, *out) if len(out) == 2 else out[0])
