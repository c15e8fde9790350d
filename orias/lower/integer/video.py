"""Scalar video instructions as integer operations: vadd vsub vabsdiff vmin vmax vshl vshr vset vmad.

Operands are bytes, halves or words (``Operand.comp``), extended by their types.  The result may be saturated to the
destination type; a second operation may then combine it with c.  A result that needs more than 32 bits is a 64-bit value.
Results are those of the PTX manual; where ptxas 13.0.88 computes something else, docs/facts/arithmetic.md says so.
"""

from typing import Final

from orias.isa.operand import NEG, NOT_PT, PT, RZ, Opnd, imm, imm64
from orias.lower.frame.context import Ctx
from orias.lower.frame.params import extract_selector
from orias.lower.frame.registry import lowers
from orias.lower.integer.add_multiply import negated
from orias.lower.integer.compare import compare
from orias.lower.integer.widen import is_signed
from orias.ptx.ast import Instr, Operand

_PART: Final[dict[str, tuple[int, int]]] = {
    "b0": (0, 8), "b1": (1, 8), "b2": (2, 8), "b3": (3, 8), "h0": (0, 16), "h1": (2, 16),
}  # fmt: skip
"""Parts of a register: (first byte, bits)."""


_ALL: Final = 0xFFFFFFFF
_WRAPPED: Final = ("vadd", "vsub", "vshl")
"""Operations whose results are 32 bits before they are compared with a signed c, as in code of ptxas 13.0.88."""
_INSERT: Final[dict[str, int]] = {
    "b0": 0x3214, "b1": 0x3240, "b2": 0x3410, "b3": 0x4210, "h0": 0x3254, "h1": 0x5410,
}  # fmt: skip
"""PRMT selectors that put the low part of a result into a register."""


def whole(o: Operand) -> Operand:
    """The register operand without its part selector."""
    out = Operand(o.kind)
    out.var, out.func, out.value, out.imm_type = o.var, o.func, o.value, o.imm_type
    return out


def _part(ctx: Ctx, o: Operand, type_: str) -> Opnd:
    """The selected part of an operand, extended to 32 bits by its type."""
    value = ctx.src(whole(o), "b32")
    if o.comp not in _PART:
        return value
    byte, bits = _PART[o.comp]
    return ctx.b.r("PRMT", value, imm(extract_selector(byte, bits, is_signed(type_))), RZ)


class _Number:
    """A whole number in registers: a word, read by its type (``u32``, ``s32``), or two words (``u64``, ``s64``)."""

    __slots__ = ("kind", "value")

    def __init__(self, value: Opnd, kind: str) -> None:
        self.value: Final[Opnd] = value
        self.kind: Final[str] = kind

    def signed(self) -> bool:
        """Whether it may be negative."""
        return self.kind[0] == "s"

    def word(self, ctx: Ctx) -> Opnd:
        """Its low 32 bits."""
        return self.value if self.kind[1:] == "32" else ctx.lo(self.value)

    def wide(self, ctx: Ctx) -> Opnd:
        """Its 64 bits."""
        return _wide(ctx, self.value, self.kind) if self.kind[1:] == "32" else self.value


def _wide(ctx: Ctx, value: Opnd, type_: str) -> Opnd:
    return ctx.b.r("sext64", value, width=2) if is_signed(type_) else ctx.b.pack(value, imm(0))


def _choose(ctx: Ctx, low: bool, type_: str, a: Opnd, b: Opnd) -> Opnd:
    return ctx.b.r(ctx.min_max(is_signed(type_)), a, b, PT if low else NOT_PT)


def _clamp(ctx: Ctx, n: _Number, bits: int, dtype: str) -> Opnd:
    """The low word of a number limited to so many bits of a type."""
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if is_signed(dtype) else (0, (1 << bits) - 1)
    if n.kind == "u32":
        return n.value if high == _ALL else _choose(ctx, True, "u32", n.value, imm(high))
    value = n.wide(ctx)
    above = ctx.b.pred(f"isetp64.GT.{'S64' if n.signed() else 'U64'}", value, imm64(high), PT)
    out = n.word(ctx)
    if n.signed():
        out = ctx.b.r("SEL", imm(low), out, ctx.b.pred("isetp64.LT.S64", value, imm64(low), PT))
    return ctx.b.r("SEL", imm(high), out, above)


