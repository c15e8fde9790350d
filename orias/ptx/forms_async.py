"""Barriers, fences, warp operations, asynchronous copies and control flow: forms, gates and rules.

:mod:`orias.ptx.form_table` and :mod:`orias.ptx.rules` define the notations.  Facts: docs/facts/front-end.md (opcodes).
"""

from typing import Final

_SCOPE: Final = "cta/cluster/gpu/sys"
_MEMTYPES: Final = "b8 u8 s8 b16 u16 s16 b32 u32 s32 b64 u64 s64 f32 f64"
_SHARED: Final = "shared/shared::cta/shared::cluster"
_MBAR: Final = "shared/shared::cta"
_REPLACED: Final = (
    "tile/im2col/im2col_no_offs/im2col::w/im2col::w::128/tile::gather4/tile::scatter4 global/shared::cta/shared/shared::cluster"
    " global_address/rank/box_dim/global_dim/global_stride/element_stride/elemtype/interleave_layout/swizzle_mode/fill_mode/swizzle_atomicity"
)
"""Words of tensormap.replace."""
_MBARC: Final = "shared/shared::cta/shared::cluster"
_BULK: Final = "global/shared::cta/shared::cluster"
_TENSOR: Final = "1d/2d/3d/4d/5d"
_RED: Final = "!add/min/max/inc/dec/and/or/xor"

