"""Builders for the warpgroup matrix instructions: HGMMA, IGMMA, QGMMA, BGMMA, WARPGROUP.

A warp's quarter of the product (16 rows of 64) is computed when the instruction issues, from the current registers and
shared memory.  Until a wait for its group, the registers of the accumulator hold a recognisable pattern; the wait
writes the results to them.  Code that reads an accumulator without a wait therefore gives wrong results.  With ``late`` the
wait also computes them, from what registers of A and shared memory hold then.

:mod:`orias.sim.matrix.shared_matrix` has the matrices in shared memory.  Products are exact; sums of floating-point
products are those of :mod:`orias.sim.matrix.exec_mma` (f64, rounded once).  Sparse metadata have the layout documented
for ``mma.sp``.
"""

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from orias.isa.gmma_forms import a_in_registers, accumulator_words, c_start, commits
from orias.isa.operand import K_UP, NEG, in_file, is_zero_reg, payload
from orias.sim.core.site import Exec, Site
from orias.sim.core.state import POISON, Active, Machine
from orias.sim.math import ops_half as half
from orias.sim.math import softfloat as sf
from orias.sim.math.ops_int import I64, U32
from orias.sim.matrix.exec_mma import disturbed
from orias.sim.matrix.fragments import matrix_a
from orias.sim.matrix.shared_matrix import SharedMatrix, elements, values

Arr = npt.NDArray[Any]
Builder = Callable[[Site], Exec]


class Matrix:
    """The form of one operation: sizes, types, signs and transpositions."""

    def __init__(self, s: Site) -> None:
        op = s.op
        shape = next(m for m in op.mods if m.startswith("64x")).split("x")
        self.n = int(shape[1])
        self.k = int(shape[2])
        self.sparse = op.has("SP")
        self.base = op.base
        self.words = accumulator_words(op)
        self.narrow = op.has("F16") and not op.has("F32")
        self.from_registers = a_in_registers(s.src)
        self.negative_a = op.has("negA") or (self.from_registers and bool(s.src[0] & NEG))
        self.negative_b = op.has("negB")
        self.turned_a = op.has("tnspA")
        self.turned_b = op.has("tnspB")
        self.saturate = op.has("SAT")
        types = [m for m in op.mods if m in ("U8", "S8", "E4M3", "E5M2")]
        if op.base in ("IGMMA", "QGMMA"):
            if len(types) != 2:
                raise s.unknown("types")
            self.types = (types[0], types[1])
            self.bits = 8
        elif op.base == "BGMMA":
            if not (op.has("AND") and op.has("POPC")):
                raise s.unknown("operation")
            self.types = ("B1", "B1")
            self.bits = 1
        else:
            one = "TF32" if op.has("TF32") else "BF16" if op.has("BF16") else "F16"
            self.types = (one, one)
            self.bits = 32 if one == "TF32" else 16
        if (self.turned_a or self.turned_b) and self.bits != 16:
            raise s.unknown("transposition of this type")
        self.stored_k = self.k // 2 if self.sparse else self.k
        """Number of stored columns of A (half of k if A is sparse)."""
        self.exact = op.base in ("IGMMA", "BGMMA")

    def values(self, patterns: Arr, which: int) -> Arr:
        """Element patterns as i64 or f64 values, with the matrix's sign."""
        return self.signed(values(patterns, self.types[which]), which)

    def signed(self, v: Arr, which: int) -> Arr:
        """Values with the sign of the matrix A (`which` 0) or B."""
        return -v if (self.negative_b if which else self.negative_a) else v


def _stored(m: Machine, f: Matrix, word: int, which: int, rows: Arr, k: int, warp: int) -> Arr:
    """A matrix in shared memory of a warp's block as [rows, k] values (rows of A, columns of B)."""
    block = m.block_of_warp(warp)
    turned = f.turned_b if which else f.turned_a
    matrix = SharedMatrix(m, word, block, f.types[which], rows, k, turned)
    if m.copy_watch is not None:
        m.copy_watch.product(32 * warp, warp - (m.warp_in_block(warp) & 3), matrix.bytes())
    return f.signed(matrix.values(m), which)


def _fragment_a(f: Matrix, words: Arr) -> Arr:
    """A from registers, [32, 4] words, as [16, k] patterns."""
    fields = elements(words.astype("<u4").view(np.uint8).reshape(32, 4, 4), f.bits)
    result: Arr = matrix_a(fields[None], 16)[0]
    return result


