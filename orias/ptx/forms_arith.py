"""Integer, floating-point, logic, comparison, conversion and video instructions: forms, gates and rules.

:mod:`orias.ptx.form_table` and :mod:`orias.ptx.rules` define the notations.  Facts: docs/facts/front-end.md (opcodes).
"""

from typing import Final

_RND: Final = "rn/rz/rm/rp"
_MINMAX: Final = """
u16 s16 u32 u64 s64 ; D,S,S ;
s32 ; D,S,S ; relu
u16x2 ; D,S,S ; ; 8.0!90 {n}.{t0}
s16x2 ; D,S,S ; relu ; 8.0!90 {n}.{t0}
f32 ; D,S,S,S? ; ftz NaN xorsign abs
u8x4 ; D,S,S ; ; Fv9.2 n120af/121af : {n}.{t0}
s8x4 ; D,S,S ; relu ; Fv9.2 n120af/121af : {n}.{t0}
f64 ; D,S,S ;
f16 f16x2 ; D,S,S ; ftz NaN xorsign abs ; 7.0/80 {n}.f16 or {n}.f16x2
bf16 bf16x2 ; D,S,S ; NaN xorsign abs
"""
_MUL: Final = """
f32 ; D,S,S ; rn/rz/rm/rp ftz sat
f64 ; D,S,S ; rn/rz/rm/rp
f16 f16x2 ; D,S,S ; rn ftz sat ; 4.2/53 f16 arithemetic and compare instructions
bf16 bf16x2 ; D,S,S ; rn ; 7.8/90 {n}.{t0}
f32x2 ; D,S,S ; rn/rz/rm/rp ftz ; 8.6/100 {n}.{t0}
"""
_ADD: Final = """
s32 ; D,S,S ; sat cc
u64 s64 ; D,S,S ; cc
u16 s16 ; D,S,S ;
u8x4 s8x4 ; D,S,S ; sat ; Fv9.2 n120af/121af : {n}.{t0}
f32.f16 f32.bf16 ; D,S1,S ; rn/rz/rm/rp sat ; 8.6/100 {n}.{t}
"""
_INT: Final = "u16 s16 u32 s32 u64 s64"
_LOGIC: Final = "b16 b32 b64 pred ; D,S,S ;"
_CARRY: Final = "u32 s32 u64 s64 ; D,S,S ; cc | u16 s16 ; D,S,S ;"
_CMPI: Final = "!eq/ne/lt/le/gt/ge/lo/ls/hi/hs and/or/xor"
_CMPF: Final = "!eq/ne/lt/le/gt/ge/equ/neu/ltu/leu/gtu/geu/num/nan and/or/xor"
_SETSRC: Final = "b16 u16 s16 b32 u32 s32 b64 u64 s64 f32 f64"
_VIDEO: Final = """
u32.u32.u32 u32.u32.s32 u32.s32.u32 u32.s32.s32 s32.u32.u32 s32.u32.s32 s32.s32.u32 s32.s32.s32 ; D,S1,S2,S0? ; sat add/min/max
"""
_VIDEO24: Final = """
u32.u32.u32 u32.u32.s32 u32.s32.u32 u32.s32.s32 s32.u32.u32 s32.u32.s32 s32.s32.u32 s32.s32.s32 ; D,S1,S2,S0 ; sat add ; Fv3.0 I30
"""
_SHIFT: Final = """
u32.u32.u32 u32.u32.s32 u32.s32.u32 u32.s32.s32 s32.u32.u32 s32.u32.s32 s32.s32.u32 s32.s32.s32 ; D,S1,S2,S0? ; sat !clamp/wrap add/min/max
"""
_VSET: Final = "u32.u32 u32.s32 s32.u32 s32.s32 ; D,S0,S1,S0? ; !eq/ne/lt/le/gt/ge add/min/max"
_VSET24: Final = "u32.u32 u32.s32 s32.u32 s32.s32 ; D,S0,S1,S0 ; !eq/ne/lt/le/gt/ge add/min/max ; Fv3.0 I30"
_FMUFU: Final = "f32 ; D,S ; !approx ftz"
_FORMS_INT: Final = "u8 s8 u16 s16 u32 s32 u64 s64"


