"""Parses PTX text into a typed module.

The parser resolves names and checks every instruction as it reads, in one pass over the text.
Facts: docs/facts/front-end.md.
"""

import gc
from typing import Final, final

from orias.knobs.knob_settings import PRAGMA
from orias.ptx.ast import Function, Module, Var
from orias.ptx.body import BodyReader
from orias.ptx.debug import dwarf_line, file_directive, section_directive
from orias.ptx.declaration_words import LINKAGE, SPACES, begins_declaration, read_attributes
from orias.ptx.declare import declaration, sampler_mode, type_gate
from orias.ptx.expr import word_value
from orias.ptx.forms import Forms
from orias.ptx.headers import check_directives, header_directives, only_abi, parameters
from orias.ptx.lexer import T_DOT, T_END, T_FLOAT, T_PUNCT, LexError, prepare
from orias.ptx.parser_state import Fatal, State
from orias.ptx.pragmas import BODY_PRAGMAS, PRAGMAS, known_pragma, read_pragma
from orias.ptx.signatures import defined_parameter, prototypes
from orias.ptx.special_names import SPECIAL
from orias.ptx.targets import FIRST_VERSION, NEWEST, VERSIONS, number_of, suffix_of
from orias.target import abi

_TARGET_OPTIONS: Final = frozenset(("texmode_unified", "texmode_independent", "debug", "map_f64_to_f32"))

_LOC_WITHOUT_FILE: Final = (
    ".loc directive without .file directive is found, line information in generated binary may not be complete"
)


