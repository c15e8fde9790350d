"""Describes a compiled kernel for the cubin: registers, frames, relocations, offsets that the driver needs."""

from typing import Final, final

from orias.cubin import relocs
from orias.cubin.model import NO_CTA, BranchTargets, KernelCode, Reloc, SubFunction
from orias.lower.builtins.symbols import WITHOUT_BARRIERS
from orias.lower.frame.program import Kernel
from orias.ori.ir import Func
from orias.output.emit import EmittedText
from orias.regalloc.frame import stack_bytes
from orias.target.profile import Target
from orias.target.register_steps import allowed

_RELOC_TYPES: Final = {
    "lo32": relocs.R_ABS32_LO_32,
    "hi32": relocs.R_ABS32_HI_32,
    "abs32": relocs.R_ABS32_32,
    "abs16": relocs.R_ABS16_32,
    "call_unified": relocs.R_ABS56_16_34,
    "cbank": relocs.R_CONST_FIELD21_38,
    "const_opt": relocs.R_CONST_FIELD19_40,
    "bindless": relocs.R_BINDLESSOFF14_40,
    "descriptor_lo32": relocs.R_FUNC_DESC32_LO_32,
    "descriptor_hi32": relocs.R_FUNC_DESC32_HI_32,
    "unified_lo32": relocs.R_UNIFIED32_LO_32,
    "unified_hi32": relocs.R_UNIFIED32_HI_32,
}


def relocation_type(kind: str, target: Target) -> int:
    """The R_CUDA number of a relocation kind (:class:`orias.output.emit.TextReloc`)."""
    if kind == "call":
        return target.number("call_relocation")
    return _RELOC_TYPES[kind]


@final
class Reach:
    """What a kernel may call: the functions, their sections, the most bytes of frames on a path, and whether all this is only a bound."""

    __slots__ = ("functions", "owners", "stack", "unknown")

    def __init__(self, functions: list[Func], owners: list[Kernel], stack: int, unknown: bool) -> None:
        self.functions: list[Func] = functions
        """Itself included."""
        self.owners: list[Kernel] = owners
        self.stack: int = stack
        self.unknown: bool = unknown


def kernel_code(kernel: Kernel, text: EmittedText, target: Target, reach: Reach) -> KernelCode:
    """The cubin's description of a compiled kernel."""
    ptx = kernel.ptx
    funcs = kernel.all_functions()
    code = KernelCode(ptx.name, text.code, ptx.entry)
    code.min_stack_size, code.abi_frame_unknown = reach.stack, reach.unknown
    code.num_regs = kernel.entry.entry_regs or max(f.reg_count for f in reach.functions)
    if "maxnreg" in ptx.directives:
        code.maxreg = allowed(ptx.directives["maxnreg"][0])
    code.barriers = max(k.barriers for k in reach.owners)
    code.frame_size = stack_bytes(kernel.entry)
    code.calls_rel = bool(kernel.functions or kernel.helpers)
    code.crs_stack = code.calls_rel or any(i.op.base == "BSSY" for f in funcs for i in f.insts())
    if kernel.is_helper:
        # As the code of ptxas's subroutines has it.
        code.is_helper, code.crs_stack = True, kernel.entry.name not in WITHOUT_BARRIERS
    code.params = kernel.params
    code.texture_relocs = kernel.references
    code.bindless_texture = any(r.type != relocs.R_SURF_HEADER_INDEX for r in kernel.references)
    code.bindless_surface = any(r.type == relocs.R_SURF_HEADER_INDEX for r in kernel.references)
    code.param_bytes = kernel.param_bytes
    code.shared = kernel.shared
    code.shared_size = kernel.shared_size
    code.shared_scratch = kernel.shared_scratch
    code.shared_align = kernel.shared_align
    code.shared_dynamic = kernel.shared_dynamic
    code.const2 = text.table_bytes
    code.const2_align = 4
    jumps = [f.tables[i.uid] for f in funcs for i in f.insts() if i.uid in f.tables]
    code.const2_parts = sorted({(t.offset, 4 * len(t.picks)) for t in jumps})
    pool = kernel.pool
    if pool is not None and pool.values:
        if pool.owner:
            code.const2_parts += [(pool.start + 8 * k, 8) for k in range(len(pool.values))]
    code.relocs = [Reloc(r.offset, relocation_type(r.kind, target), r.symbol, r.addend) for r in text.relocs]
    code.relocs_applied = bool(text.addresses or kernel.shared or kernel.dynamic_used or kernel.common_shared)
    code.slot_uses = text.slot_uses
    code.shared_windows = text.shared_windows
    code.pointers = list(kernel.pointers)
    code.const2_resolved = bool(text.branch_tables or kernel.pointers)
    code.addresses = text.addresses
    code.relative_addresses = text.relative_addresses
    code.exit_offsets = text.exits
    code.stack_traps = text.guard_traps
    code.spill_offsets = text.spills
    code.syscall_offsets = [at for at, kind, _ in text.calls if kind == "syscall"]
    code.externs = kernel.externs
    code.branch_targets = [BranchTargets(at, targets) for at, targets in text.branch_tables]
    code.ctaidz_used = kernel.ctaidz_used
    code.maxntid = _dimensions(ptx.directives.get("maxntid"))
    code.reqntid = _dimensions(ptx.directives.get("reqntid"))
    for (name, offset, size), fn in zip(text.functions[1:], funcs[1:], strict=True):
        sub = SubFunction(name, offset, size, fn.kind == "helper")
        sub.frame_size = stack_bytes(fn)
        code.subs.append(sub)
    code.spill_stores = sum(f.spill_stores for f in funcs)
    code.spill_loads = sum(f.spill_loads for f in funcs)
    return code


def _dimensions(d: tuple[int, ...] | None) -> tuple[int, int, int]:
    """A directive's (x, y, z), with 1 for missing values; all 0 without the directive."""
    if not d:
        return NO_CTA
    return d[0], d[1] if len(d) > 1 else 1, d[2] if len(d) > 2 else 1


def reach_of(kernel: Kernel, beside: list[Kernel]) -> Reach:
    """What a compiled kernel may call.  `beside`: the kernels whose functions it may call, itself included."""
    known = {f.name: f for k in beside for f in k.all_functions()}
    owner = {f.name: k for k in beside for f in k.all_functions()}
    depth: dict[str, int] = {}
    on_path: set[str] = set()
    unknown = kernel.indirect_calls

    path = [
        kernel.entry.name
    ]  # functions to visit, the next one last; those on the path stay until their callees are done
    while path:
        name = path[-1]
        if name in depth:
            path.pop()
            continue
        callees = [c.target for c in known[name].calls.values() if c.target in known and c.target is not None]
        if name in on_path:
            on_path.discard(name)
            depth[name] = stack_bytes(known[name]) + max([depth.get(c, 0) for c in callees], default=0)
            continue
        on_path.add(name)
        unknown = unknown or owner[name].indirect_calls or any(c in on_path for c in callees)
        path += [c for c in reversed(callees) if c not in on_path]

    total = depth[kernel.entry.name]
    names = known.keys() if unknown else depth.keys() | {f.name for f in kernel.all_functions()}
    owners = [k for k in beside if any(f.name in names for f in k.all_functions())]
    return Reach([known[name] for name in known if name in names], owners, total, unknown)