FORMS: Final[dict[str, str]] = {
    "st.async": f"b128 ; M,SA,M? ; weak {_SCOPE} shared::cta/shared::cluster mbarrier::complete_tx::bytes ; 8.1/90 | {_MEMTYPES} ; M,SA,M? ; weak/relaxed/release mmio {_SCOPE} global/shared::cta/shared::cluster v2/v4 mbarrier::complete_tx::bytes ; 8.1/90",
    "st.bulk": "- ; M,X,i ; weak shared::cta/shared/shared::cluster ; 8.6!100",
    "red.async": f"u32 s32 u64 s64 b32 b64 ; M,S,M? ; {_RED[1:]} relaxed/release mmio {_SCOPE} global/shared::cta/shared::cluster mbarrier::complete_tx::bytes ; 8.1/90",
    "bar": "- ; u32,u32? ; sync any/all",
    "bar.arrive": "- ; u32,u32 ; ; 2.0/20",
    "bar.red": "pred ; =P,u32,[u32,]P ; !and/or/popc ; 2.0/20 | u32 s32 ; D,u32,[u32,]P ; !and/or/popc ; 2.0/20",
    "barrier": "- ; u32,u32? ; sync aligned ; I30 Fv6.0",
    "barrier.arrive": "- ; u32,u32 ; aligned ; I30 Fv6.0",
    "barrier.red": "pred ; =P,u32,[u32,]P ; !and/or/popc aligned ; I30 Fv6.0 | u32 s32 ; D,u32,[u32,]P ; !and/or/popc aligned ; I30 Fv6.0",
    "bar.warp": "- ; u32 ; !sync ; Fv6.0 I30",
    "barrier.cluster.arrive": "- ; ; relaxed/release aligned ; 7.8!90",
    "barrier.cluster.wait": "- ; ; acquire aligned ; 7.8!90",
    "membar": "- ; ; !cta/gl/sys/gpu/cluster ; 1.4/10",
    "membar.proxy": "- ; ; !alias global/shared::cta/shared::cluster ; 7.5!60",
    "fence": "- ; ; sc/acq_rel/acquire/release cta/cluster/gpu/sys mbarrier_init"
    " sync_restrict::shared::cta/sync_restrict::shared::cluster ; 6.0!70 fence instruction",
    "fence.proxy": "- ; [M,i] ; !alias/async/tensormap::generic/async::generic global/shared::cta/shared::cluster"
    " acquire/release cta/cluster/gpu/sys sync_restrict::shared::cta/sync_restrict::shared::cluster ; 7.5!70",
    "vote": "pred ; =P,P,u32@sync ; sync !all/any/uni/ballot | b32 ; D,P,u32@sync ; sync !all/any/uni/ballot",
    "shfl": "b32 ; D|P,S,S,S,u32@sync ; sync !up/down/bfly/idx",
    "match": "b32 b64 ; =b32|P,S,u32 ; !sync !any/all ; Fv6.0 I70",
    "activemask": "b32 ; D ; ; F30 Fv6.2",
    "redux": "u32 s32 b32 ; D,S,u32 ; !sync !add/min/max/and/or/xor ; 7.0/80"
    " | f32 ; D,S,u32 ; !sync !add/min/max/and/or/xor abs NaN ; N100af/103af Fv8.6 : redux.f32",
    "elect": "- ; =u32_|P,u32 ; !sync ; 8.0!90",
    "nanosleep": "u32 s32 ; u32 ; ; I70 Fv6.2",
    "griddepcontrol": "- ; ; !launch_dependents/wait ; Fv7.8 I90",
    "setmaxnreg.inc": "u32 s32 ; i ; !sync !aligned ; Fv8.0 N90a/NEW",
    "setmaxnreg.dec": "u32 s32 ; i ; !sync !aligned ; Fv8.0 N90a/NEW",
    "pmevent": "- ; i ; ; 1.4/10",
    "pmevent.mask": "- ; i ; ; 3.0/20",
    "cp.async": f"- ; M,M,i,X?,b64@cache_hint ; !ca/cg {_SHARED}/global L2::64B/L2::128B/L2::256B L2::cache_hint ; 7.0!80",
    "cp.async.commit_group": "- ; ; ; 7.0!80",
    "cp.async.wait_group": "- ; i ; ; 7.0!80",
    "cp.async.wait_all": "- ; ; ; 7.0!80",
    "cp.async.mbarrier.arrive": f"b64 ; M ; noinc {_MBAR} ; 7.0!80",
    "cp.async.bulk": f"b128 ; M,M,u32,M@mbarrier,b64@cache_hint ; {_BULK} mbarrier::complete_tx::bytes/bulk_group L2::cache_hint relaxed/weak {_SCOPE} ; 8.0/90 | - ; M,M,u32,u32@ignore_oob,u32@ignore_oob,M@mbarrier,u16@multicast,b64@cache_hint,u16@cp_mask ; {_BULK} ignore_oob weak mbarrier::complete_tx::bytes/bulk_group"
    " multicast::cluster L2::cache_hint cp_mask cta/cluster/gpu/sys ; 8.0/90",
    "cp.async.bulk.commit_group": "- ; ; ; 8.0/90",
    "cp.async.bulk.wait_group": "- ; i ; read ; 8.0/90",
    "cp.async.bulk.prefetch": "- ; M,u32,b64@cache_hint ; !L2 global L2::cache_hint ; 8.0/90",
    "cp.async.bulk.tensor": f"- ; M,M,X* ; {_TENSOR} {_BULK} tile/im2col/im2col_no_offs/im2col::w/im2col::w::128/tile::gather4/tile::scatter4"
    " mbarrier::complete_tx::bytes/bulk_group multicast::cluster cta_group::1/cta_group::2 L2::cache_hint ; 8.0/90",
    "cp.async.bulk.prefetch.tensor": f"- ; M,X* ; {_TENSOR} !L2 global tile/im2col/im2col::w/im2col::w::128/tile::gather4 L2::cache_hint ; 8.0/90",
    "cp.reduce.async.bulk": f"u32 s32 u64 s64 b32 b64 f16 bf16 f32 f64 ; M,M,u32,M?,b64@cache_hint ; {_RED} {_BULK}"
    " mbarrier::complete_tx::bytes/bulk_group L2::cache_hint noftz ; 8.0/90",
    "multimem.cp.async.bulk": "- ; M,M,X,u16@cp_mask ; !global !shared::cta !bulk_group cp_mask ; 9.1/90",
    "multimem.cp.reduce.async.bulk": f"u32 s32 u64 s64 b32 b64 f16 bf16 f32 f64 ; M,M,X ; {_RED} !global !shared::cta !bulk_group noftz ; 9.1/90",
    "cp.reduce.async.bulk.tensor": f"- ; M,M,b64@cache_hint ; {_TENSOR} {_RED} {_BULK} tile/im2col_no_offs/im2col/tile::scatter4 bulk_group L2::cache_hint ; 8.0/90",
    "mbarrier.check_layout": f"b64 ; =P,M ; {_MBAR} !layout::v0/layout::v1 ; 9.3/90",
    "mbarrier.init": f"b64 ; M,u32 ; {_MBAR} layout::v0/layout::v1 ; 7.0!80",
    "mbarrier.inval": f"b64 ; M ; {_MBAR} ; 7.0!80",
    "mbarrier.arrive": f"b64 ; =b64_,M,u32? ; {_MBARC} release/relaxed cta/cluster noComplete ; 7.0!80",
    "mbarrier.arrive_drop": f"b64 ; =b64_,M,u32? ; {_MBARC} release/relaxed cta/cluster noComplete ; 7.0!80",
    "mbarrier.arrive.expect_tx": f"b64 ; =b64_,M,u32 ; {_MBARC} release/relaxed cta/cluster ; 8.0!90",
    "mbarrier.arrive_drop.expect_tx": f"b64 ; =b64_,M,u32 ; {_MBARC} release/relaxed cta/cluster ; 8.0!90",
    "mbarrier.test_wait": f"b64 ; =Q,M,b64 ; {_MBAR} phase_type::primary/phase_type::conditional acquire/relaxed cta/cluster ; 7.0!80",
    "mbarrier.test_wait.parity": f"b64 ; =Q,M,u32 ; {_MBAR} phase_type::primary/phase_type::conditional acquire/relaxed cta/cluster ; 7.1!80",
    "mbarrier.try_wait": f"b64 ; =Q,M,b64,u32? ; {_MBAR} phase_type::primary/phase_type::conditional acquire/relaxed cta/cluster ; 7.8!90",
    "mbarrier.try_wait.parity": f"b64 ; =Q,M,u32,u32? ; {_MBAR} phase_type::primary/phase_type::conditional acquire/relaxed cta/cluster ; 7.8!90",
    "mbarrier.pending_count": "b64 ; =u32,b64 ; layout::v0 ; 7.0!80",
    "mbarrier.expect_tx": f"b64 ; M,u32 ; {_MBARC} relaxed cta/cluster ; 8.0!90",
    "mbarrier.complete_tx": f"b64 ; M,u32 ; {_MBARC} relaxed cta/cluster ; 8.0!90",
    "tensormap.replace": f"b1024.b32 b1024.b64 ; M,[i,]S1 ; {_REPLACED} ; Fv8.3 N90a/NEW | b32.b1024 b64.b1024 b32 b64 ; M,[i,]S ; {_REPLACED} ; Fv8.3 N90a/NEW",
    "tensormap.cp_fenceproxy": "- ; M,M,i ; global/shared/shared::cta/shared::cluster"
    " tensormap::generic/async::generic acquire/relaxed/release/acq_rel/sc/weak cta/cluster/gpu/sys sync !aligned ; Fv8.3 N90",
    "tensormap.query.alloc_class_large": f"b1024 ; =P,M ; global/{_MBARC} ; Fv9.5 N90a/NEW",
    "clusterlaunchcontrol.try_cancel.async": "b128 ; M,M ; !mbarrier::complete_tx::bytes shared::cta/shared/shared::cluster multicast::cluster::all ; 8.6!100",
    "clusterlaunchcontrol.query_cancel": "pred.b128 ; =P,S1 ; is_canceled/get_first_ctaid/get_first_ctaid::x/get_first_ctaid::y/get_first_ctaid::z ; 8.6!100 | b32.b128 ; DA,S1 ; is_canceled/get_first_ctaid/get_first_ctaid::x/get_first_ctaid::y/get_first_ctaid::z v4 ; 8.6!100",
    # control flow
    "bra": "- ; L ; uni",
    "brx.idx": "- ; u32,L ; uni ; 6.0/30",
    "call": "- ; X* ; uni",
    "ret": "- ; ; uni",
    "exit": "- ; ;",
    "trap": "- ; ;",
    "brkpt": "- ; ; ; 1.0/11",
}
"""Rows of :mod:`orias.ptx.form_table`."""

