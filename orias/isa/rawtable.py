"""The instruction table as stored: data files, and the records made from them on demand.

``data/sm_NN.txt`` holds one *form* per line: 13-bit opcode in hex (bit 91 above bits 0..11), mnemonic, JSON record.  Forms of one opcode
stand in match order.  Record keys:

``m, v``  a word belongs to the form iff ``word & m == v`` (hex); ``x`` pairs [mask, value] it must not match; ``pow2``: bits
32..63 must be a power of two other than 1, 2^16, 2^31; ``alias``: another spelling of a form with the same opcode;
``g`` "UP" if the guard is a uniform predicate; ``mods`` pieces printed after the mnemonic, joined with "."; ``ops`` operands;
``h`` bits that never change the text, ``d`` what ptxas writes there, ``dm`` the same for single modifier strings; ``p``
preferred modifier bits where several values print alike; ``bar`` barriers the form may name (w, r); ``n`` how many different words
of real compiler output took the form (absent: found by asking the disassembler only).

operand: [skeleton, [element, ...], pre pieces, post pieces]; the skeleton has one ``{X}`` per element: R U P Q(=UP) B
D(=SB) I(integer) F(float) L(relative label) W(word) S(set of scoreboards).
element: ``"low+width"`` with ``s``/``u`` and ``*scale`` for integers and ``rN`` for the reuse bit, or an object with ``f`` (that text),
``sum`` [constant, [[low, width, weight], ...]], ``fl`` kind@low, ``c`` constant, ``set`` low+width, ``w`` pieces;
``suf`` pieces behind the register, ``r`` reuse bit, ``ra`` reuse printed behind the suffix, ``hid`` not printed.
piece: literal text, or [bits, name of a value table in ``data/modifiers.txt``].

A file is read whole, its lines become records only when an opcode or a mnemonic is asked for.
Source of the facts: nvdisasm 13.2 and 13.5 asked for chosen words, ptxas 13.0.88 output (``tools/isa``).
"""

import json
import os.path
from typing import Any, Final, final

_DATA: Final = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data")

# Element sources (Elem.how).
H_FIELD: Final = 0
H_SUM: Final = 1
H_FLOAT: Final = 2
H_CONST: Final = 4
H_SET: Final = 5
H_WORD: Final = 6


@final
class Piece:
    """A literal, or a modifier field: ``bits`` (least significant first) and the text of each value."""

    __slots__ = ("bits", "lo", "mask", "text", "values")

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

    def show(self, word: int) -> str | None:
        """The text for a word; None if the value is illegal."""
        if not self.bits:
            return self.text
        return self.values.get(self.read(word))


