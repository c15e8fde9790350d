"""The state of one run of the writer: symbols and sections by name, and code under construction."""

from typing import Final, final

from orias.cubin import elf
from orias.cubin.cubin_error import CubinError
from orias.cubin.elf_values import CubinFacts
from orias.cubin.model import GLOBAL, LOCAL, CubinModule, KernelCode
from orias.cubin.section_builder import Builder, OutReloc, OutSection, OutSymbol
from orias.cubin.unified import Entries
from orias.target.profile import Target, target

REFERENCE_TYPES: Final = {"texref": elf.STT_TEXTURE, "samplerref": elf.STT_SAMPLER, "surfref": elf.STT_SURFACE}
INTERNAL: Final = 0x01
"""Visibility of symbols that only resolved relocations are against."""
NAMES90: Final = {3: "user", 4: "pic"}
"""Suffixes of the names (``.nv.constant.user``) that constant banks 3 and 4 have at creation in sm_90 modules."""


def slot_symbol(name: str) -> str:
    """The symbol of the word of the address table (bank 4) that has a symbol's address, with resolved relocations."""
    return f"$ADDRESS${name}"


@final
class Code:
    """The sections and symbols of one function to write."""

    __slots__ = (
        "bank0",
        "bank0_early",
        "bank0_symbol",
        "bank2",
        "info",
        "inner",
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
        self.inner: dict[str, OutSymbol] = {}
        """Symbols of its shared variables that other kernels may have too, with resolved relocations."""


@final
class Work:
    """One run of the writer; attributes named after sections hold them once they exist."""

    __slots__ = (
        "b",
        "bank3",
        "bank4",
        "always_rela",
        "codes",
        "data",
        "debug_shared",
        "erased",
        "facts",
        "global_",
        "global_init",
        "host",
        "infos",
        "line_relocs",
        "line_sections",
        "local_functions",
        "m",
        "nobits",
        "pending",
        "reserved",
        "symbols",
        "symtab",
        "target",
        "udt",
        "udt_entries",
        "uft_entries",
    )

    def __init__(self, module: CubinModule) -> None:
        self.m: CubinModule = module
        try:
            self.target: Target = target(module.target)
        except KeyError:
            raise CubinError(f"no cubin can be written for the target {module.target!r}") from None
        self.facts: CubinFacts = CubinFacts(self.target)
        self.local_functions: dict[str, int] = {k.name: n for n, k in enumerate(module.kernels) if k.binding == LOCAL}
        """Numbers of the functions that only this file sees, by name."""
        self.always_rela: bool = module.force_rela or self.facts.addends_in_relocations
        """Relocation sections have addends, also where none is needed."""
        self.b: Builder = Builder()
        self.symtab: OutSection = OutSection(".symtab", elf.SHT_SYMTAB, 0, 8, elf.SYM_SIZE)
        self.symbols: dict[str, OutSymbol] = {}
        self.codes: list[Code] = []
        self.infos: list[OutSection] = []
        """The ``.nv.info`` sections of functions, and the records of what is unified, in the order of the file."""
        self.data: list[OutSection] = []
        """Sections with the bytes of global variables, in the order of the file."""
        self.nobits: list[OutSection] = []
        self.line_relocs: list[tuple[OutSection, list[OutReloc]]] = []
        self.line_sections: list[OutSection] = []
        self.pending: list[tuple[OutSection, list[OutReloc]]] = []
        self.global_: OutSection | None = None
        self.host: OutSection | None = None
        self.global_init: OutSection | None = None
        self.bank3: OutSection | None = None
        self.bank4: OutSection | None = None
        self.debug_shared: OutSection | None = None
        self.reserved: OutSection | None = None
        self.udt: OutSection | None = None
        self.udt_entries: Entries | None = None
        self.uft_entries: Entries | None = None
        self.erased: set[str] = set()
        """Names of reserved shared memory that were written as erased."""

    def define(self, symbol: OutSymbol) -> OutSymbol:
        """Enter a symbol that can be found by name."""
        return self.define_as(symbol.name, symbol)

    def define_as(self, name: str, symbol: OutSymbol) -> OutSymbol:
        """Enter a symbol that can be found by a name, which need not be its text."""
        self.b.add_symbol(symbol)
        self.symbols[name] = symbol
        return symbol

    def define_once(self, symbol: OutSymbol) -> None:
        """Enter a symbol unless it, or one of its name, is entered already."""
        if symbol.name not in self.symbols:
            self.define(symbol)

    def symbol(self, name: str, where: str) -> OutSymbol:
        """The symbol of a name (empty: the null symbol); CubinError, which names ``where`` it is used, if there is none."""
        if not name:
            return self.b.local_symbols[0]
        found = self.symbols.get(name)
        if found is None and any(e.name == name for e in self.m.externs):
            # A symbol that only data refers to is not entered yet.
            return self.extern(name)
        if found is None:
            raise CubinError(f"{where} refers to {name}, which is no symbol of the module")
        return found

    def extern(self, name: str) -> OutSymbol:
        """The symbol of an undefined function, entered if it is new."""
        found = self.symbols.get(name)
        if found is None:
            bind = next((e.binding for e in self.m.externs if e.name == name), GLOBAL)
            found = self.define(OutSymbol(name, bind, elf.STT_FUNC))
        return found

    def data_type(self, exec_type: int, rel_type: int) -> int:
        """The section type for this kind of file."""
        return rel_type if self.m.linked else exec_type

    def named(self, name: str, type_: int, flags: int, align: int, symbol: bool = True) -> OutSection:
        """A new section; enters its name and, with `symbol`, its section symbol."""
        s = OutSection(name, type_, flags, align)
        self.b.section_names.add(name)
        if symbol:
            self.symbols[name] = self.b.section_symbol(s)
        else:
            self.b.symbol_names.add(name)
        return s

    def renamed(self, section: OutSection, created: str) -> OutSymbol:
        """The symbol of a section that has the name ``created`` at first; the section table keeps its length.

        The string table has both names, or also only the last in the place of the first.
        """
        self.b.section_names.add(section.name, len(created))
        if self.facts.mercury_layout and created != section.name:
            self.b.symbol_names.add(created)
            symbol = self.b.late_symbol(section)
        else:
            self.b.symbol_names.add(section.name, len(created))
            symbol = self.b.section_symbol(section)
        self.symbols[section.name] = symbol
        return symbol

    def entries(self, name: str, type_: int) -> Entries:
        """A new section with the records of what is unified."""
        section = self.named(name, type_, 0, 8)
        section.link = self.symtab
        self.infos.append(section)
        return Entries(section)

    def constant_bank(self, number: int, name: str, align: int, per_kernel: bool) -> OutSection:
        """A section for a constant bank; no name is entered."""
        type_ = self.data_type(elf.SHT_PROGBITS, elf.SHT_CUDA_CONSTANT0 + number)
        flags = elf.SHF_ALLOC | (elf.SHF_INFO_LINK if per_kernel else 0)
        return OutSection(name, type_, flags, align)

    def param_base(self, k: KernelCode) -> int:
        """Byte offset of a kernel's parameters in constant bank 0."""
        return self.target.parameters_at(k.param_bytes)
