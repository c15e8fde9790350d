"""What ``cuobjdump -elf`` prints of a cubin: header, sections, symbols, data, notes, attributes, code words, relocations.

The contents of debug sections are left out.
"""

from struct import unpack_from
from typing import Final

from orias.cubin import elf, nvinfo
from orias.cubin.elf import ElfFile, Section, Symbol
from orias.cubin.nvinfo import Record
from orias.cubin.relocs import TYPES
from orias.tools.cubin_target import target_name

_SECTION_TYPES: Final = {
    elf.SHT_PROGBITS: "PROGBITS", elf.SHT_SYMTAB: "SYMTAB", elf.SHT_STRTAB: "STRTAB", elf.SHT_RELA: "RELA",
    elf.SHT_NOTE: "NOTE", elf.SHT_NOBITS: "NOBITS", elf.SHT_REL: "REL", elf.SHT_CUDA_INFO: "CUDA_INFO",
    elf.SHT_CUDA_CALLGRAPH: "CUDA_CALLGRAPH", elf.SHT_CUDA_PROTOTYPE: "CUDA_PROTOTYPE", elf.SHT_CUDA_GLOBAL: "CUDA_GLOBAL",
    elf.SHT_CUDA_GLOBAL_INIT: "CUDA_GLOBAL_INIT", elf.SHT_CUDA_SHARED: "CUDA_SHARED",
    elf.SHT_CUDA_REL_ACTION: "CUDA_RELOCINFO", elf.SHT_CUDA_SHARED_RESERVED: "CUDA_RESERVED_SHARED",
    elf.SHT_CUDA_COMPAT: "CUDA_COMPAT_INFO",
}  # fmt: skip
_BANKS: Final = 18
"""Number of constant banks with a section type of their own."""
_SYMBOL_TYPES: Final = {
    elf.STT_NOTYPE: "NOTYPE", elf.STT_OBJECT: "OBJECT", elf.STT_FUNC: "FUNC", elf.STT_SECTION: "SECTION",
    elf.STT_TEXTURE: "CUDA_TEXTURE", elf.STT_SAMPLER: "CUDA_SAMPLER", elf.STT_SURFACE: "CUDA_SURFACE",
    elf.STT_CUDA_OBJECT: "CUDA_OBJECT",
}  # fmt: skip
_BINDS: Final = {elf.STB_LOCAL: "LOCAL", elf.STB_GLOBAL: "GLOBAL", elf.STB_WEAK: "WEAK"}
_VISIBILITIES: Final = ("DEFAULT", "INTERNAL", "HIDDEN", "PROTECTED")
_OTHERS: Final = {
    0: "-", elf.STO_ENTRY: "ENTRY", 0x20: "GLOBAL", 0x40: "SHARED", 0x60: "LOCAL", 0x80: "CONSTANT", 0xA0: "RESERVED_SHARED",
}  # fmt: skip
_COMPAT: Final = {
    2: "ISA_CLASS", 3: "INST_TENSORMAP_V1", 5: "INST_TCGEN05_MMA", 6: "ENABLE_OPPORTUNISTIC_FINALIZATION",
    9: "CUDA_ACCELERATOR_TARGET", 11: "CAN_FASTPATH_FINALIZE",
}  # fmt: skip
"""Names of the records of ``.nv.compat``."""
_FORMATS: Final = {nvinfo.NVAL: "NVAL", nvinfo.BVAL: "BVAL", nvinfo.HVAL: "HVAL", nvinfo.SVAL: "SVAL"}
_OF_FUNCTION: Final = {
    nvinfo.REGCOUNT: "register count: {}", nvinfo.FRAME_SIZE: "frame size: {:#x}", nvinfo.MIN_STACK_SIZE: "min stack size: {:#x}",
}  # fmt: skip
"""Attributes that state a number about a function, and how it is printed."""
_NOTE_HEADER: Final = 24
"""Bytes of a note before its payload: three words and the owner's name."""


def elf_dump(data: bytes) -> str:
    """The text for one cubin; CubinError if the file is none."""
    file = ElfFile(data)
    out = [*_header(file), *_section_table(file)]
    for name in (".strtab", ".shstrtab"):
        out += ["", f".section {name}"]
    out += ["", ".section .symtab", *_symbols(file), ""]
    sections = sorted(file.sections, key=lambda s: (_place(s), s.index))
    for s in sections:
        lines = _contents(file, s)
        if lines:
            out += lines
    return "\n".join(out) + "\n"


