"""What the warpgroup matrix operations (HGMMA, IGMMA, QGMMA, BGMMA) look like.

Operands, as nvdisasm prints them: D; then [A in registers,] descriptor, C, [uniform predicate that keeps C,] [sparse metadata,
[selector,]] [gsb0, if the operation ends a group].  The descriptor is a uniform quad: A's in the lower pair (which does not
count where A is in registers), B's in the upper one.  C is D or RZ.  Until registers are settled D and C are lists of one-word registers (``docs/ori.md``).
"""

from typing import Final

from orias.isa.op import Op, op
from orias.isa.operand import K_R, K_WORD, KIND_MASK, Opnd, is_zero_reg, word

GMMA: Final[frozenset[str]] = frozenset(("HGMMA", "IGMMA", "QGMMA", "BGMMA"))
ARRIVE: Final[Op] = op("WARPGROUP.ARRIVE")
DEPBAR: Final[Op] = op("WARPGROUP.DEPBAR.LE")
WARPSYNC_ALL: Final[Op] = op("WARPSYNC.ALL")
"""In front of ARRIVE where part of a warp may be."""
GROUP: Final[Opnd] = word("gsb0")
"""Last source of an operation that ends a group, first of DEPBAR."""
ACCUMULATOR_ALIGN: Final = 4
"""D starts at a multiple of four registers (ptxas 13.0.88 was seen to use R36 and R76 for 4 to 20 registers)."""
A_WORDS: Final = 4
FIRST_REGISTER: Final = 24
"""No register operand of a warpgroup operation lies below R24: so in all output of ptxas 13.0.88, whose least register limit for 128
accumulator registers is 154 accordingly (message C7602)."""


def accumulator_words(op: Op) -> int:
    """Registers of D and C per thread."""
    shape = next(m for m in op.mods if m.startswith("64x"))
    columns = int(shape.split("x")[1])
    return columns // 4 if "F16" in op.mods else columns // 2


def a_in_registers(src: list[Opnd]) -> bool:
    """True if A comes from registers."""
    return src[0] & KIND_MASK == K_R


def c_start(src: list[Opnd]) -> int:
    """Position of C (its first word) among the sources."""
    return 2 if a_in_registers(src) else 1


def is_list(dst: list[Opnd]) -> bool:
    """True while D is a list of words."""
    return len(dst) > 1


def c_count(dst: list[Opnd], src: list[Opnd]) -> int:
    """How many of the sources are C: one for RZ and for settled registers, else one per word."""
    if not is_list(dst) or is_zero_reg(src[c_start(src)]):
        return 1
    return len(dst)


def source_widths(op: Op, src: list[Opnd]) -> list[int]:
    """Registers that each source covers once registers are settled."""
    out = [A_WORDS, 4] if a_in_registers(src) else [4]
    out.append(1 if is_zero_reg(src[len(out)]) else accumulator_words(op))
    return out + [1] * (len(src) - len(out))


def commits(src: list[Opnd]) -> bool:
    """True if the operation ends a group (``gsb0``)."""
    return src[-1] & KIND_MASK == K_WORD
