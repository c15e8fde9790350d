"""Reads declarations of registers and variables.

Facts: docs/facts/front-end.md (declarations).
"""

from typing import Final, final

from orias.ptx.ast import Function, Var
from orias.ptx.declaration_words import (
    LINKAGE,
    Declared,
    element_bytes,
    make_plain,
    make_var,
    natural_align,
    read_words,
)
from orias.ptx.expr import word_value
from orias.ptx.gates import DIRECTIVES
from orias.ptx.initial import Value, check_initialiser, read_initialiser
from orias.ptx.input_scopes import keep_apart
from orias.ptx.lexer import T_DOT, T_IDENT, T_PUNCT
from orias.ptx.parser_state import Range, State
from orias.ptx.signatures import alignment, redefinition, unallocated
from orias.ptx.special_names import SPECIAL
from orias.target.descriptors import HANDLE_KINDS

MAX_RANGE: Final = 1 << 31
"""Largest number of registers of one range."""
MAX_VARIABLES: Final = 1 << 16
"""Largest number of variables of one range."""

FIRST_WITH_ABI: Final = 30
"""PTX version since which calls follow an ABI, which registers and local variables of a whole module would break."""

RAW_TEXTURES: Final = "texmode_raw"
"""The mode of textures that ``.target`` cannot name."""
_NOT_GLOBAL: Final = ".common variables must be declared in .global space"


def declaration(state: State) -> str | None:
    """Reads a variable declaration; at a function's .entry or .func it stops and returns the linkage word before it."""
    lex = state.lex
    found = Declared()
    if lex.kind == T_DOT and lex.text in LINKAGE:
        found.linkage = lex.text[1:]
        if found.linkage in DIRECTIVES:
            state.gate(found.linkage, lex.line)
        if found.linkage == "common" and state.function is not None:
            state.syntax()
        lex.next()
        if lex.kind == T_DOT and lex.text in LINKAGE:
            state.syntax()
        if state.function is not None and (lex.kind != T_DOT or lex.text != ".func"):
            state.syntax()
    if lex.kind == T_DOT and lex.text in (".entry", ".func"):
        if found.linkage == "common":
            state.syntax()
        return found.linkage
    found.pointer = False
    read_words(state, found)
    if not found.space and found.type and lex.kind == T_IDENT:
        state.fatal("No variable storage specified", _names(state, found)[-1].line)
    if not found.type or not found.space:
        state.syntax()
    if lex.kind == T_PUNCT and lex.text == ";":
        pass  # a declaration without names
    elif found.space == "reg":
        registers(state, found)
    else:
        variables(state, found)
    state.punct(";")
    return None


@final
class _Name:
    """A name of a declaration, with its line, the number of its range (0: none), its variable and its initialiser."""

    __slots__ = ("count", "line", "name", "value", "var")

    def __init__(self, name: str, line: int) -> None:
        self.name: Final[str] = name
        self.line: Final[int] = line
        self.count: int = -1
        self.var: Var | None = None
        self.value: Value | None = None


def _names(state: State, found: Declared) -> list[_Name]:
    """Reads the names of a declaration with their dimensions and initialisers, up to its semicolon; checks come after it."""
    lex = state.lex
    result: list[_Name] = []
    while True:
        one = _Name(lex.text, lex.line)
        state.ident()
        result.append(one)
        if state.take("<"):
            one.count = word_value(state)
            state.punct(">")
        else:
            one.var = make_var(state, one.name, found, one.line)
            if lex.kind == T_PUNCT and lex.text == "=":
                lex.next()
                one.value = read_initialiser(state, one.var)
        if not state.take(","):
            break
    if lex.kind != T_PUNCT or lex.text != ";":
        state.syntax()
    return result


