"""Builders for bulk and tensor copies and reductions.

A copy is done some steps after it was issued: when a thread tests a barrier object late enough, when a wait for its
group runs, or at the end.  Only then its source is read, its destination written and its bytes reported to the object.
Multicast writes to the same offset in each block of the mask, and reports to the object at the same offset there.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from orias.isa.operand import is_imm, is_zero_reg, payload, reg_plus
from orias.sim.core.sim_errors import Fault, IllegalInstruction
from orias.sim.core.site import Exec, Getter, Site
from orias.sim.core.state import Active, Bytes, Machine
from orias.sim.math.ops_int import I64, U8, U64
from orias.sim.matrix.tensor_map import SIZE, TensorMap
from orias.sim.sass.exec_async import Builder, complete, stores_watched
from orias.sim.sass.memory_places import address32, shared_offsets

Arr = npt.NDArray[Any]

_UNITS: Final = 16
_TYPES: Final[dict[str, Any]] = {
    "S32": np.int32, "U64": np.uint64, "S64": np.int64, "F32": np.float32, "F64": np.float64, "F16": np.float16,
}  # fmt: skip


def first_threads(a: Active) -> Arr:
    """Positions of the first thread of each warp, which executes uniform operations."""
    return np.flatnonzero(np.diff(a.warp_of, prepend=-1))


def _word(g: Getter, m: Machine, a: Active, i: int) -> int:
    return int(np.broadcast_to(g(m, a), (a.n,))[i])


def _shared(m: Machine, a: Active, i: int, address: int, size: int, align: int) -> int:
    """Offset of a shared address, as seen by the thread at position `i`."""
    return int(shared_offsets(m, a, np.array([address], I64), np.array([i]), size, align)[0])


def peers(m: Machine, i: int, mask: int) -> list[int]:
    """Ranks of the blocks in a multicast mask; a Fault at the thread at position `i` if the cluster lacks one."""
    ranks = [k for k in range(16) if mask >> k & 1]
    for k in ranks:
        if k >= m.cluster_size:
            raise Fault(IllegalInstruction, f"multicast to block {k} of a cluster of {m.cluster_size}", i)
    return ranks


def own(address: int, ranks: list[int]) -> list[int]:
    """A shared address in each block of `ranks`; unchanged if there are none."""
    return [(address & 0xFFFFFF) | k << 24 for k in ranks] if ranks else [address]


def _report(m: Machine, a: Active, i: int, barrier: int, ranks: list[int], size: int, pair: bool = False) -> None:
    """Reports completed bytes to the objects of the destination blocks.

    With `pair` the object is in one block of each destination's pair: the even or the odd one, as that of `barrier`.
    """
    for at in _objects(m, a, i, barrier, ranks, pair):
        complete(m, np.array([at]), size)


def _objects(m: Machine, a: Active, i: int, barrier: int, ranks: list[int], pair: bool = False) -> list[int]:
    """Offsets of the objects that a copy reports to."""
    if pair:
        ranks = [k & ~1 | barrier >> 24 & 1 for k in ranks]
    return [_shared(m, a, i, address, 8, 8) for address in own(barrier, ranks)]


def _nothing() -> None:
    """The end of a copy that nobody looks at."""


def _reduction(s: Site) -> Callable[[Arr, Arr], Arr]:
    """The function that combines the old bytes of the destination with those of the source."""
    kind = next((x for x in ("ADD", "MIN", "MAX", "INC", "DEC", "AND", "OR", "XOR") if s.has(x)), "")
    name = next((t for t in _TYPES if s.has(t)), "BF16" if s.has("BF16") else "U32")
    if name == "BF16":
        return lambda old, new: _bfloat(kind, old, new)
    type_: Any = _TYPES.get(name, np.uint32)

    def change(old: Arr, new: Arr) -> Arr:
        result: Arr = combine(kind, old.view(type_), new.view(type_)).view(U8)
        return result

    return change


def combine(kind: str, x: Arr, y: Arr) -> Arr:
    """The reduction `kind` of two arrays of one type."""
    if kind == "ADD":
        return x + y
    if kind == "MIN":
        return np.fmin(x, y)
    if kind == "MAX":
        return np.fmax(x, y)
    if kind == "AND":
        return x & y
    if kind == "OR":
        return x | y
    if kind == "XOR":
        return x ^ y
    one = x.dtype.type(1)
    result: Arr
    if kind == "INC":
        result = np.where(x >= y, x.dtype.type(0), x + one)
    else:
        result = np.where((x == 0) | (x > y), y, x - one)
    return result


def _bfloat(kind: str, old: Arr, new: Arr) -> Arr:
    def wide(v: Arr) -> Arr:
        result: Arr = (v.view(np.uint16).astype(np.uint32) << np.uint32(16)).view(np.float32)
        return result

    bits = combine(kind, wide(old), wide(new)).view(np.uint32).astype(U64)
    rounded = bits + np.uint64(0x7FFF) + (bits >> np.uint64(16) & np.uint64(1))
    result: Arr = (rounded >> np.uint64(16)).astype(np.uint16).view(U8)
    return result


class Bulk:
    """A copy of a run of bytes; addresses and sizes as numbers.

    ``signal``: address of the barrier object; ``ranks``: blocks of a multicast; ``bytes``: which of each 16 bytes are
    written, one bit each.
    """

    def __init__(self, to: int, source: int, size: int, signal: int = 0) -> None:
        self.to = to
        self.source = source
        self.size = size
        self.signal = signal
        self.ranks: list[int] = []
        self.bytes = 0xFFFF
        self.change: Callable[[Arr, Arr], Arr] | None = None

    def issue(self, m: Machine, a: Active, i: int, to_shared: bool, from_shared: bool) -> None:
        """Starts the copy, for the thread at position `i`."""
        size, change = self.size, self.change
        if size == 0:
            return
        inner = _shared(m, a, i, self.source, size, _UNITS) if from_shared else -1
        places = [_shared(m, a, i, x, size, _UNITS) for x in own(self.to, self.ranks)] if to_shared else []
        try:
            outer = -1
            if not (to_shared and from_shared):
                there = self.to if from_shared else self.source
                outer = int(m.arena.offsets(np.array([there], U64), size, _UNITS)[0])
        except Fault as f:
            raise Fault(f.error, f.message, i) from None
        kept = np.tile([bool(self.bytes >> k & 1) for k in range(_UNITS)], size // _UNITS)
        end = _nothing
        if m.copy_watch is not None:
            run, chosen = np.arange(size), np.flatnonzero(kept)
            start = np.array(places if to_shared else [outer])
            end = m.copy_watch.copy(
                int(a.index[i]),
                Bytes(from_shared, (inner if from_shared else outer) + run),
                Bytes(to_shared, (start[:, None] + chosen).reshape(-1), np.tile(chosen, len(start))),
                _objects(m, a, i, self.signal, self.ranks) if to_shared else [],
                change is not None,
                True,
            )

        def finish() -> None:
            data = (m.shared.data[inner : inner + size] if from_shared else m.arena.data[outer : outer + size]).copy()
            goals = [(m.shared.data, p) for p in places] if to_shared else [(m.arena.data, outer)]
            if not to_shared and m.arena.log is not None:
                m.arena.log.note(outer + np.arange(size), 1)
            for memory, at in goals:
                here = memory[at : at + size]
                here[kept] = (data if change is None else change(here.copy(), data))[kept]
            end()
            if to_shared:
                _report(m, a, i, self.signal, self.ranks, size)

        if to_shared:
            m.defer(finish, objects=_objects(m, a, i, self.signal, self.ranks))
        else:
            m.defer(finish, int(a.index[i]) >> 5)


def bulk(s: Site) -> Exec:
    """UBLKCP and UBLKRED between global and shared memory and within shared memory of the cluster."""
    ways = [x for x in s.op.mods if x in ("S", "G")][:2]
    to_shared, from_shared = ways[0] == "S", ways[1] == "S"
    first, second, count = s.src[2], s.src[6], s.src[8]
    to = s.raw(first) if to_shared else s.raw64(first)
    barrier = s.raw(reg_plus(first, 1)) if to_shared else None
    source = s.raw(second) if from_shared else s.raw64(second)
    units = s.raw(count)
    change = _reduction(s) if s.op.base == "UBLKRED" else None

    def run(m: Machine, a: Active) -> None:
        for i in first_threads(a):
            issue(m, a, int(i))

    def issue(m: Machine, a: Active, i: int) -> None:
        word = _word(units, m, a, i)
        copy = Bulk(_word(to, m, a, i), _word(source, m, a, i), (word & 0xFFFF) * _UNITS)
        copy.signal = _word(barrier, m, a, i) if barrier is not None else 0
        copy.change = change
        if s.has("MULTICAST") and copy.size:
            copy.ranks = peers(m, i, word >> 16)
        if s.has("DST_G_BYTE_MASK"):
            copy.bytes = word >> 16
        copy.issue(m, a, i, to_shared, from_shared)

    return run


_PATTERN: Final = 1024
"""Bytes after which the longest swizzle repeats."""


def _swizzled(t: TensorMap, offset: Arr) -> Arr:
    """Byte offsets in shared memory after swizzling: 16-byte units, XORed with the address bits from 7 on."""
    if not t.swizzle:
        return offset
    mask = (1 << t.swizzle) - 1
    result: Arr = offset ^ ((offset >> 7 & mask) << 4)
    return result


def _tile(t: TensorMap, place: list[int]) -> tuple[Arr, Arr]:
    """Byte offsets from the tensor's start, and validity, of the elements of a tile, innermost dimension first."""
    offset: Arr = np.zeros(1, I64)
    valid: Arr = np.ones(1, np.bool_)
    for d in range(t.rank):
        at = place[d] + np.arange(0, t.box[d], t.steps[d], dtype=I64)
        offset = (offset + (at * t.strides[d])[:, None]).reshape(-1) if d else at * t.strides[0]
        inside = (at >= 0) & (at < t.dims[d])
        valid = (inside[:, None] & valid).reshape(-1) if d else inside
    return offset, valid


