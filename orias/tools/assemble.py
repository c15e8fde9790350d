"""The assembler: turns a listing into instruction words, with the same tables as the disassembler.

It accepts the output of :func:`orias.tools.disassemble.disassemble`; addresses and comments are optional::

    .section .text.k,"ax",@progbits
    .L_x_0:
            @!P0 IADD3 R4, R5.reuse, -0x1, RZ ;   /* B0----- R- W1 Y S04 */
                 BRA `(.L_x_0) ;

A comment of the form ``B...... R. W. Y Snn [Un] [^hex]`` is the control word: wait mask, read barrier, write barrier,
yield, stall, reuse flags that the text does not show, bits that no text shows.  Without it an instruction waits for
nothing and stalls 15 cycles.
"""

import re
from typing import Final

from orias.isa.isa_table import CTL_SHIFT, IsaTable, load
from orias.tools.instruction import DEFAULT_CONTROL, INST_BYTES, AsmError, assemble_instruction

__all__ = ["AsmError", "assemble", "assemble_instruction", "assemble_line", "control_word"]

_CONTROL: Final = re.compile(r"B([0-5-]{6}) R([0-6-]) W([0-6-]) ([Y-]) S(\d\d)(?: U([0-9a-f]))?(?: \^([0-9a-f]+))?")


def control_word(text: str) -> tuple[int, int] | None:
    """(21-bit control word, bits to flip) of a control comment; None if the text is no control comment."""
    m = _CONTROL.search(text)
    if m is None:
        return None
    waits = sum(1 << i for i, c in enumerate(m.group(1)) if c != "-")
    read = 7 if m.group(2) == "-" else int(m.group(2))
    write = 7 if m.group(3) == "-" else int(m.group(3))
    sched = 0 if m.group(4) == "Y" else 16
    ctl = int(m.group(5)) | sched | write << 5 | read << 8 | waits << 11 | int(m.group(6) or "0", 16) << 17
    return ctl, int(m.group(7) or "0", 16)


_SECTION: Final = re.compile(r"\s*\.section\s+([^,\s]+)")
_NAME: Final = re.compile(r"\s*([.$\w]+):\s*$")
_ADDRESS: Final = re.compile(r"\s*/\*[0-9a-f]{4,}\*/")
_DIRECTIVES: Final = (
    ".target", ".elftype", ".sectioninfo", ".sectionflags", ".align", ".global", ".weak", ".type", ".size", ".other",
)  # fmt: skip


def assemble(text: str, table: str | IsaTable) -> dict[str, bytes]:
    """The code of every section of a listing (``.text`` if it names none).  Raises AsmError with line and column."""
    t = load(table) if isinstance(table, str) else table
    section = ".text"
    items: dict[str, list[tuple[int, int, str]]] = {}
    labels: dict[str, dict[str, int]] = {}
    for number, row in enumerate(text.splitlines(), 1):
        body = row.strip()
        if not body or body.startswith(("//", *_DIRECTIVES)) or re.fullmatch(r"/\* 0x[0-9a-f]{16} \*/", body):
            continue
        m = _SECTION.match(row)
        if m is not None:
            section = m.group(1)
            continue
        m = _NAME.match(row)
        if m is not None:
            labels.setdefault(section, {})[m.group(1)] = len(items.get(section, [])) * INST_BYTES
            continue
        m = _ADDRESS.match(row)
        start = m.end() if m is not None else 0
        while start < len(row) and row[start] in " \t":
            start += 1
        items.setdefault(section, []).append((number, start, row))
    out: dict[str, bytes] = {}
    for name, rows in items.items():
        code = bytearray()
        for number, start, row in rows:
            code += assemble_row(row, start, number, t, len(code), labels.get(name, {})).to_bytes(16, "little")
        out[name] = bytes(code)
    return out


def assemble_line(row: str, table: IsaTable, pc: int, labels: dict[str, int], number: int) -> int:
    """The word of one line of a listing (skips an address comment before it).  AsmError with line and column."""
    m = _ADDRESS.match(row)
    start = m.end() if m is not None else 0
    while start < len(row) and row[start] in " \t":
        start += 1
    return assemble_row(row, start, number, table, pc, labels)


def assemble_row(row: str, start: int, number: int, t: IsaTable, pc: int, labels: dict[str, int]) -> int:
    """The word of a row whose instruction starts at index `start`; a comment after it has its control word."""
    semicolon = row.find(";", start)
    if semicolon < 0:
        raise AsmError("an instruction ends with a semicolon", number, len(row.rstrip()) + 1)
    text = row[start:semicolon]
    comment = text.find("(*")
    if comment >= 0:
        text = text[:comment]
    word = assemble_instruction(text, t, pc, labels, number, start + 1)
    found = control_word(row[semicolon:])
    ctl, flips = found if found is not None else (DEFAULT_CONTROL, 0)
    return (word | ctl << CTL_SHIFT) ^ flips
