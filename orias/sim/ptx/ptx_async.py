"""Builders: barrier objects, bulk and tensor copies, asynchronous stores, tensor maps.

Barrier objects have the layout of :mod:`orias.sim.sass.exec_async`.  Copies use the builders of the SASS instructions,
thread by thread, with operands in scratch rows.
"""

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from orias.isa.operand import K_NONE, RZ, URZ, Opnd, imm, r, reg_plus
from orias.ptx.ast import O_PAIR, O_SINK, Operand
from orias.sim.core.sim_errors import Fault
from orias.sim.core.site import Exec, Getter, run_all
from orias.sim.core.state import Active, Machine
from orias.sim.math.ops_int import I64, U32, U64
from orias.sim.ptx.ptx_integer import Builder
from orias.sim.ptx.ptx_matrix import elements
from orias.sim.ptx.ptx_memory import SPACES, address, atomic, load_values, store, store_values
from orias.sim.ptx.ptx_site import PtxSite, bits_of
from orias.sim.sass import exec_async, exec_copy
from orias.sim.sass.memory_places import shared_offsets
from orias.target import features

Arr = npt.NDArray[Any]


def shared_word(s: PtxSite, o: Operand) -> Getter:
    """The 32-bit shared address (int64) that an operand names."""
    space = s.mods.get("space", "")
    if not space.startswith("shared"):
        space = "shared" if o.var is not None and o.var.space == "shared" else ""
    g = address(s, o, space)

    def get(m: Machine, a: Active) -> Arr:
        v = g(m, a)
        mask = 0xFFFFFFFF if space or m.has_clusters else 0xFFFFFF
        result: Arr = (v & v.dtype.type(mask)).astype(I64)
        return result

    return get


def _objects(m: Machine, a: Active, at: Arr) -> Arr:
    return shared_offsets(m, a, at, None, 8, 8)


def _init(s: PtxSite) -> Exec:
    at, count = shared_word(s, s.ops[0]), s.src(s.ops[1], "u32")
    version = np.uint64(s.mods.get("layout_version") == "layout::v1")

    def run(m: Machine, a: Active) -> None:
        n = np.broadcast_to(count(m, a), (a.n,)).astype(U64)
        if m.hardware_barriers:
            c = (np.uint64(1 << 20) - n) & np.uint64(0xFFFFF)
            state = c << np.uint64(43) | c << np.uint64(1) | version
        else:
            state = (np.uint64(1 << 31) - n) << np.uint64(32) | (np.uint64(1 << 30) - n)
        m.changed = m.clock
        m.shared.views[8][_objects(m, a, at(m, a)) >> 3] = state

    return run


def _arrive(s: PtxSite) -> Exec:
    """mbarrier.arrive and arrive_drop; the state before is the result."""
    drop = s.name.endswith("drop")
    at = shared_word(s, s.ops[1])
    expects = s.has("expect_tx")
    operand = s.src(s.ops[2], "u32") if len(s.ops) > 2 else None
    put = s.dst(s.ops[0], "b64") if s.ops[0].kind != O_SINK else None

    def run(m: Machine, a: Active) -> None:
        n = np.broadcast_to(operand(m, a), (a.n,)).astype(I64) if operand is not None else np.ones(a.n, I64)

        def change(state: int, i: int) -> int:
            amount = int(n[i])
            arrivals = 1 if expects else amount
            if m.hardware_barriers:
                if expects:
                    state = exec_async.update(state, 0, amount)
                return exec_async.update(state, arrivals, 0, arrivals if drop else 0)
            if drop:
                state = state & ~0xFFFFFFFF | (state + arrivals) & 0xFFFFFFFF
            for _ in range(arrivals):
                state = exec_async.software_change(state, i)
            return state

        old = exec_async.each_object(m, _objects(m, a, at(m, a)), change)
        if put is not None:
            put(m, a, old)

    return run


def _transactions(s: PtxSite) -> Exec:
    at, count = shared_word(s, s.ops[0]), s.src(s.ops[1], "u32")
    sign = 1 if s.name.endswith("expect_tx") else -1

    def run(m: Machine, a: Active) -> None:
        n = np.broadcast_to(count(m, a), (a.n,)).astype(I64)
        exec_async.each_object(
            m, _objects(m, a, at(m, a)), lambda state, i: exec_async.update(state, 0, sign * int(n[i]))
        )

    return run


