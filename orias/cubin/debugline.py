"""Writes line information (``-lineinfo``): ``.debug_line``, ``.nv_debug_line_sass`` and ``.nv_debug_ptx_txt``.

Both tables are DWARF 2 line programs, one sequence per text section: minimum instruction length 1, line base -5, range
14, opcode base 10.  The first maps code to the source lines of ``.loc``, the second to lines of the PTX text, which the
third section holds.  The encodings are those of ptxas 13.0.88 (advances are signed LEB128, rows at the address of the
row before never use special opcodes); file times and sizes come from the ``.file`` directive, never from the file
system.
"""

from posixpath import dirname
from struct import pack
from typing import Final, final

from orias.cubin.debugframe import sleb, uleb
from orias.cubin.model import LineRow, SourceFile

_LINE_BASE: Final = -5
_LINE_RANGE: Final = 14
_OPCODE_BASE: Final = 10
_LENGTHS: Final = bytes([0, 1, 1, 1, 1, 0, 0, 0, 1])
_COPY: Final = 1
_ADVANCE_PC: Final = 2
_ADVANCE_LINE: Final = 3
_SET_FILE: Final = 4
_END: Final = b"\x00\x01\x01"
_INLINED_CALL: Final = 0x90
"""NVIDIA's extended opcode with two uleb operands: row number of the call site (0: none), offset of the name in
``.debug_str``."""


@final
class LineProgram:
    """One section: header, then sequences; ``addresses`` has the offset of each sequence's text address.

    With ``inlining`` the header ends with a word, the start of the names in ``.debug_str`` (0).
    """

    __slots__ = ("addresses", "body", "head")

    def __init__(self, files: list[SourceFile], inlining: bool = False) -> None:
        tables = _file_tables(files) + (bytes(4) if inlining else b"")
        self.head: bytes = bytes([1, 1, _LINE_BASE & 0xFF, _LINE_RANGE, _OPCODE_BASE]) + _LENGTHS + tables
        self.body: bytearray = bytearray()
        self.addresses: list[int] = []

    def sequence(self, rows: list[tuple[int, int, int]], inlined: list[tuple[int, int]], size: int) -> None:
        """Add a text section of ``size`` bytes: rows are (code offset, file, line), ascending.

        ``inlined``: for each row (number of the row of its call site, counted from 1, 0: none; name offset).
        """
        body = self.body
        body += b"\x00\x09\x02"
        self.addresses.append(10 + len(self.head) + len(body))
        body += bytes(8)
        address, file, line, context = 0, -1, 1, (0, 0)
        for i, (at, row_file, row_line) in enumerate(rows):
            if row_file != file:
                body += bytes([_SET_FILE]) + uleb(row_file)
                file = row_file
            if inlined and inlined[i] != context:
                context = inlined[i]
                operands = uleb(context[0]) + uleb(context[1])
                body += bytes([0, 1 + len(operands), _INLINED_CALL]) + operands
            step, delta = at - address, row_line - line
            opcode = delta - _LINE_BASE + _LINE_RANGE * step + _OPCODE_BASE
            if step and _LINE_BASE <= delta < _LINE_BASE + _LINE_RANGE and opcode <= 255:
                body.append(opcode)
            else:
                if delta:
                    body += bytes([_ADVANCE_LINE]) + sleb(delta)
                if step:
                    body += bytes([_ADVANCE_PC]) + sleb(step)
                body.append(_COPY)
            address, line = at, row_line
        body += bytes([_ADVANCE_PC]) + sleb(size - address) + _END

    def data(self) -> bytes:
        """The section's bytes."""
        rest = pack("<HI", 2, len(self.head)) + self.head + bytes(self.body)
        return pack("<I", len(rest)) + rest


def _file_tables(files: list[SourceFile]) -> bytes:
    directories: list[str] = []
    table = b""
    for f in files:
        folder = dirname(f.name)
        base = f.name[len(folder) + 1 :] if folder and folder != "/" else f.name
        if folder and folder not in directories:
            directories.append(folder)
        number = directories.index(folder) + 1 if folder else 0
        table += base.encode("utf-8", "replace") + b"\0" + uleb(number) + uleb(f.mtime) + uleb(f.size)
    return b"".join(d.encode("utf-8", "replace") + b"\0" for d in directories) + b"\0" + table + b"\0"


def source_rows(
    rows: list[LineRow], files: list[SourceFile]
) -> tuple[list[tuple[int, int, int]], list[tuple[int, int]]]:
    """Rows for ``.debug_line`` and their call sites, without rows that have no ``.loc`` (file 0) or line 0,
    and without repeated rows.

    A call site has a row of its own, once in a section, before the first code that is inlined there; if it lies in inlined
    code itself, its row has a call site too.
    """
    number = {f.index: i for i, f in enumerate(files, 1)}
    out: list[tuple[int, int, int]] = []
    sites: list[tuple[int, int]] = []
    known: dict[tuple[int, int, int, tuple[int, int]], int] = {}
    last: tuple[object, ...] = ()
    for r in rows:
        here = (r.file, r.line, r.inlined_at, r.function_offset, r.outer)
        if r.file not in number or r.line == 0 or here == last:
            continue
        last = here
        site = (0, 0)
        levels = [(*r.inlined_at, r.function_offset), *r.outer] if r.inlined_at is not None else []
        for file, line, column, name in reversed(levels):
            if file not in number:
                break
            key = (file, line, column, site)
            if key not in known:
                out.append((r.offset, number[file], line))
                sites.append(site)
                known[key] = len(out)
            site = (known[key], name)
        out.append((r.offset, number[r.file], r.line))
        sites.append(site)
    return out, sites


def sass_rows(rows: list[LineRow]) -> list[tuple[int, int, int]]:
    """Rows for ``.nv_debug_line_sass``: PTX lines."""
    out: list[tuple[int, int, int]] = []
    for r in rows:
        if r.ptx_line and (not out or out[-1][2] != r.ptx_line):
            out.append((r.offset, 0, r.ptx_line))
    return out


_DROPPED: Final = ("//", ".loc", ".file", ".b8", ".b32", ".b64")
_KEPT: Final = ".local"


def ptx_text_section(text: str) -> bytes:
    """The contents of ``.nv_debug_ptx_txt``: the PTX lines without leading blanks, each terminated by NUL.

    Comment lines, ``.loc``, ``.file`` and debug data become empty lines, which keeps line numbers; empty lines at the
    end are dropped. `ptxas` looks at the first characters alone: ``.b8x`` is dropped, ``.b16`` and ``.local`` are not.
    """
    lines = [line.lstrip(" \t\r") for line in text.split("\n")]
    kept = ["" if line.startswith(_DROPPED) and not line.startswith(_KEPT) else line for line in lines]
    while kept and not kept[-1]:
        kept.pop()
    return b"".join(line.encode("latin-1", "replace") + b"\0" for line in kept)
