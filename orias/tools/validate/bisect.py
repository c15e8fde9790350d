"""Finds the first phase that changes the meaning of a program, and the first wrong rewrite in it."""

from collections.abc import Callable

from orias.options import Options
from orias.tools.validate.case import Case
from orias.tools.validate.rewrites import UNLIMITED, RewriteLimit
from orias.tools.validate.verify_compile import Finding, Verifier, ptx_outcome, usable_case

Progress = Callable[[int, int, str], None]


def bisect(
    text: str,
    options: Options,
    turns: int = 3,
    cases: list[Case] | None = None,
    progress: Progress | None = None,
) -> list[Finding]:
    """For each kernel whose final code differs, the first stage that differs."""
    v = Verifier(text, options)
    found: list[Finding] = []
    kernels = v.kernels()
    for k, kernel in enumerate(kernels):
        if progress is not None:
            progress(k, len(kernels), kernel.name)
        given = [(c, ptx_outcome(v.module, options.arch, c, v.image)) for c in cases or [] if c.kernel == kernel.name]
        for turn in range(0 if cases else turns):
            usable = usable_case(v.module, kernel, options.arch, turn, v.image)
            if not isinstance(usable, str):
                given.append(usable)
        for case, want in given:
            finding = v.compare(kernel.name, case, want, phases=True)
            if finding is not None:
                finding.rewrite = first_rewrite(text, options, kernel.name, case)
                found.append(finding)
                break
    if progress is not None:
        progress(len(kernels), len(kernels), "")
    return found


def first_rewrite(text: str, options: Options, kernel: str, case: Case) -> str:
    """The first wrong rewrite of the simplifier, by bisection on their number; empty if the code is wrong without rewrites."""

    def wrong(limit: int) -> tuple[bool, RewriteLimit]:
        with RewriteLimit(limit) as r:
            v = Verifier(text, options)
        want = ptx_outcome(v.module, options.arch, case, v.image)
        return v.compare(kernel, case, want, phases=False) is not None, r

    bad, everything = wrong(UNLIMITED)
    if not bad or wrong(0)[0]:
        return ""
    good, last = 0, everything.count
    while last - good > 1:
        middle = (good + last) // 2
        if wrong(middle)[0]:
            last = middle
        else:
            good = middle
    return f"rewrite {last}: {wrong(last)[1].last}"
