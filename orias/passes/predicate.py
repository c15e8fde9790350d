"""OriDoPredication: short conditional arms become guarded instructions; arms that only leave become guarded exits.

Limits as measured (``docs/facts/optimizer.md``): 8 instructions an arm, 20 with a load that may be of global memory, arms judged one by
one; never with atomics, warp operations, barriers or calls, but with arrivals at a barrier in memory (as ptxas's code for sm_90 shows),
and with operations that run once a warp (:mod:`orias.passes.once_a_warp`).
"""

from typing import Final

from orias.analysis.cfg import dominators, find_loops
from orias.isa.op import (
    F_CALL,
    F_CONVERGENT,
    F_FENCE,
    F_FREE,
    F_PINNED,
    F_READ,
    F_SIDE,
    F_SPECIAL,
    F_TERM,
    F_TEXTURE,
    F_WRITE,
    GLOBAL,
    op,
)
from orias.isa.operand import (
    INV,
    K_IMM,
    K_NONE,
    K_P,
    K_R,
    PT,
    RZ,
    Opnd,
    bare,
    in_file,
    is_physical,
    is_vreg,
    kind_of,
    vreg,
)
from orias.ori.decisions import NOT_PREDICATED, PREDICATED, Decision
from orias.ori.ir import OP_COPY, OP_EXIT, OP_PHI, Block, Func, Inst
from orias.passes.access_size import may_fault
from orias.passes.once_a_warp import OnceAWarp

_NEVER: Final = F_CALL | F_CONVERGENT | F_FENCE | F_PINNED | F_TERM
_ATOMIC: Final = F_READ | F_WRITE
_SEL: Final = op("SEL")


def predicate_arms(fn: Func) -> bool:
    """Convert all convertible triangles, diamonds and exits; True if any was."""
    changed = False
    loops = {loop.header.id: set(loop.blocks) for loop in find_loops(fn, dominators(fn)).loops}
    once = OnceAWarp(fn)
    halves: set[int] = set()
    for _ in range(fn.knobs.predication_rounds):
        step = False
        gone: set[int] = set()
        for b in fn.blocks:
            if b.id not in gone and b.id not in halves and _convert(fn, b, loops, once, gone, halves):
                step = True
        if not step:
            break
        fn.blocks = [b for b in fn.blocks if b.id not in gone]
        changed = True
    return changed


def _convert(fn: Func, b: Block, loops: dict[int, set[int]], once: OnceAWarp, gone: set[int], halves: set[int]) -> bool:
    """Convert what the branch of a block decides about; blocks that are no longer needed are added to `gone`.

    `halves`: blocks whose branch stays, because one of its two arms was converted.
    """
    t = b.terminator()
    if t is None or t.op.base != "BRA" or t.src or not in_file(t.guard, K_P) or len(b.succs) != 2:
        return False
    fall, taken = b.succs
    if fall is taken:
        return False
    # A branch back to the top of a loop stays conditional: a guarded exit would cost an iteration one branch more.
    if b.id not in loops.get(fall.id, ()) and _exit_arm(fn, b, t, taken, t.guard, gone):
        return True
    if b.id not in loops.get(taken.id, ()) and _exit_arm(fn, b, t, fall, t.guard ^ INV, gone):
        return True
    if _is_arm(taken, b) and taken.succs[0] is fall:
        return _triangle(fn, b, t, taken, fall, t.guard, once, gone)
    if _is_arm(fall, b) and fall.succs[0] is taken:
        return _triangle(fn, b, t, fall, taken, t.guard ^ INV, once, gone)
    if _is_arm(taken, b) and _is_arm(fall, b) and taken.succs[0] is fall.succs[0] and taken.succs[0] is not b:
        return _diamond(fn, b, t, taken, fall, once, gone, halves)
    return False


def _is_arm(arm: Block, b: Block) -> bool:
    return len(arm.preds) == 1 and arm.preds[0] is b and len(arm.succs) == 1 and arm.terminator() is None


