"""What is known of a compile or of a finished cubin, as an object: JSON, a page, and the page in a notebook."""

import json
from html import escape
from pathlib import Path
from typing import Any, Final, final

from orias.explore.collect import of_compile, of_cubin
from orias.explore.page_writer import page
from orias.explore.recorded_run import Launch
from orias.options import Options

_ELF: Final = b"\x7fELF"
_HEIGHT: Final = 800
"""Pixels of the page in a notebook."""


@final
class Exploration:
    """One compile, or two that are compared.  ``docs``: plain data of each (:mod:`orias.explore.collect`)."""

    __slots__ = ("docs",)

    def __init__(self, docs: list[dict[str, Any]]) -> None:
        self.docs: Final[list[dict[str, Any]]] = docs

    @property
    def remarks(self) -> list[dict[str, Any]]:
        """What the passes of the first compile decided."""
        return list(self.docs[0]["remarks"])

    def compare(self, other: "Exploration") -> "Exploration":
        """This compile beside another one."""
        return Exploration([self.docs[0], other.docs[0]])

    def json(self) -> str:
        """The data as JSON: an object, or a list of two."""
        return json.dumps(self.docs if len(self.docs) > 1 else self.docs[0])

    def html(self) -> str:
        """The page, one self-contained text.  ImportError without Jinja2 (the extra ``explore``)."""
        return page("explorer", " · ".join(str(d["title"]) for d in self.docs), self.docs)

    def save(self, path: str | Path) -> None:
        """Write the page."""
        Path(path).write_text(self.html(), encoding="utf-8")

    def _repr_html_(self) -> str:
        return f'<iframe srcdoc="{escape(self.html())}" style="width:100%;height:{_HEIGHT}px;border:0"></iframe>'


def explore(name: str, data: bytes, options: Options, title: str = "", launch: Launch | None = None) -> Exploration:
    """What is known of a cubin, or of the compile of a PTX text, and of a launch of it; `name`: of the file.

    Raises CompileError for PTX that cannot be compiled; CubinError, KeyError or Unsupported for a cubin that cannot be read.
    """
    if data.startswith(_ELF):
        return Exploration([of_cubin(data, title or Path(name).name, launch)])
    return Exploration([of_compile([(name, data)], options, title, launch)[0]])
