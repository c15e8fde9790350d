"""The catalogue of faults of compilers that are proven here (``data/ptxas_faults.toml``), and which of them fits a finding."""

import re
import tomllib
from importlib import resources
from typing import Any, Final, final

from orias.tools.fuzz.around import FAULTS

_SPACE: Final = re.compile(r"\s+")


@final
class Fault:
    """One entry; the fields are those of the data file, whose head explains them."""

    def __init__(self, d: dict[str, Any]) -> None:
        self.name: Final[str] = d["name"]
        self.title: Final[str] = d["title"]
        self.cause: Final[str] = d["cause"]
        self.who: Final[str] = d["who"]
        self.workaround: Final[str] = d["workaround"]
        self.file: Final[str] = d.get("file", "")
        self.excerpt: Final[str] = d.get("excerpt", "")
        self.proof: Final[str] = d["proof"]
        self.targets: Final[str] = d["targets"]
        self.levels: Final[list[int]] = d["levels"]
        self.wrong: Final[list[str]] = d["wrong"]
        self.right: Final[list[str]] = d["right"]
        self.kind: Final[str] = d["kind"]
        self.unwritten: Final[bool] = d.get("unwritten", False)
        self.ptx: Final[list[re.Pattern[str]]] = [re.compile(p) for p in d["ptx"]]

    def in_text(self, ptx: str) -> bool:
        """True if the PTX has all instructions of the fault's signature."""
        flat = _SPACE.sub(" ", ptx)
        return all(p.search(flat) for p in self.ptx)

    def fits(self, ptx: str, arch: str, level: int, release: str, unwritten: bool) -> bool:
        """True if the fault can be the cause of a wrong result of a cubin (`level` -1, `release` empty: not known)."""
        if self.kind != "wrong code" or (self.unwritten and not unwritten):
            return False
        if not re.fullmatch(self.targets, arch) or (level >= 0 and level not in self.levels):
            return False
        return release not in self.right and self.in_text(ptx)

    def measured(self, release: str) -> bool:
        """True if the fault was seen in this release."""
        return release in self.wrong

    def avoidable(self) -> bool:
        """True if a rewriting of PTX around the fault is known."""
        return self.name in FAULTS

    def record(self) -> dict[str, object]:
        """Name, title, cause and workaround, for JSON."""
        return {"name": self.name, "title": self.title, "cause": self.cause, "workaround": self.workaround}


def catalogue() -> list[Fault]:
    """All entries, in the order of the file."""
    text = resources.files("orias.tools.audit").joinpath("data/ptxas_faults.toml").read_text(encoding="utf-8")
    return [Fault(d) for d in tomllib.loads(text)["fault"]]
