"""Reads operands by the token grammar; :mod:`orias.ptx.quick_operands` reads the common ones faster.

Facts: docs/facts/front-end.md (operands).
"""

from typing import Final

from orias.patterns import regex
from orias.ptx.ast import (
    O_ADDR,
    O_FUNC,
    O_IMM,
    O_LABEL,
    O_PAIR,
    O_REG,
    O_SINK,
    O_SREG,
    O_SYM,
    O_VEC,
    TYPE_BITS,
    TYPE_WORDS,
    Function,
    Instr,
    Operand,
    Var,
)  # fmt: skip
from orias.ptx.declaration_words import element_bytes
from orias.ptx.expr import constant, integer, signed, starts_constant
from orias.ptx.lexer import T_DOT, T_FLOAT, T_IDENT, T_INT, T_PUNCT
from orias.ptx.names import WORDS
from orias.ptx.opcode import DIRECTIVE_WORD, parse_opcode
from orias.ptx.parser_state import MOST_IN_LIST, LabelUse, State
from orias.ptx.special_names import SPECIAL
from orias.ptx.video_checks import known_part, unknown_parts

COMPONENTS: Final = {
    ".x": "x", ".y": "y", ".z": "z", ".w": "w", ".r": "x", ".g": "y", ".b": "z", ".a": "w",
}  # fmt: skip
_SELECTORS: Final = "xyzwrgba"
_VIDEO: Final = "[bh][0-7]+"
_WORDS: Final = ("b32", "u32", "s32")


LABEL_SUM: Final = "l+"
"""Key of an unknown name plus a constant."""
OF_SPECIAL: Final = "special"
"""Attribute of the copy of a special register that is an address."""
OF_VARIABLE: Final = "variable"
"""Attribute of the register that stands for a variable in a vector."""
NO_PART: Final = "?"
"""Component of what stands for a part that there is not."""
PART_OF_VARIABLE: Final = "s."
"""Key of an element of a variable of vectors."""
SINK: Final = "_"
"""Name of the byte that stands for ``_`` in a vector without other elements."""
SUM: Final = "+"
"""Suffix of the key of a register plus a constant, which is legal outside vectors and addresses."""


def register_operand(var: Var) -> Operand:
    """A register."""
    operand = Operand(O_REG)
    operand.var = var
    operand.key = f"r:{var.type}" if var.vec == 1 else f"r:v{var.vec}.{var.type}"
    return operand


def symbol_operand(var: Var, value: int) -> Operand:
    """The address of a variable plus a constant, as a value."""
    operand = Operand(O_SYM)
    operand.var = var
    operand.value = value
    operand.key = f"s:{var.space}.{var.type}" + ("[]" if var.dims or var.vec > 1 else "")
    return operand


def name_operand(state: State, name: str, line: int) -> Operand:
    """The operand of a plain name; an unknown name counts as a label and is looked up when the scope closes."""
    found = state.lookup(name)
    if found is None:
        if name[0] == "%" and name[1:] in SPECIAL:
            return special_operand(name[1:], "")
        operand = Operand(O_LABEL)
        operand.name = name
        operand.key = "l"
        return operand
    if isinstance(found, Function):
        operand = Operand(O_FUNC)
        operand.func = found
        operand.key = "f"
        return operand
    if found.space == "reg":
        return register_operand(found)
    return symbol_operand(found, 0)


def special_operand(name: str, comp: str) -> Operand:
    """A special register."""
    operand = Operand(O_SREG)
    operand.name = name
    operand.comp = comp
    operand.key = f"%{name}.{comp}" if comp else f"%{name}"
    return operand


def integer_operand(value: int) -> Operand:
    """An integer immediate."""
    operand = Operand(O_IMM)
    operand.value = signed(value)
    operand.imm_type = "int"
    operand.key = "i"
    return operand


def vector_operand(elems: list[Operand]) -> Operand:
    """``{a, b}``."""
    operand = Operand(O_VEC)
    operand.elems = elems
    operand.key = "{" + ",".join([e.key for e in elems]) + "}"
    return operand


