"""The profile of a target: the facts that the table of targets has for its SM.

Every query names a fact.  If the target does not have the fact, or nobody has measured it, the query raises
:class:`orias.diag.MissingFact`, which names target and fact; a query never answers with the value of another target.
"""

from typing import Final, final

from orias.diag import MissingFact
from orias.kept import remembered
from orias.target import features, target_names
from orias.target.abi import SMALL_PARAMETERS
from orias.target.table import Column, columns

_UNKNOWN: Final = "?"
_NONE: Final = "-"


@final
class Target:
    """A compilation target.

    ``name``: such as ``sm_90a``; ``sm``: number of the SM; ``suffix``: ``a``, ``f`` or nothing; ``table``: name of the
    instruction table; ``latency_class``: number of the SM whose latencies the target has.
    """

    __slots__ = ("_column", "_features", "_known", "latency_class", "name", "sm", "suffix", "table")

    def __init__(self, name: str, sm: int, suffix: str, column: Column) -> None:
        self.name: Final[str] = name
        self.sm: Final[int] = sm
        self.suffix: Final[str] = suffix
        self._column: Final[Column] = column
        self._features: int = 0
        self._known: int = 0
        """Bits of the features that it has, and of those that are known; read at the first query, for a compile asks one target."""
        self.table: Final[str] = f"sm_{self.number('decoder_class')}"
        self.latency_class: Final[int] = self.number("latency_class")

    def _read_features(self) -> None:
        rows = self._column["feature"]
        for k, feature in enumerate(features.NAMES):
            value = rows.get(feature, _UNKNOWN)
            if value == "y":
                self._features |= 1 << k
            if value != _UNKNOWN:
                self._known |= 1 << k

    def _fact(self, section: str, name: str) -> str:
        value = self._column[section].get(name, _UNKNOWN)
        if value == _UNKNOWN:
            raise MissingFact(f"{self.name}: {section} '{name}' is not known")
        return value

    def has(self, feature: int) -> bool:
        """Whether the target has a feature (a number of :mod:`orias.target.features`)."""
        if not self._known:
            self._read_features()
        if not self._known >> feature & 1:
            raise MissingFact(f"{self.name}: feature '{features.NAMES[feature]}' is not known")
        return self._features >> feature & 1 == 1

    def number(self, name: str) -> int:
        """A number of the table."""
        value = self._fact("number", name)
        if value == _NONE:
            raise MissingFact(f"{self.name} has no number '{name}'")
        return int(value, 0)

    def has_number(self, name: str) -> bool:
        """Whether the table has this number for the target."""
        return self._fact("number", name) != _NONE

    def word(self, name: str) -> int:
        """Byte offset in constant bank 0 of a word with a fixed offset."""
        if self.moves_with_cluster(name):
            raise MissingFact(
                f"{self.name}: word '{name}' of constant bank 0 has no fixed place, it moves with SR_CgaSize"
            )
        return self.word_base(name)

    def parameters_at(self, size: int) -> int:
        """Byte offset in constant bank 0 of a kernel's parameters, of which there are `size` bytes."""
        return self.word("parameters" if size <= SMALL_PARAMETERS else "large_parameters")

    def word_base(self, name: str) -> int:
        """Byte offset in constant bank 0 of a word; if it depends on SR_CgaSize, the offset for SR_CgaSize 0."""
        value = self._fact("word", name)
        if value == _NONE:
            raise MissingFact(f"{self.name} has no word '{name}' in constant bank 0")
        return int(value.rstrip("+"), 0)

    def has_word(self, name: str) -> bool:
        """Whether the target has a word of that name in constant bank 0."""
        return self._fact("word", name) != _NONE

    def moves_with_cluster(self, name: str) -> bool:
        """Whether the offset of a word of constant bank 0 depends on SR_CgaSize."""
        return self._fact("word", name).endswith("+")

    def multiplies(self, product: str) -> bool:
        """Whether one operation computes a matrix product such as ``int8.sp.16x8x64``; False for a shape not in the table."""
        value = self._column["product"].get(product, "n")
        if value == _UNKNOWN:
            raise MissingFact(f"{self.name}: product '{product}' is not known")
        return value == "y"

    def spelling(self, name: str) -> str:
        """The target's text for a part of an instruction's name."""
        return self._fact("spelling", name)


_COLUMNS: Final[dict[int, Column]] = remembered("targets", ("target", "target/data"), "columns", columns)


def _profiles(suffixed: tuple[str, ...]) -> dict[str, Target]:
    out: dict[str, Target] = {}
    for text in suffixed:
        number = text.rstrip("af")
        out[f"sm_{text}"] = Target(f"sm_{text}", int(number), text[len(number) :], _COLUMNS[int(number)])
    return out


TARGETS: Final[dict[str, Target]] = _profiles(target_names.COMPILED)
"""The targets, by name."""


def target(name: str) -> Target:
    """The profile of a target such as ``sm_90a``; KeyError if there is none."""
    return TARGETS[name]


def profile_of_sm(sm: int) -> Target:
    """The profile of an SM number without a suffix; KeyError naming it if there is none."""
    return TARGETS[f"sm_{target_names.RENAMED.get(sm, sm)}"]
