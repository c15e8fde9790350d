"""Builders for memory instructions: loads, stores, atomics, asynchronous copies, address-space queries."""

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from orias.isa.operand import (
    K_R,
    S_U32,
    Opnd,
    imm_signed,
    imm_value,
    is_imm,
    is_pred,
    is_zero_reg,
    kind_of,
    payload,
    reg_plus,
    suffix_of,
)
from orias.sim.core.banked_memory import _Flat
from orias.sim.core.derived import near_global, near_shared
from orias.sim.core.sim_errors import Fault
from orias.sim.core.site import Exec, Getter, Setter, Site
from orias.sim.core.state import Active, Machine, widen
from orias.sim.math import ops_half as half
from orias.sim.math import softfloat as sf
from orias.sim.math.ops_int import I32, I64, U32, U64
from orias.sim.sass.memory_places import (
    GENERIC,
    GLOBAL,
    LOCAL,
    SCALE,
    SHARED,
    Place,
    access_size,
    address32,
    address64,
    places,
    shared_place,
    space_of,
    spaces,
)

Arr = npt.NDArray[Any]
Builder = Callable[[Site], Exec]


def _address(s: Site, space: int, at: int = 0) -> Getter:
    return address64(s, at) if space in (GLOBAL, GENERIC) else address32(s, at)


def _words_of(s: Site, o: Opnd, count: int) -> list[Getter]:
    """Getters of consecutive registers; for RZ, zeros."""
    if is_zero_reg(o) or is_imm(o):
        return [s.raw(o)] * count
    return [s.raw(reg_plus(o, k)) for k in range(count)]


def _extend(v: Arr, size: int, signed: bool) -> Arr:
    w = v.astype(U32)
    if signed:
        top = np.uint32(1 << (8 * size - 1))
        w = (w ^ top) - top
    return w


