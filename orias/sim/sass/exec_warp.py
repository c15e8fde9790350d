"""Builders for warp-wide instructions: shuffles, votes, matches, reductions, and moves between threads and warps.

They use the active threads of each warp, in arrays [active warps, 32].
"""

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from orias.isa.operand import K_UR, in_file, payload
from orias.sim.core.site import Exec, Site
from orias.sim.core.state import Active, Machine, warp_masks
from orias.sim.math.ops_float import fmnmx
from orias.sim.math.ops_int import I32, I64, U32

Arr = npt.NDArray[Any]
Builder = Callable[[Site], Exec]

_LANES: Final = np.arange(32, dtype=I64)
_BIT: Final = np.left_shift(np.uint32(1), np.arange(32, dtype=U32))


def _full(v: Arr, a: Active) -> Arr:
    return np.broadcast_to(v, (a.n,))


def active_lanes(a: Active) -> Arr:
    """[active warps, 32] booleans."""
    return a.spread(np.ones(a.n, np.bool_), False)


def shfl(s: Site) -> Exec:
    """SHFL.IDX/UP/DOWN/BFLY value, lane, clamp and segment mask; the predicate is true if the source lane is in range."""
    mode = s.op.mods[0]
    value, lane, limits = s.i32(s.src[0]), s.i32(s.src[1]), s.i32(s.src[2])
    put, out = s.result32(), s.setp(s.preds[0])

    def run(m: Machine, a: Active) -> None:
        v = a.spread(_full(value(m, a), a))
        b, c = lane(m, a), limits(m, a)
        alike = len(b) == len(c) == 1  # As for constants: the lanes of all warps read the same lanes.
        if not alike:
            b, c = (a.spread(_full(x, a)) for x in (b, c))
        b, c = b.astype(I64) & 31, c.astype(I64)
        clamp, segment = c & 31, (c >> 8) & 31
        low = _LANES & segment
        high = low | (clamp & ~segment)
        if mode == "UP":
            j = _LANES - b
            ok = j >= high
        elif mode == "DOWN":
            j = _LANES + b
            ok = j <= high
        elif mode == "BFLY":
            j = _LANES ^ b
            ok = j <= high
        else:
            j = low | (b & ~segment)
            ok = j <= high
        j = np.where(ok, j, _LANES) & 31
        r = v.take(j, axis=1) if alike else np.take_along_axis(v, j, 1)
        put(m, a, a.gather(r))
        out(m, a, a.gather(np.broadcast_to(ok, v.shape)))

    return run


def _votes(p: Arr, a: Active) -> tuple[Arr, Arr]:
    """(ballot, active mask) of each active warp."""
    return warp_masks(a.spread(_full(p, a), False)), a.lane_mask


def _decide(mode: str, ballot: Arr, active: Arr) -> Arr:
    result: Arr
    if mode == "ALL":
        result = ballot == active
    elif mode == "ANY":
        result = ballot != 0
    else:
        result = (ballot == 0) | (ballot == active)
    return result


def vote(s: Site) -> Exec:
    """VOTE: ballot (if requested) and decision."""
    mode = s.op.mods[0]
    p = s.pred(s.src[0])
    put = s.set32(s.regs[0]) if s.regs else None
    out = s.setp(s.preds[0]) if s.preds else None

    def run(m: Machine, a: Active) -> None:
        ballot, active = _votes(p(m, a), a)
        decision = _decide(mode, ballot, active)
        if put is not None:
            put(m, a, a.each(ballot))
        if out is not None:
            out(m, a, a.each(decision))

    return run


def voteu(s: Site) -> Exec:
    """VOTEU: like VOTE, into uniform registers."""
    mode = s.op.mods[0]
    p = s.pred(s.src[0])
    put = s.set32(s.regs[0]) if s.regs else None
    out = s.setp(s.preds[0]) if s.preds else None

    def run(m: Machine, a: Active) -> None:
        ballot, active = _votes(p(m, a), a)
        if put is not None:
            put(m, a, ballot)
        if out is not None:
            out(m, a, _decide(mode, ballot, active))

    return run


