"""Writes pages: files that hold everything and load nothing.

All pages come from one template; what they show is in their data, and ``data/NAME.js`` (bundled from ``tools/explorer/src``) draws it.
"""

import base64
import json
import zlib
from importlib.resources import files
from typing import Any, Final

from orias.version import VERSION

PAGES: Final = ("explorer", "perf", "reference")
"""What there are pages of: names of scripts."""


class NeedsJinja(ImportError):
    """Jinja2 is not installed."""

    def __init__(self) -> None:
        super().__init__("the page needs Jinja2 (pip install 'orias[explore]')")


def page(name: str, title: str, data: Any) -> str:
    """The page `name` (of PAGES) with its data.  NeedsJinja without Jinja2."""
    try:
        from jinja2 import Environment
        from markupsafe import Markup
    except ImportError:
        raise NeedsJinja from None
    folder = files("orias.explore") / "data"

    def text(file: str) -> str:
        return (folder / file).read_text(encoding="utf-8")

    packed = zlib.compress(json.dumps(data, separators=(",", ":")).encode(), 9)
    return (
        Environment(autoescape=True)
        .from_string(text("page.html.jinja"))
        .render(
            title=title,
            version=VERSION,
            name=name,
            style=Markup(text("explorer.css")),
            script=Markup(text(f"{name}.js")),
            data=base64.b64encode(packed).decode(),
            kilobytes=len(packed) // 1024,
        )
    )
