"""Loading a cubin and launching its kernels."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt

from orias.check.facts import Facts
from orias.cubin.errors import CubinError
from orias.cubin.model import KernelCode
from orias.cubin.reader import Reader
from orias.isa.decode import Decoded, IllegalWord
from orias.isa.operand import K_IMM, imm, imm64, kind
from orias.isa.table import EncodeError, IsaTable
from orias.isa.table import load as load_table
from orias.sim.build import build, illegal
from orias.sim.engine import Engine, Plan
from orias.sim.errors import ArgumentError, Fault, IllegalInstruction, LoadError, SimError
from orias.sim.exec_flow import CODE_BASE, SYSCALL_BASE
from orias.sim.hazards import Violation, Watch
from orias.sim.memory import GLOBAL_BASE, Arena, Banked
from orias.sim.ops_int import I64, U32
from orias.sim.state import Machine
from orias.sim.syscalls import Syscalls
from orias.target.profile import TARGETS, Target

Arr = npt.NDArray[Any]
Dim = int | Sequence[int]

SHARED_WINDOW: Final = 0x7EFF00000000
LOCAL_WINDOW: Final = 0x7EFE00000000
STACK_TOP: Final = 0xFFFDC0
"""Initial stack pointer: offset in the local window."""
DEFAULT_STACK: Final = 1024
"""Least bytes of local memory a thread (the driver's default stack limit)."""
BATCH_BYTES: Final = 1 << 29
"""Registers, local and shared memory of the blocks that run at a time, at most (one block always runs)."""
BATCH_THREADS: Final = 1 << 15
"""Threads that run at a time, at most: rows of registers should stay in the caches."""
DEFAULT_STEPS: Final = 20_000_000

_CODE_ALIGN: Final = 128
_R_64: Final = 2
_R_G64: Final = 4
_R_8_0: Final = 76
_R_ABS32_LO: Final = 56
_R_ABS32_HI: Final = 57
_R_CALLS: Final = (58, 75, 114)
"""Call targets (ABS47_34, ABS55_16_34, ABS56_16_34)."""


class Result:
    """What a launch did.

    ``output`` (printf text), ``instructions`` (summed over threads), ``steps`` (executed by the engine), ``hazards`` (broken
    promises of a time-aware run, each once).
    """

    __slots__ = ("hazards", "instructions", "output", "steps")

    def __init__(self, output: str, instructions: int, steps: int) -> None:
        self.output = output
        self.instructions = instructions
        self.steps = steps
        self.hazards: list[Violation] = []


class HasVariables(Protocol):
    """An image: device memory, and address and size of each module variable."""

    arena: Arena
    variables: dict[str, tuple[int, int]]


class Globals:
    """Module variables by name: ``globals["x"]`` is a writable uint8 array on the variable's memory."""

    def __init__(self, image: HasVariables) -> None:
        self._image = image

    def __getitem__(self, name: str) -> Arr:
        """The bytes of a variable (a view: writes go to the module)."""
        address, size = self._image.variables[name]
        a = self._image.arena
        o = address - GLOBAL_BASE
        return a.data[o : o + size]

    def __setitem__(self, name: str, value: Arr) -> None:
        """Stores an array over a variable."""
        raw = np.ascontiguousarray(value).reshape(-1).view(np.uint8)
        target = self[name]
        if len(raw) > len(target):
            raise ArgumentError(f"{name} has {len(target)} bytes, the value {len(raw)}")
        target[: len(raw)] = raw

    def __contains__(self, name: str) -> bool:
        return name in self._image.variables

    def names(self) -> list[str]:
        """All variables."""
        return sorted(self._image.variables)


def triple(d: Dim) -> tuple[int, int, int]:
    """A size of one to three numbers as three."""
    v = [d] if isinstance(d, int) else [int(x) for x in d]
    if not 1 <= len(v) <= 3 or min(v) < 1:
        raise ArgumentError(f"{d} is not a size of one to three positive numbers")
    v += [1] * (3 - len(v))
    return v[0], v[1], v[2]


class Image:
    """A loaded cubin.  Module variables keep their values from launch to launch."""

    def __init__(self, data: bytes) -> None:
        try:
            self.reader = Reader(data)
        except CubinError as e:
            raise LoadError(str(e)) from None
        target = TARGETS.get(self.reader.target)
        if target is None:
            raise LoadError(f"target {self.reader.target} is not simulated")
        if self.reader.relocatable:
            raise LoadError("the cubin is relocatable: link it first")
        self.target: Target = target
        self.table: IsaTable = load_table(target.table)
        self.kernels: dict[str, KernelCode] = self.reader.kernels
        self.arena = Arena(1 << 20)
        self.variables: dict[str, tuple[int, int]] = {}
        """Address and size of each module variable."""
        self.globals = Globals(self)
        self.syscalls = Syscalls(SYSCALL_BASE)
        self.watch: Callable[[Machine, int], None] | None = None
        """For :attr:`Machine.watch`."""
        self._section_address: dict[int, int] = {}
        self._code: list[tuple[int, bytes, str]] = []
        self._text_relocs: dict[int, tuple[int, int]] = {}
        """Relocation type and value by code offset."""
        self._plans: list[Plan | None] | None = None
        try:
            self._place_code()
            self._place_data()
            self._relocate_text()
        except (CubinError, IndexError, KeyError, ValueError) as e:
            raise LoadError(f"malformed cubin: {e}") from e

    # -- loading

    def _place_code(self) -> None:
        at = 0
        for s in self.reader.elf.sections:
            if s.name.startswith(".text."):
                at = -(-at // _CODE_ALIGN) * _CODE_ALIGN
                self._section_address[s.index] = CODE_BASE + at
                self._code.append((at, s.data, s.name[len(".text.") :]))
                at += len(s.data)
        self._code_size = at

    def _place_data(self) -> None:
        elf = self.reader.elf
        self.banks: dict[str, bytes] = {}
        for s in elf.sections:
            if s.name in (".nv.global", ".nv.global.init", ".nv.constant3"):
                address = self.arena.allocate(max(s.size, 1), s.name)
                self._section_address[s.index] = address
                if s.data:
                    self.arena.write(address, s.data)
        for s in elf.sections:
            if s.index in self._section_address and s.name.startswith(".nv."):
                data = self._relocated(s.index, bytes(s.data))
                if data:
                    self.arena.write(self._section_address[s.index], data)
            elif s.name.startswith((".nv.constant2", ".nv.constant4")):
                self.banks[s.name] = self._relocated(s.index, bytes(s.data))
        for sym in elf.symbols:
            base = self._section_address.get(sym.section)
            if base is not None and sym.name and sym.type in (1, 13) and base < CODE_BASE:
                self.variables[sym.name] = (base + sym.value, sym.size)

    def _relocate_text(self) -> None:
        """Relocations of code that a module has where functions have sections of their own (-g)."""
        elf = self.reader.elf
        for s in elf.sections:
            if not s.name.startswith(".text."):
                continue
            at = self._section_address[s.index] - CODE_BASE
            for r in elf.relocations(s):
                if r.type not in (_R_ABS32_LO, _R_ABS32_HI, *_R_CALLS):
                    raise LoadError(f"{s.name}: relocation type {r.type} is not simulated")
                self._text_relocs[at + r.offset] = (r.type, self._symbol(r.symbol, s.name) + r.addend)

    def _symbol(self, index: int, section: str) -> int:
        """The address of a symbol."""
        sym = self.reader.elf.symbol(index, section)
        if sym.section == 0:
            address = self.syscalls.address(sym.name)
            # a call of what is not there fails with the address of no function
            return SYSCALL_BASE + 0x100000 if address is None else address
        base = self._section_address.get(sym.section)
        if base is None:
            raise LoadError(f"{section}: symbol {sym.name} has no address")
        return base + sym.value

    def _relocated(self, index: int, data: bytes) -> bytes:
        elf = self.reader.elf
        section = elf.sections[index]
        relocs = elf.relocations(section)
        if not relocs:
            return data
        out = bytearray(data)
        for r in relocs:
            value = self._symbol(r.symbol, section.name)
            if _R_8_0 <= r.type < _R_8_0 + 16:
                # One byte of the address: 8_0 to 8_56, then G8_0 to G8_56.
                out[r.offset] = (value + (r.addend if r.rela else 0)) >> 8 * ((r.type - _R_8_0) % 8) & 0xFF
                continue
            if r.type not in (_R_64, _R_G64):
                raise LoadError(f"{section.name}: relocation type {r.type} is not simulated")
            addend = r.addend if r.rela else int.from_bytes(out[r.offset : r.offset + 8], "little")
            out[r.offset : r.offset + 8] = ((value + addend) & (1 << 64) - 1).to_bytes(8, "little")
        return bytes(out)

    def section(self, name: str) -> int:
        """The address of a section in memory; KeyError if it has none."""
        for s, address in self._section_address.items():
            if self.reader.elf.sections[s].name == name:
                return address
        raise KeyError(name)

    def code_size(self) -> int:
        """Bytes of all code."""
        return self._code_size

    def function_offsets(self, kernel: str) -> dict[int, str]:
        """Symbols of functions in a kernel's section, by the offset that stands for their address in code and data."""
        found: dict[int, str] = {}
        for sym in self.reader.elf.symbols:
            if sym.type == 2 and 0 < sym.section < len(self.reader.elf.sections):
                if self.reader.elf.sections[sym.section].name == f".text.{kernel}":
                    found[sym.value] = sym.name
        return found

    def plans(self) -> list[Plan | None]:
        """One place for each instruction of the module (index = code offset / 16), filled by :meth:`compile`."""
        if self._plans is None:
            self._plans = [None] * ((self._code_size >> 4) + 1)
        return self._plans

    def compile(self, index: int) -> Plan:
        """The plan of the instruction at an index."""
        plans = self.plans()
        if not 0 <= index < len(plans):
            return illegal(index << 4, "execution left the code")
        plan = plans[index]
        if plan is not None:
            return plan
        plan = illegal(index << 4, "execution ran out of the code")
        for at, code, _ in self._code:
            offset = (index << 4) - at
            if 0 <= offset < len(code):
                plan = self._plan(code, offset, at)
                break
        plans[index] = plan
        return plan

    def decoded(self, index: int) -> Decoded | None:
        """The instruction at an index; None where there is none."""
        for at, code, _ in self._code:
            offset = (index << 4) - at
            if 0 <= offset < len(code):
                try:
                    return self.table.decode(int.from_bytes(code[offset : offset + 16], "little"))
                except (IllegalWord, EncodeError):
                    return None
        return None

    def _plan(self, code: bytes, offset: int, at: int) -> Plan:
        word = int.from_bytes(code[offset : offset + 16], "little")
        try:
            d = self.table.decode(word)
        except (IllegalWord, EncodeError) as e:
            return illegal(offset, f"no instruction has the word 0x{word:032x}: {e}")
        reloc = self._text_relocs.get(at + offset)
        if reloc is not None:
            kind_, value = reloc
            i = max((i for i, o in enumerate(d.src) if kind(o) == K_IMM), default=-1)
            if i < 0:
                return illegal(offset, f"relocation type {kind_} on {d.op.name} is not simulated")
            if kind_ in (_R_ABS32_LO, _R_ABS32_HI):
                d.src[i] = imm(value >> 32 if kind_ == _R_ABS32_HI else value)
            else:
                d.src[i] = imm64(value)
        return build(d, offset, CODE_BASE + at + offset, lambda: self.table.text(word, offset))

    # -- launching

    def launch(
        self,
        name: str,
        grid: Dim,
        block: Dim,
        args: Sequence[Any] = (),
        shared: int = 0,
        max_steps: int = DEFAULT_STEPS,
        cluster: Dim | None = None,
        on_batch: Callable[[Machine], None] | None = None,
        mufu_error: int = 0,
        hazards: str = "",
    ) -> Result:
        """Runs a kernel.

        `grid`, `block`, `cluster`: sizes (in blocks, threads, blocks; the kernel's own cluster if not given).  `args`: one a parameter: numpy arrays are copied
        to device memory and back (a read-only array is not written back), scalars are converted to the parameter's size
        (Python floats by the size: 4 bytes f32, 8 f64, 2 f16), bytes are taken as they are.  `shared`: dynamic shared
        bytes.  `max_steps`: instructions of the engine before :class:`StepLimit`.  `on_batch` sees the machine after each
        batch of blocks.  `mufu_error`: units in the last place to add to results of the approximating unit (the hardware is
        off by 1 or so), to see whether code built on it stands that.  `hazards`: ``stop`` or ``stale`` for a time-aware run, in
        which results are there no sooner than the control words promise: ``stop`` ends at the first read that is too early,
        ``stale`` goes on with the old value and lists all.  Raises a subclass of :class:`SimError`.
        """
        if hazards not in ("", "stop", "stale"):
            raise ArgumentError(f"hazards={hazards!r}: 'stop' or 'stale'")
        k = self.kernels.get(name)
        if k is None:
            raise ArgumentError(f"there is no kernel {name}; there are: {', '.join(sorted(self.kernels)) or 'none'}")
        g, b = triple(grid), triple(block)
        c = triple(cluster if cluster is not None else k.cluster_dim if any(k.cluster_dim) else 1)
        if b[0] * b[1] * b[2] > 1024:
            raise ArgumentError(f"{b[0] * b[1] * b[2]} threads a block, at most 1024")
        if any(k.reqntid) and tuple(k.reqntid) != b:
            raise ArgumentError(f"the kernel demands blocks of {tuple(k.reqntid)} threads", name)
        if any(k.maxntid) and b[0] * b[1] * b[2] > k.maxntid[0] * k.maxntid[1] * k.maxntid[2]:
            raise ArgumentError(f"the kernel allows at most {tuple(k.maxntid)} threads in a block", name)
        if any(x % y for x, y in zip(g, c, strict=True)):
            raise ArgumentError("the grid is not a multiple of the cluster")
        params, copies = self._arguments(k, args)
        launch = self.new_launch(k, g, b, c, params, shared, max_steps, on_batch, mufu_error)
        launch.hazards = hazards
        self.syscalls.output = []
        with np.errstate(all="ignore"):
            launch.run()
        for array, address, size in copies:
            raw = self.arena.read(address, size) if size else b""
            if array.flags.writeable:
                array[...] = np.frombuffer(raw, array.dtype).reshape(array.shape)
            self.arena.release(address)
        result = Result("".join(self.syscalls.output), launch.instructions, launch.steps)
        result.hazards = launch.violations
        return result

    def new_launch(
        self,
        kernel: KernelCode,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        cluster: tuple[int, int, int],
        params: bytes,
        shared: int,
        max_steps: int,
        on_batch: Callable[[Machine], None] | None,
        mufu_error: int,
    ) -> "Launch":
        """The launch of a kernel with its parameter bytes."""
        return Launch(self, kernel, grid, block, cluster, params, shared, max_steps, on_batch, mufu_error)

    def _arguments(self, k: KernelCode, args: Sequence[Any]) -> tuple[bytes, list[tuple[Arr, int, int]]]:
        if len(args) != len(k.params):
            raise ArgumentError(f"{len(args)} arguments, the kernel has {len(k.params)} parameters", k.name)
        params = bytearray(k.param_bytes)
        copies: list[tuple[Arr, int, int]] = []
        known: dict[int, int] = {}
        order = sorted(k.params, key=lambda p: p.ordinal)
        for i, (p, v) in enumerate(zip(order, args, strict=True)):
            if isinstance(v, np.ndarray):
                address = known.get(id(v))
                if address is None:
                    raw = np.ascontiguousarray(v)
                    address = self.arena.allocate(raw.nbytes, f"argument {i}")
                    self.arena.write(address, raw)
                    copies.append((v, address, raw.nbytes))
                    known[id(v)] = address
                data = address.to_bytes(8, "little")
            else:
                data = scalar_bytes(v, p.size, i)
            if len(data) > p.size:
                raise ArgumentError(f"argument {i} has {len(data)} bytes, the parameter {p.size}", k.name)
            params[p.offset : p.offset + len(data)] = data
        return bytes(params), copies


def scalar_bytes(v: Any, size: int, i: int) -> bytes:
    """The bytes of an argument that is not an array."""
    if isinstance(v, bytes | bytearray):
        return bytes(v)
    if isinstance(v, np.generic):
        return v.tobytes()
    if isinstance(v, bool):
        return int(v).to_bytes(size, "little")
    if isinstance(v, int):
        return (v & (1 << 8 * size) - 1).to_bytes(size, "little")
    if isinstance(v, float):
        t: Any = {2: np.float16, 4: np.float32, 8: np.float64}.get(size)
        if t is not None:
            return bytes(t(v).tobytes())
    raise ArgumentError(f"argument {i} has type {type(v).__name__}, which a parameter of {size} bytes cannot take")


class Launch:
    """One launch: constant banks, batches of blocks, error reports."""

    def __init__(
        self,
        image: Image,
        kernel: KernelCode,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        cluster: tuple[int, int, int],
        params: bytes,
        shared: int,
        max_steps: int,
        on_batch: Callable[[Machine], None] | None,
        mufu_error: int,
    ) -> None:
        self.image = image
        self.kernel = kernel
        self.name = kernel.name
        self.grid = grid
        self.block = block
        self.cluster = cluster
        self.max_steps = max_steps
        self.on_batch = on_batch
        self.hazards = ""
        """``stop`` or ``stale``: a time-aware run."""
        self.violations: list[Violation] = []
        self._seen: set[tuple[str, int, int, int]] = set()
        self._facts: Facts | None = None
        self.mufu_error = mufu_error
        self.instructions = 0
        self.steps = 0
        t = image.target
        static = image.reader.shared_size(kernel.name)
        self.shared_bytes = max(static, t.smem_reserved) + shared
        self.dynamic = shared
        self.stack = max(
            DEFAULT_STACK, -(-kernel.min_stack_size // 16) * 16 + 256, -(-kernel.frame_size // 16) * 16 + 256
        )
        if kernel.abi_frame_unknown:
            self.stack = max(self.stack, 16384)
        self.bank0 = self._bank0(params)

    def _bank0(self, params: bytes) -> bytes:
        t = self.image.target
        base = self.image.reader.param_base.get(self.kernel.name, t.param_base)
        out = bytearray(base + len(params))

        def put(offset: int, value: int, size: int = 4) -> None:
            if offset >= 0 and offset + size <= len(out):
                out[offset : offset + size] = (value & (1 << 8 * size) - 1).to_bytes(size, "little")

        for i in range(3):
            put(t.ntid + 4 * i, self.block[i])
            put(t.nctaid + 4 * i, self.grid[i])
        put(t.local_window, LOCAL_WINDOW, 8)
        if t.shared_window >= 0:
            put(t.shared_window, SHARED_WINDOW, 8)
        put(t.stack_ptr, STACK_TOP)
        # Generic addresses of parameters: the words lie in device memory too.
        copy = self.image.arena.allocate(max(len(params), 16), "parameters")
        self.image.arena.write(copy, params)
        put(0x198 if t.sm >= 90 else 0x40, copy if t.sm >= 90 else copy - base, 8)
        put(0x2C, self.dynamic)
        put(0x30, 1, 8)
        if t.desc >= 0:
            put(t.desc, 0, 8)
        if t.sm >= 90:
            self._cluster_constants(put)
        out[base:] = params
        return bytes(out)

    def _cluster_constants(self, put: Callable[..., None]) -> None:
        """Cluster fields of sm_90 (places as ptxas reads them for the cluster special registers)."""
        ranks = 1
        for i in range(3):
            ranks *= self.cluster[i]
            put(0x144 + 4 * i, self.cluster[i])
            put(0x15C + 4 * i, self.grid[i] // self.cluster[i])
            # f32 reciprocal, rounded up: code multiplies a block's coordinate by it and truncates
            reciprocal = np.float32(1 / self.cluster[i])
            if float(reciprocal) * self.cluster[i] < 1:
                reciprocal = np.nextafter(reciprocal, np.float32(2))
            put(0x150 + 4 * i, int(reciprocal.view(np.uint32)))
        put(0x140, 1 if ranks > 1 else 0)
        put(0x188, ranks)

    def _blocks(self) -> Arr:
        """Coordinates of all blocks, [n, 3]; the blocks of a cluster are neighbours."""
        gx, gy, gz = self.grid
        cx, cy, cz = self.cluster
        n = gx * gy * gz
        i = np.arange(n)
        ranks = cx * cy * cz
        c, r = i // ranks, i % ranks
        kx, ky = gx // cx, gy // cy
        x = (c % kx) * cx + r % cx
        y = (c // kx % ky) * cy + r // cx % cy
        z = (c // (kx * ky)) * cz + r // (cx * cy)
        return np.stack((x, y, z), axis=1)

    def run(self) -> None:
        """Runs all blocks in batches."""
        blocks = self._blocks()
        ranks = self.cluster[0] * self.cluster[1] * self.cluster[2]
        size = self.block[0] * self.block[1] * self.block[2]
        padded = -(-size // 32) * 32
        cost = padded * (4 * self.register_count + self.stack + 64) + self.shared_bytes
        per_batch = max(1, min(BATCH_BYTES // cost, BATCH_THREADS // padded) // ranks) * ranks
        for first in range(0, len(blocks), per_batch):
            self._batch(blocks[first : first + per_batch], padded, size, ranks)

    @property
    def register_count(self) -> int:
        """Registers to keep: what the file says, at least what callees may use."""
        counts = [f.num_regs for f in self.image.reader.functions.values()]
        return 255 if self.kernel.num_regs == 0 else max(self.kernel.num_regs, 24, *counts)

    def _batch(self, blocks: Arr, padded: int, size: int, ranks: int) -> None:
        image, t = self.image, self.image.target
        n = len(blocks)
        threads = n * padded
        lane_in_block = np.tile(np.arange(padded), n)
        block_of = np.repeat(np.arange(n, dtype=I64), padded)
        present = lane_in_block < size
        shared = Banked(n, max(self.shared_bytes, 16), 0, "shared", 0xCD)
        shared.size = self.shared_bytes
        local = Banked(threads, self.stack, STACK_TOP - self.stack, "local", 0xCD, lazy=True)
        m = Machine(threads, self.register_count, present, block_of, image.arena, shared, local)
        m.sm = t.sm
        m.cluster_size = ranks
        m.mufu_error = self.mufu_error
        m.window_shared = SHARED_WINDOW
        m.window_local = LOCAL_WINDOW
        m.syscalls = lambda address, who: image.syscalls(m, address, who)
        m.set_bank(0, self.bank0)
        name = self.kernel.name
        m.set_bank(2, image.banks.get(f".nv.constant2.{name}", b""))
        bank3 = image.reader.bank(3)
        if bank3:
            address = next(
                a for s, a in image._section_address.items() if image.reader.elf.sections[s].name == ".nv.constant3"
            )
            bank3 = image.arena.read(address, len(bank3))
        m.set_bank(3, bank3)
        m.set_bank(4, image.banks.get(".nv.constant4", b""))
        self._special(m, blocks, lane_in_block, block_of, ranks)
        m.watch = image.watch
        self.prepare(m)
        engine = Engine(m, image.plans(), image.compile, self.max_steps - self.steps, n)
        engine.entry = self.entry()
        if self.hazards:
            engine.timing = self._timing(m, blocks, padded)
        try:
            engine.run()
        except Fault as f:
            raise self._error(f, engine, blocks, padded) from None
        except (IndexError, KeyError, ValueError, AssertionError) as e:
            # operands no compiler writes (a pair that starts at R254, ...)
            what = Fault(IllegalInstruction, f"cannot be executed: {type(e).__name__}: {e}", 0)
            raise self._error(what, engine, blocks, padded) from e
        finally:
            self.steps += engine.steps
            self.instructions += engine.instructions
        if self.on_batch is not None:
            self.on_batch(m)

    def _timing(self, m: Machine, blocks: Arr, padded: int) -> Watch:
        """The clocks of a batch."""
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
        return Watch(m, self._facts, image.table, image.decoded, place, self.hazards == "stop", self._seen, report)

    def prepare(self, m: Machine) -> None:
        """For launches of other code than the file's: what its machine needs besides."""

    def entry(self) -> int:
        """Index of the first plan."""
        for at, _, name in self.image._code:
            if name == self.kernel.name:
                return at >> 4
        raise LoadError(f"kernel {self.kernel.name} has no code")

    def _special(self, m: Machine, blocks: Arr, lane: Arr, block_of: Arr, ranks: int) -> None:
        bx, by, _ = self.block
        s = m.special
        s["SR_TID.X"] = (lane % bx).astype(U32)
        s["SR_TID.Y"] = (lane // bx % by).astype(U32)
        s["SR_TID.Z"] = (lane // (bx * by)).astype(U32)
        for i, axis in enumerate("XYZ"):
            s[f"SR_CTAID.{axis}"] = blocks[block_of, i].astype(U32)
        lane_id = (lane & 31).astype(U32)
        s["SR_LANEID"] = lane_id
        s["SR_VIRTID"] = s["SR_WARPID"] = (lane >> 5).astype(U32)
        bit = np.left_shift(np.uint32(1), lane_id)
        s["SR_EQMASK"] = bit
        s["SR_LTMASK"] = bit - np.uint32(1)
        s["SR_LEMASK"] = bit | (bit - np.uint32(1))
        s["SR_GEMASK"] = ~(bit - np.uint32(1))
        s["SR_GTMASK"] = ~(bit | (bit - np.uint32(1)))
        s["SR_CgaCtaId"] = (block_of % ranks).astype(U32)
        one = {
            "SR_SWINHI": SHARED_WINDOW >> 32,
            "SR_LMEMHIOFF": STACK_TOP - self.stack,
            "SR_SMEMSZ": self.shared_bytes,
            "SR_VIRTUALSMID": 0,
            "SR_VIRTCFG": 64,
            "SR_CgaSize": 0,
            "SR_ORDERING_TICKET": 0,
        }
        for key, value in one.items():
            s[key] = np.full(1, value, U32)

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
            bx, by, _ = self.block
            who = (i % bx, i // bx % by, i // (bx * by))
        return f.error(f.message, self.name, plan.address, plan.text(), where, who)


def load(cubin: bytes | str | Path) -> Image:
    """Loads a cubin from bytes or from a file; LoadError if it cannot be simulated."""
    if isinstance(cubin, bytes):
        return Image(cubin)
    try:
        data = Path(cubin).read_bytes()
    except OSError as e:
        raise LoadError(f"{cubin}: {e.strerror}") from None
    return Image(data)
