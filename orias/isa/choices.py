"""Expands the optional operands of a line of the instruction table into its layouts.

A template may hold a *choice*, an operand that starts with ``?``.  ``choices.isa`` lists the alternatives of each
choice.  Each alternative but the last has a condition on the bits of the word.  The first alternative whose condition
holds is the one that is printed; the last one always holds::

    ?[Ra+Off] = 40+24=0: [Ra] | 24+8=0xff: [Addr] | [Ra+Off]
    ?^Pu = 81+3=7: | ^Pu
"""

from typing import Final, final

from orias.isa.notation import TableError, parse_condition, split_operands, split_template_head

Alternative = tuple[str, list[str]]
"""Condition (empty in the last alternative) and operands."""
Choice = list[Alternative]


@final
class Layout:
    """One layout of a line: its template without choices, the bits that the alternatives fix and those that they exclude."""

    __slots__ = ("index", "mask", "nots", "template", "val")

    def __init__(self, index: int, template: str, mask: int, val: int, nots: list[tuple[int, int]]) -> None:
        self.index: Final[int] = index
        self.template: Final[str] = template
        self.mask: Final[int] = mask
        self.val: Final[int] = val
        self.nots: Final[list[tuple[int, int]]] = nots


def read_choices(text: str) -> dict[str, Choice]:
    """The choices of ``choices.isa`` by name.  An indented line continues the line before it."""
    out: dict[str, Choice] = {}
    for line in text.replace("\n    ", " ").splitlines():
        if not line or line[0] == "#":
            continue
        name, sign, rest = line.partition(" = ")
        if not sign:
            raise TableError(f"no choice: {line}")
        out[name] = [_alternative(x) for x in rest.split(" | ")]
    return out


def _alternative(text: str) -> Alternative:
    cond, sign, rest = text.partition(":")
    return (cond, split_operands(rest.strip())) if sign else ("", split_operands(text))


def layouts(template: str, choices: dict[str, Choice]) -> list[Layout]:
    """The layouts of a template in the order of their alternatives; the rightmost choice varies fastest."""
    head, rest = split_template_head(template)
    found: list[tuple[list[str], int, int, list[tuple[int, int]]]] = [([], 0, 0, [])]
    for o in split_operands(rest):
        if o[0] != "?":
            for texts, _, _, _ in found:
                texts.append(o)
            continue
        choice = choices.get(o)
        if choice is None:
            raise TableError(f"{template}: no choice {o}")
        after: list[tuple[list[str], int, int, list[tuple[int, int]]]] = []
        for texts, mask, val, nots in found:
            earlier = list(nots)
            for cond, operands in choice:
                m, v = parse_condition(cond) if cond else (0, 0)
                after.append((texts + operands, mask | m, val | v, list(earlier)))
                if cond:
                    earlier.append((m, v))
        found = after
    out: list[Layout] = []
    for i, (texts, mask, val, nots) in enumerate(found):
        out.append(Layout(i, head + (" " if texts else "") + ", ".join(texts), mask, val, nots))
    return out
