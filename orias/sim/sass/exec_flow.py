"""Builders for control flow: branches, calls, barriers.  A builder returns a :data:`~orias.sim.core.engine.Flow`."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from orias.isa.operand import (
    INV,
    K_B,
    K_IMM,
    K_P,
    K_R,
    K_UP,
    K_UR,
    Opnd,
    imm,
    in_file,
    is_imm,
    is_pred,
    kind_of,
    payload,
)
from orias.sim.core.engine import Engine, Flow
from orias.sim.core.sim_errors import Fault, IllegalInstruction, PartOfWarp, Trap
from orias.sim.core.site import Exec, Site
from orias.sim.core.state import Active, Machine
from orias.sim.math.ops_int import I64, U32, U64

Arr = npt.NDArray[Any]
FlowBuilder = Callable[[Site], Flow]

CODE_BASE: Final = 0x7F8000000000
"""Start of a module's code in the address space of function pointers."""
SYSCALL_BASE: Final = 0x7F9000000000
"""Addresses of system functions, 16 bytes apart."""
_WHOLE_WARP: Final = 0xFFFFFFFF


def _signed64(v: int) -> int:
    return v - (1 << 64) if v >> 63 else v


def _predicates(s: Site) -> list[Opnd]:
    return [o for o in s.src if is_pred(o)]


_OUTSIDE: Final = (1 << 31) - 1
"""An instruction index after all code, where execution ends with an error."""


def branch_target(s: Site, o: Opnd) -> int:
    """Instruction index of a relative label; a damaged one may lie before the code or far after it."""
    target = (s.address + 16 + _signed64(payload(o)) - CODE_BASE) >> 4
    return target if 0 <= target < _OUTSIDE else _OUTSIDE


def _filter(s: Site) -> Callable[[Machine, Active], Arr] | None:
    """The conjunction of a branch's predicate sources; None if there are none, or only PT."""
    ps = [o for o in _predicates(s) if payload(o) != 7 or o & INV]
    if not ps:
        return None
    g = [s.pred(o) for o in ps]

    def get(m: Machine, a: Active) -> Arr:
        r = np.broadcast_to(g[0](m, a), (a.n,))
        for x in g[1:]:
            r = r & x(m, a)
        return r

    return get


def _divide(a: Active, rest: Active | None, keep: Arr) -> tuple[Active | None, Active | None]:
    """Moves the threads where `keep` is false from the first set to the second."""
    if keep.all():
        return a, rest
    out = a.subset(~keep).index
    if rest is not None:
        out = np.concatenate((out, rest.index))
        out.sort()
    other = Active(out)
    return (a.subset(keep) if keep.any() else None), other


def bra(s: Site) -> Flow:
    """BRA; CONV and DIV test whether the threads of a mask are converged."""
    label = next(o for o in reversed(s.src) if is_imm(o))
    target = branch_target(s, label)
    condition = _filter(s)
    if s.has("CONV") or s.has("DIV"):
        # sm_75 has no register for the mask: there it is of the whole warp.
        masks = [o for o in s.src if in_file(o, K_UR)]
        mask_getter = s.i32(masks[0]) if masks else s.i32(imm(_WHOLE_WARP))
        diverged = s.has("DIV")

        def test(e: Engine, a: Active, rest: Active | None, pc: int) -> int:
            mask = np.broadcast_to(mask_getter(e.m, a), (a.n,))
            together = (mask & e.alive_mask[a.warp_of] & ~a.lane_mask[a.position >> 5]) == 0
            keep = ~together if diverged else together
            taken, other = _divide(a, rest, keep)
            if taken is None:
                return pc + 1
            return e.split(taken, target, other, pc)

        return test
    if s.has("U") and s.has("ANY"):
        if condition is not None:
            raise s.unknown("predicate")

        def together_if_any(e: Engine, a: Active, rest: Active | None, pc: int) -> int:
            """All threads of a warp branch if the guard holds for any of them."""
            if rest is None:
                return target
            other, stay = _divide(rest, None, np.isin(rest.warp_of, a.warps))
            e.add(target, a)
            if other is not None:
                e.add(target, other)
            if stay is not None:
                e.add(pc + 1, stay)
            return -1

        return together_if_any
    if condition is None:
        return lambda e, a, rest, pc: e.split(a, target, rest, pc)
    check = condition

    def run(e: Engine, a: Active, rest: Active | None, pc: int) -> int:
        taken, other = _divide(a, rest, check(e.m, a))
        if taken is None:
            if rest is None:
                return pc + 1
            assert other is not None
            e.add(pc + 1, other)
            return -1
        return e.split(taken, target, other, pc)

    return run


