"""Rewrites of predicates: constant compares, selects, compares of selected constants, predicate logic."""

from typing import Final

from orias.isa.op import F_COMPARES, SIGNS_HALF, op
from orias.isa.operand import (
    INV,
    K_NONE,
    K_P,
    K_R,
    NOT_PT,
    PT,
    RZ,
    Opnd,
    bare,
    has_flags,
    has_lane,
    has_modifiers,
    has_suffix,
    imm,
    in_file,
    is_imm,
    is_true_pred,
)
from orias.ori.ir import OP_COPY, Inst
from orias.passes.simplify import RULES, Cx
from orias.semantics.integers import compare, constant_of, signed
from orias.semantics.truth_tables import INPUTS, WEIGHTS, depends_on, of_two, with_constant

_NEGATED: Final = {"LT": "GE", "GE": "LT", "GT": "LE", "LE": "GT", "EQ": "NE", "NE": "EQ"}
SWAPPED: Final = {"LT": "GT", "GT": "LT", "LE": "GE", "GE": "LE", "EQ": "EQ", "NE": "NE"}
"""Comparison -> the same with its operands exchanged."""
_OF_TWO: Final = {0b1000: "AND", 0b1110: "OR", 0b0110: "XOR"}
"""Table of two inputs -> how a compare combines its result with a predicate."""


def _only_first(inst: Inst) -> bool:
    return len(inst.dst) == 2 and inst.dst[1] == PT


def _isetp(cx: Cx, inst: Inst) -> None:
    mods = inst.op.mods
    if "EX" in mods:
        _extended(cx, inst)
        return
    if not _only_first(inst) or len(inst.src) != 3:
        return
    a, b, p = inst.src
    if has_suffix(a) or has_suffix(b):
        return
    kind = mods[0]
    va, vb = constant_of(a), constant_of(b)
    if va is not None and vb is not None:
        if "U32" not in mods:
            va, vb = signed(va), signed(vb)
        decide(cx, inst, compare(kind, va, vb), p)
        return
    if a == b and kind in _NEGATED:
        decide(cx, inst, kind in ("LE", "GE", "EQ"), p)
        return
    if va is not None and kind in SWAPPED:
        cx.rewrite(inst, op(".".join(["ISETP", SWAPPED[kind], *mods[1:]])), [b, a, p])
        a, b, vb = b, a, va
        kind = SWAPPED[kind]
    if "U32" in mods and vb == 0 and kind in ("LT", "GE"):
        decide(cx, inst, kind == "GE", p)
        return
    if kind in ("NE", "EQ") and vb is not None and not (has_flags(a) or has_lane(a)) and "AND" in mods:
        _compare_select(cx, inst, a, vb, kind == "EQ", p)


def _extended(cx: Cx, inst: Inst) -> None:
    """The high half of a 64-bit compare whose low half is known."""
    if not _only_first(inst) or len(inst.src) != 4:
        return
    if inst.src[3] not in (PT, NOT_PT):
        a, b, p, below = inst.src
        if a == b and p == PT and "AND" in inst.op.mods:
            # Equal high words leave it to the low ones.
            cx.to_copy(inst, below)
        return
    low = inst.src[3] == PT
    kind = inst.op.mods[0]
    if kind in ("EQ", "NE"):
        if low == (kind == "NE"):
            decide(cx, inst, low, inst.src[2])
            return
    elif kind in ("LT", "LE", "GT", "GE"):
        kind = kind[0] + ("E" if low else "T")
    else:
        return
    mods = [kind, *(m for m in inst.op.mods[1:] if m != "EX")]
    cx.rewrite(inst, op(".".join(["ISETP", *mods])), inst.src[:3])


def decide(cx: Cx, inst: Inst, value: bool, p: Opnd) -> None:
    """The comparison is known; combine it with the predicate operand."""
    combine = next(m for m in inst.op.mods if m in ("AND", "OR", "XOR"))
    if combine == "AND":
        result = p if value else NOT_PT
    elif combine == "OR":
        result = PT if value else p
    else:
        result = p ^ INV if value else p
    cx.to_copy(inst, result)


