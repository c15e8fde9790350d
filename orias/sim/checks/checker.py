"""Runs the chosen checks around every instruction of a launch."""

import contextlib
from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt

from orias.cubin.lineread import DEBUG_LINE, PTX_LINE, call_sites, line_tables
from orias.cubin.model import TOOL, CubinModule
from orias.isa.decode import Decoded
from orias.isa.operand import K_P, K_R, imm_value, in_file, is_pred, payload
from orias.options import KEEPS_WARP_BARRIERS
from orias.sim.checks.accesses import OBJECT, Access, Touched, accesses_of
from orias.sim.checks.findings import Coordinates, Finding, Spot
from orias.sim.checks.global_race import GlobalRaces
from orias.sim.checks.global_race import Spot as Access_
from orias.sim.checks.race_check import RaceCheck
from orias.sim.checks.undefined import SHARED_LOADS, Undefined, Use
from orias.sim.checks.vector_clocks import Clocks, barrier_numbers
from orias.sim.core.image import Image
from orias.sim.core.sim_errors import Fault
from orias.sim.core.site import Getter, Site
from orias.sim.core.state import Active, Bytes, Machine
from orias.sim.math.ops_int import I64
from orias.sim.sass.memory_places import GLOBAL, SHARED

Arr = npt.NDArray[Any]
TOOLS: Final = ("memcheck", "racecheck", "initcheck", "synccheck", "hazards")
_MOST: Final = 100
"""Findings of a launch that are kept."""


class WrittenMemory(Protocol):
    """Which bytes of global memory were written; offsets are those of the arena."""

    def unwritten(self, offset: Arr, size: int) -> Arr:
        """Which accesses read a byte that nobody wrote."""

    def wrote(self, offset: Arr, size: int) -> None:
        """Bytes were written."""

    def spoiled(self, offset: Arr) -> None:
        """Bytes hold what nobody wrote."""


_MEETS: Final = frozenset(("SHFL", "VOTE", "VOTEU", "MATCH", "REDUX", "CREDUX", "NOP"))
"""Instructions at which the threads of a warp meet; NOP is what ptxas leaves of a barrier where the warp is together."""
_DEVICE: Final = ("GPU", "SYS", "VC")
"""Scopes of fences that order memory for other blocks."""
_COMMITS: Final = ("LDGDEPBAR", "UTMACMDFLUSH")


