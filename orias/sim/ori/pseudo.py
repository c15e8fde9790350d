"""Builders of the pseudo operations of ``docs/ori.md``, on operands that are rows; callers pass the widths in words."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from orias.isa.op import op
from orias.isa.operand import (
    K_B,
    K_R,
    K_UR,
    NEG,
    Opnd,
    in_file,
    is_pred,
    is_zero_reg,
    kind_of,
    reg_plus,
    with_word_lane,
)
from orias.sim.core.sim_errors import Fault, IllegalInstruction
from orias.sim.core.site import Exec, Getter, Setter, Site
from orias.sim.core.state import Active, Machine
from orias.sim.math import ops_int as oi
from orias.sim.math.ops_int import I64, U64
from orias.sim.sass import exec_flow, exec_warp
from orias.sim.texture import exec_quad

Arr = npt.NDArray[Any]


def word_of(o: Opnd, k: int) -> Opnd:
    """Word `k` of a wide operand that is a row, an immediate or a constant."""
    if kind_of(o) in (K_R, K_UR):
        return o if is_zero_reg(o) else reg_plus(o, k)
    return with_word_lane(o, k)


def _words(site: Site, o: Opnd, count: int) -> list[Getter]:
    return [site.i32(word_of(o, k)) for k in range(count)]


def copy(site: Site, width: int) -> Exec:
    """``copy`` of words, predicates or barriers between register files."""
    d, s = site.dst[0], site.src[0]
    if is_pred(d):
        g, put = site.pred(s), site.setp(d)
        return lambda m, a: put(m, a, g(m, a))
    if in_file(d, K_B) or in_file(s, K_B):
        return exec_flow.bmov(Site(op("BMOV"), [d], [s], 0, False))
    if in_file(d, K_UR):
        return _to_uniform(site, d, s, width)
    gets = _words(site, s, width)
    puts = [site.set32(word_of(d, k)) for k in range(width)]
    if width == 1:
        g1, put1 = gets[0], puts[0]
        return lambda m, a: put1(m, a, g1(m, a))
    return _parallel(gets, puts)


def _to_uniform(site: Site, d: Opnd, s: Opnd, width: int) -> Exec:
    steps: list[Exec] = []
    for k in range(width):
        dk, sk = word_of(d, k), word_of(s, k)
        if in_file(s, K_R) and not is_zero_reg(s):
            steps.append(exec_warp.r2ur(Site(op("R2UR"), [dk], [sk], 0, False)))
        else:
            uniform = Site(op("UMOV"), [dk], [sk], 0, True)
            steps.append(_parallel([uniform.i32(sk)], [uniform.set32(dk)]))

    def run(m: Machine, a: Active) -> None:
        for f in steps:
            f(m, a)

    return run


def _parallel(gets: list[Getter], puts: list[Setter]) -> Exec:
    def run(m: Machine, a: Active) -> None:
        values = [g(m, a) for g in gets]
        for put, v in zip(puts, values, strict=True):
            put(m, a, v)

    return run


def pack(site: Site, width: int, widths: list[int]) -> Exec:
    """``pack``: parts of the given widths, low first."""
    if in_file(site.dst[0], K_UR):
        return _pack_uniform(site, width, widths)
    gets = [g for o, w in zip(site.src, widths, strict=True) for g in _words(site, o, w)]
    puts = [site.set32(word_of(site.dst[0], k)) for k in range(width)]
    if len(gets) != width:
        raise Fault(IllegalInstruction, f"pack of {len(gets)} words into {width}")
    return _parallel(gets, puts)


def _pack_uniform(site: Site, width: int, widths: list[int]) -> Exec:
    """``pack`` into uniform registers; a word of a vector register is that of the warp's lowest active lane."""
    words = [word_of(o, k) for o, w in zip(site.src, widths, strict=True) for k in range(w)]
    if len(words) != width:
        raise Fault(IllegalInstruction, f"pack of {len(words)} words into {width}")
    uniform = Site(op("UMOV"), [], [], 0, True)
    gets: list[Getter] = []
    puts: list[Setter] = []
    moves: list[Exec] = []
    for k, o in enumerate(words):
        d = word_of(site.dst[0], k)
        if in_file(o, K_R) and not is_zero_reg(o):
            moves.append(exec_warp.r2ur(Site(op("R2UR"), [d], [o], 0, False)))
        else:
            gets.append(uniform.i32(o))
            puts.append(uniform.set32(d))
    first = _parallel(gets, puts)

    def run(m: Machine, a: Active) -> None:
        first(m, a)
        for move in moves:
            move(m, a)

    return run


