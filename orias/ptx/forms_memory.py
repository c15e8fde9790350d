"""Loads and stores, atomics, addresses, textures and surfaces: forms, gates and rules.

:mod:`orias.ptx.form_table` and :mod:`orias.ptx.rules` define the notations.  Facts: docs/facts/front-end.md (opcodes).
"""

from typing import Final

_EVICT: Final = (
    "L1::evict_normal/L1::evict_unchanged/L1::evict_first/L1::evict_last/L1::no_allocate"
    " L2::evict_normal/L2::evict_first/L2::evict_last L2::cache_hint"
)
_ORDER_LD: Final = "weak/relaxed/acquire/volatile mmio proxy::readonly"
_ORDER_ST: Final = "weak/relaxed/release/volatile mmio"
_SCOPE: Final = "cta/cluster/gpu/sys"
_MEMTYPES: Final = "b8 u8 s8 b16 u16 s16 b32 u32 s32 b64 u64 s64 f32 f64"
_SHARED: Final = "shared/shared::cta/shared::cluster"
_LDSPACES: Final = f"global/{_SHARED}/local/const/param/param::entry/param::func"
_ATOMTYPES: Final = "u32 s32 u64 s64 f32 f64"
_ATOMSPACE: Final = f"global/{_SHARED}"
_ATOMORDER: Final = "relaxed/acquire/release/acq_rel"
_ATOMMODS: Final = (
    f"add/min/max/and/or/xor/inc/dec/exch/cas {_ATOMORDER} {_SCOPE} {_ATOMSPACE} noftz v2/v4/v8 L2::cache_hint"
)
_REDMODS: Final = f"add/min/max/and/or/xor/inc/dec relaxed/release {_SCOPE} {_ATOMSPACE} noftz v2/v4/v8 L2::cache_hint"
_LDMODS: Final = f"{_ORDER_LD} {_SCOPE} {_LDSPACES} ca/cg/cs/lu/cv nc v2/v4/v8 L2::64B/L2::128B/L2::256B {_EVICT}"
_STMODS: Final = f"{_ORDER_ST} {_SCOPE} global/{_SHARED}/local/const/param/param::func wb/cg/cs/wt v2/v4/v8 {_EVICT}"
_MULTI: Final = "u32 s32 u64 s64 b32 b64 f32 f64 f16 f16x2 bf16 bf16x2 e4m3 e5m2 e4m3x4 e5m2x4"
_QUERY: Final = "!width/height/depth/channel_data_type/channel_order/normalized_coords/array_size"
_SURF: Final = "!1d/2d/3d/a1d/a2d v2/v4"
_TEXTYPES: Final = " ".join(f"{a}.{b}" for a in ("u32", "s32", "f16", "f32", "f16x2") for b in ("u32", "s32", "f32"))
_GEOM: Final = "!1d/2d/3d/a1d/a2d/cube/acube/2dms/a2dms"