class _Step:
    """What the checks know of an instruction."""

    def __init__(self, d: Decoded | None, address: int, used: int) -> None:
        """`used`: the bytes of a load that matter, one bit each."""
        self._used: Final = used
        self.base: Final = d.op.base if d is not None else ""
        self.accesses: list[Access] = []
        self.number: Getter | None = None
        self.count: Getter | None = None
        self.packed = False
        self.waits = False
        self.mask: Getter | None = None
        self.all = False
        """A barrier of the whole warp."""
        self.strong: Final = d is not None and (d.op.has("STRONG") or d.op.has("MMIO"))
        self.cluster: Final = self.base.startswith("UCGABAR")
        self.meets: Final = self.base in _MEETS
        self.commits: Final = self.base in _COMMITS
        # FENCE.VIEW.ASYNC.T is about tensor memory.
        self.fences: Final = d is not None and self.base == "FENCE" and d.op.has("ASYNC") and not d.op.has("T")
        self.membar: Final = self.base == "MEMBAR" and d is not None and any(d.op.has(x) for x in _DEVICE)
        """A fence for the device or more."""
        self.pending = -1
        """Groups of copies that need not be done after a wait for them; -1: no wait."""
        self.arrives: Access | None = None
        """The barrier object that copies arrive at."""
        self.phase = -1
        """The predicate that says whether a phase of a barrier object is over."""
        if d is None:
            return
        # A form that the simulator does not know has no accesses: running it is an error anyway.
        with contextlib.suppress(Fault, IndexError, AssertionError, StopIteration, KeyError):
            self._read(d, address)

    def _read(self, d: Decoded, address: int) -> None:
        site = Site(d.op, d.dst, d.src, address, False)
        self.accesses = accesses_of(d, address)
        if self.base == "BAR":
            operands = [o for o in d.src if not is_pred(o)]
            self.number = site.i32(operands[0])
            self.packed = len(operands) > 1 and operands[1] == operands[0] and in_file(operands[0], K_R)
            self.count = site.i32(operands[1]) if len(operands) > 1 else None
            self.waits = not d.op.has("ARV")
        elif self.base == "WARPSYNC":
            self.all = d.op.has("ALL") or not d.src
            self.mask = None if self.all else site.i32(d.src[0])
        elif self.base == "DEPBAR":
            self.pending = imm_value(d.src[1]) if len(d.src) > 1 and d.op.has("LE") else 0
        elif self.base == "ARRIVES":
            self.arrives = Access(site, SHARED, OBJECT, True, True)
        elif self.base == "SYNCS" and d.op.has("PHASECHK"):
            self.phase = payload(next(o for o in d.dst if in_file(o, K_P)))

    def unused(self, size: int) -> Arr:
        """Which bytes of a load nobody looks at: of three words ptxas may load four."""
        out: Arr = np.equal(self._used >> np.arange(size) & 1, 0)
        return out

    def unwritten(self, memory: WrittenMemory, offset: Arr, size: int) -> Arr:
        """Which loads read a byte of device memory that nobody wrote."""
        looked_at = np.flatnonzero(~self.unused(size))
        if len(looked_at) == size:
            return memory.unwritten(offset, size)
        places = offset[:, None] + looked_at
        bad: Arr = np.any(memory.unwritten(places.reshape(-1), 1).reshape(places.shape), axis=1)
        return bad

    @property
    def idle(self) -> bool:
        """True if no check looks at the instruction."""
        return not (
            self.accesses or self.number or self.mask or self.all or self.cluster or self.meets or self.commits or self.fences or self.membar
            or self.pending >= 0 or self.arrives
        )  # fmt: skip


class Checker:
    """The checks of a launch: ``image.launch(..., timing=checker.start)``; the result is in ``findings``.

    Races between threads of a warp are looked for where the code has all barriers of warps: that of ptxas, and ours with the
    option ``keep_warp_barriers``.
    """

    def __init__(self, image: Image, kernel: str, tools: Sequence[str], memory: WrittenMemory | None = None) -> None:
        self.image: Final = image
        self.kernel: Final = kernel
        self.tools: Final = tools
        self.memory: Final = memory if "initcheck" in tools else None
        self.findings: list[Finding] = []
        self._seen: dict[tuple[object, ...], Finding] = {}
        self._steps: dict[int, _Step] = {}
        self._uses: dict[int, Use] = {}
        start = next((at for at, place in image.code_places() if place == kernel), 0)
        self._used: Final = {start + at: mask for at, mask in image.kernels[kernel].unused_load_bytes}
        self.lanes: Final = has_warp_barriers(image.reader.module)
        self.globals: Final = GlobalRaces(self._race, self.lanes) if "racecheck" in tools else None

    def start(self, m: Machine) -> "_Batch":
        """The callbacks for a batch of blocks."""
        return _Batch(self, m)

    def step(self, pc: int) -> _Step:
        """What is known of an instruction."""
        found = self._steps.get(pc)
        if found is None:
            found = self._steps[pc] = _Step(self.image.decoded(pc), pc << 4, self._used.get(pc << 4, -1))
        return found

    def use(self, pc: int) -> Use:
        """What an instruction does with registers."""
        found = self._uses.get(pc)
        if found is None:
            found = self._uses[pc] = Use(self.image.compile(pc), self.image.decoded(pc), self.step(pc).accesses)
        return found

    def spot(self, m: Machine, pc: int, thread: int) -> Spot:
        """An instruction and a thread."""
        at = [[int(m.special[f"SR_{n}.{axis}"][thread]) for axis in "XYZ"] for n in ("CTAID", "TID")]
        block, who = ((x, y, z) for x, y, z in at)
        return self._place(pc, block, who)

    def _place(self, pc: int, block: Coordinates, thread: Coordinates) -> Spot:
        plan = self.image.compile(pc)
        return Spot(plan.address, plan.text(), block, thread, *lines_of(self.image, pc))

    def _race(self, kind: str, offset: int, earlier: Access_, later: Access_) -> None:
        """A race in global memory."""
        message = f"race at global address 0x{offset + self.image.arena.base:x}: {kind}"
        self.add(
            "racecheck", kind, message, ("global race", kind, earlier[0], later[0]),
            lambda: [self._place(*later), self._place(*earlier)],
        )  # fmt: skip

    def add(self, tool: str, kind: str, message: str, key: tuple[object, ...], spots: Callable[[], list[Spot]]) -> None:
        """A finding; one that is known already is counted."""
        known = self._seen.get(key)
        if known is not None:
            known.count += 1
        elif len(self.findings) < _MOST:
            found = Finding(tool, kind, self.kernel, message, spots())
            self._seen[key] = found
            self.findings.append(found)


