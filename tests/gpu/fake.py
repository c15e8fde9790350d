"""A stand-in for the driver library (``fake_driver.c``, compiled against the real cuda.h) whose GPU is the simulator.

So everything that reaches the library must be right: prototypes, structures, parameter bytes, addresses, sizes.
"""

import ctypes
import shutil
import site
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from orias.sim import SimError, tensormap
from orias.sim import load as simulate
from orias.sim.core.image import Image
from tests.gpu.driver import ELEMENT_TYPES, SWIZZLES

SOURCE = Path(__file__).parent / "fake_driver.c"
OUT_OF_MEMORY, INVALID_VALUE, INVALID_IMAGE, NOT_FOUND, NOT_READY, ILLEGAL_ADDRESS = 2, 1, 200, 500, 600, 700
_TEXTS = {2: "OUT_OF_MEMORY", 1: "INVALID_VALUE", 200: "INVALID_IMAGE", 500: "NOT_FOUND", 700: "ILLEGAL_ADDRESS"}
_LIMIT = 48 * 1024


def build(directory: Path) -> Path:
    """The library; skips the calling test where there is no C compiler or no cuda.h."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    roots = [Path(p) for p in site.getsitepackages()]
    headers = [h for r in roots for h in r.glob("nvidia/cu*/include/cuda.h")] + list(Path("/usr/local").glob("cuda*/include/cuda.h"))  # fmt: skip
    if compiler is None or not headers:
        pytest.skip(f"no {'C compiler' if compiler is None else 'cuda.h'} to build the stand-in for the driver with")
    out = directory / "libfake.so"
    command = [compiler, "-Wall", "-Werror", "-shared", "-fPIC", f"-I{headers[0].parent}", str(SOURCE), "-o", str(out)]
    subprocess.run(command, check=True, timeout=120)
    return out


class Fake:
    """The library and what it was asked: ``calls`` by name.  ``hang``: events are never reached; ``lost``: after a fault no new context."""

    def __init__(self, path: Path, sm: int = 90) -> None:
        self.lib = ctypes.CDLL(str(path))
        self.sm = sm
        self.calls: list[tuple[str, list[int]]] = []
        self.images: list[Image] = []
        self.names: list[tuple[Image, str]] = []
        self.limits: dict[int, int] = {}
        self.sticky = 0
        self.hang = False
        self.lost = False
        self.clock = 0.0
        self.times: list[float] = []
        self.texts: list[bytes] = []
        kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.POINTER(ctypes.c_int64))
        self._callback = kind(self._call)
        self.lib.fake_set(self._callback)

    def _call(self, name: bytes, count: int, values: Any) -> int:
        args = [values[k] for k in range(count)]
        text = name.decode()
        self.calls.append((text, args))
        allowed = ("cuGetErrorName", "cuGetErrorString", *(() if self.lost else ("cuDevicePrimaryCtxReset",)))
        if self.sticky and text not in allowed:
            return self.sticky
        return int(getattr(self, text)(*args))

    def asked(self, name: str) -> list[list[int]]:
        """Arguments of the calls of a function."""
        return [a for n, a in self.calls if n == name]

    def _put(self, place: int, value: int, type_: Any = ctypes.c_uint64) -> int:
        type_.from_address(place).value = value
        return 0

    def cuInit(self, flags: int) -> int:
        return INVALID_VALUE if flags else 0

    def cuDeviceGet(self, place: int, ordinal: int) -> int:
        return self._put(place, ordinal, ctypes.c_int)

    def cuDeviceGetName(self, place: int, size: int, device: int) -> int:
        ctypes.memmove(place, b"Simulated\0", min(size, 10))
        return 0

    def cuDeviceGetAttribute(self, place: int, number: int, device: int) -> int:
        return self._put(place, {75: self.sm // 10, 76: self.sm % 10, 16: 132}[number], ctypes.c_int)

    def cuDriverGetVersion(self, place: int) -> int:
        return self._put(place, 13000, ctypes.c_int)

    def cuDevicePrimaryCtxRetain(self, place: int, device: int) -> int:
        return self._put(place, 0xC0)

    def cuDevicePrimaryCtxReset(self, device: int) -> int:
        self.sticky = 0
        return 0

    def cuCtxSetCurrent(self, context: int) -> int:
        return 0 if context == 0xC0 else INVALID_VALUE

    def cuGetErrorName(self, code: int, place: int) -> int:
        self.texts.append(f"CUDA_ERROR_{_TEXTS.get(code, 'UNKNOWN')}".encode())
        ctypes.c_char_p.from_address(place).value = self.texts[-1]
        return 0

    def cuGetErrorString(self, code: int, place: int) -> int:
        self.texts.append(b"in words")
        ctypes.c_char_p.from_address(place).value = self.texts[-1]
        return 0

    def cuModuleLoadData(self, place: int, data: int) -> int:
        head = ctypes.string_at(data, 64)
        if head[:4] != b"\x7fELF":
            return INVALID_IMAGE
        # After the section and program headers there is nothing.
        sections = int.from_bytes(head[40:48], "little") + 64 * int.from_bytes(head[60:62], "little")
        programs = int.from_bytes(head[32:40], "little") + 56 * int.from_bytes(head[56:58], "little")
        self.images.append(simulate(ctypes.string_at(data, max(sections, programs))))
        return self._put(place, len(self.images))

    def cuModuleUnload(self, module: int) -> int:
        return 0 if 1 <= module <= len(self.images) else INVALID_VALUE

    def cuModuleGetFunction(self, place: int, module: int, name: int) -> int:
        image, text = self.images[module - 1], ctypes.string_at(name).decode()
        if text not in image.kernels:
            return NOT_FOUND
        self.names.append((image, text))
        return self._put(place, len(self.names))

    def cuFuncSetAttribute(self, function: int, attribute: int, value: int) -> int:
        if attribute == 8:
            self.limits[function] = value
        return 0

    # Memory is that of the module loaded last.

    def cuMemAlloc(self, place: int, size: int) -> int:
        return OUT_OF_MEMORY if size > 1 << 34 else self._put(place, self.images[-1].arena.allocate(size, "fake"))

    def cuMemFree(self, address: int) -> int:
        return 0

    def cuMemcpyHtoD(self, to: int, data: int, size: int) -> int:
        self.images[-1].arena.write(to, np.frombuffer(ctypes.string_at(data, size), np.uint8))
        return 0

    def cuMemcpyDtoH(self, to: int, address: int, size: int) -> int:
        ctypes.memmove(to, bytes(self.images[-1].arena.read(address, size)), size)
        return 0

    def cuMemsetD8(self, to: int, value: int, size: int) -> int:
        self.images[-1].arena.write(to, np.full(size, value, np.uint8))
        return 0

    def cuEventCreate(self, place: int, flags: int) -> int:
        self.times.append(0.0)
        return self._put(place, len(self.times))

    def cuEventRecord(self, event: int, stream: int) -> int:
        self.times[event - 1] = self.clock
        return 0

    def cuEventQuery(self, event: int) -> int:
        return NOT_READY if self.hang else 0

    def cuEventElapsedTime(self, place: int, start: int, end: int) -> int:
        ctypes.c_float.from_address(place).value = self.times[end - 1] - self.times[start - 1]
        return 0

    def cuEventDestroy(self, event: int) -> int:
        return 0

    def cuLaunchKernelEx(self, function: int, *v: int) -> int:
        image, name = self.names[function - 1]
        grid, block, shared, stream, cluster, params, extra = v[0:3], v[3:6], v[6], v[7], v[8:11], v[11], v[12]
        if shared + image.kernels[name].shared_size > _LIMIT and self.limits.get(function, 0) < shared:
            return INVALID_VALUE
        if stream or extra:
            return INVALID_VALUE
        order = sorted(image.kernels[name].params, key=lambda p: p.ordinal)
        pointers = [ctypes.c_uint64.from_address(params + 8 * k).value for k in range(len(order))]
        args = [ctypes.string_at(at, p.size) for at, p in zip(pointers, order, strict=True)]
        self.clock += 1.0
        try:
            image.launch(name, grid, block, args, shared=shared, cluster=cluster if any(cluster) else None)
        except SimError:
            # As on a GPU: the launch is accepted, then everything fails.
            self.sticky = ILLEGAL_ADDRESS
        return 0

    def _numbers(self, place: int, count: int, type_: Any) -> Sequence[int]:
        return list((type_ * count).from_address(place))

    def _map(
        self, place: int, type_: int, address: int, swizzle: int, fill: int, dims: Any, strides: Any, **more: Any
    ) -> int:
        if place % 64:
            return INVALID_VALUE
        data = tensormap(
            ELEMENT_TYPES[type_], address, dims, strides, swizzle=SWIZZLES[swizzle], fill_nan=bool(fill), **more
        )
        ctypes.memmove(place, data, len(data))
        return 0

    def cuTensorMapEncodeTiled(self, place: int, type_: int, rank: int, address: int, *v: int) -> int:
        dims, strides = self._numbers(v[0], rank, ctypes.c_uint64), self._numbers(v[1], rank - 1, ctypes.c_uint64)
        box, steps = self._numbers(v[2], rank, ctypes.c_uint32), self._numbers(v[3], rank, ctypes.c_uint32)
        return self._map(place, type_, address, v[5], v[7], dims, strides, box=box, steps=steps, interleave=v[4])

    def cuTensorMapEncodeIm2col(self, place: int, type_: int, rank: int, address: int, *v: int) -> int:
        dims, strides = self._numbers(v[0], rank, ctypes.c_uint64), self._numbers(v[1], rank - 1, ctypes.c_uint64)
        corners = (self._numbers(v[2], rank - 2, ctypes.c_int), self._numbers(v[3], rank - 2, ctypes.c_int))
        steps = self._numbers(v[6], rank, ctypes.c_uint32)
        return self._map(
            place, type_, address, v[8], v[10], dims, strides, corners=corners, channels=v[4], pixels=v[5], steps=steps
        )