def exit_(s: Site) -> Flow:
    """EXIT, KILL."""
    condition = _filter(s)

    def run(e: Engine, a: Active, rest: Active | None, pc: int) -> int:
        going: Active | None = a
        if condition is not None:
            going, rest = _divide(a, rest, condition(e.m, a))
        if rest is not None:
            e.add(pc + 1, rest)
        if going is not None:
            e.exit(going)
        return -1

    return run


def jump_to(e: Engine, a: Active, addresses: Arr, rest: Active | None, pc: int) -> int:
    """Jumps to an absolute code address per thread; at addresses of system functions the call is executed."""
    if rest is not None:
        e.add(pc + 1, rest)
    addresses = np.broadcast_to(addresses, (a.n,))
    index = a.index
    first = int(addresses[0])
    alike = bool((addresses == np.uint64(first)).all())
    for value in [first] if alike else [int(v) for v in np.unique(addresses)]:
        who = a if alike else a.subset(addresses == np.uint64(value))
        if value >= SYSCALL_BASE:
            again = e.m.syscalls(e.m, value, who)
            if again is not None:
                e.polled = True
                e.add(pc, who.subset(again))
                if again.all():
                    continue
                who = who.subset(~again)
            back = np.broadcast_to(e.m.pair(20, who.sel), (who.n,))
            _land(e, who.index, back)
        else:
            _land(e, who.index, addresses[np.isin(index, who.index)] if not alike else addresses)
    return -1


def _land(e: Engine, index: Arr, addresses: Arr) -> None:
    pcs = (addresses - np.uint64(CODE_BASE)).view(I64) if addresses.dtype == U64 else addresses
    bad = (pcs < 0) | (pcs >> 4 >= len(e.plans)) | (pcs & 15 != 0)
    if bad.any():
        i = int(np.argmax(bad))
        raise Fault(
            IllegalInstruction, f"jump to 0x{int(addresses[i]):x}, which is no instruction", thread=int(index[i])
        )
    e.add_index(pcs >> 4, index)


def call(s: Site) -> Flow:
    """CALL.REL label, CALL.REL register + label, CALL.ABS register or constant."""
    labels = [o for o in s.src if is_imm(o)]
    regs = [o for o in s.src if kind_of(o) not in (K_IMM, K_P, K_UP)]
    if not regs:
        if s.has("ABS"):
            where = np.full(1, payload(labels[-1]), U64)
            return lambda e, a, rest, pc: jump_to(e, a, where, rest, pc)
        target = branch_target(s, labels[-1])
        return lambda e, a, rest, pc: e.split(a, target, rest, pc)
    g = s.raw64(regs[0])
    base = np.uint64(
        (s.address + 16 + _signed64(payload(labels[-1]))) & 0xFFFFFFFFFFFFFFFF if s.has("REL") and labels else 0
    )
    if labels and not s.has("REL"):
        base = np.uint64(payload(labels[-1]))

    def run(e: Engine, a: Active, rest: Active | None, pc: int) -> int:
        return jump_to(e, a, g(e.m, a) + base, rest, pc)

    return run


def brx(s: Site) -> Flow:
    """BRX, JMX: a register pair added to a label."""
    label = next((o for o in s.src if is_imm(o)), None)
    reg = next(o for o in s.src if kind_of(o) in (K_R, K_UR))
    g = s.raw64(reg)
    offset = _signed64(payload(label)) if label is not None else 0
    relative = s.op.base.startswith(("BRX", "RET")) and not s.has("ABS")
    base = np.uint64(((s.address + 16 if relative else 0) + offset) & 0xFFFFFFFFFFFFFFFF)
    condition = _filter(s)

    def run(e: Engine, a: Active, rest: Active | None, pc: int) -> int:
        going: Active | None = a
        if condition is not None:
            going, rest = _divide(a, rest, condition(e.m, a))
        if going is None:
            assert rest is not None
            e.add(pc + 1, rest)
            return -1
        return jump_to(e, going, g(e.m, going) + base, rest, pc)

    return run


