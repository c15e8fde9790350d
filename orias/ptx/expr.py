"""Constant expressions: 64-bit integers and doubles, with the operators and the precedence of C.

Facts: docs/facts/front-end.md (constant expressions).
"""

import struct
from typing import Final

from orias.ptx.lexer import MASK64, T_DOT, T_FLOAT, T_IDENT, T_INT, T_PUNCT, f32_to_f64_bits, float_bits, int_value
from orias.ptx.parser_state import MAX_NESTING, State

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
        """The value of a float constant."""
        bits = self.value if self.type == "f64" else f32_to_f64_bits(self.value)
        result: float = struct.unpack("<d", struct.pack("<Q", bits))[0]
        return result


def _signed(value: int) -> int:
    value &= MASK64
    return value - (1 << 64) if value >> 63 else value


def _wrap(value: int, unsigned: bool) -> Const:
    return Const(value & MASK64 if unsigned else _signed(value), "int", unsigned)


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
    if lex.kind == T_DOT:
        return lex.text[1:].isdigit()
    return lex.kind == T_IDENT and lex.text == "WARP_SZ"


def constant(state: State, depth: int = 0) -> Const:
    """Reads a constant expression."""
    if depth > MAX_NESTING // 2:
        state.syntax()
    value = _binary(state, 1, depth)
    if state.take("?"):
        yes = constant(state, depth + 1)
        state.punct(":")
        no = constant(state, depth + 1)
        return yes if value.value else no
    return value


def _binary(state: State, level: int, depth: int) -> Const:
    left = _unary(state, depth)
    lex = state.lex
    while lex.kind == T_PUNCT:
        found = _LEVEL.get(lex.text, 0)
        if found < level or found == 0:
            break
        operator = lex.text
        lex.next()
        if depth > MAX_NESTING // 2:
            state.syntax()
        right = _binary(state, found + 1, depth + 1)
        left = _apply(state, operator, left, right)
    return left


def _apply(state: State, operator: str, a: Const, b: Const) -> Const:
    if a.type != "int" or b.type != "int":
        if a.type != "int" and b.type != "int" and operator in "+-*":
            x = a.number()
            y = b.number()
            return _double(x + y if operator == "+" else x - y if operator == "-" else x * y)
        state.error("Constant expression type mismatch", state.lex.line)
        return Const(0, "none")
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
            state.fatal("Constant expression has division by zero", state.lex.line)
        quotient = abs(x_int) // abs(y_int)
        if (x_int < 0) != (y_int < 0):
            quotient = -quotient
        return _wrap(quotient if operator == "/" else x_int - quotient * y_int, unsigned)
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


def _unary(state: State, depth: int) -> Const:
    lex = state.lex
    marks: list[str] = []
    while lex.kind == T_PUNCT and lex.text in ("-", "+", "~", "!"):
        if len(marks) > MAX_NESTING:
            state.syntax()
        marks.append(lex.text)
        lex.next()
    value = _primary(state, depth)
    for mark in reversed(marks):
        if value.type != "int":
            if mark == "-":
                top = 63 if value.type == "f64" else 31
                value = Const(value.value ^ (1 << top), value.type)
            elif mark != "+":
                state.syntax()
        elif mark == "-":
            value = _wrap(-value.value, value.unsigned)
        elif mark == "~":
            value = _wrap(~value.value, value.unsigned)
        elif mark == "!":
            value = Const(int(value.value == 0), "int")
    return value


def _primary(state: State, depth: int) -> Const:
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
        bits, type_ = float_bits(lex.text)
        lex.next()
        return Const(bits, type_)
    if lex.kind == T_IDENT and lex.text == "WARP_SZ":
        lex.next()
        return Const(WARP_SIZE, "int")
    if lex.kind == T_DOT and lex.text[1:].isdigit():
        bits, type_ = float_bits("0" + lex.text)
        lex.next()
        return Const(bits, type_)
    if not state.take("("):
        state.syntax()
    if depth > MAX_NESTING // 2:
        state.syntax()
    if lex.kind == T_DOT:
        cast = lex.text
        line = lex.line
        lex.next()
        state.punct(")")
        if cast not in (".s64", ".u64"):
            state.error("Unsupported cast operation", line)
        value_ = _unary(state, depth + 1)
        if value_.type != "int":
            state.syntax()
        return _wrap(value_.value, cast == ".u64")
    inner = constant(state, depth + 1)
    state.punct(")")
    return inner


def integer(state: State) -> int:
    """Reads a constant expression that must be an integer."""
    value = constant(state)
    if value.type != "int":
        state.syntax()
    return value.value