def _rows(t: TensorMap, place: list[int]) -> tuple[Arr, Arr]:
    """Byte offsets and validity of the elements of four rows, from the column `place[0]` on; `place` ends with the rows."""
    at = place[0] + np.arange(t.box[0], dtype=I64)
    inside = (at >= 0) & (at < t.dims[0])
    offset = [at * t.strides[0] + row * t.strides[1] for row in place[1:]]
    valid = [inside & (0 <= row < t.dims[1]) for row in place[1:]]
    return np.concatenate(offset), np.concatenate(valid)


_WIDE_PIXELS: Final = 128
"""Pixels of a copy in mode W128, and how many follow one another before those of the halo."""
_WIDE_STEP: Final = 32


def _wide_order(t: TensorMap, mode: str, halo: int) -> list[int]:
    """The pixels of a copy in mode W or W128, as places in their walk through the rows.

    The manual says how many pixels a halo has, not where they lie: that they continue the walk, and that those of W128
    come last, each first one before the second ones, are guesses.
    """
    if mode == "W":
        return list(range(t.pixels + halo))
    ends = range(_WIDE_STEP, _WIDE_PIXELS + 1, _WIDE_STEP)
    return [*range(_WIDE_PIXELS), *(end + k for k in range(halo) for end in ends)]


