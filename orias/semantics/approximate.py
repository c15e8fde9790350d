"""The approximate functions (MUFU) on one value: correctly rounded where possible, else computed in f64 and rounded.

The last bits of the hardware's results are not documented.  Any result within the hardware's error is correct, because
the sequences around a MUFU do not depend on the last bits (``tests/lower_math/test_models.py``).  Denormal operands
count as zeros of their sign; denormal results are flushed.
"""

import math
import struct
from math import isqrt

from orias.semantics import ieee
from orias.semantics.ieee import F32, F64, Format


def mufu(function: str, x: int) -> int | None:
    """Result of RCP, RSQ, SQRT, EX2, LG2, SIN, COS (f32; SIN and COS of revolutions), RCP64H or RSQ64H (high words)."""
    if function.endswith("64H"):
        return _high_word(function, x)
    x = ieee.flush(F32, x)
    if function == "RCP":
        r = ieee.div(F32, F32.one, x)
    elif function == "RSQ":
        r = _rsqrt(F32, x)
    elif function == "SQRT":
        r = ieee.sqrt(F32, x)
    elif function in ("EX2", "LG2", "SIN", "COS"):
        r = _transcendental(function, x)
    else:
        return None
    return ieee.flush(F32, r)


def _rsqrt(f: Format, x: int) -> int:
    """1 / sqrt(x), correctly rounded; the method ignores ties, which do not occur."""
    if ieee.is_nan(f, x):
        return f.nan
    if x & f.magnitude == 0:
        return f.inf | x & f.sign
    if x & f.sign:
        return f.nan
    if x == f.inf:
        return 0
    m, e = ieee.parts(f, x)
    # 1/sqrt(m 2**e) with e even: sqrt(2**(2k) / m) / 2**(k + e/2).
    if e & 1:
        m, e = m << 1, e - 1
    k = 2 * f.mbits + 20
    return ieee.round_exact(f, isqrt((1 << 2 * k) // m) << 1 | 1, -k - e // 2 - 1, ieee.RN)


def _transcendental(function: str, x: int) -> int:
    if ieee.is_nan(F32, x):
        return F32.nan
    if ieee.is_inf(F32, x):
        if function == "EX2":
            return 0 if x & F32.sign else x
        return x if function == "LG2" and not x & F32.sign else F32.nan
    v = _float(ieee.convert(F32, F64, x))
    if function == "EX2":
        return F32.inf if v >= 128 else 0 if v < -150 else _rounded(math.pow(2.0, v))
    if function == "LG2":
        if v == 0:
            return F32.inf | F32.sign
        return F32.nan if v < 0 else _rounded(math.log2(v))
    turn = 2 * math.pi * (v - math.floor(v))
    if function == "SIN":
        return x if v == 0 else _rounded(math.sin(turn))
    return _rounded(math.cos(turn))


def _float(bits: int) -> float:
    value: float = struct.unpack("<d", bits.to_bytes(8, "little"))[0]
    return value


def _rounded(v: float) -> int:
    return ieee.convert(F64, F32, int.from_bytes(struct.pack("<d", v), "little"))


def _high_word(function: str, high: int) -> int | None:
    """The high word of the f64 reciprocal (root), rounded to the 20 fraction bits of that word."""
    x = ieee.flush(F64, high << 32)
    if function == "RCP64H":
        r = ieee.div(F64, F64.one, x)
    elif function == "RSQ64H":
        r = _rsqrt(F64, x)
    else:
        return None
    if ieee.is_nan(F64, r):
        return F32.nan
    if not ieee.is_inf(F64, r):
        r += 0x80000000
    return ieee.flush(F64, r) >> 32