def edge(moves: list[tuple[Opnd, Opnd, int]], site: Site) -> Exec:
    """The copies of all phis of an edge, done in parallel: (result, source, words)."""
    steps: list[tuple[Callable[[Machine, Active], Any], Callable[[Machine, Active, Any], None]]] = []
    for d, s, width in moves:
        if is_pred(d):
            steps.append((site.pred(s), site.setp(d)))
        elif in_file(d, K_UR):
            uniform = Site(site.op, [d], [s], 0, True)
            for k in range(width):
                steps.append((uniform.i32(word_of(s, k)), uniform.set32(word_of(d, k))))
        else:
            for k in range(width):
                steps.append((site.i32(word_of(s, k)), site.set32(word_of(d, k))))

    def run(m: Machine, a: Active) -> None:
        values = [np.array(g(m, a)) for g, _ in steps]
        for (_, put), v in zip(steps, values, strict=True):
            put(m, a, v)

    return run


def _addend(site: Site, o: Opnd) -> Getter:
    """The value of an addend of iadd64; for a negated addend its complement."""
    g = site.raw64(o & ~NEG)
    return (lambda m, a: ~g(m, a)) if o & NEG else g


def iadd64(site: Site) -> Exec:
    """``iadd64``; with a carry in, a negated addend is only complemented, as in IADD3.X."""
    x, y = _addend(site, site.src[0]), _addend(site, site.src[1])
    carry = site.pred(site.src[2]) if len(site.src) > 2 else None
    put = site.set64(site.regs[0])
    out = site.setp(site.preds[0]) if site.preds else None
    ones = sum(1 for o in site.src[:2] if o & NEG)

    def run(m: Machine, a: Active) -> None:
        v, w = np.broadcast_arrays(x(m, a), y(m, a))
        total = v + w
        over = total < v
        extra = carry(m, a).astype(U64) if carry is not None else np.uint64(ones)
        result = total + extra
        put(m, a, result)
        if out is not None:
            out(m, a, over | (result < total))

    return run


def _binary64(f: Callable[[Arr, Arr], Arr]) -> Callable[[Site], Exec]:
    def build(site: Site) -> Exec:
        x, y, put = site.i64(site.src[0]), site.i64(site.src[1]), site.set64(site.dst[0])
        return lambda m, a: put(m, a, f(x(m, a), y(m, a)))

    return build


def shift64(site: Site) -> Exec:
    """``shl64``, ``shr64``: the amount is clamped at 64."""
    x, n, put = site.i64(site.src[0]), site.i32(site.src[1]), site.set64(site.dst[0])
    signed = site.has("S64")
    if site.op.base == "shl64":
        return lambda m, a: put(m, a, oi.shift_left64(x(m, a), n(m, a)))
    return lambda m, a: put(m, a, oi.shift_right64(x(m, a), n(m, a), signed))


def isetp64(site: Site) -> Exec:
    """``isetp64``: the comparison and-ed with the third source; a second result is the complement and-ed with it."""
    x, y = site.i64(site.src[0]), site.i64(site.src[1])
    also = site.pred(site.src[2]) if len(site.src) > 2 else None
    puts = [site.setp(d) for d in site.dst]
    cmp, signed = site.op.mods[0], site.has("S64")

    def run(m: Machine, a: Active) -> None:
        v, w = x(m, a), y(m, a)
        r = oi.compare(cmp, v.view(I64), w.view(I64)) if signed else oi.compare(cmp, v, w)
        results = [r, ~r]
        for put, value in zip(puts, results, strict=False):
            put(m, a, value & also(m, a) if also is not None else value)

    return run


def sext64(site: Site) -> Exec:
    """``sext64``."""
    g, put = site.i32(site.src[0]), site.set64(site.dst[0])
    return lambda m, a: put(m, a, g(m, a).view(np.int32).astype(I64).view(U64))


WIDE: Final[dict[str, Callable[[Site], Exec]]] = {
    "iadd64": iadd64, "imul64": _binary64(lambda x, y: x * y), "shl64": shift64, "shr64": shift64, "isetp64": isetp64,
    "sext64": sext64, "quadtex": exec_quad.sample_for_lanes,
}  # fmt: skip
NOTHING: Final = frozenset(("undef", "fence"))
