"""The CUDA runtime on the driver's functions: errors, the device, and what is the driver's under another name.

Programs that link ``libcudart.so.12`` or ``.13`` get these functions.  NVIDIA's own runtime does not start on this driver: it
asks the driver to prove that it is NVIDIA's.
"""

import ctypes
import threading
from typing import Final

from orias.driver import calls_device, calls_interprocess, calls_memory, calls_stream
from orias.driver.driver_registry import HANDLERS, Handler, call, get32, put32, put64
from orias.driver.driver_state import VERSION, Context, Driver
from orias.driver.library import DATA
from orias.driver.results import DriverError

_DIRECT: Final = {
    "cudaDriverGetVersion": "cuDriverGetVersion",
    "cudaGetDeviceCount": "cuDeviceGetCount",
    "cudaDeviceGetAttribute": "cuDeviceGetAttribute",
    "cudaDeviceGetByPCIBusId": "cuDeviceGetByPCIBusId",
    "cudaDeviceCanAccessPeer": "cuDeviceCanAccessPeer",
    "cudaDeviceGetDefaultMemPool": "cuDeviceGetDefaultMemPool",
    "cudaDeviceGetMemPool": "cuDeviceGetMemPool",
    "cudaDeviceSetMemPool": "cuDeviceSetMemPool",
    "cudaDeviceSynchronize": "cuCtxSynchronize",
    "cudaThreadSynchronize": "cuCtxSynchronize",
    "cudaDeviceGetLimit": "cuCtxGetLimit",
    "cudaDeviceSetLimit": "cuCtxSetLimit",
    "cudaDeviceGetCacheConfig": "cuCtxGetCacheConfig",
    "cudaDeviceSetCacheConfig": "cuCtxSetCacheConfig",
    "cudaDeviceGetSharedMemConfig": "cuCtxGetSharedMemConfig",
    "cudaDeviceSetSharedMemConfig": "cuCtxSetSharedMemConfig",
    "cudaDeviceGetStreamPriorityRange": "cuCtxGetStreamPriorityRange",
    "cudaCtxResetPersistingL2Cache": "cuCtxResetPersistingL2Cache",
    "cudaMemGetInfo": "cuMemGetInfo_v2",
    "cudaMallocAsync": "cuMemAllocAsync",
    "cudaMallocFromPoolAsync": "cuMemAllocFromPoolAsync",
    "cudaFree": "cuMemFree_v2",
    "cudaFreeHost": "cuMemFreeHost",
    "cudaFreeAsync": "cuMemFreeAsync",
    "cudaHostRegister": "cuMemHostRegister_v2",
    "cudaHostUnregister": "cuMemHostUnregister",
    "cudaHostGetDevicePointer": "cuMemHostGetDevicePointer_v2",
    "cudaHostGetFlags": "cuMemHostGetFlags",
    "cudaMemPrefetchAsync": "cuMemPrefetchAsync",
    "cudaMemPrefetchAsync@12": "cuMemPrefetchAsync",
    "cudaMemPrefetchAsync_v2": "cuMemPrefetchAsync",
    "cudaMemAdvise": "cuMemAdvise",
    "cudaMemAdvise@12": "cuMemAdvise",
    "cudaMemAdvise_v2": "cuMemAdvise",
    "cudaMemPoolCreate": "cuMemPoolCreate",
    "cudaMemPoolDestroy": "cuMemPoolDestroy",
    "cudaMemPoolTrimTo": "cuMemPoolTrimTo",
    "cudaMemPoolGetAttribute": "cuMemPoolGetAttribute",
    "cudaMemPoolSetAttribute": "cuMemPoolSetAttribute",
    "cudaMemPoolSetAccess": "cuMemPoolSetAccess",
    "cudaStreamCreateWithFlags": "cuStreamCreate",
    "cudaStreamCreateWithPriority": "cuStreamCreateWithPriority",
    "cudaStreamDestroy": "cuStreamDestroy_v2",
    "cudaStreamSynchronize": "cuStreamSynchronize",
    "cudaStreamQuery": "cuStreamQuery",
    "cudaStreamGetPriority": "cuStreamGetPriority",
    "cudaStreamGetFlags": "cuStreamGetFlags",
    "cudaStreamGetId": "cuStreamGetId",
    "cudaStreamGetDevice": "cuStreamGetDevice",
    "cudaStreamWaitEvent": "cuStreamWaitEvent",
    "cudaStreamSetAttribute": "cuStreamSetAttribute",
    "cudaStreamGetAttribute": "cuStreamGetAttribute",
    "cudaStreamAddCallback": "cuStreamAddCallback",
    "cudaStreamAttachMemAsync": "cuStreamAttachMemAsync",
    "cudaLaunchHostFunc": "cuLaunchHostFunc",
    "cudaEventCreateWithFlags": "cuEventCreate",
    "cudaEventRecord": "cuEventRecord",
    "cudaEventRecordWithFlags": "cuEventRecordWithFlags",
    "cudaEventQuery": "cuEventQuery",
    "cudaEventSynchronize": "cuEventSynchronize",
    "cudaEventDestroy": "cuEventDestroy_v2",
    "cudaEventElapsedTime": "cuEventElapsedTime",
    "cudaEventElapsedTime_v2": "cuEventElapsedTime_v2",
    "cudaIpcGetMemHandle": "cuIpcGetMemHandle",
    "cudaIpcOpenMemHandle": "cuIpcOpenMemHandle_v2",
    "cudaIpcCloseMemHandle": "cuIpcCloseMemHandle",
    "cudaIpcGetEventHandle": "cuIpcGetEventHandle",
    "cudaIpcOpenEventHandle": "cuIpcOpenEventHandle",
    "cudaProfilerStart": "cuProfilerStart",
    "cudaProfilerStop": "cuProfilerStop",
}
"""Functions of the runtime that take what the driver's take."""
_MODULES: Final = (calls_device, calls_interprocess, calls_memory, calls_stream)
"""They enter what the table above names."""
INVALID_CONFIGURATION: Final = 9
INVALID_SYMBOL: Final = 13
INVALID_DIRECTION: Final = 21
INVALID_FUNCTION: Final = 98
_TEXT_OF_UNKNOWN: Final = "unrecognized error code"


