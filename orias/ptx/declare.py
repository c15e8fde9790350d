"""Reads declarations of registers and variables.

Facts: docs/facts/front-end.md (declarations).
"""

from typing import Final

from orias.ptx.ast import Function, Var
from orias.ptx.declaration_words import LINKAGE, Declared, element_bytes, make_var, natural_align, read_words
from orias.ptx.expr import integer
from orias.ptx.gates import DIRECTIVES
from orias.ptx.initial import initialiser
from orias.ptx.lexer import T_DOT, T_IDENT, T_INT, T_PUNCT, int_value
from orias.ptx.parser_state import Range, State
from orias.ptx.signatures import alignment, redefinition
from orias.target.descriptors import HANDLE_KINDS

MAX_RANGE: Final = 1 << 31
"""Largest number of registers of one range."""

_VECTOR_PRED: Final = "Predicate type can only be used to define scalar register variables"


def declaration(state: State) -> str | None:
    """Reads a variable declaration; at a function's .entry or .func it stops and returns the linkage word before it."""
    lex = state.lex
    found = Declared()
    if lex.kind == T_DOT and lex.text in LINKAGE:
        found.linkage = lex.text[1:]
        if found.linkage in DIRECTIVES:
            state.gate(found.linkage, lex.line)
        lex.next()
        if state.function is not None or (lex.kind == T_DOT and lex.text in LINKAGE):
            state.syntax()
    if lex.kind == T_DOT and lex.text in (".entry", ".func"):
        return found.linkage
    read_words(state, found)
    if not found.space and found.type and lex.kind == T_IDENT:
        line = lex.line
        lex.next()
        if lex.kind != T_PUNCT or lex.text not in (",", ";", "[", "=", "<"):
            state.syntax()
        state.fatal("No variable storage specified", line)
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


def registers(state: State, found: Declared) -> None:
    """Reads the names of a .reg declaration."""
    lex = state.lex
    scope = state.scopes[-1]
    handles = found.type in HANDLE_KINDS
    while True:
        line = lex.line
        name = state.ident()
        _type_gate(state, found.type, line)
        if handles:
            state.error("Texture/surface variable must be at module or entry parameter scope", line)
            state.error(f"Variable '{name}' cannot be allocated into a register", line)
        if state.take("<"):
            if lex.kind != T_INT:
                state.syntax()
            count = int_value(lex.text)
            lex.next()
            state.punct(">")
            if found.type == "pred" and found.vec > 1:
                state.error(_VECTOR_PRED, line)
            if name in scope.ranges:
                state.error(f"Duplicate definition of variable '{name}<'", line)
            taken = [n for n in scope.names if n.startswith(name) and _in_range(n[len(name) :], count)]
            for old in taken:
                state.error(f"Duplicate definition of variable '{old}'", line)
            scope.ranges[name] = Range(min(count, MAX_RANGE), found.type, found.vec, line)
        elif name in scope.names or (scope.ranges and state.in_range(scope, name)):
            state.error(f"Duplicate definition of variable '{name}'", line)
        else:
            if found.type == "pred" and found.vec > 1:
                state.error(_VECTOR_PRED, line)
            var = Var(name, "reg", found.type, found.vec, line)
            var.size = element_bytes(found.type) * found.vec
            var.align = found.align if found.align else natural_align(var)
            scope.names[name] = var
            state.register(var)
            if lex.kind == T_PUNCT and lex.text == "[":
                state.error(f"Variable '{name}' cannot be allocated into a register", line)
                array = make_var(state, name, found, line)
                if 0 in array.dims:
                    state.error(f"Non-external variable '{name}' has incomplete type", line)
        if lex.kind == T_PUNCT and lex.text == "=":
            lex.next()
            initialiser(state, Var(name, "reg", found.type, found.vec, line), _NO_VALUE.format(name))
        if state.function is None:
            # ptxas waits for what follows the name
            if lex.kind != T_PUNCT or lex.text not in (",", ";"):
                state.syntax()
            state.error("Module-scoped variables in .reg state space are not allowed with ABI", line)
        if not state.take(","):
            break
    scope.operands.clear()


