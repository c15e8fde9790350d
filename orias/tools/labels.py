"""Labels of code addresses, with the numbers of ``nvdisasm``."""

from typing import Final, final

from orias.cubin import elf
from orias.cubin.elf import ElfFile, ElfReloc, Section, Symbol
from orias.cubin.nvinfo import (
    ANNOTATIONS,
    ATOM16_EMUL_INSTR_REG_MAP,
    COOP_GROUP_INSTR_OFFSETS,
    EXIT_INSTR_OFFSETS,
    INDIRECT_BRANCH_TARGETS,
    INT_WARP_WIDE_INSTR_OFFSETS,
    MBARRIER_INSTR_OFFSETS,
    SYSCALL_OFFSETS,
    UNUSED_LOAD_BYTE_OFFSET,
)
from orias.cubin.nvinfo import decode as decode_info
from orias.cubin.relocs import (
    CALL_RELOCS,
    R_ABS16_32,
    R_ABS24_40,
    R_ABS32_32,
    R_ABS32_HI_32,
    R_ABS32_LO_32,
    R_CONST_FIELD19_40,
    R_CONST_FIELD21_38,
    R_CONST_FIELD22_37,
    R_FUNC_DESC32_HI_32,
    R_FUNC_DESC32_LO_32,
    R_UNIFIED32_HI_32,
    R_UNIFIED32_LO_32,
)
from orias.isa.isa_table import IsaTable

INST_BYTES: Final = 16
OFFSET_RELOCS: Final = (R_ABS24_40,)
"""Relocations of the offset in an address."""
CONST_RELOCS: Final = (R_CONST_FIELD19_40, R_CONST_FIELD21_38, R_CONST_FIELD22_37)
"""Relocations of the offset of a constant operand."""
WORD_RELOCS: Final = (R_ABS32_32, R_ABS16_32)
"""Relocations of a 32-bit immediate, or of its lower half."""
HALF_RELOCS: Final[dict[int, str]] = {
    R_ABS32_LO_32: "32@lo",
    R_ABS32_HI_32: "32@hi",
    R_UNIFIED32_LO_32: "32@lo",
    R_UNIFIED32_HI_32: "32@hi",
    R_FUNC_DESC32_LO_32: "32@lo",
    R_FUNC_DESC32_HI_32: "32@hi",
}
"""Relocations of one half of an address."""
FUNCTION_RELOCS: Final[dict[int, str]] = {
    R_UNIFIED32_LO_32: "unified",
    R_UNIFIED32_HI_32: "unified",
    R_FUNC_DESC32_LO_32: "fdesc",
    R_FUNC_DESC32_HI_32: "fdesc",
}
"""Those of functions, and nvdisasm's word for what they are."""
_SHOWN: Final = (*CALL_RELOCS, *CONST_RELOCS, *OFFSET_RELOCS, *WORD_RELOCS, *HALF_RELOCS)
REFERENCES: Final = {
    elf.STT_TEXTURE: "STT_CUDA_TEXTURE",
    elf.STT_SAMPLER: "STT_CUDA_SAMPLER",
    elf.STT_SURFACE: "STT_CUDA_SURFACE",
}
_CODE_SYMBOLS: Final = (elf.STT_FUNC, elf.STT_SECTION, *REFERENCES)
OFFSET_RECORDS: Final = {
    EXIT_INSTR_OFFSETS: (0, 1),
    COOP_GROUP_INSTR_OFFSETS: (0, 1),
    INT_WARP_WIDE_INSTR_OFFSETS: (0, 1),
    SYSCALL_OFFSETS: (0, 1),
    ATOM16_EMUL_INSTR_REG_MAP: (0, 2),
    UNUSED_LOAD_BYTE_OFFSET: (0, 2),
    MBARRIER_INSTR_OFFSETS: (0, 4),
    ANNOTATIONS: (1, 2),
}
"""Attribute -> (index of its first offset, number of words from one offset to the next); these offsets get labels."""


def code_sections(file: ElfFile) -> list[Section]:
    """The sections that hold instructions."""
    return [s for s in file.sections if s.type == elf.SHT_PROGBITS and s.flags & elf.SHF_EXECINSTR]


