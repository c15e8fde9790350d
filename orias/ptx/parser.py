"""Parses PTX text into a typed module.

The parser resolves names and checks every instruction as it reads, in one pass over the text.
Facts: docs/facts/front-end.md.
"""

import gc
from collections.abc import Sequence
from typing import Final, final

from orias.diag import CompileError, Diagnostic
from orias.knobs.knob_settings import PRAGMA
from orias.ptx.ast import Function, Module, Pragma
from orias.ptx.body import BodyReader
from orias.ptx.debug import dwarf_line, file_directive, section_directive
from orias.ptx.declaration_words import LINKAGE, SPACES, begins_declaration
from orias.ptx.declare import declaration
from orias.ptx.expr import word_value
from orias.ptx.forms import Forms
from orias.ptx.headers import check_directives, only_abi
from orias.ptx.input_scopes import end_input
from orias.ptx.lexer import T_DOT, T_END, T_PUNCT, UNFINISHED, LexError, prepare
from orias.ptx.module_directives import (
    alias_directive,
    check_parameters,
    declared,
    finish_declaration,
    header_pragmas,
    read_header,
    target_directive,
)
from orias.ptx.parser_state import Fatal, State
from orias.ptx.pragmas import ABI_REGISTERS, BODY_PRAGMAS, PRAGMAS, check_value, known_pragma, read_pragma
from orias.ptx.targets import NEWEST, VERSIONS
from orias.target import abi

_ANY_COMMENTS: Final = (9, 1)
"""Releases whose newest PTX version is this or later take any characters in comments (measured: 13.0.88 to 13.5.37)."""

LOC_WITHOUT_FILE: Final = (
    ".loc directive without .file directive is found, line information in generated binary may not be complete"
)


@final
class Parser:
    """Reads one module.

    ``newest``: the newest PTX version; ``undefined``: entries that are only declared; ``inputs``: the lines at which further
    inputs begin.
    """

    __slots__ = ("bodies", "inputs", "newest", "state", "undefined")

    def __init__(self, source: str, file_name: str, newest: tuple[int, int], inputs: list[int]) -> None:
        self.inputs: Final[list[int]] = inputs
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
            while self.inputs and lex.line >= self.inputs[0]:
                del self.inputs[0]
                end_input(state)
            self._module_item()
            state.begun = True
        state.begun = True
        self.bodies.close_scope(state.scopes[0])
        if not state.errors and not state.last:
            for severity, message in state.closing:
                (state.error if severity == "error" else state.warning)(message, 0)
        unplaced = self.bodies.any_loc and not state.module.files and not state.module.lacks_debug()
        if unplaced and not state.errors and not state.last:
            state.warning(LOC_WITHOUT_FILE, 0)
        if self.bodies.inlined and not state.errors and any(f.entry for f in state.module.functions):
            known = {".debug_str", *(label for section in state.module.sections for label in section.labels)}
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
        version = lex.text.split()[1:] if lex.kind == T_DOT and lex.text.startswith(".version") else []
        if version:
            lex.next()
        while not version and lex.kind == T_DOT and lex.text == ".target":
            # ptxas reads it before it misses the version.
            target_directive(state)
        if not version and lex.text == UNFINISHED:
            state.syntax()
        if not version:
            state.fatal(f"Missing .version directive at start of file '{state.file_name}'", lex.line)
        major, _, minor = version[0].partition(".")
        module.version = (_word(major), _word(minor))
        # ptxas takes any two numbers that make ten times the first one and the second one of a version: 3.31 as well as 6.1.
        whole = divmod(10 * module.version[0] + module.version[1], 10)
        if whole not in VERSIONS or max(whole, module.version) > self.newest:
            current = "{}.{}".format(*self.newest)
            state.fatal(f"Unsupported .version {version[0]}; current version is '{current}'", line)
        if lex.kind != T_DOT or lex.text != ".target":
            state.fatal(f"Missing .target directive at start of file '{state.file_name}'", lex.line)
        while lex.kind == T_DOT and lex.text == ".target":
            target_directive(state)
        if lex.kind == T_DOT and lex.text == ".address_size":
            line = lex.line
            lex.next()
            module.address_size = word_value(state)
            if module.version < (2, 3):
                state.error("Feature '.address_size directive' requires PTX ISA .version 2.3 or later", line)
            if module.address_size not in (32, 64):
                state.error("Illegal value for .address_size directive (must be 32 or 64)", line)

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
                elif name == ABI_REGISTERS:
                    check_value(state, text)
                elif text != "nounroll" and name not in PRAGMAS:
                    state.closing.append(("error", f"Pragma '{text}' not supported"))
        elif word == ".alias":
            alias_directive(state)
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
        header, plain, at = read_header(state)
        entry = header.entry
        function = declared(state, header, linkage, at)
        function.column = column
        defined = function.body is not None
        header = finish_declaration(state, header, function)
        header_pragmas(state, header, line)
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
            check_parameters(state, header)
        end = self.bodies.read(header)
        if entry:
            self._parameter_space(header, end)
        elif header.body is not None:
            texts = [text for text in state.module.pragmas if text.startswith(ABI_REGISTERS)]
            header.body[:0] = [Pragma(text, line) for text in texts]
        if conflict:
            state.error(f"Function definition conflicts with '.extern' declaration for function '{header.name}'", end)
        check_directives(state, header, end)

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


def _word(digits: str) -> int:
    """A number of ``.version``: one of more than 63 bits is taken for their largest number, and the lower 32 bits count."""
    digits = digits.lstrip("0")
    most = (1 << 63) - 1
    value = most if len(digits) > 19 else min(int(digits or "0"), most)
    return value & ((1 << 32) - 1)


def parse(
    text: str | bytes,
    file_name: str = "<string>",
    newest: tuple[int, int] = NEWEST,
    inputs: Sequence[int] = (),
    raw_textures: bool = False,
    doubles: bool = False,
) -> Module:
    """Reads a PTX module, of PTX version `newest` or older; raises :class:`orias.diag.CompileError` with all errors.

    `inputs`: the lines at which further inputs begin in a text of several (:func:`orias.ptx.module_inputs.input_lines`).
    Warnings of an accepted module are in ``Module.warnings``.  `raw_textures`: a module that does not say how its textures and samplers
    belong together has neither by name.  `doubles`: instructions on doubles are warned of.
    """
    if isinstance(text, bytes):
        text = text.decode("latin-1")
    nul = text.find("\0")
    try:
        source = prepare(text if nul < 0 else text[:nul], newest < _ANY_COMMENTS)
    except LexError as error:
        raise CompileError([Diagnostic("fatal", error.message, 0, 0, file_name)]) from None
    parser = Parser(source, file_name, newest, list(inputs))
    state = parser.state
    state.raw_textures = raw_textures
    state.doubles = doubles
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
