"""The disassembler: cubin bytes to instructions or to a listing.

:func:`disassemble` prints the code sections as ``nvdisasm -c`` does; :func:`decode_text_section` gives instructions in the
vocabulary of the IR, for the simulator.
"""

from typing import Final, final

from orias.cubin import elf
from orias.cubin.elf import ElfFile, ElfReloc, Section, Symbol
from orias.cubin.nvinfo import EXIT_INSTR_OFFSETS, INDIRECT_BRANCH_TARGETS
from orias.cubin.nvinfo import decode as decode_info
from orias.cubin.relocs import R_ABS32_HI_32, R_ABS32_LO_32, R_ABS47_34, R_ABS55_16_34, R_ABS56_16_34
from orias.isa.rawtable import H_FIELD, Form
from orias.isa.table import CTL_SHIFT, Decoded, IllegalWord, IsaTable, load
from orias.target.profile import TARGETS

INST_BYTES: Final = 16
_TEXT_COLUMN: Final = 35
"""Where the text of an instruction starts, guard apart."""

_CALLS: Final = (R_ABS47_34, R_ABS55_16_34, R_ABS56_16_34)
_HALVES: Final[dict[int, str]] = {R_ABS32_LO_32: "32@lo", R_ABS32_HI_32: "32@hi"}


def decode_text_section(code: bytes, table: str | IsaTable) -> list[Decoded]:
    """The instructions of a ``.text`` section, each with its byte address in ``addr``.

    `table` is an instruction table or its name (``Target.table``).  Raises ValueError if the length is no multiple of 16,
    IllegalWord if a word is not an instruction.
    """
    t = load(table) if isinstance(table, str) else table
    if len(code) % INST_BYTES:
        raise ValueError(f"code of {len(code)} bytes is not a whole number of instructions")
    out: list[Decoded] = []
    for addr in range(0, len(code), INST_BYTES):
        d = t.decode(int.from_bytes(code[addr : addr + INST_BYTES], "little"))
        d.addr = addr
        out.append(d)
    return out


def control_text(ctl: int) -> str:
    """A control word in readable form: ``B0-2--- R- W1 Y S04``: waits, read and write barrier, yield, stall count."""
    waits = "".join(str(i) if ctl >> 11 + i & 1 else "-" for i in range(6))
    write, read = ctl >> 5 & 7, ctl >> 8 & 7
    sched = "-" if ctl >> 4 & 1 else "Y"
    reuse = f" U{ctl >> 17:x}" if ctl >> 17 else ""
    return f"B{waits} R{'-' if read == 7 else read} W{'-' if write == 7 else write} {sched} S{ctl & 15:02}{reuse}"


def disassemble(data: bytes, hex_words: bool = False, control: bool = False) -> str:
    """The listing of a cubin's code sections.

    `hex_words` adds the instruction words, `control` the control word in readable form.  A word that is no instruction is
    printed as ``.quad`` pairs with the reason.  In a relocatable file, names stand for calls and 32-bit halves of addresses; other
    fields that a linker fills in show their raw value, and labels made for them are not counted.  Raises CubinError if the file is no cubin, KeyError if there is no table for
    its target.
    """
    return _Listing(ElfFile(data), hex_words, control).text()


@final
class _Row:
    """One instruction of a listing: index of its line, byte address, guard, text, comment, word."""

    __slots__ = ("addr", "at", "comment", "guard", "text", "word")

    def __init__(self, at: int, addr: int, guard: str, text: str, comment: str, word: int) -> None:
        self.at: Final[int] = at
        self.addr: Final[int] = addr
        self.guard: Final[str] = guard
        self.text: Final[str] = text
        self.comment: Final[str] = comment
        self.word: Final[int] = word