def symbol_names(data: bytes) -> str:
    """What ``cuobjdump -symbols`` prints: all symbols of a cubin but those of sections."""
    out = ["", "symbols:"]
    for x in ElfFile(data).symbols:
        if x.index and x.type != elf.STT_SECTION:
            out.append(f"{_symbol_kind(x):<67}{' ' if x.section else 'U'}  {x.name}")
    return "\n".join(out) + "\n"


def _header(file: ElfFile) -> list[str]:
    kind = "ET_REL" if file.type == elf.ET_REL else "ET_EXEC"
    note = file.section(".note.nv.cuinfo")
    toolkit = ""
    if note is not None and len(note.data) >= _NOTE_HEADER + 8:
        toolkit = f" toolkit={_release(note.data)},"
    return [
        "",
        f"64-bit ELF: type={kind}, ABI={file.abi_version}, sm={target_name(file)[3:]},{toolkit} flags={file.flags:#x}",
    ]


def _release(note: bytes) -> str:
    number = unpack_from("<HHI", note, _NOTE_HEADER)[2]
    return f"{number // 10}.{number % 10}"


def _section_type(s: Section) -> str:
    bank = s.type - elf.SHT_CUDA_CONSTANT0
    if 0 <= bank < _BANKS:
        return f"CUDA_CONSTANT_B{bank}"
    return _SECTION_TYPES.get(s.type, f"UNKNOWN: {s.type & 0xFFF:3}")


def _section_table(file: ElfFile) -> list[str]:
    out = ["Sections:", "Index Offset   Size ES Align                      Type    Flags Link     Info Name"]
    for s in file.sections[1:]:
        out.append(
            f"{s.index:5x} {s.offset:6x} {s.size:6x} {s.entsize:2x} {s.align:2x} {_section_type(s):>28} {s.flags:8x} {s.link:4x}"
            f" {s.info:8x} {s.name}"
        )
    return out


def _symbol_kind(x: Symbol) -> str:
    type_ = _SYMBOL_TYPES.get(x.type, str(x.type))
    other = _OTHERS.get(x.other & ~3, f"{x.other & ~3:#x}")
    return f"{type_:<14}{_BINDS.get(x.bind, str(x.bind)):<8}{_VISIBILITIES[x.other & 3]:<11}{other}"


def _symbols(file: ElfFile) -> list[str]:
    out = [
        "   Num            Value             Size  Type          Bind    Vis        Other"
        "                                Ndx  Name"
    ]
    for x in file.symbols:
        name = file.symbol_name(x.index, ".symtab") if x.index else "(null)"
        out.append(
            f"{_hex(x.index):>6}{_hex(x.value):>17}{_hex(x.size):>17}  {_symbol_kind(x):<53}{_hex(x.section):>20}  {name}"
        )
    return out


def _hex(value: int) -> str:
    """A number as printf's ``%#x`` writes it."""
    return f"{value:#x}" if value else "0"


def _place(s: Section) -> int:
    """Where the contents of a section stand among the others."""
    if s.name.startswith(".note."):
        return 1
    if s.type in (elf.SHT_CUDA_INFO, elf.SHT_CUDA_COMPAT):
        return 2
    if s.type in (elf.SHT_CUDA_CALLGRAPH, elf.SHT_CUDA_PROTOTYPE, elf.SHT_CUDA_REL_ACTION):
        return 3
    if s.flags & elf.SHF_EXECINSTR:
        return 4
    return 5 if s.type in (elf.SHT_REL, elf.SHT_RELA) else 0


def _contents(file: ElfFile, s: Section) -> list[str]:
    """The lines about the contents of a section; none for tables that are printed already and for debug sections."""
    if s.name.startswith(".note."):
        return _note(s)
    if s.type in (elf.SHT_CUDA_INFO, elf.SHT_CUDA_COMPAT):
        return ["", s.name, *_attributes(file, s), ""]
    if s.type == elf.SHT_CUDA_CALLGRAPH:
        pairs = [unpack_from("<ii", s.data, at) for at in range(0, len(s.data) - 7, 8)]
        return ["", s.name, *(f" <{caller},{callee}>" for caller, callee in pairs), ""]
    if s.type in (elf.SHT_REL, elf.SHT_RELA):
        return ["", *_relocations(file, s)]
    if not s.flags & elf.SHF_ALLOC or s.name.startswith(".nv.merc"):
        return []
    if s.type in elf.NO_BYTES:
        return ["", s.name, "   No data to be dumped. ", "", ""]
    if s.flags & elf.SHF_EXECINSTR:
        function = s.name.removeprefix(".text.")
        local, shared = (file.section(f".nv.{space}.{function}") for space in ("local", "shared"))
        sizes = f"lmem={local.size if local else 0}\tsmem={shared.size if shared else 0}"
        return ["", s.name, sizes, *_words(s.data), "", ""]
    return ["", s.name, *_words(s.data), "", ""]


