"""Checks whether the operands of an instruction fit the operand lists of its form row.

Every role of an operand position (:class:`orias.ptx.form_table.Slot`) has a function here; :mod:`orias.ptx.fits` checks
values of a type.
"""

from collections.abc import Callable
from typing import Final

from orias.ptx import wmma_checks
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
    Instr,
    Operand,
    Sig,
    Var,
)  # fmt: skip
from orias.ptx.computed_checks import value_errors
from orias.ptx.fits import (
    INDIRECT,
    OUT_OF_BOUNDS,
    Use,
    may_hold,
    scalar_fits,
    vector_errors,
    vector_fits,
    vector_size_errors,
)
from orias.ptx.form_table import Row, Slot
from orias.ptx.matrix_checks import matrix_vector_errors, mma_operands, mma_sizes_differ
from orias.ptx.operands import OF_SPECIAL, PART_OF_VARIABLE, SINK, is_address_type, no_address
from orias.ptx.special_names import SPECIAL
from orias.ptx.tensor_memory_checks import product_errors, transfer_errors
from orias.ptx.texture_checks import layer_of, texture_errors
from orias.ptx.video_checks import is_video, negation_messages, replaces_result, selector_messages
from orias.ptx.wgmma_checks import wgmma_operands

_GENERIC: Final = frozenset(("ldmatrix", "ld", "ldu", "st", "atom", "red", "prefetch", "prefetchu"))
_INDEXED: Final = frozenset(("ld", "ldu", "st", "multimem.red", "multimem.st", "multimem.ld_reduce"))
"""Instructions that take ``s[c]`` in place of an address."""
_CONSTANT_BARRIERS: Final = ("cp.async.bulk", "cp.reduce.async.bulk")
"""Instructions whose barrier may be a number, which is its address in shared memory."""
_TENSOR_COPIES: Final = ("cp.async.bulk.tensor", "cp.reduce.async.bulk.tensor")
"""Instructions that take a register or a variable in place of an address."""
_EXCHANGED: Final = ("b16", "b32", "b64", "b128")
"""Types that a compare-and-swap takes."""
_BARRIER: Final = 3
"""The first operand that may be the barrier of a copy."""
_ADDRESS_TYPES: Final = frozenset(("b32", "u32", "s32", "b64", "u64", "s64"))
_WITH_SYNC: Final = {"shfl": 5, "vote": 3}
"""Operands of instructions that have forms with and without .sync, in those with it."""
_COPIED_BYTES: Final = Slot("u32")
_COPIES: Final = ("cp.async", "cp.reduce.async", "tensormap.cp_fenceproxy")
_WIDE_ADDRESS: Final = frozenset(
    (
        "st.async",
        "red.async",
        "tensormap.replace",
        "multimem.red",
        "createpolicy.range",
        "tcgen05.alloc",
        "tcgen05.commit",
    )
)
"""Instructions whose macro in ptxas moves the address, which must not be narrow."""
_WIDE_GENERIC: Final = frozenset(("st.bulk", "ldmatrix", "stmatrix", "cp.async.mbarrier.arrive"))
"""The same, of generic addresses alone."""
_SIZE_TYPES: Final = ("b32", "u32", "s32", "b64", "u64", "s64")
_PLACED: Final = ("tex", "tld4", "suld", "sust", "sured")
"""Instructions whose addresses have coordinates, besides those on tensors."""
_ANY_SIZE: Final = ("tcgen05.", "wgmma.", "cp.", "multimem.cp.")
"""Instructions with vectors of any size."""
_EIGHT: Final = ("ld", "st", "atom", "red", "multimem.", "mma", "wmma.")
"""Instructions with vectors of 8 elements."""
_QUAD: Final = 4
_MOV_SLOT: Final = Slot("S")
_SPACED: Final[dict[str, str]] = {"cvta": "", "mapa": "shared", "getctarank": "shared"}
"""Instructions on the address of a variable in a state space, and the space where their opcode names none."""


