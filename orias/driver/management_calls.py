"""The management library (NVML): what monitors and frameworks ask about the device, beside or instead of CUDA.

Results are numbers of nvmlReturn_t, structures those of nvml.h.  There is one device without sensors: what a sensor would measure
is not supported, and nothing is in use but memory that this process has allocated.
"""

import ctypes
import uuid
from collections.abc import Callable
from typing import Final

from orias.driver.driver_registry import call, get32, get_string, put32, put64, put_string
from orias.driver.driver_state import VERSION, Driver
from orias.driver.host_memory import memory_in_use
from orias.driver.results import DriverError

UNINITIALIZED, INVALID_ARGUMENT, NOT_FOUND, INSUFFICIENT_SIZE = 1, 2, 6, 7
_RESULTS: Final = {
    0: "Success",
    UNINITIALIZED: "Uninitialized",
    INVALID_ARGUMENT: "Invalid Argument",
    3: "Not Supported",
    NOT_FOUND: "Not Found",
    INSUFFICIENT_SIZE: "Insufficient Size",
    13: "Function Not Found",
}
_HANDLE: Final = 0x4E564D4C
"""The device's handle."""
_PLACE: Final = (0, 1, 0)
"""Domain, bus and device, as in cuDeviceGetPCIBusId."""
_DRIVER: Final = f"{VERSION // 1000 * 10 + 450}.00"
"""The first driver of the CUDA version (580 for CUDA 13), as clients compare with the drivers that they need."""
_CLOCKS: Final = {0: 13, 1: 13, 2: 36, 3: 13}
"""Kind of clock (graphics, multiprocessors, memory, video) -> attribute with its rate in kHz."""
_MEMORY_2: Final = 40 | 2 << 24
"""The version of nvmlMemory_v2_t: its size and 2."""
_initialised = [0]


def _function(*symbols: str, alive: bool = True) -> Callable[[Callable[..., int | None]], Callable[..., int | None]]:
    """Enters a function; `alive`: only between nvmlInit and nvmlShutdown.  A null pointer is an invalid argument."""

    def enter(function: Callable[..., int | None]) -> Callable[..., int | None]:
        def answer(d: Driver, *values: int) -> int | None:
            if alive and not _initialised[0]:
                return UNINITIALIZED
            try:
                return function(d, *values)
            except DriverError:
                return INVALID_ARGUMENT

        return call(*symbols, needs="nothing")(answer)

    return enter


def _of_device(*symbols: str) -> Callable[[Callable[..., int | None]], Callable[..., int | None]]:
    """Enters a function whose first argument is a device."""

    def enter(function: Callable[..., int | None]) -> Callable[..., int | None]:
        def answer(d: Driver, handle: int, *values: int) -> int | None:
            return function(d, *values) if handle == _HANDLE else INVALID_ARGUMENT

        return _function(*symbols)(answer)

    return enter


def _string(place: int, size: int, text: str) -> int:
    """Stores a string, or tells that the space is too small."""
    if size <= len(text):
        return INSUFFICIENT_SIZE
    put_string(place, size, text.encode())
    return 0


# -- the library


@_function("nvmlInit", "nvmlInit_v2", "nvmlInitWithFlags", alive=False)
def init(d: Driver, flags: int = 0) -> None:
    """Initialise; each needs its own nvmlShutdown."""
    _initialised[0] += 1


@_function("nvmlShutdown")
def shutdown(d: Driver) -> None:
    """End one initialisation."""
    _initialised[0] -= 1


@_function("nvmlErrorString", alive=False)
def error_string(d: Driver, place: int, number: int) -> None:
    """The words of a result."""
    text = _RESULTS.get(number, "Unknown Error")
    buffer = d.keep.setdefault(f"nvml {text}", ctypes.create_string_buffer(text.encode()))
    put64(place, ctypes.addressof(buffer))


@_function("nvmlSystemGetDriverVersion")
def driver_version(d: Driver, place: int, size: int) -> int:
    """The driver's version."""
    return _string(place, size, _DRIVER)


@_function("nvmlSystemGetNVMLVersion")
def library_version(d: Driver, place: int, size: int) -> int:
    """The version of this library."""
    return _string(place, size, f"{VERSION // 1000}.{_DRIVER}")


@_function("nvmlSystemGetCudaDriverVersion", "nvmlSystemGetCudaDriverVersion_v2")
def cuda_version(d: Driver, place: int) -> None:
    """The CUDA version, as cuDriverGetVersion."""
    put32(place, VERSION)


@_function("nvmlSystemGetProcessName")
def process_name(d: Driver, number: int, place: int, size: int) -> int:
    """The command line of a process."""
    try:
        with open(f"/proc/{number}/cmdline", "rb") as f:
            text = f.read().replace(b"\0", b" ").strip().decode("utf-8", "replace")
    except OSError:
        return NOT_FOUND
    return _string(place, size, text)


@_function("nvmlDeviceGetCount", "nvmlDeviceGetCount_v2")
def device_count(d: Driver, place: int) -> None:
    """One device."""
    put32(place, 1)


@_function("nvmlUnitGetCount", "nvmlGetExcludedDeviceCount")
def none_of_them(d: Driver, place: int) -> None:
    """No units of racks, and no devices that are left out."""
    put32(place, 0)


# -- finding the device


