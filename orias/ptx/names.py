"""The words of the PTX instruction set: instruction names, and which modifier word fills which slot of a Sig.

An opcode is the longest known dotted name followed by modifiers.  A modifier word goes to the slot that :data:`SLOT_OF`
names, unless the instruction's own row in :data:`NAMES` has another slot.  ``docs/ptx.md`` shows the slots per
instruction.  Facts: docs/facts/front-end.md (opcodes).
"""

from typing import Final

from orias.ptx.ast import TYPE_WORDS

_SLOTS: Final[dict[str, str]] = {
    "rnd": "rn rz rm rp rna rs rni rzi rmi rpi approx full",
    "cmp": "eq ne lt le gt ge ls hs equ neu ltu leu gtu geu num nan",
    "bool": "and or xor popc",
    "mulsize": "lo hi wide",
    "dir": "l r",
    "wrap": "clamp wrap",
    "space": "global shared shared::cta shared::cluster local const param param::entry param::func tex",
    "order": "weak relaxed acquire release acq_rel volatile sc",
    "scope": "cta cluster gpu sys gl",
    "cop": "ca cg cs lu cv wb wt",
    "vec": "v2 v4 v8",
    "op": "add min max inc dec cas exch all any uni ballot up down bfly idx arrive",
    "evict": "L1::evict_normal L1::evict_unchanged L1::evict_first L1::evict_last L1::no_allocate",
    "evict2": "L2::evict_normal L2::evict_first L2::evict_last L2::evict_unchanged",
    "prefetch": "L2::64B L2::128B L2::256B",
    "cache_hint": "L2::cache_hint",
    "level": "L1 L2",
    "dim": "1d 2d 3d 4d 5d a1d a2d cube acube 2dms a2dms",
    "clamp": "trap zero",
    "completion": "mbarrier::complete_tx::bytes bulk_group mbarrier::arrive::one",
    "multicast": "multicast::cluster",
    "cta_group": "cta_group::1 cta_group::2",
    "acc": "acc::f16 acc::f32",
    "sp": "sp sp::ordered_metadata",
    "kind": "kind::f16 kind::tf32 kind::f8f6f4 kind::i8 kind::mxf8f6f4 kind::mxf4 kind::mxf4nvf4",
    "scale_vec": "scale_vec::1X scale_vec::2X scale_vec::4X block16 block32",
    "num": "x1 x2 x4 x8 x16 x32 x64 x128",
    "scaled": "scaled::n2::ue8m0",
    "layout_version": "layout::v0 layout::v1",
    "phase_type": "phase_type::primary phase_type::conditional",
    "readonly": "proxy::readonly",
    "sector": "L1::32B",
    "shape": "16x64b 16x128b 16x256b 32x32b 16x32bx2 4x256b 128x256b 64x128b 128x128b 32x128b",
    "mode": "tile im2col im2col_no_offs im2col::w im2col::w::128 tile::gather4 tile::scatter4",
    "field": "global_address rank box_dim global_dim global_stride element_stride elemtype interleave_layout swizzle_mode"
    " fill_mode swizzle_atomicity",
    "sync_restrict": "sync_restrict::shared::cta sync_restrict::shared::cluster",
    "collector": " ".join(
        f"collector::{x}::{what}"
        for x in ("a", "b0", "b1", "b2", "b3")
        for what in ("fill", "use", "lastuse", "discard")
    ),
    "permute": "f4e b4e rc8 ecl ecr rc16",
    "warpx": "warpx2::01_23 warpx2::02_13 warpx4",
    "query": "is_canceled get_first_ctaid get_first_ctaid::x get_first_ctaid::y get_first_ctaid::z",
}

FLAGS: Final[frozenset[str]] = frozenset(
    [
        "ftz",
        "sat",
        "satfinite",
        "relu",
        "oob",
        "cc",
        "nc",
        "sync",
        "aligned",
        "uni",
        "noftz",
        "NaN",
        "abs",
        "xorsign",
        "trans",
        "to",
        "mmio",
        "ignore_oob",
        "valid_addr",
        "popc",
        "shiftamt",
        "noinc",
        "parity",
        "expect_tx",
        "noComplete",
        "tensormap",
        "read",
        "async",
        "unified",
        "cp_mask",
        "level",
        "row",
        "col",
        "block_scale",
        "noalias",
        "pack::16b",
        "unpack::16b",
        "warpx4",
        "alloc",
        "cp",
        "dealloc",
        "ld",
        "mma",
        "shift",
        "st",
    ]
)
"""Words that fill a boolean slot of their own name."""


NAME_PARTS: Final = frozenset(
    [
        "arrive",
        "base",
        "c",
        "cvt",
        "d",
        "expect_tx",
        "fractional",
        "full",
        "grad",
        "l",
        "level",
        "mask",
        "noalias",
        "p",
        "parity",
        "proxy",
        "range",
        "red",
        "to",
        "wide",
        "ws",
    ]
)
"""Words that only exist as parts of instruction names; as modifiers they are unknown."""


