"""Operands of texture and surface instructions, as ptxas 13.0.88 takes them (probed with registers of every type)."""

from typing import Final

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
    Operand,
    Sig,
    Var,
)
from orias.ptx.fits import INDIRECT, Use, are_untyped, register_fits, register_types, scalar_fits, vector_size_errors
from orias.ptx.form_table import Slot

_HANDLES: Final = ("tex", "tld4", "suld", "sust", "sured", "txq", "suq")
_NAMED: Final = ("texref", "surfref", "samplerref")
_FORCED: Final = "force_unnormalized_coords"
_SAMPLER_QUERIES: Final = ("filter_mode", "addr_mode_0", "addr_mode_1", "addr_mode_2", _FORCED)
_FLOATS: Final = ("b32", "u32", "s32", "f32")
_INTEGERS: Final = ("f16x2", "b32", "u32", "s32")
_ANY_WORD: Final = ("f16x2", "b32", "u32", "s32", "f32")
_PLACES: Final = ("b32", "u32", "s32")
_TYPES: Final[dict[str, tuple[str, ...]]] = {
    "f32": _FLOATS,
    "s32": _INTEGERS,
    "u32": _INTEGERS,
    "f16": ("b16", "u16", "s16", "f16"),
    "f16x2": ("b32", "f16x2"),
}
"""Types of the registers for results and coordinates of sampling, by the instruction type."""


_COORDINATES: Final[dict[str, int]] = {
    "1d": 1, "2d": 2, "3d": 3, "a1d": 2, "a2d": 3, "cube": 3, "acube": 4, "2dms": 3, "a2dms": 4,
}  # fmt: skip
"""Coordinates of a point, with the index of its layer or sample, by geometry."""
_LEAST: Final[dict[str, int]] = {
    "tex.level": 3,
    "tex.grad": 4,
    "suld.b": 2,
    "sust.b": 2,
    "sust.p": 2,
    "sured.b": 2,
    "sured.p": 2,
}
"""Fewest operands of instructions that need more than a result and a place."""


def texture_errors(name: str, sig: Sig, types: tuple[str, ...], ops: list[Operand], use: Use) -> list[str]:
    """Error messages on the operands of an instruction on a texture or surface; none for all others."""
    if not name.startswith(_HANDLES):
        return []
    mismatch = [f"Arguments mismatch for instruction '{name}'"]
    place = 0 if name.startswith(("sust", "sured")) else 1
    if len(ops) < max(place + 1, _LEAST.get(name, 0)):
        return mismatch
    where = ops[place]
    kind = _handle_kind(name, sig, use.independent)
    if where.kind != O_ADDR:
        return _without_brackets(place, name, sig, where, kind) if _queried(name, where) else mismatch
    handle = _handle(where, kind)
    if handle == _WRONG:
        return mismatch
    if name.startswith(("txq", "suq")):
        return _query_errors(place, name, sig, kind, handle, where)
    if not where.elems or any(e.kind == O_LABEL for e in where.elems) or where.elems[-1].kind == O_SYM:
        return mismatch
    use.soft = []
    if name.startswith("su"):
        constants = _wrong_constants(where.elems[-1], "s32")
        fits = (
            not constants
            and _registers_in(where.elems, _PLACES)
            and _surface_values(ops[1 - place], name, sig, types[0], use)
        )
    else:
        fits = _sampled(ops, sig, types, where, use) and _more_operands(name, ops[2:], types[1], use)
    if not fits or not all(kind == "texref" and _may_be_sampler(e) for e in where.elems[:-1]):
        return mismatch
    index = _index_errors(name, where.elems[-1], sig)
    errors = [*index, *use.soft]
    if handle == _NEARLY:
        errors.append(_expected(place, name, kind))
    if kind == "texref":
        errors.extend(_sampler_errors(name, where.elems[:-1], use))
    sizes = _size_errors(name, where.elems[-1], sig, 2 if place else 1)
    errors = [*sizes, *errors] if sizes and sizes[0].startswith("Illegal") else [*errors, *sizes]
    if name.startswith("t") and sig.mods.get("vec") != "v4" and types[0] != "f16x2":
        return [*index, f"Instruction '{name}.{types[0]}' requires .v4 type"]
    return errors


