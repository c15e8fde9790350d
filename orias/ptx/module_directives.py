"""Reads directives that may stand at module level and in function bodies: ``.target``, ``.alias`` and declarations of functions.

Facts: docs/facts/front-end.md (versions and targets, functions).
"""

from typing import Final

from orias.knobs.knob_settings import PRAGMA
from orias.ptx.ast import Function, Var
from orias.ptx.declaration_words import read_attributes
from orias.ptx.declare import RAW_TEXTURES, sampler_mode, type_gate
from orias.ptx.headers import check_directives, header_directives, parameters, unsized_results
from orias.ptx.input_scopes import keep_apart
from orias.ptx.lexer import T_DOT, T_PUNCT
from orias.ptx.parser_state import State
from orias.ptx.pragmas import BODY_PRAGMAS, known_pragma
from orias.ptx.signatures import aliased, defined_parameter, prototypes
from orias.ptx.special_names import SPECIAL
from orias.ptx.targets import FIRST_VERSION, canonical, number_of, suffix_of

_TARGET_OPTIONS: Final = frozenset(("texmode_unified", "texmode_independent", "debug", "map_f64_to_f32"))


def target_directive(state: State) -> None:
    """Reads ``.target`` and its names; the last target of a text counts, for what follows it."""
    line = state.lex.line
    state.lex.next()
    names = [state.ident()]
    while state.take(","):
        names.append(state.ident())
    for name in names:
        if name in _TARGET_OPTIONS or not name.startswith(("sm_", "compute_")):
            _option(state, name, line)
        else:
            _target(state, name, line)
    if "map_f64_to_f32" in names and number_of(suffix_of(state.module.target)) >= 13:
        state.error("Directive map_f64_to_f32 is not supported with SM 1.3 or higher", line)
    if state.raw_textures and "texmode_independent" not in state.module.target_options:
        if "texmode_unified" in state.module.target_options:
            state.error(f"Conflicting .target option '{RAW_TEXTURES}'", state.lex.line)
        state.module.target_options = (*state.module.target_options, RAW_TEXTURES)


def _target(state: State, name: str, line: int) -> None:
    module = state.module
    plain = canonical(name)
    suffix = suffix_of(plain)
    if suffix not in FIRST_VERSION:
        state.fatal(f"Unsupported .target '{name}'", line)
    module.target = plain
    if module.version < FIRST_VERSION[suffix]:
        version = f"{module.version[0]}.{module.version[1]}"
        state.last.append((f"PTX .version {version} does not support .target {name}", line))


def _option(state: State, name: str, line: int) -> None:
    module = state.module
    if not module.target:
        state.fatal(f"Target architecture not defined at start of file '{state.file_name}'", line)
    if name not in _TARGET_OPTIONS:
        state.fatal(f"Unsupported .target '{name}'", line)
    modes = [o for o in module.target_options if o.startswith("texmode")]
    if state.function is not None and not modes:
        modes.append("texmode_unified")
    if name.startswith("texmode") and any(o != name for o in modes):
        state.error(f"Conflicting .target option '{name}'", line)
    module.target_options = (*module.target_options, name)


def alias_directive(state: State) -> None:
    """Reads ``.alias a, b;``: a is another name of b, a function that is defined."""
    lex = state.lex
    lex.next()
    line = lex.line
    state.gate("alias", line)
    names = [state.ident()]
    state.punct(",")
    names.append(state.ident())
    state.punct(";")
    functions: list[Function] = []
    for name in names:
        found = state.lookup(name)
        special = name[0] == "%" and name[1:] in SPECIAL
        if (found is None and not special) or (isinstance(found, Var) and found.space == "reg"):
            state.error(f"Unknown symbol '{name}'", line)
            return
        if isinstance(found, Function):
            functions.append(found)
    objects = [name for name in names if name not in [f.name for f in functions]]
    for name in objects:
        state.error(f"Cannot define alias to variable object '{name}'", line)
    if objects:
        return
    for message in aliased(functions[0], functions[1], dict(state.module.aliases), state.function):
        state.error(message, line)
    state.module.aliases.append((names[0], names[1]))


def inner_function(state: State, linkage: str) -> None:
    """Reads the declaration of a function inside a body: it counts for the module, and has no body of its own."""
    line = state.lex.line
    header, _, at = read_header(state)
    name = header.name
    if any(name in scope.names for scope in state.scopes[1:]):
        state.fatal(f"Inconsistent redefinition of symbol '{name}'", state.lex.line)
    finish_declaration(state, header, declared(state, header, linkage, at))
    header_pragmas(state, header, line)
    end = state.lex.line
    state.punct(";")
    check_directives(state, header, end)


