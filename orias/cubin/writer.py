"""Writes a :class:`CubinModule` as a cubin: an executable one, or a relocatable object (option ``-c``).

Sections, symbols and names come into being in ptxas's order (sections 2.3 and 2.4 of the ELF inventory and the string
tables of real files, which keep a log of it); so does the placing of sections in the file.
"""

from struct import pack
from typing import Final, final

from orias.cubin import elf, nvinfo
from orias.cubin.attributes import kernel_records
from orias.cubin.builder import Builder, OutReloc, OutSection, OutSegment, OutSymbol
from orias.cubin.callgraph import callgraph
from orias.cubin.debugframe import FrameReloc, FrameWriter
from orias.cubin.debugline import LineProgram, ptx_text_section, sass_rows, source_rows
from orias.cubin.errors import CubinError
from orias.cubin.facts import CubinFacts, pad_code
from orias.cubin.layout import align_up, creation_order, place_by_alignment, place_in_order
from orias.cubin.model import GLOBAL, LOCAL, BankSlot, CubinModule, FrameInfo, FrameRow, KernelCode, Variable
from orias.cubin.notes import compat, cuinfo, tkinfo
from orias.cubin.nvinfo import Record, sval
from orias.cubin.relocs import R_64, R_UNUSED_CLEAR64, apply
from orias.target.profile import Target, target

_REL_ACTION: Final = bytes.fromhex("73000000000000000000001125000536")
"""The one content ``.nv.rel.action`` was ever seen with."""
_RESERVED_CAP: Final = 21
_RESERVED_BEGIN: Final = 23
"""Bytes of an erased name that sm_90 modules with (reserved) shared memory keep in ``.strtab``."""
_PHENTSIZE: Final = 0x36
"""Offset of e_phentsize, which is 0 in relocatable objects of sm_90."""
_NAME_GAP: Final = 14
_NAME_GAP_KERNEL: Final = 18
"""Unused bytes behind ``.shstrtab`` on sm_90, and more for each kernel (plus its name)."""
_REFERENCE_TYPES: Final = {"texref": elf.STT_TEXTURE, "samplerref": elf.STT_SAMPLER, "surfref": elf.STT_SURFACE}
_NAMES90: Final = {3: "user", 4: "pic"}
"""Names under which sm_90 modules create constant banks 3 and 4 (``.nv.constant.user``)."""


def code_order(kernels: list[KernelCode]) -> list[KernelCode]:
    """Order of the text sections.

    Local functions as in the PTX, then the others and the kernels from last to first; functions of the compiler itself
    (``__cuda_...``) stand in front of the first function that uses them and of the visible functions that one calls.
    """
    helpers = [k for k in kernels if _is_helper(k)]
    local = [k for k in kernels if not k.is_entry and k.binding == LOCAL and not _is_helper(k)]
    rest = [k for k in kernels if (k.is_entry or k.binding != LOCAL) and not _is_helper(k)]
    out = local + rest[::-1]
    calls = {k.name: {r.symbol for r in k.relocs} for k in out}
    visible = {k.name for k in rest}
    for h in helpers:
        users = {name for name, called in calls.items() if h.name in called}
        first = next((k.name for k in out if k.name in users), "")
        group = {first}
        todo = [first] if first else []
        while todo:
            for name in calls.get(todo.pop(), set()) & visible - group:
                group.add(name)
                todo.append(name)
        at = next((n for n, k in enumerate(out) if k.name in group), 0)
        out.insert(at, h)
    return out


def _is_helper(k: KernelCode) -> bool:
    return not k.is_entry and k.name.startswith("__cuda_")


@final
class _Code:
    """One function on its way out: its sections and symbols."""

    __slots__ = (
        "bank0",
        "bank0_early",
        "bank0_symbol",
        "bank2",
        "bank2_relocs",
        "info",
        "kernel",
        "relocs",
        "shared",
        "symbol",
        "text",
    )

    def __init__(self, kernel: KernelCode, symbol: OutSymbol, text: OutSection, info: OutSection) -> None:
        self.kernel: KernelCode = kernel
        self.symbol: OutSymbol = symbol
        self.text: OutSection = text
        self.info: OutSection = info
        self.shared: OutSection | None = None
        self.bank0: OutSection | None = None
        self.bank0_symbol: OutSymbol | None = None
        self.bank0_early: bool = False
        self.bank2: OutSection | None = None
        self.relocs: list[OutReloc] = []
        self.bank2_relocs: list[OutReloc] = []


