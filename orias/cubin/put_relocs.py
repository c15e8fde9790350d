"""Writes the relocation sections, and their names in the string tables."""

from struct import pack
from typing import Final

from orias.cubin import elf
from orias.cubin.put_debug import frames
from orias.cubin.relocs import R_64, R_CONST_FIELD19_40, R_CONST_FIELD21_38, R_FUNC_DESC_64
from orias.cubin.section_builder import OutReloc, OutSection, OutSymbol
from orias.cubin.unified import VARIABLES
from orias.cubin.work import INTERNAL, NAMES90, Code, Work, slot_symbol

_INITIAL_VALUES: Final = (
    ("const", 3, ".nv.constant3", False), ("global", 0, ".nv.global.init", False), ("global", 0, VARIABLES, True),
)  # fmt: skip
"""Sections of variables with initial values: space, number of the constant bank, name, whether the variables are unified."""


def _add(w: Work, section: OutSection, relocs: list[OutReloc], keep_empty: bool = False) -> None:
    """Adds the REL and RELA sections of a section; their entries are in reverse order of creation."""
    if not relocs and not keep_empty:
        return
    kinds: list[bool] = []
    if w.always_rela:
        kinds = [True]
    else:
        for r in relocs:
            if r.rela not in kinds:
                kinds.append(r.rela)
    for rela in kinds:
        name = f".rela{section.name}" if rela else f".rel{section.name}"
        type_ = elf.SHT_RELA if rela else elf.SHT_REL
        out = OutSection(name, type_, elf.SHF_INFO_LINK, 8, elf.RELA_SIZE if rela else elf.REL_SIZE)
        out.link, out.info_section = w.symtab, section
        w.pending.append((out, [r for r in relocs if w.always_rela or r.rela == rela]))


def late_names(w: Work) -> None:
    """Enters the names of relocation sections of data and debug sections."""
    b = w.b
    for code in w.codes:
        if code.bank0_early:
            b.names(f".rel.nv.constant.entry_image_header_indices.{code.kernel.name}")
    if w.bank4 is not None:
        _late_name(w, 4, ".nv.constant4", [False])
    for space, number, name, unified in _INITIAL_VALUES:
        own = [v for v in w.m.variables if v.space == space and (v.unified is not None) == unified]
        kinds = [bool(r.addend) for v in own for r in v.relocs]
        if kinds or any(v.relocs_applied for v in own):
            _late_name(w, number, name, kinds or [False])
    if w.codes:
        b.names(".rel.debug_frame", ".rela.debug_frame")


def _late_name(w: Work, number: int, name: str, kinds: list[bool]) -> None:
    """Enters the names of one section's relocation sections; ``kinds``: for each entry, whether it has an addend."""
    long = f".nv.constant.{NAMES90[number]}" if number and w.facts.split_segments else name
    for rela in [*kinds, True] if w.always_rela else kinds:
        if rela and long != name:
            w.b.section_names.add(f".rela{name}", len(f".rela{long}"))
            w.b.symbol_names.add(f".rela{long}")
        else:
            w.b.names(f".rela{long}" if rela else f".rel{long}")


def all_relocations(w: Work, frame: OutSection) -> None:
    """Create every relocation section, in file order; ``w.pending`` keeps their contents until symbols have numbers."""
    m = w.m
    keeps = m.preserve_relocs and not m.relocatable
    with_code, before_frame, after_frame = _texture_places(w)
    for code in w.codes:
        _add(
            w,
            code.text,
            code.relocs,
            w.facts.addends_in_relocations and (bool(code.kernel.relocs) or code.kernel.relocs_applied),
        )
        if keeps:
            _add_resolved(w, code.text, _resolved_in_code(w, code))
        if code.bank2 is not None and (code.kernel.const2_relocs or code.kernel.const2_resolved):
            data = bytearray(code.bank2.data)
            for r in code.kernel.const2_relocs:
                data[r.offset : r.offset + 8] = r.addend.to_bytes(8, "little")
            code.bank2.data = bytes(data)
            _add(w, code.bank2, [], w.facts.addends_in_relocations)
            if keeps:
                _add_resolved(w, code.bank2, _resolved_pointers(w, code))
        if with_code:
            _add_texture_relocs(w, code)
    for lines, entries in w.line_relocs:
        _add(w, lines, entries)
    if w.bank4 is not None:
        w.bank4.data = bytes(max(s.offset + 8 for s in m.bank4))
        slots = [
            OutReloc(s.offset, R_FUNC_DESC_64 if s.descriptor else R_64, w.symbol(s.symbol, ".nv.constant4"), s.addend)
            for s in m.bank4
        ]
        _add(w, w.bank4, slots)
    for section, (space, _, _, unified) in zip((w.bank3, w.global_init, w.udt), _INITIAL_VALUES, strict=True):
        if section is None:
            continue
        out = []
        for v in m.variables:
            if v.space == space and (v.unified is not None) == unified:
                for r in v.relocs:
                    target_symbol = w.symbol(r.symbol, f"variable {v.name}")
                    out.append(OutReloc(v.offset + r.offset, r.type, target_symbol, r.addend))
        applied = any(v.relocs_applied for v in m.variables if v.space == space)
        _add(w, section, out, applied and w.facts.addends_in_relocations)
    for code in before_frame:
        _add_texture_relocs(w, code)
    left, resolved = frames(w, frame)
    _add(w, frame, left)
    if keeps:
        _add_resolved(w, frame, resolved)
    for code in after_frame:
        _add_texture_relocs(w, code)


