"""Runs the chosen checks around every instruction of a launch."""

from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt

from orias.cubin.lineread import DEBUG_LINE, PTX_LINE, line_tables
from orias.isa.decode import Decoded
from orias.isa.operand import K_R, in_file, is_pred
from orias.sim.checks.accesses import Access, Touched, accesses_of
from orias.sim.checks.findings import Coordinates, Finding, Spot
from orias.sim.checks.global_race import GlobalRaces
from orias.sim.checks.global_race import Spot as Access_
from orias.sim.checks.race_check import RaceCheck, barrier_numbers
from orias.sim.core.image import Image
from orias.sim.core.sim_errors import Fault
from orias.sim.core.site import Getter, Site
from orias.sim.core.state import Active, Machine
from orias.sim.math.ops_int import I64
from orias.sim.sass.exec_mem import GLOBAL, SHARED

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

    def wrote_anything(self) -> None:
        """All bytes may have been written."""


class _Step:
    """What the checks know of an instruction."""

    def __init__(self, d: Decoded | None, address: int) -> None:
        self.base = d.op.base if d is not None else ""
        self.accesses: list[Access] = []
        self.whole = False
        self.number: Getter | None = None
        self.count: Getter | None = None
        self.packed = False
        self.waits = False
        self.mask: Getter | None = None
        self.strong = d is not None and (d.op.has("STRONG") or d.op.has("MMIO"))
        self.cluster = self.base.startswith("UCGABAR")
        if d is None:
            return
        try:
            found = accesses_of(d, address)
            self.whole = found is None
            self.accesses = found or []
            site = Site(d.op, d.dst, d.src, address, False)
            if self.base == "BAR":
                operands = [o for o in d.src if not is_pred(o)]
                self.number = site.i32(operands[0])
                self.packed = len(operands) > 1 and operands[1] == operands[0] and in_file(operands[0], K_R)
                self.count = site.i32(operands[1]) if len(operands) > 1 else None
                self.waits = not d.op.has("ARV")
            elif self.base == "WARPSYNC" and d.src and not d.op.has("ALL"):
                self.mask = site.i32(d.src[0])
        except (Fault, IndexError, AssertionError, StopIteration, KeyError):
            # A form that the simulator does not know: running it is an error anyway.
            self.whole = True

    @property
    def idle(self) -> bool:
        """True if no check looks at the instruction."""
        return not (self.accesses or self.whole or self.number or self.mask or self.cluster)


class Checker:
    """The checks of a launch: ``image.launch(..., timing=checker.start)``; the result is in ``findings``."""

    def __init__(self, image: Image, kernel: str, tools: Sequence[str], memory: WrittenMemory | None = None) -> None:
        self.image: Final = image
        self.kernel: Final = kernel
        self.tools: Final = tools
        self.memory: Final = memory if "initcheck" in tools else None
        self.findings: list[Finding] = []
        self._seen: dict[tuple[object, ...], Finding] = {}
        self._steps: dict[int, _Step] = {}
        self.globals: Final = GlobalRaces(self._race) if "racecheck" in tools else None

    def start(self, m: Machine) -> "_Batch":
        """The callbacks for a batch of blocks."""
        return _Batch(self, m)

    def step(self, pc: int) -> _Step:
        """What is known of an instruction."""
        found = self._steps.get(pc)
        if found is None:
            found = self._steps[pc] = _Step(self.image.decoded(pc), pc << 4)
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


def lines_of(image: Image, pc: int) -> tuple[str, str]:
    """Source line and PTX line of an instruction (number in the module's code), as far as the cubin has them."""
    places = [(at, name) for at, name in image.code_places() if at <= pc << 4]
    if not places:
        return "", ""
    start, name = max(places)
    section = next(s for s in image.reader.elf.sections if s.name == f".text.{name}")
    out = []
    for table in (DEBUG_LINE, PTX_LINE):
        rows = line_tables(image.reader.elf, table).get(section.index, [])
        before = [r for r in rows if r.offset <= (pc << 4) - start]
        last = max(before, key=lambda r: r.offset) if before else None
        out.append("" if last is None else f"{last.file}:{last.line}" if table == DEBUG_LINE else str(last.line))
    return out[0], out[1]


