"""Reads function bodies: common statements by one regular expression, all others by the token grammar.

A common statement costs one match, one look-up of its opcode and one look-up per operand.
"""

from typing import Final, final

from orias.knobs.knob_settings import PRAGMA
from orias.patterns import regex
from orias.ptx.ast import O_PAIR, O_REG, TYPE_BITS, Function, Instr, Label, Loc, Operand, Pragma, Var
from orias.ptx.call_syntax import LISTS, call, check_target_list, labelled_list, target_list
from orias.ptx.debug import dwarf_line, loc_directive, plain_loc
from orias.ptx.declaration_words import LINKAGE, SPACES, begins_declaration
from orias.ptx.declare import declaration
from orias.ptx.double_warnings import note_doubles
from orias.ptx.forms import BRANCH, CALL, INDEXED, PLAIN, Form, Forms, note_unknown
from orias.ptx.lexer import T_DOT, T_IDENT, T_PUNCT
from orias.ptx.module_directives import alias_directive, inner_function, repeated_names, target_directive
from orias.ptx.names import NAMES
from orias.ptx.opcode import DIRECTIVE_WORD, number_end
from orias.ptx.operands import (
    LABEL_SUM,
    SUM,
    integer_operand,
    label_operand,
    name_operand,
    operand,
    special_copy,
)  # fmt: skip
from orias.ptx.parser_state import KEYWORDS, MOST_BLOCKS, MOST_SYMBOLS, LabelUse, Scope, State, glued_name
from orias.ptx.pragmas import known_pragma, read_pragma
from orias.ptx.quick_operands import quick_operand, quick_operands
from orias.ptx.replaced_text import SUM_ERROR, ends_at_sum
from orias.ptx.special_names import SPECIAL
from orias.ptx.video_checks import ends_early

_STATEMENT: Final = regex(
    r"(?a)([ \t\r\f\n]*)(?:@(!?)([%$_A-Za-z][A-Za-z0-9_$]*)[ \t]+)?"
    r"([a-z][a-z0-9_]*(?:\.[A-Za-z0-9_]+(?:::[A-Za-z0-9_]+)*)*)(?:[ \t]+([^;\n\"\v\x1c-\x1f]*))?;"
)
_LABEL: Final = regex(r"(?a)([ \t\r\f\n]*)([A-Za-z$_%][A-Za-z0-9_$]*)[ \t]*:(?!:)[ \t]*(?=\n)(?![ \t\r\f\n]*\.[bc])")
_OPCODE: Final = regex(r"(?a)[A-Za-z_$%][A-Za-z0-9_$]*(?:\.[A-Za-z0-9_$]+(?:::[A-Za-z0-9_]+)*)*")