def operand_errors(row: Row, name: str, types: tuple[str, ...], instr: Instr, independent: bool) -> list[str]:
    """Error messages on the operands of an instruction; ``independent``: of a module with ``texmode_independent``."""
    layer = layer_of(name, instr.sig)
    errors = vector_errors(name, instr.ops, layer) or _list_errors(row, Use(name, types, instr.sig, independent), instr)
    if not errors and not is_video(name):
        errors = [m for at in range(len(instr.ops)) for m in selector_messages(name, instr.sig, instr.ops, at)]
    sources = instr.ops if instr.ops and instr.ops[0].kind == O_ADDR else instr.ops[1:]
    if not errors and any(_has_sink(op) for op in sources):
        return ["Sink '_' not allowed as a source operand"]
    return errors


def _has_sink(op: Operand) -> bool:
    """Whether a vector, or one in an address, has an element ``_``."""
    if op.kind not in (O_VEC, O_ADDR):
        return False
    return any(e.kind == O_SINK or (e.var is not None and e.var.name == SINK) or _has_sink(e) for e in op.elems)


def _list_errors(row: Row, use: Use, instr: Instr) -> list[str]:
    """Errors against the operand lists of a row; a mismatch with all of them suppresses other messages."""
    name, types, sig = use.name, use.types, use.sig
    ops = instr.ops
    mismatch = [f"Arguments mismatch for instruction '{name}'"]
    if _WITH_SYNC.get(name) == len(ops) and "sync" not in sig.mods:
        return [f".sync modifier required for instruction '{name}'"]
    errors = texture_errors(name, sig, types, ops, use)
    if errors:
        return errors
    whole = _matrix_errors(name, sig, types, ops)
    if whole is not None:
        return whole
    if name == "atom" and sig.mods.get("op") == "cas" and len(ops) in (3, 4) and types[0] not in _EXCHANGED:
        return [f"Unexpected instruction types specified for '{name}'"]
    for entry in row.lists:
        slots = present_slots(entry, sig)
        if len(slots) != len(ops) and not (row.rest and len(ops) >= len(slots)):
            continue
        use.soft = []
        if _all_fit(slots, ops, use):
            if name.startswith("wmma."):
                use.soft.extend(wmma_checks.operand_errors(name, sig, types, ops))
            return use.soft
    if any("vector" in m.lower() and not m.startswith("Vector operand") for m in use.soft):
        return use.soft
    return mismatch


def illegal_vector_sizes(name: str, ops: list[Operand]) -> list[str]:
    """The messages on vectors of sizes that an instruction has nowhere, which precede those on types."""
    if name.startswith(_ANY_SIZE):
        return []
    vectors = [v for op in ops for v in (op, *op.elems) if v.kind == O_VEC]
    longest = 8 if name.startswith(_EIGHT) else 4
    return [text for v in vectors for text in vector_size_errors(len(v.elems), (1, 2, 4, longest))]


def _matrix_errors(name: str, sig: Sig, types: tuple[str, ...], ops: list[Operand]) -> list[str] | None:
    """The messages on the operands of a matrix instruction; None where its operand lists say the rest."""
    if name == "mma" and not mma_operands(sig, types, ops):
        what = "Argument vector size mismatch" if mma_sizes_differ(sig, types, ops) else "Arguments mismatch"
        return [f"{what} for instruction '{name}'"]
    if name in ("ldmatrix", "stmatrix"):
        return matrix_vector_errors(name, sig, ops) or None
    if name == "wgmma.mma_async":
        return wgmma_operands(sig, types, ops)
    if name == "wgmma.wait_group" and ops and ops[0].kind == O_IMM and ops[0].value < 0:
        return [
            f"Argument 0 of instruction '{name}': unexpected value '{ops[0].value}', expected to be non-negative integer"
        ]
    if name in ("tcgen05.ld", "tcgen05.st", "tcgen05.ld.red"):
        return transfer_errors(name, sig, ops)
    if name in ("tcgen05.mma", "tcgen05.mma.ws"):
        return product_errors(name, sig, ops)
    return None


def present_slots(entry: list[Slot], sig: Sig) -> list[Slot]:
    """The operands of a list that an instruction with these modifiers has."""
    return [s for s in entry if not s.when or _present(s.when, sig)]


