"""The publicly described phases of ptxas, and their counterparts in Orias (``data/documented_phases.txt``)."""

from pathlib import Path
from typing import Final, NamedTuple

STATES: Final[tuple[str, ...]] = ("runs", "elsewhere", "none", "absent", "open")
_DATA: Final = Path(__file__).parent / "data" / "documented_phases.txt"


class DocumentedPhase(NamedTuple):
    """``gate``: the condition of the phase in ptxas; ``state``: one of STATES; ``text``: its counterpart, or why it has none."""

    name: str
    gate: str
    state: str
    text: str


def documented_phases() -> list[DocumentedPhase]:
    """All documented phases, in the order of ptxas."""
    out: list[DocumentedPhase] = []
    for line in _DATA.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            name, gate, state, *text = line.split(" | ")
            if state not in STATES:
                raise ValueError(f"{_DATA.name}: state '{state}' of {name}")
            out.append(DocumentedPhase(name, gate, state, "".join(text)))
    return out
