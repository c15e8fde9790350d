"""Initialisation, errors, entry points, devices and contexts."""

import ctypes
import sys
from typing import Final

from orias.driver import library
from orias.driver.driver_registry import call, get_string, put32, put64, put_string, u
from orias.driver.driver_state import MALLOC_HEAP, VERSION, Context, Driver
from orias.driver.results import NAMES, DriverError, text


@call("cuInit", needs="nothing")
def init(d: Driver, flags: int) -> None:
    """Initialise."""
    if flags:
        raise DriverError("INVALID_VALUE")
    if d.forked and d.initialised:
        raise DriverError("NOT_INITIALIZED", "initialised before the fork")
    d.forked = False
    d.initialised = True


@call("cuDriverGetVersion", needs="nothing")
def driver_version(d: Driver, place: int) -> None:
    """The CUDA version."""
    put32(place, VERSION)


@call("cuGetErrorName", needs="nothing")
def error_name(d: Driver, number: int, place: int) -> None:
    """The name of a result."""
    _error(d, "name", number, place, NAMES.get(number))


@call("cuGetErrorString", needs="nothing")
def error_string(d: Driver, number: int, place: int) -> None:
    """The words of a result."""
    _error(d, "text", number, place, text(number))


def _error(d: Driver, kind: str, number: int, place: int, value: str | None) -> None:
    if value is None:
        put64(place, 0)
        raise DriverError("INVALID_VALUE")
    buffer = d.keep.setdefault(f"{kind} {number}", ctypes.create_string_buffer(value.encode()))
    put64(place, ctypes.addressof(buffer))


def _variants() -> dict[str, list[tuple[int, str]]]:
    """(CUDA version, symbol) of every function by its name without version, ascending."""
    out: dict[str, list[tuple[int, str]]] = {}
    for f in library.functions():
        if f.of == f.symbol:
            name, _, tail = f.symbol.rpartition("_v")
            out.setdefault(name if tail.isdigit() and name else f.symbol, []).append((f.version, f.symbol))
    return {name: sorted(found) for name, found in out.items()}


_VARIANTS = _variants()
_OF_THREADS = {f.of: f.symbol for f in library.functions() if f.of != f.symbol}
"""Symbols of the forms for the default stream of the calling thread."""
PER_THREAD_FLAG = 2
"""CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, and the runtime's cudaEnablePerThreadDefaultStream."""


@call("cuGetProcAddress_v2", needs="nothing")
def proc_address(d: Driver, name: int, place: int, version: int, flags: int, status: int) -> None:
    """The address of a function in the form of a CUDA version, and for the stream 0 that the flags name."""
    wanted = get_string(name)
    found = [symbol for since, symbol in _VARIANTS.get(wanted, ()) if since <= version]
    put64(place, 0)
    if status:
        put32(status, 0 if found else 1 if wanted not in _VARIANTS else 2)
    if not found:
        raise DriverError("NOT_FOUND", wanted)
    symbol = found[-1]
    if flags & PER_THREAD_FLAG:
        symbol = _OF_THREADS.get(symbol, symbol)
    address = ctypes.cast(getattr(ctypes.CDLL(d.path), symbol), ctypes.c_void_p).value
    put64(place, address or 0)


@call("cuGetProcAddress", needs="nothing")
def proc_address_1(d: Driver, name: int, place: int, version: int, flags: int) -> None:
    """The same without status."""
    proc_address(d, name, place, version, flags, 0)


_TABLE_OF_RUNTIME: Final = "6bd5fb6c5bf4e74a8987d93912fd9df9"
"""The table that NVIDIA's CUDA runtime asks for once cuInit has succeeded (seen with 13.5)."""


@call("cuGetExportTable", needs="nothing")
def export_table(d: Driver, place: int, uuid: int) -> None:
    """Undocumented tables: none."""
    table = ctypes.string_at(uuid, 16).hex()
    if table == _TABLE_OF_RUNTIME and not d.told_of_runtime:
        d.told_of_runtime = True
        sys.stderr.write(
            "orias: this program, or a library of it, contains NVIDIA's CUDA runtime, which does not start here "
            "(docs/running.md, What is absent); for a program of your own: nvcc -cudart shared\n"
        )
    raise DriverError("NOT_FOUND", table)


# -- devices


@call("cuDeviceGetCount", needs="init")
def device_count(d: Driver, place: int) -> None:
    """One device."""
    put32(place, 1)


@call("cuDeviceGet", needs="init")
def device(d: Driver, place: int, ordinal: int) -> None:
    """Device 0."""
    _device(ordinal)
    put32(place, ordinal)


def _device(number: int) -> None:
    if number:
        raise DriverError("INVALID_DEVICE")


