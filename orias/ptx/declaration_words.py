"""Reads the words before the names of a declaration, and makes variables from them.

Facts: docs/facts/front-end.md (declarations).
"""

import re
from typing import Final

from orias.ptx.ast import TYPE_BITS, VARIABLE_TYPES, Var
from orias.ptx.expr import integer
from orias.ptx.lexer import T_DOT, T_INT, T_PUNCT
from orias.ptx.parser_state import State

SPACES: Final = frozenset((".reg", ".param", ".local", ".shared", ".global", ".const", ".tex"))
LINKAGE: Final = frozenset((".extern", ".visible", ".weak", ".common"))
MAX_VARIABLE_BYTES: Final = 1 << 62


def natural_align(var: Var) -> int:
    """The alignment of a variable without .align: the size of its element or of its whole vector, in bytes."""
    return max(1, TYPE_BITS.get(var.type, 8) // 8) * var.vec


def element_bytes(type_: str) -> int:
    """Bytes of one element of a variable's type."""
    return max(1, TYPE_BITS.get(type_, 8) // 8)


class Declared:
    """The words before the names of a declaration."""

    __slots__ = ("align", "attributes", "kernel", "linkage", "ptr", "ptr_align", "ptr_space", "space", "type", "vec")

    def __init__(self) -> None:
        self.linkage: str = ""
        self.space: str = ""
        self.type: str = ""
        self.vec: int = 1
        self.align: int = 0
        self.kernel: bool = True
        """False in the parameters of a function, which have no attributes of pointers."""
        self.ptr: bool = False
        self.ptr_space: str = ""
        self.ptr_align: int = 0
        self.attributes: list[str] = []


_MISPLACED: Final = "Illegal placement of kernel parameter attribute"


def read_words(state: State, found: Declared) -> None:
    """Reads state space, alignment, vector and type words up to the first name."""
    lex = state.lex
    while lex.kind == T_DOT:
        word = lex.text
        if word == ".align":
            lex.next()
            line = lex.line
            value = integer(state) if lex.kind == T_INT else state.syntax()
            if found.ptr and not found.kernel:
                state.error(_MISPLACED, line)
            if value <= 0 or value & (value - 1):
                state.error("Alignment must be a power of two", line)
                value = 0
            if found.ptr:
                found.ptr_align = value
            else:
                found.align = value
            continue
        if word == ".attribute":
            read_attributes(state, found.attributes)
            continue
        if word in SPACES:
            if found.space == "":
                found.space = word[1:]
                if word == ".const":
                    _constant_bank(state)
                    continue
            elif found.ptr and not found.ptr_space:
                if word not in (".global", ".shared", ".const", ".local"):
                    state.syntax()
                found.ptr_space = word[1:]
            else:
                state.error("Multiple state spaces specified", lex.line)
        elif word == ".ptr" and found.type:
            found.ptr = True
            state.gate("ptr", lex.line)
            if not found.kernel:
                state.error(_MISPLACED, lex.line)
        elif word in (".v2", ".v4") and found.type == "":
            found.vec = int(word[2])
        elif word[1:] in VARIABLE_TYPES and found.type == "":
            found.type = word[1:]
        else:
            state.syntax()
        lex.next()


_BANK: Final = r"(?a)\[(1?\d)\]"
_LAST_BANK: Final = 10


def begins_declaration(word: str) -> bool:
    """Whether a word other than a state space or linkage begins a declaration; without a space it is refused."""
    return word in (".align", ".attribute", ".v2", ".v4") or word[1:] in VARIABLE_TYPES


def _constant_bank(state: State) -> None:
    """Refuses ``.const[2]``, the explicit constant banks of early PTX versions; with blanks inside it is no word at all."""
    lex = state.lex
    line = lex.line
    match = re.compile(_BANK).match(lex.source, lex.start + len(".const"))
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
    """``.attribute(.managed, .unified(a, b))``; ``known``: the attributes that may stand here."""
    lex = state.lex
    lex.next()
    state.punct("(")
    while True:
        if lex.kind != T_DOT:
            state.syntax()
        word = lex.text[1:]
        if word not in known:
            state.syntax()
        state.gate(word, lex.line)
        lex.next()
        if state.take("("):
            values = [str(integer(state))]
            while state.take(","):
                values.append(str(integer(state)))
            state.punct(")")
            word += "(" + ",".join(values) + ")"
        attributes.append(word)
        if not state.take(","):
            break
    state.punct(")")


def make_var(state: State, name: str, found: Declared, line: int, most: int = 0) -> Var:
    """The variable ``name`` with the declared properties; reads its array dimensions, ``most`` of them if that is not 0."""
    var = Var(name, found.space, found.type, found.vec, line)
    var.linkage = found.linkage
    var.ptr_space = found.ptr_space if found.ptr_space else "generic" if found.ptr else ""
    var.ptr_align = found.ptr_align
    var.attributes = tuple(found.attributes)
    var.align = found.align if found.align else natural_align(var)
    dims: list[int] = []
    lex = state.lex
    while lex.kind == T_PUNCT and lex.text == "[":
        if most and len(dims) == most:
            state.syntax()
        lex.next()
        if state.take("]"):
            dims.append(0)
            continue
        if lex.kind != T_INT and lex.text != "WARP_SZ":
            state.syntax()
        start, at = lex.start, lex.line
        lex.next()
        if lex.text != "]":
            state.syntax()
        lex.seek(start, at)
        dims.append(integer(state))
        state.punct("]")
    var.dims = tuple(dims)
    size = element_bytes(var.type) * var.vec
    for extent in dims:
        size *= extent
    if size < 0 or size > MAX_VARIABLE_BYTES:
        state.fatal(f"Size of variable '{name}' is out of range", line)
    var.size = size
    return var
