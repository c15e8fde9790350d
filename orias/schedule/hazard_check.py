"""Checks final code for hazards on every path and in every register.

The checker is independent of the assigner.  It knows only the latencies, which operations are late, and the control
words.  It follows all paths to a fixed point.  A state has, for each instruction that may be pending, the scoreboards
that would prove it finished, and for each fixed-latency result the minimum number of cycles that have passed.

It also works on code of other compilers.  ptxas leaves out scoreboards of in-order units when a later result of the
same unit is waited for (``docs/facts/scheduling.md``, "Scoreboards"), and knows which registers its own subroutines
preserve (``strict_calls=False``).
"""

from typing import Final, final

from orias.analysis.access import B_BASE, P_BASE, SLOT_GUARD, UP_BASE, UR_BASE, accesses, unit_name
from orias.isa.op import F_AWAITS_ITSELF, F_CALL, F_LATE_UNIFORM, F_MATRIX, F_RETURNS, F_WGMMA
from orias.isa.operand import PT
from orias.ori.ir import NO_CTL, Func, Inst
from orias.ori.reads_writes import Access
from orias.timing.ctl import MAX_YIELD_STALL, NO_BARRIER, YIELD, read_barrier, stall, wait_mask, write_barrier
from orias.timing.latency import Latency, latency
from orias.timing.units import FP64, NEEDS_READ, NEEDS_WRITE, XU, takes_waits

_HORIZON: Final = 64


@final
class _Node:
    """One instruction and its properties."""

    __slots__ = ("access", "fixed", "inst", "late_reads", "needs", "order", "read", "stall", "wait", "where", "write")

    def __init__(self, inst: Inst, access: Access, needs: int, where: str) -> None:
        self.inst: Inst = inst
        self.access: Access = access
        self.needs: int = needs
        self.where: str = where
        self.fixed: bool = not needs & NEEDS_WRITE
        self.write: int = write_barrier(inst.ctl)
        self.read: int = read_barrier(inst.ctl)
        self.wait: int = wait_mask(inst.ctl)
        self.stall: int = stall(inst.ctl)
        self.order: str = inst.op.order
        self.late_reads: set[int] = set()


@final
class _State:
    """The possible state before an instruction."""

    __slots__ = ("boards", "pending", "results")

    def __init__(self) -> None:
        self.pending: dict[int, int] = {}
        """Event (node number * 2, plus 1 for source reads) -> scoreboards of which a wait proves it finished on every path."""
        self.results: dict[tuple[int, int, int], int] = {}
        """(unit, node, word) of a fixed-latency result -> minimum cycles since its issue."""
        self.boards: list[int] = [_HORIZON] * 6
        """Minimum cycles since each scoreboard was set."""

    def copy(self) -> "_State":
        s = _State()
        s.pending = dict(self.pending)
        s.results = dict(self.results)
        s.boards = list(self.boards)
        return s

    def merge(self, other: "_State") -> bool:
        """Merge the state of another path into this one; True if anything changed."""
        changed = False
        for e, mask in other.pending.items():
            old = self.pending.get(e)
            if old is None:
                self.pending[e] = mask
                changed = True
            elif old & mask != old:
                self.pending[e] = old & mask
                changed = True
        for key, cycles in other.results.items():
            was = self.results.get(key)
            if was is None or cycles < was:
                self.results[key] = cycles
                changed = True
        for k in range(6):
            if other.boards[k] < self.boards[k]:
                self.boards[k] = other.boards[k]
                changed = True
        return changed


def check_hazards(fn: Func, strict_calls: bool = True) -> list[str]:
    """Messages for every hazard that the control words of `fn` do not prevent, and for illegal control words."""
    return _Checker(fn, strict_calls).run()