class RuntimeFailure(DriverError):
    """A function of the runtime ends with a result that the driver does not have."""

    def __init__(self, number: int, reason: str = "") -> None:
        super().__init__("UNKNOWN", reason)
        self.number = number


def _names() -> dict[int, str]:
    lines = (DATA / "runtime_errors.txt").read_text(encoding="utf-8").splitlines()
    return {int(line.split()[0]): line.split()[1] for line in lines if line and line[0] != "#"}


_NAMES: Final = _names()


def _enter_direct() -> None:
    for name, of in _DIRECT.items():
        HANDLERS[name] = Handler(HANDLERS[of].function, "runtime")


_enter_direct()


# -- errors


def _errors(d: Driver) -> dict[int, int]:
    errors: dict[int, int] = d.keep.setdefault("runtime errors", {})
    return errors


def failed(d: Driver, result: int) -> None:
    """Keeps the result of a call for ``cudaGetLastError`` of this thread."""
    _errors(d)[threading.get_ident()] = result


def last_error(d: Driver) -> int:
    """The last error of this thread, or what ended the context; 0 for none.

    The launch itself and what only asks for its result do not tell of a kernel that fails: on a device it still runs then.
    """
    context = d.handles.get(d.current)
    lasting = context.error if isinstance(context, Context) and context.reported else 0
    return lasting or _errors(d).get(threading.get_ident(), 0)


@call("cudaGetLastError", needs="nothing")
def get_last_error(d: Driver) -> int:
    """The last error of this thread, forgotten now unless it ended the context."""
    last = last_error(d)
    _errors(d).pop(threading.get_ident(), None)
    return last


@call("cudaPeekAtLastError", needs="nothing")
def peek_last_error(d: Driver) -> int:
    """The last error of this thread."""
    return last_error(d)


def _keep_text(d: Driver, text: str, place: int) -> None:
    buffer = d.keep.setdefault(f"runtime text {text}", ctypes.create_string_buffer(text.encode()))
    put64(place, ctypes.addressof(buffer))


@call("cudaGetErrorName", needs="nothing")
def error_name(d: Driver, place: int, number: int) -> None:
    """The name of a result."""
    _keep_text(d, _NAMES.get(number, _TEXT_OF_UNKNOWN), place)


@call("cudaGetErrorString", needs="nothing")
def error_string(d: Driver, place: int, number: int) -> None:
    """The words of a result: those of its name."""
    name = _NAMES.get(number)
    words = "".join(f" {c.lower()}" if c.isupper() else c for c in (name or "").removeprefix("cudaError"))
    _keep_text(d, "no error" if number == 0 else words.strip() if name else _TEXT_OF_UNKNOWN, place)


# -- the device


@call("cudaRuntimeGetVersion", needs="nothing")
def runtime_version(d: Driver, place: int) -> None:
    """The CUDA version."""
    put32(place, VERSION)


@call("cudaGetDevice", needs="runtime")
def get_device(d: Driver, place: int) -> None:
    """The current device: the only one."""
    put32(place, 0)


@call("cudaSetDevice", needs="runtime")
def set_device(d: Driver, number: int) -> None:
    """Change the current device."""
    if number:
        raise DriverError("INVALID_DEVICE", f"device {number}")