def _positions(part: Bytes) -> Arr:
    """Which bytes of a copy these are."""
    return np.arange(len(part.offset)) if part.where is None else part.where


def has_warp_barriers(module: CubinModule) -> bool:
    """Whether the code has all barriers of warps: Orias leaves some out unless it is asked to keep them."""
    return module.tool != TOOL or KEEPS_WARP_BARRIERS in module.options


def lines_of(image: Image, pc: int) -> tuple[str, str]:
    """Source line and PTX line of an instruction (number in the module's code), as far as the cubin has them.

    A line of an inlined function is followed by those that it was inlined at.
    """
    places = [(at, name) for at, name in image.code_places() if at <= pc << 4]
    if not places:
        return "", ""
    start, name = max(places)
    section = image.reader.elf.section(f".text.{name}")
    assert section is not None, name
    out = []
    for table in (DEBUG_LINE, PTX_LINE):
        rows = line_tables(image.reader.elf, table).get(section.index, [])
        before = [k for k, r in enumerate(rows) if r.offset <= (pc << 4) - start]
        # Of several rows of an instruction the last one holds; those before it are its callers.
        last = rows[max(before, key=lambda k: (rows[k].offset, k))] if before else None
        if last is None:
            out.append("")
        elif table == PTX_LINE:
            out.append(str(last.line))
        else:
            out.append(" inlined at ".join(f"{s.file}:{s.line}" for s in call_sites(rows, last)))
    return out[0], out[1]


