"""Warpgroup operations one at a time: each arrives, is a group of its own and is waited for."""

from orias.analysis.inflight import waits_for
from orias.isa.operand import imm, is_zero_reg
from orias.isa.warpgroup import ARRIVE, DEPBAR, GMMA, GROUP, WARPSYNC_ALL, commits
from orias.ori.ir import Func, Inst
from orias.ori.remarks import INJECTED_ARRIVE, INJECTED_WAIT, PIPELINE_REGISTERS


def one_at_a_time(fn: Func) -> None:
    """Bring the operations of an allocated function into that form; what orders them in the program goes.

    Where part of a warp may run, it comes together first.
    """
    for b in fn.blocks:
        out: list[Inst] = []
        parted = b.id in fn.parted or fn.kind != "entry"
        for inst in b.insts:
            if inst.op.base == "WARPGROUP" or (inst.op.base in GMMA and is_zero_reg(inst.dst[0])):
                if inst.op is ARRIVE and out and out[-1].op is WARPSYNC_ALL:
                    out.pop()
                continue
            if inst.op.base not in GMMA:
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
    """What ptxas says at -O0, where results always move on: an ARRIVE for every operation, and a wait.

    An operation that stands for an empty group moves nothing; it is waited for if the program does not.
    """
    operations = [i for i in fn.insts() if i.op.base in GMMA]
    waits = any(waits_for(i) >= 0 for i in fn.insts())
    out = [(INJECTED_ARRIVE, i.loc) for i in operations]
    out += [(INJECTED_WAIT, i.loc) for i in operations if not (waits and is_zero_reg(i.dst[0]))]
    if any(not is_zero_reg(i.dst[0]) for i in operations):
        out.append((PIPELINE_REGISTERS, 0))
    return out
