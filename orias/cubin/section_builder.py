"""An ELF file under construction: sections, symbols and names in the order of their creation, then the bytes.

Both string tables hold the names in creation order and share no suffixes.  A shorter name can replace a name in place,
with zeros after it; the name of a dropped section stays.  ptxas 13.0.88 writes its tables in this way.
"""

from struct import pack
from typing import Final, final

from orias.cubin import elf
from orias.cubin.cubin_error import CubinError
from orias.cubin.relocs import R_UNUSED_CLEAR64


@final
class StringTable:
    """A string table that grows at the end; equal names are stored once."""

    __slots__ = ("data", "offsets")

    def __init__(self) -> None:
        self.data: bytearray = bytearray(1)
        self.offsets: dict[str, int] = {"": 0}

    def add(self, name: str, reserve: int = 0) -> int:
        """Offset of a name, added if new; zeros fill it up to ``reserve`` bytes before its terminator."""
        at = self.offsets.get(name)
        if at is None:
            at = len(self.data)
            raw = name.encode("utf-8")
            self.data += raw + bytes(max(reserve - len(raw), 0) + 1)
            self.offsets[name] = at
        return at

    def blank(self, count: int) -> None:
        """Append `count` zeros in place of an erased name."""
        self.data += bytes(count)


@final
class OutSection:
    """A section to write; ``size`` is used only for sections without bytes."""

    __slots__ = (
        "align",
        "data",
        "entsize",
        "flags",
        "gap_before",
        "index",
        "info",
        "info_high",
        "info_section",
        "info_symbol",
        "link",
        "name",
        "offset",
        "size",
        "type",
    )

    def __init__(self, name: str, type_: int, flags: int = 0, align: int = 1, entsize: int = 0) -> None:
        self.name: str = name
        self.type: int = type_
        self.flags: int = flags
        self.align: int = align
        self.entsize: int = entsize
        self.data: bytes = b""
        self.size: int = 0
        self.link: OutSection | None = None
        self.info: int = 0
        self.info_high: int = 0
        """Added to the header's info field (register count << 24 in ``.text`` of sm_75 to sm_89)."""
        self.info_section: OutSection | None = None
        self.info_symbol: OutSymbol | None = None
        self.gap_before: int = 0
        """Unused bytes before the section in the file."""
        self.index: int = -1
        self.offset: int = 0


@final
class OutSymbol:
    """A symbol to write; ``index`` is known after :meth:`Builder.number`.  ``common``: it is in no section yet and the
    linker merges it (``value`` is its alignment).
    """

    __slots__ = ("bind", "common", "index", "name", "other", "section", "size", "type", "value")

    def __init__(
        self,
        name: str,
        bind: int,
        type_: int,
        other: int = 0,
        section: OutSection | None = None,
        value: int = 0,
        size: int = 0,
    ) -> None:
        self.name: str = name
        self.bind: int = bind
        self.type: int = type_
        self.other: int = other
        self.section: OutSection | None = section
        self.common: bool = False
        self.value: int = value
        self.size: int = size
        self.index: int = -1


@final
class OutReloc:
    """A relocation to write; ``rela``: it needs a RELA entry, with an addend."""

    __slots__ = ("addend", "offset", "rela", "symbol", "type")

    def __init__(self, offset: int, type_: int, symbol: OutSymbol, addend: int = 0) -> None:
        self.rela: bool = addend != 0 or type_ == R_UNUSED_CLEAR64
        self.offset: int = offset
        self.type: int = type_
        self.symbol: OutSymbol = symbol
        self.addend: int = addend


@final
class OutSegment:
    """A program header over whole sections, or (no sections) over the program headers themselves."""

    __slots__ = ("flags", "sections", "type")

    def __init__(self, type_: int, flags: int, sections: list[OutSection]) -> None:
        self.type: int = type_
        self.flags: int = flags
        self.sections: list[OutSection] = sections


