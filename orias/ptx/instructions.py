"""Semantic checks of instructions against the instruction table, with ptxas's message texts.

The parser asks once per opcode text (:class:`Checker.opcode`) and once per combination of operand classes
(:class:`Checker.operands`), so the cost per instruction is a set lookup.  Order and wording: asked of ptxas 13.0.88
(unknown modifiers, then types, then arguments, then everything else together).
"""

from typing import Final, final

from orias.ptx import wmma
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
    Instr,
    Module,
    Operand,
    Sig,
)  # fmt: skip
from orias.ptx.asynchronous import CHECKED_ASYNC, async_errors
from orias.ptx.fits import scalar_fits, vector_fits
from orias.ptx.gates import EARLY, LATE, Place, combinations, messages
from orias.ptx.matrix import mma_errors, mma_gate, mma_operands
from orias.ptx.memory import atomic_errors, load_store_errors
from orias.ptx.messages import NAME_PARTS, SPACES, advisories, conversion_errors, illegal, missing, without_sync
from orias.ptx.multimem import multimem_errors
from orias.ptx.names import IGNORED, SLOT_OF
from orias.ptx.opcode import is_shape
from orias.ptx.special import SPECIAL
from orias.ptx.table import ANY, Row, Slot, has_name, rows
from orias.ptx.targets import number_of, suffix_of
from orias.ptx.values import CHECKED, value_errors
from orias.ptx.warpgroup import wgmma_errors, wgmma_gate, wgmma_operands

_LONGEST: Final = 6
_TWO_SPACES: Final = frozenset(
    ("cp.async", "cp.async.bulk", "cp.async.bulk.tensor", "cp.reduce.async.bulk", "cp.reduce.async.bulk.tensor",
     "tensormap.cp_fenceproxy")
)  # fmt: skip

_REPEATED: Final[dict[str, str]] = {
    "rnd": "Multiple rounding modifiers specified",
    "cmp": "Multiple comparisons set",
    "cop": "Multiple cache operation modifiers specified",
    "dim": "Multiple dimension modifiers specified",
    "scope": "Multiple scope modifiers specified",
    "shape": "Multiple matrix shape modifiers specified",
    "clamp": "Multiple clamp modifiers specified",
    "wrap": "Multiple clamp modifiers specified",
    "num": "Multiple .num modifiers specified",
    "completion": "Multiple .mbarrier::complete_tx::bytes modifiers specified",
    "op": "Multiple instruction post-operation flags set",
    "bool": "Multiple instruction post-operation flags set",
}

_GENERIC: Final = frozenset(("ld", "ldu", "st", "atom", "red", "prefetch", "prefetchu"))
_ADDRESS_TYPES: Final = frozenset(("b32", "u32", "s32", "b64", "u64", "s64"))
_FORMATS: Final = frozenset(("b8x16", "b6x16_p32", "b4x16_p64"))
_ORDERS: Final = frozenset(["relaxed", "acquire", "release", "acq_rel", "sc"])
_SCOPES: Final = frozenset(["cta", "cluster", "gpu", "sys"])


def variant(text: str) -> tuple[str, list[str]]:
    """ptxas's instruction name of an opcode text, and the words behind it; the name is "" if there is none."""
    parts = text.split(".")
    for n in range(min(len(parts), _LONGEST), 0, -1):
        name = ".".join(parts[:n])
        if has_name(name):
            return name, parts[n:]
    return "", parts[1:]


@final
class Checked:
    """What is known of an opcode text: its row (None: not usable), its name, and what every use of it is told.

    ``errors``: messages; ``notes``: (severity, message) of warnings and advisories; ``values``: operands must be looked at
    each time, because something depends on their values.
    """

    __slots__ = ("errors", "name", "notes", "row", "types", "values")

    def __init__(self, name: str) -> None:
        self.name: Final[str] = name
        self.row: Row | None = None
        self.types: tuple[str, ...] = ()
        self.errors: Final[list[str]] = []
        self.notes: Final[list[tuple[str, str]]] = []
        self.values: bool = False


