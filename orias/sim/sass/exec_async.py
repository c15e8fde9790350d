"""Builders for barrier objects in shared memory (mbarrier) and for asynchronous stores.

Copies of :mod:`orias.sim.sass.exec_copy` and asynchronous stores report their completion to these objects.

Layout of the 64-bit object from sm_90 on, as ``ptxas`` initialises it and reads its count (C = 2**20 minus a count):
bits 1..20 are C of the expected arrivals, 21..42 the outstanding transaction bytes (signed; a guess, because no code
reads them), 43..62 C of the pending arrivals, 63 the phase.  On sm_80 to sm_89: the low word is 2**30 minus the
expected arrivals; the high word is the phase (bit 31) and 2**31 minus the pending arrivals.
"""

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from orias.isa.operand import K_R, in_file, is_imm, is_zero_reg, payload, reg_plus
from orias.sim.core.sim_errors import Deadlock, Fault
from orias.sim.core.site import Exec, Getter, Site
from orias.sim.core.state import Active, Bytes, Machine
from orias.sim.math.ops_int import I64, U32, U64
from orias.sim.sass.memory_places import address32, shared_offsets

Arr = npt.NDArray[Any]
Builder = Callable[[Site], Exec]

_COUNT: Final = 0xFFFFF
_TX_BITS: Final = 22


def update(state: int, arrivals: int, transactions: int, drop: int = 0) -> int:
    """The object of sm_90 after arrivals, a change of the transaction count, and `drop` fewer expected arrivals."""
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


def fresh(count: int) -> int:
    """An object of sm_90 that waits for `count` arrivals."""
    return (-count & _COUNT) << 43 | (-count & _COUNT) << 1


def each_object(m: Machine, offsets: Arr, change: Callable[[int, int], int]) -> Arr:
    """Changes objects, one thread after the other; returns their old values."""
    m.changed = m.clock
    view = m.shared.views[8]
    old = np.zeros(len(offsets), U64)
    for i, o in enumerate(offsets):
        k = int(o) >> 3
        state = int(view[k])
        old[i] = state
        view[k] = change(state, i)
    return old


def complete(m: Machine, offsets: Arr, size: int) -> None:
    """Reports completed transactions of `size` bytes each to objects at (checked) offsets."""
    each_object(m, offsets, lambda state, i: update(state, 0, -size))


def _one_a_warp(a: Active) -> Arr:
    """Positions of the first thread of each warp, which executes a uniform instruction."""
    return np.flatnonzero(np.diff(a.warp_of, prepend=-1))


_ARRIVALS: Final[dict[str, tuple[int, int]]] = {
    "A1T0": (1, 0), "ART0": (-1, 0), "A0TR": (0, 1), "A0TX": (0, -1), "A0T1": (0, 0), "A1TR": (1, 1),
}  # fmt: skip
"""(arrivals, or -1 for the operand; factor of the operand in the transaction count); A0T1 adds 1 to that count."""
_PATIENCE: Final = 300_000
"""Steps without a change of any object after which polling threads are deadlocked."""


def note_wait(m: Machine, a: Active, offsets: Arr, over: Arr) -> None:
    """Records the threads that poll an object, and with ``late`` does what they wait for; a Fault if no object has changed for too long."""
    if m.late:
        m.finish_for(offsets[~over])
    i = int(np.argmax(~over))
    m.waits[int(offsets[i])] = (m.clock, a.first, int(np.count_nonzero(~over)))
    if m.clock - m.changed < _PATIENCE or m.later:
        return
    texts: list[str] = []
    for offset, (clock, thread, count) in m.waits.items():
        if m.clock - clock < _PATIENCE // 2:
            block, at = divmod(offset, m.shared.stride)
            state = int(m.shared.views[8][offset >> 3])
            pending, tx = -(state >> 43) & _COUNT, state >> 21 & (1 << _TX_BITS) - 1
            tx = -tx & (1 << _TX_BITS) - 1 if tx >> (_TX_BITS - 1) else tx
            texts.append(
                f"{count} threads (the first is {thread} of the batch) wait for the mbarrier at 0x{at + m.shared.base:x} of block"
                f" {block}: phase {state >> 63}, {pending} arrivals and {tx} bytes pending"
            )
    raise Fault(Deadlock, "no barrier object changes any more: " + "; ".join(texts[:8]), i)