def _exit_arm(fn: Func, b: Block, t: Inst, arm: Block, guard: Opnd, gone: set[int]) -> bool:
    """A branch to a block that holds only EXIT (or, with one predecessor, a few stores and EXIT) is a guarded EXIT."""
    if not arm.insts or arm.insts[-1].op is not OP_EXIT or arm.insts[-1].guard != PT or arm.succs:
        return False
    body = arm.insts[:-1]
    if body and (
        len(arm.preds) != 1 or len(body) > fn.knobs.predication_exit_inst_limit or not all(_predicable(i) for i in body)
    ):
        return False
    if any(i.op is OP_PHI for i in body):
        return False
    if fn.decisions is not None:
        text = "threads that take the branch leave in a guarded EXIT"
        fn.decisions.append(Decision(PREDICATED, t.loc, text, {"instructions": len(body)}))
    other = b.succs[0] if b.succs[1] is arm else b.succs[1]
    b.insts.pop()
    for inst in body:
        _guard(inst, guard)
        b.insts.append(inst)
    b.insts.append(fn.new_inst(OP_EXIT, [], [], guard, loc=t.loc))
    b.succs = [other]
    arm.preds.remove(b)
    if not arm.preds:
        gone.add(arm.id)
    return True


def _predicable(inst: Inst) -> bool:
    if inst.op.base == "fence":
        # It only keeps the compiler from moving memory operations, and does so from any place.
        return True
    flags = inst.op.flags
    if flags & _NEVER or inst.op is OP_PHI:
        return False
    if inst.guard != PT and (_needs_guard(inst) or not in_file(inst.guard, K_P)):
        return False
    if flags & _ATOMIC == _ATOMIC and not _is_arrival(inst):
        return False
    if flags & F_SPECIAL or inst.op.base in ("BMOV", "undef"):
        return False
    # Physical registers belong to calls.
    for d in inst.dst:
        if is_physical(d):
            return False
    if may_fault(inst) and not inst.op.flags & F_TEXTURE:
        return len([d for d in inst.dst if is_vreg(d)]) <= 1
    return True


def _is_arrival(inst: Inst) -> bool:
    """True for an arrival at a barrier in shared memory whose result is not used."""
    return inst.op.base == "SYNCS" and inst.op.has("ARRIVE") and not any(is_vreg(d) for d in inst.dst)


def _cost(arm: Block) -> int:
    return sum(1 for i in arm.insts if not i.op.flags & F_FREE)


def _short(fn: Func, b: Block, arm: Block, once: OnceAWarp) -> bool:
    waits = once.needed(b, arm)
    if not all(_predicable(i) or (waits and once.takes(i)) for i in arm.insts):
        return False
    loads = waits or any(i.op.loads() and i.op.space & GLOBAL for i in arm.insts)
    limit = fn.knobs.predication_load_inst_limit if loads else fn.knobs.predication_inst_limit
    return _cost(arm) <= limit


def note_short(fn: Func, t: Inst, arms: tuple[Block, ...]) -> None:
    """Record that the arms of a branch become guarded instructions."""
    if fn.decisions is not None:
        count = sum(_cost(a) for a in arms)
        text = f"the branch over {count} instructions is gone: they are guarded, or run either way"
        fn.decisions.append(Decision(PREDICATED, t.loc, text, {"instructions": count}))


def note_long(fn: Func, t: Inst, arms: tuple[Block, ...]) -> None:
    """Record why a branch around short arms stays."""
    if fn.decisions is not None:
        never = next((i for a in arms for i in a.insts if not _predicable(i)), None)
        count = max(_cost(a) for a in arms)
        why = f"an arm has {count} instructions" if never is None else f"an arm has {never.op.name} (line {never.loc})"
        numbers = {
            "instructions": count,
            "limit": fn.knobs.predication_inst_limit,
            "limit_with_load": fn.knobs.predication_load_inst_limit,
        }
        fn.decisions.append(Decision(NOT_PREDICATED, t.loc, f"the branch stays: {why}", numbers))


def _needs_guard(inst: Inst) -> bool:
    """True for what touches memory or has effects; plain arithmetic may run either way, also that under a guard of its own."""
    return (may_fault(inst) or inst.op.flags & F_SIDE != 0) and inst.op.base != "fence"


def _guard(inst: Inst, guard: Opnd) -> None:
    if _needs_guard(inst):
        inst.guard = guard


def _guard_arm(b: Block, arm: Block, guard: Opnd, once: OnceAWarp) -> None:
    """Guard the instructions of an arm, which is not in the list of blocks from here on."""
    whole = once.vote(b, guard) if once.needed(b, arm) else K_NONE
    for inst in arm.insts:
        if whole == K_NONE or not once.guard(inst, guard, whole):
            _guard(inst, guard)


