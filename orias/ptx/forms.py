"""The opcodes of a module: parses and checks each opcode text once, and each combination of operand classes once."""

from typing import Final, final

from orias.ptx.ast import O_ADDR, O_FUNC, O_LABEL, O_REG, O_SYM, O_VEC, Instr, Operand, Sig
from orias.ptx.fits import OUT_OF_BOUNDS
from orias.ptx.instructions import Checked, Checker
from orias.ptx.modifier_messages import ADVISORY, VECTOR_REMARK
from orias.ptx.opcode import DIRECTIVE_WORD, OpcodeError, known_word, number_end, parse_opcode, split_name
from orias.ptx.operand_checks import illegal_vector_sizes, present_slots
from orias.ptx.operands import LABEL_SUM, OF_VARIABLE
from orias.ptx.parser_state import MOST_SYMBOLS, State, glued_name
from orias.ptx.word_order import RULES_LAST

PLAIN: Final = 0
BRANCH: Final = 1
CALL: Final = 2
INDEXED: Final = 3
_BEFORE_OPCODE: Final = (
    "Arguments mismatch",
    "Illegal vector size",
    "Incompatible elements",
    "Vector with elements",
    "Unable to infer",
)
"""Messages on operands that precede those on the opcode."""
_OF_ADDRESSES: Final = ("State space mismatch", "Illegal to use symbol")
_BEHIND_ADDRESSES: Final = (
    "Illegal rounding modifier",
    "Comparison qualifier is not allowed",
    "Illegal modifier '.cc'",
    "Illegal operation ''",
    "Operation  requires",
    "Reduction operation is required",
)
"""Messages on the opcode that follow those on addresses."""
_UNIFIED: Final = ("ld", "ldu", "atom")
"""Instructions whose addresses may have the attribute .unified, in global memory or generic."""
_OF_MACROS: Final = ("instruction 'add'", "instruction 'mov'", "instruction 'add': must be register")
"""Ends of messages on instructions that stand for a wrong operand of another one."""
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
class Forms:
    """The forms of one module.  ``known`` by opcode text; ``bad``: illegal opcode texts, with their messages."""

    __slots__ = ("bad", "checker", "known", "state")

    def __init__(self, state: State) -> None:
        self.state: Final[State] = state
        self.checker: Checker = Checker(state.module)
        self.known: Final[dict[str, Form]] = {}
        self.bad: Final[dict[str, list[str]]] = {}

    def new(self, opcode: str) -> Form | None:
        """The form of an opcode text seen for the first time; None if it is illegal (see ``bad``) or has too many words, or a directive among them."""
        if (
            opcode in self.bad
            or opcode.count(".") > MOST_SYMBOLS
            or DIRECTIVE_WORD.search(opcode)
            or number_end(opcode)
            or glued_name(opcode)
        ):
            return None
        try:
            sig = parse_opcode(opcode)
            form = Form(sig, self.checker.opcode(sig))
        except OpcodeError as error:
            self.bad[opcode] = error.messages
            return None
        self.known[opcode] = form
        return form

    def report_unknown(self, opcode: str, line: int, column: int) -> None:
        """Reports the unknown words of an opcode that the text after it makes a syntax error."""
        parts = opcode.replace(" ", "").split(".")
        for word in parts[max(1, split_name(parts)) :]:
            if not known_word(word):
                self.state.error(f"Unknown modifier '.{word}'", line, column)

    def retarget(self) -> None:
        """Checks all that follows for the module's target as it is now."""
        self.checker = Checker(self.state.module)
        self.known.clear()
        self.bad.clear()

    def _report(self, messages: list[str], instr: Instr) -> None:
        """Records messages on operands; a result that may not be dropped ends the text."""
        for message in messages:
            if message.startswith("Result discard mode"):
                self.state.fatal(message, instr.line, instr.column)
            if message.startswith(ADVISORY):
                self.state.note("warning", message, instr.line)
            elif message.startswith(OUT_OF_BOUNDS):
                self.state.note("info", message, instr.line)
            else:
                self.state.error(message, instr.line, instr.column)

    def _late(self, checked: Checked, instr: Instr, wrong: bool) -> list[str]:
        """The messages of the rules on operands; ptxas expands no macro of a ``wrong`` instruction."""
        late = self.checker.values(checked, instr)
        wrong = wrong or bool(checked.early or checked.errors)
        wrong = wrong or not all(m.startswith(ADVISORY) for m in checked.late)
        return [m for m in late if not m.endswith(_OF_MACROS)] if wrong else late

    def begin(self, checked: Checked, line: int, column: int) -> None:
        """Reports what precedes the messages on operands."""
        for message in checked.early:
            if message == VECTOR_REMARK:
                self.state.note("warning", message, line)
            else:
                self.state.error(message, line, column)

    def verify(self, form: Form, instr: Instr, begun: bool = False) -> None:
        """Checks an instruction against its row; remembers operand classes without errors.  ``begun``: its early messages are out."""
        state = self.state
        checked = form.checked
        line = instr.line
        if not begun:
            self.begin(checked, line, instr.column)
        if checked.row is None:
            self._refuse(checked, instr)
            return
        messages = self._operands(checked, instr)
        mismatch = f"Arguments mismatch for instruction '{checked.name}'"
        faults = [m for m in messages if not m.startswith(OUT_OF_BOUNDS)]
        rules = [] if mismatch in messages else self._late(checked, instr, bool(faults))
        wrong = mismatch in messages
        if rules and rules[0].startswith("Arguments mismatch"):
            messages = rules[:1]
            wrong = True
        elif faults:
            messages = _without_macros(checked, rules, messages)
        # Only errors of the opcode come between messages on operands.
        late = (checked.errors or checked.late) and not wrong and checked.name not in ("prefetch", "prefetchu")
        after = [m for m in messages if not m.startswith(_BEFORE_OPCODE)] if late else []
        _note_unified(checked.name, instr, after if late else messages)
        self._report([m for m in messages if m not in after], instr)
        if not wrong:
            said = self._verify_rules(checked, instr, rules, after)
            if not (messages or said or checked.early):
                _refuse_variables(state, instr)
            if not (messages or said or checked.early or checked.values):
                form.seen.add(tuple([op.key for op in instr.ops]))

    def _refuse(self, checked: Checked, instr: Instr) -> None:
        """Reports an instruction whose opcode has no row."""
        sizes = illegal_vector_sizes(checked.name, instr.ops) if checked.name else []
        for message in [*sizes, *checked.errors, *checked.late]:
            self.state.error(message, instr.line, instr.column)
        for severity, note in checked.notes:
            if severity != "info":
                self.state.note(severity, note, instr.line)

    def _operands(self, checked: Checked, instr: Instr) -> list[str]:
        """The messages on operands, also on the sizes of vectors and on names that nothing declares."""
        mismatch = f"Arguments mismatch for instruction '{checked.name}'"
        messages = self.checker.operands(checked, instr)
        if messages and (checked.name == "mma" or mismatch in messages):
            messages = [*illegal_vector_sizes(checked.name, instr.ops), *messages]
        lost = any(op.kind == O_ADDR and op.name and op.var is None and op.label is None for op in instr.ops)
        if lost and mismatch not in messages:
            return [f"Illegal operand type to instruction '{checked.name}'"]
        return messages

    def _verify_rules(self, checked: Checked, instr: Instr, rules: list[str], after: list[str]) -> bool:
        """Reports the errors of the opcode, those ``after`` them, those of the rules on operands and the remarks; whether there are any."""
        state = self.state
        line = instr.line
        for severity, note in checked.notes:
            if severity == "info":
                state.note(severity, note, line)
        if any(m.startswith("Vector qualifier is not allowed") for m in (*checked.errors, *rules)):
            vectors = sum(op.kind == O_VEC for op in instr.ops)
            after.extend([f"Vector operand is not allowed for instruction '{checked.name}'"] * vectors)
        both = [*checked.late, *rules] if checked.name in RULES_LAST else [*rules, *checked.late]
        self._report(_in_order([*checked.errors, *both], after), instr)
        _value_to_address(instr, checked)
        _without_braces(instr, checked.name)
        odd = _odd_function_address(instr)
        notes = [*checked.notes, ("warning", odd)] if odd else checked.notes
        for severity, note in notes:
            if severity != "info":
                state.note(severity, note, line)
        return bool(checked.errors or checked.late or after or rules or notes)