IGNORED: Final[frozenset[str]] = frozenset(
    [
        "acc::f16",
        "acc::f32",
        "b8x16.b6x16_p32",
        "box_dim",
        "element_stride",
        "elemtype",
        "fill_mode",
        "finite",
        "global_address",
        "global_dim",
        "global_stride",
        "infinite",
        "interleave_layout",
        "normal",
        "notanumber",
        "number",
        "rank",
        "subnormal",
        "swizzle_atomicity",
        "swizzle_mode",
    ]
)
"""Words that ptxas 13.0.88 accepts and ignores after almost any instruction."""


def _invert() -> dict[str, str]:
    table = {word: slot for slot, words in _SLOTS.items() for word in words.split()}
    for word in FLAGS:
        table.setdefault(word, word)
    return table


SLOT_OF: Final[dict[str, str]] = _invert()
"""Modifier word -> slot, unless the instruction's row in NAMES has another slot."""

_CMP: Final = "lo=cmp hi=cmp"
_RED: Final = "and=op or=op xor=op"
_VIDEO: Final = "add=op min=op max=op"
_TEXQ: Final = (
    "width=query height=query depth=query channel_data_type=query channel_order=query normalized_coords=query"
    " filter_mode=query addr_mode_0=query addr_mode_1=query addr_mode_2=query array_size=query"
    " num_mipmap_levels=query num_samples=query memory_layout=query force_unnormalized_coords=query"
)
_TENSOR: Final = (
    "global=dst|src shared::cta=dst|src shared::cluster=dst|src shared=dst|src tile=mode im2col=mode"
    " im2col_no_offs=mode im2col::w=mode im2col::w::128=mode tile::gather4=mode tile::scatter4=mode"
)
_COPY: Final = "global=dst|src shared::cta=dst|src shared::cluster=dst|src shared=dst|src"
_MMA: Final = "row=alayout|blayout col=alayout|blayout popc=popc"
_PROXY: Final = "proxy=proxied alias=proxy async=proxy tensormap=proxy tensormap::generic=proxy async::generic=proxy"
_TCG: Final = (
    "16x64b=shape 16x128b=shape 16x256b=shape 32x32b=shape 16x32bx2=shape 4x256b=shape 128x256b=shape 64x128b=shape"
    " 128x128b=shape 32x128b=shape warpx2::02_13=warpx warpx2::01_23=warpx warpx4=warpx b8x16.b6x16_p32=convert"
    " collector::a::fill=collector_a collector::a::use=collector_a collector::a::lastuse=collector_a"
    " collector::a::discard=collector_a ashift=ashift ws=ws"
) + "".join(f" collector::b{i}::{what}=collector_b" for i in range(4) for what in ("fill", "use", "lastuse", "discard"))