@final
class Parser:
    """Reads one module.  ``newest``: the newest PTX version; ``undefined``: entries that are only declared."""

    __slots__ = ("bodies", "newest", "state", "undefined")

    def __init__(self, source: str, file_name: str, newest: tuple[int, int]) -> None:
        self.newest: Final[tuple[int, int]] = newest
        self.state: Final[State] = State(source, file_name)
        self.undefined: Final[list[Function]] = []
        self.bodies: BodyReader = BodyReader(self.state, Forms(self.state))

    def run(self) -> Module:
        """Reads the whole text."""
        state = self.state
        lex = state.lex
        lex.next()
        self._preamble()
        forms = Forms(state)
        state.place = forms.checker.place
        self.bodies = BodyReader(state, forms)
        while lex.kind != T_END:
            self._module_item()
            state.begun = True
        state.begun = True
        self.bodies.close_scope(state.scopes[0])
        if not state.errors and not state.last:
            for severity, message in state.closing:
                (state.error if severity == "error" else state.warning)(message, 0)
        if self.bodies.any_loc and not state.module.files and not state.errors and not state.last:
            state.warning(_LOC_WITHOUT_FILE, 0)
        if self.bodies.inlined and not state.errors and any(f.entry for f in state.module.functions):
            known = {label for section in state.module.sections for label in section.labels}
            for name in self.bodies.inlined:
                if name not in known:
                    state.error(f"Unresolved label '{name}' used in function_name attribute.", 0)
        for function in self.undefined:
            if function.body is None and not state.errors:
                state.fatal(f"Unresolved extern function '{function.name}'", 0)
        return state.module

    def _preamble(self) -> None:
        state = self.state
        lex = state.lex
        module = state.module
        line = lex.line
        version = ""
        if lex.text == ".version":
            lex.next()
            version = lex.text
        elif lex.kind == T_DOT and lex.text == ".target":
            # ptxas reads it before it misses the version.
            self._target(self._target_names(), line)
        major, _, minor = version.partition(".")
        if lex.kind != T_FLOAT or not major.isdigit() or not minor.isdigit() or len(version) > 9:
            state.fatal(f"Missing .version directive at start of file '{state.file_name}'", lex.line)
        module.version = (int(major), int(minor))
        if module.version not in VERSIONS or module.version > self.newest:
            current = "{}.{}".format(*self.newest)
            state.fatal(f"Unsupported .version {int(major)}.{int(minor)}; current version is '{current}'", line)
        lex.next()
        if lex.kind != T_DOT or lex.text != ".target":
            state.fatal(f"Missing .target directive at start of file '{state.file_name}'", lex.line)
        while lex.kind == T_DOT and lex.text == ".target":
            line = lex.line
            self._target(self._target_names(), line)
        module.address_size = 64
        if lex.kind == T_DOT and lex.text == ".address_size":
            line = lex.line
            lex.next()
            module.address_size = word_value(state)
            if module.version < (2, 3):
                state.error("Feature '.address_size directive' requires PTX ISA .version 2.3 or later", line)
            if module.address_size not in (32, 64):
                state.error("Illegal value for .address_size directive (must be 32 or 64)", line)

    def _target_names(self) -> list[str]:
        """Reads a .target directive."""
        state = self.state
        state.lex.next()
        names = [state.ident()]
        while state.take(","):
            names.append(state.ident())
        return names

    def _target(self, names: list[str], line: int) -> None:
        """Handles the names of a .target directive."""
        state = self.state
        module = state.module
        options: list[str] = []
        for name in names:
            suffix = suffix_of(name)
            if suffix in FIRST_VERSION:
                if not module.target:
                    module.target = name
                    if module.version < FIRST_VERSION[suffix]:
                        version = f"{module.version[0]}.{module.version[1]}"
                        state.last.append((f"PTX .version {version} does not support .target {name}", line))
            elif name in _TARGET_OPTIONS:
                if name.startswith("texmode") and any(o.startswith("texmode") and o != name for o in options):
                    state.error(f"Conflicting .target option '{name}'", line)
                options.append(name)
            elif name.startswith(("sm_", "compute_")):
                state.fatal(f"Unsupported .target '{name}'", line)
        if not module.target:
            state.fatal(f"Target architecture not defined at start of file '{state.file_name}'", line)
        if "map_f64_to_f32" in options and number_of(suffix_of(module.target)) >= 13:
            state.error("Directive map_f64_to_f32 is not supported with SM 1.3 or higher", line)
        module.target_options = module.target_options + tuple(options)

    def _module_item(self) -> None:
        state = self.state
        lex = state.lex
        if lex.kind == T_PUNCT:
            if lex.text == "@@DWARF":
                dwarf_line(state)
                return
            state.syntax()
        if lex.kind != T_DOT:
            state.syntax()
        word = lex.text
        if word == ".file":
            file_directive(state)
        elif word == ".section":
            section_directive(state)
        elif word == ".pragma":
            line = lex.line
            for text in read_pragma(state):
                state.module.pragmas.append(text)
                name = text.split(" ")[0]
                if name in BODY_PRAGMAS:
                    state.error(f"Pragma '{text}' is allowed only within function scope", line)
                elif text.startswith(PRAGMA):
                    known_pragma(state, text, line)
                elif text != "nounroll" and name not in PRAGMAS:
                    state.closing.append(("error", f"Pragma '{text}' not supported"))
        elif word == ".alias":
            lex.next()
            line = lex.line
            state.gate("alias", line)
            alias = state.ident()
            state.punct(",")
            target = state.ident()
            state.punct(";")
            for name in (alias, target):
                if not isinstance(state.lookup(name), Function):
                    state.error(f"Unknown symbol '{name}'", line)
                    break
            state.module.aliases.append((alias, target))
        elif word in LINKAGE or word in SPACES or word in (".entry", ".func") or begins_declaration(word):
            linkage = declaration(state)
            if linkage is not None:
                self._function(linkage)
        else:
            state.syntax()

    def _function(self, linkage: str) -> None:
        """Reads a function: its header, and its body if it has one."""
        state = self.state
        lex = state.lex
        line = lex.line
        column = lex.column()
        header, plain = self._header()
        entry = header.entry
        function = self._declared(header, linkage)
        function.column = column
        defined = function.body is not None
        if not defined:
            function.params = header.params
            function.rets = header.rets
            function.directives.update(header.directives)
            header = function
        for index, var in enumerate([*header.rets, *header.params]):
            var.function = header
            var.index = index
        self._header_pragmas(header, line)
        end = lex.line
        if lex.kind != T_PUNCT or lex.text != "{":
            # the prototype of a function without directives needs no semicolon; that of a kernel has no directives
            if entry and not plain:
                state.syntax()
            if entry or not only_abi(header) or (lex.kind == T_PUNCT and lex.text == ";"):
                state.punct(";")
            check_directives(state, header, end)
            if entry:
                self.undefined.append(function)
            return
        conflict = not defined and "extern" in (linkage, function.linkage)
        if not entry:
            self._check_parameters(header)
        end = self.bodies.read(header)
        if entry:
            self._parameter_space(header, line)
        if conflict:
            state.error(f"Function definition conflicts with '.extern' declaration for function '{header.name}'", end)
        check_directives(state, header, end)

    def _header(self) -> tuple[Function, bool]:
        """Reads a function's header; whether it has no directives."""
        state = self.state
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
            self._unsized_results(rets)
        header = Function(state.ident(), entry, line)
        header.rets = rets
        if lex.kind == T_PUNCT and lex.text == "(":
            header.params = parameters(state, entry)
        for attribute in attributes:
            header.directives[f"attribute:{attribute}"] = ()
        if entry and (lex.kind != T_PUNCT or lex.text != ";"):
            self._check_parameters(header)
            self.bodies.repeated_names(header)
        plain = lex.kind == T_PUNCT
        header_directives(state, header)
        return header, plain

    def _header_pragmas(self, header: Function, line: int) -> None:
        """Checks the pragmas among the directives of a function."""
        for key in header.directives:
            if not key.startswith("pragma:"):
                continue
            text = key[len("pragma:") :]
            if text in BODY_PRAGMAS:
                self.state.error(f"Pragma '{text}' is allowed only within function scope", line)
            else:
                known_pragma(self.state, text, line)
            if text.startswith(PRAGMA) and not header.entry:
                self.state.error(f"Pragma '{text}' cannot be specified for a function", line)

    def _unsized_results(self, rets: list[Var]) -> None:
        for var in rets:
            if var.dims[:1] == (0,):
                self.state.error("Output parameter cannot be an incomplete array.", var.line)

    def _check_parameters(self, header: Function) -> None:
        """Checks the types and alignments of the parameters and results of a function that is defined."""
        for var in [*header.rets, *header.params]:
            type_gate(self.state, var.type, var.line, bool(var.dims))
            for message in defined_parameter(var, header.entry):
                self.state.error(message, var.line)
            sampler_mode(self.state, var.type, var.line)
            if not var.space:
                self.state.fatal("No variable storage specified", var.line)

    def _declared(self, header: Function, linkage: str) -> Function:
        """The function object of a declaration or definition: the existing one of an earlier declaration, or a new one.

        Messages have the line of the token after the header, where ptxas has read it whole.
        """
        state = self.state
        name = header.name
        line = state.lex.line
        names = state.scopes[0].names
        old = names.get(name)
        if isinstance(old, Function):
            if old.entry != header.entry:
                state.error(f"Inconsistent redefinition of '{name}' as entry and function", line)
            if old.body is not None:
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
            else:
                # The next definition is compared with this one.
                header.linkage = linkage
                names[name] = header
            return old
        if old is None and name[0] == "%" and name[1:] in SPECIAL:
            state.error(f"Inconsistent redefinition of variable '{name}'", line)
        function = Function(name, header.entry, header.line)
        function.linkage = linkage
        if old is not None:
            state.error(f"Inconsistent redefinition of variable '{name}'", line)
            state.error(f"Duplicate definition of function '{name}'", line)
            state.fatal(f"Inconsistent redefinition of symbol '{name}'", line)
        names[name] = function
        state.module.functions.append(function)
        return function

    def _parameter_space(self, function: Function, line: int) -> None:
        """Checks the total size of the parameters of an entry."""
        state = self.state
        size = 0
        for var in function.params:
            if var.align > 0:
                size = (size + var.align - 1) // var.align * var.align
            size += var.size
        limit = abi.MOST_PARAMETERS if state.module.version >= (8, 1) else abi.SMALL_PARAMETERS
        if size > limit:
            state.error(
                f"Entry function '{function.name}' uses too much parameter space (0x{size:x} bytes, 0x{limit:x} max).",
                line,
            )
            if limit == abi.SMALL_PARAMETERS:
                state.error(
                    "Feature 'Kernel parameter size larger than 4352 bytes' requires PTX ISA .version 8.1 or later",
                    line,
                )


