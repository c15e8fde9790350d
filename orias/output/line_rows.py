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


def line_rows(lines: list[tuple[int, int]], locs: dict[int, Loc], names: dict[str, int]) -> list[LineRow]:
    """Rows from (code offset, PTX line) pairs; ``locs``: the ``.loc`` in effect at a PTX line.

    Code before the first ``.loc`` has file 0.
    """
    rows: list[LineRow] = []
    for offset, ptx_line in lines:
        loc = locs.get(ptx_line)
        if loc is None:
            rows.append(LineRow(offset, 0, 0, 0, ptx_line))
            continue
        row = LineRow(offset, loc.file, loc.line, loc.column, ptx_line)
        if loc.inlined_at is not None:
            row.inlined_at = loc.inlined_at
            if loc.function_name is not None:
                row.function_offset = names.get(loc.function_name[0], 0) + loc.function_name[1]
        rows.append(row)
    return rows
