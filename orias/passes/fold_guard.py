"""A guarded copy of a value computed only for it becomes the guarded computation itself.

``t = OP a, b`` and ``@p d = copy t old o`` give ``@p d = OP a, b old o``: one instruction instead of two; a selection between a
guarded load and a constant is the load with the constant as its old value.  A guarded copy of words
that are packed for it, over words that are packed too, becomes copies of the words if one of these can be folded.
"""

from typing import Final

from orias.isa.op import F_CALL, F_CONVERGENT, F_FENCE, F_READ, F_SIDE, F_SPECIAL, F_TERM, F_WRITE, op
from orias.isa.operand import INV, K_NONE, K_R, PT, RZ, Opnd, in_file, is_bare, is_imm, is_vreg
from orias.ori.ir import OP_COPY, OP_PACK, OP_PHI, Block, Func, Inst
from orias.passes.def_use import Values
from orias.passes.simplify import portable

_STAY: Final = F_SIDE | F_TERM | F_CONVERGENT | F_CALL | F_WRITE | F_FENCE
_SEL: Final = op("SEL")


def fold_guarded_copies(fn: Func, known: Values | None = None) -> bool:
    """Fold what can be folded; True if anything changed.  `known`: the function's values, if they are."""
    blocks = [b for b in fn.blocks if any(i.op is _SEL or (i.op is OP_COPY and i.guard != PT) for i in b.insts)]
    if not blocks:
        return False
    values = Values(fn) if known is None else known
    changed = False
    for b in blocks:
        changed |= _copy_words(fn, values, b)
        position = {i.uid: k for k, i in enumerate(b.insts)}
        dead: set[int] = set()
        for k, inst in enumerate(b.insts):
            for value, guard, old in _guarded_values(inst, values):
                d = values.definition(value)
                if d is None or d.uid not in position or d.dst[0] != value or not values.single_use(value):
                    continue
                if not _movable(d, guard) or not _quiet(b.insts, position[d.uid], k, d):
                    continue
                inst.op = d.op
                inst.src = d.src
                inst.guard = guard
                inst.old = old
                inst.dst = [inst.dst[0], *d.dst[1:]]
                inst.loc = d.loc or inst.loc
                dead.add(d.uid)
                changed = True
                break
        if dead:
            b.insts = [i for i in b.insts if i.uid not in dead]
    return changed


def _copy_words(fn: Func, values: Values, b: Block) -> bool:
    """Copy word by word under a guard where a word's computation can take the guard; True if anything changed."""
    here: dict[int, Inst] = {}
    dead: set[int] = set()
    out: list[Inst] = []
    for inst in b.insts:
        here[inst.uid] = inst
        pack = _packed_for(values, here, inst)
        if pack is not None:
            before = values.definition(inst.old)
            assert before is not None
            values.count(pack, -1)
            values.count(inst, -1)
            dead.add(pack.uid)
            words: list[Opnd] = []
            for word, old in zip(pack.src, before.src, strict=True):
                words.append(fn.new_vreg())
                out.append(fn.new_inst(OP_COPY, [words[-1]], [word], inst.guard, old, inst.loc))
                values.define(out[-1])
            inst.op, inst.src, inst.guard, inst.old = OP_PACK, words, PT, K_NONE
            values.define(inst)
        out.append(inst)
    if dead:
        b.insts = [i for i in out if i.uid not in dead]
    return bool(dead)


def _packed_for(values: Values, here: dict[int, Inst], inst: Inst) -> Inst | None:
    """The pack in the same block whose words a guarded copy takes, if one word is computed only for it and both sides are packed."""
    if inst.op is not OP_COPY or inst.guard == PT or inst.old == K_NONE or not is_bare(inst.src[0]):
        return None
    pack, before = values.definition(inst.src[0]), values.definition(inst.old)
    if pack is None or before is None or pack.op is not OP_PACK or before.op is not OP_PACK:
        return None
    if pack.guard != PT or before.guard != PT:
        # Where its guard is false, a pack has the words of another value.
        return None
    if pack.uid not in here or not values.single_use(inst.src[0]) or len(pack.src) != len(before.src):
        return None
    if not all(
        is_vreg(o) and is_bare(o) and in_file(o, K_R) and values.fn.width(o) == 1 for o in pack.src + before.src
    ):
        return None
    for word in pack.src:
        d = values.definition(word)
        if (
            d is not None
            and d.uid in here
            and values.single_use(word)
            and _movable(d, inst.guard)
            and not d.op.flags & F_READ
        ):
            return pack
    return None


def _guarded_values(inst: Inst, values: Values) -> list[tuple[Opnd, Opnd, Opnd]]:
    """(value, guard, old) of a guarded copy, or of either side of a SEL.

    A constant becomes the old value of a load that has the opposite guard, or the same as a SEL: the predicate is free after the
    load, not after its result.
    """
    if inst.op is OP_COPY and inst.guard != PT:
        out = [(inst.src[0], inst.guard, inst.old)] if is_bare(inst.src[0]) else []
        if _is_word(inst.src[0]) and _is_load_under(values, inst.old, inst.guard ^ INV):
            out.append((inst.old, inst.guard ^ INV, inst.src[0]))
        return out
    if inst.op is not _SEL or inst.guard != PT or not is_vreg(inst.dst[0]):
        return []
    yes, no, p = inst.src
    if p == PT:
        return []
    if all(in_file(o, K_R) and is_bare(o) and is_vreg(o) for o in (yes, no)):
        return [(yes, p, no), (no, p ^ INV, yes)]
    for value, old, guard in ((yes, no, p), (no, yes, p ^ INV)):
        if _is_word(old) and _is_load_under(values, value, guard):
            return [(value, guard, old)]
    return []


def _is_word(o: Opnd) -> bool:
    """True for a constant that can be the old value of a load."""
    return is_imm(o) or o == RZ


def _is_load_under(values: Values, o: Opnd, guard: Opnd) -> bool:
    """True for the result, of one word, of a load under a guard."""
    d = values.definition(o) if is_bare(o) else None
    return d is not None and d.guard == guard and d.op.loads() and values.fn.width(o) == 1


def _movable(d: Inst, guard: Opnd) -> bool:
    if d.op.flags & _STAY or d.op in (OP_PHI, OP_PACK, OP_COPY) or not portable(d):
        return False
    if d.op.flags & F_SPECIAL or d.op.base == "undef":
        return False
    if len([x for x in d.dst if is_vreg(x)]) != 1:
        return False
    # An old value of its own shows only where the guard is false, and there another one is taken.
    return d.guard in (PT, guard)


def _quiet(insts: list[Inst], start: int, end: int, d: Inst) -> bool:
    """True if a load may move from `start` down to `end`."""
    if not d.op.flags & F_READ:
        return True
    return not any(i.op.flags & (F_WRITE | F_FENCE | F_CALL) for i in insts[start + 1 : end])
