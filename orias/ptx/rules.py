"""Rules on instructions, written as rows: a condition on the facts of an instruction, and the result.

A block of rows belongs to instruction names (``mbarrier.*``: all names with that prefix).  A row is::

    CONDITION -> RESULT

* CONDITION: terms separated by blanks, all of which hold; ``|`` separates alternatives.  A term tests one fact:

  ===============  ==================================================================================
  ``scope``        the scope is present;  ``!scope``: it is absent
  ``op=add/min``   the operation is one of these;  ``op!=add/min``: it is none of these
  ``.im2col``      the opcode has the word
  ``v0=0..15``     a number from 0 to 15;  ``1..``: 1 or more;  ``*8``: a multiple of 8
  ``clean``        no row before this one had a result
  ===============  ==================================================================================

  An absent fact has the value ``-``.  Words in capitals are the sets of :data:`SETS`.
* ``else`` before a condition: tried only if the row before it, and the rows of which that one is the ``else``, did not hold.
  ``each``: tried once per modifier of the opcode, which is then the fact ``word``.
* RESULT: a message, or gates (:mod:`orias.ptx.gates`) after ``@``; ``&&`` separates several; empty: nothing.
  ``{scope}`` is replaced by a fact, ``{evict.tail}`` by the part of a fact after its ``::``.
* ``=>`` instead of ``->``: if this row holds, later rows are not tried.

:mod:`orias.ptx.facts` lists the facts.
"""

from typing import Final, final

from orias.ptx.gates import Place, fill, messages

SETS: Final[dict[str, str]] = {
    "STRONG": "relaxed/acquire/release/acq_rel/sc",
    "INTEGER": "u8/s8/u16/s16/u32/s32/u64/s64",
    "HALF": "f16/f16x2/bf16/bf16x2",
    "FP8": "e4m3/e5m2",
    "FP8X2": "e4m3x2/e5m2x2",
    "FP8X4": "e4m3x4/e5m2x4",
    "PARAM": "param/param::entry/param::func",
    "SPACE": "global/shared/shared::cta/shared::cluster/local/const/param/param::entry/param::func/tex",
    "OVER128": "256/512/1024",
    "GENERIC": "tensormap::generic/async::generic",
    "ORDINAL": "box_dim/global_dim/element_stride/global_stride",
    "ADDRESS": "global_address/global_stride",
    "MMA": "m8n8k4/m16n8k4/m16n8k8/m16n8k16/m8n8k16/m8n8k32/m16n8k32/m16n8k64/m8n8k128/m16n8k128/m16n8k256",
    "QUERY": "width/height/depth/channel_data_type/channel_order/normalized_coords/filter_mode/addr_mode_0/addr_mode_1"
    "/addr_mode_2/array_size/num_mipmap_levels/num_samples/force_unnormalized_coords",
    "FRAGMENT": "f16/bf16/s8/u8/tf32/s4/u4/b1/f64",
}
"""Sets of values that several rows use."""


@final
class Term:
    """One test of one fact: whether its value is (``wanted``), or is not, among ``values`` or the numbers."""

    __slots__ = ("high", "key", "low", "step", "values", "wanted")

    def __init__(self, text: str) -> None:
        self.low: int = 0
        self.high: int = -1
        self.step: int = 0
        key, mark, listed = text.partition("=")
        values: set[str] = set()
        self.key: Final[str] = key.strip("!")
        self.wanted: Final[bool] = key[-1] != "!" if mark else key[0] == "!"
        if not mark:
            values.add("-")
        else:
            for item in listed.split("/"):
                low, dots, high = item.partition("..")
                if dots:
                    self.low, self.high, self.step = int(low), int(high or 1 << 64), 1
                elif item[0] == "*":
                    self.low, self.high, self.step = -(1 << 64), 1 << 64, int(item[1:])
                else:
                    values.update(SETS.get(item, item).split("/"))
        self.values: Final[frozenset[str]] = frozenset(values)

    def holds(self, facts: dict[str, str]) -> bool:
        """Whether the test holds."""
        have = facts.get(self.key, "-")
        inside = have in self.values
        if self.step and not inside and have != "-":
            number = int(have)
            inside = self.low <= number <= self.high and number % self.step == 0
        return inside == self.wanted


_COMMON: Final = frozenset(
    ("n", "t", "t0", "t1", "width", "bits", "where", "isa", "sm", "target", "word", "slot", "count")
)
"""Facts that are nearly always present."""