@final
class Checker:
    """Checks instructions of one module."""

    __slots__ = ("place",)

    def __init__(self, module: Module) -> None:
        target = module.target
        self.place: Final[Place] = Place(
            module.version[0] * 10 + module.version[1],
            number_of(suffix_of(target)),
            target.endswith(("a", "f")),
            target,
        )

    # opcodes

    def opcode(self, sig: Sig) -> Checked:
        """Checks an opcode: name, types, modifiers, gates."""
        name, words = variant(sig.text)
        result = Checked(name)
        if not name:
            result.errors.append(f"Not a name of any known instruction: '{sig.name}'")
            return result
        unknown = [f"Unknown modifier '.{w}'" for w in words if w in NAME_PARTS]
        result.errors.extend(unknown)
        words = [w for w in words if w not in NAME_PARTS]
        types = tuple([w for w in words if w in TYPE_WORDS and (w not in _FORMATS or name == "ldmatrix")])
        table = rows(name)
        row = table.get(types) or table.get((ANY,))
        if row is None and () in table and not types:
            row = table[()]
        if row is None:
            result.errors.append(f"Unexpected instruction types specified for '{name}'")
            return result
        if name == "cvt" and not row.open and "sat" not in words:
            if any(w in ("relu", "satfinite") and w not in row.words for w in words):
                result.errors.append("Unexpected instruction types specified for 'cvt'")
                return result
        result.row = row
        result.values = (name == "st" and sig.mods.get("space") == "param") or (
            name in CHECKED
            or name in CHECKED_ASYNC
            or (name.startswith("bar") and "warp" not in name and "cluster" not in name)
        )
        result.types = types
        if name == "mma":
            result.errors.extend(mma_errors(sig, types))
        elif name == "wgmma.mma_async":
            result.errors.extend(wgmma_errors(sig, types))
        elif name == "wmma.mma":
            result.errors.extend(
                wmma.product_errors(sig, types) or wmma.saturation_error(sig, types, self.place.version)
            )
        elif name.startswith("wmma."):
            result.errors.extend(wmma.transfer_errors(name, sig, types))
        if not row.open:
            self._modifiers(result, sig, row, words)
        self._gates(result, sig, row, words)
        return result

    def _modifiers(self, result: Checked, sig: Sig, row: Row, words: list[str]) -> None:
        name = result.name
        errors = result.errors
        allowed = row.words
        slots: dict[str, str] = {}
        repeated: list[str] = []
        wrong: list[str] = []
        spaces = 0
        legal = frozenset(allowed)
        for word in words:
            if word not in allowed and (word in IGNORED or word in TYPE_WORDS):
                continue
            slot = SLOT_OF.get(word) or ("shape" if is_shape(word) else word)
            if word in SPACES:
                spaces += 1
            elif name.startswith("createpolicy"):
                # Primary and secondary priority may be the same.
                pass
            elif word == slots.get(slot) or (slot in slots and slot in _REPEATED):
                if word not in ("sync", "uni", "approx") and (slot not in ("op", "bool") or word in allowed):
                    message = _REPEATED.get(slot, f"Duplicate .{word} modifier")
                    if message not in repeated:
                        repeated.append(message)
                    if slot == "rnd":
                        wrong = [m for m in wrong if not m.startswith("Illegal rounding")]
                        continue
            slots[slot if slot != "bool" or name not in ("atom", "red") else "op"] = word
            if word not in allowed:
                if name == "cvt" and word == "ftz":
                    if not any(t in ("f16", "f32", "f64") for t in result.types) or "bf16" in result.types:
                        wrong.append("Illegal modifier '.ftz' for instruction 'cvt'")
                    wrong.append("Modifier '.ftz' does not apply to this type of convert operation")
                elif name == "cvt" and word == "sat":
                    wrong.append("Illegal modifier '.sat' for instruction 'cvt'")
                elif word == "cc":
                    wrong.append(f"Modifier '.cc' applies only to {name} integer types")
                elif word == "sat" and result.types and any(word in r.words for r in rows(name).values()):
                    wrong.append(f"Modifier '.sat' does not apply to '.{result.types[0]}' type")
                else:
                    wrong.extend(illegal(word, slot, name, legal, result.types, self.place))
        if spaces > (2 if name in _TWO_SPACES else 1) and legal & SPACES:
            if name in _TWO_SPACES:
                errors.append("Multiple state spaces specified")
            else:
                errors.append(f"Unexpected number of state spaces specified in instruction '{name}'")
        errors.extend(repeated)
        for group in row.required:
            slot = SLOT_OF.get(group[0], "shape")
            if not any(word in words for word in group) and (slot not in ("rnd", "cmp") or slot not in slots):
                errors.append(missing(name, group))
        errors.extend(wrong)
        self._order(result, sig, name, slots, row)

    def _order(self, result: Checked, sig: Sig, name: str, slots: dict[str, str], row: Row) -> None:
        order = slots.get("order", "")
        scope = slots.get("scope", "")
        errors = result.errors
        if name in ("ld", "st"):
            errors.extend(load_store_errors(name, result.types, slots, self.place))
        elif name in ("atom", "red"):
            errors.extend(atomic_errors(name, result.types, slots, self.place))
        elif name.startswith("multimem."):
            errors.extend(multimem_errors(name, result.types, slots))
        elif name in ("ldmatrix", "stmatrix"):
            if slots.get("space") == "shared::cluster":
                errors.append(f"State space incorrect for instruction '{name}'")
            if name == "ldmatrix" and result.types and result.types[0] != "b16" and ".m8n8." in sig.text:
                errors.append("Incorrect instruction type specified for ldmatrix with shape '.m8n8'")
        elif name == "cvt":
            errors.extend(conversion_errors(slots, result.types))
        elif name in ("add", "sub"):
            if "sat" in slots and "cc" in slots:
                errors.append("Modifier '.cc' cannot be combined with modifier '.sat'")
        elif name == "fma":
            if "ftz" in slots and "oob" in slots:
                errors.append("Modifier '.ftz' cannot be combined with modifier '.oob'")
            if "sat" in slots and "relu" in slots:
                errors.append("Modifier '.relu' cannot be combined with modifier '.sat'")
        elif name == "rcp":
            if slots.get("rnd") == "approx" and result.types == ("f64",) and "ftz" not in slots:
                errors.append("'.ftz' modifier required for instruction 'rcp.approx.f64'")
        elif name in ("min", "max"):
            if ("abs" in slots) != ("xorsign" in slots):
                word, other = ("abs", "xorsign") if "abs" in slots else ("xorsign", "abs")
                errors.append(f"Modifier '.{word}' requires modifier '.{other}'")
        elif name in ("abs", "neg"):
            if result.types and result.types[0][0] == "u":
                errors.append(f"Instruction '{name}' applies only to signed numeric types")
        elif name.startswith("mbarrier."):
            if scope and not order:
                errors.append(f"Modifier '.{scope}' requires order with '{name}' instruction")
            elif order and not scope:
                errors.append(f"Modifier '.{order}' requires scope with '{name}' instruction")
        elif name == "fence":
            if "op_restrict" in slots:
                return
            if not scope and "sync_restrict" not in sig.mods:
                errors.append("Scope modifier required for instruction 'fence'")

    def _gates(self, result: Checked, sig: Sig, row: Row, words: list[str]) -> None:
        """Version and target gates that need no operands, in ptxas's order: words, the instruction, combinations, words."""
        place = self.place
        name, types = result.name, result.types
        errors = result.errors
        wrong = errors[:]
        errors.clear()
        for word in words:
            gate = EARLY.get(word)
            if gate is not None:
                errors.extend(messages(gate, place, name, types))
        gate = row.gate
        if name == "mma":
            gate = mma_gate(sig, types)
        elif name == "wgmma.mma_async":
            gate = wgmma_gate(sig, types)
        elif name.startswith("wmma."):
            gate = wmma.gate(sig, types)
        elif name == "lop3" and "bool" in sig.mods:
            gate = "I70 Fv8.2 : lop3.<BoolOp>"
        elif name in ("barrier", "barrier.red", "barrier.arrive") and "cta" in sig.mods:
            gate = f"Fv7.8 : barrier.cta{name[7:]}"
        elif name == "fence.proxy" and "::" in sig.mods.get("proxy", ""):
            gate = "Fv8.3 N90 : fence.proxy with unidirection proxy fence"
        if gate:
            errors.extend(messages(gate, place, name, types))
        gate = combinations(name, types, words, sig.mods, 0, place)
        if gate:
            unmet = messages(gate, place, name, types)
            errors.extend(unmet)
            if unmet and "with .param state space" in gate:
                errors.append(f"State space incorrect for instruction '{name}'")
        errors.extend(wrong)
        for word in words:
            late = LATE.get(word)
            if late is not None and not (word == "cluster" and "scope" not in sig.mods):
                errors.extend(messages(late, place, name, types))
        if sig.name in ("shfl", "vote") and "sync" not in sig.mods:
            if place.version >= 64 and place.sm >= 70:
                errors.append(
                    f"Instruction '{sig.name}' without '.sync' is not supported on .target sm_70 and higher"
                    " from PTX ISA version 6.4"
                )
            else:
                result.notes.extend([("warning", m) for m in without_sync(sig.name, place)])
        result.notes.extend(advisories(name, sig, words, place))

    # operands

    def operands(self, checked: Checked, instr: Instr) -> list[str]:
        """Checks the operands of an instruction whose opcode is in the table; the messages, arguments first."""
        row = checked.row
        assert row is not None
        name = checked.name
        sig = instr.sig
        ops = instr.ops
        soft: list[str] = []
        if name == "mma" and not mma_operands(sig, checked.types, ops):
            return ["Arguments mismatch for instruction 'mma'"]
        if name == "wgmma.mma_async":
            return wgmma_operands(sig, checked.types, ops)
        if name == "wgmma.wait_group" and ops and ops[0].kind == O_IMM and ops[0].value < 0:
            return [
                f"Argument 0 of instruction '{name}': unexpected value '{ops[0].value}', expected to be non-negative integer"
            ]
        for entry in row.lists:
            slots = [s for s in entry if not s.when or _present(s.when, sig)]
            if len(slots) != len(ops) and not (row.rest and len(ops) >= len(slots)):
                continue
            soft = []
            fits = True
            for i, slot in enumerate(slots):
                if not self._fits(slot, ops[i], i, checked, sig, soft):
                    fits = False
                    break
            if fits:
                if name.startswith("wmma."):
                    soft.extend(wmma.operand_errors(name, sig, checked.types, ops))
                return soft
        if soft and any("vector" in m.lower() for m in soft):
            return soft
        return [f"Arguments mismatch for instruction '{name}'"]

    def values(self, checked: Checked, instr: Instr) -> list[str]:
        """Checks that depend on immediate values or on what a name stands for."""
        messages: list[str] = []
        if checked.name == "st" and instr.sig.mods.get("space") == "param":
            var = instr.ops[0].var if instr.ops else None
            if var is not None and var.function is not None and any(p is var for p in var.function.params):
                messages.append(f"Illegal to write to function input parameter '{var.name}'")
            return messages
        if not checked.values:
            return messages
        messages = async_errors(checked.name, instr) if checked.name in CHECKED_ASYNC else []
        return messages + value_errors(checked.name, instr)

    def _fits(self, slot: Slot, op: Operand, index: int, checked: Checked, sig: Sig, soft: list[str]) -> bool:
        role = slot.role
        name = checked.name
        kind = op.kind
        if role == "X":
            return True
        if role == "M":
            return self._address(op, checked, sig, soft)
        if role == "i":
            return kind == O_IMM and op.imm_type == "int"
        if role == "L":
            if kind == O_LABEL:
                return True
            if name == "cvt":
                return False
            soft.append(f"Label expected for argument {index} of instruction '{name}'")
            if kind == O_SYM:
                soft.append(f"Argument {index} of instruction '{name}': must be register")
            return True
        if role == "A":
            return self._address_value(op, index, name, soft)
        if role == "P":
            if kind == O_REG:
                return op.var is not None and op.var.type == "pred"
            return kind == O_IMM and op.imm_type == "int"
        if kind == O_PAIR:
            if not slot.pair and role in "DQ":
                soft.append(f"Predicate output not allowed for instruction '{name}'")
                return True
            second = op.elems[1]
            if second.kind != O_SINK and (second.var is None or second.var.type != "pred"):
                return False
            op = op.elems[0]
            kind = op.kind
            if kind == O_SINK and role == "Q":
                return True
        if role == "Q":
            if kind == O_REG and op.var is not None and op.var.type == "pred":
                if op.neg:
                    soft.append(f"Result register required for instruction '{name}'")
                return True
            if kind == O_SINK:
                return True
            if kind == O_IMM and op.imm_type == "int":
                soft.append(f"Result register required for instruction '{name}'")
                return True
            return False
        type_ = slot.type
        if not type_ and role != "m":
            type_ = checked.types[slot.index] if slot.index < len(checked.types) else ""
        if slot.wide:
            type_ = type_[0] + str(TYPE_BITS[type_] * 2)
        if role == "m":
            return self._mov(op, index, checked, sig, soft)
        if name == "cvta" and role == "S" and kind in (O_SYM, O_FUNC) and op.key != "s+":
            space = sig.mods.get("space", "").partition("::")[0]
            if op.var is None or op.var.space != space:
                soft.append("State space mismatch between instruction and address in instruction 'cvta'")
                return True
        if slot.vector and "vec" in sig.mods:
            return vector_fits(op, type_, int(sig.mods["vec"][1:]), slot.relaxed, name, soft)
        return scalar_fits(slot, op, type_, role == "D", index, name, soft)

    def _address_value(self, op: Operand, index: int, name: str, soft: list[str]) -> bool:
        """An address as a value."""
        if op.kind == O_REG and op.var is not None:
            return op.var.type in _ADDRESS_TYPES
        if op.kind == O_SREG:
            soft.append(f"Special register argument not allowed for instruction '{name}'")
            return SPECIAL[op.name][0] != "pred"
        if op.kind == O_SYM and op.var is not None and op.var.type in _ADDRESS_TYPES and op.key != "s+":
            soft.append(f"Argument {index} of instruction '{name}': must be register")
            return True
        return op.key in ("i", "s+")

    def _address(self, op: Operand, checked: Checked, sig: Sig, soft: list[str]) -> bool:
        if op.kind != O_ADDR:
            return op.key == "s["
        space = sig.mods.get("space", "")
        var = op.var
        if var is None:
            if not op.name and not op.elems and checked.name in ("ld", "st", "atom", "red") and space != "local":
                soft.append("Immediate addresses allowed only for .local state space")
            return True
        if var.space == "reg":
            return TYPE_BITS.get(var.type, 0) in (32, 64) and var.type[0] in "bus"
        if space and "dst" not in sig.mods and not op.elems:
            base = space.partition("::")[0]
            if base != var.space and not (base == "const" and var.space == "global" and var.linkage == ""):
                soft.append(f"State space mismatch between instruction and address in instruction '{checked.name}'")
        elif not space and var.space in ("const", "param") and checked.name in _GENERIC and "tensormap" not in sig.mods:
            # a generic address cannot name what lies in a constant bank
            soft.append(f"State space mismatch between instruction and address in instruction '{checked.name}'")
        return True

    def _mov(self, op: Operand, index: int, checked: Checked, sig: Sig, soft: list[str]) -> bool:
        """One operand of mov: everything of the right size, vectors that pack or unpack, special registers, addresses."""
        type_ = checked.types[0]
        kind = op.kind
        count = int(sig.mods["vec"][1:]) if "vec" in sig.mods else 1
        if kind == O_SREG and index:
            special = SPECIAL[op.name]
            if special[1] != count and not op.comp:
                soft.append("Argument vector size mismatch for instruction 'mov'")
                return True
            if special[0] == "pred" or type_ == "pred":
                return special[0] == type_
            have = TYPE_BITS[special[0]]
            want = TYPE_BITS[type_]
            return type_[0] in "bus" and (have == want or (want == 16 and have == 32) or op.name == "gridid")
        if kind == O_SREG:
            soft.append("Read-only special register cannot be destination argument")
            return True
        if count > 1:
            return vector_fits(op, type_, count, False, "mov", soft)
        if kind == O_VEC:
            if type_[0] != "b":
                soft.append("Argument vector size mismatch for instruction 'mov'")
                return True
            bits = TYPE_BITS[type_]
            if len(op.elems) not in (2, 4):
                return False
            if all(e.kind == O_SINK for e in op.elems):
                soft.append("Unable to infer type of vector elements (assuming .b8)")
                soft.append("Arguments mismatch for instruction 'mov'")
                return True
            for elem in op.elems:
                if elem.kind == O_REG and elem.var is not None:
                    if TYPE_BITS.get(elem.var.type, 0) * len(op.elems) != bits:
                        return False
                elif elem.kind not in (O_IMM, O_SINK):
                    return False
            return True
        if kind == O_REG and op.var is not None and op.var.vec > 1 and not op.comp:
            return type_[0] == "b" and TYPE_BITS.get(op.var.type, 0) * op.var.vec == TYPE_BITS[type_]
        if index and kind in (O_SYM, O_FUNC):
            return kind == O_FUNC or type_[0] in "bus"
        return scalar_fits(_MOV_SLOT, op, type_, index == 0, index, "mov", soft)


_MOV_SLOT: Final = Slot("S")


def _present(when: str, sig: Sig) -> bool:
    """Whether a conditional operand of a row is there."""
    mods = sig.mods
    if when == "mbarrier":
        return mods.get("completion", "").startswith("mbarrier::complete")
    if when in ("rs", "cas"):
        return mods.get("rnd") == when or mods.get("op") == when
    return when in mods
