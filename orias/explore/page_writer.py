"""Writes the page: one file that holds everything and loads nothing."""

import base64
import json
import zlib
from importlib.resources import files
from typing import Any

from orias.version import VERSION


class NeedsJinja(ImportError):
    """Jinja2 is not installed."""

    def __init__(self) -> None:
        super().__init__("the page needs Jinja2 (pip install 'orias[explore]')")


def page(docs: list[dict[str, Any]]) -> str:
    """The page of one compile, or of two that are compared.  NeedsJinja without Jinja2."""
    try:
        from jinja2 import Environment
    except ImportError:
        raise NeedsJinja from None
    folder = files("orias.explore") / "data"

    def text(name: str) -> str:
        return (folder / name).read_text(encoding="utf-8")

    packed = zlib.compress(json.dumps(docs, separators=(",", ":")).encode(), 9)
    return (
        Environment(autoescape=True)
        .from_string(text("page.html.jinja"))
        .render(
            title=" · ".join(str(d["title"]) for d in docs),
            version=VERSION,
            style=_safe(text("explorer.css")),
            script=_safe(text("explorer.js")),
            data=base64.b64encode(packed).decode(),
            kilobytes=len(packed) // 1024,
        )
    )


def _safe(text: str) -> Any:
    """A text of our own that stands in the page as it is."""
    from markupsafe import Markup

    return Markup(text)
