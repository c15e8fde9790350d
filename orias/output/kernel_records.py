"""The cubin's facts about a kernel in addition to its code: launch directives and features in use.

Source: ``docs/facts/cubin.md``, "Attributes" and "Notes and compatibility".
"""

from typing import Final

from orias.cubin.model import GLOBAL, LOCAL, NO_CTA, WEAK, CubinModule, KernelCode
from orias.isa.op import F_MATRIX, F_PACED, F_TENSOR, F_TENSOR_MAP
from orias.isa.operand import imm_value, is_imm
from orias.lower.frame.data_layout import function_unified_id
from orias.lower.frame.program import Kernel
from orias.options import Options
from orias.ori.ir import Func
from orias.output.barrier_records import describe_mbarriers
from orias.output.kernel_code import Reach
from orias.output.warp_records import describe_warp_operations
from orias.ptx.ast import Function, Instr
from orias.target import features

_CLUSTER_BARRIER: Final = frozenset(("UCGABAR_ARV", "UCGABAR_WAIT"))
_BARRIERS: Final = 16
"""Named barriers of a block: a kernel that has one in a register may use all."""
_TENSOR_COUNT: Final = 0x80
"""VRC_CTA_INIT_COUNT of a kernel with operations that have F_TENSOR."""
_ALLOCATION: Final = frozenset(("tcgen05.alloc", "tcgen05.dealloc", "tcgen05.relinquish_alloc_permit"))

_THREADSTEER: Final = 0
_MEMCHECK: Final = 1
"""What is inserted, as the record SANITIZE names it."""

_RESERVED: Final = "reserved_smem_offset_"


def describe(code: KernelCode, kernel: Kernel, reach: Reach, module: CubinModule, options: Options) -> None:
    """Fill in the facts of a kernel and of the module."""
    d = kernel.ptx.directives
    code.binding = {"weak": WEAK, "": LOCAL}.get(kernel.ptx.linkage, GLOBAL)
    if "maxnreg" not in d and options.maxrregcount:
        code.maxreg = options.maxrregcount
    code.tools_patch = options.tools_patch
    code.sanitize = _MEMCHECK if options.access_checks else _THREADSTEER if options.thread_steering else -1
    code.unified = function_unified_id(kernel.ptx)
    code.cluster_dim = _triple(d.get("reqnctapercluster"))
    code.explicit_cluster = "explicitcluster" in d
    code.max_cluster_rank = d["maxclusterrank"][0] if "maxclusterrank" in d else 0
    code.blocks_are_clusters = "blocksareclusters" in d or options.blocks_are_clusters
    for f in kernel.all_functions():
        for inst in f.insts():
            base = inst.op.base
            if inst.op.flags & F_PACED or (base == "FSETP" and any(is_imm(o) for o in inst.src)):
                module.paced = True
            if inst.op.compat:
                module.isa_class = max(module.isa_class, inst.op.compat)
                if inst.op.flags & F_TENSOR_MAP:
                    module.tensor_map = max(module.tensor_map, 1)
                if base == "USETMAXREG" and not module.relocatable:
                    code.reg_reconfig = True
            elif inst.op.flags & F_MATRIX and "SP" in inst.op.mods:
                code.sparse_mma_mask = 0x10
            if inst.op.flags & F_TENSOR:
                code.init_count = _TENSOR_COUNT
    # Without optimisation ptxas counts what the text names.
    named = options.opt_level == 0
    code.barriers = max(code.barriers if named else 0, _barriers(reach.functions))
    code.barriers_of_callees = not (named and kernel.barriers) and not _barriers(kernel.all_functions())
    sources = [kernel.ptx, *_callees(kernel.ptx)]
    describe_mbarriers(code, kernel, sources, kernel.entry.target.has(features.HARDWARE_BARRIERS))
    describe_warp_operations(code, kernel, sources)
    reserved: set[str] = set()
    for ptx in sources:
        for s in ptx.body or ():
            if isinstance(s, Instr):
                name = s.sig.name
                if name.startswith("wmma."):
                    code.wmma_used = True
                elif name == "mov":
                    reserved |= {o.name for o in s.ops if o.name.startswith(_RESERVED)}
                elif name.startswith("tcgen05."):
                    _describe_tensor(code, s)
                elif name.startswith("tensormap.replace"):
                    module.tensor_map = 2
                elif name.split(".")[0] in ("txq", "suq") and not options.debug:
                    module.uses_texture_query = True
    code.reserved_smem_used |= bool(reserved)
    if kernel.entry.target.has(features.SPLIT_SEGMENTS):
        code.reserved_begin = f"{_RESERVED}begin" in reserved
        code.reserved_cap = f"{_RESERVED}cap" in reserved
        code.reserved_offset = f"{_RESERVED}0" in reserved
        code.relocs_applied |= code.reserved_begin or code.reserved_cap or code.reserved_offset


def _barriers(functions: list[Func]) -> int:
    """How many barriers a launch needs for these functions."""
    count = 0
    for f in functions:
        for inst in f.insts():
            if inst.op.base == "BAR":
                count = max(count, imm_value(inst.src[0]) + 1 if is_imm(inst.src[0]) else _BARRIERS)
            elif inst.op.base in _CLUSTER_BARRIER:
                count = max(count, 1)
    return count


def _describe_tensor(code: KernelCode, s: Instr) -> None:
    group = s.sig.mods.get("cta_group", "")
    code.tensor_blocks |= group == "cta_group::1"
    code.tensor_pairs |= group == "cta_group::2"
    if s.sig.name in _ALLOCATION:
        code.tensor_allocation = code.reserved_smem_used = True


def _triple(d: tuple[int, ...] | None) -> tuple[int, int, int]:
    if not d:
        return NO_CTA
    return d[0], d[1] if len(d) > 1 else 1, d[2] if len(d) > 2 else 1


def _callees(f: Function) -> list[Function]:
    """Functions that a PTX function refers to, directly or not."""
    seen: list[Function] = []
    todo = [f]
    while todo:
        for s in todo.pop().body or ():
            if isinstance(s, Instr) and s.sig.name == "call":
                for o in [*s.ops, *s.rets, *s.args]:
                    if o.func is not None and o.func not in seen and o.func is not f:
                        seen.append(o.func)
                        todo.append(o.func)
    return seen
