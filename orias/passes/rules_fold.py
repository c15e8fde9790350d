"""Operations on constants become their results (the meanings are those of ``orias.semantics``)."""

from collections.abc import Callable

from orias.isa.op import Op
from orias.isa.operand import K_P, NOT_PT, PT, Opnd, imm, imm64, in_file, is_vreg
from orias.isa.operations import mnemonics_with
from orias.ori.ir import Inst
from orias.passes.simplify import FOLDERS, Cx
from orias.semantics import floats, integers
from orias.semantics.floats import is_constant


def _fold(cx: Cx, inst: Inst, evaluate: Callable[[Op, list[Opnd]], list[int] | None]) -> bool:
    """Replace the instruction by copies of its results if all operands are constants; True if that was done."""
    for s in inst.src:
        if not is_constant(s):
            return False
    used = [d for d in inst.dst if is_vreg(d)]
    if not used or (len(used) > 1 and inst.guard != PT):
        return False
    values = evaluate(inst.op, inst.src)
    if values is None or any(is_vreg(d) for d in inst.dst[len(values) :]):
        return False
    results: list[tuple[Opnd, Opnd]] = []
    for d, v in zip(inst.dst, values, strict=False):
        if d not in used:
            continue
        if in_file(d, K_P):
            results.append((d, PT if v else NOT_PT))
        else:
            results.append((d, imm64(v) if cx.fn.width(d) == 2 else imm(v)))
    for d, value in results[1:]:
        cx.insert("copy", [d], [value], inst.loc)
    inst.dst[0] = results[0][0]
    cx.to_copy(inst, results[0][1])
    return True


def fold_floats(cx: Cx, inst: Inst) -> bool:
    """A floating-point operation."""
    return _fold(cx, inst, floats.evaluate)


def fold_integers(cx: Cx, inst: Inst) -> bool:
    """An integer operation with one result in use; additions with carries have rules of their own."""
    if not inst.op.foldable:
        return False
    for d in inst.dst[1:]:
        if d != PT:
            return False
    return _fold(cx, inst, integers.evaluate)


for _base in floats.foldable():
    FOLDERS[_base] = fold_floats
for _base in mnemonics_with("fold"):
    FOLDERS[_base] = fold_integers
