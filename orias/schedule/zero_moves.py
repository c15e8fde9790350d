"""Removes a move of zero into a register that is zero on every path, and joins two moves of zero into one of a pair.

Loops of matrix products start with dozens of zeroed accumulators, and so does the path that skips such a loop.  Like
ptxas, this pass zeroes pairs by ``CS2R Rn, SRZ`` (``docs/facts/optimizer.md``, "Choice of equal instructions").
"""

from typing import Final

from orias.analysis.access import R_BASE, UR_BASE, accesses
from orias.isa.op import F_CALL, Op, op
from orias.isa.operand import K_R, PT, RZ, SP, imm_value, in_file, is_imm, r, reg_id, word
from orias.ori.ir import Block, Func, Inst

_MOV: Final[Op] = op("MOV")
_CLEAR: Final[Op] = op("CS2R")
_ALL: Final = (1 << 255) - 1


def clear_once(fn: Func) -> None:
    """Remove redundant moves of zero and join the others, in an allocated function."""
    cleared = [register for b in fn.blocks for i in b.insts if (register := _clears(i)) >= 0]
    if not cleared:
        return
    if len(set(cleared)) < len(cleared):
        # A register that is zero already has another move of zero on the way.
        _drop(fn)
    for b in fn.blocks:
        _pair(fn, b)


def _clears(inst: Inst) -> int:
    """Number of the register that a move of zero writes; -1 for other instructions."""
    if inst.op is not _MOV or inst.guard != PT or len(inst.src) != 1:
        return -1
    s = inst.src[0]
    if s != RZ and not (is_imm(s) and imm_value(s) == 0):
        return -1
    d = inst.dst[0]
    return reg_id(d) if in_file(d, K_R) and d not in (SP, RZ) else -1


def _written(fn: Func, inst: Inst) -> int:
    """Mask of the R registers that an instruction may change."""
    if inst.op.flags & F_CALL and inst.uid not in fn.calls:
        return _ALL
    mask = 0
    for w in accesses(inst, fn).writes:
        unit = w >> 8
        if R_BASE <= unit < UR_BASE:
            mask |= 1 << (unit - R_BASE)
    return mask


def _drop(fn: Func) -> None:
    gen: dict[int, int] = {}
    kill: dict[int, int] = {}
    steps: dict[int, list[tuple[int, int]]] = {}
    """Of each instruction of a block: the register that it clears, or -1, and the mask of those that it may change."""
    for b in fn.blocks:
        zero = changed = 0
        step = steps[b.id] = []
        for inst in b.insts:
            register = _clears(inst)
            if register >= 0:
                zero |= 1 << register
                step.append((register, 0))
                continue
            mask = _written(fn, inst)
            step.append((-1, mask))
            zero &= ~mask
            changed |= mask
        gen[b.id], kill[b.id] = zero, changed
    at_end = {b.id: _ALL for b in fn.blocks}
    busy = True
    while busy:
        busy = False
        for b in fn.blocks:
            known = _entry(b, at_end, b is fn.blocks[0])
            out = (known & ~kill[b.id]) | gen[b.id]
            if out != at_end[b.id]:
                at_end[b.id] = out
                busy = True
    for b in fn.blocks:
        known = _entry(b, at_end, b is fn.blocks[0])
        kept: list[Inst] = []
        for inst, (register, mask) in zip(b.insts, steps[b.id], strict=True):
            if register < 0:
                known &= ~mask
            elif known >> register & 1:
                continue
            else:
                known |= 1 << register
            kept.append(inst)
        b.insts = kept


def _entry(b: Block, at_end: dict[int, int], first: bool) -> int:
    """Mask of the registers that are zero at entry of a block."""
    if first or not b.preds:
        return 0
    known = _ALL
    for p in b.preds:
        known &= at_end[p.id]
    return known


def _pair(fn: Func, b: Block) -> None:
    """Join two moves of zero to the halves of an aligned pair; the second move is done at the first."""
    waiting: dict[int, int] = {}
    drop: set[int] = set()
    for at, inst in enumerate(b.insts):
        register = _clears(inst)
        if register >= 0:
            other = waiting.pop(register ^ 1, -1)
            if other >= 0:
                first = b.insts[other]
                pair = r(register & ~1)
                b.insts[other] = fn.new_inst(_CLEAR, [pair], [word("SRZ")], loc=first.loc)
                drop.add(at)
            else:
                waiting[register] = at
            continue
        if not waiting:
            continue
        touched = accesses(inst, fn)
        if inst.op.flags & F_CALL:
            waiting.clear()
        for unit in [x >> 8 for x in (*touched.reads, *touched.writes)]:
            waiting.pop(unit ^ 1, None)
            waiting.pop(unit, None)
    if drop:
        b.insts = [inst for at, inst in enumerate(b.insts) if at not in drop]
