"""Register allocation of a function: the steps, in order (``docs/regalloc.md``)."""

from collections import Counter
from typing import Final, final

from orias.analysis.cfg import dominators, find_loops, remove_unreachable
from orias.analysis.inflight import has_operations
from orias.diag import Unsupported
from orias.isa.operand import K_B, K_P, K_R, K_UP, K_UR, kind_of, reg_id
from orias.isa.roles import LOCAL_LOADS, LOCAL_STORES
from orias.ori.clone import clone, restore
from orias.ori.ir import Block, Clobbers, Func, Inst
from orias.regalloc.accumulator_registers import tie_accumulators
from orias.regalloc.allocate import Assignment, allocate, allocate_again, lost_in_calls
from orias.regalloc.call_registers import expand_calls
from orias.regalloc.coalesce import Classes, Cls, broken_ties, coalesce
from orias.regalloc.files import FILES, usable
from orias.regalloc.frame import finish_frame
from orias.regalloc.frame_base import read_frame_base
from orias.regalloc.locate import locate
from orias.regalloc.operation_needs import check_operations
from orias.regalloc.pack import pack_registers
from orias.regalloc.physical import Trace, expand
from orias.regalloc.pressure import Pressure, candidates, choose_victims, room_left
from orias.regalloc.ranges import Ranges
from orias.regalloc.recompute import Again, recomputable
from orias.regalloc.register_decision import Peak, register_decision
from orias.regalloc.spill import SpillState, across_calls, rematerialisable, spill
from orias.regalloc.spill_base import reserve_base, use_base, wants_base
from orias.regalloc.ssa_out import leave_ssa, tie
from orias.regalloc.vectors import join_vectors
from orias.regalloc.wgmma_spill import cannot_be_pending, gather_accumulators
from orias.target.register_steps import SYSTEM_REGISTERS


@final
class OutOfRegisters(Unsupported):
    """The register limit is too low, even with spilling."""


_TRIES: Final = -1
"""Key, among those of penalties, of the number of times that penalties were set."""


def allocate_registers(fn: Func, own_sections: bool = False, trace: Trace | None = None) -> dict[int, int]:
    """Allocate a function in state ``ssa`` or ``virtual``; its state becomes ``allocated``.

    Returns the mask of registers that it may change, by file (K_R ..), and stores the masks in ``Func.clobbers``.
    Calls of helpers need their clobber masks first (:func:`set_known_clobbers`).  If registers do not suffice for
    pending warpgroup operations, these run one at a time.  Raises Unsupported if registers do not suffice even then.
    """
    if fn.state == "ssa":
        check_operations(fn)
    if fn.state != "ssa" or not has_operations(fn):
        return _allocate(fn, own_sections, trace)
    kept = clone(fn)
    try:
        return _allocate(fn, own_sections, trace)
    except OutOfRegisters:
        restore(fn, kept)
        gather_accumulators(fn)
        return _allocate(fn, own_sections, trace)


def _allocate(fn: Func, own_sections: bool, trace: Trace | None) -> dict[int, int]:
    if fn.state == "ssa":
        prepare(fn)
    expand_calls(fn, own_sections)
    if trace is not None:
        trace.before = copy_function(fn)
    elif fn.names:
        trace = Trace()
    state = SpillState()
    kept = clone(fn) if wants_base(fn) else None
    decided = len(fn.decisions or ())
    classes, result = _solve(fn, state)
    if state.size and kept is not None:
        restore(fn, kept)
        if fn.decisions is not None:
            del fn.decisions[decided:]
        if not reserve_base(fn) and fn.moves_stack:
            raise OutOfRegisters(f"Function '{fn.name}' with 'alloca' spills and has no register for the address", 0)
        if trace is not None:
            trace.before = copy_function(fn)
        state = SpillState()
        classes, result = _solve(fn, state)
    peak = Peak(classes) if fn.decisions is not None else None
    expand(classes, result.used, trace)
    if fn.names and trace is not None:
        locate(fn, classes, trace, state)
    used = result.used
    if fn.spill_base >= 0:
        use_base(fn, state)
        used[K_R] |= 1 << fn.spill_base
    for b in fn.blocks:
        for inst in b.insts:
            if inst.uid in state.uids:
                fn.spill_code.add(inst.uid)
                if inst.op in LOCAL_STORES:
                    fn.spill_stores += 8 if inst.op.mods else 4
                elif inst.op in LOCAL_LOADS:
                    fn.spill_loads += 8 if inst.op.mods else 4
    for reg in classes.rg.phys:
        used[kind_of(reg)] |= 1 << reg_id(reg)
    used[K_R] |= fn.quad_registers
    lost = {file: mask | lost_in_calls(fn, file) for file, mask in used.items()}
    scratch = finish_frame(fn, lost, state.size)
    fn.reg_count = (used[K_R] | scratch[K_R] | 2).bit_length() + SYSTEM_REGISTERS
    if fn.decisions is not None and peak is not None:
        fn.decisions.append(register_decision(fn, peak))
    for file, mask in scratch.items():
        lost[file] |= mask
    fn.clobbers = Clobbers(lost[K_R], lost[K_UR], lost[K_P], lost[K_UP], lost[K_B])
    return lost


