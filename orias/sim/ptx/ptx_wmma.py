"""Builders: wmma.

PTX does not define which lane and register hold an element of a fragment.  Here element e of the matrix (in row-major
order) is in lane e % 32, in the order of registers and their fields; a fragment with more fields than elements starts
again with element 0.  Another :class:`~orias.sim.ptx.choice.Choice` numbers the fields from the other end.  A result
that depends on the layout is therefore found to be undefined.  Products and sums are those of
"""

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from orias.ptx.ast import TYPE_BITS, Operand
from orias.ptx.wmma_checks import shape_numbers
from orias.sim.core.sim_errors import Fault, Misaligned
from orias.sim.core.site import Exec, Getter, everywhere
from orias.sim.core.state import Active, Machine
from orias.sim.math import ops_half as half
from orias.sim.math import softfloat as sf
from orias.sim.math.ops_int import I64, U32, U64
from orias.sim.matrix.exec_mma import disturbed
from orias.sim.matrix.fragments import split
from orias.sim.ptx.machine import ptx
from orias.sim.ptx.ptx_integer import Builder
from orias.sim.ptx.ptx_matrix import elements
from orias.sim.ptx.ptx_memory import SPACES, address, load_values, store_values
from orias.sim.ptx.ptx_site import UNSIGNED, PtxSite

Arr = npt.NDArray[Any]
_WARP: Final = 32
_LINE_BITS: Final = 64
"""Machine code takes the lines of a matrix to be multiples of this apart (CUDA asks for 16 bytes), and the first at one (32 bytes)."""
_ROUNDINGS: Final = {"rn": sf.RN, "rz": sf.RZ, "rm": sf.RM, "rp": sf.RP}


