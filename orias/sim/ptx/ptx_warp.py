"""Builders: warp operations, by the builders of the SASS instructions with their semantics."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from orias.isa.operand import PT, Opnd, r
from orias.ptx.ast import O_PAIR, O_SINK, Operand
from orias.sim.core.site import Exec, everywhere
from orias.sim.core.state import Active, Machine
from orias.sim.math.ops_int import I32, U32
from orias.sim.ptx.ptx_integer import Builder, type_of
from orias.sim.ptx.ptx_site import PtxSite, bits_of
from orias.sim.sass import exec_warp

Arr = npt.NDArray[Any]


def members(s: PtxSite) -> Operand | None:
    """The operand with the member mask; None for forms without .sync."""
    if s.name == "bar.warp.sync":
        return s.ops[0]
    if s.name in ("shfl", "vote", "match", "redux", "elect") and s.has("sync"):
        return s.ops[-1]
    return None


def _in_row(s: PtxSite, o: Operand, type_: str) -> tuple[Opnd, Exec | None]:
    """An operand as a register of the machine; a constant or an address is first copied to a scratch row."""
    if o.kind == 1 or o.kind == O_SINK:
        return s.opnd(o, type_), None
    row = s.program.scratch(bits_of(type_) // 32)
    g = s.src(o, type_)

    def fill(m: Machine, a: Active) -> None:
        v = g(m, a)
        m.R[row][a.sel] = v.astype(U32)
        if v.dtype.itemsize == 8:
            m.R[row + 1][a.sel] = v >> np.uint64(32)

    return r(row), fill


def run_all(steps: Sequence[Exec | None]) -> Exec:
    """Runs the steps one after the other; None is skipped."""
    real = [x for x in steps if x is not None]
    if len(real) == 1:
        return real[0]

    def run(m: Machine, a: Active) -> None:
        for x in real:
            x(m, a)

    return run


def _pair(o: Operand) -> tuple[Operand, Operand | None]:
    return (o.elems[0], o.elems[1]) if o.kind == O_PAIR else (o, None)


def _shfl(s: PtxSite) -> Exec:
    d, p = _pair(s.ops[0])
    parts = [_in_row(s, o, "b32") for o in s.ops[1:4]]
    out = s.opnd(p, "pred") if p is not None else PT
    site = s.sass(f"SHFL.{s.mods['op'].upper()}", [s.opnd(d), out], [x for x, _ in parts])
    return run_all([*[f for _, f in parts], exec_warp.shfl(site)])


def _vote(s: PtxSite) -> Exec:
    what = s.mods["op"]
    q = s.opnd(s.ops[1], "pred")
    if what == "ballot":
        return exec_warp.vote(s.sass("VOTE.ANY", [s.opnd(s.ops[0]), PT], [q]))
    name = {"all": "ALL", "any": "ANY", "uni": "EQ"}[what]
    return exec_warp.vote(s.sass(f"VOTE.{name}", [s.opnd(s.ops[0], "pred")], [q]))


def _activemask(s: PtxSite) -> Exec:
    return exec_warp.vote(s.sass("VOTE.ANY", [s.opnd(s.ops[0]), PT], [PT]))


def _match(s: PtxSite) -> Exec:
    d, p = _pair(s.ops[0])
    t = type_of(s)
    value, fill = _in_row(s, s.ops[1], t)
    wide = ".U64" if bits_of(t) == 64 else ""
    every = s.mods["op"] == "all"
    dst = [s.opnd(d)] + ([s.opnd(p, "pred") if p is not None else PT] if every else [])
    return run_all([fill, exec_warp.match(s.sass(f"MATCH.{'ALL' if every else 'ANY'}{wide}", dst, [value]))])


def _redux(s: PtxSite) -> Exec:
    t, what = type_of(s), s.mods["op"]
    g, put = s.src(s.ops[1], t), s.dst(s.ops[0], t)
    if t == "f32":
        least, magnitude, nan = np.full(1, what == "min"), s.has("abs"), s.has("NaN")

        def float_run(m: Machine, a: Active) -> None:
            x = exec_warp.extreme(everywhere(g, m, a), a, least, magnitude, nan)
            put(m, a, x[a.position >> 5])

        return float_run
    signed = t == "s32"
    ufuncs: dict[str, Any] = {
        "add": np.add, "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor, "min": np.minimum, "max": np.maximum,
    }  # fmt: skip
    f = ufuncs[what]

    def run(m: Machine, a: Active) -> None:
        v = everywhere(g, m, a)
        starts = np.flatnonzero(np.diff(a.warp_of, prepend=-1))
        x = f.reduceat(v.view(I32) if signed else v, starts, dtype=I32 if signed else U32)
        put(m, a, x.view(U32)[a.position >> 5])

    return run


def _elect(s: PtxSite) -> Exec:
    d, p = _pair(s.ops[0])
    dst = [s.opnd(d)] + ([s.opnd(p, "pred")] if p is not None else [])
    return exec_warp.elect(s.sass("ELECT", dst, [PT]))


WARP: Final[dict[str, Builder]] = {
    "shfl": _shfl, "vote": _vote, "activemask": _activemask, "match": _match, "redux": _redux, "elect": _elect,
}  # fmt: skip
