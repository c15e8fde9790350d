"""Whether an operand fits an instruction type.

Facts: docs/facts/front-end.md (types of operands).
"""

from collections.abc import Callable
from typing import Final, final

from orias.ptx.ast import (
    O_ADDR,
    O_FUNC,
    O_IMM,
    O_LABEL,
    O_REG,
    O_SINK,
    O_SREG,
    O_SYM,
    O_VEC,
    TYPE_BITS,
    Operand,
    Sig,
)  # fmt: skip
from orias.ptx.form_table import Slot
from orias.ptx.operands import LABEL_SUM, NO_PART, PART_OF_VARIABLE
from orias.ptx.special_names import SPECIAL

OUT_OF_BOUNDS: Final = "Potential out of bound access while accessing"
"""How the remark begins on an access that is wider than its variable."""
INDIRECT: Final[dict[str, str]] = {"texref": "texture", "surfref": "surface", "samplerref": "sampler"}
"""Types of objects that instructions name by a handle -> what they are."""


def register_fits(register: str, type_: str, relaxed: bool) -> bool:
    """Whether a register of type ``register`` fits the instruction type ``type_``."""
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


@final
class Use:
    """An instruction under check.  ``index``: number of the current argument; ``soft``: messages on operands that fit.

    ``independent``: textures and samplers are objects of their own in this module (``texmode_independent``).
    """

    __slots__ = ("independent", "index", "name", "sig", "soft", "types")

    def __init__(self, name: str, types: tuple[str, ...], sig: Sig, independent: bool) -> None:
        self.name: Final[str] = name
        self.types: Final[tuple[str, ...]] = types
        self.sig: Final[Sig] = sig
        self.independent: Final[bool] = independent
        self.index: int = 0
        self.soft: list[str] = []

    def note(self, message: str) -> None:
        """Records a message on an operand that fits."""
        self.soft.append(message)

    def wrong_size(self) -> None:
        """Records the message on a vector of another size, which ptxas gives twice for the result of a load."""
        times = 2 if self.name in ("ld", "ldu") else 1
        self.soft.extend([f"Argument vector size mismatch for instruction '{self.name}'"] * times)

    def not_one(self, slot: Slot) -> None:
        """Records the message on a vector register where one value is expected."""
        self.note(
            f"Argument vector size mismatch for instruction '{self.name}'"
            if slot.vector
            else f"Vector operand is not allowed for instruction '{self.name}'"
        )

    def discard(self) -> None:
        """Records the message that the operand may not be ``_``."""
        self.soft.append(f"Result discard mode is not allowed for instruction '{self.name}'")

    def must_be_register(self) -> None:
        """Records the message that the operand has to be a register."""
        self.soft.append(f"Argument {self.index} of instruction '{self.name}': must be register")

    def needs_result(self) -> None:
        """Records the message that the operand is no legal result."""
        self.soft.append(f"Result register required for instruction '{self.name}'")


VECTOR_SIZES: Final = (1, 2, 4, 8)


def vector_size_errors(count: int, sizes: tuple[int, ...] = VECTOR_SIZES) -> list[str]:
    """The message on a vector of so many elements, if vectors of this place never have as many."""
    return [] if count in sizes else [f"Illegal vector size: {count}"]


_VIDEO_COMPARISONS: Final = ("vset", "vset2", "vset4")
"""Their results and last sources are words that hold no pairs of halves."""


def scalar_fits(slot: Slot, op: Operand, type_: str, result: bool, use: Use) -> bool:
    """Whether an operand fits one value of a type; ``result``: the operand is written."""
    if op.kind in (O_SYM, O_FUNC) and use.index in (0, 3) and use.name in _VIDEO_COMPARISONS:
        return False
    fits = _OPERANDS.get(op.kind)
    if fits is None or not fits(slot, op, type_, result, use):
        return False
    if op.neg and op.kind in (O_FUNC, O_SREG) and use.index and use.name != "vmad" and type_ != "pred":
        use.note(f"Operand negation not allowed for instruction '{use.name}'")
    return True


