"""The features that a target may have: numbers for :meth:`orias.target.profile.Target.has`, by the names of ``data/targets.txt``."""

from typing import Final

NAMES: Final[tuple[str, ...]] = (
    "packs_half", "moves_int_to_float", "converts_fp8", "packs_tf32", "packed_integers", "widens_half_to_zero",
    "warp_reductions", "separates_members", "warpsync_all", "uniform_warp_number", "warp_count_register",
    "store_matrix", "vector_atomics", "async_copies", "shared_gap_at_entry", "hardware_barriers", "clusters",
    "separate_samplers", "uniform_handles", "driver_gradients", "half_min_max", "nan_min_max", "bfloat_arithmetic",
    "larger_products", "widened_products", "call_target_address", "unified_functions", "constant_operands",
    "clears_barriers", "late_wide_addend", "full_latency_overwrites", "self_waiting_products",
    "driver_cluster_copies", "rejects_32_bit_addresses", "packed_floats", "three_way_min_max", "resets_barriers",
    "sw2861232_war", "addends_in_relocations", "compat_section", "split_segments", "mercury_layout", "handle_banks",
    "cast_predicate", "long_integers", "uniform_global_stores", "map_codes", "absolute_differences",
    "implicit_levels", "uniform_branches", "counts_in_shared", "collective_macros", "doubled_matches", "scaled_addresses",
    "early_phase_addresses",
)  # fmt: skip
"""Feature names; the index is the feature's number."""