def finish_declaration(state: State, header: Function, function: Function) -> Function:
    """Takes a header over into the function that it declares, unless that is defined; returns the one that has the header's parameters."""
    if function.body is None:
        function.params = header.params
        function.rets = header.rets
        function.directives.update(header.directives)
        header = function
    for index, var in enumerate([*header.rets, *header.params]):
        var.function = header
        var.index = index
    return header


def repeated_names(state: State, function: Function) -> None:
    """Reports parameters and results whose names are taken."""
    seen: set[str] = set()
    for var in [*function.rets, *function.params]:
        if var.name in seen:
            state.error(f"Duplicate definition of variable '{var.name}'", var.line)
        seen.add(var.name)


def read_header(state: State) -> tuple[Function, bool, int]:
    """Reads a function's header; whether it has no directives, and the line of messages on the whole.

    It is that of the token after the header, of a kernel with a list of parameters that of its end.
    """
    lex = state.lex
    line = lex.line
    entry = lex.text == ".entry"
    lex.next()
    attributes: list[str] = []
    while lex.kind == T_DOT and lex.text == ".attribute":
        read_attributes(state, attributes, ("unified",))
    rets: list[Var] = []
    if not entry and lex.kind == T_PUNCT and lex.text == "(":
        rets = parameters(state, False)
        unsized_results(state, rets)
    header = Function(state.ident(), entry, line)
    header.rets = rets
    closed = 0
    if lex.kind == T_PUNCT and lex.text == "(":
        header.params = parameters(state, entry)
        if entry:
            closed = lex.line - lex.source.count("\n", lex.source.rfind(")", 0, lex.start), lex.start)
    for attribute in attributes:
        header.directives[f"attribute:{attribute}"] = ()
    if entry and (lex.kind != T_PUNCT or lex.text != ";"):
        check_parameters(state, header)
        repeated_names(state, header)
    plain = lex.kind == T_PUNCT
    header_directives(state, header)
    return header, plain, closed or lex.line


def header_pragmas(state: State, header: Function, line: int) -> None:
    """Checks the pragmas among the directives of a function."""
    for key in header.directives:
        if not key.startswith("pragma:"):
            continue
        text = key[len("pragma:") :]
        if text.split(" ")[0] in BODY_PRAGMAS:
            state.error(f"Pragma '{text}' is allowed only within function scope", line)
        else:
            known_pragma(state, text, line)
        if text.startswith(PRAGMA) and not header.entry:
            state.error(f"Pragma '{text}' cannot be specified for a function", line)


def check_parameters(state: State, header: Function) -> None:
    """Checks the types and alignments of the parameters and results of a function that is defined."""
    for var in [*header.rets, *header.params]:
        type_gate(state, var.type, var.line, bool(var.dims))
        for message in defined_parameter(var, header.entry):
            state.error(message, var.line)
        sampler_mode(state, var.type, var.line)
        if not var.space:
            state.fatal("No variable storage specified", var.line)


def declared(state: State, header: Function, linkage: str, line: int) -> Function:
    """The function object of a declaration or definition: the existing one of an earlier declaration, or a new one; ``line``: of messages."""
    name = header.name
    names = state.scopes[0].names
    old = names.get(name)
    if isinstance(old, Function):
        if old.entry != header.entry:
            state.error(f"Inconsistent redefinition of '{name}' as entry and function", line)
        if old.body is not None and old is not state.function:
            state.error(f"Duplicate definition of function '{name}'", line)
        if (
            (old.linkage == "extern" and linkage != "extern")
            or (linkage and linkage != old.linkage)
            or ("noreturn" in old.directives) != ("noreturn" in header.directives)
        ):
            state.error(f"Inconsistent redefinition of variable '{name}'", line)
        for message in prototypes(old, header.rets, header.params):
            state.error(message, line)
        if old.linkage != "extern" and (linkage != "extern" or not old.linkage):
            old.linkage = linkage
        if old.body is None:
            old.line = header.line
        elif old is not state.function:
            # The next definition is compared with this one, and repeats one too.
            header.linkage = linkage
            header.body = old.body
            names[name] = header
        return old
    if old is None and name[0] == "%" and name[1:] in SPECIAL:
        state.error(f"Inconsistent redefinition of variable '{name}'", line)
    function = Function(name, header.entry, header.line)
    function.linkage = linkage
    if old is not None:
        state.error(f"Inconsistent redefinition of variable '{name}'", line)
        if not header.entry:
            state.error(f"Duplicate definition of function '{name}'", line)
        state.fatal(f"Inconsistent redefinition of symbol '{name}'", line)
    names[name] = function
    keep_apart(state, name)
    state.module.functions.append(function)
    return function
