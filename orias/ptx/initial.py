"""Reads initialisers of variables: nested braces, numbers, addresses, byte masks.

Facts: docs/facts/front-end.md (initialisers).
"""

from typing import Final, TypeAlias, final

from orias.patterns import regex
from orias.ptx.ast import Function, SymInit, Var
from orias.ptx.declaration_words import element_bytes
from orias.ptx.expr import Const, constant, integer, starts_constant
from orias.ptx.lexer import MASK64, T_IDENT, T_PUNCT, f64_to_f32_bits
from orias.ptx.parser_state import State

_MASKS: Final = frozenset([0xFF << 8 * k for k in range(8)])
"""Byte masks of addresses; each selects one byte."""
_INT_LIST: Final = r"(?a)\s*\{([-0-9xXa-fA-F,U \t\r\n]*)\}"


@final
class _Leaf:
    """One value as it was read: a constant, or an address with its byte mask (0: the whole address)."""

    __slots__ = ("addend", "constant", "generic", "line", "mask", "name", "sum")

    def __init__(self, line: int, constant: Const | None, name: str = "", mask: int = 0) -> None:
        self.line: int = line
        self.constant: Const | None = constant
        self.name: str = name
        self.mask: int = mask
        self.generic: bool = False
        self.addend: int = 0
        self.sum: bool = False
        """An addend is written."""


@final
class _List:
    """Values in braces; ``line`` is that of the closing one."""

    __slots__ = ("items", "line")

    def __init__(self) -> None:
        self.items: list[_Leaf | _List] = []
        self.line: int = 0


Value: TypeAlias = _Leaf | _List
"""What an initialiser says, as it was read."""


def read_initialiser(state: State, var: Var) -> Value | None:
    """Reads the initialiser of a variable, for :func:`check_initialiser`; None if there is nothing to check.

    Plain integers, and the fields of texture references, are stored at once.
    """
    lex = state.lex
    if var.type in _FIELDS:
        if var.space not in INITIALISED:
            state.error(NO_VALUE.format(var.name), var.line)
        _opaque(state, var)
        return None
    shape = _shape(var)
    match = regex(_INT_LIST).match(lex.source, lex.start) if lex.kind == T_PUNCT else None
    if (
        match is not None
        and len(shape) == 1
        and var.type[0] in "bus"
        and var.type != "b128"
        and var.space in INITIALISED
    ):
        size = element_bytes(var.type)
        values = _int_list(match[1], size)
        if values and (not shape[0] or len(values) <= shape[0]):
            lex.seek(match.end(), lex.line + lex.source.count("\n", lex.start, match.end()))
            var.init = [(i * size, v) for i, v in enumerate(values)]
            _grow(var, len(values))
            return None
    return _read_values(state)


def _shape(var: Var) -> list[int]:
    """The lengths of the lists of an initialiser."""
    return [*var.dims, *([var.vec] if var.vec > 1 else [])]


INITIALISED: Final = ("global", "const")
"""State spaces whose variables have initial values."""
NO_VALUE: Final = "No initial value is allowed for '{}' in this state space"


def check_initialiser(state: State, var: Var, read: Value) -> None:
    """Checks and stores what was read for a variable, and gives an unsized array its size."""
    shape = _shape(var)
    if var.space == "tex":
        _check_texture(state, read)
        return
    refused = var.space not in INITIALISED
    if refused:
        state.error(NO_VALUE.format(var.name), var.line)
    if var.type == "f16" and not shape and not refused:
        state.fatal("No initial value is allowed for .f16 type", read.line)
    if isinstance(read, _List) != bool(shape):
        state.fatal("Initial value type mismatch", read.line)
    var.init = _checked(state, var, element_bytes(var.type), shape, read)
    if isinstance(read, _List):
        _grow(var, len(read.items))


def _check_texture(state: State, read: Value) -> None:
    """Refuses the value of a variable in the old texture space, which may only be an empty list."""
    if isinstance(read, _List) and not read.items:
        return
    if isinstance(read, _Leaf) and read.constant is None and state.lookup(read.name) is None:
        state.fatal(f"Invalid initial value symbol '{read.name}'", read.line)
    state.fatal("Initial value type mismatch", read.line)


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


def _read_values(state: State) -> "_Leaf | _List":
    """Reads the values of an initialiser; what they mean is checked when all are read."""
    lex = state.lex
    if lex.kind != T_PUNCT or lex.text != "{":
        leaf = _leaf(state)
        if lex.kind != T_PUNCT or lex.text not in (",", ";"):
            state.syntax()
        return leaf
    lex.next()
    top = _List()
    nest = [top]
    while True:
        if nest[-1].items or lex.kind != T_PUNCT or lex.text != "}":
            if lex.kind == T_PUNCT and lex.text == "{":
                lex.next()
                inner = _List()
                nest[-1].items.append(inner)
                nest.append(inner)
                continue
            nest[-1].items.append(_leaf(state))
        while not nest[-1].items or not state.take(","):
            nest[-1].line = lex.line
            state.punct("}")
            nest.pop()
            if not nest:
                return top