class _Batch:
    """The checks of a batch of blocks."""

    def __init__(self, checker: Checker, m: Machine) -> None:
        self.checker = checker
        self.m = m
        self.pc = 0
        self.clocks: Clocks | None = None
        self.race: RaceCheck | None = None
        if "racecheck" in checker.tools:
            self.clocks = Clocks(m)
            self.race = RaceCheck(self.clocks, checker.lanes, self._race)
            if checker.globals is not None:
                checker.globals.start(m, self.clocks)
        self.undefined: Undefined | None = None
        if "initcheck" in checker.tools:
            # Shared memory of the system counts as written.
            written = np.zeros(len(m.shared.data), np.bool_)
            written.reshape(-1, m.shared.stride)[:, : checker.image.target.number("system_shared")] = True
            self.undefined = Undefined(m, checker.use, written, self._undefined)
        m.copy_watch = self

    def issue(self, pc: int, cur: Active) -> None:
        """Before the guard is read."""
        if self.clocks is not None and self.clocks.any_waiting:
            self.clocks.resume(cur)
        self.pc = pc
        if self.undefined is not None:
            self.undefined.issue(pc, cur)

    def done(self, cur: Active, act: Active | None) -> None:
        """After the instruction."""
        if self.undefined is not None:
            self.undefined.done(cur, act)
        if act is None or self.clocks is None:
            return
        step = self.checker.step(self.pc)
        if step.phase >= 0:
            over = self.m.P[step.phase][act.sel]
            if over.any():
                for part in step.accesses[0].touched(self.m, act):
                    self.clocks.passed(part.offset[over], part.threads[over])

    def read(self, act: Active) -> None:
        """Before threads run the instruction."""
        step = self.checker.step(self.pc)
        if step.idle:
            return
        if step.number is not None:
            self._barrier(step, act)
        if step.mask is not None:
            self._mask(step.mask, act)
        if self.clocks is not None and self.race is not None:
            self._order(step, act, self.clocks, self.race)
        try:
            found = [(access, part) for access in step.accesses for part in access.touched(self.m, act)]
        except Fault:
            return  # The instruction itself fails.
        for access, part in found:
            if part.space == SHARED:
                self._shared(step, access, part, act)
            elif part.space == GLOBAL:
                self._global(step, access, part, act)

    def _order(self, step: _Step, act: Active, clocks: Clocks, race: RaceCheck) -> None:
        """What orders threads, warps and copies."""
        if step.meets or step.all:
            clocks.join(act.warps)
        elif step.cluster:
            clocks.cluster(act.warps, step.base.endswith("WAIT"))
        elif step.fences:
            clocks.fence(act.warps)
        elif step.membar and self.checker.globals is not None:
            self.checker.globals.fence(clocks, act.warps)
        elif step.commits:
            race.commit(act.warps, step.base != "LDGDEPBAR")
        elif step.pending >= 0:
            race.wait(act.warps, step.pending)
        elif step.arrives is not None:
            with contextlib.suppress(Fault):
                for part in step.arrives.touched(self.m, act):
                    race.arrive_after_copies(part.offset, part.threads)
                    clocks.arrive(part.offset, part.threads)

    def grid_met(self) -> None:
        """All threads of the launch have met."""
        if self.race is not None:
            self.race.forget()
        if self.checker.globals is not None:
            self.checker.globals.forget()

    # -- memory

    def _shared(self, step: _Step, access: Access, part: Touched, act: Active) -> None:
        if self.undefined is not None:
            at = part.offset[:, None] + np.arange(access.size)
            if access.reads and step.base not in SHARED_LOADS:
                bad = (self.undefined.unwritten(at) & ~step.unused(access.size)).any(axis=1)
                if bad.any():
                    self._uninitialised("shared", access, part, int(np.argmax(bad)))
            if access.writes:
                self.undefined.written(at)
        if self.race is None or self.clocks is None:
            return
        if self.m.cluster_size > 1:
            self._ended(part)
        if access.one:
            self.clocks.join(part.threads >> 5)
        if access.copies:
            self.race.small_copy(part, access.size, self.pc)
            return
        self.race.access(access, part, self.pc, access.bytes_of(self.m, act, part))
        if access.one:
            self.clocks.join(part.threads >> 5)
        if step.base == "SYNCS":
            if access.atomic:
                self.clocks.arrive(part.offset, part.threads)
        elif access.atomic:
            self.clocks.atomic(part, access.size, True)
        elif access.reads:
            self.clocks.load(part)

    def _ended(self, part: Touched) -> None:
        """Accesses to shared memory of blocks that have ended."""
        m = self.m
        block = part.offset // m.shared.stride
        alive: Arr = np.any(m.alive.reshape(int(m.block_of[-1]) + 1, -1), axis=1)
        bad = ~alive[block]
        if bad.any():
            i = int(np.argmax(bad))
            pc, thread = self.pc, int(part.threads[i])
            message = (
                f"access to shared memory of block {int(block[i]) % m.cluster_size} of the cluster, which has ended"
            )
            self.checker.add(
                "racecheck", "ended block", message, ("ended", pc), lambda: [self.checker.spot(m, pc, thread)]
            )

    def _global(self, step: _Step, access: Access, part: Touched, act: Active) -> None:
        memory = self.checker.memory
        if memory is not None:
            if access.reads:
                bad = step.unwritten(memory, part.offset, access.size)
                if bad.any():
                    self._uninitialised("global", access, part, int(np.argmax(bad)))
            if access.writes:
                memory.wrote(part.offset, access.size)
        races = self.checker.globals
        if self.clocks is not None and races is not None:
            data = access.bytes_of(self.m, act, part)
            races.access(self.m, self.clocks, access, part, self.pc, data, step.strong)

    # -- copies

    def copy(
        self, thread: int, source: Bytes, goal: Bytes, signals: list[int], adds: bool, proxy: bool
    ) -> Callable[[], None]:
        """A thread starts a copy (:class:`orias.sim.core.state.CopyWatch`)."""
        if adds:
            self._reduced(thread, goal)
        column = number = 0
        clocks, race, races = self.clocks, self.race, self.checker.globals
        if clocks is not None and race is not None and races is not None:
            # A warp starts copies of its threads one after the other.
            clocks.join(np.array([thread >> 5]))
            column, number = clocks.issue(thread >> 5, signals[0] if signals else -1)
            for part, writes in ((source, False), (goal, True)):
                if not part.shared:
                    races.bulk_copy(clocks, thread, self.pc, part.offset, writes, column, number, adds)
            from_, to = (p.offset if p.shared else None for p in (source, goal))
            race.bulk_copy(thread, self.pc, from_, to, (column, number), adds, proxy)

        def end() -> None:
            self._copied(source, goal)
            if clocks is not None:
                for signal in signals:
                    clocks.complete(signal, column, number)

        return end

    def _reduced(self, thread: int, goal: Bytes) -> None:
        """A reduction reads what it adds to."""
        memory = self.checker.memory
        bad = np.zeros(0, np.bool_)
        if goal.shared and self.undefined is not None:
            bad = self.undefined.unwritten(goal.offset)
        elif not goal.shared and memory is not None:
            bad = memory.unwritten(goal.offset, 1)
        if bad.any():
            self._unwritten("shared" if goal.shared else "global", 1, int(goal.offset[int(np.argmax(bad))]), thread)

    def product(self, thread: int, first: int, source: Arr) -> None:
        """A matrix operation begins to read shared memory (:class:`orias.sim.core.state.CopyWatch`)."""
        if self.race is not None:
            self.race.product(thread, first, self.pc, source)

    def products_grouped(self, thread: int) -> None:
        """Matrix operations become a group."""
        if self.race is not None:
            self.race.products_grouped(thread >> 5)

    def products_done(self, thread: int, pending: int) -> None:
        """Groups of matrix operations are done."""
        if self.race is not None:
            self.race.products_done(thread >> 5, pending)

    def signal(self, thread: int, objects: list[int]) -> None:
        """Matrix operations arrive at barrier objects."""
        if self.clocks is not None and self.race is not None:
            self.race.products_signal(thread >> 5, objects)
            self.clocks.arrive(np.array(objects), np.full(len(objects), thread))

    def store(self, thread: int, goal: Bytes) -> None:
        """A thread stores bytes."""
        self._copied(Bytes(False, np.zeros(0, I64)), goal)
        if goal.shared and self.race is not None:
            self.race.store(thread, self.pc, goal.offset)

    def _copied(self, source: Bytes, goal: Bytes) -> None:
        """Bytes that were copied are written where their source is."""
        memory = self.checker.memory
        if self.undefined is None:
            return
        from_, to = _positions(source), _positions(goal)
        # The byte of the source for each of the goal; -1: zeros, or a value.
        at = np.full(int(max((p.max() for p in (from_, to) if len(p)), default=-1)) + 1, -1, I64)
        at[from_] = source.offset
        at = at[to]
        copied = at >= 0
        unknown = np.zeros(len(at), np.bool_)
        if source.shared:
            unknown[copied] = self.undefined.unwritten(at[copied])
        elif memory is not None:
            unknown[copied] = memory.unwritten(at[copied], 1)
        if goal.shared:
            self.undefined.written(goal.offset[~unknown])
            self.undefined.copied(goal.offset[unknown], at[unknown] if source.shared else None)
        elif memory is not None:
            memory.wrote(goal.offset[~unknown], 1)
            memory.spoiled(goal.offset[unknown])

    def _uninitialised(self, space: str, access: Access, part: Touched, i: int) -> None:
        self._unwritten(space, access.size, int(part.offset[i]), int(part.threads[i]))

    def _unwritten(self, space: str, size: int, offset: int, thread: int) -> None:
        pc = self.pc
        address = offset + self.m.arena.base if space == "global" else offset % self.m.shared.stride
        message = f"read of {size} bytes of {space} memory at 0x{address:x} that nobody wrote"
        self.checker.add(
            "initcheck", "uninitialised", message, ("init", space, pc), lambda: [self.checker.spot(self.m, pc, thread)]
        )

    def _undefined(self, what: str, pc: int, thread: int, origin: int) -> None:
        """Something depends on a register, local or shared memory that nobody wrote."""
        m, spot = self.m, self.checker.spot
        loaded = origin >= 0 and self.checker.step(origin).base in SHARED_LOADS
        self.checker.add(
            "initcheck",
            "uninitialised" if loaded else "unwritten register",
            f"{what} depends on {'shared memory' if loaded else 'a register or local memory'} that nobody wrote",
            ("undefined", what, pc),
            lambda: [spot(m, pc, thread), *([spot(m, origin, thread)] if origin not in (-1, pc) else [])],
        )

    def _race(self, kind: str, place: int, pc: int, thread: int, later_pc: int, later: int) -> None:
        message = f"race at shared address 0x{place % self.m.shared.stride:x}: {kind}"
        self.checker.add(
            "racecheck",
            kind,
            message,
            ("race", kind, pc, later_pc),
            lambda: [self.checker.spot(self.m, later_pc, later), self.checker.spot(self.m, pc, thread)],
        )

    # -- barriers

    def _barrier(self, step: _Step, act: Active) -> None:
        assert step.number is not None
        number = step.number(self.m, act)
        if self.clocks is not None:
            warps, numbers = barrier_numbers(number, act)
            self.clocks.barrier(warps, numbers, step.waits)
        if "synccheck" not in self.checker.tools or step.count is None:
            return
        count = np.broadcast_to(step.count(self.m, act), (act.n,)).astype(I64)
        count = (count >> 16 if step.packed else count) & 0xFFF
        bad = count % 32 != 0
        if bad.any():
            i = int(np.argmax(bad))
            message = f"barrier of {int(count[i])} threads, which is no multiple of the warp size"
            self._sync("count", message, int(act.index[i]))

    def _mask(self, getter: Getter, act: Active) -> None:
        mask = np.broadcast_to(getter(self.m, act), (act.n,)).astype(np.uint32)
        if self.clocks is not None:
            self.clocks.meet(act, mask)
        if "synccheck" not in self.checker.tools:
            return
        bad = (mask >> (act.index & 31).astype(np.uint32) & 1) == 0
        if bad.any():
            i = int(np.argmax(bad))
            message = f"warp synchronisation with mask 0x{int(mask[i]):08x}, which lacks the thread's lane"
            self._sync("mask", message, int(act.index[i]))

    def _sync(self, kind: str, message: str, thread: int) -> None:
        pc = self.pc
        self.checker.add(
            "synccheck", kind, message, ("sync", kind, pc), lambda: [self.checker.spot(self.m, pc, thread)]
        )
