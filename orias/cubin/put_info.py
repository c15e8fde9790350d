"""Writes ``.nv.info`` of the module and of each function, the call graph and the prototypes."""

from struct import pack

from orias.cubin import elf, nvinfo
from orias.cubin.attributes import kernel_records
from orias.cubin.callgraph import callgraph
from orias.cubin.nvinfo import Record, sval
from orias.cubin.section_builder import OutSection
from orias.cubin.work import Work


def module_records(w: Work) -> list[Record]:
    """The records of ``.nv.info``: register counts and frames from the last function to the first, then stack sizes."""
    reverse: list[Record] = []
    flags: list[Record] = []
    stacks: list[tuple[int, Record]] = []
    for code in w.codes:
        k = code.kernel
        index = code.symbol.index
        frame = sval(nvinfo.FRAME_SIZE, [index, k.frame_size])
        need = sval(nvinfo.MIN_STACK_SIZE, [index, k.min_stack_size])
        most = sval(nvinfo.MAX_STACK_SIZE, [index, k.max_stack_size])
        reverse.append(frame)
        if w.m.linked:
            reverse.append(most)
        elif w.m.uses_texture_query and k.is_entry:
            reverse += [need, most]
        elif k.is_entry:
            stacks.append((index, need))
        for sub in (s for s in k.subs if not s.alias):
            index = w.symbols[sub.name].index
            reverse.append(sval(nvinfo.FRAME_SIZE, [index, sub.frame_size]))
            if w.m.extensible:
                reverse.append(sval(nvinfo.MAX_STACK_SIZE, [index, 0]))
        reverse.append(sval(nvinfo.REGCOUNT, [code.symbol.index, k.num_regs]))
    if not any(c.kernel.is_entry or c.kernel.tools_patch for c in w.codes):
        flags.append(nvinfo.hval(nvinfo.MERCURY_ISA_VERSION, w.facts.mercury_isa))
    for name, value in w.m.sampler_unnormalized:
        flags.append(sval(nvinfo.SAMPLER_FORCE_UNNORMALIZED, [w.symbol(name, ".nv.info").index, value]))
    for name, packed in w.m.sampler_inits:
        flags.append(sval(nvinfo.SAMPLER_INIT, [w.symbol(name, ".nv.info").index, packed]))
    if w.m.texmode_independent:
        flags.append(nvinfo.nval(nvinfo.TEXMODE_INDEPENDENT))
    if w.m.debug or w.m.errbar_at_exit:
        flags.append(nvinfo.nval(nvinfo.GEN_ERRBAR_AT_EXIT))
    return reverse[::-1] + flags + [r for _, r in sorted(stacks, key=lambda pair: pair[0])]


def fill(w: Work, info: OutSection, graph: list[OutSection], proto: OutSection) -> None:
    """Fill in the contents that need symbol indices."""
    info.data = nvinfo.encode(module_records(w))
    index = {name: s.index for name, s in w.symbols.items()}
    for code in w.codes:
        k = code.kernel
        bank0 = code.bank0_symbol.index if code.bank0_symbol else 0
        code.info.data = nvinfo.encode(kernel_records(k, w.facts, index, bank0, w.param_base(k)))
    for entries in (w.uft_entries, w.udt_entries):
        if entries is not None:
            entries.fill()
    for s in graph:
        if s.type == elf.SHT_CUDA_CALLGRAPH:
            s.data = callgraph(w.m, index, w.b.symbol_names.offsets)
    prototypes = [(w.symbol(n, ".nv.prototype").index, w.b.symbol_names.add(t)) for n, t in w.m.prototypes]
    proto.data = b"".join(pack("<II", *pair) for pair in sorted(prototypes))