def _checked(
    state: State, var: Var, size: int, shape: list[int], read: _Leaf | _List
) -> list[tuple[int, int | SymInit]]:
    """The elements with their offsets; a list's length is checked before its entries."""
    steps = [size] * len(shape)
    """Bytes of an entry at each level."""
    for level in range(len(shape) - 2, -1, -1):
        steps[level] = steps[level + 1] * shape[level + 1]
    items: list[tuple[int, int | SymInit]] = []
    todo: list[tuple[_Leaf | _List, int, int]] = [(read, 0, 0)]
    """(values, level, offset), the next one last."""
    while todo:
        node, level, at = todo.pop()
        if isinstance(node, _List) != (level < len(shape)):
            wrong = "No initial value is allowed for .f16 type" if var.type == "f16" else "Initial value type mismatch"
            state.fatal(wrong, node.line)
        if isinstance(node, _Leaf):
            items.append((at, _element(state, var.type, size, node)))
            continue
        if not shape[level] and not node.items:
            state.fatal("Initial value type mismatch", node.line)
        if shape[level] and len(node.items) > shape[level]:
            state.fatal("Greater number of elements in array initializer", node.line)
        step = steps[level]
        for k in range(len(node.items) - 1, -1, -1):
            todo.append((node.items[k], level + 1, at + k * step))
    return items


def _leaf(state: State) -> _Leaf:
    """Reads one value; its line is that of the token after it, as the parser of ptxas has it."""
    lex = state.lex
    if lex.kind == T_IDENT and lex.text != "WARP_SZ":
        return _symbol(state, 0)
    if not starts_constant(state):
        state.syntax()
    line = lex.line
    value = constant(state)
    if not state.take("("):
        return _Leaf(lex.line, value)
    if starts_constant(state):
        whole = integer(state) & MASK64
        state.punct(")")
        _check_mask(state, value.value, line, True)
        low = (value.value & -value.value).bit_length() - 1
        return _Leaf(lex.line, Const((whole & value.value & MASK64) >> max(low, 0), "int"))
    leaf = _symbol(state, value.value)
    state.punct(")")
    _check_mask(state, value.value, line)
    return leaf


def _check_mask(state: State, mask: int, line: int, number: bool = False) -> None:
    """Reports a byte mask that the version does not have, or that selects no byte."""
    state.gate("mask", line)
    if number:
        state.gate("number", line)
    if mask not in _MASKS:
        state.error(f"Invalid mask value '{mask:#x}' used in initializer", line)


def _element(state: State, type_: str, size: int, leaf: _Leaf) -> int | SymInit:
    """The bits or the address that a value stands for."""
    value = leaf.constant
    if value is not None:
        if type_ == "f16":
            state.fatal("No initial value is allowed for .f16 type", leaf.line)
        return pattern(state, value, type_, size, leaf.line)
    found = state.lookup(leaf.name)
    if leaf.sum and not isinstance(found, Var):
        wrong = "No initial value is allowed for .f16 type" if type_ == "f16" else "Initial value type mismatch"
        state.fatal(wrong, leaf.line)
    if leaf.generic and (found is None or isinstance(found, Function)):
        state.fatal("Invalid initial value expression", leaf.line)
    if found is None:
        state.fatal(f"Invalid initial value symbol '{leaf.name}'", leaf.line)
    if isinstance(found, Var) and found.space not in ("global", "const"):
        state.fatal("Variable used as initial value not in .global or .const state space", leaf.line)
    state.gate("address", leaf.line)
    if type_ not in ("u32", "u64") and (not leaf.mask or type_[0] != "u"):
        state.fatal("Initial value type mismatch", leaf.line)
    return SymInit(found, leaf.addend, leaf.generic, leaf.mask)


def pattern(state: State, value: Const, type_: str, size: int, line: int) -> int:
    """The bit pattern of a constant as an element of a type; reports an int for a float type and a float for an int type.

    In untyped elements a float stands for its bits: in 32 bits those of the single nearest to it, in others as many of
    its lowest as fit (measured).  A double's lower half is the bits of a single in its place (measured).
    """
    if type_ in ("f32", "f64"):
        if value.type == "int":
            state.fatal("Initial value type mismatch", line)
        if type_ == "f64":
            return value.value
        return value.value if value.type == "f32" else f64_to_f32_bits(value.value)
    if value.type != "int" and type_[0] == "b":
        single = type_ == "b32" and value.type == "f64"
        return (f64_to_f32_bits(value.value) if single else value.value) & ((1 << 8 * size) - 1)
    if value.type != "int" or type_ in ("pred", "f16x2"):
        state.fatal("Initial value type mismatch", line)
    return value.value & MASK64 & ((1 << 8 * size) - 1)


def _symbol(state: State, mask: int) -> _Leaf:
    """Reads a name with an addend, perhaps in ``generic()``."""
    lex = state.lex
    leaf = _Leaf(lex.line, None, lex.text, mask)
    before = lex.start
    state.ident()
    if lex.kind == T_PUNCT and lex.text == "(":
        if leaf.name != "generic":
            lex.seek(before, leaf.line)
            state.syntax()
        lex.next()
        leaf.generic = True
        state.gate("generic", leaf.line)
        leaf.name = state.ident()
        state.punct(")")
    leaf.sum = lex.kind == T_PUNCT and lex.text == "+"
    leaf.addend = _addend(state)
    leaf.line = lex.line
    return leaf


def _addend(state: State) -> int:
    lex = state.lex
    if lex.kind == T_PUNCT and lex.text == "+":
        return integer(state)
    return 0
