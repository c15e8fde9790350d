"""The operand layout of the warpgroup matrix operations (HGMMA, IGMMA, QGMMA, BGMMA).

nvdisasm prints these operands: D; then [A in registers,] descriptor, C, [uniform predicate that keeps C,] [sparse
metadata, [selector,]] [gsb0, if the operation ends a group].  The descriptor is four uniform registers: the lower pair
describes A (and is ignored if A is in registers), the upper pair describes B.  C is D or RZ.  Before register
allocation D and C are lists of one-word registers (``docs/ori.md``).
"""

from typing import Final

from orias.isa.op import Op, op
from orias.isa.operand import K_R, K_WORD, KIND_MASK, Opnd, is_zero_reg, word

ARRIVE: Final[Op] = op("WARPGROUP.ARRIVE")
DEPBAR: Final[Op] = op("WARPGROUP.DEPBAR.LE")
WARPSYNC_ALL: Final[Op] = op("WARPSYNC.ALL")
"""Comes before ARRIVE where part of a warp may run alone."""
GROUP: Final[Opnd] = word("gsb0")
"""Last source of an operation that ends a group, first source of DEPBAR."""
ACCUMULATOR_ALIGN: Final = 4
"""D starts at a multiple of four registers (ptxas 13.0.88 uses, for example, R36 and R76 for 4 to 20 registers)."""
A_WORDS: Final = 4
FIRST_REGISTER: Final = 24
"""No register operand of a warpgroup operation lies below R24.  This holds in all measured output of ptxas 13.0.88 and agrees with
its smallest register limit for 128 accumulator registers, which is 154 (message C7602)."""


def accumulator_words(op: Op) -> int:
    """Number of registers of D, and of C, per thread."""
    shape = next(m for m in op.mods if m.startswith("64x"))
    columns = int(shape.split("x")[1])
    return columns // 4 if "F16" in op.mods else columns // 2


def a_in_registers(src: list[Opnd]) -> bool:
    """True if A comes from registers."""
    return src[0] & KIND_MASK == K_R


def c_start(src: list[Opnd]) -> int:
    """Index of the first word of C in the sources."""
    return 2 if a_in_registers(src) else 1


def is_list(dst: list[Opnd]) -> bool:
    """True if D is a list of one-word registers, as before register allocation."""
    return len(dst) > 1


def c_count(dst: list[Opnd], src: list[Opnd]) -> int:
    """Number of sources that are C: one for RZ and after register allocation, else one per word."""
    if not is_list(dst) or is_zero_reg(src[c_start(src)]):
        return 1
    return len(dst)


def source_widths(op: Op, src: list[Opnd]) -> list[int]:
    """Number of registers of each source after register allocation."""
    out = [A_WORDS, 4] if a_in_registers(src) else [4]
    out.append(1 if is_zero_reg(src[len(out)]) else accumulator_words(op))
    return out + [1] * (len(src) - len(out))


def commits(src: list[Opnd]) -> bool:
    """True if the operation ends a group (``gsb0``)."""
    return src[-1] & KIND_MASK == K_WORD