def _pairs(first: str, second: str) -> str:
    return " ".join(f"{a}.{b}" for a in first.split() for b in second.split())


def _conversions(widening: bool) -> str:
    """Integer pairs (to.from) whose result can always (``widening``), or not always, hold the source; only the latter saturate."""
    found: list[str] = []
    for to in _FORMS_INT.split():
        for source in _FORMS_INT.split():
            more = int(to[1:]) - int(source[1:])
            holds = to == source or (source[0] == "u" and more > 0) or (source[0] == to[0] == "s" and more >= 0)
            if holds == widening:
                found.append(f"{to}.{source}")
    return " ".join(found)


FORMS: Final[dict[str, str]] = {
    "add": _ADD + "u32 ; D,S,S ; sat cc\nu16x2 s16x2 ; D,S,S ; sat ; 8.0!90 {n}.{t0}\n" + _MUL,
    "sub": _ADD + "u32 ; D,S,S ; cc\n" + _MUL,
    "mul": _MUL,
    "mul.lo": f"{_INT} ; D,S,S ;",
    "mul.hi": f"{_INT} ; D,S,S ;",
    "mul.wide": "u16 s16 u32 s32 ; Dw,S,S ;",
    "mad": f"f32 ; D,S,S,S ; {_RND} ftz sat | f64 ; D,S,S,S ; !{_RND}",
    "mad.lo": "u16 s16 ; D,S,S,S ; | u32 s32 u64 s64 ; D,S,S,S ; cc",
    "mad.hi": "u16 s16 ; D,S,S,S ; | s32 ; D,S,S,S ; cc sat | u32 u64 s64 ; D,S,S,S ; cc",
    "mad.wide": "u16 s16 u32 s32 ; Dw,S,S,Sw ;",
    "addc": _CARRY,
    "subc": _CARRY,
    "madc.lo": "u32 s32 u64 s64 ; D,S,S,S ; cc | u16 s16 ; D,S,S,S ;",
    "madc.hi": "u32 s32 u64 s64 ; D,S,S,S ; cc | u16 s16 ; D,S,S,S ;",
    "mul24.lo": "u32 s32 ; D,S,S ;",
    "mul24.hi": "u32 s32 ; D,S,S ;",
    "mad24.lo": "u32 s32 ; D,S,S,S ;",
    "mad24.hi": "u32 ; D,S,S,S ; | s32 ; D,S,S,S ; sat",
    "sad": f"{_INT} ; D,S,S,S ;",
    "div": f"{_INT} ; D,S,S ; | f32 ; D,S,S ; !{_RND}/approx ftz | f64 ; D,S,S ; !{_RND}",
    "div.full": "f32 ; D,S,S ; ftz",
    "rem": f"{_INT} ; D,S,S ;",
    "abs": "s16 s32 s64 u16 u32 u64 ; D,S ; | f32 ; D,S ; ftz | f64 ; D,S ; | f16 f16x2 ; D,S ; ftz ; F53 Fv4.2 : f16 arithemetic and compare instructions, Fv6.5 : abs.f16 or abs.f16x2 | bf16 bf16x2 ; D,S",
    "neg": "s8x4 ; D,S ; ; Fv9.2 n120af/121af : {n}.{t0} | s16 s32 s64 u16 u32 u64 ; D,S ; | f32 ; D,S ; ftz | f64 ; D,S ; | f16 f16x2 ; D,S ; ftz ; F53 Fv4.2 : f16 arithemetic and compare instructions, Fv6.0 : neg.f16 or neg.f16x2 | bf16 bf16x2 ; D,S",
    "min": _MINMAX,
    "max": _MINMAX,
    "fma": f"""
f32 ; D,S,S,S ; !{_RND} ftz sat
f64 ; D,S,S,S ; !{_RND}
f16 f16x2 ; D,S,S,S ; !rn ftz sat relu oob ; 4.2/53 f16 arithemetic and compare instructions
bf16 bf16x2 ; D,S,S,S ; !{_RND} relu oob
f32x2 ; D,S,S,S ; !{_RND} ftz ; 8.6/100 {{n}}.{{t0}}
f32.f16 f32.bf16 ; D,S1,S1,S ; !{_RND} sat ; 8.6/100 {{n}}.{{t}}
""",
    "rcp": f"f32 ; D,S ; !{_RND}/approx ftz | f64 ; D,S ; !{_RND}/approx ftz",
    "sqrt": f"f32 ; D,S ; !{_RND}/approx ftz | f64 ; D,S ; !{_RND}",
    "rsqrt": "f32 f64 ; D,S ; !approx ftz",
    "sin": _FMUFU,
    "cos": _FMUFU,
    "lg2": _FMUFU,
    "ex2": _FMUFU + " | f16 f16x2 ; D,S ; !approx ; 7.0/75 ex2.f16/f16x2 | bf16 bf16x2 ; D,S ; !approx !ftz ; 7.8/90 {n}.{t0}",
    "tanh": "f32 ; D,S ; !approx ; 7.0/75 | f16 f16x2 ; D,S ; !approx ; 7.0/75 | bf16 bf16x2 ; D,S ; !approx ; F75 Fv7.0, F90 Fv7.8 : {n}.{t0}",
    "copysign": "f32 f64 ; D,S,S ; ; 2.0/20",
    "testp": "f32 f64 ; =P,S ; finite/infinite/number/notanumber/normal/subnormal ; 2.0/20",
    "popc": "b32 b64 ; =u32,S ; ; 2.0/20",
    "clz": "b32 b64 ; =u32,S ; ; 2.0/20",
    "bfind": "u32 s32 u64 s64 ; =u32,S ; shiftamt ; 2.0/20",
    "fns": "b32 ; D,S,S,S ; ; Fv6.0 I30",
    "brev": "b32 b64 ; D,S ; ; 2.0/20",
    "bfe": "u32 s32 u64 s64 ; D,S,u32,u32 ; ; 2.0/20",
    "bfi": "b32 b64 ; D,S,S,u32,u32 ; ; 2.0/20",
    "szext": "u32 s32 ; D,S,u32 ; !clamp/wrap ; I70 Fv7.6",
    "bmsk": "b32 ; =b32,u32,u32 ; !clamp/wrap ; I70 Fv7.6",
    "clmad.lo": "u64 ; D,S,S,S ; ; 9.3/80",
    "clmad.hi": "u64 ; D,S,S,S ; ; 9.3/80",
    "dp4a": "u32.u32 u32.s32 s32.u32 s32.s32 ; =u32,S:u32,S:u32,u32 ; ; I61 Fv5.0",
    "dp2a.lo": "u32.u32 u32.s32 s32.u32 s32.s32 ; =u32,S:u32,S:u32,u32 ; ; I61 Fv5.0",
    "dp2a.hi": "u32.u32 u32.s32 s32.u32 s32.s32 ; =u32,S:u32,S:u32,u32 ; ; I61 Fv5.0",
    "setp": f"""
b16 b32 b64 ; =Q,S,S,P@bool ; !eq/ne and/or/xor
u16 u32 u64 ; =Q,S,S,P@bool ; {_CMPI}
s16 s32 s64 ; =Q,S,S,P@bool ; !eq/ne/lt/le/gt/ge and/or/xor
f32 ; =Q,S,S,P@bool ; {_CMPF} ftz
f64 ; =Q,S,S,P@bool ; {_CMPF}
f16 f16x2 ; =Q,S,S,P@bool ; {_CMPF} ftz ; 4.2/53 f16 arithemetic and compare instructions f16 arithemetic and compare instructions
bf16 bf16x2 ; =Q,S,S,P@bool ; {_CMPF} ; 7.8/90 {{n}}.{{t0}}
""",
    "set": f"""
{_pairs("u32 s32 f32 f16 bf16", "b16 b32 b64")} ; D,S1,S1,P@bool ; !eq/ne and/or/xor
{_pairs("u32 s32 f32 f16 bf16", "u16 u32 u64")} ; D,S1,S1,P@bool ; {_CMPI}
{_pairs("u32 s32 f32 f16 bf16", "s16 s32 s64")} ; D,S1,S1,P@bool ; !eq/ne/lt/le/gt/ge and/or/xor
{_pairs("u32 s32 f32 f16 bf16", "f32")} ; D,S1,S1,P@bool ; {_CMPF} ftz
{_pairs("u32 s32 f32 f16 bf16", "f64")} ; D,S1,S1,P@bool ; {_CMPF}
u16.f16 s16.f16 u32.f16 s32.f16 u32.f16x2 s32.f16x2 ; D,S1,S1,P@bool ; {_CMPF} ftz ; 6.5!53 half precision floating point set instruction with integer result
f16.f16 f16x2.f16x2 ; D,S1,S1,P@bool ; {_CMPF} ftz ; 4.2/53 f16 arithemetic and compare instructions
u16.bf16 s16.bf16 u32.bf16 s32.bf16 bf16.bf16 bf16.f16 u32.bf16x2 s32.bf16x2 bf16x2.bf16x2 ; D,S1,S1,P@bool ; {_CMPF} ; 7.8/90 {{n}}.{{t0}}
""",
    "selp": "b16 u16 s16 b32 u32 s32 b64 u64 s64 f32 f64 ; D,S,S,P ;",
    "slct": _pairs("b16 u16 s16 b32 u32 s32 b64 u64 s64 f32 f64", "s32 u32") + " ; D,S,S,S1 ; | "
    + _pairs("b16 u16 s16 b32 u32 s32 b64 u64 s64 f32 f64", "f32") + " ; D,S,S,S1 ; ftz",
    "and": _LOGIC,
    "or": _LOGIC,
    "xor": _LOGIC,
    "not": "b16 b32 b64 pred ; D,S ;",
    "cnot": "b16 b32 b64 ; D,S ;",
    "lop3": "b32 ; D_|P,S,S,S,i,P@bool ; and/or ; I50 Fv4.3",
    "shf.l": "b32 ; D,S,S,u32 ; !clamp/wrap ; I32 Fv3.1",
    "shf.r": "b32 ; D,S,S,u32 ; !clamp/wrap ; I32 Fv3.1",
    "shl": "b16 b32 b64 ; D,S,u32 ;",
    "shr": "b16 b32 b64 u16 u32 u64 s16 s32 s64 ; D,S,u32 ;",
    "prmt": "b32 ; D,S,S,S ; f4e/b4e/rc8/ecl/ecr/rc16 ; 2.0/20",
    "mov": "b16 u16 s16 b32 u32 s32 b64 u64 s64 f32 f64 ; mov,mov ; v2/v4 | b128 ; mov,mov ; ; 8.3!70 Instruction type .b128 for instruction {n} | pred ; mov,mov ;",
    "cvt": f"""
{_conversions(True)} ; Dr,Sr1 ;
{_conversions(False)} ; Dr,Sr1 ; sat
{_pairs(_FORMS_INT, "f16 f64")} ; Dr,Sr1 ; !rni/rzi/rmi/rpi sat
{_pairs(_FORMS_INT, "f32")} ; Dr,Sr1 ; !rni/rzi/rmi/rpi ftz sat
{_pairs("f16 f64", _FORMS_INT)} f16.f64 ; Dr,Sr1 ; !rn/rz/rm/rp sat
{_pairs("f32", _FORMS_INT)} f32.f64 ; Dr,Sr1 ; !rn/rz/rm/rp ftz sat
f16.f32 ; Dr,Sr1 ; !rn/rz/rm/rp ftz sat relu satfinite
f64.f16 ; Dr,Sr1 ; sat
f32.f16 f64.f32 ; Dr,Sr1 ; ftz sat
f16.f16 f64.f64 ; Dr,Sr1 ; rni/rzi/rmi/rpi sat
f32.f32 ; Dr,Sr1 ; rni/rzi/rmi/rpi ftz sat
{_pairs("u16 s16 u32 s32 u64 s64", "bf16")} ; Dr,Sr1 ; !rni/rzi/rmi/rpi ; 7.8/90 cvt with .{{t}}
{_pairs("bf16", "u16 s16 u32 s32 u64 s64 f64")} ; Dr,Sr1 ; !rn/rz/rm/rp ; 7.8/90 cvt with .{{t}}
u8.bf16 s8.bf16 ; D,S1 ; !rni/rzi/rmi/rpi ; 7.8/90 cvt with .{{t}}
bf16.u8 bf16.s8 ; D,S1 ; !rn/rz/rm/rp ; 7.8/90 cvt with .{{t}}
bf16.bf16 ; Dr,Sr1 ; rni/rzi/rmi/rpi ; 7.8/90 cvt with .{{t}}
bf16.f32 ; Dr,Sr1 ; !rn/rz/rm/rp ftz relu satfinite
bf16.f16 f16.bf16 f64.bf16 ; Dr,Sr1 ; rn/rz/rm/rp ; 7.8/90 cvt with .{{t}}
f32.bf16 ; Dr,Sr1 ; rn/rz/rm/rp ftz ; Fv7.1 : cvt with .{{t}}
f16x2.f32 ; Dr,Sr1,Sr1,b32@rs ; !rn/rz/rs relu satfinite ; 7.0/80 cvt.{{t}}
bf16x2.f32 ; Dr,Sr1,Sr1,b32@rs ; !rn/rz/rs relu satfinite
tf32.f32 ; Dr,Sr1 ; !rna/rn/rz relu satfinite
e4m3x2.f32 e5m2x2.f32 ; =b16,S1,S1 ; !rn !satfinite relu
e4m3x2.f16x2 e5m2x2.f16x2 ; =b16,S1 ; !rn !satfinite relu
f16x2.e4m3x2 f16x2.e5m2x2 ; D,b16 ; !rn relu
e2m1x2.f32 ; =b8,S1,S1 ; !rn !satfinite relu ; Fv8.6 NNEW : cvt with .e2m1x2
e2m1x2.f16x2 ; =b8,S1 ; !rn !satfinite relu ; Fv8.6 NNEW : cvt with .e2m1x2
e2m3x2.f16x2 e3m2x2.f16x2 ; =b16,S1 ; !rn !satfinite relu ; Fv9.1 nNEW : cvt.{{t}}
e2m3x2.f32 e3m2x2.f32 ; =b16,S1,S1 ; !rn !satfinite relu ; Fv8.6 NNEW : cvt with .e2m3x2/.e3m2x2
ue8m0x2.f32 ; =b16,S1,S1 ; !rz/rp satfinite ; Fv8.6 NNEW : cvt with .ue8m0x2
ue8m0x2.bf16x2 ; =b16,S1 ; !rz/rp satfinite ; Fv8.6 NNEW : cvt with .ue8m0x2
f16x2.e2m1x2 ; D,b8 ; !rn relu ; Fv8.6 NNEW : cvt with .e2m1x2
f16x2.e2m3x2 f16x2.e3m2x2 ; D,b16 ; !rn relu ; Fv8.6 NNEW : cvt with .e2m3x2/.e3m2x2
bf16x2.ue8m0x2 ; D,b16 ; !rn ; Fv8.6 NNEW : cvt with .ue8m0x2
s2f6x2.f32 ; =b16,S1,S1,b16@scaled ; !rn !satfinite relu scaled::n2::ue8m0 ; Fv9.1 N100a/103a/110a/120a/121a : cvt with .s2f6x2
s2f6x2.bf16x2 ; =b16,S1,b16@scaled ; !rn !satfinite relu scaled::n2::ue8m0 ; Fv9.1 N100a/103a/110a/120a/121a : cvt with .s2f6x2
bf16x2.s2f6x2 ; D,b16,b16@scaled ; !rn satfinite relu scaled::n2::ue8m0 ; Fv9.1 N100a/103a/110a/120a/121a : cvt with .s2f6x2
e4m3x2.bf16x2 e5m2x2.bf16x2 e2m3x2.bf16x2 e3m2x2.bf16x2 ; =b16,S1 ; !rn !satfinite relu ; Fv9.1 nNEW : cvt.{{t}}
e2m1x2.bf16x2 ; =b8,S1 ; !rn !satfinite relu ; Fv9.1 nNEW : cvt.{{t}}
bf16x2.e4m3x2 bf16x2.e5m2x2 bf16x2.e2m3x2 bf16x2.e3m2x2 ; D,b16,b16@scaled ; !rn relu satfinite scaled::n2::ue8m0 ; Fv9.2 nNEW : cvt.{{t}}
bf16x2.e2m1x2 ; D,b8,b16@scaled ; !rn relu satfinite scaled::n2::ue8m0 ; Fv9.2 nNEW : cvt.{{t}}
e4m3x4.f32 e5m2x4.f32 e2m3x4.f32 e3m2x4.f32 ; =b32,X,b32 ; !rs !satfinite relu
e2m1x4.f32 ; =b16,X,b32 ; !rs !satfinite relu
""",
    "cvt.pack": "u16.s32 s16.s32 ; Dr:u32,S1r,S1r ; !sat ; 6.5/72 | "
    + "s8.s32.b32 u8.s32.b32" + " ; Dr:u32,S1r,S1r,S2r ; !sat ; 6.5/72 | "
    + " ".join(f"{t}.s32.b32" for t in ("s4", "u4", "s2", "u2"))
    + " ; Dr:u32,S1r,S1r,S2r ; !sat ; F72 Fv6.5, Fv6.5 F75 : cvt.pack with sub-byte type",
    **dict.fromkeys(("vadd", "vsub", "vabsdiff", "vmin", "vmax"), _VIDEO),
    "vshl": _SHIFT,
    "vshr": _SHIFT,
    "vmad": "u32.u32.u32 u32.u32.s32 u32.s32.u32 u32.s32.s32 s32.u32.u32 s32.u32.s32 s32.s32.u32 s32.s32.s32 ; D,S1,S2,S0 ; sat po shr7/shr15",
    "vset": _VSET,
    **dict.fromkeys(tuple(v + n for n in "24" for v in ("vadd", "vsub", "vavrg", "vabsdiff", "vmin", "vmax")), _VIDEO24),
    "vset2": _VSET24,
    "vset4": _VSET24,
}  # fmt: skip
"""Rows of :mod:`orias.ptx.form_table`."""

