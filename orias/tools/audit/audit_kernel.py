"""Audits one cubin: runs the PTX and the cubin on the same launches and compares what they leave in memory.

Every launch runs twice, with registers that start as a pattern that stands out, and as zero: the pattern makes a read of
a register that nothing has written show, and zero shows what a user is likely to see.  Code in which threads meet or
exchange values runs by other schedules too, and code with asynchronous operations so that they read their sources late.
"""

import time
from collections.abc import Callable
from typing import Any, Final, final

from orias.check import check_cubin
from orias.cubin.cubin_error import CubinError
from orias.diag import CompileError, Unsupported
from orias.isa.op import (
    F_ALIGNED,
    F_CLOSES_GROUP,
    F_CONVERGENT,
    F_LATE_UNIFORM,
    F_TOUCHES_SHARED,
    F_WGMMA,
    F_WHOLE_WARP,
    F_YIELDS,
)
from orias.ptx.ast import Function, Module
from orias.ptx.parser import parse
from orias.sim.core.image import Image
from orias.sim.core.sim_errors import SimError
from orias.sim.core.state import POISON
from orias.sim.ptx import PtxImage
from orias.tools.audit.audit_subject import Binary
from orias.tools.audit.known_faults import Fault, catalogue
from orias.tools.audit.launch_choice import float_types, launches
from orias.tools.audit.reference_run import SCHEDULES, Reference
from orias.tools.audit.storing_thread import storing_thread
from orias.tools.audit.wrong_instruction import instruction_text, ptx_values, record, suspect, thread_number
from orias.tools.validate.case import Case
from orias.tools.validate.run_case import Outcome, Place, run

Conditions = tuple[str, dict[str, Any]]
"""Name of a run, and arguments of :meth:`orias.sim.core.image.Image.launch`."""
_FILLS: Final[tuple[Conditions, ...]] = (("poison", {"fill": POISON}), ("zero", {"fill": 0}))
_LATE: Final[Conditions] = ("poison; asynchronous operations read late", {"fill": POISON, "late": True})
_ORDERS: Final[tuple[Conditions, ...]] = tuple(
    (f"poison; warps and paths take turns by seed {k}", {"fill": POISON, "schedule": k}) for k in SCHEDULES
)
_MEETING: Final = F_CONVERGENT | F_WHOLE_WARP | F_ALIGNED | F_TOUCHES_SHARED | F_YIELDS
"""Flags of operations whose result depends on which threads come together, or in which order."""
_ASYNCHRONOUS: Final = F_CLOSES_GROUP | F_WGMMA | F_LATE_UNIFORM
"""Flags of operations that show that code has products or copies in flight; other units read uniform registers late."""
_STEPS_MORE: Final = 20
"""Machine code may take this many times the steps of the PTX."""
EQUAL, DIFFERENT, NOT_COMPARED = "equal", "different", "not compared"
Clock = Callable[[], float]


@final
class Difference:
    """A wrong result: the place in memory, both values, the PTX line and the instruction that wrote it, and a suspect."""

    def __init__(self, place: Place, fill: str, case: Case) -> None:
        self.place = place
        self.fill = fill
        self.case = case
        self.expected = ""
        self.got = ""
        self.line = -1
        self.address = -1
        self.store = ""
        self.suspect_address = -1
        self.suspect = ""
        self.reason = ""
        self.wrong_words = 0
        self.changed_words = 0

    def where(self) -> str:
        """The place as text."""
        name, offset = self.place
        if name == "error":
            return "the launch"
        if name == "output":
            return "the printed text"
        return f"argument {name[1:]} byte {offset}" if name.startswith("#") else f"variable {name} byte {offset}"

    def record(self) -> dict[str, Any]:
        """All fields, for JSON."""
        out = {k: v for k, v in vars(self).items() if k != "case"}
        out["place"] = list(self.place)
        out["case"] = self.case.json()
        return out


