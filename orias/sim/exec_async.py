"""Builders for barrier objects in shared memory (mbarrier) and for asynchronous stores and bulk copies.

Copies are done at once, so a transaction is complete when it is issued.

Layout of the 64-bit object from sm_90 on, from how ``ptxas`` initialises it and reads its count (bits; C = 2**20 minus a count):
1..20 C of the expected arrivals, 21..42 transaction bytes outstanding (signed; a guess, no code reads it), 43..62 C of the
pending arrivals, 63 phase.  On sm_80 to sm_89: low word 2**30 minus the expected arrivals, high word the phase (bit 31) and
2**31 minus the pending arrivals.
"""

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from orias.isa.operand import K_IMM, is_zero_reg, kind, payload
from orias.sim.errors import Fault
from orias.sim.exec_mem import address32, shared_offsets
from orias.sim.ops_int import I64, U32, U64
from orias.sim.site import Exec, Getter, Site
from orias.sim.state import Active, Machine

Arr = npt.NDArray[Any]
Builder = Callable[[Site], Exec]

_COUNT: Final = 0xFFFFF
_TX_BITS: Final = 22


def update(state: int, arrivals: int, transactions: int, drop: int = 0) -> int:
    """The object of sm_90 after arrivals, changes of the transaction count and of the expected arrivals."""
    expected = -(state >> 1) & _COUNT
    tx = state >> 21 & (1 << _TX_BITS) - 1
    if tx >> (_TX_BITS - 1):
        tx -= 1 << _TX_BITS
    pending = -(state >> 43) & _COUNT
    phase = state >> 63
    expected = (expected - drop) & _COUNT
    pending = (pending - arrivals) & _COUNT
    tx += transactions
    if pending == 0 and tx == 0:
        phase ^= 1
        pending = expected
    tx &= (1 << _TX_BITS) - 1
    return phase << 63 | (-pending & _COUNT) << 43 | tx << 21 | (-expected & _COUNT) << 1 | state & 1


def _each(m: Machine, offsets: Arr, change: Callable[[int, int], int]) -> Arr:
    """Changes objects one thread after the other; the old values."""
    view = m.shared.views[8]
    old = np.zeros(len(offsets), U64)
    for i, o in enumerate(offsets):
        k = int(o) >> 3
        state = int(view[k])
        old[i] = state
        view[k] = change(state, i)
    return old


def _complete(size: int) -> Callable[[int, int], int]:
    return lambda state, i: update(state, 0, -size)


def _one_a_warp(a: Active) -> Arr:
    """Positions of the first thread of each warp where a uniform instruction acts."""
    return np.flatnonzero(np.diff(a.warp_of, prepend=-1))


_ARRIVALS: Final[dict[str, tuple[int, int]]] = {
    "A1T0": (1, 0), "ART0": (-1, 0), "A0TR": (0, 1), "A0TX": (0, -1), "A1TR": (1, 1),
}  # fmt: skip
"""Arrivals (-1: as many as the operand says) and factor of the operand in the transaction count."""


def syncs(s: Site) -> Exec:
    """SYNCS: EXCH stores an object, ARRIVE arrives, PHASECHK asks whether a phase is over."""
    if s.has("CCTL"):
        return lambda m, a: None
    get = address32(s, 0)
    data = s.src[4] if len(s.src) > 4 else None
    if s.has("EXCH"):
        if data is None or not is_zero_reg(s.regs[0]):
            raise s.unknown("result")
        value = s.raw64(data)

        def exchange(m: Machine, a: Active) -> None:
            first = _one_a_warp(a)
            address = get(m, a)[first]
            v = np.broadcast_to(value(m, a), (a.n,))[first]
            m.shared.store(
                shared_offsets(m, a, address, first, 8, 8), 8, [v.astype(U32), (v >> np.uint64(32)).astype(U32)]
            )

        return exchange
    if s.has("PHASECHK"):
        assert data is not None
        word = s.raw(data)
        out = s.setp(s.preds[0])

        def check(m: Machine, a: Active) -> None:
            high = m.shared.load(shared_offsets(m, a, get(m, a), None, 8, 8), 8)[1]
            out(m, a, ((high ^ word(m, a)) >> np.uint32(31)) != 0)

        return check
    if not s.has("ARRIVE") or s.has("TMASK"):
        raise s.unknown()
    rule = next((v for k, v in _ARRIVALS.items() if s.has(k)), (1, 1))
    drop = 1 if s.has("OPTOUT") else 0
    operand: Getter = s.raw(data) if data is not None else (lambda m, a: np.zeros(1, U32))
    put = s.set64(s.regs[0]) if s.regs and not is_zero_reg(s.regs[0]) else None

    def arrive(m: Machine, a: Active) -> None:
        amount = np.broadcast_to(operand(m, a), (a.n,)).astype(I64)
        offsets = shared_offsets(m, a, get(m, a), None, 8, 8)

        def change(state: int, i: int) -> int:
            n = int(amount[i]) if rule[0] < 0 else rule[0]
            return update(state, n, rule[1] * int(amount[i]), drop)

        old = _each(m, offsets, change)
        if put is not None:
            put(m, a, old)

    return arrive


