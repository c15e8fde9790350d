"""What SSA passes ask of a function: the definition and the number of uses of each virtual register."""

from typing import final

from orias.isa.operand import FIRST_VIRTUAL, K_B, K_IMM, K_NONE, KIND_MASK, PAYLOAD_SHIFT, PT, Opnd
from orias.ori.ir import Func, Inst


@final
class Values:
    """Definition and use counts by register id; ``defs[i]`` is None for ids never defined.

    Use counts are of operands (an instruction that reads a register twice counts twice) and are kept up by the
    passes as they rewrite; they may be too high for a moment, never too low.
    """

    __slots__ = ("defs", "fn", "uses")

    def __init__(self, fn: Func) -> None:
        self.fn: Func = fn
        n = len(fn.vkind)
        self.defs: list[Inst | None] = [None] * n
        self.uses: list[int] = [0] * n
        defs, uses = self.defs, self.uses
        for b in fn.blocks:
            for inst in b.insts:
                for d in inst.dst:
                    ident = d >> PAYLOAD_SHIFT
                    if ident >= FIRST_VIRTUAL:
                        defs[ident] = inst
                for s in inst.src:
                    if 0 < (s & KIND_MASK) <= K_B:
                        ident = s >> PAYLOAD_SHIFT
                        if ident >= FIRST_VIRTUAL:
                            uses[ident] += 1
                if inst.guard != PT:
                    ident = inst.guard >> PAYLOAD_SHIFT
                    if ident >= FIRST_VIRTUAL:
                        uses[ident] += 1
                if inst.old != K_NONE and (inst.old & KIND_MASK) <= K_B:
                    ident = inst.old >> PAYLOAD_SHIFT
                    if ident >= FIRST_VIRTUAL:
                        uses[ident] += 1

    def grow(self) -> None:
        """Make room for registers created since."""
        n = len(self.fn.vkind) - len(self.defs)
        if n > 0:
            self.defs.extend([None] * n)
            self.uses.extend([0] * n)

    def define(self, inst: Inst) -> None:
        """Record a new instruction's results and uses."""
        self.grow()
        for d in inst.dst:
            ident = d >> PAYLOAD_SHIFT
            if ident >= FIRST_VIRTUAL:
                self.defs[ident] = inst
        self.count(inst, 1)

    def count(self, inst: Inst, by: int) -> None:
        """Add `by` to the use count of everything the instruction reads."""
        for s in inst.uses():
            if 0 < (s & KIND_MASK) <= K_B:
                ident = s >> PAYLOAD_SHIFT
                if ident >= FIRST_VIRTUAL:
                    self.uses[ident] += by

    def definition(self, o: Opnd) -> Inst | None:
        """The instruction that defines a virtual register operand, or None."""
        if 0 < (o & KIND_MASK) <= K_B:
            ident = o >> PAYLOAD_SHIFT
            if ident >= FIRST_VIRTUAL:
                return self.defs[ident]
        return None

    def single_use(self, o: Opnd) -> bool:
        """True if the register has exactly one use."""
        return self.uses[o >> PAYLOAD_SHIFT] == 1


def is_imm(o: Opnd) -> bool:
    """True for an immediate."""
    return o & KIND_MASK == K_IMM
