"""Reads initialisers of variables: nested braces, numbers, addresses, byte masks.

Facts: docs/facts/front-end.md (initialisers).
"""

import re
from typing import Final, NoReturn

from orias.ptx.ast import Function, SymInit, Var
from orias.ptx.declaration_words import element_bytes
from orias.ptx.expr import Const, constant, integer, starts_constant
from orias.ptx.lexer import MASK64, T_IDENT, T_PUNCT, f32_to_f64_bits, f64_to_f32_bits
from orias.ptx.parser_state import State

_MASKS: Final = frozenset([0xFF << 8 * k for k in range(8)])
"""Byte masks of addresses; each selects one byte."""
_INT_LIST: Final = r"(?a)\s*\{([-0-9xXa-fA-F,U \t\r\n]*)\}"


def initialiser(state: State, var: Var) -> None:
    """Reads the initialiser of a variable and gives an unsized array its size."""
    lex = state.lex
    size = element_bytes(var.type)
    items: list[tuple[int, int | SymInit]] = []
    unsized = bool(var.dims) and var.dims[0] == 0
    if var.type in ("f16", "f16x2"):
        state.fatal(f"No initial value is allowed for .{var.type} type", lex.line)
    if var.type in _FIELDS:
        _opaque(state, var)
        return
    shape = [*var.dims, *([var.vec] if var.vec > 1 else [])]
    if (lex.kind == T_PUNCT and lex.text == "{") != bool(shape):
        state.fatal("Initial value type mismatch", lex.line)
    if shape:
        match = re.compile(_INT_LIST).match(lex.source, lex.start)
        if match is not None and len(shape) == 1 and var.type[0] in "bus" and var.type != "b128":
            values = _int_list(match[1], size)
            if values is not None:
                end = lex.line + lex.source.count("\n", lex.start, match.end())
                if not unsized and len(values) > shape[0]:
                    state.fatal("Greater number of elements in array initializer", end)
                lex.seek(match.end(), end)
                var.init = [(i * size, v) for i, v in enumerate(values)]
                _grow(var, len(values))
                return
        count = _braces(state, var, size, shape, items)
        _grow(var, count)
    else:
        _element(state, var, size, 0, items)
    var.init = items


_MODES: Final = "addr_mode_0 addr_mode_1 addr_mode_2 filter_mode"
_FORMAT: Final = "width height depth channel_data_type channel_order array_size"
_FIELDS: Final[dict[str, frozenset[str]]] = {
    "texref": frozenset(f"{_FORMAT} {_MODES} normalized_coords num_mipmap_levels num_samples".split()),
    "surfref": frozenset(f"{_FORMAT} memory_layout".split()),
    "samplerref": frozenset(f"{_MODES} force_unnormalized_coords".split()),
}
"""Fields that initialisers of texture, surface and sampler references may name (ptxas 13.0.88)."""
_SYMBOLS: Final[dict[str, int]] = {
    "wrap": 1, "mirror": 2, "clamp_ogl": 3, "clamp_to_edge": 4, "clamp_to_border": 5, "nearest": 6, "linear": 7,
}  # fmt: skip
"""Names of field values -> their numbers, which are also legal."""


def _opaque(state: State, var: Var) -> None:
    """Reads the fields of a texture, surface or sampler reference."""
    lex = state.lex
    if lex.kind != T_PUNCT or lex.text != "{":
        state.fatal("Initial value type mismatch", lex.line)
    state.punct("{")
    var.fields = {}
    if state.take("}"):
        return
    while True:
        if lex.kind == T_PUNCT:
            state.syntax()
        if lex.kind != T_IDENT:
            state.fatal("Opaque structure initializer requires named fields", lex.line)
        line = lex.line
        field = state.ident()
        if lex.kind == T_PUNCT and lex.text in (",", "}"):
            state.fatal("Opaque structure initializer requires named fields", line)
        if field not in _FIELDS[var.type]:
            state.fatal(f"Unrecognized field name '{field}' in opaque struct initializer", line)
        state.punct("=")
        if lex.kind == T_IDENT:
            symbol = state.ident()
            if symbol not in _SYMBOLS:
                state.fatal(f"Unrecognized initial value symbol '{symbol}'", line)
            var.fields[field] = _SYMBOLS[symbol]
        else:
            var.fields[field] = integer(state)
        if var.type == "texref" and field in _MODES.split() and "texmode_independent" in state.module.target_options:
            state.note("info", f"Field '{field}' is ignored in .texref variables in independent texture mode", line)
        if not state.take(","):
            break
    state.punct("}")


def _grow(var: Var, count: int) -> None:
    """Gives an unsized array the size of its initialiser."""
    if var.dims and var.dims[0] == 0:
        var.dims = (count, *var.dims[1:])
        size = element_bytes(var.type) * var.vec
        for extent in var.dims:
            size *= extent
        var.size = size