def _compare_select(cx: Cx, inst: Inst, a: Opnd, value: int, equal: bool, p: Opnd) -> None:
    """(q ? x : y) == value with constants x, y is q, !q or a constant."""
    d = cx.definition(a)
    if d is None or d.op.name != "SEL" or len(d.src) != 3:
        return
    x, y = constant_of(d.src[0]), constant_of(d.src[1])
    if x is None or y is None:
        if p == PT and (x is None) != (y is None):
            _compare_nested(cx, inst, d, value, equal)
        return
    on_true, on_false = (x == value) == equal, (y == value) == equal
    if on_true == on_false:
        decide(cx, inst, on_true, p)
        return
    q = d.src[2] if on_true else d.src[2] ^ INV
    if p == PT:
        cx.to_copy(inst, q)
    else:
        cx.rewrite(inst, op("PLOP3.LUT"), [p, q, PT, imm(0x80), imm(0)])


def _compare_nested(cx: Cx, inst: Inst, outer: Inst, value: int, equal: bool) -> None:
    """(q ? (r ? x : y) : z) == value with constants x, y, z, or with the inner selection on the other side."""
    first = constant_of(outer.src[0]) is None
    z = constant_of(outer.src[1 if first else 0])
    inner = cx.definition(outer.src[0 if first else 1])
    if inner is None or inner.op.name != "SEL" or has_modifiers(outer.src[0 if first else 1]) or z is None:
        return
    x, y = constant_of(inner.src[0]), constant_of(inner.src[1])
    if x is None or y is None or (x == value) == (y == value):
        return
    r = inner.src[2] if (x == value) == equal else inner.src[2] ^ INV
    q = outer.src[2] if first else outer.src[2] ^ INV
    if (z == value) == equal:
        cx.rewrite(inst, op("PLOP3.LUT"), [r, q ^ INV, PT, imm(INPUTS[0] | INPUTS[1]), imm(0)])
    else:
        cx.rewrite(inst, op("PLOP3.LUT"), [r, q, PT, imm(INPUTS[0] & INPUTS[1]), imm(0)])


def _sel(cx: Cx, inst: Inst) -> None:
    a, b, p = inst.src
    if p == PT and not has_modifiers(a):
        cx.to_copy(inst, a)
    elif p == NOT_PT and not has_modifiers(b):
        cx.to_copy(inst, b)
    elif a == b and not has_modifiers(a):
        cx.to_copy(inst, a)
    elif constant_of(a) and is_imm(a) and (constant_of(b) == 0 or in_file(b, K_R)):
        # Only the second value may be a constant.
        cx.rewrite(inst, inst.op, [RZ if constant_of(b) == 0 else b, a, p ^ INV])


def _plop3(cx: Cx, inst: Inst) -> None:
    """Predicate logic with one result: constants, copies, and a conjunction taken into the compare that feeds it."""
    if not _only_first(inst) or len(inst.src) != 5:
        return
    lut = constant_of(inst.src[3])
    if lut is None:
        return
    ins = inst.src[:3]
    reduced = lut
    for k, o in enumerate(ins):
        if is_true_pred(o):
            reduced = with_constant(reduced, k, not o & INV)
    reads = [k for k in range(3) if depends_on(reduced, k)]
    if not reads:
        cx.to_copy(inst, PT if reduced & 1 else NOT_PT)
        return
    if len(reads) == 1:
        o = ins[reads[0]]
        positive = reduced == INPUTS[reads[0]]
        cx.to_copy(inst, o if positive else o ^ INV)
        return
    if len(reads) == 2 and _join_compare(cx, inst, ins, reads, reduced):
        return
    _join_tables(cx, inst, ins, lut)


