"""``cvt`` between integers, floats and packed formats, and ``cvt.pack``.

Forms measured with ptxas 13.0.88 for sm_75 to sm_121.  PTX leaves the upper bits of a destination register wider than
the type unspecified; they are filled as ptxas does, by sign or zero extension from the destination type.
"""

from typing import Final

from orias.isa.operand import (
    ABS,
    K_R,
    NEG,
    NOT_PT,
    PT,
    RZ,
    S_F32,
    S_H0,
    S_H0_H0,
    Opnd,
    imm,
    imm64,
    in_file,
    is_reg,
    with_suffix,
)
from orias.lower.float.approx import in_register
from orias.lower.float.fp import MIN_NORMAL_F32, ONE_F32, RND, RND_INT, ftz32, neg_zero_half, sat32, sat64, sat_half
from orias.lower.frame.context import Ctx
from orias.lower.frame.registry import lowers
from orias.lower.integer.convert_int import clamp, int_to_int
from orias.lower.integer.widen import INT_BITS, extend, is_signed
from orias.ptx.ast import Instr
from orias.target import features

_FLOATS: Final[frozenset[str]] = frozenset(("f16", "bf16", "f32", "f64"))
_FP8: Final = frozenset(("e4m3x2", "e5m2x2"))
_NARROW: Final[dict[str, str]] = {
    **{f"{t.lower()}{count}": t for t in ("E4M3", "E5M2", "E2M3", "E3M2", "E2M1") for count in ("x2", "x4")},
    "s2f6x2": "S2_6",
}
"""PTX types of two or four floats of up to 8 bits, and the name that operations have for the format."""
_F2I_TYPE: Final[dict[str, str]] = {"s32": "", "u32": ".U32", "u8": ".U8", "s8": ".S8", "u16": ".U16", "s16": ".S16", "u64": ".U64",
                                    "s64": ".S64"}  # fmt: skip
_UNIT_SCALES: Final = 0x7F7F
"""Two scales ue8m0 of 1."""
_F2FP_RND: Final[dict[str, str]] = {**RND, "rs": ".RS"}
_FLOAT_SRC: Final[dict[str, str]] = {"f16": ".F16", "bf16": ".BF16", "f32": "", "f64": ".F64"}


@lowers("cvt")
def cvt(ctx: Ctx, i: Instr) -> None:
    """Every ``cvt``, dispatched by the classes of the two types."""
    types = i.sig.types
    if len(types) != 2:
        raise ctx.unsupported(f"'{i.sig.text}'")
    d, s = types
    if d in INT_BITS and s in INT_BITS:
        int_to_int(ctx, i, d, s)
    elif d in INT_BITS and s in _FLOATS:
        _float_to_int(ctx, i, d, s)
    elif d in _FLOATS and s in INT_BITS:
        _int_to_float(ctx, i, d, s)
    elif d in _FLOATS and s in _FLOATS:
        _float_to_float(ctx, i, d, s)
    elif d in ("f16x2", "bf16x2") and s == "f32":
        _pack_half(ctx, i, d)
    elif d == "tf32" and s == "f32":
        _to_tf32(ctx, i)
    elif d in _NARROW and s in ("f32", "f16x2", "bf16x2"):
        _to_narrow(ctx, i, d, s)
    elif d == "f16x2" and s in _NARROW:
        relu = ".RELU" if "relu" in i.sig.mods else ""
        a = in_register(ctx, ctx.src(i.ops[1], s))
        ctx.write(i.ops[0], ctx.b.r(f"F2FP{relu}.F16.{_NARROW[s]}.UNPACK_B", a))
    elif d == "bf16x2" and s in _NARROW:
        _narrow_to_bfloat(ctx, i, s)
    elif d == "ue8m0x2":
        _to_scales(ctx, i, s)
    elif d == "bf16x2" and s == "ue8m0x2":
        ctx.write(i.ops[0], ctx.b.r("F2FP.BF16.E8.UNPACK_B", in_register(ctx, ctx.src(i.ops[1], s))))
    else:
        raise ctx.unsupported(f"'{i.sig.text}'")


