"""Loads a cubin and launches its kernels."""

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import Any, ClassVar, Final

import numpy as np
import numpy.typing as npt

from orias.progress import Bar
from orias.sim.core import parallel_blocks
from orias.sim.core.banked_memory import Arena
from orias.sim.core.device_launches import DeviceLaunch
from orias.sim.core.engine import Timing
from orias.sim.core.launch import Launch, Options, Result, Shape
from orias.sim.core.launch_arguments import Arguments, Dim, checked_size, triple
from orias.sim.core.loaded_cubin import LoadedCubin
from orias.sim.core.parallel_blocks import run_alone_first, run_apart, run_in_processes, why_together
from orias.sim.core.sim_errors import ArgumentError, LoadError
from orias.sim.core.state import POISON, Machine
from orias.sim.texture.sampler import Sampler
from orias.sim.texture.surface_object import Surface
from orias.sim.texture.texture_object import Texture

Arr = npt.NDArray[Any]

DEFAULT_STEPS: Final = 20_000_000

"""Blocks of a grid (CUDA C++ Programming Guide, table of compute capabilities)."""
_MOST_SHARED: Final = 256 << 10
"""Bytes of shared memory of an SM with the most of it: no launch has more."""


class Image(LoadedCubin):
    """A loaded cubin.  Module variables keep their values between launches."""

    launch_type: ClassVar[type[Launch]] = Launch

    def bind(self, name: str, thing: Texture | Surface | Sampler) -> None:
        """Binds an object to the reference (``.texref``, ``.surfref``, ``.samplerref``) of this name, for later launches."""
        self.arena.bindings[name] = self.arena.handle(thing)

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
        resident: int = 0,
        timing: Callable[[Machine], Timing | None] | None = None,
        fill: int = POISON,
        tolerant: bool = False,
        schedule: int = 0,
        late: bool = False,
        cores: int = 1,
        executor: Executor | None = None,
        progress: bool = False,
        patience: float = 0.0,
        stack: int = 0,
        depth: int = 0,
        launched: Callable[[DeviceLaunch], None] | None = None,
    ) -> Result:
        """Runs a kernel, and the kernels that it launches.

        `grid`, `block`, `cluster`: sizes in one to three dimensions (blocks, threads, blocks); without `cluster`, the
        kernel's own cluster.  `args`: one per parameter.  Numpy arrays are copied to device memory and back (read-only
        arrays only to it); scalars are converted to the parameter's size (Python floats by the size: 2 bytes f16, 4
        f32, 8 f64); bytes are copied unchanged.  `shared`: dynamic shared memory in bytes.  `max_steps`: engine steps
        before :class:`StepLimit`.  `on_batch` is called with the machine after each batch of blocks.  `mufu_error`:
        units in the last place that are added to results of MUFU, to test code that depends on them (the hardware is
        off by 1 or so).  `hazards`: ``stop`` or ``stale`` for a time-aware run, in which results appear only when the
        control words guarantee them.  ``stop`` ends at the first read that is too early; ``stale`` continues with the
        old value and lists all of them.  `resident`: clusters (or blocks) that run at a time, 0 for as many as fit; the work
        of others can be taken by ``clusterlaunchcontrol.try_cancel``.  Where it is the whole grid, all blocks run together.  `timing`: makes, for the machine of each batch of blocks, the
        callbacks around its instructions (None for none).  `fill`: the value of registers before they are written; its low byte fills shared and
        local memory (0xcd with the default, a pattern that stands out).  `tolerant`: threads go on at WARPSYNC where the others
        of their mask wait for ever at another instruction, instead of a :class:`Deadlock`, and shared memory ends at a
        multiple of 128 bytes, as on devices.  `schedule`: a seed by which warps and divergent paths take turns, 0 for the usual
        order.  `late`: asynchronous operations (products, copies, tensor memory) are done only when something waits for them.
        `cores`: processes among which the blocks of a large launch are divided, or with
        `executor` (of ``concurrent.futures``, of this or other machines) the number of parts that it gets.  Blocks then do not see
        each other's stores; code that could wait for them or count them (atomics, fences, volatile accesses on global memory, ...)
        runs in one process, and ``Result.together`` says why.  `patience`: if not 0, the launch begins in one process, whatever its size, and is
        divided once the rest will take this many seconds or longer.  `progress`: draws a progress bar on standard error, if that is a terminal, where
        the launch takes longer than two seconds.  `stack`: bytes of local memory that a thread has at least, as
        the driver's limit of the stack; 0 for 1024, or 16384 where nobody knows the depth of calls.  What the kernel is known to need it has
        in any case.  `launched`: is called with each launch by the kernel once its grid has ended, in order; without it they
        are run here, with the same options, and their text, instructions and steps are part of the result.  `depth`: launches that led to this one.
        Raises a subclass of :class:`SimError`.
        """
        if hazards not in ("", "stop", "stale"):
            raise ArgumentError(f"hazards={hazards!r}: 'stop' or 'stale'")
        k = self.kernels.get(name)
        if k is None:
            raise ArgumentError(f"there is no kernel {name}; there are: {', '.join(sorted(self.kernels)) or 'none'}")
        g, b = checked_size(grid, block)
        c = triple(cluster if cluster is not None else k.cluster_dim if any(k.cluster_dim) else 1)
        if not 0 <= shared <= _MOST_SHARED:
            raise ArgumentError(f"{shared} bytes of dynamic shared memory, at most {_MOST_SHARED}")
        if any(k.reqntid) and tuple(k.reqntid) != b:
            raise ArgumentError(f"the kernel demands blocks of {tuple(k.reqntid)} threads", name)
        if any(k.maxntid) and b[0] * b[1] * b[2] > k.maxntid[0] * k.maxntid[1] * k.maxntid[2]:
            raise ArgumentError(f"the kernel allows at most {tuple(k.maxntid)} threads in a block", name)
        if any(x % y for x, y in zip(g, c, strict=True)):
            raise ArgumentError("the grid is not a multiple of the cluster")
        slots = [(p.offset, p.size) for p in sorted(k.params, key=lambda p: p.ordinal)]
        arguments = Arguments(self.arena, name, slots, k.param_bytes, args)
        if stack < 0:
            raise ArgumentError(f"{stack} bytes of stack")
        options = Options(
            max_steps, on_batch, mufu_error, hazards, resident, timing, fill, tolerant, schedule, late, stack
        )
        launch = self.launch_type(self, k, arguments.params, Shape(g, b, c, shared), options)
        self.syscalls.output = []
        self.syscalls.launches.begin(depth)
        together = ""
        apart = cores > 1 or executor is not None
        if apart and not patience:
            together = self._together(launch, parallel_blocks.LARGE)
        bar = Bar(not progress)
        if bar.on:
            self.progress = lambda ended, threads: bar(ended, threads, f"threads of {name}")
        try:
            if together or not apart:
                with np.errstate(all="ignore"):
                    launch.run()
            elif executor is not None:
                run_apart(launch, executor, max(cores, 2))
            elif patience:
                together = run_alone_first(launch, cores, patience, lambda: self._together(launch, 0))
            else:
                run_in_processes(launch, cores)
        finally:
            if bar.on:
                bar.clear()
                self.progress = None
        result = Result("".join(self.syscalls.output), launch.instructions, launch.steps)
        result.hazards = launch.violations
        result.let_go = launch.let_go - 1
        result.together = together
        for child in self.syscalls.launches.take():
            if launched is not None:
                launched(child)
                continue
            r = self.launch(
                child.kernel, child.grid, child.block, child.arguments, child.shared,
                max_steps=max(max_steps - result.steps, 1), on_batch=on_batch, mufu_error=mufu_error, hazards=hazards, timing=timing,
                fill=fill, tolerant=tolerant, schedule=schedule, late=late, cores=cores, executor=executor, progress=progress,
                patience=patience, stack=stack, depth=depth + 1,
            )  # fmt: skip
            result.add(r)
        arguments.give_back()
        if type(self.arena) is Arena:
            self.arena.reuse()
        return result

    def _together(self, launch: Launch, threads: int) -> str:
        """Why the blocks of a launch run in one process; empty if they need not.

        `threads`: at least so many are worth processes, 0 for launches of which that is known otherwise.
        """
        g, b, o = launch.shape.grid, launch.shape.block, launch.options
        if g[0] * g[1] * g[2] * b[0] * b[1] * b[2] < threads:
            return f"fewer than {threads} threads"
        if o.on_batch is not None or o.timing is not None or o.hazards or o.resident or self.watch is not None:
            return "something looks at the blocks as they run"
        if type(self) is not Image:
            return "code that is not this image's own"
        if type(self.arena) is not Arena and threads:
            return "memory that is not this image's own"
        name = launch.name
        if name not in self._apart:
            self._apart[name] = why_together(self, name)
        return self._apart[name]


def load(cubin: bytes | str | Path) -> Image:
    """Loads a cubin from bytes or from a file; LoadError if the simulator does not support it."""
    if isinstance(cubin, bytes):
        return Image(cubin)
    try:
        data = Path(cubin).read_bytes()
    except OSError as e:
        raise LoadError(f"{cubin}: {e.strerror}") from None
    return Image(data)
