"""Where compiled programs run: in the simulator, or on a GPU (``tests/gpu``) within :func:`on`."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

import orias.sim

Array = np.ndarray[Any, Any]


class Device(NamedTuple):
    """``load`` makes an image of a cubin (with the interface of ``orias.sim.Image``), ``tensormap`` a tensor map."""

    load: Callable[[bytes], Any]
    tensormap: Callable[..., bytes]


_devices = [Device(orias.sim.load, orias.sim.tensormap)]


@contextmanager
def on(device: Device) -> Iterator[None]:
    """Programs run on another device."""
    _devices.append(device)
    try:
        yield
    finally:
        _devices.pop()


def current() -> Device:
    """The device."""
    return _devices[-1]


def load(cubin: bytes) -> Any:
    """An image of a cubin on the device."""
    return _devices[-1].load(cubin)


def tensormap(*args: Any, **options: Any) -> bytes:
    """A tensor map for the device; arguments as for ``orias.sim.tensormap``."""
    return _devices[-1].tensormap(*args, **options)


class Map(NamedTuple):
    """An argument: the tensor map of an array that the launch puts into device memory.

    The array's sizes and strides are the tensor's; ``options`` go to :func:`tensormap`.
    """

    array: Array
    type: str
    options: dict[str, Any]

    def made(self, image: Any) -> bytes:
        """The map, with the array in the image's memory."""
        a = self.array
        at = image.arena.allocate(a.nbytes, "tensor")
        image.arena.write(at, a)
        return tensormap(self.type, at, a.shape[::-1], a.strides[-2::-1], **self.options)
