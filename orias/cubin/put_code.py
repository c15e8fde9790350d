"""Writes code: text sections, symbols, shared memory, per-kernel constant banks, and relocations in code."""

from typing import Final

from orias.cubin import elf
from orias.cubin.cubin_error import CubinError
from orias.cubin.elf_values import CONSTANT_SIZE, DRIVER_SIZES, pad_code
from orias.cubin.model import GLOBAL, LOCAL, RESERVED_BEGIN, RESERVED_CAP, RESERVED_OFFSET, KernelCode, Reloc
from orias.cubin.put_data import add_variables, need_bank4, overlay_size, reserved_section, reserved_variables
from orias.cubin.relocs import apply
from orias.cubin.section_builder import OutReloc, OutSection, OutSymbol
from orias.cubin.unified import FUNCTION_ENTRIES, stub_section
from orias.cubin.variable_layout import align_up, place_in_order
from orias.cubin.work import INTERNAL, REFERENCE_TYPES, Code, Work

_IMAGE_SLOTS: Final = ".nv.constant.entry_image_header_indices."
"""Name prefix that a constant bank 0 with texture slots has at creation in sm_90 modules."""


def add_code(w: Work, k: KernelCode, first: bool, alone: bool) -> None:
    """Enter a function with its sections and symbols; the ``first`` one also enters the module's variables.

    ``alone``: the module has no kernels.
    """
    name = k.name
    if k.stub_of:
        text = stub_section(k.stub_of)
    else:
        text = OutSection(f".text.{name}", elf.SHT_PROGBITS, elf.SHF_ALLOC | elf.SHF_EXECINSTR, 128)
    text.data = k.code if k.padded else pad_code(k.code, w.facts)
    text.link = w.symtab
    symbol = w.symbols.get(name) or OutSymbol(name, k.binding, elf.STT_FUNC)
    symbol.section, symbol.size = text, len(text.data) if k.size < 0 else k.size
    if k.is_entry:
        symbol.other = elf.STO_ENTRY
    elif k.unified is not None and (first or alone):
        symbol.other = elf.STO_UNIFIED_FUNCTION
    if k.binding != GLOBAL:
        w.define_once(symbol)
    w.b.section_names.add(text.name)
    w.symbols[text.name] = w.b.section_symbol(text)
    if k.unified is not None:
        if w.uft_entries is None:
            w.uft_entries = w.entries(FUNCTION_ENTRIES, elf.SHT_CUDA_UFT_ENTRY)
        w.uft_entries.add(symbol, k.unified)
    info = OutSection(f".nv.info.{name}", elf.SHT_CUDA_INFO, elf.SHF_INFO_LINK, 4)
    info.link, info.info_section = w.symtab, text
    text.info_symbol = symbol
    if not w.facts.split_segments:
        text.info_high = k.num_regs << 24
    if k.is_entry or k.binding != LOCAL:
        w.b.names(info.name)
    if k.binding == GLOBAL:
        w.define_once(symbol)
    code = Code(k, symbol, text, info)
    w.codes.append(code)
    if k.is_entry:
        w.infos.append(info)
        _add_shared(w, code)
    if first and w.facts.split_segments:
        add_reserved(w)
    for r in k.relocs:
        if r.symbol in DRIVER_SIZES.values() and r.symbol not in w.symbols:
            w.define(OutSymbol(r.symbol, elf.STB_WEAK, elf.STT_OBJECT, 0, None, 0, 4))
        if r.symbol == CONSTANT_SIZE and r.symbol not in w.symbols:
            w.define(OutSymbol(r.symbol, elf.STB_LOCAL, elf.STT_OBJECT, INTERNAL, None, 0, 4))
    if first and w.m.relocatable:
        add_variables(w)
        add_pointed(w, k)
    _add_externs(w, k)
    if first and not w.m.relocatable:
        add_variables(w)
    if not k.is_entry:
        w.infos.append(info)
    if not k.is_entry and k.binding == LOCAL:
        w.b.names(info.name)
    _add_inner_symbols(w, code)
    _add_bank2(w, code)
    _add_text_relocs(w, code)
    if k.is_entry:
        _add_bank0(w, code)


