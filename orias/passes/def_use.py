"""What SSA passes ask of a function: the definition and the number of uses of each virtual register."""

from typing import final

from orias.isa.operand import FIRST_VREG, K_B, KIND_MASK, PAYLOAD_SHIFT, Opnd, is_vreg, vreg
from orias.ori.ir import Func, Inst


@final
class Values:
    """Definition and use counts by register id; ``defs[i]`` is None for ids never defined.

    Use counts are of operands (an instruction that reads a register twice counts twice) and are kept up by the
    passes as they rewrite; they may be too high for a moment, never too low.  `counted`: without it only definitions are found,
    in half of the time, and the counts mean nothing.
    """

    __slots__ = ("defs", "fn", "uses")

    def __init__(self, fn: Func, counted: bool = True) -> None:
        self.fn: Func = fn
        n = len(fn.vkind)
        self.defs: list[Inst | None] = [None] * n
        self.uses: list[int] = [0] * n
        defs, uses = self.defs, self.uses
        # is_vreg and vreg written out, here and below: every pass reads every operand here.
        for b in fn.blocks:
            for inst in b.insts:
                for d in inst.dst:
                    if d >= FIRST_VREG:
                        defs[d >> PAYLOAD_SHIFT] = inst
                if not counted:
                    continue
                for s in inst.src:
                    if s >= FIRST_VREG and s & KIND_MASK <= K_B:
                        uses[s >> PAYLOAD_SHIFT] += 1
                if inst.guard >= FIRST_VREG:
                    uses[inst.guard >> PAYLOAD_SHIFT] += 1
                if inst.old >= FIRST_VREG and is_vreg(inst.old):
                    uses[vreg(inst.old)] += 1

    def grow(self) -> None:
        """Make entries for registers created since."""
        n = len(self.fn.vkind) - len(self.defs)
        if n > 0:
            self.defs.extend([None] * n)
            self.uses.extend([0] * n)

    def define(self, inst: Inst) -> None:
        """Record a new instruction's results and uses."""
        self.grow()
        for d in inst.dst:
            if is_vreg(d):
                self.defs[vreg(d)] = inst
        self.count(inst, 1)

    def count(self, inst: Inst, by: int) -> None:
        """Add `by` to the use count of everything the instruction reads."""
        for s in inst.uses():
            if s >= FIRST_VREG and s & KIND_MASK <= K_B:
                self.uses[s >> PAYLOAD_SHIFT] += by

    def definition(self, o: Opnd) -> Inst | None:
        """The instruction that defines a virtual register operand, or None."""
        return self.defs[o >> PAYLOAD_SHIFT] if o >= FIRST_VREG and o & KIND_MASK <= K_B else None

    def single_use(self, o: Opnd) -> bool:
        """True if the register has exactly one use."""
        return self.uses[vreg(o)] == 1