FORMS: Final[dict[str, str]] = {
    "ld": f"{_MEMTYPES} ; DV,M,b64@cache_hint ; {_LDMODS} | b128 ; DV,M,b64@cache_hint ; {_LDMODS} ; 8.3!70 Instruction type .b128 for instruction {{n}}",
    "ldu": f"{_MEMTYPES} ; DV,M ; global v2/v4 ; 2.0/20 | b128 ; DV,M ; global ; 8.3!70 Instruction type .b128 for instruction {{n}}",
    "st": f"{_MEMTYPES} ; M,SV,b64@cache_hint ; {_STMODS} | b128 ; M,SV,b64@cache_hint ; {_STMODS} ; 8.3!70 Instruction type .b128 for instruction {{n}}",
    "prefetch": "- ; M ; global/local/const/param L1/L2/L2::evict_last/L2::evict_normal tensormap valid_addr L1::32B ; 2.0/20",
    "prefetchu": "- ; M ; L1 ; 2.0/20",
    "applypriority": "- ; M,i ; global !L2::evict_normal ; F80 Fv7.4",
    "discard": "- ; M,i ; global !L2 ; 7.4/80",
    "createpolicy.fractional": "b64 ; =b64,f32? ; L2 L2::evict_last/L2::evict_normal/L2::evict_first/L2::evict_unchanged ; 7.4/80",
    "createpolicy.range": "b64 ; =b64,M,u32,u32 ; L2 global L2::evict_last/L2::evict_normal/L2::evict_first/L2::evict_unchanged ; 7.4/80",
    "createpolicy.cvt": "b64 ; =b64,b64 ; !L2 ; 7.4/80",
    "cvta": "u32 s32 u64 s64 ; D,S ; !global/local/shared/shared::cta/shared::cluster/const/param/param::entry ; 2.0/20",
    "cvta.to": "u32 s32 u64 s64 ; D,S ; !global/local/shared/shared::cta/shared::cluster/const/param/param::entry ; 2.0/20",
    "isspacep": "- ; =P,A ; !global/local/shared/shared::cta/shared::cluster/const/param/param::entry ; 2.0/20",
    "mapa": "u32 s32 u64 s64 ; D,S,u32 ; shared::cluster ; 7.8/90",
    "getctarank": "u32 s32 u64 s64 ; =u32,S ; shared::cluster ; 7.8/90",
    "istypep": "texref surfref samplerref ; =P,b64 ; ; 4.0/30",
    "alloca": "u32 u64 ; D,S,i? ; ; 7.3/52",
    "stacksave": "u32 u64 ; D ; ; 7.3/52",
    "stackrestore": "u32 u64 ; S ; ; 7.3/52",
    "atom": f"""
{_ATOMTYPES} f16 f16x2 bf16 bf16x2 ; DA,M,SA,b64@cache_hint ; {_ATOMMODS}
b16 b32 b64 b128 ; DA,M,SA,SA@cas,b64@cache_hint ; {_ATOMMODS}
""",
    "red": f"{_ATOMTYPES} b32 b64 f16 f16x2 bf16 bf16x2 ; M,SA,b64@cache_hint ; {_REDMODS}",
    "multimem.ld_reduce": f"{_MULTI} ; DV,M ; add/min/max/and/or/xor weak/relaxed/acquire {_SCOPE} global acc::f32/acc::f16 v2/v4/v8 ; 8.1/90",
    "multimem.red": "u32 s32 u64 s64 b32 b64 f32 f64 f16 f16x2 bf16 bf16x2 ; M,X ; add/min/max/and/or/xor relaxed/release"
    f" {_SCOPE} global v2/v4/v8 ; 8.1/90",
    "multimem.st.async": f"b32 u32 s32 b64 u64 s64 f32 f64 ; M,S ; !release !{_SCOPE} global ; 9.3!100",
    "multimem.red.async": f"u32 s32 u64 ; M,S ; !release !{_SCOPE} !add global ; 9.3!100",
    "multimem.st": f"{_MULTI} ; M,X ; weak/relaxed/release {_SCOPE} global v2/v4/v8 ; 8.1/90",
    # textures and surfaces
    "tex": f"{_TEXTYPES} ; X* ; {_GEOM} v2/v4 uni",
    "tex.base": f"{_TEXTYPES} ; X* ; {_GEOM} v2/v4 uni ; 3.1/20",
    "tex.level": f"{_TEXTYPES} ; X* ; {_GEOM} v2/v4 uni ; 3.1/20",
    "tex.grad": f"{_TEXTYPES} ; X* ; {_GEOM} v2/v4 uni ; 3.1/20",
    "tld4": "u32.f32 s32.f32 f32.f32 ; X* ; !r/g/b/a !2d/a2d/cube/acube v4 ; 2.2/20",
    "txq": f"b32 ; D,M ; {_QUERY}/filter_mode/addr_mode_0/addr_mode_1/addr_mode_2/num_mipmap_levels/num_samples/force_unnormalized_coords/memory_layout",
    "txq.level": f"b32 ; D,M,u32 ; {_QUERY} ; Fv4.3 I30",
    "suq": f"b32 ; D,M ; {_QUERY}/memory_layout",
    "suld.b": f"b8 b16 b32 b64 ; X,M ; {_SURF} ca/cg/cs/cv !trap/clamp/zero ; 1.5/10",
    "sust.b": f"b8 b16 b32 b64 ; M,X ; {_SURF} wb/cg/cs/wt !trap/clamp/zero ; 1.5/10",
    "sust.p": f"b32 ; M,X ; {_SURF} wb/cg/cs/wt !trap/clamp/zero ; 2.0/20",
    "sured.b": f"b32 u32 s32 u64 s64 ; M,X ; {_SURF} !add/min/max/and/or !trap/clamp/zero ; 2.0/20",
    "sured.p": f"b32 b64 ; M,X ; {_SURF} !add/min/max/and/or !trap/clamp/zero ; 2.0/20",
}
"""Rows of :mod:`orias.ptx.form_table`."""