@final
class _Writer:
    """One run of the writer; attributes named after sections hold them once they exist."""

    __slots__ = (
        "b",
        "bank3",
        "bank4",
        "cap_named",
        "codes",
        "debug_shared",
        "facts",
        "global_",
        "global_init",
        "line_relocs",
        "m",
        "nobits",
        "pending",
        "reserved",
        "symbols",
        "symtab",
        "target",
    )

    def __init__(self, module: CubinModule) -> None:
        self.m: CubinModule = module
        try:
            self.target: Target = target(module.target)
        except KeyError:
            raise CubinError(f"no cubin can be written for the target {module.target!r}") from None
        self.facts: CubinFacts = CubinFacts(self.target.sm, self.target.accelerator)
        self.b: Builder = Builder()
        self.symtab: OutSection = OutSection(".symtab", elf.SHT_SYMTAB, 0, 8, elf.SYM_SIZE)
        self.symbols: dict[str, OutSymbol] = {}
        self.codes: list[_Code] = []
        self.nobits: list[OutSection] = []
        self.line_relocs: list[tuple[OutSection, list[OutReloc]]] = []
        self.pending: list[tuple[OutSection, list[OutReloc]]] = []
        self.global_: OutSection | None = None
        self.global_init: OutSection | None = None
        self.bank3: OutSection | None = None
        self.bank4: OutSection | None = None
        self.debug_shared: OutSection | None = None
        self.reserved: OutSection | None = None
        self.cap_named: bool = False

    # -- symbols ---------------------------------------------------------------------------------------------------

    def _define(self, symbol: OutSymbol) -> OutSymbol:
        self.b.add_symbol(symbol)
        self.symbols[symbol.name] = symbol
        return symbol

    def _symbol(self, name: str, where: str) -> OutSymbol:
        if not name:
            return self.b.local_symbols[0]
        found = self.symbols.get(name)
        if found is None:
            raise CubinError(f"{where} refers to {name}, which is no symbol of the module")
        return found

    def _extern(self, name: str) -> OutSymbol:
        found = self.symbols.get(name)
        if found is None:
            bind = next((e.binding for e in self.m.externs if e.name == name), GLOBAL)
            found = self._define(OutSymbol(name, bind, elf.STT_FUNC))
        return found

    # -- sections --------------------------------------------------------------------------------------------------

    def _data_type(self, exec_type: int, rel_type: int) -> int:
        return rel_type if self.m.relocatable else exec_type

    def _named(self, name: str, type_: int, flags: int, align: int, symbol: bool = True) -> OutSection:
        """A new section; its name and, if asked for, its section symbol are entered."""
        s = OutSection(name, type_, flags, align)
        self.b.section_names.add(name)
        if symbol:
            self.symbols[name] = self.b.section_symbol(s)
        else:
            self.b.symbol_names.add(name)
        return s

    def _constant_bank(self, number: int, name: str, align: int, per_kernel: bool) -> OutSection:
        type_ = self._data_type(elf.SHT_PROGBITS, elf.SHT_CUDA_CONSTANT0 + number)
        flags = elf.SHF_ALLOC | (elf.SHF_INFO_LINK if per_kernel else 0)
        return OutSection(name, type_, flags, align)

    # -- variables -------------------------------------------------------------------------------------------------

    def _variable_section(self, v: Variable) -> OutSection:
        rw = elf.SHF_WRITE | elf.SHF_ALLOC
        if v.space == "const":
            if self.bank3 is None:
                self.bank3 = self._shared_bank(3, 1)
            return self.bank3
        if v.space == "shared":
            if self.debug_shared is None:
                self.debug_shared = self._named(".nv_debug.shared", elf.SHT_CUDA_SHARED, rw, 1)
                self.nobits.append(self.debug_shared)
            return self.debug_shared
        if v.data is not None:
            if self.global_init is None:
                type_ = self._data_type(elf.SHT_PROGBITS, elf.SHT_CUDA_GLOBAL_INIT)
                self.global_init = self._named(".nv.global.init", type_, rw, 1)
            return self.global_init
        if self.global_ is None:
            type_ = self._data_type(elf.SHT_NOBITS, elf.SHT_CUDA_GLOBAL)
            self.global_ = self._named(".nv.global", type_, rw, 1)
            self.nobits.append(self.global_)
        return self.global_

    def _place_variables(self) -> None:
        own = [v for v in self.m.variables if not (v.extern or (v.common and self.m.relocatable))]
        place_by_alignment([v for v in own if v.space == "global" and v.data is not None])
        place_by_alignment([v for v in own if v.space == "global" and v.data is None])
        consts = [v for v in own if v.space == "const"]
        if self.m.relocatable:
            place_by_alignment(consts)
        else:
            place_in_order(consts)

    def _add_variables(self) -> None:
        self._place_variables()
        relocatable = self.m.relocatable
        if not relocatable:
            self._complete_bank4()
        slots = {s.symbol for s in self.m.bank4}
        for v in creation_order(self.m.variables):
            if v.space in _REFERENCE_TYPES:
                self._define(OutSymbol(v.name, v.binding, _REFERENCE_TYPES[v.space]))
                continue
            if v.space not in ("global", "const", "shared"):
                raise CubinError(f"variable {v.name} has the unknown space {v.space!r}")
            common = v.common and relocatable
            section = None if v.extern or common else self._variable_section(v)
            type_ = elf.STT_CUDA_OBJECT if relocatable else elf.STT_OBJECT
            other = 0x04 if v.managed else 0
            if relocatable:
                other |= {"global": 0x20, "const": 0x80, "shared": 0x40}[v.space]
            if v.space == "shared" and section is not None:
                value = v.align
                section.align = max(section.align, v.align)
                section.size = _overlay_size([w for w in self.m.variables if w.space == "shared" and not w.extern])
            else:
                value = max(v.offset, 0)
                if section is not None:
                    _store(section, v)
            symbol = self._define(OutSymbol(v.name, v.binding, type_, other, section, value, v.size))
            if common:
                symbol.common, symbol.value = True, v.align
            if v.name in slots:
                self._need_bank4()

    def _complete_bank4(self) -> None:
        """Every global variable has a slot in the address table, used or not."""
        known = {s.symbol for s in self.m.bank4}
        end = max((s.offset + 8 for s in self.m.bank4), default=0)
        for v in creation_order(self.m.variables):
            if v.space == "global" and v.name not in known:
                self.m.bank4.append(BankSlot(end, v.name))
                end += 8

    def _need_bank4(self) -> None:
        if self.bank4 is None:
            self.bank4 = self._shared_bank(4, 8)

    def _shared_bank(self, number: int, align: int) -> OutSection:
        """Constant bank 3 or 4, which all kernels share."""
        name = f".nv.constant{number}"
        section = self._constant_bank(number, name, align, False)
        reserve = len(f".nv.constant.{_NAMES90[number]}") if self.facts.gen90 else 0
        self.b.section_names.add(name, reserve)
        self.b.symbol_names.add(name, reserve)
        self.symbols[name] = self.b.section_symbol(section)
        return section

    # -- code ------------------------------------------------------------------------------------------------------

    def _add_code(self, k: KernelCode, first: bool) -> None:
        name = k.name
        text = OutSection(f".text.{name}", elf.SHT_PROGBITS, elf.SHF_ALLOC | elf.SHF_EXECINSTR, 128)
        text.data = k.code if k.padded else pad_code(k.code, self.facts)
        text.link = self.symtab
        other = elf.STO_ENTRY if k.is_entry else 0
        symbol = OutSymbol(name, k.binding, elf.STT_FUNC, other, text, 0, len(text.data) if k.size < 0 else k.size)
        if k.binding != GLOBAL:
            self._define(symbol)
        self.b.section_names.add(text.name)
        self.symbols[text.name] = self.b.section_symbol(text)
        info = OutSection(f".nv.info.{name}", elf.SHT_CUDA_INFO, elf.SHF_INFO_LINK, 4)
        info.link, info.info_section = self.symtab, text
        text.info_symbol = symbol
        if not self.facts.gen90:
            text.info_high = k.num_regs << 24
        if k.is_entry or k.binding != LOCAL:
            self.b.names(info.name)
        if k.binding == GLOBAL:
            self._define(symbol)
        code = _Code(k, symbol, text, info)
        self.codes.append(code)
        if k.is_entry:
            self._add_shared(code)
        if first and self.facts.gen90:
            self._add_reserved()
        if first and self.m.relocatable:
            self._add_variables()
        self._add_externs(k)
        if first and not self.m.relocatable:
            self._add_variables()
        if not k.is_entry and k.binding == LOCAL:
            self.b.names(info.name)
        shared = {v.name for v in self.m.variables if v.space == "shared"}
        uses_shared = bool(k.shared or k.shared_dynamic or k.shared_size > 0 or k.reserved_smem_used)
        uses_shared = uses_shared or any(r.symbol in shared for r in k.relocs)
        if self.facts.gen90 and uses_shared and not self.cap_named:
            self.cap_named = True
            self.b.local_symbols.append(OutSymbol("", 0, 0, 1))
            self.b.symbol_names.blank(_RESERVED_BEGIN if k.reserved_smem_used else _RESERVED_CAP)
        if self.m.relocatable and code.shared is not None:
            for v in k.shared:
                self._define(OutSymbol(v.name, LOCAL, elf.STT_CUDA_OBJECT, 0x40, code.shared, v.align, v.size))
        for sub in k.subs:
            self._define(OutSymbol(sub.name, sub.binding, elf.STT_FUNC, 0, text, sub.offset, sub.size))
        for p in k.params:
            if p.symbol and p.symbol not in self.symbols:
                self._define(OutSymbol(p.symbol, elf.STB_LOCAL, _REFERENCE_TYPES[p.space], 0, text))
        self._add_bank2(code)
        self._add_text_relocs(code)
        if k.is_entry:
            self._add_bank0(code)

    def _add_shared(self, code: _Code) -> None:
        k = code.kernel
        name = f".nv.shared.{k.name}"
        reserved = self.target.smem_reserved
        size = k.shared_size
        if size < 0:
            size = place_in_order(k.shared)
        align = k.shared_align or max((v.align for v in [*k.shared, *k.shared_dynamic]), default=1)
        present = bool(k.shared or k.shared_dynamic or k.shared_size > 0)
        self.b.section_names.add(name)
        if not present or (self.m.relocatable and not k.shared):
            self.b.symbol_names.add(name)
            return
        type_ = self._data_type(elf.SHT_NOBITS, elf.SHT_CUDA_SHARED)
        section = OutSection(name, type_, elf.SHF_WRITE | elf.SHF_ALLOC | elf.SHF_INFO_LINK, align)
        section.info_section = code.text
        dynamic_align = max((v.align for v in k.shared_dynamic), default=1)
        section.size = align_up(size, dynamic_align) + reserved
        if self.m.relocatable:
            section.size = _overlay_size(k.shared)
        if size > 0:
            self.symbols[name] = self.b.section_symbol(section)
        else:
            self.b.symbol_names.add(name)
        code.shared = section
        self.nobits.append(section)

    def _add_reserved(self) -> None:
        """The reserved part of shared memory (sm_90 on)."""
        if self.m.relocatable:
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
                self._define(OutSymbol(f"__{uf}", elf.STB_WEAK, elf.STT_OBJECT, 0, None, 0, 8))
        self._define(OutSymbol(".nv.reservedSmem.offset0", elf.STB_WEAK, elf.STT_OBJECT, 0, None, 0, 4))
        if self.m.relocatable:
            return
        name = ".nv.shared.reserved.0"
        self.reserved = OutSection(name, elf.SHT_NOBITS, elf.SHF_WRITE | elf.SHF_ALLOC, 1)
        self.b.names(name)
        self.nobits.append(self.reserved)
        alias = "__nv_reservedSMEM_offset_0_alias"
        self._define(OutSymbol(alias, elf.STB_WEAK, elf.STT_NOTYPE, 0xA0, self.reserved))

    def _add_bank2(self, code: _Code) -> None:
        k = code.kernel
        if not k.const2:
            return
        name = f".nv.constant2.{k.name}"
        section = self._constant_bank(2, name, k.const2_align, True)
        section.data = k.const2
        section.info_section = code.text
        code.bank2 = section
        reserve = len(".nv.constant.optimizer.") + len(k.name) if self.facts.gen90 else 0
        self.b.section_names.add(name, reserve)
        self.b.symbol_names.add(name, reserve)
        self.symbols[name] = self.b.section_symbol(section)
        if self.m.relocatable:
            for offset, size in k.const2_parts:
                part = f"{k.name}.const_opt.{offset}.{offset + size}"
                self._define(OutSymbol(part, elf.STB_LOCAL, elf.STT_CUDA_OBJECT, 0x81, section, offset, size))

    def _add_externs(self, k: KernelCode) -> None:
        """Undefined functions a kernel uses, and the address table if they are in it."""
        used = {*(r.symbol for r in k.relocs), *k.externs}
        slots = {s.symbol for s in self.m.bank4}
        for e in self.m.externs:
            if e.name in used:
                self._extern(e.name)
                if e.name in slots:
                    self._need_bank4()

    def _add_text_relocs(self, code: _Code) -> None:
        k = code.kernel
        gen90 = self.facts.gen90
        if k.relocs and not self.m.relocatable:
            self._resolve(code)
        if not (k.relocs or k.relocs_applied or k.externs):
            pass
        elif self.m.relocatable:
            for r in k.relocs:
                self.b.names(f".rela.text.{k.name}" if r.addend else f".rel.text.{k.name}")
            if gen90:
                self.b.names(f".rela.text.{k.name}")
        elif gen90:
            self.b.names(f".rel.text.{k.name}", f".rela.text.{k.name}")
        else:
            self.b.names(f".rel.text.{k.name}")
        if gen90 and (k.const2_relocs or k.const2_resolved):
            reserve = len(".rela.nv.constant.optimizer.") + len(k.name)
            self.b.section_names.add(f".rela.nv.constant2.{k.name}", reserve)
            self.b.symbol_names.add(f".rela.nv.constant.optimizer.{k.name}")

    def _bind_text_relocs(self) -> None:
        """Relocations in code find their symbols once every function has one."""
        for code in self.codes:
            where = f"code of {code.kernel.name}"
            code.relocs = [
                OutReloc(r.offset, r.type, self._symbol(r.symbol, where), r.addend) for r in code.kernel.relocs
            ]

    def _resolve(self, code: _Code) -> None:
        """Apply an executable module's relocations in code."""
        k = code.kernel
        values: dict[str, int] = {k.name: 0, code.text.name: 0}
        for sub in k.subs:
            values[sub.name] = sub.offset
        for v in k.shared:
            values[v.name] = self.target.smem_reserved + v.offset
        static = (k.shared_size if k.shared_size >= 0 else place_in_order(k.shared)) + self.target.smem_reserved
        for v in k.shared_dynamic:
            values[v.name] = align_up(static, max(d.align for d in k.shared_dynamic))
        for v in self.m.variables:
            if v.space == "const":
                values[v.name] = v.offset | 3 << 16
        data = bytearray(code.text.data)
        for r in k.relocs:
            if r.symbol not in values:
                raise CubinError(f"code of {k.name}: the address of {r.symbol} is not known before loading")
            apply(data, r.offset, r.type, values[r.symbol] + r.addend)
        code.text.data = bytes(data)

    def _add_bank0(self, code: _Code) -> None:
        k = code.kernel
        name = f".nv.constant0.{k.name}"
        section = self._constant_bank(0, name, 4, True)
        slots = max((r.offset + 4 for r in k.texture_relocs), default=0)
        section.data = bytes(max(self._param_base(k) + k.param_bytes, slots))
        section.info_section = code.text
        code.bank0 = section
        if self.facts.gen90 and k.texture_relocs and not self.m.relocatable:
            code.bank0_early = True
            reserve = len(".nv.constant.entry_image_header_indices.") + len(k.name)
            if not any(p.symbol for p in k.params):
                self.b.symbol_names.add(f".rela.nv.constant.entry_image_header_indices.{k.name}")
            for table in (self.b.section_names, self.b.symbol_names):
                table.add(name, reserve)
            code.bank0_symbol = self.b.section_symbol(section)
            self.b.section_names.add(f".rela{name}", reserve + 5)
            self.b.symbol_names.add(f".rela.nv.constant.entry_image_header_indices.{k.name}")
            self.symbols[name] = code.bank0_symbol
            return
        if self.facts.gen90:
            code.bank0_symbol = OutSymbol(name, elf.STB_LOCAL, elf.STT_SECTION, 0, section)
            self.symbols[name] = code.bank0_symbol
            return
        self.b.section_names.add(name)
        if not self.m.relocatable:
            self.b.names(f".rel.nv.constant0.{k.name}")
        code.bank0_symbol = self.b.section_symbol(section)
        self.symbols[name] = code.bank0_symbol
        if self.m.relocatable:
            base = self._param_base(k)
            name, value, size = ("_param", base, k.param_bytes) if k.param_bytes else ("_SREG", 0, base)
            self.b.add_symbol(OutSymbol(name, elf.STB_LOCAL, elf.STT_CUDA_OBJECT, 0x81, section, value, size))

    def _param_base(self, k: KernelCode) -> int:
        return self.target.param_base if k.param_bytes <= 4352 else self.target.param_base_large

    # -- the rest, and putting it together ---------------------------------------------------------------------------

    def _relocations(self, section: OutSection, relocs: list[OutReloc], keep_empty: bool = False) -> None:
        """The REL and RELA sections of a section; entries stand in reverse order of creation."""
        if not relocs and not keep_empty:
            return
        kinds: list[bool] = []
        if self.facts.gen90:
            kinds = [True]
        else:
            for r in relocs:
                if r.rela not in kinds:
                    kinds.append(r.rela)
        for rela in kinds:
            name = f".rela{section.name}" if rela else f".rel{section.name}"
            type_ = elf.SHT_RELA if rela else elf.SHT_REL
            out = OutSection(name, type_, elf.SHF_INFO_LINK, 8, elf.RELA_SIZE if rela else elf.REL_SIZE)
            out.link, out.info_section = self.symtab, section
            self.pending.append((out, [r for r in relocs if self.facts.gen90 or r.rela == rela]))

    def _frames(self, section: OutSection) -> list[OutReloc]:
        writer = FrameWriter()
        out: list[OutReloc] = []
        for code in self.codes:
            k = code.kernel
            size = min([sub.offset for sub in k.subs if not sub.alias], default=len(code.text.data))
            done = len(writer.relocs)
            parts: list[FrameReloc] = []
            writer.add(_frame(k.frame, k.frame_size), 0, size, k.is_entry, self.m.relocatable)
            for sub in (s for s in k.subs if not s.alias):
                writer.add(_frame(sub.frame, sub.frame_size), sub.offset, sub.size, False, self.m.relocatable)
            parts = writer.relocs[done:]
            for r in [p for p in parts if p.in_cie] + [p for p in parts if not p.in_cie]:
                symbol = self.symbols[".debug_frame"] if r.kind == "cie" else code.symbol
                type_ = R_UNUSED_CLEAR64 if r.kind == "size" else R_64
                addend = r.addend if r.kind == "cie" or self.facts.gen90 else 0
                out.append(OutReloc(r.offset, type_, symbol, addend))
        section.data = bytes(writer.data)
        return out

    def _module_records(self) -> list[Record]:
        """``.nv.info``: register counts and frames from last to first, then stack sizes."""
        reverse: list[Record] = []
        flags: list[Record] = []
        stacks: list[tuple[int, Record]] = []
        for code in self.codes:
            k = code.kernel
            index = code.symbol.index
            frame = sval(nvinfo.FRAME_SIZE, [index, k.frame_size])
            need = sval(nvinfo.MIN_STACK_SIZE, [index, k.min_stack_size])
            most = sval(nvinfo.MAX_STACK_SIZE, [index, k.max_stack_size])
            reverse.append(frame)
            if self.m.relocatable:
                reverse.append(most)
            elif self.m.uses_texture_query and k.is_entry:
                reverse += [need, most]
            elif k.is_entry:
                stacks.append((index, need))
            for sub in (s for s in k.subs if not s.alias):
                reverse.append(sval(nvinfo.FRAME_SIZE, [self.symbols[sub.name].index, sub.frame_size]))
            reverse.append(sval(nvinfo.REGCOUNT, [index, k.num_regs]))
        if not any(c.kernel.is_entry for c in self.codes):
            flags.append(nvinfo.hval(nvinfo.MERCURY_ISA_VERSION, self.facts.mercury_isa))
        for name, packed in self.m.sampler_inits:
            flags.append(sval(nvinfo.SAMPLER_INIT, [self._symbol(name, ".nv.info").index, packed]))
        if self.m.texmode_independent:
            flags.append(nvinfo.nval(nvinfo.TEXMODE_INDEPENDENT))
        if self.m.debug or self.m.errbar_at_exit:
            flags.append(nvinfo.nval(nvinfo.GEN_ERRBAR_AT_EXIT))
        return reverse[::-1] + flags + [r for _, r in sorted(stacks, key=lambda pair: pair[0])]

    def run(self) -> bytes:
        """The file's bytes."""
        m, b, gen90 = self.m, self.b, self.facts.gen90
        shstrtab = OutSection(".shstrtab", elf.SHT_STRTAB)
        strtab = OutSection(".strtab", elf.SHT_STRTAB)
        if gen90:
            names = [k.name for k in m.kernels if k.is_entry]
            strtab.gap_before = _NAME_GAP + sum(_NAME_GAP_KERNEL + len(n) for n in names)
        self.symtab.link = strtab
        for _, text in [*m.address_taken, *m.indirect_calls, *m.prototypes][::-1]:
            b.symbol_names.add(text)
        b.names(".shstrtab", ".strtab", ".symtab", ".symtab_shndx")
        note1 = self._named(".note.nv.tkinfo", elf.SHT_NOTE, elf.SHF_NOTE_TKINFO, 4)
        note1.data = tkinfo(m)
        note2 = self._named(".note.nv.cuinfo", elf.SHT_NOTE, elf.SHF_NOTE_CUINFO, 4)
        note2.data = cuinfo(m)
        note2.link = note1
        info = self._named(".nv.info", elf.SHT_CUDA_INFO, 0, 4, symbol=False)
        info.link = self.symtab
        head = [note1, note2, info]
        if gen90:
            compat_section = self._named(".nv.compat", elf.SHT_CUDA_COMPAT, 0, 4, symbol=False)
            compat_section.data = compat(m, self.facts)
            note2.info_section = compat_section
            note2.flags |= elf.SHF_INFO_LINK
            head.append(compat_section)
        entries = any(k.is_entry for k in m.kernels)
        if not entries:
            if gen90:
                self._add_reserved()
            self._add_variables()
        for i, k in enumerate(code_order(m.kernels)):
            self._add_code(k, i == 0 and entries)
        if m.relocatable:
            self._bind_text_relocs()
        frame = self._named(".debug_frame", elf.SHT_PROGBITS, 0, 1, symbol=bool(self.codes))
        debug = self._debug_sections()
        for s in m.bank4:
            self._need_bank4()
            if s.symbol in {e.name for e in m.externs}:
                self._extern(s.symbol)
        self._late_names()
        graph: list[OutSection] = []
        if not m.uses_texture_query:
            graph.append(self._named(".nv.callgraph", elf.SHT_CUDA_CALLGRAPH, 0, 4))
            graph[0].entsize = 8
            graph[0].link = self.symtab
        proto = OutSection(".nv.prototype", elf.SHT_CUDA_PROTOTYPE, 0, 4, 8)
        proto.link = self.symtab
        b.section_names.add(proto.name)
        if m.prototypes:
            b.section_symbol(proto)
            graph.append(proto)
        else:
            b.symbol_names.add(proto.name)
        if not gen90 and not m.relocatable:
            action = self._named(".nv.rel.action", elf.SHT_CUDA_REL_ACTION, 0, 8)
            action.entsize, action.data = 8, _REL_ACTION
            graph.append(action)
        if gen90:
            for code in self.codes:
                if code.bank0 is not None and code.bank0_symbol is not None and not code.bank0_early:
                    b.section_names.add(code.bank0.name)
                    b.tail_symbols.append(code.bank0_symbol)
        self._all_relocations(frame)
        sections = self._order([shstrtab, strtab, self.symtab, frame, *debug, *head], graph)
        first_global = b.number(sections)
        self._fill(info, graph, proto)
        for out, relocs in self.pending:
            out.data = _reloc_bytes(relocs, out.type == elf.SHT_RELA)
        self.symtab.data = b.symtab_bytes()
        strtab.data = bytes(b.symbol_names.data)
        shstrtab.data = bytes(b.section_names.data)
        flags = note2.index << 24 | self.facts.sm << 8 | elf.KIND_SASS
        segments = [] if m.relocatable else self._segments(sections)
        data = bytearray(
            b.serialise(elf.ET_REL if m.relocatable else elf.ET_EXEC, flags, sections, segments, first_global)
        )
        if m.relocatable and gen90:
            data[_PHENTSIZE : _PHENTSIZE + 2] = bytes(2)
        return bytes(data)

    def _debug_sections(self) -> list[OutSection]:
        """Line information; of the debug data of the PTX text only the names of inlined functions."""
        m = self.m
        if not m.lineinfo:
            return []
        relocs: list[tuple[OutSection, list[OutReloc]]] = []
        source = self._line_section(".debug_line", relocs, False)
        out = [source]
        for d in m.sections:
            if d.name == ".debug_str":
                extra = self._named(d.name, elf.SHT_PROGBITS, 0, 1)
                extra.data = d.data
                out.append(extra)
        out.append(self._line_section(".nv_debug_line_sass", relocs, True))
        text = self._named(".nv_debug_ptx_txt", elf.SHT_PROGBITS, 0, 1)
        text.data = ptx_text_section(m.ptx_text)
        out.append(text)
        self.line_relocs = relocs
        return out

    def _line_section(self, name: str, relocs: list[tuple[OutSection, list[OutReloc]]], sass: bool) -> OutSection:
        files = sorted(self.m.files, key=lambda f: f.index)
        inlining = any(r.inlined_at is not None for code in self.codes for r in code.kernel.lines)
        program = LineProgram([] if sass else files, inlining and not sass)
        section = self._named(name, elf.SHT_PROGBITS, 0, 1)
        owners: list[OutSymbol] = []
        for code in self.codes:
            size = len(code.text.data)
            if sass:
                rows = sass_rows(code.kernel.lines)
                sites: list[tuple[int, int]] = []
            else:
                rows, sites = source_rows(code.kernel.lines, files)
            if rows:
                program.sequence(rows, sites, size)
                owners.append(code.symbol)
        section.data = program.data()
        if owners:
            self.b.names(f".rel{name}")
            if self.facts.gen90:
                self.b.names(f".rela{name}")
            entries = [OutReloc(at, R_64, owner) for at, owner in zip(program.addresses, owners, strict=True)]
            relocs.append((section, entries))
        return section

    def _late_names(self) -> None:
        """Names of relocation sections outside code."""
        b = self.b
        for code in self.codes:
            if code.bank0_early:
                b.names(f".rel.nv.constant.entry_image_header_indices.{code.kernel.name}")
        if self.bank4 is not None:
            self._late_name(4, ".nv.constant4", [False])
        for space, number, name in (("const", 3, ".nv.constant3"), ("global", 0, ".nv.global.init")):
            own = [v for v in self.m.variables if v.space == space]
            kinds = [bool(r.addend) for v in own for r in v.relocs]
            if kinds or any(v.relocs_applied for v in own):
                self._late_name(number, name, kinds or [False])
        if self.codes:
            b.names(".rel.debug_frame", ".rela.debug_frame")

    def _late_name(self, number: int, name: str, kinds: list[bool]) -> None:
        """Names of one section's relocation sections; ``kinds``: for each entry, whether it has an addend."""
        long = f".nv.constant.{_NAMES90[number]}" if number and self.facts.gen90 else name
        for rela in [*kinds, True] if self.facts.gen90 else kinds:
            if rela and long != name:
                self.b.section_names.add(f".rela{name}", len(f".rela{long}"))
                self.b.symbol_names.add(f".rela{long}")
            else:
                self.b.names(f".rela{long}" if rela else f".rel{long}")

    def _all_relocations(self, frame: OutSection) -> None:
        m = self.m
        for code in self.codes:
            self._relocations(
                code.text, code.relocs, self.facts.gen90 and (bool(code.kernel.relocs) or code.kernel.relocs_applied)
            )
            if code.bank2 is not None and (code.kernel.const2_relocs or code.kernel.const2_resolved):
                data = bytearray(code.bank2.data)
                for r in code.kernel.const2_relocs:
                    data[r.offset : r.offset + 8] = r.addend.to_bytes(8, "little")
                code.bank2.data = bytes(data)
                self._relocations(code.bank2, [], self.facts.gen90)
            if code.bank0 is not None and code.kernel.texture_relocs:
                where = f"constant bank 0 of {code.kernel.name}"
                out = [OutReloc(r.offset, r.type, self._symbol(r.symbol, where), 0) for r in code.kernel.texture_relocs]
                self._relocations(code.bank0, out)
        if self.bank4 is not None:
            self.bank4.data = bytes(max(s.offset + 8 for s in m.bank4))
            slots = [OutReloc(s.offset, R_64, self._symbol(s.symbol, ".nv.constant4"), s.addend) for s in m.bank4]
            self._relocations(self.bank4, slots)
        for section, space in ((self.bank3, "const"), (self.global_init, "global")):
            if section is None:
                continue
            out = []
            for v in m.variables:
                if v.space == space:
                    for r in v.relocs:
                        target_symbol = self._symbol(r.symbol, f"variable {v.name}")
                        out.append(OutReloc(v.offset + r.offset, r.type, target_symbol, r.addend))
            applied = any(v.relocs_applied for v in m.variables if v.space == space)
            self._relocations(section, out, applied and self.facts.gen90)
        for section, entries in self.line_relocs:
            self._relocations(section, entries)
        self._relocations(frame, self._frames(frame))

    def _order(self, head: list[OutSection], graph: list[OutSection]) -> list[OutSection]:
        """All sections as they stand in the file."""
        out = [OutSection("", elf.SHT_NULL, 0, 0), *head]
        out += [c.info for c in self.codes] + graph + [p[0] for p in self.pending]
        out += [s for s in (self.bank4, self.bank3) if s is not None]
        out += [c.bank2 for c in self.codes if c.bank2 is not None]
        early = [c.bank0 for c in self.codes if c.bank0 is not None and (c.bank0_early or not self.facts.gen90)]
        out += early
        out += [c.text for c in self.codes]
        if self.global_init is not None:
            out.append(self.global_init)
        out += self.nobits
        return out + [c.bank0 for c in self.codes if c.bank0 is not None and c.bank0 not in early]

    def _fill(self, info: OutSection, graph: list[OutSection], proto: OutSection) -> None:
        """Contents that need symbol indices."""
        info.data = nvinfo.encode(self._module_records())
        index = {name: s.index for name, s in self.symbols.items()}
        for code in self.codes:
            k = code.kernel
            bank0 = code.bank0_symbol.index if code.bank0_symbol else 0
            code.info.data = nvinfo.encode(kernel_records(k, self.facts, index, bank0, self._param_base(k)))
        for s in graph:
            if s.type == elf.SHT_CUDA_CALLGRAPH:
                s.data = callgraph(self.m, index, self.b.symbol_names.offsets)
        entries = [(self._symbol(n, ".nv.prototype").index, self.b.symbol_names.add(t)) for n, t in self.m.prototypes]
        proto.data = b"".join(pack("<II", *entry) for entry in sorted(entries))

    def _segments(self, sections: list[OutSection]) -> list[OutSegment]:
        """Program headers: runs of allocated sections with the same rights."""
        gen90 = self.facts.gen90
        runs: list[tuple[int, list[OutSection]]] = []
        for s in sections:
            if not s.flags & elf.SHF_ALLOC:
                continue
            if s.flags & elf.SHF_WRITE:
                rights = 6
            elif s.flags & elf.SHF_EXECINSTR or not gen90:
                rights = 5
            else:
                rights = 4
            if runs and runs[-1][0] == rights:
                runs[-1][1].append(s)
            else:
                runs.append((rights, [s]))
        own = 4 if gen90 else 5
        loads = [OutSegment(elf.PT_LOAD, rights, members) for rights, members in runs]
        first = OutSegment(elf.PT_PHDR, own, [])
        table = OutSegment(elf.PT_LOAD, own, [])
        return [first, table, *loads] if gen90 else [first, *loads, table]


