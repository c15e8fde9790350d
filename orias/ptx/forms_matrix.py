"""Matrix instructions: forms, gates and rules.

Shapes and types are in the tables of :mod:`orias.ptx.matrix_checks`, :mod:`orias.ptx.wmma_checks` and
:mod:`orias.ptx.wgmma_checks`, which give the facts ``class``, ``factor``, ``operand``, ``shaped`` and ``typed``.
:mod:`orias.ptx.form_table` and :mod:`orias.ptx.rules` define the notations.  Facts: docs/facts/front-end.md (matrix
instructions).
"""

from typing import Final

_SHARED: Final = "shared/shared::cta/shared::cluster"

FORMS: Final[dict[str, str]] = {
    "ldmatrix": f"b16 ; X,M ; !sync !aligned !m8n8 !x1/x2/x4 trans {_SHARED} ; 6.5/75"
    f" | b8 ; X,M ; !sync !aligned m16n16 x1/x2 trans {_SHARED} ; F75 Fv6.5, n100a Fv8.6 : ldmatrix.b8"
    f" | b8x16.b4x16_p64 b8x16.b6x16_p32 ; X,M ; !sync !aligned m8n16/m16n16 x1/x2/x4 trans {_SHARED} ; F75 Fv6.5, n100a Fv8.6 : ldmatrix with format conversion",
    "stmatrix": f"b16 ; M,X ; !sync !aligned !m8n8 !x1/x2/x4 trans {_SHARED} ; 7.8/90 | b8 ; M,X ; !sync !aligned m16n8 x1/x2/x4 trans {_SHARED} ; F90 Fv7.8, n100a Fv8.6 : stmatrix.b8",
    "movmatrix": "b16 ; =b32,b32 ; !sync !aligned !m8n8 !trans ; 7.8/75",
    "mma": "* ; X* ; *",
    "wmma.mma": "* ; X,X,X,X ; *",
    "wmma.load.a": "* ; X,M,u32? ; *",
    "wmma.load.b": "* ; X,M,u32? ; *",
    "wmma.load.c": "* ; X,M,u32? ; *",
    "wmma.store.d": "* ; M,X,u32? ; *",
    "wgmma.mma_async": "* ; X* ; *",
    "wgmma.fence": "- ; ; !sync aligned ; Fv8.0 : WGMMA, N90a",
    "wgmma.commit_group": "- ; ; !sync aligned ; Fv8.0 : WGMMA, N90a",
    "wgmma.wait_group": "- ; i ; !sync aligned ; Fv8.0 : WGMMA, N90a",
    **dict.fromkeys(("tcgen05.alloc", "tcgen05.dealloc", "tcgen05.relinquish_alloc_permit", "tcgen05.ld", "tcgen05.ld.red", "tcgen05.st", "tcgen05.wait", "tcgen05.wait::ld", "tcgen05.wait::st", "tcgen05.cp", "tcgen05.shift", "tcgen05.mma", "tcgen05.mma.ws", "tcgen05.commit", "tcgen05.fence::before_thread_sync", "tcgen05.fence::after_thread_sync"), "* ; X* ; * ; Fv8.6 N100a"),
}  # fmt: skip
"""Rows of :mod:`orias.ptx.form_table`."""

_WMMA: Final = "wmma.mma wmma.load.a wmma.load.b wmma.load.c wmma.store.d"

GATES: Final[dict[str, str]] = {
    "ldmatrix": "t0=b16 -> @Fv6.5 M75 : .m8n8",
    "mma": """
!t3 =>
factor=fp6 block_scale => @Fv8.7 N120a : mma with block scale
factor=fp6 => @Fv8.7 N120a : mma with with FP6/FP4 floating point type
factor=fp8 -> @Fv8.4 F89 : mma with FP8 floating point type
factor=fp8 t0=f16 sp -> @Fv8.7 N120a : mma with with F16 accumulator and F8 floating point type
factor=fp8 t0=f16 -> @Fv8.7 : mma with FP8 floating point type and FP16 accumulation
factor=fp8 shape=m16n8k16 -> @Fv8.7 : mma with FP8 floating point type and .m16n8k16 shape
factor=fp8 =>
-> @Fv6.4 F70 : mma
bool=and -> @Mv7.1 M80 : .and' on 'mma
sp -> @Fv7.1 F80 : Sparse MMA
sp!=-/sp -> @F80 Fv8.5 : .{sp}
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
sp => @Fv8.2 : Sparse WGMMA with {class}, N90a : Sparse {n} with {class}
=> @Fv8.0 : WGMMA with {class}, N90a : {n} with {class}
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
each word!=sync/aligned/row/col/SPACE -> Illegal modifier '.{word}' for instruction '{n}'
"""

MODIFIERS: Final[dict[str, str]] = {
    "ldmatrix stmatrix": "space=shared::cluster -> State space incorrect for instruction '{n}'",
    "ldmatrix": ".m8n8 t0!=b16 -> Incorrect instruction type specified for ldmatrix with shape '.m8n8'",
    "mma": """
!typed => Unexpected instruction types specified for 'mma'
kind=kind::mxf4nvf4 scale_vec=scale_vec::4X t4=ue8m0 -> Illegal modifier '.scale_vec::4X' for instruction 'mma' with type '.ue8m0' && Illegal modifier '.kind::mxf4nvf4' for instruction 'mma' with type '.ue8m0'
kind =>
!sync -> .sync modifier required for instruction 'mma'
!aligned -> .aligned modifier required for instruction 'mma'
!shape -> Shape modifier required for instruction 'mma'
else shaped=no -> Illegal matrix shape '.{shape}' for instruction 'mma'
else shape=m8n8k4 t0=f16 t3=f32 -> .dtype must be '.f32' when .ctype is '.f32' for 'mma' instruction with shape '.m8n8k4'
!alayout | !blayout -> .alayout and .blayout modifiers required for instruction 'mma'
alayout=col blayout shape!=-/m8n8k4 | alayout=col blayout shape=m8n8k4 t1!=f16 -> Illegal alayout '.col' for instruction 'mma'
alayout blayout=row shape!=-/m8n8k4 | alayout blayout=row shape=m8n8k4 t1!=f16 -> Illegal blayout '.row' for instruction 'mma'
t1=b1 !bool | t1=b1 !popc -> Operation .and.popc or .xor.popc required for instruction 'mma'
sp=sp t0=f16 t1=FP8 -> Illegal modifier '.sp' for instruction 'mma'
satfinite t0!=s32 -> Illegal modifier '.satfinite' for instruction 'mma'
""",
    "wgmma.mma_async": """
!class => Unexpected instruction types specified for '{n}'
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
factor=b1 !bool | factor=b1 !popc -> Unexpected number of operations specified for {n} with shape '.{shape}' && Boolean operation is required for instruction '{n}'
rnd factor!=f64 | rnd!=-/rn/rz/rm/rp -> Illegal rounding modifier for instruction '{n}'
satfinite factor=b1/f64 -> Illegal modifier '.satfinite' for instruction '{n}'
clean satfinite isa=65.. t0!=s32 -> Instruction ''wmma.mma' with floating point type' with '.satfinite' is not supported starting from PTX ISA version 6.5
""",
}
"""Rules between the modifiers and types of an opcode."""
