"""Builders: warp operations, by the builders of the SASS instructions with their semantics."""

from collections.abc import Callable
from typing import Any, Final, final

import numpy as np
import numpy.typing as npt

from orias.isa.operand import PT, Opnd, p, payload, r
from orias.ptx.ast import O_PAIR, Operand
from orias.sim.core.gathering import gather
from orias.sim.core.sim_errors import Fault, PartOfWarp
from orias.sim.core.site import Exec, run_all
from orias.sim.core.state import Active, Machine
from orias.sim.math.ops_int import I32, U32
from orias.sim.ptx.ptx_integer import Builder, type_of
from orias.sim.ptx.ptx_site import PtxSite, Step, bits_of
from orias.sim.ptx.ptx_units import Operation
from orias.sim.sass import exec_warp

Arr = npt.NDArray[Any]


def members(s: PtxSite) -> Operand | None:
    """The operand with the member mask; None for forms without .sync."""
    return s.ops[-1] if s.name in COLLECTIVES and s.has("sync") else None


Results = list[tuple[Operand | None, str]]


@final
class Collective:
    """What a warp operation does, on rows of the machine that all operations of its kind share."""

    __slots__ = ("dst", "run", "src")

    def __init__(self, dst: Results, src: list[tuple[Operand, str]], run: Callable[[list[Opnd]], Exec]) -> None:
        self.dst: Final[Results] = dst
        """Results with their types; None is not wanted."""
        self.src: Final[list[tuple[Operand, str]]] = src
        """Operands with their types."""
        self.run: Final[Callable[[list[Opnd]], Exec]] = run
        """The operation on rows: of the results, then of the operands."""


def meeting(s: PtxSite) -> list[Step]:
    """A warp operation: threads bring their operands, wait, run one operation with threads of other instructions, and take the results.

    Threads meet at instructions with the same text and mask, by PTX at those with the same qualifiers.
    """
    what = COLLECTIVES[s.name](s)
    operation = _operation(s, what)
    bring, take = _exchange(s, what, operation)
    mask = members(s)
    assert mask is not None
    named = s.src(mask, "b32")

    def of_members(m: Machine, a: Active) -> Arr:
        """The mask, which PTX wants to name each thread that runs the operation."""
        lanes = np.broadcast_to(named(m, a), (a.n,))
        outside = (lanes >> (a.index & 31).astype(lanes.dtype)) & lanes.dtype.type(1) == 0
        if outside.any():
            i = int(np.argmax(outside))
            raise Fault(PartOfWarp, f"a warp operation by a thread that its mask {int(lanes[i]):#x} leaves out", i)
        return lanes

    return [(None, gather(operation, bring, of_members)), (take, None)]