_BARRIERS: Final = "bar bar.cta barrier barrier.cta"
_ARRIVALS: Final = "bar.arrive bar.cta.arrive barrier.arrive barrier.cta.arrive"
_REDUCTIONS: Final = "bar.red bar.cta.red barrier.red barrier.cta.red"

INSTEAD: Final[dict[str, str]] = {
    "barrier.cta barrier.cta.arrive barrier.cta.red": "-> @I30 Fv7.8 : {n}",
    "fence.proxy": "proxy=GENERIC -> @Fv8.3 N90 : fence.proxy with unidirection proxy fence",
    "tensormap.replace": ".swizzle_atomicity -> @Fv8.6 NNEW : {n}.swizzle_atomicity",
}
"""Gates that replace the gate of the form row if a row here holds."""

FIRST: Final[dict[str, str]] = {
    "cp.async.bulk": "t0=b128 order!=relaxed isa=0..92 -> Unexpected instruction types specified for '{n}'",
    "tcgen05.wait": """
!named -> .wait::<ld/st> modifier required for instruction '{n}'
!aligned -> .aligned modifier required for instruction '{n}'
""",
    "wgmma.fence wgmma.commit_group wgmma.wait_group": "!sync -> .sync modifier required for instruction '{n}'",
    "tcgen05.fence": "!named -> .fence::<before/after>_thread_sync modifier required for instruction '{n}'",
}
"""Rules between the modifiers of an opcode that are reported before its gates."""

GATES: Final[dict[str, str]] = {
    "st.async": "t0=b128 -> @Fv9.2 : {n}.b128",
    "shfl vote": "sync -> @Fv6.0 : {n}.sync",
    "cp.async": "prefetch -> @F75 Fv7.4 : cache prefetching",
    "cp.async.bulk cp.async.bulk.tensor": """
n=cp.async.bulk.tensor dst=global completion=mbarrier::complete_tx::bytes | n=cp.async.bulk.tensor dst=shared::cta/shared::cluster completion=bulk_group -> Illegal modifier '.{completion}' for instruction '{n}'
ignore_oob -> @Fv9.2 : .ignore_oob
order=weak isa=91.. -> @Fv9.3 : {n}.weak
order=relaxed t0=b128 -> @Fv9.3 : {n}.{scope}, Fv9.3 : {n}.relaxed
dst=shared::cta -> @Fv8.6 : {n} with destination state space as .shared::cta
cta_group -> @Mv8.6 : .{cta_group}' on '{n}
""",
    "barrier.cluster.*": "each word=STRONG -> @Mv8.0 : .{word}' on '{n}",
    "mbarrier.arrive* mbarrier.test_wait* mbarrier.try_wait*": """
order=relaxed -> @M90 Mv8.6 : .relaxed' on '{n}
order!=-/relaxed -> @Mv8.0 : .{order}' on '{n}
""",
    "mbarrier.arrive* mbarrier.expect_tx mbarrier.complete_tx": "space=shared::cluster -> @Fv8.0 F90 : .shared::cluster",
    "mbarrier.*": "scope !order -> Modifier '.{scope}' requires order with '{n}' instruction",
}
"""Gates of combinations of modifiers and types; rows as in :mod:`orias.ptx.rules`."""

