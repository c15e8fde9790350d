"""Constant expressions: 64-bit integers and doubles, with the operators and the precedence of C.

Facts: docs/facts/front-end.md (constant expressions).
"""

import struct
from typing import Final, final

from orias.ptx.lexer import (
    MASK64,
    T_DOT,
    T_FLOAT,
    T_IDENT,
    T_INT,
    T_PUNCT,
    float_bits,
    int_value,
    overflows,
)
from orias.ptx.parser_state import MOST_SYMBOLS, State

_LEVEL: Final[dict[str, int]] = {
    "||": 1, "&&": 2, "|": 3, "^": 4, "&": 5, "==": 6, "!=": 6, "<": 7, ">": 7, "<=": 7, ">=": 7,
    "<<": 8, ">>": 8, "+": 9, "-": 9, "*": 10, "/": 10, "%": 10,
}  # fmt: skip

WARP_SIZE: Final = 32


class Const:
    """A constant: ``type`` is "int", "f32" or "f64"; ``value`` the integer (signed or unsigned) or the bit pattern."""

    __slots__ = ("type", "unsigned", "value")

    def __init__(self, value: int, type_: str, unsigned: bool = False) -> None:
        self.value: int = value
        self.type: str = type_
        self.unsigned: bool = unsigned

    def number(self) -> float:
        """The value of a float constant; a single counts as the double with its bits (measured)."""
        result: float = struct.unpack("<d", struct.pack("<Q", self.value & MASK64))[0]
        return result


def signed(value: int) -> int:
    """The lower 64 bits of a number as a signed integer."""
    value &= MASK64
    return value - (1 << 64) if value >> 63 else value


def _wrap(value: int, unsigned: bool) -> Const:
    return Const(value & MASK64 if unsigned else signed(value), "int", unsigned)


def _double(value: float) -> Const:
    bits: int = struct.unpack("<Q", struct.pack("<d", value))[0]
    return Const(bits, "f64")


def starts_constant(state: State) -> bool:
    """Whether the current token can begin a constant expression."""
    lex = state.lex
    if lex.kind in (T_INT, T_FLOAT):
        return True
    if lex.kind == T_PUNCT:
        return lex.text in "-+~!("
    return lex.kind == T_IDENT and lex.text == "WARP_SZ"


@final
class _Mark:
    """Something that waits for its operand: a binary operator, a sign, a cast, or one of ``(``, ``?`` and ``:``."""

    __slots__ = ("level", "text")

    def __init__(self, text: str, level: int) -> None:
        self.text: Final[str] = text
        self.level: Final[int] = level
        """Precedence of a binary operator; _SIGN; 0 for a mark that only its partner ends."""


_SIGN: Final = 11


def constant(state: State) -> Const:
    """Reads a constant expression."""
    lex = state.lex
    marks: list[_Mark] = []
    values: list[Const] = []
    symbols = 0
    """Symbols on the stack of a parser such as that of ptxas."""
    while True:
        symbols += _opening(state, marks)
        if symbols > MOST_SYMBOLS:
            state.exhausted()
        single = lex.kind == T_FLOAT and lex.text[1] in "fF"
        if single and marks and marks[-1].text not in ("(", "?"):
            state.syntax()
        values.append(_primary(state))
        if single and lex.kind == T_PUNCT and (lex.text in _LEVEL or lex.text == "?"):
            state.syntax()  # a single may stand in parentheses, but in no expression
        _close(state, marks, values, _SIGN)
        while lex.kind == T_PUNCT and lex.text == ")" and _reaches(state, marks, values, "("):
            lex.next()
            marks.pop()
            symbols -= 1
            _close(state, marks, values, _SIGN)
        level = _LEVEL.get(lex.text, 0) if lex.kind == T_PUNCT else 0
        if level:
            _close(state, marks, values, level)
            marks.append(_Mark(lex.text, level))
        elif lex.kind == T_PUNCT and lex.text == "?":
            _close(state, marks, values, 1)
            marks.append(_Mark("?", 0))
        elif lex.kind == T_PUNCT and lex.text == ":" and _reaches(state, marks, values, "?"):
            marks.append(_Mark(":", 0))
        else:
            _reaches(state, marks, values, "")
            if marks:
                state.syntax()
            return values[0]
        symbols = len(marks) + len(values)
        lex.next()


