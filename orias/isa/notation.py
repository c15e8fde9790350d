"""Parses the notation of the table files (``data/*.isa``), which ``docs/isa-table.md`` describes.

Each part of a line becomes an object: ``32+8`` a bit field, ``</FTZ 80>`` a modifier field, ``<sign 72>Ra~`` an
operand.  Equal texts share one object, because most parts occur in many forms.
"""

from collections.abc import Callable
from typing import Final, final

# Element sources (Elem.how).
H_FIELD: Final = 0
H_SUM: Final = 1
H_FLOAT: Final = 2
H_CONST: Final = 4
H_SET: Final = 5
H_WORD: Final = 6


class TableError(Exception):
    """A table file that does not follow the notation; the message names the text."""


@final
class Piece:
    """A literal, or a modifier field: ``bits`` (least significant first) and the text of each value."""

    __slots__ = ("_placed", "bits", "lo", "mask", "text", "values")

    def __init__(self, text: str, bits: tuple[int, ...], values: dict[int, str]) -> None:
        self.text: Final[str] = text
        self.bits: Final[tuple[int, ...]] = bits
        self.values: Final[dict[int, str]] = values
        self.lo: int = -1
        """Low bit if the bits are adjacent, else -1."""
        m = 0
        for b in bits:
            m |= 1 << b
        self.mask: Final[int] = m
        if bits and bits[-1] - bits[0] + 1 == len(bits):
            self.lo = bits[0]
        self._placed: list[tuple[str, int]] = []

    def read(self, word: int) -> int:
        """The field's value in a word."""
        if self.lo >= 0:
            return (word & self.mask) >> self.lo
        v = 0
        for i, b in enumerate(self.bits):
            v |= (word >> b & 1) << i
        return v

    def place(self, value: int) -> int:
        """The word bits of a value."""
        if self.lo >= 0:
            return value << self.lo
        w = 0
        for i, b in enumerate(self.bits):
            w |= (value >> i & 1) << b
        return w

    def placed(self) -> list[tuple[str, int]]:
        """The text and the word bits of each value."""
        if not self._placed:
            self._placed = [(text, self.place(v)) for v, text in self.values.items()]
        return self._placed

    def show(self, word: int) -> str | None:
        """The text for a word; None if the value is illegal."""
        if not self.bits:
            return self.text
        return self.values.get(self.read(word))


@final
class Elem:
    """One variable part of an operand."""

    __slots__ = (
        "const", "fkind", "hidden", "how", "kind", "lo", "parts", "pieces", "reuse", "scale", "signed", "suf", "width",
    )  # fmt: skip

    def __init__(self, kind: str) -> None:
        self.kind: Final[str] = kind
        self.how: int = H_FIELD
        self.lo: int = 0
        self.width: int = 0
        self.signed: bool = False
        self.scale: int = 1
        self.const: int = 0
        self.parts: list[tuple[int, int, int]] = []
        self.fkind: str = ""
        self.pieces: list[Piece] = []
        self.suf: list[Piece] = []
        self.reuse: int = -1
        self.hidden: bool = False

    def value(self, word: int) -> int | None:
        """The element's number in a word (register, integer, distance or float pattern); None if it is illegal."""
        if self.how == H_FIELD:
            v = word >> self.lo & (1 << self.width) - 1
            if self.signed and v >> (self.width - 1):
                v -= 1 << self.width
            return v * self.scale
        if self.how == H_SUM:
            s = self.const
            for lo, width, weight in self.parts:
                s += (word >> lo & (1 << width) - 1) * weight
            return s
        if self.how in (H_FLOAT, H_SET):
            return word >> self.lo & (1 << self.width) - 1
        if self.how == H_CONST:
            return self.const
        return None

    def mask(self) -> int:
        """The word bits that hold the element, without its suffix and its reuse flag."""
        if self.how == H_SUM:
            m = 0
            for lo, width, _ in self.parts:
                m |= (1 << width) - 1 << lo
            return m
        m = (1 << self.width) - 1 << self.lo
        for p in self.pieces:
            m |= p.mask
        return m


@final
class Operand:
    """One printed operand."""

    __slots__ = ("elems", "post", "pre", "skeleton")

    def __init__(self, skeleton: str, elems: list[Elem], pre: list[Piece], post: list[Piece]) -> None:
        self.skeleton: Final[str] = skeleton
        self.elems: Final[list[Elem]] = elems
        self.pre: Final[list[Piece]] = pre
        self.post: Final[list[Piece]] = post


