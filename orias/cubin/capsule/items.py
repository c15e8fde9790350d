"""The items of a capsule: what it says about each SASS word.

Source: ``docs/facts/capsules.md``.
"""

from typing import Final, final

SAME: Final = 0
"""Kind of an item: the Mercury instruction follows from the SASS word."""
WHOLE: Final = 1
"""Kind of an item: the whole Mercury instruction is written out."""
HEAD: Final = 2
"""Kind of an item: the first four bytes of the Mercury instruction are written out, the rest follows from the SASS word."""
FILLER: Final = 3
"""Kind of an item: SASS words without Mercury instruction (the branch to itself and the NOPs after the last instruction)."""
PSEUDO: Final = 4
"""Kind of an item: a Mercury instruction without SASS word."""
KIND_NAMES: Final = ("same", "whole", "head", "filler", "pseudo")

UNIT: Final = 16
"""Bytes of a unit of a Mercury instruction; an instruction has one unit or more."""
UNITS_MASK: Final = 0xF
"""The bits of a token with the number of units."""

_CONSTANT_LOAD: Final = 0x22
_SPACE_FIELD: Final = 12
_SPACES: Final[dict[int, str]] = {0x40: "parameters", 0x47: "c[0x4]"}
_SYSTEM_VALUE: Final = 0x0B
_SYSTEM_FIELD: Final = 12
_MIN_SYSTEM_NUMBER: Final = 0x200
_ALWAYS: Final = 31
"""Number of the predicate that is always true."""

SYSTEM_VALUES: Final[dict[int, str]] = {
    0x201: "tid.x", 0x202: "tid.y", 0x203: "tid.z", 0x204: "ctaid.x", 0x205: "ctaid.y", 0x206: "ctaid.z",
    0x22C: "CgaCtaId", 0x400: "stack pointer", 0x401: "ntid.x", 0x404: "nctaid.x", 0x439: "global descriptor",
    0xFFF: "zero",
}  # fmt: skip
"""Numbers of system values in Mercury instructions of opcode 0x0b."""


@final
class Item:
    """One item: its kind, SASS words, and the bytes of its record.

    ``first``: index of its first SASS word.  ``words``: how many words it stands for (more than one: a group, or
    filler).  ``code``: the Mercury instruction, or its first four bytes, or nothing.
    """

    __slots__ = ("code", "first", "kind", "words")

    def __init__(self, kind: int, first: int, words: int = 1, code: bytes = b"") -> None:
        self.kind: Final[int] = kind
        self.first: Final[int] = first
        self.words: Final[int] = words
        self.code: Final[bytes] = code

    def units(self) -> int:
        """Units of the Mercury instruction; 0: not known (kind same) or none (filler)."""
        if self.kind == PSEUDO:
            return 1
        return self.code[0] & UNITS_MASK if self.code else 0

    def text(self) -> str:
        """The record in words: opcode, minor opcode and form, guard, what is known of its operands, and its bytes."""
        code = self.code
        if not code:
            return ""
        if self.kind == PSEUDO:
            return f"form={code[2:4].hex()} [{code.hex(' ', 4)}]"
        out = f"units={self.units()} opcode={code[1]:02x} form={code[2:4].hex()}"
        if self.kind == HEAD:
            return out
        guard = _guard(code[4] | code[5] << 8)
        value = _value(code)
        rows = " | ".join(code[at : at + UNIT].hex(" ", 4) for at in range(0, len(code), UNIT))
        return f"{out}{guard}{value} [{rows}]"


@final
class Capsule:
    """The capsule of a function.

    ``section``: name of its section.  ``text``: name of the code's section.  ``version``: the second word of the file.
    """

    __slots__ = ("items", "section", "text", "version")

    def __init__(self, section: str, text: str, version: int, items: list[Item]) -> None:
        self.section: Final[str] = section
        self.text: Final[str] = text
        self.version: Final[int] = version
        self.items: Final[list[Item]] = items

    def words(self) -> int:
        """Number of SASS words that the items stand for."""
        return sum(i.words for i in self.items)


def _guard(field: int) -> str:
    """The guard of a Mercury instruction, empty for none."""
    number = field >> 3 & 31
    if number == _ALWAYS and not field & 1:
        return ""
    name = f"{'UP' if field & 2 else 'P'}{'T' if number == _ALWAYS else number}"
    return f" guard={'!' if field & 1 else ''}{name}"


def _value(code: bytes) -> str:
    """The parameter or system value that an instruction reads, if the meaning of its number is known."""
    if code[1] == _CONSTANT_LOAD and code[0] > 1:
        space = code[_SPACE_FIELD] | code[_SPACE_FIELD + 1] << 8
        if space in _SPACES:
            return f" {_SPACES[space]}+{int.from_bytes(code[-4:], 'little'):#x}"
    if code[1] == _SYSTEM_VALUE and code[0] == 1:
        number = code[_SYSTEM_FIELD] | code[_SYSTEM_FIELD + 1] << 8
        if number in SYSTEM_VALUES:
            return f" value={SYSTEM_VALUES[number]}"
        if number >= _MIN_SYSTEM_NUMBER:
            return f" value={number:#x}"
    return ""
