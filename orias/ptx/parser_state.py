"""The state of the parser: tokens, scopes, diagnostics."""

from typing import Final, NoReturn, final

from orias.diag import CompileError, Diagnostic
from orias.ptx.ast import Function, Label, Module, Operand, Var
from orias.ptx.gates import DIRECTIVES, Place, messages
from orias.ptx.lexer import T_DOT, T_END, T_FLOAT, T_IDENT, T_PUNCT, UNFINISHED, Lexer, float_overflows, overflows
from orias.ptx.names import NAMES, WORDS
from orias.ptx.special_names import SPECIAL

_TOKENS: Final = frozenset((
    "mad.lo", "mad.hi", "mad.wide", "madc.lo", "madc.hi", "mul.lo", "mul.hi", "mul.wide", "mul24.lo", "mul24.hi", "mad24.lo", "mad24.hi",
    "div.full", "cvta.to", "bar.arrive", "bar.red", "bar.warp", "barrier.cta", "sust.b", "sust.p", "suld.b", "sured.b", "fence.proxy", "shf.l",
    "shf.r", "dp2a.lo", "dp2a.hi", "pmevent.mask", "createpolicy.fractional", "wmma.load.a", "wmma.load.b", "wmma.load.c", "wmma.store.d",
    "setmaxnreg.inc", "setmaxnreg.dec", "barrier.arrive", "barrier.red", "barrier.cta.arrive", "barrier.cta.red",
    "barrier.cluster.arrive", "barrier.cluster.wait", "clusterlaunchcontrol.try_cancel.async", "createpolicy.cvt", "createpolicy.range",
    "mbarrier.arrive.expect_tx", "mbarrier.arrive_drop.expect_tx", "mbarrier.test_wait.parity", "mbarrier.try_wait.parity", "membar.proxy",
    "sured.p", "tcgen05.ld.red", "tcgen05.fence", "tcgen05.wait", "tex.base", "tex.grad", "tex.level", "txq.level",
))  # fmt: skip
"""Starts of opcodes that are one token of ptxas 13.0.88, besides the names of instructions."""
_SHORTER: Final = ("bar.warp.sync", "barrier.sync")
"""Names of instructions of which ptxas has less in one token."""
KEYWORDS: Final = ("inlined_at", "function_name", "WARP_SZ")
"""Words of ``.loc`` and the constant, which are no names."""
MOST_BLOCKS: Final = 1663
"""Blocks in each other."""
MOST_SYMBOLS: Final = 9978
"""Signs, operators, parentheses and values that wait for the rest of their expression; words of an opcode, braces in each other."""
MOST_DIGITS: Final = 4000
"""Digits of a number that are read: Python limits them."""
MOST_IN_LIST: Final = 4989
"""Elements of a vector, arguments of a call.  The stack of ptxas 13.0.88 has 10,000 places: the limits were measured, those of
expressions to within ten."""


_DOTTED: Final = sorted(
    (n for n in (*NAMES, *_TOKENS) if "." in n and "::" not in n and n not in _SHORTER), key=len, reverse=True
)
_MOST_WORDS: Final = max(n.count(".") for n in (*NAMES, *_TOKENS)) + 1
"""Words of the longest name."""


def glued_name(opcode: str) -> str:
    """The dotted name of an instruction that an opcode text begins with where a letter or digit follows it: a token that ends there; empty if there is none."""
    if opcode.count(".") == 0:
        return ""
    name = next((n for n in _DOTTED if opcode.startswith(n)), "")
    following = opcode[len(name) : len(name) + 1]
    return name if name and (following.isalnum() or following in ("_", "$")) and following else ""


@final
class Range:
    """``%r<100>``: registers that are created when first named."""

    __slots__ = ("count", "line", "type", "vec")

    def __init__(self, count: int, type_: str, vec: int, line: int) -> None:
        self.count: Final[int] = count
        self.type: Final[str] = type_
        self.vec: Final[int] = vec
        self.line: Final[int] = line


@final
class LabelUse:
    """The use of a name that can only be a label; resolved when its scope closes.  ``number``: its place in a list of targets."""

    __slots__ = ("line", "name", "number", "operand", "targets")

    def __init__(self, name: str, operand: Operand | None, targets: list[Label] | None, line: int) -> None:
        self.name: Final[str] = name
        self.operand: Final[Operand | None] = operand
        self.targets: Final[list[Label] | None] = targets
        self.number: Final[int] = 0 if targets is None else len(targets)
        self.line: Final[int] = line