class Layout:
    """Layout of a matrix of `rows` x `columns` elements of `bits` in `registers` of 32 bits (64 for 64-bit elements)."""

    def __init__(self, rows: int, columns: int, bits: int, registers: int) -> None:
        self.rows, self.columns, self.bits = rows, columns, bits
        self.per = max(1, 32 // bits)
        self.registers = registers
        self.places = registers * self.per * _WARP

    def element(self, m: Machine) -> Arr:
        """The element number at each [register, field, lane]."""
        n = np.arange(self.places)
        if ptx(m).choice.reverse:
            n = n[::-1]
        result: Arr = (n % (self.rows * self.columns)).reshape(self.registers, self.per, _WARP)
        return result

    def matrix(self, m: Machine, fields: Arr) -> Arr:
        """[warps, rows, columns] from fields [registers, per, warps, 32]."""
        flat = np.zeros((fields.shape[2], self.rows * self.columns), fields.dtype)
        where = self.element(m)
        for k in range(self.registers):
            for e in range(self.per):
                flat[:, where[k, e]] = fields[k, e]
        return flat.reshape(-1, self.rows, self.columns)

    def fields(self, m: Machine, matrix: Arr) -> Arr:
        """The inverse of :meth:`matrix`."""
        flat = matrix.reshape(len(matrix), -1)
        result: Arr = np.moveaxis(flat[:, self.element(m)], 0, 2)
        return result


def _layout(s: PtxSite, which: str, type_: str, registers: int) -> Layout:
    m, n, k = shape_numbers(s.sig)
    rows, columns = {"a": (m, k), "b": (k, n)}.get(which, (m, n))
    return Layout(rows, columns, TYPE_BITS[type_], registers)


class _Memory:
    """The addresses of a fragment's elements, for each thread."""

    def __init__(self, s: PtxSite, at: Operand, stride: Operand | None, layout: Layout) -> None:
        space = s.mods.get("space", "")
        self.space = SPACES[space]
        self.get = address(s, at, space)
        self.by_row = s.mods["layout"] == "row"
        self.layout = layout
        self.stride: Getter | None = s.src(stride, "u32") if stride is not None else None
        self.size = max(1, layout.bits // 8)

    def each(self, m: Machine, a: Active) -> list[list[tuple[Arr, Arr]]]:
        """By register and field: the addresses for the threads, and the bit in the byte for elements of less than a byte."""
        a.need_whole_warps("a matrix instruction")
        f = self.layout
        base = self.get(m, a)
        default = f.columns if self.by_row else f.rows
        ld = (
            np.broadcast_to(self.stride(m, a), (a.n,)).astype(I64) if self.stride is not None else np.full(a.n, default)
        )
        uneven = ld * f.bits % _LINE_BITS != 0
        if uneven.any():
            i = int(np.argmax(uneven))
            raise Fault(
                Misaligned,
                f"lines of a matrix at a distance of {int(ld[i])} elements are not at multiples of 8 bytes",
                i,
            )
        odd = base & base.dtype.type(_LINE_BITS // 8 - 1) != 0
        if odd.any():
            i = int(np.argmax(odd))
            raise Fault(Misaligned, f"a matrix at address {int(base[i]):#x}, which is not a multiple of 8", i)
        lane = a.index & 31
        where = f.element(m)
        out = []
        for k in range(f.registers):
            row = []
            for e in range(f.per):
                i, j = np.divmod(where[k, e][lane], f.columns)
                bit = (i * ld + j if self.by_row else j * ld + i) * f.bits
                row.append((base + (bit >> 3).astype(base.dtype), bit & 7))
            out.append(row)
        return out


def _load(s: PtxSite) -> Exec:
    type_, which = s.types[0], s.mods["mode"]
    regs = elements(s.ops[0])
    layout = _layout(s, which, type_, len(regs))
    memory = _Memory(s, s.ops[1], s.ops[2] if len(s.ops) > 2 else None, layout)
    wide = layout.bits == 64
    puts = [s.dst(o, "b64" if wide else "b32") for o in regs]
    unit = max(8, layout.bits)

    def run(m: Machine, a: Active) -> None:
        for put, row in zip(puts, memory.each(m, a), strict=True):
            total = np.zeros(a.n, U64 if wide else U32)
            for e, (at, bit) in enumerate(row):
                (v,) = load_values(m, a, memory.space, at, memory.size, unit)
                if layout.bits < 8:
                    v = (v.astype(U32) >> bit.astype(U32)) & np.uint32((1 << layout.bits) - 1)
                total |= v.astype(total.dtype) << total.dtype.type(layout.bits * e if not wide else 0)
            put(m, a, total)

    return run


def _store(s: PtxSite) -> Exec:
    type_ = s.types[0]
    regs = elements(s.ops[1])
    layout = _layout(s, "d", type_, len(regs))
    memory = _Memory(s, s.ops[0], s.ops[2] if len(s.ops) > 2 else None, layout)
    gets = [s.src(o, "b64" if layout.bits == 64 else "b32") for o in regs]
    t = UNSIGNED[layout.bits]

    def run(m: Machine, a: Active) -> None:
        values = [np.broadcast_to(g(m, a), (a.n,)) for g in gets]
        for v, row in zip(values, memory.each(m, a), strict=True):
            for e, (at, _) in enumerate(row):
                part = v >> v.dtype.type(layout.bits * e) if e else v
                store_values(m, a, memory.space, at, memory.size, [part.astype(t)])

    return run


# -- products


class _Fragment:
    """A source fragment of wmma.mma, as a matrix of patterns."""

    def __init__(self, s: PtxSite, o: Operand, which: str, type_: str) -> None:
        regs = elements(o)
        self.layout = _layout(s, which, type_, len(regs))
        self.gets = [s.src(e, "b64" if self.layout.bits == 64 else "b32") for e in regs]

    def __call__(self, m: Machine, a: Active) -> Arr:
        a.need_whole_warps("a matrix instruction")
        words = np.stack([a.spread(everywhere(g, m, a)) for g in self.gets])
        if self.layout.bits == 64:
            return self.layout.matrix(m, words[:, None])
        return self.layout.matrix(m, np.moveaxis(split(words, self.layout.bits), 3, 1))


def _values(type_: str) -> Callable[[Arr], Arr]:
    """Patterns as numbers."""
    bits = TYPE_BITS[type_]
    if type_ in ("f16", "bf16"):
        return lambda x: half.value(x, type_ == "bf16")
    if type_ == "tf32":
        return lambda x: (x & np.uint32(0xFFFFE000)).astype(U32).view(np.float32).astype(np.float64)
    if type_ == "f32":
        return lambda x: x.astype(U32).view(np.float32).astype(np.float64)
    if type_[0] == "s":
        sign = 1 << (bits - 1)
        return lambda x: (x.astype(I64) ^ sign) - sign
    return lambda x: x.astype(I64)


def _sum(s: PtxSite, a_type: str, c_type: str, d_type: str) -> Callable[[Machine, Arr, Arr, Arr], Arr]:
    """The patterns of D from those of A, B and C, [warps, ., .] each."""
    if a_type == "f64":
        mode = _ROUNDINGS[s.mods.get("rnd", "rn")]

        def chain(m: Machine, x: Arr, y: Arr, z: Arr) -> Arr:
            d = z
            for k in range(x.shape[2]):
                p, q = np.broadcast_arrays(x[:, :, k, None], y[:, None, k, :])
                d = sf.dfma64(p.reshape(-1), q.reshape(-1), d.reshape(-1), mode).reshape(z.shape)
            return d

        return chain
    factor, addend = _values(a_type), _values(c_type)
    if d_type == "s32":
        exclusive, saturate = s.mods.get("bool") == "xor", s.has("satfinite")

        def integer(m: Machine, x: Arr, y: Arr, z: Arr) -> Arr:
            x, y = factor(x), factor(y)
            d = np.matmul(x, y)
            if exclusive:
                d = x.sum(axis=2)[:, :, None] + y.sum(axis=1)[:, None, :] - 2 * d
            d = d + addend(z)
            result: Arr = np.clip(d, -(1 << 31), (1 << 31) - 1) if saturate else d
            return result

        return integer
    narrow = "f16" in (c_type, d_type)

    def floating(m: Machine, x: Arr, y: Arr, z: Arr) -> Arr:
        x, y, z = factor(x), factor(y), addend(z)
        d = np.matmul(x, y) + z
        if m.sum_error:
            d = disturbed(m, d, x, y, z, narrow, np.matmul(np.abs(x), np.abs(y)) + np.abs(z))
        if d_type == "f16":
            return half.pattern(d, False)
        return sf.finish32(np.ascontiguousarray(d).astype(np.float32), False, False)

    return floating


def _mma(s: PtxSite) -> Exec:
    t = s.types
    d_type, a_type, b_type, c_type = (t[0], "f16", "f16", t[1]) if len(t) == 2 else t
    sources = [
        _Fragment(s, o, which, type_)
        for o, which, type_ in zip(s.ops[1:4], "abc", (a_type, b_type, c_type), strict=True)
    ]
    regs = elements(s.ops[0])
    out = _layout(s, "d", d_type, len(regs))
    wide = out.bits == 64
    puts = [s.dst(o, "b64" if wide else "b32") for o in regs]
    total = _sum(s, a_type, c_type, d_type)

    def run(m: Machine, a: Active) -> None:
        fields = out.fields(m, total(m, *[g(m, a) for g in sources])).astype(U64 if wide else U32)
        for k, put in enumerate(puts):
            word = fields[k, 0]
            for e in range(1, out.per):
                word = word | fields[k, e] << np.uint32(out.bits * e)
            put(m, a, a.gather(np.ascontiguousarray(word)))

    return run


WMMA: Final[dict[str, Builder]] = {"wmma.load": _load, "wmma.store": _store, "wmma.mma": _mma}