def _name_callees(w: Work, k: KernelCode) -> None:
    """Symbols of local functions whose code comes later: a function that refers to them has them first, in the order of the module."""
    named = {r.symbol for r in k.relocs if r.symbol in w.local_functions and r.symbol not in w.symbols}
    for name in sorted(named, key=lambda n: w.local_functions[n]):
        w.define_once(OutSymbol(name, LOCAL, elf.STT_FUNC))


def _add_inner_symbols(w: Work, code: Code) -> None:
    """Symbols inside a function: shared variables, copied functions, texture references among the parameters."""
    k = code.kernel
    shared = {v.name for v in w.m.variables if v.space == "shared"}
    uses_shared = bool(k.shared or k.shared_dynamic or k.shared_size > 0)
    uses_shared = uses_shared or any(r.symbol in shared for r in k.relocs)
    if w.facts.mercury_layout:
        if k.reserved_begin:
            _reserved_symbol(w, RESERVED_BEGIN, 0)
        if uses_shared or k.reserved_cap:
            _reserved_symbol(w, RESERVED_CAP, w.facts.system_shared)
    elif w.facts.split_segments:
        if k.reserved_begin:
            _erased_symbol(w, RESERVED_BEGIN)
        if uses_shared or k.reserved_cap:
            _erased_symbol(w, RESERVED_CAP)
    if w.m.debug and not w.m.relocatable:
        called = {r.symbol for r in k.relocs}
        for other in w.m.kernels:
            if other.is_helper and other.name in called:
                w.define_once(OutSymbol(other.name, other.binding, elf.STT_FUNC))
    if w.m.relocatable or w.m.debug:
        _name_callees(w, k)
    if w.m.own_sections and code.shared is not None:
        for v in k.shared:
            if w.m.relocatable:
                w.define(OutSymbol(v.name, LOCAL, elf.STT_CUDA_OBJECT, 0x40, code.shared, v.align, v.size))
            else:
                place = w.facts.system_shared + v.offset
                w.define(OutSymbol(v.name, LOCAL, elf.STT_OBJECT, 0, code.shared, place, v.size))
    elif w.m.preserve_relocs and code.shared is not None:
        for v in k.shared:
            symbol = OutSymbol(v.name, elf.STB_LOCAL, elf.STT_OBJECT, INTERNAL, code.shared, v.offset, v.size)
            code.inner[v.name] = w.b.add_symbol(symbol)
    for sub in k.subs:
        symbol = OutSymbol(sub.written, sub.binding, elf.STT_FUNC, 0, code.text, sub.offset, sub.size)
        w.symbols[sub.name] = w.b.add_symbol(symbol)
    for p in k.params:
        if p.symbol and p.symbol not in w.symbols:
            w.define(OutSymbol(p.symbol, elf.STB_LOCAL, REFERENCE_TYPES[p.space], 0, code.text))


def _reserved_symbol(w: Work, name: str, value: int) -> None:
    """Enter a limit of reserved shared memory as a symbol, once."""
    if name not in w.symbols:
        w.define(OutSymbol(name, elf.STB_WEAK, elf.STT_OBJECT, 0, None, value, 4))


def _erased_symbol(w: Work, name: str) -> None:
    """Leave, once, what is left of a symbol that is a constant in the code (sm_90): an entry without name and a gap among the names."""
    if name not in w.erased:
        w.erased.add(name)
        w.b.local_symbols.append(OutSymbol("", 0, 0, 1))
        w.b.symbol_names.blank(len(name) + 1)


def _add_shared(w: Work, code: Code) -> None:
    k = code.kernel
    name = f".nv.shared.{k.name}"
    reserved = w.facts.system_shared
    size = k.shared_size
    if size < 0:
        size = place_in_order(k.shared)
    align = k.shared_align or max((v.align for v in [*k.shared, *k.shared_dynamic]), default=1)
    present = bool(k.shared or k.shared_dynamic or k.shared_size > 0)
    w.b.section_names.add(name)
    if not present or (w.m.relocatable and not k.shared):
        w.b.symbol_names.add(name)
        return
    type_ = w.data_type(elf.SHT_NOBITS, elf.SHT_CUDA_SHARED)
    section = OutSection(name, type_, elf.SHF_WRITE | elf.SHF_ALLOC | elf.SHF_INFO_LINK, align)
    section.info_section = code.text
    dynamic_align = max((v.align for v in k.shared_dynamic), default=1)
    section.size = align_up(size, dynamic_align) + (0 if w.m.extensible else reserved)
    if w.m.relocatable:
        section.size = overlay_size(k.shared)
    if size > 0:
        w.symbols[name] = w.b.section_symbol(section)
    else:
        w.b.symbol_names.add(name)
    code.shared = section
    w.nobits.append(section)


