"""The assembler: a listing back to instruction words, on the same tables as the disassembler.

Accepted text is what :func:`orias.tools.disassemble.disassemble` writes (addresses and comments are optional)::

    .section .text.k,"ax",@progbits
    .L_x_0:
            @!P0 IADD3 R4, R5.reuse, -0x1, RZ ;   /* B0----- R- W1 Y S04 */
                 BRA `(.L_x_0) ;

A comment of the form ``B...... R. W. Y Snn [Un] [^hex]`` is the control word (waits, read barrier, write barrier, yield, stall, reuse
flags that the text does not show, bits that no text shows); without it an instruction waits for nothing and stalls 15 cycles.
"""

import re
from typing import Final, final

from orias.isa.floats import float_bits
from orias.isa.rawtable import H_CONST, H_FIELD, H_FLOAT, H_SET, H_SUM, Elem, Form, Operand, Piece
from orias.isa.table import CTL_SHIFT, IsaTable, load

INST_BYTES: Final = 16
DEFAULT_CONTROL: Final = 15 | 7 << 5 | 7 << 8
"""Stall 15, no barriers."""


HIDDEN_DESCRIPTOR: Final = 4
"""Uniform register of the descriptor where the text does not name it (sm_80 to sm_89); what ptxas uses most."""


class AsmError(Exception):
    """A text that is no instruction; ``line`` and ``column`` start at 1."""

    def __init__(self, message: str, line: int, column: int) -> None:
        self.message: str = message
        self.line: int = line
        self.column: int = column
        super().__init__(f"line {line}, column {column}: {message}")


_REG: Final[dict[str, "re.Pattern[str]"]] = {
    "R": re.compile(r"RZ|R(\d+)"),
    "U": re.compile(r"URZ|UR(\d+)"),
    "P": re.compile(r"PT|P(\d)"),
    "Q": re.compile(r"UPT|UP(\d)"),
    "B": re.compile(r"B(\d+)"),
    "D": re.compile(r"SB(\d)"),
}
_INT: Final = re.compile(r"-?0x[0-9a-f]+|-?\d+(?![\d.])")
_FLOAT: Final = re.compile(r"0x[0-9a-f]+|[+-](?:INF|QNAN|SNAN) ?|-?\d+(?:\.\d+)?(?:e[+-]?\d+)?")
_LABEL: Final = re.compile(r"`\(([^)]+)\)|(-?0x[0-9a-f]+)")
_SET: Final = re.compile(r"\{(\d(?:,\d)*)\}")
_GUARD: Final = re.compile(r"@(!?)(U?)P(T|\d)\s+")
_CONTROL: Final = re.compile(r"B([0-5-]{6}) R([0-6-]) W([0-6-]) ([Y-]) S(\d\d)(?: U([0-9a-f]))?(?: \^([0-9a-f]+))?")

State = tuple[int, int, int]
"""(fixed bits, their values, position in the text)."""


