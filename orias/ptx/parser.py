"""PTX text to a typed module.

Names are resolved while reading; statements of the usual shapes (one instruction on one line) take a fast way with
one regular expression and dictionary lookups, everything else goes through the token grammar.  Facts: front-end
inventory, sections 1 (L, P, I rows) and 2.2, asked of ptxas 13.0.88.
"""

import gc
import re
from typing import Final, final

from orias.ptx.ast import (
    O_ADDR,
    O_FUNC,
    O_LABEL,
    O_REG,
    Function,
    Instr,
    Label,
    Loc,
    Module,
    Operand,
    Pragma,
    Sig,
    Var,
)  # fmt: skip
from orias.ptx.check import Checked, Checker
from orias.ptx.debug import LOC, dwarf_line, file_directive, loc_directive, section_directive
from orias.ptx.declare import (
    LINKAGE,
    SPACES,
    Declared,
    header_directives,
    parameters,
    read_attributes,
    read_words,
    registers,
    variables,
)
from orias.ptx.expr import integer
from orias.ptx.gates import DIRECTIVES
from orias.ptx.lexer import T_DOT, T_END, T_FLOAT, T_IDENT, T_PUNCT, T_STRING, LexError, prepare
from orias.ptx.opcode import OpcodeError, parse_opcode
from orias.ptx.operands import label_operand, name_operand, operand, quick_operand
from orias.ptx.signatures import alignment, call_errors, prototypes
from orias.ptx.special import SPECIAL
from orias.ptx.state import MAX_NESTING, Fatal, LabelUse, Scope, State
from orias.ptx.targets import FIRST_VERSION, NEWEST, VERSIONS, number_of, suffix_of

_STATEMENT: Final = re.compile(
    r"([ \t\r\f\n]*)(?:@(!?)([%$_A-Za-z][A-Za-z0-9_$]*)[ \t]+)?"
    r"([a-z][a-z0-9_]*(?:\.[A-Za-z0-9_]+(?:::[A-Za-z0-9_]+)*)*)(?:[ \t]+([^;\n\"]*))?;",
    re.A,
)
_LABEL: Final = re.compile(
    r"([ \t\r\f\n]*)([A-Za-z$_%][A-Za-z0-9_$]*)[ \t]*:(?!:)[ \t]*(?=\n)(?![ \t\r\f\n]*\.[bc])", re.A
)
_OPCODE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_$]*(?:\.[A-Za-z0-9_$]+(?:::[A-Za-z0-9_]+)*)*", re.A)

_TARGET_OPTIONS: Final = frozenset(("texmode_unified", "texmode_independent", "debug", "map_f64_to_f32"))

_LOC_WITHOUT_FILE: Final = (
    ".loc directive without .file directive is found, line information in generated binary may not be complete"
)

PLAIN: Final = 0
BRANCH: Final = 1
CALL: Final = 2
INDEXED: Final = 3
PRAGMAS: Final[dict[str, tuple[int, int]]] = {
    "nounroll": (0, 0),
    "used_bytes_mask": (8, 3),
    "enable_smem_spilling": (8, 7),
    "frequency": (9, 0),
    "abi_param_reg": (0, 0),
}
"""Pragmas that ptxas 13.0.88 knows, with their first PTX version (front-end inventory P16)."""
_BODY_PRAGMAS: Final = ("enable_smem_spilling", "used_bytes_mask", "frequency")
_SPECIAL_FORMS: Final = {"bra": BRANCH, "call": CALL, "brx.idx": INDEXED}


@final
class Form:
    """One opcode text: its Sig, and how its operands are read.  ``seen``: operand classes that passed the checks."""

    __slots__ = ("checked", "seen", "shape", "sig")

    def __init__(self, sig: Sig, checked: Checked) -> None:
        self.sig: Final[Sig] = sig
        self.checked: Final[Checked] = checked
        self.shape: Final[int] = _SPECIAL_FORMS.get(sig.name, PLAIN)
        self.seen: Final[set[tuple[str, ...]]] = set()