def _register(slot: Slot, op: Operand, type_: str, result: bool, use: Use) -> bool:
    var = op.var
    assert var is not None
    if op.neg and op.key[0] == "!" and type_ != "pred":
        return False
    if op.key.endswith("+"):
        return _sum(slot, var.type, type_, result, use)
    if not register_fits(var.type, type_, slot.relaxed):
        return False
    if use.name == "redux" and var.type[0] == "f" and var.type != type_:
        return False
    if var.type == "f16x2" and use.index in (0, 3) and use.name in _VIDEO_COMPARISONS:
        return False
    if (
        slot.fixed
        and use.name != "movmatrix"
        and (
            (var.type[0] == "f" and type_[0] == "b")
            or var.type == "f16x2"
            or ((type_ in ("b8", "b16") or use.name == "cvt") and var.type != type_)
        )
    ):
        return False
    if var.vec != 1 and not op.comp:
        use.not_one(slot)
    if op.neg and type_ != "pred":
        if use.index and use.name != "vmad":  # the grammar reports the first operand
            use.note(f"Operand negation not allowed for instruction '{use.name}'")
    return True


def _sum(slot: Slot, register: str, type_: str, result: bool, use: Use) -> bool:
    """Whether a register plus a constant fits: an integer as wide as the type or wider."""
    if use.name == "stackrestore":
        use.needs_result()
        return True
    if not register_fits(register, type_, slot.relaxed or not slot.fixed):
        return False
    if result:
        use.needs_result()
    return register[0] in "bus" and TYPE_BITS[register] in (16, 32, 64)


def _immediate(slot: Slot, op: Operand, type_: str, result: bool, use: Use) -> bool:
    if not _immediate_fits(op, type_) or (slot.fixed and op.imm_type != "int" and type_ == "b64"):
        return False
    if slot.fixed and use.name == "cvt" and type_ == "b32":  # random bits
        return False
    if (result or use.name == "stackrestore") and op.comp != NO_PART:
        use.needs_result()
    return True


def _sink(slot: Slot, op: Operand, type_: str, result: bool, use: Use) -> bool:
    if not slot.sink:
        use.discard()
    return result


_ADDRESSED: Final = ("mov", "cvta", "mapa", "getctarank")
"""Instructions that take the address of a variable as a value."""


def _symbol(slot: Slot, op: Operand, type_: str, result: bool, use: Use) -> bool:
    if slot.fixed and type_ == "b64":  # cache policies and handles
        return False
    if op.key == "s+" or (op.key == "s[" and not result and use.name in _ADDRESSED):
        if result or use.name == "stackrestore":
            use.needs_result()
        return type_[0] in "bus" and "x" not in type_ and type_[1:].isdigit()
    fits = (
        _place_fits(slot, op, type_)
        if op.key in ("s[", PART_OF_VARIABLE)
        else _variable_fits(slot, op, type_, result, use)
    )
    if fits and (result or use.name not in _ADDRESSED or op.key == PART_OF_VARIABLE):
        use.must_be_register()
    return fits


def _place_fits(slot: Slot, op: Operand, type_: str) -> bool:
    """Whether an element of an array would fit if its name were a register."""
    return op.var is not None and register_fits(op.var.type, type_, slot.relaxed)


def _variable_fits(slot: Slot, op: Operand, type_: str, result: bool, use: Use) -> bool:
    """Whether the address of a variable may stand for a value."""
    var = op.var
    if slot.fixed and result:
        return False
    if var is None:
        return True
    if slot.fixed and type_[0] != "b" and not register_fits(var.type, type_, False):
        return False
    if (
        type_ != "pred"
        and not slot.fixed
        and not (var.dims and not type_.startswith("bf16"))
        and not _class_fits(var.type, type_)
    ):
        return False
    if var.vec > 1:
        if type_ == "pred":
            return False
        if use.name not in _ADDRESSED:
            use.not_one(slot)
    return var.type not in INDIRECT or use.name == "cvta"


