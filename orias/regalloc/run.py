"""The road through register allocation."""

from typing import Final, final

from orias.analysis.cfg import dominators, find_loops, remove_unreachable
from orias.analysis.inflight import has_operations
from orias.diag import Unsupported
from orias.isa.operand import K_B, K_P, K_R, K_UP, K_UR, KIND_MASK, PAYLOAD_SHIFT
from orias.ori.clone import clone, restore
from orias.ori.ir import QUADS, Block, Func, Inst
from orias.regalloc.accumulators import tie_accumulators
from orias.regalloc.allocate import Assignment, allocate, allocate_again, clobber_mask
from orias.regalloc.calls import expand_calls
from orias.regalloc.coalesce import Classes, Cls, broken_ties, coalesce
from orias.regalloc.expand import Trace, expand
from orias.regalloc.files import RESERVE
from orias.regalloc.frame import finish_frame
from orias.regalloc.gathered import check_operations, gather_accumulators
from orias.regalloc.locate import locate
from orias.regalloc.pack import pack_registers
from orias.regalloc.pressure import Candidate, Pressure, candidates, choose_victims, room_left
from orias.regalloc.ranges import Ranges
from orias.regalloc.spill import SpillState, across_calls, rematerialisable, spill
from orias.regalloc.ssa_out import leave_ssa, tie
from orias.regalloc.vectors import join_vectors

_NOTE: Final = {K_R: "clobber_r", K_UR: "clobber_ur", K_P: "clobber_p", K_UP: "clobber_up", K_B: "clobber_b"}
_ROUNDS: Final = 60


@final
class OutOfRegisters(Unsupported):
    """The register limit is too low, whatever is spilled."""


def allocate_registers(fn: Func, apart: bool = False, trace: Trace | None = None) -> dict[int, int]:
    """From ``ssa`` (or ``virtual``) to ``allocated``; returns the mask of registers it may change, by file (K_R ..).

    The masks are also left in ``Func.notes`` as ``clobber_r``, ``clobber_ur``, ``clobber_p``, ``clobber_up``, ``clobber_b``.

    Calls of helpers need their clobber masks first (:func:`set_known_clobbers`).  Where registers do not suffice for warpgroup
    operations under way, they run one at a time.  Raises Unsupported if the registers cannot be made to suffice.
    """
    if fn.state != "ssa" or not has_operations(fn):
        return _allocate(fn, apart, trace)
    check_operations(fn)
    kept = clone(fn)
    try:
        return _allocate(fn, apart, trace)
    except OutOfRegisters:
        restore(fn, kept)
        gather_accumulators(fn)
        return _allocate(fn, apart, trace)


def _allocate(fn: Func, apart: bool, trace: Trace | None) -> dict[int, int]:
    if fn.state == "ssa":
        prepare(fn)
    expand_calls(fn, apart)
    if trace is not None:
        trace.before = copy_function(fn)
    elif fn.names:
        trace = Trace()
    state = SpillState()
    classes, result = _solve(fn, state)
    expand(classes, result.used, trace)
    if fn.names and trace is not None:
        locate(fn, classes, trace)
    used = result.used
    for b in fn.blocks:
        for inst in b.insts:
            if inst.uid in state.uids:
                if inst.op.base == "STL":
                    fn.spill_stores += 8 if inst.op.mods else 4
                else:
                    fn.spill_loads += 8 if inst.op.mods else 4
    for reg in classes.rg.phys:
        used[reg & KIND_MASK] |= 1 << (reg >> PAYLOAD_SHIFT)
    used[K_R] |= fn.notes.get(QUADS, 0)
    lost = {file: mask | lost_in_calls(fn, file) for file, mask in used.items()}
    if state.size and fn.notes.get("alloca"):
        raise Unsupported(f"'alloca' in '{fn.name}', which needs to spill registers, is not supported yet")
    scratch = finish_frame(fn, lost, state.size)
    fn.reg_count = (used[K_R] | scratch | 2).bit_length() + RESERVE
    lost[K_R] |= scratch
    for file, mask in lost.items():
        fn.notes[_NOTE[file]] = mask
    return lost


def allocate_checked(fn: Func, apart: bool = False) -> None:
    """Allocate and let the independent checker judge; raises Unsupported with the first faults."""
    from orias.regalloc.check import check

    trace = Trace()
    allocate_registers(fn, apart, trace)
    assert trace.before is not None
    faults = check(trace.before, fn, trace.items)
    if faults:
        raise Unsupported(f"register allocation of '{fn.name}' is wrong:\n" + "\n".join(faults[:5]))


