"""Handles of device memory and of events for other processes."""

import ctypes
from typing import Final

from orias.driver import interprocess
from orias.driver.calls_stream import DISABLE_TIMING, INTERPROCESS
from orias.driver.driver_registry import call, put64, u
from orias.driver.driver_state import Driver, Event
from orias.driver.results import DriverError

_LAZY_PEER_ACCESS: Final = 1
"""CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS, which every call has to give."""


@call("cuIpcGetMemHandle")
def get_memory(d: Driver, place: int, address: int) -> None:
    """The handle of an allocation."""
    ctypes.memmove(place, interprocess.memory_handle(d.arena, u(address)), interprocess.HANDLE_BYTES)


@call("cuIpcOpenMemHandle_v2", "cuIpcOpenMemHandle")
def open_memory(d: Driver, place: int, handle: int, flags: int) -> None:
    """Memory of another process."""
    if flags != _LAZY_PEER_ACCESS:
        raise DriverError("INVALID_VALUE", f"flags {flags}")
    put64(place, d.opened.add(d.arena, ctypes.string_at(handle, interprocess.HANDLE_BYTES)))


@call("cuIpcCloseMemHandle")
def close_memory(d: Driver, address: int) -> None:
    """End its use."""
    d.opened.close(d.arena, u(address))


@call("cuIpcGetEventHandle")
def get_event(d: Driver, place: int, event: int) -> None:
    """The handle of an event that was made for other processes."""
    if not d.get(event, Event).flags & INTERPROCESS:
        raise DriverError("INVALID_HANDLE", "the event was not made for other processes")
    ctypes.memmove(place, interprocess.event_handle(), interprocess.HANDLE_BYTES)


@call("cuIpcOpenEventHandle")
def open_event(d: Driver, place: int, handle: int) -> None:
    """An event of another process."""
    interprocess.check_event(ctypes.string_at(handle, interprocess.HANDLE_BYTES))
    put64(place, d.new(Event(INTERPROCESS | DISABLE_TIMING)))
