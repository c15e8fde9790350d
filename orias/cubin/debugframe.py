"""Writes ``.debug_frame``: version 3 call frame information in 64-bit DWARF, one CIE and FDE per function.

Layout measured on files of ptxas 13.0.88: code alignment 4, data alignment -4, registers written with the class 5 in
the top byte (R1 is 0x05000001, the return address 0x05000100), CFA = R1 + 0 at first.  Entries are padded to eight
bytes.  The CIE of a function in a relocatable object has the register of the return address as return column.  The CIE
of a copied function computes it from the address of the text section and the register pair.
"""

from struct import pack
from typing import Final, final

from orias.cubin.cubin_error import CubinError
from orias.cubin.model import FrameInfo, FrameRow

_REG: Final = 0x05000000
_R1: Final = _REG | 1
_NONE: Final = _REG | 0xFF
_RETURN: Final = _REG | 0x100

_CFA_ADVANCE4: Final = 4
_CFA_OFFSET_EXTENDED: Final = 5
_CFA_RESTORE_EXTENDED: Final = 6
_CFA_UNDEFINED: Final = 7
_CFA_SAME: Final = 8
_CFA_REGISTER: Final = 9
_CFA_DEF: Final = 12
_CFA_EXPRESSION: Final = 16
_CFA_VAL_EXPRESSION: Final = 22
_OP_ADDR: Final = 3
_OP_BREGX: Final = 0x92
_OP_PLUS: Final = 0x22


def uleb(value: int) -> bytes:
    """Unsigned LEB128."""
    out = bytearray()
    while True:
        low = value & 0x7F
        value >>= 7
        if not value:
            out.append(low)
            return bytes(out)
        out.append(low | 0x80)


def sleb(value: int) -> bytes:
    """Signed LEB128."""
    out = bytearray()
    while True:
        low = value & 0x7F
        value >>= 7
        if (value == 0 and not low & 0x40) or (value == -1 and low & 0x40):
            out.append(low)
            return bytes(out)
        out.append(low | 0x80)


@final
class FrameReloc:
    """An offset in the section that needs an address: ``kind`` is ``code`` (text address), ``cie`` or ``size``."""

    __slots__ = ("addend", "in_cie", "kind", "offset")

    def __init__(self, offset: int, kind: str, addend: int, in_cie: bool = False) -> None:
        self.offset: int = offset
        self.in_cie: bool = in_cie
        self.kind: str = kind
        self.addend: int = addend


