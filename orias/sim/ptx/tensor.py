"""Builders: tcgen05, with the semantics of :mod:`orias.sim.matrix.tensor_memory`.

Loads and stores are done at once; waiting for them and relinquishing the allocation permit have no effect.
"""

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from orias.ptx.ast import O_ADDR, O_VEC, Operand
from orias.sim.core.sim_errors import Fault, IllegalInstruction
from orias.sim.core.site import Exec, Getter
from orias.sim.core.state import Active, Machine
from orias.sim.math.ops_int import I64, U32
from orias.sim.matrix.tensor_memory import (
    COPIES,
    SOURCES,
    Access,
    Form,
    Product,
    blocks_of,
    commit,
    copy,
    give,
    least,
    memory_of,
    multiply,
    shift_down,
    take,
)
from orias.sim.ptx.ptx_async import shared_word
from orias.sim.ptx.ptx_integer import Builder
from orias.sim.ptx.ptx_matrix import elements
from orias.sim.ptx.ptx_memory import address
from orias.sim.ptx.ptx_site import PtxSite
from orias.sim.sass.exec_copy import first_threads, own, peers
from orias.sim.sass.memory_places import shared_offsets

Arr = npt.NDArray[Any]


def _pair(s: PtxSite) -> bool:
    return s.mods.get("cta_group") == "cta_group::2"


def _tensor_address(s: PtxSite, o: Operand) -> Getter:
    """The address in tensor memory that an operand names."""
    g = address(s, o, "")
    return lambda m, a: g(m, a).astype(U32)


def _all(g: Getter, m: Machine, a: Active) -> list[int]:
    """A value per thread, as Python numbers."""
    values: list[int] = np.broadcast_to(g(m, a), (a.n,)).tolist()
    return values


def _blocks(m: Machine, a: Active) -> list[int]:
    blocks: list[int] = m.block_of[a.sel].tolist()
    return blocks


def _alloc(s: PtxSite) -> Exec:
    where, columns = shared_word(s, s.ops[0]), s.src(s.ops[1], "u32")

    def run(m: Machine, a: Active) -> None:
        place, counts, blocks = np.broadcast_to(where(m, a), (a.n,)), _all(columns, m, a), _blocks(m, a)
        for i in first_threads(a).tolist():
            got = take(m, blocks[i], _pair(s), counts[i])
            offset = shared_offsets(m, a, place[i : i + 1], np.array([i]), 4, 4)
            m.shared.store(offset, 4, [np.array([got], U32)])

    return run


def _dealloc(s: PtxSite) -> Exec:
    where, columns = s.src(s.ops[0], "u32"), s.src(s.ops[1], "u32")

    def run(m: Machine, a: Active) -> None:
        place, counts, blocks = _all(where, m, a), _all(columns, m, a), _blocks(m, a)
        for i in first_threads(a).tolist():
            give(m, blocks[i], place[i], counts[i])

    return run


def _accesses(s: PtxSite, half: list[Operand], packed: bool) -> list[tuple[Access, int]]:
    """(access, its offset to the address) for each access of an instruction; `half`: the offset operand of 16x32bx2."""
    shape, repeats = s.mods["shape"], int(s.mods["num"][1:])
    if shape == "16x32bx2":
        return [(Access("16x32b", repeats, packed, upper), half[0].value if upper else 0) for upper in (False, True)]
    return [(Access(shape, repeats, packed), 0)]


def _places(a: Active, where: list[int]) -> list[tuple[int, int, int]]:
    """(warp, position of its first thread, address) for each warp; a Fault unless all threads of the warps are active."""
    a.need_whole_warps("an access to tensor memory")
    return [(w, i, where[i]) for w, i in zip(a.warps.tolist(), first_threads(a).tolist(), strict=True)]


def _load(s: PtxSite) -> Exec:
    ops = list(s.ops)
    reduced = s.dst(ops.pop(1), "b32") if s.has("red") else None
    where = _tensor_address(s, ops[1])
    puts = [s.dst(o, "b32") for o in elements(ops[0])]
    accesses = _accesses(s, ops[2:], s.has("pack::16b"))
    if len(puts) != accesses[0][0].registers:
        raise s.unknown("number of registers")

    def run(m: Machine, a: Active) -> None:
        out = np.zeros((a.n, len(puts)), U32)
        for warp, i, at in _places(a, _all(where, m, a)):
            memory = memory_of(m, m.block_of_warp(warp))
            for access, more in accesses:
                words = access.load(memory, at + more & 0xFFFFFFFF, m.warp_in_block(warp))
                out[i + access.threads.start : i + access.threads.stop] = words
        for k, put in enumerate(puts):
            put(m, a, out[:, k])
        if reduced is not None:
            reduced(m, a, least(out, s.types[0], s.mods["op"] == "min", s.has("abs"), s.has("NaN")))

    return run


def _store(s: PtxSite) -> Exec:
    where = _tensor_address(s, s.ops[0])
    gets = [s.src(o, "b32") for o in elements(s.ops[-1])]
    accesses = _accesses(s, s.ops[1:-1], s.has("unpack::16b"))
    if len(gets) != accesses[0][0].registers:
        raise s.unknown("number of registers")

    def run(m: Machine, a: Active) -> None:
        words = np.stack([np.broadcast_to(g(m, a), (a.n,)) for g in gets], axis=1)
        for warp, i, at in _places(a, _all(where, m, a)):
            memory = memory_of(m, m.block_of_warp(warp))
            for access, more in accesses:
                part = words[i + access.threads.start : i + access.threads.stop]
                access.store(memory, at + more & 0xFFFFFFFF, m.warp_in_block(warp), part)

    return run


