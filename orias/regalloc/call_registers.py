"""Expands ``call`` into moves of the return address and CALL, before registers are allocated.

Sequences as ptxas 13.0.88 emits them (``docs/facts/register-allocation.md``, "Call sequences"):
Relative calls inside a section pass the return address as a section offset with a high word of zero.  Absolute calls
(system calls, and all calls where functions have sections of their own) need the real address: from relocations, from
``LEPC R20, target`` on sm_90, from LEPC and arithmetic before.
"""

from typing import Final

from orias.diag import Unsupported
from orias.isa.op import Op, op
from orias.isa.operand import INV, K_P, K_R, NEG, PT, Opnd, in_file, is_vreg, r, with_word_lane
from orias.isa.roles import ADD, ADD_WITH_CARRY, CALL_ABSOLUTE, CALL_RELATIVE, NEXT_ADDRESS
from orias.ori.ir import OP_COPY, Block, CallInfo, Func, Inst
from orias.target import abi, features

OP_CALL: Final[Op] = op("call")


def expand_calls(fn: Func, own_sections: bool) -> None:
    """Replace every ``call`` pseudo operation of a function in state ``virtual``."""
    for b in fn.blocks:
        if any(i.op is OP_CALL for i in b.insts):
            _expand_block(fn, b, own_sections)


def _expand_block(fn: Func, b: Block, own_sections: bool) -> None:
    out: list[Inst] = []
    for inst in b.insts:
        if inst.op is OP_CALL:
            if inst.guard != PT:
                raise Unsupported("guarded call", inst.loc)
            info = fn.calls.get(inst.uid)
            if info is None:
                raise Unsupported("call without facts about the callee", inst.loc)
            _expand_call(fn, inst, info, own_sections, out)
        out.append(inst)
    b.insts = out


def _expand_call(fn: Func, inst: Inst, info: CallInfo, own_sections: bool, out: list[Inst]) -> None:
    helper = info.kind == "helper" and not info.apart
    ra = abi.HELPER_RETURN_ADDRESS if helper else abi.RETURN_ADDRESS
    # The moves of the return address overwrite their registers before the callee does.
    info.clobber_r |= 3 << ra
    # A linker gives the address of a function that the module does not define.
    linked = own_sections or info.kind == "extern"
    absolute = info.kind == "syscall" or (linked and not helper)
    if info.target is not None and info.kind != "syscall":
        target = fn.sym(info.target, "func")
        implicit = list(inst.src)
    else:
        target = inst.src[-1]
        implicit = inst.src[:-1]
        if not in_file(target, K_R) or not is_vreg(target):
            given = target  # a constant: the null address of code that is not reached
            target = fn.new_vreg(K_R, 2)
            _copy(fn, target, given, inst.loc, out)
    if absolute and not linked:
        _absolute_return(fn, inst.loc, out)
    else:
        _copy(fn, r(ra), fn.sym("", "ret_lo"), inst.loc, out)
        _copy(fn, r(ra + 1), fn.sym("", "ret_hi"), inst.loc, out)
    inst.op = CALL_ABSOLUTE if absolute else CALL_RELATIVE
    inst.src = [target, *implicit, r(ra), r(ra + 1)]


def _copy(fn: Func, d: Opnd, s: Opnd, loc: int, out: list[Inst]) -> None:
    out.append(fn.new_inst(OP_COPY, [d], [s], loc=loc))


def _absolute_return(fn: Func, loc: int, out: list[Inst]) -> None:
    """R20:R21 = address of the instruction after the call."""
    if fn.target.has(features.CALL_TARGET_ADDRESS):
        pair = fn.new_vreg(K_R, 2)
        out.append(fn.new_inst(NEXT_ADDRESS, [pair], [fn.sym("", "ret_rel")], loc=loc))
        _copy(fn, r(abi.RETURN_ADDRESS), with_word_lane(pair, 0), loc, out)
        _copy(fn, r(abi.RETURN_ADDRESS + 1), with_word_lane(pair, 1), loc, out)
        return
    pc = fn.new_vreg(K_R, 2)
    out.append(fn.new_inst(NEXT_ADDRESS, [pc], [], loc=loc))
    words: list[Opnd] = []
    for name in ("ret_lo", "pc_lo", "pc_hi", "ret_hi"):
        w = fn.new_vreg(K_R)
        _copy(fn, w, fn.sym("", name), loc, out)
        words.append(w)
    ret_lo, pc_lo, pc_hi, ret_hi = words
    c0 = fn.new_vreg(K_P)
    c1 = fn.new_vreg(K_P)
    # pc - offset of LEPC + offset of the return point, with the two carries of a three-operand sum.
    out.append(fn.new_inst(ADD, [r(abi.RETURN_ADDRESS), c0, c1], [pc_lo | NEG, ret_lo, with_word_lane(pc, 0)], loc=loc))
    out.append(
        fn.new_inst(
            ADD_WITH_CARRY, [r(abi.RETURN_ADDRESS + 1)], [pc_hi | INV, ret_hi, with_word_lane(pc, 1), c0, c1], loc=loc
        )
    )
