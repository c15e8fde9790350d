"""Whether an operand can stand where an instruction type is asked for (front-end inventory 2.4).

Asked of ptxas 13.0.88: thirty operand kinds at a hundred operand positions.
"""

from orias.ptx.ast import (
    O_ADDR,
    O_FUNC,
    O_IMM,
    O_REG,
    O_SINK,
    O_SREG,
    O_SYM,
    O_VEC,
    TYPE_BITS,
    Operand,
)  # fmt: skip
from orias.ptx.special import SPECIAL
from orias.ptx.table import Slot


def register_fits(register: str, type_: str, relaxed: bool) -> bool:
    """Whether a register of a type can stand where an instruction type is asked for (front-end inventory 2.4)."""
    if register == "pred" or type_ == "pred":
        return type_ == "pred" and register in ("pred", "f16x2")
    have = TYPE_BITS.get(register, 0)
    want = TYPE_BITS.get(type_, 0)
    head = type_[0]
    if type_ in ("f32", "f64", "f16", "f16x2"):
        if register == type_:
            return True
        return register[0] == "b" and (have == want or (relaxed and have > want))
    if head in "us" and "x" not in type_:
        if have != want and not (relaxed and have > want):
            return False
        return register[0] in "bus" or register == "f16x2"
    if head == "b" and type_[1:].isdigit():
        return have == want or (relaxed and have > want)
    if type_ in ("u16x2", "s16x2"):
        return register in ("b32", "f16x2")
    return register[0] == "b" and have == want


def _immediate_fits(op: Operand, type_: str) -> bool:
    if op.imm_type == "int":
        return type_ == "pred" or (type_[0] in "us" and "x" not in type_) or (type_[0] == "b" and type_[1:].isdigit())
    if type_ in ("f32", "f64"):
        return True
    return (type_ == "b32" and op.imm_type == "f32") or (type_ == "b64" and op.imm_type == "f64")


def scalar_fits(slot: Slot, op: Operand, type_: str, result: bool, index: int, name: str, soft: list[str]) -> bool:
    """Whether an operand fits one value of a type; what is wrong nevertheless goes to ``soft``.

    ``result``: it is written; ``index`` and ``name``: the argument's number and the instruction, for messages.
    """
    kind = op.kind
    if kind == O_REG:
        var = op.var
        assert var is not None
        if not register_fits(var.type, type_, slot.relaxed):
            return False
        if op.key.endswith("+"):
            if result:
                soft.append(f"Result register required for instruction '{name}'")
            return var.type[0] in "bus" and TYPE_BITS[var.type] in (16, 32, 64)
        if slot.fixed and (var.type == "f16x2" or (type_ in ("b8", "b16") and var.type != type_)):
            return False
        if var.vec != 1 and not op.comp:
            soft.append(
                f"Argument vector size mismatch for instruction '{name}'"
                if slot.vector
                else f"Vector operand is not allowed for instruction '{name}'"
            )
        if op.neg and type_ != "pred":
            soft.append(f"Operand negation not allowed for instruction '{name}'")
        return True
    if kind == O_IMM:
        if not _immediate_fits(op, type_):
            return False
        if result:
            soft.append(f"Result register required for instruction '{name}'")
        return True
    if kind == O_SINK:
        if not slot.sink:
            soft.append(f"Result discard mode is not allowed for instruction '{name}'")
        return result
    if kind == O_SYM:
        if op.key == "s+" or op.key == "s[":
            if result:
                soft.append(f"Result register required for instruction '{name}'")
            return type_[0] in "bus" and "x" not in type_ and type_[1:].isdigit()
        if result or name not in ("cvta", "mapa", "getctarank"):
            soft.append(f"Argument {index} of instruction '{name}': must be register")
        return True
    if kind == O_FUNC:
        if result:
            soft.append(f"Result register required for instruction '{name}'")
        return not slot.fixed and type_ not in ("bf16", "bf16x2")
    if kind == O_SREG:
        special = SPECIAL[op.name]
        if not register_fits(special[0], type_, slot.relaxed or name == "cvt"):
            return False
        if name != "cvt" or result or type_[0] == "f":
            soft.append(f"Special register argument not allowed for instruction '{name}'")
        return True
    if kind == O_ADDR:
        if op.var is not None and op.var.space == "reg" and register_fits(op.var.type, type_, slot.relaxed):
            soft.append(f"Argument {index} of instruction '{name}': must be register")
            return True
        return False
    if kind == O_VEC:
        total = 0
        for elem in op.elems:
            if elem.kind == O_REG and elem.var is not None:
                total += TYPE_BITS.get(elem.var.type, 0)
                if slot.vector and not register_fits(elem.var.type, type_, True):
                    return False
            elif elem.kind == O_SINK:
                total += TYPE_BITS.get(type_, 0)
        if slot.vector:
            if len(op.elems) != 1:
                soft.append(f"Argument vector size mismatch for instruction '{name}'")
            return True
        if type_[0] == "b" and total != TYPE_BITS.get(type_, 0):
            return False
        soft.append(f"Vector operand is not allowed for instruction '{name}'")
        return True
    return False


def vector_fits(op: Operand, type_: str, count: int, relaxed: bool, name: str, soft: list[str]) -> bool:
    """Whether an operand is a vector of ``count`` elements of a type; a wrong size goes to ``soft``."""
    if op.kind == O_SINK:
        return True
    if op.kind == O_REG and op.var is not None and op.var.vec == count and not op.comp:
        return register_fits(op.var.type, type_, relaxed)
    if op.kind != O_VEC:
        soft.append("Result vector expected")
        soft.append(f"Argument vector size mismatch for instruction '{name}'")
        return True
    if len(op.elems) != count:
        if len(op.elems) not in (1, 2, 4, 8):
            soft.append(f"Illegal vector size: {len(op.elems)}")
        soft.append(f"Argument vector size mismatch for instruction '{name}'")
        return True
    for elem in op.elems:
        if elem.kind == O_REG and elem.var is not None:
            if not register_fits(elem.var.type, type_, relaxed):
                return False
        elif elem.kind == O_IMM:
            if not _immediate_fits(elem, type_):
                return False
        elif elem.kind != O_SINK:
            return False
    return True