def _triangle(
    fn: Func, b: Block, t: Inst, arm: Block, join: Block, guard: Opnd, once: OnceAWarp, gone: set[int]
) -> bool:
    if not _short(fn, b, arm, once):
        note_long(fn, t, (arm,))
        return False
    note_short(fn, t, (arm,))
    b.insts.pop()
    _guard_arm(b, arm, guard, once)
    b.insts.extend(arm.insts)
    ka, kb = join.preds.index(arm), join.preds.index(b)
    for phi in join.insts:
        if phi.op is not OP_PHI:
            break
        phi.src[kb] = _select(fn, b, guard, phi.src[ka], phi.src[kb], phi, t.loc)
    join.drop_pred(ka)
    b.succs = [join]
    gone.add(arm.id)
    return True


def _diamond(
    fn: Func, b: Block, t: Inst, taken: Block, fall: Block, once: OnceAWarp, gone: set[int], halves: set[int]
) -> bool:
    if not _short(fn, b, taken, once) or not _short(fn, b, fall, once):
        note_long(fn, t, (taken, fall))
        return False
    join = taken.succs[0]
    if len(join.preds) > 2 and min(_accesses(taken), _accesses(fall)) >= fn.knobs.predication_half_accesses:
        _half(fn, b, t, taken, fall, once, gone)
        halves.add(b.id)
        return True
    note_short(fn, t, (taken, fall))
    b.insts.pop()
    _guard_arm(b, taken, t.guard, once)
    _guard_arm(b, fall, t.guard ^ INV, once)
    b.insts.extend(taken.insts)
    b.insts.extend(fall.insts)
    kt, kf = join.preds.index(taken), join.preds.index(fall)
    for phi in join.insts:
        if phi.op is not OP_PHI:
            break
        phi.src[kt] = _select(fn, b, t.guard, phi.src[kt], phi.src[kf], phi, t.loc)
    join.preds[kt] = b
    join.drop_pred(kf)
    b.succs = [join]
    gone.update((taken.id, fall.id))
    return True


def _accesses(arm: Block) -> int:
    """Accesses to memory of an arm, 0 if one of them loads what may be far: guarded loads of both arms are under way together."""
    if any(i.op.loads() and i.op.space & GLOBAL for i in arm.insts):
        return 0
    return sum(1 for i in arm.insts if may_fault(i) and i.op.base != "fence")


def _half(fn: Func, b: Block, t: Inst, taken: Block, fall: Block, once: OnceAWarp, gone: set[int]) -> None:
    """Guard the arm with fewer accesses to memory, and lead its threads past the other one.

    Where others come to the place after both arms, a branch to it is needed anyway, and those that take it do not issue the accesses
    of the other arm.
    """
    arm, other, guard = taken, fall, t.guard
    if (_accesses(fall), _cost(fall)) < (_accesses(taken), _cost(taken)):
        arm, other, guard = fall, taken, t.guard ^ INV
    note_short(fn, t, (arm,))
    join = arm.succs[0]
    b.insts.pop()
    _guard_arm(b, arm, guard, once)
    b.insts.extend(arm.insts)
    ka, ko = join.preds.index(arm), join.preds.index(other)
    made = {d for inst in other.insts for d in inst.dst}
    for phi in join.insts:
        if phi.op is not OP_PHI:
            break
        if bare(phi.src[ko]) not in made:
            # Its register has the right value on both ways.
            phi.src[ka] = phi.src[ko] = _select(fn, b, guard, phi.src[ka], phi.src[ko], phi, t.loc)
    t.guard = guard
    b.insts.append(t)
    b.succs = [other, join]
    join.preds[ka] = b
    gone.add(arm.id)


def _select(fn: Func, b: Block, guard: Opnd, yes: Opnd, no: Opnd, phi: Inst, loc: int) -> Opnd:
    """guard ? yes : no at the end of block `b`."""
    # The guard of the branch may have become constant.
    if yes == no or guard == PT:
        return yes
    if guard == PT ^ INV:
        return no
    d = phi.dst[0]
    file_kind = kind_of(d)
    width = fn.vwidth[vreg(d)]
    new = fn.new_vreg(file_kind, width)
    if file_kind == K_R and width == 1 and _plain(yes) and _plain(no):
        b.insts.append(fn.new_inst(_SEL, [new], [yes, no, guard], loc=loc))
        return new
    if file_kind in (K_R, K_P) and not in_file(no, file_kind):
        # An old value must be a register.
        moved = fn.new_vreg(file_kind, width)
        b.insts.append(fn.new_inst(OP_COPY, [moved], [no], loc=loc))
        no = moved
    b.insts.append(fn.new_inst(OP_COPY, [new], [yes], guard, no, loc))
    return new


def _plain(o: Opnd) -> bool:
    return kind_of(o) in (K_R, K_IMM) and (not in_file(o, K_R) or o == RZ or is_vreg(o))