def match(s: Site) -> Exec:
    """MATCH.ANY: lanes with the same value.  MATCH.ALL: all active lanes if they agree, else none; and whether they do."""
    wide = s.has("U64")
    value = s.raw64(s.src[0]) if wide else s.raw(s.src[0])
    put = s.set32(s.regs[0])
    out = s.setp(s.preds[0]) if s.preds else None
    every = s.has("ALL")

    def run(m: Machine, a: Active) -> None:
        v = a.spread(_full(value(m, a), a))
        active = active_lanes(a)
        equal = (v[:, :, None] == v[:, None, :]) & active[:, None, :]
        mask = np.bitwise_or.reduce(np.where(equal, _BIT, np.uint32(0)), axis=2)
        if every:
            agree = mask == a.lane_mask[:, None]
            mask = np.where(agree, mask, np.uint32(0))
            if out is not None:
                out(m, a, a.gather(agree))
        put(m, a, a.gather(mask))

    return run


def redux(s: Site) -> Exec:
    """REDUX, CREDUX: a reduction over the active lanes into a uniform register."""
    if s.has("F32"):
        return _redux_f32(s)
    value, put = s.i32(s.src[0]), s.set32(s.regs[0])
    signed = s.has("S32")
    which = next((x for x in s.op.mods if x in ("SUM", "MIN", "MAX", "OR", "XOR", "AND")), "AND")

    def run(m: Machine, a: Active) -> None:
        v = _full(value(m, a), a)
        if which == "SUM":
            r = np.add.reduce(a.spread(v), axis=1, dtype=U32)
        elif which == "OR":
            r = np.bitwise_or.reduce(a.spread(v), axis=1)
        elif which == "XOR":
            r = np.bitwise_xor.reduce(a.spread(v), axis=1)
        elif which == "AND":
            r = np.bitwise_and.reduce(a.spread(v, 0xFFFFFFFF), axis=1)
        else:
            wide = (v.view(I32) if signed else v).astype(I64)
            edge = (1 << 40) if which == "MIN" else -(1 << 40)
            spread = a.spread(wide, edge)
            r = (spread.min(axis=1) if which == "MIN" else spread.max(axis=1)).astype(U32)
        put(m, a, r)

    return run


def _redux_f32(s: Site) -> Exec:
    """CREDUX.F32: minimum or maximum value, or magnitude, of the active lanes; NaNs count with NAN, or if all are NaNs."""
    value, put = s.f32(s.src[0]), s.set32(s.regs[0])
    name = next(x for x in s.op.mods if x in ("MIN", "MAX", "MINABS", "MAXABS"))
    takes_min = np.full(1, name.startswith("MIN"), np.bool_)
    magnitude, nan = name.endswith("ABS"), s.has("NAN")
    return lambda m, a: put(m, a, extreme(_full(value(m, a), a), a, takes_min, magnitude, nan))


def extreme(v: Arr, a: Active, takes_min: Arr, magnitude: bool, nan: bool) -> Arr:
    """The least (else the largest) f32 pattern, or magnitude, of each warp's active lanes."""
    if magnitude:
        v = v & np.uint32(0x7FFFFFFF)
    lanes = a.spread(v, 0x7FFFFFFF)
    active = active_lanes(a)
    result = lanes[:, 0]
    started = active[:, 0]
    for k in range(1, lanes.shape[1]):
        both = fmnmx(result, lanes[:, k], takes_min, False, nan, False)
        result = np.where(active[:, k], np.where(started, both, lanes[:, k]), result)
        started = started | active[:, k]
    return fmnmx(result, result, takes_min, False, nan, False)