@final
class Verdict:
    """The result for one kernel of one cubin."""

    def __init__(self, kernel: str, binary: Binary) -> None:
        self.kernel = kernel
        self.binary = binary
        self.compared = 0
        """Launches that were compared, each with both contents of registers."""
        self.orders = 0
        """Further runs of them: by other schedules, or with sources that are read late."""
        self.skipped: list[str] = []
        self.difference: Difference | None = None
        self.notes: list[str] = []
        """Findings of the static rules that explain wrong results."""
        self.faults: list[Fault] = []
        self.confirmed = ""
        """Name of the fault whose avoidance makes the result right."""
        self.reduced = ""
        self.seconds = 0.0

    @property
    def outcome(self) -> str:
        """EQUAL, DIFFERENT or NOT_COMPARED."""
        if self.difference is not None:
            return DIFFERENT
        return EQUAL if self.compared else NOT_COMPARED

    def record(self) -> dict[str, Any]:
        """All fields, for JSON."""
        return {
            "kernel": self.kernel, "cubin": self.binary.name, "target": self.binary.arch, "tool": self.binary.tool, "release": self.binary.release,
            "level": self.binary.level, "outcome": self.outcome, "compared": self.compared, "orders": self.orders, "skipped": self.skipped, "notes": self.notes,
            "difference": self.difference.record() if self.difference is not None else None,
            "known": [f.record() for f in self.faults], "confirmed": self.confirmed, "seconds": round(self.seconds, 2),
        }  # fmt: skip


