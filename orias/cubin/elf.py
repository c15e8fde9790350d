"""ELF64 in cubins: constants, and a parser that accepts any bytes and either succeeds or raises CubinError.

Source: ``docs/facts/cubin.md``, "ELF header" and "Section order".
"""

from struct import unpack_from
from typing import Final, final

from orias.cubin.cubin_error import CubinError

EM_CUDA: Final = 190
OSABI_CUDA: Final = 0x41
ABI_VERSION: Final = 8
ET_REL: Final = 1
ET_EXEC: Final = 2
ET_EXTENSIBLE: Final = 0xFF00
"""Whole program that a linker may extend (``-ewp``)."""
KIND_SASS: Final = 4
"""Low byte of ``e_flags``: SASS without capsule."""
KIND_CAPSULE: Final = 2
"""Low byte of ``e_flags``: SASS with a capsule for each function."""

SHN_COMMON: Final = 0xFFF2
SHN_LORESERVE: Final = 0xFF00

SHT_NULL: Final = 0
SHT_PROGBITS: Final = 1
SHT_SYMTAB: Final = 2
SHT_STRTAB: Final = 3
SHT_RELA: Final = 4
SHT_NOTE: Final = 7
SHT_NOBITS: Final = 8
SHT_REL: Final = 9
SHT_CUDA_INFO: Final = 0x70000000
SHT_CUDA_CALLGRAPH: Final = 0x70000001
SHT_CUDA_PROTOTYPE: Final = 0x70000002
SHT_CUDA_RESOLVED_RELA: Final = 0x70000003
SHT_CUDA_GLOBAL: Final = 0x70000007
SHT_CUDA_GLOBAL_INIT: Final = 0x70000008
SHT_CUDA_SHARED: Final = 0x7000000A
SHT_CUDA_REL_ACTION: Final = 0x7000000B
SHT_CUDA_UFT: Final = 0x7000000E
"""The stub of a unified function."""
SHT_CUDA_UFT_ENTRY: Final = 0x70000011
SHT_CUDA_UDT: Final = 0x70000012
"""Unified variables."""
SHT_CUDA_UDT_ENTRY: Final = 0x70000014
SHT_CUDA_SHARED_RESERVED: Final = 0x70000015
SHT_CUDA_CONSTANT0: Final = 0x70000064
"""Constant bank 0 of a relocatable object; bank n is this + n."""
SHT_CUDA_COMPAT: Final = 0x70000086
SHT_CUDA_EMBEDDED_HOST: Final = 0x70000087

NO_BYTES: Final = (SHT_NOBITS, SHT_CUDA_GLOBAL, SHT_CUDA_SHARED, SHT_CUDA_SHARED_RESERVED)
"""Section types without bytes in the file."""

SHF_WRITE: Final = 1
SHF_ALLOC: Final = 2
SHF_EXECINSTR: Final = 4
SHF_INFO_LINK: Final = 0x40
SHF_NOTE_CUINFO: Final = 0x1000000
SHF_NOTE_TKINFO: Final = 0x2000000

STB_LOCAL: Final = 0
STB_GLOBAL: Final = 1
STB_WEAK: Final = 2
STT_NOTYPE: Final = 0
STT_OBJECT: Final = 1
STT_FUNC: Final = 2
STT_SECTION: Final = 3
STT_TEXTURE: Final = 10
STT_SAMPLER: Final = 11
STT_SURFACE: Final = 12
STT_CUDA_OBJECT: Final = 13
"""A variable in a relocatable object."""
STO_ENTRY: Final = 0x10
STO_UNIFIED: Final = 0x10
"""Of a variable; the other bits are those of its space."""
STO_UNIFIED_FUNCTION: Final = 0x04

PT_LOAD: Final = 1
PT_PHDR: Final = 6

EHDR_SIZE: Final = 64
SHDR_SIZE: Final = 64
PHDR_SIZE: Final = 56
SYM_SIZE: Final = 24
REL_SIZE: Final = 16
RELA_SIZE: Final = 24


@final
class Section:
    """A section header with its bytes (empty for NOBITS; ``size`` is the header's)."""

    __slots__ = ("addr", "align", "data", "entsize", "flags", "index", "info", "link", "name", "offset", "size", "type")

    def __init__(self, index: int, name: str) -> None:
        self.index: int = index
        self.name: str = name
        self.type: int = SHT_NULL
        self.flags: int = 0
        self.addr: int = 0
        self.offset: int = 0
        self.size: int = 0
        self.link: int = 0
        self.info: int = 0
        self.align: int = 0
        self.entsize: int = 0
        self.data: bytes = b""