def allocate_checked(fn: Func, own_sections: bool = False) -> None:
    """Allocate, then run the independent checker; raises Unsupported with its first faults."""
    from orias.regalloc.allocation_check import check

    trace = Trace()
    allocate_registers(fn, own_sections, trace)
    assert trace.before is not None
    faults = check(trace.before, fn, trace.items)
    if faults:
        raise Unsupported(f"register allocation of '{fn.name}' is wrong:\n" + "\n".join(faults[:5]))


def _solve(fn: Func, state: SpillState) -> tuple[Classes, Assignment]:
    """Allocate and spill until everything fits."""
    start: list[tuple[Func, SpillState]] = []
    decided = len(fn.decisions or ())
    try:
        return _rounds(fn, state, start)
    except OutOfRegisters:
        if not start:
            raise
    # What lives longer so that others can be computed again may be in the way of all that could still be spilled.
    restore(fn, start[0][0])
    state.take(start[0][1])
    if fn.decisions is not None:
        del fn.decisions[decided:]
    return _rounds(fn, state, None)


def _rounds(fn: Func, state: SpillState, start: list[tuple[Func, SpillState]] | None) -> tuple[Classes, Assignment]:
    """As :func:`_solve`.  `start` gets copies of the function and the state before the first spill; None: no value lives longer for another."""
    # Penalties record where an attempt failed although enough registers were free: file -> uid of an instruction ->
    # words.
    penalty: dict[int, dict[int, int]] = {}
    classes = _tied_classes(fn)
    if fn.calls:
        makers = rematerialisable(classes, state)
        constants = across_calls(classes, makers)
        if constants:
            spill(classes, constants, state, [], makers)
            classes = _tied_classes(fn)
    # Rounds of spilling for operations that then run one at a time after all would be in vain.
    rounds = 0 if cannot_be_pending(classes) else fn.knobs.reg_alloc_max_spill_rounds
    for turn in range(rounds):
        result = Assignment()
        lacking = [file for file in FILES if file != K_R and not allocate(classes, file, result)]
        # Where there are more words than registers no attempt is needed: it fails for certain.
        crowded = _may_crowd(classes) and max(Pressure(classes, K_R, None).excess) > 0
        # Where registers sufficed but no place was found in an earlier round, what is preferred has little chance in this one.
        closely = bool(penalty.get(K_R))
        if not lacking and not crowded and allocate(classes, K_R, result, closely):
            pack_registers(classes, result)
            return classes, result
        makers = rematerialisable(classes, state)
        early = start is not None and turn < fn.knobs.reg_alloc_remat_rounds
        again = recomputable(classes, makers, Pressure(classes, K_R, None).excess, early)
        victims: list[Cls] = []
        for file in lacking:
            victims.extend(_victims(classes, file, result, state.temps, makers, again, penalty)[0])
        # Values of other files that are spilled move to R, in another round.  In this one R needs no attempt.
        if not victims and not crowded:
            crowded = not lacking or not allocate(classes, K_R, result, closely)
        room: list[int] = []
        if crowded:
            chosen, room = _victims(classes, K_R, result, state.temps, makers, again, penalty)
            victims[:0] = chosen
        if not victims:
            if result.failed:
                break
            return classes, result
        if start is not None and not start:
            start.append((clone(fn), state.copy()))
        spill(classes, victims, state, room, {**{c: x.maker for c, x in again.items()}, **makers})
        classes = _tied_classes(fn)
    loc = next((i.loc for i in fn.insts() if i.loc), 0)
    raise OutOfRegisters(f"Function '{fn.name}' needs more registers than the limit of {fn.max_regs} allows", loc)


def _may_crowd(classes: Classes) -> bool:
    """False if the R registers suffice for all words of all classes at once, so that no point can lack any."""
    words = sum(len(c.words) for c in classes.all() if c.file == K_R)
    rg = classes.rg
    return bool(rg.clobbers or rg.fn.entry_regs) or words + len(rg.phys) > usable(rg.fn, K_R).bit_count()


def _tied_classes(fn: Func) -> Classes:
    """The classes, after inserting copies where a result and its old value cannot share a register."""
    while True:
        classes = coalesce(Ranges(fn))
        broken = set(broken_ties(classes))
        if not broken:
            return classes
        for b in fn.blocks:
            out: list[Inst] = []
            for inst in b.insts:
                if inst in broken:
                    out.append(tie(fn, inst))
                out.append(inst)
            b.insts = out