def _columns(t: TensorMap, place: list[int], move: list[int], order: Sequence[int], walked: int) -> tuple[Arr, Arr]:
    """Byte offsets and validity for the pixels of an im2col copy, which run through the bounding box, image after image.

    ``order``: the places of the walk that are copied; ``walked``: how many dimensions it runs through before the next image.
    """
    channel = place[0] + np.arange(t.channels, dtype=I64)
    offsets: list[Arr] = []
    valid: list[Arr] = []
    at = list(place[1:])
    inner = t.rank - 2
    for _ in range(max(order) + 1):
        shifted = [at[d] + move[d] for d in range(inner)] + [at[inner]]
        ok = all(0 <= x < n for x, n in zip(shifted, t.dims[1:], strict=True))
        offsets.append(channel * t.strides[0] + sum(x * s for x, s in zip(shifted, t.strides[1:], strict=True)))
        valid.append((channel >= 0) & (channel < t.dims[0]) & ok)
        for d in (*range(walked), inner):
            at[d] += t.steps[d + 1] if d < inner else 1
            if d == inner or at[d] <= t.dims[d + 1] - 1 + t.upper[d]:
                break
            at[d] = t.lower[d]
    return np.concatenate([offsets[k] for k in order]), np.concatenate([valid[k] for k in order])


