"""The rules by which capsules state SASS instructions: a table of measured facts (``rules.txt``), its parser, and applying a rule.

A line is a signature (``signature.py``), a tab, and what the capsule says.  After an operand of the signature may stand
a condition on its value: ``=255`` (RZ), ``=0x37c``, ``=r`` (a register other than RZ and PT), ``=+`` (a predicate that
is not negated), ``=n`` (a predicate other than !PT), ``=p`` (neither negated nor PT), ``=o2`` (the same as operand 2), ``=s2``
(the register after operand 2), ``=a`` and ``=l`` (a table of LOP3 that is, or is not, the AND or OR of two operands; XOR is neither).  The first line whose conditions hold counts.  What the capsule says:

- ``same`` or ``head BYTES``, and the units of the Mercury instruction if they are not one;
- ``whole BYTES FIELD ...``: the bytes of the record, trailing zeros left out, and the fields that are filled in: number
  of the operand, type and lowest bit, such as ``1R102``.  The guard of a single instruction is filled in always.

Types: ``R`` register of 10 bits (RZ and URZ all ones), ``N`` the register after it, ``M`` the one after that, ``P`` predicate of 5 bits (PT all ones), ``!`` one bit for a
negated predicate, ``B`` barrier of 5 bits, ``I`` and ``D`` low and high half of an immediate, ``X`` an immediate of 32
bits extended by its sign to 64, ``H`` a signed immediate that must fit 16 bits, ``Y`` one of a byte, ``C`` offset in a constant bank, ``K`` the
same from the start of the parameters.

Source of the rules: cubins of ptxas 13.0.88 (``docs/facts/capsules.md``, "Rules").
"""

import os.path
from bisect import bisect_left
from typing import Final, final

from orias.cubin.capsule.items import HEAD, SAME, UNIT, UNITS_MASK, WHOLE
from orias.cubin.capsule.signature import JOIN, operand_value, signature
from orias.isa.decode import Decoded
from orias.isa.operand import INV, PT, Opnd, const_offset, is_hardwired, payload

RULES_PATH: Final = os.path.join(os.path.dirname(os.path.abspath(__file__)), "rules.txt")
PARAMETERS: Final = 0x380
"""Offset of the parameters in constant bank 0 of every target with capsules."""
FIELD_WIDTHS: Final[dict[str, int]] = {"R": 10, "N": 10, "M": 10, "P": 5, "!": 1, "B": 5, "I": 32, "D": 32, "X": 64, "C": 32, "K": 32, "H": 16, "Y": 8}  # fmt: skip
GUARD_BITS: Final = 1 << 32 | 31 << 35
"""The guard in a Mercury instruction: negated or not, and the number."""
NOT_NEGATED: Final = -1
"""Value of a condition: the predicate is not negated."""
ORDINARY: Final = -2
"""Value of a condition: the register is not hardwired."""
NOT_FALSE: Final = -3
"""Value of a condition: the predicate is not !PT."""
PLAIN: Final = -4
"""Value of a condition: the predicate is neither negated nor PT."""
AND_OR: Final = -5
"""Value of a condition: the table of a logic operation is the AND or OR of two operands."""
OTHER_TABLE: Final = -6
"""Value of a condition: the table of a logic operation is no AND, OR or XOR of two operands."""
_SAME_AS: Final = -7
"""Value of a condition: the operand equals operand 0; one less for operand 1 and so on."""
_AFTER: Final = -1007
"""Value of a condition: the operand is the register after operand 0; one less for operand 1 and so on."""
AND_OR_TABLES: Final[frozenset[int]] = frozenset((0x03, 0x0C, 0x30, 0x3F, 0xC0, 0xCF, 0xF3, 0xFC))
"""Tables of LOP3 that are the AND or OR of the first two operands, each negated or not: Mercury has an operation for these."""
XOR_TABLES: Final[frozenset[int]] = frozenset((0x3C, 0xC3))
"""The same for the exclusive OR."""

_KINDS: Final[dict[str, int]] = {"same": SAME, "head": HEAD, "whole": WHOLE}
_INVERTED: Final = 8
_TRUE: Final = 7
_FALSE: Final = _INVERTED | _TRUE
_ZERO: Final = 255
_BYTE: Final = 255