def _present(when: str, sig: Sig) -> bool:
    """Whether a conditional operand of a row is present."""
    mods = sig.mods
    if when == "mbarrier":
        return mods.get("completion", "").startswith("mbarrier::complete")
    if when in ("rs", "cas"):
        return mods.get("rnd") == when or mods.get("op") == when
    return when in mods


def _all_fit(slots: list[Slot], ops: list[Operand], use: Use) -> bool:
    for i, slot in enumerate(slots):
        use.index = i
        if (
            i == 0
            and ops[0].kind == O_SINK
            and slot.role not in "DX"
            and (not slot.pair or use.name.startswith("mbarrier."))
        ):
            use.discard()
            continue
        role = _ROLES.get(slot.role)
        before = len(use.soft)
        if not (_value(slot, ops[i], use) if role is None else role(slot, ops[i], use)):
            return False
        found = selector_messages(use.name, use.sig, ops, i)
        if found:
            if replaces_result(use.name, ops[i]):
                del use.soft[before:]
            if len(use.soft) > before and use.soft[before].startswith(("Special register", "Vector operand")):
                before += 1
            use.soft[before:before] = found
    if use.name == "vmad":
        use.soft.extend(negation_messages(use.sig, ops))
    return True


def _anything(slot: Slot, op: Operand, use: Use) -> bool:
    if use.name == "cvt":  # four singles to be rounded
        return op.kind == O_VEC and len(op.elems) == _QUAD and may_hold(op.elems, ("b32", "f32"))
    if use.name == "cp.async":  # the bytes to copy, or whether none is copied
        return (op.kind == O_REG and _predicate(slot, op, use)) or scalar_fits(_COPIED_BYTES, op, "u32", False, use)
    return use.name != "st.bulk" or _bulk_size(op, use)


def _bulk_size(op: Operand, use: Use) -> bool:
    """Whether an operand fits the size of st.bulk: an integer of 32 or 64 bits (which of 32 are legal is told with mov)."""
    if op.kind == O_REG and op.var is not None:
        if op.key[0] == "!" or op.var.vec > 1 or op.var.type not in _SIZE_TYPES:
            return False
        if op.neg:
            use.note(f"Operand negation not allowed for instruction '{use.name}'")
    elif op.kind == O_SREG:
        use.soft.append(f"Special register argument not allowed for instruction '{use.name}'")
    elif op.kind == O_SYM and op.var is not None and op.var.space == "param":
        use.must_be_register()
    elif op.kind == O_SYM:
        return op.key == "s+"
    return op.kind not in (O_FUNC, O_VEC)


def _integer(slot: Slot, op: Operand, use: Use) -> bool:
    return op.kind == O_IMM and op.imm_type == "int"


def _predicate(slot: Slot, op: Operand, use: Use) -> bool:
    if op.kind == O_REG:
        return op.var is not None and op.var.type == "pred"
    return op.kind == O_IMM and op.imm_type == "int"


def _label(slot: Slot, op: Operand, use: Use) -> bool:
    if op.kind == O_LABEL:
        return True
    if use.name == "cvt":
        return False
    if use.name == "brx.idx":
        return op.kind in (O_REG, O_FUNC, O_SYM)  # the message on the list is told where it is read
    use.note(f"Label expected for argument {use.index} of instruction '{use.name}'")
    if op.kind == O_SYM:
        use.must_be_register()
    return True


def _address_value(slot: Slot, op: Operand, use: Use) -> bool:
    """Whether an operand is an address as a value."""
    if op.kind == O_REG and op.var is not None:
        return op.var.type in _ADDRESS_TYPES
    if op.kind == O_SREG:
        use.note(f"Special register argument not allowed for instruction '{use.name}'")
        return SPECIAL[op.name][0] != "pred"
    if op.kind == O_SYM and op.var is not None and op.var.type in _ADDRESS_TYPES and op.key != "s+":
        use.must_be_register()
        return True
    return op.key in ("i", "s+")


