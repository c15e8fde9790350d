"""Runs a batch of thread blocks: selects threads, executes instructions, and implements barriers.

Threads wait in *groups* by program counter.  The group with the lowest program counter runs first; threads that took
different branches therefore reconverge at the join.  All threads of a warp at one instruction execute it together.
Convergence barriers (BSSY, BSYNC, BREAK, BMOV), warp barriers (WARPSYNC) and block barriers hold threads back as the
hardware does.  A group that loops while others wait is preempted: after two iterations if it polls memory (atomics,
strong loads) or hints (YIELD, NANOSLEEP), else after a thousand.  Spin locks therefore make progress.

A group released by a WARPSYNC of part of a warp stays apart from other threads at the same instruction until its next
control-flow instruction, because a collective operation of just these threads may follow.
"""

from collections.abc import Callable
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt

from orias.sim.core.sim_errors import Deadlock, Fault, StepLimit
from orias.sim.core.site import Exec, Getter
from orias.sim.core.state import Active, Machine, warp_masks
from orias.sim.math.ops_int import I64, U32, popc

Arr = npt.NDArray[Any]
Flow = Callable[["Engine", Active, Active | None, int], int]
"""Executes a control-flow instruction for its threads (the third argument has the threads that its guard excludes).  The
result is the next instruction of all of them, or -1 if they were put into groups."""

_LANE_BITS: Final = np.left_shift(np.uint32(1), np.arange(32, dtype=U32))
_WARPS: Final = 512
"""Warps whose lanes are compared with each other together: two MB."""
_PATIENCE: Final = 1000
_POLLING_PATIENCE: Final = 2
_FAVOUR: Final = 200
_YIELD_PATIENCE: Final = 8
_TICK: Final = 2000


class Plan:
    """One compiled instruction."""

    __slots__ = ("address", "by_element", "flow", "guard", "guard_by_element", "polls", "run", "text", "tracked")

    def __init__(self, address: int, text: Callable[[], str]) -> None:
        self.address = address
        """Byte offset in its section."""
        self.text = text
        """Returns the text of the instruction."""
        self.run: Exec | None = None
        self.flow: Flow | None = None
        self.guard: Getter | None = None
        self.polls = False
        self.by_element = False
        """The instruction works element by element and may run on ``Active.rows``."""
        self.guard_by_element = False
        """The same for its guard."""
        self.tracked = False
        """Registers are written by setters of a :class:`~orias.sim.core.site.Site` only."""

    def again(self, address: int, text: Callable[[], str]) -> "Plan":
        """A plan of the same instruction at another address."""
        plan = Plan(address, text)
        plan.run, plan.flow, plan.guard = self.run, self.flow, self.guard
        plan.polls, plan.by_element, plan.tracked = self.polls, self.by_element, self.tracked
        plan.guard_by_element = self.guard_by_element
        return plan


def _numbers(barrier: Arr) -> list[int]:
    """The numbers of block barriers that occur, in order."""
    return [int(k) for k in np.flatnonzero(np.bincount(barrier))]


class Timing(Protocol):
    """Callbacks of a time-aware run around each instruction (:mod:`orias.sim.core.late_results`)."""

    def issue(self, pc: int, cur: Active) -> None:
        """Called before the guard is read."""

    def read(self, act: Active) -> None:
        """Called before the threads run the instruction."""

    def done(self, cur: Active, act: Active | None) -> None:
        """Called after the instruction; `act` is None if no thread ran it."""


class Runner(Protocol):
    """Runs threads from an instruction on, as far as it goes (:mod:`orias.sim.native.vector`)."""

    parts: list[tuple[int, Active]]
    """After a run in which some threads got further than others, all of them with their next instructions, the lowest last."""

    polled: bool
    """In the last run an atomic was executed."""

    def attach(self, alive: Arr, arrived: Arr) -> None:
        """Tells of live lanes of each warp, and of arrivals at barriers of blocks; the arrays stay the same."""

    def run(
        self, pc: int, cur: Active, end: int, most: int, jumps: bool, together: bool, left: int
    ) -> tuple[int, int, int]:
        """The next instruction, and the steps and instructions of threads that were done; -1 as `end`: anywhere.

        `left`: threads of all that have not exited.
        """


