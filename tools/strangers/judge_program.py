"""Runs our cubin of a PTX and, where something is wrong or when asked, that of ptxas, against the results of the host."""

from typing import Final, final

import numpy as np

import orias
from orias.sim import SimError, StepLimit, load
from orias.tools.fuzz.judge import options, ptxas_cubin

STEPS: Final = 60_000
"""Engine steps of a launch; longer programs are left out, unless other limits are asked for."""
OK: Final = "ok"
OURS: Final = "wrong us"
THEIRS: Final = "wrong them"
BOTH: Final = "both differ"
REFUSED: Final = "refused"
LONG: Final = "too long"


@final
class Result:
    """Kind of result (the constants of this module) and what was seen."""

    def __init__(self, kind: str, detail: str = "") -> None:
        self.kind = kind
        self.detail = detail


def simulate(
    cubin: bytes, threads: int, words: int, hazards: str = "", steps: int = STEPS, kernel: str = "k"
) -> list[int] | str:
    """The words that a kernel writes, or why there are none (empty: it ran too long)."""
    out = np.zeros(words, np.uint64)
    try:
        load(cubin).launch(kernel, 1, threads, [out], max_steps=steps, hazards=hazards)
    except StepLimit:
        return ""
    except SimError as e:
        return f"{type(e).__name__}: {e}"
    return [int(x) for x in out]


def judge(
    text: str,
    arch: str,
    level: int,
    threads: int,
    want: list[int],
    ptxas: str | None,
    always: bool,
    hazards: str,
    steps: int = STEPS,
    kernel: str = "k",
) -> Result:
    """The verdict on a PTX; `always`: ask ptxas also if ours is right.  `hazards`: as for ``Image.launch``, for our code."""
    try:
        cubin = orias.compile(text, arch=arch, opt_level=level, fmad=False).data
    except orias.CompileError as e:
        return Result(REFUSED, str(e)[:200])
    got = simulate(cubin, threads, len(want), hazards, steps, kernel)
    if got == "":
        return Result(LONG)
    wrong = got != want
    theirs: list[int] | str = want
    if ptxas is not None and (wrong or always):
        data = ptxas_cubin(ptxas, text, options(arch, level))
        if isinstance(data, bytes):
            # A release that refuses the front end's PTX version says nothing about the code.
            theirs = simulate(data, threads, len(want), "", steps, kernel)
    other = theirs not in (want, "")
    detail = f"ours {got if isinstance(got, str) else _first(got, want)}" if wrong else ""
    if other:
        detail += f" ptxas {theirs if isinstance(theirs, str) else _first(theirs, want)}"
    if wrong:
        return Result(BOTH if other else OURS, detail)
    return Result(THEIRS, detail) if other else Result(OK)


def _first(got: list[int], want: list[int]) -> str:
    k = next((k for k, (a, b) in enumerate(zip(got, want, strict=False)) if a != b), -1)
    return f"word {k}: {got[k]:#x} instead of {want[k]:#x}" if k >= 0 else "equal"