def _register_bits(elem: Operand) -> int:
    """Bits of a register as an element of a vector, a predicate counting as a word; 0 for everything else."""
    if elem.kind == O_SREG:
        type_, size = SPECIAL[elem.name][:2]
        return 0 if size > 1 and not elem.comp else 32 if type_ == "pred" else TYPE_BITS[type_]
    if elem.kind != O_REG or elem.var is None or elem.comp:
        return 0
    return 32 if elem.var.type == "pred" else TYPE_BITS.get(elem.var.type, 0)


def first_register(elems: list[Operand]) -> Operand:
    """The first element of a vector that is a whole register, else the first."""
    return next((e for e in elems if _register_bits(e)), elems[0])


def unequal_elements(elems: list[Operand]) -> int:
    """How many registers of a vector have another size than the first."""
    sizes = [bits for bits in map(_register_bits, elems) if bits]
    return sum(bits != sizes[0] for bits in sizes)


def address_operand(base: Operand, value: int) -> Operand | None:
    """``[base + value]``; None if the base is neither register nor variable."""
    operand = Operand(O_ADDR)
    operand.value = value
    if base.kind == O_REG or base.kind == O_SYM:
        operand.var = base.var
        operand.value += base.value
        operand.comp = base.comp
        operand.key = f"[{base.key}+]" if operand.value else f"[{base.key}]"
        return operand
    return None


def is_address_type(type_: str) -> bool:
    """Whether a register of a type may be named as an address: integers and untyped ones of at most 64 bits."""
    return type_[0] in "us" or (type_[0] == "b" and type_ != "b128")


def no_address(var: Var) -> str:
    """The error message on a register as an address whose type is no integer."""
    type_ = "unexpected" if var.vec > 1 else f".{var.type}"
    return f"Illegal to use symbol '{var.name}' of type {type_} as address operand. Use integer or bit only."


def operand(state: State, depth: int = 0) -> Operand:
    """Reads one operand by the grammar."""
    left = _single(state, depth)
    part = left.kind == O_REG and left.comp[:1] in ("b", "h")
    if (left.kind == O_ADDR or left.neg or depth or part) and state.lex.kind == T_PUNCT and state.lex.text == "|":
        state.syntax()
    if state.take("|"):
        if state.lex.kind == T_PUNCT and state.lex.text == "!":
            state.syntax()
        if left.kind == O_VEC and (state.lex.kind != T_IDENT or state.lex.text == "_"):
            state.syntax()  # beside a vector only the name of a predicate
        right = _single(state, depth)
        pair = Operand(O_PAIR)
        pair.elems = [left, right]
        pair.key = f"{left.key}|{right.key}"
        return pair
    return left


def argument(state: State) -> Operand:
    """Reads one argument of a call: a plain name, a constant or ``_``."""
    lex = state.lex
    if lex.kind == T_IDENT and lex.text != "WARP_SZ":
        name, line = lex.text, lex.line
        lex.next()
        return name_operand(state, name, line)
    if lex.kind == T_PUNCT and lex.text == "_":
        return _single(state, 0)
    if lex.kind == T_PUNCT and lex.text in ("-", "!"):
        start, line = lex.start, lex.line
        lex.next()
        if lex.kind == T_IDENT and lex.text != "WARP_SZ":
            state.syntax()
        lex.seek(start, line)
    elif lex.kind not in (T_INT, T_FLOAT) and not starts_constant(state):
        state.syntax()
    return _constant(state)


def _single(state: State, depth: int) -> Operand:
    lex = state.lex
    if lex.kind == T_IDENT and lex.text != "WARP_SZ":
        named = _named(state, depth)
        if depth and named.kind == O_REG and named.comp[:1] in ("b", "h", "?"):
            state.error(f"Part '.{named.comp}' of a register as an element of a vector is not supported", lex.line)
        if named.kind == O_REG and not named.comp and depth == 0 and state.take("+"):
            named.value = integer(state)
            named.key += SUM
        return named
    if lex.kind == T_INT or lex.kind == T_FLOAT:
        return _constant(state)
    if lex.kind != T_PUNCT:
        if starts_constant(state):
            return _constant(state)
        state.syntax()
    text = lex.text
    if text == "[":
        return _address(state, depth)
    if text == "{":
        return _vector(state, depth)
    if text == "_":
        lex.next()
        sink = Operand(O_SINK)
        sink.key = "_"
        return sink
    if text == "!" or text == "-":
        return _negated(state, depth)
    if starts_constant(state):
        return _constant(state)
    return state.syntax()