@lowers("cvt.pack")
def cvt_pack(ctx: Ctx, i: Instr) -> None:
    """``cvt.pack.sat``: two saturated narrow integers; to 8 bits, above them the third operand, shifted up."""
    t = i.sig.types[0]
    if t in _TINY_BITS:
        ctx.write(i.ops[0], _pack_tiny(ctx, i, t))
        return
    if t not in ("u16", "s16", "u8", "s8"):
        raise ctx.unsupported(f"'{i.sig.text}'")
    src = [in_register(ctx, ctx.src(o, "b32")) for o in i.ops[1:]]
    if len(src) == 2:
        src.append(RZ)
    ctx.write(i.ops[0], ctx.b.r(f"I2IP.{t.upper()}.S32.SAT", *src))


_TINY_BITS: Final[dict[str, int]] = {"u4": 4, "s4": 4, "u2": 2, "s2": 2}


def _pack_tiny(ctx: Ctx, i: Instr, t: str) -> Opnd:
    """``cvt.pack`` to 4 and 2 bits by shifts and logic: I2IP would rotate the third operand, not shift it."""
    b = ctx.b
    n = _TINY_BITS[t]
    low, high = (-(1 << (n - 1)), (1 << (n - 1)) - 1) if is_signed(t) else (0, (1 << n) - 1)
    first, second = [clamp(ctx, ctx.src(o, "b32"), low, high) for o in i.ops[1:3]]
    mask = (1 << n) - 1
    second = b.r("LOP3.LUT", second, imm(mask), RZ, imm(0xC0), NOT_PT)
    pair = b.r("LOP3.LUT", b.r("SHF.L.U32", first, imm(n), RZ), imm(mask << n), second, imm(0xEA), NOT_PT)
    rest = b.r("SHF.L.U32", ctx.src(i.ops[3], "b32"), imm(2 * n), RZ)
    return b.r("LOP3.LUT", rest, pair, RZ, imm(0xFC), NOT_PT)


def _float_to_int(ctx: Ctx, i: Instr, d: str, s: str) -> None:
    """F2I, which saturates.  Only forms without a 64-bit type have .NTZ, which gives 0 for NaN."""
    mods = i.sig.mods
    a = in_register_or_pair(ctx, ctx.src(i.ops[1], s), s)
    wide = INT_BITS[d] == 64
    name = "F2I"
    if "ftz" in mods and s == "f32":
        if not wide:
            name += ".FTZ"
        elif mods["rnd"] in ("rmi", "rpi"):
            a = ctx.b.r("FMUL.FTZ", a, imm(ONE_F32))
    name += _F2I_TYPE[d] + _FLOAT_SRC[s] + RND_INT[mods["rnd"]]
    if not wide and s != "f64":
        name += ".NTZ"
    value = ctx.b.r(name, a, width=2 if wide else 1)
    if INT_BITS[d] == 8 or (INT_BITS[d] == 16 and s == "f64" and ctx.reg_bits(i.ops[0]) > 16):
        value = extend(ctx, value, d)
    write_int(ctx, i, d, value)


def write_int(ctx: Ctx, i: Instr, d: str, value: Opnd) -> None:
    """Write a word that already holds an integer of type `d`, extended; a 64-bit register gets the sign extension."""
    if ctx.words(value) == 1 and is_signed(d) and ctx.reg_bits(i.ops[0]) == 64:
        value = ctx.b.r("sext64", value, width=2)
    ctx.write(i.ops[0], value)


def in_register_or_pair(ctx: Ctx, a: Opnd, type_: str) -> Opnd:
    """The operand in a register or a pair, by its type."""
    return a if in_file(a, K_R) else ctx.b.copy(a, 2 if type_ in ("f64", "u64", "s64") else 1)


