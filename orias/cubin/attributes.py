"""The attribute records of a module and of each function, in the order of ptxas.

Source of the order and of the payloads: ``docs/facts/cubin.md``, "Attributes".  Symbol indices come from the caller.
"""

from typing import Final

from orias.cubin import nvinfo as nv
from orias.cubin.cubin_error import CubinError
from orias.cubin.elf_values import CUDA_API_VERSION, CubinFacts
from orias.cubin.model import NO_CTA, KernelCode, Param
from orias.cubin.nvinfo import Record, bval, hval, nval, sval, svals
from orias.target.abi import SMALL_PARAMETERS

_SPACE = {
    "": 0,
    "local": 1,
    "shared": 2,
    "const": 3,
    "global": 4,
    "generic": 5,
    "texref": 6,
    "surfref": 7,
    "samplerref": 8,
}
"""Space field of KPARAM_INFO."""


_BLOCK_FRAGMENT: Final = 6
_PAIR_FRAGMENT: Final = 7
"""AT_ENTRY_FRAGMENTS: code of the driver at the entry, which initialises the record of allocated tensor memory."""


_STUB_OF_UNIFIED: Final = 1

_MOST_TARGETS: Final = 16_000
"""Targets of a branch in one record, which counts its bytes in 16 bits; ptxas 13.0.88 crashes where a record cannot count them."""

_MOST_BYTES: Final = 0xFFFF
"""Bytes of a record's payload."""


def _param(p: Param, symbol: int, big: bool) -> Record:
    if p.space not in _SPACE:
        raise CubinError(f"parameter {p.ordinal} has the unknown space {p.space!r}")
    log_align = p.pointee_align.bit_length() - 1 if p.pointee_align else 0
    if big:
        flags = p.size | log_align << 16 | _SPACE[p.space] << 24
        return sval(nv.KPARAM_INFO_V2, [symbol, p.ordinal | p.offset << 16, flags])
    flags = log_align | _SPACE[p.space] << 8 | 0x1F << 12 | p.size << 18
    return sval(nv.KPARAM_INFO, [symbol, p.ordinal | (p.offset & 0xFFFF) << 16, flags])


def _params(k: KernelCode, symbols: dict[str, int]) -> list[Record]:
    big = k.param_bytes > SMALL_PARAMETERS
    out: list[Record] = []
    for p in reversed(k.params):
        symbol = 0
        if p.symbol:
            if p.symbol not in symbols:
                raise CubinError(f"parameter {p.ordinal} refers to {p.symbol}, which is no symbol")
            symbol = symbols[p.symbol]
        out.append(_param(p, symbol, big))
    return out


def _coop(k: KernelCode) -> list[Record]:
    if not k.coop_offsets:
        return []
    masks = [0xFFFFFFFF if r < 0 else 0x05000000 | r for r in k.coop_mask_regs]
    return svals(nv.COOP_GROUP_MASK_REGIDS, masks) + svals(nv.COOP_GROUP_INSTR_OFFSETS, k.coop_offsets)


def _pairs(code: int, pairs: list[tuple[int, int]]) -> list[Record]:
    return svals(code, [w for pair in pairs for w in pair], 2)


def _mbarriers(k: KernelCode) -> list[Record]:
    out: list[Record] = []
    out += svals(nv.MBARRIER_INSTR_OFFSETS, [w for r in k.mbarrier_records for w in r], 4)
    if k.mbarrier_count >= 0:
        out.append(hval(nv.NUM_MBARRIERS, k.mbarrier_count))
    return out


def _annotations(k: KernelCode) -> list[Record]:
    """ANNOTATIONS: kind 1, offset of a spill; last, kind 3 (of the function), length, text; measured with ptxas 13.0.88 -annotate."""
    out = svals(nv.ANNOTATIONS, [word for at in k.spill_offsets for word in (nv.NOTE_SPILL, at)], 2)
    if k.annotation:
        text = k.annotation.encode() + b"\0"
        data = nv.NOTE_FUNCTION.to_bytes(4, "little") + len(text).to_bytes(4, "little") + text
        data += bytes(-len(data) % 4)
        if out and len(out[-1].payload) + len(data) <= _MOST_BYTES:
            data = out.pop().payload + data
        out.append(Record(nv.ANNOTATIONS, nv.SVAL, 0, data))
    return out


def _inserted(k: KernelCode) -> list[Record]:
    """SANITIZE: what -sanitize put into the code."""
    return [hval(nv.SANITIZE, k.sanitize)] if k.sanitize >= 0 else []


