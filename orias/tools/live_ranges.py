"""A listing with the live ranges of registers beside it, as ``nvdisasm -plr`` prints them.

A register is live where some path reads it before it is written; the stack pointer stays live to the end.  A guarded
write does not end a range.  Columns are those of all registers that the file uses.
"""

from collections.abc import Container, Sequence
from typing import Final, final

from orias.analysis.access import B_BASE, P_BASE, UP_BASE, UR_BASE
from orias.check.code import connect
from orias.check.cubin import SectionCode
from orias.check.section_flow import blocks_of, live_before, live_out_sets
from orias.cubin.elf import ElfFile, Section
from orias.isa.isa_table import load as load_table
from orias.target.profile import profile_of_sm
from orias.timing.needs import Facts
from orias.tools.disassemble import END, INSTRUCTION, LABEL, Listing, Style
from orias.tools.labels import INST_BYTES, code_sections

MODES: Final = ("wide", "narrow", "count")
_FILES: Final = (("GPR", 0, UR_BASE), ("PRED", P_BASE, UP_BASE), ("UGPR", UR_BASE, P_BASE), ("UPRED", UP_BASE, B_BASE))
"""Name, first unit and end of each register file, in the order of the columns."""
_STACK_POINTER: Final = 1 << 1
_GAP: Final = 6
"""Columns between the longest line and the table."""
_LEGEND: Final = (
    "^       : Register assignment",
    "v       : Register usage",
    "x       : Register usage and reassignment",
    ":       : Register in use",
    "<space> : Register not in use",
    "#       : Number of occupied registers",
)


@final
class _Row:
    """The units that an instruction reads and writes, and those that hold a value at it, as bit sets."""

    __slots__ = ("apart", "live", "reads", "writes")

    def __init__(self, reads: int, writes: int, live: int, apart: bool) -> None:
        self.reads: Final[int] = reads
        self.writes: Final[int] = writes
        self.live: Final[int] = live
        self.apart: Final[bool] = apart
        """True if it, or the instruction before it, is all that follows a label and never goes on to the next instruction."""

    def mark(self, unit: int) -> str:
        """What stands in the column of a unit."""
        bit = 1 << unit
        if self.writes & bit:
            return "x" if self.reads & bit else "^"
        return "v" if self.reads & bit else ":" if self.live & bit else " "


