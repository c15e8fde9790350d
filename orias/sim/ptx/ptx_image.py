"""A PTX module ready to launch: data in device memory, kernels as programs."""

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from orias.ptx.ast import Function
from orias.sim.core.banked_memory import Banked
from orias.sim.core.engine import Engine
from orias.sim.core.image import DEFAULT_STEPS
from orias.sim.core.launch import DEFAULT_STACK, LOCAL_WINDOW, SHARED_WINDOW, STACK_TOP, Launch, Options, Result, Shape
from orias.sim.core.launch_arguments import Arguments, Dim, checked_size, triple
from orias.sim.core.seeded_engine import SeededEngine
from orias.sim.core.sim_errors import ArgumentError
from orias.sim.core.state import Machine, unwritten_byte
from orias.sim.ptx.loaded_module import LoadedModule
from orias.sim.ptx.machine import PtxMachine
from orias.sim.ptx.ptx_layout import place
from orias.sim.ptx.ptx_program import compile_kernel
from orias.sim.ptx.serial_engine import SerialEngine
from orias.sim.texture.sampler import Sampler
from orias.sim.texture.surface_object import Surface
from orias.sim.texture.texture_object import Texture
from orias.target import features
from orias.target.descriptors import HANDLE_KINDS

Arr = npt.NDArray[Any]

DEEP_STACK: Final = 16384
"""Bytes of local memory per thread where functions may be recursive."""


class PtxImage(LoadedModule):
    """A typed module that can be launched as :class:`orias.sim.core.image.Image` is."""

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
        g, b = checked_size(grid, block)
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
        self.program = compile_kernel(image, kernel)
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