def _class_fits(declared: str, type_: str) -> bool:
    """Whether the address of a variable may stand for a value of a type, whatever their sizes."""
    if type_ in ("bf16", "bf16x2"):
        return False
    kinds = "bf" if type_[0] == "f" else "bus"
    return (declared[0] in kinds and declared in TYPE_BITS) or type_[0] == "b"


def _function(slot: Slot, op: Operand, type_: str, result: bool, use: Use) -> bool:
    if result or use.name == "stackrestore":
        use.needs_result()
    return not slot.fixed and type_ not in ("bf16", "bf16x2") and use.name != "redux"


def _name_sum(slot: Slot, op: Operand, type_: str, result: bool, use: Use) -> bool:
    """Whether a label or an unknown name fits: with a constant it counts as any value."""
    if op.key != LABEL_SUM or slot.fixed or type_.startswith("bf16"):
        return False
    if result:
        use.needs_result()
    return True


def _special(slot: Slot, op: Operand, type_: str, result: bool, use: Use) -> bool:
    register, size, _, _ = SPECIAL[op.name]
    vector = size > 1 and not op.comp
    if vector and type_[0] == "b" and not slot.relaxed:
        return False
    if vector and slot.wide:
        type_ = f"{type_[0]}{TYPE_BITS[type_] // 2}"  # of a vector ptxas looks at the elements alone
    have, want = TYPE_BITS.get(register, 0), TYPE_BITS.get(type_, 0)
    as_float = type_ in ("f16", "f32", "f64") and register != "pred" and (have == want or (have, want) == (32, 16))
    if not as_float and not register_fits(register, type_, slot.relaxed or use.name == "cvt"):
        return False
    if use.name == "cvt" and result:
        use.note("Read-only special register cannot be destination argument")
    elif use.name != "cvt" or type_[0] == "f":
        use.note(f"Special register argument not allowed for instruction '{use.name}'")
    if vector:
        use.not_one(slot)
    return True


def _address(slot: Slot, op: Operand, type_: str, result: bool, use: Use) -> bool:
    if (
        op.var is None
        and not op.name
        and op.func is None
        and not op.elems
        and not slot.fixed
        and register_fits("b64", type_, slot.relaxed)
    ):
        use.must_be_register()  # a number
        return True
    if op.var is None or op.elems or (slot.fixed and (result or type_[0] != "b")):
        return False
    # the address of a variable counts as a word
    if register_fits(op.var.type if op.var.space == "reg" else "u32", type_, slot.relaxed):
        use.must_be_register()
        return True
    return False


def _vector(slot: Slot, op: Operand, type_: str, result: bool, use: Use) -> bool:
    if slot.fixed:
        # The level of txq.level.  ptxas takes a vector of two registers too, whose meaning is open.
        said = len(use.soft)
        one = use.name == "txq.level" and len(op.elems) == 1
        fits = one and scalar_fits(slot, op.elems[0], type_, result, use)
        del use.soft[said:]
        return fits
    if use.name == "clusterlaunchcontrol.query_cancel" and use.types[0] != "pred":
        return not result and _answer(slot, op, type_, use)
    access = slot.vector and use.name in _ACCESSES
    total = _elements_fit(op, type_, access)
    if total < 0:
        return False
    if access:
        count = len(op.elems)
        use.soft.extend(vector_size_errors(count))
        if count != 1:
            use.note(f"Argument vector size mismatch for instruction '{use.name}'")
        elif use.name == "st.async" and "completion" not in use.sig.mods:
            use.note(f"Vector operand is not allowed for instruction '{use.name}'")
        return True
    if type_.startswith("bf16"):
        return _bf16_vector(op, type_, result, use)
    integers = all(e.kind == O_IMM and e.imm_type == "int" for e in op.elems)
    if type_ == "tf32" or (type_[0] == "b" and total != TYPE_BITS.get(type_, 0) and not integers):
        return False
    if (result or use.name == "stackrestore") and any(e.kind == O_IMM for e in op.elems):
        use.needs_result()
    if not slot.vector:  # rules say so of the others (forms_memory)
        use.note(f"Vector operand is not allowed for instruction '{use.name}'")
    return True


