"""Facts of a compiled kernel that the cubin states beside its code: launch directives and the features it uses.

Sources: the EIATTR catalogue and section 2.6 of the ELF inventory (``.nv.compat``), measured with ptxas 13.0.88.
"""

from typing import Final

from orias.cubin.model import GLOBAL, LOCAL, NO_CTA, WEAK, CubinModule, KernelCode
from orias.lower.program import Kernel
from orias.mbarriers import describe_mbarriers
from orias.options import Options
from orias.ptx.ast import Function, Instr

_WGMMA: Final = frozenset(("HGMMA", "IGMMA", "QGMMA", "BGMMA"))
_TENSOR_MAP: Final = frozenset(("UTMALDG", "UTMASTG", "UTMAREDG", "UTMAPF"))
_CLASS2: Final = frozenset(
    (
        "TEX", "TLD", "TLD4", "TXD", "TXQ", "SULD", "SUST", "SURED", "SUATOM", "SUQ", "UBLKCP", "UBLKRED", "UBLKPF",
        "USETMAXREG",
    )
)  # fmt: skip
_CLUSTER_BARRIER: Final = frozenset(("UCGABAR_ARV", "UCGABAR_WAIT"))


def describe(code: KernelCode, kernel: Kernel, module: CubinModule, options: Options) -> None:
    """Complete a kernel's facts and those of the module."""
    d = kernel.ptx.directives
    code.binding = {"weak": WEAK, "": LOCAL}.get(kernel.ptx.linkage, GLOBAL)
    if "maxnreg" not in d and options.maxrregcount:
        code.maxreg = options.maxrregcount
    code.cluster_dim = _triple(d.get("reqnctapercluster"))
    code.explicit_cluster = "explicitcluster" in d
    code.max_cluster_rank = d["maxclusterrank"][0] if "maxclusterrank" in d else 0
    code.blocks_are_clusters = "blocksareclusters" in d
    for f in kernel.all_functions():
        for inst in f.insts():
            base = inst.op.base
            if base in _WGMMA:
                module.isa_class = 4
            elif base in _CLASS2 or base in _TENSOR_MAP:
                module.isa_class = max(module.isa_class, 2)
                if base in _TENSOR_MAP:
                    module.tensor_map = max(module.tensor_map, 1)
                if base == "USETMAXREG" and not module.relocatable:
                    code.reg_reconfig = True
            elif base in _CLUSTER_BARRIER:
                code.barriers = max(code.barriers, 1)
            elif base.endswith("MMA") and "SP" in inst.op.mods:
                code.sparse_mma_mask = 0x10
    sources = [kernel.ptx, *_callees(kernel.ptx)]
    describe_mbarriers(code, kernel, sources, kernel.entry.target.sm)
    for ptx in sources:
        for s in ptx.body or ():
            if isinstance(s, Instr):
                name = s.sig.name
                if name.startswith("wmma."):
                    code.wmma_used = True
                elif name.startswith("tensormap.replace"):
                    module.tensor_map = 2
                elif name.split(".")[0] in ("txq", "suq"):
                    module.uses_texture_query = True


def _triple(d: tuple[int, ...] | None) -> tuple[int, int, int]:
    if not d:
        return NO_CTA
    return d[0], d[1] if len(d) > 1 else 1, d[2] if len(d) > 2 else 1


def _callees(f: Function) -> list[Function]:
    """Functions a PTX function refers to, directly or not."""
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
