"""Operations that need many registers at once, whatever is spilled around them: warpgroup products and accesses to tensor memory."""

from typing import Final

from orias.diag import CompileError, Diagnostic
from orias.isa.gmma_forms import A_WORDS, FIRST_REGISTER, a_in_registers, accumulator_words
from orias.isa.op import F_WGMMA, TENSOR
from orias.isa.operand import K_R, is_zero_reg, kind_of
from orias.ori.ir import Func, Inst
from orias.target.register_steps import SYSTEM_REGISTERS

_FIRST_OF_TENSOR_MEMORY: Final = 16
"""As ``FIRST_REGISTER``, for these: ptxas 13.0.88 asks for 26 registers for 8 values, for 146 for 128 (message C7602)."""


def fewest_registers(fn: Func) -> int:
    """Registers with which every operation of a function can be done by itself; 0 without operations of these kinds."""
    return max((_needs(fn, inst) for inst in fn.insts()), default=0)


def _needs(fn: Func, inst: Inst) -> int:
    if inst.op.flags & F_WGMMA and not is_zero_reg(inst.dst[0]):
        sources = A_WORDS if a_in_registers(inst.src) else 0
        return FIRST_REGISTER + accumulator_words(inst.op) + sources + SYSTEM_REGISTERS
    if inst.op.space & TENSOR:
        values = (fn.width(o) for o in [*inst.dst, *inst.src] if kind_of(o) == K_R)
        return _FIRST_OF_TENSOR_MEMORY + max(values, default=0) + SYSTEM_REGISTERS
    return 0


def check_operations(fn: Func) -> None:
    """Raise ptxas's CompileError (C7602) if a single operation of these kinds needs more registers than the limit."""
    for inst in fn.insts():
        need = _needs(fn, inst)
        if need > fn.max_regs:
            text = f"(C7602) Insufficient registers ({fn.max_regs}) to compile instruction at line {inst.loc} in function {fn.name}."
            raise CompileError(
                [Diagnostic("fatal", f"{text} Try to compile with register target of {need} or higher.")]
            )