@final
class FrameWriter:
    """Builds the section; ``relocs`` lists the addresses that :meth:`add` left open, per call in creation order."""

    __slots__ = ("_unit", "data", "links", "relocs")

    def __init__(self, unit: int = 4) -> None:
        """`unit`: bytes that the code offset advances by 1 (the code alignment)."""
        self._unit: int = unit
        self.data: bytearray = bytearray()
        self.relocs: list[FrameReloc] = []
        self.links: list[tuple[int, int]] = []
        """(offset, value) of each offset in the section that is known."""

    def _entry(self, body: bytes) -> int:
        """Append an entry with its length; returns its offset."""
        at = len(self.data)
        body += bytes(-(12 + len(body)) % 8)
        self.data += b"\xff\xff\xff\xff" + pack("<Q", len(body)) + body
        return at

    def add(
        self, frame: FrameInfo, start: int, size: int, is_entry: bool, own_sections: bool, relocatable: bool, full: bool
    ) -> None:
        """Add a function: byte offset ``start`` in its text section, and ``size`` in bytes.

        ``own_sections``: functions have sections of their own; ``full``: the CIE has a rule for every register (-g).
        """
        return_column = 0xFFFFFFFF if is_entry else _REG | frame.return_reg if own_sections else _RETURN
        cie = b"\xff" * 8 + bytes([3, 0, self._unit]) + sleb(-4) + uleb(return_column)
        cie += bytes([_CFA_DEF]) + uleb(_R1) + uleb(0)
        cie += bytes([_CFA_SAME]) + uleb(_NONE)
        if full:
            cie += _every_register(is_entry)
        else:
            cie += bytes([_CFA_SAME]) + uleb(_R1)
            for r in frame.same:
                cie += bytes([_CFA_SAME]) + uleb(_REG | r)
        address_at = -1
        if not is_entry and not own_sections:
            pair = bytes([_OP_BREGX]) + uleb(_REG | frame.return_reg) + sleb(0)
            cie += bytes([_CFA_VAL_EXPRESSION]) + uleb(_RETURN) + uleb(9 + len(pair) + 1)
            address_at = 12 + len(cie) + 1
            cie += bytes([_OP_ADDR]) + bytes(8) + pair + bytes([_OP_PLUS])
        cie_at = self._entry(cie)
        if address_at >= 0:
            self.relocs.append(FrameReloc(cie_at + address_at, "code", 0, True))
        rows = bytearray()
        here = 0
        for row in frame.rows:
            if row.offset < 0:
                raise CubinError(f"frame row at the negative code offset {row.offset}")
            if row.offset != here or row.op == "here" or row.advance:
                rows += bytes([_CFA_ADVANCE4]) + pack("<I", (row.offset - here & 0xFFFFFFFF) // self._unit)
                here = row.offset
            rows += _row(row)
        head = pack("<Q", 0 if relocatable else cie_at) + pack("<QQ", start, size)
        fde_at = self._entry(head + bytes(rows))
        if relocatable:
            self.relocs.append(FrameReloc(fde_at + 12, "cie", cie_at))
        else:
            self.links.append((fde_at + 12, cie_at))
        self.relocs.append(FrameReloc(fde_at + 20, "code", start))
        if relocatable:
            self.relocs.append(FrameReloc(fde_at + 28, "size", 0))


_SPECIAL: Final[tuple[tuple[int, range, range], ...]] = (
    (0x09000000, range(1), range(0)),
    (0x09000000, range(2, 7), range(0)),
    (0x0B000000, range(4, 36), range(36, 62)),
    (0x01000000, range(1), range(0)),
    (0x02000000, range(1), range(0)),
    (0x02000000, range(2, 7), range(0)),
)
"""Registers of other classes in the CIE of -g: class, registers that a call loses, registers that a function keeps (a kernel
loses them too).  Copied from files of ptxas 13.0.88; the meaning of classes 1, 9 and 11 is a guess (carry, uniform predicates,
uniform registers)."""


def _every_register(is_entry: bool) -> bytes:
    """The rule of each register: lost, or kept for the caller (``docs/facts/cubin.md``, "Call frames")."""
    out = bytearray()
    for base, lost, kept in _SPECIAL:
        for n in lost:
            out += bytes([_CFA_UNDEFINED]) + uleb(base | n)
        for n in kept:
            out += bytes([_CFA_UNDEFINED if is_entry else _CFA_SAME]) + uleb(base | n)
    for n in range(0xFF):
        same = n == 1 or (not is_entry and (n == 2 or 16 <= n < 32 or (n >= 32 and n & 4 != 0)))
        out += bytes([_CFA_SAME if same else _CFA_UNDEFINED]) + uleb(_REG | n)
    return bytes(out)


def _row(row: FrameRow) -> bytes:
    op = row.op
    if op == "here":
        return b""
    if op == "cfa":
        return bytes([_CFA_DEF]) + uleb(_R1) + uleb(row.value)
    if op == "saved":
        return bytes([_CFA_OFFSET_EXTENDED]) + uleb(_REG | row.reg) + uleb(row.value)
    if op == "restored":
        return bytes([_CFA_RESTORE_EXTENDED]) + uleb(_REG | row.reg)
    if op == "in_reg":
        return bytes([_CFA_REGISTER]) + uleb(_REG | row.reg) + uleb(_REG | row.value)
    if op == "at":
        expr = bytes([_OP_BREGX]) + uleb(_R1) + sleb(row.value)
        return bytes([_CFA_EXPRESSION]) + uleb(_REG | row.reg) + uleb(len(expr)) + expr
    raise CubinError(f"unknown frame row {op!r}")
