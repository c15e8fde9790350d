"""Assembles one instruction text into its word, with the same forms as the printer.

The *shape* of a text is the text without its numbers (``IADD3 R#, R#.reuse, #, RZ``).  The forms that match a shape,
with the positions of the numbers, are computed once and cached; to assemble a text is then a look-up and a few shifts.
The candidates depend on the shape alone and have a fixed order, so the word of a text does not depend on earlier texts.
"""

import re
from typing import Final, final

from orias.isa.float_text import float_bits
from orias.isa.isa_table import CTL_SHIFT, IsaTable
from orias.isa.notation import H_CONST, H_FIELD, H_FLOAT, H_SET, H_SUM, Elem, Operand, Piece
from orias.isa.rawtable import Form
from orias.tools.hints import near_forms, near_mnemonics

INST_BYTES: Final = 16
DEFAULT_CONTROL: Final = 15 | 7 << 5 | 7 << 8
"""The control word of a text without one: stall 15, no barriers."""
_SHOWN: Final = 18 | 7 << 5 | 7 << 8
"""A control word with which the printer shows reuse flags."""
HIDDEN_DESCRIPTOR: Final = 4
"""Uniform register of a descriptor that the text does not name (sm_80 to sm_89); the one that ptxas uses most."""
_KEPT: Final = 200_000
"""Largest number of cached shapes per table."""


class AsmError(Exception):
    """A text that cannot be assembled; ``line`` and ``column`` start at 1."""

    def __init__(self, message: str, line: int, column: int) -> None:
        self.message: str = message
        self.line: int = line
        self.column: int = column
        super().__init__(f"line {line}, column {column}: {message}")


_GUARD: Final = re.compile(r"@(!?)(U?)P(T|\d)\s+")
_VALUE: Final = re.compile(
    r"(?<![\w.$])(UR|UP|R|P|SB|B)(\d+)(?!\w)"
    r"|(?<![\w.$])([+-](?:INF|QNAN|SNAN)\b ?|-0\.0(?![\w.]) ?|-?0x[0-9a-f]+|-?\d+(?:\.\d+)?(?:e[+-]?\d+)?(?![\w.]))"
    r"|`\(([^)]*)\)"
    r"|(\{\d(?:,\d)*\})"
)
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
"""Characters of no listing; the next four stand for what a shape leaves open."""
_NUMBER: Final = "\x01"
_REGISTER: Final = "\x02"
_LABEL: Final = "\x03"
_SET: Final = "\x04"
_ZERO: Final = {"R": "RZ", "U": "URZ", "P": "PT", "Q": "UPT"}
_PREFIX: Final = {"R": "R", "U": "UR", "P": "P", "Q": "UP", "B": "B", "D": "SB"}

Move = tuple[Elem, int]
"""An element and the index of its value."""
State = tuple[int, int, int, tuple[Move, ...]]
"""(fixed bits, their values, position in the shape, moves so far)."""


@final
class _Candidate:
    """A form that matches a shape: the bits that the shape fixes, and the elements of its values."""

    __slots__ = ("form", "hidden", "mask", "moves", "plain", "rest", "val")

    def __init__(self, form: Form, mask: int, val: int, moves: tuple[Move, ...], modifiers: str) -> None:
        self.form: Final[Form] = form
        self.val: Final[int] = val
        self.moves: Final[tuple[Move, ...]] = moves
        self.plain: Final[list[tuple[int, int, int]]] = []
        """(value, low bit, limit) of register numbers whose fields hold nothing else."""
        self.rest: Final[list[Move]] = []
        for e, i in moves:
            field = (1 << e.width) - 1 << e.lo
            if e.kind in _PREFIX and e.how == H_FIELD and e.scale == 1 and not e.signed and not field & mask:
                self.plain.append((i, e.lo, 1 << e.width))
                mask |= field
            else:
                self.rest.append((e, i))
        self.mask: Final[int] = mask
        self.hidden: Final[int] = form.default_by_mods.get(modifiers, form.default) & form.hidden & (1 << CTL_SHIFT) - 1


@final
class _Reading:
    """The candidates of a shape, and the furthest position in it that any form of the mnemonic matched."""

    __slots__ = ("candidates", "furthest")

    def __init__(self, candidates: list[_Candidate], furthest: int) -> None:
        self.candidates: Final[list[_Candidate]] = candidates
        self.furthest: Final[int] = furthest


