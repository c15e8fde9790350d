"""Kernels that kernels launch (dynamic parallelism): the functions of the system that the device runtime calls.

A program links the device runtime (``libcudadevrt``); its functions, ``__cudaCDP2LaunchDeviceV2`` and others, call those of the
system with their own arguments.  Which they are, and the numbers of errors, was read from its code and its table of errors in CUDA 13.0.

A launch is noted, and done when the grid that asked for it has ended: device code cannot wait for it, so only a grid that polls
memory could tell.  All streams are done in the order of the calls, but the tail stream last, as it has to be.
"""

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from orias.cubin.model import KernelCode
from orias.sim.core.generic_bytes import bytes_at, put_at
from orias.sim.core.state import Active, Machine
from orias.sim.math.ops_int import U32
from orias.target.driver import DEVICE_LAUNCHES

Arr = npt.NDArray[Any]
Dim3 = tuple[int, int, int]

DEEPEST: Final = 24
"""Launches in each other (CUDA C++ Programming Guide, "Dynamic Parallelism")."""
_TAIL_STREAM: Final = 3
_FIRST_HANDLE: Final = 1 << 32
"""Handle of the first stream or event that a kernel makes."""
_NOTHING, _TOO_DEEP, _WRONG_SIZES, _WRONG_VALUE = 0, 5, 7, 1
"""Results of the functions, in the numbers of the device runtime."""
_MOST_THREADS: Final = 1024
FUNCTIONS: Final = frozenset(
    DEVICE_LAUNCHES + name
    for name in (
        "GetParameterBufferV2", "LaunchDeviceV2", "SetLastError", "GetLastError", "StreamCreate", "StreamDestroy",
        "EventCreate", "EventRecord", "EventDestroy", "StreamWaitEvent", "GetDevice", "GetDeviceCount",
    )
)  # fmt: skip
"""Functions of the system that there are; streams and events need no more than a handle, for all is done in order."""


class DeviceLaunch(NamedTuple):
    """A launch by a kernel; ``arguments``: the bytes of each parameter, ``tail``: after all others of its grid."""

    kernel: str
    grid: Dim3
    block: Dim3
    shared: int
    arguments: list[bytes]
    tail: bool


class _Buffer(NamedTuple):
    """Memory for parameters, and what is to be launched with them."""

    kernel: KernelCode
    grid: Dim3
    block: Dim3
    shared: int


class DeviceLaunches:
    """What the kernels of an image launch.  ``kernels``: by address; ``depth``: launches that led to the one that runs."""

    def __init__(self) -> None:
        self.kernels: dict[int, KernelCode] = {}
        self.depth = 0
        self._asked: list[DeviceLaunch] = []
        self._buffers: dict[int, _Buffer] = {}
        self._handles = 0

    def begin(self, depth: int) -> None:
        """Begins a grid."""
        self.depth = depth
        self._asked = []
        self._buffers.clear()

    def take(self) -> list[DeviceLaunch]:
        """What the grid that has ended launched, in order."""
        asked, self._asked = self._asked, []
        return sorted(asked, key=lambda c: c.tail)

    def __call__(self, m: Machine, name: str, who: Active) -> None:
        """Executes a function for some threads."""
        short = name.removeprefix(DEVICE_LAUNCHES)
        results = []
        for i in range(who.n):
            one = Active(who.index[i : i + 1])
            results.append(self._one(m, short, one))
        low = np.array([r & 0xFFFFFFFF for r in results], U32)
        m.R[4][who.sel] = low
        if short == "GetParameterBufferV2":
            m.R[5][who.sel] = np.array([r >> 32 for r in results], U32)

    def _one(self, m: Machine, name: str, one: Active) -> int:
        """The result of a function for one thread."""
        thread = int(one.index[0])

        def word(number: int) -> int:
            return int(m.R[number][thread])

        if name == "GetParameterBufferV2":
            sizes = [word(k) for k in range(6, 13)]
            kernel = self.kernels.get(word(4) | word(5) << 32)
            if kernel is None:
                return 0
            place = m.arena.allocate(max(kernel.param_bytes, 16), "parameters")
            grid, block = (sizes[0], sizes[1], sizes[2]), (sizes[3], sizes[4], sizes[5])
            self._buffers[place] = _Buffer(kernel, grid, block, sizes[6])
            return place
        if name == "LaunchDeviceV2":
            return self._launch(m, word(4) | word(5) << 32, word(6), one)
        if name == "SetLastError":
            m.launch_errors[thread] = word(4)
            return word(4)
        if name == "GetLastError":
            return m.launch_errors.get(thread, _NOTHING)
        if name in ("StreamCreate", "EventCreate"):
            self._handles += 1
            put_at(m, one, word(4) | word(5) << 32, (_FIRST_HANDLE + self._handles).to_bytes(8, "little"))
        elif name in ("GetDevice", "GetDeviceCount"):
            put_at(m, one, word(4) | word(5) << 32, (name == "GetDeviceCount").to_bytes(4, "little"))
        return _NOTHING

    def _launch(self, m: Machine, place: int, stream: int, one: Active) -> int:
        """Notes a launch."""
        b = self._buffers.pop(place, None)
        if b is None:
            return _WRONG_VALUE
        threads = b.block[0] * b.block[1] * b.block[2]
        if min(*b.grid, *b.block) < 1 or threads > _MOST_THREADS:
            return _WRONG_SIZES
        if self.depth >= DEEPEST:
            return _TOO_DEEP
        data = bytes_at(m, one, place, b.kernel.param_bytes) if b.kernel.param_bytes else b""
        m.arena.release(place)
        slots = sorted(b.kernel.params, key=lambda p: p.ordinal)
        arguments = [data[p.offset : p.offset + p.size] for p in slots]
        self._asked.append(DeviceLaunch(b.kernel.name, b.grid, b.block, b.shared, arguments, stream == _TAIL_STREAM))
        return _NOTHING