def registers(state: State, found: Declared) -> None:
    """Reads the names of a .reg declaration."""
    scope = state.scopes[-1]
    for one in _names(state, found):
        name, line = one.name, one.line
        type_gate(state, found.type, line)
        var = one.var
        if var is not None and one.value is not None:
            check_initialiser(state, var, one.value)
        shown = name if one.count < 0 else f"{name}<"
        if found.type in HANDLE_KINDS:
            state.error(f"Variable '{shown}' cannot be allocated into a register", line)
            _handle_errors(state, found.type, line)
        if var is None:
            if name in scope.ranges:
                state.error(f"Duplicate definition of variable '{name}<'", line)
            taken = [n for n in scope.names if n.startswith(name) and _in_range(n[len(name) :], one.count)]
            for old in taken:
                state.error(f"Duplicate definition of variable '{old}'", line)
            scope.ranges[name] = Range(min(one.count, MAX_RANGE), found.type, found.vec, line)
        elif name in scope.names or name in scope.labels or state.in_range(scope, name):
            state.error(f"Duplicate definition of variable '{name}'", line)
        else:
            if var.dims:
                state.error(f"Variable '{name}' cannot be allocated into a register", line)
                if var.dims[0] == 0:
                    state.error(f"Non-external variable '{name}' has incomplete type", line)
                var = Var(name, "reg", found.type, found.vec, line)
                var.size = element_bytes(found.type) * found.vec
                var.align = found.align if found.align else natural_align(var)
            scope.names[name] = var
            state.register(var)
        if found.linkage == "common":
            state.error(_NOT_GLOBAL, line)
        if state.function is None:
            _per_thread(state, "reg", shown, line)
    scope.operands.clear()


def _per_thread(state: State, space: str, name: str, line: int) -> None:
    """Notes a variable of each thread at module level, which is an error since PTX 3.0."""
    if state.place.version >= FIRST_WITH_ABI:
        state.error(f"Module-scoped variables in .{space} state space are not allowed with ABI", line)
    elif not state.module.per_thread:
        state.module.per_thread = name


def _in_range(tail: str, count: int) -> bool:
    """Whether the rest of a name is the number of a register of a range."""
    return tail.isdigit() and len(tail) <= 10 and (tail == "0" or tail[0] != "0") and int(tail) < count


def type_gate(state: State, type_: str, line: int, array: bool = False) -> None:
    """Reports a type that the module's version or target does not have; ptxas does not look at that of an ``array``."""
    if type_ in ("b128", "f16x2") and not array:
        state.gate(type_, line)
    elif type_ in HANDLE_KINDS and not array:
        state.gate("opaque", line)


def _texture_errors(state: State, var: Var) -> None:
    """Reports errors in a variable of the old texture space."""
    if var.type not in ("u32", "u64") or var.dims or var.vec > 1:
        state.error(f"Variable '{var.name}' must be type .u32 or .u64", var.line)
    if state.function is not None:
        state.error("Texture variables must be declared at module scope", var.line)
    if state.place.version >= 15:
        state.error("Deprecated feature: '.tex' not supported as of PTX version 1.5", var.line)
    if var.linkage == "common":
        state.error("Illegal type for .common symbol", var.line)


def _handle_errors(state: State, type_: str, line: int) -> None:
    """Reports errors in the place of a texture, surface or sampler reference outside of .global."""
    if state.function is None:
        state.error("Texture and surface variables must be declared in .global space", line)
    sampler_mode(state, type_, line)


def sampler_mode(state: State, type_: str, line: int) -> None:
    """Reports a sampler where textures have none of their own, and any reference where there may be none."""
    if type_ in HANDLE_KINDS and RAW_TEXTURES in state.module.target_options:
        state.error(f"Instruction or declaration violates .target {RAW_TEXTURES} setting", line)
    elif type_ == "samplerref" and "texmode_independent" not in state.module.target_options:
        state.error("Instruction or declaration violates .target texmode_unified setting", line)


def _place_errors(state: State, var: Var) -> None:
    """Reports errors in where a variable lies: its state space and attributes."""
    line = var.line
    if state.function is None or var.type not in HANDLE_KINDS:
        for message in unallocated(var):
            state.error(message, line)
    if state.function is not None:
        for message in alignment(var):
            state.error(message, line)
    if var.type in HANDLE_KINDS and var.linkage == "common":
        state.error("Illegal type for .common symbol", line)
    if var.type in HANDLE_KINDS and var.space != "global":
        _handle_errors(state, var.type, line)
    else:
        sampler_mode(state, var.type, line)
    if var.space != "global":
        words = [a.partition("(")[0] for a in var.attributes]
        symbol = state.function is not None and var.space != "param"
        name = f"$__{var.name}__{line}" if symbol else var.name
        for word in ("managed", "unified"):
            if word in words:
                state.error(f"Illegal attribute '.{word}' for symbol '{name}'", line)


