"""A PTX module ready to launch: data in device memory, kernels as programs."""

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from orias.ptx.ast import TYPE_BITS, Function, Module, SymInit, Var
from orias.sim.core.banked_memory import Arena, Banked
from orias.sim.core.engine import Engine
from orias.sim.core.image import DEFAULT_STEPS, Globals, Image, constant_bytes
from orias.sim.core.launch import DEFAULT_STACK, LOCAL_WINDOW, SHARED_WINDOW, STACK_TOP, Launch, Options, Result, Shape
from orias.sim.core.launch_arguments import Arguments, Dim, triple
from orias.sim.core.seeded_engine import SeededEngine
from orias.sim.core.sim_errors import ArgumentError
from orias.sim.core.state import Machine, unwritten_byte
from orias.sim.core.syscalls import Syscalls
from orias.sim.ptx.choice import CANONICAL, Choice
from orias.sim.ptx.machine import PtxMachine
from orias.sim.ptx.ptx_layout import align_of, place
from orias.sim.ptx.ptx_program import Program
from orias.sim.ptx.serial_engine import SerialEngine
from orias.sim.sass.exec_flow import CODE_BASE, SYSCALL_BASE
from orias.sim.texture.sampler import Sampler
from orias.sim.texture.surface_object import Surface
from orias.sim.texture.texture_object import Texture
from orias.target import features
from orias.target.descriptors import HANDLE_KINDS
from orias.target.profile import TARGETS, Target

Arr = npt.NDArray[Any]

_OTHER_CODE: Final = 0x10001000000
DEEP_STACK: Final = 16384
"""Bytes of local memory per thread where functions may be recursive."""