@final
class Parser:
    """Reads one module."""

    __slots__ = ("any_loc", "bad", "checker", "forms", "inlined", "located", "state", "undefined")

    def __init__(self, source: str, file_name: str) -> None:
        self.state: Final[State] = State(source, file_name)
        self.forms: Final[dict[str, Form]] = {}
        self.bad: Final[dict[str, list[str]]] = {}
        self.checker: Checker = Checker(self.state.module)
        self.located: Final[set[tuple[int, int, int]]] = set()
        """Positions of the .loc directives of the function being read."""
        self.any_loc: bool = False
        self.inlined: Final[list[str]] = []
        """Labels that .loc directives name as functions."""
        self.undefined: Final[list[Function]] = []

    # module level

    def run(self) -> Module:
        """Reads the whole text."""
        state = self.state
        lex = state.lex
        lex.next()
        self._preamble()
        self.checker = Checker(state.module)
        state.place = self.checker.place
        while lex.kind != T_END:
            self._module_item()
        self._close_scope(state.scopes[0])
        if self.any_loc and not state.module.files and not state.errors:
            state.warning(_LOC_WITHOUT_FILE, 0)
        if self.inlined and not state.errors:
            known = {label for section in state.module.sections for label in section.labels}
            for name in self.inlined:
                if name not in known:
                    state.error(f"Unresolved label '{name}' used in function_name attribute.", 0)
        for function in self.undefined:
            if function.body is None:
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
        major, _, minor = version.partition(".")
        if lex.kind != T_FLOAT or not major.isdigit() or not minor.isdigit() or len(version) > 9:
            state.fatal(f"Missing .version directive at start of file '{state.file_name}'", lex.line)
        module.version = (int(major), int(minor))
        if module.version not in VERSIONS:
            state.fatal(f"Unsupported .version {int(major)}.{int(minor)}; current version is '{NEWEST}'", line)
        lex.next()
        if lex.kind != T_DOT or lex.text != ".target":
            state.fatal(f"Missing .target directive at start of file '{state.file_name}'", lex.line)
        while lex.kind == T_DOT and lex.text == ".target":
            line = lex.line
            lex.next()
            names = [state.ident()]
            while state.take(","):
                names.append(state.ident())
            self._target(names, line)
        module.address_size = 64
        if lex.kind == T_DOT and lex.text == ".address_size":
            line = lex.line
            lex.next()
            module.address_size = integer(state)
            if module.version < (2, 3):
                state.error("Feature '.address_size directive' requires PTX ISA .version 2.3 or later", line)
            if module.address_size not in (32, 64):
                state.error("Illegal value for .address_size directive (must be 32 or 64)", line)

    def _target(self, names: list[str], line: int) -> None:
        """Takes the names of a .target directive."""
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
                        state.error(f"PTX .version {version} does not support .target {name}", line)
            elif name in _TARGET_OPTIONS:
                if name.startswith("texmode") and any(o.startswith("texmode") and o != name for o in options):
                    state.error(f"Conflicting .target option '{name}'", line)
                options.append(name)
            elif not name.startswith("lto_"):
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
            for text in self._pragma():
                state.module.pragmas.append(text)
                name = text.split(" ")[0]
                if name in _BODY_PRAGMAS:
                    state.error(f"Pragma '{name}' is allowed only within function scope", line)
                elif text != "nounroll" and name not in PRAGMAS:
                    state.error(f"Pragma '{text}' not supported", 0)
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
        elif word == ".loc":
            loc_directive(state)
        elif word in LINKAGE or word in SPACES or word in (".entry", ".func", ".attribute", ".align") or word[1:] in (
            "texref", "surfref", "samplerref",
        ):  # fmt: skip
            self._declaration()
        else:
            state.syntax()

    def _pragma(self) -> list[str]:
        state = self.state
        lex = state.lex
        lex.next()
        texts: list[str] = []
        while True:
            if lex.kind != T_STRING:
                state.syntax()
            texts.append(lex.text[1:-1])
            lex.next()
            if not state.take(","):
                break
        state.punct(";")
        return texts

    def _declaration(self) -> None:
        state = self.state
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
            self._function(found.linkage)
            return
        read_words(state, found)
        if not found.type or not found.space:
            state.syntax()
        if found.space == "reg":
            if state.function is None:
                state.error("Module-scoped variables in .reg state space are not allowed with ABI", lex.line)
            registers(state, found)
        else:
            variables(state, found)
        state.punct(";")

    def _function(self, linkage: str) -> None:
        state = self.state
        lex = state.lex
        line = lex.line
        column = lex.column()
        entry = lex.text == ".entry"
        lex.next()
        attributes: list[str] = []
        while lex.kind == T_DOT and lex.text == ".attribute":
            read_attributes(state, attributes)
        rets: list[Var] = []
        if not entry and lex.kind == T_PUNCT and lex.text == "(":
            rets = parameters(state, False)
        name = state.ident()
        params: list[Var] = []
        if lex.kind == T_PUNCT and lex.text == "(":
            params = parameters(state, entry)
        function = self._declared(name, entry, line, rets, params, linkage)
        function.column = column
        header = function if function.body is None else Function(name, entry, line)
        header.params = params
        header.rets = rets
        for index, var in enumerate([*rets, *params]):
            var.function = header
            var.index = index
        for attribute in attributes:
            header.directives[f"attribute:{attribute}"] = ()
        header_directives(state, header)
        for key in header.directives:
            if key.startswith("pragma:"):
                if key[7:] in _BODY_PRAGMAS:
                    state.error(f"Pragma '{key[7:]}' is allowed only within function scope", line)
                else:
                    self._known_pragma(key[7:], line)
        if state.take(";"):
            if entry:
                self.undefined.append(function)
            return
        if lex.kind != T_PUNCT or lex.text != "{":
            state.syntax()
        if header is not function:
            state.error(f"Duplicate definition of function '{name}'", line)
        elif linkage == "extern":
            state.error(f"Function definition conflicts with '.extern' declaration for function '{name}'", line)
        if entry:
            self._parameter_space(header, line)
        else:
            for var in [*rets, *params]:
                for message in alignment(var):
                    state.error(message, var.line)
        self._body(header)

    def _declared(
        self, name: str, entry: bool, line: int, rets: list[Var], params: list[Var], linkage: str
    ) -> Function:
        """The function object of a declaration or definition: the one declared before, or a new one."""
        state = self.state
        names = state.scopes[0].names
        old = names.get(name)
        if isinstance(old, Function):
            for message in prototypes(old, rets, params):
                state.error(message, line)
            if linkage != "extern" or not old.linkage:
                old.linkage = linkage
            if old.body is None:
                old.line = line
            return old
        function = Function(name, entry, line)
        function.linkage = linkage
        if old is not None:
            state.error(f"Inconsistent redefinition of variable '{name}'", line)
            state.error(f"Duplicate definition of function '{name}'", line)
            state.fatal(f"Inconsistent redefinition of symbol '{name}'", line)
        names[name] = function
        state.module.functions.append(function)
        return function

    def _parameter_space(self, function: Function, line: int) -> None:
        """Adds up the parameters of an entry."""
        state = self.state
        size = 0
        for var in function.params:
            if var.align > 0:
                size = (size + var.align - 1) // var.align * var.align
            size += var.size
        limit = 0x7FFC if state.module.version >= (8, 1) else 0x1100
        if size > limit:
            state.error(
                f"Entry function '{function.name}' uses too much parameter space (0x{size:x} bytes, 0x{limit:x} max).",
                line,
            )
            if limit == 0x1100:
                state.error(
                    "Feature 'Kernel parameter size larger than 4352 bytes' requires PTX ISA .version 8.1 or later",
                    line,
                )

    def _known_pragma(self, text: str, line: int) -> None:
        """Warns of a pragma that ptxas does not know; reports one that the PTX version does not have."""
        state = self.state
        name = text.split(" ")[0]
        first = PRAGMAS.get(name)
        if first is None or (name == "nounroll" and text != name):
            state.warning(f"Pragma '{text}' unsupported", 0)
        elif state.module.version < first:
            state.error(f"Feature '{name}' requires PTX ISA .version {first[0]}.{first[1]} or later", line)

    # bodies

    def _body(self, function: Function) -> None:
        state = self.state
        lex = state.lex
        state.function = function
        function.body = []
        function.regs = []
        function.variables = []
        function.labels = []
        self.located.clear()
        scope = Scope()
        for var in [*function.rets, *function.params]:
            if var.name == "_":
                continue
            if var.name in scope.names:
                state.error(f"Duplicate definition of variable '{var.name}'", var.line)
            scope.names[var.name] = var
            if var.space == "reg":
                state.register(var)
        state.scopes.append(scope)
        self._statements(function, lex.pos, lex.line)
        state.function = None
        self.any_loc = self.any_loc or bool(self.located)

    def _statements(self, function: Function, pos: int, line: int) -> None:
        """Reads statements from behind the opening brace to the closing one; the lexer then stands behind it."""
        state = self.state
        lex = state.lex
        source = lex.source
        body = function.body
        assert body is not None
        forms = self.forms
        match_statement = _STATEMENT.match
        match_label = _LABEL.match
        match_loc = LOC.match
        located = self.located
        base = len(state.scopes)
        operands = state.scopes[-1].operands
        while True:
            match = match_statement(source, pos)
            if match is None:
                found = match_label(source, pos)
                if found is not None:
                    line += found[1].count("\n")
                    self._label(function, found[2], line)
                    pos = found.end()
                    continue
                found = match_loc(source, pos)
                if found is not None:
                    line += source.count("\n", pos, found.end())
                    loc = Loc(int(found[1]), int(found[2]), int(found[3]))
                    located.add((loc.file, loc.line, loc.column))
                    body.append(loc)
                    pos = found.end()
                    continue
            else:
                blank, bang, guard, opcode, text = match.groups()
                form = forms.get(opcode)
                if form is None:
                    form = self._new_form(opcode)
                if form is not None:
                    shape = form.shape
                    ops: list[Operand] | None = []
                    pred: Operand | None = None
                    if guard is not None:
                        pred = self._guard(guard, bang)
                    if (guard is None or pred is not None) and ops is not None:
                        if shape == PLAIN:
                            if text:
                                if "{" in text or ("," in text and "[" in text):
                                    parts = _split(text)
                                else:
                                    parts = text.split(",")
                                for part in parts:
                                    part = part.strip()
                                    op = operands.get(part)
                                    if op is None:
                                        op = quick_operand(state, part)
                                        if op is None:
                                            ops = None
                                            break
                                        operands[part] = op
                                    ops.append(op)
                        elif shape == BRANCH and text is not None and not form.checked.errors:
                            name = text.strip()
                            if name.replace("$", "_").isidentifier() and state.lookup(name) is None:
                                ops.append(label_operand(state, name, line + blank.count("\n")))
                            else:
                                ops = None
                        else:
                            ops = None
                        if ops is not None:
                            start = len(blank)
                            newline = blank.rfind("\n")
                            if newline >= 0:
                                line += blank.count("\n")
                                column = start - newline
                            else:
                                column = pos + start - source.rfind("\n", 0, pos + start)
                            instr = Instr(form.sig, ops, pred, line, column)
                            if shape == PLAIN and tuple([op.key for op in ops]) not in form.seen:
                                self._verify(form, instr)
                            body.append(instr)
                            pos = match.end()
                            continue
            # the grammar's way
            lex.seek(pos, line)
            if lex.kind == T_PUNCT and lex.text == "{":
                if len(state.scopes) - base > MAX_NESTING:
                    state.syntax()
                state.scopes.append(Scope())
            elif lex.kind == T_PUNCT and lex.text == "}":
                self._close_scope(state.scopes[-1])
                state.scopes.pop()
                if len(state.scopes) < base:
                    lex.next()
                    return
            elif self._statement(function):
                pos, line = lex.start + 1, lex.line
                operands = state.scopes[-1].operands
                continue
            else:
                pos, line = lex.start, lex.line
                operands = state.scopes[-1].operands
                continue
            pos, line = lex.pos, lex.line
            operands = state.scopes[-1].operands

    def _new_form(self, opcode: str) -> Form | None:
        if opcode in self.bad:
            return None
        try:
            sig = parse_opcode(opcode)
            form = Form(sig, self.checker.opcode(sig))
        except OpcodeError as error:
            self.bad[opcode] = error.messages
            return None
        self.forms[opcode] = form
        return form

    def _guard(self, name: str, bang: str) -> Operand | None:
        cache = self.state.scopes[-1].operands
        key = "!" + name if bang else name
        found = cache.get(key)
        if found is None:
            plain = name_operand(self.state, name, 0)
            if plain.kind != O_REG or plain.var is None or plain.var.type != "pred":
                return None
            found = plain
            if bang:
                plain.neg = True
                plain.key = "!" + plain.key
            cache[key] = found
        return found

    def _label(self, function: Function, name: str, line: int) -> Label:
        state = self.state
        labels = state.scopes[-1].labels
        label = Label(name, len(function.labels), line)
        if name in labels:
            state.error(f"Duplicate definition of label '{name}'", line)
        else:
            labels[name] = label
        function.labels.append(label)
        assert function.body is not None
        function.body.append(label)
        return label

    def _close_scope(self, scope: Scope) -> None:
        """Resolves the label uses of a scope, or hands them to the one around it."""
        state = self.state
        scopes = state.scopes
        outer = scopes[-2] if len(scopes) > 2 else None
        for use in scope.uses:
            label = scope.labels.get(use.name)
            if label is not None:
                if use.operand is not None:
                    use.operand.label = label
                    if label.targets is not None or label.proto is not None:
                        state.error("Label expected for argument 0 of instruction 'bra'", use.line)
                if use.targets is not None:
                    use.targets.append(label)
            elif outer is not None:
                outer.uses.append(use)
            else:
                state.error(f"Unknown symbol '{use.name}'", use.line)

    def _statement(self, function: Function) -> bool:
        """Reads one statement by the grammar.

        True if the lexer stands on its last token (a semicolon), False if on the token behind it.
        """
        state = self.state
        lex = state.lex
        body = function.body
        assert body is not None
        if lex.kind == T_DOT:
            return self._body_directive(function)
        pred: Operand | None = None
        no_predicate = ""
        line = lex.line
        column = lex.column()
        if lex.kind == T_PUNCT and lex.text == "@":
            lex.next()
            negated = state.take("!")
            if lex.kind != T_IDENT:
                state.syntax()
            name = lex.text
            lex.next()
            pred = self._guard(name, "!" if negated else "")
            if pred is None:
                no_predicate = name
        if lex.kind != T_IDENT:
            if lex.kind == T_PUNCT and lex.text == "@@DWARF":
                dwarf_line(state)
                return False
            state.syntax()
        match = _OPCODE.match(lex.source, lex.start)
        if match is not None and pred is None:
            behind = lex.source[match.end() : match.end() + 1]
            if behind == ":" or "." not in match.group():
                start, at = lex.start, lex.line
                name = lex.text
                lex.next()
                if lex.kind == T_PUNCT and lex.text == ":":
                    self._labelled(function, name, line)
                    return False
                lex.seek(start, at)
        elif match is None:
            name = lex.text
            lex.next()
            if pred is None and lex.kind == T_PUNCT and lex.text == ":":
                self._labelled(function, name, line)
                return False
            state.syntax()
        assert match is not None
        opcode = match.group()
        lex.seek(match.end(), lex.line)
        while lex.kind == T_DOT:
            opcode += lex.text
            lex.next()
        form = self.forms.get(opcode) or self._new_form(opcode)
        if no_predicate:
            state.error("Predicate expression expected", line, column)
            if state.lookup(no_predicate) is None:
                state.error(f"Unknown symbol '{no_predicate}'", line, column)
        if form is None:
            self._unusable(self.bad[opcode], line, column)
            return True
        if form.shape == CALL:
            instr = self._call(form, pred, line, column)
        else:
            instr = Instr(form.sig, [], pred, line, column)
            if lex.kind != T_PUNCT or lex.text != ";":
                while True:
                    instr.ops.append(self._operand(form, line))
                    if not state.take(","):
                        break
        if lex.kind != T_PUNCT or lex.text != ";":
            state.syntax()
        if form.shape != CALL:
            self._verify(form, instr)
        body.append(instr)
        return True

    def _unusable(self, messages: list[str], line: int, column: int) -> None:
        """Reports an opcode that is none; its operands still have to be operands."""
        state = self.state
        lex = state.lex
        if lex.kind != T_PUNCT or lex.text != ";":
            while True:
                operand(state)
                if not state.take(","):
                    break
        if lex.kind != T_PUNCT or lex.text != ";":
            state.syntax()
        for message in messages:
            state.error(message, line, column)

    def _verify(self, form: Form, instr: Instr) -> None:
        """Checks an instruction against its row; remembers operand classes that are fine."""
        state = self.state
        checked = form.checked
        line = instr.line
        if checked.row is None:
            for message in checked.errors:
                state.error(message, line, instr.column)
            return
        unknown: list[str] = []
        messages: list[str] = []
        for op in instr.ops:
            _unknown_names(op, unknown)
        lost = any(op.kind == O_ADDR and op.name and op.var is None for op in instr.ops)
        if lost:
            messages = [f"Illegal operand type to instruction '{checked.name}'"]
        else:
            messages = self.checker.operands(checked, instr)
        for message in messages:
            if message.startswith("Result discard mode"):
                state.fatal(message, line, instr.column)
            state.error(message, line, instr.column)
        if form.shape == PLAIN:
            for name in unknown:
                state.error(f"Unknown symbol '{name}'", line, instr.column)
        if not (messages and messages[0].startswith("Arguments mismatch")):
            for message in checked.errors:
                state.error(message, line, instr.column)
            late = self.checker.values(checked, instr)
            for message in late:
                state.error(message, line, instr.column)
            _index_to_address(instr, checked)
            if not messages and not checked.errors and not checked.values:
                form.seen.add(tuple([op.key for op in instr.ops]))

    def _operand(self, form: Form, line: int) -> Operand:
        state = self.state
        lex = state.lex
        if form.shape in (BRANCH, INDEXED) and lex.kind == T_IDENT:
            name = lex.text
            found = state.lookup(name)
            if found is None and not (name[0] == "%" and name[1:] in SPECIAL):
                lex.next()
                if form.shape == INDEXED:
                    return self._target_list(name, line)
                return label_operand(state, name, line)
        return operand(state)

    def _target_list(self, name: str, line: int) -> Operand:
        """The operand of brx.idx that names a .branchtargets list, which stands before it."""
        state = self.state
        result = Operand(O_LABEL)
        result.name = name
        result.key = "l"
        for scope in reversed(state.scopes):
            result.label = scope.labels.get(name)
            if result.label is not None:
                if result.label.targets is None:
                    state.error(
                        "Label with '.branchtargets' directive expected for argument 1 of instruction 'brx.idx'", line
                    )
                return result
        state.error("Arguments mismatch for instruction 'brx.idx'", line)
        state.error(f"Unknown symbol '{name}'", line)
        return result

    def _unknown(self, op: Operand, line: int) -> None:
        """Registers the unresolved names of an operand as label uses."""
        if op.kind == O_LABEL and op.label is None:
            self.state.scopes[-1].uses.append(LabelUse(op.name, op, None, line))
        elif op.name and op.var is None and op.kind == O_ADDR:
            self.state.error(f"Unknown symbol '{op.name}'", line)
        for elem in op.elems:
            self._unknown(elem, line)

    def _skip(self) -> None:
        """Goes to the semicolon that ends a statement."""
        lex = self.state.lex
        while not (lex.kind == T_PUNCT and lex.text == ";"):
            if lex.kind == T_END or (lex.kind == T_PUNCT and lex.text in "@"):
                self.state.syntax()
            lex.next()

    def _call(self, form: Form, pred: Operand | None, line: int, column: int) -> Instr:
        state = self.state
        lex = state.lex
        instr = Instr(form.sig, [], pred, line, column)
        if lex.kind == T_PUNCT and lex.text == "(":
            instr.rets = self._arguments(line)
            state.punct(",")
        if lex.kind != T_IDENT:
            state.syntax()
        name = lex.text
        lex.next()
        callee = name_operand(state, name, line)
        if callee.kind not in (O_FUNC, O_REG):
            state.error(f"Call to '{name}' requires call prototype", line)
            state.error(f"Unknown symbol '{name}'", line)
        instr.ops.append(callee)
        if state.take(","):
            if lex.kind == T_PUNCT and lex.text == "(":
                instr.args = self._arguments(line)
                if state.take(","):
                    instr.proto = self._proto(line)
            else:
                instr.proto = self._proto(line)
            if callee.kind == O_REG:
                state.gate("indirect call", line)
        elif callee.kind == O_REG:
            state.error("Label expected for argument 0 of instruction 'call'", line)
        self._check_call(instr, callee)
        return instr

    def _check_call(self, instr: Instr, callee: Operand) -> None:
        """Checks the arguments of a call against the function or the prototype."""
        state = self.state
        function = callee.func
        if function is None:
            function = instr.proto.proto if instr.proto is not None else None
        elif function.entry:
            state.error("Illegal call target, device function expected", instr.line)
        if function is not None:
            for message in call_errors(function, instr.rets, instr.args):
                state.error(message, instr.line)

    def _proto(self, line: int) -> Label | None:
        state = self.state
        name = state.ident()
        for scope in reversed(state.scopes):
            label = scope.labels.get(name)
            if label is not None:
                return label
        found = state.lookup(name)
        if isinstance(found, Function):
            label = Label(name, -1, line)
            label.proto = found
            return label
        state.error(f"Unknown symbol '{name}'", line)
        state.error("Arguments mismatch for instruction 'call'", line)
        state.error(f"Unknown symbol '{name}'", line)
        return None

    def _arguments(self, line: int) -> list[Operand]:
        state = self.state
        state.punct("(")
        result: list[Operand] = []
        if state.take(")"):
            return result
        while True:
            op = operand(state)
            self._unknown(op, line)
            result.append(op)
            if not state.take(","):
                break
        state.punct(")")
        return result

    def _labelled(self, function: Function, name: str, line: int) -> None:
        """Behind ``name`` and on ``:``; lists and prototypes belong to their label."""
        state = self.state
        lex = state.lex
        label = self._label(function, name, line)
        lex.next()
        if lex.kind != T_DOT or lex.text not in (".branchtargets", ".calltargets", ".callprototype"):
            return
        assert function.body is not None
        function.body.pop()
        function.labels.pop()
        word = lex.text
        state.gate(word[1:], lex.line)
        lex.next()
        if word == ".branchtargets":
            label.targets = []
            while True:
                at = lex.line
                state.scopes[-1].uses.append(LabelUse(state.ident(), None, label.targets, at))
                if not state.take(","):
                    break
        elif word == ".calltargets":
            label.functions = []
            while True:
                at = lex.line
                target = state.ident()
                found = state.lookup(target)
                if isinstance(found, Function):
                    label.functions.append(found)
                else:
                    state.error(f"Unknown symbol '{target}'", at)
                if not state.take(","):
                    break
            label.proto = label.functions[0] if label.functions else None
        else:
            proto = Function(name, False, line)
            if lex.kind == T_PUNCT and lex.text == "(":
                proto.rets = parameters(state, False)
            if lex.kind == T_PUNCT and lex.text == "_":
                lex.next()
            else:
                state.ident()
            if lex.kind == T_PUNCT and lex.text == "(":
                proto.params = parameters(state, False)
            header_directives(state, proto)
            label.proto = proto
        state.punct(";")

    def _body_directive(self, function: Function) -> bool:
        state = self.state
        lex = state.lex
        body = function.body
        assert body is not None
        word = lex.text
        if word == ".pragma":
            line = lex.line
            for text in self._pragma():
                self._known_pragma(text, line)
                if text == "enable_smem_spilling" and not function.entry:
                    state.error(f"Pragma '{text}' cannot be specified for a function", line)
                body.append(Pragma(text, line))
            return False
        if word == ".loc":
            line = lex.line
            loc = loc_directive(state)
            if loc.inlined_at is not None and loc.inlined_at not in self.located:
                at = " ".join([str(n) for n in loc.inlined_at])
                state.error(
                    f"Source location {at} used in inlined_at directive must be used in a preceding .loc directive",
                    line,
                )
            self.located.add((loc.file, loc.line, loc.column))
            if loc.function_name is not None:
                self.inlined.append(loc.function_name[0])
            body.append(loc)
            return False
        if word in SPACES or word in LINKAGE or word == ".align" or word == ".attribute":
            self._declaration()
            return False
        return state.syntax()


