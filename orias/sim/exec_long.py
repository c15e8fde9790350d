"""Integer operations on 64-bit words, in register pairs: the ``.64``, ``.U64`` and ``.S64`` forms of sm_120 and sm_121 and UIADD3.64."""

import numpy as np

from orias.isa.operand import INV, K_IMM, NEG, Opnd, is_zero_reg, kind, payload
from orias.sim import ops_int as oi
from orias.sim.ops_int import I64, U64
from orias.sim.site import Arr, Exec, Getter, Site, constant64, is_pred
from orias.sim.state import Active, Machine

LONG = frozenset(("64", "U64", "S64"))
"""Modifiers that make an integer operation one of 64-bit words."""


def _word(s: Site, o: Opnd) -> Getter:
    """A source; an immediate has 32 bits and a sign."""
    if kind(o) == K_IMM and payload(o) >> 31 == 1:
        return constant64(payload(o) | 0xFFFFFFFF << 32)
    return s.i64(o)


def add(s: Site) -> Exec:
    """IADD.64[.X], UIADD3.64[.X]: without X a negated source counts as complement plus one in the carries, as in IADD3."""
    ext = s.has("X")
    values = [o for o in s.src if not is_pred(o)]
    carry_in = [s.pred(o) for o in s.src if is_pred(o)] if ext else []
    outs = [s.setp(p) for p in s.preds if payload(p) != 7]
    put = s.result64()
    if not outs and not carry_in:
        plain = [_word(s, o) for o in values]
        return lambda m, a: put(m, a, sum((g(m, a) for g in plain[1:]), plain[0](m, a)))
    terms: list[Getter] = []
    ones = 0
    for o in values:
        if o & NEG:
            terms.append(_word(s, o & ~NEG | INV))
            ones += 1
        elif not is_zero_reg(o) or o & INV:
            terms.append(_word(s, o))

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


def mov(s: Site) -> Exec:
    """MOV.64, UMOV.64."""
    g, put = s.i64(s.src[0]), s.result64()
    return lambda m, a: put(m, a, g(m, a))


def sel(s: Site) -> Exec:
    """SEL.64, USEL.64."""
    x, y, p, put = s.i64(s.src[0]), s.i64(s.src[1]), s.pred(s.src[2]), s.result64()
    return lambda m, a: put(m, a, np.where(p(m, a), x(m, a), y(m, a)))


def isetp(s: Site) -> Exec:
    """ISETP.U64, ISETP.S64 and their uniform twins."""
    signed = s.has("S64")
    comparison = s.op.mods[0]
    logic = next(x for x in s.op.mods if x in ("AND", "OR", "XOR"))
    x, y, p = _word(s, s.src[0]), _word(s, s.src[1]), s.pred(s.src[2])
    first, second = s.setp(s.preds[0]), s.setp(s.preds[1])

    def run(m: Machine, a: Active) -> None:
        v, w, q = x(m, a), y(m, a), p(m, a)
        r = oi.compare(comparison, v.view(I64), w.view(I64)) if signed else oi.compare(comparison, v, w)
        results = oi.combine(logic, r, q), oi.combine(logic, ~r, q)
        first(m, a, results[0])
        second(m, a, results[1])

    return run


def minmax(s: Site) -> Exec:
    """IMNMX.U64, IMNMX.S64 and their uniform twins."""
    signed = s.has("S64")
    values = [o for o in s.src if not is_pred(o)]
    x, y = _word(s, values[0]), _word(s, values[1])
    takes_min = s.pred(next(o for o in s.src if is_pred(o)))
    put = s.result64()
    if any(payload(p) != 7 for p in s.preds):
        raise s.unknown("predicate results")

    def run(m: Machine, a: Active) -> None:
        v, w = np.broadcast_arrays(x(m, a), y(m, a))
        less = v.view(I64) < w.view(I64) if signed else v < w
        put(m, a, np.where(less == takes_min(m, a), v, w))

    return run


BUILDERS = {"IADD": add, "IADD3": add, "MOV": mov, "SEL": sel, "ISETP": isetp, "IMNMX": minmax}
"""By mnemonic without the ``U`` of uniform twins."""