def data_getters(s: Site, size: int) -> list[Getter]:
    """The words that a store of `size` bytes writes."""
    halves = s.src[4:6] if size == 32 else s.src[4:5]
    return [g for o in halves for g in _words_of(s, o, max(1, min(size, 16) // 4))]


def near_of(s: Site, space: int, size: int) -> Callable[[Machine, Active], tuple[_Flat, int, Arr] | None] | None:
    """Finds the words of an access of `size` bytes by what is known of its base register.

    The function gives the memory, the number of the first word, and the numbers of each thread's first words after it; None if
    anything has to be looked at closely.  There is no function for forms that are not common.
    """
    base, ubase, offset = s.src[1], s.src[2], imm_signed(s.src[3])
    if size < 4 or kind_of(base) != K_R or is_zero_reg(base) or not is_zero_reg(ubase) or offset % size:
        return None
    p, align, first = payload(base), size - 1, max(offset, 0) >> 2
    if space == GLOBAL and s.has("E") and suffix_of(base) != S_U32:

        def find(m: Machine, a: Active) -> tuple[_Flat, int, Arr] | None:
            if not m.deriving:
                return None
            near, arena = near_global(m, a, p), m.arena
            if near.low < 0 or near.bits & align or not arena.holds(near.low + offset, near.high + offset + size):
                return None
            return arena, first, near.word if offset >= 0 else near.word + (offset >> 2)

        return find
    if space != SHARED:
        return None
    shift = SCALE.get(suffix_of(base), 0)

    def find_shared(m: Machine, a: Active) -> tuple[_Flat, int, Arr] | None:
        shared = m.shared
        if not m.deriving or m.cluster_size > 1 or shared.pending or shared.base:
            return None
        near = near_shared(m, a, p, shift)
        end = near.high + offset + size
        if near.bits & align or near.low + offset < 0 or end > shared.size:
            return None
        if end > shared.reach:
            shared.reach = end
        return shared, first, near.word if offset >= 0 else near.word + (offset >> 2)

    return find_shared


def load(s: Site) -> Exec:
    """LD, LDG, LDS, LDL, and LDGMC, whose multicast objects have this device as their only member."""
    space = space_of(s.op)
    size, signed = access_size(s)
    if any(payload(p) != 7 for p in s.preds):
        raise s.unknown("predicate result")
    get = _address(s, space)
    # Of 32 bytes, the first part is the second result.  With a mask of words, those that are loaded are adjacent.
    mask = imm_value(s.src[4]) if size == 32 and len(s.src) > 4 and is_imm(s.src[4]) else 0xFF
    puts: list[Setter | None] = []
    for part, first in enumerate(reversed(s.regs)):
        filled = 0
        for k in range(max(1, size // 4 // len(s.regs))):
            if mask >> (4 * part + k) & 1:
                puts.append(s.set32(first if is_zero_reg(first) else reg_plus(first, filled)))
                filled += 1
            else:
                puts.append(None)

    near = near_of(s, space, size) if None not in puts else None
    firsts = [payload(o) for o in s.regs]
    into = (
        [first + k for first in reversed(firsts) for k in range(size // 4 // len(firsts))] if near is not None else []
    )
    if any(kind_of(o) != K_R or payload(o) == 255 for o in s.regs):
        into = []

    def run(m: Machine, a: Active) -> None:
        found = near(m, a) if near is not None and into else None
        if found is not None:
            flat, first, word = found
            view = flat.views[4]
            sel = a.sel
            for k, to in enumerate(into):
                m.stamp[to] += 1
                if isinstance(sel, slice):
                    view[first + k :].take(word, out=m.R[to][sel], mode="wrap")
                else:
                    m.R[to][sel] = view[first + k :].take(word)
            return
        where = places(m, a, space, get(m, a), size, size)
        if len(where) == 1 and (where[0].where is None or len(where[0].where) == a.n):
            p = where[0]
            values = p.flat.load(p.offset, size)
            if size < 4:
                values = [_extend(values[0], size, signed)]
        else:
            values = [np.zeros(a.n, U32) for _ in puts]
            for p in where:
                part = p.flat.load(p.offset, size)
                if size < 4:
                    part = [_extend(part[0], size, signed)]
                for v, x in zip(values, part, strict=True):
                    v[p.where] = x
        for put, v in zip(puts, values, strict=True):
            if put is not None:
                put(m, a, v)

    return run


def store(s: Site) -> Exec:
    """ST, STG, STS, STL."""
    space = space_of(s.op)
    size, _ = access_size(s)
    get = _address(s, space)
    data = data_getters(s, size)
    near = near_of(s, space, size)

    def run(m: Machine, a: Active) -> None:
        found = near(m, a) if near is not None else None
        if found is not None:
            flat, first, word = found
            if flat is m.arena and m.arena.log is not None:
                m.arena.log.note((word + first) << 2, size)
            view = flat.views[4]
            for k, g in enumerate(data):
                view[first + k :][word] = g(m, a)
            return
        values = [widen(g(m, a), a.n) for g in data]
        for p in places(m, a, space, get(m, a), size, size):
            p.flat.store(p.offset, size, values if p.where is None else [v[p.where] for v in values])

    return run


# -- atomics

Update = Callable[[Arr, Arr], Arr]


def _signed_min(t: np.dtype[Any], s: np.dtype[Any]) -> Update:
    return lambda old, v: np.minimum(old.view(s), v.view(s)).view(t)


def _signed_max(t: np.dtype[Any], s: np.dtype[Any]) -> Update:
    return lambda old, v: np.maximum(old.view(s), v.view(s)).view(t)


def _half_add(bf16: bool) -> Update:
    def add(old: Arr, v: Arr) -> Arr:
        lanes = old.dtype.itemsize // 4
        words_old = np.ascontiguousarray(old).view(U32).reshape(-1, lanes)
        words_v = np.ascontiguousarray(v).view(U32).reshape(-1, lanes)
        low, high = half.add2(half.unpack(words_old.reshape(-1), bf16), half.unpack(words_v.reshape(-1), bf16))
        r = half.pack(half.pattern(low, bf16), half.pattern(high, bf16))
        return r.view(old.dtype)

    return add


def _f32_add(flush: bool) -> Update:
    def add(old: Arr, v: Arr) -> Arr:
        r = sf.fadd32(np.ascontiguousarray(old).view(U32), np.ascontiguousarray(v).view(U32), ftz=flush)
        return np.ascontiguousarray(r).view(old.dtype)

    return add


def atomic_operation(s: Site, size: int) -> tuple[str, Update]:
    """(name, function from old value and operand to new value) of an atomic other than compare-and-swap."""
    t = U64 if size == 8 else U32
    i = I64 if size == 8 else I32
    signed = s.has("S32") or s.has("S64")
    mods = s.op.mods
    if "ADD" in mods:
        if s.has("F32") or s.has("F32x2"):
            return "FADD", _f32_add(s.has("FTZ") or s.op.base == "UBLKRED")
        if s.has("F64"):
            return "FADD", lambda old, v: sf.dadd64(old, v)
        if any(x.startswith("F16x") for x in mods):
            return "FADD", _half_add(False)
        if any(x.startswith("BF16x") for x in mods):
            return "FADD", _half_add(True)
        return "ADD", lambda old, v: old + v
    if any(x.startswith(("F16", "BF16")) for x in mods):
        raise s.unknown()
    if "MIN" in mods:
        return "MIN", (_signed_min(t, i) if signed else np.minimum)
    if "MAX" in mods:
        return "MAX", (_signed_max(t, i) if signed else np.maximum)
    if "AND" in mods:
        return "AND", np.bitwise_and
    if "OR" in mods:
        return "OR", np.bitwise_or
    if "XOR" in mods:
        return "XOR", np.bitwise_xor
    if "EXCH" in mods:
        return "EXCH", lambda old, v: v
    one = t.type(1)
    if "INC" in mods:
        return "INC", lambda old, v: np.where(old >= v, t.type(0), old + one)
    if "DEC" in mods:
        return "DEC", lambda old, v: np.where((old == 0) | (old > v), v, old - one)
    raise s.unknown()


def atomic_update(s: Site, size: int) -> Update:
    """The function from old value and operand to new value of an atomic of `size` bytes."""
    return atomic_operation(s, size)[1]


_MANY: Final = 256
"""Threads from which on keys of 16 bits pay."""


def in_order(index: Arr) -> Arr:
    """The positions of words of a memory (not negative), those of equal ones together and in the order of threads.

    numpy sorts keys of 16 bits by counting, which is several times as fast as comparing.
    """
    if len(index) < _MANY or (index[1:] >= index[:-1]).all():
        return np.argsort(index, kind="stable")
    low = index - index.min()
    high = int(low.max()) >> 16
    if high >= 1 << 16:
        return np.argsort(index, kind="stable")
    order = np.argsort(low.astype(np.uint16), kind="stable")
    return order[np.argsort((low >> 16).astype(np.uint16)[order], kind="stable")] if high else order


def read_modify_write(flat: _Flat, offset: Arr, size: int, name: str, f: Callable[[Arr, Arr], Arr]) -> Arr:
    """Atomics in thread order; ``f(old, positions)`` computes the new values of some threads; returns the old values."""
    view = flat.views[size]
    old: Arr
    index = offset >> (size.bit_length() - 1)
    order = in_order(index)
    sorted_index = index[order]
    starts = np.flatnonzero(np.diff(sorted_index, prepend=-1))
    if len(starts) == len(index):
        old = view[index]
        view[index] = f(old, np.arange(len(index)))
        return old
    lengths = np.diff(starts, append=len(index))
    rank = np.arange(len(index)) - np.repeat(starts, lengths)
    result = np.zeros(len(index), view.dtype)
    by_rank = np.argsort(rank, kind="stable")
    counts = np.bincount(rank)
    at = 0
    for count in counts:
        who = order[by_rank[at : at + count]]
        at += int(count)
        old = view[index[who]]
        result[who] = old
        view[index[who]] = f(old, who)
    return result


_FEW: Final = 8
"""Threads at one address up to which steps of one thread for each address are faster."""


def compare_and_swap(flat: _Flat, offset: Arr, size: int, expected: Arr, new: Arr) -> Arr:
    """Compare-and-swap in thread order; returns the old values.

    Many threads at one address, as at a lock, are done one by one as numbers: faster than in steps of one thread for each
    address.
    """
    view = flat.views[size]
    touched, which, counts = np.unique(offset >> (size.bit_length() - 1), return_inverse=True, return_counts=True)
    if counts.max() <= _FEW:
        return read_modify_write(flat, offset, size, "CAS", lambda o, who: np.where(o == expected[who], new[who], o))
    now = view[touched].tolist()
    old = []
    for at, e, n in zip(which.tolist(), expected.tolist(), new.astype(view.dtype).tolist(), strict=True):
        o = now[at]
        old.append(o)
        if o == e:
            now[at] = n
    view[touched] = now
    return np.array(old, view.dtype)


def _add_in_order(flat: _Flat, offset: Arr, size: int, v: Arr) -> Arr:
    """Integer atomic addition in thread order, by prefix sums."""
    view = flat.views[size]
    index = offset >> (size.bit_length() - 1)
    order = in_order(index)
    si, sv = index.take(order), v.take(order).astype(view.dtype)
    opens = np.ones(len(si), np.bool_)
    np.not_equal(si[1:], si[:-1], out=opens[1:])
    starts = np.flatnonzero(opens)
    with np.errstate(over="ignore"):
        before = np.cumsum(sv, dtype=view.dtype)
        before -= sv
        before -= np.repeat(before.take(starts), np.diff(starts, append=len(si)))
        before += view.take(si)
        sv += before
    view[si.take(starts)] = sv.take(np.append(starts[1:], len(si)) - 1)
    result: Arr = np.empty_like(before)
    result[order] = before
    return result


_NEAR: Final = 16
"""Words that additions reach, for each thread, up to which an array of all of them pays."""


def _add(flat: _Flat, offset: Arr, size: int, v: Arr) -> None:
    """Integer atomic addition without the old values."""
    index = offset >> (size.bit_length() - 1)
    first, last = int(index.min()), int(index.max())
    if last - first > _NEAR * len(index):
        _add_in_order(flat, offset, size, v)
        return
    # Not in the memory itself: it may be all that the process has, of which numpy would make a copy to add to.
    view = flat.views[size]
    sums = np.zeros(last - first + 1, view.dtype)
    np.add.at(sums, index - first, v)
    touched = np.flatnonzero(sums)
    view[first + touched] += sums[touched]


def atomic(s: Site) -> Exec:
    """ATOM, ATOMG, ATOMS, RED, REDG."""
    space = space_of(s.op)
    mods = s.op.mods
    get = _address(s, space)
    size = 4
    if any(x in mods for x in ("64", "S64", "U64", "F64", "F32x2", "F16x4", "BF16x4")):
        size = 8
    if "128" in mods:
        from orias.sim.sass.exec_wide import atomic128

        return atomic128(s, space, get)
    if any(x in mods for x in ("F32x4", "F16x8", "BF16x8")):
        raise s.unknown("128-bit atomics")
    result = s.regs[0] if s.regs and not is_zero_reg(s.regs[0]) else None
    done = s.setp(s.preds[0]) if s.preds else None
    operand = s.raw64 if size == 8 else s.raw
    float_generic = space == GENERIC and any((x[0] in "FB" and x[1].isdigit()) or x.startswith("BF16") for x in mods)
    if result is None:
        put: Setter | None = None
    else:
        put = s.set64(result) if size == 8 else s.set32(result)
    compare: Getter | None = None
    cast = "CAST" in mods
    name = "CAS"
    update: Update | None = None
    if "CAS" in mods or cast:
        compare, value = operand(s.src[4]), operand(s.src[5])
    elif "POPC" in mods:
        ones = np.full(1, 1, U32)
        name, update = "ADD", lambda old, v: old + v
        value = lambda m, a: ones  # noqa: E731
    else:
        name, update = atomic_operation(s, size)
        value = operand(s.src[4])

    def run(m: Machine, a: Active) -> None:
        address = get(m, a)
        v = np.broadcast_to(value(m, a), (a.n,))
        c = np.broadcast_to(compare(m, a), (a.n,)) if compare is not None else v
        old = np.zeros(a.n, U64 if size == 8 else U32)
        ok = np.ones(a.n, np.bool_)
        if float_generic:
            # Generic float atomics reach device memory only: for other addresses the predicate result is false.
            ok = spaces(m, address) == GLOBAL
            if ok.any():
                keep = np.flatnonzero(ok)
                offset = m.arena.offsets(address[keep], size, size)
                assert update is not None
                u, mine = update, v[keep]
                old[keep] = read_modify_write(m.arena, offset, size, name, lambda o, who: u(o, mine[who]))
        else:
            for p in places(m, a, space, address, size, size):
                old_part = _one_place(p, v, c)
                if p.where is None:
                    old = old_part
                else:
                    old[p.where] = old_part
        if put is not None:
            put(m, a, (old == c).astype(old.dtype) if cast else old)
        if done is not None:
            # Predicate of CAST from sm_100 on: the value was stored.  Of others: the address is in the right space.
            done(m, a, old == c if cast else ok)

    def _one_place(p: Place, v: Arr, c: Arr) -> Arr:
        if p.where is not None:
            v, c = v[p.where], c[p.where]
        if update is None:
            return compare_and_swap(p.flat, p.offset, size, c, v)
        if name == "ADD" and put is None:
            _add(p.flat, p.offset, size, v)
            return v  # Nobody asks for the old values.
        if name == "ADD":
            return _add_in_order(p.flat, p.offset, size, v)
        u = update
        return read_modify_write(p.flat, p.offset, size, name, lambda o, who: u(o, v[who]))

    return run


def ldgsts(s: Site) -> Exec:
    """LDGSTS: copies from global to shared memory, at once (with ``late`` at the wait); a false predicate stores zeros instead.

    With ZFILL the low bits of the source address, below the access size, are the number of bytes at the end to store as
    zeros (sm_80, sm_90: as ptxas 13.0 compiles the source size of ``cp.async``).
    """
    size = 16 if s.has("128") else 8 if s.has("64") else 4
    target, source = address32(s, 0), address64(s, 4)
    extra = [o for o in s.src[8:] if is_pred(o)]
    guard = s.pred(extra[0]) if extra else None
    zfill = s.has("ZFILL")
    mask = np.uint64(size - 1)

    def run(m: Machine, a: Active) -> None:
        to = shared_place(m, a, target(m, a), None, size, size)
        address = source(m, a)
        take = np.broadcast_to(guard(m, a), (a.n,)) if guard is not None else np.ones(a.n, np.bool_)
        keep = np.flatnonzero(take)
        mine = address[keep]
        partly = zfill and bool((mine & mask).any())
        missing = (mine & mask).astype(I64)
        if len(keep):
            try:
                offset = m.arena.offsets(mine & ~mask if partly else mine, 1 if partly else size, size)
                if partly:
                    last = offset + size - 1 - missing
                    m.arena.offsets(last.astype(U64) + np.uint64(m.arena.base), 1, 1)
            except Fault as f:
                raise Fault(f.error, f.message, int(keep[f.lane])) from None

        def loaded() -> list[Arr]:
            if not partly:
                return m.arena.load(offset, size)
            index = np.minimum(offset[:, None] + np.arange(size), last[:, None])
            there = np.arange(size) < size - missing[:, None]
            data = np.where(there, m.arena.data[index], np.uint8(0)).view(U32)
            return [data[:, k] for k in range(size // 4)]

        def finish(part: slice | Arr) -> None:
            if len(keep) == a.n:
                words = loaded()
            else:
                words = [np.zeros(a.n, U32) for _ in range(size // 4)]
                if len(keep):
                    for word, v in zip(words, loaded(), strict=True):
                        word[keep] = v
            to.flat.store(to.offset[part], size, [word[part] for word in words])

        if not m.late:
            finish(slice(None))
            return
        for w in a.warps.tolist():
            mine = np.flatnonzero(a.warp_of == w)
            m.copying.setdefault(w, [[]])[-1].append(partial(finish, mine))

    return run


def qspc(s: Site) -> Exec:
    """QSPC: tests whether a generic address is in shared (S), local (L), global (G) or another block's shared memory (D)."""
    get = address64(s, 0)
    out = s.setp(s.preds[0])
    which = next(x for x in s.op.mods if x in ("S", "L", "G", "D"))

    def run(m: Machine, a: Active) -> None:
        address = get(m, a)
        k = spaces(m, address)
        if which == "G":
            r = k == GLOBAL
        elif which == "L":
            r = k == LOCAL
        else:
            r = k == SHARED
            if m.has_clusters:
                rank = ((address >> np.uint64(24)) & np.uint64(0xFF)).astype(I64)
                own = rank == m.block_of[a.sel] % m.cluster_size
                r = r & (own if which == "S" else ~own)
        out(m, a, r)

    return run


BUILDERS: Final[dict[str, Builder]] = {
    "LD": load, "LDG": load, "LDS": load, "LDL": load, "LDGMC": load, "ST": store, "STG": store, "STS": store, "STL": store,
    "ATOM": atomic, "ATOMG": atomic, "ATOMS": atomic, "RED": atomic, "REDG": atomic, "LDGSTS": ldgsts, "QSPC": qspc,
}  # fmt: skip