def _in_order(errors: list[str], after: list[str]) -> list[str]:
    """The errors of an opcode and the messages ``after`` them, of which those on addresses stand before some of them."""
    addresses = [m for m in after if m.startswith(_OF_ADDRESSES)]
    behind = [m for m in errors if m.startswith(_BEHIND_ADDRESSES)] if addresses else []
    if not behind:
        return [*errors, *after]
    return [*(m for m in errors if m not in behind), *addresses, *behind, *(m for m in after if m not in addresses)]


def _without_macros(checked: Checked, rules: list[str], messages: list[str]) -> list[str]:
    """The messages on operands, with the first of those that ptxas finds in a macro, which it expands if nothing else is wrong."""
    found = [m for m in messages if not m.endswith(_OF_MACROS) or checked.name in ("mov", "add")]
    return found if found or checked.errors or checked.late or checked.early or rules else messages[:1]


def _odd_function_address(instr: Instr) -> str:
    """The warning on a mov of the address of a function into an odd type; empty if there is none."""
    sig = instr.sig
    if sig.name != "mov" or sig.types[0] in ("b32", "u32", "b64", "u64") or instr.ops[-1].kind != O_FUNC:
        return ""
    return "Unexpected instruction types specified for 'mov instruction with function address operand'"


def _refuse_variables(state: State, instr: Instr) -> None:
    """Refuses variables as elements of vectors where ptxas makes code of them that reads registers nobody wrote."""
    for op in instr.ops:
        for elem in op.elems:
            if elem.var is not None and OF_VARIABLE in elem.var.attributes:
                state.error(f"Illegal expression '{elem.var.name}'", instr.line)
                return


