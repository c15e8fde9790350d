"""The stack frame: prologue, epilogue, saved registers, ``frame`` addresses.

The frame grows down from the value of R1 at entry.  From R1 upwards it holds the area laid out by lowering
(``Func.frame_fixed``), spill slots, and saved registers.  Source: ``docs/facts/register-allocation.md``.
"""

from typing import Final

from orias.isa.op import F_RETURNS, Op, op
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
    reg_id,
    word,
)
from orias.isa.roles import (
    ADD,
    AT_LEAST,
    LOAD_CONSTANT,
    LOAD_LOCAL,
    MOVE,
    READ_SPECIAL,
    RESTORE_BARRIER,
    SAVE_BARRIER,
    STORE_LOCAL,
    TRAP,
)
from orias.ori.ir import Block, Func, Inst
from orias.regalloc.files import kept
from orias.target import features

OP_FRAME: Final[Op] = op("frame")
OP_FRAME_IN: Final[Op] = op("frame.IN")
R1: Final[Opnd] = r(1)
_CHECK: Final[Opnd] = reg(K_P, 0)
"""Predicate that is free at entry."""
_SAVE_THROUGH: Final[Opnd] = r(0)
"""Scratch register that is free at entry and before RET of an ABI function (arguments and results start at R4)."""


def finish_frame(fn: Func, used: dict[int, int], spill_bytes: int) -> dict[int, int]:
    """Lay out the frame of an allocated function and insert prologue and epilogues.

    Returns masks of the registers that this code uses, by file.  `spill_bytes`: size of the spill area above ``frame_fixed``.
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
    checks = fn.frame_size != 0 and fn.stack_check
    return {K_R: 1 << reg_id(_SAVE_THROUGH) if saved_b or checks else 0, K_P: 1 << reg_id(_CHECK) if checks else 0}


def _registers(mask: int) -> list[int]:
    return [n for n in range(mask.bit_length()) if mask >> n & 1]


def _prologue(fn: Func, places: list[tuple[int, int, int]]) -> list[Inst]:
    out: list[Inst] = []
    if fn.kind == "entry":
        c = const(0, fn.target.word("stack_pointer"))
        if fn.target.has(features.CONSTANT_OPERANDS):
            out.append(fn.new_inst(MOVE, [R1], [c]))
        else:
            out.append(fn.new_inst(LOAD_CONSTANT[1], [R1], [c, RZ]))
    if fn.frame_size:
        out.append(fn.new_inst(ADD, [R1], [R1, imm(-fn.frame_size), RZ]))
        if fn.stack_check:
            # -sp-bounds-check as in ptxas 13.0.88: a special register has the limit, and beyond it the code traps.
            out.append(fn.new_inst(READ_SPECIAL, [_SAVE_THROUGH], [word("SR_LMEMHIOFF")]))
            out.append(fn.new_inst(AT_LEAST, [_CHECK, PT], [R1, _SAVE_THROUGH, PT]))
            out.append(fn.new_inst(TRAP, [], [imm(1)], _CHECK | INV))
    for file, n, at in places:
        source = reg(file, n)
        if file == K_B:
            out.append(fn.new_inst(SAVE_BARRIER, [_SAVE_THROUGH], [source]))
            source = _SAVE_THROUGH
        out.append(fn.new_inst(STORE_LOCAL[1], [], [K_NONE, R1, URZ, imm(at), source]))
    return out


def _epilogues(fn: Func, b: Block, places: list[tuple[int, int, int]]) -> None:
    if not any(i.op.flags & F_RETURNS for i in b.insts):
        return
    out: list[Inst] = []
    for inst in b.insts:
        if inst.op.flags & F_RETURNS:
            g = inst.guard
            for file, n, at in places:
                target = reg(file, n)
                through = _SAVE_THROUGH if file == K_B else target
                out.append(fn.new_inst(LOAD_LOCAL[1], [through], [K_NONE, R1, URZ, imm(at)], g, loc=inst.loc))
                if file == K_B:
                    out.append(fn.new_inst(RESTORE_BARRIER, [target], [through], g, loc=inst.loc))
            if fn.frame_size:
                out.append(fn.new_inst(ADD, [R1], [R1, imm(fn.frame_size), RZ], g, loc=inst.loc))
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
            new = fn.new_inst(ADD, inst.dst, [R1, imm(offset), RZ], inst.guard, loc=inst.loc)
        else:
            new = fn.new_inst(MOVE, inst.dst, [R1], inst.guard, loc=inst.loc)
        new.uid = inst.uid
        b.insts[k] = new
