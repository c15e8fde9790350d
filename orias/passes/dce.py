"""Dead code elimination (OriPerformLiveDead, EarlyOriSimpleLiveDead): drop what has no effect and no reader."""

from typing import Final

from orias.analysis.collectives import WARPSYNC, taking_part
from orias.isa.op import F_ATOMIC, F_CONVERGENT, F_FENCE, F_OPTIONAL_PREDICATES, F_SIDE, F_TERM, F_WRITE
from orias.isa.operand import (
    FIRST_VREG,
    K_B,
    K_P,
    K_R,
    K_UR,
    KIND_MASK,
    PAYLOAD_SHIFT,
    PT,
    RZ,
    URZ,
    in_file,
    is_hardwired,
)
from orias.ori.ir import OP_PHI, Block, Func, Inst

_KEEP: Final = F_SIDE | F_TERM
_ASKED: Final = _KEEP | F_FENCE
"""Flags without which :func:`needed` depends on the results alone."""

_BARRIER_IN_MEMORY: Final = "SYNCS"


def needed(inst: Inst) -> bool:
    """True if the instruction must stay whether or not its results are read.

    A load with ordering semantics may go when unread, as ptxas drops a dead ``ld.relaxed``; a volatile one has a reader
    (:mod:`orias.passes.kept_loads`).
    A result in a physical register belongs to a call and is needed.
    """
    flags = inst.op.flags
    if flags & _KEEP:
        return True
    if flags & F_FENCE and flags & F_WRITE:
        return True
    for d in inst.dst:
        if d < FIRST_VREG:
            if not is_hardwired(d):
                return True
    return False


def eliminate_dead(fn: Func) -> bool:
    """Remove dead instructions (cycles of dead phis included); True if any went.

    With -g the value of a PTX register stays, read or not, but for phis: a debugger may ask for it.
    Atomics whose result is unread become reductions elsewhere; here only their result is kept dead.
    """
    n = len(fn.vkind)
    live = bytearray(n)
    named = fn.names
    defs: list[Inst | None] = [None] * n
    work: list[Inst] = []
    meeting: list[Block] = []
    several: list[Inst] = []
    # Operand tests are written out here: their calls would cost plain Python more than the work between them.
    for b in fn.blocks:
        for inst in b.insts:
            may_stay = inst.op.flags & _ASKED != 0
            for d in inst.dst:
                if d >= FIRST_VREG:
                    defs[d >> PAYLOAD_SHIFT] = inst
                else:
                    may_stay = True
            if len(inst.dst) > 1:
                several.append(inst)
            if (may_stay and needed(inst)) or (named and _is_named(inst, named)):
                work.append(inst)
                if inst.op is WARPSYNC and not (meeting and meeting[-1] is b):
                    meeting.append(b)
    work += taking_part(meeting)
    marked: set[int] = {i.uid for i in work}
    # What stays for its only result has a reader of that.
    several += work
    while work:
        inst = work.pop()
        for s in inst.uses():
            if s < FIRST_VREG or s & KIND_MASK > K_B:
                continue
            ident = s >> PAYLOAD_SHIFT
            if live[ident]:
                continue
            live[ident] = 1
            d2 = defs[ident]
            if d2 is not None and d2.uid not in marked:
                marked.add(d2.uid)
                work.append(d2)
    changed = False
    for b in fn.blocks:
        kept = [i for i in b.insts if i.uid in marked]
        if len(kept) != len(b.insts):
            b.insts = kept
            changed = True
    _drop_unread_results([i for i in several if i.uid in marked], fn, live)
    return changed


def _is_named(inst: Inst, named: dict[int, list[tuple[str, str]]]) -> bool:
    """Whether an instruction makes the value of a PTX register; phis and undefined values do not count."""
    if inst.op is OP_PHI or inst.op.base == "undef":
        return False
    return any(d >= FIRST_VREG and named.get(d >> PAYLOAD_SHIFT) for d in inst.dst)


def _drop_unread_results(insts: list[Inst], fn: Func, live: bytearray) -> None:
    """Results nobody reads become RZ, PT or, of ELECT, URZ where the operation has another reason to stay."""
    for inst in insts:
        dst = inst.dst
        for k, d in enumerate(dst):
            if d >= FIRST_VREG and not live[d >> PAYLOAD_SHIFT] and not fn.names.get(d >> PAYLOAD_SHIFT):
                if in_file(d, K_R):
                    if inst.op.flags & F_ATOMIC or inst.op.base == _BARRIER_IN_MEMORY:
                        dst[k] = RZ
                elif in_file(d, K_P):
                    dst[k] = PT
                elif in_file(d, K_UR) and inst.op.flags & F_CONVERGENT and len(dst) > 1:
                    dst[k] = URZ
        if inst.op.flags & F_OPTIONAL_PREDICATES:
            while len(dst) > 1 and dst[-1] == PT:
                dst.pop()
