"""PTX texts that are linked: they become one module, in which a name is declared once and has one linkage.

A linker compiles every input by itself: a variable or function without linkage belongs to its input, and what one input
declares as external another one defines.
"""

import re
from collections import Counter
from typing import Final

_NAME: Final = rb"[A-Za-z_$][\w$]*"
_FUNCTION: Final = rb"func\s*(?:\([^)]*\)\s*)?"
_IDENTIFIER: Final = re.compile(rb"(?<![\w$.%])" + _NAME)
_OWN: Final = re.compile(
    rb"(?m)^[ \t]*\.(?:(?:global|const|shared|tex)\b[^;={}()\[\]]*?|" + _FUNCTION + rb")(" + _NAME + rb")\s*[\[=;({]"
)
"""A declaration without linkage, which begins a line, and its name."""
_DEFINED: Final = re.compile(rb"\.(visible|weak)\s+\." + _FUNCTION + rb"(" + _NAME + rb")")
"""Linkage and name of a function that other texts can call."""
_EXTERNAL: Final = re.compile(rb"\.extern(\s+\." + _FUNCTION + rb"(" + _NAME + rb")[^;{]*;)")
"""A declaration of one, and its name."""


def linked(texts: list[bytes]) -> list[bytes]:
    """The texts with names and linkage as they are in one module."""
    return _resolved(_separated(texts))


def _separated(texts: list[bytes]) -> list[bytes]:
    """What one declares without linkage and another one mentions gets a name of its own."""
    mentioned = [set(_IDENTIFIER.findall(t)) for t in texts]
    texts_with = Counter(name for names in mentioned for name in names)
    out = []
    for i, text in enumerate(texts):
        own = {name for name in _OWN.findall(text) if texts_with[name] > 1}
        suffix = b"$%d" % i
        while any(name + suffix in texts_with for name in own):
            suffix += b"$"

        def renamed(m: re.Match[bytes], own: set[bytes] = own, suffix: bytes = suffix) -> bytes:
            return m[0] + suffix if m[0] in own else m[0]

        out.append(_IDENTIFIER.sub(renamed, text) if own else text)
    return out


def _resolved(texts: list[bytes]) -> list[bytes]:
    """Declarations of external functions get the linkage of their definitions; none comes after its definition."""
    defined = {name: (word, i) for i, t in enumerate(texts) for word, name in _DEFINED.findall(t)}
    out = []
    for i, text in enumerate(texts):

        def declaration(m: re.Match[bytes], i: int = i) -> bytes:
            linkage, where = defined.get(m[2], (b"extern", i))
            return b"\n" * m[0].count(b"\n") if where < i else b"." + linkage + m[1]

        out.append(_EXTERNAL.sub(declaration, text))
    return out
