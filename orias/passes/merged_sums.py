"""LateArchOptimizeFirst: sums of a condition, and minima of sums, in one operation.

``c = SEL 0, 1, p`` and ``s = x + c`` become ``s = IADD3.X x, 0, 0, !p``: the condition is a carry into the sum.  ``s = x + y``
and ``m = min(s, z)`` become ``m = VIADDMNMX x, y, z`` where the target has it; its sum wraps as that of IADD3 does.
Only what nothing else reads is merged, and only within a block: a condition would hold a predicate for longer otherwise.
"""

from typing import Final

from orias.isa.isa_table import IsaTable, load
from orias.isa.op import Op, op
from orias.isa.operand import (
    INV,
    K_R,
    NEG,
    NOT_PT,
    PT,
    RZ,
    Opnd,
    has_lane,
    has_modifiers,
    imm,
    in_file,
    is_vreg,
)
from orias.ori.ir import Block, Func, Inst
from orias.passes.def_use import Values
from orias.passes.simplify import portable
from orias.semantics.integers import add, constant_of, negate

_SUM: Final = op("IADD3")
_SUM_CARRY: Final = op("IADD3.X")
_SELECT: Final = op("SEL")
_MIN_OF_SUM: Final[dict[Op, Op]] = {
    op("VIMNMX"): op("VIADDMNMX"),
    op("VIMNMX.U32"): op("VIADDMNMX.U32"),
}


def merge_sums(fn: Func) -> bool:
    """Merge conditions into sums and sums into minima, block by block; True if anything went."""
    values = Values(fn)
    table = load(fn.target.table)
    changed = False
    for b in fn.blocks:
        gone: set[int] = set()
        here: dict[int, int] = {}
        for inst in b.insts:
            if inst.op is _SUM:
                _add_conditions(table, values, here, gone, inst)
            elif inst.op in _MIN_OF_SUM:
                _take_sum(table, values, here, gone, inst)
            here[inst.uid] = len(here)
        if gone:
            _remove(b, gone)
            changed = True
    return changed


def _remove(b: Block, gone: set[int]) -> None:
    b.insts = [i for i in b.insts if i.uid not in gone]


def _single(values: Values, here: dict[int, int], o: Opnd) -> Inst | None:
    """The instruction before in the block that defines an operand which nothing else reads."""
    if not is_vreg(o) or has_lane(o) or not in_file(o, K_R) or not values.single_use(o):
        return None
    d = values.definition(o)
    return d if d is not None and d.uid in here and d.guard == PT and portable(d) else None


def _add_conditions(table: IsaTable, values: Values, here: dict[int, int], gone: set[int], inst: Inst) -> None:
    """A sum takes up to two selections of neighbouring constants as carries."""
    if len(inst.dst) != 1:
        return
    total = 0
    terms: list[Opnd] = []
    carries: list[Opnd] = []
    selections: list[Inst] = []
    for o in inst.src:
        constant = constant_of(o)
        if constant is not None:
            total = add(total, constant)
            continue
        d = _single(values, here, o & ~NEG) if len(carries) < 2 else None
        found = _condition(d, o & NEG != 0) if d is not None else None
        if d is None or found is None:
            if has_modifiers(o):
                return
            terms.append(o)
            continue
        total = add(total, found[0])
        carries.append(found[1])
        selections.append(d)
    if not carries or len(terms) + (total != 0) > 2:
        return
    if total:
        terms.append(imm(total))
    terms += [RZ] * (3 - len(terms))
    carries += [NOT_PT] * (2 - len(carries))
    for src in ([*terms, *carries], [terms[1], terms[0], terms[2], *carries]):
        if table.accepts(_SUM_CARRY, inst.guard, inst.dst, src):
            inst.op, inst.src = _SUM_CARRY, src
            for d in selections:
                gone.add(d.uid)
            return


def _condition(d: Inst, negated: bool) -> tuple[int, Opnd] | None:
    """(n, p) if the instruction gives n, and one more where p holds."""
    if d.op is not _SELECT or len(d.src) != 3 or not is_vreg(d.src[2]):
        return None
    x, y = constant_of(d.src[0]), constant_of(d.src[1])
    if x is None or y is None:
        return None
    if negated:
        x, y = negate(x), negate(y)
    step = add(x, negate(y))
    if step == 1:
        return y, d.src[2]
    if step == negate(1):
        return x, d.src[2] ^ INV
    return None


def _take_sum(table: IsaTable, values: Values, here: dict[int, int], gone: set[int], inst: Inst) -> None:
    """A minimum or maximum takes the sum that is the later of its sources."""
    if len(inst.dst) != 1 or len(inst.src) != 3:
        return
    new = _MIN_OF_SUM[inst.op]
    found: list[tuple[int, Inst, Opnd]] = []
    for o, other in ((inst.src[0], inst.src[1]), (inst.src[1], inst.src[0])):
        d = _single(values, here, o)
        if d is not None and d.op is _SUM and len(d.dst) == 1 and not has_modifiers(o) and not has_modifiers(other):
            found.append((-here[d.uid], d, RZ if constant_of(other) == 0 else other))
    for _, d, other in sorted(found, key=lambda x: x[0]):
        terms = [s for s in d.src if s != RZ]
        if len(terms) != 2:
            continue
        for a, b in ((terms[0], terms[1]), (terms[1], terms[0])):
            src = [a, b, other, inst.src[2]]
            if not has_modifiers(a) and table.accepts(new, inst.guard, inst.dst, src):
                inst.op, inst.src = new, src
                gone.add(d.uid)
                return
