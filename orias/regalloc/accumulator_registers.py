"""Register allocation of warpgroup matrix operations.

Accumulators are lists of one-word registers in D and C.  D and C must be the same registers, and adjacent ones.  A
parallel copy before the operation ties C to D; coalescing removes the copy where it can.
"""

from orias.isa.gmma_forms import ARRIVE, a_in_registers, c_count, c_start, is_list
from orias.isa.op import F_WGMMA
from orias.isa.operand import K_R, Opnd, in_file, is_vreg, vreg
from orias.ori.ir import OP_PACK, OP_UNDEF, Func, Inst
from orias.regalloc.ssa_out import OP_PCOPY


def tie_accumulators(fn: Func) -> None:
    """Make C of every operation the registers of D, after a copy of the old values to D (function in state ``virtual``).

    These copies, and the packs that join the parts of A, move before the preceding WARPGROUP.ARRIVE if their sources
    are defined there.  Moves that remain of them then need no ARRIVE of their own.
    """
    for b in fn.blocks:
        if any(i.op.flags & F_WGMMA for i in b.insts):
            b.insts = _tie_block(fn, b.insts)


def _tie_block(fn: Func, insts: list[Inst]) -> list[Inst]:
    out: list[Inst] = []
    arrive = -1
    """Index of the last ARRIVE in `out`."""
    since: set[int] = set()
    """Registers written after the last ARRIVE."""
    for inst in insts:
        if inst.op.flags & F_WGMMA and is_list(inst.dst):
            count = c_count(inst.dst, inst.src)
            if count > 1:
                at = c_start(inst.src)
                copy = fn.new_inst(OP_PCOPY, list(inst.dst), inst.src[at : at + count], loc=inst.loc)
                arrive = _place(out, copy, arrive, since)
                inst.src[at : at + count] = inst.dst
            elif arrive >= 0:
                # From the ARRIVE on, D belongs to the operation: no later computation may use D's registers.
                held = [fn.new_vreg(K_R) for _ in inst.dst]
                out[arrive:arrive] = [fn.new_inst(OP_UNDEF, [u], [], loc=inst.loc) for u in held]
                arrive += len(held)
                out.append(fn.new_inst(OP_PCOPY, list(inst.dst), list(held), loc=inst.loc))
            if a_in_registers(inst.src):
                k = _pack_of(out, inst.src[0], arrive)
                if k >= 0 and not _needs(out[k], since - {vreg(inst.src[0])}):
                    pack = out.pop(k)
                    out.insert(arrive, pack)
                    arrive += 1
        out.append(inst)
        if inst.op is ARRIVE:
            arrive = len(out) - 1
            since = set()
        else:
            since.update(vreg(d) for d in inst.dst)
    return out


def _needs(inst: Inst, written: set[int]) -> bool:
    return any(vreg(s) in written for s in inst.src if in_file(s, K_R))


def _place(out: list[Inst], copy: Inst, arrive: int, since: set[int]) -> int:
    """Insert a copy before the ARRIVE if its sources are defined there, else at the end; returns the index of the ARRIVE."""
    if arrive < 0 or _needs(copy, since):
        out.append(copy)
        return arrive
    out.insert(arrive, copy)
    return arrive + 1


def _pack_of(out: list[Inst], a: Opnd, arrive: int) -> int:
    """Index of the pack that defines A if it is after the ARRIVE, else -1."""
    if arrive < 0:
        return -1
    for k in range(len(out) - 1, arrive, -1):
        if out[k].op is OP_PACK and vreg(out[k].dst[0]) == vreg(a):
            return k
    return -1


def neighbours(inst: Inst) -> list[tuple[Opnd, int]]:
    """The results of an operation after the first, with their word offsets in its vector."""
    if inst.op.flags & F_WGMMA and is_list(inst.dst):
        return [(d, k) for k, d in enumerate(inst.dst) if k]
    return []


def vectors(inst: Inst) -> list[Opnd]:
    """The virtual R registers that an operation names: the first of D, A and the metadata."""
    if not inst.op.flags & F_WGMMA:
        return []
    others = [s for s in inst.src if s not in inst.dst]
    return [o for o in [inst.dst[0], *others] if in_file(o, K_R) and is_vreg(o)]


def first_results(fn: Func) -> set[Opnd]:
    """The first registers of the accumulators; a parallel copy into one ties it."""
    return {i.dst[0] for b in fn.blocks for i in b.insts if i.op.flags & F_WGMMA and is_list(i.dst)}