PACKS_HALF: Final = 0
"""F2FP: two f32 become a pair of f16 or bf16."""
MOVES_INT_TO_FLOAT: Final = 1
"""I2FP: a word becomes f32 at full rate."""
CONVERTS_FP8: Final = 2
"""F2FP converts from and to e4m3 and e5m2."""
PACKS_TF32: Final = 3
"""F2FP converts to tf32."""
PACKED_INTEGERS: Final = 4
"""VIADD and VIMNMX of two 16-bit integers."""
WIDENS_HALF_TO_ZERO: Final = 5
"""f16 becomes f32 by HADD2.F32 of -0 and the value, in this order; other targets have the opposite order."""
WARP_REDUCTIONS: Final = 6
"""The target has REDUX."""
SEPARATES_MEMBERS: Final = 7
"""The target has WARPSYNC.EXCLUSIVE, after which votes and matches see only the named threads."""
WARPSYNC_ALL: Final = 8
"""The target has WARPSYNC.ALL."""
UNIFORM_WARP_NUMBER: Final = 9
"""SR_VIRTID is the same for all threads of a warp."""
WARP_COUNT_REGISTER: Final = 10
"""SR_VIRTCFG holds the number of warps."""
STORE_MATRIX: Final = 11
"""The target has STSM."""
VECTOR_ATOMICS: Final = 12
"""Atomics on vectors of floats in global memory."""
ASYNC_COPIES: Final = 13
"""The target has LDGSTS."""
SHARED_GAP_AT_ENTRY: Final = 14
"""Accesses to shared memory may be in flight when a kernel begins."""
HARDWARE_BARRIERS: Final = 15
"""SYNCS: a unit that counts transactions serves mbarrier objects; other targets use atomics."""
CLUSTERS: Final = 16
"""Clusters of CTAs: a shared address has the CTA in bits 24 and up, and a fence waits for errors of the cluster."""
SEPARATE_SAMPLERS: Final = 17
"""A sampler is an operand of its own; on other targets it is the upper bits of the texture's handle."""
UNIFORM_HANDLES: Final = 18
"""Texture and surface handles are in uniform registers, and their slots of all kernels after the largest parameters; on other targets
handles are in R registers or constant bank 0, after the parameters of each kernel."""
DRIVER_GRADIENTS: Final = 19
"""Sampling with gradients beyond plain TXD calls a driver function; other targets sample by quads."""
HALF_MIN_MAX: Final = 20
"""HMNMX2, and HFMA2 with .RELU: min and max of f16, and bf16."""
NAN_MIN_MAX: Final = 21
"""min and max of f32 that propagate NaN."""
BFLOAT_ARITHMETIC: Final = 22
"""Addition, multiplication and comparison of bf16."""
LARGER_PRODUCTS: Final = 23
"""Matrix products of m16n8k16 and more."""
WIDENED_PRODUCTS: Final = 24
"""The compiler builds matrix products that have no operation from others."""
CALL_TARGET_ADDRESS: Final = 25
"""LEPC takes an offset to add."""
UNIFIED_FUNCTIONS: Final = 26
"""Relocatable objects name functions by their number in the unified function table."""
CONSTANT_OPERANDS: Final = 27
"""Arithmetic takes operands from constant banks; on other targets only (uniform) loads read them."""
CLEARS_BARRIERS: Final = 28
"""The compiler clears a convergence barrier before BSSY."""
LATE_WIDE_ADDEND: Final = 29
"""Two-pass products read the upper half of their addend two cycles later."""
FULL_LATENCY_OVERWRITES: Final = 30
"""A second write of a register waits for the whole latency of the first."""
SELF_WAITING_PRODUCTS: Final = 31
"""A matrix operation with a stall count of 0 waits for its own completion."""
DRIVER_CLUSTER_COPIES: Final = 32
"""Copies from global memory to another CTA of the cluster call a driver function; other targets have them in hardware."""
REJECTS_32_BIT_ADDRESSES: Final = 33
"""Modules with ``.address_size 32`` are refused."""
PACKED_FLOATS: Final = 34
"""FADD2, FMUL2, FFMA2: arithmetic of two f32 in a pair of registers."""
THREE_WAY_MIN_MAX: Final = 35
"""FMNMX3: minimum and maximum of three f32."""
RESETS_BARRIERS: Final = 36
"""Kernels begin with a reset of the convergence barriers."""
SW2861232_WAR: Final = 37
"""Kernels have the attribute record of that name."""
ADDENDS_IN_RELOCATIONS: Final = 38
"""All relocations are RELA; other targets use REL where no addend is needed."""
COMPAT_SECTION: Final = 39
"""Cubins have the section ``.nv.compat``."""
SPLIT_SEGMENTS: Final = 40
"""The file layout with segments for code, constants and bank 0 apart, and the order of sections, records and names that goes with it."""
MERCURY_LAYOUT: Final = 41
"""With :data:`SPLIT_SEGMENTS`: symbols of reserved shared memory stay in the symbol table, the string table keeps the names that sections have at
creation, and functions have the record VRC_CTA_INIT_COUNT."""
HANDLE_BANKS: Final = 42
"""A number follows the uniform register with the handle of a texture or surface."""
CAST_PREDICATE: Final = 43
"""ATOMS.CAST returns a predicate: the value was stored; on other targets a word that is 1."""
LONG_INTEGERS: Final = 44
"""Addition, comparison and selection of 64-bit integers in one operation."""
UNIFORM_GLOBAL_STORES: Final = 45
"""USTGR and UREDGR: asynchronous stores and reductions from uniform registers to global memory."""
MAP_CODES: Final = 46
"""``tensormap.replace`` stores codes of element types, of which there are more: tf32 is f32 with a bit, 4- and 6-bit types follow."""
ABSOLUTE_DIFFERENCES: Final = 47
"""The target has VABSDIFF."""
IMPLICIT_LEVELS: Final = 48
"""Sampling without a level is plain TEX; on other targets TEX.LL with a level before the first."""
UNIFORM_BRANCHES: Final = 49
"""``BRA.U`` reads a uniform predicate."""
COUNTS_IN_SHARED: Final = 50
"""ATOMS.POPC.INC adds the number of threads to a word of shared memory."""
COLLECTIVE_MACROS: Final = 51
"""ptxas puts text in place of collectives, in which no sum may stand (:mod:`orias.ptx.replaced_text`)."""
DOUBLED_MATCHES: Final = 52
"""With :data:`COLLECTIVE_MACROS`: the text of ``match`` has each call twice."""
SCALED_ADDRESSES: Final = 53
"""The compiler scales base registers of shared memory (``[R.X4]``); the others encode it, and ptxas never writes it there."""
EARLY_PHASE_ADDRESSES: Final = 54
"""SYNCS.PHASECHK reads a uniform address at issue: ptxas overwrites it a cycle later (seen on sm_100a and 103a; 110 is by family)."""
