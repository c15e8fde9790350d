"""What a check of a running kernel found, as text and as a record for JSON."""

from typing import Final, NamedTuple

Coordinates = tuple[int, int, int]


class Spot(NamedTuple):
    """An instruction and a thread that runs it; ``source`` and ``ptx``: lines as ``file:line``, empty if not known."""

    address: int
    text: str
    block: Coordinates
    thread: Coordinates
    source: str = ""
    ptx: str = ""

    def line(self) -> str:
        """The place in one line."""
        lines = "".join(f", {name} {at}" for name, at in (("source", self.source), ("ptx", self.ptx)) if at)
        return f"0x{self.address:04x} ({self.text}), block {self.block} thread {self.thread}{lines}"


class Finding:
    """An error: the check that found it, its kind, kernel, message, and one or two places.

    ``count``: how often the same pair of instructions did it.
    """

    __slots__ = ("count", "kernel", "kind", "message", "spots", "tool")

    def __init__(self, tool: str, kind: str, kernel: str, message: str, spots: list[Spot]) -> None:
        self.tool: Final = tool
        self.kind: Final = kind
        self.kernel: Final = kernel
        self.message: Final = message
        self.spots: Final = spots
        self.count = 1

    def lines(self) -> list[str]:
        """The report as lines of text."""
        out = [f"{self.tool}: {self.message}"]
        for word, spot in zip(("at", "and"), self.spots, strict=False):
            out.append(f"    {word} {self.kernel} {spot.line()}")
        if self.count > 1:
            out.append(f"    {self.count} times")
        return out

    def record(self) -> dict[str, object]:
        """All fields, for JSON."""
        return {
            "tool": self.tool,
            "kind": self.kind,
            "kernel": self.kernel,
            "message": self.message,
            "count": self.count,
            "places": [spot._asdict() for spot in self.spots],
        }
