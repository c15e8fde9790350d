"""Declarations: variables with their initialisers, parameters, function headers (front-end inventory P5 to P14)."""

import re
from typing import Final

from orias.ptx.ast import TYPE_BITS, Function, SymInit, Var
from orias.ptx.expr import Const, constant, integer, starts_constant
from orias.ptx.gates import DIRECTIVES
from orias.ptx.lexer import MASK64, T_DOT, T_IDENT, T_INT, T_PUNCT, f32_to_f64_bits, f64_to_f32_bits
from orias.ptx.signatures import alignment, parameter, redefinition
from orias.ptx.state import MAX_NESTING, Range, State

SPACES: Final = frozenset((".reg", ".param", ".local", ".shared", ".global", ".const", ".tex"))
LINKAGE: Final = frozenset((".extern", ".visible", ".weak", ".common"))
_VARIABLE_TYPES: Final = frozenset(
    [
        "pred",
        "b8",
        "u8",
        "s8",
        "b16",
        "u16",
        "s16",
        "b32",
        "u32",
        "s32",
        "b64",
        "u64",
        "s64",
        "b128",
        "f16",
        "f16x2",
        "f32",
        "f64",
        "texref",
        "surfref",
        "samplerref",
    ]
)
_INT_LIST: Final = re.compile(r"\s*\{([-0-9xXa-fA-F,U \t\r\n]*)\}", re.A)
MAX_VARIABLE_BYTES: Final = 1 << 62


