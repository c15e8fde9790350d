"""Expands the optional operands of a line of the instruction table into its layouts.

A template may hold a *choice*, an operand that starts with ``?``.  ``choices.isa`` lists the alternatives of each
choice.  Each alternative but the last has a condition on the bits of the word.  The first alternative whose condition
holds is the one that is printed; the last one always holds::

    ?[Ra+Off] = 40+24=0: [Ra] | 24+8=0xff: [Addr] | [Ra+Off]
    ?^Pu = 81+3=7: | ^Pu

Of two optional results of one file, the text of a word that has only the second is that of a word with only the first: its layout
*skips* a result, which is PT in the instruction.

An operand that starts with ``!`` has the same alternatives, but only the last one is ever printed; the others are for
instructions made by the compiler (``!^Pu``: a carry that nobody reads).
"""

from typing import Final, final

from orias.isa.notation import TableError, parse_condition, split_operands, split_template_head

Alternative = tuple[str, list[str]]
"""Condition (empty in the last alternative) and operands."""
Choice = list[Alternative]


@final
class Layout:
    """One layout of a line: its template without choices, the bits that the alternatives fix and those that they exclude.

    ``printed`` is False for a layout that leaves out an operand which is always printed.  ``skips``: the result that is left out
    before another of its file (``^Pu``), empty if there is none.
    """

    __slots__ = ("index", "mask", "nots", "printed", "skips", "template", "val")

    def __init__(
        self, index: int, template: str, mask: int, val: int, nots: list[tuple[int, int]], printed: bool, skips: str
    ) -> None:
        self.index: Final[int] = index
        self.template: Final[str] = template
        self.mask: Final[int] = mask
        self.val: Final[int] = val
        self.nots: Final[list[tuple[int, int]]] = nots
        self.printed: Final[bool] = printed
        self.skips: Final[str] = skips


@final
class Choices:
    """The choices of ``choices.isa`` by name, each made from its line on first use."""

    __slots__ = ("_made", "_texts")

    def __init__(self, text: str) -> None:
        self._texts: Final[dict[str, str]] = _choice_texts(text)
        self._made: Final[dict[str, Choice]] = {}

    def all(self) -> dict[str, Choice]:
        """Every choice, in the order of the file."""
        return {name: choice for name in self._texts if (choice := self.get(name)) is not None}

    def get(self, name: str) -> Choice | None:
        """The choice of a name; None if there is none."""
        found = self._made.get(name)
        if found is None and name in self._texts:
            found = self._made[name] = [_alternative(x) for x in self._texts[name].split(" | ")]
        return found


def _choice_texts(text: str) -> dict[str, str]:
    """The alternatives of each choice as text.  An indented line continues the line before it."""
    out: dict[str, str] = {}
    for line in text.replace("\n    ", " ").splitlines():
        if not line or line[0] == "#":
            continue
        name, sign, rest = line.partition(" = ")
        if not sign:
            raise TableError(f"no choice: {line}")
        out[name] = rest
    return out


def _alternative(text: str) -> Alternative:
    cond, sign, rest = text.partition(":")
    return (cond, split_operands(rest.strip())) if sign else ("", split_operands(text))


def layouts(template: str, choices: Choices) -> list[Layout]:
    """The layouts of a template in the order of their alternatives; the rightmost choice varies fastest."""
    head, rest = split_template_head(template)
    found: list[tuple[list[str], int, int, list[tuple[int, int]], bool, str, str]] = [([], 0, 0, [], True, "", "")]
    for o in split_operands(rest):
        if o[0] not in "?!":
            for texts, _, _, _, _, _, _ in found:
                texts.append(o)
            continue
        choice = choices.get("?" + o[1:])
        if choice is None:
            raise TableError(f"{template}: no choice {o}")
        after: list[tuple[list[str], int, int, list[tuple[int, int]], bool, str, str]] = []
        for texts, mask, val, nots, printed, absent, skips in found:
            earlier = list(nots)
            for cond, operands in choice:
                m, v = parse_condition(cond) if cond else (0, 0)
                shown = printed and (o[0] == "?" or not cond)
                result = o[1:] if o.startswith("?^") else ""
                missing = absent or (result if not operands else "")
                skipped = skips or (absent if result and operands and _file(absent) == _file(result) else "")
                if not printed and o[0] == "!" and not cond:
                    continue  # an instruction leaves such operands out from the end on
                after.append((texts + operands, mask | m, val | v, list(earlier), shown, missing, skipped))
                if cond and o[0] == "?":
                    earlier.append((m, v))
        found = after
    out: list[Layout] = []
    for i, (texts, mask, val, nots, printed, _, skips) in enumerate(found):
        out.append(Layout(i, head + (" " if texts else "") + ", ".join(texts), mask, val, nots, printed, skips))
    return out


def _file(result: str) -> str:
    """The register file of a written operand: ``^UP`` of ``^UPu``."""
    return result.rstrip("abcdefghijklmnopqrstuvwxyz")