def _trigger(terms: list[str]) -> str:
    """The fact of the first term that holds only of a fact that is present, of those that are not common."""
    for text in terms:
        key, mark, listed = text.partition("=")
        present = (key[-1] != "!") != ("-" in listed.split("/")) if mark else key[0] != "!"
        if present and key.strip("!") not in _COMMON:
            return key.strip("!")
    return ""


@final
class Rule:
    """One row."""

    __slots__ = ("_alternatives", "_text", "clean", "each", "last", "other", "results", "trigger")

    def __init__(self, row: str) -> None:
        row = f" {row.strip()} "
        condition, arrow, result = row.partition(" -> ")
        if not arrow:
            condition, arrow, result = row.partition(" => ")
            if not arrow:
                raise ValueError(f"a row without an arrow: {row}")
        result = result.strip()
        self.last: Final[bool] = arrow == " => "
        self.results: Final[list[str]] = result.split(" && ") if result else []
        words = condition.split()
        self.other: Final[bool] = words[:1] == ["else"]
        self.each: Final[bool] = words[:1] == ["each"]
        self.clean: Final[bool] = "clean" in words
        plain = [w for w in words if w not in ("else", "each", "clean")]
        self.trigger: Final[str] = "" if self.each or "|" in plain else _trigger(plain)
        """A rare fact without which the row cannot hold; empty if there is none."""
        self._text: Final[str] = " ".join(plain)
        self._alternatives: list[list[Term]] | None = None
        """Parsed when they are asked for: most rows are ruled out by their trigger."""

    def alternatives(self) -> list[list[Term]]:
        """The terms of each alternative."""
        found = self._alternatives
        if found is None:
            found = [[Term(text) for text in part.split()] for part in self._text.split(" | ")]
            self._alternatives = found
        return found

    def holds(self, facts: dict[str, str]) -> bool:
        """Whether all terms of one of the alternatives hold."""
        for terms in self.alternatives():
            for term in terms:
                if not term.holds(facts):
                    break
            else:
                return True
        return False

    def add(self, found: list[str], facts: dict[str, str], place: Place) -> None:
        """Adds the row's results."""
        for text in self.results:
            if text[0] == "@":
                found.extend(messages(text[1:], place, facts))
            else:
                found.append(fill(text, facts))


def apply(rules: list[Rule], facts: dict[str, str], words: list[str], place: Place) -> list[str]:
    """The results of the rows that hold, in order."""
    found: list[str] = []
    taken = False
    for rule in rules:
        if rule.trigger and rule.trigger not in facts:
            taken = taken and rule.other
            continue
        if rule.other and taken:
            continue
        if rule.clean and found:
            continue
        if rule.each:
            for word in words:
                facts["word"] = word
                if rule.holds(facts):
                    rule.add(found, facts, place)
            continue
        taken = rule.holds(facts)
        if taken:
            rule.add(found, facts, place)
            if rule.last:
                break
    return found


def parse_rows(text: str) -> list[Rule]:
    """The rows of a block, one per line."""
    return [Rule(line) for line in text.splitlines() if line]


@final
class Rules:
    """The blocks of one kind, parsed per instruction name on first use."""

    __slots__ = ("_blocks", "_built", "_exact", "_starts")

    def __init__(self, tables: list[dict[str, str]]) -> None:
        self._blocks: Final[list[str]] = []
        self._exact: Final[dict[str, list[int]]] = {}
        """Numbers of blocks by name, in order."""
        self._starts: Final[list[tuple[str, int]]] = []
        """Starts of names (``wgmma*``) and the numbers of their blocks."""
        self._built: Final[dict[str, list[Rule]]] = {}
        for table in tables:
            for names, text in table.items():
                for name in names.split():
                    if name[-1] == "*":
                        self._starts.append((name[:-1], len(self._blocks)))
                    else:
                        self._exact.setdefault(name, []).append(len(self._blocks))
                self._blocks.append(text)

    def _numbers(self, name: str) -> set[int]:
        """The numbers of the blocks of a name."""
        numbers = set(self._exact.get(name, ()))
        for start, i in self._starts:
            if name.startswith(start):
                numbers.add(i)
        return numbers

    def has(self, name: str) -> bool:
        """Whether a name has blocks."""
        return bool(self._numbers(name))

    def of(self, name: str) -> list[Rule]:
        """The rows of all blocks of a name, in order."""
        found = self._built.get(name)
        if found is None:
            found = []
            for i in sorted(self._numbers(name)):
                found.extend(parse_rows(self._blocks[i]))
            self._built[name] = found
        return found
