"""The full listing of a cubin: text that :func:`orias.tools.fullread.build` turns into the same bytes.

Code is listed as instructions with control words; names, symbols, attributes and relocations have directives; other
sections are bytes.  Values that follow from the code (addresses in attributes and relocations, sizes of functions and
sections, offsets in the file) are listed as names, so that an edited listing stays consistent.  docs/disassembler.md
has the grammar.
"""

import json
import re
from struct import unpack_from
from typing import Final, final

from orias.cubin import elf
from orias.cubin import nvinfo as nv
from orias.cubin.cubin_error import CubinError
from orias.cubin.elf import ElfFile, Section
from orias.cubin.relocs import TYPES
from orias.isa.isa_table import CTL_SHIFT, IllegalWord, IsaTable, load
from orias.target.decoder_class import table_of_sm
from orias.tools.cubin_target import target_name
from orias.tools.disassemble import control_text, unsaid
from orias.tools.labels import INST_BYTES, OFFSET_RECORDS, Labels, branch_targets

FULL_MARK: Final = "// orias full listing"
"""First line of every full listing."""

_PLAIN: Final = re.compile(r"[\w.$@]+\Z")
_ATTRIBUTE_FORMATS: Final = {nv.NVAL: "none", nv.BVAL: "byte", nv.HVAL: "half", nv.SVAL: "words"}
_SYMBOL_FIRST: Final = (nv.REGCOUNT, nv.FRAME_SIZE, nv.MIN_STACK_SIZE, nv.MAX_STACK_SIZE)


def quoted(name: str) -> str:
    """A name as it is written in a listing: quoted unless it is plain."""
    return name if _PLAIN.match(name) and not name[0].isdigit() else json.dumps(name)


def full_listing(data: bytes) -> str:
    """The full listing of a cubin.  CubinError if the file is no cubin, KeyError if there is no table for its target."""
    return _Full(data).text()


