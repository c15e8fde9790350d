"""The lowest address of the frame is R1 itself: where registers are few, what reads it reads R1, so that no register holds a copy.

Where a pointer into the frame is needed for a long time (an array at its start that is read at places known at run time), the copy
would be one of few registers.  With more registers than the lowest step of occupancy has it is none: the copy leaves the order freer.
"""

from typing import Final

from orias.isa.operand import K_R, PT, has_lane, imm_signed, in_file, is_vreg, vreg, with_reg
from orias.ori.ir import OP_PACK, OP_PHI, Func
from orias.regalloc.frame import OP_FRAME, R1
from orias.target.register_steps import lowest_step

_STACK_POINTER: Final = vreg(R1)


def read_frame_base(fn: Func) -> None:
    """Let the readers of a frame address at offset zero read R1, in a function in state ``ssa`` that does not move it."""
    if fn.moves_stack or fn.names or fn.max_regs > lowest_step(fn.target):
        return
    copies = {vreg(i.dst[0]) for i in fn.insts() if i.op is OP_FRAME and i.guard == PT and imm_signed(i.src[0]) == 0}
    copies = {v for v in copies if fn.vwidth[v] == 1}
    if not copies:
        return
    kept: set[int] = set()
    for inst in fn.insts():
        plain = inst.op is not OP_PHI and inst.op is not OP_PACK
        for k, o in enumerate(inst.src):
            if is_vreg(o) and in_file(o, K_R) and vreg(o) in copies:
                if plain and not has_lane(o):
                    inst.src[k] = with_reg(o, _STACK_POINTER)
                else:
                    kept.add(vreg(o))
        if is_vreg(inst.old):
            kept.add(vreg(inst.old))
    for b in fn.blocks:
        b.insts = [i for i in b.insts if not (i.op is OP_FRAME and vreg(i.dst[0]) in copies - kept)]