def natural_align(var: Var) -> int:
    """The alignment a variable has without .align: its element, or its whole vector."""
    return max(1, TYPE_BITS.get(var.type, 8) // 8) * var.vec


def element_bytes(type_: str) -> int:
    """Bytes of one element of a variable's type."""
    return max(1, TYPE_BITS.get(type_, 8) // 8)


class Declared:
    """The words before the names of a declaration."""

    __slots__ = ("align", "attributes", "linkage", "ptr", "ptr_align", "ptr_space", "space", "type", "vec")

    def __init__(self) -> None:
        self.linkage: str = ""
        self.space: str = ""
        self.type: str = ""
        self.vec: int = 1
        self.align: int = 0
        self.ptr: bool = False
        self.ptr_space: str = ""
        self.ptr_align: int = 0
        self.attributes: list[str] = []


def read_words(state: State, found: Declared) -> None:
    """Reads state space, alignment, vector and type words up to the first name."""
    lex = state.lex
    while lex.kind == T_DOT:
        word = lex.text
        if word == ".align":
            lex.next()
            value = integer(state) if lex.kind == T_INT else state.syntax()
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
                found.ptr_space = word[1:]
            else:
                state.syntax()
        elif word == ".ptr" and found.type:
            found.ptr = True
            state.gate("ptr", lex.line)
        elif word in (".v2", ".v4", ".v8") and found.type == "":
            found.vec = int(word[2])
        elif word[1:] in _VARIABLE_TYPES and found.type == "":
            found.type = word[1:]
            if found.type in ("b128", "f16x2"):
                state.gate(found.type, lex.line)
        else:
            state.syntax()
        lex.next()


def _constant_bank(state: State) -> None:
    """``.const[2]``, the explicit constant banks of the first versions: refused."""
    lex = state.lex
    line = lex.line
    lex.next()
    if state.take("["):
        integer(state)
        state.punct("]")
        if state.place.version >= 22:
            state.error("Deprecated feature: 'explicit constant banks' not supported as of PTX version 2.2", line)
        else:
            state.error("Constant banks 1..11 are reserved for external incomplete arrays", line)


def read_attributes(state: State, attributes: list[str]) -> None:
    """``.attribute(.managed, .unified(a, b))``."""
    lex = state.lex
    lex.next()
    state.punct("(")
    while True:
        if lex.kind != T_DOT:
            state.syntax()
        word = lex.text[1:]
        if word in ("managed", "unified"):
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


def make_var(state: State, name: str, found: Declared, line: int) -> Var:
    """The variable ``name`` with the declared properties; array dimensions are read from here."""
    var = Var(name, found.space, found.type, found.vec, line)
    var.linkage = found.linkage
    var.ptr_space = found.ptr_space if found.ptr_space else "generic" if found.ptr else ""
    var.ptr_align = found.ptr_align
    var.attributes = tuple(found.attributes)
    var.align = found.align if found.align else natural_align(var)
    if found.align < 0 or found.align & (found.align - 1):
        state.error("Alignment must be a power of two", line)
        var.align = natural_align(var)
    dims: list[int] = []
    lex = state.lex
    while state.take("["):
        if len(dims) > MAX_NESTING:
            state.syntax()
        if state.take("]"):
            dims.append(0)
            continue
        if lex.kind == T_PUNCT and lex.text in "-~!":
            state.syntax()
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


def registers(state: State, found: Declared) -> None:
    """Reads the names of a .reg declaration."""
    lex = state.lex
    scope = state.scopes[-1]
    while True:
        line = lex.line
        name = state.ident()
        if state.take("<"):
            count = lex.text
            if lex.kind != T_INT:
                state.syntax()
            lex.next()
            state.punct(">")
            if found.type == "pred" and found.vec > 1:
                state.error(_VECTOR_PRED, line)
            scope.ranges[name] = Range(
                min(int(count, 0) if not count.startswith("0") or len(count) == 1 else 0, 1 << 31),
                found.type,
                found.vec,
                line,
            )
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
                make_var(state, name, found, line)
        if lex.kind == T_PUNCT and lex.text == "=":
            _refused_initialiser(state, name, line)
        if not state.take(","):
            break
    scope.operands.clear()


_VECTOR_PRED: Final = "Predicate type can only be used to define scalar register variables"


def _refused_initialiser(state: State, name: str, line: int) -> None:
    """Reads an initialiser where there may be none."""
    state.error(f"No initial value is allowed for '{name}' in this state space", line)
    state.punct("=")
    dummy = Var(name, "global", "b64", 1, line)
    if state.lex.text == "{":
        dummy.dims = (0,)
    _initialiser(state, dummy)


def _variable_errors(state: State, var: Var) -> None:
    """What is wrong with a variable's type or place."""
    line = var.line
    if state.function is not None:
        for message in alignment(var):
            state.error(message, line)
    if var.linkage == "common" and var.space != "global":
        state.error(".common variables must be declared in .global space", line)
    if var.type == "pred":
        state.error(f"Predicate variable '{var.name}' must be in register state space", line)
    if var.vec > 1 and element_bytes(var.type) * var.vec > 16:
        state.error("Vector type too large, exceeds 128 bit limit", line)
    if var.space == "tex" and state.place.version >= 15:
        state.error("Deprecated feature: '.tex' not supported as of PTX version 1.5", line)
    if var.type == "samplerref" and "texmode_independent" not in state.module.target_options:
        state.error("Instruction or declaration violates .target texmode_unified setting", line)
    if state.function is None and var.space == "local":
        state.error("Module-scoped variables in .local state space are not allowed with ABI", line)
    elif state.function is None and var.space == "param":
        state.error("Parameter variables may not be declared at module scope", line)
    if 0 in var.dims and var.linkage != "extern" and var.space != "param":
        state.error(f"Non-external variable '{var.name}' has incomplete type", line)


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
            if var.space not in ("global", "const"):
                _refused_initialiser(state, name, line)
            else:
                lex.next()
                _initialiser(state, var)
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
    """Makes a variable known in the current scope and lists it in its function or module."""
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
    """A definition after its extern declaration: the object others refer to becomes the definition."""
    if new.linkage != "extern":
        old.linkage = new.linkage
        old.line = new.line
    old.init = new.init
    if new.size:
        old.dims = new.dims
        old.size = new.size
    old.align = max(old.align, new.align)
    old.attributes = new.attributes


# initialisers


def _initialiser(state: State, var: Var) -> None:
    lex = state.lex
    size = element_bytes(var.type)
    items: list[tuple[int, int | SymInit]] = []
    unsized = bool(var.dims) and var.dims[0] == 0
    if var.type in ("f16", "f16x2"):
        state.fatal(f"No initial value is allowed for .{var.type} type", lex.line)
    shape = [*var.dims, *([var.vec] if var.vec > 1 else [])]
    if (lex.kind == T_PUNCT and lex.text == "{") != bool(shape):
        state.fatal("Initial value type mismatch", lex.line)
    if shape:
        match = _INT_LIST.match(lex.source, lex.start)
        if match is not None and len(shape) == 1 and var.type[0] in "bus" and var.type != "b128":
            values = _int_list(match[1], size)
            if values is not None:
                if not unsized and len(values) > shape[0]:
                    state.fatal("Greater number of elements in array initializer", lex.line)
                lex.seek(match.end(), lex.line + lex.source.count("\n", lex.start, match.end()))
                var.init = [(i * size, v) for i, v in enumerate(values)]
                _grow(var, len(values))
                return
        count = _braces(state, var, size, shape, 0, 0, items)
        _grow(var, count)
    else:
        _element(state, var, size, 0, items)
    var.init = items


def _grow(var: Var, count: int) -> None:
    """An unsized array takes the size of its initialiser."""
    if var.dims and var.dims[0] == 0:
        var.dims = (count, *var.dims[1:])
        size = element_bytes(var.type) * var.vec
        for extent in var.dims:
            size *= extent
        var.size = size


def _int_list(text: str, size: int) -> list[int] | None:
    """The values of a flat list of plain integers; None if it holds anything else."""
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


def _braces(
    state: State, var: Var, size: int, shape: list[int], level: int, base: int, items: list[tuple[int, int | SymInit]]
) -> int:
    """Reads one braced level; returns the number of its entries."""
    state.punct("{")
    lex = state.lex
    step = size
    for extent in shape[level + 1 :]:
        step *= extent
    limit = shape[level] if level < len(shape) else 1
    index = 0
    if not (lex.kind == T_PUNCT and lex.text == "}"):
        while True:
            if limit and index >= limit:
                state.fatal("Greater number of elements in array initializer", lex.line)
            if lex.kind == T_PUNCT and lex.text == "{":
                if level + 1 >= len(shape):
                    state.syntax()
                _braces(state, var, size, shape, level + 1, base + index * step, items)
            else:
                _element(state, var, size, base + index * step, items)
            index += 1
            if not state.take(","):
                break
    state.punct("}")
    return index


def _element(state: State, var: Var, size: int, offset: int, items: list[tuple[int, int | SymInit]]) -> None:
    lex = state.lex
    line = lex.line
    if lex.kind == T_IDENT and lex.text != "WARP_SZ":
        items.append((offset, _symbol(state, 0)))
        return
    if not starts_constant(state):
        state.syntax()
    value = constant(state)
    if state.take("("):
        state.gate("mask", line)
        init = _symbol(state, value.value)
        state.punct(")")
        items.append((offset, init))
        return
    items.append((offset, pattern(state, value, var.type, size, line)))


def pattern(state: State, value: Const, type_: str, size: int, line: int) -> int:
    """The bit pattern that a constant gives an element of a type; ints do not fit float types nor floats int types."""
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
    if lex.kind == T_PUNCT and lex.text in "+-":
        addend += _addend(state)
    found = state.lookup(name)
    if found is None:
        state.fatal(f"Invalid initial value symbol '{name}'", line)
    state.gate("address", line)
    return SymInit(found, addend, generic, mask)


def _addend(state: State) -> int:
    lex = state.lex
    if lex.kind == T_PUNCT and lex.text in "+-":
        return integer(state)
    return 0


# parameters and function headers


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
