"""The instruction table: which forms of each PTX instruction are legal.

The data is in ``forms_*.py``; rows are built on first use.  The same files have the gates and rules on combinations
(:mod:`orias.ptx.rules`).

A name (in ptxas's sense: ``mul.wide``, ``bar.red``, ``cvta.to`` are names) has rows separated by ``|`` or line breaks::

    TYPES ; OPERANDS ; MODIFIERS ; GATE

* TYPES: type lists separated by blanks, the types of one list joined by dots; ``-`` none, ``*`` checked elsewhere.
* OPERANDS, separated by commas; T0, T1, T2 are the types of the list:

  ==========  =====================================================================================================
  ``D``       result register of type T0 (``D1``: T1; ``Dw``: twice as wide); ``r`` after it: wider registers fit
  ``S``       source of type T0: register, immediate (``S1``, ``Sw``, ``Sr`` as for ``D``)
  ``D:u32``   result register of a type that the opcode does not name; ``S:u32`` source of one
  ``DV SV``   register, or the vector of ``.v2`` and so on, of type T0, wider registers fit
  ``DA SA``   the same with exact types; ``DA`` may be ``_``
  ``=u32``    the same, but no ``.f16x2``, and no float for ``b64``; ``u32`` source; ``=b64_`` may be ``_``
  ``P =P =Q`` predicate source; predicate result; predicate result or pair ``p|q``
  ``A``       an address as a value: 32- or 64-bit register, integer
  ``M``       address; ``L`` label; ``i`` integer immediate; ``X`` any operand; ``X*`` any number of any operands
  ``mov``     the operands of mov
  ``?``       after it: optional; ``[u32,]`` is optional in the middle
  ``@slot``   after it: present exactly if the opcode fills that slot; ``D|P`` a pair with a predicate is possible
  ==========  =====================================================================================================

* MODIFIERS: groups separated by blanks; ``!`` before one: required; ``a/b/c``: one of them; ``*`` any known word.
* GATE: as in :mod:`orias.ptx.gates`; ``8.0/90`` is short for ``F90 Fv8.0``, ``8.0!90`` for ``Fv8.0 F90``.
"""

from typing import Final, final

from orias.ptx import forms_arith, forms_async, forms_matrix, forms_memory
from orias.ptx.rules import Rules

ANY: Final = "*"
ALIASES: Final[dict[str, str]] = {
    "bar.cta": "bar", "bar.cta.arrive": "bar.arrive", "bar.cta.red": "bar.red", "barrier.cta": "barrier",
    "barrier.cta.arrive": "barrier.arrive", "barrier.cta.red": "barrier.red",
    "dp2a": "dp2a.lo",
    "tcgen05.wait::ld": "tcgen05.wait", "tcgen05.wait::st": "tcgen05.wait",
    "tcgen05.fence::before_thread_sync": "tcgen05.fence", "tcgen05.fence::after_thread_sync": "tcgen05.fence",
}  # fmt: skip


@final
class Slot:
    """One operand position of a row.

    ``role``: D result, S source, M address, A address as a value, P predicate source, Q predicate result, L label, i
    immediate, X anything, m mov source or result.  ``type``: a fixed type, or "" for type number ``index``.  ``when``:
    the slot of the Sig that must be filled ("" always).
    """

    __slots__ = ("fixed", "index", "pair", "relaxed", "role", "sink", "type", "vector", "when", "wide")

    def __init__(self, text: str) -> None:
        text, _, when = text.partition("@")
        self.when: str = when
        self.pair: bool = text.endswith("|P") or text == "=Q"
        text = text.removesuffix("|P")
        self.sink: bool = text.endswith("_") or text == "DA"
        text = text.rstrip("_")
        self.type: str = ""
        self.index: int = 0
        self.relaxed: bool = False
        self.vector: bool = False
        self.wide: bool = False
        self.fixed: bool = False
        head = text[0]
        if text in ("P", "M", "L", "i", "X", "A", "mov"):
            self.role: str = head
        elif text in ("=P", "=Q"):
            self.role = "Q"
        elif head in "DS":
            self.role = head
            text, _, self.type = text.partition(":")
            for mark in text[1:]:
                if mark.isdigit():
                    self.index = int(mark)
                elif mark == "r":
                    self.relaxed = True
                elif mark == "w":
                    self.wide = True
                elif mark == "V":
                    self.vector = self.relaxed = True
                elif mark == "A":
                    self.vector = True
        else:
            self.fixed = True
            self.role = "D" if head == "=" else "S"
            self.type = text.removeprefix("=")