def _address(slot: Slot, op: Operand, use: Use) -> bool:
    if op.kind != O_ADDR:
        return _stands_for_address(slot, op, use)
    if op.elems and ".tensor" not in use.name and not use.name.startswith(_PLACED):
        return False
    var = op.var
    if var is None:
        if op.key in ("[f]", "[l]") or op.label is not None:
            _code_address(op, use)
        elif not op.name and not op.elems and use.sig.mods.get("space") != "local":
            use.note("Immediate addresses allowed only for .local state space")
        return True
    if var.space == "reg":
        return _register_address(var, bool(op.elems), use)
    if use.name in _READ_OR_WRITE and var.type in INDIRECT and not var.dims:
        use.note(f"Illegal operand type to instruction '{use.name}'")
        return True
    if use.name in ("ldmatrix", "stmatrix", "st.bulk") and "space" not in use.sig.mods and var.type in INDIRECT:
        use.note(f"Indirect access to {INDIRECT[var.type]} requires .u64 type")
    if use.name.startswith("mbarrier.") and var.space != "shared":
        use.note(f"Illegal state space for address operand '{var.name}' with instruction '{use.name}'")
    _note_width(var, use)
    if _in_wrong_space(var, op, use):
        use.note(f"State space mismatch between instruction and address in instruction '{use.name}'")
    _note_not_generic(op, use)
    return True


def _code_address(op: Operand, use: Use) -> None:
    """Notes the messages on a function, a label or an unknown name as an address."""
    name = op.func.name if op.func is not None else op.name
    known = op.func is not None or op.label is not None
    if known and use.name.startswith("mbarrier."):
        use.note(f"Illegal state space for address operand '{name}' with instruction '{use.name}'")
    use.note(f"Illegal to use symbol '{name}' of type unexpected as address operand. Use integer or bit only.")
    if known:
        times = 2 if use.name in ("ld", "ldu", "st") else 1
        use.soft.extend([f"Illegal operand type to instruction '{use.name}'"] * times)
    _note_not_generic(op, use)


def _note_not_generic(op: Operand, use: Use) -> None:
    """Notes what is no generic address where only such a one is legal."""
    if use.name == "prefetchu" and (op.var is None or op.var.space != "global"):
        use.note("Non-generic address is not supported as operand for prefetchu instruction")


def _stands_for_address(slot: Slot, op: Operand, use: Use) -> bool:
    """Whether an operand without brackets is legal in place of an address."""
    if use.index >= _BARRIER and use.name in _CONSTANT_BARRIERS:
        return _integer(slot, op, use)
    if use.name in _TENSOR_COPIES:
        return _address_of_copy(slot, op, use)
    if op.key != "s[" or use.name not in _INDEXED or op.var is None:
        return False
    space = use.sig.mods.get("space", "").partition("::")[0]
    if space not in ("", op.var.space):
        use.note(f"State space mismatch between instruction and address in instruction '{use.name}'")
    return True


def _address_of_copy(slot: Slot, op: Operand, use: Use) -> bool:
    """Whether an operand without brackets is legal as an address of a copy of a tensor: registers and variables are, and sums."""
    if _integer(slot, op, use):
        use.note("Immediate addresses allowed only for .local state space")
    elif op.kind == O_SYM and op.var is not None:
        if _copied_space(use) not in (op.var.space, ""):
            use.note(f"State space mismatch between instruction and address in instruction '{use.name}'")
    elif op.kind == O_REG and op.neg and not use.index:
        return True  # the grammar reports it
    else:
        errors = value_errors(use.name, op)
        if not errors and not (op.kind == O_REG and op.var is not None and is_address_type(op.var.type)):
            return False
        use.soft.extend(errors)
    return True


def _note_width(var: Var, use: Use) -> None:
    """Notes an access that is wider than the scalar variable at its address."""
    if use.name in ("ld", "st") and not var.dims and var.vec == 1:
        type_ = use.types[-1]
        if TYPE_BITS.get(type_, 0) > TYPE_BITS.get(var.type, 128):
            use.note(f"{OUT_OF_BOUNDS} symbol '{var.name}' of type '.{var.type}' with instruction type '.{type_}'.")


_READ_OR_WRITE: Final = ("ld", "ldu", "st", "atom", "red", "prefetch", "prefetchu")
"""Instructions that have no texture as an address; of the last four ptxas crashes on one."""