def _branches(k: KernelCode) -> list[Record]:
    out: list[list[int]] = []
    for b in k.branch_targets:
        for i in range(0, len(b.targets), _MOST_TARGETS):
            part = b.targets[i : i + _MOST_TARGETS]
            words = [b.offset, 0, len(part), *part]
            if out and len(out[-1]) + len(words) <= _MOST_TARGETS:
                out[-1] += words
            else:
                out.append(words)
    return [sval(nv.INDIRECT_BRANCH_TARGETS, words) for words in out]


def _launch(k: KernelCode) -> list[Record]:
    out: list[Record] = []
    if k.maxntid != NO_CTA:
        out.append(sval(nv.MAX_THREADS, list(k.maxntid)))
    if k.reqntid != NO_CTA:
        out.append(sval(nv.REQNTID, list(k.reqntid)))
    if k.crs_stack:
        out.append(sval(nv.CRS_STACK_SIZE, [0]))
    if k.shared_scratch:
        out.append(sval(nv.SHARED_SCRATCH, [0, k.shared_scratch]))
    return out


def _barriers(k: KernelCode) -> list[Record]:
    return [bval(nv.NUM_BARRIERS, k.barriers)] if k.barriers else []


def _externs(k: KernelCode, symbols: dict[str, int]) -> list[Record]:
    return svals(nv.EXTERNS, [symbols[e] for e in k.externs])


def _old(k: KernelCode, f: CubinFacts, symbols: dict[str, int], bank0: int, param_base: int) -> list[Record]:
    out: list[Record] = []
    if f.sw_war >= 0:
        out.append(sval(nv.SW_WAR, [f.sw_war]))
    out.append(sval(nv.CUDA_API_VERSION, [CUDA_API_VERSION]))
    if f.sw2861232_war:
        out.append(nval(nv.SW2861232_WAR))
    if k.tools_patch:
        out.append(nval(nv.TOOLS_PATCH_FUNC))
    if k.params:
        out.append(sval(nv.PARAM_CBANK, [bank0, param_base | k.param_bytes << 16]))
        out.append(hval(nv.CBANK_PARAM_SIZE, k.param_bytes))
        out += _params(k, symbols)
    if k.reserved_smem_used:
        out.append(nval(nv.RESERVED_SMEM_USED))
    if k.wmma_used:
        out.append(nval(nv.WMMA_USED))
    if k.is_entry:
        out.append(hval(nv.MAXREG_COUNT, k.maxreg))
    if k.bindless_surface:
        out.append(bval(nv.BINDLESS_SURFACE_BANK, 0))
    if k.bindless_texture:
        out.append(bval(nv.BINDLESS_TEXTURE_BANK, 0))
    if k.surface_named_again:
        out.append(bval(nv.BINDLESS_SURFACE_BANK, 0))
    if not k.barriers_of_callees:
        out += _barriers(k)
    out += _externs(k, symbols)
    out += _inserted(k) + _annotations(k)
    out.append(hval(nv.MERCURY_ISA_VERSION, f.mercury_isa))
    out += svals(nv.STACK_CANARY_TRAP_OFFSETS, k.stack_traps)
    out += _pairs(nv.ATOM16_EMUL_INSTR_REG_MAP, k.atom16_regs)
    out += svals(nv.INT_WARP_WIDE_INSTR_OFFSETS, k.int_warp_wide)
    out += _coop(k)
    if k.instr_reg_map:
        out.append(Record(nv.INSTR_REG_MAP, nv.SVAL, 0, k.instr_reg_map))
    out += _mbarriers(k)
    out += svals(nv.SYSCALL_OFFSETS, k.syscall_offsets)
    out += _pairs(nv.UNUSED_LOAD_BYTE_OFFSET, k.unused_load_bytes)
    out += svals(nv.EXIT_INSTR_OFFSETS, k.exit_offsets)
    if k.ctaidz_used:
        out.append(nval(nv.CTAIDZ_USED))
    return out + _branches(k) + _launch(k) + (_barriers(k) if k.barriers_of_callees else [])


