"""One launch: constant banks, batches of blocks, error reports."""

import math
import time
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from orias.cubin.model import KernelCode
from orias.sim.core.banked_memory import Banked
from orias.sim.core.engine import Engine, Timing
from orias.sim.core.late_results import Violation, Watch
from orias.sim.core.object_places import frame_bytes
from orias.sim.core.seeded_engine import SeededEngine
from orias.sim.core.sim_errors import Fault, IllegalInstruction, LoadError, SimError
from orias.sim.core.state import POISON, Machine, unwritten_byte
from orias.sim.math.ops_int import I64, U32
from orias.sim.matrix.tensor_memory import reserve
from orias.sim.native.vector import vector
from orias.sim.texture.descriptor import write_tables
from orias.target import features
from orias.target.descriptors import TABLES
from orias.target.driver import TENSOR_RECORD
from orias.target.profile import Target
from orias.timing.needs import Facts

if TYPE_CHECKING:
    from orias.sim.core.loaded_cubin import LoadedCubin

Arr = npt.NDArray[Any]

SHARED_WINDOW: Final = 0x7EFF00000000
SHARED_WINDOW_BYTES: Final = 1 << 24
"""Bytes of the window of generic addresses up to sm_89: no block has more shared memory on any target."""
LOCAL_WINDOW: Final = 0x7EFE00000000
STACK_TOP: Final = 0xFFFDC0
"""Initial stack pointer: offset in the local window."""
_STACK_GUARD: Final = 0x9E3779B97F4A7C15
"""The constant that guards of frames hold; the driver's is not known."""
UNKNOWN_STACK: Final = 0xFFFFFFFF
"""MIN_STACK_SIZE that nvlink writes where it cannot know the depth of calls."""
UNKNOWN_DEPTH_STACK: Final = 16384
"""Bytes of local memory per thread where nobody knows the depth of calls, or says how much."""
DEFAULT_STACK: Final = 1024
"""Minimum bytes of local memory per thread (the driver's default stack limit)."""
BATCH_BYTES: Final = 1 << 29
"""Maximum bytes of registers, local and shared memory of the blocks that run at a time (one block always runs)."""
BATCH_THREADS: Final = 1 << 15
"""Maximum number of threads that run at a time: rows of registers should stay in the caches."""

SHARED_STEP: Final = 128
"""Shared memory is given in multiples of this many bytes on sm_80 and later (of 256 on sm_75), and hardware notices no access
up to there."""


class Result:
    """The results of a launch.

    ``output`` (printf text), ``instructions`` (summed over threads), ``steps`` (of the engine), ``together`` (why blocks ran in
    one process although several were asked for; empty if they did not or no reason was needed), ``let_go`` (number of a
    WARPSYNC that threads left although others of their mask did not come, -1 for none), ``hazards`` (of a time-aware run,
    each once).
    """

    __slots__ = ("hazards", "instructions", "let_go", "output", "steps", "together")

    def __init__(self, output: str, instructions: int, steps: int) -> None:
        self.output = output
        self.instructions = instructions
        self.steps = steps
        self.hazards: list[Violation] = []
        self.let_go = -1
        self.together = ""

    def add(self, other: "Result") -> None:
        """Adds that of a launch by the kernel."""
        self.output += other.output
        self.instructions += other.instructions
        self.steps += other.steps
        self.hazards += other.hazards
        self.let_go = max(self.let_go, other.let_go)


class Shape(NamedTuple):
    """Sizes of a launch: grid in blocks, block in threads, cluster in blocks, dynamic shared memory in bytes."""

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    cluster: tuple[int, int, int]
    dynamic: int


class Options(NamedTuple):
    """Options of a run; the fields are arguments of :meth:`orias.sim.core.image.Image.launch`."""

    max_steps: int
    on_batch: Callable[[Machine], None] | None = None
    mufu_error: int = 0
    hazards: str = ""
    resident: int = 0
    timing: Callable[[Machine], Timing | None] | None = None
    fill: int = POISON
    tolerant: bool = False
    schedule: int = 0
    late: bool = False
    stack: int = 0


class _Layout(NamedTuple):
    """What batches of equally many blocks of a shape share; none of it is written.

    Block in the batch and presence of each thread; special registers that differ between threads, except the blocks' coordinates.
    """

    block_of: Arr
    present: Arr
    special: dict[str, Arr]