def _elements_fit(op: Operand, type_: str, access: bool) -> int:
    """The bits of the registers of a vector in place of a value, -1 if one of its elements does not fit; ``access``: of a load or store."""
    total = 0
    for elem in op.elems:
        if elem.kind == O_REG and elem.var is not None:
            total += TYPE_BITS.get(elem.var.type, 0)
            if access and not register_fits(elem.var.type, type_, True):
                return -1
            if not access and type_[0] in "usf" and not _element_fits(elem.var.type, type_):
                return -1
        elif elem.kind == O_SINK:
            total += TYPE_BITS.get(type_, 0)
        elif elem.kind == O_IMM and (access or type_[0] != "b") and not _immediate_fits(elem, type_):
            return -1
        elif elem.kind == O_SREG and access:
            special = SPECIAL[elem.name][0]
            if special == "pred" or TYPE_BITS[special] < TYPE_BITS.get(type_, 0):
                return -1
    return total


_ACCESSES: Final = ("ld", "ldu", "st", "st.async")
"""Instructions that take a vector of one element without ``.v2`` and the like."""


def _answer(slot: Slot, op: Operand, type_: str, use: Use) -> bool:
    """Whether a vector fits the answer whose part is read: one of a single element does; with ``.v4`` ptxas takes four, whose meaning is open."""
    if not all(scalar_fits(slot, e, type_, False, use) for e in op.elems):
        return False
    if "vec" in use.sig.mods:
        use.wrong_size()
        return True
    return len(op.elems) == 1


def _bf16_vector(op: Operand, type_: str, result: bool, use: Use) -> bool:
    """Whether a vector fits a bf16, or two: its registers are untyped and as wide; all get a result, the first is a source."""
    types = register_types(op.elems)
    if not are_untyped(types) or any(TYPE_BITS[t] != TYPE_BITS[type_] for t in types):
        return False
    wrong_size = vector_size_errors(len(op.elems), (1, 2, 4))
    use.soft.extend(wrong_size)
    if wrong_size:
        return True
    if result and any(e.kind == O_IMM for e in op.elems):
        use.needs_result()
    elif use.name in ("ex2", "tanh") and type_ == "bf16x2":
        one = len(op.elems) == 1
        use.note(
            "Illegal vector-vector operands for vector-scalar or scalar-vector mov instruction"
            if one
            else "Arguments mismatch for instruction 'mov'"
        )
    return True


def _element_fits(register: str, type_: str) -> bool:
    """Whether the register of a vector has the size of a type and, for an integer type, is no float."""
    return TYPE_BITS.get(register) == TYPE_BITS.get(type_) and not (type_[0] in "us" and register[0] == "f")


_OPERANDS: Final[dict[int, Callable[[Slot, Operand, str, bool, Use], bool]]] = {
    O_REG: _register,
    O_IMM: _immediate,
    O_SINK: _sink,
    O_SYM: _symbol,
    O_FUNC: _function,
    O_SREG: _special,
    O_ADDR: _address,
    O_VEC: _vector,
    O_LABEL: _name_sum,
}
"""Operand kind -> its check as a scalar; other kinds never fit."""


def vector_fits(op: Operand, type_: str, count: int, relaxed: bool, use: Use) -> bool:
    """Whether an operand is a vector of ``count`` elements of a type."""
    if op.kind == O_SINK:
        if use.name in ("ld", "ldu"):
            use.discard()
        return True
    if op.kind == O_REG and op.var is not None and op.var.vec == count and not op.comp:
        return register_fits(op.var.type, type_, relaxed)
    if op.kind != O_VEC:
        use.note("Result vector expected")
        use.wrong_size()
        return True
    if len(op.elems) != count:
        use.soft.extend(vector_size_errors(len(op.elems)))
        use.wrong_size()
        return True
    untyped = are_untyped(register_types(op.elems))
    for elem in op.elems:
        if elem.kind == O_REG and elem.var is not None:
            register = elem.var.type
            if untyped and register != "pred":
                register = f"b{TYPE_BITS[register]}"
            same = register[0] in "us" and type_ in ("f32", "f64") and TYPE_BITS[register] == TYPE_BITS[type_]
            if not same and not register_fits(register, type_, relaxed):
                return False
        elif elem.kind == O_IMM:
            if not _immediate_fits(elem, type_):
                return False
        elif elem.kind != O_SINK:
            return False
    return True


