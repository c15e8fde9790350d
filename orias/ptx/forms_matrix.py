"""Matrix instructions: forms, gates and rules.

Shapes and types are in the tables of :mod:`orias.ptx.matrix_checks`, :mod:`orias.ptx.wmma_checks` and
:mod:`orias.ptx.wgmma_checks`, which give the facts ``class``, ``factor``, ``operand``, ``shaped`` and ``typed``.
:mod:`orias.ptx.form_table` and :mod:`orias.ptx.rules` define the notations.  Facts: docs/facts/front-end.md (matrix
instructions).
"""

from typing import Final

_SHARED: Final = "shared/shared::cta/shared::cluster"
_GROUP: Final = "!cta_group::1/cta_group::2"
_SHAPES: Final = "!16x64b/16x128b/16x256b/32x32b/16x32bx2/4x256b/128x256b/64x128b/128x128b/32x128b"
_REDUCED: Final = f"!sync aligned {_SHAPES} !x2/x4/x8/x16/x32/x64/x128 !min/max"
_PRODUCTS: Final = "!kind::f16/kind::tf32/kind::f8f6f4/kind::i8/kind::mxf8f6f4/kind::mxf4/kind::mxf4nvf4"

_FRAGMENTS: Final = (
    "sync aligned row/col global/shared/shared::cta/shared::cluster/local/const/param/param::entry/param::func/tex"
)

FORMS: Final[dict[str, str]] = {
    "ldmatrix": f"b16 ; X,M ; !sync !aligned !m8n8/m16n16/m8n16 !x1/x2/x4 trans {_SHARED} ; 6.5/75"
    f" | b8 ; X,M ; !sync !aligned !m16n16/m8n8/m8n16 !x1/x2/x4 trans {_SHARED} ; F75 Fv6.5, nNEW Fv8.6 : ldmatrix.b8"
    f" | b8x16.b4x16_p64 b8x16.b6x16_p32 ; X,M ; !sync !aligned !m8n16/m16n16/m8n8 !x1/x2/x4 trans {_SHARED} ; F75 Fv6.5, nNEW Fv8.6 : ldmatrix with format conversion",
    "stmatrix": f"b16 ; M,X ; !sync !aligned !m8n8/m16n8 !x1/x2/x4 trans {_SHARED} ; 7.8/90 | b8 ; M,X ; !sync !aligned !m16n8/m8n8 !x1/x2/x4 trans {_SHARED} ; F90 Fv7.8, nNEW Fv8.6 : stmatrix.b8",
    "movmatrix": "b16 ; =b32,b32 ; !sync !aligned !m8n8 !trans ; 7.8/75",
    "mma": "* ; X* ; sync aligned row/col sp/sp::ordered_metadata satfinite and/or/xor popc block_scale rn/rz/rm/rp"
    f" {_PRODUCTS.lstrip('!')} scale_vec::1X/scale_vec::2X/scale_vec::4X/block16/block32",
    "wmma.mma": "* ; X,X,X,X ; sync aligned row/col satfinite and/or/xor popc rn/rz/rm/rp",
    "wmma.load.a": f"* ; X,M,u32? ; {_FRAGMENTS}",
    "wmma.load.b": f"* ; X,M,u32? ; {_FRAGMENTS}",
    "wmma.load.c": f"* ; X,M,u32? ; {_FRAGMENTS}",
    "wmma.store.d": f"* ; M,X,u32? ; {_FRAGMENTS}",
    "wgmma.mma_async": "* ; X* ; sync aligned sp satfinite row/col and/or/xor popc",
    "wgmma.fence": "- ; ; sync aligned ; Fv8.0 : WGMMA, N90a",
    "wgmma.commit_group": "- ; ; sync aligned ; Fv8.0 : WGMMA, N90a",
    "wgmma.wait_group": "- ; i ; sync aligned ; Fv8.0 : WGMMA, N90a",
    "tcgen05.alloc": f"b32 ; M,u32 ; !sync !aligned {_GROUP} shared::cta/shared/shared::cluster ; Fv8.6 NTENSOR",
    "tcgen05.dealloc": f"b32 ; u32,u32 ; !sync !aligned {_GROUP} ; Fv8.6 NTENSOR",
    "tcgen05.relinquish_alloc_permit": f"- ; ; !sync !aligned {_GROUP} ; Fv8.6 NTENSOR",
    "tcgen05.ld": f"b32 ; X* ; !sync aligned {_SHAPES} !x1/x2/x4/x8/x16/x32/x64/x128 pack::16b ; Fv8.6 NTENSOR",
    "tcgen05.ld.red": f"u32 s32 ; X* ; {_REDUCED} ; Fv8.8 N103af/110af | f32 ; X* ; {_REDUCED} abs NaN ; Fv8.8 N103af/110af",
    "tcgen05.st": f"b32 ; X* ; !sync aligned {_SHAPES} !x1/x2/x4/x8/x16/x32/x64/x128 unpack::16b ; Fv8.6 NTENSOR",
    "tcgen05.wait": "- ; ; aligned sync ; Fv8.6 NTENSOR",
    "tcgen05.fence": "- ; ; ; Fv8.6 NTENSOR",
    "tcgen05.cp": f"- ; M,b64 ; {_GROUP} {_SHAPES} warpx2::01_23/warpx2::02_13/warpx4 b8x16/b6x16_p32/b4x16_p64 ; Fv8.6 NTENSOR",
    "tcgen05.shift": f"- ; M ; {_GROUP} !down ; Fv8.6 N100a/103a/110a",
    "tcgen05.commit": f"b64 ; M,u16@multicast ; !mbarrier::arrive::one {_GROUP} shared::cluster/shared::cta/shared multicast::cluster ; Fv8.6 NTENSOR",
    "tcgen05.mma": f"- ; X* ; {_GROUP} {_PRODUCTS} block_scale scale_vec::1X/scale_vec::2X/scale_vec::4X/block16/block32 sp ashift"
    " collector::a::fill/collector::a::use/collector::a::lastuse/collector::a::discard ; Fv8.6 NTENSOR",
    "tcgen05.mma.ws": f"- ; X* ; {_GROUP} {_PRODUCTS} sp "
    + "/".join(f"collector::b{i}::{what}" for i in range(4) for what in ("fill", "use", "lastuse", "discard")) + " ; Fv8.6 NTENSOR",
}  # fmt: skip
"""Rows of :mod:`orias.ptx.form_table`."""