def syncs(s: Site) -> Exec:
    """SYNCS: EXCH stores an object, ARRIVE arrives at it, PHASECHK tests whether a phase has ended."""
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
            m.finish_due()
            offsets = shared_offsets(m, a, get(m, a), None, 8, 8)
            high = m.shared.load(offsets, 8)[1]
            over = ((high ^ word(m, a)) >> np.uint32(31)) != 0
            out(m, a, over)
            if not over.all():
                note_wait(m, a, offsets, over)

        return check
    if not s.has("ARRIVE"):
        raise s.unknown()
    masked = s.has("TMASK")
    rule = next((v for k, v in _ARRIVALS.items() if s.has(k)), (1, 1))
    drop = s.has("OPTOUT")
    fixed = 1 if s.has("A0T1") else 0
    operand: Getter = s.raw(data) if data is not None else (lambda m, a: np.zeros(1, U32))
    put = s.set64(s.regs[0]) if s.regs and not is_zero_reg(s.regs[0]) else None

    def arrive(m: Machine, a: Active) -> None:
        amount = np.broadcast_to(operand(m, a), (a.n,)).astype(I64)
        offsets = shared_offsets(m, a, get(m, a), None, 8, 8)

        def change(state: int, i: int) -> int:
            n = int(amount[i]) if rule[0] < 0 else rule[0]
            return update(state, n, rule[1] * int(amount[i]) + fixed, n if drop else 0)

        old = each_object(m, offsets, change)
        if masked:
            old = _together(a, offsets, old)
        if put is not None:
            put(m, a, old)

    return arrive


def _together(a: Active, offsets: Arr, old: Arr) -> Arr:
    """For each thread: the mask of threads of its warp that changed the same object, and the high word before all of them."""
    key = a.warp_of.astype(U64) << np.uint64(40) | offsets.astype(U64)
    _, first, which = np.unique(key, return_index=True, return_inverse=True)
    masks = np.zeros(len(first), U64)
    np.bitwise_or.at(masks, which, np.uint64(1) << (a.index & 31).astype(U64))
    result: Arr = (old[first] >> np.uint64(32) << np.uint64(32) | masks)[which]
    return result


def arrives(s: Site) -> Exec:
    """ARRIVES: the completion of cp.async copies, at once or with ``late`` at the wait: an arrival, or (TRANSCNT) one byte less pending."""
    get = address32(s, 0)
    if s.has("TRANSCNT") or s.has("ARVCNT"):
        arrivals = 1 if s.has("ARVCNT") else 0

        def run(m: Machine, a: Active) -> None:
            where = shared_offsets(m, a, get(m, a), None, 8, 8)

            def finish() -> None:
                m.copy_done(a.warps.tolist())
                each_object(m, where, lambda state, i: update(state, arrivals, arrivals - 1))

            if m.late:
                m.defer(finish, objects=where.tolist())
            else:
                finish()

        return run

    def arrive(m: Machine, a: Active) -> None:
        m.copy_done(a.warps.tolist())
        _software_arrive(m, a, get(m, a))

    return arrive


def _software_arrive(m: Machine, a: Active, address: Arr) -> Arr:
    return each_object(m, shared_offsets(m, a, address, None, 8, 8), software_change)


def software_change(state: int, i: int) -> int:
    """The object of sm_80 to sm_89 after one arrival."""
    low, high = state & 0xFFFFFFFF, state >> 32
    after = (high + 1) & 0xFFFFFFFF
    if (after ^ high) >> 31:
        after = (after & 0x80000000) | ((low + 0x40000000) & 0x7FFFFFFF)
    return after << 32 | low


def atoms_arrive(s: Site) -> Exec:
    """ATOMS.ARRIVE.64 (sm_80 to sm_89): one arrival; the result is the old object."""
    get = address32(s, 0)
    put = s.set64(s.regs[0])

    def run(m: Machine, a: Active) -> None:
        put(m, a, _software_arrive(m, a, get(m, a)))

    return run


