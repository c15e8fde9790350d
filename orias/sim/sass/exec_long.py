"""Integer operations on 64-bit words, in register pairs: the ``.64``, ``.U64`` and ``.S64`` forms of sm_120 and sm_121 and UIADD3.64.

This file has the operations that differ from 32-bit operations in more than size.
"""

from typing import Final

import numpy as np

from orias.isa.operand import INV, NEG, Opnd, imm_value, is_imm, is_pred, is_zero_reg, payload
from orias.sim.core.site import Arr, Exec, Getter, Site, constant64
from orias.sim.core.state import Active, Machine
from orias.sim.math.ops_int import U64

_LONG: Final = frozenset(("64", "U64", "S64"))
"""Modifiers of 64-bit integer operations."""


def is_long(s: Site) -> bool:
    """True for an addition, a comparison or a move of 64-bit words."""
    return not _LONG.isdisjoint(s.op.mods)


def long_source(s: Site, o: Opnd) -> Getter:
    """A source of an addition or a comparison; immediates are signed 32-bit numbers."""
    if is_imm(o) and imm_value(o) >> 31 == 1:
        return constant64(payload(o) | 0xFFFFFFFF << 32)
    return s.i64(o)


def long_add(s: Site) -> Exec:
    """IADD.64[.X], UIADD3.64[.X]; without X, the carries count a negated source as complement plus one, as in IADD3."""
    ext = s.has("X")
    values = [o for o in s.src if not is_pred(o)]
    carry_in = [s.pred(o) for o in s.src if is_pred(o)] if ext else []
    outs = [s.setp(p) for p in s.preds if payload(p) != 7]
    put = s.result64()
    if not outs and not carry_in:
        plain = [long_source(s, o) for o in values]
        return lambda m, a: put(m, a, sum((g(m, a) for g in plain[1:]), plain[0](m, a)))
    terms: list[Getter] = []
    ones = 0
    for o in values:
        if o & NEG:
            terms.append(long_source(s, o & ~NEG | INV))
            ones += 1
        elif not is_zero_reg(o) or o & INV:
            terms.append(long_source(s, o))

    def run(m: Machine, a: Active) -> None:
        total = np.zeros(1, U64)
        carries: Arr = np.zeros(1, U64)
        for v in (*(g(m, a) for g in terms), np.full(1, ones, U64), *(c(m, a).astype(U64) for c in carry_in)):
            next_total = total + v
            carries = carries + (next_total < v)
            total = next_total
        put(m, a, total)
        for k, out in enumerate(outs):
            out(m, a, carries > k)

    return run
