"""Address folding: constants added to a base move into the offset field of the memory operation."""

from typing import Final

from orias.isa.op import op
from orias.isa.operand import (
    FLAG_MASK,
    K_IMM,
    K_R,
    KIND_MASK,
    LANE_MASK,
    PAYLOAD_SHIFT,
    PT,
    RZ,
    Opnd,
    const,
    const_bank,
    const_offset,
    imm,
    imm_signed,
    is_zero_reg,
)
from orias.ori.ir import Inst
from orias.passes.offsets import FOLDING, offset_fits
from orias.passes.simplify import RULES, Cx, imm_value

_IADD64: Final = op("iadd64")
_IADD3: Final = op("IADD3")
_FRAME: Final = op("frame")
_STACK: Final = K_R | 1 << PAYLOAD_SHIFT


def _address(cx: Cx, inst: Inst) -> None:
    for a in inst.op.addr:
        for _ in range(8):
            if not _fold(cx, inst, a):
                break


def _fold(cx: Cx, inst: Inst, a: int) -> bool:
    base, offset = inst.src[a + 1], inst.src[a + 3]
    if offset & KIND_MASK != K_IMM or base & (LANE_MASK | FLAG_MASK):
        return False
    d = cx.definition(base)
    if d is None:
        return False
    if d.op is _FRAME and not cx.fn.notes.get("alloca"):
        # The frame lies at R1, which stays where the prologue puts it.
        return _replace(cx, inst, a, _STACK, imm_signed(offset) + imm_signed(d.src[0]))
    if d.op is _IADD64 and len(d.src) == 2 and len(d.dst) == 1 and d.src[1] & KIND_MASK == K_IMM:
        value = d.src[1] >> PAYLOAD_SHIFT
        value -= 1 << 64 if value >> 63 else 0
        return _replace(cx, inst, a, d.src[0], imm_signed(offset) + value)
    if d.op is _IADD3 and len(d.dst) == 1:
        regs = [s for s in d.src if imm_value(s) is None]
        if len(regs) == 1:
            value = sum(imm_value(s) or 0 for s in d.src if s != regs[0]) & 0xFFFFFFFF
            value -= 1 << 32 if value >> 31 else 0
            return _replace(cx, inst, a, regs[0], imm_signed(offset) + value)
    return False


def _store(cx: Cx, inst: Inst) -> None:
    """Wide zeros are stored from RZ; words find their immediates elsewhere."""
    _address(cx, inst)
    data = inst.src[4]
    if data & (LANE_MASK | FLAG_MASK) or data & KIND_MASK != K_R or cx.fn.width(data) == 1:
        return
    d = cx.definition(data)
    if d is None or d.guard != PT:
        return
    zero = all(s == RZ or s & (KIND_MASK | -1 << PAYLOAD_SHIFT) == K_IMM for s in d.src)
    if zero and d.op.base in ("copy", "pack"):
        cx.rewrite(inst, inst.op, [*inst.src[:4], RZ])


def _replace(cx: Cx, inst: Inst, a: int, base: Opnd, offset: int) -> bool:
    if base & FLAG_MASK or base & KIND_MASK != K_R or not offset_fits(inst, a, offset):
        return False
    if base >> PAYLOAD_SHIFT < 255 and base >> PAYLOAD_SHIFT != 1:
        return False
    src = list(inst.src)
    src[a + 1] = base
    src[a + 3] = imm(offset)
    cx.rewrite(inst, inst.op, src)
    return True


def _constant_index(cx: Cx, inst: Inst) -> None:
    """LDC c[b][o], index: a constant added to the index moves into the offset."""
    bank, index = inst.src[0], inst.src[1]
    if is_zero_reg(index):
        return
    v = imm_value(index)
    if v is not None and const_offset(bank) + v < 1 << 16:
        cx.rewrite(inst, inst.op, [const(const_bank(bank), const_offset(bank) + v), RZ])
        return
    d = cx.definition(index) if not index & (LANE_MASK | FLAG_MASK) else None
    if d is None or d.op is not _IADD3 or len(d.dst) != 1:
        return
    regs = [s for s in d.src if imm_value(s) is None]
    if len(regs) != 1 or regs[0] & FLAG_MASK or regs[0] >> PAYLOAD_SHIFT < 256:
        return
    value = sum(imm_value(s) or 0 for s in d.src if s != regs[0]) & 0xFFFFFFFF
    offset = const_offset(bank) + value
    if value < 1 << 15 and offset < 1 << 15:
        cx.rewrite(inst, inst.op, [const(const_bank(bank), offset), regs[0]])


for _name in FOLDING:
    RULES[_name] = _address
for _name in ("ST", "STG", "STS", "STL"):
    RULES[_name] = _store
RULES["LDC"] = _constant_index