def _register_address(var: Var, tensor: bool, use: Use) -> bool:
    """Whether a register may be an address; ``tensor``: coordinates follow it."""
    floats = tensor and use.name.startswith("cp.") and var.type[0] == "f"  # a tensor map
    if var.vec > 1 or not (is_address_type(var.type) or floats):
        if var.type != "b128":
            use.note(no_address(var))
        return True
    if OF_SPECIAL in var.attributes and use.name.startswith("mbarrier."):
        use.note(f"Illegal state space for address operand '{var.name}' with instruction '{use.name}'")
    bits = TYPE_BITS.get(var.type, 0)
    macro = _macro_of_address(use) if bits < 32 else ""
    if macro:
        use.note(f"Arguments mismatch for instruction '{macro}'")
    return bits in ((32, 64) if tensor and not use.name.startswith("cp.") else (8, 16, 32, 64))


def _macro_of_address(use: Use) -> str:
    """The instruction of a macro of ptxas that takes no narrow register as the address of an instruction; empty if there is none."""
    name = use.name
    mods = use.sig.mods
    if name in ("tcgen05.shift", "tcgen05.cp") or (name == "st.bulk" and "space" in mods):
        return "add"
    wide = name in _WIDE_ADDRESS or (name.startswith("wmma.") and mods.get("space", "global") == "global")
    generic = name in _WIDE_GENERIC and "space" not in mods
    return "mov" if wide or generic or (name == "prefetch" and "tensormap" in mods) else ""


def _in_wrong_space(var: Var, op: Operand, use: Use) -> bool:
    """Whether an instruction cannot access the state space of a variable."""
    mods = use.sig.mods
    space = mods.get("space", "")
    if use.name == "cp.async.mbarrier.arrive":
        named = var.type in ("texref", "surfref", "samplerref")
        return named or var.space in ("const", "param") or (bool(space) and not space.startswith(var.space))
    if use.name.startswith(_COPIES):
        return not op.elems and _copied_space(use) not in (var.space, "")
    if space and "dst" not in mods and not op.elems:
        base = space.partition("::")[0]
        return base != var.space
    generic = use.name in _GENERIC or use.name.startswith("mbarrier.")
    # a generic address cannot refer to a constant bank
    return not space and var.space in ("const", "param") and generic


def _copied_space(use: Use) -> str:
    """The state space that an address of a copy must refer to: destination, source or barrier; empty if it is open."""
    mods = use.sig.mods
    word = "shared"
    if use.index == 0:
        word = mods.get("dst", "")
    elif use.index == 1:
        word = mods.get("src", "")
    return word.partition("::")[0]


_ROLES: Final[dict[str, Callable[[Slot, Operand, Use], bool]]] = {
    "X": _anything,
    "M": _address,
    "i": _integer,
    "L": _label,
    "A": _address_value,
    "P": _predicate,
}
"""Role -> check, for roles that take no pair; the others (D, S, Q, m) are values."""


def _value(slot: Slot, op: Operand, use: Use) -> bool:
    """Whether an operand fits as a result or source, or as a pair of one and a predicate."""
    if op.kind == O_PAIR:
        first, second = op.elems
        if not slot.pair and slot.role in "DQS":
            use.note(f"Predicate output not allowed for instruction '{use.name}'")
            return slot.role == "Q" or first.kind != O_REG or _value(slot, first, use)
        if second.kind != O_SINK and (second.var is None or second.var.type != "pred"):
            return False
        op = first
    if slot.role == "Q":
        return _predicate_result(op, use)
    if slot.role == "m":
        return _mov(op, use)
    type_ = slot.type
    if not type_:
        type_ = use.types[slot.index] if slot.index < len(use.types) else ""
    if slot.wide:
        type_ = type_[0] + str(TYPE_BITS[type_] * 2)
    mods = use.sig.mods
    named = op.kind == O_SYM or (op.kind == O_FUNC and use.name == "cvta")
    if named and use.name in _SPACED and slot.role == "S" and use.index == 1:
        if op.var is None or op.var.space != mods.get("space", _SPACED[use.name]).partition("::")[0]:
            use.note(f"State space mismatch between instruction and address in instruction '{use.name}'")
            return True
    if slot.vector and "vec" in mods:
        return vector_fits(op, type_, int(mods["vec"][1:]), slot.relaxed, use)
    return scalar_fits(slot, op, type_, slot.role == "D", use)


