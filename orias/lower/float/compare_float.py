"""Comparison, and selection by comparison, of floating-point types: setp set slct.

Forms measured with ptxas 13.0.88 for sm_75 to sm_90.
"""

from typing import Final

from orias.isa.operand import K_P, NOT_PT, PT, RZ, Opnd, imm
from orias.lower.float.fp import ONE_F32, half_src, select64
from orias.lower.frame.context import Ctx
from orias.lower.frame.registry import lowers
from orias.ptx.ast import O_PAIR, O_SINK, Instr, Operand

_NOT: Final[dict[str, str]] = {
    "eq": "neu", "neu": "eq", "ne": "equ", "equ": "ne", "lt": "geu", "geu": "lt", "le": "gtu", "gtu": "le",
    "gt": "leu", "leu": "gt", "ge": "ltu", "ltu": "ge", "num": "nan", "nan": "num",
}  # fmt: skip
"""Comparison -> its complement, with unordered operands on the other side."""


def _cmp_mods(i: Instr, cmp: str) -> str:
    """``.LT.FTZ.AND``: comparison, flush and the operation with the third predicate, in printed order."""
    mods = i.sig.mods
    return f".{cmp.upper()}{'.FTZ' if 'ftz' in mods else ''}.{mods.get('bool', 'and').upper()}"


def _compare(ctx: Ctx, i: Instr, cmp: str, a: Opnd, b: Opnd, c: Opnd) -> Opnd:
    """A predicate: comparison of two f32 or f64 values combined with `c`."""
    base = "DSETP" if i.sig.types[-1] == "f64" else "FSETP"
    return ctx.b.setp(base + _cmp_mods(i, cmp), a, b, c)


def _third(ctx: Ctx, i: Instr) -> Opnd:
    return ctx.pred_src(i.ops[3]) if len(i.ops) > 3 else PT


@lowers("setp", types="f32,f64")
def setp(ctx: Ctx, i: Instr) -> None:
    """``setp.f32`` and ``setp.f64``; the second predicate is the opposite comparison combined the same way."""
    t = i.sig.types[-1]
    a = ctx.src(i.ops[1], t)
    b = ctx.src(i.ops[2], t)
    c = _third(ctx, i)
    cmp = i.sig.mods["cmp"]
    d = i.ops[0]
    if d.kind != O_PAIR:
        ctx.write_pred(d, _compare(ctx, i, cmp, a, b, c))
        return
    p = _compare(ctx, i, cmp, a, b, c)
    q = _compare(ctx, i, _NOT[cmp], a, b, c)
    ctx.write_pred(d.elems[0], p)
    ctx.write_pred(d.elems[1], q)


@lowers("setp", types="f16,bf16")
def setp_half(ctx: Ctx, i: Instr) -> None:
    """``setp`` of halves; the packed types give one predicate per half."""
    t = i.sig.types[-1]
    name = "HSETP2" + (".BF16_V2" if t.startswith("bf16") else "") + _cmp_mods(i, i.sig.mods["cmp"])
    a = half_src(ctx, i.ops[1], t)
    b = half_src(ctx, i.ops[2], t)
    c = _third(ctx, i)
    d = i.ops[0]
    if not t.endswith("x2"):
        ctx.write_pred(d, ctx.b.setp(name, a, b, c))
        return
    targets: list[Operand] = d.elems if d.kind == O_PAIR else [d]
    p = ctx.fn.new_vreg(K_P)
    q = ctx.fn.new_vreg(K_P) if len(targets) > 1 and targets[1].kind != O_SINK else PT
    ctx.b.emit(name, [p, q], [a, b, c])
    ctx.write_pred(targets[0], p)
    if q != PT:
        ctx.write_pred(targets[1], q)


@lowers("set", types="f32,f64")
def set_float(ctx: Ctx, i: Instr) -> None:
    """``set.dtype.f32`` and ``set.dtype.f64``: all ones (integers) or 1.0 (f32) if the comparison holds."""
    t = i.sig.types[-1]
    a = ctx.src(i.ops[1], t)
    b = ctx.src(i.ops[2], t)
    c = _third(ctx, i)
    cmp = i.sig.mods["cmp"]
    as_float = i.sig.types[0] == "f32"
    if as_float and t == "f32" and "ftz" not in i.sig.mods:
        ctx.write(i.ops[0], ctx.b.r("FSET.BF" + _cmp_mods(i, cmp), a, b, c))
        return
    p = _compare(ctx, i, cmp, a, b, c)
    ctx.write(i.ops[0], ctx.b.r("SEL", imm(ONE_F32) if as_float else imm(0xFFFFFFFF), RZ, p))


_ONES: Final[dict[str, int]] = {"f16": 0x3C003C00, "bf16": 0x3F803F80}


@lowers("set", types="f16,bf16")
def set_half(ctx: Ctx, i: Instr) -> None:
    """``set`` of halves: the result type is a half type (1.0), a 16-bit integer, or a 32-bit one (all ones)."""
    dt, t = i.sig.types
    a = half_src(ctx, i.ops[1], t)
    b = half_src(ctx, i.ops[2], t)
    base = "HSET2" + (".BF16_V2" if t.startswith("bf16") else "")
    mods = _cmp_mods(i, i.sig.mods["cmp"])
    kind = dt.removesuffix("x2")
    if kind == t.removesuffix("x2") and "ftz" not in i.sig.mods:
        ctx.write(i.ops[0], ctx.b.r(f"{base}.BF{mods}", a, b, _third(ctx, i)))
        return
    d = ctx.b.r(base + mods, a, b, _third(ctx, i))
    if kind in _ONES:
        d = ctx.b.r("LOP3.LUT", d, imm(_ONES[kind]), RZ, imm(0xC0), NOT_PT)
    elif dt in ("u32", "s32") and not t.endswith("x2"):
        d = ctx.b.r("PRMT", d, imm(0x9910), RZ)
    ctx.write(i.ops[0], d)


@lowers("slct", types="f32")
def slct(ctx: Ctx, i: Instr) -> None:
    """``slct.dtype.f32``: the first value if the f32 selector is not less than zero (NaN selects the second)."""
    c = ctx.src(i.ops[3], "f32")
    p = ctx.b.setp("FSETP.GE.FTZ.AND" if "ftz" in i.sig.mods else "FSETP.GE.AND", c, RZ, PT)
    _select(ctx, i, i.sig.types[0], p)


def _select(ctx: Ctx, i: Instr, type_: str, p: Opnd) -> None:
    a = ctx.src(i.ops[1], type_)
    b = ctx.src(i.ops[2], type_)
    if type_ in ("f64", "b64", "u64", "s64"):
        ctx.write(i.ops[0], select64(ctx, a, b, p))
    else:
        ctx.write(i.ops[0], ctx.b.r("FSEL" if type_ == "f32" else "SEL", a, b, p))