@call("cuDeviceGetName", needs="init")
def device_name(d: Driver, place: int, size: int, number: int) -> None:
    """Its name."""
    _device(number)
    put_string(place, size, d.device.name.encode())


@call("cuDeviceGetUuid", "cuDeviceGetUuid_v2", needs="init")
def device_uuid(d: Driver, place: int, number: int) -> None:
    """A UUID made from the device's name."""
    _device(number)
    ctypes.memmove(place, d.device.uuid, 16)


@call("cuDeviceTotalMem_v2", needs="init")
def device_memory(d: Driver, place: int, number: int) -> None:
    """Bytes of memory."""
    _device(number)
    put64(place, d.device.memory)


@call("cuDeviceGetAttribute", needs="init")
def device_attribute(d: Driver, place: int, attribute: int, number: int) -> None:
    """An attribute; unknown ones of later CUDA versions are 0."""
    _device(number)
    if not 0 < attribute < 200:
        raise DriverError("INVALID_VALUE", f"attribute {attribute}")
    put32(place, d.device.attributes.get(attribute, 0))


@call("cuDeviceComputeCapability", needs="init")
def compute_capability(d: Driver, major: int, minor: int, number: int) -> None:
    """Compute capability."""
    put32(major, d.device.sm // 10)
    put32(minor, d.device.sm % 10)


@call("cuDeviceGetPCIBusId", needs="init")
def bus_id(d: Driver, place: int, size: int, number: int) -> None:
    """The place of the device."""
    _device(number)
    put_string(place, size, b"0000:01:00.0")


@call("cuDeviceGetByPCIBusId", needs="init")
def by_bus_id(d: Driver, place: int, name: int) -> None:
    """The device at a place."""
    if get_string(name) not in ("0000:01:00.0", "01:00.0"):
        raise DriverError("INVALID_DEVICE")
    put32(place, 0)


@call("cuDeviceCanAccessPeer", needs="init")
def can_access_peer(d: Driver, place: int, one: int, other: int) -> None:
    """There is no peer."""
    put32(place, 0)


@call("cuDeviceGetDefaultMemPool", "cuDeviceGetMemPool", needs="init")
def default_pool(d: Driver, place: int, number: int) -> None:
    """The device's pool."""
    put64(place, d.current_pool)


@call("cuDeviceSetMemPool", needs="init")
def set_pool(d: Driver, number: int, pool: int) -> None:
    """Change the device's pool."""
    d.current_pool = pool


# -- contexts


@call("cuDevicePrimaryCtxRetain", needs="init")
def primary_retain(d: Driver, place: int, number: int) -> None:
    """Use the primary context."""
    _device(number)
    d.primary_uses += 1
    put64(place, d.retain())


@call("cuDevicePrimaryCtxRelease", "cuDevicePrimaryCtxRelease_v2", needs="init")
def primary_release(d: Driver, number: int) -> None:
    """End a use of the primary context; the last one ends the context."""
    _device(number)
    if not d.primary_uses:
        raise DriverError("INVALID_CONTEXT")
    d.primary_uses -= 1
    if not d.primary_uses:
        _end_primary(d)


@call("cuDevicePrimaryCtxReset", "cuDevicePrimaryCtxReset_v2", needs="init")
def primary_reset(d: Driver, number: int) -> None:
    """End the primary context."""
    _device(number)
    _end_primary(d)


def _end_primary(d: Driver) -> None:
    context = d.handles.get(d.primary)
    if isinstance(context, Context):
        # Threads that have it keep the handle; it is fresh when it is retained again.
        context.error = 0
        context.alive = False


@call("cuDevicePrimaryCtxGetState", needs="init")
def primary_state(d: Driver, number: int, flags: int, active: int) -> None:
    """Whether the primary context is in use."""
    _device(number)
    put32(flags, d.primary_flags)
    put32(active, int(d.primary_uses > 0))


@call("cuDevicePrimaryCtxSetFlags", "cuDevicePrimaryCtxSetFlags_v2", needs="init")
def primary_flags(d: Driver, number: int, flags: int) -> None:
    """Flags of the primary context."""
    d.primary_flags = flags


@call("cuCtxCreate", "cuCtxCreate_v2", needs="init")
def create(d: Driver, place: int, flags: int, number: int) -> None:
    """A context, current from now on."""
    _device(number)
    handle = d.new(Context(d.device, flags))
    d.stack.append(handle)
    put64(place, handle)


@call("cuCtxCreate_v3", needs="init")
def create_3(d: Driver, place: int, affinity: int, count: int, flags: int, number: int) -> None:
    """The same with affinities."""
    create(d, place, flags, number)


@call("cuCtxCreate_v4", needs="init")
def create_4(d: Driver, place: int, params: int, flags: int, number: int) -> None:
    """The same with parameters."""
    create(d, place, flags, number)


@call("cuCtxDestroy", "cuCtxDestroy_v2", needs="init")
def destroy(d: Driver, handle: int) -> None:
    """End a context."""
    d.get(handle, Context, "INVALID_CONTEXT").alive = False
    if handle != d.primary:
        del d.handles[handle]
    d.forget(handle)


@call("cuCtxGetCurrent", needs="init")
def get_current(d: Driver, place: int) -> None:
    """The current context."""
    put64(place, d.current)


@call("cuCtxSetCurrent", needs="init")
def set_current(d: Driver, handle: int) -> None:
    """Change the current context."""
    if handle:
        d.get(handle, Context, "INVALID_CONTEXT")
    d.set_current(handle)


@call("cuCtxPushCurrent", "cuCtxPushCurrent_v2", needs="init")
def push(d: Driver, handle: int) -> None:
    """Make a context current, above the one that is."""
    d.get(handle, Context, "INVALID_CONTEXT")
    d.stack.append(handle)


@call("cuCtxPopCurrent", "cuCtxPopCurrent_v2", needs="init")
def pop(d: Driver, place: int) -> None:
    """Return to the context before."""
    if not d.stack:
        raise DriverError("INVALID_CONTEXT")
    handle = d.stack.pop()
    if place:
        put64(place, handle)


@call("cuCtxGetDevice", needs="init")
def context_device(d: Driver, place: int) -> None:
    """The device of the current context."""
    d.context  # noqa: B018 - fails without a context
    put32(place, 0)


@call("cuCtxGetDevice_v2", needs="init")
def context_device_2(d: Driver, place: int, handle: int) -> None:
    """The device of a context."""
    if handle:
        d.get(handle, Context, "INVALID_CONTEXT")
    put32(place, 0)


@call("cuCtxGetFlags")
def context_flags(d: Driver, place: int) -> None:
    """Its flags."""
    put32(place, d.context.flags)


@call("cuCtxSetFlags")
def set_context_flags(d: Driver, flags: int) -> None:
    """Change its flags."""
    d.context.flags = flags


@call("cuCtxGetId", needs="init")
def context_id(d: Driver, handle: int, place: int) -> None:
    """A number of its own."""
    put64(place, handle or d.current)


@call("cuCtxGetApiVersion", needs="init")
def api_version(d: Driver, handle: int, place: int) -> None:
    """The version of its interface."""
    put32(place, 3020)


@call("cuCtxSynchronize", "cuCtxSynchronize_v2")
def synchronize(d: Driver, *handle: int) -> None:
    """All work is done; a kernel's failure shows here."""


@call("cuCtxGetLimit")
def get_limit(d: Driver, place: int, limit: int) -> None:
    """A limit."""
    if limit not in d.context.limits:
        raise DriverError("UNSUPPORTED_LIMIT")
    put64(place, d.context.limits[limit])


@call("cuCtxSetLimit")
def set_limit(d: Driver, limit: int, value: int) -> None:
    """Change a limit."""
    if limit not in d.context.limits:
        raise DriverError("UNSUPPORTED_LIMIT")
    d.context.limits[limit] = u(value)
    if limit == MALLOC_HEAP:
        d.arena.heap.resize(u(value))


@call("cuCtxGetCacheConfig", "cuCtxGetSharedMemConfig")
def cache_config(d: Driver, place: int) -> None:
    """No preference."""
    put32(place, 0)


@call("cuCtxSetCacheConfig", "cuCtxSetSharedMemConfig", "cuCtxResetPersistingL2Cache")
def set_cache_config(d: Driver, *values: int) -> None:
    """Preferences have no effect."""


@call("cuCtxGetStreamPriorityRange")
def priorities(d: Driver, least: int, greatest: int) -> None:
    """Stream priorities."""
    if least:
        put32(least, 0)
    if greatest:
        put32(greatest, -5)


@call("cuProfilerStart", "cuProfilerStop")
def profiler(d: Driver) -> None:
    """There is no profiler."""


@call("cuCtxEnablePeerAccess", "cuCtxDisablePeerAccess")
def peer(d: Driver, *values: int) -> None:
    """There is no peer."""
    raise DriverError("INVALID_DEVICE")


@call("cuStreamGetCtx")
def stream_context(d: Driver, stream: int, place: int) -> None:
    """The context of a stream."""
    d.stream(stream)
    put64(place, d.current)


@call("cuStreamGetDevice")
def stream_device(d: Driver, stream: int, place: int) -> None:
    """The device of a stream."""
    put32(place, 0)
