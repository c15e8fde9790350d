"""Decisions of passes, as data: what was done or not done to which line, why, and with which numbers.

A pass appends to ``Func.decisions``, which is None unless ``Options.remarks`` asks for them, so that a compile that does not
ask pays one comparison.  ``orias --remarks`` prints them, ``Cubin.remarks`` has them all, and the explorer shows them.
"""

from typing import Final, final

from orias.patterns import regex

UNROLLED: Final = "unrolled"
NOT_UNROLLED: Final = "not-unrolled"
HOISTED: Final = "hoisted"
NOT_HOISTED: Final = "not-hoisted"
MERGED: Final = "merged"
PREDICATED: Final = "predicated"
NOT_PREDICATED: Final = "not-predicated"
UNIFORM: Final = "uniform"
REMATERIALISED: Final = "rematerialised"
MOVED: Final = "moved"
ORDER: Final = "order"
REGISTERS: Final = "registers"
SPILLED: Final = "spilled"
WGMMA: Final = "wgmma"

KINDS: Final[dict[str, str]] = {
    ORDER: "the order of instructions chosen among several",
    REGISTERS: "the register count and what needs it",
    SPILLED: "values kept outside registers",
    WGMMA: "warpgroup operations that run one at a time, and waits inserted for them",
    UNROLLED: "iterations of a loop written out",
    NOT_UNROLLED: "a loop that stays, and why",
    HOISTED: "computations moved out of a loop",
    NOT_HOISTED: "invariant computations that stay in their loop",
    MERGED: "loads of neighbouring words that became one",
    PREDICATED: "branches that became guarded instructions",
    NOT_PREDICATED: "short branches that stay, and why",
    UNIFORM: "computations moved to the uniform datapath",
    REMATERIALISED: "values computed a second time instead of kept in a register",
    MOVED: "computations moved after the point where registers are short",
}
"""Kind -> what it tells, in the order of output."""


@final
class Decision:
    """One decision.  ``kind``: of :data:`KINDS`; ``line``: of the PTX, 0 if none; ``text``: a sentence without the line.

    ``numbers``: what was compared or counted, by name.  ``phase`` and ``function`` are filled in after the phase has run.
    """

    __slots__ = ("function", "kind", "line", "numbers", "phase", "text")

    def __init__(self, kind: str, line: int, text: str, numbers: dict[str, int] | None = None) -> None:
        self.kind: Final[str] = kind
        self.line: Final[int] = line
        self.text: Final[str] = text
        self.numbers: Final[dict[str, int]] = numbers or {}
        self.phase: str = ""
        self.function: str = ""

    def key(self) -> tuple[str, str, int, str]:
        """What makes two decisions the same for a reader."""
        return self.kind, self.function, self.line, self.text

    def record(self) -> dict[str, object]:
        """All fields, for JSON."""
        return {
            "kind": self.kind, "function": self.function, "phase": self.phase, "line": self.line, "text": self.text,
            "numbers": self.numbers,
        }  # fmt: skip


def distinct(decisions: list[Decision]) -> list[Decision]:
    """The decisions without those that say the same as an earlier one, by kind, then in order."""
    found: dict[tuple[str, str, int, str], Decision] = {}
    for d in decisions:
        found.setdefault(d.key(), d)
    kinds = list(KINDS)
    return sorted(found.values(), key=lambda d: kinds.index(d.kind))


_MOST_BYTES: Final = 32_000
"""Bytes of an annotation: the length of its record has 16 bits."""
_LINE: Final = r"line (\d+): ([\w-]+): (.*) \[(\w*), (\S+)\]"


def annotation_lines(decisions: list[Decision]) -> str:
    """The decisions as lines of the annotation of a kernel, as many as its record holds; each begins with a newline."""
    out = ""
    size = 0
    for d in distinct(decisions):
        line = f"\nline {d.line}: {d.kind}: {d.text} [{d.phase}, {d.function}]"
        size += len(line.encode())
        if size > _MOST_BYTES:
            break
        out += line
    return out


def read_annotation(text: str) -> list[Decision]:
    """The decisions of an annotation, without their numbers; lines of other kinds are left out."""
    out: list[Decision] = []
    for line in text.split("\n"):
        m = regex(_LINE).fullmatch(line)
        if m is not None and m.group(2) in KINDS:
            d = Decision(m.group(2), int(m.group(1)), m.group(3))
            d.phase, d.function = m.group(4), m.group(5)
            out.append(d)
    return out
