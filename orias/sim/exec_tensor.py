"""Builders for the warp's matrix instructions: HMMA, IMMA, DMMA, BMMA, and the matrix loads and stores LDSM, STSM.

Fragments lie in registers as PTX documents for ``mma`` and ``ldmatrix``.  Products are exact.  How the hardware rounds the
sum of floating-point products is not documented; here f16, bf16 and tf32 products and the accumulator are added in f64 and
rounded once to the result's type, and f64 products are chained fused multiply-adds over rising k.  Integer and bit results are
exact.  Sparse forms and the warpgroup instructions are refused.
"""

import re
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from orias.isa.operand import Opnd, is_zero_reg
from orias.sim import ops_half as half
from orias.sim import softfloat as sf
from orias.sim.errors import Fault, IllegalInstruction
from orias.sim.exec_mem import address32, shared_offsets
from orias.sim.ops_int import I64, U16, U32, U64
from orias.sim.site import Exec, Getter, Site
from orias.sim.state import Active, Machine

Arr = npt.NDArray[Any]
Builder = Callable[[Site], Exec]

_LANE: Final = np.arange(32)
_GROUP: Final = _LANE >> 2
_IN_GROUP: Final = _LANE & 3


def _words(s: Site, o: Opnd, count: int) -> list[Getter]:
    return [s.raw(o if is_zero_reg(o) else o + (k << 15)) for k in range(count)]


def _gather(getters: list[Getter], m: Machine, a: Active) -> Arr:
    """Registers of whole warps: uint32 [warps, 32, registers]."""
    if (a.lane_mask != np.uint32(0xFFFFFFFF)).any():
        raise Fault(IllegalInstruction, "a matrix instruction needs all threads of the warp", 0)
    columns = [a.spread(np.broadcast_to(g(m, a), (a.n,))) for g in getters]
    return np.stack(columns, axis=2)


def _split(words: Arr, bits: int) -> Arr:
    """Fields of words: [..., registers] to [..., registers, fields]."""
    shifts = np.arange(0, 32, bits, dtype=np.uint32)
    mask = np.uint32((1 << bits) - 1)
    result: Arr = (words[..., None] >> shifts) & mask
    return result


def _matrix_a(fields: Arr, rows: int) -> Arr:
    """[warps, 32, registers, fields] to [warps, rows, k]."""
    w, _, regs, per = fields.shape
    tall = rows == 16
    k = regs * per * 4 // (2 if tall else 1)
    out = np.zeros((w, rows, k), fields.dtype)
    for r in range(regs):
        row = _GROUP + (8 * (r & 1) if tall else 0)
        block = r >> 1 if tall else r
        for e in range(per):
            out[:, row, per * _IN_GROUP + e + 4 * per * block] = fields[:, :, r, e]
    return out


def _matrix_b(fields: Arr) -> Arr:
    """[warps, 32, registers, fields] to [warps, k, 8]."""
    w, _, regs, per = fields.shape
    out = np.zeros((w, regs * per * 4, 8), fields.dtype)
    for r in range(regs):
        for e in range(per):
            out[:, per * _IN_GROUP + e + 4 * per * r, _GROUP] = fields[:, :, r, e]
    return out


def _matrix_c(values: Arr, rows: int) -> Arr:
    """[warps, 32, values] (two columns of a row, then the row eight below) to [warps, rows, 8]."""
    out = np.zeros((values.shape[0], rows, 8), values.dtype)
    for r in range(values.shape[2]):
        out[:, _GROUP + 8 * (r >> 1), 2 * _IN_GROUP + (r & 1)] = values[:, :, r]
    return out


def _fragments_c(matrix: Arr) -> Arr:
    """The inverse of :func:`_matrix_c`."""
    count = matrix.shape[1] // 8 * 2
    return np.stack([matrix[:, _GROUP + 8 * (r >> 1), 2 * _IN_GROUP + (r & 1)] for r in range(count)], axis=2)


def _store(s: Site, m: Machine, a: Active, words: Arr) -> None:
    o = s.regs[0]
    for r in range(words.shape[2]):
        s.set32(o if is_zero_reg(o) else o + (r << 15))(m, a, a.gather(np.ascontiguousarray(words[:, :, r])))


