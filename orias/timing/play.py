"""Plays the executed instructions of warps through a model of one multiprocessor.

The model is that of Huerta et al. (MICRO 2025, ``docs/facts/machine.md``): four sub-cores, each of which issues one
instruction a cycle, of the same warp again if it may issue and else of the youngest that may.  A warp may issue when its
stall count has run down, the scoreboards of its wait mask are at zero, the input of the unit is free and the memory
queue is not full.  What was not measured there is marked as a guess in ``data/machine.txt``.

Not modelled: instruction fetch, misses of the constant cache, and the state of the caches: all data is near (the first
level) or all of it is far.
"""

from heapq import heappop, heappush
from typing import Final, final

from orias.timing.machine_numbers import Machine
from orias.timing.register_ports import RegisterPorts
from orias.timing.step import FP32, GLOBAL, IMAD, NEAR, NO_DEPBAR, NO_UNIT, UNITS, Step

WAVES_BITS: Final = 8
SECTORS_BITS: Final = 11
_WAVES_MASK: Final = (1 << WAVES_BITS) - 1
_SECTORS_MASK: Final = (1 << SECTORS_BITS) - 1
_TAKEN_SHIFT: Final = WAVES_BITS + SECTORS_BITS
_STEP_SHIFT: Final = _TAKEN_SHIFT + 1

BY_STALL: Final = 0
"""A stall count (the time that fixed-latency results need)."""
BY_SCOREBOARD: Final = 1
BY_BARRIER: Final = 2
BY_BRANCH: Final = 3
BY_UNIT: Final = 4
BY_QUEUE: Final = 5
BY_PORTS: Final = 6
BY_OTHERS: Final = 7
"""The warp could issue, but its sub-core issued for another one."""
CAUSES: Final[tuple[str, ...]] = (
    "stall count", "scoreboard", "barrier", "branch", "unit", "memory queue", "register ports", "other warps",
)  # fmt: skip


def visit(step: int, taken: bool = False, waves: int = 1, sectors: int = 0) -> int:
    """One executed instruction of a warp, as an element of a trace.

    ``step``: index of its Step.  ``taken``: control went elsewhere than to the next instruction.  ``waves``: times that it
    takes the shared unit of the SM (more than one for conflicts and wide data).  ``sectors``: blocks of 32 bytes that it
    moves if its data is far.
    """
    return (
        step << _STEP_SHIFT
        | taken << _TAKEN_SHIFT
        | min(sectors, _SECTORS_MASK) << WAVES_BITS
        | min(max(waves, 1), _WAVES_MASK)
    )


def step_of(v: int) -> int:
    """Index of the step of a trace element."""
    return v >> _STEP_SHIFT


def units_of(v: int) -> tuple[int, int]:
    """Waves and sectors of a trace element."""
    return v & _WAVES_MASK, v >> WAVES_BITS & _SECTORS_MASK


@final
class Wait:
    """A wait of a warp for data from memory.

    ``step``: index of the waiting instruction; ``cycles`` that it waited; ``under_way``: loads that were under way;
    ``distance``: instructions from the load whose data came last.
    """

    __slots__ = ("cycles", "distance", "step", "under_way")

    def __init__(self, step: int, cycles: int, under_way: int, distance: int) -> None:
        self.step: Final[int] = step
        self.cycles: Final[int] = cycles
        self.under_way: Final[int] = under_way
        self.distance: Final[int] = distance


@final
class Played:
    """What a run through the model gave.

    ``cycles``: until the last instruction has issued.  ``issued``: instructions.  ``counts``, ``lost``: for each step, how
    often it issued, and the cycles that its warps waited before it, by cause (``lost[step * len(CAUSES) + cause]``).
    ``busy``: cycles that each unit of all sub-cores was held.  ``waits``: waits for loads.  ``port_reads``, ``port_hits``:
    operand reads, and those that the reuse cache served.  ``port_bubbles``: cycles lost to register banks.  ``log``: issue
    times of the first warps, as (cycle, warp, step), if asked for.
    """

    __slots__ = (
        "busy",
        "counts",
        "cycles",
        "issued",
        "log",
        "lost",
        "port_bubbles",
        "port_hits",
        "port_reads",
        "waits",
    )

    def __init__(self, steps: int) -> None:
        self.cycles: int = 0
        self.issued: int = 0
        self.counts: list[int] = [0] * steps
        self.lost: list[int] = [0] * (steps * len(CAUSES))
        self.busy: list[int] = [0] * len(UNITS)
        self.waits: list[Wait] = []
        self.port_reads: int = 0
        self.port_hits: int = 0
        self.port_bubbles: int = 0
        self.log: list[tuple[int, int, int]] = []

    def by_cause(self, cause: int) -> int:
        """Cycles that warps waited for one cause, over all steps."""
        return sum(self.lost[cause :: len(CAUSES)])


