"""Reads ``.debug_frame`` back into :class:`FrameInfo`, in the encoding of :mod:`orias.cubin.debugframe`."""

from struct import unpack_from
from typing import Final, final

from orias.cubin.cubin_error import CubinError
from orias.cubin.model import FrameInfo, FrameRow

_REG: Final = 0x05000000
_REG_MASK: Final = 0xFF


@final
class FrameEntry:
    """One FDE: the code range (``start`` in its text section, if known) and the frame."""

    __slots__ = ("frame", "is_entry", "size", "start")

    def __init__(self, start: int, size: int, frame: FrameInfo, is_entry: bool) -> None:
        self.start: int = start
        self.size: int = size
        self.frame: FrameInfo = frame
        self.is_entry: bool = is_entry


@final
class FrameReader:
    """Parses the section; :meth:`run` returns the FDEs in file order.  An FDE belongs to the CIE before it."""

    __slots__ = ("data", "pos")

    def __init__(self, data: bytes) -> None:
        self.data: bytes = data
        self.pos: int = 0

    def _byte(self) -> int:
        if self.pos >= len(self.data):
            raise CubinError(".debug_frame ends inside an entry")
        b = self.data[self.pos]
        self.pos += 1
        return b

    def _uleb(self) -> int:
        value = shift = 0
        while True:
            b = self._byte()
            value |= (b & 0x7F) << shift
            shift += 7
            if not b & 0x80:
                return value
            if shift > 63:
                raise CubinError(f".debug_frame: number too long at offset {self.pos}")

    def _sleb(self) -> int:
        value = shift = 0
        while True:
            b = self._byte()
            value |= (b & 0x7F) << shift
            shift += 7
            if not b & 0x80:
                return value - (1 << shift) if b & 0x40 else value
            if shift > 63:
                raise CubinError(f".debug_frame: number too long at offset {self.pos}")

    def _words(self, fmt: str, size: int) -> tuple[int, ...]:
        if self.pos + size > len(self.data):
            raise CubinError(".debug_frame ends inside an entry")
        out: tuple[int, ...] = unpack_from(fmt, self.data, self.pos)
        self.pos += size
        return out

    def run(self) -> list[FrameEntry]:
        """All FDEs."""
        out: list[FrameEntry] = []
        cie = FrameInfo()
        is_entry = True
        while self.pos < len(self.data):
            mark, length = self._words("<IQ", 12)
            if mark != 0xFFFFFFFF:
                raise CubinError(f".debug_frame: entry at offset {self.pos - 12} is not 64-bit DWARF")
            end = self.pos + length
            if length < 8 or end > len(self.data):
                raise CubinError(f".debug_frame: entry of {length} bytes at offset {self.pos - 12} does not fit")
            (pointer,) = self._words("<Q", 8)
            if pointer == 0xFFFFFFFFFFFFFFFF:
                cie, is_entry = self._cie(end)
            else:
                start, size = self._words("<QQ", 16)
                frame = FrameInfo()
                frame.return_reg, frame.same = cie.return_reg, list(cie.same)
                self._rows(frame, end)
                out.append(FrameEntry(start, size, frame, is_entry))
            self.pos = end
        return out

    def _cie(self, end: int) -> tuple[FrameInfo, bool]:
        version, augmentation = self._byte(), self._byte()
        if version != 3 or augmentation != 0:
            raise CubinError(f".debug_frame: CIE version {version} is not understood")
        self._uleb()
        self._sleb()
        column = self._uleb()
        frame = FrameInfo()
        if column & ~_REG_MASK == _REG:
            frame.return_reg = column & _REG_MASK
        while self.pos < end:
            op = self._byte()
            if op == 0x0C:
                self._uleb()
                self._uleb()
            elif op == 0x08:
                reg = self._uleb() & _REG_MASK
                if reg not in (0xFF, 1):
                    frame.same.append(reg)
            elif op == 0x16:
                self._uleb()
                stop = self._uleb() + self.pos
                self.pos += 10
                frame.return_reg = self._uleb() & _REG_MASK
                self.pos = stop
            elif op != 0:
                raise CubinError(f".debug_frame: CIE rule {op:#x} is not understood")
        return frame, column == 0xFFFFFFFF

    def _rows(self, frame: FrameInfo, end: int) -> None:
        here = 0
        advanced = False
        while self.pos < end:
            op = self._byte()
            if op == 0x04:
                if advanced:
                    frame.rows.append(FrameRow(here, "here"))
                here = (here + 4 * self._words("<I", 4)[0]) & 0xFFFFFFFF
                advanced = True
                continue
            if op == 0:
                continue
            if op == 0x0C:
                self._uleb()
                row = FrameRow(here, "cfa", 0, self._uleb())
            elif op == 0x05:
                row = FrameRow(here, "saved", self._uleb() & _REG_MASK, 0)
                row.value = self._uleb()
            elif op == 0x06:
                row = FrameRow(here, "restored", self._uleb() & _REG_MASK)
            elif op == 0x09:
                row = FrameRow(here, "in_reg", self._uleb() & _REG_MASK)
                row.value = self._uleb() & _REG_MASK
            elif op == 0x10:
                row = FrameRow(here, "at", self._uleb() & _REG_MASK)
                stop = self._uleb() + self.pos
                self._byte()
                self._uleb()
                row.value = self._sleb()
                self.pos = stop
            else:
                raise CubinError(f".debug_frame: rule {op:#x} is not understood")
            row.advance = advanced
            advanced = False
            frame.rows.append(row)
        if advanced:
            frame.rows.append(FrameRow(here, "here"))