@final
class _Columns:
    """The columns of one register file: ``width`` characters between two bars."""

    __slots__ = ("_base", "_cells", "_count", "_gap", "_indent", "_mode", "_name", "used", "width")

    def __init__(self, name: str, base: int, end: int, rows: list[_Row], mode: str) -> None:
        mask = ((1 << end) - 1) >> base << base
        used = 0
        for r in rows:
            used |= r.live & mask
        self.used: Final[int] = used.bit_length() - base if used else 0
        self._base: Final[int] = base
        self._mode: Final[str] = mode
        self._name: Final[str] = name
        self._count: Final[int] = len(str(self.used))
        self._cells: Final[list[int]] = [len(str(k)) + 1 if mode == "wide" else 1 for k in range(self.used)]
        self._gap: Final[str] = " " if mode == "narrow" else ""
        inner = 1 + self._count + len(self._gap) + sum(self._cells) + 2
        if mode == "count":
            inner = len(name) + 4
        self.width: Final[int] = max(inner, len(name) + 4)
        self._indent: Final[str] = " " * (1 + (self.width - inner + 1) // 2)

    def title(self) -> str:
        left = (self.width - 1 - len(self._name)) // 2
        return f"{' ' * left}{self._name}".ljust(self.width)

    def numbers(self) -> list[str]:
        """The lines that name the columns."""
        if self._mode == "count":
            return ["   #".ljust(self.width)]
        if self._mode == "wide":
            names = "".join(f" {k}" for k in range(self.used))
            return [f"{self._indent}{'#':>{self._count}}{names}".ljust(self.width)]
        out: list[str] = []
        for unit in (100, 10, 1):
            digits = "".join(str(k // unit % 10) for k in range(self.used)) if unit <= self.used else ""
            head = "#" if unit == 1 else ""
            out.append(f"{self._indent}{head:>{self._count}} {digits}".ljust(self.width))
        return out

    def row(self, r: _Row | None, plain: bool) -> str:
        """The cells of an instruction; `plain`: of the label before it.  None: no instruction."""
        if r is None:
            return " " * self.width
        mask = ((1 << self.used) - 1) << self._base
        live = (r.live & mask).bit_count()
        if not live:
            return " " * self.width
        if self._mode == "count":
            return f"   {live}".ljust(self.width)
        cells = []
        for k, width in enumerate(self._cells):
            mark = r.mark(self._base + k)
            cells.append((":" if plain and mark != " " else mark).rjust(width))
        return f"{self._indent}{live:>{self._count}}{self._gap}{''.join(cells)}".ljust(self.width)


def live_range_listing(data: bytes, mode: str = "wide", hex_words: bool = False) -> str:
    """The listing of a cubin's code sections with a table of live ranges at its right; `mode` is one of `MODES`.

    Raises CubinError if the file is no cubin or has words that are no instructions, KeyError if there is no table for
    its target.
    """
    file = ElfFile(data)
    listing = Listing(file, Style(hex_words))
    listing.text()
    rows = {s.index: _rows(file, s, listing.labels.in_section(s.index)) for s in code_sections(file)}
    every = [r for of_section in rows.values() for r in of_section]
    columns = [_Columns(name, base, end, every, mode) for name, base, end in _FILES]
    columns = [c for c in columns if c.used]
    keep = [i for i in range(len(listing.lines)) if not _is_padding(listing, rows, i)]
    own = [part for i in keep if i in listing.places for part in listing.lines[i].split("\n")]
    margin = max(map(len, own), default=0) + _GAP
    out: list[str] = []
    open_section = -1
    for i in keep:
        line = listing.lines[i]
        place = listing.places.get(i)
        if place is None:
            out.append(line)
            continue
        section, addr, kind = place
        if section != open_section:
            open_section = section
            head = [[c.title() for c in columns], *zip(*(c.numbers() for c in columns), strict=True)]
            for text in (_ruler(columns, "-"), *(_bar(cells) for cells in head), _ruler(columns, "-")):
                out.append(" " * margin + "// " + text)
        row = rows[section][addr // INST_BYTES] if kind in (LABEL, INSTRUCTION) else None
        if kind == END:
            text = _ruler(columns, "-")
        elif kind == LABEL and row is not None and row.apart:
            text = _ruler(columns, ".")
        else:
            text = _bar([c.row(row, kind == LABEL) for c in columns])
        first, _, second = line.rstrip("\n").partition("\n")
        if second:
            out.append(f"{first:<{margin}}// {_bar([c.row(None, False) for c in columns])}")
        out.append(f"{second or first:<{margin}}// {text}")
        if kind == END:
            out.append("")
            out.extend(" " * margin + text for text in ("// Legend:", *(f"//     {t}" for t in _LEGEND)))
            out.append("\n")
    return "\n".join(out)


def _ruler(columns: list[_Columns], fill: str) -> str:
    return "+" + "".join(fill * c.width + "+" for c in columns)


def _bar(cells: Sequence[str]) -> str:
    return "|" + "".join(f"{c}|" for c in cells)


def _is_padding(listing: Listing, rows: dict[int, list[_Row]], index: int) -> bool:
    """True for the line of an instruction after the last one that does something."""
    place = listing.places.get(index)
    return place is not None and place[2] == INSTRUCTION and place[1] // INST_BYTES >= len(rows[place[0]])


def _rows(file: ElfFile, s: Section, names: Container[int]) -> list[_Row]:
    """The rows of a section, without the padding at its end; `names`: the addresses that have labels."""
    profile = profile_of_sm(file.sm)
    code = SectionCode(file, s, load_table(profile.table), Facts(profile.latency_class))
    nodes = code.nodes
    connect(nodes, code.away, code.tables)
    blocks = blocks_of(nodes, code.entries)
    number = {b.start: k for k, b in enumerate(blocks)}
    after = live_out_sets(nodes, blocks, [[number[t] for t, _ in b.edges if t in number] for b in blocks])
    live = live_before(nodes, blocks, after)
    out: list[_Row] = []
    stack = 0
    after_single = False
    for n, before in zip(nodes, live, strict=True):
        held = before | n.touch.write_set | stack
        stack |= n.touch.write_set & _STACK_POINTER
        single = not n.falls and n.address in names
        out.append(_Row(n.touch.read_set, n.touch.write_set, held, single or after_single))
        after_single = single
    end = len(nodes)
    while end and nodes[end - 1].d.op.base == "NOP":
        end -= 1
    return out[:end]
