"""Validates one compile by running all its stages."""

from collections.abc import Callable
from typing import Any, Final, final

from orias.options import Options
from orias.ori.ir import Func
from orias.ptx.ast import Function, Module
from orias.ptx.parser import parse
from orias.sim.core.image import Image
from orias.sim.core.sim_errors import OutOfBounds, StepLimit
from orias.sim.ori import OriImage
from orias.sim.ptx import PtxImage
from orias.tools.validate.case import Case
from orias.tools.validate.kernel_inputs import generate
from orias.tools.validate.run_case import Outcome, Place, difference, open_words, run
from orias.tools.validate.stages import Stages, before_convergence

SASS: Final = "SASS"
Progress = Callable[[int, int, str], None]


@final
class Finding:
    """A difference between the PTX and a stage: the word, the instruction that wrote it, the expected value."""

    def __init__(self, kernel: str, stage: str, place: Place) -> None:
        self.kernel = kernel
        self.stage = stage
        self.place = place
        self.case: Case | None = None
        self.expected = ""
        self.got = ""
        self.line = -1
        self.address = -1
        self.rewrite = ""
        """The wrong rewrite, if bisection found one."""

    def text(self) -> str:
        """One line of text."""
        where = f"{self.place[0]}+{self.place[1]}" if self.place[0] not in ("error", "output") else self.place[0]
        line = f", PTX line {self.line}" if self.line > 0 else ""
        rewrite = f"; {self.rewrite}" if self.rewrite else ""
        address = f", address 0x{self.address:x}" if self.address >= 0 else ""
        return f"{self.kernel}: {self.stage} is wrong at {where}: {self.got} instead of {self.expected}{line}{address}{rewrite}"

    def json(self) -> dict[str, Any]:
        """The finding as a JSON object."""
        return {
            "kernel": self.kernel, "stage": self.stage, "place": list(self.place), "expected": self.expected,
            "got": self.got, "line": self.line, "address": self.address, "rewrite": self.rewrite, "case": self.case.json() if self.case else None,
        }  # fmt: skip


@final
class Report:
    """The result of a validation: ``findings``; counts of compared cases, of those whose SASS differs only where the
    program leaves the value undefined, and of runs; reasons of skipped cases."""

    def __init__(self) -> None:
        self.findings: list[Finding] = []
        self.cases = 0
        self.open = 0
        self.runs = 0
        self.skipped: list[str] = []
        self.uncompared: list[str] = []
        """Kernels of which no case was compared."""


_TRIES: Final[tuple[tuple[int, str, tuple[int, int, int] | None], ...]] = (
    (1 << 16, "", None), (1 << 20, "", None), (1 << 16, "small", None), (1 << 16, "zero", None), (1 << 16, "small", (32, 1, 1)),
    (1 << 16, "zero", (16, 16, 1)), (1 << 16, "zero", (8, 8, 1)), (1 << 16, "zero", (32, 8, 1)), (1 << 16, "zero", (1, 1, 1)),
)  # fmt: skip
"""Memory sizes, contents and blocks to try until a case runs."""


_MOST_SHARED: Final = 227 << 10
"""Dynamic shared memory in bytes for kernels that need more than the first guess: the maximum of all targets."""


def ptx_outcome(module: Module, arch: str, case: Case, like: Image) -> Outcome:
    """The outcome of a case on the PTX."""
    return run(PtxImage(module, arch, like=like), case)


def usable_case(module: Module, kernel: Function, arch: str, turn: int, like: Image) -> tuple[Case, Outcome] | str:
    """A case that runs without error, if needed with larger memory or simpler inputs; else the reason why there is none."""
    reason = ""
    for size, profile, block in _TRIES:
        case = generate(module, kernel, turn, size, profile, block)
        found = ptx_outcome(module, arch, case, like)
        if case.shared and isinstance(found.error, OutOfBounds) and "shared address" in str(found.error):
            case.shared = _MOST_SHARED
            found = ptx_outcome(module, arch, case, like)
        if found.error is None:
            return case, found
        reason = str(found.error)
        if isinstance(found.error, StepLimit):
            turn = 2
        elif not isinstance(found.error, OutOfBounds):
            break
    return reason