def _operation(s: PtxSite, what: Collective) -> Operation:
    program = s.program
    key = s.sig.text
    if key not in program.operations:
        rows = [
            p(program.scratch_predicate()) if t == "pred" else r(program.scratch(bits_of(t) // 32))
            for t in [*(t for _, t in what.dst), *(t for _, t in what.src)]
        ]
        program.operations[key] = Operation(len(program.operations) + 1, s.instr.line, rows, what.run(rows))
    return program.operations[key]


def _exchange(s: PtxSite, what: Collective, operation: Operation) -> tuple[Exec, Exec]:
    """Steps that copy operands to the rows of an operation, and results from them."""
    count = len(what.dst)
    bring = [_move(s, o, t, row) for (o, t), row in zip(what.src, operation.rows[count:], strict=True)]
    take = [_take(s, o, t, row) for (o, t), row in zip(what.dst, operation.rows[:count], strict=True)]
    return run_all(bring), run_all(take)


def _move(s: PtxSite, o: Operand, type_: str, row: Opnd) -> Exec:
    """Copies an operand to a row."""
    g, at = s.src(o, type_), payload(row)

    def run(m: Machine, a: Active) -> None:
        v = g(m, a)
        if type_ == "pred":
            m.P[at][a.sel] = v
            return
        m.R[at][a.sel] = v.astype(U32)
        if v.dtype.itemsize == 8:
            m.R[at + 1][a.sel] = v >> np.uint64(32)

    return run


def _take(s: PtxSite, o: Operand | None, type_: str, row: Opnd) -> Exec | None:
    """Copies a row to a result."""
    if o is None:
        return None
    put, at = s.dst(o, type_), payload(row)
    if type_ == "pred":
        return lambda m, a: put(m, a, m.P[at][a.sel])
    return lambda m, a: put(m, a, m.R[at][a.sel])


def _results(o: Operand) -> Results:
    """A result and its predicate, which need not be there."""
    return [(o.elems[0], "b32"), (o.elems[1], "pred")] if o.kind == O_PAIR else [(o, "b32"), (None, "pred")]


def _shfl(s: PtxSite) -> Collective:
    name, src = f"SHFL.{s.mods['op'].upper()}", [(o, "b32") for o in s.ops[1:4]]
    return Collective(_results(s.ops[0]), src, lambda o: exec_warp.shfl(s.sass(name, o[:2], o[2:])))


def _vote(s: PtxSite) -> Collective:
    what, src = s.mods["op"], [(s.ops[1], "pred")]
    if what == "ballot":
        return Collective([(s.ops[0], "b32")], src, lambda o: exec_warp.vote(s.sass("VOTE.ANY", [o[0], PT], o[1:])))
    name = {"all": "ALL", "any": "ANY", "uni": "EQ"}[what]
    return Collective([(s.ops[0], "pred")], src, lambda o: exec_warp.vote(s.sass(f"VOTE.{name}", o[:1], o[1:])))


def _activemask(s: PtxSite) -> Exec:
    return exec_warp.vote(s.sass("VOTE.ANY", [s.opnd(s.ops[0]), PT], [PT]))


def _match(s: PtxSite) -> Collective:
    t = type_of(s)
    name, src = f"MATCH.{s.mods['op'].upper()}{'.U64' if bits_of(t) == 64 else ''}", [(s.ops[1], t)]
    if s.mods["op"] == "any":
        return Collective([(s.ops[0], "b32")], src, lambda o: exec_warp.match(s.sass(name, o[:1], o[1:])))
    return Collective(_results(s.ops[0]), src, lambda o: exec_warp.match(s.sass(name, o[:2], o[2:])))


def _redux(s: PtxSite) -> Collective:
    t, what = type_of(s), s.mods["op"]

    def build(o: list[Opnd]) -> Exec:
        out, row = payload(o[0]), payload(o[1])
        if t == "f32":
            least, magnitude, nan = np.full(1, what == "min"), s.has("abs"), s.has("NaN")

            def float_run(m: Machine, a: Active) -> None:
                m.R[out][a.sel] = exec_warp.extreme(m.R[row][a.sel], a, least, magnitude, nan)[a.position >> 5]

            return float_run
        signed = t == "s32"
        f = _REDUCTIONS[what]

        def run(m: Machine, a: Active) -> None:
            v = m.R[row][a.sel]
            starts = np.flatnonzero(np.diff(a.warp_of, prepend=-1))
            x = f.reduceat(v.view(I32) if signed else v, starts, dtype=I32 if signed else U32)
            m.R[out][a.sel] = x.view(U32)[a.position >> 5]

        return run

    return Collective([(s.ops[0], t)], [(s.ops[1], t)], build)


_REDUCTIONS: Final[dict[str, Any]] = {
    "add": np.add, "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor, "min": np.minimum, "max": np.maximum,
}  # fmt: skip


def _elect(s: PtxSite) -> Collective:
    return Collective(_results(s.ops[0]), [], lambda o: exec_warp.elect(s.sass("ELECT", o, [PT])))


COLLECTIVES: Final[dict[str, Callable[[PtxSite], Collective]]] = {
    "shfl": _shfl, "vote": _vote, "match": _match, "redux": _redux, "elect": _elect,
}  # fmt: skip


def alone(s: PtxSite) -> Exec:
    """A warp operation without a mask, of the threads that run it together (PTX before 6.4)."""
    what = COLLECTIVES[s.name](s)
    operation = _operation(s, what)
    bring, take = _exchange(s, what, operation)
    return run_all([bring, operation.run, take])


WARP: Final[dict[str, Builder]] = {"activemask": _activemask, "shfl": alone, "vote": alone}