def register_types(elems: list[Operand]) -> list[str]:
    """The types of the registers among the elements of a vector."""
    return [e.var.type for e in elems if e.kind == O_REG and e.var is not None]


def are_untyped(types: list[str]) -> bool:
    """Whether registers of these types make a vector untyped: one that is untyped does, and so do signed ones beside unsigned ones."""
    heads = {t[0] for t in types}
    return "b" in heads or ("s" in heads and "u" in heads)


def may_hold(elems: list[Operand], fitting: tuple[str, ...]) -> bool:
    """Whether the registers of a vector have types among ``fitting``, or are untyped and as wide."""
    types = register_types(elems)
    if all(t in fitting for t in types):
        return True
    widths = {TYPE_BITS[t] for t in fitting}
    return are_untyped(types) and all(TYPE_BITS.get(t) in widths for t in types)


def vector_errors(name: str, ops: list[Operand], index: int = -1) -> list[str]:
    """The messages on vectors with variables, or elements of several kinds; untyped registers (``.b32``) go with all kinds.

    ``index``: which coordinate is the number of a layer, whose kind is its own.
    """
    for op in ops:
        if not op.elems or op.kind not in (O_VEC, O_ADDR):
            continue
        vector = op.elems[0] if op.kind == O_ADDR and op.elems[0].kind == O_VEC else op
        if vector.kind == O_VEC and any(_is_dropped(e) for e in vector.elems):
            return _variable_errors(name, vector)
        alone = index if op.kind == O_ADDR else -1
        kinds = {_element_kind(e) for k, e in enumerate(vector.elems) if k != alone} if len(vector.elems) > 1 else set()
        if len(kinds - {""}) > 1:
            return [f"Vector with elements of different types are not allowed in {name} instruction"]
    return []


def _variable_errors(name: str, vector: Operand) -> list[str]:
    """The messages on a vector that has variables as elements: ptxas drops them, and judges what remains.

    The parser has replaced labels and functions (``orias.ptx.operands``).
    """
    errors = [f"Illegal expression '{_written(e)}'" for e in vector.elems if _is_dropped(e)]
    others = [e.kind for e in vector.elems if not _is_dropped(e)]
    if O_IMM in others and O_REG not in others:
        errors.append(f"Vector with elements of different types are not allowed in {name} instruction")
    elif O_REG not in others:
        errors += [
            "Unable to infer type of vector elements (assuming .b8)",
            f"Arguments mismatch for instruction '{name}'",
        ]
    return errors


def _is_dropped(elem: Operand) -> bool:
    """Whether an element of a vector is a variable or a whole special register of several numbers, which stand for no value."""
    return elem.kind == O_SYM or (elem.kind == O_SREG and SPECIAL[elem.name][1] > 1 and not elem.comp)


def _written(elem: Operand) -> str:
    """The name of an element as the text has it."""
    if elem.kind == O_SREG:
        return f"%{elem.name}"
    return elem.var.name if elem.var is not None else elem.name


def _element_kind(elem: Operand) -> str:
    """What an element of a vector goes with; empty if it goes with all kinds."""
    if elem.kind == O_IMM:
        return "int" if elem.imm_type == "int" else "float"
    if elem.kind == O_SREG:
        return "pred" if SPECIAL[elem.name][0] == "pred" else ""
    if elem.kind != O_REG or elem.var is None or elem.comp or elem.var.type[0] == "b":
        return ""
    return _kind(elem.var.type)


def _kind(type_: str) -> str:
    return "int" if type_[0] in "us" else type_ if type_ in ("pred", "f16x2") else "float"