def bsync(s: Site) -> Flow:
    """BSYNC."""
    k = payload(next(o for o in s.src if in_file(o, K_B)))
    if _filter(s) is not None:
        raise s.unknown("predicate")
    return lambda e, a, rest, pc: e.wait_bsync(k, a, rest, pc)


def bssy(s: Site) -> Exec:
    """BSSY: the active threads become the members of the barrier."""
    k = payload(s.dst[0]) if s.dst else payload(s.src[0])

    def run(m: Machine, a: Active) -> None:
        m.B[k][a.sel] = _WHOLE_WARP if a.whole else a.each(a.lane_mask)

    return run


def break_(s: Site) -> Flow:
    """BREAK: the threads leave the barrier."""
    k = payload(next(o for o in s.src if in_file(o, K_B)))
    condition = _filter(s)

    def run(e: Engine, a: Active, rest: Active | None, pc: int) -> int:
        going: Active | None = a
        if condition is not None:
            going = a.subset(condition(e.m, a)) if condition(e.m, a).any() else None
        if going is not None:
            e.leave(k, going.warps, going.lane_mask)
            e.check_bsync(k, going.warps)
        if rest is None:
            return pc + 1
        e.add(pc + 1, a)
        e.add(pc + 1, rest)
        return -1

    return run


def bmov(s: Site) -> Exec:
    """BMOV between a convergence barrier (its thread mask) and a register; CLEAR empties the barrier."""
    d, o = s.dst[0], s.src[0]
    clear = s.has("CLEAR")
    if in_file(d, K_B):
        k = payload(d)
        if in_file(o, K_B):
            j = payload(o)

            def move(m: Machine, a: Active) -> None:
                m.B[k][a.sel] = m.B[j][a.sel]

            return move
        g = s.i32(o)

        def put(m: Machine, a: Active) -> None:
            m.B[k][a.sel] = g(m, a)

        return put
    if not in_file(o, K_B):
        raise s.unknown("operand")
    k = payload(o)
    store = s.set32(d)

    def get(m: Machine, a: Active) -> None:
        store(m, a, m.B[k][a.sel])
        if clear:
            m.B[k][a.sel] = 0

    return get


def warpsync(s: Site) -> Flow:
    """WARPSYNC; COLLECTIVE names where the threads go on after the operation that they run in one place."""
    if s.has("COLLECTIVE"):
        target = branch_target(s, next(o for o in reversed(s.src) if is_imm(o)))
        members = s.i32(imm(_WHOLE_WARP) if s.has("ALL") else s.src[0])
        return lambda e, a, rest, pc: e.wait_collective(a, np.broadcast_to(members(e.m, a), (a.n,)), target, rest, pc)
    if s.has("ALL") or not s.src:
        every = np.full(1, 0xFFFFFFFF, U32)
        return lambda e, a, rest, pc: e.wait_warpsync(a, np.broadcast_to(every, (a.n,)), rest, pc)
    g = s.i32(s.src[0])
    return lambda e, a, rest, pc: e.wait_warpsync(a, np.broadcast_to(g(e.m, a), (a.n,)), rest, pc)


def end_collective(s: Site) -> Flow:
    """ENDCOLLECTIVE: each thread goes on where its WARPSYNC.COLLECTIVE said."""
    return lambda e, a, rest, pc: e.end_collective(a, rest, pc)


def hint(s: Site) -> Flow:
    """YIELD, NANOSLEEP: other threads may run now."""
    yielding = s.op.base == "YIELD"

    def run(e: Engine, a: Active, rest: Active | None, pc: int) -> int:
        e.polled = True
        if yielding:
            e.yielded(a)
        if rest is None:
            return pc + 1
        e.add(pc + 1, a)
        e.add(pc + 1, rest)
        return -1

    return run


_REDUCTIONS: Final = {"POPC": 1, "AND": 2, "OR": 3}