def _negated(state: State, depth: int) -> Operand:
    """A name, or a constant, after a sign."""
    lex = state.lex
    text = lex.text
    start, line = lex.start, lex.line
    lex.next()
    if lex.kind != T_IDENT or lex.text == "WARP_SZ":
        lex.seek(start, line)
        return _constant(state)
    if depth:
        state.syntax()
    at, at_line = lex.start, lex.line
    what = "predicate negation" if text == "!" else "unary minus"
    illegal = not _may_negate(state, text)
    if illegal and (lex.kind == T_DOT or (lex.kind == T_PUNCT and lex.text in ("[", "+"))):
        state.error(f"Illegal argument to {what}", line)
        state.syntax()
    lex.seek(at, at_line)
    plain = _named(state)
    if illegal:
        state.error(f"Illegal argument to {what}", line)
    negated = Operand(plain.kind)
    negated.var = plain.var
    negated.comp = plain.comp
    negated.name = plain.name
    negated.value = plain.value
    negated.neg = True
    negated.key = text + plain.key
    return negated


def _may_negate(state: State, sign: str) -> bool:
    """Whether a sign may stand before the name at the current token, which is read."""
    name, line = state.lex.text, state.lex.line
    state.lex.next()
    plain = name_operand(state, name, line)
    return _is_predicate(plain) if sign == "!" else _is_word(plain)


def _is_predicate(op: Operand) -> bool:
    """Whether ``!`` may stand before an operand."""
    return (op.kind == O_REG and op.var is not None and op.var.type == "pred") or (
        op.kind == O_SREG and SPECIAL[op.name][0] == "pred"
    )


def _is_word(op: Operand) -> bool:
    """Whether ``-`` may stand before an operand: integers of 32 bits."""
    return (op.kind == O_REG and op.var is not None and op.var.type in _WORDS) or (
        op.kind == O_SREG and SPECIAL[op.name][0] in _WORDS
    )


def _constant(state: State) -> Operand:
    value = constant(state)
    result = Operand(O_IMM)
    result.value = signed(value.value) if value.type == "int" else value.value
    result.imm_type = value.type
    result.key = "i" if value.type == "int" else value.type
    return result


def _is_token(word: str) -> bool:
    """Whether a dotted word is one that selects no part: a modifier or a directive."""
    if word == ".to":
        return False
    if word.startswith(".version "):
        return True
    return (word[1:] in WORDS and word[1:] not in TYPE_WORDS) or DIRECTIVE_WORD.match(word) is not None


def _named(state: State, depth: int = 0) -> Operand:
    """A name with what belongs to it; elements of vectors (`depth`) are not elements of variables."""
    lex = state.lex
    line = lex.line
    name = state.name()
    if name[0] == "%" and name[1:] in SPECIAL and state.lookup(name) is None:
        return _special_named(state, name[1:], line, depth)
    result = name_operand(state, name, line)
    if lex.kind == T_DOT:
        result = _selected(state, result)
    if lex.kind == T_PUNCT and lex.text == "[":
        return _indexed(state, result, depth)
    if lex.kind == T_PUNCT and lex.text == "+" and (result.kind == O_SYM or (result.kind == O_LABEL and not depth)):
        lex.next()
        result.value = integer(state)
        if result.kind == O_SYM:
            result.key = "s+"
        elif state.label(name) is None:
            result.key = LABEL_SUM
    return result


