"""The disassembler: turns a cubin into instructions or a listing.

:func:`disassemble` prints the code sections as ``nvdisasm -c`` does, :func:`disassemble_raw` bare code as
``nvdisasm -b`` does; :func:`decode_text_section` returns instructions with operations and operands of the IR, for the
simulator.
"""

import re
from collections.abc import Callable
from typing import Final, final

from orias.cubin import elf
from orias.cubin.elf import ElfFile, ElfReloc, Section, Symbol
from orias.cubin.lineread import DEBUG_LINE, PTX_LINE, comments, line_tables
from orias.cubin.nvinfo import INDIRECT_BRANCH_TARGETS
from orias.cubin.nvinfo import decode as decode_info
from orias.cubin.relocs import CALL_RELOCS
from orias.isa.isa_table import CTL_SHIFT, Decoded, IllegalWord, IsaTable, load
from orias.isa.notation import H_FIELD
from orias.target.decoder_class import table_of_name, table_of_sm
from orias.tools.cubin_annotations import annotations_of
from orias.tools.cubin_target import header_lines
from orias.tools.labels import (
    CONST_RELOCS,
    FUNCTION_RELOCS,
    HALF_RELOCS,
    INST_BYTES,
    OFFSET_RELOCS,
    REFERENCES,
    WORD_RELOCS,
    Labels,
    branch_targets,
    code_sections,
)

__all__ = ["INST_BYTES", "Style", "control_text", "decode_text_section", "disassemble", "disassemble_raw"]

_TEXT_COLUMN: Final = 35
"""Column of an instruction's text, after the guard."""
_NO_CONTROL: Final = 7 << 5 | 7 << 8
"""The control word of padding, which is printed without a space before the semicolon."""
_SHOWN_EVERY: Final = 0x4000
"""Bytes of code between two progress updates."""
HEAD: Final = 0
"""Kind of a line in :attr:`Listing.places`: the symbols at an address."""
LABEL: Final = 1
INSTRUCTION: Final = 2
END: Final = 3
"""The label after the last instruction of a section."""
_SPACES: Final = {0x20: "STO_CUDA_GLOBAL", 0x40: "STO_CUDA_SHARED", 0x80: "STO_CUDA_CONSTANT"}


def decode_text_section(code: bytes, table: str | IsaTable) -> list[Decoded]:
    """The instructions of a ``.text`` section, each with its byte address in ``addr``.

    `table` is an instruction table or its name (``Target.table``).  Raises ValueError if the length is no multiple of
    16, IllegalWord if a word is not an instruction.
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


@final
class Style:
    """What a listing shows: ``hex_words`` the instruction words, ``control`` readable control words, ``lines`` source lines.

    ``lines`` is empty, ``g`` (source lines), ``gi`` (call sites too) or ``gp`` (lines of the PTX text).  ``plain``: blanks
    instead of tabs, and guards in the column of the instructions.  ``apart``: blank lines before each function.
    ``targets``: comments with the targets of indirect branches.  ``by_name``: sections sorted by name.
    """

    __slots__ = ("apart", "by_name", "control", "hex_words", "lines", "plain", "progress", "targets")

    def __init__(
        self,
        hex_words: bool = False,
        control: bool = False,
        lines: str = "",
        progress: Callable[[int, int, str], None] | None = None,
        plain: bool = False,
        apart: bool = False,
        targets: bool = True,
        by_name: bool = False,
    ) -> None:
        self.hex_words: Final[bool] = hex_words
        self.control: Final[bool] = control
        self.lines: Final[str] = lines
        self.progress: Final[Callable[[int, int, str], None] | None] = progress
        """Called regularly with the number of listed bytes of code, their total, and the section's name."""
        self.plain: Final[bool] = plain
        self.apart: Final[bool] = apart
        self.targets: Final[bool] = targets
        self.by_name: Final[bool] = by_name


def disassemble(
    data: bytes,
    hex_words: bool = False,
    control: bool = False,
    lines: str = "",
    progress: Callable[[int, int, str], None] | None = None,
) -> str:
    """The listing of a cubin's code sections; the arguments are those of :class:`Style`.

    An illegal word is printed as a ``.quad`` pair with the reason.  In a relocatable file, names replace call targets
    and 32-bit halves of addresses; other fields that a linker fills in show their raw value.  Raises CubinError if the
    file is no cubin, KeyError if there is no table for its target.
    """
    return Listing(ElfFile(data), Style(hex_words, control, lines, progress)).text()


