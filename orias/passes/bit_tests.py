"""LateArchOptimizeFirst: a comparison of a logical result with zero is a predicate result of the logical operation.

LOP3 gives a predicate besides its word: the word is not zero.  ``t = LOP3 x, m`` and ``p = ISETP.NE t, 0`` become
``t, p = LOP3 x, m``, without `t` if nobody else reads it.  A comparison of one bit with itself is one with zero, too.  The
predicate of an equality with zero is the opposite one: its readers invert it, or the bit is tested inverted.
"""

from typing import Final

from orias.isa.isa_table import IsaTable, load
from orias.isa.op import F_PSEUDO, op
from orias.isa.operand import (
    INV,
    K_NONE,
    NOT_PT,
    NOT_UPT,
    PT,
    RZ,
    UPT,
    URZ,
    has_lane,
    has_modifiers,
    imm,
    imm_value,
    is_imm,
    is_vreg,
    vreg,
)
from orias.ori.ir import Func, Inst
from orias.passes.def_use import Values
from orias.semantics.integers import constant_of
from orias.semantics.truth_tables import INPUTS

_LOGIC: Final = {"ISETP": "LOP3", "UISETP": "ULOP3"}
_AND: Final = INPUTS[0] & INPUTS[1]
_AND_INVERTED: Final = ~INPUTS[0] & INPUTS[1] & 0xFF


def test_with_logic(fn: Func) -> bool:
    """Merge comparisons into the logical operations that feed them; True if any went."""
    values = Values(fn)
    table = load(fn.target.table)
    readers: dict[int, list[Inst]] = {}
    for inst in fn.insts():
        for o in inst.uses():
            if is_vreg(o):
                readers.setdefault(vreg(o), []).append(inst)
    changed = False
    for b in fn.blocks:
        here: set[int] = set()
        gone: set[int] = set()
        for inst in b.insts:
            here.add(inst.uid)
            logic = _LOGIC.get(inst.op.base)
            if logic is None:
                continue
            d = values.definition(inst.src[0])
            if d is None or d.uid not in here or d.uid in gone or d.op.name != f"{logic}.LUT":
                continue
            left = _merge(fn, table, values, readers, inst, d)
            if left is not None:
                gone.add(left.uid)
                changed = True
        if gone:
            b.insts = [i for i in b.insts if i.uid not in gone]
    return changed


def _merge(
    fn: Func, table: IsaTable, values: Values, readers: dict[int, list[Inst]], test: Inst, logic: Inst
) -> Inst | None:
    """Make one instruction of a logical operation and the comparison of its result; returns the other one, which goes."""
    x = test.src[0]
    if (
        len(logic.dst) != 1
        or logic.guard != PT
        or test.guard != PT
        or test.dst[1] not in (PT, UPT)
        or test.old != K_NONE
    ):
        return None
    if has_modifiers(x) or has_lane(x) or len(test.src) != 3 or logic.src[4] not in (NOT_PT, NOT_UPT):
        return None
    bit = _single_bit(logic)
    not_zero = _tests_not_zero(test, bit)
    if not_zero is None:
        return None
    src = list(logic.src)
    also = test.src[2]
    combine = "AND" if "AND" in test.op.mods else "OR" if "OR" in test.op.mods else "XOR"
    plain = also in (PT, UPT) and combine == "AND"
    alone = values.uses[vreg(x)] == 1
    if not plain and (combine == "XOR" or not alone):
        return None
    if not not_zero and plain and alone and bit and not has_modifiers(src[0]):
        # The inverted bit is not zero.
        src[3] = imm(_AND_INVERTED)
        not_zero = True
    name = logic.op.name
    if not plain:
        # p = n and also, or !p = !n or !also; the same with the two exchanged.
        if not not_zero:
            also, combine = also ^ INV, "OR" if combine == "AND" else "AND"
        if combine == "AND":
            name += ".PAND"
        src[4] = also
    word = x if not alone else RZ if test.op.base == "ISETP" else URZ
    merged = op(name)
    if not table.accepts(merged, PT, [word, test.dst[0]], src):
        return None
    if not not_zero:
        p = vreg(test.dst[0])
        if any(r.op.flags & F_PSEUDO or (is_vreg(r.old) and vreg(r.old) == p) for r in readers.get(p, ())):
            return None
        for r in {r.uid: r for r in readers.get(p, ())}.values():
            trial = [o ^ INV if is_vreg(o) and vreg(o) == p else o for o in r.src]
            guard = r.guard ^ INV if is_vreg(r.guard) and vreg(r.guard) == p else r.guard
            if not table.accepts(r.op, guard, r.dst, trial):
                return None
        for r in {r.uid: r for r in readers.get(p, ())}.values():
            r.src = [o ^ INV if is_vreg(o) and vreg(o) == p else o for o in r.src]
            if is_vreg(r.guard) and vreg(r.guard) == p:
                r.guard ^= INV
    if alone:
        test.op, test.dst, test.src = merged, [word, test.dst[0]], src
        return logic
    logic.op, logic.dst, logic.src = merged, [word, test.dst[0]], src
    return test


def _single_bit(logic: Inst) -> int:
    """The bit that the operation selects of its first source; 0 if it is another operation."""
    if not is_imm(logic.src[3]) or imm_value(logic.src[3]) != _AND or not is_imm(logic.src[1]):
        return 0
    mask = imm_value(logic.src[1]) & 0xFFFFFFFF
    return mask if mask & (mask - 1) == 0 else 0


def _tests_not_zero(test: Inst, bit: int) -> bool | None:
    """True for a comparison that holds if the value is not zero, False if it is; None for any other.

    The value is 0 or `bit`, if that is not 0.
    """
    kind, unsigned = test.op.mods[0], "U32" in test.op.mods
    y = constant_of(test.src[1])
    if y is None or "EX" in test.op.mods:
        return None
    if y == 0 and kind in ("NE", "EQ"):
        return kind == "NE"
    if bit and y == bit and kind in ("NE", "EQ"):
        return kind == "EQ"
    if unsigned and (kind, y) in (("GT", 0), ("GE", 1)):
        return True
    if unsigned and (kind, y) in (("LE", 0), ("LT", 1)):
        return False
    return None
