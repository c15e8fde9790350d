"""Writes a :class:`CubinModule` as a cubin: an executable one, or a relocatable object (option ``-c``).

Sections, symbols and names are created, and sections placed in the file, in the order of ptxas
(``docs/facts/cubin.md``, "Section order" and "Symbols"; the string tables of ptxas's files show the order of creation).
"""

from typing import TYPE_CHECKING

from orias.cubin import elf
from orias.cubin.model import GLOBAL, LOCAL, WEAK, CallEdge, CubinModule, KernelCode
from orias.cubin.notes import compat, cuinfo, tkinfo
from orias.cubin.put_code import add_code, add_pointed, add_reserved, bind_text_relocs
from orias.cubin.put_data import add_variables, need_bank4, shared_banks
from orias.cubin.put_debug import line_sections
from orias.cubin.put_info import fill, module_records
from orias.cubin.put_relocs import all_relocations, late_names, reloc_bytes
from orias.cubin.quirks import REL_ACTION, bytes_after_section_names, clear_program_header_size
from orias.cubin.section_builder import OutSection, OutSegment, OutSymbol
from orias.cubin.work import INTERNAL, Work, slot_symbol

if TYPE_CHECKING:
    from orias.cubin.put_capsule import CapsuleSections


def write(module: CubinModule) -> bytes:
    """The cubin of a module; CubinError if the module contradicts itself or its target is not known.

    Fills in the offsets of variables that are -1.
    """
    w = Work(module)
    m, b, split = w.m, w.b, w.facts.split_segments
    shstrtab = OutSection(".shstrtab", elf.SHT_STRTAB)
    strtab = OutSection(".strtab", elf.SHT_STRTAB)
    if split:
        strtab.gap_before = bytes_after_section_names(m.kernels)
    w.symtab.link = strtab
    for _, text in [*m.address_taken, *m.indirect_calls, *m.prototypes][::-1]:
        b.symbol_names.add(text)
    b.names(".shstrtab", ".strtab", ".symtab", ".symtab_shndx")
    note1 = w.named(".note.nv.tkinfo", elf.SHT_NOTE, elf.SHF_NOTE_TKINFO, 4)
    note1.data = tkinfo(m)
    note2 = w.named(".note.nv.cuinfo", elf.SHT_NOTE, elf.SHF_NOTE_CUINFO, 4)
    note2.data = cuinfo(m)
    note2.link = note1
    if m.extensible:
        b.names(".nv.uft.entry")
    info = w.named(".nv.info", elf.SHT_CUDA_INFO, 0, 4, symbol=False)
    info.link = w.symtab
    head = [note1, note2, info]
    if w.facts.compat_section:
        compat_section = w.named(".nv.compat", elf.SHT_CUDA_COMPAT, 0, 4, symbol=False)
        compat_section.data = compat(m, w.facts)
        note2.info_section = compat_section
        note2.flags |= elf.SHF_INFO_LINK
        head.append(compat_section)
    entries = any(k.is_entry for k in m.kernels)
    if not entries:
        if split:
            add_reserved(w)
        add_variables(w)
    codes = code_order(m)
    if m.relocatable:
        m.address_taken = _pointed_order(m, codes[:1] if entries else [])
        if not entries:
            add_pointed(w, None)
    for i, k in enumerate(codes):
        add_code(w, k, i == 0 and entries, not entries)
    bind_text_relocs(w)
    if m.host:
        w.host = w.named(".nv.host", elf.SHT_CUDA_EMBEDDED_HOST, 0, 8)
        w.host.data = m.host
    frame = w.named(".debug_frame", elf.SHT_PROGBITS, 0, 1, symbol=bool(w.codes))
    debug = line_sections(w)
    for s in m.bank4:
        need_bank4(w)
        if s.symbol in {e.name for e in m.externs}:
            w.extern(s.symbol)
        if m.preserve_relocs and w.bank4 is not None:
            bind = elf.STB_WEAK if s.symbol in {e.name for e in m.externs} else w.symbol(s.symbol, ".nv.constant4").bind
            w.define(OutSymbol(slot_symbol(s.symbol), bind, elf.STT_OBJECT, INTERNAL, w.bank4, s.offset, 8))
    late_names(w)
    graph: list[OutSection] = []
    if m.linked or not m.uses_texture_query:
        graph.append(w.named(".nv.callgraph", elf.SHT_CUDA_CALLGRAPH, 0, 4))
        graph[0].entsize = 8
        graph[0].link = w.symtab
    proto = OutSection(".nv.prototype", elf.SHT_CUDA_PROTOTYPE, 0, 4, 8)
    proto.link = w.symtab
    b.section_names.add(proto.name)
    if m.prototypes:
        b.section_symbol(proto)
        graph.append(proto)
    else:
        b.symbol_names.add(proto.name)
    if not split and not m.linked:
        action = w.named(".nv.rel.action", elf.SHT_CUDA_REL_ACTION, 0, 8)
        action.entsize, action.data = 8, REL_ACTION
        graph.append(action)
    if split:
        for code in w.codes:
            if code.bank0 is not None and code.bank0_symbol is not None and not code.bank0_early:
                b.section_names.add(code.bank0.name)
                b.tail_symbols.append(code.bank0_symbol)
    all_relocations(w, frame)
    sections = _order(w, [shstrtab, strtab, w.symtab, frame, *debug, *head], graph)
    capsules: CapsuleSections | None = None
    if m.capsules and not w.facts.mercury_layout:
        m.no_capsule = f"{m.target} has none"
    elif m.capsules:
        from orias.cubin.capsule.capsule_writer import NoCapsule
        from orias.cubin.put_capsule import add_capsules

        try:
            capsules, added = add_capsules(w)
            sections += added
        except NoCapsule as e:
            m.no_capsule = str(e)
    first_global = b.number(sections)
    fill(w, info, graph, proto)
    if capsules is not None:
        from orias.cubin.put_capsule import fill_capsules

        fill_capsules(w, capsules, strtab, module_records(w))
    for out, relocs in w.pending:
        out.data = reloc_bytes(relocs, out.type != elf.SHT_REL)
    w.symtab.data = b.symtab_bytes()
    strtab.data = bytes(b.symbol_names.data)
    shstrtab.data = bytes(b.section_names.data)
    flags = note2.index << 24 | w.facts.sm_flags | (elf.KIND_SASS if capsules is None else elf.KIND_CAPSULE)
    segments = [] if m.relocatable else _segments(w, sections)
    kind = elf.ET_REL if m.relocatable else elf.ET_EXTENSIBLE if m.extensible else elf.ET_EXEC
    data = bytearray(b.serialise(kind, flags, sections, segments, first_global))
    if m.relocatable and split:
        clear_program_header_size(data)
    if capsules is not None:
        from orias.cubin.put_capsule import prove

        prove(bytes(data))
    return bytes(data)