def _int_to_float(ctx: Ctx, i: Instr, d: str, s: str) -> None:
    mods = i.sig.mods
    rnd = RND[mods.get("rnd", "")]
    a = in_register_or_pair(ctx, ctx.src(i.ops[1], s), s)
    if d == "f32" and ctx.target.has(features.MOVES_INT_TO_FLOAT) and INT_BITS[s] <= 32 and rnd in ("", ".RZ"):
        value = ctx.b.r(f"I2FP.F32.{'S32' if is_signed(s) else 'U32'}{rnd}", extend(ctx, a, s))
    else:
        name = "I2F" + ("" if d == "f32" else "." + d.upper()) + _F2I_TYPE[s] + rnd
        value = ctx.b.r(name, a, width=2 if d == "f64" else 1)
    ctx.write(i.ops[0], _saturated(ctx, i, d, value))


def _saturated(ctx: Ctx, i: Instr, type_: str, value: Opnd) -> Opnd:
    """The value, clamped to [0, 1] if the instruction says ``.sat``."""
    if "sat" not in i.sig.mods:
        return value
    if type_ == "f32":
        return sat32(ctx, value)
    if type_ == "f64":
        return sat64(ctx, value)
    if type_ == "f16":
        return sat_half(ctx, value)
    raise ctx.unsupported(f"'{i.sig.text}'")


def _float_to_float(ctx: Ctx, i: Instr, d: str, s: str) -> None:
    mods = i.sig.mods
    if d == s:
        value = _same_type(ctx, i, d)
    elif d == "f32" and s in ("f16", "bf16"):
        value = _half_to_f32(ctx, i, s)
    elif d == "f64":
        a = in_register(ctx, ctx.src(i.ops[1], s))
        if "ftz" in mods and s == "f32":
            a = ctx.b.r("FMUL.FTZ", a, imm(ONE_F32))
        value = ctx.b.r(f"F2F.F64.{s.upper()}", a, width=2)
    elif d == "f32":
        a = in_register_or_pair(ctx, ctx.src(i.ops[1], "f64"), "f64")
        value = ctx.b.r("F2F.F32.F64" + RND[mods.get("rnd", "")], a)
        if "ftz" in mods:
            value = _saturated(ctx, i, d, value)
            ctx.write(i.ops[0], _flush_from_f64(ctx, mods.get("rnd", "rn"), a, value))
            return
    elif s == "f32":
        value = _f32_to_half(ctx, i, d)
    else:
        a = in_register_or_pair(ctx, ctx.src(i.ops[1], s), s)
        value = ctx.b.r(f"F2F.{d.upper()}.{s.upper()}{RND[mods.get('rnd', '')]}", a)
    ctx.write(i.ops[0], _saturated(ctx, i, d, value))


def _same_type(ctx: Ctx, i: Instr, t: str) -> Opnd:
    mods = i.sig.mods
    rnd = mods.get("rnd", "")
    ftz = "ftz" in mods
    if rnd == "":
        a = ctx.src(i.ops[1], t)
        return ftz32(ctx, a) if ftz and t == "f32" else a
    if rnd not in RND_INT:
        raise ctx.unsupported(f"'{i.sig.text}'")
    a = in_register_or_pair(ctx, ctx.src(i.ops[1], t), t)
    return ctx.b.r(f"FRND{'.FTZ' if ftz else ''}{_FLOAT_SRC[t]}{RND_INT[rnd]}", a, width=2 if t == "f64" else 1)


def _half_to_f32(ctx: Ctx, i: Instr, s: str) -> Opnd:
    a = in_register(ctx, ctx.src(i.ops[1], s))
    if s == "bf16":
        value = ctx.b.r("SHF.L.U32", a, imm(16), RZ)
        return ftz32(ctx, value) if "ftz" in i.sig.mods else value
    half = with_suffix(a, S_H0_H0)
    if ctx.target.has(features.WIDENS_HALF_TO_ZERO):
        return ctx.b.r("HADD2.F32", RZ | NEG, half)
    return ctx.b.r("HADD2.F32", half, neg_zero_half())


