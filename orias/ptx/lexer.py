"""PTX tokens and literals.

:func:`prepare` first blanks comments and keeps line breaks: all other code sees only tokens, blanks and line breaks.
Facts: docs/facts/front-end.md (characters, comments and names).
"""

import math
import struct
from typing import TYPE_CHECKING, Final, final

from orias.patterns import regex

if TYPE_CHECKING:
    from re import Match

T_END: Final = 0
T_IDENT: Final = 1
T_DOT: Final = 2
"""A dotted word: ``.global``, ``.v4``, ``.L2::128B``; ``.version 9.0`` is one too."""
T_FLOAT: Final = 3
T_INT: Final = 4
T_STRING: Final = 5
T_PUNCT: Final = 6

MASK64: Final = (1 << 64) - 1

_COMMENT: Final = regex(r'(?s)//[^\n]*|/\*.*?(?:\*/|\Z)|"[^"]*"')

_TOKEN: Final = regex(
    r"(?a)[ \t\r\f\n]*(?:"
    r"([A-Za-z][A-Za-z0-9_$]*|[_$%][A-Za-z0-9_$]+)"
    r"|(\.(?:version[ \t\r\f]+[0-9]+\.[0-9]+|(?![0-9]+(?:[eE][+-]?[0-9]+)?(?![A-Za-z0-9_$:]))[A-Za-z0-9_$]+(?:::[A-Za-z0-9_]+)*))"
    r"|(0[fF][0-9a-fA-F]{8}|0[dD][0-9a-fA-F]{16}"
    r"|[0-9]+\.[0-9]*(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+|\.[0-9]+(?:[eE][+-]?[0-9]+)?)"
    r"|(0[xX][0-9a-fA-F]+U?|0[bB][01]+U?|0[0-7]*U?|[1-9][0-9]*U?)"
    r'|("[^"]*")'
    r"|(&&|\|\||<<|>>|<=|>=|==|!=|::|@@[A-Z]+|[^ \t\r\f\n])"
    r")"
)


_LONG_LITERAL: Final = regex(
    r"(?a)(?<![\w$%.])(?:0[xX]0*[1-9a-fA-F][0-9a-fA-F]{16,}|0[bB]0*1[01]{64,}|[1-9][0-9]{19,}|0+[1-7][0-7]{21,})U?(?![\w.])"
)

UNFINISHED: Final = "\x01"
"""Placeholder for a comment without end."""


class LexError(Exception):
    """Text that is no token; ``message`` in ptxas's words."""

    def __init__(self, message: str, line: int) -> None:
        self.message: str = message
        self.line: int = line
        super().__init__(message)


def _blank(match: "Match[str]") -> str:
    text = match.group()
    if text[0] == '"':
        return text
    if text[1] == "/":
        return ""
    if len(text) < 4 or not text.endswith("*/"):
        return UNFINISHED + "\n" * text.count("\n")
    return " " + "\n" * text.count("\n")


def prepare(text: str, ascii_comments: bool = False) -> str:
    """The text without comments, with its line breaks; raises :class:`LexError` for non-ASCII text outside of comments.

    `ascii_comments`: comments must be ASCII too, as releases before 13.1 have it.
    """
    if ascii_comments:
        _demand_ascii(text)
    if "//" in text or "/*" in text:
        text = _COMMENT.sub(_blank, text)
    _demand_ascii(text)
    return text


def _demand_ascii(text: str) -> None:
    if text.isascii():
        return
    at = next(i for i, c in enumerate(text) if ord(c) > 127)
    line = text.count("\n", 0, at) + 1
    raise LexError(f"Unexpected non-ASCII character encountered on line {line}", line)


def _overflows(literal: str) -> bool:
    """Whether a digit follows where the value, cut to 64 bits, has its highest bit set (measured; others wrap)."""
    base, digits = 10, literal
    if literal[0] == "0":
        base, digits = {"x": (16, literal[2:]), "b": (2, literal[2:])}.get(literal[1].lower(), (8, literal))
    value = 0
    for digit in digits:
        if value >> 63:
            return True
        value = (value * base + int(digit, 16)) & MASK64
    return False