@final
class _Checker:
    __slots__ = ("by_block", "faults", "fn", "lat", "nodes", "strict")

    def __init__(self, fn: Func, strict_calls: bool) -> None:
        self.fn: Func = fn
        self.lat: Latency = latency(fn.target.latency_class)
        self.strict: bool = strict_calls
        self.nodes: list[_Node] = []
        self.by_block: dict[int, list[int]] = {}
        self.faults: dict[str, None] = {}

    def run(self) -> list[str]:
        for b in self.fn.blocks:
            numbers: list[int] = []
            for k, inst in enumerate(b.insts):
                where = f"{self.fn.name} b{b.id}[{k}] {inst.op.name}"
                if inst.ctl == NO_CTL:
                    self.faults[f"{where}: no control word"] = None
                    continue
                node = _Node(inst, accesses(inst, self.fn), self.lat.units.needs(inst.op, inst.dst, inst.src), where)
                if node.needs & NEEDS_READ:
                    uniform = inst.op.flags & F_LATE_UNIFORM != 0
                    for r in node.access.reads:
                        slot, unit = r & 255, r >> 8
                        file_late = uniform or unit < UR_BASE or P_BASE <= unit < UP_BASE
                        if slot != SLOT_GUARD and unit < B_BASE and file_late:
                            node.late_reads.add(unit)
                self._legal(node)
                numbers.append(len(self.nodes))
                self.nodes.append(node)
            self.by_block[b.id] = numbers
        self._flow()
        return list(self.faults)

    def _legal(self, node: _Node) -> None:
        word = node.inst.ctl
        if node.wait and not takes_waits(node.inst):
            self._fault(node, "a wait mask, which the operation does not take")
        if word & YIELD and node.stall > MAX_YIELD_STALL:
            self._fault(node, f"stall {node.stall} with the yield bit")
        for b in (node.write, node.read):
            if b == 6:
                self._fault(node, "scoreboard 6 does not exist")

    def _fault(self, node: _Node, text: str) -> None:
        self.faults[f"{node.where}: {text}"] = None

    def _flow(self) -> None:
        blocks = self.fn.blocks
        entry: dict[int, _State] = {b.id: _State() for b in blocks if not b.preds or b is blocks[0]}
        queued = set(entry)
        while queued:
            for b in blocks:
                if b.id not in queued:
                    continue
                queued.discard(b.id)
                state = entry[b.id].copy()
                for n in self.by_block[b.id]:
                    self._step(n, state)
                for s in b.succs:
                    have = entry.get(s.id)
                    if have is None:
                        entry[s.id] = state.copy()
                        queued.add(s.id)
                    elif have.merge(state):
                        queued.add(s.id)

    def _step(self, n: int, state: _State) -> None:
        node = self.nodes[n]
        inst = node.inst
        self._wait(node, state)
        if inst.op.flags & (F_CALL | F_RETURNS):
            self._leave(node, state)
        self._check(node, state)
        if inst.op.flags & F_CALL:
            state.pending.clear()
            state.results.clear()
        else:
            self._issue(n, node, state)
        step = node.stall or (_HORIZON if inst.op.flags & F_AWAITS_ITSELF and inst.guard == PT else 0)
        for key in list(state.results):
            cycles = state.results[key] + step
            if cycles >= _HORIZON:
                del state.results[key]
            else:
                state.results[key] = cycles
        for k in range(6):
            state.boards[k] = min(_HORIZON, state.boards[k] + step)

    def _wait(self, node: _Node, state: _State) -> None:
        if not node.wait:
            return
        for k in range(6):
            if node.wait >> k & 1 and state.boards[k] < 2:
                self._fault(node, f"waits for SB{k} {state.boards[k]} cycles after it is set")
        done = [e for e, mask in state.pending.items() if mask & node.wait]
        for e in done:
            state.pending.pop(e, None)
            if not e & 1:
                state.pending.pop(e | 1, None)

    def _leave(self, node: _Node, state: _State) -> None:
        if not self.strict:
            return
        for e in state.pending:
            if self._event_matters(e):
                self._fault(node, f"leaves with {self.nodes[e >> 1].where} under way")
        for (unit, m, word), cycles in state.results.items():
            p = self.nodes[m].inst
            if word >= 0 and cycles + node.stall < self.lat.settle(p.op, unit):
                self._fault(node, f"leaves with {unit_name(unit)} of {self.nodes[m].where} unsettled")

    def _event_matters(self, e: int) -> bool:
        node = self.nodes[e >> 1]
        if e & 1:
            return bool(node.late_reads)
        return any(w >> 8 < B_BASE for w in node.access.writes)

    def _check(self, node: _Node, state: _State) -> None:
        inst = node.inst
        reads = {r >> 8 for r in node.access.reads}
        writes = {w >> 8 for w in node.access.writes}
        for e in state.pending if takes_waits(inst) else ():
            p = self.nodes[e >> 1]
            if e & 1:
                hit = p.late_reads & writes
                if hit and not self._same_pipe(p, node):
                    self._fault(node, f"writes {unit_name(min(hit))} that {p.where} may still read")
            else:
                made = {w >> 8 for w in p.access.writes if w >> 8 < B_BASE}
                hit = made & reads
                if hit:
                    self._fault(node, f"reads {unit_name(min(hit))} of {p.where} without a wait")
                hit = made & writes
                if hit and not (p.order and p.order == node.order):
                    self._fault(node, f"overwrites {unit_name(min(hit))} of {p.where} without a wait")
        if not state.results:
            return
        units = reads | writes
        for (unit, m, word), cycles in state.results.items():
            if unit not in units:
                continue
            p = self.nodes[m]
            if _exclusive(p.inst, inst):
                continue
            if word >= 0 and unit in reads:
                for r in node.access.reads:
                    if r >> 8 == unit:
                        chain = r & 255 == 2 and p.inst.op is inst.op and inst.op.flags & (F_MATRIX | F_WGMMA) != 0
                        need = self.lat.raw(p.inst.op, word, inst.op, unit, r & 255, chain)
                        if cycles < need:
                            self._fault(node, f"reads {unit_name(unit)} {cycles} of {need} cycles after {p.where}")
            if unit in writes:
                if word >= 0:
                    need = self.lat.waw(p.inst.op, inst.op, unit)
                else:
                    need = self.lat.war(p.inst.op, inst.op)
                if cycles < need:
                    self._fault(node, f"writes {unit_name(unit)} {cycles} of {need} cycles after {p.where}")

    def _same_pipe(self, p: _Node, node: _Node) -> bool:
        """True if the sources of `p` are read before `node` can write, because both are in one in-order pipe."""
        pipe = self.lat.units.pipe
        return pipe(p.inst.op) in (XU, FP64) and pipe(p.inst.op) == pipe(node.inst.op)

    def _issue(self, n: int, node: _Node, state: _State) -> None:
        inst = node.inst
        guarded = inst.guard != PT
        if inst.op.queue and not guarded:
            # A later operation of an in-order unit proves the earlier ones finished; one that has read its sources proves that
            # those before it in its queue have read theirs.
            done = 0 if node.write == NO_BARRIER else 1 << node.write
            read = done if node.read == NO_BARRIER else done | 1 << node.read
            for e in state.pending if read else ():
                p = self.nodes[e >> 1]
                if e & 1:
                    if p.inst.op.queue == inst.op.queue:
                        state.pending[e] |= read
                elif node.order and p.order == node.order:
                    state.pending[e] |= done
        for w in node.access.writes:
            unit = w >> 8
            if not guarded:
                for key in [k for k in state.results if k[0] == unit]:
                    del state.results[key]
            if node.fixed and unit < B_BASE:
                state.results[unit, n, w >> 4 & 15] = 0
        late = self.lat.held(inst.op)
        if late > 1:
            for r in node.access.reads:
                state.results[r >> 8, n, -late] = 0
        if not node.fixed and node.access.writes:
            state.pending[n << 1] = 0 if node.write == NO_BARRIER else 1 << node.write
        if node.late_reads:
            board = 0 if node.read == NO_BARRIER else 1 << node.read
            if not node.fixed and node.write != NO_BARRIER:
                board |= 1 << node.write
            state.pending[n << 1 | 1] = board
        for k in (node.write, node.read):
            if k < 6:
                state.boards[k] = 0


def _exclusive(a: Inst, b: Inst) -> bool:
    """True if two guards cannot both hold (the same predicate, one negated)."""
    return a.guard != PT and a.guard ^ b.guard == 1 << 6
