"""Model of the tensor memory of sm_100 to sm_110 and of tcgen05: allocation, loads and stores, matrix products.

Each block has 128 lanes of 512 columns of 32 bits, allocated in units of 32 columns.  With ``cta_group::2`` an
operation uses the memories of two adjacent blocks of a cluster.  An address has the lane in its upper half and the
column in its lower half.  Accesses outside allocated columns, and accesses of a warp to lanes of other warps, are
faults.

Layouts of loads, stores and products are those of the PTX manual and of CUTLASS (``copy_traits_sm100.hpp``,
``mma_traits_sm100_frag.hpp``, ``mma_sm100_desc.hpp``); docs/simulator.md says which are guesses.  Like a bulk copy, a
product is done some steps after it was issued; its factors are read and its results written only then.  Products are
exact; sums are those of :mod:`orias.sim.matrix.exec_mma`.
"""

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from orias.sim.core.banked_memory import Banked
from orias.sim.core.sim_errors import Fault, IllegalInstruction, OutOfBounds
from orias.sim.core.state import POISON, Machine
from orias.sim.math import ops_half as half
from orias.sim.math import softfloat as sf
from orias.sim.math.ops_float import fmnmx
from orias.sim.math.ops_int import I32, I64, U32, minmax
from orias.sim.math.ops_narrow import decode_scale
from orias.sim.matrix.exec_mma import disturbed
from orias.sim.matrix.shared_matrix import BITS, PADDED, SharedMatrix, elements, values
from orias.sim.sass.exec_async import fresh, update
from orias.target.driver import TENSOR_RECORD

Arr = npt.NDArray[Any]

LANES: Final = 128
COLUMNS: Final = 512
UNIT: Final = 32
"""Allocation unit in columns."""
_HALF: Final = np.uint32(0xFFFF)
_UPPER: Final = np.uint32(POISON & 0xFFFF0000)
"""Value of the upper half of a column that holds 16 bits."""


