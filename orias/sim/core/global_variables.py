"""The global variables of a loaded module."""

from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt

from orias.sim.core.banked_memory import Arena
from orias.sim.core.sim_errors import ArgumentError, LoadError

Arr = npt.NDArray[Any]

_MOST: Final = 1 << 31
"""Bytes of the variables of one section or name: relocations of code reach no further."""


def allocate_variables(arena: Arena, size: int, name: str, align: int = 256) -> int:
    """The address of zero bytes for variables; LoadError if a module asks for more than there can be."""
    if size > _MOST:
        raise LoadError(f"{size} bytes of variables in {name}, at most {_MOST}")
    try:
        return arena.allocate(size, name, align)
    except MemoryError:
        raise LoadError(f"there is no memory for {size} bytes of variables in {name}") from None


def constant_bytes(size: int) -> int:
    """The device memory of `size` bytes of constants, in bytes: string functions read aligned words, and so past the last one.

    The bank has zeros there for LDC (``Machine.set_bank``), and generic addresses find the same.
    """
    return -(-max(size, 1) // 16) * 16


class HasVariables(Protocol):
    """An image with device memory, and the address and size of each module variable."""

    arena: Arena
    variables: dict[str, tuple[int, int]]


class Globals:
    """Module variables by name: ``globals["x"]`` is a writable uint8 view of the variable's memory."""

    def __init__(self, image: HasVariables) -> None:
        self._image = image

    def __getitem__(self, name: str) -> Arr:
        """The bytes of a variable (a view: writes go to the module)."""
        address, size = self._image.variables[name]
        a = self._image.arena
        o = address - a.base
        return a.data[o : o + size]

    def __setitem__(self, name: str, value: Arr) -> None:
        """Copies an array into a variable."""
        raw = np.ascontiguousarray(value).reshape(-1).view(np.uint8)
        target = self[name]
        if len(raw) > len(target):
            raise ArgumentError(f"{name} has {len(target)} bytes, the value {len(raw)}")
        target[: len(raw)] = raw

    def __contains__(self, name: str) -> bool:
        return name in self._image.variables

    def names(self) -> list[str]:
        """The names of all variables."""
        return sorted(self._image.variables)