def _join_tables(cx: Cx, inst: Inst, ins: list[Opnd], lut: int) -> None:
    """A table that takes the result of another, which nothing else reads: one table, if that has at most three inputs."""
    for k, o in enumerate(ins):
        d = cx.absorbable(o)
        if d is None or d.op is not inst.op or not _only_first(d) or len(d.src) != 5:
            continue
        inner_lut, inner = constant_of(d.src[3]), d.src[:3]
        if inner_lut is None or not all(in_file(x, K_P) for x in (*ins, *inner)):
            continue
        inputs: list[Opnd] = []
        for x in (*ins[:k], *ins[k + 1 :], *inner):
            if not is_true_pred(x) and bare(x) not in inputs:
                inputs.append(bare(x))
        if len(inputs) > 3 or bare(o) in inputs:
            continue
        inputs += [PT] * (3 - len(inputs))
        table = 0
        for i in range(8):
            truth = {x: i & WEIGHTS[j] != 0 for j, x in enumerate(inputs) if x != PT}
            truth[PT] = True
            truth[bare(o)] = _looked_up(inner_lut, inner, truth)
            table |= _looked_up(lut, ins, truth) << i
        cx.rewrite(inst, inst.op, [*inputs, imm(table), imm(0)])
        return


def _looked_up(lut: int, inputs: list[Opnd], truth: dict[Opnd, bool]) -> bool:
    """The value of a table of three predicates; `truth` has the value of each register."""
    index = sum(WEIGHTS[k] for k, o in enumerate(inputs) if truth[bare(o)] != (o & INV != 0))
    return lut >> index & 1 != 0


def _join_compare(cx: Cx, inst: Inst, ins: list[Opnd], reads: list[int], lut: int) -> bool:
    """p AND/OR/XOR q where p is a compare of its own: the compare takes q as its predicate operand.  True if it did."""
    j, k = reads
    name = _OF_TWO.get(of_two(lut, j, k))
    if name is None:
        return False
    for x, y in ((ins[j], ins[k]), (ins[k], ins[j])):
        d = cx.absorbable(x)
        if d is None or not d.op.flags & F_COMPARES or d.op.signs == SIGNS_HALF or not _only_first(d):
            continue
        if d.src[2] != PT or "AND" not in d.op.mods:
            continue
        mods = list(d.op.mods)
        # The high half of a 64-bit compare has the result of the low half too, whose negation it needs for its own.
        below = d.src[3:]
        if x & INV:
            if d.op.base != "ISETP" or mods[0] not in _NEGATED:
                continue
            mods[0] = _NEGATED[mods[0]]
            below = [o ^ INV for o in below]
        mods[mods.index("AND")] = name
        cx.rewrite(inst, op(".".join([d.op.base, *mods])), [d.src[0], d.src[1], y, *below])
        inst.loc = 0  # as with ptxas: it stands for two lines, and counts to what precedes it
        return True
    return False


def _guarded_copy(cx: Cx, inst: Inst) -> None:
    """``@p d = copy s old o``: selects of equal values, constant guards, and predicates of which one is constant."""
    if inst.guard == PT:
        return
    if inst.old == inst.src[0]:
        value = inst.src[0]
        cx.values.count(inst, -1)
        inst.guard = PT
        inst.old = 0
        inst.src = [value]
        cx.values.count(inst, 1)
        cx.changed = True
    elif (
        in_file(inst.dst[0], K_P) and in_file(inst.guard, K_P) and (is_true_pred(inst.src[0]) or is_true_pred(inst.old))
    ):
        # The register need not start with the constant, and a compare may take the guard.
        g, s, o = inst.guard, inst.src[0], inst.old
        # Of two constants the old one decides, as for the pair.
        either = o == PT or (s == PT and o != NOT_PT)
        pair = [g ^ INV, s] if o == PT else [g, s] if o == NOT_PT else [g, o] if s == PT else [g ^ INV, o]
        table = INPUTS[0] | INPUTS[1] if either else INPUTS[0] & INPUTS[1]
        cx.values.count(inst, -1)
        inst.op, inst.guard, inst.old = op("PLOP3.LUT"), PT, K_NONE
        inst.dst, inst.src = [inst.dst[0], PT], [*pair, PT, imm(table), imm(0)]
        cx.values.count(inst, 1)
        cx.changed = True


RULES["ISETP"] = _isetp
RULES["SEL"] = _sel
RULES["FSEL"] = _sel
RULES["PLOP3"] = _plop3
RULES[OP_COPY.base] = _guarded_copy