def add_reserved(w: Work) -> None:
    """The reserved part of shared memory (sm_90 on)."""
    if w.m.relocatable:
        for uf in (
            "UDT_OFFSET",
            "UFT_OFFSET",
            "UFT_CANONICAL",
            "UDT_CANONICAL",
            "UFT",
            "UDT",
            "UFT_END",
            "UDT_END",
        ):
            w.define(OutSymbol(f"__{uf}", elf.STB_WEAK, elf.STT_OBJECT, 0, None, 0, 8))
    facts = w.facts
    if not facts.mercury_layout and any(k.reserved_offset for k in w.m.kernels):
        _erased_symbol(w, RESERVED_OFFSET)
    else:
        _reserved_symbol(w, RESERVED_OFFSET, facts.reserved_offset)
    variables = reserved_variables(w)
    if w.m.relocatable or (w.m.own_sections and not variables):
        return
    section = reserved_section(w, variables)
    alias = "__nv_reservedSMEM_offset_0_alias"
    if not w.m.own_sections:
        # Where a linker places it, the value is an alignment.
        value = section.align if w.m.extensible else facts.reserved_offset
        w.define(OutSymbol(alias, elf.STB_WEAK, elf.STT_NOTYPE, 0xA0, section, value))


def _add_bank2(w: Work, code: Code) -> None:
    k = code.kernel
    if not k.const2:
        return
    name = f".nv.constant2.{k.name}"
    section = w.constant_bank(2, name, k.const2_align, True)
    section.data = k.const2
    section.info_section = code.text
    code.bank2 = section
    w.renamed(section, f".nv.constant.optimizer.{k.name}" if w.facts.split_segments else name)
    if w.m.relocatable:
        for offset, size in k.const2_parts:
            part = f"{k.name}.const_opt.{offset}.{offset + size}"
            w.define(OutSymbol(part, elf.STB_LOCAL, elf.STT_CUDA_OBJECT, 0x81, section, offset, size))


def _add_externs(w: Work, k: KernelCode) -> None:
    """Undefined functions that a kernel uses, and the address table if it holds one of them."""
    used = {*(r.symbol for r in k.relocs), *k.externs}
    slots = {s.symbol for s in w.m.bank4}
    for e in w.m.externs:
        if e.name in used:
            w.extern(e.name)
            if e.name in slots:
                need_bank4(w)


def add_pointed(w: Work, first: KernelCode | None) -> None:
    """Symbols of the functions of an object whose address is taken: of undefined ones, and where there are kernels of all.

    The first function in a file with kernels counts as using the undefined ones.
    """
    undefined = {e.name for e in w.m.externs}
    binding = {k.name: k.binding for k in w.m.kernels}
    for name, _ in w.m.address_taken:
        if name in undefined:
            w.extern(name)
            if first is not None and name not in first.externs:
                first.externs.append(name)
        elif first is not None and name in binding:
            w.define_once(OutSymbol(name, binding[name], elf.STT_FUNC))


def _add_text_relocs(w: Work, code: Code) -> None:
    k = code.kernel
    split = w.facts.split_segments
    if k.relocs and not w.m.relocatable:
        _resolve(w, code)
    if not (k.relocs or k.relocs_applied or k.externs):
        pass
    elif w.m.own_sections or w.m.extensible:
        for r in k.relocs:
            w.b.names(f".rela{code.text.name}" if r.addend else f".rel{code.text.name}")
        if split:
            w.b.names(f".rela{code.text.name}")
    elif split:
        w.b.names(f".rel.text.{k.name}", f".rela.text.{k.name}")
    else:
        w.b.names(f".rel.text.{k.name}")
    if split and (k.const2_relocs or k.const2_resolved):
        reserve = len(".rela.nv.constant.optimizer.") + len(k.name)
        w.b.section_names.add(f".rela.nv.constant2.{k.name}", reserve)
        w.b.symbol_names.add(f".rela.nv.constant.optimizer.{k.name}")


