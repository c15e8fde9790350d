"""Launches and occupancy."""

import ctypes
import os
import sys
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from orias.cubin.nvinfo import LANGUAGE_TILE
from orias.driver import graphs
from orias.driver.calls_module import attribute, max_threads, static_shared
from orias.driver.driver_registry import call, get32, get64, put32, put64, u
from orias.driver.driver_state import Driver
from orias.driver.host_memory import OutOfMemory
from orias.driver.library import PER_THREAD_STREAM
from orias.driver.modules import Function
from orias.driver.results import DriverError, of_launch
from orias.driver.timeline import LaunchRecord
from orias.perf.resident_blocks import occupancy
from orias.sim.core.device_launches import DeviceLaunch
from orias.sim.core.sim_errors import ArgumentError, SimError

_LIBC = ctypes.CDLL(None)
_STEPS = int(os.environ.get("ORIAS_MAX_STEPS", str(1 << 40)))
_CORES = int(os.environ.get("ORIAS_CORES") or len(os.sched_getaffinity(0)))
"""Processes among which the blocks of long launches are divided."""
_PATIENCE = 0.1
"""Seconds that the rest of a launch must take to be worth processes: to start one, and to take its changes over, takes
some 10 to 30 milliseconds."""
_KEEP_CONTEXT = bool(os.environ.get("ORIAS_KEEP_CONTEXT"))
_END, _BUFFER, _BUFFER_SIZE = 0, 1, 2
_COOPERATIVE, _CLUSTER = 2, 4
_ATTRIBUTE_BYTES = 72
_DYNAMIC_SHARED, _NON_PORTABLE = 8, 14
_PORTABLE_CLUSTER, _MAX_CLUSTER = 8, 16
Dim3 = tuple[int, int, int]


def _arguments(f: Function, params: int, extra: int) -> list[bytes]:
    """The bytes of each parameter."""
    slots = sorted(f.kernel.params, key=lambda p: int(p.ordinal))
    if extra:
        given: dict[int, int] = {}
        while (key := get64(extra)) != _END:
            given[key] = get64(extra + 8)
            extra += 16
        size = get64(given[_BUFFER_SIZE]) if _BUFFER_SIZE in given else 0
        data = ctypes.string_at(given[_BUFFER], size) if size else b""
        if slots and size < slots[-1].offset + slots[-1].size:
            raise DriverError("INVALID_VALUE", f"{size} bytes of parameters, the kernel has {f.kernel.param_bytes}")
        return [data[s.offset : s.offset + s.size] for s in slots]
    if slots and not params:
        raise DriverError("INVALID_VALUE", "no parameters")
    return [ctypes.string_at(get64(params + 8 * i), s.size) for i, s in enumerate(slots)]


def _check(d: Driver, f: Function, grid: Dim3, block: Dim3, shared: int, cluster: Dim3 | None) -> None:
    limits = d.device.attributes
    if min(*grid, *block) < 1 or any(grid[i] > limits[5 + i] or block[i] > limits[2 + i] for i in range(3)):
        raise DriverError("INVALID_VALUE", f"grid {grid}, block {block}")
    threads = block[0] * block[1] * block[2]
    if threads > limits[1]:
        raise DriverError("INVALID_VALUE", f"{threads} threads")
    if threads > max_threads(f):
        raise DriverError(
            "INVALID_VALUE" if any(f.kernel.maxntid) or any(f.kernel.reqntid) else "LAUNCH_OUT_OF_RESOURCES",
            f"{threads} threads, at most {max_threads(f)}",
        )
    if shared > attribute(f, _DYNAMIC_SHARED):
        raise DriverError("INVALID_VALUE", f"{shared} bytes of dynamic shared memory")
    if cluster is not None:
        size = cluster[0] * cluster[1] * cluster[2]
        most = _MAX_CLUSTER if f.attributes.get(_NON_PORTABLE) else _PORTABLE_CLUSTER
        if size > most or not limits[120] or any(g % c for g, c in zip(grid, cluster, strict=True)):
            raise DriverError("INVALID_CLUSTER_SIZE", f"cluster {cluster} of grid {grid}")


class Launch(NamedTuple):
    """A launch as it was asked for; ``arguments``: the bytes of each parameter."""

    kernel: int
    grid: Dim3
    block: Dim3
    shared: int
    arguments: list[bytes]
    cluster: Dim3 | None = None
    cooperative: bool = False


def _tiles(f: Function, grid: Dim3, block: Dim3) -> tuple[Dim3, Dim3]:
    """Grid and block of a kernel of CUDA Tile IR, whose launch has blocks of one thread."""
    k = f.kernel
    if k.param_bytes > max((p.offset + p.size for p in k.params), default=0):
        raise DriverError(
            "NOT_SUPPORTED", f"{f.name}: parameters that the driver makes with code of the cubin (tensor maps)"
        )
    if block != (1, 1, 1) or not any(k.reqntid):
        return grid, block
    # A block of tiles is a cluster: the code numbers them so.
    x, y, z = k.cluster_dim if any(k.cluster_dim) else block
    return (grid[0] * x, grid[1] * y, grid[2] * z), k.reqntid