@final
class Scope:
    """One nesting level of names; ``operands`` caches the operands of texts in it."""

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
    """The state of the parser.  ``diagnostics`` collects semantic errors; :meth:`fatal` ends the parse."""

    __slots__ = (
        "begun", "closing", "diagnostics", "doubles", "errors", "file_name", "function", "hidden", "last", "lex", "module", "overflows", "place", "raw_textures", "scopes",
    )  # fmt: skip

    def __init__(self, source: str, file_name: str) -> None:
        self.lex: Final[Lexer] = Lexer(source)
        self.file_name: Final[str] = file_name
        self.module: Final[Module] = Module()
        self.diagnostics: Final[list[Diagnostic]] = []
        self.errors: int = 0
        self.begun: bool = False
        """True once an item of the module is read whole."""
        self.last: Final[list[tuple[str, int]]] = []
        """Errors that ptxas reports after those of the whole text, with their lines."""
        self.closing: Final[list[tuple[str, str]]] = []
        """Remarks, with their severity, that come at the end of a text without errors."""
        self.scopes: Final[list[Scope]] = [Scope()]
        self.function: Function | None = None
        self.hidden: Final[dict[str, list[Var | Function]]] = {}
        """What is local to the inputs before this one, by its name in the text."""
        self.doubles: bool = False
        """Whether instructions on doubles are warned of."""
        self.raw_textures: bool = False
        """The mode of textures is ``texmode_raw`` where ``.target`` names none."""
        self.place: Place = Place(0, 0, "")
        """The module's declarations, known after .target."""
        self.overflows: Final[list[int]] = overflows(source)
        """Lines of too large literals that are not reported yet."""

    def error(self, message: str, line: int, column: int = 0) -> None:
        """Records an error and continues."""
        self.report_overflows(line)
        self.errors += 1
        self.diagnostics.append(Diagnostic("error", message, line, column, self.file_name))

    def report_overflows(self, line: int) -> None:
        """Records the errors of too large literals up to a line; line 0 stands for the end of the text."""
        while self.overflows and (line == 0 or self.overflows[0] <= line):
            self.errors += 1
            found = self.overflows.pop(0)
            self.diagnostics.append(Diagnostic("error", "Constant overflow", found, 0, self.file_name))

    def note(self, severity: str, message: str, line: int) -> None:
        """Records a remark that is no error."""
        self.diagnostics.append(Diagnostic(severity, message, line, 0, self.file_name))

    def warning(self, message: str, line: int) -> None:
        """Records a warning."""
        self.diagnostics.append(Diagnostic("warning", message, line, 0, self.file_name))

    def fatal(self, message: str, line: int, column: int = 0) -> NoReturn:
        """Records a fatal error and ends the parse."""
        self.report_overflows(line)
        self.errors += 1
        self.diagnostics.append(Diagnostic("fatal", message, line, column, self.file_name))
        raise Fatal

    def syntax(self) -> NoReturn:
        """Reports a syntax error at the current token."""
        lex = self.lex
        if lex.kind == T_END:
            self.fatal("Parsing error near '': syntax error", lex.line)
        if lex.text == UNFINISHED:
            self.fatal("Parsing error near '': unexpected EOF while scanning", lex.line)
        self.check_float()
        self.fatal(f"Parsing error near '{self.token()}': syntax error", lex.line, lex.column())

    def check_float(self) -> None:
        """Reports the current token if it is a float that no double holds."""
        lex = self.lex
        if lex.kind == T_FLOAT and float_overflows(lex.text):
            self.error("Constant overflow", lex.line)

    def token(self) -> str:
        """The current token as ptxas has it: the whole dotted name of an opcode."""
        lex = self.lex
        if lex.kind == T_PUNCT and lex.text == "::":
            return ":"
        if lex.kind == T_DOT and lex.text[1].isdigit() and lex.text[1:] not in WORDS:
            return lex.text[: 1 + len(lex.text[1:]) - len(lex.text[1:].lstrip("0123456789"))]
        if lex.kind != T_IDENT:
            return lex.text
        end = min(
            [k for k in (lex.source.find(c, lex.start) for c in " \t\r\f\n;,") if k >= 0], default=len(lex.source)
        )
        parts = lex.source[lex.start : end].split(".")
        names = (".".join(parts[:n]) for n in range(min(len(parts), _MOST_WORDS), 1, -1))
        found = next((n for n in names if (n in NAMES or n in _TOKENS) and n not in _SHORTER), lex.text)
        return found.partition("::")[0]

    def name(self) -> str:
        """Consumes a name: an identifier, or the dotted name of an instruction, which is one token."""
        lex = self.lex
        name = self.token()
        if "." in name:
            lex.seek(lex.start + len(name), lex.line)
        else:
            name = lex.text
            lex.next()
        return name

    def exhausted(self) -> NoReturn:
        """Reports that what is read at the current token is nested too deep, or too long."""
        self.fatal(f"Parsing error near '{self.lex.text}': memory exhausted", self.lex.line)

    def report_last(self) -> None:
        """Records the errors that come after all others; none where the parse ended in the module's first item."""
        if self.begun:
            for message, line in self.last:
                self.error(message, line)

    def failure(self) -> CompileError:
        """The exception that carries everything recorded so far."""
        return CompileError(self.diagnostics)

    def gate(self, key: str, line: int) -> None:
        """Reports a directive that the module's version or target does not have."""
        for message in messages(DIRECTIVES[key], self.place, {}):
            self.error(message, line)

    def special_gate(self, name: str) -> list[str]:
        """The messages if the module's version or target does not have a special register."""
        row = SPECIAL[name]
        place = self.place
        found: list[str] = []
        if place.version < row[2]:
            found.append(f"Feature '%{name}' requires PTX ISA .version {row[2] // 10}.{row[2] % 10} or later")
        if not place.reaches(row[3]):
            found.append(f"Feature '%{name}' requires .target sm_{row[3]} or higher")
        return found

    # tokens

    def punct(self, text: str) -> None:
        """Consumes the punctuation mark ``text``; a syntax error if it is not next."""
        lex = self.lex
        if lex.text != text or lex.kind != T_PUNCT:
            self.syntax()
        lex.next()

    def take(self, text: str) -> bool:
        """Consumes the punctuation mark ``text`` if it is next; True if it was."""
        lex = self.lex
        if lex.text == text and lex.kind == T_PUNCT:
            lex.next()
            return True
        return False

    def ident(self) -> str:
        """Consumes an identifier."""
        lex = self.lex
        if lex.kind != T_IDENT or lex.text in KEYWORDS:
            self.syntax()
        text = lex.text
        lex.next()
        return text

    # names

    def lookup(self, name: str) -> "Var | Function | None":
        """The object of a name in the current scope; creates registers of ranges on demand.  None for a label."""
        for scope in reversed(self.scopes):
            found = scope.names.get(name)
            if found is None and scope.ranges and name[-1].isdigit():
                found = self._from_range(scope, name)
            if found is None and name in scope.labels:
                return None
            if found is not None:
                if self.module.per_thread and scope is self.scopes[0] and isinstance(found, Var):
                    return self._of_kernel(found)
                return found
        return None

    def _of_kernel(self, var: Var) -> Var:
        """What stands in the current kernel for a variable of the module: its own copy of a register or a local variable.

        A copy for each kernel is enough, for a thread runs one; a function would have to share it with its callers.
        """
        function = self.function
        if function is None or var.space not in ("reg", "local"):
            return var
        if not function.entry:
            self.error(
                f"Variable '{var.name}' of the module is not supported in function '{function.name}'", self.lex.line
            )
        own = Var(var.name, var.space, var.type, var.vec, var.line)
        own.dims, own.size, own.align, own.attributes = var.dims, var.size, var.align, var.attributes
        self.scopes[1].names[var.name] = own
        if var.space == "reg":
            self.register(own)
        else:
            own.function = function
            own.index = len(function.variables)
            function.variables.append(own)
        return own

    def _from_range(self, scope: Scope, name: str) -> Var | None:
        """The register of a range: ``%r07`` is ``%r7``, of a number its lower 32 bits count (measured)."""
        stem = name.rstrip("0123456789")
        entry = scope.ranges.get(stem)
        if entry is None:
            return None
        number = int(name[len(stem) :][-MOST_DIGITS:]) & 0xFFFFFFFF
        if number >= entry.count:
            return None
        plain = f"{stem}{number}"
        var = scope.names.get(plain)
        if not isinstance(var, Var):
            var = Var(plain, "reg", entry.type, entry.vec, entry.line)
            scope.names[plain] = var
            self.register(var)
        scope.names[name] = var
        return var

    def label(self, name: str) -> Label | None:
        """The label of this name that stands before, in the innermost scope."""
        for scope in reversed(self.scopes):
            found = scope.labels.get(name)
            if found is not None:
                return found
        return None

    def unknown(self, name: str, line: int, total: Operand | None = None) -> None:
        """Notes an undefined name; it is reported at the end of its function unless it is a label, which may be in no ``total``."""
        known = self.label(name)
        if known is not None and known.is_list():
            return
        self.scopes[-1].uses.append(LabelUse(name, total, None, line))

    def in_range(self, scope: Scope, name: str) -> bool:
        """Whether a register range of a scope has a register of this name."""
        return bool(scope.ranges) and name[-1].isdigit() and self._from_range(scope, name) is not None

    def register(self, var: Var) -> None:
        """Adds a register to the current function."""
        function = self.function
        if function is not None:
            var.function = function
            var.index = len(function.regs)
            function.regs.append(var)