def fits_half(o: Opnd) -> bool:
    """True if an immediate of 32 bits is a signed number of 16 bits."""
    p = payload(o)
    return p < 0x8000 or 0xFFFF8000 <= p <= 0xFFFFFFFF


def field_value(kind: str, o: Opnd) -> int:
    """What an operand puts into a field of a type."""
    p = payload(o)
    if kind == "R":
        return 1023 if p == _ZERO else p
    if kind == "N":
        return p + 1
    if kind == "M":
        return p + 2
    if kind == "P":
        return 31 if p == _TRUE else p
    if kind == "!":
        return 1 if o & INV else 0
    if kind == "D":
        return p >> 32
    if kind == "X":
        return (p ^ 1 << 31) - (1 << 31) & 0xFFFFFFFFFFFFFFFF
    if kind == "C":
        return const_offset(o)
    if kind == "K":
        return const_offset(o) - PARAMETERS & 0xFFFFFFFF
    if kind == "H":
        return p & 0xFFFF
    return p & 0xFFFFFFFF


@final
class Field:
    """A field of a record: number of the operand, type, lowest bit."""

    __slots__ = ("kind", "low", "operand")

    def __init__(self, operand: int, kind: str, low: int) -> None:
        self.operand: Final[int] = operand
        self.kind: Final[str] = kind
        self.low: Final[int] = low


@final
class Rule:
    """What a capsule says about the instructions of one signature, under conditions.

    ``members``: number of SASS words.  ``units``: units of the Mercury instruction.  ``code``: bytes of the record before
    the fields are filled in.  ``conditions``: number of an operand and the value that it must have.
    """

    __slots__ = ("code", "conditions", "fields", "kind", "members", "units")

    def __init__(
        self, kind: int, members: int, units: int, code: bytes, conditions: list[tuple[int, int]], fields: list[Field]
    ) -> None:
        self.kind: Final[int] = kind
        self.members: Final[int] = members
        self.units: Final[int] = units
        self.code: Final[bytes] = code
        self.conditions: Final[list[tuple[int, int]]] = conditions
        self.fields: Final[list[Field]] = fields

    def holds(self, operands: list[Opnd]) -> bool:
        """True if the operands have the values that the rule asks for."""
        for number, value in self.conditions:
            found = operand_value(operands[number])
            if value == NOT_NEGATED:
                if found >= _INVERTED:
                    return False
            elif value == PLAIN:
                if found >= _TRUE:
                    return False
            elif value == NOT_FALSE:
                if found == _FALSE:
                    return False
            elif value == AND_OR:
                if found not in AND_OR_TABLES:
                    return False
            elif value == OTHER_TABLE:
                if found in AND_OR_TABLES or found in XOR_TABLES:
                    return False
            elif value == ORDINARY:
                if is_hardwired(operands[number]):
                    return False
            elif value <= _AFTER:
                if found != operand_value(operands[_AFTER - value]) + 1:
                    return False
            elif found != (operand_value(operands[_SAME_AS - value]) if value <= _SAME_AS else value):
                return False
        for f in self.fields:
            if (f.kind == "H" and not fits_half(operands[f.operand])) or (
                f.kind == "Y" and payload(operands[f.operand]) > _BYTE
            ):
                return False
        return True

    def record(self, members: list[Decoded]) -> bytes:
        """The record of the instructions (which the rule must be the rule of)."""
        if self.kind != WHOLE:
            return self.code
        operands = operands_of(members)
        out = int.from_bytes(self.code, "little")
        for f in self.fields:
            out |= field_value(f.kind, operands[f.operand]) << f.low
        guard = members[0].guard if len(members) == 1 else PT
        number = payload(guard)
        out |= (31 if number == _TRUE else number) << 35 | (1 if guard & INV else 0) << 32
        return out.to_bytes(len(self.code), "little")


def operands_of(members: list[Decoded]) -> list[Opnd]:
    """Results and sources of each member, as the rules number them."""
    out: list[Opnd] = []
    for d in members:
        out += d.dst
        out += d.src
    return out