INSTEAD: Final[dict[str, str]] = {"lop3": "bool -> @I70 Fv8.2 : lop3.<BoolOp>"}
"""Gates that replace the gate of the form row if a row here holds."""

GATES: Final[dict[str, str]] = {
    "set": "t0=bf16 t1!=bf16/f16 -> @F90 Fv7.8 : {n}.{t0}\nt0=f16 t1!=f16/bf16 -> @F53 Fv4.2 : f16 arithemetic and compare instructions",
    "min max": "relu t0!=f16/f16x2/bf16/bf16x2/f32/f64 -> @F90 Fv8.0 : {n}.relu",
    "add": "sat t0=u32/u16x2/s16x2 -> @Fv9.2 n120af/121af : add.sat",
    "add sub addc subc": "cc t0=u64/s64 -> @Fv4.3 : .cc with 64bit type",
    "cvt": """
.tf32 rnd=rn/rz satfinite -> @F90 Fv7.8 : cvt with .tf32.f32.{rnd}, Mv8.6 M100 : .satfinite' on 'cvt.tf32.f32.{rnd}
else .tf32 rnd=rn/rz -> @F90 Fv7.8 : cvt with .tf32.f32.{rnd}
else rnd=rs -> @Fv8.7 n100a/103a : .rs
else t0=tf32 satfinite -> @Mv8.1 : .satfinite' on 'cvt.tf32.f32.rna
else t=f32.bf16 ftz -> @F90 Fv7.8 : cvt with .f32.bf16.ftz
else t0=f16/bf16/f16x2/bf16x2 t1=f32 satfinite -> @Mv8.1 : .satfinite' on 'cvt.{t}
else t0=FP8X2 isa=81.. | t1=FP8X2 isa=81.. -> @F89 : cvt with .e4m3x2/.e5m2x2
else t0=FP8X2 sm=89 | t1=FP8X2 sm=89 -> @F90 : cvt with .e4m3x2/.e5m2x2, Fv8.1 : cvt with .e4m3x2/.e5m2x2 on sm_89
else t0=FP8X2 | t1=FP8X2 -> @F90 Fv7.8 : cvt with .e4m3x2/.e5m2x2
""",
}
"""Gates of combinations of modifiers and types; rows as in :mod:`orias.ptx.rules`."""

