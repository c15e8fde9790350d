"""Pages of the program's memory that kernels store to, in a process that was forked off: only the bytes of stores are handed back."""

import numpy as np

from orias.sim.core.banked_memory import PAGE, Arena
from orias.sim.core.parallel_blocks import PagesBefore


class Mixed(Arena):
    """A memory whose second page others write to."""

    def among_others(self, offset):
        other = (offset >= PAGE) & (offset < 2 * PAGE)
        return other if other.any() else None


def test_only_stores_are_changes():
    arena = Mixed(4 * PAGE)
    log = PagesBefore(arena)
    for places, size in ((np.array([PAGE + 8, PAGE + 40]), 4), (np.array([2 * PAGE]), 8), (np.array([PAGE + 8]), 4)):
        log.note(places, size)
        for at in places:
            arena.data[at : at + size] = 7
    arena.data[PAGE + 20] = 9  # What the process does to its own heap.
    arena.data[2 * PAGE + 100] = 5
    other = np.zeros(4 * PAGE, np.uint8)
    other[PAGE + 20] = 1
    log.changes().apply(other)
    expected = [*range(PAGE + 8, PAGE + 12), *range(PAGE + 40, PAGE + 44), *range(2 * PAGE, 2 * PAGE + 8)]
    assert np.flatnonzero(other == 7).tolist() == expected
    assert other[PAGE + 20] == 1 and other[2 * PAGE + 100] == 5