@final
class _Listing:
    """One listing being written."""

    __slots__ = ("control", "file", "hex_words", "labels", "lines", "numbered", "relocs", "rows", "table", "target")

    def __init__(self, file: ElfFile, hex_words: bool, control: bool) -> None:
        self.file: Final[ElfFile] = file
        self.hex_words: Final[bool] = hex_words
        self.control: Final[bool] = control
        compat = file.section(".nv.compat")
        accelerated = compat is not None and any(
            r.code == 9 and r.value == 1 for r in decode_info(compat.data, ".nv.compat")
        )
        self.target: Final[str] = f"sm_{file.flags >> 8 & 0xFFFF}{'a' if accelerated else ''}"
        self.table: Final[IsaTable] = load(TARGETS[self.target].table)
        self.rows: Final[list[_Row]] = []
        self.labels: Final[dict[tuple[int, int], str]] = {}
        """Name of an address, by (section, address)."""
        self.numbered: int = 0
        """How many numbers labels have used up."""
        self.relocs: Final[dict[tuple[int, int], ElfReloc]] = {}
        self.lines: Final[list[str]] = []

    def text(self) -> str:
        kind = "ET_REL" if self.file.type == elf.ET_REL else "ET_EXEC"
        self.lines.append(f'\t.target\t{self.target}\n\n\t.elftype\t@"{kind}"\n')
        sections = [s for s in self.file.sections if s.type == elf.SHT_PROGBITS and s.flags & elf.SHF_EXECINSTR]
        self._name_labels(sections)
        for s in sections:
            self._section(s)
        self._write_rows()
        outside = [x for x in self.file.symbols if x.section == 0 and x.type in (elf.STT_OBJECT, elf.STT_FUNC)]
        if outside:
            self.lines.append("\n//--------------------- SYMBOLS --------------------------\n")
            for x in outside:
                if x.type == elf.STT_FUNC:
                    self.lines.append(f"\t.type\t\t{x.name},@function")
                else:
                    self.lines.append(f"\t.type\t\t{x.name},@object\n\t.size\t\t{x.name},{x.size:#x}")
            self.lines.append("")
        return "\n".join(self.lines)

    # -- labels ---------------------------------------------------------------------------------------------------

    def _label(self, section: int, addr: int) -> str:
        key = (section, addr)
        name = self.labels.get(key)
        if name is None:
            for s in self._symbols(section):
                if s.value == addr and s.type == elf.STT_FUNC:
                    return s.name
            name = self.labels[key] = f".L_x_{self.numbered}"
            self.numbered += 1
        return name

    def _own_label(self, section: int, addr: int) -> None:
        """A label for an attribute: it uses up a number even where the address has a name already."""
        self.labels.setdefault((section, addr), f".L_x_{self.numbered}")
        self.numbered += 1

    def _symbols(self, section: int) -> list[Symbol]:
        return [s for s in self.file.symbols if s.section == section and s.type in (elf.STT_FUNC, elf.STT_SECTION)]

    def _name_labels(self, sections: list[Section]) -> None:
        """Numbers labels in the tool's order: relocation targets, branch targets, attributes, ends of sections."""
        code = {s.index for s in sections}
        for s in sections:
            for r in self.file.relocations(s):
                key = (s.index, r.offset & ~15)
                if key not in self.relocs or r.type in _HALVES or r.type in _CALLS:
                    self.relocs[key] = r
            for r in sorted(self.file.relocations(s), key=lambda r: r.offset):
                symbol = self.file.symbol(r.symbol, s.name)
                if r.type in _HALVES and r.addend and symbol.section in code:
                    self._label(symbol.section, symbol.value + r.addend)
        for s in sections:
            for addr in range(0, len(s.data) - 15, INST_BYTES):
                if (s.index, addr) in self.relocs:
                    continue
                for target in self.targets(int.from_bytes(s.data[addr : addr + 16], "little"), addr):
                    if 0 <= target < len(s.data):
                        self._label(s.index, target)
        for s in sections:
            self._attribute_labels(s)
        for x in self.file.symbols:
            key = (x.section, x.value + x.size)
            if x.type == elf.STT_FUNC and x.section in code and key not in self.labels:
                self.labels[key] = f".L_x_{self.numbered}"
                self.numbered += 1

    def _attribute_labels(self, section: Section) -> None:
        info = self.file.section(".nv.info." + section.name.removeprefix(".text."))
        if info is None:
            return
        for record in decode_info(info.data, info.name):
            if record.code == EXIT_INSTR_OFFSETS:
                for addr in record.words():
                    self._own_label(section.index, addr)
            elif record.code == INDIRECT_BRANCH_TARGETS:
                words = record.words()
                at = 0
                while at + 3 <= len(words):
                    self._label(section.index, words[at])
                    count = words[at + 2]
                    for addr in words[at + 3 : at + 3 + count]:
                        self._label(section.index, addr)
                    at += 3 + count

    def _form(self, word: int) -> Form | None:
        return self.table.form(word)

    def targets(self, word: int, addr: int) -> list[int]:
        """Addresses an instruction names."""
        form = self._form(word)
        if form is None:
            return []
        out = []
        for o in form.operands:
            for e in o.elems:
                if e.kind == "L":
                    v = e.value(word)
                    if v is not None:
                        out.append(addr + INST_BYTES + v)
        return out

    # -- output ---------------------------------------------------------------------------------------------------

    def _section(self, s: Section) -> None:
        out = self.lines
        out.append(f"\n//--------------------- {s.name:<25} --------------------------")
        out.append(f'\t.section\t{s.name},"ax",@progbits')
        barriers = s.flags >> 20 & 0x7F
        if barriers:
            out.append(f'\t.sectionflags\t@"SHF_BARRIERS={barriers}"')
        registers = s.info >> 24
        if registers:
            out.append(f'\t.sectioninfo\t@"SHI_REGISTERS={registers}"')
        out.append(f"\t.align\t{s.align}")
        starts: dict[int, list[Symbol]] = {}
        for symbol in self._symbols(s.index):
            starts.setdefault(symbol.value, []).append(symbol)
        names = {a: n for (i, a), n in self.labels.items() if i == s.index}
        names.update((x.value, x.name) for x in self._symbols(s.index) if x.type == elf.STT_FUNC)
        labels_here = {a: n for a, n in names.items() if n.startswith(".L_x_")}
        comments = self._branch_comments(s)
        for addr in range(0, len(s.data) - 15, INST_BYTES):
            for symbol in reversed(starts.get(addr, [])):
                self._symbol(symbol, s, names)
            if addr in labels_here:
                out.append(labels_here[addr] + ":")
            self._line(s, addr, names, comments.get(addr, ""))
        out.append(names.get(len(s.data), "") + ":\n")

    def _symbol(self, symbol: Symbol, s: Section, names: dict[int, str]) -> None:
        out = self.lines
        if symbol.type == elf.STT_SECTION:
            out.append(s.name + ":")
            return
        if symbol.bind == elf.STB_GLOBAL:
            out.append(f"        .global         {symbol.name}")
        elif symbol.bind == elf.STB_WEAK:
            out.append(f"        .weak           {symbol.name}")
        out.append(f"        .type           {symbol.name},@function")
        end = names.get(symbol.value + symbol.size, hex(symbol.value + symbol.size))
        out.append(f"        .size           {symbol.name},({end} - {symbol.name})")
        if symbol.other & elf.STO_ENTRY:
            out.append(f'        .other          {symbol.name},@"STO_CUDA_ENTRY STV_DEFAULT"')
        out.append(symbol.name + ":")

    def _branch_comments(self, s: Section) -> dict[int, str]:
        info = self.file.section(".nv.info." + s.name.removeprefix(".text."))
        out: dict[int, str] = {}
        if info is None:
            return out
        for record in decode_info(info.data, info.name):
            if record.code == INDIRECT_BRANCH_TARGETS:
                words = record.words()
                at = 0
                while at + 3 <= len(words):
                    count = words[at + 2]
                    names = ",".join(self._label(s.index, a) for a in words[at + 3 : at + 3 + count])
                    out[words[at]] = f'(*"BRANCH_TARGETS {names}"*)'
                    at += 3 + count
        return out

    def _line(self, s: Section, addr: int, names: dict[int, str], comment: str) -> None:
        word = int.from_bytes(s.data[addr : addr + INST_BYTES], "little")
        try:
            text = self.table.text(word, addr, names)
        except IllegalWord as e:
            self.lines.append(
                f"        /*{addr:04x}*/                   .quad {word & (1 << 64) - 1:#x}, {word >> 64:#x} // {e}"
            )
            return
        reloc = self.relocs.get((s.index, addr))
        if reloc is not None:
            text = self._relocated(text, word, reloc, s)
        guard = ""
        if text.startswith("@"):
            guard, _, text = text.partition(" ")
            guard += " "
        gap = " " if word >> CTL_SHIFT & 31 else ""
        self.rows.append(_Row(len(self.lines), addr, guard, text + gap, comment, word))
        self.lines.append("")

    def _write_rows(self) -> None:
        """Instruction lines, once the columns are known: comments and words stand below each other in the whole listing."""
        text_width = max((len(r.text) for r in self.rows), default=0)
        comment_width = max((len(r.comment) for r in self.rows), default=0)
        column = _TEXT_COLUMN + text_width + comment_width + 3
        for r in self.rows:
            row = f"        /*{r.addr:04x}*/{r.guard:>19}{r.text}"
            row = f"{row:<{_TEXT_COLUMN + text_width + 1}}{r.comment};" if r.comment else row + ";"
            if self.hex_words:
                row = f"{row:<{column}}/* {r.word & (1 << 64) - 1:#018x} */"
            if self.control:
                row = f"{row:<{column}} /* {control_text(r.word >> CTL_SHIFT & 0x1FFFFF)}{self._unsaid(r)} */"
            if self.hex_words:
                row += "\n" + " " * column + f"/* {r.word >> 64:#018x} */"
            self.lines[r.at] = row

    def _unsaid(self, r: _Row) -> str:
        """`` ^hex``: the bits that the text and the control word do not give to the assembler."""
        from orias.tools.assemble import AsmError, assemble_instruction

        try:
            word = assemble_instruction(self.table.text(r.word, r.addr), self.table, r.addr)
        except AsmError:
            return ""
        flips = (word | (r.word >> CTL_SHIFT & 0x1FFFFF) << CTL_SHIFT) ^ r.word
        return f" ^{flips:x}" if flips else ""

    def _relocated(self, text: str, word: int, r: ElfReloc, s: Section) -> str:
        """The text with the name that the linker will fill in."""
        symbol = self.file.symbol(r.symbol, s.name)
        name = self.file.symbol_name(r.symbol, s.name)
        if r.type in _HALVES:
            if r.addend and symbol.section and self.file.sections[symbol.section].flags & elf.SHF_EXECINSTR:
                name = f"({name} + {self._label(symbol.section, symbol.value + r.addend)}@srel)"
            elif r.addend:
                name = f"({name} + {r.addend:#x})"
            return self._swap(text, word, f"{_HALVES[r.type]}({name})")
        if r.type in _CALLS:
            return text[: text.rindex(" ")] + f" `({name})"
        return text

    def _swap(self, text: str, word: int, new: str) -> str:
        """Replaces the 32-bit immediate at bits 32..63 in a text."""
        form = self._form(word)
        if form is None:
            return text
        for o in form.operands:
            for e in o.elems:
                if e.kind == "I" and e.how == H_FIELD and e.lo == 32:
                    v = e.value(word)
                    if v is not None:
                        head, found, tail = text.rpartition(hex(v))
                        return head + new + tail if found else text
        return text