def _wait(s: PtxSite) -> Exec:
    """test_wait and try_wait; neither waits here."""
    pair = s.ops[0].kind == O_PAIR
    at, put = shared_word(s, s.ops[1]), s.setp(s.ops[0].elems[0] if pair else s.ops[0])
    early = s.setp(s.ops[0].elems[1]) if pair else None
    parity = s.has("parity")
    what = s.src(s.ops[2], "u32" if parity else "b64")
    up = np.uint64(63)

    def run(m: Machine, a: Active) -> None:
        m.finish_due()
        where = _objects(m, a, at(m, a))
        phase = m.shared.views[8][where >> 3] >> up
        v = np.broadcast_to(what(m, a), (a.n,)).astype(U64)
        old = v & np.uint64(1) if parity else v >> up
        over = phase != old
        put(m, a, over)
        if early is not None:
            early(m, a, np.zeros(a.n, np.bool_))
        if not over.all():
            exec_async.note_wait(m, a, where, over)

    return run


def _check_layout(s: PtxSite) -> Exec:
    at, put = shared_word(s, s.ops[1]), s.setp(s.ops[0])
    version = np.uint64(s.mods["layout_version"] == "layout::v1")

    def run(m: Machine, a: Active) -> None:
        state = m.shared.views[8][_objects(m, a, at(m, a)) >> 3]
        put(m, a, state & np.uint64(1) == version)

    return run


def _pending(s: PtxSite) -> Exec:
    if s.program.image.target.has(features.HARDWARE_BARRIERS):
        return s.each(lambda v: (-(v >> np.uint64(43)) & np.uint64(0xFFFFF)).astype(U32), ["b64"], "u32")
    return s.each(
        lambda v: np.uint32(1 << 31) - ((v >> np.uint64(32)).astype(U32) & np.uint32(0x7FFFFFFF)), ["b64"], "u32"
    )


def _copies_arrive(s: PtxSite) -> Exec:
    """cp.async.mbarrier.arrive: copies are done at once; without .noinc the object expects one more arrival."""
    at = shared_word(s, s.ops[0])
    more = not s.has("noinc")

    def change(state: int, i: int) -> int:
        return exec_async.update(exec_async.update(state, 0, 1), 0, -1) if more else exec_async.update(state, 1, 0)

    def software(state: int, i: int) -> int:
        if more:
            state = (state - (1 << 32)) & 0xFFFFFFFFFFFFFFFF
        return exec_async.software_change(state, i)

    def run(m: Machine, a: Active) -> None:
        f = change if m.hardware_barriers else software
        exec_async.each_object(m, _objects(m, a, at(m, a)), f)

    return run


def _nothing(s: PtxSite) -> Exec:
    return lambda m, a: None


# -- copies


class _Rows:
    """Operands that are copied to scratch rows before an instruction."""

    def __init__(self, s: PtxSite) -> None:
        self.s = s
        self.fills: list[Exec] = []

    def words(self, *gets: tuple[Getter, int]) -> Opnd:
        """A group of registers filled with values of one or two words each."""
        row = self.s.program.scratch(sum(n for _, n in gets))
        at = row
        for g, n in gets:
            self.fills.append(_filler(g, at, n))
            at += n
        return r(row)

    def address(self, o: Operand, space: str) -> tuple[Getter, int]:
        """An address as a word (shared memory) or a pair."""
        if o.var is not None and o.var.space == "shared":
            space = "shared"
        g = address(self.s, o, "shared" if space.startswith("shared") else space)
        return g, 1 if SPACES[space] == SPACES["shared"] else 2


def _filler(g: Getter, row: int, words: int) -> Exec:
    def fill(m: Machine, a: Active) -> None:
        v = np.broadcast_to(g(m, a), (a.n,))
        m.R[row][a.sel] = v.astype(U32)
        if words == 2:
            m.R[row + 1][a.sel] = v.astype(U64) >> np.uint64(32)

    return fill


def _one_by_one(steps: list[Exec]) -> Exec:
    """Runs the steps for one thread after the other: one copy per thread."""
    body = run_all(steps)

    def run(m: Machine, a: Active) -> None:
        for k, thread in enumerate(a.index):
            try:
                body(m, Active(np.array([thread])))
            except Fault as f:
                raise Fault(f.error, f.message, k) from None

    return run


def _group(at: Opnd) -> list[Opnd]:
    return [K_NONE, RZ, at, imm(0)]