@lru_cache(maxsize=2)
def _layout_of(n: int, padded: int, size: int, ranks: int, bx: int, by: int) -> _Layout:
    """The layout of `n` blocks of `size` threads (with those that fill warps `padded`), `bx` by `by` by the rest; `ranks`: blocks of a cluster."""
    lane = np.tile(np.arange(padded), n)
    block_of = np.repeat(np.arange(n, dtype=I64), padded)
    lane_id = (lane & 31).astype(U32)
    bit = np.left_shift(np.uint32(1), lane_id)
    warp = (lane >> 5).astype(U32)
    special = {
        "SR_TID.X": (lane % bx).astype(U32),
        "SR_TID.Y": (lane // bx % by).astype(U32),
        "SR_TID.Z": (lane // (bx * by)).astype(U32),
        "SR_LANEID": lane_id,
        "SR_VIRTID": np.left_shift(warp, np.uint32(8)),
        "SR_WARPID": warp,
        "SR_EQMASK": bit,
        "SR_LTMASK": bit - np.uint32(1),
        "SR_LEMASK": bit | (bit - np.uint32(1)),
        "SR_GEMASK": ~(bit - np.uint32(1)),
        "SR_GTMASK": ~(bit | (bit - np.uint32(1))),
        "SR_CgaCtaId": (block_of % ranks).astype(U32),
    }
    return _Layout(block_of, lane < size, special)


class Launch:
    """One launch: constant banks, batches of blocks, error reports."""

    let_go = 0
    """Number of the instruction after the first WARPSYNC that threads left although others did not come."""

    def __init__(self, image: "LoadedCubin", kernel: KernelCode, params: bytes, shape: Shape, options: Options) -> None:
        self.image = image
        self.kernel = kernel
        self.name = kernel.name
        self.shape = shape
        self.options = options
        self.violations: list[Violation] = []
        self.instructions = 0
        self.steps = 0
        self.ended = 0
        """Threads of the batches that have ended."""
        self._seen: set[tuple[str, int, int, int]] = set()
        self._facts: Facts | None = None
        self._store: Arr | None = None
        """The registers of a batch, which the next one of the same size uses again: fresh memory is slow."""
        self._started = 0
        """The first block that has not started; blocks start in the order of their numbers."""
        self._end = self.block_count
        """The block before which the launch ends."""
        t = image.target
        static = image.shared_size(kernel.name)
        self.shared_bytes = max(static, t.number("system_shared")) + shape.dynamic
        if self.shared_bytes > SHARED_WINDOW_BYTES:
            raise LoadError(
                f"kernel {kernel.name} asks for {self.shared_bytes} bytes of shared memory, at most {SHARED_WINDOW_BYTES}"
            )
        unknown = kernel.abi_frame_unknown or kernel.min_stack_size == UNKNOWN_STACK
        need = 0 if unknown else kernel.min_stack_size
        if image.reader.relocatable or image.reader.module.extensible:
            need = max(need, kernel.frame_size + frame_bytes(image.reader))
        least = -(-options.stack // 16) * 16 or (UNKNOWN_DEPTH_STACK if unknown else DEFAULT_STACK)
        self.stack = max(least, -(-need // 16) * 16 + 256, -(-kernel.frame_size // 16) * 16 + 256)
        if self.stack > STACK_TOP:
            raise LoadError(f"kernel {kernel.name} asks for {self.stack} bytes of stack, at most {STACK_TOP}")
        self.bank0 = self._bank0(params)

    def _bank0(self, params: bytes) -> bytes:
        t = self.image.target
        base = self.image.reader.param_base.get(self.kernel.name, t.word("parameters"))
        references = self.image.reference_slots(self.kernel.name)
        tables = t.word("checked_tables") if self.kernel.sanitize > 0 and t.has_word("checked_tables") else -8
        out = bytearray(max([base + len(params), tables + 8, *(offset + 4 for offset, _, _ in references)]))

        def put(offset: int, value: int, size: int = 4) -> None:
            if offset >= 0 and offset + size <= len(out):
                out[offset : offset + size] = (value & (1 << 8 * size) - 1).to_bytes(size, "little")

        for i in range(3):
            put(t.word("ntid") + 4 * i, self.shape.block[i])
            put(t.word("nctaid") + 4 * i, self.shape.grid[i])
        put(t.word("local_window"), LOCAL_WINDOW, 8)
        if t.has_word("shared_window"):
            put(t.word("shared_window"), SHARED_WINDOW, 8)
        put(t.word("stack_pointer"), STACK_TOP)
        put(self._place(t, "stack_guard"), _STACK_GUARD, 8)
        put(tables, self.image.checked_tables, 8)
        if t.has_word("checked_shared"):
            put(t.word("checked_shared"), self.shared_bytes)
        # Parameters have generic addresses: a copy of them is in device memory.
        copy = self.image.arena.allocate(max(len(params), 16), "parameters")
        self.image.arena.write(copy, params)
        if t.has_word("parameter_window"):
            put(t.word("parameter_window"), copy, 8)
            put(t.word("parameter_window_end"), copy + len(params), 8)
        else:
            put(t.word("bank_window"), copy - base, 8)
            put(t.word("parameters_end"), base + len(params))
        if self.image.reader.bank(3):
            put(t.word("constant_window"), self.image.section(".nv.constant3"), 8)
        put(self._place(t, "dynamic_shared"), self.shape.dynamic)
        put(t.word("grid_id"), 1, 8)
        if t.has_word("descriptor"):
            put(t.word("descriptor"), 0, 8)
        if self.options.resident >= self.block_count:
            self._grid_barrier(put, t)
        if t.has(features.CLUSTERS):
            self._cluster_constants(put, t)
        out[base : base + len(params)] = params
        for offset, name, packed in references:
            number = self.image.arena.bindings.get(name, 0)
            if packed:
                # Up to sm_89 the sampler's number is above the texture's.
                number = int.from_bytes(out[offset : offset + 4], "little") & 0xFFFFF | number << 20
            put(offset, number)
        if self.image.descriptor_mode is not None:
            for table, address in write_tables(self.image.arena, self.image.descriptor_mode).items():
                put(t.word("texture_headers") + TABLES[table], address, 8)
        return bytes(out)

    def _grid_barrier(self, put: Callable[..., None], t: Target) -> None:
        """The memory with the barrier of the grid of a cooperative launch: size and counter, in %envreg1 (above) and 2."""
        place = self.image.arena.allocate(8, "parameters")
        self.image.arena.write(place, (8).to_bytes(8, "little"))
        at = self._place(t, "environment_0")
        put(at + 4, place >> 32)
        put(at + 8, place)

    @property
    def _cluster_code(self) -> int:
        """SR_CgaSize: 0 without clusters; what the hardware has for a cluster is not known, and 1 stands for it."""
        x, y, z = self.shape.cluster
        return 1 if x * y * z > 1 else 0

    def _place(self, t: Target, name: str) -> int:
        """Byte offset in bank 0 of a word that may move with SR_CgaSize."""
        if not t.moves_with_cluster(name):
            return t.word(name)
        return t.word_base(name) - t.number("cluster_step") * self._cluster_code

    def _cluster_constants(self, put: Callable[..., None], t: Target) -> None:
        """Cluster fields from sm_90 on."""
        ranks = 1
        for i in range(3):
            ranks *= self.shape.cluster[i]
            put(self._place(t, "cluster_size") + 4 * i, self.shape.cluster[i])
            put(self._place(t, "cluster_count") + 4 * i, self.shape.grid[i] // self.shape.cluster[i])
            # The f32 reciprocal is rounded up, because code multiplies a block's coordinate by it and truncates.
            reciprocal = np.float32(1 / self.shape.cluster[i])
            if float(reciprocal) * self.shape.cluster[i] < 1:
                reciprocal = np.nextafter(reciprocal, np.float32(2))
            put(self._place(t, "cluster_reciprocal") + 4 * i, int(reciprocal.view(np.uint32)))
        put(t.word("explicit_cluster"), 1 if ranks > 1 else 0)
        put(self._place(t, "cluster_shared_limit"), self.shared_bytes)
        put(self._place(t, "cluster_ranks"), ranks)

    @property
    def block_count(self) -> int:
        """Blocks of the grid."""
        x, y, z = self.shape.grid
        return x * y * z

    def _take(self, count: int) -> Arr:
        """Coordinates of the next `count` blocks or what is left, [n, 3]; the blocks of a cluster are adjacent."""
        gx, gy, _ = self.shape.grid
        cx, cy, cz = self.shape.cluster
        first = self._started
        self._started = min(first + count, self._end)
        i = np.arange(first, self._started)
        ranks = cx * cy * cz
        c, r = i // ranks, i % ranks
        kx, ky = gx // cx, gy // cy
        x = (c % kx) * cx + r % cx
        y = (c // kx % ky) * cy + r // cx % cy
        z = (c // (kx * ky)) * cz + r // (cx * cy)
        return np.stack((x, y, z), axis=1)

    def run(self) -> None:
        """Runs all blocks."""
        self.run_blocks(0, self.block_count)

    def run_blocks(self, first: int, last: int, patience: float = math.inf) -> int:
        """Runs the blocks from `first` up to `last` in batches; returns the block before which it stopped.

        It stops after a batch if the rest will take `patience` seconds or longer, at the speed so far.
        """
        self._started, self._end = first, last
        ranks = self.shape.cluster[0] * self.shape.cluster[1] * self.shape.cluster[2]
        size = self.block_threads
        padded = -(-size // 32) * 32
        cost = padded * (4 * self.register_count + self.stack + 64) + self.shared_bytes
        per_batch = max(1, min(BATCH_BYTES // cost, BATCH_THREADS // padded) // ranks) * ranks
        if self.options.resident >= self.block_count:
            # They may wait for each other.
            per_batch = self.block_count
        elif self.options.resident:
            per_batch = min(per_batch, self.options.resident * ranks)
        start = time.monotonic()
        while len(now := self._take(per_batch)):
            self._batch(now, padded, size, ranks)
            done, left = self._started - first, self._end - self._started
            if left and (time.monotonic() - start) * left / done >= patience:
                break
        return self._started

    def next_work(self) -> tuple[int, int, int] | None:
        """Takes the work of a cluster that has not started: the coordinates of its first block; None if all have started."""
        cx, cy, cz = self.shape.cluster
        taken = self._take(cx * cy * cz)
        if not len(taken):
            return None
        x, y, z = (int(v) for v in taken[0])
        return x, y, z

    @property
    def block_threads(self) -> int:
        """Threads of a block."""
        x, y, z = self.shape.block
        return x * y * z

    @property
    def register_count(self) -> int:
        """Registers per thread: the count in the file, but at least what callees may use, and what warps ask for later."""
        counts = [f.num_regs for f in self.image.reader.functions.values()]
        if self.kernel.num_regs == 0:
            return 255
        return max(self.kernel.num_regs, 24, self.image.most_asked_registers, *counts)

    def _batch(self, blocks: Arr, padded: int, size: int, ranks: int) -> None:
        image, t = self.image, self.image.target
        n = len(blocks)
        threads = n * padded
        layout = self._layout(n, padded, size, ranks)
        present = layout.present
        unwritten = unwritten_byte(self.options.fill)
        shared = Banked(n, max(self.shared_bytes, 16) + SHARED_STEP, 0, "shared", unwritten)
        step = SHARED_STEP if self.options.tolerant else 1
        shared.size = -(-self.shared_bytes // step) * step
        for name in TENSOR_RECORD:
            place = image.reserved_place(name)
            if place is not None:
                reserve(shared, n, name, place)
        local = Banked(threads, self.stack, STACK_TOP - self.stack, "local", unwritten, lazy=True)
        registers = min(self.register_count, 255)
        if self._store is None or self._store.shape[1] != threads or self.options.on_batch is not None:
            self._store = np.empty((registers, threads), U32)
        m = Machine(
            threads, registers, present, layout.block_of, image.arena, shared, local, self.options.fill, self._store
        )
        m.has_clusters = t.has(features.CLUSTERS)
        m.hardware_barriers = t.has(features.HARDWARE_BARRIERS)
        m.cluster_size = ranks
        m.mufu_error = self.options.mufu_error
        m.late = self.options.late
        m.window_shared = SHARED_WINDOW
        m.window_local = LOCAL_WINDOW
        m.syscalls = image.syscalls
        image.syscalls.whole = n == self.block_count
        m.next_work = self.next_work
        m.set_bank(0, self.bank0)
        name = self.kernel.name
        m.set_bank(2, image.banks.get(f".nv.constant2.{name}", b""))
        bank3 = image.reader.bank(3)
        if bank3:
            bank3 = image.arena.read(image.section(".nv.constant3"), len(bank3))
        m.set_bank(3, bank3)
        m.set_bank(4, image.banks.get(".nv.constant4", b""))
        self._name(m, layout, blocks, padded)
        m.watch = image.watch
        self.prepare(m)
        left = self.options.max_steps - self.steps
        seed = self.options.schedule
        plans, compile_ = image.plans(), image.compile
        if seed:
            # Each warp takes its own steps.
            engine: Engine = SeededEngine(m, plans, compile_, left * m.warps, n, seed)
        else:
            engine = Engine(m, plans, compile_, left, n)
            if type(self) is Launch:
                engine.vector = vector(m, image.records)
        engine.entry = self.entry()
        engine.tolerant = self.options.tolerant
        if self.options.timing is not None:
            engine.timing = self.options.timing(m)
        elif self.options.hazards:
            engine.timing = self._timing(m, blocks, padded)
        total, ended = image.progress, self.ended
        if total is not None:
            g, show = self.shape.grid, total
            all_threads = g[0] * g[1] * g[2] * int(np.count_nonzero(present[:padded]))
            engine.progress = lambda n: show(ended + n, all_threads)
        self._run(engine, blocks, padded)

    def _run(self, engine: Engine, blocks: Arr, padded: int) -> None:
        """Runs a batch to its end; faults get their block and thread, and counts are accumulated."""
        try:
            engine.run()
        except Fault as f:
            raise self._error(f, engine, blocks, padded) from None
        except (IndexError, KeyError, ValueError, AssertionError) as e:
            # Operands that no compiler writes, such as a pair that starts at R254.
            what = Fault(IllegalInstruction, f"cannot be executed: {type(e).__name__}: {e}", 0)
            raise self._error(what, engine, blocks, padded) from e
        finally:
            self.let_go = self.let_go or engine.let_go
            self.steps += engine.steps
            self.instructions += engine.instructions
            self.ended += len(blocks) * self.block_threads
            engine.m.end()
        if self.options.on_batch is not None:
            self.options.on_batch(engine.m)

    def _timing(self, m: Machine, blocks: Arr, padded: int) -> Watch:
        """The clocks of a batch, for a time-aware run."""
        image = self.image

        def report(v: Violation) -> None:
            x, y, z = (int(c) for c in blocks[v.thread // padded])
            v.kernel, v.block, v.warp = self.kernel.name, (x, y, z), v.thread % padded // 32
            self.violations.append(v)

        def place(index: int) -> tuple[int, str]:
            plan = image.compile(index)
            return plan.address, plan.text()

        if self._facts is None:
            self._facts = Facts(image.target.latency_class)
        return Watch(
            m, self._facts, image.table, image.decoded, place, self.options.hazards == "stop", self._seen, report
        )

    def prepare(self, m: Machine) -> None:
        """Hook of subclasses that run other code than the file's: prepares a machine."""

    def entry(self) -> int:
        """Index of the first plan."""
        for at, _, name in self.image._code:
            if name == self.kernel.name:
                return at >> 4
        raise LoadError(f"kernel {self.kernel.name} has no code")

    def _layout(self, n: int, padded: int, size: int, ranks: int) -> _Layout:
        """What batches of `n` blocks share."""
        bx, by, _ = self.shape.block
        return _layout_of(n, padded, size, ranks, bx, by)

    def _name(self, m: Machine, layout: _Layout, blocks: Arr, padded: int) -> None:
        """Sets the special registers of a batch."""
        m.special.update(layout.special | self._constants())
        for i, axis in enumerate("XYZ"):
            m.special[f"SR_CTAID.{axis}"] = np.repeat(blocks[:, i].astype(U32), padded)

    def _constants(self) -> dict[str, Arr]:
        """The special registers that are the same for all threads."""
        one = {
            "SR_SWINHI": SHARED_WINDOW >> 32,
            "SR_LMEMHIOFF": STACK_TOP - self.stack,
            "SR_SMEMSZ": self.shared_bytes,
            "SR_VIRTUALSMID": 0,
            "SR_VIRTCFG": 64 << 8,
            "SR_CgaSize": self._cluster_code,
            "SR_ORDERING_TICKET": 0,
        }
        return {key: np.full(1, value, U32) for key, value in one.items()}

    def _error(self, f: Fault, e: Engine, blocks: Arr, padded: int) -> SimError:
        plan = e.compile(e.fault_pc)
        thread = f.thread
        if thread < 0 and f.lane >= 0 and e.current is not None:
            thread = int(e.current.index[f.lane]) if f.lane < e.current.n else e.current.first
        where: tuple[int, int, int] | None = None
        who: tuple[int, int, int] | None = None
        if thread >= 0:
            x, y, z = (int(v) for v in blocks[thread // padded])
            where = (x, y, z)
            i = thread % padded
            bx, by, _ = self.shape.block
            who = (i % bx, i // bx % by, i // (bx * by))
        return f.error(f.message, self.name, plan.address, plan.text(), where, who)