def disassemble_raw(code: bytes, name: str, base: int = 0, style: Style | None = None) -> str:
    """The listing of bare code for a decoder such as ``SM90a``, whose first byte is at address `base`.

    Raises KeyError if there is no such decoder, ValueError if the length is no multiple of 16.
    """
    if len(code) % INST_BYTES:
        raise ValueError(f"code of {len(code)} bytes is not a whole number of instructions")
    rows = Rows(load(table_of_name(name)), style or Style())
    accelerated = "EF_CUDA_ACCELERATORS " if name.endswith("a") else ""
    sm = "EF_CUDA_SM" + name.lower().removeprefix("sm").removeprefix("_").rstrip("af")
    head = f'\t.headerflags\t@"EF_CUDA_64BIT_ADDRESS {accelerated}{sm} EF_CUDA_VIRTUAL_SM({sm})"'
    rows.lines.extend((head, head))
    for at in range(0, len(code), INST_BYTES):
        word = int.from_bytes(code[at : at + INST_BYTES], "little")
        rows.add(base + at, word, rows.text(word, base + at, None))
    rows.finish()
    return "\n".join(rows.lines) + "\n"


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
class Rows:
    """Collects the lines of a listing; :meth:`finish` formats instructions when all column widths are known."""

    __slots__ = ("_rows", "_style", "lines", "table")

    def __init__(self, table: IsaTable, style: Style) -> None:
        self.table: Final[IsaTable] = table
        self._style: Final[Style] = style
        self._rows: Final[list[_Row]] = []
        self.lines: Final[list[str]] = []

    def text(self, word: int, addr: int, names: dict[int, str] | None) -> str:
        """The text of an instruction, or ``.quad`` and the reason why the word is illegal."""
        try:
            return self.table.text(word, addr, names)
        except IllegalWord as e:
            return f".quad {word & (1 << 64) - 1:#x}, {word >> 64:#x} // {e}"

    def add(self, addr: int, word: int, text: str, comment: str = "") -> None:
        """Add one instruction; `text` comes from :meth:`text`."""
        if text.startswith(".quad"):
            self.lines.append(f"        /*{addr:04x}*/                   {text}")
            return
        guard = ""
        if text.startswith(("@P", "@!P")) and not self._style.plain:
            guard, _, text = text.partition(" ")
            guard += " "
        gap = "" if word >> CTL_SHIFT & 0x1FFFFF == _NO_CONTROL else " "
        self._rows.append(_Row(len(self.lines), addr, guard, text + gap, comment, word))
        self.lines.append("")

    def finish(self) -> None:
        """Formats the instructions, with comments and words aligned in the whole listing."""
        style = self._style
        lines = self.lines
        if not (style.hex_words or style.control or any(r.comment for r in self._rows)):
            for r in self._rows:
                lines[r.at] = f"        /*{r.addr:04x}*/{r.guard:>19}{r.text};"
            return
        text_width = max((len(r.text) for r in self._rows), default=0)
        comment_width = max((len(r.comment) for r in self._rows), default=0)
        column = _TEXT_COLUMN + text_width + comment_width + 3
        for r in self._rows:
            row = f"        /*{r.addr:04x}*/{r.guard:>19}{r.text}"
            row = f"{row:<{_TEXT_COLUMN + text_width + 1}}{r.comment};" if r.comment else row + ";"
            if style.hex_words:
                row = f"{row:<{column}}/* {r.word & (1 << 64) - 1:#018x} */"
            if style.control:
                row = (
                    f"{row:<{column}} /* {control_text(r.word >> CTL_SHIFT & 0x1FFFFF)}{unsaid(self.table, r.word)} */"
                )
            if style.hex_words:
                row += "\n" + " " * column + f"/* {r.word >> 64:#018x} */"
            lines[r.at] = row