def parse(text: str | bytes, file_name: str = "<string>", newest: tuple[int, int] = NEWEST) -> Module:
    """Reads a PTX module, of PTX version `newest` or older; raises :class:`orias.diag.CompileError` with all errors.

    Warnings of an accepted module are in ``Module.warnings``.
    """
    if isinstance(text, bytes):
        text = text.decode("latin-1")
    nul = text.find("\0")
    try:
        source = prepare(text if nul < 0 else text[:nul])
    except LexError as error:
        state = State("", file_name)
        state.error(error.message, error.line)
        raise state.failure() from None
    parser = Parser(source, file_name, newest)
    state = parser.state
    # A module is hundreds of thousands of objects without cycles: the cyclic collector would traverse them many times,
    # at half the speed of the parse (measured: 100 000 lines).
    collecting = gc.isenabled()
    gc.disable()
    try:
        module = parser.run()
        state.report_overflows(0)
        if nul >= 0:
            line = 1 + text.count("\n", 0, nul)
            state.fatal(f"Unexpected EOF encountered on line {line}", 0)
    except Fatal:
        state.report_last()
        raise state.failure() from None
    finally:
        if collecting:
            gc.enable()
    state.report_last()
    if state.errors:
        raise state.failure()
    module.warnings = state.diagnostics
    return module
