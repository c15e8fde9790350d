"""The stack frame: prologue, epilogue, saved registers, ``frame`` addresses.

The frame grows down from the value of R1 at entry.  From R1 upwards it holds the area laid out by lowering
(``Func.frame_fixed``), spill slots, and saved registers.  A frame that needs a larger alignment than R1 has at entry
clears low bits of R1, and a function keeps the value at entry in the frame.  Source:
``docs/facts/register-allocation.md``.
"""

from typing import Final

from orias.isa.op import F_RETURNS, Op, op
from orias.isa.operand import (
    INV,
    K_B,
    K_NONE,
    K_P,
    K_R,
    NOT_PT,
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
    COMBINE_BITS,
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
_AT_ENTRY: Final[Opnd] = r(3)
"""Another one, for the value of R1 at entry."""
_ENTRY_ALIGN: Final = {"entry": 16}
"""Alignment in bytes of R1 at entry, by the kind of function; 8 for the others."""
_AND: Final = 0xC0
"""LOP3's table for the conjunction of its first two sources."""


def finish_frame(fn: Func, used: dict[int, int], spill_bytes: int) -> dict[int, int]:
    """Lay out the frame of an allocated function and insert prologue and epilogues.

    Returns masks of the registers that this code uses, by file.  `spill_bytes`: size of the spill area above ``frame_fixed``.
    """
    saved_r = _registers(used[K_R] & kept(fn, K_R))
    saved_b = _registers(used[K_B] & kept(fn, K_B))
    save_at = (fn.frame_fixed + spill_bytes + 3) & -4
    # A function that aligns R1 keeps its value at entry, as its first saved register.
    aligned = _slack(fn) != 0
    entry_at = save_at if aligned and fn.kind != "entry" else -1
    if entry_at >= 0:
        save_at += 4
    fn.frame_size = (save_at + 4 * (len(saved_r) + len(saved_b)) + fn.frame_align - 1) & -fn.frame_align
    places: list[tuple[int, int, int]] = []
    for file, regs in ((K_R, saved_r), (K_B, saved_b)):
        for n in regs:
            places.append((file, n, save_at))
            save_at += 4
    # ptxas counts saved registers as spills.
    fn.spill_stores += 4 * len(places)
    fn.spill_loads += 4 * len(places)
    for b in fn.blocks:
        _resolve(fn, b, entry_at)
        if places or (fn.frame_size and fn.kind != "entry"):
            _epilogues(fn, b, places, entry_at)
    entry = fn.blocks[0]
    entry.insts[:0] = _prologue(fn, places, aligned, entry_at)
    checks = fn.frame_size != 0 and fn.stack_check
    registers = 1 << reg_id(_SAVE_THROUGH) if saved_b or checks else 0
    if entry_at >= 0:
        registers |= 1 << reg_id(_AT_ENTRY)
    return {K_R: registers, K_P: 1 << reg_id(_CHECK) if checks else 0}


def stack_bytes(fn: Func) -> int:
    """Bytes of the stack that the frame of an allocated function takes at most, with those that aligning it may skip."""
    return fn.frame_size + _slack(fn)


def _slack(fn: Func) -> int:
    """The most bytes that aligning the frame skips: 0 if R1 has its alignment at entry, or nothing in the frame needs it."""
    return max(0, fn.frame_align - _ENTRY_ALIGN.get(fn.kind, 8)) if fn.frame_fixed else 0


def _registers(mask: int) -> list[int]:
    return [n for n in range(mask.bit_length()) if mask >> n & 1]


def _prologue(fn: Func, places: list[tuple[int, int, int]], aligned: bool, entry_at: int) -> list[Inst]:
    out: list[Inst] = []
    if fn.kind == "entry":
        c = const(0, fn.target.word("stack_pointer"))
        if fn.target.has(features.CONSTANT_OPERANDS):
            out.append(fn.new_inst(MOVE, [R1], [c]))
        else:
            out.append(fn.new_inst(LOAD_CONSTANT[1], [R1], [c, RZ]))
    if fn.frame_size:
        if entry_at >= 0:
            out.append(fn.new_inst(MOVE, [_AT_ENTRY], [R1]))
        out.append(fn.new_inst(ADD, [R1], [R1, imm(-fn.frame_size), RZ]))
        if aligned:
            out.append(fn.new_inst(COMBINE_BITS, [R1], [R1, imm(-fn.frame_align), RZ, imm(_AND), NOT_PT]))
        if fn.stack_check:
            # -sp-bounds-check as in ptxas 13.0.88: a special register has the limit, and beyond it the code traps.
            out.append(fn.new_inst(READ_SPECIAL, [_SAVE_THROUGH], [word("SR_LMEMHIOFF")]))
            out.append(fn.new_inst(AT_LEAST, [_CHECK, PT], [R1, _SAVE_THROUGH, PT]))
            out.append(fn.new_inst(TRAP, [], [imm(1)], _CHECK | INV))
    if entry_at >= 0:
        out.append(fn.new_inst(STORE_LOCAL[1], [], [K_NONE, R1, URZ, imm(entry_at), _AT_ENTRY]))
    for file, n, at in places:
        source = reg(file, n)
        if file == K_B:
            out.append(fn.new_inst(SAVE_BARRIER, [_SAVE_THROUGH], [source]))
            source = _SAVE_THROUGH
        out.append(fn.new_inst(STORE_LOCAL[1], [], [K_NONE, R1, URZ, imm(at), source]))
    return out


def _epilogues(fn: Func, b: Block, places: list[tuple[int, int, int]], entry_at: int) -> None:
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
            if entry_at >= 0:
                out.append(_entry_value(fn, R1, entry_at, g, inst.loc))
            elif fn.frame_size:
                out.append(fn.new_inst(ADD, [R1], [R1, imm(fn.frame_size), RZ], g, loc=inst.loc))
        out.append(inst)
    b.insts = out


def _entry_value(fn: Func, target: Opnd, entry_at: int, guard: Opnd, loc: int, base: Opnd = R1) -> Inst:
    """Load the value that R1 had at entry; `base`: the register with the address of the frame."""
    return fn.new_inst(LOAD_LOCAL[1], [target], [K_NONE, base, URZ, imm(entry_at)], guard, loc=loc)


def _resolve(fn: Func, b: Block, entry_at: int) -> None:
    """``frame`` pseudo operations become additions to the stack pointer, or to its value at entry."""
    out: list[Inst] = []
    for inst in b.insts:
        if inst.op is not OP_FRAME and inst.op is not OP_FRAME_IN:
            out.append(inst)
            continue
        offset = imm_signed(inst.src[0])
        base = R1
        new: Inst | None = None
        if inst.op is OP_FRAME_IN:
            if len(inst.src) > 1:
                base = inst.src[1]
            if entry_at >= 0:
                new = _entry_value(fn, inst.dst[0], entry_at, inst.guard, inst.loc, base)
                out.append(new)
                base = inst.dst[0]
            else:
                offset += fn.frame_size
        if offset:
            new = fn.new_inst(ADD, inst.dst, [base, imm(offset), RZ], inst.guard, loc=inst.loc)
            out.append(new)
        elif new is None:
            new = fn.new_inst(MOVE, inst.dst, [base], inst.guard, loc=inst.loc)
            out.append(new)
        new.uid = inst.uid
    b.insts = out
