"""Function headers: parameters, and the directives between them and the body (front-end inventory P11, P12)."""

from typing import Final

from orias.ptx.ast import Function, Var
from orias.ptx.expr import integer
from orias.ptx.gates import DIRECTIVES
from orias.ptx.lexer import T_DOT, T_PUNCT
from orias.ptx.signatures import parameter
from orias.ptx.state import State
from orias.ptx.words import Declared, make_var, read_attributes, read_words


def parameters(state: State, entry: bool) -> list[Var]:
    """Reads a parenthesised parameter list."""
    lex = state.lex
    state.punct("(")
    result: list[Var] = []
    if state.take(")"):
        return result
    while True:
        found = Declared()
        read_words(state, found)
        line = lex.line
        if found.space not in ("param", "reg") or not found.type:
            state.syntax()
        if lex.kind == T_PUNCT and lex.text == "_":
            name = "_"
            lex.next()
        else:
            name = state.ident()
        var = make_var(state, name, found, line)
        if var.dims[:1] == (0,):
            state.gate("unsized", line)
        for message in parameter(var, entry):
            state.error(message, line)
        var.index = len(result)
        result.append(var)
        if not state.take(","):
            break
    state.punct(")")
    return result


_NUMBERS: Final[dict[str, int]] = {
    ".maxntid": 3, ".reqntid": 3, ".minnctapersm": 1, ".maxnctapersm": 1, ".maxnreg": 1, ".reqnctapercluster": 3,
    ".maxclusterrank": 1, ".abi_preserve": 1, ".abi_preserve_control": 1, ".local_maxnreg": 1,
}  # fmt: skip
_PLAIN: Final = frozenset((".noreturn", ".explicitcluster", ".blocksareclusters", ".unified_func_stub"))
_FUNCTION_ONLY: Final = frozenset((".noreturn", ".abi_preserve", ".abi_preserve_control", ".unified_func_stub"))
_EITHER: Final = frozenset((".local_maxnreg",))


def header_directives(state: State, function: Function) -> None:
    """Reads the directives between a function's parameters and its body."""
    lex = state.lex
    while lex.kind == T_DOT:
        word = lex.text
        if word == ".pragma":
            lex.next()
            while True:
                if lex.text[:1] != '"':
                    state.syntax()
                function.directives[f"pragma:{lex.text[1:-1]}"] = ()
                lex.next()
                if not state.take(","):
                    break
            state.punct(";")
            continue
        if word == ".attribute":
            names: list[str] = []
            read_attributes(state, names)
            for name in names:
                function.directives[f"attribute:{name}"] = ()
            continue
        if word not in _EITHER and function.entry == (word in _FUNCTION_ONLY):
            state.syntax()
        if word == ".maxnctapersm":
            if state.place.version >= 21:
                state.error(
                    "Deprecated feature: '.maxnctapersm directive' not supported as of PTX version 2.1", lex.line
                )
            else:
                state.warning(".maxnctapersm directive deprecated in PTX version 2.0, will be ignored.", lex.line)
        if word[1:] in DIRECTIVES:
            state.gate(word[1:], lex.line)
        if word in _PLAIN:
            lex.next()
            function.directives[word[1:]] = ()
            continue
        limit = _NUMBERS.get(word)
        if limit is None:
            state.syntax()
        line = lex.line
        lex.next()
        values = [integer(state)]
        while len(values) < limit and state.take(","):
            values.append(integer(state))
        if limit == 3:
            values += [1] * (3 - len(values))
        if any(v <= 0 for v in values) and word != ".reqnctapercluster":
            state.error(f"Positive non-zero value expected for {word[1:]}", line)
        function.directives[word[1:]] = tuple(values)
    directives = function.directives
    if "maxntid" in directives and "reqntid" in directives:
        state.error("Conflicting directives: .maxntid and .reqntid cannot both be specified", function.line)
    if "reqnctapercluster" in directives and "maxclusterrank" in directives:
        state.error(
            "Conflicting directives: .reqnctapercluster and .maxclusterrank cannot both be specified", function.line
        )
    if "blocksareclusters" in directives and not ("reqntid" in directives and "reqnctapercluster" in directives):
        state.error(
            ".reqntid and .reqnctapercluster directive(s) required for directive '.blocksareclusters'", function.line
        )
    if "minnctapersm" in directives and "maxntid" not in directives and "reqntid" not in directives:
        state.warning(".minnctapersm is ignored when neither .maxntid nor .reqntid is specified.", function.line)