STANDARD: Final[dict[str, str]] = {
    "Rd": "R(16+8)", "Ra": "R(24+8)", "Rb": "R(32+8)", "Rc": "R(64+8)",
    "URd": "U(16+8)", "URa": "U(24+8)", "URb": "U(32+8)", "URm": "U(40+8)", "URn": "U(48+8)", "URc": "U(64+8)",
    "Pu": "P(81+3)", "Pv": "P(84+3)", "Pp": "P(87+3)", "Pq": "P(77+3)", "Pr": "P(68+3)",
    "UPu": "Q(81+3)", "UPv": "Q(84+3)", "UPp": "Q(87+3)", "UPq": "Q(77+3)", "UPr": "Q(68+3)",
    "Bd": "B(16+4)", "Ba": "B(24+4)", "Sb": "D(44+3)",
    "Imm": "I(32+32)", "Simm": "I(32+32s)", "Off": "I(40+24s)", "Lut": "I(72+8)",
    "Bank": "I(54+5)", "Coff": "I(40+14s*4)", "Cidx": "I(40+14*4)", "Addr": "I(40+24)", "Shift": "I(75+5)",
    "Pn": "P(sum 7 64+3*-1)", "Pi": "P(sum 7 87+3*-1)", "UPi": "Q(sum 7 87+3*-1)",
    "Fimm": "F(f32 32)", "Dimm": "F(f64h 32)", "Hhi": "F(f16 48)", "Hlo": "F(f16 32)", "Bhi": "F(bf16 48)", "Blo": "F(bf16 32)",
    "Target": "L(sum 0 16+8*4 34+47*1024 81*-144115188075855872)", "Near": "L(34+48s*4)",
}  # fmt: skip
"""Named fields: kind letter, low bit and width.  Uniform registers have 8 bits from sm_100 on and 6 before."""

_REUSE: Final = {24: 122, 32: 123, 64: 124}
"""Low bit of a register field -> bit of its reuse flag."""

_bits: dict[str, tuple[int, ...]] = {}


def parse_bits(text: str) -> tuple[int, ...]:
    """``74+2,80`` as (74, 75, 80)."""
    found = _bits.get(text)
    if found is None:
        out: list[int] = []
        for run in text.split(","):
            lo, _, n = run.partition("+")
            out.extend(range(int(lo), int(lo) + int(n or 1)))
        found = _bits[text] = tuple(out)
    return found


_conditions: dict[str, tuple[int, int]] = {}


def parse_condition(text: str) -> tuple[int, int]:
    """``84+3=7,74=1`` as (mask, value) over the 128 bits of a word."""
    found = _conditions.get(text)
    if found is None:
        mask = val = 0
        for part in text.split(","):
            where, _, value = part.partition("=")
            v = int(value, 0)
            for i, b in enumerate(parse_bits(where)):
                mask |= 1 << b
                val |= (v >> i & 1) << b
        found = _conditions[text] = mask, val
    return found


def ones(text: str) -> int:
    """The word with the named bits set."""
    w = 0
    for b in parse_bits(text):
        w |= 1 << b
    return w


def parse_values(text: str) -> dict[int, str]:
    """The right side of a line of ``tables.isa`` as texts by value.

    ``""`` is the empty text, ``#`` an illegal value, ``16=X`` continues at 16, ``X[0..7]`` is eight texts.
    ``*16(,X,Y)`` repeats all values so far at +16 with ``.X`` and at +32 with ``.Y`` after their texts (``*16<(,X,Y)``:
    before them).  ``*16x4`` repeats them four times at steps of 16.  The values are in ascending order: of two that
    print alike the first counts.
    """
    out: dict[int, str] = {}
    at = 0
    ascending = True
    for t in text.split():
        if t[0] == "*":
            out = _product(out, t)
            ascending = False
            continue
        number, sign, rest = t.partition("=")
        if sign:
            at = int(number)
            t = rest
        for x in spread(t):
            if x != "#":
                out[at] = "" if x == '""' else x
            at += 1
    return out if ascending else {v: out[v] for v in sorted(out)}


def spread(text: str) -> list[str]:
    """The texts of ``X[0..7]`` (X0 to X7), or of ``X[0..6..2+0..1]`` (0 to 6 in steps of 2, each plus 0 and plus 1)."""
    first = text.find("[")
    if first < 0:
        return [text]
    last = text.index("]")
    numbers = [0]
    for part in text[first + 1 : last].split("+"):
        bounds = [int(x) for x in part.split("..")]
        steps = range(bounds[0], bounds[1] + 1, bounds[2] if len(bounds) > 2 else 1)
        numbers = [n + k for n in numbers for k in steps]
    return [f"{text[:first]}{n}{text[last + 1 :]}" for n in numbers]


