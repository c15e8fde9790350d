"""Reads calls, and the labelled lists and prototypes that calls and indexed branches refer to.

Facts: docs/facts/front-end.md (functions).
"""

from orias.ptx.ast import O_FUNC, O_IMM, O_LABEL, O_REG, O_SYM, Function, Instr, Label, Operand, SymInit, Var
from orias.ptx.forms import Form, note_unknown
from orias.ptx.headers import header_directives, parameters, unsized_results
from orias.ptx.lexer import T_IDENT, T_PUNCT
from orias.ptx.operands import argument, is_address_type, name_operand
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
    for message in [*form.checked.errors, *form.checked.late]:
        state.error(message, line, column)
    if form.checked.errors:
        return instr
    _check_callee(state, instr, name, prototype, bare)
    return instr


_MISMATCH = "Arguments mismatch for instruction 'call'"
_NO_TARGET = "Call target not recognized"
_TABLES = ("u8", "u32", "u64")
"""Types of arrays that may hold the functions that a call may reach."""


def _check_callee(state: State, instr: Instr, name: str, prototype: str, bare: bool) -> None:
    """Checks what a call names and its arguments, and finds its prototype or list of targets, which `prototype` names."""
    callee, line, var = instr.ops[0], instr.line, instr.ops[0].var
    if callee.kind == O_FUNC and callee.func is not None and not prototype:
        if callee.func.entry:
            state.error("Illegal call target, device function expected", line)
        _check_call(state, instr, [callee.func], bare)
    elif callee.kind == O_FUNC:
        _find_targets(state, instr, prototype, bare, [_NO_REGISTER])
    elif var is None:
        unknown = f"Call to '{name}' requires call prototype"
        if prototype:
            _find_targets(state, instr, prototype, bare, [unknown])
        else:
            state.error(unknown, line)
    elif not is_address_type(var.type) or var.vec > 1 or var.dims:
        state.error(_MISMATCH, line)
    elif prototype:
        _find_targets(state, instr, prototype, bare, [] if callee.kind == O_REG else [_NO_REGISTER, _NO_REGISTER])
    else:
        state.error("Label expected for argument 0 of instruction 'call'", line)
        if callee.kind != O_REG and not instr.rets:
            state.error(_NO_REGISTER, line)
        if not bare:
            state.fatal(_NO_TARGET, line)


_NO_REGISTER = "Argument 0 of instruction 'call': must be register"


def _find_targets(state: State, instr: Instr, name: str, bare: bool, wrong: list[str]) -> None:
    """Sets the prototype or list of targets of an indirect call, and checks its arguments against all of them.

    ``wrong``: the messages on the callee, told if the prototype has a meaning.
    """
    line = instr.line
    label = state.label(name)
    found = None if label is not None else state.lookup(name)
    unknown = label is None and found is None
    if unknown:
        state.error(f"Unknown symbol '{name}'", line)
        state.error(_MISMATCH, line)
    if instr.ops[0].kind == O_REG:
        state.gate("indirect call", line)
    if unknown:
        state.unknown(name, line)
        return
    for message in wrong:
        state.error(message, line)
    if isinstance(found, Var):
        label = _table(state, name, found, line)
    if label is None or label.proto is None:
        state.fatal(_NO_TARGET, line)
    instr.proto = label
    _check_call(state, instr, label.functions if label.functions else [label.proto], bare)


def _table(state: State, name: str, var: Var, line: int) -> Label:
    """The list of targets that an array of functions stands for."""
    if var.type not in _TABLES or len(var.dims) != 1 or not var.dims[0] or var.vec > 1:
        state.fatal("Label or .u32/.u64/.u8 array expected for argument 2 of instruction 'call'", line)
    if var.space not in ("const", "global"):
        state.fatal(".const or .global array expected for argument 2 of instruction 'call'", line)
    if var.init is None:
        state.fatal(f"Expected initializer for symbol '{name}'.", line)
    label = Label(name, -1, line)
    label.functions = []
    for _, value in var.init:
        target = value.target if isinstance(value, SymInit) else None
        if not isinstance(target, Function):
            state.fatal(_NO_TARGET, line)
        if target not in label.functions:
            label.functions.append(target)
    label.proto = label.functions[0] if label.functions else None
    return label


def _check_call(state: State, instr: Instr, targets: list[Function], bare: bool) -> None:
    """Checks the arguments of a call against the functions or the prototype; ``bare``: it has no parentheses."""
    own = state.function
    formals = [] if own is None else [*own.rets, *own.params]
    for function in targets[:1] if bare else targets:
        for message in call_errors(function, instr.rets, instr.args, formals, bare):
            state.error(message, instr.line)


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
    result.label = state.label(name)
    return result


def check_target_list(state: State, instr: Instr, line: int) -> None:
    """Checks the list of a brx.idx that is read whole; a wrong one is reported if the index is right."""
    index, op = instr.ops
    told = index.kind == O_IMM or (index.kind == O_REG and index.var is not None and index.var.type in _WORDS)
    if op.kind == O_LABEL and op.label is None:
        if told:
            state.error("Arguments mismatch for instruction 'brx.idx'", line)
        state.unknown(op.name, line)
    elif told and ((op.label is not None and op.label.targets is None) or op.kind in (O_REG, O_FUNC, O_SYM)):
        state.error("Label with '.branchtargets' directive expected for argument 1 of instruction 'brx.idx'", line)


_WORDS = ("b32", "s32", "u32")
LISTS = (".branchtargets", ".calltargets", ".callprototype")


def _branch_targets(state: State, label: Label) -> None:
    """Reads the names of a list of branch targets; the list's own name is the place where it stands."""
    function = state.function
    assert function is not None and function.body is not None
    targets: list[Label] = []
    own: Label | None = None
    while True:
        at = state.lex.line
        target = state.ident()
        known = state.label(target)
        if state.lookup(target) is not None or (known is not None and known is not label and known.is_list()):
            state.error("Illegal branch target, label expected", at)
        elif known is label:
            if own is None:
                own = Label(label.name, len(function.labels), at)
                function.labels.append(own)
                function.body.append(own)
            targets.append(own)
        else:
            state.scopes[-1].uses.append(LabelUse(target, None, targets, at))
            targets.append(label)  # stands for the one that is found when the scope closes
        if not state.take(","):
            break
    label.targets = targets


def labelled_list(state: State, label: Label, name: str, line: int) -> None:
    """Reads the list or prototype of a label: ``.branchtargets``, ``.calltargets`` or ``.callprototype``."""
    lex = state.lex
    word = lex.text
    state.gate(word[1:], lex.line)
    lex.next()
    if word == ".branchtargets":
        _branch_targets(state, label)
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
                if found is None:
                    state.unknown(target, at)
        label.proto = label.functions[0] if label.functions else None
    else:
        proto = Function(name, False, line)
        if lex.kind == T_PUNCT and lex.text == "(":
            proto.rets = parameters(state, False, False)
            unsized_results(state, proto.rets)
        state.punct("_")
        if lex.kind == T_PUNCT and lex.text == "(":
            proto.params = parameters(state, False, False)
        header_directives(state, proto)
        label.proto = proto
    state.punct(";")
