"""A cubin on a GPU, with the interface of ``orias.sim.Image`` that the tests use."""

from collections.abc import Sequence
from ctypes import c_void_p
from typing import Any

import numpy as np

from orias.cubin.reader import Reader
from orias.sim.core.launch_arguments import Dim, scalar_bytes, triple
from tests.device import Device
from tests.gpu.driver import Driver, DriverError


class Memory:
    """Device memory by address."""

    def __init__(self, driver: Driver) -> None:
        self.driver = driver
        self.owned: list[int] = []

    def allocate(self, size: int, label: str = "") -> int:
        address = self.driver.allocate(size)
        self.owned.append(address)
        return address

    def write(self, address: int, data: Any) -> None:
        self.driver.write(address, data if isinstance(data, bytes) else np.ascontiguousarray(data).tobytes())

    def read(self, address: int, size: int) -> bytes:
        return self.driver.read(address, size)


class GpuImage:
    """A module of the driver; unloaded with its memory when the object goes."""

    def __init__(self, driver: Driver, cubin: bytes) -> None:
        self.driver = driver
        self.arena = Memory(driver)
        self.kernels = Reader(cubin).kernels
        self.module: c_void_p | None = driver.load(cubin)

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        """Unload; errors of a context that is gone do not count."""
        if getattr(self, "module", None) is None:
            return
        module, self.module = self.module, None
        try:
            for address in self.arena.owned:
                self.driver.free(address)
            self.driver.call("cuModuleUnload", module)
        except DriverError:
            return

    def values(self, name: str, args: Sequence[Any]) -> tuple[list[bytes], list[tuple[np.ndarray, int]]]:
        """The parameters' bytes, and the arrays with their addresses: they are in device memory now."""
        params = sorted(self.kernels[name].params, key=lambda p: p.ordinal)
        assert len(params) == len(args), f"{name} has {len(params)} parameters, not {len(args)}"
        out: list[bytes] = []
        arrays: dict[int, tuple[np.ndarray, int]] = {}
        for n, (p, a) in enumerate(zip(params, args, strict=True)):
            if isinstance(a, np.ndarray):
                if id(a) not in arrays:
                    arrays[id(a)] = a, self.arena.allocate(a.nbytes)
                    self.arena.write(arrays[id(a)][1], a)
                data = arrays[id(a)][1].to_bytes(8, "little")
            else:
                data = scalar_bytes(a, p.size, n)
            assert len(data) <= p.size, f"argument {n} of {name} has {len(data)} bytes, the parameter {p.size}"
            # The driver copies as many bytes as the parameter has.
            out.append(data.ljust(p.size, b"\0"))
        return out, list(arrays.values())

    def launch(
        self,
        name: str,
        grid: Dim,
        block: Dim,
        args: Sequence[Any] = (),
        shared: int = 0,
        cluster: Dim | None = None,
        **only_simulated: Any,
    ) -> None:
        """Run a kernel and copy the arrays back.

        After an error the device gets a new context, and DriverError names the kernel.  Hardware may refuse the new
        context for as long as the process lives: that is a note of the kernel's error, which is the one that is raised.
        """
        assert self.module is not None
        try:
            values, arrays = self.values(name, args)
            function = self.driver.function(self.module, name)
            size = triple(cluster) if cluster is not None else None
            self.driver.launch(function, triple(grid), triple(block), values, shared, size)
            self.driver.finish(f"kernel {name}")
            for array, address in arrays:
                if array.flags.writeable:
                    array[...] = np.frombuffer(self.arena.read(address, array.nbytes), array.dtype).reshape(array.shape)
        except DriverError as e:
            self.module = None
            try:
                self.driver.reset()
            except DriverError as second:
                e.add_note(f"the device has no new context: {second}")
            raise


def device(driver: Driver) -> Device:
    """The GPU as a device of the tests."""
    return Device(lambda cubin: GpuImage(driver, cubin), driver.tensormap)
