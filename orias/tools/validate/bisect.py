"""The first phase that changes the meaning of a program, and within it the first rewrite."""

from collections.abc import Callable

from orias.options import Options
from orias.tools.validate.case import Case
from orias.tools.validate.verify import Finding, Verifier, ptx_outcome, usable_case

Progress = Callable[[int, int, str], None]


def bisect(
    text: str,
    options: Options,
    turns: int = 3,
    cases: list[Case] | None = None,
    progress: Progress | None = None,
) -> list[Finding]:
    """For each kernel with a difference in the final code, the first stage that shows one."""
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
                found.append(finding)
                break
    if progress is not None:
        progress(len(kernels), len(kernels), "")
    return found