LAST: Final[dict[str, str]] = {
    "mbarrier.*": "scope -> @Fv8.0 : scopes on mbarrier operations",
    "tcgen05.alloc tcgen05.dealloc tcgen05.relinquish_alloc_permit": "!sync -> .sync modifier required for instruction '{n}'",
    "cp.async.bulk.tensor": """
mode=tile::gather4/im2col::w dst=shared::cta -> @F100 : .{mode} with destination state space as .shared::cta
mode=tile::gather4/im2col::w dst=shared::cluster -> @nTENSOR : .{mode} with destination state space as .shared::cluster
mode=tile::gather4/im2col::w -> @Fv8.6 : .{mode}
""",
    "cp.async.bulk": "order=STRONG !scope -> Modifier '.{order}' requires scope with '{n}' instruction",
    "tensormap.cp_fenceproxy": "!sync -> .sync modifier required for instruction '{n}'",
    "cp.async.bulk.prefetch.tensor": """
!mode -> @F90 Fv8.0 : .tile
mode=tile::gather4/im2col::w -> @nTENSOR : .{mode} with {n}, Fv8.6 : .{mode}
""",
    "red.async": "!op -> Reduction operation is required for instruction '{n}'",
    "st.async red.async": """
order=release -> @F100 Fv8.7 : st.async/red.async with .release modifier
n=st.async order=relaxed | order=release sm=0..99 | order=release isa=0..86 -> Illegal modifier '.{order}' for instruction '{n}'
order=release !scope !mmio | order=relaxed !scope -> Modifier '.{order}' requires scope with '{n}' instruction
mmio order!=release -> Modifier '.mmio' requires modifier '.release' for instruction '{n}'
scope=cta -> Illegal modifier '.cta' for instruction '{n}'
mmio !scope -> Modifier '.mmio' requires scope with '{n}' instruction
""",
}
"""Gates of combinations that are reported after those of words."""