@final
class Row:
    """One row: operand lists (alternatives), allowed words, required groups."""

    __slots__ = ("gate", "lists", "name", "open", "required", "rest", "types", "words")

    def __init__(self, name: str, operands: str, mods: str, gate: str) -> None:
        self.name: Final[str] = name
        self.open: Final[bool] = mods == ANY
        self.gate: Final[str] = gate_text(gate)
        self.words: Final[set[str]] = set()
        self.required: Final[list[tuple[str, ...]]] = []
        if not self.open:
            for group in mods.split():
                names = group.lstrip("!").split("/")
                self.words.update(names)
                if group[0] == "!":
                    self.required.append(tuple(names))
        self.rest: bool = False
        self.lists: Final[list[list[Slot]]] = self._lists(operands)

    def _lists(self, operands: str) -> list[list[Slot]]:
        if not operands:
            return [[]]
        if "[" in operands:
            with_it = operands.replace("[", "").replace("]", "").replace(",,", ",")
            before, _, after = operands.partition("[")
            without = before + after.partition("]")[2]
            return self._lists(without) + self._lists(with_it)
        lists: list[list[Slot]] = [[]]
        for item in operands.split(","):
            if item.endswith("*"):
                self.rest = True
                continue
            slot = Slot(item.replace("?", ""))
            if "?" in item:
                lists += [[*entry, slot] for entry in lists]
            else:
                lists = [[*entry, slot] for entry in lists]
        return lists


def gate_text(text: str) -> str:
    """Expands the short forms of a gate."""
    if not text or not text[0].isdigit():
        return text
    head, _, label = text.partition(" ")
    version, _, sm = head.partition("/")
    if sm:
        gate = f"F{sm} Fv{version}"
    else:
        version, _, sm = head.partition("!")
        gate = f"Fv{version} F{sm}"
    return f"{gate} : {label}" if label else gate


_texts: Final[dict[str, str]] = {**forms_arith.FORMS, **forms_memory.FORMS, **forms_async.FORMS, **forms_matrix.FORMS}
_built: Final[dict[str, dict[tuple[str, ...], Row]]] = {}

LAST: Final = Rules([forms_memory.LAST, forms_async.LAST])
"""Gates of combinations of modifiers, reported after all others."""
INSTEAD: Final = Rules([forms_arith.INSTEAD, forms_async.INSTEAD])
"""Gates that replace the gate of the form row if a row here holds."""
FIRST: Final = Rules([forms_async.FIRST])
"""Rules between modifiers that precede the gates."""
GATES: Final = Rules([forms_arith.GATES, forms_memory.GATES, forms_async.GATES, forms_matrix.GATES])
"""Gates of combinations of modifiers and types."""
MODIFIERS: Final = Rules([forms_arith.MODIFIERS, forms_memory.MODIFIERS, forms_async.MODIFIERS, forms_matrix.MODIFIERS])
"""Rules between the modifiers and types of an opcode."""
OPERANDS: Final = Rules([forms_arith.OPERANDS, forms_async.OPERANDS, forms_matrix.OPERANDS, forms_memory.OPERANDS])
"""Rules between modifiers and operands."""
VALUES: Final = Rules([forms_arith.VALUES, forms_memory.VALUES, forms_async.VALUES, forms_matrix.VALUES])
"""Rules on the values of immediate operands."""


def has_name(name: str) -> bool:
    """Whether ptxas has an instruction of this (dotted) name."""
    return name in _texts or name in ALIASES


def rows(name: str) -> dict[tuple[str, ...], Row]:
    """Rows of a name by type list; ``("*",)`` matches any."""
    found = _built.get(name)
    if found is None:
        found = {}
        for line in _lines(ALIASES.get(name, name)):
            fields = [f.strip() for f in line.split(";")]
            fields += [""] * (4 - len(fields))
            row = Row(name, fields[1].replace(" ", ""), fields[2], fields[3])
            if fields[0] == "-":
                found.setdefault((), row)
            elif fields[0] == ANY:
                found[(ANY,)] = row
            else:
                for entry in fields[0].split():
                    found.setdefault(tuple(entry.split(".")), row)
        _built[name] = found
    return found


def _lines(name: str) -> list[str]:
    """The row texts of a name; a ``|`` between rows has blanks on both sides, one inside an operand has none."""
    return [line for part in _texts[name].split("\n") for line in part.split(" | ") if line.strip(" |")]


def names() -> list[str]:
    """All instruction names."""
    return sorted(_texts)


_ruled: Final[dict[str, bool]] = {}


def is_ruled(name: str) -> bool:
    """Whether a name has rules that test facts of its Sig."""
    found = _ruled.get(name)
    if found is None:
        found = any(rules.has(name) for rules in (FIRST, INSTEAD, GATES, LAST, OPERANDS, VALUES)) or any(
            row.open for row in rows(name).values()
        )
        _ruled[name] = found
    return found
