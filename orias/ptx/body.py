"""Function bodies: statements of the usual shapes the fast way, everything else by the token grammar."""

import re
from typing import Final, final

from orias.ptx.ast import O_REG, TYPE_BITS, Function, Instr, Label, Loc, Operand, Pragma, Var
from orias.ptx.calls import LISTS, call, labelled_list, target_list
from orias.ptx.debug import LOC, dwarf_line, loc_directive
from orias.ptx.declare import declaration
from orias.ptx.forms import BRANCH, CALL, INDEXED, PLAIN, Form, Forms, note_unknown
from orias.ptx.lexer import T_DOT, T_IDENT, T_PUNCT
from orias.ptx.operands import SUM, integer_operand, label_operand, name_operand, operand, quick_operand
from orias.ptx.pragmas import known_pragma, read_pragma
from orias.ptx.special import SPECIAL
from orias.ptx.state import MAX_NESTING, LabelUse, Scope, State
from orias.ptx.words import LINKAGE, SPACES

_STATEMENT: Final = re.compile(
    r"([ \t\r\f\n]*)(?:@(!?)([%$_A-Za-z][A-Za-z0-9_$]*)[ \t]+)?"
    r"([a-z][a-z0-9_]*(?:\.[A-Za-z0-9_]+(?:::[A-Za-z0-9_]+)*)*)(?:[ \t]+([^;\n\"]*))?;",
    re.A,
)
_LABEL: Final = re.compile(
    r"([ \t\r\f\n]*)([A-Za-z$_%][A-Za-z0-9_$]*)[ \t]*:(?!:)[ \t]*(?=\n)(?![ \t\r\f\n]*\.[bc])", re.A
)
_OPCODE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_$]*(?:\.[A-Za-z0-9_$]+(?:::[A-Za-z0-9_]+)*)*", re.A)


@final
class BodyReader:
    """Reads function bodies.

    ``any_loc``: a .loc directive was seen; ``inlined``: labels that .loc directives name as functions; ``located``: positions of
    the .loc directives of the function being read.
    """

    __slots__ = ("any_loc", "forms", "inlined", "located", "state")

    def __init__(self, state: State, forms: Forms) -> None:
        self.state: Final[State] = state
        self.forms: Final[Forms] = forms
        self.any_loc: bool = False
        self.inlined: Final[list[str]] = []
        self.located: Final[set[tuple[int, int, int]]] = set()

    def read(self, function: Function) -> None:
        """Reads a body; the lexer stands on its opening brace."""
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
        known = forms.known
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
                form = known.get(opcode)
                if form is None:
                    form = forms.new(opcode)
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
                                forms.verify(form, instr)
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
                self.close_scope(state.scopes[-1])
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

    def close_scope(self, scope: Scope) -> None:
        """Resolves the label uses of a scope, or hands them to the one around it."""
        state = self.state
        scopes = state.scopes
        outer = scopes[-2] if len(scopes) > 2 else None
        lost: list[LabelUse] = []
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
                lost.append(use)
        lost.sort(key=_line_of)
        for use in lost:
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
        guarded = lex.kind == T_PUNCT and lex.text == "@"
        line = lex.line
        column = lex.column()
        if guarded:
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
        if match is not None and not guarded:
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
            if not guarded and lex.kind == T_PUNCT and lex.text == ":":
                self._labelled(function, name, line)
                return False
            state.syntax()
        assert match is not None
        opcode = match.group()
        lex.seek(match.end(), lex.line)
        while lex.kind == T_DOT:
            opcode += lex.text
            lex.next()
        form = self.forms.known.get(opcode) or self.forms.new(opcode)
        if no_predicate:
            state.error("Predicate expression expected", line, column)
            if state.lookup(no_predicate) is None:
                state.unknown(no_predicate, line)
        if form is None:
            self._unusable(self.forms.bad[opcode], line, column)
            return True
        if form.shape == CALL:
            instr = call(state, form, pred, line, column)
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
            self.forms.verify(form, instr)
            for k, op in enumerate(instr.ops):
                if op.kind == O_REG and op.key.endswith(SUM):
                    instr.ops[k] = self._sum(function, op, line, column)
        body.append(instr)
        return True

    def _sum(self, function: Function, op: Operand, line: int, column: int) -> Operand:
        """A register plus a constant: an addition in front, at the register's width."""
        assert op.var is not None and function.body is not None
        bits = TYPE_BITS[op.var.type]
        var = Var("", "reg", op.var.type, 1, line)
        self.state.register(var)
        opcode = f"add.u{bits}"
        form = self.forms.known.get(opcode) or self.forms.new(opcode)
        if form is None or bits not in (16, 32, 64):
            return op  # the operand's own message is given already
        total, plain = Operand(O_REG), Operand(O_REG)
        total.var, plain.var = var, op.var
        function.body.append(Instr(form.sig, [total, plain, integer_operand(op.value)], None, line, column))
        return total

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

    def _operand(self, form: Form, line: int) -> Operand:
        state = self.state
        lex = state.lex
        if form.shape in (BRANCH, INDEXED) and lex.kind == T_IDENT:
            name = lex.text
            found = state.lookup(name)
            if found is None and not (name[0] == "%" and name[1:] in SPECIAL):
                lex.next()
                if form.shape == INDEXED:
                    return target_list(state, name, line)
                return label_operand(state, name, line)
        at = lex.line
        result = operand(state)
        note_unknown(state, result, at)
        return result

    def _labelled(self, function: Function, name: str, line: int) -> None:
        """Behind ``name`` and on ``:``; lists and prototypes belong to their label."""
        state = self.state
        lex = state.lex
        label = self._label(function, name, line)
        lex.next()
        if lex.kind != T_DOT or lex.text not in LISTS:
            return
        assert function.body is not None
        function.body.pop()
        function.labels.pop()
        labelled_list(state, label, name, line)

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
            declaration(state)
            return False
        return state.syntax()


def _line_of(use: LabelUse) -> int:
    return use.line


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
