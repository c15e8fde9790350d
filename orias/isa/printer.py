"""Prints a word exactly as ``nvdisasm`` does.

The text that depends on modifier bits is computed once per form and modifier value and kept as a *template*: a format
string and the fields of its numbers.  Printing a word is then one table look-up and a few shifts.
"""

from typing import Final, final

from orias.isa.decode import IllegalWord, joined, mod_text
from orias.isa.float_text import float_text
from orias.isa.notation import H_CONST, H_FIELD, H_FLOAT, H_SET, H_SUM, Elem, Operand
from orias.isa.rawtable import Form, RawTable

_PREFIX: Final = {"R": "R", "U": "UR", "P": "P", "Q": "UP", "B": "B", "D": "SB"}
_KEPT: Final = 1 << 16
"""Largest number of cached texts."""
_GUARD: Final = 15 << 12
_REUSE: Final = 7 << 122
_CONTROL: Final = 105
"""Low bit of the control word.  A reuse flag below it (matrix operations with scales) is valid with any scheduling code."""


def bar_is_last(kind: str, suffix: str) -> bool:
    """True if the closing bar of an absolute value comes after the suffix: ``|R1.H1|``, ``|UR1.H0_H0|``, but ``|R1|.H0_H0``.

    A form that writes ``|R1|.B1`` has the suffix ``|.B1`` in the table (QFMA4, QMUL4, QADD4).
    """
    return kind != "R" or suffix in (".H1", ".H0", ".B1", ".B2", ".B3")


def _register_name(e: Elem, v: int) -> str:
    kind = e.kind
    if kind == "R":
        return "RZ" if v == 255 else f"R{v}"
    if kind == "U":
        if e.how == H_FIELD:
            return "URZ" if v == (1 << e.width) - 1 else f"UR{v}"
        return "URZ" if v == 255 else f"UR{v}"
    if kind in "PQ":
        return _PREFIX[kind] + ("T" if v == 7 else str(v))
    return _PREFIX[kind] + str(v)


_names: dict[tuple[str, int, int, int], list[str]] = {}


def _name_table(e: Elem, width: int, start: int, weight: int) -> list[str]:
    """The register names of all values of a field; equal fields share one list."""
    key = (e.kind, width, start, weight)
    found = _names.get(key)
    if found is None:
        found = _names[key] = [_register_name(e, start + i * weight) for i in range(1 << width)]
    return found


_HEX: Final[list[str]] = [hex(i) for i in range(1 << 8)]


@final
class _Field:
    """A number in the text: the names of its values if there are few, else the element that formats it."""

    __slots__ = ("elem", "lo", "mask", "names")

    def __init__(self, elem: Elem, names: list[str] | None, lo: int, mask: int) -> None:
        self.elem: Final[Elem] = elem
        self.names: Final[list[str] | None] = names
        self.lo: Final[int] = lo
        self.mask: Final[int] = mask


@final
class _Template:
    """The text of a form with given modifiers; ``labels`` are the fields that name addresses."""

    __slots__ = ("fields", "labels", "text")

    def __init__(self, text: str, fields: list[_Field]) -> None:
        self.text: Final[str] = text
        self.fields: Final[list[_Field]] = fields
        self.labels: Final[list[Elem]] = [f.elem for f in fields if f.elem.kind == "L"]


@final
class _Ready:
    """A form with the templates made so far."""

    __slots__ = ("form", "mask", "reuse", "simple", "templates", "val")

    def __init__(self, form: Form) -> None:
        self.form: Final[Form] = form
        self.simple: Final[bool] = not form.nots and not form.pow2
        self.val: Final[int] = form.val
        mask = _GUARD
        reuse = False
        for p in form.pieces():
            mask |= p.mask
        for o in form.operands:
            for e in o.elems:
                if 0 <= e.reuse < _CONTROL:
                    mask |= 1 << e.reuse
                reuse = reuse or e.reuse >= _CONTROL
        self.mask: Final[int] = mask
        self.reuse: Final[int] = _REUSE if reuse else 0
        self.templates: Final[dict[int, _Template | None]] = {}


