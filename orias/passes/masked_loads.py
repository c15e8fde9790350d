"""OriDoPredication, after it: a guarded load of a vector keeps the old values itself.

A guarded load of more than one word, and a guarded copy of each word that keeps an old value, become a load into a register that
holds the old values already; zeros, the usual ones, are made two at a time.
"""

from orias.isa.operand import (
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
        if inst.op is not OP_COPY or inst.guard != load.guard or o != inst.src[0] or has_modifiers(o):
            return False
        first, count = lane_words(o, len(old))
        if count != 1 or old[first] not in (K_NONE, inst.old) or not _word(fn, inst.old):
            return False
        old[first] = inst.old
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
    for inst, _ in uses:
        inst.guard, inst.old = PT, K_NONE
    return True


def _word(fn: Func, o: Opnd) -> bool:
    """True for an operand that may be a part of a pack of words."""
    if is_imm(o) or o == RZ:
        return True
    return is_vreg(o) and in_file(o, K_R) and is_bare(o) and fn.width(o) == 1