class _Batch:
    """The checks of a batch of blocks."""

    def __init__(self, checker: Checker, m: Machine) -> None:
        self.checker = checker
        self.m = m
        self.pc = 0
        self.now: _Step | None = None
        self.race = RaceCheck(m, self._race) if "racecheck" in checker.tools else None
        self.shared = np.zeros(len(m.shared.data), np.bool_) if "initcheck" in checker.tools else None
        """Bytes of shared memory that were written."""
        all_races = checker.globals
        self.first = 0 if all_races is None or self.race is None else all_races.start(m, self.race)

    def issue(self, pc: int, cur: Active) -> None:
        """Before the guard is read."""
        if self.race is not None and self.race.any_waiting:
            self.race.resume(cur)
        self.pc = pc

    def done(self, cur: Active, act: Active | None) -> None:
        """After the instruction."""

    def read(self, act: Active) -> None:
        """Before threads run the instruction."""
        step = self.checker.step(self.pc)
        if step.idle:
            return
        if step.number is not None:
            self._barrier(step, act)
        if step.mask is not None:
            self._mask(step, act)
        if step.whole:
            self._whole(step, act)
        if step.cluster:
            self._cluster(act)
        for access in step.accesses:
            try:
                parts = access.touched(self.m, act)
            except Fault:
                return  # The instruction itself fails.
            for part in parts:
                if part.space == SHARED:
                    self._shared(access, part, act)
                elif part.space == GLOBAL:
                    self._global(access, part, act, step.strong)

    # -- memory

    def _shared(self, access: Access, part: Touched, act: Active) -> None:
        written = self.shared
        if written is not None:
            at = part.offset[:, None] + np.arange(access.size)
            if access.reads:
                bad = ~written[at].all(axis=1)
                if bad.any():
                    self._uninitialised("shared", access, part, int(np.argmax(bad)))
            if access.writes:
                written[at] = True
        if self.race is not None:
            self.race.access(access, part, self.pc, access.bytes_of(self.m, act, part))
            if access.atomic:
                self.race.atomic(part, access.size, True)
            elif access.reads:
                self.race.load(part)

    def _global(self, access: Access, part: Touched, act: Active, strong: bool) -> None:
        memory = self.checker.memory
        if memory is not None:
            if access.reads:
                bad = memory.unwritten(part.offset, access.size)
                if bad.any():
                    self._uninitialised("global", access, part, int(np.argmax(bad)))
            if access.writes:
                memory.wrote(part.offset, access.size)
        races = self.checker.globals
        if self.race is not None and races is not None:
            data = access.bytes_of(self.m, act, part)
            races.access(self.m, self.race, self.first, access, part, self.pc, data, strong)

    def _whole(self, step: _Step, act: Active) -> None:
        if self.race is not None and step.base == "SYNCS":
            self.race.barrier_object(act.warps)
            if self.m.cluster_size > 1:
                self._cluster(act)
        if self.shared is not None:
            self.shared[:] = True
        if self.checker.memory is not None and step.base != "SYNCS":
            self.checker.memory.wrote_anything()

    def _cluster(self, act: Active) -> None:
        """A barrier of the cluster, or a barrier object that others of it may reach."""
        races = self.checker.globals
        if self.race is not None and races is not None:
            self.race.barrier_object(act.warps)
            races.cluster(self.first + np.unique(act.warps // self.race.per_block), self.m.cluster_size)

    def _uninitialised(self, space: str, access: Access, part: Touched, i: int) -> None:
        pc, thread = self.pc, int(part.threads[i])
        offset = int(part.offset[i])
        address = offset + self.m.arena.base if space == "global" else offset % self.m.shared.stride
        message = f"read of {access.size} bytes of {space} memory at 0x{address:x} that nobody wrote"
        self.checker.add(
            "initcheck", "uninitialised", message, ("init", space, pc), lambda: [self.checker.spot(self.m, pc, thread)]
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
        if self.race is not None:
            warps, numbers = barrier_numbers(number, act)
            self.race.barrier(warps, numbers, step.waits)
        if "synccheck" not in self.checker.tools or step.count is None:
            return
        count = np.broadcast_to(step.count(self.m, act), (act.n,)).astype(I64)
        count = (count >> 16 if step.packed else count) & 0xFFF
        bad = count % 32 != 0
        if bad.any():
            i = int(np.argmax(bad))
            message = f"barrier of {int(count[i])} threads, which is no multiple of the warp size"
            self._sync("count", message, int(act.index[i]))

    def _mask(self, step: _Step, act: Active) -> None:
        if "synccheck" not in self.checker.tools:
            return
        assert step.mask is not None
        mask = np.broadcast_to(step.mask(self.m, act), (act.n,)).astype(np.uint32)
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
