"""A register for the address of spilled words, where the stack pointer is not it.

That is so where words go to shared memory (:mod:`orias.regalloc.shared_spills`) and in functions whose stack pointer moves
(``alloca``).  Such a function, if it spills, is allocated once more with that register kept free (``Func.spill_base``).
"""

from orias.isa.operand import K_R, r
from orias.isa.roles import MOVE
from orias.ori.ir import Func
from orias.regalloc.allocate import lost_in_calls
from orias.regalloc.files import usable
from orias.regalloc.frame import R1
from orias.regalloc.shared_spills import base_code, move_to_shared
from orias.regalloc.spill import SpillState


def wants_base(fn: Func) -> bool:
    """Whether spill code of a function needs the register."""
    return fn.moves_stack or fn.shared_spills is not None


def reserve_base(fn: Func) -> bool:
    """Keep a register free that no callee changes, and set it at the entry of a function in state ``virtual``; False if there is none."""
    free = usable(fn, K_R) & ~lost_in_calls(fn, K_R)
    if not free:
        return False
    fn.spill_base = (free & -free).bit_length() - 1
    base = r(fn.spill_base)
    spills = fn.shared_spills
    if fn.moves_stack or spills is None:
        code = [fn.new_inst(MOVE, [base], [R1])]
    else:
        code = base_code(fn, spills, base)
    fn.blocks[0].insts[:0] = code
    return True


def use_base(fn: Func, state: SpillState) -> None:
    """Let the spill code of an allocated function use the register."""
    if not fn.moves_stack:
        move_to_shared(fn, state)
        return
    for inst in fn.insts():
        if inst.uid in state.uids:
            inst.src[1] = r(fn.spill_base)
