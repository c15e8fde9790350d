"""Parses the capsules of a cubin; bytes that are none raise CubinError.

Source of the layout: ``docs/facts/capsules.md``.
"""

from struct import unpack_from
from typing import Final

from orias.cubin.capsule.items import FILLER, HEAD, PSEUDO, SAME, UNIT, WHOLE, Capsule, Item
from orias.cubin.cubin_error import CubinError
from orias.cubin.elf import ElfFile, Section

SHT_CUDA_CAPSULE: Final = 0x70000016
"""Type of the section ``.nv.capmerc.text.<function>``."""
MERCURY_PREFIXES: Final = (".nv.merc.", ".nv.capmerc.")
"""First part of the names of all sections that belong to capsules."""

CAPSULE_VERSION: Final = 0xC0000001
"""Second word of a capsule."""
_HEADER: Final = 12
_WORD: Final = 16
"""Bytes of a SASS word."""
HEAD_BYTES: Final = 4
_TOKEN_PSEUDO: Final = 0x31
_TOKEN_PLAIN: Final = 0x10
TOKEN_HEAD: Final = 0x40
TOKEN_FILLER: Final = 0x50
TOKEN_GROUP: Final = 0x51
_MAX_UNITS: Final = 0xF


def capsules(file: ElfFile) -> list[Capsule]:
    """All capsules of a cubin, in file order; CubinError if one is damaged."""
    return [capsule_of(file, s) for s in file.sections if s.type == SHT_CUDA_CAPSULE]


def capsule_of(file: ElfFile, section: Section) -> Capsule:
    """The capsule of one section, checked against the code that it is about."""
    data, where = section.data, section.name
    if len(data) < _HEADER:
        raise CubinError(f"{where}: {len(data)} bytes are less than a capsule's header of {_HEADER}")
    index, version, count = unpack_from("<III", data)
    if version != CAPSULE_VERSION:
        raise CubinError(f"{where}: capsule version {version:#x} is not known (only {CAPSULE_VERSION:#x} is)")
    if index >= len(file.sections) or not file.sections[index].name.startswith(".text."):
        raise CubinError(f"{where}: section {index}, whose capsule this is, is no code")
    text = file.sections[index]
    if len(text.data) % _WORD:
        raise CubinError(f"{text.name}: {len(text.data)} bytes are not a whole number of instructions")
    words = len(text.data) // _WORD
    items, end = parse_items(data, count, where)
    if end != len(data):
        raise CubinError(f"{where}: {len(data) - end} bytes after the last record")
    found = Capsule(where, text.name, version, items)
    if found.words() != words:
        raise CubinError(f"{where}: items for {found.words()} instructions, but {text.name} has {words}")
    return found


def parse_items(data: bytes, count: int, where: str) -> tuple[list[Item], int]:
    """The `count` items of a capsule, and the offset of the byte after their last record."""
    at = _HEADER + 4 * ((count + 31) // 32)
    if at > len(data):
        raise CubinError(f"{where}: the bitmap of {count} items does not fit into {len(data)} bytes")
    out: list[Item] = []
    first = 0
    for i in range(count):
        if data[_HEADER + (i >> 3)] >> (i & 7) & 1:
            item = Item(SAME, first)
        else:
            item, at = _record(data, at, first, i, where)
        out.append(item)
        first += item.words
    for i in range(count, (count + 31) // 32 * 32):
        if data[_HEADER + (i >> 3)] >> (i & 7) & 1:
            raise CubinError(f"{where}: the bitmap has a bit for item {i}, but there are {count} items")
    return out, at


def _record(data: bytes, at: int, first: int, number: int, where: str) -> tuple[Item, int]:
    """The item of the record at `at`, and the offset of the byte after it."""
    what = f"{where}: record of item {number} at byte {at:#x}"
    token = _byte(data, at, what) & 0x7F
    words = 1
    if token in (TOKEN_FILLER, TOKEN_GROUP):
        words = (_byte(data, at, what) | _byte(data, at + 1, what) << 8) >> 7
        at += 2
        if words == 0:
            raise CubinError(f"{what} stands for no instruction")
        if token == TOKEN_FILLER:
            return Item(FILLER, first, words), at
        token = _byte(data, at, what) & 0x7F
    kind = WHOLE
    units = token - _TOKEN_PLAIN if _TOKEN_PLAIN < token <= _TOKEN_PLAIN + _MAX_UNITS else token
    size = units * UNIT
    if token == _TOKEN_PSEUDO:
        kind, size, units, words = PSEUDO, UNIT, 1, 0
    elif token > TOKEN_HEAD:
        kind, size, units = HEAD, HEAD_BYTES, token - TOKEN_HEAD
    if not 1 <= units <= _MAX_UNITS:
        raise CubinError(f"{what} has the unknown token {token:#x}")
    if at + size > len(data):
        raise CubinError(f"{what} needs {size} bytes, but {len(data) - at} are left")
    return Item(kind, first, words, data[at : at + size]), at + size


def _byte(data: bytes, at: int, what: str) -> int:
    if at >= len(data):
        raise CubinError(f"{what} is beyond the end of the capsule ({len(data)} bytes)")
    return data[at]