MODIFIERS: Final[dict[str, str]] = {
    "tensormap.replace": "!mode -> .tile modifier required for instruction '{n}'",
    "tcgen05.wait": "!sync -> .sync modifier required for instruction '{n}'",
    "tensormap.cp_fenceproxy": """
!.tensormap::generic -> .tensormap::generic modifier required for instruction '{n}'
!.release -> .release modifier required for instruction '{n}'
!scope -> scope modifier required for instruction '{n}'
.release !scope -> Modifier '.release' requires scope with '{n}' instruction
!sync -> .sync modifier required for instruction '{n}'
""",
    "cp.async": """
!src => Unexpected number of state spaces specified in instruction '{n}'
dst=global -> State space incorrect for instruction '{n}'
src!=global -> State space incorrect for instruction '{n}'
""",
    _REDUCTIONS: """
bool=popc t0!=u32 -> Operation requires .u32 type
bool=and/or t0!=pred -> Operation requires .pred type
""",
    "membar": "scope=gpu/cluster -> Illegal modifier '.{scope}' for instruction '{n}'",
    "membar.proxy": "space -> State space incorrect for instruction '{n}' && No state space qualifier expected for instruction '{n}'",
    "vote": """
t0=b32 .all | t0=b32 .any | t0=b32 .uni -> Instruction '{n}' requires '.pred' type with '.{op}' modifier.
t0=pred .ballot -> Instruction '{n}' requires '.b32' type with '.{op}' modifier.
""",
    "redux": "t0=u32/s32 op=and/or/xor | t0=b32 op=add/min/max | t0=f32 op=add/and/or/xor -> Incorrect type '.{t0}' for operation '.{op}' in instruction '{n}'",
    "nanosleep": "t0=s32 -> Instruction '{n}' requires '.u32' type",
    "st.async red.async": """
mmio -> @F100 Fv8.7 : st.async/red.async with .mmio modifier
mmio !order -> Modifier '.mmio' requires modifier '.release' for instruction '{n}'
mmio order=relaxed/weak -> Modifier '.mmio' cannot be combined with modifier '.{order}'
order=release scope=cta/cluster -> Illegal modifier '.{scope}' for instruction '{n}' with '.release'
order=release space=shared::cluster/shared::cta -> Illegal modifier '.{space}' for instruction '{n}' with '.release'
scope=cluster space=global/shared::cta -> Modifier '.cluster' requires '.shared::cluster' space for instruction '{n}'
scope=cluster !completion -> Modifier '.cluster' requires modifier '.completion_mechanism' for instruction '{n}'
scope=gpu/sys space=shared::cluster/shared::cta -> Modifier '.{scope}' requires '.global' space for instruction '{n}'
scope=gpu/sys completion -> Illegal modifier '.mbarrier::complete_tx::bytes' for instruction '{n}' with '.{scope}'
space=global completion -> Illegal modifier '.mbarrier::complete_tx::bytes' for instruction '{n}' with '.global'
n=red.async space=shared::cluster !completion -> Modifier '.shared::cluster' requires modifier '.completion_mechanism' for instruction '{n}'
n=red.async !order -> order modifier required for instruction '{n}'
n=red.async !op -> Reduction operation is required for instruction '{n}'
n=red.async op=add t0!=u32/s32/u64/s64 | n=red.async op=min/max t0!=u32/s32 | n=red.async op=inc/dec t0!=u32 | n=red.async op=and/or/xor t0!=b32 -> Incorrect type '.{t0}' for operation '.{op}' in instruction '{n}'
space=global -> @F100 Fv8.7 : st.async/red.async with .global state space
space=global sm=0..99 | space=global isa=0..86 -> State space incorrect for instruction '{n}'
space=global vec -> Vector qualifier is not allowed for instruction '{n}'
order=weak scope -> Modifier '.weak' cannot be combined with modifier '.{scope}'
""",
    "mbarrier.test_wait mbarrier.try_wait": "phase_type=phase_type::conditional -> .parity modifier required for instruction '{n}'",
    "st.bulk": "space=shared/shared::cluster -> State space incorrect for instruction '{n}', expected '.shared::cta'",
    "clusterlaunchcontrol.try_cancel.async": "space=shared/shared::cluster -> State space incorrect for instruction '{n}', expected '.shared::cta'",
    "clusterlaunchcontrol.query_cancel": """
t0=pred query!=is_canceled -> '.is_canceled' modifier required for instruction '{n}' with type '.pred'
t0=pred query=get_first_ctaid -> Unexpected instruction types specified for '{n}' && Vector of size 4 is expected for argument 0 of instruction '{n}'
!.is_canceled !.get_first_ctaid !.get_first_ctaid::x !.get_first_ctaid::y !.get_first_ctaid::z -> is_success or get_first_ctaid modifier required for instruction '{n}'
t0=b32 query=is_canceled | t0=b32 query=get_first_ctaid !vec | t0=b32 query!=get_first_ctaid vec -> Unexpected instruction types specified for '{n}'
""",
    "griddepcontrol": ".wait .launch_dependents -> Modifier '.wait' cannot be combined with modifier '.launch_dependents'",
    "cp.async.bulk.prefetch.tensor": "!dim -> .dim modifier required for instruction '{n}'",
    "cp.async.bulk.tensor": """
!dst | !src | dst=shared::cta/shared::cluster src!=-/global | dst=global src!=-/shared::cta -> State space incorrect for instruction '{n}'
!src -> Unexpected number of state spaces specified in instruction '{n}'
!dim -> .dim modifier required for instruction '{n}'
!completion -> .completion_mechanism modifier required for instruction '{n}'
dst=global cta_group -> Arguments mismatch for instruction '{n}'
dst=shared::cta src=global multicast -> Illegal modifier '.multicast::cluster' for instruction '{n}' with '.shared::cta.global'
dst=global mode=tile::gather4/im2col::w/im2col::w::128 | dst=shared::cta/shared::cluster mode=tile::scatter4 -> Illegal modifier '.{mode}' for instruction '{n}'
""",
    "cp.reduce.async.bulk.tensor": """
!dst | !src | dst!=-/global | src!=-/shared::cta -> State space incorrect for instruction '{n}'
!src -> Unexpected number of state spaces specified in instruction '{n}'
!dim -> .dim modifier required for instruction '{n}'
!completion -> .completion_mechanism modifier required for instruction '{n}'
""",
    "cp.reduce.async.bulk": "dst=shared::cluster src=shared::cta !completion | dst=global src=shared::cta !completion -> .completion_mechanism modifier required for instruction '{n}'",
    "multimem.cp.reduce.async.bulk": "t0=f16/bf16 op=add !noftz -> Modifier '.noftz' required for instruction '{n}' with type '.{t0}' and operation '.add'",
    "multimem.red.async": "t0!=u32/s32/u64 -> Incorrect type '.{t0}' for operation '.{op}' in instruction '{n}'",
    "cp.async.bulk": "order=weak isa=0..90 -> Illegal modifier '.weak' for instruction '{n}'\n"
    "ignore_oob !dst | ignore_oob dst=shared::cluster -> Illegal modifier '.ignore_oob' for instruction '{n}' with '.{dst}.{src}'\n"
    "order=weak t0=b128 -> Illegal modifier '.weak' for instruction '{n}' with '.b128'\n"
    "dst=shared::cluster src=shared::cta order=relaxed scope=sys/gpu -> Illegal modifier '.{scope}' for instruction '{n}' with '.relaxed.{dst}.{src}'\n"
    "dst=shared::cta src=global multicast -> Illegal modifier '.multicast::cluster' for instruction '{n}' with '.shared::cta.global'\n",
    "fence": """
!scope !.sync_restrict::shared::cta !.sync_restrict::shared::cluster -> Scope modifier required for instruction 'fence'
!scope !.sync_restrict::shared::cta !.sync_restrict::shared::cluster order -> Modifier '.{order}' requires scope with 'fence' instruction
!scope !.sync_restrict::shared::cta !.sync_restrict::shared::cluster !order -> Modifier '.acq_rel' requires scope with 'fence' instruction
""",
}
"""Rules between the modifiers and types of an opcode."""