class Engine:
    """Executes plans on a machine until all threads have exited."""

    def __init__(
        self, m: Machine, plans: list[Plan | None], compile_: Callable[[int], Plan], max_steps: int, blocks: int
    ) -> None:
        self.m = m
        self.plans = plans
        self.compile = compile_
        self.max_steps = max_steps
        self.steps = 0
        self.pause = 0
        """Step at which the limit and the progress are checked next."""
        self.instructions = 0
        self.groups: dict[int, Active] = {}
        self.since: dict[int, int] = {}
        self.apart: list[tuple[int, Active]] = []
        self.polled = False
        self.streak = 0
        self.favour = 0
        self.last_pick = -1
        self.yields = 0
        n, w = m.threads, m.warps
        self.resume = np.zeros(n, I64)
        """Program counter at which a waiting thread resumes."""
        self.left = int(np.count_nonzero(m.alive))
        """Threads that have not exited."""
        self.alive_mask = warp_masks(m.alive)
        self.alive_of_block = np.bincount(m.block_of[m.alive], minlength=blocks)
        self.bsync = [np.zeros(w, U32) for _ in range(16)]
        """Lanes that wait at BSYNC, for each convergence barrier register."""
        self.warpsync = np.zeros(w, U32)
        self.warpsync_mask = np.zeros(n, U32)
        self.operation = np.zeros(n, I64)
        """The number of the operation that a thread waits for at a WARPSYNC: threads that wait for another do not count."""
        self.collective_end = np.full(n, -1, I64)
        """Where a thread goes on after the collective that it waits for or runs; -1 outside of one."""
        self.bar_id = np.full(n, -1, np.int8)
        self.bar_expected = np.zeros((16, blocks), I64)
        self.bar_arrived = np.zeros((16, blocks), I64)
        self.bar_vote = np.zeros(n, np.bool_)
        self.bar_red = np.zeros(n, I64)
        """Reduction of BAR.RED: 0 none, 1 POPC, 2 AND, 3 OR."""
        self.bar_result = np.zeros(n, U32)
        self.cga_arrived = np.zeros(n, np.bool_)
        self.cga_done = np.zeros(n, np.bool_)
        self.cga_waiting = np.zeros(n, np.bool_)
        self.blocks = blocks

    # -- groups

    def add(self, pc: int, threads: Active) -> None:
        """Makes threads runnable at an instruction."""
        other = self.groups.get(pc)
        if other is None:
            self.groups[pc] = threads
            self.since[pc] = self.steps
        else:
            self.groups[pc] = other.join(threads)

    def add_index(self, pcs: Arr, index: Arr) -> None:
        """Makes threads runnable, each at its own instruction."""
        if not len(index):
            return
        first = int(pcs[0])
        if (pcs == first).all():
            self.add(first, Active(index))
            return
        for pc in np.unique(pcs):
            self.add(int(pc), Active(index[pcs == pc]))

    def split(self, taken: Active, target: int, rest: Active | None, pc: int) -> int:
        """Ends a branch: the next instruction if all threads take it, else -1 with both sides in groups."""
        if rest is None:
            return target
        self.add(target, taken)
        self.add(pc + 1, rest)
        return -1

    def _pick(self) -> tuple[int, Active, bool]:
        """The next group to run."""
        if self.apart:
            pc, threads = self.apart.pop()
            return pc, threads, True
        groups = self.groups
        if not groups and not (self.tolerant and self._let_go()):
            raise self._deadlock()
        if len(groups) == 1:
            pc, threads = groups.popitem()
            self.streak = 0
            self.favour = 0
        else:
            if self.favour > 0 and self.last_pick in groups:
                self.favour -= 1
                pc = self.last_pick
            else:
                pc = min(groups)
                self.favour = 0
                self.streak += 1
                if self.streak > (_POLLING_PATIENCE if self.polled else _PATIENCE):
                    pc = min(groups, key=lambda p: self.since[p])
                    self.streak = 0
                    self.favour = _FAVOUR
            self.polled = False
            threads = groups.pop(pc)
        self.since.pop(pc, None)
        return pc, threads, False

    def _let_go(self) -> bool:
        """Lets threads at WARPSYNC go on although threads of their mask will not come; False if there are none."""
        waiting = np.flatnonzero(self.warpsync)
        if not len(waiting):
            return False
        lanes = self.warpsync[waiting]
        self.warpsync[waiting] = 0
        if not self.let_go:
            index = int(waiting[0]) * 32 + (int(lanes[0]) & -int(lanes[0])).bit_length() - 1
            self.let_go = int(self.resume[index])
        self.release(waiting, lanes)
        return True

    tolerant = False
    """Threads at WARPSYNC go on where all others of their mask wait elsewhere for ever."""
    let_go = 0
    """Number of the instruction after the first such WARPSYNC; 0 for none."""

    def _deadlock(self) -> Fault:
        m = self.m
        lane = int(np.flatnonzero(m.alive)[0])
        where: list[str] = []
        # Operations with a number stand apart from the instructions that wait for them.
        after = np.where((self.operation > 0) & (self.collective_end >= 0), self.collective_end, self.resume)
        for pc in np.unique(after[m.alive]):
            plan = self.compile(int(pc) - 1)
            who = np.flatnonzero(m.alive & (after == pc))
            where.append(f"{len(who)} at 0x{plan.address:04x} {plan.text()}")
            lane = int(who[0])
        return Fault(Deadlock, "no thread can run; waiting: " + "; ".join(where[:8]), thread=lane)

    # -- the loop

    def run(self) -> None:
        """Runs all threads to their exit."""
        m = self.m
        alive = np.flatnonzero(m.alive)
        if not len(alive):
            return
        self.add(self.entry, Active(alive))
        self._loop()
        m.finish_copies()

    def _loop(self) -> None:
        m = self.m
        plans = self.plans
        count_of_plans = len(plans)
        timing = self.timing
        vector = self.vector if timing is None and m.watch is None else None
        if vector is not None:
            vector.attach(self.alive_mask, self.bar_arrived)
        while self.left:
            pc, cur, apart = self._pick()
            groups = self.groups
            while True:
                if vector is not None and self.steps < self.pause:
                    end = min((g for g in groups if g > pc), default=-1) if groups and not apart else -1
                    alone = not (groups or self.apart or apart)
                    most = self.pause - self.steps
                    pc, steps, instructions = vector.run(pc, cur, end, most, alone, apart, self.left)
                    if steps or vector.parts:
                        self.polled = self.polled or vector.polled
                        self.steps += steps
                        m.clock += steps
                        self.instructions += instructions
                        m.derived.clear()
                        if vector.parts:
                            *ahead, (pc, cur) = vector.parts
                            for further, threads in ahead:
                                self.add(further, threads)
                        if pc == end:
                            self.add(pc, cur)
                            self.last_pick = pc
                            break
                self.steps += 1
                if self.steps > self.pause:
                    self.fault_pc = pc
                    self._tick(cur)
                m.clock += 1
                self.fault_pc = pc
                plan = plans[pc] if 0 <= pc < count_of_plans else None
                if plan is None:
                    plan = self.compile(pc)
                act: Active | None = cur
                rest: Active | None = None
                guard = plan.guard
                if timing is not None:
                    timing.issue(pc, cur)
                if plan.tracked and timing is None:
                    m.deriving = True
                else:
                    m.deriving = False
                    if m.derived:
                        m.derived.clear()
                if guard is not None:
                    rows = cur.rows if plan.guard_by_element else cur
                    keep = guard(m, rows)
                    if rows.lanes is not None and len(keep) > 1:
                        keep = keep & rows.lanes
                    count = int(np.count_nonzero(keep))
                    if len(keep) == 1 and rows.n > 1:
                        count *= cur.n
                    if count == 0:
                        act = None
                    elif count < cur.n:
                        act = cur.part(keep) if plan.guard_by_element else cur.subset(keep)
                        if plan.flow is not None:
                            rest = cur.part(~keep) if plan.guard_by_element else cur.subset(~keep)
                if act is None:
                    if timing is not None:
                        timing.done(cur, None)
                    pc += 1
                else:
                    self.instructions += act.n
                    if timing is not None:
                        timing.read(act)
                    if plan.polls:
                        self.polled = True
                    if plan.run is not None:
                        self.current = act
                        plan.run(m, act.rows if plan.by_element and timing is None else act)
                        if m.watch is not None:
                            m.watch(m, plan.address)
                        if timing is not None:
                            timing.done(cur, act)
                        pc += 1
                    else:
                        assert plan.flow is not None
                        self.current = act
                        apart = False
                        nxt = plan.flow(self, act, rest, pc)
                        if timing is not None:
                            timing.done(cur, act)
                        if nxt < 0:
                            break
                        if nxt != pc + 1 and (groups or self.apart):
                            # a jump: another group may have a lower program counter now
                            self.add(nxt, cur)
                            self.last_pick = nxt
                            break
                        pc = nxt
                if groups and not apart and pc in groups:
                    self.add(pc, cur)
                    self.last_pick = pc
                    break

    together = False
    """Keep even whole warps apart after a WARPSYNC, for engines that would run their threads one by one."""

    def _tick(self, cur: Active) -> None:
        """Ends a launch that exceeds its steps, and reports progress."""
        if self.steps > self.max_steps:
            raise Fault(StepLimit, f"more than {self.max_steps} steps", thread=cur.first)
        self.pause = min(self.max_steps, self.steps + _TICK)
        if self.progress is not None:
            self.progress(int(np.count_nonzero(self.m.present & ~self.m.alive)))

    progress: Callable[[int], None] | None = None
    """Called regularly with the number of threads that have ended."""
    timing: Timing | None = None
    """Callbacks around every instruction, in time-aware runs."""
    vector: Runner | None = None
    """Runs some instructions faster than their plans do, with the same results."""
    entry = 0
    fault_pc = 0
    current: Active | None = None

    # -- exits and waits

    def exit(self, who: Active) -> None:
        """Ends threads, and completes barriers that waited for them only."""
        m = self.m
        m.alive[who.sel] = False
        self.left -= who.n
        if who.n == int(self.alive_of_block.sum()):  # All that are left: nothing waits for them.
            self.alive_mask[:] = 0
            self.alive_of_block[:] = 0
            return
        self.alive_mask[who.warps] &= ~who.lane_mask
        blocks = m.block_of[who.sel]
        self.alive_of_block -= np.bincount(blocks, minlength=self.blocks)
        self.check_warps(who.warps)
        if (self.bar_id >= 0).any():
            for k in _numbers(self.bar_id[self.bar_id >= 0]):
                self.check_block_barrier(k, blocks)
        if self.cga_waiting.any():
            self.check_cluster()

    def check_warps(self, warps: Arr) -> None:
        """Releases complete BSYNC and WARPSYNC waits in warps whose masks changed."""
        for k in range(16):
            if self.bsync[k][warps].any():
                self.check_bsync(k, warps)
        if self.warpsync[warps].any():
            self.check_warpsync(warps)

    def members(self, k: int, warps: Arr) -> Arr:
        """[warps, 32]: the live members of the barrier that each lane holds in register `k`."""
        result: Arr = self.m.B[k].reshape(-1, 32)[warps] & self.alive_mask[warps][:, None]
        return result

    def leave(self, k: int, warps: Arr, lanes: Arr) -> None:
        """Removes lanes of warps from the barriers that they hold in register `k`.

        Only members lose the lanes: other threads may hold another barrier in the same register, in a callee or its
        caller.
        """
        every = self.m.B[k].reshape(-1, 32)
        held = every[warps]
        own = np.where((lanes[:, None] & _LANE_BITS) != 0, held, np.uint32(0))
        common = own.max(axis=1)[:, None]
        if ((own == 0) | (own == common)).all():
            gone = np.where((common & _LANE_BITS) != 0, lanes[:, None], np.uint32(0))
        else:
            named = (own[:, :, None] & _LANE_BITS) != 0
            gone = np.bitwise_or.reduce(np.where(named, _LANE_BITS[:, None], np.uint32(0)), axis=1)
        every[warps] = held & ~gone

    def check_bsync(self, k: int, warps: Arr) -> None:
        """Releases the threads at a convergence barrier whose members all wait or have exited."""
        waiting = self.bsync[k]
        w = waiting[warps][:, None]
        members = self.members(k, warps)
        here = (w & _LANE_BITS) != 0
        done = ((members & ~w) == 0) & here
        if not done.any():
            return
        # Threads of a recursive function wait in one register at several depths: a barrier counts only lanes with its
        # members.
        highest = np.where(here, members, np.uint32(0)).max(axis=1)
        lowest = np.where(here, members, np.uint32(0xFFFFFFFF)).min(axis=1)
        rows = np.flatnonzero(done.any(axis=1) & (highest != lowest))
        for at in range(0, len(rows), _WARPS):
            some = rows[at : at + _WARPS]
            own = members[some]
            same = (own[:, :, None] == own[:, None, :]) & here[some][:, None, :]
            waits = np.bitwise_or.reduce(np.where(same, _LANE_BITS, np.uint32(0)), axis=2)
            done[some] &= (own & ~waits) == 0
        if not done.any():
            return
        lanes = np.bitwise_or.reduce(np.where(done, _LANE_BITS, np.uint32(0)), axis=1)
        any_lane = lanes != 0
        ready, lanes = warps[any_lane], lanes[any_lane]
        waiting[ready] &= ~lanes
        self.release(ready, lanes)

    def release(self, warps: Arr, lanes: Arr) -> None:
        """Makes lanes of warps runnable, each at its `resume`."""
        self.yields = 0
        on = (lanes[:, None] & _LANE_BITS) != 0
        index = (warps[:, None] * 32 + np.arange(32))[on]
        self.add_index(self.resume[index], index)

    def wait_bsync(self, k: int, who: Active, rest: Active | None, pc: int) -> int:
        """BSYNC."""
        m = self.m
        warps = who.warps
        lanes = who.lane_mask
        mask = m.B[k][who.sel]
        if rest is None:
            first = mask[who.firsts]
            if not (first & self.alive_mask[warps] & ~lanes).any() and (mask == who.each(first)).all():
                return pc + 1
        self.resume[who.sel] = pc + 1
        own = np.left_shift(np.uint32(1), (who.index & 31).astype(U32))
        outside = np.bitwise_or.reduce(who.spread(np.where((mask & own) == 0, own, np.uint32(0))), axis=1)
        if outside.any():
            self.release(warps, outside)
        self.bsync[k][warps] |= lanes & ~outside
        if rest is not None:
            self.add(pc + 1, rest)
        self.check_bsync(k, warps)
        return -1

    def wait_warpsync(self, who: Active, mask: Arr, rest: Active | None, pc: int, operation: int = 0) -> int:
        """WARPSYNC with a member mask per thread; only threads with the same mask and operation meet."""
        warps = who.warps
        alive = self.alive_mask[warps]
        if rest is None and (who.lane_mask == alive).all():
            common = np.bitwise_and.reduce(who.spread(mask, 0xFFFFFFFF), axis=1)
            if not (alive & ~common).any():
                return pc + 1
        if rest is None and not self.warpsync[warps].any() and (self.together or (who.lane_mask != alive).all()):
            # The threads of each warp may be a part of it that is complete.
            every = np.bitwise_and.reduce(who.spread(mask, 0xFFFFFFFF), axis=1)
            some = np.bitwise_or.reduce(who.spread(mask), axis=1)
            if (
                (every == some).all()
                and ((every & alive) == who.lane_mask).all()
                and (self.collective_end[who.sel] < 0).all()
            ):
                self._put_apart(pc + 1, who.index)
                return -1
        self.resume[who.sel] = pc + 1
        self.warpsync_mask[who.sel] = mask
        self.operation[who.sel] = operation
        self.warpsync[warps] |= who.lane_mask
        if rest is not None:
            self.add(pc + 1, rest)
        self.check_warpsync(warps)
        return -1

    def wait_collective(
        self, who: Active, mask: Arr, end: int, rest: Active | None, pc: int, operation: int = 0
    ) -> int:
        """WARPSYNC.COLLECTIVE: threads at several of them run what follows one of them, with the same registers, and go on each at its `end`."""
        self.collective_end[who.sel] = end
        return self.wait_warpsync(who, mask, rest, pc, operation)

    def end_collective(self, who: Active, rest: Active | None, pc: int) -> int:
        """ENDCOLLECTIVE."""
        ends = np.where(self.collective_end[who.sel] < 0, pc + 1, self.collective_end[who.sel])
        self.collective_end[who.sel] = -1
        self.polled = True
        if rest is None and (ends == ends[0]).all():
            return int(ends[0])
        self.add_index(ends, who.index)
        if rest is not None:
            self.add(pc + 1, rest)
        return -1

    def check_warpsync(self, warps: Arr) -> None:
        """Releases the sets of threads at WARPSYNC that are complete."""
        apart: dict[tuple[int, int], list[Arr]] = {}
        for w in self._check_sets(self._check_alike(warps, apart), apart):
            before = 0  # Sets of this warp that stay apart: each with those of other warps that are as many-th.
            waiting = int(self.warpsync[w])
            alive = int(self.alive_mask[w])
            left = waiting
            while left:
                lane = (left & -left).bit_length() - 1
                own = self.warpsync_mask[w * 32 + lane]
                mask = int(own) & alive
                mask |= 1 << lane
                # Lanes that wait with another mask are at an earlier WARPSYNC and do not count.
                lanes = slice(w * 32, w * 32 + 32)
                alike = (self.warpsync_mask[lanes] == own) & (self.operation[lanes] == self.operation[w * 32 + lane])
                same = int(np.bitwise_or.reduce(_LANE_BITS[alike])) & waiting
                left &= ~(mask & same)
                if mask & ~same:
                    continue
                waiting &= ~mask
                index = w * 32 + np.flatnonzero(_LANE_BITS & np.uint32(mask))
                pcs = self.resume[index]
                if (self.collective_end[index] >= 0).all():
                    apart.setdefault((int(pcs.min()), before), []).append(index)
                    before += 1
                elif (mask == alive and not self.together) or not (pcs == pcs[0]).all():
                    self.add_index(pcs, index)
                else:
                    apart.setdefault((int(pcs[0]), before), []).append(index)
                    before += 1
            self.warpsync[w] = waiting
        for (pc, _), sets in apart.items():
            self._put_apart(pc, np.sort(np.concatenate(sets)))

    def _check_alike(self, warps: Arr, apart: dict[tuple[int, int], list[Arr]]) -> Arr:
        """Releases, of those warps whose waiting lanes are one complete set, all together; returns the others.

        What stays apart goes to `apart`, as the first set of its warp.
        """
        if len(warps) == 1:
            return warps
        waiting, alive = self.warpsync[warps], self.alive_mask[warps]
        rows = np.arange(len(warps))
        here = (waiting[:, None] & _LANE_BITS) != 0
        first = here.argmax(axis=1)
        alike = (waiting != 0)[:, None] & here
        for state in (self.warpsync_mask, self.operation, self.resume):
            of_lanes = state.reshape(-1, 32)[warps]
            alike &= of_lanes == of_lanes[rows, first][:, None]
        alike &= self.collective_end.reshape(-1, 32)[warps] < 0
        mask = self.warpsync_mask.reshape(-1, 32)[warps, first]
        ready = (alike == here).all(axis=1) & (waiting != 0) & (waiting == mask & alive)
        if not ready.any():
            return warps
        done = warps[ready]
        self.warpsync[done] = 0
        index = (done[:, None] * 32 + np.arange(32))[here[ready]]
        pcs = self.resume[index]
        if self.together:
            joins = np.zeros(len(index), np.bool_)
        else:
            joins = np.repeat((waiting == alive)[ready], here[ready].sum(axis=1))
        self.add_index(pcs[joins], index[joins])
        pcs, index = pcs[~joins], index[~joins]
        for pc in np.unique(pcs):
            apart.setdefault((int(pc), 0), []).append(index[pcs == pc])
        others: Arr = warps[~ready]
        return others

    def _check_sets(self, warps: Arr, apart: dict[tuple[int, int], list[Arr]]) -> Arr:
        """Releases the complete sets of warps with several of them; returns the warps that need a closer look."""
        if len(warps) <= 1:
            return warps
        waiting, alive = self.warpsync[warps], self.alive_mask[warps]
        here = (waiting[:, None] & _LANE_BITS) != 0
        mask, operation, resume = (
            state.reshape(-1, 32)[warps] for state in (self.warpsync_mask, self.operation, self.resume)
        )
        equal = (mask[:, :, None] == mask[:, None, :]) & (operation[:, :, None] == operation[:, None, :])
        equal &= here[:, None, :] & here[:, :, None]
        closer = (equal & (resume[:, :, None] != resume[:, None, :])).any(axis=(1, 2))
        closer |= (here & (self.collective_end.reshape(-1, 32)[warps] >= 0)).any(axis=1)
        same = np.packbits(equal, axis=2, bitorder="little").view(U32)[:, :, 0]
        members = (mask & alive[:, None]) | _LANE_BITS
        done = here & ((members & ~same) == 0) & ~closer[:, None]
        self.warpsync[warps] = waiting & ~np.bitwise_or.reduce(np.where(done, _LANE_BITS, np.uint32(0)), axis=1)
        joins = done & (members == alive[:, None]) & (not self.together)
        stays = done & ~joins
        # The number of a set in its warp, by its lowest lane.
        lowest = stays & ((members & (_LANE_BITS - np.uint32(1))) == 0)
        number = np.cumsum(lowest, axis=1) - 1
        place = warps[:, None] * 32 + np.arange(32)
        leader = popc((members & (~members + np.uint32(1))) - np.uint32(1)).astype(I64)
        number = np.take_along_axis(number, leader, 1)
        self.add_index(resume[joins], place[joins])
        pcs, numbers, index = resume[stays], number[stays], place[stays]
        for pc in np.unique(pcs):
            for k in np.unique(numbers[pcs == pc]):
                apart.setdefault((int(pc), int(k)), []).append(index[(pcs == pc) & (numbers == k)])
        others: Arr = warps[closer]
        return others

    def _put_apart(self, pc: int, index: Arr) -> None:
        """Adds a separate group; sets of different warps at one instruction run together."""
        warps = index >> 5
        for i, (other_pc, other) in enumerate(self.apart):
            if other_pc == pc and not np.isin(warps, other.warps).any():
                merged = np.concatenate((other.index, index))
                merged.sort()
                self.apart[i] = (pc, Active(merged))
                return
        self.apart.append((pc, Active(index)))

    def yielded(self, who: Active) -> None:
        """YIELD: after several of them without any release, BSYNC no longer waits for threads that keep yielding.

        Otherwise a loop in which some threads of a warp wait for others would never end if the compiler put a
        convergence barrier after it; ptxas puts a YIELD into such loops.
        """
        self.yields += 1
        if self.yields <= _YIELD_PATIENCE:
            return
        for k in range(16):
            waiting = self.bsync[k][who.warps]
            if not waiting.any():
                continue
            held = self.members(k, who.warps)
            # A callee that uses the register itself has saved the barrier of those that wait: nothing tells that it waits for these.
            theirs = np.where((who.lane_mask[:, None] & _LANE_BITS) != 0, held, np.uint32(0))
            waiting = waiting & np.bitwise_or.reduce(theirs, axis=1)
            wanted = np.where((waiting[:, None] & _LANE_BITS) != 0, held, np.uint32(0))
            mask = np.bitwise_or.reduce(wanted, axis=1)
            free = np.where((mask & ~waiting & ~who.lane_mask) == 0, waiting, np.uint32(0))
            if free.any():
                self.leave(k, who.warps, free)
                self.bsync[k][who.warps] &= ~free
                self.release(who.warps, free)

    # -- block barriers

    def _arrivals(self, flags: Arr) -> Arr:
        """Arrival counts per block: a warp whose live threads have all arrived counts 32."""
        m = self.m
        masks = warp_masks(flags)
        counts = np.where(masks == self.alive_mask, np.where(masks != 0, 32, 0), popc(masks))
        return np.bincount(m.block_of[::32], weights=counts, minlength=self.blocks).astype(I64)

    def all_here(self, who: Active) -> bool:
        """Whether these are all live threads of their blocks."""
        if who.n == int(self.alive_of_block.sum()):
            return True
        count = np.bincount(self.m.block_of[who.sel], minlength=self.blocks)
        return bool(((count == 0) | (count == self.alive_of_block)).all())

    def wait_block(
        self, who: Active, barrier: Arr, expected: Arr, red: int, vote: Arr | None, rest: Active | None, pc: int
    ) -> int:
        """BAR.SYNC and BAR.RED; `barrier` and `expected` (0: all threads) have a value per thread."""
        m = self.m
        self.resume[who.sel] = pc + 1
        self.bar_id[who.sel] = barrier
        self.bar_red[who.sel] = red
        self.bar_vote[who.sel] = vote if vote is not None else False
        blocks = m.block_of[who.sel]
        self.bar_expected[barrier, blocks] = expected
        if rest is not None:
            self.add(pc + 1, rest)
        for k in _numbers(barrier):
            self.check_block_barrier(k, blocks)
        return -1

    def arrive_block(self, who: Active, barrier: Arr, expected: Arr) -> None:
        """BAR.ARV."""
        m = self.m
        blocks = m.block_of[who.sel]
        for k in _numbers(barrier):
            mine = np.zeros(m.threads, np.bool_)
            mine[who.index[np.broadcast_to(barrier, (who.n,)) == k]] = True
            self.bar_arrived[k] += self._arrivals(mine)
            self.bar_expected[barrier, blocks] = expected
            self.check_block_barrier(k, blocks)

    def check_block_barrier(self, k: int, blocks: Arr) -> None:
        """Releases the threads at barrier `k` in those of these blocks (some may be named twice) where enough arrived."""
        m = self.m
        waiting = self.bar_id == k
        count = np.bincount(m.block_of[waiting], minlength=self.blocks)
        expected = self.bar_expected[k]
        done = (count == self.alive_of_block) & (expected == 0)
        if (expected != 0).any():
            arrivals = self._arrivals(waiting) + self.bar_arrived[k]
            done |= (expected != 0) & (arrivals >= expected)
        ready = np.zeros(self.blocks, np.bool_)
        ready[blocks] = done[blocks] & ((count[blocks] > 0) | (self.bar_arrived[k][blocks] > 0))
        if not ready.any():
            return
        free = waiting & ready[m.block_of]
        index = np.flatnonzero(free)
        m.changed = m.clock
        self.bar_arrived[k][ready] = 0
        self.bar_expected[k][ready] = 0
        if not len(index):
            return
        if self.bar_red[index].any():
            self._reduce(index)
        self.bar_id[index] = -1
        self.add_index(self.resume[index], index)

    def _reduce(self, index: Arr) -> None:
        block = self.m.block_of[index]
        votes = self.bar_vote[index]
        yes = np.bincount(block, weights=votes, minlength=self.blocks).astype(I64)
        total = np.bincount(block, minlength=self.blocks)
        red = self.bar_red[index]
        value = np.where(red == 1, yes[block], np.where(red == 2, yes[block] == total[block], yes[block] > 0))
        self.bar_result[index] = np.where(red != 0, value, self.bar_result[index]).astype(U32)

    # -- cluster barrier

    def cluster_arrive(self, who: Active) -> None:
        """UCGABAR_ARV."""
        self.cga_arrived[who.sel] = True
        self.check_cluster()

    def cluster_wait(self, who: Active, rest: Active | None, pc: int) -> int:
        """UCGABAR_WAIT."""
        self.resume[who.sel] = pc + 1
        self.cga_waiting[who.sel] = True
        if rest is not None:
            self.add(pc + 1, rest)
        self._cluster_release()
        return -1

    def check_cluster(self) -> None:
        """Completes the phase of clusters whose live threads have all arrived."""
        m = self.m
        cluster = m.block_of // m.cluster_size
        n = self.blocks // m.cluster_size + 1
        arrived = np.bincount(cluster[self.cga_arrived & m.alive], minlength=n)
        alive = np.bincount(cluster[m.alive], minlength=n)
        full = (arrived == alive)[cluster] & self.cga_arrived
        if full.any():
            self.cga_arrived &= ~full
            self.cga_done |= full
            self._cluster_release()

    def _cluster_release(self) -> None:
        free = self.cga_waiting & self.cga_done
        if free.any():
            self.cga_waiting &= ~free
            self.cga_done &= ~free
            index = np.flatnonzero(free)
            self.add_index(self.resume[index], index)
