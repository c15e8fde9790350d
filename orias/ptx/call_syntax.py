"""Reads calls, and the labelled lists and prototypes that calls and indexed branches refer to.

Facts: docs/facts/front-end.md (functions).
"""

from orias.ptx.ast import O_FUNC, O_LABEL, O_REG, Function, Instr, Label, Operand
from orias.ptx.forms import Form, note_unknown
from orias.ptx.headers import header_directives, parameters
from orias.ptx.lexer import T_IDENT, T_PUNCT
from orias.ptx.operands import argument, name_operand
from orias.ptx.parser_state import MOST_IN_LIST, LabelUse, State
from orias.ptx.signatures import call_errors


def call(state: State, form: Form, pred: Operand | None, line: int, column: int) -> Instr:
    """Reads the operands of a call, after its opcode."""
    lex = state.lex
    instr = Instr(form.sig, [], pred, line, column)
    for message in form.checked.early:
        state.error(message, line, column)
    if lex.kind == T_PUNCT and lex.text == "(":
        instr.rets = _arguments(state, line)
        state.punct(",")
    if lex.kind != T_IDENT:
        state.syntax()
    name = lex.text
    lex.next()
    callee = name_operand(state, name, line)
    if callee.kind not in (O_FUNC, O_REG) and callee.var is None:
        state.unknown(name, line)
    instr.ops.append(callee)
    bare = not instr.rets
    prototype = ""
    if state.take(","):
        if lex.kind == T_PUNCT and lex.text == "(":
            bare = False
            instr.args = _arguments(state, line)
            if state.take(","):
                prototype = state.ident()
        else:
            prototype = state.ident()
    if lex.kind != T_PUNCT or lex.text != ";":
        state.syntax()
    if prototype:
        instr.proto = _proto(state, prototype, line)
    for message in [*form.checked.errors, *form.checked.late]:
        state.error(message, line, column)
    if form.checked.errors:
        return instr
    unresolved = bool(prototype) and instr.proto is None
    _check_callee(state, instr, name, unresolved)
    _check_call(state, instr, callee, bare)
    return instr


def _check_callee(state: State, instr: Instr, name: str, unresolved: bool) -> None:
    """Checks what a call names; ``unresolved``: its prototype has no meaning, which has been told."""
    callee = instr.ops[0]
    line = instr.line
    if callee.kind == O_REG:
        if instr.proto is None and not unresolved:
            state.error("Label expected for argument 0 of instruction 'call'", line)
        else:
            state.gate("indirect call", line)
    elif callee.kind != O_FUNC and callee.var is not None:
        if instr.proto is None and not unresolved:
            state.error("Label expected for argument 0 of instruction 'call'", line)
        state.error("Argument 0 of instruction 'call': must be register", line)
    elif callee.kind != O_FUNC and not unresolved:
        state.error(f"Call to '{name}' requires call prototype", line)


def _check_call(state: State, instr: Instr, callee: Operand, bare: bool) -> None:
    """Checks the arguments of a call against the function or the prototype."""
    function = callee.func
    if function is None:
        function = instr.proto.proto if instr.proto is not None else None
    elif function.entry:
        state.error("Illegal call target, device function expected", instr.line)
    if function is not None:
        own = state.function
        formals = [] if own is None else [*own.rets, *own.params]
        for message in call_errors(function, instr.rets, instr.args, formals, bare):
            state.error(message, instr.line)


def _proto(state: State, name: str, line: int) -> Label | None:
    """The prototype or list of targets with a name."""
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
    state.unknown(name, line)
    return None


def _arguments(state: State, line: int) -> list[Operand]:
    """Reads a parenthesised argument list."""
    state.punct("(")
    result: list[Operand] = []
    if state.take(")"):
        return result
    while True:
        if len(result) == MOST_IN_LIST:
            state.exhausted()
        op = argument(state)
        note_unknown(state, op, line)
        result.append(op)
        if not state.take(","):
            break
    state.punct(")")
    return result


def target_list(state: State, name: str) -> Operand:
    """The operand of brx.idx that names a .branchtargets list, which must precede it."""
    result = Operand(O_LABEL)
    result.name = name
    result.key = "l"
    for scope in reversed(state.scopes):
        result.label = scope.labels.get(name)
        if result.label is not None:
            break
    return result


def check_target_list(state: State, op: Operand, line: int, told: bool) -> None:
    """Checks the list of a brx.idx that is read whole; ``told``: nothing else is wrong, so a wrong list is reported."""
    if op.kind != O_LABEL:
        return
    if op.label is None:
        if told:
            state.error("Arguments mismatch for instruction 'brx.idx'", line)
        state.unknown(op.name, line)
    elif op.label.targets is None and told:
        state.error("Label with '.branchtargets' directive expected for argument 1 of instruction 'brx.idx'", line)


LISTS = (".branchtargets", ".calltargets", ".callprototype")


def labelled_list(state: State, label: Label, name: str, line: int) -> None:
    """Reads the list or prototype of a label: ``.branchtargets``, ``.calltargets`` or ``.callprototype``."""
    lex = state.lex
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
        names: list[tuple[str, int]] = []
        while True:
            names.append((lex.text, lex.line))
            state.ident()
            if not state.take(","):
                break
        if lex.kind != T_PUNCT or lex.text != ";":
            state.syntax()
        for target, at in names:
            found = state.lookup(target)
            if isinstance(found, Function):
                label.functions.append(found)
            else:
                state.error("Illegal call target, device function expected", at)
                state.unknown(target, at)
        label.proto = label.functions[0] if label.functions else None
    else:
        proto = Function(name, False, line)
        if lex.kind == T_PUNCT and lex.text == "(":
            proto.rets = parameters(state, False, False)
        if lex.kind == T_PUNCT and lex.text == "_":
            lex.next()
        else:
            state.ident()
        if lex.kind == T_PUNCT and lex.text == "(":
            proto.params = parameters(state, False, False)
        header_directives(state, proto)
        label.proto = proto
    state.punct(";")
