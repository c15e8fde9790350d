"""``call`` becomes return-address moves and CALL, before registers are chosen.

Sequences as ptxas 13.0.88 emits them (register-allocation inventory, section 3.1; sm_75, 80 and 90 looked at):
relative calls inside a section give the return address as a section offset with high word zero; absolute calls
(system calls, everything where functions have sections of their own) need the true address, from relocations, from ``LEPC R20, target`` on
sm_90, from LEPC and arithmetic before.
"""

from typing import Final

from orias.diag import Unsupported
from orias.isa.op import Op, op
from orias.isa.operand import FIRST_VIRTUAL, INV, K_P, K_R, KIND_MASK, NEG, PAYLOAD_SHIFT, PT, Opnd, r
from orias.ori.ir import OP_COPY, Block, CallInfo, Func, Inst

OP_CALL: Final[Op] = op("call")
OP_CALL_REL: Final[Op] = op("CALL.REL.NOINC")
OP_CALL_ABS: Final[Op] = op("CALL.ABS.NOINC")
OP_LEPC: Final[Op] = op("LEPC")
OP_IADD3: Final[Op] = op("IADD3")
OP_IADD3_X: Final[Op] = op("IADD3.X")
_ABI_RETURN: Final = 20
_HELPER_RETURN: Final = 2


def expand_calls(fn: Func, apart: bool) -> None:
    """Replace every ``call`` pseudo operation of a function in state ``virtual``."""
    for b in fn.blocks:
        if any(i.op is OP_CALL for i in b.insts):
            _expand_block(fn, b, apart)


def _expand_block(fn: Func, b: Block, apart: bool) -> None:
    out: list[Inst] = []
    for inst in b.insts:
        if inst.op is OP_CALL:
            if inst.guard != PT:
                raise Unsupported("guarded call", inst.loc)
            info = fn.calls.get(inst.uid)
            if info is None:
                raise Unsupported("call without facts about the callee", inst.loc)
            _expand_call(fn, inst, info, apart, out)
        out.append(inst)
    b.insts = out


def _expand_call(fn: Func, inst: Inst, info: CallInfo, apart: bool, out: list[Inst]) -> None:
    helper = info.kind == "helper"
    ra = _HELPER_RETURN if helper else _ABI_RETURN
    # The return address moves destroy their registers before the callee does.
    info.clobber_r |= 3 << ra
    absolute = info.kind == "syscall" or (apart and not helper)
    if info.target is not None and info.kind != "syscall":
        target = fn.sym(info.target, "func")
        implicit = list(inst.src)
    else:
        target = inst.src[-1]
        implicit = inst.src[:-1]
        if target & KIND_MASK != K_R or target >> PAYLOAD_SHIFT < FIRST_VIRTUAL:
            raise Unsupported("call of an address that is not in a register pair", inst.loc)
    if absolute and not apart:
        _absolute_return(fn, inst.loc, out)
    else:
        _copy(fn, r(ra), fn.sym("", "ret_lo"), inst.loc, out)
        _copy(fn, r(ra + 1), fn.sym("", "ret_hi"), inst.loc, out)
    inst.op = OP_CALL_ABS if absolute else OP_CALL_REL
    inst.src = [target, *implicit, r(ra), r(ra + 1)]


def _copy(fn: Func, d: Opnd, s: Opnd, loc: int, out: list[Inst]) -> None:
    out.append(fn.new_inst(OP_COPY, [d], [s], loc=loc))


def _absolute_return(fn: Func, loc: int, out: list[Inst]) -> None:
    """R20:R21 = address of the instruction behind the call."""
    if fn.target.sm >= 90:
        pair = fn.new_vreg(K_R, 2)
        out.append(fn.new_inst(OP_LEPC, [pair], [fn.sym("", "ret_rel")], loc=loc))
        _copy(fn, r(_ABI_RETURN), pair | 1 << 11, loc, out)
        _copy(fn, r(_ABI_RETURN + 1), pair | 2 << 11, loc, out)
        return
    pc = fn.new_vreg(K_R, 2)
    out.append(fn.new_inst(OP_LEPC, [pc], [], loc=loc))
    words: list[Opnd] = []
    for name in ("ret_lo", "pc_lo", "pc_hi", "ret_hi"):
        w = fn.new_vreg(K_R)
        _copy(fn, w, fn.sym("", name), loc, out)
        words.append(w)
    ret_lo, pc_lo, pc_hi, ret_hi = words
    c0 = fn.new_vreg(K_P)
    c1 = fn.new_vreg(K_P)
    # pc - offset of LEPC + offset of the return point, with the two carries of a three-operand sum.
    out.append(fn.new_inst(OP_IADD3, [r(_ABI_RETURN), c0, c1], [pc_lo | NEG, ret_lo, pc | 1 << 11], loc=loc))
    out.append(fn.new_inst(OP_IADD3_X, [r(_ABI_RETURN + 1)], [pc_hi | INV, ret_hi, pc | 2 << 11, c0, c1], loc=loc))