@final
class Printer:
    """Prints the words of one instruction table."""

    __slots__ = ("_branches", "_raw", "_ready", "_texts")

    def __init__(self, raw: RawTable) -> None:
        self._raw: Final[RawTable] = raw
        self._ready: Final[dict[int, list[_Ready]]] = {}
        self._branches: Final[dict[int, bool]] = {}
        """Whether an opcode refers to code addresses."""
        self._texts: Final[dict[int, str]] = {}
        """Cached texts of words without code addresses, because code repeats words."""

    def text(self, w: int, pc: int, labels: dict[int, str] | None) -> str:
        """The text of a word at byte address `pc`; raises IllegalWord if there is none."""
        known = self._texts.get(w)
        if known is not None:
            return known
        found = self._find(w)
        if found is None:
            raise IllegalWord(f"{self._raw.name}: {w:#034x} has no text")
        out = _fill(found, w, pc, labels)
        if not found.labels:
            if len(self._texts) >= _KEPT:
                self._texts.clear()
            self._texts[w] = out
        return out

    def form_text(self, form: Form, w: int, pc: int, labels: dict[int, str] | None) -> str | None:
        """The text of a word printed as `form`, whether or not it matches; None if a modifier value is illegal."""
        t = _compile(form, w)
        return None if t is None else _fill(t, w, pc, labels)

    def form(self, w: int) -> Form | None:
        """The form that a word is printed as."""
        opcode = w & 0xFFF | (w >> 91 & 1) << 12
        for r in self._of_opcode(opcode):
            if r.form.matches(w) and self._template(r, w) is not None and not r.form.control_fault(w >> 105 & 0x1FFFFF):
                return r.form
        return None

    def targets(self, w: int, pc: int) -> list[int]:
        """Code addresses that a word at byte address `pc` refers to; empty for illegal words."""
        opcode = w & 0xFFF | (w >> 91 & 1) << 12
        branches = self._branches.get(opcode)
        if branches is None:
            branches = self._branches[opcode] = any(
                "{L}" in sk for f in self._raw.of_opcode(opcode) for sk in f.skeletons()
            )
        if not branches:
            return []
        found = self._find(w)
        if found is None or not found.labels:
            return []
        return [pc + 16 + (e.value(w) or 0) for e in found.labels]

    def _of_opcode(self, opcode: int) -> list[_Ready]:
        found = self._ready.get(opcode)
        if found is None:
            found = self._ready[opcode] = [_Ready(f) for f in self._raw.of_opcode(opcode)]
        return found

    def _find(self, w: int) -> _Template | None:
        opcode = w & 0xFFF | (w >> 91 & 1) << 12
        for r in self._of_opcode(opcode):
            if w & r.form.mask == r.val and (r.simple or r.form.matches(w)):
                t = self._template(r, w)
                if t is not None and not r.form.control_fault(w >> 105 & 0x1FFFFF):
                    return t
        return None

    @staticmethod
    def _template(r: _Ready, w: int) -> _Template | None:
        key = w & r.mask
        if r.reuse and w & r.reuse and 17 <= (w >> 105 & 31) <= 27:
            key |= w & r.reuse
        if key in r.templates:
            return r.templates[key]
        t = r.templates[key] = _compile(r.form, w)
        return t


def _fill(t: _Template, w: int, pc: int, labels: dict[int, str] | None) -> str:
    parts: list[str] = []
    for f in t.fields:
        names = f.names
        if names is not None:
            parts.append(names[w >> f.lo & f.mask])
        else:
            parts.append(_number(f.elem, w, pc, labels))
    return t.text % tuple(parts)


