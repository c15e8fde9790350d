"""Register allocation of warpgroup matrix operations.

Accumulators are lists of one-word registers in D and C.  D and C are the same registers (tied by a parallel copy in front that
coalescing should make vanish), and they are neighbours.
"""

from orias.isa.operand import K_R, KIND_MASK, PAYLOAD_SHIFT, Opnd, is_virtual
from orias.isa.warpgroup import ARRIVE, GMMA, a_in_registers, c_count, c_start, is_list
from orias.ori.ir import OP_PACK, Func, Inst
from orias.regalloc.ssa_out import OP_PCOPY, OP_UNDEF


def tie_accumulators(fn: Func) -> None:
    """Make every operation read and write the same registers; the old values are copied there first (state ``virtual``).

    What prepares registers of an operation, these copies and the joining of A's parts, goes in front of the WARPGROUP.ARRIVE
    before it wherever the values are there already, so that moves that remain need no ARRIVE of their own.
    """
    for b in fn.blocks:
        if any(i.op.base in GMMA for i in b.insts):
            b.insts = _tie_block(fn, b.insts)


def _tie_block(fn: Func, insts: list[Inst]) -> list[Inst]:
    out: list[Inst] = []
    arrive = -1
    """Place of the last ARRIVE in `out`."""
    since: set[int] = set()
    """Registers written behind it."""
    for inst in insts:
        if inst.op.base in GMMA and is_list(inst.dst):
            count = c_count(inst.dst, inst.src)
            if count > 1:
                at = c_start(inst.src)
                copy = fn.new_inst(OP_PCOPY, list(inst.dst), inst.src[at : at + count], loc=inst.loc)
                arrive = _place(out, copy, arrive, since)
                inst.src[at : at + count] = inst.dst
            elif arrive >= 0:
                # D belongs to the operation from the ARRIVE on: nothing that is computed behind it may pass through D's registers.
                held = [fn.new_vreg(K_R) for _ in inst.dst]
                out[arrive:arrive] = [fn.new_inst(OP_UNDEF, [u], [], loc=inst.loc) for u in held]
                arrive += len(held)
                out.append(fn.new_inst(OP_PCOPY, list(inst.dst), list(held), loc=inst.loc))
            if a_in_registers(inst.src):
                k = _pack_of(out, inst.src[0], arrive)
                if k >= 0 and not _needs(out[k], since - {inst.src[0] >> PAYLOAD_SHIFT}):
                    pack = out.pop(k)
                    out.insert(arrive, pack)
                    arrive += 1
        out.append(inst)
        if inst.op is ARRIVE:
            arrive = len(out) - 1
            since = set()
        else:
            since.update(d >> PAYLOAD_SHIFT for d in inst.dst)
    return out


def _needs(inst: Inst, written: set[int]) -> bool:
    return any(s >> PAYLOAD_SHIFT in written for s in inst.src if s & KIND_MASK == K_R)


def _place(out: list[Inst], copy: Inst, arrive: int, since: set[int]) -> int:
    """Put a copy in front of the ARRIVE if its sources are there, else at the end; the place of the ARRIVE."""
    if arrive < 0 or _needs(copy, since):
        out.append(copy)
        return arrive
    out.insert(arrive, copy)
    return arrive + 1


def _pack_of(out: list[Inst], a: Opnd, arrive: int) -> int:
    """Place of the pack that makes A, if it stands behind the ARRIVE; -1 otherwise."""
    if arrive < 0:
        return -1
    for k in range(len(out) - 1, arrive, -1):
        if out[k].op is OP_PACK and out[k].dst[0] >> PAYLOAD_SHIFT == a >> PAYLOAD_SHIFT:
            return k
    return -1


def neighbours(inst: Inst) -> list[tuple[Opnd, int]]:
    """The results of an operation behind the first, with their places in its vector."""
    if inst.op.base in GMMA and is_list(inst.dst):
        return [(d, k) for k, d in enumerate(inst.dst) if k]
    return []


def vectors(inst: Inst) -> list[Opnd]:
    """The virtual R registers that an operation names: the first of D, A and the metadata."""
    if inst.op.base not in GMMA:
        return []
    others = [s for s in inst.src if s not in inst.dst]
    return [o for o in [inst.dst[0], *others] if o & KIND_MASK == K_R and is_virtual(o)]


def first_results(fn: Func) -> set[Opnd]:
    """The first registers of the accumulators; a parallel copy into one ties it."""
    return {i.dst[0] for b in fn.blocks for i in b.insts if i.op.base in GMMA and is_list(i.dst)}
