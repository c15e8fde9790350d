"""Runs warpgroup operations one at a time: each has its own ARRIVE, its own group and its own wait."""

from orias.analysis.inflight import waits_for
from orias.isa.gmma_forms import ARRIVE, DEPBAR, GROUP, WARPSYNC_ALL, commits
from orias.isa.op import F_WGMMA, F_WGMMA_SYNC
from orias.isa.operand import imm, is_zero_reg
from orias.ori.ir import Func, Inst
from orias.ori.remarks import INJECTED_ARRIVE, INJECTED_WAIT, PIPELINE_REGISTERS


def one_at_a_time(fn: Func) -> None:
    """Serialise the operations of an allocated function, and remove the program's own ARRIVEs and waits.

    Where part of a warp may run, a WARPSYNC comes first.
    """
    for b in fn.blocks:
        out: list[Inst] = []
        parted = b.id in fn.parted or fn.kind != "entry"
        for inst in b.insts:
            if inst.op.flags & F_WGMMA_SYNC or (inst.op.flags & F_WGMMA and is_zero_reg(inst.dst[0])):
                if inst.op is ARRIVE and out and out[-1].op is WARPSYNC_ALL:
                    out.pop()
                continue
            if not inst.op.flags & F_WGMMA:
                parted = parted or fn.calls_outside(inst)
                out.append(inst)
                continue
            if parted:
                out.append(fn.new_inst(WARPSYNC_ALL, [], [], loc=inst.loc))
            out.append(fn.new_inst(ARRIVE, [], [], loc=inst.loc))
            if not commits(inst.src):
                inst.src.append(GROUP)
            out.append(inst)
            out.append(fn.new_inst(DEPBAR, [], [GROUP, imm(0)], loc=inst.loc))
        b.insts = out


def unoptimized_remarks(fn: Func) -> list[tuple[int, int]]:
    """ptxas's remarks at -O0, where results always move: an ARRIVE and a wait for every operation.

    An operation for an empty group moves nothing; it gets a wait only if the program has none.
    """
    operations = [i for i in fn.insts() if i.op.flags & F_WGMMA]
    waits = any(waits_for(i) >= 0 for i in fn.insts())
    out = [(INJECTED_ARRIVE, i.loc) for i in operations]
    out += [(INJECTED_WAIT, i.loc) for i in operations if not (waits and is_zero_reg(i.dst[0]))]
    if any(not is_zero_reg(i.dst[0]) for i in operations):
        out.append((PIPELINE_REGISTERS, 0))
    return out
