"""Collectives in code before the phase that brings threads to one instruction: those of several instructions run one operation together."""

from collections.abc import Callable
from typing import Final

from orias.analysis.collectives import collectives
from orias.isa.decode import Decoded
from orias.isa.op import Op
from orias.isa.operand import K_P, K_R, K_UR, PT, Opnd, in_file, is_hardwired, p, r, ur
from orias.isa.roles import BARRIER_PAIR, barrier_of
from orias.ori.ir import OP_COPY, Func, Inst
from orias.passes.joined_collectives import Site as Collective
from orias.passes.joined_collectives import words
from orias.sim.core.build import build
from orias.sim.core.engine import Flow, Plan
from orias.sim.core.gathering import Gathering, gather
from orias.sim.core.site import Exec, Site, run_all
from orias.sim.ori import pseudo
from orias.sim.ori.rows import Rows

Map = Callable[[Opnd], Opnd]
"""Virtual registers to rows."""


def executed(o: Op) -> Op:
    """The operation that does what ``o`` does on rows: of two registers at a barrier BAR itself, which reads both."""
    return barrier_of(o) if o.base == BARRIER_PAIR else o


class _Operation(Gathering):
    """One operation, on rows of its own."""

    def __init__(self, number: int, dst: list[Opnd], src: list[Opnd], plan: Plan, text: Callable[[], str]) -> None:
        super().__init__(number)
        self.dst: Final[list[Opnd]] = dst
        self.src: Final[list[Opnd]] = src
        self.plan: Final[Plan] = plan
        self.text: Final[Callable[[], str]] = text


class SharedOperations:
    """The collectives of the functions of a kernel."""

    def __init__(self, funcs: list[Func], rows: Rows) -> None:
        self._rows: Final[Rows] = rows
        self._sites: Final[dict[tuple[str, int], Collective]] = {}
        """By function and number of the instruction, which counts in each function anew."""
        self._operations: Final[dict[tuple[str, ...], _Operation]] = {}
        self._syncs: Final[set[tuple[str, int]]] = set()
        for fn in funcs:
            for b in fn.blocks:
                for sync, inst in collectives(b):
                    if inst is not None:
                        self._sites[fn.name, inst.uid] = Collective(fn, b, sync, inst)
                        self._syncs.add((fn.name, sync.uid))

    def waits(self, fn: Func, inst: Inst) -> bool:
        """True for an operation that waits for all threads of its mask."""
        return (fn.name, inst.uid) in self._sites

    def is_silent(self, fn: Func, inst: Inst) -> bool:
        """True for the WARPSYNC of such an operation, which does the waiting itself."""
        return (fn.name, inst.uid) in self._syncs

    def steps(self, fn: Func, inst: Inst, to_row: Map, text: Callable[[], str]) -> tuple[Flow, Exec]:
        """What an operation does: the threads bring operands and wait; they take the results."""
        site = self._sites[fn.name, inst.uid]
        if site.key not in self._operations:
            self._operations[site.key] = self._make(fn, inst, text)
        operation = self._operations[site.key]
        bring = [
            _copy(row, to_row(o), words(fn, o) if in_file(row, K_R) else 1)
            for row, o in zip(operation.src, inst.src, strict=True)
        ]
        take = [_copy(to_row(d), row, 1) for row, d in zip(operation.dst, inst.dst, strict=True) if not is_hardwired(d)]
        mask = Site(OP_COPY, [], [to_row(site.sync.src[0])], 0, False)
        return gather(operation, run_all(bring), mask.i32(mask.src[0])), run_all(take)

    def _make(self, fn: Func, inst: Inst, text: Callable[[], str]) -> _Operation:
        rows = self._rows
        src = [p(rows.fresh(K_P, 1)) if in_file(o, K_P) else r(rows.fresh(K_R, max(1, words(fn, o)))) for o in inst.src]
        dst = [p(rows.fresh(K_P, 1)) if in_file(d, K_P) else r(rows.fresh(K_R, 1)) for d in inst.dst]
        made = [ur(rows.fresh(K_UR, 1)) if in_file(d, K_UR) else row for d, row in zip(inst.dst, dst, strict=True)]
        plan = build(Decoded(executed(inst.op), PT, made, src, 0), 0, 0, text)
        if plan.run is not None:
            plan.run = run_all([plan.run, *(_copy(row, d, 1) for row, d in zip(dst, made, strict=True) if row != d)])
        return _Operation(len(self._operations) + 1, dst, src, plan, text)

    def place(self, plans: list[Plan | None]) -> None:
        """Append the operations, which threads of all their instructions run."""
        for operation in self._operations.values():
            operation.start = len(plans)
            plan = operation.plan.again(operation.start << 4, operation.text)
            end = Plan((operation.start + 1) << 4, operation.text)
            end.flow = lambda e, a, rest, pc: e.end_collective(a, rest, pc)
            plans += [plan, end]


def _copy(d: Opnd, s: Opnd, width: int) -> Exec:
    return pseudo.copy(Site(OP_COPY, [d], [s], 0, False), width)
