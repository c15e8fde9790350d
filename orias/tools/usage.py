"""Computes how many registers and named barriers code needs."""

import re
from typing import Final, Protocol, final

from orias.diag import Unsupported
from orias.isa.fetch import result_widths, source_widths
from orias.isa.isa_table import IllegalWord, IsaTable
from orias.isa.op import F_TEXTURE
from orias.isa.operand import K_R, in_file, reg_id
from orias.isa.widths import dst_width, src_width

_REGISTER: Final = re.compile(r"(?<![\w.$])R(\d+)")
_BARRIER: Final = re.compile(r"\bBAR\.[A-Z.0-9_]+ (?:R\d+|0x([0-9a-f]+))")
_WIDEST: Final = 16
"""Number of registers of the widest operand."""
_ALLOCATED_MORE: Final = 2
"""Registers that ptxas adds to the highest number used (measured: ptxas 13.0.88, sm_75 on)."""
_MOST: Final = 255
_ALL_BARRIERS: Final = 16
_UNKNOWN: Final = -1
"""A barrier whose number is in a register."""


class Place(Protocol):
    """The source position of an error."""

    def error(self, message: str) -> Exception:
        """The error to raise."""


@final
class CodeUse:
    """The registers and barriers of the added instructions (:meth:`add`)."""

    __slots__ = ("_barriers", "_highest", "_table", "_words")

    def __init__(self, table: IsaTable) -> None:
        self._table: Final[IsaTable] = table
        self._highest: int = -1
        self._words: Final[dict[int, int]] = {}
        self._barriers: Final[set[int]] = set()

    def add(self, word: int, text: str) -> None:
        """Counts one instruction."""
        highest = max((int(n) for n in _REGISTER.findall(text)), default=-1)
        if highest >= 0:
            self._highest = max(self._highest, highest)
            self._words[word] = highest
        if "BAR." in text:
            m = _BARRIER.search(text)
            if m is not None:
                self._barriers.add(int(m.group(1), 16) if m.group(1) else _UNKNOWN)

    def barriers(self, stated: int) -> int:
        """The number of named barriers: the stated one if it covers the barriers in the code, else the number that the code needs.

        A barrier number in a register may have any value, but a compiler can know better (cuSPARSE 12.9 states 1), so
        it matters only if the listing states no number.
        """
        need = max(self._barriers, default=_UNKNOWN) + 1
        return max(stated, need) if stated or _UNKNOWN not in self._barriers else _ALL_BARRIERS

    def registers(self, stated: int, place: Place) -> int:
        """The register count: the stated one if the code fits, else the count that it needs."""
        if self._highest + _WIDEST < stated:
            return stated
        used = 0
        for word, highest in self._words.items():
            if highest + _WIDEST >= stated:
                used = max(used, self._last(word, highest) + 1)
        if used <= stated:
            return stated
        if used > _MOST:
            raise place.error(f"the code uses {used} registers, {_MOST} is the limit")
        return min(used + _ALLOCATED_MORE, _MOST)

    def _last(self, word: int, highest: int) -> int:
        """The highest register that an instruction accesses."""
        try:
            d = self._table.decode(word)
            last = highest
            results = result_widths(d.src) if d.op.flags & F_TEXTURE else []
            for i, o in enumerate(d.dst):
                if in_file(o, K_R) and reg_id(o) != _MOST:
                    last = max(last, reg_id(o) + (results[i] if i < len(results) else dst_width(d.op, i)) - 1)
            fetched = source_widths(d.op, d.src) if d.op.flags & F_TEXTURE else None
            for i, o in enumerate(d.src):
                if in_file(o, K_R) and reg_id(o) != _MOST:
                    last = max(last, reg_id(o) + (fetched[i] if fetched else src_width(d.op, i, o)) - 1)
        except (IllegalWord, Unsupported):
            return highest
        return last