_REMOTE: Final = (
    "space=shared::cluster !completion -> Modifier '.shared::cluster' requires modifier '.completion_mechanism'"
    " for instruction '{n}'\n"
)
_TYPE_OF_OPERATION: Final = "Incorrect type '.{t0}' for operation '.{op}' in instruction '{n}'"

OPERANDS: Final[dict[str, str]] = {
    "cp.async.bulk.tensor": """
dst!=global a2=absolute/imm -> Immediate addresses allowed only for .local state space
""",
    "cp.async.bulk": "count=4 a3=address16 -> Argument 3 of instruction '{n}': must be register",
    "fence fence.proxy": """
order!=-/acquire sync_restrict=sync_restrict::shared::cluster !proxy | order!=-/release sync_restrict=sync_restrict::shared::cta !proxy -> Modifier '.{sync_restrict}' cannot be combined with modifier '.{order}'
!proxy !.mbarrier_init sync_restrict order !scope -> Modifier '.{sync_restrict}' requires modifier 'scope'
.mbarrier_init !order -> Modifier '.mbarrier_init' requires modifier 'order'
!proxy !.mbarrier_init sync_restrict !order -> Modifier '.{sync_restrict}' requires modifier 'order'
.mbarrier_init order!=-/release -> Modifier '.mbarrier_init' cannot be combined with modifier '.{order}'
.mbarrier_init scope!=-/cluster -> Modifier '.mbarrier_init' cannot be combined with modifier '.{scope}'
.mbarrier_init | !proxy =>
proxy=alias/async count!=0 -> Arguments mismatch for instruction '{n}'
proxy=alias space -> State space incorrect for instruction '{n}'
proxy=alias/async scope !order -> Illegal modifier '.{scope}' for instruction '{n}'
proxy=alias/async order=acquire/release -> Illegal modifier '.{order}' for instruction '{n}'
proxy=GENERIC !order => .acquire/.release modifier required for instruction '{n}'
proxy=async::generic scope!=cluster -> .cluster modifier required for instruction '{n}'
proxy=async::generic order=acquire sync_restrict!=sync_restrict::shared::cluster -> .sync_restrict::shared::cluster modifier required for instruction '{n}'
proxy=async::generic order!=acquire sync_restrict!=sync_restrict::shared::cta -> .sync_restrict::shared::cta modifier required for instruction '{n}'
order !scope -> Modifier '.{order}' requires scope with '{n}' instruction
proxy=tensormap::generic order=release count!=0 -> .release modifier required for instruction '{n}' with 0 arguments
proxy=tensormap::generic order=acquire count!=2 -> Arguments mismatch for instruction '{n}'
""",
    "mbarrier.arrive mbarrier.arrive_drop mbarrier.arrive.expect_tx mbarrier.arrive_drop.expect_tx": """
noComplete count!=3 -> Illegal modifier '.noComplete' for instruction '{n} without count argument'
noComplete order=relaxed -> Modifier '.relaxed' cannot be combined with modifier '.noComplete'
noComplete scope=cluster -> Modifier '.cluster' cannot be combined with modifier '.noComplete'
clean space=shared::cluster noComplete => Modifier '.shared::cluster' cannot be combined with modifier '.noComplete'
clean space=shared::cluster count!=0 a0!=sink -> Sink '_' is expected as a destination operand for instruction '{n}' with '.shared::cluster'
""",
    "mbarrier.test_wait mbarrier.test_wait.parity mbarrier.try_wait mbarrier.try_wait.parity": """
a0=pair isa=0..90 -> Predicate output not allowed for instruction '{n}'
a0=pair isa=91.. phase_type!=phase_type::primary -> Arguments mismatch for instruction '{n}'
""",
    "mbarrier.arrive mbarrier.arrive_drop": """
count=3 !noComplete -> @F90 Fv7.8 : {n} with count argument and without '.noComplete' modifier
""",
    "mbarrier.*": "order !scope -> Modifier '.{order}' requires scope with '{n}' instruction",
    "st.async red.async": """
n=st.async count=3 scope=gpu/sys space!=global -> Modifier '.{scope}' requires '.global' space for instruction '{n}'
n=st.async count=3 !space !completion !mmio !scope order=-/weak width!=8/16 isa=81.. sm=90.. -> Modifier '.shared::cluster' requires modifier '.completion_mechanism' for instruction '{n}'
count=2 vec space!=global -> Vector qualifier is not allowed for instruction '{n}'
""",
    "elect": "a0!=pair -> Predicate output expected for instruction '{n}'",
    "st.async": _REMOTE
    + """
bits=OVER128 -> Vector type too large, exceeds 128 bit limit
else count=3 width=8/16 | count=2 width=8 a1!=reg8 | count=2 width=16 a1!=reg16 -> Arguments mismatch for instruction '{n}'
""",
    "st.bulk": """
a1=reg32 -> Arguments mismatch for instruction 'mov'
.shared::cta a0=symbol -> Argument 1 of instruction 'add': must be register
""",
    "cp.async.bulk.prefetch cp.async.bulk.prefetch.tensor": """
!dst !.const !.local !.param !.param::entry !.param::func !.shared !.shared::cta !.shared::cluster !.tex -> State space modifier required for instruction '{n}' && State space incorrect for instruction '{n}'
!dst cache_hint -> Modifier '.L2::cache_hint' cannot be applied to '' space for instruction '{n}'
""",
    "cp.async.bulk cp.reduce.async.bulk": """
ignore_oob dst=global => Arguments mismatch for instruction '{n}'
n=cp.reduce.async.bulk count=5 | n=cp.reduce.async.bulk !cache_hint count=4 t0=f16/bf16/f32/f64 => Arguments mismatch for instruction '{n}'
n=cp.reduce.async.bulk dst=shared::cluster src=global => State space incorrect for instruction '{n}'
dst=shared::cluster/shared::cta src=global | dst=global/shared::cluster src=shared::cta ->
else !src => State space incorrect for instruction '{n}' && Unexpected number of state spaces specified in instruction '{n}'
else => State space incorrect for instruction '{n}'
n=cp.reduce.async.bulk dst=shared::cluster src=shared::cta cache_hint => Arguments mismatch for instruction '{n}'
n=cp.async.bulk !completion -> .completion_mechanism modifier required for instruction '{n}'
dst=global completion!=-/bulk_group | dst!=global completion!=-/mbarrier::complete_tx::bytes -> Illegal modifier '.{completion}' for instruction '{n}'
dst=shared::cluster src=shared::cta cache_hint -> Illegal modifier '.L2::cache_hint' for instruction '{n}' with '.shared::cluster.shared::cta'
""",
    "cp.reduce.async.bulk": f"""
dst=shared::cluster t0=f16/bf16/f32/f64 -> Arguments mismatch for instruction '{{n}}'
else op=add t0!=u32/s32/u64/f16/bf16/f32/f64 | op=min/max t0!=u32/s32/u64/s64/f16/bf16 | op=inc/dec t0!=u32 | op=and/or/xor t0!=b32/b64 -> {_TYPE_OF_OPERATION}
else dst=shared::cluster t0=s64 -> Illegal type for {{n}} with .shared::cluster destination state space
else dst=shared::cluster op=min/max t0!=u32/s32 | dst=shared::cluster op=and/or/xor t0!=b32 -> Illegal reduction operation for instruction '{{n}}.shared::cluster.shared::cta.{{t0}}'
else op=add t0=f16/bf16 !noftz -> Modifier '.noftz' required for instruction '{{n}}' with type '.{{t0}}' and operation '.{{op}}'
""",
    "tensormap.replace": """
mode!=-/tile | .im2col | .im2col_no_offs | .im2col::w | .im2col::w::128 -> Illegal modifier '.tile' for instruction '{n}'
field=elemtype v1=13.. -> @Iv8.7 : {n}.elemtype with input value >= 13
field=ADDRESS !.b64 -> Illegal modifier '.{field}' for instruction '{n}' with type '.b32'
field field!=ADDRESS .b64 -> Illegal modifier '.{field}' for instruction '{n}' with type '.b64'
!field .b64 -> Illegal modifier '' for instruction '{n}' with type '.b64'
!field -> Tensormap field modifier required for instruction '{n}'
space!=-/global/shared::cta -> State space incorrect for instruction '{n}'
!.b1024 => Tensormap size modifier required for instruction '{n}'
!field =>
field=ORDINAL count!=3 | field!=ORDINAL count!=2 => Arguments mismatch for instruction '{n}'
field=ORDINAL a1!=imm => Arguments mismatch for instruction '{n}'
field=elemtype/interleave_layout/swizzle_mode/fill_mode/swizzle_atomicity last!=imm -> Integer constant expression expected
""",
}
"""Rules between modifiers and operands, with the message texts of ptxas 13.0.88."""

