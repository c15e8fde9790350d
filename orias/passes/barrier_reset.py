"""ApplyPostRegAllocWars: sm_87 kernels clear their convergence barriers once.

ptxas 13.0.88 puts the same twenty instructions before every sm_87 kernel, at every level: unless UR2 says that it was
done, B0 is set to all ones and copied through B1..B15, B15 is cleared, and UR2 set (``docs/facts/targets.md``).
"""

from typing import Final

from orias.isa.op import op
from orias.isa.operand import K_B, K_P, PT, RZ, Opnd, imm, reg, ur
from orias.ori.ir import OP_BRA, Func
from orias.target import features

_BARRIERS: Final = 16
_UR2: Final = ur(2)
_P0: Final = K_P


def reset_barriers(fn: Func) -> None:
    """Put the sequence before a kernel of an affected target (after allocation: UR2 is never handed out)."""
    if not fn.target.has(features.RESETS_BARRIERS) or fn.kind != "entry":
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