def _victims(
    classes: Classes,
    file: int,
    result: Assignment,
    temps: set[int],
    makers: dict[Cls, Inst],
    again: dict[Cls, Again],
    penalties: dict[int, dict[int, int]],
) -> tuple[list[Cls], list[int]]:
    """Classes to spill for the failures in one file, and the R registers then free at each point (for the file R only).

    The list is empty if another order of allocation succeeds.
    """
    rg = classes.rg
    penalty = penalties.setdefault(file, {})
    pool = candidates(classes, file, temps, makers, again)
    pressure = Pressure(classes, file, _spread(rg, penalty))
    victims = choose_victims(pressure, pool)
    if not victims:
        if allocate_again(classes, file, result):
            return victims, []
        # Enough registers are free at every point but not adjacent ones: reduce the registers where the failures are.
        failed = [c for c in result.failed if c.file == file]
        # One register at a time takes tens of rounds where hundreds of values fail.
        knobs = rg.fn.knobs
        step = min(max(1, len(failed) // knobs.reg_alloc_spill_step_failures), knobs.reg_alloc_spill_step_most)
        # How many words fail at each point: where spilling did not end this before, more than one of them needs a register.
        everywhere = Counter(p for c in failed for segs in c.words.values() for s, e, _ in segs for p in range(s, e))
        # How many classes do: of those some may find a place once others have one, of the words of one class none does.
        together = Counter(
            p for c in failed for p in {p for segs in c.words.values() for s, e, _ in segs for p in range(s, e)}
        )
        tries = penalty.get(_TRIES, 0)
        penalty[_TRIES] = tries + 1
        # A value that is read just after the fullest point needs a register there even if it is spilled.
        for points in (_tight(failed, pressure.excess, tries), set(everywhere)):
            for p in points:
                inst = rg.insts[p]
                if inst is not None:
                    share = (
                        together[p] // knobs.reg_alloc_spill_share
                        if together[p] >= knobs.reg_alloc_spill_together
                        else 0
                    )
                    words = min(max(1 << tries, share), (everywhere[p] + 1) // 2)
                    penalty[inst.uid] = penalty.get(inst.uid, 0) + max(step, words - pressure.excess[p])
            pressure = Pressure(classes, file, _spread(rg, penalty))
            victims = choose_victims(pressure, pool)
            if victims:
                break
    return victims, room_left(pressure, victims, pool) if file == K_R and victims else []


def _tight(failed: list[Cls], excess: list[int], tries: int) -> set[int]:
    """The points where the failed classes most likely found no register: those with few left, more of them with each try."""
    out: set[int] = set()
    for c in failed:
        points = {p for segs in c.words.values() for s, e, _ in segs for p in range(s, e)}
        least = min(1 - len(c.words), max(excess[p] for p in points)) - (1 << tries) + 1
        out.update(p for p in points if excess[p] >= least)
    return out


def _spread(rg: Ranges, penalty: dict[int, int]) -> list[int] | None:
    """Penalties by point; a block head has that of the instruction after it, an instruction inserted since has none."""
    if not penalty:
        return None
    out = [0] * rg.points
    last = 0
    for p in range(rg.points - 1, -1, -1):
        inst = rg.insts[p]
        if inst is not None:
            last = penalty.get(inst.uid, 0)
        out[p] = last
    return out


def copy_function(fn: Func) -> Func:
    """A copy for the checker: instructions and blocks are copied, facts are shared."""
    new = Func(fn.name, fn.target, fn.kind)
    new.state = fn.state
    new.vkind = bytearray(fn.vkind)
    new.vwidth = bytearray(fn.vwidth)
    new.syms = fn.syms
    new.calls = fn.calls
    new.frame_fixed = fn.frame_fixed
    for b in fn.blocks:
        c = Block(b.id)
        c.insts = [Inst(i.op, list(i.dst), list(i.src), i.guard, i.old, i.loc, i.uid) for i in b.insts]
        new.blocks.append(c)
    return new


def prepare(fn: Func) -> None:
    """Leave SSA, remove unreachable blocks and set loop depths."""
    remove_unreachable(fn)
    find_loops(fn, dominators(fn))
    read_frame_base(fn)
    join_vectors(fn)
    leave_ssa(fn)
    tie_accumulators(fn)


def set_known_clobbers(caller: Func, known: dict[str, Func]) -> None:
    """Set, in the calls of a function, which registers the allocated helpers and private functions may change."""
    for info in caller.calls.values():
        callee = known.get(info.target) if info.kind in ("helper", "abi") and info.target is not None else None
        if callee is not None:
            lost = callee.clobbers
            assert lost is not None
            info.exact = True
            info.clobber_r = lost.r
            info.clobber_p = lost.p
            info.clobber_ur = lost.ur
            info.clobber_up = lost.up
            if info.kind == "helper":
                # Convergence barriers follow the convention even in private functions, because passes.convergence
                # relies on it.
                info.clobber_b = lost.b
