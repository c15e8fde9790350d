"""What is said of a function's register count."""

from typing import Final, final

from orias.isa.operand import K_R
from orias.ori.decisions import REGISTERS, Decision
from orias.ori.ir import Func
from orias.regalloc.coalesce import Classes
from orias.regalloc.files import usable
from orias.regalloc.pressure import Pressure
from orias.target.register_steps import MOST_REGISTERS, SYSTEM_REGISTERS, steps


@final
class Peak:
    """Where a function holds the most words in R registers at once: ``words``, and the PTX ``line`` (0: none)."""

    __slots__ = ("line", "words")

    def __init__(self, classes: Classes) -> None:
        rg = classes.rg
        excess = Pressure(classes, K_R, None).excess
        point = max(range(rg.points), key=lambda p: excess[p])
        after = (i.loc for i in rg.insts[point:] if i is not None and i.loc)
        self.words: Final[int] = excess[point] + usable(rg.fn, K_R).bit_count()
        self.line: Final[int] = next(after, 0)


def register_decision(fn: Func, peak: Peak) -> Decision:
    """The register count with what needs it, and what fewer would give."""
    text = f"{fn.reg_count} registers: {peak.words} words are live at once, beside the stack pointer and {SYSTEM_REGISTERS} that are reserved"
    if fn.max_regs < MOST_REGISTERS:
        text += f"; the limit is {fn.max_regs}"
    below = max((s for s in steps(fn.target) if s < fn.reg_count), default=0)
    if below:
        text += f"; more warps fit with {below} or fewer"
    numbers = {"registers": fn.reg_count, "live_words": peak.words, "limit": fn.max_regs, "next_step": below}
    return Decision(REGISTERS, peak.line, text, numbers)
