"""What the driver knows: contexts, modules, functions, streams and events, each known by a number that clients hold."""

import itertools
import os
import threading
from typing import Any, ClassVar, Final

from orias.driver.devices import Device, chosen
from orias.driver.graph_memory import GraphMemory
from orias.driver.host_memory import HostArena
from orias.driver.interprocess import Opened
from orias.driver.library import PER_THREAD_STREAM
from orias.driver.results import NAMES, DriverError
from orias.driver.timeline import Timeline
from orias.driver.virtual_memory import VirtualMemory
from orias.sim.core.device_heap import SIZE as HEAP_SIZE
from orias.sim.core.launch import DEFAULT_STACK

_FIRST_HANDLE: Final = 0x51000000
_HANDLE_STEP: Final = 64
MALLOC_HEAP: Final = 2
"""CU_LIMIT_MALLOC_HEAP_SIZE"""
VERSION: Final = 13000
"""CUDA version that the driver reports."""


class Context:
    """A context: memory, limits, and the error that ends it."""

    def __init__(self, device: Device, flags: int) -> None:
        self.device = device
        self.flags = flags
        self.arena = HostArena.shared(device.memory)
        self.error = 0
        """Result of every later call after a kernel failed."""
        self.reported = True
        """Whether a call has returned it."""
        self.limits: dict[int, int] = {
            0: DEFAULT_STACK,
            1: 1 << 20,
            MALLOC_HEAP: HEAP_SIZE,
            3: 2,
            4: 2048,
            5: 128,
            6: 0,
        }
        """By number: bytes of stack, of the buffer of printf, of the heap ...; those of the stack and the heap have an effect."""
        self.cache_config = 0
        self.streams: list[int] = []
        self.alive = True

    @property
    def stack(self) -> int:
        """Bytes of stack that the program has asked for; 0 if it has not."""
        return self.limits[0] if self.limits[0] != DEFAULT_STACK else 0


class Stream:
    """A stream; its work is done when a call returns."""

    def __init__(self, context: Context, flags: int, priority: int) -> None:
        self.context = context
        self.flags = flags
        self.priority = priority
        self.capture: Any = None
        """The capture that it records for (orias.driver.graphs), None where it executes."""


class Event:
    """An event; ``time``: when it was recorded, in seconds of the device's timeline, None before."""

    def __init__(self, flags: int) -> None:
        self.flags = flags
        self.time: float | None = None
        self.captured: tuple[Any, list[Any]] | None = None
        """The capture that recorded it last, and the nodes before it."""

    def record(self, timeline: Timeline) -> None:
        """Takes the time."""
        self.time = timeline.event()


class Pool:
    """A pool of memory; ``attributes`` by number of CUmemPool_attribute."""

    def __init__(self) -> None:
        self.attributes = {1: 1, 2: 1, 3: 1, 4: 0, 5: 0, 6: 0, 7: 0, 8: 0}


class Driver:
    """The state of the driver in this process."""

    of_process: "ClassVar[Driver | None]" = None
    """The driver that the library of this process uses, None before its first call."""

    def __init__(self, path: str) -> None:
        self.path: Final = path
        self.device: Final = chosen()
        self.initialised = False
        self.forked = False
        """This process was forked off the one that uses the device: nothing works in it."""
        os.register_at_fork(after_in_child=self._fork)
        self.handles: dict[int, Any] = {}
        self._next = itertools.count(_FIRST_HANDLE, _HANDLE_STEP)
        self._stacks: dict[int, list[int]] = {}
        self._of_threads: dict[tuple[int, int], Stream] = {}
        self.primary = 0
        self.primary_uses = 0
        self.primary_flags = 0
        self.pool = self.new(Pool())
        self.current_pool = self.pool
        self.graph_memory: Final = GraphMemory()
        self.conditions: Final[dict[int, Any]] = {}
        """Conditions of graphs by handle."""
        self.virtual: Final = VirtualMemory()
        self.opened: Final = Opened()
        """Memory of other processes."""
        self.sanitizer: Any = None
        """The checks of ``orias exec --tool`` (orias.driver.sanitizer), None without."""
        self.told_of_runtime = False
        """The program was told that NVIDIA's CUDA runtime does not start here."""
        self.timeline: Final = Timeline.shared()
        self.keep: dict[str, Any] = {}
        """Bytes whose addresses clients hold."""

    def _fork(self) -> None:
        self.forked = True

    # -- handles

    def new(self, thing: Any) -> int:
        """A handle for an object."""
        handle = next(self._next)
        self.handles[handle] = thing
        return handle

    def get(self, handle: int, kind: type, result: str = "INVALID_HANDLE") -> Any:
        """The object of a handle; fails with `result` if it is not of this kind."""
        thing = self.handles.get(handle)
        if not isinstance(thing, kind):
            raise DriverError(result, f"0x{handle:x} is no {kind.__name__}")
        return thing

    def drop(self, handle: int, kind: type) -> Any:
        """Ends a handle; returns its object."""
        thing = self.get(handle, kind)
        del self.handles[handle]
        return thing

    def stream(self, handle: int) -> Stream | None:
        """The object of a stream; None for the default stream of all threads."""
        if handle == PER_THREAD_STREAM:
            return self._of_threads.setdefault((threading.get_ident(), self.current), Stream(self.context, 0, 0))
        if 0 <= handle < PER_THREAD_STREAM:
            return None
        found: Stream = self.get(handle, Stream)
        return found

    # -- contexts

    @property
    def stack(self) -> list[int]:
        """Handles of the contexts of the calling thread, the current one last."""
        return self._stacks.setdefault(threading.get_ident(), [])

    @property
    def current(self) -> int:
        """Handle of the current context, 0 for none."""
        stack = self.stack
        return stack[-1] if stack else 0

    @property
    def context(self) -> Context:
        """The current context; INVALID_CONTEXT without one."""
        found = self.handles.get(self.current)
        if not isinstance(found, Context):
            raise DriverError("INVALID_CONTEXT", "no context is current")
        return found

    @property
    def arena(self) -> HostArena:
        """The device's memory."""
        return HostArena.shared(self.device.memory)

    def set_current(self, handle: int) -> None:
        """Replaces the current context of the thread; 0 for none."""
        stack = self.stack
        if stack:
            stack.pop()
        if handle:
            stack.append(handle)

    def forget(self, handle: int) -> None:
        """Takes a destroyed context from all stacks."""
        for stack in self._stacks.values():
            stack[:] = [h for h in stack if h != handle]

    def retain(self) -> int:
        """The handle of the primary context, which is made if there is none."""
        if not self.primary:
            self.primary = self.new(Context(self.device, self.primary_flags))
        return self.primary

    def start(self) -> None:
        """What the CUDA runtime does at its first call: initialises, and makes the primary context current."""
        if not self.forked:
            self.initialised = True
        if not self.current:
            self.primary_uses = max(self.primary_uses, 1)
            self.stack.append(self.retain())

    def check(self, needs: str) -> None:
        """Fails unless the driver is initialised, or a healthy context is current, as a function needs it."""
        if needs == "nothing":
            return
        if needs == "runtime":
            self.start()
        if not self.initialised or self.forked:
            raise DriverError("NOT_INITIALIZED")
        if needs in ("context", "runtime"):
            error = self.context.error
            if error:
                self.context.reported = True
                raise DriverError(NAMES[error].removeprefix("CUDA_ERROR_"), "an earlier kernel failed")
