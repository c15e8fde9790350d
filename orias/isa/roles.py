"""The operations that register allocation, frames and calls insert, by purpose.

Allocation asks for a move, a reload or a test; this module alone names the operation.  The keys of dictionaries are
numbers of 32-bit words.
"""

from typing import Final

from orias.isa.op import Op, op

MOVE: Final[Op] = op("MOV")
MOVE_UNIFORM: Final[Op] = op("UMOV")
MOVE_TO_UNIFORM: Final[Op] = op("R2UR")
"""Copies an R register, whose value is the same in all threads, to a uniform register."""
COMBINE_PREDICATES: Final[Op] = op("PLOP3.LUT")
COMBINE_UNIFORM_PREDICATES: Final[Op] = op("UPLOP3.LUT")
COMBINE_BITS: Final[Op] = op("LOP3.LUT")
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
AT_LEAST: Final[Op] = op("ISETP.GE.U32.AND")
ADD: Final[Op] = op("IADD3")
ADD_WITH_CARRY: Final[Op] = op("IADD3.X")

CALL_RELATIVE: Final[Op] = op("CALL.REL.NOINC")
CALL_ABSOLUTE: Final[Op] = op("CALL.ABS.NOINC")
NEXT_ADDRESS: Final[Op] = op("LEPC")
READ_SPECIAL: Final[Op] = op("S2R")
TRAP: Final[Op] = op("BPT.TRAP")