def _opening(state: State, marks: list[_Mark]) -> int:
    """Reads the signs, casts and parentheses before a value; returns the symbols that they are."""
    lex = state.lex
    symbols = 0
    while lex.kind == T_PUNCT and lex.text in ("-", "+", "~", "!", "("):
        text = lex.text
        lex.next()
        if text == "(" and lex.kind == T_DOT:
            text = lex.text
            lex.next()
            state.punct(")")
            marks.append(_Mark(text, _SIGN))
            symbols += 4
        else:
            marks.append(_Mark(text, 0 if text == "(" else _SIGN))
            symbols += 1 if text == "(" else 2
    return symbols


def _close(state: State, marks: list[_Mark], values: list[Const], level: int) -> None:
    """Applies the operators and signs at the end that bind at least as strongly as ``level``."""
    while marks and marks[-1].level >= level:
        mark = marks.pop()
        if mark.level == _SIGN:
            values[-1] = _signed_value(state, mark.text, values[-1])
        else:
            right = values.pop()
            values[-1] = _apply(state, mark.text, values[-1], right)


_NO_INTEGER: Final = "Integer constant expression expected"


def _reaches(state: State, marks: list[_Mark], values: list[Const], wanted: str) -> bool:
    """Applies what waits, choices too, and tells whether the mark before is the wanted one."""
    _close(state, marks, values, 1)
    while marks and marks[-1].text == ":":
        del marks[-2:]
        no = values.pop()
        yes = values.pop()
        for value in (values[-1], yes, no):
            if value.type != "int":
                state.error(_NO_INTEGER, state.lex.line)
        values[-1] = yes if values[-1].value else no
        _close(state, marks, values, 1)
    return bool(marks) and marks[-1].text == wanted


_DOUBLES: Final = frozenset(("+", "-", "*", "/"))
_COMPARISONS: Final = frozenset(("==", "!=", "<", ">", "<=", ">="))
_ZERO: Final = "Constant expression has division by zero"


def _apply(state: State, operator: str, a: Const, b: Const) -> Const:
    if a.type != "int" or b.type != "int":
        return _apply_doubles(state, operator, a, b)
    unsigned = a.unsigned or b.unsigned
    x_int = a.value & MASK64 if unsigned else a.value
    y_int = b.value & MASK64 if unsigned else b.value
    if operator == "+":
        return _wrap(x_int + y_int, unsigned)
    if operator == "-":
        return _wrap(x_int - y_int, unsigned)
    if operator == "*":
        return _wrap(x_int * y_int, unsigned)
    if operator in "/%":
        if y_int == 0:
            state.fatal(_ZERO, state.lex.line)
        if operator == "%":
            return _wrap((x_int & MASK64) % (y_int & MASK64), True)
        quotient = abs(x_int) // abs(y_int)
        return _wrap(-quotient if (x_int < 0) != (y_int < 0) else quotient, unsigned)
    if operator == "<<":
        return _wrap(a.value << (b.value & 63), a.unsigned)
    if operator == ">>":
        return _wrap(((a.value & MASK64) if a.unsigned else a.value) >> (b.value & 63), a.unsigned)
    if operator == "&":
        return _wrap(a.value & b.value, unsigned)
    if operator == "|":
        return _wrap(a.value | b.value, unsigned)
    if operator == "^":
        return _wrap(a.value ^ b.value, unsigned)
    truth = {
        "==": x_int == y_int, "!=": x_int != y_int, "<": x_int < y_int, ">": x_int > y_int,
        "<=": x_int <= y_int, ">=": x_int >= y_int, "&&": x_int != 0 and y_int != 0, "||": x_int != 0 or y_int != 0,
    }[operator]  # fmt: skip
    return Const(int(truth), "int")