_WMMA: Final = "wmma.mma wmma.load.a wmma.load.b wmma.load.c wmma.store.d"

GATES: Final[dict[str, str]] = {
    "wgmma.*": "n!=wgmma.mma_async sm=91.. -> Instruction '{n}' cannot be compiled for architecture '{target}'",
    "ldmatrix": "t0=b16 -> @Fv6.5 M75 : .m8n8",
    "mma": """
!t3 =>
factor=fp6 sp kind=kind::mxf4/kind::mxf4nvf4 => @Fv8.7 N120af/121af : mma with block scale, N120a/121a : Sparse mma with block scale
factor=fp6 kind=kind::mxf8f6f4/kind::mxf4/kind::mxf4nvf4 => @Fv8.7 N120af/121af : mma with block scale
factor=fp6 => @Fv8.7 N120af/121af : mma with with FP6/FP4 floating point type
factor=fp8 -> @Fv8.4 F89 : mma with FP8 floating point type
factor=fp8 t0=f16 sp -> @Fv8.7 N120af/121af : mma with with F16 accumulator and F8 floating point type
factor=fp8 t0=f16 -> @Fv8.7 : mma with FP8 floating point type and FP16 accumulation
factor=fp8 shape=m16n8k16 -> @Fv8.7 : mma with FP8 floating point type and .m16n8k16 shape
factor=fp8 =>
-> @Fv6.4 F70 : mma
bool=and -> @Mv7.1 M80 : .and' on 'mma
sp -> @Fv7.1 F80 : Sparse MMA
t1=f64 shape=m8n8k4 => @Fv7.0 F80 : .{shape} with double types
t1=f64 shape=MMA => @Fv7.8 F90 : .{shape} with double types
t1=bf16/tf32 shape=m16n8k8 => @Fv7.0 F80 : .{shape}
shape=m8n8k4 -> @Fv6.4 F70 : .{shape}
shape=m16n8k8/m8n8k16/m8n8k32 -> @Fv6.5 F75 : .{shape}
shape=m8n8k128 -> @Fv7.0 F75 : .{shape}
shape=m16n8k4/m16n8k16/m16n8k32/m16n8k64/m16n8k128/m16n8k256 -> @Fv7.0 F80 : .{shape}
""",
    "wgmma.mma_async": """
!class =>
sp -> @Fv8.2 : Sparse WGMMA with {class}, N90a : Sparse {n} with {class}
!sp -> @Fv8.0 : WGMMA with {class}, N90a : {n} with {class}
sp sm=91.. -> Instruction 'Sparse {n} with {class}' cannot be compiled for architecture '{target}'
!sp sm=91.. -> Instruction '{n} with {class}' cannot be compiled for architecture '{target}'
""",
    _WMMA: """
-> @I70 Fv6.0
operand=s8/u8/s32 -> @Fv6.3 : WMMA with integer types
operand=s4/u4 -> @Fv6.3 : WMMA with sub-byte integer types
operand=b1 -> @Fv6.3 : WMMA with bit types
operand=bf16/tf32 -> @Fv7.0 F80 : WMMA with .bf16/.tf32 FP types
operand=f64 -> @Fv7.0 F80 : WMMA with fp64 types
aligned -> @Fv6.3 : .aligned modifier for wmma
shape=m32n8k16/m8n32k16 -> @Fv6.1 : .{shape}
shape=m8n8k32/m8n8k128 -> @Fv6.3 : .{shape}
shape=m16n16k8 -> @Fv7.0 M80 : .{shape}
bool=and -> @Mv7.1 M80 : .and' on 'wmma.mma
""",
}
"""Gates of combinations of modifiers and types; rows as in :mod:`orias.ptx.rules`."""

