"""Arguments and sizes of a launch: converts numpy arrays and numbers to parameter bytes, and copies arrays back."""

from collections.abc import Sequence
from typing import Any, Final, final

import numpy as np
import numpy.typing as npt

from orias.sim.core.banked_memory import Arena
from orias.sim.core.sim_errors import ArgumentError
from orias.sim.texture.sampler import Sampler
from orias.sim.texture.surface_object import Surface
from orias.sim.texture.texture_object import Texture

Arr = npt.NDArray[Any]
Dim = int | Sequence[int]


MOST_BLOCKS: Final = ((1 << 31) - 1, 65535, 65535)
"""Blocks of a grid in x, y and z (CUDA programming guide, technical specifications)."""
MOST_THREADS: Final = 1024
"""Threads of a block."""


def triple(d: Dim) -> tuple[int, int, int]:
    """A size of one to three numbers as three; missing ones are 1."""
    v = [d] if isinstance(d, int) else [int(x) for x in d]
    if not 1 <= len(v) <= 3 or min(v) < 1:
        raise ArgumentError(f"{d} is not a size of one to three positive numbers")
    v += [1] * (3 - len(v))
    return v[0], v[1], v[2]


def checked_size(grid: Dim, block: Dim) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
    """Grid and block as three numbers each; ArgumentError if a device does not launch so many blocks, or threads in one."""
    g, b = triple(grid), triple(block)
    if b[0] * b[1] * b[2] > MOST_THREADS:
        raise ArgumentError(f"{b[0] * b[1] * b[2]} threads a block, at most {MOST_THREADS}")
    if any(n > most for n, most in zip(g, MOST_BLOCKS, strict=True)):
        raise ArgumentError(f"a grid of {' x '.join(map(str, g))} blocks, at most {' x '.join(map(str, MOST_BLOCKS))}")
    return g, b


@final
class Arguments:
    """The arguments of a launch; ``params`` holds the parameter bytes.

    `slots`: offset and size of each parameter in bytes, in order; `size`: bytes of all parameters.  Each array is
    copied to memory of its own in `arena`; an array given twice is copied once.  Raises ArgumentError for a wrong
    number, type or size.
    """

    def __init__(
        self, arena: Arena, kernel: str, slots: Sequence[tuple[int, int]], size: int, args: Sequence[Any]
    ) -> None:
        if len(args) != len(slots):
            raise ArgumentError(f"{len(args)} arguments, the kernel has {len(slots)} parameters", kernel)
        self._arena: Final[Arena] = arena
        self._arrays: Final[dict[int, tuple[Arr, int]]] = {}
        params = bytearray(size)
        for i, ((offset, width), v) in enumerate(zip(slots, args, strict=True)):
            if isinstance(v, np.ndarray):
                data = self._array(v, i).to_bytes(8, "little")
            elif isinstance(v, Texture | Surface | Sampler):
                data = arena.handle(v).to_bytes(8, "little")
            else:
                data = scalar_bytes(v, width, i)
            if len(data) > width:
                raise ArgumentError(f"argument {i} has {len(data)} bytes, the parameter {width}", kernel)
            params[offset : offset + len(data)] = data
        self.params: Final[bytes] = bytes(params)

    def _array(self, v: Arr, i: int) -> int:
        """The address of an array's copy."""
        known = self._arrays.get(id(v))
        if known is not None:
            return known[1]
        raw = np.ascontiguousarray(v)
        address = self._arena.allocate(raw.nbytes, f"argument {i}", clear=False)
        self._arena.write(address, raw)
        self._arrays[id(v)] = (v, address)
        return address

    def give_back(self) -> None:
        """Copy the memory of writable arrays back into them, and release it."""
        for array, address in self._arrays.values():
            if array.flags.writeable:
                raw = self._arena.bytes_at(address, array.nbytes) if array.nbytes else np.empty(0, np.uint8)
                array[...] = raw.view(array.dtype).reshape(array.shape)
            self._arena.release(address)


def scalar_bytes(v: Any, size: int, i: int) -> bytes:
    """The bytes of an argument that is not an array."""
    if isinstance(v, bytes | bytearray):
        return bytes(v)
    if isinstance(v, np.generic):
        return v.tobytes()
    if isinstance(v, bool):
        return int(v).to_bytes(size, "little")
    if isinstance(v, int):
        return (v & (1 << 8 * size) - 1).to_bytes(size, "little")
    if isinstance(v, float):
        t: Any = {2: np.float16, 4: np.float32, 8: np.float64}.get(size)
        if t is not None:
            return bytes(t(v).tobytes())
    raise ArgumentError(f"argument {i} has type {type(v).__name__}, which a parameter of {size} bytes cannot take")