_TYPE: Final[dict[str, str]] = {
    "s32": ".S32", "u64": ".U64", "s64": ".S64", "b64": ".U64", "f16": ".F16", "bf16": ".BF16", "f32": ".F32", "f64": ".F64",
}  # fmt: skip


def _bulk(s: PtxSite) -> Exec:
    if not s.has("src"):
        raise s.unknown()
    to, source = s.mods["dst"], s.mods["src"]
    rows = _Rows(s)
    multicast = s.has("multicast")
    masked = s.ops[4] if multicast else s.ops[-1] if s.has("cp_mask") else None
    size, mask = s.src(s.ops[2], "u32"), s.src(masked, "b16") if masked is not None else None

    def count(m: Machine, a: Active) -> Arr:
        units = size(m, a) >> np.uint32(4)
        return units if mask is None else units | mask(m, a).astype(U32) << np.uint32(16)

    target = rows.address(s.ops[0], to)
    first = (
        rows.words(target)
        if to == "global"
        else rows.words(target, rows.address(s.ops[5 if s.has("ignore_oob") else 3], "shared"))
    )
    second = rows.words(rows.address(s.ops[1], source))
    name = "UBLKRED" if s.has("op") else "UBLKCP"
    name += f".{'G' if to == 'global' else 'S'}.{'G' if source == 'global' else 'S'}"
    if s.has("op"):
        name += f".{s.mods['op'].upper()}{_TYPE.get(s.types[0], '')}"
    elif multicast:
        name += ".MULTICAST"
    elif mask is not None:
        name += ".DST_G_BYTE_MASK"
    site = s.sass(name, [], [*_group(first), *_group(second), rows.words((count, 1))])
    return _one_by_one([*rows.fills, exec_copy.bulk(site)])


_MODES: Final[dict[str, str]] = {
    "tile": "", "im2col": ".IM2COL", "im2col_no_offs": ".IM2COL", "im2col::w": ".W", "im2col::w::128": ".W128", "tile::gather4": ".GATHER4", "tile::scatter4": ".SCATTER4",
}  # fmt: skip
"""Modifiers of tensor copies that are simulated."""


def _tensor(s: PtxSite) -> Exec:
    mode = s.mods.get("mode", "tile")
    if mode not in _MODES:
        raise s.unknown()
    rows = _Rows(s)
    tail = f".{s.mods['dim'].upper()}{_MODES[mode]}"
    src: list[Opnd]
    if s.mods["dst"] == "global":
        table, place = s.ops[0], [rows.address(s.ops[1], "shared")]
        name = "UTMASTG" + tail if s.name == "cp.async.bulk.tensor" else f"UTMAREDG{tail}.{s.mods['op'].upper()}"
        extra: Getter | None = None
    else:
        table = s.ops[1]
        place = [rows.address(s.ops[0], "shared"), rows.address(s.ops[2], "shared")]
        name = f"UTMALDG{tail}{'.MULTICAST' if s.has('multicast') else ''}"
        name += ".2CTA" if s.mods.get("cta_group") == "cta_group::2" else ""
        extra = _extra(s, mode)
    place += [(s.src(e, "u32"), 1) for e in table.elems[0].elems]
    src = [*_group(rows.words(*place)), *_group(rows.words(rows.address(table, "")))]
    if extra is not None:
        src.append(rows.words((extra, 1)))
    return _one_by_one([*rows.fills, exec_copy.tensor(s.sass(name, [], src))])


def _extra(s: PtxSite, mode: str) -> Getter | None:
    """The word with im2col offsets (one of 16 bits, two of 8, or three of 5; modes W: 11 and 5) and multicast mask."""
    rest = list(s.ops[3:])
    parts: list[tuple[Getter, int]] = []
    if mode == "im2col":
        offsets = elements(rest.pop(0))
        bits = {1: 16, 2: 8, 3: 5}[len(offsets)]
        parts += [(s.src(o, "b16"), k * bits) for k, o in enumerate(offsets)]
    elif mode.startswith("im2col::w"):
        parts += [(s.src(o, "b16"), k * 11) for k, o in enumerate(elements(rest.pop(0)))]
    if s.has("multicast"):
        parts.append((s.src(rest[0], "b16"), 16))
    if not parts:
        return None

    def get(m: Machine, a: Active) -> Arr:
        total = np.zeros(a.n, U32)
        for g, shift in parts:
            total = total | g(m, a).astype(U32) << np.uint32(shift)
        return total

    return get


def _wait_group(s: PtxSite) -> Exec:
    return exec_async.depbar(s.sass("DEPBAR.LE", [], []))


