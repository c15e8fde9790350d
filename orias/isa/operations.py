"""The properties of operations by mnemonic and modifiers, from ``data/operations.isa``.

Each line describes one mnemonic: what it does, its execution pipe, whether results and sources are late (of variable
latency), addresses, and the number of registers per operand.  ``docs/isa-table.md`` describes the notation.  Lines are
parsed on first use.  Sources: ``docs/facts/timing.md`` for pipes and barriers; for register counts the live-range
columns of ``nvdisasm -plr`` 13.5.37 over compiler output.
"""

from typing import Final, final

from orias.isa.notation import TableError
from orias.isa.rawtable import members, read_file
from orias.kept import remembered

TABLES: Final = ("isa", "isa/data")
"""The folders of the package that look-ups in the tables depend on, for :mod:`orias.kept`."""
LATE_RESULT: Final = 1
"""Results have variable latency and need a write barrier."""
LATE_SOURCE: Final = 2
"""Sources are read after issue at a variable time and need a read barrier."""
_LATE: Final = {"result": LATE_RESULT, "source": LATE_SOURCE}

_ATTRIBUTES: Final = frozenset((
    "address", "busy", "class", "column", "compat", "descriptor", "does", "estimate", "fold", "held", "input", "late", "means", "measured", "mercury", "model", "not", "offset", "order",
    "pipe", "proves", "pseudo", "queue", "row", "signs", "space", "uniform", "unknown", "words",
))  # fmt: skip
"""The attributes of a line; ``docs/isa-table.md`` defines each."""
_PAIRS: Final = frozenset(("64", "F64", "S64", "U64"))
_VECTORS: Final[dict[str, int]] = {
    "F32x2": 2, "F32x4": 4, "F16x4": 2, "F16x8": 4, "BF16x4": 2, "BF16x8": 4,
    "E4M3x8": 2, "E4M3x16": 4, "E5M2x8": 2, "E5M2x16": 4,
}  # fmt: skip
"""Registers of the vectors of atomic operations."""
_NARROW: Final[dict[str, int]] = {"U8": 1, "S8": 1, "U16": 2, "S16": 2}
"""Bytes of accesses to less than a word."""


def data_words(mods: tuple[str, ...]) -> int:
    """Registers that a memory operation moves per thread, by its size modifier."""
    for m in mods:
        if m == "256":
            return 8
        if m == "128":
            return 4
        if m in _PAIRS:
            return 2
        if m in _VECTORS:
            return _VECTORS[m]
    return 1


def access_bytes(mods: tuple[str, ...]) -> int:
    """Bytes that a load, store or atomic moves per thread, by its size modifier."""
    for m in mods:
        if m in _NARROW:
            return _NARROW[m]
    return 4 * data_words(mods)


def _accumulator_words(mods: tuple[str, ...]) -> int:
    """Registers of D of a warpgroup operation of shape ``64xNxK`` per thread."""
    columns = int(next(m for m in mods if m.startswith("64x")).split("x")[1])
    return columns // 4 if "F16" in mods else columns // 2


def _has(mods: tuple[str, ...], wanted: list[str]) -> bool:
    """True if `mods` contains the wanted modifiers in this order (``U64/S64``: either of them)."""
    at = 0
    for w in wanted:
        choices = w.split("/")
        while at < len(mods) and mods[at] not in choices:
            at += 1
        if at == len(mods):
            return False
        at += 1
    return True