def elect(s: Site) -> Exec:
    """ELECT: a predicate that is true in one active lane (the lowest) of the warp."""
    regs = [o for o in s.regs if payload(o) != 255]
    put = s.set32(regs[0]) if regs else None
    out = s.setp(s.preds[0]) if s.preds else None
    uniform = bool(regs) and in_file(regs[0], K_UR)

    def run(m: Machine, a: Active) -> None:
        lowest = a.lane_mask & (~a.lane_mask + np.uint32(1))
        lane = np.log2(lowest).astype(U32)
        each = a.each(lane)
        if put is not None:
            put(m, a, lane if uniform else each)
        if out is not None:
            out(m, a, (a.index & 31).astype(U32) == each)

    return run


def r2ur(s: Site) -> Exec:
    """R2UR: the value of each warp's lowest active lane; the predicate is true in threads with another value."""
    source = s.raw(s.src[-1])
    joined = s.has("OR")
    put = s.set32(next(o for o in s.regs if in_file(o, K_UR)))
    out = s.setp(s.preds[0]) if s.preds else None

    def run(m: Machine, a: Active) -> None:
        v = _full(source(m, a), a)
        first = a.firsts
        if joined:
            # With OR the value comes from a thread whose predicate no earlier R2UR has set.
            apart = m.P[payload(s.preds[0])][a.sel]
            first = np.array(
                [f + int(np.argmin(apart[f:][: int(np.count_nonzero(a.warp_of == a.warp_of[f]))])) for f in first]
            )
        put(m, a, v[first])
        if out is not None:
            other = v != a.each(v[first])
            out(m, a, other | apart if joined else other)

    return run


def movm(s: Site) -> Exec:
    """MOVM.16.MT88: the transpose of an 8x8 matrix of halves, with row i in lanes 4i to 4i+3; M832: :func:`_widen`."""
    if s.has("M832"):
        return _widen(s)
    if not (s.has("16") and s.has("MT88")):
        raise s.unknown()
    value, put = s.raw(s.src[0]), s.set32(s.regs[0])

    def run(m: Machine, a: Active) -> None:
        v = a.spread(_full(value(m, a), a))
        halves = np.ascontiguousarray(v).view(np.uint16).reshape(-1, 8, 8)
        t = np.ascontiguousarray(halves.transpose(0, 2, 1)).reshape(-1, 64).view(U32)
        put(m, a, a.gather(t))

    return run


def _widen(s: Site) -> Exec:
    """MOVM.U4TO8.M832, MOVM.S4TO8.M832 (from sm_100 on): an 8x32 matrix of 4-bit integers, widened to IMMA's 8 bits.

    Row i is in lanes 4i to 4i+3: before with eight columns per lane, after with four columns per lane in each of two
    registers.  That the columns keep their order is a guess: ptxas widens both factors of a product in this way, and
    the sum does not depend on the order.
    """
    signed = s.has("S4TO8")
    if not signed and not s.has("U4TO8"):
        raise s.unknown()
    value, put = s.raw(s.src[0]), s.result64()
    shifts = 4 * np.arange(8, dtype=U32)

    def run(m: Machine, a: Active) -> None:
        v = a.spread(_full(value(m, a), a))
        columns = (v[..., None] >> shifts & np.uint32(15)).astype(np.uint8).reshape(-1, 8, 2, 4, 4)
        if signed:
            columns = (columns ^ np.uint8(8)) - np.uint8(8)
        words = np.ascontiguousarray(columns).view(U32).reshape(-1, 8, 2, 4)
        low, high = (a.gather(np.ascontiguousarray(words[:, :, k]).reshape(-1, 32)) for k in (0, 1))
        put(m, a, high.astype(np.uint64) << np.uint64(32) | low)

    return run


BUILDERS: Final[dict[str, Builder]] = {
    "SHFL": shfl, "VOTE": vote, "VOTEU": voteu, "MATCH": match, "REDUX": redux, "CREDUX": redux, "ELECT": elect, "R2UR": r2ur,
    "MOVM": movm,
}  # fmt: skip
