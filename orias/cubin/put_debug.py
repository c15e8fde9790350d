"""Writes the debug sections: call frames always, line information on request."""

from collections.abc import Callable

from orias.cubin import elf
from orias.cubin.debugframe import FrameWriter
from orias.cubin.debugline import LineProgram, ptx_text_section, sass_rows, source_rows
from orias.cubin.model import FrameInfo, FrameRow, Reloc
from orias.cubin.relocs import R_64, R_UNUSED_CLEAR64
from orias.cubin.section_builder import OutReloc, OutSection, OutSymbol
from orias.cubin.work import Code, Work


def frames(w: Work, section: OutSection) -> tuple[list[OutReloc], list[OutReloc]]:
    """Fill ``.debug_frame``; returns its relocations, and those that are resolved."""
    writer = FrameWriter()
    out: list[OutReloc] = []
    for code in w.codes:
        k = code.kernel
        size = min([sub.offset for sub in k.subs if not sub.alias], default=len(code.text.data))
        done = len(writer.relocs)
        writer.add(frame_of(k.frame, k.frame_size), 0, size, k.is_entry, w.m.own_sections, w.m.relocatable, w.m.debug)
        for sub in (s for s in k.subs if not s.alias):
            writer.add(
                frame_of(sub.frame, sub.frame_size),
                sub.offset,
                sub.size,
                False,
                w.m.own_sections,
                w.m.relocatable,
                False,
            )
        parts = writer.relocs[done:]
        for r in [p for p in parts if p.in_cie] + [p for p in parts if not p.in_cie]:
            symbol = w.symbols[".debug_frame"] if r.kind == "cie" else code.symbol
            type_ = R_UNUSED_CLEAR64 if r.kind == "size" else R_64
            addend = r.addend if r.kind == "cie" or w.facts.addends_in_relocations else 0
            out.append(OutReloc(r.offset, type_, symbol, addend))
    section.data = bytes(writer.data)
    return out, [OutReloc(at, R_64, w.symbols[".debug_frame"], value) for at, value in writer.links]


def line_sections(w: Work) -> list[OutSection]:
    """Line information and debug sections of the module: all of them with -g, else the names of inlined functions.

    These stand after the table of lines that names them; where no code is inlined, after all others, as all do with -g.
    """
    m = w.m
    if not m.lineinfo:
        return []
    relocs: list[tuple[OutSection, list[OutReloc]]] = []
    source = _line_section(w, ".debug_line", relocs, False)
    out = [source]
    named = not m.debug and _inlines(w)
    if named:
        out += _given(w, relocs)
    out.append(_line_section(w, ".nv_debug_line_sass", relocs, True))
    text = w.named(f".nv_debug_ptx_txt{m.ptx_suffix}", elf.SHT_PROGBITS, 0, 1)
    text.data = ptx_text_section(m.ptx_text)
    out.append(text)
    if not named:
        out += _given(w, relocs)
    w.line_relocs = relocs
    w.line_sections = out
    return out


def _given(w: Work, relocs: list[tuple[OutSection, list[OutReloc]]]) -> list[OutSection]:
    """The module's own debug sections; their relocations are added to the list."""
    out: list[OutSection] = []
    for d in w.m.sections:
        section = w.named(d.name, elf.SHT_PROGBITS, 0, 1)
        section.data = d.data
        out.append(section)
    for d, section in zip(w.m.sections, out, strict=True):
        if d.relocs:
            entries = [_debug_reloc(w, d.name, r) for r in d.relocs]
            names = {f".rela{d.name}" if e.rela else f".rel{d.name}" for e in entries}
            w.b.names(*sorted(names | ({f".rela{d.name}"} if w.always_rela else set())))
            relocs.append((section, entries))
    return out


def _debug_reloc(w: Work, section: str, r: Reloc) -> OutReloc:
    """A relocation of a debug section; below sm_90 ptxas leaves addends of ``.debug_loc`` in the data and states all of ``.debug_info``."""
    out = OutReloc(r.offset, r.type, w.symbol(r.symbol, section), r.addend)
    if section == ".debug_info":
        out.rela = True
    elif section == ".debug_loc" and not w.always_rela:
        out.addend, out.rela = 0, False
    return out


def _line_section(w: Work, name: str, relocs: list[tuple[OutSection, list[OutReloc]]], sass: bool) -> OutSection:
    section = w.named(name, elf.SHT_PROGBITS, 0, 1)
    program, owners = line_program(w, sass, lambda _, offset: offset)
    section.data = program.data()
    if owners:
        w.b.names(f".rel{name}")
        if w.always_rela:
            w.b.names(f".rela{name}")
        entries = [OutReloc(at, R_64, owner) for at, owner in zip(program.addresses, owners, strict=True)]
        relocs.append((section, entries))
    return section


def line_program(w: Work, sass: bool, place: Callable[[Code, int], int]) -> tuple[LineProgram, list[OutSymbol]]:
    """The line table of PTX lines (`sass`) or of source lines, and whose sequences it has; `place`: where a code offset is."""
    files = sorted(w.m.files, key=lambda f: f.index)
    program = LineProgram([] if sass else files, not sass and _inlines(w))
    owners: list[OutSymbol] = []
    for code in w.codes:
        if sass:
            rows = sass_rows(code.kernel.lines)
            sites: list[tuple[int, int]] = []
        else:
            rows, sites = source_rows(code.kernel.lines, files)
        if rows:
            rows = [(place(code, at), file, line) for at, file, line in rows]
            program.sequence(rows, sites, place(code, len(code.text.data)))
            owners.append(code.symbol)
    return program, owners


def _inlines(w: Work) -> bool:
    """Whether some code is inlined."""
    return any(r.inlined_at is not None for code in w.codes for r in code.kernel.lines)


def frame_of(frame: FrameInfo, frame_size: int) -> FrameInfo:
    """The frame information; without rows, one row with the frame's size from the start."""
    if frame.rows:
        return frame
    out = FrameInfo()
    out.return_reg = frame.return_reg
    out.same = frame.same
    if frame_size:
        out.rows.append(FrameRow(16, "cfa", 0, frame_size))
    return out