@final
class BodyReader:
    """Reads function bodies.

    ``any_loc``: the module has a .loc directive; ``inlined``: labels that .loc directives name as functions;
    ``located``: the last .loc directive of each position in the function being read.
    """

    __slots__ = ("any_loc", "forms", "inlined", "located", "state")

    def __init__(self, state: State, forms: Forms) -> None:
        self.state: Final[State] = state
        self.forms: Final[Forms] = forms
        self.any_loc: bool = False
        self.inlined: Final[list[str]] = []
        self.located: Final[dict[tuple[int, int, int], Loc]] = {}

    def read(self, function: Function) -> int:
        """Reads a body; the current token is its opening brace.  Returns the line of its closing brace."""
        state = self.state
        lex = state.lex
        state.function = function
        function.body = []
        function.regs = []
        function.variables = []
        function.labels = []
        self.located.clear()
        if not function.entry:
            repeated_names(state, function)
        scope = Scope()
        for var in [*function.rets, *function.params]:
            scope.names[var.name] = var
            if var.space == "reg":
                state.register(var)
        state.scopes.append(scope)
        end = self._statements(function, lex.pos, lex.line)
        state.function = None
        self.any_loc = self.any_loc or bool(self.located)
        return end

    def _statements(self, function: Function, pos: int, line: int) -> int:
        """Reads statements from after the opening brace to the closing one, and the token after it; the line of that brace."""
        state = self.state
        lex = state.lex
        source = lex.source
        body = function.body
        assert body is not None
        forms = self.forms
        known = forms.known
        match_statement = _STATEMENT.match
        base = len(state.scopes)
        operands = state.scopes[-1].operands
        while True:
            errors = state.errors
            match = match_statement(source, pos)
            if match is None:
                if self._label_or_loc(function, pos, line):
                    pos, line = lex.pos, lex.line
                    continue
            else:
                blank, bang, guard, opcode, text = match.groups()
                form = known.get(opcode) or forms.new(opcode)
                if form is not None:
                    plain = form.shape == PLAIN
                    pred = self._guard(guard, bang) if guard is not None else None
                    ops: list[Operand] | None = None
                    if guard is not None and pred is None:
                        pass  # the grammar reports the error
                    elif plain:
                        ops = []
                        if text and ("{" in text or "[" in text):
                            ops = quick_operands(state, text, operands)
                        elif text:
                            for part in text.split(","):
                                part = part.strip()
                                op = operands.get(part)
                                if op is None:
                                    op = quick_operand(state, part)
                                    if op is None:
                                        ops = None
                                        break
                                    operands[part] = op
                                ops.append(op)
                    else:
                        ops = self._target(form, text, line + blank.count("\n"))
                    if ops is not None:
                        start = len(blank)
                        newline = blank.rfind("\n")
                        if newline == 0:  # the usual layout
                            line += 1
                            column = start
                        elif newline > 0:
                            line += blank.count("\n")
                            column = start - newline
                        else:
                            column = pos + start - source.rfind("\n", 0, pos + start)
                        instr = Instr(form.sig, ops, pred, line, column)
                        if plain and tuple([op.key for op in ops]) not in form.seen:
                            forms.verify(form, instr)
                        body.append(instr)
                        if state.doubles and state.errors == errors:
                            note_doubles(state, instr)
                        pos = match.end()
                        continue
            pos = self._by_grammar(function, pos, line, base)
            if pos < 0:
                return -pos
            line = lex.line
            operands = state.scopes[-1].operands

    def _by_grammar(self, function: Function, pos: int, line: int, base: int) -> int:
        """Reads a brace or a statement at ``pos`` by the grammar; returns the start of the next, or minus the line of the brace that ends the body."""
        state = self.state
        lex = state.lex
        lex.seek(pos, line)
        if lex.kind == T_PUNCT and lex.text == "{":
            if len(state.scopes) - base > MOST_BLOCKS:
                state.exhausted()
            state.scopes.append(Scope())
        elif lex.kind == T_PUNCT and lex.text == "}":
            self.close_scope(state.scopes[-1])
            state.scopes.pop()
            if len(state.scopes) < base:
                end = lex.line
                lex.next()
                return -end
        else:
            return lex.start + 1 if self._statement(function) else lex.start
        return lex.pos

    def _label_or_loc(self, function: Function, pos: int, line: int) -> bool:
        """Reads a label or a plain .loc at ``pos``, if there is one; sets ``pos`` and ``line`` of the lexer to its end."""
        lex = self.state.lex
        found = _LABEL.match(lex.source, pos)
        if found is not None and found[2] not in KEYWORDS:
            line += found[1].count("\n")
            self._label(function, found[2], line)
        else:
            if found is not None or not self.state.module.files:
                return False
            found = plain_loc().match(lex.source, pos)
            if found is None:
                return False
            line += lex.source.count("\n", pos, found.end())
            loc = Loc(int(found[1]), int(found[2]), int(found[3]))
            self.located[loc.file, loc.line, loc.column] = loc
            assert function.body is not None
            function.body.append(loc)
        lex.pos = found.end()
        lex.line = line
        return True

    def _target(self, form: Form, text: str | None, line: int) -> list[Operand] | None:
        """The label of a plain branch; None leaves the operands to the grammar."""
        if form.shape != BRANCH or text is None or form.checked.errors or form.checked.late:
            return None
        name = text.strip()
        if name.replace("$", "_").isidentifier() and name not in KEYWORDS and self.state.lookup(name) is None:
            return [label_operand(self.state, name, line)]
        return None

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
        # an operand of the same name, which stood elsewhere
        return found if found.kind == O_REG and found.var is not None and found.var.type == "pred" else None

    def _special_guard(self, name: str, negated: bool, line: int, column: int) -> Operand | None:
        """The guard of a name that is no predicate register: a copy of a special register that is one, else an error."""
        state = self.state
        special = name[1:] if name[0] == "%" and name[1:] in SPECIAL and state.lookup(name) is None else ""
        for message in state.special_gate(special) if special else []:
            state.error(message, line)
        if special and SPECIAL[special][0] == "pred":
            guard = special_copy(state, special, line, column)
            if negated:
                guard.neg = True
                guard.key = "!" + guard.key
            return guard
        state.error("Predicate expression expected", line, column)
        if not special and state.lookup(name) is None:
            state.unknown(name, line)
        return None

    def _label(self, function: Function, name: str, line: int) -> Label:
        state = self.state
        scope = state.scopes[-1]
        label = Label(name, len(function.labels), line)
        if name in scope.labels or (name in scope.names and not state.in_range(scope, name)):
            state.error(f"Duplicate definition of label '{name}'", line)
        else:
            if state.lookup(name) is not None:
                scope.operands.clear()
            scope.labels[name] = label
        function.labels.append(label)
        assert function.body is not None
        function.body.append(label)
        return label

    def close_scope(self, scope: Scope) -> None:
        """Resolves the label uses of a scope, or passes them to the enclosing scope."""
        state = self.state
        scopes = state.scopes
        outer = scopes[-2] if len(scopes) > 2 else None
        lost: list[LabelUse] = []
        for use in scope.uses:
            label = scope.labels.get(use.name)
            if label is not None:
                if label.is_list():
                    state.fatal(f"Label expected for forward reference of '{use.name}'", use.line)
                if use.operand is not None and use.operand.key == LABEL_SUM:
                    what = f"Cannot take address of label '{use.name}' in arithmetic expressions"
                    state.fatal(f"Line No: {use.line}: {what}", 0)
                if use.operand is not None:
                    use.operand.label = label
                if use.targets is not None:
                    use.targets[use.number] = label
            elif outer is not None:
                outer.uses.append(use)
            else:
                lost.append(use)
        lost.sort(key=_line_of)
        for use in lost:
            state.error(f"Unknown symbol '{use.name}'", use.line)

    def _statement(self, function: Function) -> bool:
        """Reads one statement by the grammar.

        True if the current token is the last of the statement (a semicolon), False if it is the next one.
        """
        state = self.state
        lex = state.lex
        body = function.body
        assert body is not None
        if lex.kind == T_DOT:
            return self._body_directive(function)
        line = lex.line
        column = lex.column()
        guarded = lex.kind == T_PUNCT and lex.text == "@"
        pred: Operand | None = None
        if guarded:
            lex.next()
            negated = state.take("!")
            name = state.ident()
            pred = self._guard(name, "!" if negated else "") or self._special_guard(name, negated, line, column)
        if lex.kind != T_IDENT:
            if lex.kind == T_PUNCT and lex.text == "@@DWARF":
                dwarf_line(state)
                return False
            state.syntax()
        if lex.text in KEYWORDS:
            state.syntax()
        if not guarded and self._labelled(function, line):
            return False
        line = lex.line  # after a guard
        opcode, after = self._opcode()
        form = self.forms.known.get(opcode) or self.forms.new(opcode)
        if form is None:
            # A word that is no name is an opcode only when the next token is read.
            messages = self.forms.bad[opcode]
            strange = any(m.startswith("Not a name") for m in messages)
            self._unusable(messages, after if strange else line, column)
        elif form.shape == CALL:
            body.append(call(state, form, pred, line if guarded or form.checked.name != opcode else after, column))
            if lex.kind != T_PUNCT or lex.text != ";":
                state.syntax()
        else:
            plain = form.checked.name == opcode
            errors = self.state.errors
            instr = self._instruction(function, form, pred, after if plain else line, column)
            body.append(instr)
            if self.state.doubles and self.state.errors == errors:
                note_doubles(self.state, instr)
        return True

    def _opcode(self) -> tuple[str, int]:
        """Reads the dotted opcode at the current token; returns it, and the line where ptxas has it whole.

        That of an opcode without modifiers is the line of the next token.
        """
        lex = self.state.lex
        match = _OPCODE.match(lex.source, lex.start)
        if match is None:
            lex.next()
            self.state.syntax()
        opcode = match.group()
        name = glued_name(opcode)
        if name:
            lex.seek(lex.start + len(name), lex.line)
            return name, lex.line
        line = lex.line
        for part in DIRECTIVE_WORD.finditer(opcode):
            self.forms.report_unknown(opcode[: part.start()], line, lex.column())
            lex.seek(match.start() + part.start(), lex.line)
            self.state.syntax()
        number = number_end(opcode)
        if number:
            before = opcode[: opcode.rfind(".", 0, number - 1)]
            self.forms.report_unknown(before, line, lex.column())
            lex.seek(match.start() + number, lex.line)
            self.state.syntax()
        lex.seek(match.end(), lex.line)
        after = lex.line if "." not in opcode or opcode in NAMES else line
        if opcode.count(".") > MOST_SYMBOLS:
            self.state.exhausted()
        if lex.kind == T_DOT:
            opcode += " "
        while lex.kind == T_DOT:
            if DIRECTIVE_WORD.search(lex.text):
                self.state.syntax()
            opcode += lex.text
            lex.next()
            if opcode.count(".") > MOST_SYMBOLS:
                self.state.exhausted()
        return opcode, after

    def _instruction(self, function: Function, form: Form, pred: Operand | None, line: int, column: int) -> Instr:
        """Reads the operands of an instruction up to its semicolon."""
        state = self.state
        lex = state.lex
        instr = Instr(form.sig, [], pred, line, column)
        self.forms.begin(form.checked, line, column)
        if lex.kind != T_PUNCT or lex.text != ";":
            while True:
                if instr.ops and lex.kind == T_PUNCT and lex.text == "_":
                    state.syntax()  # only a result may be dropped, and that comes first
                op = self._operand(form, line, instr.ops)
                if not instr.ops and op.neg and op.key[0] == "-":
                    state.error("Operand negation limited to either (source A xor source B) or source C", line, column)
                if instr.ops and op.kind == O_PAIR:
                    state.fatal("Parsing error near '|': syntax error", lex.line)
                instr.ops.append(op)
                if not state.take(","):
                    break
        if lex.kind != T_PUNCT or lex.text != ";" or ends_early(form.checked.name, instr.ops):
            state.syntax()
        if ends_at_sum(instr):
            state.fatal(SUM_ERROR, line, column)
        if form.shape == INDEXED and len(instr.ops) == 2:
            check_target_list(state, instr, line)
        self.forms.verify(form, instr, True)
        for k, op in enumerate(instr.ops):
            if op.kind == O_REG and op.key.endswith(SUM):
                instr.ops[k] = self._sum(function, op, line, column)
        return instr

    def _sum(self, function: Function, op: Operand, line: int, column: int) -> Operand:
        """Replaces a register plus a constant: emits an addition of the register's width before the instruction."""
        assert op.var is not None and function.body is not None
        bits = TYPE_BITS[op.var.type]
        var = Var("", "reg", op.var.type, 1, line)
        self.state.register(var)
        opcode = f"add.u{bits}"
        form = self.forms.known.get(opcode) or self.forms.new(opcode)
        if form is None or bits not in (16, 32, 64):
            return op  # the operand has its message already
        total, plain = Operand(O_REG), Operand(O_REG)
        total.var, plain.var = var, op.var
        function.body.append(Instr(form.sig, [total, plain, integer_operand(op.value)], None, line, column))
        return total

    def _unusable(self, messages: list[str], line: int, column: int) -> None:
        """Reports an illegal opcode; the text after its unknown words must still be operands."""
        state = self.state
        lex = state.lex
        for message in messages:
            if message.startswith("Unknown modifier"):
                state.error(message, line, column)
        if lex.kind != T_PUNCT or lex.text != ";":
            while True:
                at = lex.line
                note_unknown(state, operand(state), at)
                if not state.take(","):
                    break
        if lex.kind != T_PUNCT or lex.text != ";":
            state.syntax()
        for message in messages:
            if not message.startswith("Unknown modifier"):
                state.error(message, line, column)

    def _operand(self, form: Form, line: int, before: list[Operand]) -> Operand:
        """Reads an operand, of a branch a label too; ``before``: the operands before it."""
        state = self.state
        lex = state.lex
        if (
            (form.shape == BRANCH or (form.shape == INDEXED and before))
            and lex.kind == T_IDENT
            and lex.text not in KEYWORDS
        ):
            name = lex.text
            found = state.lookup(name)
            if found is None and not (name[0] == "%" and name[1:] in SPECIAL):
                name = state.name()
                if form.shape == INDEXED:
                    return target_list(state, name)
                return label_operand(state, name, line)
        at = lex.line
        result = operand(state)
        note_unknown(state, result, at)
        return result

    def _labelled(self, function: Function, line: int) -> bool:
        """Reads a label, with its list or prototype, if the current token is one."""
        state = self.state
        lex = state.lex
        match = _OPCODE.match(lex.source, lex.start)
        dotted = match is not None and "." in match.group()
        if dotted and (match is None or state.token() != match.group()):
            return False
        start, at = lex.start, lex.line
        name = lex.text
        if match is not None and dotted:
            name = match.group()  # the name of an instruction, which is one token
            lex.seek(match.end(), at)
        else:
            lex.next()
        if lex.kind != T_PUNCT or lex.text != ":":
            lex.seek(start, at)
            return False
        label = self._label(function, name, line)
        lex.next()
        if lex.kind != T_DOT or lex.text not in LISTS:
            return True
        assert function.body is not None
        function.body.pop()
        function.labels.pop()
        labelled_list(state, label, name, line)
        return True

    def _body_directive(self, function: Function) -> bool:
        state = self.state
        lex = state.lex
        body = function.body
        assert body is not None
        word = lex.text
        if word == ".pragma":
            line = lex.line
            for text in read_pragma(state):
                known_pragma(state, text, line)
                if not function.entry and (text.split(" ")[0] == "enable_smem_spilling" or text.startswith(PRAGMA)):
                    state.error(f"Pragma '{text}' cannot be specified for device functions", line)
                if text.startswith("abi_param_reg") and (
                    "abi_preserve" in function.directives
                    or any(isinstance(s, Pragma) and s.text[:13] == text[:13] for s in body)
                ):
                    state.error(f"Pragma '{text}' specified multiple times in function '{function.name}'", line)
                if text.startswith("abi_param_reg") and function.entry:
                    state.error(f"Pragma '{text}' cannot be specified for function '{function.name}'", line)
                body.append(Pragma(text, line))
            return False
        if word == ".loc":
            loc = loc_directive(state, self.located)
            self.located[loc.file, loc.line, loc.column] = loc
            if loc.function_name is not None:
                self.inlined.append(loc.function_name[0])
            body.append(loc)
            return False
        if word == ".alias":
            alias_directive(state)
            return False
        if word == ".target":
            target_directive(state)
            self.forms.retarget()
            state.place = self.forms.checker.place
            return False
        if word == ".func" or word in SPACES or word in LINKAGE or begins_declaration(word):
            linkage = declaration(state)
            if linkage is not None:
                inner_function(state, linkage)
            return False
        return state.syntax()


def _line_of(use: LabelUse) -> int:
    return use.line
