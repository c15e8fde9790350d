"""The CUDA driver API through ctypes: just enough to load a cubin and launch its kernels."""

import ctypes
from typing import Any

import numpy as np


class DriverError(RuntimeError):
    pass


def load_driver() -> "Driver":
    """The driver, with a context on device 0; raises DriverError with the reason if there is none."""
    for name in ("libcuda.so.1", "nvcuda.dll"):
        try:
            return Driver(ctypes.CDLL(name))
        except OSError:
            continue
    raise DriverError("no CUDA driver library (libcuda.so.1)")


class Driver:
    def __init__(self, lib: Any) -> None:
        self.lib = lib
        self._check(lib.cuInit(0), "cuInit")
        device = ctypes.c_int()
        self._check(lib.cuDeviceGet(ctypes.byref(device), 0), "cuDeviceGet")
        self.device = device.value
        context = ctypes.c_void_p()
        self._check(lib.cuDevicePrimaryCtxRetain(ctypes.byref(context), device), "cuDevicePrimaryCtxRetain")
        self._check(lib.cuCtxSetCurrent(context), "cuCtxSetCurrent")

    def _check(self, code: int, what: str) -> None:
        if code:
            text = ctypes.c_char_p()
            self.lib.cuGetErrorString(code, ctypes.byref(text))
            raise DriverError(f"{what}: {code} {(text.value or b'').decode()}")

    def attribute(self, number: int) -> int:
        value = ctypes.c_int()
        self._check(self.lib.cuDeviceGetAttribute(ctypes.byref(value), number, self.device), "cuDeviceGetAttribute")
        return value.value

    @property
    def sm(self) -> int:
        """Compute capability as one number (90)."""
        return 10 * self.attribute(75) + self.attribute(76)

    def name(self) -> str:
        buffer = ctypes.create_string_buffer(256)
        self._check(self.lib.cuDeviceGetName(buffer, 256, self.device), "cuDeviceGetName")
        return buffer.value.decode()

    def version(self) -> int:
        value = ctypes.c_int()
        self._check(self.lib.cuDriverGetVersion(ctypes.byref(value)), "cuDriverGetVersion")
        return value.value

    def run(
        self,
        cubin: bytes,
        kernel: str,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        args: list[Any],
        shared: int,
    ) -> None:
        """Load a cubin, launch one kernel, copy every array argument back, unload."""
        lib = self.lib
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        self._check(lib.cuModuleLoadData(ctypes.byref(module), cubin), "cuModuleLoadData")
        buffers: list[tuple[ctypes.c_uint64, np.ndarray]] = []
        try:
            self._check(lib.cuModuleGetFunction(ctypes.byref(function), module, kernel.encode()), "cuModuleGetFunction")
            values: list[Any] = []
            for a in args:
                if isinstance(a, np.ndarray):
                    p = ctypes.c_uint64()
                    self._check(lib.cuMemAlloc_v2(ctypes.byref(p), max(a.nbytes, 16)), "cuMemAlloc")
                    buffers.append((p, a))
                    self._check(lib.cuMemcpyHtoD_v2(p, a.ctypes.data_as(ctypes.c_void_p), a.nbytes), "cuMemcpyHtoD")
                    values.append(p)
                else:
                    raw = a if isinstance(a, bytes) else np.asarray(a).tobytes()
                    values.append(ctypes.create_string_buffer(raw, len(raw)))
            pointers = (ctypes.c_void_p * max(len(values), 1))(*[ctypes.addressof(v) for v in values])
            self._check(
                lib.cuLaunchKernel(function, *grid, *block, shared, None, pointers, None), f"cuLaunchKernel({kernel})"
            )
            self._check(lib.cuCtxSynchronize(), f"kernel {kernel}")
            for p, a in buffers:
                self._check(lib.cuMemcpyDtoH_v2(a.ctypes.data_as(ctypes.c_void_p), p, a.nbytes), "cuMemcpyDtoH")
        finally:
            for p, _ in buffers:
                lib.cuMemFree_v2(p)
            lib.cuModuleUnload(module)