_TRANSFER: Final = """
!sync -> .sync modifier required for instruction '{n}'
!aligned -> .aligned modifier required for instruction '{n}'
!layout -> layout modifier required for instruction '{n}'
!shape -> Shape modifier required for instruction '{n}'
space!=-/global/shared/shared::cta -> State space incorrect for instruction '{n}'
shaped=no shape -> Incorrect instruction type specified for {n} with shape '.{shape}'
!shape -> Incorrect instruction type specified for {n} with shape ''
n=wmma.load.a shaped=yes t0=s4/u4/b1 layout=col -> Illegal alayout '.col' for instruction '{n}'
n=wmma.load.b shaped=yes t0=s4/u4/b1 layout=row -> Illegal alayout '.row' for instruction '{n}'
"""

MODIFIERS: Final[dict[str, str]] = {
    "tcgen05.alloc": "space=shared/shared::cluster -> State space incorrect for instruction '{n}', expected '.shared::cta'",
    "tcgen05.commit": "space!=-/shared::cluster -> State space incorrect for instruction '{n}'",
    "tcgen05.ld": """
shape=4x256b/128x256b/64x128b/128x128b/32x128b -> Illegal matrix shape '.{shape}' for instruction '{n}'
.pack::16b -> @Fv8.6 : .pack::16b
.pack::16b -> @XTENSOR : .pack::16b' for instruction '{n}
""",
    "tcgen05.st": """
shape=4x256b/128x256b/64x128b/128x128b/32x128b -> Illegal matrix shape '.{shape}' for instruction '{n}'
.unpack::16b -> @Fv8.6 : .unpack::16b
.unpack::16b -> @XTENSOR : .unpack::16b' for instruction '{n}
""",
    "tcgen05.ld.red": "shape!=-/32x32b/16x32bx2 -> Illegal matrix shape '.{shape}' for instruction '{n}'",
    "tcgen05.cp": """
shape=16x64b/16x128b/16x256b/32x32b/16x32bx2 -> Illegal matrix shape '.{shape}' for instruction '{n}'
shape!=-/32x128b/64x128b warpx -> Modifier .warptype not allowed for instruction {n} with shape '.{shape}'
warpx -> @Fv8.6 : .{warpx}
warpx -> @XTENSOR : .{warpx}' for instruction '{n}
shape=32x128b/64x128b !warpx -> Modifier '.warptype' require for instruction {n} with shape '.{shape}'
shape=64x128b warpx=warpx4 | shape=32x128b warpx!=-/warpx4 -> Modifier .{warpx} not allowed for instruction {n} with shape '.{shape}'
.b8x16 !.b6x16_p32 !.b4x16_p64 | !.b8x16 .b6x16_p32 | !.b8x16 .b4x16_p64 -> Unexpected number of 'format conversion' modifiers specified
""",
    "tcgen05.mma": """
kind=kind::f16/kind::tf32/kind::f8f6f4/kind::i8 block_scale -> Modifier '.{kind}' cannot be combined with modifier '.block_scale'
scale_vec !block_scale -> Modifier '.{scale_vec}' requires modifier '.block_scale' for instruction '{n}'
kind=kind::f16/kind::tf32/kind::f8f6f4/kind::i8 scale_vec | kind=kind::mxf8f6f4 scale_vec=scale_vec::2X/scale_vec::4X/block16 | kind=kind::mxf4 scale_vec=scale_vec::1X/scale_vec::4X/block16 | kind=kind::mxf4nvf4 scale_vec=scale_vec::1X -> Modifier '.{kind}' cannot be combined with modifier '.{scale_vec}'
kind=kind::mxf4nvf4 block_scale !scale_vec -> Modifier '.kind::mxf4nvf4' requires modifier '.scale_vectorsize' for instruction '{n}'
kind=kind::mxf8f6f4/kind::mxf4/kind::mxf4nvf4 !block_scale -> .block_scale modifier required for instruction '{n}'
ashift collector_a=collector::a::fill/collector::a::use -> Modifier '.{collector_a}' cannot be combined with modifier '.ashift'
ashift block_scale -> Illegal modifier '.ashift' for instruction '{n}'
""",
    "tcgen05.mma.ws": """
cta_group=cta_group::2 -> Illegal modifier '.cta_group::2' for instruction '{n}'
kind=kind::mxf8f6f4/kind::mxf4/kind::mxf4nvf4 -> Illegal modifier '.{kind}' for instruction '{n}'
""",
    "ldmatrix stmatrix": """
!sync -> .sync modifier required for instruction '{n}'
space=shared::cluster -> State space incorrect for instruction '{n}'
""",
    "ldmatrix": """
.m8n8 t0!=b16 | shape!=-/m8n8 t0=b16 -> Incorrect instruction type specified for ldmatrix with shape '.{shape}'
.m8n16 t0=b8 -> Unexpected number of instruction types specified for ldmatrix with shape '.m8n16'
.m16n16 !trans -> Modifier '.trans' require for instruction ldmatrix with shape '.m16n16'
.m8n16 trans -> Modifier .trans not allowed for shape '.m8n16'
.m16n16 .x4 -> Incorrect no. of matrix: 4 for ldmatrix with shape '.m16n16'
""",
    "stmatrix": """
.m8n8 t0!=b16 | .m16n8 t0=b16 -> Incorrect instruction type specified for stmatrix with shape '.{shape}'
.m16n8 t0=b8 !trans -> Modifier '.trans' require for instruction stmatrix with shape '.m16n8'
""",
    "mma": """
!kind factor=fp6 => .kind::f8f6f4 modifier required for instruction 'mma'
!typed | kind satfinite | bool t1!=b1/s4/u4 | popc t1!=b1/s4/u4 => Unexpected instruction types specified for 'mma'
kind t1!=e4m3/e5m2/e3m2/e2m3/e2m1 -> Illegal modifier '.{kind}' for instruction 'mma'
rnd t1!=f64 -> Illegal rounding modifier for instruction 'mma'
kind !sync -> .sync modifier required for instruction 'mma'
kind !aligned -> .aligned modifier required for instruction 'mma'
kind !shape -> Shape modifier required for instruction 'mma'
else kind=kind::f8f6f4 shape=m16n8k16 shaped=no !sp -> Illegal matrix shape '.{shape}' for instruction 'mma'
else kind shaped=no !sp -> Incorrect instruction type specified for mma with shape '.{shape}'
else kind shaped=no -> Incorrect instruction type specified for Sparse mma with shape '.{shape}'
kind !alayout -> '.alayout.blayout' modifier required for instruction 'mma'
else kind !blayout -> '.blayout' modifier required for instruction 'mma'
kind alayout=col -> Illegal alayout '.col' for instruction 'mma'
kind blayout=row -> Illegal blayout '.row' for instruction 'mma'
kind sp=sp -> Illegal modifier '.sp' for instruction 'mma'
block_scale kind!=kind::mxf8f6f4/kind::mxf4/kind::mxf4nvf4 -> Illegal modifier '.block_scale' for instruction 'mma'
else scale_vec kind!=kind::mxf8f6f4/kind::mxf4/kind::mxf4nvf4 -> Illegal modifier '.{scale_vec}' for instruction 'mma'
kind=kind::mxf8f6f4/kind::mxf4/kind::mxf4nvf4 !block_scale -> .block_scale modifier required for instruction 'mma'
kind=kind::mxf8f6f4 scale_vec!=-/scale_vec::1X | kind=kind::mxf4/kind::mxf4nvf4 scale_vec=scale_vec::1X/block16/block32 -> Illegal modifier '.{scale_vec}' for instruction 'mma'
kind=kind::mxf4 scale_vec=scale_vec::4X -> Modifier '.{scale_vec}' cannot be combined with modifier '.kind::mxf4'
kind=kind::mxf4nvf4 block_scale !scale_vec -> .scale_vec_size modifier required for instruction 'mma'
kind=kind::mxf4 t4=ue4m3 -> Illegal modifier '.kind::mxf4' for instruction 'mma' with type '.ue4m3'
kind=kind::mxf4nvf4 scale_vec=scale_vec::2X t4=ue4m3 -> Illegal modifier '.{scale_vec}' for instruction 'mma' with type '.ue4m3'
kind=kind::mxf4nvf4 scale_vec=scale_vec::4X t4=ue8m0 isa=0..90 -> Illegal modifier '.scale_vec::4X' for instruction 'mma' with type '.ue8m0' && Illegal modifier '.kind::mxf4nvf4' for instruction 'mma' with type '.ue8m0'
kind =>
!sync -> .sync modifier required for instruction 'mma'
!aligned -> .aligned modifier required for instruction 'mma'
!shape -> Shape modifier required for instruction 'mma'
else shaped=no -> Illegal matrix shape '.{shape}' for instruction 'mma'
else shape=m8n8k4 t0=f16 t3=f32 -> .dtype must be '.f32' when .ctype is '.f32' for 'mma' instruction with shape '.m8n8k4'
!alayout shaped=yes -> '.alayout.blayout' modifier required for instruction 'mma'
else !blayout shaped=yes -> '.blayout' modifier required for instruction 'mma'
else !alayout | !blayout -> .alayout and .blayout modifiers required for instruction 'mma'
alayout !blayout shaped=yes t1=f64 -> blayout modifier required for instruction 'mma with double types'
alayout=col blayout shape!=-/m8n8k4 | alayout=col blayout shape=m8n8k4 t1!=f16 -> Illegal alayout '.col' for instruction 'mma'
alayout blayout=row shape!=-/m8n8k4 | alayout blayout=row shape=m8n8k4 t1!=f16 -> Illegal blayout '.row' for instruction 'mma'
t1=b1 !bool | t1=b1 !popc -> Operation .and.popc or .xor.popc required for instruction 'mma'
sp=sp t0=f16 t1=FP8 -> Illegal modifier '.sp' for instruction 'mma'
satfinite t0!=s32 -> Illegal modifier '.satfinite' for instruction 'mma'
""",
    "wgmma.mma_async": """
!class | bool t1!=b1 | popc t1!=b1 => Unexpected instruction types specified for '{n}'
shaped=unknown -> Unknown modifier '.{shape}'
!sync -> .sync modifier required for instruction '{n}'
shaped=unknown | !shape -> Shape modifier required for instruction '{n}'
shaped=no sp -> Illegal instruction types specified for 'Sparse {n} with {class}' with shape '.{shape}'
shaped=no !sp -> Illegal matrix shape '.{shape}' for instruction '{n} with {class}'
shaped=yes/no t1=b1 !bool | shaped=yes/no t1=b1 !popc -> Unexpected number of operations specified for {n} with {class} with shape '.{shape}'
else shaped=yes/no t1=b1 bool!=and -> Incorrect operations specified for {n} with {class} with shape '.{shape}'
shaped=yes/no t1=b1 !bool -> Boolean operation is required for instruction '{n}'
satfinite t0!=s32 -> Illegal modifier '.satfinite' for instruction '{n} with {class}' && Illegal modifier '.satfinite' for instruction '{n}'
""",
    "wmma.load.a wmma.load.b": f"""
t0=f32/s32 => Illegal type for {{n}}
t!=FRAGMENT => Unexpected instruction types specified for '{{n}}'{_TRANSFER}""",
    "wmma.load.c wmma.store.d": f"t!=f16/f32/s32/f64 => Unexpected instruction types specified for '{{n}}'{_TRANSFER}",
    "wmma.mma": """
!factor | bool factor!=b1 | popc factor!=b1 => Unexpected instruction types specified for '{n}'
!sync -> .sync modifier required for instruction '{n}'
!aligned -> .aligned modifier required for instruction '{n}'
!alayout -> '.alayout' modifier required for instruction '{n}'
!blayout -> '.blayout' modifier required for instruction '{n}'
!shape -> Shape modifier required for instruction '{n}' && Incorrect instruction type specified for {n} with shape ''
else shaped=no -> Incorrect instruction type specified for {n} with shape '.{shape}'
factor=s4/u4/b1 alayout!=-/row -> Illegal alayout '.{alayout}' for instruction '{n}'
factor=s4/u4/b1 blayout!=-/col -> Illegal blayout '.{blayout}' for instruction '{n}'
begins=popc -> Illegal reduction operation for instruction '{n}.{t0}.{t3}'
factor=b1 operations!=2 -> Unexpected number of operations specified for {n} with shape '.{shape}'
factor=b1 operations=2 begins=popc -> Incorrect operations specified for {n} with shape '.{shape}' && Incorrect operations specified for {n} with shape '.{shape}'
factor=b1 !begins | factor=b1 begins=popc -> Boolean operation is required for instruction '{n}'
rnd=rn/rz/rm/rp factor!=f64 -> Illegal rounding modifier for instruction '{n}'
satfinite factor=b1/f64 -> Illegal modifier '.satfinite' for instruction '{n}'
clean satfinite isa=65.. t0!=s32 -> Instruction ''wmma.mma' with floating point type' with '.satfinite' is not supported starting from PTX ISA version 6.5
""",
}
"""Rules between the modifiers and types of an opcode."""

