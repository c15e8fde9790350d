"""Finds the instruction that computes a wrong value: one thread's data flow, followed back from the wrong store.

The thread runs once more with all its register writes recorded.  Going back from the store, an instruction is suspected
if its result is a value that no register of the PTX has in this thread, while the values that it reads all occur there.
The values of the PTX are those of all its registers, and what a compiler derives from them without an instruction of
its own: constants, multiples by powers of two, sums with the launch's addresses.
"""

from typing import Any, Final

from orias.analysis.access import P_BASE, UR_BASE, unit_name
from orias.check.matrix_sources import matrix_units
from orias.check.touch import touch
from orias.isa.op import F_WGMMA
from orias.ptx.ast import O_REG, Instr, Module
from orias.sim.core.image import Image
from orias.sim.core.state import Active, Machine
from orias.sim.ptx import PtxImage
from orias.sim.ptx.machine import FIRST_ROW
from orias.sim.ptx.ptx_program import compile_kernel
from orias.tools.validate.case import Case
from orias.tools.validate.run_case import run

_DEPTH: Final = 64
"""Number of instructions that are followed back."""
_MOST_STEPS: Final = 200_000
"""Instructions of a thread that are recorded."""


class Step:
    """One executed instruction of the thread: its index in the code, and (unit, value) of what it wrote."""

    __slots__ = ("index", "sources", "writes")

    def __init__(self, index: int, sources: list[tuple[int, int, int]]) -> None:
        self.index = index
        self.sources = sources
        """(unit, value, number of the step that wrote it; -1: nothing did) of each register that it read."""
        self.writes: list[tuple[int, int]] = []


