"""What the parser knows while it reads a module: tokens, scopes, diagnostics."""

from typing import Final, NoReturn, final

from orias.diag import CompileError, Diagnostic
from orias.ptx.ast import Function, Label, Module, Operand, Var
from orias.ptx.gates import DIRECTIVES, Place, messages
from orias.ptx.lexer import T_END, T_IDENT, T_PUNCT, UNFINISHED, Lexer
from orias.ptx.special import SPECIAL

MAX_NESTING: Final = 256
"""Deepest nesting of blocks, braces and parentheses; deeper text is refused (our limit, ptxas has none this low)."""


@final
class Range:
    """``%r<100>``: registers that come to be when first named."""

    __slots__ = ("count", "line", "type", "vec")

    def __init__(self, count: int, type_: str, vec: int, line: int) -> None:
        self.count: Final[int] = count
        self.type: Final[str] = type_
        self.vec: Final[int] = vec
        self.line: Final[int] = line


@final
class LabelUse:
    """A name that stood where only a label is missing; resolved when its scope closes."""

    __slots__ = ("line", "name", "operand", "targets")

    def __init__(self, name: str, operand: Operand | None, targets: list[Label] | None, line: int) -> None:
        self.name: Final[str] = name
        self.operand: Final[Operand | None] = operand
        self.targets: Final[list[Label] | None] = targets
        self.line: Final[int] = line


@final
class Scope:
    """One nesting level of names; ``operands`` caches operand texts seen in it."""

    __slots__ = ("labels", "names", "operands", "ranges", "uses")

    def __init__(self) -> None:
        self.names: Final[dict[str, Var | Function]] = {}
        self.ranges: Final[dict[str, Range]] = {}
        self.labels: Final[dict[str, Label]] = {}
        self.uses: Final[list[LabelUse]] = []
        self.operands: Final[dict[str, Operand]] = {}


class Fatal(Exception):
    """An error that ends parsing; its diagnostic is already recorded."""


@final
class State:
    """The parser's memory.  Semantic errors collect in ``diagnostics``; :meth:`fatal` ends the parse."""

    __slots__ = ("diagnostics", "errors", "file_name", "function", "lex", "module", "place", "scopes")

    def __init__(self, source: str, file_name: str) -> None:
        self.lex: Final[Lexer] = Lexer(source)
        self.file_name: Final[str] = file_name
        self.module: Final[Module] = Module()
        self.diagnostics: Final[list[Diagnostic]] = []
        self.errors: int = 0
        self.scopes: Final[list[Scope]] = [Scope()]
        self.function: Function | None = None
        self.place: Place = Place(0, 0, False, "")
        """What the module declares; set behind .target."""

    def error(self, message: str, line: int, column: int = 0) -> None:
        """Records an error and goes on."""
        self.errors += 1
        self.diagnostics.append(Diagnostic("error", message, line, column, self.file_name))

    def note(self, severity: str, message: str, line: int) -> None:
        """Records a remark that is no error."""
        self.diagnostics.append(Diagnostic(severity, message, line, 0, self.file_name))

    def warning(self, message: str, line: int) -> None:
        """Records a warning."""
        self.diagnostics.append(Diagnostic("warning", message, line, 0, self.file_name))

    def fatal(self, message: str, line: int, column: int = 0) -> NoReturn:
        """Records a fatal error and ends the parse."""
        self.errors += 1
        self.diagnostics.append(Diagnostic("fatal", message, line, column, self.file_name))
        raise Fatal

    def syntax(self) -> NoReturn:
        """The current token does not fit."""
        lex = self.lex
        if lex.kind == T_END:
            self.fatal("Parsing error near '': syntax error", lex.line)
        if lex.text == UNFINISHED:
            self.fatal("Parsing error near '': unexpected EOF while scanning", lex.line)
        self.fatal(f"Parsing error near '{lex.text}': syntax error", lex.line, lex.column())

    def failure(self) -> CompileError:
        """The exception that carries everything recorded so far."""
        return CompileError(self.diagnostics)

    def gate(self, key: str, line: int) -> None:
        """Reports a directive that the module's version or target does not have."""
        for message in messages(DIRECTIVES[key], self.place, "", ()):
            self.error(message, line)

    def special_gate(self, name: str) -> list[str]:
        """Why a special register is not there for the module's version or target."""
        row = SPECIAL[name]
        place = self.place
        found: list[str] = []
        if place.version < row[2]:
            found.append(f"Feature '%{name}' requires PTX ISA .version {row[2] // 10}.{row[2] % 10} or later")
        if place.sm < row[3]:
            found.append(f"Feature '%{name}' requires .target sm_{row[3]} or higher")
        return found

    # tokens

    def punct(self, text: str) -> None:
        """Takes the punctuation mark ``text``."""
        lex = self.lex
        if lex.text != text or lex.kind != T_PUNCT:
            self.syntax()
        lex.next()

    def take(self, text: str) -> bool:
        """Takes the punctuation mark ``text`` if it is next."""
        lex = self.lex
        if lex.text == text and lex.kind == T_PUNCT:
            lex.next()
            return True
        return False

    def ident(self) -> str:
        """Takes an identifier."""
        lex = self.lex
        if lex.kind != T_IDENT:
            self.syntax()
        text = lex.text
        lex.next()
        return text

    # names

    def lookup(self, name: str) -> "Var | Function | None":
        """What a name means here; registers of ranges come to be."""
        for scope in reversed(self.scopes):
            found = scope.names.get(name)
            if found is not None:
                return found
            if scope.ranges and name[-1].isdigit():
                var = self._from_range(scope, name)
                if var is not None:
                    return var
        return None

    def _from_range(self, scope: Scope, name: str) -> Var | None:
        ranges = scope.ranges
        stem = name.rstrip("0123456789")
        entry = ranges.get(stem)
        tail = name[len(stem) :]
        width = min(len(tail), 10)
        while (
            entry is None or not tail or len(tail) > 10 or (tail[0] == "0" and tail != "0") or int(tail) >= entry.count
        ):
            if width == 0:
                return None
            tail = name[-width:]
            entry = ranges.get(name[:-width])
            width -= 1
        var = Var(name, "reg", entry.type, entry.vec, entry.line)
        scope.names[name] = var
        self.register(var)
        return var

    def unknown(self, name: str, line: int) -> None:
        """Notes a name that nothing is called; reported where its function ends, unless it turns out to be a label."""
        self.scopes[-1].uses.append(LabelUse(name, None, None, line))

    def in_range(self, scope: Scope, name: str) -> bool:
        """Whether a register range of a scope has a register of this name."""
        return name in scope.names or (name[-1].isdigit() and self._from_range(scope, name) is not None)

    def register(self, var: Var) -> None:
        """Enters a register into the function being read."""
        function = self.function
        if function is not None:
            var.function = function
            var.index = len(function.regs)
            function.regs.append(var)