@final
class _Warp:
    """A warp under way."""

    __slots__ = ("at", "block", "cause", "counters", "earliest", "loads", "number", "ready", "sub", "trace")

    def __init__(self, number: int, block: int, trace: list[int], sub: int) -> None:
        self.number: Final[int] = number
        self.block: Final[int] = block
        self.trace: Final[list[int]] = trace
        self.sub: Final[int] = sub
        self.at: int = 0
        self.ready: int = 0
        """First cycle in which nothing of its own keeps it from issuing."""
        self.earliest: int = 0
        """The cycle after its last issue."""
        self.cause: int = BY_OTHERS
        self.counters: list[list[int]] = [[], [], [], [], [], []]
        """The release times of what each scoreboard counts."""
        self.loads: list[tuple[int, int]] = []
        """(release, position) of the loads under way."""


@final
class _SubCore:
    """The state of a sub-core."""

    __slots__ = (
        "allocate",
        "free",
        "gate",
        "last",
        "lite",
        "ports",
        "queue",
        "runnable",
        "scheduled",
        "unit_left",
        "waiting",
    )

    def __init__(self) -> None:
        self.gate: int = 0
        """First cycle of the next issue."""
        self.allocate: int = 0
        """First cycle in which the stage that books register ports is free."""
        self.free: list[int] = [0] * len(UNITS)
        self.lite: int = 0
        """First cycle in which the second float unit is free."""
        self.queue: list[int] = []
        """When each operation in the memory queue leaves it, in order."""
        self.unit_left: int = -(1 << 30)
        self.ports: RegisterPorts = RegisterPorts()
        self.waiting: list[tuple[int, int]] = []
        self.runnable: list[int] = []
        self.last: int = -1
        self.scheduled: int = -1