GATES: Final[dict[str, str]] = {
    "multimem.ld_reduce multimem.red multimem.st": """
order!=-/weak !scope -> Modifier '.{order}' requires scope with '{n}' instruction
!order scope -> Modifier '.{scope}' requires order with '{n}' instruction
n!=multimem.st !op -> Reduction operation is required for instruction '{n}'
""",
    "multimem.*": """
t0=FP8/FP8X4 -> @nBYTES Fv8.6 : .{t0}
""",
    "ld st": """
each word=L1::evict_normal/L1::evict_unchanged/L1::evict_first/L1::evict_last/L1::no_allocate -> @Mv7.4 M70 : .{word.tail}' on '{n}
prefetch=L2::256B -> @F80 Fv7.4 : cache prefetching
prefetch=L2::64B/L2::128B -> @F75 Fv7.4 : cache prefetching
nc -> @I32 : ld.nc
""",
    "atom red": """
t0=bf16/bf16x2 op!=min/max -> @I90 Iv7.8 : {n}.{op}.{t0}{where}
t0=b16/f16 -> @I70 Iv6.3 : {n}.{op}.{t0}{where}
t0=f16x2 -> @I60 Iv6.2 : {n}.{op}.{t0}{where}
noftz t0=f32 isa=91.. -> @F90 Fv9.4 : {n} with .noftz and .f32
t0=b128 -> @I90 Iv8.3 : {n}.{op}.{t0}{where}
t0=f64 -> @I60 Iv5.0 : {n}.{op}.{t0}{where}
t0=b64/u64/s64 op=min/max/and/or/xor -> @I32 Iv3.1 : {n}.{op}.{t0}{where}
scope -> @F60 Fv5.0 : scopes on atomic operations
vec -> @F90 Fv8.1 : {n} instruction with vector types
""",
    "atom red ld st": "t0=b128 scope=sys -> @Fv8.4 : .b128 with .sys",
    "prefetch": "level=L2::evict_last/L2::evict_normal -> @Mv7.4 M80 : cache eviction priority' on 'prefetch",
    "createpolicy.*": """
each word=L2::evict_normal/L2::evict_first/L2::evict_last/L2::evict_unchanged -> @Mv7.4 M80 : .{word}' on '{n}
""",
    "cvta cvta.to isspacep": """
space=PARAM -> @F70 Fv7.7 : cvta/isspacep with .param state space
space=PARAM sm=0..69 | space=PARAM isa=0..76 -> State space incorrect for instruction '{n}'
""",
}
"""Gates of combinations of modifiers and types; rows as in :mod:`orias.ptx.rules`."""

