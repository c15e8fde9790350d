"""Instructions that options add to the code: waits for faults at the end, pauses before accesses.

Both are those of ptxas 13.0.88 (``-make-errors-visible-at-exit``, ``-sanitize threadsteer``) on sm_75 to sm_120, but that
it pauses whole warps on sm_75 (``NANOSLEEP.RAND.WARP``).
"""

from typing import Final

from orias.isa.op import F_ATOMIC, op
from orias.isa.operand import imm
from orias.ori.ir import OP_EXIT, Func, Inst
from orias.target import features

_ERRBAR: Final = op("ERRBAR")
_CGAERRBAR: Final = op("CGAERRBAR")
_SLEEP: Final = op("NANOSLEEP.RAND")
_PAUSE: Final = 1000
"""Longest pause, in nanoseconds."""
_STORES: Final = frozenset(("ST", "STG", "STS", "RED", "REDG"))


def show_errors_at_exit(fn: Func) -> None:
    """Wait before each EXIT until faults of the thread's accesses are reported."""
    waits = [_ERRBAR, _CGAERRBAR] if fn.target.has(features.CLUSTERS) else [_ERRBAR]
    for b in fn.blocks:
        out: list[Inst] = []
        for inst in b.insts:
            if inst.op is OP_EXIT:
                out += [fn.new_inst(o, [], [], inst.guard, loc=inst.loc) for o in waits]
            out.append(inst)
        b.insts = out


def steer_threads(fn: Func) -> None:
    """Pause for a random time before each store and atomic operation of memory that other threads see."""
    for b in fn.blocks:
        out: list[Inst] = []
        for inst in b.insts:
            if inst.op.base in _STORES or inst.op.flags & F_ATOMIC:
                out.append(fn.new_inst(_SLEEP, [], [imm(_PAUSE)], inst.guard, loc=inst.loc))
            out.append(inst)
        b.insts = out