def _predicate_result(op: Operand, use: Use) -> bool:
    if op.kind == O_SINK:
        return True
    if op.kind == O_IMM and op.imm_type == "int":
        use.needs_result()
        return True
    if op.kind == O_ADDR and op.var is not None and op.var.type == "pred":
        use.must_be_register()
        return True
    if op.kind != O_REG or op.var is None or op.var.type != "pred":
        return False
    if op.neg or op.key.endswith("+"):
        use.needs_result()
    return True


def _mov(op: Operand, use: Use) -> bool:
    """Whether an operand fits mov: anything of the right size, vectors that pack or unpack, special registers, addresses."""
    type_ = use.types[0]
    mods = use.sig.mods
    count = int(mods["vec"][1:]) if "vec" in mods else 1
    if op.kind == O_SREG:
        return _mov_special(op, type_, count, use)
    if count > 1:
        return vector_fits(op, type_, count, False, use)
    if op.kind == O_VEC:
        return _mov_vector(op, type_, use)
    if op.kind == O_REG and op.var is not None and op.var.vec > 1 and not op.comp:
        return type_[0] == "b" and TYPE_BITS.get(op.var.type, 0) * op.var.vec == TYPE_BITS[type_]
    if op.kind == O_SYM and op.var is not None and op.var.type in INDIRECT and op.key != "s+" and type_ != "u64":
        use.note(f"Indirect access to {INDIRECT[op.var.type]} requires .u64 type")
        return True
    if use.index and op.kind in (O_SYM, O_FUNC) and op.key != PART_OF_VARIABLE:
        return op.kind == O_FUNC or type_[0] in "bus"
    return scalar_fits(_MOV_SLOT, op, type_, use.index == 0, use)


def _mov_special(op: Operand, type_: str, count: int, use: Use) -> bool:
    """Whether a special register fits mov."""
    register, size, _, _ = SPECIAL[op.name]
    other_size = size != count and not op.comp
    written = use.index == 0
    have, want = TYPE_BITS.get(register, 0), TYPE_BITS.get(type_, 0)
    if type_ in ("f32", "f64"):
        fits = register != "pred" and have == want
    elif register == "pred" or type_ == "pred":
        fits = register == type_
    else:
        same = have == want or (want == 16 and have == 32) or op.name == "gridid"
        fits = type_[0] in "bus" and same and not (written and other_size and type_[0] == "b")
    if not fits and (written or not other_size):
        return False
    if type_[0] == "f":
        use.note("Special register argument not allowed for instruction 'mov'")
    elif written:
        use.note("Read-only special register cannot be destination argument")
    if other_size:
        use.note("Argument vector size mismatch for instruction 'mov'")
    return True


def _mov_vector(op: Operand, type_: str, use: Use) -> bool:
    """Whether mov can pack a vector into, or unpack it from, one value of the type."""
    count = len(op.elems)
    if not use.index and type_[0] in "bp" and any(e.kind == O_IMM for e in op.elems):
        use.needs_result()
    if type_ == "pred":
        use.note("Vector operand is not allowed for instruction 'mov'")
    if type_[0] != "b":
        use.note("Argument vector size mismatch for instruction 'mov'")
        return True
    if count not in (1, 2, 4):
        return False
    if all(e.kind == O_IMM for e in op.elems) and any(e.imm_type == "f64" for e in op.elems):
        return TYPE_BITS[type_] == 64 * count
    for elem in op.elems:
        if elem.kind == O_REG and elem.var is not None:
            if TYPE_BITS.get(elem.var.type, 0) * count != TYPE_BITS[type_]:
                return False
        elif elem.kind == O_SREG and use.index:
            register, size, _, _ = SPECIAL[elem.name]
            if TYPE_BITS.get(register, 0) * count != TYPE_BITS[type_] or (size > 1 and not elem.comp):
                return False
        elif elem.kind not in (O_IMM, O_SINK):
            return False
    return True
