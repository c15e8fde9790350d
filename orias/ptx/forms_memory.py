"""Instruction forms: loads and stores, atomics, barriers, fences, warp operations, asynchronous copies, control flow.

Row syntax: see :mod:`orias.ptx.table`.  Facts: asked of ptxas 13.0.88.
"""

from typing import Final

_EVICT: Final = (
    "L1::evict_normal/L1::evict_unchanged/L1::evict_first/L1::evict_last/L1::no_allocate"
    " L2::evict_normal/L2::evict_first/L2::evict_last L2::cache_hint"
)
_ORDER_LD: Final = "weak/relaxed/acquire/volatile mmio"
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
_STMODS: Final = f"{_ORDER_ST} {_SCOPE} {_LDSPACES} wb/cg/cs/wt v2/v4/v8 {_EVICT}"
_MBAR: Final = "shared/shared::cta"
_MBARC: Final = "shared/shared::cta/shared::cluster"
_BULK: Final = "global/shared::cta/shared::cluster"
_TENSOR: Final = "1d/2d/3d/4d/5d"
_RED: Final = "!add/min/max/inc/dec/and/or/xor"
_MULTI: Final = "u32 s32 u64 s64 b32 b64 f32 f64 f16 f16x2 bf16 bf16x2 e4m3 e5m2 e4m3x4 e5m2x4"
_QUERY: Final = "!width/height/depth/channel_data_type/channel_order/normalized_coords/array_size"
_SURF: Final = "!1d/2d/3d/a1d/a2d v2/v4"
_TEXTYPES: Final = " ".join(f"{a}.{b}" for a in ("u32", "s32", "f16", "f32", "f16x2") for b in ("u32", "s32", "f32"))
_GEOM: Final = "!1d/2d/3d/a1d/a2d/cube/acube/2dms/a2dms"

