"""Reads function headers: parameters, and the directives between them and the body.

Facts: docs/facts/front-end.md (functions).
"""

from typing import Final

from orias.ptx.ast import Function, Var
from orias.ptx.declaration_words import Declared, make_var, read_attributes, read_words
from orias.ptx.expr import word_value
from orias.ptx.gates import DIRECTIVES
from orias.ptx.lexer import T_DOT, T_PUNCT, T_STRING
from orias.ptx.parser_state import State
from orias.ptx.rules import apply, parse_rows
from orias.ptx.signatures import parameter


def unsized_results(state: State, rets: list[Var]) -> None:
    """Reports results that are arrays without a size."""
    for var in rets:
        if var.dims[:1] == (0,):
            state.error("Output parameter cannot be an incomplete array.", var.line)


def parameters(state: State, entry: bool, named: bool = True) -> list[Var]:
    """Reads a parenthesised parameter list; ``named``: parameters of functions have names."""
    lex = state.lex
    state.punct("(")
    result: list[Var] = []
    if state.take(")"):
        return result
    incomplete = False
    while True:
        found = Declared()
        found.kernel = entry or not named
        read_words(state, found)
        line = lex.line
        if not found.type:
            state.syntax()
        if lex.kind == T_PUNCT and lex.text == "_":
            name = "_"
            lex.next()
            if named and not entry:
                state.error("Illegal parameter name '_'", line)
        else:
            name = state.ident()
        var = make_var(state, name, found, line, 1)
        if var.dims[:1] == (0,) and var.space != "param":
            state.error("Incomplete array parameters must be in '.param' space", line)
        for message in parameter(var, entry):
            state.error(message, lex.line)
        if lex.kind != T_PUNCT or lex.text not in (",", ")"):
            state.syntax()
        if var.dims[:1] == (0,):
            state.gate("unsized", line)
        if incomplete:
            state.error("Only the last input parameter can be an incomplete array.", line)
        incomplete = incomplete or var.dims[:1] == (0,)
        var.index = len(result)
        result.append(var)
        if not state.take(","):
            break
    if incomplete and entry:
        state.error("Parameter to entry function cannot be an incomplete array.", lex.line)
    state.punct(")")
    return result


_NUMBERS: Final[dict[str, int]] = {
    ".maxntid": 3, ".reqntid": 3, ".minnctapersm": 1, ".maxnctapersm": 1, ".maxnreg": 1, ".reqnctapercluster": 3,
    ".maxclusterrank": 1, ".abi_preserve": 1, ".abi_preserve_control": 1, ".local_maxnreg": 1,
}  # fmt: skip
_LANGUAGES: Final = frozenset(("PTX", "CUDA C++", "Fortran", "OptiX", "NVVM", "Unknown"))
"""Names that ``.language`` takes (ptxas 13.5.37)."""
_PLAIN: Final = frozenset((".noreturn", ".explicitcluster", ".blocksareclusters", ".unified_func_stub"))
_MOST: Final[dict[str, int]] = {".abi_preserve": 255, ".abi_preserve_control": 11}
"""Directives -> the highest number that they take."""
_MAY_BE_ZERO: Final = (".reqnctapercluster", ".maxclusterrank", ".abi_preserve", ".abi_preserve_control")
_CLUSTERS: Final = (".reqnctapercluster", ".maxclusterrank")
_FUNCTION_ONLY: Final = frozenset((".noreturn", ".abi_preserve", ".abi_preserve_control", ".unified_func_stub"))
_EITHER: Final = frozenset((".local_maxnreg", ".language"))


_CONFLICTS: Final = parse_rows("""
maxntid reqntid -> Conflicting directives: .maxntid and .reqntid cannot both be specified
blocksareclusters !reqntid | blocksareclusters !reqnctapercluster | blocksareclusters reqnctapercluster=zero -> .reqntid and .reqnctapercluster directive(s) required for directive '.blocksareclusters'
""")
"""Rules between directives, as in :mod:`orias.ptx.rules`."""


_SEVERAL: Final = "Multiple return parameters require .register state space"


