"""Cubins inside other files: fat binaries, and host programs, objects and libraries that hold them.

A *fat binary* is a header (magic, version, header size, size of the rest) and entries, each a header and a payload that
may be compressed (measured on files of nvcc 13.0 in every ``-compress-mode`` and on libraries of CUDA 12 and 13)::

    offset 0  u16 kind (1 PTX, 2 cubin)      28  u32 SM number
           2  u16 version                    32  u32 offset of the name in the entry, u32 its length
           4  u32 size of the entry header   40  u64 flags (bit 13: LZ4, 15: zstd, 20: a, 21: f)
           8  u64 size of the payload        56  u64 size of the payload when unpacked
          16  u32 its size without padding  24  u16 minor, u16 major version of PTX or of the cubin
          20  u32 offset of the offset and length of the options for ptxas

The reader searches the whole host file for the magic number, independent of sections, segments and archives.
"""

from struct import unpack_from
from typing import Final, final

from orias.cubin.cubin_error import CubinError
from orias.cubin.lz4 import decompress as unpack_lz4

MAGIC: Final = b"\x50\xed\x55\xba"
KIND_PTX: Final = 1
KIND_CUBIN: Final = 2
_FLAG_LZ4: Final = 1 << 13
_FLAG_ZSTD: Final = 1 << 15
_FLAG_A: Final = 1 << 20
_FLAG_F: Final = 1 << 21
_ENTRY_HEADER: Final = 64
_HEADER: Final = 16


@final
class FatEntry:
    """One entry: kind (KIND_*), SM number, name of the source (often empty), and the packed payload."""

    __slots__ = ("flags", "kind", "name", "offset", "options", "payload", "size", "sm", "version")

    def __init__(
        self,
        kind: int,
        sm: int,
        name: str,
        flags: int,
        payload: bytes,
        size: int,
        offset: int,
        version: tuple[int, int],
        options: str,
    ) -> None:
        self.kind: Final[int] = kind
        self.sm: Final[int] = sm
        self.name: Final[str] = name
        self.flags: Final[int] = flags
        self.payload: Final[bytes] = payload
        self.size: Final[int] = size
        """Bytes of the unpacked payload."""
        self.offset: Final[int] = offset
        """Byte offset of the entry in the file."""
        self.version: Final[tuple[int, int]] = version
        """Major and minor version of the PTX or the cubin."""
        self.options: Final[str] = options
        """The options for ptxas, of PTX."""

    @property
    def target(self) -> str:
        """The SM, such as ``sm_90a``."""
        return f"sm_{self.sm}{'a' if self.flags & _FLAG_A else 'f' if self.flags & _FLAG_F else ''}"

    @property
    def compressed(self) -> bool:
        """Whether the payload is packed."""
        return self.flags & (_FLAG_LZ4 | _FLAG_ZSTD) != 0

    def data(self) -> bytes:
        """The unpacked payload.  CubinError if it is damaged or no decompressor is available."""
        if self.flags & _FLAG_LZ4:
            return unpack_lz4(self.payload, self.size)
        if self.flags & _FLAG_ZSTD:
            return _unpack_zstd(self.payload, self.size)
        return self.payload


def _unpack_zstd(data: bytes, size: int) -> bytes:
    try:
        import zstandard
    except ImportError:
        raise CubinError(
            "the entry is compressed with zstd, which needs the package zstandard (pip install 'orias[zstd]')"
        ) from None
    try:
        out: bytes = zstandard.ZstdDecompressor().decompress(data, max_output_size=size)
    except zstandard.ZstdError as e:
        raise CubinError(f"damaged zstd data: {e}") from None
    if len(out) != size:
        raise CubinError(f"zstd data give {len(out)} bytes, not the {size} the entry states")
    return out


def _entry(data: bytes, pos: int, end: int) -> tuple[FatEntry, int]:
    """The entry at a position and the position after it."""
    if pos + _ENTRY_HEADER > end:
        raise CubinError(f"fat binary: entry at offset {pos:#x} is cut off")
    kind, _version, head, length, packed = unpack_from("<HHIQI", data, pos)
    options_at, minor, major, sm, name_at, name_length = unpack_from("<IHHIII", data, pos + 20)
    flags, _, unpacked = unpack_from("<QQQ", data, pos + 40)
    if head < _ENTRY_HEADER or pos + head + length > end:
        raise CubinError(f"fat binary: entry at offset {pos:#x} reaches beyond its end")
    start = pos + head
    compressed = flags & (_FLAG_LZ4 | _FLAG_ZSTD)
    payload = data[start : start + (packed if compressed and packed else length)]
    name = b""
    if name_length and name_at + name_length <= head:
        name = data[pos + name_at : pos + name_at + name_length]
    text = name.rstrip(b"\0").decode("utf-8", "replace")
    options = ""
    if options_at and options_at + 8 <= head:
        at, count = unpack_from("<II", data, pos + options_at)
        if at + count <= head:
            options = data[pos + at : pos + at + count].decode("utf-8", "replace")
    size = unpacked if compressed else length
    entry = FatEntry(kind, sm, text, flags, payload, size, pos, (major, minor), options)
    return entry, start + length


def entries(data: bytes) -> list[FatEntry]:
    """The entries of every fat binary in a file, in file order.  CubinError for a damaged one."""
    out: list[FatEntry] = []
    at = data.find(MAGIC)
    while at >= 0:
        end = at + 4
        if at + _HEADER <= len(data):
            version, head, size = unpack_from("<HHQ", data, at + 4)
            if version == 1 and head == _HEADER and at + head + size <= len(data):
                pos, end = at + head, at + head + size
                while pos < end:
                    entry, pos = _entry(data, pos, end)
                    out.append(entry)
        at = data.find(MAGIC, end)
    return out


def cubins(data: bytes) -> list[tuple[str, bytes]]:
    """(name, bytes) of each cubin in a file: the file itself, or those of the fat binaries in it.

    Names are ``source.sm_90`` or ``cubin.sm_90``.  CubinError if there is none.
    """
    if data[:4] == b"\x7fELF" and data[18:20] == b"\xbe\x00":
        return [("", data)]
    found = [e for e in entries(data) if e.kind == KIND_CUBIN]
    if not found:
        raise CubinError("neither a cubin nor a file with cubins in it")
    return [(f"{e.name or 'cubin'}.sm_{e.sm}", e.data()) for e in found]