def _special_named(state: State, name: str, line: int, depth: int) -> Operand:
    """A special register with its component, what is added to it, or an index."""
    lex = state.lex
    comp = ""
    word = lex.text
    if lex.kind == T_DOT and word in COMPONENTS:
        comp = COMPONENTS[word]
        lex.next()
    for message in state.special_gate(name):
        state.error(message, line)
    if comp and SPECIAL[name][1] == 1:
        # What is left counts as a number, which fits everywhere but as a result.
        state.error(f"Unknown field '{word}'", lex.line)
        return integer_operand(0)
    if lex.kind == T_DOT and not comp:
        word = lex.text[1:]
        if _is_token(lex.text):
            state.syntax()
        _refuse_selector(state, word)
        comp = NO_PART
        lex.next()
    special = special_operand(name, comp)
    if not comp and not depth and lex.kind == T_PUNCT and lex.text == "+":
        type_, size, _, _ = SPECIAL[name]
        # Vectors and predicates have no sum.
        if size == 1 and type_ != "pred" and state.function is not None and state.function.body is not None:
            return special_copy(state, name, line, lex.column())
        return special
    return _indexed(state, special, depth) if not comp and lex.kind == T_PUNCT and lex.text == "[" else special


def _refuse_selector(state: State, word: str) -> None:
    """Reports a word that selects no component, or several."""
    line = state.lex.line
    if word[0] not in _SELECTORS and not regex(_VIDEO).fullmatch(word):
        state.error(f"Unknown vector selector: '{word[0]}'", line)
    if len(word) > 1:
        state.error("Unimplemented feature: vector swizzle", line)


def special_copy(state: State, name: str, line: int, column: int) -> Operand:
    """A register into which a move, put before the statement that is read, copies a special register."""
    function = state.function
    assert function is not None and function.body is not None
    type_ = SPECIAL[name][0]
    copy = Var(f"%{name}", "reg", type_, 1, line)
    state.register(copy)
    result = register_operand(copy)
    function.body.append(Instr(parse_opcode(f"mov.{type_}"), [result, special_operand(name, "")], None, line, column))
    return result


def _selected(state: State, op: Operand) -> Operand:
    """The part of an operand that the word at the current token selects; what has no such part counts as an integer."""
    lex = state.lex
    word = lex.text
    var = op.var
    if word in COMPONENTS and op.kind == O_REG and var is not None and var.vec != 1:
        op.comp = COMPONENTS[word]
        op.key = f"r:{var.type}"
        lex.next()
        return op
    if word not in COMPONENTS and _is_token(word):
        state.syntax()
    lex.next()
    if op.kind == O_REG and var is not None and var.vec != 1:
        state.error(
            "Unimplemented feature: vector swizzle"
            if regex(_VIDEO).fullmatch(word[1:])
            else f"Unknown vector selector: '{word[1:]}'",
            lex.line,
        )
        op.key = f"r:{var.type}"
        op.comp = "x"
        return op
    if op.kind == O_REG and var is not None and (var.type == "pred" or TYPE_BITS.get(var.type) == 32):
        unknown = unknown_parts(word[1:])
        for _ in range(unknown):
            state.error(f"Unknown video selector: '{word}'", lex.line)
        op.comp = known_part(word[1:])
        op.key += word
        return op
    if op.kind == O_SYM and var is not None and var.vec != 1 and not var.dims:
        return _part_of_variable(state, op, word[1:])
    state.error(f"Unknown field '{word}'", lex.line)
    if lex.kind == T_PUNCT and lex.text in ("[", "+", "|"):
        state.syntax()
    return _no_part(state, op)


def _part_of_variable(state: State, op: Operand, word: str) -> Operand:
    """An element of a variable of vectors, which stands for a register, but is none."""
    lex = state.lex
    _refuse_selector(state, word)
    if lex.kind == T_PUNCT and lex.text in ("[", "+", "|"):
        state.syntax()
    op.key = PART_OF_VARIABLE
    return op


def _indexed(state: State, op: Operand, depth: int) -> Operand:
    """``name[index]``: an element of a variable; what is no array counts as an integer."""
    lex = state.lex
    if depth:
        state.syntax()
    line = lex.line
    lex.next()
    register = None if starts_constant(state) or lex.kind != T_IDENT else _index(state)
    constant_part = integer(state) if register is None or state.take("+") else 0
    state.punct("]")
    var = op.var
    if op.kind != O_SYM or var is None or not var.dims:
        state.error("Array indexing on non-array", line)
        return _no_part(state, op)
    op.key = "s["
    if register is None:
        op.value = constant_part * element_bytes(var.type)
    else:
        op.value = constant_part
        op.elems = [register]
    return op