def bind_text_relocs(w: Work) -> None:
    """Give relocations in code their symbols, when every function has its symbol."""
    for code in w.codes:
        where = f"code of {code.kernel.name}"
        code.relocs = [OutReloc(r.offset, r.type, w.symbol(r.symbol, where), r.addend) for r in code.kernel.relocs]


def _resolve(w: Work, code: Code) -> None:
    """Apply an executable module's relocations in code, except those against functions in other sections."""
    k = code.kernel
    values: dict[str, int] = {k.name: 0, code.text.name: 0}
    for sub in k.subs:
        values[sub.name] = sub.offset
    own = set(values)
    for v in k.shared:
        values[v.name] = w.facts.system_shared + v.offset
    static = (k.shared_size if k.shared_size >= 0 else place_in_order(k.shared)) + w.facts.system_shared
    for v in k.shared_dynamic:
        values[v.name] = align_up(static, max(d.align for d in k.shared_dynamic))
    for v in w.m.variables:
        if v.space == "const":
            values[v.name] = v.offset | 3 << 16
    k.relocs_applied = True
    data = bytearray(code.text.data)
    left: list[Reloc] = []
    loaded = set(DRIVER_SIZES.values())
    if w.m.own_sections:
        loaded.update(c.name for c in w.m.kernels)
    if w.m.own_sections or w.m.extensible:
        loaded.update(e.name for e in w.m.externs)
    if w.m.own_sections or w.m.extensible:
        loaded.update(v.name for v in w.m.variables if v.space == "global")
    if w.m.extensible:
        loaded.update(name for name, _, _ in reserved_variables(w))
        loaded.update(c.name for c in w.m.kernels)
    kept = {v.name for v in w.m.variables if v.space == "const"} | {v.name for v in k.shared}
    for r in k.relocs:
        if r.symbol in kept and w.m.preserve_relocs:
            k.resolved.append(r)
        if r.symbol in loaded:
            left.append(r)
        elif r.symbol in values:
            apply(data, r.offset, r.type, values[r.symbol] + r.addend)
            k.relative_addresses = k.relative_addresses or r.symbol in own
        else:
            raise CubinError(f"code of {k.name}: the address of {r.symbol} is not known before loading")
    code.text.data = bytes(data)
    k.relocs = left


def _add_bank0(w: Work, code: Code) -> None:
    k = code.kernel
    name = f".nv.constant0.{k.name}"
    section = w.constant_bank(0, name, 4, True)
    slots = max((r.offset + 4 for r in k.texture_relocs), default=0)
    section.data = bytes(max(w.param_base(k) + k.param_bytes, slots))
    section.info_section = code.text
    code.bank0 = section
    if w.facts.split_segments and k.texture_relocs and not w.m.relocatable:
        code.bank0_early = True
        reserve = len(_IMAGE_SLOTS) + len(k.name)
        if not any(p.symbol for p in k.params):
            w.b.symbol_names.add(f".rela{_IMAGE_SLOTS}{k.name}")
        code.bank0_symbol = w.renamed(section, f"{_IMAGE_SLOTS}{k.name}")
        w.b.section_names.add(f".rela{name}", reserve + 5)
        w.b.symbol_names.add(f".rela{_IMAGE_SLOTS}{k.name}")
        return
    if w.facts.split_segments:
        code.bank0_symbol = OutSymbol(name, elf.STB_LOCAL, elf.STT_SECTION, 0, section)
        w.symbols[name] = code.bank0_symbol
        return
    w.b.section_names.add(name)
    if not w.m.relocatable:
        w.b.names(f".rel.nv.constant0.{k.name}")
    code.bank0_symbol = w.b.section_symbol(section)
    w.symbols[name] = code.bank0_symbol
    base = w.param_base(k)
    name, value, size = ("_param", base, k.param_bytes) if k.param_bytes else ("_SREG", 0, base)
    if w.m.extensible:
        w.b.symbol_names.add(name)
    if w.m.preserve_relocs and not w.m.relocatable:
        w.b.add_symbol(OutSymbol(name, elf.STB_LOCAL, elf.STT_OBJECT, INTERNAL, section, value, size))
    if w.m.relocatable:
        w.b.add_symbol(OutSymbol(name, elf.STB_LOCAL, elf.STT_CUDA_OBJECT, 0x81, section, value, size))