def lost_in_calls(fn: Func, file: int) -> int:
    """Registers of a file that the function's callees may change."""
    mask = 0
    for info in fn.calls.values():
        mask |= clobber_mask(info, file)
    return mask


def _solve(fn: Func, state: SpillState) -> tuple[Classes, Assignment]:
    """Allocate, spilling until everything fits."""
    # Penalties say where an attempt failed although there seemed to be room: file -> uid of an instruction -> words.
    penalty: dict[int, dict[int, int]] = {}
    if fn.calls:
        classes = _tied_classes(fn)
        constants = across_calls(classes)
        if constants:
            spill(classes, constants, state, [])
    for _ in range(_ROUNDS):
        classes = _tied_classes(fn)
        result = allocate(classes)
        if not result.failed:
            pack_registers(classes, result)
            return classes, result
        pool = candidates(classes, state.temps, rematerialisable(classes, state))
        victims: list[Cls] = []
        room: list[int] = []
        for file in sorted({c.file for c in result.failed}):
            # Values of other files may come to R, so R is looked at only when nothing else is short.
            if file == K_R and victims:
                continue
            chosen, pressure = _victims(classes, file, result, pool, penalty.setdefault(file, {}))
            victims.extend(chosen)
            if file == K_R and chosen:
                room = room_left(pressure, chosen, pool)
        if not result.failed:
            return classes, result
        if not victims:
            break
        spill(classes, victims, state, room)
    loc = next((i.loc for i in fn.insts() if i.loc), 0)
    raise OutOfRegisters(f"Function '{fn.name}' needs more registers than the limit of {fn.max_regs} allows", loc)


def _tied_classes(fn: Func) -> Classes:
    """The classes, with copies put in where a result and its old value cannot share a register."""
    while True:
        classes = coalesce(Ranges(fn))
        broken = set(broken_ties(classes))
        if not broken:
            return classes
        for b in fn.blocks:
            if any(inst in broken for inst in b.insts):
                out: list[Inst] = []
                for inst in b.insts:
                    if inst in broken:
                        out.append(tie(fn, inst))
                    out.append(inst)
                b.insts = out


def _victims(
    classes: Classes, file: int, result: Assignment, pool: list[Candidate], penalty: dict[int, int]
) -> tuple[list[Cls], Pressure]:
    """Classes to spill for the failures in one file, and the pressure that they answer.

    None if other orders of allocation do away with the failures.
    """
    rg = classes.rg
    pressure = Pressure(classes, file, _spread(rg, penalty))
    victims = choose_victims(pressure, pool)
    if victims or allocate_again(classes, file, result):
        return victims, pressure
    # There is room at every point, but not in one piece: one register less where the failures are.
    failed = [c for c in result.failed if c.file == file]
    for p in {p for c in failed for segs in c.words.values() for s, e, _ in segs for p in range(s, e)}:
        inst = rg.insts[p]
        if inst is not None:
            penalty[inst.uid] = penalty.get(inst.uid, 0) + max(1, 1 - pressure.excess[p])
    pressure = Pressure(classes, file, _spread(rg, penalty))
    return choose_victims(pressure, pool), pressure


def _spread(rg: Ranges, penalty: dict[int, int]) -> list[int] | None:
    """Penalties by point; block heads and new instructions take that of the next instruction that has one."""
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
    """A copy for the checker: own instructions and blocks, shared facts."""
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
    """Leave SSA, with unreachable blocks gone and loop depths set."""
    remove_unreachable(fn)
    find_loops(fn, dominators(fn))
    join_vectors(fn)
    leave_ssa(fn)
    tie_accumulators(fn)


def set_known_clobbers(caller: Func, known: dict[str, Func]) -> None:
    """Tell a function which registers the allocated helpers and private functions that it calls may change."""
    for info in caller.calls.values():
        callee = known.get(info.target) if info.kind in ("helper", "abi") and info.target is not None else None
        if callee is not None:
            notes = callee.notes
            info.exact = True
            info.clobber_r = notes["clobber_r"]
            info.clobber_p = notes["clobber_p"]
            info.clobber_ur = notes["clobber_ur"]
            info.clobber_up = notes["clobber_up"]
            if info.kind == "helper":
                # Functions keep to the convention for convergence barriers, on which passes.sync has built.
                info.clobber_b = notes["clobber_b"]
