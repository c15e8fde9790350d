"""Reads line tables: ``.debug_line`` (source lines) and ``.nv_debug_line_sass`` (lines of the PTX text).

Both are DWARF 2 line programs (DWARF 2 standard, section 6.2) with one extended opcode of NVIDIA for inlining;
:mod:`orias.cubin.debugline` describes the encoding.
"""

from struct import unpack_from
from typing import Final, final

from orias.cubin.cubin_error import CubinError
from orias.cubin.elf import ElfFile

DEBUG_LINE: Final = ".debug_line"
PTX_LINE: Final = ".nv_debug_line_sass"
_PTX_FILE: Final = ".nv_debug_ptx_txt"
_INLINED_CALL: Final = 0x90


@final
class LineEntry:
    """A row: byte offset in the section, file, line; ``caller`` is the row number (from 1) of the call site, 0 for none."""

    __slots__ = ("caller", "file", "line", "offset")

    def __init__(self, offset: int, file: str, line: int, caller: int) -> None:
        self.offset: Final[int] = offset
        self.file: Final[str] = file
        self.line: Final[int] = line
        self.caller: Final[int] = caller


@final
class _Cursor:
    """A position in the bytes of a section."""

    __slots__ = ("data", "pos")

    def __init__(self, data: bytes, pos: int) -> None:
        self.data: Final[bytes] = data
        self.pos: int = pos

    def byte(self) -> int:
        v = self.data[self.pos]
        self.pos += 1
        return v

    def uleb(self) -> int:
        return self._leb()[0]

    def sleb(self) -> int:
        v, width = self._leb()
        return v - (1 << width) if v >> (width - 1) else v

    def _leb(self) -> tuple[int, int]:
        """The unsigned value of a LEB128 number, and the number of bits in its bytes."""
        v = shift = 0
        while True:
            b = self.byte()
            v |= (b & 127) << shift
            shift += 7
            if b < 128:
                return v, shift

    def text(self) -> str:
        end = self.data.index(b"\0", self.pos)
        out = self.data[self.pos : end].decode("utf-8", "replace")
        self.pos = end + 1
        return out


def line_tables(file: ElfFile, name: str = DEBUG_LINE) -> dict[int, list[LineEntry]]:
    """The rows of each code section (by index), in table order.

    Empty if the cubin has no such table.  CubinError if it is damaged.
    """
    section = file.section(name)
    if section is None:
        return {}
    places: dict[int, tuple[int, int]] = {}
    for r in file.relocations(section):
        symbol = file.symbol(r.symbol, name)
        places[r.offset] = (symbol.section, symbol.value + r.addend)
    out: dict[int, list[LineEntry]] = {}
    try:
        pos = 0
        while pos + 4 <= len(section.data):
            size = unpack_from("<I", section.data, pos)[0]
            _unit(section.data[: pos + 4 + size], pos, places, name, out)
            pos += 4 + size
    except (IndexError, ValueError, ZeroDivisionError):
        raise CubinError(f"{name}: damaged line table") from None
    return out


def _files(c: _Cursor, name: str) -> list[str]:
    folders = [""]
    while c.data[c.pos]:
        folders.append(c.text())
    c.pos += 1
    files = [_PTX_FILE if name == PTX_LINE else ""]
    while c.data[c.pos]:
        text = c.text()
        folder = c.uleb()
        c.uleb()
        c.uleb()
        files.append(f"{folders[folder]}/{text}" if folder else text)
    return files


def _unit(
    data: bytes, start: int, places: dict[int, tuple[int, int]], name: str, out: dict[int, list[LineEntry]]
) -> None:
    """The sequences of one line program into `out`."""
    header = unpack_from("<I", data, start + 6)[0]
    program = start + 10 + header
    c = _Cursor(data, start + 10)
    step = c.byte()
    c.byte()
    line_base = c.byte()
    line_base -= 256 if line_base > 127 else 0
    line_range = c.byte()
    opcode_base = c.byte()
    lengths = [c.byte() for _ in range(opcode_base - 1)]
    files = _files(c, name)
    c.pos = program
    section, address, file, line, caller = -1, 0, 1, 1, 0
    rows: list[LineEntry] = []

    def row() -> None:
        rows.append(LineEntry(address, files[file] if file < len(files) else "", line, caller))

    while c.pos < len(data):
        op = c.byte()
        if op >= opcode_base:
            address += (op - opcode_base) // line_range * step
            line += line_base + (op - opcode_base) % line_range
            row()
        elif op == 0:
            size = c.uleb()
            end = c.pos + size
            kind = c.byte()
            if kind == 1:
                if section >= 0:
                    out.setdefault(section, []).extend(rows)
                rows = []
                section, address, file, line, caller = -1, 0, 1, 1, 0
            elif kind == 2:
                section, address = places.get(c.pos, (-1, 0))
            elif kind == _INLINED_CALL:
                caller = c.uleb()
            c.pos = end
        elif op == 1:
            row()
        elif op == 2:
            address += c.uleb() * step
        elif op == 3:
            line += c.sleb()
        elif op == 4:
            file = c.uleb()
        elif op == 8:
            address += (255 - opcode_base) // line_range * step
        elif op == 9:
            address += unpack_from("<H", data, c.pos)[0]
            c.pos += 2
        else:
            for _ in range(lengths[op - 1]):
                c.uleb()


def comments(rows: list[LineEntry], inlining: bool) -> dict[int, list[str]]:
    """Code offset -> the lines that ``nvdisasm -g`` prints before the instruction; with `inlining` those of ``-gi``.

    If several rows have the same offset, the last one counts.  As with ``nvdisasm`` 13.5, a row with the file and line of the one before
    has none, though it is inlined at another place.
    """
    last: dict[int, LineEntry] = {}
    for r in rows:
        last[r.offset] = r
    out: dict[int, list[str]] = {}
    before = ("", -1)
    for offset in sorted(last):
        r = last[offset]
        if (r.file, r.line) == before:
            continue
        before = r.file, r.line
        sites = call_sites(rows, r) if inlining else [r]
        lines: list[str] = []
        for k, site in enumerate(sites):
            at = f' inlined at "{sites[k + 1].file}", line {sites[k + 1].line}' if k + 1 < len(sites) else ""
            lines.append(f'\t//## File "{site.file}", line {site.line}{at}')
        out[offset] = lines
    return out


def call_sites(rows: list[LineEntry], row: LineEntry) -> list[LineEntry]:
    """A row of a section, and the rows of the calls that its code was inlined at, from the inside out."""
    out = [row]
    while 0 < out[-1].caller <= len(rows) and len(out) <= len(rows):
        out.append(rows[out[-1].caller - 1])
    return out