def _frame(frame: FrameInfo, frame_size: int) -> FrameInfo:
    """The frame information, or the least that can be said: the frame's size from the start."""
    if frame.rows:
        return frame
    out = FrameInfo()
    out.return_reg = frame.return_reg
    out.same = frame.same
    if frame_size:
        out.rows.append(FrameRow(16, "cfa", 0, frame_size))
    return out


def _reloc_bytes(relocs: list[OutReloc], rela: bool) -> bytes:
    out = bytearray()
    for r in reversed(relocs):
        out += pack("<QQ", r.offset, r.symbol.index << 32 | r.type)
        if rela:
            out += pack("<q", r.addend)
    return bytes(out)


def write(module: CubinModule) -> bytes:
    """The cubin of a module; CubinError if the module contradicts itself or its target is not known.

    Offsets of variables that were -1 are filled in.
    """
    return _Writer(module).run()


def _overlay_size(variables: list[Variable]) -> int:
    """Size of a shared section of a relocatable object, whose symbols only say their alignment (measured, not understood)."""
    total = sum(v.size for v in variables)
    align = max((v.align for v in variables), default=1)
    return total + align if total <= align else total


def _store(section: OutSection, v: Variable) -> None:
    """Put a variable's bytes into its section."""
    section.align = max(section.align, v.align)
    end = v.offset + v.size
    if v.data is None and v.space == "global":
        section.size = max(section.size, end)
        return
    data = bytearray(section.data)
    if len(data) < end:
        data += bytes(end - len(data))
    raw = v.data or b""
    if len(raw) > v.size:
        raise CubinError(f"variable {v.name} of {v.size} bytes has {len(raw)} bytes of initial value")
    data[v.offset : v.offset + len(raw)] = raw
    section.data = bytes(data)