def _handle_kind(name: str, sig: Sig, independent: bool) -> str:
    """The kind of reference that an instruction's first handle is; empty where any is taken.

    ``independent``: the module's samplers are objects of their own (``texmode_independent``), which some queries ask.
    """
    if name.startswith("su"):
        return "surfref"
    query = sig.mods.get("query", "")
    if independent and query == "memory_layout":
        return ""
    return "samplerref" if independent and query in _SAMPLER_QUERIES else "texref"


def _query_errors(place: int, name: str, sig: Sig, kind: str, handle: int, where: Operand) -> list[str]:
    """The messages on the handle of a query; one query is of samplers only, whatever the mode of textures."""
    errors = [] if handle == _RIGHT else [_expected(place, name, kind)]
    var = where.var
    if sig.mods.get("query") == _FORCED and var is not None and var.space != "reg" and var.type != "samplerref":
        errors.append(f"Argument {place} of instruction '{name}': .samplerref expected")
    return errors


def _without_brackets(place: int, name: str, sig: Sig, handle: Operand, kind: str) -> list[str]:
    """The messages on a query's handle that is no address."""
    errors = [f"Address expected for argument {place} of instruction '{name}'"]
    if handle.var is None or handle.var.type not in _NAMED:
        return errors
    known = _RIGHT if not kind or handle.var.type == kind else _NEARLY
    return [*errors, *_query_errors(place, name, sig, kind, known, handle)]


def _may_be_sampler(op: Operand) -> bool:
    """Whether the second handle of a sampling instruction fits: no register, or an integer one of 32 or 64 bits."""
    var = op.var
    return op.kind != O_REG or (
        var is not None and var.type[0] in "bus" and var.vec == 1 and TYPE_BITS[var.type] in (32, 64)
    )


def _sampler_errors(name: str, handles: list[Operand], use: Use) -> list[str]:
    """The messages on the second handle of a sampling instruction: a sampler, if those are objects of their own."""
    sampler = handles[0] if handles else None
    var = sampler.var if sampler is not None else None
    errors = []
    if sampler is not None and sampler.kind == O_SREG:
        errors.append(f"Special register argument not allowed for instruction '{name}'")
    if use.independent and not _is_sampler(var):
        errors.append(_expected(2, name, "samplerref"))
    if sampler is not None and sampler.kind == O_SYM and (var is None or var.type not in _NAMED):
        errors.append(f"Argument 2 of instruction '{name}': must be register")
    return errors


def _is_sampler(var: Var | None) -> bool:
    """Whether a variable is a sampler or a register that can hold the handle of one."""
    if var is None:
        return False
    return TYPE_BITS.get(var.type) == 64 if var.space == "reg" else var.type == "samplerref"


def _queried(name: str, where: Operand) -> bool:
    """Whether an operand of a query is a handle, but not as an address."""
    if not name.startswith(("txq", "suq")):
        return False
    if where.kind == O_REG:
        return where.var is not None and TYPE_BITS.get(where.var.type) == 64
    return where.kind == O_SYM or (where.kind == O_IMM and where.imm_type == "int")


_RIGHT: Final = 0
_NEARLY: Final = 1
_WRONG: Final = 2


def _expected(place: int, name: str, kind: str) -> str:
    return f"Argument {place} of instruction '{name}': .{kind} or .u64 register expected"


def _handle(where: Operand, kind: str) -> int:
    """Whether an address is a handle: a reference or a register of 64 bits, without an offset."""
    var = where.var
    if var is None:
        return _WRONG if where.name or where.func is not None else _NEARLY
    if var.space != "reg" and (var.type == kind or (var.type in _NAMED and not kind)):
        return _WRONG if where.value else _RIGHT
    if var.type in _NAMED:
        return _WRONG if where.value else _NEARLY
    if TYPE_BITS.get(var.type) != 64 or var.type[0] not in "bus":
        return _WRONG
    return _RIGHT if var.space == "reg" and not where.value else _NEARLY


