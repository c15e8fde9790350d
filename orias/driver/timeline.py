"""The device's time and what it has run: launches with instructions and modelled cycles, and copies.

Work is done in the order of the calls, so there is one timeline for all streams.  A launch takes the cycles of the machine
model (``orias/perf/launch_time.py``) at the device's clock rate, a copy its bytes over the bandwidth of the device's memory.
"""

import contextlib
import fnmatch
import os
import sys
from typing import Final, NamedTuple

from orias.cubin.cubin_error import CubinError
from orias.driver.devices import Device
from orias.perf.kernel_steps import KernelCode, kernel_of
from orias.perf.launch_time import LaunchTime
from orias.sim.core.image import Image

Codes = dict[str, KernelCode | None]
_CLOCK: Final = 13
_SMS: Final = 16
_MEMORY_CLOCK: Final = 36
_BUS_WIDTH: Final = 37
"""Numbers of CUdevice_attribute: kHz, multiprocessors, kHz, bits."""
RESOLUTION: Final = 0.5e-6
"""Seconds that an event takes: events have about this resolution, and no time between two is zero."""


class LaunchRecord(NamedTuple):
    """A launch: kernel, grid and block, instructions (summed over threads), and cycles of the model (0: not modelled)."""

    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    instructions: int
    cycles: int


class Total(NamedTuple):
    """What the launches of a kernel took together."""

    launches: int
    instructions: int
    cycles: int
    seconds: float


Totals = dict[str, Total]


def merge(totals: Totals, kernel: str, launches: int, instructions: int, cycles: int, seconds: float) -> None:
    """Adds launches of a kernel."""
    t = totals.get(kernel, Total(0, 0, 0, 0.0))
    totals[kernel] = Total(t[0] + launches, t[1] + instructions, t[2] + cycles, t[3] + seconds)


def table(totals: Totals) -> list[str]:
    """The lines of a table of kernels, those with the most time first; empty without a launch."""
    rows = sorted(totals.items(), key=lambda x: (-x[1].seconds, -x[1].instructions, x[0]))
    out = [f"{'launches':>8} {'instructions':>14} {'cycles':>12} {'microseconds':>12}  kernel"]
    for name, t in rows:
        time = f"{t.cycles:>12} {1e6 * t.seconds:>12.1f}" if t.cycles else f"{'-':>12} {'-':>12}"
        out.append(f"{t.launches:>8} {t.instructions:>14} {time}  {name}")
    return out if totals else []


_made: "list[Timeline]" = []


class Timeline:
    """What the device of this process has done.

    ``modelled``: the cycles of launches are worked out.  ``listener``: gets each launch, None for nobody.  ``totals``: by kernel.
    """

    def __init__(self) -> None:
        self.modelled = False
        self.listener: list[LaunchRecord] | None = None
        self.seconds = 0.0
        self.totals: Totals = {}

    @staticmethod
    def shared() -> "Timeline":
        """The timeline of this process's device, made at the first call."""
        if not _made:
            _made.append(Timeline())
            _made[0].modelled = bool(os.environ.get("ORIAS_REPORT"))
        return _made[0]

    def measure(self, image: Image, codes: Codes, name: str, sizes: tuple[int, int, int]) -> LaunchTime | None:
        """The model of a launch that begins; None if it is not asked for.

        `codes`: the kernels of the module that the model has read.  `sizes`: blocks, threads of a block, bytes of dynamic shared memory.
        """
        if not self.modelled:
            return None
        if name not in codes:
            codes[name] = None
            # Code that the model cannot read has no modelled time; running it says more.
            with contextlib.suppress(CubinError, KeyError, ValueError):
                codes[name] = kernel_of(image.reader, name)
        code = codes[name]
        return None if code is None else LaunchTime(image, code, *sizes)

    def launched(self, device: Device, record: LaunchRecord, time: LaunchTime | None) -> None:
        """Enters a launch that has ended; `record` without its cycles."""
        cycles = 0 if time is None else time.cycles(device.attributes[_SMS])
        seconds = cycles / (1000 * device.attributes[_CLOCK])
        self.seconds += seconds
        merge(self.totals, record.kernel, 1, record.instructions, cycles, seconds)
        if self.listener is not None:
            self.listener.append(record._replace(cycles=cycles))

    def moved(self, device: Device, size: int) -> None:
        """Enters a copy or a fill of so many bytes."""
        a = device.attributes
        self.seconds += size / (2 * 1000 * a[_MEMORY_CLOCK] * a[_BUS_WIDTH] / 8)

    def event(self) -> float:
        """The time of an event that is recorded now, in seconds."""
        self.seconds += RESOLUTION
        return self.seconds


def matching(launches: list[LaunchRecord], pattern: str) -> list[LaunchRecord]:
    """The launches of kernels with this name; ``*``, ``?`` and ``[...]`` as in the shell."""
    return [r for r in launches if fnmatch.fnmatchcase(r.kernel, pattern)]


def print_report(timeline: Timeline) -> None:
    """Writes the table to standard error."""
    sys.stderr.write("".join(f"orias: {line}\n" for line in table(timeline.totals)))
