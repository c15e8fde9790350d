"""Floating-point operations on constants become their results (the meanings are those of ``orias.semantics``)."""

from orias.isa.operand import K_P, KIND_MASK, NOT_PT, PT, Opnd, imm, imm64, is_virtual
from orias.ori.ir import Inst
from orias.passes.simplify import FOLDERS, Cx
from orias.semantics.floats import evaluate, foldable, is_constant


def fold_constants(cx: Cx, inst: Inst) -> bool:
    """Replace the instruction by copies of its results if all operands are constants; True if that was done."""
    for s in inst.src:
        if not is_constant(s):
            return False
    used = [d for d in inst.dst if is_virtual(d)]
    if not used or (len(used) > 1 and inst.guard != PT):
        return False
    values = evaluate(inst.op, inst.src)
    if values is None:
        return False
    results: list[tuple[Opnd, Opnd]] = []
    for d, v in zip(inst.dst, values, strict=False):
        if d not in used:
            continue
        if d & KIND_MASK == K_P:
            results.append((d, PT if v else NOT_PT))
        else:
            results.append((d, imm64(v) if cx.fn.width(d) == 2 else imm(v)))
    for d, value in results[1:]:
        cx.insert("copy", [d], [value], inst.loc)
    inst.dst[0] = results[0][0]
    cx.to_copy(inst, results[0][1])
    return True


for _base in foldable():
    FOLDERS[_base] = fold_constants