def _variable_errors(state: State, var: Var) -> None:
    """Reports errors in a variable's type or state space, after those of the declaration's words."""
    line = var.line
    unsized = var.dims[:1] == (0,)
    type_gate(state, var.type, line, bool(var.dims))
    if var.space == "tex":
        return
    _place_errors(state, var)
    if var.type == "pred" and not var.dims and var.vec == 1:
        state.error(f"Predicate variable '{var.name}' must be in register state space", line)
    if unsized and var.linkage != "extern":
        state.error(f"Non-external variable '{var.name}' has incomplete type", line)
    if var.linkage == "common" and var.space != "global" and var.type not in HANDLE_KINDS:
        state.error(_NOT_GLOBAL, line)
    if state.function is None and var.space == "local":
        _per_thread(state, "local", var.name, line)
    elif state.function is None and var.space == "param":
        state.error("Parameter variables may not be declared at module scope", line)


def variables(state: State, found: Declared) -> None:
    """Reads the names, dimensions and initialisers of a variable declaration."""
    for one in _names(state, found):
        name, line = one.name, one.line
        if one.count > MAX_VARIABLES:
            state.fatal(f"Number of variables '{name}<{one.count}>' is out of range", line)
        var = one.var if one.var is not None else make_plain(f"{name}<", found, line)
        if var.space == "tex":
            _texture_errors(state, var)
        if one.value is not None:
            check_initialiser(state, var, one.value)
        if var.linkage == "extern" and (var.init or var.fields):
            state.error(f"No initial value is allowed for external symbol '{name}'", line)
        _variable_errors(state, var)
        if var.space == "tex":  # The texture references of PTX up to 1.4.
            var.space, var.type = "global", "texref"
        if one.var is None:
            for i in range(one.count):
                enter(state, make_plain(f"{name}{i}", found, line))
        else:
            enter(state, var)
    state.scopes[-1].operands.clear()


def enter(state: State, var: Var) -> None:
    """Adds a variable to the current scope and to its function or module."""
    scope = state.scopes[-1]
    name = var.name
    old = scope.names.get(name)
    if old is None and state.function is None and name[:1] == "%" and name[1:] in SPECIAL:
        old = _special(name)
        for message in redefinition(old, var):
            state.error(message, var.line)
    elif old is not None:
        if isinstance(old, Var) and state.function is None and "extern" in (old.linkage, var.linkage):
            for message in redefinition(old, var):
                state.error(message, var.line)
            if old.linkage == "extern":
                _complete(old, var)
            return
        if isinstance(old, Var) and state.function is None and len(state.scopes) == 1:
            for message in redefinition(old, var):
                state.error(message, var.line)
        kind = "function" if isinstance(old, Function) else "variable"
        state.error(f"Duplicate definition of {kind} '{name}'", var.line)
        return
    elif name in scope.labels:
        state.error(f"Duplicate definition of variable '{name}'", var.line)
        return
    scope.names[name] = var
    function = state.function
    var.function = function
    if function is None:
        keep_apart(state, name)
        var.index = len(state.module.variables)
        state.module.variables.append(var)
    else:
        var.index = len(function.variables)
        function.variables.append(var)


def _complete(old: Var, new: Var) -> None:
    """Completes an extern declaration by its definition, so that references to the old object stay valid."""
    if new.linkage != "extern":
        old.linkage = new.linkage
        old.line = new.line
    old.init = new.init
    if new.size:
        old.dims = new.dims
        old.size = new.size
    old.align = max(old.align, new.align)
    old.attributes = new.attributes


def _special(name: str) -> Var:
    """A special register as the extern variable that a declaration of its name repeats."""
    type_, vec, _, _ = SPECIAL[name[1:]]
    var = Var(name, "global", type_.replace("u", "b"), vec, 0)
    var.linkage = "extern"
    return var
