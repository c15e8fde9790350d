"""The CUDA runtime's modules, kernels and launches.

Code that nvcc compiled registers its fat binaries, kernels and variables by the addresses of their host counterparts
before ``main``; a fat binary is loaded when something of it is used first.
"""

import ctypes
import threading
from typing import Final, NamedTuple

from orias.driver import calls_launch, calls_module
from orias.driver.driver_registry import call, get32, get_string, put32, put64, u
from orias.driver.driver_state import Driver
from orias.driver.library import PER_THREAD_STREAM
from orias.driver.modules import Function, Module
from orias.driver.results import DriverError
from orias.driver.runtime_calls import (
    INVALID_CONFIGURATION,
    INVALID_FUNCTION,
    INVALID_SYMBOL,
    RuntimeFailure,
    last_error,
)

_ATTRIBUTES: Final = 104
"""Bytes of cudaFuncAttributes up to its reserved part."""


class Named(NamedTuple):
    """What a host address stands for: a name in a registered fat binary."""

    binary: int
    name: str


class Registered:
    """What the program's start-up code registered, by host address."""

    def __init__(self) -> None:
        self.images: dict[int, int] = {}
        """The place of each fat binary, by handle."""
        self.kernels: dict[int, Named] = {}
        self.variables: dict[int, Named] = {}
        self.managed: dict[int, Named] = {}
        """Managed variables, by the place of the host's pointer to them."""
        self.configurations: dict[int, list[tuple[int, ...]]] = {}
        """Grid, block, shared bytes and stream of launches that were announced, by thread."""


def registered(d: Driver) -> Registered:
    """The state of this process."""
    state: Registered = d.keep.setdefault("registered", Registered())
    return state


# -- registration


@call("__cudaRegisterFatBinary", needs="nothing")
def register_binary(d: Driver, place: int, image: int) -> None:
    """A fat binary; the handle is the place of a pointer."""
    cell = ctypes.c_uint64(image)
    handle = ctypes.addressof(cell)
    d.keep[f"binary {handle}"] = cell
    registered(d).images[handle] = image
    put64(place, handle)


@call("__cudaRegisterFatBinaryEnd", needs="nothing")
def register_end(d: Driver, binary: int) -> None:
    """All of a fat binary is registered."""


@call("__cudaUnregisterFatBinary", needs="nothing")
def unregister(d: Driver, binary: int) -> None:
    """The program ends."""
    registered(d).images.pop(binary, None)


@call("__cudaRegisterFunction", needs="nothing")
def register_function(d: Driver, binary: int, host: int, device: int, name: int, *limits: int) -> None:
    """A kernel."""
    registered(d).kernels[host] = Named(binary, get_string(name))


@call("__cudaRegisterVar", needs="nothing")
def register_variable(d: Driver, binary: int, host: int, address: int, name: int, *more: int) -> None:
    """A variable."""
    registered(d).variables[host] = Named(binary, get_string(name))


@call("__cudaRegisterManagedVar", needs="nothing")
def register_managed(d: Driver, binary: int, host: int, address: int, name: int, *more: int) -> None:
    """A managed variable; the program reads its address at `host`."""
    registered(d).managed[host] = Named(binary, get_string(name))


@call("__cudaInitModule", needs="runtime")
def init_module(d: Driver, binary: int) -> int:
    """Load a fat binary, so that its managed variables have addresses; true."""
    if any(n.binary == binary for n in registered(d).managed.values()):
        _module(d, binary)
    return 1


def _modules(d: Driver) -> dict[int, int]:
    modules: dict[int, int] = d.keep.setdefault("runtime modules", {})
    return modules


def _module(d: Driver, binary: int) -> Module:
    """The module of a fat binary, loaded at the first call."""
    modules, state = _modules(d), registered(d)
    if binary not in modules:
        place = ctypes.c_uint64()
        calls_module.load_data(d, ctypes.addressof(place), state.images[binary])
        modules[binary] = place.value
        found: Module = d.get(place.value, Module)
        for host, named in state.managed.items():
            if named.binary == binary and named.name in found.image.variables:
                put64(host, found.image.variables[named.name][0])
    module: Module = d.get(modules[binary], Module)
    return module


def kernel(d: Driver, host: int) -> int:
    """The handle of the kernel that a host address stands for; handles are taken, too."""
    if isinstance(d.handles.get(host), Function):
        return host
    if not host:
        # The handle that a failed look-up left: its error is the launch's.
        raise RuntimeFailure(last_error(d) or INVALID_FUNCTION, "no kernel")
    named = registered(d).kernels.get(host)
    if named is None:
        raise RuntimeFailure(INVALID_FUNCTION, f"0x{u(host):x} is no kernel")
    _module(d, named.binary)
    try:
        return calls_module.function(d, _modules(d)[named.binary], named.name)
    except DriverError as e:
        raise RuntimeFailure(INVALID_FUNCTION, str(e)) from None