def _product(values: dict[int, str], text: str) -> dict[int, str]:
    """The values of a table repeated as ``*16(,X,Y)`` or ``*16x4`` says."""
    out: dict[int, str] = {}
    if text[-1] != ")":
        distance, _, times = text[1:].partition("x")
        for k in range(int(times)):
            for v, t in values.items():
                out[v + k * int(distance)] = t
        return out
    stride, _, listed = text[1:-1].partition("(")
    before = stride[-1] == "<"
    step = int(stride.rstrip("<"))
    at = 0
    for alternative in listed.split(","):
        for x in spread(alternative):
            if x != "#":
                for v, t in values.items():
                    out[v + at] = f"{x}.{t}" if x and t and before else f"{t}.{x}" if x and t else x or t
            at += step
    return out


@final
class Vocabulary:
    """The shared value tables and the objects made from texts; ``ur_bits`` is the width of a uniform register number.

    The value tables are read on first use.
    """

    __slots__ = ("_elems", "_named", "_operands", "_pieces", "_values", "ur_bits")

    def __init__(self, named: Callable[[], dict[str, str]], ur_bits: int) -> None:
        self._named: Final[Callable[[], dict[str, str]]] = named
        self._values: Final[dict[str, dict[int, str]]] = {}
        self._pieces: Final[dict[str, Piece]] = {}
        self._elems: Final[dict[str, Elem]] = {}
        self._operands: Final[dict[str, Operand]] = {}
        self.ur_bits: Final[int] = ur_bits

    def piece(self, text: str) -> Piece:
        """The piece of a text: ``<VALUES BITS>`` or a literal."""
        p = self._pieces.get(text)
        if p is None:
            if text[0] != "<":
                p = Piece(text, (), {})
            else:
                values, _, bits = text[1:-1].rpartition(" ")
                p = Piece("", parse_bits(bits), self._table(values))
            self._pieces[text] = p
        return p

    def _table(self, text: str) -> dict[int, str]:
        if text[0] == "$":
            found = self._values.get(text)
            if found is None:
                values = self._named().get(text[1:])
                if values is None:
                    raise TableError(f"no value table {text}")
                found = self._values[text] = parse_values(values)
            return found
        listed = [t for part in text.split("/") for t in spread(part)]
        return {i: t for i, t in enumerate(listed) if t != "#"}

    def element(self, text: str, suf: list[str]) -> Elem:
        """The element of a text such as ``Ra~`` or ``I(40+14s*4)``, with the pieces after it."""
        key = text + "".join(suf)
        e = self._elems.get(key)
        if e is None:
            e = self._elems[key] = self._make(text)
            e.suf = [self.piece(s) for s in suf]
        return e

    def _make(self, text: str) -> Elem:
        reuse = text[-1] == "~"
        if reuse:
            text = text[:-1]
        if text[0] == "{":
            e = Elem("W")
            e.how = H_WORD
            e.pieces = [self.piece(p) for p in split_pieces(text[1:-1])]
            return e
        text = STANDARD.get(text, text)
        e = Elem(text[0])
        words = text[2:-1].split(" ")
        while words[-1] == "hidden" or words[-1][0] == "r":
            if words[-1] == "hidden":
                e.hidden = True
            else:
                e.reuse = int(words[-1][1:])
            words.pop()
        self._place(e, words)
        if reuse:
            e.reuse = _REUSE[e.lo]
        return e

    def _place(self, e: Elem, words: list[str]) -> None:
        first = words[0]
        if first[0] == "=":
            e.how = H_CONST
            e.const = int(first[1:])
        elif first == "sum":
            e.how = H_SUM
            e.const = int(words[1])
            e.parts = [_part(w) for w in words[2:]]
        elif e.kind == "F":
            e.how = H_FLOAT
            e.fkind = first
            e.lo = int(words[1])
            e.width = 16 if first in ("f16", "bf16") else 32
        else:
            if e.kind == "S":
                e.how = H_SET
            where, _, scale = first.partition("*")
            e.signed = where[-1] == "s"
            lo, _, n = where.rstrip("su").partition("+")
            e.lo, e.width, e.scale = int(lo), int(n or 1), int(scale or 1)
            if e.kind == "U" and e.width == 8 and e.lo & 7 == 0:
                e.width = self.ur_bits

    def operand(self, text: str) -> Operand:
        """The operand of a text such as ``desc[URb][Ra.64+Off]``."""
        o = self._operands.get(text)
        if o is None:
            t = Template(text)
            elems = [self.element(name, suf) for name, suf in t.elems]
            # Separate statements: mypyc 2.4 frees t.skeleton if a comprehension is an argument of the call.
            pre = [self.piece(p) for p in t.pre]
            post = [self.piece(p) for p in t.post]
            o = Operand(t.skeleton, elems, pre, post)
            self._operands[text] = o
        return o