NAMES: Final[dict[str, str]] = {
    # integer and float arithmetic
    "add": "", "sub": "", "mul": "", "mad": "", "addc": "", "subc": "", "madc": "", "mul24": "", "mad24": "",
    "sad": "", "div": "", "rem": "", "abs": "abs=abs", "neg": "", "min": "", "max": "", "fma": "",
    "rcp": "", "sqrt": "", "rsqrt": "", "sin": "", "cos": "", "lg2": "", "ex2": "", "tanh": "", "copysign": "",
    "testp": "finite=op infinite=op number=op notanumber=op normal=op subnormal=op",
    "popc": "", "clz": "", "bfind": "", "fns": "", "brev": "", "bfe": "", "bfi": "", "szext": "", "bmsk": "",
    "dp2a": "", "dp4a": "", "clmad": "",
    # comparison, selection, logic, shifts
    "set": _CMP, "setp": _CMP, "selp": "", "slct": "",
    "and": "", "or": "", "xor": "", "not": "", "cnot": "", "lop3": "", "shf": "", "shl": "", "shr": "",
    "prmt": "f4e=mode b4e=mode rc8=mode ecl=mode ecr=mode rc16=mode",
    # moves, conversions, addresses
    "mov": "", "cvt": "", "cvt.pack": "", "cvta": "", "isspacep": "", "mapa": "", "getctarank": "",
    "istypep": "", "alloca": "", "stacksave": "", "stackrestore": "",
    # memory
    "ld": "mmio=mmio", "ldu": "", "st": "", "st.async": "", "st.bulk": "", "prefetch": "L2::evict_last=level L2::evict_normal=level",
    "prefetchu": "", "applypriority": "", "discard": "", "createpolicy": "fractional=mode range=mode cvt=mode L2::evict_last=primary|secondary"
    " L2::evict_normal=primary|secondary L2::evict_first=primary|secondary L2::evict_unchanged=primary|secondary",
    "atom": _RED, "red": _RED, "red.async": _RED, "multimem.ld_reduce": _RED, "multimem.red": _RED, "multimem.st": "", "multimem.st.async": "", "multimem.red.async": _RED,
    # barriers, votes, shuffles, fences
    "bar": "sync=op arrive=op red=op cta=cta any=vote all=vote", "barrier": "sync=op arrive=op red=op cta=cta", "bar.warp.sync": "", "bar.warp": "",
    "barrier.cluster": "arrive=op wait=op", "membar": _PROXY, "fence": _PROXY + " mbarrier_init=op_restrict"
    " sync_restrict::shared::cta=sync_restrict sync_restrict::shared::cluster=sync_restrict",
    "vote": "", "shfl": "", "match": "", "activemask": "", "redux": _RED, "elect": "", "nanosleep": "",
    "griddepcontrol": "launch_dependents=op wait=op", "setmaxnreg": "inc=op dec=op", "pmevent": "mask=mask",
    # asynchronous copies and barriers
    "cp.async": _COPY, "cp.async.commit_group": "", "cp.async.wait_group": "", "cp.async.wait_all": "",
    "cp.async.mbarrier.arrive": "", "cp.async.bulk": _COPY, "cp.async.bulk.commit_group": "", "cp.async.bulk.wait_group": "",
    "cp.async.bulk.prefetch": _COPY, "multimem.cp.async.bulk": _COPY, "multimem.cp.reduce.async.bulk": _COPY + " " + _RED, "cp.async.bulk.tensor": _TENSOR, "cp.async.bulk.prefetch.tensor": _TENSOR,
    "cp.reduce.async.bulk": _COPY + " " + _RED, "cp.reduce.async.bulk.tensor": _TENSOR + " " + _RED,
    "mbarrier.init": "", "mbarrier.inval": "", "mbarrier.arrive": "", "mbarrier.arrive_drop": "", "mbarrier.test_wait": "",
    "mbarrier.try_wait": "", "mbarrier.pending_count": "", "mbarrier.expect_tx": "", "mbarrier.complete_tx": "",
    "mbarrier.check_layout": "", "tensormap.query.alloc_class_large": "",
    "tensormap.replace": "tile=mode global_address=field rank=field box_dim=field global_dim=field global_stride=field"
    " element_stride=field elemtype=field interleave_layout=field swizzle_mode=field fill_mode=field swizzle_atomicity=field",
    "tensormap.cp_fenceproxy": "global=dst|src shared::cta=dst|src shared=dst|src tensormap::generic=proxy",
    "clusterlaunchcontrol.try_cancel": "multicast::cluster::all=multicast",
    "clusterlaunchcontrol.query_cancel": "is_canceled=query get_first_ctaid=query get_first_ctaid::x=query"
    " get_first_ctaid::y=query get_first_ctaid::z=query",
    # matrices
    "wmma.load": "a=mode b=mode c=mode row=layout col=layout", "wmma.store": "d=mode row=layout col=layout",
    "wmma.mma": _MMA, "mma": _MMA, "ldmatrix": "", "stmatrix": "", "movmatrix": "",
    "wgmma.mma_async": "popc=popc", "wgmma.fence": "", "wgmma.commit_group": "", "wgmma.wait_group": "",
    "tcgen05.alloc": _TCG, "tcgen05.dealloc": _TCG, "tcgen05.relinquish_alloc_permit": _TCG, "tcgen05.ld": _TCG + " red=red",
    "tcgen05.st": _TCG, "tcgen05.wait": "", "tcgen05.wait::ld": "", "tcgen05.wait::st": "",
    "tcgen05.cp": _TCG, "tcgen05.shift": _TCG, "tcgen05.mma": _TCG, "tcgen05.mma.ws": _TCG,
    "tcgen05.commit": _TCG, "tcgen05.fence": "", "tcgen05.fence::before_thread_sync": "", "tcgen05.fence::after_thread_sync": "",
    # textures and surfaces
    "tex": "uni=uni base=mode level=mode grad=mode", "tld4": "r=comp g=comp b=comp a=comp", "txq": _TEXQ, "suq": _TEXQ,
    "suld": "b=mode clamp=clamp", "sust": "b=mode p=mode clamp=clamp", "sured": "b=mode p=mode clamp=clamp " + _RED,
    # control flow
    "bra": "uni=uni", "brx.idx": "uni=uni", "call": "uni=uni", "ret": "uni=uni", "exit": "", "trap": "", "brkpt": "",
    # video
    **dict.fromkeys(("vadd", "vsub", "vabsdiff", "vmin", "vmax"), _VIDEO),
    "vshl": _VIDEO, "vshr": _VIDEO, "vmad": "shr7=scale shr15=scale po=po", "vset": _VIDEO + " " + _CMP,
    **dict.fromkeys(
        (v + n for n in "24" for v in ("vadd", "vsub", "vavrg", "vabsdiff", "vmin", "vmax", "vset")), _VIDEO + " " + _CMP
    ),
}  # fmt: skip
"""Every instruction name, with the words whose slots differ from :data:`SLOT_OF`.

``word=slot|slot2`` puts the first such word into ``slot`` and the second into ``slot2``.
"""


def _all_words() -> frozenset[str]:
    words = set(SLOT_OF) | TYPE_WORDS | IGNORED
    for own in NAMES.values():
        words.update([item.partition("=")[0] for item in own.split()])
    return frozenset(words)


WORDS: Final[frozenset[str]] = _all_words()
"""Every word that is a modifier or a type of some instruction."""