def prepared(
    d: Driver,
    kernel: int,
    sizes: Sequence[int],
    params: int,
    extra: int,
    cluster: Dim3 | None = None,
    cooperative: bool = False,
) -> Launch:
    """A checked launch; `sizes`: grid, block and bytes of dynamic shared memory."""
    f = d.get(kernel, Function)
    g = u(sizes[0], 32), u(sizes[1], 32), u(sizes[2], 32)
    b = u(sizes[3], 32), u(sizes[4], 32), u(sizes[5], 32)
    shared = u(sizes[6], 32)
    if f.kernel.language == LANGUAGE_TILE:
        g, b = _tiles(f, g, b)
    _check(d, f, g, b, shared, cluster)
    if cooperative:
        fit = _blocks(f, b[0] * b[1] * b[2], shared) * d.device.attributes[16]
        if g[0] * g[1] * g[2] > fit:
            raise DriverError("COOPERATIVE_LAUNCH_TOO_LARGE", f"{g[0] * g[1] * g[2]} blocks, {fit} are resident")
    return Launch(kernel, g, b, shared, _arguments(f, params, extra), cluster, cooperative)


def run(d: Driver, launch: Launch) -> None:
    """Runs a kernel, and those that it launches; an error ends the context, unless it is to be kept."""
    f = d.get(launch.kernel, Function)
    resident = launch.grid[0] * launch.grid[1] * launch.grid[2] if launch.cooperative else 0
    waiting = [(f, launch, 0)]
    while waiting:
        f, launch, depth = waiting.pop()
        children = _run(d, f, launch, resident, depth)
        if children is None:
            return
        resident = 0
        # The grids that one launches are done before what comes after it.
        waiting += [
            (
                Function(f.module, f.module_handle, c.kernel),
                Launch(0, c.grid, c.block, c.shared, c.arguments),
                depth + 1,
            )
            for c in reversed(children)
        ]


def _run(d: Driver, f: Function, launch: Launch, resident: int, depth: int) -> list[DeviceLaunch] | None:
    """Runs one grid; returns what it launches, None after an error.  `depth`: launches by kernels that led to it."""
    context, g = d.context, launch.grid
    image, name, b = f.image, f.name, launch.block
    children: list[DeviceLaunch] = []
    sizes = g[0] * g[1] * g[2], b[0] * b[1] * b[2], launch.shared
    time = d.timeline.measure(image, f.module.codes, name, sizes)
    timing = None if time is None else time.start
    try:
        with d.arena.launch():
            given = name, g, b, launch.arguments, launch.shared, _STEPS, launch.cluster
            start = image.launch if d.sanitizer is None else partial(d.sanitizer.launch, image)
            result = start(
                *given, resident=resident, tolerant=not d.arena.exact, timing=timing, progress=True, cores=_CORES,
                patience=_PATIENCE, stack=context.stack, depth=depth, launched=children.append,
            )  # fmt: skip
        d.timeline.launched(d.device, LaunchRecord(name, g, b, result.instructions, 0), time)
        _print(result.output)
        return children
    except ArgumentError as e:
        raise DriverError("INVALID_VALUE", str(e)) from None
    except OutOfMemory as e:
        raise DriverError("LAUNCH_OUT_OF_RESOURCES", str(e)) from None
    except SimError as e:
        _print("".join(image.syscalls.output))
        if d.sanitizer is None:
            sys.stderr.write(f"orias: {e}\n")
        if not _KEEP_CONTEXT:
            context.error, context.reported = of_launch(e), False
    return None


def _submit(d: Driver, stream: int, launch: Launch) -> None:
    graphs.submit(d, stream, graphs.KERNEL, lambda: run(d, launch), launch)


def _print(text: str) -> None:
    """Writes what printf printed after what the program has printed so far."""
    if text:
        sys.stdout.flush()
        _LIBC.fflush(ctypes.c_void_p.in_dll(_LIBC, "stdout"))
        os.write(1, text.encode())


@call("cuLaunchKernel")
def launch(
    d: Driver, kernel: int, gx: int, gy: int, gz: int, bx: int, by: int, bz: int, shared: int, stream: int, params: int,
    extra: int,
) -> None:  # fmt: skip
    """Run a kernel."""
    _submit(d, stream, prepared(d, kernel, (gx, gy, gz, bx, by, bz, shared), params, extra))


@call("cuLaunchCooperativeKernel")
def launch_cooperative(
    d: Driver, kernel: int, gx: int, gy: int, gz: int, bx: int, by: int, bz: int, shared: int, stream: int, params: int
) -> None:
    """Run a kernel whose blocks are resident together."""
    _submit(d, stream, prepared(d, kernel, (gx, gy, gz, bx, by, bz, shared), params, 0, None, True))