def _new(k: KernelCode, f: CubinFacts, symbols: dict[str, int], bank0: int, param_base: int) -> list[Record]:
    out: list[Record] = []
    if k.stub_of:
        out.append(hval(nv.STUB_FUNCTION_KIND, _STUB_OF_UNIFIED))
        out.append(hval(nv.MERCURY_ISA_VERSION, f.mercury_isa))
        if f.mercury_layout:
            out.append(bval(nv.VRC_CTA_INIT_COUNT, k.init_count))
        return [*out, sval(nv.SW_WAR, [f.sw_war])]
    if k.blocks_are_clusters:
        out.append(nval(nv.BLOCKS_ARE_CLUSTERS))
    out.append(sval(nv.CUDA_API_VERSION, [CUDA_API_VERSION]))
    if k.tools_patch:
        out.append(nval(nv.TOOLS_PATCH_FUNC))
    out += _params(k, symbols)
    if k.explicit_cluster:
        out.append(nval(nv.EXPLICIT_CLUSTER))
    if k.cluster_dim != NO_CTA:
        out.append(sval(nv.CTA_PER_CLUSTER, list(k.cluster_dim)))
    if k.max_cluster_rank:
        out.append(sval(nv.MAX_CLUSTER_RANK, [k.max_cluster_rank]))
    if k.tensor_allocation:
        out.append(sval(nv.AT_ENTRY_FRAGMENTS, [_PAIR_FRAGMENT if k.tensor_pairs else _BLOCK_FRAGMENT]))
    if k.reserved_smem_used or (f.reserved_variable and k.is_entry):
        out.append(nval(nv.RESERVED_SMEM_USED))
    out.append(hval(nv.SPARSE_MMA_MASK, k.sparse_mma_mask))
    if k.tensor_blocks:
        out.append(nval(nv.TCGEN05_1CTA_USED))
    if k.tensor_pairs:
        out.append(nval(nv.TCGEN05_2CTA_USED))
    if k.wmma_used:
        out.append(nval(nv.WMMA_USED))
    if k.is_entry:
        out.append(hval(nv.MAXREG_COUNT, k.maxreg))
    if not k.barriers_of_callees:
        out += _barriers(k)
    out += _externs(k, symbols)
    out += _inserted(k) + _annotations(k)
    out.append(hval(nv.MERCURY_ISA_VERSION, f.mercury_isa))
    out += svals(nv.STACK_CANARY_TRAP_OFFSETS, k.stack_traps)
    out += svals(nv.INT_WARP_WIDE_INSTR_OFFSETS, k.int_warp_wide)
    out += _coop(k)
    if k.reg_reconfig:
        out.append(nval(nv.REG_RECONFIG))
    out += _pairs(nv.UNUSED_LOAD_BYTE_OFFSET, k.unused_load_bytes)
    out += _pairs(nv.ATOM16_EMUL_INSTR_REG_MAP, k.atom16_regs)
    if k.instr_reg_map:
        out.append(Record(nv.INSTR_REG_MAP, nv.SVAL, 0, k.instr_reg_map))
    if f.mercury_layout:
        out.append(bval(nv.VRC_CTA_INIT_COUNT, k.init_count))
    out += _mbarriers(k)
    out += svals(nv.SYSCALL_OFFSETS, k.syscall_offsets)
    out += svals(nv.EXIT_INSTR_OFFSETS, k.exit_offsets)
    out += _branches(k) + _launch(k) + (_barriers(k) if k.barriers_of_callees else [])
    if k.params:
        out.append(hval(nv.CBANK_PARAM_SIZE, k.param_bytes))
        out.append(sval(nv.PARAM_CBANK, [bank0, param_base | k.param_bytes << 16]))
    if f.sw_war >= 0:
        out.append(sval(nv.SW_WAR, [f.sw_war]))
    if k.bindless_texture or k.bindless_surface:
        out.append(bval(nv.BINDLESS_TEXTURE_BANK, 0))
        out.append(bval(nv.BINDLESS_SURFACE_BANK, 0))
    return out


def kernel_records(
    k: KernelCode, facts: CubinFacts, symbols: dict[str, int], bank0: int, param_base: int
) -> list[Record]:
    """Records of ``.nv.info.<function>``.

    ``symbols``: index by name; ``bank0``: index of the symbol of the kernel's ``.nv.constant0`` section.
    """
    if len(k.coop_offsets) != len(k.coop_mask_regs):
        raise CubinError(f"{k.name}: {len(k.coop_offsets)} warp operations but {len(k.coop_mask_regs)} masks")
    if facts.split_segments:
        return _new(k, facts, symbols, bank0, param_base)
    return _old(k, facts, symbols, bank0, param_base)
