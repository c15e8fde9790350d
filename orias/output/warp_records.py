"""The cubin's records of a kernel's warp operations and of loads whose bytes are not all used.

COOP_GROUP_INSTR_OFFSETS names the instructions of PTX ``.sync`` operations and COOP_GROUP_MASK_REGIDS the R register of
each one's member mask (-1: a constant, or none that is known).  Where the members of a mask in a register are collected by a
WARPSYNC of their own, that is the instruction, for it still has the mask.  INT_WARP_WIDE_INSTR_OFFSETS names what the compiler
added.  Measured with ptxas 13.0.88, which has no record of activemask nor of the WARPSYNC that it puts before other operations.
"""

from typing import Final

from orias.cubin.model import KernelCode
from orias.isa.op import F_COOPERATIVE, F_READ, F_WARP_WIDE
from orias.isa.operand import K_R, kind_of, payload
from orias.lower.frame.program import Kernel
from orias.ori.ir import OP_NOP, Inst
from orias.ptx.ast import Function, Instr, Pragma

_BYTES: Final = 16
_GATHER: Final = "bar.warp.sync"
_LEAVE_NOP: Final = frozenset((_GATHER, "bar.warp", "barrier.cluster"))
"""Operations whose NOP stands for a barrier of the warp: the warp is together there anyway, or the launch has no clusters."""
_COMBINED: Final = frozenset(("atom", "red"))
"""Operations that the threads of a warp combine first (orias.passes.uniform_atomics)."""
_UNNAMED: Final = "activemask"
_ONCE_WITHOUT: Final = frozenset(("shfl", "vote"))
"""Operations that had a form without ``.sync``, which has no record."""
_USED_BYTES: Final = "used_bytes_mask"


def describe_warp_operations(code: KernelCode, kernel: Kernel, functions: list[Function]) -> None:
    """Fill in the records; `functions`: the PTX functions that the kernel's code comes from."""
    names, masks = _lines(functions)
    gathered = 0
    loads: dict[int, list[int]] = {}
    at = 0
    for fn in kernel.all_functions():
        for b in fn.blocks:
            for inst in b.insts:
                if inst.op.flags & F_COOPERATIVE or inst.op is OP_NOP:
                    gathered = _note(code, inst, at, names.get(inst.loc, set()), gathered)
                elif inst.op.flags & F_READ and inst.loc in masks:
                    loads.setdefault(inst.loc, []).append(at)
                at += _BYTES
    # A load that became several has no record: the mask is that of the whole.
    found = [(places[0], masks[line]) for line, places in loads.items() if len(places) == 1]
    code.unused_load_bytes = sorted(found)


def _note(code: KernelCode, inst: Inst, at: int, names: set[str], gathered: int) -> int:
    """Records a cooperative instruction; `names`: the operations of its PTX line.  Returns the line whose members are collected, or 0."""
    if inst.op.base == "WARPSYNC":
        register = inst.src[0] if inst.src else 0
        if kind_of(register) == K_R:
            code.coop_offsets.append(at)
            code.coop_mask_regs.append(payload(register))
            return inst.loc
        if _GATHER in names:
            code.coop_offsets.append(at)
            code.coop_mask_regs.append(-1)
        return 0
    if inst.op is OP_NOP:
        if names & _LEAVE_NOP:
            code.coop_offsets.append(at)
            code.coop_mask_regs.append(-1)
        return gathered
    if (inst.loc == 0 and inst.op.flags & F_WARP_WIDE) or names & _COMBINED:
        code.int_warp_wide.append(at)
    elif inst.loc != gathered and _UNNAMED not in names:
        code.coop_offsets.append(at)
        code.coop_mask_regs.append(-1)
    return 0


def _lines(functions: list[Function]) -> tuple[dict[int, set[str]], dict[int, int]]:
    """PTX line -> names of its operations; line of a load -> the mask of its pragma."""
    names: dict[int, set[str]] = {}
    masks: dict[int, int] = {}
    for f in functions:
        mask = 0
        for s in f.body or ():
            if isinstance(s, Pragma) and s.text.startswith(_USED_BYTES):
                mask = _number(s.text[len(_USED_BYTES) :])
            elif isinstance(s, Instr):
                plain = s.sig.name in _ONCE_WITHOUT and ".sync" not in s.sig.text
                names.setdefault(s.line, set()).add(_UNNAMED if plain else s.sig.name)
                if mask and s.sig.name == "ld":
                    masks[s.line] = mask
                mask = 0
    return names, masks


def _number(text: str) -> int:
    try:
        return int(text.strip(" \"'"), 0)
    except ValueError:
        return 0