_SCALED: Final = "argument scale-inp-d-imm"
_SCALES_SUMS: Final = (
    "!block_scale !sp last=imm count=6 a4!=other", "!block_scale !sp last=imm count=7", "!block_scale sp last=imm count=7 a5!=other",
    "!block_scale sp last=imm count=8",
)  # fmt: skip
"""Operand lists of tcgen05.mma that end with the scale of the sums: one more than the list without, whose last may be a constant too.

A vector of lanes (other) may precede the flag.
"""

OPERANDS: Final[dict[str, str]] = {
    "tcgen05.commit": "multicast a1!=reg16 -> Arguments mismatch for instruction '{n}'",
    "tcgen05.alloc tcgen05.commit": "a0=absolute -> Immediate addresses allowed only for .local state space",
    "mma": "sp bool t1=s4/u4 | sp popc t1=s4/u4 -> Arguments mismatch for instruction '{n}'",
    "movmatrix": "a1=imm -> Arguments mismatch for instruction '{n}'",
    "tcgen05.shift tcgen05.cp": "a0=address64 -> Arguments mismatch for instruction 'add'",
    "tcgen05.mma": f"""
{" | ".join(_SCALES_SUMS)} -> @n100af/103af : {_SCALED}
{" | ".join(f"{c} kind!=kind::f16/kind::tf32" for c in _SCALES_SUMS)} -> Illegal modifier '.{{kind}}' for instruction '{{n}}' with 'arg scale-inp-d-imm'
""",
}
"""Rules between modifiers and operands."""

VALUES: Final[dict[str, str]] = {
    "tcgen05.alloc": """
v1!=-/32..512 -> Argument 1 of instruction '{n}': value '{v1}' out of range, expected to be in range [32..512]
v1!=-/1/2/4/8/16/32/64/128/256/512/1024/2048/4096 -> Argument 1 of '{n}' instruction: value must be power of 2
""",
    "tcgen05.dealloc": "v1!=-/*32 -> Argument 1 of instruction '{n}': unexpected value '{v1}', expected to be multiple of 32",
}
"""Rules on the values of immediate operands."""
