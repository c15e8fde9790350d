"""Dead code elimination (OriPerformLiveDead, EarlyOriSimpleLiveDead): drop what has no effect and no reader."""

from orias.isa.op import F_FENCE, F_SIDE, F_TERM, F_WRITE
from orias.isa.operand import FIRST_VIRTUAL, K_B, K_NONE, KIND_MASK, PAYLOAD_SHIFT, PT, RZ
from orias.ori.ir import Func, Inst

_KEEP = F_SIDE | F_TERM
_OPTIONAL_PREDICATES = frozenset(("IADD3", "IMAD", "LEA", "LOP3", "iadd64"))
"""Operations whose predicate results are printed only when they are used."""


def needed(inst: Inst) -> bool:
    """True if the instruction must stay whether or not its results are read.

    A load with ordering semantics may go when unread, as ptxas drops a dead ``ld.relaxed``; a volatile one stays.
    A result in a physical register belongs to a call and is needed.
    """
    flags = inst.op.flags
    if flags & _KEEP:
        return True
    if flags & F_FENCE and flags & F_WRITE:
        return True
    for d in inst.dst:
        ident = d >> PAYLOAD_SHIFT
        kd = d & KIND_MASK
        if ident < FIRST_VIRTUAL and not (ident == 255 and kd <= 2) and not (ident == 7 and 3 <= kd <= 4):
            return True
    return False


def eliminate_dead(fn: Func) -> bool:
    """Remove dead instructions (cycles of dead phis included); True if any went.

    Atomics whose result is unread become reductions elsewhere; here only their result is kept dead.
    """
    n = len(fn.vkind)
    live = bytearray(n)
    defs: list[Inst | None] = [None] * n
    work: list[Inst] = []
    for b in fn.blocks:
        for inst in b.insts:
            for d in inst.dst:
                ident = d >> PAYLOAD_SHIFT
                if ident >= FIRST_VIRTUAL:
                    defs[ident] = inst
            if needed(inst):
                work.append(inst)
    marked: set[int] = {i.uid for i in work}
    while work:
        inst = work.pop()
        operands = list(inst.src)
        if inst.guard != PT:
            operands.append(inst.guard)
        if inst.old != K_NONE:
            operands.append(inst.old)
        for s in operands:
            if not 0 < (s & KIND_MASK) <= K_B:
                continue
            ident = s >> PAYLOAD_SHIFT
            if ident < FIRST_VIRTUAL or live[ident]:
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
    _drop_unread_results(fn, live)
    return changed


def _drop_unread_results(fn: Func, live: bytearray) -> None:
    """Results nobody reads become RZ or PT where the operation has another reason to stay."""
    for b in fn.blocks:
        for inst in b.insts:
            dst = inst.dst
            for k in range(len(dst)):
                ident = dst[k] >> PAYLOAD_SHIFT
                if ident >= FIRST_VIRTUAL and not live[ident]:
                    kd = dst[k] & KIND_MASK
                    if kd == 1:
                        if inst.op.base in ("ATOM", "ATOMG", "ATOMS"):
                            dst[k] = RZ
                    elif kd == 3:
                        dst[k] = PT
            if inst.op.base in _OPTIONAL_PREDICATES:
                while len(dst) > 1 and dst[-1] == PT:
                    dst.pop()