@final
class _Matcher:
    """Matches the text of an instruction against one form."""

    __slots__ = ("form", "furthest", "labels", "pc", "text")

    def __init__(self, form: Form, text: str, pc: int, labels: dict[str, int]) -> None:
        self.form: Final[Form] = form
        self.text: Final[str] = text
        self.pc: Final[int] = pc
        self.labels: Final[dict[str, int]] = labels
        self.furthest: int = 0

    def pieces(self, pieces: list[Piece], states: list[State]) -> list[State]:
        """States behind pieces whose texts follow each other directly."""
        for p in pieces:
            after: list[State] = []
            for mask, val, at in states:
                if not p.bits:
                    if self.text.startswith(p.text, at):
                        after.append((mask, val, at + len(p.text)))
                    continue
                first = len(after)
                for v, t in p.values.items():
                    w = p.place(v)
                    if not (w ^ val) & mask & p.mask and self.text.startswith(t, at):
                        item = (mask | p.mask, val | w, at + len(t))
                        if w == self.form.prefer & p.mask:
                            after.insert(first, item)
                        else:
                            after.append(item)
            states = after
        return self._seen(states)

    def _seen(self, states: list[State]) -> list[State]:
        for _, _, at in states:
            self.furthest = max(self.furthest, at)
        return states

    def modifiers(self, at: int, end: int) -> list[State]:
        """States at `end` after the modifiers between `at` and `end` (each with its dot)."""
        states: list[State] = [(self.form.mask, self.form.val, at)]
        for p in self.form.mods:
            after: list[State] = []
            for mask, val, pos in states:
                options = p.values.items() if p.bits else ((0, p.text),)
                first = len(after)
                for v, t in options:
                    w = p.place(v) if p.bits else 0
                    if (w ^ val) & mask & p.mask:
                        continue
                    if t and not (self.text.startswith("." + t, pos) and pos + 1 + len(t) <= end):
                        continue
                    if t and pos + 1 + len(t) < end and self.text[pos + 1 + len(t)] != ".":
                        continue
                    item = (mask | p.mask, val | w, pos + (1 + len(t) if t else 0))
                    if w == self.form.prefer & p.mask:
                        after.insert(first, item)
                    else:
                        after.append(item)
            states = after
        return self._seen([s for s in states if s[2] == end])

    def operand(self, o: Operand, state: State) -> list[State]:
        """States behind an operand."""
        out: list[State] = []
        for mask, val, at in self.pieces(o.pre, [state]):
            barred = "|" in self.text[state[2] : at]
            states: list[State] = [(mask, val, at)]
            index = 0
            i = 0
            single = o.skeleton.startswith("{") and len(o.elems) == 1
            sk = o.skeleton
            while i < len(sk) and states:
                if sk[i] == "{" and i + 2 < len(sk) and sk[i + 2] == "}":
                    e = o.elems[index]
                    index += 1
                    i += 3
                    bar_here = barred and single
                    states = [s for st in states for s in self.element(e, st, bar_here)]
                else:
                    states = [(m, v, p + 1) for m, v, p in states if self.text.startswith(sk[i], p)]
                    i += 1
            states = self.pieces(o.post, self._seen(states))
            if barred and not single:
                states = [(m, v, p + 1) for m, v, p in states if self.text.startswith("|", p)]
            out.extend(states)
        return out

    def element(self, e: Elem, state: State, barred: bool) -> list[State]:
        """States behind one element."""
        mask, val, at = state
        if e.hidden:
            return self._put(e, HIDDEN_DESCRIPTOR, mask, val, at)
        if e.kind == "W":
            return self.pieces(e.pieces, [state])
        if e.kind == "S":
            m = _SET.match(self.text, at)
            if m is None:
                return []
            value = 0
            for k in m.group(1).split(","):
                value |= 1 << int(k)
            return self._put(e, value, mask, val, m.end())
        if e.kind == "L":
            m = _LABEL.match(self.text, at)
            if m is None:
                return []
            if m.group(1) is not None:
                target = self.labels.get(m.group(1))
                if target is None:
                    return []
            else:
                target = int(m.group(2), 16)
            return self._put(e, target - self.pc - INST_BYTES, mask, val, m.end())
        if e.kind == "I":
            m = _INT.match(self.text, at)
            return [] if m is None else self._put(e, int(m.group(), 0), mask, val, m.end())
        if e.kind == "F":
            m = _FLOAT.match(self.text, at)
            if m is None:
                return []
            end = m.end()
            if m.group()[-1] in "FN" and self.text.startswith(" ", end):
                end += 1
            if e.how != H_FLOAT:
                return [(mask, val, end)] if m.group() == str(e.const) else []
            try:
                bits = float_bits(e.fkind, m.group().strip())
            except (ValueError, OverflowError):
                return []
            return self._put(e, bits, mask, val, end)
        m = _REG[e.kind].match(self.text, at)
        if m is None:
            return []
        zero = {"R": 255, "U": (1 << e.width) - 1 if e.how == H_FIELD else 255, "P": 7, "Q": 7}.get(e.kind, 0)
        number = int(m.group(1)) if m.group(1) else zero
        states = self._put(e, number, mask, val, m.end())
        out: list[State] = []
        for mask2, val2, at2 in states:
            start = (mask2, val2, at2)
            # |R1|.reuse.H0_H0, |R1.H1|.reuse, R1.reuse.H0_H0, R1.H1.reuse: the bar is where the printer puts it.
            if barred:
                bar_first = [(mask2, val2, at2 + 1)] if self.text.startswith("|", at2) else []
                out.extend(self.pieces(e.suf, [self._reuse(e, s) for s in bar_first]))
                behind = [(k, v, p + 1) for k, v, p in self.pieces(e.suf, [start]) if self.text.startswith("|", p)]
                out.extend(self._reuse(e, s) for s in behind)
            else:
                out.extend(self.pieces(e.suf, [self._reuse(e, start)]))
                if e.reuse_after:
                    out.extend(self._reuse(e, s) for s in self.pieces(e.suf, [start]))
        return out

    def _reuse(self, e: Elem, s: State) -> State:
        if e.reuse >= 0 and self.text.startswith(".reuse", s[2]):
            return s[0], s[1] | 1 << e.reuse, s[2] + 6
        return s

    def _put(self, e: Elem, value: int, mask: int, val: int, at: int) -> list[State]:
        """The state with a number stored; empty if it does not fit."""
        if e.how == H_CONST:
            return [(mask, val, at)] if value == e.const else []
        if e.how in (H_FIELD, H_FLOAT, H_SET):
            scaled = value // e.scale
            if scaled * e.scale != value:
                return []
            top = 1 << e.width
            if not -(top >> 1) <= scaled < top or (scaled < 0 and not e.signed):
                return []
            field = top - 1 << e.lo
            w = (scaled & top - 1) << e.lo
            return [] if (w ^ val) & mask & field else [(mask | field, val | w, at)]
        if e.how == H_SUM:
            w = field = 0
            rest = value - e.const
            for lo, width, weight in e.parts:
                field |= (1 << width) - 1 << lo
                w |= (rest // abs(weight) & (1 << width) - 1) << lo
            if e.value(w) != value:
                w = 0
                for lo, width, weight in e.parts:
                    w |= (rest // weight & (1 << width) - 1) << lo
                if e.value(w) != value:
                    return []
            return [] if (w ^ val) & mask & field else [(mask | field, val | w, at)]
        return []


def assemble_instruction(
    text: str, table: IsaTable, pc: int = 0, labels: dict[str, int] | None = None, line: int = 1, column: int = 1
) -> int:
    """The word of one instruction (without its control word, reuse flags included).

    `labels` maps label names to addresses.  Raises AsmError at the place where no form of the mnemonic goes on.
    """
    names = labels or {}
    source = text.rstrip()
    if source.endswith(("INF", "NAN")):
        source += " "
    guard_bits = 7
    guard_up = False
    at = 0
    g = _GUARD.match(source)
    if g is not None:
        guard_bits = (7 if g.group(3) == "T" else int(g.group(3))) | (8 if g.group(1) else 0)
        guard_up = g.group(2) == "U"
        at = g.end()
    end = at
    while end < len(source) and source[end] not in " \t":
        end += 1
    mnemonic = source[at:end].split(".")[0]
    forms = sorted(table.raw.of_mnemonic(mnemonic), key=lambda f: -f.seen)
    if not forms:
        raise AsmError(f"{table.name} has no instruction {mnemonic or text!r}", line, column + at)
    furthest = at + len(mnemonic)
    for form in forms:
        if g is not None and form.guard_up != guard_up:
            continue
        matcher = _Matcher(form, source, pc, names)
        states = matcher.modifiers(at + len(mnemonic), end)
        first = True
        for o in form.operands:
            after: list[State] = []
            gap = " " if first else ", "
            for mask, val, pos in states:
                if source.startswith(gap, pos):
                    after.extend(matcher.operand(o, (mask, val, pos + len(gap))))
            states = after
            first = False
        furthest = max(furthest, matcher.furthest)
        for mask, val, pos in states:
            if pos != len(source):
                continue
            word = val | guard_bits << 12
            mods = source[at + len(mnemonic) + 1 : end]
            hidden = form.default_by_mods.get(mods, form.default) & form.hidden & ~(mask | 15 << 12)
            word |= hidden & (1 << CTL_SHIFT) - 1
            if form.matches(word) and table.form(word | DEFAULT_CONTROL << CTL_SHIFT) is form:
                return word
    column += min(furthest, len(source))
    raise AsmError(f"no form of {mnemonic} reads {source[furthest:].strip() or 'this'!r} here", line, column)


def control_word(text: str) -> tuple[int, int] | None:
    """(21-bit control word, bits to flip) of a control comment; None if the text is none."""
    m = _CONTROL.search(text)
    if m is None:
        return None
    waits = sum(1 << i for i, c in enumerate(m.group(1)) if c != "-")
    read = 7 if m.group(2) == "-" else int(m.group(2))
    write = 7 if m.group(3) == "-" else int(m.group(3))
    sched = 0 if m.group(4) == "Y" else 16
    ctl = int(m.group(5)) | sched | write << 5 | read << 8 | waits << 11 | int(m.group(6) or "0", 16) << 17
    return ctl, int(m.group(7) or "0", 16)


_SECTION: Final = re.compile(r"\s*\.section\s+([^,\s]+)")
_NAME: Final = re.compile(r"\s*([.$\w]+):\s*$")
_ADDRESS: Final = re.compile(r"\s*/\*[0-9a-f]{4,}\*/")
_DIRECTIVES: Final = (
    ".target", ".elftype", ".sectioninfo", ".sectionflags", ".align", ".global", ".weak", ".type", ".size", ".other",
)  # fmt: skip


def assemble(text: str, table: str | IsaTable) -> dict[str, bytes]:
    """The code of every section of a listing (``.text`` if it names none).  Raises AsmError with line and column."""
    t = load(table) if isinstance(table, str) else table
    section = ".text"
    items: dict[str, list[tuple[int, int, str]]] = {}
    labels: dict[str, dict[str, int]] = {}
    for number, row in enumerate(text.splitlines(), 1):
        body = row.strip()
        if not body or body.startswith(("//", *_DIRECTIVES)) or re.fullmatch(r"/\* 0x[0-9a-f]{16} \*/", body):
            continue
        m = _SECTION.match(row)
        if m is not None:
            section = m.group(1)
            continue
        m = _NAME.match(row)
        if m is not None:
            labels.setdefault(section, {})[m.group(1)] = len(items.get(section, [])) * INST_BYTES
            continue
        m = _ADDRESS.match(row)
        start = m.end() if m is not None else 0
        while start < len(row) and row[start] in " \t":
            start += 1
        items.setdefault(section, []).append((number, start, row))
    out: dict[str, bytes] = {}
    for name, rows in items.items():
        code = bytearray()
        for number, start, row in rows:
            code += _assemble_row(row, start, number, t, len(code), labels.get(name, {})).to_bytes(16, "little")
        out[name] = bytes(code)
    return out


def _assemble_row(row: str, start: int, number: int, t: IsaTable, pc: int, labels: dict[str, int]) -> int:
    semicolon = row.find(";", start)
    if semicolon < 0:
        raise AsmError("an instruction ends with a semicolon", number, len(row.rstrip()) + 1)
    text = row[start:semicolon]
    comment = text.find("(*")
    if comment >= 0:
        text = text[:comment]
    word = assemble_instruction(text, t, pc, labels, number, start + 1)
    found = control_word(row[semicolon:])
    ctl, flips = found if found is not None else (DEFAULT_CONTROL, 0)
    return (word | ctl << CTL_SHIFT) ^ flips