def _index(state: State) -> Operand:
    """The register or the address of a variable that counts elements; an integer in place of what may not."""
    lex = state.lex
    name, line = lex.text, lex.line
    lex.next()
    if lex.kind == T_DOT:
        state.syntax()
    found = name_operand(state, name, line)
    var = found.var
    if found.kind == O_LABEL and state.label(name) is None:
        state.unknown(name, line)
        return integer_operand(0)
    if found.kind == O_SREG:
        for message in state.special_gate(name[1:]):
            state.error(message, line)
    type_, count = "b64", 1
    if found.kind == O_SREG:
        type_, count = SPECIAL[found.name][:2]
    elif found.kind == O_REG and var is not None:
        type_, count = var.type, var.vec
    nothing = found.kind in (O_LABEL, O_FUNC)
    if nothing or type_ == "pred" or type_[0] == "f":
        shown = "(null)" if nothing else f".{type_}"
        state.error(f"Illegal to use symbol '{name}' of type {shown} as array index. Use integer or bit only.", line)
        return integer_operand(0)
    if type_ == "b128" or count > 1:
        # ptxas 13.0.88 crashes at registers that are vectors.
        state.error("Illegal operand type for address/array-index", line)
        return integer_operand(0)
    return found


def _no_part(state: State, op: Operand) -> Operand:
    """What stands for an operand that lacks the part that was named."""
    result = integer_operand(0)
    if op.kind == O_LABEL:
        state.unknown(op.name, state.lex.line)
        result.comp = NO_PART
    return result


def _vector(state: State, depth: int) -> Operand:
    state.punct("{")
    elems: list[Operand] = []
    while True:
        if state.lex.kind == T_PUNCT and state.lex.text in ("[", "{"):
            state.syntax()
        if len(elems) == MOST_IN_LIST:
            state.exhausted()
        elems.append(operand(state, depth + 1))
        if not state.take(","):
            break
    line = state.lex.line
    state.punct("}")
    elems = _known_elements(state, elems, line)
    if not depth and state.lex.kind == T_DOT and not _is_token(state.lex.text):
        state.error(f"Unknown modifier '{state.lex.text}'", state.lex.line)
        state.lex.next()
    odd = unequal_elements(elems)
    for _ in range(odd):
        state.error("Incompatible elements of vector expression", line)
    return vector_operand([first_register(elems)] * len(elems) if odd else elems)


def _register_of_variable(elem: Operand) -> Operand:
    """What stands for a variable in a vector: a register of its type, if it is no array; ptxas then has one that nothing writes."""
    var = elem.var
    if (
        elem.kind != O_SYM
        or var is None
        or var.type not in TYPE_BITS
        or var.type.endswith("ref")
        or var.dims
        or (var.vec != 1) != (elem.key == PART_OF_VARIABLE)
    ):
        return elem
    if elem.key == "s+":
        return elem
    stand_in = Var(var.name, "reg", var.type, 1, var.line)
    stand_in.attributes = (OF_VARIABLE,)
    return register_operand(stand_in)


def _known_elements(state: State, elems: list[Operand], line: int) -> list[Operand]:
    """The elements of a vector, with an untyped register in place of what is no value: labels, functions and unknown names.

    With no other elements ``_`` is a byte.
    """
    elems = [_register_of_variable(e) for e in elems]
    if all(e.kind not in (O_LABEL, O_FUNC) for e in elems) and any(e.kind != O_SINK for e in elems):
        return elems
    for elem in elems:
        if elem.kind == O_FUNC and elem.func is not None:
            state.error(f"Illegal expression '{elem.func.name}'", line)
        elif elem.kind == O_LABEL:
            state.error(f"Illegal expression '{elem.name}'", line)
            state.unknown(elem.name, line)
    known = [e for e in elems if e.kind not in (O_LABEL, O_FUNC, O_SINK)]
    if not known:
        state.error("Unable to infer type of vector elements (assuming .b8)", line)
    bits = _register_bits(first_register(known)) or 32 if known else 8
    stand_in = register_operand(Var("", "reg", f"b{bits}", 1, line))
    sink = register_operand(Var(SINK, "reg", "b8", 1, line))
    kinds = {O_LABEL: stand_in, O_FUNC: stand_in}
    if not known:
        kinds[O_SINK] = sink
    return [kinds.get(e.kind, e) for e in elems]