@final
class Symbol:
    """A symbol table entry; ``section`` is the section index (0: undefined)."""

    __slots__ = ("bind", "index", "name", "other", "section", "size", "type", "value")

    def __init__(
        self, index: int, name: str, bind: int, type_: int, other: int, section: int, value: int, size: int
    ) -> None:
        self.index: int = index
        self.name: str = name
        self.bind: int = bind
        self.type: int = type_
        self.other: int = other
        self.section: int = section
        self.value: int = value
        self.size: int = size


@final
class ElfReloc:
    """A relocation entry of the file; ``rela`` is False for a REL entry, whose addend is 0."""

    __slots__ = ("addend", "offset", "rela", "symbol", "type")

    def __init__(self, offset: int, type_: int, symbol: int, addend: int, rela: bool) -> None:
        self.offset: int = offset
        self.type: int = type_
        self.symbol: int = symbol
        self.addend: int = addend
        self.rela: bool = rela


@final
class Segment:
    """A program header."""

    __slots__ = ("align", "filesz", "flags", "memsz", "offset", "type")

    def __init__(self, type_: int, flags: int, offset: int, filesz: int, memsz: int, align: int) -> None:
        self.type: int = type_
        self.flags: int = flags
        self.offset: int = offset
        self.filesz: int = filesz
        self.memsz: int = memsz
        self.align: int = align


def _cstring(table: bytes, offset: int, what: str) -> str:
    if offset >= len(table):
        raise CubinError(f"{what}: name offset {offset} lies outside the string table of {len(table)} bytes")
    end = table.find(b"\0", offset)
    if end < 0:
        raise CubinError(f"{what}: name at offset {offset} has no end")
    return table[offset:end].decode("utf-8", "replace")


_NEW_ABI: Final = 8
"""ABI version since which the SM is in bits 8 to 23 of the header's flags (CUDA 13); in the low byte before."""
_LEAST_SM: Final = 10