class TensorMemory:
    """The tensor memory of a block."""

    __slots__ = ("allocated", "data", "given")

    def __init__(self) -> None:
        self.data: Arr = np.full((LANES, COLUMNS), POISON, U32)
        self.allocated = 0
        """Mask of allocated units, one bit per unit."""
        self.given: list[int] = []
        """First units of allocations that the other block of the pair has made and this block has yet to request."""

    def check(self, column: int, count: int) -> None:
        """A Fault unless `count` columns from `column` on are all allocated."""
        for c in range(column & -UNIT, column + count, UNIT):
            if c >= COLUMNS or not self.allocated >> (c // UNIT) & 1:
                raise Fault(
                    OutOfBounds,
                    f"columns {column} to {column + count - 1} of tensor memory are not all allocated",
                    0,
                )


def memory_of(m: Machine, block: int) -> TensorMemory:
    """The tensor memory of a block of the batch."""
    found = m.tensor.get(block)
    if found is None:
        found = m.tensor[block] = TensorMemory()
    memory: TensorMemory = found
    return memory


def blocks_of(m: Machine, block: int, pair: bool) -> list[int]:
    """The blocks whose memory an operation uses, the even block of a pair first."""
    if not pair:
        return [block]
    if m.cluster_size % 2:
        raise Fault(IllegalInstruction, f"cta_group::2 in a cluster of {m.cluster_size} blocks", 0)
    first = block - block % m.cluster_size % 2
    return [first, first + 1]


def allocate(m: Machine, blocks: list[int], units: int) -> int:
    """Allocates `units` (a power of two, aligned to it) units in all blocks; the first unit, or -1 if none are free."""
    if not 1 <= units <= COLUMNS // UNIT or units & (units - 1):
        raise Fault(IllegalInstruction, f"allocation of {units * UNIT} columns of tensor memory", 0)
    memories = [memory_of(m, b) for b in blocks]
    mask = (1 << units) - 1
    for first in range(0, COLUMNS // UNIT, units):
        if not any(t.allocated >> first & mask for t in memories):
            for t in memories:
                t.allocated |= mask << first
            return first
    return -1


def take(m: Machine, block: int, pair: bool, columns: int) -> int:
    """The address of an allocation; of a pair, the block that comes first allocates for both."""
    memory = memory_of(m, block)
    if pair and memory.given:
        return UNIT * memory.given.pop(0)
    blocks = blocks_of(m, block, pair)
    first = allocate(m, blocks, columns // UNIT if columns % UNIT == 0 else 0)
    if first < 0:
        raise Fault(IllegalInstruction, f"waiting for {columns} free columns of tensor memory is not simulated", 0)
    for b in blocks:
        if b != block:
            memory_of(m, b).given.append(first)
    return UNIT * first


def give(m: Machine, block: int, address: int, columns: int) -> None:
    """Ends an allocation of a block."""
    memory = memory_of(m, block)
    memory.check(address & 0xFFFF, columns)
    memory.allocated &= ~((1 << columns // UNIT) - 1 << (address & 0xFFFF) // UNIT)


def reserve(shared: Banked, blocks: int, name: str, place: int) -> None:
    """Initialises a part of the record of allocations (`TENSOR_RECORD`) at `place` as ptxas's allocation code expects it.

    The code never initialises these bytes: a barrier object, where pairs of blocks wait with a parity (the even block first, without an
    arrival); masks of allocated units and of first units; and a flag that the permit was relinquished.
    """
    size, barrier, parity = TENSOR_RECORD[name]
    for block in range(blocks):
        at = block * shared.stride + place
        shared.data[at : at + size] = 0
        if barrier >= 0:
            shared.views[8][at + barrier >> 3] = fresh(1)
        if parity >= 0:
            shared.views[4][at + parity >> 2] = 1 - block % 2


# -- loads and stores

_SHAPES: Final[dict[str, tuple[int, int]]] = {
    "32x32b": (1, 1), "16x32b": (1, 1), "16x64b": (1, 2), "16x128b": (2, 4), "16x256b": (4, 8),
}  # fmt: skip
"""(registers of a thread, columns) of each shape, for one repetition."""


class Access:
    """The lane and column that each register of each thread accesses in a load or store of a warp.

    Shape 16x32b is half of 16x32bx2: threads 0 to 15 or 16 to 31 access 16 lanes.
    """

    def __init__(self, shape: str, repeats: int, packed: bool, upper: bool = False) -> None:
        per, columns = _SHAPES[shape]
        self.registers = per * repeats
        self.span = columns * repeats * (2 if packed else 1)
        """Number of columns accessed."""
        self.packed = packed
        self.lanes = 32 if shape == "32x32b" else 16
        self.threads = slice(0, 32)
        t = np.arange(32)[:, None]
        r = np.arange(self.registers)[None, :]
        if shape == "32x32b":
            lane, column = t + 0 * r, r + 0 * t
        elif shape == "16x32b":
            self.threads = slice(16, 32) if upper else slice(0, 16)
            lane, column = (t & 15) + 0 * r, r + 0 * t
        elif shape == "16x64b":
            lane, column = (t >> 2) + 8 * (t & 1) + 0 * r, 2 * r + (t >> 1 & 1)
        elif shape == "16x128b":
            lane, column = (t >> 2) + 8 * (r & 1), 4 * (r >> 1) + (t & 3)
        else:
            lane, column = (t >> 2) + 8 * (r >> 1 & 1), 8 * (r >> 2) + 2 * (t & 3) + (r & 1)
        self._lane: Arr = lane[self.threads]
        self._column: Arr = column[self.threads] * (2 if packed else 1)

    def _place(self, memory: TensorMemory, address: int, warp: int) -> tuple[Arr, Arr]:
        """Lanes and columns in memory; `warp` is the number of the warp in its block."""
        lane, column = address >> 16, address & 0xFFFF
        first = 32 * (warp & 3)
        if lane < 32:
            # Kernels that run on devices (Modular's matrix products) leave the warp's own lanes out of addresses.
            lane += first
        if lane != first and not (self.lanes == 16 and lane == first + 16):
            raise Fault(
                OutOfBounds,
                f"{self.lanes} lanes of tensor memory from {lane} up: warp {warp} of the block has lanes {first} to {first + 31}",
                0,
            )
        memory.check(column, self.span)
        return lane + self._lane, column + self._column

    def load(self, memory: TensorMemory, address: int, warp: int) -> Arr:
        """The loaded registers of the accessing threads, [threads, registers]."""
        lane, column = self._place(memory, address, warp)
        words: Arr = memory.data[lane, column]
        if self.packed:
            words = words & _HALF | memory.data[lane, column + 1] << np.uint32(16)
        return words

    def store(self, memory: TensorMemory, address: int, warp: int, words: Arr) -> None:
        """The inverse of :meth:`load`; the upper half of an unpacked column becomes undefined."""
        lane, column = self._place(memory, address, warp)
        if self.packed:
            memory.data[lane, column] = words & _HALF | _UPPER
            memory.data[lane, column + 1] = words >> np.uint32(16) | _UPPER
        else:
            memory.data[lane, column] = words


def least(words: Arr, kind: str, minimum: bool, magnitude: bool, nan: bool) -> Arr:
    """The reduction of ``tcgen05.ld.red`` over the loaded registers [threads, registers]; `kind` is u32, s32 or f32."""
    takes_min = np.full(1, minimum, np.bool_)
    signed_type = I32 if kind == "s32" else None
    if magnitude:
        words = words & np.uint32(0x7FFFFFFF)
    result: Arr = words[:, 0]
    for k in range(words.shape[1]):
        if kind == "f32":
            result = fmnmx(result, words[:, k], takes_min, False, nan, False)
        else:
            result = minmax(result, words[:, k], takes_min, signed_type)
    return result


# -- products

_BYTES: Final = {0: "E4M3", 1: "E5M2", 3: "E2M3", 4: "E3M2", 5: "E2M1"}
_TYPES: Final[dict[str, dict[int, str]]] = {
    "f16": {0: "F16", 1: "BF16"},
    "tf32": {2: "TF32"},
    "f16 or tf32": {0: "F16", 1: "BF16", 2: "TF32"},
    "f8f6f4": _BYTES,
    "mxf8f6f4": _BYTES,
    "mxf4": {1: "E2M1x2"},
    "i8": {0: "U8", 1: "S8"},
}
"""Element types by their numbers in the instruction descriptor, for each kind of product (one instruction has two kinds)."""
_RESULTS: Final = ("F16", "F32", "S32")
_ROW_BYTES: Final = 32
"""Bytes along K of one product."""
_LONG_ROW: Final = 48
"""The same with K = 96 (packed 4-bit floats on sm_103)."""


def _refuse(what: str) -> Fault:
    return Fault(IllegalInstruction, f"tcgen05.mma is not simulated: {what}", 0)


class Form:
    """The fields of an instruction descriptor, checked."""

    def __init__(self, kind: str, word: int, pair: bool, vector: int = 0, stationary: bool = False) -> None:
        """`kind`: a key of the table of types; `pair`: of two blocks; `vector`: (kept) elements of A that share a scale, 0
        without scales; `stationary`: of ``tcgen05.mma.ws``."""
        self.vector = vector
        self.stationary = stationary
        self.sparse = bool(word >> 2 & 1)
        if bool(vector) != kind.startswith("mx") or kind not in _TYPES:
            raise _refuse(f"kind {kind}")
        # Of packed 4-bit floats bit 12 is no part of the type: CuTe DSL sets it, as the version of sparse matrices.
        numbers = word >> 7 & 7, word >> 10 & (3 if kind == "mxf4" else 7)
        types = [_TYPES[kind].get(n) for n in numbers]
        if None in types or (kind in ("f16", "tf32", "f16 or tf32") and numbers[0] != numbers[1]):
            raise _refuse(f"types {numbers[0]} and {numbers[1]} of kind {kind}")
        self.types = [t for t in types if t is not None]
        result = 1 if vector else word >> 4 & 3
        self.scales = (word >> 29 & 3, word >> 4 & 3)
        """First bytes, in their columns, of the scales of A and B."""
        self.power_of_two = bool(word >> 23 & 1)
        """Scales are UE8M0 if true, else UE4M3."""
        self.exact = kind == "i8"
        allowed = (2,) if self.exact else (1,) if self.types[0] in ("BF16", "TF32") else (0, 1)
        if result not in allowed:
            raise _refuse(f"result type {result} for {self.types[0]}")
        self.result = _RESULTS[result]
        self.saturate = bool(word >> 3 & 1)
        self.negative = bool(word >> 13 & 1), bool(word >> 14 & 1)
        self.turned = bool(word >> 15 & 1), bool(word >> 16 & 1)
        if (self.saturate and not self.exact) or (any(self.negative) and self.exact):
            raise _refuse(f"saturation or negation for {self.types[0]}")
        self.n = (word >> 17 & 0x3F) * 8
        self.m = (word >> 24 & 0x1F) * 16
        sizes = (128, 256) if pair else (128,) if vector else (32, 64, 128) if stationary else (64, 128)
        step = 8 if self.m == 64 else 16
        right = self.n in (64, 128, 256) if stationary else step <= self.n <= 256 and self.n % step == 0
        self.largest_shift = (0, 8, 16, 32)[word >> 30] if stationary else 0
        """The largest shift of columns that the descriptor allows."""
        if self.m not in sizes or not right:
            raise _refuse(f"M = {self.m}, N = {self.n} for {'two blocks' if pair else 'one block'}")
        self.long = bool(vector and kind == "mxf4" and not self.sparse and word >> 31)
        """K = 96: rows of 48 bytes."""
        self.k = (_LONG_ROW if self.long else _ROW_BYTES) * 8 // BITS[self.types[0]]
        """Elements of a row of A; half of those of a column of B if A is sparse."""
        self.selector = word & 3
        reserved = 3 | 1 << 3 | 1 << 6 | 1 << 31 if vector else 1 << 6 | 1 << 23 | (1 << 29 if stationary else 7 << 29)
        if self.long:
            reserved ^= 1 << 31
        # Two columns of metadata have those of two products, with wide elements.
        selectable = 2 if self.sparse and BITS[self.types[0]] >= 16 else 1
        count = self.k // vector if vector else 0
        # With K = 96 the scales go on in the next group of columns, for six of them from an even byte on.
        wrong = any(s % 2 for s in self.scales) if count == 6 else not self.long and max(self.scales) + count > 4
        if word & reserved or self.selector >= selectable or (vector and wrong):
            raise _refuse(f"instruction descriptor 0x{word:08x}")

    def matrix(self, m: Machine, which: int, word: int, block: int, rows: int) -> SharedMatrix:
        """The matrix A (`which` 0) or B in a block's shared memory."""
        layout = word >> 61
        turned = self.turned[which]
        absolute = word >> 52 & 1
        if word >> 46 & 7 > 1 or word >> 53 & 0xFF or layout not in (0, 1, 2, 4, 6):
            raise _refuse(f"matrix descriptor 0x{word:016x}")
        if absolute and not (self.long and layout == 2):
            raise _refuse("an absolute leading dimension without K = 96 and the swizzle of 128 bytes")
        if self.long and (layout not in (0, 2) or (layout == 2 and not absolute and word % 8 > 5)):
            raise _refuse(f"rows of 48 bytes with matrix descriptor 0x{word:016x}")
        wide = layout == 1
        # Only 32-bit elements along M or N have the swizzle of 32-byte units.
        if wide != (turned and self.types[which] == "TF32") or (turned and self.types[which] in (*PADDED, "E2M1x2")):
            raise _refuse(f"swizzle {layout} for {self.types[which]}")
        k = 2 * self.k if which and self.sparse else self.k
        return SharedMatrix(m, word, block, self.types[which], np.arange(rows), k, turned, wide)

    def positions(self, memory: TensorMemory, lanes: Arr, column: int) -> Arr:
        """The k of each element of A, [lanes, k], from metadata at `column`.

        A code of four bits places two of four elements, one of two (tf32) or two of four pairs (packed 4-bit floats).
        Narrow elements: a lane has the 16 codes of its row in two columns.  Wide ones: of 16 lanes, the lower 8 have
        the first four codes of each row, the upper 8 the last four; a column has row r of 8 in its lower half, r + 8 in
        its upper one.
        """
        bits = BITS[self.types[0]]
        lane = lanes[:, None]
        code = np.arange(8 if bits >= 16 else 16)[None, :]
        if bits >= 16:
            words = memory.data[lane & -16 | lane & 7 | code >> 2 << 3, column + self.selector]
            shift = 4 * (code & 3) + 16 * (lane >> 3 & 1)
        else:
            words = memory.data[lane, column + (code >> 3)]
            shift = 4 * (code & 7) + 0 * lane
        codes = (words >> shift.astype(U32) & np.uint32(15)).astype(I64)
        wrong = ~np.isin(codes, _PAIRS[bits == 32])
        if wrong.any():
            raise Fault(IllegalInstruction, f"metadata of a sparse matrix: {int(codes[wrong][0])} is undefined", 0)
        if bits == 32:
            result: Arr = 2 * code + (codes >> 3)
            return result
        place = np.stack((codes & 3, codes >> 2), axis=2) + 4 * code[..., None]
        if bits == 4:
            place = np.stack((2 * place, 2 * place + 1), axis=3)
        found: Arr = place.reshape(len(lanes), -1)
        return found

    def signed(self, which: int, v: Arr) -> Arr:
        """Values with the sign of the matrix A (`which` 0) or B."""
        return -v if self.negative[which] else v

    def addend(self, words: Arr) -> Arr:
        """Columns of the old results, as values."""
        if self.result == "F16":
            return half.value(words & _HALF, False)
        return words.view(np.int32).astype(I64) if self.exact else words.view(np.float32).astype(np.float64)

    def words(self, total: Arr) -> Arr:
        """Columns of the new results, from their values."""
        if self.result == "F16":
            return half.pattern(total, False).astype(U32) | _UPPER
        if self.exact:
            return (np.clip(total, -(1 << 31), (1 << 31) - 1) if self.saturate else total).astype(U32)
        with np.errstate(over="ignore"):
            return sf.finish32(np.ascontiguousarray(total).astype(np.float32), False, False)


_PAIRS: Final = ((4, 8, 9, 12, 13, 6, 14), (4, 14))
"""Codes of metadata that have a meaning: two positions of two bits; with 32-bit elements, those of two halves of one."""


class ColumnMask:
    """A zero-column mask descriptor: which columns of B are zero, and the first column that is used.

    Use span and skip span as in the examples of the PTX manual, whose table exchanges them.  That a start count beyond
    the first span leaves one column of it was measured by others.
    """

    def __init__(self, word: int, f: Form) -> None:
        self.shift = word >> 56 & 63
        if word >> 36 & 7 or word >> 62 or self.shift > min(f.largest_shift, 16 if f.m == 32 else 32):
            raise _refuse(f"zero-column mask 0x{word:016x}")
        used, zero = (word >> 48 & 255) + 1, (word >> 40 & 255) + 1
        parts = LANES // f.m
        column = np.arange(f.n // parts)
        each = []
        for i in range(parts):
            first_zero = bool(word >> 32 + i & 1)
            start = min(word >> 8 * i & 255, (zero if first_zero else used) - 1)
            place = (column + start) % (used + zero)
            each.append(place < zero if first_zero else place >= used)
        self.zeros: Arr = np.concatenate(each) & bool(word >> 39 & 1)
        """For each column of the product, whether B's column is zero."""


class Part(NamedTuple):
    """The rows and columns of a product that some lanes of one block hold."""

    which: int
    """Number of the block within the operation: 0 or 1."""
    lanes: Arr
    rows: Arr
    """Rows of the block's own part of A."""
    first: int
    """First column of the product."""
    width: int


def _parts(f: Form, blocks: int, lane: int) -> list[Part]:
    """The parts of a product; `lane` is the lane of the address of D."""
    if f.m == 64 * blocks and not f.stationary and (blocks == 1 or f.sparse):
        if lane not in (0, 16):
            raise _refuse(f"M = {f.m} at lane {lane}")
        rows = np.arange(64)
        return [Part(i, lane + (rows & 15) + 32 * (rows >> 4), rows, 0, f.n) for i in range(blocks)]
    if lane:
        raise _refuse(f"M = {f.m} at lane {lane}")
    if f.stationary:
        rows, count = np.arange(f.m), f.n * f.m // LANES
        return [Part(0, rows + f.m * h, rows, h * count, count) for h in range(LANES // f.m)]
    if blocks * 128 == f.m:
        rows = np.arange(128)
        return [Part(i, rows, rows, 0, f.n) for i in range(blocks)]
    rows, count = np.arange(64), f.n // 2
    return [Part(i, rows + 64 * h, rows, h * count, count) for i in range(2) for h in range(2)]


def _quarters(part: Part) -> list[Part]:
    """A part, split by quarters of the lanes."""
    quarter = part.lanes >> 5
    return [
        part._replace(lanes=part.lanes[quarter == q], rows=part.rows[quarter == q]) for q in np.unique(quarter).tolist()
    ]


class Product(NamedTuple):
    """The operands of a product."""

    form: Form
    blocks: list[int]
    d: int
    """Address of D, the results."""
    a: int
    """Matrix descriptor, or address in tensor memory."""
    a_in_tensor: bool
    b: int
    """Matrix descriptor."""
    keep: bool
    """The product is added to the old contents of D."""
    scale: int
    """The old contents are first divided by two to this power."""
    disabled: int
    """Lanes that keep their contents, one bit per lane, those of the even block first."""
    scales: tuple[int, int] = (0, 0)
    """Addresses of the scales of A and B."""
    metadata: int = 0
    """Address of the metadata of a sparse A."""
    mask: int = 0
    """Zero-column mask descriptor."""
    shifted: bool = False
    """``ashift``: afterwards the rows of A in tensor memory move by one lane, as by ``tcgen05.shift``."""


def _scale_columns(f: Form, which: int, blocks: int) -> tuple[int, int]:
    """(columns of all scales, columns from four scales of a row to the next four) of A (`which` 0) or B in a block.

    Only with K = 96 the scales of a row may begin in one column and end in another; CUTLASS's layouts for sm_103 have
    groups of 128 rows.  With M = 128 in two blocks half of the lanes have half of the columns of B.
    """
    rows, halves = (f.n, 2 if f.m < LANES * blocks else 1) if which else (f.m // blocks, 1)
    step = -(-rows // LANES) * LANES // 32 // halves
    last = (f.scales[which] + f.k // f.vector - 1) // 4
    return last * step + -(-rows // halves // 32), step


def _scales(f: Form, which: int, memory: TensorMemory, lanes: Arr, rows: Arr, address: int, step: int) -> Arr:
    """The scales [rows, k] for rows of A or columns of B, read by the lanes of one quarter of the memory.

    Each quarter (32 lanes) has all scales: row r in lane r % 32 and column r // 32, one byte per group of elements;
    from the fifth byte on, `step` columns further.
    """
    lane, column = (lanes[0] & -32) + rows % 32, (address & 0xFFFF) + rows // 32
    places = range(f.scales[which], f.scales[which] + f.k // f.vector)
    each = [memory.data[lane, column + i // 4 * step] >> np.uint32(8 * (i % 4)) for i in places]
    codes = np.stack(each, axis=1).astype(np.uint8)
    if f.power_of_two:
        v = half.value(decode_scale(codes), True)
    else:
        v = values(codes & np.uint8(0x7F), "E4M3")
    result: Arr = np.repeat(v, f.vector * (2 if which and f.sparse else 1), axis=1)
    return result


def _product(x: Arr, z: Arr, place: Arr | None) -> Arr:
    """x [rows, k] times z [k, columns]; `place`: the k of each element of a sparse x."""
    result: Arr = np.matmul(x, z) if place is None else np.matmul(x[:, None, :], z[place])[:, 0]
    return result


def _reads(m: Machine, warp: int, matrices: list[SharedMatrix]) -> None:
    """An operation of a warp begins to read matrices in shared memory."""
    if m.copy_watch is not None:
        for matrix in matrices:
            m.copy_watch.product(32 * warp, warp, matrix.bytes())


def multiply(m: Machine, p: Product, warp: int) -> None:
    """Issue a product for a warp."""
    f = p.form
    memories = [memory_of(m, b) for b in p.blocks]
    parts = _parts(f, len(p.blocks), p.d >> 16)
    if f.vector:
        # Each quarter of the lanes has scales of its own.
        parts = [q for part in parts for q in _quarters(part)]
    d, a = p.d & 0xFFFF, p.a & 0xFFFF
    width = max(part.width for part in parts)
    words = f.k * BITS[f.types[0]] // 32
    for t in memories:
        t.check(d, width)
        if p.a_in_tensor:
            t.check(a, words)
        if f.vector:
            for which, address in enumerate(p.scales):
                if address >> 16 & 0x3FFF:
                    raise _refuse(f"scales at lane {address >> 16 & 0x3FFF}")
                t.check(address & 0xFFFF, _scale_columns(f, which, len(p.blocks))[0])
        if f.sparse:
            if p.metadata >> 16 != p.d >> 16 or p.metadata & 1:
                raise _refuse(f"metadata at 0x{p.metadata:08x}")
            t.check(p.metadata & 0xFFFF, 2)
    stored: list[SharedMatrix] = []
    if p.a_in_tensor:
        if f.turned[0] or p.a >> 16 != p.d >> 16:
            raise _refuse(f"A at lane {p.a >> 16} of tensor memory, turned or with results at lane {p.d >> 16}")
        if p.shifted and any(len(q.lanes) != 32 for part in parts for q in _quarters(part)):
            raise _refuse(f"ashift with M = {f.m}")
    else:
        stored = [f.matrix(m, 0, p.a, b, f.m // len(p.blocks)) for b in p.blocks]
    mask = ColumnMask(p.mask, f) if p.mask else None
    shift = mask.shift if mask is not None else 0
    columns = [f.matrix(m, 1, p.b, b, f.n // len(p.blocks) + shift) for b in p.blocks]
    _reads(m, warp, [*stored, *columns])

    def factor(part: Part) -> Arr:
        if stored:
            return stored[part.which].values(m)[part.rows]
        raw = np.ascontiguousarray(memories[part.which].data[part.lanes, a : a + words])
        each = elements(raw.astype("<u4").view(np.uint8), BITS[f.types[0]])
        return values(each >> TENSOR_PLACE.get(f.types[0], 0), f.types[0])

    def finish() -> None:
        y = f.signed(1, np.concatenate([c.values(m) for c in columns]))[shift:]
        if mask is not None:
            y = np.where(mask.zeros[:, None], np.zeros_like(y), y)
        for part in parts:
            x = f.signed(0, factor(part))
            z = y[part.first : part.first + part.width].T
            data = memories[part.which].data
            if f.vector:
                first, second = (_scale_columns(f, which, len(p.blocks))[1] for which in (0, 1))
                x = x * _scales(f, 0, memories[part.which], part.lanes, part.rows, p.scales[0], first)
                z = z * _scales(f, 1, memories[part.which], part.lanes, np.arange(part.width), p.scales[1], second).T
            place = f.positions(memories[part.which], part.lanes, p.metadata & 0xFFFF) if f.sparse else None
            total = _product(x, z, place)
            old = np.ascontiguousarray(data[part.lanes, d : d + part.width])
            added = f.addend(old) if p.keep else np.zeros_like(total)
            if p.scale:
                added = added * 2.0**-p.scale
            total = total + added
            if m.sum_error and not f.exact:
                size = _product(np.abs(x), np.abs(z), place) + np.abs(added)
                narrow = f.result == "F16"
                total = disturbed(m, total[None], x[None], z[None], added[None], narrow, size[None])[0]
            new = f.words(total)
            if p.disabled:
                off = np.array([p.disabled >> (LANES * part.which + int(lane)) & 1 for lane in part.lanes], np.bool_)
                new = np.where(off[:, None], old, new)
            data[part.lanes, d : d + part.width] = new
        if p.shifted:
            for t in memories:
                for lane in range(0, LANES, 32):
                    _shift_lanes(t, lane, a, words)

    m.defer(finish, queue=_queue(m, p.blocks[0]))


def _queue(m: Machine, block: int) -> int:
    """The queue of the operations of a block, which those of the other blocks of its cluster use too: pairs work together."""
    return block // m.cluster_size


def commit(m: Machine, block: int, offsets: list[int]) -> None:
    """An arrival of a block at barrier objects (`offsets` in shared memory) when everything issued before has finished."""

    def finish() -> None:
        m.changed = m.clock
        view = m.shared.views[8]
        for o in offsets:
            view[o >> 3] = np.uint64(update(int(view[o >> 3]), 1, 0))

    m.defer(finish, objects=offsets, queue=_queue(m, block))


COPIES: Final[dict[str, tuple[int, int, tuple[int, ...]]]] = {
    "128x256b": (2, 32, (0, 1, 2, 3)), "128x128b": (1, 32, (0, 1, 2, 3)), "64x128b.02_13": (1, 32, (0, 1, 0, 1)), "64x128b.01_23": (1, 32, (0, 0, 1, 1)),
    "32x128b": (1, 32, (0, 0, 0, 0)), "4x256b": (2, 1, (0, 1, 2, 3)),
}  # fmt: skip
"""Shape -> (16-byte pieces of a row, rows that each quarter of the lanes receives, which of them).

That 4x256b has one row for the first lane of each quarter is a guess.
"""
SOURCES: Final = {"b6x16_p32": "E2M3", "b4x16_p64": "E2M1"}
"""Formats of converting copies -> a type whose elements take as many bits."""
TENSOR_PLACE: Final = {"E2M1": 2}
"""Lowest bit of an element in its byte of tensor memory, for types that do not begin at bit 0 (as in CUTLASS's fragments)."""


def copy(m: Machine, warp: int, block: int, address: int, word: int, shape: str, source_format: str = "") -> None:
    """Copies rows from a block's shared memory (a matrix descriptor) to its lanes, for a warp; `shape` is one of COPIES.

    With `source_format` (of SOURCES), 16 elements of 6 or 4 bits in 16 bytes become bytes.
    """
    pieces, count, quarters = COPIES[shape]
    lane, column = address >> 16, address & 0xFFFF
    if word >> 46 & 7 != 1 or word >> 52 & 0x1FF or word >> 61 not in (0, 2, 4, 6) or lane > 32 - count:
        raise Fault(
            IllegalInstruction,
            f"tcgen05.cp is not simulated: descriptor 0x{word:016x} to lane {lane}",
            0,
        )
    memory = memory_of(m, block)
    memory.check(column, 4 * pieces)
    rows = np.concatenate([np.arange(count * q, count * q + count) for q in quarters])
    lanes = np.concatenate([np.arange(32 * i, 32 * i + count) for i in range(4)]) + lane
    kind = SOURCES.get(source_format, "U8")
    source = SharedMatrix(m, word, block, kind, rows, 16 * pieces, False)
    _reads(m, warp, [source])

    def finish() -> None:
        raw = np.ascontiguousarray(source.patterns(m).astype(np.uint8) << np.uint8(TENSOR_PLACE.get(kind, 0)))
        memory.data[lanes, column : column + 4 * pieces] = raw.view("<u4")

    m.defer(finish, queue=_queue(m, block))


SHIFTED: Final = 8
"""Columns that ``tcgen05.shift`` moves: elements of 32 bytes."""


def _shift_lanes(memory: TensorMemory, lane: int, column: int, count: int) -> None:
    """Each of the 32 lanes from `lane` on receives `count` columns of the next one, the last lane keeps its own."""
    there = memory.data[lane : lane + 32, column : column + count]
    there[:-1] = there[1:].copy()


def shift_down(m: Machine, block: int, address: int) -> None:
    """Each of 32 lanes receives the columns of the next one, the last lane keeps its own.

    The manual says that rows are shifted down by one, except the last, and gives the shape as 31 lanes of 256 bits; the
    direction is a guess.
    """
    lane, column = address >> 16, address & 0xFFFF
    if lane % 32 or lane >= LANES:
        raise Fault(IllegalInstruction, f"tcgen05.shift at lane {lane}", 0)
    memory = memory_of(m, block)
    memory.check(column, SHIFTED)

    m.defer(lambda: _shift_lanes(memory, lane, column, SHIFTED), queue=_queue(m, block))