def _flush_from_f64(ctx: Ctx, rnd: str, a: Opnd, value: Opnd) -> Opnd:
    """Flush the f32 `value`, rounded from the f64 `a`, if it is tiny (rounded as if exponents had no limit)."""
    b = ctx.b
    if rnd == "rz":
        p = b.setp("FSETP.GEU.AND", value | ABS, imm(MIN_NORMAL_F32), PT)
    elif rnd == "rn":
        # 2**-126 - 2**-151, half a unit in the last place of the binade below: from here on rounding reaches 2**-126.
        p = b.setp("DSETP.GEU.AND", a | ABS, imm64(0x380FFFFFF0000000), PT)
    else:
        # Away from zero, values from 2**-126 - 2**-150 on become normal; towards zero, values below 2**-126 stay
        # subnormal.
        negative = b.setp("ISETP.LT.AND", ctx.hi(a), RZ, PT)
        away = negative if rnd == "rm" else negative ^ (PT ^ NOT_PT)
        limit = b.pack(b.r("SEL", imm(0xE0000000), RZ, away), b.r("SEL", imm(0x380FFFFF), imm(0x38100000), away))
        p = b.setp("DSETP.LEU.AND", limit, a | ABS, PT)
    d = ctx.fn.new_vreg()
    b.emit("FMUL", [d], [value, imm(MIN_NORMAL_F32)], p ^ (PT ^ NOT_PT), value)
    return d


def _f2fp(ctx: Ctx, i: Instr, half: str, shape: str) -> str:
    """Name of an F2FP operation from f32 to f16 or bf16; from sm_89 on the name has both types."""
    return (
        "F2FP" + _range_mods(i) + ctx.target.spelling(half + "_from_f32") + shape + _F2FP_RND[i.sig.mods.get("rnd", "")]
    )


def _range_mods(i: Instr) -> str:
    mods = i.sig.mods
    return (".SATFINITE" if "satfinite" in mods else "") + (".RELU" if "relu" in mods else "")


def _f32_to_half(ctx: Ctx, i: Instr, d: str) -> Opnd:
    mods = i.sig.mods
    rnd = mods.get("rnd", "")
    a = in_register(ctx, ctx.src(i.ops[1], "f32"))
    if "relu" in mods or "satfinite" in mods:
        if not ctx.target.has(features.PACKS_HALF):
            raise ctx.unsupported(f"'{i.sig.text}' on {ctx.target.name}")
        return ctx.b.r(_f2fp(ctx, i, d, ".PACK_AB"), RZ, a)
    if d == "f16" and not ctx.target.has(features.PACKS_HALF) and rnd == "rz":
        return ctx.b.r("HADD2", with_suffix(a, S_F32), neg_zero_half())
    ftz = "ftz" in mods and d == "bf16"
    if ctx.target.has(features.PACKS_HALF) and not ftz and rnd in ("rn", "rz"):
        return ctx.b.r(_f2fp(ctx, i, d, ".PACK_AB"), RZ, a)
    return ctx.b.r(f"F2F{'.FTZ' if ftz else ''}.{d.upper()}.F32{RND[rnd]}", a)


def _pack_half(ctx: Ctx, i: Instr, d: str) -> None:
    """``cvt.f16x2.f32 d, a, b``: a in the upper half; ``.rs`` has a word of random bits too."""
    if not ctx.target.has(features.PACKS_HALF):
        raise ctx.unsupported(f"'{i.sig.text}' on {ctx.target.name}")
    src = [in_register(ctx, ctx.src(o, "f32")) for o in i.ops[1:]]
    ctx.write(i.ops[0], ctx.b.r(_f2fp(ctx, i, d.removesuffix("x2"), ".PACK_AB"), *src))


