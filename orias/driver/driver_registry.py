"""The functions of the driver by symbol, and how they read and write the memory of their callers."""

import ctypes
from collections.abc import Callable
from typing import Final, NamedTuple

from orias.driver.results import DriverError


class Handler(NamedTuple):
    """A function (``driver``, its arguments as numbers; returns a result or None for success) and what it ``needs``.

    ``needs``: ``nothing``, ``init`` (cuInit was called), ``context`` (and a context without error is current), ``runtime``
    (the same, made where they are missing).
    """

    function: Callable[..., int | None]
    needs: str


HANDLERS: Final[dict[str, Handler]] = {}


def call(*symbols: str, needs: str = "context") -> Callable[[Callable[..., int | None]], Callable[..., int | None]]:
    """Enters a function under these symbols."""

    def enter(function: Callable[..., int | None]) -> Callable[..., int | None]:
        for symbol in symbols:
            HANDLERS[symbol] = Handler(function, needs)
        return function

    return enter


def _pointer(address: int) -> int:
    if not address:
        raise DriverError("INVALID_VALUE", "a null pointer")
    return address


def put32(address: int, value: int) -> None:
    """Stores an int."""
    ctypes.c_int32.from_address(_pointer(address)).value = value


def put64(address: int, value: int) -> None:
    """Stores a pointer, handle or size."""
    ctypes.c_uint64.from_address(_pointer(address)).value = value


def put_float(address: int, value: float) -> None:
    """Stores a float."""
    ctypes.c_float.from_address(_pointer(address)).value = value


def get32(address: int) -> int:
    """Loads an unsigned int."""
    return ctypes.c_uint32.from_address(_pointer(address)).value


def get64(address: int) -> int:
    """Loads a pointer, handle or size."""
    return ctypes.c_uint64.from_address(_pointer(address)).value


def get_string(address: int) -> str:
    """A zero-terminated string."""
    return ctypes.string_at(_pointer(address)).decode("utf-8", "replace")


def put_string(address: int, size: int, text: bytes) -> None:
    """Stores as much of a string as fits, zero-terminated."""
    if size > 0:
        part = text[: size - 1] + b"\0"
        ctypes.memmove(_pointer(address), part, len(part))


def u(value: int, bits: int = 64) -> int:
    """An argument as unsigned number."""
    return value & (1 << bits) - 1


def options(count: int, kinds: int, values: int) -> dict[int, int]:
    """Options of the JIT: value by number; `values` has pointers that small values are cast to."""
    return {get32(kinds + 4 * i): get64(values + 8 * i) for i in range(count)} if count else {}
