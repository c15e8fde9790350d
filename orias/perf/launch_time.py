"""Cycles of a whole launch by the machine model, from a sample of its blocks.

The blocks are spread evenly over the grid; their traces stand for those of all others.  Every SM gets the same number of
blocks, and the launch takes as long as the SM with the most work.  A sector of 32 bytes comes from beyond the first cache
when a block loads it first, and from that cache after it.
"""

import hashlib
from array import array
from typing import Any, Final, final

import numpy as np
import numpy.typing as npt

from orias.perf.kernel_steps import KernelCode
from orias.perf.resident_blocks import occupancy
from orias.perf.trace import Recorder, Sample, visits
from orias.sim.core.image import Image
from orias.sim.core.state import Machine
from orias.timing.machine_numbers import machine
from orias.timing.play import Player

Arr = npt.NDArray[Any]

_SAMPLE: Final = 4
"""Blocks that are recorded, at most."""
_SAMPLE_WARPS: Final = 32
"""Warps that are recorded, at most, if one block does not have more."""
_ROOM: Final = 200_000
"""Instructions of warps that are recorded, at most."""
_PLAYED: Final = 400_000
"""Instructions of warps that are played, at most, if one block does not have more."""
_ROUNDS: Final = 2
"""Fillings of an SM that are played; more take as long in proportion."""
_ALONE: Final = 4
"""SMs that are played, at most."""


@final
class LaunchTime:
    """The model's time of one launch: give :meth:`start` to the launch as ``timing``, then ask for :meth:`cycles`."""

    def __init__(self, image: Image, code: KernelCode, blocks: int, threads: int, dynamic: int) -> None:
        """`blocks` of the grid, `threads` of a block, `dynamic` shared memory in bytes."""
        self._image: Final = image
        self._code: Final = code
        self._blocks: Final = blocks
        self._warps: Final = (threads + 31) // 32
        shared = max(code.shared, code.profile.number("system_shared")) + dynamic
        self._resident: Final = occupancy(code.profile, code.registers, threads, shared).blocks
        self._first: Final = next(at >> 4 for at, name in image.code_places() if name == code.name)
        count = max(1, min(blocks, _SAMPLE, _SAMPLE_WARPS // self._warps))
        self._sample: Final = [(2 * k + 1) * blocks // (2 * count) for k in range(count)]
        self._begun = 0
        self._room = _ROOM
        self._recorders: list[tuple[Recorder, list[int]]] = []

    def start(self, m: Machine) -> Recorder | None:
        """The recorder of a batch of blocks, None if it has none of the sample."""
        count = m.warps // self._warps
        mine = [k - self._begun for k in self._sample if self._begun <= k < self._begun + count]
        self._begun += count
        room = self._room - sum(len(t) for r, _ in self._recorders for t in r.traces)
        if not mine:
            return None
        wanted = np.zeros((count, self._warps), np.bool_)
        wanted[mine] = True
        recorder = Recorder(m, self._image, self._first, sample=Sample(wanted.reshape(-1), room, self._warps))
        self._recorders.append((recorder, mine))
        return recorder

    def cycles(self, multiprocessors: int) -> int:
        """Cycles of the launch on a device with so many SMs; 0 if nothing of the kernel was recorded."""
        seen = left = 0
        blocks: list[list[list[int]]] = []
        for recorder, mine in self._recorders:
            left += recorder.left_out
            seen += sum(len(t) for t in recorder.traces)
            for k in mine:
                traces = recorder.traces[k * self._warps : (k + 1) * self._warps]
                blocks.append([visits(t, self._code) for t in traces])
        size = sum(len(t) for b in blocks for t in b) // max(1, len(blocks))
        if not size:
            return 0
        share = -(-self._blocks // multiprocessors)
        count = max(1, min(share, _ROUNDS * self._resident, _PLAYED // size))
        players = max(1, min(_ALONE, len(blocks) // count, _PLAYED // (size * count)))
        worst = 0
        for p in range(players):
            work = [blocks[(p * count + k) % len(blocks)] for k in range(count)]
            worst = max(worst, self._play(work))
        return round(worst * share / count * (seen + left) / seen)

    def _play(self, work: list[list[list[int]]]) -> int:
        """Cycles of blocks on one SM; programs launch the same work again and again, which is played once."""
        digest = hashlib.blake2b(b"%d" % self._resident, digest_size=16)
        for block in work:
            for trace in block:
                digest.update(b"%d:" % len(trace))
                digest.update(array("q", trace))
        key = digest.digest()
        known = self._code.played.get(key)
        if known is None:
            played = Player(machine(self._code.profile.sm), self._code.steps, True).play(work, self._resident)
            known = self._code.played[key] = played.cycles
        return known