def _note_unified(name: str, instr: Instr, found: list[str]) -> None:
    """Drops the attribute .unified of addresses, a hint without effect on the code; adds the message where it is illegal to `found`.

    In place of a value it is told of variables alone, before the message that they are no registers.
    """
    for k, op in enumerate(instr.ops):
        if op.kind == O_ADDR and op.comp == "unified":
            op.comp = ""
            is_register = op.var is not None and op.var.space == "reg"
            value = f"Argument {k} of instruction '{name}': must be register"
            if f"Arguments mismatch for instruction '{name}'" in found:
                continue
            if is_register and (name in ("txq", "suq") or value in found):
                continue
            if name not in _UNIFIED or instr.sig.mods.get("space", "global") != "global":
                later = (value, "Non-generic address is not supported as operand for prefetchu instruction")
                place = next((i for i, m in enumerate(found) if m in later), len(found))
                found.insert(place, f"Illegal use of attribute '.unified' for instruction '{name}'")


def _value_to_address(instr: Instr, checked: Checked) -> None:
    """Rewrites a variable or register in place of an address (``s[c]``, ``s+c``, ``r``) to the address ``[s+c]``; ``s[r]`` has none."""
    lists = [present_slots(e, instr.sig) for e in checked.row.lists] if checked.row is not None else []
    for i, op in enumerate(instr.ops):
        if op.kind in (O_SYM, O_REG) and not op.elems and {e[i].role for e in lists if len(e) > i} == {"M"}:
            address = Operand(O_ADDR)
            address.var = op.var
            address.comp = op.comp
            address.value = op.value
            address.key = "[s]"
            instr.ops[i] = address


_OF_ONE: Final = ("mov", "clusterlaunchcontrol.query_cancel")
"""Instructions that take a vector of one element for a value."""


def _without_braces(instr: Instr, name: str) -> None:
    """Rewrites a vector of one element in place of a value to the element."""
    if name in _OF_ONE and "vec" not in instr.sig.mods:
        instr.ops[:] = [op.elems[0] if op.kind == O_VEC and len(op.elems) == 1 else op for op in instr.ops]


def note_unknown(state: State, op: Operand, line: int) -> None:
    """Notes the undefined names in an operand."""
    if op.name and op.var is None and op.label is None and op.kind in (O_LABEL, O_ADDR):
        state.unknown(op.name, line, op if op.key == LABEL_SUM else None)
    for elem in op.elems:
        note_unknown(state, elem, line)