def bar(s: Site) -> Flow:
    """BAR.SYNC, BAR.ARV, BAR.RED: barrier number, thread count, predicate.

    A register with both number and count has the count in bits 16 to 27 (as ``ptxas`` packs it).  The hardware counts warps: part of one
    there is an error.
    """
    operands = [o for o in s.src if not is_pred(o)]
    if not operands or not (s.has("SYNC") or s.has("ARV") or s.has("RED") or s.has("SYNCALL")):
        raise s.unknown()
    number = s.i32(operands[0])
    packed = len(operands) > 1 and operands[1] == operands[0] and in_file(operands[0], K_R)
    expected = s.i32(operands[1]) if len(operands) > 1 else None
    red = next((v for k, v in _REDUCTIONS.items() if s.has(k)), 0) if s.has("RED") else 0
    preds = _predicates(s)
    vote = s.pred(preds[0]) if red and preds else None
    arrive = s.has("ARV")
    of_all = expected is None and not red and not arrive and is_imm(operands[0])

    def run(e: Engine, a: Active, rest: Active | None, pc: int) -> int:
        m = e.m
        if of_all and rest is None and not e.bar_arrived.any() and e.all_here(a):
            return pc + 1
        missing = e.alive_mask[a.warps] & ~a.lane_mask
        if missing.any():
            # Seen on an H200 (docs/gpu-runs.md): the barrier lets the others go before the missing threads have arrived.
            warp = int(np.argmax(missing != 0))
            lane = (int(missing[warp]) & -int(missing[warp])).bit_length() - 1
            raise Fault(
                PartOfWarp,
                f"part of a warp at a barrier: lane {lane} is not there",
                thread=int(a.warps[warp]) * 32 + lane,
            )
        who = (a.n,)
        barrier = np.broadcast_to(number(m, a), who).astype(I64) & 15
        if expected is None:
            count = np.zeros(a.n, I64)
        else:
            count = np.broadcast_to(expected(m, a), who).astype(I64)
            if packed:
                count = count >> 16
            count = count & 0xFFF
        if arrive:
            e.arrive_block(a, barrier, count)
            if rest is None:
                return pc + 1
            e.add(pc + 1, a)
            e.add(pc + 1, rest)
            return -1
        if (
            rest is None
            and expected is None
            and not red
            and (barrier == barrier[0]).all()
            and not e.bar_arrived.any()
            and e.all_here(a)
        ):
            return pc + 1
        ballot = np.broadcast_to(vote(m, a), who) if vote is not None else None
        return e.wait_block(a, barrier, count, red, ballot, rest, pc)

    return run


def b2r(s: Site) -> Flow:
    """B2R.RESULT: the result of the last BAR.RED, as a word and as a predicate."""
    if not s.has("RESULT"):
        raise s.unknown()
    puts = [s.set32(o) for o in s.regs]
    outs = [s.setp(o) for o in s.preds]

    def run(e: Engine, a: Active, rest: Active | None, pc: int) -> int:
        v = e.bar_result[a.sel]
        for put in puts:
            put(e.m, a, v)
        for out in outs:
            out(e.m, a, v != 0)
        if rest is None:
            return pc + 1
        e.add(pc + 1, a)
        e.add(pc + 1, rest)
        return -1

    return run


def bpt(s: Site) -> Flow:
    """BPT.TRAP ends the launch; other breakpoints do nothing."""
    if s.has("TRAP"):

        def trap(e: Engine, a: Active, rest: Active | None, pc: int) -> int:
            raise Fault(Trap, "trap", 0)

        return trap
    return hint(s)


def cluster_arrive(s: Site) -> Flow:
    """UCGABAR_ARV."""

    def run(e: Engine, a: Active, rest: Active | None, pc: int) -> int:
        e.cluster_arrive(a)
        if rest is None:
            return pc + 1
        e.add(pc + 1, a)
        e.add(pc + 1, rest)
        return -1

    return run


def cluster_wait(s: Site) -> Flow:
    """UCGABAR_WAIT."""
    return lambda e, a, rest, pc: e.cluster_wait(a, rest, pc)


FLOW_BUILDERS: Final[dict[str, FlowBuilder]] = {
    "BRA": bra, "EXIT": exit_, "KILL": exit_, "CALL": call, "RET": brx, "BRX": brx, "JMX": brx, "BRXU": brx,
    "JMXU": brx, "BSYNC": bsync, "BREAK": break_, "WARPSYNC": warpsync, "YIELD": hint, "NANOSLEEP": hint,
    "ENDCOLLECTIVE": end_collective, "BAR": bar, "B2R": b2r, "BPT": bpt, "UCGABAR_ARV": cluster_arrive,
    "UCGABAR_WAIT": cluster_wait,
}  # fmt: skip

BUILDERS: Final[dict[str, Callable[[Site], Exec]]] = {"BSSY": bssy, "BMOV": bmov}