def _finish(ctx: Ctx, i: Instr, n: _Number, dtype: str) -> None:
    """Saturate a number, apply the second operation or insert the result into c, and write it."""
    dst = i.ops[0]
    r = ctx.b.r
    sat = "sat" in i.sig.mods
    if dst.comp:
        low = _clamp(ctx, n, _PART[dst.comp][1], dtype) if sat else n.word(ctx)
        ctx.write(whole(dst), r("PRMT", ctx.src(i.ops[3], "b32"), imm(_INSERT[dst.comp]), low))
        return
    if sat and n.kind != dtype:
        n = _Number(_clamp(ctx, n, 32, dtype), dtype)
    ctx.write(whole(dst), _combined(ctx, i, n, dtype))


def _combined(ctx: Ctx, i: Instr, n: _Number, dtype: str) -> Opnd:
    """The result after the second operation, if there is one."""
    op = i.sig.mods.get("op", "")
    value = n.word(ctx)
    if not op:
        return value
    c = ctx.src(i.ops[3], "b32")
    if op == "add":
        return ctx.b.r("IADD3", value, c, RZ)
    low = op == "min"
    if i.sig.name in _WRAPPED or not is_signed(dtype) or n.kind == "s32":
        return _choose(ctx, low, dtype, value, c)
    if n.kind == "u32":
        if low:
            return _choose(ctx, True, "s32", _choose(ctx, True, "u32", value, imm(0x7FFFFFFF)), c)
        return _choose(ctx, False, "u32", value, _choose(ctx, False, "s32", c, imm(0)))
    first = ctx.b.pred(f"isetp64.{'LT' if low else 'GT'}.S64", n.wide(ctx), _wide(ctx, c, "s32"), PT)
    return ctx.b.r("SEL", value, c, first)


@lowers("vadd", "vsub", "vabsdiff", "vmin", "vmax", types="any")
def lower_video(ctx: Ctx, i: Instr) -> None:
    """vadd, vsub, vabsdiff, vmin, vmax."""
    dtype, atype, btype = i.sig.types[:3]
    a, b = _part(ctx, i.ops[1], atype), _part(ctx, i.ops[2], btype)
    name = i.sig.name
    if name in ("vadd", "vsub"):
        n = _sum(ctx, _Number(a, atype), _Number(b, btype), name == "vsub", "sat" in i.sig.mods)
    elif is_signed(atype) != is_signed(btype):
        n = _mixed(ctx, name, _wide(ctx, a, atype), _wide(ctx, b, btype))
    elif name == "vabsdiff":
        high, low = _choose(ctx, False, atype, a, b), _choose(ctx, True, atype, a, b)
        n = _Number(ctx.b.r("IADD3", high, negated(low), RZ), "u32")
    else:
        n = _Number(_choose(ctx, name == "vmin", atype, a, b), atype)
    _finish(ctx, i, n, dtype)


def _sum(ctx: Ctx, a: _Number, b: _Number, minus: bool, exact: bool) -> _Number:
    """a + b or a - b, of which 32 bits do if the result is not saturated."""
    if not exact:
        return _Number(ctx.b.r("IADD3", a.value, negated(b.value) if minus else b.value, RZ), "u32")
    wide = b.wide(ctx)
    return _Number(ctx.b.r("iadd64", a.wide(ctx), wide | NEG if minus else wide, width=2), "s64")


def _mixed(ctx: Ctx, name: str, a: Opnd, b: Opnd) -> _Number:
    """vabsdiff, vmin, vmax of a signed and an unsigned operand, in 64 bits."""
    r = ctx.b.r
    first = ctx.b.pred(f"isetp64.{'LT' if name == 'vmin' else 'GT'}.S64", a, b, PT)
    x, y = a, b
    if name == "vabsdiff":
        x, y = r("iadd64", a, b | NEG, width=2), r("iadd64", b, a | NEG, width=2)
    low, high = [r("SEL", half(x), half(y), first) for half in (ctx.lo, ctx.hi)]
    return _Number(ctx.b.pack(low, high), "s64")