@call("cudaInitDevice", needs="runtime")
def init_device(d: Driver, number: int, device_flags: int, flags: int) -> None:
    """Initialise a device."""
    set_device(d, number)


@call("cudaSetValidDevices", needs="runtime")
def set_valid_devices(d: Driver, places: int, count: int) -> None:
    """There is one device."""
    for i in range(count):
        set_device(d, get32(places + 4 * i))


@call("cudaChooseDevice", needs="runtime")
def choose_device(d: Driver, place: int, properties: int) -> None:
    """The device that fits best."""
    put32(place, 0)


@call("cudaSetDeviceFlags", needs="runtime")
def set_device_flags(d: Driver, flags: int) -> None:
    """Flags of the primary context."""
    d.primary_flags = flags


@call("cudaGetDeviceFlags", needs="runtime")
def get_device_flags(d: Driver, place: int) -> None:
    """Flags of the primary context."""
    put32(place, d.primary_flags)


@call("cudaDeviceGetPCIBusId", needs="runtime")
def bus_id(d: Driver, place: int, size: int, number: int) -> None:
    """The place of the device."""
    calls_device.bus_id(d, place, size, number)


@call("cudaDeviceReset", "cudaThreadExit", needs="runtime")
def reset(d: Driver) -> None:
    """End the primary context: its memory and modules."""
    calls_device.primary_reset(d, 0)
    d.keep.pop("runtime modules", None)


@call("cudaDeviceEnablePeerAccess", "cudaDeviceDisablePeerAccess", needs="runtime")
def peer(d: Driver, *values: int) -> None:
    """There is no peer."""
    raise DriverError("INVALID_DEVICE")


def _properties(d: Driver, place: int, number: int, column: int) -> None:
    if number:
        raise DriverError("INVALID_DEVICE", f"device {number}")
    rows = [
        line.split()
        for line in (DATA / "runtime_properties.txt").read_text(encoding="utf-8").splitlines()
        if line and line[0] != "#"
    ]
    data = bytearray(int(rows[0][column]))
    for row in rows[1:]:
        if row[column] == "-":
            continue
        at, size = int(row[column]), int(row[3])
        for i, attribute in enumerate(row[4].split(",")):
            value = d.device.attributes.get(int(attribute), 0)
            data[at + i * size : at + (i + 1) * size] = value.to_bytes(size, "little", signed=True)
    name = d.device.name.encode()[:255]
    data[: len(name)] = name
    data[256:272] = d.device.uuid
    data[288:296] = d.device.memory.to_bytes(8, "little")
    ctypes.memmove(place, bytes(data), len(data))


@call("cudaGetDeviceProperties_v2", needs="runtime")
def properties_12(d: Driver, place: int, number: int) -> None:
    """All properties in the structure of CUDA 12."""
    _properties(d, place, number, 1)


@call("cudaGetDeviceProperties@13", needs="runtime")
def properties_13(d: Driver, place: int, number: int) -> None:
    """All properties in the structure of CUDA 13."""
    _properties(d, place, number, 2)


@call("cudaGetDriverEntryPoint", needs="runtime")
def entry_point(d: Driver, name: int, place: int, flags: int, status: int) -> None:
    """The address of a driver function."""
    entry_point_of(d, name, place, VERSION, flags, status)


@call("cudaGetDriverEntryPointByVersion", needs="runtime")
def entry_point_of(d: Driver, name: int, place: int, version: int, flags: int, status: int) -> None:
    """The address of a driver function in the form of a CUDA version."""
    try:
        calls_device.proc_address(d, name, place, version, flags, status)
    except DriverError:
        if not status:
            raise


@call("cudaGetDriverEntryPoint_ptsz", needs="runtime")
def entry_point_of_thread(d: Driver, name: int, place: int, flags: int, status: int) -> None:
    """The same; without a flag in the form for the default stream of the calling thread."""
    entry_point(d, name, place, flags or calls_device.PER_THREAD_FLAG, status)


@call("cudaGetDriverEntryPointByVersion_ptsz", needs="runtime")
def entry_point_of_thread_and_version(d: Driver, name: int, place: int, version: int, flags: int, status: int) -> None:
    """The same for a CUDA version."""
    entry_point_of(d, name, place, version, flags or calls_device.PER_THREAD_FLAG, status)


# -- streams and events


@call("cudaStreamCreate", needs="runtime")
def create_stream(d: Driver, place: int) -> None:
    """A stream."""
    calls_stream.create(d, place, 0)


@call("cudaEventCreate", needs="runtime")
def create_event(d: Driver, place: int) -> None:
    """An event."""
    calls_stream.create_event(d, place, 0)