@final
class Player:
    """One multiprocessor.  ``far``: the sectors of global memory that traces have come from beyond the first cache."""

    __slots__ = (
        "_address_cycles", "_arrived", "_barrier_release", "_blocks", "_depbar_stall", "_events", "_far_bytes", "_far_free",
        "_far_latency", "_left", "_log_warps", "_next", "_queue_size", "_resident", "_self_wait", "_shared_bytes", "_shared_cycles",
        "_shared_free", "_subs", "_taken", "_two_float_units", "_visible", "_warps", "far", "result", "steps",
    )  # fmt: skip

    def __init__(self, m: Machine, steps: list[Step], far: bool, log_warps: int = 0) -> None:
        self.steps: Final[list[Step]] = steps
        self.far: Final[bool] = far
        self.result: Final[Played] = Played(len(steps))
        self._subs: Final[list[_SubCore]] = [_SubCore() for _ in range(m.one("subcores"))]
        self._queue_size: Final[int] = m.one("memory_queue")
        self._address_cycles: Final[int] = m.one("address_cycles")
        self._shared_cycles: Final[int] = m.one("shared_unit_cycles")
        self._shared_bytes: Final[int] = m.one("shared_unit_bytes")
        self._far_latency: Final[int] = m.one("far_latency") - m.by_width("raw.global", 1)
        self._far_bytes: Final[int] = m.one("far_bytes")
        self._taken: Final[int] = m.one("taken_branch")
        self._barrier_release: Final[int] = m.one("barrier_release")
        self._self_wait: Final[int] = m.one("self_wait")
        self._depbar_stall: Final[int] = m.one("depbar_stall")
        self._visible: Final[int] = m.one("counter_visible")
        self._two_float_units: Final[bool] = m.one("hold.fp32") == 1
        self._shared_free: int = 0
        self._far_free: int = 0
        self._events: Final[list[tuple[int, int]]] = []
        self._warps: Final[list[_Warp]] = []
        self._blocks: list[list[list[int]]] = []
        self._next: int = 0
        self._resident: int = 0
        self._left: Final[dict[int, int]] = {}
        self._arrived: Final[dict[int, list[int]]] = {}
        self._log_warps: Final[int] = log_warps

    def play(self, blocks: list[list[list[int]]], resident: int) -> Played:
        """Runs blocks, each the traces of its warps, at most `resident` at a time; a block starts when another ends."""
        self._blocks = blocks
        self._resident = resident
        for _ in range(min(resident, len(blocks))):
            self._start_block(0)
        events = self._events
        while events:
            now, k = heappop(events)
            sub = self._subs[k]
            if now != sub.scheduled:
                continue
            sub.scheduled = -1
            self._cycle(sub, k, now)
        out = self.result
        for sub in self._subs:
            out.port_reads += sub.ports.reads
            out.port_hits += sub.ports.hits
        return out

    def _start_block(self, now: int) -> None:
        number = self._next
        self._next += 1
        traces = self._blocks[number]
        self._left[number] = len(traces)
        self._arrived[number] = []
        for trace in traces:
            w = _Warp(len(self._warps), number, trace, len(self._warps) % len(self._subs))
            self._warps.append(w)
            if trace:
                w.ready = w.earliest = now
                self._wake(w)
            else:
                self._left[number] -= 1

    def _wake(self, w: _Warp) -> None:
        """Puts a warp among those that wait for their time."""
        sub = self._subs[w.sub]
        heappush(sub.waiting, (w.ready, w.number))
        self._schedule(sub, w.sub, max(w.ready, sub.gate))

    def _schedule(self, sub: _SubCore, k: int, time: int) -> None:
        if sub.scheduled < 0 or time < sub.scheduled:
            sub.scheduled = time
            heappush(self._events, (time, k))

    def _cycle(self, sub: _SubCore, k: int, now: int) -> None:
        """Issues at most one instruction of a sub-core, and says when to look at it again."""
        if now < sub.gate:
            self._schedule(sub, k, sub.gate)
            return
        waiting, runnable = sub.waiting, sub.runnable
        while waiting and waiting[0][0] <= now:
            runnable.append(heappop(waiting)[1])
        chosen = -1
        blocked = 1 << 60
        if sub.last in runnable:
            free = self._free_at(sub, self._warps[sub.last], now)
            if free <= now:
                chosen = sub.last
            else:
                blocked = free
        if chosen < 0:
            for number in runnable:
                if number > chosen and number != sub.last:
                    free = self._free_at(sub, self._warps[number], now)
                    if free <= now:
                        chosen = number
                    elif free < blocked:
                        blocked = free
        if chosen < 0:
            if waiting and waiting[0][0] < blocked:
                blocked = waiting[0][0]
            if blocked < 1 << 60:
                self._schedule(sub, k, max(blocked, now + 1))
            return
        runnable.remove(chosen)
        sub.last = chosen
        self._issue(sub, self._warps[chosen], now)
        if runnable:
            self._schedule(sub, k, sub.gate)
        elif waiting:
            self._schedule(sub, k, max(sub.gate, waiting[0][0]))

    def _free_at(self, sub: _SubCore, w: _Warp, now: int) -> int:
        """The first cycle in which the unit or the queue that the next instruction of a warp needs is free."""
        step = self.steps[w.trace[w.at] >> _STEP_SHIFT]
        free = now
        if step.unit == FP32 and self._two_float_units:
            free = min(sub.free[IMAD], sub.lite)
        elif step.unit != NO_UNIT:
            free = sub.free[IMAD if step.unit == FP32 else step.unit]
        if free > now:
            w.cause = BY_UNIT
        if step.memory != NEAR:
            queue = sub.queue
            while queue and queue[0] <= now:
                del queue[0]
            if len(queue) >= self._queue_size and queue[0] > free:
                free = queue[0]
                w.cause = BY_QUEUE
        return free

    def _issue(self, sub: _SubCore, w: _Warp, now: int) -> None:
        out = self.result
        v = w.trace[w.at]
        number = v >> _STEP_SHIFT
        step = self.steps[number]
        out.issued += 1
        out.counts[number] += 1
        out.cycles = max(out.cycles, now + 1)
        if now > w.earliest:
            out.lost[number * len(CAUSES) + w.cause] += now - w.earliest
        if w.number < self._log_warps:
            out.log.append((now, w.number, number))
        enter = now + 2
        if step.fixed:
            enter = max(enter, sub.allocate)
            start = sub.ports.read(enter, w.number, step.sources, step.reuse) if step.sources else enter
            out.port_bubbles += start - enter
            sub.allocate = start + 1
        sub.gate = max(now + 1, enter - 1)
        self._take_unit(sub, step, now)
        if step.memory != NEAR:
            self._to_memory(sub, w, step, v, now)
        else:
            self._release(w, step, now + step.raw, now + step.war)
        w.at += 1
        if w.at == len(w.trace):
            self._end(w, now)
            return
        w.earliest = now + 1
        self._ready(w, step, v, now)
        if step.barrier:
            self._arrive(w, now)
        else:
            self._wake(w)

    def _take_unit(self, sub: _SubCore, step: Step, now: int) -> None:
        unit = step.unit
        if unit == NO_UNIT:
            return
        self.result.busy[unit] += step.hold
        if unit == FP32:
            if self._two_float_units and sub.lite <= now:
                sub.lite = now + 2
            else:
                sub.free[IMAD] = now + 2
        else:
            sub.free[unit] = now + step.hold

    def _to_memory(self, sub: _SubCore, w: _Warp, step: Step, v: int, now: int) -> None:
        """Sends an operation through the memory queue of the sub-core and the unit that all of them share."""
        waves = v & _WAVES_MASK
        cycles = max(self._shared_cycles, waves)
        leave = max(now + step.war, sub.unit_left + self._address_cycles, self._shared_free)
        self._shared_free = leave + cycles
        sub.unit_left = leave
        sub.queue.append(leave)
        arrive = leave + step.raw - step.war + (waves - 1)
        sectors = v >> WAVES_BITS & _SECTORS_MASK
        if self.far and step.memory == GLOBAL and sectors:
            taken = max(leave, self._far_free)
            self._far_free = taken + (sectors * 32 + self._far_bytes - 1) // self._far_bytes
            if step.loads:
                arrive = taken + step.raw - step.war + self._far_latency
        self._release(w, step, arrive, leave)
        if step.loads and step.write < 6:
            w.loads.append((arrive, w.at))

    def _release(self, w: _Warp, step: Step, result: int, sources: int) -> None:
        if step.write < 6:
            w.counters[step.write].append(result)
        if step.read < 6:
            w.counters[step.read].append(sources)

    def _ready(self, w: _Warp, step: Step, v: int, now: int) -> None:
        """Works out when the next instruction of a warp may issue, and what it waits for."""
        ready = now + max(step.stall, 1)
        if step.self_wait:
            ready = now + self._self_wait
        elif step.yields:
            ready = max(ready, now + 2)
        cause = BY_STALL
        if v >> _TAKEN_SHIFT & 1 and now + 1 + self._taken > ready:
            ready = now + 1 + self._taken
            cause = BY_BRANCH
        following = self.steps[w.trace[w.at] >> _STEP_SHIFT]
        release = 0
        if following.depbar != NO_DEPBAR:
            left = sorted(w.counters[following.depbar >> 8])
            keep = following.depbar & 0xFF
            if len(left) > keep:
                release = left[len(left) - keep - 1]
        mask = following.wait
        k = 0
        while mask:
            if mask & 1 and w.counters[k]:
                release = max(release, max(w.counters[k]))
                w.counters[k] = [t for t in w.counters[k] if t > ready]
            mask >>= 1
            k += 1
        if release > ready:
            self._wait(w, release, ready, now)
            ready = release
            cause = BY_SCOREBOARD
        w.ready = ready
        w.cause = cause

    def _wait(self, w: _Warp, release: int, ready: int, now: int) -> None:
        """Records a wait for loads, if it is one."""
        w.loads = [(t, at) for t, at in w.loads if t > now]
        last = [at for t, at in w.loads if t == release]
        if last:
            self.result.waits.append(Wait(w.trace[w.at] >> _STEP_SHIFT, release - ready, len(w.loads), w.at - last[-1]))

    def _arrive(self, w: _Warp, now: int) -> None:
        """Holds a warp at a barrier until all warps of its block that have not ended are there."""
        here = self._arrived[w.block]
        here.append(w.number)
        self._open(w.block, now)

    def _open(self, block: int, now: int) -> None:
        here = self._arrived[block]
        if not here or len(here) < self._left[block]:
            return
        for number in here:
            w = self._warps[number]
            if now + self._barrier_release > w.ready:
                w.ready = now + self._barrier_release
                w.cause = BY_BARRIER
            self._wake(w)
        self._arrived[block] = []

    def _end(self, w: _Warp, now: int) -> None:
        """Ends a warp; the last one of a block lets another start."""
        block = w.block
        self._left[block] -= 1
        if self._left[block]:
            self._open(block, now)
        elif self._next < len(self._blocks):
            self._start_block(now + 1)
