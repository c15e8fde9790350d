"""Scalar video instructions as integer operations: vadd vsub vabsdiff vmin vmax vshl vshr vset vmad.

Operands are bytes, halves or words (``Operand.comp``), extended by their types.  The result may be saturated to the
destination type; a second operation may then combine it with c.  Intermediate results need 34 bits; minima, maxima and
saturation use 64-bit values.  Results are those of ptxas 13.0.88 also where the PTX manual says otherwise
(docs/facts/arithmetic.md).
"""

from typing import TYPE_CHECKING, Final

from orias.isa.operand import NEG, NOT_PT, PT, RZ, Opnd, imm, imm64
from orias.lower.frame.params import extract_selector
from orias.lower.frame.registry import lowers
from orias.lower.integer.add_multiply import is_signed, min_max, negated
from orias.lower.integer.compare import compare
from orias.ptx.ast import Instr, Operand

if TYPE_CHECKING:
    from orias.lower.frame.context import Ctx

_PART: Final[dict[str, tuple[int, int]]] = {
    "b0": (0, 8), "b1": (1, 8), "b2": (2, 8), "b3": (3, 8), "h0": (0, 16), "h1": (2, 16),
}  # fmt: skip
"""Parts of a register: (first byte, bits)."""


_INSERT: Final[dict[str, int]] = {
    "b0": 0x3214, "b1": 0x3240, "b2": 0x3410, "b3": 0x4210, "h0": 0x3254, "h1": 0x7610,
}  # fmt: skip
"""PRMT selectors that put the low part of a result into a register; its high part into h1."""


def whole(o: Operand) -> Operand:
    """The register operand without its part selector."""
    out = Operand(o.kind)
    out.var, out.value, out.imm_type = o.var, o.value, o.imm_type
    return out


def _part(ctx: "Ctx", o: Operand, type_: str) -> Opnd:
    """The selected part of an operand, extended to 32 bits by its type."""
    value = ctx.src(whole(o), "b32")
    if o.comp not in _PART:
        return value
    byte, bits = _PART[o.comp]
    return ctx.b.r("PRMT", value, imm(extract_selector(byte, bits, is_signed(type_))), RZ)


def _wide(ctx: "Ctx", value: Opnd, type_: str) -> Opnd:
    return ctx.b.r("sext64", value, width=2) if is_signed(type_) else ctx.b.pack(value, imm(0))


def _choose(ctx: "Ctx", low: bool, type_: str, a: Opnd, b: Opnd) -> Opnd:
    return ctx.b.r(min_max(ctx, is_signed(type_)), a, b, PT if low else NOT_PT)


def _select(ctx: "Ctx", a: Opnd, b: Opnd, first: Opnd) -> Opnd:
    """One of two 64-bit values."""
    low, high = [ctx.b.r("SEL", word(a), word(b), first) for word in (ctx.lo, ctx.hi)]
    return ctx.b.pack(low, high)


def _clamp(ctx: "Ctx", value: Opnd, dtype: str) -> Opnd:
    """A 64-bit signed value saturated to a 32-bit type."""
    low, high = (-(1 << 31), (1 << 31) - 1) if is_signed(dtype) else (0, (1 << 32) - 1)
    below = ctx.b.pred("isetp64.LT.S64", value, imm64(low), PT)
    above = ctx.b.pred("isetp64.GT.S64", value, imm64(high), PT)
    out = ctx.b.r("SEL", imm(low), ctx.lo(value), below)
    return ctx.b.r("SEL", imm(high), out, above)


def _saturated(ctx: "Ctx", name: str, value: Opnd, dtype: str) -> Opnd:
    """The 64-bit value that stands for the saturated one in a second operation; its low word is the result.

    Sums and differences are cut to 32 bits above 0.
    """
    if is_signed(dtype) or name not in ("vadd", "vsub", "vabsdiff"):
        low = _clamp(ctx, value, dtype)
        return _wide(ctx, low, "s32" if name not in ("vmin", "vmax") else dtype)
    negative = ctx.b.setp("ISETP.LT.AND", ctx.hi(value), RZ, PT)
    out = _select(ctx, imm64(0), value, negative)
    return out if name == "vabsdiff" else _wide(ctx, ctx.lo(out), "s32")


def _finish(ctx: "Ctx", i: Instr, value: Opnd, dtype: str) -> None:
    """Saturate a 64-bit value, apply the second operation or insert the result into c, and write it."""
    dst = i.ops[0]
    r = ctx.b.r
    op = i.sig.mods.get("op", "")
    name = i.sig.name
    sat = "sat" in i.sig.mods
    if dst.comp:
        low = ctx.lo(value)
        if sat and name in ("vshl", "vshr"):
            low = _clamp(ctx, value, dtype)
        elif sat:
            most = (1 << (_PART[dst.comp][1] - is_signed(dtype))) - 1
            outside = ctx.b.setp("ISETP.NE.AND", ctx.hi(value), RZ, PT)
            low = _choose(ctx, True, "u32", r("SEL", imm(0xFFFFFFFF), low, outside), imm(most))
        ctx.write(whole(dst), r("PRMT", ctx.src(i.ops[3], "b32"), imm(_INSERT[dst.comp]), low))
        return
    if sat:
        value = _saturated(ctx, name, value, dtype)
    elif name in ("vadd", "vsub"):
        value = _wide(ctx, ctx.lo(value), "s32")
    out = ctx.lo(value)
    if op == "add":
        out = r("IADD3", out, ctx.src(i.ops[3], "b32"), RZ)
    elif op:
        c = ctx.src(i.ops[3], "b32")
        test = f"isetp64.{'LT' if op == 'min' else 'GT'}.{'S64' if is_signed(dtype) else 'U64'}"
        out = r("SEL", out, c, ctx.b.pred(test, value, _wide(ctx, c, dtype), PT))
    ctx.write(whole(dst), out)