def _store(s: PtxSite) -> Exec:
    """st.async and red.async: to shared memory of the cluster, or to global memory."""
    space = s.mods.get("space", "")
    if len(s.ops) == 2:
        return _to_global(s)
    if len(s.ops) < 3 or space not in ("", "shared::cluster", "shared::cta"):
        raise s.unknown()
    type_ = s.types[-1]
    rows = _Rows(s)
    # The low word of a generic address is the address in shared memory of the cluster, and so is one of the block's own.
    where = rows.words((rows.address(s.ops[0], space)[0], 1), (rows.address(s.ops[2], space)[0], 1))
    values = elements(s.ops[1])
    each = bits_of(type_) // 32
    data = rows.words(*[(s.src(o, type_), each) for o in values])
    src = [K_NONE, where, URZ, imm(0), data]
    if s.name == "red.async":
        op = s.mods["op"]
        name = (
            f"REDAS.{op.upper()}{'.S32' if type_ == 's32' and op in ('min', 'max') else ''}{'.64' if each == 2 else ''}"
        )
        return run_all([*rows.fills, exec_copy.redas(s.sass(name, [], src))])
    size = {1: "", 2: ".64", 4: ".128"}[each * len(values)]
    return run_all([*rows.fills, exec_async.stas(s.sass("STAS" + size, [], src))])


def _zeros(s: PtxSite) -> Exec:
    """st.bulk: zeros in shared memory, 8 bytes at a time."""
    at, size = shared_word(s, s.ops[0]), s.src(s.ops[1], "u64")

    def run(m: Machine, a: Active) -> None:
        where, n = np.broadcast_to(at(m, a), (a.n,)), np.broadcast_to(size(m, a), (a.n,))
        for i in range(a.n):
            exec_copy.clear(m, a, i, int(where[i]), int(n[i]) & -8)

    return run


# -- clusterlaunchcontrol


def _query(s: PtxSite) -> Exec:
    """What an answer to try_cancel says: bit 64 that it succeeded, the first word x, the halves of the second y and z."""
    query = s.mods["query"]
    row, bits = s.rows(s.ops[1])
    if bits != 128:
        raise s.unknown("operand")
    if query == "is_canceled":
        put = s.setp(s.ops[0])
        return lambda m, a: put(m, a, (m.R[row + 2][a.sel] & np.uint32(1)) != 0)
    first = "xyz".index(query[-1]) if "::" in query else 0
    targets = [s.dst(o, "b32") if o.kind != O_SINK else None for o in elements(s.ops[0])[:3]]

    def run(m: Machine, a: Active) -> None:
        x, second = m.R[row][a.sel], m.R[row + 1][a.sel]
        parts = (x, second & np.uint32(0xFFFF), second >> np.uint32(16))
        values = [p.copy() for p in parts[first:]]
        for put, v in zip(targets, values, strict=False):
            if put is not None:
                put(m, a, v)

    return run


def _to_global(s: PtxSite) -> Exec:
    """st.async and red.async to global memory: by the operations of sm_100, which release 32 or 64 bits, or as the ordinary ones."""
    type_ = s.types[-1]
    words = bits_of(type_) // 32
    reduces = s.name == "red.async"
    if s.mods.get("order") != "release" or not words or (reduces and s.mods["op"] != "add"):
        return atomic(s) if reduces else store(s)
    rows = _Rows(s)
    where, data = rows.words(rows.address(s.ops[0], "global")), rows.words((s.src(s.ops[1], type_), words))
    name = f"{'UREDGR.E.ADD' if reduces else 'USTGR.E'}.NA{'.64' if words == 2 else ''}.STRONG.SYS"
    return _one_by_one([*rows.fills, exec_copy.to_global(s.sass(name, [], [*_group(where), data]))])


def _try_cancel(s: PtxSite) -> Exec:
    rows = _Rows(s)
    pair = rows.words(rows.address(s.ops[0], "shared"), rows.address(s.ops[1], "shared"))
    name = f"UGETNEXTWORKID.{'BROADCAST' if s.has('multicast') else 'SELFCAST'}"
    site = s.sass(name, [], [*_group(pair), *_group(reg_plus(pair, 1))])
    return _one_by_one([*rows.fills, exec_copy.next_work(site)])


# -- tensor maps