MODIFIERS: Final[dict[str, str]] = {
    "cvta cvta.to": "t0=s32/s64 -> Instruction '{n}' requires .u32 or .u64 type",
    "createpolicy.fractional createpolicy.range": """
!primary -> cache eviction priority modifier required for instruction '{n}'
!primary !.L2 -> .L2 modifier required for instruction '{n}'
secondary=L2::evict_last/L2::evict_normal -> Unsupported modifier '.{secondary.tail}' as secondary_priority for instruction '{n}'
primary .L2 -> Illegal modifier '.L2' for instruction '{n}' with '.level::eviction_priority'
""",
    "ldu": "bits=OVER128 -> Vector type too large, exceeds 128 bit limit",
    "prefetch": """
valid_addr !sector => .L1::32B modifier required for instruction '{n}' with modifier '.valid_addr'
sector !valid_addr => .valid_addr modifier required for instruction '{n}' with modifier '.L1::32B'
sector space=const/PARAM -> State space incorrect for instruction '{n}'
sector space!=-/global -> State space incorrect for feature '.L1::32B'
sector =>
.L1 tensormap | .L2 tensormap -> Multiple cache operation modifiers specified
!tensormap !evict2 space=const/PARAM -> State space incorrect for instruction '{n}'
!.L1 !.L2 !tensormap !evict2 -> Cache level modifier required for instruction '{n}'
evict2 space!=-/global -> State space incorrect for feature 'cache eviction priority'
evict2 tensormap -> Illegal modifier '.tensormap' for instruction '{n}' with '.level::eviction_priority'
evict2 .L1 -> Illegal modifier '.L1' for instruction '{n}' with '.level::eviction_priority'
evict2 .L2 -> Illegal modifier '.L2' for instruction '{n}' with '.level::eviction_priority'
tensormap space=global/local -> Modifier '.tensormap' cannot be applied to '.{space}' space for instruction '{n}'
""",
    "prefetchu": "!.L1 -> Cache level modifier required for instruction '{n}'",
    "ld st": """
n=st space=const -> State space incorrect for instruction 'st'
order=STRONG space=const/local/PARAM | order=volatile space=const/PARAM | order=volatile space=local isa=0..90 -> Modifier '.{order}' cannot be applied to '.{space}' space
order=STRONG !scope -> Modifier '.{order}' requires scope with '{n}' instruction
!order scope -> Modifier '.{scope}' requires memory order with '{n}' instruction
order=weak/volatile scope -> Modifier '.{order}' cannot be combined with modifier '.{scope}'
order=STRONG/volatile cop -> Modifier '.{order}' cannot be combined with modifier '.{cop}'
mmio space!=-/global -> Modifier '.mmio' cannot be applied to '.{space}' space
mmio order!=relaxed isa=0..90 | mmio order=weak/volatile -> Modifier '.mmio' requires modifier '.relaxed' for instruction '{n}'
mmio !scope -> Modifier '.mmio' requires scope with '{n}' instruction
mmio scope!=-/sys -> Modifier '.mmio' cannot be combined with modifier '.{scope}'
mmio vec -> Modifier '.mmio' cannot be combined with modifier '.{vec}'
mmio prefetch -> Modifier '.{prefetch}' cannot be combined with modifier '.mmio'
mmio cache_hint -> Modifier '.{cache_hint}' cannot be combined with modifier '.mmio'
mmio order=acquire/release isa=91.. -> @Fv9.3 : .{order}
readonly space!=-/global -> Modifier '.proxy::readonly' cannot be applied to '.{space}' space for instruction '{n}'
readonly scope -> Modifier '.proxy::readonly' cannot be combined with modifier '.{scope}'
readonly mmio -> Modifier '.proxy::readonly' cannot be combined with modifier '.mmio'
readonly order -> Modifier '.proxy::readonly' cannot be combined with modifier '.{order}'
readonly cop -> Modifier '.proxy::readonly' cannot be combined with modifier '.{cop}'
readonly evict -> Modifier '.proxy::readonly' cannot be combined with modifier '.{evict.tail}'
nc space!=global -> Modifier '.nc' requires .global space
nc order -> Modifier '.{order}' cannot be combined with modifier '.nc'
nc cop=lu/cv -> Illegal cache operation for instruction 'ld.nc'
evict space!=-/global -> Modifier '.{evict.tail}' cannot be applied to '.{space}' space for instruction '{n}'
evict cop -> Modifier '.{evict.tail}' cannot be combined with modifier '.{cop}'
evict mmio -> Modifier '.{evict.tail}' cannot be combined with modifier '.mmio'
evict order=volatile -> Modifier '.{evict.tail}' cannot be combined with modifier '.volatile'
evict2 bits!=256 | evict2 vec!=v4/v8 -> Instruction '{n}' requires '.v8.b32/.v4.b64' type with '.{evict2}' modifier.
prefetch space!=-/global -> State space incorrect for feature 'cache prefetching'
cache_hint space!=-/global -> Modifier '.L2::cache_hint' cannot be applied to '.{space}' space for instruction '{n}'
bits=256 width=32/64 -> @Fv8.8 F100 : 256 bit wide load/store
bits=256 width=32/64 space!=-/global -> global state space expected for feature '256 bit wide load/store'
bits=256 width=128 | bits=512/1024 -> Vector type too large, exceeds 128 bit limit
""",
    "atom red": """
!op => Illegal operation '' for instruction '{n}' && Operation  requires  type for instruction '{n}' && Reduction operation is required for instruction '{n}'
noftz t0!=HALF/f32 | noftz t0=f32 isa=0..90 | noftz t0=f32 op!=add -> Illegal modifier '.noftz' for instruction '{n}'
!noftz t0=HALF op=add/min/max -> '.noftz' modifier required for instruction '{n}' with type '.{t0}'
t0=HALF op=min/max -> @I90 Iv8.1 : {n}.{op}.{t0}{where}
vec op!=add/min/max | vec t0!=HALF/f32 | vec t0=f32 op!=add -> Vector qualifier is not allowed for instruction '{n}'
else vec=v8 t0!=f16/bf16 -> Only .v2 or .v4 vector modifier supported with type .{t0} on .{op} operation for {n} instruction with vector types
op=add t0!=u32/s32/u64/f64/f32/HALF -> Operation .{op} requires .u32 or .s32 or .u64 or .f64 or f16 or f16x2 or .f32 or .bf16 or .bf16x2 type for instruction '{n}'
op=min/max t0!=u32/s32/u64/s64/HALF -> Operation .{op} requires .u32 or .s32 or .u64 or .s64 or .f16 or .f16x2 or .bf16 or .bf16x2 type for instruction '{n}'
op=and/or/xor t0!=b32/b64 -> Operation .{op} requires .b32 or .b64 type for instruction '{n}'
op=inc/dec t0!=u32 -> Operation .{op} requires .u32 type for instruction '{n}'
op=exch t0!=b32/b64/b128 -> Operation .{op} requires .b32 or .b64 or .b128 type for instruction '{n}'
!vec t0=HALF op=min/max -> Vector modifier required for instruction '{n}.{op}.{t0}{where}'
vec space!=-/global -> State space incorrect for feature '{n} instruction with vector types'
vec bits=OVER128 -> Vector type too large, exceeds 128 bit limit
cache_hint space!=-/global -> Modifier '.L2::cache_hint' cannot be applied to '.{space}' space for instruction '{n}'
cache_hint op=cas -> Illegal modifier '.L2::cache_hint' for instruction '{n}'
""",
    "sured.b": "op=add t0=b32/s64 | op=min/max t0=b32 | op=and/or t0!=b32 -> Incorrect type '.{t0}' for operation '.{op}' in instruction '{n}'",
    "multimem.ld_reduce multimem.red multimem.st": """
op=add t0!=u32/s32/u64/f32/f64/HALF/FP8/FP8X4 | op=min/max t0!=u32/s32/u64/s64/HALF/FP8/FP8X4 | op!=-/add/min/max t0!=b32/b64 | n=multimem.red !vec op=min/max t0=f16x2/bf16x2 -> Incorrect type '.{t0}' for operation '.{op}' in instruction '{n}'
!vec t0=f16/bf16/FP8 -> Unexpected instruction types specified for '{n}'
vec t0=f64 -> Inconsistent type '.f64' with vector .{vec} for '{n}'
else acc -> @M90 Mv8.2 : .{acc}
acc !vec op!=add | acc t0!=f64 op!=add -> Illegal reduction operation for instruction '{n}.{acc}'
acc=acc::f16 -> @nBYTES Mv8.6 : .acc::f16
acc t0!=HALF/FP8/FP8X4 | acc=acc::f16 t0=HALF -> Illegal modifier '.{acc}' for instruction '{n}' with type '.{t0}'
vec t0!=HALF/FP8/FP8X4/f32/f64 -> Vector qualifier is not allowed for instruction '{n}'
else vec t0!=f64 bits=OVER128 -> Inconsistent type '.{t0}' with vector .{vec} for '{n}'
vec bits=OVER128 -> Vector type too large, exceeds 128 bit limit
""",
    "tex tex.base tex.level tex.grad": """
t1=u32 -> Integer coordinates require .s32 instruction type
dim=cube/acube t1=u32/s32 -> Floating-point coordinates required
dim=2dms/a2dms t1!=s32 -> Integer coordinates require .s32 instruction type
n=tex.level/tex.grad dim=2dms/a2dms -> Illegal modifier 'Multi-sample geometry' for instruction '{n}'
t0=f16x2 vec!=v2 -> Instruction '{n}.f16x2' requires .v2 type
""",
}
"""Rules between the modifiers and types of an opcode, measured with thousands of random combinations for three targets."""