def header_directives(state: State, function: Function) -> None:
    """Reads the directives between a function's parameters and its body."""
    lex = state.lex
    directives = function.directives
    several = len(function.rets) > 1 and any(v.space == "param" for v in function.rets)
    while lex.kind == T_DOT:
        if several and not lex.text.startswith(".abi_preserve"):
            state.error(_SEVERAL, lex.line)
            several = False
        if lex.text == ".unique":
            state.syntax()
        if lex.text == ".pragma":
            if state.function is not None:
                break
            _pragmas(state, function)
            if not function.entry:
                break  # the semicolon of the pragma is that of a prototype
        elif lex.text == ".attribute":
            names: list[str] = []
            read_attributes(state, names)
            for name in names:
                directives[f"attribute:{name}"] = ()
        elif not _directive(state, function):
            break
    if several:
        state.error(_SEVERAL, lex.line)
    if "noreturn" in directives and function.rets:
        state.error(f"Invalid directive '.noreturn' for function '{function.name}'", function.line)


def only_abi(function: Function) -> bool:
    """Whether a function has no directives but those on preserved registers (and pragmas)."""
    return all(word.startswith(("abi_preserve", "pragma:", "attribute:")) for word in function.directives)


def check_directives(state: State, function: Function, line: int) -> None:
    """Reports what is wrong between the directives of a function that is read whole; ``line`` is its last."""
    directives = function.directives
    if (
        ("minnctapersm" in directives or "maxnctapersm" in directives)
        and "maxntid" not in directives
        and "reqntid" not in directives
    ):
        state.warning(".minnctapersm is ignored when neither .maxntid nor .reqntid is specified.", line)
    for message in apply(_CONFLICTS, {word: _fact(word, n) for word, n in directives.items()}, [], state.place):
        state.error(message, line)


def _fact(word: str, numbers: tuple[int, ...]) -> str:
    """The value of a directive for the rules: its name, or zero."""
    return "zero" if 0 in numbers else word


def _pragmas(state: State, function: Function) -> None:
    """Reads ``.pragma "a", "b";``, without the semicolon where it ends the prototype of a function."""
    lex = state.lex
    lex.next()
    while True:
        if lex.text[:1] != '"':
            state.syntax()
        function.directives[f"pragma:{lex.text[1:-1]}"] = ()
        lex.next()
        if not state.take(","):
            break
    if function.entry:
        state.punct(";")


def _directive(state: State, function: Function) -> bool:
    """Reads one directive and its numbers; False if there is none."""
    lex = state.lex
    word = lex.text
    line = lex.line
    if word not in _EITHER and function.entry == (word in _FUNCTION_ONLY):
        return False
    if word == ".language":
        state.gate(word[1:], line)
        lex.next()
        if lex.kind != T_STRING:
            state.syntax()
        if lex.text[1:-1] not in _LANGUAGES:
            state.error(f"Parsing error near '{lex.text[1:-1]}': Invalid language name", lex.line)
        lex.next()
        return True
    if word in _PLAIN:
        if word == ".noreturn" and any(not name.startswith("attribute:") for name in function.directives):
            state.syntax()  # it stands before the others
        if word[1:] in DIRECTIVES:
            state.gate(word[1:], line)
        lex.next()
        function.directives[word[1:]] = ()
        return True
    limit = _NUMBERS.get(word)
    if limit is None:
        return False
    lex.next()
    end = lex.line
    values = [word_value(state)]
    while len(values) < limit and state.take(","):
        end = lex.line
        values.append(word_value(state))
    if len(values) < limit:
        end = lex.line  # a list that could go on ends with what follows it
    if word[1:] in DIRECTIVES:
        state.gate(word[1:], end)
    if limit == 3:
        values += [1] * (3 - len(values))
    if word == ".maxnctapersm":
        if state.place.version >= 21:
            state.error("Deprecated feature: '.maxnctapersm directive' not supported as of PTX version 2.1", line)
        else:
            state.warning(".maxnctapersm directive deprecated in PTX version 2.0, will be ignored.", line)
    if any(v <= 0 for v in values) and word not in _MAY_BE_ZERO:
        state.error(f"Positive non-zero value expected for {word[1:]}", line if limit == 1 else end)
        return True
    if values[0] > _MOST.get(word, values[0]):
        state.error(f"{word} {values[0]} is invalid for {state.place.target}", line)
    function.directives[word[1:]] = tuple(values)
    if word in _CLUSTERS and all(w[1:] in function.directives for w in _CLUSTERS):
        at = end if limit == 1 else lex.line
        state.error(f"Conflicting directives: {_CLUSTERS[0]} and {_CLUSTERS[1]} cannot both be specified", at)
    return True