def _add_resolved(w: Work, section: OutSection, relocs: list[OutReloc]) -> None:
    """Adds the section of a section's resolved relocations (``-preserve-relocs``), if there are any."""
    if not relocs:
        return
    out = OutSection(f".nv.resolvedrela{section.name}", elf.SHT_CUDA_RESOLVED_RELA, elf.SHF_INFO_LINK, 8, elf.RELA_SIZE)
    w.b.names(out.name)
    out.link, out.info_section = w.symtab, section
    w.pending.append((out, relocs))


def _resolved_in_code(w: Work, code: Code) -> list[OutReloc]:
    """The resolved relocations of a function's code: places of variables, and words of the address table."""
    k = code.kernel
    where = f"code of {k.name}"
    out = [
        OutReloc(r.offset, r.type, code.inner.get(r.symbol) or w.symbol(r.symbol, where), r.addend) for r in k.resolved
    ]
    for at, byte, is_load in k.slot_uses:
        slot = next(s for s in w.m.bank4 if s.offset == byte & ~7)
        type_ = R_CONST_FIELD21_38 if is_load else R_CONST_FIELD19_40
        out.append(OutReloc(at, type_, w.symbol(slot_symbol(slot.symbol), where), byte & 7))
    return sorted(out, key=lambda r: r.offset)


def _resolved_pointers(w: Work, code: Code) -> list[OutReloc]:
    """The resolved relocations of a kernel's table of pointers to functions, which its own symbol stands at."""
    k = code.kernel
    if not k.pointers or code.bank2 is None:
        return []
    size = 8 * (1 + len(k.pointers))
    table = OutSymbol(f"$__funcAddrTab_c${k.name}", elf.STB_LOCAL, elf.STT_OBJECT, INTERNAL, code.bank2, 0, size)
    w.b.add_symbol(table)
    functions = [w.symbol(name, f"pointers of {k.name}") for name in k.pointers]
    return [OutReloc(0, R_64, table, 1), *(OutReloc(8 * n, R_64, f) for n, f in enumerate(functions, 1))]


def _add_texture_relocs(w: Work, code: Code) -> None:
    """The relocations of texture slots in a kernel's bank 0.

    In executables whose functions have sections of their own they have a flag less up to sm_89, as with -preserve-relocs.
    """
    if code.bank0 is not None and code.kernel.texture_relocs:
        where = f"constant bank 0 of {code.kernel.name}"
        out = [OutReloc(r.offset, r.type, w.symbol(r.symbol, where), 0) for r in code.kernel.texture_relocs]
        _add(w, code.bank0, out)
        if (_apart(w) or w.m.preserve_relocs) and not w.facts.split_segments:
            w.pending[-1][0].flags = 0


def _texture_places(w: Work) -> tuple[bool, list[Code], list[Code]]:
    """Where the relocations of texture slots come: whether with those of each function's code; of which before those of the frame, or after."""
    if w.m.relocatable or (_apart(w) and not w.facts.split_segments):
        return True, [], []
    if _apart(w):
        return False, [], w.codes
    return False, w.codes[:1], w.codes[1:]


def _apart(w: Work) -> bool:
    """Whether the file is an executable whose functions have sections of their own."""
    return w.m.own_sections and not w.m.relocatable


def reloc_bytes(relocs: list[OutReloc], rela: bool) -> bytes:
    """Contents of a relocation section, last entry first."""
    out = bytearray()
    for r in reversed(relocs):
        out += pack("<QQ", r.offset, r.symbol.index << 32 | r.type)
        if rela:
            out += pack("<q", r.addend)
    return bytes(out)
