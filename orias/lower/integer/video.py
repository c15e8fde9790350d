"""Scalar video instructions as integer operations: vadd vsub vabsdiff vmin vmax vshl vshr vset vmad.

Operands are bytes, halves or words (``Operand.comp``), extended by their types.  The result may be saturated to the
destination type; a second operation may then combine it with c.  Intermediate results need 34 bits: saturation uses
64-bit values.
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
    "b0": 0x3214, "b1": 0x3240, "b2": 0x3410, "b3": 0x4210, "h0": 0x3254,
}  # fmt: skip
"""PRMT selectors that put the low part of a result into a register; for h1 ptxas takes the high part, the PTX manual the low one."""


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


def _clamp(ctx: "Ctx", value: Opnd, dtype: str) -> Opnd:
    """A 64-bit signed value saturated to a 32-bit type."""
    low, high = (-(1 << 31), (1 << 31) - 1) if is_signed(dtype) else (0, (1 << 32) - 1)
    below = ctx.b.pred("isetp64.LT.S64", value, imm64(low), PT)
    above = ctx.b.pred("isetp64.GT.S64", value, imm64(high), PT)
    out = ctx.b.r("SEL", imm(low), ctx.lo(value), below)
    return ctx.b.r("SEL", imm(high), out, above)


def _finish(ctx: "Ctx", i: Instr, value: Opnd, dtype: str, unsigned: bool = False) -> None:
    """Apply the second operation, if any, and write the result.

    An ``unsigned`` value is a number from 0 on, also if it is compared with a signed c.
    """
    dst = i.ops[0]
    r = ctx.b.r
    op = i.sig.mods.get("op", "")
    if op:
        c = ctx.src(i.ops[3], "b32")
        if op == "add":
            value = r("IADD3", value, c, RZ)
        elif unsigned and is_signed(dtype):
            if op == "min":
                value = _choose(ctx, True, "s32", _choose(ctx, True, "u32", value, imm(0x7FFFFFFF)), c)
            else:
                value = _choose(ctx, False, "u32", value, _choose(ctx, False, "s32", c, imm(0)))
        else:
            value = _choose(ctx, op == "min", dtype, value, c)
    elif dst.comp:
        if "sat" in i.sig.mods or dst.comp not in _INSERT:
            raise ctx.unsupported(f"'{i.sig.text}' with a part of a register as destination")
        value = r("PRMT", ctx.src(i.ops[3], "b32"), imm(_INSERT[dst.comp]), value)
    ctx.write(whole(dst), value)


@lowers("vadd", "vsub", "vabsdiff", "vmin", "vmax", types="any")
def lower_video(ctx: "Ctx", i: Instr) -> None:
    """vadd, vsub, vabsdiff, vmin, vmax."""
    dtype, atype, btype = i.sig.types[:3]
    a, b = _part(ctx, i.ops[1], atype), _part(ctx, i.ops[2], btype)
    name = i.sig.name
    r = ctx.b.r
    saturate = "sat" in i.sig.mods
    if name in ("vadd", "vsub"):
        if saturate and i.sig.mods.get("op", "add") != "add":
            # ptxas compares the unsaturated result with c in a way that the PTX manual does not describe.
            raise ctx.unsupported(f"'{i.sig.text}'")
        if saturate:
            wide = _wide(ctx, b, btype)
            total = r("iadd64", _wide(ctx, a, atype), wide | NEG if name == "vsub" else wide, width=2)
            value = _clamp(ctx, total, dtype)
        else:
            value = r("IADD3", a, negated(b) if name == "vsub" else b, RZ)
        _finish(ctx, i, value, dtype)
        return
    if is_signed(atype) != is_signed(btype):
        _mixed(ctx, i, a, b)
        return
    if name == "vabsdiff":
        high, low = _choose(ctx, False, atype, a, b), _choose(ctx, True, atype, a, b)
        value = r("IADD3", high, negated(low), RZ)
        if saturate and is_signed(dtype):
            # The difference is unsigned.
            value = r(min_max(ctx, False), value, imm(0x7FFFFFFF), PT)
    else:
        value = _choose(ctx, name == "vmin", atype, a, b)
        if saturate and is_signed(atype) != is_signed(dtype):
            value = _clamp(ctx, _wide(ctx, value, atype), dtype)
    _finish(ctx, i, value, dtype, not saturate and (name == "vabsdiff" or not is_signed(atype)))


def _mixed(ctx: "Ctx", i: Instr, a: Opnd, b: Opnd) -> None:
    """vabsdiff, vmin, vmax of a signed and an unsigned operand, in 64 bits."""
    dtype, atype, btype = i.sig.types[:3]
    name = i.sig.name
    saturate = "sat" in i.sig.mods
    second = i.sig.mods.get("op", "add") != "add"
    wider = name == "vabsdiff" or (name == "vmin" and not is_signed(dtype))
    if (second and not saturate and wider) or (name == "vabsdiff" and saturate and not is_signed(dtype)):
        # ptxas compares a result that needs 33 bits with c in its own way, and drops the 33rd bit before it saturates.
        raise ctx.unsupported(f"'{i.sig.text}' of mixed signedness")
    r = ctx.b.r
    wide_a, wide_b = _wide(ctx, a, atype), _wide(ctx, b, btype)
    if name == "vabsdiff":
        first = ctx.b.pred("isetp64.GT.S64", wide_a, wide_b, PT)
        forward = r("iadd64", wide_a, wide_b | NEG, width=2)
        back = r("iadd64", wide_b, wide_a | NEG, width=2)
        out = [r("SEL", half(forward), half(back), first) for half in (ctx.lo, ctx.hi)]
    else:
        first = ctx.b.pred(f"isetp64.{'LT' if name == 'vmin' else 'GT'}.S64", wide_a, wide_b, PT)
        out = [r("SEL", half(wide_a), half(wide_b), first) for half in (ctx.lo, ctx.hi)]
    _finish(
        ctx,
        i,
        _clamp(ctx, ctx.b.pack(out[0], out[1]), dtype) if saturate else out[0],
        dtype,
        not saturate and name == "vmax",
    )


@lowers("vshl", "vshr", types="any")
def lower_video_shift(ctx: "Ctx", i: Instr) -> None:
    """vshl and vshr; the amount is clamped at 32 or taken modulo 32."""
    dtype, atype, btype = i.sig.types[:3]
    a, n = _part(ctx, i.ops[1], atype), _part(ctx, i.ops[2], btype)
    saturate = "sat" in i.sig.mods
    if saturate and (i.sig.name == "vshl" or i.sig.mods.get("op", "add") != "add"):
        # ptxas does not look at the bits that vshl drops, and after saturation it compares words without sign in its own way.
        raise ctx.unsupported(f"'{i.sig.text}'")
    if i.sig.mods.get("wrap") == "wrap":
        n = ctx.b.r("LOP3.LUT", n, imm(31), RZ, imm(0xC0), NOT_PT)
    if i.sig.name == "vshl":
        value = ctx.b.r("SHF.L.U32", a, n, RZ)
    else:
        value = ctx.b.r("SHF.R.S32.HI" if is_signed(atype) else "SHF.R.U32.HI", RZ, n, a)
        if saturate and is_signed(atype) != is_signed(dtype):
            value = _clamp(ctx, _wide(ctx, value, atype), dtype)
    _finish(ctx, i, value, dtype, i.sig.name == "vshr" and not saturate and not is_signed(atype))


@lowers("vset", types="any")
def lower_video_set(ctx: "Ctx", i: Instr) -> None:
    """vset: 1 or 0."""
    atype, btype = i.sig.types[:2]
    a, b = _part(ctx, i.ops[1], atype), _part(ctx, i.ops[2], btype)
    kind = atype
    if is_signed(atype) != is_signed(btype):
        if i.sig.mods.get("op", "add") != "add":
            # ptxas takes c as a number with a's sign; the PTX manual says without.
            raise ctx.unsupported(f"'{i.sig.text}' of mixed signedness")
        a, b, kind = _wide(ctx, a, atype), _wide(ctx, b, btype), "s64"
    p, _ = compare(ctx, i.sig.mods["cmp"], kind, a, b, False)
    _finish(ctx, i, ctx.b.r("SEL", imm(1), RZ, p), "u32")


@lowers("vmad", types="any")
def lower_video_mad(ctx: "Ctx", i: Instr) -> None:
    """vmad without saturation; scaled only if both factors are signed."""
    atype, btype = i.sig.types[1:3]
    mods = i.sig.mods
    scaled = "scale" in mods
    if "sat" in mods or (scaled and not (is_signed(atype) and is_signed(btype))):
        # ptxas scales the product of signed words whatever the types are; the PTX manual says otherwise.
        raise ctx.unsupported(f"'{i.sig.text}'")
    r = ctx.b.r
    a, b = _part(ctx, i.ops[1], atype), _part(ctx, i.ops[2], btype)
    c = ctx.src(whole(i.ops[3]), "b32")
    minus, minus_c = i.ops[1].neg != i.ops[2].neg, i.ops[3].neg
    if scaled:
        if minus or minus_c:
            raise ctx.unsupported(f"'{i.sig.text}' with a negated operand")
        total = r("IMAD.WIDE", a, b, _wide(ctx, c, "s32"), width=2)
        if "po" in mods:
            total = r("iadd64", total, imm64(1), width=2)
        ctx.write(i.ops[0], r("SHF.R.U32", ctx.lo(total), imm(int(mods["scale"][3:])), ctx.hi(total)))
        return
    value = r(
        "IMAD", a, r("IADD3", negated(b), RZ, RZ) if minus else b, r("IADD3", negated(c), RZ, RZ) if minus_c else c
    )
    ctx.write(i.ops[0], r("IADD3", value, imm(1), RZ) if "po" in mods else value)
