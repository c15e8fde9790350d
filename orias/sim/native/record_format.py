"""The form of the records that ``vector.c`` executes: numbers of codes and fields."""

from typing import Final

import numpy as np

_MOVES: Final = ("NOP", "MOV", "MOV64", "LDC", "SEL", "FSEL", "PLOP3", "SHFL", "VOTE", "BSSY", "P2R", "R2P")
_INTEGERS: Final = (
    "IADD3", "IADDC", "IMAD", "IMADX", "IMADW", "IMADH", "LEA", "LEAC", "LEAH", "SHF", "LOP3", "LOP3P", "ISETP", "IMNMX", "PRMT", "POPC", "IABS", "FLO", "BREV",
)  # fmt: skip
_FLOATS: Final = (
    "FADD", "FMUL", "FFMA", "FSETP", "FMNMX", "I2F", "F2I", "DADD", "DMUL", "DFMA", "DSETP", "I2D", "F2F64", "F2F32", "RCP", "RSQ", "SQRT", "EX2", "LG2", "SIN", "COS", "FCHK",
)  # fmt: skip
_HALVES: Final = ("HADD2", "HMUL2", "HFMA2", "HMNMX2", "HSETP2", "HSET2", "F2FP", "F2H", "I2H", "FRND", "F2L")
_ACCESSES: Final = ("LOAD", "STORE", "ATOM")
_MEETINGS: Final = ("BSYNC", "WARPSYNC", "BARSYNC")
CODES: Final = ["NONE", "BRA", *_MEETINGS, *_MOVES, *_INTEGERS, *_FLOATS, *_HALVES, *_ACCESSES]
"""A code is its place in the list."""
KINDS: Final = {"moves": _MOVES, "integers": _INTEGERS, "floats": _FLOATS, "halves": _HALVES, "accesses": _ACCESSES}
"""The file of C -> its codes."""
PAIRS: Final = ("MOV64", "IMADW", "DADD", "DMUL", "DFMA", "F2F64", "I2D", "F2L")
"""Codes with results in pairs."""
RECORD: Final = np.dtype(
    [
        ("code", "i4"), ("guard", "i4"), ("d", "i4"), ("uniform", "i4"), ("kind", "i4", 3), ("flag", "i4", 3), ("value", "u4", 3),
        ("high", "u4", 3), ("p", "i4", 3), ("q", "i4", 2), ("x", "i4"), ("y", "i4"), ("z", "i4"), ("closely", "i4"),
    ]
)  # fmt: skip
"""``Op`` of ``state.h``."""
COMPARISONS: Final = {"F": 0, "T": 1, "LT": 2, "LE": 3, "GT": 4, "GE": 5, "EQ": 6, "NE": 7}
LOGIC: Final = {"AND": 0, "OR": 1, "XOR": 2}
BANKS: Final = (0, 2, 3, 4)
"""Constant banks that every launch has."""
FALSE: Final = 15
"""The code of a predicate that never holds."""
NOWHERE: Final = 7
"""Where a result in a predicate goes that nobody wants."""


def enumeration() -> str:
    """The codes as an enumeration in C, and where each kind of them begins."""
    names = ("MOVE", "INTEGER", "FLOAT", "HALF", "ACCESS")
    first = {f"FIRST_{name}": codes[0] for name, codes in zip(names, KINDS.values(), strict=True)}
    return f"enum {{ {', '.join([*CODES, *(f'{name} = {code}' for name, code in first.items())])} }};\n"