def _spread_sparse(f: Matrix, a: Arr, metadata: Arr, selector: int) -> Arr:
    """Expands a sparse A: the stored columns [16, k/2] move to the columns in [16, k] that the metadata give.

    16-bit and tf32 elements: in each quad, the two threads that the selector names have a word each, with the indices
    of half the columns: of row g in the lower half, of row g + 8 in the upper half.  8-bit elements: threads 0 and 2
    have row g, threads 1 and 3 have row g + 8, with 32 columns each.
    """
    out = np.zeros((16, f.k), a.dtype)
    by_quad = metadata.reshape(8, 4).astype(np.uint64)
    index = np.zeros((16, f.stored_k), np.int64)
    if f.bits == 8:
        for part in range(2):
            for high in range(2):
                word = by_quad[:, 2 * part + high]
                for e in range(16):
                    index[8 * high : 8 * high + 8, 16 * part + e] = word >> np.uint64(2 * e) & np.uint64(3)
        groups = np.arange(f.stored_k) // 2 * 4
    else:
        columns = f.stored_k // 2
        for part in range(2):
            word = by_quad[:, 2 * selector + part]
            for high in range(2):
                for e in range(columns):
                    step = 4 if f.bits == 32 else 2
                    field = word >> np.uint64(16 * high + step * e)
                    value = (field >> np.uint64(1) & np.uint64(1)) if f.bits == 32 else field & np.uint64(3)
                    index[8 * high : 8 * high + 8, columns * part + e] = value
        groups = np.arange(f.stored_k) // 2 * 4 if f.bits == 16 else np.arange(f.stored_k) * 2
    np.put_along_axis(out, index + groups[None, :], a, 1)
    return out


