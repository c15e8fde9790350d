"""Integer operations on 64-bit words, in register pairs: the ``.64``, ``.U64`` and ``.S64`` forms of sm_120 and sm_121 and UIADD3.64.

Here: what differs from words of 32 bits in more than the size.
"""

from typing import Final

import numpy as np

from orias.isa.operand import INV, K_IMM, NEG, Opnd, is_zero_reg, kind, payload
from orias.sim.ops_int import U64
from orias.sim.site import Arr, Exec, Getter, Site, constant64, is_pred
from orias.sim.state import Active, Machine

_LONG: Final = frozenset(("64", "U64", "S64"))
"""Modifiers that make an integer operation one of 64-bit words."""


def is_long(s: Site) -> bool:
    """True if the words of an addition, a comparison or a move have 64 bits."""
    return not _LONG.isdisjoint(s.op.mods)


def long_source(s: Site, o: Opnd) -> Getter:
    """A source of an addition or a comparison; an immediate has 32 bits and a sign."""
    if kind(o) == K_IMM and payload(o) >> 31 == 1:
        return constant64(payload(o) | 0xFFFFFFFF << 32)
    return s.i64(o)


def long_add(s: Site) -> Exec:
    """IADD.64[.X], UIADD3.64[.X]: without X a negated source counts as complement plus one in the carries, as in IADD3."""
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
