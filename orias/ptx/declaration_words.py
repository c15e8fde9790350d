"""Reads the words before the names of a declaration, and makes variables from them.

Facts: docs/facts/front-end.md (declarations).
"""

from typing import Final

from orias.patterns import regex
from orias.ptx.ast import TYPE_BITS, VARIABLE_TYPES, Var
from orias.ptx.expr import integer, plain_value, word_value
from orias.ptx.lexer import T_DOT, T_INT, T_PUNCT
from orias.ptx.parser_state import State
from orias.target.descriptors import HANDLE_KINDS

SPACES: Final = frozenset((".reg", ".param", ".local", ".shared", ".global", ".const", ".tex"))
LINKAGE: Final = frozenset((".extern", ".visible", ".weak", ".common"))
MAX_VARIABLE_BYTES: Final = 1 << 62
MAX_VECTOR_BYTES: Final = 16


def natural_align(var: Var) -> int:
    """The alignment of a variable without .align: the size of its element or of its whole vector, in bytes."""
    return max(1, TYPE_BITS.get(var.type, 8) // 8) * var.vec


def element_bytes(type_: str) -> int:
    """Bytes of one element of a variable's type."""
    return max(1, TYPE_BITS.get(type_, 8) // 8)


class Declared:
    """The words before the names of a declaration."""

    __slots__ = (
        "align",
        "attributes",
        "kernel",
        "linkage",
        "pointer",
        "ptr",
        "ptr_align",
        "ptr_space",
        "space",
        "type",
        "vec",
    )

    def __init__(self) -> None:
        self.linkage: str = ""
        self.space: str = ""
        self.type: str = ""
        self.vec: int = 1
        self.align: int = 0
        self.kernel: bool = True
        """False in the parameters of a function, which have no attributes of pointers."""
        self.pointer: bool = True
        """False outside of parameter lists, where nothing is said about pointers."""
        self.ptr: bool = False
        self.ptr_space: str = ""
        self.ptr_align: int = 0
        self.attributes: list[str] = []


SCALAR_PREDICATES: Final = "Predicate type can only be used to define scalar register variables"
_MISPLACED: Final = "Illegal placement of kernel parameter attribute"


def read_words(state: State, found: Declared) -> None:
    """Reads the words before the first name: state space, alignment and attributes in any order; vector; type; pointer."""
    lex = state.lex
    while lex.kind == T_DOT and (lex.text in SPACES or lex.text in (".align", ".attribute")):
        if lex.text == ".align":
            found.align = _alignment(state)
        elif lex.text == ".attribute":
            read_attributes(state, found.attributes)
        elif found.space:
            state.error("Multiple state spaces specified", lex.line)
            lex.next()
        else:
            found.space = lex.text[1:]
            if found.space == "const":
                _constant_bank(state)
            else:
                lex.next()
    if lex.kind == T_DOT and lex.text in (".v2", ".v4"):
        found.vec = int(lex.text[2])
        lex.next()
    if lex.kind == T_DOT and lex.text[1:] in VARIABLE_TYPES:
        found.type = lex.text[1:]
        if found.type in HANDLE_KINDS and state.function is not None:
            state.error("Texture/surface variable must be at module or entry parameter scope", lex.line)
        lex.next()
        _vector_errors(state, found)
    if lex.kind == T_DOT and lex.text == ".ptr" and found.type and found.pointer:
        _pointer(state, found)
    if lex.kind == T_DOT:
        state.syntax()


def _alignment(state: State) -> int:
    """Reads ``.align N``; 0 for a wrong one."""
    lex = state.lex
    lex.next()
    line = lex.line
    value = word_value(state)
    if value <= 0 or value & (value - 1):
        state.error("Alignment must be a power of two", line)
        return 0
    return value


def _pointer(state: State, found: Declared) -> None:
    """Reads ``.ptr .space .align N``, what is said about the pointer that a kernel parameter is."""
    lex = state.lex
    found.ptr = True
    state.gate("ptr", lex.line)
    if not found.kernel:
        state.error(_MISPLACED, lex.line)
    start, line = lex.start, lex.line
    lex.next()
    if lex.kind == T_DOT and lex.text[1:] in VARIABLE_TYPES:
        lex.seek(start, line)
        state.syntax()
    if lex.kind == T_DOT and lex.text in (".global", ".shared", ".const", ".local"):
        found.ptr_space = lex.text[1:]
        lex.next()
    if lex.kind == T_DOT and lex.text == ".align":
        said = len(state.diagnostics)
        found.ptr_align = _alignment(state)
        if not found.kernel:
            state.error(_MISPLACED, lex.line)
            state.diagnostics.insert(said, state.diagnostics.pop())


def _vector_errors(state: State, found: Declared) -> None:
    """Reports a vector type that does not exist, once for all names of the declaration."""
    if found.vec > 1 and found.type == "pred":
        state.error(SCALAR_PREDICATES, state.lex.line)
    elif found.vec > 1 and element_bytes(found.type) * found.vec > MAX_VECTOR_BYTES:
        state.error("Vector type too large, exceeds 128 bit limit", state.lex.line)


_BANK: Final = r"(?a)\[(1?\d)\]"
_LAST_BANK: Final = 10


def begins_declaration(word: str) -> bool:
    """Whether a word other than a state space or linkage begins a declaration; without a space it is refused."""
    return word in (".align", ".attribute", ".v2", ".v4") or word[1:] in VARIABLE_TYPES


def _constant_bank(state: State) -> None:
    """Refuses ``.const[2]``, the explicit constant banks of early PTX versions; with blanks inside it is no word at all."""
    lex = state.lex
    line = lex.line
    match = regex(_BANK).match(lex.source, lex.start + len(".const"))
    lex.next()
    if match is None:
        return
    lex.next()
    number = integer(state)
    state.punct("]")
    messages = [f"Illegal bank number: {number}"] if number > _LAST_BANK else []
    if state.place.version >= 22:
        messages.insert(0, "Deprecated feature: 'explicit constant banks' not supported as of PTX version 2.2")
    else:
        messages.append("Constant banks 1..11 are reserved for external incomplete arrays")
    for message in messages:
        state.error(message, line)


def read_attributes(state: State, attributes: list[str], known: tuple[str, ...] = ("managed", "unified")) -> None:
    """``.attribute(.managed, .unified(a, b))``; ``known``: the attributes that may stand here, if only one, then once."""
    lex = state.lex
    lex.next()
    state.punct("(")
    while True:
        if lex.kind != T_DOT:
            state.syntax()
        word = attribute = lex.text[1:]
        if word not in known:
            state.syntax()
        line = lex.line
        lex.next()
        if word == "unified":
            state.punct("(")
            first = plain_value(state)
            state.punct(",")
            word += f"({first},{plain_value(state)})"
            state.punct(")")
        state.gate(attribute, line)
        attributes.append(word)
        if len(known) == 1 or not state.take(","):
            break
    state.punct(")")


def make_plain(name: str, found: Declared, line: int) -> Var:
    """The variable ``name`` with the declared properties and no dimensions."""
    var = Var(name, found.space, found.type, found.vec, line)
    var.linkage = found.linkage
    var.ptr_space = found.ptr_space if found.ptr_space else "generic" if found.ptr else ""
    var.ptr_align = found.ptr_align
    var.attributes = tuple(found.attributes)
    var.align = found.align if found.align else natural_align(var)
    var.size = element_bytes(var.type) * var.vec
    return var


def _predicate_array(state: State, var: Var, line: int) -> None:
    """Reports an array of predicates; one without a state space is refused for that."""
    if var.type == "pred" and var.vec == 1 and var.space:
        state.error(SCALAR_PREDICATES, line)


def make_var(state: State, name: str, found: Declared, line: int, most: int = 0) -> Var:
    """The variable ``name`` with the declared properties; reads its array dimensions, ``most`` of them if that is not 0."""
    var = make_plain(name, found, line)
    dims: list[int] = []
    lex = state.lex
    while lex.kind == T_PUNCT and lex.text == "[":
        if most and len(dims) == most:
            _predicate_array(state, var, line)
            state.syntax()
        lex.next()
        if not dims and state.take("]"):
            dims.append(0)
            continue
        if lex.kind != T_INT and lex.text != "WARP_SZ":
            state.syntax()
        start, at = lex.start, lex.line
        lex.next()
        if lex.text != "]":
            state.syntax()
        lex.seek(start, at)
        dims.append(word_value(state) if most else integer(state))
        state.punct("]")
    var.dims = tuple(dims)
    if dims:
        _predicate_array(state, var, line)
    if 0 in dims[1:]:
        state.error("Array of incomplete type", line)
    size = var.size
    for extent in dims:
        size *= extent
    if size < 0 or size > MAX_VARIABLE_BYTES:
        state.fatal(f"Size of variable '{name}' is out of range", line)
    var.size = size
    return var