def _part(text: str) -> tuple[int, int, int]:
    where, _, weight = text.partition("*")
    lo, _, n = where.partition("+")
    return int(lo), int(n or 1), int(weight or 1)


def split_pieces(text: str) -> list[str]:
    """Split a text such as ``<a 1>.64<b 2>`` into its pieces."""
    out: list[str] = []
    i = 0
    n = len(text)
    while i < n:
        j = text.find(">", i) + 1 if text[i] == "<" else text.find("<", i)
        if j <= 0:
            j = n
        out.append(text[i:j])
        i = j
    return out


@final
class Template:
    """A parsed operand text: the skeleton with one ``{X}`` per element, and the elements with the pieces after them."""

    __slots__ = ("elems", "post", "pre", "skeleton")

    def __init__(self, text: str) -> None:
        self.elems: Final[list[tuple[str, list[str]]]] = []
        self.pre: Final[list[str]] = []
        self.post: Final[list[str]] = []
        skeleton = ""
        i = 1 if text[0] == "^" else 0
        n = len(text)
        while i < n:
            c = text[i]
            if c == "<":
                j = text.index(">", i) + 1
                if self.elems:
                    self.post.append(text[i:j])
                else:
                    self.pre.append(text[i:j])
                i = j
            elif c == "{":
                j = text.index("}", i) + 1
                self.elems.append((text[i:j], []))
                skeleton += "{W}"
                i = j
            elif c.isupper():
                i, kind = self._element(text, i)
                skeleton += "{" + kind + "}"
            elif c == "." and skeleton and skeleton[-1] in "]}":
                j = i + 1
                while j < n and (text[j].isalnum() or text[j] == "_"):
                    j += 1
                self.post.append(text[i:j])
                i = j
            else:
                skeleton += c
                i += 1
        self.skeleton: Final[str] = skeleton

    def _element(self, text: str, i: int) -> tuple[int, str]:
        n = len(text)
        j = i + 1
        while j < n and text[j].isalnum():
            j += 1
        if j < n and text[j] == "(":
            j = text.index(")", j) + 1
        name = text[i:j]
        kind = name[0] if "(" in name else STANDARD[name][0]
        if j < n and text[j] == "~":
            j += 1
            name += "~"
        suf: list[str] = []
        while j < n and text[j] in "<.":
            k = text.find(">", j) + 1 if text[j] == "<" else j + 1
            if text[j] == ".":
                while k < n and (text[k].isalnum() or text[k] == "_"):
                    k += 1
            suf.append(text[j:k])
            j = k
        self.elems.append((name, suf))
        return j, kind


def split_template(text: str) -> tuple[str, list[str], list[str]]:
    """Split a form's template into the mnemonic, modifier pieces and operand texts."""
    head = _head_end(text)
    mods: list[str] = []
    i = 0
    while i < head and text[i] != ".":
        i += 1
    mnemonic = text[:i]
    while i < head:
        j = i + 1
        if text[j] == "<":
            j = text.index(">", j) + 1
        else:
            while j < head and text[j] != ".":
                j += 1
        mods.append(text[i + 1 : j])
        i = j
    return mnemonic, mods, split_operands(text[head + 1 :])


def split_template_head(text: str) -> tuple[str, str]:
    """Split a form's template into the mnemonic with modifiers and the text of the operands."""
    head = _head_end(text)
    return text[:head], text[head + 1 :]


def split_operands(text: str) -> list[str]:
    """Split a list of operands such as ``^Rd, Ra~``."""
    operands: list[str] = []
    start = 0
    depth = 0
    for k in range(len(text)):
        c = text[k]
        if c in "<({":
            depth += 1
        elif c in ">)}":
            depth -= 1
        elif c == "," and depth == 0 and text[k + 1] == " ":
            operands.append(text[start:k])
            start = k + 2
    if start < len(text):
        operands.append(text[start:])
    return operands


def _head_end(text: str) -> int:
    """Index of the end of the mnemonic with its modifiers."""
    inside = False
    for i, c in enumerate(text):
        if c == "<":
            inside = True
        elif c == ">":
            inside = False
        elif c == " " and not inside:
            return i
    return len(text)