def _index_to_address(instr: Instr, checked: Checked) -> None:
    """``s[c]`` where an address stands is the address ``[s+c]``."""
    row = checked.row
    for i, op in enumerate(instr.ops):
        if op.key == "s[" and row is not None and any(len(e) > i and e[i].role == "M" for e in row.lists):
            address = Operand(O_ADDR)
            address.var = op.var
            address.value = op.value
            address.key = "[s]"
            instr.ops[i] = address


def _unknown_names(op: Operand, names: list[str]) -> None:
    """The names in an operand that nothing is called."""
    if op.name and op.var is None and op.label is None and op.kind in (O_LABEL, O_ADDR):
        names.append(op.name)
    for elem in op.elems:
        _unknown_names(elem, names)


def _split(text: str) -> list[str]:
    """Operand texts between the commas outside braces and brackets."""
    parts: list[str] = []
    held: list[str] = []
    depth = 0
    for piece in text.split(","):
        depth += piece.count("{") + piece.count("[") - piece.count("}") - piece.count("]")
        if depth > 0:
            held.append(piece)
        elif held:
            held.append(piece)
            parts.append(",".join(held))
            held = []
        else:
            parts.append(piece)
    if held:
        parts.append(",".join(held))
    return parts


def parse(text: str | bytes, file_name: str = "<string>") -> Module:
    """Reads a PTX module; raises :class:`orias.diag.CompileError` with everything found to be wrong.

    Warnings of an accepted module are in ``Module.warnings``.
    """
    if isinstance(text, bytes):
        text = text.decode("latin-1")
    try:
        source = prepare(text)
    except LexError as error:
        state = State("", file_name)
        state.error(error.message, error.line)
        raise state.failure() from None
    parser = Parser(source, file_name)
    state = parser.state
    # A module is hundreds of thousands of objects without cycles to collect: the collector would only walk them,
    # again and again, at half the speed of the parse (measured: 100 000 lines).
    collecting = gc.isenabled()
    gc.disable()
    try:
        module = parser.run()
    except Fatal:
        raise state.failure() from None
    finally:
        if collecting:
            gc.enable()
    if state.errors:
        raise state.failure()
    module.warnings = state.diagnostics
    return module
