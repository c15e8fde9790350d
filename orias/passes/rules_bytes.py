"""Rewrites of PRMT: chains become one, extended bytes become one, two conversions to a half packed together become one conversion."""

from orias.isa.op import op
from orias.isa.operand import K_R, NOT_PT, RZ, Opnd, imm, in_file, is_bare, is_vreg, is_zero_reg
from orias.ori.ir import Inst
from orias.passes import rules_int, rules_logic
from orias.passes.simplify import RULES, Cx, portable
from orias.semantics.integers import constant_of


def _plain(o: Opnd) -> bool:
    return in_file(o, K_R) and is_bare(o)


def _selector(inst: Inst) -> int:
    """The constant selector of a plain PRMT of registers, -1 for anything else."""
    if inst.op.name != "PRMT" or len(inst.src) != 3 or not (_plain(inst.src[0]) and _plain(inst.src[2])):
        return -1
    s = constant_of(inst.src[1])
    return -1 if s is None else s & 0xFFFF


def _bytes(inst: Inst, selector: int) -> list[tuple[Opnd, int, bool]]:
    """(register, byte, whether only its sign is taken) of each result byte; RZ stands for zero."""
    out = []
    for k in range(4):
        n = selector >> 4 * k & 15
        reg = inst.src[0] if n & 7 < 4 else inst.src[2]
        out.append((RZ, 0, False) if is_zero_reg(reg) else (reg, n & 3, n & 8 != 0))
    return out


def _compose(cx: Cx, inst: Inst, selector: int) -> None:
    """Take bytes from where inner PRMTs take them, if the result still reads two registers at most."""
    inner: dict[Opnd, list[tuple[Opnd, int, bool]]] = {}
    for o in (inst.src[0], inst.src[2]):
        d = cx.definition(o) if is_vreg(o) else None
        if d is not None and portable(d):
            s = _selector(d)
            if s >= 0:
                inner[o] = _bytes(d, s)
    if not inner:
        return
    result = []
    for reg, byte, sign in _bytes(inst, selector):
        if reg in inner:
            source, at, negative = inner[reg][byte]
            result.append((source, at, sign or negative) if source != RZ else (RZ, 0, False))
        else:
            result.append((reg, byte, sign))
    regs = list(dict.fromkeys(r for r, _, _ in result))
    if len(regs) > 2 or any(r in inner for r in regs):
        return
    regs.sort(key=is_zero_reg)
    second = regs[1] if len(regs) > 1 else RZ
    new = 0
    for k, (reg, byte, sign) in enumerate(result):
        new |= (byte | (0 if reg == regs[0] else 4) | (8 if sign else 0)) << 4 * k
    cx.rewrite(inst, inst.op, [regs[0], imm(new), second])


def _packed_conversion(cx: Cx, inst: Inst, selector: int) -> None:
    """Two F2FP of one f32 each, put into one word."""
    if selector not in (0x5410, 0x1054):
        return
    low, high = (inst.src[0], inst.src[2]) if selector == 0x5410 else (inst.src[2], inst.src[0])
    a, b = cx.absorbable(low), cx.absorbable(high)
    if a is None or b is None or a.op is not b.op or a.op.base != "F2FP" or "PACK_AB" not in a.op.mods:
        return
    if len(a.src) != 2 or a.src[0] != RZ or b.src[0] != RZ:
        return
    cx.rewrite(inst, a.op, [b.src[1], a.src[1]])


def _prmt(cx: Cx, inst: Inst) -> None:
    selector = _selector(inst)
    if selector >= 0:
        _packed_conversion(cx, inst, selector)
        if inst.op.name == "PRMT":
            _compose(cx, inst, selector)
    rules_logic.prmt(cx, inst)


def _shift_left(cx: Cx, inst: Inst) -> None:
    """The upper half, extracted and shifted back, is a mask: the f32 value of a bf16 in the upper half."""
    if inst.op.name == "SHF.L.U32" and constant_of(inst.src[1]) == 16 and is_vreg(inst.src[0]):
        d = cx.definition(inst.src[0])
        if d is not None and portable(d):
            selector = _selector(d)
            if selector >= 0:
                (first, low, s0), (second, high, s1) = _bytes(d, selector)[:2]
                if first == second and first != RZ and (low, high) == (2, 3) and not (s0 or s1):
                    cx.rewrite(inst, op("LOP3.LUT"), [first, imm(0xFFFF0000), RZ, imm(0xC0), NOT_PT])
                    return
    rules_int.shift(cx, inst)


def _extend(cx: Cx, inst: Inst) -> None:
    """A byte or half that is shifted down and extended is picked out and extended by PRMT."""
    d = cx.absorbable(inst.src[0]) if is_vreg(inst.src[0]) and is_bare(inst.src[0]) else None
    if d is None or d.op.name not in ("SHF.R.U32.HI", "SHF.R.S32.HI") or not _plain(d.src[2]):
        return
    down, length = constant_of(d.src[1]), constant_of(inst.src[1])
    if down is None or down % 8 or length not in (8, 16) or down + length > 32:
        return
    taken = list(range(down // 8, (down + length) // 8))
    # Zeros from RZ, or the sign of the last byte.
    beyond = 7 if inst.op.has("U32") else taken[-1] | 8
    selector = sum(n << 4 * k for k, n in enumerate([*taken, *[beyond] * (4 - len(taken))]))
    cx.rewrite(inst, op("PRMT"), [d.src[2], imm(selector), RZ])


RULES["PRMT"] = _prmt
RULES["SGXT"] = _extend
RULES["SHF"] = _shift_left
