"""Runs instructions of a batch by the C library, as far as it goes."""

import ctypes
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from orias.sim.core.banked_memory import Arena
from orias.sim.core.state import Active, Machine
from orias.sim.math.ops_int import I64, U64
from orias.sim.native.record_format import BANKS, RECORD
from orias.sim.native.vector_library import library

_WIDEST: Final = 1 << 20
"""Threads of a range at the most: scratch memory of the C library."""
_JUMPS, _FUSED = 1, 2
_POINTER: Final = ctypes.c_void_p


class _State(ctypes.Structure):
    """``State`` of ``state.h``."""

    _fields_ = (
        *((x, _POINTER) for x in ("registers", "uniform", "barriers", "alive", "arrived", "predicates", "uniform_predicates")),
        ("bank", _POINTER * 8),
        *((x, _POINTER) for x in ("arena", "shared", "local", "shared_words", "starts", "ends", "address")),
        *(
            (x, ctypes.c_int64)
            for x in (
                "threads", "warps", "allocations", "arena_base", "shared_size", "shared_reach", "local_stride", "local_base",
                "local_size", "local_reach", "shared_window", "window_bits", "local_window", "may_store", "steps", "instructions",
                "arrivals", "left", "polled", "pieces", "unit",
            )
        ),
        ("places", _POINTER),
    )  # fmt: skip


class Records:
    """The records of a module's instructions, made by `record` when they are reached."""

    def __init__(self, count: int, record: Callable[[int], tuple[object, ...] | None]) -> None:
        self.table: Final = np.zeros(count, RECORD)
        self.address: Final = self.table.ctypes.data
        self.known: Final = bytearray(count)
        """0: not looked at; 1: the C code has it; 2: it has not."""
        self._record = record

    def find(self, pc: int) -> None:
        """Makes the records from an instruction on, up to one that the C code does not have."""
        while pc < len(self.known) and not self.known[pc]:
            made = self._record(pc)
            if made is None:
                self.known[pc] = 2
                return
            self.table[pc] = made
            self.known[pc] = 1
            pc += 1


def _at(a: npt.NDArray[Any]) -> int:
    return int(a.ctypes.data)


class Vector:
    """The C code for one machine."""

    def __init__(self, run: Any, m: Machine, records: Records) -> None:
        self._run: Final = run
        self._m: Final = m
        self._records: Final = records
        self._known: Final = records.known
        self._last: Final = len(records.known)
        s = self._state = _State()
        self._place: Final = ctypes.addressof(s)
        s.registers, s.uniform, s.barriers = _at(m.store), _at(m.uniform_store), _at(m.barrier_store)
        s.predicates, s.uniform_predicates = _at(m.predicate_store), _at(m.uniform_predicate_store)
        s.bank = (_POINTER * 8)(*[_at(m.const[k]) if k in m.const and k in BANKS else None for k in range(8)])
        self._address: Final = np.empty(m.threads, U64)
        s.address = _at(self._address)
        self._places: Final = np.empty(m.threads // 32 + 2, I64)
        s.places = _at(self._places)
        self.parts: list[tuple[int, Active]] = []
        self.polled = False
        s.threads, s.warps = m.threads, m.warps
        bits = 32 if m.has_clusters else 24
        s.window_bits, s.shared_window, s.local_window = bits, m.window_shared >> bits, m.window_local >> 24
        if m.cluster_size == 1 and m.shared.base == 0:
            s.shared = _at(m.shared.data)
        s.shared_words = _at(m.bank_words)
        s.shared_size = m.shared.size
        s.local_stride, s.local_base, s.local_size = m.local.stride, m.local.base, m.local.size
        s.may_store = m.arena.log is None
        self._changes = -1
        self._local_pending = True
        self._starts = self._ends = np.empty(0, I64)

    def _refresh(self, arena: Arena) -> None:
        """Takes over what allocations there are, and local memory once it is there."""
        s = self._state
        self._changes = arena.changes
        self._starts, self._ends = arena.reachable()
        s.starts, s.ends, s.allocations = _at(self._starts), _at(self._ends), len(self._starts)
        s.arena, s.arena_base = _at(arena.data), arena.base
        self._local_pending = self._m.local.pending
        if not self._local_pending:
            s.local = _at(self._m.local.data)

    def attach(self, alive: npt.NDArray[Any], arrived: npt.NDArray[Any]) -> None:
        """Takes over the engine's arrays: lanes of each warp that have not exited, and arrivals at barriers of blocks."""
        s = self._state
        s.alive, s.arrived, s.arrivals = _at(alive), _at(arrived), arrived.size

    def run(
        self, pc: int, cur: Active, end: int, most: int, jumps: bool, together: bool, left: int
    ) -> tuple[int, int, int]:
        """Runs threads from an instruction on: the next instruction, and the steps and instructions of threads that were done.

        It stops before instruction `end` and after `most` steps.  `jumps`: branches that all threads take are followed.
        Without `together` some threads may get further than others; then ``parts`` has all of them with their next
        instructions, the lowest last.
        """
        self.parts = []
        if not 0 <= pc < self._last:
            return pc, 0, 0
        known = self._known[pc]
        if known != 1:
            if known:
                return pc, 0, 0
            self._records.find(pc)
            if self._known[pc] != 1:
                return pc, 0, 0
        first, stop, lanes = cur.warp_rows
        if stop - first > _WIDEST:
            return pc, 0, 0
        m = self._m
        if m.arena.changes != self._changes or (self._local_pending and not m.local.pending):
            self._refresh(m.arena)
        self._state.left = left
        how = (_JUMPS if jumps else 0) | (0 if together else _FUSED)
        pc = self._run(
            self._place,
            self._records.address,
            pc,
            end,
            self._last,
            first,
            stop,
            None if lanes is None else _at(lanes),
            cur.n,
            most,
            how,
        )
        s = self._state
        self.polled = bool(s.polled)
        if s.pieces:
            self.parts = self._apart(cur, self._places[: s.pieces], s.unit)
        m.shared.reach = max(m.shared.reach, s.shared_reach)
        m.local.reach = max(m.local.reach, s.local_reach)
        return pc, s.steps, s.instructions

    @staticmethod
    def _apart(cur: Active, places: npt.NDArray[Any], unit: int) -> list[tuple[int, Active]]:
        """Threads by the next instruction of their piece, the lowest last; pieces without threads do not count."""
        first, stop, lanes = cur.warp_rows
        of = np.repeat(places, unit)[: stop - first]
        masks = [(int(pc), of == pc if lanes is None else (of == pc) & lanes) for pc in np.unique(places)[::-1]]
        return [(pc, Active.where(mask, first)) for pc, mask in masks if mask.any()]


def vector(m: Machine, records: Callable[[int], Records]) -> Vector | None:
    """The C code for a machine, None where it cannot be used; `records` makes those for a count of registers."""
    run = library()
    if run is None or m.mufu_error:
        return None
    return Vector(run, m, records(m.register_count))