class Auditor:
    """Audits the cubins of one PTX text; the reference runs are shared by all of them."""

    def __init__(self, ptx: str, shared: int = -1, turns: int = 3, cases: list[Case] | None = None) -> None:
        """Raises CompileError for PTX that does not parse."""
        self.ptx = ptx
        self.module: Module = parse(ptx, "audit.ptx")
        self.shared = shared
        self.turns = turns
        self.cases = cases
        self._references: dict[tuple[str, str, int], list[Reference | str]] = {}

    def kernels(self) -> list[Function]:
        """Kernels with a body."""
        return [f for f in self.module.functions if f.entry and f.body is not None]

    def references(self, kernel: Function, binary: Binary, image: Image) -> list[Reference | str]:
        """What the PTX does in each launch of a kernel, or why it does not run; computed once for equal placement."""
        key = kernel.name, binary.arch, image.arena.top
        known = self._references.get(key)
        if known is None:
            known = []
            types = float_types(kernel)
            found: Any
            if self.cases is not None:
                found = [self._given(c, binary, image) for c in self.cases if c.kernel == kernel.name]
            else:
                found = launches(self.module, kernel, binary.arch, image, self.turns, self.shared)
            for f in found:
                if isinstance(f, str):
                    known.append(f)
                else:
                    known.append(Reference(self.module, binary.arch, f[0], image, f[1], types))
            self._references[key] = known
        return known

    def _given(self, case: Case, binary: Binary, image: Image) -> tuple[Case, Outcome] | str:
        out = run(PtxImage(self.module, binary.arch, like=image), case)
        return (case, out) if out.error is None else str(out.error)

    def audit(self, kernel: Function, binary: Binary, explain: bool = True) -> Verdict:
        """The verdict on a kernel of a cubin."""
        start = time.monotonic()
        v = Verdict(kernel.name, binary)
        try:
            self._compare(v, kernel, explain)
        except (SimError, Unsupported, CompileError, CubinError) as e:
            v.skipped.append(str(e))
        v.seconds = time.monotonic() - start
        return v

    def _compare(self, v: Verdict, kernel: Function, explain: bool) -> None:
        image = Image(v.binary.data)
        if kernel.name not in image.kernels:
            v.skipped.append("the cubin has no such kernel")
            return
        for ref in self.references(kernel, v.binary, image):
            if isinstance(ref, str):
                v.skipped.append(ref)
                continue
            ref.undefined = ""
            for name, options in (*_FILLS, *self._more(image, v.kernel, ref)):
                got = self._run(v.binary, ref, options)
                place = ref.difference(got)
                if place is not None:
                    v.difference = Difference(place, name, ref.case)
                    if explain:
                        self._explain(v, ref, got, options)
                    return
                if options.get("schedule") or options.get("late"):
                    v.orders += 1
            if ref.undefined:
                v.skipped.append(ref.undefined)
            else:
                v.compared += 1

    @staticmethod
    def _more(image: Image, kernel: str, ref: Reference) -> list[Conditions]:
        """Further runs that the code of a kernel needs."""
        if ref.outcome.error is not None:
            return []
        ops = image.operations(kernel)
        out: list[Conditions] = []
        if any(op.flags & _ASYNCHRONOUS for op in ops):
            out.append(_LATE)
        if ref.small and any(op.flags & _MEETING for op in ops) and ref.ordered():
            out.extend(_ORDERS)
        return out

    def _run(self, binary: Binary, ref: Reference, options: dict[str, Any]) -> Outcome:
        steps, ref.case.max_steps = ref.case.max_steps, ref.case.max_steps * _STEPS_MORE
        try:
            return run(Image(binary.data), ref.case, **options)
        finally:
            ref.case.max_steps = steps

    # -- explanation

    def _explain(self, v: Verdict, ref: Reference, got: Outcome, options: dict[str, Any]) -> None:
        d = v.difference
        assert d is not None
        name, offset = d.place
        image = Image(v.binary.data)
        if name == "error":
            d.expected = "no error" if ref.outcome.error is None else ref.outcome.error.message
            if got.error is None:
                d.got = "no error"
                return
            d.got, d.address = got.error.message, got.error.address
            thread = (got.error.block, got.error.thread)
        elif name == "output":
            d.expected, d.got = repr(ref.outcome.output[:80]), repr(got.output[:80])
            return
        else:
            word = offset & ~3
            for field, outcome in (("expected", ref.outcome), ("got", got)):
                data = outcome.regions[int(name[1:])] if name.startswith("#") else outcome.variables[name]
                setattr(d, field, "0x" + data[word : word + 4][::-1].tobytes().hex())
            d.line = run(PtxImage(self.module, v.binary.arch, like=ref.like), ref.case, d.place).writer
            d.address = self._writer(v.binary, ref, options, d.place)
            d.wrong_words, d.changed_words = ref.wrong_count(got)
            thread = (None, None)
        if d.address >= 0:
            d.store = instruction_text(image, self._index(image, v.kernel, d.address))
        self._notes(v)
        self._suspect(v, ref, image, options, thread)
        known = catalogue()
        unwritten = bool(v.notes) or "nothing has written" in d.reason
        v.faults = [f for f in known if f.fits(self.ptx, v.binary.arch, v.binary.level, v.binary.release, unwritten)]
        if any(f.unwritten for f in v.faults):
            v.faults = [f for f in v.faults if f.unwritten]
        v.faults.sort(key=lambda f: not f.measured(v.binary.release))

    def _writer(self, binary: Binary, ref: Reference, options: dict[str, Any], place: Place) -> int:
        steps, ref.case.max_steps = ref.case.max_steps, ref.case.max_steps * _STEPS_MORE
        try:
            return run(Image(binary.data), ref.case, place, **options).writer
        finally:
            ref.case.max_steps = steps

    @staticmethod
    def _index(image: Image, kernel: str, address: int) -> int:
        at = next((at for at, name in image.code_places() if name == kernel), 0)
        return (at + address) >> 4

    def _notes(self, v: Verdict) -> None:
        """Static findings that name a wrong operand, in this kernel."""
        try:
            found = check_cubin(v.binary.data, operands=True)
        except (SimError, Unsupported, CubinError, ValueError, KeyError):
            return
        v.notes = [h.line() for h in found if h.rule in ("unwritten", "source") and h.function == v.kernel]

    def _suspect(
        self, v: Verdict, ref: Reference, image: Image, options: dict[str, Any], thread: tuple[Any, Any]
    ) -> None:
        d = v.difference
        assert d is not None
        if d.address < 0:
            return
        index = self._index(image, v.kernel, d.address)
        block, who = thread
        number = 0
        padded = -(-ref.case.block[0] * ref.case.block[1] * ref.case.block[2] // 32) * 32
        if block is not None and who is not None:
            b, t = thread_number(ref.case, block, who)
            number = b * padded + t
        elif d.place[0] != "error":
            number = self._storing_thread(v.binary, ref, options, d, index)
        if number < 0:
            return
        known = ptx_values(self.module, v.binary.arch, ref.like, ref.case, number)
        known |= {w for p in ref.case.params for w in _words_of(p)}
        steps, ref.case.max_steps = ref.case.max_steps, ref.case.max_steps * _STEPS_MORE
        try:
            trace = record(Image(v.binary.data), ref.case, options, number)
        finally:
            ref.case.max_steps = steps
        found = suspect(image, trace, index, known)
        if found is not None:
            d.suspect_address = found[0] * 16 - next((at for at, name in image.code_places() if name == v.kernel), 0)
            d.suspect, d.reason = instruction_text(image, found[0]), found[1]

    def _storing_thread(
        self, binary: Binary, ref: Reference, options: dict[str, Any], d: Difference, index: int
    ) -> int:
        """The number of the thread whose store wrote the wrong word: the last one that does."""
        return storing_thread(Image(binary.data), ref.case, options, d.place, index, _STEPS_MORE)


def _words_of(p: bytearray) -> list[int]:
    return [int.from_bytes(p[k : k + 4], "little") for k in range(0, len(p), 4)]