def _c_values(f: Matrix, words: Arr) -> Arr:
    """Accumulator words [32, n] as values [16, n]."""
    if f.narrow:
        low, high = half.unpack(words, False)
        flat = np.stack((low, high), axis=2).reshape(32, -1)
    elif f.exact:
        flat = words.view(np.int32).astype(I64)
    else:
        flat = words.view(np.float32).astype(np.float64)
    # A lane has two neighbours of row g, then of row g + 8, of every eight columns.
    result: Arr = flat.reshape(8, 4, f.n // 8, 2, 2).transpose(3, 0, 2, 1, 4).reshape(16, f.n)
    return result


def _d_words(f: Matrix, d: Arr) -> Arr:
    """Values [16, n] as accumulator words [32, n]."""
    flat = d.reshape(2, 8, f.n // 8, 4, 2).transpose(1, 3, 2, 0, 4).reshape(32, f.n // 8, 2, 2)
    if f.narrow:
        p = half.pattern(flat, False)
        return half.pack(p[..., 0], p[..., 1]).reshape(32, -1)
    if f.exact:
        if f.saturate:
            flat = np.clip(flat, -(1 << 31), (1 << 31) - 1)
        return flat.astype(U32).reshape(32, -1)
    with np.errstate(over="ignore"):
        return sf.finish32(flat.astype(np.float32), False, False).reshape(32, -1)


_NOT_YET: Final[Arr] = np.zeros((32, 0), U32)
"""Stands for a result that is computed at the wait for it."""


class Queue:
    """Pending results of one warp by first register: of the open group, and of the committed groups, oldest first."""

    def __init__(self) -> None:
        self.open: dict[int, Arr] = {}
        self.groups: list[dict[int, Arr]] = []
        self.late: list[list[Callable[[], None]]] = [[]]
        """With ``late``: what the open group, the last, and those before it still have to compute."""

    def group(self, register: int) -> dict[int, Arr] | None:
        """The newest group with a pending result for an accumulator; None if its registers hold the value."""
        for g in (self.open, *reversed(self.groups)):
            if register in g:
                return g
        return None


def _queue(m: Machine, warp: int) -> Queue:
    q = m.warpgroup.get(warp)
    if q is None:
        q = m.warpgroup[warp] = Queue()
    return q


def gmma(s: Site) -> Exec:
    """HGMMA, IGMMA, QGMMA, BGMMA."""
    f = Matrix(s)
    at = c_start(s.src)
    d = payload(s.dst[0])
    c_zero = is_zero_reg(s.src[at])
    c = d if c_zero else payload(s.src[at])
    rest = s.src[at + 1 :]
    commit = commits(s.src)
    if commit:
        rest = rest[:-1]
    keep = s.pred(rest[0]) if rest and in_file(rest[0], K_UP) else None
    if keep is not None:
        rest = rest[1:]
    metadata = payload(rest[0]) if f.sparse else 0
    selector = payload(rest[1]) if len(rest) > 1 else 0
    descriptor = payload(s.src[1 if f.from_registers else 0])
    first_a = payload(s.src[0]) if f.from_registers else 0
    nothing = is_zero_reg(s.dst[0])

    def addend(m: Machine, warp: int, kept: bool) -> Callable[[], Arr] | None:
        """Where the words of C come from: the registers as they are now, or a result that is still pending."""
        if not kept or c_zero:
            return None
        group = _queue(m, warp).group(c)
        if group is not None:
            return lambda: group[c]
        now = np.stack([m.R[c + k][32 * warp : 32 * warp + 32] for k in range(f.words)], axis=1)
        return lambda: now

    def matrix_b(m: Machine, word: int, warp: int, known: dict[tuple[int, int], Arr]) -> Arr:
        """B, which the warps of a warpgroup share: `known` by block and descriptor."""
        key = (m.block_of_warp(warp), word)
        y = known.get(key)
        if y is None or m.copy_watch is not None:  # which is to hear of every warp
            y = known[key] = _stored(m, f, word, 1, np.arange(f.n), f.k, warp).T
        return y

    def one(
        m: Machine,
        warp: int,
        words_c: Callable[[], Arr] | None,
        words: list[int],
        known: dict[tuple[int, int], Arr],
    ) -> Arr:
        """The product; `words`: the low words of the descriptors of A and B."""
        threads = slice(32 * warp, 32 * warp + 32)
        quarter = m.warp_in_block(warp) & 3
        if f.from_registers:
            fragment = np.stack([m.R[first_a + k][threads] for k in range(4)], axis=1)
            x = f.values(_fragment_a(f, fragment), 0)
        else:
            rows = np.arange(16 * quarter, 16 * quarter + 16)
            x = _stored(m, f, words[0], 0, rows, f.stored_k, warp)
        if f.sparse:
            x = _spread_sparse(f, x, m.R[metadata][threads], selector)
        y = matrix_b(m, words[1], warp, known)
        total = np.matmul(x, y)
        z = np.zeros_like(total)
        if words_c is not None:
            z = _c_values(f, np.ascontiguousarray(words_c()))
            total = total + z
        if m.sum_error and not f.exact:
            size = np.matmul(np.abs(x), np.abs(y)) + np.abs(z)
            total = disturbed(m, total[None], x[None], y.T[None], z[None], f.narrow, size[None])[0]
        return _d_words(f, total)

    def start(m: Machine, q: Queue, warp: int, flag: bool, known: dict[tuple[int, int], Arr]) -> None:
        words = [m.uniform_pair(descriptor + k, warp) for k in (0, 2)]
        words_c, group = addend(m, warp, flag), q.open
        if not m.late:
            group[d] = one(m, warp, words_c, words, known)
            return

        def compute() -> None:
            group[d] = one(m, warp, words_c, words, {})

        group.setdefault(d, _NOT_YET)
        q.late[-1].append(compute)

    def run(m: Machine, a: Active) -> None:
        a.need_whole_warps("a matrix instruction")
        kept = np.broadcast_to(keep(m, a), (a.n,))[::32] if keep is not None else np.ones(len(a.warps), np.bool_)
        known: dict[tuple[int, int], Arr] = {}
        for warp, flag in zip(a.warps.tolist(), kept.tolist(), strict=True):
            q = _queue(m, warp)
            if not nothing:
                start(m, q, warp, flag, known)
                for k in range(f.words):
                    m.R[d + k][32 * warp : 32 * warp + 32] = POISON
            if commit:
                q.groups.append(q.open)
                q.open = {}
                q.late.append([])
                if m.copy_watch is not None:
                    m.copy_watch.products_grouped(32 * warp)

    return run


def take_results(m: Machine, a: Active, first: int, registers: list[int]) -> None:
    """Writes the newest results for the accumulator at `first` to registers, and removes them from the queue."""
    for warp in a.warps.tolist():
        q = _queue(m, warp)
        g = next(g for g in (q.open, *reversed(q.groups)) if first in g)
        for register, words in zip(registers, g.pop(first).T, strict=True):
            m.R[register][32 * warp : 32 * warp + 32] = words


def warpgroup(s: Site) -> Exec:
    """WARPGROUP: ARRIVE has no effect here; DEPBAR.LE writes the results of old groups to their registers."""
    if s.has("ARRIVE"):
        return lambda m, a: None
    if not s.has("DEPBAR") or not s.has("LE"):
        raise s.unknown()
    left = payload(s.src[1])

    def run(m: Machine, a: Active) -> None:
        for warp in a.warps.tolist():
            q = _queue(m, warp)
            if m.copy_watch is not None:
                m.copy_watch.products_done(32 * warp, left)
            while len(q.groups) > left:
                for compute in q.late.pop(0):
                    compute()
                for register, words in q.groups.pop(0).items():
                    if q.group(register) is None:
                        for k in range(words.shape[1]):
                            m.R[register + k][32 * warp : 32 * warp + 32] = words[:, k]

    return run


BUILDERS: Final[dict[str, Builder]] = {
    "HGMMA": gmma,
    "IGMMA": gmma,
    "QGMMA": gmma,
    "BGMMA": gmma,
    "WARPGROUP": warpgroup,
}
