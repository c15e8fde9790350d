"""The CUDA driver API through ctypes: load cubins, launch kernels (with clusters), make tensor maps, time."""

import ctypes
import time
from collections.abc import Sequence
from ctypes import POINTER, c_char_p, c_float, c_int, c_size_t, c_ubyte, c_uint, c_uint64, c_void_p
from typing import Any, Final

P: Final = POINTER
_PROTOTYPES: Final[dict[str, list[Any]]] = {
    "cuInit": [c_uint],
    "cuDeviceGet": [P(c_int), c_int],
    "cuDeviceGetName": [c_char_p, c_int, c_int],
    "cuDeviceGetAttribute": [P(c_int), c_int, c_int],
    "cuDriverGetVersion": [P(c_int)],
    "cuDevicePrimaryCtxRetain": [P(c_void_p), c_int],
    "cuDevicePrimaryCtxReset_v2": [c_int],
    "cuCtxSetCurrent": [c_void_p],
    "cuGetErrorName": [c_int, P(c_char_p)],
    "cuGetErrorString": [c_int, P(c_char_p)],
    "cuModuleLoadData": [P(c_void_p), c_char_p],
    "cuModuleUnload": [c_void_p],
    "cuModuleGetFunction": [P(c_void_p), c_void_p, c_char_p],
    "cuFuncSetAttribute": [c_void_p, c_int, c_int],
    "cuMemAlloc_v2": [P(c_uint64), c_size_t],
    "cuMemFree_v2": [c_uint64],
    "cuMemcpyHtoD_v2": [c_uint64, c_void_p, c_size_t],
    "cuMemcpyDtoH_v2": [c_void_p, c_uint64, c_size_t],
    "cuMemsetD8_v2": [c_uint64, c_ubyte, c_size_t],
    "cuEventCreate": [P(c_void_p), c_uint],
    "cuEventRecord": [c_void_p, c_void_p],
    "cuEventQuery": [c_void_p],
    "cuEventElapsedTime": [P(c_float), c_void_p, c_void_p],
    "cuEventDestroy_v2": [c_void_p],
    "cuLaunchKernelEx": [c_void_p, c_void_p, P(c_void_p), c_void_p],
    "cuTensorMapEncodeTiled": [c_void_p, c_int, c_uint, c_void_p, *[c_void_p] * 4, *[c_int] * 4],
    "cuTensorMapEncodeIm2col": [c_void_p, c_int, c_uint, c_void_p, *[c_void_p] * 4, c_uint, c_uint, c_void_p, *[c_int] * 4],
}  # fmt: skip
"""Argument types by name, as in cuda.h (13.0); all return a CUresult."""
NOT_READY: Final = 600
_MAJOR, _MINOR, _PROCESSORS = 75, 76, 16
_MAX_DYNAMIC_SHARED: Final = 8
_NON_PORTABLE_CLUSTER: Final = 14
_PORTABLE_CLUSTER: Final = 8
_CLUSTER_DIMENSION: Final = 4
ELEMENT_TYPES: Final = (
    "u8",
    "u16",
    "u32",
    "s32",
    "u64",
    "s64",
    "f16",
    "f32",
    "f64",
    "bf16",
    "f32.ftz",
    "tf32",
    "tf32.ftz",
)
"""In the order of CUtensorMapDataType."""
SWIZZLES: Final = ("none", "32B", "64B", "128B")
_MAP_BYTES: Final = 128
_MAP_ALIGN: Final = 64


class DriverError(RuntimeError):
    """A call of the driver failed, or a kernel did not end."""


class _Attribute(ctypes.Structure):
    """CUlaunchAttribute; the value is a union of 64 bytes."""

    _fields_ = (("id", c_int), ("pad", c_int), ("value", c_uint * 16))


class _Config(ctypes.Structure):
    """CUlaunchConfig."""

    _fields_ = (
        ("grid", c_uint * 3), ("block", c_uint * 3), ("shared", c_uint), ("stream", c_void_p), ("attributes", P(_Attribute)), ("count", c_uint),
    )  # fmt: skip