def code_order(m: CubinModule) -> list[KernelCode]:
    """Order of the text sections: that of a file that was read, else that of ptxas.

    With debug information, of objects without optimisation, and of functions for tools, it is that in which the symbols are created: that of the first
    declarations, those that others see before local ones.
    Objects go through this list backwards, other files with functions in sections of their own through the kernels, and put what
    each calls before it: of the functions' first calls, the last first.
    """
    kernels = m.kernels
    if m.section_order:
        place = {name: n for n, name in enumerate(m.section_order)}
        return sorted(kernels, key=lambda k: place.get(k.name, len(place)))
    local = [k for k in kernels if k.binding == LOCAL and (m.relocatable or not k.is_entry)]
    rest = [k for k in kernels if k.binding != LOCAL or (k.is_entry and not m.relocatable)]
    if m.debug or (m.relocatable and m.opt_level == 0) or any(k.tools_patch for k in kernels):
        return [k for k in kernels if k.binding != LOCAL] + [k for k in kernels if k.binding == LOCAL]
    if not m.own_sections:
        launched: dict[str, list[str]] = {}
        for edge in m.address_uses:
            launched.setdefault(edge.caller, []).append(edge.callee)
        return _callees_first(rest[::-1], [], launched)
    made = [k for k in local if _is_compilers(k.name)]
    read = [k for k in [*rest, *local] if not _is_compilers(k.name)]
    roots = read[::-1] if m.relocatable else [k for k in read if k.is_entry] + read
    pointed: dict[str, list[str]] = {}
    if m.relocatable:
        roots = [k for k in kernels if k.unified is not None or k.stub_of] + roots
        taken = [name for name, _ in _pointed_order(m, [])]
        pointed = {edge.caller: taken for edge in m.address_uses}
    else:
        for caller, prototype in m.indirect_calls:
            pointed.setdefault(caller, []).extend(name for name, own in m.address_taken if own == prototype)
    return _callees_first([*roots, *made], m.calls, pointed)