VALUES: Final[dict[str, str]] = {
    "pmevent.mask": "u0=65536.. -> Argument {v0} of instruction '(null)': value '65535' out of range, expected to be in range [2..3]",
    "pmevent": "v0!=-/0..15 -> Argument 0 of instruction '{n}': value '{v0}' out of range, expected to be in range [0..15]",
    "st.bulk": """
v1!=-/*8 -> Argument 1 of instruction '{n}': unexpected value '{v1}', expected to be multiple of 8
v1!=-/0..16777216 -> Argument 1 of instruction '{n}': value '{v1}' out of range, expected to be in range [0..16777216]
v2!=-/0 -> Argument 2 of instruction '{n}': unexpected value '{v2}', expected to be zero
""",
    _BARRIERS: "!.sync -> Barrier modifier required for instruction '{n}'",
    f"{_BARRIERS} {_ARRIVALS}": """
v0!=-/0..15 -> Barrier number '{u0}' out of range, expected to be in range [0..15]
v1!=-/*32 -> Number of threads participating in barrier must be in multiple of warp size
n=bar.arrive/bar.cta.arrive/barrier.arrive/barrier.cta.arrive v1=0 -> Instruction '{n}' requires a non-zero thread count argument
""",
    _REDUCTIONS: """
v1!=-/0..15 -> Barrier number '{u1}' out of range, expected to be in range [0..15]
count=4 v2!=-/*32 -> Number of threads participating in barrier must be in multiple of warp size
""",
    "mbarrier.test_wait.parity mbarrier.try_wait.parity": "v2!=-/0/1 -> Argument 2 of instruction '{n}': unexpected value '{v2}', expected to be 0 or 1",
    "setmaxnreg.inc setmaxnreg.dec": """
v0!=-/*8 -> Argument 1 of instruction '{n}': unexpected value '{v0}', expected to be multiple of 8
v0!=-/24..256 -> Argument 1 of instruction '{n}': value '{v0}' out of range, expected to be in range [24..256]
""",
    "cp.async": """
cop=cg v2!=-/16 => Argument 2 of instruction '{n}': unexpected value '{v2}', expected to be 16
cop!=cg v2!=-/4/8/16 => Argument 2 of instruction '{n}': unexpected value '{v2}', expected to be 4 or 8 or 16
v2=4 v3!=-/0..4 | v2=8 v3!=-/0..8 | v2=16 v3!=-/0..16 -> Argument 3 of instruction '{n}': value '{v3}' out of range, expected to be in range [0..{v2}]
""",
    "cp.async.bulk cp.reduce.async.bulk": """
x2!=-/*16 -> Argument 2 of instruction '{n}': unexpected value '{x2}', expected to be multiple of 16
w2!=-/0..1048560 -> Argument 2 of instruction '{n}': value '{w2}' out of range, expected to be in range [0..1048560]
""",
    "cp.async.bulk.prefetch": """
v1!=-/*16 -> Argument 1 of instruction '{n}': unexpected value '{v1}', expected to be multiple of 16
v1!=-/0..1048560 -> Argument 1 of instruction '{n}': value '{w1}' out of range, expected to be in range [0..1048560]
""",
    "mbarrier.arrive mbarrier.arrive_drop": """
v2!=-/1.. -> Argument 2 of instruction '{n}' : value '{v2}' expected to be a non-zero positive
count=3 !noComplete sm=0..89 | count=3 !noComplete isa=0..77 -> .noComplete modifier required for instruction '{n} with count argument'
""",
    "fence.proxy": "v1!=-/128 -> Argument 1 of instruction '{n}': unexpected value '{v1}', expected to be 128",
    "tensormap.cp_fenceproxy": """
v2!=-/128 -> Argument 2 of instruction '{n}': unexpected value '{v2}', expected to be 128
!src => Unexpected number of state spaces specified in instruction '{n}'
dst!=global -> State space incorrect for instruction '{n}', expected '.global' && State space incorrect for instruction '{n}'
src!=shared::cta -> State space incorrect for instruction '{n}', expected '.shared::cta' && State space incorrect for instruction '{n}'
""",
    "tensormap.replace": "".join(
        f"field={fields} v1!=-/0..{last} -> Argument 1 of instruction '{{n}}': value '{{v1}}' expected to be in range"
        f" [0..{last}] when .{{field}} modifier is used.\n"
        for fields, last in (
            ("elemtype sm=0..99", 12), ("elemtype sm=100..", 15), ("interleave_layout", 2), ("swizzle_mode", 3),
            ("fill_mode", 1), ("swizzle_atomicity", 3), ("ORDINAL", 4),
        )
    ),
}  # fmt: skip
"""Rules on the values of immediate operands."""
