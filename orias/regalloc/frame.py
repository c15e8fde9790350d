"""The stack frame: prologue, epilogue, saved registers, ``frame`` addresses.

The frame grows down from the value R1 has at entry; from R1 upwards it holds the area lowering laid out
(``Func.frame_fixed``), spill slots, saved registers.  Source: register-allocation inventory, sections 3.1 and 3.3.
"""

from typing import Final

from orias.isa.op import Op, op
from orias.isa.operand import (
    INV,
    K_B,
    K_NONE,
    K_P,
    K_R,
    PT,
    RZ,
    URZ,
    Opnd,
    const,
    imm,
    imm_signed,
    r,
    reg,
    word,
)
from orias.ori.ir import Block, Func, Inst
from orias.regalloc.files import kept
from orias.regalloc.moves import OP_BMOV, OP_BMOV_SAVE, OP_LDC, OP_MOV

OP_STL: Final[Op] = op("STL")
OP_LDL: Final[Op] = op("LDL")
OP_IADD3: Final[Op] = op("IADD3")
OP_FRAME: Final[Op] = op("frame")
OP_FRAME_IN: Final[Op] = op("frame.IN")
R1: Final[Opnd] = r(1)
_CHECK: Final[Opnd] = reg(K_P, 0)
"""Predicate that is free at entry."""
_SAVE_THROUGH: Final[Opnd] = r(0)
"""Scratch register that is free at entry and before RET of an ABI function (arguments and results start at R4)."""


def finish_frame(fn: Func, used: dict[int, int], spill_bytes: int) -> int:
    """Lay out the frame of an allocated function, write prologue and epilogues; returns a mask of R registers this used.

    `spill_bytes`: size of the spill area above ``frame_fixed``.
    """
    saved_r = _registers(used[K_R] & kept(fn, K_R))
    saved_b = _registers(used[K_B] & kept(fn, K_B))
    save_at = (fn.frame_fixed + spill_bytes + 3) & -4
    fn.frame_size = (save_at + 4 * (len(saved_r) + len(saved_b)) + 7) & -8
    places: list[tuple[int, int, int]] = []
    for file, regs in ((K_R, saved_r), (K_B, saved_b)):
        for n in regs:
            places.append((file, n, save_at))
            save_at += 4
    # ptxas counts saved registers as spills.
    fn.spill_stores += 4 * len(places)
    fn.spill_loads += 4 * len(places)
    for b in fn.blocks:
        _resolve(fn, b)
        if places or (fn.frame_size and fn.kind != "entry"):
            _epilogues(fn, b, places)
    entry = fn.blocks[0]
    entry.insts[:0] = _prologue(fn, places)
    return 1 if saved_b or (fn.frame_size and fn.notes.get("stack_check")) else 0


def _registers(mask: int) -> list[int]:
    return [n for n in range(mask.bit_length()) if mask >> n & 1]


def _prologue(fn: Func, places: list[tuple[int, int, int]]) -> list[Inst]:
    out: list[Inst] = []
    if fn.kind == "entry":
        c = const(0, fn.target.stack_ptr)
        if fn.target.const_operands:
            out.append(fn.new_inst(OP_MOV, [R1], [c]))
        else:
            out.append(fn.new_inst(OP_LDC, [R1], [c, RZ]))
    if fn.frame_size:
        out.append(fn.new_inst(OP_IADD3, [R1], [R1, imm(-fn.frame_size), RZ]))
        if fn.notes.get("stack_check"):
            # -sp-bounds-check, as ptxas 13.0.88 does it: the limit comes from a special register, and beyond it is a trap.
            out.append(fn.new_inst(op("S2R"), [_SAVE_THROUGH], [word("SR_LMEMHIOFF")]))
            out.append(fn.new_inst(op("ISETP.GE.U32.AND"), [_CHECK, PT], [R1, _SAVE_THROUGH, PT]))
            out.append(fn.new_inst(op("BPT.TRAP"), [], [imm(1)], _CHECK | INV))
    for file, n, at in places:
        source = reg(file, n)
        if file == K_B:
            out.append(fn.new_inst(OP_BMOV_SAVE, [_SAVE_THROUGH], [source]))
            source = _SAVE_THROUGH
        out.append(fn.new_inst(OP_STL, [], [K_NONE, R1, URZ, imm(at), source]))
    return out


def _epilogues(fn: Func, b: Block, places: list[tuple[int, int, int]]) -> None:
    if not any(i.op.base == "RET" for i in b.insts):
        return
    out: list[Inst] = []
    for inst in b.insts:
        if inst.op.base == "RET":
            g = inst.guard
            for file, n, at in places:
                target = reg(file, n)
                through = _SAVE_THROUGH if file == K_B else target
                out.append(fn.new_inst(OP_LDL, [through], [K_NONE, R1, URZ, imm(at)], g, loc=inst.loc))
                if file == K_B:
                    out.append(fn.new_inst(OP_BMOV, [target], [through], g, loc=inst.loc))
            if fn.frame_size:
                out.append(fn.new_inst(OP_IADD3, [R1], [R1, imm(fn.frame_size), RZ], g, loc=inst.loc))
        out.append(inst)
    b.insts = out


def _resolve(fn: Func, b: Block) -> None:
    """``frame`` pseudo operations become additions to the stack pointer."""
    for k, inst in enumerate(b.insts):
        if inst.op is not OP_FRAME and inst.op is not OP_FRAME_IN:
            continue
        offset = imm_signed(inst.src[0])
        if inst.op is OP_FRAME_IN:
            offset += fn.frame_size
        if offset:
            new = fn.new_inst(OP_IADD3, inst.dst, [R1, imm(offset), RZ], inst.guard, loc=inst.loc)
        else:
            new = fn.new_inst(OP_MOV, inst.dst, [R1], inst.guard, loc=inst.loc)
        new.uid = inst.uid
        b.insts[k] = new