OPERANDS: Final[dict[str, str]] = {
    "atom": """
!vec a2=vector -> Vector is not expected for argument 2 of instruction '{n}'
!vec a0=vector -> Vector is not expected for argument 0 of instruction '{n}'
!vec a2=vector t0!=HALF/f32 -> Vector operand is not allowed for instruction '{n}'
!vec a0=vector t0!=HALF/f32 -> Vector operand is not allowed for instruction '{n}'
a3=vector op=cas -> Vector operand is not allowed for instruction '{n}'
""",
    "red": """
!vec a1=vector -> Vector is not expected for argument 1 of instruction '{n}'
!vec a1=vector t0!=HALF/f32 -> Vector operand is not allowed for instruction '{n}'
""",
    "multimem.ld_reduce": "!vec a0=vector -> Vector operand is not allowed for instruction '{n}'",
    "multimem.red multimem.st": "!vec a1=vector -> Vector operand is not allowed for instruction '{n}'",
    "tex tex.base tex.level tex.grad tld4": """
a0=pair -> @F60 Fv7.1 : Texture instruction with optional predicate result
n=tex/tex.base/tld4 count=3.. | n=tex.level count=4.. | n=tex.grad count=5.. -> @F30 : offset operand && @Fv4.3 : {n}
a1=address64 -> @Fv3.1 : indirect texture access
""",
}
"""Rules between modifiers and operands."""

LAST: Final[dict[str, str]] = {
    "applypriority": "space!=-/global -> State space incorrect for feature 'cache eviction priority'",
    "multimem.ld_reduce multimem.red multimem.st": """
n!=multimem.st !op -> Reduction operation is required for instruction '{n}'
order!=-/weak !scope -> Modifier '.{order}' requires scope with '{n}' instruction
order=-/weak scope -> Modifier '.weak' cannot be combined with modifier '.{scope}'
""",
}
"""Rules that are told after the gates of words."""

_POWERS: Final = "/".join(str(1 << k) for k in range(32))
_LARGEST_ALIGNMENT: Final = 1 << 23

VALUES: Final[dict[str, str]] = {
    "alloca": f"u2!=-/{_POWERS} -> Alignment must be a power of two\nu2={_LARGEST_ALIGNMENT + 1}.. -> Alignment value too large, exceeds 2^23",
    "applypriority discard": "v1!=-/128 -> Argument 2 of instruction '{n}': unexpected value '{v1}', expected to be 128",
    "applypriority": "-> @Mv7.4 M80 : .evict_normal' on 'applypriority",
}
"""Rules on the values of immediate operands."""