def variable(d: Driver, host: int) -> tuple[int, int]:
    """Address and size of the variable that a host address stands for."""
    state = registered(d)
    named = state.variables.get(host)
    if named is None:
        # A managed variable is known by its own address.
        for named in state.managed.values():
            found = _module(d, named.binary).image.variables.get(named.name)
            if found and found[0] == u(host):
                return found
        raise RuntimeFailure(INVALID_SYMBOL, f"0x{u(host):x} is no variable")
    found = _module(d, named.binary).image.variables.get(named.name)
    if found is None:
        raise RuntimeFailure(INVALID_SYMBOL, named.name)
    return found


@call("cudaGetSymbolAddress", needs="runtime")
def symbol_address(d: Driver, place: int, host: int) -> None:
    """The address of a variable."""
    put64(place, variable(d, host)[0])


@call("cudaGetSymbolSize", needs="runtime")
def symbol_size(d: Driver, place: int, host: int) -> None:
    """The size of a variable."""
    put64(place, variable(d, host)[1])


# -- launches


@call("__cudaPushCallConfiguration", needs="nothing")
def push(d: Driver, gx: int, gy: int, gz: int, bx: int, by: int, bz: int, shared: int, stream: int) -> None:
    """Announce a launch."""
    stacks = registered(d).configurations
    stacks.setdefault(threading.get_ident(), []).append((gx, gy, gz, bx, by, bz, shared, stream))


@call("__cudaPopCallConfiguration", needs="nothing")
def pop(d: Driver, grid: int, block: int, shared: int, stream: int) -> None:
    """What was announced last."""
    stack = registered(d).configurations.get(threading.get_ident())
    if not stack:
        raise RuntimeFailure(INVALID_CONFIGURATION, "no launch was announced")
    values = stack.pop()
    for i in range(3):
        put32(grid + 4 * i, values[i])
        put32(block + 4 * i, values[3 + i])
    put64(shared, values[6])
    put64(stream, values[7])


def _check(d: Driver, sizes: tuple[int, ...]) -> None:
    limits = d.device.attributes
    grid, block = [u(v, 32) for v in sizes[:3]], [u(v, 32) for v in sizes[3:]]
    most_blocks, most_threads = [limits[5 + i] for i in range(3)], [limits[2 + i] for i in range(3)]
    fits = all(0 < g <= m for g, m in zip(grid + block, most_blocks + most_threads, strict=True))
    if not fits or block[0] * block[1] * block[2] > limits[1]:
        raise RuntimeFailure(INVALID_CONFIGURATION, f"grid {grid}, block {block}")


@call("cudaLaunchKernel", "__cudaLaunchKernel", needs="runtime")
def launch(
    d: Driver, host: int, gx: int, gy: int, gz: int, bx: int, by: int, bz: int, params: int, shared: int, stream: int
) -> None:
    """Run a kernel."""
    _check(d, (gx, gy, gz, bx, by, bz))
    calls_launch.launch(d, kernel(d, host), gx, gy, gz, bx, by, bz, shared, stream, params, 0)


@call("cudaLaunchCooperativeKernel", needs="runtime")
def launch_cooperative(
    d: Driver, host: int, gx: int, gy: int, gz: int, bx: int, by: int, bz: int, params: int, shared: int, stream: int
) -> None:
    """Run a kernel whose blocks are resident together."""
    _check(d, (gx, gy, gz, bx, by, bz))
    calls_launch.launch_cooperative(d, kernel(d, host), gx, gy, gz, bx, by, bz, shared, stream, params)


@call("cudaLaunchKernelExC", needs="runtime")
def launch_ex(d: Driver, config: int, host: int, params: int, default_stream: int = 0) -> None:
    """Run a kernel with attributes; the structure has the driver's form.  `default_stream` is what the stream 0 stands for."""
    _check(d, tuple(get32(config + 4 * i) for i in range(6)))
    calls_launch.launch_ex(d, config, kernel(d, host), params, 0, default_stream)


@call("cudaLaunchKernelExC_ptsz", needs="runtime")
def launch_ex_of_thread(d: Driver, config: int, host: int, params: int) -> None:
    """The same; the stream 0 is that of the calling thread."""
    launch_ex(d, config, host, params, PER_THREAD_STREAM)


# -- kernels


