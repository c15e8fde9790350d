"""What is true of an operation by its mnemonic and modifiers: ``data/operations.isa``.

One line an operation: the execution pipe, whether results come and sources go at a time the code cannot know, the registers that
operands cover, operands that no slot names.  ``docs/isa-table.md`` describes the notation.  Sources: pipes and barriers, sections 3.3 and 3.5 of
the scheduling inventory, measured on ptxas 13.0.88; registers, the life-range columns of ``nvdisasm -plr`` 13.5.37 over compiler output.
A line is read when its operation is first asked for.
"""

from typing import Final, final

from orias.isa.classes import table_of_sm
from orias.isa.notation import TableError
from orias.isa.op import Op
from orias.isa.rawtable import members, read_file

LATE_RESULT: Final = 1
"""Results arrive at a time the code cannot know: a write barrier."""
LATE_SOURCE: Final = 2
"""Sources are read late: a read barrier."""
_LATE: Final = {"result": LATE_RESULT, "source": LATE_SOURCE}

READS_PR: Final = 1
"""Reads the predicates of an immediate mask (``P2R R4, PR, RZ, 0x7f``), all seven without one."""
WRITES_PR: Final = 2
"""Writes them (``R2P PR, R4, 0x7f``)."""
WRITES_B: Final = 4
"""Also writes its convergence-barrier source."""
COMPONENTS: Final = 8
"""The last immediate is a mask of components: the second result holds the first two of them, the first result the others."""
LATE_UNIFORM: Final = 16
"""Uniform registers are read late too; other operations have read theirs at issue (ptxas overwrites them at once)."""
_TRAITS: Final = {
    "reads PR": READS_PR,
    "writes PR": WRITES_PR,
    "writes B": WRITES_B,
    "components": COMPONENTS,
    "late uniform": LATE_UNIFORM,
}

_PAIRS: Final = frozenset(("64", "F64", "S64", "U64"))
_VECTORS: Final[dict[str, int]] = {
    "F32x2": 2, "F32x4": 4, "F16x4": 2, "F16x8": 4, "BF16x4": 2, "BF16x8": 4,
}  # fmt: skip
"""Registers of the vectors of atomic operations."""


def data_words(mods: tuple[str, ...]) -> int:
    """Registers that a memory operation moves per thread, by its size modifier."""
    for m in mods:
        if m == "128":
            return 4
        if m in _PAIRS:
            return 2
        if m in _VECTORS:
            return _VECTORS[m]
    return 1


def _accumulator_words(mods: tuple[str, ...]) -> int:
    """Registers of D of a warpgroup operation of shape ``64xNxK`` per thread."""
    columns = int(next(m for m in mods if m.startswith("64x")).split("x")[1])
    return columns // 4 if "F16" in mods else columns // 2


def _has(mods: tuple[str, ...], wanted: list[str]) -> bool:
    """True if the wanted modifiers (``U64/S64``: either) stand among those of an operation, in this order."""
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
    """The line of a mnemonic, its attributes in order."""

    __slots__ = ("_attributes", "name", "text")

    def __init__(self, name: str, text: str) -> None:
        self.name: Final[str] = name
        self.text: Final[str] = text
        """The attributes as written."""
        self._attributes: Final[list[tuple[str, list[str], str]]] = []
        for attribute in text.split("; "):
            head, _, rest = attribute.partition(" ")
            key, *mods = head.split(".")
            self._attributes.append((key, mods, rest))

    def _first(self, key: str, mods: tuple[str, ...]) -> str | None:
        """The value of the first attribute of a name whose modifiers the operation has; a plain one counts last."""
        plain: str | None = None
        for k, wanted, rest in self._attributes:
            if k == key:
                if not wanted:
                    plain = rest if plain is None else plain
                elif _has(mods, wanted):
                    return rest
        return plain

    def pipe(self, mods: tuple[str, ...]) -> str:
        """Name of the execution pipe."""
        found = self._first("pipe", mods)
        if found is None:
            raise TableError(f"operations.isa: {self.name} has no pipe")
        return found

    def late(self, table: str) -> int:
        """LATE_RESULT, LATE_SOURCE as a bit set, for a decoder class."""
        out = 0
        for key, _, rest in self._attributes:
            if key == "late" and rest != "uniform":
                kinds, sign, classes = rest.partition(" @")
                if not sign or table in members(classes):
                    for k in kinds.split(" "):
                        out |= _LATE[k]
        return out

    def traits(self, mods: tuple[str, ...]) -> int:
        """READS_PR, WRITES_PR, WRITES_B, COMPONENTS, LATE_UNIFORM as a bit set."""
        out = 0
        for key, wanted, rest in self._attributes:
            bit = _TRAITS.get(f"{key} {rest}" if rest else key, 0)
            if bit and _has(mods, wanted):
                out |= bit
        return out

    def words(self, mods: tuple[str, ...]) -> tuple[list[int], list[int]] | None:
        """Registers per result and per source, 1 beyond the ends; None if they are not known."""
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
_traits: dict[int, int] = {}


def _read() -> None:
    for line in read_file("operations.isa").replace(";\n    ", "; ").splitlines():
        if line and line[0] != "#":
            name, _, rest = line.partition(": ")
            _lines[name] = rest


def facts(mnemonic: str) -> Facts | None:
    """What the table says of a mnemonic, None if it has no line."""
    f = _facts.get(mnemonic)
    if f is None:
        if not _lines:
            _read()
        text = _lines.get(mnemonic)
        if text is None:
            return None
        f = _facts[mnemonic] = Facts(mnemonic, text)
    return f


def mnemonics() -> list[str]:
    """All mnemonics with a line."""
    if not _lines:
        _read()
    return list(_lines)


def late(op: Op, sm: int) -> int:
    """LATE_RESULT, LATE_SOURCE of an operation on an SM; 0 without a line."""
    f = facts(op.base)
    return 0 if f is None else f.late(table_of_sm(sm))


def traits(op: Op) -> int:
    """READS_PR, WRITES_PR, WRITES_B, COMPONENTS, LATE_UNIFORM of an operation; 0 without a line."""
    found = _traits.get(op.ident)
    if found is None:
        f = facts(op.base)
        found = _traits[op.ident] = 0 if f is None else f.traits(op.mods)
    return found
