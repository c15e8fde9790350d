"""Performance advice on finished kernels, as numbered messages in the order of ptxas."""

from orias.diag import Diagnostic
from orias.lower.frame.program import Kernel
from orias.ori.remarks import INJECTIONS, REASONS


def advice(kernel: Kernel) -> list[Diagnostic]:
    """The remarks of phases on a kernel and its functions.

    They are in ptxas's order: inserted ARRIVEs, inserted waits, and one reason why operations run one at a time.
    """
    found: list[tuple[int, int, str]] = []
    for fn in kernel.in_order():
        name = fn.name.removeprefix(f"${kernel.ptx.name}$")
        found += [(number, line, name) for number, line in fn.remarks]
        if fn.wgmma_crossing_remark:
            found.append((fn.wgmma_crossing_remark, 0, name))
    said = [x for number in INJECTIONS for x in found if x[0] == number]
    precedence = list(REASONS)
    reasons = sorted((x for x in found if x[0] not in INJECTIONS), key=lambda x: precedence.index(x[0]))
    texts = INJECTIONS | REASONS
    return [
        Diagnostic("info", f"(C{number}) {texts[number].format(line, name)}")
        for number, line, name in said + reasons[:1]
    ]