@call("cuLaunchKernelEx")
def launch_ex(d: Driver, config: int, kernel: int, params: int, extra: int, default_stream: int = 0) -> None:
    """Run a kernel with attributes; those about scheduling have no effect.  `default_stream` is what the stream 0 stands for."""
    sizes = [get32(config + 4 * i) for i in range(7)]
    attributes, count = get64(config + 40), get32(config + 48)
    cluster: Dim3 | None = None
    cooperative = False
    for i in range(count):
        at = attributes + _ATTRIBUTE_BYTES * i
        kind = get32(at)
        if kind == _CLUSTER:
            cluster = get32(at + 8), get32(at + 12), get32(at + 16)
        elif kind == _COOPERATIVE:
            cooperative = bool(get32(at + 8))
    _submit(d, get64(config + 32) or default_stream, prepared(d, kernel, sizes, params, extra, cluster, cooperative))


@call("cuLaunchKernelEx_ptsz")
def launch_ex_of_thread(d: Driver, config: int, kernel: int, params: int, extra: int) -> None:
    """The same; the stream 0 is that of the calling thread."""
    launch_ex(d, config, kernel, params, extra, PER_THREAD_STREAM)


# -- occupancy


def _blocks(f: Function, threads: int, shared: int) -> int:
    """Blocks that an SM holds at a time."""
    return _resident(f, threads, shared) if 0 < threads <= max_threads(f) else 0


def _resident(f: Function, threads: int, shared: int) -> int:
    """The same for blocks of any size, whatever the kernel allows."""
    target = f.image.target
    total = static_shared(f) + shared + target.number("system_shared")
    return occupancy(target, f.kernel.num_regs, threads, total).blocks


@call("cuOccupancyMaxActiveBlocksPerMultiprocessor", "cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags")
def active_blocks(d: Driver, place: int, kernel: int, threads: int, shared: int, flags: int = 0) -> None:
    """Blocks that an SM holds."""
    if threads < 1:
        raise DriverError("INVALID_VALUE")
    put32(place, _blocks(d.get(kernel, Function), threads, u(shared)))


_SIZE_FUNCTION = ctypes.CFUNCTYPE(ctypes.c_size_t, ctypes.c_int)


@call("cuOccupancyMaxPotentialBlockSize", "cuOccupancyMaxPotentialBlockSizeWithFlags")
def potential_size(
    d: Driver, grid: int, block: int, kernel: int, of_size: int, shared: int, limit: int, flags: int = 0
) -> None:
    """The block with the most threads resident, the larger of equal ones, and the grid that fills the device."""
    f = d.get(kernel, Function)
    most = min(limit if limit > 0 else 1024, max_threads(f))
    dynamic = _SIZE_FUNCTION(of_size) if of_size else lambda threads: u(shared)
    best = (0, 0, 0)
    for threads in range(most, 0, -32):
        size = threads if threads == most else -(-threads // 32) * 32
        blocks = _blocks(f, size, dynamic(size))
        best = max(best, (blocks * size, size, blocks))
    put32(block, best[1])
    put32(grid, best[2] * d.device.attributes[16])


@call("cuOccupancyAvailableDynamicSMemPerBlock")
def available_shared(d: Driver, place: int, kernel: int, blocks: int, threads: int) -> None:
    """Dynamic shared memory with which an SM still holds so many blocks."""
    f = d.get(kernel, Function)
    each = d.device.attributes[81] // max(blocks, 1) - d.device.attributes[111] - static_shared(f)
    put64(place, max(0, min(each, d.device.attributes[97] - static_shared(f))) // 128 * 128)


@call("cuOccupancyMaxPotentialClusterSize")
def cluster_size(d: Driver, place: int, kernel: int, config: int) -> None:
    """The largest cluster."""
    f = d.get(kernel, Function)
    put32(place, _MAX_CLUSTER if f.attributes.get(_NON_PORTABLE) else _PORTABLE_CLUSTER)


@call("cuOccupancyMaxActiveClusters")
def active_clusters(d: Driver, place: int, kernel: int, config: int) -> None:
    """Clusters that the device holds.

    CUTLASS's Python DSL asks for blocks of 128 threads of a kernel that allows one, and launches what it is told.
    """
    f = d.get(kernel, Function)
    sizes = [get32(config + 4 * i) for i in range(7)]
    attributes, count = get64(config + 40), get32(config + 48)
    cluster = 1
    for i in range(count):
        at = attributes + _ATTRIBUTE_BYTES * i
        if get32(at) == _CLUSTER:
            cluster = get32(at + 8) * get32(at + 12) * get32(at + 16)
    blocks = _resident(f, sizes[3] * sizes[4] * sizes[5], sizes[6]) * d.device.attributes[16]
    put32(place, blocks // max(cluster, 1))
