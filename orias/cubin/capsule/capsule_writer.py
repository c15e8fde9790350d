"""Makes the capsule of a function out of its finished code, by the rules of the table.

Code with an instruction that no rule covers has no capsule: nothing is guessed.  Source: ``docs/facts/capsules.md``.
"""

from struct import pack
from typing import Final, final

from orias.cubin.capsule.capsule_parser import CAPSULE_VERSION, TOKEN_FILLER, TOKEN_GROUP
from orias.cubin.capsule.capsule_rules import Rule, Rules, load_rules
from orias.cubin.capsule.items import FILLER, SAME, WHOLE, Item
from orias.isa.decode import Decoded
from orias.isa.isa_table import IllegalWord, IsaTable
from orias.isa.operand import K_CONST, NOT_PT, PT, const, const_bank, const_offset, kind_of

_WORD: Final = 16
HANDLE_BANK: Final = 9
"""A bank that no SASS word names: in rules it stands for the handles of textures, samplers and surfaces."""
_FILLING: Final = "NOP"
_CLOSING: Final = "BRA"
_NULL_ACCESS: Final = "LDS"
_VIEW_FENCE: Final = "FENCE.VIEW.ASYNC.S"
_INIT: Final = "SYNCS.EXCH.64"


class NoCapsule(Exception):
    """The code has no capsule; the message says why, and names the instruction."""


@final
class Mercury:
    """The Mercury form of a function: its items, and where each SASS word is in it.

    ``offsets``: for each SASS word, and for the end of the code, the number of units before its Mercury instruction.
    """

    __slots__ = ("items", "offsets")

    def __init__(self, items: list[Item], offsets: list[int]) -> None:
        self.items: Final[list[Item]] = items
        self.offsets: Final[list[int]] = offsets


@final
class HandleSlots:
    """Where code reads the handles of textures, samplers and surfaces.

    ``start``: their offset in constant bank 0.  ``loads``: offsets of instructions whose constant a linker makes one of them.
    """

    __slots__ = ("loads", "start")

    def __init__(self, start: int, loads: set[int]) -> None:
        self.start: Final[int] = start
        self.loads: Final[set[int]] = loads

    def marked(self, d: Decoded, at: int) -> Decoded:
        """The instruction at an offset, with bank HANDLE_BANK and the offset among the handles if it reads one."""
        for k, o in enumerate(d.src):
            if kind_of(o) == K_CONST and (at in self.loads or (const_bank(o) == 0 and const_offset(o) >= self.start)):
                place = 0 if at in self.loads else const_offset(o) - self.start
                return Decoded(d.op, d.guard, d.dst, [*d.src[:k], const(HANDLE_BANK, place), *d.src[k + 1 :]], d.ctl)
        return d


def mercury_of(
    code: bytes, table: IsaTable, where: str, rules: Rules | None = None, slots: HandleSlots | None = None
) -> Mercury:
    """The Mercury form of finished code, by the table's rules or others; NoCapsule if a rule is missing."""
    rules = rules or load_rules()
    words = [_decode(code, at, table, where) for at in range(0, len(code), _WORD)]
    if slots is not None:
        words = [slots.marked(d, k * _WORD) for k, d in enumerate(words)]
    end = len(words)
    while end and _fills(words[end - 1]):
        end -= 1
    if not end or words[end - 1].op.base != _CLOSING or table.targets(_word(code, (end - 1) * _WORD), 0) != [0]:
        raise NoCapsule(f"{where} does not end with a branch to itself")
    end -= 1
    items: list[Item] = []
    offsets: list[int] = []
    units = at = 0
    while at < end:
        if _fills(words[at]):
            items.append(Item(FILLER, at))
            offsets.append(units)
            at += 1
            continue
        nulls = 0
        while at + nulls < end and belongs_to_next(words, at + nulls):
            nulls += 1
        found = _longest(rules, words, at + nulls, end)
        if found is None or (nulls and found.kind != WHOLE):
            text = table.text(_word(code, (at + nulls) * _WORD), (at + nulls) * _WORD)
            raise NoCapsule(f"{where} has at {(at + nulls) * _WORD:#x} an instruction without rule: {text}")
        members = nulls + found.members
        items.append(Item(found.kind, at, members, found.record(words[at + nulls : at + members])))
        offsets += [units] * members
        units += found.units
        at += members
    items.append(Item(FILLER, end, len(words) - end))
    offsets += [units] * (len(words) - end + 1)
    return Mercury(items, offsets)


def missing_rules(code: bytes, table: IsaTable, rules: Rules) -> list[tuple[list[Decoded], int]]:
    """The instructions of finished code that no rule covers, with their offsets."""
    words = [table.decode(_word(code, at)) for at in range(0, len(code), _WORD)]
    end = max((i for i, d in enumerate(words) if d.op.name == _CLOSING), default=0)
    out: list[tuple[list[Decoded], int]] = []
    at = 0
    while at < end:
        if _fills(words[at]) or belongs_to_next(words, at):
            at += 1
            continue
        found = _longest(rules, words, at, end)
        if found is None:
            out.append(([words[at]], at * _WORD))
        at += found.members if found is not None else 1
    return out


def capsule_bytes(items: list[Item], text_index: int) -> bytes:
    """The content of a section ``.nv.capmerc.text.<function>``; `text_index`: index of the code's section."""
    bitmap = bytearray((len(items) + 31) // 32 * 4)
    records = bytearray()
    for i, item in enumerate(items):
        if item.kind == SAME:
            bitmap[i >> 3] |= 1 << (i & 7)
            continue
        if item.kind == FILLER:
            records += pack("<H", item.words << 7 | TOKEN_FILLER)
            continue
        if item.words > 1:
            records += pack("<H", item.words << 7 | TOKEN_GROUP)
        records += item.code
    return pack("<III", text_index, CAPSULE_VERSION, len(items)) + bytes(bitmap) + bytes(records)


def _word(code: bytes, at: int) -> int:
    return int.from_bytes(code[at : at + _WORD], "little")


def _decode(code: bytes, at: int, table: IsaTable, where: str) -> Decoded:
    try:
        return table.decode(_word(code, at))
    except IllegalWord as e:
        raise NoCapsule(f"{where} has at {at:#x} a word that is no instruction: {e}") from e


def _fills(d: Decoded) -> bool:
    """True for a NOP that is always executed: the linker makes its own."""
    return d.op.name == _FILLING and d.guard == PT


def separates(d: Decoded) -> bool:
    """True for a null access to shared memory, which belongs to the instruction after it (orias/schedule/shared_gap.py)."""
    return d.op.name == _NULL_ACCESS and d.guard == NOT_PT


def belongs_to_next(words: list[Decoded], at: int) -> bool:
    """True for a word that the record of the instruction after it stands for: a null access, or the fence before the start of a barrier in memory."""
    d = words[at]
    if separates(d):
        return True
    return d.op.name == _VIEW_FENCE and d.guard == PT and at + 1 < len(words) and words[at + 1].op.name == _INIT


def _longest(rules: Rules, words: list[Decoded], at: int, end: int) -> Rule | None:
    """The rule of the instruction at `at`, or of the longest group that begins there."""
    longest = min(rules.longest(words[at].op.name), end - at)
    for members in range(longest, 0, -1):
        found = rules.find(words[at : at + members])
        if found is not None:
            return found
    return None