_FLAGS: Final[dict[str, tuple[int, int]]] = {
    "rank": (4, 3), "elemtype": (7, 4), "interleave_layout": (11, 2), "swizzle_mode": (13, 2), "fill_mode": (15, 1),
    "swizzle_atomicity": (19, 3),
}  # fmt: skip
"""Fields of the word at byte 8: (lowest bit, bits)."""


def _replace(s: PtxSite) -> Exec:
    """tensormap.replace; counts are stored minus one, strides in 16-byte units."""
    field = s.mods["field"]
    space = s.mods.get("space", "")
    where = SPACES[space]
    at = address(s, s.ops[0], space)
    wide = field in ("global_address", "global_stride")
    value = s.src(s.ops[-1], "b64" if wide else "u32")
    ordinal = s.ops[1].value if len(s.ops) > 2 else 0

    codes = field == "elemtype" and s.program.image.target.has(features.MAP_CODES)
    rounded = codes and s.ops[-1].value in (11, 12)

    def code(v: Arr) -> Arr:
        """What a map has for the number of an element type: tf32 is f32, types of less than a byte follow bf16."""
        less = 4 if rounded else 2 if s.ops[-1].value > 12 else 0
        result: Arr = v - v.dtype.type(less)
        return result

    def insert(m: Machine, a: Active, byte: int, low: int, bits: int, v: Arr) -> None:
        place = at(m, a) + at(m, a).dtype.type(byte)
        mask = np.uint32(((1 << bits) - 1) << low)
        (old,) = load_values(m, a, where, place, 4, 32)
        store_values(m, a, where, place, 4, [(old & ~mask) | (v.astype(U32) << np.uint32(low)) & mask])

    def run(m: Machine, a: Active) -> None:
        v = np.broadcast_to(value(m, a), (a.n,))
        less = v - v.dtype.type(1)
        if field == "global_address":
            store_values(m, a, where, at(m, a), 8, [v])
        elif field in _FLAGS:
            if rounded:
                insert(m, a, 8, 16, 1, np.ones(a.n, U32))
            insert(m, a, 8, *_FLAGS[field], code(v) if codes else v)
            if field == "swizzle_mode":
                insert(m, a, 8, 22, 1, np.zeros(a.n, U32))
        elif field == "global_dim":
            insert(m, a, 0x20 + 4 * ordinal, 0, 32, less)
        elif field == "box_dim":
            byte = 0x37 + ordinal
            insert(m, a, byte & ~3, byte % 4 * 8, 8, less)
        elif field == "element_stride":
            insert(m, a, 0x34, 3 * ordinal, 3, less)
        else:
            insert(m, a, 0xC + 4 * ordinal, 0, 32, v >> np.uint64(4))
            insert(m, a, 0x1C, 4 * ordinal, 4, v >> np.uint64(36))

    if field not in (*_FLAGS, "global_address", "global_dim", "box_dim", "element_stride", "global_stride"):
        raise s.unknown()
    return run


def _copy_map(s: PtxSite) -> Exec:
    """tensormap.cp_fenceproxy: each lane copies one word of the 128 bytes."""
    to, source = address(s, s.ops[0], "global"), address(s, s.ops[1], "shared")

    def run(m: Machine, a: Active) -> None:
        step = 4 * (a.index & 31)
        (v,) = load_values(m, a, SPACES["shared"], source(m, a) + step, 4, 32)
        store_values(m, a, SPACES["global"], to(m, a) + step.astype(U64), 4, [v])

    return run


ASYNCHRONOUS: Final[dict[str, Builder]] = {
    "mbarrier.init": _init, "mbarrier.inval": _nothing, "mbarrier.arrive": _arrive, "mbarrier.arrive_drop": _arrive,
    "mbarrier.expect_tx": _transactions, "mbarrier.complete_tx": _transactions, "mbarrier.test_wait": _wait,
    "mbarrier.try_wait": _wait, "mbarrier.pending_count": _pending, "mbarrier.check_layout": _check_layout,
    "cp.async.mbarrier.arrive": _copies_arrive,
    "cp.async.bulk": _bulk, "cp.reduce.async.bulk": _bulk, "cp.async.bulk.tensor": _tensor, "cp.reduce.async.bulk.tensor": _tensor,
    "cp.async.bulk.wait_group": _wait_group, "st.async": _store, "red.async": _store, "tensormap.replace": _replace,
    "tensormap.cp_fenceproxy": _copy_map, "st.bulk": _zeros, "clusterlaunchcontrol.query_cancel": _query,
    "clusterlaunchcontrol.try_cancel": _try_cancel,
}  # fmt: skip
