"""Zeros in registers: a move of zero into a register that is zero on every path goes, neighbours are cleared in pairs.

Loops of matrix products start with dozens of cleared accumulators, which the value of a loop that runs not at all wants cleared as well.
ptxas clears pairs by ``CS2R Rn, SRZ`` (row PE2 of the scheduling inventory).
"""

from typing import Final

from orias.analysis.access import R_BASE, UR_BASE, accesses
from orias.isa.op import F_CALL, Op, op
from orias.isa.operand import K_IMM, K_R, KIND_MASK, PAYLOAD_SHIFT, PT, RZ, word
from orias.ori.ir import Block, Func, Inst

_MOV: Final[Op] = op("MOV")
_CLEAR: Final[Op] = op("CS2R")
_ALL: Final = (1 << 255) - 1
_STACK_POINTER: Final = 1


def clear_once(fn: Func) -> None:
    """Drop needless moves of zero and join the others (an allocated function)."""
    if not any(_clears(i) >= 0 for b in fn.blocks for i in b.insts):
        return
    _drop(fn)
    for b in fn.blocks:
        _pair(fn, b)


def _clears(inst: Inst) -> int:
    """The register that a move of zero writes; -1 for anything else."""
    if inst.op is not _MOV or inst.guard != PT or len(inst.src) != 1:
        return -1
    s = inst.src[0]
    if s != RZ and not (s & KIND_MASK == K_IMM and s >> PAYLOAD_SHIFT == 0):
        return -1
    d = inst.dst[0]
    register = d >> PAYLOAD_SHIFT
    return register if d & KIND_MASK == K_R and register not in (_STACK_POINTER, 255) else -1


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
    for b in fn.blocks:
        zero = changed = 0
        for inst in b.insts:
            register = _clears(inst)
            if register >= 0:
                zero |= 1 << register
                continue
            mask = _written(fn, inst)
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
        for inst in b.insts:
            register = _clears(inst)
            if register < 0:
                known &= ~_written(fn, inst)
            elif known >> register & 1:
                continue
            else:
                known |= 1 << register
            kept.append(inst)
        b.insts = kept


def _entry(b: Block, at_end: dict[int, int], first: bool) -> int:
    """Registers that are zero on entry of a block."""
    if first or not b.preds:
        return 0
    known = _ALL
    for p in b.preds:
        known &= at_end[p.id]
    return known


def _pair(fn: Func, b: Block) -> None:
    """Join two moves of zero to the halves of an aligned pair; the second one moves up to the first."""
    waiting: dict[int, int] = {}
    drop: set[int] = set()
    for at, inst in enumerate(b.insts):
        register = _clears(inst)
        if register >= 0:
            other = waiting.pop(register ^ 1, -1)
            if other >= 0:
                first = b.insts[other]
                pair = K_R | (register & ~1) << PAYLOAD_SHIFT
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