class _Recorder:
    """Callbacks around every instruction: records what one thread reads and writes."""

    def __init__(self, image: Image, m: Machine, thread: int) -> None:
        self.image, self.m, self.thread = image, m, thread
        self.steps: list[Step] = []
        self.last: dict[int, int] = {}
        """Number of the last step that wrote a unit."""
        self._pc = 0
        self._touched: dict[int, tuple[list[int], list[int]]] = {}
        self._open: Step | None = None

    def issue(self, pc: int, cur: Active) -> None:
        self._pc = pc

    def _runs(self, act: Active) -> bool:
        if isinstance(act.sel, slice):
            return bool(act.sel.start <= self.thread < act.sel.stop)
        return bool((act.sel == self.thread).any())

    def read(self, act: Active) -> None:
        self._open = None
        if len(self.steps) >= _MOST_STEPS or not self._runs(act):
            return
        reads, _ = self._units(self._pc)
        self._open = Step(self._pc, [(u, self._value(u), self.last.get(u, -1)) for u in reads])
        self.steps.append(self._open)

    def done(self, cur: Active, act: Active | None) -> None:
        step = self._open
        if act is None or step is None:
            return
        self._open = None
        for u in self._units(step.index)[1]:
            step.writes.append((u, self._value(u)))
            self.last[u] = len(self.steps) - 1

    def _units(self, pc: int) -> tuple[list[int], list[int]]:
        known = self._touched.get(pc)
        if known is None:
            d = self.image.decoded(pc)
            if d is None:
                known = [], []
            elif d.op.flags & F_WGMMA:
                known = matrix_units(d)
            else:
                t = touch(d)
                known = sorted({u for u, _ in t.reads}), sorted({u for u, _ in t.writes})
            self._touched[pc] = known
        return known

    def _value(self, u: int) -> int:
        m = self.m
        if u < UR_BASE:
            return int(m.R[u][self.thread])
        if u < P_BASE:
            return int(m.UR[u - UR_BASE][self.thread // 32])
        return -1


def thread_number(case: Case, block: tuple[int, int, int], thread: tuple[int, int, int]) -> tuple[int, int]:
    """The numbers of a block in its grid and of a thread in its block."""
    gx, gy, _ = case.grid
    bx, by, _ = case.block
    return block[0] + gx * (block[1] + gy * block[2]), thread[0] + bx * (thread[1] + by * thread[2])


def record(image: Image, case: Case, options: dict[str, Any], thread: int) -> list[Step]:
    """The steps of a thread, by its number among all threads of the launch with blocks padded to whole warps."""
    recorders: list[_Recorder] = []
    seen = 0

    def timing(m: Machine) -> Any:
        nonlocal seen
        here = thread - seen
        seen += m.threads
        recorders.append(_Recorder(image, m, here if 0 <= here < m.threads else -1))
        return recorders[-1]

    run(image, case, **options, timing=timing)
    return next((r.steps for r in recorders if r.steps), [])


def ptx_values(module: Module, arch: str, like: Image, case: Case, thread: int) -> set[int]:
    """All 32-bit words that registers of the PTX have in a thread (its number among those of the first batch)."""
    image = PtxImage(module, arch, like=like)
    kernel = image.kernels[case.kernel]
    image._kernel = case.kernel
    program = compile_kernel(image, kernel)
    rows: dict[int, list[int]] = {}
    for u in program.units:
        for i in u.function.body or []:
            if isinstance(i, Instr):
                for o in i.ops[:1]:
                    for e in o.elems or [o]:
                        if e.kind == O_REG and e.var is not None and id(e.var) in u.rows:
                            first, bits, words = u.rows[id(e.var)]
                            if bits > 1:
                                rows.setdefault(i.line, []).extend(range(first, first + words * e.var.vec))
    values: set[int] = set()

    def watch(m: Machine, line: int) -> None:
        if thread < m.threads:
            for row in rows.get(line, ()):
                if row >= FIRST_ROW:
                    values.add(int(m.R[row][thread]))

    image.watch = watch
    run(image, case)
    return values


def suspect(image: Image, steps: list[Step], from_index: int, known: set[int]) -> tuple[int, str] | None:
    """(index of the instruction, reason) of the first wrong value found backwards from an instruction; None if none shows.

    `from_index`: the index of the storing or failing instruction; its last execution is followed.
    """
    at = next((k for k in range(len(steps) - 1, -1, -1) if steps[k].index == from_index), -1)
    if at < 0:
        return None
    ok = _Known(known)
    queue, seen = [at], {at}
    found: tuple[int, int, str] | None = None
    while queue and len(seen) < _DEPTH * 8:
        k = queue.pop(0)
        step = steps[k]
        for unit, _, writer in step.sources:
            if unit >= P_BASE:
                continue
            if writer < 0:
                return step.index, f"reads {unit_name(unit)}, which nothing has written"
            if writer not in seen:
                seen.add(writer)
                queue.append(writer)
        d = image.decoded(step.index)
        if k == at or d is None or d.op.flags & F_WGMMA:
            # the results of a matrix operation are not there yet
            continue
        new = [(u, v) for u, v in step.writes if u < P_BASE and not ok(v)]
        if new and all(ok(v) for u, v, w in step.sources if u < P_BASE) and (found is None or k > found[0]):
            u, v = new[0]
            read = ", ".join(f"{unit_name(s)} = 0x{x:x}" for s, x, _ in step.sources if s < P_BASE)
            found = (
                k,
                step.index,
                f"makes {unit_name(u)} = 0x{v:x}{' of ' + read if read else ''}, a value the PTX never has",
            )
    return (found[1], found[2]) if found is not None else None


class _Known:
    """Whether a word occurs in the PTX, or follows from such a word by a shift or an added constant."""

    def __init__(self, values: set[int]) -> None:
        self.values = values | {0, 0xFFFFFFFF}

    def __call__(self, v: int) -> bool:
        if v in self.values or v < 4096:
            return True
        return any(v << s & 0xFFFFFFFF in self.values or (v >> s) in self.values for s in range(1, 5))


def instruction_text(image: Image, index: int) -> str:
    """The text of the instruction at an index of the module's code."""
    return image.compile(index).text()