def atoms_arrive(s: Site) -> Exec:
    """ATOMS.ARRIVE.64 (sm_80 to sm_89): one arrival; the old object."""
    get = address32(s, 0)
    put = s.set64(s.regs[0])

    def change(state: int, i: int) -> int:
        low, high = state & 0xFFFFFFFF, state >> 32
        after = (high + 1) & 0xFFFFFFFF
        if (after ^ high) >> 31:
            after = (after & 0x80000000) | ((low + 0x40000000) & 0x7FFFFFFF)
        return after << 32 | low

    def run(m: Machine, a: Active) -> None:
        put(m, a, _each(m, shared_offsets(m, a, get(m, a), None, 8, 8), change))

    return run


def stas(s: Site) -> Exec:
    """STAS: a store to shared memory of the cluster that completes a transaction; address and object lie in a register pair."""
    size = 16 if s.has("128") else 8 if s.has("64") else 4
    base, data = s.src[1], s.src[4]
    target, barrier = s.raw(base), s.raw(base + (1 << 15))
    offset = payload(s.src[3]) & 0xFFFFFFFF
    values = [s.raw(data if is_zero_reg(data) else data + (k << 15)) for k in range(size // 4)]

    def run(m: Machine, a: Active) -> None:
        to = (np.broadcast_to(target(m, a), (a.n,)) + np.uint32(offset)).astype(I64)
        objects = np.broadcast_to(barrier(m, a), (a.n,)).astype(I64)
        where = shared_offsets(m, a, to, None, size, size)
        m.shared.store(where, size, [np.broadcast_to(g(m, a), (a.n,)) for g in values])
        _each(m, shared_offsets(m, a, objects, None, 8, 8), _complete(size))

    return run


def ublkcp(s: Site) -> Exec:
    """UBLKCP: a bulk copy between global and shared memory, once a warp; the size counts 16 bytes.

    To shared memory (S.G) the destination's register pair holds the address and the mbarrier object.
    """
    ways = [x for x in s.op.mods if x in ("S", "G")]
    if ways not in (["S", "G"], ["G", "S"]) or set(s.op.mods) - {"S", "G"}:
        raise s.unknown()
    operands = [o for o in s.src if kind(o) != K_IMM and kind(o) != 0 and not is_zero_reg(o)]
    if len(operands) != 3:
        raise s.unknown("operands")
    to_shared = ways[0] == "S"
    shared_o, global_o = (operands[0], operands[1]) if to_shared else (operands[1], operands[0])
    shared_at, global_at, count = s.raw(shared_o), s.raw64(global_o), s.raw(operands[2])
    barrier = s.raw(shared_o + (1 << 15)) if to_shared else None

    def run(m: Machine, a: Active) -> None:
        for i in _one_a_warp(a):
            where = np.array([i])
            size = int(np.broadcast_to(count(m, a), (a.n,))[i]) * 16
            if size == 0:
                continue
            address = np.broadcast_to(shared_at(m, a), (a.n,))[where].astype(I64)
            inner = int(shared_offsets(m, a, address, where, size, 16)[0])
            try:
                outer = int(m.arena.offsets(np.broadcast_to(global_at(m, a), (a.n,))[where], size, 16)[0])
            except Fault as f:
                raise Fault(f.error, f.message, int(i)) from None
            if barrier is None:
                m.arena.data[outer : outer + size] = m.shared.data[inner : inner + size]
                continue
            m.shared.data[inner : inner + size] = m.arena.data[outer : outer + size]
            objects = np.broadcast_to(barrier(m, a), (a.n,))[where].astype(I64)
            _each(m, shared_offsets(m, a, objects, where, 8, 8), _complete(size))

    return run


def usetmaxreg(s: Site) -> Exec:
    """USETMAXREG: registers are never short here, so an attempt succeeds at once."""
    if not s.has("TRY_ALLOC"):
        return lambda m, a: None
    out = s.setp(s.preds[0])
    return lambda m, a: out(m, a, np.ones(1, np.bool_))


BUILDERS: Final[dict[str, Builder]] = {"SYNCS": syncs, "STAS": stas, "UBLKCP": ublkcp, "USETMAXREG": usetmaxreg}