def _number(e: Elem, w: int, pc: int, labels: dict[int, str] | None) -> str:
    """The text of a number whose values have no list of names."""
    v = e.value(w)
    if v is None:
        return ""
    kind = e.kind
    if kind == "I":
        return hex(v)
    if kind == "F":
        return float_text(e.fkind, v) if e.how == H_FLOAT else str(v)
    if kind == "L":
        target = pc + 16 + v
        if labels is not None and target in labels:
            return f"`({labels[target]})"
        return hex(target)
    if kind == "S":
        if e.how != H_SET:
            return str(v)
        return "{" + ",".join(str(i) for i in range(e.width - 1, -1, -1) if v >> i & 1) + "}"
    return _register_name(e, v)


def _compile(form: Form, w: int) -> _Template | None:
    """The template of a form for the modifiers of a word; None if one of them is illegal."""
    mods = mod_text(form.mods, w)
    if mods is None:
        return None
    g = w >> 12 & 15
    out = ""
    if g != 7:
        name = "UP" if form.guard_up else "P"
        out = "@" + ("!" if g & 8 else "") + (name + str(g & 7) if g & 7 != 7 else name + "T") + " "
    out += form.mnemonic + mods
    fields: list[_Field] = []
    parts: list[str] = []
    for o in form.operands:
        t = _operand(o, w, fields)
        if t is None:
            return None
        parts.append(t)
    if parts:
        out += " " + ", ".join(parts)
    return _Template(out, fields)


def _operand(o: Operand, w: int, fields: list[_Field]) -> str | None:
    before = joined(o.pre, w)
    if before is None:
        return None
    shown: list[str] = []
    single = o.skeleton.startswith("{") and len(o.elems) == 1
    bar = "|" if "|" in before and single else ""
    for e in o.elems:
        count = len(fields)
        t = _element(e, w, bar, fields)
        if t is None:
            return None
        if e.hidden:
            del fields[count:]
            t = ""
        shown.append(t)
        bar = ""
    sk = o.skeleton
    if single:
        body = shown[0]
    else:
        body = ""
        i = 0
        k = 0
        n = len(sk)
        while i < n:
            c = sk[i]
            if c == "{" and i + 2 < n and sk[i + 2] == "}":
                body += shown[k]
                k += 1
                i += 3
            else:
                body += c
                i += 1
    after = joined(o.post, w)
    if after is None:
        return None
    if "|" in before and not single:
        after += "|"
    return before + body + after


def _field(e: Elem) -> _Field:
    """The field of an element's number, with the names of its values if there are few."""
    if e.how == H_FIELD and e.width <= 8 and not e.signed and e.scale == 1:
        mask = (1 << e.width) - 1
        if e.kind in _PREFIX:
            return _Field(e, _name_table(e, e.width, 0, 1), e.lo, mask)
        if e.kind == "I":
            return _Field(e, _HEX, e.lo, mask)
    if e.how == H_SUM and e.kind in _PREFIX and len(e.parts) == 1:
        lo, width, weight = e.parts[0]
        return _Field(e, _name_table(e, width, e.const, weight), lo, (1 << width) - 1)
    return _Field(e, None, 0, 0)


def _element(e: Elem, w: int, bar: str, fields: list[_Field]) -> str | None:
    kind = e.kind
    if kind == "W":
        return joined(e.pieces, w)
    if e.value(w) is None:
        return None
    fields.append(_field(e))
    suf = joined(e.suf, w)
    if suf is None:
        return None
    if kind in "IFLS":
        return "%s" + suf
    reuse = ""
    if e.reuse >= 0 and e.how != H_CONST and w >> e.reuse & 1 and (e.reuse < _CONTROL or 17 <= (w >> 105 & 31) <= 27):
        reuse = ".reuse"
    if suf[:1] == "|":
        return "%s" + bar + reuse + suf[1:]
    if bar and bar_is_last(kind, suf):
        return "%s" + suf + bar + reuse
    return "%s" + bar + reuse + suf
