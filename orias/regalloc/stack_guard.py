"""Guards of stack frames (``-device-stack-protector``): a constant of the driver lies above the local variables, and the function traps if it has changed at RET.

Source: ``docs/facts/register-allocation.md``, "Guards of frames".
"""

from typing import Final

from orias.isa.op import F_RETURNS
from orias.isa.operand import INV, K_NONE, K_P, K_R, PT, RZ, URZ, Opnd, const, imm, r, with_word_lane, word
from orias.isa.roles import EQUAL_UNSIGNED, LOAD_CONSTANT, LOAD_LOCAL, MOVED_WORD, STORE_LOCAL, TRAP
from orias.ori.ir import Func, Inst

_BYTES: Final = 8
_WORD: Final = 4
_R1: Final[Opnd] = r(1)


def guard_frame(fn: Func) -> None:
    """Add the guard to a function that asks for one, before its registers are allocated; none if its local variables are in registers."""
    if not fn.guards_frame or not (fn.frame_fixed or fn.moves_stack):
        return
    fn.guards_frame = False  # it has one now
    at = fn.frame_fixed
    fn.frame_fixed += _BYTES
    for b in fn.blocks:
        k = next((k for k, i in enumerate(b.insts) if i.op.flags & F_RETURNS), None)
        if k is not None:
            b.insts[k:k] = _check(fn, at, b.insts[k].loc)
    head: list[Inst] = []
    for n, value in enumerate(_constant(fn, head)):
        head.append(fn.new_inst(STORE_LOCAL[1], [], [K_NONE, _R1, URZ, imm(at + _WORD * n), value]))
    fn.blocks[0].insts[:0] = head


def _constant(fn: Func, out: list[Inst], loc: int = 0) -> list[Opnd]:
    """Load both words of the driver's constant."""
    place = fn.target.word_base("stack_guard")
    if not fn.target.moves_with_cluster("stack_guard"):
        both = fn.new_vreg(K_R, 2)
        out.append(fn.new_inst(LOAD_CONSTANT[2], [both], [const(0, place), RZ], loc=loc))
        return [with_word_lane(both, n) for n in range(2)]
    words = [fn.new_vreg(K_R), fn.new_vreg(K_R)]
    step = imm(-fn.target.number("cluster_step"))
    for n, value in enumerate(words):
        out.append(fn.new_inst(MOVED_WORD, [value], [word("SR_CgaSize"), step, const(0, place + _WORD * n)], loc=loc))
    return words


def _check(fn: Func, at: int, loc: int) -> list[Inst]:
    """Trap unless the guard at this byte of the frame is intact."""
    out: list[Inst] = []
    intact = PT
    for n, expected in enumerate(_constant(fn, out, loc)):
        found, same = fn.new_vreg(K_R), fn.new_vreg(K_P)
        out.append(fn.new_inst(LOAD_LOCAL[1], [found], [K_NONE, _R1, URZ, imm(at + _WORD * n)], loc=loc))
        out.append(fn.new_inst(EQUAL_UNSIGNED, [same, PT], [found, expected, intact], loc=loc))
        intact = same
    trap = fn.new_inst(TRAP, [], [imm(1)], intact | INV, loc=loc)
    fn.guard_traps.add(trap.uid)
    return [*out, trap]