def _in_range(tail: str, count: int) -> bool:
    """Whether the rest of a name is the number of a register of a range."""
    return tail.isdigit() and len(tail) <= 10 and (tail == "0" or tail[0] != "0") and int(tail) < count


_NO_VALUE: Final = "No initial value is allowed for '{}' in this state space"


def _type_gate(state: State, type_: str, line: int) -> None:
    """Reports a type that the module's version or target does not have."""
    if type_ in ("b128", "f16x2"):
        state.gate(type_, line)


def _texture_errors(state: State, var: Var) -> None:
    """Reports errors in a variable of the old texture space."""
    if var.type not in ("u32", "u64"):
        state.error(f"Variable '{var.name}' must be type .u32 or .u64", var.line)
    if state.function is not None:
        state.error("Texture variables must be declared at module scope", var.line)
    if state.place.version >= 15:
        state.error("Deprecated feature: '.tex' not supported as of PTX version 1.5", var.line)


def _variable_errors(state: State, var: Var) -> None:
    """Reports errors in a variable's type or state space."""
    line = var.line
    _type_gate(state, var.type, line)
    if state.function is not None:
        for message in alignment(var):
            state.error(message, line)
    if var.linkage == "common" and var.space != "global":
        state.error(".common variables must be declared in .global space", line)
    if 0 in var.dims[1:]:
        state.error("Array of incomplete type", line)
        return
    if var.type == "pred" and (var.dims or var.vec > 1):
        state.error(_VECTOR_PRED, line)
    elif var.type == "pred":
        state.error(f"Predicate variable '{var.name}' must be in register state space", line)
    if "managed" in var.attributes and var.space != "global":
        state.error(f"Illegal attribute '.managed' for symbol '{var.name}'", line)
    if var.vec > 1 and element_bytes(var.type) * var.vec > 16:
        state.error("Vector type too large, exceeds 128 bit limit", line)
    if var.space == "tex":
        _texture_errors(state, var)
    if var.type == "samplerref" and "texmode_independent" not in state.module.target_options:
        state.error("Instruction or declaration violates .target texmode_unified setting", line)
    if 0 in var.dims and var.linkage != "extern":
        state.error(f"Non-external variable '{var.name}' has incomplete type", line)
    if state.function is None and var.space == "local":
        state.error("Module-scoped variables in .local state space are not allowed with ABI", line)
    elif state.function is None and var.space == "param":
        state.error("Parameter variables may not be declared at module scope", line)


def variables(state: State, found: Declared) -> None:
    """Reads the names, dimensions and initialisers of a variable declaration."""
    lex = state.lex
    scope = state.scopes[-1]
    while True:
        line = lex.line
        name = state.ident()
        count = 0
        if state.take("<"):
            count = integer(state)
            state.punct(">")
            if count < 0 or count > 1 << 16:
                state.fatal(f"Number of variables '{name}<{count}>' is out of range", line)
        var = make_var(state, name, found, line)
        if lex.kind == T_PUNCT and lex.text == "=":
            lex.next()
            if var.space not in ("global", "const"):
                initialiser(state, var, _NO_VALUE.format(name))
            else:
                initialiser(state, var)
                if var.linkage == "extern":
                    state.error(f"No initial value is allowed for external symbol '{name}'", line)
        if lex.kind != T_PUNCT or lex.text not in (",", ";"):
            state.syntax()
        _variable_errors(state, var)
        if count:
            for i in range(count):
                one = make_var(state, f"{name}{i}", found, line)
                one.dims = var.dims
                one.size = var.size
                enter(state, one)
        else:
            enter(state, var)
        if not state.take(","):
            break
    scope.operands.clear()


def enter(state: State, var: Var) -> None:
    """Adds a variable to the current scope and to its function or module."""
    scope = state.scopes[-1]
    name = var.name
    old = scope.names.get(name)
    if old is not None:
        if isinstance(old, Var) and state.function is None and "extern" in (old.linkage, var.linkage):
            for message in redefinition(old, var):
                state.error(message, var.line)
            if old.linkage == "extern":
                _complete(old, var)
            return
        kind = "function" if isinstance(old, Function) else "variable"
        state.error(f"Duplicate definition of {kind} '{name}'", var.line)
        return
    scope.names[name] = var
    function = state.function
    var.function = function
    if function is None:
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
