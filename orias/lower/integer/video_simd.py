"""SIMD video instructions, lane by lane: vadd vsub vavrg vabsdiff vmin vmax vset on two halves or four bytes.

Each operand takes its lanes from the eight bytes of a and b.  The destination's mask says which lanes are computed; the
other lanes come from c.  With ``.add`` the computed lanes are summed and added to c.  ``tests/forms/video_forms.py``
compares the results with those of ptxas 13.0.88.
"""

from typing import Final

from orias.isa.operand import NEG, NOT_PT, PT, RZ, Opnd, imm
from orias.lower.frame.context import Ctx
from orias.lower.frame.params import extract_selector, insert_selector
from orias.lower.frame.registry import lowers
from orias.lower.integer.video import whole
from orias.lower.integer.widen import is_signed
from orias.ptx.ast import Instr

_COMPARE: Final[dict[str, str]] = {"eq": "EQ", "ne": "NE", "lt": "LT", "le": "LE", "gt": "GT", "ge": "GE"}
_DEFAULT: Final[dict[int, tuple[str, str]]] = {2: ("10", "32"), 4: ("3210", "7654")}
"""Lanes of a and b where no selector is given, highest first."""


@lowers(
    "vadd2", "vsub2", "vavrg2", "vabsdiff2", "vmin2", "vmax2", "vset2", "vadd4", "vsub4", "vavrg4", "vabsdiff4", "vmin4", "vmax4", "vset4",
    types="any",
)  # fmt: skip
def lower_video_simd(ctx: Ctx, i: Instr) -> None:
    """All SIMD video instructions: extract the lanes, compute in 32 bits, saturate, insert."""
    name = i.sig.name
    lanes = int(name[-1])
    bits = 32 // lanes
    types = i.sig.types
    dtype, atype, btype = types[:3] if len(types) == 3 else ("u32", types[0], types[1])
    a, b = ctx.src(whole(i.ops[1]), "b32"), ctx.src(whole(i.ops[2]), "b32")
    x = _lanes(ctx, i.ops[1].comp[1:] or _DEFAULT[lanes][0], bits, a, b)
    y = _lanes(ctx, i.ops[2].comp[1:] or _DEFAULT[lanes][1], bits, a, b)
    c = ctx.src(i.ops[3], "b32")
    mask = [int(d) for d in i.ops[0].comp[1:]] or list(range(lanes))
    summed = "op" in i.sig.mods
    out = c
    for lane in mask:
        byte = lane * bits // 8
        u = ctx.b.r("PRMT", x, imm(extract_selector(byte, bits, is_signed(atype))), RZ)
        v = ctx.b.r("PRMT", y, imm(extract_selector(byte, bits, is_signed(btype))), RZ)
        t = _lane(ctx, i, name[1:-1], u, v)
        if "sat" in i.sig.mods:
            low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if is_signed(dtype) else (0, (1 << bits) - 1)
            t = _limit(ctx, _limit(ctx, t, low, False), high, True)
        out = ctx.b.r("IADD3", out, t, RZ) if summed else ctx.b.r("PRMT", out, imm(insert_selector(byte, bits)), t)
    ctx.write(whole(i.ops[0]), out)


def _lanes(ctx: Ctx, selection: str, bits: int, a: Opnd, b: Opnd) -> Opnd:
    """A word of the selected lanes of a (low lane numbers) and b (high lane numbers)."""
    step = bits // 8
    selector = 0
    for k, digit in enumerate(reversed(selection)):
        for j in range(step):
            selector |= (int(digit) * step + j) << 4 * (k * step + j)
    if selector == 0x3210:
        return a
    return b if selector == 0x7654 else ctx.b.r("PRMT", a, imm(selector), b)


def _limit(ctx: Ctx, value: Opnd, bound: int, low: bool) -> Opnd:
    """The lower (`low`) or higher of a signed word and a constant."""
    return ctx.b.r(ctx.target.spelling("signed_min_max"), value, imm(bound), PT if low else NOT_PT)


def _lane(ctx: Ctx, i: Instr, what: str, u: Opnd, v: Opnd) -> Opnd:
    """The operation on two extended lanes; 32 bits hold every result."""
    r = ctx.b.r
    if what == "add":
        return r("IADD3", u, v, RZ)
    if what == "sub":
        return r("IADD3", u, v | NEG, RZ)
    if what == "absdiff":
        return r("IABS", r("IADD3", u, v | NEG, RZ))
    if what in ("min", "max"):
        return r(ctx.target.spelling("signed_min_max"), u, v, PT if what == "min" else NOT_PT)
    if what == "avrg":
        # Averages round halves away from zero: 1 is added to sums that are not negative.
        total = r("IADD3", u, v, RZ)
        positive = r("SHF.R.U32.HI", RZ, imm(31), r("LOP3.LUT", RZ, total, RZ, imm(0x33), NOT_PT))
        return r("SHF.R.S32.HI", RZ, imm(1), r("IADD3", total, positive, RZ))
    assert what == "set"
    return r("SEL", imm(1), RZ, ctx.b.setp(f"ISETP.{_COMPARE[i.sig.mods['cmp']]}.AND", u, v, PT))