@final
class _Full:
    """Writes one full listing."""

    __slots__ = ("bodies", "data", "file", "heads", "labels", "lines", "section_names", "symbol_names", "table")

    def __init__(self, data: bytes) -> None:
        self.data: Final[bytes] = data
        self.file: Final[ElfFile] = ElfFile(data)
        self.table: Final[IsaTable] = load(table_of_sm(self.file.sm))
        self.labels: Final[Labels] = Labels(self.file, self.table)
        self.lines: Final[list[str]] = []
        self.heads: Final[list[tuple[int, ...]]] = []
        shoff = unpack_from("<Q", data, 40)[0]
        for i in range(len(self.file.sections)):
            self.heads.append(unpack_from("<IIQQQQIIQQ", data, shoff + 64 * i))
        self.section_names: Final[dict[int, str]] = _unique([s.name for s in self.file.sections])
        self.symbol_names: Final[dict[int, str]] = _unique([s.name for s in self.file.symbols])
        self.bodies: Final[dict[int, tuple[int, int]]] = {}
        """Symbol index -> (address, size) in the code of the symbol."""

    def text(self) -> str:
        out = self.lines
        f = self.file
        kind, machine, version, entry, phoff, shoff, flags, _eh, phentsize, phnum, _se, shnum, shstrndx = unpack_from(
            "<HHIQQQIHHHHHH", self.data, 16
        )
        out.append(FULL_MARK)
        out.append(
            f"\t.cubin ident={self.data[:16].hex()}, type={kind}, machine={machine}, version={version}, entry={entry:#x}, "
            f"flags={flags:#x}, sections={shnum}, names={shstrndx}"
            + ("" if phentsize == 56 else f", phentsize={phentsize}")
        )
        out.append(f"\t.target {target_name(f)}")
        sizes = unpack_from("<H", self.data, 52)[0], unpack_from("<H", self.data, 58)[0]
        if any(self.data[shoff : shoff + 64]) or sizes != (64, 64) or (phoff and not phnum):
            raise CubinError("the ELF header has values that a full listing cannot say")
        order = sorted(range(1, len(f.sections)), key=lambda i: (f.sections[i].offset, i))
        self._more_labels()
        at = 64
        placed: dict[tuple[int, int], int] = {}
        for i in order:
            at = self._section(f.sections[i], at, placed)
        if shoff < at:
            raise CubinError("the section headers lie between the sections")
        out.append("")
        gap = self.data[at:shoff]
        out.append("\t.headers" + ("" if gap == bytes(-at % 8) else f" gap={gap.hex() or 'none'}"))
        end = shoff + 64 * shnum
        if phnum and phoff != end:
            raise CubinError("the program headers do not stand after the section headers")
        for i in range(phnum):
            self._segment(unpack_from("<IIQQQQQQ", self.data, phoff + 56 * i), phoff, phnum, order)
        end += 56 * phnum
        if self.data[end:]:
            out.append(f"\t.tail {self.data[end:].hex()}")
        return "\n".join(out) + "\n"

    # -- names ------------------------------------------------------------------------------------------------------

    def _more_labels(self) -> None:
        """Names for every instruction that a relocation or attribute refers to."""
        for s in self.file.sections:
            if not self._is_code(s):
                continue
            for r in self.file.relocations(s):
                if r.offset & 15 == 0 and r.offset < s.size:
                    self._address(s.index, r.offset)

    def _address(self, section: int, addr: int) -> str:
        """The name of a code address; preferably of a function."""
        for s in self.labels.symbols.get(section, ()):
            if s.type == elf.STT_FUNC and s.value == addr:
                return s.name
        return self.labels.of(section, addr)

    @staticmethod
    def _is_code(s: Section) -> bool:
        return s.type == elf.SHT_PROGBITS and s.flags & elf.SHF_EXECINSTR != 0 and s.size % INST_BYTES == 0

    def _in_code(self, section: int, addr: int) -> bool:
        if not 0 < section < len(self.file.sections):
            return False
        s = self.file.sections[section]
        return self._is_code(s) and addr % INST_BYTES == 0 and addr <= s.size

    def _section_ref(self, index: int) -> str:
        name = self.section_names.get(index)
        return quoted(name) if name else f"#{index}"

    def _symbol_ref(self, index: int) -> str:
        name = self.symbol_names.get(index)
        return quoted(name) if name else f"#{index}"

    # -- sections ---------------------------------------------------------------------------------------------------

    def _section(self, s: Section, at: int, placed: dict[tuple[int, int], int]) -> int:
        """Writes a section that begins at or after `at`; returns where its bytes end."""
        head = self.heads[s.index]
        words = [f"index={s.index}", f"type={s.type:#x}", f"flags={s.flags:#x}"]
        if head[0] != self._first(s.name):
            words.append(f"name={head[0]}")
        if s.addr:
            words.append(f"addr={s.addr:#x}")
        if s.link:
            words.append(f"link={self._section_ref(s.link)}")
        if self._is_code(s):
            words.append(f"registers={s.info >> 24}")
            words.append(f"symbol=#{s.info & 0xFFFFFF}")
        elif s.type in (elf.SHT_REL, elf.SHT_RELA) and s.info < len(self.file.sections):
            words.append(f"info={self._section_ref(s.info)}")
        elif s.info:
            words.append(f"info={s.info:#x}")
        words.append(f"align={s.align}")
        if s.entsize:
            words.append(f"entsize={s.entsize}")
        bits = s.type in elf.NO_BYTES
        shared = placed.get((s.offset, s.size)) if s.offset < at and not bits else None
        if shared is not None:
            words.append(f"same=#{shared}")
        elif s.offset < at or (bits and s.offset != at + -at % max(1, s.align)):
            words.append(f"offset={s.offset:#x}")
        else:
            gap = self.data[at : s.offset]
            if len(gap) != -at % max(1, s.align) or any(gap):
                words.append(f"gap={gap.hex() or 'none'}")
        if bits:
            words.append(f"size={s.size:#x}")
        self.lines.append(f"\n\t.section {quoted(s.name)}, " + ", ".join(words))
        if bits or shared is not None:
            return at
        placed[s.offset, s.size] = s.index
        self._body(s)
        return max(at, s.offset + s.size)

    def _first(self, name: str) -> int:
        """The first offset of a name in the table of section names."""
        table: int = unpack_from("<H", self.data, 62)[0]
        names = self.file.sections[table].data
        return (b"\0" + names).find(b"\0" + name.encode("utf-8", "replace") + b"\0")

    def _body(self, s: Section) -> None:
        if self._is_code(s):
            self._code(s)
        elif s.type == elf.SHT_STRTAB and (s.data[:1], s.data[-1:]) == (b"\0", b"\0"):
            for item in s.data[1:-1].split(b"\0") if len(s.data) > 1 else ():
                self.lines.append(f"\t.string {json.dumps(item.decode('latin-1'))}")
        elif s.type == elf.SHT_SYMTAB:
            self._symbols(s)
        elif s.type == elf.SHT_CUDA_INFO and self._attributes(s):
            pass
        elif s.type in (elf.SHT_REL, elf.SHT_RELA) and s.entsize in (16, 24) and s.size % s.entsize == 0:
            self._relocations(s)
        elif s.name == ".debug_frame":
            self._frames(s)
        else:
            self._bytes(s.data)

    def _bytes(self, data: bytes) -> None:
        out = self.lines
        i = 0
        while i < len(data):
            if not any(data[i : i + 64]):
                end = i
                while end < len(data) and not any(data[end : end + 32]):
                    end = min(end + 32, len(data))
                out.append(f"\t.zero {end - i}")
                i = end
                continue
            out.append(f"\t.byte {data[i : i + 32].hex(' ')}")
            i += 32

    def _code(self, s: Section) -> None:
        out = self.lines
        names = self.labels.in_section(s.index)
        starts: dict[int, list[str]] = {}
        for x in self.labels.symbols.get(s.index, ()):
            if x.type == elf.STT_FUNC:
                starts.setdefault(x.value, []).append(x.name)
        table = self.table
        text = table.text
        marks: dict[int, str] = {}
        for addr in range(0, len(s.data), INST_BYTES):
            for name in starts.get(addr, ()):
                out.append(f"{quoted(name)}:")
            label = names.get(addr, "")
            if label.startswith(".L_x_"):
                out.append(label + ":")
            word = int.from_bytes(s.data[addr : addr + INST_BYTES], "little")
            try:
                line = text(word, addr, names)
            except IllegalWord:
                out.append(f"\t.quad {word & (1 << 64) - 1:#x}, {word >> 64:#x}")
                continue
            mark = marks.get(word)
            if mark is None:
                mark = marks[word] = control_text(word >> CTL_SHIFT & 0x1FFFFF) + unsaid(table, word)
            out.append(f"  /*{addr:04x}*/ {line} ; /* {mark} */")
        end = names.get(len(s.data), "")
        if end:
            out.append(end + ":")

    def _symbols(self, s: Section) -> None:
        strings = self.file.sections[s.link].data
        for i, x in enumerate(self.file.symbols):
            name_at, info, other, section, _value, _size = unpack_from("<IBBHQQ", s.data, 24 * i)
            words = [f"type={info & 15}", f"bind={info >> 4}"]
            if (b"\0" + strings).find(b"\0" + x.name.encode("utf-8", "replace") + b"\0") != name_at:
                words.append(f"name={name_at}")
            if other:
                words.append(f"other={other:#x}")
            if section:
                words.append(f"section={self._section_ref(section)}" if section < 0xFF00 else f"section=#{section:#x}")
            code = self._in_code(section, x.value) and x.type == elf.STT_FUNC
            end = self._in_code(section, x.value + x.size)
            if x.value:
                words.append(f"value={quoted(self._address(section, x.value)) if code else hex(x.value)}")
            if x.size:
                sized = code and end
                words.append(
                    f"size=end({quoted(self._address(section, x.value + x.size))})" if sized else f"size={x.size:#x}"
                )
            self.lines.append(f"\t.symbol {quoted(x.name)}, " + ", ".join(words))

    def _relocations(self, s: Section) -> None:
        for r in self.file.relocation_entries(s):
            known = TYPES.get(r.type)
            name = known.name if known else f"{r.type}"
            target = s.info if s.info < len(self.file.sections) else 0
            base = r.offset & ~15
            if target and self._is_code(self.file.sections[target]) and base < self.file.sections[target].size:
                where = quoted(self._address(target, base)) + (f"+{r.offset & 15}" if r.offset & 15 else "")
            else:
                where = f"{r.offset:#x}"
            addend = ""
            if r.rela and r.addend:
                symbol = self.file.symbols[r.symbol]
                addend = f", {r.addend:#x}"
                if self._in_code(symbol.section, symbol.value + r.addend):
                    addend = f", from({quoted(self._address(symbol.section, symbol.value + r.addend))})"
            self.lines.append(f"\t.reloc {where}, {name}, {self._symbol_ref(r.symbol)}{addend}")

    def _attributes(self, s: Section) -> bool:
        """Writes the records of an attribute section; False if they would not encode to the same bytes."""
        try:
            records = nv.decode(s.data, s.name)
        except CubinError:
            return False
        if nv.encode(records) != s.data:
            return False
        code = next((x for x in self.file.sections if self._is_code(x) and s.name == f".nv.info.{x.name[6:]}"), None)
        for r in records:
            name = nv.NAMES.get(r.code)
            head = f"\t.attr {name if name and name != 'UNKNOWN' else f'{r.code:#x}'}, {_ATTRIBUTE_FORMATS[r.format]}"
            if r.format == nv.SVAL:
                values = self._words(r, code)
            else:
                values = [] if r.format == nv.NVAL and not r.value else [f"{r.value:#x}"]
            self.lines.append(", ".join([head, *values]))
        return True

    def _words(self, r: nv.Record, code: Section | None) -> list[str]:
        """The payload of a record: names where it refers to symbols or code."""
        if len(r.payload) % 4:
            return ["hex", r.payload.hex()]
        words = r.words()
        if r.code in _SYMBOL_FIRST and len(words) == 2 and words[0] < len(self.file.symbols):
            return [self._symbol_ref(words[0]), f"{words[1]:#x}"]
        if code is None:
            return [f"{w:#x}" for w in words]
        if r.code == nv.EXIT_INSTR_OFFSETS and words == exits(code.data, self.table):
            return ["auto"]
        place = OFFSET_RECORDS.get(r.code)
        if place is not None:
            first, step = place
            offsets = set(range(first, len(words), step))
        elif r.code == nv.INDIRECT_BRANCH_TARGETS:
            offsets = set()
            at = 0
            for _, targets in branch_targets(words):
                offsets |= {at, *range(at + 3, at + 3 + len(targets))}
                at += 3 + len(targets)
        else:
            offsets = set()
        out: list[str] = []
        for i, w in enumerate(words):
            named = i in offsets and self._in_code(code.index, w)
            out.append(quoted(self._address(code.index, w)) if named else f"{w:#x}")
        return out

    def _frames(self, s: Section) -> None:
        """Writes ``.debug_frame`` as bytes, except the range of a function whose symbol has the same size."""
        data = s.data
        ranges: dict[int, str] = {}
        for r in self.file.relocations(s):
            symbol = self.file.symbols[r.symbol]
            at = r.offset + 8
            if (
                symbol.type == elf.STT_FUNC
                and at + 8 <= len(data)
                and self._in_code(symbol.section, symbol.value + symbol.size)
            ):
                if symbol.size and unpack_from("<Q", data, at)[0] == symbol.size:
                    ranges[at] = f"\t.range {self._symbol_ref(symbol.index)}"
        at = 0
        for place in sorted(ranges):
            if place < at:
                continue
            self._bytes(data[at:place])
            self.lines.append(ranges[place])
            at = place + 8
        self._bytes(data[at:])

    # -- segments ---------------------------------------------------------------------------------------------------

    def _segment(self, head: tuple[int, ...], phoff: int, phnum: int, order: list[int]) -> None:
        kind, flags, offset, vaddr, paddr, filesz, memsz, align = head
        words = [f"type={kind}", f"flags={flags}", f"align={align}"]
        if vaddr or paddr:
            words.append(f"vaddr={vaddr:#x}, paddr={paddr:#x}")
        if offset == phoff and filesz == 56 * phnum:
            words.append("headers")
        else:
            sections = self.file.sections
            backed = [i for i in order if sections[i].type not in elf.NO_BYTES]
            first = next((i for i in backed if sections[i].offset == offset), 0)
            last = next((i for i in reversed(backed) if sections[i].offset + sections[i].size == offset + filesz), 0)
            if first and last and sections[last].offset >= offset:
                words.append(f"first={self._section_ref(first)}, last={self._section_ref(last)}")
            else:
                words.append(f"offset={offset:#x}, filesz={filesz:#x}")
        if memsz != filesz:
            words.append(f"more={memsz - filesz:#x}")
        self.lines.append("\t.segment " + ", ".join(words))


def exits(code: bytes, table: IsaTable) -> list[int]:
    """Offsets of the ``EXIT`` instructions, in the order of the attribute."""
    out: list[int] = []
    for addr in range(0, len(code), INST_BYTES):
        word = int.from_bytes(code[addr : addr + INST_BYTES], "little")
        if word & 0xFFF == _EXIT:
            form = table.form(word)
            if form is not None and form.mnemonic == "EXIT":
                out.append(addr)
    return out


_EXIT: Final = 0x94D
"""Bits 0..11 of EXIT, on every SM."""


def _unique(names: list[str]) -> dict[int, str]:
    """The unique names, by the number of their entry."""
    seen: dict[str, int] = {}
    for i, name in enumerate(names):
        seen[name] = -1 if name in seen else i
    return {i: name for name, i in seen.items() if i >= 0 and name}