_SIMD: Final = " ".join(v + n for n in "24" for v in ("vadd", "vsub", "vavrg", "vabsdiff", "vmin", "vmax"))

MODIFIERS: Final[dict[str, str]] = {
    _SIMD: "sat op=add -> Illegal combination of .sat and .add modifiers",
    "vset2 vset4": "op=min/max !.add -> Illegal secondary operation for video instruction '{n}'",
    "vshl vshr": "t2=s32 -> Operation requires .u32 type",
    "mad": "t0=f32 !rnd sm=20.. -> Rounding modifier required for instruction '{n}'",
    "mad.hi": "cc sat -> Modifier '.cc' cannot be combined with modifier '.sat'",
    "set": "t0=bf16 ftz -> Illegal modifier '.ftz' for instruction 'set'",
    "slct": "t1=u32 -> Instruction '{n}' applies only to signed numeric types",
    "add sub": "cc sat -> Modifier '.cc' cannot be combined with modifier '.sat'",
    "fma": """
ftz oob -> Modifier '.ftz' cannot be combined with modifier '.oob'
sat relu -> Modifier '.relu' cannot be combined with modifier '.sat'
""",
    "rcp": "rnd=approx t=f64 !ftz -> '.ftz' modifier required for instruction 'rcp.approx.f64'",
    "abs neg": "t0=u16/u32/u64 -> Instruction '{n}' applies only to signed numeric types",
    "cvt": """
t0=e2m3x2/e3m2x2 t1=f16x2 isa=0..90 -> Unexpected instruction types specified for 'cvt'
ftz satfinite t0=f16 t1=f32 -> Modifier '.satfinite' cannot be combined with modifier '.ftz'
ftz satfinite t0=bf16 t1=f32 -> Modifier '.satfinite' cannot be combined with modifier '.ftz'
ftz relu t0=bf16 t1=f32 -> Modifier '.relu' cannot be combined with modifier '.ftz'
ftz relu t0=f16 t1=f32 -> Illegal modifier '.ftz' for instruction 'cvt'
relu sat -> Modifier '.relu' cannot be combined with modifier '.sat'
satfinite sat -> Modifier '.satfinite' cannot be combined with modifier '.sat'
rnd=rna relu -> Modifier '.relu' cannot be combined with modifier '.rna' && Illegal rounding modifier for instruction 'cvt'
rnd=rm/rp t0!=ue8m0x2 satfinite -> Modifier '.satfinite' cannot be combined with modifier '.{rnd}'
rnd=rm/rp t0!=ue8m0x2 relu -> Illegal rounding modifier for instruction 'cvt'
""",
}
"""Rules between the modifiers and types of an opcode."""