@final
class _Matcher:
    """Matches a shape against one form."""

    __slots__ = ("form", "furthest", "index", "shape")

    def __init__(self, form: Form, shape: str, index: dict[int, int]) -> None:
        self.form: Final[Form] = form
        self.shape: Final[str] = shape
        self.index: Final[dict[int, int]] = index
        """Position in the shape -> index of its value."""
        self.furthest: int = 0

    def pieces(self, pieces: list[Piece], states: list[State]) -> list[State]:
        """States after adjacent pieces."""
        for p in pieces:
            after: list[State] = []
            for mask, val, at, moves in states:
                if not p.bits:
                    if self.shape.startswith(p.text, at):
                        after.append((mask, val, at + len(p.text), moves))
                    continue
                first = len(after)
                for v, t in p.values.items():
                    w = p.place(v)
                    if not (w ^ val) & mask & p.mask and self.shape.startswith(t, at):
                        item = (mask | p.mask, val | w, at + len(t), moves)
                        if w == self.form.prefer & p.mask:
                            after.insert(first, item)
                        else:
                            after.append(item)
            states = after
        return self._seen(states)

    def _seen(self, states: list[State]) -> list[State]:
        for s in states:
            self.furthest = max(self.furthest, s[2])
        return states

    def modifiers(self, at: int, end: int) -> list[State]:
        """States at `end` after the modifiers between `at` and `end` (each with its dot)."""
        states: list[State] = [(self.form.mask, self.form.val, at, ())]
        for p in self.form.mods:
            after: list[State] = []
            for mask, val, pos, moves in states:
                options = p.values.items() if p.bits else ((0, p.text),)
                first = len(after)
                for v, t in options:
                    w = p.place(v) if p.bits else 0
                    if (w ^ val) & mask & p.mask:
                        continue
                    if t and not (self.shape.startswith("." + t, pos) and pos + 1 + len(t) <= end):
                        continue
                    if t and pos + 1 + len(t) < end and self.shape[pos + 1 + len(t)] != ".":
                        continue
                    item = (mask | p.mask, val | w, pos + (1 + len(t) if t else 0), moves)
                    if w == self.form.prefer & p.mask:
                        after.insert(first, item)
                    else:
                        after.append(item)
            states = self._seen(after)
        return self._seen([s for s in states if s[2] == end])

    def operand(self, o: Operand, state: State) -> list[State]:
        """States after an operand."""
        out: list[State] = []
        for mask, val, at, moves in self.pieces(o.pre, [state]):
            barred = "|" in self.shape[state[2] : at]
            states: list[State] = [(mask, val, at, moves)]
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
                    states = [(m, v, p + 1, x) for m, v, p, x in states if self.shape.startswith(sk[i], p)]
                    i += 1
            states = self.pieces(o.post, self._seen(states))
            if barred and not single:
                states = [(m, v, p + 1, x) for m, v, p, x in states if self.shape.startswith("|", p)]
            out.extend(states)
        return out

    def element(self, e: Elem, state: State, barred: bool) -> list[State]:
        """States after one element."""
        mask, val, at, moves = state
        kind = e.kind
        if e.hidden:
            put = put_value(e, HIDDEN_DESCRIPTOR, mask, val)
            return [] if put is None else [(put[0], put[1], at, moves)]
        if kind == "W":
            return self.pieces(e.pieces, [state])
        if kind in "SILF":
            marks = _SET if kind == "S" else _NUMBER + _LABEL if kind == "L" else _NUMBER
            if at >= len(self.shape) or self.shape[at] not in marks:
                return []
            return [(mask, val, at + 1, (*moves, (e, self.index[at])))]
        prefix = _PREFIX[kind]
        zero = _ZERO.get(kind)
        if self.shape.startswith(prefix + _REGISTER, at):
            at += len(prefix)
            states: list[State] = [(mask, val, at + 1, (*moves, (e, self.index[at])))]
        elif zero is not None and self.shape.startswith(zero, at):
            number = 7 if kind in "PQ" else (1 << e.width) - 1 if kind == "U" and e.how == H_FIELD else 255
            put = put_value(e, number, mask, val)
            states = [] if put is None else [(put[0], put[1], at + len(zero), moves)]
        else:
            return []
        out: list[State] = []
        for start in states:
            # |R1|.reuse.H0_H0, |R1.H1|.reuse, R1.reuse.H0_H0, R1.H1.reuse: the bar is where the printer writes it.
            if barred:
                bar_first = [_step(start, 1)] if self.shape.startswith("|", start[2]) else []
                out.extend(self.pieces(e.suf, [self._reuse(e, s) for s in bar_first]))
                after = [_step(s, 1) for s in self.pieces(e.suf, [start]) if self.shape.startswith("|", s[2])]
                out.extend(self._reuse(e, s) for s in after)
            else:
                out.extend(self.pieces(e.suf, [self._reuse(e, start)]))
        return out

    def _reuse(self, e: Elem, s: State) -> State:
        if e.reuse >= 0 and self.shape.startswith(".reuse", s[2]):
            return s[0], s[1] | 1 << e.reuse, s[2] + 6, s[3]
        return s


