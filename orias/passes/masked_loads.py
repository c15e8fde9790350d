"""OriDoPredication, after it: a guarded load of a vector keeps the old values itself.

A guarded load of more than one word, and a guarded copy or a selection of each word that keeps an old value, become a load into a
register that holds the old values already; zeros, the usual ones, are made two at a time.
"""

from typing import Final

from orias.isa.op import op
from orias.isa.operand import (
    INV,
    K_NONE,
    K_R,
    PT,
    RZ,
    Opnd,
    has_modifiers,
    in_file,
    is_bare,
    is_imm,
    is_vreg,
    lane_words,
    vreg,
)
from orias.ori.ir import OP_COPY, OP_PACK, Block, Func, Inst

_SEL: Final = op("SEL")


def keep_old_words(fn: Func) -> bool:
    """Rewrite guarded loads of vectors; True if any changed."""
    readers: dict[int, list[tuple[Inst, Opnd]]] = {}
    loads: list[tuple[Block, Inst]] = []
    for b in fn.blocks:
        for inst in b.insts:
            if inst.guard != PT and inst.old == K_NONE and inst.op.loads() and len(inst.dst) == 1:
                d = inst.dst[0]
                if is_vreg(d) and in_file(d, K_R) and fn.width(d) > 1:
                    loads.append((b, inst))
                    readers[vreg(d)] = []
    if not loads:
        return False
    for inst in fn.insts():
        for o in inst.uses():
            if is_vreg(o) and vreg(o) in readers:
                readers[vreg(o)].append((inst, o))
    changed = False
    for b, load in loads:
        if _rewrite(fn, b, load, readers[vreg(load.dst[0])]):
            changed = True
    return changed


def _rewrite(fn: Func, b: Block, load: Inst, uses: list[tuple[Inst, Opnd]]) -> bool:
    """Give a load the old values of the copies that read it, if all its readers are such copies."""
    old: list[Opnd] = [K_NONE] * fn.width(load.dst[0])
    for inst, o in uses:
        before = _old_value(inst, o, load.guard)
        if before == K_NONE or has_modifiers(o):
            return False
        first, count = lane_words(o, len(old))
        if count != 1 or old[first] not in (K_NONE, before) or not _word(fn, before):
            return False
        old[first] = before
    if all(o == K_NONE for o in old):
        return False
    parts = [RZ if o in (K_NONE, RZ) else o for o in old]
    at = b.insts.index(load)
    made = {vreg(d) for i in b.insts[at:] for d in i.dst if is_vreg(d)}
    if any(is_vreg(o) and vreg(o) in made for o in parts):
        return False
    whole = fn.new_vreg(K_R, len(old))
    b.insts.insert(at, fn.new_inst(OP_PACK, [whole], parts, loc=load.loc))
    load.old = whole
    for inst, o in uses:
        inst.op, inst.src, inst.guard, inst.old = OP_COPY, [o], PT, K_NONE
    return True


def _old_value(inst: Inst, o: Opnd, guard: Opnd) -> Opnd:
    """What an instruction takes where a guard is false, and otherwise operand `o`; K_NONE if it is no such instruction."""
    if inst.op is OP_COPY:
        return inst.old if inst.guard == guard and o == inst.src[0] else K_NONE
    if inst.op is not _SEL or inst.guard != PT:
        return K_NONE
    yes, no, p = inst.src
    if yes == o and no != o and p == guard:
        return no
    return yes if no == o and yes != o and p ^ INV == guard else K_NONE


def _word(fn: Func, o: Opnd) -> bool:
    """True for an operand that may be a part of a pack of words."""
    if is_imm(o) or o == RZ:
        return True
    return is_vreg(o) and in_file(o, K_R) and is_bare(o) and fn.width(o) == 1