def _to_tf32(ctx: Ctx, i: Instr) -> None:
    mods = i.sig.mods
    a = in_register(ctx, ctx.src(i.ops[1], "f32"))
    b = ctx.b
    rnd = mods["rnd"]
    if rnd != "rna":
        if not ctx.target.has(features.PACKS_TF32):
            raise ctx.unsupported(f"'{i.sig.text}' on {ctx.target.name}")
        ctx.write(i.ops[0], b.r(f"F2FP{_range_mods(i)}.TF32.F32.PACK_B{RND[rnd]}", a))
        return
    if "relu" in mods:
        raise ctx.unsupported(f"'{i.sig.text}'")
    special = b.setp("FSETP.GEU.AND", a | ABS, imm(0x7F800000), PT)
    up = ctx.fn.new_vreg()
    b.emit("IADD3", [up], [a, imm(0x1000), RZ], special ^ (PT ^ NOT_PT), a)
    value = b.r("LOP3.LUT", up, imm(0xFFFFE000), RZ, imm(0xC0), NOT_PT)
    if "satfinite" in mods:
        infinite = b.setp("FSETP.GEU.AND", value | ABS, imm(0x7F800000), PT)
        down = ctx.fn.new_vreg()
        b.emit("IADD3", [down], [value, imm(-0x2000), RZ], infinite, value)
        value = down
    ctx.write(i.ops[0], value)


def _to_narrow(ctx: Ctx, i: Instr, d: str, s: str) -> None:
    """Two or four values to floats of up to 8 bits.

    Of four, the last two are converted with the first two as what stands above them; these carry on the random bits.
    """
    if d in _FP8 and not ctx.target.has(features.CONVERTS_FP8):
        raise ctx.unsupported(f"'{i.sig.text}' on {ctx.target.name}")
    name = "F2FP" + _range_mods(i) + "." + _NARROW[d]
    last = _scale_above(ctx, i) if d == "s2f6x2" else RZ
    if s != "f32":
        half = ".BF16" if s == "bf16x2" else ".F16"
        ctx.write(i.ops[0], ctx.b.r(f"{name}{half}.UNPACK_B_MERGE_C", in_register(ctx, ctx.src(i.ops[1], s)), last))
        return
    name += ".F32.PACK_AB_MERGE_C" + _F2FP_RND[i.sig.mods["rnd"]]
    random = i.sig.mods["rnd"] == "rs"
    above = in_register(ctx, ctx.src(i.ops[2], "b32")) if random else last
    values = i.ops[1].elems if random else i.ops[1:3]
    for k in range(0, len(values), 2):
        pair = [in_register(ctx, ctx.src(o, "f32")) for o in values[k : k + 2]]
        above = ctx.b.r(name, *pair, above)
    ctx.write(i.ops[0], above)


def _scale_above(ctx: Ctx, i: Instr) -> Opnd:
    """The word with the two scales of a conversion to s2f6x2 in its upper half; without them, both are 1."""
    if "scaled" not in i.sig.mods:
        return ctx.b.copy(imm(_UNIT_SCALES << 16))
    return ctx.b.r("SHF.L.U32", ctx.src(i.ops[-1], "b16"), imm(16), RZ)


def _narrow_to_bfloat(ctx: Ctx, i: Instr, s: str) -> None:
    """Two floats of up to 8 bits to bfloat16, each times its scale."""
    scale = ctx.src(i.ops[-1], "b16") if "scaled" in i.sig.mods else imm(_UNIT_SCALES)
    scale = with_suffix(scale if is_reg(scale) else ctx.b.copy(scale), S_H0)
    name = f"F2FP{_range_mods(i)}.BF16.{_NARROW[s]}.UNPACK_B"
    ctx.write(i.ops[0], ctx.b.r(name, in_register(ctx, ctx.src(i.ops[1], s)), scale))


def _to_scales(ctx: Ctx, i: Instr, s: str) -> None:
    """Two f32 or bf16 to ue8m0, exponents of powers of two."""
    shape = ".F32.PACK_AB_MERGE_C" if s == "f32" else ".BF16.UNPACK_B_MERGE_C"
    src = [in_register(ctx, ctx.src(o, s)) for o in i.ops[1:]]
    ctx.write(i.ops[0], ctx.b.r("F2FP" + _range_mods(i) + ".E8" + shape + RND[i.sig.mods["rnd"]], *src, RZ))