def _callees_first(roots: list[KernelCode], edges: list[CallEdge], pointed: dict[str, list[str]]) -> list[KernelCode]:
    """Functions in the order in which a depth-first search leaves them; those of the compiler count as called last.

    `pointed`: what a function may call by address, after its other calls.
    """
    named = {k.name: k for k in roots}
    called = {(e.caller, e.callee) for e in edges}
    out: list[KernelCode] = []
    seen: set[str] = set()
    for root in roots:
        todo = [(root, False)]
        while todo:
            k, left = todo.pop()
            if left:
                out.append(k)
                continue
            if k.name in seen:
                continue
            seen.add(k.name)
            todo.append((k, True))
            calls = sorted((r.offset, r.symbol) for r in k.relocs if (k.name, r.symbol) in called)
            last = dict.fromkeys(pointed.get(k.name, ()))
            names = [*(symbol for _, symbol in calls if symbol not in last), *last]
            names = list(dict.fromkeys(symbol for symbol in names if symbol in named))
            names.sort(key=_is_compilers)
            # What is pushed last is visited first: the function whose first call is the last.
            todo += [(named[n], False) for n in names]
    return out


def _pointed_order(m: CubinModule, first: list[KernelCode]) -> list[tuple[str, str]]:
    """Functions of an object whose address is taken as ptxas lists them: `first` ones, undefined, visible, weak, local ones."""
    kinds = [[k.name for k in m.kernels if k.binding == binding] for binding in (GLOBAL, WEAK, LOCAL)]
    names = [*(k.name for k in first), *(e.name for e in m.externs), *kinds[0], *kinds[1], *kinds[2]]
    texts = dict(m.address_taken)
    return [(name, texts[name]) for name in dict.fromkeys(names) if name in texts]


def _is_compilers(name: str) -> bool:
    """True for a function that ptxas adds."""
    return name.startswith("__cuda_")


def _order(w: Work, head: list[OutSection], graph: list[OutSection]) -> list[OutSection]:
    """All sections in file order."""
    out = [OutSection("", elf.SHT_NULL, 0, 0), *head]
    host = [w.host] if w.host is not None else []
    out += w.infos + host + graph + [p[0] for p in w.pending]
    out += shared_banks(w)
    out += [c.bank2 for c in w.codes if c.bank2 is not None]
    early = [c.bank0 for c in w.codes if c.bank0 is not None and (c.bank0_early or not w.facts.split_segments)]
    out += early
    out += [c.text for c in w.codes]
    out += w.data + w.nobits
    return out + [c.bank0 for c in w.codes if c.bank0 is not None and c.bank0 not in early]


def _segments(w: Work, sections: list[OutSection]) -> list[OutSegment]:
    """Program headers: one per run of allocated sections with the same access rights."""
    split = w.facts.split_segments
    runs: list[tuple[int, list[OutSection]]] = []
    for s in sections:
        if not s.flags & elf.SHF_ALLOC:
            continue
        if s.flags & elf.SHF_WRITE:
            rights = 6
        elif s.flags & elf.SHF_EXECINSTR or not split:
            rights = 5
        else:
            rights = 4
        if runs and runs[-1][0] == rights:
            runs[-1][1].append(s)
        else:
            runs.append((rights, [s]))
    own = 4 if split else 5
    loads = [OutSegment(elf.PT_LOAD, rights, members) for rights, members in runs]
    first = OutSegment(elf.PT_PHDR, own, [])
    table = OutSegment(elf.PT_LOAD, own, [])
    return [first, table, *loads] if split else [first, *loads, table]