def _apply_doubles(state: State, operator: str, a: Const, b: Const) -> Const:
    """Applies an operator to operands of which one at least is a float.

    After a message the operation is that of the left operand's type, or of integers, on the bits of both (measured).
    """
    if (a.type == "int") != (b.type == "int"):
        state.error("Constant expression type mismatch", state.lex.line)
    if operator not in _DOUBLES and operator not in _COMPARISONS:
        for value in (a, b):
            if value.type != "int":
                state.error(_NO_INTEGER, state.lex.line)
        return _apply(state, operator, _as_integer(a), _as_integer(b))
    if a.type == "int":
        return _apply(state, operator, a, _as_integer(b))
    x = a.number()
    y = b.number()
    if operator in _COMPARISONS:
        return Const(int(_compare(operator, x, y)), "int")
    if operator == "/":
        if y == 0:
            state.fatal(_ZERO, state.lex.line)
        return _double(x / y)
    return _double(x + y if operator == "+" else x - y if operator == "-" else x * y)


def _as_integer(value: Const) -> Const:
    """The bits of a constant as a signed integer."""
    return value if value.type == "int" else _wrap(value.value, False)


def _compare(operator: str, x: float, y: float) -> bool:
    match operator:
        case "==":
            return x == y
        case "!=":
            return x != y
        case "<":
            return x < y
        case ">":
            return x > y
        case "<=":
            return x <= y
        case _:
            return x >= y


def _signed_value(state: State, mark: str, value: Const) -> Const:
    """A value with a sign or a cast before it."""
    if mark[0] == ".":
        if value.type != "int":
            state.error(_NO_INTEGER, state.lex.line)
        if mark not in (".s64", ".u64"):
            state.error("Unsupported cast operation", state.lex.line)
        return _wrap(value.value, mark == ".u64")
    if value.type != "int":
        if mark == "-":
            return Const(value.value ^ (1 << 63), "f64")
        if mark == "+":
            return value
        state.error(_NO_INTEGER, state.lex.line)
    if mark == "-":
        return _wrap(-value.value, value.unsigned)
    if mark == "~":
        return _wrap(~value.value, True)
    if mark == "!":
        return Const(int(value.value == 0), "int")
    return value


def _primary(state: State) -> Const:
    lex = state.lex
    if lex.kind == T_INT:
        text = lex.text
        try:
            value = int_value(text)
        except ValueError:
            state.syntax()
        lex.next()
        return Const(value, "int", text[-1] == "U" or value >> 63 != 0)
    if lex.kind == T_FLOAT:
        state.check_float()
        bits, type_ = float_bits(lex.text)
        lex.next()
        return Const(bits, type_)
    if lex.kind == T_IDENT and lex.text == "WARP_SZ":
        lex.next()
        return Const(WARP_SIZE, "int")
    return state.syntax()


def plain_value(state: State) -> int:
    """Reads a plain number: no expression may stand in its place."""
    lex = state.lex
    if lex.kind != T_INT and not (lex.kind == T_IDENT and lex.text == "WARP_SZ"):
        state.syntax()
    if lex.kind == T_INT and overflows(lex.text):
        # Reported by the lexer, and the largest number from then on.
        lex.next()
        return (1 << 64) - 1
    return _primary(state).value


_WORD: Final = (1 << 32) - 1


def word_value(state: State) -> int:
    """Reads a plain number of at most 32 bits, as the numbers of directives are; larger ones are reported and cut."""
    line = state.lex.line
    value = plain_value(state)
    if value > _WORD and value >> 63 == 0:
        state.error("Constant overflow", line)
    return value & _WORD


def integer(state: State) -> int:
    """Reads a constant expression that must be an integer."""
    lex = state.lex
    if lex.kind == T_FLOAT and lex.text[:2] in ("0f", "0F"):
        lex.next()  # it stands alone
        state.error(_NO_INTEGER, lex.line)
        return 0
    value = constant(state)
    if value.type != "int":
        state.error(_NO_INTEGER, state.lex.line)
        return 0
    return value.value