def _give_device(place: int, found: bool) -> int:
    if found:
        put64(place, _HANDLE)
    return 0 if found else NOT_FOUND


@_function("nvmlDeviceGetHandleByIndex", "nvmlDeviceGetHandleByIndex_v2")
def by_index(d: Driver, index: int, place: int) -> int:
    """The device with a number."""
    return INVALID_ARGUMENT if index else _give_device(place, True)


def _uuid(d: Driver) -> str:
    return f"GPU-{uuid.UUID(bytes=d.device.uuid)}"


@_function("nvmlDeviceGetHandleByUUID")
def by_uuid(d: Driver, text: int, place: int) -> int:
    """The device with a UUID."""
    return _give_device(place, get_string(text) == _uuid(d))


@_function("nvmlDeviceGetHandleByPciBusId", "nvmlDeviceGetHandleByPciBusId_v2")
def by_bus_id(d: Driver, text: int, place: int) -> int:
    """The device at a place, with or without the domain."""
    parts = get_string(text).partition(".")[0].split(":")
    try:
        numbers = tuple(int(x, 16) for x in parts)
    except ValueError:
        return INVALID_ARGUMENT
    return _give_device(place, numbers in (_PLACE, _PLACE[1:]))


# -- what it is


@_of_device("nvmlDeviceGetName")
def name(d: Driver, place: int, size: int) -> int:
    """Its name."""
    return _string(place, size, d.device.name)


@_of_device("nvmlDeviceGetUUID")
def device_uuid(d: Driver, place: int, size: int) -> int:
    """Its UUID, that of cuDeviceGetUuid."""
    return _string(place, size, _uuid(d))


@_of_device("nvmlDeviceGetIndex", "nvmlDeviceGetMinorNumber")
def index(d: Driver, place: int) -> None:
    """Its number."""
    put32(place, 0)


@_of_device("nvmlDeviceGetCudaComputeCapability")
def compute_capability(d: Driver, major: int, minor: int) -> None:
    """Its compute capability."""
    put32(major, d.device.sm // 10)
    put32(minor, d.device.sm % 10)


def _put_pci(place: int, long_text: bool) -> None:
    """The 36 bytes with which all versions of nvmlPciInfo_t begin, and with `long_text` the longer text of the third."""
    domain, bus, device = _PLACE
    put_string(place, 16, f"{domain:04X}:{bus:02X}:{device:02X}.0".encode())
    for k, value in enumerate((domain, bus, device, 0, 0)):
        put32(place + 16 + 4 * k, value)
    if long_text:
        put_string(place + 36, 32, f"{domain:08X}:{bus:02X}:{device:02X}.0".encode())


@_of_device("nvmlDeviceGetPciInfo", "nvmlDeviceGetPciInfo_v2")
def pci_info(d: Driver, place: int) -> None:
    """Its place; the numbers of vendor and model are 0."""
    _put_pci(place, False)


@_of_device("nvmlDeviceGetPciInfo_v3")
def pci_info_3(d: Driver, place: int) -> None:
    """The same, with the longer text."""
    _put_pci(place, True)


@_of_device("nvmlDeviceGetMemoryBusWidth")
def bus_width(d: Driver, place: int) -> None:
    """Bits between device and memory."""
    put32(place, d.device.attributes[37])


@_of_device("nvmlDeviceGetMaxClockInfo")
def most_clock(d: Driver, kind: int, place: int) -> int:
    """The highest rate of a clock in MHz."""
    if kind not in _CLOCKS:
        return INVALID_ARGUMENT
    put32(place, d.device.attributes[_CLOCKS[kind]] // 1000)
    return 0


# -- how it is


@_of_device("nvmlDeviceGetMemoryInfo")
def memory(d: Driver, place: int) -> None:
    """Total, free and used bytes of memory."""
    total, used = d.device.memory, memory_in_use()
    for k, value in enumerate((total, total - used, used)):
        put64(place + 8 * k, value)


@_of_device("nvmlDeviceGetMemoryInfo_v2")
def memory_2(d: Driver, place: int) -> int:
    """Total, reserved, free and used bytes of memory; the version of the structure comes first."""
    if get32(place) != _MEMORY_2:
        return 25  # NVML_ERROR_ARGUMENT_VERSION_MISMATCH
    total, used = d.device.memory, memory_in_use()
    for k, value in enumerate((total, 0, total - used, used)):
        put64(place + 8 + 8 * k, value)
    return 0


@_of_device("nvmlDeviceGetUtilizationRates")
def utilization(d: Driver, place: int) -> None:
    """Nothing runs while another function is called: 0 % of the device and of its memory."""
    put32(place, 0)
    put32(place + 4, 0)


@_of_device(
    *(
        f"nvmlDeviceGet{kind}RunningProcesses{version}"
        for kind in ("Compute", "Graphics", "MPSCompute")
        for version in ("", "_v2", "_v3")
    )
)
def processes(d: Driver, count: int, place: int) -> None:
    """No other program is on the device."""
    put32(count, 0)


@_of_device(
    "nvmlDeviceGetComputeMode",
    "nvmlDeviceGetPersistenceMode",
    "nvmlDeviceGetMultiGpuBoard",
    "nvmlDeviceIsMigDeviceHandle",
)
def off(d: Driver, place: int) -> None:
    """Modes that are the default or off."""
    put32(place, 0)
