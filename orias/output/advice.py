"""Performance advice on finished kernels, as numbered messages in the order of ptxas."""

from orias.diag import Diagnostic
from orias.isa.operand import K_UR, in_file, is_zero_reg, reg_id
from orias.isa.widths import dst_width
from orias.lower.frame.program import Kernel
from orias.ori.decisions import WGMMA, Decision
from orias.ori.remarks import INJECTIONS, REASONS


def advice(kernel: Kernel) -> list[Diagnostic]:
    """The remarks of phases on a kernel and its functions.

    They are in ptxas's order: inserted ARRIVEs, inserted waits, and one reason why operations run one at a time.  Then a
    warning if uniform registers are taken that should be spared.
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
    out = [
        Diagnostic("info", f"(C{number}) {texts[number].format(line, name)}")
        for number, line, name in said + reasons[:1]
    ]
    highest = _highest_uniform(kernel)
    if highest >= 0:
        out.append(
            Diagnostic(
                "warning",
                f"(C7601) Uniform registers were disallowed, but the compiler required ({highest}) uniform registers "
                "for correct code generation.",
            )
        )
    return out


def _highest_uniform(kernel: Kernel) -> int:
    """The highest uniform register of functions that should spare them; -1: none is used."""
    highest = -1
    for fn in kernel.all_functions():
        for i in fn.insts() if fn.spares_uniform else ():
            for k, o in enumerate(i.dst):
                if in_file(o, K_UR) and not is_zero_reg(o):
                    highest = max(highest, reg_id(o) + dst_width(i.op, k) - 1)
    return highest


def kernel_decisions(kernel: Kernel) -> list[Decision]:
    """What the phases decided on a kernel and its functions, in the order of compilation, the remarks of :func:`advice` included."""
    out: list[Decision] = []
    texts = INJECTIONS | REASONS
    for fn in kernel.in_order():
        found = list(fn.decisions or ())
        serial = [number for number in (fn.wgmma_serial, fn.wgmma_crossing_remark) if number]
        for number, line in [*fn.remarks, *((n, 0) for n in serial if n not in dict(fn.remarks))]:
            found.append(Decision(WGMMA, line, texts[number].format(line, fn.name), {"message": number}))
        for d in found:
            d.function = fn.name
        out.extend(found)
    return out