def overflows(source: str) -> list[int]:
    """The lines of integer literals that ptxas refuses as too large, outside of strings; `source` is prepared."""
    out: list[int] = []
    line, counted = 1, 0
    for match in _LONG_LITERAL.finditer(source):
        at = match.start()
        if not _overflows(match.group().rstrip("U")) or source.count('"', source.rfind("\n", 0, at) + 1, at) & 1:
            continue
        line += source.count("\n", counted, at)
        counted = at
        out.append(line)
    return out


@final
class Lexer:
    """Reads tokens one at a time; ``kind``, ``text``, ``line`` describe the current one, ``pos`` is its end."""

    __slots__ = ("kind", "line", "pos", "source", "start", "text")

    def __init__(self, source: str) -> None:
        self.source: str = source
        self.pos: int = 0
        self.start: int = 0
        self.line: int = 1
        self.kind: int = T_END
        self.text: str = ""

    def seek(self, pos: int, line: int) -> None:
        """Moves to ``pos``, which is on ``line``, and reads one token."""
        self.pos = pos
        self.line = line
        self.next()

    def next(self) -> None:
        """Reads the next token."""
        match = _TOKEN.match(self.source, self.pos)
        if match is None:
            self.line += self.source.count("\n", self.pos)
            self.start = self.pos = len(self.source)
            self.kind = T_END
            self.text = ""
            return
        group = match.lastindex
        assert group is not None
        start = match.start(group)
        if start != self.pos:
            self.line += self.source.count("\n", self.pos, start)
        self.start = start
        self.pos = match.end()
        self.kind = group
        self.text = match.group(group)
        if group == T_STRING:  # Its line is the one it ends on.
            self.line += self.text.count("\n")
        if self.text == "#" and not self.source[self.source.rfind("\n", 0, start) + 1 : start].strip():
            self._line_directive()

    def _line_directive(self) -> None:
        """Reads ``# N "file"`` and ``#line N "file"``: the number of the next line is N."""
        end = self.source.find("\n", self.pos)
        if end < 0:
            end = len(self.source)
        words = self.source[self.pos : end].split()
        if words and words[0] == "line":
            words = words[1:]
        if not words or not words[0].isdigit() or len(words[0]) > 9:
            return
        self.line = int(words[0]) - 1
        self.pos = end
        self.next()

    def column(self) -> int:
        """Column of the current token, from 1."""
        return self.start - self.source.rfind("\n", 0, self.start)


def int_value(text: str) -> int:
    """Value of an integer literal, wrapped to 64 bits; ValueError for octal literals with wrong digits."""
    if text[-1] == "U":
        text = text[:-1]
    head = text[:2]
    if head in ("0x", "0X"):
        return int(text[-16:] if len(text) > 18 else text[2:], 16)
    if head in ("0b", "0B"):
        return int(text[-64:] if len(text) > 66 else text[2:], 2)
    if text[0] == "0" and len(text) > 1:
        return int(text[-60:], 8) & MASK64
    if len(text) > 4000:
        text = text[-4000:]
    return int(text) & MASK64


def float_bits(text: str) -> tuple[int, str]:
    """Bit pattern and type (``f32`` for 0f..., ``f64`` for 0d... and decimal) of a float literal."""
    head = text[:2]
    if head in ("0f", "0F"):
        return int(text[2:], 16), "f32"
    if head in ("0d", "0D"):
        return int(text[2:], 16), "f64"
    bits: int = struct.unpack("<Q", struct.pack("<d", float(text)))[0]
    return bits, "f64"


_LEAST_NORMAL: Final = 2.0**-1022


def float_overflows(text: str) -> bool:
    """Whether a decimal float is too large or, without being zero, too small for a normal double: ptxas refuses both."""
    if text[:2] in ("0f", "0F", "0d", "0D"):
        return False
    value = float(text)
    if _LEAST_NORMAL <= value < math.inf:
        return False
    return bool(value) or bool(text.lower().partition("e")[0].strip("0."))


def f64_to_f32_bits(bits: int) -> int:
    """The single-precision pattern nearest to a double's pattern (round to nearest even, overflow to infinity)."""
    value: float = struct.unpack("<d", struct.pack("<Q", bits))[0]
    try:
        result: int = struct.unpack("<I", struct.pack("<f", value))[0]
    except OverflowError:
        result = 0xFF800000 if value < 0 else 0x7F800000
    return result