FORMS: Final[dict[str, str]] = {
    "ld": f"{_MEMTYPES} ; DV,M,b64@cache_hint ; {_LDMODS} | b128 ; DV,M,b64@cache_hint ; {_LDMODS} ; 8.3!70 Instruction type .b128 for instruction {{n}}",
    "ldu": f"{_MEMTYPES} ; DV,M ; global v2/v4 ; 2.0/20 | b128 ; DV,M ; global ; 8.3!70 Instruction type .b128 for instruction {{n}}",
    "st": f"{_MEMTYPES} ; M,SV,b64@cache_hint ; {_STMODS} | b128 ; M,SV,b64@cache_hint ; {_STMODS} ; 8.3!70 Instruction type .b128 for instruction {{n}}",
    "st.async": f"{_MEMTYPES} ; M,SV,M? ; weak/relaxed/release mmio {_SCOPE} global/shared::cluster v2/v4 mbarrier::complete_tx::bytes ; 8.1/90",
    "st.bulk": "- ; M,X,i ; weak shared::cta/shared ; 8.6!100",
    "prefetch": "- ; M ; global/local/const/param L1/L2/L2::evict_last/L2::evict_normal tensormap ; 2.0/20",
    "prefetchu": "- ; M ; L1 ; 2.0/20",
    "applypriority": "- ; M,i ; global !L2::evict_normal ; 7.4/80",
    "discard": "- ; M,i ; global !L2 ; 7.4/80",
    "createpolicy.fractional": "b64 ; =b64,X? ; L2::evict_last/L2::evict_normal/L2::evict_first/L2::evict_unchanged ; 7.4/80",
    "createpolicy.range": "b64 ; =b64,M,X,X ; global L2::evict_last/L2::evict_normal/L2::evict_first/L2::evict_unchanged ; 7.4/80",
    "createpolicy.cvt": "b64 ; =b64,b64 ; !L2 ; 7.4/80",
    "cvta": "u32 s32 u64 s64 ; D,S ; !global/local/shared/shared::cta/shared::cluster/const/param/param::entry ; 2.0/20",
    "cvta.to": "u32 s32 u64 s64 ; D,S ; !global/local/shared/shared::cta/shared::cluster/const/param/param::entry ; 2.0/20",
    "isspacep": "- ; =P,A ; !global/local/shared/shared::cta/shared::cluster/const/param/param::entry ; 2.0/20",
    "mapa": "u32 s32 u64 s64 ; D,S,u32 ; shared::cluster ; 7.8/90",
    "getctarank": "u32 s32 u64 s64 ; =u32,S ; shared::cluster ; 7.8/90",
    "istypep": "texref surfref samplerref ; =P,b64 ; ; 4.0/30",
    "alloca": "u32 s32 u64 s64 ; D,S,i? ; ; 7.3/52",
    "stacksave": "u32 s32 u64 s64 ; D ; ; 7.3/52",
    "stackrestore": "u32 s32 u64 s64 ; S ; ; 7.3/52",
    "atom": f"""
{_ATOMTYPES} f16 f16x2 bf16 bf16x2 ; DA,M,SA,b64@cache_hint ; {_ATOMMODS}
b16 b32 b64 b128 ; DA,M,SA,SA@cas,b64@cache_hint ; {_ATOMMODS}
""",
    "red": f"{_ATOMTYPES} b32 b64 f16 f16x2 bf16 bf16x2 ; M,SA,b64@cache_hint ; {_REDMODS}",
    "red.async": f"u32 s32 u64 s64 b32 b64 ; M,S,M? ; {_RED} relaxed/release mmio {_SCOPE} global/shared::cluster mbarrier::complete_tx::bytes ; 8.1/90",
    "multimem.ld_reduce": f"{_MULTI} ; X,M ; !add/min/max/and/or/xor weak/relaxed/acquire {_SCOPE} global acc::f32/acc::f16 v2/v4/v8 ; 8.1/90",
    "multimem.red": "u32 s32 u64 s64 b32 b64 f32 f64 f16 f16x2 bf16 bf16x2 ; M,X ; !add/min/max/and/or/xor relaxed/release"
    f" {_SCOPE} global v2/v4/v8 ; 8.1/90",
    "multimem.st": f"{_MULTI} ; M,X ; weak/relaxed/release {_SCOPE} global v2/v4/v8 ; 8.1/90",
    "bar": "- ; u32,u32? ; sync cta aligned",
    "bar.arrive": "- ; u32,u32 ; cta aligned ; 2.0/20",
    "bar.red": "pred ; =P,u32,[u32,]P ; !and/or/popc cta aligned ; 2.0/20 | u32 s32 ; =u32,u32,[u32,]P ; !and/or/popc cta aligned ; 2.0/20",
    "barrier": "- ; u32,u32? ; sync aligned cta ; Fv6.0",
    "barrier.arrive": "- ; u32,u32 ; aligned cta ; Fv6.0",
    "barrier.red": "pred ; =P,u32,[u32,]P ; !and/or/popc cta aligned ; Fv6.0 | u32 s32 ; =u32,u32,[u32,]P ; !and/or/popc cta aligned ; Fv6.0",
    "bar.warp": "- ; u32 ; !sync ; Fv6.0",
    "barrier.cluster.arrive": "- ; ; relaxed/release aligned ; 7.8!90",
    "barrier.cluster.wait": "- ; ; acquire aligned ; 7.8!90",
    "membar": "- ; ; !cta/gl/sys ; 1.4/10",
    "membar.proxy": "- ; ; !alias/async global/shared::cta/shared::cluster ; 7.5!60",
    "fence": "- ; ; sc/acq_rel/acquire/release cta/cluster/gpu/sys mbarrier_init"
    " sync_restrict::shared::cta/sync_restrict::shared::cluster ; 6.0!70 fence instruction",
    "fence.proxy": "- ; M?,i? ; !alias/async/tensormap::generic/async::generic global/shared::cta/shared::cluster"
    " acquire/release cta/cluster/gpu/sys sync_restrict::shared::cta/sync_restrict::shared::cluster ; 7.5!70",
    "vote": "pred ; =P,P,u32@sync ; sync !all/any/uni | b32 ; =b32,P,u32@sync ; sync !ballot",
    "shfl": "b32 ; D|P,S,u32,u32,u32@sync ; sync !up/down/bfly/idx",
    "match": "b32 b64 ; =b32|P,S,u32 ; !sync !any/all ; Fv6.0 I70",
    "activemask": "b32 ; =b32 ; ; Fv6.2",
    "redux": "u32 s32 ; D,S,u32 ; !sync !add/min/max ; 7.0/80 | b32 ; D,S,u32 ; !sync !and/or/xor ; 7.0/80"
    " | f32 ; D,S,u32 ; !sync !min/max abs NaN ; N100a Fv8.6 : redux.f32",
    "elect": "- ; =b32_|P,u32 ; !sync ; 8.0!90",
    "nanosleep": "u32 s32 ; u32 ; ; I70 Fv6.2",
    "griddepcontrol": "- ; ; !launch_dependents/wait ; Fv7.8 I90",
    "setmaxnreg.inc": "u32 s32 ; i ; !sync !aligned ; Fv8.0 N90a",
    "setmaxnreg.dec": "u32 s32 ; i ; !sync !aligned ; Fv8.0 N90a",
    "pmevent": "- ; i ; ; 1.4/10",
    "pmevent.mask": "- ; i ; ; 3.0/20",
    "cp.async": f"- ; M,M,i,X?,b64@cache_hint ; !ca/cg {_SHARED}/global L2::64B/L2::128B/L2::256B L2::cache_hint ; 7.0!80",
    "cp.async.commit_group": "- ; ; ; 7.0!80",
    "cp.async.wait_group": "- ; i ; ; 7.0!80",
    "cp.async.wait_all": "- ; ; ; 7.0!80",
    "cp.async.mbarrier.arrive": f"b64 ; M ; noinc {_MBAR} ; 7.0!80",
    "cp.async.bulk": f"- ; M,M,X,M@mbarrier,u16@multicast,b64@cache_hint,u16@cp_mask ; {_BULK} mbarrier::complete_tx::bytes/bulk_group"
    " multicast::cluster L2::cache_hint cp_mask cta/cluster/gpu/sys relaxed/weak ; 8.0/90",
    "cp.async.bulk.commit_group": "- ; ; ; 8.0/90",
    "cp.async.bulk.wait_group": "- ; i ; read ; 8.0/90",
    "cp.async.bulk.prefetch": "- ; M,X,b64@cache_hint ; !L2 global L2::cache_hint ; 8.0/90",
    "cp.async.bulk.tensor": f"- ; M,M,X* ; {_TENSOR} {_BULK} tile/im2col/im2col_no_offs/im2col::w/im2col::w::128/tile::gather4/tile::scatter4"
    " mbarrier::complete_tx::bytes/bulk_group multicast::cluster cta_group::1/cta_group::2 L2::cache_hint ; 8.0/90",
    "cp.async.bulk.prefetch.tensor": f"- ; M,X* ; {_TENSOR} !L2 global tile/im2col/im2col::w/im2col::w::128/tile::gather4 L2::cache_hint ; 8.0/90",
    "cp.reduce.async.bulk": f"u32 s32 u64 s64 b32 b64 f16 bf16 f32 f64 ; M,M,X,M@mbarrier,b64@cache_hint ; {_RED} {_BULK}"
    " mbarrier::complete_tx::bytes/bulk_group L2::cache_hint noftz ; 8.0/90",
    "cp.reduce.async.bulk.tensor": f"- ; M,M,b64@cache_hint ; {_TENSOR} {_RED} {_BULK} tile/im2col_no_offs/im2col bulk_group L2::cache_hint ; 8.0/90",
    "mbarrier.init": f"b64 ; M,u32 ; {_MBAR} ; 7.0!80",
    "mbarrier.inval": f"b64 ; M ; {_MBAR} ; 7.0!80",
    "mbarrier.arrive": f"b64 ; =b64_,M,u32? ; {_MBARC} release/relaxed cta/cluster noComplete ; 7.0!80",
    "mbarrier.arrive_drop": f"b64 ; =b64_,M,u32? ; {_MBARC} release/relaxed cta/cluster noComplete ; 7.0!80",
    "mbarrier.arrive.expect_tx": f"b64 ; =b64_,M,u32 ; {_MBARC} release/relaxed cta/cluster ; 8.0!90",
    "mbarrier.arrive_drop.expect_tx": f"b64 ; =b64_,M,u32 ; {_MBARC} release/relaxed cta/cluster ; 8.0!90",
    "mbarrier.test_wait": f"b64 ; =P,M,b64 ; {_MBAR} acquire/relaxed cta/cluster ; 7.0!80",
    "mbarrier.test_wait.parity": f"b64 ; =P,M,u32 ; {_MBAR} acquire/relaxed cta/cluster ; 7.1!80",
    "mbarrier.try_wait": f"b64 ; =P,M,b64,u32? ; {_MBAR} acquire/relaxed cta/cluster ; 7.8!90",
    "mbarrier.try_wait.parity": f"b64 ; =P,M,u32,u32? ; {_MBAR} acquire/relaxed cta/cluster ; 7.8!90",
    "mbarrier.pending_count": "b64 ; =u32,b64 ; ; 7.0!80",
    "mbarrier.expect_tx": f"b64 ; M,u32 ; {_MBARC} relaxed cta/cluster ; 8.0!90",
    "mbarrier.complete_tx": f"b64 ; M,u32 ; {_MBARC} relaxed cta/cluster ; 8.0!90",
    "tensormap.replace": "b1024.b32 b1024.b64 ; M,X*; * ; Fv8.3 N90a",
    "tensormap.cp_fenceproxy": "- ; M,M,X ; * ; Fv8.3 N90",
    "clusterlaunchcontrol.try_cancel.async": "b128 ; M,M ; * ; 8.6!100",
    "clusterlaunchcontrol.query_cancel": "pred.b128 b32.b128 ; X* ; * ; 8.6/100",
    # textures and surfaces
    "tex": f"{_TEXTYPES} ; X* ; {_GEOM} v2/v4 uni",
    "tex.base": f"{_TEXTYPES} ; X* ; {_GEOM} v2/v4 uni ; 3.1/20",
    "tex.level": f"{_TEXTYPES} ; X* ; {_GEOM} v2/v4 uni ; 3.1/20",
    "tex.grad": f"{_TEXTYPES} ; X* ; {_GEOM} v2/v4 uni ; 3.1/20",
    "tld4": "u32.f32 s32.f32 f32.f32 ; X* ; !r/g/b/a !2d/a2d/cube/acube v4 ; 2.2/20",
    "txq": f"b32 ; =b32,M ; {_QUERY}/filter_mode/addr_mode_0/addr_mode_1/addr_mode_2/num_mipmap_levels/num_samples/force_unnormalized_coords/memory_layout",
    "txq.level": f"b32 ; =b32,M,X ; {_QUERY} ; Fv4.3",
    "suq": f"b32 ; =b32,M ; {_QUERY}/memory_layout",
    "suld.b": f"b8 b16 b32 b64 ; X,M ; {_SURF} ca/cg/cs/cv !trap/clamp/zero ; 1.5/10",
    "sust.b": f"b8 b16 b32 b64 ; M,X ; {_SURF} wb/cg/cs/wt !trap/clamp/zero ; 1.5/10",
    "sust.p": f"b32 ; M,X ; {_SURF} wb/cg/cs/wt !trap/clamp/zero ; 2.0/20",
    "sured.b": f"b32 u32 s32 u64 s64 ; M,X ; {_SURF} !add/min/max/and/or !trap/clamp/zero ; 2.0/20",
    "sured.p": f"b32 b64 ; M,X ; {_SURF} !add/min/max/and/or !trap/clamp/zero ; 2.0/20",
    # control flow
    "bra": "- ; L ; uni",
    "brx.idx": "- ; u32,L ; uni ; 6.0/30",
    "call": "- ; X* ; uni",
    "ret": "- ; ; uni",
    "exit": "- ; ;",
    "trap": "- ; ;",
    "brkpt": "- ; ; ; 1.0/11",
}