def _step(s: State, n: int) -> State:
    return s[0], s[1], s[2] + n, s[3]


def put_value(e: Elem, value: int, mask: int, val: int) -> tuple[int, int] | None:
    """(fixed bits, their values) with a number stored; None if it does not fit or conflicts with them."""
    if e.how == H_CONST:
        return (mask, val) if value == e.const else None
    if e.how in (H_FIELD, H_FLOAT, H_SET):
        scaled = value if e.scale == 1 else value // e.scale
        if scaled * e.scale != value:
            return None
        top = 1 << e.width
        if scaled >= top or (scaled < 0 and (not e.signed or scaled < -(top >> 1))):
            return None
        field = top - 1 << e.lo
        w = (scaled & top - 1) << e.lo
        return None if (w ^ val) & mask & field else (mask | field, val | w)
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
                return None
        return None if (w ^ val) & mask & field else (mask | field, val | w)
    return None


def _number(e: Elem, token: str, pc: int, labels: dict[str, int]) -> int | None:
    """The number of a token for an element; None if the token has none."""
    kind = e.kind
    if kind == "L":
        target = labels.get(token[2:-1]) if token[0] == "`" else int(token, 16) if "0x" in token else None
        return None if target is None else target - pc - INST_BYTES
    if kind == "I":
        return None if "." in token or ("e" in token.replace("0x", "") and "0x" not in token) else _integer(token)
    if kind == "F":
        if e.how != H_FLOAT:
            return e.const if token == str(e.const) else None
        try:
            return float_bits(e.fkind, token.strip())
        except (ValueError, OverflowError):
            return None
    if kind == "S":
        value = 0
        for k in token[1:-1].split(","):
            value |= 1 << int(k)
        return value
    return int(token)


def _integer(token: str) -> int | None:
    try:
        return int(token, 0)
    except ValueError:
        return None


_known: dict[str, dict[str, _Reading]] = {}
_operands: dict[str, tuple[str, list[str]]] = {}
"""(shape, values) of operand texts."""


def _read(table: IsaTable, shape: str, guard_up: bool | None, end: int, index: dict[int, int]) -> _Reading:
    """The candidates of a shape; `end` is the end of its modifiers."""
    mnemonic = shape[:end].split(".")[0]
    out: list[_Candidate] = []
    furthest = len(mnemonic)
    modifiers = shape[len(mnemonic) + 1 : end]
    for form in sorted(table.raw.of_mnemonic(mnemonic), key=lambda f: (f.skips != "", -f.seen)):
        if guard_up is not None and form.guard_up != guard_up:
            continue
        matcher = _Matcher(form, shape, index)
        states = matcher.modifiers(len(mnemonic), end)
        first = True
        for o in form.operands:
            after: list[State] = []
            gap = " " if first else ", "
            for s in states:
                if shape.startswith(gap, s[2]):
                    after.extend(matcher.operand(o, _step(s, len(gap))))
            states = after
            first = False
        furthest = max(furthest, matcher.furthest)
        out.extend(_Candidate(form, s[0], s[1], s[3], modifiers) for s in states if s[2] == len(shape))
    return _Reading(out, furthest)


def _shape(body: str) -> tuple[str, list[str], dict[int, int], list[int]]:
    """(shape, values, index of the value by position in the shape, position of each value in the text) of operands."""
    parts: list[str] = []
    values: list[str] = []
    index: dict[int, int] = {}
    starts: list[int] = []
    at = size = 0
    for m in _VALUE.finditer(body):
        kind = m.lastindex
        start = m.start(2) if kind == 2 else m.start()
        parts.append(body[at:start])
        size += start - at
        index[size] = len(values)
        starts.append(m.start())
        values.append(m.group(2) if kind == 2 else m.group())
        parts.append(_REGISTER if kind == 2 else _NUMBER if kind == 3 else _LABEL if kind == 4 else _SET)
        size += 1
        at = m.end()
    parts.append(body[at:])
    return "".join(parts), values, index, starts