@call("__cudaGetKernel", "cudaGetKernel", "cudaGetFuncBySymbol", needs="runtime")
def get_kernel(d: Driver, place: int, host: int) -> None:
    """The handle of a kernel."""
    put64(place, kernel(d, host))


@call("cudaFuncGetName", needs="runtime")
def name(d: Driver, place: int, host: int) -> None:
    """The name of a kernel."""
    calls_module.kernel_name(d, place, kernel(d, host))


@call("cudaFuncGetParamInfo", needs="runtime")
def param_info(d: Driver, host: int, index: int, offset: int, size: int) -> None:
    """Offset and size of a parameter."""
    calls_module.param_info(d, kernel(d, host), index, offset, size)


@call("cudaFuncGetAttributes", needs="runtime")
def get_attributes(d: Driver, place: int, host: int) -> None:
    """All attributes of a kernel (cudaFuncAttributes)."""
    f = d.get(kernel(d, host), Function)
    ctypes.memset(place, 0, _ATTRIBUTES)
    for i, number in enumerate((1, 2, 3)):
        put64(place + 8 * i, calls_module.attribute(f, number))
    for i, number in enumerate((0, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 15, 14)):
        put32(place + 24 + 4 * i, calls_module.attribute(f, number))


@call("cudaFuncSetAttribute", needs="runtime")
def set_attribute(d: Driver, host: int, number: int, value: int) -> None:
    """Change an attribute; the numbers are the driver's."""
    calls_module.set_attribute(d, kernel(d, host), number, value)


@call("cudaKernelSetAttributeForDevice", needs="runtime")
def set_kernel_attribute(d: Driver, host: int, number: int, value: int, device: int) -> None:
    """The same for a device, of which there is one."""
    set_attribute(d, host, number, value)


@call("cudaFuncSetCacheConfig", "cudaFuncSetSharedMemConfig", needs="runtime")
def preference(d: Driver, host: int, value: int) -> None:
    """Preferences have no effect."""
    kernel(d, host)


# -- occupancy


@call(
    "cudaOccupancyMaxActiveBlocksPerMultiprocessor",
    "cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags",
    needs="runtime",
)
def active_blocks(d: Driver, place: int, host: int, threads: int, shared: int, flags: int = 0) -> None:
    """Blocks that an SM holds."""
    calls_launch.active_blocks(d, place, kernel(d, host), threads, shared)


@call("cudaOccupancyAvailableDynamicSMemPerBlock", needs="runtime")
def available_shared(d: Driver, place: int, host: int, blocks: int, threads: int) -> None:
    """Dynamic shared memory with which an SM still holds so many blocks."""
    calls_launch.available_shared(d, place, kernel(d, host), blocks, threads)


@call("cudaOccupancyMaxPotentialClusterSize", needs="runtime")
def cluster_size(d: Driver, place: int, host: int, config: int) -> None:
    """The largest cluster."""
    calls_launch.cluster_size(d, place, kernel(d, host), config)


@call("cudaOccupancyMaxActiveClusters", needs="runtime")
def active_clusters(d: Driver, place: int, host: int, config: int) -> None:
    """Clusters that the device holds."""
    calls_launch.active_clusters(d, place, kernel(d, host), config)


# -- libraries


@call("cudaLibraryLoadData", needs="runtime")
def library_load(d: Driver, place: int, code: int, *options: int) -> None:
    """Load an image."""
    calls_module.library_load(d, place, code, *options)


@call("cudaLibraryLoadFromFile", needs="runtime")
def library_load_file(d: Driver, place: int, path: int, *options: int) -> None:
    """Load an image from a file."""
    calls_module.library_load_file(d, place, path, *options)


@call("cudaLibraryUnload", needs="runtime")
def library_unload(d: Driver, library: int) -> None:
    """End a library."""
    calls_module.library_unload(d, library)


@call("cudaLibraryGetKernel", needs="runtime")
def library_kernel(d: Driver, place: int, library: int, text: int) -> None:
    """A kernel by name."""
    calls_module.get_kernel(d, place, library, text)


@call("cudaLibraryGetGlobal", "cudaLibraryGetManaged", needs="runtime")
def library_global(d: Driver, place: int, size: int, library: int, text: int) -> None:
    """A variable by name."""
    calls_module.get_global(d, place, size, library, text)


@call("cudaLibraryGetKernelCount", needs="runtime")
def library_count(d: Driver, place: int, library: int) -> None:
    """How many kernels there are."""
    calls_module.function_count(d, place, library)


@call("cudaLibraryEnumerateKernels", needs="runtime")
def library_kernels(d: Driver, place: int, count: int, library: int) -> None:
    """All kernels."""
    calls_module.enumerate_functions(d, place, count, library)
