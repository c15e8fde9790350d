"""Rewrites of predicates: constant compares, selects, compares of selected constants, predicate logic."""

from typing import Final

from orias.isa.op import op
from orias.isa.operand import (
    FLAG_MASK,
    INV,
    LANE_MASK,
    NOT_PT,
    PT,
    SUFFIX_MASK,
    Opnd,
    imm,
    is_true_pred,
)
from orias.ori.ir import OP_COPY, Inst
from orias.passes.simplify import RULES, Cx, imm_value

_NEGATED: Final = {"LT": "GE", "GE": "LT", "GT": "LE", "LE": "GT", "EQ": "NE", "NE": "EQ"}
SWAPPED: Final = {"LT": "GT", "GT": "LT", "LE": "GE", "GE": "LE", "EQ": "EQ", "NE": "NE"}
"""Comparison -> the same with its operands exchanged."""


def _signed(v: int) -> int:
    return v - (1 << 32) if v >> 31 else v


def _compare(kind: str, a: int, b: int) -> bool:
    return {"LT": a < b, "LE": a <= b, "GT": a > b, "GE": a >= b, "EQ": a == b, "NE": a != b, "T": True, "F": False}[
        kind
    ]


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
    if (a | b) & SUFFIX_MASK:
        return
    kind = mods[0]
    va, vb = imm_value(a), imm_value(b)
    if va is not None and vb is not None:
        if "U32" not in mods:
            va, vb = _signed(va), _signed(vb)
        _decide(cx, inst, _compare(kind, va, vb), p)
        return
    if a == b and kind in _NEGATED:
        _decide(cx, inst, kind in ("LE", "GE", "EQ"), p)
        return
    if va is not None and kind in SWAPPED:
        cx.rewrite(inst, op(".".join(["ISETP", SWAPPED[kind], *mods[1:]])), [b, a, p])
        a, b, vb = b, a, va
        kind = SWAPPED[kind]
    if "U32" in mods and vb == 0 and kind in ("LT", "GE"):
        _decide(cx, inst, kind == "GE", p)
        return
    if kind in ("NE", "EQ") and vb is not None and not a & (FLAG_MASK | LANE_MASK) and "AND" in mods:
        _compare_select(cx, inst, a, vb, kind == "EQ", p)


def _extended(cx: Cx, inst: Inst) -> None:
    """The high half of a 64-bit compare whose low half is known."""
    if not _only_first(inst) or len(inst.src) != 4 or inst.src[3] not in (PT, NOT_PT):
        return
    low = inst.src[3] == PT
    kind = inst.op.mods[0]
    if kind in ("EQ", "NE"):
        if low == (kind == "NE"):
            _decide(cx, inst, low, inst.src[2])
            return
    elif kind in ("LT", "LE", "GT", "GE"):
        kind = kind[0] + ("E" if low else "T")
    else:
        return
    mods = [kind, *(m for m in inst.op.mods[1:] if m != "EX")]
    cx.rewrite(inst, op(".".join(["ISETP", *mods])), inst.src[:3])


def _decide(cx: Cx, inst: Inst, value: bool, p: Opnd) -> None:
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
    x, y = imm_value(d.src[0]), imm_value(d.src[1])
    if x is None or y is None:
        return
    on_true, on_false = (x == value) == equal, (y == value) == equal
    if on_true == on_false:
        _decide(cx, inst, on_true, p)
        return
    q = d.src[2] if on_true else d.src[2] ^ INV
    if p == PT:
        cx.to_copy(inst, q)
    else:
        cx.rewrite(inst, op("PLOP3.LUT"), [p, q, PT, imm(0x80), imm(0)])


def _sel(cx: Cx, inst: Inst) -> None:
    a, b, p = inst.src
    if p == PT and not a & (FLAG_MASK | SUFFIX_MASK):
        cx.to_copy(inst, a)
    elif p == NOT_PT and not b & (FLAG_MASK | SUFFIX_MASK):
        cx.to_copy(inst, b)
    elif a == b and not a & (FLAG_MASK | SUFFIX_MASK):
        cx.to_copy(inst, a)


def _plop3(cx: Cx, inst: Inst) -> None:
    """Predicate logic with one result: constants, copies, and a conjunction taken into the compare that feeds it."""
    if not _only_first(inst) or len(inst.src) != 5:
        return
    lut = imm_value(inst.src[3])
    if lut is None:
        return
    ins = inst.src[:3]
    reduced = lut
    for k, o in enumerate(ins):
        if is_true_pred(o):
            shift = (4, 2, 1)[k]
            value = 0 if o & INV else shift
            reduced = sum((reduced >> (i & ~shift | value) & 1) << i for i in range(8))
    reads = [k for k in range(3) if any((reduced >> i & 1) != (reduced >> (i ^ (4, 2, 1)[k]) & 1) for i in range(8))]
    if not reads:
        cx.to_copy(inst, PT if reduced & 1 else NOT_PT)
        return
    if len(reads) == 1:
        o = ins[reads[0]]
        positive = reduced == (0xF0, 0xCC, 0xAA)[reads[0]]
        cx.to_copy(inst, o if positive else o ^ INV)
        return
    if len(reads) == 2:
        _join_compare(cx, inst, ins, reads, reduced)


def _join_compare(cx: Cx, inst: Inst, ins: list[Opnd], reads: list[int], lut: int) -> None:
    """p AND/OR/XOR q where p is a compare of its own: the compare takes q as its predicate operand."""
    j, k = reads
    sj, sk = (4, 2, 1)[j], (4, 2, 1)[k]
    table = [lut >> (sj * x | sk * y) & 1 for x in (0, 1) for y in (0, 1)]
    name = {(0, 0, 0, 1): "AND", (0, 1, 1, 1): "OR", (0, 1, 1, 0): "XOR"}.get((table[0], table[1], table[2], table[3]))
    if name is None:
        return
    for x, y in ((ins[j], ins[k]), (ins[k], ins[j])):
        d = cx.absorbable(x)
        if d is None or d.op.base not in ("ISETP", "FSETP", "DSETP") or "EX" in d.op.mods or not _only_first(d):
            continue
        if d.src[2] != PT or "AND" not in d.op.mods:
            continue
        mods = list(d.op.mods)
        if x & INV:
            if d.op.base != "ISETP" or mods[0] not in _NEGATED:
                continue
            mods[0] = _NEGATED[mods[0]]
        mods[mods.index("AND")] = name
        cx.rewrite(inst, op(".".join([d.op.base, *mods])), [d.src[0], d.src[1], y])
        return


def _guarded_copy(cx: Cx, inst: Inst) -> None:
    """``@p d = copy s old o``: selects of equal values and constant guards."""
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


RULES["ISETP"] = _isetp
RULES["SEL"] = _sel
RULES["FSEL"] = _sel
RULES["PLOP3"] = _plop3
RULES[OP_COPY.base] = _guarded_copy
