"""Control flow: branches, calls, returns, barriers.  Each function returns the steps (one or more) of an instruction."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from orias.ptx.ast import O_FUNC, O_REG, O_SINK, Function, Operand, Var
from orias.sim.core.engine import Engine, Flow
from orias.sim.core.sim_errors import Fault, IllegalInstruction, Trap
from orias.sim.core.site import Exec
from orias.sim.core.state import Active, Machine
from orias.sim.core.syscalls import NUMBERED
from orias.sim.math.ops_int import I64, U32, U64
from orias.sim.ptx.machine import PtxMachine, at_depth, ptx
from orias.sim.ptx.ptx_layout import formal_size, slots
from orias.sim.ptx.ptx_memory import load_values, store_values
from orias.sim.ptx.ptx_site import PtxSite, Step, bits_of
from orias.sim.ptx.ptx_units import Unit
from orias.sim.sass.exec_flow import SYSCALL_BASE
from orias.sim.sass.memory_places import LOCAL

Arr = npt.NDArray[Any]
MAX_DEPTH: Final = 4096


def go_on(e: Engine, a: Active, rest: Active | None, pc: int) -> int:
    """Ends a step after which all threads continue at the next instruction."""
    if rest is None:
        return pc + 1
    e.add(pc + 1, a)
    e.add(pc + 1, rest)
    return -1


def bra(s: PtxSite) -> list[Step]:
    """bra."""
    label = s.ops[0].label
    assert label is not None
    cell = s.unit.label(label)
    return [(None, lambda e, a, rest, pc: e.split(a, cell[0], rest, pc))]


def brx(s: PtxSite) -> list[Step]:
    """brx.idx; an index outside the list is undefined, and ends the launch here."""
    table = s.ops[1].label
    assert table is not None and table.targets is not None
    cells = [s.unit.label(t) for t in table.targets]
    index = s.src(s.ops[0], "u32")

    def run(e: Engine, a: Active, rest: Active | None, pc: int) -> int:
        k = np.broadcast_to(index(e.m, a), (a.n,))
        if int(k.max()) >= len(cells):
            raise Fault(IllegalInstruction, f"index {int(k.max())} of {len(cells)} targets", int(np.argmax(k)))
        targets = np.array([c[0] for c in cells], I64)[k]
        if rest is not None:
            e.add(pc + 1, rest)
        e.add_index(targets, a.index)
        return -1

    return [(None, run)]


def exit_(s: PtxSite) -> list[Step]:
    """exit."""

    def run(e: Engine, a: Active, rest: Active | None, pc: int) -> int:
        if rest is not None:
            e.add(pc + 1, rest)
        e.exit(a)
        return -1

    return [(None, run)]


def ret(s: PtxSite) -> list[Step]:
    """ret."""
    return exit_(s) if s.unit.function.entry else [(None, leave(s.unit))]


def leave(unit: Unit) -> Flow:
    """The return from a function: stores the results in their slots and restores the caller's rows and frame."""
    outs = [v for v in unit.function.rets if v.space == "reg"]

    def run(e: Engine, a: Active, rest: Active | None, pc: int) -> int:
        m = ptx(e.m)
        for v in outs:
            first, bits, _ = unit.rows[id(v)]
            at = m.frame[a.sel] + unit.formal(v)
            for k in range(formal_size(v) // 4):
                word = m.P[first][a.sel].astype(U32) if bits == 1 else m.R[first + k][a.sel]
                store_values(m, a, LOCAL, at + 4 * k, 4, [word])
        if rest is not None:
            e.add(pc + 1, rest)
        for level in m.levels(a.sel):
            here = at_depth(m, a, level)
            kept = m.saved[level - 1].get(unit.number)
            if kept is not None:
                _restore(m, unit, here, kept)
            m.frame[here.sel] += unit.frame_size
            m.dynamic[here.sel] = m.dynamic_at[level - 1][here.sel]
            m.depth[here.sel] = level - 1
            e.add_index(m.returns[level - 1][here.sel], here.index)
        return -1

    return run


def _rows_of(m: PtxMachine, unit: Unit) -> list[Arr]:
    return m.R[unit.first_row : unit.end_row] + m.P[unit.first_pred : unit.end_pred]


def _restore(m: PtxMachine, unit: Unit, a: Active, kept: list[Arr]) -> None:
    for row, old in zip(_rows_of(m, unit), kept, strict=True):
        row[a.sel] = old[a.sel]


def enter(m: PtxMachine, unit: Unit, a: Active, back: int) -> None:
    """Enters a callee: its frame, its return address and its register parameters."""
    for level in reversed(m.levels(a.sel)):
        here = at_depth(m, a, level)
        if level >= MAX_DEPTH:
            raise Fault(IllegalInstruction, f"more than {MAX_DEPTH} calls deep", 0)
        if level >= len(m.returns):
            m.returns.append(np.zeros(m.threads, I64))
            m.saved.append({})
            m.dynamic_at.append(np.zeros(m.threads, I64))
        m.returns[level][here.sel] = back
        m.dynamic_at[level][here.sel] = m.dynamic[here.sel]
        m.depth[here.sel] = level + 1
        if unit.recursive:
            kept = m.saved[level].get(unit.number)
            rows = _rows_of(m, unit)
            if kept is None:
                m.saved[level][unit.number] = [x.copy() for x in rows]
            else:
                for row, old in zip(rows, kept, strict=True):
                    old[here.sel] = row[here.sel]
    m.frame[a.sel] -= unit.frame_size
    for row in m.R[unit.first_row : unit.end_row]:
        row[a.sel] = m.choice.poison
    for v in unit.function.params:
        if v.space == "reg":
            first, bits, _ = unit.rows[id(v)]
            at = m.frame[a.sel] + unit.formal(v)
            for k in range(formal_size(v) // 4):
                (word,) = load_values(m, a, LOCAL, at + 4 * k, 4, 32)
                if bits == 1:
                    m.P[first][a.sel] = word != 0
                else:
                    m.R[first + k][a.sel] = word


def call(s: PtxSite) -> list[Step]:
    """call: stores arguments in slots below the caller's frame, jumps, and loads the results from their slots."""
    o = s.ops[0]
    signature = o.func
    if o.kind == O_FUNC and o.func is not None:
        signature = s.program.definition(o.func)
        if signature.body is None:
            return _syscall(s, signature)
    elif s.instr.proto is not None:
        signature = s.instr.proto.proto
    if signature is None:
        raise s.unknown("call without prototype")
    where, _ = slots(signature)
    send = [
        _sender(s, x, v, where[k + len(signature.rets)])
        for k, (x, v) in enumerate(zip(s.instr.args, signature.params, strict=True))
    ]
    take = [_receiver(s, x, v, where[k]) for k, (x, v) in enumerate(zip(s.instr.rets, signature.rets, strict=True))]
    address = s.src(o, "b64") if o.kind == O_REG else None
    callee = s.program.unit(signature) if address is None else None

    def jump(e: Engine, a: Active, rest: Active | None, pc: int) -> int:
        m = ptx(e.m)
        for f in send:
            f(m, a)
        if rest is not None:
            e.add(pc + 2, rest)
        if callee is not None:
            enter(m, callee, a, pc + 1)
            e.add(callee.start, a)
            return -1
        assert address is not None
        targets = np.broadcast_to(address(m, a), (a.n,))
        for value in np.unique(targets):
            unit = s.program.at_address(int(value))
            if unit is None:
                raise Fault(IllegalInstruction, f"call of 0x{int(value):x}, which is no function", 0)
            who = a.subset(targets == value)
            enter(m, unit, who, pc + 1)
            e.add(unit.start, who)
        return -1

    def receive(m: Machine, a: Active) -> None:
        for f in take:
            f(m, a)

    return [(None, jump), (receive, None)]


def _syscall(s: PtxSite, f: Function) -> list[Step]:
    """A call of a system function by the ABI: arguments from R4 on, 64-bit ones in even pairs."""
    if f.name not in NUMBERED:
        raise s.unknown(f"unresolved function '{f.name}'")
    number = SYSCALL_BASE + 16 * NUMBERED.index(f.name)
    gets = []
    at = 4
    for o, v in zip(s.instr.args, f.params, strict=True):
        words = max(1, v.size // 4)
        at = -(-(at - 4) // words) * words + 4
        gets.append((at, words, _argument(s, o, v)))
        at += words

    def run(m: Machine, a: Active) -> None:
        for first, words, g in gets:
            for k, x in enumerate(g(m, a)[:words]):
                m.R[first + k][a.sel] = x
        m.syscalls(m, number, a)
        for o, v in zip(s.instr.rets, f.rets, strict=True):
            values = [m.R[4][a.sel]] if v.size <= 4 else [m.R[4][a.sel], m.R[5][a.sel]]
            _keep(s, o, v)(m, a, values)

    return [(run, None)]


Words = Callable[[Machine, Active], list[Arr]]


def _argument(s: PtxSite, o: Operand, v: Var) -> Words:
    """The words of an argument."""
    if o.var is not None and o.var.space != "reg":
        local, size = s.unit.address(o.var, 0), v.size
        window = np.uint64(s.program.image.local_window)

        def words(m: Machine, a: Active) -> list[Arr]:
            at = np.broadcast_to((local(m, a) - window).view(I64), (a.n,))
            out: list[Arr] = []
            for k in range(0, size, 4):
                step = min(4, size - k)
                for j in range(0, step, step if step in (1, 2, 4) else 1):
                    piece = load_values(
                        m,
                        a,
                        LOCAL,
                        at + k + j,
                        step if step in (1, 2, 4) else 1,
                        8 * (step if step in (1, 2, 4) else 1),
                    )
                    part = piece[0].astype(U32) << np.uint32(8 * j)
                    if j == 0:
                        out.append(part)
                    else:
                        out[-1] = out[-1] | part
            return out

        return words
    t = v.type
    if t == "pred":
        q = s.pred(o)
        return lambda m, a: [np.broadcast_to(q(m, a), (a.n,)).astype(U32)]
    if bits_of(t) == 128 or v.vec > 1:
        row, _ = s.rows(o)
        count = formal_size(v) // 4
        return lambda m, a: [m.R[row + k][a.sel] for k in range(count)]
    g = s.src(o, t)

    def words_of(m: Machine, a: Active) -> list[Arr]:
        x = np.broadcast_to(g(m, a), (a.n,))
        return [x.astype(U32), (x >> np.uint64(32)).astype(U32)] if x.dtype == U64 else [x.astype(U32)]

    return words_of


def _write(m: Machine, a: Active, at: Arr, size: int, words: list[Arr]) -> None:
    for k, w in enumerate(words):
        left = size - 4 * k
        if left >= 4:
            store_values(m, a, LOCAL, at + 4 * k, 4, [w])
        else:
            for j in range(left):
                store_values(m, a, LOCAL, at + 4 * k + j, 1, [(w >> np.uint32(8 * j)).astype(np.uint8)])


def _sender(s: PtxSite, o: Operand, v: Var, below: int) -> Callable[[PtxMachine, Active], None]:
    g = _argument(s, o, v)
    size = formal_size(v)
    return lambda m, a: _write(m, a, m.frame[a.sel] - below, size, g(m, a))


def _keep(s: PtxSite, o: Operand, v: Var) -> Callable[[Machine, Active, list[Arr]], None]:
    """Stores the words of a result."""
    if o.kind == O_SINK:
        return lambda m, a, words: None
    if o.var is not None and o.var.space != "reg":
        local = s.unit.address(o.var, 0)
        window = np.uint64(s.program.image.local_window)
        size = v.size

        def store(m: Machine, a: Active, words: list[Arr]) -> None:
            at = np.broadcast_to((local(m, a) - window).view(I64), (a.n,))
            _write(m, a, at, size, words)

        return store
    t = v.type
    if t == "pred":
        flag = s.setp(o)
        return lambda m, a, words: flag(m, a, words[0] != 0)
    if bits_of(t) == 128 or v.vec > 1:
        row, _ = s.rows(o)

        def wide(m: Machine, a: Active, words: list[Arr]) -> None:
            for k, w in enumerate(words):
                m.R[row + k][a.sel] = w

        return wide
    put = s.dst(o, t)
    bits = bits_of(t)

    def register(m: Machine, a: Active, words: list[Arr]) -> None:
        if bits == 64:
            put(m, a, words[0].astype(U64) | words[1].astype(U64) << np.uint64(32))
        else:
            put(m, a, words[0].astype({8: np.uint8, 16: np.uint16, 32: np.uint32}[bits]))

    return register


def _receiver(s: PtxSite, o: Operand, v: Var, below: int) -> Callable[[Machine, Active], None]:
    keep = _keep(s, o, v)
    size = formal_size(v)

    def run(m: Machine, a: Active) -> None:
        at = ptx(m).frame[a.sel] - below
        words: list[Arr] = []
        for k in range(0, size, 4):
            left = min(4, size - k)
            if left == 4:
                words.append(load_values(m, a, LOCAL, at + k, 4, 32)[0])
            else:
                w = np.zeros(a.n, U32)
                for j in range(left):
                    w = w | load_values(m, a, LOCAL, at + k + j, 1, 8)[0].astype(U32) << np.uint32(8 * j)
                words.append(w)
        keep(m, a, words)

    return run


def warp_barrier(s: PtxSite) -> list[Step]:
    """bar.warp.sync."""
    g = s.src(s.ops[0], "b32")
    return [(None, lambda e, a, rest, pc: e.wait_warpsync(a, np.broadcast_to(g(e.m, a), (a.n,)), rest, pc))]


_WHOLE: Final = ("mma", "wmma.", "wgmma.mma", "ldmatrix", "stmatrix", "movmatrix", "tcgen05.")
_REDUCTIONS: Final = {"popc": 1, "and": 2, "or": 3}


def barrier(s: PtxSite) -> list[Step]:
    """bar and barrier: sync, arrive, red."""
    what = s.mods.get("op", "sync")
    ops = s.ops[1:] if what == "red" else s.ops
    number = s.src(ops[0], "u32")
    counted = len(ops) > (2 if what == "red" else 1)
    count = s.src(ops[1], "u32") if counted else None
    red = _REDUCTIONS[s.mods["bool"]] if what == "red" else 0
    vote = s.pred(ops[-1]) if red else None

    def run(e: Engine, a: Active, rest: Active | None, pc: int) -> int:
        n = np.broadcast_to(number(e.m, a), (a.n,)).astype(I64) & 15
        k = np.broadcast_to(count(e.m, a), (a.n,)).astype(I64) if count is not None else np.zeros(a.n, I64)
        if what == "arrive":
            e.arrive_block(a, n, k)
            return go_on(e, a, rest, pc)
        ballot = np.broadcast_to(vote(e.m, a), (a.n,)) if vote is not None else None
        return e.wait_block(a, n, k, red, ballot, rest, pc)

    if not red:
        return [(None, run)]
    t = "pred" if red > 1 else "u32"
    put = s.dst(s.ops[0], t)

    def result(e: Engine, a: Active, rest: Active | None, pc: int) -> int:
        v = e.bar_result[a.sel]
        put(e.m, a, v != 0 if red > 1 else v)
        return go_on(e, a, rest, pc)

    return [(None, run), (None, result)]


def cluster_barrier(s: PtxSite) -> list[Step]:
    """barrier.cluster."""
    if s.mods["op"] == "arrive":

        def arrive(e: Engine, a: Active, rest: Active | None, pc: int) -> int:
            e.cluster_arrive(a)
            return go_on(e, a, rest, pc)

        return [(None, arrive)]
    return [(None, lambda e, a, rest, pc: e.cluster_wait(a, rest, pc))]


def trap(s: PtxSite) -> list[Step]:
    """trap and brkpt."""

    def run(e: Engine, a: Active, rest: Active | None, pc: int) -> int:
        raise Fault(Trap, "trap", 0)

    return [(None, run)]


def nanosleep(s: PtxSite) -> list[Step]:
    """nanosleep: other threads may run now."""

    def run(e: Engine, a: Active, rest: Active | None, pc: int) -> int:
        e.polled = True
        return go_on(e, a, rest, pc)

    return [(None, run)]


FLOW: Final[dict[str, Callable[[PtxSite], list[Step]]]] = {
    "bra": bra, "brx.idx": brx, "brx": brx, "exit": exit_, "ret": ret, "call": call, "bar": barrier, "barrier": barrier,
    "barrier.cluster": cluster_barrier, "trap": trap, "brkpt": trap, "nanosleep": nanosleep,
    "bar.warp.sync": warp_barrier,
}  # fmt: skip


def synchronised(s: PtxSite, run: Exec) -> list[Step]:
    """An operation; those that the whole warp executes wait for all threads."""
    if s.has("aligned") and s.name.startswith(_WHOLE):
        return [(None, lambda e, a, rest, pc: e.wait_warpsync(a, np.full(a.n, 0xFFFFFFFF, U32), rest, pc)), (run, None)]
    return [(run, None)]