def _moves(t: TensorMap, word: int) -> list[int]:
    """The im2col offsets of a copy, by rank: one of 16 bits, two of 8, or three of 5."""
    inner = t.rank - 2
    bits = {1: 16, 2: 8, 3: 5}[inner]
    return [word >> bits * d & (1 << bits) - 1 for d in range(inner)]


class Tensor:
    """A copy between a tensor in global memory and a box in shared memory.

    ``name``: of the operation, for messages; ``columns``: an im2col copy, with offsets ``moves``; ``wide``: its mode W or
    W128 (``moves``: halo and offset), or nothing; ``rows``: a copy of four rows; ``place``: the coordinates, or the column and the rows; ``signal``, ``ranks``: as in :class:`Bulk`;
    ``pair``: the barrier object is in one block of each pair; ``change``: a reduction.
    """

    def __init__(self, name: str, rank: int, place: list[int], shared: int, signal: int = 0) -> None:
        self.name = name
        self.rank = rank
        self.place = place
        self.shared = shared
        self.signal = signal
        self.columns = False
        self.wide = ""
        self.rows = False
        self.moves = 0
        self.ranks: list[int] = []
        self.pair = False
        self.change: str | None = None

    def _elements(self, t: TensorMap, load: bool) -> tuple[Arr, Arr]:
        if self.wide:
            move = [self.moves >> 11, *[0] * (self.rank - 3)]
            return _columns(t, self.place, move, _wide_order(t, self.wide, self.moves & 0x7FF), 1)
        if self.columns:
            move = _moves(t, self.moves) if load else [0] * (self.rank - 2)
            return _columns(t, self.place, move, range(t.pixels), self.rank - 2)
        place = [self.place[0] // t.group, *self.place[1:]]
        return _rows(t, place) if self.rows else _tile(t, place)

    def _check(self, t: TensorMap) -> str:
        """What is wrong with the map for this copy, or nothing."""
        if t.interleave:
            # No document says how far apart the slices of channels are.
            return f"with an interleaved map (layout {t.interleave}), which the simulator does not know"
        if t.rank != self.rank or t.im2col != self.columns:
            return f"with a map of rank {t.rank}, im2col {t.im2col}"
        if self.wide and not t.swizzle:
            return "with a map without swizzle"
        if self.place[0] % t.group:
            return f"at element {self.place[0]} of {t.type}"
        if t.group > 1 and self.change is not None:
            return f"with a map of {t.type}"
        if self.rows and t.box[1] != 1:
            return f"with a box of {t.box[1]} rows"
        return ""

    def issue(self, m: Machine, a: Active, i: int, table: int, load: bool) -> None:
        """Starts the copy, for the thread at position `i`; the map is at `table`."""
        try:
            t = TensorMap(m.arena.read(table, SIZE))
        except ValueError as e:
            raise Fault(IllegalInstruction, str(e), i) from None
        except Fault as f:
            raise Fault(f.error, f.message, i) from None
        bad = self._check(t)
        if bad:
            raise Fault(IllegalInstruction, f"{self.name} {bad}", i)
        offset, valid = self._elements(t, load)
        size = len(offset) * t.room
        # What a barrier object is told of: not the gaps of elements of less than a byte.
        moved = len(offset) * t.size
        row = (t.channels if self.columns else t.box[0]) * t.room
        if size % _UNITS:
            raise Fault(IllegalInstruction, f"{self.name}: the box has {size} bytes, no multiple of {_UNITS}", i)
        if t.swizzle and row > 16 << t.swizzle:
            text = f"rows of {row} bytes are longer than those of the swizzle, {16 << t.swizzle}"
            raise Fault(IllegalInstruction, f"{self.name}: {text}", i)
        starts = [_shared(m, a, i, x, size, 128) for x in own(self.shared, self.ranks)]
        try:
            good = np.flatnonzero(valid)
            where = np.zeros(len(offset), I64)
            if len(good):
                where[good] = m.arena.offsets((t.address + offset[good]).astype(U64), t.size, 1)
        except Fault as f:
            raise Fault(f.error, f.message, i) from None
        inside = starts[0] + _bytes(_swizzled_elements(t, self.shared, len(offset)), t.size)
        outside = _bytes(where, t.size)
        kept = np.repeat(valid, t.size)
        change = self.change
        end = _nothing
        if m.copy_watch is not None:
            moves = np.array([start - starts[0] for start in starts])
            tile = Bytes(True, (moves[:, None] + inside).reshape(-1), np.tile(np.arange(len(inside)), len(starts)))
            tensor = Bytes(False, outside[kept], np.flatnonzero(kept))
            objects = _objects(m, a, i, self.signal, self.ranks, self.pair) if load else []
            first, second = (tensor, tile) if load else (tile, tensor)
            end = m.copy_watch.copy(int(a.index[i]), first, second, objects, change is not None, True)

        def finish() -> None:
            end()
            if load:
                data = _filler(t, len(offset))
                data[kept] = m.arena.data[outside[kept]]
                for start in starts:
                    m.shared.data[inside + (start - starts[0])] = data
                _report(m, a, i, self.signal, self.ranks, moved, self.pair)
                return
            data = m.shared.data[inside][kept]
            goal = outside[kept]
            if m.arena.log is not None:
                m.arena.log.note(goal, 1)
            m.arena.data[goal] = data if change is None else _reduced(t, change, m.arena.data[goal], data)

        if load:
            m.defer(finish, objects=_objects(m, a, i, self.signal, self.ranks, self.pair))
        else:
            m.defer(finish, int(a.index[i]) >> 5)


def signed(v: int) -> int:
    """A word as a signed number."""
    return v - (1 << 32) if v >> 31 else v


def tensor(s: Site) -> Exec:
    """UTMALDG, UTMASTG and UTMAREDG."""
    base = s.op.base
    load = base == "UTMALDG"
    rank = next(int(x[0]) for x in s.op.mods if x[1:] == "D")
    rows = s.has("GATHER4") or s.has("SCATTER4")
    group, table = s.src[2], s.raw64(s.src[6])
    words = [s.raw(reg_plus(group, k)) for k in range((5 if rows else rank) + (2 if load else 1))]
    wide = next((x for x in s.op.mods if x in ("W", "W128")), "")
    columns = s.has("IM2COL") or wide != ""
    extra = s.raw(s.src[8]) if load and (columns or s.has("MULTICAST")) else None
    change = (
        None
        if base != "UTMAREDG"
        else next(x for x in s.op.mods if x in ("ADD", "MIN", "MAX", "INC", "DEC", "AND", "OR", "XOR"))
    )

    def run(m: Machine, a: Active) -> None:
        for i in first_threads(a):
            issue(m, a, int(i))

    def issue(m: Machine, a: Active, i: int) -> None:
        values = [_word(w, m, a, i) for w in words]
        place = [signed(v) for v in values[2 if load else 1 :]]
        copy = Tensor(s.op.name, rank, place, values[0], values[1])
        copy.columns, copy.rows, copy.change, copy.pair = columns, rows, change, s.has("2CTA")
        copy.wide = wide
        if extra is not None:
            word = _word(extra, m, a, i)
            copy.moves = word & 0xFFFF
            copy.ranks = peers(m, i, word >> 16) if s.has("MULTICAST") else []
        copy.issue(m, a, i, _word(table, m, a, i), load)

    return run


def _swizzled_elements(t: TensorMap, address: int, count: int) -> Arr:
    """Offsets of the elements of a box from its start, which has an `address` in shared memory.

    The bits of the address count, not those of the offset: a box that does not start at a multiple of 1024 begins within the pattern (CUDA
    C++ Programming Guide, "The Swizzle Modes").
    """
    start = address & _PATTERN - 1
    return _swizzled(t, start + np.arange(count, dtype=I64) * t.room) - start


def _bytes(offset: Arr, size: int) -> Arr:
    result: Arr = (offset[:, None] + np.arange(size)).reshape(-1)
    return result


def _filler(t: TensorMap, count: int) -> Arr:
    """Bytes of `count` elements outside the tensor: zero, or the NaN of the fill mode."""
    if not t.fill:
        return np.zeros(count * t.size, U8)
    pattern = {2: b"\xff\x7f", 4: b"\xff\xff\xff\x7f", 8: b"\xff" * 7 + b"\x7f"}.get(t.size, b"\xff")
    return np.frombuffer(bytearray(pattern * count), U8)


def _reduced(t: TensorMap, kind: str, old: Arr, new: Arr) -> Arr:
    if t.type == "bf16":
        return _bfloat(kind, old, new)
    types: dict[str, Any] = {
        "u8": np.uint8, "u16": np.uint16, "u32": np.uint32, "s32": np.int32, "u64": np.uint64, "s64": np.int64, "f16": np.float16,
        "f64": np.float64,
    }  # fmt: skip
    type_ = types.get(t.type, np.float32)
    return combine(kind, np.ascontiguousarray(old).view(type_), np.ascontiguousarray(new).view(type_)).view(U8)


def redas(s: Site) -> Exec:
    """REDAS: a reduction in shared memory of the cluster that completes a transaction."""
    wide = s.has("64")
    size = 8 if wide else 4
    type_: Any = np.uint64 if wide else np.int32 if s.has("S32") else np.uint32
    kind = next(x for x in s.op.mods if x in ("ADD", "MIN", "MAX", "INC", "DEC", "AND", "OR", "XOR"))
    base, data = s.src[1], s.src[4]
    target, barrier = s.raw(base), s.raw(reg_plus(base, 1))
    offset = payload(s.src[3]) & 0xFFFFFFFF
    value = s.raw64(data) if wide else s.raw(data)

    def run(m: Machine, a: Active) -> None:
        to = (np.broadcast_to(target(m, a), (a.n,)) + np.uint32(offset)).astype(I64)
        objects = np.broadcast_to(barrier(m, a), (a.n,)).astype(I64)
        where = shared_offsets(m, a, to, None, size, size)
        signals = shared_offsets(m, a, objects, None, 8, 8)
        amounts = np.broadcast_to(value(m, a), (a.n,)).copy().view(type_)
        view = m.shared.data.view(type_)
        end = stores_watched(m, a, where, size, signals, True)

        def finish() -> None:
            end()
            for at, v in zip(where, amounts, strict=True):
                k = int(at) // size
                view[k : k + 1] = combine(kind, view[k : k + 1].copy(), np.array([v], type_))
            complete(m, signals, size)

        m.defer(finish, objects=signals.tolist())

    return run


def clear(m: Machine, a: Active, i: int, address: int, size: int) -> None:
    """Zeros in shared memory, as asked by the thread at position `i`; `size` in bytes, a multiple of 8."""
    if size:
        at = _shared(m, a, i, address, size, 8)
        m.changed = m.clock
        if m.copy_watch is not None:
            m.copy_watch.store(int(a.index[i]), Bytes(True, at + np.arange(size)))
        m.shared.views[8][at >> 3 : (at + size) >> 3] = 0


def memsets(s: Site) -> Exec:
    """UMEMSETS: zeros in units of 8 bytes; a value other than zero is not known."""
    if not is_zero_reg(s.src[4]):
        raise s.unknown()
    where, count = address32(s, 0), s.raw(s.src[5])

    def run(m: Machine, a: Active) -> None:
        at = where(m, a)
        for i in first_threads(a):
            clear(m, a, int(i), int(at[i]), _word(count, m, a, int(i)) * 8)

    return run


def to_global(s: Site) -> Exec:
    """USTGR and UREDGR: a word or two of a uniform register, stored or added some steps later."""
    wide = s.has("64")
    size = 8 if wide else 4
    adds = s.op.base == "UREDGR"
    data = s.src[4]
    base = s.raw64(s.src[2])
    offset = payload(s.src[3]) if is_imm(s.src[3]) else 0
    value = s.raw64(data) if wide else s.raw(data)

    def issue(m: Machine, a: Active, i: int) -> None:
        at = _word(base, m, a, i) + (offset ^ 1 << 31) - (1 << 31)
        amount = _word(value, m, a, i)
        try:
            place = int(m.arena.offsets(np.array([at], U64), size, size)[0])
        except Fault as f:
            raise Fault(f.error, f.message, i) from None

        if m.copy_watch is not None:
            m.copy_watch.store(int(a.index[i]), Bytes(False, place + np.arange(size)))

        def finish() -> None:
            here = m.arena.data[place : place + size]
            old = int.from_bytes(here.tobytes(), "little") if adds else 0
            here[:] = np.frombuffer((old + amount & (1 << 8 * size) - 1).to_bytes(size, "little"), U8)

        m.defer(finish)

    def run(m: Machine, a: Active) -> None:
        for i in first_threads(a):
            issue(m, a, int(i))

    return run


def next_work(s: Site) -> Exec:
    """UGETNEXTWORKID: takes a cluster that has not started, and answers with its first block; or answers that there is none.

    The answer has 16 bytes: x, y and z (16 bits each), and bit 64, which says that there is one.
    """
    to, barrier = s.raw(s.src[2]), s.raw(s.src[6])
    everywhere = s.has("BROADCAST")

    def issue(m: Machine, a: Active, i: int) -> None:
        ranks = list(range(m.cluster_size)) if everywhere else []
        starts = [_shared(m, a, i, x, _UNITS, _UNITS) for x in own(_word(to, m, a, i), ranks)]
        signal = _word(barrier, m, a, i)
        end = _nothing
        if m.copy_watch is not None:
            goal = Bytes(True, (np.array(starts)[:, None] + np.arange(_UNITS)).reshape(-1))
            none = Bytes(False, np.zeros(0, I64))
            end = m.copy_watch.copy(int(a.index[i]), none, goal, _objects(m, a, i, signal, ranks), False, True)

        def finish() -> None:
            end()
            block = m.next_work()
            words = [0, 0, 0, 0] if block is None else [block[0], block[1] | block[2] << 16, 1, 0]
            for start in starts:
                m.shared.data[start : start + _UNITS] = np.array(words, np.uint32).view(U8)
            _report(m, a, i, signal, ranks, _UNITS)

        m.defer(finish, objects=_objects(m, a, i, signal, ranks))

    def run(m: Machine, a: Active) -> None:
        for i in first_threads(a):
            issue(m, a, int(i))

    return run


BUILDERS: Final[dict[str, Builder]] = {
    "UMEMSETS": memsets, "UBLKCP": bulk, "UBLKRED": bulk, "UTMALDG": tensor, "UTMASTG": tensor, "UTMAREDG": tensor, "REDAS": redas,
    "USTGR": to_global, "UREDGR": to_global, "UGETNEXTWORKID": next_work,
}  # fmt: skip
