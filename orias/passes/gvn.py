"""GvnCse: one computation for equal expressions where one dominates the other (phases 56, 57, 74).

A value's name is its operation and its operands, which are values themselves; commuting operands are ordered.  Guarded operations have
their guard and their old value in it.
Loads take part within a stretch of code in which nothing may write memory.
"""

from typing import Final

from orias.analysis.cfg import dominators, reverse_postorder
from orias.isa.op import F_CALL, F_COMMUTES, F_CONVERGENT, F_FENCE, F_READ, F_SIDE, F_SPECIAL, F_TERM, F_WRITE
from orias.isa.operand import (
    FIRST_VIRTUAL,
    FIRST_VREG,
    PT,
    Opnd,
    is_reg,
    is_true_pred,
    is_vreg,
    is_zero_reg,
    kind_of,
    reg_id,
    vreg,
    with_reg,
    word_text,
)
from orias.isa.roles import NEXT_ADDRESS
from orias.ori.ir import OP_PHI, Block, Func, Inst
from orias.passes.simplify import portable

_NEVER: Final = F_SIDE | F_TERM | F_CONVERGENT | F_CALL | F_WRITE | F_FENCE
_CHANGING: Final = ("SR_CLOCK", "SR_GLOBALTIMER", "SR_PM", "SR_EQMASK", "SR_VIRT", "SR_CTX")
_BARRIER: Final = F_WRITE | F_FENCE | F_CALL

Key = tuple[int, tuple[Opnd, ...], tuple[int, ...], int, Opnd, Opnd]


def eliminate_common(fn: Func, across_blocks: bool = True) -> bool:
    """Replace repeated computations by the first one; True if any was replaced."""
    tree = dominators(fn)
    repl: dict[int, int] = {}
    leaders: dict[Key, tuple[Inst, Block]] = {}
    epoch = 0
    for b in reverse_postorder(fn):
        epoch += 1
        kept: list[Inst] = []
        for inst in b.insts:
            if repl:
                rename(inst, repl)
            flags = inst.op.flags
            if flags & _BARRIER:
                epoch += 1
            key = key_of(fn, inst, epoch)
            if key is None:
                kept.append(inst)
                continue
            found = leaders.get(key)
            if (
                found is not None
                and (found[1] is b or (across_blocks and tree.dominates(found[1].id, b.id)))
                and take(inst, found[0], repl)
            ):
                continue
            leaders[key] = (inst, b)
            kept.append(inst)
        b.insts = kept
    if not repl:
        return False
    for b in fn.blocks:
        for inst in b.insts:
            if inst.op is not OP_PHI:
                break
            rename(inst, repl)
    return True


def key_of(fn: Func, inst: Inst, epoch: int) -> Key | None:
    """What equal computations have in common, loads within one `epoch`; None for one that must not be replaced."""
    op = inst.op
    if op.flags & _NEVER or op is OP_PHI or not inst.dst or not portable(inst):
        return None
    if inst.guard != PT and not is_vreg(inst.guard):
        return None
    shape: list[int] = []
    for d in inst.dst:
        ident = vreg(d)
        if ident >= FIRST_VIRTUAL:
            shape.append(kind_of(d) << 8 | fn.vwidth[ident])
        elif is_zero_reg(d) or is_true_pred(d):
            shape.append(0)
        else:
            return None
    if op.base == "undef" or op is NEXT_ADDRESS or (op.flags & F_SPECIAL and _changes(inst)):
        return None
    src = inst.src
    if op.flags & F_COMMUTES and src[0] > src[1]:
        src = [src[1], src[0], *src[2:]]
    return op.ident, tuple(src), tuple(shape), epoch if op.flags & F_READ else 0, inst.guard, inst.old


def _changes(inst: Inst) -> bool:
    return word_text(inst.src[0]).startswith(_CHANGING)


def take(inst: Inst, leader: Inst, repl: dict[int, int]) -> bool:
    """Let the leader's results stand for the instruction's in `repl`; False if the leader lacks one of them."""
    for d, e in zip(inst.dst, leader.dst, strict=True):
        if is_vreg(d) and not is_vreg(e):
            return False
    for d, e in zip(inst.dst, leader.dst, strict=True):
        if is_vreg(d):
            repl[vreg(d)] = reg_id(e)
    return True


def rename(inst: Inst, repl: dict[int, int]) -> None:
    """Replace the virtual registers that an instruction reads."""
    src = inst.src
    for k in range(len(src)):
        o = src[k]
        if o >= FIRST_VREG and is_reg(o) and vreg(o) in repl:
            src[k] = with_reg(o, repl[vreg(o)])
    g = inst.guard
    if g >= FIRST_VREG and vreg(g) in repl:
        inst.guard = with_reg(g, repl[vreg(g)])
    o = inst.old
    if o >= FIRST_VREG and is_reg(o) and vreg(o) in repl:
        inst.old = with_reg(o, repl[vreg(o)])
