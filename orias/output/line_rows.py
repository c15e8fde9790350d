"""Makes line information from the PTX module: rows of the line table, names of inlined functions.

PTX with ``.loc`` gets line tables with and without ``-lineinfo``, as from ptxas 13.0.88 (measured).
"""

from typing import Final

from orias.cubin.model import DebugSection, LineRow
from orias.ptx.ast import Loc, Module

NAMES: Final = ".debug_str"
"""Section with the names that ``.loc`` directives refer to."""


def names_section(module: Module) -> tuple[DebugSection | None, dict[str, int]]:
    """``.debug_str`` of the module as bytes, and the offset of each of its labels; (None, {}) if there is none.

    Values that refer to symbols become zero; names have no such values.
    """
    for s in module.sections:
        if s.name == NAMES:
            data = bytearray()
            for size, value in s.items:
                number = value if isinstance(value, int) else 0
                data += (number & (1 << 8 * size) - 1).to_bytes(size, "little")
            return DebugSection(NAMES, bytes(data)), dict(s.labels)
    return None, {}


def line_rows(
    lines: list[tuple[int, int]], locs: dict[int, Loc], names: dict[str, int], first: Loc | None = None
) -> list[LineRow]:
    """Rows from (code offset, PTX line) pairs; ``locs``: the ``.loc`` in effect at a PTX line.

    Code before the first ``.loc`` has file 0; code that precedes all PTX instructions, or stands for none of them (line 0), has the
    function's ``first``.
    """
    rows: list[LineRow] = []
    start = first if first is not None and first.inlined_at is None else None
    if start is not None and lines and lines[0][0] > 0:
        rows.append(LineRow(0, start.file, start.line, start.column, lines[0][1]))
    skipped = False
    for offset, ptx_line in lines:
        if not ptx_line:
            skipped = start is None
            if start is not None:
                rows.append(LineRow(offset, start.file, start.line, start.column, lines[0][1]))
            continue
        if skipped and rows and rows[-1].ptx_line == ptx_line:
            skipped = False
            continue
        skipped = False
        # Copies of arguments have the line of the function's head, before its first ``.loc``.
        loc = locs.get(ptx_line, start)
        if loc is None:
            rows.append(LineRow(offset, 0, 0, 0, ptx_line))
            continue
        row = LineRow(offset, loc.file, loc.line, loc.column, ptx_line)
        if loc.inlined_at is not None:
            row.inlined_at = loc.inlined_at
            row.function_offset = _name(loc, names)
            row.outer = _outer(loc.caller, names)
        rows.append(row)
    return rows


def _name(loc: Loc, names: dict[str, int]) -> int:
    """Offset of the name of the function that a directive is in; 0 without one."""
    return names.get(loc.function_name[0], 0) + loc.function_name[1] if loc.function_name is not None else 0


def _outer(loc: Loc | None, names: dict[str, int]) -> tuple[tuple[int, int, int, int], ...]:
    """The call sites around a directive, from the inside: (file, line, column, name offset)."""
    out: list[tuple[int, int, int, int]] = []
    while loc is not None and loc.inlined_at is not None:
        out.append((*loc.inlined_at, _name(loc, names)))
        loc = loc.caller
    return tuple(out)