@lowers("vadd", "vsub", "vabsdiff", "vmin", "vmax", types="any")
def lower_video(ctx: "Ctx", i: Instr) -> None:
    """vadd, vsub, vabsdiff, vmin, vmax."""
    dtype, atype, btype = i.sig.types[:3]
    name = i.sig.name
    b = ctx.b
    x, y = _wide(ctx, _part(ctx, i.ops[1], atype), atype), _wide(ctx, _part(ctx, i.ops[2], btype), btype)
    if name in ("vmin", "vmax"):
        value = _select(ctx, x, y, b.pred(f"isetp64.{'LT' if name == 'vmin' else 'GT'}.S64", x, y, PT))
    else:
        value = b.r("iadd64", x, y if name == "vadd" else y | NEG, width=2)
        if name == "vabsdiff":
            negative = b.setp("ISETP.LT.AND", ctx.hi(value), RZ, PT)
            value = _select(ctx, b.r("iadd64", y, x | NEG, width=2), value, negative)
    _finish(ctx, i, value, dtype)


@lowers("vshl", "vshr", types="any")
def lower_video_shift(ctx: "Ctx", i: Instr) -> None:
    """vshl and vshr; the amount is clamped at 32 or taken modulo 32.

    Saturation sees 34 bits of what vshl shifts.
    """
    dtype, atype, btype = i.sig.types[:3]
    r = ctx.b.r
    a, n = _part(ctx, i.ops[1], atype), _part(ctx, i.ops[2], btype)
    if i.sig.mods.get("wrap") == "wrap":
        n = r("LOP3.LUT", n, imm(31), RZ, imm(0xC0), NOT_PT)
    else:
        n = _choose(ctx, True, "u32", n, imm(32))
    if i.sig.name == "vshr":
        value = r("SHF.R.S32.HI" if is_signed(atype) else "SHF.R.U32.HI", RZ, n, a)
        _finish(ctx, i, _wide(ctx, value, atype), dtype)
        return
    wide = _wide(ctx, a, atype)
    high = r("SHF.L.U64.HI", ctx.lo(wide), n, ctx.hi(wide))
    if "sat" in i.sig.mods:
        high = r("SHF.R.S32.HI", RZ, imm(30), r("SHF.L.U32", high, imm(30), RZ))
    _finish(ctx, i, ctx.b.pack(r("SHF.L.U32", a, n, RZ), high), dtype)


@lowers("vset", types="any")
def lower_video_set(ctx: "Ctx", i: Instr) -> None:
    """vset: 1 or 0; a minimum or maximum takes c as a number of a's type."""
    atype, btype = i.sig.types[:2]
    a, b = _part(ctx, i.ops[1], atype), _part(ctx, i.ops[2], btype)
    kind = atype
    if is_signed(atype) != is_signed(btype):
        a, b, kind = _wide(ctx, a, atype), _wide(ctx, b, btype), "s64"
    p, _ = compare(ctx, i.sig.mods["cmp"], kind, a, b, False)
    _finish(ctx, i, ctx.b.pack(ctx.b.r("SEL", imm(1), RZ, p), imm(0)), atype)


@lowers("vmad", types="any")
def lower_video_mad(ctx: "Ctx", i: Instr) -> None:
    """vmad: a product of signed words in 64 bits, whatever their types."""
    atype, btype = i.sig.types[1:3]
    mods = i.sig.mods
    r = ctx.b.r
    a, b = _part(ctx, i.ops[1], atype), _part(ctx, i.ops[2], btype)
    c = ctx.src(whole(i.ops[3]), "b32")
    minus, minus_c = i.ops[1].neg != i.ops[2].neg, i.ops[3].neg
    if "sat" not in mods and "scale" not in mods:
        value = r(
            "IMAD", a, r("IADD3", negated(b), RZ, RZ) if minus else b, r("IADD3", negated(c), RZ, RZ) if minus_c else c
        )
        ctx.write(i.ops[0], r("IADD3", value, imm(1), RZ) if "po" in mods else value)
        return
    wide_c = _wide(ctx, c, "s32")
    if minus or minus_c:
        total = r("IMAD.WIDE", a, b, imm64(0), width=2)
        total = r("iadd64", total | NEG if minus else total, wide_c | NEG if minus_c else wide_c, width=2)
    else:
        total = r("IMAD.WIDE", a, b, wide_c, width=2)
    if "po" in mods:
        total = r("iadd64", total, imm64(1), width=2)
    signed = is_signed(atype) or is_signed(btype) or minus or minus_c
    if "scale" in mods:
        count = imm(int(mods["scale"][3:]))
        low = r("SHF.R.U32", ctx.lo(total), count, ctx.hi(total))
        total = ctx.b.pack(low, r("SHF.R.S32.HI" if signed else "SHF.R.U32.HI", RZ, count, ctx.hi(total)))
    ctx.write(i.ops[0], _clamp(ctx, total, "s32" if signed else "u32") if "sat" in mods else ctx.lo(total))
