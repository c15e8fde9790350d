"""Reads operands of the common shapes by their text.

One match or look-up per operand is several times faster than the token grammar, which reads all other operands.
"""

from typing import Final

from orias.patterns import regex
from orias.ptx.ast import O_FUNC, O_REG, O_SYM, Function, Operand
from orias.ptx.operands import (
    address_operand,
    integer_operand,
    is_address_type,
    name_operand,
    register_operand,
    special_operand,
    symbol_operand,
    unequal_elements,
    vector_operand,
)
from orias.ptx.parser_state import MOST_IN_LIST, State
from orias.ptx.special_names import SPECIAL

_ADDRESS: Final = regex(r"(?a)\[[ \t]*([A-Za-z_$%][A-Za-z0-9_$]*)[ \t]*(?:\+[ \t]*(-?)([1-9][0-9]{0,15}|0)[ \t]*)?\]")
_DECIMAL: Final = regex(r"(?a)-?(?:[1-9][0-9]{0,17}|0)")


def quick_operands(state: State, text: str, operands: dict[str, Operand]) -> list[Operand] | None:
    """The operands of a statement; ``operands`` is the cache of the scope.  None leaves them to the grammar."""
    ops: list[Operand] = []
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
                return None
            operands[part] = op
        ops.append(op)
    return ops


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


def quick_operand(state: State, text: str) -> Operand | None:
    """The operand of a text without surrounding blanks; None, for uncommon shapes, leaves it to the grammar."""
    first = text[:1]
    if first != "%":  # most operands are registers
        if first == "[":
            return _quick_address(state, text)
        if first == "{":
            return _quick_vector(state, text)
        if first.isdigit() or first == "-":
            return integer_operand(int(text)) if _DECIMAL.fullmatch(text) is not None else None
        if not first:
            return None
    found = state.lookup(text)
    if found is None:
        return _quick_special(state, text) if first == "%" else None
    if isinstance(found, Function):
        return name_operand(state, text, 0)
    return register_operand(found) if found.space == "reg" else symbol_operand(found, 0)


def _quick_address(state: State, text: str) -> Operand | None:
    """``[name]`` and ``[name+1]``."""
    match = _ADDRESS.fullmatch(text)
    if match is None:
        return None
    found = state.lookup(match[1]) if match[1] != "%" else None
    if found is None or isinstance(found, Function):
        return None
    base = register_operand(found) if found.space == "reg" else symbol_operand(found, 0)
    if base.kind == O_REG and (found.vec != 1 or not is_address_type(found.type)):
        return None
    offset = match[3]
    value = 0 if offset is None else -int(offset) if match[2] else int(offset)
    return address_operand(base, value)


def _quick_vector(state: State, text: str) -> Operand | None:
    """``{a, b}`` of plain operands."""
    if text[-1] != "}" or "{" in text[1:] or "[" in text or "(" in text:
        return None
    cache = state.scopes[-1].operands
    elems: list[Operand] = []
    parts = text[1:-1].split(",")
    if len(parts) > MOST_IN_LIST:
        return None
    for part in parts:
        part = part.strip()
        elem = cache.get(part)
        if elem is None:
            elem = quick_operand(state, part)
            if elem is None:
                return None
            cache[part] = elem
        if elem.kind in (O_FUNC, O_SYM):
            return None
        elems.append(elem)
    return None if unequal_elements(elems) else vector_operand(elems)


def _quick_special(state: State, text: str) -> Operand | None:
    """``%tid`` and ``%tid.x``, if the module's version and target have that register."""
    name, _, comp = text[1:].partition(".")
    if name not in SPECIAL or (comp and comp not in "xyzw") or state.lookup("%" + name) is not None:
        return None
    if state.special_gate(name) or (comp and SPECIAL[name][1] == 1):
        return None
    return special_operand(name, comp)