def load_driver() -> "Driver":
    """The driver, with a context on device 0; raises DriverError with the reason if there is none."""
    for name in ("libcuda.so.1", "nvcuda.dll"):
        try:
            return Driver(ctypes.CDLL(name))
        except OSError:
            continue
    raise DriverError("no CUDA driver library (libcuda.so.1)")


class Driver:
    """Device 0 through a driver library.  ``seconds``: a kernel that runs longer counts as hanging."""

    def __init__(self, lib: Any, seconds: float = 30.0) -> None:
        self.lib = lib
        self.seconds = seconds
        for name, types in _PROTOTYPES.items():
            f = getattr(lib, name, None)
            if f is not None:
                f.argtypes, f.restype = types, c_int
        self.call("cuInit", 0)
        device = c_int()
        self.call("cuDeviceGet", device, 0)
        self.device = device.value
        self._open()

    def _open(self) -> None:
        context = c_void_p()
        self.call("cuDevicePrimaryCtxRetain", context, self.device)
        self.call("cuCtxSetCurrent", context)

    def reset(self) -> None:
        """A new context: after a fault the old one answers nothing but its error."""
        self.call("cuDevicePrimaryCtxReset_v2", self.device)
        self._open()

    def call(self, name: str, *args: Any) -> None:
        """Call a function (objects of ctypes are passed by reference where it wants a pointer); DriverError names it and the error."""
        code = getattr(self.lib, name)(*args)
        if code:
            raise DriverError(f"{name}: {self.error(code)}")

    def error(self, code: int) -> str:
        """Number, name and text of an error."""
        parts = [str(code)]
        for name in ("cuGetErrorName", "cuGetErrorString"):
            text = c_char_p()
            getattr(self.lib, name)(code, text)
            parts.append((text.value or b"unknown").decode())
        return " ".join(parts)

    def attribute(self, number: int) -> int:
        """A CUdevice_attribute."""
        value = c_int()
        self.call("cuDeviceGetAttribute", value, number, self.device)
        return value.value

    @property
    def sm(self) -> int:
        """Compute capability as one number (90)."""
        return 10 * self.attribute(_MAJOR) + self.attribute(_MINOR)

    @property
    def arch(self) -> str:
        """The target to compile for; with the features of this SM alone where there are any."""
        return f"sm_{self.sm}{'a' if self.sm >= 90 else ''}"

    @property
    def processors(self) -> int:
        """Multiprocessors."""
        return self.attribute(_PROCESSORS)

    def name(self) -> str:
        """The device."""
        buffer = ctypes.create_string_buffer(256)
        self.call("cuDeviceGetName", buffer, 256, self.device)
        return buffer.value.decode()

    def version(self) -> int:
        """CUDA version of the driver (13000)."""
        value = c_int()
        self.call("cuDriverGetVersion", value)
        return value.value

    # memory

    def allocate(self, size: int) -> int:
        """Device memory."""
        address = c_uint64()
        self.call("cuMemAlloc_v2", address, max(size, 16))
        return address.value

    def free(self, address: int) -> None:
        """Give memory back."""
        self.call("cuMemFree_v2", address)

    def write(self, address: int, data: bytes) -> None:
        """Host to device."""
        if data:
            self.call("cuMemcpyHtoD_v2", address, data, len(data))

    def read(self, address: int, size: int) -> bytes:
        """Device to host."""
        buffer = ctypes.create_string_buffer(max(size, 1))
        if size:
            self.call("cuMemcpyDtoH_v2", buffer, address, size)
        return buffer.raw[:size]

    # kernels

    def load(self, cubin: bytes) -> c_void_p:
        """A module."""
        module = c_void_p()
        self.call("cuModuleLoadData", module, cubin)
        return module

    def function(self, module: c_void_p, name: str) -> c_void_p:
        """A kernel of a module."""
        function = c_void_p()
        self.call("cuModuleGetFunction", function, module, name.encode())
        return function

    def launch(
        self,
        function: c_void_p,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        values: Sequence[bytes],
        shared: int = 0,
        cluster: tuple[int, int, int] | None = None,
    ) -> None:
        """Start a kernel; `values` are the parameters' bytes.  More dynamic shared memory than the default is asked for."""
        if shared:
            self.call("cuFuncSetAttribute", function, _MAX_DYNAMIC_SHARED, shared)
        attributes = (_Attribute * 1)()
        if cluster is not None:
            if cluster[0] * cluster[1] * cluster[2] > _PORTABLE_CLUSTER:
                self.call("cuFuncSetAttribute", function, _NON_PORTABLE_CLUSTER, 1)
            attributes[0].id = _CLUSTER_DIMENSION
            attributes[0].value[:3] = cluster
        config = _Config((c_uint * 3)(*grid), (c_uint * 3)(*block), shared, None, attributes, int(cluster is not None))
        buffers = [ctypes.create_string_buffer(v, max(len(v), 1)) for v in values]
        pointers = (c_void_p * max(len(buffers), 1))(*[ctypes.addressof(b) for b in buffers])
        self.call("cuLaunchKernelEx", ctypes.byref(config), function, pointers, None)

    def event(self) -> c_void_p:
        """An event, recorded now."""
        event = c_void_p()
        self.call("cuEventCreate", event, 0)
        self.call("cuEventRecord", event, None)
        return event

    def wait(self, event: c_void_p, what: str) -> None:
        """Wait for an event; DriverError if a kernel before it failed or does not end."""
        end = time.monotonic() + self.seconds
        while True:
            code = self.lib.cuEventQuery(event)
            if code == 0:
                return
            if code != NOT_READY:
                raise DriverError(f"{what}: {self.error(code)}")
            if time.monotonic() > end:
                raise DriverError(f"{what}: no end after {self.seconds:.0f} s")

    def finish(self, what: str) -> None:
        """Wait for all that was started."""
        try:
            event = self.event()
        except DriverError as e:
            # A kernel that failed early fails every later call.
            raise DriverError(f"{what}: {e}") from None
        self.wait(event, what)
        self.call("cuEventDestroy_v2", event)

    def milliseconds(self, start: c_void_p, end: c_void_p) -> float:
        """Time between two events that have happened."""
        value = c_float()
        self.call("cuEventElapsedTime", value, start, end)
        return value.value

    # tensor maps

    def tensormap(
        self,
        type_: str,
        address: int,
        dims: Sequence[int],
        strides: Sequence[int],
        box: Sequence[int] = (),
        steps: Sequence[int] = (),
        swizzle: str = "none",
        fill_nan: bool = False,
        corners: tuple[Sequence[int], Sequence[int]] | None = None,
        channels: int = 0,
        pixels: int = 0,
        interleave: int = 0,
    ) -> bytes:
        """A tensor map made by the driver; arguments as for ``orias.sim.tensormap``."""
        space = ctypes.create_string_buffer(_MAP_BYTES + _MAP_ALIGN)
        place = -(-ctypes.addressof(space) // _MAP_ALIGN) * _MAP_ALIGN
        rank = len(dims)
        sizes, jumps = (c_uint64 * rank)(*dims), (c_uint64 * rank)(*strides)
        each = (c_uint * rank)(*(steps or [1] * rank))
        last = (interleave, SWIZZLES.index(swizzle), 0, int(fill_nan))
        head = (place, ELEMENT_TYPES.index(type_), rank, address, sizes, jumps)
        if corners is None:
            self.call("cuTensorMapEncodeTiled", *head, (c_uint * rank)(*box), each, *last)
        else:
            lower, upper = ((c_int * (rank - 2))(*c) for c in corners)
            self.call("cuTensorMapEncodeIm2col", *head, lower, upper, channels, pixels, each, *last)
        return ctypes.string_at(place, _MAP_BYTES)
