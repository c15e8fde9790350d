"""Compiles, runs and judges one program."""

import random
import subprocess
import tempfile
from pathlib import Path
from typing import Final

import numpy as np

from orias.check import check_cubin
from orias.diag import CompileError
from orias.options import Options
from orias.ptx.ast import Module
from orias.ptx.parser import parse
from orias.sim.core.image import Image
from orias.sim.core.sim_errors import SimError
from orias.tools.fuzz.around import ways_around
from orias.tools.fuzz.generate import INPUT_WORDS, SLOTS, THREADS, generate
from orias.tools.validate.case import Case, Region
from orias.tools.validate.run_case import Outcome, difference, run
from orias.tools.validate.verify_compile import Verifier, ptx_outcome

OK: Final = "ok"
OURS: Final = "wrong us"
THEIRS: Final = "wrong them"
KNOWN: Final = "known fault of ptxas"
OPEN: Final = "undefined"
BOTH: Final = "both differ"
REFUSED: Final = "refused"
INVALID: Final = "invalid"

BLOCKS: Final = 2
ASKED: Final = 8
"""ptxas compiles one program in this many, selected by seed, and every program whose result differs."""


class Verdict:
    """The verdict on a program: ``kind`` is one of the constants of this module."""

    def __init__(self, seed: int, arch: str, level: int, kind: str, detail: str = "", text: str = "") -> None:
        self.seed = seed
        self.arch = arch
        self.level = level
        self.kind = kind
        self.detail = detail
        self.text = text


_SPECIALS: Final = np.array((
    0, 1, 2, 0xFFFFFFFF, 0x80000000, 0x7FFFFFFF, 0x3F800000, 0x7F800000, 0x7FC00000, 0x80000001, 0xC0000000, 0x00800000,
), np.uint32)  # fmt: skip


def case_of(seed: int, module: Module) -> Case:
    """The launch of a generated program: random bits, among them small numbers and special floats."""
    rng = np.random.default_rng(seed)
    n = max(INPUT_WORDS * 2 + 32, BLOCKS * THREADS * SLOTS * 2)
    roll = rng.random(n)
    bits = rng.integers(0, 1 << 32, n, dtype=np.uint32)
    moderate = (bits & np.uint32(0x83FFFFFF)) + np.uint32(0x3E000000)
    words = np.select(
        [roll < 0.45, roll < 0.65, roll < 0.8],
        [bits, bits & np.uint32(255), _SPECIALS[bits % np.uint32(len(_SPECIALS))]],
        moderate,
    )
    data = words.astype(np.uint32).tobytes()
    case = Case("k")
    case.grid, case.block = (BLOCKS, 1, 1), (THREADS, 1, 1)
    kernel = next(f for f in module.functions if f.entry)
    case.params = [bytearray(8), bytearray(8)]
    for k, p in enumerate(kernel.params[2:]):
        case.params.append(bytearray(data[64 * k : 64 * k + p.size]))
    case.pointers[0, 0] = Region(len(data), "", 0, 0, data)
    case.pointers[1, 0] = Region(BLOCKS * THREADS * SLOTS * 8, "zero", 0)
    return case


def options(arch: str, level: int, registers: int = 0) -> Options:
    """The options of Orias: no contraction; at most so many registers (0: no limit)."""
    o = Options(arch, level)
    o.fmad = False
    o.maxrregcount = registers
    return o


def ptxas_cubin(ptxas: str, text: str, o: Options, limit: float = 60.0) -> bytes | str:
    """The cubin of ptxas for the options of :func:`options`, or the reason why there is none."""
    with tempfile.TemporaryDirectory() as d:
        source, out = Path(d) / "k.ptx", Path(d) / "k.cubin"
        source.write_text(text, encoding="utf-8")
        command = [ptxas, f"-arch={o.arch}", f"-O{o.opt_level}", "-fmad=false", str(source), "-o", str(out)]
        if o.maxrregcount:
            command.append(f"-maxrregcount={o.maxrregcount}")
        try:
            r = subprocess.run(command, capture_output=True, text=True, timeout=limit, check=False)
        except subprocess.TimeoutExpired:
            return "time limit"
        return out.read_bytes() if r.returncode == 0 else r.stderr[:400] or f"exit code {r.returncode}"


def judge(
    seed: int, arch: str, level: int, budget: int, ptxas: str, phases: bool = False, registers: int = 0
) -> Verdict:
    """Compiles one program with Orias and, if needed, with `ptxas` (path, empty: never); runs and compares the results."""
    text = generate(seed, budget, arch)
    return judge_text(text, seed, arch, level, ptxas, phases, registers)


def judge_text(
    text: str, seed: int, arch: str, level: int, ptxas: str, phases: bool = False, registers: int = 0
) -> Verdict:
    """Judges a given program, as :func:`judge`; its kernel is ``k``, and the seed determines the inputs."""

    def verdict(kind: str, detail: str = "") -> Verdict:
        return Verdict(seed, arch, level, kind, detail, text)

    try:
        v = Verifier(text, options(arch, level, registers), phases=phases)
    except CompileError as e:
        return verdict(REFUSED, str(e.diagnostics[0].message) + f" (line {e.diagnostics[0].line})")
    except (AssertionError, KeyError, IndexError, ValueError, TypeError, AttributeError) as e:
        return verdict(OURS, f"the compiler failed: {type(e).__name__}: {e}")
    hazards = [h.line() for h in check_cubin(v.cubin) if h.rule != "unknown"]
    if hazards:
        return verdict(OURS, f"hazard: {hazards[0]}")
    case = case_of(seed, v.module)
    want = ptx_outcome(v.module, arch, case, v.image)
    if want.error is not None:
        return verdict(INVALID, str(want.error))
    finding = v.compare("k", case, want, phases)
    theirs = ""
    if ptxas and (finding is not None or random.Random(seed).randrange(ASKED) == 0):
        theirs = _theirs(ptxas, text, v, case)
    if finding is None and not theirs:
        return verdict(OK if not v.report.open else OPEN)
    if finding is None:
        known = _known_fault(ptxas, text, v, case, want)
        return verdict(KNOWN, known) if known else verdict(THEIRS, theirs)
    return verdict(BOTH if theirs else OURS, finding.text() + (f"; ptxas: {theirs}" if theirs else ""))


def _theirs(ptxas: str, text: str, v: Verifier, case: Case) -> str:
    """How the code of ptxas differs from the PTX; empty if it does not."""
    data = ptxas_cubin(ptxas, text, v.options)
    if isinstance(data, str):
        # A limit of registers may be too low for some of its instructions: then there is nothing to compare.
        return "" if "Insufficient registers" in data else data.strip()
    try:
        Image(data)
    except SimError as e:
        return f"cannot be loaded: {e}"
    other = Verifier(text, v.options, data)
    want = ptx_outcome(other.module, v.options.arch, case, other.image)
    if want.error is not None:
        return str(want.error)
    finding = other.compare("k", case, want, False)
    return finding.text() if finding is not None else ""


def _known_fault(ptxas: str, text: str, v: Verifier, case: Case, want: Outcome) -> str:
    """The known fault of ptxas whose avoidance makes the result correct; empty if none.  `want`: the result of the PTX."""
    for fault, other in ways_around(text):
        got = ptx_outcome(parse(other, "around.ptx"), v.options.arch, case, v.image)
        if got.error is None and difference(want, got) is None and not _theirs(ptxas, other, v, case):
            return fault
    return ""


__all__ = ["Verdict", "case_of", "difference", "judge", "judge_text", "run"]