@final
class Facts:
    """The line of a mnemonic."""

    __slots__ = ("_attributes", "name", "pseudo", "text")

    def __init__(self, name: str, text: str) -> None:
        self.name: Final[str] = name
        self.text: Final[str] = text
        """The attributes as written."""
        self.pseudo: bool = False
        """True for a pseudo operation, which phases before encoding expand."""
        self._attributes: Final[dict[str, list[tuple[list[str], str]]]] = {}
        """Attribute name -> the required modifiers and the value of each occurrence, in order."""
        for attribute in text.split("; "):
            head, _, rest = attribute.partition(" ")
            key, *mods = head.split(".")
            if key == "pseudo":
                self.pseudo = True
            if key not in _ATTRIBUTES:
                raise TableError(f"operations.isa: {name} has '{attribute}'")
            found = self._attributes.get(key)
            if found is None:
                found = self._attributes[key] = []
            found.append((mods, rest))

    def _first(self, key: str, mods: tuple[str, ...]) -> str | None:
        """The value of the first attribute of a name whose modifiers the operation has; one without modifiers is tried last."""
        plain: str | None = None
        for wanted, rest in self._attributes.get(key, ()):
            if not wanted:
                plain = rest if plain is None else plain
            elif _has(mods, wanted):
                return rest
        return plain

    def value(self, key: str, mods: tuple[str, ...]) -> str:
        """The attribute's value for an operation with these modifiers; empty if it has none."""
        return self._first(key, mods) or ""

    def values(self, key: str, mods: tuple[str, ...]) -> list[str]:
        """The values of all attributes of a name whose modifiers the operation has."""
        return [rest for wanted, rest in self._attributes.get(key, ()) if not wanted or _has(mods, wanted)]

    def number(self, key: str, mods: tuple[str, ...]) -> int:
        """The attribute's value as a number; 0 if the operation has none."""
        text = self._first(key, mods)
        return 0 if text is None else int(text)

    def numbers(self, key: str, mods: tuple[str, ...]) -> tuple[int, ...]:
        """The attribute's value as numbers; empty if the operation has none, and for ``none``."""
        text = self._first(key, mods)
        return () if text is None or text == "none" else tuple([int(x) for x in text.split(" ")])

    def number_of_class(self, key: str, table: str) -> int:
        """The number of an attribute for a decoder class (``input 9 @80``); 0 if it has none."""
        for _, rest in self._attributes.get(key, ()):
            text, sign, classes = rest.partition(" @")
            if not sign or table in members(classes):
                return int(text)
        return 0

    def pipe(self, mods: tuple[str, ...]) -> str:
        """Name of the execution pipe; empty if unknown, as for pseudo operations."""
        return self.value("pipe", mods)

    def late(self, table: str, mods: tuple[str, ...] = ()) -> int:
        """LATE_RESULT and LATE_SOURCE for a decoder class, as a bit set."""
        out = 0
        for wanted, rest in self._attributes.get("late", ()):
            kinds, sign, classes = rest.partition(" @")
            if (not wanted or _has(mods, wanted)) and (not sign or table in members(classes)):
                for k in kinds.split(" "):
                    out |= _LATE[k]
        return out

    def words(self, mods: tuple[str, ...]) -> tuple[list[int], list[int]] | None:
        """Registers per result and per source, 1 beyond the end of a list; None if unknown."""
        text = self._first("words", mods)
        if text is None:
            return [], []
        if text == "unknown":
            return None
        dst, _, src = text.partition("=")
        return [_number(x, mods) for x in dst.split()], [_number(x, mods) for x in src.split()]


def _number(text: str, mods: tuple[str, ...]) -> int:
    if text == "n":
        return data_words(mods)
    if text == "acc":
        return _accumulator_words(mods)
    return int(text)


_lines: dict[str, str] = {}
_facts: dict[str, Facts] = {}


def _read() -> None:
    for line in read_file("operations.isa").replace(";\n    ", "; ").splitlines():
        if line and line[0] != "#":
            name, _, rest = line.partition(": ")
            if name in _lines:
                raise TableError(f"operations.isa: {name} has two lines")
            _lines[name] = rest


def facts(mnemonic: str) -> Facts | None:
    """What the table says of a mnemonic, None if it has no line."""
    f = _facts.get(mnemonic)
    if f is None:
        text = _text(mnemonic)
        if not text:
            return None
        f = _facts[mnemonic] = Facts(mnemonic, text)
    return f


def _text(mnemonic: str) -> str:
    """The attributes of a mnemonic as written, if possible from earlier runs; empty if it has no line."""
    text: str = remembered("operations", TABLES, f"{mnemonic}:", lambda: _line(mnemonic))
    return text


def _line(mnemonic: str) -> str:
    if not _lines:
        _read()
    return _lines.get(mnemonic, "")


def mnemonics() -> list[str]:
    """All mnemonics with a line, pseudo operations included."""
    if not _lines:
        _read()
    return list(_lines)


def mnemonics_with(attribute: str) -> list[str]:
    """All mnemonics whose line has an attribute, for any modifiers."""
    found = f"; {attribute} "
    names: list[str] = remembered(
        "operations", TABLES, found, lambda: [m for m in mnemonics() if found in "; " + _lines[m]]
    )
    return names
