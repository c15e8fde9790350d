"""The operations that register allocation, frames and calls insert, by purpose.

Allocation asks for a move, a reload or a test; this module alone names the operation.  The keys of dictionaries are
numbers of 32-bit words.
"""

from typing import Final

from orias.isa.op import Op, op
from orias.isa.operand import word

MOVE: Final[Op] = op("MOV")
MOVE_UNIFORM: Final[Op] = op("UMOV")
MOVE_TO_UNIFORM: Final[Op] = op("R2UR")
"""Copies an R register, whose value is the same in all threads, to a uniform register."""
COMBINE_PREDICATES: Final[Op] = op("PLOP3.LUT")
COMBINE_UNIFORM_PREDICATES: Final[Op] = op("UPLOP3.LUT")
COMBINE_BITS: Final[Op] = op("LOP3.LUT")
COMBINE_UNIFORM_BITS: Final[Op] = op("ULOP3.LUT")
SAVE_BARRIER: Final[Op] = op("BMOV.32.CLEAR")
"""Copies a convergence barrier to an R register and clears the barrier."""
RESTORE_BARRIER: Final[Op] = op("BMOV.32")

LOAD_CONSTANT: Final[dict[int, Op]] = {1: op("LDC"), 2: op("LDC.64"), 4: op("LDC.128")}
LOAD_UNIFORM_CONSTANT: Final[dict[str, dict[int, Op]]] = {
    "ULDC": {1: op("ULDC"), 2: op("ULDC.64")},
    "LDCU": {1: op("LDCU"), 2: op("LDCU.64"), 4: op("LDCU.128")},
}
"""By the target's spelling ``uniform_constant``."""
LOAD_LOCAL: Final[dict[int, Op]] = {1: op("LDL"), 2: op("LDL.64")}
STORE_LOCAL: Final[dict[int, Op]] = {1: op("STL"), 2: op("STL.64")}
LOAD_SHARED: Final[Op] = op("LDS")
STORE_SHARED: Final[Op] = op("STS")
CONSTANT_WORDS: Final[dict[Op, int]] = {
    o: n for d in (LOAD_CONSTANT, *LOAD_UNIFORM_CONSTANT.values()) for n, o in d.items()
}
"""Number of words that a plain load of constants returns."""
LOCAL_LOADS: Final[frozenset[Op]] = frozenset(LOAD_LOCAL.values())
LOCAL_STORES: Final[frozenset[Op]] = frozenset(STORE_LOCAL.values())

SELECT: Final[Op] = op("SEL")
NOT_EQUAL: Final[Op] = op("ISETP.NE.AND")
NOT_EQUAL_UNSIGNED: Final[Op] = op("ISETP.NE.U32.AND")
NOT_EQUAL_UNIFORM: Final[Op] = op("UISETP.NE.AND")
EQUAL_UNSIGNED: Final[Op] = op("ISETP.EQ.U32.AND")
AT_LEAST: Final[Op] = op("ISETP.GE.U32.AND")
ADD: Final[Op] = op("IADD3")
ADD_WITH_CARRY: Final[Op] = op("IADD3.X")

CALL_RELATIVE: Final[Op] = op("CALL.REL.NOINC")
CALL_ABSOLUTE: Final[Op] = op("CALL.ABS.NOINC")
NEXT_ADDRESS: Final[Op] = op("LEPC")
READ_SPECIAL: Final[Op] = op("S2R")
READ_SPECIAL_AT_ONCE: Final[Op] = op("CS2R.32")
READ_SPECIAL_BITS: Final[Op] = op("specialbits")
"""Pseudo operation: bits of a special register; sources are its name, the lowest bit and the number of bits."""
MOVED_WORD: Final[Op] = op("movedword")
"""Pseudo operation: a word of constant bank 0 that moves with the cluster; sources are the register with its size, the step and the place."""
MULTIPLY_ADD: Final[Op] = op("IMAD")
SHIFT_ADD: Final[Op] = op("LEA")
BARRIER_PAIR: Final[str] = "barrierpair"
"""Pseudo operation: a barrier of the block with number and number of threads in two registers; modifiers as those of BAR."""
HALVES: Final = ("16dp32bit_t0_t15", "16dp32bit_t16_t31")
"""Shape of accesses to tensor memory by 16 lanes: an operation for the lower and one for the upper half of a warp."""
REDUCED_HALVES: Final[str] = "reducedhalves"
"""Pseudo operation: LDTM.STAT of both halves of a warp; modifiers as theirs, sources are the address and an offset for each half."""
ARRIVAL_STATE: Final[str] = "arrivalstate"
"""Pseudo operation: an arrival at a barrier in memory that completes no phase; the modifier OPTOUT drops the thread.

Results are the state of this thread and two spare words, sources the address and the count (:mod:`orias.schedule.joined_words`).
"""
BARRIER_NUMBERS: Final = 0xF
"""Mask of the number of a barrier, in the word that holds it below a number of threads."""
POPULATION: Final[Op] = op("POPC")
LANES_BELOW: Final = word("SR_LTMASK")
CUT: Final[Op] = op("SGXT.U32")
SHIFT_LEFT: Final[Op] = op("SHF.L.U32")
SHIFT_RIGHT: Final[Op] = op("SHF.R.U32")
SHIFT_RIGHT_HIGH: Final[Op] = op("SHF.R.U32.HI")
TRAP: Final[Op] = op("BPT.TRAP")


def barrier_of(pair: Op) -> Op:
    """The barrier operation that a pseudo operation BARRIER_PAIR stands for."""
    return op(".".join(("BAR", *pair.mods)))


def arrival_of(state: Op) -> Op:
    """The operation at the barrier in memory that a pseudo operation ARRIVAL_STATE stands for."""
    return op(".".join(("SYNCS.ARRIVE.TRANS64.TMASK", *state.mods, "ART0")))


def halves_of(pair: Op) -> tuple[Op, Op]:
    """The two operations that a pseudo operation REDUCED_HALVES stands for: of the lower and of the upper 16 lanes."""
    lower, upper = (op(".".join(("LDTM", "STAT", lanes, *pair.mods))) for lanes in HALVES)
    return lower, upper