_VECTORS: Final[dict[str, int]] = {
    "scale_vec::1X": 32, "scale_vec::2X": 32, "block32": 32, "scale_vec::4X": 16, "block16": 16,
}  # fmt: skip
"""Number of elements that share a scale."""


def _mma(s: PtxSite) -> Exec:
    """tcgen05.mma and tcgen05.mma.ws, one per thread."""
    kind = s.mods["kind"].removeprefix("kind::")
    known = ("cta_group", "kind", "collector_a", "collector_b", "block_scale", "scale_vec", "sp", "ashift")
    stationary, sparse, shifted = s.name.endswith(".ws"), s.has("sp"), s.has("ashift")
    if any(x not in known for x in s.mods):
        raise s.unknown()
    scaled = s.has("block_scale")
    vector = _VECTORS.get(s.mods.get("scale_vec", "block32"), 0) if scaled else 0
    if kind == "mxf4nvf4":
        kind = "mxf4"
    in_tensor = s.ops[1].kind == O_ADDR
    d = _tensor_address(s, s.ops[0])
    left = _tensor_address(s, s.ops[1]) if in_tensor else s.src(s.ops[1], "b64")
    rest = list(s.ops[2:])
    right = s.src(rest.pop(0), "b64")
    metadata = [_tensor_address(s, rest.pop(0))] if sparse else []
    description = s.src(rest.pop(0), "b32")
    scales = [_tensor_address(s, rest.pop(0)) for _ in range(2)] if scaled else []
    lanes = [s.src(o, "b32") for o in rest[0].elems] if rest[0].kind == O_VEC else []
    keep = s.pred(rest[1 if lanes else 0])
    last = rest[-1] if len(rest) > (2 if lanes else 1) else None
    mask = [s.src(last, "b64")] if stationary and last is not None else []
    scale = last.value if last is not None and not stationary else 0

    def run(m: Machine, a: Active) -> None:
        operands = [_all(g, m, a) for g in (d, left, right, description, keep)]
        masks, factors = [_all(g, m, a) for g in lanes], [_all(g, m, a) for g in scales]
        places, descriptors = [_all(g, m, a) for g in metadata], [_all(g, m, a) for g in mask]
        for i, block in enumerate(_blocks(m, a)):
            to, x, y, form, flag = (v[i] for v in operands)
            off = sum(w[i] << 32 * k for k, w in enumerate(masks))
            blocks = blocks_of(m, block, _pair(s))
            f = Form(kind, form, _pair(s), vector, stationary)
            if f.sparse != sparse:
                raise Fault(IllegalInstruction, f"instruction descriptor 0x{form:08x} of {s.name}", 0)
            at = (factors[0][i], factors[1][i]) if scaled else (0, 0)
            words, zeros = (v[0][i] if v else 0 for v in (places, descriptors))
            product = Product(f, blocks, to, x, in_tensor, y, bool(flag), scale, off, at, words, zeros, shifted)
            multiply(m, product, int(a.index[i]) >> 5)

    return run


def _commit(s: PtxSite) -> Exec:
    where = shared_word(s, s.ops[0])
    mask = s.src(s.ops[1], "b16") if s.has("multicast") else None

    def run(m: Machine, a: Active) -> None:
        places = _all(where, m, a)
        masks = _all(mask, m, a) if mask is not None else []
        for i, at in enumerate(places):
            ranks = peers(m, i, masks[i]) if masks else []
            if masks and not ranks:
                continue
            goals = [np.array([x], I64) for x in own(at, ranks)]
            block = m.block_of_warp(int(a.index[i]) >> 5)
            commit(m, block, [int(shared_offsets(m, a, x, np.array([i]), 8, 8)[0]) for x in goals])

    return run


def _copy(s: PtxSite) -> Exec:
    halves = s.mods.get("warpx", "").partition("::")[2]
    shape = s.mods["shape"] + (f".{halves}" if halves else "")
    source_format = next((t for t in s.types if t in SOURCES), "")
    if shape not in COPIES:
        raise s.unknown()
    where, source = _tensor_address(s, s.ops[0]), s.src(s.ops[1], "b64")

    def run(m: Machine, a: Active) -> None:
        each = zip(a.index.tolist(), _blocks(m, a), _all(where, m, a), _all(source, m, a), strict=True)
        for thread, block, to, word in each:
            for b in blocks_of(m, block, _pair(s)):
                copy(m, thread >> 5, b, to, word, shape, source_format)

    return run


def _shift(s: PtxSite) -> Exec:
    where = _tensor_address(s, s.ops[0])

    def run(m: Machine, a: Active) -> None:
        for block, to in zip(_blocks(m, a), _all(where, m, a), strict=True):
            for b in blocks_of(m, block, _pair(s)):
                shift_down(m, b, to)

    return run


TENSOR: Final[dict[str, Builder]] = {
    "tcgen05.alloc": _alloc, "tcgen05.dealloc": _dealloc, "tcgen05.ld": _load, "tcgen05.st": _store, "tcgen05.mma": _mma, "tcgen05.mma.ws": _mma,
    "tcgen05.commit": _commit, "tcgen05.cp": _copy, "tcgen05.shift": _shift,
}  # fmt: skip