@final
class Rules:
    """All rules, by signature.  Lines are parsed when an instruction with their first operation is looked for."""

    __slots__ = ("_by_signature", "_lines", "_longest", "_parsed")

    def __init__(self, lines: list[str], in_order: bool = False) -> None:
        """`in_order`: the lines are sorted by their first word, as those of the table are."""
        self._by_signature: Final[dict[str, list[Rule]]] = {}
        self._longest: Final[dict[str, int]] = {}
        """The most members of a group, by the name of the first member's operation."""
        self._lines: Final[list[str]] = lines if in_order else sorted(lines, key=_first_word)
        self._parsed: Final[set[str]] = set()
        """Names of first members whose lines are parsed."""

    def parse_all(self) -> None:
        """Parse all lines; ValueError, naming the line, if one does not follow the notation."""
        for line in self._lines:
            if line and line[0] != "#":
                self._parse(_first_word(line)[:-1])

    def longest(self, name: str) -> int:
        """The most members of a rule whose first member has the operation `name`."""
        self._parse(name)
        return self._longest.get(name, 1)

    def _parse(self, name: str) -> None:
        if name in self._parsed:
            return
        self._parsed.add(name)
        first = f"{name} "
        at = bisect_left(self._lines, first)
        while at < len(self._lines) and self._lines[at].startswith(first):
            self._add(self._lines[at])
            at += 1

    def _add(self, line: str) -> None:
        left, tab, right = line.partition("\t")
        words = right.split()
        if not tab or not words or words[0] not in _KINDS:
            raise ValueError(f"no rule of a capsule: {line!r}")
        tokens, conditions = _conditions(left.split())
        members = tokens.count(JOIN) + 1
        key = " ".join(tokens)
        self._by_signature.setdefault(key, []).append(_rule(words, members, conditions))
        if members > self._longest.get(tokens[0], 1):
            self._longest[tokens[0]] = members

    def of_signature(self, text: str) -> list[Rule]:
        """The rules of a signature, in the order of the table."""
        self._parse(text[: text.find(" ")])
        return self._by_signature.get(text, [])

    def find(self, members: list[Decoded]) -> Rule | None:
        """The rule of an instruction or of a group."""
        rules = self.of_signature(signature(members))
        if rules:
            operands = operands_of(members)
            for r in rules:
                if r.holds(operands):
                    return r
        return None


def _first_word(line: str) -> str:
    """The first word of a line, with the blank after it."""
    return line[: line.find(" ") + 1]


def _conditions(words: list[str]) -> tuple[list[str], list[tuple[int, int]]]:
    """The tokens of a signature without their conditions, and these."""
    tokens: list[str] = []
    conditions: list[tuple[int, int]] = []
    number = 0
    operation = True
    for word in words:
        if operation or word in ("|", JOIN):
            tokens.append(word)
            operation = word == JOIN or word.startswith("@")
            continue
        token, equal, value = word.partition("=")
        if equal:
            conditions.append((number, _condition(value)))
        tokens.append(token)
        number += 1
    return tokens, conditions


def _condition(text: str) -> int:
    if text == "+":
        return NOT_NEGATED
    if text == "r":
        return ORDINARY
    if text == "p":
        return PLAIN
    if text == "n":
        return NOT_FALSE
    if text == "a":
        return AND_OR
    if text == "l":
        return OTHER_TABLE
    if text.startswith("s"):
        return _AFTER - int(text[1:])
    return _SAME_AS - int(text[1:]) if text.startswith("o") else int(text, 0)


def _rule(words: list[str], members: int, conditions: list[tuple[int, int]]) -> Rule:
    kind = _KINDS[words[0]]
    if kind == SAME:
        return Rule(kind, members, int(words[1]) if len(words) > 1 else 1, b"", conditions, [])
    code = bytes.fromhex(words[1])
    units = code[0] & UNITS_MASK
    if kind == HEAD:
        return Rule(kind, members, units, code, conditions, [])
    fields: list[Field] = []
    for word in words[2:]:
        at = next(i for i, c in enumerate(word) if not c.isdigit())
        fields.append(Field(int(word[:at]), word[at], int(word[at + 1 :])))
    return Rule(kind, members, units, code + bytes(units * UNIT - len(code)), conditions, fields)


_loaded: list[Rules] = []


def use_rules(rules: Rules) -> None:
    """Let other rules stand for the table (for the tool that judges them)."""
    _loaded[:] = [rules]


def load_rules() -> Rules:
    """The rules of the table, read once."""
    if not _loaded:
        with open(RULES_PATH, encoding="utf-8") as f:
            _loaded.append(Rules(f.read().splitlines(), in_order=True))
    return _loaded[0]