class Verifier:
    """Validates the kernels of one compile."""

    def __init__(self, text: str, options: Options, cubin: bytes | None = None, phases: bool = True) -> None:
        """`cubin`: code of another compiler, to compare instead of Orias's stages; `phases`: keep the stages of phases."""
        self.options = options
        self.module = parse(text, "verify.ptx")
        self.stages = Stages(text, options, phases=phases) if cubin is None else None
        self.cubin = cubin if cubin is not None else self.stages.cubin.data if self.stages is not None else b""
        self.image = Image(self.cubin)
        self.report = Report()
        self._masks: dict[int, Outcome | None] = {}

    def kernels(self) -> list[Function]:
        """Kernels with a body."""
        return [f for f in self.module.functions if f.entry and f.body is not None]

    def check(self, kernel: Function, turns: int, phases: bool = True, cases: list[Case] | None = None) -> None:
        """Compares all stages of a kernel on some cases, up to the first wrong stage of each case."""
        arch = self.options.arch
        given: list[tuple[Case, Outcome]] = []
        for case in cases or []:
            found = ptx_outcome(self.module, arch, case, self.image)
            if found.error is None:
                given.append((case, found))
            else:
                self.report.skipped.append(f"{kernel.name}: {found.error}")
        for turn in range(0 if cases else turns):
            usable = usable_case(self.module, kernel, arch, turn, self.image)
            if isinstance(usable, str):
                self.report.skipped.append(f"{kernel.name}: {usable}")
            else:
                given.append(usable)
        if not given:
            self.report.uncompared.append(kernel.name)
        for case, want in given:
            self.report.cases += 1
            self.compare(kernel.name, case, want, phases)

    def compare(self, kernel: str, case: Case, want: Outcome, phases: bool) -> Finding | None:
        """The first stage that differs in a case, or None."""
        stages: list[tuple[str, list[Func] | None]] = []
        if phases and self.stages is not None:
            stages.extend(self.stages.kernel_stages(kernel))
        stages.append((SASS, None))
        for name, funcs in stages:
            place, got = self._run(kernel, case, want, name, funcs)
            if place is None:
                continue
            mask = self._mask(case, want)
            place = difference(want, got, mask) if mask is not None else None
            if place is None:
                self.report.open += name == SASS
                continue
            finding = Finding(kernel, name, place)
            finding.case = case
            self._explain(finding, case, want, got, funcs)
            self.report.findings.append(finding)
            return finding
        return None

    def _image(self, kernel: str, stage: str, funcs: list[Func] | None) -> Image:
        if funcs is None:
            return Image(self.cubin)
        return OriImage(self.cubin, kernel, funcs, before_convergence(stage))

    def _run(
        self, kernel: str, case: Case, want: Outcome, stage: str, funcs: list[Func] | None
    ) -> tuple[Place | None, Outcome]:
        self.report.runs += 1
        # code may take more steps than the PTX, up to a limit
        steps, case.max_steps = case.max_steps, case.max_steps * 20
        try:
            got = run(self._image(kernel, stage, funcs), case)
        finally:
            case.max_steps = steps
        return difference(want, got), got

    def _mask(self, case: Case, want: Outcome) -> Outcome | None:
        if id(case) not in self._masks:
            self._masks[id(case)] = open_words(self.module, self.options.arch, case, self.image, want)
        return self._masks[id(case)]

    def _explain(self, finding: Finding, case: Case, want: Outcome, got: Outcome, funcs: list[Func] | None) -> None:
        name, offset = finding.place
        if name == "error":
            finding.expected, finding.got = str(want.error or "no error"), str(got.error or "no error")
            finding.address = got.error.address if got.error is not None else -1
            return
        if name == "output":
            finding.expected, finding.got = repr(want.output[:80]), repr(got.output[:80])
            return
        word = offset & ~3
        for field, outcome in (("expected", want), ("got", got)):
            data = outcome.regions[int(name[1:])] if name.startswith("#") else outcome.variables[name]
            setattr(finding, field, "0x" + data[word : word + 4][::-1].tobytes().hex())
        finding.line = run(PtxImage(self.module, self.options.arch, like=self.image), case, finding.place).writer
        finding.address = run(self._image(finding.kernel, finding.stage, funcs), case, finding.place).writer


def verify(
    text: str,
    options: Options,
    turns: int = 3,
    phases: bool = True,
    cases: list[Case] | None = None,
    progress: Progress | None = None,
) -> Report:
    """Compares PTX, Ori after every phase that changed it, and SASS on generated or given inputs.

    Raises CompileError if the file does not compile and SimError if its cubin cannot be loaded.
    """
    v = Verifier(text, options)
    kernels = v.kernels()
    for k, kernel in enumerate(kernels):
        if progress is not None:
            progress(k, len(kernels), kernel.name)
        mine = [c for c in cases if c.kernel == kernel.name] if cases is not None else None
        v.check(kernel, turns, phases, mine)
    if progress is not None:
        progress(len(kernels), len(kernels), "")
    return v.report