def _sampled(ops: list[Operand], sig: Sig, types: tuple[str, ...], where: Operand, use: Use) -> bool:
    """Whether result and coordinates of a sampling instruction fit its types; its result must be a vector."""
    result = ops[0]
    if result.kind == O_PAIR:
        valid = result.elems[1].var
        if result.elems[0].kind == O_VEC and (valid is None or valid.space != "reg" or valid.type != "pred"):
            use.soft.append(f"Predicate output expected for instruction '{use.name}'")
        result = result.elems[0]
    if len(types) > 1 and _wrong_constants(where.elems[-1], types[1]):
        return False
    if len(types) > 1 and types[1] in _TYPES and not _registers_in(where.elems[-1:], _TYPES[types[1]]):
        return False
    if types[0] in _TYPES and not _registers_in([result], _TYPES[types[0]]):
        return False
    if result.kind == O_SINK:
        use.discard()
        return True
    if result.kind == O_VEC:
        if all(e.kind == O_IMM for e in result.elems):
            return False
        if any(e.kind == O_IMM for e in result.elems):
            use.needs_result()
    elif result.kind != O_REG:
        return False
    if "vec" in sig.mods:
        _vector_size(result, int(sig.mods["vec"][1:]), use)
    return True


def _wrong_constants(op: Operand, type_: str) -> bool:
    """Whether a vector has constants alone, and none is of the type: integers in place of singles or the other way round."""
    if op.kind != O_VEC or any(e.kind != O_IMM for e in op.elems):
        return False
    return all((e.imm_type == "int") == (type_ == "f32") for e in op.elems)


def _vector_size(op: Operand, count: int, use: Use) -> None:
    """Records the messages on a result that is no vector of ``count`` elements."""
    if op.kind == O_VEC:
        size = len(op.elems)
    else:
        size = op.var.vec if op.var is not None and not op.comp else 1
        if size == 1:
            use.note("Result vector expected")
    if size != count:
        use.soft.extend(vector_size_errors(size))
        use.note(f"Argument vector size mismatch for instruction '{use.name}'")


def _surface_values(op: Operand, name: str, sig: Sig, type_: str, use: Use) -> bool:
    """Whether the values that a surface instruction reads or writes fit its type."""
    wider = not name.startswith("sured")
    if op.kind == O_VEC:
        if not wider:
            use.note(f"Vector operand is not allowed for instruction '{name}'")
        elif "vec" in sig.mods:
            _vector_size(op, int(sig.mods["vec"][1:]), use)
        return all(e.kind != O_REG or e.var is None or register_fits(e.var.type, type_, wider) for e in op.elems)
    if op.kind == O_REG and op.var is not None:
        total = name.startswith("suld") and op.key.endswith("+")
        if total:
            use.needs_result()
        if name.startswith("suld") and "vec" in sig.mods:
            _vector_size(op, int(sig.mods["vec"][1:]), use)
        if total:
            return True
        return register_fits(op.var.type, type_, True)
    address = op.kind == O_ADDR or (
        op.kind == O_SYM and op.key != "s+" and op.var is not None and op.var.type not in INDIRECT
    )
    if name.startswith("suld"):
        if op.kind == O_SINK:
            use.discard()
        elif op.kind == O_IMM or op.kind == O_FUNC:
            use.needs_result()
        elif address:
            use.must_be_register()
        return address or op.kind in (O_SINK, O_IMM, O_FUNC)
    return _written_value(op, address, type_, wider, use)


def _written_value(op: Operand, address: bool, type_: str, wider: bool, use: Use) -> bool:
    """Whether a value to write is a number of the type; what is an ``address`` or a special register has its message."""
    use.index = 2
    if address:
        use.must_be_register()
        return True
    if op.kind == O_SREG:
        use.note(f"Special register argument not allowed for instruction '{use.name}'")
        return wider
    return op.kind == O_IMM and (op.imm_type == "int" or (wider and scalar_fits(_LEVEL, op, type_, False, use)))


_LEVEL: Final = Slot("S")
"""The level of detail, and what stands in its place."""


def _address_for_level(op: Operand, type_: str, use: Use) -> bool:
    """Whether the address of a variable, or an operand in brackets, fits in place of the level: its message is that it is no register."""
    use.index = 3
    if op.kind == O_SYM:
        if not op.value:
            use.must_be_register()
        return not op.value
    return scalar_fits(_LEVEL, op, type_, False, use)


def _level_register(op: Operand, var: Var, type_: str, use: Use) -> bool:
    """Whether a register fits as a level of a type."""
    if op.neg:
        if op.key[0] == "!":
            return False
        use.note(f"Operand negation not allowed for instruction '{use.name}'")
    return register_fits(var.type, type_, False)