def _words(data: bytes) -> list[str]:
    """Data as 32-bit words, four in a line."""
    padded = data + bytes(-len(data) % 4)
    words = [f"0x{w:08x}" for w in unpack_from(f"<{len(padded) // 4}I", padded)]
    lines = [" ".join(words[i : i + 4]) for i in range(0, len(words), 4)]
    if len(words) % 4:
        lines[-1] += " "
    return lines


def _note(s: Section) -> list[str]:
    size, body = len(s.data) - _NOTE_HEADER, s.data[_NOTE_HEADER:]
    head = ["", f".section {s.name}", "Entry: 1", "  Owner                  Data size        Description"]
    if s.name == ".note.nv.tkinfo" and size >= 24:
        version, *offsets = unpack_from("<6I", body)
        _, tool, release, branch, options = (
            body[24 + at :].split(b"\0", 1)[0].decode("utf-8", "replace") for at in offsets
        )
        lines = [
            f"\tNote Version: {version}", f"\tTool Name: {tool}", f"\tTool Version: {release}", f"\tTool Branch: {branch}",
            f"\tTool Command Line Arguments: {options}",
        ]  # fmt: skip
        return [*head, f"  NVIDIA Corp            {size:<16} NVIDIA CUDA Toolkit Information", *lines, ""]
    if s.name == ".note.nv.cuinfo" and size >= 8:
        version, sm, _ = unpack_from("<HHI", body)
        lines = [
            f"\tNote Version: {version}",
            f"\tCUDA Virtual SM: sm_{sm}",
            f"\tCUDA Tool Kit Version: {_release(s.data)}",
        ]
        return [*head, f"  NVIDIA Corp            {size:<16} NVIDIA CUDA Information", *lines, ""]
    return []


def _attributes(file: ElfFile, s: Section) -> list[str]:
    out: list[str] = []
    for number, r in enumerate(nvinfo.decode(s.data, s.name), 1):
        # The number is a decimal one, with the prefix of a hexadecimal.
        out += [f"\t<0x{number}>", f"\tAttribute:\t{_attribute_name(s, r)}", f"\tFormat:\tEIFMT_{_FORMATS[r.format]}"]
        if r.format != nvinfo.NVAL:
            out.append(f"\tValue:\t{_value(file, s, r)}")
    return out


def _attribute_name(s: Section, r: Record) -> str:
    if s.type == elf.SHT_CUDA_COMPAT:
        name = _COMPAT.get(r.code)
        return f"EICOMPAT_ATTR_{name}" if name else "unknown Attribute"
    return f"EIATTR_{nvinfo.NAMES[r.code]}" if r.code in nvinfo.NAMES else "unknown Attribute"


def _value(file: ElfFile, s: Section, r: Record) -> str:
    if r.format != nvinfo.SVAL:
        return f"{r.value:#x}"
    words = r.words()
    if s.type == elf.SHT_CUDA_INFO:
        if r.code in _OF_FUNCTION and len(words) == 2:
            name = file.symbol_name(words[0], s.name)
            return f"function: {name}({words[0]:#x})\t{_OF_FUNCTION[r.code].format(words[1])}"
        if r.code == nvinfo.KPARAM_INFO and len(words) == 3:
            index, place, shape = words
            space = "CBANK" if shape >> 12 & 0x1F == 0x1F else "SMEM"
            return (
                f"Index : {index:#x}\tOrdinal : {place & 0xFFFF:#x}\tOffset  : {place >> 16:#x}\tSize    : {shape >> 18:#x}\n"
                f"\t\tPointee's logAlignment : {shape & 0xFF:#x}\tSpace : {shape >> 8 & 15:#x}\tcbank : {shape >> 12 & 0x1F:#x}"
                f"\tParameter Space : {space}\t"
            )
        if r.code == nvinfo.EXTERNS:
            return "externs:\t" + "".join(f"{file.symbol_name(w, s.name)}({w:#x})\t" for w in words)
    return "".join(f"{w:#x} " for w in words)


def _relocations(file: ElfFile, s: Section) -> list[str]:
    rela = s.type == elf.SHT_RELA
    out = [f".section {s.name}\t{'RELA' if rela else 'REL'}"]
    for r in reversed(file.relocation_entries(s)):
        known = TYPES.get(r.type)
        name = known.name if known else str(r.type)
        line = f"{r.offset:#x}    {file.symbol_name(r.symbol, s.name)}    {name}"
        out.append(f"{line}    {r.addend & (1 << 64) - 1:#x}" if rela else line)
    return out
