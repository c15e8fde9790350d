"""The register files: which registers may be allocated, and which ones the calling convention preserves.

Source: ``docs/facts/register-allocation.md``, "Register files" and "Calling convention".
"""

from typing import Final

from orias.isa.operand import K_B, K_P, K_R, K_UP, K_UR, reg
from orias.ori.ir import Func
from orias.target import abi
from orias.target.register_steps import SYSTEM_REGISTERS

FILES: Final[tuple[int, ...]] = (K_R, K_UR, K_P, K_UP, K_B)
HIGHEST_R: Final = 252
"""Highest R register that ptxas was observed to use."""
_LAST_UR_ACROSS_CALLS: Final = 60
QUAD_PREDICATE: Final = reg(K_P, 6)
"""Reserved, with ``Func.quad_registers``, for texture gradients by quads."""


def usable(fn: Func, file: int) -> int:
    """Mask of the registers of a file that may be allocated in this function."""
    if file == K_R:
        top = min(HIGHEST_R, fn.max_regs - SYSTEM_REGISTERS - 1)
        reserved = 2 | fn.quad_registers | (1 << fn.spill_base if fn.spill_base >= 0 else 0)
        return ((1 << (top + 1)) - 1) & ~reserved
    if file == K_UR:
        # A function would have to save UR36 and up: it uses only the scratch registers.
        top = fn.target.number("last_uniform") if fn.kind == "entry" else abi.LAST_SCRATCH_UR
        if any(info.kind != "helper" for info in fn.calls.values()):
            # Whether functions preserve those that sm_100 has added has not been seen.
            top = min(top, _LAST_UR_ACROSS_CALLS)
        return ((1 << (top + 1)) - 1) & ~15
    if file in (K_P, K_UP):
        return 0x3F if file == K_P and fn.samples_quads else 0x7F
    return 0xFFF


def kept(fn: Func, file: int) -> int:
    """Mask of the registers that the function must preserve for its caller."""
    if fn.kind != "func":
        return 0
    if file == K_R:
        return 0 if fn.private else abi.KEPT_R
    if file == K_B:
        return abi.KEPT_B
    return 0