@lowers("vshl", "vshr", types="any")
def lower_video_shift(ctx: Ctx, i: Instr) -> None:
    """vshl and vshr; the amount is clamped at 32 or taken modulo 32."""
    dtype, atype, btype = i.sig.types[:3]
    r = ctx.b.r
    a, n = _part(ctx, i.ops[1], atype), _part(ctx, i.ops[2], btype)
    if i.sig.mods.get("wrap") == "wrap":
        n = r("LOP3.LUT", n, imm(31), RZ, imm(0xC0), NOT_PT)
    if i.sig.name == "vshr":
        value = r("SHF.R.S32.HI" if is_signed(atype) else "SHF.R.U32.HI", RZ, n, a)
        _finish(ctx, i, _Number(value, atype), dtype)
        return
    if "sat" not in i.sig.mods:
        _finish(ctx, i, _Number(r("SHF.L.U32", a, n, RZ), "u32"), dtype)
        return
    n = _choose(ctx, True, "u32", n, imm(32))
    wide = _wide(ctx, a, atype)
    high = r("SHF.L.U64.HI", ctx.lo(wide), n, ctx.hi(wide))
    _finish(ctx, i, _Number(ctx.b.pack(r("SHF.L.U32", a, n, RZ), high), f"{atype[0]}64"), dtype)


@lowers("vset", types="any")
def lower_video_set(ctx: Ctx, i: Instr) -> None:
    """vset: 1 or 0; a second operation takes c without sign."""
    atype, btype = i.sig.types[:2]
    a, b = _part(ctx, i.ops[1], atype), _part(ctx, i.ops[2], btype)
    kind = atype
    if is_signed(atype) != is_signed(btype):
        a, b, kind = _wide(ctx, a, atype), _wide(ctx, b, btype), "s64"
    p, _ = compare(ctx, i.sig.mods["cmp"], kind, a, b, False)
    _finish(ctx, i, _Number(ctx.b.r("SEL", imm(1), RZ, p), "u32"), "u32")


@lowers("vmad", types="any")
def lower_video_mad(ctx: Ctx, i: Instr) -> None:
    """vmad: the exact product plus c (and 1 with .po), shifted right, saturated; signed if any of it can be negative."""
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
    positive = not (is_signed(atype) or is_signed(btype))
    signed = not positive or minus or minus_c
    product = _product(ctx, _Number(a, atype), _Number(b, btype))
    wide_c = _wide(ctx, c, "s32" if signed else "u32")
    total = r("iadd64", product | NEG if minus else product, wide_c | NEG if minus_c else wide_c, width=2)
    if "po" in mods:
        total = r("iadd64", total, imm64(1), width=2)
    if "scale" in mods:
        count = imm(int(mods["scale"][3:]))
        low = r("SHF.R.U32", ctx.lo(total), count, ctx.hi(total))
        total = ctx.b.pack(low, r("SHF.R.S32.HI" if signed else "SHF.R.U32.HI", RZ, count, ctx.hi(total)))
    if "sat" not in mods:
        ctx.write(i.ops[0], ctx.lo(total))
        return
    out = _clamp(ctx, _Number(total, "s64" if signed else "u64"), 32, "s32" if signed else "u32")
    if positive and signed:
        # A product of 2^63 or more has no bit left for its sign.
        large = ctx.b.setp("ISETP.LT.AND", ctx.hi(product), RZ, PT)
        out = r("SEL", imm(0x80000000 if minus else 0x7FFFFFFF), out, large)
    ctx.write(i.ops[0], out)


def _product(ctx: Ctx, a: _Number, b: _Number) -> Opnd:
    """The 64 bits of a product."""
    r = ctx.b.r
    if a.signed() == b.signed():
        return r("IMAD.WIDE" if a.signed() else "IMAD.WIDE.U32", a.value, b.value, imm64(0), width=2)
    out = r("IMAD.WIDE.U32", a.value, b.value, imm64(0), width=2)
    signed, other = (a, b) if a.signed() else (b, a)
    sign = r("SHF.R.S32.HI", RZ, imm(31), signed.value)
    excess = r("LOP3.LUT", sign, other.value, RZ, imm(0xC0), NOT_PT)
    return ctx.b.pack(ctx.lo(out), r("IADD3", ctx.hi(out), negated(excess), RZ))
