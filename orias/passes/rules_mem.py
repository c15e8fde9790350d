"""Address folding: constants added to a base move into the offset field of the memory operation."""

from typing import Final

from orias.isa.op import F_FOLDS, F_SIZED, F_WRITE, op
from orias.isa.operand import (
    K_IMM,
    K_R,
    K_SYM,
    PT,
    RZ,
    SP,
    Opnd,
    bare,
    const,
    const_bank,
    const_offset,
    has_flags,
    has_lane,
    imm,
    imm_signed,
    imm_value,
    in_file,
    is_const,
    is_imm,
    is_physical,
    is_vreg,
    is_zero_reg,
    kind_of,
    payload,
)
from orias.isa.operations import mnemonics_with
from orias.ori.ir import Inst
from orias.passes.offsets import offset_fits
from orias.passes.simplify import RULES, Cx
from orias.semantics.integers import add, constant_of, signed

_IADD64: Final = op("iadd64")
_IADD3: Final = op("IADD3")
_FRAME: Final = op("frame")


def _address(cx: Cx, inst: Inst) -> None:
    for a in inst.op.addr:
        for _ in range(8):
            if not _fold(cx, inst, a):
                break


def _fold(cx: Cx, inst: Inst, a: int) -> bool:
    base, offset = inst.src[a + 1], inst.src[a + 3]
    if not is_imm(offset) or has_flags(base) or has_lane(base):
        return False
    d = cx.definition(base)
    if d is None:
        return False
    if d.op is _FRAME and not cx.fn.moves_stack:
        # The frame lies at R1, which stays where the prologue puts it.
        return _replace(cx, inst, a, SP, imm_signed(offset) + imm_signed(d.src[0]))
    if d.op is _IADD64 and len(d.src) == 2 and len(d.dst) == 1 and is_imm(d.src[1]):
        value = signed(imm_value(d.src[1]), 64)
        return _replace(cx, inst, a, d.src[0], imm_signed(offset) + value)
    if d.op is _IADD3 and len(d.dst) == 1:
        regs = [s for s in d.src if constant_of(s) is None]
        if len(regs) == 1:
            value = signed(_constant_part(d, regs[0]))
            return _replace(cx, inst, a, regs[0], imm_signed(offset) + value)
    return False


def _constant_part(addition: Inst, register: Opnd) -> int:
    """The sum of what an IADD3 adds to the register."""
    total = 0
    for s in addition.src:
        if s != register:
            total = add(total, constant_of(s) or 0)
    return total


def _store(cx: Cx, inst: Inst) -> None:
    """Wide zeros are stored from RZ, of 256 bits each half for itself; words find their immediates elsewhere."""
    _address(cx, inst)
    data = [RZ if _is_wide_zero(cx, o) else o for o in inst.src[4:]]
    if data != inst.src[4:]:
        cx.rewrite(inst, inst.op, [*inst.src[:4], *data])


def _is_wide_zero(cx: Cx, data: Opnd) -> bool:
    """Whether a wide register has only zeros."""
    if has_flags(data) or has_lane(data) or not in_file(data, K_R) or cx.fn.width(data) == 1:
        return False
    d = cx.definition(data)
    if d is None or d.guard != PT or d.op.base not in ("copy", "pack"):
        return False
    return all(s == RZ or bare(s) == K_IMM for s in d.src)


def _replace(cx: Cx, inst: Inst, a: int, base: Opnd, offset: int) -> bool:
    if has_flags(base) or not in_file(base, K_R) or not offset_fits(inst, a, offset):
        return False
    if is_physical(base) and bare(base) != SP:
        return False
    src = list(inst.src)
    src[a + 1] = base
    src[a + 3] = imm(offset)
    cx.rewrite(inst, inst.op, src)
    return True


def _constant_index(cx: Cx, inst: Inst) -> None:
    """LDC c[b][o], index: a constant added to the index moves into the offset; of a place that the linker knows, a constant index does."""
    bank, index = inst.src[0], inst.src[1]
    if is_zero_reg(index):
        return
    v = constant_of(index)
    if kind_of(bank) == K_SYM:
        ref = cx.fn.syms[payload(bank)]
        if v is not None and 0 <= v + ref.addend < 1 << 15:
            cx.rewrite(inst, inst.op, [cx.fn.sym(ref.name, ref.kind, v + ref.addend), RZ])
        return
    if not is_const(bank):
        return
    if v is not None and const_offset(bank) + v < 1 << 16:
        cx.rewrite(inst, inst.op, [const(const_bank(bank), const_offset(bank) + v), RZ])
        return
    d = cx.definition(index) if not (has_flags(index) or has_lane(index)) else None
    if d is None or d.op is not _IADD3 or len(d.dst) != 1:
        return
    regs = [s for s in d.src if constant_of(s) is None]
    if len(regs) != 1 or has_flags(regs[0]) or not is_vreg(regs[0]):
        return
    value = _constant_part(d, regs[0])
    offset = const_offset(bank) + value
    if value < 1 << 15 and offset < 1 << 15:
        cx.rewrite(inst, inst.op, [const(const_bank(bank), offset), regs[0]])


for _name in mnemonics_with("offset"):
    _flags = op(_name).flags
    if _flags & F_FOLDS:
        RULES[_name] = _store if _flags & F_WRITE and _flags & F_SIZED else _address
RULES["LDC"] = _constant_index