def stores_watched(m: Machine, a: Active, where: Arr, size: int, signals: Arr, adds: bool) -> Callable[[], None]:
    """Tells who looks at copies of asynchronous stores of `size` bytes each; returns what to call when they are done."""
    if m.copy_watch is None:
        return lambda: None
    ends: list[Callable[[], None]] = []
    for thread, at, signal in zip(a.index.tolist(), where.tolist(), signals.tolist(), strict=True):
        goal = Bytes(True, at + np.arange(size))
        ends.append(m.copy_watch.copy(thread, Bytes(False, np.zeros(0, I64)), goal, [signal], adds, False))

    def end() -> None:
        for f in ends:
            f()

    return end


def stas(s: Site) -> Exec:
    """STAS: a store to shared memory of the cluster that completes a transaction; a register pair has address and object."""
    size = 16 if s.has("128") else 8 if s.has("64") else 4
    base, data = s.src[1], s.src[4]
    target, barrier = s.raw(base), s.raw(reg_plus(base, 1))
    offset = payload(s.src[3]) & 0xFFFFFFFF
    values = [s.raw(data if is_zero_reg(data) else reg_plus(data, k)) for k in range(size // 4)]

    def run(m: Machine, a: Active) -> None:
        to = (np.broadcast_to(target(m, a), (a.n,)) + np.uint32(offset)).astype(I64)
        objects = np.broadcast_to(barrier(m, a), (a.n,)).astype(I64)
        where = shared_offsets(m, a, to, None, size, size)
        signals = shared_offsets(m, a, objects, None, 8, 8)
        data_words = [np.broadcast_to(g(m, a), (a.n,)).copy() for g in values]
        end = stores_watched(m, a, where, size, signals, False)

        def finish() -> None:
            end()
            m.shared.store(where, size, data_words)
            complete(m, signals, size)

        m.defer(finish, objects=signals.tolist())

    return run


def usetmaxreg(s: Site) -> Exec:
    """USETMAXREG: there are always enough registers here, and an attempt succeeds at once."""
    if not s.has("TRY_ALLOC"):
        return lambda m, a: None
    out = s.setp(s.preds[0])
    return lambda m, a: out(m, a, np.ones(1, np.bool_))


def rpcmov(s: Site) -> Exec:
    """RPCMOV.32: moves between a register and a half of the return-address register, which ptxas uses as a spare register."""
    half = 1 if s.has("HI") else 0
    if in_file(s.dst[0], K_R):
        put = s.set32(s.dst[0])
        return lambda m, a: put(m, a, m.rpc[half][a.sel])
    value = s.raw(s.src[0])

    def store(m: Machine, a: Active) -> None:
        m.rpc[half][a.sel] = value(m, a)

    return store


def depbar(s: Site) -> Exec:
    """DEPBAR: finishes the copies of bulk groups, with ``late`` those of all but the newest groups, and those by ``cp.async``."""
    left = next((payload(o) for o in s.src if is_imm(o)), 0)

    def run(m: Machine, a: Active) -> None:
        if m.later:
            m.finish_groups(a.warps.tolist(), left)
        if m.copying:
            m.copy_done(a.warps.tolist(), left)

    return run


def ldgdepbar(s: Site) -> Exec:
    """LDGDEPBAR: the copies by ``cp.async`` since the last one are a group."""

    def run(m: Machine, a: Active) -> None:
        for w in a.warps.tolist() if m.late else ():
            m.copying.setdefault(w, [[]]).append([])

    return run


def flush(s: Site) -> Exec:
    """UTMACMDFLUSH: the bulk copies from shared memory since the last one are a group."""

    def run(m: Machine, a: Active) -> None:
        for w in a.warps.tolist():
            m.bulk_groups[w] += 1

    return run


BUILDERS: Final[dict[str, Builder]] = {
    "LDGDEPBAR": ldgdepbar,
    "UTMACMDFLUSH": flush,
    "SYNCS": syncs,
    "STAS": stas,
    "USETMAXREG": usetmaxreg,
    "ARRIVES": arrives,
    "RPCMOV": rpcmov,
}