def assemble_instruction(
    text: str, table: IsaTable, pc: int = 0, labels: dict[str, int] | None = None, line: int = 1, column: int = 1
) -> int:
    """The word of one instruction (without its control word, reuse flags included).

    `labels` maps label names to addresses.  Raises AsmError at the first position where no form of the mnemonic
    matches, with the nearest forms.
    """
    names = labels or {}
    source = text.rstrip()
    strange = _CONTROL.search(source)
    if strange is not None:
        raise AsmError(f"a control character, {strange.group()!r}", line, column + strange.start())
    guard_bits = 7
    guard_up: bool | None = None
    at = 0
    if source.startswith("@"):
        g = _GUARD.match(source)
        if g is not None:
            guard_bits = (7 if g.group(3) == "T" else int(g.group(3))) | (8 if g.group(1) else 0)
            guard_up = g.group(2) == "U"
            at = g.end()
    space = source.find(" ", at)
    end = len(source) if space < 0 else space
    body = source[end:]
    shape = ""
    values: list[str] = []
    for operand in body.split(", "):
        known = _operands.get(operand)
        if known is None:
            if len(_operands) > _KEPT:
                _operands.clear()
            found = _shape(operand)
            known = _operands[operand] = (found[0], found[1])
        shape += known[0] + ","
        values += known[1]
    head = source[at:end]
    shapes = _known.setdefault(table.name, {})
    key = f"{'' if guard_up is None else 'U' if guard_up else 'P'}@{head}{shape}"
    reading = shapes.get(key)
    if reading is None:
        if len(shapes) > _KEPT:
            shapes.clear()
        whole, _, index, _ = _shape(body)
        reading = _read(table, head + whole, guard_up, len(head), {p + len(head): i for p, i in index.items()})
        shapes[key] = reading
    for c in reading.candidates:
        mask, val = c.mask, c.val
        for i, lo, limit in c.plain:
            register = int(values[i])
            if register >= limit:
                break
            val |= register << lo
        else:
            for e, i in c.rest:
                number = _number(e, values[i], pc, names)
                put = None if number is None else put_value(e, number, mask, val)
                if put is None:
                    break
                mask, val = put
            else:
                word = val | guard_bits << 12 | c.hidden & ~(mask | 15 << 12)
                if c.form.matches(word) and table.form(word | _SHOWN << CTL_SHIFT) is c.form:
                    return word
    raise _refusal(table, source, at, end, reading, values, _shape(body)[3], names, line, column)


def _refusal(
    table: IsaTable,
    source: str,
    at: int,
    end: int,
    reading: _Reading,
    values: list[str],
    starts: list[int],
    labels: dict[str, int],
    line: int,
    column: int,
) -> AsmError:
    """The error for a text that matches no form, at the wrong position."""
    mnemonic = source[at:end].split(".")[0]
    if not table.raw.of_mnemonic(mnemonic):
        hint = near_mnemonics(table, mnemonic)
        return AsmError(f"{table.name} has no instruction {mnemonic or source!r}{hint}", line, column + at)
    for c in reading.candidates[:1]:
        for e, i in c.moves:
            token = values[i]
            number = _number(e, token, 0, labels)
            place = column + end + starts[i]
            if number is None and e.kind == "L" and token[0] == "`":
                return AsmError(f"there is no label {token[2:-1]}", line, place)
            if number is None or (e.kind != "L" and put_value(e, number, 0, 0) is None):
                return AsmError(f"{token.strip()} does not fit its field{_range(e)}", line, place)
    furthest = _position(source, at, end, reading.furthest, values)
    if reading.candidates:
        return AsmError(
            f"the operands of {mnemonic} do not go together{near_forms(table, source[at:])}", line, column + at
        )
    rest = source[furthest:].strip() or "the end"
    message = f"no form of {mnemonic} reads {rest!r} here{near_forms(table, source[at:])}"
    return AsmError(message, line, column + min(furthest, len(source)))


def _range(e: Elem) -> str:
    if e.how != H_FIELD or e.kind != "I":
        return ""
    low = -(1 << e.width - 1) * e.scale if e.signed else 0
    high = ((1 << e.width) - 1) * e.scale
    return f" ({hex(low)} to {hex(high)}" + (f", multiples of {e.scale})" if e.scale > 1 else ")")


def _position(source: str, at: int, end: int, furthest: int, values: list[str]) -> int:
    """The position in the text of a position in its shape."""
    head = end - at
    if furthest <= head:
        return at + furthest
    shape, _, index, _ = _shape(source[end:])
    place = furthest - head
    return at + furthest + sum(len(values[i]) - 1 for p, i in index.items() if p < min(place, len(shape)))