def _int_list(text: str, size: int) -> list[int] | None:
    """The values of a flat list of plain integers; None if it has any other element."""
    mask = (1 << 8 * size) - 1
    parts = text.split(",")
    try:
        if "x" not in text and "X" not in text:
            values = [int(p) & mask for p in parts]
            if any(p.strip().lstrip("-").startswith("0") and p.strip("- \t\r\n0") for p in parts):
                return None
            return values
        return [int(p, 0) & mask for p in parts]
    except ValueError:
        return None


def _braces(state: State, var: Var, size: int, shape: list[int], items: list[tuple[int, int | SymInit]]) -> int:
    """Reads nested braces; returns the number of entries in the outermost."""
    lex = state.lex
    steps = [size] * len(shape)
    """Bytes of an entry at each level."""
    for level in range(len(shape) - 2, -1, -1):
        steps[level] = steps[level + 1] * shape[level + 1]
    state.punct("{")
    read = [0]
    """Entries that each open brace has so far."""
    starts = [0]
    while True:
        level = len(read) - 1
        if read[level] or lex.kind != T_PUNCT or lex.text != "}":
            if shape[level] and read[level] >= shape[level]:
                state.fatal("Greater number of elements in array initializer", lex.line)
            at = starts[level] + read[level] * steps[level]
            read[level] += 1
            inner = lex.kind == T_PUNCT and lex.text == "{"
            if inner != (level + 1 < len(shape)):
                state.fatal("Initial value type mismatch", lex.line)
            if inner:
                lex.next()
                read.append(0)
                starts.append(at)
                continue
            _element(state, var, size, at, items)
        while not read[-1] or not state.take(","):
            state.punct("}")
            starts.pop()
            count = read.pop()
            if not read:
                return count


def _refused(state: State, message: str, line: int) -> NoReturn:
    """Reports a wrong value; what cannot follow it is reported instead."""
    lex = state.lex
    if lex.kind != T_PUNCT or lex.text not in (",", "}", ")", ";"):
        state.syntax()
    state.fatal(message, line)


def _element(state: State, var: Var, size: int, offset: int, items: list[tuple[int, int | SymInit]]) -> None:
    lex = state.lex
    line = lex.line
    if lex.kind == T_IDENT and lex.text != "WARP_SZ":
        init = _symbol(state, 0)
        if var.type not in ("u32", "u64"):
            _refused(state, "Initial value type mismatch", line)
        items.append((offset, init))
        return
    if not starts_constant(state):
        state.syntax()
    value = constant(state)
    if state.take("("):
        state.gate("mask", line)
        if value.value not in _MASKS:
            state.error(f"Invalid mask value '{value.value:#x}' used in initializer", line)
        if starts_constant(state):
            whole = integer(state) & MASK64
            state.punct(")")
            low = (value.value & -value.value).bit_length() - 1
            items.append((offset, (whole & value.value & MASK64) >> max(low, 0) & ((1 << 8 * size) - 1)))
            return
        if var.type[0] != "u":
            state.fatal("Initial value type mismatch", line)
        init = _symbol(state, value.value)
        state.punct(")")
        items.append((offset, init))
        return
    items.append((offset, pattern(state, value, var.type, size, line)))


def pattern(state: State, value: Const, type_: str, size: int, line: int) -> int:
    """The bit pattern of a constant as an element of a type; reports an int for a float type and a float for an int type."""
    if type_ in ("f32", "f64"):
        if value.type == "int":
            state.fatal("Initial value type mismatch", line)
        if type_ == "f64":
            return value.value if value.type == "f64" else f32_to_f64_bits(value.value)
        return value.value if value.type == "f32" else f64_to_f32_bits(value.value)
    if value.type != "int":
        state.fatal("Initial value type mismatch", line)
    return value.value & MASK64 & ((1 << 8 * size) - 1)


def _symbol(state: State, mask: int) -> SymInit:
    lex = state.lex
    line = lex.line
    name = state.ident()
    generic = False
    if name == "generic" and state.take("("):
        generic = True
        state.gate("generic", line)
        name = state.ident()
        addend = _addend(state)
        state.punct(")")
    else:
        addend = 0
    addend += _addend(state)
    found = state.lookup(name)
    if found is None:
        _refused(state, f"Invalid initial value symbol '{name}'", line)
    if isinstance(found, Function):
        if generic:
            state.fatal("Invalid initial value expression", line)
    elif found.space not in ("global", "const"):
        state.fatal("Variable used as initial value not in .global or .const state space", line)
    state.gate("address", line)
    return SymInit(found, addend, generic, mask)


def _addend(state: State) -> int:
    lex = state.lex
    if lex.kind == T_PUNCT and lex.text == "+":
        return integer(state)
    return 0
