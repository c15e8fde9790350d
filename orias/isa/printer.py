"""The text of a word, character by character what ``nvdisasm`` prints."""

from typing import Final, final

from orias.isa.decode import IllegalWord, mod_text
from orias.isa.floats import float_text
from orias.isa.rawtable import H_CONST, H_FIELD, H_FLOAT, H_SET, Elem, Form, Operand, RawTable

_PREFIX: Final = {"R": "R", "U": "UR", "P": "P", "Q": "UP", "B": "B", "D": "SB"}


def bar_is_last(kind: str, suffix: str) -> bool:
    """True if the closing bar of an absolute value stands behind the suffix: ``|R1.H1|``, ``|UR1.H0_H0|``, but ``|R1|.H0_H0``."""
    return kind != "R" or suffix in (".H1", ".H0", ".B1", ".B2", ".B3")


@final
class Printer:
    """Text of words of one table."""

    __slots__ = ("_raw",)

    def __init__(self, raw: RawTable) -> None:
        self._raw: Final[RawTable] = raw

    def text(self, w: int, pc: int, labels: dict[int, str] | None) -> str:
        """The text of a word at byte address `pc`; raises IllegalWord if there is none."""
        opcode = w & 0xFFF | (w >> 91 & 1) << 12
        for form in self._raw.of_opcode(opcode):
            if form.matches(w):
                t = self._form(form, w, pc, labels)
                if t is not None:
                    return t
        raise IllegalWord(f"{self._raw.name}: {w:#034x} has no text")

    def form(self, w: int) -> Form | None:
        """The form whose text a word has."""
        opcode = w & 0xFFF | (w >> 91 & 1) << 12
        for form in self._raw.of_opcode(opcode):
            if form.matches(w) and self._form(form, w, 0, None) is not None:
                return form
        return None

    def _form(self, form: Form, w: int, pc: int, labels: dict[int, str] | None) -> str | None:
        mods = mod_text(form.mods, w)
        if mods is None:
            return None
        g = w >> 12 & 15
        out = ""
        if g != 7:
            name = "UP" if form.guard_up else "P"
            out = "@" + ("!" if g & 8 else "") + (name + str(g & 7) if g & 7 != 7 else name + "T") + " "
        out += form.mnemonic + mods
        parts: list[str] = []
        for o in form.operands:
            t = self._operand(o, w, pc, labels)
            if t is None:
                return None
            parts.append(t)
        if parts:
            out += " " + ", ".join(parts)
        return out

    def _operand(self, o: Operand, w: int, pc: int, labels: dict[int, str] | None) -> str | None:
        before = ""
        for p in o.pre:
            t = p.show(w)
            if t is None:
                return None
            before += t
        shown: list[str] = []
        single = o.skeleton.startswith("{") and len(o.elems) == 1
        bar = "|" if "|" in before and single else ""
        for e in o.elems:
            t = self._elem(e, w, pc, labels, bar)
            if t is None:
                return None
            if e.hidden:
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
        behind = ""
        for p in o.post:
            t = p.show(w)
            if t is None:
                return None
            behind += t
        if "|" in before and not single:
            behind += "|"
        return before + body + behind

    def _elem(self, e: Elem, w: int, pc: int, labels: dict[int, str] | None, bar: str) -> str | None:
        kind = e.kind
        if kind == "W":
            out = ""
            for p in e.pieces:
                t = p.show(w)
                if t is None:
                    return None
                out += t
            return out
        v = e.value(w)
        if v is None:
            return None
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
            return (
                "{" + ",".join(str(i) for i in range(e.width - 1, -1, -1) if v >> i & 1) + "}"
                if e.how == H_SET
                else str(v)
            )
        prefix = _PREFIX[kind]
        if kind == "R":
            name = "RZ" if v == 255 else f"R{v}"
        elif kind == "U":
            name = "URZ" if e.how == H_FIELD and v == (1 << e.width) - 1 else f"UR{v}"
        elif kind in "PQ":
            name = prefix + ("T" if v == 7 else str(v))
        else:
            name = prefix + str(v)
        suf = ""
        for p in e.suf:
            t = p.show(w)
            if t is None:
                return None
            suf += t
        reuse = ""
        if e.reuse >= 0 and w >> e.reuse & 1 and 17 <= (w >> 105 & 31) <= 27:
            reuse = ".reuse"
        if e.how == H_CONST:
            reuse = ""
        if bar and bar_is_last(kind, suf):
            return name + suf + bar + reuse
        return name + bar + suf + reuse if e.reuse_after else name + bar + reuse + suf