class PtxImage:
    """A typed module that can be launched as :class:`orias.sim.core.image.Image` is.

    `like`: a cubin of the same module.  The image takes the addresses of its variables, but not their data, so that
    memories can be compared.
    """

    def __init__(self, module: Module, arch: str, choice: Choice = CANONICAL, like: Image | None = None) -> None:
        self.module = module
        self.target: Target = TARGETS[arch]
        self.choice = choice
        self.arena = Arena(1 << 20)
        self.variables: dict[str, tuple[int, int]] = {}
        self.code_pointers: set[str] = set()
        """Variables that hold addresses of functions, which differ between images."""
        self.globals = Globals(self)
        self.syscalls = Syscalls(SYSCALL_BASE)
        self.watch: Callable[[Machine, int], None] | None = None
        self.kernels: dict[str, Function] = {f.name: f for f in module.functions if f.entry and f.body is not None}
        self.shape = Shape((1, 1, 1), (1, 1, 1), (1, 1, 1), 0)
        self.shared_bytes = 0
        self.shared_window = SHARED_WINDOW
        self.local_window = LOCAL_WINDOW
        self.code_base = CODE_BASE + (_OTHER_CODE if choice.other else 0)
        """Base of the addresses of functions, which PTX does not define."""
        self.const_base = 0
        self.const_size = 0
        self.param_base = 0
        self._address: dict[int, int] = {}
        self._shared: dict[str, tuple[dict[int, int], int]] = {}
        self._kernel = ""
        self._like: Image | None = like
        self._place(like)

    # -- data

    def _all_variables(self) -> list[Var]:
        out = list(self.module.variables)
        for f in self.module.functions:
            out.extend(v for v in f.variables if v.space in ("global", "const", "shared"))
        return out

    def _place(self, like: Image | None) -> None:
        if like is not None:
            self.arena.allocate_like(like.arena)
        constants = [v for v in self._all_variables() if v.space == "const" and v.type in TYPE_BITS]
        known = like.variables if like is not None else {}
        offsets, self.const_size = place(constants)
        if any(v.name in known for v in constants) and like is not None:
            self.const_base = like.section(".nv.constant3")
            end = 0
            for k, v in enumerate(constants):
                offsets[k] = known[v.name][0] - self.const_base if v.name in known else -1
                end = max(end, offsets[k] + v.size)
            self.const_size = end
        else:
            self.const_base = self.arena.allocate(constant_bytes(self.const_size), ".const")
        for v, o in zip(constants, offsets, strict=True):
            if o >= 0:
                self._address[id(v)] = o
                self.variables[v.name] = (self.const_base + o, v.size)
        for v in self._all_variables():
            if v.space != "global" or v.type not in TYPE_BITS:
                continue
            found = known.get(v.name)
            address = (
                found[0] if found is not None else self.arena.allocate(max(v.size, 1), v.name, max(align_of(v), 16))
            )
            self._address[id(v)] = address
            self.variables[v.name] = (address, v.size)
        for v in self._all_variables():
            if v.init is not None and id(v) in self._address:
                self.arena.write(self.variables[v.name][0], self._initial(v))
                if any(isinstance(x, SymInit) and isinstance(x.target, Function) for _, x in v.init):
                    self.code_pointers.add(v.name)

    def _initial(self, v: Var) -> bytes:
        data = bytearray(v.size)
        width = max(1, TYPE_BITS[v.type] // 8)
        for offset, value in v.init or []:
            number = value if isinstance(value, int) else self._symbol(value)
            data[offset : offset + width] = (number & (1 << 8 * width) - 1).to_bytes(width, "little")
        return bytes(data)

    def _symbol(self, value: SymInit) -> int:
        if isinstance(value.target, Function):
            functions = [f for f in self.module.functions if f.body is not None and not f.entry]
            names = [f.name for f in functions]
            return self.code_base + 16 * (names.index(value.target.name) + 1) + value.addend
        address = self._address.get(id(value.target), 0) + value.addend
        if value.target.space == "const" and value.generic:
            address += self.const_base
        if value.mask:
            shift = (value.mask & -value.mask).bit_length() - 1
            address = (address & value.mask) >> shift
        return address

    def address(self, v: Var) -> int:
        """The address of a module variable in its space, for the kernel that is compiled or run now."""
        if v.type in HANDLE_KINDS:
            # The value of a reference is its handle.
            return HANDLE_KINDS[v.type] << 32 | self.arena.bindings.get(v.name, 0)
        if v.space == "shared":
            return self._shared_layout(self._kernel)[0][id(v)]
        return self._address[id(v)]

    def _shared_layout(self, kernel: str) -> tuple[dict[int, int], int]:
        """Offsets of shared variables by id, and their static bytes; variables without a size begin after the others."""
        known = self._shared.get(kernel)
        if known is None:
            # A kernel does not see the variables of other kernels.
            other = [f for f in self.module.functions if f.entry and f.name != kernel]
            hidden = {id(v) for f in other for v in f.variables}
            variables = [v for v in self._all_variables() if v.space == "shared" and id(v) not in hidden]
            sized = [v for v in variables if v.size]
            offsets, top = place(sized, self.target.number("system_shared"))
            told = self._like.shared_variables(kernel) if self._like is not None else {}
            if sized and all(v.name in told for v in sized):
                # The cubin may have another order.
                offsets = [told[v.name] for v in sized]
                top = max(told[v.name] + v.size for v in sized)
            where = {id(v): o for v, o in zip(sized, offsets, strict=True)}
            dynamic = [v for v in variables if not v.size]
            a = max([align_of(v) for v in dynamic], default=1)
            # A cubin's place may be after the variables of other kernels; it is 0 if nothing uses the memory.
            start = max([-(-top // a) * a, *[told.get(v.name, 0) for v in dynamic]])
            where.update({id(v): start for v in dynamic})
            known = (where, start if dynamic else top)
            self._shared[kernel] = known
        return known

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
        resident: int = 0,
    ) -> Result:
        """Runs a kernel; arguments and errors are those of :meth:`orias.sim.core.image.Image.launch`."""
        k = self.kernels.get(name)
        if k is None:
            raise ArgumentError(f"there is no kernel {name}; there are: {', '.join(sorted(self.kernels)) or 'none'}")
        self._kernel = name
        c = k.directives.get("reqnctapercluster")
        size = triple(cluster if cluster is not None else (c or 1))
        g, b = triple(grid), triple(block)
        offsets, top = place(k.params)
        # A reference among the parameters is bound by its name, as in machine code, where it takes no bytes.
        slots = [(o, 0 if p.type in HANDLE_KINDS else p.size) for p, o in zip(k.params, offsets, strict=True)]
        arguments = Arguments(self.arena, name, slots, top, args)
        launch = _PtxLaunch(
            self, k, arguments.params, Shape(g, b, size, shared), Options(max_steps, on_batch, resident=resident)
        )
        self.syscalls.output = []
        with np.errstate(all="ignore"):
            launch.run()
        arguments.give_back()
        return Result("".join(self.syscalls.output), launch.instructions, launch.steps)

    def bind(self, name: str, thing: Texture | Surface | Sampler) -> None:
        """As :meth:`orias.sim.core.image.Image.bind`."""
        self.arena.bindings[name] = self.arena.handle(thing)

    def static_shared(self, kernel: str) -> int:
        """Bytes of shared memory that the module's variables need."""
        return self._shared_layout(kernel)[1]


class _PtxLaunch(Launch):
    """One launch."""

    def __init__(self, image: PtxImage, kernel: Function, params: bytes, shape: Shape, options: Options) -> None:
        self.module = image
        self.shape = shape
        self.options = options
        self.instructions = 0
        self.steps = 0
        self.ended = 0
        self.name = kernel.name
        image.param_base = image.arena.allocate(max(len(params), 1), "parameters")
        image.arena.write(image.param_base, params)
        self._own_params = image.param_base
        self.shared_bytes = image.static_shared(kernel.name) + shape.dynamic
        image.shape = shape
        image.shared_bytes = self.shared_bytes
        self.program = Program(image, kernel)
        frames = sum(u.frame_size for u in self.program.units)
        deep = any(u.recursive for u in self.program.units)
        self.stack = max(DEFAULT_STACK, frames + 256 + self.program.frame_align) + (DEEP_STACK if deep else 0)

    @property
    def register_count(self) -> int:
        return self.program.words + 32

    def run(self) -> None:
        """Runs all blocks in batches."""
        try:
            super().run()
        finally:
            self.module.arena.release(self._own_params)

    def _batch(self, blocks: Arr, padded: int, size: int, ranks: int) -> None:
        image, p = self.module, self.program
        n = len(blocks)
        threads = n * padded
        layout = self._layout(n, padded, size, ranks)
        fill = unwritten_byte(image.choice.poison)
        shared = Banked(n, max(self.shared_bytes, 16), 0, "shared", fill)
        shared.size = self.shared_bytes
        local = Banked(threads, self.stack, STACK_TOP - self.stack, "local", fill, lazy=True)
        m = PtxMachine(
            threads, p.words, p.preds, layout.present, layout.block_of, image.arena, shared, local, image.choice
        )
        m.has_clusters = image.target.has(features.CLUSTERS)
        m.hardware_barriers = image.target.has(features.HARDWARE_BARRIERS)
        m.cluster_size = ranks
        m.window_shared = SHARED_WINDOW
        m.window_local = LOCAL_WINDOW
        m.syscalls = image.syscalls
        m.next_work = self.next_work
        m.watch = image.watch
        m.frame[:] = (STACK_TOP & -p.frame_align) - p.units[0].frame_size
        m.dynamic[:] = STACK_TOP - self.stack
        self._name(m, layout, blocks, padded)
        limit = self.options.max_steps * (threads if image.choice.serial else 1) - self.steps
        seed = image.choice.schedule
        if seed:
            engine: Engine = SeededEngine(m, p.plans, p.plan_at, limit * m.warps, n, seed)
        else:
            make = SerialEngine if image.choice.serial else Engine
            engine = make(m, p.plans, p.plan_at, limit, n)
        engine.entry = p.units[0].start
        self._run(engine, blocks, padded)