OPERANDS: Final[dict[str, str]] = {
    "vadd vsub vabsdiff vmin vmax vshl vshr vset": "op=add/min/max count=3 -> Arguments mismatch for instruction '{n}'",
    "mov": "!vec a0=vector a1=vector -> Illegal vector-vector operands for vector-scalar or scalar-vector mov instruction",
    "lop3": """
bool a0!=pair -> Predicate output expected for instruction '{n}'
!bool a0=pair -> Predicate output not allowed for instruction '{n}'
""",
    "min max": """
count=4 -> @F100 Fv8.8 : {n}.f32 with 3 input operands
count=4 xorsign -> Illegal modifier '.xorsign' for instruction '{n}'
count!=4 abs !xorsign -> Modifier '.abs' requires modifier '.xorsign'
xorsign !abs -> Modifier '.xorsign' requires modifier '.abs'
""",
}
"""Rules between modifiers and operands."""

_BYTE: Final = "out of range, expected to be in range [0..255]"
VALUES: Final[dict[str, str]] = {
    "bfe bfi": f"""
v2!=-/0..255 n=bfe -> Argument 2 of instruction '{{n}}': value '{{v2}}' {_BYTE}
v3!=-/0..255 -> Argument 3 of instruction '{{n}}': value '{{v3}}' {_BYTE}
v4!=-/0..255 n=bfi -> Argument 4 of instruction '{{n}}': value '{{v4}}' {_BYTE}
""",
}
"""Rules on the values of operands; rows as in :mod:`orias.ptx.rules`."""