@final
class Labels:
    """Names of addresses by (section, address), and the relocation of each instruction that has one."""

    __slots__ = ("_file", "_names", "_numbered", "relocs", "symbols")

    def __init__(self, file: ElfFile, table: IsaTable) -> None:
        self._file: Final[ElfFile] = file
        self._numbered: int = 0
        self._names: Final[dict[int, dict[int, str]]] = {}
        """Names by section and address."""
        self.relocs: Final[dict[tuple[int, int], ElfReloc]] = {}
        self.symbols: Final[dict[int, list[Symbol]]] = {}
        """Code symbols by section, in table order."""
        for x in file.symbols:
            if x.type in _CODE_SYMBOLS:
                self.symbols.setdefault(x.section, []).append(x)
        self._number(table)

    def of(self, section: int, addr: int) -> str:
        """The name of an address; creates one if it has none."""
        names = self._names.setdefault(section, {})
        name = names.get(addr)
        if name is None:
            for s in self.symbols.get(section, ()):
                if s.value == addr and s.type == elf.STT_FUNC:
                    return s.name
            name = names[addr] = f".L_x_{self._numbered}"
            self._numbered += 1
        return name

    def in_section(self, section: int) -> dict[int, str]:
        """Names by address in a section, including functions."""
        out = dict(self._names.get(section, {}))
        out.update((x.value, x.name) for x in self.symbols.get(section, ()) if x.type == elf.STT_FUNC)
        return out

    def _own(self, section: int, addr: int) -> None:
        """Creates a name that uses a number even if the address already has a name."""
        self._names.setdefault(section, {}).setdefault(addr, f".L_x_{self._numbered}")
        self._numbered += 1

    def _number(self, table: IsaTable) -> None:
        """Numbers labels in nvdisasm's order: relocation targets, branch targets, debug sections, attributes, function ends."""
        file = self._file
        sections = code_sections(file)
        code = {s.index for s in sections}
        for s in sections:
            relocs = file.relocations(s)
            for r in relocs:
                key = (s.index, r.offset & ~15)
                if key not in self.relocs or r.type in _SHOWN:
                    self.relocs[key] = r
            for r in sorted(relocs, key=lambda r: r.offset):
                symbol = file.symbol(r.symbol, s.name)
                if r.type in HALF_RELOCS and r.addend and symbol.section in code:
                    self.of(symbol.section, symbol.value + r.addend)
        for s in sections:
            data = s.data
            for addr in range(0, len(data) - 15, INST_BYTES):
                for target in table.targets(int.from_bytes(data[addr : addr + 16], "little"), addr):
                    if 0 <= target < len(data) and (s.index, addr) not in self.relocs:
                        self.of(s.index, target)
        for s in file.sections:
            if s.index not in code and s.name.startswith(".debug"):
                self._debug(s, code)
        for s in sections:
            self._attributes(s)
        for x in file.symbols:
            if x.type == elf.STT_FUNC and x.section in code:
                self._own(x.section, x.value + x.size)

    def _debug(self, section: Section, code: set[int]) -> None:
        """Names for the code addresses in a debug section."""
        for r in sorted(self._file.relocations(section), key=lambda r: r.offset):
            symbol = self._file.symbol(r.symbol, section.name)
            if symbol.section not in code:
                continue
            addend = r.addend
            if not r.rela and r.offset + 8 <= len(section.data):
                addend = int.from_bytes(section.data[r.offset : r.offset + 8], "little")
            if addend:
                self.of(symbol.section, symbol.value + addend)

    def _attributes(self, section: Section) -> None:
        info = self._file.section(".nv.info." + section.name.removeprefix(".text."))
        if info is None:
            return
        for record in decode_info(info.data, info.name):
            place = OFFSET_RECORDS.get(record.code)
            if place is not None:
                for addr in record.words()[place[0] :: place[1]]:
                    self._own(section.index, addr)
            elif record.code == INDIRECT_BRANCH_TARGETS:
                for at, targets in branch_targets(record.words()):
                    self.of(section.index, at)
                    for addr in targets:
                        self._own(section.index, addr)


def branch_targets(words: list[int]) -> list[tuple[int, list[int]]]:
    """(address of the branch, addresses of its targets) of an INDIRECT_BRANCH_TARGETS record."""
    out: list[tuple[int, list[int]]] = []
    at = 0
    while at + 3 <= len(words):
        count = words[at + 2]
        out.append((words[at], words[at + 3 : at + 3 + count]))
        at += 3 + count
    return out
