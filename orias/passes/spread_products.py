"""LateArchOptimizeFirst: a product that only sums read goes into each of them.

``p = x << k``, ``a = p + y``, ``b = p + z`` become ``a = LEA x, y, k`` and ``b = LEA x, z, k``; a product by a constant becomes IMADs.  Two
operations for three: the indices ``block * size + thread`` of tiled kernels.  Only where no sum is in a deeper loop than the product.
"""

from typing import Final

from orias.analysis.cfg import dominators, find_loops
from orias.isa.isa_table import IsaTable, load
from orias.isa.op import Op, op
from orias.isa.operand import (
    K_NONE,
    K_R,
    PT,
    RZ,
    Opnd,
    has_lane,
    has_modifiers,
    imm,
    in_file,
    is_const,
    is_imm,
    is_vreg,
    vreg,
)
from orias.ori.ir import OP_COPY, Block, Func, Inst
from orias.passes.def_use import Values
from orias.passes.rules_int import shift_left_of

_SUM: Final = op("IADD3")
_LEA: Final = op("LEA")
_MULTIPLY: Final = op("IMAD")


def spread_products(fn: Func) -> bool:
    """Put products into sums; True if any went.  The products are left to dead code elimination."""
    values = Values(fn)
    homes: dict[int, Block] = {}
    """Block of each product, by register."""
    for b in fn.blocks:
        for inst in b.insts:
            if _factors(values, inst) is not None and values.uses[vreg(inst.dst[0])] > 1:
                homes[vreg(inst.dst[0])] = b
    if not homes:
        return False
    find_loops(fn, dominators(fn))
    sums: dict[int, list[Inst]] = {}
    for b in fn.blocks:
        for inst in b.insts:
            if inst.op is _SUM and len(inst.dst) == 1:
                for s in inst.src:
                    home = homes.get(vreg(s)) if is_vreg(s) and not has_modifiers(s) else None
                    if home is not None and b.depth <= home.depth:
                        sums.setdefault(vreg(s), []).append(inst)
    table = load(fn.target.table)
    changed = False
    for v, readers in sums.items():
        product = values.defs[v]
        if product is None or values.uses[v] != len(readers):
            continue
        forms = [_with_sum(table, values, product, inst, v) for inst in readers]
        if any(form is None for form in forms):
            continue
        for inst, form in zip(readers, forms, strict=True):
            if form is not None:
                inst.op, inst.src = form
        changed = True
    return changed


def _factors(values: Values, inst: Inst) -> tuple[Op, Opnd, Opnd] | None:
    """(LEA, x, k) of a shift, (IMAD, x, c) of a product by a constant."""
    if inst.guard != PT or inst.old != K_NONE or len(inst.dst) != 1 or not is_vreg(inst.dst[0]):
        return None
    shifted = shift_left_of(inst)
    if shifted is not None:
        op_, x, factor = _LEA, shifted[0], imm(shifted[1])
    elif inst.op is _MULTIPLY and inst.src[2] == RZ:
        op_, x, factor = _MULTIPLY, inst.src[0], inst.src[1]
    else:
        return None
    plain = is_vreg(x) and in_file(x, K_R) and not has_modifiers(x) and not has_lane(x)
    d = values.definition(factor)
    known = d.src[0] if d is not None and d.op is OP_COPY else factor
    return (op_, x, factor) if plain and (is_imm(known) or is_const(known)) else None


def _with_sum(table: IsaTable, values: Values, product: Inst, inst: Inst, v: int) -> tuple[Op, list[Opnd]] | None:
    """A sum of a product and one other term as one operation, if there is such a form."""
    found = _factors(values, product)
    others = [s for s in inst.src if s != RZ and not (is_vreg(s) and vreg(s) == v)]
    if inst.op is not _SUM or found is None or len(others) != 1 or has_modifiers(others[0]):
        return None
    op_, x, factor = found
    src = [x, others[0], factor] if op_ is _LEA else [x, factor, others[0]]
    return (op_, src) if table.accepts(op_, inst.guard, inst.dst, src) else None