@final
class Builder:
    """Collects the parts of a file; :meth:`serialise` makes the bytes."""

    __slots__ = ("global_symbols", "late_symbols", "local_symbols", "section_names", "symbol_names", "tail_symbols")

    def __init__(self) -> None:
        self.section_names: Final[StringTable] = StringTable()
        self.symbol_names: Final[StringTable] = StringTable()
        self.local_symbols: Final[list[OutSymbol]] = [OutSymbol("", 0, 0)]
        self.global_symbols: Final[list[OutSymbol]] = []
        self.late_symbols: Final[list[OutSymbol]] = []
        """Those of the local symbols whose names come last."""
        self.tail_symbols: Final[list[OutSymbol]] = []
        """Symbols after the global ones (of the sections created last)."""

    def names(self, *names: str) -> None:
        """Enter names into both tables."""
        for n in names:
            self.section_names.add(n)
            self.symbol_names.add(n)

    def add_symbol(self, symbol: OutSymbol) -> OutSymbol:
        """Enter a symbol; global symbols come after all others."""
        if symbol.bind == elf.STB_GLOBAL:
            self.global_symbols.append(symbol)
        else:
            self.local_symbols.append(symbol)
            self.symbol_names.add(symbol.name)
        return symbol

    def section_symbol(self, section: OutSection) -> OutSymbol:
        """Enter a section symbol."""
        return self.add_symbol(OutSymbol(section.name, elf.STB_LOCAL, elf.STT_SECTION, 0, section))

    def late_symbol(self, section: OutSection) -> OutSymbol:
        """Enter a section symbol, whose name comes after those of all other symbols."""
        symbol = OutSymbol(section.name, elf.STB_LOCAL, elf.STT_SECTION, 0, section)
        self.local_symbols.append(symbol)
        self.late_symbols.append(symbol)
        return symbol

    def number(self, sections: list[OutSection]) -> int:
        """Number the sections (index 0 is the null section) and the symbols; returns the number after the last local
        symbol (the symbol table's info field)."""
        for i, s in enumerate(sections):
            s.index = i
        for sym in self.global_symbols:
            self.symbol_names.add(sym.name)
        for sym in [*self.late_symbols, *self.tail_symbols]:
            self.symbol_names.add(sym.name)
        for i, sym in enumerate([*self.local_symbols, *self.global_symbols, *self.tail_symbols]):
            sym.index = i
        if self.tail_symbols:
            return len(self.local_symbols) + len(self.global_symbols) + len(self.tail_symbols)
        return len(self.local_symbols)

    def symtab_bytes(self) -> bytes:
        """The symbol table; call :meth:`number` first."""
        out = bytearray()
        for sym in [*self.local_symbols, *self.global_symbols, *self.tail_symbols]:
            out += pack(
                "<IBBHQQ",
                self.symbol_names.add(sym.name),
                sym.bind << 4 | sym.type,
                sym.other,
                sym.section.index if sym.section else elf.SHN_COMMON if sym.common else 0,
                sym.value,
                sym.size,
            )
        return bytes(out)

    def serialise(
        self, e_type: int, e_flags: int, sections: list[OutSection], segments: list[OutSegment], first_global: int
    ) -> bytes:
        """The file: header, section bodies, section headers, program headers."""
        if len(sections) > 0xFF00:
            raise CubinError(f"{len(sections)} sections are more than an ELF file can hold")
        out = bytearray(elf.EHDR_SIZE)
        for s in sections[1:]:
            out += bytes(s.gap_before)
            if s.align > 1:
                out += bytes(-len(out) % s.align)
            s.offset = len(out)
            if s.type not in elf.NO_BYTES:
                out += s.data
        out += bytes(-len(out) % 8)
        shoff = len(out)
        for s in sections:
            info = s.info
            if s.info_section is not None:
                info = s.info_section.index
            elif s.info_symbol is not None:
                info = s.info_symbol.index
            elif s.type == elf.SHT_SYMTAB:
                info = first_global
            out += pack(
                "<IIQQQQIIQQ",
                self.section_names.add(s.name),
                s.type,
                s.flags,
                0,
                s.offset,
                s.size if s.type in elf.NO_BYTES else len(s.data),
                s.link.index if s.link else 0,
                info | s.info_high,
                s.align,
                s.entsize,
            )
        phoff = len(out) if segments else 0
        table_size = len(segments) * elf.PHDR_SIZE
        for g in segments:
            if g.sections:
                first, last = g.sections[0], g.sections[-1]
                offset = first.offset
                file_end = max(s.offset + (0 if s.type == elf.SHT_NOBITS else len(s.data)) for s in g.sections)
                filesz = file_end - offset
                memsz = filesz
                if last.type == elf.SHT_NOBITS:
                    memsz = filesz + sum(s.size for s in g.sections if s.type == elf.SHT_NOBITS)
            else:
                offset, filesz, memsz = phoff, table_size, table_size
            out += pack("<IIQQQQQQ", g.type, g.flags, offset, 0, 0, filesz, memsz, 8)
        ident = b"\x7fELF" + bytes([2, 1, 1, elf.OSABI_CUDA, elf.ABI_VERSION]) + bytes(7)
        out[: elf.EHDR_SIZE] = ident + pack(
            "<HHIQQQIHHHHHH",
            e_type,
            elf.EM_CUDA,
            1,
            0,
            phoff,
            shoff,
            e_flags,
            elf.EHDR_SIZE,
            elf.PHDR_SIZE,
            len(segments),
            elf.SHDR_SIZE,
            len(sections),
            1,
        )
        return bytes(out)
