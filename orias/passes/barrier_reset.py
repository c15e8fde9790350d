"""ApplyPostRegAllocWars: sm_87 kernels clear their convergence barriers once.

ptxas 13.0.88 puts the same twenty instructions in front of every sm_87 kernel, at every level: unless UR2 says that it was
done, B0 is set to all ones and copied through B1..B15, B15 is cleared, and UR2 set (regalloc inventory, section 3.3).
"""

from typing import Final

from orias.isa.op import op
from orias.isa.operand import K_B, K_P, K_UR, PAYLOAD_SHIFT, PT, RZ, Opnd, imm, reg
from orias.ori.ir import OP_BRA, Func

_AFFECTED: Final = "sm_87"
_BARRIERS: Final = 16
_UR2: Final = K_UR | 2 << PAYLOAD_SHIFT
_P0: Final = K_P


def reset_barriers(fn: Func) -> None:
    """Put the sequence in front of a kernel of an affected target (after allocation: UR2 is never handed out)."""
    if fn.target.name != _AFFECTED or fn.kind != "entry":
        return
    entry = fn.blocks[0]
    test, reset = fn.new_block(), fn.new_block()
    test.insts = [
        fn.new_inst(op("ISETP.NE.U32.AND"), [_P0, PT], [RZ, _UR2, PT]),
        fn.new_inst(OP_BRA, [], [], _P0),
    ]
    move, clear = op("BMOV.32"), op("BMOV.32.CLEAR")
    reset.insts = [fn.new_inst(move, [_barrier(0)], [imm(-1)])]
    reset.insts += [fn.new_inst(clear, [_barrier(n)], [_barrier(n - 1)]) for n in range(1, _BARRIERS)]
    reset.insts += [
        fn.new_inst(move, [_barrier(_BARRIERS - 1)], [imm(0)]),
        fn.new_inst(op("UMOV"), [_UR2], [imm(1)]),
    ]
    fn.link(test, reset)
    fn.link(test, entry)
    fn.link(reset, entry)
    fn.blocks[:0] = [test, reset]


def _barrier(n: int) -> Opnd:
    return reg(K_B, n)
