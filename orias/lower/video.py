"""Scalar video instructions, in the integer operations they mean: vadd vsub vabsdiff vmin vmax vshl vshr vset vmad.

Operands are bytes, halves or words (``Operand.comp``), extended by their type; the result may be saturated to the type of the destination and
then goes through a second operation with c.  Intermediate results have 34 bits: saturation works on 64.
"""

from typing import TYPE_CHECKING, Final

from orias.isa.operand import NEG, NOT_PT, PT, RZ, Opnd, imm, imm64
from orias.lower.compare import compare
from orias.lower.integer import is_signed, negated
from orias.lower.params import extract_selector
from orias.lower.registry import lowers
from orias.ptx.ast import Instr, Operand

if TYPE_CHECKING:
    from orias.lower.context import Ctx

_PART: Final[dict[str, tuple[int, int]]] = {
    "b0": (0, 8), "b1": (1, 8), "b2": (2, 8), "b3": (3, 8), "h0": (0, 16), "h1": (2, 16),
}  # fmt: skip
"""Part of a register: (first byte, bits)."""


def whole(o: Operand) -> Operand:
    """The register operand without the selection of a part."""
    if not o.comp and not o.neg:
        return o
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
    name = ("VIMNMX" if ctx.target.sm >= 90 else "IMNMX") + ("" if is_signed(type_) else ".U32")
    return ctx.b.r(name, a, b, PT if low else NOT_PT)


def _clamp(ctx: "Ctx", value: Opnd, dtype: str) -> Opnd:
    """A 64-bit signed value saturated to a 32-bit type."""
    low, high = (-(1 << 31), (1 << 31) - 1) if is_signed(dtype) else (0, (1 << 32) - 1)
    below = ctx.b.pred("isetp64.LT.S64", value, imm64(low), PT)
    above = ctx.b.pred("isetp64.GT.S64", value, imm64(high), PT)
    out = ctx.b.r("SEL", imm(low), ctx.lo(value), below)
    return ctx.b.r("SEL", imm(high), out, above)


def _finish(ctx: "Ctx", i: Instr, value: Opnd, dtype: str) -> None:
    """The second operation, and the result."""
    dst = i.ops[0]
    r = ctx.b.r
    op = i.sig.mods.get("op", "")
    if op:
        c = ctx.src(i.ops[3], "b32")
        value = r("IADD3", value, c, RZ) if op == "add" else _choose(ctx, op == "min", dtype, value, c)
    elif dst.comp:
        raise ctx.unsupported(f"'{i.sig.text}' with a part of a register as destination")
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
            # ptxas compares the unclamped difference with c in a way the manual does not describe.
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
        raise ctx.unsupported(f"'{i.sig.text}' of mixed signedness")
    if name == "vabsdiff":
        high, low = _choose(ctx, False, atype, a, b), _choose(ctx, True, atype, a, b)
        value = r("IADD3", high, negated(low), RZ)
        if saturate and is_signed(dtype):
            # The difference is an unsigned number.
            value = r("VIMNMX.U32" if ctx.target.sm >= 90 else "IMNMX.U32", value, imm(0x7FFFFFFF), PT)
    else:
        value = _choose(ctx, name == "vmin", atype, a, b)
        if saturate and is_signed(atype) != is_signed(dtype):
            value = _clamp(ctx, _wide(ctx, value, atype), dtype)
    _finish(ctx, i, value, dtype)


@lowers("vshl", "vshr", types="any")
def lower_video_shift(ctx: "Ctx", i: Instr) -> None:
    """vshl and vshr; the amount is clamped at 32 or taken modulo 32."""
    dtype, atype, btype = i.sig.types[:3]
    a, n = _part(ctx, i.ops[1], atype), _part(ctx, i.ops[2], btype)
    if "sat" in i.sig.mods:
        raise ctx.unsupported(f"'{i.sig.text}'")
    if i.sig.mods.get("wrap") == "wrap":
        n = ctx.b.r("LOP3.LUT", n, imm(31), RZ, imm(0xC0), NOT_PT)
    if i.sig.name == "vshl":
        value = ctx.b.r("SHF.L.U32", a, n, RZ)
    else:
        value = ctx.b.r("SHF.R.S32.HI" if is_signed(atype) else "SHF.R.U32.HI", RZ, n, a)
    _finish(ctx, i, value, dtype)


@lowers("vset", types="any")
def lower_video_set(ctx: "Ctx", i: Instr) -> None:
    """vset: 1 or 0."""
    atype, btype = i.sig.types[:2]
    if is_signed(atype) != is_signed(btype):
        raise ctx.unsupported(f"'{i.sig.text}' of mixed signedness")
    p, _ = compare(ctx, i.sig.mods["cmp"], atype, _part(ctx, i.ops[1], atype), _part(ctx, i.ops[2], btype), False)
    _finish(ctx, i, ctx.b.r("SEL", imm(1), RZ, p), "u32")


@lowers("vmad", types="any")
def lower_video_mad(ctx: "Ctx", i: Instr) -> None:
    """vmad without scaling, rounding or saturation."""
    atype, btype = i.sig.types[1:3]
    mods = i.sig.mods
    if "scale" in mods or "po" in mods or "sat" in mods:
        raise ctx.unsupported(f"'{i.sig.text}'")
    a, b = _part(ctx, i.ops[1], atype), _part(ctx, i.ops[2], btype)
    if i.ops[1].neg != i.ops[2].neg:
        b = ctx.b.r("IADD3", negated(b), RZ, RZ)
    c = ctx.src(whole(i.ops[3]), "b32")
    if i.ops[3].neg:
        c = ctx.b.r("IADD3", negated(c), RZ, RZ)
    ctx.write(i.ops[0], ctx.b.r("IMAD", a, b, c))