@final
class Elem:
    """One variable part of an operand."""

    __slots__ = (
        "const", "fkind", "hidden", "how", "kind", "lo", "parts", "pieces", "reuse", "reuse_after", "scale", "signed", "suf",
        "width",
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
        self.reuse_after: bool = False
        self.hidden: bool = False

    def value(self, word: int) -> int | None:
        """The number in a word (register number, integer, distance, bit pattern of a float); None: not legal."""
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


@final
class Operand:
    """One printed operand."""

    __slots__ = ("elems", "post", "pre", "skeleton")

    def __init__(self, skeleton: str, elems: list[Elem], pre: list[Piece], post: list[Piece]) -> None:
        self.skeleton: Final[str] = skeleton
        self.elems: Final[list[Elem]] = elems
        self.pre: Final[list[Piece]] = pre
        self.post: Final[list[Piece]] = post


@final
class Form:
    """One form of an opcode."""

    __slots__ = (
        "alias", "bars", "default", "default_by_mods", "guard_up", "hidden", "mask", "mnemonic", "_mods", "_stored_mods", "nots", "opcode", "_operands", "_stored", "_table",
        "pow2", "prefer", "seen", "val",
    )  # fmt: skip

    def __init__(self, opcode: int, mnemonic: str, rec: dict[str, Any], table: "RawTable") -> None:
        self.opcode: Final[int] = opcode
        self.mnemonic: Final[str] = mnemonic
        self.mask: Final[int] = int(rec["m"], 16)
        self.val: Final[int] = int(rec["v"], 16)
        self.nots: Final[list[tuple[int, int]]] = [(int(m, 16), int(v, 16)) for m, v in rec.get("x", ())]
        self.pow2: Final[bool] = "pow2" in rec
        self.alias: Final[bool] = "alias" in rec
        self.guard_up: Final[bool] = rec.get("g", "P") == "UP"
        self._stored_mods: list[str | list[str]] = rec.get("mods", [])
        self._mods: list[Piece] | None = None
        self._stored: list[list[Any]] = rec.get("ops", [])
        self._operands: list[Operand] | None = None
        self._table: Final[RawTable] = table
        self.hidden: Final[int] = int(rec.get("h", "0"), 16)
        self.default: Final[int] = int(rec.get("d", "0"), 16)
        self.default_by_mods: Final[dict[str, int]] = {k: int(v, 16) for k, v in rec.get("dm", {}).items()}
        self.prefer: Final[int] = int(rec.get("p", "0"), 16)
        bars: str = rec.get("bar", "")
        self.bars: Final[int] = ("w" in bars) | ("r" in bars) << 1
        self.seen: Final[int] = int(rec.get("n", 0))

    @property
    def operands(self) -> list[Operand]:
        """The printed operands."""
        found = self._operands
        if found is None:
            found = self._operands = [self._table.operand(o) for o in self._stored]
        return found

    @property
    def mods(self) -> list[Piece]:
        """The pieces behind the mnemonic."""
        found = self._mods
        if found is None:
            found = self._mods = [self._table.piece(p) for p in self._stored_mods]
        return found

    def skeletons(self) -> list[str]:
        """The skeletons of the operands, without making the operands."""
        return [o[0] for o in self._stored]

    def matches(self, word: int) -> bool:
        """True if the fixed bits of the word are those of the form."""
        if word & self.mask != self.val:
            return False
        for m, v in self.nots:
            if word & m == v:
                return False
        if self.pow2:
            k = word >> 32 & 0xFFFFFFFF
            return k != 0 and k & (k - 1) == 0 and k not in (1, 1 << 16, 1 << 31)
        return True


def parse_bits(text: str) -> tuple[int, ...]:
    """``74+2,80`` as (74, 75, 80)."""
    out: list[int] = []
    for run in text.split(","):
        lo, _, n = run.partition("+")
        out.extend(range(int(lo), int(lo) + int(n or 1)))
    return tuple(out)


def _parse_field(text: str) -> tuple[int, int, bool, int, int]:
    """``40+14s*4r122`` as (low, width, signed, scale, reuse bit or -1)."""
    text, _, reuse = text.partition("r")
    text, _, scale = text.partition("*")
    signed = text[-1] == "s"
    lo, _, n = text.rstrip("su").partition("+")
    return int(lo), int(n or 1), signed, int(scale or 1), int(reuse or -1)


_fields: dict[str, tuple[int, int, bool, int, int]] = {}
_kinds: dict[str, list[str]] = {}
_shared: dict[str, str] = {}
_pieces: dict[tuple[str, str], Piece] = {}
_literals: dict[str, Piece] = {}


def _lines_of(name: str) -> list[str]:
    with open(os.path.join(_DATA, name), encoding="ascii") as f:
        return f.read().splitlines()


def _shared_tables() -> dict[str, str]:
    if not _shared:
        for row in _lines_of("modifiers.txt"):
            _shared[row[:7]] = row[8:]
    return _shared


def _value_table(name: str) -> dict[int, str]:
    body = json.loads(_shared_tables()[name])
    if isinstance(body, list):
        return dict(enumerate(body))
    return {int(k): v for k, v in body.items()}


@final
class RawTable:
    """All forms of one decoder class."""

    __slots__ = ("_by_mnemonic", "_by_opcode", "_forms", "_lines", "name")

    def __init__(self, name: str) -> None:
        self.name: Final[str] = name
        if not name.startswith("sm_") or not os.path.isfile(os.path.join(_DATA, f"{name}.txt")):
            raise KeyError(f"no instruction table named {name}")
        self._lines: Final[list[str]] = _lines_of(f"{name}.txt")
        self._forms: Final[list[Form | None]] = [None] * len(self._lines)
        self._by_opcode: Final[dict[int, list[int]]] = {}
        self._by_mnemonic: Final[dict[str, list[int]]] = {}
        for i, row in enumerate(self._lines):
            head = row[: row.index(" ", 5)]
            self._by_opcode.setdefault(int(head[:4], 16), []).append(i)
            self._by_mnemonic.setdefault(head[5:], []).append(i)

    def piece(self, p: str | list[str]) -> Piece:
        """A piece from its stored form; pieces are shared."""
        if isinstance(p, str):
            lit = _literals.get(p)
            if lit is None:
                lit = _literals[p] = Piece(p, (), {})
            return lit
        key = (p[0], p[1])
        found = _pieces.get(key)
        if found is None:
            found = _pieces[key] = Piece("", parse_bits(p[0]), _value_table(p[1]))
        return found

    def operand(self, o: list[Any]) -> Operand:
        """An operand from its stored form."""
        skeleton: str = o[0]
        kinds = _kinds.get(skeleton)
        if kinds is None:
            kinds = [skeleton[i + 1] for i in range(len(skeleton)) if skeleton[i] == "{" and skeleton[i + 1].isalpha()]
            _kinds[skeleton] = kinds
        elems = [self._elem(k, e) for k, e in zip(kinds, o[1], strict=True)]
        pre = [self.piece(p) for p in o[2]] if len(o) > 2 else []
        post = [self.piece(p) for p in o[3]] if len(o) > 3 else []
        return Operand(skeleton, elems, pre, post)

    def _elem(self, kind: str, e: str | dict[str, Any]) -> Elem:
        out = Elem(kind)
        if isinstance(e, str):
            self._field(out, e)
            return out
        if "f" in e:
            self._field(out, e["f"])
        elif "sum" in e:
            out.how = H_SUM
            out.const = e["sum"][0]
            out.parts = [(lo, n, weight) for lo, n, weight in e["sum"][1]]
        elif "fl" in e:
            out.how = H_FLOAT
            fkind, _, lo = e["fl"].partition("@")
            out.fkind = fkind
            out.lo = int(lo)
            out.width = 16 if fkind in ("f16", "bf16") else 32
        elif "c" in e:
            out.how = H_CONST
            out.const = int(e["c"])
        elif "set" in e:
            out.how = H_SET
            lo, _, n = e["set"].partition("+")
            out.lo, out.width = int(lo), int(n)
        else:
            out.how = H_WORD
            out.pieces = [self.piece(p) for p in e["w"]]
        out.suf = [self.piece(p) for p in e.get("suf", ())]
        out.reuse = e.get("r", out.reuse)
        out.reuse_after = "ra" in e
        out.hidden = "hid" in e
        return out

    @staticmethod
    def _field(out: Elem, text: str) -> None:
        found = _fields.get(text)
        if found is None:
            found = _fields[text] = _parse_field(text)
        out.lo, out.width, out.signed, out.scale, out.reuse = found

    def _form(self, i: int) -> Form:
        f = self._forms[i]
        if f is None:
            row = self._lines[i]
            end = row.index(" ", 5)
            f = self._forms[i] = Form(int(row[:4], 16), row[5:end], json.loads(row[end + 1 :]), self)
        return f

    def of_opcode(self, opcode: int) -> list[Form]:
        """The forms of a 13-bit opcode in match order (empty if there is none)."""
        return [self._form(i) for i in self._by_opcode.get(opcode, ())]

    def of_mnemonic(self, mnemonic: str) -> list[Form]:
        """The forms of a mnemonic in table order."""
        return [self._form(i) for i in self._by_mnemonic.get(mnemonic, ())]

    def mnemonics(self) -> list[str]:
        """All mnemonics of the table."""
        return list(self._by_mnemonic)