@final
class ElfFile:
    """A parsed cubin: header fields, sections, symbols, segments, and relocations by section."""

    __slots__ = (
        "_by_name", "_relocated", "_symbols_of", "abi_version", "data", "flags", "osabi", "sections", "segments", "symbols", "type"
    )  # fmt: skip

    def __init__(self, data: bytes) -> None:
        self.data: bytes = data
        if len(data) < EHDR_SIZE:
            raise CubinError(f"file of {len(data)} bytes is shorter than an ELF header ({EHDR_SIZE} bytes)")
        if data[:4] != b"\x7fELF":
            raise CubinError("not an ELF file (wrong magic number)")
        if data[4] != 2 or data[5] != 1:
            raise CubinError("not a 64-bit little-endian ELF file")
        self.osabi: int = data[7]
        self.abi_version: int = data[8]
        (self.type, machine) = unpack_from("<HH", data, 16)
        if machine != EM_CUDA:
            raise CubinError(f"ELF machine is {machine}, not {EM_CUDA} (CUDA)")
        phoff, shoff = unpack_from("<QQ", data, 32)
        self.flags: int = unpack_from("<I", data, 48)[0]
        phentsize, phnum, shentsize, shnum, shstrndx = unpack_from("<HHHHH", data, 54)
        self.sections: list[Section] = []
        self.symbols: list[Symbol] = []
        self.segments: list[Segment] = []
        self._read_sections(shoff, shentsize, shnum, shstrndx)
        self._read_segments(phoff, phentsize, phnum)
        self._read_symbols()
        self._by_name: dict[str, Section] = {sec.name: sec for sec in reversed(self.sections)}
        self._relocated: dict[int, list[Section]] = {}
        for sec in self.sections:
            if sec.type in (SHT_REL, SHT_RELA):
                self._relocated.setdefault(sec.info, []).append(sec)
        self._symbols_of: dict[int, list[Symbol]] = {}
        for symbol in self.symbols:
            self._symbols_of.setdefault(symbol.section, []).append(symbol)

    @property
    def is_old(self) -> bool:
        """Whether the flags are those of CUDA 12 and earlier: the SM in the low byte, which names a kind of content since.

        ptxas 13 gives a cubin without ABI for sm_75 the ABI version 2, and the new flags.
        """
        return self.abi_version < _NEW_ABI and self.flags & 0xFF >= _LEAST_SM

    @property
    def sm(self) -> int:
        """The SM number in the flags."""
        return self.flags & 0xFF if self.is_old else self.flags >> 8 & 0xFFFF

    def _read_sections(self, shoff: int, shentsize: int, shnum: int, shstrndx: int) -> None:
        data = self.data
        if shnum == 0:
            return
        if shentsize != SHDR_SIZE or shoff + shnum * SHDR_SIZE > len(data):
            raise CubinError(f"section headers ({shnum} at offset {shoff:#x}) do not fit into the file")
        if shstrndx >= shnum:
            raise CubinError(f"section name table {shstrndx} does not exist ({shnum} sections)")
        names: list[int] = []
        for i in range(shnum):
            name, type_, flags, addr, offset, size, link, info, align, entsize = unpack_from(
                "<IIQQQQIIQQ", data, shoff + i * SHDR_SIZE
            )
            sec = Section(i, "")
            sec.type, sec.flags, sec.addr, sec.offset, sec.size = type_, flags, addr, offset, size
            sec.link, sec.info, sec.align, sec.entsize = link, info, align, entsize
            if type_ not in NO_BYTES and type_ != SHT_NULL:
                if offset + size > len(data):
                    raise CubinError(f"section {i}: {size} bytes at offset {offset:#x} do not fit into the file")
                sec.data = data[offset : offset + size]
            names.append(name)
            self.sections.append(sec)
        table = self.sections[shstrndx].data
        for i, sec in enumerate(self.sections):
            sec.name = _cstring(table, names[i], f"section {i}") if table else ""

    def _read_segments(self, phoff: int, phentsize: int, phnum: int) -> None:
        if phnum == 0:
            return
        if phentsize != PHDR_SIZE or phoff + phnum * PHDR_SIZE > len(self.data):
            raise CubinError(f"program headers ({phnum} at offset {phoff:#x}) do not fit into the file")
        for i in range(phnum):
            type_, flags, offset, _vaddr, _paddr, filesz, memsz, align = unpack_from(
                "<IIQQQQQQ", self.data, phoff + i * PHDR_SIZE
            )
            self.segments.append(Segment(type_, flags, offset, filesz, memsz, align))

    def _read_symbols(self) -> None:
        for sec in self.sections:
            if sec.type != SHT_SYMTAB:
                continue
            if sec.link >= len(self.sections):
                raise CubinError(f"symbol table names string table {sec.link}, which does not exist")
            if len(sec.data) % SYM_SIZE:
                raise CubinError(f"symbol table size {len(sec.data)} is not a multiple of {SYM_SIZE}")
            table = self.sections[sec.link].data
            for i in range(len(sec.data) // SYM_SIZE):
                name, info, other, shndx, value, size = unpack_from("<IBBHQQ", sec.data, i * SYM_SIZE)
                text = _cstring(table, name, f"symbol {i}")
                self.symbols.append(Symbol(i, text, info >> 4, info & 15, other, shndx, value, size))
            return

    def section(self, name: str) -> Section | None:
        """The first section with this name."""
        return self._by_name.get(name)

    def symbols_of(self, section: int) -> list[Symbol]:
        """The symbols of the section with this index, in file order; not to be changed."""
        return self._symbols_of.get(section, [])

    def symbol(self, index: int, what: str) -> Symbol:
        """The symbol with this index; CubinError, which names ``what`` refers to it, if there is none."""
        if not 0 <= index < len(self.symbols):
            raise CubinError(f"{what}: symbol {index} does not exist ({len(self.symbols)} symbols)")
        return self.symbols[index]

    def symbol_name(self, index: int, what: str) -> str:
        """Name of a symbol; for a section symbol without a name, the name of its section."""
        s = self.symbol(index, what)
        if s.name or s.type != STT_SECTION:
            return s.name
        return self.section_name(s)

    def section_name(self, s: Symbol) -> str:
        """Name of the section of a symbol; empty for one without, such as a variable that a linker will place (``.common``)."""
        return self.sections[s.section].name if s.section < len(self.sections) else ""

    def relocations(self, target: Section) -> list[ElfReloc]:
        """All relocations of a section, in file order (REL and RELA sections in section order)."""
        out: list[ElfReloc] = []
        for sec in self._relocated.get(target.index, ()):
            if sec.name.endswith(target.name):
                out.extend(self.relocation_entries(sec))
        return out

    def relocation_entries(self, sec: Section) -> list[ElfReloc]:
        """The entries of one REL or RELA section, or one of resolved relocations."""
        rela = sec.type in (SHT_RELA, SHT_CUDA_RESOLVED_RELA)
        entsize = RELA_SIZE if rela else REL_SIZE
        if len(sec.data) % entsize:
            raise CubinError(f"{sec.name}: size {len(sec.data)} is not a multiple of {entsize}")
        out: list[ElfReloc] = []
        for pos in range(0, len(sec.data), entsize):
            offset, info = unpack_from("<QQ", sec.data, pos)
            addend: int = unpack_from("<q", sec.data, pos + 16)[0] if rela else 0
            self.symbol(info >> 32, sec.name)
            out.append(ElfReloc(offset, info & 0xFFFFFFFF, info >> 32, addend, rela))
        return out