def unsaid(table: IsaTable, word: int) -> str:
    """`` ^hex``: the bits of a word that the assembler cannot derive from its text and control word; empty if none."""
    from orias.tools.assemble import AsmError, assemble_instruction

    try:
        said = assemble_instruction(table.text(word), table)
    except AsmError:
        said = 0
    flips = (said | (word >> CTL_SHIFT & 0x1FFFFF) << CTL_SHIFT) ^ word
    return f" ^{flips:x}" if flips else ""


@final
class Listing:
    """One listing being written.

    ``places``: for each line that belongs to an address of a section, its index -> (section, byte address, kind).
    """

    __slots__ = ("file", "labels", "line_comments", "lines", "places", "rows", "style", "table")

    def __init__(self, file: ElfFile, style: Style) -> None:
        self.file: Final[ElfFile] = file
        self.style: Final[Style] = style
        self.table: Final[IsaTable] = load(table_of_sm(file.sm))
        self.labels: Final[Labels] = Labels(file, self.table)
        self.rows: Final[Rows] = Rows(self.table, style)
        self.lines: Final[list[str]] = self.rows.lines
        self.places: Final[dict[int, tuple[int, int, int]]] = {}
        self.line_comments: Final[dict[int, dict[int, list[str]]]] = {}
        if style.lines:
            tables = line_tables(file, PTX_LINE if style.lines == "gp" else DEBUG_LINE)
            for section, entries in tables.items():
                self.line_comments[section] = comments(entries, style.lines == "gi")

    def text(self) -> str:
        kind = "ET_REL" if self.file.type == elf.ET_REL else "ET_EXEC"
        self.lines.append(f'{header_lines(self.file)}\n\t.elftype\t@"{kind}"\n')
        sections = code_sections(self.file)
        if self.style.by_name:
            sections.sort(key=lambda s: s.name)
        total, done = sum(len(s.data) for s in sections), 0
        for s in sections:
            self._section(s, done, total)
            done += len(s.data)
        if self.style.progress is not None:
            self.style.progress(total, total, "")
        self.rows.finish()
        self._outside_symbols()
        text = "\n".join(self.lines)
        return text.expandtabs() if self.style.plain else text

    def _section(self, s: Section, done: int, total: int) -> None:
        progress = self.style.progress
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
        for symbol in self.labels.symbols.get(s.index, ()):
            starts.setdefault(symbol.value, []).append(symbol)
        names = self.labels.in_section(s.index)
        branches = self.branch_comments(s)
        sources = self.line_comments.get(s.index, {})
        for addr in range(0, len(s.data) - 15, INST_BYTES):
            if progress is not None and addr % _SHOWN_EVERY == 0:
                progress(done + addr, total, s.name)
            if self.style.apart and any(x.type == elf.STT_FUNC for x in starts.get(addr, ())):
                out.append("\n" * 3)
            for symbol in reversed(starts.get(addr, [])):
                for line in self.symbol_lines(symbol, s, names):
                    self.places[len(out)] = (s.index, addr, HEAD)
                    out.append(line)
            name = names.get(addr, "")
            if name.startswith(".L_x_"):
                self.places[len(out)] = (s.index, addr, LABEL)
                out.append(name + ":")
            out += sources.get(addr, ())
            word = int.from_bytes(s.data[addr : addr + INST_BYTES], "little")
            self.places[len(out)] = (s.index, addr, INSTRUCTION)
            self.rows.add(addr, word, self.instruction_text(s, addr, names), branches.get(addr, ""))
        self.places[len(out)] = (s.index, len(s.data), END)
        out.append(names.get(len(s.data), "") + ":\n")

    def instruction_text(self, s: Section, addr: int, names: dict[int, str]) -> str:
        """The text of the instruction at a byte address of a section, with the symbol of its relocation."""
        word = int.from_bytes(s.data[addr : addr + INST_BYTES], "little")
        text = self.rows.text(word, addr, names)
        reloc = self.labels.relocs.get((s.index, addr))
        return text if reloc is None else self._relocated(text, word, reloc, s)

    def symbol_lines(self, symbol: Symbol, s: Section, names: dict[int, str]) -> list[str]:
        """The lines that declare a symbol of a section; the last is its label."""
        out: list[str] = []
        if symbol.type == elf.STT_SECTION:
            return [s.name + ":"]
        reference = REFERENCES.get(symbol.type)
        if reference is not None:
            return [f'        .type           {symbol.name},@"{reference}"', symbol.name + ":"]
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
        return out

    def branch_comments(self, s: Section) -> dict[int, str]:
        """The comments at instructions of a section, by their byte address: targets of indirect branches, spills."""
        info = self.file.section(".nv.info." + s.name.removeprefix(".text."))
        out: dict[int, str] = {}
        if info is None:
            return out
        for record in decode_info(info.data, info.name):
            if record.code == INDIRECT_BRANCH_TARGETS and self.style.targets:
                for at, targets in branch_targets(record.words()):
                    names = ",".join(self.labels.of(s.index, a) for a in dict.fromkeys(targets))
                    out[at] = f'(*"BRANCH_TARGETS {names}"*)'
        for at in annotations_of(self.file, s)[0]:
            out[at] = '(*"SpillRefill"*)'
        return out

    def _relocated(self, text: str, word: int, r: ElfReloc, s: Section) -> str:
        """The text with the symbol of a relocation in place of the field's value."""
        symbol = self.file.symbol(r.symbol, s.name)
        name = self.file.symbol_name(r.symbol, s.name)
        if r.type in HALF_RELOCS:
            if r.type in FUNCTION_RELOCS:
                name = f"fun@{FUNCTION_RELOCS[r.type]}({name})"
            if r.addend and symbol.section and self.file.sections[symbol.section].flags & elf.SHF_EXECINSTR:
                name = f"({name} + {self.labels.of(symbol.section, symbol.value + r.addend)}@srel)"
            elif r.addend:
                name = f"({name} + {r.addend:#x})"
            return self._swap(text, word, f"{HALF_RELOCS[r.type]}({name})")
        if r.type in WORD_RELOCS:
            return self._swap(text, word, f"`({name})")
        if r.type in OFFSET_RELOCS and "]" in text:
            return _with_offset(text, name)
        if r.type in CONST_RELOCS:
            return re.sub(r"c\[0x[0-9a-f]+\]\[0x[0-9a-f]+\]", f"c[`({name})]", text, count=1)
        if r.type in CALL_RELOCS:
            head, _, last = text.rpartition(" ")
            return f"{head if last.startswith(('0x', '-0x', '`(')) else text} `({name})"
        return text

    def _swap(self, text: str, word: int, new: str) -> str:
        """Replaces the 32-bit immediate at bits 32..63 in a text."""
        form = self.table.form(word)
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

    def _outside_symbols(self) -> None:
        """Symbols that other files define, common ones first."""
        kinds = (elf.STT_OBJECT, elf.STT_FUNC, elf.STT_CUDA_OBJECT, *REFERENCES)
        common = [x for x in self.file.symbols if x.section == elf.SHN_COMMON]
        outside = common + [x for x in self.file.symbols if x.section == 0 and x.type in kinds]
        if not outside:
            return
        out = self.lines
        out.append("\n//--------------------- SYMBOLS --------------------------\n")
        for x in outside:
            if x.section == elf.SHN_COMMON:
                out.append(f"\t.comm\t\t{x.name}, {x.size}, {x.value}")
            if x.type == elf.STT_CUDA_OBJECT:
                out.append(f'\t.type\t\t{x.name},@"STT_CUDA_OBJECT"')
                out.append(f'\t.other\t\t{x.name},@"{_SPACES.get(x.other & 0xE0, hex(x.other))} STV_DEFAULT"')
            elif x.type in REFERENCES:
                out.append(f'\t.type\t\t{x.name},@"{REFERENCES[x.type]}"')
                continue
            else:
                out.append(f"\t.type\t\t{x.name},@{'function' if x.type == elf.STT_FUNC else 'object'}")
            if x.size and x.section != elf.SHN_COMMON and x.type != elf.STT_FUNC:
                out.append(f"\t.size\t\t{x.name},{x.size:#x}")
        out.append("")


def _with_offset(text: str, name: str) -> str:
    """An instruction's text with the offset of its address replaced by a name."""
    head, _, tail = text.partition("]")
    start = head.rindex("[") + 1
    base = re.sub(r"\+?-?0x[0-9a-f]+$", "", head[start:])
    base = "" if base == "RZ" else base + "+" if base else ""
    return f"{head[:start]}{base}`({name})]{tail}"