def _shape(s: Site) -> tuple[int, int]:
    """(rows, k) from a modifier such as 16816 or 16x8x4."""
    for x in s.op.mods:
        found = re.fullmatch(r"(8|16)(?:x?8x?)(\d+)", x)
        if found:
            return int(found[1]), int(found[2])
    raise s.unknown("shape")


def hmma(s: Site) -> Exec:
    """HMMA: f16, bf16 or tf32 factors, f32 or f16 accumulator."""
    rows, k = _shape(s)
    if rows != 16 or s.has("SP") or any(x.startswith("STEP") for x in s.op.mods) or len(s.src) > 3:
        raise s.unknown()
    tf32, bf16 = s.has("TF32"), s.has("BF16")
    narrow = s.has("F16") and not s.has("F32")
    per = 1 if tf32 else 2
    ga, gb = _words(s, s.src[0], rows * k // (32 * per)), _words(s, s.src[1], 8 * k // (32 * per))
    gc = _words(s, s.src[2], 2 if narrow else 4)

    def values(words: Arr) -> Arr:
        if tf32:
            return (words & np.uint32(0xFFFFE000)).view(np.float32).astype(np.float64)[..., None]
        return half.value(_split(words, 16), bf16)

    def run(m: Machine, a: Active) -> None:
        x, y = _matrix_a(values(_gather(ga, m, a)), rows), _matrix_b(values(_gather(gb, m, a)))
        c = _gather(gc, m, a)
        if narrow:
            f = half.value(_split(c, 16), False)
            z = _matrix_c(f.reshape(*f.shape[:2], 4), rows)
        else:
            z = _matrix_c(c.view(np.float32).astype(np.float64), rows)
        d = _fragments_c(np.matmul(x, y) + z)
        if narrow:
            p = half.pattern(d, False)
            _store(s, m, a, half.pack(p[..., 0::2], p[..., 1::2]))
        else:
            _store(s, m, a, sf.finish32(np.ascontiguousarray(d).astype(np.float32), False, False))

    return run


def imma(s: Site) -> Exec:
    """IMMA: 8- and 4-bit integers, 32-bit accumulator, saturated with SAT."""
    rows, k = _shape(s)
    types = [x for x in s.op.mods if re.fullmatch(r"[SU][48]", x)]
    if len(types) != 2 or s.has("SP") or len(s.src) > 3:
        raise s.unknown()
    bits = int(types[0][1])
    per = 32 // bits
    ga, gb = _words(s, s.src[0], rows * k // (32 * per)), _words(s, s.src[1], 8 * k // (32 * per))
    gc = _words(s, s.src[2], rows // 4)
    sat = s.has("SAT")

    def values(words: Arr, signed: bool) -> Arr:
        f = _split(words, bits).astype(I64)
        return np.where(f >> (bits - 1) & 1, f - (1 << bits), f) if signed else f

    def run(m: Machine, a: Active) -> None:
        x = _matrix_a(values(_gather(ga, m, a), types[0][0] == "S"), rows)
        y = _matrix_b(values(_gather(gb, m, a), types[1][0] == "S"))
        d = np.matmul(x, y) + _matrix_c(_gather(gc, m, a).view(np.int32).astype(I64), rows)
        if sat:
            d = np.clip(d, -(1 << 31), (1 << 31) - 1)
        _store(s, m, a, _fragments_c(d).astype(U32))

    return run


def bmma(s: Site) -> Exec:
    """BMMA: population counts of and-ed (AND) or xor-ed (XOR) rows and columns of bits."""
    rows, k = _shape(s)
    if not s.has("POPC") or not (s.has("AND") or s.has("XOR")) or len(s.src) > 3:
        raise s.unknown()
    ga, gb = _words(s, s.src[0], rows * k // 1024), _words(s, s.src[1], k // 128)
    gc = _words(s, s.src[2], rows // 4)
    exclusive = s.has("XOR")

    def run(m: Machine, a: Active) -> None:
        x = _matrix_a(_split(_gather(ga, m, a), 1).astype(I64), rows)
        y = _matrix_b(_split(_gather(gb, m, a), 1).astype(I64))
        d = np.matmul(x, y)
        if exclusive:
            d = x.sum(axis=2)[:, :, None] + y.sum(axis=1)[:, None, :] - 2 * d
        _store(s, m, a, _fragments_c(d + _matrix_c(_gather(gc, m, a).astype(I64), rows)).astype(U32))

    return run


def dmma(s: Site) -> Exec:
    """DMMA: f64."""
    rows, k = _shape(s)
    mode = next((v for n, v in (("RM", sf.RM), ("RP", sf.RP), ("RZ", sf.RZ)) if s.has(n)), sf.RN)
    if len(s.src) > 3:
        raise s.unknown()
    ga, gb = _words(s, s.src[0], rows * k // 16), _words(s, s.src[1], k // 2)
    gc = _words(s, s.src[2], rows // 2)

    def pairs(getters: list[Getter], m: Machine, a: Active) -> Arr:
        w = _gather(getters, m, a)
        result: Arr = w[..., 0::2].astype(U64) | (w[..., 1::2].astype(U64) << np.uint64(32))
        return result

    def run(m: Machine, a: Active) -> None:
        x, y = _matrix_a(pairs(ga, m, a)[..., None], rows), _matrix_b(pairs(gb, m, a)[..., None])
        d = _matrix_c(pairs(gc, m, a), rows)
        for i in range(k):
            p, q = np.broadcast_arrays(x[:, :, i, None], y[:, None, i, :])
            d = sf.dfma64(p.reshape(-1), q.reshape(-1), d.reshape(-1), mode).reshape(d.shape)
        f = _fragments_c(d)
        words = np.stack((f.astype(U32), (f >> np.uint64(32)).astype(U32)), axis=3)
        _store(s, m, a, words.reshape(*words.shape[:2], -1))

    return run


def _matrices(s: Site) -> tuple[int, bool]:
    """(number of 8x8 matrices, transposed)."""
    if not s.has("16") or not (s.has("M88") or s.has("MT88")):
        raise s.unknown()
    return (4 if s.has("4") else 2 if s.has("2") else 1), s.has("MT88")


def _rows(m: Machine, a: Active, address: Arr, count: int) -> Arr:
    """Offsets in shared memory of the rows: [warps, count, 8]."""
    if (a.lane_mask != np.uint32(0xFFFFFFFF)).any():
        raise Fault(IllegalInstruction, "a matrix instruction needs all threads of the warp", 0)
    where = np.flatnonzero((a.index & 31) < 8 * count)
    try:
        offset = shared_offsets(m, a, address[where], where, 16, 16)
    except Fault as f:
        raise Fault(f.error, f.message, int(where[f.lane])) from None
    return offset.reshape(-1, count, 8)


def ldsm(s: Site) -> Exec:
    """LDSM: each thread of a group of eight gives the address of a row of its matrix."""
    count, transposed = _matrices(s)
    get = address32(s, 0)
    puts = [s.set32(s.regs[0] + (r << 15)) for r in range(count)]

    def run(m: Machine, a: Active) -> None:
        rows = _rows(m, a, get(m, a), count)
        data = m.shared.views[2][(rows[..., None] >> 1) + np.arange(8)]
        if transposed:
            data = data.transpose(0, 1, 3, 2)
        low = data[:, :, _GROUP, 2 * _IN_GROUP].astype(U32)
        high = data[:, :, _GROUP, 2 * _IN_GROUP + 1].astype(U32)
        words = low | (high << np.uint32(16))
        for r, put in enumerate(puts):
            put(m, a, a.gather(np.ascontiguousarray(words[:, r])))

    return run


def stsm(s: Site) -> Exec:
    """STSM: the inverse of LDSM."""
    count, transposed = _matrices(s)
    get = address32(s, 0)
    sources = _words(s, s.src[4], count)

    def run(m: Machine, a: Active) -> None:
        rows = _rows(m, a, get(m, a), count)
        words = _gather(sources, m, a)
        data = np.zeros((*rows.shape, 8), U16)
        for r in range(count):
            data[:, r, _GROUP, 2 * _IN_GROUP] = words[:, :, r] & np.uint32(0xFFFF)
            data[:, r, _GROUP, 2 * _IN_GROUP + 1] = words[:, :, r] >> np.uint32(16)
        if transposed:
            data = data.transpose(0, 1, 3, 2)
        m.shared.views[2][(rows[..., None] >> 1) + np.arange(8)] = data

    return run


BUILDERS: Final[dict[str, Builder]] = {
    "HMMA": hmma, "IMMA": imma, "BMMA": bmma, "DMMA": dmma, "LDSM": ldsm, "STSM": stsm,
}  # fmt: skip