def _more_operands(name: str, ops: list[Operand], type_: str, use: Use) -> bool:
    """Whether the operands after the place of a sampling instruction fit: a level has the type of the coordinates."""
    level = name == "tex.level"
    kind = ops[0].kind if ops else O_SINK
    if (kind == O_SYM and level) or (kind == O_ADDR and name != "tex.grad"):
        return _address_for_level(ops[0], type_, use)
    if any(o.kind == O_SYM or o.kind == O_FUNC for o in (ops[1:] if level else ops)):
        return False
    if level and ops[0].kind == O_REG and ops[0].var is not None:
        return _level_register(ops[0], ops[0].var, type_, use)
    if level and ops[0].kind == O_IMM:
        return (ops[0].imm_type == "int") == (type_ != "f32")
    if level and ops[0].kind == O_VEC and type_ != "f32" and not _registers_in(ops[:1], _PLACES):
        return False
    if name == "tex.grad":
        if any(_wrong_constants(o, "f32") for o in ops[:2]):
            return False
        _check_gradients(ops, use)
    if any(o.kind == O_SREG for o in ops):
        use.note(f"Special register argument not allowed for instruction '{name}'")
    if any(o.kind == O_REG and o.neg for o in ops):
        use.note(f"Operand negation not allowed for instruction '{name}'")
    vectors = [o for o in ops if o.kind == O_VEC and name in ("tex", "tex.base")]
    return _registers_in(ops, _ANY_WORD) and _registers_in(vectors, _PLACES)


_GRADIENTS: Final[dict[str, int]] = {"1d": 1, "a1d": 1, "2d": 2, "a2d": 2, "3d": 4, "cube": 4, "acube": 4}
"""Elements of a vector of derivatives, by geometry."""


def _check_gradients(ops: list[Operand], use: Use) -> None:
    """Notes the derivatives that are no vectors or not as long as the geometry asks for."""
    expected = _GRADIENTS.get(use.sig.mods.get("dim", ""), 0)
    for place, op in enumerate(ops[:2], 3):
        size = len(op.elems) if op.kind == O_VEC else op.var.vec if op.var is not None and not op.comp else 1
        if op.kind != O_VEC and size == 1:
            use.note(f"Vector expected for argument {place}")
            continue
        use.soft.extend(vector_size_errors(size))
        if expected and size != expected:
            use.note(f"Operand vector size doesn't match geometry for instruction '{use.name}'")


def _size_errors(name: str, op: Operand, sig: Sig, times: int) -> list[str]:
    """The messages on a vector of coordinates that has an impossible size or is too short for the geometry."""
    if op.kind != O_VEC:
        return []
    size = len(op.elems)
    found = vector_size_errors(size)
    if size < _COORDINATES.get(sig.mods.get("dim", ""), 0):
        found.extend([f"Operand vector size doesn't match geometry for instruction '{name}'"] * times)
    return found


_INDEX: Final[dict[str, int]] = {"a1d": 0, "a2d": 0, "acube": 0, "a2dms": 1}
"""Which coordinate is the number of the layer, by geometry."""


def layer_of(name: str, sig: Sig) -> int:
    """Which coordinate of a sampling instruction is the number of the layer; -1 if none is."""
    return _INDEX.get(sig.mods.get("dim", ""), -1) if name.startswith(("tex", "tld4")) else -1


def _index_errors(name: str, op: Operand, sig: Sig) -> list[str]:
    """The message on a number of a layer that is a float."""
    place = _INDEX.get(sig.mods.get("dim", ""), -1)
    if name.startswith("su") or op.kind != O_VEC or not 0 <= place < len(op.elems):
        return []
    index = op.elems[place]
    is_float = index.imm_type[:1] == "f" if index.kind == O_IMM else index.var is not None and index.var.type[0] == "f"
    return [f"Array index in the '{name}' instruction has unexpected type. Expecting type .u32"] if is_float else []


def _registers_in(operands: list[Operand], fitting: tuple[str, ...]) -> bool:
    """Whether all registers among the operands and their elements have one of the types."""
    for o in operands:
        if o.kind == O_VEC:
            if not _registers_in(
                o.elems, _ANY_WORD if are_untyped(register_types(o.elems)) and "b32" in fitting else fitting
            ):
                return False
        elif o.kind == O_REG and o.var is not None and o.var.type not in fitting:
            return False
    return True