def _base(state: State) -> Operand:
    """The name in an address, which has neither parts nor elements."""
    lex = state.lex
    start, line = lex.start, lex.line
    state.name()
    if lex.kind == T_DOT or (lex.kind == T_PUNCT and lex.text == "["):
        state.syntax()
    lex.seek(start, line)
    base = _named(state)
    if base.kind != O_SREG or state.function is None or state.function.body is None:
        return base
    type_, size = SPECIAL[base.name][:2]
    if size == 1 and type_ != "pred":
        return _wide_copy(state, base.name, line)
    return register_operand(Var(f"%{base.name}", "reg", type_, size, line))


def _wide_copy(state: State, name: str, line: int) -> Operand:
    """A register of 64 bits into which instructions before the statement that is read put a special register: an address."""
    function = state.function
    assert function is not None and function.body is not None
    column = state.lex.column()
    copy = special_copy(state, name, line, column)
    assert copy.var is not None
    copy.var.attributes = (OF_SPECIAL,)
    if TYPE_BITS[copy.var.type] != 32:
        return copy
    wide = Var(copy.var.name, "reg", "u64", 1, line)
    wide.attributes = (OF_SPECIAL,)
    state.register(wide)
    result = register_operand(wide)
    function.body.append(Instr(parse_opcode("cvt.u64.u32"), [result, copy], None, line, column))
    return result


def _address(state: State, depth: int) -> Operand:
    state.punct("[")
    lex = state.lex
    result = Operand(O_ADDR)
    plain = False
    if starts_constant(state):
        result.value = integer(state)
        result.key = "[i]"
    else:
        if lex.kind != T_IDENT:
            state.syntax()
        base = _base(state)
        wide = base.kind == O_REG and base.var is not None and (base.var.type == "b128" or base.var.vec > 1)
        value = 0
        plain = not base.key.endswith(SUM)
        if base.kind in (O_REG, O_FUNC) and state.take("+"):
            value = integer(state)
            plain = False
        made = address_operand(base, value)
        if made is None:
            result.name = base.name
            result.func = base.func
            result.label = state.label(base.name) if base.kind == O_LABEL else None
            result.key = f"[{base.key}]"
            result.value = base.value
        else:
            result = made
        if wide and lex.text == "]":
            state.error("Illegal operand type for address/array-index", lex.line)
    if not plain and lex.text == ",":
        state.syntax()
    if state.take(","):
        if lex.kind == T_IDENT:
            result.elems.append(_handle(state))
        if not result.elems or state.take(","):
            if lex.kind != T_PUNCT or lex.text != "{":
                state.syntax()
            result.elems.append(_vector(state, depth + 1))
        result.key += "," + ",".join([e.key for e in result.elems])
    state.punct("]")
    if lex.kind == T_DOT and lex.text == ".unified" and not result.elems:
        result.comp = "unified"
        lex.next()
    return result


def _handle(state: State) -> Operand:
    """A name after the first in an address: it has no part, index or constant."""
    name, line = state.lex.text, state.lex.line
    state.lex.next()
    if name[0] == "%" and name[1:] in SPECIAL and state.lookup(name) is None:
        for message in state.special_gate(name[1:]):
            state.error(message, line)
        return special_operand(name[1:], "")
    return name_operand(state, name, line)


def label_operand(state: State, name: str, line: int) -> Operand:
    """A branch target, resolved when its scope closes."""
    result = Operand(O_LABEL)
    result.name = name
    result.key = "l"
    known = state.label(name)
    if known is not None and known.is_list():
        state.error("Label expected for argument 0 of instruction 'bra'", line)
        return result
    state.scopes[-1].uses.append(LabelUse(name, result, None, line))
    return result
