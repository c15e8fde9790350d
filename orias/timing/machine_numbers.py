"""What is known of the machine that issues and executes instructions: the numbers of ``data/machine.txt``."""

import os
from typing import Final, final

_FILE: Final = os.path.join(os.path.dirname(__file__), "data", "machine.txt")


@final
class Number:
    """One line of the table for one SM.

    ``values``: the numbers.  ``guessed``: no measurement supports at least one of them.  ``source``: names of the sources.
    """

    __slots__ = ("guessed", "source", "values")

    def __init__(self, values: list[int], guessed: bool, source: str) -> None:
        self.values: Final[list[int]] = values
        self.guessed: Final[bool] = guessed
        self.source: Final[str] = source


@final
class Machine:
    """The numbers for one SM, by name."""

    __slots__ = ("numbers", "sm")

    def __init__(self, sm: int) -> None:
        self.sm: Final[int] = sm
        self.numbers: Final[dict[str, Number]] = {}
        for words in _lines():
            number = _number(words, sm)
            if number is not None:
                self.numbers[words[0]] = number

    def one(self, name: str) -> int:
        """The only or first number of a line; KeyError if the table has none for this SM."""
        return self.numbers[name].values[0]

    def by_width(self, name: str, words: int) -> int:
        """The number of a line with one for 32, 64 and 128 bits; wider accesses count as 128 bits."""
        values = self.numbers[name].values
        return values[min(len(values) - 1, (words - 1).bit_length())]


_read: list[list[str]] = []


def _lines() -> list[list[str]]:
    """The words of all lines that are not comments."""
    if not _read:
        with open(_FILE, encoding="utf-8") as f:
            _read.extend(line.split() for line in f if line.strip() and line[0] != "#")
    return _read


def _number(words: list[str], sm: int) -> Number | None:
    """The numbers of a line for an SM: those that name it, else those that name none."""
    values: list[int] = []
    own: list[int] = []
    guessed = False
    own_guessed = False
    for w in words[1:-1]:
        text, _, sms = w.partition(":")
        guess = text.endswith("?")
        value = int(text.rstrip("?"))
        if not sms:
            values.append(value)
            guessed = guessed or guess
        elif str(sm) in sms.split(","):
            own.append(value)
            own_guessed = own_guessed or guess
    if own:
        return Number(own, own_guessed, words[-1])
    return Number(values, guessed, words[-1]) if values else None


_machines: dict[int, Machine] = {}


def machine(sm: int) -> Machine:
    """The numbers for an SM (75, 80, ... 121), read once."""
    m = _machines.get(sm)
    if m is None:
        m = _machines[sm] = Machine(sm)
    return m
